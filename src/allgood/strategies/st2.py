"""(ST)^2 of Mason, Jain, Tripathy and Nowak (2020): sample the threshold, split the arms.

Each round pulls up to three arms: the one with the highest upper bound (it sets the threshold), the
empirically good arm that is least surely good, and the empirically bad arm that is least surely bad.  It stops
when neither of the last two is needed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit import inlined
from ..models import Model
from ..parts import answer, empirical_answer, is_done, next_arm, update
from ._intervals import ByBounds, Intervals, Width, doubtful, family_refresh, highest, new_bounds, refresh


class ST2Spec(Intervals):
    """Type by which kernels are found."""


class FamilySpec(ST2Spec):
    """The same, for rewards that are not normal."""


refresh.register(FamilySpec)(family_refresh)


class ST2State(NamedTuple):
    upper: np.ndarray  # float64[K]
    lower: np.ndarray  # float64[K]
    queue: np.ndarray  # int64[3]  the arms of this round
    place: np.ndarray  # int64[3]  next place in the queue, its length, and whether all is done


@update.register(ST2Spec)
@inlined
def _update(spec, state, tally):
    refresh(spec, state, tally)
    place, queue, upper = state.place, state.queue, state.upper
    place[0] += 1
    if tally.pulls[0] >= upper.size and place[0] >= place[1]:
        good, bad = doubtful(spec, state, tally)
        queue[0] = highest(upper)
        size = 1
        if good >= 0:
            queue[size] = good
            size += 1
        if bad >= 0:
            queue[size] = bad
            size += 1
        place[0], place[1] = 0, size
        place[2] = size == 1


@is_done.register(ST2Spec)
@inlined
def _is_done(spec, state, tally):
    return state.place[2] == 1


@next_arm.register(ST2Spec)
@inlined
def _next_arm(spec, state, tally):
    return state.queue[state.place[0]]


answer.register(ST2Spec)(empirical_answer)


@dataclass(frozen=True)
class ST2(ByBounds):
    """(ST)^2: stops by confidence bounds, samples where they matter.

    Args:
        objective: the question.
        delta: the risk.
        width: "mason", as proven by its authors; "mason-data", the narrower one of their real-data runs, not
            proven; "mixture", proven and narrower still.
    """

    width: Width = "mason"

    def start(self, num_arms: int, model: Model) -> tuple[ST2Spec, ST2State]:
        spec = self.intervals_as(ST2Spec, FamilySpec, num_arms, model)
        return spec, ST2State(*new_bounds(num_arms), np.zeros(3, np.int64), np.zeros(3, np.int64))
