"""The example of the appendix: the bound for moderate confidence can exceed T* log(1/delta)."""

import math
from typing import Any

from allgood import Additive, characteristic_time, lower_bounds
from allgood.reporting.figures import legend_above

from ._common import Settings, TableRow, Tables, columns, new_figure

TITLE = "When the second lower bound is the larger one"
PAPER = (
    "With mu_1 = beta, mu_K = -epsilon and all others at -beta, beta much smaller than epsilon, "
    "delta = 0.1: T* log(1/delta) is O(1/beta^2 + K/epsilon^2), while the bound for moderate "
    "confidence is of order K/beta^2, so it is arbitrarily larger as K grows."
)
BETA, EPSILON, DELTA = 0.01, 1.0, 0.1


def tables(settings: Settings) -> Tables:
    rows: list[TableRow] = []
    for num_arms in (3, 10, 30, 100, 300, 1000, 3000, *((10_000, 30_000) if settings.full else ())):
        means = [BETA] + [-BETA] * (num_arms - 2) + [-EPSILON]
        time = characteristic_time(means, Additive(EPSILON))
        bounds = lower_bounds(means, Additive(EPSILON), DELTA, characteristic=time)
        upper = 8.0 / BETA**2 + 4.0 * (num_arms - 2) / (EPSILON - 2.0 * BETA) ** 2
        rows.append(
            {
                "arms": num_arms,
                "characteristic_time": time.value,
                "asymptotic": time.value * math.log(1.0 / DELTA),
                "paper_upper_bound": upper * math.log(1.0 / DELTA),
                "moderate": bounds.moderate,
            }
        )
    return {"example": rows}


def pictures(tables: Tables) -> dict[str, Any]:
    c = columns(tables["example"])
    figure = new_figure(7.0, 4.8)
    axes = figure.subplots()
    axes.plot(
        c["arms"], c["asymptotic"], "s-", color="#0072B2", label="T* log(1/delta)", markersize=4
    )
    axes.plot(
        c["arms"],
        c["paper_upper_bound"],
        "^:",
        color="#56B4E9",
        label="the paper's upper bound for it",
        markersize=4,
    )
    axes.plot(
        c["arms"],
        c["moderate"],
        "o--",
        color="#D55E00",
        label="bound for moderate confidence",
        markersize=4,
    )
    axes.set(xscale="log", yscale="log", xlabel="number of arms K", ylabel="pulls")
    legend_above(axes)
    return {"example": figure}


def findings(tables: Tables) -> str:
    over = [
        int(r["arms"]) for r in tables["example"] if float(r["moderate"]) > float(r["asymptotic"])
    ]
    below = all(
        float(r["asymptotic"]) <= float(r["paper_upper_bound"]) * (1 + 1e-6)
        for r in tables["example"]
    )
    outcome = (
        f"overtakes T* log(1/delta) by K = {min(over):,}"
        if over
        else "does not overtake T* log(1/delta) up to the largest K here"
    )
    return (
        f"{'Confirmed' if over and below else 'Not confirmed here'}: the second bound {outcome} "
        f"(beta = {BETA:g}, epsilon = {EPSILON:g}); T* stays {'below' if below else 'NOT below'} "
        "the paper's upper bound for it."
    )
