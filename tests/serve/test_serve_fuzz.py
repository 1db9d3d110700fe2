"""No request that the description allows, or forbids, is an error of the server."""

from collections import Counter

import jsonschema_rs
import pytest
from schemathesis.checks import FailureGroup

from allgood.serve.cache import StudyCache

from ..support.described import check, description
from ..support.serve_fuzzing import database, fuzz, operations


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A database, which nobody changes."""
    return database(tmp_path_factory.mktemp("fuzz") / "template.db")


def test_no_request_is_an_error_of_the_server(template, tmp_path):
    """A few requests for each route; ``benchmarks/serve.py --fuzz`` sends more."""
    seen, censored = Counter(), []
    for i, operation in enumerate(operations(template)):
        statuses = fuzz(operation, template, tmp_path / f"{i}.db", 5)
        seen += statuses
        if not any(200 <= status < 300 for status in statuses):
            censored.append(operation.label)
    assert i + 1 >= 38
    assert max(seen) < 500
    assert seen[200] > 50  # many of them do something
    assert seen[422] > 50
    # There are no tokens here, so none is known, and no arm that was dropped.
    assert censored == ["POST /v1/session", "POST /v1/studies/{id}/restore-arm"]


def test_an_error_of_the_server_would_be_found(template, tmp_path, monkeypatch):
    """The control: one route is broken."""
    [listing] = [o for o in operations(template) if o.label == "GET /v1/studies"]
    monkeypatch.setattr(StudyCache, "heads", lambda _: 1 / 0)
    with pytest.raises(FailureGroup) as found:
        fuzz(listing, template, tmp_path / "copy.db", 8)
    assert "Server error" in str(found.value.exceptions)


def wrong_kind(schemas):
    schemas["StudyList"]["properties"]["more"]["type"] = "string"


def missing_field(schemas):
    del schemas["StudyEntry"]["properties"]["events"]
    schemas["StudyEntry"]["required"].remove("events")


def invented_field(schemas):
    schemas["StudyEntry"]["required"].append("colour")


@pytest.mark.parametrize("spoil", [wrong_kind, missing_field, invented_field])
def test_a_wrong_description_of_an_answer_would_be_found(template, tmp_path, spoil):
    """The control: one answer is described wrongly."""
    spoilt = operations(template, lambda described: spoil(described["components"]["schemas"]))
    [listing] = [o for o in spoilt if o.label == "GET /v1/studies"]
    with pytest.raises(FailureGroup) as found:
        fuzz(listing, template, tmp_path / "copy.db", 20)
    assert "Response violates schema" in str(found.value.exceptions)


@pytest.mark.parametrize("body", [b'{"ok": 1}', b"{}", b'{"ok": true, "more": 1}'])
def test_the_client_of_the_tests_finds_wrong_answers(body):
    """The control of all tests that use it."""
    check("GET", "/v1/health", 200, "application/json", b'{"ok": true}')
    with pytest.raises(jsonschema_rs.ValidationError):
        check("GET", "/v1/health", 200, "application/json", body)


def test_the_description_is_whole():
    """Every reference leads somewhere, and every operation has a name of its own."""
    described = description()
    todo, names = [described], []
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += part
        elif isinstance(part, dict):
            todo += part.values()
            if isinstance(part.get("$ref"), str):
                where = described
                for key in part["$ref"].removeprefix("#/").split("/"):
                    where = where[key]
            if "operationId" in part:
                names.append(part["operationId"])
    assert len(names) == len(set(names)) >= 37
    sheet = described["paths"]["/v1/studies/{id}/sheet"]["get"]["responses"]["200"]["content"]
    assert "text/csv" in sheet
    assert "application/json" not in sheet


def test_every_answer_in_json_is_described():
    """By a class of ``answers.py``, with all its fields; and every body has an example."""
    described = description()
    schemas, named = described["components"]["schemas"], set()
    for methods in described["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                for kind, content in answer.get("content", {}).items():
                    if kind in ("application/json", "application/problem+json"):
                        name = content["schema"]["$ref"].rpartition("/")[2]
                        assert schemas[name]["description"]
                        named.add(name)
                        assert (name == "Problem") == (status in ("4XX", "5XX"))
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                if kind == "application/json":
                    assert schemas[content["schema"]["$ref"].rpartition("/")[2]]["examples"]
    assert len(named) >= 25
