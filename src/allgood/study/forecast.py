"""Forecast how many measurements a study still needs: simulated continuations, and a lower bound.

Both take time, so they are computed only if a caller asks for them by name (``Study.forecast``).
"""

import math
from dataclasses import dataclass

import numpy as np

from .._internal.arguments import Vector
from .._internal.cancel import check_cancelled
from .._internal.results import NullableFloat, ResultData
from ..kernels.tally import Tally
from ..models.base import Model, variance
from ..models.gaussian import Gaussian
from ..simulation.environments import Arms
from ..simulation.loop import new_watch, run_loop
from ..strategies.claim_by_claim import ClaimByClaimState
from ..theory.bounds import LowerBounds, lower_bounds
from ..theory.characteristic import characteristic_time
from .design import StudyDesign
from .state import Outcome, StudyState
from .status import typical_sigma

# The second shortest and the second longest of 11 continuations are their 10 % and 90 % points.
CONTINUATIONS = 11
# A continuation ends after FARTHEST times the measurements so far, or LONGEST measurements.
FARTHEST, LONGEST = 5, 50_000
MAX_ARMS = 10_000  # take up to half a minute; more may take minutes, and are not forecast
MAX_PAIRS = 3000  # of near-tied arms, for the lower bound: more take longer, and raise it little


@dataclass(frozen=True)
class MeasurementsLeft(ResultData):
    """A range for the number of measurements that a study still needs.

    Attributes:
        low, high: the 10 % and the 90 % point of simulated continuations; inf stands for one that
            was given up.
    """

    low: NullableFloat
    high: NullableFloat


@dataclass(frozen=True)
class Forecast(ResultData):
    """The cost of a study: measurements that it may still need, and a lower bound of the total.

    Attributes:
        events, measurements: number of events, and of measurements that count, when this was
            computed.
        left: a forecast, not a guarantee.  The means of the simulated continuations are drawn
            around the averages, as widely as these are uncertain.  Each continuation makes one
            measurement at a time, measures every arm and ignores the budget.  None before every arm
            has a measurement, if nothing more is asked for, and with more than ``MAX_ARMS`` arms.
        exceeds_budget: whether the budget will probably end before every label is certified.
        lower_bound: lower bound on the expected number of measurements of every strategy with this
            risk, if the averages were the true means.  None before every arm has a measurement, if
            there is no such bound, if an average is on the threshold, and with more than
            ``MAX_ARMS`` arms.
        lower_bound_gap: the exact bound is at most this part higher.
        lower_bound_remark: a sentence if the bound may be loose or is not computed; else None.
        sentences: all of this in words.
    """

    events: int
    measurements: int
    left: MeasurementsLeft | None
    exceeds_budget: bool
    lower_bound: float | None
    lower_bound_gap: float | None
    lower_bound_remark: str | None
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


@dataclass(frozen=True)
class ForecastInput:
    """A copy of all that a forecast needs, so that it can be computed while the study goes on."""

    design: StudyDesign
    outcome: Outcome
    events: int
    measurements: int
    told: int  # measurements that use up the budget: those that count, wait or are suspect
    model: Model
    run: tuple[ClaimByClaimState, Tally] | None  # None before every arm has a measurement


def forecast_input(state: StudyState) -> ForecastInput:
    """Copy what a forecast needs from the state of a study."""
    engine, quality = state.current_engine(), state.quality
    censored = sum(value.censored for value in quality.processed) if state.design.censor_at else 0
    measurements = int(engine.counts.sum()) + censored
    return ForecastInput(
        design=state.design,
        outcome=state.outcome(),
        events=state.seq,
        measurements=measurements,
        told=measurements + len(quality.suspects) + len(quality.told_and_waiting()),
        model=engine.question_model(),
        run=(engine.strategy_state.copy(), engine.tally.copy()) if engine.has_started() else None,
    )


