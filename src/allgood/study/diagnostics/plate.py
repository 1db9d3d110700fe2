"""Check one plate: its controls, Z', its edge, gradients, and whether it is another plate.

Open this file to see what a preview says of a plate before anything is written.  The chance that a
plate without any of these effects has even one alarm is at most PLATE_RISK, for normal values; the
tests that are made on the plate share it equally.

**Controls** are compared with the plates told before: the mean by Student's test, with the scatter
within plates, and the scatter by Fisher's.

**Z'** = 1 - 3 (s_low + s_high) / |m_high - m_low| is a figure and not a test.  Its two controls are
those of the study's normalisation, if that has two, and otherwise the only two of the plate.  The
one with the higher mean is the high one.

**Edge and gradients.**  Where a ticket lies is decided by the seed of the study, and by nothing
that was measured.  Let g be 1 at the edge and 0 elsewhere, or the row, or the column, scaled to go
from 0 to 1.  Wells of an arm with several values on the plate are compared with each other, so that
nothing is assumed of the arm.  The other wells are compared among themselves: by their value minus
the arm's average on other plates, if there is one, else by their values.  In each of these groups

    T = sum g' x,   V = sum g'^2,   g' = g minus its average over the arm or the group,

has variance s^2 V, s^2 being the scatter of x within arms or the group.  For values that were not
chosen for their wells that is the variance over all layouts, whatever the values are.  The size of
the effect is (sum T/s^2) / (sum V/s^2) over the groups, and (sum T/s^2) / (sum V/s^2)^(1/2) is
compared with Student's distribution.

**Another plate.**  Each arm has an average m of n values elsewhere.  Well by well, the value x has
the density of m + a with variance s^2 (1 + 1/n), a being an offset of the whole plate.  If the
values belong to this plate, the likelihood ratio of another layout exceeds c with a chance of at
most 1/c.  A term is cut at CUT standard deviations, so that a single value decides nothing.  Other
layouts are those of the other plates of the same size, and of this plate turned round.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..._internal.arguments import Vector
from ..._internal.results import ResultData
from ..._internal.statistics import fisher_tail, student_tail
from ..normalise import Normaliser
from ..plates import z_prime_of
from ..state import StudyState, TicketRecord
from ..wells import ROW_NAMES, well_position
from .values import MOST_SLIPS, Integers

PLATE_RISK = 0.01  # of all tests of one plate together
FEWEST = 8  # degrees of freedom, or wells, below which nothing is tested
CUT = 4.0  # standard deviations at which a term of a likelihood ratio is cut
MOST_PLATES = 20  # other plates that are looked at, the newest
GOOD_Z_PRIME = 0.5  # below it an assay is commonly called marginal

Code = Literal[
    "control_shift",
    "control_spread",
    "z_prime",
    "edge",
    "row_gradient",
    "column_gradient",
    "other_plate",
    "turned",
]


@dataclass(frozen=True)
class PlateFinding(ResultData):
    """One thing that was looked at on a plate.

    Attributes:
        code: what it is.
        size: the shift of a control's mean; the ratio of its standard deviations; Z'; the edge
            minus the other wells; the last row or column minus the first; or how much better, in
            correlation with the averages of arms, the values fit another layout.
        sigmas: a shift, an edge or a gradient as a multiple of the scatter; None for others.
        chance: a bound on the chance of such a finding without the effect; None if it is no test.
        alarm: whether that is too small to be chance; for Z', whether it is below 0.5.
        sentence: the finding in words.
        control: the name of the control that it is about.
        plate: the number of the plate that fits better.
    """

    code: Code
    size: float
    chance: float | None
    alarm: bool
    sentence: str
    sigmas: float | None = None
    control: str | None = None
    plate: int | None = None


@dataclass(frozen=True)
class CheckedWell(ResultData):
    """A well with a value, for a picture of the plate.

    Attributes:
        value: as it counts; of a control as it was told.
        residual: the value minus the average of all values of its arm, or of its control on all
            plates; None if there is no other value.
        arm, control: the name of one of them.
    """

    well: str
    value: float
    residual: float | None
    arm: str | None = None
    control: str | None = None


@dataclass(frozen=True)
class PlateCheck(ResultData):
    """One plate, with the values that it has.

    Attributes:
        plate: its number.
        findings: everything that could be looked at, whether it is an alarm or not.
        z_prime: Z' of the plate; None unless two controls have two values each.
        low, high: the names of these controls.
        wells: those with a value, row by row.
        risk: the largest chance that a plate without any of these effects has an alarm.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("alarms",)
    plate: int
    rows: int
    columns: int
    findings: tuple[PlateFinding, ...]
    z_prime: float | None
    low: str | None
    high: str | None
    wells: tuple[CheckedWell, ...]
    risk: float = PLATE_RISK

    @property
    def alarms(self) -> tuple[str, ...]:
        """Say what is wrong with the plate, a sentence each; empty if nothing is."""
        return tuple(finding.sentence for finding in self.findings if finding.alarm)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PlateCheck":
        """Return the check from its JSON data."""
        parts = {name: part for name, part in data.items() if name not in cls.DERIVED}
        parts["findings"] = tuple(PlateFinding(**finding) for finding in data["findings"])
        parts["wells"] = tuple(CheckedWell(**well) for well in data["wells"])
        return cls(**parts)


