"""ASGI middleware: authentication, rate limits and size limits; security headers on all responses.

Requests are checked before routing.  Without tokens the server is for this machine only.  Then a
request must name this machine as its host, so that no page of another site can reach it under a
name of its own (DNS rebinding).  With or without tokens, a request that a browser sends on behalf
of another site is refused.
"""

import asyncio
import ipaddress
import json
import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, cookie_parser

from ..study.backends.sql import DEADLINE, Deadline
from .problems import Refusal, problem_of
from .tokens import Role, Sessions, Token, find_token

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SESSION = "/v1/session"
HEALTH = "/v1/health"
PUBLIC = (SESSION, "/v1/vocabulary")  # answered without a token, like the page itself
LOGIN = 10_000  # bytes of a request that logs in
UPLOADS = ("/tell", "/preview", "/counts", "/import")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
log = logging.getLogger("allgood.serve")


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    A client is a token, or an address that sends none.

    Attributes:
        body, upload: bytes of a request body, and of one that may hold a whole sheet.
        memory, disk: bytes of the bodies of all requests in progress: of those held in memory, and
            of uploads, which wait on the disk.  One client may hold a quarter.
        rate, burst: requests per second of one client, and how many may come at once.
        wrong_tokens: wrong tokens per minute of one address.
        requests, streams: requests in progress at once, and open live streams.
        requests_per_client, streams_per_client: the same for one client.
        unauthenticated: requests in progress without a token, if the server asks for one.
        connections, connections_per_address: open connections, of all and of one address.
        head_seconds: seconds for the head of a request, from the connection on.
        body_seconds, body_rate: a body may be silent for so many seconds; from then on it must
            bring so many bytes per second, on average.
        send_seconds: seconds for a client to go on reading its response.
        patience: seconds for which a request waits for the lock of a SQLite file, from its arrival.
    """

    body: int = 4_000_000
    upload: int = 64_000_000
    memory: int = 128_000_000
    disk: int = 1_024_000_000
    rate: float = 500.0
    burst: float = 1000.0
    wrong_tokens: float = 10.0
    requests: int = 200
    requests_per_client: int = 50
    unauthenticated: int = 100
    streams: int = 500
    streams_per_client: int = 100
    connections: int = 2000
    connections_per_address: int = 250
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    body_rate: float = 50_000.0
    send_seconds: float = 30.0
    patience: float = 20.0


@dataclass(frozen=True)
class Caller:
    """The sender of a request.

    Attributes:
        key: names the client whose limits count: a token or an address.
        role: None without a valid token, if the server asks for one.
        token: the name of the token for the log; None without one.
        name: the name of the token, if it has one: who makes the request.
        address: the address of the client.
    """

    key: str
    role: Role | None
    token: str | None
    address: str
    name: str | None = None


class Quota:
    """An amount that all clients share, with a limit for each client."""

    def __init__(self, total: float, per_client: float) -> None:
        self.total, self.per_client, self.used = total, per_client, 0.0
        self.used_by: Counter[str] = Counter()

    def has_room(self, key: str, amount: float = 1) -> bool:
        return self.used + amount <= self.total and self.used_by[key] + amount <= self.per_client

    def add(self, key: str, amount: float) -> None:
        """Take an amount, or give it back if it is negative."""
        self.used += amount
        self.used_by[key] += amount  # type: ignore[assignment]
        if not self.used_by[key]:
            del self.used_by[key]


class RateLimit:
    """A token bucket for each key: so many requests per second, and a burst at once."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def left(self, key: str) -> float:
        left, then = self._left.get(key, (self.burst, self.clock()))
        return min(self.burst, left + self.rate * (self.clock() - then))

    def take(self, key: str) -> bool:
        left = self.left(key)
        allowed = left >= 1.0
        self._left[key] = (left - 1.0 if allowed else left, self.clock())
        self._left.move_to_end(key)
        if len(self._left) > 10_000:
            self._left.popitem(last=False)
        return allowed


