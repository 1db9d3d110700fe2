"""Compute the thresholds and widths of ``evidence/thresholds/__init__.py``, compiled.

A run compares with its threshold at every pull, but need not compute it at each.  ``beta`` leaves
in ``floor`` a value below which the threshold does not fall before ``until`` pulls have been made.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import inf, log, log1p, log2, sqrt

if not cython.compiled:
    MASON, MASON_DATA, MIXTURE = range(3)

FOREVER = cython.declare(cython.longlong, 1 << 62)
REMEMBERED = cython.declare(cython.Py_ssize_t, 16_384)

# Precisions c of the mixture, equal weights: effects of one sigma down to a thousandth of one.
MIXTURE_GRID = (10.0, 1e2, 1e3, 1e4, 1e5, 1e6)


class Threshold:
    """beta for one or several risks; ``constant`` is the part that depends on the risk alone."""

    def __init__(self, log_risk, constant):
        self.log_risk = np.array(log_risk, np.float64)
        self.constant = np.array(constant, np.float64)
        self.floor = 0.0
        self.until = 0

    def beta(self, N, t, i):
        """Return the threshold of risk number i after t pulls, N of each arm."""
        return inf

    def remember_floor(self, value):
        """Store and return the value of a threshold that never falls."""
        self.floor = value
        self.until = FOREVER
        return value

    def __call__(self, counts, t, i=0):
        """Return ``beta``, for Python."""
        return self.beta(np.array(counts, np.float64), t, i)


class Paper(Threshold):
    def beta(self, N, t, i):
        K = N.shape[0]
        return self.remember_floor(self.constant[i] + 0.5 * K * log(log(t) + self.log_risk[i]))


class Stylised(Threshold):
    def beta(self, N, t, i):
        return self.remember_floor(self.constant[i] + log(1.0 + log(t)))


class KaufmannKoolenNormal(Threshold):
    def beta(self, N, t, i):
        value: cython.double = self.constant[i]
        for a in range(N.shape[0]):
            value += 2.0 * log(4.0 + log(N[a]))
        return self.remember_floor(value)


class KaufmannKoolen(Threshold):
    """The threshold of Kaufmann and Koolen for models with one parameter."""

    def beta(self, N, t, i):
        value: cython.double = self.constant[i]
        for a in range(N.shape[0]):
            value += 3.0 * log1p(log(N[a]))
        return self.remember_floor(value)


class Jeffreys(Threshold):
    """The mixture threshold for rewards that are 0 or 1."""

    def beta(self, N, t, i):
        value: cython.double = self.constant[i]
        for a in range(N.shape[0]):
            value += 0.5 * log(N[a]) + log(2.0)
        return self.remember_floor(value)


class NormalMixture(Threshold):
    """The mixture threshold for normal rewards.

    The factor (N + c)/N may fall as pulls are made, so ``floor`` is computed for some pulls ahead.
    """

    def __init__(self, log_risk, constant, grid):
        Threshold.__init__(self, log_risk, constant)
        self.grid = np.array(grid, np.float64)

    def beta(self, N, t, i):
        least: cython.double = N[0]
        for a in range(N.shape[0]):
            least = min(least, N[a])
        ahead: cython.longlong = 1 + cython.cast(cython.longlong, least) // 64
        value: cython.double = inf
        floor: cython.double = inf
        part: cython.double
        for j in range(self.grid.shape[0]):
            c = self.grid[j]
            part = self.constant[i]
            for a in range(N.shape[0]):
                part += 0.5 * log1p(N[a] / c)
            value = min(value, part * (1.0 + c / least))
            floor = min(floor, part * (1.0 + c / (least + ahead)))
        self.floor = floor
        self.until = cython.cast(cython.longlong, t) + ahead
        return value


class Width:
    """Half-widths of confidence intervals, for sigma = 1; ``log_arms`` is log(K / delta).

    All arms share them, so those of the first REMEMBERED counts are computed once per run.
    """

    def __init__(self, kind, log_arms):
        self.kind = kind
        self.log_arms = log_arms
        self.grid = np.array(MIXTURE_GRID)
        self.log_term = log_arms + np.log(len(MIXTURE_GRID))
        self.cache = np.zeros(REMEMBERED)

    def half_width(self, n):
        """Return C(n) / sigma after n rewards, n a whole number."""
        i = cython.cast(cython.Py_ssize_t, n)
        if i >= REMEMBERED:
            return self.compute(n)
        if self.cache[i] == 0.0:
            self.cache[i] = self.compute(n)
        return self.cache[i]

    def compute(self, n):
        best: cython.double = inf
        if self.kind == MIXTURE:
            for j in range(self.grid.shape[0]):
                c = self.grid[j]
                best = min(best, (n + c) * (self.log_term + 0.5 * log1p(n / c)))
            return sqrt(2.0 * best) / n
        factor = 4.0 if self.kind == MASON else 2.08
        return sqrt(factor * (self.log_arms + log(log2(2.0 * n))) / n)

    def __call__(self, n):
        """Return C(n) / sigma, for Python; n need not be whole."""
        return self.compute(n)
