"""The sufficient statistics of a run, which the loop, strategies, evidence and environments share.

Tally    counts, sums, means and scatter of the rewards of each arm
Side     one side of a comparison: the rewards of one arm, or of several arms taken together
"""

from collections import namedtuple

import cython
import numpy as np

if not cython.compiled:
    Side = namedtuple("Side", "n m Q v u")


class Tally:
    """Counts, sums, means and scatter of the rewards of each arm.  Only the loop or a study writes
    to it.

    Attributes:
        size, pulls: the number of arms, and of rewards so far.
        last, reward: the arm pulled last (-1 before the first pull), and its reward.
        counts, sums, means, scatter: one number per arm, as read-only arrays.  The mean is 0
            before the first reward.  The scatter is the sum of the squared distances of the
            rewards from their mean.

    Kernels name the four arrays by their letters: N, S, m and Q.
    """

    def __init__(self, num_arms):
        self.size = num_arms
        self.pulls = 0
        self.last = -1
        self.reward = 0.0
        counts = np.zeros(num_arms, np.int64)
        sums, means, scatter = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms)
        self.N, self.S, self.m, self.Q = counts, sums, means, scatter
        self.counts, self.sums = read_only(counts), read_only(sums)
        self.means, self.scatter = read_only(means), read_only(scatter)

    def record(self, arm, reward):
        """Add one reward."""
        step = reward - self.m[arm]
        self.N[arm] += 1
        self.S[arm] += reward
        self.m[arm] = self.S[arm] / self.N[arm]
        if self.N[arm] > 1:
            self.Q[arm] += step * (reward - self.m[arm])
        self.pulls += 1
        self.last = arm
        self.reward = reward

    def record_many(self, arm, n, total, scatter):
        """Add n rewards by their sum and their scatter about their own mean."""
        before = self.N[arm]
        step = total / n - self.m[arm]
        self.N[arm] += n
        self.S[arm] += total
        self.m[arm] = self.S[arm] / self.N[arm]
        self.Q[arm] += scatter
        if before > 0:
            self.Q[arm] += step * step * before * n / self.N[arm]
        self.pulls += n
        self.last = arm
        self.reward = total

    def wait(self, arm, time):
        """Add a censored waiting time: it lengthens the sum, and is not a reward."""
        self.S[arm] += time
        self.m[arm] = self.S[arm] / self.N[arm]
        self.pulls += 1
        self.last = arm
        self.reward = time

    def suppose(self, arm):
        """Add the arm's current mean as a reward; the variance of its rewards stays the same."""
        Q, N = self.Q[arm], self.N[arm]
        self.record(arm, self.m[arm])
        self.Q[arm] = Q * (N + 1) / N

    def copy(self):
        """Return an independent tally with the same numbers."""
        tally = Tally(self.size)
        np.asarray(tally.N)[:] = self.counts
        np.asarray(tally.S)[:] = self.sums
        np.asarray(tally.m)[:] = self.means
        np.asarray(tally.Q)[:] = self.scatter
        tally.pulls, tally.last, tally.reward = self.pulls, self.last, self.reward
        return tally


def read_only(array):
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def highest_mean(tally):
    """Return the best empirical mean."""
    top = tally.m[0]
    for a in range(tally.size):
        top = max(top, tally.m[a])
    return top


def empirical_answer(tally, c, e, out):
    """Write into ``out`` which arms would be good if the empirical means were the true means.

    Most strategies use this answer.
    """
    bar = c * highest_mean(tally) - e
    for a in range(tally.size):
        out[a] = tally.m[a] >= bar
