"""Running strategies: one run, or many.

A run is a function of its seed.  Nothing reads global random state.
"""

import math
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _build
from ._check import Vector, count
from ._progress import progress_bar
from ._runfile import RunFile
from .alternatives import best_response
from .bounds import LowerBounds, lower_bounds
from .characteristic import CharacteristicTime, characteristic_time, undecidable_because
from .environments import Arms, Callback, Environment, RewardTable
from .evidence import Claims
from .loop import BUDGET_EXHAUSTED, CERTIFIED, REWARDS_EXHAUSTED, new_watch, run_loop
from .models import STUDENT, Gaussian, Model
from .objectives import Objective
from .parallel import completed, executor
from .parts import new_tally

NO_BUDGET = 10**15  # pulls; at ten nanoseconds each, four months

Labels = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


class RunStatus(Enum):
    """How a run ended; the value is the sentence a user needs."""

    CERTIFIED = "The strategy stopped by itself; its answer carries its guarantee."
    BUDGET_EXHAUSTED = "The budget was spent before the strategy would stop; its answer carries no guarantee."
    REWARDS_EXHAUSTED = "The table of rewards ran out before the strategy would stop; its answer carries no guarantee."
    FIXED_BUDGET = "The run was told to go on to a fixed number of pulls; its answer carries no guarantee."


class Strategy(Protocol):
    """What the loop needs of a strategy: the question, the risks, whether it is proven, and how to start a run."""

    @property
    def objective(self) -> Objective: ...

    @property
    def risks(self) -> tuple[float, ...]: ...

    @property
    def proven(self) -> bool: ...

    def start(self, num_arms: int, model: Model) -> tuple[Any, Any]: ...


@dataclass(frozen=True, eq=False)
class Result:
    """What one run found.

    Attributes:
        answer: which arms are taken to be good.
        status: certified or not; never merged.
        proven: whether the strategy's stopping rule is a theorem; an answer is guaranteed only if certified and proven.
        pulls, counts, means: how many measurements, how many of each arm, and their averages.
        evidence: Z at the end, the cost of the cheapest alternative to the empirical means under the counts; nan where
            sigma is unknown.
        crossings: for strategies with several risks, the pulls at which each was met; 0 where it was not.
        crossing_answers: bool[n, K], the answer at each of those moments.
        watched: bool[n, K], the answer at each number of pulls of the grid, if one was given.
        certified_at: for strategies that certify each label by itself, the pulls at which each was; 0 where it is open.
            Such a label is guaranteed by itself, whether or not the run was certified.
        seed: what the run is a function of, with the strategy, the environment and, in a simulation, its number.
    """

    answer: Labels
    status: RunStatus
    proven: bool
    pulls: int
    counts: Integers
    means: Vector
    evidence: float
    crossings: Integers | None
    crossing_answers: Labels | None
    watched: Labels | None
    certified_at: Integers | None
    seed: int

    @property
    def certified(self) -> bool:
        """Whether the strategy stopped by itself."""
        return self.status is RunStatus.CERTIFIED


