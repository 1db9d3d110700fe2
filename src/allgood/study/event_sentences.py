"""Word each event of a study in a sentence, once for the page, the report and programs.

A sentence does not name the arm of its event: ``event_arm`` does, so that lists can show it beside
the sentence.  It has no full stop, because it may end with a reason that somebody wrote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._internal.tables import counted
from .events import Event
from .state import StudyState

MOST_NAMES = 20  # names of new arms that a sentence lists


@dataclass(frozen=True)
class Wording:
    """A sentence in two parts.

    Attributes:
        template: the sentence with places for ``str.format``.
        texts: what goes there; each was written by a user.
    """

    template: str
    texts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template.format(**self.texts)


def event_arm(event: Event, state: StudyState) -> str | None:
    """Return the name of the arm that an event is about, also if only its ticket is known."""
    arm = event.arm
    if arm is None and event.ticket in state.tickets:
        arm = state.tickets[event.ticket].arm
    return None if arm is None else state.design.arms[arm]


def event_wording(event: Event, state: StudyState, before: float | None = None) -> Wording:
    """Return the sentence of an event of a study.

    Args:
        event: the event.
        state: the study, at any later moment.
        before: for a correction, the value that was replaced, if it is known.
    """
    about = _About(event, state, before)
    return WORDINGS[event.kind](about)


def event_sentence(event: Event, state: StudyState, before: float | None = None) -> str:
    """Return the sentence of an event as text; the arguments are those of ``event_wording``."""
    return str(event_wording(event, state, before))


class _About(NamedTuple):
    """An event, and what its sentence needs."""

    event: Event
    state: StudyState
    before: float | None

    @property
    def data(self) -> dict[str, Any]:
        return self.event.data or {}

    @property
    def ticket(self) -> str:
        assert self.event.ticket is not None
        return self.state.design.ticket_id(self.event.ticket)

    @property
    def value(self) -> str:
        bound = "more than " if self.data.get("censored") else ""
        return f"{bound}{self.event.value:.15g}"

    @property
    def well(self) -> str:
        return f"well {self.event.well} of plate {self.event.batch}"

    def because(self, sentence: str, **texts: str) -> Wording:
        """Return a sentence that ends with the reason."""
        why = self.event.note or "no reason given"
        return Wording(f"{sentence}; {{why}}", texts | {"why": why})


def _created(about: _About) -> Wording:
    return Wording(f"The study began with {counted(len(about.data['arms']), 'arm')}")


def _arm_notes(about: _About) -> Wording:
    return Wording(f"Notes on {counted(len(about.data), 'arm')} came with the design")


def _plate(about: _About) -> Wording:
    size = f"{about.data['rows']} by {about.data['columns']} wells"
    return Wording(f"Plate {about.event.batch} was laid out: {size}")


def _ticket(about: _About) -> Wording:
    place = f" in {about.well}" if about.event.well else ""
    return Wording(f"{about.ticket} was asked for{place}")


def _lease(about: _About) -> Wording:
    return Wording(f"{about.ticket} went to another client, because its lease had ended")


def _measurement(about: _About) -> Wording:
    return Wording(f"{about.ticket} gave {about.value}")


def _unrequested(about: _About) -> Wording:
    source = {"source": about.event.note or ""}
    return Wording(
        f"{about.ticket} gave {about.value}, which nobody had requested: {{source}}", source
    )


def _counts(about: _About) -> Wording:
    texts = {"source": about.event.note or ""}
    period = about.data.get("period")
    if period is not None:
        texts["period"] = period
    number = counted(about.data["n"], "measurement")
    ending = ", {period}" if period is not None else ""
    return Wording(f"{number} with the sum {about.value}: {{source}}{ending}", texts)


def _failed(about: _About) -> Wording:
    return about.because(f"{about.ticket} failed")


def _arm_dropped(about: _About) -> Wording:
    early = ", withdrawn before its first value" if about.event.arm in about.state.withdrawn else ""
    return about.because(f"The arm was dropped{early}")


def _arm_restored(about: _About) -> Wording:
    return about.because("The arm may be measured again")


def _replaced(about: _About) -> Wording:
    return about.because(_many_values(about, about.data, "replaced"))


def _withdrawn(about: _About) -> Wording:
    parts = {"values": about.data["tickets"], "controls": about.data["controls"]}
    sentence = _many_values(about, parts, "withdrawn")
    if about.data["basis"] == "values":
        sentence += " because of what they are"
    return about.because(sentence)


def _many_values(about: _About, parts: Mapping[str, Any], verb: str) -> str:
    """Return how many values and controls had something done to them."""
    values, controls = len(parts.get("values", ())), len(parts.get("controls", ()))
    named = [counted(values, "value")] if values else []
    named += [counted(controls, "control")] if controls else []
    plate = "" if about.event.batch is None else f" of batch {about.event.batch}"
    were = "was" if values + controls == 1 else "were"
    return f"{' and '.join(named)}{plate} {were} {verb}"


def _arms_added(about: _About) -> Wording:
    names = about.data["arms"]
    texts = {f"arm{i}": name for i, name in enumerate(names[:MOST_NAMES])}
    listed = ", ".join(f"{{{key}}}" for key in texts)
    more = f" and {len(names) - len(texts):,} more" if len(names) > len(texts) else ""
    return about.because(f"New arms: {listed}{more}", **texts)


def _budget_set(about: _About) -> Wording:
    budget = about.data["budget"]
    limit = "unlimited" if budget is None else counted(budget, "measurement")
    return about.because(f"The budget is {limit} from now on")


def _corrected(about: _About) -> Wording:
    old = "" if about.before is None else f" from {about.before:.15g}"
    return about.because(f"{about.ticket} was corrected{old} to {about.value}")


def _confirmed(about: _About) -> Wording:
    return about.because(f"{about.ticket} was confirmed: {about.value} counts")


def _control(about: _About) -> Wording:
    return Wording(f"The control in {about.well} gave {about.value}")


def _control_corrected(about: _About) -> Wording:
    return about.because(f"The control in {about.well} was corrected to {about.value}")


def _copy(about: _About) -> Wording:
    return Wording(
        "All that happened before was copied from the study {name}, which had another question",
        {"name": about.data["name"]},
    )


def _note(about: _About) -> Wording:
    return Wording("{text}", {"text": about.event.note or ""})


WORDINGS: dict[str, Callable[[_About], Wording]] = {
    "created": _created,
    "arm_notes": _arm_notes,
    "plate": _plate,
    "ticket": _ticket,
    "lease": _lease,
    "measurement": _measurement,
    "unrequested": _unrequested,
    "counts": _counts,
    "failed": _failed,
    "arm_dropped": _arm_dropped,
    "arm_restored": _arm_restored,
    "arms_added": _arms_added,
    "budget_set": _budget_set,
    "corrected": _corrected,
    "replaced": _replaced,
    "withdrawn": _withdrawn,
    "confirmed": _confirmed,
    "control": _control,
    "control_corrected": _control_corrected,
    "copy": _copy,
    "note": _note,
}
