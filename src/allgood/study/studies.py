"""A real campaign: ask which arms to measure, tell what came out, and read off what is certain.

    study = create_study("screen.db", "screen", arms=["A", "B", "C"], objective=Additive(0.5), delta=0.05)
    for ticket in study.ask(8, client="robot"):
        study.tell([(ticket.id, measure(ticket.arm))])
    study.status().outcome

Any number of programs may do so at once.  Each change is one transaction: it is there, whole, when the call returns,
and not at all if it did not return.  What a study is, is a function of its events (``ledger.py``); what it asks for
next, of its seed and its events.
"""

import difflib
import math
import os
import threading
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, get_args

import numpy as np

from .._check import count, probability
from ..models import Gaussian, Model
from ..objectives import Objective
from ..strategies.weakest_claim import WeakestClaim
from .events import Event, Question, canonical, parsed, text
from .ledger import Ledger, Slip, is_reward
from .plates import Plate
from .sheets import Asked, number, read_sheet
from .status import StudyStatus, status_of
from .store import Store, StudyError, append, read

Remedy = Literal["", "correct", "tell_unasked", "tell_failed"]
RowStatus = Literal["accepted", "duplicate", "conflict", "unknown", "invalid", "missing", "control", "withheld"]


@dataclass(frozen=True)
class Ticket:
    """One measurement of one arm that was asked for.

    Attributes:
        id: by which its value is told; it begins with the study's own mark, so that studies are not mixed up.
        arm: the arm's name.
        batch: tickets of one ask have the same.
        well: its place on the plate, if there is one.
        client, deadline: who has it, and until when (seconds since 1970), if it was asked so.
    """

    id: str
    arm: str
    batch: int
    well: str | None = None
    client: str | None = None
    deadline: float | None = None


@dataclass(frozen=True)
class Row:
    """What became of one value that was told.

    Attributes:
        status: accepted; duplicate (told before, counted once); conflict (told before with another value, or reported
            as failed, or for another arm: refused); unknown (no such ticket); invalid (no value that the model knows);
            missing (no value at all: the ticket stays open); control (a well that holds no arm); withheld (another row
            was refused, and all_or_nothing asked for).
        message: what is wrong, and what would mend it; empty if nothing is.
        line: in the file, or the place in the list, from 1 on.
        remedy: the method that would mend it, if there is one.
    """

    status: RowStatus
    ticket: str
    value: float | str | None
    message: str = ""
    line: int = 0
    arm: str | None = None
    remedy: Remedy = ""

    @property
    def refused(self) -> bool:
        return self.status in ("conflict", "unknown", "invalid")


