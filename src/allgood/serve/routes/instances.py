"""Routes without a study of their own: check certificates, plan studies and explore instances."""

from fastapi import Request
from fastapi.responses import Response

from ..._internal.cancel import check_cancelled
from ...certificates.verify import Verification
from ...certificates.verify import verify as verify_certificate
from ...study.planning import Plan, plan_study
from ..explore import Exploration, SimulatedRun, explore_instance, simulate_run
from ..requests import Explore, ExploreRun, PlanBody, Verify
from ..responses import VerificationData
from .base import compute, json_of, new_router, respond, study_cache_of

router = new_router("read", "Instances")


@router.post(
    "/verify",
    summary="Verify a certificate",
    responses=json_of(VerificationData),
)
async def verify(request: Request, body: Verify) -> Response:
    def check() -> Verification:
        lines = None
        if body.study is not None:
            log = study_cache_of(request).study(body.study).export()
            lines = [line.rstrip("\n") for line in log]
        return verify_certificate(body.certificate, lines, check_cancelled)

    return respond(await compute(request, check))


@router.post(
    "/plan", summary="Simulate how many measurements a study takes", responses=json_of(Plan)
)
async def plan(request: Request, body: PlanBody) -> Response:
    def simulate() -> Plan:
        unknown = body.model == "unknown-sigma"
        sigma = body.sigma[0] if isinstance(body.sigma, list) else body.sigma
        return plan_study(
            body.means,
            body.read_objective(),
            body.delta,
            body.model_copy(update={"sigma": None}).read_model() if unknown else body.read_model(),
            sigma=sigma if unknown and sigma is not None else 1.0,
            batch=body.batch,
            runs=body.runs,
            seed=body.seed,
            budget=max(body.budget, len(body.means)),
        )

    return respond(await compute(request, simulate))


@router.post(
    "/explore",
    summary="Compute T*, the optimal weights and the lower bounds of an instance",
    responses=json_of(Exploration),
)
async def explore(request: Request, body: Explore) -> Response:
    return respond(await compute(request, lambda: explore_instance(body)))


@router.post(
    "/explore/run",
    summary="Simulate a run, and return it in frames",
    responses=json_of(SimulatedRun),
)
async def explore_run(request: Request, body: ExploreRun) -> Response:
    return respond(await compute(request, lambda: simulate_run(body)))
