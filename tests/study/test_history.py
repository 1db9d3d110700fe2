"""The history of a study: its chain, a database that goes back, a file that is damaged."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy as sql

from allgood import (
    Additive,
    Gaussian,
    StudyError,
    check_study,
    connect,
    create_study,
    delete_study,
    import_study,
    load_study,
)
from allgood.study.backends.errors import DamagedStudy, DatabaseUnavailable, HistoryChanged
from allgood.study.events import Chain, Event, line_digest, link_all
from allgood.study.integrity import intact_lines

from ..support.chains import relinked
from ..support.command_line import allgood
from ..support.serving import Client, Program
from ..support.systems import needs_posix


def campaign(url, rounds=3):
    """A study with a few values, and its certificate."""
    study = create_study(
        url,
        "s",
        arms=["a", "b", "c"],
        objective=Additive(0.5),
        delta=0.1,
        model=Gaussian(1.0),
    )
    tell_more(study, rounds)
    return study


def tell_more(study, rounds=1):
    rng = random.Random(study.status().measurements)
    for _ in range(rounds):
        study.tell([(ticket, round(rng.gauss(0.0, 1.0), 3)) for ticket in study.ask(6)])


def checkpoint(path):
    """Move the write-ahead log into the file."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def overwrite(path, backup):
    """What ``cp backup path`` does: the same file with another content."""
    checkpoint(path)
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(backup.read_bytes())


def go_back(url, to):
    """Put a database back to the state in which its study had so many events."""
    engine = sql.create_engine(url)
    with engine.begin() as connection:
        number = connection.execute(
            sql.text("SELECT id FROM allgood_studies WHERE name = 's'")
        ).scalar_one()
        parts = {"to": to, "number": number}
        last = connection.execute(
            sql.text("SELECT line FROM allgood_events WHERE study = :number AND seq = :to"), parts
        ).scalar_one()
        connection.execute(
            sql.text("DELETE FROM allgood_events WHERE study = :number AND seq > :to"), parts
        )
        connection.execute(
            sql.text(
                "UPDATE allgood_studies SET events = :to, digest = :digest WHERE id = :number"
            ),
            parts | {"digest": line_digest(last)},
        )
    engine.dispose()


# ---- the chain


def test_events_are_linked():
    first, second, third = link_all(Event(0, "note", float(i), note=f"{i}") for i in range(3))
    assert first.previous is None
    assert json.loads(first.line()) == {"kind": "note", "note": "0", "seq": 1, "time": 0.0}
    assert second.previous != third.previous
    chain = Chain()
    for event in (first, second, third):
        chain.check(event)
        chain.move(event, event.line())
    assert chain.seq == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:5], *lines[6:]],
        lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
        lambda lines: [*lines[:5], lines[5].replace('"arm":', '"arm":7'), *lines[6:]],
        lambda lines: [relinked(lines)[0].replace('"seed":0', '"seed":1'), *lines[1:]],
        lambda lines: [*lines[:-1], lines[-1].replace('"previous":"', '"previous":"0', 1)],
    ],
)
def test_changed_lines_are_not_imported(tmp_path, change):
    with campaign(tmp_path / "s.db") as study:
        lines = [line.rstrip("\n") for line in study.export()]
    changed = change(lines)
    assert changed != lines
    with pytest.raises(ValueError, match=r"event \d+ (is out of order|does not hold the dig)"):
        import_study(tmp_path / "copy.db", changed)
    import_study(tmp_path / "copy.db", lines).close()


