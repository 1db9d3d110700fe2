"""One run of a strategy: ``run``, and ``follow`` for snapshots while it goes on.

A run is a function of its seed.  Nothing reads global random state.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _build
from .._internal.arguments import Vector, count
from .._internal.cancel import check_cancelled, is_cancellable
from .._internal.tables import arms, html_table
from ..evidence.claims import Claims
from ..evidence.labels import CertifiedLabels
from ..evidence.spec import GOOD
from ..kernels.tally import Tally
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Objective
from ..strategies.base import Strategy
from ..strategies.state import StrategyState
from ..theory.alternatives.response import best_response
from ..theory.characteristic import undecidable_because
from .environments import Arms, Environment
from .loop import BUDGET_EXHAUSTED, CERTIFIED, REWARDS_EXHAUSTED, new_watch, run_loop

NO_BUDGET = 10**15  # pulls; at ten nanoseconds each, four months
PART = 1000  # pulls between two looks at whether the computation is to stop

Labels = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


class RunStatus(Enum):
    """The end of a run; the value is a sentence for the user."""

    CERTIFIED = "The strategy stopped by itself; its answer carries its guarantee."
    BUDGET_EXHAUSTED = (
        "The budget was spent before the strategy would stop; its answer carries no guarantee."
    )
    REWARDS_EXHAUSTED = (
        "There were no more rewards before the strategy would stop; "
        "its answer carries no guarantee."
    )
    FIXED_BUDGET = (
        "The run was told to go on to a fixed number of pulls; its answer carries no guarantee."
    )


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of one run.

    Attributes:
        answer: bool[K], True for the arms that the strategy calls good.
        status: certified or not; never merged.
        proven: True if a theorem proves the strategy's stopping rule; an answer is guaranteed only
            if certified and proven.
        pulls, counts, means: the number of measurements, that of each arm, and their averages.
        crossings: for strategies with several risks, the pulls at which each was reached; 0 if it
            was not.
        crossing_answers: bool[n, K], the answer at each of those moments.
        watched: bool[n, K], the answer at each number of pulls of the grid, if there is one.
        certified_at: for strategies that certify each label by itself, the pulls at which each was;
            0 while it is open.  For other strategies with a grid: the first of its points at which
                :func:`claims` certifies the label.  Such a label is guaranteed by itself, whether
                or not the run was certified.  certified_good: bool[K], True for arms certified
                good.  The others with ``certified_at`` above 0 are certified bad.
        objective, model: the question, and the noise that the strategy assumes.
        seed: the run is a function of it, of the strategy, the environment and, in a simulation,
            its number.
    """

    answer: "Labels"
    status: RunStatus
    proven: bool
    pulls: int
    counts: "Integers"
    means: "Vector"
    crossings: "Integers | None"
    crossing_answers: "Labels | None"
    watched: "Labels | None"
    certified_at: "Integers | None"
    certified_good: "Labels | None"
    objective: Objective
    model: Model
    seed: int

    def __repr__(self) -> str:
        ending = self.status.name.lower().replace("_", " ")
        proven = "" if self.proven else "; the stopping rule is not proven"
        return (
            f"Result({ending} after {self.pulls:,} pulls; {self.answer.size} arms, "
            f"{arms('good', self.answer)}{proven})"
        )

    def _repr_html_(self) -> str:
        columns: dict[str, list[Any]] = {
            "arm": list(range(self.answer.size)),
            "good": self.answer.tolist(),
            "pulls": self.counts.tolist(),
            "average": self.means.tolist(),
        }
        if self.certified_at is not None:
            columns["certified at"] = [pulls or None for pulls in self.certified_at.tolist()]
        return html_table(repr(self), columns)

    @property
    def certified(self) -> bool:
        """True if the strategy stopped by itself."""
        return self.status is RunStatus.CERTIFIED

    @cached_property
    def evidence(self) -> float:
        """Z at the end: the cost of the cheapest alternative to the averages under the counts.

        0 if an arm was never pulled; nan if sigma is unknown.
        """
        if (self.counts == 0).any():
            return 0.0
        if not self.model.noise_known:
            return math.nan
        return best_response(self.means, self.counts, self.objective, self.model).cost


