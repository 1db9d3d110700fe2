"""Word what is known of one arm: what its label rests on, and what is missing."""

import math
from dataclasses import dataclass

from .._internal.results import ResultData
from .._internal.tables import counted
from .sentences import REMARKS, Tone
from .status import ArmStatus


@dataclass(frozen=True)
class ArmStatement(ResultData):
    """A sentence about an arm.

    Attributes:
        sentence: the sentence.
        tone: good, bad, open, or doubtful if somebody should look.
    """

    sentence: str
    tone: Tone = "open"


def arm_statements(arm: ArmStatus, num_arms: int) -> list[ArmStatement]:
    """Return what is known of an arm of a study with so many arms, the most important first."""
    statements = [ArmStatement(_standing(arm)), ArmStatement(_comparison(arm, num_arms))]
    if arm.remark:
        statements.append(ArmStatement(REMARKS[arm.remark].sentence, REMARKS[arm.remark].tone))
    if arm.dropped is not None and not arm.withdrawn:
        statements.append(ArmStatement(f"The arm is dropped and not measured again: {arm.dropped}"))
    if arm.suspect:
        values = counted(arm.suspect, "value is suspect and does", "values are suspect and do")
        them = "it" if arm.suspect == 1 else "them"
        text = f"{values} not count until somebody confirms or corrects {them}."
        statements.append(ArmStatement(text, "doubtful"))
    if arm.waiting:
        values = counted(arm.waiting, "value waits", "values wait")
        statements.append(ArmStatement(f"{values} until earlier tickets are settled."))
    if arm.censored:
        times = counted(arm.censored, "waiting time was", "waiting times were")
        statements.append(ArmStatement(f"{times} cut off at the censoring time."))
    return [statement for statement in statements if statement.sentence]


def _standing(arm: ArmStatus) -> str:
    """Return since when the label is certified, or what is missing."""
    if arm.withdrawn:
        return (
            "The arm is dropped and has left the question, because it had no measurement: "
            f"{arm.dropped}"
        )
    if arm.label != "open":
        measurements = counted(arm.certified_after or 0, "measurement")
        after = f" after {measurements} of the whole study" if arm.certified_after else ""
        return (
            f"Certified {arm.label}{after}. The label stays, unless values are corrected or "
            "withdrawn."
        )
    if not arm.measurements:
        return "There is no measurement yet, so there is no evidence."
    if math.isnan(arm.need):
        return "Nothing is certified before every arm has a value."
    if arm.measurements == 1:
        return "No label rests on a single value: a second measurement is needed first."
    if arm.evidence < arm.need:
        lacking = arm.need - max(arm.evidence, 0.0)
        return f"The evidence must grow by {lacking:.3g} before a label can be certified."
    return "The evidence suffices, but not without an influential value, which must be outweighed."


def _comparison(arm: ArmStatus, num_arms: int) -> str:
    """Return with what the arm is compared, unless that is one rival, which ``rests_on`` names."""
    if arm.withdrawn or not arm.measurements or arm.rests_on is not None:
        return ""
    if arm.on_pool:
        return "It is compared with the pool: the measurements of the leading arms, taken together."
    if arm.label == "good" and num_arms > 1:
        return "No rival is left: every other arm is certified bad."
    return ""
