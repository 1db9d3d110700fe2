"""A study's state: a function of its events, and of nothing else.

``Ledger.add`` is the only writer.  Whoever wants to change a study makes an event, has it stored, and adds it.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .._check import LARGEST
from ..models import Model
from .engine import Engine
from .events import Event, Question
from .plates import Plate, place

Outcome = Literal["running", "certified", "budget exhausted", "abandoned"]


def is_reward(model: Model, value: float) -> bool:
    """Whether a number may be a reward at all."""
    return abs(value) <= LARGEST and bool(model.possible(np.array([value]))[0])


def _on(layout: dict[str, Any], well: str) -> bool:
    """Whether a plate has this well."""
    row, column = place(well)
    return row < int(layout["rows"]) and column < int(layout["columns"])


@dataclass(slots=True)
class Slip:
    """What is known of a ticket."""

    number: int
    arm: int
    joins: bool
    batch: int
    asked: bool = True
    client: str | None = None
    well: str | None = None
    deadline: float | None = None
    state: Literal["open", "told", "failed"] = "open"
    value: float | None = None
    first: float | None = None  # value, before corrections
    note: str | None = None  # source, or why it failed


@dataclass
class Ledger:
    """Everything that is known, after the events so far.

    Attributes:
        question: what is asked.
        seq: the number of the last event.
        slips: all tickets; ``open`` those without a value, by number.
        told: tickets in the order of their values.
        abandoned: arms not to be measured again, and why; ``withdrawn`` those that had no value then.
        sources: tickets of unasked values, by arm and source.
        plates: layouts by batch.
    """

    question: Question
    seq: int = 1
    slips: dict[int, Slip] = field(default_factory=dict)
    open: dict[int, Slip] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)
    failed: int = 0
    corrections: int = 0
    batches: int = 0
    abandoned: dict[int, str] = field(default_factory=dict)
    withdrawn: set[int] = field(default_factory=set)
    sources: dict[tuple[int, str], int] = field(default_factory=dict)
    plates: dict[int, dict[str, Any]] = field(default_factory=dict)
    times: tuple[float, float] = (0.0, 0.0)
    _measured: dict[int, int] = field(default_factory=dict)
    _engine: Engine | None = None
    _heard: int = 0  # of ``told``, by the engine
    _closed: int = 0  # of ``abandoned``, by the engine

    @staticmethod
    def begun(event: Event) -> "Ledger":
        """From the first event."""
        if event.kind != "created" or event.seq != 1 or event.data is None:
            raise ValueError(f"the first event must be numbered 1 and create the study: got {event.kind} {event.seq}.")
        return Ledger(Question.of(event.data), times=(event.time, event.time))

    @staticmethod
    def of(events: list[Event]) -> "Ledger":
        """From all events so far."""
        ledger = Ledger.begun(events[0])
        for event in events[1:]:
            ledger.add(event)
        return ledger

    @property
    def engine(self) -> Engine:
        """What the strategy makes of it; up to date."""
        if self._engine is None:
            question = self.question
            self._engine = Engine(question.strategy, question.model, len(question.arms))
            self._heard = self._closed = 0
        for arm in list(self.abandoned)[self._closed :]:
            self._engine.close(arm, arm in self.withdrawn)
        self._closed = len(self.abandoned)
        for number in self.told[self._heard :]:
            slip = self.slips[number]
            assert slip.value is not None
            self._engine.hear(slip.arm, slip.value, slip.joins)
        self._heard = len(self.told)
        return self._engine

    def pulls(self, arm: int) -> int:
        return self._measured.get(arm, 0)

    def pending(self) -> list[tuple[int, bool]]:
        """Arms asked for and not heard of, that may still be measured, with whether they join the pool."""
        return [(slip.arm, slip.joins) for slip in self.open.values() if slip.arm not in self.abandoned]

    def room(self) -> int | None:
        """How many more tickets the budget allows; None where there is none."""
        if self.question.budget is None:
            return None
        return max(self.question.budget - len(self.told) - len(self.pending()), 0)

    @property
    def outcome(self) -> Outcome:
        if self.engine.done:
            return "certified"
        if self.question.budget is not None and len(self.told) >= self.question.budget:
            return "budget exhausted"
        return "abandoned" if self.abandoned and self.engine.stuck else "running"

    def add(self, event: Event) -> None:
        """Take in the next event; ValueError if it cannot follow those before."""
        if event.seq != self.seq + 1:
            raise ValueError(f"event {self.seq} must be followed by {self.seq + 1}: got {event.seq}.")
        getattr(self, f"_{event.kind}", self._refuse)(event)
        self.seq = event.seq
        self.times = (self.times[0], event.time)

    def _refuse(self, event: Event) -> None:
        raise ValueError(f"event {event.seq} must not be of kind {event.kind!r}.")

    _created = _refuse

    def _plate(self, event: Event) -> None:
        if event.batch is None or event.data is None or event.batch != self.batches + 1:
            raise ValueError(f"event {event.seq} must lay out batch {self.batches + 1}: got {event.batch}.")
        try:
            held = event.data
            Plate(held["rows"], held["columns"], held["controls"], held["edge"])
            if not all(isinstance(name, str) and _on(held, well) for well, name in held["placed"].items()):
                raise ValueError("controls must be placed by name, on the plate")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"event {event.seq} must lay out a plate: {type(error).__name__} {error}.") from None
        self.plates[event.batch] = held

    def _ticket(self, event: Event) -> None:
        number, arm, batch = self._new_number(event), self._known_arm(event), event.batch
        if event.joins is None or batch not in (self.batches, self.batches + 1) or not batch:
            raise ValueError(f"event {event.seq} must belong to batch {self.batches} or the next: got {batch}.")
        if arm in self.abandoned:
            raise ValueError(f"event {event.seq} must not ask for arm {arm}, which was abandoned.")
        if event.well is not None and not (batch in self.plates and _on(self.plates[batch], event.well)):
            raise ValueError(f"event {event.seq} must name a well of the plate of batch {batch}: got {event.well!r}.")
        self.batches = batch
        slip = Slip(number, arm, event.joins, batch, True, event.client, event.well, event.deadline)
        self.slips[number] = self.open[number] = slip

    def _lease(self, event: Event) -> None:
        slip = self._slip(event)
        if slip.state != "open" or slip.deadline is None or slip.deadline > event.time:
            raise ValueError(f"event {event.seq} must lease a ticket whose deadline has passed: got {event.ticket}.")
        slip.client, slip.deadline = event.client, event.deadline

    def _observation(self, event: Event) -> None:
        slip = self._slip(event)
        if slip.state != "open" or slip.arm in self.withdrawn:
            raise ValueError(f"event {event.seq} must give the value of an open ticket: got {event.ticket}.")
        slip.value = slip.first = self._value(event)
        self._tell(slip)

    def _unasked(self, event: Event) -> None:
        number, arm = self._new_number(event), self._known_arm(event)
        if not event.note or arm in self.withdrawn or (arm, event.note) in self.sources:
            raise ValueError(f"event {event.seq} must name a source that is new for an arm of the question.")
        value = self._value(event)
        slip = Slip(number, arm, False, 0, False, event.client, value=value, first=value, note=event.note)
        self.slips[number] = slip
        self.sources[arm, event.note] = number
        self._tell(slip)

    def _tell(self, slip: Slip) -> None:
        slip.state = "told"
        self.open.pop(slip.number, None)
        self.told.append(slip.number)
        self._measured[slip.arm] = self.pulls(slip.arm) + 1

    def _failure(self, event: Event) -> None:
        slip = self._slip(event)
        if slip.state != "open":
            raise ValueError(f"event {event.seq} must be about an open ticket: got {event.ticket}.")
        slip.state, slip.note = "failed", event.note
        del self.open[slip.number]
        self.failed += 1

    def _abandonment(self, event: Event) -> None:
        arm = self._known_arm(event)
        if arm in self.abandoned:
            raise ValueError(f"event {event.seq} must abandon an arm that was not: got {arm}.")
        self.abandoned[arm] = event.note or ""
        if self.pulls(arm) == 0:
            self.withdrawn.add(arm)

    def _correction(self, event: Event) -> None:
        slip = self._slip(event)
        if slip.state != "told":
            raise ValueError(f"event {event.seq} must correct a ticket that has a value: got {event.ticket}.")
        slip.value = self._value(event)
        self.corrections += 1
        self._engine = None  # it has to hear everything again

    def _new_number(self, event: Event) -> int:
        if event.ticket != len(self.slips) + 1:
            raise ValueError(f"event {event.seq} must be about ticket {len(self.slips) + 1}: got {event.ticket}.")
        return event.ticket

    def _known_arm(self, event: Event) -> int:
        if event.arm is None or not 0 <= event.arm < len(self.question.arms):
            raise ValueError(f"event {event.seq} must be about one of {len(self.question.arms)} arms: got {event.arm}.")
        return event.arm

    def _slip(self, event: Event) -> Slip:
        if event.ticket not in self.slips:
            raise ValueError(f"event {event.seq} must be about a ticket of the study: got {event.ticket}.")
        return self.slips[event.ticket]

    def _value(self, event: Event) -> float:
        value = event.value
        if value is None or not is_reward(self.question.model, value):
            wanted = self.question.model.wording_of_rewards
            raise ValueError(f"event {event.seq} must hold a value, {wanted} for {self.question.model}: got {value}.")
        return value
