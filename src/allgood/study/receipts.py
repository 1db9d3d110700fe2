"""What a row that is told is: accepted, duplicate, conflict, unknown and so on.

These functions look at a ledger and change nothing.  ``studies.py`` stores what is accepted.

``tables`` makes a cell or a pair a ``ToldRow``; ``parse_rows`` makes its value a number;
``classify`` says what would become of it, as a ``ReceiptRow``; accepted rows are stored as events
of the kind "measurement".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from .events import check_text
from .normalise import Normaliser
from .plates import well_position
from .state import (
    StudyState,
    TicketRecord,
    shown_value,
    source_key,
)
from .tables.counts import Counts, parse_counts
from .tables.sheets import Sheet, ToldRow, nearest
from .tables.values import ANY_NUMBER, Censored, cell_text, has_decimal_comma, required_value

Remedy = Literal["", "correct", "add_measurement", "tell_failed", "confirm"]
WhenRefused = Literal["raise", "report"]
RowStatus = Literal[
    "accepted",
    "corrected",
    "waiting",
    "suspect",
    "duplicate",
    "conflict",
    "unknown",
    "invalid",
    "missing",
    "control",
    "withheld",
]
_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[0-9]\S*")
_TICKET = re.compile("([A-Za-z]{4})-[0-9]+")
WITHHELD = "not counted, because other rows were refused and all_or_nothing was asked for"


class SuspectWarning(UserWarning):
    """A value that was told cannot be under the model, and does not count."""


@dataclass(frozen=True)
class ReceiptRow:
    """What became of one value that was told.

    Attributes:
        status: what the row is.

            - accepted: the value counts
            - waiting: the value will count when all earlier tickets are settled
            - suspect: the value is kept and does not count, because it cannot be under the model;
              ``confirm`` makes it count, ``correct`` replaces it
            - duplicate: told before; it counts once
            - conflict: refused; told before with another value, or reported as failed, or for
              another arm
            - unknown: refused; there is no such ticket
            - invalid: refused; the model does not allow this value
            - missing: there is no value; the ticket stays open
            - control: the value of a control; it is stored
            - withheld: not counted, because another row was refused and all_or_nothing was asked
              for
        message: what is wrong, and what would mend it; empty if nothing is wrong.
        line: the line in the file, or the number in the list, from 1.
        remedy: the method that would mend it, if there is one.
    """

    status: RowStatus
    ticket: str
    value: float | str | None
    message: str = ""
    line: int = 0
    arm: str | None = None
    remedy: Remedy = ""

    @property
    def refused(self) -> bool:
        return self.status in ("conflict", "unknown", "invalid")


@dataclass(frozen=True, repr=False)
class Receipt:
    """What became of what was told, row by row.

    Attributes:
        rows: in the order in which they were told.
        notes: what should be known of how the sheet was read, in sentences.
        doubt: why the values do not look like those of the model; empty if nothing shows that.
    """

    rows: tuple[ReceiptRow, ...]
    notes: tuple[str, ...] = ()
    doubt: str = ""

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        return f"<Receipt: {'. '.join([counts or 'no rows', *self.notes])}>"

    def __iter__(self) -> Iterator[ReceiptRow]:
        return iter(self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each status."""
        counts = Counter(row.status for row in self.rows)
        return {status: counts[status] for status in get_args(RowStatus) if status in counts}

    @property
    def ok(self) -> bool:
        """Whether no row was refused."""
        return not any(row.refused for row in self.rows)

    @property
    def suspects(self) -> tuple[ReceiptRow, ...]:
        """Rows whose values are held back."""
        return tuple(row for row in self.rows if row.status == "suspect")

    def check(self) -> "Receipt":
        """The receipt itself; or RefusedRows if a row was refused."""
        if not self.ok:
            raise RefusedRows(self)
        return self


class RefusedRows(ValueError):
    """Rows that were told were refused.  The others count, unless all_or_nothing was asked for.

    Attributes:
        receipt: what became of every row.
    """

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(receipt)
        self.receipt = receipt

    def __str__(self) -> str:
        refused = [row for row in self.receipt if row.refused]
        reasons = "; ".join(some(row.message for row in refused))
        if len(self.receipt.rows) == 1:
            return f"{reasons}."
        counts = self.receipt.counts
        counted = counts.get("accepted", 0) + counts.get("duplicate", 0)
        return (
            f"{counted} of {len(self.receipt.rows)} rows count, and {len(refused)} were refused: "
            f"{reasons}. Telling all rows again is safe: a value counts once."
        )