class AccessMiddleware:
    """Checks every request before routing, and logs one line about each."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        tokens: tuple[Token, ...],
        limits: Limits,
        sessions: Sessions,
        ending: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app, self.tokens, self.limits, self.clock = app, tokens, limits, clock
        self.sessions = sessions
        self.rates = RateLimit(limits.rate, limits.burst, clock)
        self.wrong_tokens = RateLimit(limits.wrong_tokens / 60.0, limits.wrong_tokens, clock)
        each = limits.requests_per_client
        self.requests = Quota(limits.requests, each)
        self.unauthenticated = Quota(limits.unauthenticated, each)
        self.streams = Quota(limits.streams, limits.streams_per_client)
        self.memory = Quota(limits.memory, max(limits.memory / 4, limits.body))
        self.disk = Quota(limits.disk, max(limits.disk / 4, limits.upload))
        self.ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, answer = self.clock(), {"status": 500, "started": False}
        caller, quota = Caller("", None, None, _address(scope)), None
        body = _Body(self, scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer["status"], answer["started"] = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            caller = self._caller(scope)
            quota = self._admit(scope, caller)
            if quota is not None:
                quota.add(caller.key, 1)
            scope.setdefault("state", {}).update(
                caller=caller, role=caller.role, wrong_token=self.wrong_token
            )
            body.key = caller.key
            waiting = DEADLINE.set(body.deadline)
            try:
                await self.app(scope, body.receive, send_with_headers)
            finally:
                DEADLINE.reset(waiting)
        except Refusal as error:
            await problem_of(error)(scope, receive, send_with_headers)
        except ClientDisconnect:
            answer["status"] = 499  # nginx's status for a client that has disconnected
        except Exception:
            log.exception("a request failed")
            if not answer["started"]:
                own = Refusal(500, "The server has an error of its own; see its log.")
                await problem_of(own)(scope, receive, send_with_headers)
        finally:
            body.release()
            if quota is not None:
                quota.add(caller.key, -1)
            _log_request(scope, caller, answer["status"], self.clock() - began)

    def _caller(self, scope: Scope) -> Caller:
        """Identify the caller.  A known token always passes; a wrong one raises Refusal."""
        address = _address(scope)
        if not self.tokens:
            return Caller(f"address {address}", "manage", None, address)
        nobody = Caller(f"address {address}", None, None, address)
        if not scope["path"].startswith("/v1/"):  # the page holds nothing secret
            return nobody
        headers = Headers(scope=scope)
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            token = find_token(value.strip(), self.tokens)
            if token is None and scope["path"] != HEALTH:
                raise self.wrong_token(address)
        else:
            cookies = cookie_parser(headers.get("cookie", ""))
            token = self.sessions.token(cookies.get(cookie_name(scope), ""))
        if token is None:
            return nobody
        key, name = f"token {token.sha256}", token.name or None
        return Caller(key, token.role, token.label, address, name)

    def wrong_token(self, address: str) -> Refusal:
        """Count a wrong token, and return the refusal."""
        if not self.wrong_tokens.take(address):
            return Refusal(
                429,
                "Too many wrong tokens came from this address: wait a minute.",
                {"Retry-After": "60"},
            )
        return Refusal(
            401, "The token must be one that this server knows.", {"WWW-Authenticate": "Bearer"}
        )

    def _admit(self, scope: Scope, caller: Caller) -> Quota | None:
        """Return the quota of which the request takes one; Refusal if it goes no further."""
        headers, path = Headers(scope=scope), scope["path"]
        if not self.tokens and not is_loopback(_host(headers.get("host", ""))):
            raise Refusal(403, "Without tokens this server answers only as localhost.")
        if path.startswith("/v1/"):
            _check_origin(headers)
        if path == HEALTH:  # answers whatever else is going on
            return None
        if not self.rates.take(caller.key):
            raise Refusal(
                429,
                "The client sends too many requests: try again in a second.",
                {"Retry-After": "1"},
            )
        if not path.startswith("/v1/"):
            self._check_length(path, headers)
            return None
        if caller.role is None and path not in PUBLIC:
            raise Refusal(401, "A token must be given.", {"WWW-Authenticate": "Bearer"})
        quota = self.streams if path.endswith("/live") else self.requests
        quota = self.unauthenticated if caller.role is None else quota
        if quota.used_by[caller.key] >= quota.per_client:
            raise Refusal(
                429,
                f"A client may have {quota.per_client:g} requests in progress: try again when one "
                "of them has ended.",
                {"Retry-After": "1"},
            )
        if not quota.has_room(caller.key):
            raise Refusal(503, "The server is busy: try again.", {"Retry-After": "1"})
        self._check_length(path, headers)
        return quota

    def limit_of(self, path: str) -> int:
        """Return the number of bytes that a body may have."""
        if path == SESSION:
            return min(LOGIN, self.limits.body)
        return self.limits.upload if path.endswith(UPLOADS) else self.limits.body

    def _check_length(self, path: str, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if not (length.isdecimal() and len(length) < 20):
            raise Refusal(400, "Content-Length must be a number.")
        if int(length) > self.limit_of(path):
            raise Refusal(413, _too_large(self.limit_of(path)))


class _Body:
    """The body of a request as it arrives, within the limits of size, time and quota."""

    def __init__(self, middleware: AccessMiddleware, scope: Scope, receive: Receive) -> None:
        path, self.limits = scope["path"], middleware.limits
        self.limit, self.clock = middleware.limit_of(path), middleware.clock
        self.quota = middleware.disk if path.endswith(UPLOADS) else middleware.memory
        self.key, self.size, self._receive = "", 0, receive
        self.whole = scope["method"] in ("GET", "HEAD")  # nobody reads a body of these
        self.began = self.clock()
        until = time.monotonic() + self.limits.patience
        self.deadline = Deadline(until, middleware.ending.is_set)

    async def receive(self) -> Message:
        if self.whole:  # from here on only the end of the client can come
            return await self._receive()
        slow = self.limits.body_seconds + self.size / self.limits.body_rate
        left = self.began + slow - self.clock()
        try:
            message = await asyncio.wait_for(self._receive(), max(left, 0.0))
        except TimeoutError:
            raise HTTPException(408, "The body came too slowly: send it again.") from None
        got = len(message.get("body", b""))
        if self.size + got > self.limit:
            raise HTTPException(413, _too_large(self.limit))
        if not self.quota.has_room(self.key, got):
            raise HTTPException(
                503,
                "The server holds too many large requests: try again.",
                {"Retry-After": "2"},
            )
        self.size += got
        self.quota.add(self.key, got)
        self.whole = not message.get("more_body", False)
        self.deadline.until = time.monotonic() + self.limits.patience
        return message

    def release(self) -> None:
        self.quota.add(self.key, -self.size)


def _too_large(limit: int) -> str:
    return f"The body must be at most {limit:,} bytes: send it in parts."


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie, which servers on other ports of this host do not share."""
    server = scope.get("server")
    return f"allgood_session_{server[1] if server else 0}"


def _check_origin(headers: Headers) -> None:
    """Refuse a request that a browser sends for a page of another site."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    own = headers.get("host", "").lower()
    foreign = origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}")
    if foreign or site not in ("same-origin", "none"):
        raise Refusal(403, "A page of another site must not use this server.")


def _host(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Return whether a host name means this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_in(address: str, networks: tuple[Network, ...]) -> bool:
    """Return whether an address is in one of these networks."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def write_log(event: str, caller: Caller, **facts: Any) -> None:
    """Write one line of JSON to the log: the event, its facts and its caller."""
    when = {"time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}", "event": event}
    who = {"role": caller.role, "token": caller.token, "client": caller.address}
    log.info(json.dumps(when | facts | who))


def _log_request(scope: Scope, caller: Caller, status: int, seconds: float) -> None:
    """Log a request, without its query, its headers and its body."""
    line = {
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(1000.0 * seconds, 1),
    }
    write_log("request", caller, **line)
