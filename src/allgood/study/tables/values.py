"""Parse single cells: numbers, missing values, decimal commas, and rewards under a model.

Only plain decimal numbers are numbers, and nothing is guessed.  A value that cannot be parsed
raises a ValueError with its own reason, the end of a sentence such as "must be finite: got 'inf'".
The caller adds the place and the name of the column.
"""

import math
import re
from datetime import datetime
from typing import Any

import numpy as np

from ..._internal.arguments import LARGEST, ArgumentError
from ...models.base import Model
from ...models.gaussian import Gaussian
from ..state import is_binary, is_reward
from .workbooks import Cell, day_or_moment

# Words that people and programs write if there is no value, in small letters.  Among them are the
# errors of spreadsheets, in English and in German.  Signs of a value beyond the range of the
# instrument, such as <LOD, >4 or overflow, are not among them: such a value is not missing.
WORDS = "n/a na n.a. nan nd n/d n.d. null none missing <na> - -- --- \u2013 \u2014 . ?"
ERRORS = "#n/a #nv #div/0! #value! #wert! #ref! #bezug! #name? #num! #zahl! #null!"
MISSING = frozenset(f"{WORDS} {ERRORS}".split())
DECIMAL_SIGNS = (".", ",")
TRUTH = {"true": 1.0, "false": 0.0}
ANY_NUMBER = Gaussian()  # a model whose rewards are all finite numbers

