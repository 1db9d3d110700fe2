"""What a study will cost before it begins, from simulations and from theory."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._check import count, means_array, probability
from ..bounds import lower_bounds
from ..characteristic import undecidable_because
from ..environments import Arms
from ..laws.base import Law
from ..laws.gaussian import Gaussian
from ..objectives import Objective
from ..parts import Tally
from ..simulation import simulate
from ..strategies.weakest_claim import WeakestClaim
from ..worlds import pull
from .engine import Engine

LONGEST = 1_000_000  # measurements after which a simulated study is given up


@dataclass(frozen=True)
class Plan:
    """How many measurements and batches simulated studies needed.

    Attributes:
        batch, runs: number of measurements asked for at once, and of simulated studies.
        ended: how many of these studies were certified within the limit or the budget.
        pulls, batches: the mean of each, and the ends between which ``within`` studies lie.
        within: all studies but the shortest and the longest tenth.
        lower_bound: expected number of measurements that every strategy needs; None where there is
            no such bound.
        lower_bound_remark: a sentence if this bound may be loose; else None.
        characteristic_time: T*; the lower bound grows like T* log(1/delta).
    """

    batch: int
    runs: int
    ended: int
    within: int
    pulls: tuple[float, float, float]
    batches: tuple[float, float, float]
    lower_bound: float | None
    lower_bound_remark: str | None
    characteristic_time: float | None


def plan_study(
    means: npt.ArrayLike,
    objective: Objective,
    delta: float,
    model: Law = Gaussian(),  # noqa: B008 - immutable
    *,
    sigma: float = 1.0,
    batch: int = 1,
    runs: int = 20,
    seed: int = 0,
    budget: int | None = None,
    pool: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Simulate studies of arms with these means, measured in batches, to their end.

    ``sigma`` is the standard deviation of the simulated rewards where the model leaves it unknown.
    """
    model = Law.check(model)
    law = model if model.noise_known else Gaussian(sigma)
    environment = Arms(means_array(means), law)
    mu = np.asarray(environment.means)
    blame = undecidable_because(mu, objective)
    if blame is not None and budget is None:
        raise ValueError(f"budget must be given where a study would never end: got None. {blame}")
    limit = LONGEST if budget is None else count("budget", budget)
    batch, runs = count("batch", batch), count("runs", runs)
    strategy = WeakestClaim(Objective.check(objective), probability("delta", delta), pool)
    if batch == 1:
        simulation = simulate(strategy, environment, model, runs, seed, limit, progress=progress)
        pulls, ended = simulation.pulls.astype(np.float64), simulation.certified
    else:
        pulls, ended = np.zeros(runs), np.zeros(runs, np.bool_)
        for i in range(runs):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
            pulls[i], ended[i] = in_batches(
                Engine(strategy, model, mu.size), environment, batch, limit, rng
            )
            if progress is not None:
                progress(i + 1, runs)
    bound = remark = time = None
    if law.exact and blame is None:
        bounds = lower_bounds(mu, objective, delta, law)
        bound, remark, time = bounds.best, bounds.remark, bounds.characteristic_time.value
    return Plan(
        batch=batch,
        runs=runs,
        ended=int(ended.sum()),
        within=runs - 2 * (runs // 10),
        pulls=_spread(pulls),
        batches=_spread(np.ceil(pulls / batch)),
        lower_bound=bound,
        lower_bound_remark=remark,
        characteristic_time=time,
    )


def in_batches(
    engine: Engine, environment: Arms, batch: int, limit: int, rng: np.random.Generator
) -> tuple[int, bool]:
    """Simulate a study to its end or its limit.

    Returns how many measurements it took, and whether it was certified.
    """
    world, unused = environment.start(engine.model, rng), Tally(environment.num_arms)
    pulls = 0
    while not engine.is_done() and pulls < limit:
        chosen = engine.choose(min(batch, limit - pulls), [])
        for arm, joins in chosen:
            engine.hear(arm, pull(world, arm, unused), joins)
        engine.end_tell()
        pulls += len(chosen)
    return pulls, engine.is_done()


def _spread(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """The mean, and the ends of what is left without the smallest and the largest tenth."""
    tenth = values.size // 10
    low, high = np.sort(values)[[tenth, -1 - tenth]]
    return float(values.mean()), float(low), float(high)
