"""That a log is what its seed and its events make it: every choice made again, and compared."""

from dataclasses import dataclass
from itertools import groupby

from .events import Event
from .ledger import Ledger
from .plates import Plate


@dataclass(frozen=True)
class Replay:
    """What was found.

    Attributes:
        ledger: the state after all events.
        batches, tickets: how many were chosen again.
        problems: where the log says otherwise, in words; none if it is as it should be.
    """

    ledger: Ledger
    batches: int
    tickets: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def replay(events: list[Event]) -> Replay:
    """Go through the events, and make each choice again from what was known before it."""
    ledger = Ledger.begun(events[0])
    problems: list[str] = []
    batches = tickets = 0
    for (batch, asked), group in groupby(events[1:], key=lambda event: (event.batch, event.kind == "ticket")):
        same = list(group)
        if asked:
            batches, tickets = batches + 1, tickets + len(same)
            problems += _compared(ledger, batch or 0, same)
        for event in same:
            ledger.add(event)
    return Replay(ledger, batches, tickets, tuple(problems))


def _compared(ledger: Ledger, batch: int, asked: list[Event]) -> list[str]:
    """What is wrong with a batch, from what was known when it was asked for."""
    arms = ledger.question.arms
    wanted = ledger.engine.choose(len(asked), ledger.pending())
    found = []
    for event, (arm, joins) in zip(asked, wanted, strict=False):
        if (event.arm, event.joins) != (arm, joins):
            named = arms[event.arm] if event.arm is not None and 0 <= event.arm < len(arms) else event.arm
            pool = ["outside", "in"]
            found.append(
                f"event {event.seq}: ticket {event.ticket} is for {named!r}, {pool[bool(event.joins)]} the pool; "
                f"chosen again it would be for {arms[arm]!r}, {pool[joins]} the pool"
            )
    if len(wanted) < len(asked):
        found.append(f"event {asked[0].seq}: batch {batch} asks for {len(asked)}, and nothing more was to be asked for")
    if not found and batch in ledger.plates:
        plate = ledger.plates[batch]
        size = Plate(plate["rows"], plate["columns"], plate["controls"], plate["edge"])
        layout = size.arrange([arm for arm, _ in wanted], ledger.question.seed, batch)
        if [event.well for event in asked] != list(layout.wells) or plate["placed"] != layout.controls:
            found.append(f"event {asked[0].seq}: the wells of batch {batch} are not those of this plate and seed")
    return found
