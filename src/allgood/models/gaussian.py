"""The name under which people ask for normal rewards, with a sigma that is known or not."""

from collections.abc import Sequence

from .._internal.arguments import Vector
from .normal import Normal
from .unknown_sigma import UnknownSigma


class _Name(type):
    def __instancecheck__(cls, model: object) -> bool:
        """``Gaussian(None)`` is one, too, though another model does its work."""
        return isinstance(model, UnknownSigma) or super().__instancecheck__(model)


class Gaussian(Normal, metaclass=_Name):
    """Rewards are normal with known standard deviation, or sigma-sub-Gaussian.

    Args:
        sigma: one standard deviation for all arms, a sequence with one per arm, or None: unknown,
            perhaps different for each arm.

    The divergence between an arm at mean mu and the same arm at mean lam is
    (mu - lam)^2 / (2 sigma^2).
    """

    def __new__(cls, sigma: "float | Sequence[float] | Vector | None" = 1.0) -> "Gaussian":
        made: Gaussian = super().__new__(cls) if sigma is not None else UnknownSigma()
        return made
