"""What is refused before anything of a request is read, and what every answer carries.

Without tokens the server is for this machine only.  Then a request must name this machine as its
host, so that no page of another site can reach it under a name of its own (DNS rebinding).
With or without tokens, what a browser sends on behalf of another site is refused.
"""

import ipaddress
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, cookie_parser

from .problems import Refused, problem_of
from .tokens import Role, Token, role_of

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

COOKIE = "allgood_token"
SESSION = "/v1/session"
PUBLIC = (SESSION, "/v1/health")
UPLOADS = ("/tell", "/judge", "/counts", "/import")
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
    """How much a client may ask of the server.

    Attributes:
        body, upload: bytes of a request, and of one that may bring a whole sheet.
        rate, burst: requests per second of one address, and how many may come at once.
        guesses: wrong tokens per minute of one address.
        requests, streams: requests at work at once, and open live streams.
        patience: seconds for which a request waits for the lock of a SQLite file.
    """

    body: int = 4_000_000
    upload: int = 64_000_000
    rate: float = 500.0
    burst: float = 1000.0
    guesses: float = 10.0
    requests: int = 200
    streams: int = 500
    patience: float = 20.0


class Bucket:
    """Lets each key pass so often per second, and a burst at once."""

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


class Guard:
    """Looks at every request first, and writes one line about each."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        tokens: tuple[Token, ...],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app, self.tokens, self.limits, self.clock = app, tokens, limits, clock
        self.requests = Bucket(limits.rate, limits.burst, clock)
        self.guesses = Bucket(limits.guesses / 60.0, limits.guesses, clock)
        self.working = self.streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, answer = self.clock(), {"status": 500, "started": False}
        is_stream = scope["path"].endswith("/live")

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer["status"], answer["started"] = message["status"], True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        role: Role | None = None
        self.working += not is_stream
        self.streams += is_stream
        try:
            role = self._admit(scope)
            scope.setdefault("state", {})["role"] = role
            await self.app(scope, self._limited(scope, receive), noted)
            if answer["status"] == 401:  # a wrong token in the form of the page
                self.guesses.take(_address(scope))
        except Refused as error:
            await problem_of(error)(scope, receive, noted)
        except ClientDisconnect:
            answer["status"] = 499  # as nginx calls a client that has gone before its answer
        except Exception:
            log.exception("a request failed")
            if not answer["started"]:
                own = Refused(500, "The server met an error of its own; its log says which.")
                await problem_of(own)(scope, receive, noted)
        finally:
            self.working -= not is_stream
            self.streams -= is_stream
            _write_line(scope, role, answer["status"], self.clock() - began)

    def _admit(self, scope: Scope) -> Role | None:
        """The role of who asks; Refused if the request goes no further."""
        headers, address = Headers(scope=scope), _address(scope)
        path = scope["path"]
        if self.working > self.limits.requests or self.streams > self.limits.streams:
            raise Refused(503, "The server has too much to do: try again.", {"Retry-After": "1"})
        if not self.requests.take(address):
            raise Refused(429, "There are too many requests: try again.", {"Retry-After": "1"})
        if not self.tokens and not is_loopback(_host(headers.get("host", ""))):
            raise Refused(403, "Without tokens this server answers only as localhost.")
        if path.startswith("/v1/"):
            _check_origin(headers)
        self._check_length(path, headers)
        if not self.tokens:
            return "manage"
        if not path.startswith("/v1/"):  # the page holds nothing secret
            return None
        role = self._role(headers, address)
        if role is None and path not in PUBLIC:
            raise Refused(401, "A token must be given.", {"WWW-Authenticate": "Bearer"})
        return role

    def _role(self, headers: Headers, address: str) -> Role | None:
        given = _token(headers)
        if self.guesses.left(address) < 1.0:
            raise Refused(429, "There were too many wrong tokens: wait.", {"Retry-After": "60"})
        if not given:
            return None
        role = role_of(given, self.tokens)
        if role is None:
            self.guesses.take(address)
            if headers.get("authorization"):
                raise Refused(
                    401,
                    "The token must be one that this server knows.",
                    {"WWW-Authenticate": "Bearer"},
                )
        return role

    def _limit(self, path: str) -> int:
        return self.limits.upload if path.endswith(UPLOADS) else self.limits.body

    def _check_length(self, path: str, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if not (length.isdecimal() and len(length) < 20):
            raise Refused(400, "Content-Length must be a number.")
        if int(length) > self._limit(path):
            raise Refused(413, _too_large(self._limit(path)))

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """The body, up to the limit."""
        limit, got = self._limit(scope["path"]), 0

        async def counted() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > limit:
                raise HTTPException(413, _too_large(limit))
            return message

        return counted


def _too_large(limit: int) -> str:
    return f"The body must be at most {limit:,} bytes: send it in parts."


def _token(headers: Headers) -> str:
    """The token of a request: from its header, or from the cookie of the page."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return token.strip()
    return cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def _check_origin(headers: Headers) -> None:
    """Refuse what a browser sends for a page of another site."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    own = headers.get("host", "").lower()
    foreign = origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}")
    if foreign or site not in ("same-origin", "none"):
        raise Refused(403, "A page of another site must not use this server.")


def _host(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a name is of this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _write_line(scope: Scope, role: Role | None, status: int, seconds: float) -> None:
    """One line of JSON about a request.  It holds no query, no header and no body."""
    line = {
        "time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "event": "request",
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(1000.0 * seconds, 1),
        "role": role,
        "client": _address(scope),
    }
    log.info(json.dumps(line))
