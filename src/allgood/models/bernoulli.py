"""The Bernoulli model: rewards are 0 or 1, such as conversions, passes or clicks.  The variance at
mean x is V(x) = x (1 - x).

A shift by eta multiplies the odds by exp(eta): it changes the log-likelihood of n rewards with
sum S by eta S - n log(1 + x (exp(eta) - 1)).
"""

import math

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import expm1, log1p
from cython.cimports.allgood.kernels.special import excess
from cython.cimports.allgood.models.base import Turns
from cython.cimports.allgood.models.exponential_family import ExponentialFamily

NAN = cython.declare(cython.double, math.nan)


class Bernoulli(ExponentialFamily):
    """Rewards are 0 or 1: conversions, passes, clicks."""

    name = "bernoulli"
    title = "Yes or no"
    use = (
        "Choose it if every value is 0 or 1, such as passed, bought or answered. The mean of an "
        "arm is its rate."
    )
    whole = True
    sub_gaussian = True
    jeffreys = True

    def __init__(self):
        self.low, self.high = 0.0, 1.0

    def draw(self, arm, mean, draws):
        return 1.0 if draws.uniform() < mean else 0.0

    def variance(self, x):
        return x * max(1.0 - x, 0.0)

    def variance_slope(self, x):
        return 1.0 - 2.0 * x

    def divergence(self, x, y):
        """Return d(x, y); inf if a reward that is possible at x is impossible at y."""
        total: cython.double = 0.0
        if x > 0.0:
            total += x * excess(y, x, y - x)
        if x < 1.0:
            total += (1.0 - x) * excess(max(1.0 - y, 0.0), 1.0 - x, x - y)
        # At x = 0 and x = 1 one term is missing.  Its linear part would have cancelled another.
        return total + (y - x if x == 0.0 else 0.0) + (x - y if x == 1.0 else 0.0)

    def turning_points(self, a, x, b, y, c, e):
        return Turns(NAN, NAN)  # convex

    def one_valley(self, top, c, e):
        return self.low

    def log_ratio(self, n, m, Q, x, eta):
        S = n * m
        return eta * S - n * log1p(x * expm1(eta))

    def precision(self, n, m, Q, u):
        """Return the precision, with half a success and half a failure added.

        Without them an average of 0 or 1 would have no variance.
        """
        x = (n * m + 0.5) / (n + 1.0)
        return n / (x * (1.0 - x))

    def possible(self, rewards):
        return (rewards == 0.0) | (rewards == 1.0)

    @property
    def wording_of_rewards(self):
        return "0 or 1"

    @property
    def wording(self):
        return "each measurement is 0 or 1"

    def sigmas(self, num_arms):
        """Return 1/2 for each arm, the worst case, for strategies that need a sigma."""
        return np.full(num_arms, 0.5)
