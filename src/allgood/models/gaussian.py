"""The public name ``Gaussian`` for normal rewards, with a known or an unknown sigma."""

from collections.abc import Sequence

from .._internal.arguments import Vector
from .normal import Normal
from .unknown_sigma import UnknownSigma


class _Name(type):
    def __instancecheck__(cls, model: object) -> bool:
        """Return True for ``Gaussian(None)`` too, which is an ``UnknownSigma``."""
        return isinstance(model, UnknownSigma) or super().__instancecheck__(model)


class Gaussian(Normal, metaclass=_Name):
    """Rewards are normal with known standard deviation, or sigma-sub-Gaussian.

    Args:
        sigma: one standard deviation for all arms, a sequence with one per arm, or None if it is
            unknown; it may then differ from arm to arm.

    The divergence between an arm at mean mu and the same arm at mean lam is
    (mu - lam)^2 / (2 sigma^2).
    """

    def __new__(cls, sigma: "float | Sequence[float] | Vector | None" = 1.0) -> "Gaussian":
        model: Gaussian = super().__new__(cls) if sigma is not None else UnknownSigma()
        return model
