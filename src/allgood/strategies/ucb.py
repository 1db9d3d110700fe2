"""UCB: always the arm with the highest upper bound.  A baseline: it finds the best arm, and neglects the rest."""

from dataclasses import dataclass

from .._jit import inlined
from ..models import Model
from ..parts import answer, empirical_answer, is_done, next_arm, update
from ._intervals import Bounds, ByBounds, Intervals, family_refresh, highest, new_bounds, refresh, separated


class UCBSpec(Intervals):
    """Type by which kernels are found."""


class FamilySpec(UCBSpec):
    """The same, for rewards that are not normal."""


update.register(UCBSpec)(refresh)
refresh.register(FamilySpec)(family_refresh)
is_done.register(UCBSpec)(separated)
answer.register(UCBSpec)(empirical_answer)


@next_arm.register(UCBSpec)
@inlined
def _next_arm(spec, state, tally):
    return highest(state.upper)


@dataclass(frozen=True)
class UCB(ByBounds):
    """Pull the arm with the highest upper bound; stop by confidence bounds (widths as for :class:`ST2`).

    For fixed-budget comparisons: it may never stop by itself, because it hardly pulls bad arms.
    """

    def start(self, num_arms: int, model: Model) -> tuple[UCBSpec, Bounds]:
        return self.intervals_as(UCBSpec, FamilySpec, num_arms, model), new_bounds(num_arms)
