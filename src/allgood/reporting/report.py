"""A study as one HTML file: the verdict, every arm, pictures, what happened, and the small print.

The file stands alone: pictures are SVG inside it, and nothing is loaded from elsewhere.  It is a
function of the events and of the time of the status.  Names, reasons and sources were written by
users.  They reach the file through ``_safe`` and in no other way, and pictures through
``pictures.shortened``.
"""

import html
import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from matplotlib import rc_context, rcdefaults
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from .._internal.cancel import check_cancelled
from .._internal.tables import counted
from ..certificates.write import versions_used
from ..objectives import Objective
from ..study.design import StudyDesign
from ..study.diagnostics import Checks
from ..study.events import Event, canonical, digest, stored_event
from ..study.sentences import stamp
from ..study.state import Origin, StudyState, TicketRecord
from ..study.status import ArmStatus, StudyStatus, status_of
from ..study.study import Study
from .figures import MANY
from .study_figures import (
    FARTHEST_RATIO,
    has_started,
    in_order,
    plot_course,
    plot_drift,
    plot_estimates,
    plot_evidence,
    plot_measurements,
    plot_plate,
    plot_scale,
    printable,
)

PLATES = 12  # drawn at most, the newest
AS_USUAL = ("ticket", "measurement")  # kinds of events that are no happenings
FOLDED = 20  # a longer list of happenings is folded
LONGEST_NOTE = 80  # characters; a longer note on an arm is folded

STYLE = """
:root { color-scheme: light dark;
  --ink: #1b1b1b; --paper: #ffffff; --soft: #5c5c5c; --line: #d5d5d5; --box: #eef4f8;
  --alarm: #fdf1e7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181a; --soft: #a8a8a8; --line: #44484c; --box: #1f2a33;
    --alarm: #33261a; }
}
body { margin: 0 auto; max-width: 66rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; line-height: 1.2; } h2 { margin: 2rem 0 0.5rem; } p { margin: 0.5rem 0; }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
.verdict { background: var(--box); border-left: 0.4rem solid #0072B2;
  padding: 0.5rem 1rem; margin: 1rem 0; }
.warnings { background: var(--alarm); border-left: 0.4rem solid #D55E00;
  padding: 0.1rem 1rem 0.5rem; margin: 1rem 0; }
.warnings h2 { margin: 0.5rem 0; font-size: 1.1rem; }
.verdict p:first-child { font-size: 1.25rem; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.4rem;
  text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
.text { min-width: 6rem; max-width: 18rem; overflow-wrap: anywhere; }
.entries th { white-space: nowrap; } .entry { overflow-wrap: anywhere; }
.good { color: #0072B2; font-weight: 600; } .bad { color: #B34F00; font-weight: 600; }
@media (prefers-color-scheme: dark) { .good { color: #6BBDEB; } .bad { color: #FF9A52; } }
.pictures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figure svg { display: block; box-sizing: border-box;
  width: 100%; max-width: 34rem; height: auto; padding: 0.4rem;
  background: #ffffff; border: 1px solid var(--line); border-radius: 0.4rem; }
ul { padding-left: 1.2rem; } time { white-space: nowrap; } code { overflow-wrap: anywhere; }
@media print {
  body { max-width: none; font-size: 10pt; } table { font-size: 7.5pt; } .text { min-width: 4rem; }
}
"""


def report_html(study: Study) -> str:
    """The study as it stands, as one HTML page that needs nothing else."""
    lines = study.lines()
    events = list(map(stored_event, lines))
    state = StudyState.from_events(events)
    status = status_of(state, study.name, study._clock())
    with rc_context():
        rcdefaults()
        page = _Page()
        parts: list[Callable[[], str]] = [
            lambda: _head(status, state),
            lambda: _warnings(status.checks),
            lambda: _suspects(status),
            lambda: _notes(status),
            lambda: _table(status, state.design.objective),
            lambda: _pictures(page, status, state),
            lambda: _plates(page, state, status.checks),
            lambda: _happenings(state, events),
            lambda: _small_print(state, lines),
        ]
        sections = []
        for part in parts:
            check_cancelled()
            sections.append(part())
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{html.escape(printable(status.name))}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body>\n</html>\n"
    )


