"""Does the model fit what was told?  Tests of sigma, of values that repeat, and of drift.

They warn and change nothing.  Each says how often it warns without cause, however often one looks.

A study chooses its arms by what it has seen.  An arm that was lucky is measured again, and then
gives less.  So a value is *not* centred at the average of those before it, and the usual tests, of
residuals about such averages, fail: with 60 equal arms of which the better half is measured twice
more, a test of the second plate at 1 % warns of drift four times out of five.  What is true
whatever chooses the arms is said with the means mu in place of averages.  Values are in units of
the stated sigma of their arm: x_j of arm a has mean mu_a.  N_a is the number of values of arm a,
N their sum, m_a their average and Q_a their scatter about it.

**Sigma too small.**  For theta > 1

    E(theta) = theta^(-N/2) exp((1 - 1/theta) sum_j (x_j - mu)^2 / 2)

is a supermartingale started at 1 if rewards are normal, or sub-Gaussian, with the stated sigma,
for then E exp(lam (x - mu)^2 / 2) <= (1 - lam)^(-1/2).  The scatter Q = sum_a Q_a is at most the
sum of squares, so with Q in its place E(theta) is smaller.  Its average over theta reaches 1/alpha
with probability at most alpha, ever (Ville).

**Sigma too large.**  For theta < 1 and normal rewards, let an arm's first value be given.  Predict
each later one from the average of those before it, with theta in the place of the variance, and
divide by the largest likelihood that any mean gives these values:

    E(theta) = theta^(-(N - K)/2) prod_a N_a^(-1/2) exp((sum_a Q'_a - Q/theta) / 2),

Q'_a being the scatter without the arm's first value, and K the number of arms that have values.

**A drift of arms.**  A plate p is compared with the plates before it.  Let an arm have M values of
average m on those, and let y_j be its j-th value on p.  For rewards that are normal or sub-Gaussian
with the stated sigma, and any mu, b_j = M / (M + j), rho > 0 and any shift s,

    sqrt(rho/(M + rho)) exp(A (m - mu)^2 / 2)  prod_j exp(s b_j (y_j - mu) - s^2 b_j^2 / 2),

A = M^2 / (M + rho), is a supermartingale started at 1: the first factor is an average of
likelihood ratios over a normal effect, and b_j is known before y_j is.  So is the product over
arms.  The least over mu, averaged over a standard normal s, is

    E(rho) = exp(-C) (1 + V)^(-1/2) exp(D^2 / (2 (1 + V))),

    C = sum_a log(1 + M/rho)/2,  D = sum_a sum_j b_j (y_j - m),
    V = sum_a (sum_j b_j^2 + (sum_j b_j)^2 / A).

Its average over rho is compared with p (p - 1)/alpha for the p-th plate; these risks sum to alpha.

**A drift of controls.**  Controls are not chosen by what was seen.  So a plate's average is
compared with that of all plates before by Student's test, with the scatter within plates, at the
level alpha/(p (p - 1)).  That is for normal values.  A plate is looked at once: when all its wells
of this control have a value, or a later plate has one.

Controls share the risk.  Those of the first plate that has any have AT_FIRST of it in equal parts.
The g-th plate that brings new ones, g >= 2, has (1 - AT_FIRST)/(g (g - 1)) of it for them.  So each
control has its part when it is laid out and keeps it, and all parts together are at most 1.  (To
divide by the number of controls so far would spend the risk more than once: an earlier control has
run a larger risk by then.)

**Repeats.**  A normal value, rounded to at most a quarter of its sigma, is one of any k numbers
with probability at most P_k = P(|Z| < k/8).  Bet that the next value is one of the k most frequent
so far: a stake becomes q/P_k times itself if it is, and (1 - q)/(1 - P_k) times if not, q > P_k.
On average it does not grow.  So it ever reaches 1/alpha with probability at most alpha.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector
from .._internal.results import NullableFloat, ResultData
from .._internal.statistics import crossing, student_quantile, student_tail
from ..models.base import Model
from ..models.gaussian import Gaussian
from .state import StudyState

Integers = npt.NDArray[np.int64]
Verdict = Literal["too small", "too large", ""]

SIGMA_RISK = 0.005  # that a right sigma is ever called too small; the same for too large
REPEATS_RISK = 0.01
DRIFT_RISK = 0.01  # of all tests of drift together
AT_FIRST = 0.9  # of the risk of controls: for those of the first plate
OF_ARMS = 0.2  # the share of the arms' test in it, which a smaller share hurts least
SLIPS = 2  # so many suspect values may be slips; more are taken in, as the model may be wrong
MATTERS = 0.7  # a sigma that is too large is reported if the values scatter less than this
SURE = 0.95  # of the intervals shown

# True over stated sigma, and precisions of effects: what the averages are over.
LARGER = np.array([1.01, 1.02, 1.04, 1.08, 1.16, 1.32, 1.64, 2.3, 3.6]) ** 2
SMALLER = 1.0 / LARGER
RHO = np.array([2.0, 8.0, 32.0, 128.0, 512.0])

# Bets on repeats: sizes k, and the part of the rest of the probability that they leave.
SIZES, LEFT = (2, 5, 10), (0.5, 0.125)
FIRST = 5  # values before the first bet


@dataclass(frozen=True)
class SigmaCheck(ResultData):
    """How far values scatter, as a multiple of the stated sigma.

    Attributes:
        multiple: the estimate.
        low, high: an interval.  Each end is right at all times with probability at least 0.975;
            the upper one for normal rewards only.
        values: how many there are beyond the first of each arm.
        verdict: "too small" or "too large" is what the stated sigma is; "" if nothing is to say.
    """

    multiple: float
    low: float
    high: NullableFloat
    values: int
    verdict: Verdict

    @property
    def sentence(self) -> str:
        """What is wrong with sigma, and what that means; empty if nothing is."""
        if not self.verdict:
            return ""
        upper = "or more" if math.isinf(self.high) else f"to {self.high:.3g}"
        meaning = {
            "too small": "The guarantee does not hold with it.  Begin a new study with a larger "
            "sigma, or with an unknown one.",
            "too large": "The guarantee holds, but the study needs more measurements than with a "
            "right sigma.",
        }[self.verdict]
        assumed = " and measurements are normal" if self.verdict == "too large" else ""
        return (
            f"Sigma is {self.verdict}: measurements of an arm scatter {self.multiple:.3g} times as "
            f"much as it says ({self.low:.3g} {upper} times, from {self.values:,} values).  "
            f"{meaning}  If sigma is right{assumed}, the chance of ever seeing this sentence is at "
            f"most 1 in {1.0 / SIGMA_RISK:.0f}."
        )


@dataclass(frozen=True)
class Scatter:
    """What the tests of sigma rest on; values are in units of the stated sigma.

    Attributes:
        N, K: number of values, and of arms that have any.
        Q: the scatter about the averages of arms.
        rest: the same without each arm's first value, the sum of the Q'.
        toll: log prod_a N_a^(1/2).
    """

    N: int
    K: int
    Q: float
    rest: float
    surcharge: float

    @staticmethod
    def of(arms: Integers, x: Vector) -> "Scatter":
        """``arms`` holds the arm of each value, in the order of telling."""
        _, first, arm, N = np.unique(
            arms, return_index=True, return_inverse=True, return_counts=True
        )
        m = np.bincount(arm, x) / N
        Q = float(((x - m[arm]) ** 2).sum())
        of_first = float((N / np.maximum(N - 1, 1) * (x[first] - m) ** 2).sum())
        surcharge = 0.5 * float(np.log(N).sum())
        return Scatter(x.size, N.size, Q, max(Q - of_first, 0.0), surcharge)

    def too_small(self, s: float) -> float:
        """Evidence that s times the stated sigma is too small, as a logarithm.  Falls with s."""
        theta, Q = LARGER, self.Q / s / s
        return _log_average(-0.5 * self.N * np.log(theta) + 0.5 * (1.0 - 1.0 / theta) * Q)

    def too_large(self, s: float) -> float:
        """Evidence that s times the stated sigma is too large, as a logarithm.  Grows with s."""
        theta, Q, rest = SMALLER, self.Q / s / s, self.rest / s / s
        logs = -0.5 * (self.N - self.K) * np.log(theta) + 0.5 * (rest - Q / theta)
        return _log_average(logs) - self.surcharge


def check_sigma(arms: Integers, values: Vector, sigmas: Vector) -> SigmaCheck | None:
    """Whether values scatter as their sigmas say; None before any arm has two values.

    Args:
        arms: the arm of each value, in the order of telling.
        values: the values.
        sigmas: the stated standard deviation of each arm.
    """
    seen = Scatter.of(arms, values / sigmas[arms])
    if seen.N == seen.K:
        return None
    multiple = math.sqrt(seen.Q / (seen.N - seen.K))
    need, alarm = -math.log(0.5 * (1.0 - SURE)), -math.log(SIGMA_RISK)
    low, high = 0.0, math.inf
    if seen.Q > 0.0:
        low = multiple * crossing(lambda u: need - seen.too_small(multiple * u))
        if seen.too_large(math.inf) > need:
            high = multiple / crossing(lambda u: need - seen.too_large(multiple / u))
    verdict: Verdict = ""
    if seen.too_small(1.0) >= alarm:
        verdict = "too small"
    elif seen.too_large(1.0) >= alarm and multiple < MATTERS:
        verdict = "too large"
    return SigmaCheck(multiple, low, high, seen.N - seen.K, verdict)


def _log_average(logs: Vector) -> float:
    """The logarithm of the average of the numbers with these logarithms."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).mean()))


