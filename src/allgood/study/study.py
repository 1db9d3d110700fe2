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

from .._internal.arguments import ArgumentTypeError, count, positive, probability
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
from .commands.arms import AddArms, DropArm
from .commands.ask import Ask
from .commands.base import Command, Decision, Draft, R, StoredEvent, decide
from .commands.correct import Confirm, Correct
from .commands.counts import TellCounts
from .commands.fail import Fail
from .commands.settings import AddNote, SetBudget
from .commands.tell import AddMeasurement, Tell
from .design import StudyDesign, check_text
from .events import FIELDS, Chain, Event, canonical, digest, parse_line, stored_event
from .plates import Plate
from .receipts import (
    Change,
    Receipt,
    ReceiptRow,
    SuspectWarning,
    WhenRefused,
    check_refused,
    settled,
)
from .state import Origin, StudyState, Ticket, no_garbage_collection
from .status import StudyStatus, status_of
from .tables.counts import read_counts
from .tables.reader import nearest
from .tables.sheets import AskedRow, read_rows, ticket_name

if TYPE_CHECKING:
    import pandas

    from .forecast import Forecast

PART = 10_000  # events that an export reads at a time


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
        raise ArgumentTypeError(f"{wanted}: got {strategy!r}.", argument="strategy")
    chosen = strategy(Objective.check(objective), probability("delta", delta))
    if not isinstance(chosen, ClaimByClaim):
        raise ArgumentTypeError(f"{wanted}: got {chosen!r}.", argument="strategy")
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise ArgumentTypeError(f"arms must be a list of names: got {arms!r}.", argument="arms")
    design = StudyDesign(
        name=name,
        arms=tuple(arms),
        objective=objective,
        delta=float(delta),
        model=Model.check(model),
        pool=chosen.pool,
        seed=seed,
        budget=budget,
        check_values=check_values,
        in_order=in_order,  # type: ignore[arg-type]
        censor_at=None if censor_at is None else positive("censor_at", censor_at),
        max_new_arms=max_new_arms,
    )
    return create_from_design(
        url, design, arm_notes=arm_notes, load_if_exists=load_if_exists, clock=clock
    )


