"""Sheets of measurements that laboratories fill in, lists of arms, and grids of plate readers.

Nothing is guessed and nothing is changed.  A sheet that cannot be read is refused, and the message
names the line.  A row that does not fit the header keeps a description of the problem.
"""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any, Literal

from ..._internal.arguments import ArgumentTypeError, count, forbidden_character
from ..._internal.results import Hint, HintCode
from ..._internal.tables import guarded
from ..state import Ticket
from ..wells import ROW_NAMES, well_name, well_position
from .counts import is_counts
from .files import (
    LONGEST,
    NOT_TEXT,
    Record,
    TableFile,
    TooLarge,
    content_of,
    decode,
    filled_cells,
    is_file,
    text_records,
)
from .reader import Table, TableError, TableRow, read_table
from .values import MISSING, cell_text, check_decimal, is_missing, short, with_decimal_point
from .workbooks import Cell, is_workbook, read_cells, workbook

MOST_EXTRA = 20  # columns of the laboratory's own that are kept
LONGEST_EXTRA = 1000  # characters in their cells


@dataclass(frozen=True)
class ToldRow:
    """One measurement as a sheet, a table or a list holds it.

    Attributes:
        line: where the row begins in the file, or its number in the workbook, table or list, from
            1.
        ticket: as it is written, without blanks around it; empty for a control.
        value: as it is written; a sheet gives text, which is empty if the value is missing, and a
            workbook also numbers.
        arm: the arm's name; None if there is no column ``arm``.
        well, plate: None if there is no such column.
        problem: why the row does not fit the header, if it does not.  Its cells are then read as
            far as they go.
        missing: the word that stood in place of a value, such as n/a, if there was one.
        extra: the filled cells of the sheet's other columns, as texts.
        unit: what ``line`` counts: lines of a file, or rows; or that the row is a well of a grid.
        column: the name of the column with the value.
    """

    line: int
    ticket: str
    value: Any
    arm: str | None = None
    well: str | None = None
    plate: str | None = None
    problem: str | None = None
    missing: str = ""
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)
    unit: Literal["line", "row", "well"] = "line"
    column: str = field(default="value", compare=False)

    @property
    def where(self) -> str:
        """Say where the row stands, for messages."""
        if self.unit == "well":
            return f"well {self.well} of plate {self.plate}"
        return f"{self.unit} {self.line}"


@dataclass(frozen=True)
class Sheet:
    """The measurements that a sheet, a table or a list holds.

    Attributes:
        rows: one for each measurement.
        notes: how the sheet was read, in sentences.
        grid: the plate's number, rows and columns, if the sheet is a grid of wells.
    """

    rows: tuple[ToldRow, ...]
    notes: tuple[str, ...] = ()
    grid: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class AskedRow:
    """One line of a sheet to be filled in: a ticket and its arm, or the name of a control."""

    ticket: str
    arm: str
    plate: int | str = ""
    well: str = ""


NO_VALUES: Mapping[AskedRow, float | str] = {}


def read_rows(
    rows: Any,
    ticket_column: str = "ticket",
    value_column: str = "value",
    decimal: str = ".",
    grid: int | None = None,
) -> Sheet:
    """Return the measurements that a source holds, with their values as they are written.

    Words for a missing value, such as n/a, are taken out.  Texts with a decimal comma get a point,
    if ``decimal`` is a comma.  ``grid`` is the number of the plate whose wells a file shows, as a
    grid or as a list.  A sheet that was read before is returned as it is.
    """
    if isinstance(rows, Sheet):
        return rows
    check_decimal(decimal)
    if grid is None:
        sheet = read_sheet(rows, ticket_column, value_column)
    elif is_file(rows):
        sheet = _read_plate(rows, count("grid", grid), ticket_column, value_column)
    else:
        raise ArgumentTypeError(
            f"rows must be a file if grid is given: got {rows!r}.", argument="rows"
        )
    return replace(sheet, rows=tuple(_normal_text(row, decimal) for row in sheet.rows))


def _read_plate(source: TableFile, plate: int, ticket_column: str, value_column: str) -> Sheet:
    """Return the wells of a plate from a file of its reader: a grid, or a list of wells."""
    content = content_of(source)
    is_bytes = isinstance(content, bytes)

    def stream() -> Any:
        return io.BytesIO(content) if is_bytes else io.StringIO(content)  # type: ignore[arg-type]

    try:
        return read_grid(stream(), plate)
    except TableError as no_grid:
        try:
            sheet = read_sheet(stream(), ticket_column, value_column)
        except TableError:
            raise no_grid from None
        if not any(row.well for row in sheet.rows):
            raise
    rows = tuple(row if row.plate else replace(row, plate=str(plate)) for row in sheet.rows)
    return replace(sheet, rows=rows)


