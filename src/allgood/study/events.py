"""What happens in a study, one event after another, and how it is written down.

    created       the design: arms, objective, delta, model, strategy, seed, budget
    arm_notes     what is known of the arms beforehand; it decides nothing
    plate         how the wells of the next batch are laid out
    ticket        one measurement of one arm is asked for, by a client, until a deadline
    lease         a ticket whose lease has ended is given to another client
    observation   the value of a ticket
    unasked       a value that nobody had asked for; it gets a ticket number of its own
    counts        number and sum of the values of an arm in one period, from one source
    failure       a ticket will have no value
    abandonment   an arm is not to be measured again
    addition      arms that take places which were kept for new arms
    extension     another budget
    correction    a new value for a ticket that has one
    confirmation  a suspect value is right, and counts
    control       the value of a control on a plate
    recontrol     a new value for a control that has one
    copy          all events before were copied from another study
    note          a remark, on an arm, on a ticket or on the whole study

Events are added.  They are never changed and never removed.  The events as lines of JSON, with
sorted fields and without empty fields, are the whole study.  The SHA-256 of these lines identifies
the study.  Each event but the first holds the SHA-256 of the line before (``Chain``), so an event
that was changed, removed or added is noticed when the events are read.

To add a kind of event: one entry in ``KINDS`` here, and one in ``HANDLERS`` of ``ledger.py``.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from .._internal.arguments import count, forbidden_character, positive
from .._internal.json_input import read_json
from ..models.base import Model
from ..models.registry import model_from_dict
from ..objectives import Additive, Multiplicative, Objective
from ..strategies.claim_by_claim import ClaimByClaim
from .quality import SHARE

FORMAT = 1  # version of the stored events
CASES = 4  # where arms may be added, a label can be wrong in so many ways
RULES = 1  # version of how arms are chosen and labels certified; a study keeps its rules to the end

# The letters of ticket ids.  No spreadsheet takes them for a number or a date.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")


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
    pooled: bool | None = None  # whether the reward joins the pool
    batch: int | None = None
    well: str | None = None
    lease_until: float | None = None
    note: str | None = None
    data: dict[str, Any] | None = None
    previous: str | None = None  # SHA-256 of the line of the event before

    def line(self) -> str:
        """The event as one line of JSON, without the line end."""
        filled = {name: getattr(self, name) for name in SORTED}
        return ENCODE({name: value for name, value in filled.items() if value is not None})


def _field_type(hint: Any) -> type:
    """The type of a field when it is filled: ``int`` for ``int | None``."""
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


class Carries(NamedTuple):
    """Which fields an event of one kind has, besides those of ``ALWAYS``."""

    must: tuple[str, ...]
    may: tuple[str, ...] = ()


KINDS: dict[str, Carries] = {
    "created": Carries(must=("data",)),
    "arm_notes": Carries(must=("data",)),
    "plate": Carries(must=("batch", "data")),
    "ticket": Carries(
        must=("ticket", "arm", "pooled", "batch"), may=("client", "well", "lease_until")
    ),
    "lease": Carries(must=("ticket",), may=("client", "lease_until")),
    "measurement": Carries(must=("ticket", "value"), may=("client", "data")),
    "unrequested": Carries(must=("ticket", "arm", "value", "note"), may=("client", "data")),
    "counts": Carries(must=("ticket", "arm", "value", "note", "data"), may=("client",)),
    "failed": Carries(must=("ticket",), may=("note",)),
    "arm_dropped": Carries(must=("arm",), may=("note",)),
    "arms_added": Carries(must=("data",), may=("note",)),
    "budget_set": Carries(must=("data",), may=("note",)),
    "corrected": Carries(must=("ticket", "value"), may=("note", "data")),
    "confirmed": Carries(must=("ticket", "value"), may=("note",)),
    "control": Carries(must=("batch", "well", "value"), may=("client", "data")),
    "control_corrected": Carries(must=("batch", "well", "value"), may=("note",)),
    "copy": Carries(must=("data",)),
    "note": Carries(must=("note",), may=("arm", "ticket", "client")),
}


def digest(lines: Iterable[str]) -> str:
    """SHA-256 of an exported file that holds these lines."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line.encode() + b"\n")
    return sha256.hexdigest()