class _Page:
    """Turns figures into SVG of one page.  The names inside each picture are its own."""

    def __init__(self) -> None:
        self.drawn = 0

    def picture(self, figure: Figure, title: str, caption: str) -> str:
        """The figure as SVG.  ``title`` and ``caption`` are HTML."""
        self.drawn += 1
        out, nothing = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with (
            rc_context({"svg.fonttype": "none", "svg.hashsalt": f"allgood {self.drawn}"}),
            warnings.catch_warnings(),
        ):
            # The reader's fonts may have the character.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(out, format="svg", metadata=nothing)
        svg = re.sub(
            r'<g id="[^"<>]*"', "<g", out.getvalue()[out.getvalue().index("<svg") :].strip()
        )
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return f"<figure>\n<h3>{title}</h3>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>"


def _progress(one: ArmStatus) -> str:
    """Evidence over need; where every other arm is certified bad, there is nothing to show."""
    if not one.need > 0.0:
        return "-"
    return "no rival left" if one.evidence == math.inf else f"{one.evidence:.3g} / {one.need:.3g}"


def _safe(given: str) -> str:
    """What a user wrote, as HTML: control characters are marked, text directions end with it."""
    return f"<bdi>{html.escape(printable(given))}</bdi>"


def _head(status: StudyStatus, state: StudyState) -> str:
    design = state.design
    arms = [one for one in status.arms if not one.withdrawn]
    by_label = {"good": status.good, "bad": status.bad, "open": status.open}
    lines = [
        f"<p>{html.escape(printable(status.verdict))}</p>",
        f"<p>With probability at least {_certainty(status.delta)}, no label shown as certified is "
        f"wrong, however often one looks, if {design.model.wording}, independent of all others, "
        "with a mean that does not change. An arm is good if its mean is "
        f"{design.objective.wording}.</p>",
    ]
    for label, names in by_label.items():
        if names and (len(names) <= MANY or label == "good"):
            kind = "Open" if label == "open" else f"Certified {label}"
            lines.append(
                f'<p><span class="{label}">{kind}:</span> {", ".join(map(_safe, names))}.</p>'
            )
    for label, names in (("good", status.looks_good), ("bad", status.looks_bad)):
        if names and len(names) <= MANY:
            lines.append(
                f"<p>Open, and {label} if the averages are the means (a guess, without a "
                f"guarantee): {', '.join(map(_safe, names))}.</p>"
            )
    missing = sum(math.isnan(one.mean) for one in arms)
    if missing:
        lines.append(
            f"<p>No label can be certified before every arm has a measurement: {missing:,} of "
            f"{len(arms):,} have none.</p>"
        )
    if not arms:
        lines.append(
            "<p>Every arm was withdrawn before its first measurement: nothing is left to ask.</p>"
        )
    limit = "" if status.budget is None else f" of at most {status.budget:,}"
    facts = [
        f"{counted(status.pulls, 'measurement')}{limit}",
        f"{status.pending:,} pending",
        f"{status.failed:,} failed",
        counted(status.corrections, "corrected"),
        *([f"{len(status.suspects):,} suspect"] if status.suspects else []),
        *([f"{status.waiting:,} waiting"] if status.waiting else []),
    ]
    return (
        f"<header>\n<h1>{_safe(status.name)}</h1>\n"
        f'<p class="soft">As of {_time(status.time)}. {", ".join(facts)}.</p>\n</header>\n'
        f'<section class="verdict" id="verdict">\n{chr(10).join(lines)}\n</section>'
    )


