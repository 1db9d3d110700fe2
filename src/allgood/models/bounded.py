"""Rewards between two numbers, with any distribution."""

import numpy as np
from cython.cimports.allgood.models.normal import SubGaussian

from allgood._internal.arguments import ArgumentError, positive, real


class Bounded(SubGaussian):
    """Rewards between ``low`` and ``high``, with any distribution.

    They are treated as sub-Gaussian with sigma = (high - low)/2.  That is right (Hoeffding), but
    conservative if rewards vary less.  There are no lower bounds on the number of pulls, because
    the distribution of the rewards is not known.  Simulated rewards have the distribution that
    varies most: they are ``low`` or ``high``.
    """

    name = "bounded"
    title = "Scores between two ends"
    use = "Choose it if nothing is known but the lowest and the highest possible value."
    parameters = ("low", "high")
    exact = False

    def __init__(self, low, high):
        self.low = real("Bounded(low=...)", low)
        self.high = real("Bounded(high=...)", high)
        if not self.low < self.high:
            raise ArgumentError(
                f"Bounded(low, high) must have low below high: got {self.low:g} and {self.high:g}.",
                argument="high",
            )
        positive("Bounded(high - low)", self.high - self.low)
        self.noise = np.array([self.sigma])
        self.step = 0

    def draw(self, arm, mean, draws):
        chance = (mean - self.low) / (self.high - self.low)
        return self.high if draws.uniform() < chance else self.low

    @property
    def sigma(self):
        """(high - low)/2."""
        return 0.5 * (self.high - self.low)

    def possible(self, rewards):
        return (rewards >= self.low) & (rewards <= self.high)

    @property
    def wording_of_rewards(self):
        return f"numbers from {self.low:g} to {self.high:g}"

    @property
    def wording(self):
        return f"each measurement lies between {self.low:g} and {self.high:g}"

    def sigmas(self, num_arms):
        return np.full(num_arms, self.sigma)
