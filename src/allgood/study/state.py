"""The state of a study, folded from its events: open this to see what an event does.

The state is a function of the events and of nothing else.  ``StudyState.apply`` is the only writer.
Commands call the rules (``why_not_told`` and the like) before they record an event, and ``apply``
calls them for every event.
"""

import gc
import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .._internal.arguments import LARGEST, forbidden_character
from .._internal.results import ResultData
from ..models.base import Model
from .design import StudyDesign
from .engine import Engine
from .events import FIELDS, Event, fits
from .plates import Plate, z_prime_of
from .quality import QualityControl, Suspect, chance_in_words
from .wells import well_position

LARGEST_COUNT = 10**15
NO_PLATE = "the study normalises values by controls of their plate, and this value is on no plate"
Outcome = Literal["running", "certified", "budget exhausted", "dropped"]
Basis = Literal["cause", "values"]  # of a withdrawal: noticed without regard to the values, or not


def is_reward(model: Model, value: float) -> bool:
    """Return whether the model allows this number as a reward."""
    return abs(value) <= LARGEST and bool(model.possible(np.float64(value)))


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the collection of cyclic garbage while many objects are made that will stay.

    Each collection goes through all of them, which takes a third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def is_binary(model: Model) -> bool:
    """Return whether rewards are 0 or 1."""
    return model.whole and model.range == (0.0, 1.0)


def source_key(source: str, period: str | None) -> str:
    """Return the name of an unrequested measurement, or of the counts of one period."""
    return source if period is None else f"{source}\n{period}"


def why_no_counts(model: Model, n: int, total: float) -> str:
    """Return why n rewards cannot have this sum; empty if they can."""
    if model.takes_time:
        return (
            f"{model} has no counts: the waits that have ended by a given day are the short ones, "
            "so their sum depends on when it was taken"
        )
    low, high = model.range
    if not (abs(total) <= LARGEST and n * low <= total <= n * high):
        return f"the sum of {n} rewards of {model} cannot be {total:g}"
    if model.whole and total != math.floor(total):
        return f"the sum of rewards of {model} must be a whole number: got {total:g}"
    return ""


def _is_text(value: object) -> bool:
    """Return whether a value is text without NUL and without halves of characters."""
    return isinstance(value, str) and not any(c == "\0" or 0xD800 <= ord(c) < 0xE000 for c in value)


def _is_headed(texts: object) -> bool:
    """Return whether a value holds texts by their headings."""
    if not isinstance(texts, dict) or not all(map(_is_text, (*texts, *texts.values()))):
        return False
    return not any(map(forbidden_character, texts))


def _are(kind: type, values: object) -> bool:
    """Return whether a value is a list of values of this type."""
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _is_on_plate(layout: dict[str, Any], well: str) -> bool:
    row, column = well_position(well)
    return row < int(layout["rows"]) and column < int(layout["columns"])


@dataclass(frozen=True)
class Ticket(ResultData):
    """A request for one measurement of one arm.

    Attributes:
        id: the text by which its value is told.  It begins with letters of the study's own, so
            that the tickets of two studies cannot be mixed up.
        arm: the arm's name.
        batch: the number of the call of ``ask`` that made it.
        well: its well on the plate, if there is a plate.
        client, lease_until: the client that has it, and until when (seconds since 1970), if known.
        time: when it was issued.
    """

    id: str
    arm: str
    batch: int
    well: str | None = None
    client: str | None = None
    lease_until: float | None = None
    time: float = 0.0

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Ticket":
        """Return the ticket from its JSON data."""
        return cls(**data)


@dataclass(slots=True)
class TicketRecord:
    """A ticket in the state: its arm, its client, its value and what became of it."""

    number: int
    arm: int
    pooled: bool
    batch: int
    time: float  # of the event that made it
    asked: bool = True
    client: str | None = None
    well: str | None = None
    lease_until: float | None = None
    state: Literal["open", "told", "failed", "withdrawn"] = "open"
    value: float | None = None
    told_at: float = 0.0  # when the value came
    first: float | None = None  # the value before any correction
    note: str | None = None  # the source of an unrequested value, or why the ticket failed
    n: int = 1  # how many rewards; the value is their sum
    scatter: float = 0.0  # of these rewards about their mean
    period: str | None = None  # of counts
    censored: bool = False  # whether the value is a censored time
    first_censored: bool = False  # whether the first value was
    raw: float | None = None  # the value before it was normalised, if it was
    withdrawal: "Withdrawal | None" = None  # of the value, which does not count then

    @property
    def counts(self) -> bool:
        """True if the value is a sum of rewards that were told together."""
        return self.period is not None


class Withdrawal(NamedTuple):
    """Why a value that was told does not count, and on what basis somebody chose it."""

    basis: Basis
    reason: str


@dataclass(slots=True)
class ControlRecord:
    """The value of a control: of this name, on this plate, in this well."""

    name: str
    batch: int
    well: str
    value: float
    first: float  # the value before any correction
    time: float


@dataclass(frozen=True)
class Note:
    """A remark.  It changes nothing.

    Attributes:
        text, time, client: the remark, when it was written (seconds since 1970), and by whom, if
            that is known.
        arm, ticket: the subject; both None if it is about the whole study.
    """

    text: str
    time: float
    client: str | None = None
    arm: str | None = None
    ticket: str | None = None


