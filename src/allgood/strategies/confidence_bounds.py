"""Confidence bounds on each mean, and the stopping rule that strategies based on them share.

If the width is proven (``thresholds``), with probability at least 1 - delta every mean stays
within m -+ C(N) at all times.  For rewards that are not normal the mixture is that of the evidence:
each end is where one arm's evidence reaches log(2 K / delta).  The other widths need sub-Gaussian
rewards (Bernoulli's are, with sigma = 1/2).

Bounds are monotone: the best so far.  An arm is known good when its lower bound exceeds
U = c max upper - e, known bad when its upper bound is below L = c max lower - e.
"""

import math
from collections import namedtuple
from dataclasses import dataclass

import cython
import numpy as np
from cython.cimports.allgood.evidence.grid_mixture import confidence_bound
from cython.cimports.allgood.evidence.thresholds.rules import Width
from cython.cimports.allgood.kernels.c_math import inf
from cython.cimports.allgood.kernels.tally import empirical_answer
from cython.cimports.allgood.strategies.state import StrategyState

from allgood._internal.arguments import count, probability
from allgood.evidence.thresholds import PROVEN_WIDTH, WIDTHS, WidthName
from allgood.objectives import Objective
from allgood.strategies.base import Strategy

if not cython.compiled:
    Doubtful = namedtuple("Doubtful", "top good bad")


class BoundsState(StrategyState):
    """Running bounds on each mean: ``upper`` and ``lower``.

    Attributes:
        open_arm, top: an arm that was not known good or bad, and the arm with the highest upper
            bound, at the last look at all arms.
        floor: the highest lower bound.
        done: True if every arm is known good or known bad.
    """

    def __init__(self, strategy, num_arms, model, share=1.0):
        """Set up bounds that all hold with probability at least 1 - share * delta."""
        K = count("num_arms", num_arms)
        self.c, self.e = strategy.objective.factor, strategy.objective.slack
        self.model = model
        self.normal = model.normal or strategy.width != "mixture"
        if self.normal and not model.sub_gaussian:
            raise ValueError(
                f'{type(strategy).__name__}(width=...) must be "mixture" for {model}: '
                f"got {strategy.width!r}, which needs sub-Gaussian rewards of known sigma."
            )
        self.sigma = model.sigmas(K) if self.normal else np.ones(K)
        log_arms = math.log(K / (share * strategy.delta))
        self.width = Width(WIDTHS.index(strategy.width), log_arms)
        self.level = log_arms + math.log(2.0)
        self.eta, _, _, self.w = model.effects(K)
        self.upper, self.lower = np.full(K, np.inf), np.full(K, -np.inf)
        self.open_arm, self.top, self.floor = -1, 0, -math.inf
        self.done = False

    def refresh(self, tally):
        """Process the last reward."""
        a = tally.last
        n: cython.double = tally.N[a]
        m = tally.m[a]
        if self.normal:
            C = self.width.half_width(n) * self.sigma[a]
            self.upper[a] = min(self.upper[a], m + C)
            self.lower[a] = max(self.lower[a], m - C)
            self.floor = max(self.floor, self.lower[a])
            return
        if n == 1.0:
            self.lower[a], self.upper[a] = self.model.low, self.model.high
        self.upper[a] = confidence_bound(
            self.model, n, m, tally.Q[a], self.eta, self.w, self.level, 1.0, self.upper[a]
        )
        self.lower[a] = confidence_bound(
            self.model, n, m, tally.Q[a], self.eta, self.w, self.level, -1.0, self.lower[a]
        )
        self.floor = max(self.floor, self.lower[a])

    def doubtful(self, tally):
        """Return the arm with the highest upper bound, and the two arms least surely labelled.

        Empirically good arms: the one with the lowest lower bound, if that is <= U.  Empirically
        bad arms: the one with the highest upper bound, if that is >= L.  -1 if there is none.
        Ties keep the lowest arm.
        """
        top: cython.Py_ssize_t = 0
        U: cython.double = -inf
        L: cython.double = -inf
        best: cython.double = -inf
        for a in range(tally.size):
            if self.upper[a] > U:
                U, top = self.upper[a], a
            L = max(L, self.lower[a])
            best = max(best, tally.m[a])
        U, L, bar = self.c * U - self.e, self.c * L - self.e, self.c * best - self.e
        good: cython.Py_ssize_t = -1
        bad: cython.Py_ssize_t = -1
        lowest: cython.double = inf
        highest: cython.double = -inf
        for a in range(tally.size):
            if tally.m[a] >= bar:
                x = self.lower[a]
                if x <= U and x < lowest:
                    good, lowest = a, x
            else:
                x = self.upper[a]
                if x >= L and x > highest:
                    bad, highest = a, x
        return Doubtful(top, good, bad)

    def is_still_open(self):
        """Return whether ``open_arm`` is surely neither known good nor bad: O(1) steps.

        U is at least the value that the upper bound of ``top`` gives.
        """
        a = self.open_arm
        return (
            a >= 0
            and self.lower[a] <= self.c * self.upper[self.top] - self.e
            and self.upper[a] >= self.c * self.floor - self.e
        )

    def update(self, tally):
        self.refresh(tally)
        if tally.pulls < tally.size or self.done or self.is_still_open():
            return 0
        doubt = self.doubtful(tally)
        self.top = doubt.top
        self.open_arm = doubt.good if doubt.good >= 0 else doubt.bad
        self.done = self.open_arm < 0
        return 0

    def is_done(self, tally):
        return self.done

    def answer(self, tally, out):
        empirical_answer(tally, self.c, self.e, out)
        return 0


@dataclass(frozen=True)
class ByBounds(Strategy):
    """Common part of strategies based on confidence bounds: the question, the risk, the width."""

    objective: Objective
    delta: float
    width: WidthName = "mixture"

    def __post_init__(self):
        name = type(self).__name__
        Objective.check(self.objective)
        object.__setattr__(self, "delta", probability(f"{name}(delta=...)", self.delta))
        if self.width not in WIDTHS:
            raise ValueError(
                f"{name}(width=...) must be one of {', '.join(WIDTHS)}: got {self.width!r}."
            )

    @property
    def proven(self):
        """True if a theorem bounds the probability of a wrong answer by delta."""
        return PROVEN_WIDTH[self.width]
