"""Figure 4, right: F1 score of the current answer over the pulls, on the PKIS2 drug screen."""

from typing import Any

import numpy as np

from allgood.reporting.figures import legend_above
from allgood.simulation.instances import pkis2, synthetic_screen
from allgood.simulation.registry import strategy_named

from ._common import LOOKS, Settings, TableRow, Tables, columns, names_of, new_figure

TITLE = "Drug screen: F1 score along the pulls"
PAPER = (
    "189 compounds, kinase ACVRL1, multiplicative epsilon = 0.8, a budget of 1e5 pulls. (ST)^2 "
    "and Track-and-Stop have comparable F1 scores and both outperform UCB."
)
STRATEGIES = ("claim-by-claim", "track-and-stop:paper", "st2:mason", "ucb:mason", "uniform:mason")


def tables(settings: Settings) -> Tables:
    instance = synthetic_screen() if settings.data is None else pkis2(settings.data)
    budget, runs = (100_000, 100) if settings.full else (20_000, 10)
    grid = np.unique(np.geomspace(instance.means.size, budget, 40).astype(int))
    rows: list[TableRow] = []
    for name in STRATEGIES:
        strategy = strategy_named(name, instance.objective, 0.1)
        simulation = settings.simulate(name, instance.means, strategy, runs, instance.name, grid)
        f1, precision, recall = simulation.f1, simulation.precision, simulation.recall
        low, high = np.quantile(f1, [0.1, 0.9], axis=0)
        rows.extend(
            {
                "data": instance.name,
                "strategy": name,
                "pulls": int(pulls),
                "runs": runs,
                "f1": float(f1[:, n].mean()),
                "standard_error": float(f1[:, n].std(ddof=1) / np.sqrt(runs)),
                "q10": float(low[n]),
                "q90": float(high[n]),
                "precision": float(precision[:, n].mean()),
                "recall": float(recall[:, n].mean()),
            }
            for n, pulls in enumerate(grid)
        )
    return {"drugs": rows}


def pictures(tables: Tables) -> dict[str, Any]:
    rows = tables["drugs"]
    figure = new_figure(7.5, 5.0)
    axes = figure.subplots()
    for name in names_of(rows):
        c = columns(rows, strategy=name)
        colour, marker, style, label = LOOKS[name]
        axes.plot(
            c["pulls"],
            c["f1"],
            linestyle=style,
            color=colour,
            label=label,
            marker=marker,
            markersize=3,
        )
        axes.fill_between(c["pulls"], c["q10"], c["q90"], color=colour, alpha=0.12, linewidth=0)
    axes.set(xscale="log", xlabel="pulls", ylabel="F1 score: mean, 10 % to 90 %", ylim=(None, 1.02))
    if rows[0]["data"] != "pkis2":
        axes.set_title(
            "SYNTHETIC data (no PKIS2 table given)", fontsize="medium", loc="right", color="#D55E00"
        )
    legend_above(axes, 3)
    return {"drugs": figure}


def findings(tables: Tables) -> str:
    rows = tables["drugs"]
    last = max(int(row["pulls"]) for row in rows)
    f1 = {
        row["strategy"]: (float(row["f1"]), float(row["standard_error"]))
        for row in rows
        if int(row["pulls"]) == last
    }
    scores = ", ".join(
        f"{LOOKS[name][3]} {value:.3f} +- {error:.3f}" for name, (value, error) in f1.items()
    )
    synthetic = (
        ""
        if rows[0]["data"] == "pkis2"
        else "On SYNTHETIC data, because no PKIS2 table was given. "
    )
    ucb_last = f1["ucb:mason"][0] < min(f1["track-and-stop:paper"][0], f1["st2:mason"][0])
    verdict = "confirmed" if ucb_last else "not confirmed"
    return (
        f"{synthetic}F1 at {last:,} pulls: {scores}. UCB behind Track-and-Stop and (ST)^2: "
        f"{verdict}."
    )