@dataclass(frozen=True)
class Origin:
    """The study from which the events so far were copied.

    Attributes:
        name, uid: those of that study.
        events, sha256: how many events it had, and the digest of them.
    """

    name: str
    uid: str
    events: int
    sha256: str


class Arrival(NamedTuple):
    """A cause for values to count: a value, a failure, a confirmation, or a plate's controls."""

    kind: Literal["told", "failed", "confirmed", "controls"]
    number: int  # of the ticket; or of the plate whose controls are complete
    time: float
    value: float | None = None  # the confirmed value


@dataclass
class StudyState:
    """Everything that is known after the events so far.

    Attributes:
        design: the question and the options, with the arms and the budget as they are now.
        created: the same, as it was at first.
        seq: the number of the last event.
        tickets: the record of every ticket, by number; ``open`` holds those without a value.
        told: numbers of tickets in the order in which their values came.
        measured: how many measurements that is.
        quality: decides which of these values count, and in which order.
        controls: the values of controls, by batch and well.
        withdrawn_controls: those whose value was withdrawn, or will not come.
        dropped: arms not to be measured again, each with the reason.
        withdrawn: those of them that had no value when they were dropped, or only censored times.
        sources: tickets of unrequested values, by arm and source.
        plates: layouts by batch.
        arm_notes: facts about arms that were known beforehand: for each arm's name, texts by their
            headings.
        notes: remarks, from the first.
        origin: the study from which this one was copied, if it was.
        times: of the first and of the last event.
    """

    design: StudyDesign
    seq: int = 1
    tickets: dict[int, TicketRecord] = field(default_factory=dict)
    open: dict[int, TicketRecord] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)
    measured: int = 0
    controls: dict[tuple[int, str], ControlRecord] = field(default_factory=dict)
    withdrawn_controls: set[tuple[int, str]] = field(default_factory=set)
    failed: int = 0
    corrections: int = 0
    batches: int = 0
    dropped: dict[int, str] = field(default_factory=dict)
    withdrawn: set[int] = field(default_factory=set)
    sources: dict[tuple[int, str], int] = field(default_factory=dict)
    plates: dict[int, dict[str, Any]] = field(default_factory=dict)
    arm_notes: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    origin: Origin | None = None
    times: tuple[float, float] = (0.0, 0.0)
    created: StudyDesign = field(init=False)
    _measured: dict[int, int] = field(default_factory=dict)
    _engine: Engine | None = None
    _arrivals: list[Arrival] = field(default_factory=list)
    _quality: QualityControl | None = None
    _processed: int = 0  # how many values the engine has processed
    _settled: set[int] = field(default_factory=set)  # plates whose controls are complete
    _passed: dict[int, bool] = field(default_factory=dict)  # of these: whether their values count
    _held: dict[int, list[int]] = field(default_factory=dict)  # tickets that wait for controls
    _replaced: int = 0  # how often a value had replaced another by then
    _closed: int = 0  # how many of ``dropped`` the engine has closed

    def __post_init__(self) -> None:
        self.created = self.design

    @staticmethod
    def from_first(event: Event) -> "StudyState":
        """Return the state of a study that has only its first event."""
        if event.kind != "created" or event.seq != 1 or event.data is None:
            raise ValueError(
                f"the first event is number {event.seq}, of kind {event.kind!r}: a study begins "
                "with number 1, of kind 'created', which holds its design."
            )
        return StudyState(StudyDesign.from_dict(event.data), times=(event.time, event.time))

    @staticmethod
    def from_events(events: Iterable[Event]) -> "StudyState":
        """Return the state after these events, which begin with the first."""
        following = iter(events)
        state = StudyState.from_first(next(following))
        with no_garbage_collection():
            for event in following:
                state.apply(event)
        return state

    def fork(self) -> "StudyState":
        """Return a copy to which events may be applied; this state does not notice.

        Containers are copied, and so are the records of open tickets.  The others are shared,
        because events replace them and never change them.
        """
        fork = copy(self)
        for name in FORKED:
            setattr(fork, name, copy(getattr(self, name)))
        for number, ticket in self.open.items():
            fork.tickets[number] = fork.open[number] = replace(ticket)
        fork._quality, fork._engine = self.quality.fork(), None
        fork._held = {batch: list(numbers) for batch, numbers in self._held.items()}
        return fork

    def current_engine(self) -> Engine:
        """Return the engine, after it has processed everything that counts."""
        quality = self.quality
        if self._engine is None or self._replaced != quality.replaced:
            self._engine = self._new_engine()
            self._processed = self._closed = 0
            self._replaced = quality.replaced
        for arm in list(self.dropped)[self._closed :]:
            self._engine.close(arm, arm in self.withdrawn)
        with no_garbage_collection():
            self._tell(self._engine, self._processed)
            self._engine.has_started()  # takes in new rewards
        self._closed = len(self.dropped)
        self._processed = len(quality.processed)
        return self._engine

    @property
    def quality(self) -> QualityControl:
        """The control that decides which values count, and in which order."""
        if self._quality is None:
            design = self.design
            self._quality = QualityControl(
                design.model,
                design.places,
                design.delta,
                design.in_order,
                design.check_values,
            )
            self._passed, self._held = {}, {}
            with no_garbage_collection():
                for arrival in self._arrivals:
                    self._process_arrivals(arrival)
        return self._quality

    def _process_arrivals(self, arrival: Arrival) -> None:
        assert self._quality is not None
        if arrival.kind == "controls":
            self._passed[arrival.number] = self.why_rejected(arrival.number) == ""
            for number in self._held.pop(arrival.number, ()):
                self._process_value(self.tickets[number], arrival.time)
            return
        ticket = self.tickets[arrival.number]
        if arrival.kind == "told":
            self._process_value(ticket, arrival.time)
        elif ticket.state == "withdrawn":
            pass  # its confirmation says nothing any more
        elif arrival.kind == "failed":
            self._quality.fail(ticket.number, arrival.time)
        elif arrival.value == ticket.value:  # else it was corrected, and must be confirmed again
            self._quality.confirm(ticket, arrival.time)

    def _process_value(self, ticket: TicketRecord, time: float) -> None:
        """Let a value count, or wait for the controls of its plate; or treat it as failed."""
        assert self._quality is not None
        left = ticket.arm in self.withdrawn and not ticket.censored
        if ticket.state == "withdrawn" or left:
            self._quality.fail(ticket.number, time)
        elif not self._needs_controls(ticket) or self._passed.get(ticket.batch, False):
            self._quality.tell(ticket, time)
        elif ticket.batch in self._passed:
            self._quality.fail(ticket.number, time)
        else:
            self._held.setdefault(ticket.batch, []).append(ticket.number)

    def _needs_controls(self, ticket: TicketRecord) -> bool:
        return self.design.min_z_prime is not None and ticket.well is not None

    def is_rejected(self, ticket: TicketRecord) -> bool:
        """Return whether a value does not count because of its plate's controls."""
        on_plate = self._needs_controls(ticket) and ticket.state == "told"
        return on_plate and ticket.batch in self.rejected_plates()

    def rejected_plates(self) -> set[int]:
        """Return the plates whose values do not count because of their controls."""
        _ = self.quality  # it looks at the controls
        return {batch for batch, passed in self._passed.items() if not passed}

    def waiting_for_controls(self) -> list[int]:
        """Return the tickets whose values wait for controls of their plates."""
        _ = self.quality
        held = (number for numbers in self._held.values() for number in numbers)
        return sorted(number for number in held if self.tickets[number].state == "told")

    def why_rejected(self, batch: int) -> str:
        """Return why the values of a plate with complete controls do not count; empty if they do.

        The end of a sentence.
        """
        limit = self.design.min_z_prime
        if limit is None:
            return ""
        z_prime = z_prime_of(list(self.control_values(batch).values()))
        if z_prime is None:
            return "its two controls do not have two different means and two values each"
        return "" if z_prime >= limit else f"its Z' is {z_prime:.3g}, below {limit:g}"

    def _note_controls(self, batch: int, time: float) -> None:
        """Note once when all controls of a plate have a value, or had one that was withdrawn."""
        wells = self.plates[batch]["placed"]
        if self.design.min_z_prime is None or batch in self._settled:
            return
        known = self.controls.keys() | self.withdrawn_controls
        if all((batch, well) in known for well in wells):
            self._settled.add(batch)
            self._arrive("controls", batch, time)
            self._leave_if_rejected(batch, time)

    def _leave_if_rejected(self, batch: int, time: float) -> None:
        """Let dropped arms leave the question if all their values are on rejected plates."""
        if self.design.min_z_prime is not None and batch in self.rejected_plates():
            told = (self.tickets[number] for number in self.told)
            self._leave_without_reward({t.arm for t in told if t.batch == batch}, time)

    def _arrive(
        self,
        kind: Literal["told", "failed", "confirmed", "controls"],
        number: int,
        time: float,
        value: float | None = None,
    ) -> None:
        arrival = Arrival(kind, number, time, value)
        self._arrivals.append(arrival)
        if self._quality is not None:
            self._process_arrivals(arrival)

    def engine_with(self, change: Callable[[int, float], float]) -> Engine:
        """Return a new engine that processes ``change(arm, reward)`` in place of every reward."""
        engine = self._new_engine()
        for arm in self.dropped:
            engine.close(arm, arm in self.withdrawn)
        self._tell(engine, 0, change)
        return engine

    def _tell(
        self, engine: Engine, first: int, change: Callable[[int, float], float] | None = None
    ) -> None:
        """Tell the engine the values from number ``first`` on, and where each tell ends."""
        processed = self.quality.processed[first:]
        if not processed:
            return
        if change is None and self.design.censor_at is None:
            _, arms, values, joining, odds, times, numbers, scatters = zip(*processed, strict=True)
            ends = [*(np.flatnonzero(np.diff(times)) + 1).tolist(), len(processed)]
            engine.process_all(arms, values, joining, numbers, scatters, odds, ends)
            return
        for i, entry in enumerate(processed):
            x, influential = entry.value, entry.influential
            if change is not None:
                many = max(entry.n, 1)
                x, influential = many * change(entry.arm, x / many), change(entry.arm, influential)
            engine.process(entry.arm, x, entry.pooled, entry.n, entry.scatter, influential)
            if i + 1 == len(processed) or processed[i + 1].time != entry.time:
                engine.end_tell()

    def _new_engine(self) -> Engine:
        design = self.design
        return Engine(
            design.strategy, design.model, len(design.arms), design.places, design.check_values
        )

    def withdrawn_values(self, basis: Basis) -> int:
        """Return how many measurements were withdrawn on this basis."""
        told = (self.tickets[number] for number in self.told)
        withdrawn = (t for t in told if t.withdrawal is not None and t.withdrawal.basis == basis)
        return sum(ticket.n for ticket in withdrawn)

    def measurements(self, arm: int) -> int:
        """Return the number of measurements of an arm that were told, censored ones included."""
        return self._measured.get(arm, 0)

    def pending(self) -> list[tuple[int, bool]]:
        """Return arm, and whether its reward is pooled, of every ticket that may still be told."""
        return [(ticket.arm, ticket.pooled) for ticket in self._open()]

    def unprocessed(self) -> list[tuple[int, bool]]:
        """Return the same with values that wait for earlier tickets, in the order of tickets."""
        numbers = {*self.quality.told_and_waiting(), *self.waiting_for_controls()}
        waiting = [self.tickets[number] for number in numbers]
        tickets = sorted(self._open() + waiting, key=lambda ticket: ticket.number)
        return [(ticket.arm, ticket.pooled) for ticket in tickets]

    def _open(self) -> list[TicketRecord]:
        return [ticket for ticket in self.open.values() if ticket.arm not in self.dropped]

    def room(self) -> int | None:
        """Return how many more tickets the budget allows; None if there is no budget."""
        if self.design.budget is None:
            return None
        return max(self.design.budget - self.measured - len(self.pending()), 0)

    def outcome(self) -> Outcome:
        engine = self.current_engine()
        if engine.is_done():
            return "certified"
        if self.design.budget is not None and self.measured >= self.design.budget:
            return "budget exhausted"
        return "dropped" if self.dropped and engine.is_stuck() else "running"

    def public_ticket(self, record: TicketRecord) -> Ticket:
        """Return the ticket as users see it."""
        return Ticket(
            id=self.design.ticket_id(record.number),
            arm=self.design.arms[record.arm],
            batch=record.batch,
            well=record.well,
            client=record.client,
            lease_until=record.lease_until,
            time=record.time,
        )

    # ---- rules: commands and events ask these; each returns a sentence without its end, or ""

    def why_not_told(self, ticket: TicketRecord) -> str:
        """Return why a ticket takes no value; empty if it takes one."""
        if ticket.state == "told":
            return f"{self._named(ticket)} was told as {shown_value(ticket)}"
        if ticket.state == "failed":
            return f"{self._named(ticket)} was reported as failed ({ticket.note})"
        if ticket.withdrawal is not None:
            return f"the value of {self._named(ticket)} was withdrawn ({ticket.withdrawal.reason})"
        if self.design.normalise is not None and ticket.well is None:
            return NO_PLATE
        return self._why_not_in_question(ticket.arm)

    def why_not_failed(self, ticket: TicketRecord) -> str:
        """Return why a ticket cannot fail; empty if it can."""
        if ticket.state == "told":
            told = shown_value(ticket)
            return f"{self._named(ticket)} was told as {told} and cannot have failed"
        if ticket.state == "failed":
            return f"{self._named(ticket)} was reported as failed ({ticket.note})"
        if ticket.withdrawal is not None:
            return f"the value of {self._named(ticket)} was withdrawn ({ticket.withdrawal.reason})"
        return ""

    def why_not_corrected(self, ticket: TicketRecord) -> str:
        """Return why the value of a ticket cannot be corrected; empty if it can."""
        if ticket.state not in ("told", "withdrawn"):
            return f"{self._named(ticket)} is {ticket.state}"
        return self._why_not_in_question(ticket.arm)

    def why_not_withdrawn(self, ticket: TicketRecord) -> str:
        """Return why the value of a ticket cannot be withdrawn; empty if it can."""
        return "" if ticket.state == "told" else f"{self._named(ticket)} is {ticket.state}"

    def why_not_confirmed(self, ticket: TicketRecord, value: float | None = None) -> str:
        """Return why a value, by default the ticket's, cannot be confirmed; empty if it can."""
        if ticket.number not in self.quality.suspects:
            return f"{self._named(ticket)} has none"
        if value not in (None, ticket.value):
            return f"the suspect value of {self._named(ticket)} is {ticket.value!r}, not {value!r}"
        return ""

    def why_not_new(self, arm: int, key: str) -> str:
        """Return why an arm takes no unrequested value or counts of this key; empty if it does.

        ``key`` is that of :func:`source_key`.
        """
        if self.design.normalise is not None:
            return NO_PLATE
        if arm in self.withdrawn:
            return self._why_not_in_question(arm)
        if (arm, key) in self.sources:
            ticket = self.tickets[self.sources[arm, key]]
            source, _, period = key.partition("\n")
            if ticket.counts:
                name = f"{source!r}, {period!r} of {self.design.arms[arm]!r}"
            else:
                name = f"source {source!r}"
            told = f"{name} was told as {shown_value(ticket)}"
            if ticket.withdrawal is not None:
                return f"{told} and withdrawn ({ticket.withdrawal.reason})"
            return told
        return ""

    def why_not_dropped(self, arm: int) -> str:
        """Return a sentence if an arm was dropped before; empty if not."""
        if arm not in self.dropped:
            return ""
        return f"arm {self.design.arms[arm]!r} was dropped before ({self.dropped[arm]})"

    def why_not_restored(self, arm: int) -> str:
        """Return why an arm cannot be restored; empty if it can."""
        name = self.design.arms[arm]
        if arm not in self.dropped:
            return f"arm {name!r} is not dropped"
        labels = self.current_engine().label_names()
        if self.design.max_new_arms and arm in self.withdrawn and set(labels) != {"open"}:
            return (
                f"arm {name!r} has left the question, labels were certified without it, and this "
                "study may add arms only before the first label"
            )
        return ""

    def _why_not_in_question(self, arm: int) -> str:
        if arm not in self.withdrawn:
            return ""
        name = self.design.arms[arm]
        return f"arm {name!r} was dropped before its first value, and has left the question"

    def _named(self, ticket: TicketRecord) -> str:
        return f"ticket {self.design.ticket_id(ticket.number)}"

    def apply(self, event: Event) -> None:
        """Apply the next event; raise ValueError if it cannot follow those before."""
        if event.seq != self.seq + 1:
            raise ValueError(
                f"event {event.seq} is out of order: event {self.seq + 1} should come here."
            )
        if event.kind not in HANDLERS:
            raise _impossible(event, "this kind is unknown, or only the first event has it")
        HANDLERS[event.kind](self, event)
        self.seq = event.seq
        self.times = (self.times[0], event.time)

    def _add_arm_notes(self, event: Event) -> None:
        notes = event.data or {}
        if self.arm_notes or self.tickets or not notes:
            raise _impossible(
                event, "notes on arms come once, before any ticket, and are not empty"
            )
        for arm, texts in notes.items():
            if arm not in self.design.arms:
                raise _impossible(event, f"it has notes on {arm!r}, which is not an arm")
            if not _is_headed(texts):
                problem = f"the notes on {arm!r} are not texts by their headings: {texts!r}"
                raise _impossible(event, problem)
        self.arm_notes = notes

    def _add_plate(self, event: Event) -> None:
        if event.batch is None or event.data is None or event.batch != self.batches + 1:
            raise _impossible(event, f"the next batch is {self.batches + 1}, not {event.batch}")
        layout = event.data
        try:
            Plate.from_layout(layout)
            for well, name in layout["placed"].items():
                if not isinstance(name, str) or not _is_on_plate(layout, well):
                    raise ValueError("a control has no name, or lies outside the plate")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            problem = f"its data are not the layout of a plate ({type(error).__name__}: {error})"
            raise _impossible(event, problem) from None
        self.plates[event.batch] = layout

    def _add_ticket(self, event: Event) -> None:
        number = self._new_number(event)
        arm = self._known_arm(event)
        batch = event.batch
        if event.pooled is None or batch not in (self.batches, self.batches + 1) or not batch:
            problem = f"its batch is {batch}, and not {self.batches} or the next"
            raise _impossible(event, problem)
        if problem := self.why_not_dropped(arm):
            raise _impossible(event, problem)
        layout = self.plates.get(batch)
        if event.well is not None and (layout is None or not _is_on_plate(layout, event.well)):
            raise _impossible(event, f"batch {batch} has no plate with a well {event.well!r}")
        self.batches = batch
        ticket = TicketRecord(
            number=number,
            arm=arm,
            pooled=event.pooled,
            batch=batch,
            time=event.time,
            client=event.client,
            well=event.well,
            lease_until=event.lease_until,
        )
        self.tickets[number] = self.open[number] = ticket

    def _add_lease(self, event: Event) -> None:
        ticket = self._known_ticket(event)
        late = ticket.lease_until is not None and ticket.lease_until <= event.time
        if ticket.state != "open" or not late:
            raise _impossible(event, f"{self._named(ticket)} has no lease that has ended")
        ticket.client = event.client
        ticket.lease_until = event.lease_until

    def _add_measurement(self, event: Event) -> None:
        ticket = self._known_ticket(event)
        if problem := self.why_not_told(ticket):
            raise _impossible(event, problem)
        self._set_value(ticket, event)
        ticket.first, ticket.first_censored = ticket.value, ticket.censored
        self._count(ticket, event.time)

    def _add_unrequested(self, event: Event) -> None:
        ticket = self._new_unrequested(event, event.note or "")
        self._set_value(ticket, event)
        ticket.first_censored = ticket.censored
        self._take_unrequested(ticket, event)

    def _add_counts(self, event: Event) -> None:
        key = source_key(event.note or "", (event.data or {}).get("period"))
        ticket = self._new_unrequested(event, key)
        self._set_counts(ticket, event)
        self._take_unrequested(ticket, event)

    def _new_unrequested(self, event: Event, key: str) -> TicketRecord:
        """Return a ticket for an unrequested value.  ``key`` names it among those of its arm."""
        number = self._new_number(event)
        arm = self._known_arm(event)
        if problem := self.why_not_new(arm, key) if event.note else "it names no source":
            raise _impossible(event, problem)
        return TicketRecord(
            number=number,
            arm=arm,
            pooled=False,
            batch=0,
            time=event.time,
            asked=False,
            client=event.client,
            note=event.note,
        )

    def _take_unrequested(self, ticket: TicketRecord, event: Event) -> None:
        ticket.first = ticket.value
        self.tickets[ticket.number] = ticket
        self.sources[ticket.arm, source_key(event.note or "", ticket.period)] = ticket.number
        self._count(ticket, event.time)

    def _set_counts(self, ticket: TicketRecord, event: Event) -> None:
        """Give a ticket the number, sum and scatter of an event."""
        data = event.data or {}
        n: Any = data.get("n")
        scatter, period = data.get("scatter", 0.0), data.get("period")
        whole = isinstance(n, int) and not isinstance(n, bool) and 0 < n <= LARGEST_COUNT
        right = whole and isinstance(scatter, float) and 0.0 <= scatter <= LARGEST
        if not right or event.value is None or not isinstance(period, str | None):
            raise _impossible(event, f"its data are not counts: {data!r}")
        problem = why_no_counts(self.design.model, n, event.value)
        if problem:
            raise _impossible(event, problem)
        ticket.value, ticket.n, ticket.scatter, ticket.period = event.value, n, scatter, period

    def _count(self, ticket: TicketRecord, time: float) -> None:
        """Count the ticket's value as a measurement."""
        ticket.state = "told"
        self.open.pop(ticket.number, None)
        self.told.append(ticket.number)
        self._measure(ticket.arm, ticket.n)
        ticket.told_at = time
        self._arrive("told", ticket.number, time)

    def _add_failed(self, event: Event) -> None:
        ticket = self._known_ticket(event)
        if problem := self.why_not_failed(ticket):
            raise _impossible(event, problem)
        self._close_failed(ticket, event.note)
        self._arrive("failed", ticket.number, event.time)

    def _close_failed(self, ticket: TicketRecord, note: str | None) -> None:
        ticket.state, ticket.note = "failed", note
        del self.open[ticket.number]
        self.failed += 1

    def _add_arm_dropped(self, event: Event) -> None:
        arm = self._known_arm(event)
        if problem := self.why_not_dropped(arm):
            raise _impossible(event, problem)
        self.dropped[arm] = event.note or ""
        self._leave_without_reward({arm}, event.time)

    def _leave_without_reward(self, arms: set[int], time: float) -> None:
        """Let those of these arms leave the question that are dropped and have no reward."""
        dropped = arms & self.dropped.keys() - self.withdrawn
        left = dropped - self._with_reward(dropped)
        self.withdrawn |= left
        for ticket in self.open.values():
            if ticket.arm in left:  # no value of it will count, so none has to be waited for
                self._arrive("failed", ticket.number, time)

    def _with_reward(self, arms: set[int]) -> set[int]:
        """Return those of these arms with a value that is not withdrawn and not censored."""
        told = (self.tickets[number] for number in self.told) if arms else ()
        rewards = (t for t in told if t.arm in arms and t.state == "told" and not t.censored)
        return {ticket.arm for ticket in rewards if not self.is_rejected(ticket)}

    def _add_arm_restored(self, event: Event) -> None:
        arm = self._known_arm(event)
        if problem := self.why_not_restored(arm):
            raise _impossible(event, problem)
        del self.dropped[arm]
        if arm in self.withdrawn:
            self.withdrawn.discard(arm)
            note = "its arm had been dropped"
            for ticket in [ticket for ticket in self.open.values() if ticket.arm == arm]:
                self._close_failed(ticket, note)  # others have not waited for it
        self._process_again()  # with this arm

    def _add_arms_added(self, event: Event) -> None:
        data = event.data or {}
        if set(data) != {"arms"} or not isinstance(data["arms"], list):
            raise _impossible(event, "its data are not names of arms and nothing else")
        self.design = self.with_arms(data["arms"])
        self._engine = None  # the next engine processes everything again, with the new arms

    def with_arms(self, names: Sequence[str]) -> StudyDesign:
        """Return the design with more arms; raise ValueError if there is no place for them."""
        design = self.design
        if not design.max_new_arms:
            raise ValueError(
                "the study has no places for new arms, because it was created with max_new_arms=0: "
                "create a study with max_new_arms=2 to add up to two arms later."
            )
        if design.added:
            raise ValueError(
                "arms were already added to this study, which is possible once: add all new arms "
                "in one call."
            )
        if not 0 < len(names) <= design.max_new_arms:
            raise ValueError(
                f"arms must be 1 to {design.max_new_arms} more, the places that the study has in "
                f"max_new_arms: got {len(names)}."
            )
        design = replace(design, arms=(*design.arms, *names), added=len(names))
        design.check_arms()
        design.check_budget()
        controls = {name for layout in self.plates.values() for name in layout["placed"].values()}
        for name in names:
            if name in controls:
                raise ValueError(f"arms must not have the name of a control: got {name!r}.")
        return design

    def _add_budget_set(self, event: Event) -> None:
        data = event.data or {}
        if set(data) != {"budget"}:
            raise _impossible(event, "its data are not a budget and nothing else")
        self.design = self.with_budget(data["budget"])

    def with_budget(self, budget: int | None) -> StudyDesign:
        """Return the design with another budget; raise ValueError if more is told and pending."""
        design = replace(self.design, budget=budget)
        design.check_budget()
        used = self.measured + len(self.pending())
        if budget is not None and budget < used:
            raise ValueError(
                f"budget must not be below the {used} measurements that were told or are pending: "
                f"got {budget}."
            )
        return design

    def _add_corrected(self, event: Event) -> None:
        self._correct_value(event)
        self._process_again()

    def _correct_value(self, event: Event) -> None:
        ticket = self._known_ticket(event)
        if problem := self.why_not_corrected(ticket):
            raise _impossible(event, problem)
        before = ticket.n if ticket.state == "told" else 0
        # a fork may share the old record
        ticket = self.tickets[ticket.number] = replace(ticket, state="told", withdrawal=None)
        if ticket.counts:
            self._set_counts(ticket, event)
        else:
            self._set_value(ticket, event)
        self._measure(ticket.arm, ticket.n - before)
        self.corrections += 1

    def _measure(self, arm: int, n: int) -> None:
        """Note that n more measurements of an arm have a value."""
        self.measured += n
        self._measured[arm] = self.measurements(arm) + n

    def _process_again(self) -> None:
        """Forget what was computed: the next quality control and engine process everything."""
        self._engine = self._quality = None

    def _add_replaced(self, event: Event) -> None:
        data = event.data or {}
        values, controls = data.get("values", []), data.get("controls", [])
        known = data.keys() <= {"values", "controls"} and bool(values or controls)
        if not known or not (_are(dict, values) and _are(dict, controls)):
            raise _impossible(event, "its data are not values and controls")
        for part in controls:
            self._correct_control(_part(event, part, {"batch", "well", "value"}))
        for part in values:
            self._correct_value(_part(event, part, {"ticket", "value"}, {"data"}))
        self._process_again()
        for batch in sorted({part["batch"] for part in controls}):
            self._leave_if_rejected(batch, event.time)

    def _add_withdrawn(self, event: Event) -> None:
        data = event.data or {}
        numbers, wells = data.get("tickets"), data.get("controls")
        basis: Any = data.get("basis")
        whole = set(data) == {"basis", "tickets", "controls"} and bool(numbers or wells)
        if not whole or not (_are(int, numbers) and _are(str, wells)) or not event.note:
            raise _impossible(event, "its data are not tickets, controls and a basis")
        assert numbers is not None and wells is not None  # noqa: PT018 - for the type checker
        if basis not in get_args(Basis):
            raise _impossible(event, f"its basis is {basis!r}")
        arms = set()
        for number in numbers:
            ticket = self._known_ticket(event._replace(ticket=number))
            if problem := self.why_not_withdrawn(ticket):
                raise _impossible(event, problem)
            self.tickets[ticket.number] = replace(
                ticket, state="withdrawn", withdrawal=Withdrawal(basis, event.note)
            )
            self._measure(ticket.arm, -ticket.n)
            arms.add(ticket.arm)
        for well in wells:
            key = self._control_key(event._replace(well=well))
            if key in self.withdrawn_controls:
                raise _impossible(event, f"control {key[0]}:{key[1]} was withdrawn before")
            self.controls.pop(key, None)  # it may have none, and will have none
            self.withdrawn_controls.add(key)
        self._process_again()
        if wells:
            self._note_controls(event.batch or 0, event.time)
        self._leave_without_reward(arms, event.time)

    def _add_confirmed(self, event: Event) -> None:
        ticket = self._known_ticket(event)
        if problem := self.why_not_confirmed(ticket, event.value):
            raise _impossible(event, problem)
        self._arrive("confirmed", ticket.number, event.time, event.value)

    def _add_control(self, event: Event) -> None:
        key, value = self._control_key(event), self._any_number(event)
        if key in self.controls or key in self.withdrawn_controls:
            raise _impossible(event, "the control already has a value, or it was withdrawn")
        name = self.plates[key[0]]["placed"][key[1]]
        self.controls[key] = ControlRecord(name, *key, value, value, event.time)
        self._note_controls(key[0], event.time)

    def _add_control_corrected(self, event: Event) -> None:
        self._correct_control(event)
        if self.design.min_z_prime is not None:
            self._process_again()
            self._leave_if_rejected(event.batch or 0, event.time)

    def _correct_control(self, event: Event) -> None:
        key, value = self._control_key(event), self._any_number(event)
        if key in self.withdrawn_controls:
            self.withdrawn_controls.discard(key)
            name = self.plates[key[0]]["placed"][key[1]]
            self.controls[key] = ControlRecord(name, *key, value, value, event.time)
        elif key not in self.controls:
            raise _impossible(event, "the control has no value to correct")
        else:
            self.controls[key] = replace(self.controls[key], value=value)

    def _add_copy(self, event: Event) -> None:
        data, kinds = event.data or {}, Origin.__annotations__
        right = data.keys() == kinds.keys()
        if not right or not all(type(data[key]) is kind for key, kind in kinds.items()):
            raise _impossible(event, "its data do not name the study that was copied")
        self.origin = Origin(**data)

    def _add_note(self, event: Event) -> None:
        if event.arm is not None and event.ticket is not None:
            raise _impossible(event, "it names both an arm and a ticket")
        arm, ticket = event.arm, None
        if event.ticket is not None:
            arm, ticket = self._known_ticket(event).arm, self.design.ticket_id(event.ticket)
        elif arm is not None:
            arm = self._known_arm(event)
        name = None if arm is None else self.design.arms[arm]
        self.notes.append(Note(event.note or "", event.time, event.client, name, ticket))

    def control_values(self, plate: int) -> dict[str, list[float]]:
        """Return the values of each control of a plate, well by well."""
        wells = sorted((well for batch, well in self.controls if batch == plate), key=well_position)
        values: dict[str, list[float]] = {}
        for well in wells:
            control = self.controls[plate, well]
            values.setdefault(control.name, []).append(control.value)
        return values

    def _control_key(self, event: Event) -> tuple[int, str]:
        """Return batch and well of an event about a control."""
        layout = self.plates.get(event.batch or 0)
        if not event.batch or not event.well or not layout or event.well not in layout["placed"]:
            problem = f"plate {event.batch} has no control in well {event.well!r}"
            raise _impossible(event, problem)
        return event.batch, event.well

    def _any_number(self, event: Event) -> float:
        if event.value is None or not abs(event.value) <= LARGEST:
            raise _impossible(event, f"its value is {event.value}")
        return event.value

    def _new_number(self, event: Event) -> int:
        expected = len(self.tickets) + 1
        if event.ticket != expected:
            raise _impossible(event, f"the next ticket is {expected}, not {event.ticket}")
        return expected

    def _known_arm(self, event: Event) -> int:
        K = len(self.design.arms)
        if event.arm is None or not 0 <= event.arm < K:
            raise _impossible(event, f"the study has {K} arms, and none of number {event.arm}")
        return event.arm

    def _known_ticket(self, event: Event) -> TicketRecord:
        if event.ticket not in self.tickets:
            raise _impossible(event, f"the study has no ticket {event.ticket}")
        return self.tickets[event.ticket]

    def _known_value(self, event: Event) -> float:
        model = self.design.model
        if event.value is None or not is_reward(model, event.value):
            problem = f"its value is {event.value}, not {model.wording_of_rewards} for {model}"
            raise _impossible(event, problem)
        return event.value

    def _set_value(self, ticket: TicketRecord, event: Event) -> None:
        """Give a ticket the value of an event, and what the event says about it."""
        data, censor_at = event.data or {}, self.design.censor_at
        censored = data.get("censored", False)
        value = self._known_value(event)
        late = censor_at is not None and value > censor_at
        if late or (censored and value != censor_at) or not isinstance(censored, bool):
            raise _impossible(event, f"its value {value} does not agree with censor_at={censor_at}")
        normaliser, how = self.design.normaliser, data.get("normalised")
        if (normaliser is None) != (how is None) or (
            normaliser is not None and not normaliser.is_way(how)
        ):
            raise _impossible(event, f"it was not normalised as the study is: {how!r}")
        ticket.value, ticket.censored, ticket.raw = value, censored, data.get("raw")


