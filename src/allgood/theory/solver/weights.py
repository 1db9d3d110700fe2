"""The optimal weights for many means in turn, as Track-and-Stop needs them.

Everything is set up once.  ``solve`` then needs neither the interpreter nor new memory, unless
there are more pairs of nearly tied arms than ever before.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import isfinite, sqrt
from cython.cimports.allgood.theory.alternatives.instance import Instance
from cython.cimports.allgood.theory.solver.interior import Interior
from cython.cimports.allgood.theory.solver.mirror import MirrorAscent, steepest
from cython.cimports.allgood.theory.solver.newton import Newton

from allgood.theory.solver.limits import MAX_INTERIOR, MAX_ITERATIONS, MAX_PAIRS

NEWTON_STEPS = cython.declare(cython.Py_ssize_t, MAX_ITERATIONS["newton"])
MIRROR_STEPS = cython.declare(cython.Py_ssize_t, MAX_ITERATIONS["mirror-ascent"])
INTERIOR_STEPS = cython.declare(cython.Py_ssize_t, MAX_INTERIOR)
PAIRS = cython.declare(cython.Py_ssize_t, MAX_PAIRS)


class Weights:
    """The optimal weights; uniform if there are none, because an arm lies on the threshold."""

    def place(self, means, out):
        """Take the means and write uniform weights into ``out``; return whether there is a game to
        solve.
        """
        K = self.at.K
        self.at.place(means)
        for a in range(K):
            out[a] = 1.0 / K
        if K == 1:
            return False
        for a in range(K):
            if self.at.h[a] == 0.0:
                return False
        return True

    def solve(self, means, t, out):
        """Write the optimal weights for these means, observed after t pulls, into ``out``."""
        self.place(means, out)


class OfNormal(Weights):
    """The optimal weights for normal rewards."""

    def place(self, means, out):
        undecided: cython.bint = not Weights.place(self, means, out)
        K = self.at.K
        if K == 1 or self.at.c == 1.0 or self.at.top > 0.0:
            return not undecided
        if self.at.top == 0.0:
            return False
        # Each arm must be told from zero by itself: w_a mu_a^2 / sigma_a^2 equal for all.
        total = 0.0
        for a in range(K):
            x = self.sigma[a] / means[a]
            out[a] = x * x
            total += out[a]
        for a in range(K):
            out[a] /= total
        return False


class ByNewton(OfNormal):
    """The optimal weights for normal rewards, by Newton's method to a relative accuracy.

    They are uniform if the solver has no answer (more than MAX_PAIRS nearly tied pairs): tracking
    may be worse then, but the stopping rule holds.
    """

    def __init__(self, sigma, c, e, rtol):
        self.sigma = np.array(sigma, np.float64)
        self.at = Instance(len(sigma), c, e, None, self.sigma)
        self.newton = Newton(self.at, self.sigma)
        self.no_start = np.empty(0)
        self.rtol = rtol

    def solve(self, means, t, out):
        if self.place(means, out):
            self.newton.optimal_pulls(self.no_start, self.rtol, NEWTON_STEPS, PAIRS)
            share_out(self.newton.pulls, out)


class ByMirrorAscent(OfNormal):
    """The optimal weights for normal rewards, by the paper's method.

    Args:
        sigma, c, e: the noise, and the question.
        steps: number of steps; 0 for as many as an accuracy of 1/sqrt(t) takes.
        warm: start from the last weights, which ``out`` holds, mixed with a tenth of uniform ones.
    """

    def __init__(self, sigma, c, e, steps, warm):
        self.sigma = np.array(sigma, np.float64)
        self.at = Instance(len(sigma), c, e)
        self.ascent = MirrorAscent(self.at, self.sigma)
        self.start = np.empty(len(sigma))
        self.steps, self.warm = steps, warm

    def solve(self, means, t, out):
        K = self.at.K
        for a in range(K):
            self.start[a] = 0.9 * out[a] + 0.1 / K if self.warm else 1.0 / K
        if not self.place(means, out):
            return
        L = steepest(means, self.sigma, self.at.c, self.at.e)
        steps, atol = MIRROR_STEPS, 1.0 / sqrt(t)
        if self.steps > 0:
            steps, atol = self.steps, 0.0
        self.ascent.solve(self.start, L, 0.0, atol, steps)
        for a in range(K):
            out[a] = self.ascent.weights[a]


class ByInterior(Weights):
    """The optimal weights for a model that is not normal."""

    def __init__(self, model, num_arms, c, e, rtol):
        self.at = Instance(num_arms, c, e)
        self.interior = Interior(model, self.at)
        self.rtol = rtol

    def solve(self, means, t, out):
        if self.place(means, out):
            self.interior.solve(self.rtol, INTERIOR_STEPS)
            share_out(self.interior.pulls, out)


def share_out(pulls, out):
    """Write pulls as parts of their sum, if they are all positive and finite."""
    total = 0.0
    for a in range(pulls.shape[0]):
        if not pulls[a] > 0.0:
            return
        total += pulls[a]
    if isfinite(total):
        for a in range(pulls.shape[0]):
            out[a] = pulls[a] / total


def optimal_weights(weights, means, t, out):
    """Call ``weights.solve``, for Python."""
    weights.solve(means, t, out)
