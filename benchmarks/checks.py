"""How often the checks of a study warn: without cause, and with one.

    .venv/bin/python benchmarks/checks.py                       tables
    .venv/bin/python benchmarks/checks.py --quick               the same from fewer studies
    .venv/bin/python benchmarks/checks.py --picture FILE        also the curves, as a picture

Without cause: 60 equal arms, 6 plates of 96 wells, every check looked at after every plate.  Arms
are chosen by what was seen, in two ways: the better half again, or as a study chooses them.  The
usual test of residuals, about the average of the values before and at the same risk, is shown
beside the check of drift: it is not made for arms that are chosen.
"""

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from report import console, table

from allgood import Additive, Gaussian, Plate, create_study
from allgood._internal.statistics import exact_interval
from allgood.reporting.figures import CYCLE, STYLES
from allgood.study.diagnostics.drift import (
    ARMS_SHARE,
    DRIFT_RISK,
    FIRST_PLATE_SHARE,
    arms_drift,
    control_drift,
)
from allgood.study.diagnostics.sigma import check_sigma

ARMS, PLATES, WELLS = 60, 6, 96
RISK_OF_ARMS, RISK_OF_CONTROLS = (
    DRIFT_RISK * ARMS_SHARE,
    DRIFT_RISK * (1.0 - ARMS_SHARE) * FIRST_PLATE_SHARE,
)
MODELS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), n),
    "-sigma or sigma": lambda rng, n: rng.choice([-1.0, 1.0], n),
}


def better_half(rng, draw, K=ARMS, plates=PLATES, wells=WELLS, shift=0.0, means=0.0):
    """Plates, arms and values; from the second plate on, the better half of the arms again."""
    mu = means * rng.standard_normal(K)
    sums, counts, told = np.zeros(K), np.zeros(K), []
    for plate in range(1, plates + 1):
        best = np.argsort(-sums / counts)[: K // 2] if plate > 1 else np.arange(K)
        arms = np.resize(best, wells)
        x = mu[arms] + draw(rng, wells) + shift * (plate == plates)
        np.add.at(sums, arms, x)
        np.add.at(counts, arms, 1.0)
        told.append((np.full(wells, plate), arms, x))
    return tuple(np.concatenate(parts) for parts in zip(*told, strict=True))


def own_choice(rng, draw):
    """The same from a study that chooses its arms itself."""
    names = [str(arm) for arm in range(ARMS)]
    told = []
    with tempfile.TemporaryDirectory() as folder:
        question = {
            "arms": names,
            "objective": Additive(0.5),
            "delta": 0.05,
            "model": Gaussian(1.0),
        }
        with create_study(Path(folder) / "s.db", "s", **question) as study:
            for plate in range(1, PLATES + 1):
                tickets = study.ask(plate=Plate(8, 12))
                x = draw(rng, len(tickets))
                pairs = zip(tickets, x.tolist(), strict=True)
                study.tell([(ticket.id, value) for ticket, value in pairs])
                arms = np.array([int(ticket.arm) for ticket in tickets], np.int64)
                told.append((np.full(arms.size, plate), arms, x))
    return tuple(np.concatenate(parts) for parts in zip(*told, strict=True))


def residuals_warn(plates, arms, values, risk):
    """The usual test, for comparison."""
    sums, counts, found = np.zeros(ARMS), np.zeros(ARMS), {}
    for plate, arm, x in zip(plates.tolist(), arms.tolist(), values.tolist(), strict=True):
        n = counts[arm]
        if n:
            found.setdefault(plate, []).append((x - sums[arm] / n) / math.sqrt(1.0 + 1.0 / n))
        sums[arm] += x
        counts[arm] += 1.0
    z = {plate: abs(sum(r)) / math.sqrt(len(r)) for plate, r in found.items()}
    return any(math.erfc(z[p] / math.sqrt(2.0)) < risk / (p * (p - 1)) for p in z if p > 1)


def rate(hits, runs):
    low, high = exact_interval(hits, runs, 0.95)
    return f"{100 * hits / runs:.1f} % ({100 * low:.1f}-{100 * high:.1f})"


def without_cause(studies, own):
    columns = ("arms chosen", "rewards", "sigma too small", "too large", "drift", "usual test")
    made = table("Studies with warnings without cause (in brackets: 95 % intervals)", *columns)
    for choice, told_by, runs in (("better half", better_half, studies), ("own", own_choice, own)):
        for model, draw in MODELS.items():
            rng, hits = np.random.default_rng(0), np.zeros(4, int)
            for _ in range(runs):
                plates, arms, x = told_by(rng, draw)
                looks = [
                    check_sigma(arms[:n], x[:n], np.ones(ARMS)).verdict
                    for n in range(WELLS, arms.size + 1, WELLS)
                ]
                drift = arms_drift(plates, arms, x, np.ones(ARMS), RISK_OF_ARMS)
                hits += [
                    "too small" in looks,
                    "too large" in looks,
                    any(item.drifts for item in drift.values()),
                    residuals_warn(plates, arms, x, RISK_OF_ARMS),
                ]
            made.add_row(choice, model, *(rate(int(n), runs) for n in hits))
    console.print(made, "")
    rng, runs = np.random.default_rng(0), 10 * studies
    for wells in (4, 8):
        for model, draw in MODELS.items():
            hits = sum(
                any(row.drifts for row in control_drift(list(draw(rng, (PLATES, wells))), 0.01))
                for _ in range(runs)
            )
            console.print(
                f"One control, {wells} wells, {model}: {rate(hits, runs)} at a risk of 1 %"
            )
    console.print()


RATIOS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0)
VALUES = (50, 200, 1000)
SHIFTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
TESTED = 5  # the plate that is shifted
FEW = 20  # arms


