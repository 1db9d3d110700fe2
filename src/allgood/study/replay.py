"""Check that a log follows from its seed and its events: make every choice again and compare.

Choices are made by comparing numbers.  Another processor may round these numbers differently, so
it may choose the other arm if two are tied up to rounding.  Such a choice is not a problem.
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
from .plates import Plate
from .state import StudyState

NUDGE = 1e-9  # relative change of rewards
PATTERNS = 32  # of signs; a tie of two arms is missed with probability (3/4)^32, about 1e-4

Choice = tuple[int, bool]  # an arm, and whether its reward is pooled


@dataclass(frozen=True)
class Replay:
    """The result of a replay.

    Attributes:
        state: the state after all events.
        batches, tickets: how many were chosen again.
        copied: how many tickets were not, because another study had chosen them before this one was
            copied from it.
        problems: where the log differs from what is chosen again; empty if the log is right.
        ties: where it differs only within rounding.
    """

    state: StudyState
    batches: int
    tickets: int
    problems: tuple[str, ...]
    ties: tuple[str, ...] = ()
    copied: int = 0

    @property
    def ok(self) -> bool:
        return not self.problems


def replay(events: list[Event]) -> Replay:
    """Apply the events in order, and make each choice again from the events before it."""
    state = StudyState.from_first(events[0])
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
            _compare_batch(state, batch or 0, same, problems, ties)
        for event in same:
            state.apply(event)
    return Replay(state, batches, tickets, tuple(problems), tuple(ties), copied)


def _compare_batch(
    state: StudyState, batch: int, asked: list[Event], problems: list[str], ties: list[str]
) -> None:
    """Compare the tickets of a batch with what is chosen again; report in the two lists."""
    before = len(problems)
    most = state.plates[batch]["max_per_arm"] if batch in state.plates else None
    for event, chosen, tied in _differences(state, asked, most):
        if tied:
            ties.append(_tie(state, event, chosen))
        elif chosen is None:
            problems.append(
                f"event {event.seq}: batch {batch} asks for {len(asked)}, and chosen again it "
                "would end before this ticket"
            )
            return
        else:
            problems.append(_problem(state, event, chosen))
    if len(problems) > before or batch not in state.plates:
        return
    layout = state.plates[batch]
    arms = [event.arm for event in asked if event.arm is not None]
    again = Plate.from_layout(layout).arrange(arms, state.design.seed, batch)
    if [event.well for event in asked] != list(again.wells) or layout["placed"] != again.controls:
        problems.append(
            f"event {asked[0].seq}: the wells of batch {batch} are not those of this plate and seed"
        )


def _differences(
    state: StudyState, asked: list[Event], most: int | None
) -> Iterator[tuple[Event, Choice | None, bool]]:
    """Yield each ticket that differs from the choice made again.

    With it come the choice made again (None if there is none), and whether the two are tied.
    ``most`` is how often an arm may be chosen for this batch.
    """
    n = len(asked)
    logged: list[Choice] = [(event.arm, event.pooled) for event in asked]  # type: ignore[misc]
    pending = state.unprocessed()
    engine = state.current_engine()
    again = engine.choose(n, pending, most)
    nudged: list[Engine] = []
    for i, event in enumerate(asked):
        chosen = again[i] if i < len(again) else None
        if chosen == logged[i]:
            continue
        nudged = nudged or _nudged_engines(state, asked[0].seq)
        tied = any(_could_choose(other, pending, logged, i, most) for other in nudged)
        yield event, chosen, tied
        if event.arm not in range(len(state.design.arms)) or event.arm in state.dropped:
            return  # the state will refuse this ticket
        # Go on with the logged choice.
        before = logged[: i + 1]
        again = before + engine.choose(n - i - 1, pending, most, before)


def _nudged_engines(state: StudyState, seed: int) -> list[Engine]:
    """Return engines with all rewards, each arm's made larger or smaller by a relative 1e-9."""
    low, high = state.design.model.range
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(PATTERNS, len(state.design.arms)))

    def nudged(pattern: list[float]) -> Engine:
        factors = [1.0 + NUDGE * sign for sign in pattern]
        return state.engine_with(lambda arm, reward: min(max(reward * factors[arm], low), high))

    return [nudged(pattern) for pattern in signs.tolist()]


def _could_choose(
    engine: Engine, pending: list[Choice], logged: list[Choice], i: int, most: int | None
) -> bool:
    """Return whether the engine makes choice number i of the log, after those before it.

    It may go on after the logged choices, or have chosen all of them itself.  The two differ if
    a batch is larger than what the study needs to end (see ``Engine.choose``).
    """
    if engine.choose(1, pending, most, logged[:i]) == [logged[i]]:
        return True
    return engine.choose(i + 1, pending, most) == logged[: i + 1]


def _problem(state: StudyState, event: Event, chosen: Choice) -> str:
    arm, pooled = chosen
    return (
        f"event {event.seq}: ticket {event.ticket} is for {_arm_name(state, event.arm)}, "
        f"{_pool(event.pooled)} the pool; chosen again it would be for {_arm_name(state, arm)}, "
        f"{_pool(pooled)} the pool"
    )


def _tie(state: StudyState, event: Event, chosen: Choice | None) -> str:
    logged = _arm_name(state, event.arm)
    if chosen is None:
        return (
            f"event {event.seq}: to end the study and to measure {logged} are tied up to rounding; "
            f"the log has {logged}"
        )
    arm, pooled = chosen
    if arm == event.arm:
        return (
            f"event {event.seq}: {logged} {_pool(pooled)} and {_pool(event.pooled)} the pool are "
            f"tied up to rounding; the log has it {_pool(event.pooled)} the pool"
        )
    first, second = (_arm_name(state, a) for a in sorted((arm, event.arm or 0)))
    return (
        f"event {event.seq}: arms {first} and {second} are tied up to rounding; the log has "
        f"{logged}"
    )


def _arm_name(state: StudyState, arm: int | None) -> str:
    arms = state.design.arms
    return repr(arms[arm]) if arm is not None and 0 <= arm < len(arms) else repr(arm)


def _pool(pooled: bool | None) -> str:
    return "in" if pooled else "outside"
