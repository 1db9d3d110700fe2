"""Uniform: pull every arm in turn.  The simplest baseline, with a proven stopping rule."""

from dataclasses import dataclass

from cython.cimports.allgood.strategies.confidence_bounds import BoundsState

from allgood.strategies.confidence_bounds import ByBounds


class UniformState(BoundsState):
    def next_arm(self, tally):
        return tally.pulls % tally.size


@dataclass(frozen=True)
class Uniform(ByBounds):
    """Pull the arms in turn; stop by confidence bounds (widths as for :class:`ST2`)."""

    def start(self, num_arms, model):
        return UniformState(self, num_arms, model)