def power_of_sigma(studies):
    """The share of warnings by number of values and true over stated sigma."""
    curves = {}
    for N in VALUES:
        rng, curve = np.random.default_rng(1), []
        for ratio in RATIOS:
            hits = 0
            for _ in range(studies):
                draw = lambda rng, n, s=ratio: s * rng.standard_normal(n)  # noqa: E731
                _, arms, x = better_half(rng, draw, FEW, N // 25, 25, means=1.0)
                hits += bool(check_sigma(arms, x, np.ones(FEW)).verdict)
            curve.append(hits / studies)
        curves[f"{N:,} values"] = curve
    return curves


def power_of_drift(studies):
    """The share of warnings by shift of the fifth plate, for controls and for arms."""
    curves = {}
    for wells in (4, 8):
        rng, curve = np.random.default_rng(2), []
        for shift in SHIFTS:
            moved = np.zeros((TESTED, 1))
            moved[-1] = shift
            hits = sum(
                control_drift(list(rng.standard_normal((TESTED, wells)) + moved), RISK_OF_CONTROLS)[
                    -1
                ].drifts
                for _ in range(studies)
            )
            curve.append(hits / studies)
        curves[f"{wells} wells of a control"] = curve
    for K in (FEW, ARMS):
        rng, curve = np.random.default_rng(3), []
        for shift in SHIFTS:
            hits = 0
            for _ in range(studies):
                told = better_half(rng, MODELS["normal"], K, TESTED, WELLS, shift, means=1.0)
                hits += arms_drift(*told, np.ones(K), RISK_OF_ARMS)[TESTED].drifts
            curve.append(hits / studies)
        curves[f"{WELLS} wells of {K} arms"] = curve
    return curves


def show(title, head, places, curves):
    made = table(title, head, *curves)
    for i, place in enumerate(places):
        made.add_row(f"{place:g}", *(f"{100 * curve[i]:.0f} %" for curve in curves.values()))
    console.print(made, "")


def draw_curves(path, sigma, drift):
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, places, curves in ((left, RATIOS, sigma), (right, SHIFTS, drift)):
        for (name, curve), colour, style in zip(curves.items(), CYCLE, STYLES, strict=False):
            axes.plot(places, curve, style, color=colour, label=name, marker="o", markersize=3)
        axes.legend(frameon=False, fontsize="small", loc="lower right")
        axes.grid(color="#E4E4E4", linewidth=0.5)
    left.set(xscale="log", xlabel="true over stated sigma", ylabel="chance of a warning")
    left.set_xticks(
        [0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0], ["0.3", "0.5", "0.7", "1", "1.5", "2", "3"]
    )
    left.minorticks_off()
    right.set(xlabel="shift of plate 5, in sigmas")
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer studies")
    parser.add_argument("--picture", type=Path, help="file for the curves")
    asked = parser.parse_args()
    studies, own, runs = (50, 5, 20) if asked.quick else (1000, 200, 200)
    without_cause(studies, own)
    sigma, drift = power_of_sigma(runs), power_of_drift(runs)
    show(f"Warnings about sigma in {runs} studies", "true/stated", RATIOS, sigma)
    show(f"Warnings of drift in {runs} studies", "shift", SHIFTS, drift)
    if asked.picture is not None:
        draw_curves(asked.picture, sigma, drift)


if __name__ == "__main__":
    main()
