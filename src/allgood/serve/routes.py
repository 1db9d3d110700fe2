"""The HTTP interface, version 1.

Each route is one method of ``Study``.  Three routers say who may use it: to read, to measure, to
manage.
"""

import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import IO, Annotated, Any, Literal, TypeVar

from anyio import move_on_after
from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import models_json_schema
from typing_extensions import is_typeddict

from .. import __version__
from .._internal.cancel import check_cancelled
from .._internal.json_input import DoubledKey, read_json
from ..certificates.verify import verify as verify_certificate
from ..strategies.claim_by_claim import ClaimByClaim
from ..study.backends.sql import (
    DEADLINE,
    DatabaseUnavailable,
    HistoryChanged,
    Store,
    StudyError,
    StudyExists,
    StudyNotFound,
)
from ..study.events import stored_event
from ..study.planning import plan_study
from ..study.receipts import Change, Receipt, ReceiptRow
from ..study.sentences import question
from ..study.study import (
    ExportedStudy,
    Study,
    create_study,
    import_study,
    parse_export,
)
from ..study.tables.counts import CountsTable, pairs, read_counts
from ..study.tables.sheets import Sheet, read_rows, sheet_bytes
from ..study.tables.workbooks import XLSX
from . import responses as answers
from .cache import (
    StudyCache,
    as_json,
    plate_map,
    plates,
    shown_event,
    tickets_of,
    values_told,
)
from .explore import explore as explored
from .explore import simulated_run
from .feed import ALL, ChangeFeed
from .middleware import cookie_name, write_log
from .problems import TYPE, Refused, problem, sentence_of
from .requests import (
    AddArms,
    AddMeasurement,
    Ask,
    Body,
    Confirm,
    Correct,
    DropArm,
    Explore,
    ExploreRun,
    Fail,
    LogIn,
    NewStudy,
    NoteBody,
    PlanBody,
    SetBudget,
    Tell,
    TellCounts,
    Verify,
    example_of_lines,
)
from .slow_work import SlowWork
from .tokens import Role, allows, known_token

B = TypeVar("B", bound=Body)
BEAT = 15.0  # seconds after which a silent stream says that it is there
JSON = "application/json"
NDJSON = "application/x-ndjson"
EVENTS = "text/event-stream"
TEXT = {"schema": {"type": "string"}}
SHEETS = {
    "text/csv": TEXT,
    "text/plain": TEXT,
    XLSX: {"schema": {"type": "string", "format": "binary"}},
}
COMPONENT = "#/components/schemas/{model}"  # where OpenAPI looks for a model
MOST_EVENTS = 10_000
SPOOLED = 256_000  # bytes of a body that are held in memory; a larger one waits on the disk
PARSING = ("ticket_column", "value_column", "grid", "columns", "decimal")  # options for parsing
KINDS_SHOWN = 1000  # of events that are new at once, only so many are told apart


def _needs(role: Role) -> Any:
    """What every route of a router asks for."""

    async def check(request: Request) -> None:  # FastAPI would start a thread for a plain function
        if not allows(request.state.role, role):
            raise Refused(403, f"This needs a token with the role {role}.")
        if role != "read" and request.app.state.study_cache.read_only:
            raise Refused(403, "This server only reads: it was started with --read-only.")

    return Depends(check)


def _named(kind: type[Any]) -> dict[str, Any]:
    """How OpenAPI refers to a model, which ``describe`` adds."""
    return {"schema": {"$ref": COMPONENT.format(model=kind.__name__)}}


def _json(kind: type[Any], status: int = 200) -> dict[int | str, dict[str, Any]]:
    """How OpenAPI describes an answer in JSON."""
    return {status: {"content": {JSON: _named(kind)}}}


def _content(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """How OpenAPI describes an answer that is not JSON."""
    return {200: {"content": {kind: SHEETS.get(kind, TEXT) for kind in kinds}}}


PROBLEM = {"content": {TYPE: _named(answers.Problem)}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "Refused; `detail` says why.", **PROBLEM},
    "5XX": {"description": "The database or the server is not available.", **PROBLEM},
}


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


def _router(rights: Role | None) -> APIRouter:
    """Return a router for requests with these rights; None for requests of anybody."""
    needed = [] if rights is None else [_needs(rights)]
    return APIRouter(prefix="/v1", dependencies=needed, responses=RESPONSES, route_class=JsonRoute)


