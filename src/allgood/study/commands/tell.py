"""Tell: classify submitted rows, and count the values of those that are accepted.

The way of a row: ``ToldRow``, as it was submitted; ``ParsedRow``, with its ticket and its value;
``ReceiptRow``, its classification; and an event of the kind "measurement" or "control" if it is
accepted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..._internal.results import Hint, HintCode
from ..design import check_text
from ..diagnostics.plate import check_plate
from ..diagnostics.repeats import check_repeats
from ..lookup import find_ticket, is_near, known_arm, known_plate, ticket_hint
from ..normalise import Normaliser
from ..receipts import Receipt, ReceiptRow, Remedy, RowStatus
from ..state import NO_PLATE, StudyState, TicketRecord
from ..tables.sheets import ToldRow
from ..tables.values import (
    ANY_NUMBER,
    Censored,
    has_decimal_comma,
    json_cell,
    parse_value,
    required_value,
)
from ..wells import well_name, well_position
from .base import Command, Draft, with_standing

Control = tuple[int, str]  # plate and well
MOST_CHECKED = 20  # plates of one preview that are checked

WITHHELD = "not counted, because other rows were refused and all_or_nothing was asked for"
_TICKET = re.compile("([A-Za-z]{4})-[0-9]+")
_PLATE = re.compile(r"(?:plate\s*)?0*([1-9][0-9]{0,8})", re.IGNORECASE)


@dataclass(frozen=True)
class Tell(Command[Receipt]):
    """Tell values of tickets.

    Attributes:
        rows: the submitted rows.
        client: the name of the client that tells.
        all_or_nothing: count nothing if any row is refused.
        notes: sentences about how the rows were read.
        grid: the plate's number, rows and columns, if the rows are a grid of wells.
    """

    path: ClassVar[str] = "tell"
    preview_path: ClassVar[str] = "preview"
    rows: Sequence[ToldRow]
    client: str | None = None
    all_or_nothing: bool = False
    notes: Sequence[str] = ()
    grid: tuple[int, int, int] | None = None

    @classmethod
    def result_from(cls, answer: Any) -> Receipt:
        return Receipt.from_dict(answer)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON; rows without what they do not have."""
        return {
            "rows": [wire_row(row) for row in self.rows],
            "client": self.client,
            "all_or_nothing": self.all_or_nothing,
            "notes": list(self.notes),
            "grid": None if self.grid is None else list(self.grid),
        }

    def repeated(self, state: StudyState) -> Receipt | None:
        """Return the receipt if every row repeats the first value of its ticket.

        No later event can make it another.  A grid may be of a plate that is newer than the state.
        """
        tickets = [find_ticket(row.ticket, state) for row in self.rows]
        if self.grid is not None or any(t is None or t.state != "told" for t in tickets):
            return None
        parsed = parse_rows(self.rows, state)
        receipts = classify(parsed, state)
        stay = all(
            receipt.status == "duplicate"
            and row.ticket is not None
            and _as_told(row.value) == (row.ticket.first, row.ticket.first_censored)
            for row, receipt in zip(parsed, receipts, strict=True)
        )
        return Receipt(tuple(receipts), tuple(self.notes)) if stay else None

    def decide(self, draft: Draft) -> Receipt:
        state = draft.state
        rows = self.rows if self.grid is None else rows_on_plate(self.rows, self.grid, state)
        rows = rows_by_well(rows, state)
        parsed = parse_rows(rows, state)
        receipts = classify(parsed, state)
        if self.all_or_nothing and any(row.refused for row in receipts):
            withheld = tuple(withhold(receipts))
            return Receipt(withheld, tuple(self.notes), hints=hints_of(receipts))
        before, processed = set(state.quality.suspects), len(state.quality.processed)
        record_rows(draft, parsed, receipts)
        hints = hints_of(receipts)
        receipts = with_standing(receipts, state, before)
        warnings = _repetitions(state, processed)
        return Receipt(tuple(receipts), tuple(self.notes), warnings, hints)

    def previewed(self, state: StudyState, result: Receipt) -> Receipt:
        """Return the receipt with a check of each plate that has a value in these rows."""
        plates = sorted({plate for row in result if (plate := _plate_of(row, state))})
        checks = [check_plate(state, plate) for plate in plates[:MOST_CHECKED]]
        return replace(result, plates=tuple(checks))