def _suspects(status: StudyStatus) -> str:
    """Values that do not count yet, and why; nothing if there are none."""
    lines = [f"<li>{_safe(one.message)}.</li>" for one in status.suspects]
    if status.waits_for is not None:
        ticket = status.waits_for
        lines.append(
            f"<li>{counted(status.waiting, 'value')} told and not counted yet: values count in the "
            f"order of their tickets, and {ticket.id} of {_safe(ticket.arm)} is still open.</li>"
        )
    return _box("values", "Values that do not count", lines)


def _warnings(checks: Checks) -> str:
    """What does not fit the model; nothing if all does."""
    lines = [f"<li>{_safe(sentence)}</li>" for sentence in checks.sentences]
    return _box("checks", "The measurements do not fit the model", lines)


def _box(name: str, title: str, lines: list[str]) -> str:
    """A section that stands out; nothing if it has no lines."""
    if not lines:
        return ""
    return (
        f'<section class="warnings" id="{name}">\n<h2>{title}</h2>\n'
        f"<ul>\n{chr(10).join(lines)}\n</ul>\n</section>"
    )


def _notes(status: StudyStatus) -> str:
    """Remarks; nothing if there are none."""
    if not status.notes:
        return ""
    lines = []
    for one in status.notes:
        about = "" if one.arm is None else f" on {_safe(one.arm)}"
        about += "" if one.ticket is None else f" ({one.ticket})"
        about += "" if one.client is None else f", by {_safe(one.client)}"
        lines.append(f"<li>{_time(one.time)}{about}: {_safe(one.text)}</li>")
    return f'<section id="notes">\n<h2>Notes</h2>\n{_listed(lines)}\n</section>'


def _listed(lines: list[str]) -> str:
    """A list, folded if it is long."""
    body = f"<ul>\n{chr(10).join(lines)}\n</ul>"
    if len(lines) <= FOLDED:
        return body
    return f"<details>\n<summary>All {len(lines):,}, newest last</summary>\n{body}\n</details>"


def _table(status: StudyStatus, objective: Objective) -> str:
    shown = _numbers(status, objective)
    heads = (
        ("arm", "text"),
        ("label", ""),
        ("estimate", "number"),
        ("interval", "number"),
        ("measurements", "number"),
        ("evidence / need", "number"),
        ("rests on", "text"),
        ("certified after", "number"),
        ("note", "text"),
    )
    rows = []
    for one in in_order(status):
        label = "withdrawn" if one.withdrawn else one.label
        ended = (
            ""
            if one.dropped is None
            else f"{'withdrawn' if one.withdrawn else 'dropped'}: {_safe(one.dropped)}"
        )
        waiting = f" <small>(+{one.pending:,} pending)</small>" if one.pending else ""
        cells = (
            _safe(one.arm),
            f'<span class="{label}">{label}</span>',
            "-" if math.isnan(one.mean) else shown(one.mean),
            f"{shown(one.low)} to {shown(one.high)}" if one.need > 0.0 else "-",
            f"{one.pulls:,}{waiting}",
            _progress(one),
            "the pool" if one.on_pool else "-" if one.rests_on is None else _safe(one.rests_on),
            "-" if one.certified_after is None else f"{one.certified_after:,}",
            "; ".join(filter(None, (ended, _arm_notes(one.notes)))),
        )
        rows.append(
            "<tr>"
            + "".join(_cell("td", kind, cell) for (_, kind), cell in zip(heads, cells, strict=True))
            + "</tr>"
        )
    head = "".join(_cell("th", kind, name) for name, kind in heads)
    return (
        '<section id="arms">\n<h2>Arms</h2>\n<div class="wide"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody>\n</table></div>\n"
        '<p class="soft">Intervals: with probability at least '
        f"{_certainty(status.delta)} all of them hold their means at all times. Evidence: for the "
        "label that the averages suggest, and what it must reach; a label that was certified "
        "stays, even if later measurements take its evidence below its need again. Certified "
        "after: so many measurements of the whole study.</p>\n</section>"
    )


