"""Studies on a server, over HTTP: the backend that posts commands and reads events.

The state of a study is computed here from its events, as for a database.  Every request that
changes something has a key, so that a repetition after a broken connection is done once.
"""

import http.client
import json
import os
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ..._internal.arguments import ArgumentError, ArgumentTypeError
from ..._internal.json_input import read_json
from ..commands.base import Command, Decision, R
from ..events import Chain, Event, StoredEvent, parse_line
from ..state import StudyState
from .base import Backend, Storage, StudyHead
from .errors import (
    DamagedStudy,
    DatabaseUnavailable,
    HistoryChanged,
    IdempotencyConflict,
    StudyError,
    StudyExists,
    StudyNotFound,
)

PATIENCE = 30.0  # seconds for which a request is repeated when the server does not answer
TIMEOUT = 90.0  # seconds for one answer; the server itself waits for its database
PORT = 8765
TOKEN = "ALLGOOD_TOKEN"  # the environment variable that may hold the token
JSON = "application/json"
LINES = "application/x-ndjson"
ERRORS: dict[str, type[Exception]] = {
    error.__name__: error
    for error in (
        TypeError,
        ValueError,
        ArgumentError,
        ArgumentTypeError,
        StudyError,
        StudyNotFound,
        StudyExists,
        DatabaseUnavailable,
        HistoryChanged,
        DamagedStudy,
        IdempotencyConflict,
    )
}


