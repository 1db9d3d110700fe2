"""Compare several strategies, on one instance or many.

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
from .registry import full_name, strategy_from, strategy_named
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
        instance: the instance.
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
        """The strategy, the instance and the reason, as a sentence."""
        where = f" on {self.instance.name}" if self.instance.name else ""
        return f"{self.strategy}{where}: {self.refused}"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """Several strategies on several instances.

    Attributes:
        rows: one for each instance and strategy, in their order.
        delta, runs, seed: the arguments of :func:`compare`.
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
            f"{_first_names(strategies)}; {_first_names([part.name for part in instances])})"
        )

    def __str__(self) -> str:
        """Return mean pulls of each strategy on each instance, as ``allgood compare --suite``
        prints them.

        With a grid: the table.
        """
        simulations = [row.simulation for row in self.rows if row.simulation is not None]
        if any(simulation.grid is not None for simulation in simulations):
            return str(self.table())
        parts, any_tied = [], any(instance.tied for instance in self.instances)
        titles = {False: "One best arm", True: "Best mean shared by several arms"}
        for tied, title in titles.items():
            instances = [part for part in self.instances if part.tied is tied]
            if instances:
                parts.append(f"{title}\n" * any_tied + self._pulls_on(instances))
        ending = [
            f"Mean pulls +- standard error over {counted(self.runs, 'run')}, delta = "
            f"{self.delta:g}; bound: what no strategy can beat on average; > if some runs spent "
            "their budget."
        ]
        if not all(simulation.proven for simulation in simulations):
            ending.append("* stops by a rule for which no proof of the risk is known.")
        ending += [f"- {row.refusal}" for row in self.rows if row.refused]
        return "\n\n".join([*parts, "\n".join(ending)])

    def _pulls_on(self, instances: list[Instance]) -> str:
        """Return the table; with several strategies, its last column compares the first with the
        others.
        """
        proven = {row.strategy: row.simulation.proven for row in self.rows if row.simulation}
        names = [name for name in self.strategies if name in proven]
        several = len(names) > 1
        headings = ["instance", "K", "good", "bound"]
        headings += [name if proven[name] else f"{name} *" for name in names]
        headings += [f"{names[0]} / best other"] * several
        rows = []
        for instance in instances:
            summaries = {key: runs.summary() for key, runs in self.of_instance(instance).items()}
            bound = next(iter(summaries.values())).lower_bound
            good = int(instance.objective.answer(instance.means).sum())
            row = [instance.name, f"{instance.means.size}", f"{good}"]
            row.append("-" if bound is None else count(bound))
            row += [_mean_pulls(summaries[name]) if name in summaries else "-" for name in names]
            rows.append(row + [_against_others(summaries, names[0])] * several)
        return text_table(headings, rows, left=["instance"])

    def _repr_html_(self) -> str:
        """Return mean pulls of each strategy on each instance, and the standard error, for a
        notebook.
        """
        columns: dict[str, list[Any]] = {"instance": [part.name for part in self.instances]}
        for name in self.strategies:
            runs_of = [self.of_instance(instance).get(name) for instance in self.instances]
            columns[name] = [runs and _mean_pulls(runs.summary()) for runs in runs_of]
        title = f"Mean pulls; {counted(self.runs, 'run')} each, delta = {self.delta:g}"
        return html_table(title, columns)

    def table(self) -> Table:
        """Return one row for each instance and strategy: its summary.

        With a grid, one for each instance, strategy and point of the grid: means over the runs.
        """
        return Table.of_rows(line for row in self.rows for line in _lines(row))

    def each_run(self) -> Table:
        """Return the tables of all simulations, with their instance and strategy."""
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
        """Return the simulations on an instance, itself or its name, by the strategy's name."""
        rows = [row for row in self.rows if instance in (row.instance, row.instance.name)]
        return {row.strategy: row.simulation for row in rows if row.simulation is not None}