public, reading = _router(None), _router("read")
measuring, managing = _router("measure"), _router("manage")
ROUTERS = (public, reading, measuring, managing)


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of the interface (OpenAPI), with the models that FastAPI does not see.

    It is made when somebody first asks for it, so that the start does not wait for it.
    """
    if app.openapi_schema is None:
        described = FastAPI.openapi(app)
        unseen: list[Any] = [(Tell, "validation"), (TellCounts, "validation")]
        _, models = models_json_schema(unseen, ref_template=COMPONENT)
        kinds = [kind for kind in vars(answers).values() if is_typeddict(kind)]
        given: list[Any] = [(kind, "serialization", TypeAdapter(kind)) for kind in kinds]
        _, answered = TypeAdapter.json_schemas(given, ref_template=COMPONENT)
        schemas = described["components"]["schemas"]
        for more in (models["$defs"], answered["$defs"]):
            assert not schemas.keys() & more.keys()  # else one name would mean two things
            schemas |= more
        content = described["paths"]["/v1/studies/import"]["post"]["requestBody"]["content"]
        content[NDJSON] = TEXT | {"example": example_of_lines()}
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{}, {"token": []}]  # without tokens none is needed
    assert app.openapi_schema is not None
    return app.openapi_schema


Number = Annotated[int, Path(alias="id", ge=1, le=2**31 - 1, description="The study's number.")]
After = Annotated[int, Query(ge=0, le=2**53)]
Limit = Annotated[int, Query(ge=1, le=MOST_EVENTS)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,200}$",
        description="Of your choice. A request that is repeated with its key is done once.",
    ),
]
Rows = Annotated[
    Literal["all", "problems"],
    Query(description="problems: only rows that were not simply accepted."),
]


def _study_cache(request: Request) -> StudyCache:
    study_cache: StudyCache = request.app.state.study_cache
    return study_cache


def _feed(request: Request) -> ChangeFeed:
    feed: ChangeFeed = request.app.state.feed
    return feed


def _answer(value: Any, status: int = 200) -> Response:
    return Response(as_json(value), status, media_type=JSON)


# ---- writing, once


def _digest(request: Request, *parts: bytes) -> str:
    """Of all that the answer depends on."""
    sha = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode())
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


async def _write(
    request: Request, number: int, key: str | None, digest: str, do: Callable[[Study], Any]
) -> Response:
    """Change a study, once for each key."""

    def write() -> Response:
        study = _study_cache(request).study_to_change(number)
        try:
            if key is None:
                content, repeated = as_json(do(study)), False
            else:
                content, repeated = study.once(key, digest, lambda: as_json(do(study)))
        finally:
            _feed(request).hurry()
        return _once(content, repeated)

    return await _as_writer(request, write)


async def _write_database(
    request: Request, key: str | None, digest: str, do: Callable[[Store], Any], status: int
) -> Response:
    """Change the list of studies, once for each key."""

    def write() -> Response:
        study_cache = _study_cache(request)
        store = study_cache.store.twin()
        try:
            if key is None:
                content, repeated = as_json(do(store)), False
            else:
                content, repeated = store.once(
                    ALL, key, digest, study_cache.clock(), lambda: as_json(do(store))
                )
        finally:
            store.let_go()
            _feed(request).hurry()
        return _once(content, repeated, status)

    return await _as_writer(request, write)


def _start_waiting(request: Request) -> None:
    """Count the wait for locks from now on: what was before was work, such as parsing."""
    deadline = DEADLINE.get()
    if deadline is not None:
        deadline.until = time.monotonic() + _study_cache(request).store.patience


async def _as_writer(request: Request, write: Callable[[], Response]) -> Response:
    """Call this in a thread for writers: they may all wait for a lock while others read."""
    deadline = DEADLINE.get()
    left = math.inf if deadline is None else max(0.0, deadline.until - time.monotonic())
    with move_on_after(left):  # once it has begun, it is not cut off
        return await run_sync(write, limiter=request.app.state.writers)
    raise DatabaseUnavailable(
        f"timed out: {request.app.state.writers.total_tokens:g} other requests wait to change the "
        "database, and none of them could in time. Try again."
    )


def _once(content: bytes, repeated: bool, status: int = 200) -> Response:
    headers = {"Idempotency-Replayed": "true"} if repeated else {}
    return Response(content, status, headers, media_type=JSON)


def _body_of(body: Body) -> bytes:
    return body.model_dump_json().encode("utf-8", "backslashreplace")


# ---- who


@public.get("/health", summary="Whether the server is there", responses=_json(answers.Health))
async def health() -> Response:
    return _answer({"ok": True})


@public.get("/session", summary="Who you are here", responses=_json(answers.Session))
async def session(request: Request) -> Response:
    study_cache, role = _study_cache(request), request.state.role
    response = _answer(
        {
            "role": role,
            "needs_token": bool(request.app.state.tokens),
            "read_only": study_cache.read_only,
            "version": __version__,
            "database": study_cache.database if role else None,
        }
    )
    if role is None and cookie_name(request.scope) in request.cookies:  # its session has ended
        _forget_session(request, response)
    return response


@public.post(
    "/session", summary="Log in: begin a session, with a cookie", responses=_json(answers.LoggedIn)
)
async def log_in(request: Request, body: LogIn) -> Response:
    token = known_token(body.token, request.app.state.tokens)
    if token is None:
        raise request.state.wrong_token(request.state.caller.address)
    response = _answer({"role": token.role})
    _end_session(request)
    response.set_cookie(
        cookie_name(request.scope),
        request.app.state.sessions.begin(token),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


@public.delete("/session", summary="Log out", responses=_json(answers.Nothing))
async def log_out(request: Request) -> Response:
    response = _answer({})
    _end_session(request)
    _forget_session(request, response)
    return response


def _end_session(request: Request) -> None:
    request.app.state.sessions.end(request.cookies.get(cookie_name(request.scope), ""))


def _forget_session(request: Request, response: Response) -> None:
    name = cookie_name(request.scope)
    response.delete_cookie(name, path="/", httponly=True, samesite="strict")


# ---- reading


@reading.get("/studies", summary="The studies of the database", responses=_json(answers.StudyList))
def list_studies(
    request: Request,
    name: Annotated[str | None, Query(description="Only the study of this name.")] = None,
    search: Annotated[
        str,
        Query(description="Only studies with this in their names; capital letters do not matter."),
    ] = "",
    after: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="Studies with larger numbers.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    study_cache = _study_cache(request)
    part = search.casefold()
    found = [
        head
        for head in study_cache.heads().values()
        if head.id > after and name in (None, head.name) and part in head.name.casefold()
    ]
    shown = []
    for head in found[:limit]:
        try:
            shown.append(study_cache.brief(head))
        except StudyNotFound:  # deleted since the names were read
            continue
    return _answer({"studies": shown, "more": len(found) > limit})


@reading.get(
    "/studies/{id}/summary",
    summary="Return a study in a few numbers, as lists show it",
    responses=_json(answers.Summary),
)
async def summary(request: Request, number: Number) -> Response:
    return _answer(await _slowly(request, lambda: _study_cache(request).summary(number)))


@reading.get(
    "/names", summary="The names of the studies, without more", responses=_json(answers.StudyNames)
)
def names(
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    known = [head for head in _study_cache(request).heads().values() if head.id > after]
    found = [{"id": head.id, "name": head.name} for head in known[:limit]]
    return _answer({"studies": found, "more": len(known) > limit})


@reading.get(
    "/studies/{id}", summary="What a study is to find out", responses=_json(answers.OneStudy)
)
def one_study(request: Request, number: Number) -> Response:
    study = _study_cache(request).study(number)
    with study.reading() as state:
        return _answer(
            {
                "id": number,
                "name": study.name,
                "design": state.design.to_dict(),
                "question": question(len(state.design.arms), state.design.objective.wording),
                "created": state.times[0],
                "events": state.seq,
            }
        )


@reading.get(
    "/studies/{id}/status",
    summary="What is certain, and how far the rest is",
    responses=_json(answers.Status),
)
def status(
    request: Request,
    number: Number,
    arms: Annotated[
        Literal["rows", "columns", "none"], Query(description="How the arms are written.")
    ] = "rows",
) -> Response:
    return Response(_study_cache(request).shown(number, arms), media_type=JSON)


@reading.get(
    "/studies/{id}/forecast",
    summary="The lower bound, and how much is left",
    responses=_json(answers.Forecast),
)
async def forecast(request: Request, number: Number) -> Response:
    def compute() -> dict[str, Any]:
        return _study_cache(request).forecast(number).to_dict()

    return _answer(await _slowly(request, compute))


async def _slowly(request: Request, do: Callable[[], Any]) -> Any:
    """Compute what takes long, a few at a time, and only while its client waits."""
    slow: SlowWork = request.app.state.slow
    return await slow.run(request.state.caller.key, request.state.role, partial(_gone, request), do)


async def _gone(request: Request) -> None:
    """Return when the client has gone; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@reading.get(
    "/studies/{id}/events",
    summary="What has happened, event by event",
    responses=_json(answers.EventList),
)
def events(
    request: Request,
    number: Number,
    after: Annotated[
        int, Query(ge=0, le=2**53, description="Events with larger numbers; page on with it.")
    ] = 0,
    before: Annotated[
        int | None, Query(ge=0, le=2**53, description="Events with smaller numbers.")
    ] = None,
    limit: Limit = 1000,
    kind: Annotated[str | None, Query(description="Events of this kind.")] = None,
    arm: Annotated[
        str | None, Query(description="Events about this arm, or about a ticket of it.")
    ] = None,
    client: Annotated[str | None, Query(description="What this client did.")] = None,
) -> Response:
    study = _study_cache(request).study(number)
    with study.reading() as state:
        options: dict[str, Any] = dict(before=before, kind=kind, arm=arm, client=client)
        chosen = list(map(stored_event, study.lines(after, limit=limit + 1, **options)))
        shown = [shown_event(event, state) for event in chosen[:limit]]
        end = state.seq if before is None else min(state.seq, before - 1)
    last = shown[-1]["seq"] if len(chosen) > limit else max(end, after)
    return _answer({"events": shown, "last": last, "more": len(chosen) > limit})


