"""The scripts of the page use fields that answers have: Deno checks them against OpenAPI."""

import json

import pytest

from ..support import page_types
from ..support.described import description

needs_deno = pytest.mark.skipif(
    page_types.deno() is None, reason="the package deno, which checks types, is not installed"
)


def renamed(name, field):
    """The description after a field of a type got another name."""
    described = json.loads(json.dumps(description()))
    schema = described["components"]["schemas"][name]
    schema["properties"][f"{field}_now"] = schema["properties"].pop(field)
    schema["required"] = [f"{field}_now" if key == field else key for key in schema["required"]]
    return described


def test_types_of_schemas():
    assert page_types.type_of({"anyOf": [{"type": "integer"}, {"type": "null"}]}) == "number | null"
    assert page_types.type_of({"type": "array", "items": {"$ref": "#/x/Well"}}) == "(Well)[]"
    assert page_types.type_of({"enum": ["good", "bad"]}) == '"good" | "bad"'
    assert page_types.type_of({"additionalProperties": {"type": "number"}, "type": "object"}) == (
        "Record<string, number>"
    )
    declared = page_types.declarations(description())
    assert '[["studies", string, "events"], EventPage]' in declared
    assert "export interface EventPage {\n  events: (EventData)[];\n  last: number;" in declared


@needs_deno
def test_the_page_uses_no_field_that_answers_lack(tmp_path):
    assert page_types.check(description(), tmp_path) == []


@needs_deno
def test_a_renamed_field_is_found(tmp_path):
    """The control of the test above."""
    found = page_types.check(renamed("EventPage", "events"), tmp_path)
    assert ("pages/history.js", "events", "EventPage") in found
