"""Read tables of counts: number and sum of the measurements of each arm in one period.

Analysts have a table per day: variant, visitors, conversions; or variant, n, mean, sd.  The
evidence of these models depends on the rewards of an arm through their number, their sum and, if
sigma is unknown, their scatter.  So a row says all that its values would.  Looking once a day is
fine: the guarantee holds at all times at once, so it holds at some of them.

A row holds ``arm``, ``n`` and one of

    sum        of the n values
    mean       of the n values

and for ``Gaussian(None)`` one of

    sd         their standard deviation, with n - 1, like that of spreadsheets
    variance   its square.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._internal.arguments import LARGEST, ArgumentError
from ..._internal.results import Hint, HintCode
from ..._internal.tables import counted, listed
from ...models.base import Model
from ..state import LARGEST_COUNT, is_binary, why_no_counts
from .files import Unit
from .reader import Table, TableError, read_table
from .values import (
    MISSING,
    cell_text,
    check_decimal,
    column_key,
    has_decimal_comma,
    is_missing,
    number,
    with_decimal_point,
)

NUMBERS = ("n", "sum", "mean", "sd", "variance", "value")
NAMES = ("arm", *NUMBERS, "period")
# Headings that stand for our names in a table that does not have these.
COMMON_HEADINGS = {
    "arm": ("variant", "option", "prompt", "name"),
    "n": ("count", "visitors", "users", "trials"),
    "sum": ("total", "conversions", "successes", "passes"),
    "mean": ("average", "rate"),
    "sd": ("std", "stdev"),
    "variance": ("var",),
    "period": ("day", "date"),
}
ROUNDING = 1e-6  # by which n times a mean may miss a whole number

_WITH_ZERO = re.compile(r"\+?[0-9]+[.,]0{1,2}")  # as spreadsheets write 1000.0
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:[.,' \u00a0\u2009\u202f\u2019][0-9]{3})+")


@dataclass(frozen=True)
class Counts:
    """One row: n values of an arm, with their sum and their scatter about their mean."""

    arm: str
    n: int
    total: float
    scatter: float
    period: str | None = None


@dataclass(frozen=True)
class CountsTable:
    """A table of counts, or of single values.

    Attributes:
        rows: the cells of each row, by our names.  Cells that are empty, or hold a word for a
            missing value such as n/a, are left out.
        lines: the place of each row in its file, workbook or list, from 1.
        unit: what ``lines`` count.
        notes: how the table was read, in sentences.
        hints: arguments that would help to read it.
    """

    rows: list[dict[str, Any]]
    lines: list[int]
    unit: Unit
    notes: tuple[str, ...]
    hints: tuple[Hint, ...] = ()

    def where(self, i: int) -> str:
        """Return the place of row i, for messages."""
        return f"{self.unit} {self.lines[i]}"

    @property
    def columns(self) -> set[str]:
        """Return our names of the columns in which a cell is filled."""
        return {name for row in self.rows for name in row}


def pairs(option: str, text: str | None, example: str) -> dict[str, str]:
    """Parse the pairs of an option such as arm=variant,n=visitors."""
    parts = [part.partition("=") for part in text.split(",")] if text else []
    names = {name.strip(): heading.strip() for name, _, heading in parts}
    if not all(name and heading for name, heading in names.items()) or len(names) < len(parts):
        raise ArgumentError(f"{option} must be like {example}: got {text!r}.", argument=option)
    return names


def read_counts(
    table: Any,
    columns: Mapping[str, str] | None = None,
    decimal: str = ".",
    needed: Iterable[str] = ("arm", "n"),
) -> CountsTable:
    """Return the rows of any source (:func:`reader.read_table`), by our names of the columns.

    ``columns`` maps our names to those of the table, if they differ.  If our name is missing, one
    of ``COMMON_HEADINGS`` is read instead, and a note says so.  A table that was read before is
    returned as it is.

    Raises:
        ValueError: if the source cannot be read, or a column is missing.
    """
    if isinstance(table, CountsTable):
        return table
    check_decimal(decimal)
    others = dict(columns or {})
    for name in others:
        if name not in NAMES:
            raise ArgumentError(
                f"columns must rename only {', '.join(NAMES)}: got {name!r}.", argument="columns"
            )
    headings = {name: others.get(name, name) for name in NAMES}
    common = [heading for alike in COMMON_HEADINGS.values() for heading in alike]
    source = read_table(table, [*headings.values(), *common])
    found = _common_headings(source, set(NAMES) - others.keys())
    headings |= found
    source.check_widths()
    if not source.rows:
        below = "" if source.header is None else f" below the header on line {source.header}"
        raise TableError(f"The sheet has no rows{below}.  Add a row for each arm.")
    for name in dict.fromkeys([*needed, *others]):
        source.column(headings[name], Hint(HintCode.NAME_COLUMN, "columns", {name: None}))
    indices = {name: source.find(heading) for name, heading in headings.items()}
    texts = _Texts(decimal)
    rows = []
    for row in source.rows:
        cells = {name: row.cell(index) for name, index in indices.items() if index is not None}
        try:
            read = {name: texts.read(name, cell) for name, cell in cells.items()}
        except ValueError as error:
            raise TableError(f"{source.unit} {row.line}, column {error}.") from None
        rows.append({name: cell for name, cell in read.items() if cell is not None})
    lines = [row.line for row in source.rows]
    notes = source.notes + _renaming(found) + texts.notes
    return CountsTable(rows, lines, source.unit, notes, texts.hints)


def is_counts(table: Table) -> bool:
    """Return whether a table has the columns that a table of counts must have."""
    found = _common_headings(table, set(NAMES))
    keys = {column_key(heading) for heading in table.headings}
    return all(name in found or name in keys for name in ("arm", "n"))


def _common_headings(table: Table, names: set[str]) -> dict[str, str]:
    """Return the heading of the table for each of our names that only a common heading has."""
    number = Counter(column_key(heading) for heading in table.headings)
    if number["sum"] or number["mean"]:
        names = names - {"sum", "mean"}  # a table has one of them
    found = {}
    for name in (name for name in COMMON_HEADINGS if name in names and not number[name]):
        alike = [heading for heading in COMMON_HEADINGS[name] if number[heading]]
        if len(alike) == 1 and number[alike[0]] == 1:
            found[name] = alike[0]
    return found


def _renaming(found: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note that says which columns were read under which of our names."""
    parts = [f"{heading!r} as {name!r}" for name, heading in found.items()]
    if not parts:
        return ()
    return (f"{'A column was' if len(parts) == 1 else 'Columns were'} read: {listed(parts)}.",)


