"""Base class of the models with one parameter, whose effects are shifts of the natural parameter.

A shift by eta away from the mean x, upwards for eta > 0, multiplies the likelihood of the rewards
by a factor.  The factor has mean 1 if x is the true mean, and mean at most 1 if the true mean lies
on the other side of x: these models have monotone likelihood ratios.
"""

import math

import numpy as np
from cython.cimports.allgood.models.base import Model

SHIFTS = 3.0 * 0.5 ** np.arange(12)
CENTRE, SPREAD = 0.15, 1.8  # the weights of shifts are log-normal about this one
TAIL = 1.5  # weights of two shifts that differ by a factor 2^d fall as (1 + d)^-TAIL
NO_EFFECT = 0.02  # weight of no effect, for each of the two arms
TIED, TIED_OF_TWO = 0.3, 0.95  # weight of equal shifts; larger where there are only two arms


class ExponentialFamily(Model):
    """A model with one parameter."""

    def first_bound(self, n, m, Q, level, up):
        return self.inverse(m, (level + 2.0) / n, up > 0.0)

    def log_chance(self, x, n, m, Q, arm, k=1):
        """Return the log of 2 exp(-n d(m, c) - k d(x, c)), c the mean of all n + k rewards
        (Chernoff).

        Let f(t) be the cumulant function at the true mean.  For any t the event that x is so large
        and m so small has a probability of at most exp(k f(t/k) + n f(-t/n) - t (x - m)), and the
        best t is the one that brings both means to c.  Likewise on the other side.
        """
        c = (n * m + k * x) / (n + k)
        return min(math.log(2.0) - n * self.divergence(m, c) - k * self.divergence(x, c), 0.0)

    def effects(self, num_arms):
        """Return the shifts from 3 down to 3/2048, and none; W, an empty T, and w."""
        tied = TIED_OF_TWO if num_arms == 2 else TIED
        w = np.exp(-0.5 * (np.log(SHIFTS / CENTRE) / SPREAD) ** 2)
        w /= w.sum()
        apart = np.abs(np.subtract.outer(np.log2(SHIFTS), np.log2(SHIFTS)))
        W = np.sqrt(np.outer(w, w)) / (1.0 + apart) ** TAIL
        W = (1.0 - 2.0 * NO_EFFECT) * ((1.0 - tied) * W / W.sum() + tied * np.diag(w))
        alone = NO_EFFECT * w
        W = np.block([[W, alone[:, None]], [alone[None, :], np.zeros((1, 1))]])
        return np.append(SHIFTS, 0.0), W, np.zeros(0), W.sum(axis=1)
