"""Store events in a SQLite file or in a PostgreSQL database.

A change of a study is one transaction: take the lock, read what others have added, decide, add,
commit.  In SQLite the lock is that of the file (BEGIN IMMEDIATE).  With the write-ahead log and
full synchronisation, an acknowledged change survives a crash of the program and of the machine.
In PostgreSQL the lock is that of the study's row.

The last event that a program knows of a study is compared with the database in every transaction
(``EventLog.catch_up``): a database may be restored from a backup, or a replica that lags behind may
take over.  Its file and its write-ahead log may be moved or deleted (``Store._check_files``).

A SQLite file can be read without write access to the file or to its folder.

A database in memory (``:memory:``) is its one connection.  It ends with that, and with the process.
"""

import os
import sqlite3
import sys
import time
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool

from ..commands.base import Command, Decision, Draft, R, decide
from ..events import BrokenChain, Chain, Event, StoredEvent, line_digest, parse_line, stored_event
from ..lookup import find_ticket
from ..state import StudyState, TicketRecord
from .base import Backend, Storage, StudyHead
from .errors import (
    DamagedStudy,
    DatabaseNotFound,
    DatabaseUnavailable,
    HistoryChanged,
    IdempotencyConflict,
    StudyError,
    StudyNotFound,
)

SCHEMA = 1
WAL_RESET_FIXED = (3, 51, 3)  # version of SQLite without https://sqlite.org/wal.html#walresetbug
MEMORY = ":memory:"
CHUNK = 10_000  # events that are read at a time
PATIENCE = 60.0  # seconds to wait for the lock of the database
IMMUTABLE = "immutable=1"  # SQLite then neither locks the file nor looks for logs beside it