def repeats(values: Iterable[float], model: Model) -> str:
    """What to say of values that repeat as normal ones cannot; empty if they do not.

    Values are in the order of telling.  With a known sigma only if that is below half of their
    range: values between two limits are sub-Gaussian with half of the distance as sigma.
    """
    told = [float(value) for value in values]
    if not told or not isinstance(model, Gaussian):
        return ""
    low, high = min(told), max(told)
    if model.sigma is not None and 0.5 * (high - low) <= np.min(model.sigma):
        return ""
    if repeats_evidence(told) < -math.log(REPEATS_RISK):
        return ""
    seen = Counter(told)
    value, times = seen.most_common(1)[0]
    found = f"{len(seen):,} different ones among {len(told):,}"
    if len(seen) > max(SIZES):
        found = f"{value:g} was told {times:,} times in {len(told):,}"
    return (
        f"Values repeat as normal ones cannot: {found}.  {_fitting(seen, low, high)}  If values "
        "are normal, and rounded to a quarter of their standard deviation at most, the chance of "
        f"ever seeing this is at most 1 in {1.0 / REPEATS_RISK:.0f}."
    )


def _fitting(seen: Mapping[float, int], low: float, high: float) -> str:
    """The model that fits such values, as advice."""
    bounded = (
        "Bounded(low, high) with the least and the largest value that can occur "
        f"(so far {low:g} and {high:g})"
    )
    if set(seen) <= {0.0, 1.0}:
        return "The model of values that are 0 or 1 is Bernoulli()."
    if len(seen) == 2:
        return f"If only {low:g} and {high:g} can occur, tell 0 and 1 instead, with Bernoulli()."
    if low >= 0.0 and all(value == math.floor(value) for value in seen):
        return f"If they are counts, use Poisson(); else {bounded}."
    return f"If they were rounded, tell more digits; else use {bounded}."


