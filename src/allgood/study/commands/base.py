"""Shared by all commands: the request, the draft on which it decides, and its decision.

A command is a dataclass, the request, with a method ``decide``.  To add a command, write one beside
the others, and a method of ``Study``; the server makes a route of each.

    decision = decide(draft, request)      # a pure function of state and request
    decision.events, decision.result

A backend locks the study, catches up with the events of others, decides, and stores the events.  A
preview decides on a fork of the state and stores nothing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from ..._internal.results import ResultData
from ..design import check_text, optional_text
from ..events import KINDS, Chain, Event, StoredEvent
from ..lookup import known_ticket
from ..receipts import Change, ReceiptRow
from ..state import StudyState, suspect_message

R = TypeVar("R")


class Draft:
    """A state to which a command adds events; the backend stores them afterwards.

    Attributes:
        state: the state, with the events so far applied.
        chain: its end.
        clock: the time by the clock.  Leases count from here.
        now: the time of the new events: that of the clock, but later than all events before.
        events: the new events.
        client: who causes them, if that is known.
        suspects: rows of earlier values that the new events made suspect, for a warning.
    """

    def __init__(
        self,
        state: StudyState,
        chain: Chain,
        clock: float,
        events: list[StoredEvent] | None = None,
    ) -> None:
        self.state, self.chain, self.clock = state, chain, clock
        self.now = max(clock, math.nextafter(state.times[1], math.inf))
        self.events: list[StoredEvent] = [] if events is None else events
        self.client: str | None = None
        self.suspects: tuple[ReceiptRow, ...] = ()

    def record(self, kind: str, **parts: Any) -> None:
        """Add an event to the state; it says who caused it, if its kind has a place for that."""
        if "client" in KINDS[kind].may:
            parts = {"client": self.client} | parts
        stored = self.chain.link(Event(0, kind, self.now, **parts))
        self.events.append(stored)
        self.state.apply(stored.event)


class Command(ResultData, Generic[R]):
    """A request to change a study.  Its fields are the body of the HTTP request.

    Attributes:
        path, preview_path: the last parts of its paths over HTTP; "" if it has no preview there.
        client: who makes the request: a person, a robot or a program; None if that is not known.
    """

    path: ClassVar[str]
    preview_path: ClassVar[str] = ""
    client: str | None

    def check(self) -> None:
        """Raise ArgumentError or ArgumentTypeError if the request is wrong for every study."""
        optional_text("client", self.client)

    def decide(self, draft: Draft) -> R:
        """Add events to the draft, and return the result."""
        raise NotImplementedError

    def repeated(self, state: StudyState) -> R | None:
        """Return the result if the request repeats what is stored and stays so; else None.

        Such a request needs no lock.
        """
        return None

    def previewed(self, state: StudyState, result: R) -> R:
        """Return the result of a preview, with what only previews say; the state is the new one."""
        return result

    @classmethod
    def result_from(cls, answer: Any) -> R:
        """Return the result from the JSON with which a server answers."""
        raise NotImplementedError


class ChangeCommand(Command[Change]):
    """A request with a reason, whose result is a Change."""

    reason: str

    def check(self) -> None:
        super().check()
        check_text("reason", self.reason)

    @classmethod
    def result_from(cls, answer: Any) -> Change:
        return Change.from_dict(answer)


class Decision(NamedTuple, Generic[R]):
    """The events that a command adds to a study, and its result.

    ``suspects`` are rows of values that the command made suspect, for a warning.
    """

    events: Sequence[StoredEvent]
    result: R
    suspects: tuple[ReceiptRow, ...] = ()


def decide(draft: Draft, request: Command[R]) -> Decision[R]:
    """Decide a request on a draft."""
    draft.client = request.client
    result = request.decide(draft)
    return Decision(draft.events, result, draft.suspects)


# ---- labels that change, and values that become suspect or wait


def changed_labels(state: StudyState, before: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the labels that differ from those before, by arm: before and after."""
    after = state.current_engine().label_names()
    triples = zip(state.design.arms, before, after, strict=True)
    return {arm: (old, new) for arm, old, new in triples if old != new}


def suspect_row(state: StudyState, number: int, line: int = 0) -> ReceiptRow:
    """Return the row of a value that is held back."""
    suspect, design = state.quality.suspects[number], state.design
    message = suspect_message(suspect, state, f"line {line}: " if line else "")
    return ReceiptRow(
        "suspect",
        design.ticket_id(number),
        suspect.value,
        message,
        line,
        design.arms[suspect.arm],
        "confirm",
    )


def with_standing(
    rows: Iterable[ReceiptRow], state: StudyState, before: set[int]
) -> list[ReceiptRow]:
    """Return the rows after the values are in: some wait, and some are suspect.

    Values of earlier requests that are suspect now, and were not ``before``, get rows of their own.
    """
    quality = state.quality
    result = []
    new, held = set(quality.suspects) - before, set(state.waiting_for_controls())
    for row in rows:
        number = known_ticket(row.ticket, state).number if row.status == "accepted" else 0
        if number in quality.waiting or number in held:
            result.append(replace(row, status="waiting"))
        elif number and state.is_rejected(state.tickets[number]):
            batch = state.tickets[number].batch
            message = f"plate {batch} does not count: {state.why_rejected(batch)}"
            result.append(replace(row, status="rejected", message=message))
        elif number in new:
            result.append(suspect_row(state, number, row.line))
            new.discard(number)
        else:
            result.append(row)
    return result + [suspect_row(state, number) for number in sorted(new)]


def newly_suspect(state: StudyState, before: set[int]) -> tuple[ReceiptRow, ...]:
    """Return a row for each value that is suspect and was not ``before``."""
    return tuple(with_standing([], state, before))


def sentences_of(rows: Sequence[ReceiptRow]) -> tuple[str, ...]:
    """Return a sentence for each of the first suspect values, and the number of the others."""
    sentences = [f"{row.message}." for row in rows]
    more = len(sentences) - 5
    return (*sentences[:5], *([f"{more} more are suspect now."] if more > 0 else []))
