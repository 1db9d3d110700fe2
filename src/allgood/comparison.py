"""Several strategies side by side, on one instance or many.

>>> from allgood import Additive, Instance, compare
>>> instance = Instance("three", [1.0, 0.9, 0.2], Additive(0.5))
>>> comparison = compare(["weakest-claim", "uniform"], instance, delta=0.1, runs=5)
>>> [row.strategy for row in comparison.rows]
['weakest-claim', 'uniform:mixture']
>>> all(row.simulation.correct.all() for row in comparison.rows)
True
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy.typing as npt

from ._check import probability
from ._progress import progress_bar
from .catalogue import full_name, strategy_named
from .environments import Arms
from .objectives import Objective
from .simulation import Simulation, simulate
from .strategies.base import Strategy
from .suites import Instance, suite

# A strategy that can be compared: its name, the strategy itself, or a function that makes it.
Candidate: TypeAlias = str | Strategy | Callable[[Objective, float], Strategy]


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One strategy on one instance.

    Attributes:
        instance: what was measured.
        strategy: the strategy's name.
        simulation: its runs; None if the strategy cannot handle the instance.
        refused: why it cannot; empty if it can.
    """

    instance: Instance
    strategy: str
    simulation: Simulation | None
    refused: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several strategies on several instances.

    Attributes:
        rows: one for each instance and strategy, in the order given.
        delta, runs, seed: as given.
    """

    rows: tuple[ComparisonRow, ...]
    delta: float
    runs: int
    seed: int

    @property
    def strategies(self) -> list[str]:
        """The names of the strategies, in their order."""
        return list(dict.fromkeys(row.strategy for row in self.rows))

    @property
    def instances(self) -> list[Instance]:
        return list({row.instance.name: row.instance for row in self.rows}.values())

    def of_instance(self, instance: Instance) -> dict[str, Simulation]:
        """The simulations on an instance, by the name of the strategy."""
        rows = [row for row in self.rows if row.instance is instance]
        return {row.strategy: row.simulation for row in rows if row.simulation is not None}


def compare(
    strategies: Iterable[Candidate] | Mapping[str, Candidate],
    instances: str | Instance | Iterable[Instance],
    delta: float,
    runs: int,
    *,
    seed: int = 0,
    workers: Any = None,
    budget: int | None = None,
    progress: bool = False,
    grid: npt.ArrayLike | None = None,
    resume: "str | os.PathLike[str] | None" = None,
) -> Comparison:
    """Simulate every strategy on every instance.

    The seed is the same for all: run i of each strategy draws from the same stream.

    Args:
        strategies: names as ``"st2:mixture"``; or strategies of your own; or functions, such as
            classes, that make a strategy from an objective and a delta.  A mapping gives each a
            name for the table.  A strategy that was made before must have the objective of the
            instance and this delta.
        instances: an Instance, or several, or the name of a suite as ``"few"``.
        delta: the risk.
        runs: independent runs of each strategy on each instance.
        seed, workers, budget, grid: as for :func:`simulate`.
        progress: show a bar on the terminal.
        resume: a folder that keeps finished runs.  The same call goes on from there.

    Raises:
        ValueError: if all strategies refuse an instance.
    """
    delta = probability("delta", delta)
    candidates = _named(strategies)
    folder = None if resume is None else Path(resume)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    rows: list[ComparisonRow] = []
    for instance in _instances(instances):
        here = []
        for name, candidate in candidates.items():
            strategy = _made(name, candidate, instance.objective, delta)
            try:
                strategy.start(instance.means.size, instance.model)
            except ValueError as error:
                here.append(ComparisonRow(instance, name, None, str(error)))
                continue
            title = f"{instance.name}: {name}" if instance.name else name
            file = (
                None
                if folder is None
                else folder / f"{instance.name}-{name}.jsonl".replace(":", "-")
            )
            with progress_bar(title) if progress else nullcontext(None) as report:
                simulation = simulate(
                    strategy,
                    Arms(instance.means, instance.noise),
                    instance.model,
                    runs=runs,
                    seed=seed,
                    budget=budget,
                    workers=workers,
                    progress=report,
                    grid=grid,
                    resume=file,
                )
            here.append(ComparisonRow(instance, name, simulation))
        if all(row.simulation is None for row in here):
            raise ValueError(here[0].refused)
        rows += here
    return Comparison(tuple(rows), delta, runs, seed)


def _named(strategies: Iterable[Candidate] | Mapping[str, Candidate]) -> dict[str, Candidate]:
    """The strategies by their names."""
    if isinstance(strategies, Mapping):
        return dict(strategies)
    named: dict[str, Candidate] = {}
    for candidate in [strategies] if isinstance(strategies, str) else strategies:
        name = _name(candidate)
        if name in named and not isinstance(candidate, str):
            raise ValueError(
                f"strategies must have different names: got {name!r} more than once. "
                "A mapping {name: strategy} gives them names."
            )
        named[name] = candidate
    if not named:
        raise ValueError("strategies must hold at least one strategy: got none.")
    return named


def _name(candidate: Candidate) -> str:
    if isinstance(candidate, str):
        return full_name(candidate)
    name: str = getattr(candidate, "__name__", type(candidate).__name__)
    return name


def _made(name: str, candidate: Any, objective: Objective, delta: float) -> Strategy:
    """The strategy for this objective and risk."""
    if isinstance(candidate, str):
        return strategy_named(candidate, objective, delta)
    made: Strategy = candidate
    if isinstance(candidate, type) or not hasattr(candidate, "start"):
        made = candidate(objective, delta)
    if made.objective != objective or made.risks != (delta,):
        risks = ", ".join(f"{risk:g}" for risk in made.risks)
        raise ValueError(
            f"strategy {name} must have the objective {objective} and the risk {delta:g} here: got "
            f"{made.objective} and {risks}."
        )
    return made


def _instances(instances: str | Instance | Iterable[Instance]) -> list[Instance]:
    if isinstance(instances, str):
        return suite(instances)
    if isinstance(instances, Instance):
        return [instances]
    chosen = list(instances)
    if not chosen or not all(isinstance(one, Instance) for one in chosen):
        raise TypeError(f"instances must hold Instance objects, at least one: got {instances!r}.")
    names = [one.name for one in chosen]
    if len(set(names)) < len(names):
        raise ValueError(f"instances must have different names: got {', '.join(names)}.")
    return chosen
