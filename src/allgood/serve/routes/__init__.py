"""The HTTP interface, version 1, by subject; ``describe`` makes its OpenAPI description."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from ..requests import CountsBody, ReplaceBody, TellBody
from ..schemas import REFERENCE, response_schemas
from . import commands, events, instances, pages, reading, sessions, sheets, studies
from .base import TAGS

ROUTERS = (
    sessions.router,
    reading.router,
    pages.router,
    events.router,
    instances.router,
    sheets.router,
    sheets.managing,
    commands.measuring,
    commands.managing,
    studies.router,
)


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description, with the schemas that FastAPI does not see.

    It is made at the first request for it, so that the start does not wait for it.
    """
    if app.openapi_schema is None:
        described = FastAPI.openapi(app)
        bodies: list[Any] = [(body, "validation") for body in (TellBody, ReplaceBody, CountsBody)]
        _, unseen = models_json_schema(bodies, ref_template=REFERENCE)
        schemas = described["components"]["schemas"]
        for more in (unseen["$defs"], response_schemas()):
            assert not schemas.keys() & more.keys()  # else one name would mean two things
            schemas |= more
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
        described["security"] = [{}, {"token": []}]  # without tokens none is needed
    assert app.openapi_schema is not None
    return app.openapi_schema