@dataclass(frozen=True)
class Receipt:
    """What became of what was told, row by row."""

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each status."""
        found = Counter(row.status for row in self.rows)
        return {status: found[status] for status in get_args(RowStatus) if status in found}

    @property
    def ok(self) -> bool:
        """Whether no row was refused."""
        return not any(row.refused for row in self.rows)

    def check(self) -> "Receipt":
        """Itself, or ValueError with the rows that were refused."""
        if not self.ok:
            raise ValueError("; ".join(row.message for row in self.rows if row.refused))
        return self


@dataclass(frozen=True)
class Change:
    """What a correction or an abandonment did.

    Attributes:
        labels: arms whose label is another now, with the labels before and after.
        consequence: in words.
    """

    labels: dict[str, tuple[str, str]]
    consequence: str


def create_study(
    url: "str | os.PathLike[str]",
    name: str,
    *,
    arms: Sequence[str],
    objective: Objective,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    strategy: Callable[[Objective, float], WeakestClaim] = WeakestClaim,
    seed: int = 0,
    budget: int | None = None,
    load_if_exists: bool = False,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """A new study.

    Args:
        url: a path or ``sqlite:///FILE``, made if absent; or ``postgresql+psycopg://...``.
        name: of the study in that database.
        arms: a name for each arm.
        objective: the question.
        delta: the risk that any label, at any time, is certified wrongly.
        model: the noise.  **The guarantee is for rewards of this model.**
        strategy: WeakestClaim, or ``functools.partial(WeakestClaim, pool=False)``.  A study shows a label as certified
            as soon as it is, which other strategies cannot.
        seed: of the places of arms on plates.
        budget: measurements after which nothing more is asked for; none by default.
        load_if_exists: load the study of this name, if it has the same question, instead of refusing.
        clock: gives the time, in seconds since 1970.
    """
    if not callable(strategy):
        raise TypeError(f"strategy must be WeakestClaim, which certifies each label by itself: got {strategy!r}.")
    chosen = strategy(Objective.check(objective), probability("delta", delta))
    if not isinstance(chosen, WeakestClaim):
        raise TypeError(f"strategy must be WeakestClaim, which certifies each label by itself: got {chosen!r}.")
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise TypeError(f"arms must be a list of names: got {arms!r}.")
    question = Question(
        name=name,
        uid=uuid.uuid4().hex,
        arms=tuple(arms),
        objective=objective,
        delta=float(delta),
        model=Model.check(model),
        pool=chosen.pool,
        seed=int(seed) if isinstance(seed, np.integer) else seed,
        budget=int(budget) if isinstance(budget, np.integer) else budget,
    )
    question.check()
    store = Store(url, create=True)
    first = Event(1, "created", clock(), data=question.words())
    number_ = store.add_study(name, [first])
    if number_ is not None:
        return Study(store, number_, name, Ledger.begun(first), clock)
    if not load_if_exists:
        raise StudyError(
            f"name must be new in {store.shown}: got {name!r}, which exists. load_study opens it, and so does "
            "load_if_exists=True."
        )
    study = _load(store, name, clock)
    there = study.question
    differing = [
        f"{key} is {canonical(there.words()[key])}, not {canonical(value)}"
        for key, value in question.words().items()
        if key not in ("uid", "name") and there.words()[key] != value
    ]
    if differing:
        raise StudyError(f"study {name!r} must have the same question to be loaded: {'; '.join(differing)}.")
    return study


def load_study(
    url: "str | os.PathLike[str]", name: str | None = None, *, clock: Callable[[], float] = time.time
) -> "Study":
    """The study of this name; the only one if none is given."""
    return _load(Store(url), name, clock)


def list_studies(url: "str | os.PathLike[str]") -> list[str]:
    """The names of the studies in a database."""
    return [name for _, name in Store(url).names()]


def delete_study(url: "str | os.PathLike[str]", name: str) -> None:
    """Delete a study and all its events.  There is no way back, but for an export."""
    store = Store(url)
    store.delete_study(_number(store, name)[0])


def import_study(
    url: "str | os.PathLike[str]",
    lines: Iterable[str],
    name: str | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """A study from its exported events, under its own name or another."""
    events = [parsed(line.rstrip("\r\n"), i) for i, line in enumerate(lines, start=1)]
    if not events:
        raise ValueError("lines must hold the events of a study: got none.")
    ledger = Ledger.of(events)
    store = Store(url, create=True)
    name = ledger.question.name if name is None else text("name", name)
    number_ = store.add_study(name, events)
    if number_ is None:
        raise StudyError(f"name must be new in {store.shown}: got {name!r}, which exists. --name gives it another.")
    return Study(store, number_, name, ledger, clock)


def _number(store: Store, name: str | None) -> tuple[int, str]:
    known = store.names()
    if name is None:
        if len(known) == 1:
            return known[0]
        names = ", ".join(repr(other) for _, other in known) or "none"
        raise StudyError(f"name must be given unless there is exactly one study in {store.shown}: it has {names}.")
    for number_, other in known:
        if other == name:
            return number_, other
    near = nearest(name, [other for _, other in known])
    raise StudyError(f"name must be of a study in {store.shown}: got {name!r}{near or ', and there is none like it'}.")


def _load(store: Store, name: str | None, clock: Callable[[], float]) -> "Study":
    number_, found = _number(store, name)
    return Study(store, number_, found, Ledger.of(store.read(number_, 0)), clock)


def _reopened(url: str, name: str, clock: Callable[[], float]) -> "Study":
    return _load(Store(url), name, clock)


class Study:
    """A campaign.  Made by :func:`create_study` and :func:`load_study`; may be used from several threads."""

    def __init__(self, store: Store, number_: int, name: str, ledger: Ledger, clock: Callable[[], float]) -> None:
        self._store, self._number, self._ledger, self._clock = store, number_, ledger, clock
        self.name = name
        self._lock, self._stale = threading.RLock(), False
        _opened.add(self)

    def __repr__(self) -> str:
        return f"<Study {self.name!r} in {self._store.shown}: {len(self._ledger.told)} measurements>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._store.url.render_as_string(hide_password=False), self.name, self._clock)

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        with self._lock:
            self._store.close()

    @property
    def question(self) -> Question:
        """What is asked."""
        return self._ledger.question

    @property
    def arms(self) -> tuple[str, ...]:
        return self.question.arms

    def ask(
        self,
        n: int | None = None,
        client: str | None = None,
        lease: float | timedelta | None = None,
        plate: Plate | None = None,
    ) -> list[Ticket]:
        """Up to n measurements to make now; fewer where the budget ends, none where the study has ended.

        A client that asks again gets the tickets back that it has not told of yet; then come tickets whose deadline
        has passed, whoever had them; then new ones, chosen as if everything pending gave the current mean of its arm.

        Args:
            n: how many; 1 by default, or as many as the plate holds.
            client: a name for who asks.  Without one, nobody's tickets come back.
            lease: seconds, or a timedelta, after which a ticket that was not told is offered to whoever asks next.
                What is told later counts all the same, once.  Asking again does not prolong it.  By default there is
                no deadline.
            plate: lay the new tickets out on a plate.  A client with open tickets of a plate gets all of these, and no
                others; then a plate comes whose deadline has passed, as it was laid out; then a new one.
        """
        client = None if client is None else text("client", client)
        seconds = lease.total_seconds() if isinstance(lease, timedelta) else lease
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.0 < seconds < 1e10
        ):
            raise ValueError(f"lease must be a positive number of seconds, or None: got {lease!r}.")
        if plate is not None and not isinstance(plate, Plate):
            raise TypeError(f"plate must be a Plate, as Plate(8, 12), or None: got {plate!r}.")
        n = (1 if plate is None else plate.capacity) if n is None else count("n", n)
        if plate is not None and n > plate.capacity:
            raise ValueError(f"n must not exceed the {plate.capacity} wells that the plate has for arms: got {n}.")
        with self._changing() as pen:
            ledger, now = self._ledger, pen.now
            if ledger.outcome in ("certified", "budget exhausted"):
                return []
            deadline = None if seconds is None else now + seconds
            waiting = [slip for slip in ledger.open.values() if slip.arm not in ledger.abandoned]
            given = [slip for slip in waiting if client is not None and slip.client == client]
            late = [slip for slip in waiting if slip.deadline is not None and slip.deadline <= now]
            if plate is None:
                given = given[:n]
                mine = {slip.number for slip in given}
                given += [slip for slip in late if slip.number not in mine][: n - len(given)]
            else:  # one whole plate: the client's newest, or the oldest that was left, or a new one
                own = [slip for slip in given if slip.well]
                left = [slip for slip in late if slip.well]
                batch = own[-1].batch if own else left[0].batch if left else 0
                given = [slip for slip in own or left if slip.batch == batch]
                n = len(given) or n
            for slip in given:
                if slip.deadline is not None and slip.deadline <= now:
                    pen.write("lease", ticket=slip.number, client=client, deadline=deadline)
            room = ledger.room()
            new = n - len(given) if room is None else min(n - len(given), room)
            if new > 0 and ledger.outcome == "running":
                given += self._new(pen, ledger.engine.choose(new, ledger.pending()), client, deadline, plate)
            return [self._ticket(slip) for slip in given]

    def _new(
        self,
        pen: "_Pen",
        chosen: list[tuple[int, bool]],
        client: str | None,
        deadline: float | None,
        plate: Plate | None,
    ) -> list[Slip]:
        ledger = self._ledger
        batch, first = ledger.batches + 1, len(ledger.slips) + 1
        wells: Sequence[str | None] = [None] * len(chosen)
        if plate is not None and chosen:
            layout = plate.arrange([arm for arm, _ in chosen], self.question.seed, batch)
            wells = layout.wells
            controls = {name: n if isinstance(n, int) else list(n) for name, n in plate.controls.items()}
            size = {"rows": plate.rows, "columns": plate.columns, "edge": plate.edge}
            pen.write("plate", batch=batch, data=size | {"controls": controls, "placed": layout.controls})
        for i, ((arm, joins), well) in enumerate(zip(chosen, wells, strict=True)):
            pen.write(
                "ticket", client=client, ticket=first + i, arm=arm, joins=joins, batch=batch, well=well,
                deadline=deadline,
            )  # fmt: skip
        return [ledger.slips[first + i] for i in range(len(chosen))]

    def tell(
        self,
        rows: "Iterable[tuple[str | Ticket, Any]] | Mapping[str, Sequence[Any]] | str | os.PathLike[str] | Any",
        *,
        client: str | None = None,
        all_or_nothing: bool = False,
        ticket_column: str = "ticket",
        value_column: str = "value",
    ) -> Receipt:
        """Tell values: all that can be counted are, in one transaction, and every row is reported on.

        Told twice counts once, so that whoever is not sure tells again.  Rows count in the order of their tickets.
        **The guarantee needs values that are told whatever they are**, and not sooner or later for what they are.

        Args:
            rows: (ticket, value) pairs; or a table (a mapping of columns, a data frame) with columns ``ticket`` and
                ``value``; or the path of a CSV file with these, or a stream.
            client: who tells.
            all_or_nothing: count nothing if any row is refused.
            ticket_column, value_column: names of these columns.
        """
        given = [replace(one, value=self._value(one.value)) for one in _rows(rows, ticket_column, value_column)]
        client = None if client is None else text("client", client)
        with self._lock:
            self._renew()
            known = self._judged(given)
            if all(row.status == "duplicate" and row.value == self._known(row.ticket).first for row in known):
                return Receipt(tuple(known))  # what was told, not corrected, is told for ever: nothing to look up
            with self._changing() as pen:
                judged = self._judged(given)
                if all_or_nothing and any(row.refused for row in judged):
                    withheld = "not counted, because other rows were refused and all_or_nothing was asked for"
                    return Receipt(
                        tuple(
                            replace(row, status="withheld", message=withheld) if row.status == "accepted" else row
                            for row in judged
                        )
                    )
                counted = {self._found(row.ticket): row.value for row in judged if row.status == "accepted"}
                for ticket in sorted(counted):  # type: ignore[type-var]
                    # In the order of the tickets: rows sorted by value would let the future choose when to look.
                    pen.write("observation", ticket=ticket, value=counted[ticket], client=client)
                return Receipt(tuple(judged))

    def _judged(self, given: list["_Given"]) -> list[Row]:
        """What would become of these rows now."""
        wanted: dict[int, set[float]] = {}
        seen: set[int] = set()
        for one in given:
            ticket, value = self._found(one.ticket), one.value
            if ticket is not None and isinstance(value, float):
                wanted.setdefault(ticket, set()).add(value)
        found = []
        for one in given:
            status, message, remedy = self._verdict(one, wanted, seen)
            arm = self._arm_of(one.ticket) or one.arm
            found.append(Row(status, one.ticket, one.value, message, one.line, arm, remedy))
        return found

    def _verdict(self, one: "_Given", wanted: dict[int, set[float]], seen: set[int]) -> tuple[RowStatus, str, Remedy]:
        ledger, where = self._ledger, one.where
        if one.problem:
            return "invalid", f"{where}: {one.problem}", ""
        if not one.ticket and any(one.arm in plate["controls"] for plate in ledger.plates.values()):
            return "control", "", ""
        ticket = self._found(one.ticket)
        if ticket is None:
            return (
                "unknown",
                f"{where}, column ticket: {one.ticket!r} is no ticket of this study{self._near(one.ticket)}",
                "",
            )
        slip = ledger.slips[ticket]
        arm = self.arms[slip.arm]
        if one.arm is not None and one.arm != arm:
            return "conflict", f"{where}, column arm: ticket {one.ticket} is for arm {arm!r}, not {one.arm!r}", ""
        if one.value is None:
            if slip.state == "open":
                return "missing", f"{where}, column value: empty; the ticket stays open", "tell_failed"
            return "missing", f"{where}, column value: empty; the ticket was {slip.state} before", ""
        if not isinstance(one.value, float):
            return "invalid", f"{where}, column value: {self._wrong(one.value)}", ""
        if slip.state == "told":
            if one.value in (slip.value, slip.first):
                return "duplicate", "", ""
            why = f"was told as {slip.value!r} and cannot be {one.value!r} too"
            return "conflict", f"{where}: ticket {one.ticket} {why}", "correct"
        if slip.state == "failed":
            return "conflict", f"{where}: ticket {one.ticket} was reported as failed ({slip.note})", "tell_unasked"
        if slip.arm in ledger.withdrawn:
            return (
                "conflict",
                f"{where}: arm {arm!r} was abandoned before its first value, and has left the question",
                "",
            )
        if len(wanted[ticket]) > 1:
            both = " and ".join(repr(value) for value in sorted(wanted[ticket]))
            return "conflict", f"{where}: ticket {one.ticket} is told twice, as {both}", ""
        if ticket in seen:
            return "duplicate", "", ""
        seen.add(ticket)
        return "accepted", "", ""

    def tell_failed(self, ticket: "str | Ticket", reason: str) -> Row:
        """A ticket will have no value.  Its arm may be asked for again.

        **The guarantee needs failures that have nothing to do with the value**: a value that is bad is a value.
        """
        reason = text("reason", reason)
        with self._changing() as pen:
            name = _name(ticket)
            slip = self._known(name)
            arm = self.arms[slip.arm]
            if slip.state == "told":
                message = f"ticket {name} was told as {slip.value!r} and cannot have failed"
                return Row("conflict", name, slip.value, message, arm=arm)
            if slip.state == "failed":
                return Row("duplicate", name, None, arm=arm)
            pen.write("failure", ticket=slip.number, note=reason)
            return Row("accepted", name, None, arm=arm)

    def tell_unasked(self, arm: str, value: float | str, source: str, *, client: str | None = None) -> Row:
        """Count a value that nobody had asked for.

        ``source`` names this one measurement: told again with the same arm and source, it counts once.  **The guarantee
        needs values that were not chosen for what they are**: all of them, or none.
        """
        source = text("source", source)
        with self._changing() as pen:
            ledger, place = self._ledger, self._arm(arm)
            found = self._value(value)
            if not isinstance(found, float):
                return Row("invalid", "", found, f"value {self._wrong(value)}", arm=arm)
            if place in ledger.withdrawn:
                message = f"arm {arm!r} was abandoned before its first value, and has left the question"
                return Row("conflict", "", found, message, arm=arm)
            told = ledger.sources.get((place, source))
            if told is not None:
                slip = ledger.slips[told]
                if found in (slip.value, slip.first):
                    return Row("duplicate", self._id(slip), found, arm=arm)
                message = f"source {source!r} was told as {slip.value!r} and cannot be {found!r} too"
                return Row("conflict", self._id(slip), found, message, arm=arm)
            fresh = len(ledger.slips) + 1
            who = None if client is None else text("client", client)
            pen.write("unasked", ticket=fresh, arm=place, value=found, note=source, client=who)
            return Row("accepted", self._id(ledger.slips[fresh]), found, arm=arm)

    def correct(self, observation: "str | Ticket", value: float | str, reason: str) -> Change:
        """Replace a value that was told.  The old one stays in the history; labels are those of the new one.

        **The guarantee needs reasons that have nothing to do with the value**: a decimal point, a mixed-up well.
        """
        reason = text("reason", reason)
        with self._changing() as pen:
            name = _name(observation)
            slip = self._known(name)
            if slip.state != "told":
                raise ValueError(f"observation must have a value to be corrected: ticket {name} is {slip.state}.")
            new = self._value(value)
            if not isinstance(new, float):
                raise ValueError(f"value {self._wrong(value)}.")
            before, old = self._ledger.engine.labels_in_words(), slip.value
            pen.write("correction", ticket=slip.number, value=new, note=reason)
            differing = self._differing(before)
        what = f"The value of {name} is {new!r}, no longer {old!r}."
        return Change(differing, f"{what} {_sentence(differing)}")

    def abandon(self, arm: str, reason: str) -> Change:
        """Never ask for an arm again.

        An arm that has values stays in the question: they count, it keeps the label it has, and others are still
        compared with it.  As long as its label is open, the study as a whole cannot be certified.  An arm without any
        value leaves the question, which is then about the others.
        """
        reason = text("reason", reason)
        with self._changing() as pen:
            ledger, place = self._ledger, self._arm(arm)
            if place in ledger.abandoned:
                return Change({}, f"Arm {arm!r} was abandoned before ({ledger.abandoned[place]}).")
            pen.write("abandonment", arm=place, note=reason)
            if place in ledger.withdrawn:
                return Change(
                    {}, f"Arm {arm!r} had no value: it leaves the question, and the verdict will be about the others."
                )
            label = ledger.engine.labels_in_words()[place]
            if label != "open":
                return Change({}, f"Arm {arm!r} is certified {label} and stays so; it will not be measured again.")
            return Change(
                {},
                f"Arm {arm!r} keeps its {ledger.pulls(place)} values, and others are still compared with it.  Its "
                "label is open: unless what is measured of others decides it, the study will not be certified as a "
                "whole, and arms that can only be decided against this one will stay open, too.",
            )

    def status(self) -> StudyStatus:
        """What is certain now, and how far the rest is.  Looking changes nothing."""
        with self._looking():
            return status_of(self._ledger, self.name, self._clock())

    def sheet(self, tickets: Iterable[Ticket]) -> list[Asked]:
        """Tickets as the lines of a sheet to be filled in, with the controls of their plates."""
        given = list(tickets)
        rows = [Asked(t.id, t.arm, t.batch if t.well else "", t.well or "") for t in given]
        for batch in sorted({t.batch for t in given if t.well}):
            placed = self._ledger.plates[batch]["placed"]
            rows += [Asked("", control, batch, well) for well, control in placed.items()]
        return rows

    def events(self) -> list[Event]:
        """All events, from the first."""
        with self._lock:
            return self._store.read(self._number, 0)

    def export(self) -> Iterator[str]:
        """The events as lines of JSON, each with its end."""
        for event in self.events():
            yield event.line() + "\n"

    def certificate(self) -> dict[str, Any]:
        """The verdict so far, with every number that it rests on; see ``certificate.py``."""
        from .certificate import certificate_of

        with self._looking():
            return certificate_of(self._ledger, self._store.read(self._number, 0)[: self._ledger.seq])

    @property
    def open_tickets(self) -> list[Ticket]:
        """Tickets without a value."""
        with self._looking():
            return [self._ticket(slip) for slip in self._ledger.open.values()]

    def _renew(self) -> None:
        """After a change that was not stored, or was cut short: begin again from what is stored."""
        if self._stale:
            self._ledger, self._stale = Ledger.of(self._store.read(self._number, 0)), False

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Up to date."""
        with self._lock, self._kept([]):
            self._renew()
            for event in self._store.read(self._number, self._ledger.seq):
                self._ledger.add(event)
            yield

    @contextmanager
    def _changing(self) -> Iterator["_Pen"]:
        """Up to date, and alone; what is written is stored if the block ends well, and forgotten if it does not."""
        with self._lock:
            self._renew()
            pen = _Pen(self._ledger)
            with self._kept(pen.written), self._store.changing(self._number) as connection:
                pen.now = self._clock()
                for event in read(connection, self._number, self._ledger.seq):
                    self._ledger.add(event)
                yield pen
                append(connection, self._number, pen.written)

    @contextmanager
    def _kept(self, written: list[Event]) -> Iterator[None]:
        """A refusal leaves the ledger as it is; whatever else ends the block, an interruption say, may not."""
        try:
            yield
        except (ValueError, TypeError):
            self._stale |= bool(written)
            raise
        except BaseException:
            self._stale = True
            raise

    def _value(self, raw: object) -> float | str | None:
        """A number that the model knows; None if there is none; else what was given, as text."""
        if raw is None or (isinstance(raw, str) and not raw.strip()):
            return None
        try:
            value = number(raw) if isinstance(raw, str) else float(raw)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return str(raw)
        if math.isnan(value) and not isinstance(raw, str):
            return None  # as tables write what is missing
        return value + 0.0 if is_reward(self.question.model, value) else str(raw)  # SQLite does not keep -0.0

    def _wrong(self, raw: object) -> str:
        """Why it is no value."""
        model, why = self.question.model, ""
        if raw is None:
            return "must not be empty"
        if isinstance(raw, str):
            try:
                number(raw)
            except ValueError as error:
                why = f" ({error})"
        return f"must be {model.wording_of_rewards} for {model}: got {raw!r}{why}"

    def _id(self, slip: Slip) -> str:
        return self.question.ticket_id(slip.number)

    def _ticket(self, slip: Slip) -> Ticket:
        return Ticket(self._id(slip), self.arms[slip.arm], slip.batch, slip.well, slip.client, slip.deadline)

    def _found(self, name: str) -> int | None:
        """The number of a ticket of this study."""
        tag, _, digits = name.partition("-")
        if tag != self.question.tag or not (
            digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) < 16
        ):
            return None
        return int(digits) if int(digits) in self._ledger.slips else None

    def _known(self, name: str) -> Slip:
        found = self._found(name)
        if found is None:
            raise ValueError(f"ticket must be one of this study: got {name!r}{self._near(name)}.")
        return self._ledger.slips[found]

    def _near(self, name: str) -> str:
        """A hint for a mistyped ticket."""
        _, _, digits = name.rpartition("-")
        meant = f"{self.question.tag}-{digits.strip()}"
        if self._found(meant) is not None:
            return f"; nearest is {meant!r}"
        first, last = (self.question.ticket_id(n) for n in (1, len(self._ledger.slips)))
        return f"; they go from {first} to {last}" if self._ledger.slips else "; it has none yet"

    def _arm_of(self, name: str) -> str | None:
        found = self._found(name)
        return None if found is None else self.arms[self._ledger.slips[found].arm]

    def _arm(self, arm: str) -> int:
        if arm not in self.arms:
            raise ValueError(f"arm must be one of the study's: got {arm!r}{nearest(str(arm), self.arms)}.")
        return self.arms.index(arm)

    def _differing(self, before: Sequence[str]) -> dict[str, tuple[str, str]]:
        now = self._ledger.engine.labels_in_words()
        return {arm: (old, new) for arm, old, new in zip(self.arms, before, now, strict=True) if old != new}