class BrokenChain(ValueError):
    """An event does not follow the event before it: one was changed, removed or added.

    Attributes:
        intact: the number of the last event that is surely as it was stored.
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

    def next(self, event: Event) -> Event:
        """The event with the next number and the digest of the event before."""
        return event._replace(seq=self.seq + 1, previous=self.digest or None)

    def link(self, event: Event) -> Event:
        """Append an event: return it with its number and the digest of the event before."""
        linked = self.next(event)
        self.move(linked, linked.line())
        return linked

    def check(self, event: Event) -> None:
        """Raise BrokenChain unless this is the next event."""
        if event.seq != self.seq + 1:
            raise BrokenChain(
                f"event {self.seq} must be followed by event {self.seq + 1}: got {event.seq}.",
                self.seq,
            )
        if event.previous != (self.digest or None):
            raise BrokenChain(
                f"event {event.seq} must hold the digest of event {self.seq}: it holds another, so "
                "one of the two was changed.",
                max(self.seq - 1, 0),
            )

    def move(self, event: Event, line: str) -> None:
        """Go on to this event, whose line this is."""
        self.seq, self.digest = event.seq, line_digest(line)


def line_digest(line: str) -> str:
    """SHA-256 of one line, without its line end."""
    return hashlib.sha256(line.encode()).hexdigest()


def link_all(events: Iterable[Event]) -> list[Event]:
    """Number events from 1 on, and give each the digest of the one before."""
    chain = Chain()
    return [chain.link(event) for event in events]


def stored_event(line: str) -> Event:
    """Return the event of a line that this package has stored; ``Chain.follow`` checks it."""
    return Event(**json.loads(line))


def parse_line(line: str, number: int) -> Event:
    """The event that a line of an exported file holds.  ``number`` is the line's, for messages."""
    try:
        parts = read_json(line, constant=lambda name: math.nan)
    except (ValueError, RecursionError) as error:
        raise _bad_line(number, f"got no JSON ({error})") from None
    if not isinstance(parts, dict):
        raise _bad_line(number, f"got {type(parts).__name__}")
    for name, value in parts.items():
        if name not in FIELDS:
            raise _bad_line(number, f"got an unknown field {name!r}")
        if not _fits(FIELDS[name], value):
            raise _bad_line(number, f"got {value!r} as {name}")
        if FIELDS[name] is float:
            parts[name] = float(value) + 0.0  # turns -0.0 into 0.0
    problem = _wrong_fields(parts)
    if problem:
        raise _bad_line(number, problem)
    event = Event(**parts)
    if event.line() != line:
        raise _bad_line(number, "got the right fields in another form")
    return event


def _bad_line(number: int, why: str) -> ValueError:
    return ValueError(
        f"line {number} must be an event of a study as `allgood study export` writes it: {why}."
    )


