"""Read the cells of a CSV file or a workbook, whatever they mean.

Open this file to see which files are refused, how text is decoded, and how large a file may be.
"""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Literal, NamedTuple

from ..._internal.tables import unguarded
from .values import column_key
from .workbooks import (
    LARGEST_FILE,
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_ROWS,
    Cell,
    SparseRow,
    is_workbook,
    read_cells,
)

LONGEST = 100_000  # characters in a cell
LONGEST_RECORD = 1_000_000  # characters in a row of a CSV file
MOST_ABOVE = 200  # lines above the header of a table that are skipped
DELIMITERS = ",;\t"
WINDOWS = "The sheet is not in UTF-8, and was read as Windows-1252."

SQLITE = b"SQLite format 3\0"  # how a database begins
# The beginnings of files that are not tables, and what they are.
OTHER_FILES = {
    SQLITE: "a SQLite database",
    b"\x89PNG\r\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls)",
}

NOT_TEXT = re.compile("[\0\ud800-\udfff]")  # characters that no sheet may have
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|table)\b", re.IGNORECASE)
_HEADER = re.compile(r'(?:[ \t]*+[\r\n]++)*+((?:"[^"]*+"|[^"\r\n]++)*+)')
_DIVIDE = "split it into several, or remove rows and columns that are not needed."
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)?+")
_LINE_END = re.compile(r"\r\n|\r|\n")

TableFile = str | os.PathLike[str] | IO[str] | IO[bytes]
Unit = Literal["line", "row"]
Record = tuple[int, Sequence[Cell]]  # the number of a line or row, and its cells


class TooLarge(ValueError):
    """A sheet has more rows, columns, cells or characters than are read; one sentence."""


class FileCells(NamedTuple):
    """The records of a file.

    Attributes:
        records: the number of each line or row that has a filled cell, and its cells.
        unit: what these numbers count: lines of a CSV file, or rows of a workbook.
        notes: how the file was read, in sentences.
    """

    records: Iterator[Record]
    unit: Unit
    notes: tuple[str, ...]


def is_file(source: object) -> bool:
    """Return whether a source is a path or a stream, and not rows in memory."""
    return isinstance(source, str | os.PathLike) or hasattr(source, "read")


def read_file(
    source: TableFile, wanted: Iterable[str], headers: Sequence[Sequence[str]] = ()
) -> FileCells:
    """Return the records of a CSV file, or of the first worksheet of a workbook.

    A workbook is known by its first bytes.  The text of a CSV file is UTF-8, or UTF-16 with a byte
    order mark, or else Windows-1252, and then a note says so.  Its cells are separated by commas,
    semicolons or tabs: by the one that gives the header most of the ``wanted`` names.

    One apostrophe before the beginning of a formula is removed from a cell (``write_sheet``).

    Instruments write their name, the date and the like above a table.  If the first line has not
    all columns of one of ``headers``, and one of the next lines has, the lines before that are
    skipped, and a note says which.
    """
    content = content_of(source)
    keys = [{column_key(name) for name in header} for header in headers]
    if isinstance(content, bytes) and is_workbook(content):
        rows, notes = read_cells(content)
        i = _first_header((_keys_of(cells) for _, cells in rows), keys)
        notes += _skipped("row", [(line, _shown(cells)) for line, cells in rows[:i]])
        return FileCells(((line, _unguarded(cells)) for line, cells in rows[i:]), "row", notes)
    text, notes = decode(content)
    delimiter = _delimiter(text, {column_key(name) for name in wanted})
    first, begin = 1, 0
    if keys and not _is_header(_keys_of(_first_cells(text, delimiter)), keys):
        lines = [match for _, match in zip(range(MOST_ABOVE), _LINE.finditer(text), strict=False)]
        for sign in DELIMITERS:
            i = _first_header((_keys_of(_first_cells(line[0], sign)) for line in lines), keys)
            if i:
                delimiter, first, begin = sign, i + 1, lines[i].start()
                above = enumerate((line[0].strip() for line in lines[:i]), start=1)
                notes += _skipped("line", [(n, cells) for n, cells in above if cells])
                break
    records = text_records(text[begin:], delimiter, first)
    return FileCells(((line, _unguarded(cells)) for line, cells in records), "line", notes)


