"""Derive the OpenAPI schemas of requests and responses from dataclasses.

A field has the type of the dataclass and the description of its docstring ("Attributes:").  Nothing
here runs while a request is answered: the tests compare every answer with its schema.
"""

import inspect
import re
from collections.abc import Collection
from dataclasses import fields, make_dataclass
from types import GenericAlias
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

REFERENCE = "#/components/schemas/{model}"
RESPONSES: dict[str, Any] = {}  # the types of responses that a route has named


def summary_of(kind: Any) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


def field_texts(kind: Any) -> dict[str, str]:
    """Return the description of each field, from "Attributes:" or "Args:" of the docstring."""
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    section = re.split("(?m)^(?:Attributes|Args):\n", inspect.getdoc(kind) or "", maxsplit=1)[-1]
    for line in section.splitlines():
        entry = re.match(r"    (\w+(?:, \w+)*): (.*)", line)
        if entry:
            names = entry[1].split(", ")
            texts |= {name: [entry[2]] for name in names}
        elif line and not line.startswith(" "):  # the section has ended
            break
        else:
            for name in names:
                texts[name].append(line.strip())
    return {name: _sentence(" ".join(lines)) for name, lines in texts.items()}


def _sentence(text: str) -> str:
    """Return a text of a docstring in the words of JSON."""
    text = re.sub(r"\bNone\b", "null", " ".join(text.split())).replace("``", "`")
    return text[:1].upper() + text[1:]


class ResultSchema(GenerateJsonSchema):
    """Describes what ``to_dict`` of a result returns: all fields, and the derived properties."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        kind, described = schema["cls"], super().dataclass_schema(schema)
        properties = described["properties"]
        for name in getattr(kind, "DERIVED", ()):
            getter = inspect.getattr_static(kind, name).fget
            returned = TypeAdapter(get_type_hints(getter)["return"])
            properties[name] = self.generate_inner(returned.core_schema)
            properties[name]["description"] = summary_of(getter)
        for part in properties.values():
            part.pop("default", None)
        return _with_texts(kind, described) | {"required": list(properties)}

    def tuple_schema(self, schema: core_schema.TupleSchema) -> dict[str, Any]:
        """Describe a tuple of one type as a list of a fixed length, which all readers know."""
        described = super().tuple_schema(schema)
        items = described.pop("prefixItems", [])
        if items:
            assert all(item == items[0] for item in items)
            described["items"] = items[0]
        return described

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> dict[str, Any]:
        return _with_texts(schema["cls"], super().typed_dict_schema(schema))


def _with_texts(kind: Any, described: dict[str, Any]) -> dict[str, Any]:
    """Add the descriptions of a class and of its fields to its schema."""
    for name, text in field_texts(kind).items():
        if name in described["properties"]:
            described["properties"][name]["description"] = text
    return described | {"description": summary_of(kind)}


def response(kind: Any) -> dict[str, Any]:
    """Return the reference to a response's schema, which ``response_schemas`` defines."""
    RESPONSES[kind.__name__] = kind
    return {"schema": {"$ref": REFERENCE.format(model=kind.__name__)}}


def response_schemas() -> dict[str, Any]:
    """Return the schemas of all responses, and of what they hold, by name."""
    inputs: list[Any] = [(kind, "serialization", TypeAdapter(kind)) for kind in RESPONSES.values()]
    _, described = TypeAdapter.json_schemas(
        inputs, ref_template=REFERENCE, schema_generator=ResultSchema
    )
    schemas: dict[str, Any] = described["$defs"]
    return schemas


def with_types(kind: Any, **types: Any) -> Any:
    """Return a dataclass like another, in which some fields have other types in JSON."""
    hints = get_type_hints(kind, include_extras=True) | types
    changed = make_dataclass(
        kind.__name__, [(part.name, hints[part.name]) for part in fields(kind)]
    )
    changed.__doc__ = kind.__doc__
    return changed


def columns_of(kind: Any, name: str, only: Collection[str] = ()) -> Any:
    """Return a dataclass with the fields of another, or only some, each a list of values."""
    hints = get_type_hints(kind, include_extras=True)
    names = [part.name for part in fields(kind) if not only or part.name in only]
    parts = [(part, GenericAlias(list, (hints[part],))) for part in names]
    columns = make_dataclass(name, parts)
    columns.__doc__ = f"The same for several: a list for each field.\n\n{inspect.getdoc(kind)}"
    return columns