def _impossible(event: Event, problem: str) -> ValueError:
    """Return the error of an event that cannot come after those before it."""
    return ValueError(f"event {event.seq}, of kind {event.kind!r}, is not possible: {problem}.")


def _part(event: Event, part: dict[str, Any], must: Set[str], may: Set[str] = frozenset()) -> Event:
    """Return one of the many values that an event has as an event of its own."""
    named = must <= part.keys() <= must | may
    if not named or not all(fits(FIELDS[name], value) for name, value in part.items()):
        raise _impossible(event, f"one of its values has the wrong fields: {part!r}")
    return Event(event.seq, event.kind, event.time, note=event.note, **part)


class Fold:
    """Builds a state from events, the first of which creates it."""

    state: StudyState

    def apply(self, event: Event) -> None:
        if event.seq == 1:
            self.state = StudyState.from_first(event)
        else:
            self.state.apply(event)


# The containers of a state that its fork must not share.
FORKED = [
    "tickets",
    "open",
    "told",
    "controls",
    "withdrawn_controls",
    "dropped",
    "withdrawn",
    "sources",
    "plates",
    "notes",
    "_measured",
    "_arrivals",
    "_settled",
    "_passed",
]


def shown_value(ticket: TicketRecord) -> str:
    """Return the value of a ticket, for messages."""
    if ticket.counts:
        return f"{ticket.value!r} in {ticket.n:,}"
    return f">{ticket.value!r}" if ticket.censored else repr(ticket.value)


