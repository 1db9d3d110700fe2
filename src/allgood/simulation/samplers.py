"""The rewards of one run: drawn from a model, read from a table, or from a user's environment.

The loop asks for them without the interpreter's lock.  ``CallbackSampler`` takes the lock and
calls an environment that is written in plain Python.
"""

import contextlib
import math

import cython
import numpy as np
from cython.cimports.allgood.kernels.random_stream import RandomStream

NAN = cython.declare(cython.double, math.nan)


class Sampler:
    """The source of the rewards of one run.  ``lock`` is held while the loop runs."""

    def pull(self, arm, tally):
        """Return the reward; nan if there are no more rewards for this arm."""
        return NAN


class ModelSampler(Sampler):
    """Rewards drawn when the loop asks for them, from a model and a mean for each arm."""

    def __init__(self, model, means, rng):
        self.model = model
        self.means = np.array(means, np.float64)
        self.draws = RandomStream(rng)
        self.lock = rng.bit_generator.lock

    def pull(self, arm, tally):
        return self.model.draw(arm, self.means[arm], self.draws)


class TableSampler(Sampler):
    """Rewards fixed beforehand: the n-th pull of an arm gives the n-th entry of its row."""

    def __init__(self, rewards):
        self.rewards = rewards.copy()
        self.lock = contextlib.nullcontext()

    def pull(self, arm, tally):
        n = tally.N[arm]
        return self.rewards[arm, n] if n < self.rewards.shape[1] else NAN


class CallbackSampler(Sampler):
    """An environment in plain Python, called through the interpreter."""

    def __init__(self, environment, model, rng):
        self.environment = environment
        self.model = model
        self.rng = rng
        self.on_pull = environment.pull
        self.lock = contextlib.nullcontext()

    def pull(self, arm, tally):
        with cython.gil:
            return checked_reward(self.on_pull(arm, self.rng), arm, self.environment, self.model)


def checked_reward(reward, arm, environment, model):
    """Return the reward of an environment if the model allows it; otherwise raise an error.

    nan ends the run.
    """
    wording = environment.wording
    try:
        value = float(reward)
    except (TypeError, ValueError):
        raise TypeError(f"{wording} must return a number: got {reward!r} for arm {arm}.") from None
    if math.isnan(value) and environment.may_end:
        return value
    if not math.isfinite(value):
        raise ValueError(f"{wording} must return a finite reward: got {value} for arm {arm}.")
    model.check_rewards(value, f"{wording}'s reward of arm {arm}")
    return value


def pull(sampler, arm, tally):
    """Call the method, for Python and for tests."""
    return sampler.pull(arm, tally)
