"""Print instances, lower bounds, runs and simulations on a terminal."""

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from .._internal.arguments import means_array
from .._internal.tables import count
from ..evidence.spec import POOL
from ..objectives import Objective
from ..study import sentences
from ..theory.bounds import BOUNDS, LowerBounds
from ..theory.characteristic import CharacteristicTime, Status, on_threshold
from .console import LABELS, ROWS, say, say_rest, styled, styled_label, table

if TYPE_CHECKING:  # loading them would take longer than `allgood bound` computes
    from ..simulation.run import Result, Snapshot
    from ..simulation.simulate import Simulation, Summary


def print_instance(means: list[float], objective: Objective, time: CharacteristicTime) -> None:
    """Print the answer, T* with its bracket, and a table of arms."""
    good = objective.answer(means)
    undecided = time.status is Status.UNDECIDABLE
    unsure = on_threshold(means_array(means), objective) & undecided
    rows = []
    for a in _shown(means):
        label = "on the threshold" if unsure[a] else _label(bool(good[a]))
        weight = "-" if math.isnan(time.weights[a]) else f"{time.weights[a]:.6f}"
        rows.append((str(a), f"{means[a]:.6g}", label, weight))
    print(table(("arm", "mean", "label", "optimal weight"), rows, left=("label",)))
    say_rest(ROWS, len(means))
    if not undecided:
        say(
            f"\n{int(good.sum())} of {len(means)} arms are good: mean at least "
            f"{objective.threshold(means):.6g}."
        )
    if math.isfinite(time.value):
        known = f"= {time.value:.7g}," if time.status is Status.SOLVED else "is"
        say(
            f"T* {known} certified to lie between {time.lower_bound:.9g} and {time.value:.9g} "
            f"(relative gap {time.gap:.1e}, {time.iterations} steps of {time.method})."
        )
    if time.status is not Status.SOLVED:
        say(f"{time.status.name}: {time.message}")
    say()


def print_bounds(bounds: list[LowerBounds]) -> None:
    """Print lower bounds on the expected number of pulls, and why some are missing."""
    titles = (title for title, _ in BOUNDS.values())
    headings = ("delta", *(f"{title}*" if title == "moderate" else title for title in titles))
    rows = []
    for b in bounds:
        cells = (getattr(b, name) for name in BOUNDS)
        rows.append((f"{b.delta:g}", *("-" if x is None else _pulls(x) for x in cells)))
    say("No strategy can expect fewer pulls than")
    print(table(headings, rows))
    if any(b.moderate is not None for b in bounds):
        say("* on the average over all orders of the arms")
    for b in bounds[:1] + [
        b for before, b in itertools.pairwise(bounds) if b.reasons != before.reasons
    ]:
        for name, reason in b.reasons.items():
            say(f"- {BOUNDS[name][0]} at delta = {b.delta:g}: {reason}")
    say()