def _arm_notes(notes: dict[str, str]) -> str:
    """What is known of an arm, folded if it is long."""
    text = "; ".join(f"{heading}: {known}" for heading, known in notes.items())
    if len(text) <= LONGEST_NOTE:
        return _safe(text) if text else ""
    first = f"{_safe(text[:LONGEST_NOTE])} ..."
    return f"<details><summary>{first}</summary>{_safe(text)}</details>"


def _cell(tag: str, kind: str, content: str) -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>' if kind else f"<{tag}>{content}</{tag}>"


def _pictures(page: _Page, status: StudyStatus, state: StudyState) -> str:
    started, objective = has_started(status), state.design.objective
    drawn = []
    if status.pulls:
        caption = (
            "An arrow: the interval goes on. Shaded: from the threshold to the best, as estimated. "
            "A label may be certified although the interval of its arm crosses the threshold: the "
            "label compares two arms, and needs less than to know each mean."
        )
        caption = caption if started else "Intervals come when every arm has a measurement."
        drawn.append(page.picture(plot_estimates(status, objective), "Estimates", caption))
    if started:
        caption = (
            f"Bars that would go below -1 or beyond {FARTHEST_RATIO:g} end there, with an arrow."
        )
        drawn.append(page.picture(plot_evidence(status), "Evidence over need", caption))
        drawn.append(
            page.picture(plot_course(state), "Labels over time", "Labels that are certified stay.")
        )
    if state.tickets:
        caption = "Values that count, values that do not, and tickets without a value."
        drawn.append(
            page.picture(plot_measurements(status, state), "Measurements per arm", caption)
        )
    if not started:
        drawn.append(
            '<p class="soft">Labels over time and evidence come when every arm has a measurement.'
            "</p>"
        )
    return (
        '<section id="pictures">\n<h2>Pictures</h2>\n'
        f'<div class="pictures">\n{chr(10).join(drawn)}\n</div>\n</section>'
    )


def _drift(page: _Page, checks: Checks) -> str:
    """The picture of what changed from plate to plate, if two plates can be compared."""
    comparable = [row for row in checks.plates if row.arms or row.controls]
    if len(checks.plates) < 2 or not comparable:
        return ""
    caption = (
        "Squares: plates that differ from those before. Controls: averages, with 95 % intervals "
        "from the scatter within plates."
    )
    if checks.with_arms:
        caption += (
            " Arms: what they gave beyond their averages on earlier plates, with intervals that "
            "hold however the arms were chosen."
        )
    else:
        caption += " Arms are not compared: the model of the measurements gives no sigma."
    return page.picture(plot_drift(checks), "From plate to plate", caption)


def _plates(page: _Page, state: StudyState, checks: Checks) -> str:
    if not state.plates:
        return ""
    batches = sorted(state.plates)[-PLATES:]
    on_plate: dict[int, list[TicketRecord]] = {batch: [] for batch in batches}
    for ticket in state.tickets.values():
        if ticket.well is not None and ticket.batch in on_plate:
            on_plate[ticket.batch].append(ticket)
    shown = [ticket for tickets in on_plate.values() for ticket in tickets]
    suspects = state.quality.suspects
    values = [
        ticket.value
        for ticket in shown
        if ticket.value is not None and ticket.number not in suspects
    ]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    scale = Normalize(low, high if high > low else low + (abs(low) or 1.0))
    left_out = len(state.plates) - len(batches)
    note = (
        f" {counted(left_out, 'older plate is', 'older plates are')} left out." if left_out else ""
    )
    key = (
        "A cross: failed. A ring: no value yet. A triangle: suspect. A name on grey: a control. "
        "Empty: not used." + note
    )
    drift = _drift(page, checks)
    legend = f'<p class="soft">{key}</p>'
    if values:
        legend = page.picture(plot_scale(scale), "Scale", key)
    pictures = []
    for batch in batches:
        layout = state.plates[batch]
        states = Counter(ticket.state for ticket in on_plate[batch])
        caption = (
            f"{states['told']} told, {states['open']} without a value, {states['failed']} failed."
        )
        controls: dict[str, list[str]] = {}
        for well, name in layout["placed"].items():
            controls.setdefault(name, []).append(well)
        for name, wells in sorted(controls.items()):
            listed = ", ".join(wells) if len(wells) <= 8 else f"{len(wells)} wells"
            caption += f" {_safe(name)}: {listed}."
        figure = plot_plate(layout, on_plate[batch], set(suspects), scale)
        pictures.append(page.picture(figure, f"Plate of batch {batch}", caption))
    return (
        f'<section id="plates">\n<h2>Plates</h2>\n{drift}{legend}\n'
        f'<div class="pictures">\n{chr(10).join(pictures)}\n</div>\n</section>'
    )