def create_from_design(
    url: "str | os.PathLike[str] | Store",
    design: StudyDesign,
    *,
    arm_notes: Mapping[str, Mapping[str, str]] | None = None,
    load_if_exists: bool = False,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """Create a study from its design; the other arguments are those of ``create_study``."""
    design.check()
    first = [Event(1, "created", clock(), data=design.to_dict())]
    if arm_notes:
        data = {arm: dict(texts) for arm, texts in arm_notes.items()}
        first.append(Event(2, "arm_notes", first[0].time, data=data))
    state, chain = StudyState.from_events(first), Chain()
    first = [chain.link(event) for event in first]
    store, name = opened(url, create=True), design.name
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
            f"study {name!r} cannot be loaded in place of a new one, because its design differs: "
            f"{'; '.join(differing)}."
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
        return self._execute(Ask(n, client, _seconds(lease), plate))

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
        request = Tell(sheet.rows, client, all_or_nothing, normalise, sheet.notes, sheet.grid)
        return settled(self._execute(request), refused)

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

    def _execute(self, request: Command[R]) -> R:
        """Decide a request, store its events, and warn of what it found."""
        request.check()
        decision = self._decide(request)
        if not self.quiet:
            receipt = decision.result if isinstance(decision.result, Receipt) else Receipt(())
            _warn((*receipt.suspects, *decision.suspects), receipt.warnings)
        return decision.result

    def _decide(self, request: Command[R]) -> Decision[R]:
        with self._lock:
            self._renew()
            if request.repeated(self._ledger) is not None:  # then nobody has to be locked out
                with self._looking():
                    result = request.repeated(self._ledger)
                    if result is not None:
                        return Decision((), result)
            with self._changing() as draft:
                return decide(draft, request)

    def confirm(self, ticket: "str | Ticket", reason: str) -> Change:
        """Let a suspect value count.

        **The guarantee needs reasons that have nothing to do with what the value does to the
        verdict**, as a look at the instrument's own record.
        """
        return self._execute(Confirm(ticket_name(ticket), reason))

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
        names = [ticket_name(ticket) for ticket in tickets]
        return settled(self._execute(Fail(reason, tickets=names)), refused)

    def fail_batch(self, batch: int, reason: str) -> Receipt:
        """Tell that no open ticket of a batch, or of a plate, will have a value.

        Values that were told before stay.  Tickets that failed before are duplicates in the
        receipt.  **The guarantee needs failures that have nothing to do with the values**, those
        that were told included: a plate that was dropped, not one that looks bad.
        """
        return self._execute(Fail(reason, batch=batch))

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
        receipt = self._execute(AddMeasurement(arm, value, source, client))
        return settled(receipt, refused).rows[0]

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
        table = read_counts(rows, columns, decimal)
        request = TellCounts(
            rows=table.rows,
            source=source,
            period=period,
            correct=correct,
            client=client,
            lines=table.lines,
            unit=table.unit,
            notes=table.notes,
            hints=table.hints,
        )
        return settled(self._execute(request), refused)

    def correct(
        self, measurement: "str | Ticket", value: "float | str | Mapping[str, Any]", reason: str
    ) -> Change:
        """Replace a value that was told; counts by a mapping with n, and sum or mean.

        The old value stays in the history.  Labels become those of the new value.  **The guarantee
        needs reasons that have nothing to do with the value**, as a misplaced decimal point or a
        mixed-up well.
        """
        return self._execute(Correct(ticket_name(measurement), value, reason))

    def drop_arm(self, arm: str, reason: str) -> Change:
        """Never ask for an arm again.

        An arm that has values stays in the question.  Its values count, it keeps its label, and
        others are still compared with it.  While its label is open, the study as a whole cannot be
        certified.  An arm without any value, or with waits in vain only, leaves the question, which
        is then about the others.
        """
        return self._execute(DropArm(arm, reason))

    def add_arms(self, arms: Sequence[str], reason: str) -> Change:
        """Add arms to the question, once: at most as many as the study has places for new arms.

        They must be added before the first label is certified: "good" means good among all arms.
        Claims begin again with the new arms in the question, and nothing is certified before each
        has a value.  The arms may be designed after a look at the values.

        **What it needs.**  Tell all values that were seen before arms are added, and no value of a
        new arm that was seen before it was added.  Afterwards, abandon no arm without a value
        because of how the others did.

        docs/study-proofs.md shows why the guarantee stays.
        """
        return self._execute(AddArms(arms, reason))

    def set_budget(self, budget: int | None, reason: str) -> Change:
        """Give the study another budget: the number of measurements in all; None for no limit.

        The guarantee holds however long a study goes on, and whatever decides that.  So another
        budget costs nothing, even if it is chosen after a look at the values.  A budget below what
        was told and what is pending is refused.
        """
        limit = int(budget) if isinstance(budget, np.integer) else budget
        return self._execute(SetBudget(limit, reason))

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
        about = None if ticket is None else ticket_name(ticket)
        self._execute(AddNote(text, arm, about, client))

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
    def _changing(self) -> Iterator[Draft]:
        """Hold the lock, also of the database, and read what other programs have added.

        Recorded events are stored if the block ends normally, and forgotten if it does not.
        """
        with self._lock:
            self._renew()
            if self._lost is not None:
                lost, self._lost = self._lost, None
                raise lost
            recorded: list[StoredEvent] = []
            with self._guarded(recorded), self._store.changing(self._number) as log:
                log.catch_up(self._chain, self._ledger.add)
                draft = Draft(self._ledger, self._chain, self._clock(), recorded)
                yield draft
                log.append([stored.event for stored in recorded])

    @contextmanager
    def _guarded(self, recorded: Sequence[object]) -> Iterator[None]:
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


def _seconds(lease: "float | timedelta | None") -> float | None:
    return lease.total_seconds() if isinstance(lease, timedelta) else lease


def _warn(suspects: Sequence[ReceiptRow], doubts: Sequence[str]) -> None:
    """Make sure that values which are held back, and a model that does not fit, are seen."""
    if suspects:
        more = f" (and {len(suspects) - 1} more)" if len(suspects) > 1 else ""
        warnings.warn(f"{suspects[0].message}{more}.", SuspectWarning, stacklevel=4)
    for doubt in doubts:
        warnings.warn(doubt, ModelWarning, stacklevel=4)


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
