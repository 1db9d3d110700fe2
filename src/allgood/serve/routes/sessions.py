"""Routes for everybody: health, words, and sessions, which stand for a token in a browser."""

import hashlib
from functools import cache
from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import Response

from ... import __version__
from ..cache import as_json
from ..middleware import cookie_name
from ..requests import LogIn
from ..responses import Done, Health, Session, SessionRole
from ..tokens import find_token
from ..vocabulary import Vocabulary, vocabulary
from .base import JSON, json_of, new_router, respond, study_cache_of

router = new_router(None, "Server")


@router.get("/health", summary="Check that the server runs", responses=json_of(Health))
async def health() -> Response:
    return respond(Health())


@router.get(
    "/vocabulary",
    summary="Return the words for all codes, as data",
    responses=json_of(Vocabulary) | {304: {"description": "The caller has these words."}},
)
async def words(
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> Response:
    content = vocabulary_json()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in (if_none_match or ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=JSON, headers=headers)


@cache
def vocabulary_json() -> bytes:
    return as_json(vocabulary())


@router.get(
    "/session",
    summary="Return the role of the caller, and facts about the server",
    responses=json_of(Session),
)
async def session(request: Request) -> Response:
    study_cache, role = study_cache_of(request), request.state.role
    response = respond(
        Session(
            role=role,
            needs_token=bool(request.app.state.tokens),
            read_only=study_cache.read_only,
            version=__version__,
            database=study_cache.database if role else None,
        )
    )
    if role is None and cookie_name(request.scope) in request.cookies:  # its session has ended
        _delete_cookie(request, response)
    return response


@router.post("/session", summary="Begin a session with a token", responses=json_of(SessionRole))
async def log_in(request: Request, body: LogIn) -> Response:
    token = find_token(body.token, request.app.state.tokens)
    if token is None:
        raise request.state.wrong_token(request.state.caller.address)
    response = respond(SessionRole(token.role))
    _end_session(request)
    response.set_cookie(
        cookie_name(request.scope),
        request.app.state.sessions.begin(token),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


@router.delete("/session", summary="End the session", responses=json_of(Done))
async def log_out(request: Request) -> Response:
    response = respond(Done())
    _end_session(request)
    _delete_cookie(request, response)
    return response


def _end_session(request: Request) -> None:
    request.app.state.sessions.end(request.cookies.get(cookie_name(request.scope), ""))


def _delete_cookie(request: Request, response: Response) -> None:
    name = cookie_name(request.scope)
    response.delete_cookie(name, path="/", httponly=True, samesite="strict")
