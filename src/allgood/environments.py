"""The world: where rewards come from.

GaussianArms   normal rewards, drawn as they are asked for
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
from ._jit import inlined
from .models import Gaussian
from .parts import pull


class GaussianSpec(NamedTuple):
    means: np.ndarray  # float64[K]
    sigma: np.ndarray  # float64[K]


@pull.register(GaussianSpec)
@inlined
def _pull_gaussian(spec, arm, tally, rng):
    return spec.means[arm] + spec.sigma[arm] * rng.standard_normal()


class TableSpec(NamedTuple):
    rewards: np.ndarray  # float64[K, n]


@pull.register(TableSpec)
@inlined
def _pull_table(spec, arm, tally, rng):
    n = tally.counts[arm]
    return spec.rewards[arm, n] if n < spec.rewards.shape[1] else np.nan


class CallbackSpec(NamedTuple):
    function: Callable[[int], float]


@pull.register(CallbackSpec)
def _pull_callback(spec: CallbackSpec, arm: int, tally: Any, rng: Any) -> float:
    reward = float(spec.function(int(arm)))
    if not np.isfinite(reward):
        raise ValueError(f"Callback(function) must return a finite reward: got {reward} for arm {int(arm)}.")
    return reward


@dataclass(frozen=True, eq=False)
class GaussianArms:
    """Arms with these means and normal noise."""

    means: npt.ArrayLike
    model: Gaussian = Gaussian()  # noqa: RUF009 - immutable

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", means_array(self.means))

    @property
    def num_arms(self) -> int:
        return int(np.size(self.means))

    @property
    def compiled(self) -> bool:
        return True

    def spec(self) -> GaussianSpec:
        means: Vector = np.asarray(self.means)
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

    def spec(self) -> TableSpec:
        return TableSpec(np.asarray(self.rewards))


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

    def spec(self) -> CallbackSpec:
        return CallbackSpec(self.function)


Environment = GaussianArms | RewardTable | Callback
