"""The application: routes, page and guard together; and the server that runs it."""

import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from .. import __version__
from .desk import Desk
from .guard import SESSION, Guard, Limits, is_loopback
from .live import News
from .problems import Refused, problem, problem_of, sentence_of
from .routes import ROUTERS, describe
from .tokens import Token

STATIC = Path(__file__).parent / "static"
SLOW = 2  # long computations at once
BACKLOG = 2048  # connections that wait to be taken


def create_app(
    url: str,
    *,
    tokens: tuple[Token, ...] = (),
    read_only: bool = False,
    limits: Limits | None = None,
) -> FastAPI:
    """The application for the studies of a database, for a server of your choice (ASGI)."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.slow = anyio.CapacityLimiter(SLOW)
        yield
        await app.state.news.end()
        desk.close()

    app = FastAPI(
        title="allgood",
        version=__version__,
        description="Studies over HTTP, version 1.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    limits = limits or Limits()
    desk = Desk(url, read_only, limits.patience)
    app.state.desk, app.state.tokens = desk, tokens
    app.state.news = News(desk.newest)
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    _add_errors(app)
    _add_page(app)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=1)
    app.add_middleware(Guard, tokens=tokens, limits=limits)
    return app


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return problem_of(error)

    async def unfit(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if request.url.path == SESSION:  # what was sent may be a token
            return problem(422, "The body must be JSON with a token, and nothing else.")
        return problem(422, sentence_of(list(error.errors())))

    async def other(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail), error.headers)

    for kind in (Refused, ValueError, TypeError):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, unfit)
    app.add_exception_handler(HTTPException, other)


def _add_page(app: FastAPI) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    def docs() -> Response:
        return FileResponse(STATIC / "docs.html")

    app.mount("/static", StaticFiles(directory=STATIC))


class Server(uvicorn.Server):
    """Lets go of the live streams before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], object]) -> None:
        super().__init__(config)
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._end()  # type: ignore[misc]
        await super().shutdown(sockets)


def check_host(host: str, tokens: tuple[Token, ...]) -> None:
    """Refuse to be reached from elsewhere without tokens."""
    if not tokens and not is_loopback(host):
        raise ValueError(
            f"--token-file must be given for a host that others can reach: got {host}. "
            "`allgood serve URL --token-file FILE --new-token manage` makes a token."
        )


def serve(
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    tokens: tuple[Token, ...] = (),
    read_only: bool = False,
    limits: Limits | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the studies of a database until somebody stops it."""
    check_host(host, tokens)
    app = create_app(url, tokens=tokens, read_only=read_only, limits=limits)
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.INFO)
    listener = _listen(host, port)
    address = listener.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=5, server_header=False
    )
    with suppress(KeyboardInterrupt):  # which uvicorn passes on once all is closed
        ready(f"http://{shown}:{address[1]}")
        Server(config, app.state.news.end).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)  # from here on nobody is turned away
    except OSError as error:
        listener.close()
        raise ValueError(
            f"--host and --port must be free on this machine: got {host} and {port} "
            f"({error.strerror})."
        ) from None
    return listener