def run(
    strategy: Strategy,
    means_or_environment: npt.ArrayLike | Environment,
    model: Model | None = None,
    *,
    seed: int = 0,
    budget: int | None = None,
    grid: npt.ArrayLike | None = None,
) -> Result:
    """One run of a strategy, on arms with these means or in another environment.

    ``model`` is the noise that the strategy reckons with.  For means it is the noise of the arms as well; Arms bring
    their own, and the strategy knows it unless another is stated here.  **For a table or a callback the guarantee is
    for the noise stated here: normal rewards with sigma = 1 if none is.**
    ``budget`` and ``grid`` are explained at :func:`simulate`.

    >>> from allgood import ST2, Additive, run
    >>> result = run(ST2(Additive(0.9), delta=0.1, width="mixture"), [1, 1, 1, 1, 0.05], seed=1)
    >>> result.answer, result.certified
    (array([ True,  True,  True,  True, False]), True)
    """
    _build.warn_once()
    environment, model = _environment(means_or_environment, model)
    points, limit = _limits(strategy, environment, budget, grid)
    return _one(strategy, environment, model, points, limit, np.random.SeedSequence(_seed(seed)))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run in the middle: counts, averages, variances and, for strategies that certify labels, the claims."""

    pulls: int
    counts: Integers
    means: Vector
    variances: Vector
    claims: Claims | None


def follow(
    strategy: Strategy,
    means_or_environment: npt.ArrayLike | Environment,
    model: Model | None = None,
    *,
    seed: int = 0,
    budget: int | None = None,
    growth: float = 1.1,
) -> Generator[Snapshot, None, Result]:
    """The run of :func:`run`, with a snapshot whenever the pulls have grown by this factor, and at the end.

    Returns what :func:`run` returns: ``result = yield from follow(...)``, or the ``value`` of StopIteration.
    """
    environment, model = _environment(means_or_environment, model)
    points, limit = _limits(strategy, environment, budget, None)
    if not 1.0 < growth < 1e6:
        raise ValueError(f"growth must lie between 1 and a million: got {growth!r}.")
    one = _Run(strategy, environment, model, points, np.random.SeedSequence(_seed(seed)))
    due = environment.num_arms
    while one.ended is None or (one.ended == BUDGET_EXHAUSTED and int(one.tally.pulls[0]) < limit):
        one.go(min(due, limit))
        yield one.snapshot()
        due = max(due + 1, int(growth * due))
    return one.result()


def _environment(given: npt.ArrayLike | Environment, model: Model | None) -> tuple[Environment, Model]:
    """The environment, and the noise that the strategy reckons with."""
    if model is not None:
        Model.check(model)
    if isinstance(given, Arms):
        return given, given.model if model is None else model
    model = Gaussian() if model is None else model
    return (given if isinstance(given, RewardTable | Callback) else Arms(given, model)), model


def _seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number from 0 on: got {seed!r}.")
    return int(seed)


def _limits(
    strategy: Strategy, environment: Environment, budget: int | None, grid: npt.ArrayLike | None
) -> tuple[Integers, int]:
    """The points of the grid, and the number of pulls at which a run ends for certain."""
    if grid is not None:
        if budget is not None:
            raise ValueError(f"budget must be left out where a grid is given, which ends the run: got {budget}.")
        points = np.atleast_1d(np.asarray(grid))
        if points.dtype.kind in "iu" and points.size and int(points.max()) > NO_BUDGET:
            raise ValueError(f"grid must not go beyond {NO_BUDGET:,} pulls: got {int(points.max()):,}.")
        if points.ndim != 1 or points.size == 0 or points.dtype.kind not in "iu" or (np.diff(points) <= 0).any():
            raise ValueError(f"grid must hold whole numbers of pulls that increase: got {grid!r}.")
        if points[0] < environment.num_arms:
            raise ValueError(
                f"grid must start at one pull of each of the {environment.num_arms} arms: got {points[0]}."
            )
        return points.astype(np.int64), int(points[-1])
    if budget is None and isinstance(environment, Arms):
        blame = undecidable_because(np.asarray(environment.means), strategy.objective)
        if blame is not None:
            raise ValueError(
                f"budget must be given for an undecidable instance, or the run never ends: got None. {blame}"
            )
    limit = NO_BUDGET if budget is None else count("budget", budget)
    if limit > NO_BUDGET:
        raise ValueError(f"budget must not exceed {NO_BUDGET:,} pulls: got {limit:,}.")
    if limit < environment.num_arms:
        raise ValueError(f"budget must allow one pull of each of the {environment.num_arms} arms: got {limit}.")
    return np.zeros(0, np.int64), limit


def _one(
    strategy: Strategy,
    environment: Environment,
    model: Model,
    grid: Integers,
    limit: int,
    sequence: np.random.SeedSequence,
) -> Result:
    one = _Run(strategy, environment, model, grid, sequence)
    one.go(limit)
    return one.result()


class _Run:
    """One run that can be stopped and gone on with."""

    def __init__(
        self,
        strategy: Strategy,
        environment: Environment,
        model: Model,
        grid: Integers,
        sequence: np.random.SeedSequence,
    ) -> None:
        self.strategy, self.model, self.sequence = strategy, model, sequence
        self.spec, self.state = strategy.start(environment.num_arms, model)
        self.world = environment.spec(model)
        self.tally, self.watch = new_tally(environment.num_arms), new_watch(environment.num_arms, grid)
        self.rng = np.random.default_rng(sequence)
        self.loop = run_loop if environment.compiled else getattr(run_loop, "py_func", run_loop)
        self.ended: int | None = None

    def go(self, limit: int) -> None:
        """On to so many pulls, or to the strategy's own stop."""
        self.ended = self.loop(self.spec, self.state, self.world, self.tally, self.rng, limit, self.watch)

    def snapshot(self) -> Snapshot:
        tally = self.tally
        claims = self.strategy.claims(self.spec, self.state, tally) if hasattr(self.strategy, "claims") else None
        variances = tally.scatter / np.maximum(tally.counts, 1)
        return Snapshot(int(tally.pulls[0]), tally.counts.copy(), tally.means.copy(), variances, claims)

    def evidence(self) -> float:
        if self.model.family == STUDENT:
            return math.nan
        return best_response(self.tally.means, self.tally.counts, self.strategy.objective, self.model).cost

    def result(self) -> Result:
        assert self.ended is not None
        tally, state, watch, strategy = self.tally, self.state, self.watch, self.strategy
        fixed = watch.grid.size > 0
        status = {
            CERTIFIED: RunStatus.CERTIFIED,
            BUDGET_EXHAUSTED: RunStatus.FIXED_BUDGET if fixed else RunStatus.BUDGET_EXHAUSTED,
            REWARDS_EXHAUSTED: RunStatus.REWARDS_EXHAUSTED,
        }
        seen = bool((tally.counts > 0).all())
        several = len(strategy.risks) > 1
        return Result(
            answer=watch.answers[-1],
            status=status[self.ended],
            proven=strategy.proven,
            pulls=int(tally.pulls[0]),
            counts=tally.counts,
            means=tally.means,
            evidence=self.evidence() if seen else 0.0,
            crossings=state.crossings if several else None,
            crossing_answers=state.answers if several else None,
            watched=watch.answers[:-1] if fixed else None,
            certified_at=state.certified_at if hasattr(state, "certified_at") else None,
            seed=int(self.sequence.entropy),  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class Summary:
    """A simulation in a few numbers.

    Attributes:
        delta: the risk.
        runs, certified: how many runs, and how many stopped by themselves.
        mean, standard_error: of the number of pulls.
        quantiles: of the number of pulls, at 10 %, 50 % and 90 %.
        errors, error_interval: wrong answers among the certified runs, and the exact 95 % (Clopper-Pearson) interval
            for their frequency; (0, 1) if no run was certified.
        lower_bound: pulls that no strategy with this risk can beat on average; None where the instance is
            undecidable or there is none.
        ratio: mean / lower_bound; None unless every run stopped by itself.
    """

    delta: float
    runs: int
    certified: int
    mean: float
    standard_error: float
    quantiles: tuple[float, float, float]
    errors: int
    error_interval: tuple[float, float]
    lower_bound: float | None
    ratio: float | None


@dataclass(frozen=True, eq=False)
class Setup:
    """What every run of a simulation is a function of, together with its number."""

    strategy: Strategy
    means: Vector
    model: Model  # that the strategy reckons with
    noise: Model  # that the arms have
    seed: int
    limit: int
    grid: Integers

    def result(self, i: int) -> Result:
        """Run number i."""
        sequence = np.random.SeedSequence(self.seed, spawn_key=(i,))
        return _one(self.strategy, Arms(self.means, self.noise), self.model, self.grid, self.limit, sequence)

    def described(self) -> dict[str, Any]:
        """In words and numbers: equal if and only if the runs are."""
        return {
            "allgood": version("allgood"),
            "sources": _build.source_digest()[:16],
            "strategy": repr(self.strategy),
            "means": self.means.tolist(),
            "model": repr(self.model),
            "noise": repr(self.noise),
            "seed": self.seed,
            "limit": self.limit,
            "grid": self.grid.tolist(),
        }


@lru_cache(maxsize=64)
def _characteristic(means: tuple[float, ...], objective: Objective, model: Model) -> CharacteristicTime:
    """T*, computed once for all simulations of an instance."""
    return characteristic_time(means, objective, model)


@dataclass(frozen=True, eq=False)
class Simulation:
    """Many independent runs of one strategy.

    Attributes:
        setup: what was simulated.
        results: each run by its number: 0, 1, ... unless some are missing.

    Columns, one row per run:
        pulls: int[runs].
        answers: bool[runs, K].
        correct: bool[runs], against the true means.
        certified: bool[runs], stopped by itself.
        counts, estimates: int and float[runs, K], pulls and average of each arm.
        evidence: float[runs], Z at the end.
        crossings, crossing_answers: int[runs, n] and bool[runs, n, K] for a strategy with several risks, else None.
        watched: bool[runs, n, K], the answer at each number of pulls of the grid, else None; from it
        precision, recall, f1: float[runs, n].
    """

    setup: Setup
    results: Mapping[int, Result]

    @property
    def strategy(self) -> Strategy:
        return self.setup.strategy

    @property
    def means(self) -> Vector:
        """The true means."""
        return self.setup.means

    @property
    def grid(self) -> Integers | None:
        return self.setup.grid if self.setup.grid.size else None

    @cached_property
    def pulls(self) -> Integers:
        return self._column("pulls")

    @cached_property
    def answers(self) -> Labels:
        return self._column("answer")

    @cached_property
    def correct(self) -> Labels:
        return np.asarray((self.answers == self.truth).all(axis=1))

    @cached_property
    def certified(self) -> Labels:
        return self._column("certified")

    @cached_property
    def counts(self) -> Integers:
        return self._column("counts")

    @cached_property
    def estimates(self) -> Vector:
        return self._column("means")

    @cached_property
    def evidence(self) -> Vector:
        return self._column("evidence")

    @cached_property
    def crossings(self) -> Integers | None:
        return self._column("crossings") if len(self.strategy.risks) > 1 else None

    @cached_property
    def crossing_answers(self) -> Labels | None:
        return self._column("crossing_answers") if len(self.strategy.risks) > 1 else None

    @cached_property
    def watched(self) -> Labels | None:
        return self._column("watched") if self.setup.grid.size else None

    def _column(self, name: str) -> npt.NDArray[Any]:
        return np.array([getattr(result, name) for result in self.results.values()])

    @property
    def truth(self) -> Labels:
        """The answer at the true means."""
        return self.strategy.objective.answer(self.means)

    @property
    def proven(self) -> bool:
        """Whether the strategy's stopping rule is a theorem."""
        return self.strategy.proven

    @property
    def precision(self) -> Vector:
        """float[runs, n]: the share of the arms in the answer that are good; 1 for an empty answer."""
        hits, given, _ = self._hits()
        return np.where(given == 0, 1.0, hits / np.maximum(given, 1))

    @property
    def recall(self) -> Vector:
        """float[runs, n]: the share of the good arms that are in the answer; 1 if none is good."""
        hits, _, true = self._hits()
        return np.where(true == 0, 1.0, hits / np.maximum(true, 1))

    @property
    def f1(self) -> Vector:
        """float[runs, n]: the harmonic mean of precision and recall, 2 hits / (answered + good); 1 if both are none."""
        hits, given, true = self._hits()
        return np.where(given + true == 0, 1.0, 2.0 * hits / np.maximum(given + true, 1))

    def _hits(self) -> tuple[Integers, Integers, int]:
        if self.watched is None:
            raise ValueError("grid must be given to simulate for answers along the pulls to be recorded: got None.")
        return (self.watched & self.truth).sum(axis=2), self.watched.sum(axis=2), int(self.truth.sum())

    @property
    def characteristic(self) -> CharacteristicTime:
        """T* of the instance."""
        return _characteristic(tuple(self.means.tolist()), self.strategy.objective, self.setup.noise)

    def bounds(self, delta: float) -> LowerBounds:
        """Lower bounds on the expected number of pulls at this risk."""
        what = self.setup
        return lower_bounds(what.means, what.strategy.objective, delta, what.noise, characteristic=self.characteristic)

    def _place(self, delta: float | None) -> int:
        """Where this risk stands among the strategy's."""
        risks = self.strategy.risks
        if delta is None:
            return len(risks) - 1
        if delta not in risks:
            raise ValueError(f"delta must be one of the strategy's risks {risks}: got {delta!r}.")
        return risks.index(delta)

    def stops(self, delta: float | None = None) -> tuple[Integers, Labels]:
        """Pulls of each run at this risk, by default the smallest, and whether it stopped by itself there.

        With several risks, each counts as if its run had stopped when it was met.
        """
        if self.crossings is None:
            self._place(delta)
            return self.pulls, self.certified
        met = self.crossings[:, self._place(delta)]
        return np.where(met > 0, met, self.pulls), met > 0

    def summary(self, delta: float | None = None) -> Summary:
        """The simulation in a few numbers; ``delta`` as for :meth:`stops`."""
        from scipy.stats import binomtest

        n = self._place(delta)
        delta = self.strategy.risks[n]
        pulls, certified = self.stops(delta)
        correct = self.correct
        if self.crossing_answers is not None:
            correct = (self.crossing_answers[:, n] == self.truth).all(axis=1)
        runs, stopped, errors = pulls.size, int(certified.sum()), int((certified & ~correct).sum())
        interval = (0.0, 1.0)
        if stopped:
            found = binomtest(errors, stopped).proportion_ci(0.95, "exact")
            interval = (float(found.low), float(found.high))
        low, middle, high = (float(q) for q in np.quantile(pulls, [0.1, 0.5, 0.9]))
        mean = float(pulls.mean())
        bound = self.bounds(delta).best
        known = 0.0 < bound < np.inf
        return Summary(
            delta=delta,
            runs=runs,
            certified=stopped,
            mean=mean,
            standard_error=float(pulls.std(ddof=1) / np.sqrt(runs)) if runs > 1 else float("nan"),
            quantiles=(low, middle, high),
            errors=errors,
            error_interval=interval,
            lower_bound=bound if known else None,
            ratio=mean / bound if known and stopped == runs else None,
        )


class SimulationFailed(RuntimeError):
    """A run failed.  ``finished`` holds those that did not, None if there are none; ``resume=`` goes on from them."""

    finished: Simulation | None = None


class SimulationInterrupted(KeyboardInterrupt):
    """The simulation was interrupted.  ``finished`` as for :class:`SimulationFailed`."""

    finished: Simulation | None = None


def simulate(
    strategy: Strategy,
    means: npt.ArrayLike | Arms,
    model: Model | None = None,
    runs: int = 100,
    seed: int = 0,
    budget: int | None = None,
    workers: Any = None,
    progress: bool | Callable[[int, int], None] | None = None,
    *,
    grid: npt.ArrayLike | None = None,
    resume: "str | os.PathLike[str] | Simulation | None" = None,
) -> Simulation:
    """Independent runs of a strategy.

    Run i is a function of (seed, i) alone: the same by itself, with one worker or with many, here or on a cluster.

    Args:
        strategy: what to run.
        means: the true means; or Arms, which bring their noise with them.
        model: the noise that the strategy reckons with; by default that of the arms, or normal with sigma = 1.
        runs: how many.
        seed: of the whole simulation.
        budget: pulls after which a run ends uncertified; none by default.
        workers: threads, by default one per core, or a Dask client, whose cluster then does the runs.
        progress: True for a bar on the terminal, or a function called after each run with the number of finished
            runs and of all runs.
        grid: numbers of pulls, increasing.  Every run then goes on to the last of them, whether the strategy would
            stop or not, and its answer at each of them is recorded (``precision``, ``recall``, ``f1``).
        resume: a file that keeps each run as it finishes; runs found there are not done again.  Or the ``finished`` of
            a simulation that failed or was interrupted.
    """
    _build.warn_once()
    environment, model = _environment(means, model)
    if not isinstance(environment, Arms):
        raise TypeError(f"means must be numbers, or Arms: got {means!r}.")
    points, limit = _limits(strategy, environment, budget, grid)
    runs = count("runs", runs)
    strategy.start(environment.num_arms, model)  # what it refuses, it refuses here
    environment.spec(model)
    true_means = np.asarray(environment.means)
    setup = Setup(strategy, true_means, model, environment.model, _seed(seed), limit, points)
    results: dict[int, Result] = {}
    if isinstance(resume, Simulation):
        if resume.setup.described() != setup.described():
            raise ValueError(
                f"resume must be of this same simulation, {setup.described()}: got {resume.setup.described()}."
            )
        results.update(resume.results)

    pool = executor(workers)
    with ExitStack() as stack:
        file = None
        if isinstance(resume, str | os.PathLike):
            file = stack.enter_context(RunFile(resume, setup.described()))
            results.update(_from_row(row, setup) for row in file.rows)
        report = stack.enter_context(progress_bar("simulating")) if progress is True else progress or None
        missing = [i for i in range(runs) if i not in results]
        done = runs - len(missing)
        try:
            for i, result in completed(setup.result, missing, pool):
                if file is not None:
                    file.append(_to_row(i, result))
                results[i] = result
                done += 1
                if report is not None:
                    report(done, runs)
        except (Exception, KeyboardInterrupt) as error:
            kind = SimulationInterrupted if isinstance(error, KeyboardInterrupt) else SimulationFailed
            kept = "resume= goes on from .finished" if file is None else f"the same call goes on from {file.path}"
            why = "" if isinstance(error, KeyboardInterrupt) else f" {type(error).__name__}: {error}"
            stopped = kind(f"{done} of {runs} runs are finished; {kept}.{why}")
            stopped.finished = Simulation(setup, _in_order(results)) if results else None
            raise stopped from error
        finally:
            # After an interruption the runs under way are not waited for: they cannot be stopped, and may be endless.
            pool.shutdown(wait=False)
    return Simulation(setup, {i: results[i] for i in range(runs)})


def _in_order(results: dict[int, Result]) -> dict[int, Result]:
    return {i: results[i] for i in sorted(results)}


def _to_row(i: int, result: Result) -> dict[str, Any]:
    """A run as JSON; answers as words of 0 and 1."""

    def words(labels: Labels | None) -> list[str] | None:
        return None if labels is None else ["".join("01"[good] for good in row) for row in labels.tolist()]

    return {
        "run": i,
        "status": result.status.name.lower(),
        "answer": words(result.answer[None]),
        "pulls": result.pulls,
        "counts": result.counts.tolist(),
        "means": result.means.tolist(),
        "evidence": None if math.isnan(result.evidence) else result.evidence,
        "crossings": None if result.crossings is None else result.crossings.tolist(),
        "crossing_answers": words(result.crossing_answers),
        "watched": words(result.watched),
        "certified_at": None if result.certified_at is None else result.certified_at.tolist(),
    }


def _from_row(row: dict[str, Any], setup: Setup) -> tuple[int, Result]:
    def labels(words: list[str] | None) -> Labels | None:
        return None if words is None else np.array([[letter == "1" for letter in word] for word in words])

    answer = labels(row["answer"])
    assert answer is not None
    return row["run"], Result(
        answer=answer[0],
        status=RunStatus[row["status"].upper()],
        proven=setup.strategy.proven,
        pulls=row["pulls"],
        counts=np.array(row["counts"]),
        means=np.array(row["means"]),
        evidence=math.nan if row["evidence"] is None else row["evidence"],
        crossings=None if row["crossings"] is None else np.array(row["crossings"]),
        crossing_answers=labels(row["crossing_answers"]),
        watched=labels(row["watched"]),
        certified_at=None if row["certified_at"] is None else np.array(row["certified_at"]),
        seed=setup.seed,
    )
