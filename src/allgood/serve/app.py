"""The application (ASGI), made of routes, page and middleware, and the server that runs it."""

import hashlib
import ipaddress
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path

import anyio
import anyio.to_thread
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from .. import __version__
from .._internal.arguments import ArgumentError
from .cache import StudyCache
from .connections import protocol_for
from .docs import docs_html
from .feed import ChangeFeed
from .middleware import SESSION, AccessMiddleware, Limits, Network, is_loopback
from .problems import Refusal, invalid_request, problem, problem_of
from .routes import ROUTERS, describe
from .slow_work import SlowWork
from .tokens import Sessions, Token

STATIC = Path(__file__).parent / "static"
WRITERS = 20  # requests that change the database, or wait for its lock, at once
READERS = 100  # threads for requests that read
LARGE = 2  # large bodies that are parsed at once
ENDING = 3  # seconds for requests in progress when the server ends
LAST_RESORT = 4.5  # seconds after which the process ends, whatever its threads do
BACKLOG = 2048  # connections that wait to be accepted


def create_app(
    url: str,
    *,
    tokens: tuple[Token, ...] = (),
    read_only: bool = False,
    limits: Limits | None = None,
) -> FastAPI:
    """Return the application for the studies of a database, for a server of your choice (ASGI)."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = READERS
        app.state.slow = SlowWork()
        app.state.writers = anyio.CapacityLimiter(WRITERS)
        app.state.large = anyio.CapacityLimiter(LARGE)
        yield
        app.state.slow.end()
        await app.state.feed.end()
        study_cache.close()

    app = FastAPI(
        title="allgood",
        version=__version__,
        description="Studies over HTTP, version 1.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    limits = limits or Limits()
    study_cache = StudyCache(url, read_only, limits.patience)
    app.state.study_cache, app.state.tokens, app.state.sessions = study_cache, tokens, Sessions()
    app.state.ending = threading.Event()
    app.state.feed = ChangeFeed(study_cache.newest)
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    _add_errors(app)
    _add_page(app)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=1)
    app.add_middleware(
        AccessMiddleware,
        tokens=tokens,
        limits=limits,
        sessions=app.state.sessions,
        ending=app.state.ending,
    )
    return app


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return problem_of(error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if request.url.path == SESSION:  # the body may hold a token
            return problem(422, "The body must be JSON with a token, and nothing else.")
        return problem_of(invalid_request(error.errors()))

    async def other(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail), error.headers)

    for kind in (Refusal, ValueError, TypeError):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)


def _add_page(app: FastAPI) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    def docs() -> Response:
        return HTMLResponse(docs_html(app.openapi()))

    app.mount("/static", PageFiles(directory=STATIC))


class PageFiles(StaticFiles):
    """The files of the page: a browser asks each time whether a file has changed.

    So modules of two versions never mix.  The entity tag is a digest of the content, because an
    installation may set the times of files.
    """

    def file_response(
        self,
        full_path: "str | os.PathLike[str]",
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = FileResponse(full_path, status_code=status_code, stat_result=stat_result)
        response.headers["etag"] = _tag(
            os.fspath(full_path), stat_result.st_mtime_ns, stat_result.st_size
        )
        response.headers["cache-control"] = "no-cache"
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response


@lru_cache(maxsize=1000)
def _tag(path: str, changed: int, size: int) -> str:
    """Return the entity tag of a file; time of change and size only limit how long it is kept."""
    return f'"{hashlib.sha256(Path(path).read_bytes()).hexdigest()[:32]}"'


class Server(uvicorn.Server):
    """Serves an application; ends its streams and its slow work before it waits for requests."""

    def __init__(
        self, app: FastAPI, limits: Limits | None = None, proxies: tuple[Network, ...] = ()
    ) -> None:
        config = uvicorn.Config(
            app,
            http=protocol_for(limits or Limits(), proxies),
            ws="none",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=ENDING,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=[str(network) for network in proxies],
        )
        super().__init__(config)
        self._app = app
        self.on_shutdown: Callable[[], object] = lambda: None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.on_shutdown()
        self._app.state.ending.set()
        self._app.state.slow.end()
        await self._app.state.feed.end()
        await super().shutdown(sockets)


def check_host(host: str, tokens: tuple[Token, ...]) -> None:
    """Raise ArgumentError if other machines could reach a server without tokens."""
    if not tokens and not is_loopback(host):
        raise ArgumentError(
            f"tokens must be given for a host that other machines can reach: got {host}.",
            argument="tokens",
        )


def parse_proxies(addresses: Sequence[str]) -> tuple[Network, ...]:
    """Return the networks of proxies, from addresses such as 127.0.0.1 or 10.0.0.0/8."""
    try:
        networks = tuple(ipaddress.ip_network(text.strip()) for text in addresses)
    except ValueError as error:
        raise ArgumentError(
            f"proxies must be addresses or networks: {error}.", argument="proxies"
        ) from None
    if any(network.prefixlen == 0 for network in networks):
        raise ArgumentError(
            "proxies must be addresses or networks of proxies: got one that holds every address, "
            "so that every client could pretend to be any other.",
            argument="proxies",
        )
    return networks


def serve(
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    tokens: tuple[Token, ...] = (),
    read_only: bool = False,
    limits: Limits | None = None,
    proxies: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the studies of a database until the process is interrupted.

    ``proxies`` are addresses or networks whose X-Forwarded-For and X-Forwarded-Proto are trusted.
    """
    check_host(host, tokens)
    networks = parse_proxies(proxies)
    app = create_app(url, tokens=tokens, read_only=read_only, limits=limits)
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.INFO)
    listener = _listen(host, port)
    address = listener.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    server = Server(app, limits, networks)
    before = set(threading.enumerate())
    last_resort = threading.Timer(LAST_RESORT, os._exit, (0,))
    last_resort.daemon = True
    server.on_shutdown = last_resort.start
    with suppress(KeyboardInterrupt):  # which uvicorn passes on once all is closed
        ready(f"http://{shown}:{address[1]}")
        server.run(sockets=[listener])
    left = set(threading.enumerate()) - before - {last_resort}
    if all(thread.daemon for thread in left):  # else Python would wait for them
        last_resort.cancel()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)  # from here on no connection is refused
    except OSError as error:
        listener.close()
        raise ArgumentError(
            f"host and port must be free on this machine: got {host} and {port} "
            f"({error.strerror}).",
            argument="port",
        ) from None
    return listener
