"""Figure 2: for two arms, the alternatives, and the set of their costs on which 1/T is linear."""

from typing import Any

from allgood import Additive, Multiplicative
from allgood.reporting.figures import plot_sets

from ._common import Settings, Tables

TITLE = "The sets of alternatives and of their costs"
PAPER = (
    "Figure 2 shows the set of alternatives of two arms at (0.9, 0.6), epsilon = 0.05, and the "
    "set of costs over which 1/T* is a linear program."
)


def tables(settings: Settings) -> Tables:
    means = (0.9, 0.6)
    return {
        "sets": [
            {
                "objective": type(o).__name__.lower(),
                "epsilon": o.epsilon,
                "mean_0": means[0],
                "mean_1": means[1],
            }
            for o in (Additive(0.05), Multiplicative(0.05))
        ]
    }


def pictures(tables: Tables) -> dict[str, Any]:
    kinds = {"additive": Additive, "multiplicative": Multiplicative}
    return {
        row["objective"]: plot_sets(
            [float(row["mean_0"]), float(row["mean_1"])],
            kinds[row["objective"]](float(row["epsilon"])),
        )
        for row in tables["sets"]
    }


def findings(tables: Tables) -> str:
    return "Drawn as in the paper, and for the multiplicative objective as well."
