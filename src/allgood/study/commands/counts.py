"""Tell counts: number and sum of many measurements of an arm at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from ..._internal.arguments import ArgumentError
from ..._internal.results import Hint
from .. import sentences
from ..design import check_text, optional_text
from ..lookup import known_arm, known_ticket
from ..receipts import Receipt, ReceiptRow, Remedy, RowStatus
from ..state import StudyState, source_key
from ..tables.counts import SWAPPED_HINT, Counts, counts_data, parse_counts, swapped
from ..tables.values import cell_text, json_cell
from .base import Command, Draft, changed_labels, with_standing


@dataclass(frozen=True)
class TellCounts(Command[Receipt]):
    """Tell number and sum of the measurements of each arm in a period.

    Attributes:
        rows: for each row arm, n, sum or mean, and perhaps sd or variance and period.
        source: where the numbers come from, such as the name of a table.
        period: the period of all rows that do not name theirs.
        correct: why numbers differ from those that were told before, which they then replace.
        client: the name of the client that tells.
        lines: where each row stands in its file, workbook or list, from 1.
        unit: what ``lines`` count.
        notes: sentences about how the table was read.
        hints: arguments that would help to read it.
    """

    path: ClassVar[str] = "counts"
    preview_path: ClassVar[str] = "counts/preview"
    rows: Sequence[Mapping[str, Any]]
    source: str
    period: str | None = None
    correct: str | None = None
    client: str | None = None
    lines: Sequence[int] = ()
    unit: Literal["line", "row"] = "row"
    notes: Sequence[str] = ()
    hints: Sequence[Hint] = ()

    def check(self) -> None:
        super().check()
        check_text("source", self.source)
        optional_text("correct", self.correct)
        if any(({"period": self.period} | dict(row))["period"] is None for row in self.rows):
            raise ArgumentError(
                "period must be given, or the table must have a column 'period': got neither.",
                argument="period",
            )
        if self.lines and len(self.lines) != len(self.rows):
            raise ArgumentError(
                f"lines must number all {len(self.rows)} rows: got {len(self.lines)}.",
                argument="lines",
            )

    @classmethod
    def result_from(cls, answer: Any) -> Receipt:
        return Receipt.from_dict(answer)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        rows = [{name: json_cell(cell) for name, cell in row.items()} for row in self.rows]
        return super().to_dict() | {"rows": rows}

    def decide(self, draft: Draft) -> Receipt:
        state = draft.state
        before = set(state.quality.suspects)
        receipts: list[ReceiptRow] = []
        now: set[str] = set()  # tickets of the rows so far
        told: list[Counts] = []
        replaced: list[dict[str, Any]] = []
        labels = [] if self.correct is None else state.current_engine().label_names()
        for i, row in enumerate(self.rows):
            line = self.lines[i] if self.lines else i + 1
            cells = {"period": self.period} | dict(row)
            where = f"{self.unit} {line}"
            receipt, counts = classify_counts(cells, self.source, line, where, state)
            if receipt.status == "accepted" and counts is not None and counts.n > 0:
                told.append(counts)
                self._record(draft, counts)
            elif (
                self.correct is not None
                and receipt.status == "conflict"
                and counts is not None
                and receipt.ticket not in now  # else the table holds both
            ):
                number = known_ticket(receipt.ticket, state).number
                replaced.append(
                    {"ticket": number, "value": counts.total, "data": counts_data(counts)}
                )
                receipt = replace(receipt, status="corrected", message="", remedy="")
            now.add(receipt.ticket)
            receipts.append(receipt)
        if replaced:
            draft.record("replaced", note=self.correct, data={"values": replaced})
        changed = changed_labels(state, labels) if replaced else {}
        receipts = with_standing(receipts, state, before)
        notes, hints = tuple(self.notes), tuple(self.hints)
        if swap := swapped(self.rows, state.design.model):
            notes, hints = notes + swap, (*hints, SWAPPED_HINT)
        notes += _told_by_others(told, self.source, state)
        if replaced:
            notes += (sentences.labels_changed(changed),)
        return Receipt(tuple(receipts), notes, hints=hints, labels=changed)

    def _record(self, draft: Draft, counts: Counts) -> None:
        draft.record(
            "counts",
            ticket=len(draft.state.tickets) + 1,
            arm=known_arm(counts.arm, draft.state),
            value=counts.total,
            note=self.source,
            data=counts_data(counts),
        )


def classify_counts(
    row: Mapping[str, Any], source: str, line: int, where: str, state: StudyState
) -> tuple[ReceiptRow, Counts | None]:
    """Classify a row of counts; return also the counts themselves, if they differ from known ones.

    ``where`` says where the row stands, for messages.  The ticket of an accepted row is the next
    one.
    """
    design, arm = state.design, cell_text(row.get("arm", "")).strip()

    def receipt(status: RowStatus, ticket: str, value: Any, message: str = "") -> ReceiptRow:
        text = f"{where}: {message}" if message else ""
        remedy: Remedy = "correct" if status == "conflict" and ticket else ""
        return ReceiptRow(status, ticket, value, text, line, arm, remedy)

    try:
        counts = parse_counts(row, design.model)
        check_text("period", counts.period)
        index = known_arm(counts.arm, state)
    except (ValueError, TypeError) as error:
        return receipt("invalid", "", None, str(error).removesuffix(".")), None
    key = source_key(source, counts.period)
    problem = state.why_not_new(index, key)
    if problem and (index, key) not in state.sources:
        return receipt("conflict", "", counts.total, problem), None
    if counts.n == 0:
        return receipt("missing", "", None, "nothing to count"), None
    if not problem:
        name = design.ticket_id(len(state.tickets) + 1)
        return receipt("accepted", name, counts.total), counts
    ticket = state.tickets[state.sources[index, key]]
    name = design.ticket_id(ticket.number)
    same = (counts.total, counts.n, counts.scatter) == (ticket.value, ticket.n, ticket.scatter)
    if same and ticket.state == "told":
        return receipt("duplicate", name, counts.total), None
    message = f"{problem} ({name}) and cannot be {counts.total!r} in {counts.n:,} too"
    return receipt("conflict", name, counts.total, message), counts


def _told_by_others(told: Sequence[Counts], source: str, state: StudyState) -> tuple[str, ...]:
    """Return a warning if all these counts were told by other sources, too."""
    others = {
        (ticket.arm, ticket.period, ticket.n, ticket.value, ticket.scatter): ticket.note
        for ticket in state.tickets.values()
        if ticket.counts and ticket.state == "told" and ticket.note != source
    }
    numbers = state.design.numbers
    keys = [(numbers[row.arm], row.period, row.n, row.total, row.scatter) for row in told]
    if not keys or not all(key in others for key in keys):
        return ()
    names = sorted({repr(others[key]) for key in keys})
    rows = "1 row is equal to a row" if len(keys) == 1 else f"{len(keys):,} rows are equal to rows"
    periods = "the same periods" if len({row.period for row in told}) > 1 else "the same period"
    were = "was it" if len(keys) == 1 else "were they"
    return (
        f"{rows} of {'source' if len(names) == 1 else 'sources'} {' and '.join(names)} for "
        f"{periods}: {were} told twice?",
    )