def settled(receipt: Receipt, refused: WhenRefused) -> Receipt:
    """The receipt, after RefusedRows is raised if it is to be."""
    return receipt.check() if refused == "raise" else receipt


def check_refused(refused: str) -> None:
    if refused not in get_args(WhenRefused):
        raise ValueError(f"refused must be 'raise' or 'report': got {refused!r}.")


def some(messages: Iterable[str], most: int = 10) -> Iterator[str]:
    """The messages, each once, kind by kind, and at most so many of a kind.

    Messages are of a kind if they differ only in what is quoted and in words with digits.
    """
    kinds: dict[str, list[str]] = {}
    for message in dict.fromkeys(messages):
        kinds.setdefault(_DETAIL.sub("", message), []).append(message)
    for alike in kinds.values():
        yield from alike[:most]
        if len(alike) > most:
            yield f"... and {len(alike) - most} more like this"


# ---- parsing


def rows_on_plate(sheet: Sheet, state: StudyState) -> tuple[ToldRow, ...]:
    """The rows; those of a grid with the tickets of their wells, without wells that are empty.

    Wells with a ticket or a control stay, also if they are empty.

    Raises:
        ValueError: if the grid is not of a plate of the study; one sentence.
    """
    if sheet.grid is None:
        return sheet.rows
    plate, *size = sheet.grid
    layout = state.plates.get(plate)
    if layout is None:
        known = ", ".join(map(str, state.plates)) or "none"
        raise ValueError(f"plate must be one of the study's, which are {known}: got {plate}.")
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
    rows = (replace(row, ticket=tickets.get(row.well, "")) for row in sheet.rows)
    return tuple(
        row for row in rows if row.ticket or row.well in layout["placed"] or row.value != ""
    )


def parse_rows(
    rows: Iterable[ToldRow], state: StudyState, normaliser: Normaliser | None = None
) -> list[ToldRow]:
    """The rows, with each value parsed, and normalised if that is asked.

    Values of controls are numbers of any size, and are never normalised.
    """
    located = [_located(row, state) for row in _with_plate(list(rows), state)]
    values = controls_told(located, state)
    return [_parsed(row, state, normaliser, values) for row in located]


def _parsed(
    row: ToldRow,
    state: StudyState,
    normaliser: Normaliser | None,
    values: dict[int, dict[str, list[float]]],
) -> ToldRow:
    if row.control is not None:
        return row
    design = state.design
    if normaliser is None:
        return row.parsed(design.model, design.censor_at)
    row = row.parsed(ANY_NUMBER)
    raw = row.value
    if not isinstance(raw, float):
        return row
    ticket = find_ticket(row.ticket, state)
    if ticket is None:
        return row
    try:
        if ticket.well is None:
            raise ValueError("the ticket is on no plate, and cannot be normalised")
        on_plate = values.get(ticket.batch, {})
        value = normaliser.apply(raw, on_plate)
        names = normaliser.names_among(on_plate)
    except ValueError as error:
        return replace(row, problem=row.problem or str(error))
    how = {"raw": raw, "normalised": {"way": normaliser.way, "controls": list(names)}}
    return replace(row, value=value, how=how).parsed(design.model, design.censor_at)


def _with_plate(rows: list[ToldRow], state: StudyState) -> list[ToldRow]:
    """Rows without a plate get that of the tickets beside them, if these have only one."""
    tickets = (find_ticket(row.ticket, state) for row in rows)
    plates = {ticket.batch for ticket in tickets if ticket is not None and ticket.well}
    if len(plates) != 1:
        return rows
    only = str(plates.pop())
    return [row if row.plate else replace(row, plate=only) for row in rows]


def _located(row: ToldRow, state: StudyState) -> ToldRow:
    """The row, with the place of its control if it holds one."""
    if row.ticket or not row.well or not row.plate or not row.plate.isdecimal():
        return row
    layout = state.plates.get(int(row.plate))
    well = row.well.strip().upper()
    if layout is None or well not in layout["placed"]:
        return row
    return replace(row, control=(int(row.plate), well)).parsed(ANY_NUMBER)


