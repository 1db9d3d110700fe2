"""Request bodies: derived from the commands of a study, and written out where there is none.

These classes check types and sizes.  The commands and functions of the package check the rest, in
their own words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from .._internal.arguments import ArgumentError
from ..models.base import Model
from ..models.registry import PARAMETERS, model_by_name, model_from_dict
from ..objectives import EPSILON, Additive, Multiplicative, Objective
from ..study.commands.counts import TellCounts
from ..study.commands.replace import Replace
from ..study.commands.tell import Tell
from ..study.design import OPTIONS, StudyDesign, describe
from ..study.events import Event
from ..study.tables.sheets import ToldRow
from .schemas import field_texts, summary_of

MOST_ARMS = 100_000
MOST_ROWS = 1_000_000
MOST_TICKETS = 10_000

# ``json_schema_extra`` describes what the package checks, in its own words.
MODELS = "^(gaussian|bernoulli|poisson|exponential|unknown-sigma|bounded:-?[0-9]+:[0-9]+)$"
Text = Annotated[
    str, Field(max_length=10_000, json_schema_extra={"minLength": 1, "maxLength": 1000})
]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Cell = bool | int | float | str | None
# Narrower limits of fields, by name.
LIMITS: dict[str, Any] = {
    "n": Field(le=MOST_TICKETS, json_schema_extra={"minimum": 1}),
    "arms": Field(min_length=1, max_length=MOST_ARMS),
    "budget": Field(le=10**12, json_schema_extra={"minimum": 1}),
    "batch": Field(le=10**12, json_schema_extra={"minimum": 1}),
    "grid": Field(min_length=3, max_length=3),
    "lease": Field(gt=0, lt=1e10),
    "seed": Field(ge=0, le=2**63 - 1),
    "censor_at": Field(gt=0),
    "max_new_arms": Field(ge=0, le=MOST_ARMS),
}


class Body(BaseModel):
    """A request body: it has no other fields, and "3" and true are not numbers."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=()
    )
    request_type: ClassVar[Any] = None

    def to_request(self) -> Any:
        """Return the request from which this type of body was derived."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return self.request_type(**{name: _request(value) for name, value in values.items()})


def _request(value: Any) -> Any:
    if isinstance(value, Body):
        return value.to_request()
    return [_request(part) for part in value] if isinstance(value, list) else value


def example(**values: Any) -> ConfigDict:
    """Return the configuration of a body with an example, which the tests send, too."""
    return ConfigDict(json_schema_extra={"examples": [values]})


def body_of(kind: Any, **values: Any) -> type[Body]:
    """Return the type of the body of a request, from a dataclass and an example."""
    name, text = kind.__name__, summary_of(kind)
    body: type[Body] = create_model(name, __base__=Body, __doc__=text, **fields_of(kind))
    body.request_type = kind
    if values:
        body.model_config |= example(**values)
        body.model_rebuild(force=True)
    return body


def fields_of(kind: Any, **others: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as pydantic takes them; others replace or follow them."""
    return {part.name: field_of(kind, part.name) for part in fields(kind)} | others


def field_of(kind: Any, name: str) -> tuple[Any, Any]:
    """Return the type and the default of a field of a dataclass, as pydantic takes them."""
    [part] = [part for part in fields(kind) if part.name == name]
    accepted = _accepted(get_type_hints(kind)[name], name)
    text = part.metadata.get("description") or field_texts(kind).get(name)
    default = part.default if part.default_factory is MISSING else part.default_factory()
    return accepted, Field(... if default is MISSING else default, description=text)


