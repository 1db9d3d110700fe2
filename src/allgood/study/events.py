"""The events of a study, their fields and their chain: open this to add a kind of event.

``KINDS`` lists the kinds of event, with their titles and meanings.  Events are added.  They are
never changed and never removed.  The events as lines of JSON, with sorted fields and without empty
fields, are the whole study.  The SHA-256 of these lines identifies the study.  Each event but the
first holds the SHA-256 of the line before (``Chain``), so an event that was changed, removed or
added is noticed when the events are read.

To add a kind of event: one entry in ``KINDS`` here, one in ``HANDLERS`` of ``state.py``, and one in
``WORDINGS`` of ``event_sentences.py``.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from .._internal.json_input import read_json


class Event(NamedTuple):
    """One event.  ``seq`` counts from 1; ``time`` is in seconds since 1970 (UTC).

    The fields are written here and nowhere else: the lines of JSON and their checks are made from
    this list (``FIELDS``).
    """

    seq: int
    kind: str
    time: float
    client: str | None = None
    ticket: int | None = None
    arm: int | None = None
    value: float | None = None
    pooled: bool | None = None  # whether the reward goes into the pool
    batch: int | None = None
    well: str | None = None
    lease_until: float | None = None
    note: str | None = None
    data: dict[str, Any] | None = None
    previous: str | None = None  # SHA-256 of the line of the event before

    def line(self) -> str:
        """Return the event as one line of JSON, without the line end."""
        filled = {name: getattr(self, name) for name in SORTED}
        return ENCODE({name: value for name, value in filled.items() if value is not None})


def _field_type(hint: Any) -> type:
    """Return the type of a field when it is filled: ``int`` for ``int | None``."""
    parts = get_args(hint)
    filled = parts[0] if type(None) in parts else hint
    plain: type = get_origin(filled) or filled
    return plain


# The type of each field, by its name, in the order of the class.
FIELDS: dict[str, type] = {name: _field_type(hint) for name, hint in get_type_hints(Event).items()}
SORTED = sorted(FIELDS)
# The texts of ``data`` keep their order: headings of notes and columns of sheets have one.
FORM: dict[str, Any] = dict(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
ENCODE = json.JSONEncoder(**FORM).encode
SORTING = json.JSONEncoder(**FORM, sort_keys=True).encode
ALWAYS = ("seq", "kind", "time")  # fields that every event has
ANY = (*ALWAYS, "previous")  # fields that events of every kind may have


def canonical(value: object) -> str:
    """Return a value as JSON in the one form of which digests of parts are taken."""
    return SORTING(value)


class EventKind(NamedTuple):
    """A kind of event.

    Attributes:
        title: what lists call it.
        meaning: what such an event says.
        must: fields that such an event has, besides those of ``ALWAYS``.
        may: fields that it may have, too.
        notable: False for what happens all the time, which a report leaves out.
    """

    title: str
    meaning: str
    must: tuple[str, ...]
    may: tuple[str, ...] = ()
    notable: bool = True


KINDS: dict[str, EventKind] = {
    "created": EventKind(
        "Study begun",
        "The study began with this design: arms, objective, delta, model, seed and budget.",
        must=("data",),
        may=("client",),
        notable=False,
    ),
    "arm_notes": EventKind(
        "Notes on arms",
        "Facts about arms that were known beforehand; they decide nothing.",
        must=("data",),
        notable=False,
    ),
    "plate": EventKind(
        "Plate",
        "The wells of the next batch were laid out.",
        must=("batch", "data"),
        notable=False,
    ),
    "ticket": EventKind(
        "Ticket",
        "One measurement of one arm was requested, for a client, until its lease ends.",
        must=("ticket", "arm", "pooled", "batch"),
        may=("client", "well", "lease_until"),
        notable=False,
    ),
    "lease": EventKind(
        "Lease",
        "A ticket whose lease had ended went to another client.",
        must=("ticket",),
        may=("client", "lease_until"),
        notable=False,
    ),
    "measurement": EventKind(
        "Value",
        "The value of a ticket was told.",
        must=("ticket", "value"),
        may=("client", "data"),
        notable=False,
    ),
    "unrequested": EventKind(
        "Unrequested value",
        "A value was told that nobody had requested; it has a ticket of its own.",
        must=("ticket", "arm", "value", "note"),
        may=("client", "data"),
    ),
    "counts": EventKind(
        "Counts",
        "Number and sum of the values of an arm in one period were told, from one source.",
        must=("ticket", "arm", "value", "note", "data"),
        may=("client",),
        notable=False,
    ),
    "failed": EventKind(
        "Failure", "A ticket will have no value.", must=("ticket",), may=("note", "client")
    ),
    "arm_dropped": EventKind(
        "Dropped arm", "An arm will not be measured again.", must=("arm",), may=("note", "client")
    ),
    "arm_restored": EventKind(
        "Restored arm",
        "An arm that was dropped may be measured again.",
        must=("arm",),
        may=("note", "client"),
    ),
    "arms_added": EventKind(
        "New arms",
        "Arms were added, in the places that the design keeps for them.",
        must=("data",),
        may=("note", "client"),
    ),
    "budget_set": EventKind(
        "Budget", "The study got another budget.", must=("data",), may=("note", "client")
    ),
    "corrected": EventKind(
        "Correction",
        "A value that was told was replaced.",
        must=("ticket", "value"),
        may=("note", "data", "client"),
    ),
    "replaced": EventKind(
        "Replacement",
        "Many values that were told were replaced at once, such as those of a plate.",
        must=("note", "data"),
        may=("batch", "client"),
    ),
    "withdrawn": EventKind(
        "Withdrawal",
        "Values that were told do not count any more, for a reason.",
        must=("note", "data"),
        may=("batch", "client"),
    ),
    "confirmed": EventKind(
        "Confirmation",
        "Somebody declared a suspect value right; it counts.",
        must=("ticket", "value"),
        may=("note", "client"),
    ),
    "control": EventKind(
        "Control",
        "The value of a control on a plate was told.",
        must=("batch", "well", "value"),
        may=("client", "data"),
        notable=False,
    ),
    "control_corrected": EventKind(
        "Control corrected",
        "The value of a control was replaced.",
        must=("batch", "well", "value"),
        may=("note", "client"),
    ),
    "copy": EventKind(
        "Copy", "All events before were copied from another study.", must=("data",), may=("client",)
    ),
    "note": EventKind(
        "Note",
        "Somebody made a remark, on an arm, on a ticket or on the whole study.",
        must=("note",),
        may=("arm", "ticket", "client"),
    ),
}


def digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of an exported file that holds these lines."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line.encode() + b"\n")
    return sha256.hexdigest()


class StoredEvent(NamedTuple):
    """An event, and its line of JSON."""

    event: Event
    line: str


class BrokenChain(ValueError):
    """An event does not follow the event before it: one was changed, removed or added.

    Attributes:
        intact: the number of the last event that is certain to be as it was stored.
    """

    def __init__(self, message: str, intact: int) -> None:
        super().__init__(message)
        self.intact = intact


@dataclass(slots=True)
class Chain:
    """The end of a sequence of events, each of which holds the digest of the one before.

    Attributes:
        seq: the number of the last event; 0 if there is none.
        digest: SHA-256 of its line; empty if there is none.
    """

    seq: int = 0
    digest: str = ""

    def link(self, event: Event) -> StoredEvent:
        """Append an event: return it with its number and the digest of the event before."""
        linked = event._replace(seq=self.seq + 1, previous=self.digest or None)
        stored = StoredEvent(linked, linked.line())
        self.move(*stored)
        return stored

    def check(self, event: Event) -> None:
        """Raise BrokenChain unless this is the next event."""
        if event.seq != self.seq + 1:
            raise BrokenChain(
                f"event {event.seq} is out of order: event {self.seq + 1} should come here.",
                self.seq,
            )
        if event.previous != (self.digest or None):
            raise BrokenChain(
                f"event {event.seq} does not hold the digest of event {self.seq}: one of the two "
                "was changed.",
                max(self.seq - 1, 0),
            )

    def move(self, event: Event, line: str) -> None:
        """Go on to this event, whose line this is."""
        self.seq, self.digest = event.seq, line_digest(line)

    def follow(
        self,
        lines: Iterable[str],
        take: Callable[[Event], None],
        parse: Callable[[str, int], Event],
    ) -> None:
        """Parse each line, check that its event is the next, hand it over, and go on to it.

        Raises:
            BrokenChain: if a line is not an event, or not the next one.
        """
        for line in lines:
            try:
                event = parse(line, self.seq + 1)
            except (ValueError, TypeError) as error:
                raise BrokenChain(str(error), max(self.seq - 1, 0)) from None
            self.check(event)
            take(event)
            self.move(event, line)


def line_digest(line: str) -> str:
    """Return the SHA-256 of one line, without its line end."""
    return hashlib.sha256(line.encode()).hexdigest()


def link_all(events: Iterable[Event]) -> list[Event]:
    """Number events from 1 on, and give each the digest of the one before."""
    chain = Chain()
    return [chain.link(event).event for event in events]


def stored_event(line: str, number: int = 0) -> Event:
    """Return the event of a line that this package has stored; ``Chain.follow`` checks it."""
    return Event(**json.loads(line))


def parse_line(line: str, number: int) -> Event:
    """Return the event of a line of an exported file.  ``number`` is the line's, for messages."""
    try:
        parts = read_json(line, constant=lambda name: math.nan)
    except (ValueError, RecursionError) as error:
        raise _bad_line(number, f"it is not JSON ({error})") from None
    if not isinstance(parts, dict):
        raise _bad_line(number, f"it holds {type(parts).__name__} in place of an object")
    for name, value in parts.items():
        if name not in FIELDS:
            raise _bad_line(number, f"it has an unknown field {name!r}")
        if not fits(FIELDS[name], value):
            raise _bad_line(number, f"its {name} is {value!r}")
        if FIELDS[name] is float:
            parts[name] = float(value) + 0.0  # turns -0.0 into 0.0
    problem = _wrong_fields(parts)
    if problem:
        raise _bad_line(number, problem)
    event = Event(**parts)
    if event.line() != line:
        raise _bad_line(number, "it has the right fields in another form than Study.export writes")
    return event


def _bad_line(number: int, why: str) -> ValueError:
    return ValueError(f"line {number} is not an event of an exported study: {why}.")


def fits(kind: type, value: object) -> bool:
    """Return whether a value from JSON can stand in a field of this type."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind in (int, float):
        allowed = int if kind is int else int | float
        return isinstance(value, allowed) and -1e300 < value < 1e300
    return isinstance(value, kind)


def _wrong_fields(parts: dict[str, Any]) -> str:
    """Return the problem with the choice of fields; empty if there is none."""
    if not set(ALWAYS) <= parts.keys() or parts["kind"] not in KINDS:
        return "it has no seq, no time or no known kind"
    kind = parts["kind"]
    must, may = KINDS[kind].must, KINDS[kind].may
    for name in must:
        if name not in parts:
            return f"it is an event of kind {kind!r} without {name}"
    for name in parts:
        if name not in (*ANY, *must, *may):
            return f"it is an event of kind {kind!r} with {name}, which this kind does not have"
    return ""