def controls_told(rows: Sequence[ToldRow], state: StudyState) -> dict[int, dict[str, list[float]]]:
    """The values of controls, stored before or accepted now, by plate and name, well by well."""
    known = {key: record.value for key, record in state.controls.items()}
    several = _values_by_control(rows)
    for row in rows:
        if row.control is not None and isinstance(row.value, float):
            receipt = _classify_without_ticket(row, state, "", several)
            if receipt.status == "control":
                known[row.control] = row.value
    found: dict[int, dict[str, list[float]]] = {}
    for batch, well in sorted(known, key=lambda key: (key[0], well_position(key[1]))):
        name = state.plates[batch]["placed"][well]
        found.setdefault(batch, {}).setdefault(name, []).append(known[batch, well])
    return found


def known_value(ticket: TicketRecord) -> float | None:
    """The value of a ticket, as ``parse_value`` returns it."""
    return Censored(ticket.value) if ticket.censored and ticket.value is not None else ticket.value


# ---- finding tickets and arms


def find_ticket(name: str, state: StudyState) -> TicketRecord | None:
    """The ticket with this id; None if the study has no such ticket."""
    tag, _, digits = name.partition("-")
    if tag != state.design.tag or not (digits.isascii() and digits.isdigit()):
        return None
    if digits[0] == "0" or len(digits) >= 16:
        return None
    return state.tickets.get(int(digits))


def known_ticket(name: str, state: StudyState) -> TicketRecord:
    """The ticket with this id; ValueError if the study has no such ticket."""
    ticket = find_ticket(name, state)
    if ticket is None:
        raise ValueError(
            f"ticket must be one of this study: got {name!r}{ticket_hint(name, state)}."
        )
    return ticket


def ticket_hint(name: str, state: StudyState) -> str:
    """A hint for a mistyped ticket."""
    design, last = state.design, len(state.tickets)
    tag, _, digits = name.rpartition("-")
    meant = f"{design.tag}-{digits.strip()}"
    if (not tag or _is_near(tag, design.tag)) and find_ticket(meant, state) is not None:
        return f"; nearest is {meant!r}"
    if last == 0:
        return "; it has none yet"
    return f"; they go from {design.ticket_id(1)} to {design.ticket_id(last)}"


def known_arm(name: str, state: StudyState) -> int:
    """The index of the arm with this name; ValueError if there is none."""
    design = state.design
    number = design.numbers.get(name) if isinstance(name, str) else None
    if number is None:
        hint = nearest(str(name), design.arms)
        raise ValueError(f"arm must be one of the study's: got {name!r}{hint}.")
    return number


# ---- classifying


def classify(rows: Sequence[ToldRow], state: StudyState) -> list[ReceiptRow]:
    """What would become of each of these rows if all were told now."""
    values: dict[int, set[float]] = {}  # all values told for a ticket
    for row in rows:
        ticket = find_ticket(row.ticket, state)
        if ticket is not None and isinstance(row.value, float):
            values.setdefault(ticket.number, set()).add(row.value)
    accepted: set[int] = set()
    receipts = []
    foreign = _of_another_study(rows, state)
    controls = _values_by_control(rows)
    commas = _decimal_commas(rows)
    for row in rows:
        ticket = find_ticket(row.ticket, state)
        if ticket is None:
            receipt = _classify_without_ticket(row, state, foreign, controls)
        else:
            receipt = _classify(row, ticket, state, values.get(ticket.number, set()))
        if commas and receipt.status == "invalid" and _has_comma(row):
            receipt = replace(receipt, message=commas)
        if ticket is not None and receipt.status == "accepted":
            if ticket.number in accepted:
                receipt = replace(receipt, status="duplicate")
            accepted.add(ticket.number)
        receipts.append(receipt)
    return _with_missing_words(rows, receipts)


def _with_missing_words(
    rows: Sequence[ToldRow], receipts: Sequence[ReceiptRow]
) -> list[ReceiptRow]:
    """The receipts; where a word stood for a missing value, all have one sentence."""
    lacks = [
        row.missing != "" and receipt.status in ("missing", "control")
        for row, receipt in zip(rows, receipts, strict=True)
    ]
    words = Counter(row.missing for row, lacking in zip(rows, lacks, strict=True) if lacking)
    listed = ", ".join(f"{n} {word}" for word, n in words.most_common(20))
    places = [row for row, lacking in zip(rows, lacks, strict=True) if lacking]
    message = f"values missing: {listed}; {_places(places)}" if places else ""
    return [
        replace(receipt, message=message) if lacking else receipt
        for receipt, lacking in zip(receipts, lacks, strict=True)
    ]