def _happenings(state: StudyState, events: list[Event]) -> str:
    """Corrections, dropped arms, new arms, budgets, values that nobody asked for, and failures."""
    design = state.design
    values: dict[int, float] = {}
    lines = []
    for event in events:
        if event.kind in AS_USUAL:
            if event.ticket is not None and event.value is not None:
                values[event.ticket] = event.value
            continue
        what = ""
        if event.ticket is not None and event.ticket in state.tickets:
            arm = design.arms[state.tickets[event.ticket].arm]
            ticket = f"{design.ticket_id(event.ticket)} ({_safe(arm)})"
        if event.kind == "corrected" and event.ticket is not None:
            what = f"Correction of {ticket}: {values[event.ticket]!r} is {event.value!r}"
        elif event.kind == "confirmed":
            what = f"Confirmation of {ticket}: {event.value!r} counts"
        elif event.kind == "control_corrected":
            what = f"Correction of the control in {event.well} of plate {event.batch}"
        elif event.kind == "unrequested":
            what = f"Unrequested value {ticket}: {event.value!r}"
            what += "" if event.client is None else f", told by {_safe(event.client)}"
        elif event.kind == "failed":
            what = f"Failure of {ticket}"
        elif event.kind == "arm_dropped" and event.arm is not None:
            withdrawn = ", withdrawn before its first value" if event.arm in state.withdrawn else ""
            what = f"Dropped arm {_safe(design.arms[event.arm])}{withdrawn}"
        elif event.kind == "budget_set" and event.data is not None:
            what = f"The budget is {_budget(event.data['budget'])} from now on"
        elif event.kind == "arms_added" and event.data is not None:
            what = f"New arms: {', '.join(map(_safe, event.data['arms']))}"
        elif event.kind == "copy" and event.data is not None:
            lines.append(
                f"<li>{_time(event.time)} All that happened before was copied from the study "
                f"{_safe(event.data['name'])}, which had another question</li>"
            )
        if what:
            lines.append(
                f"<li>{_time(event.time)} {what}; {_safe(event.note or 'no reason given')}</li>"
            )
        if event.ticket is not None and event.value is not None:
            values[event.ticket] = event.value
    body = _listed(lines) if lines else "<p>Nothing but measurements, as asked for.</p>"
    return f'<section id="events">\n<h2>What happened</h2>\n{body}\n</section>'


