"""Replace: correct many values at once, such as those of a plate whose file was another's.

All rows count, or none does.  The event holds what differs; the old values stay in the history.
Each replaced value is a correction, and the guarantee needs the same of it (``Study.correct``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..._internal.tables import counted
from .. import sentences
from ..design import check_text
from ..receipts import Receipt, ReceiptRow, RowStatus
from ..state import StudyState, TicketRecord
from ..tables.sheets import ToldRow
from ..tables.values import Censored
from .base import Command, Draft, changed_labels, with_standing
from .tell import (
    ParsedRow,
    classify,
    hints_of,
    parse_rows,
    record_rows,
    rows_by_well,
    rows_on_plate,
    wire_row,
    withhold,
)


@dataclass(frozen=True)
class Replace(Command[Receipt]):
    """Replace values that were told, all rows or none.

    Attributes:
        rows: the submitted rows; those of open tickets are told.
        reason: why the values differ from those that were told before.
        client: the name of the client that replaces them.
        notes: sentences about how the rows were read.
        grid: the plate's number, rows and columns, if the rows are a grid of wells.
    """

    path: ClassVar[str] = "replace"
    preview_path: ClassVar[str] = "replace/preview"
    rows: Sequence[ToldRow]
    reason: str
    client: str | None = None
    notes: Sequence[str] = ()
    grid: tuple[int, int, int] | None = None

    def check(self) -> None:
        super().check()
        check_text("reason", self.reason)

    @classmethod
    def result_from(cls, answer: Any) -> Receipt:
        return Receipt.from_dict(answer)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON; rows without what they do not have."""
        grid = None if self.grid is None else list(self.grid)
        rows = [wire_row(row) for row in self.rows]
        return super().to_dict() | {"rows": rows, "notes": list(self.notes), "grid": grid}

    def decide(self, draft: Draft) -> Receipt:
        state = draft.state
        rows = self.rows if self.grid is None else rows_on_plate(self.rows, self.grid, state)
        parsed = parse_rows(rows_by_well(rows, state), state, replacing=True)
        receipts = [
            _replacing(row, receipt, state)
            for row, receipt in zip(parsed, classify(parsed, state, replacing=True), strict=True)
        ]
        if any(row.refused for row in receipts):
            withheld = tuple(withhold(receipts))
            return Receipt(withheld, tuple(self.notes), hints=hints_of(receipts))
        suspects, before = set(state.quality.suspects), state.current_engine().label_names()
        self._record(draft, parsed, receipts)
        labels = changed_labels(state, before)
        notes = (*self.notes, sentences.labels_changed(labels), *_left(parsed, state))
        receipts = with_standing(receipts, state, suspects)
        return Receipt(tuple(receipts), notes, hints=hints_of(receipts), labels=labels)

    def _record(
        self, draft: Draft, rows: Sequence[ParsedRow], receipts: Sequence[ReceiptRow]
    ) -> None:
        """Record what differs in one event, and then the values of open tickets."""
        values: dict[int, dict[str, Any]] = {}
        controls: dict[tuple[int, str], dict[str, Any]] = {}
        for row, receipt in zip(rows, receipts, strict=True):
            if receipt.status != "corrected":
                continue
            value = float(row.value)  # type: ignore[arg-type]
            if row.control is not None:
                batch, well = row.control
                controls[row.control] = {"batch": batch, "well": well, "value": value}
            elif row.ticket is not None:
                data = (row.how or {}) | ({"censored": True} if _is_censored(row) else {})
                values[row.ticket.number] = {"ticket": row.ticket.number, "value": value}
                values[row.ticket.number] |= {"data": data} if data else {}
        data = {"values": [values[number] for number in sorted(values)]} if values else {}
        data |= {"controls": list(controls.values())} if controls else {}
        if data:
            plate = None if self.grid is None else self.grid[0]
            draft.record("replaced", note=self.reason, batch=plate, data=data)
        record_rows(draft, rows, receipts)


def _is_censored(row: ParsedRow) -> bool:
    return type(row.value) is Censored


def _replacing(row: ParsedRow, receipt: ReceiptRow, state: StudyState) -> ReceiptRow:
    """Return what becomes of a row if its value replaces the one that was told."""

    def as_(status: RowStatus) -> ReceiptRow:
        return replace(receipt, status=status, message="", remedy="")

    value, where = row.value, row.row.where
    if isinstance(value, float) and row.control is not None:
        known = state.controls.get(row.control)
        again = receipt.status == "duplicate" and known is not None and value != known.value
        return as_("corrected") if again or receipt.remedy == "correct" else receipt
    ticket = row.ticket
    if ticket is None:
        return receipt
    if value is None and ticket.state == "told":
        message = f"{where}, column {row.row.column}: empty, but {state.why_not_told(ticket)}"
        return replace(receipt, status="conflict", message=message, remedy="withdraw")
    if not isinstance(value, float) or ticket.state not in ("told", "withdrawn"):
        return receipt
    if receipt.status == "duplicate" or receipt.remedy == "correct":
        if problem := state.why_not_corrected(ticket):
            return replace(receipt, status="conflict", message=f"{where}: {problem}", remedy="")
        current = ticket.state == "told" and (ticket.value, ticket.censored) == (
            value,
            _is_censored(row),
        )
        return as_("duplicate" if current else "corrected")
    return receipt


def _left(rows: Iterable[ParsedRow], state: StudyState) -> tuple[str, ...]:
    """Return a sentence if plates of these rows have values that are not among the rows."""
    tickets = [row.ticket for row in rows if row.ticket is not None and row.ticket.well]
    numbers, plates = {t.number for t in tickets}, {t.batch for t in tickets}

    def stays(ticket: TicketRecord) -> bool:
        return ticket.state == "told" and ticket.batch in plates and bool(ticket.well)

    others = [t for t in state.tickets.values() if stays(t) and t.number not in numbers]
    if not others:
        return ()
    plural = counted(len(others), "value", "values")
    names = " and ".join(str(plate) for plate in sorted({t.batch for t in others}))
    return (f"{plural} of plate {names} are not among the rows, and stay as they are.",)
