"""The server does a bounded amount of work, whoever asks for it and however.

Attacks come from other loopback addresses than the honest client, 127.0.0.1, and are bounded in
number and time.
"""

import asyncio
import contextlib
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from allgood import Additive, Gaussian, create_study
from allgood._internal.cancel import Cancelled, cancellable, check_cancelled
from allgood.certificates.verify import verify
from allgood.reporting.report import report_html
from allgood.serve import explore as exploring
from allgood.serve import slow_work as work
from allgood.serve.app import Server, parse_proxies
from allgood.serve.middleware import Limits
from allgood.serve.problems import Refusal
from allgood.serve.routes import base
from allgood.serve.routes import sheets as sheet_routes
from allgood.serve.routes import studies as study_routes
from allgood.serve.slow_work import SlowWork
from allgood.serve.tokens import Token, _digest, add_token
from allgood.study import study as studies
from allgood.study.planning import plan_study

from ..support.command_line import allgood
from ..support.server_thread import serving
from ..support.serving import PATIENCE, Client, Program, wait_until
from ..support.systems import needs_posix

ATTACKER = "127.0.0.2"
SOON = 30.0  # seconds: far more than is needed, and far less than work without a bound takes
TOKENS = tuple(Token(role, _digest(role), role) for role in ("read", "measure", "manage"))
SLOW_PLAN = {
    "means": [1.0 - 0.0005 * i for i in range(2000)],
    "epsilon": 0.2,
    "sigma": 1.0,
    "batch": 10,
    "runs": 100,
    "budget": 10**6,
}  # hours


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "studies.db"
    create_study(
        path, "s", arms=["a", "b", "c"], objective=Additive(0.5), delta=0.1, model=Gaussian(1.0)
    ).close()
    return path


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def fetch(address, method, target, body=None, **headers):
    """Status and body, from 127.0.0.1, on a connection of its own."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, target, content, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def attack(address, sent=b"", source=ATTACKER):
    """A connection from another address that sends this and then nothing."""
    place = urlsplit(address)
    connection = socket.create_connection(
        (place.hostname, place.port), PATIENCE, source_address=(source, 0)
    )
    with contextlib.suppress(OSError):  # it may be closed already
        connection.sendall(sent)
    return connection


def is_closed(connection):
    """Wait until the server closes a connection; False if it does not."""
    connection.settimeout(SOON)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def send_until_it_breaks(connection, part):
    """Go on sending until the server has closed the connection."""
    for _ in range(1000):
        try:
            connection.sendall(part)
        except (ConnectionResetError, BrokenPipeError):
            return
        time.sleep(0.02)
    raise AssertionError("the connection is still there")


# ---- slow work


@pytest.mark.parametrize("batch", [1, 10])
def test_a_plan_stops_when_it_is_told_to(batch):
    """In the middle of a run, whether it is simulated by the compiled loop or in batches."""
    looks = 0

    def should_stop():
        nonlocal looks
        looks += 1
        return looks > 20

    means = SLOW_PLAN["means"]
    with cancellable(should_stop), pytest.raises(Cancelled):
        plan_study(means, Additive(0.2), 0.05, Gaussian(1.0), batch=batch, budget=10**6)
    check_cancelled()  # outside of the block nothing is stopped


def test_what_can_be_stopped_gives_the_same_numbers():
    """The runs are cut into parts then."""
    arguments = ([1.0, 0.8, 0.5, 0.1], Additive(0.25), 0.05, Gaussian(1.0))
    whole = plan_study(*arguments, runs=5, seed=3)
    assert whole.measurements[0] > 1000
    with cancellable(lambda: False):
        assert plan_study(*arguments, runs=5, seed=3) == whole


def in_loop(work_to_do):
    return asyncio.run(work_to_do())


class Gate:
    """Computations that end when they are let go, or stop when they are told to."""

    def __init__(self):
        self.open, self.running, self.most = threading.Event(), 0, 0
        self.lock = threading.Lock()

    def pass_through(self):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            while not self.open.wait(0.005):
                check_cancelled()
            return "done"
        finally:
            with self.lock:
                self.running -= 1


async def never():
    await asyncio.Event().wait()


async def until(true):
    limit = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < limit
        await asyncio.sleep(0.005)


def test_places_are_shared():
    """Two readers at once, one for each client, and always a place for who measures."""

    async def check():
        slow, gate = SlowWork(), Gate()

        def start(client, role):
            return asyncio.ensure_future(slow.run(client, role, never, gate.pass_through))

        tasks = [start("a", "read") for _ in range(work.PER_CLIENT)]
        await until(lambda: gate.running == 1)
        with pytest.raises(Refusal) as refused:
            await start("a", "read")
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "5"})
        tasks += [start("b", "read"), start("c", "read")]
        await until(lambda: gate.running == 2)
        tasks.append(start("m", "measure"))
        await until(lambda: gate.running == 3)
        assert [job.client for job in slow.running] == ["a", "b", "m"]
        gate.open.set()
        assert await asyncio.gather(*tasks) == ["done"] * 9
        assert gate.most <= work.PLACES
        gate.open.clear()
        many = [start(f"client {i}", "manage") for i in range(work.PLACES + work.QUEUE)]
        await until(lambda: gate.running == work.PLACES)
        with pytest.raises(Refusal) as refused:
            await start("one more", "manage")
        assert refused.value.status == 503
        gate.open.set()
        assert await asyncio.gather(*many) == ["done"] * len(many)
        assert (slow.running, slow.waiting) == ([], [])

    in_loop(check)


def test_work_ends_when_its_client_goes():
    async def check():
        slow, gate, gone = SlowWork(), Gate(), asyncio.Event()
        tasks = [
            asyncio.ensure_future(slow.run("a", "read", gone.wait, gate.pass_through))
            for _ in range(4)
        ]
        await until(lambda: gate.running == 1)
        assert len(slow.waiting) == 3
        gone.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(error).__name__ for error in ended] == ["ClientDisconnect"] * 4
        await until(lambda: not slow.running)
        assert (gate.running, slow.waiting) == (0, [])

    in_loop(check)


def test_certificates_reports_and_their_checks_stop_when_they_are_told_to(tmp_path):
    """Each goes on while nobody says so, and ends soon after somebody does."""
    with create_study(
        tmp_path / "s.db",
        "s",
        arms=[f"arm {i}" for i in range(12)],
        objective=Additive(0.5),
        delta=0.1,
        model=Gaussian(0.3),
    ) as study:
        noise = random.Random(0)
        for _ in range(6):
            tickets = study.ask(12)
            study.tell([(t, float(t.arm[4:]) + noise.gauss(0.0, 0.3)) for t in tickets])
        certificate, lines = study.certificate(), [line.rstrip("\n") for line in study.export()]
        assert certificate["claims"]
        for do in (
            study.certificate,
            lambda: report_html(study),
            lambda: verify(certificate, lines, check_cancelled),
        ):
            with cancellable(lambda: False):
                do()
            with cancellable(lambda: True), pytest.raises(Cancelled):
                do()


def test_a_role_has_so_much_time(path, monkeypatch):
    with Client(path, tokens=TOKENS) as client:
        monkeypatch.setitem(client.app.state.slow.seconds, "read", 0.05)
        late = client.post("/v1/plan", SLOW_PLAN, **bearer("read"))
        assert (late.status, late.detail[:47]) == (
            422,
            "The computation took longer than 0.05 seconds, ",
        )
        small = {"means": [1.0, 0.0], "epsilon": 0.5, "sigma": 1.0, "runs": 2}
        assert client.post("/v1/plan", small, **bearer("measure")).status == 200
        wait_until(lambda: not client.app.state.slow.running)


@needs_posix
def test_a_reader_cannot_stop_those_who_measure_and_leaves_nothing_behind(tmp_path, path):
    """205 plans that would take hours; then the reader goes; then Ctrl-C in the middle of two."""
    file = tmp_path / "tokens"
    reader, measurer = add_token(file, "read"), add_token(file, "measure")

    def plans(program, number):
        made = []
        for _ in range(number):
            connection = program.connect()
            head = {"Content-Type": "application/json", "Authorization": f"Bearer {reader}"}
            connection.request("POST", "/v1/plan", json.dumps(SLOW_PLAN), head)
            made.append(connection)
        return made

    me = {"Authorization": f"Bearer {measurer}"}
    with Program(path, "--token-file", str(file)) as program:
        attackers = plans(program, 205)
        refused = [c.getresponse().status for c in attackers[work.PER_CLIENT :]]
        assert set(refused) == {429}
        for _ in range(5):
            began = time.monotonic()
            assert fetch(program.address, "POST", "/v1/studies/1/ask", {"n": 1}, **me)[0] == 200
            explored = {"means": [1.0, 0.5], "epsilon": 0.2}
            assert fetch(program.address, "POST", "/v1/explore", explored, **me)[0] == 200
            assert time.monotonic() - began < SOON
        for connection in attackers:
            connection.close()
        # Another plan of this reader starts only if the others have stopped.
        head = {"Authorization": f"Bearer {reader}"}
        small = {"means": [1.0, 0.0], "epsilon": 0.5, "sigma": 1.0, "runs": 1}
        wait_until(lambda: fetch(program.address, "POST", "/v1/plan", small, **head)[0] == 200)
        more = plans(program, 2)
        wait_until(lambda: fetch(program.address, "POST", "/v1/plan", small, **me)[0] == 200)
        began = time.monotonic()
        assert program.interrupt() == 0
        assert time.monotonic() - began < 5.0 + 5.0  # 5 seconds, on a machine that is busy
        assert "Traceback" not in program.log
        for connection in more:
            connection.close()


@needs_posix
def test_the_server_ends_while_another_program_holds_the_database(path):
    """Ctrl-C while requests wait for it."""
    with Program(path) as program, ThreadPoolExecutor(4) as pool:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        def ask():
            with contextlib.suppress(OSError):
                return fetch(program.address, "POST", "/v1/studies/1/ask", {"n": 1})

        waiting = [pool.submit(ask) for _ in range(4)]
        time.sleep(0.5)
        began = time.monotonic()
        assert program.interrupt() == 0
        assert time.monotonic() - began < 5.0 + 5.0
        for item in waiting:
            item.result(PATIENCE)
        other.close()


STUCK = """
import sys, time
from allgood.serve import app, cache
cache.StudyCache.heads = lambda self: time.sleep(3600)
app.serve(sys.argv[1], port=0, ready=lambda address: print(address, flush=True))
"""


@needs_posix
def test_a_thread_that_is_stuck_does_not_keep_the_server(path):
    """It computes in Python and looks at nothing: the process ends without it."""
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        place = urlsplit(process.stdout.readline().strip())
        with socket.create_connection((place.hostname, place.port), PATIENCE) as connection:
            connection.sendall(b"GET /v1/names HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert fetch(place.geturl(), "GET", "/v1/health")[0] == 200
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
            assert time.monotonic() - began < 5.0 + 5.0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# ---- connections and bodies


HEAD = b"POST /v1/studies/1/tell HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
UNFINISHED = HEAD + b"Content-Length: 1000\r\n\r\nticket"


@needs_posix
def test_silent_and_unfinished_requests_stop_nobody(path):
    """1,030 silent connections and 201 unfinished requests of another address."""
    with Program(path) as program, contextlib.ExitStack() as stack:
        for sent in (b"", UNFINISHED):
            for _ in range(1030 if not sent else 201):
                stack.enter_context(attack(program.address, sent))
            for method, target, body in (
                ("GET", "/v1/health", None),
                ("GET", "/", None),
                ("GET", "/v1/studies/1/status", None),
                ("POST", "/v1/studies/1/ask", {"n": 1}),
            ):
                began = time.monotonic()
                assert fetch(program.address, method, target, body)[0] == 200
                assert time.monotonic() - began < SOON
        assert program.interrupt() == 0


@needs_posix
def test_unfinished_requests_without_a_token_hold_no_place(path):
    login = b"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"
    limits = Limits(requests=5, unauthenticated=3, requests_per_client=5)
    with (
        serving(path, tokens=TOKENS, limits=limits) as address,
        contextlib.ExitStack() as stack,
    ):
        for sent in (UNFINISHED, login):
            for _ in range(20):
                stack.enter_context(attack(address, sent))
        for target in ("/v1/health", "/", "/v1/studies/1/status"):
            assert fetch(address, "GET", target, Authorization="Bearer read")[0] == 200


@needs_posix
@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", HEAD, b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"]
)
def test_a_connection_without_a_whole_head_is_closed(path, sent):
    """Whether it never sent one, or not the next one."""
    with serving(path, limits=Limits(head_seconds=0.2)) as address:
        with attack(address, sent) as connection:
            assert is_closed(connection)
        assert fetch(address, "GET", "/v1/health")[0] == 200


@needs_posix
def test_a_head_that_trickles_is_closed(path):
    with (
        serving(path, limits=Limits(head_seconds=0.3)) as address,
        attack(address, b"GET / HTTP/1.1\r\n") as connection,
    ):
        send_until_it_breaks(connection, b"X-More: 1\r\n")


@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
@needs_posix
def test_a_body_that_does_not_come_is_given_up(path, kind):
    limits = Limits(body_seconds=0.2)
    for route in ("tell", "notes"):
        head = f"POST /v1/studies/1/{route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        with (
            serving(path, limits=limits) as address,
            attack(address, f"{head}Content-Length: 99\r\n\r\n{{".encode()) as connection,
        ):
            connection.settimeout(SOON)
            assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")


@needs_posix
def test_an_address_has_so_many_connections(path):
    limits = Limits(connections_per_address=5, connections=8, head_seconds=PATIENCE)
    with serving(path, limits=limits) as address, contextlib.ExitStack() as stack:
        first = [stack.enter_context(attack(address)) for _ in range(5)]
        assert is_closed(stack.enter_context(attack(address)))
        assert fetch(address, "GET", "/v1/health")[0] == 200
        # Where there is no room for others, the one that was silent for longest goes.
        for source in ("127.0.0.3", "127.0.0.4"):
            for _ in range(4):
                stack.enter_context(attack(address, source=source))
        assert fetch(address, "GET", "/v1/health")[0] == 200
        assert is_closed(first[0])


@needs_posix
def test_a_client_that_does_not_read_is_let_go(path):
    """The answer is larger than what the system buffers on the way."""
    limits = Limits(send_seconds=0.2)
    asked = b"GET /static/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(path, limits=limits) as address:
        place = urlsplit(address)
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((ATTACKER, 0))
        connection.settimeout(SOON)
        connection.connect((place.hostname, place.port))
        with connection:  # pipelined: each is answered when the one before was read
            send_until_it_breaks(connection, 100 * asked)


def test_a_client_holds_only_its_share_of_bodies(path):
    """In memory and on the disk; the rest is refused, and all is given back."""
    limits = Limits(body=1000, upload=2000, memory=2000, disk=4000)
    with Client(path, limits=limits) as client:
        guard = client.app
        client.get("/v1/health")
        guard = client.app.middleware_stack
        while type(guard).__name__ != "AccessMiddleware":
            guard = guard.app
        for shares, route, kind in (
            (guard.memory, "notes", "application/json"),
            (guard.disk, "tell", "text/csv"),
            (guard.disk, "tell", "application/json"),
        ):
            shares.add("address 10.0.0.9", shares.total - 100)
            full = client.post(f"/v1/studies/1/{route}", body=b"x" * 500, kind=kind)
            assert (full.status, full.headers["retry-after"]) == (503, "2")
            shares.add("address 10.0.0.9", 100 - shares.total)
            client.post(f"/v1/studies/1/{route}", body=b"x" * 500, kind=kind)
            assert (shares.used, dict(shares.used_by)) == (0, {})
            shares.add("address 127.0.0.1", shares.per_client)
            own = client.post(f"/v1/studies/1/{route}", body=b"x" * 500, kind=kind)
            assert own.status == 503
            shares.add("address 127.0.0.1", -shares.per_client)


def test_large_json_waits_on_the_disk_and_few_are_parsed_at_once(path, monkeypatch):
    body = json.dumps({"rows": [{"ticket": "x-1", "value": 0.5}]}) + " " * base.SPOOLED
    lock, parsing, most, on_disk = threading.Lock(), 0, 0, []
    parsed = sheet_routes.read_body

    def watched(file, kind):
        nonlocal parsing, most
        with lock:
            parsing += 1
            most = max(most, parsing)
            on_disk.append(file._rolled)
        time.sleep(0.05)
        try:
            return parsed(file, kind)
        finally:
            with lock:
                parsing -= 1

    monkeypatch.setattr(sheet_routes, "read_body", watched)
    with Client(path) as client, ThreadPoolExecutor(10) as pool:
        assert client.get("/v1/nothing").status == 404  # a new application prepares its routes
        send = [
            pool.submit(
                client.post,
                "/v1/studies/1/tell?rows=problems",
                body=body.encode(),
                kind="application/json",
            )
            for _ in range(10)
        ]
        assert {item.result(PATIENCE).status for item in send} == {200}
    assert (most, on_disk) == (2, [True] * 10)


# ---- who is asking


@needs_posix
def test_forwarded_addresses_are_believed_only_from_a_proxy(path, caplog):
    caplog.set_level("INFO", logger="allgood.serve")
    forged = {"X-Forwarded-For": "10.9.8.7", "X-Forwarded-Proto": "https"}

    def logged(address):
        caplog.clear()
        cookie = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
        cookie.request("POST", "/v1/session", json.dumps({"token": "read"}), forged | JSON)
        answer = cookie.getresponse()
        answer.read()
        cookie.close()
        wait_until(lambda: caplog.records)  # written after the answer
        line = json.loads(caplog.records[-1].getMessage())
        return line["client"], "Secure" in answer.getheader("set-cookie")

    with serving(path, tokens=TOKENS) as address:
        assert logged(address) == ("127.0.0.1", False)
    with serving(path, tokens=TOKENS, proxies=parse_proxies(["10.0.0.0/8"])) as address:
        assert logged(address) == ("127.0.0.1", False)
    with serving(path, tokens=TOKENS, proxies=parse_proxies(["127.0.0.1"])) as address:
        assert logged(address) == ("10.9.8.7", True)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("given", ["*", "proxy.example", "0.0.0.0/0", "::/0", "127.0.0.1/8", ""])
def test_a_proxy_has_an_address(path, given):
    ended = allgood("serve", path, "--proxy", given)
    assert ended.returncode == 2
    assert "proxies must be addresses or networks" in ended.stderr


def test_servers_trust_no_proxy_by_default(path):
    with Client(path) as client:
        assert Server(client.app).config.proxy_headers is False


# ---- locks


def test_readers_do_not_wait_for_writers_that_wait_for_the_database(path):
    """Another program holds the database; 60 writers wait for it, on one study and on all."""
    create_study(path, "t", arms=["a", "b"], objective=Additive(0.5), delta=0.1).close()
    limits = Limits(patience=PATIENCE, requests_per_client=100)
    with Client(path, limits=limits) as client, ThreadPoolExecutor(60) as pool:
        assert client.get("/v1/studies/1/status").status == 200
        assert client.post("/v1/studies/1/ask", {"n": 1}).status == 200
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        new = {"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}

        def write(i):
            key = {"idempotency_key": f"key-{i}"} if i % 2 else {}
            if i % 10 == 0:
                return client.post("/v1/studies", new | {"name": f"n{i}"}, **key).status
            return client.post("/v1/studies/1/ask", {"n": 1}, **key).status

        waiting = [pool.submit(write, i) for i in range(60)]
        wait_until(lambda: client.app.state.writers.statistics().tasks_waiting >= 40)
        began = time.monotonic()
        for target in ("studies", "names", "studies/1/status", "studies/1/tickets", "studies/1"):
            assert client.get(f"/v1/{target}").status == 200
        assert client.get("/v1/studies/1/status").json["pending"] == 1
        assert client.get("/v1/studies/2/status").status == 200  # not read before
        assert client.get("/v1/studies/1/certificate").status == 200
        assert client.get("/").status == 200
        with client.stream("/v1/studies/1/live") as live:
            assert live.status == 200
        assert time.monotonic() - began < SOON
        assert not any(item.done() for item in waiting)
        other.rollback()
        other.close()
        assert {item.result(PATIENCE) for item in waiting} == {200, 201}
        assert client.get("/v1/studies/1/status").json["pending"] == 55


def test_patience_counts_from_the_arrival(path):
    """However many wait, each gets its answer when its own time is over."""
    with Client(path, limits=Limits(patience=1.0)) as client, ThreadPoolExecutor(40) as pool:
        assert client.get("/v1/nothing").status == 404  # a new application prepares its routes
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        def ask(_):
            began = time.monotonic()
            answer = client.post("/v1/studies/1/ask", {"n": 1})
            return answer.status, answer.headers["retry-after"], time.monotonic() - began

        answers = list(pool.map(ask, range(40)))
        other.rollback()
        other.close()
        assert {answer[:2] for answer in answers} == {(503, "1")}
        # One after another they would take 40 seconds.
        assert max(answer[2] for answer in answers) < 20.0


@pytest.mark.parametrize("route", ["tell", "counts"])
@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
def test_a_sheet_is_parsed_before_anything_is_locked(path, monkeypatch, route, kind):
    """Also if it comes with a key: meanwhile others write."""
    parsing, go_on = threading.Event(), threading.Event()
    name = {"tell": "read_rows", "counts": "read_counts"}[route]
    read = getattr(sheet_routes, name)

    def slow(*args, **options):
        parsing.set()
        assert go_on.wait(PATIENCE)
        return read(*args, **options)

    monkeypatch.setattr(sheet_routes, name, slow)
    monkeypatch.setattr(studies, name, lambda rows, *_: read_only_parsed(rows))
    sheets = {
        ("tell", "text/csv"): b"ticket,value\nx-1,0.5\n",
        ("tell", "application/json"): b'{"rows": [{"ticket": "x-1", "value": 0.5}]}',
        ("counts", "text/csv"): b"arm,n,sum\na,2,1.0\n",
        ("counts", "application/json"): b'{"rows":[{"arm":"a","n":2,"sum":1}],"source":"s"}',
    }
    target = f"/v1/studies/1/{route}" + (
        "?source=s" if kind == "text/csv" and route != "tell" else ""
    )
    with Client(path) as client, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(
            client.post, target, body=sheets[route, kind], kind=kind, idempotency_key="k"
        )
        assert parsing.wait(PATIENCE)
        try:
            assert client.post("/v1/studies/1/ask", {"n": 1}, idempotency_key="a").status == 200
        finally:
            go_on.set()
        assert sent.result(PATIENCE).status in (200, 422)


def test_an_exported_study_is_parsed_before_anything_is_locked(path, monkeypatch):
    parsing, go_on = threading.Event(), threading.Event()
    parse = study_routes.parse_export

    def slow(lines):
        parsing.set()
        assert go_on.wait(PATIENCE)
        return parse(lines)

    monkeypatch.setattr(study_routes, "parse_export", slow)
    with Client(path) as client, ThreadPoolExecutor(1) as pool:
        lines = client.get("/v1/studies/1/export").body
        target, kind = "/v1/studies/import?name=copy", "application/x-ndjson"
        sent = pool.submit(client.post, target, body=lines, kind=kind, idempotency_key="k")
        assert parsing.wait(PATIENCE)
        try:
            assert client.post("/v1/studies/1/ask", {"n": 1}, idempotency_key="a").status == 200
        finally:
            go_on.set()
        assert sent.result(PATIENCE).status == 201


def test_time_for_parsing_is_not_time_for_waiting(path, monkeypatch):
    """A sheet that takes longer to parse than a request waits for a lock is told all the same."""
    read = sheet_routes.read_rows

    def slow(*args, **options):
        time.sleep(1.0)
        return read(*args, **options)

    monkeypatch.setattr(sheet_routes, "read_rows", slow)
    with Client(path, limits=Limits(patience=0.3)) as client:
        sheet = {"body": b"ticket,value\nx-1,0.5\n", "kind": "text/csv"}
        assert client.post("/v1/studies/1/tell", **sheet).json["counts"] == {"unknown": 1}


def test_a_run_of_many_arms_has_few_pictures(path, monkeypatch):
    run = {"means": [1.0, 0.9, 0.5, 0.1], "epsilon": 0.2, "frames": 1000}
    with Client(path) as client:
        all_of_them = client.post("/v1/explore/run", run).json
        monkeypatch.setattr(exploring, "MOST_CELLS", 40)
        few = client.post("/v1/explore/run", run).json
    assert 2 <= len(few["frames"]) <= 40 // 4 + 2 < len(all_of_them["frames"])
    assert few["pulls"] == all_of_them["pulls"]


def read_only_parsed(rows):
    assert type(rows).__name__ in ("Sheet", "CountsTable")  # parsed before, in the route
    return rows
