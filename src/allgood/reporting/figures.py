"""Pictures, each as a matplotlib ``Figure`` that the caller saves or shows.

Colours are those of Okabe and Ito, which readers with any colour vision can tell apart.  Good and
bad arms also differ in marker, so that the pictures can be printed in black and white.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._internal.arguments import Vector, means_array, weights_array
from .._internal.tables import display_width
from ..evidence.claims import Claims
from ..evidence.intervals import intervals
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Multiplicative, Objective
from ..simulation.run import Snapshot
from ..simulation.simulate import Simulation
from ..theory.alternatives.response import BestResponse

BLUE, VERMILION, GREY, BAND = "#0072B2", "#D55E00", "#6E6E6E", "#E6EFF5"
CYCLE = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
MANY = 40  # with more arms than this, arms are drawn in order of their means, without names
WIDTH = 5.2  # of a picture with a line for each arm, in inches: still readable on a phone
# Label, colour, marker and hatch.
LABELS = (("good", BLUE, "o", ""), ("open", GREY, "^", ""), ("bad", VERMILION, "s", "///"))


def plot_means(
    means: npt.ArrayLike,
    objective: Objective,
    *,
    names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Means of the arms, the band in which an arm is good, and each arm's label."""
    mu = means_array(means)
    figure, axes = _axes(axes)
    order = _order(mu)
    x = np.arange(mu.size)
    good = objective.answer(mu)[order]
    top, threshold = float(mu.max()), objective.threshold(mu)
    if good.any():
        axes.axhspan(threshold, top, color=BAND, zorder=0, label=objective.wording)
    axes.axhline(
        threshold, color=GREY, linewidth=1, linestyle="--", label=f"threshold {threshold:.4g}"
    )
    size = 7 if mu.size <= MANY else 3
    axes.plot(
        x[good], mu[order][good], "o", color=BLUE, markersize=size, label=f"good ({good.sum()})"
    )
    axes.plot(
        x[~good],
        mu[order][~good],
        "s",
        color=VERMILION,
        markersize=size,
        label=f"bad ({(~good).sum()})",
    )
    axes.set_ylabel("mean reward")
    _name_arms(axes, order, names)
    legend_above(axes)
    return figure


def plot_weights(
    weights: npt.ArrayLike,
    means: npt.ArrayLike,
    objective: Objective,
    *,
    names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Optimal proportions of pulls, in the same order and colours as :func:`plot_means`."""
    mu = means_array(means)
    if np.isnan(np.asarray(weights, dtype=np.float64)).all():
        raise ValueError(
            "weights must be numbers: got only nan, as an undecidable instance has no optimal "
            "weights."
        )
    w = weights_array(weights, mu.size)
    figure, axes = _axes(axes)
    order = _order(mu)
    good = objective.answer(mu)[order]
    x = np.arange(mu.size)
    for mask, colour, hatch, marker, name in (
        (good, BLUE, "", "o", "good"),
        (~good, VERMILION, "///", "s", "bad"),
    ):
        if mu.size > MANY:
            axes.plot(x[mask], w[order][mask], marker, color=colour, markersize=3, label=name)
        elif mask.any():
            axes.bar(
                x[mask], w[order][mask], color=colour, edgecolor="white", hatch=hatch, label=name
            )
    if mu.size > MANY:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
    axes.set_ylabel("share of pulls (optimal weight)")
    _name_arms(axes, order, names)
    legend_above(axes)
    return figure


def plot_instance(
    means: npt.ArrayLike,
    weights: npt.ArrayLike,
    objective: Objective,
    *,
    names: Sequence[str] | None = None,
) -> Figure:
    """Means and optimal weights side by side."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_means(means, objective, names=names, axes=left)
    plot_weights(weights, means, objective, names=names, axes=right)
    return figure


def plot_alternative(
    means: npt.ArrayLike,
    response: BestResponse,
    objective: Objective,
    *,
    names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """An alternative: the means before and after, and both thresholds (Figure 1 of the paper)."""
    mu = means_array(means)
    if response.means.size != mu.size:
        raise ValueError(
            f"response must be one to these {mu.size} means: got one with {response.means.size} "
            "arms."
        )
    if response.kind == "none":
        raise ValueError(
            "response must be an alternative: got none, because this instance has no alternative."
        )
    figure, axes = _axes(axes)
    order = _order(mu)
    x = np.arange(mu.size)
    before, after = mu[order], response.means[order]
    was = objective.answer(mu)[order]
    threshold, moved_to = objective.threshold(mu), objective.threshold(response.means)
    axes.axhline(
        threshold,
        color=GREY,
        linewidth=1,
        linestyle="--",
        label=f"threshold before: {threshold:.4g}",
    )
    axes.axhline(
        moved_to,
        color="black",
        linewidth=1,
        linestyle=":",
        label=f"threshold after: {moved_to:.4g}",
    )
    for a in x[before != after]:
        arrow = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 5, "shrinkB": 5}
        axes.annotate("", xy=(a, after[a]), xytext=(a, before[a]), arrowprops=arrow)
    axes.plot(x[was], before[was], "o", color=BLUE, markersize=7, label="before: good")
    axes.plot(x[~was], before[~was], "s", color=VERMILION, markersize=7, label="before: bad")
    moved = before != after
    axes.plot(
        x[moved], after[moved], "D", color="black", fillstyle="none", markersize=8, label="after"
    )
    axes.set_ylabel("mean reward")
    axes.set_title(_alternative_title(response, names), fontsize="medium")
    _name_arms(axes, order, names)
    axes.margins(y=0.12)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize="small")
    return figure


