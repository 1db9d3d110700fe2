"""The pictures of a study's report, each as a matplotlib ``Figure``.

Users chose the names that pictures show.  Every name must pass through ``shortened`` before it is
drawn.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable
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
from .._internal.tables import display_width
from ..objectives import Objective
from ..study.diagnostics import Checks
from ..study.diagnostics.values import Integers
from ..study.state import StudyState, TicketRecord
from ..study.status import ArmStatus, StudyStatus
from ..study.wells import ROW_NAMES, well_position
from .figures import (
    BLUE,
    CYCLE,
    GREY,
    LABELS,
    MANY,
    VERMILION,
    WIDTH,
    arm_lines,
    arrows,
    draw_intervals,
    legend_of_figure,
)

LONGEST_NAME = 24  # in pictures; a wide character counts twice
FARTHEST_RATIO = 3.0  # of evidence over need, in pictures

COLOURS = "viridis"
CONTROLS = 6  # drawn at most


def plot_estimates(status: StudyStatus, objective: Objective) -> Figure:
    """Draw averages with their intervals, and the estimated threshold."""
    arms = [arm for arm in in_order(status) if not math.isnan(arm.mean)]
    if not arms:
        raise ValueError("status must have a measurement to draw: got none.")
    means = np.array([arm.mean for arm in arms])
    started = has_started(status)
    return draw_intervals(
        [shortened(arm.arm) for arm in arms],
        means,
        np.array([arm.low for arm in arms]),
        np.array([arm.high for arm in arms]),
        [arm.label for arm in arms],
        objective.threshold(means) if started else None,
        "average, with interval" if started else "average",
    )


def plot_course(state: StudyState) -> Figure:
    """Number of arms that were certified good, certified bad and open, over the measurements."""
    engine = state.current_engine()
    if not engine.has_started():
        raise ValueError("state must have a measurement of every arm: got fewer.")
    number, pulls = engine.arms.size, engine.tally.pulls
    moments = [moment for moment in engine.moments if moment.good or moment.bad]
    after = 1.05 * pulls  # room to show the last state
    x = [0.0, *(float(moment.measurements) for moment in moments), after]
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
    legend_of_figure(axes, 3)
    return figure


def plot_evidence(status: StudyStatus) -> Figure:
    """Evidence over need of each arm, with a line at 1, where labels are certified."""
    arms = [arm for arm in in_order(status) if arm.need > 0.0]
    if not arms:
        raise ValueError("status must have a measurement of every arm: got fewer.")
    figure, axes = arm_lines([shortened(arm.arm) for arm in arms])
    ratio = np.array([arm.evidence / arm.need for arm in arms])
    start = max(1.1 * min(ratio.min(), 0.0), -1.0)
    end = min(max(1.1 * ratio.max(), 1.2), FARTHEST_RATIO)
    y = np.arange(len(arms))
    for label, colour, _, hatch in LABELS:
        mask = np.array([arm.label == label for arm in arms])
        if not mask.any():
            continue
        lengths = np.clip(ratio, start, end)
        _bars(axes, y, lengths, mask, np.zeros(y.size), colour, hatch, f"{label} ({mask.sum()})")
        arrows(axes, y, mask & (ratio < start), start, "<", colour, 4)
        arrows(axes, y, mask & (ratio > end), end, ">", colour, 4)
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xlim=(start, end), xlabel="evidence over need (1: certified)")
    legend_of_figure(axes, 3)
    return figure


def plot_measurements(status: StudyStatus, state: StudyState) -> Figure:
    """Measurements of each arm: told, waiting, suspect, pending and failed."""
    arms = in_order(status)
    tickets = state.tickets.values()
    failed = Counter(state.design.arms[t.arm] for t in tickets if t.state == "failed")
    figure, axes = arm_lines([shortened(arm.arm) for arm in arms])
    y, start = np.arange(len(arms)), np.zeros(len(arms))
    for name, numbers, colour, hatch in (
        ("told", [arm.measurements for arm in arms], GREY, ""),
        ("waiting", [arm.waiting for arm in arms], CYCLE[2], ""),
        ("suspect", [arm.suspect for arm in arms], CYCLE[1], "..."),
        ("pending", [arm.pending for arm in arms], CYCLE[5], "///"),
        ("failed", [failed[arm.arm] for arm in arms], CYCLE[4], "xxx"),
    ):
        if any(numbers):
            every = np.ones(len(arms), np.bool_)
            total = f"{name} ({sum(numbers):,})"
            _bars(axes, y, np.array(numbers), every, start.copy(), colour, hatch, total)
        start += numbers
    axes.set(xlim=(0.0, 1.05 * max(start.max(), 1.0)), xlabel="measurements")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if start.any():
        legend_of_figure(axes, 3)
    return figure


def plot_plate(
    layout: dict[str, Any],
    tickets: Iterable[TicketRecord],
    suspects: set[int],
    scale: Normalize,
) -> Figure:
    """Draw a plate, coloured by value.

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
    _draw_controls(axes, layout["placed"], points)
    _label_wells(axes, rows, columns, side)
    return figure


def _draw_controls(axes: Axes, placed: dict[str, str], points: float) -> None:
    """Fill the wells of controls, ``points`` wide, and write the name of its control in each."""
    size = float(np.clip(0.3 * points, 2.0, 7.0))
    for well, name in placed.items():
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


def _label_wells(axes: Axes, rows: int, columns: int, side: float) -> None:
    """Draw the grid of a plate, and its letters and numbers as far as there is room."""
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#C8C8C8", linewidth=0.5)
    step = 1 if side > 0.15 else 2 if side > 0.08 else 4
    axes.set_xticks(np.arange(0, columns, step), [str(j + 1) for j in range(0, columns, step)])
    axes.set_yticks(np.arange(0, rows, step), ROW_NAMES[:rows:step])
    axes.tick_params(
        which="both", length=0, labelsize=8, top=False, labeltop=True, labelbottom=False
    )


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
        by_plate = [(i, row.controls.get(name)) for i, row in enumerate(checks.plates)]
        panels.append((shortened(name), [(i, part.mean, part) for i, part in by_plate if part]))
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
            for i, _, part in chosen:
                if part.low is not None:
                    axes.vlines(i, part.low, part.high, color=colour, linewidth=1.2)
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
        key=lambda arm: (
            arm.withdrawn,
            rank[arm.label],
            math.inf if math.isnan(arm.mean) else -arm.mean,
        ),
    )


def has_started(status: StudyStatus) -> bool:
    """Tell whether every arm of the question has a measurement."""
    asked = [arm for arm in status.arms if not arm.withdrawn]
    return bool(asked) and not any(math.isnan(arm.mean) for arm in asked)


def printable(given: str) -> str:
    """The text, with a mark in place of each control character."""
    if given.isprintable():  # nothing to mark
        return given
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in given)


def shortened(given: str, width: int = LONGEST_NAME) -> str:
    """Return a user's text for a picture: not taken for mathematics, and cut at this width."""
    clean = printable(given).strip()
    if display_width(clean) > width:
        while clean and display_width(clean) > width - 1:
            clean = clean[:-1]
        clean = clean.rstrip() + "\u2026"
    return clean.replace("$", r"\$")


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
