"""Sheets: those that ask for measurements, and those that laboratories fill in.

They are files in CSV, or workbooks (``workbooks.py``).

Nothing is guessed and nothing is changed.  A sheet that cannot be read is refused, and the message
names the line.  A row that does not fit the header keeps a description of the problem.  Only plain
decimal numbers are numbers.
"""

import csv
import difflib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any, Literal

from ..._internal.arguments import count, forbidden_character
from ..._internal.tables import guarded, unguarded
from ...models.base import Model
from ..plates import ROW_NAMES, well_position
from ..state import Ticket
from .values import (
    MISSING,
    cell_text,
    is_missing,
    parse_value,
    short,
    with_decimal_point,
)
from .workbooks import (
    LARGEST_FILE,
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_ROWS,
    Cell,
    SparseRow,
    is_workbook,
    read_cells,
    workbook,
)

LONGEST = 100_000  # characters in a cell
LONGEST_RECORD = 1_000_000  # characters in a row of a CSV file
MOST_EXTRA = 20  # columns of the laboratory's own that are kept
LONGEST_EXTRA = 1000  # characters in their cells
WINDOWS = "The sheet is not in UTF-8, and was read as Windows-1252."

SQLITE = b"SQLite format 3\0"  # how a database begins
# How files begin that are no sheets, and what they are.
OTHER_FILES = {
    SQLITE: "a SQLite database",
    b"\x89PNG\r\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls)",
}

_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|table)\b", re.IGNORECASE)
_HEADER = re.compile(r'(?:[ \t]*+[\r\n]++)*+((?:"[^"]*+"|[^"\r\n]++)*+)')
_DIVIDE = "divide it, or remove rows and columns that are not needed."
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)?+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


Record = tuple[int, Sequence[Cell]]  # the number of a line or row, and its cells


class TooLarge(ValueError):
    """A sheet has more rows, columns, cells or characters than are read; one sentence."""


@dataclass(frozen=True)
class ToldRow:
    """One measurement as it was told, in a sheet, a table or a list.

    Attributes:
        line: where the row begins in the file, or its number in the workbook, table or list, from
            1.
        ticket: as written there, without blanks around it; empty for a control.
        value: as written there; a sheet gives text, which is empty if the value is missing, and a
            workbook also numbers.
        arm: the arm's name; None if there is no column ``arm``.
        well, plate: None if there is no such column.
        problem: why the row does not fit the header, if it does not.  Its cells are then read as
            far as they go.
        invalid: why the value cannot be parsed, if it cannot; the end of a sentence.
        control: plate and well of the control that the row is about, once that is known.
        missing: the word that stood in place of a value, as n/a, if there was one.
        extra: what the sheet says besides: the filled cells of its other columns, as texts.
        how: the raw value and how it was normalised, if it was.
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
    invalid: str = ""
    control: tuple[int, str] | None = None
    how: dict[str, Any] | None = None
    unit: Literal["line", "row", "well"] = "line"
    column: str = field(default="value", compare=False)

    def parsed(self, model: Model, censor_at: float | None = None) -> "ToldRow":
        """Return the row with its value as a number, or with the reason why it is ``invalid``."""
        try:
            return replace(self, value=parse_value(self.value, model, censor_at))
        except ValueError as error:
            return replace(self, value=str(self.value), invalid=str(error))

    @property
    def where(self) -> str:
        """Where the row stands, for messages."""
        if self.unit == "well":
            return f"well {self.well} of plate {self.plate}"
        return f"{self.unit} {self.line}"


@dataclass(frozen=True)
class Sheet:
    """What a sheet, a table or a list holds.

    Attributes:
        rows: one for each measurement.
        notes: what should be known of how the sheet was read, in sentences.
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


