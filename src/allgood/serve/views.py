"""Views of a study's state: lists, sheets, plates and events as responses show them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from .._internal.arguments import ArgumentError
from .._internal.results import plain
from ..study.backends.errors import StudyNotFound
from ..study.diagnostics.plate import check_plate
from ..study.event_sentences import event_arm, event_sentence
from ..study.events import FIELDS, Event, stored_event
from ..study.lookup import known_plate, known_ticket
from ..study.sentences import condition, question, rejected
from ..study.state import StudyState, Ticket, TicketRecord
from ..study.status import ArmStatus, StudyStatus
from ..study.study import Study
from ..study.tables.sheets import AskedRow
from ..study.wells import well_position
from .responses import MeasurePage, PlateMap, PlateSummary, StudySummary, Well, WellState

MOST_TICKETS = 96  # without a plate, of the page for measuring
MAKES_VALUE = ("measurement", "unrequested", "counts")  # kinds of events with a first value
SPARK = 40  # points of a small curve
ARM_FIELDS = tuple(part.name for part in fields(ArmStatus))


def study_details(study: Study) -> dict[str, Any]:
    """Return the design of a study and its size."""
    with study.backend.reading() as state:
        return {
            "id": study.backend.number,
            "name": study.name,
            "design": state.design.to_dict(),
            "question": question(len(state.design.arms), state.design.objective.wording),
            "wording": state.design.objective.wording,
            "condition": condition(state.design.model),
            "created": state.times[0],
            "events": state.seq,
        }


def study_summary(number: int, status: StudyStatus, times: tuple[float, float]) -> StudySummary:
    """Return a study in a few numbers; ``times`` are those of its first and last event."""
    return StudySummary(
        id=number,
        name=status.name,
        question=status.question,
        outcome=status.outcome,
        arms=len(status.arms),
        good=len(status.good),
        bad=len(status.bad),
        open=len(status.open),
        measurements=status.measurements,
        pending=status.pending,
        suspects=len(status.suspects),
        waiting=status.waiting,
        warnings=status.warnings,
        budget=status.budget,
        created=times[0],
        last=times[1],
        events=status.events,
        spark=_spark(status),
    )


def _spark(status: StudyStatus) -> list[tuple[int, int]]:
    """Return certified labels against measurements, in few points."""
    moments = sorted(arm.certified_after for arm in status.arms if arm.certified_after)
    points = [(after, i + 1) for i, after in enumerate(moments)]
    step = max(1, math.ceil(len(points) / (SPARK - 2)))
    return [(0, 0), *points[step - 1 :: step], (status.measurements, len(moments))]


def status_data(status: StudyStatus, form: str) -> dict[str, Any]:
    """Return a status for JSON, with its arms as "rows", as "columns", or with "none"."""
    data = replace(status, arms=()).to_dict() if form != "rows" else status.to_dict()
    if form == "columns":
        data["arms"] = plain(arm_columns(status, ARM_FIELDS))
    elif form == "none":
        data["arms"] = None
    return data


def arm_columns(status: StudyStatus, names: Iterable[str]) -> dict[str, list[Any]]:
    """Return these fields of all arms: a list for each field."""
    return {name: [getattr(arm, name) for arm in status.arms] for name in names}


def values_replaced(study: Study, events: Sequence[Event]) -> dict[int, float]:
    """Return the value that each correction among these events has replaced, by its number."""
    corrections = {event.seq: event.ticket for event in events if event.kind == "corrected"}
    if not corrections:
        return {}
    names = [study.design.ticket_id(ticket) for ticket in set(corrections.values()) if ticket]
    values: dict[int | None, float] = {}
    replaced = {}
    lines = study.backend.lines(ticket=names, kind=[*MAKES_VALUE, "corrected"])
    for event in map(stored_event, lines):
        if event.seq in corrections:
            replaced[event.seq] = values[event.ticket]
        if event.value is not None:
            values[event.ticket] = event.value
    return replaced


def event_data(event: Event, state: StudyState, before: float | None = None) -> dict[str, Any]:
    """Return an event with names in place of numbers, without the fields that it does not have.

    Args:
        event: the event.
        state: the study.
        before: the value that a correction has replaced, if it is known.
    """
    parts = {name: getattr(event, name) for name in FIELDS if getattr(event, name) is not None}
    arm = event_arm(event, state)
    if arm is not None:
        parts["arm"] = arm
    if event.ticket is not None:
        parts["ticket"] = state.design.ticket_id(event.ticket)
    return parts | {"sentence": event_sentence(event, state, before)}


def tickets_of(state: StudyState, batch: int | None, singles: bool = False) -> list[Ticket]:
    """Return the tickets of a sheet: the open ones, or all of a batch that has no open one.

    Args:
        state: the study.
        batch: the number of the batch; None for the open tickets of all batches.
        singles: only open tickets that are on no plate.

    Raises:
        StudyNotFound: if there are none.
    """
    chosen = [
        ticket
        for ticket in state.open.values()
        if batch in (None, ticket.batch) and not (singles and ticket.well)
    ]
    if not chosen and (singles or batch is None):
        raise StudyNotFound("There is no open ticket to write down.")
    chosen = chosen or [t for t in state.tickets.values() if t.asked and t.batch == batch]
    if not chosen:
        raise StudyNotFound(f"batch must be the number of one that was asked for: got {batch}.")
    return [state.public_ticket(ticket) for ticket in chosen]


def values_told(state: StudyState, rows: list[AskedRow]) -> dict[AskedRow, float | str]:
    """Return what was told for the rows of a sheet, in the form in which it can be told again."""
    values: dict[AskedRow, float | str] = {}
    for row in rows:
        if row.ticket:
            ticket = known_ticket(row.ticket, state)
            value = ticket.value if ticket.raw is None else ticket.raw
            if value is not None:
                values[row] = f">{value!r}" if ticket.censored else value
        elif (row.plate, row.well) in state.controls:
            values[row] = state.controls[int(row.plate), row.well].value
    return values


def plates(state: StudyState) -> list[PlateSummary]:
    """Return the plates of a study, the newest first."""
    summaries = {
        batch: PlateSummary(batch, layout["rows"], layout["columns"])
        for batch, layout in state.plates.items()
    }
    for ticket in state.tickets.values():
        if ticket.batch in summaries and ticket.well:
            plate = summaries[ticket.batch]
            setattr(plate, ticket.state, getattr(plate, ticket.state) + 1)
            plate.client, plate.time = ticket.client, ticket.time
    for batch in state.rejected_plates():
        summaries[batch].rejected = rejected(batch, state.why_rejected(batch))
    return [summaries[batch] for batch in sorted(summaries, reverse=True)]


def plate_map(state: StudyState, batch: int) -> PlateMap:
    """Return the wells of a plate."""
    try:
        layout = state.plates[known_plate(batch, state)]
    except ArgumentError as error:
        raise StudyNotFound(str(error)) from None
    design = state.design
    wells = [
        Well(
            ticket.well,
            _well_state(ticket, state),
            ticket.value,
            arm=design.arms[ticket.arm],
            ticket=design.ticket_id(ticket.number),
        )
        for ticket in state.tickets.values()
        if ticket.batch == batch and ticket.well
    ]
    for well, control in layout["placed"].items():
        record = state.controls.get((batch, well))
        value = None if record is None else record.value
        unknown: WellState = "withdrawn" if (batch, well) in state.withdrawn_controls else "open"
        standing: WellState = unknown if record is None else "told"
        wells.append(Well(well, standing, value, control=control))
    wells.sort(key=lambda well: well_position(well.well))
    check = check_plate(state, batch) if any(well.value is not None for well in wells) else None
    return PlateMap(batch, layout["rows"], layout["columns"], wells, check)


def measure_page(state: StudyState, status: StudyStatus, plate: int | None) -> MeasurePage:
    """Return everything that the page for measuring shows."""
    tickets = [ticket for ticket in state.open.values() if not ticket.well]
    return MeasurePage(
        name=status.name,
        question=status.question,
        events=status.events,
        outcome=status.outcome,
        verdict=status.verdict,
        takes_time=state.design.model.takes_time,
        plates=plates(state),
        tickets=[state.public_ticket(ticket) for ticket in tickets[:MOST_TICKETS]],
        num_tickets=len(tickets),
        plate=plate_map(state, plate) if plate in state.plates else None,
    )


def _well_state(ticket: TicketRecord, state: StudyState) -> WellState:
    if state.is_rejected(ticket):
        return "rejected"
    return "suspect" if ticket.number in state.quality.suspects else ticket.state