def run(
    strategy: Strategy,
    environment: "npt.ArrayLike | Environment",
    model: Model | None = None,
    *,
    seed: int = 0,
    budget: int | None = None,
    grid: "npt.ArrayLike | None" = None,
) -> Result:
    """Run a strategy once, on arms with these means or in another environment.

    ``environment`` is an environment, or the true means of arms.  ``model`` is the noise that the
    strategy assumes.  For means it is the noise of the arms as well.  Arms bring their own noise,
    and the strategy assumes it unless ``model`` states another.  **For a table, a callback or an
    environment of your own the guarantee is for the noise that ``model`` states: normal rewards
    with sigma = 1 by default.**  :func:`simulate` explains ``budget`` and ``grid``.

    >>> from allgood import ST2, Additive, run
    >>> result = run(ST2(Additive(0.9), delta=0.1, width="mixture"), [1, 1, 1, 1, 0.05], seed=1)
    >>> result.answer, result.certified
    (array([ True,  True,  True,  True, False]), True)
    """
    _build.warn_once()
    place, model = environment_of(environment, model)
    points, limit = limits(strategy, place, budget, grid)
    sequence = np.random.SeedSequence(check_seed(seed))
    return one_run(strategy, place, model, points, limit, sequence)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run in the middle.

    Counts, averages, variances and, for strategies that certify labels, the claims.
    """

    pulls: int
    counts: "Integers"
    means: "Vector"
    variances: "Vector"
    claims: Claims | None


def follow(
    strategy: Strategy,
    environment: "npt.ArrayLike | Environment",
    model: Model | None = None,
    *,
    seed: int = 0,
    budget: int | None = None,
    growth: float = 1.1,
) -> Generator[Snapshot, None, Result]:
    """Do the run of :func:`run`, with a snapshot whenever the pulls have grown by this factor.

    There is one at the end, too.  Returns what :func:`run` returns: ``result = yield from
    follow(...)``, or the ``value`` of StopIteration.
    """
    place, model = environment_of(environment, model)
    points, limit = limits(strategy, place, budget, None)
    if not 1.0 < growth < 1e6:
        raise ValueError(f"growth must lie between 1 and a million: got {growth!r}.")
    sequence = np.random.SeedSequence(check_seed(seed))
    steps = _Run(strategy, place, model, points, sequence)
    due = place.num_arms
    while steps.ended is None or (steps.ended == BUDGET_EXHAUSTED and steps.tally.pulls < limit):
        steps.go(min(due, limit))
        yield steps.snapshot()
        due = max(due + 1, int(growth * due))
    return steps.result()


def environment_of(
    environment: npt.ArrayLike | Environment, model: Model | None
) -> tuple[Environment, Model]:
    """Return the environment, and the noise that the strategy assumes."""
    if model is not None:
        Model.check(model)
    if isinstance(environment, Arms):
        return environment, environment.model if model is None else model
    model = Gaussian() if model is None else model
    if isinstance(environment, Environment):
        return environment, model
    if np.asarray(environment).dtype == object and np.ndim(environment) == 0:  # not numbers
        hint = "  A function that makes an environment for each run is for simulate." * callable(
            environment
        )
        raise TypeError(
            "environment must be means, one number per arm, or an Environment: derive yours from "
            f"allgood.Environment, and make it first: got {environment!r}.{hint}"
        )
    return Arms(environment, model), model


def check_seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0: got {seed!r}.")
    return int(seed)


def limits(
    strategy: Strategy, environment: Environment, budget: int | None, grid: npt.ArrayLike | None
) -> tuple[Integers, int]:
    """Return the points of the grid, and the number of pulls at which a run ends in any case."""
    Strategy.check(strategy)
    Environment.check(environment)
    K = environment.num_arms
    if grid is not None:
        if budget is not None:
            raise ValueError(
                f"budget must be left out if there is a grid, which ends the run: got {budget}."
            )
        points = np.atleast_1d(np.asarray(grid))
        whole = points.dtype.kind in "iu"
        if whole and points.size and int(points.max()) > NO_BUDGET:
            raise ValueError(
                f"grid must not go beyond {NO_BUDGET:,} pulls: got {int(points.max()):,}."
            )
        if points.ndim != 1 or points.size == 0 or not whole or (np.diff(points) <= 0).any():
            raise ValueError(f"grid must hold whole numbers of pulls that increase: got {grid!r}.")
        if points[0] < K:
            raise ValueError(
                f"grid must start at one pull of each of the {K} arms: got {points[0]}."
            )
        return points.astype(np.int64), int(points[-1])
    if budget is None:
        check_decidable(strategy, environment)
    limit = NO_BUDGET if budget is None else count("budget", budget)
    if limit > NO_BUDGET:
        raise ValueError(f"budget must not exceed {NO_BUDGET:,} pulls: got {limit:,}.")
    if limit < K:
        raise ValueError(f"budget must allow one pull of each of the {K} arms: got {limit}.")
    return np.zeros(0, np.int64), limit


def check_decidable(strategy: Strategy, environment: Environment) -> None:
    """Raise ValueError for true means at which no number of pulls decides the question."""
    if not hasattr(environment, "means"):
        return
    blame = undecidable_because(np.asarray(environment.means), strategy.objective)
    if blame is not None:
        raise ValueError(
            "budget must be given for an undecidable instance, or the run never ends: "
            f"got None. {blame}"
        )


def one_run(
    strategy: Strategy,
    environment: Environment,
    model: Model,
    grid: Integers,
    limit: int,
    sequence: np.random.SeedSequence,
) -> Result:
    steps = _Run(strategy, environment, model, grid, sequence)
    steps.go(limit)
    return steps.result()


def started(strategy: Strategy, num_arms: int, model: Model) -> StrategyState:
    """Return the state of the strategy in a new run.

    If the loop is compiled, a state in plain Python raises TypeError: its methods would not be
    called.
    """
    state = strategy.start(num_arms, model)
    if _build.COMPILED and hasattr(state, "next_arm"):
        name = type(state).__name__
        raise TypeError(
            f"{name} must be compiled: the loop is compiled, and does not call methods in plain "
            f"Python.  Subclass Strategy instead, or compile {name} (docs/your-own-strategy.md)."
        )
    return state


class _Run:
    """One run that can be stopped and continued."""

    def __init__(
        self,
        strategy: Strategy,
        environment: Environment,
        model: Model,
        grid: Integers,
        sequence: np.random.SeedSequence,
    ) -> None:
        K = environment.num_arms
        self.strategy, self.model, self.sequence = strategy, model, sequence
        self.state = started(strategy, K, model)
        self.sampler = environment.start(model, np.random.default_rng(sequence))
        self.tally = Tally(K)
        labels = None
        if grid.size and not hasattr(self.state, "certified_at"):
            labels = CertifiedLabels(strategy.objective, strategy.risks[-1], K, model)
        self.watch = new_watch(K, grid, labels)
        self.ended: int | None = None

    def go(self, limit: int) -> None:
        """Continue to this number of pulls, or until the strategy stops."""
        part = PART if is_cancellable() else limit
        while self.ended in (None, BUDGET_EXHAUSTED):
            check_cancelled()
            until = min(self.tally.pulls + part, limit)
            self.ended = run_loop(self.state, self.sampler, self.tally, until, self.watch)
            if until == limit:
                return

    def snapshot(self) -> Snapshot:
        tally, state = self.tally, self.state
        claims = None
        if hasattr(state, "claims"):
            spec = self.strategy.spec(tally.size, self.model)  # type: ignore[attr-defined]
            claims = state.claims(tally, spec)
        variances = tally.scatter / np.maximum(tally.counts, 1)
        return Snapshot(tally.pulls, tally.counts.copy(), tally.means.copy(), variances, claims)

    def result(self) -> Result:
        assert self.ended is not None
        tally, state, watch, strategy = self.tally, self.state, self.watch, self.strategy
        fixed = watch.grid.size > 0
        status = {
            CERTIFIED: RunStatus.CERTIFIED,
            BUDGET_EXHAUSTED: RunStatus.FIXED_BUDGET if fixed else RunStatus.BUDGET_EXHAUSTED,
            REWARDS_EXHAUSTED: RunStatus.REWARDS_EXHAUSTED,
        }
        several = len(strategy.risks) > 1
        certified: Any = watch.labels or (state if hasattr(state, "certified_at") else None)
        return Result(
            answer=watch.answers[-1],
            status=status[self.ended],
            proven=strategy.proven,
            pulls=tally.pulls,
            counts=tally.counts.copy(),
            means=tally.means.copy(),
            crossings=np.array(state.crossings) if several else None,  # type: ignore[attr-defined]
            crossing_answers=np.array(state.answers, np.bool_) if several else None,  # type: ignore[attr-defined]
            watched=watch.answers[:-1] if fixed else None,
            certified_at=None if certified is None else np.array(certified.certified_at),
            certified_good=None if certified is None else np.asarray(certified.labels) == GOOD,
            objective=strategy.objective,
            model=self.model,
            seed=int(self.sequence.entropy),  # type: ignore[arg-type]
        )