def repeats_evidence(values: Sequence[float]) -> float:
    """The logarithm of what the bets on repeats have won.

    Each next value may be one of the k most frequent before it.  Of equally frequent ones those
    count first that became so first.
    """
    most = max(SIZES)
    seen: Counter[float] = Counter()
    top: list[float] = []  # the most frequent
    met = np.zeros((most + 1, most + 1), np.int64)  # by the number of these, and place among them
    times, once = Counter(values), 0
    for i, value in enumerate(values):
        # A value that comes once is never one of ``top``, nor becomes one once that is full.
        if times[value] == 1 and len(top) == most:
            once += i >= FIRST
            continue
        place = top.index(value) if value in top else most
        if i >= FIRST:
            met[len(top), place] += 1
        seen[value] += 1
        if place < most:
            del top[place]
        elif len(top) == most and seen[value] <= seen[top[-1]]:
            continue
        ahead = sum(seen[other] >= seen[value] for other in top)
        top.insert(ahead, value)
        del top[most:]
    met[most, most] += once
    return _log_average(np.array([(met * bet).sum() for bet in _bets()]))


def _bets() -> list[Vector]:
    """What each bet multiplies its stake by, as logarithms; see ``met`` above."""
    bets = []
    place = np.arange(max(SIZES) + 1)
    for k in SIZES:
        size = np.minimum(np.maximum(place, 1), k)[:, None]
        P = np.array([math.erf(i / 8.0 / math.sqrt(2.0)) for i in range(k + 1)])[size]
        for left in LEFT:
            q = 1.0 - left * (1.0 - P)
            bets.append(np.log(np.where(place < size, q / P, left)))
    return bets


