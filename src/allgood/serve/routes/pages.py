"""Routes for the pages of a study: each answers with everything that one page shows."""

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from ..responses import MeasurePage
from ..views import measure_page
from .base import StudyId, json_of, new_router, respond, study_cache_of

router = new_router("read")


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