def read_sheet(
    source: str | os.PathLike[str] | IO[str] | IO[bytes],
    ticket_column: str = "ticket",
    value_column: str = "value",
) -> Sheet:
    """The rows of a CSV file, or of the first worksheet of a workbook.

    The file is given by its path or as a stream.  A workbook is known by its first bytes.  Rows of
    a workbook have as many cells as the widest.

    The text of a CSV file is UTF-8, or UTF-16 with a byte order mark, or else Windows-1252, and
    then a note says so.  Its cells are separated by commas, semicolons or tabs, as in the header;
    lines may end in any way.

    One apostrophe is removed from a cell where it stands before the beginning of a formula
    (:func:`write_sheet`).

    Lines without a filled cell are skipped.  Names of columns are compared without regard to case
    and to blanks around them.  The columns ``arm``, ``well`` and ``plate`` are read if they are
    there.  Others are ``extra``, unless there are too many or they are too long; then a note names
    those that are not kept.

    Raises:
        ValueError: if this is no such file; one sentence, with the line.
    """
    line, names, listed, unit, notes = _table(source, {ticket_column, value_column})
    ticket = _needed(line, names, ticket_column, "--ticket-column")
    value = _needed(line, names, value_column, "--value-column")
    if ticket == value:
        raise ValueError(
            f"Tickets and values must have a column each: got {short(ticket_column)} for both."
        )
    arm, well, plate = (_column(line, names, name) for name in ("arm", "well", "plate"))

    others = set(range(len(names))) - {ticket, value, arm, well, plate}
    kept, dropped = _kept_columns(names, sorted(others), [cells for _, cells in listed])
    rows = tuple(
        ToldRow(
            at,
            cell_text(_cell(cells, ticket)).strip(),
            _number_or_text(_cell(cells, value)),
            None if arm is None else cell_text(_cell(cells, arm)),
            None if well is None else cell_text(_cell(cells, well)).strip(),
            None if plate is None else cell_text(_cell(cells, plate)).strip(),
            None
            if len(cells) == len(names)
            else f"the row has {len(cells)} cells, the header {len(names)}",
            extra=_extra(kept, cells),
            unit=unit,
            column=value_column,
        )
        for at, cells in listed
    )
    if not rows:
        raise ValueError(f"The sheet must have rows: got none below the header on line {line}.")
    return Sheet(rows, notes + dropped)


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
        return replace(row, problem=row.problem or f"the value {error}")


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
    texts = [list(map(_table_text, list(table[name]))) if name in names else None for name in known]
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


def _table_text(cell: Any) -> str | None:
    """A cell of a table as text; None if there is nothing."""
    return None if is_missing(cell) else cell_text(cell)


def _listed_rows(rows: Iterable[Any], ticket_column: str, value_column: str) -> Iterator[ToldRow]:
    """The rows of a list of pairs, or of mappings that name ticket and value."""
    for i, row in enumerate(rows, start=1):
        arm = well = plate = None
        try:
            if isinstance(row, Mapping):
                ticket, value, arm = row[ticket_column], row[value_column], row.get("arm")
                well, plate = _table_text(row.get("well")), _table_text(row.get("plate"))
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


def read_arms(
    source: str | os.PathLike[str] | IO[str] | IO[bytes], column: str
) -> tuple[list[str], dict[str, dict[str, str]], tuple[str, ...]]:
    """The names of arms in one column of a table, and for each what the other columns say.

    The table is a file as :func:`read_sheet` reads it.  Also returns notes, as there.
    """
    line, names, rows, _, notes = _table(source, {column})
    at = _needed(line, names, column, "--arm-column")
    arms = [cell_text(_cell(cells, at)).strip() for _, cells in rows]
    for arm, (below, cells) in zip(arms, rows, strict=True):
        if not arm or len(cells) != len(names):
            raise ValueError(
                f"Line {below} of the table must name an arm and have {len(names)} cells: got "
                f"{short(arm)} and {len(cells)} cells."
            )
    others = [i for i in range(len(names)) if i != at]
    kept, dropped = _kept_columns(names, others, [cells for _, cells in rows])
    said = {arm: _extra(kept, cells) for arm, (_, cells) in zip(arms, rows, strict=True)}
    return arms, {arm: texts for arm, texts in said.items() if texts}, notes + dropped


def _table(
    source: str | os.PathLike[str] | IO[str] | IO[bytes], wanted: set[str]
) -> tuple[int, list[str], list[Record], Literal["line", "row"], tuple[str, ...]]:
    """The line of the header, its names, the rows below, what their numbers count, and notes."""
    content = content_of(source)
    records: Iterator[Record]
    unit: Literal["line", "row"] = "line"
    if isinstance(content, bytes) and is_workbook(content):
        found, notes = read_cells(content)
        records, unit = iter(found), "row"
    else:
        text, notes = _text(content)
        records = _records(text, _delimiter(text, {column_key(name) for name in wanted}))
    line, header = next(records, (1, None))
    if header is None:
        raise ValueError("The sheet is empty: line 1 must hold the names of the columns.")
    names = [unguarded(cell_text(cell)) for cell in header]
    return line, names, [(at, _unguarded(cells)) for at, cells in records], unit, notes


