"""Sentences about a study that every interface shows: each outcome, warning and guarantee, once.

Terminal, report, page and notebooks print these and word nothing of their own.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from .._internal.results import ResultData
from .._internal.tables import counted, listed
from ..models.base import Model

if TYPE_CHECKING:
    from .engine import Label
    from .state import Outcome

Tone = Literal["good", "bad", "open", "doubtful"]
MeasurementState = Literal[
    "open",
    "told",
    "failed",
    "counts",
    "suspect",
    "waiting",
    "withdrawn",
    "rejected",
    "control",
]


@dataclass(frozen=True)
class Term(ResultData):
    """The words for one code, such as an outcome or a label.

    Attributes:
        word: for tags and columns.
        title: for headings, without a full stop.
        sentence: what it means, in one or two sentences.
        tone: good, bad, open, or doubtful if somebody should look.
    """

    word: str
    title: str
    sentence: str
    tone: Tone


OUTCOMES: "dict[Outcome, Term]" = {
    "running": Term(
        "running",
        "Still running",
        "The study is still running. Certified labels hold; the other arms are open.",
        "open",
    ),
    "certified": Term(
        "certified",
        "Every label is certified",
        "Every label is certified. No more measurements are needed.",
        "good",
    ),
    "budget exhausted": Term(
        "budget exhausted",
        "The budget is exhausted",
        "The budget is exhausted. Certified labels hold; the other arms stay open unless the "
        "budget is raised.",
        "doubtful",
    ),
    "dropped": Term(
        "dropped",
        "Every arm with an open label has been dropped",
        "Every arm with an open label has been dropped. Certified labels hold; the other arms "
        "stay open.",
        "doubtful",
    ),
}
LABELS: "dict[Label, Term]" = {
    "good": Term(
        "good", "Certified good", "The data prove, up to the risk, that it is good.", "good"
    ),
    "bad": Term("bad", "Certified bad", "The data prove, up to the risk, that it is bad.", "bad"),
    "open": Term("open", "Open", "The data do not decide yet whether it is good.", "open"),
}
GUESS = "The best guess for open arms, without a guarantee"
Guess = Literal["good", "bad"]
GUESSES: dict[Guess, Term] = {
    "good": Term(
        "good?",
        "Guessed good",
        "It would be good if the averages were the means. Nothing guarantees that.",
        "open",
    ),
    "bad": Term(
        "bad?",
        "Guessed bad",
        "It would be bad if the averages were the means. Nothing guarantees that.",
        "open",
    ),
}
STATES: dict[MeasurementState, Term] = {
    "open": Term("pending", "Pending", "It was asked for, and has no value yet.", "open"),
    "told": Term("told", "Told", "Its value was told.", "good"),
    "failed": Term("failed", "Failed", "No value will come.", "bad"),
    "counts": Term("counts", "Counts", "The value counts.", "good"),
    "suspect": Term(
        "suspect",
        "Suspect",
        "The value is impossible under the model. It does not count until somebody confirms or "
        "corrects it.",
        "doubtful",
    ),
    "waiting": Term(
        "waiting", "Waiting", "The value will count when all earlier tickets are settled.", "open"
    ),
    "withdrawn": Term(
        "withdrawn", "Withdrawn", "The value was told and taken back; it does not count.", "bad"
    ),
    "rejected": Term(
        "rejected",
        "Rejected",
        "The value does not count, because of the controls of its plate.",
        "bad",
    ),
    "control": Term("control", "Control", "It is not an arm; its values check the plate.", "open"),
}
MISFIT = "The measurements do not fit the model"
DOUBTFUL = f"{MISFIT}, so the guarantee does not hold."
DIRECT = (
    "The label compares the arm with its rivals directly, which takes less than to know each mean."
)
RemarkCode = Literal["", "interval_crosses", "estimate_crossed", "contradicted"]
REMARKS: dict[RemarkCode, Term] = {
    "interval_crosses": Term(
        "interval crosses",
        "The interval reaches across the threshold",
        f"The interval of a certified arm reaches across the threshold. {DIRECT}",
        "open",
    ),
    "estimate_crossed": Term(
        "estimate crossed",
        "The estimate has moved across the threshold",
        "The average of a certified arm has moved across the threshold. The label stays: there is "
        "not enough evidence for the other one.",
        "open",
    ),
    "contradicted": Term(
        "contradicted",
        "There is enough evidence for the other label",
        "There is enough evidence now for the other label of a certified arm: the verdict says "
        "what that means.",
        "doubtful",
    ),
}
NO_RIVAL = "no rival left"  # in the place of evidence, if every other arm is certified bad
POOL = "the pool"


def question(num_arms: int, wording: str) -> str:
    """Return what a study is to find out."""
    return f"Which of {counted(num_arms, 'arm is', 'arms are')} {wording}?"


def labels_counted(good: int, bad: int, undecided: int) -> str:
    """Return how many arms have each label."""
    return f"{good:,} good, {bad:,} bad, {undecided:,} open"


def labels_after(good: int, bad: int, undecided: int, measurements: int) -> str:
    """Return how many arms have each label after a number of measurements."""
    arms, labels = counted(good + bad + undecided, "arm"), labels_counted(good, bad, undecided)
    return f"{labels}, of {arms} after {counted(measurements, 'measurement')}."


def verdict(outcome: "Outcome", good: int, bad: int, undecided: int, measurements: int) -> str:
    """Return the outcome, and how many arms have each label."""
    return f"{OUTCOMES[outcome].title}: {labels_after(good, bad, undecided, measurements)}"


def evidence_over_need(
    evidence: float, need: float, digits: str = ".1f", need_digits: str = ".2f"
) -> str:
    """Return both with these digits, or words if a number is not there or says nothing."""
    if math.isnan(need):
        return "-"
    if evidence == math.inf:
        return NO_RIVAL
    if evidence == -math.inf:
        return f"none / {need:{need_digits}}"
    shown = f"{evidence:{digits}}"
    return f"{shown.lstrip('-') if float(shown) == 0.0 else shown} / {need:{need_digits}}"


def confidence(delta: float) -> str:
    """Return 1 - delta, without a row of nines."""
    return f"{1.0 - delta:.10g}" if delta >= 1e-6 else f"1 - {delta:g}"


def guarantee(delta: float, condition: str = "") -> str:
    """Return the guarantee of a study with this risk, with the condition if one is given."""
    known = f"With probability at least {confidence(delta)}, no certified label is wrong"
    return f"{known}, however often you look{f', if {condition}' if condition else ''}."


def condition(model: Model) -> str:
    """Return the condition of the guarantee."""
    return f"{model.wording}, independent of all others, with a mean that does not change"


def contradiction(arms: list[str], delta: float) -> str:
    """Return the warning that certified labels of these arms contradict the values now."""
    labels = counted(len(arms), "certified label contradicts", "certified labels contradict")
    return (
        f"{labels} what is known now ({listed(arms)}): a value or the model is wrong, or this is "
        f"the case that has a probability of at most {delta:g}."
    )


def withdrawn_for_cause(number: int) -> str:
    """Return the condition of the guarantee if values were withdrawn for a cause."""
    values = counted(number, "value was", "values were")
    return (
        f"The guarantee holds only if the causes for which {values} withdrawn have nothing to do "
        f"with {'this value' if number == 1 else 'these values'}."
    )


def withdrawn_by_values(number: int) -> str:
    """Return why the guarantee does not hold if values were withdrawn for what they are."""
    values = counted(number, "value was", "values were")
    it_is = "it is" if number == 1 else "they are"
    return f"{values} withdrawn because of what {it_is}, so the guarantee does not hold."


def rejected(plate: int, why: str) -> str:
    """Return that the values of a plate do not count, by the rule of the design."""
    return (
        f"Plate {plate} does not count: {why}. The rule was fixed beforehand and looks at controls "
        "alone, so the guarantee stays."
    )


def waiting_for_controls(number: int, plates: list[int]) -> str:
    """Return why values of plates with missing controls do not count yet."""
    values = counted(number, "value waits", "values wait")
    return (
        f"{values} for controls of plate {' and '.join(map(str, plates))}: tell each control, or "
        "withdraw its well."
    )


def labels_changed(labels: Mapping[str, tuple[str, str]]) -> str:
    """Return which certified labels were taken back, and which are new, in sentences.

    ``labels`` holds the labels before and after, by arm.
    """
    if not labels:
        return "No label changes."
    lost = [f"{arm} (it was {old})" for arm, (old, new) in labels.items() if old != "open"]
    won = [f"{arm} ({new})" for arm, (old, new) in labels.items() if new != "open"]
    text = []
    if lost:
        number = counted(len(lost), "certified label is", "certified labels are")
        text.append(f"{number} taken back: {listed(lost)}.")
    if won:
        text.append(f"{counted(len(won), 'label is', 'labels are')} certified now: {listed(won)}.")
    return " ".join(text)


def best_guess(good: int, bad: int) -> str:
    """Return how many open arms have each guess; empty if there is none."""
    if not good + bad:
        return ""
    return f"{GUESS}: {good:,} good, {bad:,} bad."


def remarks(codes: Collection[RemarkCode]) -> dict[RemarkCode, str]:
    """Return the sentences of these remarks, by their codes."""
    return {code: term.sentence for code, term in REMARKS.items() if code in codes}


def waiting(number: int, ticket: str, arm: str, client: str | None) -> str:
    """Return why values that were told do not count yet."""
    holder = f" ({client} has it)" if client else ""
    values = counted(number, "value waits", "values wait")
    return (
        f"{values} for ticket {ticket} of {arm!r}{holder}: values count in the order of their "
        "tickets."
    )


def iso_time(time: float) -> str:
    """Return a time in seconds since 1970 as programs read it (ISO 8601, UTC)."""
    try:
        return datetime.fromtimestamp(time, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return f"{time!r}"


def copied(name: str) -> str:
    """Return what it means that a study was copied from another."""
    return f"Copied from {name!r}: the risk of that study adds to the risk of this one."


def stamp(time: float) -> str:
    """Return a time in seconds since 1970 as people read it."""
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return f"{time:g} s since 1970"
