"""What may be sent, as OpenAPI describes it.

These classes check shapes and sizes.  What a value means, and whether it is right, is for the
methods of ``Study`` to say.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..models.base import Model
from ..models.gaussian import Gaussian
from ..models.registry import model_by_name, model_from_dict
from ..objectives import Additive, Multiplicative, Objective
from ..study.design import StudyDesign
from ..study.events import Event
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
    # strict: "3" and true are no numbers.
    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=()
    )


def example(**fields: Any) -> ConfigDict:
    """A body that makes sense, for readers; the tests send it, too."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


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

    def read_model(self, needs_sigma: bool = True) -> Model:
        if isinstance(self.model, dict):
            return _stored_model(self.model)
        if needs_sigma and self.model == "gaussian" and self.sigma is None:
            raise ValueError(
                "sigma must be given for normal measurements: the standard deviation of repeated "
                "measurements of one arm; or model must be unknown-sigma, which takes more of them."
            )
        return model_by_name("model", self.model, self._sigmas())

    def _sigmas(self) -> list[float] | None:
        return [self.sigma] if isinstance(self.sigma, float) else self.sigma


def _stored_model(stored: dict[str, Any]) -> Model:
    try:
        return model_from_dict(stored)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            f"model must be the name of a model, or one as a study's design has it: got {stored!r}."
        ) from None


class NewStudy(Question):
    """A new study; ``create_study`` says what each part means."""

    model_config = example(name="dyes", arms=["red", "green", "blue"], epsilon=1.0, sigma=1.0)
    name: Text
    arms: Annotated[list[Text], Field(min_length=1, max_length=MOST_ARMS)]
    pool: bool = True
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    budget: Count | None = None
    check_values: bool = True
    in_order: bool | None = None
    censor_at: Annotated[float, Field(gt=0)] | None = None
    max_new_arms: Annotated[int, Field(ge=0, le=MOST_ARMS)] = 0


def example_of_lines() -> str:
    """The events of a study that has just begun, as they are exported."""
    design = StudyDesign(
        name="dyes",
        uid="0123456789abcdef0123456789abcdef",
        arms=("red", "green", "blue"),
        objective=Additive(1.0),
        delta=0.05,
        model=Gaussian(1.0),
        pool=True,
        seed=0,
        budget=None,
    )
    return Event(1, "created", 1.7e9, data=design.to_dict()).line() + "\n"


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
    model_config = example(n=8, client="robot")
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
    model_config = example(rows=[{"ticket": "kfhw-1", "value": 0.4}], client="robot")
    rows: Annotated[list[Row], Field(max_length=MOST_ROWS)]
    client: Text | None = None
    all_or_nothing: bool = False
    normalise: Text | None = None
    decimal: Literal[".", ","] = "."


class TellCounts(Body):
    model_config = example(
        rows=[{"arm": "red", "n": 1200, "sum": 96.0}], source="web log", period="2026-05-04"
    )
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


class AddMeasurement(Body):
    model_config = example(arm="red", value=0.4, source="notebook 7")
    arm: Text
    value: Cell
    source: Text
    client: Text | None = None


class Fail(Body):
    """One ticket, several, or all open tickets of a batch."""

    model_config = example(ticket="kfhw-1", reason="no signal")
    ticket: Text | None = None
    tickets: Annotated[list[Text], Field(max_length=MOST_ROWS)] | None = None
    batch: Count | None = None
    reason: Text


class Confirm(Body):
    model_config = example(ticket="kfhw-1", reason="measured again")
    ticket: Text
    reason: Text


class Correct(Body):
    model_config = example(measurement="kfhw-1", value=0.4, reason="typed wrongly")
    measurement: Text
    value: Cell | dict[str, Cell]
    reason: Text


class DropArm(Body):
    model_config = example(arm="red", reason="none left")
    arm: Text
    reason: Text


class SetBudget(Body):
    model_config = example(budget=500, reason="more money")
    budget: Count | None
    reason: Text


class AddArms(Body):
    model_config = example(arms=["black", "white"], reason="arrived today")
    arms: Annotated[list[Text], Field(min_length=1, max_length=MOST_ARMS)]
    reason: Text


class NoteBody(Body):
    model_config = example(text="The incubator was open.", arm="red")
    text: Text
    arm: Text | None = None
    ticket: Text | None = None
    client: Text | None = None


class Verify(Body):
    model_config = example(certificate={"format": "allgood certificate 1"}, study=1)
    certificate: dict[str, Any]
    study: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class LogIn(Body):
    model_config = example(token="TOKEN")
    token: Annotated[str, Field(min_length=1, max_length=1000)]


Means = Annotated[list[float], Field(min_length=1, max_length=2000)]


class PlanBody(Question):
    model_config = example(means=[1.0, 0.8, 0.5], epsilon=0.25, sigma=1.0)
    means: Means
    batch: Annotated[int, Field(ge=1, le=MOST_TICKETS)] = 1
    runs: Annotated[int, Field(ge=1, le=100)] = 20
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    budget: Annotated[int, Field(ge=1, le=10**6)] = 200_000


class Explore(Question):
    model_config = example(means=[1.0, 0.8, 0.5], epsilon=0.25)
    means: Means


class ExploreRun(Explore):
    model_config = example(means=[1.0, 0.8, 0.5], epsilon=0.25, seed=7)
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    max_pulls: Annotated[int, Field(ge=1, le=10**6)] = 200_000
    frames: Annotated[int, Field(ge=2, le=1000)] = 200
