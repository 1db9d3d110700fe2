"""Instances without a study: what they cost, and a run on them as it goes."""

import math
from typing import Any

import numpy as np

from .._internal.arguments import means_array
from ..models.base import Model
from ..objectives import Objective
from ..simulation.run import follow
from ..strategies.claim_by_claim import ClaimByClaim
from ..theory.alternatives.response import best_response
from ..theory.bounds import lower_bounds
from ..theory.characteristic import characteristic_time, undecidable_because
from .requests import Explore, ExploreRun

BOUNDS = ("asymptotic", "asymptotic_log", "moderate", "mason")
LABELS = {True: "good", False: "bad"}
MOST_CELLS = 400_000  # arms times pictures of a run: with more there are fewer pictures


def explore(given: Explore) -> dict[str, Any]:
    """The band, T*, the optimal weights, the lower bounds and the cheapest alternative."""
    objective, model = given.objective(), Model.check_known(given.read_model(needs_sigma=False))
    mu = model.check_means(means_array(given.means))
    blame = undecidable_because(mu, objective)
    answer = {
        "means": mu.tolist(),
        "best": float(mu.max()),
        "threshold": float(objective.threshold(mu)),
        "good": objective.answer(mu).tolist(),
        "undecidable": blame,
        "characteristic_time": None,
        "weights": None,
        "lower_bounds": {},
        "reasons": {},
        "remark": None,
        "alternative": None,
    }
    if blame is not None:
        return answer
    time = characteristic_time(mu, objective, model)
    bounds = lower_bounds(mu, objective, given.delta, model, characteristic=time)
    return answer | {
        "characteristic_time": time.value,
        "weights": time.weights.tolist(),
        "lower_bounds": {name: getattr(bounds, name) for name in BOUNDS},
        "reasons": dict(bounds.reasons),
        "remark": bounds.remark,
        "alternative": _alternative(mu, time.weights, objective, model),
    }


def _alternative(
    mu: np.ndarray, weights: np.ndarray, objective: Objective, model: Model
) -> dict[str, Any] | None:
    """The cheapest means under which another answer would be right, and what they change."""
    found = best_response(mu, weights, objective, model)
    if not math.isfinite(found.cost):
        return None
    before = objective.answer(mu)
    turns = LABELS[not bool(before[found.arm])] if found.arm is not None else "other"
    return {
        "means": found.means.tolist(),
        "arm": found.arm,
        "rival": found.rival,
        "sentence": f"Arm {found.arm} would be {turns}."
        if found.arm is not None
        else "The answer would be another.",
    }


def simulated_run(given: ExploreRun) -> dict[str, Any]:
    """A run of ClaimByClaim on these means, as at most so many pictures of it."""
    objective, model = given.objective(), Model.check_known(given.read_model(needs_sigma=False))
    strategy = ClaimByClaim(objective, given.delta)
    steps = follow(
        strategy,
        given.means,
        model,
        seed=given.seed,
        budget=max(given.max_pulls, len(given.means)),
        growth=_growth(
            len(given.means),
            given.max_pulls,
            max(2, min(given.frames, MOST_CELLS // len(given.means))),
        ),
    )
    frames = []
    while True:
        try:
            now = next(steps)
        except StopIteration as end:
            result = end.value
            break
        labels = now.claims.table().columns["label"] if now.claims else ["open"] * len(given.means)
        frames.append(
            {
                "pulls": now.pulls,
                "counts": now.counts.tolist(),
                "means": now.means.tolist(),
                "labels": labels,
            }
        )
    truth = objective.answer(np.array(given.means))
    certified = result.certified_at > 0
    wrong = np.flatnonzero(certified & (result.certified_good != truth))
    return {
        "certified": result.certified,
        "pulls": result.pulls,
        "wrong": wrong.tolist(),
        "frames": frames,
    }


def _growth(first: int, last: int, frames: int) -> float:
    """The factor by which pulls grow from picture to picture."""
    return max(1.02, math.pow(max(last, 2 * first) / first, 1.0 / frames))
