"""The overview of a study as its page shows it: one response with verdict, arms and activity."""

import math
from dataclasses import dataclass, fields
from typing import Any

from .._internal.results import NullableFloat, ResultData
from ..study import sentences
from ..study.costs import PlateBudget
from ..study.diagnostics.sigma import SigmaInUse
from ..study.events import KINDS, stored_event
from ..study.next_steps import NextStep
from ..study.state import Note, Outcome, StudyState, TicketRecord
from ..study.status import ArmStatus, StudyStatus, SuspectValue
from ..study.study import Study
from .responses import EventData
from .schemas import columns_of, with_types
from .views import arm_columns, event_data

COLUMNS = (
    "arm",
    "label",
    "guess",
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
    "remark",
)
NOTABLE = [kind for kind, words in KINDS.items() if words.notable and kind != "note"]
MOST_EVENTS, MOST_GROUPS, MOST_NAMES, MOST_NOTES, MOST_SUSPECTS = 6, 12, 6, 5, 20


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
        no_rival: what to show in the place of evidence that an arm does not need.
        checks: what does not fit the model, in sentences.
        waiting: why values wait, in a sentence; empty if none do.
        suspects, num_suspects: some of the suspect values, and the number of all.
        origin: a sentence if the study is a copy; else empty.
        notes: the newest notes, the newest first.
        latest: the newest events that are neither notes nor what happens all the time.
        tickets, num_groups: some of the open tickets by client and batch, and the number of groups.
    """

    name: str
    question: str
    events: int
    outcome: Outcome
    verdict: str
    guarantee: str
    best_guess: str
    wording: str
    best: NullableFloat
    threshold: NullableFloat
    no_rival: str
    measurements: int
    pending: int
    failed: int
    corrections: int
    budget: int | None
    plates: PlateBudget | None
    sigma: SigmaInUse | None
    max_new_arms: int
    remarks: dict[sentences.RemarkCode, str]
    next_steps: tuple[NextStep, ...]
    checks: list[str]
    waiting: str
    suspects: tuple[SuspectValue, ...]
    num_suspects: int
    origin: str
    notes: tuple[Note, ...]
    latest: list[EventData]
    tickets: list[TicketGroup]
    num_groups: int
    arms: dict[str, list[Any]]


OverviewArms = columns_of(ArmStatus, "OverviewArms", COLUMNS)
OverviewData = with_types(OverviewPage, arms=OverviewArms)
SAME = [part.name for part in fields(OverviewPage) if part.name in StudyStatus.__annotations__]


def overview_page(study: Study, state: StudyState, status: StudyStatus) -> OverviewPage:
    """Return what the page shows of a study."""
    groups = ticket_groups(state)
    means = (arm.mean for arm in status.arms if not arm.withdrawn and not math.isnan(arm.mean))
    own: dict[str, Any] = {
        "best": max(means, default=math.nan),
        "no_rival": sentences.NO_RIVAL,
        "checks": list(status.checks.sentences),
        "waiting": _waiting(status),
        "suspects": status.suspects[:MOST_SUSPECTS],
        "num_suspects": len(status.suspects),
        "origin": "" if status.origin is None else sentences.copied(status.origin.name),
        "notes": status.notes[: -MOST_NOTES - 1 : -1],
        "latest": latest_events(study, state),
        "tickets": groups[:MOST_GROUPS],
        "num_groups": len(groups),
        "arms": arm_columns(status, COLUMNS),
    }
    return OverviewPage(**{name: getattr(status, name) for name in SAME} | own)


def _waiting(status: StudyStatus) -> str:
    ticket = status.waits_for
    if ticket is None:
        return ""
    return sentences.waiting(status.waiting, ticket.id, ticket.arm, ticket.client)


def latest_events(study: Study, state: StudyState) -> list[Any]:
    """Return the newest events that are neither notes nor what happens all the time."""
    lines = study.backend.lines(newest=True, limit=MOST_EVENTS, kind=NOTABLE)
    return [event_data(event, state) for event in map(stored_event, lines)]


def ticket_groups(state: StudyState) -> list[TicketGroup]:
    """Return the open tickets by client and batch, the newest first."""
    found: dict[tuple[str | None, int], list[TicketRecord]] = {}
    for ticket in state.open.values():
        found.setdefault((ticket.client, ticket.batch), []).append(ticket)
    groups = [_group(state, tickets) for tickets in found.values()]
    return sorted(groups, key=lambda group: -group.time)


def _group(state: StudyState, tickets: list[TicketRecord]) -> TicketGroup:
    first = tickets[0]
    arms = dict.fromkeys(state.design.arms[ticket.arm] for ticket in tickets)
    leases = [ticket.lease_until for ticket in tickets if ticket.lease_until is not None]
    return TicketGroup(
        client=first.client,
        batch=first.batch,
        on_plate=first.well is not None,
        n=len(tickets),
        arms=list(arms)[:MOST_NAMES],
        num_arms=len(arms),
        time=first.time,
        lease_until=min(leases, default=None),
    )