def _fits(kind: type, value: object) -> bool:
    """Whether a value from JSON can stand in a field of this type."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind in (int, float):
        allowed = int if kind is int else int | float
        return isinstance(value, allowed) and -1e300 < value < 1e300
    return isinstance(value, kind)


def _wrong_fields(parts: dict[str, Any]) -> str:
    """What is wrong with the choice of fields; empty if nothing is."""
    if not set(ALWAYS) <= parts.keys() or parts["kind"] not in KINDS:
        return "got no seq, time or kind that is known"
    kind = parts["kind"]
    must, may = KINDS[kind]
    for name in must:
        if name not in parts:
            return f"got an event of kind {kind!r} without {name}"
    for name in parts:
        if name not in (*ANY, *must, *may):
            return f"got an event of kind {kind!r} with {name}, which this kind does not have"
    return ""


@dataclass(frozen=True)
class StudyDesign:
    """What a study is to find out, and how: the ``data`` of the first event.

    Attributes:
        check_values: whether values that cannot be are held back (``hearing.py``).
        in_order: whether values are heard in the order of their tickets.
        censor_at: the time after which a waiting time is given up; None if there is none.
        max_new_arms: how many arms may be added to those of the beginning.
        added: how many were.
    """

    name: str
    uid: str
    arms: tuple[str, ...]
    objective: Objective
    delta: float
    model: Model
    pool: bool
    seed: int
    budget: int | None
    check_values: bool = True
    in_order: bool = False
    censor_at: float | None = None
    max_new_arms: int = 0
    added: int = 0

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each arm, by its name."""
        return {arm: a for a, arm in enumerate(self.arms)}

    def check(self) -> None:
        """Raise ValueError or TypeError if no study can have this design."""
        check_text("name", self.name)
        if not isinstance(self.uid, str) or not re.fullmatch("[0-9a-f]{32}", self.uid):
            raise ValueError(f"uid must be 32 hexadecimal digits: got {self.uid!r}.")
        self.check_arms()
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number from 0 on: got {self.seed!r}.")
        self.check_budget()
        for name in ("pool", "check_values", "in_order"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False: got {getattr(self, name)!r}.")
        self.check_epsilon()
        # Call start() now, so that an unsupported model fails early.
        self.strategy.start(len(self.arms), Model.check(self.model))
        if self.max_new_arms and not self.check_values:
            raise ValueError("max_new_arms must be 0 where values are not checked.")
        if self.max_new_arms and isinstance(getattr(self.model, "sigma", None), tuple):
            raise ValueError(
                "max_new_arms must be 0 where each arm has a sigma of its own: new arms have none."
            )
        if self.model.takes_time and not self.in_order:
            raise ValueError(
                f"in_order must be True for {self.model}: short times are known first, and an "
                "order that depends on the values voids the guarantee."
            )
        if self.censor_at is not None:
            positive("censor_at", self.censor_at)
            if not self.model.takes_time:
                raise ValueError(
                    f"censor_at must be None for {self.model}: got {self.censor_at:g}. Only "
                    "times may be given up at a fixed time without voiding the guarantee."
                )

    def check_arms(self) -> None:
        for i, arm in enumerate(self.arms):
            check_text(f"arms[{i}]", arm)
        if not self.arms:
            raise ValueError("arms must name at least one arm: got none.")
        doubled = [arm for arm, n in Counter(self.arms).items() if n > 1]
        if doubled:
            raise ValueError(f"arms must have different names: got {doubled[0]!r} more than once.")
        if (
            isinstance(self.max_new_arms, bool)
            or not isinstance(self.max_new_arms, int)
            or self.max_new_arms < 0
        ):
            raise ValueError(
                f"max_new_arms must be a whole number from 0 on: got {self.max_new_arms!r}."
            )

    def check_epsilon(self) -> None:
        """With an epsilon as wide as the range of the means every arm would be good."""
        low, high = self.model.range
        if self.objective.factor == 1.0 and self.objective.slack >= high - low:
            raise ValueError(
                f"epsilon must be below {high - low:g}, because the means of {self.model} never "
                f"differ by more: got {self.objective.slack:g}. One percentage point is 0.01."
            )

    @property
    def places(self) -> int:
        """K in all needs: the arms, and the places for new arms that are not taken."""
        return len(self.arms) - self.added + self.max_new_arms

    def check_budget(self) -> None:
        if self.budget is not None and count("budget", self.budget) < len(self.arms):
            raise ValueError(
                f"budget must allow one measurement of each of the {len(self.arms)} arms: got "
                f"{self.budget}."
            )

    @property
    def tag(self) -> str:
        """The letters with which the ids of all tickets of this study begin."""
        return self.uid[:4].translate(LETTERS)

    def ticket_id(self, number: int) -> str:
        return f"{self.tag}-{number}"

    @property
    def strategy(self) -> ClaimByClaim:
        return ClaimByClaim(self.objective, self.risk_of_labels, self.pool)

    @property
    def risk_of_labels(self) -> float:
        """The part of delta that labels may use; the rest pays for values held back.

        With places for new arms, the labels may use a quarter of that (``Study.add_arms``).
        """
        risk = (1.0 - SHARE) * self.delta if self.check_values else self.delta
        return risk / CASES if self.max_new_arms else risk

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return {
            "format": FORMAT,
            "rules": RULES,
            "name": self.name,
            "uid": self.uid,
            "arms": list(self.arms),
            "objective": objective_to_dict(self.objective),
            "delta": self.delta,
            "model": self.model.to_dict(),
            "strategy": {"name": "claim-by-claim", "pool": self.pool},
            "seed": self.seed,
            "budget": self.budget,
            "check_values": self.check_values,
            "in_order": self.in_order,
            "censor_at": self.censor_at,
        } | ({"max_new_arms": self.max_new_arms} if self.max_new_arms else {})

    @staticmethod
    def from_dict(stored: dict[str, Any]) -> "StudyDesign":
        """The design from its stored form.  Anything else is refused."""
        if stored.get("format") != FORMAT or stored.get("rules") != RULES:
            raise ValueError(
                f"study must be of format {FORMAT} and rules {RULES}, which this version of "
                f"allgood knows: got format {stored.get('format')!r} and rules "
                f"{stored.get('rules')!r}. Go on with the version of allgood that made it."
            )
        try:
            strategy = stored["strategy"]
            if strategy["name"] != "claim-by-claim":
                raise ValueError(f"strategy must be claim-by-claim: got {strategy['name']!r}")
            design = StudyDesign(
                name=stored["name"],
                uid=stored["uid"],
                arms=tuple(stored["arms"]),
                objective=objective_from_dict(stored["objective"]),
                delta=stored["delta"],
                model=model_from_dict(stored["model"]),
                pool=strategy["pool"],
                seed=stored["seed"],
                budget=stored["budget"],
                check_values=stored["check_values"],
                in_order=stored["in_order"],
                censor_at=stored["censor_at"],
                max_new_arms=stored.get("max_new_arms", 0),
            )
            design.check()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"the first event must hold the question: {type(error).__name__} {error}"
            ) from None
        if design.to_dict() != stored:
            raise ValueError("the first event must hold the question, and nothing else.")
        return design


def check_text(name: str, value: object) -> str:
    """Return a name or a reason: at least one visible character, and no control characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text: got {value!r}.")
    forbidden = forbidden_character(value[:1000])
    if not value.strip() or len(value) > 1000 or forbidden:
        raise ValueError(
            f"{name} must be 1 to 1000 characters, none of them a control character: got "
            f"{value[:60]!r}{f', which has the character {forbidden}' if forbidden else ''}."
        )
    return value


def objective_to_dict(objective: Objective) -> dict[str, Any]:
    return {"name": type(objective).__name__.lower(), "epsilon": objective.epsilon}


def objective_from_dict(stored: dict[str, Any]) -> Objective:
    kinds = {"additive": Additive, "multiplicative": Multiplicative}
    return kinds[stored["name"]](stored["epsilon"])