def _first_names(names: list[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _mean_pulls(summary: Summary) -> str:
    """Return the mean and its standard error; a lower bound if some runs spent their budget."""
    wrong = f" ({summary.errors} wrong)" if summary.errors else ""
    if summary.certified < summary.runs:
        return f"> {count(summary.mean)}{wrong}"
    error = f" +- {count(summary.standard_error)}" if summary.runs > 1 else ""
    return f"{count(summary.mean)}{error}{wrong}"


def _against_others(summaries: Mapping[str, Summary], first: str) -> str:
    """Return the mean pulls of the first strategy over those of the best other one."""
    rivals = [s.mean for name, s in summaries.items() if name != first and s.certified == s.runs]
    if not rivals or first not in summaries:
        return "-"
    ours = summaries[first]
    sign = "" if ours.certified == ours.runs else "> "
    return f"{sign}{ours.mean / min(rivals):.2f}"


SUMMARY = ("delta", "runs", "certified", "mean", "standard_error", "errors", "lower_bound", "ratio")
QUANTILES = ("pulls_10", "pulls_50", "pulls_90")
RATES = ("error_low", "error_high")
TRACK = ("f1", "precision", "recall", "labels_certified", "labels_wrong")


def _lines(row: ComparisonRow) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table for one strategy on one instance."""
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
        summary = simulation.summary()
        yield (
            start
            | {name: getattr(summary, name) for name in SUMMARY}
            | dict(zip(QUANTILES, summary.quantiles, strict=True))
            | dict(zip(RATES, summary.error_interval, strict=True))
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
        strategies: names such as ``"st2:mixture"``, or ``"my_module:Mine"`` for your own; classes,
            or functions that make a strategy from an objective and a delta; strategies themselves,
            which must have the objective of the instance and this delta.  A mapping gives each a
            name for the table.
        instances: one or several of these, in any mixture: an Instance; the name of a suite such as
            ``"few"``, or of a file such as ``"mine.toml"``; a tuple (name, means, objective,
            model); means alone.  Or a mapping of names to means.
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
    options = {"runs": runs, "seed": seed, "budget": budget, "workers": workers, "grid": grid}
    rows: list[ComparisonRow] = []
    for instance in _instances(instances, objective, model):
        block = [
            _row(instance, name, candidate, delta, folder, progress, options)
            for name, candidate in candidates.items()
        ]
        if all(row.simulation is None for row in block):
            raise ValueError(block[0].refusal)
        rows += block
    return Comparison(tuple(rows), delta, runs, seed)


def _strategy(name: str, candidate: Candidate, instance: Instance, delta: float) -> Strategy:
    """Return the strategy that a candidate stands for on this instance."""
    if isinstance(candidate, str):
        return strategy_named(candidate, instance.objective, delta)
    return strategy_from(name, candidate, instance.objective, delta)


def _row(
    instance: Instance,
    name: str,
    candidate: Candidate,
    delta: float,
    folder: Path | None,
    progress: bool,
    options: dict[str, Any],
) -> ComparisonRow:
    """Simulate one strategy on one instance; the row says so if the strategy refuses it."""
    strategy = _strategy(name, candidate, instance, delta)
    try:
        started(strategy, instance.means.size, instance.model)
    except ValueError as error:
        return ComparisonRow(instance, name, None, str(error))
    file = None
    if folder is not None:
        file = folder / re.sub(r"[^\w.-]", "-", f"{instance.name or 'means'}-{name}.jsonl")
    arms = Arms(instance.means, instance.noise)
    title = f"{instance.name}: {name}" if instance.name else name
    with progress_bar(title) if progress else nullcontext(None) as report:
        simulation = simulate(
            strategy, arms, instance.model, progress=report, resume=file, **options
        )
    return ComparisonRow(instance, name, simulation)


def _named(strategies: Any) -> dict[str, Candidate]:
    """Return the strategies by their names."""
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


def _instances(source: Any, objective: Objective | None, model: Model | None) -> list[Instance]:
    """Return one instance or several, from any of their forms."""
    if isinstance(source, Mapping):
        source = list(source.items())
    chosen: list[Instance] = []
    for number, item in enumerate(source if _are_several(source) else [source], start=1):
        if isinstance(item, Instance):
            chosen.append(item)
        elif isinstance(item, str | os.PathLike):
            chosen += suite(item)
        else:
            parts = item if _is_named(item) else (f"means-{number}", item)
            chosen.append(_instance(parts, objective, model))
    names = [instance.name for instance in chosen]
    if not names:
        raise ValueError("instances must hold at least one instance: got none.")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"instances must have different names: got {repeated[0]!r} more than once."
        )
    return chosen


def _are_several(source: Any) -> bool:
    """Return whether these are instances, and not a single one."""
    if hasattr(source, "__array__"):
        return np.ndim(source) > 1
    if not isinstance(source, Iterable) or isinstance(source, str) or _is_named(source):
        return False
    numbers = isinstance(source, list | tuple) and all(isinstance(x, Real) for x in source)
    return not source or not numbers


def _is_named(item: Any) -> bool:
    """Return whether this is a tuple (name, means, ...), and not one of several names."""
    return (
        isinstance(item, tuple)
        and len(item) > 1
        and isinstance(item[0], str)
        and not isinstance(item[1], str | os.PathLike | Instance)
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
