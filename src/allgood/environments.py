"""The world: where rewards come from.

Arms           rewards drawn as they are asked for, from the law that a model and a mean give
RewardTable    rewards laid down beforehand: the n-th pull of an arm gives the n-th entry of its row, whatever
               the strategy, so that strategies can be compared on the same luck
Callback       any Python function of the arm
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._check import Vector, count, means_array
from ._jit import inlined, jit
from .models import BERNOULLI, NORMAL, POISSON, STUDENT, Bounded, Gaussian, Model
from .parts import pull


class GaussianSpec(NamedTuple):
    means: np.ndarray  # float64[K]
    sigma: np.ndarray  # float64[K]


@pull.register(GaussianSpec)
@inlined
def _pull_gaussian(spec, arm, tally, rng):
    return spec.means[arm] + spec.sigma[arm] * rng.standard_normal()


class FamilySpec(NamedTuple):
    family: int
    means: np.ndarray  # float64[K]


@jit
def draw_count(mean, rng):
    """By itself, because Numba's Poisson numbers need its reference counting."""
    return float(rng.poisson(mean))


@pull.register(FamilySpec)
@inlined
def _pull_family(spec, arm, tally, rng):
    mean = spec.means[arm]
    if spec.family == BERNOULLI:
        return 1.0 if rng.random() < mean else 0.0
    if spec.family == POISSON:
        return draw_count(mean, rng)
    return mean * rng.standard_exponential()


class TwoPointSpec(NamedTuple):
    low: float
    high: float
    chance: np.ndarray  # float64[K]  of the high one


@pull.register(TwoPointSpec)
@inlined
def _pull_two_point(spec, arm, tally, rng):
    return spec.high if rng.random() < spec.chance[arm] else spec.low


class TableSpec(NamedTuple):
    rewards: np.ndarray  # float64[K, n]


@pull.register(TableSpec)
@inlined
def _pull_table(spec, arm, tally, rng):
    n = tally.counts[arm]
    return spec.rewards[arm, n] if n < spec.rewards.shape[1] else np.nan


class CallbackSpec(NamedTuple):
    function: Callable[[int], float]
    model: Model


@pull.register(CallbackSpec)
def _pull_callback(spec: CallbackSpec, arm: int, tally: Any, rng: Any) -> float:
    reward = float(spec.function(int(arm)))
    if not np.isfinite(reward):
        raise ValueError(f"Callback(function) must return a finite reward: got {reward} for arm {int(arm)}.")
    spec.model.check_rewards(reward, f"Callback(function)'s reward of arm {int(arm)}")
    return reward


@dataclass(frozen=True, eq=False)
class Arms:
    """Arms with these means, and rewards of this model.

    Of ``Bounded(low, high)``, which fixes no law, the one that varies most: rewards are ``low`` or ``high``.
    """

    means: npt.ArrayLike
    model: Model = Gaussian()  # noqa: RUF009 - immutable

    def __post_init__(self) -> None:
        model = Model.check(self.model)
        if model.family == STUDENT:
            raise ValueError(f"Arms(model=...) must state the noise that rewards are to have: got {model}.")
        object.__setattr__(self, "means", model.check_means(means_array(self.means), "Arms(means=...)"))

    @property
    def num_arms(self) -> int:
        return int(np.size(self.means))

    @property
    def compiled(self) -> bool:
        return True

    def spec(self, model: Model = Gaussian()) -> GaussianSpec | FamilySpec | TwoPointSpec:  # noqa: B008 - immutable
        means: Vector = np.asarray(self.means)
        if isinstance(self.model, Bounded):
            low, high = self.model.low, self.model.high
            return TwoPointSpec(low, high, (means - low) / (high - low))
        if self.model.family != NORMAL:
            return FamilySpec(self.model.family, means)
        return GaussianSpec(means, self.model.sigmas(means.size))


@dataclass(frozen=True, eq=False)
class RewardTable:
    """Rewards laid down beforehand, one row per arm.  A run that needs more than a row holds ends there."""

    rewards: npt.ArrayLike

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
            raise ValueError(f"RewardTable(rewards) must be finite: got {table[arm, n]} for pull {n} of arm {arm}.")
        object.__setattr__(self, "rewards", table)

    @property
    def num_arms(self) -> int:
        return int(np.shape(self.rewards)[0])

    @property
    def compiled(self) -> bool:
        return True

    def spec(self, model: Model = Gaussian()) -> TableSpec:  # noqa: B008 - immutable
        return TableSpec(model.check_rewards(self.rewards, "RewardTable(rewards)"))


@dataclass(frozen=True, eq=False)
class Callback:
    """Rewards from a Python function of the arm; the loop then runs uncompiled."""

    function: Callable[[int], float]
    num_arms: int

    def __post_init__(self) -> None:
        count("Callback(num_arms=...)", self.num_arms)

    @property
    def compiled(self) -> bool:
        return False

    def spec(self, model: Model = Gaussian()) -> CallbackSpec:  # noqa: B008 - immutable
        return CallbackSpec(self.function, model)


Environment = Arms | RewardTable | Callback
