"""Errors as answers: ``application/problem+json`` (RFC 9457), with the sentences of the package."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from ..study.backends.errors import (
    DamagedStudy,
    DatabaseUnavailable,
    StudyExists,
    StudyNotFound,
)

TYPE = "application/problem+json"


class Refused(Exception):
    """A request that is refused, with what to say."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, error: str | None = None
) -> Response:
    """The answer to a request that failed; ``error`` is the name of the error in Python."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if error is not None:
        body["error"] = error
    text = json.dumps(body, ensure_ascii=False)
    return Response(
        text.encode("utf-8", "backslashreplace"), status, dict(headers or {}), media_type=TYPE
    )


def problem_of(error: Exception) -> Response:
    """The answer for an error of the package."""
    if isinstance(error, Refused):
        return problem(error.status, error.detail, error.headers)
    name = type(error).__name__
    if isinstance(error, DatabaseUnavailable):
        return problem(503, str(error), {"Retry-After": "1"}, name)
    if isinstance(error, StudyExists):
        return problem(409, str(error), error=name)
    if isinstance(error, DamagedStudy):
        return problem(500, str(error), error=name)
    if isinstance(error, StudyNotFound):
        return problem(404, str(error), error=name)
    return problem(422, str(error), error=name)


def sentence_of(errors: "list[Any]") -> str:
    """What is wrong with a request that does not fit the description, in a sentence for each."""
    return " ".join(_sentence(error) for error in errors[:5])


def _sentence(error: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"][1:]) or "the body"
    given = repr(error.get("input"))
    shown = given if len(given) <= 60 else f"{given[:57]}..."
    wanted = str(error["msg"]).removeprefix("Value error, ")
    wanted = wanted[:1].lower() + wanted[1:]
    if error["type"] == "missing":
        return f"{place} must be given."
    if error["type"] == "json_invalid" and "is there twice" in error["ctx"]["error"]:
        return f"the body must have every key once: {error['ctx']['error']}."
    if error["type"] == "json_invalid":
        if place.isdigit():
            return f"the body must be JSON: it is not from character {place} on."
        return f"the body must be JSON: {error['ctx']['error']}."
    if error["type"] == "model_attributes_type" and isinstance(error.get("input"), bytes):
        return "Content-Type must be application/json, with JSON in the body."
    if error["type"] == "extra_forbidden":
        return f"{place} must be left out: there is no such field."
    return f"{place} must fit: {wanted}; got {shown}."
