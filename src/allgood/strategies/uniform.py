"""Uniform: every arm in turn.  The baseline that needs no thought, with a stopping rule that is right."""

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
    intervals_of,
    new_bounds,
    refresh,
)


class UniformSpec(Intervals):
    """Type by which kernels are found."""


@UPDATE.register(UniformSpec)
@inlined
def _update(spec, state, tally):
    refresh(spec, state, tally)


@IS_DONE.register(UniformSpec)
@inlined
def _is_done(spec, state, tally):
    good, bad = doubtful(spec, state, tally)
    return good < 0 and bad < 0


@NEXT_ARM.register(UniformSpec)
@inlined
def _next_arm(spec, state, tally):
    return tally.pulls[0] % tally.counts.size


@dataclass(frozen=True)
class Uniform:
    """Pull the arms in turn; stop by confidence bounds."""

    objective: Objective
    delta: float
    width: Width = "mixture"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", probability("Uniform(delta=...)", self.delta))
        check_width("Uniform(width=...)", self.width)

    @property
    def proven(self) -> bool:
        return PROVEN_WIDTH[self.width]

    def start(self, num_arms: int, model: Gaussian) -> tuple[UniformSpec, Bounds]:
        spec = UniformSpec(*intervals_of(self.objective, self.delta, self.width, num_arms, model))
        return spec, new_bounds(num_arms)
