"""The status of a study as plain data: labels, estimates, evidence and warnings at one moment.

Everything is computed once, when the status is made; reading or printing it computes nothing.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import get_args

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector
from .._internal.results import NullableFloat, ResultData
from .._internal.tables import Table, Tabular, html_table
from ..evidence.intervals import intervals
from ..evidence.spec import POOL
from ..kernels.tally import Tally
from ..models.base import Model
from ..objectives import Objective
from . import sentences
from .costs import PlateBudget, plate_budget
from .diagnostics import Checks, checks_of
from .diagnostics.sigma import SigmaInUse, sigma_in_use
from .diagnostics.values import CheckedValues, checked_values
from .engine import Engine, Label
from .next_steps import NextStep, next_steps
from .quality import Suspect
from .sentences import Guess
from .state import Basis, Note, Origin, Outcome, StudyState, Ticket, suspect_message


@dataclass(frozen=True)
class ArmStatus(ResultData):
    """One arm of a study.

    Attributes:
        arm: its name.
        label: certified good, certified bad, or open.
        guess: for an open arm, its label if the averages were the means: the best guess, which
            nothing guarantees.  None if the label is certified, or without a measurement.
        measurements, pending: number of measurements that count, censored ones included, and of
            those that were asked for and have no value.
        mean: the average; nan before the first measurement that is not censored.
        low, high: an interval.  With probability at least 1 - delta the intervals of all arms hold
            their means at all times.
        evidence, need: the evidence for the label that the averages suggest, and what it must
            reach.
        rests_on: the arm with which it is compared; None if that is the pool, or if there is none.
        on_pool: whether it is compared with the pool.
        certified_after: number of measurements of the whole study when the label was certified;
            None while it is open.
        dropped: why the arm is not measured any more; None if it still is.
        withdrawn: whether it has left the question, because it was dropped before its first
            measurement.
        suspect, waiting, censored: number of measurements that are held back, that wait for others,
            and that were given up at the censoring time.
        remark: why label and numbers seem to contradict each other; "" if they do not.
            "interval_crosses": the interval of a certified arm reaches across the threshold.
            "estimate_crossed": its average is on the other side by now.  "contradicted": there is
            enough evidence for its other label.  ``StudyStatus.remarks`` has the sentences.
        notes: what was known of the arm beforehand, texts by their headings.
    """

    arm: str
    label: Label
    guess: Guess | None
    measurements: int
    pending: int
    mean: NullableFloat
    low: NullableFloat
    high: NullableFloat
    evidence: NullableFloat
    need: NullableFloat
    rests_on: str | None
    on_pool: bool
    certified_after: int | None
    dropped: str | None
    withdrawn: bool
    suspect: int
    waiting: int
    censored: int
    remark: sentences.RemarkCode
    notes: dict[str, str]


@dataclass(frozen=True)
class SuspectValue(ResultData):
    """A value that was told and does not count.

    Attributes:
        ticket, arm, value: the value, and where it belongs.
        others, mean: how many other values of the arm count, and their average.
        message: why it does not count, in a sentence.
    """

    ticket: str
    arm: str
    value: float
    others: int
    mean: NullableFloat
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class StudyStatus(ResultData, Tabular):
    """A study at one moment, as plain data.  As a table it has one row for each arm.

    ``Study.forecast`` computes how many measurements may still be needed.

    Attributes:
        name: the name of the study.
        question: what it is to find out.
        outcome: running; certified (every label is); budget exhausted; or dropped (every arm with
            an open label is).  Certified labels hold in any case.
        verdict: the outcome, the number of labels and the warnings, in sentences.
        guarantee: the guarantee in a sentence; empty if there are warnings.
        conditions: statements of people on which the guarantee depends, a sentence each.
        warnings: why certified labels should not be trusted, in sentences; usually none.
        good, bad, open: names of the arms with each label.
        guessed_good, guessed_bad: names of the open arms with each guess.
        best_guess: the numbers of these, in a sentence; empty if there are none.
        threshold: the lowest mean at which an arm is good, if the averages were the means; nan
            before the first measurement.
        contradicted: certified arms for whose other label there is enough evidence now.
        arms: the status of each arm, in order.
        remarks: a sentence for each remark that an arm has, by its code.
        next_steps: what can be done now, the most useful first.
        measurements, pending, failed, corrections: number of measurements that count, that were
            asked for, that failed and that were corrected.
        withdrawn_values: number of measurements that were told and withdrawn.
        rejected: plates whose values do not count because of their controls, a sentence each.
        suspects: values that do not count until somebody confirms or corrects them.
        waiting: number of measurements that wait until earlier tickets are settled.
        waits_for: the ticket that they wait for first; None if none do.
        waits_for_controls: why values wait for controls of their plate, in a sentence; empty if
            none do.
        budget: how many measurements may be made; None if there is no limit.
        plates: the budget in plates; None if the study uses none.
        max_new_arms: how many arms may still be added.
        notes: remarks, from the first.
        origin: the study from which this one was copied, if it was.  The risk of that study adds
            to delta.
        events, time: number of events, and when the status was made (seconds since 1970).
        delta, wording, model: the risk, what a good arm is, and the model of the arms of the
            question.
        sigma: the sigma in use, where it comes from, and the one that the values show; None if the
            model has none.
        typical_sigma: standard deviation of values around the average of their arm; 1 before every
            arm has a value.
        checks: whether sigma, the model and the plates fit the values; ``checks.sentences`` says
            what does not.  They change no label.
    """

    name: str
    question: str
    outcome: Outcome
    verdict: str
    guarantee: str
    conditions: tuple[str, ...]
    warnings: list[str]
    good: list[str]
    bad: list[str]
    open: list[str]
    guessed_good: list[str]
    guessed_bad: list[str]
    contradicted: list[str]
    best_guess: str
    threshold: NullableFloat
    arms: tuple[ArmStatus, ...]
    remarks: dict[sentences.RemarkCode, str]
    next_steps: tuple[NextStep, ...]
    measurements: int
    pending: int
    failed: int
    corrections: int
    withdrawn_values: int
    rejected: tuple[str, ...]
    suspects: tuple[SuspectValue, ...]
    waiting: int
    waits_for: Ticket | None
    waits_for_controls: str
    budget: int | None
    plates: PlateBudget | None
    max_new_arms: int
    notes: tuple[Note, ...]
    origin: Origin | None
    events: int
    time: float
    delta: float
    wording: str
    model: Model
    sigma: SigmaInUse | None
    typical_sigma: float
    checks: Checks

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= 60 else f"{self.name[:57]}..."
        labels = sentences.labels_counted(len(self.good), len(self.bad), len(self.open))
        return (
            f"StudyStatus({name!r}, {self.outcome}: {labels}; {self.measurements:,} measurements)"
        )

    def _repr_html_(self) -> str:
        shown = (
            "arm",
            "label",
            "guess",
            "measurements",
            "pending",
            "mean",
            "low",
            "high",
            "evidence",
            "need",
        )
        columns = self.table().columns
        return html_table(repr(self), {key: columns[key] for key in shown})

    def table(self) -> Table:
        """Return one row for each arm, with what ``ArmStatus`` holds; notes have a column each."""
        rows = [asdict(arm) for arm in self.arms]
        notes = [row.pop("notes") for row in rows]
        return Table.of_rows(
            row | {f"note: {heading}": text for heading, text in texts.items()}
            for row, texts in zip(rows, notes, strict=True)
        )


def status_of(
    state: StudyState, name: str, now: float, checked: CheckedValues | None = None
) -> StudyStatus:
    """Compute the status of a study from its state.

    Args:
        state: the state, which stays as it is.
        name: the study's name in its database.
        now: the time, in seconds since 1970.
        checked: the values to check against the model; by default those of the state.
    """
    design, engine, quality = state.design, state.current_engine(), state.quality
    arms, threshold = _arms(state, engine)
    blocking = quality.blocking()
    values = checked_values(state) if checked is None else checked
    checks = checks_of(values, design.model, len(design.arms))
    labels = _Labels.of(arms)
    measurements, outcome = sum(arm.measurements for arm in arms), state.outcome()
    warnings = [sentences.DOUBTFUL] if checks.doubts else []
    warnings += guarantee_lost(state)
    conditions = guarantee_conditions(state)
    if labels.contradicted:
        warnings.append(sentences.contradiction(labels.contradicted, design.delta))
    good, bad, undecided = len(labels.good), len(labels.bad), len(labels.open)
    guesses = len(labels.guessed_good), len(labels.guessed_bad)
    verdict = sentences.verdict(outcome, good, bad, undecided, measurements)
    return StudyStatus(
        name=name,
        question=sentences.question(len(arms), design.objective.wording),
        outcome=outcome,
        verdict="  ".join([verdict, *warnings, *conditions]),
        guarantee="" if warnings else sentences.guarantee(design.delta),
        conditions=conditions,
        warnings=warnings,
        **vars(labels),
        best_guess=sentences.best_guess(*guesses),
        threshold=threshold,
        arms=arms,
        remarks=sentences.remarks({arm.remark for arm in arms}),
        next_steps=next_steps(state, outcome, good + bad, guesses),
        measurements=measurements,
        pending=sum(arm.pending for arm in arms),
        failed=state.failed,
        corrections=state.corrections,
        withdrawn_values=sum(state.withdrawn_values(basis) for basis in get_args(Basis)),
        rejected=tuple(
            sentences.rejected(batch, state.why_rejected(batch))
            for batch in sorted(state.rejected_plates())
        ),
        suspects=tuple(_suspect(suspect, state) for suspect in quality.suspects.values()),
        waiting=sum(arm.waiting for arm in arms),
        waits_for=None if blocking is None else state.public_ticket(state.tickets[blocking]),
        waits_for_controls=_waits_for_controls(state),
        budget=design.budget,
        plates=plate_budget(state),
        max_new_arms=0 if design.added else design.max_new_arms,
        notes=tuple(state.notes),
        origin=state.origin,
        events=state.seq,
        time=now,
        delta=design.delta,
        wording=design.objective.wording,
        model=engine.question_model(),
        sigma=sigma_in_use(values, design.model, len(design.arms), checks.sigma),
        typical_sigma=typical_sigma(engine.tally) if engine.has_started() else 1.0,
        checks=checks,
    )


def _waits_for_controls(state: StudyState) -> str:
    numbers = state.waiting_for_controls()
    plates = sorted({state.tickets[number].batch for number in numbers})
    return sentences.waiting_for_controls(len(numbers), plates) if numbers else ""


def guarantee_lost(state: StudyState) -> list[str]:
    """Return why the guarantee does not hold whatever the values are, in sentences."""
    number = state.withdrawn_values("values")
    return [sentences.withdrawn_by_values(number)] if number else []


def guarantee_conditions(state: StudyState) -> tuple[str, ...]:
    """Return the statements of people on which the guarantee depends, in sentences."""
    number = state.withdrawn_values("cause")
    return (sentences.withdrawn_for_cause(number),) if number else ()


def typical_sigma(tally: Tally) -> float:
    """Standard deviation of rewards around their arm's average; 1 if they do not differ."""
    spread = float(tally.scatter.sum()) / max(tally.pulls - tally.size, 1)
    return math.sqrt(spread) or 1.0


