"""Routes for the pages of a study: each answers with everything that one page shows."""

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response

from ...study.status import StudyStatus
from ..arm_page import ArmPage, arm_page
from ..overview_page import OverviewData, OverviewPage, overview_page
from ..responses import MeasurePage
from ..views import measure_page
from .base import JSON, MOST_EVENTS, StudyId, json_of, new_router, respond, study_cache_of

router = new_router("read", "Studies")


@router.get(
    "/studies/{id}/overview",
    summary="Return the verdict, the arms and the open tickets of a study",
    responses=json_of(OverviewData),
)
def overview(request: Request, number: StudyId) -> Response:
    study_cache = study_cache_of(request)

    def make(status: StudyStatus) -> OverviewPage:
        study = study_cache.study(number)
        with study.backend.reading() as state:
            return overview_page(study, state, status)

    return Response(study_cache.status_json(number, "overview", make), media_type=JSON)


@router.get(
    "/studies/{id}/measure",
    summary="Return the plates and open tickets of a study, and the wells of one plate",
    responses=json_of(MeasurePage),
)
def measure(
    request: Request,
    number: StudyId,
    plate: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="The plate whose wells to return.")
    ] = None,
) -> Response:
    study_cache = study_cache_of(request)
    status = study_cache.status(number)
    with study_cache.study(number).backend.reading() as state:
        return respond(measure_page(state, status, plate))


ONE_ARM: dict[str, Any] = {
    "summary": "Return one arm: its label, its last values and its history",
    "responses": json_of(ArmPage),
}


@router.get("/studies/{id}/arms", **ONE_ARM)  # a path cannot hold every name, such as ".."
@router.get("/studies/{id}/arms/{name:path}", **ONE_ARM)
def arm(
    request: Request,
    number: StudyId,
    name: str,
    values: Annotated[
        int, Query(ge=1, le=MOST_EVENTS, description="How many of its last values to return.")
    ] = 200,
) -> Response:
    study_cache = study_cache_of(request)
    status, study = study_cache.status(number), study_cache.study(number)
    with study.backend.reading() as state:
        return respond(arm_page(study, state, status, name, values))
