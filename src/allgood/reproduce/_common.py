"""Common part of the experiments: settings, simulations kept in files, the look of the pictures."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import allgood

TableRow = dict[str, Any]
Tables = Mapping[str, Sequence[TableRow]]
OnProgress = Callable[[int, int], None]

# Colours of Okabe and Ito, which readers with any colour vision can tell apart.  Line and marker
# differ as well.
LOOKS = {
    "claim-by-claim": ("#009E73", "o", "-", "ClaimByClaim"),
    "track-and-stop:paper": ("#0072B2", "s", "--", "Track-and-Stop, exact weights"),
    "track-and-stop-letter:paper": ("#56B4E9", "D", "-.", "Track-and-Stop, weights to 1/sqrt(t)"),
    "st2:mason": ("#D55E00", "^", ":", "(ST)^2"),
    "fareast:mason": ("#CC79A7", "P", (0, (5, 1)), "FAREAST"),
    "ucb:mason": ("#CC79A7", "P", "-.", "UCB"),
    "uniform:mason": ("#6E6E6E", "x", "--", "uniform"),
}


@dataclass(frozen=True)
class Settings:
    """The size of the experiments, where finished runs are kept, and how progress is shown.

    Attributes:
        full: the paper's sizes; otherwise small ones that take minutes.
        runs: folder for finished runs.
        data: the PKIS2 table, if there is one.
        seed: the seed of all simulations.
        progress: makes, from a title, a context that yields a function, which is called with the
            number of finished runs and of all runs.
        workers: number of threads.
    """

    full: bool
    runs: Path
    data: Path | None
    seed: int
    progress: Callable[[str], AbstractContextManager[OnProgress]]
    workers: int | None = None

    def simulate(
        self,
        name: str,
        means: Any,
        strategy: Any,
        runs: int,
        label: str,
        grid: Any = None,
    ) -> allgood.Simulation:
        """Simulate a strategy.  The file of its runs is named after ``label`` and the strategy."""
        self.runs.mkdir(parents=True, exist_ok=True)
        file = self.runs / f"{label}-{name.replace(':', '-')}.jsonl"
        with self.progress(f"{label}: {name}") as report:
            return allgood.simulate(
                strategy,
                means,
                runs=runs,
                seed=self.seed,
                workers=self.workers,
                progress=report,
                grid=grid,
                resume=file,
            )


def columns(rows: Sequence[TableRow], **where: Any) -> dict[str, list[Any]]:
    """Return the rows that have these values, as one list per column."""
    chosen = [row for row in rows if all(row[key] == value for key, value in where.items())]
    return {key: [row[key] for row in chosen] for key in (chosen[0] if chosen else {})}


def names_of(rows: Sequence[TableRow]) -> list[str]:
    """Return the strategies of a table, in their order."""
    return list(dict.fromkeys(row["strategy"] for row in rows))


def new_figure(width: float = 10.0, height: float = 4.4) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")
