"""The state of a strategy in one run: the four methods that the loop calls.

The loop calls them without the interpreter's lock.  ``PythonStrategyState`` takes the lock and
calls a strategy that is written in plain Python.
"""

import operator

import cython
import numpy as np


class StrategyState:
    """The state of a strategy in one run.  Only ``update`` writes to it.

    A subclass must define all four methods.  Python cannot list those of a compiled class, so a
    missing one raises TypeError when it is called.
    """

    def update(self, tally):
        """Process the last reward."""
        with cython.gil:
            raise lacking(self, "update")

    def is_done(self, tally):
        """Return whether the strategy stops now."""
        with cython.gil:
            raise lacking(self, "is_done")

    def next_arm(self, tally):
        """Return the arm to pull next."""
        with cython.gil:
            raise lacking(self, "next_arm")

    def answer(self, tally, out):
        """Write into ``out`` for each arm whether it is good."""
        with cython.gil:
            raise lacking(self, "answer")


def lacking(state, method):
    return TypeError(f"{type(state).__name__} must define {method} to be the state of a strategy.")


class PythonStrategyState(StrategyState):
    """A strategy in plain Python, called through the interpreter."""

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
            labels = checked_answer(self.on_answer(tally), self.num_arms, self.strategy)
            np.asarray(out)[:] = labels
        return 0


def checked_done(stops, strategy):
    """Return a user's ``is_done`` if it is True or False; otherwise raise TypeError."""
    if not isinstance(stops, bool | np.bool_):
        raise TypeError(
            f"{type(strategy).__name__}.is_done must return True or False: got {stops!r}."
        )
    return stops


def checked_arm(arm, num_arms, strategy):
    """Return the arm that a user's strategy chose if there is such an arm; otherwise raise an
    error.
    """
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


def checked_answer(answer, num_arms, strategy):
    """Return a user's answer if it has one True or False per arm; otherwise raise ValueError."""
    name = type(strategy).__name__
    labels = np.asarray(answer)
    if labels.shape != (num_arms,) or labels.dtype != np.bool_:
        raise ValueError(
            f"{name}.answer must return True or False for each of {num_arms} arms: got {answer!r}."
        )
    return labels


# The questions as functions, for Python and for tests.


def update(state, tally):
    return state.update(tally)


def is_done(state, tally):
    return state.is_done(tally)


def next_arm(state, tally):
    return state.next_arm(tally)