def check_plate(state: StudyState, plate: int) -> PlateCheck:
    """Check one plate of a study, with the values that it has."""
    layout = state.plates[plate]
    values = PlateValues.of(state, plate)
    references = reference_controls(state, plate)
    low, high, figure = None, None, None
    if references is not None:
        low, high, figure = z_prime(*references, values.controls)
    tests = [
        *_control_tests(state, plate, values),
        *_spatial_tests(values, layout["rows"], layout["columns"]),
        *_layout_tests(state, plate, values),
    ]
    limit = PLATE_RISK / max(len(tests), 1)
    findings = [_settled(finding, plate, limit) for finding in tests]
    if figure is not None:
        findings.insert(0, _z_prime_finding(plate, figure, low, high))
    return PlateCheck(
        plate=plate,
        rows=layout["rows"],
        columns=layout["columns"],
        findings=tuple(findings),
        z_prime=figure,
        low=low,
        high=high,
        wells=_wells(state, plate),
    )


def _settled(finding: PlateFinding, plate: int, limit: float) -> PlateFinding:
    """Return a finding with its alarm and its whole sentence."""
    assert finding.chance is not None
    alarm = finding.chance <= limit
    chance = max(finding.chance, 1e-6)
    odds = f"without this effect the chance of it is at most {chance:.1g}"
    sentence = f"Plate {plate}: {finding.sentence}; {odds if alarm else 'that may be chance'}."
    return replace(finding, alarm=alarm, sentence=sentence)


# ---- values


@dataclass(frozen=True)
class PlateValues:
    """The values of a plate, and what is known of its arms from elsewhere.

    Attributes:
        tickets: the tickets with a value.
        controls: the values of each control.
        n, mean: number and average of each arm's values on other plates and without a plate.
        sigma: the scatter of values of an arm, from other plates if these show it.
    """

    tickets: tuple[TicketRecord, ...]
    controls: dict[str, list[float]]
    n: Integers
    mean: Vector
    sigma: float
    rows: Integers = field(init=False)
    columns: Integers = field(init=False)
    arms: Integers = field(init=False)
    x: Vector = field(init=False)

    def __post_init__(self) -> None:
        places = [well_position(ticket.well or "") for ticket in self.tickets]
        for name, numbers in (
            ("rows", np.array([i for i, _ in places], np.int64)),
            ("columns", np.array([j for _, j in places], np.int64)),
            ("arms", np.array([ticket.arm for ticket in self.tickets], np.int64)),
            ("x", np.array([ticket.value for ticket in self.tickets], np.float64)),
        ):
            object.__setattr__(self, name, numbers)

    @staticmethod
    def of(state: StudyState, plate: int, without: int | None = None) -> "PlateValues":
        """Return the values of a plate; those of plate ``without`` are left out elsewhere."""
        suspects = state.quality.suspects
        on_plate: list[TicketRecord] = []
        elsewhere: list[TicketRecord] = []
        for ticket in state.tickets.values():
            if ticket.state != "told" or ticket.censored:
                continue
            if ticket.well and ticket.batch == plate:
                on_plate.append(ticket)
            elif ticket.number not in suspects and not (ticket.well and ticket.batch == without):
                elsewhere.append(ticket)
        held = [ticket for ticket in on_plate if ticket.number in suspects]
        if len(held) <= MOST_SLIPS:  # a few are slips; many may be those of another plate
            on_plate = [ticket for ticket in on_plate if ticket.number not in suspects]
        K = len(state.design.arms)
        arms = np.array([ticket.arm for ticket in elsewhere], np.int64)
        n = np.bincount(arms, [ticket.n for ticket in elsewhere], K).astype(np.int64)
        total = np.bincount(arms, [ticket.value or 0.0 for ticket in elsewhere], K)
        mean = total / np.maximum(n, 1)
        single = [ticket for ticket in elsewhere if ticket.n == 1]
        return PlateValues(
            tickets=tuple(on_plate),
            controls=state.control_values(plate),
            n=n,
            mean=mean,
            sigma=_scatter([t.arm for t in single], [t.value or 0.0 for t in single]),
        )


