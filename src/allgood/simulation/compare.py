"""Several strategies side by side, on one instance or many.

>>> from allgood import Additive, Instance, compare
>>> instance = Instance("three", [1.0, 0.9, 0.2], Additive(0.5))
>>> comparison = compare(["claim-by-claim", "uniform"], instance, delta=0.1, runs=5)
>>> [row.strategy for row in comparison.rows]
['claim-by-claim', 'uniform:mixture']
>>> all(row.simulation.correct.all() for row in comparison.rows)
True
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._internal.arguments import probability
from .._internal.progress import progress_bar
from .._internal.tables import Table, Tabular, count, counted, html_table, text_table
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Objective
from ..strategies.base import Strategy
from .environments import Arms, Environment
from .instances import Instance, suite
from .registry import full_name, made, strategy_named
from .run import started
from .simulate import Simulation, Summary, simulate

# A strategy that can be compared: its name, the strategy itself, or a function that makes it.
Candidate: TypeAlias = str | Strategy | Callable[[Objective, float], Strategy]

# What an instance may be given as: itself; a suite by its name, or by its file; (name, means,
# objective, model), of which the last two may be left out; means.
InstanceLike: TypeAlias = (
    "Instance | str | os.PathLike[str] | tuple[str, npt.ArrayLike]"
    " | tuple[str, npt.ArrayLike, Objective] | tuple[str, npt.ArrayLike, Objective, Model]"
    " | npt.ArrayLike"
)


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

    @property
    def refusal(self) -> str:
        """Who refuses what, and why."""
        where = f" on {self.instance.name}" if self.instance.name else ""
        return f"{self.strategy}{where}: {self.refused}"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """Several strategies on several instances.

    Attributes:
        rows: one for each instance and strategy, in the order given.
        delta, runs, seed: as given.
    """

    rows: tuple[ComparisonRow, ...]
    delta: float
    runs: int
    seed: int

    def __repr__(self) -> str:
        strategies, instances = self.strategies, self.instances
        return (
            f"Comparison({counted(len(strategies), 'strategy', 'strategies')} on "
            f"{counted(len(instances), 'instance')}, "
            f"{counted(self.runs, 'run')} each, delta = {self.delta:g}: "
            f"{_some(strategies)}; {_some([one.name for one in instances])})"
        )

    def __str__(self) -> str:
        """Mean pulls of each strategy on each instance, as ``allgood compare --suite`` prints them.

        With a grid: the table.
        """
        done = [row.simulation for row in self.rows if row.simulation is not None]
        if any(simulation.grid is not None for simulation in done):
            return str(self.table())
        parts, some_tied = [], any(one.tied for one in self.instances)
        titles = {False: "One best arm", True: "Best mean shared by several arms"}
        for tied, title in titles.items():
            instances = [one for one in self.instances if one.tied is tied]
            if instances:
                parts.append(f"{title}\n" * some_tied + self._pulls_on(instances))
        ending = [
            f"Mean pulls +- standard error over {counted(self.runs, 'run')}, delta = "
            f"{self.delta:g}; bound: what no strategy can beat on average; > where some runs spent "
            "their budget."
        ]
        if not all(simulation.proven for simulation in done):
            ending.append("* stops by a rule for which no proof of the risk is known.")
        ending += [f"- {row.refusal}" for row in self.rows if row.refused]
        return "\n\n".join([*parts, "\n".join(ending)])

    def _pulls_on(self, instances: list[Instance]) -> str:
        """If there are several strategies, the last column sets the first against the others."""
        proven = {row.strategy: row.simulation.proven for row in self.rows if row.simulation}
        names = [name for name in self.strategies if name in proven]
        several = len(names) > 1
        headings = ["instance", "K", "good", "bound"]
        headings += [name if proven[name] else f"{name} *" for name in names]
        headings += [f"{names[0]} / best other"] * several
        rows = []
        for one in instances:
            found = {name: runs.summary() for name, runs in self.of_instance(one).items()}
            bound = next(iter(found.values())).lower_bound
            good = int(one.objective.answer(one.means).sum())
            row = [one.name, f"{one.means.size}", f"{good}", "-" if bound is None else count(bound)]
            row += [_mean_pulls(found[name]) if name in found else "-" for name in names]
            rows.append(row + [_against_others(found, names[0])] * several)
        return text_table(headings, rows, left=["instance"])

    def _repr_html_(self) -> str:
        """Mean pulls of each strategy on each instance, and the standard error."""
        columns: dict[str, list[Any]] = {"instance": [one.name for one in self.instances]}
        for name in self.strategies:
            found = [self.of_instance(one).get(name) for one in self.instances]
            columns[name] = [None if one is None else _mean_pulls(one.summary()) for one in found]
        runs = counted(self.runs, "run")
        return html_table(f"Mean pulls; {runs} each, delta = {self.delta:g}", columns)

    def table(self) -> Table:
        """One row for each instance and strategy: its summary.

        With a grid, one for each instance, strategy and point of the grid: means over the runs.
        """
        return Table.of_rows(line for row in self.rows for line in _lines(row))

    def each_run(self) -> Table:
        """The tables of all simulations, with their instance and strategy."""
        lines = []
        for row in self.rows:
            if row.simulation is None:
                continue
            columns = row.simulation.table().columns
            for values in zip(*columns.values(), strict=True):
                start = {"instance": row.instance.name, "strategy": row.strategy}
                lines.append(start | dict(zip(columns, values, strict=True)))
        return Table.of_rows(lines)

    @property
    def strategies(self) -> list[str]:
        """The names of the strategies, in their order."""
        return list(dict.fromkeys(row.strategy for row in self.rows))

    @property
    def instances(self) -> list[Instance]:
        return list({row.instance.name: row.instance for row in self.rows}.values())

    def of_instance(self, instance: Instance | str) -> dict[str, Simulation]:
        """The simulations on an instance, or on that of this name, by the name of the strategy."""
        rows = [row for row in self.rows if instance in (row.instance, row.instance.name)]
        return {row.strategy: row.simulation for row in rows if row.simulation is not None}


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _mean_pulls(summary: Summary) -> str:
    """The mean with its standard error; a lower bound on it where runs spent their budget."""
    wrong = f" ({summary.errors} wrong)" if summary.errors else ""
    if summary.certified < summary.runs:
        return f"> {count(summary.mean)}{wrong}"
    error = f" +- {count(summary.standard_error)}" if summary.runs > 1 else ""
    return f"{count(summary.mean)}{error}{wrong}"


def _against_others(summaries: Mapping[str, Summary], first: str) -> str:
    """The mean pulls of the first strategy over those of the best other one."""
    others = [s.mean for name, s in summaries.items() if name != first and s.certified == s.runs]
    if not others or first not in summaries:
        return "-"
    ours = summaries[first]
    more = "" if ours.certified == ours.runs else "> "
    return f"{more}{ours.mean / min(others):.2f}"


SUMMARY = ("delta", "runs", "certified", "mean", "standard_error", "errors", "lower_bound", "ratio")
QUANTILES = ("pulls_10", "pulls_50", "pulls_90")
RATES = ("error_low", "error_high")
TRACK = ("f1", "precision", "recall", "labels_certified", "labels_wrong")


def _lines(row: ComparisonRow) -> Iterator[dict[str, Any]]:
    """What the table says of one strategy on one instance."""
    instance, simulation = row.instance, row.simulation
    start = {
        "instance": instance.name,
        "arms": instance.means.size,
        "tied": instance.tied,
        "strategy": row.strategy,
        "proven": None if simulation is None else simulation.proven,
        "refused": row.refused,
    }
    if simulation is None:
        yield start
    elif simulation.grid is None:
        found = simulation.summary()
        yield (
            start
            | {name: getattr(found, name) for name in SUMMARY}
            | dict(zip(QUANTILES, found.quantiles, strict=True))
            | dict(zip(RATES, found.error_interval, strict=True))
        )
    else:
        means = {name: getattr(simulation, name).mean(axis=0).tolist() for name in TRACK}
        for n, pulls in enumerate(simulation.grid.tolist()):
            yield start | {"pulls": pulls} | {name: means[name][n] for name in TRACK}


def compare(
    strategies: "Candidate | Iterable[Candidate] | Mapping[str, Candidate]",
    instances: "InstanceLike | Iterable[InstanceLike] | Mapping[str, npt.ArrayLike]",
    delta: float,
    runs: int,
    *,
    objective: Objective | None = None,
    model: Model | None = None,
    seed: int = 0,
    workers: Any = None,
    budget: int | None = None,
    progress: bool = False,
    grid: "npt.ArrayLike | None" = None,
    resume: "str | os.PathLike[str] | None" = None,
) -> Comparison:
    """Simulate every strategy on every instance.

    The seed is the same for all: run i of each strategy draws from the same stream.

    Args:
        strategies: names as ``"st2:mixture"``, or ``"my_module:Mine"`` for your own; classes, or
            functions that make a strategy from an objective and a delta; strategies made before,
            which must have the objective of the instance and this delta.  A mapping gives each a
            name for the table.
        instances: one or several of these, in any mixture: an Instance; the name of a suite as
            ``"few"``, or of a file as ``"mine.toml"``; a tuple (name, means, objective, model);
            means alone.  Or a mapping of names to means.
        delta: the risk.
        objective, model: of instances that do not state theirs; by default rewards are normal with
            sigma = 1.
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
    for instance in _instances(instances, objective, model):
        here = []
        for name, candidate in candidates.items():
            if isinstance(candidate, str):
                strategy = strategy_named(candidate, instance.objective, delta)
            else:
                strategy = made(name, candidate, instance.objective, delta)
            try:
                started(strategy, instance.means.size, instance.model)
            except ValueError as error:
                here.append(ComparisonRow(instance, name, None, str(error)))
                continue
            title = f"{instance.name}: {name}" if instance.name else name
            file = (
                None
                if folder is None
                else folder / re.sub(r"[^\w.-]", "-", f"{instance.name or 'means'}-{name}.jsonl")
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
            raise ValueError(here[0].refusal)
        rows += here
    return Comparison(tuple(rows), delta, runs, seed)


def _named(strategies: Any) -> dict[str, Candidate]:
    """The strategies by their names."""
    if isinstance(strategies, Mapping):
        return dict(strategies)
    named: dict[str, Candidate] = {}
    several = isinstance(strategies, Iterable) and not isinstance(strategies, str)
    for candidate in strategies if several else [strategies]:
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
    while isinstance(candidate, partial):
        candidate = candidate.func
    name: str = getattr(candidate, "__name__", type(candidate).__name__)
    return name


def _instances(given: Any, objective: Objective | None, model: Model | None) -> list[Instance]:
    """One instance or several, in any of their forms."""
    if isinstance(given, Mapping):
        given = list(given.items())
    chosen: list[Instance] = []
    for number, one in enumerate(given if _are_several(given) else [given], start=1):
        if isinstance(one, Instance):
            chosen.append(one)
        elif isinstance(one, str | os.PathLike):
            chosen += suite(one)
        else:
            parts = one if _is_named(one) else (f"means-{number}", one)
            chosen.append(_instance(parts, objective, model))
    names = [one.name for one in chosen]
    if not names:
        raise ValueError("instances must hold at least one instance: got none.")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ValueError(f"instances must have different names: got {twice[0]!r} more than once.")
    return chosen


def _are_several(given: Any) -> bool:
    """Whether these are instances, and not a single one."""
    if hasattr(given, "__array__"):
        return np.ndim(given) > 1
    if not isinstance(given, Iterable) or isinstance(given, str) or _is_named(given):
        return False
    numbers = isinstance(given, list | tuple) and all(isinstance(x, Real) for x in given)
    return not given or not numbers


def _is_named(given: Any) -> bool:
    """Whether this is a tuple (name, means, ...), and not one of several names."""
    return (
        isinstance(given, tuple)
        and len(given) > 1
        and isinstance(given[0], str)
        and not isinstance(given[1], str | os.PathLike | Instance)
    )


def _instance(parts: tuple[Any, ...], objective: Objective | None, model: Model | None) -> Instance:
    name, means, *own = parts
    several = callable(means) or isinstance(means, Environment)
    hint = " For environments call simulate once per strategy, with the same seed." * several
    if several or len(own) > 2 or not (isinstance(means, Sequence) or hasattr(means, "__array__")):
        raise TypeError(
            "instances must be Instance objects, names of suites, tuples (name, means, objective, "
            f"model), or means: got {means if name.startswith('means-') else parts!r}.{hint}"
        )
    question = own[0] if own else objective
    if question is None:
        raise ValueError(f"objective must be given for the means of {name}: got None.")
    return Instance(name, means, question, own[1] if len(own) > 1 else model or Gaussian())
