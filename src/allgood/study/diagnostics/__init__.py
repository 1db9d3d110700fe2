"""Check whether the model fits the values: checks of sigma, of values that repeat, and of drift.

The checks warn and change nothing.  The file of each check states how often it warns without cause,
however often somebody looks.

A study chooses its arms by what it has seen.  An arm that was lucky is measured again, and then
gives less.  So a value is *not* centred at the average of those before it, and the usual tests, of
residuals about such averages, fail: take 60 equal arms, and measure the half that looks better
twice more; then a test of the second plate at 1 % warns of drift four times out of five.  A
statement that is to hold whatever chooses the arms must be about the true means mu, not about
averages.
"""

from dataclasses import dataclass
from typing import ClassVar

from ..._internal.arguments import Vector
from ..._internal.results import ResultData
from ...models.base import Model
from ...models.gaussian import Gaussian
from .drift import PlateDrift, check_plates, drift_sentences
from .repeats import check_repeats
from .sigma import SigmaCheck, check_sigma
from .values import CheckedValues


@dataclass(frozen=True)
class Checks(ResultData):
    """The results of every check of the model.

    Attributes:
        sigma: None unless the model is Gaussian(sigma) and an arm has two values.
        repeats: a warning about values that repeat; empty if there is none.
        plates: every plate that has a value, in the order of their first values.
        with_arms: whether plates are also compared by the values of arms.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentences",)
    sigma: SigmaCheck | None
    repeats: str
    plates: tuple[PlateDrift, ...]
    with_arms: bool

    @property
    def drift(self) -> tuple[str, ...]:
        """Say what differs from plate to plate, a sentence each, and how sure that is."""
        return drift_sentences(self.plates)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say all that does not fit the model; empty if it fits."""
        sigma = self.sigma.sentence if self.sigma else ""
        return tuple(sentence for sentence in (sigma, self.repeats, *self.drift) if sentence)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return those of the sentences with which the guarantee does not hold.

        A sigma that is too large costs measurements and nothing else.
        """
        if self.sigma is None or self.sigma.verdict != "too large":
            return self.sentences
        return tuple(text for text in self.sentences if text != self.sigma.sentence)


def checks_of(checked: CheckedValues, model: Model, num_arms: int) -> Checks:
    """Run every check that the model of the rewards allows."""
    sigmas: Vector | None = model.sigmas(num_arms) if model.sub_gaussian else None
    sigma = None
    if isinstance(model, Gaussian) and sigmas is not None:
        sigma = check_sigma(checked.arms, checked.values, sigmas)
    return Checks(
        sigma=sigma,
        repeats=check_repeats(checked.values.tolist(), model),
        plates=check_plates(checked, sigmas),
        with_arms=sigmas is not None,
    )
