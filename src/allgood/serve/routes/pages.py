"""Routes for the pages of a study: each answers with everything that one page shows."""

from typing import Annotated

from fastapi import Path, Query, Request
from fastapi.responses import Response

from ..arm_page import ArmPage, arm_page
from .base import MOST_EVENTS, StudyId, json_of, new_router, respond, study_cache_of

router = new_router("read")


@router.get(
    "/studies/{id}/arms/{name:path}",
    summary="Return one arm: its label, its last values and its history",
    responses=json_of(ArmPage),
)
def arm(
    request: Request,
    number: StudyId,
    name: Annotated[str, Path(description="The name of the arm.")],
    values: Annotated[
        int, Query(ge=1, le=MOST_EVENTS, description="How many of its last values to return.")
    ] = 200,
) -> Response:
    study_cache = study_cache_of(request)
    status, study = study_cache.status(number), study_cache.study(number)
    with study.backend.reading() as state:
        return respond(arm_page(study, state, status, name, values))
