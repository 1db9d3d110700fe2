"""Turn any source of rows into one table: the door through which all tables come in.

A source is a CSV file or a workbook (a path or a stream), a data frame, a mapping of columns, a
list of mappings, or a list of pairs.  Sheets of measurements and lists of arms (``sheets.py``) and
counts (``counts.py``) are read from the table that :func:`read_table` returns.  Names of columns
are compared without regard to case and to blanks around them.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..._internal.arguments import ArgumentError, ArgumentTypeError
from ..._internal.results import Hint
from ..._internal.tables import listed
from .files import Unit, is_file, read_file
from .values import cell_text, column_key, short


class TableError(ArgumentError):
    """A table cannot be used as it is; one sentence, and ``hints`` of what would help."""

    def __init__(self, message: str, *hints: Hint, argument: str = "rows") -> None:
        super().__init__(message, argument=argument)
        self.hints = hints


class TableRow(NamedTuple):
    """One row of a table.

    Attributes:
        line: the line of the file, or the number of the row, from 1.
        cells: by the index of the heading; a row in memory has only those that it was given.
    """

    line: int
    cells: "Sequence[Any] | dict[int, Any]"

    def cell(self, column: int | None) -> Any:
        """Return the cell in a column: "" if a file has none there, None if a row in memory has."""
        if column is None:
            return None
        if isinstance(self.cells, dict):
            return self.cells.get(column)
        return self.cells[column] if column < len(self.cells) else ""


@dataclass(frozen=True)
class Table:
    """Rows under headings.

    Attributes:
        headings: as they are written.
        rows: those that have a filled cell, in their order.
        unit: what the numbers of rows count: lines of a CSV file, or rows.
        header: the line of the header; None if the table is not a file.
        notes: how the file was read, in sentences.
    """

    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]
    unit: Unit = "row"
    header: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Name the place of the headings, as the beginning of a sentence."""
        return "rows" if self.header is None else f"Line {self.header} of the sheet"

    def find(self, name: str) -> int | None:
        """Return the index of a column; None if there is no such column."""
        key = column_key(name)
        indices = [i for i, heading in enumerate(self.headings) if column_key(heading) == key]
        if len(indices) > 1:
            raise TableError(
                f"{self.place} must name each column once: got {short(name)} {len(indices)} times."
            )
        return indices[0] if indices else None

    def column(self, name: str, *hints: Hint) -> int:
        """Return the index of a column that must be there; the error carries the hints."""
        index = self.find(name)
        if index is not None:
            return index
        known = {column_key(heading): heading.strip() for heading in self.headings}
        known.pop("", None)
        shown = listed([short(heading) for heading in known.values()], limit=20)
        close = difflib.get_close_matches(column_key(name), known, n=1)
        near = f"; nearest is {short(known[close[0]])}" if close else ""
        raise TableError(
            f"{self.place} must name a column {short(name)}: got {shown or 'none'}{near}.", *hints
        )

    def problem(self, row: TableRow) -> str:
        """Say why a row does not fit the headings; empty if it does."""
        cells, width = len(row.cells), len(self.headings)
        if cells == width or isinstance(row.cells, dict):
            return ""
        return f"the row has {cells} cells, the header {width}"

    def check_widths(self) -> None:
        """Refuse a table with a row that does not fit the headings."""
        for row in self.rows:
            if problem := self.problem(row):
                raise TableError(f"{self.unit.capitalize()} {row.line} of the sheet: {problem}.")


def read_table(
    source: Any,
    wanted: Sequence[str],
    pair: tuple[str, str] | None = None,
    headers: Sequence[Sequence[str]] = (),
) -> Table:
    """Return the rows of a file, a data frame, a mapping of columns, or a list.

    Args:
        source: see the top of this file.
        wanted: names that columns may have.  Of a table in memory only these columns are read.
        pair: the names of the columns that a list of pairs holds, and without which a mapping in a
            list is refused; None if a list must hold mappings.
        headers: names of which the header of a file has all of one row, so that it is found below
            other lines (:func:`files.read_file`).

    Raises:
        ValueError: if the source cannot be read; one sentence, with the line.
        TypeError: if it is not such a source.
    """
    if is_file(source):
        return _table_of_file(source, wanted, headers)
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        return _table_of_columns(source, wanted)
    if isinstance(source, Iterable):
        return _table_of_list(source, pair)
    pairs = "" if pair is None else " or pairs"
    raise ArgumentTypeError(
        f"rows must be a file, a table, or a list of mappings{pairs}: got {source!r}.",
        argument="rows",
    )


def _table_of_file(
    source: Any, wanted: Sequence[str], headers: Sequence[Sequence[str]] = ()
) -> Table:
    records, unit, notes = read_file(source, wanted, headers)
    line, header = next(records, (1, None))
    if header is None:
        raise TableError("The sheet is empty: line 1 must hold the names of the columns.")
    headings = tuple(cell_text(cell) for cell in header)
    rows = tuple(TableRow(number, cells) for number, cells in records)
    return Table(headings, rows, unit, line, notes)


def _table_of_columns(source: Any, wanted: Sequence[str]) -> Table:
    """Return the wanted columns of a mapping of columns, or of a data frame."""
    names = list(source if isinstance(source, Mapping) else source.columns)
    keys = {column_key(name) for name in wanted}
    columns = {
        i: list(source[name]) for i, name in enumerate(names) if column_key(str(name)) in keys
    }
    lengths = sorted({len(column) for column in columns.values()})
    if len(lengths) > 1:
        raise TableError(
            f"rows must have columns of one length: got {lengths[0]} and {lengths[-1]}."
        )
    rows = enumerate(zip(*columns.values(), strict=True), start=1)
    return Table(
        tuple(map(str, names)),
        tuple(TableRow(number, dict(zip(columns, cells, strict=True))) for number, cells in rows),
    )


def _table_of_list(source: Iterable[Any], pair: tuple[str, str] | None) -> Table:
    """Return the rows of a list of mappings or pairs."""
    headings: dict[str, int] = {}
    rows = []
    for number, row in enumerate(source, start=1):
        named = row if isinstance(row, Mapping) else _named_pair(row, pair)
        if named is None or (named is row and pair is not None and not _has(row, pair)):
            wanted = "be mappings"
            if pair is not None:
                wanted = f"hold ({pair[0]}, {pair[1]}) pairs, or mappings with {pair[0]!r} and "
                wanted += repr(pair[1])
            raise ArgumentTypeError(
                f"rows must {wanted}: got {row!r} as number {number}.", argument="rows"
            )
        cells = {headings.setdefault(str(key), len(headings)): cell for key, cell in named.items()}
        rows.append(TableRow(number, cells))
    return Table(tuple(headings or pair or ()), tuple(rows))


def _named_pair(row: Any, pair: tuple[str, str] | None) -> Mapping[str, Any] | None:
    """Return the cells of a pair by their names; None if it is not one."""
    if pair is None:
        return None
    try:
        first, second = row
    except (TypeError, ValueError):
        return None
    return {pair[0]: first, pair[1]: second}


def _has(row: Mapping[Any, Any], names: Iterable[str]) -> bool:
    if all(name in row for name in names):
        return True
    keys = {column_key(str(key)) for key in row}
    return all(column_key(name) in keys for name in names)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about a mistyped name; empty if no name is near."""
    close = difflib.get_close_matches(name, list(dict.fromkeys(known)), 1)
    return f"; nearest is {close[0]!r}" if close else ""
