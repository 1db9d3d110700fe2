"""A study as one HTML file: verdict, arms, pictures, history and small print.

The file stands alone: pictures are SVG inside it, and nothing is loaded from elsewhere.  Its
content depends only on the events and on the time of the status.  ``templates/report.html`` escapes
everything; names, reasons and sources, which users wrote, also go through its filter ``user``, and
into pictures through ``study_figures.shortened``.
"""

import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib import rc_context, rcdefaults
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from .._internal.cancel import check_cancelled
from .._internal.tables import counted
from ..certificates.write import versions_used
from ..objectives import Objective
from ..study import sentences
from ..study.design import StudyDesign
from ..study.diagnostics import Checks
from ..study.event_sentences import event_arm, event_wording
from ..study.events import KINDS, Event, canonical, digest, stored_event
from ..study.state import Note, Origin, StudyState, TicketRecord
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
FOLDED = 20  # a longer list is folded
LONGEST_NOTE = 80  # characters; a longer note on an arm is folded


def report_html(study: Study) -> str:
    """Return the study as it stands, as one HTML page that needs nothing else."""
    lines = study.backend.lines()
    events = list(map(stored_event, lines))
    state = StudyState.from_events(events)
    status = status_of(state, study.name, study.backend.clock())
    with rc_context():
        rcdefaults()
        drawing = _Drawing()
        pictures = _pictures(drawing, status, state)
        plates = _plates(drawing, state, status.checks)
    check_cancelled()
    parts = _verdict_parts(status, state) | {
        "notes": [_note(note) for note in status.notes],
        "rows": _rows(status, state.design.objective),
        "pictures": pictures,
        "plates": plates,
        "history": _history(state, events),
        "entries": _entries(state, lines),
        "chosen": _chosen(state),
    }
    page: str = _environment().get_template("report.html").render(status=status, **parts)
    return page


