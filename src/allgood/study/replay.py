"""Check that a log is what its seed and its events make it: make every choice again and compare.

Choices are made by comparing numbers.  Another processor may round these numbers differently, so
where two arms are tied up to rounding it may choose the other one.  Such a choice is no problem.
Replay reports it as a tie and goes on with the arm in the log.

A choice in the log is a tie if it is made once every reward is changed by a relative 1e-9 or less,
in one of several patterns: each arm has a sign, and all its rewards grow or shrink by this factor.
Rounding changes evidence by far less than that, and a real preference is not changed by it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from .engine import Engine
from .events import Event
from .ledger import Ledger
from .plates import Plate

NUDGE = 1e-9  # relative change of rewards
PATTERNS = 32  # of signs; a tie of two arms is missed with probability (3/4)^32, about 1e-4

Choice = tuple[int, bool]  # an arm, and whether its reward joins the pool


@dataclass(frozen=True)
class Replay:
    """The result of a replay.

    Attributes:
        ledger: the state after all events.
        batches, tickets: how many were chosen again.
        copied: how many tickets were not, because another study had chosen them before this one was
            copied from it.
        problems: where the log differs from what is chosen again; empty if the log is right.
        ties: where it differs only within rounding.
    """

    ledger: Ledger
    batches: int
    tickets: int
    problems: tuple[str, ...]
    ties: tuple[str, ...] = ()
    copied: int = 0

    @property
    def ok(self) -> bool:
        return not self.problems


def replay(events: list[Event]) -> Replay:
    """Go through the events, and make each choice again from what was known before it."""
    ledger = Ledger.from_first(events[0])
    problems: list[str] = []
    ties: list[str] = []
    batches = tickets = copied = 0
    last_copied = max((event.seq for event in events if event.kind == "copy"), default=0)
    by_batch = groupby(events[1:], key=lambda event: (event.batch, event.kind == "ticket"))
    for (batch, asked), group in by_batch:
        same = list(group)
        if asked and same[0].seq < last_copied:
            copied += len(same)
        elif asked:
            batches += 1
            tickets += len(same)
            _compare_batch(ledger, batch or 0, same, problems, ties)
        for event in same:
            ledger.add(event)
    return Replay(ledger, batches, tickets, tuple(problems), tuple(ties), copied)


def _compare_batch(
    ledger: Ledger, batch: int, asked: list[Event], problems: list[str], ties: list[str]
) -> None:
    """Compare the tickets of a batch with what is chosen again; report in the two lists."""
    before = len(problems)
    for event, chosen, tied in _differences(ledger, asked):
        if tied:
            ties.append(_tie(ledger, event, chosen))
        elif chosen is None:
            problems.append(
                f"event {event.seq}: batch {batch} asks for {len(asked)}, and nothing more was to "
                "be asked for"
            )
            return
        else:
            problems.append(_problem(ledger, event, chosen))
    if len(problems) > before or batch not in ledger.plates:
        return
    layout = ledger.plates[batch]
    arms = [event.arm for event in asked if event.arm is not None]
    again = Plate.from_layout(layout).arrange(arms, ledger.design.seed, batch)
    if [event.well for event in asked] != list(again.wells) or layout["placed"] != again.controls:
        problems.append(
            f"event {asked[0].seq}: the wells of batch {batch} are not those of this plate and seed"
        )


def _differences(ledger: Ledger, asked: list[Event]) -> Iterator[tuple[Event, Choice | None, bool]]:
    """Each ticket that differs from what is chosen again.

    Yields the event, what is chosen again (None if nothing is), and whether the two are tied.
    """
    n = len(asked)
    logged: list[Choice] = [(event.arm, event.joins) for event in asked]  # type: ignore[misc]
    pending = ledger.unheard()
    engine = ledger.current_engine()
    again = engine.choose(n, pending)
    nudged: list[Engine] = []
    for i, event in enumerate(asked):
        chosen = again[i] if i < len(again) else None
        if chosen == logged[i]:
            continue
        nudged = nudged or _nudged_engines(ledger, asked[0].seq)
        tied = any(_could_choose(other, pending, logged, i) for other in nudged)
        yield event, chosen, tied
        if event.arm not in range(len(ledger.design.arms)) or event.arm in ledger.abandoned:
            return  # no such ticket can be: the ledger will refuse it
        # Go on with the logged choice.
        before = logged[: i + 1]
        again = before + engine.choose(n - i - 1, pending + before)


def _nudged_engines(ledger: Ledger, seed: int) -> list[Engine]:
    """Engines that hear all rewards, each arm's made larger or smaller by a relative 1e-9."""
    low, high = ledger.design.model.range
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(PATTERNS, len(ledger.design.arms)))

    def nudged(pattern: list[float]) -> Engine:
        factors = [1.0 + NUDGE * sign for sign in pattern]
        return ledger.engine_with(lambda arm, reward: min(max(reward * factors[arm], low), high))

    return [nudged(pattern) for pattern in signs.tolist()]


def _could_choose(engine: Engine, pending: list[Choice], logged: list[Choice], i: int) -> bool:
    """Whether the engine makes choice number i of the log, after those before it.

    It may go on after the logged choices, or have chosen all of them itself.  The two differ where
    a batch is larger than what the study needs to end (see ``Engine.choose``).
    """
    if engine.choose(1, pending + logged[:i]) == [logged[i]]:
        return True
    return engine.choose(i + 1, pending) == logged[: i + 1]


def _problem(ledger: Ledger, event: Event, chosen: Choice) -> str:
    arm, joins = chosen
    return (
        f"event {event.seq}: ticket {event.ticket} is for {_arm_name(ledger, event.arm)}, "
        f"{_pool(event.joins)} the pool; chosen again it would be for {_arm_name(ledger, arm)}, "
        f"{_pool(joins)} the pool"
    )


def _tie(ledger: Ledger, event: Event, chosen: Choice | None) -> str:
    logged = _arm_name(ledger, event.arm)
    if chosen is None:
        return (
            f"event {event.seq}: to end the study and to measure {logged} are tied up to rounding; "
            f"the log has {logged}"
        )
    arm, joins = chosen
    if arm == event.arm:
        return (
            f"event {event.seq}: {logged} {_pool(joins)} and {_pool(event.joins)} the pool are "
            f"tied up to rounding; the log has it {_pool(event.joins)} the pool"
        )
    one, other = (_arm_name(ledger, a) for a in sorted((arm, event.arm or 0)))
    return (
        f"event {event.seq}: arms {one} and {other} are tied up to rounding; the log has {logged}"
    )


def _arm_name(ledger: Ledger, arm: int | None) -> str:
    arms = ledger.design.arms
    return repr(arms[arm]) if arm is not None and 0 <= arm < len(arms) else repr(arm)


def _pool(joins: bool | None) -> str:
    return "in" if joins else "outside"
