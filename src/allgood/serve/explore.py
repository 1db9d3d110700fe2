"""Instances without a study: their lower bounds, and a simulated run on them, frame by frame."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._internal.arguments import means_array
from .._internal.results import NullableFloat, ResultData
from ..models.base import Model
from ..objectives import Objective
from ..simulation.run import follow
from ..strategies.claim_by_claim import ClaimByClaim
from ..study.engine import Label
from ..theory.alternatives.response import best_response
from ..theory.bounds import BOUNDS, lower_bounds
from ..theory.characteristic import characteristic_time, undecidable_because
from .requests import Explore, ExploreRun

LABELS = {True: "good", False: "bad"}
MOST_CELLS = 400_000  # arms times frames of a run: with more there are fewer frames


@dataclass(frozen=True)
class AlternativeMeans(ResultData):
    """The cheapest means under which another answer would be right.

    Attributes:
        arm: the arm whose label would be another, from 0.
        rival: the arm that moves with it.
        sentence: what would change.
    """

    means: list[float]
    arm: int | None
    rival: int | None
    sentence: str


@dataclass(frozen=True)
class Exploration(ResultData):
    """An instance: its good arms, and the cost of finding them.

    Attributes:
        threshold: an arm is good if its mean is at least this.
        good: for each arm, whether it is good.
        undecidable: why no number of measurements is enough; or None.
        characteristic_time: T*; None if the instance is undecidable.
        weights: the optimal shares of the measurements.
        lower_bounds: lower bounds on the expected number of measurements, by name; None: there is
            none.
        reasons: why a lower bound is None.
        remark: a sentence if the largest bound may be loose; or None.
    """

    means: list[float]
    best: float
    threshold: float
    good: list[bool]
    undecidable: str | None = None
    characteristic_time: NullableFloat | None = None
    weights: list[float] | None = None
    lower_bounds: dict[str, NullableFloat | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    remark: str | None = None
    alternative: AlternativeMeans | None = None


@dataclass(frozen=True)
class Frame(ResultData):
    """A run at one moment.

    Attributes:
        pulls: the number of measurements so far.
        counts: the number of measurements of each arm.
        means: the averages; null before the first measurement.
    """

    pulls: int
    counts: list[int]
    means: list[NullableFloat]
    labels: list[Label]


@dataclass(frozen=True)
class SimulatedRun(ResultData):
    """A simulated run.

    Attributes:
        certified: whether every label was certified.
        wrong: arms that were labelled wrongly, from 0.
    """

    certified: bool
    pulls: int
    wrong: list[int]
    frames: list[Frame]


def explore_instance(body: Explore) -> Exploration:
    """Compute T*, the optimal weights, the lower bounds and the cheapest alternative."""
    objective, model = body.read_objective(), Model.check_known(body.read_model(needs_sigma=False))
    mu = model.check_means(means_array(body.means))
    threshold, good = float(objective.threshold(mu)), objective.answer(mu).tolist()
    reason = undecidable_because(mu, objective)
    if reason is not None:
        return Exploration(mu.tolist(), float(mu.max()), threshold, good, undecidable=reason)
    time = characteristic_time(mu, objective, model)
    bounds = lower_bounds(mu, objective, body.delta, model, characteristic=time)
    return Exploration(
        mu.tolist(),
        float(mu.max()),
        threshold,
        good,
        characteristic_time=time.value,
        weights=time.weights.tolist(),
        lower_bounds={name: getattr(bounds, name) for name in BOUNDS},
        reasons=dict(bounds.reasons),
        remark=bounds.remark,
        alternative=_alternative(mu, time.weights, objective, model),
    )


def _alternative(
    mu: np.ndarray, weights: np.ndarray, objective: Objective, model: Model
) -> AlternativeMeans | None:
    """Return the cheapest means under which another answer would be right."""
    response = best_response(mu, weights, objective, model)
    if not math.isfinite(response.cost):
        return None
    sentence = "The answer would be another."
    if response.arm is not None:
        label = LABELS[not bool(objective.answer(mu)[response.arm])]
        sentence = f"Arm {response.arm} would be {label}."
    return AlternativeMeans(response.means.tolist(), response.arm, response.rival, sentence)


def simulate_run(body: ExploreRun) -> SimulatedRun:
    """Run ClaimByClaim on these means, and return the run in a limited number of frames."""
    objective, model = body.read_objective(), Model.check_known(body.read_model(needs_sigma=False))
    arms = len(body.means)
    steps = follow(
        ClaimByClaim(objective, body.delta),
        body.means,
        model,
        seed=body.seed,
        budget=max(body.max_pulls, arms),
        growth=_growth(arms, body.max_pulls, max(2, min(body.frames, MOST_CELLS // arms))),
    )
    frames = []
    while True:
        try:
            now = next(steps)
        except StopIteration as end:
            result = end.value
            break
        labels: list[Any] = ["open"] * arms
        if now.claims:
            labels = now.claims.table().columns["label"]
        frames.append(Frame(now.pulls, now.counts.tolist(), now.means.tolist(), labels))
    truth = objective.answer(np.array(body.means))
    wrong = np.flatnonzero((result.certified_at > 0) & (result.certified_good != truth))
    return SimulatedRun(result.certified, result.pulls, wrong.tolist(), frames)


def _growth(first: int, last: int, frames: int) -> float:
    """Return the factor by which pulls grow from frame to frame."""
    return max(1.02, math.pow(max(last, 2 * first) / first, 1.0 / frames))