@dataclass(frozen=True)
class ControlOnPlate(ResultData):
    """One control on one plate.

    Attributes:
        n, mean: number of values, and their average.
        low, high: the interval of Student's distribution, 95 %, with the scatter within the plates
            so far; None where no plate has two values.
        before: the average on all earlier plates; None on the first.
        chance: of so large a difference from it without drift; None where there is no test.
        drifts: whether that is too small to be chance.
    """

    n: int
    mean: float
    low: float | None = None
    high: float | None = None
    before: float | None = None
    chance: float | None = None
    drifts: bool = False


@dataclass(frozen=True)
class ArmsOnPlate(ResultData):
    """What the arms on one plate gave beyond their averages on earlier plates, in sigmas.

    Attributes:
        shift: the estimate.
        low, high: an interval.  For each plate it is right at all times with probability at least
            0.95.
        chance: a bound on the chance of such values without drift.
        drifts: whether that is too small to be chance.
    """

    shift: float
    low: NullableFloat
    high: NullableFloat
    chance: float
    drifts: bool


@dataclass(frozen=True)
class PlateCheck(ResultData):
    """One plate.

    Attributes:
        plate: its number, that of its batch.
        time: of its first value, in seconds since 1970.
        n: number of values of arms.
        arms: None on the first plate, if no arm was on an earlier one, or if the model of the
            rewards gives no sigma.
        controls: by name.
    """

    plate: int
    time: float
    n: int
    arms: ArmsOnPlate | None
    controls: dict[str, ControlOnPlate]