@reading.get(
    "/studies/{id}/tickets", summary="Tickets without a value", responses=_json(answers.TicketList)
)
def tickets(request: Request, number: Number) -> Response:
    given = _study_cache(request).study(number).open_tickets
    return _answer({"tickets": [asdict(one) for one in given]})


@reading.get(
    "/studies/{id}/sheet",
    summary="A sheet to be filled in, or that was",
    response_class=Response,
    responses=_content("text/csv", XLSX),
)
def sheet(
    request: Request,
    number: Number,
    batch: Annotated[
        int | None,
        Query(
            ge=1,
            le=2**31 - 1,
            description="Its open tickets; if none is open, all of them, with their values. "
            "Otherwise the open tickets of all batches.",
        ),
    ] = None,
    singles: Annotated[bool, Query(description="Only open tickets without a plate.")] = False,
    format: Literal["csv", "xlsx"] = "csv",
) -> Response:
    study = _study_cache(request).study(number)
    with study.reading() as state:
        rows = study.sheet(tickets_of(state, batch, singles))
        content = sheet_bytes(rows, format == "xlsx", values_told(state, rows))
    name = f"tickets{'' if batch is None else f'-{batch}'}.{format}"
    kind = XLSX if format == "xlsx" else "text/csv; charset=utf-8"
    return _download(content, kind, name)


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