def _keys_of(cells: Sequence[Cell]) -> set[str]:
    return {column_key(str(cell)) for _, cell in filled_cells(cells)}


def _is_header(names: set[str], headers: Sequence[set[str]]) -> bool:
    return any(header <= names for header in headers)


def _first_header(lines: Iterable[set[str]], headers: Sequence[set[str]]) -> int:
    """Return the index of the first line with all columns of a header; 0 if there is none."""
    for i, names in zip(range(MOST_ABOVE), lines, strict=False):
        if _is_header(names, headers):
            return i
    return 0


def _shown(cells: Sequence[Cell]) -> str:
    return " ".join(str(cell) for _, cell in filled_cells(cells) if str(cell).strip())


def _skipped(unit: Unit, lines: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Return a note on lines that are not part of a table; none if there are none."""
    if not lines:
        return ()
    first, last = lines[0][0], lines[-1][0]
    which = (
        f"{unit} {first}, which is" if first == last else f"{unit}s {first} to {last}, which are"
    )
    shown = ", ".join(repr(text[:40]) for _, text in lines[:3]) + (", ..." if lines[3:] else "")
    return (f"Skipped {which} not part of the table: {shown}.",)


def filled_cells(cells: Sequence[Cell]) -> Iterable[tuple[int, Cell]]:
    """Return the cells that may be filled, with their indices."""
    return cells.filled.items() if isinstance(cells, SparseRow) else enumerate(cells)


def _unguarded(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells without the apostrophes that ``write_sheet`` puts before formulas."""
    if isinstance(cells, SparseRow):
        return SparseRow({i: unguarded(cell) for i, cell in filled_cells(cells)}, len(cells))
    return [unguarded(cell) for cell in cells]


def content_of(source: TableFile) -> bytes | str:
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
    """Name the kind of a file that is not a table, if its beginning shows it; else empty."""
    begin = content[:1000].encode(errors="replace") if isinstance(content, str) else content[:1000]
    begin = begin.removeprefix(b"\xef\xbb\xbf")
    kinds = [kind for known, kind in OTHER_FILES.items() if begin.startswith(known)]
    return kinds[0] if kinds else "an HTML page" if _HTML.match(begin) else ""


def decode(content: bytes | str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a CSV file, and notes on how it was read."""
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
    wrong = NOT_TEXT.search(text)
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
    """Return the number of the line that follows a text."""
    return 1 + sum(1 for _ in _LINE_END.finditer(before))


def _delimiter(text: str, wanted: set[str]) -> str:
    """Return the delimiter with which the header has most wanted columns, or else most columns."""

    def merit(delimiter: str) -> tuple[int, int]:
        names = _first_cells(text, delimiter)
        return len(wanted & {column_key(name) for name in names}), len(names)

    return max(DELIMITERS, key=merit)


def _first_cells(text: str, delimiter: str) -> list[str]:
    """Return the cells of the first filled line; none if they cannot be read."""
    # The quantifiers with ++ and *+ never go back, so that a long line needs no memory.
    header = _HEADER.match(text, 0, LONGEST_RECORD)
    try:
        return next(csv.reader([header[1] if header else ""], delimiter=delimiter), [])
    except csv.Error:  # reading the records reports it, with its line
        return []


def text_records(text: str, delimiter: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Return line and cells of each record with a filled cell; ``first`` numbers the first line."""
    length = 0  # characters of the record that is being read

    def lines() -> Iterator[str]:
        nonlocal length
        for match in _LINE.finditer(text):
            length += match.end() - match.start()
            if length > LONGEST_RECORD:
                raise TooLarge(
                    f"Line {line} of the sheet has more than {LONGEST_RECORD} characters: are its "
                    "quotes closed, and does each row end its line?"
                )
            if match[0]:
                yield match[0]

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    number_of_rows = number_of_cells = 0
    while True:
        line, length = reader.line_num + first, 0
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
