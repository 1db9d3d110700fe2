"""Compare responses with the description of the interface (OpenAPI)."""

import functools
import json
import re
import tempfile
from pathlib import Path

import jsonschema_rs

from allgood.serve.app import create_app


def closed(described):
    """Allow no other fields in objects that have any.  Clients need not be so strict."""
    for schema in described["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return described


@functools.cache
def description():
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(str(Path(folder) / "empty.db"))
        app.state.study_cache.close()
        return closed(app.openapi())


@functools.cache
def validator(reference):
    whole = {"$ref": reference, "components": description()["components"]}
    return jsonschema_rs.Draft202012Validator(whole)


def answers_of(method, path):
    """Return the responses of a route, by status; None if there is no such route."""
    paths = description()["paths"]
    fixed_first = sorted(paths, key=lambda template: template.count("{"))
    for template in fixed_first:
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and method.lower() in paths[template]:
            return paths[template][method.lower()]["responses"]
    return None


def check(method, path, status, kind, body):
    """Fail if a route answers otherwise than described."""
    described = answers_of(method, path)
    if described is None:
        return
    content = described.get(str(status), described.get(f"{status // 100}XX")).get("content")
    if content is None:
        assert not body
        return
    schema = content[kind.partition(";")[0]]["schema"]
    if "$ref" in schema:
        validator(schema["$ref"]).validate(json.loads(body))
