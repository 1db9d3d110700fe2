"""How SQLite is set up, and what is said of an old one."""

import sqlite3
import sys
from unittest.mock import ANY

import pytest
import sqlalchemy
from sqlalchemy.exc import IntegrityError

from allgood import StudyError, delete_study, load_study
from allgood.study.backends import sql as store
from allgood.study.backends.sql import Store, old_sqlite
from allgood.study.study import load_status

from ..support.command_line import allgood
from .test_study import make


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_commit_reaches_the_drive_on_macos(tmp_path, monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    opened = Store(tmp_path / "s.db", create=True)
    with opened.transaction(write=False) as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("fullfsync", "checkpoint_fullfsync", "synchronous", "journal_mode")
        }
    opened.close()
    full = int(platform == "darwin")
    assert found == {
        "fullfsync": full,
        "checkpoint_fullfsync": full,
        "synchronous": 2,
        "journal_mode": "wal",
    }


@pytest.mark.parametrize(
    ("version", "is_old"),
    [((3, 40, 1), True), ((3, 51, 2), True), ((3, 51, 3), False), ((3, 53, 0), False)],
)
def test_an_old_sqlite_is_named(monkeypatch, version, is_old):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    monkeypatch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))
    sentence = old_sqlite("s.db")
    assert bool(sentence) == is_old
    assert not is_old or sentence.startswith(f"Python uses SQLite {sqlite3.sqlite_version} here.")
    assert old_sqlite("postgresql+psycopg://x@localhost/y") == ""


@pytest.mark.parametrize("version", [(3, 51, 2), (3, 51, 3)])
def test_serve_says_it_once_at_its_start(tmp_path, monkeypatch, version):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    calls = []
    monkeypatch.setattr(
        "allgood.cli.serve.server",
        lambda: lambda url, ready, **options: calls.append(ready("http://127.0.0.1:8765")),
    )
    done = allgood("serve", tmp_path / "s.db")
    assert len(calls) == 1
    first, *others = done.stdout.splitlines()
    assert first.startswith("The page is at http://127.0.0.1:8765")
    assert len(others) == int(version < store.WAL_RESET_FIXED)
    assert all("SQLite has a rare bug" in line for line in others)
    assert done.stderr == ""  # which is a log in JSON


def test_the_database_refuses_a_second_value_of_a_ticket(tmp_path):
    """Whatever a program tries: the rule names the kinds of events that hold a first value."""
    with make(tmp_path) as study:
        [ticket] = study.ask(1)
        study.tell([(ticket, 0.5)])
        with (
            pytest.raises(IntegrityError),
            study.backend.storage.transaction(write=True) as connection,
        ):
            connection.exec_driver_sql(
                "INSERT INTO allgood_events "
                "SELECT study, seq + 1, kind, ticket, arm, batch, client, line "
                "FROM allgood_events WHERE kind = 'measurement'"
            )


@pytest.fixture
def transactions():
    """The transactions of all databases, as they begin."""
    begun = []
    listener = begun.append
    sqlalchemy.event.listen(sqlalchemy.Engine, "begin", listener)
    yield begun
    sqlalchemy.event.remove(sqlalchemy.Engine, "begin", listener)


def test_a_status_on_the_command_line_takes_one_transaction(tmp_path, transactions):
    make(tmp_path).close()
    transactions.clear()
    found = load_status(tmp_path / "studies.db")
    assert len(transactions) == 1
    study = load_study(tmp_path / "studies.db")
    assert len(transactions) == 2
    assert study.status().to_dict() == found.to_dict() | {"time": ANY}
    assert len(transactions) == 3  # others may have added something since it was loaded


def test_a_study_is_loaded_as_of_one_moment(tmp_path, monkeypatch):
    """Another program deletes the study between the look at its name and at its events."""
    make(tmp_path).close()
    names = Store.names

    def then_deleted(self):
        found = names(self)
        monkeypatch.setattr(Store, "names", names)
        delete_study(tmp_path / "studies.db", found[0][1])
        return found

    monkeypatch.setattr(Store, "names", then_deleted)
    assert load_status(tmp_path / "studies.db").outcome == "running"
    with pytest.raises(StudyError, match="there is no study"):
        load_study(tmp_path / "studies.db")


def test_a_transaction_inside_another_is_part_of_it(tmp_path, transactions):
    opened = Store(tmp_path / "s.db", create=True)
    transactions.clear()
    with opened.together() as outer:
        with opened.at_one_moment() as inner:
            assert inner is outer
        with opened.transaction(write=True) as later:
            assert later is outer
    assert len(transactions) == 1


def test_a_store_checks_its_database_at_once_or_in_its_first_transaction(tmp_path):
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(StudyError, match="is not a database of studies"):
        Store(tmp_path / "other.db")
    late = Store(tmp_path / "other.db", check=False)
    for _ in range(2):
        with pytest.raises(StudyError, match="is not a database of studies"):
            late.names()