def _scatter(arms: Sequence[int], values: Sequence[float]) -> float:
    """Return the standard deviation of values about the averages of their arms; 0 if unknown."""
    _, arm, n = np.unique(np.array(arms, np.int64), return_inverse=True, return_counts=True)
    x = np.array(values, np.float64)
    freedom = x.size - n.size
    if freedom < FEWEST:
        return 0.0
    m = np.bincount(arm, x) / n
    return math.sqrt(float(((x - m[arm]) ** 2).sum()) / freedom)


def _wells(state: StudyState, plate: int) -> tuple[CheckedWell, ...]:
    """Return the wells of a plate with a value, and their residuals."""
    here = [t for t in state.tickets.values() if t.batch == plate and t.well and t.state == "told"]
    sums: dict[int, tuple[int, float]] = {ticket.arm: (0, 0.0) for ticket in here}
    for ticket in state.tickets.values():
        counts = ticket.state == "told" and ticket.number not in state.quality.suspects
        if counts and ticket.arm in sums and not ticket.censored:
            n, total = sums[ticket.arm]
            sums[ticket.arm] = n + ticket.n, total + (ticket.value or 0.0)
    wells = []
    for ticket in here:
        n, total = sums[ticket.arm]
        value = ticket.value or 0.0
        residual = value - total / n if n > 1 else None
        name = state.design.arms[ticket.arm]
        wells.append(CheckedWell(ticket.well or "", value, residual, arm=name))
    by_name: dict[str, list[float]] = {}
    for control in state.controls.values():
        by_name.setdefault(control.name, []).append(control.value)
    for (batch, well), control in state.controls.items():
        if batch == plate:
            others = by_name[control.name]
            residual = control.value - float(np.mean(others)) if len(others) > 1 else None
            wells.append(CheckedWell(well, control.value, residual, control=control.name))
    return tuple(sorted(wells, key=lambda well: well_position(well.well)))


# ---- Z'


def reference_controls(state: StudyState, plate: int) -> tuple[str, str] | None:
    """Return the names of the two controls of Z'; None if they are not declared.

    They are those of the study's normalisation, if it has two, and otherwise the only two of the
    plate.
    """
    text = state.design.normalise
    names = () if text is None else Normaliser.named(text).controls
    if len(names) == 2:
        return names[0], names[1]
    placed = sorted(set(state.plates[plate]["placed"].values()))
    return (placed[0], placed[1]) if len(placed) == 2 else None


def z_prime(
    first: str, second: str, values: Mapping[str, Sequence[float]]
) -> tuple[str | None, str | None, float | None]:
    """Return the low and the high of two controls, and Z'; None if one has not two values.

    >>> z_prime("a", "b", {"a": [9.0, 11.0], "b": [0.0, 2.0]})[:2]
    ('b', 'a')
    """
    samples = {name: values.get(name, ()) for name in (first, second)}
    if any(len(sample) < 2 for sample in samples.values()):
        return None, None, None
    low, high = sorted(samples, key=lambda name: fmean(samples[name]))
    return low, high, z_prime_of([samples[low], samples[high]])


def _z_prime_finding(plate: int, figure: float, low: str | None, high: str | None) -> PlateFinding:
    alarm = figure < GOOD_Z_PRIME
    meaning = f", below {GOOD_Z_PRIME:g}: the controls are hard to tell apart" if alarm else ""
    sentence = f"Plate {plate}: Z' is {figure:.2f} ({low} low, {high} high){meaning}."
    return PlateFinding("z_prime", figure, None, alarm, sentence)