def plot_sets(means: npt.ArrayLike, objective: Objective, *, resolution: int = 400) -> Figure:
    """For two arms: the set Alt of alternatives, and the set D of their costs.

    1/T is linear on D (Figure 2 of the paper).
    """
    mu = means_array(means)
    if mu.size != 2:
        raise ValueError(f"means must be those of two arms: got {mu.size}.")
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    answer = objective.answer(mu)

    reach = 1.5 * max(float(np.ptp(mu)), objective.allowance(abs(float(mu.max()))))
    if isinstance(objective, Multiplicative):
        reach = max(reach, 0.75 * abs(float(mu.max())))
    x = np.linspace(mu[0] - reach, mu[0] + reach, resolution)
    y = np.linspace(mu[1] - reach, mu[1] + reach, resolution)
    changed = _changed(objective, answer, *np.meshgrid(x, y))
    left.contourf(x, y, changed, levels=[0.5, 1.5], colors=[BAND])
    left.contour(x, y, changed, levels=[0.5], colors=[BLUE], linewidths=1)
    left.plot(*mu, "o", color=VERMILION)
    left.annotate(r"$\mu$", mu, xytext=(6, 6), textcoords="offset points", color=VERMILION)
    left.set(xlabel=r"$\lambda_0$ (mean of arm 0)", ylabel=r"$\lambda_1$ (mean of arm 1)")
    left.set_title(r"Alt$(\mu)$, shaded: means with another answer", fontsize="medium")
    left.set_aspect("equal")

    alone = [
        _first_change(objective, mu, arm, np.linspace(0.0, reach, resolution)) for arm in (0, 1)
    ]
    far = 0.8 * max(alone) ** 2
    d = np.linspace(0.0, far, resolution)
    move = np.sqrt(2.0 * d)
    inside = np.zeros((resolution, resolution))
    for sign_x in (-1.0, 1.0):
        for sign_y in (-1.0, 1.0):
            points = np.meshgrid(mu[0] + sign_x * move, mu[1] + sign_y * move)
            inside = np.maximum(inside, _changed(objective, answer, *points))
    right.contourf(d, d, inside, levels=[0.5, 1.5], colors=[BAND])
    right.contour(d, d, inside, levels=[0.5], colors=[BLUE], linewidths=1)
    right.set(xlabel=r"$d_0 = (\lambda_0 - \mu_0)^2/2$", ylabel=r"$d_1 = (\lambda_1 - \mu_1)^2/2$")
    right.set_title(r"$D$, shaded: the costs of these alternatives", fontsize="medium")
    right.set_aspect("equal")
    return figure


