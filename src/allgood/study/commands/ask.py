"""Ask: choose the next measurements, and issue a ticket for each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..._internal.arguments import ArgumentError, ArgumentTypeError, count
from ..._internal.results import ResultData
from ..plates import Plate
from ..state import StudyState, Ticket, TicketRecord
from ..wells import well_position
from .base import Command, Draft


@dataclass(frozen=True)
class PlannedMeasurement(ResultData):
    """A measurement that ``ask`` would request, or a control: one of ``arm`` and ``control``."""

    arm: str | None
    control: str | None = None
    well: str | None = None


@dataclass(frozen=True)
class PlannedBatch(ResultData):
    """The batch that ``ask`` would return now.  Nothing is stored, and no ticket exists.

    Attributes:
        batch: its number.
        again: whether its tickets exist and have no value yet, and ``ask`` would return them again.
        rows, columns: the size of the plate; None without a plate.
        max_per_arm: how many wells an arm may have on the plate; None without a plate.
        measurements: of a plate row by row, with its controls; empty if there is nothing to ask
            for.
        copies: how often each arm is measured, most often first.
    """

    batch: int
    again: bool
    rows: int | None
    columns: int | None
    max_per_arm: int | None
    measurements: tuple[PlannedMeasurement, ...]
    copies: dict[str, int]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PlannedBatch":
        """Return the batch from its JSON data."""
        planned = tuple(PlannedMeasurement(**part) for part in data["measurements"])
        return cls(**{**data, "measurements": planned})


@dataclass(frozen=True)
class Ask(Command[list[Ticket]]):
    """Ask for up to n tickets.

    Attributes:
        n: the number of tickets; 1 by default, or as many as the plate holds.
        client: the name of the client that asks.
        lease: seconds after which a ticket is offered to others.
        plate: the plate on which the new tickets are laid out.
    """

    path: ClassVar[str] = "ask"
    n: int | None = None
    client: str | None = None
    lease: float | None = None
    plate: Plate | None = None

    def check(self) -> None:
        super().check()
        lease = self.lease
        if lease is not None:
            is_number = isinstance(lease, int | float) and not isinstance(lease, bool)
            if not is_number or not 0.0 < lease < 1e10:
                raise ArgumentError(
                    f"lease must be a positive number of seconds, or None: got {lease!r}.",
                    argument="lease",
                )
        if self.plate is not None and not isinstance(self.plate, Plate):
            raise ArgumentTypeError(
                f"plate must be a Plate, such as Plate(8, 12), or None: got {self.plate!r}.",
                argument="plate",
            )
        if self.plate is not None and self.number > self.plate.capacity:
            raise ArgumentError(
                f"n must not exceed the {self.plate.capacity} wells that the plate has for arms: "
                f"got {self.n}.",
                argument="n",
            )
        count("n", self.number)

    @property
    def number(self) -> int:
        """The number of tickets that is asked for."""
        if self.n is not None:
            return self.n
        return 1 if self.plate is None else self.plate.capacity

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        layout = None if self.plate is None else self.plate.to_dict()
        n = None if self.n is None else int(self.n)
        return {"n": n, "client": self.client, "lease": self.lease, "plate": layout}

    @classmethod
    def result_from(cls, answer: Any) -> list[Ticket]:
        return [Ticket.from_dict(ticket) for ticket in answer["tickets"]]

    def decide(self, draft: Draft) -> list[Ticket]:
        state, now, n = draft.state, draft.clock, int(self.number)
        if self.lease is not None and state.design.model.takes_time:
            raise ArgumentError(
                f"lease must be None for {state.design.model}: a ticket that takes long would be "
                "measured anew, and long times lost. Give the study a censoring time instead, or "
                "report what will not end as failed, if that has nothing to do with how long it "
                "takes.",
                argument="lease",
            )
        if state.outcome() in ("certified", "budget exhausted"):
            return []
        lease_until = None if self.lease is None else now + self.lease
        _check_normalised(state, self.plate)
        if self.plate is None:
            tickets = _reissued(state, self.client, now)[:n]
        else:
            _check_controls(state, self.plate)
            tickets = _reissued_plate(state, self.client, now, self.plate)
            n = len(tickets) or n  # one whole plate
        for ticket in tickets:
            if _is_late(ticket, now):
                draft.record("lease", ticket=ticket.number, lease_until=lease_until)
        room = state.room()
        new = n - len(tickets) if room is None else min(n - len(tickets), room)
        if new > 0 and state.outcome() == "running":
            plate = None if self.plate is None else _limited(state, self.plate)
            most = None if plate is None else plate.max_per_arm
            chosen = state.current_engine().choose(new, state.unprocessed(), most)
            tickets += _issue(draft, self.client, plate, chosen, lease_until)
        return [state.public_ticket(ticket) for ticket in tickets]


@dataclass(frozen=True)
class PreviewAsk(Command[PlannedBatch]):
    """Return the batch that ``ask`` would return, and store nothing.

    Attributes:
        n: the number of measurements; 1 by default, or as many as the plate holds.
        client: the name of the client that would ask.
        plate: the plate on which new measurements would be laid out.
    """

    path: ClassVar[str] = "ask/preview"
    preview_path: ClassVar[str] = "ask/preview"
    n: int | None = None
    client: str | None = None
    plate: Plate | None = None

    @property
    def _ask(self) -> Ask:
        return Ask(self.n, self.client, None, self.plate)

    def check(self) -> None:
        self._ask.check()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        return {name: part for name, part in self._ask.to_dict().items() if name != "lease"}

    @classmethod
    def result_from(cls, answer: Any) -> PlannedBatch:
        return PlannedBatch.from_dict(answer)

    def decide(self, draft: Draft) -> PlannedBatch:
        state = draft.state
        before = len(state.tickets)
        tickets = self._ask.decide(draft)
        batch = tickets[0].batch if tickets else state.batches + 1
        layout = state.plates.get(batch) if tickets else None
        planned = [PlannedMeasurement(ticket.arm, None, ticket.well) for ticket in tickets]
        if layout is not None:
            placed = layout["placed"].items()
            planned += [PlannedMeasurement(None, control, well) for well, control in placed]
            planned.sort(key=lambda part: well_position(part.well or ""))
        return PlannedBatch(
            batch=batch,
            again=bool(tickets) and len(state.tickets) == before,
            rows=None if layout is None else layout["rows"],
            columns=None if layout is None else layout["columns"],
            max_per_arm=None if layout is None else layout["max_per_arm"],
            measurements=tuple(planned),
            copies=dict(Counter(ticket.arm for ticket in tickets).most_common()),
        )


def _issue(
    draft: Draft,
    client: str | None,
    plate: Plate | None,
    chosen: list[tuple[int, bool]],
    lease_until: float | None,
) -> list[TicketRecord]:
    """Record a new batch of tickets for the chosen arms."""
    state = draft.state
    batch = state.batches + 1
    first = len(state.tickets) + 1
    wells: Sequence[str | None] = [None] * len(chosen)
    if plate is not None and chosen:
        layout = plate.arrange([arm for arm, _ in chosen], state.design.seed, batch)
        wells = layout.wells
        draft.record("plate", batch=batch, data=plate.to_layout(layout.controls))
    for i, ((arm, pooled), well) in enumerate(zip(chosen, wells, strict=True)):
        draft.record(
            "ticket",
            ticket=first + i,
            arm=arm,
            pooled=pooled,
            batch=batch,
            well=well,
            lease_until=lease_until,
        )
    return [state.tickets[first + i] for i in range(len(chosen))]


def _limited(state: StudyState, plate: Plate) -> Plate:
    """Return the plate with the number of wells that an arm may have, which is then stored."""
    return replace(plate, max_per_arm=plate.limit(len(state.design.arms) - len(state.dropped)))


def _check_controls(state: StudyState, plate: Plate) -> None:
    for name in plate.controls:
        if name in state.design.numbers:
            raise ArgumentError(
                f"controls must not have the name of an arm: got {name!r}, which is one.",
                argument="controls",
            )
    placed = dict(plate.controls)  # type: ignore[arg-type]  # the plate has parsed them
    wells = [n if isinstance(n, int) else len(n) for n in placed.values()]
    if state.design.min_z_prime is not None and (len(wells) != 2 or min(wells) < 2):
        raise ArgumentError(
            "controls must be two with at least two wells each, because this study computes Z' of "
            f"every plate (min_z_prime): got {plate.wording}.",
            argument="controls",
        )


def _check_normalised(state: StudyState, plate: Plate | None) -> None:
    """Refuse measurements that could not be normalised, if the study normalises its values."""
    normaliser = state.design.normaliser
    if normaliser is None:
        return
    if plate is None:
        raise ArgumentError(
            f"plate must be given, because the study normalises its values by controls "
            f"({state.design.normalise}): got None.",
            argument="plate",
        )
    if problem := normaliser.why_not(plate.placed()):
        raise ArgumentError(
            f"controls must allow the normalisation of the study, {state.design.normalise}: "
            f"{problem}.",
            argument="controls",
        )


def _is_late(ticket: TicketRecord, now: float) -> bool:
    return ticket.lease_until is not None and ticket.lease_until <= now


def _own_and_late(
    state: StudyState, client: str | None, now: float
) -> tuple[list[TicketRecord], list[TicketRecord]]:
    """Return the open tickets of a client, and open tickets whose lease has ended."""
    waiting = [ticket for ticket in state.open.values() if ticket.arm not in state.dropped]
    own = [ticket for ticket in waiting if client is not None and ticket.client == client]
    return own, [ticket for ticket in waiting if _is_late(ticket, now)]


def _reissued(state: StudyState, client: str | None, now: float) -> list[TicketRecord]:
    """Return tickets to issue before new ones: those of the client, then late ones of others."""
    own, late = _own_and_late(state, client, now)
    numbers = {ticket.number for ticket in own}
    return own + [ticket for ticket in late if ticket.number not in numbers]


def _reissued_plate(
    state: StudyState, client: str | None, now: float, plate: Plate
) -> list[TicketRecord]:
    """Return the open tickets of one plate: the client's newest, or else the oldest late one.

    The client's own must be the plate that is asked for.  Those of others are left out if not.
    """
    own, late = _own_and_late(state, client, now)
    own = [ticket for ticket in own if ticket.well]
    if own:
        batch = own[-1].batch
        own = [ticket for ticket in own if ticket.batch == batch]
        theirs = Plate.from_layout(state.plates[batch])
        if not _is_alike(theirs, plate):
            if plate.max_per_arm is None:
                theirs = replace(theirs, max_per_arm=None)
            raise ArgumentError(
                f"plate must be that of batch {batch}, which {client!r} has open, "
                f"{theirs.wording}: got {plate.wording}. Ask for the open plate to get it again, "
                f"tell or fail its {len(own)} open tickets, or ask as another client.",
                argument="plate",
            )
        return own
    left = sorted({ticket.batch for ticket in late if ticket.well})
    layouts = {batch: Plate.from_layout(state.plates[batch]) for batch in left}
    alike = [batch for batch in left if _is_alike(layouts[batch], plate)]
    return [ticket for ticket in late if ticket.batch in alike[:1]]


def _is_alike(theirs: Plate, plate: Plate) -> bool:
    """Return whether a stored plate is the one that is asked for, which may leave its limit out."""
    limit = theirs.max_per_arm if plate.max_per_arm is None else plate.max_per_arm
    return theirs == replace(plate, max_per_arm=limit)
