"""Plan a study: how many measurements it will take, from simulations and from theory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._internal.arguments import ArgumentError, count, means_array, probability
from .._internal.cancel import check_cancelled
from .._internal.results import ResultData
from ..evidence.spec import BAD, GOOD
from ..kernels.tally import Tally
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Objective
from ..simulation.environments import Arms
from ..simulation.samplers import pull
from ..simulation.simulate import Simulation, simulate
from ..strategies.claim_by_claim import ClaimByClaim
from ..theory.bounds import LowerBounds, lower_bounds
from ..theory.characteristic import undecidable_because
from .engine import Engine

LONGEST = 1_000_000  # measurements after which a simulated study is given up

Spread = tuple[float, float, float]
Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Plan(ResultData):
    """The measurements that simulated studies needed, and what was certified at their end.

    All numbers count from the beginning of a study.

    Attributes:
        arms: how many there are, which is the number of all labels.
        batch, runs: number of measurements asked for at once, and of simulated studies.
        ended: how many of these studies were certified within the limit or the budget.
        measurements, batches: the mean of each, and the ends between which ``within`` studies lie.
        within: all studies but the shortest and the longest tenth.
        labels: how many labels were certified when a study ended, at the budget if that came first:
            the mean, and the ends without the least and the largest tenth.
        good, bad: the same of the labels certified good, and of those certified bad.
        right: the same of all labels of the best guess at the end that are right: the certified
            labels, and the others as the averages look, against the labels of the true means.
        lower_bound: expected number of measurements that every strategy needs; None if there is
            no such bound.
        lower_bound_remark: a sentence if this bound may be loose; else None.
        characteristic_time: T*; the lower bound grows like T* log(1/delta).
    """

    arms: int
    batch: int
    runs: int
    ended: int
    within: int
    measurements: Spread
    batches: Spread
    labels: Spread
    good: Spread
    bad: Spread
    right: Spread
    lower_bound: float | None
    lower_bound_remark: str | None
    characteristic_time: float | None


def plan_study(
    means: npt.ArrayLike,
    objective: Objective,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    sigma: float = 1.0,
    batch: int = 1,
    runs: int = 20,
    seed: int = 0,
    budget: int | None = None,
    pool: bool = True,
    max_per_arm: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Simulate studies of arms with these means, measured in batches, to their end or the budget.

    ``sigma`` is the standard deviation of the simulated rewards if the model leaves it unknown.
    ``max_per_arm`` is how often a batch may measure one arm; without it there is no limit.
    """
    model = Model.check(model)
    noise = model if model.noise_known else Gaussian(sigma)
    environment = Arms(means_array(means), noise)
    mu = np.asarray(environment.means)
    blame = undecidable_because(mu, objective)
    limit = _limit(budget, mu.size, blame)
    batch, runs = count("batch", batch), count("runs", runs)
    most = None if max_per_arm is None else count("max_per_arm", max_per_arm)
    strategy = ClaimByClaim(Objective.check(objective), probability("delta", delta), pool)
    if batch == 1:
        simulation = simulate(strategy, environment, model, runs, seed, limit, progress=progress)
        ends = _ends_of(simulation)
    else:
        ends = []
        for i in range(runs):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
            engine = Engine(strategy, model, mu.size)
            ends.append(in_batches(engine, environment, batch, limit, rng, most))
            if progress is not None:
                progress(i + 1, runs)
    bounds = lower_bounds(mu, objective, delta, noise) if noise.exact and blame is None else None
    return _plan(ends, batch, objective.answer(mu), bounds)


def _limit(budget: int | None, num_arms: int, blame: str | None) -> int:
    """Return the number of measurements at which a simulated study ends at the latest."""
    if budget is None and blame is not None:
        raise ArgumentError(
            f"budget must be given if a study would never end: got None. {blame}",
            argument="budget",
        )
    limit = LONGEST if budget is None else count("budget", budget)
    if limit < num_arms:
        raise ArgumentError(
            f"budget must allow one measurement of each of the {num_arms} arms: got {limit}.",
            argument="budget",
        )
    return limit


def _plan(ends: "Sequence[_End]", batch: int, truth: Labels, bounds: LowerBounds | None) -> Plan:
    """Summarise simulated studies."""
    runs = len(ends)
    measurements = np.array([end.measurements for end in ends], np.float64)
    good = np.array([end.good.sum() for end in ends], np.float64)
    bad = np.array([end.bad.sum() for end in ends], np.float64)
    right = np.array([(end.guess == truth).sum() for end in ends], np.float64)
    return Plan(
        arms=truth.size,
        batch=batch,
        runs=runs,
        ended=sum(bool(end.certified) for end in ends),
        within=runs - 2 * (runs // 10),
        measurements=_spread(measurements),
        batches=_spread(np.array([end.batches for end in ends], np.float64)),
        labels=_spread(good + bad),
        good=_spread(good),
        bad=_spread(bad),
        right=_spread(right),
        lower_bound=None if bounds is None else bounds.best,
        lower_bound_remark=None if bounds is None else bounds.remark,
        characteristic_time=None if bounds is None else bounds.characteristic_time.value,
    )


class _End(NamedTuple):
    """A simulated study at its end.

    Attributes:
        measurements, batches: how many it took.
        certified: whether every label was certified.
        good, bad: the arms that were certified good, and bad.
        guess: the arms that are good by the best guess.
    """

    measurements: int
    batches: int
    certified: bool
    good: Labels
    bad: Labels
    guess: Labels


def _ends_of(simulation: Simulation) -> list[_End]:
    """Return the ends of simulated runs, which measure one arm at a time."""
    return [
        _End(
            result.pulls,
            result.pulls,
            result.certified,
            good=result.certified_good,
            bad=(result.certified_at > 0) & ~result.certified_good,
            guess=result.answer,
        )
        for result in simulation.results.values()
        if result.certified_at is not None and result.certified_good is not None
    ]


def in_batches(
    engine: Engine,
    environment: Arms,
    batch: int,
    limit: int,
    rng: np.random.Generator,
    most: int | None = None,
) -> _End:
    """Simulate a study to its end or its limit, which allows a measurement of each arm.

    ``most`` is how often a batch may measure one arm.
    """
    sampler, unused = environment.start(engine.model, rng), Tally(environment.num_arms)
    measurements = batches = 0
    while not engine.is_done() and measurements < limit:
        check_cancelled()
        chosen = engine.choose(min(batch, limit - measurements), [], most)
        for arm, pooled in chosen:
            engine.process(arm, pull(sampler, arm, unused), pooled)
        engine.end_tell()
        measurements += len(chosen)
        batches += 1
    certified = engine.is_done()
    good, bad = engine.labels == GOOD, engine.labels == BAD
    looks_good = engine.strategy.objective.answer(engine.tally.means)
    return _End(measurements, batches, certified, good, bad, guess=good | (looks_good & ~bad))


def _spread(values: npt.NDArray[np.float64]) -> Spread:
    """Return the mean, and the ends of what is left without the smallest and the largest tenth."""
    tenth = values.size // 10
    low, high = np.sort(values)[[tenth, -1 - tenth]]
    return float(values.mean()), float(low), float(high)
