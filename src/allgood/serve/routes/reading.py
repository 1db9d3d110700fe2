"""Routes that read studies: lists, designs, status, tickets, plates, values and certificates."""

from functools import partial
from typing import Annotated, Literal

from fastapi import Path, Query, Request
from fastapi.responses import Response

from ...study.backends.errors import StudyNotFound
from ...study.forecast import Forecast
from ...study.status import ArmStatus, StudyStatus
from ...study.tables.sheets import sheet_bytes
from ...study.tables.workbooks import XLSX
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
from ..schemas import columns_of, with_types
from ..views import plate_map, plates, status_data, study_details, tickets_of, values_told
from .base import (
    JSON,
    After,
    Limit,
    StudyId,
    compute,
    content_of,
    json_of,
    new_router,
    respond,
    study_cache_of,
)

router = new_router("read")
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
    summary="Summarize a study in a few numbers",
    responses=json_of(StudySummary),
)
async def summary(request: Request, number: StudyId) -> Response:
    return respond(await compute(request, lambda: study_cache_of(request).summary(number)))


@router.get("/studies/{id}", summary="Show the design of a study", responses=json_of(StudyDetails))
def details(request: Request, number: StudyId) -> Response:
    return respond(study_details(study_cache_of(request).study(number)))


@router.get(
    "/studies/{id}/status",
    summary="Show what is certified, and how far the other arms are",
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
    "/studies/{id}/forecast",
    summary="Forecast how many measurements are left, and bound them from below",
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
    responses=content_of("text/csv", XLSX),
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
    name = f"tickets{'' if batch is None else f'-{batch}'}.{format}"
    kind = XLSX if format == "xlsx" else "text/csv; charset=utf-8"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


@router.get("/studies/{id}/plates", summary="List plates", responses=json_of(PlateList))
def list_plates(request: Request, number: StudyId) -> Response:
    with study_cache_of(request).study(number).backend.reading() as state:
        return respond(PlateList(plates(state)))


@router.get(
    "/studies/{id}/plates/{batch}",
    summary="Show the wells of a plate",
    responses=json_of(PlateMap),
)
def show_plate(
    request: Request, number: StudyId, batch: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> Response:
    with study_cache_of(request).study(number).backend.reading() as state:
        return respond(plate_map(state, batch))


@router.get(
    "/studies/{id}/values", summary="List the values that were told", responses=json_of(ValuePage)
)
def values(
    request: Request,
    number: StudyId,
    arm: str | None = None,
    after: After = 0,
    limit: Limit = 1000,
) -> Response:
    columns = study_cache_of(request).study(number).table().columns
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    chosen = [row for row in rows if arm in (None, row["arm"])][after:]
    return respond({"values": chosen[:limit], "more": len(chosen) > limit})


@router.get(
    "/studies/{id}/certificate",
    summary="Write the certificate: the verdict, with all that it rests on",
    responses=json_of(Certificate),
)
async def certificate(request: Request, number: StudyId) -> Response:
    def write() -> Response:
        return respond(study_cache_of(request).study(number).certificate())

    response: Response = await compute(request, write)
    return response


@router.get(
    "/studies/{id}/report",
    summary="Write the report: one HTML page with everything",
    response_class=Response,
    responses=content_of("text/html"),
)
async def report(request: Request, number: StudyId) -> Response:
    from ...reporting.report import report_html

    page = await compute(request, lambda: report_html(study_cache_of(request).study(number)))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})
