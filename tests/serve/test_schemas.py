"""OpenAPI schemas derived from dataclasses, and problems that name the fields that are wrong."""

import json
from dataclasses import dataclass, field, fields

import pytest

from allgood import Additive, Gaussian, create_study
from allgood._internal.arguments import ArgumentError
from allgood._internal.results import NullableFloat, ResultData
from allgood.serve.problems import pointer_to, problem_of
from allgood.serve.requests import NewStudy, body_of, field_of
from allgood.serve.routes.commands import COMMANDS
from allgood.serve.schemas import columns_of, field_texts, response, response_schemas, with_types
from allgood.study.design import OPTIONS, StudyDesign, describe

from ..support.described import description
from ..support.serving import Client


@dataclass(frozen=True)
class Weight(ResultData):
    """A weight of an arm.

    It has more than a line.

    Attributes:
        arm: the arm's name.
        low, high: an interval; None if
            there is none.
    """

    DERIVED = ("width",)
    arm: str
    low: NullableFloat | None
    high: NullableFloat | None = None
    pairs: list[tuple[int, int]] = field(default_factory=list)

    @property
    def width(self) -> float:
        """The difference of the ends."""
        return (self.high or 0.0) - (self.low or 0.0)


def test_descriptions_come_from_the_docstring():
    texts = field_texts(Weight)
    assert texts == {
        "arm": "The arm's name.",
        "low": "An interval; null if there is none.",
        "high": "An interval; null if there is none.",
    }
    assert field_texts(int) == {}


def test_a_schema_has_every_field_of_the_result():
    response(Weight)
    schema = response_schemas()["Weight"]
    assert schema["description"] == "A weight of an arm."
    assert schema["required"] == list(Weight("a", 1.0).to_dict())
    properties = schema["properties"]
    assert properties["width"]["description"] == "The difference of the ends."
    assert properties["pairs"]["items"]["maxItems"] == 2
    assert {"type": "null"} in properties["high"]["anyOf"]
    assert "default" not in properties["high"]


def test_types_may_differ_in_json():
    columns = columns_of(Weight, "WeightColumns")
    assert columns.__annotations__["arm"] == list[str]
    assert field_texts(columns) == field_texts(Weight)
    changed = with_types(Weight, arm=int)
    assert (changed.__name__, changed.__annotations__["arm"]) == ("Weight", int)


def test_every_command_is_a_route_with_its_own_fields():
    """Nothing is listed again: a new field of a command is a field of the body."""
    described = description()
    for command in COMMANDS:
        operation = described["paths"][f"/v1/studies/{{id}}/{command.request.path}"]["post"]
        name = command.request.__name__
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert reference.endswith(f"/{name}")
        schema = described["components"]["schemas"][name]
        assert list(schema["properties"]) == [part.name for part in fields(command.request)]
        assert operation["summary"][0].isupper()


def test_a_body_becomes_its_request():
    for command in COMMANDS:
        body = body_of(command.request).model_validate_json(json.dumps(command.example))
        request = body.to_request()
        assert type(request) is command.request
        assert request.to_dict().items() >= command.example.items()


def test_options_of_a_study_are_those_of_its_design():
    for name in OPTIONS:
        if name in ("objective", "model", "delta"):  # the body has them in another form
            continue
        assert NewStudy.model_fields[name].description == describe(name)
        assert field_of(StudyDesign, name)[1].description == describe(name)


@pytest.mark.parametrize(
    ("argument", "pointer"),
    [
        ("n", "/n"),
        ("arms[3]", "/arms/3"),
        ("controls['a/b']", "/controls/a~1b"),
        ("a~b", "/a~0b"),
        ("Additive(epsilon=...)", "/epsilon"),
    ],
)
def test_an_argument_is_pointed_to(argument, pointer):
    assert pointer_to(argument) == pointer
    answer = json.loads(problem_of(ArgumentError("it must fit.", argument=argument)).body)
    assert answer["errors"] == [{"pointer": pointer, "detail": "it must fit."}]
    assert (answer["detail"], answer["error"]) == ("it must fit.", "ArgumentError")


@pytest.mark.parametrize(
    ("path", "body", "pointers"),
    [
        ("/v1/studies/1/ask", {"n": 0}, ["/n"]),
        ("/v1/studies/1/ask", {"n": "3", "m": 1}, ["/n", "/m"]),
        ("/v1/studies/1/tell", {"rows": [{"ticket": "a"}]}, ["/rows/0/value"]),
        ("/v1/studies/1/budget", {"budget": 600, "reason": " "}, ["/reason"]),
        ("/v1/studies", {"name": "s", "arms": ["a"], "epsilon": 1.0, "sigma": 1.0}, ["/name"]),
        ("/v1/studies", {"name": "t", "arms": ["a", " "], "epsilon": 1, "sigma": 1}, ["/arms/1"]),
        ("/v1/studies", {"name": "t", "arms": ["a"], "epsilon": 1.0}, ["/sigma"]),
        ("/v1/studies", {"name": "t", "arms": ["a"], "epsilon": 1, "sigma": 1, "delta": 2}, 1),
        ("/v1/studies/0/ask", {"n": 1}, ["/id"]),
    ],
)
def test_a_problem_names_the_fields_that_are_wrong(tmp_path, path, body, pointers):
    file = tmp_path / "s.db"
    create_study(
        file, "s", arms=["a", "b"], objective=Additive(1.0), delta=0.1, model=Gaussian(1.0)
    ).close()
    with Client(file) as client:
        refused = client.post(path, body)
        assert refused.status in (409, 422)
        assert refused.detail
        assert refused.pointers == (["/delta"] if pointers == 1 else pointers)
        for part in refused.json["errors"]:
            assert part["detail"] in refused.detail