def _small_print(state: StudyState, lines: list[str]) -> str:
    design = state.design
    objective, budget = design.objective, state.created.budget
    at_first = "" if budget == design.budget else f"; at first {_budget(budget)}"
    entries = {
        "question": f"{objective!r}: an arm is good if its mean is {objective.wording}",
        "model": canonical(design.model.to_dict()),
        "delta": f"{design.delta!r}",
        "strategy": f"claim-by-claim, {'with' if design.pool else 'without'} pool",
        "seed": f"{design.seed}",
        "budget": _budget(design.budget) + at_first,
        **({"max_new_arms": _reserve(design)} if design.max_new_arms else {}),
        "values": _quality(state),
        "study": design.uid,
        **({} if state.origin is None else {"copied from": _origin(state.origin)}),
        "begun, last event": f"{stamp(state.times[0])}, {stamp(state.times[1])}",
        "log": f"{counted(len(lines), 'event')}, SHA-256 {digest(lines)}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions_used().items()),
    }
    rows = "\n".join(
        f'<tr><th>{name}</th><td class="entry"><code>{html.escape(entry)}</code></td></tr>'
        for name, entry in entries.items()
    )
    unrequested = sum(not ticket.asked for ticket in state.tickets.values())
    return f"""<section id="print">
<h2>Small print</h2>
<table class="entries">
<tbody>
{rows}
</tbody>
</table>
<h3>What is not promised</h3>
<ul>
<li>Nothing is promised for values that were chosen for what they are. Examples are values that \
were told, withheld, called failed or corrected because of how they look. This study has \
{counted(unrequested, "unrequested value")}, {counted(state.failed, "failed")} and \
{counted(state.corrections, "corrected")}; see what happened.</li>
<li>Effects of plates, rows, columns and edges are not in the model. Layouts spread arms over \
them; they do not remove them. A drift from plate to plate, and a wrong sigma, are reported above \
once they are beyond doubt; smaller ones are not.</li>
<li>All labels are right with the probability above. All intervals are right with the same \
probability. For both at once the risk is twice as large.</li>
<li>An SQLite file on a network file system may lose events, because such systems do not always \
keep locks. Use PostgreSQL there.</li>
<li>The digest shows whether a log is the same log. It does not show whether the values are \
true.</li>
</ul>
</section>"""


def _quality(state: StudyState) -> str:
    """By which rules values count, and how many are special."""
    design, normalised = state.design, sum(t.raw is not None for t in state.tickets.values())
    parts = [
        "checked, and no label rests on one alone" if design.check_values else "not checked",
        "counted in the order of their tickets" if design.in_order else "counted as told",
    ]
    if design.censor_at is not None:
        parts.append(f"waits given up at {design.censor_at:g}")
    if normalised:
        parts.append(f"{normalised:,} normalised by controls, and not quite independent for it")
    return "; ".join(parts)


def _reserve(design: StudyDesign) -> str:
    kept = f"{counted(design.max_new_arms, 'place')} kept for more arms"
    return f"{kept}, {design.added} taken; labels use a quarter of delta"


def _origin(origin: Origin) -> str:
    return (
        f"{printable(origin.name)}, study {origin.uid}, {counted(origin.events, 'event')}, SHA-256 "
        f"{origin.sha256}; the risk of that study comes on top"
    )


def _certainty(delta: float) -> str:
    return f"{1.0 - delta:.10g}" if delta >= 1e-6 else f"1 - {delta:g}"


def _numbers(status: StudyStatus, objective: Objective) -> Callable[[float], str]:
    """A function that writes estimates with as many digits as the question needs."""
    ends = [
        abs(x) for one in status.arms for x in (one.mean, one.low, one.high) if math.isfinite(x)
    ]
    means = [one.mean for one in status.arms if not math.isnan(one.mean)]
    widths = [one.high - one.low for one in status.arms if 0.0 < one.high - one.low < math.inf]
    fine = min([*widths, abs(objective.allowance(max(means, default=1.0))) or math.inf])
    top = max(ends, default=0.0)
    digits = (
        4 if top == 0.0 else int(np.clip(math.ceil(math.log10(top) - math.log10(fine)) + 2, 4, 16))
    )
    return lambda x: f"{x:.{digits}g}"


def _budget(budget: int | None) -> str:
    return "unlimited" if budget is None else counted(budget, "measurement")


def _time(time: float) -> str:
    return f"<time>{stamp(time)}</time>"
