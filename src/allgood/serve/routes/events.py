"""Routes that read the events of studies: in pages, as an export, and live."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import Depends, Header, Query, Request
from fastapi.responses import Response, StreamingResponse

from ...study.backends.errors import HistoryChanged, StudyError
from ...study.entries import history_page
from ...study.events import stored_event
from ...study.sentences import question
from ...study.study import Study
from ..feed import ALL, ChangeFeed
from ..problems import problem
from ..responses import EventPage, StudyHistory
from ..views import event_data, values_replaced
from .base import (
    NDJSON,
    Limit,
    StudyId,
    content_of,
    feed_of,
    json_of,
    new_router,
    respond,
    study_cache_of,
)

BEAT = 15.0  # seconds after which a silent stream sends a comment
EVENT_STREAM = "text/event-stream"
MOST_COUNTED = 1000  # new events at once whose kinds are counted
PART = 1000  # lines of an export that are sent together

router = new_router("read", "Events")


@dataclass(frozen=True)
class EventChoice:
    """The events that a request chooses: arguments of ``Backend.lines``."""

    after: Annotated[int, Query(ge=0, le=2**53, description="Only events with larger numbers.")] = 0
    before: Annotated[
        int | None, Query(ge=0, le=2**53, description="Only events with smaller numbers.")
    ] = None
    kind: Annotated[
        list[str] | None,
        Query(max_length=100, description="Only events of this kind; may be repeated."),
    ] = None
    arm: Annotated[
        str | None, Query(description="Only events of this arm, or of a ticket of it.")
    ] = None
    ticket: Annotated[str | None, Query(description="Only events of this ticket.")] = None
    batch: Annotated[
        int | None,
        Query(ge=1, le=2**31 - 1, description="Only events of this batch, or of a ticket of it."),
    ] = None
    client: Annotated[str | None, Query(description="Only events of this client.")] = None


@dataclass(frozen=True)
class EventFilters(EventChoice):
    """The events that a request chooses, and their order."""

    newest: Annotated[bool, Query(description="Begin with the newest event.")] = False


Filters = Annotated[EventFilters, Depends()]


@router.get("/studies/{id}/events", summary="List events in pages", responses=json_of(EventPage))
def events(request: Request, number: StudyId, filters: Filters, limit: Limit = 1000) -> Response:
    study = study_cache_of(request).study(number)
    with study.backend.reading() as state:
        lines = study.backend.lines(limit=limit + 1, **vars(filters))
        chosen = list(map(stored_event, lines[:limit]))
        replaced = values_replaced(study, chosen)
        shown = [event_data(event, state, replaced.get(event.seq)) for event in chosen]
        end = state.seq if filters.before is None else min(state.seq, filters.before - 1)
    more = len(lines) > limit
    if more:
        last = chosen[-1].seq
    else:
        last = filters.after + 1 if filters.newest else max(end, filters.after)
    return respond({"events": shown, "last": last, "more": more})


@router.get(
    "/studies/{id}/history",
    summary="List what happened request by request, the newest first",
    responses=json_of(StudyHistory),
)
def history(
    request: Request,
    number: StudyId,
    choice: Annotated[EventChoice, Depends()],
    limit: Annotated[int, Query(ge=1, le=2000)] = 50,
) -> Response:
    study = study_cache_of(request).study(number)
    with study.backend.reading() as state:
        page = history_page(study.backend, state, limit=limit, **vars(choice))
        asked = question(len(state.design.arms), state.design.objective.wording)
        return respond(StudyHistory(study.name, asked, state.seq, list(page.entries), page.before))


@router.get(
    "/studies/{id}/export",
    summary="Export events as lines of JSON",
    response_class=Response,
    responses=content_of(NDJSON),
)
def export(
    request: Request,
    number: StudyId,
    filters: Filters,
    limit: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    digest: Annotated[
        str | None,
        Query(
            pattern="^[0-9a-f]{64}$",
            description="The SHA-256 of event `after`. If that event is another one or missing, "
            "the answer is 409: read the study again from its first event.",
        ),
    ] = None,
) -> Response:
    study = study_cache_of(request).study(number)
    if digest is not None:
        try:
            study.backend.check_digest(filters.after, digest)
        except HistoryChanged as error:  # not 503: it is of no use to try again
            return problem(409, str(error), error="HistoryChanged")
    lines = study.export(limit=limit, **vars(filters))
    headers = {"Content-Disposition": 'attachment; filename="study.jsonl"'}
    content = (part.encode("utf-8", "surrogatepass") for part in _joined(lines))
    return StreamingResponse(content, media_type=NDJSON, headers=headers)


def _joined(lines: Iterator[str]) -> Iterator[str]:
    """Join lines into larger texts, because every part of a response is sent by itself."""
    while part := list(islice(lines, PART)):
        yield "".join(part)


@router.get(
    "/studies/{id}/live",
    summary="Stream the changes of a study as server-sent events",
    response_class=Response,
    responses=content_of(EVENT_STREAM),
)
async def live(
    request: Request,
    number: StudyId,
    after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    last_event_id: Annotated[str | None, Header(pattern="^[0-9]{0,15}$")] = None,
) -> Response:
    study_cache, feed = study_cache_of(request), feed_of(request)
    study = await run_sync(study_cache.study, number)
    newest = (await run_sync(study_cache.newest, {number})).get(number, -1)
    known = last_event_id or ("" if after is None else str(after))
    start = min(int(known), max(newest, 0)) if known else max(newest, 0)
    return _stream(_study_changes(study, number, feed, start))


async def _study_changes(
    study: Study, number: int, feed: ChangeFeed, last: int
) -> AsyncIterator[str]:
    feed.subscribe(number)
    try:
        yield "retry: 1000\n\n"
        while not feed.closing:
            newest = await feed.newer(number, last, BEAT)
            if newest is None:
                yield ": here\n\n"
            elif newest < 0:
                yield "event: gone\ndata: {}\n\n"
                return
            else:
                try:
                    kinds = await run_sync(_count_kinds, study, last, newest)
                except StudyError:  # deleted by now, or the database is unavailable
                    kinds = {}
                first = last + 1 if last < newest else 1  # the database may have gone back
                data = {"first": first, "last": newest, "kinds": kinds}
                last = newest
                yield f"event: change\nid: {newest}\ndata: {json.dumps(data)}\n\n"
    finally:
        feed.unsubscribe(number)


def _count_kinds(study: Study, after: int, last: int) -> dict[str, int]:
    """Return how many new events there are of each kind; empty if they are too many to count."""
    counts: dict[str, int] = {}
    if 0 < last - after <= MOST_COUNTED:
        for event in map(stored_event, study.backend.lines(after, before=last + 1)):
            counts[event.kind] = counts.get(event.kind, 0) + 1
    return counts


@router.get(
    "/live",
    summary="Stream the numbers of studies that change as server-sent events",
    response_class=Response,
    responses=content_of(EVENT_STREAM),
)
async def live_list(request: Request) -> Response:
    known = await run_sync(study_cache_of(request).newest, {ALL})
    return _stream(_list_changes(feed_of(request), known))


async def _list_changes(feed: ChangeFeed, known: dict[int, int]) -> AsyncIterator[str]:
    feed.subscribe(ALL)
    try:
        yield "retry: 1000\n\n"
        while not feed.closing:
            changed = await feed.changes(known, BEAT)
            if changed:
                yield f"event: change\ndata: {json.dumps({'studies': changed})}\n\n"
            else:
                yield ": here\n\n"
    finally:
        feed.unsubscribe(ALL)


def _stream(lines: AsyncIterator[str]) -> Response:
    return StreamingResponse(lines, media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})
