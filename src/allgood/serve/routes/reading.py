"""Routes that read studies: lists, designs, status, tickets, plates, values and certificates."""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from ..._internal.tables import csv_parts
from ...study.backends.errors import StudyNotFound
from ...study.engine import Label
from ...study.forecast import Forecast
from ...study.history import VALUE_COLUMNS, value_rows, values_page
from ...study.hits import HitList, hits_of
from ...study.sentences import Guess, iso_time
from ...study.status import ArmStatus, StudyStatus
from ...study.tables.sheets import sheet_bytes
from ..certificate_schema import Certificate
from ..responses import (
    ModelData,
    PlateList,
    PlateMap,
    StudyDetails,
    StudyList,
    StudyName,
    StudyNames,
    StudySummary,
    TicketList,
    ValuePage,
)
from ..schemas import columns_of, response, with_types
from ..views import plate_map, plates, status_data, study_details, tickets_of, values_told
from .base import (
    JSON,
    MOST_EVENTS,
    SHEETS,
    StudyId,
    attachment,
    compute,
    content_of,
    json_of,
    new_router,
    respond,
    sheet_content,
    study_cache_of,
)

router = new_router("read", "Studies")
VALUES = {JSON: response(ValuePage), "text/csv": SHEETS["text/csv"]}
# The arms of a status come in the form that the request asks for.
ArmColumns = columns_of(ArmStatus, "ArmColumns")
StatusData = with_types(StudyStatus, arms=list[ArmStatus] | ArmColumns | None, model=ModelData)