class ServerStore(Storage):
    """The studies of a server."""

    _http: http.client.HTTPConnection | None = None

    def __init__(self, address: str, token: str | None = None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise StudyError(f"address must be like http://HOST:{PORT}: got {address!r}.")
        if parts.username is not None:
            raise StudyError("address must not contain a token: pass the token as token.")
        self.address = address.rstrip("/")
        self.shown = self.address
        self.token = os.environ.get(TOKEN) if token is None else token
        self._parts = parts
        self._lock = threading.RLock()
        self._known = False
        self.get("/session")
        self._known = True

    def names(self) -> list[tuple[int, str]]:
        names: list[tuple[int, str]] = []
        while True:
            after = names[-1][0] if names else 0
            answer = self.get("/names", after=after)
            names += [(study["id"], study["name"]) for study in answer["studies"]]
            if not answer["more"]:
                return names

    def overview(self, number: int | None = None) -> dict[int, StudyHead]:
        """Return name and size of each study, or of one; the server keeps the digests."""
        heads: dict[int, StudyHead] = {}
        more = True
        while more:
            answer = self.get("/studies", after=max(heads, default=0), limit=200)
            for study in answer["studies"]:
                heads[study["id"]] = StudyHead(study["id"], study["name"], study["events"], "")
            more = answer["more"]
        return {key: head for key, head in heads.items() if number in (None, key)}

    @contextmanager
    def reading(self, number: int) -> Iterator["ServerLog"]:
        yield ServerLog(self, number)

    def add_study(self, name: str, first: Sequence[StoredEvent]) -> int | None:
        lines = "".join(f"{stored.line}\n" for stored in first)
        try:
            answer = self.send("/studies/import", lines.encode(), LINES, name=name)
        except StudyExists:
            return None
        return int(answer["id"])

    def delete_study(self, number: int) -> None:
        self.request("DELETE", f"/studies/{number}", key=uuid.uuid4().hex)

    def backend(
        self, number: int, name: str, state: StudyState, chain: Chain, clock: Callable[[], float]
    ) -> "HttpBackend":
        return HttpBackend(self, number, name, state, chain, clock)

    def let_go(self) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._http is not None:
            self._http.close()
        self._http = None

    # ---- requests

    def get(self, path: str, **query: Any) -> Any:
        return read_json(self.request("GET", path, query))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send JSON."""
        return self.send(path, json.dumps(body, allow_nan=False).encode())

    def send(self, path: str, body: bytes, kind: str = JSON, **query: Any) -> Any:
        """Send a body, with a key, so that the server processes it once."""
        return read_json(self.request("POST", path, query, body, kind, uuid.uuid4().hex))

    def request(
        self,
        method: str,
        path: str,
        query: "dict[str, Any] | None" = None,
        body: bytes | None = None,
        kind: str = JSON,
        key: str | None = None,
    ) -> bytes:
        """Send a request and return the answer; repeat it for a while if the server is busy.

        A request without an answer is repeated, too.
        """
        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{self._parts.path.rstrip('/')}/v1{quote(path)}"
        target += f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        headers = {"Content-Type": kind} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        until, pause = time.monotonic() + PATIENCE, 0.05
        while True:
            try:
                status, content, wait = self._once_over(method, target, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if not self._known or time.monotonic() > until:
                    raise DatabaseUnavailable(
                        f"the server {self.address} does not answer ({error or type(error)!s}). "
                        "Check the address, and that the server is running."
                    ) from error
            else:
                if status not in (429, 503) or time.monotonic() > until:
                    return _content(status, content)
                pause = max(pause, wait)
            time.sleep(pause)
            pause = min(2.0 * pause, 1.0)

    def _once_over(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, float]:
        """Return status, content, and how long to wait before the next try."""
        with self._lock:
            if self._http is None:
                self._http = self._new_connection()
            self._http.request(method, target, body, headers)
            answer = self._http.getresponse()
            content = answer.read()
        wait = answer.getheader("Retry-After", "0")
        return answer.status, content, float(wait) if wait.isdigit() else 0.0

    def _new_connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port or 443, timeout=TIMEOUT, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, port or 80, timeout=TIMEOUT)


def _content(status: int, content: bytes) -> bytes:
    """Return the content of a good answer; raise the error that a bad one names."""
    if status < 400:
        return content
    try:
        problem = json.loads(content)
        detail, name = str(problem["detail"]), problem.get("error")
    except (ValueError, KeyError, TypeError):
        raise DatabaseUnavailable(
            f"the server answered with status {status} and gave no reason. Check the address, and "
            "any proxy in front of the server."
        ) from None
    raise _error(name, detail, problem.get("errors") or [])


def _error(name: str, detail: str, parts: "list[dict[str, str]]") -> Exception:
    """Return the error that the server names; one about an argument carries the argument's name."""
    kind = ERRORS.get(name, StudyError)
    if issubclass(kind, ArgumentError | ArgumentTypeError):
        pointer = parts[0].get("pointer", "") if parts else ""
        return kind(detail, argument=pointer.strip("#/").replace("/", "."))
    return kind(detail)


class HttpBackend(Backend):
    """A study on a server: the server decides requests; the state is computed here from events."""

    storage: ServerStore

    def execute(self, request: Command[R]) -> Decision[R]:
        request.check()
        answer = self._post(request.path, request)
        result = request.result_from(answer)
        return Decision((), result)

    def preview(self, request: Command[R]) -> R:
        request.check()
        return request.result_from(self._post(request.preview_path, request))

    def _post(self, path: str, request: Command[Any]) -> Any:
        return self.storage.post(f"/studies/{self.number}/{path}", request.to_dict())

    def reopening(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return ServerStore, (self.storage.address, self.storage.token)


class ServerLog:
    """The events of a study on a server."""

    def __init__(self, store: ServerStore, number: int) -> None:
        self._store, self._path = store, f"/studies/{number}/export"

    @property
    def end(self) -> Chain:
        """The number of the last event; the server keeps its digest to itself."""
        return Chain(int(self._store.get(self._path.removesuffix("/export"))["events"]))

    def catch_up(self, known: Chain, take: Callable[[Event], None]) -> None:
        """Hand over each event after those that are known, and move ``known`` to the end."""
        known.follow(self.lines(known.seq, digest=known.digest or None), take, parse_line)

    def check(self, known: Chain) -> None:
        """Raise HistoryChanged if an event that is known is not there, or is another one."""
        for _ in self.lines(known.seq, limit=1, digest=known.digest):
            pass

    def lines(
        self,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        **filters: Any,
    ) -> Iterator[str]:
        """Return the lines of events with numbers above ``after`` and below ``before``."""
        query = {"after": after, "before": before, "limit": limit, "newest": newest or None}
        query |= filters
        content = self._store.request("GET", self._path, query)
        yield from content.decode("utf-8", "surrogatepass").split("\n")[:-1]
