"""The server in this process, without a socket; and programs that serve, each on a port of its own.

``Client`` calls the application as a server would (ASGI), on an event loop in a thread.
"""

import asyncio
import contextlib
import json as json_module
import queue
import signal
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from urllib.parse import quote, urlencode, urlsplit

from allgood.serve.app import create_app

from . import described

PATIENCE = 300  # seconds after which whoever waits gives up: something is broken


PREPARED = {}  # the routes of each router, which live as long as the process


def application(url, **options):
    """A new application.

    FastAPI prepares the routes of every application anew, which takes longer than most tests.
    They do not depend on the database, so all applications use those of the first.
    """
    app = create_app(str(url), **options)
    for i, route in enumerate(app.router.routes):
        router = getattr(route, "original_router", None)
        if router is not None:
            app.router.routes[i] = PREPARED.setdefault(id(router), route)
    return app


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"<{self.status} {self.body[:500]!r}>"

    @property
    def json(self):
        return json_module.loads(self.body)

    @property
    def detail(self):
        """The sentence of a problem, which must have the form that every problem has."""
        assert self.headers["content-type"] == "application/problem+json", self
        problem = self.json
        parts = {"type", "title", "status", "detail", "error", "errors", "hints"}
        assert set(problem) == parts
        assert problem["status"] == self.status
        return problem["detail"]

    @property
    def pointers(self):
        """The fields that a problem names."""
        return [part["pointer"] for part in self.json["errors"]]


class Client:
    """Sends requests to an application of its own."""

    def __init__(self, url, *, address="127.0.0.1", **options):
        self.app, self.path, self.address = application(url, **options), url, address
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        self._thread.start()
        self._life = self.app.router.lifespan_context(self.app)
        self._wait(self._life.__aenter__())
        return self

    def __exit__(self, *_):
        self._wait(self._life.__aexit__(None, None, None))
        self._wait(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _end(self):
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self.loop.shutdown_asyncgens()

    def _wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def scope(self, method, path, query, headers, scheme="http"):
        path, _, more = path.partition("?")
        pairs = {key: value for key, value in (query or {}).items() if value is not None}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": scheme,
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": (more or urlencode(pairs)).encode(),
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in ({"host": "localhost"} | headers).items()
            ],
            "client": (self.address, 1234),
            "server": ("127.0.0.1", 80),
        }

    def request(
        self,
        method,
        path,
        *,
        query=None,
        json=None,
        body=None,
        kind=None,
        scheme="http",
        **headers,
    ):
        """The answer, which must be as described.

        A body that is a list comes in parts, without its length.

        Headers are written with underscores, as ``idempotency_key="a"``.
        """
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if json is not None:
            body, kind = json_module.dumps(json).encode(), kind or "application/json"
        if kind is not None:
            headers["content-type"] = kind
        parts = body if isinstance(body, list) else [body or b""]
        if body is not None and not isinstance(body, list):
            headers.setdefault("content-length", str(len(body)))
        answer = self._wait(self._request(self.scope(method, path, query, headers, scheme), parts))
        if answer is not None and "content-encoding" not in answer.headers:
            kind = answer.headers.get("content-type", "")
            described.check(method, path.partition("?")[0], answer.status, kind, answer.body)
        return answer

    async def _request(self, scope, parts):
        left, sent = list(parts), []

        async def receive():
            if not left:  # the client waits for its answer
                await asyncio.Event().wait()
            part = left.pop(0)
            if part is None:  # the client has gone in the middle of the body
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": part, "more_body": bool(left)}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return None
        headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], headers, body)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, json=None, **options):
        return self.request("POST", path, json=json, **options)

    def delete(self, path, **options):
        return self.request("DELETE", path, **options)

    @contextlib.contextmanager
    def stream(self, path, **headers):
        """What a live stream sends, message by message."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        found, gone = queue.Queue(), asyncio.Event()

        async def receive():
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                found.put(message["status"])
            elif message.get("body"):
                found.put(message["body"].decode())

        async def run():
            await self.app(self.scope("GET", path, None, headers), receive, send)
            found.put(None)

        future = asyncio.run_coroutine_threadsafe(run(), self.loop)
        try:
            yield Messages(found)
        finally:
            self.loop.call_soon_threadsafe(gone.set)
            future.result(PATIENCE)


class Messages:
    """Server-sent events: each a mapping of its fields; None at the end of the stream."""

    def __init__(self, found):
        self._found = found
        self.status = found.get(timeout=PATIENCE)

    def next(self):
        """The next event; what only says that the server is there is left out."""
        while True:
            text = self._found.get(timeout=PATIENCE)
            if text is None:
                return None
            fields = dict(line.split(": ", 1) for line in text.splitlines() if line)
            if "event" in fields:
                return fields | {"data": json_module.loads(fields["data"])}

    def changes(self, until):
        """The events up to the one with this number."""
        seen = []
        while not seen or int(seen[-1]["id"]) < until:
            seen.append(self.next())
            assert seen[-1] is not None
        return seen


class Program:
    """``allgood serve`` in a process of its own, on a free port."""

    def __init__(self, url, *options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "allgood", "serve", str(url), "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert line.startswith("The page is at http"), self.process.stderr.read()
        self.address = line.split()[4]
        self._lines = []
        self._reader = threading.Thread(target=self._read)  # so that the pipe never fills
        self._reader.start()

    def _read(self):
        self._lines += self.process.stderr

    @property
    def log(self):
        """All that it wrote to its standard error; once it has ended."""
        self._reader.join()
        return "".join(self._lines)

    def connect(self):
        return HTTPConnection(urlsplit(self.address).netloc, timeout=PATIENCE)

    def interrupt(self):
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def wait_until(true):
    """Until something holds, however slow the machine is."""
    limit = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.01)
