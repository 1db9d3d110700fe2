"""A strategy as a user writes it: plain Python, public names only, in a module of its own."""

import math

import numpy as np

from allgood import Strategy


class SuccessiveElimination(Strategy):
    """Pull in turn the arms that still matter: those without a label, and the best if in doubt."""

    def __init__(self, objective, delta):
        self.objective, self.delta = objective, delta

    def begin(self, num_arms, model):
        self.sigmas = model.sigmas(num_arms)
        self.low, self.high = np.full(num_arms, -np.inf), np.full(num_arms, np.inf)
        self.good = np.zeros(num_arms, bool)

    def update(self, tally):
        c, e = self.objective.factor, self.objective.slack
        a, n = tally.last, int(tally.counts[tally.last])
        width = self.sigmas[a] * math.sqrt(2 * math.log(4 * tally.size * n * n / self.delta) / n)
        self.low[a] = max(self.low[a], tally.means[a] - width)
        self.high[a] = min(self.high[a], tally.means[a] + width)
        self.good = self.low >= c * self.high.max() - e
        self.open = ~self.good & (self.high >= c * self.low.max() - e)

    def is_done(self, tally):
        return not self.open.any()

    def next_arm(self, tally):
        wanted = self.open | (self.high >= self.low.max())
        return np.where(wanted, tally.counts, np.inf).argmin()

    def answer(self, tally):
        return self.good
