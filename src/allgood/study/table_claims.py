"""What a table of measurements certifies by itself, without a study: ``allgood claims``.

The rows of each arm are added up, and a ledger in memory is told the totals at once.  So labels,
intervals, pictures and certificates come from the code of studies, and the verifier reads them.
There is no pool, and no check of single values, for which delta would have to pay: the labels are
those of ``claims``.  The ledger depends on the table and on the question only, so the same table
gives the same certificate.

A row is one of counts (``counts.py``), or holds ``arm`` and ``value``, one measurement.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._internal.arguments import probability
from .._internal.tables import counted
from ..certificates.write import certificate_of
from ..evidence.claims import are_zeros_and_ones
from ..models.base import Model
from ..objectives import Objective
from .design import StudyDesign
from .diagnostics import ProcessedValue
from .events import Event, digest, link_all
from .receipts import some
from .state import StudyState
from .status import StudyStatus, status_of
from .tables.counts import (
    Counts,
    CountsTable,
    arm_of,
    counts_data,
    parse_counts,
    swapped,
)
from .tables.values import parse_value

ZEROS_AND_ONES = (
    "The measurements seem to be 0 or 1: they are not normal, and labels would be certified too "
    "early.  Use the model bernoulli."
)


@dataclass(frozen=True)
class Summary:
    """A table, added up, and what it certifies.

    Attributes:
        status: labels, averages, intervals and evidence, arm by arm.
        certificate: the same, for others to check.
        notes: what should be known of how the table was read, in sentences.
        warnings: what does not fit the model, in sentences.
    """

    status: StudyStatus
    certificate: dict[str, Any]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def summarise(
    table: CountsTable,
    objective: Objective,
    delta: float,
    model: Model,
    source: str,
    sha256: str,
) -> Summary:
    """What the table certifies.

    Args:
        table: as ``read_counts`` read it.
        source, sha256: its name, and the digest of its content.

    Raises:
        ValueError: if a row cannot be used; one sentence.
    """
    if model.takes_time:
        raise ValueError(
            f"model must not be {model} for a table: the waits that have ended by a given day are "
            "the short ones, so what they add up to depends on when it was taken.  Where every "
            "wait has ended, the function claims of Python takes counts and averages."
        )
    columns = table.columns
    if ("n" in columns) == ("value" in columns):
        raise ValueError(
            "the table must have columns arm, n and sum (or mean), or else arm and value, and not "
            "both.  --columns says which column is which, as n=visitors."
        )
    singles: list[tuple[str, float]] = []
    if "value" in columns:
        singles, left_out = _values(table, model)
        totals = _added_values(singles, model)
    else:
        totals, left_out = _totals(table, model)
    notes = table.notes
    if left_out:
        notes += (f"{counted(left_out, 'row has', 'rows have')} nothing to count.",)
    arms = tuple(dict.fromkeys(map(arm_of, table.rows)))
    for arm in arms:
        if arm not in totals:
            raise ValueError(
                f"every arm must have a measurement: {arm!r} has none.  Without its rows the "
                "question is about the others."
            )
    design = StudyDesign(
        name=source,
        uid=sha256[:32],
        arms=arms,
        objective=objective,
        delta=probability("delta", delta),
        model=model,
        pool=False,
        seed=0,
        budget=None,
        check_values=False,
    )
    design.check()
    events = [Event(1, "created", 0.0, data=design.to_dict())]
    for a, arm in enumerate(arms):
        counts = totals[arm]
        event = Event(a + 2, "counts", 0.0, ticket=a + 1, arm=a, value=counts.total, note=source)
        events.append(event._replace(data=counts_data(counts)))
    state = StudyState.from_events(events)
    lines = [event.line() for event in link_all(events)]
    status = status_of(state, source, 0.0, _processed(singles, arms) if singles else None)
    warnings = status.checks.sentences
    if not model.noise_known and not warnings and _seem_zeros_and_ones(list(totals.values())):
        warnings = (ZEROS_AND_ONES,)
    described = {"file": source, "sha256": sha256}
    return Summary(status, certificate_of(state, digest(lines), described), notes, tuple(warnings))


def _values(table: CountsTable, model: Model) -> tuple[list[tuple[str, float]], int]:
    """Arm and value of each row, and how many rows have none."""
    values, problems = [], []
    for i, row in enumerate(table.rows):
        try:
            arm, value = arm_of(row), _value_of(row, model)
        except ValueError as error:
            problems.append(f"{table.where(i)}: {error}")
        else:
            if value is not None:
                values.append((arm, value))
    _refuse(problems, table)
    return values, len(table.rows) - len(values)


def _value_of(row: Mapping[str, Any], model: Model) -> float | None:
    try:
        return parse_value(row.get("value"), model)
    except ValueError as error:
        raise ValueError(f"value {error}") from None


def _added_values(values: Sequence[tuple[str, float]], model: Model) -> dict[str, Counts]:
    by_arm: dict[str, list[float]] = {}
    for arm, value in values:
        by_arm.setdefault(arm, []).append(value)
    totals = {}
    for arm, some_values in by_arm.items():
        n, total = len(some_values), math.fsum(some_values)
        scatter = math.fsum((x - total / n) ** 2 for x in some_values)
        totals[arm] = Counts(arm, n, total, 0.0 if model.noise_known else scatter)
    return totals


def _totals(table: CountsTable, model: Model) -> tuple[dict[str, Counts], int]:
    """The counts of each arm, added up over the rows, and how many rows have none."""
    by_arm: dict[str, list[Counts]] = {}
    problems, seen = [], set()
    left_out = 0
    for i, row in enumerate(table.rows):
        try:
            counts = parse_counts(row, model)
            if (counts.arm, counts.period) in seen and counts.period is not None:
                raise ValueError(f"{counts.arm!r} has a row for {counts.period!r} before")
        except ValueError as error:
            problems.append(f"{table.where(i)}: {error}")
            continue
        seen.add((counts.arm, counts.period))
        left_out += counts.n == 0
        if counts.n > 0:
            by_arm.setdefault(counts.arm, []).append(counts)
    _refuse(problems, replace(table, notes=table.notes + swapped(table.rows, model)))
    return {arm: _added(parts, model) for arm, parts in by_arm.items()}, left_out


def _added(parts: Sequence[Counts], model: Model) -> Counts:
    """Several counts of one arm as one.

    Scatter about the common mean m:  Q = sum of Q_i + n_i (m_i - m)^2.
    """
    n, total = sum(part.n for part in parts), math.fsum(part.total for part in parts)
    m = total / n
    scatter = math.fsum(part.scatter + part.n * (part.total / part.n - m) ** 2 for part in parts)
    return Counts(parts[0].arm, n, total, 0.0 if model.noise_known else scatter)


def _refuse(problems: Sequence[str], table: CountsTable) -> None:
    if problems:
        said = "; ".join(some(problems))
        more = "".join(f"  {note}" for note in table.notes)
        raise ValueError(f"the table cannot be used: {said}.{more}")


def _processed(singles: Sequence[tuple[str, float]], arms: Sequence[str]) -> ProcessedValue:
    """The values for the checks of the model, shuffled: tables may be sorted by value."""
    order = np.random.default_rng(0).permutation(len(singles))
    place = {arm: a for a, arm in enumerate(arms)}
    zeros = np.zeros(len(singles))
    return ProcessedValue(
        arms=np.array([place[singles[i][0]] for i in order], np.int64),
        values=np.array([singles[i][1] for i in order]),
        times=zeros,
        plates=zeros.astype(np.int64),
    )


def _seem_zeros_and_ones(totals: Sequence[Counts]) -> bool:
    n = np.array([float(one.n) for one in totals])
    means = np.array([one.total for one in totals]) / n
    return are_zeros_and_ones(n, means, np.array([one.scatter for one in totals]))