def _filled(cells: Sequence[Cell]) -> Iterable[tuple[int, Cell]]:
    """Return the cells that may be filled, with their indices."""
    return cells.filled.items() if isinstance(cells, SparseRow) else enumerate(cells)


def _unguarded(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells without the apostrophes that :func:`write_sheet` puts before formulas."""
    if isinstance(cells, SparseRow):
        return SparseRow({i: unguarded(cell) for i, cell in _filled(cells)}, len(cells))
    return [unguarded(cell) for cell in cells]


def _extra(kept: Mapping[int, str], cells: Sequence[Cell]) -> dict[str, str]:
    """The filled cells of the columns that are kept."""
    texts = {name: cell_text(_cell(cells, i)).strip() for i, name in kept.items()}
    return {name: text for name, text in texts.items() if text}


def _kept_columns(
    names: Sequence[str], others: Sequence[int], rows: Sequence[Sequence[Cell]]
) -> tuple[dict[int, str], tuple[str, ...]]:
    """The name of each column to be kept, by its index; and a note of those that are not kept.

    Names that are empty or stand there twice get the column's number.
    """
    kept: dict[int, str] = {}
    dropped = []
    lengths = [0] * len(names)
    for cells in rows:
        for i, cell in _filled(cells):
            if i < len(lengths):
                lengths[i] = max(lengths[i], len(cell_text(cell).strip()))
    for i in others:
        longest = lengths[i]
        name = " ".join(names[i].split()) or f"column {i + 1}"
        name = f"{name} (column {i + 1})" if name in kept.values() else name
        if longest == 0:
            continue
        if len(kept) == MOST_EXTRA or longest > LONGEST_EXTRA or len(name) > LONGEST_EXTRA:
            dropped.append(name)
        elif forbidden := forbidden_character(name):
            raise ValueError(
                f"The heading of column {i + 1}, {short(name)}, has the character {forbidden}, "
                "which is not seen: write the heading anew."
            )
        else:
            kept[i] = name
    if not dropped:
        return kept, ()
    listed = ", ".join(map(short, dropped[:5])) + (", ..." if len(dropped) > 5 else "")
    return kept, (
        f"Columns that are not kept, as a sheet may have {MOST_EXTRA} besides those of allgood, "
        f"with at most {LONGEST_EXTRA} characters a cell: {listed}.",
    )


def read_table(
    source: str | os.PathLike[str] | IO[str] | IO[bytes], wanted: set[str]
) -> tuple[list[dict[str, Cell]], list[int], Literal["line", "row"], tuple[str, ...]]:
    """The rows of a CSV file or workbook, each as a mapping from the names of columns to cells.

    Read as :func:`read_sheet` does; ``wanted`` are names that its columns may have.  Also returns
    the numbers of the rows, what these count, and notes.

    Raises:
        ValueError: if this is no such file, or a row does not fit the header.
    """
    line, names, listed, unit, notes = _table(source, wanted)
    for name in sorted(wanted):
        _column(line, names, name)  # ValueError if it is there twice
    rows: list[dict[str, Cell]] = []
    for at, cells in listed:
        if len(cells) != len(names):
            raise ValueError(
                f"Line {at} of the sheet must have {len(names)} cells, as the header on line "
                f"{line}: got {len(cells)}."
            )
        # The first row has every name, so that it is known which columns there are.
        filled = _filled(cells) if rows else enumerate(cells)
        rows.append({names[i].strip(): cell for i, cell in filled})
    if not rows:
        raise ValueError(f"The sheet must have rows: got none below the header on line {line}.")
    return rows, [at for at, _ in listed], unit, notes


def read_grid(source: str | os.PathLike[str] | IO[str] | IO[bytes], plate: int) -> Sheet:
    """The wells of a plate, from a grid as plate readers write it, in CSV or in a workbook.

    The columns' numbers 1, 2, 3, ... stand above the grid, and the rows' letters A, B, C, ...
    before it.  Anything may stand above, below and beside it.

    Raises:
        ValueError: if there is no such grid, or more than one; one sentence.
    """
    content = content_of(source)
    if isinstance(content, bytes) and is_workbook(content):
        found, notes = read_cells(content)
        grids = _grids(found)
    else:
        text, notes = _text(content)
        grids = max((_grids_of_text(text, delimiter) for delimiter in ",;\t"), key=len)
    if len(grids) != 1:
        lines = " and ".join(str(grid[0][0]) for grid in grids[:3])
        got = f"{len(grids)}, below lines {lines}" if grids else "none"
        raise ValueError(
            "The file must hold one grid of values, with the numbers of columns 1, 2, 3, ... above "
            f"it and the letters of rows A, B, C, ... before it: got {got}."
        )
    (_, numbers), *rows = grids[0]
    wells = tuple(
        ToldRow(line, "", _number_or_text(cell), None, f"{name}{j}", str(plate), unit="well")
        for name, (line, cells) in zip(ROW_NAMES, rows, strict=False)
        for j, cell in enumerate(cells, start=1)
    )
    return Sheet(wells, notes=notes, grid=(plate, len(rows), len(numbers)))


def _grids(records: Sequence[Record]) -> list[list[Record]]:
    """All grids: for each the line of the columns' numbers, then the lines of values."""
    grids = []
    for i, (line, cells) in enumerate(records):
        labels = {j: _label(cell) for j, cell in _filled(cells)}
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
    """The grids with this delimiter; none if it does not fit the file."""
    try:
        records = list(_records(text, delimiter))
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
                raise ValueError(
                    f"Line {below} of the grid must have {lengths[line]} cells, as line {line} "
                    f"has: got {lengths[below]}. Are there decimal commas?"
                )
    return grids


def _label(cell: Cell) -> str:
    """The name of a row or column, as it stands beside a grid."""
    return cell_text(cell).strip().upper().lstrip("0")


def is_workbook_path(path: str | os.PathLike[str]) -> bool:
    """Whether a file of this name is to be a workbook."""
    return os.fspath(path).lower().endswith(".xlsx")


def sheet_bytes(
    rows: Iterable[AskedRow],
    as_workbook: bool = False,
    values: Mapping[AskedRow, float | str] = NO_VALUES,
) -> bytes:
    """A sheet to be filled in (``write_sheet``), as CSV or as a workbook.

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
            if _NO_TEXT.search(text) or len(text) > LONGEST:
                raise ValueError(
                    f"rows must be text of at most {LONGEST} characters a cell: got {short(text)}."
                )
        table.append([*cells, guarded(values.get(row, ""))])
    return table


def _csv(table: list[list[str | float]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows(table)
    return buffer.getvalue()


def content_of(source: str | os.PathLike[str] | IO[str] | IO[bytes]) -> bytes | str:
    """Return the whole file.

    Raises:
        ValueError: if it is larger than ``LARGEST_FILE``, or a file of another well-known kind.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            content: bytes | str = file.read(LARGEST_FILE + 1)
    else:
        # The bytes of a console, not what it decodes them to.
        stream: IO[str] | IO[bytes] = getattr(source, "buffer", source)
        content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise TooLarge(f"The file has more than {LARGEST_FILE // 1_000_000} MB: {_DIVIDE}")
    kind = kind_of_file(content)
    if kind:
        raise ValueError(
            f"The sheet must be text (CSV) or .xlsx: got {kind}; save the table as CSV UTF-8."
        )
    return content


def kind_of_file(content: bytes | str) -> str:
    """What a file is that is no sheet, as far as its beginning shows it; else empty."""
    begin = content[:1000].encode(errors="replace") if isinstance(content, str) else content[:1000]
    begin = begin.removeprefix(b"\xef\xbb\xbf")
    kinds = [kind for known, kind in OTHER_FILES.items() if begin.startswith(known)]
    return kinds[0] if kinds else "an HTML page" if _HTML.match(begin) else ""


def _text(content: bytes | str) -> tuple[str, tuple[str, ...]]:
    """The text of a CSV file, and what should be known of how it was read."""
    notes: tuple[str, ...] = ()
    if isinstance(content, bytes):
        encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
        if encoding == "utf-8" and not _is_utf_8(content):
            encoding, notes = "cp1252", (WINDOWS,)
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            before = content[: error.start].decode(encoding, errors="replace")
            raise ValueError(
                f"The sheet must be text in UTF-8: got other bytes on line {_line(before)}; save "
                "it as CSV UTF-8."
            ) from None
    else:
        text = content
    wrong = _NO_TEXT.search(text)
    if wrong:
        raise ValueError(
            f"The sheet must be text: got the character {wrong[0]!r} on line "
            f"{_line(text[: wrong.start()])}; save it as CSV UTF-8 or as .xlsx."
        )
    return text.removeprefix("\ufeff"), notes


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _line(before: str) -> int:
    """The number of the line that follows a text."""
    return 1 + sum(1 for _ in _LINE_END.finditer(before))


def _delimiter(text: str, wanted: set[str]) -> str:
    """The delimiter with which the header has the wanted columns, or else most columns."""
    # The quantifiers with ++ and *+ never go back, so that a long line needs no memory.
    header = _HEADER.match(text, 0, LONGEST_RECORD)
    line = header[1] if header else ""

    def merit(delimiter: str) -> tuple[int, int]:
        try:
            names = next(csv.reader([line], delimiter=delimiter))
        except csv.Error:  # reading the records reports it, with its line
            return 0, 0
        return len(wanted & {column_key(name) for name in names}), len(names)

    return max(",;\t", key=merit)


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Return line and cells of each record with a filled cell."""
    length = 0  # characters of the record that is being read

    def lines() -> Iterator[str]:
        nonlocal length
        for found in _LINE.finditer(text):
            length += found.end() - found.start()
            if length > LONGEST_RECORD:
                raise TooLarge(
                    f"Line {line} of the sheet has more than {LONGEST_RECORD} characters: are its "
                    "quotes closed, and does each row end its line?"
                )
            if found[0]:
                yield found[0]

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    number_of_rows = number_of_cells = 0
    while True:
        line, length = reader.line_num + 1, 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"Line {line} of the sheet cannot be read, {error}: are its quotes closed?"
            ) from None
        if cells is None:
            return
        if max(map(len, cells), default=0) > LONGEST:
            raise ValueError(
                f"Line {line} of the sheet has a cell of more than {LONGEST} characters: are its "
                "quotes closed?"
            )
        if len(cells) > MOST_COLUMNS:
            raise TooLarge(
                f"Line {line} of the sheet has {len(cells)} cells, and at most {MOST_COLUMNS} are "
                "read: remove columns that are not needed."
            )
        if any(cell.strip() for cell in cells):
            number_of_rows += 1
            number_of_cells += len(cells)
            if number_of_rows > MOST_ROWS + 1:  # one is the header
                raise TooLarge(f"The sheet has more than {MOST_ROWS} rows: {_DIVIDE}")
            if number_of_cells > MOST_CELLS:
                raise TooLarge(f"The sheet has more than {MOST_CELLS} cells: {_DIVIDE}")
            yield line, cells


def _column(line: int, names: list[str], wanted: str) -> int | None:
    """The index of a column; None if there is no such column."""
    indices = [i for i, name in enumerate(names) if column_key(name) == column_key(wanted)]
    if len(indices) > 1:
        raise ValueError(
            f"Line {line} of the sheet must name each column once: got {short(wanted)} "
            f"{len(indices)} times."
        )
    return indices[0] if indices else None


def _needed(line: int, names: list[str], wanted: str, option: str) -> int:
    """The index of a column that must be there."""
    column = _column(line, names, wanted)
    if column is not None:
        return column
    known = {column_key(name): name.strip() for name in names if name.strip()}
    listed = ", ".join(short(name) for name in list(known.values())[:20])
    more = ", ..." if len(known) > 20 else ""
    nearest = difflib.get_close_matches(column_key(wanted), known, n=1)
    hint = f"; the nearest is {short(known[nearest[0]])}" if nearest else ""
    raise ValueError(
        f"Line {line} of the sheet must name a column {short(wanted)}: got {listed}{more}{hint}; "
        f"name the one to read with {option}."
    )


def _cell(cells: Sequence[Cell], column: int) -> Cell:
    return cells[column] if column < len(cells) else ""


def _number_or_text(cell: Cell) -> Cell:
    return cell.strip() if isinstance(cell, str) else cell


def column_key(name: str) -> str:
    """A column's name as it is compared: without regard to case and to blanks around it."""
    return name.strip().casefold()


def nearest(given: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name; empty if no name is near."""
    close = difflib.get_close_matches(given, list(dict.fromkeys(known)), 1)
    return f"; nearest is {close[0]!r}" if close else ""