_DECIMAL = re.compile(r"[+-]?(?P<digits>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAMED_NUMBERS = {"nan", "inf", "infinity"}


class Censored(float):
    """The censoring time of a study, as the value of a wait that was given up at that time."""

    def __repr__(self) -> str:
        return f">{float(self)!r}"


def check_decimal(decimal: str) -> None:
    """Refuse a decimal sign that is neither a point nor a comma."""
    if decimal not in DECIMAL_SIGNS:
        raise ArgumentError(f"decimal must be '.' or ',': got {decimal!r}.", argument="decimal")


def parse_value(
    raw: object, model: Model, censor_at: float | None = None
) -> float | Censored | None:
    """Return the reward that a cell or an argument holds; None if it is missing.

    True and False, also as texts, are 1 and 0 if rewards are 0 or 1, and not numbers otherwise.
    With a censoring time of 30, a time above 30 and the text >30 are a censored time.

    Raises:
        ValueError: if the model does not allow this value; the end of a sentence.
    """
    if is_missing(raw) or (isinstance(raw, str) and not raw.strip()):
        return None
    if isinstance(raw, str | bool | np.bool_):
        text = str(raw).strip()
        if text.lower() in TRUTH and is_binary(model):
            return TRUTH[text.lower()]
        if text.startswith(">") and model.takes_time:
            return _parse_censored(text, model, censor_at)
        value = number(text)
    else:
        try:
            value = float(raw)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            value = number(str(raw))
        if not math.isfinite(value):
            raise ValueError(f"must be finite: got {str(raw)!r}")
    if abs(value) > LARGEST:
        raise ValueError(f"must not exceed {LARGEST:g} in size: got {raw!r}; use other units")
    if not is_reward(model, value):
        raise ValueError(f"must be {model.wording_of_rewards} for {model}: got {raw!r}")
    if censor_at is not None and value > censor_at:
        return Censored(censor_at)
    return value + 0.0  # turns -0.0, which SQLite does not keep, into 0.0


def required_value(raw: object, model: Model, censor_at: float | None = None) -> float | Censored:
    """Return :func:`parse_value` of a value that must not be missing."""
    value = parse_value(raw, model, censor_at)
    if value is None:
        raise ValueError("must not be empty")
    return value


def _parse_censored(text: str, model: Model, censor_at: float | None) -> Censored:
    """Parse a text such as >30, which must be the censoring time of the study."""
    if censor_at is None:
        raise ValueError(f"must be a time, as the study has no censoring time: got {text!r}")
    try:
        time = parse_value(text[1:], model)
    except ValueError:
        time = None
    if time != censor_at:
        raise ValueError(
            f"must be a time, or >{censor_at:g}, the censoring time of the study: got {text!r}"
        )
    return Censored(censor_at)


def number(text: str) -> float:
    """Parse a plain decimal number, as the nearest double.

    >>> number(" -2.5e-3 ")
    -0.0025

    Raises:
        ValueError: if the text is not such a number within the range of doubles; the end of a
            sentence.
    """
    text = text.strip()
    if not text:
        raise ValueError("is missing")
    decimal = _DECIMAL.fullmatch(text)
    if decimal:
        value = float(text)
        too_small = value == 0.0 and decimal["digits"].strip("0.")
        if too_small or math.isinf(value):
            raise ValueError(
                f"must be within double precision: got {short(text)}, which is too "
                f"{'small' if too_small else 'large'}"
            )
        return value
    if re.fullmatch(r"[+-]?[0-9]{1,3},[0-9]{3}", text):
        raise ValueError(
            f"must have no comma: got {text!r}; write {text.replace(',', '.')} for a decimal "
            f"comma, {text.replace(',', '')} for thousands"
        )
    if has_decimal_comma(text):
        raise ValueError(
            f"must have a decimal point, not a decimal comma: got {short(text)}; write "
            f"{_cut(text.replace(',', '.'))}"
        )
    if text.lower().lstrip("+-") in _NAMED_NUMBERS:
        raise ValueError(f"must be finite: got {text!r}")
    share = _DECIMAL.fullmatch(text.removesuffix("%").strip()) if text.endswith("%") else None
    remedy = f"; {share[0]} % is {float(share[0]) / 100.0:.12g}" if share else ""
    raise ValueError(
        "must be a plain decimal number, such as 1.5 or -2e-3, without a unit: got "
        f"{short(text)}{remedy}"
    )


def has_decimal_comma(text: str) -> bool:
    """Return whether a cell would hold a number if its comma were a decimal point."""
    return text.count(",") == 1 and _DECIMAL.fullmatch(text.strip().replace(",", ".")) is not None


def with_decimal_point(text: str) -> str:
    """Replace a decimal comma by a point; other texts stay as they are.

    >>> with_decimal_point("-2,5e-3")
    '-2.5e-3'

    Raises:
        ValueError: if the number has a point, which may stand between thousands; the end of a
            sentence.
    """
    bare = text.strip().removeprefix(">").strip()
    if "." in bare and _DECIMAL.fullmatch(bare):
        raise ValueError(f"must have a decimal comma, not a point: got {short(text)}")
    return text.replace(",", ".") if has_decimal_comma(bare) else text


def is_missing(cell: object) -> bool:
    """Return whether a cell holds None, nan, or pandas' NA, whose comparisons are NA."""
    differs: Any = cell != cell  # noqa: PLR0124
    if isinstance(differs, bool | np.bool_):  # False is a value, and does not differ from itself
        return cell is None or bool(differs)
    return differs is cell


def json_cell(cell: Any) -> bool | int | float | str | None:
    """Return a cell as JSON has it: a number, a text, true, false or null."""
    if is_missing(cell):
        return None
    if isinstance(cell, np.bool_):
        return bool(cell)
    if isinstance(cell, str | int):
        return cell
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return cell_text(cell)
    return value if math.isfinite(value) else str(value)


def cell_text(cell: Cell) -> str:
    """Return a cell as text; whole numbers without a point, days without an hour."""
    if isinstance(cell, datetime):
        return day_or_moment(cell)
    is_whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell) if is_whole else cell)


def column_key(name: str) -> str:
    """Return a column's name as it is compared: without regard to case and to blanks around it."""
    return name.strip().casefold()


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def short(text: str) -> str:
    """Quote the beginning of a text, for messages."""
    return repr(_cut(text))
