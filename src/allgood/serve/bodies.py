"""What may be sent, as OpenAPI describes it.

These classes check shapes and sizes.  What a value means, and whether it is right, is for the
methods of ``Study`` to say.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..laws.base import Law
from ..laws.table import law_from_dict, law_named
from ..objectives import Additive, Multiplicative, Objective
from ..study.plates import Plate

MOST_ARMS = 100_000
MOST_ROWS = 1_000_000
MOST_TICKETS = 10_000

# What ``json_schema_extra`` describes, the package checks, and says in its own words.
MODELS = "^(gaussian|bernoulli|poisson|exponential|unknown-sigma|bounded:-?[0-9]+:[0-9]+)$"
Text = Annotated[
    str, Field(max_length=10_000, json_schema_extra={"minLength": 1, "maxLength": 1000})
]
Cell = bool | int | float | str | None
Count = Annotated[int, Field(le=10**12, json_schema_extra={"minimum": 1})]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=())


class Question(Body):
    """Which arms are good, at which risk, under which noise."""

    epsilon: Annotated[
        float,
        Field(
            description="How far from the best an arm may be and still be good.",
            json_schema_extra={"minimum": 0.0},
        ),
    ]
    multiplicative: Annotated[
        bool, Field(description="Good means at least 1 - epsilon times the best mean.")
    ] = False
    delta: Annotated[
        float,
        Field(
            description="Risk that any label is ever certified wrongly.",
            json_schema_extra={"exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0},
        ),
    ] = 0.05
    model: Annotated[
        str | dict[str, Any],
        Field(
            description="gaussian, bernoulli, poisson, exponential, bounded:LOW:HIGH or "
            "unknown-sigma; or as a study's design has it.",
            json_schema_extra={"pattern": MODELS},
        ),
    ] = "gaussian"
    sigma: Annotated[
        float | Annotated[list[float], Field(min_length=1, max_length=MOST_ARMS)] | None,
        Field(description="Standard deviation of normal measurements of one arm."),
    ] = None

    def objective(self) -> Objective:
        return Multiplicative(self.epsilon) if self.multiplicative else Additive(self.epsilon)

    def law(self, needs_sigma: bool = True) -> Law:
        if isinstance(self.model, dict):
            return _stored_law(self.model)
        if needs_sigma and self.model == "gaussian" and self.sigma is None:
            raise ValueError(
                "sigma must be given for normal measurements: the standard deviation of repeated "
                "measurements of one arm; or model must be unknown-sigma, which takes more of them."
            )
        return law_named("model", self.model, self._sigmas())

    def _sigmas(self) -> list[float] | None:
        return [self.sigma] if isinstance(self.sigma, float) else self.sigma


def _stored_law(stored: dict[str, Any]) -> Law:
    try:
        return law_from_dict(stored)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            f"model must be the name of a law, or one as a study's design has it: got {stored!r}."
        ) from None


class NewStudy(Question):
    """A new study; ``create_study`` says what each part means."""

    name: Text
    arms: Annotated[list[Text], Field(min_length=1, max_length=MOST_ARMS)]
    pool: bool = True
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    budget: Count | None = None
    check_values: bool = True
    in_order: bool | None = None
    deadline: Annotated[float, Field(gt=0)] | None = None
    reserve: Annotated[int, Field(ge=0, le=MOST_ARMS)] = 0


class PlateBody(Body):
    rows: Annotated[int, Field(ge=1, le=64)] = 8
    columns: Annotated[int, Field(ge=1, le=96)] = 12
    controls: Annotated[
        dict[str, int | list[str]],
        Field(description="For each control a number of wells, or a list of wells."),
    ] = {}
    edge: Annotated[bool, Field(description="Whether arms may stand at the edge.")] = True

    def plate(self) -> Plate:
        return Plate(self.rows, self.columns, self.controls, self.edge)


class Ask(Body):
    n: Annotated[int, Field(le=MOST_TICKETS, json_schema_extra={"minimum": 1})] | None = None
    client: Text | None = None
    lease: (
        Annotated[
            float,
            Field(gt=0, lt=1e10, description="Seconds after which a ticket is offered again."),
        ]
        | None
    ) = None
    plate: PlateBody | None = None


class Row(Body):
    ticket: Text | None
    value: Cell
    arm: str | None = None
    well: str | None = None
    plate: int | str | None = None


class Tell(Body):
    rows: Annotated[list[Row], Field(max_length=MOST_ROWS)]
    client: Text | None = None
    all_or_nothing: bool = False
    normalise: Text | None = None
    decimal: Literal[".", ","] = "."


class TellCounts(Body):
    rows: Annotated[list[dict[str, Cell]], Field(max_length=MOST_ROWS)]
    source: Text
    period: Text | None = None
    columns: dict[str, str] | None = None
    decimal: Literal[".", ","] = "."
    correct: (
        Annotated[
            Text,
            Field(description="Why numbers differ from those told before, which they replace."),
        ]
        | None
    ) = None
    client: Text | None = None


class Unasked(Body):
    arm: Text
    value: Cell
    source: Text
    client: Text | None = None


class Fail(Body):
    """One ticket, or all open tickets of a batch."""

    ticket: Text | None = None
    batch: Count | None = None
    reason: Text


class Confirm(Body):
    ticket: Text
    reason: Text


class Correct(Body):
    observation: Text
    value: Cell | dict[str, Cell]
    reason: Text


class Abandon(Body):
    arm: Text
    reason: Text


class Extend(Body):
    budget: Count | None
    reason: Text


class AddArms(Body):
    arms: Annotated[list[Text], Field(min_length=1, max_length=MOST_ARMS)]
    reason: Text


class NoteBody(Body):
    text: Text
    arm: Text | None = None
    ticket: Text | None = None
    client: Text | None = None


class Verify(Body):
    certificate: dict[str, Any]
    study: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class LogIn(Body):
    token: Annotated[str, Field(min_length=1, max_length=1000)]


Means = Annotated[list[float], Field(min_length=1, max_length=2000)]


class PlanBody(Question):
    means: Means
    batch: Annotated[int, Field(ge=1, le=MOST_TICKETS)] = 1
    runs: Annotated[int, Field(ge=1, le=100)] = 20
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    budget: Annotated[int, Field(ge=1, le=10**6)] = 200_000


class Explore(Question):
    means: Means


class ExploreRun(Explore):
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    max_pulls: Annotated[int, Field(ge=1, le=10**6)] = 200_000
    frames: Annotated[int, Field(ge=2, le=1000)] = 200
