"""The page /docs: the HTTP interface for people, made from its OpenAPI description."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

METHODS = ("get", "post", "delete")
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}


@dataclass(frozen=True)
class Field:
    """A parameter of a request, or a field of a type."""

    name: str
    type: Markup
    required: bool
    text: str


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    id: str
    method: str
    path: str
    summary: str
    parameters: list[Field]
    body: Markup | None
    command: str
    answers: list[tuple[str, Markup]]


@dataclass(frozen=True)
class Group:
    """The operations of one tag."""

    id: str
    name: str
    text: str
    operations: list[Operation]


@dataclass(frozen=True)
class NamedType:
    """A type that requests or answers hold."""

    name: str
    text: str
    fields: list[Field]


def docs_html(described: Mapping[str, Any]) -> str:
    """Return the page for an OpenAPI description."""
    page: str = (
        _environment()
        .get_template("docs.html")
        .render(info=described["info"], groups=_groups(described), types=_types(described))
    )
    return page


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("allgood.serve"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _groups(described: Mapping[str, Any]) -> list[Group]:
    operations: dict[str, list[Operation]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method in METHODS:
            if method in methods:
                [tag] = methods[method]["tags"]
                operations[tag].append(_operation(path, method, methods[method], described))
    return [
        Group(_anchor(tag["name"]), tag["name"], tag["description"], operations[tag["name"]])
        for tag in described["tags"]
    ]


def _anchor(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def _operation(
    path: str, method: str, part: Mapping[str, Any], described: Mapping[str, Any]
) -> Operation:
    parameters = [
        Field(
            parameter["name"],
            _type(parameter["schema"]),
            parameter.get("required", False),
            _text(parameter.get("description", ""), parameter["schema"]),
        )
        for parameter in part.get("parameters", ())
    ]
    body = part.get("requestBody", {}).get("content", {})
    answers = [
        (status, _content(answer["content"]) if "content" in answer else Markup("nothing"))
        for status, answer in part["responses"].items()
        if not status.endswith("XX")
    ]
    return Operation(
        _anchor(f"{method} {path}"),
        method.upper(),
        path,
        part["summary"],
        parameters,
        _content(body) if body else None,
        _command(path, method, body, described),
        answers,
    )


def _content(content: Mapping[str, Any]) -> Markup:
    """Return the types that a body may have, each with its media type."""
    parts = [
        Markup("{} ({})").format(_type(part["schema"]), media) for media, part in content.items()
    ]
    return Markup("; or ").join(parts)


def _command(path: str, method: str, body: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    """Return a command that sends the example of a request; empty if the request has no body."""
    schema = body.get("application/json", {}).get("schema", {})
    named = described["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
    if not named.get("examples"):
        return ""
    example = json.dumps(named["examples"][0], ensure_ascii=False)
    return (
        f"curl -X {method.upper()} http://localhost:8765{path.replace('{id}', '1')} \\\n"
        f"  -H 'Content-Type: application/json' -d '{example}'"
    )


def _types(described: Mapping[str, Any]) -> list[NamedType]:
    return [
        NamedType(name, schema.get("description", ""), _fields(schema))
        for name, schema in sorted(described["components"]["schemas"].items())
        if "properties" in schema
    ]


def _fields(schema: Mapping[str, Any]) -> list[Field]:
    required = schema.get("required", ())
    return [
        Field(name, _type(part), name in required, _text(part.get("description", ""), part))
        for name, part in schema["properties"].items()
    ]


def _text(text: str, schema: Mapping[str, Any]) -> str:
    """Return the description of a field, with its limits and its default."""
    plain = {**next(iter(schema.get("anyOf", [{}]))), **schema}
    notes = [words.format(plain[name]) for name, words in LIMITS.items() if name in plain]
    if schema.get("default") is not None:
        notes.append(f"by default {json.dumps(schema['default'])}")
    sentence = ", ".join(notes)
    return f"{text} {sentence[:1].upper()}{sentence[1:]}.".strip() if notes else text


def _type(schema: Mapping[str, Any]) -> Markup:
    """Return a type in words, with links to the types that it names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#type-{}">{}</a>').format(name, name)
    if "anyOf" in schema or "oneOf" in schema:
        kinds = dict.fromkeys(map(_type, schema.get("anyOf") or schema["oneOf"]))
        return Markup(" or ").join(kinds)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return Markup(", ").join(json.dumps(value) for value in values)
    if schema.get("type") == "array":
        return Markup("list of {}").format(_type(schema.get("items", {})))
    if isinstance(schema.get("additionalProperties"), Mapping):
        return Markup("object whose values are {}").format(_type(schema["additionalProperties"]))
    return Markup(schema.get("type", "any value"))
