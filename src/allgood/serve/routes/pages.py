"""Routes for the pages of a study: each answers with everything that one page shows."""

from fastapi import Request
from fastapi.responses import Response

from ...study.status import StudyStatus
from ..overview import OverviewArms, overview_of
from ..responses import StudyOverview
from ..schemas import with_types
from .base import JSON, StudyId, json_of, new_router, study_cache_of

router = new_router("read")
OverviewData = with_types(StudyOverview, arms=OverviewArms)


@router.get(
    "/studies/{id}/overview",
    summary="Return the verdict, the arms and the open tickets of a study",
    responses=json_of(OverviewData),
)
def overview(request: Request, number: StudyId) -> Response:
    study_cache = study_cache_of(request)

    def make(status: StudyStatus) -> StudyOverview:
        with study_cache.study(number).backend.reading() as state:
            return overview_of(status, state)

    return Response(study_cache.status_json(number, "overview", make), media_type=JSON)
