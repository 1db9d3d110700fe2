"""How SQLite is set up, and what is said of an old one."""

import sqlite3
import sys

import pytest
from sqlalchemy.exc import IntegrityError

from allgood.study.backends import sql as store
from allgood.study.backends.sql import Store, old_sqlite

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
