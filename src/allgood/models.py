"""The noise: what is known about a reward given its arm's mean."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._check import SMALLEST, Vector, positive, sigma_array, vector


@dataclass(frozen=True, init=False)
class Gaussian:
    """Rewards are normal with known standard deviation, or sigma-sub-Gaussian.

    Args:
        sigma: one standard deviation for all arms, or a sequence with one per arm.

    The divergence between an arm at mean mu and the same arm at mean lam is (mu - lam)^2 / (2 sigma^2).
    """

    sigma: float | tuple[float, ...]

    def __init__(self, sigma: float | Sequence[float] | Vector = 1.0) -> None:
        value: float | tuple[float, ...]
        if np.ndim(sigma) == 0:
            value = positive("Gaussian(sigma=...)", sigma)
            array = np.array([value])
        else:
            array = vector("Gaussian(sigma=...)", sigma)
            if (array <= 0.0).any():
                a = int(np.argmax(array <= 0.0))
                raise ValueError(f"Gaussian(sigma=...) must be positive: got {array[a]:g} for arm {a}.")
            value = tuple(array.tolist())
        if array.min() < SMALLEST:
            raise ValueError(
                f"Gaussian(sigma=...) must be at least {SMALLEST:g}: got {array.min():g}; use other units."
            )
        object.__setattr__(self, "sigma", value)

    def sigmas(self, num_arms: int) -> Vector:
        """The standard deviation of each of ``num_arms`` arms."""
        return sigma_array(self.sigma, num_arms)

    @staticmethod
    def check(model: object) -> "Gaussian":
        """The argument ``model``, if it is one."""
        if not isinstance(model, Gaussian):
            raise TypeError(f"model must be a Gaussian(sigma): got {model!r}.")
        return model

    @property
    def is_uniform(self) -> bool:
        """Whether all arms share one standard deviation."""
        return isinstance(self.sigma, float) or len(set(self.sigma)) == 1