def _plate_of(row: ReceiptRow, state: StudyState) -> int | None:
    """Return the plate of a row whose value is there, or would be; None if it is on none."""
    if row.refused or row.value is None:
        return None
    if row.status == "control":
        return int(row.ticket.partition(":")[0]) if ":" in row.ticket else None
    ticket = find_ticket(row.ticket, state)
    return ticket.batch if ticket is not None and ticket.well else None


@dataclass(frozen=True)
class AddMeasurement(Command[Receipt]):
    """Count a value that nobody requested.  ``source`` names this one measurement."""

    path: ClassVar[str] = "measurements"
    arm: str
    value: float | str | bool | None
    source: str
    client: str | None = None

    def check(self) -> None:
        super().check()
        check_text("source", self.source)

    @classmethod
    def result_from(cls, answer: Any) -> Receipt:
        return Receipt.from_dict(answer)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        return super().to_dict() | {"value": json_cell(self.value)}

    def decide(self, draft: Draft) -> Receipt:
        state = draft.state
        row = classify_unrequested(self.arm, self.value, self.source, state)
        if row.status != "accepted":
            return Receipt((row,))
        before = set(state.quality.suspects)
        draft.record(
            "unrequested",
            ticket=len(state.tickets) + 1,
            arm=known_arm(self.arm, state),
            value=float(row.value),  # type: ignore[arg-type]
            note=self.source,
            data={"censored": True} if type(row.value) is Censored else None,
        )
        row, *others = with_standing([row], state, before)
        draft.suspects += tuple(others)
        messages = [row.message] if row.message else []
        messages += [other.message for other in others]
        return Receipt((replace(row, message=". ".join(messages)),))


def wire_row(row: ToldRow) -> dict[str, Any]:
    parts = {name: value for name, value in vars(row).items() if value not in (None, "", {})}
    return parts | {"ticket": row.ticket or None, "value": json_cell(row.value)}


