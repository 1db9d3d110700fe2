"""An instance of the question: the means of all arms, and their distances from the threshold.

Arm k is good when no arm exceeds it by too much,

    mu_k >= c mu_l - e  for all l,      (c, e) = (1, epsilon)      additive
                                        (c, e) = (1 - epsilon, 0)  multiplicative.

Everything is computed from two distances, never from differences of large numbers:

    height  h_a = mu_a - (c max mu - e)    above the threshold; negative for bad arms
    depth   D_a = max mu - mu_a            below the best arm, >= 0

The threshold lies e + share max mu below the best arm, share = 1 - c, so h = e + share max mu - D.
"""

import cython
import numpy as np

RUN = cython.declare(cython.Py_ssize_t, 16)  # runs of so many arms are sorted by insertion


class Instance:
    """Means, heights, depths, and the arms by increasing depth.

    Args:
        num_arms: K.
        c, e: the question.
        share: 1 - c to full accuracy, if the caller knows it.
        tie: one number per arm; arms of equal depth are sorted by it, and then by their number.
    """

    def __init__(self, num_arms, c, e, share=None, tie=None):
        self.K, self.c, self.e = num_arms, c, e
        self.share = 1.0 - c if share is None else share
        floats: cython.double[:, ::1] = np.zeros((3, num_arms))
        whole: cython.Py_ssize_t[:, ::1] = np.zeros((2, num_arms), np.intp)
        self.mu, self.h, self.D = floats[0], floats[1], floats[2]
        self.by_depth, self.spare = whole[0], whole[1]
        self.tie = self.D if tie is None else np.ascontiguousarray(tie, np.float64)

    def place(self, means):
        """Compute heights, depths and the order for these means."""
        self.top = means[0]
        for a in range(self.K):
            self.top = max(self.top, means[a])
        allowance = self.e + self.share * self.top
        for a in range(self.K):
            self.mu[a] = means[a]
            self.D[a] = self.top - means[a]
            self.h[a] = allowance - self.D[a]
        self.sort()

    def sort(self):
        """Sort short runs by insertion, then merge them."""
        size: cython.Py_ssize_t = RUN
        start: cython.Py_ssize_t = 0
        while start < self.K:
            self.insert(start, min(start + size, self.K))
            start += size
        while size < self.K:
            start = 0
            while start + size < self.K:
                self.merge(start, start + size, min(start + 2 * size, self.K))
                start += 2 * size
            size *= 2

    def before(self, a, b):
        """Return whether arm a must stand before arm b."""
        if self.D[a] == self.D[b]:
            return self.tie[a] < self.tie[b]
        return self.D[a] < self.D[b]

    def insert(self, start, stop):
        """Sort the arms ``start`` to ``stop`` into their places of ``by_depth``."""
        for a in range(start, stop):
            i: cython.Py_ssize_t = a
            while i > start and self.before(a, self.by_depth[i - 1]):
                self.by_depth[i] = self.by_depth[i - 1]
                i -= 1
            self.by_depth[i] = a

    def merge(self, start, middle, stop):
        """Merge two neighbouring runs; of equal arms those of the left run come first."""
        if not self.before(self.by_depth[middle], self.by_depth[middle - 1]):
            return
        length: cython.Py_ssize_t = middle - start
        i: cython.Py_ssize_t = 0
        j: cython.Py_ssize_t = middle
        at: cython.Py_ssize_t = start
        for n in range(length):
            self.spare[n] = self.by_depth[start + n]
        while i < length:
            if j < stop and self.before(self.by_depth[j], self.spare[i]):
                self.by_depth[at] = self.by_depth[j]
                j += 1
            else:
                self.by_depth[at] = self.spare[i]
                i += 1
            at += 1
