"""Drop an arm, restore a dropped one, or add arms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..._internal.arguments import ArgumentError, ArgumentTypeError
from ..._internal.tables import counted
from .. import sentences
from ..lookup import known_arm
from ..receipts import Change
from ..state import StudyState
from ..status import status_of
from .base import ChangeCommand, Draft, changed_labels, newly_suspect, sentences_of


@dataclass(frozen=True)
class DropArm(ChangeCommand):
    """Never ask for an arm again."""

    path: ClassVar[str] = "drop-arm"
    arm: str
    reason: str
    client: str | None = None

    def decide(self, draft: Draft) -> Change:
        state = draft.state
        index = known_arm(self.arm, state)
        problem = state.why_not_dropped(index)
        if problem:
            return Change({}, f"A{problem[1:]}.")
        before = set(state.quality.suspects)
        draft.record("arm_dropped", arm=index, note=self.reason)
        draft.suspects = newly_suspect(state, before)
        suspect = sentences_of(draft.suspects)
        return Change({}, "  ".join([self._consequence(draft, index), *suspect]))

    def _consequence(self, draft: Draft, index: int) -> str:
        """Return what it means that the arm is dropped."""
        state, arm = draft.state, self.arm
        is_over = state.outcome() == "dropped"
        end = "  No open arm is measured any more: the study ends here."
        if index in state.withdrawn:
            had = "only censored waits" if state.measurements(index) else "no value"
            left = len(state.withdrawn) < len(state.design.arms)
            about = "the verdict will be about the others" if left else "no arm is left"
            text = f"Arm {arm!r} had {had}: it leaves the question, and {about}."
            return text + (end if is_over else "")
        open_tickets = [t.number for t in state.open.values() if t.arm == index]
        waiting = _still_open(state, open_tickets)
        label = state.current_engine().label_names()[index]
        if label != "open":
            return (
                f"Arm {arm!r} is certified {label} and stays so; it will not be measured "
                f"again.{_compared_with(arm, draft)}{waiting}"
            )
        kept = counted(state.measurements(index), "value")
        text = f"Arm {arm!r} keeps its {kept}, and others are still compared with it.  Its label "
        if is_over:
            return f"{text}stays open.{end}{waiting}"
        return (
            f"{text}is open.  Measurements of other arms may still decide it.  If they do not, the "
            "study will not be certified as a whole, and arms that can only be decided against "
            f"this one will stay open, too.{waiting}"
        )


def _still_open(state: StudyState, numbers: list[int]) -> str:
    """Return a sentence if open tickets of a dropped arm hold up others; empty if not."""
    if not state.design.in_order or not numbers:
        return ""
    names = ", ".join(state.design.ticket_id(number) for number in numbers[:5])
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return (
        f"  Later values still wait for its open tickets, {names}{more}: tell them, or report them "
        "as failed."
    )


def _compared_with(arm: str, draft: Draft) -> str:
    """Return a sentence with the number of open arms that need this one; empty if none do."""
    status = status_of(draft.state, draft.state.design.name, draft.clock)
    needing = sum(other.label == "open" and other.rests_on == arm for other in status.arms)
    if not needing:
        return ""
    return (
        f"  {counted(needing, 'open arm is', 'open arms are')} compared with it at present, "
        "and may now stay open however often they are measured."
    )


@dataclass(frozen=True)
class RestoreArm(ChangeCommand):
    """Let a dropped arm be measured again; docs/study-proofs.md shows why the guarantee stays."""

    path: ClassVar[str] = "restore-arm"
    arm: str
    reason: str
    client: str | None = None

    def decide(self, draft: Draft) -> Change:
        state = draft.state
        index = known_arm(self.arm, state)
        problem = state.why_not_restored(index)
        if problem:
            raise ArgumentError(f"arm must be one that can be restored: {problem}.", argument="arm")
        had_left, before = index in state.withdrawn, state.current_engine().label_names()
        draft.record("arm_restored", arm=index, note=self.reason)
        labels = changed_labels(state, before)
        text = f"Arm {self.arm!r} may be measured again."
        if had_left:
            text += (
                "  It is in the question again: nothing is certified before it has a value, and "
                "labels that were certified without it were about the other arms."
            )
        return Change(labels, f"{text}  {sentences.labels_changed(labels)}")


@dataclass(frozen=True)
class AddArms(ChangeCommand):
    """Add arms, once; docs/study-proofs.md shows why the guarantee stays."""

    path: ClassVar[str] = "arms"
    arms: Sequence[str]
    reason: str
    client: str | None = None

    def check(self) -> None:
        super().check()
        if isinstance(self.arms, str) or not isinstance(self.arms, Iterable):
            raise ArgumentTypeError(
                f"arms must be a list of names: got {self.arms!r}.", argument="arms"
            )

    def decide(self, draft: Draft) -> Change:
        state, names = draft.state, list(self.arms)
        state.with_arms(names)
        labels = zip(state.design.arms, state.current_engine().label_names(), strict=True)
        for arm, label in labels:
            if label != "open":
                raise ArgumentError(
                    f"arms must be added before the first label is certified: {arm!r} is "
                    f"certified {label}, among the arms that there are. Begin a new study.",
                    argument="arms",
                )
        draft.record("arms_added", data={"arms": names}, note=self.reason)
        more = f"{counted(len(names), 'arm is', 'arms are')} new"
        return Change(
            {},
            f"{more}, {len(state.design.arms)} in all. Nothing is certified before each has a "
            "value.",
        )