def _places(rows: Sequence[ToldRow], most: int = 10) -> str:
    """Where rows of one sheet stand: "lines 3, 5 and 9", or the first ten and how many more."""
    unit = rows[0].unit
    shown = [f"{row.well}" if unit == "well" else f"{row.line}" for row in rows[:most]]
    last = f"{len(rows) - most} more" if len(rows) > most else shown.pop()
    where = f"{', '.join(shown)} and {last}" if shown else last
    return f"{unit}{'s' if len(rows) > 1 else ''} {where}"


def _values_by_control(rows: Iterable[ToldRow]) -> dict[tuple[int, str], set[float]]:
    """All values that are told for each control."""
    values: dict[tuple[int, str], set[float]] = {}
    for row in rows:
        if row.control is not None and isinstance(row.value, float):
            values.setdefault(row.control, set()).add(row.value)
    return values


def _of_another_study(rows: Sequence[ToldRow], state: StudyState) -> str:
    """A sentence if the tickets are those of another study; empty if not."""
    tags = {found[1] for row in rows if (found := _TICKET.fullmatch(row.ticket))}
    own = state.design.tag
    if not tags or any(_is_near(tag, own) for tag in tags):
        return ""
    what = "the sheet seems" if rows[0].unit == "line" else "the rows seem"
    theirs = " and ".join(repr(tag) for tag in sorted(tags)[:3])
    return f"{what} to be of another study: tickets begin with {theirs}, in this study with {own!r}"


def _has_comma(row: ToldRow) -> bool:
    return isinstance(row.value, str) and has_decimal_comma(row.value)


def _decimal_commas(rows: Sequence[ToldRow]) -> str:
    """A sentence for all rows with decimal commas, if there are several; empty if not."""
    found = [row for row in rows if _has_comma(row)]
    if len(found) < 2:
        return ""
    return (
        f"{len(found)} values have a comma, as {found[0].value!r} in {found[0].where}: if it is a "
        "decimal comma, tell them with --decimal , (in Python decimal=',')"
    )


def _is_near(tag: str, own: str) -> bool:
    """Whether a tag is a study's own, or mistyped in one letter."""
    differing = sum(a != b for a, b in zip(tag.lower(), own, strict=False))
    return len(tag) == len(own) and differing <= 1


def _classify_without_ticket(
    row: ToldRow, state: StudyState, foreign: str, controls: dict[tuple[int, str], set[float]]
) -> ReceiptRow:
    """What would become of the value of a control, or of a row without a ticket of this study.

    ``foreign``: a sentence that is said of every row if the sheet is of another study.
    ``controls``: all values told for each control, by this and other rows.
    """

    def receipt(status: RowStatus, message: str = "") -> ReceiptRow:
        return ReceiptRow(status, row.ticket, row.value, message, row.line, row.arm)

    if row.problem:
        return receipt("invalid", f"{row.where}: {row.problem}")
    if row.control is not None:
        return _classify_control(row, state, controls.get(row.control, set()))
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
    hint = ticket_hint(row.ticket, state)
    return receipt(
        "unknown", f"{row.where}, column ticket: {row.ticket!r} is no ticket of this study{hint}"
    )


def _classify_control(row: ToldRow, state: StudyState, values: set[float]) -> ReceiptRow:
    """``values``: all values told for this control, by this and other rows."""
    assert row.control is not None
    batch, well = row.control
    name = state.plates[batch]["placed"][well]
    known = state.controls.get(row.control)
    value, message = row.value, ""
    status: RowStatus = "control"
    if row.arm not in (None, "", name):
        status = "conflict"
        message = f"well {well} of plate {batch} holds {name!r}, not {row.arm!r}"
    elif value is None:
        pass  # nothing to store
    elif not isinstance(value, float):
        status, message = "invalid", f"column {row.column}: {row.invalid}"
    elif known is not None and value in (known.value, known.first):
        status = "duplicate"
    elif known is not None:
        status = "conflict"
        message = (
            f"control {name!r} in well {well} of plate {batch} was told as {known.value!r} and "
            f"cannot be {value!r} too"
        )
    elif len(values) > 1:
        status = "conflict"
        message = (
            f"control {name!r} in well {well} of plate {batch} is told twice, as {both(values)}"
        )
    remedy: Remedy = "correct" if known is not None and status == "conflict" else ""
    place, text = f"{batch}:{well}", f"{row.where}: {message}" if message else ""
    return ReceiptRow(status, place, value, text, row.line, name, remedy)