def _normal_text(row: ToldRow, decimal: str) -> ToldRow:
    """Take out a word for a missing value, and replace a decimal comma."""
    if not isinstance(row.value, str):
        return row
    if row.value.strip().lower() in MISSING:
        return replace(row, value="", missing=row.value.strip())
    if decimal == ".":
        return row
    try:
        return replace(row, value=with_decimal_point(row.value))
    except ValueError as error:
        return replace(row, problem=row.problem or f"the value {error}")


def read_sheet(source: Any, ticket_column: str = "ticket", value_column: str = "value") -> Sheet:
    """Return the rows of any source (:func:`reader.read_table`) with a ticket and a value each.

    A list of a plate reader has the column ``well`` in place of tickets.  Lines above its header
    are skipped, and so is what follows the list after an empty line; notes say so.  The columns
    ``arm``, ``well`` and ``plate`` are read if they are there.  Other columns of a file are
    ``extra``, unless there are too many or they are too long; then a note names those that are not
    kept.

    Raises:
        ValueError: if the source cannot be read; one sentence, with the line.
    """
    names = (ticket_column, value_column, "arm", "well", "plate")
    headers = ((ticket_column, value_column), ("well", value_column))
    table = read_table(source, names, (ticket_column, value_column), headers)
    ticket = table.find(ticket_column)
    if ticket is None and table.find("well") is None:
        others = _other_kinds(table)
        table.column(ticket_column, Hint(HintCode.NAME_COLUMN, "ticket_column"), *others)
    value = table.column(value_column, Hint(HintCode.NAME_COLUMN, "value_column"))
    if ticket == value:
        raise TableError(
            f"Tickets and values must have a column each: got {short(ticket_column)} for both.",
            argument="ticket_column",
        )
    arm, well, plate = (table.find(name) for name in names[2:])
    if ticket is None and well is not None:
        table = _list_of_wells(table, well)
    kept, dropped = kept_columns(table, {ticket, value, arm, well, plate})
    rows = tuple(
        ToldRow(
            row.line,
            ticket_name(row.cell(ticket)),
            _value(row.cell(value)),
            _text(row.cell(arm)),
            _stripped(row.cell(well)),
            _stripped(row.cell(plate)),
            table.problem(row) or None,
            extra=extra_texts(kept, row) if kept else {},
            unit=table.unit,
            column=table.headings[value].strip(),
        )
        for row in table.rows
    )
    if not rows and table.header is not None:
        raise TableError(
            f"The sheet has no rows below the header on line {table.header}.  Add rows below it."
        )
    return Sheet(rows, table.notes + dropped)


def _other_kinds(table: Table) -> tuple[Hint, ...]:
    """Return hints if a table without tickets has the form of counts or of a grid."""
    hints = []
    if is_counts(table):
        hints.append(Hint(HintCode.COUNTS_TABLE))
    labels = [_label(heading) for heading in table.headings]
    if any(labels[j : j + 2] == ["1", "2"] for j in range(1, len(labels))):
        hints.append(Hint(HintCode.GRID, "grid"))
    return tuple(hints)


def _list_of_wells(table: Table, well: int) -> Table:
    """Return a list of wells without what follows it after an empty line, and a note on that."""
    before = table.header or 0
    for i, row in enumerate(table.rows):
        if row.line > before + 1 and well_name(cell_text(row.cell(well) or "")) is None:
            end = f"{table.unit} {row.line}"
            note = f"Skipped everything from {end} on, which is not part of the list of wells."
            return replace(table, rows=table.rows[:i], notes=(*table.notes, note))
        before = row.line
    return table


def ticket_name(ticket: object) -> str:
    """Return the id of a ticket; empty if a table has none."""
    if isinstance(ticket, str):
        return ticket.strip()
    if isinstance(ticket, Ticket):
        return ticket.id
    return "" if is_missing(ticket) else cell_text(ticket).strip()  # type: ignore[arg-type]


