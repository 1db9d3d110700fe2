"""Tables of counts: number and sum of the measurements of each arm in one period.

Analysts have a table per day: variant, visitors, conversions; or variant, n, mean, sd.  The
evidence of these laws depends on the rewards of an arm through their number, their sum and, where
sigma is unknown, their scatter.  So a row says all that its values would.  Looking once a day is
fine: the guarantee holds at all times at once, so it holds at some of them.

A row holds ``arm``, ``n`` and one of

    sum        of the n values
    mean       of the n values

and for ``Gaussian(None)`` one of

    sd         their standard deviation, with n - 1, as spreadsheets give it
    variance   its square.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..laws.base import Law
from .ledger import LARGEST_COUNT, why_no_counts

NAMES = ("arm", "n", "sum", "mean", "sd", "variance", "period")
ROUNDING = 1e-6  # by which n times a mean may miss a whole number


@dataclass(frozen=True)
class Counts:
    """One row: n values of an arm, with their sum and their scatter about their mean."""

    arm: str
    n: int
    total: float
    scatter: float
    period: str | None = None


def rows_of(table: Any, columns: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The rows of a list of mappings, a mapping of columns or a data frame, by our names.

    ``columns`` maps our names to those of the table, where they differ.
    """
    given = dict(columns or {})
    for name in given:
        if name not in NAMES:
            raise ValueError(f"columns must be of {', '.join(NAMES)}: got {name!r}.")
    names = {given.get(name, name): name for name in NAMES}
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        keys = [str(key) for key in (table if isinstance(table, Mapping) else table.columns)]
        lists = [list(table[key]) for key in keys]
        table = [dict(zip(keys, cells, strict=True)) for cells in zip(*lists, strict=True)]
    if isinstance(table, str) or not isinstance(table, Iterable):
        raise TypeError(f"rows must be a table with arm, n, and sum or mean: got {table!r}.")
    rows = []
    for i, row in enumerate(table, start=1):
        if not isinstance(row, Mapping):
            raise TypeError(f"rows must be mappings: got {row!r} as number {i}.")
        rows.append({names[key]: cell for key, cell in row.items() if key in names})
    if not rows:
        raise ValueError("rows must hold at least one: got none.")
    return rows


def parse_counts(row: Mapping[str, Any], model: Law) -> Counts:
    """The counts of a row.

    Raises:
        ValueError: if they cannot be; the end of a sentence.
    """
    if not str(row.get("arm") or "").strip():
        raise ValueError("arm is missing")
    n = _number(row, "n")
    if n is None or n != math.floor(n) or not 0 <= n <= LARGEST_COUNT:
        raise ValueError(f"n must be a whole number: got {row.get('n')!r}")
    period = None if row.get("period") is None else str(row["period"])
    if n == 0:
        return Counts(str(row["arm"]).strip(), 0, 0.0, 0.0, period)
    total, mean = _number(row, "sum"), _number(row, "mean")
    if (total is None) == (mean is None):
        raise ValueError("sum or mean must be given, and not both")
    if total is None:
        assert mean is not None
        total = n * mean
        if model.whole and abs(total - round(total)) <= ROUNDING * max(abs(total), 1.0):
            total = float(round(total))
    problem = why_no_counts(model, int(n), total)
    if problem:
        raise ValueError(problem)
    scatter = _scatter(row, model, n)
    return Counts(str(row["arm"]).strip(), int(n), total + 0.0, scatter, period)


def counts_data(counts: Counts) -> dict[str, Any]:
    """What the event of these counts holds beside their sum."""
    return {"n": counts.n, "scatter": counts.scatter, "period": counts.period}


def _scatter(row: Mapping[str, Any], model: Law, n: float) -> float:
    """The scatter of the values, where the model needs it."""
    sd, variance = _number(row, "sd"), _number(row, "variance")
    if model.noise_known:
        return 0.0
    if n <= 1:
        return 0.0
    if (sd is None) == (variance is None):
        raise ValueError(f"sd or variance must be given for {model}, and not both")
    if variance is None:
        assert sd is not None
        variance = sd * sd if sd >= 0.0 else -1.0
    if variance < 0.0:
        raise ValueError("sd and variance must not be negative")
    return (n - 1.0) * variance


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """A finite number; None if there is none."""
    raw = row.get(name)
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    try:
        value = float(raw)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number: got {raw!r}") from None
    if math.isnan(value) and not isinstance(raw, str):
        return None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite: got {raw!r}")
    return value
