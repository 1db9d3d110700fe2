"""Workbooks: files .xlsx, as spreadsheets save them.  They need openpyxl, the extra ``excel``.

A number is read as the double that the cell holds, whatever the spreadsheet shows of it.  Dates and
truth values are no numbers.  A formula is read by the value that the spreadsheet stored with it.
"""

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"  # of a workbook

Cell = str | int | float

LARGEST_FILE = 100_000_000  # bytes, unpacked
LAST_ROW = 1_048_576
LONGEST_CELL = 32_767  # characters

_BEGIN = b"PK\x03\x04"
# Workbooks write a character that XML does not have as _x000D_, and the first underscore of a text
# that looks so as _x005F_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_TO_ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def is_workbook(content: bytes) -> bool:
    """Whether these bytes begin as those of a workbook."""
    return content.startswith(_BEGIN)


def check_openpyxl() -> None:
    """ValueError if workbooks cannot be read or written here."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise ValueError(
            "A workbook needs openpyxl, which is not installed: install the extra, allgood[excel], "
            "or save the sheet as CSV UTF-8."
        ) from None


def read_cells(content: bytes) -> tuple[list[tuple[int, list[Cell]]], tuple[str, ...]]:
    """The rows of the first worksheet that have a filled cell, with their numbers, and notes.

    All rows have as many cells as the widest.

    Raises:
        ValueError: if this is no workbook, or a formula has no stored value; one sentence.
    """
    check_openpyxl()
    try:
        found, others = _first_worksheet(content)
    except _Refused as error:
        raise ValueError(str(error)) from None
    except Exception as error:  # openpyxl passes on whatever a broken file leads to
        raise ValueError(
            f"The workbook cannot be read ({type(error).__name__}): save it as .xlsx or as CSV "
            "UTF-8."
        ) from None
    width = max((len(cells) for _, cells in found), default=0)
    rows = [(line, cells + [""] * (width - len(cells))) for line, cells in found]
    if not others:
        return rows, ()
    listed = ", ".join(map(repr, others[:5])) + (", ..." if len(others) > 5 else "")
    return rows, (f"Only the first worksheet was read, not {listed}.",)


class _Refused(Exception):
    """The workbook is not to be read, for a reason of our own; a sentence."""


def _first_worksheet(content: bytes) -> tuple[list[tuple[int, list[Cell]]], list[str]]:
    """The filled rows of the first worksheet, without the empty cells at their ends.

    Also the names of other worksheets.
    """
    import zipfile

    import openpyxl

    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        if sum(info.file_size for info in packed.infolist()) > LARGEST_FILE:
            raise _Refused(
                f"The workbook must be of at most {LARGEST_FILE // 1_000_000} MB, unpacked: got "
                "a larger one."
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about pictures, styles and the like
        # Once with the values of formulas, and once with the formulas.
        books = [
            openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=stored)
            for stored in (True, False)
        ]
        sheets = [book.worksheets[0] for book in books]
        for sheet in sheets:
            sheet.reset_dimensions()  # what a file says of them may be wrong
        rows = []
        for line, (stored, formulas) in enumerate(zip(*sheets, strict=True), start=1):
            if line > LAST_ROW:
                raise _Refused(f"The workbook must have at most {LAST_ROW} rows: got more.")
            cells = [_plain(cell, other) for cell, other in zip(stored, formulas, strict=True)]
            while cells and cells[-1] == "":
                cells.pop()
            if any(str(cell).strip() for cell in cells):
                rows.append((line, cells))
        others = [sheet.title for sheet in books[0].worksheets[1:]]
    return rows, others


def _plain(cell: Any, formula: Any) -> Cell:
    """What a cell holds: a number, or a text, which is empty if there is nothing.

    ``formula`` is the same cell with its formula, if it has one.
    """
    value = cell.value
    if value is None:
        has_text = cell.data_type == "str"  # the result of the formula is an empty text
        if formula.data_type == "f" and not has_text:
            raise _Refused(
                f"Cell {formula.coordinate} of the workbook has a formula without a stored value: "
                "open the file in a spreadsheet and save it."
            )
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return value
    if isinstance(value, datetime):
        return day_or_moment(value)
    return _ESCAPED.sub(_unescaped, str(value))


def day_or_moment(time: datetime) -> str:
    """A day as a CSV file has it; spreadsheets and frames give it the hour 0."""
    is_day = (time.hour, time.minute, time.second, time.microsecond) == (0, 0, 0, 0)
    return f"{time:%Y-%m-%d}" if is_day and time.tzinfo is None else str(time)


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return found[0] if code == 0 or 0xD800 <= code < 0xE000 else chr(code)


def workbook(rows: Iterable[Sequence[str | float]], widths: Sequence[int]) -> bytes:
    """A workbook with one worksheet.  The first row holds the names of the columns.

    Texts are texts, also those that look as a number or a formula.
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
            text = _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", content)
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
