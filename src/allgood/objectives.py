"""The objectives ``Additive`` and ``Multiplicative``: they define which arms are good enough.

Both objectives have one form.  Arm k is good when mu_k >= c mu_l - e for every arm l:

    additive         c = 1,            e = epsilon      within epsilon of the best
    multiplicative   c = 1 - epsilon,  e = 0            at least a fraction 1 - epsilon of the best
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ._internal.arguments import Vector, means_array, positive, probability

EPSILON = "How far from the best an arm may be and still be good."


@dataclass(frozen=True)
class Objective:
    """The base class of objectives.  Use :class:`Additive` or :class:`Multiplicative`.

    Attributes:
        title: what forms and lists call it.
        definition: which arms are good, in a sentence, for every epsilon.
    """

    title: ClassVar[str] = ""
    definition: ClassVar[str] = ""
    epsilon: float

    def __post_init__(self) -> None:
        raise TypeError(
            "Objective is not a question by itself: "
            "use Additive(epsilon) or Multiplicative(epsilon)."
        )

    @staticmethod
    def check(objective: object) -> "Objective":
        """Return the argument ``objective`` if it is one; otherwise raise TypeError."""
        if not isinstance(objective, Objective):
            raise TypeError(
                "objective must be Additive(epsilon) or Multiplicative(epsilon): "
                f"got {objective!r}."
            )
        return objective

    @property
    def factor(self) -> float:
        """c in: good when mu_k >= c mu_l - e for all l."""
        raise NotImplementedError

    @property
    def wording(self) -> str:
        """The definition of a good arm, in words."""
        raise NotImplementedError

    @property
    def slack(self) -> float:
        """e in: good when mu_k >= c mu_l - e for all l."""
        raise NotImplementedError

    def threshold(self, means: "npt.ArrayLike") -> float:
        """Return the mean that an arm needs to be good: c max(mu) - e."""
        return self.factor * float(means_array(means).max()) - self.slack

    def answer(self, means: "npt.ArrayLike") -> "npt.NDArray[np.bool_]":
        """Return for each arm whether it is good.

        An arm exactly on the threshold is good, as in the paper's definition.
        """
        height, _ = self.distances(means_array(means))
        return height >= 0.0

    @property
    def share(self) -> float:
        """1 - c, to full accuracy."""
        raise NotImplementedError

    def allowance(self, top: float) -> float:
        """Return how far below the best mean ``top`` the threshold lies: e + (1 - c) top."""
        return self.slack + self.share * top

    def distances(self, means: Vector) -> tuple[Vector, Vector]:
        """Return the height of each arm above the threshold, and its depth below the best arm.

        The height is the allowance less the depth: means that are large and close lose no digits.
        """
        top = means.max()
        depth = top - means
        return self.allowance(float(top)) - depth, depth


@dataclass(frozen=True)
class Additive(Objective):
    """Every arm within ``epsilon`` of the best: mu_a >= max(mu) - epsilon, epsilon > 0.

    >>> Additive(0.9).answer([1.0, 1.0, 0.05])
    array([ True,  True, False])
    """

    title: ClassVar[str] = "Within a distance of the best"
    definition: ClassVar[str] = (
        "An arm is good if its mean is at most epsilon below the mean of the best arm."
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("Additive(epsilon=...)", self.epsilon))

    @property
    def factor(self) -> float:
        return 1.0

    @property
    def slack(self) -> float:
        return self.epsilon

    @property
    def wording(self) -> str:
        return f"within {self.epsilon:.4g} of the best"

    @property
    def share(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Multiplicative(Objective):
    """Every arm at ``1 - epsilon`` times the best or more: mu_a >= (1 - epsilon) max(mu).

    0 < epsilon < 1.  When every mean is negative the definition makes no arm good, and the answer
    is empty.

    >>> Multiplicative(0.5).answer([1.0, 0.6, 0.4])
    array([ True,  True, False])
    """

    title: ClassVar[str] = "Within a share of the best"
    definition: ClassVar[str] = (
        "An arm is good if its mean is at least 1 - epsilon times the mean of the best arm."
    )

    def __post_init__(self) -> None:
        epsilon = probability("Multiplicative(epsilon=...)", self.epsilon)
        if 1.0 - epsilon in (0.0, 1.0):
            raise ValueError(
                "Multiplicative(epsilon=...) must leave 1 - epsilon distinct from 0 and 1 "
                f"in double precision: got {epsilon:g}."
            )
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def factor(self) -> float:
        return 1.0 - self.epsilon

    @property
    def slack(self) -> float:
        return 0.0

    @property
    def wording(self) -> str:
        return f"at least {self.factor:.4g} times the best"

    @property
    def share(self) -> float:
        return self.epsilon
