"""The PostgreSQL server of the tests: it answers, keeps doubles exactly, and is gone afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ..support import postgres
from ..support.postgres import postgres_server
from ..support.systems import needs_posix

pytestmark = needs_posix


def folder_of(url):
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def server_process(folder):
    return int((folder / "data" / "postmaster.pid").read_text().split()[0])


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_doubles_come_back_exactly(postgres_url):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    values = [0.1, 1 / 3, -0.0, 5e-324, sys.float_info.max, 2.0**53 + 1]
    engine = sqlalchemy.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(
            sqlalchemy.text(
                "create temporary table numbers (place integer, value double precision)"
            )
        )
        connection.execute(
            sqlalchemy.text("insert into numbers values (:place, :value)"),
            [{"place": i, "value": value} for i, value in enumerate(values)],
        )
        got = (
            connection.execute(sqlalchemy.text("select value from numbers order by place"))
            .scalars()
            .all()
        )
    engine.dispose()
    assert [value.hex() for value in got] == [value.hex() for value in values]


def test_the_server_is_gone_afterwards_even_if_a_test_fails():
    seen = []

    def failing_test():
        with postgres_server() as url:
            seen.extend((server_process(folder_of(url)), folder_of(url)))
            assert alive(seen[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing_test()
    process, folder = seen
    assert not alive(process)
    assert not folder.exists()


HOLDER = """
import time
from tests.support.postgres import postgres_server
with postgres_server() as url:
    print(url, flush=True)
    time.sleep(600)
"""


def test_the_server_is_gone_when_the_tests_are_killed():
    postgres.programs()
    postgres.account()
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=root, stdout=subprocess.PIPE, text=True
    ) as tests:
        folder = folder_of(tests.stdout.readline().strip())
        process = server_process(folder)
        assert alive(process)
        tests.send_signal(signal.SIGKILL)
    limit = time.monotonic() + 300  # seconds; it takes one, unless something is broken
    while (alive(process) or folder.exists()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not alive(process)
    assert not folder.exists()


def test_a_server_that_does_not_start_is_told(monkeypatch):
    """PostgreSQL that is there and broken is a failure, not a reason to skip."""
    postgres.account()
    monkeypatch.setattr(postgres, "programs", lambda: "/nonexistent")
    with (
        pytest.raises(RuntimeError, match=r"PostgreSQL in /nonexistent did not start: .*initdb"),
        postgres_server(),
    ):
        pass


def test_without_postgres_tests_are_skipped(monkeypatch):
    monkeypatch.setattr(postgres, "PROGRAMS", ("initdb", "no-such-program"))
    with (
        pytest.raises(
            pytest.skip.Exception, match="no folder with initdb, no-such-program on PATH"
        ),
        postgres_server(),
    ):
        pass
