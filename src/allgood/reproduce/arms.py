"""Figure 4, left: stopping time against the number of arms, relative to Track-and-Stop."""

import math
from typing import Any

from allgood import Additive
from allgood.catalogue import strategy_named
from allgood.plots import legend_above

from ._common import LOOKS, Row, Settings, Tables, columns, names_of, new_figure

TITLE = "Pulls against the number of arms"
PAPER = (
    "K - 1 arms at 1 and one at 0.05, epsilon = 0.9, delta = 0.1, 30 runs for each K from 5 to 100. "
    "Track-and-Stop is better for small K; (ST)^2 overtakes it at K = 40, FAREAST at K = 60."
)
QUESTION = Additive(0.9)
STRATEGIES = ("track-and-stop:paper", "track-and-stop-letter:paper", "st2:mason", "fareast:mason", "weakest-claim")
LETTER_UP_TO = 40  # arms; beyond, mirror ascent to 1/sqrt(t) takes hours


def tables(settings: Settings) -> Tables:
    sizes = (5, 10, 20, 30, 40, 50, 60, 80, 100) if settings.full else (5, 20, 40)
    runs = 30 if settings.full else 3
    rows: list[Row] = []
    for num_arms in sizes:
        means = [1.0] * (num_arms - 1) + [0.05]
        for name in STRATEGIES:
            if name == "track-and-stop-letter:paper" and num_arms > (LETTER_UP_TO if settings.full else 20):
                continue
            s = settings.simulate(name, means, strategy_named(name, QUESTION, 0.1), runs, f"arms-{num_arms}").summary()
            rows.append(
                {
                    "strategy": name, "arms": num_arms, "runs": s.runs, "mean": s.mean,
                    "standard_error": s.standard_error, "errors": s.errors, "lower_bound": s.lower_bound,
                }
            )  # fmt: skip
    reference = {row["arms"]: row["mean"] for row in rows if row["strategy"] == "track-and-stop:paper"}
    letter = {row["arms"]: row["mean"] for row in rows if row["strategy"] == "track-and-stop-letter:paper"}
    for row in rows:
        row["log10_ratio_exact"] = math.log10(row["mean"] / reference[row["arms"]])
        known = letter.get(row["arms"])
        row["log10_ratio_letter"] = "" if known is None else math.log10(row["mean"] / known)
    return {"arms": rows}


def pictures(tables: Tables) -> dict[str, Any]:
    rows = tables["arms"]
    figure = new_figure(11.0, 4.8)
    against = (("log10_ratio_exact", "exact weights"), ("log10_ratio_letter", "weights to 1/sqrt(t)"))
    for axes, (column, which) in zip(figure.subplots(1, 2, sharey=True), against, strict=True):
        for name in names_of(rows):
            c = columns(rows, strategy=name)
            shown = [(k, float(y)) for k, y in zip(c["arms"], c[column], strict=True) if y != ""]
            if not shown:
                continue
            colour, marker, style, label = LOOKS[name]
            x, y = zip(*shown, strict=True)
            axes.plot([int(k) for k in x], y, marker=marker, linestyle=style, color=colour, label=label, markersize=4)
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set(xlabel="number of arms K", ylabel=f"log10(mean pulls / Track-and-Stop's),\n{which}")
        legend_above(axes)
    return {"arms": figure}


def crossing(tables: Tables, name: str, column: str) -> int | None:
    """The smallest K at which a strategy needs fewer pulls than Track-and-Stop and goes on to."""
    found = None
    for row in tables["arms"]:
        if row["strategy"] == name and row[column] != "":
            if float(row[column]) >= 0.0:
                found = None
            elif found is None:
                found = int(row["arms"])
    return found


def findings(tables: Tables) -> str:
    sentences = []
    for column, which in (("log10_ratio_exact", "exact weights"), ("log10_ratio_letter", "weights to 1/sqrt(t)")):
        for name in ("st2:mason", "fareast:mason"):
            found = crossing(tables, name, column)
            largest = max(
                (int(r["arms"]) for r in tables["arms"] if r["strategy"] == name and r[column] != ""), default=0
            )
            told = f"from K = {found}" if found is not None else f"not up to K = {largest}"
            sentences.append(f"{LOOKS[name][3]} beats Track-and-Stop with {which} {told}")
    return (
        "; ".join(sentences)
        + ". Until t = T*^2, ten million pulls here, any weights are optimal up to 1/sqrt(t): to the letter, "
        "Track-and-Stop tracks nearly uniform weights, whose T is up to K/4 times T* on this family. "
        "The weights alone move the crossing."
    )