def _pulls(value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{value:,.1f}" if value < 1e9 else f"{value:.4g}"


def _label(good: bool) -> str:
    return styled_label("good" if good else "bad")


def _shown(means: list[float]) -> list[int]:
    """Return the arms that a table shows: all in their order, or the highest means of many."""
    arms = range(len(means))
    return list(arms) if len(means) <= ROWS else sorted(arms, key=lambda a: -means[a])[:ROWS]


def run_table(snapshot: "Snapshot", optimal: CharacteristicTime | None = None) -> str:
    """Lay out a run in the middle or at its end: the pulls, label and evidence of each arm."""
    claims = snapshot.claims
    headings = ["arm", "pulls", "share", *(["optimal"] if optimal else []), "estimate"]
    headings += ["label", "evidence / need", "rests on"] if claims else []
    estimates = snapshot.means.tolist()
    rows = []
    for a in _shown(estimates):
        cells = [str(a), f"{snapshot.counts[a]:,}", f"{snapshot.counts[a] / snapshot.pulls:.3f}"]
        cells += [f"{optimal.weights[a]:.3f}"] if optimal else []
        cells += [f"{estimates[a]:.4g}"]
        if claims is not None:
            label = "open" if claims.open[a] else "good" if claims.good[a] else "bad"
            shown = label if label == "open" else f"certified {label}"
            rival = int(claims.rival[a])
            own = "" if claims.evidence[a] == math.inf else "itself"
            rests = sentences.POOL if rival == POOL else own if rival == a else f"arm {rival}"
            evidence, need = float(claims.evidence[a]), float(claims.need[a])
            cells += [
                styled(shown, LABELS[label]),
                sentences.evidence_over_need(evidence, need, need_digits=".1f"),
                rests,
            ]
        rows.append(cells)
    return table(headings, rows, left=("label",))


def print_verdict(result: "Result", objective: Objective, delta: float) -> None:
    """Print the answer of a run in words, and its guarantee."""
    K = result.answer.size
    say_rest(ROWS, K)
    good = [str(a) for a in range(K) if result.answer[a]]
    if not good:
        named = "no arm is"
    elif len(good) == 1:
        named = f"arm {good[0]} is"
    elif len(good) <= ROWS:
        named = f"arms {', '.join(good)} are"
    else:
        named = f"{len(good)} of {K} arms are"
    say(f"\nVerdict after {result.pulls:,} pulls: {named} {objective.wording}.")
    say(guarantee(result.certified, result.proven, delta))


@contextmanager
def live_table(optimal: CharacteristicTime | None = None) -> "Iterator[Callable[[Snapshot], None]]":
    """Show a table that follows a run on a terminal; elsewhere print only the last state."""
    last: list[Snapshot] = []
    if not sys.stdout.isatty():
        yield last.append
        print(run_table(last[-1], optimal))
        return
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as shown:

        def follow(snapshot: "Snapshot") -> None:
            shown.update(Text.from_ansi(run_table(snapshot, optimal)), refresh=True)
            time.sleep(0.05)  # slow a run of milliseconds down, so that it can be seen

        yield follow


def guarantee(certified: bool, proven: bool, delta: float) -> str:
    """Return the guarantee of a run in a sentence."""
    if not certified:
        return "The budget ran out first: this carries no guarantee."
    if not proven:
        return (
            "It stopped by itself, by a rule for which no proof is known (meant for an error of "
            f"at most {delta:g})."
        )
    return f"Certified: wrong with probability at most {delta:g}."


def print_summaries(rows: "Mapping[str, list[Summary]]", proven: Mapping[str, bool]) -> None:
    """Print strategies side by side, a row for each of them and each risk."""
    every = [s for summaries in rows.values() for s in summaries]
    cells: dict[str, Callable[[str, Summary], str]] = {
        "strategy": lambda name, s: name if proven[name] else f"{name} *",
        "delta": lambda _, s: f"{s.delta:g}",
        "stopped": lambda _, s: f"{s.certified}/{s.runs}",
        "mean pulls": lambda _, s: count(s.mean),
        "+-": lambda _, s: "-" if math.isnan(s.standard_error) else count(s.standard_error),
        "10 %": lambda _, s: count(s.quantiles[0]),
        "90 %": lambda _, s: count(s.quantiles[2]),
        "wrong": lambda _, s: str(s.errors),
        "rate": lambda _, s: (
            "{:.1f}-{:.1f} %".format(*(100 * x for x in s.error_interval)) if s.certified else "-"
        ),
        "bound": lambda _, s: "-" if s.lower_bound is None else count(s.lower_bound),
        "x bound": lambda _, s: "-" if s.ratio is None else f"{s.ratio:.2f}",
    }
    single = len({s.delta for s in every}) == 1
    if single:
        del cells["delta"], cells["bound"]
    if all(s.certified == s.runs for s in every):
        del cells["stopped"]
    lines = [
        [cell(name, s) for cell in cells.values()]
        for name, summaries in rows.items()
        for s in summaries
    ]
    print(table(list(cells), lines, left=("strategy",)))
    say(
        f"\n{every[0].runs} runs each; +- is the standard error, rate the exact 95 % interval for "
        "wrong answers."
    )
    bound = (
        f", {count(every[0].lower_bound)} at delta = {every[0].delta:g}"
        if single and every[0].lower_bound
        else ""
    )
    say(f"x bound: mean pulls over what no strategy can beat on average{bound}.")
    if not all(proven.values()):
        say("* stops by a rule for which no proof of the risk is known.")
    if "stopped" in cells:
        say(
            "Runs that did not stop by themselves count with their budget, and neither as right "
            "nor as wrong."
        )
    say()


def print_tracks(simulations: "Mapping[str, Simulation]") -> None:
    """Print F1 score, precision, recall and certified labels over the pulls; means of the runs."""
    headings = ("strategy", "pulls", "F1", "10 %", "90 %", "precision", "recall", "labels", "wrong")
    rows = []
    for name, simulation in simulations.items():
        assert simulation.grid is not None
        f1, labels, wrong = simulation.f1, simulation.labels_certified, simulation.labels_wrong
        low, high = np.quantile(f1, [0.1, 0.9], axis=0)
        for n, pulls in enumerate(simulation.grid):
            scores = (
                f1[:, n].mean(),
                low[n],
                high[n],
                simulation.precision[:, n].mean(),
                simulation.recall[:, n].mean(),
            )
            certified, errors = labels[:, n].mean(), wrong[:, n].mean()
            cells = [name, f"{pulls:,}", *(f"{score:.4f}" for score in scores)]
            rows.append([*cells, f"{certified:.2f}", f"{errors:.2g}"])
    print(table(headings, rows, left=("strategy",)))
    risks = {simulation.strategy.risks[-1] for simulation in simulations.values()}
    confidence = " or ".join(f"{1.0 - risk:g}" for risk in sorted(risks))
    say(
        "\nEvery run went on to the last number of pulls: no answer here carries a guarantee.\n"
        "But labels that are certified do: with probability at least "
        f"{confidence} none of a run is wrong.\n"
    )