def _value(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def _text(cell: Any) -> str | None:
    """Return a cell as text; None if a row in memory has nothing."""
    return None if cell is None or is_missing(cell) else cell_text(cell)


def _stripped(cell: Any) -> str | None:
    return None if cell is None or is_missing(cell) else cell_text(cell).strip()


def read_arms(
    source: TableFile, column: str
) -> tuple[list[str], dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the names of arms in one column of a table, and for each what other columns say.

    The table is any source (:func:`reader.read_table`).  Also returns notes.
    """
    table = read_table(source, [column])
    index = table.column(column, Hint(HintCode.NAME_COLUMN, "arm_column"))
    table.check_widths()
    arms = [cell_text(row.cell(index)).strip() for row in table.rows]
    for arm, row in zip(arms, table.rows, strict=True):
        if not arm:
            place = f"{table.unit.capitalize()} {row.line} of the sheet"
            raise TableError(f"{place} must name an arm: got nothing.")
    kept, dropped = kept_columns(table, {index})
    texts = {arm: extra_texts(kept, row) for arm, row in zip(arms, table.rows, strict=True)}
    return arms, {arm: text for arm, text in texts.items() if text}, table.notes + dropped


def extra_texts(kept: Mapping[int, str], row: TableRow) -> dict[str, str]:
    """Return the filled cells of the columns that are kept."""
    texts = {name: cell_text(row.cell(i)).strip() for i, name in kept.items()}
    return {name: text for name, text in texts.items() if text}


def kept_columns(table: Table, own: set[int | None]) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return the columns of a file to keep besides our own, and a note of those not kept.

    Their names are by index.  A name that is empty or stands there twice gets the column's number.
    """
    kept: dict[int, str] = {}
    dropped = []
    for i, longest in enumerate(_longest_texts(table)):
        if longest == 0 or i in own:
            continue
        name = " ".join(table.headings[i].split()) or f"column {i + 1}"
        name = f"{name} (column {i + 1})" if name in kept.values() else name
        if len(kept) == MOST_EXTRA or longest > LONGEST_EXTRA or len(name) > LONGEST_EXTRA:
            dropped.append(name)
        elif forbidden := forbidden_character(name):
            raise TableError(
                f"The heading of column {i + 1}, {short(name)}, has the character {forbidden}, "
                "which is not seen: write the heading anew."
            )
        else:
            kept[i] = name
    if not dropped:
        return kept, ()
    shown = ", ".join(map(short, dropped[:5])) + (", ..." if len(dropped) > 5 else "")
    return kept, (
        f"Columns that are not kept, as a sheet may have {MOST_EXTRA} besides those of allgood, "
        f"with at most {LONGEST_EXTRA} characters a cell: {shown}.",
    )


def _longest_texts(table: Table) -> list[int]:
    """Return the length of the longest text in each column of a file."""
    lengths = [0] * len(table.headings)
    for row in table.rows:
        if isinstance(row.cells, dict):
            continue
        for i, cell in filled_cells(row.cells):
            if i < len(lengths):
                lengths[i] = max(lengths[i], len(cell_text(cell).strip()))
    return lengths


def read_grid(source: TableFile, plate: int) -> Sheet:
    """Return the wells of a plate, from a grid as plate readers write it, in CSV or in a workbook.

    The columns' numbers 1, 2, 3, ... stand above the grid, and the rows' letters A, B, C, ...
    before it.  Anything may stand above, below and beside it.

    Raises:
        ValueError: if there is no such grid, or more than one; one sentence.
    """
    content = content_of(source)
    if isinstance(content, bytes) and is_workbook(content):
        records, notes = read_cells(content)
        grids = _grids(records)
    else:
        text, notes = decode(content)
        grids = max((_grids_of_text(text, delimiter) for delimiter in ",;\t"), key=len)
    if len(grids) != 1:
        lines = " and ".join(str(grid[0][0]) for grid in grids[:3])
        got = f"{len(grids)}, below lines {lines}" if grids else "none"
        raise TableError(
            "The file must hold one grid of values, with the numbers of columns 1, 2, 3, ... above "
            f"it and the letters of rows A, B, C, ... before it: got {got}."
        )
    (_, numbers), *rows = grids[0]
    wells = tuple(
        ToldRow(line, "", _value(cell), None, f"{name}{j}", str(plate), unit="well")
        for name, (line, cells) in zip(ROW_NAMES, rows, strict=False)
        for j, cell in enumerate(cells, start=1)
    )
    return Sheet(wells, notes=notes, grid=(plate, len(rows), len(numbers)))


def _grids(records: Sequence[Record]) -> list[list[Record]]:
    """Return all grids: for each the line of the columns' numbers, then the lines of values."""
    grids = []
    for i, (line, cells) in enumerate(records):
        labels = {j: _label(cell) for j, cell in filled_cells(cells)}
        for start in (j for j in sorted(labels) if j > 0 and labels[j] == "1"):
            width = 0
            while labels.get(start + width) == str(width + 1):
                width += 1
            grid: list[Record] = [(line, cells[start : start + width])]
            lines = records[i + 1 : i + 1 + len(ROW_NAMES)]
            for name, (below, others) in zip(ROW_NAMES, lines, strict=False):
                if _label(_cell(others, start - 1)) != name:
                    break
                grid.append((below, [_cell(others, start + j) for j in range(width)]))
            if len(grid) > 1:
                grids.append(grid)
    return grids


def _grids_of_text(text: str, delimiter: str) -> list[list[Record]]:
    """Return the grids with this delimiter; none if it does not fit the file."""
    try:
        records = list(text_records(text, delimiter))
    except TooLarge:
        raise
    except ValueError:
        return []
    grids = _grids(records)
    lengths = {line: len(cells) for line, cells in records}
    for (line, _), *rows in grids if delimiter == "," else []:
        for below, _ in rows:
            if lengths[below] != lengths[line]:
                # A comma within a number would shift the values that follow it to other wells.
                raise TableError(
                    f"Line {below} of the grid must have {lengths[line]} cells, as line {line} "
                    f"has: got {lengths[below]}. Are there decimal commas?"
                )
    return grids


def _label(cell: Cell) -> str:
    """Return the name of a row or column, as it stands beside a grid."""
    return cell_text(cell).strip().upper().lstrip("0")


def _cell(cells: Sequence[Cell], column: int) -> Cell:
    return cells[column] if column < len(cells) else ""


def is_workbook_path(path: str | os.PathLike[str]) -> bool:
    """Return whether a file of this name is to be a workbook."""
    return os.fspath(path).lower().endswith(".xlsx")


def sheet_bytes(
    rows: Iterable[AskedRow],
    as_workbook: bool = False,
    values: Mapping[AskedRow, float | str] = NO_VALUES,
) -> bytes:
    """Return a sheet to be filled in (``write_sheet``), as CSV or as a workbook.

    ``values`` are those that are filled in already.
    """
    table = _table_to_fill(rows, values)
    if as_workbook:
        return workbook(table, widths=[6, 6, 12, 40, 16])
    text = _csv(table)
    return text.encode("utf-8" if text.isascii() else "utf-8-sig")


def write_sheet(target: str | os.PathLike[str] | IO[str], rows: Iterable[AskedRow]) -> None:
    """Write a sheet to be filled in: columns plate, well, ticket, arm and value, which is empty.

    Rows with wells come first, plate after plate in the order given, and row by row on each plate.
    Rows without wells follow.  A file whose name ends in .xlsx is a workbook.  Another is CSV in
    UTF-8; with a byte order mark if it is not ASCII, because spreadsheets need the mark then.

    Spreadsheets take a cell that begins with =, +, - or @ for a formula and would replace or run
    it.  Such a text is written with an apostrophe before it: '=A1 for =A1, and ''=A1 for '=A1.
    :func:`read_sheet` removes one apostrophe before such a sign.  So texts come back as they were,
    whether a spreadsheet saved the sheet in between or not.  Other texts are written as they are.
    """
    if isinstance(target, str | os.PathLike):
        content = sheet_bytes(rows, is_workbook_path(target))
        with open(target, "wb") as file:
            file.write(content)
    else:
        target.write(_csv(_table_to_fill(rows)))


def _table_to_fill(
    rows: Iterable[AskedRow], values: Mapping[AskedRow, float | str] = NO_VALUES
) -> list[list[str | float]]:
    asked = list(rows)
    if not asked:
        raise ValueError("rows must not be empty: a sheet without any is not read again.")
    plates = {plate: i for i, plate in enumerate(dict.fromkeys(row.plate for row in asked))}
    asked.sort(
        key=lambda row: (0, plates[row.plate], *well_position(row.well)) if row.well else (1,)
    )
    table: list[list[str | float]] = [["plate", "well", "ticket", "arm", "value"]]
    for row in asked:
        cells = [guarded(cell) for cell in (row.plate, row.well, row.ticket, row.arm)]
        for text in map(str, cells):
            if NOT_TEXT.search(text) or len(text) > LONGEST:
                raise ValueError(
                    f"rows must be text of at most {LONGEST} characters a cell: got {short(text)}."
                )
        table.append([*cells, guarded(values.get(row, ""))])
    return table


def _csv(table: list[list[str | float]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows(table)
    return buffer.getvalue()
