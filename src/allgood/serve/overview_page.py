"""The overview of a study as its page shows it: one response with verdict, arms and tickets."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from .._internal.results import NullableFloat, ResultData
from ..study import sentences
from ..study.state import Note, Origin, Outcome, StudyState, TicketRecord
from ..study.status import ArmStatus, StudyStatus, SuspectValue
from .schemas import columns_of, with_types
from .views import arm_columns

COLUMNS = (
    "arm",
    "label",
    "measurements",
    "mean",
    "low",
    "high",
    "evidence",
    "need",
    "certified_after",
    "dropped",
    "withdrawn",
    "suspect",
    "waiting",
)
MOST_GROUPS, MOST_NAMES, MOST_NOTES, MOST_SUSPECTS = 12, 6, 5, 20


@dataclass(frozen=True)
class TicketGroup(ResultData):
    """The open tickets that one client has of one batch.

    Attributes:
        client: the client that has them; null if none was named.
        batch, on_plate: the number of the batch, and whether it is a plate.
        n: the number of tickets.
        arms, num_arms: the names of some of their arms, and the number of all.
        time, lease_until: when they were issued, and the first end of a lease, in seconds since
            1970.
    """

    client: str | None
    batch: int
    on_plate: bool
    n: int
    arms: list[str]
    num_arms: int
    time: float
    lease_until: float | None


@dataclass(frozen=True)
class OverviewPage(ResultData):
    """A study as its page shows it; other fields mean the same as in ``StudyStatus``.

    Attributes:
        arms: the arms, in their order: a list for each field.
        best: the highest average; null before the first measurement.
        threshold: the lowest mean at which an arm is good, by the averages.
        checks: what does not fit the model, in sentences.
        waiting: why values wait, in a sentence; empty if none do.
        suspects, num_suspects: some of the suspect values, and the number of all.
        notes: the newest remarks, the newest first.
        tickets, num_groups: some of the open tickets by client and batch, and the number of groups.
    """

    name: str
    question: str
    events: int
    outcome: Outcome
    verdict: str
    guarantee: str
    wording: str
    best: NullableFloat
    threshold: NullableFloat
    measurements: int
    pending: int
    failed: int
    corrections: int
    budget: int | None
    max_new_arms: int
    checks: list[str]
    waiting: str
    suspects: tuple[SuspectValue, ...]
    num_suspects: int
    notes: tuple[Note, ...]
    origin: Origin | None
    tickets: list[TicketGroup]
    num_groups: int
    arms: dict[str, list[Any]]


OverviewArms = columns_of(ArmStatus, "OverviewArms", COLUMNS)
SAME = [part.name for part in fields(OverviewPage) if part.name in StudyStatus.__annotations__]
OverviewData = with_types(OverviewPage, arms=OverviewArms)


def overview_page(status: StudyStatus, state: StudyState) -> OverviewPage:
    """Return what the page shows of a study."""
    groups = ticket_groups(state)
    means = [arm.mean for arm in status.arms if not arm.withdrawn and not math.isnan(arm.mean)]
    before = status.waits_for
    parts: dict[str, Any] = {name: getattr(status, name) for name in SAME} | {
        "best": max(means, default=math.nan),
        "threshold": state.design.objective.threshold(means) if means else math.nan,
        "checks": list(status.checks.sentences),
        "waiting": ""
        if before is None
        else sentences.waiting(status.waiting, before.id, before.arm, before.client),
        "suspects": status.suspects[:MOST_SUSPECTS],
        "num_suspects": len(status.suspects),
        "notes": status.notes[: -MOST_NOTES - 1 : -1],
        "tickets": groups[:MOST_GROUPS],
        "num_groups": len(groups),
        "arms": arm_columns(status, COLUMNS),
    }
    return OverviewPage(**parts)


def ticket_groups(state: StudyState) -> list[TicketGroup]:
    """Return the open tickets by client and batch, the newest first."""
    found: dict[tuple[str | None, int], list[TicketRecord]] = {}
    for ticket in state.open.values():
        found.setdefault((ticket.client, ticket.batch), []).append(ticket)
    groups = [_group(state.design.arms, tickets) for tickets in found.values()]
    return sorted(groups, key=lambda group: -group.time)


def _group(names: "tuple[str, ...]", tickets: list[TicketRecord]) -> TicketGroup:
    first = tickets[0]
    arms = dict.fromkeys(names[ticket.arm] for ticket in tickets)
    return TicketGroup(
        client=first.client,
        batch=first.batch,
        on_plate=first.well is not None,
        n=len(tickets),
        arms=list(arms)[:MOST_NAMES],
        num_arms=len(arms),
        time=first.time,
        lease_until=_earliest(ticket.lease_until for ticket in tickets),
    )


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)
