"""The overview of a study as its page shows it: one response with verdict, arms and tickets."""

import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from ..study import sentences
from ..study.state import StudyState, TicketRecord
from ..study.status import ArmStatus, StudyStatus
from .responses import StudyOverview, TicketGroup
from .schemas import columns_of
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
OverviewArms = columns_of(ArmStatus, "OverviewArms", COLUMNS)
SAME = [part.name for part in fields(StudyOverview) if part.name in StudyStatus.__annotations__]


def overview_of(status: StudyStatus, state: StudyState) -> StudyOverview:
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
    return StudyOverview(**parts)


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
