"""Many programs on one study, some killed at any moment.

Nothing that was acknowledged is lost, or there twice.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from allgood import delete_study, import_study, load_study
from allgood.study.backends.errors import DatabaseUnavailable
from allgood.study.backends.sql import Store

from ..support.study_workers import acknowledged, create, value_of


@pytest.fixture(scope="module")
def helper(tmp_path_factory):
    """The process from which workers are forked: a function that has it do something."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.study_workers", str(tmp_path_factory.mktemp("warm"))],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def do(what, **arguments):
            process.stdin.write(json.dumps({"do": what} | arguments) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield do
        process.stdin.close()


def told(study):
    """All (ticket, value) pairs that the study has, from its events."""
    mark = study.design.uid[:4].translate(str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv"))
    return [
        (f"{mark}-{event.ticket}", event.value)
        for event in study.events()
        if event.kind == "measurement"
    ]


def whole(path):
    connection = sqlite3.connect(path)
    [(found,)] = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    return found == "ok"


@pytest.mark.parametrize("way", ["creates", "loads", "inherits"])
def test_sixteen_at_once(helper, tmp_path, way):
    """Sixteen processes, two rounds each, every value told twice."""
    path = tmp_path / "studies.db"
    if way == "loads":
        create(path).close()
    assert helper("race", url=str(path), folder=str(tmp_path), processes=16, number=2, way=way) == {
        "failed": 0
    }
    assert_every_round_counted_once(path, tmp_path, 16, 2)
    assert whole(path)


def assert_every_round_counted_once(url, folder, processes, number):
    noted = acknowledged(folder)
    assert len(set(noted)) == len(noted) == processes * number
    with load_study(url, "s") as study:
        status = study.status()
        assert sorted(told(study)) == sorted(noted)
        assert (
            status.measurements
            == sum(item.measurements for item in status.arms)
            == processes * number
        )
        arms = {event.ticket: event.arm for event in study.events() if event.kind == "ticket"}
        for arm, item in enumerate(status.arms):
            values = [value for ticket, value in noted if arms[int(ticket.split("-")[1])] == arm]
            assert item.measurements == len(values)
            assert item.mean == pytest.approx(sum(values) / len(values), rel=1e-12)
        for event in study.events():
            if event.kind == "measurement":  # told by whoever had asked
                assert event.client.startswith("worker ")


def test_two_interpreters_make_one_study(tmp_path):
    """Processes that share nothing but the file, which neither finds there."""
    program = f"""
import sys
from tests.support.study_workers import create, rounds
print("ready", flush=True)
sys.stdin.readline()
rounds(create({str(tmp_path / "studies.db")!r}), {str(tmp_path)!r}, "worker " + sys.argv[1], 10)
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(i)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        with process:
            process.communicate()
        assert process.returncode == 0
    assert_every_round_counted_once(tmp_path / "studies.db", tmp_path, 2, 10)


def test_a_new_file_that_another_program_is_making(tmp_path):
    """Whoever opens the file waits for the other's lock.  SQLite by itself would not."""
    path = tmp_path / "studies.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE t (x)")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):  # although it may wait
        sqlite3.connect(path, timeout=60).execute("PRAGMA journal_mode=WAL")
    with pytest.raises(DatabaseUnavailable, match=r"timed out after 0\.05 s: another program"):
        Store(path, create=True, patience=0.05)
    threading.Timer(0.3, other.close).start()
    create(path).close()
    assert whole(path)


def test_threads_share_a_study(tmp_path):
    with create(tmp_path / "studies.db") as study:
        failed = []

        def work(worker):
            try:
                for _ in range(10):
                    [ticket] = study.ask(1, client=worker)
                    assert study.tell([(ticket, value_of(ticket.id))]).counts == {"accepted": 1}
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert study.status().measurements == 40


def killed(helper, url, folder, number, *, seed, between=3, early=False):
    """After so many kills, the study, and what was acknowledged and is not there."""
    assert helper(
        "kills",
        url=str(url),
        folder=str(folder),
        number=number,
        workers=3,
        between=between,
        lease=0.2,
        early=early,
        seed=seed,
    ) == {"failed": 0}
    study = load_study(url, "s", clock=lambda: time.time() + 60.0)
    return study, set(acknowledged(folder)) - set(told(study))


def assert_nothing_is_lost(study, folder, copy):
    """Values as told, each once; the log replays.

    What the dead had is offered to whoever asks next.
    """
    values = told(study)
    assert (
        len({ticket for ticket, _ in values}) == len(values) >= len(set(acknowledged(folder))) > 30
    )
    assert all(value == value_of(ticket) for ticket, value in values)
    lines = list(study.export())
    replayed = import_study(copy, lines, "copy")
    assert list(replayed.export()) == lines
    assert replayed.certificate() == study.certificate()
    orphans = study.open_tickets
    assert "the last worker" in {ticket.client for ticket in orphans}
    again = study.ask(len(orphans) + 2, client="heir")
    assert [ticket.id for ticket in again[: len(orphans)]] == [ticket.id for ticket in orphans]
    assert {ticket.client for ticket in again} == {"heir"}
    assert len(again) == len(orphans) + 2


def test_no_acknowledged_value_is_lost_when_workers_are_killed(helper, tmp_path):
    path = tmp_path / "studies.db"
    create(path).close()
    study, lost = killed(helper, path, tmp_path, 12, seed=1)
    with study:
        assert lost == set()
        assert_nothing_is_lost(study, tmp_path, tmp_path / "copy.db")
    assert whole(path)


def test_a_loss_would_be_seen(helper, tmp_path):
    """The control.

    A worker that acknowledges before it has told loses a value, and the test above would find it.
    """
    path = tmp_path / "studies.db"
    create(path).close()
    study, lost = killed(helper, path, tmp_path, 3, seed=0, early=True)
    with study:
        [(ticket, _)] = lost
        assert ticket in {open_ticket.id for open_ticket in study.open_tickets}


def test_postgres(helper, tmp_path, postgres_url):
    """Rounds of eight processes, then kills; the server stays."""
    create(postgres_url).close()
    try:
        for way in ("loads", "inherits"):
            folder = tmp_path / way
            folder.mkdir()
            assert helper(
                "race", url=postgres_url, folder=str(folder), processes=8, number=2, way=way
            ) == {"failed": 0}
        noted = acknowledged(tmp_path / "loads") + acknowledged(tmp_path / "inherits")
        with load_study(postgres_url, "s") as study:
            assert sorted(told(study)) == sorted(noted)
            assert len(set(noted)) == len(noted) == study.status().measurements == 32
        study, lost = killed(helper, postgres_url, tmp_path, 6, seed=2, between=6)
        with study:
            assert lost == set()
            assert_nothing_is_lost(study, tmp_path, tmp_path / "copy.db")
    finally:
        delete_study(postgres_url, "s")