def edits(path):
    """Changes of a database by hand, each of which leaves a file that SQLite reads."""
    line = "SELECT line FROM allgood_events WHERE seq = {}"
    yield "a value", "UPDATE allgood_events SET line = replace(line, '\"value\":', '\"value\":1')"
    yield "a time", "UPDATE allgood_events SET line = replace(line, '\"time\":1', '\"time\":2')"
    yield (
        "a label's arm",
        "UPDATE allgood_events SET line = replace(line, '\"arm\":0', '\"arm\":1')",
    )
    yield "risk", "UPDATE allgood_events SET line = replace(line, '\"delta\":0.1', '\"delta\":0.3')"
    yield (
        "the last value",
        (
            "UPDATE allgood_events SET line = replace(line, '\"value\":', '\"value\":1') "
            "WHERE seq = (SELECT max(seq) FROM allgood_events)"
        ),
    )
    yield (
        "the last event removed",
        ("DELETE FROM allgood_events WHERE seq = (SELECT max(seq) FROM allgood_events)"),
    )
    yield (
        "the last three removed",
        ("DELETE FROM allgood_events WHERE seq > (SELECT max(seq) - 3 FROM allgood_events)"),
    )
    yield "an event in the middle removed", "DELETE FROM allgood_events WHERE seq = 9"
    yield "all but the first removed", "DELETE FROM allgood_events WHERE seq > 1"
    yield "all removed", "DELETE FROM allgood_events"
    yield "two exchanged", f"UPDATE allgood_events SET line = ({line.format(12)}) WHERE seq = 11"
    yield (
        "an event of old at the end",
        (
            "INSERT INTO allgood_events SELECT study, (SELECT max(seq) + 1 FROM allgood_events), "
            "kind, ticket + 900, arm, batch, client, line FROM allgood_events WHERE seq = 14"
        ),
    )
    yield "the number of events", "UPDATE allgood_studies SET events = events - 1"
    yield "the digest", "UPDATE allgood_studies SET digest = replace(digest, 'a', 'b') || 'c'"
    yield "no JSON", "UPDATE allgood_events SET line = 'x' WHERE seq = 5"


def test_edits_by_hand_are_found(tmp_path):
    """Nothing that was edited is read as if it were a study."""
    path = tmp_path / "s.db"
    with campaign(path) as study:
        lines = list(study.export())
    seen = 0
    for what, statement in edits(path):
        other = tmp_path / "edited.db"
        shutil.copy(path, other)
        with sqlite3.connect(other) as connection:
            for rule in ("allgood_no_gap", "allgood_no_change"):
                connection.execute(f"DROP TRIGGER {rule}")
            connection.execute(statement)
        connection.close()
        with pytest.raises(DamagedStudy, match="the study is damaged after event"):
            load_study(other)
        found = check_study(other)
        assert not found.ok, what
        assert any("rules allgood_no_gap, allgood_no_change" in text for text in found.problems)
        intact, why = intact_lines(other)
        assert "the study is damaged" in why
        assert lines[: len(intact)] == [f"{line}\n" for line in intact], what
        if intact:
            import_study(tmp_path / f"saved {seen}.db", intact).close()
        seen += 1
    assert seen == 15


