"""How results look on a terminal."""

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._internal.arguments import means_array
from .._internal.tables import count, counted, listed
from ..evidence.spec import POOL
from ..objectives import Objective
from ..study import sentences

if TYPE_CHECKING:
    from ..simulation.run import Result, Snapshot
    from ..simulation.simulate import Simulation, Summary
    from ..study.diagnostics import Checks
    from ..study.state import Ticket
    from ..study.status import StudyStatus
    from ..theory.bounds import LowerBounds
    from ..theory.characteristic import CharacteristicTime

ROWS = 24  # a table of arms shows at most this many; --json shows all


def _table(*columns: str, left: tuple[str, ...] = (), title: str | None = None) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
    )
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True)
    return table


def _console() -> Console:
    """As wide as the terminal.  If the output is no terminal, wide enough for every line."""
    width = None if sys.stdout.isatty() else 300
    return Console(highlight=False, emoji=False, width=width)


def print_instance(means: list[float], objective: Objective, time: "CharacteristicTime") -> None:
    """Print the answer, T* with its bracket, and a table of arms."""
    from ..theory.characteristic import Status, on_threshold

    good = objective.answer(means)
    undecided = time.status is Status.UNDECIDABLE
    unsure = on_threshold(means_array(means), objective) & undecided
    console = _console()
    table = _table("arm", "mean", "label", "optimal weight", left=("label",))
    for a in _shown(means):
        label = "on the threshold" if unsure[a] else _label(bool(good[a]))
        weight = "-" if math.isnan(time.weights[a]) else f"{time.weights[a]:.6f}"
        table.add_row(str(a), f"{means[a]:.6g}", label, weight)
    console.print(table)
    _rest(console, len(means))
    if not undecided:
        console.print(
            f"\n{int(good.sum())} of {len(means)} arms are good: mean at least "
            f"{objective.threshold(means):.6g}."
        )
    if math.isfinite(time.value):
        known = f"= {time.value:.7g}," if time.status is Status.SOLVED else "is"
        console.print(
            f"T* {known} certified to lie between {time.lower_bound:.9g} and {time.value:.9g} "
            f"(relative gap {time.gap:.1e}, {time.iterations} steps of {time.method})."
        )
    if time.status is not Status.SOLVED:
        console.print(f"[bold]{time.status.name}[/bold]: {time.message}")
    console.print()


def print_bounds(bounds: "list[LowerBounds]") -> None:
    """Lower bounds on the expected number of pulls, and why some are missing."""
    console = _console()
    names = {
        "asymptotic": "T* kl(delta,1-delta)",
        "asymptotic_log": "T* log(1/2.4delta)",
        "mason": "Mason et al.",
        "moderate": "moderate",
    }
    headings = ("delta", *(f"{name}*" if name == "moderate" else name for name in names.values()))
    table = _table(*headings, title="No strategy can expect fewer pulls than")
    for b in bounds:
        cells = (getattr(b, name) for name in names)
        table.add_row(f"{b.delta:g}", *("-" if x is None else _pulls(x) for x in cells))
    console.print(table)
    if any(b.moderate is not None for b in bounds):
        console.print("* on the average over all orders of the arms")
    for b in bounds[:1] + [
        b for before, b in itertools.pairwise(bounds) if b.reasons != before.reasons
    ]:
        for name, why in b.reasons.items():
            console.print(f"- {names[name]} at delta = {b.delta:g}: {why}")
    console.print()


