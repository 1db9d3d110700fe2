"""Uniform: every arm in turn.  The baseline that needs no thought, with a stopping rule that is right."""

from dataclasses import dataclass

from .._jit import inlined
from ..models import Gaussian
from ..parts import answer, empirical_answer, is_done, next_arm, update
from ._intervals import Bounds, ByBounds, Intervals, new_bounds, refresh, separated


class UniformSpec(Intervals):
    """Type by which kernels are found."""


update.register(UniformSpec)(refresh)
is_done.register(UniformSpec)(separated)
answer.register(UniformSpec)(empirical_answer)


@next_arm.register(UniformSpec)
@inlined
def _next_arm(spec, state, tally):
    return tally.pulls[0] % tally.counts.size


@dataclass(frozen=True)
class Uniform(ByBounds):
    """Pull the arms in turn; stop by confidence bounds (widths as for :class:`ST2`)."""

    def start(self, num_arms: int, model: Gaussian) -> tuple[UniformSpec, Bounds]:
        return UniformSpec(*self.intervals(num_arms, model)), new_bounds(num_arms)