def plot_stopping_times(
    simulations: Mapping[str, Simulation], *, delta: float | None = None
) -> Figure:
    """Pulls of each strategy: every run, the span from 10 % to 90 %, and the mean.

    The line is the lower bound.  Filled marks are proven rules.  Crosses are runs that did not stop
    by themselves, drawn at their budget.
    """
    if not simulations:
        raise ValueError("simulations must hold at least one simulation: got none.")
    figure = Figure(figsize=(8.0, 1.4 + 0.55 * len(simulations)), layout="constrained")
    axes = figure.subplots()
    spread = np.random.default_rng(0)
    names = list(simulations)
    for y, name in enumerate(names):
        simulation = simulations[name]
        summary = simulation.summary(delta)
        pulls, stopped = simulation.stops(summary.delta)
        colour = BLUE if simulation.proven else VERMILION
        jitter = y + spread.uniform(-0.22, 0.22, size=pulls.size)
        axes.plot(
            pulls[stopped],
            jitter[stopped],
            ".",
            color=colour,
            alpha=0.35,
            markersize=4,
            markeredgewidth=0,
        )
        axes.plot(pulls[~stopped], jitter[~stopped], "x", color=GREY, alpha=0.6, markersize=4)
        axes.plot([summary.quantiles[0], summary.quantiles[2]], [y, y], color=colour, linewidth=2)
        face = colour if simulation.proven else "white"
        axes.plot(summary.mean, y, "D", color=colour, markerfacecolor=face, markersize=7)
        axes.annotate(
            f"{summary.mean:,.0f}",
            (summary.mean, y),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize="small",
        )
    bound = next(iter(simulations.values())).summary(delta)
    if bound.lower_bound is not None:
        text = f"no strategy can beat {bound.lower_bound:,.0f} on average"
        axes.axvline(bound.lower_bound, color="black", linestyle="--", linewidth=1, label=text)
    _legend_of_rules(axes, simulations)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xlabel(f"pulls until it stops, delta = {bound.delta:g}")
    legend_above(axes, 1)
    return figure


def _legend_of_rules(axes: Axes, simulations: Mapping[str, Simulation]) -> None:
    """Explain the marks of proven rules and of others, if there are any."""
    for proven, what in ((True, "proven rule"), (False, "rule without a known proof")):
        if any(s.proven is proven for s in simulations.values()):
            colour = BLUE if proven else VERMILION
            face = colour if proven else "white"
            axes.plot(
                [],
                [],
                "D-",
                color=colour,
                markerfacecolor=face,
                label=f"{what}: mean, 10 % to 90 %, runs",
            )


def plot_intervals(
    counts: npt.ArrayLike,
    means: npt.ArrayLike,
    objective: Objective,
    delta: float,
    claims: Claims,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    variances: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draw estimates with intervals that hold at all times, the estimated threshold, and labels."""
    m = means_array(means)
    low, high = intervals(counts, m, delta, model, variances=variances)
    order = _order(m)
    labels = np.where(claims.good, "good", np.where(claims.bad, "bad", "open"))[order]
    figure = draw_intervals(
        [f"arm {a}" if names is None else names[a] for a in order],
        m[order],
        np.asarray(low)[order],
        np.asarray(high)[order],
        labels.tolist(),
        objective.threshold(m),
        f"mean reward, with interval at delta = {delta:g}",
    )
    if m.size > MANY:
        figure.axes[0].set_ylabel(f"{m.size} arms, by decreasing mean")
    return figure


def draw_intervals(
    names: Sequence[str],
    means: Vector,
    low: Vector,
    high: Vector,
    labels: Sequence[str],
    threshold: float | None,
    axis: str,
) -> Figure:
    """Draw the interval of each arm on a line of its own, in the colour of its label.

    Args:
        names: the arms from the top, in ASCII or shortened; many arms are drawn without.
        means, low, high: one of each for each arm.  An arrow shows that an interval goes on.
        labels: "good", "bad" or "open" for each arm.
        threshold: the estimated threshold, with a band from there to the best; None if the arms
            have no intervals yet.
        axis: what the horizontal axis shows.
    """
    figure, axes = arm_lines(names)
    left, right = _reach(means, low, high, threshold)
    if threshold is not None:
        axes.axvspan(threshold, means.max(), color=BAND, zorder=0)
        text = f"threshold {threshold:.4g}"
        axes.axvline(threshold, color="black", linewidth=1, linestyle="--", label=text)
    y = np.arange(means.size)
    size, width = (6.0, 1.2) if means.size <= MANY else (3.0, 0.4)
    for label, colour, marker, _ in LABELS:
        mask = np.array([other == label for other in labels])
        if not mask.any():
            continue
        if threshold is not None:
            ends = np.maximum(low, left)[mask], np.minimum(high, right)[mask]
            axes.hlines(y[mask], *ends, color=colour, linewidth=width)
            arrows(axes, y, mask & (low < left), left, "<", colour, size - 1)
            arrows(axes, y, mask & (high > right), right, ">", colour, size - 1)
        name = f"{'certified ' if label != 'open' else ''}{label} ({mask.sum()})"
        axes.plot(means[mask], y[mask], marker, color=colour, markersize=size, label=name)
    axes.set_xlim(left, right)
    axes.set_xlabel(axis)
    legend_of_figure(axes, 2)
    return figure


def _reach(
    means: Vector, low: Vector, high: Vector, threshold: float | None
) -> tuple[float, float]:
    """Return the ends of an axis that shows all means, and intervals unless they are far wider."""
    middle = means.min() if threshold is None else threshold
    left, right = min(means.min(), middle), max(means.max(), middle)
    reach = np.maximum(means - low, high - means)
    reach = reach[np.isfinite(reach)]
    if reach.size:
        margin = min(1.05 * reach.max(), 3.0 * max(right - left, reach.min()))
    else:
        margin = 0.2 * (right - left)
    margin = margin or abs(left) or 1.0
    return left - margin, right + margin


def arm_lines(names: Sequence[str]) -> tuple[Figure, Axes]:
    """Return axes with a line for each arm, the first on top; lines of many arms have no names."""
    shown = list(names) if len(names) <= MANY else []
    left = 0.35 + 0.07 * max(map(display_width, shown), default=0)
    height = 1.1 + (0.21 * max(len(names), 3) if shown else 4.5)
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes(
        (left / WIDTH, 0.5 / height, 1.0 - (left + 0.2) / WIDTH, 1.0 - 1.05 / height)
    )
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(shown)), shown, fontsize=9)
    if not shown:
        axes.set_ylabel(f"{len(names)} arms, as in the table")
    return figure, axes


def arrows(
    axes: Axes,
    y: npt.NDArray[np.int64],
    mask: npt.NDArray[np.bool_],
    x: float,
    marker: str,
    colour: str,
    size: float,
) -> None:
    """Draw an arrow at x on the lines of the mask: what is drawn there goes on."""
    at = np.full(mask.sum(), x)
    axes.plot(at, y[mask], marker, color=colour, markersize=size, clip_on=False)


def legend_of_figure(axes: Axes, columns: int) -> None:
    """Draw a legend above the axes, as wide as the figure."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    options: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": "small"}
    if figure.get_layout_engine():
        figure.legend(loc="outside upper left", **options)
    else:
        figure.legend(loc="upper left", **options)