def _accepted(hint: Any, name: str) -> Any:
    """Return the type of JSON for a type of Python, with the limits of a field of this name."""
    parts = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        kinds = [part if part is type(None) else _accepted(part, name) for part in parts]
        return reduce(or_, kinds)
    kind: Any = hint
    if is_dataclass(hint):
        kind = body_of(hint)
    elif hint is Any:
        kind = Cell
    elif get_origin(hint) in (list, tuple, Sequence):
        item = GenericAlias(list, (_accepted(parts[0], ""),))
        kind = Annotated[item, Field(max_length=MOST_ROWS)]
    elif get_origin(hint) in (dict, Mapping):
        kind = GenericAlias(dict, (str, _accepted(parts[1], "")))
    elif hint in (str, int):
        kind = {str: Text, int: Whole}[hint]
    return Annotated[kind, LIMITS[name]] if name in LIMITS else kind


class Question(Body):
    """The objective, the risk and the model of an instance or a study."""

    epsilon: Annotated[
        float,
        Field(
            description=EPSILON,
            json_schema_extra={"minimum": 0.0},
        ),
    ]
    multiplicative: Annotated[
        bool, Field(description="Good means at least 1 - epsilon times the best mean.")
    ] = False
    delta: Annotated[
        float,
        Field(
            description=describe("delta"),
            json_schema_extra={"exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0},
        ),
    ] = 0.05
    model: Annotated[
        str | dict[str, Any],
        Field(
            description="gaussian, bernoulli, poisson, exponential, bounded:LOW:HIGH or "
            "unknown-sigma; or the model of a study's design.",
            json_schema_extra={"pattern": MODELS},
        ),
    ] = "gaussian"
    sigma: Annotated[
        float | Annotated[list[float], Field(min_length=1, max_length=MOST_ARMS)] | None,
        Field(description=PARAMETERS["sigma"].description),
    ] = None

    def read_objective(self) -> Objective:
        return Multiplicative(self.epsilon) if self.multiplicative else Additive(self.epsilon)

    def read_model(self, needs_sigma: bool = True) -> Model:
        if isinstance(self.model, dict):
            return _stored_model(self.model)
        if needs_sigma and self.model == "gaussian" and self.sigma is None:
            raise ArgumentError(
                "sigma must be given for normal measurements: the standard deviation of repeated "
                "measurements of one arm; or model must be unknown-sigma, which takes more of "
                "them.",
                argument="sigma",
            )
        sigmas = [self.sigma] if isinstance(self.sigma, float) else self.sigma
        return model_by_name("model", self.model, sigmas)


def _stored_model(stored: dict[str, Any]) -> Model:
    try:
        return model_from_dict(stored)
    except (KeyError, TypeError, AttributeError):
        raise ArgumentError(
            f"model must be the name of a model, or the model of a study's design: got {stored!r}.",
            argument="model",
        ) from None


def _design_fields() -> dict[str, Any]:
    """Return the options of a study that ``Question`` has not in another form."""
    taken = {"objective", *Question.model_fields}
    options = {name: field_of(StudyDesign, name) for name in OPTIONS if name not in taken}
    return options | {"in_order": (bool | None, options["in_order"][1])}  # null: by the model


class NewStudy(create_model("DesignFields", __base__=Question, **_design_fields())):  # type: ignore[misc]
    """A new study: its name, its arms, its question and its options."""

    model_config = example(name="dyes", arms=["red", "green", "blue"], epsilon=1.0, sigma=1.0)
    client: Annotated[Text | None, Field(description="Who creates the study.")] = None

    def read_design(self) -> StudyDesign:
        options = {name: getattr(self, name) for name in OPTIONS if name in NewStudy.model_fields}
        options |= {"objective": self.read_objective(), "model": self.read_model()}
        return StudyDesign(**options)


def example_export() -> str:
    """Return the exported events of a study that has just begun."""
    body = NewStudy(name="dyes", arms=["red", "green", "blue"], epsilon=1.0, sigma=1.0)
    design = replace(body.read_design(), uid="0123456789abcdef0123456789abcdef")
    return Event(1, "created", 1.7e9, data=design.to_dict()).line() + "\n"


ROW: dict[str, Any] = fields_of(
    ToldRow,
    ticket=(Text | None, ...),
    value=(Cell, ...),
    plate=(int | str | None, None),
    line=(Annotated[int, Field(ge=0, le=2**31)], 0),  # 0: the number of the row in the list
    unit=(Literal["line", "row", "well"], "row"),
)


class Row(create_model("RowFields", __base__=Body, **ROW)):  # type: ignore[misc]
    """A value of a ticket, or of the control in a well."""

    def with_origin(self, row: ToldRow) -> ToldRow:
        """Return a row with its place in the file from which a client has read it."""
        if not self.line:
            return row
        names = ("line", "unit", "column", "extra")
        origin: dict[str, Any] = {name: getattr(self, name) for name in names}
        problem, missing = row.problem or self.problem, row.missing or self.missing
        return replace(row, problem=problem, missing=missing, **origin)


class HintBody(Body):
    """A hint about how a table was read."""

    code: Text
    option: Text | None = None
    value: Cell | dict[str, Cell] = None


Decimal = Literal[".", ","]
TELL: dict[str, Any] = fields_of(
    Tell, rows=(Annotated[list[Row], Field(max_length=MOST_ROWS)], ...), decimal=(Decimal, ".")
)
REPLACE: dict[str, Any] = fields_of(
    Replace, rows=(Annotated[list[Row], Field(max_length=MOST_ROWS)], ...), decimal=(Decimal, ".")
)
COUNTS: dict[str, Any] = fields_of(
    TellCounts,
    hints=(list[HintBody], []),
    columns=(dict[str, str] | None, None),
    decimal=(Decimal, "."),
)


class TellBody(create_model("TellFields", __base__=Body, **TELL)):  # type: ignore[misc]
    """Values of tickets; ``decimal`` is that of values that are texts."""

    model_config = example(rows=[{"ticket": "kfhw-1", "value": 0.4}], client="robot")


class ReplaceBody(create_model("ReplaceFields", __base__=Body, **REPLACE)):  # type: ignore[misc]
    """Values that replace those that were told; ``decimal`` is that of values that are texts."""

    model_config = example(
        rows=[{"ticket": "kfhw-1", "value": 0.4}], reason="file of another plate", client="robot"
    )


class CountsBody(create_model("CountsFields", __base__=Body, **COUNTS)):  # type: ignore[misc]
    """Numbers of rewards and their sums; ``columns`` are other names of the fields of rows."""

    model_config = example(
        rows=[{"arm": "red", "n": 1200, "sum": 96.0}], source="web log", period="2026-05-04"
    )


class Verify(Body):
    """A certificate to verify, and the number of its study."""

    model_config = example(certificate={"format": "allgood certificate 1"}, study=1)
    certificate: dict[str, Any]
    study: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class LogIn(Body):
    """The token with which a session begins."""

    model_config = example(token="TOKEN")
    token: Annotated[str, Field(min_length=1, max_length=1000)]


Means = Annotated[list[float], Field(min_length=1, max_length=2000)]


class PlanBody(Question):
    """An instance on which studies are simulated."""

    model_config = example(means=[1.0, 0.8, 0.5], epsilon=0.25, sigma=1.0)
    means: Means
    batch: Annotated[int, Field(ge=1, le=MOST_TICKETS)] = 1
    runs: Annotated[int, Field(ge=1, le=100)] = 20
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    budget: Annotated[int, Field(ge=1, le=10**6)] = 200_000


class Explore(Question):
    """An instance."""

    model_config = example(means=[1.0, 0.8, 0.5], epsilon=0.25)
    means: Means


class ExploreRun(Explore):
    """An instance on which a run is simulated."""

    model_config = example(means=[1.0, 0.8, 0.5], epsilon=0.25, seed=7)
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    max_pulls: Annotated[int, Field(ge=1, le=10**6)] = 200_000
    frames: Annotated[int, Field(ge=2, le=1000)] = 200
