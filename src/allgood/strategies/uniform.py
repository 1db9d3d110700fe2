"""Uniform: every arm in turn.

The baseline that needs no thought, with a stopping rule that is right.
"""

from dataclasses import dataclass

import cython

from allgood.strategies.by_bounds import ByBounds

if cython.compiled:
    from cython.cimports.allgood.strategies.by_bounds import BoundsRule
else:
    from allgood.strategies.by_bounds import BoundsRule


class UniformRule(BoundsRule):
    def next_arm(self, tally):
        return tally.pulls % tally.size


@dataclass(frozen=True)
class Uniform(ByBounds):
    """Pull the arms in turn; stop by confidence bounds (widths as for :class:`ST2`)."""

    def start(self, num_arms, model):
        return UniformRule(self, num_arms, model)