# ---- parsing


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A row, with what it is about and its value.

    Attributes:
        row: the row as it was submitted.
        ticket: its ticket; None if it has none of this study.
        value: a number that the model allows; None if there is no value; else the text.
        invalid: why the value is not such a number, if it is a text; the end of a sentence.
        control: plate and well of its control, if it is about one.
        problem: why the row cannot be read; empty if it can.
        how: the raw value and how it was normalised, if it was.
    """

    row: ToldRow
    ticket: TicketRecord | None
    value: float | str | None
    invalid: str = ""
    control: Control | None = None
    problem: str = ""
    how: dict[str, Any] | None = None

    @property
    def has_comma(self) -> bool:
        """True if the value would be a number with a point in place of its comma."""
        return isinstance(self.value, str) and has_decimal_comma(self.value)


def rows_on_plate(
    rows: Sequence[ToldRow], grid: tuple[int, int, int], state: StudyState
) -> tuple[ToldRow, ...]:
    """Return the rows of a grid with the tickets of their wells, without wells that are empty.

    Wells with a ticket or a control stay, also if they are empty.

    Raises:
        ValueError: if the grid is not of a plate of the study; one sentence.
    """
    plate, *size = grid
    layout = state.plates[known_plate(plate, state)]
    if size != [layout["rows"], layout["columns"]]:
        raise ValueError(
            f"The grid must have the size of plate {plate}, {layout['rows']}x{layout['columns']}: "
            f"got {size[0]}x{size[1]}."
        )
    tickets = {
        ticket.well: state.design.ticket_id(ticket.number)
        for ticket in state.tickets.values()
        if ticket.batch == plate
    }
    located = (replace(row, ticket=tickets.get(row.well, "")) for row in rows)
    return tuple(
        row for row in located if row.ticket or row.well in layout["placed"] or row.value != ""
    )


def rows_by_well(rows: Sequence[ToldRow], state: StudyState) -> Sequence[ToldRow]:
    """Return the rows, with the ticket of its plate and well for each that names no ticket.

    Empty wells that hold nothing of the study are left out: readers list all wells of a plate.
    """
    if all(row.ticket or not row.well for row in rows):
        return rows
    tickets = {
        (ticket.batch, ticket.well): state.design.ticket_id(ticket.number)
        for ticket in state.tickets.values()
        if ticket.well
    }
    result = []
    for row in rows:
        place = None if row.ticket else _place_of(row, None)
        ticket = row.ticket or tickets.get(place or (0, ""), "")
        if ticket or not row.well or row.value not in ("", None) or _control_of(row, None, state):
            result.append(replace(row, ticket=ticket))
    return result


def parse_rows(
    rows: Sequence[ToldRow], state: StudyState, replacing: bool = False
) -> list[ParsedRow]:
    """Find the ticket or control of each row, and parse its value; normalise it if the study does.

    Values of controls are numbers of any size, and are never normalised.  ``replacing``: whether
    those of these rows replace what was told.
    """
    normaliser = state.design.normaliser
    tickets = [find_ticket(row.ticket, state) for row in rows]
    plates = {ticket.batch for ticket in tickets if ticket is not None and ticket.well}
    only = str(plates.pop()) if len(plates) == 1 else None  # for rows without a plate
    parsed: list[ParsedRow] = []
    for row, ticket in zip(rows, tickets, strict=True):
        control = None if row.ticket else _control_of(row, only, state)
        any_number = control is not None or normaliser is not None
        value, invalid = _value_of(row.value, None if any_number else state)
        parsed.append(ParsedRow(row, ticket, value, invalid, control, row.problem or ""))
    if normaliser is None:
        return parsed
    values = _values_of_controls(parsed, state, replacing)
    return [_normalised(row, state, normaliser, values) for row in parsed]


def _value_of(raw: object, state: StudyState | None) -> tuple[float | str | None, str]:
    """Return a value of a study, or any number without one; or the text and why it is invalid."""
    model = ANY_NUMBER if state is None else state.design.model
    try:
        return parse_value(raw, model, None if state is None else state.design.censor_at), ""
    except ValueError as error:
        return str(raw), str(error)


def _control_of(row: ToldRow, only: str | None, state: StudyState) -> Control | None:
    """Return plate and well of the control that a row without a ticket is about, if it is."""
    place = _place_of(row, only)
    if place is None:
        return None
    layout = state.plates.get(place[0])
    return None if layout is None or place[1] not in layout["placed"] else place


def _place_of(row: ToldRow, only: str | None) -> Control | None:
    """Return the plate and the well that a row names; plates are also written as Plate 3."""
    plate = _PLATE.fullmatch((row.plate or only or "").strip())
    well = well_name(row.well or "")
    return None if plate is None or well is None else (int(plate[1]), well)


def _normalised(
    parsed: ParsedRow,
    state: StudyState,
    normaliser: Normaliser,
    values: dict[int, dict[str, list[float]]],
) -> ParsedRow:
    ticket, raw = parsed.ticket, parsed.value
    if ticket is None or not isinstance(raw, float):
        return parsed
    try:
        if ticket.well is None:
            raise ValueError(NO_PLATE)
        value, how = normaliser.normalised(raw, values.get(ticket.batch, {}))
    except ValueError as error:
        return replace(parsed, problem=parsed.problem or str(error))
    counts, invalid = _value_of(value, state)
    return replace(parsed, value=counts, invalid=invalid, how=how)


def _values_of_controls(
    rows: Sequence[ParsedRow], state: StudyState, replacing: bool
) -> dict[int, dict[str, list[float]]]:
    """Return values of controls, stored or accepted now, by plate and name, well by well.

    ``replacing``: whether the values of these rows replace those that are stored.
    """
    known = {key: record.value for key, record in state.controls.items()}
    several = _values_by_control(rows)
    for row in rows:
        if row.control is not None and isinstance(row.value, float):
            receipt = _classify_without_ticket(row, state, "", several)
            if receipt.status == "control" or (replacing and receipt.status != "invalid"):
                known[row.control] = row.value
    values: dict[int, dict[str, list[float]]] = {}
    for batch, well in sorted(known, key=lambda key: (key[0], well_position(key[1]))):
        name = state.plates[batch]["placed"][well]
        values.setdefault(batch, {}).setdefault(name, []).append(known[batch, well])
    return values


# ---- classifying


def classify(
    rows: Sequence[ParsedRow], state: StudyState, replacing: bool = False
) -> list[ReceiptRow]:
    """Return what becomes of each of these rows if all are told now.

    ``replacing``: whether two values for one ticket are refused even if it has been told.
    """
    values: dict[int, set[float]] = {}  # all values told for a ticket
    for row in rows:
        if row.ticket is not None and isinstance(row.value, float):
            values.setdefault(row.ticket.number, set()).add(row.value)
    accepted: set[int] = set()
    receipts = []
    foreign = _of_another_study(rows, state)
    controls = _values_by_control(rows)
    commas = _decimal_commas(rows)
    for row in rows:
        ticket = row.ticket
        if ticket is None:
            receipt = _classify_without_ticket(row, state, foreign, controls)
        else:
            told = values.get(ticket.number, set())
            receipt = _classify(row, ticket, state, told)
            if replacing and len(told) > 1 and isinstance(row.value, float):
                receipt = replace(_told_twice(receipt, row, told), remedy="")
        if commas and receipt.status == "invalid" and row.has_comma:
            receipt = replace(receipt, message=commas)
        if ticket is not None and receipt.status == "accepted":
            if ticket.number in accepted:
                receipt = replace(receipt, status="duplicate")
            accepted.add(ticket.number)
        receipts.append(receipt)
    return _with_missing_words(rows, receipts)


def _with_missing_words(rows: Sequence[ParsedRow], receipts: list[ReceiptRow]) -> list[ReceiptRow]:
    """Give one sentence to all rows with a word in place of a missing value, such as n/a."""
    lacking = [
        row.row.missing != "" and receipt.status in ("missing", "control")
        for row, receipt in zip(rows, receipts, strict=True)
    ]
    places = [row.row for row, lacks in zip(rows, lacking, strict=True) if lacks]
    if not places:
        return receipts
    words = Counter(row.missing for row in places)
    listed = ", ".join(f"{n} {word}" for word, n in words.most_common(20))
    message = f"values missing: {listed}; {_places(places)}"
    return [
        replace(receipt, message=message) if lacks else receipt
        for receipt, lacks in zip(receipts, lacking, strict=True)
    ]


def _places(rows: Sequence[ToldRow], most: int = 10) -> str:
    """Return where rows of one sheet stand: "lines 3, 5 and 9", or the first ten and a number."""
    unit = rows[0].unit
    shown = [f"{row.well}" if unit == "well" else f"{row.line}" for row in rows[:most]]
    last = f"{len(rows) - most} more" if len(rows) > most else shown.pop()
    where = f"{', '.join(shown)} and {last}" if shown else last
    return f"{unit}{'s' if len(rows) > 1 else ''} {where}"


def _values_by_control(rows: Iterable[ParsedRow]) -> dict[Control, set[float]]:
    """Return all values that are told for each control."""
    values: dict[Control, set[float]] = {}
    for row in rows:
        if row.control is not None and isinstance(row.value, float):
            values.setdefault(row.control, set()).add(row.value)
    return values


def _of_another_study(rows: Sequence[ParsedRow], state: StudyState) -> str:
    """Return a sentence if the tickets are those of another study; empty if not."""
    if any(row.ticket is not None for row in rows):
        return ""
    tags = {match[1] for row in rows if (match := _TICKET.fullmatch(row.row.ticket))}
    own = state.design.tag
    if not tags or any(is_near(tag, own) for tag in tags):
        return ""
    what = "the sheet seems" if rows[0].row.unit == "line" else "the rows seem"
    theirs = " and ".join(repr(tag) for tag in sorted(tags)[:3])
    return f"{what} to be of another study: tickets begin with {theirs}, in this study with {own!r}"


def _decimal_commas(rows: Sequence[ParsedRow]) -> str:
    """Return a sentence for all rows with decimal commas, if there are several; empty if not."""
    with_comma = [row for row in rows if row.has_comma]
    if len(with_comma) < 2:
        return ""
    first = with_comma[0]
    return (
        f"{len(with_comma)} values have a comma, such as {first.value!r} in {first.row.where}: is "
        "it a decimal comma?"
    )


def hints_of(receipts: Iterable[ReceiptRow]) -> tuple[Hint, ...]:
    """Return the hint that values are refused because of a comma, if some are."""
    refused = (row.value for row in receipts if row.status == "invalid")
    if any(isinstance(value, str) and has_decimal_comma(value) for value in refused):
        return (Hint(HintCode.DECIMAL_COMMA, "decimal", ","),)
    return ()


def _classify_without_ticket(
    parsed: ParsedRow, state: StudyState, foreign: str, controls: dict[Control, set[float]]
) -> ReceiptRow:
    """Classify the value of a control, or a row without a ticket of this study.

    ``foreign``: a sentence for every row if the sheet is of another study.
    ``controls``: all values told for each control, by this and other rows.
    """
    row = parsed.row

    def receipt(status: RowStatus, message: str = "") -> ReceiptRow:
        return ReceiptRow(status, row.ticket, parsed.value, message, row.line, row.arm)

    if parsed.problem:
        return receipt("invalid", f"{row.where}: {parsed.problem}")
    if parsed.control is not None:
        return _classify_control(parsed, state, controls.get(parsed.control, set()))
    if row.unit == "well":
        unrequested = receipt("unknown", f"{row.where} was not asked for")
        return replace(unrequested, ticket=f"{row.plate}:{row.well}")
    if foreign:
        return receipt("unknown", foreign)
    named = (layout["controls"] for layout in state.plates.values())
    if not row.ticket and any(row.arm in names for names in named):
        return receipt(
            "control", f"{row.where}: not stored, as the columns plate and well do not say where"
        )
    if not row.ticket and row.well:
        place = f"well {row.well} of plate {row.plate}" if row.plate else f"well {row.well}"
        reason = "was not asked for" if row.plate else "has no plate: name the plate"
        return receipt("unknown", f"{row.where}: {place} {reason}")
    hint = ticket_hint(row.ticket, state)
    return receipt(
        "unknown", f"{row.where}, column ticket: {row.ticket!r} is no ticket of this study{hint}"
    )


def _classify_control(parsed: ParsedRow, state: StudyState, values: set[float]) -> ReceiptRow:
    """``values``: all values told for this control, by this and other rows."""
    assert parsed.control is not None
    row, value = parsed.row, parsed.value
    batch, well = parsed.control
    name = state.plates[batch]["placed"][well]
    known = state.controls.get(parsed.control)
    status: RowStatus = "control"
    message = ""
    if row.arm not in (None, "", name):
        status = "conflict"
        message = f"well {well} of plate {batch} holds {name!r}, not {row.arm!r}"
    elif value is None:
        pass  # nothing to store
    elif not isinstance(value, float):
        status, message = "invalid", f"column {row.column}: {parsed.invalid}"
    elif known is not None and value in (known.value, known.first):
        status = "duplicate"
    elif known is not None:
        status = "conflict"
        message = (
            f"control {name!r} in well {well} of plate {batch} was told as {known.value!r} and "
            f"cannot be {value!r} too"
        )
    elif parsed.control in state.withdrawn_controls:
        status = "conflict"
        message = f"the value of control {name!r} in well {well} of plate {batch} was withdrawn"
    elif len(values) > 1:
        status = "conflict"
        message = (
            f"control {name!r} in well {well} of plate {batch} is told twice, as {_both(values)}"
        )
    is_there = known is not None or parsed.control in state.withdrawn_controls
    remedy: Remedy = "correct" if is_there and status == "conflict" else ""
    place, text = f"{batch}:{well}", f"{row.where}: {message}" if message else ""
    return ReceiptRow(status, place, value, text, row.line, name, remedy)


def _classify(
    parsed: ParsedRow, ticket: TicketRecord, state: StudyState, values: set[float]
) -> ReceiptRow:
    """``values``: all values told for this ticket, by this and other rows."""
    row, value, where = parsed.row, parsed.value, parsed.row.where
    arm = state.design.arms[ticket.arm]
    name = f"ticket {row.ticket}"

    def receipt(status: RowStatus, message: str = "", remedy: Remedy = "") -> ReceiptRow:
        return ReceiptRow(status, row.ticket, value, message, row.line, arm, remedy)

    if parsed.problem:
        return receipt("invalid", f"{where}: {parsed.problem}")
    if row.arm is not None and row.arm != arm:
        return receipt(
            "conflict", f"{where}, column arm: {name} is for arm {arm!r}, not {row.arm!r}"
        )
    if value is None and ticket.state == "open":
        message = f"{where}, column {row.column}: empty; the ticket stays open"
        return receipt("missing", message, "fail")
    if value is None:
        return receipt(
            "missing", f"{where}, column {row.column}: empty; the ticket was {ticket.state} before"
        )
    if not isinstance(value, float):
        return receipt("invalid", f"{where}, column {row.column}: {parsed.invalid}")
    if ticket.state == "told" and _is_again(parsed, value, ticket):
        return receipt("duplicate")
    problem = state.why_not_told(ticket)
    if ticket.state == "told":
        return receipt("conflict", f"{where}: {problem} and cannot be {value!r} too", "correct")
    if problem:
        remedies: dict[str, Remedy] = {"failed": "add_measurement", "withdrawn": "correct"}
        remedy = remedies.get(ticket.state, "")
        return receipt("conflict", f"{where}: {problem}", remedy)
    if len(values) > 1:
        return _told_twice(receipt("conflict"), parsed, values)
    return receipt("accepted")


def _told_twice(receipt: ReceiptRow, parsed: ParsedRow, values: set[float]) -> ReceiptRow:
    """Return the receipt of a row whose ticket another row has with another value."""
    text = f"{parsed.row.where}: ticket {parsed.row.ticket} is told twice, as {_both(values)}"
    return replace(receipt, status="conflict", message=text)


def _both(values: Iterable[float]) -> str:
    return " and ".join(repr(value) for value in sorted(values))


def _as_told(value: object) -> tuple[object, bool]:
    """Return a value, and whether it is a censored time."""
    return value, isinstance(value, Censored)


def _is_again(parsed: ParsedRow, value: float, ticket: TicketRecord) -> bool:
    """Return whether the ticket was told with this value; compare normalised ones by raw value."""
    if parsed.how is not None and ticket.raw is not None:
        return bool(parsed.how["raw"] == ticket.raw)
    return is_known(value, ticket) or value == ticket.raw


def is_known(value: float, ticket: TicketRecord) -> bool:
    """Return whether this is the value of the ticket, or was its first."""
    return _as_told(value) in (
        (ticket.value, ticket.censored),
        (ticket.first, ticket.first_censored),
    )


def withhold(rows: Iterable[ReceiptRow]) -> list[ReceiptRow]:
    """Return the rows, with those that were accepted withheld."""
    return [
        replace(row, status="withheld", message=WITHHELD) if row.status == "accepted" else row
        for row in rows
    ]


def classify_unrequested(arm: str, raw: object, source: str, state: StudyState) -> ReceiptRow:
    """Classify a value that nobody requested.  The ticket of an accepted row is the next one."""
    design = state.design
    index = known_arm(arm, state)
    try:
        value = required_value(raw, design.model, design.censor_at)
    except ValueError as error:
        return ReceiptRow("invalid", "", str(raw), f"value {error}", arm=arm)
    problem = state.why_not_new(index, source)
    if not problem:
        return ReceiptRow("accepted", design.ticket_id(len(state.tickets) + 1), value, arm=arm)
    if (index, source) not in state.sources:
        return ReceiptRow("conflict", "", value, problem, arm=arm)
    ticket = state.tickets[state.sources[index, source]]
    name = design.ticket_id(ticket.number)
    if ticket.state == "told" and is_known(value, ticket):
        return ReceiptRow("duplicate", name, value, arm=arm)
    return ReceiptRow("conflict", name, value, f"{problem} and cannot be {value!r} too", arm=arm)


# ---- recording


def record_rows(draft: Draft, rows: Sequence[ParsedRow], receipts: Sequence[ReceiptRow]) -> None:
    """Record the rows that were accepted: controls first, then values by ticket.

    Rows sorted by value would otherwise decide when the study looks at its evidence.
    """
    controls: dict[Control, ParsedRow] = {}
    values: dict[int, ParsedRow] = {}
    for row, receipt in zip(rows, receipts, strict=True):
        if receipt.status == "control" and row.control and row.value is not None:
            controls[row.control] = row
        elif receipt.status == "accepted" and row.ticket is not None:
            values[row.ticket.number] = row
    for batch, well in sorted(controls, key=lambda key: (key[0], well_position(key[1]))):
        row = controls[batch, well]
        draft.record(
            "control",
            batch=batch,
            well=well,
            value=row.value,
            data=_columns(row) or None,
        )
    for number in sorted(values):
        row = values[number]
        data = (row.how or {}) | ({"censored": True} if type(row.value) is Censored else {})
        data |= _columns(row)
        draft.record(
            "measurement",
            ticket=number,
            value=float(row.value),  # type: ignore[arg-type]
            data=data or None,
        )


def _columns(row: ParsedRow) -> dict[str, Any]:
    """Return what an event keeps of the other columns of a sheet."""
    return {"columns": dict(row.row.extra)} if row.row.extra else {}


def _repetitions(state: StudyState, before: int) -> tuple[str, ...]:
    """Return a warning if values repeat as those of the model cannot.

    ``before`` is how many counted before this request.  Looks whenever their number has doubled;
    ``status`` looks every time.
    """
    processed = state.quality.processed
    if len(processed).bit_length() == before.bit_length():
        return ()
    warning = check_repeats(
        (entry.value for entry in processed if entry.n == 1), state.design.model
    )
    return (warning,) if warning else ()
