"""Check for drift: do arms or controls give other values on a plate than on the plates before it?

If sigma is right and controls are normal, the chance that a study without drift is ever told of one
is at most DRIFT_RISK, of all tests of drift together.

Values are in units of the stated sigma of their arm: x_j of arm a has mean mu_a.  N_a is the number
of values of arm a, N their sum, m_a their average and Q_a their scatter about it.

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

Controls share the risk.  Those of the first plate that has any have FIRST_PLATE_SHARE of it in
equal parts.  The g-th plate that brings new ones, g >= 2, has (1 - FIRST_PLATE_SHARE)/(g (g - 1))
of it for them.  So each control has its part when it is laid out and keeps it, and all parts
together are at most 1.  (To divide by the number of controls so far would spend the risk more than
once: an earlier control has run a larger risk by then.)
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..._internal.arguments import Vector
from ..._internal.results import NullableFloat, ResultData
from ..._internal.statistics import crossing, student_quantile, student_tail
from .values import CheckedValues, Integers, log_average

DRIFT_RISK = 0.01  # of all tests of drift together
FIRST_PLATE_SHARE = 0.9  # of the risk of controls: for those of the first plate
ARMS_SHARE = 0.2  # the share of the arms' test in the risk, which a smaller share hurts least
COVERAGE = 0.95  # of the intervals shown
RHO = np.array([2.0, 8.0, 32.0, 128.0, 512.0])  # precisions of effects, to average over


@dataclass(frozen=True)
class ControlOnPlate(ResultData):
    """One control on one plate.

    Attributes:
        n, mean: number of values, and their average.
        low, high: the interval of Student's distribution, 95 %, with the scatter within the plates
            so far; None if no plate has two values.
        before: the average on all earlier plates; None on the first.
        chance: of so large a difference from it without drift; None if there is no test.
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
    """The arms on one plate against their averages on earlier plates, in sigmas.

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
class PlateDrift(ResultData):
    """One plate against the plates before it.

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
class Contrast:
    """A plate against those before: D, the sum of b, and C and V for each rho."""

    D: float
    weight: float
    C: Vector
    V: Vector

    def evidence(self, shift: float) -> float:
        """Return the log evidence against a drift of just so many sigmas."""
        D = self.D - shift * self.weight
        return log_average(D * D / (2.0 * (1.0 + self.V)) - 0.5 * np.log1p(self.V) - self.C)

    def reach(self, need: float) -> float:
        """Return how far on both sides of D / weight the evidence is less than ``need``."""
        middle = self.D / self.weight
        u = crossing(lambda u: self.evidence(middle + u / (1.0 - u)) - need)
        return u / (1.0 - u)


def arms_drift(
    plates: Integers, arms: Integers, values: Vector, sigmas: Vector, risk: float
) -> dict[int, ArmsOnPlate]:
    """Test whether the arms of a plate, all together, differ from what they gave on earlier ones.

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
    checks = {}
    for i in range(2, numbers.size + 1):
        contrast = contrast_of(p, i, arm, x, sigmas.size)
        if contrast is None:
            continue
        shift, evidence = contrast.D / contrast.weight, contrast.evidence(0.0)
        reach = contrast.reach(-math.log(1.0 - COVERAGE))
        checks[int(numbers[np.argsort(first)[i - 1]])] = ArmsOnPlate(
            shift=shift,
            low=shift - reach,
            high=shift + reach,
            chance=math.exp(min(-evidence, 0.0)),
            drifts=evidence >= math.log(i * (i - 1) / risk),
        )
    return checks


def contrast_of(p: Integers, plate: int, arm: Integers, x: Vector, K: int) -> Contrast | None:
    """Compare plate number ``plate`` with the earlier ones; None if they have no arm in common.

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
    """Count the places of the mask from the arm's beginning up to each, inclusive."""
    total = np.concatenate([[0], np.cumsum(mask)])
    counts: Integers = total[1:] - total[begin]
    return counts


