"""A real campaign: ask which arms to measure, tell what came out, and read off what is certain.

    arms = ["A", "B", "C"]
    study = create_study("screen.db", "screen", arms=arms, objective=Additive(0.5), delta=0.05)
    for ticket in study.ask(8, client="robot"):
        study.tell([(ticket.id, measure(ticket.arm))])
    study.status().outcome

Any number of programs may do so at once.  Each change is one transaction.  When the call returns,
the whole change is stored; if the call fails, nothing of it is.  The state of a study is a function
of its events (``ledger.py``).  What it asks for next is a function of its seed and its events.
"""

import math
import os
import re
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._internal.arguments import count, positive, probability
from .._internal.tables import Table, counted
from ..models import ModelWarning
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Objective
from ..strategies.claim_by_claim import ClaimByClaim
from .backends.sql import (
    MEMORY,
    DatabaseUnavailable,
    HistoryChanged,
    Store,
    StudyError,
    StudyExists,
    StudyHead,
    StudyNotFound,
)
from .diagnostics import repeats
from .events import (
    FIELDS,
    Chain,
    Event,
    StudyDesign,
    canonical,
    check_text,
    digest,
    parse_line,
    stored_event,
)
from .normalise import Normaliser
from .plates import Plate, well_position
from .receipts import (
    Receipt,
    ReceiptRow,
    SuspectWarning,
    WhenRefused,
    check_refused,
    classify,
    classify_counts,
    classify_failure,
    classify_unrequested,
    has_left,
    known_arm,
    known_ticket,
    parse_rows,
    rows_on_plate,
    settled,
    stays_duplicate,
    told_by_others,
    withhold,
)
from .state import (
    Origin,
    StudyState,
    Ticket,
    TicketRecord,
    no_garbage_collection,
    shown_value,
    suspect_message,
)
from .status import StudyStatus, status_of
from .tables.counts import NAMES, Counts, counts_data, parse_counts, read_counts, swapped
from .tables.sheets import AskedRow, ToldRow, nearest, read_rows, ticket_name
from .tables.values import ANY_NUMBER, Censored, required_value

if TYPE_CHECKING:
    import pandas

    from .forecast import Forecast

PART = 10_000  # events that an export reads at a time


@dataclass(frozen=True)
class Change:
    """What a correction, an abandonment or another budget did.

    Attributes:
        labels: arms whose label has changed, with the labels before and after.
        consequence: what it means, in a sentence.
    """

    labels: dict[str, tuple[str, str]]
    consequence: str


def opened(url: "str | os.PathLike[str] | Store", create: bool = False) -> Store:
    """The database, or the server before it, that a caller names or has open."""
    if isinstance(url, Store):
        return url
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        from .backends.http import ServerStore  # it loads much that a database does not need

        return ServerStore(url)
    return Store(url, create=create)