def _classify(
    row: ToldRow, ticket: TicketRecord, state: StudyState, values: set[float]
) -> ReceiptRow:
    """``values``: all values told for this ticket, by this and other rows."""
    arm, value, where = state.design.arms[ticket.arm], row.value, row.where
    name = f"ticket {row.ticket}"

    def receipt(status: RowStatus, message: str = "", remedy: Remedy = "") -> ReceiptRow:
        return ReceiptRow(status, row.ticket, value, message, row.line, arm, remedy)

    if row.problem:
        return receipt("invalid", f"{where}: {row.problem}")
    if row.arm is not None and row.arm != arm:
        return receipt(
            "conflict", f"{where}, column arm: {name} is for arm {arm!r}, not {row.arm!r}"
        )
    if value is None and ticket.state == "open":
        message = f"{where}, column {row.column}: empty; the ticket stays open"
        return receipt("missing", message, "tell_failed")
    if value is None:
        return receipt(
            "missing", f"{where}, column {row.column}: empty; the ticket was {ticket.state} before"
        )
    if not isinstance(value, float):
        return receipt("invalid", f"{where}, column {row.column}: {row.invalid}")
    if ticket.state == "told" and _is_again(row, value, ticket):
        return receipt("duplicate")
    if ticket.state == "told":
        message = f"{where}: {name} was told as {known_value(ticket)!r} and cannot be {value!r} too"
        return receipt("conflict", message, "correct")
    if ticket.state == "failed":
        message = f"{where}: {name} was reported as failed ({ticket.note})"
        return receipt("conflict", message, "add_measurement")
    if ticket.arm in state.withdrawn:
        return receipt("conflict", f"{where}: {has_left(arm)}")
    if len(values) > 1:
        return receipt("conflict", f"{where}: {name} is told twice, as {both(values)}")
    return receipt("accepted")


def both(values: Iterable[float]) -> str:
    return " and ".join(repr(value) for value in sorted(values))


def _is_again(row: ToldRow, value: float, ticket: TicketRecord) -> bool:
    """Whether the ticket was told with this value before; a normalised one by its raw value."""
    if row.how is not None and ticket.raw is not None:
        return bool(row.how["raw"] == ticket.raw)
    return _is_known(value, ticket) or value == ticket.raw


def _is_known(value: float, ticket: TicketRecord) -> bool:
    """Whether this is the value of the ticket, or was the first."""
    told = (value, isinstance(value, Censored))
    return told in ((ticket.value, ticket.censored), _first(ticket))


def _first(ticket: TicketRecord) -> tuple[float | None, bool]:
    """The first value of a ticket, and whether it was waited in vain."""
    return ticket.first, ticket.first_censored


def has_left(arm: str) -> str:
    """Why no value of this arm is taken."""
    return f"arm {arm!r} was abandoned before its first value, and has left the question"


def withhold(rows: Iterable[ReceiptRow]) -> list[ReceiptRow]:
    """The rows, with those that were accepted withheld."""
    return [
        replace(row, status="withheld", message=WITHHELD) if row.status == "accepted" else row
        for row in rows
    ]


def stays_duplicate(rows: Iterable[ReceiptRow], state: StudyState) -> bool:
    """Whether every row repeats a stored value that no later event can make another.

    That is the first value of a ticket: it stays known, whatever other programs have added.
    """
    tickets = ((row, find_ticket(row.ticket, state)) for row in rows)
    return all(
        row.status == "duplicate"
        and ticket is not None
        and (row.value, isinstance(row.value, Censored)) == _first(ticket)
        for row, ticket in tickets
    )


