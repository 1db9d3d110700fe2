"""The pictures of a study's report, each as a matplotlib ``Figure``.

Names were written by users.  They reach a picture through ``shortened`` and in no other way.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .._internal.arguments import Vector
from ..objectives import Objective
from ..study.diagnostics import Checks, Integers
from ..study.plates import ROW_NAMES, well_position
from ..study.state import StudyState, TicketRecord
from ..study.status import ArmStatus, StudyStatus
from .figures import BAND, BLUE, CYCLE, GREY, MANY, VERMILION

WIDTH = 5.2  # of a picture, in inches: still readable on a phone
LONGEST_NAME = 24  # in pictures; a wide character counts twice
FARTHEST_RATIO = 3.0  # of evidence over need, in pictures

# Label, colour, marker and hatch.
LABELS = (("good", BLUE, "o", ""), ("open", GREY, "^", ""), ("bad", VERMILION, "s", "///"))
COLOURS = "viridis"
CONTROLS = 6  # drawn at most


def plot_estimates(status: StudyStatus, objective: Objective) -> Figure:
    """Averages with their intervals, and the estimated threshold.  Arrows: the interval goes on."""
    arms = [one for one in in_order(status) if not math.isnan(one.mean)]
    if not arms:
        raise ValueError("status must have a measurement to draw: got none.")
    figure, axes = _by_arm(arms)
    means = np.array([one.mean for one in arms])
    low, high = np.array([one.low for one in arms]), np.array([one.high for one in arms])
    started = has_started(status)
    threshold = objective.threshold(means) if started else means.min()
    left, right = min(means.min(), threshold), max(means.max(), threshold)
    reach = np.maximum(means - low, high - means)
    reach = reach[np.isfinite(reach)]
    if reach.size:
        margin = min(1.05 * reach.max(), 3.0 * max(right - left, reach.min()))
    else:
        margin = 0.2 * (right - left)
    margin = margin or abs(left) or 1.0
    left, right = left - margin, right + margin
    if started:
        axes.axvspan(threshold, means.max(), color=BAND, zorder=0)
        axes.axvline(
            threshold,
            color="black",
            linewidth=1,
            linestyle="--",
            label=f"threshold {threshold:.4g}",
        )
    y = np.arange(len(arms))
    size, line = (6.0, 1.2) if len(arms) <= MANY else (3.0, 0.4)
    for label, colour, marker, _ in LABELS:
        mask = np.array([one.label == label for one in arms])
        if not mask.any():
            continue
        name = f"{'certified ' if label != 'open' else ''}{label} ({mask.sum()})"
        if started:
            axes.hlines(
                y[mask],
                np.maximum(low, left)[mask],
                np.minimum(high, right)[mask],
                color=colour,
                linewidth=line,
            )
            for cut, end, arrow in (
                (mask & (low < left), left, "<"),
                (mask & (high > right), right, ">"),
            ):
                axes.plot(
                    np.full(cut.sum(), end),
                    y[cut],
                    arrow,
                    color=colour,
                    markersize=size - 1,
                    clip_on=False,
                )
        axes.plot(means[mask], y[mask], marker, color=colour, markersize=size, label=name)
    axes.set_xlim(left, right)
    axes.set_xlabel("average, with interval" if started else "average")
    _legend(axes, 2)
    return figure


def plot_course(state: StudyState) -> Figure:
    """Number of arms that were certified good, certified bad and open, over the measurements."""
    engine = state.current_engine()
    if not engine.has_started():
        raise ValueError("ledger must have a measurement of every arm: got fewer.")
    number, pulls = engine.arms.size, engine.tally.pulls
    moments = [moment for moment in engine.moments if moment.good or moment.bad]
    after = 1.05 * pulls  # room to show the last state
    x = [0.0, *(float(moment.pulls) for moment in moments), after]
    good = [0, *accumulate(len(moment.good) for moment in moments)]
    bad = [0, *accumulate(len(moment.bad) for moment in moments)]
    good.append(good[-1])
    bad.append(bad[-1])
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.subplots()
    open_ = [number - g - b for g, b in zip(good, bad, strict=True)]
    names = [f"certified good ({good[-1]})", f"open ({open_[-1]})", f"certified bad ({bad[-1]})"]
    axes.stackplot(
        x, good, open_, bad, step="post", colors=[BLUE, "#D9D9D9", VERMILION], labels=names
    )
    axes.set(xlabel="measurements", ylabel="number of arms", xlim=(0, after), ylim=(0, number))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    _legend(axes, 3)
    return figure


def plot_evidence(status: StudyStatus) -> Figure:
    """Evidence over need of each arm, with a line at 1, where labels are certified."""
    arms = [one for one in in_order(status) if one.need > 0.0]
    if not arms:
        raise ValueError("status must have a measurement of every arm: got fewer.")
    figure, axes = _by_arm(arms)
    ratio = np.array([one.evidence / one.need for one in arms])
    start = max(1.1 * min(ratio.min(), 0.0), -1.0)
    end = min(max(1.1 * ratio.max(), 1.2), FARTHEST_RATIO)
    y = np.arange(len(arms))
    for label, colour, _, hatch in LABELS:
        mask = np.array([one.label == label for one in arms])
        if not mask.any():
            continue
        lengths = np.clip(ratio, start, end)
        _bars(axes, y, lengths, mask, np.zeros(y.size), colour, hatch, f"{label} ({mask.sum()})")
        for cut, at, arrow in (
            (mask & (ratio < start), start, "<"),
            (mask & (ratio > end), end, ">"),
        ):
            axes.plot(
                np.full(cut.sum(), at), y[cut], arrow, color=colour, markersize=4, clip_on=False
            )
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xlim=(start, end), xlabel="evidence over need (1: certified)")
    _legend(axes, 3)
    return figure


def plot_measurements(status: StudyStatus, state: StudyState) -> Figure:
    """Measurements of each arm: told, waiting, suspect, pending and failed."""
    arms = in_order(status)
    tickets = state.tickets.values()
    failed = Counter(state.design.arms[t.arm] for t in tickets if t.state == "failed")
    figure, axes = _by_arm(arms)
    y, start = np.arange(len(arms)), np.zeros(len(arms))
    for name, numbers, colour, hatch in (
        ("told", [one.pulls for one in arms], GREY, ""),
        ("waiting", [one.waiting for one in arms], CYCLE[2], ""),
        ("suspect", [one.suspect for one in arms], CYCLE[1], "..."),
        ("pending", [one.pending for one in arms], CYCLE[5], "///"),
        ("failed", [failed[one.arm] for one in arms], CYCLE[4], "xxx"),
    ):
        if any(numbers):
            every = np.ones(len(arms), np.bool_)
            total = f"{name} ({sum(numbers):,})"
            _bars(axes, y, np.array(numbers), every, start.copy(), colour, hatch, total)
        start += numbers
    axes.set(xlim=(0.0, 1.05 * max(start.max(), 1.0)), xlabel="measurements")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if start.any():
        _legend(axes, 3)
    return figure


def plot_plate(
    layout: dict[str, Any],
    tickets: Iterable[TicketRecord],
    suspects: set[int],
    scale: Normalize,
) -> Figure:
    """A plate, coloured by value.

    A cross: failed.  A ring: no value yet.  A triangle: suspect.  A name: a control.  Empty: not
    used.
    """
    rows, columns = layout["rows"], layout["columns"]
    side = min((WIDTH - 0.5) / columns, 5.0 / rows, 0.5)
    width, height = columns * side + 0.5, rows * side + 0.4
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes(
        (0.35 / WIDTH, 0.05 / height, columns * side / WIDTH, rows * side / height)
    )
    assert width <= WIDTH + 1e-9
    values = np.full((rows, columns), math.nan)
    marks: dict[str, list[tuple[int, int]]] = {"failed": [], "open": [], "suspect": []}
    for ticket in tickets:
        assert ticket.well is not None
        position = well_position(ticket.well)
        if ticket.number in suspects:
            marks["suspect"].append(position)
        elif ticket.value is None:
            marks[ticket.state].append(position)
        else:
            values[position] = ticket.value
    axes.imshow(values, cmap=COLOURS, norm=scale, interpolation="none", aspect="auto")
    points = 72.0 * side
    for state, shape in (("failed", "x"), ("open", "o"), ("suspect", "^")):
        y, x = [i for i, _ in marks[state]], [j for _, j in marks[state]]
        axes.plot(
            x,
            y,
            shape,
            color="black",
            fillstyle="none",
            markersize=0.45 * points,
            markeredgewidth=0.05 * points,
        )
    size = float(np.clip(0.3 * points, 2.0, 7.0))
    for well, name in layout["placed"].items():
        i, j = well_position(well)
        axes.fill(
            [j - 0.5, j + 0.5, j + 0.5, j - 0.5],
            [i - 0.5, i - 0.5, i + 0.5, i + 0.5],
            color="#E4E4E4",
            linewidth=0,
        )
        axes.text(
            j,
            i,
            shortened(name, int(points / (0.7 * size))),
            ha="center",
            va="center",
            fontsize=size,
        )
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#C8C8C8", linewidth=0.5)
    step = 1 if side > 0.15 else 2 if side > 0.08 else 4
    axes.set_xticks(np.arange(0, columns, step), [str(j + 1) for j in range(0, columns, step)])
    axes.set_yticks(np.arange(0, rows, step), ROW_NAMES[:rows:step])
    axes.tick_params(
        which="both", length=0, labelsize=8, top=False, labeltop=True, labelbottom=False
    )
    return figure


def plot_scale(scale: Normalize) -> Figure:
    """The colours of values on plates."""
    figure = Figure(figsize=(WIDTH, 0.7), layout="constrained")
    bar = figure.colorbar(
        ScalarMappable(scale, COLOURS), cax=figure.subplots(), orientation="horizontal"
    )
    bar.set_label("value")
    return figure


def plot_drift(checks: Checks) -> Figure:
    """From plate to plate: the shift of arms and the average of each control, with intervals.

    Squares: plates that differ from those before.
    """
    names = list(dict.fromkeys(name for row in checks.plates for name in row.controls))
    shifts = [(i, row.arms.shift, row.arms) for i, row in enumerate(checks.plates) if row.arms]
    panels: list[tuple[str, list[tuple[int, float, Any]]]] = []
    if shifts:
        panels.append(("arms (sigmas)", shifts))
    for name in names[:CONTROLS]:
        found = [(i, row.controls.get(name)) for i, row in enumerate(checks.plates)]
        panels.append((shortened(name), [(i, one.mean, one) for i, one in found if one]))
    if not panels:
        raise ValueError("checks must have arms on two plates, or a control: got neither.")
    figure = Figure(figsize=(WIDTH, 0.8 + 1.3 * len(panels)), layout="constrained")
    every_axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axes, (title, points) in zip(every_axes, panels, strict=True):
        axes.set_ylabel(title, fontsize=9)
        for drifts, colour, marker in ((False, BLUE, "o"), (True, VERMILION, "s")):
            chosen = [point for point in points if point[2].drifts is drifts]
            axes.plot(
                [i for i, _, _ in chosen],
                [middle for _, middle, _ in chosen],
                marker,
                color=colour,
                markersize=4,
            )
            for i, _, one in chosen:
                if one.low is not None:
                    axes.vlines(i, one.low, one.high, color=colour, linewidth=1.2)
    if shifts:
        every_axes[0].axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
    numbers = [str(row.plate) for row in checks.plates]
    step = -(-len(numbers) // 12)
    every_axes[-1].set_xticks(range(0, len(numbers), step), numbers[::step])
    every_axes[-1].set(xlabel="plate, in the order of telling", xlim=(-0.5, len(numbers) - 0.5))
    return figure


def in_order(status: StudyStatus) -> list[ArmStatus]:
    """Good, open, bad and withdrawn arms, in this order; each kind by decreasing average."""
    rank = {"good": 0, "open": 1, "bad": 2}
    return sorted(
        status.arms,
        key=lambda one: (
            one.withdrawn,
            rank[one.label],
            math.inf if math.isnan(one.mean) else -one.mean,
        ),
    )


def has_started(status: StudyStatus) -> bool:
    """Whether every arm of the question has a measurement."""
    asked = [one for one in status.arms if not one.withdrawn]
    return bool(asked) and not any(math.isnan(one.mean) for one in asked)


def printable(given: str) -> str:
    """The text, with a mark in place of each control character."""
    if given.isprintable():  # nothing to mark
        return given
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in given)


def shortened(given: str, width: int = LONGEST_NAME) -> str:
    """What a user wrote, for a picture: not taken for mathematics, and cut at this width."""
    clean = printable(given).strip()
    if _width(clean) > width:
        while clean and _width(clean) > width - 1:
            clean = clean[:-1]
        clean = clean.rstrip() + "\u2026"
    return clean.replace("$", r"\$")


def _width(given: str) -> int:
    """The width of a text, where a wide character counts twice."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in given)


