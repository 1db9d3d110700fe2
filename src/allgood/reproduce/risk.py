"""Figure 3: expected stopping time over the risk, on (1, 1, 1, 1, 0.05) with epsilon = 0.9."""

import math
from typing import Any

from allgood import Additive, characteristic_time
from allgood.reporting.figures import legend_above
from allgood.simulation.registry import strategies_named

from ._common import LOOKS, Settings, TableRow, Tables, columns, names_of, new_figure

TITLE = "Pulls against the risk"
PAPER = (
    "100 runs for each delta from 0.1 to 1e-10. Track-and-Stop consistently outperforms (ST)^2 "
    "and FAREAST, even for moderate delta. Its Figure 3 has all three on the left, and on the "
    "right Track-and-Stop and FAREAST."
)
MEANS, QUESTION = (1.0, 1.0, 1.0, 1.0, 0.05), Additive(0.9)
STRATEGIES = (
    "claim-by-claim",
    "track-and-stop:paper",
    "track-and-stop-letter:paper",
    "st2:mason",
    "fareast:mason",
)


def tables(settings: Settings) -> Tables:
    deltas = (
        tuple(10.0**-n for n in range(1, 11)) if settings.full else (0.1, 0.01, 1e-4, 1e-7, 1e-10)
    )
    runs = 100 if settings.full else 20
    time = characteristic_time(MEANS, QUESTION)
    rows: list[TableRow] = []
    for name in STRATEGIES:
        for strategy in strategies_named(name, QUESTION, deltas):
            label = "risk" if len(strategy.risks) > 1 else f"risk-{strategy.risks[0]:.0e}"
            simulation = settings.simulate(name, MEANS, strategy, runs, label)
            for delta in simulation.strategy.risks:
                s = simulation.summary(delta)
                rows.append(
                    {
                        "strategy": name,
                        "proven": simulation.proven,
                        "delta": delta,
                        "runs": s.runs,
                        "mean": s.mean,
                        "standard_error": s.standard_error,
                        "q10": s.quantiles[0],
                        "q90": s.quantiles[2],
                        "errors": s.errors,
                        "lower_bound": s.lower_bound,
                        "over_limit": s.mean / (time.value * math.log(1.0 / delta)),
                    }
                )
    return {"risk": rows}


def pictures(tables: Tables) -> dict[str, Any]:
    rows = tables["risk"]
    figure = new_figure(11.0, 4.8)
    for axes, left_out in zip(figure.subplots(1, 2), ((), ("st2:mason",)), strict=True):
        for name in names_of(rows):
            if name in left_out:
                continue
            c = columns(rows, strategy=name)
            colour, marker, style, label = LOOKS[name]
            axes.plot(
                c["delta"],
                c["mean"],
                marker=marker,
                linestyle=style,
                color=colour,
                label=label,
                markersize=4,
            )
            axes.fill_between(c["delta"], c["q10"], c["q90"], color=colour, alpha=0.15, linewidth=0)
        c = columns(rows, strategy=names_of(rows)[0])
        axes.plot(c["delta"], c["lower_bound"], color="black", linewidth=1, label="lower bound")
        axes.set(
            xscale="log", yscale="log", xlabel="risk delta", ylabel="pulls: mean, 10 % to 90 %"
        )
        axes.invert_xaxis()
        legend_above(axes)
    return {"risk": figure}


def findings(tables: Tables) -> str:
    rows = tables["risk"]
    mean = {(row["strategy"], float(row["delta"])): float(row["mean"]) for row in rows}
    deltas = sorted({float(row["delta"]) for row in rows})
    ahead = all(
        mean["track-and-stop:paper", d] < min(mean["st2:mason", d], mean["fareast:mason", d])
        and mean["track-and-stop-letter:paper", d]
        < min(mean["st2:mason", d], mean["fareast:mason", d])
        for d in deltas
    )
    last = {
        name: next(
            float(r["over_limit"])
            for r in rows
            if r["strategy"] == name and float(r["delta"]) == deltas[0]
        )
        for name in names_of(rows)
    }
    shares = ", ".join(f"{LOOKS[name][3]} {value:.2f}" for name, value in last.items())
    return (
        f"{'Confirmed' if ahead else 'Not confirmed'}: Track-and-Stop needs fewer pulls than "
        "(ST)^2 and FAREAST at every delta, with either kind of weights. Mean pulls over T* "
        f"log(1/delta) at delta = {deltas[0]:.0e}: {shares}."
    )
