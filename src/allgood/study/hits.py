"""The hit list of a study: label, guess and estimate of each arm, the best first."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from .._internal.arguments import ArgumentError
from .._internal.results import NullableFloat, ResultData
from .._internal.tables import Table, Tabular, guarded
from .engine import Label
from .sentences import Guess
from .status import ArmStatus, StudyStatus
from .tables.sheets import is_workbook_path
from .tables.workbooks import workbook

FileFormat = Literal["csv", "xlsx"]
LABELS: tuple[Label, ...] = ("good", "open", "bad")  # in the order of the list
WIDTHS = [40, 8, 8, 14, 14, 14, 8, 8, 18]


@dataclass(frozen=True)
class Hit(ResultData):
    """An arm in the hit list; the fields mean the same as in ``ArmStatus``.

    Attributes:
        arm, label, guess: its name, its label, and for an open arm the best guess.
        estimate: the average of its values.
        low, high: the interval of its mean.
        n: how many of its measurements count.
        suspect: how many of its values are suspect, and do not count.
        remark: why label and numbers seem to contradict each other; "" if they do not.
        notes: what was known of the arm beforehand, texts by their headings.
    """

    arm: str
    label: Label
    guess: Guess | None
    estimate: NullableFloat
    low: NullableFloat
    high: NullableFloat
    n: int
    suspect: int
    remark: str
    notes: dict[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class HitList(ResultData, Tabular):
    """The arms of a study, the best first.  As a table it has one row for each arm.

    Certified good arms come first, then open arms that are guessed good, then other open arms, then
    certified bad ones; among these, higher estimates come first.

    Attributes:
        name, question: of the study.
        verdict, best_guess: its outcome, and how many open arms have each guess, in sentences.
        threshold: the lowest mean at which an arm is good, by the averages.
        hits: the arms.
        remarks: a sentence for each remark that an arm has, by its code.
        time: when the list was made (seconds since 1970).
    """

    name: str
    question: str
    verdict: str
    best_guess: str
    threshold: NullableFloat
    hits: tuple[Hit, ...]
    remarks: dict[str, str]
    time: float

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        return f"HitList({self.name!r}: {len(self.hits):,} arms)"

    def table(self) -> Table:
        """Return one row for each arm; notes have a column each, after the others."""
        rows = [asdict(hit) for hit in self.hits]
        notes = [row.pop("notes") for row in rows]
        if not rows:
            return Table({name: [] for name in Hit.__annotations__ if name != "notes"})
        return Table.of_rows(
            row | {f"note: {heading}": text for heading, text in texts.items()}
            for row, texts in zip(rows, notes, strict=True)
        )

    def content(self, format: FileFormat) -> bytes:
        """Return the table as a file in CSV (with a byte order mark if needed) or .xlsx.

        No spreadsheet takes a name for a formula: such a text has an apostrophe before it.
        """
        if format not in get_args(FileFormat):
            raise ArgumentError(f"format must be csv or xlsx: got {format!r}.", argument="format")
        cells = self.table().columns.items()
        table = Table({name: list(map(_cell, column)) for name, column in cells})
        if format == "csv":
            text = "".join(table.csv_lines())
            return text.encode("utf-8" if text.isascii() else "utf-8-sig")
        columns = table.columns
        rows = [[*columns], *zip(*columns.values(), strict=True)]
        return workbook([[*map(guarded, row)] for row in rows], WIDTHS)

    def save(self, path: "str | Path") -> None:
        """Write the table to a file: a workbook if its name ends in .xlsx, else CSV."""
        Path(path).write_bytes(self.content("xlsx" if is_workbook_path(path) else "csv"))


def _cell(value: Any) -> Any:
    """Return a value for a spreadsheet, in which a missing number is an empty cell."""
    missing = value is None or (isinstance(value, float) and not math.isfinite(value))
    return "" if missing else value


def hits_of(
    status: StudyStatus,
    label: "Label | Iterable[Label] | None" = None,
    guess: Guess | None = None,
) -> HitList:
    """Return the hit list of a study.

    Args:
        status: the study as it stands.
        label: only arms with this label, or one of these; all by default.
        guess: of the open arms, only those with this guess.
    """
    labels = LABELS if label is None else (label,) if isinstance(label, str) else tuple(label)
    if not set(labels) <= set(LABELS):
        raise ArgumentError(
            f"label must be {', '.join(LABELS)}, or several of them: got {label!r}.",
            argument="label",
        )
    if guess not in (None, *get_args(Guess)):
        raise ArgumentError(f"guess must be good or bad: got {guess!r}.", argument="guess")
    arms = [
        arm
        for arm in status.arms
        if not arm.withdrawn
        and arm.label in labels
        and (arm.label != "open" or guess in (None, arm.guess))
    ]
    arms.sort(key=_rank)
    codes = {arm.remark for arm in arms}
    return HitList(
        name=status.name,
        question=status.question,
        verdict=status.verdict,
        best_guess=status.best_guess,
        threshold=status.threshold,
        hits=tuple(map(_hit, arms)),
        remarks={code: text for code, text in status.remarks.items() if code in codes},
        time=status.time,
    )


def _rank(arm: ArmStatus) -> tuple[int, bool, float]:
    estimate = -math.inf if math.isnan(arm.mean) else arm.mean
    return LABELS.index(arm.label), arm.guess != "good", -estimate


def _hit(arm: ArmStatus) -> Hit:
    return Hit(
        arm=arm.arm,
        label=arm.label,
        guess=arm.guess,
        estimate=arm.mean,
        low=arm.low,
        high=arm.high,
        n=arm.measurements,
        suspect=arm.suspect,
        remark=arm.remark,
        notes=arm.notes,
    )
