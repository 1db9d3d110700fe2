"""The results of commands: receipts, row by row, and changes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from .._internal.arguments import ArgumentError
from .._internal.results import Hint, ResultData
from .diagnostics.plate import PlateCheck
from .sentences import Tone

Remedy = Literal["", "correct", "add_measurement", "fail", "confirm", "withdraw"]
WhenRefused = Literal["raise", "report"]
RowStatus = Literal[
    "accepted",
    "corrected",
    "waiting",
    "suspect",
    "rejected",
    "duplicate",
    "conflict",
    "unknown",
    "invalid",
    "missing",
    "control",
    "withheld",
]
_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[0-9]\S*")
_TICKET = re.compile("([A-Za-z]{4})-[0-9]+")
WITHHELD = "not counted, because other rows were refused and all_or_nothing was asked for"


@dataclass(frozen=True)
class StatusTerm(ResultData):
    """The words for one status of a row.

    Attributes:
        word: for tags and columns.
        preview: what will become of the row, to be read after "the row".
        receipt: what became of it, once it was told.
        tone: good, bad, open, or doubtful if somebody should look.
        stored: whether the row is stored.
        refused: whether the row is refused.
        routine: whether nobody need look at it.
    """

    word: str
    preview: str
    receipt: str
    tone: Tone
    stored: bool = False
    refused: bool = False
    routine: bool = False


STATUSES: dict[RowStatus, StatusTerm] = {
    "accepted": StatusTerm("accepted", "will count", "counts", "good", stored=True, routine=True),
    "corrected": StatusTerm(
        "corrected",
        "will replace what was told before",
        "replaced what was told before",
        "good",
        stored=True,
    ),
    "waiting": StatusTerm(
        "waiting",
        "will count when all earlier tickets are settled",
        "counts when all earlier tickets are settled",
        "open",
        stored=True,
    ),
    "suspect": StatusTerm(
        "suspect",
        "will be stored and not count, because it is impossible under the model",
        "is stored and does not count until somebody confirms or corrects it",
        "doubtful",
        stored=True,
    ),
    "rejected": StatusTerm(
        "rejected",
        "will be stored and not count, because of the controls of its plate",
        "is stored and does not count, because of the controls of its plate",
        "doubtful",
        stored=True,
    ),
    "duplicate": StatusTerm(
        "duplicate",
        "was told before and counts once",
        "was told before and counts once",
        "open",
        routine=True,
    ),
    "conflict": StatusTerm(
        "conflict",
        "will be refused: it disagrees with what was told before",
        "was refused: it disagrees with what was told before",
        "bad",
        refused=True,
    ),
    "unknown": StatusTerm(
        "unknown",
        "will be refused: there is no such ticket",
        "was refused: there is no such ticket",
        "bad",
        refused=True,
    ),
    "invalid": StatusTerm(
        "invalid",
        "will be refused: the value cannot be read, or the model does not allow it",
        "was refused: the value cannot be read, or the model does not allow it",
        "bad",
        refused=True,
    ),
    "missing": StatusTerm(
        "missing", "has no value: the ticket stays open", "has no value: the ticket is open", "open"
    ),
    "control": StatusTerm(
        "control",
        "will be stored with its plate",
        "is stored with its plate",
        "good",
        stored=True,
        routine=True,
    ),
    "withheld": StatusTerm(
        "withheld",
        "will not be stored, because other rows are refused",
        "was not stored, because other rows were refused",
        "doubtful",
    ),
}


class SuspectWarning(UserWarning):
    """A value is impossible under the model, and does not count."""


@dataclass(frozen=True)
class ReceiptRow(ResultData):
    """The result of one submitted row.

    Attributes:
        status: the classification of the row; ``STATUSES`` explains each.
        message: the problem and its remedy; empty if nothing is wrong.
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
        return STATUSES[self.status].refused


@dataclass(frozen=True, repr=False)
class Receipt(ResultData):
    """The results of a request, row by row.

    Attributes:
        rows: in the order in which they were told.
        notes: how the sheet was read, and what else should be known, in sentences.
        warnings: reasons to doubt that the values are those of the model, in sentences.
        hints: what the caller could try next.
        labels: arms whose label has changed because values were replaced, with the labels before
            and after.
        plates: of a preview, a check of each plate that the rows are about, as it would be then.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("ok", "counts")
    rows: tuple[ReceiptRow, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    plates: tuple[PlateCheck, ...] = ()

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        return f"<Receipt: {'. '.join([counts or 'no rows', *self.notes])}>"

    def __iter__(self) -> Iterator[ReceiptRow]:
        return iter(self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows of each status."""
        counts = Counter(row.status for row in self.rows)
        return {status: counts[status] for status in get_args(RowStatus) if status in counts}

    @property
    def ok(self) -> bool:
        """True if no row was refused."""
        return not any(row.refused for row in self.rows)

    @property
    def suspects(self) -> tuple[ReceiptRow, ...]:
        """Rows whose values are held back."""
        return tuple(row for row in self.rows if row.status == "suspect")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Receipt":
        """Return the receipt from its JSON data."""
        return cls(
            tuple(ReceiptRow(**row) for row in data["rows"]),
            tuple(data["notes"]),
            tuple(data["warnings"]),
            tuple(Hint(**hint) for hint in data.get("hints", ())),
            _labels(data["labels"]),
            tuple(PlateCheck.from_dict(plate) for plate in data.get("plates", ())),
        )

    def check(self) -> "Receipt":
        """Return the receipt itself; raise RefusedRows if a row was refused."""
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
        return cls(_labels(data["labels"]), data["consequence"])


def _labels(data: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    return {arm: (before, after) for arm, (before, after) in data.items()}


class RefusedRows(ValueError):
    """Rows that were told were refused.  The others count, unless all_or_nothing was asked for.

    Attributes:
        receipt: the result of every row.
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
    """Return the receipt; raise RefusedRows if a row was refused and ``refused`` is "raise"."""
    return receipt.check() if refused == "raise" else receipt


def check_refused(refused: str) -> None:
    if refused not in get_args(WhenRefused):
        raise ArgumentError(
            f"refused must be 'raise' or 'report': got {refused!r}.", argument="refused"
        )


def some(messages: Iterable[str], most: int = 10) -> Iterator[str]:
    """Yield the messages, each once, kind by kind, and at most so many of a kind.

    Messages are of a kind if they differ only in what is quoted and in words with digits.
    """
    kinds: dict[str, list[str]] = {}
    for message in dict.fromkeys(messages):
        kinds.setdefault(_DETAIL.sub("", message), []).append(message)
    for alike in kinds.values():
        yield from alike[:most]
        if len(alike) > most:
            yield f"... and {len(alike) - most} more like this"
