"""What is certain in a study, and how far the rest is."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector
from .._internal.cancel import check_cancelled
from .._internal.tables import Table, Tabular, counted, html_table, listed
from ..evidence.intervals import intervals
from ..evidence.spec import POOL
from ..kernels.tally import Tally
from ..models.base import Model, variance
from ..models.gaussian import Gaussian
from ..simulation.environments import Arms
from ..simulation.loop import new_watch, run_loop
from ..strategies.claim_by_claim import ClaimByClaimState
from ..theory.bounds import LowerBounds, lower_bounds
from ..theory.characteristic import characteristic_time
from .design import StudyDesign
from .diagnostics import Checks, ProcessedValue, checks_of, processed_in
from .engine import Label
from .quality import Suspect
from .state import Note, Origin, Outcome, StudyState, Ticket, suspect_message

# Simulated, to say how much is left.  The second shortest and the second longest of 11 are their
# 10 % and 90 % points.
CONTINUATIONS = 11
VERDICTS: dict[Outcome, str] = {
    "running": "Still running",
    "certified": "Every label is certified",
    "budget exhausted": "The budget is exhausted",
    "dropped": "Every arm that is still open has been abandoned",
}
DOUBTFUL = "The measurements do not fit the model, so the guarantee does not hold."
# A continuation is given up after FARTHEST times the measurements so far, or LONGEST measurements.
FARTHEST, LONGEST = 5, 50_000
FORESEEN = 10_000  # arms that take up to half a minute to look ahead; more may take minutes
FEW_PAIRS = 3000  # of near-tied arms, for the lower bound: more take longer, and raise it little


@dataclass(frozen=True)
class ArmStatus:
    """One arm.

    Attributes:
        arm: its name.
        label: certified good, certified bad, or open.
        pulls, pending: number of measurements that count, those in vain included, and of those that
            were asked for.
        mean: the average; nan before the first measurement that was not in vain.
        low, high: an interval.  With probability at least 1 - delta the intervals of all arms hold
            their means at all times.
        evidence, need: the evidence for the label that the averages suggest, and what it must
            reach.
        rests_on: the arm with which it is compared; None if that is the pool, or if there is none.
        on_pool: whether it is compared with the pool.
        certified_after: number of measurements of the whole study when the label was certified;
            None while it is open.
        abandoned: why the arm is not measured any more; None if it still is.
        withdrawn: whether it has left the question, because it was abandoned before its first
            measurement.
        suspect, waiting, censored: number of measurements that are held back, that wait for others,
            and that were given up at the censoring time.
        notes: what was known of the arm beforehand, texts by their headings.
    """

    arm: str
    label: Label
    pulls: int
    pending: int
    mean: float
    low: float
    high: float
    evidence: float
    need: float
    rests_on: str | None
    on_pool: bool
    certified_after: int | None
    dropped: str | None
    withdrawn: bool
    suspect: int
    waiting: int
    censored: int
    notes: dict[str, str]


@dataclass(frozen=True)
class SuspectValue:
    """A value that was told and does not count.

    Attributes:
        ticket, arm, value: whose it is.
        others, mean: how many other values of the arm count, and their average.
        message: why it does not count, in a sentence.
    """

    ticket: str
    arm: str
    value: float
    others: int
    mean: float
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class StudyStatus(Tabular):
    """A study at one moment.  As a table it has one row for each arm.

    Attributes:
        outcome: running; certified (every label is); budget exhausted; or abandoned (every arm with
            an open label is abandoned).  Certified labels hold in any case.
        arms: the status of each arm, in order.
        pulls, pending, failed, corrections: number of measurements that count, that were asked for,
            that failed and that were corrected.
        suspects: values that do not count until somebody confirms or corrects them.
        waiting: number of measurements that wait until earlier tickets are settled.
        waits_for: the ticket that they wait for first; None if none do.
        budget: how many measurements may be made; None if there is no limit.
        max_new_arms: how many arms may still be added.
        notes: remarks, from the first.
        origin: the study from which this one was copied, if it was.  The risk of that study comes
            on top of delta.
        events, time: number of events, and when the status was made (seconds since 1970).
        delta, wording, model: the risk, what a good arm is, and the model of the arms of the
            question.
    """

    name: str
    outcome: Outcome
    arms: tuple[ArmStatus, ...]
    pulls: int
    pending: int
    failed: int
    corrections: int
    suspects: tuple[SuspectValue, ...]
    waiting: int
    waits_for: Ticket | None
    budget: int | None
    max_new_arms: int
    notes: tuple[Note, ...]
    origin: Origin | None
    events: int
    time: float
    delta: float
    wording: str
    model: Model
    _run: tuple[ClaimByClaimState, Tally] | None
    _design: StudyDesign
    _processed: ProcessedValue

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= 60 else f"{self.name[:57]}..."
        labels = f"{len(self.good)} good, {len(self.bad)} bad, {len(self.open)} open"
        return f"StudyStatus({name!r}, {self.outcome}: {labels}; {self.pulls:,} measurements)"

    def _repr_html_(self) -> str:
        shown = ("arm", "label", "pulls", "pending", "mean", "low", "high", "evidence", "need")
        columns = self.table().columns
        return html_table(repr(self), {key: columns[key] for key in shown})

    def table(self) -> Table:
        """One row for each arm, with what ``ArmStatus`` holds; notes have a column each."""
        rows = [asdict(one) for one in self.arms]
        notes = [row.pop("notes") for row in rows]
        return Table.of_rows(
            row | {f"note: {heading}": text for heading, text in texts.items()}
            for row, texts in zip(rows, notes, strict=True)
        )

    @property
    def good(self) -> list[str]:
        return [one.arm for one in self.arms if one.label == "good"]

    @property
    def bad(self) -> list[str]:
        return [one.arm for one in self.arms if one.label == "bad"]

    @property
    def open(self) -> list[str]:
        return [one.arm for one in self.arms if one.label == "open" and not one.withdrawn]

    @property
    def verdict(self) -> str:
        """Where the study stands, in a sentence."""
        arms = sum(not one.withdrawn for one in self.arms)
        labels = f"{len(self.good):,} good, {len(self.bad):,} bad, {len(self.open):,} open"
        after = f"{counted(arms, 'arm')} after {counted(self.pulls, 'measurement')}"
        said = (f"{VERDICTS[self.outcome]}: {labels}, of {after}.", *self.warnings)
        return "  ".join(said)

    @property
    def warnings(self) -> list[str]:
        """Why certified labels should not be trusted, in sentences; empty if nothing shows that."""
        found = [DOUBTFUL] if self.checks.doubts else []
        names = self.contradicted
        if names:
            labels = counted(
                len(names), "certified label contradicts", "certified labels contradict"
            )
            found.append(
                f"{labels} what is known now ({listed(names)}): a value or the model is wrong, or "
                f"this is the case that has a probability of at most {self.delta:g}."
            )
        return found

    @property
    def contradicted(self) -> list[str]:
        """Certified arms for whose other label there is enough evidence now."""
        return [
            one.arm
            for one, looks in self._looks
            if one.label == ("bad" if looks else "good") and one.evidence >= one.need
        ]

    @property
    def looks_good(self) -> list[str]:
        """Open arms that are good if the averages are the means: the best guess, no guarantee."""
        return self._looking(True)

    @property
    def looks_bad(self) -> list[str]:
        """Open arms that are bad if the averages are the means: the best guess, no guarantee."""
        return self._looking(False)

    def _looking(self, good: bool) -> list[str]:
        found = self._looks
        return [one.arm for one, looks in found if one.label == "open" and looks == good]

    @cached_property
    def _looks(self) -> list[tuple[ArmStatus, bool]]:
        """Each arm with an average, and whether it is good if the averages are the means."""
        known = [one for one in self.arms if not (one.withdrawn or math.isnan(one.mean))]
        if not known:
            return []
        answer = self._design.objective.answer([one.mean for one in known])
        return list(zip(known, answer.tolist(), strict=True))

    @cached_property
    def checks(self) -> Checks:
        """Whether sigma, the model and the plates fit the model; ``checks.sentences`` says what
        not.

        This changes no label.
        """
        return checks_of(self._processed, self._design.model, len(self._design.arms))

    @property
    def lower_bound(self) -> float | None:
        """Lower bound on the expected number of measurements if the averages were the true means.

        It holds for every strategy with this risk.  None before every arm has a measurement, where
        there is no such bound, or if an average is on the threshold; and with more than
        ``FORESEEN`` arms, where it may take minutes.
        """
        return None if self._bounds is None else self._bounds.best

    @property
    def lower_bound_gap(self) -> float | None:
        """The lower bound, worked out exactly, would be at most this part higher."""
        return None if self._bounds is None else self._bounds.gap

    @property
    def lower_bound_remark(self) -> str | None:
        """A sentence if the lower bound may be loose, or takes too long to compute; else None."""
        if len(self.arms) > FORESEEN:
            return (
                f"With more than {FORESEEN:,} arms a lower bound and a forecast may take minutes, "
                "so neither is given."
            )
        return None if self._bounds is None else self._bounds.remark

    @cached_property
    def _bounds(self) -> LowerBounds | None:
        if self._run is None or len(self.arms) > FORESEEN:
            return None
        model = self._stand_in()
        if not model.exact:
            return None
        means = self._inside(self._run[1].means)
        objective = self._design.objective
        time = characteristic_time(means, objective, model, rtol=1e-3, max_pairs=FEW_PAIRS)
        bounds = lower_bounds(means, objective, self.delta, model, characteristic=time)
        return bounds if 0.0 < bounds.best < math.inf else None

    @cached_property
    def left(self) -> tuple[float, float] | None:
        """How many measurements may still be needed, one at a time: the 10 % and the 90 % point.

        This is a forecast, not a guarantee.  It comes from simulated continuations.  Their means
        are drawn around the averages, as widely as these are uncertain.  They assume that every arm
        can be measured and ignore the budget.  inf stands for a continuation that was given up.
        None before every arm has a measurement, where nothing more is asked for, and with more than
        ``FORESEEN`` arms.
        """
        if self.outcome == "certified":
            return 0.0, 0.0
        if self._run is None or self.outcome != "running" or len(self.arms) > FORESEEN:
            return None
        rule, tally = self._run
        pulls, model = tally.pulls, self._stand_in()
        limit = pulls + min(FARTHEST * max(pulls, 10 * tally.size), LONGEST)
        more = []
        for i in range(CONTINUATIONS):
            check_cancelled()
            rng = np.random.default_rng(np.random.SeedSequence(self._design.seed, spawn_key=(i,)))
            noise = rng.standard_normal(tally.size) * self._errors()
            means = self._inside(tally.means + noise)
            sampler = Arms(means, model).start(model, rng)
            imagined, ahead = rule.copy(), tally.copy()
            run_loop(imagined, sampler, ahead, limit, new_watch(tally.size))
            more.append(ahead.pulls - pulls if imagined.done else math.inf)
        more.sort()
        return float(more[1]), float(more[-2])

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        low, high = self.left or (None, None)
        return self.facts() | {
            "arms": [asdict(one) for one in self.arms],
            "looks_good": self.looks_good,
            "looks_bad": self.looks_bad,
            "contradicted": self.contradicted,
            "lower_bound": self.lower_bound,
            "lower_bound_gap": self.lower_bound_gap,
            "lower_bound_remark": self.lower_bound_remark,
            "left": None if self.left is None else {"low": low, "high": high},
        }

    def facts(self) -> dict[str, Any]:
        """What takes no time to compute, for JSON; the arms as they are."""
        known = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        known.pop("left", None)  # there once it was computed
        return known | {
            "model": self.model.to_dict(),
            "suspects": [asdict(one) for one in self.suspects],
            "notes": [asdict(one) for one in self.notes],
            "origin": None if self.origin is None else asdict(self.origin),
            "waits_for": None if self.waits_for is None else asdict(self.waits_for),
            "checks": self.checks.to_dict(),
        }

    @property
    def typical_sigma(self) -> float:
        """Standard deviation of rewards around their arm's average; 1 before there are enough."""
        if self._run is None:
            return 1.0
        tally = self._run[1]
        spread = float(tally.scatter.sum()) / max(tally.pulls - tally.size, 1)
        return math.sqrt(spread) or 1.0

    def _stand_in(self) -> Model:
        """The model, with the estimated noise where it is unknown."""
        assert self._run is not None
        if self.model.noise_known:
            return self.model
        tally = self._run[1]
        own = np.sqrt(tally.scatter / np.maximum(tally.counts - 1, 1))
        return Gaussian(np.where(own > 0.0, own, self.typical_sigma))

    def _inside(self, means: Vector) -> Vector:
        """Means inside the model's range: averages at its ends move in by half a measurement."""
        assert self._run is not None
        low, high = self.model.range
        counts, width = self._run[1].counts, min(high - low, 1.0)
        margin = 0.5 * width / (counts + 1.0)
        return np.clip(means, low + margin, high - margin)

    def _errors(self) -> Vector:
        """The standard error of each average."""
        assert self._run is not None
        tally = self._run[1]
        model, means = self._stand_in(), self._inside(tally.means)
        if model.normal:
            variances = model.sigmas(means.size) ** 2
        else:
            variances = np.array([variance(model, x) for x in means])
        errors: Vector = np.sqrt(variances / tally.counts)
        return errors


