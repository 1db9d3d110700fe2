"""The history of a study by request: one entry for a plate that was told, not one for each well.

All events of a request have the same time, and no others have it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .._internal.results import ResultData
from .._internal.tables import counted, listed
from .event_sentences import event_arm, event_sentence
from .events import Event, stored_event
from .state import StudyState

PART = 1000  # events that are read at once
MOST_EVENTS = 20_000  # events that are read for one page
# What several events of a kind in one request say; other kinds come one at a time.
SUMMARIES = {
    "ticket": ("ticket asked for", "tickets asked for"),
    "lease": ("ticket passed on", "tickets passed on"),
    "measurement": ("value told", "values told"),
    "unrequested": ("unrequested value told", "unrequested values told"),
    "counts": ("row of counts told", "rows of counts told"),
    "control": ("control told", "controls told"),
    "failed": ("ticket reported as failed", "tickets reported as failed"),
    "corrected": ("value corrected", "values corrected"),
    "control_corrected": ("control corrected", "controls corrected"),
}


@dataclass(frozen=True)
class HistoryEntry(ResultData):
    """The events of one request.

    Attributes:
        first, last: numbers of its first and last event among those that were asked for.
        events: number of these events.
        time: in seconds since 1970.
        kind: the kind of most of them.
        client: who made the request; None if that is not known.
        arm, batch: the arm, and the plate or batch, if all events have the same.
        sentence: what happened, without the name of the arm and without a full stop.
    """

    first: int
    last: int
    events: int
    time: float
    kind: str
    client: str | None
    arm: str | None
    batch: int | None
    sentence: str


def history_page(
    lines: Callable[..., Sequence[str]], state: StudyState, limit: int, **chosen: Any
) -> tuple[list[HistoryEntry], bool]:
    """Return the newest entries, newest first, and whether there are older ones.

    Args:
        lines: reads lines of events (``Backend.lines``).
        state: the study.
        limit: how many entries at most.
        chosen: ``before``, ``after`` and filters of the events, as ``lines`` takes them.
    """
    entries: list[HistoryEntry] = []
    read = 0
    for _, group in groupby(_newest(lines, chosen), key=lambda event: event.time):
        if len(entries) == limit or read >= MOST_EVENTS:
            return entries, True
        events = list(group)[::-1]
        read += len(events)
        entries.append(_entry(events, state))
    return entries, False


def _newest(lines: Callable[..., Sequence[str]], chosen: dict[str, Any]) -> Iterator[Event]:
    """Return events, the newest first, reading some at a time."""
    while True:
        part = lines(newest=True, limit=PART, **chosen)
        events = [stored_event(line) for line in part]
        yield from events
        if len(events) < PART:
            return
        chosen = chosen | {"before": events[-1].seq}


def _entry(events: list[Event], state: StudyState) -> HistoryEntry:
    clients = [event.client for event in events if event.client is not None]
    kinds = Counter(event.kind for event in events)
    return HistoryEntry(
        first=events[0].seq,
        last=events[-1].seq,
        events=len(events),
        time=events[0].time,
        kind=max(kinds, key=lambda kind: kinds[kind]),
        client=clients[0] if clients else None,
        arm=_common(event_arm(event, state) for event in events),
        batch=_common(_batch(event, state) for event in events),
        sentence=_sentence(events, kinds, state),
    )


def _batch(event: Event, state: StudyState) -> int | None:
    if event.batch is not None or event.ticket not in state.tickets:
        return event.batch
    ticket = state.tickets[event.ticket]
    return ticket.batch if ticket.asked else None


def _common(values: Iterator[Any]) -> Any:
    """Return the value that all have, or None."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _sentence(events: list[Event], kinds: Counter[str], state: StudyState) -> str:
    """Return what a request did: the sentence of its only event, or numbers of events by kind."""
    summed = [event for event in events if event.kind in SUMMARIES]
    if len(summed) < 2:
        return "; ".join(event_sentence(event, state) for event in events)
    others = [event_sentence(event, state) for event in events if event.kind not in SUMMARIES]
    numbers = [counted(kinds[kind], *words) for kind, words in SUMMARIES.items() if kinds[kind]]
    text = listed(numbers)
    batches = sorted({batch for event in summed if (batch := _batch(event, state)) is not None})
    on_plates = all(batch in state.plates for batch in batches)
    if batches:
        noun = ("Plate", "Plates") if on_plates else ("Batch", "Batches")
        text = f"{noun[len(batches) > 1]} {listed([str(batch) for batch in batches])}: {text}"
    suspects = sum(
        event.kind == "measurement" and event.ticket in state.quality.suspects for event in events
    )
    text += f" ({suspects:,} suspect now)" if suspects else ""
    return "; ".join([*others, f"{text}{_sources(events)}"])


def _sources(events: list[Event]) -> str:
    """Return source and periods of counts, or the reason that all events share."""
    note = _common(event.note for event in events)
    texts = [note] if note else []
    periods = [(event.data or {}).get("period") for event in events if event.kind == "counts"]
    named = list(dict.fromkeys(str(period) for period in periods if period is not None))
    texts += [listed(named)] if named else []
    return f": {', '.join(texts)}" if texts else ""