metadata = sql.MetaData()
schema = sql.Table("allgood_schema", metadata, sql.Column("version", sql.Integer, nullable=False))
# The columns ``events`` and ``digest`` say where the study ends (``Chain``).  They are written
# together with its events, so that events that are missing at the end are noticed, too.
studies = sql.Table(
    "allgood_studies",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sql.Column("events", sql.Integer, nullable=False),
    sql.Column("digest", sql.Text, nullable=False),
    sqlite_autoincrement=True,  # the number of a deleted study is not used again
)
# An event is stored as its line.  The other columns repeat parts of it, for queries.  Arm and batch
# of an event that has none, but a ticket, are those of the ticket.
COPIED = ("kind", "ticket", "arm", "batch", "client")
MAKES_TICKET = ("ticket", "unrequested", "counts")  # kinds of events that make a ticket
events = sql.Table(
    "allgood_events",
    metadata,
    sql.Column(
        "study",
        sql.Integer,
        sql.ForeignKey("allgood_studies.id"),
        primary_key=True,
        autoincrement=False,
    ),
    sql.Column("seq", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("ticket", sql.Integer),
    sql.Column("arm", sql.Integer),
    sql.Column("batch", sql.Integer),
    sql.Column("client", sql.Text),
    sql.Column("line", sql.Text, nullable=False),
)
# Each filter of ``EventLog.lines`` reads no more rows than it returns.  As text: sql.Index would
# import the dialect of PostgreSQL for the condition, also if the database is a SQLite file.
INDEXES = tuple(
    f"CREATE INDEX allgood_by_{name} ON allgood_events (study, {name}, seq) "
    f"WHERE {name} IS NOT NULL"
    for name in ("kind", "ticket", "arm", "batch")
)
# Rules that the database itself keeps, whatever a program tries: no ticket has two values, no event
# is missing between two others, no event is changed.
NEXT = "1 + COALESCE((SELECT max(seq) FROM allgood_events WHERE study = NEW.study), 0)"
GAP = "event not stored: its number does not follow that of the last event of the study"
CHANGED = "event not changed: stored events stay as they are"
ONE_VALUE = (
    "CREATE UNIQUE INDEX allgood_one_value ON allgood_events (study, ticket) "
    "WHERE kind IN ('measurement', 'unrequested', 'counts')"
)
RULE_NAMES = ("allgood_one_value", "allgood_no_gap", "allgood_no_change")
SQLITE_RULES = (
    ONE_VALUE,
    f"CREATE TRIGGER allgood_no_gap BEFORE INSERT ON allgood_events WHEN NEW.seq <> {NEXT} "
    f"BEGIN SELECT RAISE(ABORT, '{GAP}'); END",
    "CREATE TRIGGER allgood_no_change BEFORE UPDATE ON allgood_events "
    f"BEGIN SELECT RAISE(ABORT, '{CHANGED}'); END",
)
POSTGRESQL_RULES = (
    ONE_VALUE,
    "CREATE FUNCTION allgood_no_gap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF NEW.seq <> {NEXT} THEN "
    f"RAISE EXCEPTION '{GAP}' USING ERRCODE = 'integrity_constraint_violation'; "
    "END IF; RETURN NEW; END $$",
    "CREATE FUNCTION allgood_no_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"RAISE EXCEPTION '{CHANGED}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE TRIGGER allgood_no_gap BEFORE INSERT ON allgood_events "
    "FOR EACH ROW EXECUTE FUNCTION allgood_no_gap()",
    "CREATE TRIGGER allgood_no_change BEFORE UPDATE ON allgood_events "
    "FOR EACH ROW EXECUTE FUNCTION allgood_no_change()",
)
# Built once: constructing the SQL statement costs more than executing it.
IN_STUDY = events.c.study == sql.bindparam("number")
NEWER = sql.select(events.c.line).where(IN_STUDY, events.c.seq > sql.bindparam("after"))
IN_ORDER, NEWEST_FIRST = NEWER.order_by(events.c.seq), NEWER.order_by(events.c.seq.desc())
VERSION = sql.select(schema.c.version)
LINE = sql.select(events.c.line).where(IN_STUDY, events.c.seq == sql.bindparam("seq"))
HEAD = sql.select(
    studies.c.events, studies.c.digest, VERSION.scalar_subquery().label("version")
).where(studies.c.id == sql.bindparam("number"))
SET_HEAD = (
    studies.update()
    .where(studies.c.id == sql.bindparam("number"))
    .values(events=sql.bindparam("seq"), digest=sql.bindparam("last"))
)
INSERT = events.insert()
OVERVIEW = sql.select(studies.c.id, studies.c.name, studies.c.events, studies.c.digest).order_by(
    studies.c.id
)

# The answers to requests with a key (``Store.once``).  Only servers use this table and make it.
server_metadata = sql.MetaData()
answers = sql.Table(
    "allgood_answers",
    server_metadata,
    sql.Column("study", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("key", sql.Text, primary_key=True),
    sql.Column("request", sql.Text, nullable=False),
    sql.Column("answer", sql.LargeBinary, nullable=False),
    sql.Column("time", sql.Double, nullable=False),
)
ANSWERED = sql.select(answers.c.request, answers.c.answer).where(
    answers.c.study == sql.bindparam("number"), answers.c.key == sql.bindparam("key")
)
ANSWER = answers.insert()
REMEMBERED = 7 * 86400.0  # seconds for which a server knows what it has answered


@dataclass
class Deadline:
    """The end of all waiting for locks on behalf of one request.

    Attributes:
        until: when waiting ends, by ``time.monotonic``.
        is_ending: returns whether the program is shutting down, so that nothing may wait.
    """

    until: float
    is_ending: Callable[[], bool]


DEADLINE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


Identity = tuple[int, int]  # of a file: its device and its number there


def _identity(path: Path) -> Identity | None:
    """Return device and number of the file at this path; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Look(NamedTuple):
    """Time of change and size of a SQLite file, and the size of its write-ahead log."""

    changed: int
    size: int
    log: int


class Store(Storage):
    """A database of studies.

    Attributes:
        url: with an absolute path, so that it stays valid when the program changes its folder.
        shown: the url as it was written, without a password.
        patience: seconds to wait for the lock of a SQLite file.

    A database is made if ``create`` is True.  Otherwise it is checked: at once, or in the first
    transaction if ``check`` is False.
    """

    def __init__(
        self,
        url: "str | os.PathLike[str]",
        *,
        create: bool = False,
        check: bool = True,
        patience: float = PATIENCE,
    ) -> None:
        self.patience = patience
        self.url = parsed_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.in_memory = self.sqlite and self.url.database == MEMORY
        self.shown = (
            str(self.path) if self.sqlite else self.url.render_as_string(hide_password=True)
        )
        if self.in_memory and not create:
            raise StudyError(
                f"url must be of a database that others can open: got {MEMORY!r}, and a study in "
                "memory is known to the program that made it and to nobody else."
            )
        if self.sqlite and not self.in_memory:
            path = self.path
            if not create and not path.is_file():
                raise DatabaseNotFound(f"there is no database file {str(path)!r}.")
            if not path.parent.is_dir():
                raise StudyError(f"url must be in an existing folder: got {str(path)!r}.")
            if not path.exists() and self._obstacle():
                raise StudyError(
                    f"{str(path)!r} cannot be created: this program may not write in its folder."
                )
            self.url = self.url.set(database=str(path.absolute()))
        self._connection: sql.Connection | None = None
        self._process = 0
        self._whole: sql.Connection | None = None  # during ``_joined``
        self._checked = create  # whether the database is known to be one of studies
        self._mode = ""  # how SQLite has opened the file; empty: to read and to write
        self._file: Identity | None = None  # of the file, from the first transaction on
        self._log: Identity | None = None  # of its write-ahead log, while it is open
        self._stamp: tuple[int, int] | None = None  # time of change and size of the file
        with reported(self.shown):
            if create:
                self._make()
            elif check:
                with self.transaction(write=False):
                    pass  # the first one checks the database

    @property
    def path(self) -> Path:
        return Path(self.url.database or "")

    def twin(self) -> "Store":
        """Return a store of the same database, with a connection of its own."""
        other = copy(self)
        other._connection, other._whole, other._process = None, None, 0
        other._log = other._stamp = None
        return other

    def let_go(self) -> None:
        """Close the connection, unless the database would end with it."""
        if not self.in_memory:
            self.close()

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = self._log = self._stamp = None

    def _connected(self) -> sql.Connection:
        """Return the connection of this process, and leave one of the parent process alone."""
        self._check_files()
        if self._stamp is not None and self._stamp != self._file_stamp():
            # Another program wrote the file: it moved the log into the file, or restored a backup.
            # SQLite may remember pages that are no longer there; a new connection does not.
            self.close()
        if self._connection is None or self._process != os.getpid():
            if self.in_memory and self._process:
                raise StudyError(
                    "a study in memory ends when it is closed, and with the process that made it: "
                    "export it before, or use a file."
                )
            engine = sql.create_engine(self.url, poolclass=NullPool, **self._how_to_open())
            if self.sqlite:
                sql.event.listen(engine, "begin", _begin)
                if not self._mode:
                    patience = self.patience  # not self: the engine must not keep the store
                    sql.event.listen(engine, "connect", lambda new, _: _set_up(new, patience))
            self._connection, self._process = engine.connect(), os.getpid()
            _in_use.add(self)
            self._check_files()
        return self._connection

    def _check_files(self) -> None:
        """Fail if the SQLite file or its write-ahead log is no longer the one that was opened.

        SQLite would go on with files that were deleted, and what it stores there would be lost.
        """
        if not self.sqlite or self.in_memory:
            return
        there = _identity(self.path)
        if self._file is None:
            self._file = there
        elif there != self._file:
            self.close()
            raise DatabaseUnavailable(
                f"{self.shown} was moved, deleted or replaced by another file while it was in use. "
                "Put the file back, or open the study again."
            )
        if self._log is not None and self._connection is not None:
            log = _identity(self._log_path)
            if log != self._log:
                if log is None:
                    self._move_log_into_file()
                self.close()
                raise DatabaseUnavailable(
                    f"{self._log_path.name}, which belongs to {self.shown} and holds its latest "
                    "changes, was moved, deleted or replaced while it was in use. Nothing was "
                    "changed now. Check the study (check_study) before you go on."
                )

    @property
    def _log_path(self) -> Path:
        """The write-ahead log, which SQLite keeps beside the file itself, not beside a link."""
        path = self.path.resolve()
        return path.with_name(f"{path.name}-wal")

    def _file_stamp(self) -> tuple[int, int] | None:
        """Time of change and size of a SQLite file that others may write."""
        if not self.sqlite or self.in_memory:
            return None
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _move_log_into_file(self) -> None:
        """Save what a deleted write-ahead log holds, which SQLite still has open.

        Nothing is lost yet, unless another program has begun a new log; then this must not be done.
        """
        assert self._connection is not None
        driver: Any = self._connection.connection.driver_connection
        with suppress(sqlite3.Error):
            driver.rollback()
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)").close()

    def _how_to_open(self) -> dict[str, Any]:
        """Options for a SQLite file that this program may not change; none for other databases.

        If a write-ahead log holds changes, SQLite reads them with the file.  If there is none,
        SQLite would have to make one even to read, unless it is told that nobody changes the file.
        ``_unchanged`` looks whether that was so.
        """
        self._mode = ""
        if self.in_memory:
            return {"connect_args": {"check_same_thread": False}}
        if not self.sqlite or not self._obstacle():
            return {}
        self._seen = self._look()
        self._mode = "mode=ro" if self._seen.log else IMMUTABLE
        return {"creator": self._open_to_read}

    def _open_to_read(self) -> sqlite3.Connection:
        uri = f"{self.path.as_uri()}?{self._mode}"
        try:
            connection = sqlite3.connect(
                uri, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True
            )
            connection.execute("SELECT 1 FROM sqlite_master").close()
        except sqlite3.OperationalError as error:
            if self._mode == IMMUTABLE:
                raise
            raise StudyError(
                f"{self.shown} cannot be read here: its latest changes are in "
                f"{self.path.name}-wal, and SQLite cannot open the two files together ({error}). "
                "Copy both to a folder in which you may write, and read the copy."
            ) from error
        return connection

    def _obstacle(self) -> str:
        """Return the obstacle to changing the file; empty if there is none."""
        if self.in_memory:
            return ""
        path = self.path.resolve()
        if not os.access(path.parent, os.W_OK):
            return f"you have no write access to the folder {str(path.parent)!r}"
        may = not path.exists() or os.access(path, os.W_OK)
        return "" if may else "you have no write access to the file"

    def _look(self) -> "Look":
        file = self.path.resolve().stat()
        size = self._log_path.stat().st_size if self._log_path.exists() else 0
        return Look(file.st_mtime_ns, file.st_size, size)

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Fail if a file that SQLite reads as immutable is changed by a program that may."""
        try:
            yield
        finally:
            if self._mode == IMMUTABLE:
                self.close()  # what SQLite remembers of the file must not outlive a transaction
                if self._look() != self._seen:
                    raise StudyError(
                        f"{self.shown} was changed by another program while it was read: try again."
                    )

    @contextmanager
    def transaction(self, write: bool) -> Iterator[sql.Connection]:
        """Open a transaction, of which either all changes are stored or none."""
        if self._whole is not None:
            yield self._whole
            return
        if write and self.sqlite:
            self._check_writable()
        with reported(self.shown):
            connection = self._connected().execution_options(
                allgood_write=write, allgood_patience=self.patience
            )
            try:
                with self._unchanged(), connection.begin():
                    if write and self.sqlite and not self.in_memory and self._log is None:
                        self._log = _identity(self._log_path)
                    if not self._checked:
                        self._check_schema(connection)
                    yield connection
                    if write:
                        self._check_files()
                if write:
                    self._check_files()
                self._stamp = self._file_stamp()
            except (OperationalError, HistoryChanged):
                self.let_go()  # the server may have gone; the next transaction connects again
                raise

    def together(self) -> AbstractContextManager[sql.Connection]:
        """Open one transaction to write; those that are opened inside it become parts of it."""
        return self._joined(write=True)

    def at_one_moment(self) -> AbstractContextManager[sql.Connection]:
        """Open one transaction to read; those that are opened inside it become parts of it."""
        return self._joined(write=False)

    @contextmanager
    def _joined(self, write: bool) -> Iterator[sql.Connection]:
        before = self._whole
        with self.transaction(write) as connection:
            self._whole = connection
            try:
                yield connection
            finally:
                self._whole = before

    def remember_answers(self, now: float) -> None:
        """Make the table of answers, if there is none, and forget the old ones."""
        with self.transaction(write=True) as connection:
            if not self.sqlite:  # one program at a time
                connection.execute(sql.text("SELECT pg_advisory_xact_lock(7239081)"))
            server_metadata.create_all(connection)
            connection.execute(answers.delete().where(answers.c.time < now - REMEMBERED))

    def once(
        self, number: int, key: str, request: str, now: float, do: Callable[[], bytes]
    ) -> tuple[bytes, bool]:
        """Execute a request once, however often it is sent with this key.

        The changes that ``do`` makes in this database are stored together with its answer.  If
        ``do`` fails, the key is free again.

        Args:
            number: the study that the request is about; 0 for the database.
            key: the key of the request.
            request: a digest of all that the answer depends on.
            now: the time.
            do: the work; returns the answer.

        Returns:
            The answer, and whether it is an earlier one.
        """
        with self.together() as connection:
            if not self.sqlite:  # one program at a time does what has this key
                lock = sql.text("SELECT pg_advisory_xact_lock(:number, hashtext(:key))")
                connection.execute(lock, {"number": number, "key": key})
            row = connection.execute(ANSWERED, {"number": number, "key": key}).first()
            if row is not None:
                if row.request != request:
                    raise IdempotencyConflict(
                        f"Idempotency-Key {key!r} was already used for a different request. "
                        "Use a new key for a new request."
                    )
                return zlib.decompress(row.answer), True
            answer = do()
            parts = {"study": number, "key": key, "request": request, "time": now}
            connection.execute(ANSWER, parts | {"answer": zlib.compress(answer, 1)})
            return answer, False

    def _check_writable(self) -> None:
        if self._mode:
            self.close()  # by now the file may be writable
        if obstacle := self._obstacle():
            raise StudyError(f"{self.shown} can be read but not changed: {obstacle}.")

    def _make(self) -> None:
        with self.transaction(write=True) as connection:
            if not self.sqlite:  # one program at a time
                connection.execute(sql.text("SELECT pg_advisory_xact_lock(7239081)"))
            if not sql.inspect(connection).has_table(schema.name):
                metadata.create_all(connection)
                rules = SQLITE_RULES if self.sqlite else POSTGRESQL_RULES
                for statement in (*INDEXES, *rules):
                    connection.exec_driver_sql(statement)
                connection.execute(schema.insert().values(version=SCHEMA))

    def _check_schema(self, connection: sql.Connection) -> None:
        if not sql.inspect(connection).has_table(schema.name):
            raise DatabaseNotFound(f"{self.shown} is not a database of studies.")
        self._check_version(int(connection.execute(VERSION).scalar_one()))
        self._checked = True

    def _check_version(self, version: int) -> None:
        if version != SCHEMA:
            raise StudyError(
                f"{self.shown} has schema version {version}, and this version of allgood knows "
                f"version {SCHEMA}: use the version of allgood that made the database."
            )

    def integrity_problems(self) -> list[str]:
        """Return the problems that the database itself reports, and the rules that it lacks."""
        found: list[str] = []
        with self.transaction(write=False) as connection:
            if self.sqlite:
                for (text,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
                    if text != "ok":
                        found.append(f"the file is damaged: {text}.")
                there = "SELECT name FROM sqlite_master"
            else:
                there = (
                    "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D' "
                    "UNION SELECT indexname FROM pg_indexes"
                )
            known = set(connection.exec_driver_sql(there).scalars())
        missing = [name for name in RULE_NAMES if name not in known]
        if missing:
            found.append(
                f"the database no longer has the rules {', '.join(missing)}, which keep events "
                "from being changed: somebody has removed them."
            )
        return found

    def names(self) -> list[tuple[int, str]]:
        with self.transaction(write=False) as connection:
            query = sql.select(studies.c.id, studies.c.name).order_by(studies.c.id)
            return [(int(number), str(name)) for number, name in connection.execute(query)]

    def overview(self, number: int | None = None) -> dict[int, "StudyHead"]:
        """Return name and size of each study, or of one, by number; its state is not read."""
        with self.transaction(write=False) as connection:
            query = OVERVIEW if number is None else OVERVIEW.where(studies.c.id == number)
            found = [StudyHead(*row) for row in connection.execute(query)]
        return {head.id: head for head in found}

    def marker(self) -> object:
        """Return a value that stays the same while no other connection changes the SQLite file.

        None if there is no such value.
        """
        if not self.sqlite or self.in_memory:
            return None
        with reported(self.shown):
            connection = self._connected()
            if self._mode == IMMUTABLE:
                return None
            driver: Any = connection.connection.driver_connection
            return id(connection), driver.execute("PRAGMA data_version").fetchone()[0]

    def add_study(self, name: str, first: Sequence[StoredEvent]) -> int | None:
        """Add a study and its first events; return its number, or None if the name is taken."""
        try:
            # In PostgreSQL an error spoils the transaction, hence one within.
            with self.transaction(write=True) as connection, connection.begin_nested():
                taken = connection.execute(
                    sql.select(studies.c.id).where(studies.c.name == name)
                ).first()
                if taken is not None:
                    return None
                insert = studies.insert().values(name=name, events=0, digest="")
                number = int(connection.execute(insert.returning(studies.c.id)).scalar_one())
                EventLog(self, connection, number).append(first)
                return number
        except IntegrityError:  # another process took the name between the two statements
            return None

    def backend(
        self, number: int, name: str, state: StudyState, chain: Chain, clock: Callable[[], float]
    ) -> "SqlBackend":
        return SqlBackend(self, number, name, state, chain, clock)

    def delete_study(self, number: int) -> None:
        with self.changing(number) as log:
            log.connection.execute(events.delete().where(events.c.study == number))
            log.connection.execute(studies.delete().where(studies.c.id == number))

    @contextmanager
    def reading(self, number: int) -> Iterator["EventLog"]:
        """Return the events of a study, as they are at one moment."""
        with self.transaction(write=False) as connection:
            yield EventLog(self, connection, number)

    @contextmanager
    def changing(self, number: int) -> Iterator["EventLog"]:
        """Open a transaction during which no other program can change the study."""
        with self.transaction(write=True) as connection:
            yield EventLog(self, connection, number, for_update=not self.sqlite)


Tickets = Mapping[int, TicketRecord]


class Places:
    """The columns of events: it knows the arm and the batch of every ticket."""

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self._made: dict[int | None, tuple[int | None, int | None]] = {}

    def columns(self, event: Event) -> dict[str, Any]:
        """Return the columns of the next event, but for its study and its line."""
        arm, batch = event.arm, event.batch
        if event.ticket is not None and event.kind in MAKES_TICKET:
            self._made[event.ticket] = arm, batch
        elif event.ticket is not None:
            arm, batch = self._made.get(event.ticket) or self._of_earlier(event.ticket)
        columns = {name: getattr(event, name) for name in ("seq", *COPIED)}
        return columns | {"arm": arm, "batch": batch}

    def _of_earlier(self, ticket: int) -> tuple[int | None, int | None]:
        record = self._tickets.get(ticket)
        if record is None:
            return None, None
        return record.arm, record.batch if record.asked else None


class EventLog:
    """The events of one study, within a transaction.

    Attributes:
        connection: that of the transaction.
        end: where the study ends.
    """

    def __init__(
        self, store: Store, connection: sql.Connection, number: int, for_update: bool = False
    ) -> None:
        self.connection, self._store, self._number = connection, store, number
        query = HEAD.with_for_update(of=studies) if for_update else HEAD
        head = connection.execute(query, {"number": number}).first()
        if head is None:
            raise StudyNotFound(f"the study no longer exists in {store.shown}: it was deleted.")
        store._check_version(int(head.version))
        self.end = Chain(int(head.events), str(head.digest))
        # Without a lock, a statement of PostgreSQL sees what was committed since the one before.
        self._may_grow = not store.sqlite and not for_update

    def catch_up(self, known: Chain, take: Callable[[Event], None]) -> None:
        """Hand over each event after those that are known, and move ``known`` to the end.

        Raises:
            HistoryChanged: if the last known event is not there, or is another one.
            DamagedStudy: if the events are not those that were stored.
        """
        self.check(known)
        try:
            known.follow(self.lines(known.seq), take, stored_event)
        except BrokenChain as error:
            raise self._damaged(error.intact, str(error).removesuffix(".")) from None
        if self._may_grow and known.seq > self.end.seq:
            self.end = Chain(known.seq, known.digest)
        if known.seq != self.end.seq:
            why = f"{self.end.seq} events were stored, and event {known.seq} is the last"
            raise self._damaged(min(known.seq, self.end.seq), why)
        if known.digest != self.end.digest:
            why = f"event {known.seq}, the last, does not have the digest that was stored with it"
            raise self._damaged(known.seq - 1, why)

    def check(self, known: Chain) -> None:
        """Raise HistoryChanged if an event that is known is not there, or is another one."""
        if known.seq and self._digest_of(known.seq) != known.digest:
            raise HistoryChanged(
                f"{self._store.shown} no longer holds event {known.seq} of the study, which was "
                "stored: the database went back to an earlier state, or was replaced. The study is "
                "read again now. Repeat the changes that were lost; a value that is still stored "
                "counts once."
            )

    def _damaged(self, intact: int, why: str) -> DamagedStudy:
        intact = max(intact, 0)
        return DamagedStudy(
            f"the study is damaged after event {intact}: {why}. The events up to there can still "
            "be checked and exported.",
            intact,
        )

    def _digest_of(self, seq: int) -> str:
        """Return the SHA-256 of a stored event; empty if it is not there."""
        parts = {"number": self._number, "seq": seq}
        line = self.connection.execute(LINE, parts).scalar_one_or_none()
        return "" if line is None else line_digest(line)

    def lines(
        self,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        **filters: Any,
    ) -> Iterator[str]:
        """Return the lines of events with numbers above ``after`` and below ``before``, in order.

        ``newest`` begins with the newest.  ``filters`` are values of ``kind``, ``ticket``, ``arm``,
        ``batch`` and ``client``, or lists of them; events about a ticket have its arm and batch.
        """
        parts = {"number": self._number, "after": after}
        query = NEWEST_FIRST if newest else IN_ORDER
        if before is not None:
            query = query.where(events.c.seq < before)
        for name, value in filters.items():
            column, many = events.c[name], isinstance(value, list | tuple)
            query = query.where(column.in_(value) if many else column == value)
        if limit is not None:
            query = query.limit(limit)
        options = {"yield_per": CHUNK}
        yield from self.connection.execute(query, parts, execution_options=options).scalars()

    def append(self, new: Sequence[StoredEvent], tickets: "Tickets | None" = None) -> None:
        """Add events, which ``Chain.link`` has linked to those that are there.

        Args:
            new: the events.
            tickets: the tickets of the study, or at least those that were made before.
        """
        if not new:
            return
        first = new[0].event
        if (first.seq, first.previous or "") != (self.end.seq + 1, self.end.digest):
            raise HistoryChanged(
                f"{self._store.shown} ends at event {self.end.seq}, and event {first.seq} does "
                "not follow it. Nothing was stored: try again."
            )
        places = Places(tickets or {})
        rows = [
            places.columns(event) | {"study": self._number, "line": line} for event, line in new
        ]
        self.connection.execute(INSERT, rows)
        self.end = Chain(new[-1].event.seq, line_digest(new[-1].line))
        head = {"number": self._number, "seq": self.end.seq, "last": self.end.digest}
        self.connection.execute(SET_HEAD, head)

    def problems(self) -> list[str]:
        """Return the differences between columns and lines, and the breaks between lines."""
        found: list[str] = []
        chain, places = Chain(), Places({})
        query = sql.select(events).where(IN_STUDY).order_by(events.c.seq)
        for row in self.connection.execute(query, {"number": self._number}):
            try:
                event = parse_line(row.line, row.seq)
                chain.check(event)
            except ValueError as error:
                found.append(str(error))
                chain = Chain(row.seq, line_digest(row.line))
                continue
            chain.move(event, row.line)
            for name, value in places.columns(event).items():
                if value != getattr(row, name):
                    found.append(
                        f"event {row.seq}: the column {name} holds {getattr(row, name)!r}, and the "
                        f"event has {value!r}."
                    )
        if chain != self.end:
            found.append(
                f"the study has {self.end.seq} events, and the last one that is stored is event "
                f"{chain.seq} with the digest {chain.digest or 'of nothing'}."
            )
        return found


class SqlBackend(Backend):
    """A study in a database: locks it, catches up, decides, appends."""

    storage: Store

    def execute(self, request: Command[R]) -> Decision[R]:
        request.check()
        with self._lock:
            self._renew()
            if request.repeated(self._state) is not None:  # then nobody has to be locked out
                with self.reading() as state:
                    result = request.repeated(state)
                    if result is not None:
                        return Decision((), result)
            with self.changing() as draft:
                return decide(draft, request)

    def preview(self, request: Command[R]) -> R:
        request.check()
        with self.reading() as state:
            fork, chain = state.fork(), copy(self._chain)
        draft = Draft(fork, chain, self.clock())
        return request.previewed(draft.state, decide(draft, request).result)

    @contextmanager
    def changing(self) -> Iterator[Draft]:
        """Hold the lock, also of the database, and read what other programs have added.

        Recorded events are stored if the block ends normally, and forgotten if it does not.
        """
        with self._lock:
            self._renew()
            if self._lost is not None:
                lost, self._lost = self._lost, None
                raise lost
            recorded: list[StoredEvent] = []
            with self._guarded(recorded), self.storage.changing(self.number) as log:
                log.catch_up(self._chain, self._state.apply)
                yield Draft(self._state, self._chain, self.clock(), recorded)
                log.append(recorded, self._state.tickets)

    def once(self, key: str, request: str, do: Callable[[], bytes]) -> tuple[bytes, bool]:
        """Change this study once, however often the request is sent with this key (``Store.once``).

        Servers need it, because clients repeat a request if they have not seen its answer.
        """
        with self._lock:
            self._renew()  # so that ``before`` is what the database holds
            before = self._chain.seq
            try:
                return self.storage.once(self.number, key, request, self.clock(), do)
            except BaseException as error:
                harmless = isinstance(error, ValueError | TypeError) and self._chain.seq == before
                self._stale |= not harmless
                raise

    def filter_values(self, state: StudyState, **named: Any) -> dict[str, Any] | None:
        values = dict(named)
        if "arm" in named:
            values["arm"] = state.design.numbers.get(named["arm"])
        if "ticket" in named:
            names = named["ticket"] if isinstance(named["ticket"], list) else [named["ticket"]]
            found = [find_ticket(name, state) for name in names]
            values["ticket"] = [ticket.number for ticket in found if ticket is not None] or None
        return None if None in values.values() else values

    def reopening(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.storage.in_memory:
            raise TypeError(
                "a study in memory cannot be pickled, because no other program can open it: use a "
                "file."
            )
        url = self.storage.url.render_as_string(hide_password=False)
        return Store, (url,)


_in_use: "weakref.WeakSet[Store]" = weakref.WeakSet()


def close_all() -> None:
    """Close every connection of this process, so that SQLite clears its logs away."""
    for store in list(_in_use):
        store.close()


def parsed_url(url: "str | os.PathLike[str]") -> sql.URL:
    """Return the URL of a path, sqlite:///FILE, or postgresql+psycopg://USER@HOST/DATABASE."""
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise StudyError(
            f"url must be a path, sqlite:///FILE or postgresql+psycopg://...: got {url!r}."
        )
    if "://" not in text:
        return sql.URL.create("sqlite", database=text)
    try:
        parsed = sql.make_url(text)
    except (sql.exc.ArgumentError, ValueError) as error:
        raise StudyError(
            f"url must be a path, sqlite:///FILE or postgresql+psycopg://...: {error}."
        ) from None
    if parsed.get_backend_name() == "postgresql":
        if parsed.get_driver_name() not in ("psycopg", "psycopg2"):
            raise StudyError(f"url must name the driver psycopg: got {parsed.drivername}.")
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        shown = parsed.render_as_string(hide_password=True)
        raise StudyError(
            f"url must be a path, sqlite:///FILE or postgresql+psycopg://...: got {shown!r}."
        )
    return parsed


def _set_up(connection: Any, patience: float) -> None:
    connection.isolation_level = None  # _begin starts the transactions
    # SQLite does not wait for this lock, whatever its busy_timeout.
    _when_free(connection, "PRAGMA journal_mode=WAL", patience)
    pragmas = ["synchronous=FULL", "foreign_keys=ON"]
    if sys.platform == "darwin":  # there an ordinary fsync leaves the data in the drive's cache
        pragmas += ["fullfsync=ON", "checkpoint_fullfsync=ON"]
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}").close()


def old_sqlite(url: "str | os.PathLike[str]") -> str:
    """Return a sentence if this database is used with a SQLite that has the WAL-reset bug.

    The sentence is empty for other databases, and for a SQLite with the fix.
    """
    if parsed_url(url).get_backend_name() != "sqlite":
        return ""
    if sqlite3.sqlite_version_info >= WAL_RESET_FIXED:
        return ""
    fixed = ".".join(map(str, WAL_RESET_FIXED))
    return (
        f"Python uses SQLite {sqlite3.sqlite_version} here. Before version {fixed}, SQLite has a "
        "rare bug that can damage a database when two connections write to it, or copy its log "
        "into it, at the same moment. Use a Python with a newer SQLite, or PostgreSQL, and make "
        "backups."
    )


def _begin(connection: sql.Connection) -> None:
    """Start a transaction."""
    options = connection.get_execution_options()
    if options.get("allgood_write"):
        driver = connection.connection.driver_connection
        _when_free(driver, "BEGIN IMMEDIATE", options["allgood_patience"])
    else:
        connection.exec_driver_sql("BEGIN")


def _when_free(connection: Any, statement: str, patience: float) -> None:
    """Execute a statement that needs the lock of the SQLite file; wait for the lock if need be.

    SQLite itself waits in steps of up to a tenth of a second, and for some statements not at all.
    With many processes shorter steps are faster, so we wait ourselves.
    """
    until, pause, deadline = time.monotonic() + patience, 0.0002, DEADLINE.get()
    if deadline is not None:
        until = min(until, deadline.until)
    connection.execute("PRAGMA busy_timeout=0").close()
    try:
        while True:
            try:
                connection.execute(statement).close()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                if deadline is not None and deadline.is_ending():
                    raise DatabaseUnavailable(
                        "this program is shutting down and no longer waits for the database lock, "
                        "which another program holds. Nothing was changed: try again."
                    ) from error
                if time.monotonic() > until:
                    raise DatabaseUnavailable(
                        f"timed out after {patience:g} s: another program holds the database lock. "
                        "Nothing was changed: try again when that program has finished."
                    ) from error
            time.sleep(pause)
            pause = min(1.5 * pause, 0.02)
    finally:
        connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE:.0f}").close()


@contextmanager
def reported(shown: str) -> Iterator[None]:
    """Turn errors of the database driver into errors that say what to do."""
    try:
        yield
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StudyError(
            f"the driver of the database {shown} is not installed ({error}). `pip install "
            "'allgood[postgres]'` installs psycopg, for PostgreSQL."
        ) from error
    except IntegrityError:
        raise
    except (DBAPIError, sqlite3.Error) as error:
        cause = getattr(error, "orig", error)
        first = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        raise DatabaseUnavailable(
            f"the database {shown} reported an error: {first!r}. Check that it can be reached, "
            "read and written."
        ) from error