def plot_labels(snapshots: Sequence[Snapshot], *, names: Sequence[str] | None = None) -> Figure:
    """Labels over time.

    Left: how many arms are certified good, certified bad and open.  Right: the evidence of each arm
    over its need.
    """
    seen = [s for s in snapshots if s.claims is not None]
    if not seen:
        raise ValueError(
            "snapshots must be of a strategy that certifies labels: got none with claims."
        )
    claims = [s.claims for s in seen if s.claims is not None]
    pulls = [s.pulls for s in seen]
    after = 1.15 * pulls[-1]  # room to show the last state
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    good = np.array([c.good.sum() for c in claims])
    bad = np.array([c.bad.sum() for c in claims])
    number = claims[0].good.size
    counted = [np.append(x, x[-1]) for x in (good, number - good - bad, bad)]
    names_of = ["certified good", "open", "certified bad"]
    left.stackplot(
        [*pulls, after], *counted, step="post", colors=[BLUE, "#D9D9D9", VERMILION], labels=names_of
    )
    left.set(
        xlabel="pulls",
        ylabel="number of arms",
        xscale="log",
        xlim=(pulls[0], after),
        ylim=(0, number),
    )
    left.yaxis.get_major_locator().set_params(integer=True)
    legend_above(left)
    share = np.array([np.clip(c.evidence / c.need, 0.0, 1.0) for c in claims])
    share[np.array([~c.open for c in claims])] = 1.0
    for a in range(number):
        colour = BLUE if claims[-1].good[a] else VERMILION if claims[-1].bad[a] else GREY
        name = None if number > 8 else f"arm {a}" if names is None else names[a]
        style = STYLES[a % len(STYLES)]
        right.plot(
            pulls,
            share[:, a],
            style,
            color=colour,
            linewidth=1.2 if number <= MANY else 0.5,
            label=name,
        )
    right.axhline(1.0, color="black", linewidth=0.8)
    right.set(
        xlabel="pulls", ylabel="evidence over need (1: certified)", xscale="log", ylim=(-0.02, 1.05)
    )
    if number <= 8:
        legend_above(right, 4)
    return figure


