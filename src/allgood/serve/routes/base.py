"""Shared by all routes: routers by role, parameters, responses, changes and slow computations."""

import hashlib
import math
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import IO, Annotated, Any, TypeVar

from anyio import move_on_after
from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from ..._internal.json_input import read_json
from ...study.backends.errors import DatabaseUnavailable
from ...study.backends.sql import DEADLINE, SqlBackend, Store
from ...study.commands.base import Command, R
from ...study.study import Study
from ...study.tables.workbooks import XLSX
from ..cache import StudyCache, as_json
from ..feed import ALL, ChangeFeed
from ..problems import TYPE, Refusal
from ..requests import Body
from ..responses import Problem
from ..schemas import response
from ..slow_work import SlowWork
from ..tokens import Role, allows

JSON = "application/json"
NDJSON = "application/x-ndjson"
TEXT = {"schema": {"type": "string"}}
SHEETS = {
    "text/csv": TEXT,
    "text/plain": TEXT,
    XLSX: {"schema": {"type": "string", "format": "binary"}},
}
MOST_EVENTS = 10_000
C = TypeVar("C", bound=Command[Any])
SPOOLED = 256_000  # bytes of a body that are held in memory; a larger one waits on the disk


# ---- descriptions for OpenAPI


def json_of(kind: Any, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the description of a response in JSON."""
    return {status: {"content": {JSON: response(kind)}}}


def content_of(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of a response that is not JSON."""
    return {200: {"content": {kind: SHEETS.get(kind, TEXT) for kind in kinds}}}


def sheet_content() -> dict[str, Any]:
    """Return the description of a table as CSV or as a workbook."""
    return {kind: SHEETS[kind] for kind in ("text/csv", XLSX)}


PROBLEM = {"content": {TYPE: response(Problem)}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Refused; `detail` says why.", **PROBLEM},
    "5XX": {"description": "The database or the server is not available.", **PROBLEM},
}


# ---- routers


def _requires(role: Role) -> Any:
    """Return the dependency that refuses callers without this role."""

    async def check(request: Request) -> None:  # FastAPI would start a thread for a plain function
        if not allows(request.state.role, role):
            raise Refusal(403, f"This needs a token with the role {role}.")
        if role != "read" and request.app.state.study_cache.read_only:
            raise Refusal(403, "This server is read-only: it makes no changes.")

    return Depends(check)


class JsonRequest(Request):
    """A request whose JSON must have every key once."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route that reads its body as ``JsonRequest`` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(JsonRequest(request.scope, request.receive))

        return handle


# The groups of routes, in the order in which they are shown.
TAGS = {
    "Server": "Check the server, and begin or end a session. Everybody may do this.",
    "Studies": "Read studies: their status, tickets, plates, values and certificates. Needs the "
    "role read.",
    "Events": "Read what happened in studies, and follow it live. Needs the role read.",
    "Measuring": "Ask for tickets, and tell what was measured. Needs the role measure.",
    "Managing": "Create, change and delete studies. Needs the role manage.",
    "Instances": "Verify certificates, plan studies and explore instances. Needs the role read, "
    "and changes nothing.",
}


def new_router(role: Role | None, tag: str) -> APIRouter:
    """Return a router for callers with this role, or None for everybody; ``TAGS`` has the tags."""
    assert tag in TAGS
    return APIRouter(
        prefix="/v1",
        tags=[tag],
        dependencies=[] if role is None else [_requires(role)],
        responses=RESPONSES,
        route_class=JsonRoute,
    )


# ---- parameters

StudyId = Annotated[int, Path(alias="id", ge=1, le=2**31 - 1, description="The study's number.")]
After = Annotated[int, Query(ge=0, le=2**53)]
Limit = Annotated[int, Query(ge=1, le=MOST_EVENTS)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,200}$",
        description="A text of your choice. A request that is repeated with its key is carried "
        "out once.",
    ),
]


def study_cache_of(request: Request) -> StudyCache:
    study_cache: StudyCache = request.app.state.study_cache
    return study_cache


def feed_of(request: Request) -> ChangeFeed:
    feed: ChangeFeed = request.app.state.feed
    return feed


# ---- responses


def respond(value: Any, status: int = 200) -> Response:
    """Return a response with the JSON of a result."""
    return Response(as_json(value), status, media_type=JSON)


def attachment(content: bytes, name: str, format: str) -> Response:
    """Return a file to save: a table as CSV or as a workbook."""
    kind = XLSX if format == "xlsx" else "text/csv; charset=utf-8"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
    return Response(content, media_type=kind, headers=headers)


# ---- changes, each carried out once


def execute(study: Study, command: Command[R]) -> R:
    """Decide a command, and store its events."""
    return study.backend.execute(command).result


def attributed(request: Request, command: C) -> C:
    """Return a command as that of its sender: the token's name counts, whoever it claims to be.

    A claimed name follows after a slash, so that the programs that share a token stay apart.
    """
    return replace(command, client=client_of(request, command.client))  # type: ignore[type-var]


def client_of(request: Request, claimed: str | None) -> str | None:
    """Return who makes a request, from the name of the token and the name that is claimed."""
    name = request.state.caller.name
    if name is None or (claimed or "").startswith(f"{name}/"):
        return claimed
    return name if claimed in (None, name) else f"{name}/{claimed}"


def preview(study: Study, command: Command[R]) -> R:
    """Decide a command on a copy of the state, and store nothing."""
    return study.backend.preview(command)


def digest_of(request: Request, *parts: bytes) -> str:
    """Return the digest of everything on which the response depends."""
    sha = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode())
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


def body_digest(request: Request, body: Body) -> str:
    return digest_of(request, body.model_dump_json().encode("utf-8", "backslashreplace"))


async def change_study(
    request: Request, number: int, key: str | None, digest: str, change: Callable[[Study], Any]
) -> Response:
    """Change a study, once for each key, and respond with the result."""

    def write() -> Response:
        study = study_cache_of(request).study_to_change(number)
        try:
            if key is None:
                content, repeated = as_json(change(study)), False
            else:
                backend = study.backend
                assert isinstance(backend, SqlBackend)  # the server has its database itself
                content, repeated = backend.once(key, digest, lambda: as_json(change(study)))
        finally:
            feed_of(request).wake()
        return _response_once(content, repeated)

    return await _in_writer_thread(request, write)


async def change_database(
    request: Request, key: str | None, digest: str, change: Callable[[Store], Any], status: int
) -> Response:
    """Change the list of studies, once for each key, and respond with the result."""

    def write() -> Response:
        study_cache = study_cache_of(request)
        store = study_cache.store.twin()
        try:
            if key is None:
                content, repeated = as_json(change(store)), False
            else:
                content, repeated = store.once(
                    ALL, key, digest, study_cache.clock(), lambda: as_json(change(store))
                )
        finally:
            store.let_go()
            feed_of(request).wake()
        return _response_once(content, repeated, status)

    return await _in_writer_thread(request, write)


def _response_once(content: bytes, repeated: bool, status: int = 200) -> Response:
    headers = {"Idempotency-Replayed": "true"} if repeated else {}
    return Response(content, status, headers, media_type=JSON)


def restart_lock_deadline(request: Request) -> None:
    """Count the wait for locks from now on: the time before was work, such as parsing."""
    deadline = DEADLINE.get()
    if deadline is not None:
        deadline.until = time.monotonic() + study_cache_of(request).store.patience


async def _in_writer_thread(request: Request, write: Callable[[], Response]) -> Response:
    """Call a function in a thread for writers: they may all wait for a lock while others read."""
    deadline = DEADLINE.get()
    left = math.inf if deadline is None else max(0.0, deadline.until - time.monotonic())
    with move_on_after(left):  # a function that has begun is not cut off
        return await run_sync(write, limiter=request.app.state.writers)
    raise DatabaseUnavailable(
        f"timed out: {request.app.state.writers.total_tokens:g} other requests wait to change the "
        "database, and none of them could in time. Try again."
    )


# ---- slow computations


async def compute(request: Request, function: Callable[[], Any]) -> Any:
    """Compute a slow result, a few at a time, and only while its client waits."""
    slow: SlowWork = request.app.state.slow
    gone = partial(_disconnected, request)
    return await slow.run(request.state.caller.key, request.state.role, gone, function)


async def _disconnected(request: Request) -> None:
    """Return when the client has disconnected; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# ---- bodies that may be large


async def _empty_file() -> AsyncIterator[IO[bytes]]:
    """Yield a file for the body: a large one is on the disk and not in memory."""
    with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
        yield file


File = Annotated[IO[bytes], Depends(_empty_file)]


async def receive_into(request: Request, file: IO[bytes]) -> str:
    """Write the body into a file, and return the digest of the request."""
    sha = hashlib.sha256()
    async for part in request.stream():
        sha.update(part)
        file.write(part)
    file.seek(0)
    return digest_of(request, sha.digest())


@asynccontextmanager
async def place_to_parse(request: Request, file: IO[bytes]) -> AsyncIterator[None]:
    """Wait until few large bodies are parsed, which takes many times their size in memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= SPOOLED:
        yield
        return
    async with request.app.state.large:
        yield
