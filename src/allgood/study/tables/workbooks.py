"""Read and write workbooks, the .xlsx files of spreadsheets; needs openpyxl, the extra ``excel``.

A number is read as the double that the cell holds, whatever the spreadsheet shows of it.  Dates and
truth values are not numbers.  A formula is read by the value that the spreadsheet stored with it.

A workbook is packed, so a small file can hold very much.  It is unpacked and parsed piece by piece,
only filled cells are kept, and it is refused as soon as it is beyond one of the limits below.
"""

import io
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import zipfile

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"  # of a workbook

Cell = str | int | float

# Limits of spreadsheets.
LAST_ROW = 1_048_576
LONGEST_CELL = 32_767  # characters
# Limits of what is read, so that a small file cannot take all memory.
LARGEST_FILE = 100_000_000  # bytes of the parts that are read, unpacked; also of a CSV file
MOST_ROWS = 200_000  # that have a filled cell
MOST_COLUMNS = 1_000
MOST_CELLS = 2_000_000  # filled
MOST_ELEMENTS = 3_000_000  # cells, filled or empty
MOST_CHARACTERS = 50_000_000  # of all cells together
MOST_PARTS = 10_000
MOST_STYLES = 65_536
LONGEST_TAG = 1_000_000  # bytes
LONGEST_FORMAT = 1_000  # characters
CHUNK = 65_536  # bytes that are unpacked at once
NAMED_SHEETS = 5  # worksheets that are not read are named, up to so many
NAMED_CHARACTERS = 40

