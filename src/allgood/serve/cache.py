"""The studies of one database, opened when they are needed, and what is shown of them."""

import json
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from .._internal.results import plain
from ..study.backends.sql import Store, StudyHead, StudyNotFound
from ..study.events import FIELDS, Event
from ..study.forecast import Forecast
from ..study.lookup import known_ticket
from ..study.plates import well_position
from ..study.state import StudyState, Ticket
from ..study.status import ArmStatus, StudyStatus, status_of
from ..study.study import Study, numbered
from ..study.tables.sheets import AskedRow
from .feed import ALL

OPEN_STUDIES = 200  # held in memory; the longest unused is let go
ARM = tuple(field.name for field in fields(ArmStatus))
FORMS = ("rows", "columns", "none")  # of the arms in a status
SPARK = 40  # points of a small picture


def as_json(value: Any) -> bytes:
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


class StudyCache:
    """The studies of a database.  May be used from several threads.

    Those who read and those who write use different objects, with connections and locks of their
    own.  So a reader never waits for a writer that waits for the lock of the database, and a writer
    never waits for a reader that computes.
    """

    def __init__(
        self,
        url: str,
        read_only: bool,
        patience: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.read_only, self.clock = read_only, clock
        self.store = Store(url, create=not read_only, patience=patience)
        if self.store.sqlite:  # messages do not tell where its file is
            self.store.shown = self.store.path.name
        self.database = self.store.shown
        self._lock = threading.Lock()
        self._readers: OrderedDict[int, Study] = OrderedDict()
        self._writers: OrderedDict[int, Study] = OrderedDict()
        self._heads: dict[int, StudyHead] = {}
        self._marker: object = None  # of the database when the heads were read
        self._seen: dict[int, tuple[str, StudyStatus]] = {}  # by the digest of the last event
        self._written: dict[tuple[int, str], tuple[StudyStatus, bytes]] = {}
        self._forecasts: dict[int, tuple[StudyStatus, Forecast]] = {}
        if not read_only:
            self.store.remember_answers(clock())

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for study in (*self._readers.values(), *self._writers.values()):
                study.close()
            self.store.close()

    def heads(self) -> dict[int, StudyHead]:
        """Name and end of each study; read again only if somebody has changed the database."""
        with self._lock:
            marker = self.store.marker()
            if marker is None or marker != self._marker:
                self._heads, self._marker = self.store.overview(), marker
            return self._heads

    def study(self, number: int) -> Study:
        """Return a study to read."""
        return self._opened(self._readers, number)

    def study_to_change(self, number: int) -> Study:
        """Return a study to change."""
        return self._opened(self._writers, number)

    def _opened(self, kept: OrderedDict[int, Study], number: int) -> Study:
        with self._lock:
            study = kept.get(number)
        if study is None:  # this may take long, and others need not wait for it
            study = numbered(self.store.twin(), number, self.clock)
        unused = None
        with self._lock:
            study = kept.setdefault(number, study)
            study.quiet = True
            kept.move_to_end(number)
            if len(kept) > OPEN_STUDIES:
                oldest, unused = kept.popitem(last=False)
                self._let_go(oldest)
        if unused is not None:  # somebody may still use it, whom the others need not wait for
            unused.close()
        return study

    def forget(self, number: int) -> None:
        with self._lock:
            self._readers.pop(number, None)
            self._writers.pop(number, None)
            self._let_go(number)

    def _let_go(self, number: int) -> None:
        self._seen.pop(number, None)
        self._forecasts.pop(number, None)
        for form in FORMS:
            self._written.pop((number, form), None)

    def newest(self, wanted: set[int]) -> dict[int, int]:
        """The number of the newest event of each study; -1 if it was deleted.

        With ``ALL`` among the wanted, of every study; then ``ALL`` itself is in the answer.
        """
        known = self.heads()
        looked_for = wanted | known.keys() if ALL in wanted else wanted
        found = {
            number: known[number].events if number in known else -1 for number in looked_for - {ALL}
        }
        return found | dict.fromkeys(wanted & {ALL}, 0)

    def status(self, number: int) -> StudyStatus:
        """The status, made anew only if something happened."""
        if (seen := self._fresh(number)) is not None:
            return seen
        study = self.study(number)
        with study.reading() as state:
            digest = study.digest
            status = status_of(state, study.name, self.clock())
        with self._lock:
            self._seen[number] = digest, status
        return status

    def forecast(self, number: int) -> Forecast:
        """The forecast, made anew only if something happened."""
        status = self.status(number)
        with self._lock:
            kept = self._forecasts.get(number)
        if kept is None or kept[0] is not status:
            kept = status, self.study(number).forecast()
            with self._lock:
                self._forecasts[number] = kept
        return kept[1]

    def _fresh(self, number: int) -> StudyStatus | None:
        """The status that was made last, if nothing has happened since."""
        head = self.heads().get(number)
        if head is None:
            self.forget(number)
            raise StudyNotFound(
                f"there is no study {number} in {self.database}, or it was deleted."
            )
        with self._lock:
            digest, status = self._seen.get(number, ("", None))
        return status if digest == head.digest else None

    def shown(self, number: int, form: str) -> bytes:
        """The status as JSON, made anew only if something happened."""
        status = self.status(number)
        with self._lock:
            kept = self._written.get((number, form))
        if kept is None or kept[0] is not status:
            kept = status, as_json(shown_status(number, status, form))
            with self._lock:
                self._written[number, form] = kept
        return kept[1]

    def brief(self, head: StudyHead) -> dict[str, Any]:
        """A line of the list of studies: a summary if that is known already, else the name."""
        if self._fresh(head.id) is not None:
            return self.summary(head.id)
        return {"id": head.id, "name": head.name, "events": head.events}

    def summary(self, number: int) -> dict[str, Any]:
        """A study in a few numbers."""
        status = self.status(number)
        with self.study(number).reading() as state:
            created, last = state.times
        return {
            "id": number,
            "name": status.name,
            "question": status.question,
            "outcome": status.outcome,
            "arms": len(status.arms),
            "good": len(status.good),
            "bad": len(status.bad),
            "open": len(status.open),
            "pulls": status.pulls,
            "pending": status.pending,
            "suspects": len(status.suspects),
            "waiting": status.waiting,
            "warnings": status.warnings,
            "budget": status.budget,
            "created": created,
            "last": last,
            "events": status.events,
            "spark": spark(status),
        }


def spark(status: StudyStatus) -> list[tuple[int, int]]:
    """Certified labels against measurements, in few points."""
    moments = sorted(one.certified_after for one in status.arms if one.certified_after)
    points = [(after, i + 1) for i, after in enumerate(moments)]
    step = max(1, math.ceil(len(points) / (SPARK - 2)))
    return [(0, 0), *points[step - 1 :: step], (status.pulls, len(moments))]


def shown_status(number: int, status: StudyStatus, form: str) -> dict[str, Any]:
    """The status for JSON, without what takes long to compute."""
    arms: Any = None
    if form != "none":
        arms = {name: [getattr(one, name) for one in status.arms] for name in ARM}
    if form == "rows":
        arms = [dict(zip(ARM, row, strict=True)) for row in zip(*arms.values(), strict=True)]
    return status.to_dict() | {"id": number, "arms": arms}


def arm_of(event: Event, state: StudyState) -> str | None:
    """The name of the arm that an event is about, perhaps by its ticket."""
    arm = event.arm
    if arm is None and event.ticket in state.tickets:
        arm = state.tickets[event.ticket].arm
    return None if arm is None else state.design.arms[arm]


def shown_event(event: Event, state: StudyState) -> dict[str, Any]:
    """An event with names in place of numbers, without what it does not have."""
    parts = {name: getattr(event, name) for name in FIELDS if getattr(event, name) is not None}
    arm = arm_of(event, state)
    if arm is not None:
        parts["arm"] = arm
    if event.ticket is not None:
        parts["ticket"] = state.design.ticket_id(event.ticket)
    return parts


def tickets_of(state: StudyState, batch: int | None, singles: bool = False) -> list[Ticket]:
    """The tickets of a sheet: the open ones; of a batch without such, all.  None: of all batches.

    With ``singles`` only open ones that are on no plate.

    Raises:
        Gone: if there are none.
    """
    given = [
        one
        for one in state.open.values()
        if batch in (None, one.batch) and not (singles and one.well)
    ]
    if not given and (singles or batch is None):
        raise StudyNotFound("There is no open ticket to write down.")
    asked = given or [t for t in state.tickets.values() if t.asked and t.batch == batch]
    if not asked:
        raise StudyNotFound(f"batch must be the number of one that was asked for: got {batch}.")
    return [state.public_ticket(one) for one in asked]


def values_told(state: StudyState, rows: list[AskedRow]) -> dict[AskedRow, float | str]:
    """What was told for the rows of a sheet, as it would be told again."""
    found: dict[AskedRow, float | str] = {}
    for row in rows:
        if row.ticket:
            ticket = known_ticket(row.ticket, state)
            value = ticket.value if ticket.raw is None else ticket.raw
            if value is not None:
                found[row] = f">{value!r}" if ticket.censored else value
        elif (row.plate, row.well) in state.controls:
            found[row] = state.controls[int(row.plate), row.well].value
    return found


def plates(state: StudyState) -> list[dict[str, Any]]:
    """The plates of a study, the newest first."""
    found: dict[int, dict[str, Any]] = {
        batch: {
            "batch": batch,
            "rows": layout["rows"],
            "columns": layout["columns"],
            "open": 0,
            "told": 0,
            "failed": 0,
            "client": None,
            "time": None,
        }
        for batch, layout in state.plates.items()
    }
    for ticket in state.tickets.values():
        if ticket.batch in found and ticket.well:
            one = found[ticket.batch]
            one[ticket.state] += 1
            one["client"], one["time"] = ticket.client, ticket.time
    return [found[batch] for batch in sorted(found, reverse=True)]


def plate_map(state: StudyState, batch: int) -> dict[str, Any]:
    """What stands in each well of a plate."""
    layout = state.plates.get(batch)
    if layout is None:
        known = ", ".join(map(str, state.plates)) or "none"
        raise StudyNotFound(f"plate must be one of the study's, which are {known}: got {batch}.")
    design, quality = state.design, state.quality
    wells: list[dict[str, Any]] = []
    for ticket in state.tickets.values():
        if ticket.batch == batch and ticket.well:
            held = "suspect" if ticket.number in quality.suspects else ticket.state
            wells.append(
                {
                    "well": ticket.well,
                    "arm": design.arms[ticket.arm],
                    "ticket": design.ticket_id(ticket.number),
                    "value": ticket.value,
                    "state": held,
                }
            )
    for well, control in layout["placed"].items():
        record = state.controls.get((batch, well))
        wells.append(
            {
                "well": well,
                "control": control,
                "value": None if record is None else record.value,
                "state": "open" if record is None else "told",
            }
        )
    wells.sort(key=lambda one: well_position(one["well"]))
    return {"batch": batch, "rows": layout["rows"], "columns": layout["columns"], "wells": wells}
