"""Fail: report tickets, or all open tickets of a batch, that will have no value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._internal.arguments import ArgumentError, count
from ..design import check_text
from ..lookup import known_ticket
from ..receipts import Receipt, ReceiptRow
from ..state import StudyState
from .base import Command, Draft, newly_suspect, sentences_of


@dataclass(frozen=True)
class Fail(Command[Receipt]):
    """Report tickets as failed, or all open tickets of a batch."""

    path: ClassVar[str] = "fail"
    reason: str
    tickets: Sequence[str] | None = None
    batch: int | None = None
    client: str | None = None

    def check(self) -> None:
        super().check()
        check_text("reason", self.reason)
        if (self.tickets is None) == (self.batch is None):
            raise ArgumentError("one of tickets and batch must be given.", argument="tickets")
        if self.batch is not None:
            count("batch", self.batch)

    @classmethod
    def result_from(cls, answer: Any) -> Receipt:
        return Receipt.from_dict(answer)

    def decide(self, draft: Draft) -> Receipt:
        state = draft.state
        names = self.tickets if self.batch is None else _tickets_of(self.batch, state)
        before = set(state.quality.suspects)
        rows = []
        for name in names or ():
            rows.append(classify_failure(name, state))
            if rows[-1].status == "accepted":
                number = known_ticket(name, state).number
                draft.record("failed", ticket=number, note=self.reason)
        draft.suspects = newly_suspect(state, before)
        notes = sentences_of(draft.suspects)
        if self.batch is not None and not rows:
            notes = (f"Batch {self.batch} has no open ticket. Nothing changes.", *notes)
        return Receipt(tuple(rows), notes)


def _tickets_of(batch: int, state: StudyState) -> list[str]:
    """Return the ids of the tickets of a batch that have no value."""
    if batch > state.batches:
        known = f"they go from 1 to {state.batches}" if state.batches else "it has none"
        raise ArgumentError(
            f"batch must be one of this study: got {batch}; {known}.", argument="batch"
        )
    tickets = [t for t in state.tickets.values() if t.batch == batch and t.state != "told"]
    return [state.design.ticket_id(ticket.number) for ticket in tickets]


def classify_failure(name: str, state: StudyState) -> ReceiptRow:
    """Classify a report that a ticket failed."""
    ticket = known_ticket(name, state)
    arm = state.design.arms[ticket.arm]
    problem = state.why_not_failed(ticket)
    if ticket.state == "told":
        return ReceiptRow("conflict", name, ticket.value, problem, arm=arm)
    return ReceiptRow("duplicate" if problem else "accepted", name, None, arm=arm)
