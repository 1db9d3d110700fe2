"""Set the budget, and write remarks."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..._internal.arguments import ArgumentError
from ..design import check_text
from ..lookup import known_arm, known_ticket
from ..receipts import Change
from .base import ChangeCommand, Command, Draft


@dataclass(frozen=True)
class SetBudget(ChangeCommand):
    """Set the budget: the number of measurements in all; None for no limit."""

    path: ClassVar[str] = "budget"
    budget: int | None
    reason: str
    client: str | None = None

    def decide(self, draft: Draft) -> Change:
        state, before = draft.state, draft.state.design.budget
        state.with_budget(self.budget)
        if self.budget == before:
            return Change({}, f"The budget is {_limit(before)} already. Nothing changes.")
        draft.record("budget_set", data={"budget": self.budget}, note=self.reason)
        room = state.room()
        left = "" if room is None else f" {room} more may be asked for."
        if state.outcome() == "certified":
            left = " Every label is certified: nothing more will be asked for."
        return Change({}, f"The budget is {_limit(self.budget)}, no longer {_limit(before)}.{left}")


def _limit(budget: int | None) -> str:
    return "no limit" if budget is None else f"{budget} measurements"


@dataclass(frozen=True)
class AddNote(Command[None]):
    """Write a remark on an arm, on a ticket or on the whole study.  It changes nothing."""

    path: ClassVar[str] = "notes"
    text: str
    arm: str | None = None
    ticket: str | None = None
    client: str | None = None

    def check(self) -> None:
        super().check()
        check_text("text", self.text)
        if self.arm is not None and self.ticket is not None:
            raise ArgumentError(
                f"arm must be left out if ticket is given, which has its arm: got {self.arm!r}.",
                argument="arm",
            )

    @classmethod
    def result_from(cls, answer: Any) -> None:
        return None

    def decide(self, draft: Draft) -> None:
        arm = None if self.arm is None else known_arm(self.arm, draft.state)
        ticket = None if self.ticket is None else known_ticket(self.ticket, draft.state).number
        draft.record("note", note=self.text, arm=arm, ticket=ticket)