def suspect_message(suspect: Suspect, state: StudyState, where: str = "") -> str:
    """Return why a value does not count, and what to do."""
    arm, name = state.design.arms[suspect.arm], state.design.ticket_id(suspect.number)
    n, mean = suspect.others
    others = f"its other value is {mean:g}" if n == 1 else f"its other {n} values average {mean:g}"
    return (
        f"{where}{suspect.value:g} of {arm!r} ({name}) is suspect and does not count: {others}, "
        f"and a value so far off has a chance of {chance_in_words(suspect.log_chance)}; confirm it "
        "or correct it"
    )


# The method for each kind of event.  The first event, "created", makes the state.
HANDLERS: dict[str, Callable[[StudyState, Event], None]] = {
    "arm_notes": StudyState._add_arm_notes,
    "plate": StudyState._add_plate,
    "ticket": StudyState._add_ticket,
    "lease": StudyState._add_lease,
    "measurement": StudyState._add_measurement,
    "unrequested": StudyState._add_unrequested,
    "counts": StudyState._add_counts,
    "failed": StudyState._add_failed,
    "arm_dropped": StudyState._add_arm_dropped,
    "arm_restored": StudyState._add_arm_restored,
    "arms_added": StudyState._add_arms_added,
    "budget_set": StudyState._add_budget_set,
    "corrected": StudyState._add_corrected,
    "replaced": StudyState._add_replaced,
    "withdrawn": StudyState._add_withdrawn,
    "confirmed": StudyState._add_confirmed,
    "control": StudyState._add_control,
    "control_corrected": StudyState._add_control_corrected,
    "copy": StudyState._add_copy,
    "note": StudyState._add_note,
}
