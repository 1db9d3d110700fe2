"""Confidence intervals for each arm, and the stopping rule that strategies based on them share.

Where the width is proven, with probability at least 1 - delta every mean stays within m -+ C(N) at all times:

    mason        C(n) = 2 sigma sqrt( log(K log2(2n) / delta) / n )                  proven, Mason et al. 2020
    mason-data   C(n) = sigma sqrt( 2.08 log(K log2(2n) / delta) / n )               their real-data runs; not proven
    mixture      C(n) = sigma min_c sqrt( 2 (n + c)/n^2 (log(J K / delta) + log(1 + n/c)/2) )   proven

For rewards that are not normal the mixture is that of ``evidence.py``: each end is where one arm's evidence reaches
log(2 K / delta).  The others need sub-Gaussian rewards (Bernoulli's are, with sigma = 1/2).

Bounds are kept monotone: the best seen so far.  An arm is known good when its lower bound exceeds
U = c max upper - e, known bad when its upper bound is below L = c max lower - e.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from .._check import count, probability
from .._jit import inlined
from ..evidence import arm_bound, prior
from ..models import NORMAL, SUB_GAUSSIAN, Model
from ..objectives import Objective
from ..parts import dispatch
from ..thresholds import MIXTURE_GRID

Width = Literal["mason", "mason-data", "mixture"]
WIDTHS: tuple[Width, ...] = ("mason", "mason-data", "mixture")
PROVEN_WIDTH: dict[Width, bool] = {"mason": True, "mason-data": False, "mixture": True}
MASON, MASON_DATA, MIXTURE = range(3)


class Intervals(NamedTuple):
    """What the kernels need to know of the question, the noise and the widths.  Each strategy's spec is one."""

    c: float
    e: float
    sigma: np.ndarray  # float64[K]
    width: int
    log_arms: float  # log(K / delta)
    grid: np.ndarray  # float64[J]
    family: int  # of the mixture
    low: float  # the least mean
    high: float  # the largest
    eta: np.ndarray  # float64[J]  its effects, for families other than the normal one
    w: np.ndarray  # float64[J]  and their weights


class Bounds(NamedTuple):
    """Running bounds on each mean.  Each strategy's state has these two fields."""

    upper: np.ndarray  # float64[K]
    lower: np.ndarray  # float64[K]


Spec = TypeVar("Spec", bound=Intervals)


def new_bounds(num_arms: int) -> Bounds:
    return Bounds(np.full(num_arms, np.inf), np.full(num_arms, -np.inf))


@dataclass(frozen=True)
class ByBounds:
    """What the strategies based on confidence bounds share: the question, the risk and the width."""

    objective: Objective
    delta: float
    width: Width = "mixture"

    def __post_init__(self) -> None:
        name = type(self).__name__
        Objective.check(self.objective)
        object.__setattr__(self, "delta", probability(f"{name}(delta=...)", self.delta))
        if self.width not in WIDTHS:
            raise ValueError(f"{name}(width=...) must be one of {', '.join(WIDTHS)}: got {self.width!r}.")

    @property
    def proven(self) -> bool:
        """Whether the answer is wrong with probability at most delta by a theorem."""
        return PROVEN_WIDTH[self.width]

    @property
    def risks(self) -> tuple[float, ...]:
        return (self.delta,)

    def intervals(self, num_arms: int, model: Model, share: float = 1.0) -> Intervals:
        """The spec, for bounds that all hold with probability at least 1 - share * delta."""
        num_arms = count("num_arms", num_arms)
        family = model.family if self.width == "mixture" else NORMAL
        if family == NORMAL:
            if model.family not in SUB_GAUSSIAN:
                raise ValueError(
                    f'{type(self).__name__}(width=...) must be "mixture" for {model}: got {self.width!r}, '
                    "which needs sub-Gaussian rewards of known sigma."
                )
            sigma = model.sigmas(num_arms)
        else:
            sigma = np.ones(num_arms)
        eta, _, _, w = prior(family, num_arms)
        return Intervals(
            self.objective.factor,
            self.objective.slack,
            sigma,
            WIDTHS.index(self.width),
            math.log(num_arms / (share * self.delta)),
            np.array(MIXTURE_GRID),
            family,
            *model.range,
            eta,
            w,
        )

    def intervals_as(self, normal: type[Spec], family: type[Spec], num_arms: int, model: Model) -> Spec:
        """The spec as one of two types: for normal rewards, and for others."""
        spec = self.intervals(num_arms, model)
        return (normal if spec.family == NORMAL else family)(*spec)


