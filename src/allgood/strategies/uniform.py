"""Uniform: every arm in turn.  The baseline that needs no thought, with a stopping rule that is right."""

from dataclasses import dataclass

from .._jit import inlined
from ..models import Model
from ..parts import answer, empirical_answer, is_done, next_arm, update
from ._intervals import Bounds, ByBounds, Intervals, family_refresh, new_bounds, refresh, separated


class UniformSpec(Intervals):
    """Type by which kernels are found."""


class FamilySpec(UniformSpec):
    """The same, for rewards that are not normal."""


update.register(UniformSpec)(refresh)
refresh.register(FamilySpec)(family_refresh)
is_done.register(UniformSpec)(separated)
answer.register(UniformSpec)(empirical_answer)


@next_arm.register(UniformSpec)
@inlined
def _next_arm(spec, state, tally):
    return tally.pulls[0] % tally.counts.size


@dataclass(frozen=True)
class Uniform(ByBounds):
    """Pull the arms in turn; stop by confidence bounds (widths as for :class:`ST2`)."""

    def start(self, num_arms: int, model: Model) -> tuple[UniformSpec, Bounds]:
        return self.intervals_as(UniformSpec, FamilySpec, num_arms, model), new_bounds(num_arms)