def test_a_copied_column_that_was_edited_is_found(tmp_path):
    """Columns serve queries only, so the study can be read; the check names the column."""
    path = tmp_path / "s.db"
    campaign(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER allgood_no_change")
        connection.execute("UPDATE allgood_events SET arm = 2 WHERE seq = 2")
    connection.close()
    load_study(path).close()
    assert any("event 2: the column arm holds 2" in text for text in check_study(path).problems)


def test_flipped_bits_are_found(tmp_path):
    """A study that can be read and passes its check has the events that were stored."""
    path = tmp_path / "s.db"
    with campaign(path, rounds=12) as study:
        lines = list(study.export())
        known = study.status()
    content, rng = path.read_bytes(), random.Random(7)
    outcomes = {"damaged": 0, "harmless": 0}
    for i in range(60):
        place = rng.randrange(len(content))
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.randrange(8)
        other = tmp_path / f"flipped {i}.db"
        other.write_bytes(flipped)
        try:
            whole = check_study(other, "s").ok
            with load_study(other, "s") as study:
                found, status = list(study.export()), study.status()
        except (StudyError, ValueError, UnicodeDecodeError):
            outcomes["damaged"] += 1
        else:
            assert found == lines
            assert status.arms == known.arms
            outcomes["harmless" if whole else "damaged"] += 1
        other.unlink()
    assert outcomes["damaged"] > 10
    assert sum(outcomes.values()) == 60


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_database_refuses_gaps_and_changes(request, tmp_path, kind):
    url = f"sqlite:///{tmp_path / 's.db'}"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    with campaign(url):
        pass
    engine = sql.create_engine(url)
    gap = (
        "INSERT INTO allgood_events (study, seq, kind, line) "
        "SELECT study, max(seq) + 2, 'note', '{}' FROM allgood_events GROUP BY study"
    )
    change = "UPDATE allgood_events SET line = '{}'"
    for statement, why in ((gap, "event not stored"), (change, "event not changed")):
        with pytest.raises(sql.exc.IntegrityError, match=why), engine.begin() as connection:
            connection.execute(sql.text(statement))
    engine.dispose()
    assert check_study(url, "s").ok
    delete_study(url, "s")


# ---- a database that goes back


@pytest.mark.parametrize("look", [False, True])
def test_a_file_that_is_put_back_is_noticed(tmp_path, look):
    """The next change is refused, and the one after it is made in what is there now."""
    path, backup = tmp_path / "s.db", tmp_path / "backup.db"
    with campaign(path) as study:
        checkpoint(path)
        shutil.copy(path, backup)
        before = study.status().events
        tickets = study.ask(4)
        study.tell([(ticket, 0.5) for ticket in tickets])
        overwrite(path, backup)
        if look:  # what is read is what is there
            assert study.status().events == before
        with pytest.raises(HistoryChanged, match=r"no longer holds event .* went back"):
            study.tell([(tickets[0], 0.5)])
        assert study.status().events == before
        tell_more(study)
        study.note("on we go")
    with load_study(path) as study:
        assert [event.kind for event in study.events()][-1] == "note"
    assert check_study(path).ok


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_that_goes_back_under_a_server(request, tmp_path, kind):
    """As after a failover to a replica that lags: 503, then the state that is there."""
    path = tmp_path / "s.db"
    url = f"sqlite:///{path}"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    campaign(url).close()
    with Client(url) as client:
        names = {known["name"]: known["id"] for known in client.get("/v1/names").json["studies"]}
        study = f"/v1/studies/{names['s']}"
        tickets = client.post(f"{study}/ask", {"n": 2}).json["tickets"]
        rows = [{"ticket": ticket["id"], "value": 0.5} for ticket in tickets]
        assert client.post(f"{study}/tell", {"rows": rows}).json["counts"] == {"accepted": 2}
        end = client.get(f"{study}/status").json["events"]
        go_back(url, end - 2)
        for key in (f"{kind}-1", f"{kind}-2"):
            refused = client.post(f"{study}/tell", {"rows": rows}, idempotency_key=key)
            if refused.status == 200:
                break
            assert (refused.status, "went back" in refused.detail) == (503, True)
        assert key.endswith("2")
        assert refused.json["counts"] == {"accepted": 2}
        assert client.get(f"{study}/status").json["events"] == end
        assert len(client.get(f"{study}/export").body.splitlines()) == end
    assert check_study(url, "s").ok
    delete_study(url, "s")


def test_a_client_reads_a_study_again_that_went_back(tmp_path):
    """What a program knows from a server is compared with the server, too."""
    path = tmp_path / "s.db"
    campaign(path).close()
    with Program(path) as server:
        study = connect(server.address, "s")
        end = study.status().events
        go_back(f"sqlite:///{path}", end - 3)
        assert study.status().events == end - 3
        study.close()


# ---- a write-ahead log that is deleted


@needs_posix
def test_a_deleted_write_ahead_log_loses_nothing(tmp_path):
    """Values that were acknowledged are there after kill -9."""
    path = tmp_path / "s.db"
    campaign(path).close()
    script = """
import sys
from allgood import load_study
from allgood.study.backends.errors import DatabaseUnavailable
study = load_study(sys.argv[1], "s")
def tell(i):
    try:
        study.add_measurement("a", 0.1, f"page {i}")
    except DatabaseUnavailable as error:
        print("refused", error, flush=True)
    else:
        print("acknowledged", i, flush=True)
for i in range(5):
    tell(i)
print("ready", flush=True)
sys.stdin.readline()
for i in range(5, 35):
    tell(i)
print("ready", flush=True)
sys.stdin.readline()
"""
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    said = []

    def listen():
        while (line := worker.stdout.readline().strip()) != "ready":
            assert line
            said.append(line)

    try:
        listen()
        path.with_name("s.db-wal").unlink()
        worker.stdin.write("go on\n")
        worker.stdin.flush()
        listen()
    finally:
        worker.kill()
        worker.wait()
        worker.stdin.close()
        worker.stdout.close()
    refused = [line for line in said if line.startswith("refused")]
    assert len(refused) == 1
    assert "s.db-wal, which belongs to" in refused[0]
    acknowledged = {f"page {line.split()[1]}" for line in said if line.startswith("acknowledged")}
    assert len(acknowledged) == 34
    with load_study(path, "s") as study:
        stored = {event.note for event in study.events() if event.kind == "unrequested"}
    assert acknowledged <= stored
    assert check_study(path, "s").ok


def test_a_log_that_another_one_replaces_is_noticed(tmp_path):
    path = tmp_path / "s.db"
    with campaign(path) as study:
        log = path.with_name("s.db-wal")
        content = log.read_bytes()
        log.unlink()
        log.write_bytes(content)
        with pytest.raises(
            DatabaseUnavailable, match="was moved, deleted or replaced while it was in use"
        ):
            study.note("x")


# ---- the command


def test_the_check_on_the_command_line(tmp_path):
    path, kept = tmp_path / "s.db", tmp_path / "kept.json"
    with campaign(path) as study:
        kept.write_text(json.dumps(study.certificate()))
        end = study.status().events
    found = allgood("study", "check", str(path), "--certificate", str(kept))
    assert found.returncode == 0
    checked = "database, events, choices, certificate"
    assert found.stdout == f"s: {end} events, no problem. Checked: {checked}.\n"
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM allgood_events WHERE seq > ?", (end - 2,))
    connection.close()
    found = allgood("study", "check", str(path), "--json")
    said = json.loads(found.stdout)
    assert (found.returncode, said["ok"]) == (1, False)
    assert (said["events"], said["intact"]) == (end, end - 2)
    saved = tmp_path / "saved.jsonl"
    found = allgood("study", "export", str(path), "--damaged", "--out", str(saved))
    assert found.returncode == 0
    assert f"the study is damaged after event {end - 2}" in found.stderr
    assert len(saved.read_text().splitlines()) == end - 2
    refused = allgood("study", "status", str(path))
    assert refused.returncode == 2
    assert "`allgood study check` says more" in refused.stderr
    away = allgood("study", "check", "http://127.0.0.1:9")
    assert "Run the check on the machine that has the database" in " ".join(away.stderr.split())


def test_a_rewritten_history_does_not_agree_with_a_certificate_that_was_kept(tmp_path):
    """The chain alone cannot notice that; the check without a certificate is the control."""
    path = tmp_path / "s.db"
    with campaign(path) as study:
        certificate, lines = study.certificate(), list(study.export())
    number = next(i for i, line in enumerate(lines) if '"kind":"measurement"' in line)
    event = json.loads(lines[number])
    event["value"] += 0.001
    lines[number] = json.dumps(event)
    import_study(tmp_path / "rewritten.db", relinked(lines)).close()
    assert check_study(tmp_path / "rewritten.db").ok
    found = check_study(tmp_path / "rewritten.db", certificate=certificate)
    assert "log: its sha256 is not that of the lines." in found.problems
