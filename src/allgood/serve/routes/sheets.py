"""Routes that take rows of values or counts, as JSON or as a sheet, and that preview them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Annotated, Any, Literal, TypeVar

from anyio.to_thread import run_sync
from fastapi import Depends, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from ..._internal.json_input import DoubledKey, read_json
from ..._internal.results import Hint
from ...study.commands.base import Command
from ...study.commands.counts import TellCounts
from ...study.commands.replace import Replace
from ...study.commands.tell import Tell
from ...study.receipts import STATUSES, Receipt
from ...study.study import Study
from ...study.tables.counts import pairs, read_counts
from ...study.tables.sheets import ToldRow, read_rows
from ...study.tables.workbooks import XLSX
from ..problems import Refusal, invalid_request
from ..requests import Body, CountsBody, ReplaceBody, TellBody
from ..schemas import REFERENCE
from ..tokens import Role, allows
from .base import (
    JSON,
    SHEETS,
    File,
    Key,
    StudyId,
    attributed,
    change_study,
    compute,
    execute,
    json_of,
    new_router,
    place_to_parse,
    preview,
    receive_into,
    respond,
    restart_lock_deadline,
    study_cache_of,
)

router = new_router("measure", "Measuring")
managing = new_router("manage", "Managing")
B = TypeVar("B", bound=Body)
Rows = Annotated[
    Literal["all", "problems"],
    Query(description="problems: only rows that were not simply accepted."),
]
Client = Annotated[str | None, Query(min_length=1, max_length=1000)]
# Parses a body, which is in a file, into a command; the other argument: whether it is JSON.
Parser = Callable[[IO[bytes], bool], Command[Receipt]]


@dataclass(frozen=True)
class ValueOptions:
    """The options of a sheet of values: those of ``Study.tell``."""

    client: Client = None
    all_or_nothing: bool = False
    decimal: Literal[".", ","] = "."
    grid: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
    ticket_column: str = "ticket"
    value_column: str = "value"


@dataclass(frozen=True)
class CountOptions:
    """The options of a sheet of counts: those of ``Study.tell_counts``."""

    source: str | None = None
    period: str | None = None
    columns: Annotated[
        str | None,
        Query(description="Other names of columns, such as arm=variant,n=visitors."),
    ] = None
    decimal: Literal[".", ","] = "."
    correct: str | None = None
    client: Client = None


@dataclass(frozen=True)
class ReplaceOptions:
    """The options of a sheet of values that replace others: those of ``Study.replace``."""

    reason: str | None = None
    client: Client = None
    decimal: Literal[".", ","] = "."
    grid: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
    ticket_column: str = "ticket"
    value_column: str = "value"


def parse_values(options: ValueOptions, file: IO[bytes], is_json: bool) -> Tell:
    """Parse a body into the command of ``Study.tell``."""
    settings, rows, notes, grid = _parse_rows(options, TellBody, file, is_json)
    return Tell(rows, settings.client, settings.all_or_nothing, notes, grid)


def parse_replacement(options: ReplaceOptions, file: IO[bytes], is_json: bool) -> Replace:
    """Parse a body into the command of ``Study.replace``."""
    settings, rows, notes, grid = _parse_rows(options, ReplaceBody, file, is_json)
    return Replace(rows, settings.reason, settings.client, notes, grid)


def _parse_rows(
    options: ValueOptions | ReplaceOptions, body: type[Body], file: IO[bytes], is_json: bool
) -> tuple[Any, Sequence[ToldRow], Sequence[str], tuple[int, int, int] | None]:
    """Parse rows of values; return the settings of the request, the rows, notes and the grid."""
    rows: Any = file
    settings: Any = options
    columns = {"ticket_column": options.ticket_column, "value_column": options.value_column}
    if is_json:
        settings = read_body(file, body)
        rows = [row.model_dump() for row in settings.rows]
        columns = {"ticket_column": "ticket", "value_column": "value"}
    grid = None if is_json else options.grid
    sheet = read_rows(rows, decimal=settings.decimal, grid=grid, **columns)
    told = sheet.rows
    if is_json:
        told = tuple(body.with_origin(row) for body, row in zip(settings.rows, told, strict=True))
    notes = (*settings.notes, *sheet.notes) if is_json else sheet.notes
    whole = tuple(settings.grid) if is_json and settings.grid else sheet.grid
    return settings, told, notes, whole


def parse_counts(options: CountOptions, role: Role, file: IO[bytes], is_json: bool) -> TellCounts:
    """Parse a body into the command of ``Study.tell_counts``."""
    rows: Any = file
    settings: Any = options
    if is_json:
        settings = read_body(file, CountsBody)
        rows, columns = settings.rows, settings.columns
    else:
        columns = pairs("columns", options.columns, "arm=variant,n=visitors")
    if settings.correct is not None and not allows(role, "manage"):
        raise Refusal(403, "A correction of counts needs a token with the role manage.")
    table = read_counts(rows, columns, settings.decimal)
    if is_json:  # a client may have read the table from a file
        table = replace(
            table,
            lines=settings.lines or table.lines,
            unit=settings.unit if settings.lines else table.unit,
            notes=(*settings.notes, *table.notes),
            hints=(*(Hint(**hint.model_dump()) for hint in settings.hints), *table.hints),
        )
    return TellCounts(
        rows=table.rows,
        source=settings.source,
        period=settings.period,
        correct=settings.correct,
        client=settings.client,
        lines=table.lines,
        unit=table.unit,
        notes=table.notes,
        hints=table.hints,
    )


def read_body(file: IO[bytes], kind: type[B]) -> B:
    """Read a JSON body from a file."""
    content = file.read()
    try:
        read_json(content)
    except DoubledKey as error:
        raise Refusal(422, f"the body must have every key once: {error}.") from None
    except (ValueError, RecursionError):
        pass  # pydantic says what is wrong
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        parts = [part | {"loc": ("body", *part["loc"])} for part in error.errors()]
        raise invalid_request(parts) from None


async def _receive_sheet(request: Request, file: IO[bytes]) -> tuple[bool, str]:
    """Write the body into a file; return whether it is JSON, and the digest of the request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, *SHEETS):
        raise Refusal(
            415, f"Content-Type must be {JSON}, text/csv, text/plain or {XLSX}: got {kind!r}."
        )
    return kind == JSON, await receive_into(request, file)


