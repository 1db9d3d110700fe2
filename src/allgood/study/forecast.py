"""Forecast how many measurements a study still needs: simulated continuations, and a lower bound.

Both take time, so they are computed only if a caller asks for them by name (``Study.forecast``).
"""

import math
from dataclasses import dataclass

import numpy as np

from .._internal.arguments import Vector
from .._internal.cancel import check_cancelled
from .._internal.results import ResultData
from ..evidence.spec import OPEN
from ..kernels.tally import Tally
from ..models.base import Model, variance
from ..models.gaussian import Gaussian
from ..simulation.environments import Arms
from ..simulation.loop import new_watch, run_loop
from ..strategies.claim_by_claim import ClaimByClaimState
from ..theory.bounds import LowerBounds, lower_bounds
from ..theory.characteristic import characteristic_time
from .costs import CostRange, in_words, wells_in_use
from .design import StudyDesign
from .next_steps import NextStep
from .state import Outcome, StudyState
from .status import typical_sigma

# The second shortest and the second longest of 11 continuations are their 10 % and 90 % points.
CONTINUATIONS = 11
# A continuation ends after FARTHEST times the measurements so far, or LONGEST measurements.
FARTHEST, LONGEST = 5, 50_000
MAX_ARMS = 10_000  # take up to half a minute; more may take minutes, and are not forecast
MAX_PAIRS = 3000  # of near-tied arms, for the lower bound: more take longer, and raise it little
# A bound is given when no open arm's average is closer to the threshold than so many standard
# errors of its distance.  The bound grows as 1/distance^2: at 3 the noise moves it by a factor of
# about 2 up or down, and at 1 by any factor.
CLEAR = 3.0


@dataclass(frozen=True)
class PlateForecast(ResultData):
    """A forecast in plates like the newest.

    Attributes:
        wells: how many measurements of arms a plate holds, without controls.
        left, budget_increase, lower_bound: those of the forecast, in plates; the last plate may be
            partly empty.
    """

    wells: int
    left: CostRange | None
    budget_increase: CostRange | None
    lower_bound: int | None


@dataclass(frozen=True)
class Forecast(ResultData):
    """The cost of a study: measurements that it may still need, and a lower bound of the total.

    Attributes:
        events, measurements: number of events, and of measurements that count, when this was
            computed.
        left: a forecast, not a guarantee.  The means of the simulated continuations are drawn
            around the averages, as widely as these are uncertain.  Each continuation makes one
            measurement at a time, measures every arm and ignores the budget.  None before every arm
            has a measurement, if every open arm is dropped, and with more than ``MAX_ARMS`` arms.
        exceeds_budget: whether the budget ends, or probably will, before every label is certified.
        budget_increase: by how much the budget would have to rise; None if it may be enough.
        lower_bound: lower bound on the expected number of measurements of every strategy with this
            risk, if the averages were the true means.  None before every arm has a measurement, if
            there is no such bound, while the average of an open arm is within its noise of the
            threshold (``CLEAR``), and with more than ``MAX_ARMS`` arms.
        lower_bound_gap: the exact bound is at most this part higher.
        lower_bound_remark: a sentence if the bound may be loose or is not given; else None.
        plates: the same in plates; None if the study uses none.
        next_steps: what the forecast suggests.
        sentences: all of this in words.
    """

    events: int
    measurements: int
    left: CostRange | None
    exceeds_budget: bool
    budget_increase: CostRange | None
    lower_bound: float | None
    lower_bound_gap: float | None
    lower_bound_remark: str | None
    plates: PlateForecast | None
    next_steps: tuple[NextStep, ...]
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
    wells: int | None  # that the newest plate has for arms
    names: tuple[str, ...]  # of the arms of the question
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
        wells=wells_in_use(state),
        names=tuple(state.design.arms[a] for a in engine.arms),
        model=engine.question_model(),
        run=(engine.strategy_state.copy(), engine.tally.copy()) if engine.has_started() else None,
    )


