"""Figure 1: the two ways in which an answer changes most cheaply."""

from typing import Any

from allgood import Additive, best_response
from allgood.reporting.figures import plot_alternative

from ._common import Settings, TableRow, Tables

TITLE = "The cheapest alternatives"
PAPER = (
    "Figure 1 illustrates the two kinds of best response: a good arm is moved down and another up "
    "until it is bad; or a bad arm is moved up and all arms above a level come down to it, until "
    "it is good."
)
CASES: dict[str, tuple[tuple[float, ...], tuple[float, ...], float]] = {
    "expel": ((1.0, 0.8, 0.2), (1.0, 0.2, 3.0), 0.35),
    "admit": ((1.0, 0.97, 0.9, 0.45, 0.1), (1.0, 1.0, 1.0, 4.0, 1.0), 0.5),
}


def tables(settings: Settings) -> Tables:
    rows: list[TableRow] = []
    for case, (means, weights, epsilon) in CASES.items():
        response = best_response(means, weights, Additive(epsilon))
        rows.extend(
            {
                "case": case,
                "arm": a,
                "mean": means[a],
                "weight": weights[a],
                "alternative": float(response.means[a]),
                "cost": float(response.cost),
                "kind": response.kind,
                "changes": response.arm == a,
            }
            for a in range(len(means))
        )
    return {"alternatives": rows}


def pictures(tables: Tables) -> dict[str, Any]:
    return {
        case: plot_alternative(
            means, best_response(means, weights, Additive(epsilon)), Additive(epsilon)
        )
        for case, (means, weights, epsilon) in CASES.items()
    }


def findings(tables: Tables) -> str:
    kinds = {row["case"]: row["kind"] for row in tables["alternatives"]}
    listed = ", ".join(f"{case}: {kind}" for case, kind in kinds.items())
    return f"Confirmed: both kinds occur as drawn ({listed})."