@reading.get(
    "/studies/{id}/plates", summary="The plates of a study", responses=_json(answers.PlateList)
)
def list_plates(request: Request, number: Number) -> Response:
    with _study_cache(request).study(number).reading() as state:
        return _answer({"plates": plates(state)})


@reading.get(
    "/studies/{id}/plates/{batch}",
    summary="What stands in each well",
    responses=_json(answers.PlateMap),
)
def one_plate(
    request: Request, number: Number, batch: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> Response:
    with _study_cache(request).study(number).reading() as state:
        return _answer(plate_map(state, batch))


@reading.get(
    "/studies/{id}/values", summary="The values that were told", responses=_json(answers.ValueList)
)
def values(
    request: Request,
    number: Number,
    arm: str | None = None,
    after: After = 0,
    limit: Limit = 1000,
) -> Response:
    columns = _study_cache(request).study(number).table().columns
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    chosen = [row for row in rows if arm in (None, row["arm"])][after:]
    return _answer({"values": chosen[:limit], "more": len(chosen) > limit})


@reading.get(
    "/studies/{id}/certificate",
    summary="The verdict, with all that it rests on",
    responses=_json(answers.Certificate),
)
async def certificate(request: Request, number: Number) -> Response:
    def compute() -> Response:
        return _answer(_study_cache(request).study(number).certificate())

    made: Response = await _slowly(request, compute)
    return made


@reading.get(
    "/studies/{id}/report",
    summary="One HTML page with everything",
    response_class=Response,
    responses=_content("text/html"),
)
async def report(request: Request, number: Number) -> Response:
    from ..reporting.report import report_html

    page = await _slowly(request, lambda: report_html(_study_cache(request).study(number)))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})


@reading.get(
    "/studies/{id}/export",
    summary="All events, as lines of JSON",
    response_class=Response,
    responses=_content(NDJSON),
)
def export(
    request: Request,
    number: Number,
    after: After = 0,
    before: Annotated[
        int | None, Query(ge=0, le=2**53, description="Events with smaller numbers.")
    ] = None,
    limit: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    kind: Annotated[str | None, Query(description="Events of this kind.")] = None,
    arm: Annotated[
        str | None, Query(description="Events about this arm, or about a ticket of it.")
    ] = None,
    client: Annotated[str | None, Query(description="What this client did.")] = None,
    digest: Annotated[
        str | None,
        Query(
            pattern="^[0-9a-f]{64}$",
            description="The SHA-256 of event `after`. If that is another event, or is not there, "
            "the answer is 409: read the study again from its first event.",
        ),
    ] = None,
) -> Response:
    study = _study_cache(request).study(number)
    if digest is not None:
        try:
            study.check_digest(after, digest)
        except HistoryChanged as error:  # not 503: it is no use to try again
            return problem(409, str(error), error="HistoryChanged")
    parts = study.export(after, before=before, limit=limit, kind=kind, arm=arm, client=client)
    headers = {"Content-Disposition": 'attachment; filename="study.jsonl"'}
    content = (line.encode("utf-8", "surrogatepass") for line in _joined(parts))
    return StreamingResponse(content, media_type=NDJSON, headers=headers)


def _joined(lines: Iterator[str], size: int = 1000) -> Iterator[str]:
    """Join lines into larger texts, because every part of an answer is sent by itself."""
    while part := list(islice(lines, size)):
        yield "".join(part)


