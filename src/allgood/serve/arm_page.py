"""One arm of a study as its page shows it: one response with its label, values and history."""

import math
from dataclasses import dataclass
from typing import Any

from .._internal.results import NullableFloat, ResultData
from ..study.arm_sentences import ArmStatement, arm_statements
from ..study.backends.errors import StudyNotFound
from ..study.events import KINDS, stored_event
from ..study.history import VALUE_COLUMNS, value_rows
from ..study.sentences import evidence_over_need
from ..study.state import StudyState, suspect_message
from ..study.status import ArmStatus, StudyStatus
from ..study.study import Study
from .responses import EventData, ValueData
from .views import event_data, values_replaced

MOST_EVENTS = 50
NOTABLE = [kind for kind, words in KINDS.items() if words.notable]


class ArmValue(ValueData):
    """A value of an arm.

    Attributes:
        place: its number among the values of the arm, from 1, in the order told.
        average: the average of the values that count, up to this one; null before the first.
        message: why a suspect value does not count.
    """

    place: int
    average: NullableFloat
    message: str | None


@dataclass(frozen=True)
class ArmPage(ResultData):
    """One arm of a study.

    Attributes:
        id, name, question, events: the study: its number, name, question and number of events.
        arm: the status of the arm.
        weight: evidence and need of its claim, in words.
        progress: evidence over need, from 0 to 1; 1 if the label is certified.
        leader, best: the arm with the best estimate, and that estimate.
        threshold: the lowest mean at which an arm is good, if the averages were the means.
        statements: what is known of the arm, in sentences.
        values: its last values and all suspect ones, in the order told.
        num_values: number of all its values.
        history: events about the arm that are more than what happens all the time, the newest
            first.
    """

    id: int
    name: str
    question: str
    events: int
    arm: ArmStatus
    weight: str
    progress: float
    leader: str | None
    best: NullableFloat
    threshold: NullableFloat
    statements: list[ArmStatement]
    values: list[ArmValue]
    num_values: int
    history: list[EventData]


def arm_page(
    study: Study, state: StudyState, status: StudyStatus, name: str, limit: int
) -> ArmPage:
    """Return what the page shows of an arm, with so many of its last values.

    Raises:
        StudyNotFound: if the study has no such arm.
    """
    index = state.design.numbers.get(name)
    if index is None or index >= len(status.arms):
        raise StudyNotFound(f"arm must be the name of one of this study: got {name!r}.")
    arm = status.arms[index]
    measured = [a for a in status.arms if not a.withdrawn and not math.isnan(a.mean)]
    leader = max(measured, key=lambda a: a.mean, default=None)
    values = _values(state, index)
    first = len(values) - limit
    return ArmPage(
        id=study.backend.number,
        name=study.name,
        question=status.question,
        events=status.events,
        arm=arm,
        weight=evidence_over_need(arm.evidence, arm.need),
        progress=_progress(arm),
        leader=None if leader is None else leader.arm,
        best=math.nan if leader is None else leader.mean,
        threshold=status.threshold,
        statements=arm_statements(arm, len(status.arms)),
        values=[v for i, v in enumerate(values) if i >= first or v["state"] == "suspect"],
        num_values=len(values),
        history=_history(study, state, name),
    )


def _progress(arm: ArmStatus) -> float:
    if arm.label != "open":
        return 1.0
    return 0.0 if math.isnan(arm.need) else min(1.0, max(0.0, arm.evidence / arm.need))


def _values(state: StudyState, index: int) -> list[Any]:
    """Return the values of an arm, with the average as it grew."""
    suspects = {
        state.design.ticket_id(number): suspect_message(suspect, state)
        for number, suspect in state.quality.suspects.items()
    }
    numbers = (number for number in state.told if state.tickets[number].arm == index)
    total, n = 0.0, 0
    values = []
    for place, row in enumerate(value_rows(state, numbers), start=1):
        value: Any = dict(zip(VALUE_COLUMNS, row, strict=True))
        if value["state"] == "counts":
            total += value["value"]
            n += 0 if value["censored"] else value["n"]
        values.append(
            value
            | {
                "place": place,
                "average": total / n if n else math.nan,
                "message": suspects.get(value["ticket"]),
            }
        )
    return values


def _history(study: Study, state: StudyState, name: str) -> list[Any]:
    lines = study.backend.lines(arm=name, kind=NOTABLE, newest=True, limit=MOST_EVENTS)
    events = [stored_event(line) for line in lines]
    replaced = values_replaced(study, events)
    return [event_data(event, state, replaced.get(event.seq)) for event in events]