@router.get("/studies", summary="List studies", responses=json_of(StudyList))
def list_studies(
    request: Request,
    name: Annotated[str | None, Query(description="Only the study of this name.")] = None,
    search: Annotated[
        str, Query(description="Only studies with this text in their names, in any case.")
    ] = "",
    after: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="Only studies with larger numbers.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    study_cache = study_cache_of(request)
    part = search.casefold()
    chosen = [
        head
        for head in study_cache.heads().values()
        if head.id > after and name in (None, head.name) and part in head.name.casefold()
    ]
    entries = []
    for head in chosen[:limit]:
        try:
            entries.append(study_cache.list_entry(head))
        except StudyNotFound:  # deleted since the names were read
            continue
    return respond(StudyList(entries, more=len(chosen) > limit))


@router.get("/names", summary="List the names of studies", responses=json_of(StudyNames))
def names(
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    heads = [head for head in study_cache_of(request).heads().values() if head.id > after]
    studies = [StudyName(head.id, head.name) for head in heads[:limit]]
    return respond(StudyNames(studies, more=len(heads) > limit))


@router.get(
    "/studies/{id}/summary",
    summary="Return a study in a few numbers",
    responses=json_of(StudySummary),
)
async def summary(request: Request, number: StudyId) -> Response:
    return respond(await compute(request, lambda: study_cache_of(request).summary(number)))


@router.get(
    "/studies/{id}", summary="Return the design of a study", responses=json_of(StudyDetails)
)
def details(request: Request, number: StudyId) -> Response:
    return respond(study_details(study_cache_of(request).study(number)))


@router.get(
    "/studies/{id}/status",
    summary="Return the status of a study",
    responses=json_of(StatusData),
)
def status(
    request: Request,
    number: StudyId,
    arms: Annotated[
        Literal["rows", "columns", "none"],
        Query(description="rows: an object for each arm; columns: a list for each field."),
    ] = "rows",
) -> Response:
    content = study_cache_of(request).status_json(number, arms, partial(status_data, form=arms))
    return Response(content, media_type=JSON)


@router.get(
    "/studies/{id}/hits",
    summary="Return the hit list: arms with label, guess and estimate, the best first",
    responses={200: {"content": json_of(HitList)[200]["content"] | sheet_content()}},
)
def hits(
    request: Request,
    number: StudyId,
    label: Annotated[
        list[Label] | None, Query(description="Only arms with this label; may be repeated.")
    ] = None,
    guess: Annotated[
        Guess | None, Query(description="Of the open arms, only those with this guess.")
    ] = None,
    format: Literal["json", "csv", "xlsx"] = "json",
) -> Response:
    chosen = hits_of(study_cache_of(request).status(number), label, guess)
    if format == "json":
        return respond(chosen)
    return attachment(chosen.content(format), "hits", format)


@router.get(
    "/studies/{id}/forecast",
    summary="Forecast how many measurements are still needed",
    responses=json_of(Forecast),
)
async def forecast(request: Request, number: StudyId) -> Response:
    return respond(await compute(request, lambda: study_cache_of(request).forecast(number)))


@router.get(
    "/studies/{id}/tickets", summary="List tickets without a value", responses=json_of(TicketList)
)
def tickets(request: Request, number: StudyId) -> Response:
    return respond(TicketList(study_cache_of(request).study(number).open_tickets))


@router.get(
    "/studies/{id}/sheet",
    summary="Download a sheet of tickets to fill in",
    response_class=Response,
    responses={200: {"content": sheet_content()}},
)
def sheet(
    request: Request,
    number: StudyId,
    batch: Annotated[
        int | None,
        Query(
            ge=1,
            le=2**31 - 1,
            description="The open tickets of this batch; if none is open, all of them, with their "
            "values. By default the open tickets of all batches.",
        ),
    ] = None,
    singles: Annotated[bool, Query(description="Only open tickets without a plate.")] = False,
    format: Literal["csv", "xlsx"] = "csv",
) -> Response:
    study = study_cache_of(request).study(number)
    with study.backend.reading() as state:
        rows = study.sheet(tickets_of(state, batch, singles))
        content = sheet_bytes(rows, format == "xlsx", values_told(state, rows))
    name = f"tickets{'' if batch is None else f'-{batch}'}"
    return attachment(content, name, format)


@router.get("/studies/{id}/plates", summary="List plates", responses=json_of(PlateList))
def list_plates(request: Request, number: StudyId) -> Response:
    with study_cache_of(request).study(number).backend.reading() as state:
        return respond(PlateList(plates(state)))


@router.get(
    "/studies/{id}/plates/{batch}",
    summary="Return the wells of a plate",
    responses=json_of(PlateMap),
)
def show_plate(
    request: Request, number: StudyId, batch: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> Response:
    with study_cache_of(request).study(number).backend.reading() as state:
        return respond(plate_map(state, batch))


@router.get(
    "/studies/{id}/values",
    summary="List the values that were told, in pages or as CSV",
    responses={200: {"content": VALUES}},
)
def values(
    request: Request,
    number: StudyId,
    arm: Annotated[str | None, Query(description="Only values of this arm.")] = None,
    after: Annotated[
        int, Query(ge=0, le=2**53, description="Only values told after this one.")
    ] = 0,
    before: Annotated[
        int | None, Query(ge=0, le=2**53, description="Only values told before this one.")
    ] = None,
    newest: Annotated[bool, Query(description="Begin with the newest value.")] = False,
    limit: Annotated[
        int | None, Query(ge=1, le=MOST_EVENTS, description="By default 1000; for CSV, all.")
    ] = None,
    format: Literal["json", "csv"] = "json",
) -> Response:
    with study_cache_of(request).study(number).backend.reading() as state:
        is_csv = format == "csv"
        most = limit or (len(state.told) if is_csv else 1000)
        page = values_page(state, max(most, 1), arm, after, before, newest)
        rows = list(value_rows(state, page.tickets))
    if is_csv:
        headers = {"Content-Disposition": 'attachment; filename="values.csv"'}
        parts = csv_parts(VALUE_COLUMNS, map(_with_time, rows))
        return StreamingResponse(parts, media_type="text/csv; charset=utf-8", headers=headers)
    shown = [dict(zip(VALUE_COLUMNS, row, strict=True)) for row in rows]
    return respond({"values": shown, "last": page.last, "more": page.more})


def _with_time(row: tuple[Any, ...]) -> list[Any]:
    """Return a row of values whose time is in the form that spreadsheets read."""
    cells = dict(zip(VALUE_COLUMNS, row, strict=True))
    return [*(cells | {"time": iso_time(cells["time"])}).values()]


@router.get(
    "/studies/{id}/certificate",
    summary="Return the certificate of a study",
    responses=json_of(Certificate),
)
async def certificate(request: Request, number: StudyId) -> Response:
    def write() -> Response:
        return respond(study_cache_of(request).study(number).certificate())

    response: Response = await compute(request, write)
    return response


@router.get(
    "/studies/{id}/report",
    summary="Return the report of a study, as HTML",
    response_class=Response,
    responses=content_of("text/html"),
)
async def report(request: Request, number: StudyId) -> Response:
    from ...reporting.report import report_html

    page = await compute(request, lambda: report_html(study_cache_of(request).study(number)))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})