def _receipt(receipt: Receipt, rows: str) -> dict[str, Any]:
    data = receipt.to_dict()
    if rows == "problems":
        data["rows"] = [row for row in data["rows"] if not STATUSES[row["status"]].routine]
    return data


async def _preview(
    request: Request, number: int, file: IO[bytes], parse: Parser, rows: str = "all"
) -> Response:
    """Respond with the receipt of a body, without storing anything."""
    is_json, _ = await _receive_sheet(request, file)

    def decide() -> Response:
        command = parse(file, is_json)
        receipt = preview(study_cache_of(request).study(number), command)
        return respond(_receipt(receipt, rows))

    response: Response = await compute(request, decide)
    return response


async def _tell(
    request: Request,
    number: int,
    key: str | None,
    file: IO[bytes],
    parse: Parser,
    rows: str = "all",
) -> Response:
    """Store the rows of a body, once for each key, and respond with the receipt."""
    is_json, digest = await _receive_sheet(request, file)
    async with place_to_parse(request, file):
        command = attributed(request, await run_sync(parse, file, is_json))
        restart_lock_deadline(request)

        def change(study: Study) -> dict[str, Any]:
            return _receipt(execute(study, command), rows)

        return await change_study(request, number, key, digest, change)


def _body(kind: type[Body]) -> dict[str, Any]:
    """Return the description of a body that is JSON or a sheet."""
    schema = {"schema": {"$ref": REFERENCE.format(model=kind.__name__)}}
    return {"requestBody": {"required": True, "content": {JSON: schema, **SHEETS}}}


@router.post(
    "/studies/{id}/tell",
    summary="Tell values",
    openapi_extra=_body(TellBody),
    responses=json_of(Receipt),
)
async def tell_values(
    request: Request,
    number: StudyId,
    options: Annotated[ValueOptions, Depends()],
    file: File,
    rows: Rows = "all",
    key: Key = None,
) -> Response:
    return await _tell(request, number, key, file, partial(parse_values, options), rows)


@router.post(
    "/studies/{id}/preview",
    summary="Preview values without storing them",
    openapi_extra=_body(TellBody),
    responses=json_of(Receipt),
)
async def preview_values(
    request: Request,
    number: StudyId,
    options: Annotated[ValueOptions, Depends()],
    file: File,
    rows: Rows = "all",
) -> Response:
    return await _preview(request, number, file, partial(parse_values, options), rows)


@managing.post(
    "/studies/{id}/replace",
    summary="Replace values that were told, all rows or none",
    openapi_extra=_body(ReplaceBody),
    responses=json_of(Receipt),
)
async def replace_values(
    request: Request,
    number: StudyId,
    options: Annotated[ReplaceOptions, Depends()],
    file: File,
    rows: Rows = "all",
    key: Key = None,
) -> Response:
    return await _tell(request, number, key, file, partial(parse_replacement, options), rows)


@managing.post(
    "/studies/{id}/replace/preview",
    summary="Preview a replacement without storing it",
    openapi_extra=_body(ReplaceBody),
    responses=json_of(Receipt),
)
async def preview_replacement(
    request: Request,
    number: StudyId,
    options: Annotated[ReplaceOptions, Depends()],
    file: File,
    rows: Rows = "all",
) -> Response:
    return await _preview(request, number, file, partial(parse_replacement, options), rows)


@router.post(
    "/studies/{id}/counts",
    summary="Tell counts: numbers of measurements and their sums",
    openapi_extra=_body(CountsBody),
    responses=json_of(Receipt),
)
async def tell_counts(
    request: Request,
    number: StudyId,
    options: Annotated[CountOptions, Depends()],
    file: File,
    key: Key = None,
) -> Response:
    parse = partial(parse_counts, options, request.state.role)
    return await _tell(request, number, key, file, parse)


@router.post(
    "/studies/{id}/counts/preview",
    summary="Preview counts without storing them",
    openapi_extra=_body(CountsBody),
    responses=json_of(Receipt),
)
async def preview_counts(
    request: Request, number: StudyId, options: Annotated[CountOptions, Depends()], file: File
) -> Response:
    parse = partial(parse_counts, options, request.state.role)
    return await _preview(request, number, file, parse)