def forecast_of(study: ForecastInput) -> Forecast:
    """Simulate continuations of a study, and compute its lower bound."""
    too_many = len(study.design.arms) > MAX_ARMS
    bounds = left = remark = None
    if too_many:
        remark = (
            f"With more than {MAX_ARMS:,} arms a lower bound and a forecast may take minutes, so "
            "neither is given."
        )
    elif study.run is not None:
        remark = _why_no_bound(study, *study.run)
        bounds = _bounds(study, study.run[1]) if remark is None else None
        left = _left(study, *study.run)
    bound = None if bounds is None else bounds.best
    remark = remark if bounds is None else bounds.remark
    increase = _budget_increase(study, left)
    plates = None
    if study.wells is not None:
        plates = PlateForecast(
            wells=study.wells,
            left=None if left is None else left.in_plates(study.wells),
            budget_increase=None if increase is None else increase.in_plates(study.wells),
            lower_bound=None if bound is None else math.ceil(bound / study.wells),
        )
    return Forecast(
        events=study.events,
        measurements=study.measurements,
        left=left,
        exceeds_budget=increase is not None,
        budget_increase=increase,
        lower_bound=bound,
        lower_bound_gap=None if bounds is None else bounds.gap,
        lower_bound_remark=remark,
        plates=plates,
        next_steps=_next_steps(study, increase),
        sentences=_sentences(study, left, increase, bound, remark),
    )


def _budget_increase(study: ForecastInput, left: CostRange | None) -> CostRange | None:
    """Return by how much the budget would have to rise; None if it may be enough."""
    budget = study.design.budget
    if budget is None or left is None or study.told + left.low <= budget:
        return None
    return CostRange(*(study.told + end - budget for end in (left.low, left.high)))


def _next_steps(study: ForecastInput, increase: CostRange | None) -> tuple[NextStep, ...]:
    budget = study.design.budget
    if increase is None or budget is None or math.isinf(increase.low):
        return ()
    known = math.isfinite(increase.high)
    new = budget + int(increase.high if known else increase.low)
    more = "" if known else " or more"
    text = f"Raise the budget from {budget:,} to {new:,}{more}: the guarantee stays as it is."
    return (NextStep("raise_budget", text, "set_budget", {"budget": new}),)


def _sentences(
    study: ForecastInput,
    left: CostRange | None,
    increase: CostRange | None,
    bound: float | None,
    remark: str | None,
) -> tuple[str, ...]:
    def with_plates(measurements: CostRange) -> str:
        if study.wells is None or math.isinf(measurements.low):
            return ""
        plates = measurements.in_plates(study.wells).wording
        return f": {plates} {'plate' if plates == '1' else 'plates'} of {study.wells:,} wells"

    lines = []
    if left is not None and left.high > 0.0:
        lines.append(
            f"Perhaps {left.wording} more, one at a time (simulated; no guarantee)"
            f"{with_plates(left)}."
        )
    if increase is not None:
        end = "is exhausted" if study.outcome == "budget exhausted" else "will probably end"
        lines.append(
            f"The budget {end} before every label is certified.  It would have to be "
            f"{increase.wording} higher{with_plates(increase)}."
        )
    if bound is not None and bound >= 1.0:
        wells = study.wells
        plates = "" if wells is None else f": {in_words(math.ceil(bound / wells), wells)}"
        lines.append(
            f"Any strategy must expect at least {bound:,.0f} measurements in all at these "
            f"estimates{plates}."
        )
    return (*lines, remark) if remark is not None else tuple(lines)


def _why_no_bound(study: ForecastInput, state: ClaimByClaimState, tally: Tally) -> str | None:
    """Return why the averages are too noisy for a bound; None if they are not."""
    means, errors = tally.means, _errors(study.model, tally)
    objective, top = study.design.objective, int(tally.means.argmax())
    heights, _ = objective.distances(means)
    noise = np.hypot(errors, objective.factor * errors[top])
    noise[top] = errors[top]
    ratios = np.where(np.asarray(state.labels) == OPEN, np.abs(heights) / noise, math.inf)
    arm = int(ratios.argmin())
    if ratios[arm] >= CLEAR:
        return None
    return (
        f"No lower bound yet: the estimate of {study.names[arm]!r} is {abs(heights[arm]):.3g} from "
        f"the threshold, with a standard error of {noise[arm]:.3g}.  The bound is given when no "
        f"open arm is closer than {CLEAR:g} standard errors: before, chance alone would decide it."
    )


def _bounds(study: ForecastInput, tally: Tally) -> LowerBounds | None:
    model = _simulated_model(study.model, tally)
    if not model.exact:
        return None
    means = _inside(tally.means, study.model, tally)
    objective = study.design.objective
    time = characteristic_time(means, objective, model, rtol=1e-3, max_pairs=MAX_PAIRS)
    bounds = lower_bounds(means, objective, study.design.delta, model, characteristic=time)
    return bounds if 0.0 < bounds.best < math.inf else None


def _left(study: ForecastInput, state: ClaimByClaimState, tally: Tally) -> CostRange | None:
    if study.outcome == "certified":
        return CostRange(0.0, 0.0)
    if study.outcome == "dropped":
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
    return CostRange(float(lengths[1]), float(lengths[-2]))


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
