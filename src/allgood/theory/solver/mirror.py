"""Mirror ascent: the paper's method for the optimal weights, for comparison."""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import exp, inf, log, sqrt
from cython.cimports.allgood.theory.alternatives.normal import (
    Workspace,
    cheapest_alternative,
    moves,
)


class MirrorAscent:
    """Exponentiated gradient ascent on T^-1, for one number of arms.

    Args:
        at: the instance, to be placed before each solution.
        sigma: the noise of each arm.

    Attributes:
        weights: the best weights found by the last ``solve``.
    """

    def __init__(self, at, sigma):
        self.at, self.workspace = at, Workspace(at.K)
        floats: cython.double[:, ::1] = np.empty((7, at.K))
        self.score, self.average, self.gradient = floats[0], floats[1], floats[2]
        self.move, self.w, self.v, self.weights = floats[3], floats[4], floats[5], floats[6]
        self.precision = 1.0 / (np.asarray(sigma) * np.asarray(sigma))

    def solve(self, start, L, rtol, atol, max_iterations):
        """Find ``weights``; return ``(lower bound on T*, steps, solved)``.

            w_{n+1} ~ w_n exp(alpha_n d_n),   alpha_n = sqrt(2 log K / n) / L,

        with d_n the best response's gradient.  The answer is the better of the best iterate and the
        average iterate; the average gradient proves its quality: 1/T* <= max_a average d_a.  It is
        solved when that is at most 1 + rtol times the answer's value, plus atol.
        """
        K = self.at.K
        best: cython.double = 0.0
        upper: cython.double = inf
        look: cython.Py_ssize_t = 1
        largest: cython.double
        for a in range(K):
            self.weights[a] = start[a]
            self.score[a] = log(start[a])
            self.average[a] = self.gradient[a] = 0.0
        for n in range(1, max_iterations + 1):
            self.weigh()
            response = cheapest_alternative(self.at, self.v, self.workspace)
            moves(response, self.at, self.v, self.move)
            if response[0] > best:
                best = response[0]
                self.keep()
            rate = sqrt(2.0 * log(K) / n) / L
            for a in range(K):
                d = 0.5 * self.move[a] * self.move[a] * self.precision[a]
                self.score[a] += rate * d
                self.average[a] += self.w[a]
                self.gradient[a] += d
            if n != look and n != max_iterations:
                continue
            look += 1 + look // 10
            largest = self.gradient[0]
            for a in range(K):
                self.w[a] = self.average[a] / n
                self.v[a] = self.w[a] * self.precision[a]
                largest = max(largest, self.gradient[a])
            response = cheapest_alternative(self.at, self.v, self.workspace)
            if response[0] > best:
                best = response[0]
                self.keep()
            upper = min(upper, largest / n)
            if upper <= best * (1.0 + rtol) + atol:
                return 1.0 / upper, n, True
        return 1.0 / upper, max_iterations, False

    def weigh(self):
        """Compute the weights w from the scores, and the precisions v from the weights."""
        top: cython.double = self.score[0]
        for a in range(self.at.K):
            top = max(top, self.score[a])
        total = 0.0
        for a in range(self.at.K):
            self.w[a] = exp(self.score[a] - top)
            total += self.w[a]
        for a in range(self.at.K):
            self.w[a] /= total
            self.v[a] = self.w[a] * self.precision[a]

    def keep(self):
        """Keep the present weights as the answer."""
        for a in range(self.at.K):
            self.weights[a] = self.w[a]


def steepest(mu, sigma, c, e):
    """Return a bound on every entry of every best response's gradient.

    It is half the largest squared move, over sigma^2.  Additive: moves are at most max - min +
    epsilon (paper: Lemma 6).  Multiplicative: at most max/c - min (paper: Lemma 8), except for a
    single arm, which moves by its mean, and for negative means, which move by the lowest.
    """
    top: cython.double = mu[0]
    bottom: cython.double = mu[0]
    least: cython.double = sigma[0]
    for a in range(mu.shape[0]):
        top = max(top, mu[a])
        bottom = min(bottom, mu[a])
        least = min(least, sigma[a])
    move: cython.double = top - bottom + e
    if c < 1.0:
        move = max(top, -bottom) if top <= 0.0 or mu.shape[0] == 1 else top / c - bottom
    return 0.5 * ((move / least) * (move / least))