@dataclass
class _Labels:
    """Names of arms by their labels, by the best guess, and by what contradicts their labels."""

    good: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    guessed_good: list[str] = field(default_factory=list)
    guessed_bad: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)

    @staticmethod
    def of(arms: Iterable[ArmStatus]) -> "_Labels":
        """Sort the arms of the question by their labels."""
        labels = _Labels()
        for arm in arms:
            if arm.withdrawn:
                continue
            getattr(labels, arm.label).append(arm.arm)
            if arm.guess is not None:
                getattr(labels, f"guessed_{arm.guess}").append(arm.arm)
            if arm.remark == "contradicted":
                labels.contradicted.append(arm.arm)
        return labels


@dataclass
class _Claims:
    """Evidence, intervals and rivals of all arms: those of no value before every arm has one."""

    evidence: Vector
    need: Vector
    certified_after: npt.NDArray[np.int64]
    low: Vector
    high: Vector
    rests_on: list[str | None]
    on_pool: list[bool]

    @staticmethod
    def of(state: StudyState, engine: Engine) -> "_Claims":
        """Compute them from the values that count."""
        design = state.design
        K = len(design.arms)
        result = _Claims(
            evidence=np.zeros(K),
            need=np.full(K, math.nan),
            certified_after=np.zeros(K, np.int64),
            low=np.full(K, -math.inf),
            high=np.full(K, math.inf),
            rests_on=[None] * K,
            on_pool=[False] * K,
        )
        if not engine.has_started():
            return result
        claims, arms, tally = engine.claims(), engine.arms, engine.tally
        result.evidence[arms], result.need[arms] = claims.evidence, claims.need
        result.certified_after[arms] = engine.certified_at
        variances = tally.scatter / tally.counts if not engine.model.noise_known else None
        # with places for new arms, each place has its share of the risk from the start
        share = arms.size / design.places if design.max_new_arms else 1.0
        risk, model = share * design.risk_of_labels, engine.question_model()
        ends = intervals(tally.counts, tally.means, risk, model, variances=variances)
        result.low[arms], result.high[arms] = ends
        for i, arm in enumerate(arms):
            rival = claims.rival[i]
            result.on_pool[arm] = bool(rival == POOL)
            if rival != POOL and (rival != i or design.objective.factor < 1.0):
                result.rests_on[arm] = design.arms[arms[rival]]
        return result


