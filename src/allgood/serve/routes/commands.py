"""Routes that change a study, one for each of its commands: add a line to ``COMMANDS`` for another.

Rows of values and counts come as JSON or as a sheet, and can be previewed; see ``sheets.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from ...study.commands.arms import AddArms, DropArm, RestoreArm
from ...study.commands.ask import Ask, PlannedBatch, PreviewAsk
from ...study.commands.base import Command
from ...study.commands.correct import Confirm, Correct
from ...study.commands.fail import Fail
from ...study.commands.settings import AddNote, SetBudget
from ...study.commands.tell import AddMeasurement
from ...study.commands.withdraw import Withdraw
from ...study.receipts import Change, Receipt
from ...study.state import Ticket
from ...study.study import Study
from ..requests import Body, body_of
from ..responses import Done, TicketBatch
from ..tokens import Role
from .base import (
    Key,
    StudyId,
    attributed,
    body_digest,
    change_study,
    execute,
    json_of,
    new_router,
    preview,
    respond,
    study_cache_of,
)

measuring, managing = new_router("measure", "Measuring"), new_router("manage", "Managing")
ROUTERS: dict[Role, Any] = {"measure": measuring, "manage": managing}
PreviewAskBody: Any = body_of(PreviewAsk, plate={"rows": 8, "columns": 12, "controls": "DMSO 8"})


def ticket_batch(study: Study, tickets: list[Ticket]) -> TicketBatch:
    """Return tickets with their sheet, and with the standing of the study."""
    with study.backend.reading() as state:
        return TicketBatch(tickets, study.sheet(tickets), state.outcome(), len(state.open))


def done(study: Study, result: None) -> Done:
    return Done()


@dataclass(frozen=True)
class CommandRoute:
    """The route of a command.

    Attributes:
        request: the command; its fields are the body, and its ``path`` ends the path.
        role: the role that the caller needs.
        response: the type of the response.
        summary: what the command does, for OpenAPI.
        example: a body, for OpenAPI and the tests.
        view: turns the study and the result into the response; by default the result is it.
    """

    request: type[Command[Any]]
    role: Role
    response: Any
    summary: str
    example: dict[str, Any]
    view: Callable[[Study, Any], Any] = lambda study, result: result


COMMANDS = (
    CommandRoute(
        Ask,
        "measure",
        TicketBatch,
        "Ask for tickets to measure next",
        {"n": 8, "client": "robot"},
        ticket_batch,
    ),
    CommandRoute(
        AddMeasurement,
        "measure",
        Receipt,
        "Add a measurement that nobody requested",
        {"arm": "red", "value": 0.4, "source": "notebook 7"},
    ),
    CommandRoute(
        Fail,
        "measure",
        Receipt,
        "Report tickets, or all open tickets of a batch, as failed",
        {"tickets": ["kfhw-1"], "reason": "no signal"},
    ),
    CommandRoute(
        Confirm,
        "measure",
        Change,
        "Confirm a suspect value, so that it counts",
        {"ticket": "kfhw-1", "reason": "measured again"},
    ),
    CommandRoute(
        AddNote,
        "measure",
        Done,
        "Add a note to the study, an arm or a ticket",
        {"text": "The incubator was open.", "arm": "red"},
        done,
    ),
    CommandRoute(
        Correct,
        "manage",
        Change,
        "Correct a value that was told",
        {"measurement": "kfhw-1", "value": 0.4, "reason": "typed wrongly"},
    ),
    CommandRoute(
        Withdraw,
        "manage",
        Change,
        "Withdraw values that were told, so that they do not count",
        {"batch": 2, "wells": ["B7"], "reason": "air bubble", "basis": "cause"},
    ),
    CommandRoute(
        RestoreArm,
        "manage",
        Change,
        "Restore a dropped arm: it may be measured again",
        {"arm": "red", "reason": "dropped by mistake"},
    ),
    CommandRoute(
        DropArm,
        "manage",
        Change,
        "Drop an arm, so that it is not measured again",
        {"arm": "red", "reason": "none left"},
    ),
    CommandRoute(
        SetBudget,
        "manage",
        Change,
        "Set the budget",
        {"budget": 500, "reason": "more money"},
    ),
    CommandRoute(
        AddArms,
        "manage",
        Change,
        "Add arms",
        {"arms": ["black", "white"], "reason": "arrived today"},
    ),
)


def _add(command: CommandRoute) -> None:
    """Add the route of a command to the router of its role."""

    async def handle(request: Request, number: StudyId, body: Body, key: Key = None) -> Response:
        change = partial(_change, command, attributed(request, body.to_request()))
        return await change_study(request, number, key, body_digest(request, body), change)

    handle.__annotations__["body"] = body_of(command.request, **command.example)
    handle.__name__ = command.request.path.replace("-", "_")
    ROUTERS[command.role].add_api_route(
        f"/studies/{{id}}/{command.request.path}",
        handle,
        methods=["POST"],
        summary=command.summary,
        responses=json_of(command.response),
    )


@measuring.post(
    "/studies/{id}/ask/preview",
    summary="Preview the tickets and the plate that ask would return",
    responses=json_of(PlannedBatch),
)
def preview_ask(request: Request, number: StudyId, body: PreviewAskBody) -> Response:
    return respond(preview(study_cache_of(request).study(number), body.to_request()))


def _change(command: CommandRoute, request: Command[Any], study: Study) -> Any:
    return command.view(study, execute(study, request))


for route in COMMANDS:
    _add(route)
