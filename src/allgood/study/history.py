"""Tables of a study's values and events, and the events of a copy under another design."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from .._internal.tables import Table
from .design import StudyDesign
from .events import FIELDS, Chain, Event, StoredEvent, canonical, digest, stored_event
from .state import Origin, StudyState

VALUE_COLUMNS = (
    "ticket",
    "arm",
    "value",
    "state",
    "time",
    "batch",
    "well",
    "client",
    "pooled",
    "censored",
    "first",
    "raw",
    "source",
    "n",
    "period",
    "scatter",
)


def values_table(state: StudyState) -> Table:
    """Return the values that were told, in the order in which they came."""
    rows = value_rows(state, state.told)
    columns = zip(*rows, strict=True) if state.told else ((),) * len(VALUE_COLUMNS)
    return Table({name: list(column) for name, column in zip(VALUE_COLUMNS, columns, strict=True)})


def value_rows(state: StudyState, numbers: Iterable[int]) -> Iterator[tuple[Any, ...]]:
    """Return the values of tickets, as ``VALUE_COLUMNS`` names their parts."""
    design, quality = state.design, state.quality
    waiting = {*quality.told_and_waiting(), *state.waiting_for_controls()}
    for number in numbers:
        ticket = state.tickets[number]
        standing = "waiting" if number in waiting else "counts"
        if ticket.state == "withdrawn" or state.is_rejected(ticket):
            standing = "withdrawn" if ticket.state == "withdrawn" else "rejected"
        elif number in quality.suspects:
            standing = "suspect"
        yield (
            design.ticket_id(number),
            design.arms[ticket.arm],
            ticket.value,
            standing,
            ticket.told_at,
            ticket.batch if ticket.asked else None,
            ticket.well,
            ticket.client,
            ticket.pooled,
            ticket.censored,
            ticket.first,
            ticket.raw,
            None if ticket.asked else ticket.note,
            ticket.n,
            ticket.period,
            ticket.scatter if ticket.counts else None,
        )


class Page(NamedTuple):
    """Some of the values that were told.

    Attributes:
        tickets: their tickets, in the order that was asked for.
        last: the place at which the next page begins.
        more: whether there is a next page.
    """

    tickets: list[int]
    last: int
    more: bool


def values_page(
    state: StudyState,
    limit: int,
    arm: str | None = None,
    after: int = 0,
    before: int | None = None,
    newest: bool = False,
) -> Page:
    """Choose values by their places in the order in which they were told, from 1.

    Args:
        state: the study.
        limit: how many at most.
        arm: only values of this arm.
        after, before: only values with larger, and with smaller, places.
        newest: whether to begin with the newest.
    """
    end = len(state.told) if before is None else min(len(state.told), max(before - 1, 0))
    places = range(end, after, -1) if newest else range(after + 1, end + 1)
    number = None if arm is None else state.design.numbers.get(arm, -1)
    chosen: list[int] = []
    last = places.start
    for place in places:
        ticket = state.told[place - 1]
        if number is None or state.tickets[ticket].arm == number:
            if len(chosen) == limit:
                return Page(chosen, last, True)
            chosen.append(ticket)
            last = place
    return Page(chosen, after + 1 if newest else max(end, after), False)


def events_table(events: Sequence[Event], design: StudyDesign) -> Table:
    """Return events, with names of tickets and arms in place of numbers."""
    columns: dict[str, list[Any]] = {
        field: [getattr(event, field) for event in events] for field in FIELDS
    }
    named: dict[str, Callable[[Any], Any]] = {
        "ticket": design.ticket_id,
        "arm": design.arms.__getitem__,
        "data": canonical,
    }
    for field, name in named.items():
        columns[field] = [None if x is None else name(x) for x in columns[field]]
    return Table(columns)


def copy_events(
    lines: Sequence[str], design: StudyDesign, original: StudyDesign, now: float
) -> tuple[list[StoredEvent], StudyState, Chain]:
    """Return the events of a study under another design, with their state and their end.

    A confirmation of a value that is not suspect there is left out.
    """
    events = [stored_event(line) for line in lines]
    chain = Chain()
    copied = [chain.link(events[0]._replace(data=design.to_dict()))]
    state = StudyState.from_first(copied[0].event)
    for event in events[1:]:
        if event.kind == "confirmed" and event.ticket not in state.quality.suspects:
            continue
        copied.append(chain.link(event))
        state.apply(copied[-1].event)
    origin = Origin(original.name, original.uid, len(events), digest(lines))
    copied.append(chain.link(Event(0, "copy", now, data=asdict(origin))))
    state.apply(copied[-1].event)
    return copied, state, chain
