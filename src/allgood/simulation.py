"""Running strategies: one run, or many.

A run is a function of its seed.  Nothing reads global random state.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ._check import Vector, count
from .alternatives import best_response
from .characteristic import undecidable_because
from .environments import Callback, Environment, GaussianArms, RewardTable
from .loop import BUDGET_EXHAUSTED, CERTIFIED, run_loop
from .models import Gaussian
from .objectives import Objective
from .parts import new_tally

NO_BUDGET = 10**15  # pulls; at ten nanoseconds each, four months


class RunStatus(Enum):
    """How a run ended; the value is the sentence a user needs."""

    CERTIFIED = "The strategy stopped by itself; its answer carries its guarantee."
    BUDGET_EXHAUSTED = "The budget was spent before the strategy would stop; its answer carries no guarantee."
    REWARDS_EXHAUSTED = "The table of rewards ran out before the strategy would stop; its answer carries no guarantee."


class Strategy(Protocol):
    """What the loop needs of a strategy: the question, whether it is proven, and how to start a run."""

    @property
    def objective(self) -> Objective: ...

    @property
    def proven(self) -> bool: ...

    def start(self, num_arms: int, model: Gaussian) -> tuple[Any, Any]: ...


@dataclass(frozen=True, eq=False)
class Result:
    """What one run found.

    Attributes:
        answer: which arms are taken to be good.
        status: certified or not; never merged.
        proven: whether the strategy's stopping rule is a theorem; an answer is guaranteed only if certified and proven.
        pulls, counts, means: how many measurements, how many of each arm, and their averages.
        evidence: Z at the end, the cost of the cheapest alternative to the empirical means under the counts.
        crossings: for strategies with several risks, the pulls at which each was met; 0 where it was not.
        seed: what the run is a function of, with the strategy and the environment.
    """

    answer: npt.NDArray[np.bool_]
    status: RunStatus
    proven: bool
    pulls: int
    counts: npt.NDArray[np.int64]
    means: Vector
    evidence: float
    crossings: npt.NDArray[np.int64] | None
    seed: int

    @property
    def certified(self) -> bool:
        """Whether the strategy stopped by itself."""
        return self.status is RunStatus.CERTIFIED


def run(
    strategy: Strategy,
    means_or_environment: npt.ArrayLike | Environment,
    model: Gaussian = Gaussian(),  # noqa: B008 - immutable
    *,
    seed: int = 0,
    budget: int | None = None,
) -> Result:
    """One run of a strategy, on Gaussian arms with these means or in another environment.

    ``model`` is the noise that the strategy reckons with, and, for means, also the noise of the arms.

    >>> from allgood import ST2, Additive, run
    >>> result = run(ST2(Additive(0.9), delta=0.1, width="mixture"), [1, 1, 1, 1, 0.05], seed=1)
    >>> result.answer, result.certified
    (array([ True,  True,  True,  True, False]), True)
    """
    environment = _environment(means_or_environment, model)
    limit = _limit(strategy, environment, budget)
    return _one(strategy, environment, model, np.random.SeedSequence(seed), limit, seed)


def _environment(given: npt.ArrayLike | Environment, model: Gaussian) -> Environment:
    if isinstance(given, GaussianArms | RewardTable | Callback):
        return given
    return GaussianArms(given, model)


def _limit(strategy: Strategy, environment: Environment, budget: int | None) -> int:
    """The number of pulls at which a run ends for certain."""
    if budget is None and isinstance(environment, GaussianArms):
        blame = undecidable_because(np.asarray(environment.means), strategy.objective)
        if blame is not None:
            raise ValueError(
                f"budget must be given for an undecidable instance, or the run never ends: got None. {blame}"
            )
    limit = NO_BUDGET if budget is None else count("budget", budget)
    if limit < environment.num_arms:
        raise ValueError(f"budget must allow one pull of each of the {environment.num_arms} arms: got {limit}.")
    return limit


def _one(
    strategy: Strategy,
    environment: Environment,
    model: Gaussian,
    sequence: np.random.SeedSequence,
    limit: int,
    seed: int,
) -> Result:
    num_arms = environment.num_arms
    spec, state = strategy.start(num_arms, model)
    tally = new_tally(num_arms)
    loop = run_loop if environment.compiled else getattr(run_loop, "py_func", run_loop)
    ended = loop(spec, state, environment.spec(), tally, np.random.default_rng(sequence), limit)
    seen = bool((tally.counts > 0).all())
    status = {CERTIFIED: RunStatus.CERTIFIED, BUDGET_EXHAUSTED: RunStatus.BUDGET_EXHAUSTED}
    return Result(
        answer=strategy.objective.answer(tally.means),
        status=status.get(ended, RunStatus.REWARDS_EXHAUSTED),
        proven=strategy.proven,
        pulls=int(tally.pulls[0]),
        counts=tally.counts,
        means=tally.means,
        evidence=best_response(tally.means, tally.counts, strategy.objective, model).cost if seen else 0.0,
        crossings=state.crossings if hasattr(state, "crossings") else None,
        seed=seed,
    )


@dataclass(frozen=True)
class Summary:
    """A simulation in a few numbers.

    Attributes:
        runs, certified: how many runs, and how many stopped by themselves.
        mean, standard_error: of the number of pulls.
        quantiles: of the number of pulls, at 10 %, 50 % and 90 %.
        errors, error_interval: wrong answers among the certified runs, and the exact 95 % (Clopper-Pearson) interval
            for their frequency; (0, 1) if no run was certified.
    """

    runs: int
    certified: int
    mean: float
    standard_error: float
    quantiles: tuple[float, float, float]
    errors: int
    error_interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Many independent runs of one strategy, one row per run.

    Attributes:
        pulls: int[runs].
        answers: bool[runs, K].
        correct: bool[runs], against the true means.
        certified: bool[runs], stopped by itself.
        counts: int[runs, K].
        evidence: float[runs], Z at the end.
        crossings: int[runs, n] for a strategy with several risks, else None.
        proven: whether the strategy's stopping rule is a theorem.
        seed: what everything is a function of.
    """

    pulls: npt.NDArray[np.int64]
    answers: npt.NDArray[np.bool_]
    correct: npt.NDArray[np.bool_]
    certified: npt.NDArray[np.bool_]
    counts: npt.NDArray[np.int64]
    evidence: Vector
    crossings: npt.NDArray[np.int64] | None
    proven: bool
    seed: int

    def summary(self) -> Summary:
        from scipy.stats import binomtest

        runs, certified = self.pulls.size, int(self.certified.sum())
        errors = int((self.certified & ~self.correct).sum())
        interval = (0.0, 1.0)
        if certified:
            found = binomtest(errors, certified).proportion_ci(0.95, "exact")
            interval = (float(found.low), float(found.high))
        low, middle, high = (float(q) for q in np.quantile(self.pulls, [0.1, 0.5, 0.9]))
        error = float(self.pulls.std(ddof=1) / np.sqrt(runs)) if runs > 1 else float("nan")
        return Summary(runs, certified, float(self.pulls.mean()), error, (low, middle, high), errors, interval)