# ---- controls


def _control_tests(state: StudyState, plate: int, values: PlateValues) -> Iterator[PlateFinding]:
    """Compare each control with the plates told before."""
    first: dict[int, float] = {}
    for (batch, _), control in state.controls.items():
        first[batch] = min(control.time, first.get(batch, math.inf))
    earlier = [batch for batch in first if (first[batch], batch) < (first.get(plate, 0.0), plate)]
    samples = [state.control_values(batch) for batch in earlier]
    for name, here in values.controls.items():
        before = [sample[name] for sample in samples if name in sample]
        freedom = sum(len(sample) - 1 for sample in before)
        if freedom < 2 or len(here) < 2:
            continue
        x, every = np.array(here), np.concatenate(before)
        within = sum(float(((np.array(y) - np.mean(y)) ** 2).sum()) for y in before)
        spread, own = math.sqrt(within / freedom), float(x.std(ddof=1))
        if spread == 0.0 or own == 0.0:
            continue
        total = freedom + x.size - 1
        s = math.sqrt((within + own * own * (x.size - 1)) / total)
        shift = float(x.mean() - every.mean())
        t = shift / (s * math.sqrt(1.0 / x.size + 1.0 / every.size))
        yield PlateFinding(
            "control_shift",
            shift,
            student_tail(t, total),
            False,
            f"control {name} averages {x.mean():.4g}, against {every.mean():.4g} on the plates "
            f"before ({abs(shift) / s:.2g} of its standard deviations {_more(shift)})",
            sigmas=shift / s,
            control=name,
        )
        ratio = own / spread
        tails = fisher_tail(ratio**2, x.size - 1, freedom)
        yield PlateFinding(
            "control_spread",
            ratio,
            min(1.0, 2.0 * min(tails, 1.0 - tails)),
            False,
            f"control {name} scatters {ratio:.2g} times as much as on the plates before",
            control=name,
        )


def _more(size: float) -> str:
    return "more" if size > 0.0 else "less"


# ---- edge and gradients


def _spatial_tests(values: PlateValues, rows: int, columns: int) -> Iterator[PlateFinding]:
    """Look for an effect of the edge, of rows and of columns."""
    i, j = values.rows, values.columns
    at_edge = (i == 0) | (i == rows - 1) | (j == 0) | (j == columns - 1)
    codes: tuple[tuple[Code, Vector, str], ...] = (
        ("edge", at_edge.astype(np.float64), "wells at the edge give {} than the others"),
        (
            "row_gradient",
            i / max(rows - 1, 1),
            f"from row A to row {ROW_NAMES[rows - 1]} values grow, so that the last gives {{}}",
        ),
        (
            "column_gradient",
            j / max(columns - 1, 1),
            f"from column 1 to column {columns} values grow, so that the last gives {{}}",
        ),
    )
    for code, g, words in codes:
        contrast = _contrast(values, g)
        if contrast is None:
            continue
        size, t, freedom, s = contrast
        amount = f"{abs(size):.3g} {_more(size)}"
        sentence = words.replace("grow", "fall") if size < 0.0 else words
        yield PlateFinding(
            code,
            size,
            student_tail(t, freedom),
            False,
            f"{sentence.format(amount)} ({abs(size) / s:.2g} of the scatter of a value)",
            sigmas=size / s,
        )


def _contrast(values: PlateValues, g: Vector) -> tuple[float, float, int, float] | None:
    """Return size and t of an effect along g, its degrees of freedom, and the scatter of a value.

    None if the plate cannot show the effect.
    """
    _, arm, copies = np.unique(values.arms, return_inverse=True, return_counts=True)
    several = copies[arm] > 1
    known = ~several & (values.n[values.arms] > 0)
    x = np.where(known, values.x - values.mean[values.arms], values.x)
    groups = [(several, arm), (known, np.zeros_like(arm)), (~several & ~known, np.zeros_like(arm))]
    T = V = 0.0
    freedom, scatter = 0, math.inf
    for mask, group in groups:
        part = _group_contrast(x[mask], g[mask], group[mask])
        if part is not None:
            T, V = T + part[0], V + part[1]
            freedom += part[2]
            scatter = min(scatter, part[3])
    if freedom < FEWEST or V == 0.0:
        return None
    return T / V, T / math.sqrt(V), freedom, scatter


