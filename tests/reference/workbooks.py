"""Read the first worksheet of a workbook with openpyxl: once its formulas, once their values.

It takes as much time and memory as a file wants, so it is for small files.
"""

import datetime
import io

import openpyxl


def read_rows(content):
    """Return the rows with a filled cell: number, and cells without empty ones at the end."""
    books = [
        openpyxl.load_workbook(io.BytesIO(content), data_only=stored) for stored in (True, False)
    ]
    stored, formulas = (book.worksheets[0] for book in books)
    rows = []
    for cells, others in zip(stored.iter_rows(), formulas.iter_rows(), strict=True):
        found = [_value(cell, other) for cell, other in zip(cells, others, strict=True)]
        while found and found[-1] == "":
            found.pop()
        if any(str(cell).strip() for cell in found):
            rows.append((cells[0].row, found))
    return rows


def _value(cell, formula):
    if cell.value is None:
        assert formula.data_type != "f"
        return ""
    if isinstance(cell.value, bool):
        return "TRUE" if cell.value else "FALSE"
    if isinstance(cell.value, int | float):
        return cell.value
    if isinstance(cell.value, datetime.datetime) and cell.value.time() == datetime.time():
        return str(cell.value.date())
    return str(cell.value)