@dataclass
class _Guesses:
    """Labels as the averages suggest them: a guess for each open arm, a remark for others.

    ``threshold`` is the lowest mean at which an arm is good, by the averages.
    """

    threshold: float
    guess: dict[int, Guess] = field(default_factory=dict)
    remark: dict[int, sentences.RemarkCode] = field(default_factory=dict)

    @staticmethod
    def of(
        objective: Objective, means: Vector, asked: Vector, labels: list[Label], claims: _Claims
    ) -> "_Guesses":
        """Compare averages and intervals with the threshold; ``asked`` marks arms to compare."""
        known = np.flatnonzero(asked & ~np.isnan(means))
        if not known.size:
            return _Guesses(math.nan)
        result = _Guesses(objective.threshold(means[known]))
        for a, is_good in zip(known.tolist(), objective.answer(means[known]).tolist(), strict=True):
            label = labels[a]
            if label == "open":
                result.guess[a] = "good" if is_good else "bad"
            elif (label == "good") != is_good:
                enough = claims.evidence[a] >= claims.need[a]
                result.remark[a] = "contradicted" if enough else "estimate_crossed"
            elif claims.low[a] < result.threshold <= claims.high[a]:
                result.remark[a] = "interval_crosses"
        return result


def _arms(state: StudyState, engine: Engine) -> tuple[tuple[ArmStatus, ...], float]:
    """Return the status of each arm, and the threshold by the averages."""
    design, quality = state.design, state.quality
    K = len(design.arms)
    claims = _Claims.of(state, engine)
    pending = _by_arm((arm for arm, _ in state.pending()), K)
    suspect = _by_arm((value.arm for value in quality.suspects.values()), K)
    unsettled = (*quality.told_and_waiting(), *state.waiting_for_controls())
    waiting = _by_arm((state.tickets[n].arm for n in unsettled), K)
    # without a censoring time no value is censored
    timed = quality.processed if design.censor_at is not None else []
    censored = _by_arm((value.arm for value in timed if value.censored), K)
    means = np.where(engine.counts > 0, engine.sums / np.maximum(engine.counts, 1), math.nan)
    labels = engine.label_names()
    asked = np.array([a not in state.withdrawn for a in range(K)])
    guesses = _Guesses.of(design.objective, means, asked, labels, claims)
    arms = tuple(
        ArmStatus(
            arm=design.arms[a],
            label=label,
            guess=guesses.guess.get(a),
            measurements=int(engine.counts[a] + censored[a]),
            pending=int(pending[a]),
            mean=float(means[a]),
            low=float(claims.low[a]),
            high=float(claims.high[a]),
            evidence=float(claims.evidence[a]),
            need=float(claims.need[a]),
            rests_on=claims.rests_on[a],
            on_pool=claims.on_pool[a],
            certified_after=int(claims.certified_after[a]) or None,
            dropped=state.dropped.get(a),
            withdrawn=a in state.withdrawn,
            suspect=int(suspect[a]),
            waiting=int(waiting[a]),
            censored=int(censored[a]),
            remark=guesses.remark.get(a, ""),
            notes=state.arm_notes.get(design.arms[a], {}),
        )
        for a, label in enumerate(labels)
    )
    return arms, guesses.threshold


def _by_arm(arms: Iterable[int], num_arms: int) -> npt.NDArray[np.int64]:
    """Count how often each arm is there."""
    return np.bincount(np.array(list(arms), np.int64), minlength=num_arms)


def _suspect(suspect: Suspect, state: StudyState) -> SuspectValue:
    n, mean = suspect.others
    return SuspectValue(
        ticket=state.design.ticket_id(suspect.number),
        arm=state.design.arms[suspect.arm],
        value=suspect.value,
        others=n,
        mean=mean,
        message=suspect_message(suspect, state),
    )
