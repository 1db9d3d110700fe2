"""Where events are kept: a SQLite file, or a PostgreSQL database.

A change of a study is one transaction: take the lock, read what others have added, decide, add,
commit.  In SQLite the lock is that of the file (BEGIN IMMEDIATE).  With the write-ahead log and
full synchronisation, an acknowledged change survives a crash of the program and of the machine.
In PostgreSQL the lock is that of the study's row.

A SQLite file that may not be written, or lies in a folder that may not be written, can be read.

A database in memory (``:memory:``) is its one connection.  It ends with that, and with the process.
"""

import json
import os
import sqlite3
import time
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool

from .events import ALWAYS, FIELDS, Event

SCHEMA = 1
MEMORY = ":memory:"
PATIENCE = 60.0  # seconds to wait for the lock of the database
DATA = list(FIELDS).index("data")
AT_ONCE = 10_000  # rows that are read at once
IMMUTABLE = "immutable=1"  # SQLite then neither locks the file nor looks for logs beside it

metadata = sql.MetaData()
meta = sql.Table(
    "allgood_meta", metadata, sql.Column("schema_version", sql.Integer, nullable=False)
)
studies = sql.Table(
    "allgood_studies",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sqlite_autoincrement=True,  # the number of a deleted study is not used again
)
COLUMN_TYPES: dict[type, type[sql.types.TypeEngine[Any]]] = {
    int: sql.Integer,
    float: sql.Double,
    bool: sql.Boolean,
    str: sql.Text,
    dict: sql.Text,  # as JSON
}


def _column(name: str, kind: type) -> sql.Column[Any]:
    """The column of a field of an event."""
    if name == "seq":
        return sql.Column(name, sql.Integer, primary_key=True, autoincrement=False)
    return sql.Column(name, COLUMN_TYPES[kind], nullable=name not in ALWAYS)


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
    *(_column(name, kind) for name, kind in FIELDS.items()),
)
# Whatever a program tries, no ticket ever has two values.  This SQL is the same for SQLite and
# PostgreSQL.  An sql.Index with such a condition would load what SQLAlchemy knows of both.
sql.event.listen(
    events,
    "after_create",
    sql.DDL(  # type: ignore[no-untyped-call]
        "CREATE UNIQUE INDEX allgood_one_value ON allgood_events (study, ticket) "
        "WHERE kind IN ('observation', 'unasked')"
    ),
)
# Built once: constructing the SQL statement costs more than executing it.
NEWER = (
    sql.select(*(events.c[name] for name in FIELDS))
    .where(events.c.study == sql.bindparam("number"), events.c.seq > sql.bindparam("after"))
    .order_by(events.c.seq)
)
NEWEST = sql.select(sql.func.max(events.c.seq)).where(events.c.study == sql.bindparam("number"))
THERE = sql.select(studies.c.id).where(studies.c.id == sql.bindparam("number"))

# What requests with a key were answered (``Store.once``).  Only servers use this table and make it.
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

Upgrade = Callable[[sql.Connection], None]
UPGRADES: dict[int, Upgrade] = {}  # from version n to n + 1


class StudyError(ValueError):
    """A study cannot be opened, or its name cannot be used.  The message says what to do."""


class Unavailable(StudyError):
    """The database is locked, away or damaged.  What was asked for may work later."""


class NameTaken(StudyError):
    """There is a study of this name already."""


class Gone(StudyError):
    """There is no such study, or no more."""


class KeyReused(ValueError):
    """A key came with another request before."""


class Look(NamedTuple):
    """A SQLite file from outside: its time of change, its size, and that of its write-ahead log."""

    changed: int
    size: int
    log: int


