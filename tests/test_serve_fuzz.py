"""No request that the description allows, or forbids, is an error of the server."""

from collections import Counter

import pytest
from schemathesis.checks import FailureGroup

from allgood.serve.app import create_app
from allgood.serve.desk import Desk

from .serve_fuzzing import database, fuzz, operations


def test_no_request_is_an_error_of_the_server(tmp_path):
    """A few requests for each route; ``benchmarks/serve.py --fuzz`` sends more."""
    template, seen = database(tmp_path / "template.db"), Counter()
    for i, operation in enumerate(operations(template)):
        seen += fuzz(operation, template, tmp_path / f"{i}.db", 8)
    assert i + 1 >= 35
    assert max(seen) < 500
    assert seen[200] > 50  # many of them do something
    assert seen[422] > 50


def test_an_error_of_the_server_would_be_found(tmp_path, monkeypatch):
    """The control: one route is broken."""
    template = database(tmp_path / "template.db")
    [listing] = [o for o in operations(template) if o.label == "GET /v1/studies"]
    monkeypatch.setattr(Desk, "names", lambda _: 1 / 0)
    with pytest.raises(FailureGroup) as found:
        fuzz(listing, template, tmp_path / "copy.db", 8)
    assert "Server error" in str(found.value.exceptions)


def test_the_description_is_whole(tmp_path):
    """Every reference leads somewhere, and every operation has a name of its own."""
    app = create_app(str(database(tmp_path / "template.db")))
    app.state.desk.close()
    described = app.openapi()
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