def forecast_of(study: ForecastInput) -> Forecast:
    """Simulate continuations of a study, and compute its lower bound."""
    too_many = len(study.design.arms) > MAX_ARMS
    bounds = left = None
    if study.run is not None and not too_many:
        bounds = _bounds(study, study.run[1])
        left = _left(study, *study.run)
    bound = None if bounds is None else bounds.best
    remark = None if bounds is None else bounds.remark
    if too_many:
        remark = (
            f"With more than {MAX_ARMS:,} arms a lower bound and a forecast may take minutes, so "
            "neither is given."
        )
    exceeds_budget = _exceeds_budget(study, left)
    return Forecast(
        events=study.events,
        measurements=study.measurements,
        left=left,
        exceeds_budget=exceeds_budget,
        lower_bound=bound,
        lower_bound_gap=None if bounds is None else bounds.gap,
        lower_bound_remark=remark,
        sentences=_sentences(left, exceeds_budget, bound, remark),
    )


def _exceeds_budget(study: ForecastInput, left: MeasurementsLeft | None) -> bool:
    budget = study.design.budget
    if budget is None or left is None or study.outcome != "running":
        return False
    return study.told + left.low > budget


def _sentences(
    left: MeasurementsLeft | None, exceeds_budget: bool, bound: float | None, remark: str | None
) -> tuple[str, ...]:
    lines = []
    if left is not None and left.high > 0.0:
        span = f"{left.low:,.0f} or many" if math.isfinite(left.low) else "many"
        span = f"{left.low:,.0f} to {left.high:,.0f}" if math.isfinite(left.high) else span
        lines.append(f"Perhaps {span} more, one at a time (simulated; no guarantee).")
    if exceeds_budget:
        lines.append("The budget will probably end before every label is certified.")
    if bound is not None and bound >= 1.0:
        lines.append(
            f"Any strategy must expect at least {bound:,.0f} measurements in all at these "
            "estimates."
        )
    return (*lines, remark) if remark is not None else tuple(lines)


def _bounds(study: ForecastInput, tally: Tally) -> LowerBounds | None:
    model = _simulated_model(study.model, tally)
    if not model.exact:
        return None
    means = _inside(tally.means, study.model, tally)
    objective = study.design.objective
    time = characteristic_time(means, objective, model, rtol=1e-3, max_pairs=MAX_PAIRS)
    bounds = lower_bounds(means, objective, study.design.delta, model, characteristic=time)
    return bounds if 0.0 < bounds.best < math.inf else None


def _left(study: ForecastInput, state: ClaimByClaimState, tally: Tally) -> MeasurementsLeft | None:
    if study.outcome == "certified":
        return MeasurementsLeft(0.0, 0.0)
    if study.outcome != "running":
        return None
    pulls, model = tally.pulls, _simulated_model(study.model, tally)
    limit = pulls + min(FARTHEST * max(pulls, 10 * tally.size), LONGEST)
    errors = _errors(study.model, tally)
    lengths = []
    for i in range(CONTINUATIONS):
        check_cancelled()
        rng = np.random.default_rng(np.random.SeedSequence(study.design.seed, spawn_key=(i,)))
        noise = rng.standard_normal(tally.size) * errors
        means = _inside(tally.means + noise, study.model, tally)
        sampler = Arms(means, model).start(model, rng)
        future, future_tally = state.copy(), tally.copy()
        run_loop(future, sampler, future_tally, limit, new_watch(tally.size))
        lengths.append(future_tally.pulls - pulls if future.done else math.inf)
    lengths.sort()
    return MeasurementsLeft(float(lengths[1]), float(lengths[-2]))


def _simulated_model(model: Model, tally: Tally) -> Model:
    """Return the model, with the estimated noise if it is unknown."""
    if model.noise_known:
        return model
    own = np.sqrt(tally.scatter / np.maximum(tally.counts - 1, 1))
    return Gaussian(np.where(own > 0.0, own, typical_sigma(tally)))


def _inside(means: Vector, model: Model, tally: Tally) -> Vector:
    """Move means at the ends of the model's range inside it, by half a measurement."""
    low, high = model.range
    margin = 0.5 * min(high - low, 1.0) / (tally.counts + 1.0)
    return np.clip(means, low + margin, high - margin)


def _errors(model: Model, tally: Tally) -> Vector:
    """Return the standard error of each average."""
    simulated, means = _simulated_model(model, tally), _inside(tally.means, model, tally)
    if simulated.normal:
        variances = simulated.sigmas(means.size) ** 2
    else:
        variances = np.array([variance(simulated, x) for x in means])
    errors: Vector = np.sqrt(variances / tally.counts)
    return errors