_opened: "weakref.WeakSet[Study]" = weakref.WeakSet()
_held: list[Study] = []
_forking = threading.Lock()


def _before_fork() -> None:
    """No child inherits a connection: to SQLite its locks would seem to be the child's, which does not have them."""
    _forking.acquire()
    _held[:] = _opened
    for study in _held:
        study._lock.acquire()
    for study in _held:
        study._store.close()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@dataclass(frozen=True)
class _Given:
    """One value as it was told."""

    line: int
    where: str
    ticket: str
    value: Any
    arm: str | None = None
    problem: str | None = None


class _Pen:
    """Writes events into a ledger, and keeps them for the store."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.now = ledger, ledger.times[1]
        self.written: list[Event] = []

    def write(self, kind: str, **parts: Any) -> None:
        event = Event(self.ledger.seq + 1, kind, self.now, **parts)
        self.written.append(event)
        self.ledger.add(event)


def _rows(rows: Any, ticket_column: str, value_column: str) -> Iterator[_Given]:
    """Rows from pairs, a table or a file."""
    if isinstance(rows, str | os.PathLike) or hasattr(rows, "read"):
        for row in read_sheet(rows, ticket_column=ticket_column, value_column=value_column).rows:
            yield _Given(row.line, f"line {row.line}", row.ticket, row.value, row.arm, row.problem)
        return
    pairs: Iterable[Any] = rows
    arms: Sequence[Any] | None = None
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        names = [str(name) for name in (rows.keys() if isinstance(rows, Mapping) else rows.columns)]
        for wanted in (ticket_column, value_column):
            if wanted not in names:
                raise ValueError(f"rows must have a column {wanted!r}: got {names}{nearest(wanted, names)}.")
        columns = [list(rows[name]) for name in (ticket_column, value_column)]
        if len(columns[0]) != len(columns[1]):
            raise ValueError(f"rows must have columns of one length: got {len(columns[0])} and {len(columns[1])}.")
        arms = list(rows["arm"]) if "arm" in names else None
        if arms is not None and len(arms) != len(columns[0]):
            raise ValueError(f"rows must have columns of one length: got {len(columns[0])} and {len(arms)}.")
        pairs = zip(*columns, strict=True)
    if not isinstance(pairs, Iterable):
        raise TypeError(f"rows must be (ticket, value) pairs, a table or a CSV file: got {rows!r}.")
    for i, pair in enumerate(pairs):
        try:
            ticket, value = pair
        except (TypeError, ValueError):
            raise TypeError(f"rows must hold (ticket, value) pairs: got {pair!r} as number {i + 1}.") from None
        yield _Given(i + 1, f"row {i + 1}", _name(ticket), value, None if arms is None else str(arms[i]))


def _name(ticket: object) -> str:
    """The id; empty where a table has none."""
    if isinstance(ticket, Ticket):
        return ticket.id
    return "" if ticket is None or ticket != ticket else str(ticket)  # noqa: PLR0124 - nan


def _sentence(labels: dict[str, tuple[str, str]]) -> str:
    if not labels:
        return "No label changes."
    return "Labels that change: " + ", ".join(f"{arm} {old} -> {new}" for arm, (old, new) in labels.items()) + "."


def nearest(given: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name, or nothing."""
    close = difflib.get_close_matches(given, list(dict.fromkeys(known)), 1)
    return f"; nearest is {close[0]!r}" if close else ""
