"""What the experiments share: settings, simulations that are kept as they finish, and the look of the pictures."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import allgood

Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]
Report = Callable[[int, int], None]

# Colours of Okabe and Ito, told apart by readers with any colour vision; line and marker differ as well.
LOOKS = {
    "weakest-claim": ("#009E73", "o", "-", "WeakestClaim"),
    "track-and-stop:paper": ("#0072B2", "s", "--", "Track-and-Stop, exact weights"),
    "track-and-stop-letter:paper": ("#56B4E9", "D", "-.", "Track-and-Stop, weights to 1/sqrt(t)"),
    "st2:mason": ("#D55E00", "^", ":", "(ST)^2"),
    "fareast:mason": ("#CC79A7", "P", (0, (5, 1)), "FAREAST"),
    "ucb:mason": ("#CC79A7", "P", "-.", "UCB"),
    "uniform:mason": ("#6E6E6E", "x", "--", "uniform"),
}


@dataclass(frozen=True)
class Settings:
    """How large, where to keep finished runs, and how to tell about progress.

    Attributes:
        full: the paper's sizes; else small ones that take minutes.
        runs: folder for the runs that are finished.
        data: the PKIS2 table, if there is one.
        seed: of everything.
        progress: gives, for a title, a context whose value is called with the number finished and of all.
        workers: threads.
    """

    full: bool
    runs: Path
    data: Path | None
    seed: int
    progress: Callable[[str], AbstractContextManager[Report]]
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
        """A simulation of a strategy, kept in a file called after ``label`` and the strategy's name."""
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


def columns(rows: Sequence[Row], **where: Any) -> dict[str, list[Any]]:
    """The rows with these values, as lists by column."""
    chosen = [row for row in rows if all(row[key] == value for key, value in where.items())]
    return {key: [row[key] for row in chosen] for key in (chosen[0] if chosen else {})}


def names_of(rows: Sequence[Row]) -> list[str]:
    """The strategies of a table, in their order."""
    return list(dict.fromkeys(row["strategy"] for row in rows))


def new_figure(width: float = 10.0, height: float = 4.4) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")
