"""A strategy at work in one run: the four questions that the loop asks.

The loop asks without the interpreter's lock.  ``PythonRule`` takes the lock and passes the
question on to a strategy that is written in plain Python.
"""

import operator

import cython
import numpy as np


class Rule:
    """The state of a strategy in one run.  Only ``update`` writes to it."""

    def update(self, tally):
        """Take in the last reward."""
        return 0

    def is_done(self, tally):
        """Whether the strategy stops here."""
        return 0

    def next_arm(self, tally):
        """The arm to pull next."""
        return 0

    def answer(self, tally, out):
        """Write into ``out`` whether each arm is taken to be good."""
        return 0


class PythonRule(Rule):
    """A strategy in plain Python, asked through the interpreter."""

    def __init__(self, strategy, num_arms):
        self.strategy = strategy
        self.num_arms = num_arms
        self.on_update = strategy.update
        self.on_is_done = strategy.is_done
        self.on_next_arm = strategy.next_arm
        self.on_answer = strategy.answer

    def update(self, tally):
        with cython.gil:
            self.on_update(tally)
        return 0

    def is_done(self, tally):
        with cython.gil:
            return 1 if self.on_is_done(tally) else 0

    def next_arm(self, tally):
        with cython.gil:
            return checked_arm(self.on_next_arm(tally), self.num_arms, self.strategy)

    def answer(self, tally, out):
        with cython.gil:
            given = checked_answer(self.on_answer(tally), self.num_arms, self.strategy)
            np.asarray(out)[:] = given
        return 0


def checked_arm(arm, num_arms, strategy):
    """The arm that a user's strategy chose, if there is such an arm."""
    name = type(strategy).__name__
    try:
        number = operator.index(arm)
    except TypeError:
        raise TypeError(f"{name}.next_arm must return the number of an arm: got {arm!r}.") from None
    if not 0 <= number < num_arms:
        raise ValueError(f"{name}.next_arm must return 0 to {num_arms - 1}: got {number}.")
    return number


def checked_answer(given, num_arms, strategy):
    """The answer of a user's strategy, if it has one True or False per arm."""
    name = type(strategy).__name__
    labels = np.asarray(given)
    if labels.shape != (num_arms,) or labels.dtype != np.bool_:
        raise ValueError(
            f"{name}.answer must return True or False for each of {num_arms} arms: got {given!r}."
        )
    return labels


# The questions as functions, for Python and for tests.


def update(rule, tally):
    return rule.update(tally)


def is_done(rule, tally):
    return rule.is_done(tally)


def next_arm(rule, tally):
    return rule.next_arm(tally)
