"""The exponential model: rewards are waiting times.  The variance at mean x is V(x) = x^2.

A shift by eta multiplies the mean by exp(eta): it changes the log-likelihood of n rewards with
sum S by -n eta + (S/x) (1 - exp(-eta)).
"""

import math

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import expm1, inf, sqrt
from cython.cimports.allgood.kernels.special import excess
from cython.cimports.allgood.models.base import Turns
from cython.cimports.allgood.models.exponential_family import ExponentialFamily

NAN = cython.declare(cython.double, math.nan)


class Exponential(ExponentialFamily):
    """Rewards are waiting times: above 0, with a density that falls exponentially."""

    name = "exponential"
    title = "Waiting times"
    use = "Choose it if every value is a time above 0 that follows an exponential distribution."
    positive = True
    takes_time = True

    def __init__(self):
        self.low, self.high = 0.0, math.inf

    def draw(self, arm, mean, draws):
        return mean * draws.exponential()

    def variance(self, x):
        return x * x

    def variance_slope(self, x):
        return 2.0 * x

    def divergence(self, x, y):
        return excess(x, y, x - y) if y > 0.0 else inf

    def turning_points(self, a, x, b, y, c, e):
        """Return the zeros of the derivative of a cubic.

        The derivative of a d(x, t) + b d(y, (t + e)/c) has the sign of

            (a + b) t^3 + (a (2e - x) + b (e - c y)) t^2 + a e (e - 2x) t - a x e^2,

        which may have three zeros; between the zeros of *its* derivative it has one at most.
        """
        if e == 0.0:
            return Turns(NAN, NAN)
        p = 3.0 * (a + b)
        q = a * (2.0 * e - x) + b * (e - c * y)
        r = a * e * (e - 2.0 * x)
        inside = q * q - p * r
        if inside <= 0.0 or p <= 0.0:
            return Turns(NAN, NAN)
        root = sqrt(inside)
        return Turns((-q - root) / p, (-q + root) / p)

    def one_valley(self, top, c, e):
        """Return the least t with 2e (c top - e - t) <= t (t + e).

        The derivative of the cost, times t^2, is a (t - x) - (t/s)^2 sum_l b_l (y_l - s)_+ / c.
        The sum is B (m - s), with B the weight and m <= top the mean of the y_l above s.  So the
        logarithm of what is subtracted has the derivative

            2e / (t (t + e)) - 1 / (c (m - s)) <= 2e / (t (t + e)) - 1 / (c top - e - t),

        which is not positive from that t on: there the whole increases, and has one zero at most.
        """
        return 0.5 * (sqrt(e * (e + 8.0 * c * top)) - 3.0 * e)

    def log_ratio(self, n, m, Q, x, eta):
        S = n * m
        return -n * eta - (S / x) * expm1(-eta)

    def precision(self, n, m, Q, u):
        return n / (m * m)

    def possible(self, rewards):
        return np.isfinite(rewards) & (rewards > 0.0)

    @property
    def wording_of_rewards(self):
        return "numbers above 0"

    @property
    def wording(self):
        return "each measurement has an exponential distribution"

    def log_chance(self, x, n, m, Q, arm, k=1):
        """Return the log of twice the smaller tail of x's share in the sum S + x of n + 1 rewards.

        The share of each reward has the distribution Beta(1, n): P(share >= x/(S + x)) = (S/(S +
        x))^n.
        """
        S = n * m
        if S == 0.0:
            return 0.0
        above = -n * math.log1p(x / S)
        below = math.log(-math.expm1(above)) if above < 0.0 else -math.inf
        return min(math.log(2.0) + min(above, below), 0.0)