def stamp(time: float) -> str:
    """A time in seconds since 1970, as people read it."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return f"{time:g} s since 1970"


def _by_arm(arms: Iterable[int], num_arms: int) -> npt.NDArray[np.int64]:
    """How often each arm is there."""
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


def status_of(state: StudyState, name: str, now: float) -> StudyStatus:
    """The status of a study with these events."""
    design, engine = state.design, state.current_engine()
    K = len(design.arms)
    quality = state.quality
    waiting = [state.tickets[number].arm for number in quality.told_and_waiting()]
    pending = _by_arm((arm for arm, _ in state.pending()), K)
    held = _by_arm((one.arm for one in quality.suspects.values()), K)
    waits = _by_arm(waiting, K)
    timed = (
        quality.processed if design.censor_at is not None else []
    )  # no others are waited in vain
    censored = _by_arm((value.arm for value in timed if value.censored), K)
    blocking = quality.blocking()
    evidence, need, after = np.zeros(K), np.full(K, math.nan), np.zeros(K, np.int64)
    rests_on: list[str | None] = [None] * K
    on_pool = [False] * K
    low, high = np.full(K, -math.inf), np.full(K, math.inf)
    means = np.where(engine.counts > 0, engine.sums / np.maximum(engine.counts, 1), math.nan)
    if engine.has_started():
        claims, arms, tally = engine.claims(), engine.arms, engine.tally
        evidence[arms], need[arms], after[arms] = claims.evidence, claims.need, engine.certified_at
        variances = tally.scatter / tally.counts if not engine.model.noise_known else None
        # with places for new arms, each place has its share of the risk from the start
        share = arms.size / design.places if design.max_new_arms else 1.0
        ends = intervals(
            tally.counts,
            tally.means,
            share * design.risk_of_labels,
            engine.question_model(),
            variances=variances,
        )
        low[arms], high[arms] = ends
        for i, arm in enumerate(arms):
            rival = claims.rival[i]
            on_pool[arm] = bool(rival == POOL)
            if rival != POOL and (rival != i or design.objective.factor < 1.0):
                rests_on[arm] = design.arms[arms[rival]]
    return StudyStatus(
        name=name,
        outcome=state.outcome(),
        arms=tuple(
            ArmStatus(
                arm=design.arms[a],
                label=label,
                pulls=int(engine.counts[a] + censored[a]),
                pending=int(pending[a]),
                mean=float(means[a]),
                low=float(low[a]),
                high=float(high[a]),
                evidence=float(evidence[a]),
                need=float(need[a]),
                rests_on=rests_on[a],
                on_pool=on_pool[a],
                certified_after=int(after[a]) or None,
                dropped=state.dropped.get(a),
                withdrawn=a in state.withdrawn,
                suspect=int(held[a]),
                waiting=int(waits[a]),
                censored=int(censored[a]),
                notes=state.arm_notes.get(design.arms[a], {}),
            )
            for a, label in enumerate(engine.label_names())
        ),
        pulls=int(engine.counts.sum() + censored.sum()),
        pending=int(pending.sum()),
        failed=state.failed,
        corrections=state.corrections,
        suspects=tuple(_suspect(one, state) for one in quality.suspects.values()),
        waiting=len(waiting),
        waits_for=None if blocking is None else state.public_ticket(state.tickets[blocking]),
        budget=design.budget,
        max_new_arms=0 if design.added else design.max_new_arms,
        notes=tuple(state.notes),
        origin=state.origin,
        events=state.seq,
        time=now,
        delta=design.delta,
        wording=design.objective.wording,
        model=engine.question_model(),
        _run=(engine.rule.copy(), engine.tally.copy()) if engine.has_started() else None,
        _design=design,
        _processed=processed_in(state),
    )