def control_drift(
    samples: Sequence[Sequence[float]], risk: float, tested: Sequence[bool] | None = None
) -> list[ControlOnPlate]:
    """Test whether one control differs from plate to plate.

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
            reach = student_quantile(1.0 - COVERAGE, freedom) * s_w / math.sqrt(n)
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
    """Return each control's part of the risk, from the plates and names of controls."""
    first: dict[str, int] = {}
    for plate, name in sorted(wells):
        first.setdefault(name, plate)
    new = Counter(first.values())
    order = {plate: g for g, plate in enumerate(sorted(new), start=1)}
    of_plate = {
        plate: FIRST_PLATE_SHARE if g == 1 else (1.0 - FIRST_PLATE_SHARE) / (g * (g - 1))
        for plate, g in order.items()
    }
    return {name: of_plate[plate] / new[plate] for name, plate in first.items()}


def check_plates(checked: CheckedValues, sigmas: Vector | None) -> tuple[PlateDrift, ...]:
    """Check every plate that has a value, in the order of their first values.

    ``sigmas`` is None if the model of the rewards gives none; then only controls are tested.
    """
    on_plate = checked.plates > 0
    times: dict[int, float] = {}
    rows = zip(checked.plates[on_plate].tolist(), checked.times[on_plate].tolist(), strict=True)
    for plate, time in [*rows, *((plate, time) for plate, _, _, time in checked.controls)]:
        times[plate] = min(time, times.get(plate, math.inf))
    samples: dict[str, dict[int, list[float]]] = {}
    for plate, name, value, _ in checked.controls:
        samples.setdefault(name, {}).setdefault(plate, []).append(value)
    share = ARMS_SHARE if sigmas is not None else 0.0
    arms: dict[int, ArmsOnPlate] = {}
    if sigmas is not None:
        on_plates = checked.plates[on_plate], checked.arms[on_plate], checked.values[on_plate]
        arms = arms_drift(*on_plates, sigmas, DRIFT_RISK * share)
    controls: dict[int, dict[str, ControlOnPlate]] = {plate: {} for plate in times}
    parts = parts_of_controls(checked.wells)
    for name, by_plate in samples.items():
        last = list(by_plate)[-1]
        tested = [
            plate != last or len(sample) >= checked.wells[plate, name]
            for plate, sample in by_plate.items()
        ]
        risk = DRIFT_RISK * (1.0 - share) * parts[name]
        results = control_drift(list(by_plate.values()), risk, tested)
        for plate, row in zip(by_plate, results, strict=True):
            controls[plate][name] = row
    n = Counter(checked.plates.tolist())
    return tuple(
        PlateDrift(plate, times[plate], n[plate], arms.get(plate), controls[plate])
        for plate in sorted(times, key=lambda plate: (times[plate], plate))
    )


def drift_sentences(plates: Iterable[PlateDrift]) -> tuple[str, ...]:
    """Say what differs from plate to plate, a sentence each, and how sure that is."""
    sentences = [sentence for plate in plates for sentence in _sentences(plate)]
    if sentences:
        sentences.append(
            "The guarantee is for means that do not change.  If sigma is right and controls are "
            "normal, the chance that a study without drift is ever told of one is at most 1 in "
            f"{1.0 / DRIFT_RISK:.0f}."
        )
    return tuple(sentences)


def _sentences(plate: PlateDrift) -> Iterator[str]:
    for name, control in plate.controls.items():
        if control.drifts:
            assert control.high is not None
            assert control.before is not None
            yield (
                f"Plate {plate.plate}: control {name} is {control.mean:.4g} +- "
                f"{control.high - control.mean:.2g}, against {control.before:.4g} on the plates "
                f"before; {_odds(control.chance)}."
            )
    arms = plate.arms
    if arms is not None and arms.drifts:
        yield (
            f"Plate {plate.plate}: arms give {abs(arms.shift):.2g} sigmas "
            f"{'more' if arms.shift > 0.0 else 'less'} than on the plates before ({arms.low:.2g} "
            f"to {arms.high:.2g}); {_odds(arms.chance)}."
        )


def _odds(chance: float | None) -> str:
    """Word a small chance, rounded up to a power of ten."""
    assert chance is not None
    power = min(int(-math.log10(max(chance, 1e-300))), 6)
    return f"without drift the chance of this is at most 1 in {10**power:,}"