@dataclass(frozen=True)
class ProcessedValue:
    """What was told, in the order of telling.

    Attributes:
        arms, values, times: of each value that counts.
        plates: the plate of each; 0 for none.
        controls: plate, name, value and time of each control.
        wells: how many wells a control has on a plate, by plate and name.
    """

    arms: Integers
    values: Vector
    times: Vector
    plates: Integers
    controls: tuple[tuple[int, str, float, float], ...] = ()
    wells: Mapping[tuple[int, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Contrast:
    """A plate against those before: D, the sum of b, and C and V for each rho."""

    D: float
    weight: float
    C: Vector
    V: Vector

    def evidence(self, shift: float) -> float:
        """Against a drift of just so many sigmas, as a logarithm."""
        D = self.D - shift * self.weight
        return _log_average(D * D / (2.0 * (1.0 + self.V)) - 0.5 * np.log1p(self.V) - self.C)

    def reach(self, need: float) -> float:
        """How far on both sides of D / weight the evidence is less than ``need``."""
        middle = self.D / self.weight
        u = crossing(lambda u: self.evidence(middle + u / (1.0 - u)) - need)
        return u / (1.0 - u)


def arms_drift(
    plates: Integers, arms: Integers, values: Vector, sigmas: Vector, risk: float
) -> dict[int, ArmsOnPlate]:
    """Whether the arms of a plate, all together, differ from what they gave on earlier plates.

    Args:
        plates: the plate of each value, in the order of telling.
        arms, values: arm and value.
        sigmas: the stated standard deviation of each arm.
        risk: that any plate is ever said to drift although none does.
    """
    order = np.argsort(arms, kind="stable")  # by arm, each arm's values in the order of telling
    arm, x = arms[order], (values / sigmas[arms])[order]
    numbers, first, index = np.unique(plates, return_index=True, return_inverse=True)
    p = np.argsort(np.argsort(first))[index][order] + 1  # the first plate told is number 1
    found = {}
    for i in range(2, numbers.size + 1):
        contrast = contrast_of(p, i, arm, x, sigmas.size)
        if contrast is None:
            continue
        shift, evidence = contrast.D / contrast.weight, contrast.evidence(0.0)
        reach = contrast.reach(-math.log(1.0 - SURE))
        found[int(numbers[np.argsort(first)[i - 1]])] = ArmsOnPlate(
            shift=shift,
            low=shift - reach,
            high=shift + reach,
            chance=math.exp(min(-evidence, 0.0)),
            drifts=evidence >= math.log(i * (i - 1) / risk),
        )
    return found


def contrast_of(p: Integers, plate: int, arm: Integers, x: Vector, K: int) -> Contrast | None:
    """Plate number ``plate`` against the earlier ones; None if they have no arm in common.

    Values are sorted by arm.
    """
    begin = np.searchsorted(arm, arm)
    M = _so_far(p < plate, begin)
    here = (p == plate) & (M > 0)
    if not here.any():
        return None
    b = np.where(here, M / np.maximum(M + _so_far(here, begin), 1), 0.0)
    before = np.where(p < plate, 1.0, 0.0)
    N, b_sum = np.bincount(arm, before, K), np.bincount(arm, b, K)
    m = np.bincount(arm, before * x, K) / np.maximum(N, 1.0)
    N, b_sum = N[N > 0.0, None], b_sum[N > 0.0, None]
    return Contrast(
        D=float((b * (x - m[arm])).sum()),
        weight=float(b.sum()),
        C=0.5 * np.log1p(N / RHO).sum(axis=0),
        V=(b * b).sum() + (b_sum**2 * (N + RHO) / N**2).sum(axis=0),
    )


def _so_far(mask: npt.NDArray[np.bool_], begin: Integers) -> Integers:
    """How many places of the mask there are from where the arm begins up to each, inclusive."""
    total = np.concatenate([[0], np.cumsum(mask)])
    counts: Integers = total[1:] - total[begin]
    return counts


def control_drift(
    samples: Sequence[Sequence[float]], risk: float, tested: Sequence[bool] | None = None
) -> list[ControlOnPlate]:
    """Whether one control differs from plate to plate.

    Args:
        samples: its values on each plate, in the order of plates.
        risk: that any plate is said to drift although none does.
        tested: which plates are ready to be tested; all by default.
    """
    rows = []
    n_before, mean_before, scatter, freedom = 0, 0.0, 0.0, 0
    for p, sample in enumerate(samples, start=1):
        n, mean = len(sample), float(np.mean(sample))
        scatter += float(np.sum((np.asarray(sample) - mean) ** 2))
        freedom += n - 1
        s_w = math.sqrt(scatter / freedom) if freedom else 0.0
        row = ControlOnPlate(n, mean, before=mean_before if n_before else None)
        if s_w > 0.0:
            reach = student_quantile(1.0 - SURE, freedom) * s_w / math.sqrt(n)
            row = replace(row, low=mean - reach, high=mean + reach)
        if s_w > 0.0 and n_before and (tested is None or tested[p - 1]):
            t = (mean - mean_before) / (s_w * math.sqrt(1.0 / n + 1.0 / n_before))
            chance = student_tail(t, freedom)
            row = replace(row, chance=chance, drifts=chance <= risk / (p * (p - 1)))
        rows.append(row)
        n_before += n
        mean_before += (mean - mean_before) * n / n_before
    return rows


def parts_of_controls(wells: Iterable[tuple[int, str]]) -> dict[str, float]:
    """The part of the risk that each control has, from the plates and names of controls."""
    first: dict[str, int] = {}
    for plate, name in sorted(wells):
        first.setdefault(name, plate)
    new = Counter(first.values())
    order = {plate: g for g, plate in enumerate(sorted(new), start=1)}
    of_plate = {
        plate: AT_FIRST if g == 1 else (1.0 - AT_FIRST) / (g * (g - 1))
        for plate, g in order.items()
    }
    return {name: of_plate[plate] / new[plate] for name, plate in first.items()}


def check_plates(processed: ProcessedValue, sigmas: Vector | None) -> tuple[PlateCheck, ...]:
    """Every plate that has a value, in the order of their first values.

    ``sigmas`` is None if the model of the rewards gives none; then only controls are tested.
    """
    on_plate = processed.plates > 0
    times: dict[int, float] = {}
    told = zip(processed.plates[on_plate].tolist(), processed.times[on_plate].tolist(), strict=True)
    for plate, time in [*told, *((plate, time) for plate, _, _, time in processed.controls)]:
        times[plate] = min(time, times.get(plate, math.inf))
    samples: dict[str, dict[int, list[float]]] = {}
    for plate, name, value, _ in processed.controls:
        samples.setdefault(name, {}).setdefault(plate, []).append(value)
    of_arms = OF_ARMS if sigmas is not None else 0.0
    arms: dict[int, ArmsOnPlate] = {}
    if sigmas is not None:
        given = processed.plates[on_plate], processed.arms[on_plate], processed.values[on_plate]
        arms = arms_drift(*given, sigmas, DRIFT_RISK * of_arms)
    controls: dict[int, dict[str, ControlOnPlate]] = {plate: {} for plate in times}
    parts = parts_of_controls(processed.wells)
    for name, by_plate in samples.items():
        last = list(by_plate)[-1]
        tested = [
            plate != last or len(sample) >= processed.wells[plate, name]
            for plate, sample in by_plate.items()
        ]
        risk = DRIFT_RISK * (1.0 - of_arms) * parts[name]
        rows = control_drift(list(by_plate.values()), risk, tested)
        for plate, row in zip(by_plate, rows, strict=True):
            controls[plate][name] = row
    n = Counter(processed.plates.tolist())
    return tuple(
        PlateCheck(plate, times[plate], n[plate], arms.get(plate), controls[plate])
        for plate in sorted(times, key=lambda plate: (times[plate], plate))
    )


@dataclass(frozen=True)
class Checks(ResultData):
    """Whether the model fits what was told.

    Attributes:
        sigma: None unless the model is Gaussian(sigma) and an arm has two values.
        repeats: what is to say of values that repeat; empty if nothing is.
        plates: every plate that has a value, in the order of their first values.
        with_arms: whether plates are also compared by the values of arms.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentences",)
    sigma: SigmaCheck | None
    repeats: str
    plates: tuple[PlateCheck, ...]
    with_arms: bool

    @property
    def drift(self) -> tuple[str, ...]:
        """What differs from plate to plate, a sentence each, and how sure that is."""
        found = []
        for row in self.plates:
            for name, control in row.controls.items():
                if control.drifts:
                    assert control.high is not None
                    assert control.before is not None
                    found.append(
                        f"Plate {row.plate}: control {name} is {control.mean:.4g} +- "
                        f"{control.high - control.mean:.2g}, against {control.before:.4g} on the "
                        f"plates before; {_odds(control.chance)}."
                    )
            if row.arms is not None and row.arms.drifts:
                found.append(
                    f"Plate {row.plate}: arms give {abs(row.arms.shift):.2g} sigmas "
                    f"{'more' if row.arms.shift > 0.0 else 'less'} than on the plates before "
                    f"({row.arms.low:.2g} to {row.arms.high:.2g}); "
                    f"{_odds(row.arms.chance)}."
                )
        if found:
            found.append(
                "The guarantee is for means that do not change.  If sigma is right and controls "
                "are normal, the chance that a study without drift is ever told of one is at most "
                f"1 in {1.0 / DRIFT_RISK:.0f}."
            )
        return tuple(found)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is to say; empty if the model fits."""
        sigma = self.sigma.sentence if self.sigma else ""
        return tuple(sentence for sentence in (sigma, self.repeats, *self.drift) if sentence)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Those of the sentences with which the guarantee does not hold.

        A sigma that is too large costs measurements and nothing else.
        """
        if self.sigma is None or self.sigma.verdict != "too large":
            return self.sentences
        return tuple(one for one in self.sentences if one != self.sigma.sentence)


def _odds(chance: float | None) -> str:
    """A small chance in words, rounded up to a power of ten."""
    assert chance is not None
    power = min(int(-math.log10(max(chance, 1e-300))), 6)
    return f"without drift the chance of this is at most 1 in {10**power:,}"


def checks_of(processed: ProcessedValue, model: Model, num_arms: int) -> Checks:
    """Every check that the model of the rewards allows."""
    sigmas: Vector | None = model.sigmas(num_arms) if model.sub_gaussian else None
    sigma = None
    if isinstance(model, Gaussian) and sigmas is not None:
        sigma = check_sigma(processed.arms, processed.values, sigmas)
    return Checks(
        sigma=sigma,
        repeats=repeats(processed.values.tolist(), model),
        plates=check_plates(processed, sigmas),
        with_arms=sigmas is not None,
    )


def processed_in(state: StudyState) -> ProcessedValue:
    """What a ledger holds for the checks."""
    quality = state.quality
    processed = [one for one in quality.processed if one.n == 1]
    if len(quality.suspects) > SLIPS:
        processed = sorted(
            [*processed, *quality.held_back()], key=lambda one: (one.time, one.number)
        )
    tickets = [state.tickets[one.number] for one in processed]
    return ProcessedValue(
        arms=np.array([ticket.arm for ticket in tickets], np.int64),
        values=np.array([ticket.value for ticket in tickets], np.float64),
        times=np.array([one.time for one in processed]),
        plates=np.array([ticket.batch if ticket.well else 0 for ticket in tickets], np.int64),
        controls=tuple(
            (batch, one.name, one.value, one.time) for (batch, _), one in state.controls.items()
        ),
        wells=Counter(
            (batch, name)
            for batch, layout in state.plates.items()
            for name in layout["placed"].values()
        ),
    )
