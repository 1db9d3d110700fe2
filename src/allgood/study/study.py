"""A real campaign: ask for arms to measure, tell the values, and read off the labels.

    arms = ["A", "B", "C"]
    study = create_study("screen.db", "screen", arms=arms, objective=Additive(0.5), delta=0.05)
    for ticket in study.ask(8, client="robot"):
        study.tell([(ticket.id, measure(ticket.arm))])
    study.status().outcome

Any number of programs may use one study at once.  Each change is one transaction.  When the call
returns, the whole change is stored; if the call fails, nothing of it is.  The state of a study is a
function of its events (``state.py``).  What it asks for next is a function of its seed and its
events.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._internal.arguments import ArgumentError, ArgumentTypeError, count, positive, probability
from .._internal.tables import Table, counted
from ..models import ModelWarning
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Objective
from ..strategies.claim_by_claim import ClaimByClaim
from .backends.base import Backend, Storage, StudyHead, read_study
from .backends.errors import DamagedStudy, StudyError, StudyExists, StudyNotFound
from .backends.sql import MEMORY, Store
from .commands.arms import AddArms, DropArm, RestoreArm
from .commands.ask import Ask, PlannedBatch, PreviewAsk
from .commands.base import Command, R
from .commands.correct import Confirm, Correct
from .commands.counts import TellCounts
from .commands.fail import Fail
from .commands.replace import Replace
from .commands.settings import AddNote, SetBudget
from .commands.tell import AddMeasurement, Tell
from .commands.withdraw import Withdraw
from .design import StudyDesign, check_text, optional_text
from .diagnostics.plate import PlateCheck, check_plate
from .engine import Label
from .entries import HistoryPage, history_page
from .events import Chain, Event, StoredEvent, canonical, digest, parse_line, stored_event
from .history import copy_events, events_table, values_table
from .hits import HitList, hits_of
from .lookup import known_plate
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
from .sentences import Guess
from .state import Basis, StudyState, Ticket, no_garbage_collection
from .status import StudyStatus, status_of
from .tables.counts import read_counts
from .tables.reader import nearest
from .tables.sheets import AskedRow, read_rows, ticket_name

if TYPE_CHECKING:
    import pandas

    from .forecast import Forecast

PART = 10_000  # events that an export reads at a time

Url = str | os.PathLike[str] | Storage


def open_storage(url: Url, create: bool = False) -> Storage:
    """Open the database or the server at this address; return a storage that is open already.

    The first transaction checks whether a database is one of studies.
    """
    if isinstance(url, Storage):
        return url
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        from .backends.http import ServerStore  # it loads much that a database does not need

        return ServerStore(url)
    return Store(url, create=create, check=False)


def create_study(
    url: Url,
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
    min_z_prime: float | None = None,
    normalise: str | None = None,
    arm_notes: Mapping[str, Mapping[str, str]] | None = None,
    client: str | None = None,
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
        check_values: hold back values that are impossible under the model, and let no label rest on
            a single value (``quality.py``).  A thousandth of delta pays for it.
        in_order: process values in the order of their tickets, so that it does not matter when they
            are told.  A value waits until all earlier tickets have theirs or have failed.  By
            default only for waiting times (Exponential), which need it.
        censor_at: for waiting times: the time at which every wait is given up.  If it is 30, tell
            ``">30"`` for a wait that was given up.
        max_new_arms: how many arms may be added later (``Study.add_arms``).  Labels need evidence
            as if these arms were there from the start, and as if delta were a quarter of what it
            is.
        min_z_prime: the least Z' of a plate, such as 0.4; values of a plate with a lower Z' never
            count.  Each plate must have two controls.  No limit by default.
        normalise: convert every value to units of the controls of its plate: ``"percent:DMSO"``,
            ``"percent:LOW,HIGH"`` or ``"z:DMSO"`` (``normalise.py``).  All values then come from
            plates with these controls.  The log keeps the raw values.
        arm_notes: facts about arms that are known beforehand, such as supplier or batch: a mapping
            from an arm's name to its texts by heading.  They are shown and decide nothing.
        client: a name for who creates the study.
        load_if_exists: load the study of this name if it has the same design, instead of raising
            StudyError.
        clock: a function that returns the time, in seconds since 1970.
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
        min_z_prime=min_z_prime,
        normalise=normalise,
    )
    return create_from_design(
        url,
        design,
        arm_notes=arm_notes,
        client=client,
        load_if_exists=load_if_exists,
        clock=clock,
    )


def create_from_design(
    url: Url,
    design: StudyDesign,
    *,
    arm_notes: Mapping[str, Mapping[str, str]] | None = None,
    client: str | None = None,
    load_if_exists: bool = False,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """Create a study from its design; the other arguments are those of ``create_study``."""
    design.check()
    who = optional_text("client", client)
    first = [Event(1, "created", clock(), client=who, data=design.to_dict())]
    if arm_notes:
        data = {arm: dict(texts) for arm, texts in arm_notes.items()}
        first.append(Event(2, "arm_notes", first[0].time, data=data))
    return _stored(url, design, first, load_if_exists, clock)


def _stored(
    url: Url,
    design: StudyDesign,
    first: list[Event],
    load_if_exists: bool,
    clock: Callable[[], float],
) -> "Study":
    """Store a new study with these events, or load the one of this name."""
    state, chain, name = StudyState.from_events(first), Chain(), design.name
    storage = open_storage(url, create=True)  # not before the events are known to be right
    number = storage.add_study(name, [chain.link(event) for event in first])
    if number is not None:
        return Study(storage.backend(number, name, state, chain, clock))
    if not load_if_exists:
        raise StudyExists(
            f"a study {name!r} already exists in {storage.shown}. Open it with load_study or with "
            "load_if_exists=True, or choose another name."
        )
    study = load_study(storage, name, clock=clock)
    differing = _differences(study.backend.known_state.created, design)
    if differing:
        raise StudyError(
            f"study {name!r} already exists in {storage.shown} with another design: "
            f"{'; '.join(differing)}. Choose another name, or the design that it has."
        )
    return study


def _differences(there: StudyDesign, wanted: StudyDesign) -> list[str]:
    """Return the differences of a stored design, in words."""
    stored, new = there.to_dict(), wanted.to_dict()
    return [
        f"{key} is {canonical(stored.get(key))}, not {canonical(new.get(key))}"
        for key in stored | new
        if key not in ("uid", "name") and stored.get(key) != new.get(key)
    ]


def load_study(
    url: Url, name: str | None = None, *, clock: Callable[[], float] = time.time
) -> "Study":
    """Load the study of this name; without a name, the only study in the database.

    ``url`` is that of ``create_study``: a database, or the address of a server.
    """
    storage = open_storage(url)
    with storage.at_one_moment():
        number, known_name = number_and_name(storage, name)
        state, chain = read_study(storage, number)
    return Study(storage.backend(number, known_name, state, chain, clock))


def load_status(url: Url, name: str | None = None) -> StudyStatus:
    """Return the status of a study as it is now, for which the database is read once.

    ``Study.status`` reads again what others have added since the study was loaded.
    """
    backend = load_study(url, name).backend
    return status_of(backend.known_state, backend.name, backend.clock())


def connect(address: str, name: str | None = None, *, token: str | None = None) -> "Study":
    """Load a study on a server, with the same methods as one in a database.

        study = connect("http://127.0.0.1:8765", "screen")
        for ticket in study.ask(8, client="robot"):
            study.tell([(ticket.id, measure(ticket.arm))])

    Args:
        address: where ``allgood serve`` runs, such as ``http://127.0.0.1:8765``, or
            ``https://...`` behind a proxy with TLS.
        name: the name of the study; may be left out if the server has only one.
        token: the token that a server on another machine asks for.  By default that of the
            environment variable ``ALLGOOD_TOKEN``; without either, none is sent.

    Raises:
        StudyError: if the server does not answer, does not know the token or has no such study.
            Later requests are repeated for half a minute before they raise; each is done once.

    ``create_study``, ``load_study``, ``list_studies``, ``delete_study``, ``import_study`` and the
    command line take an address in place of a database, too, with the token of ``ALLGOOD_TOKEN``.
    """
    from .backends.http import ServerStore  # it loads much that a database does not need

    return load_study(ServerStore(address, token), name)


def list_studies(url: Url) -> list[str]:
    """Return the names of the studies in a database."""
    return [name for _, name in open_storage(url).names()]


def overview(url: Url) -> list[StudyHead]:
    """Return name and number of events of each study in a database; nothing is computed."""
    return list(open_storage(url).overview().values())


def delete_study(url: Url, name: str) -> None:
    """Delete a study and all its events.  Only an export of it can restore it."""
    storage = open_storage(url)
    number, _ = number_and_name(storage, name)
    storage.delete_study(number)


@dataclass(frozen=True)
class ExportedStudy:
    """The events of an exported study, parsed and checked."""

    events: list[StoredEvent]
    state: StudyState
    chain: Chain


def parse_export(lines: Iterable[str]) -> ExportedStudy:
    """Parse the lines of an exported study; nothing is stored."""
    events: list[Event] = []
    chain, lines = Chain(), [line.rstrip("\r\n") for line in lines]
    with no_garbage_collection():
        chain.follow(lines, events.append, parse_line)
    if not events:
        raise ArgumentError("lines must hold the events of a study: got none.", argument="lines")
    stored = [StoredEvent(*pair) for pair in zip(events, lines, strict=True)]
    return ExportedStudy(stored, StudyState.from_events(events), chain)


def import_study(
    url: Url,
    lines: Iterable[str] | ExportedStudy,
    name: str | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> "Study":
    """Store a study from its exported events, under its own name or another."""
    study = lines if isinstance(lines, ExportedStudy) else parse_export(lines)
    name = study.state.design.name if name is None else check_text("name", name)
    return _store_export(open_storage(url, create=True), name, study, clock)


def _store_export(
    storage: Storage, name: str, study: ExportedStudy, clock: Callable[[], float]
) -> "Study":
    number = storage.add_study(name, study.events)
    if number is None:
        raise StudyExists(
            f"a study {name!r} already exists in {storage.shown}. Choose another name."
        )
    return Study(storage.backend(number, name, study.state, study.chain, clock))


def number_and_name(storage: Storage, name: str | None) -> tuple[int, str]:
    """Return the study's number in its storage, and its name."""
    known = storage.names()
    if name is None:
        if len(known) == 1:
            return known[0]
        if not known:
            raise StudyError(f"there is no study in {storage.shown} yet.")
        names = ", ".join(repr(other) for _, other in known)
        raise StudyError(f"{storage.shown} holds several studies: name one of {names}.")
    for number, other in known:
        if other == name:
            return number, other
    near = nearest(name, [other for _, other in known])
    raise StudyNotFound(f"there is no study {name!r} in {storage.shown}{near}.")