@reading.get(
    "/studies/{id}/live",
    summary="News of a study, as server-sent events",
    response_class=Response,
    responses=_content(EVENTS),
)
async def live(
    request: Request,
    number: Number,
    after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    last_event_id: Annotated[str | None, Header(pattern="^[0-9]{0,15}$")] = None,
) -> Response:
    study_cache, feed = _study_cache(request), _feed(request)
    study = await run_sync(study_cache.study, number)
    newest = (await run_sync(study_cache.newest, {number})).get(number, -1)
    given = last_event_id or ("" if after is None else str(after))
    start = min(int(given), max(newest, 0)) if given else max(newest, 0)
    return _stream(_feed_of(study, feed, start))


async def _feed_of(study: Study, feed: ChangeFeed, last: int) -> AsyncIterator[str]:
    feed.arrive(study.number)
    try:
        yield "retry: 1000\n\n"
        while not feed.closing:
            newest = await feed.newer(study.number, last, BEAT)
            if newest is None:
                yield ": here\n\n"
            elif newest < 0:
                yield "event: gone\ndata: {}\n\n"
                return
            else:
                try:
                    kinds = await run_sync(_kinds, study, last, newest)
                except StudyError:  # deleted by now, or the database is away
                    kinds = {}
                first = last + 1 if last < newest else 1  # the database may have gone back
                data = {"first": first, "last": newest, "kinds": kinds}
                last = newest
                yield f"event: change\nid: {newest}\ndata: {json.dumps(data)}\n\n"
    finally:
        feed.leave(study.number)


def _kinds(study: Study, after: int, last: int) -> dict[str, int]:
    """How many new events there are of each kind; nothing if they are too many to look at."""
    found: dict[str, int] = {}
    if 0 < last - after <= KINDS_SHOWN:
        for event in map(stored_event, study.lines(after, before=last + 1)):
            found[event.kind] = found.get(event.kind, 0) + 1
    return found


@reading.get(
    "/live",
    summary="Which studies have news, as server-sent events",
    response_class=Response,
    responses=_content(EVENTS),
)
async def live_list(request: Request) -> Response:
    return _stream(
        _feed_of_all(_feed(request), await run_sync(_study_cache(request).newest, {ALL}))
    )


async def _feed_of_all(feed: ChangeFeed, known: dict[int, int]) -> AsyncIterator[str]:
    feed.arrive(ALL)
    try:
        yield "retry: 1000\n\n"
        while not feed.closing:
            changed = await feed.changes(known, BEAT)
            if changed:
                yield f"event: change\ndata: {json.dumps({'studies': changed})}\n\n"
            else:
                yield ": here\n\n"
    finally:
        feed.leave(ALL)


def _stream(lines: AsyncIterator[str]) -> Response:
    return StreamingResponse(lines, media_type=EVENTS, headers={"X-Accel-Buffering": "no"})


@reading.post(
    "/verify",
    summary="Recompute every claim of a certificate",
    responses=_json(answers.Verification),
)
async def verify(request: Request, body: Verify) -> Response:
    def compute() -> dict[str, Any]:
        lines = None
        if body.study is not None:
            log = _study_cache(request).study(body.study).export()
            lines = [line.rstrip("\n") for line in log]
        return verify_certificate(body.certificate, lines, check_cancelled).to_dict()

    return _answer(await _slowly(request, compute))


@reading.post(
    "/plan", summary="How many measurements a study will take", responses=_json(answers.PlanAnswer)
)
async def plan(request: Request, body: PlanBody) -> Response:
    def compute() -> dict[str, Any]:
        unknown = body.model == "unknown-sigma"
        sigma = body.sigma[0] if isinstance(body.sigma, list) else body.sigma
        result = plan_study(
            body.means,
            body.objective(),
            body.delta,
            body.model_copy(update={"sigma": None}).read_model() if unknown else body.read_model(),
            sigma=sigma if unknown and sigma is not None else 1.0,
            batch=body.batch,
            runs=body.runs,
            seed=body.seed,
            budget=max(body.budget, len(body.means)),
        )
        return asdict(result)

    return _answer(await _slowly(request, compute))


@reading.post(
    "/explore",
    summary="T*, optimal weights and lower bounds of an instance",
    responses=_json(answers.Explored),
)
async def explore(request: Request, body: Explore) -> Response:
    return _answer(await _slowly(request, lambda: explored(body)))


@reading.post(
    "/explore/run", summary="One simulated run, as it goes", responses=_json(answers.RunAnswer)
)
async def explore_run(request: Request, body: ExploreRun) -> Response:
    return _answer(await _slowly(request, lambda: simulated_run(body)))


# ---- measuring


