"""``allgood serve`` as a program: it starts, ends at Ctrl-C, and may be killed at any moment."""

import contextlib
import json
import socket
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from allgood import load_study
from allgood.study.backends.sql import old_sqlite

from ..support.command_line import allgood
from ..support.serve_clients import Crowd, assert_counted_once, killed, numbered, told
from ..support.server_thread import serving
from ..support.serving import PATIENCE, Program
from ..support.study_workers import create, value_of
from ..support.systems import needs_posix

pytestmark = needs_posix


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "studies.db"
    create(path).close()
    return path


def fetch(address, path):
    connection = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_from_the_start_to_the_first_page_and_to_the_end(path):
    """Who reads the address may use it at once.  Ctrl-C ends it cleanly, with streams open."""
    with Program(path) as program, contextlib.ExitStack() as streams:
        assert fetch(program.address, "/v1/health") == (200, b'{"ok":true}')
        status, page = fetch(program.address, "/")
        assert (status, b"<html" in page) == (200, True)
        for target in ("/v1/live", "/v1/studies/1/live", "/v1/studies/1/live?after=0"):
            connection = program.connect()
            streams.callback(connection.close)
            connection.request("GET", target)
            assert connection.getresponse().readline() == b"retry: 1000\n"
        assert program.interrupt() == 0
        assert program.process.stdout.read().strip() == old_sqlite(str(path))
        assert "Traceback" not in program.log
        lines = [json.loads(line) for line in program.log.splitlines()]  # all of it is lines
        assert {line["status"] for line in lines} == {200}
    assert not path.with_name("studies.db-wal").exists()  # the last one out has cleared up


def test_a_port_that_is_taken(path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = allgood("serve", path, "--port", port)
    assert ended.returncode == 2
    assert f"host and port must be free on this machine: got 127.0.0.1 and {port}" in ended.stderr


def test_a_connection_that_breaks_in_the_middle_of_a_body(path):
    """Raw bytes: whatever ends too early has not happened, and the server goes on."""
    with Program(path) as program:
        place = urlsplit(program.address)
        body = b'{"rows": [{"ticket": "x-1", "value": 1}]}'
        head = b"POST /v1/studies/1/tell HTTP/1.1\r\nHost: localhost\r\n"
        for sent in (
            head,
            head + b"Content-Type: application/json\r\nContent-Length: 400\r\n\r\n" + body,
            head + b"Content-Type: text/csv\r\nContent-Length: 90\r\n\r\nticket,value\nx-1,1\n",
            head
            + b"Content-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\nd\r\nticket,value\n",
            b"POST /v1/studies/1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
            b"\x16\x03\x01\x02\x00",
            b"GET / HTTP/9.9\r\n\r\n",
        ):
            with socket.create_connection((place.hostname, place.port), PATIENCE) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        # Two that follow each other on one connection are two.
        note = b'{"text": "a"}'
        whole = (
            b"POST /v1/studies/1/notes HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 13\r\n\r\n" + note
        )
        with socket.create_connection((place.hostname, place.port), PATIENCE) as connection:
            connection.sendall(whole + whole)
            got = b""
            while got.count(b"HTTP/1.1 200") < 2:
                got += connection.recv(4096)
        assert program.interrupt() == 0
        assert "Traceback" not in program.log
    with load_study(path) as study:
        assert [event.kind for event in study.events()] == ["created", "note", "note"]


def test_two_servers_and_a_worker_on_one_database(path):
    """One server in a process of its own; the other is in that of the worker."""
    with Program(path) as one, serving(path) as two, load_study(path) as study:
        addresses = [one.address, two] * 2
        with Crowd(addresses.pop, 4, 24) as crowd:
            local = []
            for _ in range(8):
                [ticket] = study.ask(1, client="local")
                study.tell([(ticket, value_of(ticket.id))])
                local.append((ticket.id, value_of(ticket.id)))
        assert crowd.failed == []
        assert len(crowd.acknowledged) == 24
        assert sorted(told(study)) == numbered(crowd.acknowledged + local)
        for server in (one.address, two):
            status = json.loads(fetch(server, "/v1/studies/1/status")[1])
            assert (status["measurements"], status["pending"]) == (32, 0)
        assert one.interrupt() == 0


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(path):
    crowd = killed(path, kills=2, clients=16, rounds=100, seed=1)
    assert_counted_once(path, crowd, 100)
    assert crowd.repeated > 0  # the kills were felt