class _Texts:
    """Read the cells of a table, and keep count of words and of commas among them."""

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal
        self._words: Counter[str] = Counter()
        self._commas: list[str] = []

    def read(self, name: str, cell: Any) -> Any:
        """Return a cell with a decimal point; None if it is empty or a word for that.

        Raises:
            ValueError: if the text has another decimal sign; the name, and the end of a sentence.
        """
        if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
            return None
        if name not in NUMBERS or not isinstance(cell, str):
            return cell
        if cell.strip().lower() in MISSING:
            self._words[cell.strip()] += 1
            return None
        if name != "n" and has_decimal_comma(cell):
            self._commas.append(cell.strip())
        if self._decimal == ".":
            return cell
        try:
            return _digits(cell, ",") if name == "n" else with_decimal_point(cell)
        except ValueError as error:
            raise ValueError(f"{name}: {name} {error}") from None

    @property
    def _unclear(self) -> bool:
        return bool(self._commas) and self._decimal == "."

    @property
    def notes(self) -> tuple[str, ...]:
        notes: tuple[str, ...] = ()
        if self._words:
            words = ", ".join(f"{n} {word}" for word, n in self._words.most_common(20))
            notes += (f"Cells without a number: {words}.",)
        if self._unclear:
            cells = counted(len(self._commas), "cell has", "cells have")
            notes += (f"{cells} a comma, such as {self._commas[0]!r}: is it a decimal comma?",)
        return notes

    @property
    def hints(self) -> tuple[Hint, ...]:
        return (Hint(HintCode.DECIMAL_COMMA, "decimal", ","),) if self._unclear else ()


def _digits(text: str, decimal: str = ".") -> str:
    """Return a number of measurements as it is written, without the decimals of 1000.0.

    Points and commas may stand between thousands.  So 1.000 and 1,000 are not taken for 1.

    Raises:
        ValueError: if it has such a sign; the end of a sentence.
    """
    text = text.strip()
    if _WITH_ZERO.fullmatch(text) and decimal in text:
        return text.partition(decimal)[0]
    thousands = _THOUSANDS.fullmatch(text)
    if thousands or "," in text or "." in text:
        remedy = f"; write {re.sub('[^0-9]', '', text)}" if thousands else ""
        raise ValueError(f"must be a whole number in plain digits: got {text[:40]!r}{remedy}")
    return text


# Of a table whose columns n and sum seem to be swapped.
SWAPPED_HINT = Hint(HintCode.SWAPPED_COLUMNS, "columns", {"n": None, "sum": None})


