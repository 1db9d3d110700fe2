"""(ST)^2 of Mason, Jain, Tripathy and Nowak (2020): sample the threshold, split the arms.

Each round pulls up to three arms: the one with the highest upper bound (it sets the threshold), the
empirically good arm that is least surely good, and the empirically bad arm that is least surely
bad.  The run stops when the bounds leave no arm in doubt.
"""

from dataclasses import dataclass

import cython
from cython.cimports.allgood.strategies.confidence_bounds import BoundsState

from allgood.evidence.thresholds import WidthName
from allgood.strategies.confidence_bounds import ByBounds


class ST2State(BoundsState):
    """The state of a run: the arms of the round (``queue``, ``size``) and the present one
    (``turn``).
    """

    def __init__(self, strategy, num_arms, model):
        BoundsState.__init__(self, strategy, num_arms, model)
        self.turn, self.size = 0, 0
        if not cython.compiled:
            self.queue = [0, 0, 0]

    def update(self, tally):
        self.refresh(tally)
        self.turn += 1
        if tally.pulls < tally.size or self.turn < self.size:
            return 0
        doubt = self.doubtful(tally)
        self.queue[0] = doubt.top
        self.turn, self.size = 0, 1
        if doubt.good >= 0:
            self.queue[self.size] = doubt.good
            self.size += 1
        if doubt.bad >= 0:
            self.queue[self.size] = doubt.bad
            self.size += 1
        self.done = self.size == 1
        return 0

    def next_arm(self, tally):
        return self.queue[self.turn]


@dataclass(frozen=True)
class ST2(ByBounds):
    """(ST)^2: stops by confidence bounds, samples the arms that they depend on.

    Args:
        objective: the question.
        delta: the risk.
        width: "mason", as proven by its authors; "mason-data", the narrower one of their real-data
            runs, not proven; "mixture", proven and narrower still.
    """

    width: WidthName = "mason"

    def start(self, num_arms, model):
        return ST2State(self, num_arms, model)