def plot_shares(
    counts: npt.ArrayLike,
    weights: npt.ArrayLike,
    means: npt.ArrayLike,
    objective: Objective,
    *,
    names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """The share of the pulls that each arm got in a run, beside the optimal weights."""
    mu = means_array(means)
    N = weights_array(counts, mu.size, "counts")
    figure, axes = _axes(axes)
    plot_weights(N / N.sum(), means, objective, names=names, axes=axes)
    optimal = weights_array(weights, mu.size)[_order(mu)]
    axes.plot(
        np.arange(mu.size),
        optimal,
        "_",
        color="black",
        markersize=14,
        markeredgewidth=2,
        label="optimal weight",
    )
    axes.set_ylabel("share of pulls")
    legend_above(axes)
    return figure


def plot_tracks(simulations: Mapping[str, Simulation]) -> Figure:
    """Over the pulls: the F1 score of the answer, and below it how many labels are certified.

    Lines are means, and the span from 10 % to 90 % of the runs is shaded.
    """
    if not simulations:
        raise ValueError("simulations must hold at least one simulation: got none.")
    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    for n, (name, simulation) in enumerate(simulations.items()):
        colour, style = CYCLE[n % len(CYCLE)], STYLES[n % len(STYLES)]
        for axes, numbers in ((upper, simulation.f1), (lower, simulation.labels_certified)):
            assert simulation.grid is not None  # f1 raises an error without a grid
            low, high = np.quantile(numbers, [0.1, 0.9], axis=0)
            axes.plot(simulation.grid, numbers.mean(axis=0), style, color=colour, label=name)
            axes.fill_between(simulation.grid, low, high, color=colour, alpha=0.15, linewidth=0)
    upper.set(ylabel="F1 score (mean, 10 % to 90 %)")
    lower.set(xlabel="pulls", ylabel="labels certified (mean, 10 % to 90 %)", xscale="log")
    lower.yaxis.get_major_locator().set_params(integer=True)
    lower.set_ylim(bottom=0.0)
    legend_above(upper)
    return figure


def _first_change(objective: Objective, mu: Vector, arm: int, moves: Vector) -> float:
    """The smallest of ``moves`` of this arm alone that changes the answer; else the largest."""
    for move in moves:
        for sign in (-1.0, 1.0):
            moved = mu.copy()
            moved[arm] += sign * move
            if (objective.answer(moved) != objective.answer(mu)).any():
                return float(move)
    return float(moves[-1])


def _changed(objective: Objective, answer: npt.NDArray[np.bool_], x: Vector, y: Vector) -> Vector:
    """1 where means (x, y) have another answer than ``answer``, else 0."""
    threshold = objective.factor * np.maximum(x, y) - objective.slack
    same = ((x >= threshold) == answer[0]) & ((y >= threshold) == answer[1])
    return np.where(same, 0.0, 1.0)


def _axes(axes: Axes | None) -> tuple[Figure, Axes]:
    if axes is None:
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        return figure, figure.subplots()
    figure = axes.get_figure()  # type: ignore[assignment]
    return figure, axes


def _order(mu: Vector) -> npt.NDArray[np.int64]:
    return np.arange(mu.size) if mu.size <= MANY else np.argsort(-mu, kind="stable")


def _name_arms(axes: Axes, order: npt.NDArray[np.int64], names: Sequence[str] | None) -> None:
    if order.size > MANY:
        axes.set_xlabel("arms, by decreasing mean")
        return
    if names is not None and len(names) != order.size:
        raise ValueError(f"names must hold one name per arm, {order.size}: got {len(names)}.")
    labels = [str(a) for a in order] if names is None else [names[a] for a in order]
    rotation = 90 if max(len(label) for label in labels) * order.size > 60 else 0
    axes.set_xticks(np.arange(order.size), labels, rotation=rotation)
    axes.set_xlabel("arm")


def legend_above(axes: Axes, columns: int = 2) -> None:
    """A legend that covers no data."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False, fontsize="small"
    )


def _alternative_title(response: BestResponse, names: Sequence[str] | None) -> str:
    def name(arm: int | None) -> str:
        return "?" if arm is None else (f"arm {arm}" if names is None else names[arm])

    what = {
        "expel": f"{name(response.arm)} becomes bad: {name(response.rival)} outdoes it",
        "admit": f"{name(response.arm)} becomes good: arms above come down",
        "empty": "no arm stays good: all fall to zero",
        "rise": f"{name(response.arm)} becomes good: it rises to zero",
    }[response.kind]
    return f"{what} (cost {response.cost:.3g})"
