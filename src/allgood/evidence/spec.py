"""Data that the evidence kernels share: the question, each claim's need, the prior and the rewards.

ClaimSpec    the question, the needs of claims, and the prior of effects; one subclass for normal
             rewards (``normal.py``), one for all others (``grid_mixture.py``)
Sides        count, mean, scatter and precision of the rewards of every arm
"""

import math
from collections import namedtuple

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import isnan
from cython.cimports.allgood.kernels.tally import Side

from allgood.models.base import checked_effects

if not cython.compiled:
    OPEN, GOOD, BAD = range(3)
    Crossing = namedtuple("Crossing", "E z")

POOL = -1  # the pool, in the place of a rival
ABOVE, BELOW = 1.0, -1.0  # the side on which a claim says that an arm lies
NAN = cython.declare(cython.double, math.nan)


class ClaimSpec:
    """The question, the needs of claims, and the prior of effects.

    Attributes:
        model: the noise; ``low`` and ``high`` are the ends of its means.
        c, e: arm k is good when mu_k >= c mu_l - e for every arm l.
        unit: float64[K], the precision of one reward, 1 / sigma^2; 1 for models that are not
            normal.
        pool_unit: the same of the noisiest arm, for the pool.
        need_good, need: L' and L of docs/evidence.md.
        surcharge_pool, surcharge_rival: what "bad" needs in addition, through the pool or through
            one rival.
        rough: for models that are not normal, True if evidence that is far from its need may be
            computed roughly, and quickly.
        promising: evidence is worth computing when the log likelihood ratio of normal rewards is
            this part of the need.
        alike: True if rewards of all arms are equally noisy when their means are equal.
        only_gaps: True if evidence for "good" depends on the numbers of rewards and the gap alone.
        rho, W, T, w: the prior of effects (``Model.effects``).
    """

    def __init__(self, model, objective, unit, needs, rough=False, num_arms_at_first=0):
        self.model = model
        self.num_arms = unit.size
        self.c, self.e = objective.factor, objective.slack
        self.low, self.high = model.low, model.high
        self.unit, self.pool_unit = unit, float(unit.min())
        self.need_good, self.need, self.surcharge_pool, self.surcharge_rival = needs
        self.rough = rough
        self.alike = model.noise_known and bool((unit == unit[0]).all())
        self.only_gaps = self.alike and model.normal
        self.promising = 1.0 if model.normal and model.noise_known else 0.5
        self.rho, self.W, self.T, self.w = checked_effects(model, num_arms_at_first or unit.size)

    def pair_evidence(self, up, k, l, need):
        """Return the evidence that k lies above (``up`` = 1) or below (-1) its crossing with l."""
        return Crossing(NAN, NAN)

    def ceiling(self, up, k, l):
        """Return a number that certified ``pair_evidence`` cannot exceed, except by rounding."""
        return NAN

    def sign_evidence(self, up, k):
        """Return the evidence that the mean of k is above zero (``up`` = 1) or below (-1)."""
        return NAN

    def relax(self, log_factor):
        """Lower all needs by so much: this breaks the guarantee, for tests of the guarantee."""
        self.need_good -= log_factor
        self.need -= log_factor


class Sides:
    """Count, mean, scatter and precision of every arm's rewards.

    Attributes:
        n, m, Q, v, u: float64[K], the letters of ``Side``.
        influential: float64[K], a reward that no label of its arm may rest on; nan if there is
            none.  In a study: the only reward of an arm, or one that hardly fits the others.
        top, top_unit: the largest reward of the pool, which no label may rest on, and 1/sigma^2 of
            its arm; 0 if there is none.
    """

    def __init__(self, model, unit, counts=None, means=None, scatter=None):
        K = unit.size
        self.model = model
        self.u = unit
        self.n, self.m = np.zeros(K), np.zeros(K)
        self.Q, self.v = np.zeros(K), np.zeros(K)
        self.influential = np.full(K, np.nan)
        self.top = self.top_unit = 0.0
        if counts is not None:
            self.n, self.m = np.array(counts, np.float64), np.array(means, np.float64)
            self.Q = np.array(scatter, np.float64)
            with np.errstate(all="ignore"):
                for a in range(K):
                    self.v[a] = self.model.precision(self.n[a], self.m[a], self.Q[a], self.u[a])

    def take(self, tally, a):
        """Copy the rewards of arm a from the tally."""
        self.n[a] = tally.N[a]
        self.m[a] = tally.m[a]
        self.Q[a] = tally.Q[a]
        self.v[a] = self.model.precision(self.n[a], self.m[a], self.Q[a], self.u[a])

    def side(self, a):
        """Return the rewards of arm a."""
        return Side(self.n[a], self.m[a], self.Q[a], self.v[a], self.u[a])

    def rest(self, a):
        """Return the rewards of arm a without the influential one; none if fewer than two would
        remain.
        """
        n, m, x = self.n[a], self.m[a], self.influential[a]
        if isnan(x):
            return self.side(a)
        if n < 3.0:
            return Side(0.0, 0.0, 0.0, 0.0, self.u[a])
        mean = (n * m - x) / (n - 1.0)
        Q: cython.double = max(self.Q[a] - (x - m) * (x - mean), 0.0)
        v = self.model.precision(n - 1.0, mean, Q, self.u[a])
        return Side(n - 1.0, mean, Q, v, self.u[a])

    def copy(self):
        """Return an independent copy."""
        sides = Sides(self.model, np.asarray(self.u), self.n, self.m, self.Q)
        np.asarray(sides.v)[:] = self.v
        np.asarray(sides.influential)[:] = self.influential
        sides.top, sides.top_unit = self.top, self.top_unit
        return sides