@measuring.post(
    "/studies/{id}/ask", summary="Which arms to measure next", responses=_json(answers.Asked)
)
async def ask(request: Request, number: Number, body: Ask, key: Key = None) -> Response:
    def do(study: Study) -> dict[str, Any]:
        plate = None if body.plate is None else body.plate.plate()
        given = study.ask(body.n, body.client, body.lease, plate)
        with study.reading() as state:
            outcome, pending = state.outcome(), len(state.open)
        return {
            "tickets": [asdict(one) for one in given],
            "sheet": [asdict(row) for row in study.sheet(given)],
            "outcome": outcome,
            "pending": pending,
        }

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


def _sheet_or_json_of(kind: type[Body]) -> dict[str, Any]:
    """How OpenAPI describes a body that is JSON or a sheet."""
    return {"requestBody": {"required": True, "content": {JSON: _named(kind), **SHEETS}}}


async def _empty_file() -> AsyncIterator[IO[bytes]]:
    """For what a request brings.  If it is large, it is on the disk and not in memory."""
    with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as file:
        yield file


File = Annotated[IO[bytes], Depends(_empty_file)]


async def _sheet_or_json(request: Request, file: IO[bytes]) -> tuple[bool, str]:
    """Write the body into the file; returns whether it is JSON, and a digest."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in (JSON, "text/csv", "text/plain", XLSX):
        raise Refused(
            415, f"Content-Type must be {JSON}, text/csv, text/plain or {XLSX}: got {given!r}."
        )
    return given == JSON, await _fill(request, file)


async def _fill(request: Request, file: IO[bytes]) -> str:
    """Write the body into a file; returns a digest."""
    sha = hashlib.sha256()
    async for part in request.stream():
        sha.update(part)
        file.write(part)
    file.seek(0)
    return _digest(request, sha.digest())


@asynccontextmanager
async def _large(request: Request, file: IO[bytes]) -> AsyncIterator[None]:
    """Let few large bodies at a time be parsed, which takes many times their size in memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= SPOOLED:
        yield
        return
    async with request.app.state.large:
        yield


def _parsed(file: IO[bytes], kind: type[B]) -> B:
    try:
        content = file.read()
        read_json(content)
    except DoubledKey as error:
        raise Refused(422, f"the body must have every key once: {error}.") from None
    except (ValueError, RecursionError):
        pass  # the next line says what is wrong
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise Refused(
            422, sentence_of([e | {"loc": ("", *e["loc"])} for e in error.errors()])
        ) from None


Client = Annotated[str | None, Query(min_length=1, max_length=1000)]


async def _tell_options(
    client: Client = None,
    all_or_nothing: bool = False,
    normalise: str | None = None,
    decimal: Literal[".", ","] = ".",
    grid: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    ticket_column: str = "ticket",
    value_column: str = "value",
) -> dict[str, Any]:
    return dict(
        client=client,
        all_or_nothing=all_or_nothing,
        normalise=normalise,
        decimal=decimal,
        grid=grid,
        ticket_column=ticket_column,
        value_column=value_column,
    )


TellOptions = Annotated[dict[str, Any], Depends(_tell_options)]


def _told(options: dict[str, Any], file: IO[bytes], is_json: bool) -> tuple[Sheet, dict[str, Any]]:
    """Parse a body into the arguments of ``Study.tell``."""
    rows: Any = file
    if is_json:
        body = _parsed(file, Tell)
        rows, options = [row.model_dump() for row in body.rows], body.model_dump(exclude={"rows"})
    names = ("ticket_column", "value_column", "grid")
    given = {name: options[name] for name in names if name in options}
    columns = {"ticket_column": "ticket", "value_column": "value"} | given
    sheet = read_rows(rows, decimal=options["decimal"], **columns)
    return sheet, {name: value for name, value in options.items() if name not in PARSING}


def _receipt(receipt: Receipt, rows: str) -> dict[str, Any]:
    quiet = ("accepted", "duplicate", "control")
    shown = [row for row in receipt if rows == "all" or row.status not in quiet]
    return {
        "ok": receipt.ok,
        "counts": receipt.counts,
        "notes": list(receipt.notes),
        "warnings": list(receipt.warnings),
        "rows": [asdict(row) for row in shown],
    }


# Parses a body, given as a file and whether it is JSON, into the rows and the other arguments of a
# method of ``Study``.  Nothing is locked meanwhile.
Reader = Callable[[IO[bytes], bool], tuple[Any, dict[str, Any]]]


async def _preview(
    request: Request,
    number: int,
    file: IO[bytes],
    read: Reader,
    method: Callable[..., Receipt],
    shown: str = "all",
) -> Response:
    """Say what a method of ``Study`` would answer to the rows of a body, without a change."""
    is_json, _ = await _sheet_or_json(request, file)

    def compute() -> Response:
        rows, arguments = read(file, is_json)
        return _answer(
            _receipt(method(_study_cache(request).study(number), rows, **arguments), shown)
        )

    judged: Response = await _slowly(request, compute)
    return judged