def swapped(rows: Sequence[Mapping[str, Any]], model: Model) -> tuple[str, ...]:
    """Return a note if n and sum of zeros and ones seem to be swapped: every sum is above its n."""
    if not is_binary(model):
        return ()
    try:
        pairs_of_rows = [(number_of(row, "n"), number_of(row, "sum")) for row in rows]
    except ValueError:
        return ()
    both = [(n, total) for n, total in pairs_of_rows if n is not None and total is not None]
    if not both or not all(n < total for n, total in both):
        return ()
    return ("Every row has a sum above its n: are the columns n and sum swapped?",)


def parse_counts(row: Mapping[str, Any], model: Model) -> Counts:
    """Parse the counts of a row; n = 0 if its numbers are missing.

    Raises:
        ValueError: if no values have such counts; the end of a sentence.
    """
    arm = arm_of(row)
    period = None if is_missing(row.get("period")) else cell_text(row["period"]).strip()
    if isinstance(row.get("n"), str):
        try:
            row = {**row, "n": _digits(row["n"])}
        except ValueError as error:
            raise ValueError(f"n {error}") from None
    written = row.get("sum")
    if model.whole and isinstance(written, str) and _THOUSANDS.fullmatch(written.strip()):
        first_digits, all_digits = re.sub("[^0-9].*", "", written), re.sub("[^0-9]", "", written)
        raise ValueError(
            f"sum must be a whole number in plain digits: got {written!r}, which may be "
            f"{first_digits} or {all_digits}; write one of them"
        )
    n, total, mean = (number_of(row, name) for name in ("n", "sum", "mean"))
    if n is None and total is None and mean is None:
        n = 0.0
    if n is None or n != math.floor(n):
        raise ValueError(f"n must be a whole number: got {row.get('n')!r}")
    if not 0 <= n <= LARGEST_COUNT:
        raise ValueError(f"n must be from 0 to {LARGEST_COUNT:,.0f}: got {row.get('n')!r}")
    if n == 0:
        return Counts(arm, 0, 0.0, 0.0, period)
    if (total is None) == (mean is None):
        raise ValueError("sum or mean must be given, and not both")
    if total is None:
        assert mean is not None
        if is_binary(model) and 1.0 < mean <= 100.0:
            raise ValueError(
                f"mean must lie between 0 and 1 for {model}: got {row['mean']!r}; if it is "
                f"{mean:.12g} %, write {mean / 100.0:.12g}"
            )
        total = n * mean
        if model.whole and abs(total - round(total)) <= ROUNDING * max(abs(total), 1.0):
            total = float(round(total))
    problem = why_no_counts(model, int(n), total)
    if problem:
        raise ValueError(problem)
    return Counts(arm, int(n), total + 0.0, _scatter(row, model, n), period)


def arm_of(row: Mapping[str, Any]) -> str:
    """Return the name of the arm that a row is about; ValueError if there is none."""
    arm = "" if is_missing(row.get("arm")) else cell_text(row["arm"]).strip()
    if not arm:
        raise ValueError("arm is missing")
    return arm


def counts_data(counts: Counts) -> dict[str, Any]:
    """Return the data of the event of these counts, beside their sum."""
    return {"n": counts.n, "scatter": counts.scatter, "period": counts.period}


def _scatter(row: Mapping[str, Any], model: Model, n: float) -> float:
    """Return the scatter of the values, if the model needs it; else 0."""
    sd, variance = number_of(row, "sd"), number_of(row, "variance")
    if model.noise_known:
        return 0.0
    if n <= 1:
        return 0.0
    if (sd is None) == (variance is None):
        raise ValueError(f"sd or variance must be given for {model}, and not both")
    if variance is None:
        assert sd is not None
        variance = sd * sd if sd >= 0.0 else -1.0
    if variance < 0.0:
        raise ValueError("sd and variance must not be negative")
    scatter = (n - 1.0) * variance
    if scatter > LARGEST:
        raise ValueError(f"sd and variance are too large: got {row.get('sd', variance)!r}")
    return scatter


def number_of(row: Mapping[str, Any], name: str) -> float | None:
    """Return a finite number of a row; None if it is missing.

    Raises:
        ValueError: if there is something else; the end of a sentence.
    """
    raw = row.get(name)
    if is_missing(raw) or (isinstance(raw, str) and not raw.strip()):
        return None
    try:
        value = number(raw) if isinstance(raw, str) else float(raw)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        raise ValueError(f"{name} must be a number: got {raw!r}") from None
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    if isinstance(raw, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number: got {raw!r}")
    return value
