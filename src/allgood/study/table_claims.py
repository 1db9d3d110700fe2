"""Certify a table of measurements by itself, without a study: ``allgood claims``.

The rows of each arm are added up, and a state in memory receives the totals at once.  So labels,
intervals, pictures and certificates come from the code of studies, and the verifier reads them.
There is no pool, and no check of single values, for which delta would have to pay: the labels are
those of ``claims``.  The state depends on the table and on the question only, so the same table
gives the same certificate.

A row is one of counts (``counts.py``), or holds ``arm`` and ``value``, one measurement.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._internal.arguments import ArgumentError, probability
from .._internal.results import Hint, HintCode, plain
from .._internal.tables import counted
from ..certificates.write import certificate_of
from ..evidence.claims import are_zeros_and_ones
from ..models.base import Model
from ..objectives import Objective
from .design import StudyDesign
from .diagnostics.values import CheckedValues
from .events import Event, digest, link_all
from .receipts import some
from .state import StudyState
from .status import StudyStatus, status_of
from .tables.counts import (
    SWAPPED_HINT,
    Counts,
    CountsTable,
    arm_of,
    counts_data,
    parse_counts,
    swapped,
)
from .tables.reader import TableError
from .tables.values import parse_value

# The fields of an arm's status that mean something without a study.
ARM_FIELDS = ("arm", "label", "measurements", "mean", "low", "high", "evidence", "need", "rests_on")
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
        notes: how the table was read, in sentences.
        warnings: what does not fit the model, in sentences.
        hints: arguments that would help to read the table.
    """

    status: StudyStatus
    certificate: dict[str, Any]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    hints: tuple[Hint, ...] = ()

    @property
    def assumptions(self) -> str:
        """Say what the labels assume, in a sentence."""
        return (
            "This needs a table of all measurements, or of some that were not chosen for their "
            f"values; and measurements as the model says, {self.status.model}, that do not depend "
            "on each other."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return labels, averages and evidence as plain data for JSON, without the certificate."""
        status = self.status
        arms = [status_of_arm.to_dict() for status_of_arm in status.arms]
        return {
            "wording": status.wording,
            "delta": status.delta,
            "model": status.model.to_dict(),
            "measurements": status.measurements,
            "arms": [{name: arm[name] for name in ARM_FIELDS} for arm in arms],
            "good": status.good,
            "bad": status.bad,
            "open": status.open,
            "needs": self.assumptions,
            "notes": list(self.notes),
            "hints": plain(self.hints),
            "warnings": list(self.warnings),
        }


class _Totals(NamedTuple):
    """The measurements of each arm, added up.

    Attributes:
        by_arm: in the order of the arms' first rows that have a measurement.
        values: arm and value of each measurement, if the table has them.
        left_out: how many rows have none.
    """

    by_arm: dict[str, Counts]
    values: list[tuple[str, float]]
    left_out: int


def summarise(
    table: CountsTable,
    objective: Objective,
    delta: float,
    model: Model,
    source: str,
    sha256: str,
) -> Summary:
    """Classify the arms of a table.

    Args:
        table: as ``read_counts`` read it.
        source, sha256: its name, and the digest of its content.

    Raises:
        ValueError: if a row cannot be used; one sentence.
    """
    totals = _totals(table, model)
    notes = table.notes
    if totals.left_out:
        notes += (f"{counted(totals.left_out, 'row has', 'rows have')} nothing to count.",)
    design = _design(source, sha256, _arms(table, totals), objective, delta, model)
    events = _events(design, totals)
    state = StudyState.from_events(events)
    lines = [event.line() for event in link_all(events)]
    checked = _checked(totals.values, design.arms) if totals.values else None
    status = status_of(state, source, 0.0, checked)
    warnings = status.checks.sentences
    if not model.noise_known and not warnings and _seem_zeros_and_ones(totals.by_arm.values()):
        warnings = (ZEROS_AND_ONES,)
    described = {"file": source, "sha256": sha256}
    certificate = certificate_of(state, digest(lines), described)
    return Summary(status, certificate, notes, tuple(warnings), table.hints)


def _totals(table: CountsTable, model: Model) -> _Totals:
    """Add up the measurements of each arm."""
    if model.takes_time:
        raise ArgumentError(
            f"model must not be {model} for a table: the waits that have ended by a given day are "
            "the short ones, so what they add up to depends on when it was taken.  If every wait "
            "has ended, the function claims of Python takes counts and averages.",
            argument="model",
        )
    columns = table.columns
    if ("n" in columns) == ("value" in columns):
        raise TableError(
            "The table must have columns arm, n and sum (or mean), or else arm and value, and not "
            "both.",
            Hint(HintCode.NAME_COLUMN, "columns", {"n": None}),
        )
    return _added_values(table, model) if "value" in columns else _added_counts(table, model)


def _arms(table: CountsTable, totals: _Totals) -> tuple[str, ...]:
    """Return the names of the arms; each must have a measurement."""
    arms = tuple(dict.fromkeys(map(arm_of, table.rows)))
    for arm in arms:
        if arm not in totals.by_arm:
            raise TableError(
                f"Every arm must have a measurement: {arm!r} has none.  Without its rows the "
                "question is about the others."
            )
    return arms


def _design(
    source: str,
    sha256: str,
    arms: tuple[str, ...],
    objective: Objective,
    delta: float,
    model: Model,
) -> StudyDesign:
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
    return design


def _events(design: StudyDesign, totals: _Totals) -> list[Event]:
    """Return the events of a study that receives the totals of each arm."""
    events = [Event(1, "created", 0.0, data=design.to_dict())]
    for a, arm in enumerate(design.arms):
        counts = totals.by_arm[arm]
        event = Event(
            a + 2, "counts", 0.0, ticket=a + 1, arm=a, value=counts.total, note=design.name
        )
        events.append(event._replace(data=counts_data(counts)))
    return events


def _added_values(table: CountsTable, model: Model) -> _Totals:
    """Add up single values."""
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
    by_arm: dict[str, list[float]] = {}
    for arm, value in values:
        by_arm.setdefault(arm, []).append(value)
    totals = {}
    for arm, numbers in by_arm.items():
        n, total = len(numbers), math.fsum(numbers)
        scatter = math.fsum((x - total / n) ** 2 for x in numbers)
        totals[arm] = Counts(arm, n, total, 0.0 if model.noise_known else scatter)
    return _Totals(totals, values, len(table.rows) - len(values))


def _value_of(row: Mapping[str, Any], model: Model) -> float | None:
    try:
        return parse_value(row.get("value"), model)
    except ValueError as error:
        raise ValueError(f"value {error}") from None


def _added_counts(table: CountsTable, model: Model) -> _Totals:
    """Add up counts."""
    by_arm: dict[str, list[Counts]] = {}
    problems, periods = [], set()
    left_out = 0
    for i, row in enumerate(table.rows):
        try:
            counts = parse_counts(row, model)
            if (counts.arm, counts.period) in periods and counts.period is not None:
                raise ValueError(f"{counts.arm!r} has a row for {counts.period!r} before")
        except ValueError as error:
            problems.append(f"{table.where(i)}: {error}")
            continue
        periods.add((counts.arm, counts.period))
        left_out += counts.n == 0
        if counts.n > 0:
            by_arm.setdefault(counts.arm, []).append(counts)
    if problems and (notes := swapped(table.rows, model)):
        table = replace(table, notes=table.notes + notes, hints=(*table.hints, SWAPPED_HINT))
    _refuse(problems, table)
    return _Totals({arm: _added(parts, model) for arm, parts in by_arm.items()}, [], left_out)


def _added(parts: Sequence[Counts], model: Model) -> Counts:
    """Add up several counts of one arm.

    Scatter about the common mean m:  Q = sum of Q_i + n_i (m_i - m)^2.
    """
    n, total = sum(part.n for part in parts), math.fsum(part.total for part in parts)
    m = total / n
    scatter = math.fsum(part.scatter + part.n * (part.total / part.n - m) ** 2 for part in parts)
    return Counts(parts[0].arm, n, total, 0.0 if model.noise_known else scatter)


def _refuse(problems: Sequence[str], table: CountsTable) -> None:
    """Refuse a table with problems; the message holds its notes, and the error its hints."""
    if problems:
        reasons = "; ".join(some(problems))
        notes = "".join(f"  {note}" for note in table.notes)
        raise TableError(f"The table cannot be used: {reasons}.{notes}", *table.hints)


def _checked(values: Sequence[tuple[str, float]], arms: Sequence[str]) -> CheckedValues:
    """Return the values for the checks of the model, shuffled: tables may be sorted by value."""
    order = np.random.default_rng(0).permutation(len(values))
    place = {arm: a for a, arm in enumerate(arms)}
    zeros = np.zeros(len(values))
    return CheckedValues(
        arms=np.array([place[values[i][0]] for i in order], np.int64),
        values=np.array([values[i][1] for i in order]),
        times=zeros,
        plates=zeros.astype(np.int64),
    )


def _seem_zeros_and_ones(totals: Iterable[Counts]) -> bool:
    rows = [(counts.n, counts.total, counts.scatter) for counts in totals]
    n, total, scatter = np.array(rows, np.float64).T
    return are_zeros_and_ones(n, total / n, scatter)
