"""Correct a value that was told, or confirm one that is suspect."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._internal.arguments import ArgumentError, ArgumentTypeError
from ...models.base import Model
from .. import sentences
from ..lookup import known_ticket
from ..receipts import Change
from ..state import StudyState, TicketRecord, shown_value, suspect_message
from ..tables.counts import NAMES, counts_data, parse_counts
from ..tables.reader import nearest
from ..tables.values import ANY_NUMBER, Censored, json_cell, required_value
from .base import ChangeCommand, Draft, changed_labels, newly_suspect, sentences_of


@dataclass(frozen=True)
class Confirm(ChangeCommand):
    """Let a suspect value count."""

    path: ClassVar[str] = "confirm"
    ticket: str
    reason: str
    client: str | None = None

    def decide(self, draft: Draft) -> Change:
        state = draft.state
        record = known_ticket(self.ticket, state)
        problem = state.why_not_confirmed(record)
        if problem:
            raise ArgumentError(
                f"ticket must have a suspect value to be confirmed: {problem}.", argument="ticket"
            )
        before = state.current_engine().label_names()
        suspects = set(state.quality.suspects)
        draft.record("confirmed", ticket=record.number, value=record.value, note=self.reason)
        changed = changed_labels(state, before)
        text = f"{record.value:g} ({self.ticket}) counts now. {sentences.labels_changed(changed)}"
        return Change(changed, " ".join([text, *sentences_of(newly_suspect(state, suspects))]))


@dataclass(frozen=True)
class Correct(ChangeCommand):
    """Replace a value that was told: of a ticket, or of a control named by plate and well."""

    path: ClassVar[str] = "correct"
    measurement: str
    value: float | str | bool | Mapping[str, Any] | None
    reason: str
    client: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        value: Any = self.value
        if isinstance(value, Mapping):
            value = {name: json_cell(cell) for name, cell in value.items()}
        else:
            value = json_cell(value)
        return super().to_dict() | {"value": value}

    def decide(self, draft: Draft) -> Change:
        if re.fullmatch("[0-9]+:[A-Za-z]+[0-9]+", self.measurement):
            return self._correct_control(draft)
        state, name = draft.state, self.measurement
        ticket = known_ticket(name, state)
        problem = state.why_not_corrected(ticket)
        if problem:
            raise ArgumentError(
                f"measurement must have a value that can be corrected: {problem}.",
                argument="measurement",
            )
        old = shown_value(ticket)
        new, data = _new_value(ticket, self.value, state)
        there = {"n": ticket.n, "scatter": ticket.scatter, "period": ticket.period}
        censored = bool((data or {}).get("censored"))
        same = data == there if ticket.counts else censored == ticket.censored
        counted = ticket.state == "told"
        if new == ticket.value and same and counted:
            return Change({}, f"The value of {name} is {old} already. Nothing changes.")
        before = state.current_engine().label_names()
        suspects = set(state.quality.suspects)
        draft.record(
            "corrected", ticket=ticket.number, value=float(new), note=self.reason, data=data
        )
        changed = changed_labels(state, before)
        shown = shown_value(state.tickets[ticket.number])
        end = f", no longer {old}" if counted else " and counts again: it was withdrawn"
        consequence = f"The value of {name} is {shown}{end}. {sentences.labels_changed(changed)}"
        suspect = state.quality.suspects.get(ticket.number)
        if suspect is not None:
            consequence += f" But {suspect_message(suspect, state)}."
        others = sentences_of(newly_suspect(state, suspects | {ticket.number}))
        return Change(changed, " ".join([consequence, *others]))

    def _correct_control(self, draft: Draft) -> Change:
        """Replace the value of a control, named by its plate and well, such as 2:A1."""
        state, name = draft.state, self.measurement
        batch, well = name.split(":")
        key = (int(batch), well.upper())
        known = state.controls.get(key)
        if known is None and key not in state.withdrawn_controls:
            raise ArgumentError(
                f"measurement must be the plate and well of a control with a value: got {name!r}.",
                argument="measurement",
            )
        new = _required(self.value, ANY_NUMBER)
        if known is not None and new == known.value:
            text = f"The value of control {name} is {new!r} already. Nothing changes."
            return Change({}, text)
        before = state.current_engine().label_names()
        draft.record("control_corrected", batch=key[0], well=key[1], value=new, note=self.reason)
        changed = changed_labels(state, before)
        told = state.tickets.values()
        normalised = sum(t.batch == key[0] and t.raw is not None for t in told)
        end = " and counts again: it was withdrawn"
        end = end if known is None else f", no longer {known.value!r}"
        text = f"The value of control {name} is {new!r}{end}. {sentences.labels_changed(changed)}"
        if normalised:
            text += (
                f" {normalised} values of this plate were normalised with the old one, and stay "
                "as they are; correct replaces them."
            )
        return Change(changed, text)


def _new_value(
    ticket: TicketRecord, value: Any, state: StudyState
) -> tuple[float, dict[str, Any] | None]:
    """Return the value of a correction, and what its event says about it."""
    model, censor_at = state.design.model, state.design.censor_at
    if ticket.counts:
        if not isinstance(value, Mapping):
            raise ArgumentTypeError(
                "value must hold n, and sum or mean, to correct counts, such as "
                f"{{'n': 90, 'sum': 41}}: got {value!r}.",
                argument="value",
            )
        unknown = [name for name in value if name not in NAMES]
        if unknown:
            raise ArgumentError(
                f"value must hold n, and sum or mean: got {unknown[0]!r}"
                f"{nearest(str(unknown[0]), NAMES)}.",
                argument="value",
            )
        row = {"period": ticket.period} | dict(value) | {"arm": state.design.arms[ticket.arm]}
        try:
            counts = parse_counts(row, model)
        except ValueError as error:
            raise ArgumentError(
                f"value must hold counts that are possible: {error}.", argument="value"
            ) from None
        if counts.n == 0:
            raise ArgumentError(
                "value must hold at least one measurement: got n = 0.", argument="value"
            )
        return counts.total, counts_data(counts)
    if state.design.normaliser is not None:
        return _normalised(ticket, _required(value, ANY_NUMBER), state)
    new = _required(value, model, censor_at)
    return new, {"censored": True} if type(new) is Censored else None


def _normalised(
    ticket: TicketRecord, raw: float, state: StudyState
) -> tuple[float, dict[str, Any]]:
    """Return the normalised value of a correction by a raw one, and what its event says of it."""
    assert state.design.normaliser is not None
    try:
        value, how = state.design.normaliser.normalised(raw, state.control_values(ticket.batch))
    except ValueError as error:
        raise ArgumentError(f"value cannot be normalised: {error}.", argument="value") from None
    new = _required(value, state.design.model, state.design.censor_at)
    return new, how | ({"censored": True} if type(new) is Censored else {})


def _required(value: object, model: Model, censor_at: float | None = None) -> float:
    try:
        return required_value(value, model, censor_at)
    except ValueError as error:
        raise ArgumentError(f"value {error}.", argument="value") from None