def _by_arm(arms: Sequence[ArmStatus]) -> tuple[Figure, Axes]:
    """Axes with a line for each arm, the first on top.  Lines have names unless there are many."""
    names = [shortened(one.arm) for one in arms] if len(arms) <= MANY else []
    left = 0.35 + 0.07 * max((_width(name) for name in names), default=0)
    height = 1.1 + (0.21 * max(len(arms), 3) if names else 4.5)
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes(
        (left / WIDTH, 0.5 / height, 1.0 - (left + 0.2) / WIDTH, 1.0 - 1.05 / height)
    )
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    if not names:
        axes.set_ylabel(f"{len(arms)} arms, as in the table")
    return figure, axes


def _bars(
    axes: Axes,
    y: Integers,
    lengths: npt.NDArray[Any],
    mask: npt.NDArray[np.bool_],
    start: Vector,
    colour: str,
    hatch: str,
    label: str,
) -> None:
    """Draw bars from ``start`` on, for the arms of the mask.

    Many bars have no gaps and hatches, which would cover them: they are drawn as one area.
    """
    if abs(axes.get_ylim()[0]) <= MANY:
        axes.barh(
            y[mask],
            lengths[mask],
            0.8,
            left=start[mask],
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.0,
            label=label,
        )
        return
    edges = np.column_stack([y - 0.5, y + 0.5]).ravel()
    ends = start + np.where(mask, lengths, 0)
    area = np.repeat(start, 2), np.repeat(ends, 2)
    axes.fill_betweenx(edges, *area, color=colour, linewidth=0.0, label=label)


def _legend(axes: Axes, columns: int) -> None:
    """A legend above, as wide as the picture."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    if figure.get_layout_engine():
        figure.legend(loc="outside upper left", ncols=columns, frameon=False, fontsize="small")
    else:
        figure.legend(loc="upper left", ncols=columns, frameon=False, fontsize="small")
