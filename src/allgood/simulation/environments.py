"""Environments: the sources of rewards in a simulation.

Arms           rewards drawn when the loop asks for them, from a model and a mean for each arm
RewardTable    rewards fixed beforehand: the n-th pull of an arm gives the n-th entry of its row
               for every strategy, so that strategies can be compared on the same rewards
Callback       any Python function of the arm
Environment    the base class of these, and of your own
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector, check_call, count, means_array, nearest
from ..models.base import Model
from ..models.gaussian import Gaussian
from .samplers import CallbackSampler, ModelSampler, Sampler, TableSampler


class Environment:
    """A source of rewards.  Subclass it to write your own in plain Python.

    A subclass has an attribute ``num_arms`` and defines

        pull(arm, rng)    the reward of one pull; nan if there are no more for this arm

    ``rng`` is the run's own ``numpy.random.Generator``: draw from it alone, and a run is a function
    of its seed.  An attribute ``means``, the true means, lets ``simulate`` tell right answers from
    wrong ones.  Each run works on a copy of the environment.
    """

    num_arms: int
    may_end = True

    @property
    def wording(self) -> str:
        """The name of the source of a reward in messages."""
        return f"{type(self).__name__}.pull"

    @staticmethod
    def check(environment: "Environment") -> None:
        """Raise TypeError if an environment lacks an attribute or method."""
        kind = type(environment)
        if kind.start is Environment.start:
            if not hasattr(kind, "pull"):
                hint = nearest("pull", set(dir(kind)) - set(dir(Environment)))
                raise TypeError(
                    f"{kind.__name__} must define pull(arm, rng) to be an environment.{hint}"
                )
            what = f"{kind.__name__}.pull must take (arm, rng)"
            check_call(what, getattr(environment, "pull"), 0, None)  # noqa: B009 - not in the base
        if not hasattr(environment, "num_arms"):
            raise TypeError(f"{kind.__name__} must have an attribute num_arms, how many there are.")
        count(f"{kind.__name__}.num_arms", environment.num_arms)

    def start(self, model: Model, rng: np.random.Generator) -> Sampler:
        """Return the sampler of one run of a strategy that assumes this model."""
        return CallbackSampler(copy.deepcopy(self), model, rng)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True, eq=False)
class Arms(Environment):
    """Arms with these means, and rewards of this model.

    ``Bounded(low, high)`` does not fix a distribution.  Its rewards here have the one that varies
    most: they are ``low`` or ``high``.
    """

    means: "npt.ArrayLike"
    model: Model = Gaussian()  # noqa: RUF009 - immutable

    def __post_init__(self) -> None:
        model = Model.check(self.model)
        if not model.noise_known:
            raise ValueError(
                f"Arms(model=...) must state the noise that rewards are to have: got {model}."
            )
        means = model.check_means(means_array(self.means), "Arms(means=...)")
        if model.normal:
            model.sigmas(means.size)  # one sigma for each arm, or one for all
        object.__setattr__(self, "means", means)

    @property
    def num_arms(self) -> int:  # type: ignore[override]
        return int(np.size(self.means))

    def start(self, model: Model, rng: np.random.Generator) -> Sampler:
        return ModelSampler(self.model, self.means, rng)


@dataclass(frozen=True, eq=False)
class RewardTable(Environment):
    """Rewards fixed beforehand, one row per arm.

    A run that needs more rewards than a row holds ends there.
    """

    rewards: "npt.ArrayLike"

    def __post_init__(self) -> None:
        table = np.asarray(self.rewards)
        if table.ndim != 2 or table.size == 0 or table.dtype.kind not in "iuf":
            raise ValueError(
                "RewardTable(rewards) must be numbers, one row per arm and one column per pull: "
                f"got shape {table.shape}."
            )
        table = np.ascontiguousarray(table, dtype=np.float64)
        if not np.isfinite(table).all():
            arm, n = np.argwhere(~np.isfinite(table))[0]
            raise ValueError(
                "RewardTable(rewards) must be finite: "
                f"got {table[arm, n]} for pull {n} of arm {arm}."
            )
        object.__setattr__(self, "rewards", table)

    @property
    def num_arms(self) -> int:  # type: ignore[override]
        return int(np.shape(self.rewards)[0])

    def start(self, model: Model, rng: np.random.Generator) -> Sampler:
        rewards: Vector = model.check_rewards(self.rewards, "RewardTable(rewards)")
        return TableSampler(rewards)


@dataclass(frozen=True, eq=False)
class Callback(Environment):
    """Rewards from a Python function of the arm."""

    function: Callable[[int], float]
    num_arms: int
    may_end = False

    def __post_init__(self) -> None:
        count("Callback(num_arms=...)", self.num_arms)

    @property
    def wording(self) -> str:
        return "Callback(function)"

    def pull(self, arm: int, rng: Any) -> float:
        return self.function(arm)

    def start(self, model: Model, rng: np.random.Generator) -> Sampler:
        return CallbackSampler(
            self, model, rng
        )  # the function is the user's own, and is not copied
