"""Running strategies: one run.

A run is a function of its seed.  Nothing reads global random state.
"""

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
    if isinstance(means_or_environment, GaussianArms | RewardTable | Callback):
        environment: Environment = means_or_environment
    else:
        environment = GaussianArms(means_or_environment, model)
    limit = NO_BUDGET if budget is None else count("budget", budget)
    if budget is None and isinstance(environment, GaussianArms):
        blame = undecidable_because(np.asarray(environment.means), strategy.objective)
        if blame is not None:
            raise ValueError(
                f"budget must be given for an undecidable instance, or the run never ends: got None. {blame}"
            )
    num_arms = environment.num_arms
    if limit < num_arms:
        raise ValueError(f"budget must allow one pull of each of the {num_arms} arms: got {limit}.")
    spec, state = strategy.start(num_arms, model)
    tally = new_tally(num_arms)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    loop = run_loop if environment.compiled else getattr(run_loop, "py_func", run_loop)
    ended = loop(spec, state, environment.spec(), tally, rng, limit)
    seen = tally.counts > 0
    evidence = best_response(tally.means, tally.counts, strategy.objective, model).cost if seen.all() else 0.0
    status = {CERTIFIED: RunStatus.CERTIFIED, BUDGET_EXHAUSTED: RunStatus.BUDGET_EXHAUSTED}
    return Result(
        answer=strategy.objective.answer(tally.means),
        status=status.get(ended, RunStatus.REWARDS_EXHAUSTED),
        proven=strategy.proven,
        pulls=int(tally.pulls[0]),
        counts=tally.counts,
        means=tally.means,
        evidence=evidence,
        crossings=state.crossings if hasattr(state, "crossings") else None,
        seed=seed,
    )