def study_by_number(
    storage: Storage, number: int, clock: Callable[[], float] = time.time
) -> "Study":
    """Load the study of this number."""
    for known, name in storage.names():
        if known == number:
            return Study(storage.backend(number, name, *read_study(storage, number), clock))
    raise StudyNotFound(f"there is no study {number} in {storage.shown}, or it was deleted.")


def _reopened(
    storage: Callable[..., Storage],
    arguments: tuple[Any, ...],
    name: str,
    clock: Callable[[], float],
) -> "Study":
    return load_study(storage(*arguments), name, clock=clock)


class Study:
    """A campaign.  :func:`create_study` and :func:`load_study` make it.

    It may be used from several threads.  Each method builds a request or reads the state; the rules
    are in ``commands/``.  There is one for each thing that a campaign does.

    Attributes:
        name: its name in its database.
        quiet: whether ``tell`` issues no warnings, because the caller reads every receipt.
    """

    quiet = False

    def __init__(self, backend: Backend) -> None:
        self.backend, self.name = backend, backend.name

    def __repr__(self) -> str:
        shown = self.backend.storage.shown
        measurements = self.backend.known_state.measured
        where = "memory" if shown == MEMORY else shown
        return f"<Study {self.name!r} in {where}: {counted(measurements, 'measurement')}>"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (*self.backend.reopening(), self.name, self.backend.clock)

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection.  The next call opens another; a study in memory ends here."""
        self.backend.close()

    @property
    def design(self) -> StudyDesign:
        """The question and the options, with arms and budget as they are now."""
        return self.backend.design

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self.design.arms

    def _execute(self, request: Command[R]) -> R:
        """Have a request decided and stored, and warn of values that do not fit the model."""
        decision = self.backend.execute(request)
        if not self.quiet:
            receipt = decision.result if isinstance(decision.result, Receipt) else Receipt(())
            _warn((*receipt.suspects, *decision.suspects), receipt.warnings)
        return decision.result

    def ask(
        self,
        n: int | None = None,
        client: str | None = None,
        lease: float | timedelta | None = None,
        plate: Plate | None = None,
    ) -> list[Ticket]:
        """Return up to n tickets to measure next.

        There are fewer if the budget is nearly spent, and none if the study is over.

        A client that asks again first gets back its own tickets that have no value yet.  Then come
        tickets whose lease has ended, whoever had them.  Then come new ones.  New tickets are
        chosen as if everything pending gave the current mean of its arm.

        Args:
            n: how many; 1 by default, or as many as the plate holds.
            client: a name for who asks.  Without a name no tickets are given back.
            lease: seconds, or a timedelta.  A ticket without a value is then offered to the next
                client that asks.  A value that comes later still counts, once.  Asking again does
                not prolong the lease.  By default a lease does not end.
            plate: lay the new tickets out on a plate.  A client with open tickets of a plate gets
                all of these and no others; it must ask for the same size, controls, edge and limit
                of wells per arm.  A client without open tickets gets such a plate whose lease has
                ended, as it was laid out, or else a new plate.
        """
        return self._execute(Ask(n, client, _seconds(lease), plate))

    def preview_ask(
        self, n: int | None = None, client: str | None = None, plate: Plate | None = None
    ) -> PlannedBatch:
        """Return the measurements that :meth:`ask` would request, with the layout of the plate.

        Nothing is stored, and no ticket exists.  If nothing happens in between, ``ask`` returns the
        same arms in the same wells.
        """
        return self.backend.preview(PreviewAsk(n, client, plate))

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
    ) -> Receipt:
        """Tell values.  The receipt reports on every row.

        All rows that can be counted are counted, in one transaction.  If others are refused,
        RefusedRows is raised after that.  A value that is told twice counts once, so a program that
        is not sure whether a value arrived can tell it again.  Rows count in the order of their
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
            grid: the number of a plate, if ``rows`` is a file that shows its wells as a grid or as
                a list without a column ``plate``, as plate readers write it.

        A value that is impossible under the model is *suspect*: it is kept, it does not count, and
        a SuspectWarning says so.
        """
        check_refused(refused)
        columns = {"ticket_column": ticket_column, "value_column": value_column}
        request = _tell(rows, client, all_or_nothing, decimal, grid, **columns)
        return settled(self._execute(request), refused)

    def preview(self, rows: Any, **options: Any) -> Receipt:
        """Return the receipt that :meth:`tell` would return.  Nothing is stored."""
        return self.backend.preview(_tell(rows, **_without_refused(options)))

    def preview_counts(self, rows: Any, **options: Any) -> Receipt:
        """Return the receipt that :meth:`tell_counts` would return.  Nothing is stored."""
        return self.backend.preview(_tell_counts(rows, **_without_refused(options)))

    def preview_replacement(self, rows: Any, reason: str, **options: Any) -> Receipt:
        """Return the receipt that :meth:`replace` would return.  Nothing is stored."""
        return self.backend.preview(_replace(rows, reason, **_without_refused(options)))

    def check_plate(self, plate: int) -> PlateCheck:
        """Check a plate that was told: controls, Z', edge, gradients, and whether it is another.

        :meth:`preview` does it before anything is stored.
        """
        with self.backend.reading() as state:
            return check_plate(state, known_plate(plate, state))

    def confirm(self, ticket: "str | Ticket", reason: str, *, client: str | None = None) -> Change:
        """Let a suspect value count.

        **The guarantee needs reasons that have nothing to do with what the value does to the
        verdict**, such as a look at the instrument's own record.
        """
        return self._execute(Confirm(ticket_name(ticket), reason, client))

    def fail(
        self,
        tickets: "str | Ticket | Iterable[str | Ticket] | None" = None,
        reason: str = "",
        *,
        batch: int | None = None,
        client: str | None = None,
        refused: WhenRefused = "raise",
    ) -> Receipt:
        """Report that tickets, or all open tickets of a batch, will have no value.

        Their arms may be asked for again.  Values that were told before stay: RefusedRows is raised
        if a named ticket has one, unless ``refused`` is "report".  Tickets that failed before are
        duplicates in the receipt.  **The guarantee needs failures that have nothing to do with the
        values**: a plate that was dropped, not one that looks bad.  A bad value is a value.
        Values that waited for these tickets are processed now; SuspectWarning is issued if one of
        them is suspect.

        Args:
            tickets: one ticket, or several.
            reason: why there will be no value.
            batch: the number of a batch or a plate, in place of tickets.
            client: a name for who reports it.
            refused: "raise" RefusedRows, which has the receipt; or "report" in the receipt only.
        """
        check_refused(refused)
        return settled(self._execute(Fail(reason, _names(tickets), batch, client)), refused)

    def withdraw(
        self,
        tickets: "str | Ticket | Iterable[str | Ticket] | None" = None,
        *,
        reason: str,
        basis: Basis,
        batch: int | None = None,
        wells: str | Sequence[str] | None = None,
        source: str | None = None,
        period: str | None = None,
        client: str | None = None,
    ) -> Change:
        """Withdraw values that were told: they do not count, as if their tickets had failed.

        Their arms may be asked for again, by new tickets.  The old values stay in the history.
        Labels become those of the other values; the result names the labels that are taken back.
        ``correct`` and ``replace`` give withdrawn tickets a value again.

        **The guarantee depends on the basis.**  If it is "cause", the guarantee holds if the cause
        was noticed without regard to the values, and status, report and certificate say so.  If it
        is "values", the guarantee does not hold any more.  A rule on controls that is fixed
        beforehand costs nothing: see ``min_z_prime`` of ``create_study``.

        Args:
            tickets: one ticket, or several; also those of counts and of unrequested values.
            reason: why the values do not count, such as an air bubble.
            basis: "cause" or "values".
            batch: the number of a batch or plate in place of tickets: all its values and controls.
            wells: only these wells of the plate, such as ["A1", "B7"] or "A1:B4, column 12".
            source: the source of counts or of an unrequested value, in place of tickets.
            period: only the counts of this period.
            client: a name for who withdraws them.
        """
        names = _names(tickets)
        request = Withdraw(reason, basis, names, batch, wells, source, period, client)
        return self._execute(request)

    def replace(
        self, rows: Any, reason: str, *, refused: WhenRefused = "raise", **options: Any
    ) -> Receipt:
        """Replace values that were told, such as those of a plate whose file was another's.

        All rows count, or none does.  Values that differ replace what was told, in one event; the
        old ones stay in the history.  Values of open tickets are told.  The receipt names the
        labels that change.  **The guarantee needs reasons that have nothing to do with the
        values**, as for ``correct``.  For counts, see ``correct`` of ``tell_counts``.

        Args:
            rows: those of ``tell``: pairs, mappings, a table, a file or a grid.
            reason: why the values differ from those that were told before.
            refused: "raise" RefusedRows, which has the receipt; or "report" in the receipt only.
            options: ``client``, ``decimal``, ``grid``, ``ticket_column`` and ``value_column`` of
                ``tell``.
        """
        check_refused(refused)
        return settled(self._execute(_replace(rows, reason, **options)), refused)

    def add_measurement(
        self,
        arm: str,
        value: float | str,
        source: str,
        *,
        client: str | None = None,
        refused: WhenRefused = "raise",
    ) -> ReceiptRow:
        """Count a value that nobody requested.

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
        """Tell totals, such as those of a day: number and sum of many measurements of each arm.

        The rows of one call are one transaction.  The same source, period and arm count once; with
        other numbers they are refused, unless ``correct`` is given.  See ``counts.py`` for what a
        row holds, and why looking once a day is fine.  **The guarantee needs all measurements of a
        period, whatever they are**: tell it when it is over, not while conversions still come in.

        Args:
            rows: mappings, a mapping of columns, a data frame, or the path of a file in CSV or
                .xlsx, with ``arm``, ``n``, ``sum`` or ``mean``, and for ``Gaussian(None)`` ``sd``
                or ``variance``.
            source: where the numbers come from, such as the name of a table.
            period: the day, or another name for what the numbers are about; or a column ``period``.
            columns: the table's names of these columns if they differ, such as {"n": "visitors"}.
            decimal: "," if texts have decimal commas.
            client: a name for who tells.
            correct: why numbers differ from those that were told before, which they then replace.
                See ``Study.correct`` for what the guarantee needs.
            refused: "raise" RefusedRows, which has the receipt; or "report" in the receipt only.
        """
        check_refused(refused)
        request = _tell_counts(rows, source, period, columns, decimal, client, correct)
        return settled(self._execute(request), refused)

    def correct(
        self,
        measurement: "str | Ticket",
        value: "float | str | Mapping[str, Any]",
        reason: str,
        *,
        client: str | None = None,
    ) -> Change:
        """Replace a value that was told.  For counts, give a mapping with n, and sum or mean.

        The old value stays in the history.  Labels become those of the new value.  **The guarantee
        needs reasons that have nothing to do with the value**, such as a misplaced decimal point
        or a mixed-up well.
        """
        return self._execute(Correct(ticket_name(measurement), value, reason, client))

    def drop_arm(self, arm: str, reason: str, *, client: str | None = None) -> Change:
        """Never ask for an arm again.

        An arm that has values stays in the question.  Its values count, it keeps its label, and
        others are still compared with it.  While its label is open, the study as a whole cannot be
        certified.  An arm without any value, or with censored waits only, leaves the question,
        which is then about the others.
        """
        return self._execute(DropArm(arm, reason, client))

    def restore_arm(self, arm: str, reason: str, *, client: str | None = None) -> Change:
        """Let a dropped arm be measured again.

        This costs nothing of the guarantee if the arm has values, because any rule may choose what
        is measured.  An arm that had left the question comes back into it: labels that were
        certified without it are taken back, and its open tickets have failed.  Labels that stand
        in the end have the risk delta; those that were shown in between were about the other arms,
        and have a delta of their own (docs/study-proofs.md).
        """
        return self._execute(RestoreArm(arm, reason, client))

    def add_arms(self, arms: Sequence[str], reason: str, *, client: str | None = None) -> Change:
        """Add arms to the question, once: at most as many as the study has places for new arms.

        They must be added before the first label is certified: "good" means good among all arms.
        Claims begin again with the new arms in the question, and nothing is certified before each
        has a value.  The arms may be designed after a look at the values.

        **The guarantee needs this:** tell all values that were seen before arms are added, and no
        value of a new arm that was seen before it was added.  Afterwards, drop no arm without a
        value because of how the others did.

        docs/study-proofs.md shows why the guarantee stays.
        """
        return self._execute(AddArms(arms, reason, client))

    def set_budget(self, budget: int | None, reason: str, *, client: str | None = None) -> Change:
        """Give the study another budget: the number of measurements in all; None for no limit.

        The guarantee holds however long a study goes on, and whatever decides that.  So another
        budget costs nothing, even if it is chosen after a look at the values.  A budget below the
        number of told and pending measurements is refused.
        """
        limit = int(budget) if isinstance(budget, np.integer) else budget
        return self._execute(SetBudget(limit, reason, client))

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
        """Return the labels certified so far, and the evidence on the others; changes nothing."""
        with self.backend.reading() as state:
            return status_of(state, self.name, self.backend.clock())

    def hits(
        self, label: "Label | Iterable[Label] | None" = None, guess: "Guess | None" = None
    ) -> HitList:
        """Return the hit list: arms with label, best guess and estimate, the best first.

        ``study.hits().save("hits.xlsx")`` writes it for a spreadsheet.

        Args:
            label: only arms with this label, or one of these; all by default.
            guess: of the open arms, only those with this guess, which nothing guarantees.
        """
        return hits_of(self.status(), label, guess)

    def forecast(self) -> "Forecast":
        """Simulate how many measurements may still be needed, and compute the lower bound.

        This changes nothing.  It takes milliseconds with 60 arms, half a minute with 10,000.
        """
        from .forecast import forecast_input, forecast_of  # only this needs solver and simulation

        with self.backend.reading() as state:
            study = forecast_input(state)
        return forecast_of(study)

    def sheet(self, tickets: Iterable[Ticket]) -> list[AskedRow]:
        """Return the rows of a sheet for these tickets, with the controls of their plates."""
        tickets = list(tickets)
        rows = [AskedRow(t.id, t.arm, t.batch if t.well else "", t.well or "") for t in tickets]
        plates = sorted({t.batch for t in tickets if t.well})
        if plates:
            with self.backend.reading() as state:
                for batch in plates:
                    placed = state.plates[batch]["placed"]
                    rows += [AskedRow("", control, batch, well) for well, control in placed.items()]
        return rows

    def events(self, after: int = 0) -> list[Event]:
        """Return all events with numbers above ``after``, in order."""
        return [stored_event(line) for line in self.backend.lines(after)]

    def history(self, before: int | None = None, limit: int = 50) -> HistoryPage:
        """Return what happened, request by request, the newest first.

        A told plate is one entry.  ``before`` of a page gives the next one.

        Args:
            before: only requests whose events have smaller numbers.
            limit: how many requests at most.
        """
        before = None if before is None else count("before", before)
        limit = count("limit", limit)
        with self.backend.reading() as state:
            return history_page(self.backend, state, limit=limit, before=before)

    def table(self, what: Literal["values", "events"] = "values") -> Table:
        """Return the values that were told, or all events, as a table.

        It has ``to_csv`` and ``to_parquet``.  Times are in seconds since 1970.  A value *counts*,
        is *suspect* or is *waiting* for earlier tickets, was *withdrawn*, or was *rejected* with
        its plate (``min_z_prime``).  ``first`` is the value before any
        correction, ``raw`` the value before it was normalised, ``source`` that of an unrequested
        value.  Counts are the sum of n values of a period, with their scatter about their mean if
        sigma is unknown.
        """
        if what not in ("values", "events"):
            raise ArgumentError(
                f"what must be 'values' or 'events': got {what!r}.", argument="what"
            )
        with self.backend.reading() as state:
            if what == "values":
                return values_table(state)
            return events_table(self.events()[: state.seq], state.design)

    def to_pandas(self, what: Literal["values", "events"] = "values") -> "pandas.DataFrame":
        """Return ``table(what)`` as a pandas DataFrame (extra ``frames``)."""
        return self.table(what).to_pandas()

    def export(self, after: int = 0, **filters: Any) -> Iterator[str]:
        """Return the events as lines of JSON, each with its line end.

        ``Path("study.jsonl").write_text("".join(study.export()))`` saves the study, and
        ``import_study`` reads it.  ``after`` and ``filters`` are those of ``Backend.lines``.
        """
        after = count("after", after, least=0)
        before, limit = filters.pop("before", None), filters.pop("limit", None)
        end = self.backend.end + 1
        end = end if before is None else min(end, before)
        return self._in_parts(after, end, limit, filters)

    def _in_parts(
        self, after: int, end: int, left: int | None, filters: dict[str, Any]
    ) -> Iterator[str]:
        """Return the lines of events before number ``end``, some at a time."""
        whole = not any(filters.values())  # then no event between the two may be missing
        while left is None or left > 0:
            size = PART if left is None else min(PART, left)
            lines = self.backend.lines(after, before=end, limit=size, **filters)
            last = stored_event(lines[-1]).seq if lines else after
            if whole and (last != after + len(lines) or (len(lines) < size and last < end - 1)):
                raise DamagedStudy(
                    f"the study is damaged: events after event {after} are missing. check_study "
                    "says more.",
                    after,
                )
            yield from (f"{line}\n" for line in lines)
            if len(lines) < size:
                return
            after, end = (after, last) if filters.get("newest") else (last, end)
            left = None if left is None else left - size

    def copy(
        self,
        url: Url,
        name: str,
        *,
        objective: Objective | None = None,
        delta: float | None = None,
    ) -> "Study":
        """Store a new study with the same arms, model and values, and another question.

        **Its risk adds to the risk of this study.**  If the new question was chosen without regard
        to the values, then the copy certifies a wrong label with probability at most its delta, and
        this study with at most its own.  If epsilon was chosen after a look at the values, and both
        objectives are Additive, the risk of the copy is at most twice its delta
        (docs/study-proofs.md).  For other questions that were chosen after a look there is no
        bound: begin a new study.

        Tickets that are open stay open, with ids of the copy's own: tell a value to both studies,
        or let the tickets of the copy fail.  A value that was confirmed and is not suspect at the
        new delta needs no confirmation.  A value that is suspect only there waits for one.

        Args:
            url, name: where the copy is stored, and its name.
            objective, delta: of the new question; by default those of this study.
        """
        with self.backend.reading() as state:
            lines, created = self.backend.lines()[: state.seq], state.created
        design = created.copied(name, objective, delta)
        now = max(self.backend.clock(), math.nextafter(state.times[1], math.inf))
        copied = ExportedStudy(*copy_events(lines, design, created, now))
        return _store_export(open_storage(url, create=True), name, copied, self.backend.clock)

    def certificate(self) -> dict[str, Any]:
        """Return the verdict so far, with every number that it rests on."""
        from ..certificates.write import certificate_of

        with self.backend.reading() as state:
            return certificate_of(state, digest(self.backend.lines(before=state.seq + 1)))

    @property
    def open_tickets(self) -> list[Ticket]:
        """Tickets without a value."""
        with self.backend.reading() as state:
            return [state.public_ticket(ticket) for ticket in state.open.values()]


