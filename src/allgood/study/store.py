"""Where events are kept: a SQLite file, or a PostgreSQL database.

A change of a study is one transaction: take the lock, read what others have added, decide, add, commit.  In SQLite the
lock is that of the file (BEGIN IMMEDIATE, write-ahead log, full synchronisation: what was acknowledged survives a
crash of the program and of the machine); in PostgreSQL that of the study's row.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import NullPool

from .events import Event

SCHEMA = 1
PATIENCE = 60.0  # seconds to wait for the lock

metadata = sql.MetaData()
meta = sql.Table("allgood_meta", metadata, sql.Column("schema_version", sql.Integer, nullable=False))
studies = sql.Table(
    "allgood_studies",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sqlite_autoincrement=True,  # the number of a deleted study is not used again
)
events = sql.Table(
    "allgood_events",
    metadata,
    sql.Column("study", sql.Integer, sql.ForeignKey("allgood_studies.id"), primary_key=True, autoincrement=False),
    sql.Column("seq", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("time", sql.Double, nullable=False),
    sql.Column("client", sql.Text),
    sql.Column("ticket", sql.Integer),
    sql.Column("arm", sql.Integer),
    sql.Column("value", sql.Double),
    sql.Column("joins", sql.Boolean),
    sql.Column("batch", sql.Integer),
    sql.Column("well", sql.Text),
    sql.Column("deadline", sql.Double),
    sql.Column("note", sql.Text),
    sql.Column("data", sql.Text),
)
told = events.c.kind.in_(("observation", "unasked"))
sql.Index(  # no ticket ever has two values, whatever a program might try
    "allgood_one_value", events.c.study, events.c.ticket, unique=True, sqlite_where=told, postgresql_where=told
)
COLUMNS = [column for column in events.c if column.name != "study"]
NEWER = (  # made once: to make a statement takes longer than to carry it out
    sql.select(*COLUMNS)
    .where(events.c.study == sql.bindparam("number"), events.c.seq > sql.bindparam("after"))
    .order_by(events.c.seq)
)
THERE = sql.select(studies.c.id).where(studies.c.id == sql.bindparam("number"))

Upgrade = Callable[[sql.Connection], None]
UPGRADES: dict[int, Upgrade] = {}  # from version n to n + 1


class StudyError(ValueError):
    """A study cannot be opened, or not under this name; the message says what to do."""


class Store:
    """A database of studies.

    Attributes:
        url: an absolute one, the same wherever the program goes.
        shown: as it was given, without a password.
    """

    def __init__(self, url: "str | os.PathLike[str]", *, create: bool = False, check: bool = True) -> None:
        self.url = parsed_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.shown = str(self.path) if self.sqlite else self.url.render_as_string(hide_password=True)
        if self.sqlite:
            path = self.path
            if not create and not path.is_file():
                raise StudyError(
                    f"url must name an existing file of studies: got {str(path)!r}. `allgood study new` makes one."
                )
            if not path.parent.is_dir():
                raise StudyError(f"url must be in an existing folder: got {str(path)!r}.")
            self.url = self.url.set(database=str(path.absolute()))
        self._connection: sql.Connection | None = None
        self._process = 0
        with reported(self.shown):
            if create:
                self._make()
            if check:
                self._check_version()

    @property
    def path(self) -> Path:
        return Path(self.url.database or "")

    def close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _connected(self) -> sql.Connection:
        """One connection for each process: what a child inherits is not touched."""
        if self._connection is None or self._process != os.getpid():
            engine = sql.create_engine(self.url, poolclass=NullPool)
            if self.sqlite:
                sql.event.listen(engine, "connect", _set_up)
                sql.event.listen(engine, "begin", _begin)
            self._connection, self._process = engine.connect(), os.getpid()
        return self._connection

    @contextmanager
    def transaction(self, write: bool) -> Iterator[sql.Connection]:
        """All or nothing."""
        with reported(self.shown):
            connection = self._connected().execution_options(allgood_write=write)
            try:
                with connection.begin():
                    yield connection
            except OperationalError:
                self.close()  # perhaps the server has gone; the next transaction connects anew
                raise

    def _make(self) -> None:
        with self.transaction(write=True) as connection:
            if not self.sqlite:  # one at a time
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
                f"{self.shown} has schema version {version}, newer than the {SCHEMA} that this version of allgood "
                "knows: use a newer allgood (`pip install --upgrade allgood`)."
            )
        if version < SCHEMA:
            raise StudyError(
                f"{self.shown} has schema version {version}, and this version of allgood needs {SCHEMA}: "
                f"`allgood study upgrade {self.shown}` makes a backup and upgrades it."
            )

    def upgrade(self) -> tuple[int, Path | None]:
        """Bring an older database up to date; its version before, and the backup of a SQLite file.

        In PostgreSQL the backup is a copy of each table, named after the version.
        """
        before = self.version()
        if before >= SCHEMA:
            self._check_version()
            return before, None
        backup = None
        if self.sqlite:
            backup = self.path.with_name(f"{self.path.name}.version-{before}.backup")
            if backup.exists():
                raise StudyError(f"the backup must not exist already: {str(backup)!r} does; move it away.")
            with reported(self.shown), closing(sqlite3.connect(backup)) as copy:
                driver: Any = self._connected().connection.driver_connection
                driver.backup(copy)
        with self.transaction(write=True) as connection:
            if backup is None:
                for table in metadata.tables:
                    connection.execute(sql.text(f"CREATE TABLE {table}_version_{before} AS TABLE {table}"))
            for version in range(before, SCHEMA):
                UPGRADES[version](connection)
            connection.execute(meta.update().values(schema_version=SCHEMA))
        return before, backup

    def names(self) -> list[tuple[int, str]]:
        with self.transaction(write=False) as connection:
            found = connection.execute(sql.select(studies.c.id, studies.c.name).order_by(studies.c.id))
            return [(int(number), str(name)) for number, name in found]

    def add_study(self, name: str, first: list[Event]) -> int | None:
        """A new study and its first events; None if there is one of this name."""
        try:
            with self.transaction(write=True) as connection:
                taken = connection.execute(sql.select(studies.c.id).where(studies.c.name == name)).first()
                if taken is not None:
                    return None
                found = connection.execute(studies.insert().values(name=name).returning(studies.c.id)).scalar_one()
                append(connection, found, first)
                return int(found)
        except IntegrityError:  # another process, between the two statements
            return None

    def delete_study(self, number: int) -> None:
        with self.transaction(write=True) as connection:
            connection.execute(events.delete().where(events.c.study == number))
            connection.execute(studies.delete().where(studies.c.id == number))

    def read(self, number: int, after: int) -> list[Event]:
        """A study's events after this one."""
        with self.transaction(write=False) as connection:
            found = read(connection, number, after)
            if not found:
                self._demand(connection, THERE, number)
            return found

    @contextmanager
    def changing(self, number: int) -> Iterator[sql.Connection]:
        """A transaction in which nobody else changes the study."""
        with self.transaction(write=True) as connection:
            self._demand(connection, THERE if self.sqlite else THERE.with_for_update(), number)
            yield connection

    def _demand(self, connection: sql.Connection, there: Any, number: int) -> None:
        if connection.execute(there, {"number": number}).first() is None:
            raise StudyError(f"the study must still exist in {self.shown}: it was deleted.")


