"""Work that must not grow with the events of a study, or with the number of studies."""

import asyncio
import sqlite3

import pytest

from allgood import Additive, Gaussian, create_study, delete_study
from allgood.serve import cache
from allgood.serve.feed import ALL
from allgood.serve.routes import events

from ..support.serving import Client

EVENTS = 4001  # of the one study that is large
QUESTION = {"objective": Additive(0.001), "delta": 0.1, "model": Gaussian(1.0)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """One study with many events, and forty that were only created."""
    path = tmp_path_factory.mktemp("large") / "s.db"
    with create_study(path, "large", arms=["a", "b"], **QUESTION) as study:
        for _ in range(20):
            study.tell([(ticket, 0.5 * (i % 3)) for i, ticket in enumerate(study.ask(100))])
        assert study.status().events == EVENTS
    for i in range(40):
        create_study(path, f"s{i}", arms=["a", "b"], **QUESTION).close()
    return path


def sizes_of_parts(client, target):
    """Return the sizes of the parts in which an answer is sent."""
    sizes, messages = [], iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive():
        for message in messages:
            return message
        await asyncio.Event().wait()

    async def send(message):
        if message.get("body"):
            sizes.append(len(message["body"]))

    client._wait(client.app(client.scope("GET", target, None, {}), receive, send))
    return sizes


def test_an_export_comes_in_chunks(path):
    """Neither event by event, which takes minutes, nor as a whole, which takes all memory."""
    with Client(path) as client:
        sizes = sizes_of_parts(client, "/v1/studies/1/export")
    assert sum(sizes) > 50 * EVENTS
    assert 1 < len(sizes) < EVENTS / 10
    assert max(sizes) < sum(sizes) / 2


def test_a_page_of_events_reads_no_more_than_it_shows(path, monkeypatch):
    read, lines = events.stored_event, []
    with Client(path) as client:
        assert client.get("/v1/studies/1/status").status == 200  # the study is in memory
        monkeypatch.setattr(events, "stored_event", lambda line: lines.append(line) or read(line))
        for after in (0, 3000):
            lines.clear()
            query = {"limit": 1, "after": after}
            [event] = client.get("/v1/studies/1/events", query=query).json["events"]
            assert (event["seq"], len(lines)) == (after + 1, 1)


def test_the_list_opens_no_study(path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a study was read for the list")

    monkeypatch.setattr(cache, "study_by_number", refuse)
    with Client(path) as client:
        entries = client.get("/v1/studies").json["studies"]
    assert [entry["name"] for entry in entries[:2]] == ["large", "s0"]
    assert len(entries) == 41


def test_a_listener_reads_nothing_while_nothing_happens(path, monkeypatch):
    """A look at a SQLite file that nobody has changed is one PRAGMA, for any number of studies."""
    statements, connect = [], sqlite3.connect

    def traced(*args, **options):
        connection = connect(*args, **options)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    monkeypatch.setattr(sqlite3.dbapi2, "connect", traced)
    with Client(path) as client:
        studies = client.app.state.study_cache
        assert len(studies.newest({ALL})) == 42
        statements.clear()
        for _ in range(3):
            assert len(studies.newest({ALL})) == 42
        assert statements == ["PRAGMA data_version"] * 3
        create_study(path, "new", arms=["a"], **QUESTION).close()
        try:
            assert len(studies.newest({ALL})) == 43
        finally:
            delete_study(path, "new")
