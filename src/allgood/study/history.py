"""Tables of a study's values and events, and the events of a copy under another design."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import compress
from typing import Any

from .._internal.tables import Table
from .design import StudyDesign
from .events import FIELDS, Chain, Event, StoredEvent, canonical, digest, stored_event
from .state import Origin, StudyState


def values_table(state: StudyState, arm: int | None = None) -> Table:
    """Return the values that were told, of one arm or of all, in the order in which they came."""
    design, quality = state.design, state.quality
    waiting = set(quality.told_and_waiting())
    told = [state.tickets[number] for number in state.told]
    chosen = [arm in (None, ticket.arm) for ticket in told]
    tickets = list(compress(told, chosen))

    def standing(number: int) -> str:
        held_back = "suspect" if number in quality.suspects else "counts"
        return "waiting" if number in waiting else held_back

    return Table(
        {
            "ticket": [design.ticket_id(t.number) for t in tickets],
            "arm": [design.arms[t.arm] for t in tickets],
            "value": [t.value for t in tickets],
            "state": [standing(t.number) for t in tickets],
            "time": list(compress(state.times_told(), chosen)),
            "batch": [t.batch if t.asked else None for t in tickets],
            "well": [t.well for t in tickets],
            "client": [t.client for t in tickets],
            "pooled": [t.pooled for t in tickets],
            "censored": [t.censored for t in tickets],
            "first": [t.first for t in tickets],
            "raw": [t.raw for t in tickets],
            "source": [None if t.asked else t.note for t in tickets],
            "n": [t.n for t in tickets],
            "period": [t.period for t in tickets],
            "scatter": [t.scatter if t.counts else None for t in tickets],
        }
    )


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
