"""What the loop, the strategies and the environments agree on: the tally, and the names of their kernels.

Each name below stands for many kernels, one per type of its first argument:

    @next_arm.register(UniformSpec)
    @inlined
    def _next_arm(spec, state, tally): ...

Called from Python such a name looks its kernel up in a table.  Called from compiled code, Numba consults the same
table while compiling, so that the choice costs nothing at run time and the caller can be cached, which
it could not be if it received kernels as arguments.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ._jit import inlined

Kernel = Callable[..., Any]

FOREVER = 1 << 62  # pulls: more than any run makes


class Tally(NamedTuple):
    """What has been seen.  ``record`` is its only writer."""

    counts: np.ndarray  # int64[K]
    sums: np.ndarray  # float64[K]  rewards added up
    means: np.ndarray  # float64[K]  sums / counts; 0 before the first pull
    scatter: np.ndarray  # float64[K]  squared distances of the rewards from their mean, added up
    pulls: np.ndarray  # int64[1]
    last: np.ndarray  # int64[1]  the arm pulled last, -1 before the first pull
    reward: np.ndarray  # float64[1]  what it gave


def new_tally(num_arms: int) -> Tally:
    return Tally(
        counts=np.zeros(num_arms, np.int64),
        sums=np.zeros(num_arms),
        means=np.zeros(num_arms),
        scatter=np.zeros(num_arms),
        pulls=np.zeros(1, np.int64),
        last=np.full(1, -1),
        reward=np.zeros(1),
    )


@inlined
def record(tally, arm, reward):
    """Enter one reward."""
    step = reward - tally.means[arm]
    tally.counts[arm] += 1
    tally.sums[arm] += reward
    tally.means[arm] = tally.sums[arm] / tally.counts[arm]
    if tally.counts[arm] > 1:
        tally.scatter[arm] += step * (reward - tally.means[arm])
    tally.pulls[0] += 1
    tally.last[0] = arm
    tally.reward[0] = reward


def dispatch(name: str) -> Any:
    """One name, many kernels, chosen by the type of the first argument, or the nearest type that it is made from."""
    table: dict[type, Kernel] = {}

    def found(spec: type) -> Kernel:
        return next(table[base] for base in spec.__mro__ if base in table)

    def generic(spec: Any, *args: Any) -> Any:
        return found(type(spec))(spec, *args)

    options: Any = {"forceinline": True, "error_model": "numpy", "_nrt": False}

    @overload(generic, jit_options=options)
    def _choose(spec, *args):
        kernel = found(spec.instance_class)
        return lambda spec, *args: kernel(spec, *args)

    def register(*specs: type) -> Callable[[Kernel], Kernel]:
        def add(kernel: Kernel) -> Kernel:
            table.update(dict.fromkeys(specs, kernel))
            return kernel

        return add

    generic.__name__ = generic.__qualname__ = name
    generic.register = register  # type: ignore[attr-defined]
    return generic


# What a strategy does.  Only ``update`` writes to the state.
update = dispatch("update")  # (spec, state, tally) -> None: take in the last reward
is_done = dispatch("is_done")  # (spec, state, tally) -> bool
next_arm = dispatch("next_arm")  # (spec, state, tally) -> arm
answer = dispatch("answer")  # (spec, state, tally, out) -> None: write into out whether each arm is taken to be good


@inlined
def empirical_bar(spec, tally):
    """What an arm would have to reach to be good if the empirical means were the true ones."""
    means = tally.means
    top = means[0]
    for a in range(means.size):
        top = max(top, means[a])
    return spec.c * top - spec.e


@inlined
def empirical_answer(spec, state, tally, out):
    """The arms that reach the empirical bar: what most strategies answer."""
    means, bar = tally.means, empirical_bar(spec, tally)
    for a in range(means.size):
        out[a] = means[a] >= bar


# What the world does.
pull = dispatch("pull")  # (spec, arm, tally, rng) -> reward; nan where the world has no more rewards for this arm
