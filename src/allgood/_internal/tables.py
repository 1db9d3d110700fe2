"""Tables for people and programs: text, HTML for notebooks, CSV, Parquet and pandas."""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    import pandas

PART = 1000  # lines of comma-separated values that are written together
ROWS = 20  # a notebook shows at most this many rows of a table
ARMS = 8  # a line names at most this many arms

Columns = Mapping[str, list[Any]]

# Spreadsheets take a text for a formula if it begins with one of these signs, also in full width,
# and some of them skip blanks and control characters before it.
_FORMULA = re.compile("'*(?:[\t\r\n]|\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])")


def guarded(cell: Any) -> Any:
    """Return a cell for a CSV file so that no spreadsheet takes it for a formula.

    A text that would be one gets an apostrophe before it: '=A1 for =A1, and ''=A1 for '=A1.  Other
    texts, and numbers, stay as they are.
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(cell: Any) -> Any:
    """Return a cell as it was before :func:`guarded`."""
    is_text = isinstance(cell, str)
    return cell[1:] if is_text and cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_parts(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Return comma-separated values, with a line of headings, some lines at a time."""
    lines = iter(chain([headings], rows))
    while part := list(islice(lines, PART)):
        text = io.StringIO(newline="")
        # With other ends of lines, Python would write a carriage return without quotes.
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerows(map(guarded, row) for row in part)
        yield text.getvalue()


class Tabular:
    """A result that can be written as a table."""

    def table(self) -> "Table":
        """Return the table."""
        raise NotImplementedError

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the table as a pandas DataFrame (extra ``frames``)."""
        try:
            import pandas
        except ImportError:
            raise ImportError(_lacking("to_pandas", "pandas")) from None
        return pandas.DataFrame(dict(self.table().columns))

    def to_csv(self, path: "str | os.PathLike[str]") -> None:
        """Write the table to a file of comma-separated values, with a line of headings.

        A text that a spreadsheet would take for a formula gets an apostrophe before it.
        """
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            file.writelines(self.csv_lines())

    def csv_lines(self) -> Iterator[str]:
        """Return the lines that :meth:`to_csv` writes, some at a time."""
        columns = self.table().columns
        return csv_parts(columns, zip(*columns.values(), strict=True))

    def to_parquet(self, path: "str | os.PathLike[str]") -> None:
        """Write the table to a Parquet file (extra ``frames``)."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ImportError(_lacking("to_parquet", "pyarrow")) from None
        pyarrow.parquet.write_table(pyarrow.table(dict(self.table().columns)), path)


def _lacking(what: str, package: str) -> str:
    return f"{what} needs {package}, which is not installed: install the extra, allgood[frames]."


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Return the first of many names, and how many more there are."""
    rest = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{rest}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 arm", "2,000 arms"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


@dataclass(frozen=True, eq=False, repr=False)
class Table(Tabular):
    """A table: for each heading, one value per row."""

    columns: Columns

    @staticmethod
    def of_rows(rows: Iterable[Mapping[str, Any]]) -> "Table":
        """Return the table with these rows; a missing value becomes None."""
        listed = list(rows)
        keys = dict.fromkeys(key for row in listed for key in row)
        return Table({key: [row.get(key) for row in listed] for key in keys})

    def table(self) -> "Table":
        return self

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows: {', '.join(self.columns)})"

    def __str__(self) -> str:
        """Return the first rows, in columns."""
        shown = [[_cell(value) for value in values[:ROWS]] for values in self.columns.values()]
        left = [
            name for name, values in self.columns.items() if values and isinstance(values[0], str)
        ]
        text = text_table(list(self.columns), list(zip(*shown, strict=True)), left)
        rest = len(self) - ROWS
        return f"{text}\n... and {rest:,} more rows" if rest > 0 else text

    def _repr_html_(self) -> str:
        return html_table("", self.columns)


class Styled(str):
    """Text that a terminal shows in a style: ``ansi`` is the number of the style."""

    ansi: int = 0


def text_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], left: Iterable[str] = ()
) -> str:
    """Lay text out in columns, two blanks apart; columns in ``left`` begin alike, others end so."""
    lines = [headings, *rows]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    begin_alike = [heading in set(left) for heading in headings]
    return "\n".join("  ".join(map(_padded, line, widths, begin_alike)).rstrip() for line in lines)


def _padded(cell: str, width: int, begins: bool) -> str:
    """Fill a cell up with blanks, and add its style."""
    blanks = " " * (width - display_width(cell))
    text = f"{cell}{blanks}" if begins else f"{blanks}{cell}"
    return f"\x1b[{cell.ansi}m{text}\x1b[0m" if isinstance(cell, Styled) else text


def display_width(text: str) -> int:
    """Return the width of a text in columns: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def html_table(title: str, columns: Columns) -> str:
    """Return the first rows of a table as HTML for a notebook, with all text escaped."""
    from html import escape

    shown = list(zip(*columns.values(), strict=True))
    rows = [[*columns], *(map(_cell, row) for row in shown[:ROWS])]
    lines = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
    lines[0] = lines[0].replace("td>", "th>")
    rest = f"<p>{len(shown) - ROWS:,} more rows</p>" if len(shown) > ROWS else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<p>{escape(title)}</p><table>{body}</table>{rest}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"


def count(value: float) -> str:
    """Return a number of pulls as text."""
    return f"{value:,.0f}" if value < 1e9 else f"{value:.4g}"


def arms(label: str, chosen: Iterable[bool]) -> str:
    """Return how many arms have a label, and the first of them: ``3 good: 0, 2, 5``."""
    numbers = [number for number, is_in in enumerate(chosen) if is_in]
    first = ", ".join(map(str, numbers[:ARMS])) + (", ..." if len(numbers) > ARMS else "")
    return f"{len(numbers)} {label}" + (f": {first}" if numbers else "")
