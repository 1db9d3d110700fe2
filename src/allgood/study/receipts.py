"""The results of commands: receipts, row by row, and changes."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from .._internal.arguments import LARGEST, count
from .._internal.results import Hint, ResultData, plain
from ..models.base import Model
from ..models.gaussian import Gaussian
from .state import (
    Ticket,
    is_binary,
    is_reward,
)
from .tables.sheets import (
    MISSING,
    Sheet,
    ToldRow,
    cell_text,
    is_missing,
    nearest,
    number,
    read_grid,
    read_sheet,
    with_decimal_point,
)

Remedy = Literal["", "correct", "add_measurement", "tell_failed", "confirm"]
WhenRefused = Literal["raise", "report"]
RowStatus = Literal[
    "accepted",
    "corrected",
    "waiting",
    "suspect",
    "duplicate",
    "conflict",
    "unknown",
    "invalid",
    "missing",
    "control",
    "withheld",
]
TRUTH = {"true": 1.0, "false": 0.0}
ANY_NUMBER = Gaussian()  # a model whose rewards are all finite numbers
_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[0-9]\S*")
_TICKET = re.compile("([A-Za-z]{4})-[0-9]+")
WITHHELD = "not counted, because other rows were refused and all_or_nothing was asked for"


class Censored(float):
    """A time that was waited in vain: up to the censoring time of the study."""

    def __repr__(self) -> str:
        return f">{float(self)!r}"


class SuspectWarning(UserWarning):
    """A value that was told cannot be under the model, and does not count."""


@dataclass(frozen=True)
class ReceiptRow(ResultData):
    """What became of one value that was told.

    Attributes:
        status: what the row is.

            - accepted: the value counts
            - waiting: the value will count when all earlier tickets are settled
            - suspect: the value is kept and does not count, because it cannot be under the model;
              ``confirm`` makes it count, ``correct`` replaces it
            - duplicate: told before; it counts once
            - conflict: refused; told before with another value, or reported as failed, or for
              another arm
            - unknown: refused; there is no such ticket
            - invalid: refused; the model does not allow this value
            - missing: there is no value; the ticket stays open
            - control: the value of a control; it is stored
            - withheld: not counted, because another row was refused and all_or_nothing was asked
              for
        message: what is wrong, and what would mend it; empty if nothing is wrong.
        line: the line in the file, or the number in the list, from 1.
        remedy: the method that would mend it, if there is one.
    """

    status: RowStatus
    ticket: str
    value: float | str | None
    message: str = ""
    line: int = 0
    arm: str | None = None
    remedy: Remedy = ""

    @property
    def refused(self) -> bool:
        return self.status in ("conflict", "unknown", "invalid")


@dataclass(frozen=True, repr=False)
class Receipt:
    """What became of what was told, row by row.

    Attributes:
        rows: in the order in which they were told.
        notes: what should be known of how the sheet was read, in sentences.
        warnings: reasons to doubt that the values are those of the model, in sentences.
        hints: what the caller could try next.
    """

    rows: tuple[ReceiptRow, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        return f"<Receipt: {'. '.join([counts or 'no rows', *self.notes])}>"

    def __iter__(self) -> Iterator[ReceiptRow]:
        return iter(self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each status."""
        counts = Counter(row.status for row in self.rows)
        return {status: counts[status] for status in get_args(RowStatus) if status in counts}

    @property
    def ok(self) -> bool:
        """Whether no row was refused."""
        return not any(row.refused for row in self.rows)

    @property
    def suspects(self) -> tuple[ReceiptRow, ...]:
        """Rows whose values are held back."""
        return tuple(row for row in self.rows if row.status == "suspect")

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as plain data for JSON: the one shape that every interface shows."""
        return {
            "ok": self.ok,
            "counts": self.counts,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "hints": plain(self.hints),
            "rows": [row.to_dict() for row in self.rows],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Receipt":
        """Return the receipt from its JSON data."""
        return cls(
            tuple(ReceiptRow(**row) for row in data["rows"]),
            tuple(data["notes"]),
            tuple(data["warnings"]),
            tuple(Hint(**hint) for hint in data.get("hints", ())),
        )

    def check(self) -> "Receipt":
        """The receipt itself; or RefusedRows if a row was refused."""
        if not self.ok:
            raise RefusedRows(self)
        return self


@dataclass(frozen=True)
class Change(ResultData):
    """The result of a correction, a dropped arm, another budget and the like.

    Attributes:
        labels: arms whose label has changed, with the labels before and after.
        consequence: what the change means, in sentences.
    """

    labels: dict[str, tuple[str, str]]
    consequence: str

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Change":
        """Return the change from its JSON data."""
        labels = {arm: (before, after) for arm, (before, after) in data["labels"].items()}
        return cls(labels, data["consequence"])


class RefusedRows(ValueError):
    """Rows that were told were refused.  The others count, unless all_or_nothing was asked for.

    Attributes:
        receipt: what became of every row.
    """

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(receipt)
        self.receipt = receipt

    def __str__(self) -> str:
        refused = [row for row in self.receipt if row.refused]
        reasons = "; ".join(some(row.message for row in refused))
        if len(self.receipt.rows) == 1:
            return f"{reasons}."
        counts = self.receipt.counts
        counted = counts.get("accepted", 0) + counts.get("duplicate", 0)
        return (
            f"{counted} of {len(self.receipt.rows)} rows count, and {len(refused)} were refused: "
            f"{reasons}. Telling all rows again is safe: a value counts once."
        )


def settled(receipt: Receipt, refused: WhenRefused) -> Receipt:
    """The receipt, after RefusedRows is raised if it is to be."""
    return receipt.check() if refused == "raise" else receipt


def check_refused(refused: str) -> None:
    if refused not in get_args(WhenRefused):
        raise ValueError(f"refused must be 'raise' or 'report': got {refused!r}.")


def some(messages: Iterable[str], most: int = 10) -> Iterator[str]:
    """The messages, each once, kind by kind, and at most so many of a kind.

    Messages are of a kind if they differ only in what is quoted and in words with digits.
    """
    kinds: dict[str, list[str]] = {}
    for message in dict.fromkeys(messages):
        kinds.setdefault(_DETAIL.sub("", message), []).append(message)
    for alike in kinds.values():
        yield from alike[:most]
        if len(alike) > most:
            yield f"... and {len(alike) - most} more like this"


# ---- reading


def read_rows(
    rows: Any,
    ticket_column: str,
    value_column: str,
    decimal: str = ".",
    grid: int | None = None,
) -> Sheet:
    """The rows of pairs, a table or a file, with their values as they were given.

    Words for a missing value, as n/a, are taken out.  Texts with a decimal comma get a point, if
    that is what ``decimal`` says.  ``grid`` is the number of the plate whose wells a file shows.
    A sheet that was read before is returned as it is.
    """
    if isinstance(rows, Sheet):
        return rows
    if decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',': got {decimal!r}.")
    if grid is None:
        sheet = raw_rows(rows, ticket_column, value_column)
    elif isinstance(rows, str | os.PathLike) or hasattr(rows, "read"):
        sheet = read_grid(rows, count("grid", grid))
    else:
        raise TypeError(f"rows must be a file if grid is given: got {rows!r}.")
    read = [_without_word(row) for row in sheet.rows]
    if decimal == ",":
        read = [_with_point(row) for row in read]
    return replace(sheet, rows=tuple(read))


def _without_word(row: ToldRow) -> ToldRow:
    if not isinstance(row.value, str) or row.value.strip().lower() not in MISSING:
        return row
    return replace(row, value="", missing=row.value.strip())


def _with_point(row: ToldRow) -> ToldRow:
    if not isinstance(row.value, str):
        return row
    try:
        return replace(row, value=with_decimal_point(row.value))
    except ValueError as error:
        return replace(row, problem=row.problem or f"the value {_end(error)}")


def raw_rows(rows: Any, ticket_column: str, value_column: str) -> Sheet:
    """The rows as they were given."""
    if isinstance(rows, str | os.PathLike) or hasattr(rows, "read"):
        return read_sheet(rows, ticket_column=ticket_column, value_column=value_column)
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        return Sheet(tuple(_table_rows(rows, ticket_column, value_column)))
    if not isinstance(rows, Iterable):
        raise TypeError(f"rows must be (ticket, value) pairs, a table or a file: got {rows!r}.")
    return Sheet(tuple(_listed_rows(rows, ticket_column, value_column)))


def _table_rows(table: Any, ticket_column: str, value_column: str) -> Iterator[ToldRow]:
    """The rows of a mapping of columns, or of a data frame."""
    names = [str(name) for name in (table.keys() if isinstance(table, Mapping) else table.columns)]
    for wanted in (ticket_column, value_column):
        if wanted not in names:
            raise ValueError(
                f"rows must have a column {wanted!r}: got {names}{nearest(wanted, names)}."
            )
    tickets = list(table[ticket_column])
    values = list(table[value_column])
    known = ("arm", "well", "plate")
    texts = [list(map(_text, list(table[name]))) if name in names else None for name in known]
    for column in (values, *texts):
        if column is not None and len(column) != len(tickets):
            raise ValueError(
                f"rows must have columns of one length: got {len(tickets)} and {len(column)}."
            )
    for i, (ticket, value) in enumerate(zip(tickets, values, strict=True)):
        arm, well, plate = (None if column is None else column[i] for column in texts)
        yield ToldRow(
            i + 1, ticket_name(ticket), value, arm, well, plate, unit="row", column=value_column
        )


def _text(cell: Any) -> str | None:
    """A cell of a table as text; None if there is nothing."""
    return None if is_missing(cell) else cell_text(cell)


def _listed_rows(rows: Iterable[Any], ticket_column: str, value_column: str) -> Iterator[ToldRow]:
    """The rows of a list of pairs, or of mappings that name ticket and value."""
    for i, row in enumerate(rows, start=1):
        arm = well = plate = None
        try:
            if isinstance(row, Mapping):
                ticket, value, arm = row[ticket_column], row[value_column], row.get("arm")
                well, plate = _text(row.get("well")), _text(row.get("plate"))
            else:
                ticket, value = row
        except (TypeError, ValueError, KeyError):
            raise TypeError(
                f"rows must hold (ticket, value) pairs, or mappings with {ticket_column!r} and "
                f"{value_column!r}: got {row!r} as number {i}."
            ) from None
        column = value_column if isinstance(row, Mapping) else "value"
        yield ToldRow(i, ticket_name(ticket), value, arm, well, plate, unit="row", column=column)


def ticket_name(ticket: object) -> str:
    """The id of a ticket; empty where a table has none."""
    if isinstance(ticket, Ticket):
        return ticket.id
    return "" if is_missing(ticket) else str(ticket)


def parse_value(
    raw: object, model: Model, censor_at: float | None = None
) -> float | Censored | str | None:
    """A number that the model allows; None if there is no value; else what was given, as text.

    True and False, also as texts, are 1 and 0 where rewards are 0 or 1, and no numbers elsewhere.
    With a censoring time of 30 a time above 30, and the text >30, is a time waited in vain.
    """
    if is_missing(raw) or (isinstance(raw, str) and not raw.strip()):
        return None
    if isinstance(raw, str | bool | np.bool_) and str(raw).strip().lower() in TRUTH:
        return TRUTH[str(raw).strip().lower()] if is_binary(model) else str(raw)
    if isinstance(raw, str) and raw.strip().startswith(">") and censor_at is not None:
        given_up_at = parse_value(raw.strip()[1:], model)
        return Censored(censor_at) if given_up_at == censor_at else raw
    try:
        value = number(raw) if isinstance(raw, str) else float(raw)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return str(raw)
    if not is_reward(model, value):
        return str(raw)
    if censor_at is not None and value > censor_at:
        return Censored(censor_at)
    return value + 0.0  # turns -0.0, which SQLite does not keep, into 0.0


def why_no_value(raw: object, model: Model, censor_at: float | None = None) -> str:
    """Why ``parse_value`` returned no number: the end of a sentence."""
    if raw is None or not str(raw).strip():
        return "must not be empty"
    if str(raw).strip().startswith(">") and model.takes_time:
        wanted = "a time, as the study has no censoring time"
        if censor_at is not None:
            wanted = f"a time, or >{censor_at:g}, the censoring time of the study"
        return f"must be {wanted}: got {raw!r}"
    try:
        value = number(str(raw))
    except ValueError as error:
        return _end(error)
    if abs(value) > LARGEST:
        return f"must not exceed {LARGEST:g} in size: got {raw!r}; use other units"
    return f"must be {model.wording_of_rewards} for {model}: got {raw!r}"


def _end(error: ValueError) -> str:
    """The end of a sentence that begins with: The value."""
    return str(error).removeprefix("The value ").removesuffix(".")