_BEGIN = b"PK\x03\x04"
_REMEDY = "Save only the rows and columns that are needed, as .xlsx or as CSV UTF-8."
_PLACE = re.compile("([A-Z]{1,3})([1-9][0-9]{0,6})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Workbooks write a character that XML does not have as _x000D_, and the first underscore of a text
# that looks so as _x005F_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_TO_ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def is_workbook(content: bytes) -> bool:
    """Return whether these bytes begin like those of a workbook."""
    return content.startswith(_BEGIN)


def check_openpyxl() -> None:
    """Raise a ValueError if workbooks cannot be read or written here."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise ValueError(
            "A workbook needs openpyxl, which is not installed: install the extra, allgood[excel], "
            "or save the sheet as CSV UTF-8."
        ) from None


def read_cells(content: bytes) -> tuple[list[tuple[int, "SparseRow"]], tuple[str, ...]]:
    """Return the rows of the first worksheet that have a filled cell, their numbers, and notes.

    All rows have as many cells as the widest.

    Raises:
        ValueError: if this is not a workbook, if it is beyond the limits above, or if a formula
            has no stored value; one sentence.
    """
    check_openpyxl()
    try:
        filled, others, count = _first_worksheet(content)
    except _Refused as error:
        raise ValueError(str(error)) from None
    except Exception as error:  # whatever a broken file leads to
        raise ValueError(
            f"The workbook cannot be read ({type(error).__name__}): save it as .xlsx or as CSV "
            "UTF-8."
        ) from None
    width = max((max(cells) for _, cells in filled), default=-1) + 1
    rows = [(line, SparseRow(cells, width)) for line, cells in filled]
    if not others:
        return rows, ()
    listed = ", ".join(map(repr, others)) + (", ..." if count > len(others) else "")
    return rows, (f"Only the first worksheet was read, not {listed}.",)


@dataclass(frozen=True, slots=True)
class SparseRow(Sequence[Cell]):
    """A row of a worksheet that stores only its filled cells.  Other cells are empty texts.

    Attributes:
        filled: the filled cells by their index, from 0.
        width: how many cells the row has.
    """

    filled: dict[int, Cell]
    width: int

    def __len__(self) -> int:
        return self.width

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> list[Cell]: ...
    def __getitem__(self, index: int | slice) -> Cell | list[Cell]:
        place = range(self.width)[index]
        if isinstance(place, range):
            return [self.filled.get(i, "") for i in place]
        return self.filled.get(place, "")


class _Refused(Exception):
    """The workbook is not read for a reason of our own; a sentence."""


def _first_worksheet(
    content: bytes,
) -> tuple[list[tuple[int, dict[int, Cell]]], list[str], int]:
    """Return the filled rows of the first worksheet, names of other worksheets, and their number.

    Only the first few names are returned.
    """
    import zipfile

    if (
        content.count(b"PK\x01\x02") > MOST_PARTS
    ):  # so begins the record of each file in the archive
        raise _Refused(f"The workbook has more than {MOST_PARTS} parts. {_REMEDY}")
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        archive = _Archive(packed)
        [book_part] = archive.related("").get("officeDocument", {}).values()
        related = archive.related(book_part)
        book = _Book(related.get("worksheet", {}))
        archive.parse(book_part, book)
        strings, formats = _Strings(), _Formats()
        for part in related.get("sharedStrings", {}).values():
            archive.parse(part, strings)
        for part in related.get("styles", {}).values():
            archive.parse(part, formats)
        sheet = _Worksheet(strings.texts, formats, book.from_1904)
        archive.parse(book.first, sheet)
    return sheet.rows, book.others, book.count - 1


class _Handler:
    """Receive the elements and the text of a part while it is parsed."""

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def end(self, tag: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _Archive:
    """The parts of a workbook, parsed piece by piece within one limit of bytes."""

    def __init__(self, packed: "zipfile.ZipFile") -> None:
        self._packed = packed
        self._left = LARGEST_FILE

    def related(self, part: str) -> dict[str, dict[str, str]]:
        """Return the parts that a part refers to, by the kind and the id of the relation."""
        folder, name = posixpath.split(part)
        relations = _Relations(folder)
        self.parse(posixpath.join(folder, "_rels", f"{name}.rels"), relations)
        return relations.parts

    def parse(self, part: str, handler: _Handler) -> None:
        """Parse a part.  Its size in the archive's directory is not trusted."""
        import zipfile
        from xml.parsers import expat

        info = self._packed.getinfo(part)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Python unpacks other kinds without a limit.
            raise _Refused(f"The workbook's part {part!r} is packed in an unusual way. {_REMEDY}")

        def refuse_doctype(*_: object) -> None:
            # Entities, which can expand to any size, are declared in a DOCTYPE.
            raise _Refused(
                f"The workbook's part {part!r} has a DOCTYPE, which no spreadsheet writes. "
                f"{_REMEDY}"
            )

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler = lambda name, attributes: handler.begin(
            name.rpartition(" ")[2], attributes
        )
        parser.EndElementHandler = lambda name: handler.end(name.rpartition(" ")[2])
        parser.CharacterDataHandler = handler.text
        done = 0
        with self._packed.open(info) as stream:
            while chunk := stream.read(CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise _Refused(
                        f"The workbook must be of at most {LARGEST_FILE // 1_000_000} MB, "
                        f"unpacked: got a larger one. {_REMEDY}"
                    )
                parser.Parse(chunk, False)
                done += len(chunk)
                # Some versions of the parser scan a tag again from its start with each chunk.
                if done - parser.CurrentByteIndex > LONGEST_TAG:
                    raise _Refused(
                        f"The workbook's part {part!r} has a tag of more than {LONGEST_TAG} bytes. "
                        f"{_REMEDY}"
                    )
        parser.Parse(b"", True)


class _Relations(_Handler):
    """Read which parts a part refers to."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.parts: dict[str, dict[str, str]] = {}
        self._count = 0

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != "Relationship" or attributes.get("TargetMode") == "External":
            return
        self._count += 1
        if self._count > MOST_PARTS:
            raise _Refused(f"The workbook has more than {MOST_PARTS} parts. {_REMEDY}")
        target = posixpath.normpath(posixpath.join("/", self._folder, attributes["Target"]))
        kind = attributes["Type"].rpartition("/")[2]
        self.parts.setdefault(kind, {})[attributes["Id"]] = target.lstrip("/")


class _Book(_Handler):
    """Read which worksheets there are, and from which day dates are counted."""

    def __init__(self, worksheets: dict[str, str]) -> None:
        self._worksheets = worksheets
        self.first = ""
        self.others: list[str] = []
        self.count = 0
        self.from_1904 = False

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "workbookPr":
            self.from_1904 = attributes.get("date1904", "0") in ("1", "true")
        if tag != "sheet":
            return
        ids = [value for name, value in attributes.items() if name.endswith(" id")]
        if not ids or ids[0] not in self._worksheets:
            return  # a sheet of another kind, such as a chart
        self.count += 1
        if self.count == 1:
            self.first = self._worksheets[ids[0]]
        elif len(self.others) < NAMED_SHEETS:
            self.others.append(attributes["name"][:NAMED_CHARACTERS])


class _Texts(_Handler):
    """Collect the text of a string, which may consist of runs, without its pronunciation."""

    def __init__(self) -> None:
        self.pieces: list[str] | None = None
        self._length = 0
        self._in_text = self._in_pronunciation = False

    def start_string(self) -> None:
        self.pieces, self._length = [], 0

    def finish_string(self) -> str | None:
        """Return the text; None if no string was started."""
        text = None if self.pieces is None else _ESCAPED.sub(_unescaped, "".join(self.pieces))
        self.pieces = None
        return text

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "rPh":
            self._in_pronunciation = True
        elif tag in ("t", "v"):
            self._in_text = not self._in_pronunciation

    def end(self, tag: str) -> None:
        if tag == "rPh":
            self._in_pronunciation = False
        elif tag in ("t", "v"):
            self._in_text = False

    def text(self, text: str) -> None:
        if self._in_text and self.pieces is not None:
            self._length += len(text)
            if self._length > len("_x0000_") * LONGEST_CELL:
                raise _Refused(
                    f"The workbook has a cell of more than {LONGEST_CELL} characters. {_REMEDY}"
                )
            self.pieces.append(text)


class _Strings(_Texts):
    """Read the strings that cells refer to by their number."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._characters = 0

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "si":
            self.start_string()
        super().begin(tag, attributes)

    def end(self, tag: str) -> None:
        super().end(tag)
        if tag != "si":
            return
        text = self.finish_string() or ""
        self.texts.append(text)
        self._characters += len(text)
        _check_amount(len(self.texts), self._characters)


class _Formats(_Handler):
    """Read which styles of cells show a number as a date or as a duration."""

    def __init__(self) -> None:
        self._codes: dict[int, str] = {}
        self._styles: list[int] = []
        self._inside = False
        self._known: dict[int, tuple[bool, bool]] = {}

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "cellXfs":
            self._inside = True
        elif tag == "xf" and self._inside:
            self._styles.append(int(attributes.get("numFmtId", "0")))
        elif tag == "numFmt" and "numFmtId" in attributes:
            code = attributes.get("formatCode", "")[:LONGEST_FORMAT]
            self._codes[int(attributes["numFmtId"])] = code
        if max(len(self._styles), len(self._codes)) > MOST_STYLES:
            raise _Refused(f"The workbook has more than {MOST_STYLES} styles. {_REMEDY}")

    def end(self, tag: str) -> None:
        if tag == "cellXfs":
            self._inside = False

    def of_style(self, style: int) -> tuple[bool, bool]:
        """Return whether a style shows a date, and whether it shows a duration."""
        if style not in self._known:
            from openpyxl.styles.numbers import (
                builtin_format_code,
                is_date_format,
                is_timedelta_format,
            )

            number = self._styles[style] if 0 <= style < len(self._styles) else 0
            code = self._codes.get(number) or builtin_format_code(number)
            self._known[style] = (is_date_format(code), is_timedelta_format(code))
        return self._known[style]


class _Worksheet(_Texts):
    """Read the filled cells of a worksheet."""

    def __init__(self, strings: Sequence[str], formats: _Formats, from_1904: bool) -> None:
        super().__init__()
        self.rows: list[tuple[int, dict[int, Cell]]] = []
        self._strings, self._formats, self._from_1904 = strings, formats, from_1904
        self._inside = False
        self._line = self._column = 0
        self._row: dict[int, Cell] = {}
        self._kind, self._style, self._has_formula = "n", 0, False
        self._elements = self._cells = self._characters = 0

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "sheetData":
            self._inside = True
        elif not self._inside:
            return
        elif tag == "row":
            self._begin_row(attributes.get("r"))
        elif tag == "c":
            self._begin_cell(attributes)
        elif tag == "f":
            self._has_formula = True
        elif tag == ("is" if self._kind == "inlineStr" else "v"):
            self.start_string()
        super().begin(tag, attributes)

    def _begin_row(self, number: str | None) -> None:
        before = self._line
        self._line = before + 1 if number is None else int(number)
        if self._line > LAST_ROW:
            raise _Refused(f"The workbook must have at most {LAST_ROW} rows: got more.")
        if self._line <= before:
            raise _Refused(
                f"Row {self._line} of the workbook stands below row {before}: open the file in a "
                "spreadsheet and save it."
            )
        self._row, self._column = {}, 0

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > MOST_ELEMENTS:
            raise _Refused(
                f"The workbook has more than {MOST_ELEMENTS} cells, filled or empty. {_REMEDY}"
            )
        place = attributes.get("r")
        if place is None:
            self._column += 1
        else:
            match = _PLACE.fullmatch(place)
            if not match or int(match[2]) != self._line:
                raise _Refused(
                    f"A cell in row {self._line} of the workbook has the place {place[:20]!r}: "
                    "open the file in a spreadsheet and save it."
                )
            self._column = 0
            for letter in match[1]:
                self._column = 26 * self._column + ord(letter) - ord("A") + 1
        self._kind = attributes.get("t", "n")
        self._style = int(attributes.get("s", "0"))
        self._has_formula, self.pieces = False, None

    def end(self, tag: str) -> None:
        super().end(tag)
        if not self._inside:
            return
        if tag == "sheetData":
            self._inside = False
        elif tag == "c":
            self._end_cell()
        elif tag == "row" and any(str(cell).strip() for cell in self._row.values()):
            self.rows.append((self._line, self._row))
            if len(self.rows) > MOST_ROWS:
                raise _Refused(f"The workbook has more than {MOST_ROWS} filled rows. {_REMEDY}")

    def _end_cell(self) -> None:
        text = self.finish_string()
        if not text:
            if self._has_formula and self._kind not in ("str", "inlineStr"):
                raise _Refused(
                    f"Cell {self._place()} of the workbook has a formula without a stored value: "
                    "open the file in a spreadsheet and save it."
                )
            return
        cell = self._value(text)
        if cell == "":
            return
        if self._column > MOST_COLUMNS:
            raise _Refused(
                f"Cell {self._place()} of the workbook lies beyond column {MOST_COLUMNS}. {_REMEDY}"
            )
        if self._column - 1 in self._row:
            raise _Refused(
                f"Cell {self._place()} of the workbook is there twice: open the file in a "
                "spreadsheet and save it."
            )
        self._row[self._column - 1] = cell
        self._cells += 1
        if isinstance(cell, str):
            if len(cell) > LONGEST_CELL:
                raise _Refused(
                    f"Cell {self._place()} of the workbook has more than {LONGEST_CELL} "
                    f"characters. {_REMEDY}"
                )
            self._characters += len(cell)
        _check_amount(self._cells, self._characters)

    def _place(self) -> str:
        letters, rest = "", self._column
        while rest:
            rest, digit = divmod(rest - 1, 26)
            letters = chr(ord("A") + digit) + letters
        return f"{letters}{self._line}"

    def _value(self, text: str) -> Cell:
        """Return what a cell holds: a number, or a text."""
        from openpyxl.utils.datetime import from_ISO8601

        if self._kind == "s":
            number = int(text)
            if not 0 <= number < len(self._strings):
                raise _Refused(
                    f"Cell {self._place()} of the workbook refers to a text that is not there: "
                    "open the file in a spreadsheet and save it."
                )
            return self._strings[number]
        if self._kind == "n":
            return self._number(text.strip())
        if self._kind == "b":
            return "TRUE" if int(text) else "FALSE"
        if self._kind == "d":
            return _written_time(from_ISO8601(text))
        return text  # a text in its place, the result of a formula, or an error such as #N/A

    def _number(self, text: str) -> Cell:
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

        if not _NUMBER.fullmatch(text):
            raise _Refused(
                f"Cell {self._place()} of the workbook should hold a number and holds "
                f"{text[:40]!r}: open the file in a spreadsheet and save it."
            )
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
        is_date, is_duration = self._formats.of_style(self._style)
        if not is_date:
            return value
        epoch = MAC_EPOCH if self._from_1904 else WINDOWS_EPOCH
        try:
            return _written_time(from_excel(value, epoch, timedelta=is_duration))
        except (OverflowError, ValueError):
            return "#VALUE!"  # like a spreadsheet


def _check_amount(cells: int, characters: int) -> None:
    """Refuse a workbook with too many cells or characters."""
    if cells > MOST_CELLS:
        raise _Refused(f"The workbook has more than {MOST_CELLS} filled cells. {_REMEDY}")
    if characters > MOST_CHARACTERS:
        raise _Refused(f"The workbook has more than {MOST_CHARACTERS} characters. {_REMEDY}")


def _written_time(value: object) -> str:
    return day_or_moment(value) if isinstance(value, datetime) else str(value)


def day_or_moment(time: datetime) -> str:
    """Write a day without an hour, like a CSV file; spreadsheets and frames give it the hour 0."""
    is_day = (time.hour, time.minute, time.second, time.microsecond) == (0, 0, 0, 0)
    return f"{time:%Y-%m-%d}" if is_day and time.tzinfo is None else str(time)


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if code == 0 or 0xD800 <= code < 0xE000 else chr(code)


def workbook(rows: Iterable[Sequence[str | float]], widths: Sequence[int]) -> bytes:
    """Return a workbook with one worksheet, whose first row holds the names of the columns.

    Texts stay texts, also those that look like a number or a formula.
    """
    check_openpyxl()
    import openpyxl
    from openpyxl.utils import get_column_letter

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.freeze_panes = "A2"
    for i, width in enumerate(widths, start=1):
        sheet.column_dimensions[get_column_letter(i)].width = width
    for i, row in enumerate(rows, start=1):
        for j, content in enumerate(row, start=1):
            if content == "":
                continue
            cell = sheet.cell(i, j)
            if not isinstance(content, str):
                cell.value = content
                continue
            text = _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", content)
            if len(text) > LONGEST_CELL:
                raise ValueError(
                    f"rows must be text of at most {LONGEST_CELL} characters a cell in a workbook: "
                    f"got {len(text)}."
                )
            cell.value = text
            cell.data_type = "s"
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
