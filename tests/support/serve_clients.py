"""Programs that ask and tell over HTTP, and repeat with the same key until they are answered."""

import json
import random
import threading
import time
import uuid
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from allgood import load_study

from .server_thread import serving
from .serving import Program, wait_until
from .study_workers import value_of

PATIENCE = 300.0  # seconds after which a client gives up: something is broken


class Person:
    """Sends requests to whichever server is there now.

    ``where`` gives its address.  A request whose connection broke is sent again with its key.
    """

    def __init__(self, where):
        self._where, self._connection, self.repeated = where, None, 0

    def post(self, path, body):
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        content, limit = json.dumps(body), time.monotonic() + PATIENCE
        while True:
            try:
                if self._connection is None:
                    self._connection = HTTPConnection(urlsplit(self._where()).netloc, timeout=60)
                self._connection.request("POST", path, content, headers)
                answer = self._connection.getresponse()
                text = answer.read()
            except (OSError, HTTPException):
                self.close()
                self.repeated += 1
                if time.monotonic() > limit:
                    raise
                time.sleep(0.01)
                continue
            if answer.status in (429, 503) and time.monotonic() < limit:
                time.sleep(0.05)
                continue
            if answer.status != 200:
                raise AssertionError(f"{path}: {answer.status} {text!r}")
            return json.loads(text)

    def close(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class Crowd:
    """So many clients at once, each in a thread, until they have done so many rounds in all.

    Attributes:
        acknowledged: pairs of ticket and value that a server said to have stored.
        failed: what went wrong.
        repeated: how often a request was sent again.
    """

    def __init__(self, where, number, rounds, study=1):
        self.acknowledged, self.failed, self.repeated = [], [], 0
        self._left, self._lock, self._study = rounds, threading.Lock(), study
        self.threads = [
            threading.Thread(target=self._work, args=(where, f"client {i}")) for i in range(number)
        ]

    def _work(self, where, name):
        person = Person(where)
        try:
            while self._next():
                path = f"/v1/studies/{self._study}"
                [ticket] = person.post(f"{path}/ask", {"n": 1})["tickets"]
                row = {"ticket": ticket["id"], "value": value_of(ticket["id"])}
                told = person.post(f"{path}/tell", {"rows": [row], "client": name})
                if told["counts"] != {"accepted": 1}:
                    raise AssertionError(told)
                with self._lock:
                    self.acknowledged.append((row["ticket"], row["value"]))
        except BaseException as error:
            self.failed.append(error)
        finally:
            self.repeated += person.repeated
            person.close()

    def _next(self):
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for thread in self.threads:
            thread.join()


def told(study):
    return [(event.ticket, event.value) for event in study.events() if event.kind == "measurement"]


def numbered(acknowledged):
    return sorted((int(ticket.split("-")[1]), value) for ticket, value in acknowledged)


def killed(path, kills, clients, rounds, seed):
    """The clients of a server that is killed so often, and started again.

    The one that lives to the end is in this process.
    """
    rng, servers = random.Random(seed), [Program(path)]
    address = servers[0].address
    with ExitStack() as stack:
        stack.callback(lambda: [server.kill() for server in servers])
        with Crowd(lambda: address, clients, rounds) as crowd:
            for i in range(kills):
                enough = (i + 1) * rounds // (kills + 2)
                wait_until(lambda enough=enough: len(crowd.acknowledged) >= enough or crowd.failed)
                time.sleep(rng.uniform(0.0, 0.02))  # so that the kill comes at any moment
                servers[-1].kill()
                if i < kills - 1:
                    servers.append(Program(path))
                    address = servers[-1].address
                else:
                    address = stack.enter_context(serving(path))
    return crowd


def assert_counted_once(path, crowd, rounds):
    assert crowd.failed == []
    assert len(set(crowd.acknowledged)) == len(crowd.acknowledged) == rounds
    with load_study(path) as study:
        # Nothing acknowledged is lost, and nothing was done twice: not one ticket too many.
        assert sorted(told(study)) == numbered(crowd.acknowledged)
        tickets = [event.ticket for event in study.events() if event.kind == "ticket"]
        assert tickets == list(range(1, rounds + 1))
        assert study.status().measurements == rounds
