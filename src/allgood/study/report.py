"""A study as one HTML file: the verdict, every arm, pictures, what happened, and the small print.

The file stands alone: pictures are SVG inside it, and nothing is loaded from elsewhere.  It is a function of the
events and of the time of the status.  Names, reasons and sources were written by users: they reach the file through
``_safe``, and pictures through ``_drawn``, and in no other way.
"""

import html
import io
import math
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from matplotlib import rc_context, rcdefaults
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..evidence import BAD, GOOD
from ..models import Bernoulli, Bounded, Exponential, Gaussian, Model, Poisson
from ..objectives import Objective
from ..plots import BAND, BLUE, CYCLE, GREY, MANY, VERMILION
from .certificate import certificate_of
from .events import Event, canonical, model_words
from .ledger import Ledger, Slip
from .plates import ROW_NAMES, place
from .status import ArmStatus, StudyStatus
from .studies import Study

PLATES = 12  # drawn at most, the newest
FOLDED = 20  # above so many happenings, they are folded away
WIDTH = 5.2  # of a picture, in inches: still readable on a phone
LONGEST_NAME = 24  # in pictures, in halves of a wide character
FARTHEST_RATIO = 3.0  # of evidence over need, in pictures

LABELS = (("good", BLUE, "o", ""), ("open", GREY, "^", ""), ("bad", VERMILION, "s", "///"))
COLOURS = "viridis"

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #5c5c5c; --line: #d5d5d5; --box: #eef4f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181a; --soft: #a8a8a8; --line: #44484c; --box: #1f2a33; }
}
body { margin: 0 auto; max-width: 66rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; line-height: 1.2; } h2 { margin: 2rem 0 0.5rem; } p { margin: 0.5rem 0; }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
.verdict { background: var(--box); border-left: 0.4rem solid #0072B2; padding: 0.5rem 1rem; margin: 1rem 0; }
.verdict p:first-child { font-size: 1.25rem; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.4rem; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
.text { min-width: 6rem; max-width: 18rem; overflow-wrap: anywhere; }
.entries th { white-space: nowrap; } .entry { overflow-wrap: anywhere; }
.good { color: #0072B2; font-weight: 600; } .bad { color: #B34F00; font-weight: 600; }
@media (prefers-color-scheme: dark) { .good { color: #6BBDEB; } .bad { color: #FF9A52; } }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figure svg { display: block; box-sizing: border-box; width: 100%; max-width: 34rem; height: auto; padding: 0.4rem;
  background: #ffffff; border: 1px solid var(--line); border-radius: 0.4rem; }
ul { padding-left: 1.2rem; } time { white-space: nowrap; } code { overflow-wrap: anywhere; }
@media print { body { max-width: none; font-size: 10pt; } table { font-size: 7.5pt; } .text { min-width: 4rem; } }
"""


def report_html(study: Study) -> str:
    """The study as it stands, as one HTML page that needs nothing else."""
    status = study.status()
    events = study.events()[: status.events]
    ledger = Ledger.of(events)
    with rc_context():
        rcdefaults()
        page = _Page()
        sections = [
            _head(status, ledger),
            _table(status, ledger.question.objective),
            _pictures(page, status, ledger),
            _plates(page, ledger),
            _happenings(study, ledger, events),
            _small_print(ledger, certificate_of(ledger, events)),
        ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">\n'
        f"<title>{html.escape(_printable(status.name))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body>\n</html>\n"
    )


def plot_estimates(status: StudyStatus, objective: Objective) -> Figure:
    """Averages with their intervals, and the threshold as estimated; an arrow where an interval goes on."""
    arms = [one for one in in_order(status) if one.pulls]
    if not arms:
        raise ValueError("status must have a measurement to draw: got none.")
    figure, axes = _by_arm(arms)
    means = np.array([one.mean for one in arms])
    low, high = np.array([one.low for one in arms]), np.array([one.high for one in arms])
    started = _started(status)
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
        axes.axvline(threshold, color="black", linewidth=1, linestyle="--", label=f"threshold {threshold:.4g}")
    y, (size, line) = np.arange(len(arms)), (6.0, 1.2) if len(arms) <= MANY else (3.0, 0.4)
    for label, colour, marker, _ in LABELS:
        mask = np.array([one.label == label for one in arms])
        if not mask.any():
            continue
        name = f"{'certified ' if label != 'open' else ''}{label} ({mask.sum()})"
        if started:
            axes.hlines(
                y[mask], np.maximum(low, left)[mask], np.minimum(high, right)[mask], color=colour, linewidth=line
            )
            for cut, end, arrow in ((mask & (low < left), left, "<"), (mask & (high > right), right, ">")):
                axes.plot(np.full(cut.sum(), end), y[cut], arrow, color=colour, markersize=size - 1, clip_on=False)
        axes.plot(means[mask], y[mask], marker, color=colour, markersize=size, label=name)
    axes.set_xlim(left, right)
    axes.set_xlabel("average, with interval" if started else "average")
    _legend(axes, 2)
    return figure


def plot_course(ledger: Ledger) -> Figure:
    """How many arms were certified good, certified bad and open, after how many measurements."""
    engine = ledger.engine
    if not engine.started:
        raise ValueError("ledger must have a measurement of every arm: got fewer.")
    number, pulls = engine.arms.size, int(engine.tally.pulls[0])
    moments = [moment for moment in engine.moments if moment.certified]
    after = 1.05 * pulls  # room to show the last state
    x = [0.0, *(float(moment.pulls) for moment in moments), after]
    good = [0, *(int((moment.labels == GOOD).sum()) for moment in moments)]
    bad = [0, *(int((moment.labels == BAD).sum()) for moment in moments)]
    good, bad = [*good, good[-1]], [*bad, bad[-1]]
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.subplots()
    open_ = [number - g - b for g, b in zip(good, bad, strict=True)]
    names = [f"certified good ({good[-1]})", f"open ({open_[-1]})", f"certified bad ({bad[-1]})"]
    axes.stackplot(x, good, open_, bad, step="post", colors=[BLUE, "#D9D9D9", VERMILION], labels=names)
    axes.set(xlabel="measurements", ylabel="number of arms", xlim=(0, after), ylim=(0, number))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    _legend(axes, 3)
    return figure


def plot_evidence(status: StudyStatus) -> Figure:
    """Evidence over need of each arm, with a line at 1, where a label is certified."""
    arms = [one for one in in_order(status) if one.need > 0.0]
    if not arms:
        raise ValueError("status must have a measurement of every arm: got fewer.")
    figure, axes = _by_arm(arms)
    ratio = np.array([one.evidence / one.need for one in arms])
    start, end = max(1.1 * min(ratio.min(), 0.0), -1.0), min(max(1.1 * ratio.max(), 1.2), FARTHEST_RATIO)
    y = np.arange(len(arms))
    for label, colour, _, hatch in LABELS:
        mask = np.array([one.label == label for one in arms])
        if not mask.any():
            continue
        _bars(axes, y[mask], np.clip(ratio, start, end)[mask], 0.0, colour, hatch, f"{label} ({mask.sum()})")
        for cut, at, arrow in ((mask & (ratio < start), start, "<"), (mask & (ratio > end), end, ">")):
            axes.plot(np.full(cut.sum(), at), y[cut], arrow, color=colour, markersize=4, clip_on=False)
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xlim=(start, end), xlabel="evidence over need (1: certified)")
    _legend(axes, 3)
    return figure


def plot_measurements(status: StudyStatus, ledger: Ledger) -> Figure:
    """Measurements of each arm: told, pending and failed."""
    arms = in_order(status)
    failed = Counter(ledger.question.arms[slip.arm] for slip in ledger.slips.values() if slip.state == "failed")
    figure, axes = _by_arm(arms)
    y, start = np.arange(len(arms)), np.zeros(len(arms))
    for name, numbers, colour, hatch in (
        ("told", [one.pulls for one in arms], GREY, ""),
        ("pending", [one.pending for one in arms], CYCLE[5], "///"),
        ("failed", [failed[one.arm] for one in arms], CYCLE[4], "xxx"),
    ):
        if any(numbers):
            _bars(axes, y, numbers, start.copy(), colour, hatch, f"{name} ({sum(numbers):,})")
        start += numbers
    axes.set(xlim=(0.0, 1.05 * max(start.max(), 1.0)), xlabel="measurements")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if start.any():
        _legend(axes, 3)
    return figure


def plot_plate(layout: dict[str, Any], slips: Iterable[Slip], scale: Normalize) -> Figure:
    """A plate, coloured by value; a cross: failed, a ring: no value yet, a name: a control, empty: not used."""
    rows, columns = layout["rows"], layout["columns"]
    side = min((WIDTH - 0.5) / columns, 5.0 / rows, 0.5)
    width, height = columns * side + 0.5, rows * side + 0.4
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0.35 / WIDTH, 0.05 / height, columns * side / WIDTH, rows * side / height))
    assert width <= WIDTH + 1e-9
    values = np.full((rows, columns), math.nan)
    marks: dict[str, list[tuple[int, int]]] = {"failed": [], "open": []}
    for slip in slips:
        assert slip.well is not None
        if slip.value is None:
            marks[slip.state].append(place(slip.well))
        else:
            values[place(slip.well)] = slip.value
    axes.imshow(values, cmap=COLOURS, norm=scale, interpolation="none", aspect="auto")
    points = 72.0 * side
    for state, shape in (("failed", "x"), ("open", "o")):
        y, x = [i for i, _ in marks[state]], [j for _, j in marks[state]]
        axes.plot(x, y, shape, color="black", fillstyle="none", markersize=0.45 * points, markeredgewidth=0.05 * points)
    size = float(np.clip(0.3 * points, 2.0, 7.0))
    for well, name in layout["placed"].items():
        i, j = place(well)
        axes.fill(
            [j - 0.5, j + 0.5, j + 0.5, j - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5], color="#E4E4E4", linewidth=0
        )
        axes.text(j, i, _drawn(name, int(points / (0.7 * size))), ha="center", va="center", fontsize=size)
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#C8C8C8", linewidth=0.5)
    step = 1 if side > 0.15 else 2 if side > 0.08 else 4
    axes.set_xticks(np.arange(0, columns, step), [str(j + 1) for j in range(0, columns, step)])
    axes.set_yticks(np.arange(0, rows, step), ROW_NAMES[:rows:step])
    axes.tick_params(which="both", length=0, labelsize=8, top=False, labeltop=True, labelbottom=False)
    return figure


def plot_scale(scale: Normalize) -> Figure:
    """The colours of values on plates."""
    figure = Figure(figsize=(WIDTH, 0.7), layout="constrained")
    bar = figure.colorbar(ScalarMappable(scale, COLOURS), cax=figure.subplots(), orientation="horizontal")
    bar.set_label("value")
    return figure


def in_order(status: StudyStatus) -> list[ArmStatus]:
    """Good, open and bad arms, then those that were withdrawn, each by decreasing average."""
    rank = {"good": 0, "open": 1, "bad": 2}
    return sorted(status.arms, key=lambda one: (one.withdrawn, rank[one.label], -one.mean if one.pulls else math.inf))


def _started(status: StudyStatus) -> bool:
    """Whether every arm of the question has a measurement."""
    asked = [one for one in status.arms if not one.withdrawn]
    return bool(asked) and all(one.pulls for one in asked)


class _Page:
    """Turns figures into SVG inside one page: names within one picture are not those of another."""

    def __init__(self) -> None:
        self.drawn = 0

    def picture(self, figure: Figure, title: str, caption: str) -> str:
        """``title`` and ``caption`` as HTML."""
        self.drawn += 1
        out, nothing = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with (
            rc_context({"svg.fonttype": "none", "svg.hashsalt": f"allgood {self.drawn}"}),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the reader's fonts may have it
            figure.savefig(out, format="svg", metadata=nothing)
        svg = re.sub(r'<g id="[^"<>]*"', "<g", out.getvalue()[out.getvalue().index("<svg") :].strip())
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return f"<figure>\n<h3>{title}</h3>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>"


def _safe(given: str) -> str:
    """What a user wrote, as HTML: control characters are shown as such, direction marks end where it ends."""
    return f"<bdi>{html.escape(_printable(given))}</bdi>"


def _printable(given: str) -> str:
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in given)


def _drawn(given: str, width: int = LONGEST_NAME) -> str:
    """What a user wrote, for a picture: no mathematics, and at most so wide."""
    clean = _printable(given).strip()
    if _width(clean) > width:
        while clean and _width(clean) > width - 1:
            clean = clean[:-1]
        clean = clean.rstrip() + "\u2026"
    return clean.replace("$", r"\$")


def _width(given: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in given)


def _by_arm(arms: Sequence[ArmStatus]) -> tuple[Figure, Axes]:
    """Axes with a line for each arm, the first on top; named, unless there are many."""
    names = [_drawn(one.arm) for one in arms] if len(arms) <= MANY else []
    left = 0.35 + 0.07 * max((_width(name) for name in names), default=0)
    height = 1.1 + (0.21 * max(len(arms), 3) if names else 4.5)
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((left / WIDTH, 0.5 / height, 1.0 - (left + 0.2) / WIDTH, 1.0 - 1.05 / height))
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    if not names:
        axes.set_ylabel(f"{len(arms)} arms, as in the table")
    return figure, axes


def _bars(axes: Axes, y: Any, lengths: Any, start: Any, colour: str, hatch: str, label: str) -> None:
    """Bars from ``start`` on; where there are many, without gaps and hatches, which would cover them."""
    many = abs(axes.get_ylim()[0]) > MANY
    axes.barh(
        y, lengths, 1.0 if many else 0.8, left=start, color=colour, hatch="" if many else hatch, edgecolor="white",
        linewidth=0.0, label=label,
    )  # fmt: skip


def _legend(axes: Axes, columns: int) -> None:
    """A legend above, as wide as the picture."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    if figure.get_layout_engine():
        figure.legend(loc="outside upper left", ncols=columns, frameon=False, fontsize="small")
    else:
        figure.legend(loc="upper left", ncols=columns, frameon=False, fontsize="small")


def _head(status: StudyStatus, ledger: Ledger) -> str:
    question, arms = ledger.question, [one for one in status.arms if not one.withdrawn]
    found = {"good": status.good, "bad": status.bad, "open": status.open}
    labels = f"{len(found['good'])} good, {len(found['bad'])} bad, {len(found['open'])} open"
    verdict = {
        "running": "Still running",
        "certified": "Every label is certified",
        "budget exhausted": "The budget is exhausted",
        "abandoned": "Every arm that is still open has been abandoned",
    }[status.outcome]
    lines = [
        f"<p>{verdict}: {labels}, of {_count(len(arms), 'arm')} after {_count(status.pulls, 'measurement')}.</p>",
        f"<p>With probability at least {_certainty(status.delta)}, no label shown as certified is wrong, however often "
        f"one looks, if {_model(question.model)}, independent of all others, with a mean that does not change. "
        f"An arm is good if its mean is {question.objective.wording}.</p>",
    ]
    for label, names in found.items():
        if names and (len(names) <= MANY or label == "good"):
            kind = "Open" if label == "open" else f"Certified {label}"
            lines.append(f'<p><span class="{label}">{kind}:</span> {", ".join(map(_safe, names))}.</p>')
    missing = sum(not one.pulls for one in arms)
    if missing:
        lines.append(
            "<p>No label can be certified before every arm has a measurement: "
            f"{missing:,} of {len(arms):,} have none.</p>"
        )
    if not arms:
        lines.append("<p>Every arm was withdrawn before its first measurement: nothing is left to ask.</p>")
    facts = [
        f"{_count(status.pulls, 'measurement')}{'' if status.budget is None else f' of at most {status.budget:,}'}",
        f"{status.pending:,} pending",
        f"{status.failed:,} failed",
        _count(status.corrections, "correction"),
    ]
    return (
        f"<header>\n<h1>{_safe(status.name)}</h1>\n"
        f'<p class="soft">As of {_time(status.time)}. {", ".join(facts)}.</p>\n</header>\n'
        f'<section class="verdict" id="verdict">\n{chr(10).join(lines)}\n</section>'
    )


def _table(status: StudyStatus, objective: Objective) -> str:
    shown = _numbers(status, objective)
    heads = (
        ("arm", "text"), ("label", ""), ("estimate", "number"), ("interval", "number"), ("measurements", "number"),
        ("evidence / need", "number"), ("rests on", "text"), ("certified after", "number"), ("note", "text"),
    )  # fmt: skip
    rows = []
    for one in in_order(status):
        label = "withdrawn" if one.withdrawn else one.label
        ended = (
            "" if one.abandoned is None else f"{'withdrawn' if one.withdrawn else 'abandoned'}: {_safe(one.abandoned)}"
        )
        waiting = f" <small>(+{one.pending:,} pending)</small>" if one.pending else ""
        cells = (
            _safe(one.arm),
            f'<span class="{label}">{label}</span>',
            shown(one.mean) if one.pulls else "-",
            f"{shown(one.low)} to {shown(one.high)}" if one.need > 0.0 else "-",
            f"{one.pulls:,}{waiting}",
            f"{one.evidence:.3g} / {one.need:.3g}" if one.need > 0.0 else "-",
            "the pool" if one.on_pool else "-" if one.rests_on is None else _safe(one.rests_on),
            "-" if one.certified_after is None else f"{one.certified_after:,}",
            ended,
        )
        rows.append(
            "<tr>" + "".join(_cell("td", kind, cell) for (_, kind), cell in zip(heads, cells, strict=True)) + "</tr>"
        )
    head = "".join(_cell("th", kind, name) for name, kind in heads)
    return (
        f'<section id="arms">\n<h2>Arms</h2>\n<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody>\n</table></div>\n"
        '<p class="soft">Intervals: with probability at least '
        f"{_certainty(status.delta)} all of them hold their means at all times. Evidence: for the label that the "
        "averages suggest, and what it must reach; a label that was certified stays, even if later measurements take "
        "its evidence below its need again. Certified after: so many measurements of the whole study.</p>\n</section>"
    )


def _cell(tag: str, kind: str, content: str) -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>' if kind else f"<{tag}>{content}</{tag}>"


def _pictures(page: _Page, status: StudyStatus, ledger: Ledger) -> str:
    started, objective = _started(status), ledger.question.objective
    found = []
    if status.pulls:
        caption = "An arrow: the interval goes on. Shaded: from the threshold to the best, as estimated."
        caption = caption if started else "Intervals come when every arm has a measurement."
        found.append(page.picture(plot_estimates(status, objective), "Estimates", caption))
    if started:
        caption = f"Bars that would go below -1 or beyond {FARTHEST_RATIO:g} end there, with an arrow."
        found.append(page.picture(plot_evidence(status), "Evidence over need", caption))
        found.append(page.picture(plot_course(ledger), "Labels over time", "Labels that are certified stay."))
    if ledger.slips:
        caption = "Values that count, tickets without a value, and tickets that failed."
        found.append(page.picture(plot_measurements(status, ledger), "Measurements per arm", caption))
    if not started:
        found.append('<p class="soft">Labels over time and evidence come when every arm has a measurement.</p>')
    return (
        f'<section id="pictures">\n<h2>Pictures</h2>\n<div class="pictures">\n{chr(10).join(found)}\n</div>\n</section>'
    )


def _plates(page: _Page, ledger: Ledger) -> str:
    if not ledger.plates:
        return ""
    batches = sorted(ledger.plates)[-PLATES:]
    wells: dict[int, list[Slip]] = {batch: [] for batch in batches}
    for slip in ledger.slips.values():
        if slip.well is not None and slip.batch in wells:
            wells[slip.batch].append(slip)
    values = [slip.value for slips in wells.values() for slip in slips if slip.value is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    scale = Normalize(low, high if high > low else low + (abs(low) or 1.0))
    left_out = len(ledger.plates) - len(batches)
    note = f" {_count(left_out, 'older plate')} {'is' if left_out == 1 else 'are'} left out." if left_out else ""
    key = "A cross: failed. A ring: no value yet. A name on grey: a control. Empty: not used." + note
    found = [page.picture(plot_scale(scale), "Scale", key)] if values else [f'<p class="soft">{key}</p>']
    pictures = []
    for batch in batches:
        layout, states = ledger.plates[batch], Counter(slip.state for slip in wells[batch])
        caption = f"{states['told']} told, {states['open']} without a value, {states['failed']} failed."
        controls: dict[str, list[str]] = {}
        for well, name in layout["placed"].items():
            controls.setdefault(name, []).append(well)
        for name, places in controls.items():
            caption += f" {_safe(name)}: {', '.join(places) if len(places) <= 8 else f'{len(places)} wells'}."
        pictures.append(page.picture(plot_plate(layout, wells[batch], scale), f"Plate of batch {batch}", caption))
    return (
        f'<section id="plates">\n<h2>Plates</h2>\n{chr(10).join(found)}\n'
        f'<div class="pictures">\n{chr(10).join(pictures)}\n</div>\n</section>'
    )


def _happenings(study: Study, ledger: Ledger, events: list[Event]) -> str:
    """Corrections, abandonments, values that nobody asked for, and failures."""
    values: dict[int, float] = {}
    lines = []
    for event in events:
        what = ""
        if event.ticket is not None and event.ticket in ledger.slips:
            slip = ledger.slips[event.ticket]
            ticket = f"{study.question.ticket_id(slip.number)} ({_safe(study.arms[slip.arm])})"
        if event.kind == "correction" and event.ticket is not None:
            what = f"Correction of {ticket}: {values[event.ticket]!r} is {event.value!r}"
        elif event.kind == "unasked":
            what = f"Unasked value {ticket}: {event.value!r}"
            what += "" if event.client is None else f", told by {_safe(event.client)}"
        elif event.kind == "failure":
            what = f"Failure of {ticket}"
        elif event.kind == "abandonment" and event.arm is not None:
            withdrawn = ", withdrawn before its first value" if event.arm in ledger.withdrawn else ""
            what = f"Abandonment of {_safe(study.arms[event.arm])}{withdrawn}"
        if what:
            lines.append(f"<li>{_time(event.time)} {what}; {_safe(event.note or 'no reason given')}</li>")
        if event.ticket is not None and event.value is not None:
            values[event.ticket] = event.value
    body = f"<ul>\n{chr(10).join(lines)}\n</ul>" if lines else "<p>Nothing but measurements, as asked for.</p>"
    if len(lines) > FOLDED:
        body = f"<details>\n<summary>All {len(lines):,}, newest last</summary>\n{body}\n</details>"
    return f'<section id="events">\n<h2>What happened</h2>\n{body}\n</section>'


def _small_print(ledger: Ledger, certificate: dict[str, Any]) -> str:
    question, log = ledger.question, certificate["log"]
    entries = {
        "question": f"{question.objective!r}: an arm is good if its mean is {question.objective.wording}",
        "model": canonical(model_words(question.model)),
        "delta": f"{question.delta!r}",
        "strategy": f"weakest-claim, {'with' if question.pool else 'without'} pool",
        "seed": f"{question.seed}",
        "budget": "none" if question.budget is None else f"{question.budget:,}",
        "study": question.uid,
        "begun, last event": f"{_stamp(ledger.times[0])}, {_stamp(ledger.times[1])}",
        "log": f"{_count(log['events'], 'event')}, SHA-256 {log['sha256']}",
        "versions": ", ".join(f"{name} {number}" for name, number in certificate["versions"].items()),
    }
    rows = "\n".join(
        f'<tr><th>{name}</th><td class="entry"><code>{html.escape(entry)}</code></td></tr>'
        for name, entry in entries.items()
    )
    unasked = sum(not slip.asked for slip in ledger.slips.values())
    return f"""<section id="print">
<h2>Small print</h2>
<table class="entries">
<tbody>
{rows}
</tbody>
</table>
<h3>What is not promised</h3>
<ul>
<li>Nothing is promised for values that were chosen for what they are: values told or withheld, called failed or \
corrected because of how they look. This study has {_count(unasked, "unasked value")}, \
{_count(ledger.failed, "failure")} and {_count(ledger.corrections, "correction")}; see what happened.</li>
<li>Effects of plates, rows, columns and edges are not in the model. Layouts spread arms over them; they do not take \
them away.</li>
<li>Labels are all right with the probability above, and so are intervals, each by itself: both at once with the risk \
doubled.</li>
<li>An SQLite file on a network file system may lose events, since such systems do not always keep locks. There, use \
PostgreSQL.</li>
<li>The digest says whether a log is the same log, not whether what was told is true.</li>
</ul>
</section>"""


def _certainty(delta: float) -> str:
    return f"{1.0 - delta:.10g}" if delta >= 1e-6 else f"1 - {delta:g}"


def _model(model: Model) -> str:
    """What is supposed of a measurement."""
    if isinstance(model, Gaussian) and model.sigma is None:
        return "each measurement is normal, with a standard deviation of its arm that need not be known"
    if isinstance(model, Gaussian):
        each = (
            f"{model.sigma:g}"
            if isinstance(model.sigma, float)
            else "that was stated for its arm (see the small print)"
        )
        return f"each measurement is normal (or sub-Gaussian) with standard deviation {each}"
    if isinstance(model, Bounded):
        return f"each measurement lies between {model.low:g} and {model.high:g}"
    return {
        Bernoulli: "each measurement is 0 or 1",
        Poisson: "each measurement is a count with a Poisson law",
        Exponential: "each measurement has an exponential law",
    }[type(model)]


def _numbers(status: StudyStatus, objective: Objective) -> Any:
    """Writes estimates with enough digits to tell what is asked."""
    ends = [abs(x) for one in status.arms for x in (one.mean, one.low, one.high) if math.isfinite(x)]
    means = [one.mean for one in status.arms if one.pulls]
    widths = [one.high - one.low for one in status.arms if 0.0 < one.high - one.low < math.inf]
    fine = min([*widths, abs(objective.allowance(max(means, default=1.0))) or math.inf])
    top = max(ends, default=0.0)
    digits = 4 if top == 0.0 else int(np.clip(math.ceil(math.log10(top) - math.log10(fine)) + 2, 4, 16))
    return lambda x: f"{x:.{digits}g}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _stamp(time: float) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return f"{time:g} s since 1970"


def _time(time: float) -> str:
    return f"<time>{_stamp(time)}</time>"