def _tell(
    rows: Any,
    client: str | None = None,
    all_or_nothing: bool = False,
    decimal: str = ".",
    grid: int | None = None,
    ticket_column: str = "ticket",
    value_column: str = "value",
) -> Tell:
    """Read rows, and return the request to tell them."""
    sheet = read_rows(rows, ticket_column, value_column, decimal, grid)
    return Tell(sheet.rows, client, all_or_nothing, sheet.notes, sheet.grid)


def _replace(
    rows: Any,
    reason: str,
    client: str | None = None,
    decimal: str = ".",
    grid: int | None = None,
    ticket_column: str = "ticket",
    value_column: str = "value",
) -> Replace:
    """Read rows, and return the request to replace what was told."""
    sheet = read_rows(rows, ticket_column, value_column, decimal, grid)
    return Replace(sheet.rows, reason, client, sheet.notes, sheet.grid)


def _names(
    tickets: "str | Ticket | Iterable[str | Ticket] | None",
) -> list[str] | None:
    """Return the ids of one ticket or of several; None if there are none."""
    if isinstance(tickets, str | Ticket):
        tickets = [tickets]
    return None if tickets is None else [ticket_name(ticket) for ticket in tickets]


def _tell_counts(
    rows: Any,
    source: str,
    period: str | None = None,
    columns: Mapping[str, str] | None = None,
    decimal: str = ".",
    client: str | None = None,
    correct: str | None = None,
) -> TellCounts:
    """Read a table of counts, and return the request to tell it."""
    table = read_counts(rows, columns, decimal)
    return TellCounts(
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


def _without_refused(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "refused"}


def _seconds(lease: "float | timedelta | None") -> float | None:
    return lease.total_seconds() if isinstance(lease, timedelta) else lease


def _warn(suspects: Sequence[ReceiptRow], doubts: Sequence[str]) -> None:
    """Make sure that values which are held back, and a model that does not fit, are seen."""
    if suspects:
        more = f" (and {len(suspects) - 1} more)" if len(suspects) > 1 else ""
        warnings.warn(f"{suspects[0].message}{more}.", SuspectWarning, stacklevel=4)
    for doubt in doubts:
        warnings.warn(doubt, ModelWarning, stacklevel=4)
