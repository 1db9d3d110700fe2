"""UCB: always pull the arm with the highest upper bound.

A baseline: it finds the best arm, and neglects the others.
"""

from dataclasses import dataclass

import cython
from cython.cimports.allgood.strategies.confidence_bounds import BoundsState

from allgood.strategies.confidence_bounds import ByBounds


class UCBState(BoundsState):
    def next_arm(self, tally):
        best: cython.Py_ssize_t = 0
        for a in range(tally.size):
            if self.upper[a] > self.upper[best]:
                best = a
        return best


@dataclass(frozen=True)
class UCB(ByBounds):
    """Pull the arm with the highest upper bound; stop by confidence bounds.

    Widths are those of :class:`ST2`.  UCB is for comparisons at a fixed budget: it may never stop
    by itself, because it hardly pulls bad arms.
    """

    def start(self, num_arms, model):
        return UCBState(self, num_arms, model)
