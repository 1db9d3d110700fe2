"""Collect the values that the checks look at, and average evidence."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..._internal.arguments import Vector
from ..state import StudyState

Integers = npt.NDArray[np.int64]
MOST_SLIPS = 2  # so many suspect values may be slips; more are taken in: the model may be wrong


@dataclass(frozen=True)
class CheckedValues:
    """The values that were told, in the order of telling.

    Attributes:
        arms, values, times: of each value that counts.
        plates: the plate of each; 0 for none.
        controls: plate, name, value and time of each control.
        wells: how many wells a control has on a plate, by plate and name.
    """

    arms: Integers
    values: Vector
    times: Vector
    plates: Integers
    controls: tuple[tuple[int, str, float, float], ...] = ()
    wells: Mapping[tuple[int, str], int] = field(default_factory=dict)


def checked_values(state: StudyState) -> CheckedValues:
    """Return the values of a study for the checks."""
    quality = state.quality
    processed = [entry for entry in quality.processed if entry.n == 1]
    if len(quality.suspects) > MOST_SLIPS:
        processed = sorted(
            [*processed, *quality.held_back()], key=lambda entry: (entry.time, entry.number)
        )
    tickets = [state.tickets[entry.number] for entry in processed]
    rejected = state.rejected_plates()
    return CheckedValues(
        arms=np.array([ticket.arm for ticket in tickets], np.int64),
        values=np.array([ticket.value for ticket in tickets], np.float64),
        times=np.array([entry.time for entry in processed]),
        plates=np.array([ticket.batch if ticket.well else 0 for ticket in tickets], np.int64),
        controls=tuple(
            (batch, control.name, control.value, control.time)
            for (batch, _), control in state.controls.items()
            if batch not in rejected
        ),
        wells=Counter(
            (batch, name)
            for batch, layout in state.plates.items()
            for well, name in layout["placed"].items()
            if (batch, well) not in state.withdrawn_controls
        ),
    )


def log_average(logs: Vector) -> float:
    """Return the logarithm of the average of the numbers with these logarithms."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))