def classify_failure(name: str, state: StudyState) -> ReceiptRow:
    """What would become of a report that this ticket failed."""
    ticket = known_ticket(name, state)
    arm = state.design.arms[ticket.arm]
    if ticket.state == "told":
        message = f"ticket {name} was told as {known_value(ticket)!r} and cannot have failed"
        return ReceiptRow("conflict", name, ticket.value, message, arm=arm)
    status: RowStatus = "duplicate" if ticket.state == "failed" else "accepted"
    return ReceiptRow(status, name, None, arm=arm)


def classify_counts(
    row: Mapping[str, Any], source: str, line: int, where: str, state: StudyState
) -> tuple[ReceiptRow, Counts | None]:
    """What would become of a row of counts, and the counts themselves.

    ``where`` says where the row stands, for messages.  The ticket of an accepted row is the next
    one.
    """
    design, arm = state.design, cell_text(row.get("arm", "")).strip()

    def receipt(status: RowStatus, ticket: str, value: Any, message: str = "") -> ReceiptRow:
        text = f"{where}: {message}" if message else ""
        remedy: Remedy = "correct" if status == "conflict" and ticket else ""
        return ReceiptRow(status, ticket, value, text, line, arm, remedy)

    try:
        counts = parse_counts(row, design.model)
        check_text("period", counts.period)
        index = known_arm(counts.arm, state)
    except (ValueError, TypeError) as error:
        return receipt("invalid", "", None, str(error).removesuffix(".")), None
    if index in state.withdrawn:
        return receipt("conflict", "", counts.total, has_left(arm)), None
    known = state.sources.get((index, source_key(source, counts.period)))
    if counts.n == 0:
        return receipt("missing", "", None, "nothing to count"), None
    if known is None:
        name = design.ticket_id(len(state.tickets) + 1)
        return receipt("accepted", name, counts.total), counts
    ticket = state.tickets[known]
    name = design.ticket_id(known)
    if (counts.total, counts.n, counts.scatter) == (ticket.value, ticket.n, ticket.scatter):
        return receipt("duplicate", name, counts.total), None
    message = (
        f"{source!r}, {counts.period!r} of {arm!r} was told as {shown_value(ticket)} ({name}) and "
        f"cannot be {counts.total!r} in {counts.n:,} too"
    )
    return receipt("conflict", name, counts.total, message), counts


def told_by_others(told: Sequence[Counts], source: str, state: StudyState) -> tuple[str, ...]:
    """A warning if all these counts were told by other sources, too."""
    others = {
        (ticket.arm, ticket.period, ticket.n, ticket.value, ticket.scatter): ticket.note
        for ticket in state.tickets.values()
        if ticket.counts and ticket.state == "told" and ticket.note != source
    }
    numbers = state.design.numbers
    keys = [(numbers[one.arm], one.period, one.n, one.total, one.scatter) for one in told]
    if not keys or not all(key in others for key in keys):
        return ()
    names = sorted({repr(others[key]) for key in keys})
    rows = "1 row is equal to a row" if len(keys) == 1 else f"{len(keys):,} rows are equal to rows"
    periods = "the same periods" if len({one.period for one in told}) > 1 else "the same period"
    were = "was it" if len(keys) == 1 else "were they"
    return (
        f"{rows} of {'source' if len(names) == 1 else 'sources'} {' and '.join(names)} for "
        f"{periods}: {were} told twice?",
    )


def classify_unrequested(arm: str, raw: object, source: str, state: StudyState) -> ReceiptRow:
    """What would become of a value that nobody had asked for.

    The ticket of an accepted row is the next one.
    """
    design = state.design
    index = known_arm(arm, state)
    try:
        value = required_value(raw, design.model, design.censor_at)
    except ValueError as error:
        return ReceiptRow("invalid", "", str(raw), f"value {error}", arm=arm)
    if index in state.withdrawn:
        return ReceiptRow("conflict", "", value, has_left(arm), arm=arm)
    known = state.sources.get((index, source))
    if known is None:
        return ReceiptRow("accepted", design.ticket_id(len(state.tickets) + 1), value, arm=arm)
    ticket = state.tickets[known]
    name = design.ticket_id(ticket.number)
    if _is_known(value, ticket):
        return ReceiptRow("duplicate", name, value, arm=arm)
    message = f"source {source!r} was told as {known_value(ticket)!r} and cannot be {value!r} too"
    return ReceiptRow("conflict", name, value, message, arm=arm)