@cache
def _environment() -> Environment:
    """Return the environment of the template, in which every text is escaped."""
    environment = Environment(
        loader=PackageLoader("allgood.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"user": _user, "printable": printable, "stamp": sentences.stamp}
    environment.globals |= {
        "FOLDED": FOLDED,
        "LONGEST_NOTE": LONGEST_NOTE,
        "GUESSES": sentences.GUESSES,
        "MISFIT": sentences.MISFIT,
        "POOL": sentences.POOL,
    }
    return environment


def _user(text: str) -> Markup:
    """Return what a user wrote as HTML: control characters are marked, text directions end."""
    return Markup("<bdi>{}</bdi>").format(printable(text))


def _line(template: str, **texts: object) -> Markup:
    """Fill in a line of HTML; texts are what users wrote, numbers stay as they are."""
    return Markup(template).format(
        **{key: _user(text) if isinstance(text, str) else text for key, text in texts.items()}
    )


def _when(time: float) -> Markup:
    return Markup("<time>{}</time>").format(sentences.stamp(time))


def _verdict_parts(status: StudyStatus, state: StudyState) -> dict[str, Any]:
    """Return what the head of the page says, and values that do not count yet."""
    kinds = [
        (label, term.title, getattr(status, label)) for label, term in sentences.LABELS.items()
    ]
    guesses = (("good", status.guessed_good), ("bad", status.guessed_bad))
    limit = "" if status.budget is None else f" of at most {status.budget:,}"
    facts = [
        f"{counted(status.measurements, 'measurement')}{limit}",
        f"{status.pending:,} pending",
        f"{status.failed:,} failed",
        f"{status.corrections:,} corrected",
        *([f"{status.withdrawn_values:,} withdrawn"] if status.withdrawn_values else []),
        *([f"{len(status.suspects):,} suspect"] if status.suspects else []),
        *([f"{status.waiting:,} waiting"] if status.waiting else []),
    ]
    sigma, plates = status.sigma, status.plates
    extra = [sigma.sentence if sigma else "", plates.sentence if plates else ""]
    waiting = [Markup("{}.").format(_user(suspect.message)) for suspect in status.suspects]
    waiting += map(_user, status.rejected)
    waiting += [_user(status.waits_for_controls)] if status.waits_for_controls else []
    if status.waits_for is not None:
        ticket = status.waits_for
        text = sentences.waiting(status.waiting, ticket.id, ticket.arm, ticket.client)
        waiting.append(_user(text))
    arms = [arm for arm in status.arms if not arm.withdrawn]
    return {
        "facts": facts,
        "extra": "  ".join(filter(None, [status.best_guess, *status.remarks.values(), *extra])),
        "confidence": sentences.confidence(status.delta),
        "guarantee": sentences.guarantee(status.delta, sentences.condition(state.design.model)),
        "labels": [
            (label, kind, names)
            for label, kind, names in kinds
            if names and (len(names) <= MANY or label == "good")
        ],
        "guesses": [(label, names) for label, names in guesses if 0 < len(names) <= MANY],
        "arms": len(arms),
        "missing": sum(math.isnan(arm.mean) for arm in arms),
        "started": has_started(status),
        "misfit": [_user(sentence) for sentence in status.checks.sentences],
        "waiting": waiting,
    }


def _note(note: Note) -> Markup:
    about = Markup("") if note.arm is None else _line(" on {arm}", arm=note.arm)
    about += "" if note.ticket is None else f" ({note.ticket})"
    about += "" if note.client is None else _line(", by {client}", client=note.client)
    return Markup("{}{}: {}").format(_when(note.time), about, _user(note.text))


def _rows(status: StudyStatus, objective: Objective) -> list[dict[str, Any]]:
    """Return the cells of the table of arms, in the order of the pictures."""
    number = _number_format(status, objective)
    return [
        {
            "arm": arm.arm,
            "label": "withdrawn" if arm.withdrawn else arm.label,
            "guess": arm.guess,
            "remark": sentences.REMARKS[arm.remark].word if arm.remark else "",
            "estimate": "-" if math.isnan(arm.mean) else number(arm.mean),
            "interval": f"{number(arm.low)} to {number(arm.high)}" if arm.need > 0.0 else "-",
            "measurements": f"{arm.measurements:,}",
            "pending": f"{arm.pending:,}" if arm.pending else "",
            "evidence": sentences.evidence_over_need(arm.evidence, arm.need, ".3g"),
            "on_pool": arm.on_pool,
            "rests_on": arm.rests_on,
            "certified_after": "-" if arm.certified_after is None else f"{arm.certified_after:,}",
            "dropped": arm.dropped,
            "notes": "; ".join(f"{heading}: {text}" for heading, text in arm.notes.items()),
        }
        for arm in in_order(status)
    ]


def _number_format(status: StudyStatus, objective: Objective) -> Callable[[float], str]:
    """Return a function that writes estimates with as many digits as the question needs."""

    def ends(arm: ArmStatus) -> tuple[float, float, float]:
        return arm.mean, arm.low, arm.high

    sizes = [abs(x) for arm in status.arms for x in ends(arm) if math.isfinite(x)]
    means = [arm.mean for arm in status.arms if not math.isnan(arm.mean)]
    widths = [arm.high - arm.low for arm in status.arms if 0.0 < arm.high - arm.low < math.inf]
    fine = min([*widths, abs(objective.allowance(max(means, default=1.0))) or math.inf])
    top = max(sizes, default=0.0)
    digits = (
        4 if top == 0.0 else int(np.clip(math.ceil(math.log10(top) - math.log10(fine)) + 2, 4, 16))
    )
    return lambda x: f"{x:.{digits}g}"


@dataclass(frozen=True)
class _Picture:
    """A figure of the page: its SVG, its title, and its caption with names of controls."""

    title: str
    svg: Markup
    caption: str
    controls: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class _PlateSection:
    """The pictures of the plates; without a scale only its key is shown."""

    drift: _Picture | None
    scale: _Picture | None
    key: str
    pictures: list[_Picture]


class _Drawing:
    """Turns figures into SVG of one page; the names inside each picture are its own."""

    def __init__(self) -> None:
        self.drawn = 0

    def picture(
        self, figure: Figure, title: str, caption: str, controls: Sequence[tuple[str, str]] = ()
    ) -> _Picture:
        check_cancelled()
        self.drawn += 1
        out, nothing = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with (
            rc_context({"svg.fonttype": "none", "svg.hashsalt": f"allgood {self.drawn}"}),
            warnings.catch_warnings(),
        ):
            # The reader's fonts may have the character.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(out, format="svg", metadata=nothing)
        text = out.getvalue()
        svg = re.sub(r'<g id="[^"<>]*"', "<g", text[text.index("<svg") :].strip())
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return _Picture(title, Markup(svg), caption, controls)  # matplotlib has escaped it


def _pictures(drawing: _Drawing, status: StudyStatus, state: StudyState) -> list[_Picture]:
    started, objective = has_started(status), state.design.objective
    pictures = []
    if status.measurements:
        caption = (
            "An arrow: the interval goes on. Shaded: from the threshold to the best, as estimated. "
            "A label may be certified although the interval of its arm crosses the threshold. "
            f"{sentences.DIRECT}"
            if started
            else "Intervals come when every arm has a measurement."
        )
        figure = plot_estimates(status, objective)
        pictures.append(drawing.picture(figure, "Estimates", caption))
    if started:
        caption = (
            f"Bars that would go below -1 or beyond {FARTHEST_RATIO:g} end there, with an arrow."
        )
        pictures.append(drawing.picture(plot_evidence(status), "Evidence over need", caption))
        caption = "Labels that are certified stay."
        pictures.append(drawing.picture(plot_course(state), "Labels over time", caption))
    if state.tickets:
        caption = "Values that count, values that do not, and tickets without a value."
        figure = plot_measurements(status, state)
        pictures.append(drawing.picture(figure, "Measurements per arm", caption))
    return pictures


def _plates(drawing: _Drawing, state: StudyState, checks: Checks) -> _PlateSection | None:
    if not state.plates:
        return None
    batches = sorted(state.plates)[-PLATES:]
    on_plate: dict[int, list[TicketRecord]] = {batch: [] for batch in batches}
    for ticket in state.tickets.values():
        if ticket.well is not None and ticket.batch in on_plate:
            on_plate[ticket.batch].append(ticket)
    suspects = set(state.quality.suspects)
    values = [
        ticket.value
        for tickets in on_plate.values()
        for ticket in tickets
        if ticket.value is not None and ticket.number not in suspects
    ]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    scale = Normalize(low, high if high > low else low + (abs(low) or 1.0))
    key = (
        "A cross: failed. A ring: no value yet. A triangle: suspect. A name on grey: a control. "
        "Empty: not used."
    )
    left_out = len(state.plates) - len(batches)
    if left_out:
        key += f" {counted(left_out, 'older plate is', 'older plates are')} left out."
    return _PlateSection(
        drift=_drift(drawing, checks),
        scale=drawing.picture(plot_scale(scale), "Scale", key) if values else None,
        key=key,
        pictures=[
            _plate(drawing, batch, state.plates[batch], on_plate[batch], suspects, scale)
            for batch in batches
        ],
    )


def _plate(
    drawing: _Drawing,
    batch: int,
    layout: dict[str, Any],
    tickets: list[TicketRecord],
    suspects: set[int],
    scale: Normalize,
) -> _Picture:
    states = Counter(ticket.state for ticket in tickets)
    caption = f"{states['told']} told, {states['open']} without a value, {states['failed']} failed."
    controls: dict[str, list[str]] = {}
    for well, name in layout["placed"].items():
        controls.setdefault(name, []).append(well)
    wells_of = [
        (name, ", ".join(wells) if len(wells) <= 8 else f"{len(wells)} wells")
        for name, wells in sorted(controls.items())
    ]
    figure = plot_plate(layout, tickets, suspects, scale)
    return drawing.picture(figure, f"Plate of batch {batch}", caption, wells_of)


def _drift(drawing: _Drawing, checks: Checks) -> _Picture | None:
    """Draw what changed from plate to plate, if two plates can be compared."""
    comparable = [row for row in checks.plates if row.arms or row.controls]
    if len(checks.plates) < 2 or not comparable:
        return None
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
    return drawing.picture(plot_drift(checks), "From plate to plate", caption)


def _history(state: StudyState, events: list[Event]) -> list[Markup]:
    """Return a line for each event that is notable; notes have a list of their own."""
    values: dict[int, float] = {}  # by ticket, before the event
    lines = []
    for event in events:
        if KINDS[event.kind].notable and event.kind != "note":
            lines.append(_happening(event, state, values.get(event.ticket or 0)))
        if event.ticket is not None and event.value is not None:
            values[event.ticket] = event.value
        elif event.kind == "replaced":
            parts = (event.data or {}).get("values", ())
            values |= {part["ticket"]: part["value"] for part in parts}
    return lines


def _happening(event: Event, state: StudyState, before: float | None) -> Markup:
    """Return the time of an event, its arm, its sentence and its client."""
    arm, wording = event_arm(event, state), event_wording(event, state, before)
    about = Markup("") if arm is None else _line("{arm}: ", arm=arm)
    by = Markup("") if event.client is None else _line(", by {who}", who=event.client)
    sentence = _line(wording.template, **wording.texts)
    return Markup("{} {}{}{}").format(_when(event.time), about, sentence, by)


def _entries(state: StudyState, lines: list[str]) -> dict[str, str]:
    """Return the small print: the design of the study, its log and the versions used."""
    design = state.design
    objective, budget = design.objective, state.created.budget
    at_first = "" if budget == design.budget else f"; at first {_budget(budget)}"
    return {
        "question": f"{objective!r}: an arm is good if its mean is {objective.wording}",
        "model": canonical(design.model.to_dict()),
        "delta": f"{design.delta!r}",
        "strategy": f"claim-by-claim, {'with' if design.pool else 'without'} pool",
        "seed": f"{design.seed}",
        "budget": _budget(design.budget) + at_first,
        **({"new arms": _new_arms(design)} if design.max_new_arms else {}),
        "values": _quality(state),
        "study": design.uid,
        **({} if state.origin is None else {"copied from": _origin(state.origin)}),
        "first and last event": " and ".join(map(sentences.stamp, state.times)),
        "log": f"{counted(len(lines), 'event')}, SHA-256 {digest(lines)}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions_used().items()),
    }


def _chosen(state: StudyState) -> str:
    """Return how many values somebody could have chosen for what they are."""
    unrequested = sum(not ticket.asked for ticket in state.tickets.values())
    return (
        f"{counted(unrequested, 'unrequested value')}, {state.failed:,} failed, "
        f"{sum(ticket.withdrawal is not None for ticket in state.tickets.values()):,} withdrawn "
        f"and {state.corrections:,} corrected"
    )


def _quality(state: StudyState) -> str:
    """Return by which rules values count, and how many are special."""
    design, normalised = state.design, sum(t.raw is not None for t in state.tickets.values())
    parts = [
        "checked, and no label rests on a single one" if design.check_values else "not checked",
        "counted in the order of their tickets" if design.in_order else "counted as told",
    ]
    if design.censor_at is not None:
        parts.append(f"censored at {design.censor_at:g}")
    if design.min_z_prime is not None:
        rejected = counted(len(state.rejected_plates()), "plate")
        parts.append(f"{rejected} rejected, with a Z' below {design.min_z_prime:g}")
    if normalised:
        parts.append(f"{normalised:,} normalised by controls, and not quite independent for it")
    return "; ".join(parts)


def _new_arms(design: StudyDesign) -> str:
    kept = f"{counted(design.max_new_arms, 'place')} kept for more arms"
    return f"{kept}, {design.added} taken; labels use a quarter of delta"


def _origin(origin: Origin) -> str:
    return (
        f"{printable(origin.name)}, study {origin.uid}, {counted(origin.events, 'event')}, SHA-256 "
        f"{origin.sha256}; the risk of that study adds to the risk of this one"
    )


def _budget(budget: int | None) -> str:
    return "unlimited" if budget is None else counted(budget, "measurement")
