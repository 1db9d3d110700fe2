"""The Poisson model: rewards are counts.  The variance at mean x is V(x) = x.

A shift by eta multiplies the rate by exp(eta): it changes the log-likelihood of n rewards with
sum S by eta S - n x (exp(eta) - 1).
"""

import math

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import expm1
from cython.cimports.allgood.kernels.special import excess
from cython.cimports.allgood.models.base import Turns
from cython.cimports.allgood.models.exponential_family import ExponentialFamily

NAN = cython.declare(cython.double, math.nan)


class Poisson(ExponentialFamily):
    """Rewards are counts: 0, 1, 2, ..."""

    name = "poisson"
    title = "Counts"
    use = (
        "Choose it if every value is 0, 1, 2 and so on, such as colonies, clicks or errors, and "
        "follows a Poisson distribution."
    )
    whole = True

    def __init__(self):
        self.low, self.high = 0.0, math.inf

    def draw(self, arm, mean, draws):
        return draws.poisson(mean)

    def variance(self, x):
        return x

    def variance_slope(self, x):
        return 1.0

    def divergence(self, x, y):
        """Return d(x, y); inf if a reward that is possible at x is impossible at y."""
        return x * excess(y, x, y - x) if x > 0.0 else y

    def turning_points(self, a, x, b, y, c, e):
        return Turns(NAN, NAN)  # convex

    def one_valley(self, top, c, e):
        return self.low

    def log_ratio(self, n, m, Q, x, eta):
        S = n * m
        return eta * S - n * x * expm1(eta)

    def precision(self, n, m, Q, u):
        """Return the precision, with half a count added, so that an average of 0 has a variance."""
        return n / ((n * m + 0.5) / (n + 1.0))

    def possible(self, rewards):
        return np.isfinite(rewards) & (rewards >= 0.0) & (rewards == np.floor(rewards))

    @property
    def wording_of_rewards(self):
        return "whole numbers of at least 0"

    @property
    def wording(self):
        return "each measurement is a count with a Poisson distribution"
