"""A strategy at work in one run: the four questions that the loop asks.

The loop asks without the interpreter's lock.  ``PythonStrategyState`` takes the lock and passes the
question on to a strategy that is written in plain Python.
"""

import operator

import cython
import numpy as np


class StrategyState:
    """The state of a strategy in one run.  Only ``update`` writes to it.

    A rule must define all four methods.  Python cannot list those of a compiled class, so one that
    is missing is refused where it is called.
    """

    def update(self, tally):
        """Take in the last reward."""
        with cython.gil:
            raise lacking(self, "update")

    def is_done(self, tally):
        """Whether the strategy stops here."""
        with cython.gil:
            raise lacking(self, "is_done")

    def next_arm(self, tally):
        """The arm to pull next."""
        with cython.gil:
            raise lacking(self, "next_arm")

    def answer(self, tally, out):
        """Write into ``out`` whether each arm is taken to be good."""
        with cython.gil:
            raise lacking(self, "answer")


def lacking(rule, method):
    return TypeError(f"{type(rule).__name__} must define {method} to be a rule.")


class PythonStrategyState(StrategyState):
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
            return 1 if checked_done(self.on_is_done(tally), self.strategy) else 0

    def next_arm(self, tally):
        with cython.gil:
            return checked_arm(self.on_next_arm(tally), self.num_arms, self.strategy)

    def answer(self, tally, out):
        with cython.gil:
            given = checked_answer(self.on_answer(tally), self.num_arms, self.strategy)
            np.asarray(out)[:] = given
        return 0


def checked_done(done, strategy):
    """Whether a user's strategy stops, if it said True or False."""
    if not isinstance(done, bool | np.bool_):
        raise TypeError(
            f"{type(strategy).__name__}.is_done must return True or False: got {done!r}."
        )
    return done


def checked_arm(arm, num_arms, strategy):
    """The arm that a user's strategy chose, if there is such an arm."""
    name = type(strategy).__name__
    try:
        number = None if isinstance(arm, bool) else operator.index(arm)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name}.next_arm must return the number of an arm: got {arm!r}.")
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