async def _tell(
    request: Request,
    number: int,
    key: str | None,
    file: IO[bytes],
    read: Reader,
    method: Callable[..., Receipt],
    shown: str = "all",
) -> Response:
    """Give the rows of a body to a method of ``Study``, once for each key."""
    is_json, digest = await _sheet_or_json(request, file)
    async with _large(request, file):
        rows, arguments = await run_sync(read, file, is_json)
        _start_waiting(request)

        def do(study: Study) -> dict[str, Any]:
            return _receipt(method(study, rows, refused="report", **arguments), shown)

        return await _write(request, number, key, digest, do)


@measuring.post(
    "/studies/{id}/preview",
    summary="What would become of values; writes nothing",
    openapi_extra=_sheet_or_json_of(Tell),
    responses=_json(answers.Receipt),
)
async def preview(
    request: Request, number: Number, options: TellOptions, file: File, rows: Rows = "all"
) -> Response:
    return await _preview(request, number, file, partial(_told, options), Study.preview, rows)


@measuring.post(
    "/studies/{id}/tell",
    summary="Tell values",
    openapi_extra=_sheet_or_json_of(Tell),
    responses=_json(answers.Receipt),
)
async def tell(
    request: Request,
    number: Number,
    options: TellOptions,
    file: File,
    rows: Rows = "all",
    key: Key = None,
) -> Response:
    return await _tell(request, number, key, file, partial(_told, options), Study.tell, rows)


async def _counts_options(
    source: str | None = None,
    period: str | None = None,
    columns: Annotated[
        str | None,
        Query(description="Other names of columns, as arm=variant,n=visitors,sum=conversions."),
    ] = None,
    decimal: Literal[".", ","] = ".",
    correct: str | None = None,
    client: Client = None,
) -> dict[str, Any]:
    return dict(
        source=source,
        period=period,
        columns=columns,
        decimal=decimal,
        correct=correct,
        client=client,
    )


CountsOptions = Annotated[dict[str, Any], Depends(_counts_options)]


def _counted(
    options: dict[str, Any], role: Role, file: IO[bytes], is_json: bool
) -> tuple[CountsTable, dict[str, Any]]:
    """Parse a body into the arguments of ``Study.tell_counts``."""
    rows: Any = file
    if is_json:
        body = _parsed(file, TellCounts)
        rows, options = body.rows, body.model_dump(exclude={"rows"})
        columns = options["columns"]
    else:
        columns = pairs("columns", options["columns"], "arm=variant,n=visitors")
    if options["correct"] is not None and not allows(role, "manage"):
        raise Refused(403, "To correct numbers needs a token with the role manage.")
    table = read_counts(rows, columns, options["decimal"])
    return table, {name: value for name, value in options.items() if name not in PARSING}


@measuring.post(
    "/studies/{id}/counts/preview",
    summary="What would become of such numbers; writes nothing",
    openapi_extra=_sheet_or_json_of(TellCounts),
    responses=_json(answers.Receipt),
)
async def preview_counts(
    request: Request, number: Number, options: CountsOptions, file: File
) -> Response:
    read = partial(_counted, options, request.state.role)
    return await _preview(request, number, file, read, Study.preview_counts)


@measuring.post(
    "/studies/{id}/counts",
    summary="Tell numbers of rewards and their sums",
    openapi_extra=_sheet_or_json_of(TellCounts),
    responses=_json(answers.Receipt),
)
async def counts(
    request: Request, number: Number, options: CountsOptions, file: File, key: Key = None
) -> Response:
    read = partial(_counted, options, request.state.role)
    return await _tell(request, number, key, file, read, Study.tell_counts)


def _rows(*rows: ReceiptRow) -> dict[str, Any]:
    return _receipt(Receipt(rows), "all")


@measuring.post(
    "/studies/{id}/measurements",
    summary="Tell a value that nobody had asked for",
    responses=_json(answers.Receipt),
)
async def add_measurement(
    request: Request, number: Number, body: AddMeasurement, key: Key = None
) -> Response:
    def do(study: Study) -> dict[str, Any]:
        return _rows(study.add_measurement(**body.model_dump(), refused="report"))

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


@measuring.post(
    "/studies/{id}/fail",
    summary="Report tickets, or a batch, as failed",
    responses=_json(answers.Receipt),
)
async def fail(request: Request, number: Number, body: Fail, key: Key = None) -> Response:
    if [body.ticket, body.tickets, body.batch].count(None) != 2:
        raise Refused(422, "one of ticket, tickets and batch must be given.")

    def do(study: Study) -> dict[str, Any]:
        if body.batch is not None:
            return _receipt(study.fail_batch(body.batch, body.reason), "all")
        tickets = body.tickets if body.ticket is None else [body.ticket]
        assert tickets is not None
        return _receipt(study.fail_tickets(tickets, body.reason, refused="report"), "all")

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


