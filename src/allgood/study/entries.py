"""The history of a study by request: one entry for a told plate, not one for each of its wells.

The events of one request have the same time, and no others have it: requests are told apart by it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Literal

from .._internal.results import ResultData
from .._internal.tables import counted, listed
from .backends.base import Backend
from .event_sentences import event_arm, event_sentence
from .events import KINDS, Event, stored_event
from .state import StudyState

PART = 1000  # events that are read at a time
EntryKind = Literal["asked", "told", "told_counts", "failed", "other"]
# The kind of an entry by the kinds of its events: the first that is there decides.
ENTRY_KINDS: dict[str, EntryKind] = {
    "counts": "told_counts",
    "measurement": "told",
    "control": "told",
    "ticket": "asked",
    "lease": "asked",
    "failed": "failed",
}


@dataclass(frozen=True)
class HistoryEntry(ResultData):
    """One request that changed a study.

    Attributes:
        first, last: the numbers of its first and last event.
        time: when it was carried out (seconds since 1970).
        kind: asked, told, told_counts, failed; other if it is none of these.
        client: who made the request, if that is known.
        sentence: what was done.
        events: the number of events of each kind.
        batches: the numbers of the plates and batches of its tickets and controls.
        arms: the names of the arms that it is about, in the order of its events.
        suspect: how many of the values that it told are suspect now.
        source, periods: of counts: where they come from, and what they are about.
        reason: the reason that was given, if there is one for all.
    """

    first: int
    last: int
    time: float
    kind: EntryKind
    client: str | None
    sentence: str
    events: dict[str, int]
    batches: tuple[int, ...]
    arms: tuple[str, ...]
    suspect: int
    source: str | None
    periods: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True)
class HistoryPage(ResultData):
    """A part of the history, the newest request first.

    Attributes:
        entries: the requests.
        before: the ``before`` of the next page; None if there is none.
    """

    entries: tuple[HistoryEntry, ...]
    before: int | None


def history_page(
    backend: Backend, state: StudyState, *, limit: int, before: int | None = None, **filters: Any
) -> HistoryPage:
    """Return the newest requests, at most ``limit``.

    Args:
        backend: reads the events.
        state: the study.
        limit: how many requests at most.
        before: only events with smaller numbers.
        filters: which events to read, as ``Backend.lines`` takes them.
    """
    end = state.seq + 1 if before is None else min(before, state.seq + 1)
    requests = groupby(_backwards(backend, end, filters), key=lambda event: event.time)
    chosen = [_entry(list(events)[::-1], state) for _, events in islice(requests, limit)]
    more = next(requests, None) is not None
    return HistoryPage(tuple(chosen), chosen[-1].first if more else None)


def _backwards(backend: Backend, end: int, filters: dict[str, Any]) -> Iterator[Event]:
    """Return the events before number ``end``, the newest first, read in parts."""
    while True:
        lines = list(backend.lines(before=end, limit=PART, newest=True, **filters))
        for line in lines:
            event = stored_event(line)
            yield event
            end = event.seq
        if len(lines) < PART:
            return


def _entry(events: list[Event], state: StudyState) -> HistoryEntry:
    kinds = Counter(event.kind for event in events)
    arms = dict.fromkeys(arm for event in events if (arm := event_arm(event, state)) is not None)
    batches = {event.batch for event in events if event.batch}
    tickets = [state.tickets[e.ticket] for e in events if e.ticket in state.tickets]
    batches |= {ticket.batch for ticket in tickets if ticket.batch}
    told = {event.ticket for event in events if event.kind in ("measurement", "unrequested")}
    of_counts = [event for event in events if event.kind == "counts"]
    periods = dict.fromkeys((event.data or {}).get("period") for event in of_counts)
    reasons = {event.note for event in events if event.kind not in ("counts", "unrequested")}
    entry = HistoryEntry(
        first=events[0].seq,
        last=events[-1].seq,
        time=events[0].time,
        kind=next((kind for name, kind in ENTRY_KINDS.items() if name in kinds), "other"),
        client=next((event.client for event in events if event.client is not None), None),
        sentence="",
        events=dict(kinds),
        batches=tuple(sorted(batches)),
        arms=tuple(arms),
        suspect=len(told & state.quality.suspects.keys()),
        source=of_counts[0].note if of_counts else None,
        periods=tuple(period for period in periods if period is not None),
        reason=reasons.pop() if len(reasons) == 1 else None,
    )
    return _worded(entry, events, state)


def _worded(entry: HistoryEntry, events: list[Event], state: StudyState) -> HistoryEntry:
    if len(events) == 1 or entry.kind == "other":
        sentence = _in_turn(entry, events, state)
    else:
        sentence = WORDINGS[entry.kind](entry, events, state)
    return HistoryEntry(**(vars(entry) | {"sentence": sentence}))


def _in_turn(entry: HistoryEntry, events: list[Event], state: StudyState) -> str:
    """Return the sentence of the only event; of many events, how many of each kind there are."""
    if len(events) > 2:
        parts = [f"{n:,} times {KINDS[kind].title.lower()}" for kind, n in entry.events.items()]
        return f"{', '.join(parts)}{_because(entry)}"
    texts = []
    for event in events:
        arm = event_arm(event, state)
        texts.append(f"{f'{arm}: ' if arm else ''}{event_sentence(event, state)}")
    return "; ".join(texts)


def _asked(entry: HistoryEntry, events: list[Event], state: StudyState) -> str:
    new, again = entry.events.get("ticket", 0), entry.events.get("lease", 0)
    parts = []
    if new:
        parts.append(f"{counted(new, 'measurement')} of {counted(len(entry.arms), 'arm')}")
    if again:
        parts.append(f"{counted(again, 'ticket')} again, because their leases had ended")
    return f"Asked for {_plates(entry, state, ': ')}{' and '.join(parts)}"


def _told(entry: HistoryEntry, events: list[Event], state: StudyState) -> str:
    values, controls = entry.events.get("measurement", 0), entry.events.get("control", 0)
    parts = [counted(values, "value")] if values else []
    parts += [f"{entry.suspect:,} of them suspect now"] if entry.suspect else []
    parts += [counted(controls, "control")] if controls else []
    return f"Told {_plates(entry, state, ': ')}{', '.join(parts)}"


def _told_counts(entry: HistoryEntry, events: list[Event], state: StudyState) -> str:
    number = sum((event.data or {}).get("n", 0) for event in events if event.kind == "counts")
    corrected = entry.events.get("corrected", 0)
    periods = f", {listed(entry.periods, 5)}" if entry.periods else ""
    replaced = f", and {counted(corrected, 'row')} corrected" if corrected else ""
    measurements, arms = counted(number, "measurement"), counted(len(entry.arms), "arm")
    return f"Told counts: {measurements} of {arms}{replaced}; {entry.source}{periods}"


def _failed(entry: HistoryEntry, events: list[Event], state: StudyState) -> str:
    tickets, of = counted(len(events), "ticket"), _plates(entry, state, "")
    return f"{tickets}{f' of {of}' if of else ''} failed{_because(entry)}"


def _because(entry: HistoryEntry) -> str:
    return f"; {entry.reason}" if entry.reason else ""


def _plates(entry: HistoryEntry, state: StudyState, end: str) -> str:
    """Return the plates of an entry, in words; empty if it has none."""
    plates = [str(batch) for batch in entry.batches if batch in state.plates]
    if not plates:
        return ""
    return f"{'plate' if len(plates) == 1 else 'plates'} {listed(plates)}{end}"


WORDINGS: dict[EntryKind, Callable[[HistoryEntry, list[Event], StudyState], str]] = {
    "asked": _asked,
    "told": _told,
    "told_counts": _told_counts,
    "failed": _failed,
}
