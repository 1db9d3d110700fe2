"""The cache of open studies, shared by all requests; a status is computed once per event."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._internal.results import plain
from ..study.backends.base import StudyHead
from ..study.backends.errors import StudyNotFound
from ..study.backends.sql import Store
from ..study.forecast import Forecast
from ..study.status import StudyStatus, status_of
from ..study.study import Study, study_by_number
from .feed import ALL
from .responses import StudyEntry, StudySummary
from .views import study_summary

OPEN_STUDIES = 200  # held in memory; the longest unused is closed


def as_json(value: Any) -> bytes:
    """Return a result, or plain data, as JSON."""
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


class StudyCache:
    """The studies of a database.  May be used from several threads.

    Readers and writers use different objects, with connections and locks of their own.  So a reader
    never waits for a writer that waits for the lock of the database, and a writer never waits for a
    reader that computes.
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
        self._statuses: dict[int, tuple[str, StudyStatus]] = {}  # by the digest of the last event
        self._json: dict[int, dict[str, tuple[StudyStatus, bytes]]] = {}  # by what it shows
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
        """Return name and end of each study; read them only if the database has changed."""
        with self._lock:
            marker = self.store.marker()
            if marker is None or marker != self._marker:
                self._heads, self._marker = self.store.overview(), marker
            return self._heads

    def study(self, number: int) -> Study:
        """Return a study to read."""
        return self._open(self._readers, number)

    def study_to_change(self, number: int) -> Study:
        """Return a study to change."""
        return self._open(self._writers, number)

    def _open(self, studies: OrderedDict[int, Study], number: int) -> Study:
        with self._lock:
            study = studies.get(number)
        if study is None:  # this may take long, and others need not wait for it
            study = study_by_number(self.store.twin(), number, self.clock)
        unused = None
        with self._lock:
            study = studies.setdefault(number, study)
            studies.move_to_end(number)
            if len(studies) > OPEN_STUDIES:
                oldest, unused = studies.popitem(last=False)
                self._forget_status(oldest)
        if unused is not None:  # a request may still use it, for which the others need not wait
            unused.close()
        return study

    def forget(self, number: int) -> None:
        """Drop everything that is held of a study."""
        with self._lock:
            self._readers.pop(number, None)
            self._writers.pop(number, None)
            self._forget_status(number)

    def _forget_status(self, number: int) -> None:
        self._statuses.pop(number, None)
        self._forecasts.pop(number, None)
        self._json.pop(number, None)

    def newest(self, wanted: set[int]) -> dict[int, int]:
        """Return the number of the newest event of each study; -1 if it was deleted.

        With ``ALL`` among the wanted, of every study; then ``ALL`` itself is in the answer.
        """
        heads = self.heads()
        numbers = wanted | heads.keys() if ALL in wanted else wanted
        newest = {
            number: heads[number].events if number in heads else -1 for number in numbers - {ALL}
        }
        return newest | dict.fromkeys(wanted & {ALL}, 0)

    def status(self, number: int) -> StudyStatus:
        """Return the status; compute it only if there are new events."""
        if (status := self._current_status(number)) is not None:
            return status
        study = self.study(number)
        with study.backend.reading() as state:
            digest = study.backend.digest
            status = status_of(state, study.name, self.clock())
        with self._lock:
            self._statuses[number] = digest, status
        return status

    def _current_status(self, number: int) -> StudyStatus | None:
        """Return the status that was computed last, if there are no new events since."""
        head = self.heads().get(number)
        if head is None:
            self.forget(number)
            raise StudyNotFound(
                f"there is no study {number} in {self.database}, or it was deleted."
            )
        with self._lock:
            digest, status = self._statuses.get(number, ("", None))
        return status if digest == head.digest else None

    def status_json(self, number: int, form: str, make: Callable[[StudyStatus], Any]) -> bytes:
        """Return what ``make`` makes of the status as JSON; make it only if there are new events.

        Args:
            number: the study's number.
            form: a name for what ``make`` makes.
            make: turns the status into a result or plain data.
        """
        status = self.status(number)
        with self._lock:
            entry = self._json.setdefault(number, {}).get(form)
        if entry is None or entry[0] is not status:
            entry = status, as_json(make(status))
            with self._lock:
                self._json.setdefault(number, {})[form] = entry
        return entry[1]

    def forecast(self, number: int) -> Forecast:
        """Return the forecast; compute it only if there are new events."""
        status = self.status(number)
        with self._lock:
            entry = self._forecasts.get(number)
        if entry is None or entry[0] is not status:
            entry = status, self.study(number).forecast()
            with self._lock:
                self._forecasts[number] = entry
        return entry[1]

    def list_entry(self, head: StudyHead) -> StudySummary | StudyEntry:
        """Return a summary for the list of studies if its status is known, else the name."""
        if self._current_status(head.id) is not None:
            return self.summary(head.id)
        return StudyEntry(head.id, head.name, head.events)

    def summary(self, number: int) -> StudySummary:
        """Return a study in a few numbers."""
        status = self.status(number)
        with self.study(number).backend.reading() as state:
            times = state.times
        return study_summary(number, status, times)