def create_study(
    url: "str | os.PathLike[str] | Store",
    name: str,
    *,
    arms: Sequence[str],
    objective: Objective,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    strategy: Callable[[Objective, float], ClaimByClaim] = ClaimByClaim,
    seed: int = 0,
    budget: int | None = None,
    check_values: bool = True,
    in_order: bool | None = None,
    censor_at: float | None = None,
    max_new_arms: int = 0,
    arm_notes: Mapping[str, Mapping[str, str]] | None = None,
    load_if_exists: bool = False,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """Create a study.

    Args:
        url: a path or ``sqlite:///FILE``, made if absent; or ``postgresql+psycopg://...``; or
            ``":memory:"``, for a study that ends with this program or when it is closed; or
            ``http://HOST:8765``, where ``allgood serve`` runs (see ``allgood.connect``).
        name: the name of the study in that database.
        arms: a name for each arm.
        objective: which arms are good.
        delta: the risk that any label, at any time, is certified wrongly.
        model: the model of the measurements.  **The guarantee is for rewards of this model.**
        strategy: ClaimByClaim, or ``functools.partial(ClaimByClaim, pool=False)``.  A study shows
            each label as soon as it is certified, which other strategies cannot do.
        seed: decides the wells of arms on plates.
        budget: the number of measurements after which nothing more is asked for; no limit by
            default.
        check_values: hold back values that cannot be under the model, and let no label rest on a
            single value (``hearing.py``).  A thousandth of delta pays for it.
        in_order: hear values in the order of their tickets, so that it does not matter when they
            are told.  A value waits until all earlier tickets have theirs or have failed.  By
            default only for waiting times (Exponential), which need it.
        censor_at: for waiting times: every wait is given up at this time.  Then tell ``">30"``, for
            a censoring time of 30.
        max_new_arms: how many arms may be added later (``Study.add_arms``).  Labels need evidence
            as if they were there from the start, and as if delta were a quarter of what it is.
        arm_notes: what is known of arms beforehand, as supplier or batch: for each arm's name texts
            by their headings.  They are shown and decide nothing.
        load_if_exists: load the study of this name if it has the same question, instead of raising
            StudyError.
        clock: gives the time, in seconds since 1970.
    """
    wanted = "strategy must be ClaimByClaim, which certifies each label by itself"
    if not callable(strategy):
        raise TypeError(f"{wanted}: got {strategy!r}.")
    chosen = strategy(Objective.check(objective), probability("delta", delta))
    if not isinstance(chosen, ClaimByClaim):
        raise TypeError(f"{wanted}: got {chosen!r}.")
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise TypeError(f"arms must be a list of names: got {arms!r}.")
    design = StudyDesign(
        name=name,
        uid=uuid.uuid4().hex,
        arms=tuple(arms),
        objective=objective,
        delta=float(delta),
        model=Model.check(model),
        pool=chosen.pool,
        seed=int(seed) if isinstance(seed, np.integer) else seed,
        budget=int(budget) if isinstance(budget, np.integer) else budget,
        check_values=check_values,
        in_order=Model.check(model).takes_time if in_order is None else in_order,
        censor_at=None if censor_at is None else positive("censor_at", censor_at),
        max_new_arms=int(max_new_arms) if isinstance(max_new_arms, np.integer) else max_new_arms,
    )
    design.check()
    first = [Event(1, "created", clock(), data=design.to_dict())]
    if arm_notes:
        data = {arm: dict(texts) for arm, texts in arm_notes.items()}
        first.append(Event(2, "arm_notes", first[0].time, data=data))
    state, chain = StudyState.from_events(first), Chain()
    first = [chain.link(event) for event in first]
    store = opened(url, create=True)
    number = store.add_study(name, first)
    if number is not None:
        return _study(store, number, name, state, chain, clock)
    if not load_if_exists:
        raise StudyExists(
            f"name must be new in {store.shown}: got {name!r}, which exists. load_study opens it, "
            "and so does load_if_exists=True."
        )
    study = _load(store, name, clock)
    differing = _differences(study._ledger.created, design)
    if differing:
        raise StudyError(
            f"study {name!r} must have the same question to be loaded: {'; '.join(differing)}."
        )
    return study


def _differences(there: StudyDesign, wanted: StudyDesign) -> list[str]:
    """What a stored design has differently, in words."""
    stored, new = there.to_dict(), wanted.to_dict()
    return [
        f"{key} is {canonical(stored.get(key))}, not {canonical(new.get(key))}"
        for key in stored | new
        if key not in ("uid", "name") and stored.get(key) != new.get(key)
    ]


def load_study(
    url: "str | os.PathLike[str] | Store",
    name: str | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """The study of this name.  Without a name, the only study in the database.

    ``url`` is that of ``create_study``: a database, or the address of a server.
    """
    return _load(opened(url), name, clock)


def list_studies(url: "str | os.PathLike[str]") -> list[str]:
    """The names of the studies in a database."""
    return [name for _, name in opened(url).names()]


def overview(url: "str | os.PathLike[str]") -> list[StudyHead]:
    """Name and number of events of each study in a database; nothing is computed."""
    return list(opened(url).overview().values())


def delete_study(url: "str | os.PathLike[str] | Store", name: str) -> None:
    """Delete a study and all its events.  Only an export could bring it back."""
    store = opened(url)
    number, _ = number_and_name(store, name)
    store.delete_study(number)


@dataclass(frozen=True)
class ExportedStudy:
    """The events of an exported study, parsed and checked."""

    events: list[Event]
    state: StudyState
    chain: Chain


def parse_export(lines: Iterable[str]) -> ExportedStudy:
    """Parse the lines of an exported study; nothing is stored."""
    events, chain = [], Chain()
    for i, ended in enumerate(lines, start=1):
        line = ended.rstrip("\r\n")
        events.append(parse_line(line, i))
        chain.check(events[-1])
        chain.move(events[-1], line)
    if not events:
        raise ValueError("lines must hold the events of a study: got none.")
    return ExportedStudy(events, StudyState.from_events(events), chain)


def import_study(
    url: "str | os.PathLike[str] | Store",
    lines: Iterable[str] | ExportedStudy,
    name: str | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """A study from its exported events, under its own name or another."""
    study = lines if isinstance(lines, ExportedStudy) else parse_export(lines)
    name = study.state.design.name if name is None else check_text("name", name)
    return _stored(opened(url, create=True), name, study.events, study.state, study.chain, clock)


def _stored(
    store: Store,
    name: str,
    events: list[Event],
    state: StudyState,
    chain: Chain,
    clock: Callable[[], float],
) -> "Study":
    """A new study with these events."""
    number = store.add_study(name, events)
    if number is None:
        raise StudyExists(
            f"name must be new in {store.shown}: got {name!r}, which exists. Give it another name."
        )
    return _study(store, number, name, state, chain, clock)


def _study(
    store: Store,
    number: int,
    name: str,
    state: StudyState,
    chain: Chain,
    clock: Callable[[], float],
) -> "Study":
    """A study of the kind that its store has."""
    kind: type[Study] = store.kind or Study
    return kind(store, number, name, state, chain, clock)


def _read(store: Store, number: int) -> tuple[StudyState, Chain]:
    """Read a study from its first event on: its state, and where it ends."""
    fold, chain = Fold(), Chain()
    with no_garbage_collection(), store.reading(number) as log:
        log.catch_up(chain, fold.add)
    return fold.state, chain


def number_and_name(store: Store, name: str | None) -> tuple[int, str]:
    """The study's number in the database, and its name."""
    known = store.names()
    if name is None:
        if len(known) == 1:
            return known[0]
        names = ", ".join(repr(other) for _, other in known) or "none"
        raise StudyError(
            f"name must be given unless there is exactly one study in {store.shown}: it has "
            f"{names}."
        )
    for number, other in known:
        if other == name:
            return number, other
    near = nearest(name, [other for _, other in known]) or ", and there is none like it"
    raise StudyNotFound(f"name must be of a study in {store.shown}: got {name!r}{near}.")


def numbered(store: Store, number: int, clock: Callable[[], float] = time.time) -> "Study":
    """The study of this number."""
    for known, name in store.names():
        if known == number:
            return _study(store, number, name, *_read(store, number), clock)
    raise StudyNotFound(f"there is no study {number} in {store.shown}, or it was deleted.")


def _load(store: Store, name: str | None, clock: Callable[[], float]) -> "Study":
    number, known_name = number_and_name(store, name)
    return _study(store, number, known_name, *_read(store, number), clock)


def _reopened(url: str, name: str, clock: Callable[[], float]) -> "Study":
    return _load(opened(url), name, clock)


class Study:
    """A campaign.  :func:`create_study` and :func:`load_study` make it.

    It may be used from several threads.

    Attributes:
        name: its name in its database.
        quiet: whether ``tell`` says nothing by warnings, because somebody reads every receipt.
    """

    quiet = False

    def __init__(
        self,
        store: Store,
        number: int,
        name: str,
        state: StudyState,
        chain: Chain,
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self._store = store
        self._number = number
        self._ledger = state
        self._chain = chain  # the end of the events that the ledger holds
        self._clock = clock
        self._lock = threading.RLock()
        self._stale = False  # whether ledger and chain must be read again
        self._lost: HistoryChanged | None = None  # for the next change to say
        _opened.add(self)

    def __repr__(self) -> str:
        pulls = self._ledger.measured
        where = "memory" if self._store.shown == MEMORY else self._store.shown
        return f"<Study {self.name!r} in {where}: {counted(pulls, 'measurement')}>"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._store.in_memory:
            raise TypeError(
                "a study in memory cannot be pickled, because no other program can open it: use a "
                "file."
            )
        url = self._store.url.render_as_string(hide_password=False)
        return _reopened, (url, self.name, self._clock)

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection.  The next call opens another; a study in memory ends here."""
        with self._lock:
            self._store.close()

    @property
    def design(self) -> StudyDesign:
        """What the study is to find out, and how, with arms and budget as they are now."""
        if self._stale:  # a change that could not be stored must not be seen
            with self._lock:
                self._renew()
        return self._ledger.design

    @property
    def question(self) -> StudyDesign:
        """Another name for ``design``."""
        return self.design

    @property
    def arms(self) -> tuple[str, ...]:
        return self.design.arms

    @property
    def number(self) -> int:
        """Its number in its database."""
        return self._number

    @property
    def digest(self) -> str:
        """SHA-256 of the last event that is known here."""
        return self._chain.digest

    @contextmanager
    def reading(self) -> Iterator[StudyState]:
        """All that is known, up to date, while nobody changes it here."""
        with self._looking():
            yield self._ledger

    def ask(
        self,
        n: int | None = None,
        client: str | None = None,
        lease: float | timedelta | None = None,
        plate: Plate | None = None,
    ) -> list[Ticket]:
        """Up to n measurements to make now.

        There are fewer where the budget ends, and none where the study has ended.

        A client that asks again first gets back its own tickets that have no value yet.  Then come
        tickets whose lease has ended, whoever had them.  Then come new ones.  New tickets are
        chosen as if everything pending gave the current mean of its arm.

        Args:
            n: how many; 1 by default, or as many as the plate holds.
            client: a name for who asks.  Without a name no tickets are given back.
            lease: seconds, or a timedelta.  A ticket without a value is then offered to the next
                client that asks.  A value that comes later still counts, once.  Asking again does
                not prolong the lease.  By default there is no deadline.
            plate: lay the new tickets out on a plate.  A client with open tickets of a plate gets
                all of these and no others; it must ask for the same size, controls and edge.
                Otherwise it gets such a plate whose lease has ended, as it was laid out.
                Otherwise it gets a new plate.
        """
        client = None if client is None else check_text("client", client)
        seconds = lease_seconds(lease)
        if seconds is not None and self.design.model.takes_time:
            raise ValueError(
                f"lease must be None for {self.design.model}: a ticket that takes long would be "
                "measured anew, and long times lost. Give the study a deadline instead, or report "
                "what will not end with tell_failed, if that has nothing to do with how long it "
                "takes."
            )
        n = number_to_ask(n, plate)
        with self._changing() as recorder:
            state, now = self._ledger, recorder.clock
            if state.outcome() in ("certified", "budget exhausted"):
                return []
            lease_until = None if seconds is None else now + seconds
            if plate is None:
                given = _given_again(state, client, now)[:n]
            else:
                self._check_controls(plate)
                given = _plate_given_again(state, client, now, plate)
                n = len(given) or n  # one whole plate
            for ticket in given:
                if _is_late(ticket, now):
                    recorder.record(
                        "lease", ticket=ticket.number, client=client, lease_until=lease_until
                    )
            room = state.room()
            new = n - len(given) if room is None else min(n - len(given), room)
            if new > 0 and state.outcome() == "running":
                chosen = state.current_engine().choose(new, state.unprocessed())
                given += self._issue(recorder, chosen, client, lease_until, plate)
            return [state.public_ticket(ticket) for ticket in given]

    def _check_controls(self, plate: Plate) -> None:
        for name in plate.controls:
            if name in self.arms:
                raise ValueError(
                    f"controls must not have the name of an arm: got {name!r}, which is one."
                )

    def _issue(
        self,
        recorder: "Recorder",
        chosen: list[tuple[int, bool]],
        client: str | None,
        lease_until: float | None,
        plate: Plate | None,
    ) -> list[TicketRecord]:
        """Record a new batch of tickets for the chosen arms."""
        state = self._ledger
        batch = state.batches + 1
        first = len(state.tickets) + 1
        wells: Sequence[str | None] = [None] * len(chosen)
        if plate is not None and chosen:
            layout = plate.arrange([arm for arm, _ in chosen], self.design.seed, batch)
            wells = layout.wells
            recorder.record("plate", batch=batch, data=plate.to_layout(layout.controls))
        for i, ((arm, pooled), well) in enumerate(zip(chosen, wells, strict=True)):
            recorder.record(
                "ticket",
                client=client,
                ticket=first + i,
                arm=arm,
                pooled=pooled,
                batch=batch,
                well=well,
                lease_until=lease_until,
            )
        return [state.tickets[first + i] for i in range(len(chosen))]

    def tell(
        self,
        rows: "Iterable[tuple[str | Ticket, Any]] | Iterable[Mapping[str, Any]] "
        "| Mapping[str, Sequence[Any]] "
        "| str | os.PathLike[str] | Any",
        *,
        client: str | None = None,
        all_or_nothing: bool = False,
        refused: WhenRefused = "raise",
        ticket_column: str = "ticket",
        value_column: str = "value",
        decimal: str = ".",
        grid: int | None = None,
        normalise: str | None = None,
    ) -> Receipt:
        """Tell values.  The receipt reports on every row.

        All rows that can be counted are counted, in one transaction.  If others are refused,
        RefusedRows is raised after that.  A value that is told twice
        counts once, so a program that is not sure tells it again.  Rows count in the order of their
        tickets.  **The guarantee needs all values to be told, whatever they are.**  Whether and
        when a value is told must not depend on the value.

        Args:
            rows: (ticket, value) pairs, or mappings {"ticket": ..., "value": ...}; or a table (a
                mapping of columns, a data frame) with columns ``ticket`` and ``value``; or the path
                of a file in CSV or .xlsx with these, or a stream.
            client: a name for who tells.
            all_or_nothing: count nothing if any row is refused.
            refused: "raise" RefusedRows, which has the receipt; or "report" in the receipt only.
            ticket_column, value_column: names of these columns.
            decimal: "," if texts have decimal commas.
            grid: the number of a plate, if ``rows`` is a file that shows its wells as a grid, as
                plate readers write it.
            normalise: ``"percent"`` or ``"z"``, perhaps with the names of controls, as in
                ``"percent:DMSO"``: values in units of the controls of their plate
                (``normalise.py``).  The log keeps the raw values.

        A value that cannot be under the model is *suspect*: it is kept, it does not count, and a
        SuspectWarning says so.
        """
        check_refused(refused)
        sheet = read_rows(rows, ticket_column, value_column, decimal, grid)
        notes = sheet.notes
        normaliser = None if normalise is None else Normaliser.named(normalise)
        client = None if client is None else check_text("client", client)
        with self._lock:
            self._renew()
            if grid is None:  # else the plate may be newer than what is known here
                receipts = classify(parse_rows(sheet.rows, self._ledger, normaliser), self._ledger)
                if stays_duplicate(receipts, self._ledger):
                    # Every row repeats a stored value, so nobody has to be locked out.
                    with self._looking():
                        if stays_duplicate(receipts, self._ledger):
                            return Receipt(tuple(receipts), notes)
            with self._changing() as recorder:
                given = rows_on_plate(sheet, self._ledger)
                told = parse_rows(given, self._ledger, normaliser)
                receipts = classify(told, self._ledger)
                if all_or_nothing and any(row.refused for row in receipts):
                    return settled(Receipt(tuple(withhold(receipts)), notes), refused)
                before = set(self._ledger.quality.suspects)
                processed = len(self._ledger.quality.processed)
                self._record(recorder, told, receipts, client)
                receipts = self._previewed(receipts, before)
        receipt = Receipt(tuple(receipts), notes, self._doubt(processed))
        self._warn(receipt)
        return settled(receipt, refused)

    def preview(self, rows: Any, **options: Any) -> Receipt:
        """What :meth:`tell` with these arguments would answer.  Nothing is stored."""
        with self._in_memory() as twin:
            return twin.tell(rows, **options | {"refused": "report"})

    def preview_counts(self, rows: Any, **options: Any) -> Receipt:
        """What :meth:`tell_counts` with these arguments would answer.  Nothing is stored."""
        with self._in_memory() as twin:
            return twin.tell_counts(rows, **options | {"refused": "report"})

    def _in_memory(self) -> "Study":
        """A study with the same events, which is forgotten when it is closed."""
        twin = import_study(MEMORY, self.export(), self.name, clock=self._clock)
        twin.quiet = True
        return twin

    def _record(
        self,
        recorder: "Recorder",
        told: list[ToldRow],
        receipts: list[ReceiptRow],
        client: str | None,
    ) -> None:
        """Record the rows that were accepted: controls first, then values by ticket.

        Rows sorted by value would otherwise decide when the study looks at its evidence.
        """
        controls: dict[tuple[int, str], ToldRow] = {}
        values: dict[int, ToldRow] = {}
        for row, receipt in zip(told, receipts, strict=True):
            if receipt.status == "control" and row.control and row.value is not None:
                controls[row.control] = row
            elif receipt.status == "accepted":
                values[known_ticket(row.ticket, self._ledger).number] = row
        for batch, well in sorted(controls, key=lambda key: (key[0], well_position(key[1]))):
            row = controls[batch, well]
            recorder.record(
                "control",
                batch=batch,
                well=well,
                value=row.value,
                client=client,
                data=_columns(row) or None,
            )
        for number in sorted(values):
            row = values[number]
            x = row.value
            data = (row.how or {}) | ({"censored": True} if type(x) is Censored else {})
            data |= _columns(row)
            recorder.record(
                "measurement", ticket=number, value=float(x), client=client, data=data or None
            )

    def _previewed(self, receipts: list[ReceiptRow], before: set[int]) -> list[ReceiptRow]:
        """The receipts after the values are in: which of them wait, and which are suspect.

        Values that were told earlier may have become suspect, too.  They get rows of their own.
        """
        state = self._ledger
        quality = state.quality
        rows = []
        new = set(quality.suspects) - before
        for row in receipts:
            number = known_ticket(row.ticket, state).number if row.status == "accepted" else 0
            if number in quality.waiting:
                rows.append(replace(row, status="waiting"))
            elif number in new:
                rows.append(self._suspect_row(number, row.line))
                new.discard(number)
            else:
                rows.append(row)
        return rows + [self._suspect_row(number) for number in sorted(new)]

    def _doubt(self, before: int) -> str:
        """That values repeat as those of the model cannot; empty if they do not.

        ``before`` is how many counted before this call.  Looks whenever their number has doubled;
        ``status`` looks every time.
        """
        processed = self._ledger.quality.processed
        if len(processed).bit_length() == before.bit_length():
            return ""
        return repeats((one.value for one in processed if one.n == 1), self.design.model)

    def _warn(self, receipt: Receipt) -> None:
        """Make sure that values which are held back, and a model that does not fit, are seen."""
        if self.quiet:
            return
        suspects = receipt.suspects
        if suspects:
            more = f" (and {len(suspects) - 1} more)" if len(suspects) > 1 else ""
            warnings.warn(f"{suspects[0].message}{more}.", SuspectWarning, stacklevel=3)
        if receipt.doubt:
            warnings.warn(receipt.doubt, ModelWarning, stacklevel=3)

    def _suspect_row(self, number: int, line: int = 0) -> ReceiptRow:
        """The row of a value that is held back."""
        suspect, design = self._ledger.quality.suspects[number], self.design
        message = suspect_message(suspect, self._ledger, f"line {line}: " if line else "")
        return ReceiptRow(
            "suspect",
            design.ticket_id(number),
            suspect.value,
            message,
            line,
            design.arms[suspect.arm],
            "confirm",
        )

    def confirm(self, ticket: "str | Ticket", reason: str) -> Change:
        """Let a suspect value count.

        **The guarantee needs reasons that have nothing to do with what the value does to the
        verdict**, as a look at the instrument's own record.
        """
        reason = check_text("reason", reason)
        name = ticket_name(ticket)
        with self._changing() as recorder:
            state = self._ledger
            record = known_ticket(name, state)
            if record.number not in state.quality.suspects:
                raise ValueError(
                    f"ticket must have a suspect value to be confirmed: ticket {name} has none."
                )
            before = state.current_engine().label_names()
            suspects = set(state.quality.suspects)
            recorder.record("confirmed", ticket=record.number, value=record.value, note=reason)
            after = state.current_engine().label_names()
            others = _held_back(self._previewed([], suspects))
        changed = _changed(self.arms, before, after)
        text = f"{record.value:g} ({name}) counts now. {_sentence(changed)}"
        return Change(changed, " ".join([text, *others]))

    def tell_failed(
        self, ticket: "str | Ticket", reason: str, *, refused: WhenRefused = "raise"
    ) -> ReceiptRow:
        """Tell that a ticket will have no value.  Its arm may be asked for again.

        RefusedRows is raised if it has one, unless ``refused`` is "report".  **The guarantee needs
        failures that have nothing to do with the value.**  A bad value is a value.  Values that
        waited for this ticket are heard now; SuspectWarning says so if one of them is suspect.
        """
        return self.fail_tickets([ticket], reason, refused=refused).rows[0]

    def fail_tickets(
        self, tickets: "Iterable[str | Ticket]", reason: str, *, refused: WhenRefused = "raise"
    ) -> Receipt:
        """The same for several tickets, in one transaction."""
        check_refused(refused)
        reason = check_text("reason", reason)
        names = [ticket_name(one) for one in tickets]
        with self._changing() as recorder:
            rows, released = self._fail(recorder, names, reason)
        self._warn(Receipt(released))
        return settled(Receipt(rows, _held_back(released)), refused)

    def _fail(
        self, recorder: "Recorder", names: Iterable[str], reason: str
    ) -> tuple[tuple[ReceiptRow, ...], tuple[ReceiptRow, ...]]:
        """Record failures; returns what became of each, and suspect values that had waited."""
        before = set(self._ledger.quality.suspects)
        rows = []
        for name in names:
            rows.append(classify_failure(name, self._ledger))
            if rows[-1].status == "accepted":
                number = known_ticket(name, self._ledger).number
                recorder.record("failed", ticket=number, note=reason)
        return tuple(rows), tuple(self._previewed([], before))

    def fail_batch(self, batch: int, reason: str) -> Receipt:
        """Tell that no open ticket of a batch, or of a plate, will have a value.

        Values that were told before stay.  Tickets that failed before are duplicates in the
        receipt.  **The guarantee needs failures that have nothing to do with the values**, those
        that were told included: a plate that was dropped, not one that looks bad.
        """
        reason = check_text("reason", reason)
        count("batch", batch)
        with self._changing() as recorder:
            state = self._ledger
            if batch > state.batches:
                known = f"they go from 1 to {state.batches}" if state.batches else "it has none"
                raise ValueError(f"batch must be one of this study: got {batch}; {known}.")
            tickets = [t for t in state.tickets.values() if t.batch == batch and t.state != "told"]
            names = [self.design.ticket_id(ticket.number) for ticket in tickets]
            rows, released = self._fail(recorder, names, reason)
        self._warn(Receipt(released))
        notes = () if rows else (f"Batch {batch} has no open ticket. Nothing changes.",)
        return Receipt(rows, notes + _held_back(released))

    def add_measurement(
        self,
        arm: str,
        value: float | str,
        source: str,
        *,
        client: str | None = None,
        refused: WhenRefused = "raise",
    ) -> ReceiptRow:
        """Count a value that nobody had asked for.

        ``source`` names this one measurement.  Told again with the same arm and source, it counts
        once.  RefusedRows is raised if the value cannot be counted, unless ``refused`` is "report".
        **The guarantee needs values that were not chosen for what they are.**  Tell all of them, or
        none.
        """
        check_refused(refused)
        source = check_text("source", source)
        with self._changing() as recorder:
            row = classify_unrequested(arm, value, source, self._ledger)
            if row.status == "accepted":
                before = set(self._ledger.quality.suspects)
                recorder.record(
                    "unrequested",
                    ticket=len(self._ledger.tickets) + 1,
                    arm=known_arm(arm, self._ledger),
                    value=float(row.value),  # type: ignore[arg-type]
                    note=source,
                    client=None if client is None else check_text("client", client),
                    data={"censored": True} if type(row.value) is Censored else None,
                )
                row, *others = self._previewed([row], before)
                self._warn(Receipt((row, *others)))
                said = [row.message] if row.message else []
                row = replace(row, message=". ".join([*said, *(one.message for one in others)]))
        return settled(Receipt((row,)), refused).rows[0]

    def tell_counts(
        self,
        rows: Any,
        *,
        source: str,
        period: str | None = None,
        columns: Mapping[str, str] | None = None,
        decimal: str = ".",
        client: str | None = None,
        correct: str | None = None,
        refused: WhenRefused = "raise",
    ) -> Receipt:
        """Tell number and sum of many measurements of an arm at once, as in a table per day.

        The rows of one call are one transaction.  The same source, period and arm count once; with
        other numbers they are refused, unless ``correct`` is given.  See ``counts.py`` for what a
        row holds, and why looking once a day is fine.  **The guarantee needs all measurements of a
        period, whatever they are**: tell it when it is over, not while conversions still come in.

        Args:
            rows: mappings, a mapping of columns, a data frame, or the path of a file in CSV or
                .xlsx, with ``arm``, ``n``, ``sum`` or ``mean``, and for ``Gaussian(None)`` ``sd``
                or ``variance``.
            source: where the numbers come from, as the name of a table.
            period: the day, or another name for what the numbers are about; or a column ``period``.
            columns: the table's names of these columns, where they differ, as {"n": "visitors"}.
            decimal: "," if texts have decimal commas.
            client: a name for who tells.
            correct: why numbers differ from those that were told before, which they then replace.
                See ``Study.correct`` for what the guarantee needs.
            refused: "raise" RefusedRows, which has the receipt; or "report" in the receipt only.
        """
        check_refused(refused)
        source = check_text("source", source)
        correct = None if correct is None else check_text("correct", correct)
        table = read_counts(rows, columns, decimal)
        given = [{"period": period} | row for row in table.rows]
        if any(row["period"] is None for row in given):
            raise ValueError("period must be given, or a column period: got none.")
        client = None if client is None else check_text("client", client)
        with self._changing() as recorder:
            before = set(self._ledger.quality.suspects)
            receipts: list[ReceiptRow] = []
            now: set[str] = set()  # tickets of the rows so far
            told: list[Counts] = []
            for i, row in enumerate(given):
                line, where = table.lines[i], table.where(i)
                receipt, counts = classify_counts(row, source, line, where, self._ledger)
                if receipt.status == "accepted" and counts is not None and counts.n > 0:
                    told.append(counts)
                    recorder.record(
                        "counts",
                        ticket=len(self._ledger.tickets) + 1,
                        arm=known_arm(counts.arm, self._ledger),
                        value=counts.total,
                        note=source,
                        client=client,
                        data=counts_data(counts),
                    )
                elif (
                    correct is not None
                    and receipt.status == "conflict"
                    and counts is not None
                    and receipt.ticket not in now  # else the table holds both
                ):
                    recorder.record(
                        "corrected",
                        ticket=known_ticket(receipt.ticket, self._ledger).number,
                        value=counts.total,
                        note=correct,
                        data=counts_data(counts),
                    )
                    receipt = replace(receipt, status="corrected", message="", remedy="")
                now.add(receipt.ticket)
                receipts.append(receipt)
            receipts = self._previewed(receipts, before)
            hints = swapped(table.rows, self.design.model)
            hints += told_by_others(told, source, self._ledger)
        result = Receipt(tuple(receipts), table.notes + hints)
        self._warn(result)
        return settled(result, refused)

    def correct(
        self, measurement: "str | Ticket", value: "float | str | Mapping[str, Any]", reason: str
    ) -> Change:
        """Replace a value that was told; counts by a mapping with n, and sum or mean.

        The old value stays in the history.  Labels become those of the new value.  **The guarantee
        needs reasons that have nothing to do with the value**, as a misplaced decimal point or a
        mixed-up well.
        """
        reason = check_text("reason", reason)
        name = ticket_name(measurement)
        if re.fullmatch("[0-9]+:[A-Za-z]+[0-9]+", name):
            return self._correct_control(name, value, reason)
        with self._changing() as recorder:
            ticket = known_ticket(name, self._ledger)
            if ticket.state != "told":
                raise ValueError(
                    f"observation must have a value to be corrected: ticket {name} is "
                    f"{ticket.state}."
                )
            if ticket.arm in self._ledger.withdrawn:
                raise ValueError(
                    f"observation must be of the question: {has_left(self.arms[ticket.arm])}."
                )
            old = shown_value(ticket)
            new, data = self._new_value(ticket, value)
            there = {"n": ticket.n, "scatter": ticket.scatter, "period": ticket.period}
            same = data == there if ticket.counts else (data is not None) == ticket.censored
            if new == ticket.value and same:
                return Change({}, f"The value of {name} is {old} already. Nothing changes.")
            before = self._ledger.current_engine().label_names()
            suspects = set(self._ledger.quality.suspects)
            recorder.record(
                "corrected", ticket=ticket.number, value=float(new), note=reason, data=data
            )
            after = self._ledger.current_engine().label_names()
            suspect = self._ledger.quality.suspects.get(ticket.number)
            others = _held_back(self._previewed([], suspects | {ticket.number}))
        changed = _changed(self.arms, before, after)
        shown = shown_value(ticket)
        consequence = f"The value of {name} is {shown}, no longer {old}. {_sentence(changed)}"
        if suspect is not None:
            consequence += f" But {suspect_message(suspect, self._ledger)}."
        return Change(changed, " ".join([consequence, *others]))

    def _new_value(
        self, ticket: TicketRecord, value: "float | str | Mapping[str, Any]"
    ) -> tuple[float, dict[str, Any] | None]:
        """The value of a correction, and what its event says about it."""
        model, censor_at = self.design.model, self.design.censor_at
        if ticket.counts:
            if not isinstance(value, Mapping):
                raise TypeError(
                    "value must hold n, and sum or mean, to correct counts, as "
                    "{'n': 90, 'sum': 41}, or n=90,sum=41 on the command line: got "
                    f"{value!r}."
                )
            unknown = [name for name in value if name not in NAMES]
            if unknown:
                raise ValueError(
                    f"value must hold n, and sum or mean: got {unknown[0]!r}"
                    f"{nearest(str(unknown[0]), NAMES)}."
                )
            row = {"period": ticket.period} | dict(value) | {"arm": self.arms[ticket.arm]}
            try:
                counts = parse_counts(row, model)
            except ValueError as error:
                raise ValueError(f"value must hold counts that can be: {error}.") from None
            if counts.n == 0:
                raise ValueError("value must hold at least one measurement: got n = 0.")
            return counts.total, counts_data(counts)
        try:
            new = required_value(value, model, censor_at)
        except ValueError as error:
            raise ValueError(f"value {error}.") from None
        return new, {"censored": True} if type(new) is Censored else None

    def _correct_control(self, name: str, value: Any, reason: str) -> Change:
        """Replace the value of a control, named by its plate and well, as 2:A1."""
        batch, well = name.split(":")
        key = (int(batch), well.upper())
        with self._changing() as recorder:
            known = self._ledger.controls.get(key)
            if known is None:
                raise ValueError(
                    f"observation must name a control that has a value, as 2:A1: got {name!r}."
                )
            try:
                new = required_value(value, ANY_NUMBER)
            except ValueError as error:
                raise ValueError(f"value {error}.") from None
            old = known.value
            if new == old:
                text = f"The value of control {name} is {old!r} already. Nothing changes."
                return Change({}, text)
            recorder.record("control_corrected", batch=key[0], well=key[1], value=new, note=reason)
            told = self._ledger.tickets.values()
            normalised = sum(t.batch == key[0] and t.raw is not None for t in told)
        text = f"The value of control {name} is {new!r}, no longer {old!r}. No label changes."
        if normalised:
            text += (
                f" {normalised} values of this plate were normalised with the old one, and stay "
                "as they are; correct replaces them."
            )
        return Change({}, text)

    def drop_arm(self, arm: str, reason: str) -> Change:
        """Never ask for an arm again.

        An arm that has values stays in the question.  Its values count, it keeps its label, and
        others are still compared with it.  While its label is open, the study as a whole cannot be
        certified.  An arm without any value, or with waits in vain only, leaves the question, which
        is then about the others.
        """
        reason = check_text("reason", reason)
        with self._changing() as recorder:
            state = self._ledger
            index = known_arm(arm, state)
            if index in state.dropped:
                return Change({}, f"Arm {arm!r} was abandoned before ({state.dropped[index]}).")
            before = set(state.quality.suspects)
            recorder.record("arm_dropped", arm=index, note=reason)
            released = self._previewed([], before)
            self._warn(Receipt(tuple(released)))
            text = self._now_that(arm, index)
            return Change({}, "  ".join([text, *_held_back(released)]))

    def _now_that(self, arm: str, index: int) -> str:
        """What it means that an arm is abandoned."""
        state = self._ledger
        is_over = state.outcome() == "dropped"
        end = "  No open arm is measured any more: the study ends here."
        if index in state.withdrawn:
            had = "only waits in vain" if state.pulls(index) else "no value"
            left = len(state.withdrawn) < len(self.arms)
            about = "the verdict will be about the others" if left else "no arm is left"
            text = f"Arm {arm!r} had {had}: it leaves the question, and {about}."
            return text + (end if is_over else "")
        open_tickets = [t.number for t in state.open.values() if t.arm == index]
        waiting = _still_open(state, open_tickets)
        label = state.current_engine().label_names()[index]
        if label != "open":
            return (
                f"Arm {arm!r} is certified {label} and stays so; it will not be measured "
                f"again.{self._compared_with(arm)}{waiting}"
            )
        kept = counted(state.pulls(index), "value")
        text = f"Arm {arm!r} keeps its {kept}, and others are still compared with it.  Its label "
        if is_over:
            return f"{text}stays open.{end}{waiting}"
        return (
            f"{text}is open.  Measurements of other arms may still decide it.  If they do not, the "
            "study will not be certified as a whole, and arms that can only be decided against "
            f"this one will stay open, too.{waiting}"
        )

    def _compared_with(self, arm: str) -> str:
        """How many open arms need this one, in a sentence; empty if none do."""
        status = status_of(self._ledger, self.name, self._clock())
        needing = sum(one.label == "open" and one.rests_on == arm for one in status.arms)
        if not needing:
            return ""
        return (
            f"  {counted(needing, 'open arm is', 'open arms are')} compared with it at present, "
            "and may now stay open however often they are measured."
        )

    def add_arms(self, arms: Sequence[str], reason: str) -> Change:
        """Add arms to the question, once: at most as many as the study has places for new arms.

        They must be added before the first label is certified: "good" means good among all arms.
        Claims begin again with the new arms in the question, and nothing is certified before each
        has a value.  The arms may be designed after a look at the values.

        **What it needs.**  Tell all values that were seen before arms are added, and no value of a
        new arm that was seen before it was added.  Afterwards, abandon no arm without a value
        because of how the others did.

        **Why the guarantee stays.**  Let o be the best of the old arms and v the best of the new
        ones.  All labels are certified when the arms are settled.  K counts places for new arms,
        and r = delta'/K is the risk of one arm, delta' being that of ``Design.risk_of_labels``.

        Which arms are added may depend on the values.  So which arms are good is settled only at
        that moment, and each arm k may be wrong in several ways.  Each is bounded by itself, at the
        true means of the two arms.  There the factor of an old arm is a supermartingale that does
        not know the new ones, and that of a new arm begins at 1 when it is added.  The proof in
        ``evidence/claims.py`` takes other places for a rival, where its factor is smaller.  Rewards
        of the pool are taken each at the true mean of its own arm, which is no higher than the
        place where a good k is compared with the pool.  (With ``Gaussian(None)`` there is no common
        supermartingale.  But what a new arm is depends on the past of the others only, so that its
        own stream keeps P(sup M >= u) <= 1/u given theirs, and the bound for two streams holds.)

            k is bad and certified good: because of o, or because of v.  (Both, as o may rightly
                be certified bad because of v, and is then no rival.)  At most g for each, with
                g = r, or delta'/(K - 1) without a pool.  (An old arm with a mean below zero is
                compared with itself, at most g.  Of a new arm with a mean below zero, compared with
                itself, or with v, the factors begin at 1.  So these two, of which one is chosen,
                have g together.)
            k is good and certified bad: because of the pool or of any rival, which has a share of
                its own.  At most r in all.

        The sum over K arms is at most K (2 g + r), which is at most 4 delta'.  (With K = 2 there is
        one old arm and one new one: k can be bad only because of the other.  The sum is 3 delta'.
        An additive objective leaves nothing to look at then: one arm is good at its first value.)
        And delta' is a quarter of delta, but for what pays for values held back.

        Values are taken in as they came, and no claim is looked at before each arm has one.  So
        what a label rests on was the state of the study at some time.
        """
        reason = check_text("reason", reason)
        if isinstance(arms, str) or not isinstance(arms, Iterable):
            raise TypeError(f"arms must be a list of names: got {arms!r}.")
        names = list(arms)
        with self._changing() as recorder:
            state = self._ledger
            state.with_arms(names)
            labels = zip(self.arms, state.current_engine().label_names(), strict=True)
            for arm, label in labels:
                if label != "open":
                    raise ValueError(
                        f"arms must be added before the first label is certified: {arm!r} is "
                        f"certified {label}, among the arms that there are. Begin a new study."
                    )
            recorder.record("arms_added", data={"arms": names}, note=reason)
        more = f"{counted(len(names), 'arm is', 'arms are')} new"
        return Change(
            {}, f"{more}, {len(self.arms)} in all. Nothing is certified before each has a value."
        )

    def set_budget(self, budget: int | None, reason: str) -> Change:
        """Give the study another budget: the number of measurements in all; None for no limit.

        The guarantee holds however long a study goes on, and whatever decides that.  So another
        budget costs nothing, even if it is chosen after a look at the values.  A budget below what
        was told and what is pending is refused.
        """
        reason = check_text("reason", reason)
        budget = int(budget) if isinstance(budget, np.integer) else budget
        with self._changing() as recorder:
            state, before = self._ledger, self.design.budget
            state.with_budget(budget)
            if budget == before:
                return Change({}, f"The budget is {_limit(budget)} already. Nothing changes.")
            recorder.record("budget_set", data={"budget": budget}, note=reason)
            room, outcome = state.room(), state.outcome()
        left = "" if room is None else f" {room} more may be asked for."
        if outcome == "certified":
            left = " Every label is certified: nothing more will be asked for."
        return Change({}, f"The budget is {_limit(budget)}, no longer {_limit(before)}.{left}")

    def note(
        self,
        text: str,
        *,
        arm: str | None = None,
        ticket: "str | Ticket | None" = None,
        client: str | None = None,
    ) -> None:
        """Write down a remark on an arm, on a ticket or on the whole study.  It changes nothing.

        ``status().notes`` and the report show it.
        """
        text = check_text("text", text)
        client = None if client is None else check_text("client", client)
        if arm is not None and ticket is not None:
            raise ValueError("arm must be left out where a ticket is given, which has its arm.")
        with self._changing() as recorder:
            state = self._ledger
            index = None if arm is None else known_arm(arm, state)
            number = None if ticket is None else known_ticket(ticket_name(ticket), state).number
            recorder.record("note", note=text, arm=index, ticket=number, client=client)

    def status(self) -> StudyStatus:
        """What is certain now, and how far the rest is.  This changes nothing."""
        with self._looking():
            return status_of(self._ledger, self.name, self._clock())

    def forecast(self) -> "Forecast":
        """Simulate how many measurements may still be needed, and compute the lower bound.

        This changes nothing.  It takes milliseconds with 60 arms, half a minute with 10,000.
        """
        from .forecast import forecast_input, forecast_of  # only this needs solver and simulation

        with self._looking():
            study = forecast_input(self._ledger)
        return forecast_of(study)

    def sheet(self, tickets: Iterable[Ticket]) -> list[AskedRow]:
        """The rows of a sheet for these tickets, with the controls of their plates."""
        given = list(tickets)
        rows = [AskedRow(t.id, t.arm, t.batch if t.well else "", t.well or "") for t in given]
        plates = sorted({t.batch for t in given if t.well})
        if plates:
            with self._looking():
                for batch in plates:
                    placed = self._ledger.plates[batch]["placed"]
                    rows += [AskedRow("", control, batch, well) for well, control in placed.items()]
        return rows

    def lines(
        self,
        after: int = 0,
        *,
        before: int | None = None,
        limit: int | None = None,
        kind: str | None = None,
        arm: str | None = None,
        client: str | None = None,
    ) -> list[str]:
        """Lines of JSON, without line ends, of events with numbers above ``after``, in order.

        Args:
            after, before, limit: numbers between which the events lie, and how many at most.
            kind, client: only events of this kind, and of this client.
            arm: only events about this arm, or about a ticket of it.
        """
        after = count("after", after, least=0)
        filters: dict[str, Any] = {"kind": kind, "client": client}
        if arm is not None:
            if arm not in self.design.numbers:
                return []
            filters["arm"] = self._arm_filter(arm)
        chosen = {name: value for name, value in filters.items() if value is not None}
        with self._lock, self._store.reading(self._number) as log:
            return list(log.lines(after, before, limit, **chosen))

    def _arm_filter(self, arm: str) -> int | str:
        """How the database names an arm."""
        return self.design.numbers[arm]

    @property
    def end(self) -> int:
        """The number of the last event, as the database has it now."""
        with self._lock, self._store.reading(self._number) as log:
            return log.end.seq

    def events(self, after: int = 0) -> list[Event]:
        """All events after this one, from the first."""
        return [stored_event(line) for line in self.lines(after)]

    def table(self, what: Literal["values", "events"] = "values") -> Table:
        """The values that were told, or all events, as a table with ``to_csv`` and ``to_parquet``.

        Times are in seconds since 1970.  A value *counts*, is *suspect* or is *waiting* for earlier
        tickets.  ``first`` is the value before any correction, ``raw`` the value before it was
        normalised, ``source`` that of a value that nobody had asked for.  Counts are the sum of n
        values of a period, with their scatter about their mean, where sigma is unknown.
        """
        if what not in ("values", "events"):
            raise ValueError(f"what must be 'values' or 'events': got {what!r}.")
        with self._looking():
            return self._values() if what == "values" else self._events()

    def _values(self) -> Table:
        state, design = self._ledger, self.design
        quality, waiting = state.quality, set(state.quality.told_and_waiting())
        tickets = [state.tickets[number] for number in state.told]

        def standing(number: int) -> str:
            held_back = "suspect" if number in quality.suspects else "counts"
            return "waiting" if number in waiting else held_back

        return Table(
            {
                "ticket": [design.ticket_id(t.number) for t in tickets],
                "arm": [design.arms[t.arm] for t in tickets],
                "value": [t.value for t in tickets],
                "state": [standing(t.number) for t in tickets],
                "time": state.times_told(),
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

    def _events(self) -> Table:
        design = self.design
        events = self.events()[: self._ledger.seq]
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

    def to_pandas(self, what: Literal["values", "events"] = "values") -> "pandas.DataFrame":
        """``table(what)`` as a pandas DataFrame (extra ``frames``)."""
        return self.table(what).to_pandas()

    def export(self, after: int = 0, **filters: Any) -> Iterator[str]:
        """The events as lines of JSON, each with its line end.

        ``Path("study.jsonl").write_text("".join(study.export()))`` saves the study, and
        ``import_study`` reads it.  ``after`` and ``filters`` are those of :meth:`lines`.
        """
        after = count("after", after, least=0)
        before, limit = filters.pop("before", None), filters.pop("limit", None)
        end = self.end + 1 if before is None else before
        return self._in_parts(after, end, limit, filters)

    def _in_parts(
        self, after: int, end: int, left: int | None, filters: dict[str, Any]
    ) -> Iterator[str]:
        """The lines of events before number ``end``, some at a time."""
        while left is None or left > 0:
            size = PART if left is None else min(PART, left)
            lines = self.lines(after, before=end, limit=size, **filters)
            yield from (f"{line}\n" for line in lines)
            if len(lines) < size:
                return
            after = stored_event(lines[-1]).seq
            left = None if left is None else left - size

    def check_digest(self, seq: int, digest: str) -> None:
        """Raise HistoryChanged if event ``seq`` is not the one with this digest."""
        with self._lock, self._store.reading(self._number) as log:
            log.check(Chain(seq, digest))

    def copy(
        self,
        url: "str | os.PathLike[str]",
        name: str,
        *,
        objective: Objective | None = None,
        delta: float | None = None,
    ) -> "Study":
        """A new study with the same arms, model and values, and another question.

        **Its risk is its own, and comes on top.**  If the new question was chosen without regard to
        the values, then the copy certifies a wrong label with probability at most its delta, and
        this study with at most its own.  Both are right with probability at least one minus the
        sum.

        If epsilon was chosen after a look at the values, and both objectives are Additive, the risk
        of the copy is at most twice its delta, for all epsilons together.  For let arm k be D below
        the best.  It is good if epsilon >= D.  Evidence that it is bad falls as epsilon grows, so a
        wrong "bad" has the most at D.  Evidence that it is good grows, so a wrong "good" has less
        than at D.  With epsilon = D, the proof in ``evidence/claims.py`` bounds the chance of
        either, summed over the arms, by delta.  For other questions that were chosen after a look
        there is no bound: begin a new study.

        **Which values join the pool** stays as it was.  The theorem asks for one thing, that this
        was settled before the value was seen.  It was, in this study, when the ticket was written.
        Which question was in mind then does not matter, as it does not matter for the choice of
        arms.

        Tickets that are open stay open, with ids of the copy's own: tell a value to both studies,
        or let the tickets of the copy fail.  A value that was confirmed and is not suspect at the
        new delta needs no confirmation.  A value that is suspect only there waits for one.

        Args:
            url, name: where the copy is made, and its name.
            objective, delta: of the new question; by default those of this study.
        """
        with self._looking():
            lines = self.lines()[: self._ledger.seq]
        events = [stored_event(line) for line in lines]
        old = self._ledger.created
        design = replace(
            old,
            name=name,
            uid=uuid.uuid4().hex,
            objective=old.objective if objective is None else Objective.check(objective),
            delta=old.delta if delta is None else probability("delta", delta),
        )
        design.check()
        chain = Chain()
        first = chain.link(events[0]._replace(data=design.to_dict()))
        copied, state = [first], StudyState.from_first(first)
        for event in events[1:]:
            if event.kind == "confirmed" and event.ticket not in state.quality.suspects:
                continue
            copied.append(chain.link(event))
            state.add(copied[-1])
        origin = Origin(old.name, old.uid, len(events), digest(lines))
        now = max(self._clock(), math.nextafter(events[-1].time, math.inf))
        copied.append(chain.link(Event(0, "copy", now, data=asdict(origin))))
        state.add(copied[-1])
        return _stored(opened(url, create=True), name, copied, state, chain, self._clock)

    def certificate(self) -> dict[str, Any]:
        """The verdict so far, with every number that it rests on; see ``certificate.py``."""
        from ..certificates.write import certificate_of

        with self._looking(), self._store.reading(self._number) as log:
            return certificate_of(self._ledger, digest(log.lines(before=self._ledger.seq + 1)))

    @property
    def open_tickets(self) -> list[Ticket]:
        """Tickets without a value."""
        with self._looking():
            return [self._ledger.public_ticket(ticket) for ticket in self._ledger.open.values()]

    def _renew(self) -> None:
        """Read the study again, if a change was interrupted or could not be stored."""
        if self._stale:
            self._ledger, self._chain = _read(self._store, self._number)
            self._stale = False

    def once(self, key: str, request: str, do: Callable[[], bytes]) -> tuple[bytes, bool]:
        """Change this study once, however often that is asked for with this key (``Store.once``).

        For servers, whose clients repeat what they are not sure of.
        """
        with self._lock:
            self._renew()  # so that ``before`` is what the database holds
            before = self._chain.seq
            try:
                return self._store.once(self._number, key, request, self._clock(), do)
            except BaseException as error:
                harmless = isinstance(error, ValueError | TypeError) and self._chain.seq == before
                self._stale |= not harmless
                raise

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Hold the lock and read the events that other programs have added."""
        with self._lock, self._guarded([]):
            self._renew()
            try:
                with self._store.reading(self._number) as log:
                    log.catch_up(self._chain, self._ledger.add)
            except HistoryChanged as error:
                self._stale, self._lost = True, error
                self._renew()
            yield

    @contextmanager
    def _changing(self) -> Iterator["Recorder"]:
        """Hold the lock, also of the database, and read what other programs have added.

        Recorded events are stored if the block ends normally, and forgotten if it does not.
        """
        with self._lock:
            self._renew()
            if self._lost is not None:
                lost, self._lost = self._lost, None
                raise lost
            recorder = Recorder(self._ledger, self._chain)
            with (
                self._guarded(recorder.recorded),
                self._store.changing(self._number) as log,
            ):
                log.catch_up(self._chain, self._ledger.add)
                recorder.clock = self._clock()
                after = math.nextafter(self._ledger.times[1], math.inf)
                recorder.now = max(recorder.clock, after)
                yield recorder
                log.append(recorder.recorded)

    @contextmanager
    def _guarded(self, recorded: list[Event]) -> Iterator[None]:
        """Mark the ledger as stale if an exception may have left it wrong.

        ValueError and TypeError leave it valid unless something was recorded.  Any other exception,
        such as an interruption or an error of the database, marks it stale, and it is read again.
        """
        try:
            yield
        except DatabaseUnavailable:
            self._stale = True
            raise
        except (ValueError, TypeError):
            self._stale |= bool(recorded)
            raise
        except BaseException:
            self._stale = True
            raise


class Fold:
    """Builds a ledger from events, the first of which creates it."""

    state: StudyState

    def add(self, event: Event) -> None:
        if event.seq == 1:
            self.state = StudyState.from_first(event)
        else:
            self.state.add(event)


class Recorder:
    """Adds new events to a ledger, and keeps them for the store.

    Attributes:
        clock: what the clock says.  Leases count from here.
        now: the time of the new events: that of the clock, but later than all events before.
    """

    def __init__(self, state: StudyState, chain: Chain) -> None:
        self.state, self.chain = state, chain
        self.clock = self.now = state.times[1]
        self.recorded: list[Event] = []

    def record(self, kind: str, **parts: Any) -> None:
        event = self.chain.next(Event(0, kind, self.now, **parts))
        self.recorded.append(event)
        self.state.add(event)
        self.chain.move(event, event.line())


def _columns(row: ToldRow) -> dict[str, Any]:
    """What an event keeps of the other columns of a sheet."""
    return {"columns": dict(row.extra)} if row.extra else {}


def lease_seconds(lease: float | timedelta | None) -> float | None:
    seconds = lease.total_seconds() if isinstance(lease, timedelta) else lease
    if seconds is None:
        return None
    no_number = isinstance(seconds, bool) or not isinstance(seconds, int | float)
    if no_number or not 0.0 < seconds < 1e10:
        raise ValueError(f"lease must be a positive number of seconds, or None: got {lease!r}.")
    return seconds


def number_to_ask(n: int | None, plate: Plate | None) -> int:
    if plate is None:
        return 1 if n is None else count("n", n)
    if not isinstance(plate, Plate):
        raise TypeError(f"plate must be a Plate, as Plate(8, 12), or None: got {plate!r}.")
    n = plate.capacity if n is None else count("n", n)
    if n > plate.capacity:
        raise ValueError(
            f"n must not exceed the {plate.capacity} wells that the plate has for arms: got {n}."
        )
    return n


def _is_late(ticket: TicketRecord, now: float) -> bool:
    return ticket.lease_until is not None and ticket.lease_until <= now


def _own_and_late(
    state: StudyState, client: str | None, now: float
) -> tuple[list[TicketRecord], list[TicketRecord]]:
    """Open tickets of a client, and open tickets whose lease has ended."""
    waiting = [ticket for ticket in state.open.values() if ticket.arm not in state.dropped]
    own = [ticket for ticket in waiting if client is not None and ticket.client == client]
    return own, [ticket for ticket in waiting if _is_late(ticket, now)]


def _given_again(state: StudyState, client: str | None, now: float) -> list[TicketRecord]:
    """Tickets to give before new ones: those of the client, then those of others that are late."""
    own, late = _own_and_late(state, client, now)
    numbers = {ticket.number for ticket in own}
    return own + [ticket for ticket in late if ticket.number not in numbers]


def _plate_given_again(
    state: StudyState, client: str | None, now: float, plate: Plate
) -> list[TicketRecord]:
    """The open tickets of one plate: the client's newest, or else the oldest that is late.

    The client's own must be the plate that is asked for.  Those of others are left out if not.
    """
    own, late = _own_and_late(state, client, now)
    own = [ticket for ticket in own if ticket.well]
    if own:
        batch = own[-1].batch
        own = [ticket for ticket in own if ticket.batch == batch]
        theirs = Plate.from_layout(state.plates[batch])
        if theirs != plate:
            raise ValueError(
                f"plate must be that of batch {batch}, which {client!r} has open, "
                f"{theirs.wording}: got {plate.wording}. Ask for the open plate to get it again, "
                f"tell or fail its {len(own)} open tickets, or ask as another client."
            )
        return own
    left = sorted({ticket.batch for ticket in late if ticket.well})
    alike = [batch for batch in left if Plate.from_layout(state.plates[batch]) == plate]
    return [ticket for ticket in late if ticket.batch in alike[:1]]


_opened: "weakref.WeakSet[Study]" = weakref.WeakSet()
_held: list[Study] = []
_forking = threading.Lock()


def _before_fork() -> None:
    """Close all connections, so that no child process inherits one.

    To SQLite the locks of an inherited connection would seem to be the child's, which has none.
    """
    _forking.acquire()
    _held[:] = _opened
    for study in _held:
        study._lock.acquire()
    for study in _held:
        study._store.let_go()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


def _held_back(rows: Iterable[ReceiptRow]) -> tuple[str, ...]:
    """That values which were told earlier are suspect now: a sentence for each."""
    sentences = [f"{row.message}." for row in rows]
    more = len(sentences) - 5
    return (*sentences[:5], *([f"{more} more are suspect now."] if more > 0 else []))


def _still_open(state: StudyState, numbers: list[int]) -> str:
    """That open tickets of an abandoned arm hold up others, if they do."""
    if not state.design.in_order or not numbers:
        return ""
    names = ", ".join(state.design.ticket_id(number) for number in numbers[:5])
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return (
        f"  Later values still wait for its open tickets, {names}{more}: tell them, or report them "
        "as failed."
    )


def _changed(
    arms: Sequence[str], before: Sequence[str], after: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """The labels that differ."""
    triples = zip(arms, before, after, strict=True)
    return {arm: (old, new) for arm, old, new in triples if old != new}


def _limit(budget: int | None) -> str:
    return "no limit" if budget is None else f"{budget} measurements"


def _sentence(labels: dict[str, tuple[str, str]]) -> str:
    if not labels:
        return "No label changes."
    return (
        "Labels that change: "
        + ", ".join(f"{arm} {old} -> {new}" for arm, (old, new) in labels.items())
        + "."
    )
