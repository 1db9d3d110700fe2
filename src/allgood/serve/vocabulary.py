"""The words of the package as data, by their codes: the page shows these and words nothing itself.

Each word lives in the room that it belongs to.  This module collects them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import __version__
from .._internal.results import HINTS, HintTerm, NullableFloat, ResultData
from ..models.registry import CHOICES, PARAMETERS, Parameter
from ..objectives import EPSILON, Additive, Multiplicative
from ..study.design import OPTIONS
from ..study.engine import Label
from ..study.events import KINDS
from ..study.plates import SIZES
from ..study.receipts import STATUSES, RowStatus, StatusTerm
from ..study.sentences import (
    GUESS,
    GUESSES,
    LABELS,
    MISFIT,
    OUTCOMES,
    REMARKS,
    STATES,
    Guess,
    MeasurementState,
    RemarkCode,
    Term,
)
from ..study.state import Outcome
from ..theory.bounds import BOUNDS
from .requests import NewStudy

LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


@dataclass(frozen=True)
class EventTerm(ResultData):
    """The words for one kind of event.

    Attributes:
        title: what lists call it.
        sentence: what such an event says.
        notable: whether it is more than what happens all the time.
    """

    title: str
    sentence: str
    notable: bool


@dataclass(frozen=True)
class ModelTerm(ResultData):
    """The words for one model.

    Attributes:
        title: the kind of measurements.
        use: when to choose the model.
        parameters: names of its parameters, which ``options`` describes.
        low, high: the range of its means, if that does not depend on parameters; null: no limit.
        takes_time: whether measurements are waiting times.
        whole: whether measurements are whole numbers.
    """

    title: str
    use: str
    parameters: list[str]
    low: NullableFloat
    high: NullableFloat
    takes_time: bool
    whole: bool


@dataclass(frozen=True)
class ObjectiveTerm(ResultData):
    """The words for one objective.

    Attributes:
        title: what forms call it.
        sentence: which arms are good.
    """

    title: str
    sentence: str


@dataclass(frozen=True)
class OptionTerm(ResultData):
    """The words for an option of a new study, and what the server accepts.

    Attributes:
        label: its name in a form.
        description: what it is.
        default: the value if it is left out; null: none.
        minimum, maximum: limits that it may reach; null: no limit.
        above, below: limits that it may not reach; null: no limit.
    """

    label: str
    description: str
    default: str | float | bool | None = None
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class BoundTerm(ResultData):
    """The words for a lower bound on the number of pulls.

    Attributes:
        title: its formula or its author.
        sentence: what it says.
    """

    title: str
    sentence: str


@dataclass(frozen=True)
class PlateSize(ResultData):
    """The size of a standard plate."""

    rows: int
    columns: int


@dataclass(frozen=True)
class Vocabulary(ResultData):
    """The words of this version of the package, by their codes.

    Attributes:
        version: the version of allgood.
        outcomes: words for ``outcome`` of a study.
        labels: words for ``label`` of an arm.
        states: words for ``state`` of a value and of a well.
        rows: words for ``status`` of a row of a receipt.
        events: words for ``kind`` of an event.
        models: the models among which a new study chooses.
        objectives: the objectives among which a new study chooses.
        options: the fields of a new study, and the parameters of models and objectives.
        plates: the sizes of standard plates, by the number of their wells.
        hints: words for ``code`` of a hint.
        bounds: words for ``lower_bounds`` of an instance.
        guess: the heading of ``guessed_good`` and ``guessed_bad``.
        guesses: words for ``guess`` of an arm.
        remarks: words for ``remark`` of an arm.
        misfit: the heading of ``checks.sentences``.
    """

    version: str
    outcomes: Mapping[Outcome, Term]
    labels: Mapping[Label, Term]
    states: Mapping[MeasurementState, Term]
    rows: Mapping[RowStatus, StatusTerm]
    events: Mapping[str, EventTerm]
    models: Mapping[str, ModelTerm]
    objectives: Mapping[str, ObjectiveTerm]
    options: Mapping[str, OptionTerm]
    plates: Mapping[str, PlateSize]
    hints: Mapping[str, HintTerm]
    bounds: Mapping[str, BoundTerm]
    guess: str
    guesses: Mapping[Guess, Term]
    remarks: Mapping[RemarkCode, Term]
    misfit: str


@cache
def vocabulary() -> Vocabulary:
    """Return the words of this version of the package."""
    objectives = (Additive, Multiplicative)
    return Vocabulary(
        version=__version__,
        outcomes=OUTCOMES,
        labels=LABELS,
        states=STATES,
        rows=STATUSES,
        events={
            code: EventTerm(kind.title, kind.meaning, kind.notable) for code, kind in KINDS.items()
        },
        models={code: _model(code) for code in CHOICES},
        objectives={
            kind.__name__.lower(): ObjectiveTerm(kind.title, kind.definition) for kind in objectives
        },
        options=_options(),
        plates={code: PlateSize(*size) for code, size in SIZES.items()},
        hints={code.value: term for code, term in HINTS.items()},
        bounds={code: BoundTerm(*words) for code, words in BOUNDS.items()},
        guess=GUESS,
        guesses=GUESSES,
        remarks=REMARKS,
        misfit=MISFIT,
    )


def _model(code: str) -> ModelTerm:
    model = CHOICES[code]
    parameters = [] if code == "unknown-sigma" else list(model.parameters)
    is_fixed = not parameters or model.name == "gaussian"
    low, high = model().range if is_fixed else (-math.inf, math.inf)
    return ModelTerm(model.title, model.use, parameters, low, high, model.takes_time, model.whole)


def _options() -> dict[str, OptionTerm]:
    """Return the fields of a new study, with the limits that its schema states."""
    parameters = {"epsilon": Parameter("Epsilon", EPSILON), **PARAMETERS}
    options = {
        name: OptionTerm(parameter.label, parameter.description, above=parameter.above)
        for name, parameter in parameters.items()
    }
    for name, described in NewStudy.model_json_schema()["properties"].items():
        words = OPTIONS[name].metadata if name in OPTIONS else {}
        if words:
            options[name] = OptionTerm(words["label"], words["description"], **_accepted(described))
    return options


def _accepted(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return default and limits of a field from its schema."""
    parts = {**next(iter(described.get("anyOf", [{}]))), **described}
    minimum, maximum, above, below = (parts.get(name) for name in LIMITS)
    limits = {"minimum": minimum, "maximum": maximum, "above": above, "below": below}
    return limits | {"default": described.get("default")}