def _group_contrast(
    x: Vector, g: Vector, group: Integers
) -> tuple[float, float, int, float] | None:
    """Return T/s^2, V/s^2, the degrees of freedom of s, and s; None if there are none."""
    if not x.size:
        return None
    _, number, n = np.unique(group, return_inverse=True, return_counts=True)
    freedom = x.size - n.size
    if freedom < 2:
        return None
    own = x - (np.bincount(number, x) / n)[number]
    slope = g - (np.bincount(number, g) / n)[number]
    variance = float((own**2).sum()) / freedom
    if variance == 0.0:
        return None
    T, V = float((slope * own).sum()), float((slope**2).sum())
    return T / variance, V / variance, freedom, math.sqrt(variance)


# ---- another plate


def _layout_tests(state: StudyState, plate: int, values: PlateValues) -> list[PlateFinding]:
    """Compare the layout of the plate with others, and return the one that fits best."""
    layout = state.plates[plate]
    size = layout["rows"], layout["columns"]
    others = [
        batch
        for batch in sorted(state.plates, reverse=True)
        if batch != plate and (state.plates[batch]["rows"], state.plates[batch]["columns"]) == size
    ]
    places = dict(zip(_place_names(values), range(values.x.size), strict=True))
    fits: list[tuple[float, float, float, int | None]] = []
    for other in others[:MOST_PLATES]:
        theirs = PlateValues.of(state, plate, without=other)
        arms = {
            well_position(ticket.well): ticket.arm
            for ticket in state.tickets.values()
            if ticket.batch == other and ticket.well
        }
        fits += _fit(theirs, places, arms, other)
    turned = {
        (size[0] - 1 - i, size[1] - 1 - j): arm
        for (i, j), arm in zip(places, values.arms.tolist(), strict=True)
    }
    fits += _fit(values, places, turned, None)
    if not fits:
        return []
    evidence, here, there, best = max(fits, key=lambda fit: fit[0])
    chance = min(1.0, len(fits) * math.exp(min(-evidence, 0.0)))
    code: Code = "turned" if best is None else "other_plate"
    name = "this plate turned round" if best is None else f"plate {best}"
    sentence = (
        f"the correlation of its values with what its arms gave elsewhere is {here:.2f}, and "
        f"{there:.2f} with those of {name}, which {'fits' if evidence > 0.0 else 'does not fit'} "
        "better"
    )
    return [PlateFinding(code, there - here, chance, False, sentence, plate=best)]


def _place_names(values: PlateValues) -> Iterable[tuple[int, int]]:
    return zip(values.rows.tolist(), values.columns.tolist(), strict=True)


def _fit(
    values: PlateValues,
    places: Mapping[tuple[int, int], int],
    arms: Mapping[tuple[int, int], int],
    other: int | None,
) -> list[tuple[float, float, float, int | None]]:
    """Return the log likelihood ratio of another layout, and both correlations.

    Wells count whose arms in both layouts have values elsewhere; the list is empty if they are
    few.
    """
    common = [
        (index, arms[place])
        for place, index in places.items()
        if place in arms and values.n[values.arms[index]] > 0 and values.n[arms[place]] > 0
    ]
    if len(common) < FEWEST or values.sigma == 0.0:
        return []
    index = np.array([i for i, _ in common])
    x, own, theirs = values.x[index], values.arms[index], np.array([arm for _, arm in common])
    if float(np.std(values.mean[own])) == 0.0 or float(np.std(values.mean[theirs])) == 0.0:
        return []
    if float(np.std(x)) == 0.0:
        return []
    here, there = (_log_likelihood(x, values, layout) for layout in (own, theirs))
    correlations = [float(np.corrcoef(x, values.mean[layout])[0, 1]) for layout in (own, theirs)]
    return [(there - here, correlations[0], correlations[1], other)]


def _log_likelihood(x: Vector, values: PlateValues, arms: npt.NDArray[np.int64]) -> float:
    """Return the log likelihood of values, if their wells hold these arms."""
    variance = values.sigma**2 * (1.0 + 1.0 / values.n[arms])
    residuals = x - values.mean[arms]
    offset = float(np.median(residuals))
    terms = np.minimum((residuals - offset) ** 2 / variance, CUT * CUT)
    return -0.5 * float((terms + np.log(variance)).sum())