def _change(change: Change) -> dict[str, Any]:
    return {"labels": change.labels, "consequence": change.consequence}


@measuring.post(
    "/studies/{id}/confirm", summary="Let a suspect value count", responses=_json(answers.Change)
)
async def confirm(request: Request, number: Number, body: Confirm, key: Key = None) -> Response:
    def do(study: Study) -> dict[str, Any]:
        return _change(study.confirm(body.ticket, body.reason))

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


@measuring.post("/studies/{id}/notes", summary="Write a remark", responses=_json(answers.Nothing))
async def note(request: Request, number: Number, body: NoteBody, key: Key = None) -> Response:
    def do(study: Study) -> dict[str, Any]:
        study.note(body.text, arm=body.arm, ticket=body.ticket, client=body.client)
        return {}

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


# ---- managing


@managing.post(
    "/studies",
    summary="Begin a study",
    status_code=201,
    responses=_json(answers.NewStudyAnswer, 201),
)
async def create(request: Request, body: NewStudy, key: Key = None) -> Response:
    def do(store: Store) -> dict[str, Any]:
        if body.name in (name for _, name in store.names()):
            raise StudyExists(f"name must be new: got {body.name!r}, which exists.")
        study = create_study(
            store,
            body.name,
            arms=body.arms,
            objective=body.objective(),
            delta=body.delta,
            model=body.read_model(),
            strategy=partial(ClaimByClaim, pool=body.pool),
            seed=body.seed,
            budget=body.budget,
            check_values=body.check_values,
            in_order=body.in_order,
            censor_at=body.censor_at,
            max_new_arms=body.max_new_arms,
            clock=_study_cache(request).clock,
        )
        return {"id": study.number, "name": study.name, "design": study.design.to_dict()}

    return await _write_database(request, key, _digest(request, _body_of(body)), do, 201)


@managing.post(
    "/studies/import",
    summary="A study from its exported events",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, "content": {NDJSON: TEXT}}},
    responses=_json(answers.NamedStudy, 201),
)
async def import_(
    request: Request,
    file: File,
    name: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    key: Key = None,
) -> Response:
    digest = await _fill(request, file)

    def parse() -> ExportedStudy:
        try:
            lines = file.read().decode("utf-8").split("\n")
        except UnicodeDecodeError:
            raise ValueError("the body must be text in UTF-8.") from None
        return parse_export(lines[:-1] if lines[-1] == "" else lines)

    async with _large(request, file):
        exported = await run_sync(parse)
        _start_waiting(request)

        def do(store: Store) -> dict[str, Any]:
            study = import_study(store, exported, name, clock=_study_cache(request).clock)
            return {"id": study.number, "name": study.name}

        return await _write_database(request, key, digest, do, 201)


@managing.delete(
    "/studies/{id}", summary="Delete a study and all its events", responses=_json(answers.Deleted)
)
async def delete(request: Request, number: Number, key: Key = None) -> Response:
    deleted: dict[str, Any] = {}

    def do(store: Store) -> dict[str, Any]:
        for head in store.overview(number).values():
            deleted.update(
                study=number, name=head.name, events=head.events, last_event_sha256=head.digest
            )
        store.delete_study(number)
        return {"deleted": number}

    try:
        answer = await _write_database(request, key, _digest(request), do, 200)
    finally:
        _study_cache(request).forget(number)
    if deleted:  # not if it is the answer to an earlier request with this key
        write_log("deletion", request.state.caller, **deleted)
    return answer


@managing.post(
    "/studies/{id}/correct",
    summary="Replace a value that was told",
    responses=_json(answers.Change),
)
async def correct(request: Request, number: Number, body: Correct, key: Key = None) -> Response:
    def do(study: Study) -> dict[str, Any]:
        value: Any = body.value
        return _change(study.correct(body.measurement, value, body.reason))

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


@managing.post(
    "/studies/{id}/drop-arm", summary="Measure an arm no more", responses=_json(answers.Change)
)
async def drop_arm(request: Request, number: Number, body: DropArm, key: Key = None) -> Response:
    def do(study: Study) -> dict[str, Any]:
        return _change(study.drop_arm(body.arm, body.reason))

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


@managing.post("/studies/{id}/budget", summary="Another budget", responses=_json(answers.Change))
async def set_budget(
    request: Request, number: Number, body: SetBudget, key: Key = None
) -> Response:
    def do(study: Study) -> dict[str, Any]:
        return _change(study.set_budget(body.budget, body.reason))

    return await _write(request, number, key, _digest(request, _body_of(body)), do)


@managing.post("/studies/{id}/arms", summary="Add arms", responses=_json(answers.Change))
async def add_arms(request: Request, number: Number, body: AddArms, key: Key = None) -> Response:
    def do(study: Study) -> dict[str, Any]:
        return _change(study.add_arms(body.arms, body.reason))

    return await _write(request, number, key, _digest(request, _body_of(body)), do)