def simulate(
    strategy: Strategy,
    means: npt.ArrayLike,
    model: Gaussian = Gaussian(),  # noqa: B008 - immutable
    runs: int = 100,
    seed: int = 0,
    budget: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Independent runs of a strategy on Gaussian arms.

    Run i is a function of (seed, i) alone: the same by itself, with one worker or with many.

    Args:
        strategy: what to run.
        means: the true means.
        model: the noise.
        runs: how many.
        seed: of the whole simulation.
        budget: pulls after which a run ends uncertified; none by default.
        workers: threads, by default one per core; the compiled loop does not hold the interpreter's lock.
        progress: called after each run with the number of finished runs and of all runs.
    """
    environment = GaussianArms(means, Gaussian.check(model))
    limit = _limit(strategy, environment, budget)
    runs = count("runs", runs)
    workers = (os.cpu_count() or 1) if workers is None else count("workers", workers)

    def one(i: int) -> Result:
        return _one(strategy, environment, model, np.random.SeedSequence(seed, spawn_key=(i,)), limit, seed)

    results: dict[int, Result] = {0: one(0)}  # alone, so that compilation happens once
    if progress is not None:
        progress(1, runs)
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(one, i): i for i in range(1, runs)}
        for future in as_completed(waiting):
            results[waiting[future]] = future.result()
            if progress is not None:
                progress(len(results), runs)
    table = [results[i] for i in range(runs)]
    truth = strategy.objective.answer(means)
    answers = np.array([r.answer for r in table])
    return Simulation(
        pulls=np.array([r.pulls for r in table]),
        answers=answers,
        correct=(answers == truth).all(axis=1),
        certified=np.array([r.certified for r in table]),
        counts=np.array([r.counts for r in table]),
        evidence=np.array([r.evidence for r in table]),
        crossings=None if table[0].crossings is None else np.array([r.crossings for r in table]),
        proven=strategy.proven,
        seed=seed,
    )
