"""UCB: always the arm with the highest upper bound.  A baseline: it finds the best arm, and neglects the rest."""

from dataclasses import dataclass

from .._jit import inlined
from ..models import Gaussian
from ..parts import answer, empirical_answer, is_done, next_arm, update
from ._intervals import Bounds, ByBounds, Intervals, highest, new_bounds, refresh, separated


class UCBSpec(Intervals):
    """Type by which kernels are found."""


update.register(UCBSpec)(refresh)
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

    def start(self, num_arms: int, model: Gaussian) -> tuple[UCBSpec, Bounds]:
        return UCBSpec(*self.intervals(num_arms, model)), new_bounds(num_arms)
