"""Routes that create, import and delete studies."""

from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Query, Request
from fastapi.responses import Response

from ...study.backends.errors import StudyExists
from ...study.backends.sql import Store
from ...study.study import ExportedStudy, create_from_design, import_study, parse_export
from ..middleware import write_log
from ..requests import NewStudy, example_export
from ..responses import DeletedStudy, StudyDetails, StudyName
from ..views import study_details
from .base import (
    NDJSON,
    TEXT,
    File,
    Key,
    StudyId,
    body_digest,
    change_database,
    client_of,
    digest_of,
    json_of,
    new_router,
    place_to_parse,
    receive_into,
    restart_lock_deadline,
    study_cache_of,
)

router = new_router("manage", "Managing")


@router.post(
    "/studies", summary="Create a study", status_code=201, responses=json_of(StudyDetails, 201)
)
async def create(request: Request, body: NewStudy, key: Key = None) -> Response:
    def change(store: Store) -> dict[str, Any]:
        if body.name in (name for _, name in store.names()):
            raise StudyExists(f"a study {body.name!r} already exists.")
        clock = study_cache_of(request).clock
        client = client_of(request, body.client)
        study = create_from_design(store, body.read_design(), client=client, clock=clock)
        return study_details(study)

    return await change_database(request, key, body_digest(request, body), change, 201)


@router.post(
    "/studies/import",
    summary="Import a study from its exported events",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {NDJSON: TEXT | {"example": example_export()}},
        }
    },
    responses=json_of(StudyName, 201),
)
async def import_(
    request: Request,
    file: File,
    name: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    key: Key = None,
) -> Response:
    digest = await receive_into(request, file)

    def parse() -> ExportedStudy:
        try:
            lines = file.read().decode("utf-8").split("\n")
        except UnicodeDecodeError:
            raise ValueError("the body must be text in UTF-8.") from None
        return parse_export(lines[:-1] if lines[-1] == "" else lines)

    async with place_to_parse(request, file):
        exported = await run_sync(parse)
        restart_lock_deadline(request)

        def change(store: Store) -> StudyName:
            study = import_study(store, exported, name, clock=study_cache_of(request).clock)
            return StudyName(study.backend.number, study.name)

        return await change_database(request, key, digest, change, 201)


@router.delete(
    "/studies/{id}",
    summary="Delete a study and all its events",
    responses=json_of(DeletedStudy),
)
async def delete(request: Request, number: StudyId, key: Key = None) -> Response:
    deleted: dict[str, Any] = {}

    def change(store: Store) -> DeletedStudy:
        for head in store.overview(number).values():
            deleted.update(
                study=number, name=head.name, events=head.events, last_event_sha256=head.digest
            )
        store.delete_study(number)
        return DeletedStudy(number)

    try:
        response = await change_database(request, key, digest_of(request), change, 200)
    finally:
        study_cache_of(request).forget(number)
    if deleted:  # not if it is the response to an earlier request with this key
        write_log("deletion", request.state.caller, **deleted)
    return response
