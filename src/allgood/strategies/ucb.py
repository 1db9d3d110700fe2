"""UCB: always the arm with the highest upper bound.  A baseline: it finds the best arm, and neglects the rest."""

from dataclasses import dataclass

from .._check import probability
from .._jit import inlined
from ..models import Gaussian
from ..objectives import Objective
from ..parts import IS_DONE, NEXT_ARM, UPDATE
from ._intervals import (
    PROVEN_WIDTH,
    Bounds,
    Intervals,
    Width,
    check_width,
    doubtful,
    highest,
    intervals_of,
    new_bounds,
    refresh,
)


class UCBSpec(Intervals):
    """Type by which kernels are found."""


@UPDATE.register(UCBSpec)
@inlined
def _update(spec, state, tally):
    refresh(spec, state, tally)


@IS_DONE.register(UCBSpec)
@inlined
def _is_done(spec, state, tally):
    good, bad = doubtful(spec, state, tally)
    return good < 0 and bad < 0


@NEXT_ARM.register(UCBSpec)
@inlined
def _next_arm(spec, state, tally):
    return highest(state.upper)


@dataclass(frozen=True)
class UCB:
    """Pull the arm with the highest upper bound; stop by confidence bounds.

    For fixed-budget comparisons: it may never stop by itself, because it hardly pulls bad arms.
    """

    objective: Objective
    delta: float
    width: Width = "mixture"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", probability("UCB(delta=...)", self.delta))
        check_width("UCB(width=...)", self.width)

    @property
    def proven(self) -> bool:
        return PROVEN_WIDTH[self.width]

    def start(self, num_arms: int, model: Gaussian) -> tuple[UCBSpec, Bounds]:
        spec = UCBSpec(*intervals_of(self.objective, self.delta, self.width, num_arms, model))
        return spec, new_bounds(num_arms)
