"""Answers compared with the description of the interface (OpenAPI)."""

import functools
import json
import re
import tempfile
from pathlib import Path

import jsonschema_rs
from typing_extensions import is_typeddict

from allgood.serve import responses as answers
from allgood.serve.app import create_app


def closed(described):
    """The description, with answers that have no other fields.  Clients need not be so strict."""
    for kind in filter(is_typeddict, vars(answers).values()):
        described["components"]["schemas"][kind.__name__]["additionalProperties"] = False
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
    """What a route may answer, by status; None if there is no such route."""
    paths = description()["paths"]
    fixed_first = sorted(paths, key=lambda template: template.count("{"))
    for template in fixed_first:
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and method.lower() in paths[template]:
            return paths[template][method.lower()]["responses"]
    return None


def check(method, path, status, kind, body):
    """Fails if a route answers otherwise than described."""
    described = answers_of(method, path)
    if described is None:
        return
    content = described.get(str(status), described.get(f"{status // 100}XX"))["content"]
    schema = content[kind.partition(";")[0]]["schema"]
    if "$ref" in schema:
        validator(schema["$ref"]).validate(json.loads(body))