def read(connection: sql.Connection, number: int, after: int) -> list[Event]:
    return [
        Event(*values, **({} if data is None else {"data": json.loads(data)}))
        for *values, data in connection.execute(NEWER, {"number": number, "after": after})
    ]


def append(connection: sql.Connection, number: int, new: list[Event]) -> None:
    rows = [
        {column.name: getattr(event, column.name) for column in COLUMNS[:-1]}
        | {"study": number, "data": None if event.data is None else json.dumps(event.data)}
        for event in new
    ]
    if rows:
        connection.execute(events.insert(), rows)


def parsed_url(url: "str | os.PathLike[str]") -> sql.URL:
    """A path, sqlite:///file, or postgresql+psycopg://user@host/database."""
    text = os.fspath(url) if isinstance(url, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise StudyError(f"url must be a path, sqlite:///FILE or postgresql+psycopg://...: got {url!r}.")
    if "://" not in text:
        return sql.URL.create("sqlite", database=text)
    try:
        found = sql.make_url(text)
    except (sql.exc.ArgumentError, ValueError) as error:
        raise StudyError(f"url must be a path, sqlite:///FILE or postgresql+psycopg://...: {error}.") from None
    if found.get_backend_name() == "postgresql":
        if found.get_driver_name() not in ("psycopg", "psycopg2"):
            raise StudyError(f"url must name the driver psycopg: got {found.drivername}.")
        return found.set(drivername="postgresql+psycopg")
    if found.get_backend_name() != "sqlite" or not found.database or found.database == ":memory:":
        shown = found.render_as_string(hide_password=True)
        raise StudyError(f"url must be a path, sqlite:///FILE or postgresql+psycopg://...: got {shown!r}.")
    return found


def _set_up(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin says
    for pragma in ("busy_timeout=60000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: sql.Connection) -> None:
    """SQLite waits for a lock in steps of up to a tenth of a second; with many processes shorter ones serve better."""
    if not connection.get_execution_options().get("allgood_write"):
        connection.exec_driver_sql("BEGIN")
        return
    driver: Any = connection.connection.driver_connection
    until, pause = time.monotonic() + PATIENCE, 0.0002
    driver.execute("PRAGMA busy_timeout=0").close()
    try:
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE").close()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                if time.monotonic() > until:
                    raise StudyError(
                        f"the database must be free within {PATIENCE:g} seconds: another program holds its lock."
                    ) from error
            time.sleep(pause)
            pause = min(1.5 * pause, 0.02)
    finally:
        driver.execute("PRAGMA busy_timeout=60000").close()


@contextmanager
def reported(shown: str) -> Iterator[None]:
    """Errors of the database as sentences."""
    try:
        yield
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StudyError(
            f"url must be of a database whose driver is installed: got {shown!r} ({error}). "
            "`pip install 'allgood[postgres]'` installs psycopg."
        ) from error
    except IntegrityError:
        raise
    except (DBAPIError, sqlite3.Error) as error:
        cause = getattr(error, "orig", error)
        first = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        raise StudyError(f"the database {shown} must be readable and writable: got {first!r}.") from error
