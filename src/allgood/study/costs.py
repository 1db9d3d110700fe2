"""Costs of a study in plates of the size in use, beside those in measurements."""

import math
from dataclasses import dataclass

from .._internal.results import NullableFloat, ResultData
from .._internal.tables import counted
from .plates import Plate
from .state import StudyState


@dataclass(frozen=True)
class CostRange(ResultData):
    """A range for a number of measurements, or of plates.

    Attributes:
        low, high: the 10 % and the 90 % point of simulated continuations; inf stands for one that
            was given up.
    """

    low: NullableFloat
    high: NullableFloat

    def in_plates(self, wells: int) -> "CostRange":
        """Return the plates that these measurements fill; the last may be partly empty."""
        return CostRange(*(_plates(end, wells) for end in (self.low, self.high)))

    @property
    def wording(self) -> str:
        """The range in words."""
        if math.isfinite(self.high):
            same = f"{self.low:,.0f}" == f"{self.high:,.0f}"
            return f"{self.low:,.0f}" if same else f"{self.low:,.0f} to {self.high:,.0f}"
        return f"{self.low:,.0f} to very many" if math.isfinite(self.low) else "very many"


@dataclass(frozen=True)
class PlateBudget(ResultData):
    """The budget of a study in plates like its newest.

    Attributes:
        wells: how many measurements of arms a plate holds, without controls.
        plates: how many plates were asked for so far, of any size.
        budget: how many plates the whole budget fills; None if there is no limit.
        left: how many more plates the budget allows; the last may be partly empty.
        sentence: the plates that are left, in words; empty if there are none or no limit.
    """

    wells: int
    plates: int
    budget: int | None
    left: int | None
    sentence: str


def wells_in_use(state: StudyState) -> int | None:
    """Return how many wells the newest plate has for arms; None if there is no plate."""
    if not state.plates:
        return None
    return Plate.from_layout(state.plates[max(state.plates)]).capacity


def plate_budget(state: StudyState) -> PlateBudget | None:
    """Return the budget in plates; None if the study uses none."""
    wells, room, budget = wells_in_use(state), state.room(), state.design.budget
    if wells is None:
        return None
    left = None if room is None else math.ceil(room / wells)
    return PlateBudget(
        wells=wells,
        plates=len(state.plates),
        budget=None if budget is None else math.ceil(budget / wells),
        left=left,
        sentence=f"The budget allows {in_words(left, wells)} more." if left else "",
    )


def in_words(plates: float, wells: int) -> str:
    """Return a number of plates with their size."""
    return f"{counted(int(plates), 'plate')} of {counted(wells, 'well')}"


def _plates(measurements: float, wells: int) -> float:
    return math.ceil(measurements / wells) if math.isfinite(measurements) else measurements
