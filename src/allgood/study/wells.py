"""Names of wells, and texts that name many of them: ranges, columns, rows, and lists of controls.

A well is named by its row (A to Z, then AA, AB and so on) and its column (from 1).  On a plate of
8 rows and 12 columns A1 is the first well and H12 the last.  Every interface takes the texts that
:func:`parse_places` and :func:`parse_controls` parse, as the user wrote them.
"""

import re
from collections.abc import Iterator
from functools import cache

from .._internal.arguments import ArgumentError

ROWS, COLUMNS = 64, 96  # at most

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROW_NAMES = [*_ALPHABET, *(a + b for a in _ALPHABET for b in _ALPHABET)][:ROWS]

_WELL = re.compile(r"([A-Z]{1,2})0*([1-9][0-9]?)")
_GAP = re.compile(r"[\s,;]+")
_RANGE_SIGN = re.compile(r"\s*[:\u2013-]\s*")
_LINES = {"column": "column", "columns": "column", "row": "row", "rows": "row"}
_NUMBER = re.compile(r"[0-9]{1,6}")
_NAME_END = re.compile(r"[\s:,;]+")
_WELL_OR_RANGE = re.compile(r"[A-Za-z]{1,2}[0-9]{1,3}(?::[A-Za-z]{1,2}[0-9]{1,3})?")
_LINE_OR_RANGE = re.compile(r"[0-9]{1,3}(?::[0-9]{1,3})?|[A-Za-z]{1,2}(?::[A-Za-z]{1,2})?")
_FORMS = "such as DMSO 8, DMSO A1 H12, DMSO A23:P24 or DMSO column 1"


@cache
def _positions() -> dict[str, tuple[int, int]]:
    """Return row and column of every well, by its name."""
    return {f"{ROW_NAMES[i]}{j + 1}": (i, j) for i in range(ROWS) for j in range(COLUMNS)}


def well_position(well: str) -> tuple[int, int]:
    """Return row and column of a well, each from 0; sorted positions are wells row by row.

    >>> well_position("B12")
    (1, 11)
    """
    if well not in _positions():
        raise ArgumentError(
            f"well must be a row's letters and a column's number, such as A1: got {well!r}.",
            argument="well",
        )
    return _positions()[well]


def well_name(text: str) -> str | None:
    """Return the name of the well that a cell names, such as A1 for a01; None if it names none.

    >>> well_name(" b07 ")
    'B7'
    """
    parts = _WELL.fullmatch(text.strip().upper())
    name = "" if parts is None else f"{parts[1]}{parts[2]}"
    return name if name in _positions() else None


def parse_places(text: str, rows: int, columns: int) -> tuple[str, ...]:
    """Return the wells that a text names on a plate of this size.

    A text holds wells, ranges of wells, columns and rows, separated by blanks, commas or
    semicolons.  A range is the rectangle between two corners.

    >>> parse_places("A1:B2, column 12", 2, 12)
    ('A1', 'A2', 'B1', 'B2', 'A12', 'B12')

    Raises:
        ValueError: if the text does not name wells of the plate; the end of a sentence.
    """
    wells: list[str] = []
    line, bare = "", False  # the word column or row that was read; whether nothing follows it
    for token in filter(None, _GAP.split(_RANGE_SIGN.sub(":", text.strip()))):
        if token.lower() in _LINES:
            line, bare = _LINES[token.lower()], True
            continue
        bare = False
        first, colon, last = token.upper().partition(":")
        ends = (first, last if colon else first)
        if line and not any(map(well_name, ends)):
            wells += _wells_of_lines(line, ends, rows, columns, token)
        else:
            line = ""
            wells += _wells_between(*ends, rows, columns, token)
    if bare:
        raise ValueError(f"name a {line} after the word {line}: got {text.strip()!r}")
    if not wells:
        raise ValueError("name a well: got none")
    return tuple(wells)


def _wells_between(first: str, last: str, rows: int, columns: int, token: str) -> Iterator[str]:
    """Return the wells of the rectangle between two wells."""
    corners = [well_name(first), well_name(last)]
    positions = [(ROWS, COLUMNS) if name is None else well_position(name) for name in corners]
    if any(i >= rows or j >= columns for i, j in positions):
        raise ValueError(
            f"name wells from A1 to {ROW_NAMES[rows - 1]}{columns}, ranges such as A1:B2, or "
            f"columns or rows, such as column 1: got {token!r}"
        )
    (i, j), (k, m) = positions
    return (
        f"{ROW_NAMES[row]}{column + 1}"
        for row in range(min(i, k), max(i, k) + 1)
        for column in range(min(j, m), max(j, m) + 1)
    )


def _wells_of_lines(
    line: str, ends: tuple[str, str], rows: int, columns: int, token: str
) -> Iterator[str]:
    """Return the wells of whole columns or rows, from the first to the last of ``ends``."""
    names = ROW_NAMES[:rows] if line == "row" else [str(j) for j in range(1, columns + 1)]
    ends = (ends[0].lstrip("0"), ends[1].lstrip("0"))
    if not set(ends) <= set(names):
        raise ValueError(
            f"name a {line} from {names[0]} to {names[-1]} after the word {line}: got {token!r}"
        )
    first, last = sorted(names.index(end) for end in ends)
    for name in names[first : last + 1]:
        if line == "row":
            yield from (f"{name}{j}" for j in range(1, columns + 1))
        else:
            yield from (f"{row}{name}" for row in ROW_NAMES[:rows])


def parse_controls(text: str) -> dict[str, int | str]:
    """Return a number of wells, or the text of its wells, for each control that a text names.

    Each line is a name and then a number of wells, or wells as :func:`parse_places` takes them.
    Between them stand a blank, a colon or an equals sign; an equals sign ends every name, also one
    that looks like a well.

    >>> parse_controls("DMSO 8" + chr(10) + "high = A23:P24, column 1")
    {'DMSO': 8, 'high': 'A23:P24, column 1'}
    """
    controls: dict[str, int | str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, places = _split_control(line)
        if not name or not places:
            raise ArgumentError(
                f"controls must have a name and then a number of wells or wells, {_FORMS}: got "
                f"{line!r}.",
                argument="controls",
            )
        if name in controls:
            raise ArgumentError(
                f"controls must have each name once, with all its wells: got {name!r} twice.",
                argument="controls",
            )
        controls[name] = int(places) if _NUMBER.fullmatch(places) else places
    return controls


def _split_control(line: str) -> tuple[str, str]:
    """Return the name and the wells of a line; empty if it has no such parts."""
    name, equals, places = line.rpartition("=")
    if equals:
        return name.strip(), places.strip()
    for gap in _NAME_END.finditer(line):
        name, places = line[: gap.start()], line[gap.end() :]
        if _looks_like_places(places) and not (":" in gap[0] and well_name(name)):
            return name, places
    return "", ""


def _looks_like_places(text: str) -> bool:
    """Return whether a text has the form of a number of wells, or of wells; they may not exist."""
    if _NUMBER.fullmatch(text):
        return True
    line = False  # whether the word column or row came before
    for token in _GAP.split(_RANGE_SIGN.sub(":", text)):
        if token.lower() in _LINES:
            line = True
        elif _WELL_OR_RANGE.fullmatch(token):
            line = False
        elif not (line and _LINE_OR_RANGE.fullmatch(token)):
            return False
    return True
