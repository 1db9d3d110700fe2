"""A table of the characteristic time and all lower bounds of every instance of the experiments."""

from typing import Any

from allgood import Additive, lower_bounds
from allgood.simulation.instances import pkis2, synthetic_screen

from ._common import Settings, TableRow, Tables

TITLE = "What theory says about each instance"
PAPER = (
    "The paper gives no such table; its Theorems 1 and 3 and the bound of Mason et al. are "
    "evaluated here."
)


def tables(settings: Settings) -> Tables:
    instances: dict[str, tuple[Any, Any]] = {
        f"paper, K = {K}": ([1.0] * (K - 1) + [0.05], Additive(0.9)) for K in (5, 20, 40, 60, 100)
    }
    instances["appendix, K = 1000"] = ([0.01] + [-0.01] * 998 + [-1.0], Additive(1.0))
    screen = synthetic_screen() if settings.data is None else pkis2(settings.data)
    instances[screen.name] = (screen.means, screen.objective)
    rows: list[TableRow] = []
    for name, (means, objective) in instances.items():
        for delta in (0.1, 0.01, 1e-6):
            bounds = lower_bounds(means, objective, delta)
            time = bounds.characteristic_time
            rows.append(
                {
                    "instance": name,
                    "delta": delta,
                    "characteristic_time": time.value,
                    "certified_from": time.lower_bound,
                    "asymptotic": bounds.asymptotic,
                    "asymptotic_log": bounds.asymptotic_log,
                    "mason": bounds.mason,
                    "moderate": bounds.moderate,
                }
            )
    return {"theory": rows}


def pictures(tables: Tables) -> dict[str, Any]:
    return {}


def findings(tables: Tables) -> str:
    rows = [r for r in tables["theory"] if float(r["delta"]) == 0.1]
    times = "; ".join(
        f"{row['instance']}: T* = {float(row['characteristic_time']):,.0f}" for row in rows
    )
    return (
        f"{times}. On the paper's family T* does not depend on K: the tied arms share their part."
    )