class Store:
    """A database of studies.

    Attributes:
        url: with an absolute path, so that it stays valid when the program changes its folder.
        shown: the url as it was given, without a password.
        kind: the class of its studies; None for the usual one.
        patience: seconds to wait for the lock of a SQLite file.
    """

    kind: type | None = None

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
                raise StudyError(
                    f"url must name an existing file of studies: got {str(path)!r}. `allgood study "
                    "new` makes one."
                )
            if not path.parent.is_dir():
                raise StudyError(f"url must be in an existing folder: got {str(path)!r}.")
            if not path.exists() and self._obstacle():
                raise StudyError(f"url must be in a folder with write access: got {str(path)!r}.")
            self.url = self.url.set(database=str(path.absolute()))
        self._connection: sql.Connection | None = None
        self._process = 0
        self._whole: sql.Connection | None = None  # during ``together``
        self._mode = ""  # how SQLite has opened the file; empty: to read and to write
        self._file: tuple[int, int] | None = None  # which file it is
        with reported(self.shown):
            if create:
                self._make()
            if check:
                self._check_version()

    @property
    def path(self) -> Path:
        return Path(self.url.database or "")

    def twin(self) -> "Store":
        """The same database in the same file, with a connection of its own."""
        other = copy(self)
        other._connection, other._whole, other._process = None, None, 0
        return other

    def let_go(self) -> None:
        """Close the connection, unless the database would end with it."""
        if not self.in_memory:
            self.close()

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _connected(self) -> sql.Connection:
        """The connection of this process.  One that was inherited from a parent is not touched."""
        self._check_same_file()
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
            self._check_same_file()
        return self._connection

    def _check_same_file(self) -> None:
        """Fail if the SQLite file is no longer the one that was opened.

        SQLite would go on with a file that was deleted, and what it stores there would be lost.
        """
        if not self.sqlite or self.in_memory:
            return
        try:
            found = self.path.stat()
        except OSError:
            there = None
        else:
            there = (found.st_dev, found.st_ino)
        if self._file is None:
            self._file = there
        elif there != self._file:
            self.close()
            raise Unavailable(
                f"{self.shown} must stay where it is while it is in use: it was moved, deleted or "
                "replaced by another file. Put it back, or open it again."
            )

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
                f"{self.shown} must be read together with {self.path.name}-wal, which holds its "
                f"latest changes, and SQLite cannot do that here ({error}): copy both files to a "
                "folder in which you may write, and read the copy."
            ) from error
        return connection

    def _obstacle(self) -> str:
        """What keeps this program from changing the file; empty if nothing does."""
        if self.in_memory:
            return ""
        path = self.path.resolve()
        if not os.access(path.parent, os.W_OK):
            return f"the folder {str(path.parent)!r} may not be written"
        may = not path.exists() or os.access(path, os.W_OK)
        return "" if may else "the file may not be written"

    def _look(self) -> "Look":
        path = self.path.resolve()
        log, file = path.with_name(f"{path.name}-wal"), path.stat()
        size = log.stat().st_size if log.exists() else 0
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
        """A transaction: either all of its changes are stored, or none."""
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
                    yield connection
            except OperationalError:
                self.let_go()  # the server may have gone; the next transaction connects again
                raise

    @contextmanager
    def together(self) -> Iterator[sql.Connection]:
        """One transaction around others, which become parts of it."""
        with self.transaction(write=True) as connection:
            self._whole = connection
            try:
                yield connection
            finally:
                self._whole = None

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
        """Do something once, however often it is asked for with this key.

        What ``do`` changes in this database and its answer are stored together.  If it fails, the
        key is free again.

        Args:
            number: the study that it is about; 0 for the database.
            key: of the request.
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
                    raise KeyReused(
                        f"the key must be new for a new request: got {key!r}, which came with "
                        "another one."
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
            if not sql.inspect(connection).has_table(meta.name):
                metadata.create_all(connection)
                connection.execute(meta.insert().values(schema_version=SCHEMA))

    def version(self) -> int:
        with self.transaction(write=False) as connection:
            if not sql.inspect(connection).has_table(meta.name):
                raise StudyError(
                    f"url must be a database of studies: got {self.shown!r}, which holds none. "
                    "`allgood study new` makes one."
                )
            return int(connection.execute(sql.select(meta.c.schema_version)).scalar_one())

    def _check_version(self) -> None:
        version = self.version()
        if version > SCHEMA:
            raise StudyError(
                f"{self.shown} has schema version {version}, newer than the {SCHEMA} that this "
                "version of allgood knows: use a newer allgood (`pip install --upgrade allgood`)."
            )
        if version < SCHEMA:
            raise StudyError(
                f"{self.shown} has schema version {version}, and this version of allgood needs "
                f"{SCHEMA}: `allgood study upgrade {self.shown}` makes a backup and upgrades it."
            )

    def upgrade(self) -> tuple[int, Path | None]:
        """Bring an older database up to date.

        Returns its old version, and the backup if the database is a SQLite file.  In PostgreSQL the
        backup is a copy of each table, named after the version.
        """
        before = self.version()
        if before >= SCHEMA:
            self._check_version()
            return before, None
        backup = None
        if self.sqlite:
            self._check_writable()
            backup = self.path.with_name(f"{self.path.name}.version-{before}.backup")
            if backup.exists():
                raise StudyError(
                    f"the backup must not exist already: {str(backup)!r} does; move it away."
                )
            with reported(self.shown), closing(sqlite3.connect(backup)) as copy:
                driver: Any = self._connected().connection.driver_connection
                driver.backup(copy)
        with self.transaction(write=True) as connection:
            if backup is None:
                for table in metadata.tables:
                    connection.execute(
                        sql.text(f"CREATE TABLE {table}_version_{before} AS TABLE {table}")
                    )
            for version in range(before, SCHEMA):
                UPGRADES[version](connection)
            connection.execute(meta.update().values(schema_version=SCHEMA))
        return before, backup

    def names(self) -> list[tuple[int, str]]:
        with self.transaction(write=False) as connection:
            query = sql.select(studies.c.id, studies.c.name).order_by(studies.c.id)
            return [(int(number), str(name)) for number, name in connection.execute(query)]

    def newest(self, number: int) -> int:
        """The number of the last event of a study; 0 if there is no such study."""
        with self.transaction(write=False) as connection:
            return int(connection.execute(NEWEST, {"number": number}).scalar_one() or 0)

    def add_study(self, name: str, first: list[Event]) -> int | None:
        """Add a study and its first events.  Returns its number; None if the name is taken."""
        try:
            # In PostgreSQL an error spoils the transaction, hence one within.
            with self.transaction(write=True) as connection, connection.begin_nested():
                taken = connection.execute(
                    sql.select(studies.c.id).where(studies.c.name == name)
                ).first()
                if taken is not None:
                    return None
                insert = studies.insert().values(name=name).returning(studies.c.id)
                number = int(connection.execute(insert).scalar_one())
                append(connection, number, first)
                return number
        except IntegrityError:  # another process took the name between the two statements
            return None

    def delete_study(self, number: int) -> None:
        with self.changing(number) as connection:
            connection.execute(events.delete().where(events.c.study == number))
            connection.execute(studies.delete().where(studies.c.id == number))

    def read(self, number: int, after: int) -> list[Event]:
        """The events of a study that come after event ``after``."""
        with self.reading(number, after) as newer:
            return list(newer)

    @contextmanager
    def reading(self, number: int, after: int) -> Iterator[Iterator[Event]]:
        """Read the events of a study that come after event ``after``, some at a time."""
        with self.transaction(write=False) as connection:
            newer = stream(connection, number, after)
            first = next(newer, None)
            if first is None:
                self._check_exists(connection, THERE, number)
            yield newer if first is None else chain([first], newer)

    @contextmanager
    def changing(self, number: int) -> Iterator[sql.Connection]:
        """A transaction during which no other program can change the study."""
        with self.transaction(write=True) as connection:
            query = THERE if self.sqlite else THERE.with_for_update()
            self._check_exists(connection, query, number)
            yield connection

    def _check_exists(self, connection: sql.Connection, query: Any, number: int) -> None:
        if connection.execute(query, {"number": number}).first() is None:
            raise Gone(f"the study must still exist in {self.shown}: it was deleted.")


_in_use: "weakref.WeakSet[Store]" = weakref.WeakSet()


def close_all() -> None:
    """Close every connection of this process, so that SQLite clears its logs away."""
    for store in list(_in_use):
        store.close()


def read(connection: sql.Connection, number: int, after: int) -> list[Event]:
    """The events of a study that come after event ``after``."""
    return list(stream(connection, number, after))


def stream(connection: sql.Connection, number: int, after: int) -> Iterator[Event]:
    """Read the events of a study that come after event ``after``, some at a time."""
    rows = connection.execute(NEWER, {"number": number, "after": after})
    for some in rows.partitions(AT_ONCE):
        yield from map(_from_row, some)


def append(connection: sql.Connection, number: int, new: list[Event]) -> None:
    """Add events to a study."""
    if new:
        rows = [{"study": number} | _to_row(event) for event in new]
        connection.execute(events.insert(), rows)


def _from_row(row: Sequence[Any]) -> Event:
    """An event from the columns of ``NEWER``, which are named by ``FIELDS``."""
    event = Event._make(row)
    return event if event.data is None else event._replace(data=json.loads(row[DATA]))


def _to_row(event: Event) -> dict[str, Any]:
    parts = event._asdict()
    if event.data is not None:
        parts["data"] = json.dumps(event.data)
    return parts


def parsed_url(url: "str | os.PathLike[str]") -> sql.URL:
    """The URL from a path, sqlite:///FILE, or postgresql+psycopg://USER@HOST/DATABASE."""
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
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


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
    until, pause = time.monotonic() + patience, 0.0002
    connection.execute("PRAGMA busy_timeout=0").close()
    try:
        while True:
            try:
                connection.execute(statement).close()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                if time.monotonic() > until:
                    raise Unavailable(
                        f"the database must be free within {patience:g} seconds: another program "
                        "holds its lock."
                    ) from error
            time.sleep(pause)
            pause = min(1.5 * pause, 0.02)
    finally:
        connection.execute(f"PRAGMA busy_timeout={1000 * PATIENCE:.0f}").close()


@contextmanager
def reported(shown: str) -> Iterator[None]:
    """Turn errors of the database into sentences."""
    try:
        yield
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StudyError(
            f"url must be of a database whose driver is installed: got {shown!r} ({error}). `pip "
            "install 'allgood[postgres]'` installs psycopg."
        ) from error
    except IntegrityError:
        raise
    except (DBAPIError, sqlite3.Error) as error:
        cause = getattr(error, "orig", error)
        first = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        raise Unavailable(
            f"the database {shown} must be readable and writable: got {first!r}."
        ) from error
