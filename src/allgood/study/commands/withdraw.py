"""Withdraw values that were told: a plate, wells, tickets, or the counts of a source, as a whole.

A withdrawn value does not count, as if its ticket had failed.  What that does to the guarantee
depends on how the values were chosen (docs/study-proofs.md):

    cause    a cause that somebody noticed without regard to the values, such as an air bubble: the
             guarantee holds if that is true, and every interface says so
    values   because of what the values are: the guarantee does not hold any more
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, get_args

from ..._internal.arguments import ArgumentError, count
from ..._internal.tables import counted
from .. import sentences
from ..design import check_text
from ..lookup import known_ticket
from ..receipts import Change
from ..state import Basis, StudyState, TicketRecord
from ..wells import parse_places, well_position
from .base import ChangeCommand, Draft, changed_labels, newly_suspect, sentences_of


class Chosen(NamedTuple):
    """Tickets and wells of controls to withdraw, and how messages name them together."""

    tickets: list[TicketRecord]
    controls: list[str]
    title: str
    left_open: int = 0


@dataclass(frozen=True)
class Withdraw(ChangeCommand):
    """Withdraw values that were told: of tickets, of a batch or some of its wells, or of a source.

    Attributes:
        reason: why the values do not count.
        basis: "cause" if somebody noticed the reason without regard to the values; "values" if the
            values themselves are the reason.
        tickets: ids of tickets.
        batch: the number of a batch or plate: all its values, and those of its controls.
        wells: only these wells of the plate: a list, or a text such as "A1:B4, column 12".
        source: the source of counts or of unrequested values.
        period: only the counts of this period.
    """

    path: ClassVar[str] = "withdraw"
    reason: str
    basis: Basis
    tickets: Sequence[str] | None = None
    batch: int | None = None
    wells: str | Sequence[str] | None = None
    source: str | None = None
    period: str | None = None
    client: str | None = None

    def check(self) -> None:
        super().check()
        if self.basis not in get_args(Basis):
            raise ArgumentError(
                "basis must be 'cause', if the reason was noticed without regard to the values, or "
                f"'values', if they are the reason: got {self.basis!r}.",
                argument="basis",
            )
        if sum(part is not None for part in (self.tickets, self.batch, self.source)) != 1:
            raise ArgumentError(
                "exactly one of tickets, batch and source must be given.", argument="tickets"
            )
        if self.batch is not None:
            count("batch", self.batch)
        for name, value, whole in (
            ("wells", self.wells, self.batch),
            ("period", self.period, self.source),
        ):
            if value is not None and whole is None:
                needed = "batch" if name == "wells" else "source"
                raise ArgumentError(
                    f"{name} must be given together with {needed}: got {value!r}.", argument=name
                )
        for name, text in (("source", self.source), ("period", self.period)):
            if text is not None:
                check_text(name, text)

    def decide(self, draft: Draft) -> Change:
        state = draft.state
        chosen = self._choose(state)
        if not chosen.tickets and not chosen.controls:
            return Change({}, f"{chosen.title} has no value. Nothing changes.")
        before, suspects = state.current_engine().label_names(), set(state.quality.suspects)
        data = {
            "basis": self.basis,
            "tickets": [ticket.number for ticket in chosen.tickets],
            "controls": chosen.controls,
        }
        draft.record("withdrawn", batch=self.batch, note=self.reason, data=data)
        labels = changed_labels(state, before)
        new = newly_suspect(state, suspects)
        text = [self._consequence(chosen, state), sentences.labels_changed(labels)]
        return Change(labels, " ".join([*text, *sentences_of(new)]))

    def _choose(self, state: StudyState) -> Chosen:
        if self.tickets is not None:
            return self._by_ticket(state, self.tickets)
        if self.batch is not None:
            return self._by_batch(state, self.batch)
        return self._by_source(state)

    def _by_ticket(self, state: StudyState, names: Sequence[str]) -> Chosen:
        records = {ticket.number: ticket for ticket in (known_ticket(n, state) for n in names)}
        for ticket in records.values():
            if problem := state.why_not_withdrawn(ticket):
                raise ArgumentError(
                    f"tickets must have values that can be withdrawn: {problem}.",
                    argument="tickets",
                )
        return Chosen([records[number] for number in sorted(records)], [], "The list of tickets")

    def _by_batch(self, state: StudyState, batch: int) -> Chosen:
        """Choose what was told of a batch, or of some wells, each of which must have a value."""
        if batch > state.batches:
            known = f"they go from 1 to {state.batches}" if state.batches else "it has none"
            raise ArgumentError(
                f"batch must be one of this study: got {batch}; {known}.", argument="batch"
            )
        of_batch = [t for t in state.tickets.values() if t.asked and t.batch == batch]
        told = [ticket for ticket in of_batch if ticket.state == "told"]
        controls = sorted((well for b, well in state.controls if b == batch), key=well_position)
        if self.wells is None:
            left_open = sum(ticket.state == "open" for ticket in of_batch)
            return Chosen(told, controls, f"Batch {batch}", left_open)
        layout = state.plates.get(batch)
        placed = {} if layout is None else layout["placed"]  # a control may have no value yet
        controls = [well for well in placed if (batch, well) not in state.withdrawn_controls]
        valued = {*controls, *(ticket.well for ticket in told)}
        wells: set[str | None] = set()
        for text in [self.wells] if isinstance(self.wells, str) else self.wells:
            try:
                size = (0, 0) if layout is None else (layout["rows"], layout["columns"])
                named = valued & set(parse_places(text, *size))
            except ValueError as error:
                raise ArgumentError(f"wells must {error}.", argument="wells") from None
            if not named:
                raise ArgumentError(
                    f"wells must have values: got {text!r}, where plate {batch} has none.",
                    argument="wells",
                )
            wells |= named
        chosen = [ticket for ticket in told if ticket.well in wells]
        return Chosen(chosen, [well for well in controls if well in wells], f"Plate {batch}")

    def _by_source(self, state: StudyState) -> Chosen:
        of_source = [
            ticket
            for ticket in state.tickets.values()
            if not ticket.asked
            and ticket.note == self.source
            and self.period in (None, ticket.period)
        ]
        title = f"source {self.source!r}"
        title += "" if self.period is None else f", period {self.period!r}"
        if not of_source:
            raise ArgumentError(f"{title} must be one of this study.", argument="source")
        told = [ticket for ticket in of_source if ticket.state == "told"]
        return Chosen(told, [], f"{title[0].upper()}{title[1:]}")

    def _consequence(self, chosen: Chosen, state: StudyState) -> str:
        """Return what is withdrawn, and what that does to the guarantee."""
        measurements = sum(ticket.n for ticket in chosen.tickets)
        parts = [counted(measurements, "value")] if chosen.tickets else []
        parts += [counted(len(chosen.controls), "control")] if chosen.controls else []
        single = measurements + len(chosen.controls) == 1
        verbs = ("is", "does") if single else ("are", "do")
        text = f"{' and '.join(parts)} {verbs[0]} withdrawn and {verbs[1]} not count any more."
        if chosen.tickets:
            by_basis = {
                "cause": sentences.withdrawn_for_cause,
                "values": sentences.withdrawn_by_values,
            }
            text += f" {by_basis[self.basis](state.withdrawn_values(self.basis))}"
        if chosen.left_open:
            were = counted(chosen.left_open, "ticket is", "tickets are")
            text += f" {were} still open: tell values, or report failures."
        normalised = _normalised_by(chosen, self.batch, state)
        if normalised:
            text += (
                f" {counted(normalised, 'value')} of this plate had been normalised by these "
                "controls, and stay as they are; replace them."
            )
        return text


def _normalised_by(chosen: Chosen, batch: int | None, state: StudyState) -> int:
    """Return how many values that still count were normalised by withdrawn controls."""
    if not chosen.controls:
        return 0
    told = (state.tickets[number] for number in state.told)
    return sum(t.batch == batch and t.raw is not None and t.state == "told" for t in told)
