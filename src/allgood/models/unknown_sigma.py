"""Normal rewards whose standard deviation is not known, and may differ from arm to arm.

Effects are half-normal in units of sigma, and sigma is integrated out (docs/evidence.md shows how,
and why a product of two arms needs more evidence).  An effect of size eta has precision
rho = 1/eta^2.
"""

import math

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import copysign, inf, log, log1p, sqrt
from cython.cimports.allgood.kernels.special import half_normal
from cython.cimports.allgood.models.base import Model, Turns

NAN = cython.declare(cython.double, math.nan)

# Large effects too: without them a few rewards could not tell much.
PRECISIONS = (0.3, 3.0, 30.0, 3e2, 3e3, 3e4, 3e5)
WEIGHTS = (0.05, 0.10, 0.17, 0.24, 0.22, 0.12, 0.08)
NO_EFFECT = 0.02


class UnknownSigma(Model):
    """Rewards are normal, and their standard deviation is not known.  Use ``Gaussian(None)``."""

    name = "gaussian"
    title = "Numbers of unknown scatter"
    use = (
        "Choose it if sigma is not known: it is learned from the values. This takes more "
        "measurements, above all in the beginning."
    )
    parameters = ("sigma",)
    sigma = None
    noise_known = False

    def __init__(self, sigma=None):
        self.low, self.high = -math.inf, math.inf

    def draw(self, arm, mean, draws):
        return NAN  # Arms refuses this model: it does not say what to draw

    def variance(self, x):
        return NAN

    def variance_slope(self, x):
        return NAN

    def divergence(self, x, y):
        return NAN  # it depends on sigma

    def turning_points(self, a, x, b, y, c, e):
        return Turns(NAN, NAN)

    def log_ratio(self, n, m, Q, x, eta):
        """Return a lower bound on log M (Wallace 1959); see docs/evidence.md."""
        rho = 1.0 / (eta * eta)
        s: cython.double = n * (m - x)
        if eta < 0.0:
            s = -s
        if s == 0.0:
            return -0.5 * log1p(n / rho)
        u2 = n * log1p(1.0 / ((n + rho) * Q / (s * s) + rho / n))
        r2 = 1.0 - 0.5 / n if s > 0.0 else 1.0
        g, y = half_normal(copysign(sqrt(r2 * u2), s))
        return log(g) + y + 0.5 * (1.0 - r2) * u2 - 0.5 * log1p(n / rho)

    def precision(self, n, m, Q, u):
        """Return the precision; 0 for a single reward, which does not show the noise."""
        return n / max(Q / (n - 1.0), 1e-12 * (1e-300 + m * m)) if n > 1.0 else 0.0

    def first_bound(self, n, m, Q, level, up):
        """Return a first bound; infinite if all rewards are equal, so that they do not show the
        noise.
        """
        return m + up * sqrt(2.0 * level * Q) / n if Q > 0.0 else up * inf

    def possible(self, rewards):
        return np.isfinite(rewards)

    @property
    def wording_of_rewards(self):
        return "finite numbers"

    @property
    def wording(self):
        return (
            "each measurement is normal, with a standard deviation of its arm that need not be "
            "known"
        )

    def effects(self, num_arms):
        """Return the sizes of half-normal effects, the last of them 0; W = w w', no T, and w."""
        w = (1.0 - NO_EFFECT) * np.array(WEIGHTS) / sum(WEIGHTS)
        w = np.append(w, NO_EFFECT)
        return np.append(1.0 / np.sqrt(PRECISIONS), 0.0), np.outer(w, w), np.zeros(0), w

    def log_chance(self, x, n, m, Q, arm, k=1):
        """Return the log of a bound on the two tails of Student's distribution at t.

        t = (x - m) / sqrt(s^2 (1 + 1/n)), s^2 = Q/f, has Student's distribution with f = n - 1
        degrees of freedom.  Its density is c (1 + t^2/f)^(-(f + 1)/2).  Beyond t the factor s/t >=
        1 may be put into the integral, which bounds either tail by c f / ((f - 1) t) (1 +
        t^2/f)^(-(f - 1)/2); for f = 1 by 1/(pi t).  If all rewards are equal, or k > 1, there is no
        bound.
        """
        f = n - 1.0
        if f < 1.0 or Q <= 0.0 or x == m or k > 1:
            return 0.0
        t = abs(x - m) / math.sqrt(Q / f * (1.0 + 1.0 / n))
        if f == 1.0:
            return min(math.log(2.0 / (math.pi * t)), 0.0)
        c = math.lgamma(0.5 * (f + 1.0)) - math.lgamma(0.5 * f) - 0.5 * math.log(math.pi * f)
        tail = c + math.log(f / ((f - 1.0) * t)) - 0.5 * (f - 1.0) * math.log1p(t * t / f)
        return min(math.log(2.0) + tail, 0.0)
