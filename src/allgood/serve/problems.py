"""Turn errors into responses: ``application/problem+json`` (RFC 9457), in the package's words."""

import json
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from ..study.backends.errors import (
    DamagedStudy,
    DatabaseUnavailable,
    StudyExists,
    StudyNotFound,
)
from .responses import Problem, ProblemPart

TYPE = "application/problem+json"
MOST_PARTS = 5  # errors of one request that are listed
# The status of an error of the package: that of the first class that fits.
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (DatabaseUnavailable, 503),
    (StudyExists, 409),
    (DamagedStudy, 500),
    (StudyNotFound, 404),
)
# What pydantic requires, by the types of its errors.
REQUIREMENTS = {
    "float_type": "be a number",
    "int_type": "be a whole number",
    "int_from_float": "be a whole number",
    "string_type": "be a text",
    "bool_type": "be true or false",
    "list_type": "be a list",
    "too_short": "have at least {min_length} entries",
    "too_long": "have at most {max_length} entries",
    "greater_than": "be above {gt}",
    "greater_than_equal": "be at least {ge}",
    "less_than": "be below {lt}",
    "less_than_equal": "be at most {le}",
}
# Parts of a location that name one of several types of a field.
UNIONS = {"float", "int", "str", "bool", "list[float]", "list[str]"}


class Refusal(Exception):
    """A request is refused with this status and this sentence."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        errors: tuple[ProblemPart, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.errors = errors


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **parts: Any
) -> Response:
    """Return the response to a request that failed; ``parts`` are further fields of Problem."""
    body = Problem("about:blank", HTTPStatus(status).phrase, status, detail, **parts)
    text = json.dumps(body.to_dict(), ensure_ascii=False)
    return Response(
        text.encode("utf-8", "backslashreplace"), status, dict(headers or {}), media_type=TYPE
    )


def problem_of(error: Exception) -> Response:
    """Return the response to a request that failed with this error."""
    if isinstance(error, Refusal):
        return problem(error.status, error.detail, error.headers, errors=error.errors)
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 422)
    argument = "name" if isinstance(error, StudyExists) else getattr(error, "argument", "")
    return problem(
        status,
        str(error),
        {"Retry-After": "1"} if status == 503 else None,
        error=type(error).__name__,
        errors=(ProblemPart(pointer_to(argument), str(error)),) if argument else (),
        hints=tuple(getattr(error, "hints", ())),
    )


def pointer_to(argument: str) -> str:
    """Return the JSON pointer to an argument, also to one that is named with its class.

    >>> pointer_to("arms[3]"), pointer_to("Additive(epsilon=...)")
    ('/arms/3', '/epsilon')
    """
    argument = re.sub(r"^\w+\((\w+)=\.\.\.\)$", r"\1", argument)
    name, *keys = argument.replace("]", "").split("[")
    return _pointer((name, *(key.strip("'\"") for key in keys)))


def _pointer(parts: Iterable[object]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def invalid_request(errors: Iterable[Any]) -> Refusal:
    """Return the refusal of a request that does not fit its schema, from pydantic's errors.

    The first part of each location names the place: body, query, path or header.  If a field may
    be of several types, pydantic has an error for each of them: the first one is shown.
    """
    by_place: dict[tuple[Any, ...], Any] = {}
    for error in errors:
        by_place.setdefault(tuple(part for part in error["loc"][1:] if part not in UNIONS), error)
    shown = list(by_place.items())[:MOST_PARTS]
    sentences = [_sentence(place, error) for place, error in shown]
    parts = tuple(
        ProblemPart(_pointer(place), sentence)
        for (place, error), sentence in zip(shown, sentences, strict=True)
        if error["type"] != "json_invalid"
    )
    return Refusal(422, " ".join(sentences), errors=parts)


def _sentence(parts: tuple[Any, ...], error: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in parts) or "the body"
    sent = repr(error.get("input"))
    shown = sent if len(sent) <= 60 else f"{sent[:57]}..."
    wanted = str(error["msg"]).removeprefix("Value error, ")
    wanted = wanted[:1].lower() + wanted[1:]
    if error["type"] in REQUIREMENTS:
        requirement = REQUIREMENTS[error["type"]].format(**error.get("ctx", {}))
        comma = error["type"] == "float_type" and re.search(r"\d,\d", sent)
        advice = " Write a point, not a comma, before the decimals." if comma else ""
        return f"{place} must {requirement}: got {shown}.{advice}"
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