@inlined
def mixture_factor(n, log_term, grid):
    """n C(n) / sigma of the mixture, squared and halved; ``log_term`` = log(J K / delta)."""
    best = np.inf
    for j in range(grid.size):
        best = min(best, (n + grid[j]) * (log_term + 0.5 * math.log1p(n / grid[j])))
    return best


@inlined
def half_width(spec, arm, n):
    """C(n) for this arm."""
    if spec.width == MIXTURE:
        C = math.sqrt(2.0 * mixture_factor(n, spec.log_arms + math.log(spec.grid.size), spec.grid)) / n
    else:
        factor = 4.0 if spec.width == MASON else 2.08
        C = math.sqrt(factor * (spec.log_arms + math.log(math.log2(2.0 * n))) / n)
    return C * spec.sigma[arm]


refresh = dispatch("refresh")  # (spec, state, tally) -> None: take in the last reward


@refresh.register(Intervals)
@inlined
def _refresh(spec, state, tally):
    arm = tally.last[0]
    mean = tally.means[arm]
    C = half_width(spec, arm, float(tally.counts[arm]))
    state.upper[arm] = min(state.upper[arm], mean + C)
    state.lower[arm] = max(state.lower[arm], mean - C)


@inlined
def family_refresh(spec, state, tally):
    """For rewards that are not normal."""
    arm = tally.last[0]
    mean, n, Q = tally.means[arm], float(tally.counts[arm]), tally.scatter[arm]
    level = spec.log_arms + math.log(2.0)
    if n == 1.0:
        state.lower[arm], state.upper[arm] = spec.low, spec.high
    state.upper[arm] = arm_bound(spec.family, n, mean, Q, spec.eta, spec.w, level, 1.0, state.upper[arm])
    state.lower[arm] = arm_bound(spec.family, n, mean, Q, spec.eta, spec.w, level, -1.0, state.lower[arm])


@inlined
def doubtful(spec, state, tally):
    """``(weakest good arm, strongest bad arm)`` among those not yet known, -1 where there is none.

    Empirically good arms: the one with the lowest lower bound, if that is <= U.  Empirically bad arms: the one
    with the highest upper bound, if that is >= L.  Ties keep the lowest arm.
    """
    upper, lower, means = state.upper, state.lower, tally.means
    c, e = spec.c, spec.e
    U, L, top = -np.inf, -np.inf, -np.inf
    for a in range(means.size):
        U, L, top = max(U, upper[a]), max(L, lower[a]), max(top, means[a])
    U, L, bar = c * U - e, c * L - e, c * top - e
    good, bad = -1, -1
    for a in range(means.size):
        if means[a] >= bar:
            if lower[a] <= U and (good < 0 or lower[a] < lower[good]):
                good = a
        elif upper[a] >= L and (bad < 0 or upper[a] > upper[bad]):
            bad = a
    return good, bad


@inlined
def separated(spec, state, tally):
    """Whether every arm is known good or known bad."""
    good, bad = doubtful(spec, state, tally)
    return good < 0 and bad < 0


@inlined
def highest(values):
    """The lowest index of the largest value."""
    best = 0
    for a in range(values.size):
        if values[a] > values[best]:
            best = a
    return best
