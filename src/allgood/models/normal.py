"""Normal rewards whose standard deviation is known, and the common part of sub-Gaussian models.

Arms may have different sigmas.  So everything here is for one unit of precision: pulls of an arm
enter with the weight u = 1/sigma^2, and V(x) = 1, d(x, y) = (x - y)^2 / 2.
"""

import math
from functools import cache

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import sqrt
from cython.cimports.allgood.models.base import Model, Turns

from allgood._internal.arguments import SMALLEST, positive, sigma_array, vector

NAN = cython.declare(cython.double, math.nan)

# Effects of half of sigma down to a five-hundredth.
# Weights: what a hundred to a few thousand pulls can see.
PRECISIONS = (5.0, 70.0, 1e3, 1.4e4, 2e5)
WEIGHTS = (0.18, 0.34, 0.26, 0.14, 0.08)
UNLIKE = 0.4  # for each step by which the precisions of two effects differ
TIED = 0.7  # sum of T: (2/K)^TIED.  The fewer arms, the nearer any two are to the best proportions
# Two arms stay in balance and are soon decided.
# A shorter grid serves them better, up to a hundred thousand pulls.
PRECISIONS_OF_TWO = (8.0, 100.0, 1.5e3, 3e4)
WEIGHTS_OF_TWO = (0.3, 0.4, 0.2, 0.1)
TIED_OF_TWO = 0.95


class SubGaussian(Model):
    """Rewards that vary at most as much as normal rewards with a known sigma."""

    normal = True
    sub_gaussian = True

    def draw(self, arm, mean, draws):
        return mean + self.noise[arm * self.step] * draws.normal()

    def variance(self, x):
        return 1.0

    def variance_slope(self, x):
        return 0.0

    def divergence(self, x, y):
        return 0.5 * (x - y) * (x - y)

    def turning_points(self, a, x, b, y, c, e):
        return Turns(NAN, NAN)  # convex

    def log_ratio(self, n, m, Q, x, eta):
        return n * eta * (m - x - 0.5 * eta)

    def precision(self, n, m, Q, u):
        return n * u

    def first_bound(self, n, m, Q, level, up):
        return m + up * sqrt(2.0 * (level + 2.0) / n)

    def possible(self, rewards):
        return np.isfinite(rewards)

    @property
    def wording_of_rewards(self):
        return "finite numbers"

    def log_chance(self, x, n, m, Q, arm, k=1):
        """Return log(2 exp(-z^2/2)): x - m is sub-Gaussian with variance sigma^2 (1/k + 1/n)."""
        sigma = self.noise[arm * self.step]
        z = (x - m) / (sigma * math.sqrt(1.0 / k + 1.0 / n))
        return min(math.log(2.0) - 0.5 * z * z, 0.0)

    def effects(self, num_arms):
        """Return the precisions of half-normal effects, and the weights W, T and w."""
        two = num_arms == 2
        tied = TIED_OF_TWO if two else min((2.0 / num_arms) ** TIED, 1.0)
        rho, W, w = prior(two)
        return rho.copy(), (1.0 - tied) * W, tied * w, w.copy()


@cache
def prior(two):
    """Return the part of the prior that only two arms change; it is computed once, for all runs."""
    weights = WEIGHTS_OF_TWO if two else WEIGHTS
    root, step = np.sqrt(weights), np.arange(len(weights))
    W = np.outer(root, root) * UNLIKE ** np.abs(np.subtract.outer(step, step))
    W /= W.sum()
    return np.array(PRECISIONS_OF_TWO if two else PRECISIONS), W, W.sum(axis=1)


class Normal(SubGaussian):
    """Rewards are normal with a known standard deviation, or sigma-sub-Gaussian.

    Use :class:`allgood.Gaussian`.
    """

    name = "gaussian"
    title = "Numbers of known scatter"
    use = (
        "Choose it if sigma, the standard deviation of repeated measurements of one arm, is known. "
        "A sigma that is too small voids the guarantee."
    )
    parameters = ("sigma",)

    def __init__(self, sigma=1.0):
        if np.ndim(sigma) == 0:
            self.sigma = positive("Gaussian(sigma=...)", sigma)
            noise = np.array([self.sigma])
        else:
            noise = vector("Gaussian(sigma=...)", sigma)
            if (noise <= 0.0).any():
                a = int(np.argmax(noise <= 0.0))
                raise ValueError(
                    f"Gaussian(sigma=...) must be positive: got {noise[a]:g} for arm {a}."
                )
            self.sigma = tuple(noise.tolist())
        if noise.min() < SMALLEST:
            raise ValueError(
                f"Gaussian(sigma=...) must be at least {SMALLEST:g}: "
                f"got {noise.min():g}; use other units."
            )
        self.low, self.high = -math.inf, math.inf
        self.noise = noise
        self.step = 1 if np.ndim(sigma) else 0

    def sigmas(self, num_arms):
        """Return the standard deviation of each of ``num_arms`` arms."""
        return sigma_array(self.sigma, num_arms)

    @property
    def wording(self):
        is_shared = isinstance(self.sigma, float)
        noise = (
            f"{self.sigma:g}" if is_shared else "that was stated for its arm (see the small print)"
        )
        return f"each measurement is normal (or sub-Gaussian) with standard deviation {noise}"

    def among(self, arms):
        if isinstance(self.sigma, tuple):
            return type(self)([self.sigma[a] for a in arms])
        return self

    @property
    def one_noise(self):
        return isinstance(self.sigma, float) or len(set(self.sigma)) == 1