def _pulls(value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{value:,.1f}" if value < 1e9 else f"{value:.4g}"


def _label(good: bool) -> str:
    return "[blue]good[/blue]" if good else "[red]bad[/red]"


def _shown(means: list[float]) -> list[int]:
    """The arms that a table shows: all in their order, or the highest means of many."""
    arms = range(len(means))
    return list(arms) if len(means) <= ROWS else sorted(arms, key=lambda a: -means[a])[:ROWS]


def _rest(console: Console, num_arms: int) -> None:
    if num_arms > ROWS:
        console.print(f"... and {num_arms - ROWS} arms with lower means (--json shows all)")


def run_table(snapshot: "Snapshot", optimal: "CharacteristicTime | None" = None) -> Table:
    """A run in the middle or at its end: the pulls, label and evidence of each arm."""
    claims = snapshot.claims
    columns = ["arm", "pulls", "share", *(["optimal"] if optimal else []), "estimate"]
    table = _table(
        *columns, *(["label", "evidence / need", "rests on"] if claims else []), left=("label",)
    )
    estimates = snapshot.means.tolist()
    for a in _shown(estimates):
        cells = [str(a), f"{snapshot.counts[a]:,}", f"{snapshot.counts[a] / snapshot.pulls:.3f}"]
        cells += [f"{optimal.weights[a]:.3f}"] if optimal else []
        cells += [f"{estimates[a]:.4g}"]
        if claims is not None:
            label = "open" if claims.open[a] else f"certified {_label(bool(claims.good[a]))}"
            rival = int(claims.rival[a])
            alone = claims.evidence[a] == math.inf
            own = "" if alone else "itself"
            rests = "the pool" if rival == POOL else own if rival == a else f"arm {rival}"
            cells += [label, _evidence(claims.evidence[a], f"{claims.need[a]:.1f}"), rests]
        table.add_row(*cells)
    return table


def _evidence(value: float, need: str) -> str:
    """Evidence over need; where every other arm is certified bad, there is nothing to show."""
    if value == math.inf:
        return "no rival left"
    shown = 0.0 if abs(value) < 0.05 else value  # not -0.0
    return f"{'none' if value == -math.inf else f'{shown:.1f}'} / {need}"


def print_verdict(result: "Result", objective: Objective, delta: float) -> None:
    """The answer of one run in words, and its guarantee."""
    console = _console()
    K = result.answer.size
    _rest(console, K)
    good = [str(a) for a in range(K) if result.answer[a]]
    named = (
        "no arm is"
        if not good
        else f"arm {good[0]} is"
        if len(good) == 1
        else f"arms {', '.join(good)} are"
    )
    if len(good) > ROWS:
        named = f"{len(good)} of {K} arms are"
    console.print(f"\nVerdict after {result.pulls:,} pulls: {named} {objective.wording}.")
    console.print(guarantee(result.certified, result.proven, delta))


@contextmanager
def live_table(
    optimal: "CharacteristicTime | None" = None,
) -> "Iterator[Callable[[Snapshot], None]]":
    """A table that follows a run on a terminal.  Elsewhere only the last state is printed."""
    last: list[Snapshot] = []
    console = _console()
    if not console.is_terminal:
        yield last.append
        console.print(run_table(last[-1], optimal))
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as shown:

        def follow(snapshot: "Snapshot") -> None:
            shown.update(run_table(snapshot, optimal), refresh=True)
            time.sleep(0.05)  # slow a run of milliseconds down, so that it can be seen

        yield follow


def guarantee(certified: bool, proven: bool, delta: float) -> str:
    if not certified:
        return "The budget ran out first: this carries no guarantee."
    if not proven:
        return (
            "It stopped by itself, by a rule for which no proof is known (meant for an error of "
            f"at most {delta:g})."
        )
    return f"Certified: wrong with probability at most {delta:g}."


def print_summaries(rows: "Mapping[str, list[Summary]]", proven: Mapping[str, bool]) -> None:
    """Strategies side by side, one row for each of them and each risk."""
    console = _console()
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
    table = _table(*cells, left=("strategy",))
    table.padding = (0, 1, 0, 0)  # fits a narrow terminal
    for name, summaries in rows.items():
        for s in summaries:
            table.add_row(*(cell(name, s) for cell in cells.values()))
    console.print(table)
    console.print(
        f"\n{every[0].runs} runs each; +- is the standard error, rate the exact 95 % interval for "
        "wrong answers."
    )
    bound = (
        f", {count(every[0].lower_bound)} at delta = {every[0].delta:g}"
        if single and every[0].lower_bound
        else ""
    )
    console.print(f"x bound: mean pulls over what no strategy can beat on average{bound}.")
    if not all(proven.values()):
        console.print("* stops by a rule for which no proof of the risk is known.")
    if "stopped" in cells:
        console.print(
            "Runs that did not stop by themselves count with their budget, and neither as right "
            "nor as wrong."
        )
    console.print()


def print_tracks(simulations: "Mapping[str, Simulation]") -> None:
    """Over the pulls: F1 score, precision and recall, and certified labels; means of the runs."""
    console = _console()
    heads = ("strategy", "pulls", "F1", "10 %", "90 %", "precision", "recall", "labels", "wrong")
    table = _table(*heads, left=("strategy",))
    for name, simulation in simulations.items():
        assert simulation.grid is not None
        f1, labels, wrong = simulation.f1, simulation.labels_certified, simulation.labels_wrong
        low, high = np.quantile(f1, [0.1, 0.9], axis=0)
        for n, pulls in enumerate(simulation.grid):
            table.add_row(
                name,
                f"{pulls:,}",
                f"{f1[:, n].mean():.4f}",
                f"{low[n]:.4f}",
                f"{high[n]:.4f}",
                f"{simulation.precision[:, n].mean():.4f}",
                f"{simulation.recall[:, n].mean():.4f}",
                f"{labels[:, n].mean():.2f}",
                f"{wrong[:, n].mean():.2g}",
            )
    console.print(table)
    risks = {simulation.strategy.risks[-1] for simulation in simulations.values()}
    confidence = " or ".join(f"{1.0 - risk:g}" for risk in sorted(risks))
    console.print(
        "\nEvery run went on to the last number of pulls: no answer here carries a guarantee.\n"
        "But labels that are certified do: with probability at least "
        f"{confidence} none of a run is wrong.\n"
    )


SUSPECTS = 10  # shown at most


def _print_arms(console: Console, status: "StudyStatus", ended: bool = False) -> None:
    """A table of the arms of a study.  If it has ended, nothing is pending."""
    columns = (
        "arm",
        "label",
        "estimate",
        "interval",
        "pulls",
        *(() if ended else ("pending",)),
        "evidence / need",
        "rests on",
        "",
    )
    table = _table(
        *columns,
        left=("arm", "label", "rests on", ""),
        title=f"{escape(status.name)}: {status.wording}",
    )
    arms = list(status.arms)
    if len(arms) > ROWS:
        arms = sorted(
            arms, key=lambda one: -math.inf if math.isnan(one.mean) else one.mean, reverse=True
        )[:ROWS]
    for one in arms:
        label = "[dim]open[/dim]" if one.label == "open" else _label(one.label == "good")
        interval = f"{one.low:.4g} to {one.high:.4g}" if math.isfinite(one.high - one.low) else "-"
        known = not math.isnan(one.need)
        note = "withdrawn" if one.withdrawn else "dropped" if one.dropped is not None else ""
        if one.censored:
            note += f"{', ' if note else ''}{one.censored:,} in vain"
        table.add_row(
            escape(one.arm),
            label,
            "-" if math.isnan(one.mean) else f"{one.mean:.4g}",
            interval,
            f"{one.pulls:,}",
            *(() if ended else (f"{one.pending:,}" if one.pending else "",)),
            _evidence(one.evidence, f"{one.need:.2f}") if known else "-",
            "the pool" if one.on_pool else escape(one.rests_on or ""),
            note,
        )
    console.print(table)
    _rest(console, len(status.arms))


def print_status(status: "StudyStatus") -> None:
    """Print the arms of a study, the verdict, and all that needs attention."""
    console = _console()
    _print_arms(console, status)
    console.print(f"\n{escape(status.verdict)}")
    doubts = status.checks.doubts
    _print_misfit(console, doubts)
    if status.guarantee:
        console.print(status.guarantee)
    _print_guess(console, status)
    _print_progress(console, status)
    _print_notes(console, status)
    if status.waits_for is not None:
        ticket = status.waits_for
        reason = sentences.waiting(status.waiting, ticket.id, ticket.arm, ticket.client)
        console.print(f"\n{escape(reason)}")
    for i, suspect in enumerate(status.suspects):
        if i == SUSPECTS:
            console.print(f"... and {len(status.suspects) - i} more (--json shows all)")
            break
        console.print(f"{'' if i else chr(10)}Suspect: {escape(suspect.message)}.")
    _print_misfit(console, [text for text in status.checks.sentences if text not in doubts])


def _print_progress(console: Console, status: "StudyStatus") -> None:
    """Print how much of the budget is used, and how many measurements are in a special state."""
    counts = {
        "waiting": status.waiting,
        "suspect": len(status.suspects),
        "pending": status.pending,
        "failed": status.failed,
    }
    parts = [f"{number:,} {state}" for state, number in counts.items() if number]
    if status.budget is not None:
        parts.insert(0, f"{status.pulls:,} of {status.budget:,} measurements")
    if parts:
        console.print(f"{', '.join(parts)}.")


def _print_notes(console: Console, status: "StudyStatus") -> None:
    if status.origin is not None:
        console.print(
            f"Copied from {escape(repr(status.origin.name))}: the risk of that study comes on top."
        )
    headings = dict.fromkeys(heading for arm in status.arms for heading in arm.notes)
    if headings:
        number = sum(bool(arm.notes) for arm in status.arms)
        console.print(
            f"Notes on {number:,} of {len(status.arms):,} arms (--json and the report show them): "
            f"{escape(', '.join(headings))}."
        )
    if status.notes:
        last = status.notes[-1]
        about = last.ticket or last.arm
        console.print(
            f"{counted(len(status.notes), 'note')} (--json shows "
            f"all), the last{f' on {escape(about)}' if about else ''}: {escape(last.text)}"
        )


def _print_guess(console: Console, status: "StudyStatus") -> None:
    """How open arms look."""
    looks = {"good": status.looks_good, "bad": status.looks_bad}
    parts = [f"{label}: {escape(listed(names))}" for label, names in looks.items() if names]
    if parts:
        console.print(f"The best guess for open arms, without a guarantee: {'; '.join(parts)}.")


def _print_misfit(console: Console, reasons: Sequence[str]) -> None:
    if reasons:
        console.print(f"\n{sentences.MISFIT}:")
    for reason in reasons:
        console.print(f"- {escape(reason)}")


def print_claims(status: "StudyStatus", needs: str, warnings: Sequence[str]) -> None:
    """What a table certifies, and what the guarantee needs."""
    console = _console()
    _print_arms(console, status, ended=True)
    console.print(
        f"\n{len(status.good)} good, {len(status.bad)} bad, {len(status.open)} open, from "
        f"{status.pulls:,} measurements.  With probability at least {1.0 - status.delta:g} no "
        f"label is wrong,\nhowever often you look at such tables as they grow.\n{needs}"
    )
    _print_misfit(console, warnings)


def print_open_tickets(tickets: "Sequence[Ticket]", now: float) -> None:
    """Tickets without a value, and how long they have been so."""
    console = _console()
    if tickets:
        columns = ("ticket", "arm", "batch", "well", "client", "age", "due")
        table = _table(*columns, left=("ticket", "arm", "well", "client"))
        for one in tickets:
            due = "" if one.lease_until is None else "overdue"
            if one.lease_until is not None and one.lease_until > now:
                due = f"in {_duration(one.lease_until - now)}"
            cells = (one.id, escape(one.arm), f"{one.batch}", one.well or "")
            table.add_row(*cells, escape(one.client or ""), _duration(now - one.time), due)
        console.print(table)
    late = sum(one.lease_until is not None and one.lease_until <= now for one in tickets)
    overdue = f", {late:,} of them overdue" if late else ""
    console.print(f"{counted(len(tickets), 'open ticket')}{overdue}.")


def _duration(seconds: float) -> str:
    """A time in the largest unit of which there are two: 90 min, 3 h, 15 d."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


def print_plates(checks: "Checks") -> None:
    """What changed from plate to plate: the arms together, and each control."""
    console = _console()
    console.print()
    if not checks.plates:
        console.print("No value was told of a plate.")
        return
    names = list(dict.fromkeys(name for row in checks.plates for name in row.controls))
    columns = ["plate", "first value", "values", *(["arms' shift"] if checks.with_arms else [])]
    table = _table(*columns, *(escape(name) for name in names), title="From plate to plate")
    for row in checks.plates:
        cells = [f"{row.plate}", sentences.stamp(row.time), f"{row.n:,}"]
        if checks.with_arms:
            arms = row.arms
            cells.append("-" if arms is None else _spread(arms.shift, arms.low, arms.high))
        for name in names:
            control = row.controls.get(name)
            cells.append(
                "-" if control is None else _spread(control.mean, control.low, control.high)
            )
        table.add_row(*cells)
    console.print(table)
    if checks.with_arms:
        console.print(
            "\nArms' shift: what arms gave beyond their averages on earlier plates, in sigmas.  "
            "Its interval\nholds however the arms were chosen."
        )
    else:
        console.print(
            "\nOnly controls are compared: the model of the measurements gives no sigma for arms."
        )
    if names:
        console.print("Controls: averages with 95 % intervals, from the scatter within plates.")


def _spread(middle: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" ({low:.4g} to {high:.4g})"
    return f"{middle:.4g}{interval}"
