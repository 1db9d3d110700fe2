"""The protocol of storages and backends: open this to store studies somewhere else.

A ``Storage`` holds studies: a database (``sql.py``) or a server (``http.py``).  A ``Backend`` is
one study of it, and keeps the state of that study.  ``Study`` uses nothing but these.
"""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from ..._internal.arguments import count
from ..commands.base import Command, Decision, R
from ..design import StudyDesign
from ..events import Chain, Event, StoredEvent
from ..state import Fold, StudyState, no_garbage_collection
from .errors import DatabaseUnavailable, HistoryChanged

FILTERS = ("kind", "client", "ticket", "arm", "batch")  # of ``Backend.lines``


@dataclass(frozen=True)
class StudyHead:
    """The facts about a study that its storage knows without its events.

    Attributes:
        id, name: the study's number and name.
        events, digest: number and digest of its last event.
    """

    id: int
    name: str
    events: int
    digest: str


class Log(Protocol):
    """The events of one study as of one moment."""

    @property
    def end(self) -> Chain:
        """The number of the last event, and its digest if that is known."""

    def catch_up(self, known: Chain, take: Callable[[Event], None]) -> None:
        """Hand over each event after those that are known, and move ``known`` to the end."""

    def check(self, known: Chain) -> None:
        """Raise HistoryChanged if an event that is known is not there, or is another one."""

    def lines(
        self,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        **filters: Any,
    ) -> Iterator[str]:
        """Return the lines of events with numbers between these, in order."""


class Storage(ABC):
    """A database of studies, or a server in front of one.

    Attributes:
        shown: its address, for messages.
    """

    shown: str

    @abstractmethod
    def names(self) -> list[tuple[int, str]]:
        """Return number and name of each study."""

    @abstractmethod
    def overview(self, number: int | None = None) -> dict[int, StudyHead]:
        """Return the facts about each study, or about one."""

    @abstractmethod
    def reading(self, number: int) -> AbstractContextManager[Log]:
        """Return the events of a study as of one moment."""

    def at_one_moment(self) -> AbstractContextManager[object]:
        """Open a block that reads everything as of one moment, if the storage can do so."""
        return nullcontext()

    @abstractmethod
    def add_study(self, name: str, first: Sequence[StoredEvent]) -> int | None:
        """Add a study and its first events; return its number, or None if the name is taken."""

    @abstractmethod
    def delete_study(self, number: int) -> None:
        """Delete a study and its events."""

    @abstractmethod
    def backend(
        self, number: int, name: str, state: StudyState, chain: Chain, clock: Callable[[], float]
    ) -> "Backend":
        """Return the backend of a study whose state is known up to the end of this chain."""

    @abstractmethod
    def let_go(self) -> None:
        """Close the connection, unless the studies would end with it."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection.  The next call opens another."""


class Backend(ABC):
    """One study of a storage, and its state.  It may be used from several threads.

    Attributes:
        storage, number, name: where the study is, its number there and its name.
        clock: returns the time, in seconds since 1970.
    """

    def __init__(
        self,
        storage: Storage,
        number: int,
        name: str,
        state: StudyState,
        chain: Chain,
        clock: Callable[[], float],
    ) -> None:
        self.storage, self.number, self.name, self.clock = storage, number, name, clock
        self._state = state
        self._chain = chain  # the end of the events that the state holds
        self._lock = threading.RLock()
        self._stale = False  # whether state and chain must be read again
        self._lost: HistoryChanged | None = None  # for the next change to say
        _open.add(self)

    @abstractmethod
    def execute(self, request: Command[R]) -> Decision[R]:
        """Decide a request, and store its events."""

    @abstractmethod
    def preview(self, request: Command[R]) -> R:
        """Return the result that a request would have.  Nothing is stored."""

    @abstractmethod
    def reopening(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return a function and its arguments with which another process opens the study."""

    def filter_values(self, state: StudyState, **named: Any) -> dict[str, Any] | None:
        """Return filters of events as the storage takes them; None if no event can match."""
        return named

    @property
    def digest(self) -> str:
        """SHA-256 of the last event that is known here."""
        return self._chain.digest

    @property
    def design(self) -> StudyDesign:
        """The design, with arms and budget as they are known here."""
        return self.known_state.design

    @property
    def known_state(self) -> StudyState:
        """The state as of the last event read here; the storage may hold later events."""
        if self._stale:  # a change that could not be stored must not be seen
            with self._lock:
                self._renew()
        return self._state

    @property
    def end(self) -> int:
        """The number of the last event that the storage holds now."""
        with self._lock, self.storage.reading(self.number) as log:
            return log.end.seq

    @contextmanager
    def reading(self) -> Iterator[StudyState]:
        """Return the state, up to date; no other thread changes it in the meantime."""
        with self._lock, self._guarded([]):
            self._renew()
            try:
                with self.storage.reading(self.number) as log:
                    log.catch_up(self._chain, self._state.apply)
            except HistoryChanged as error:
                self._stale, self._lost = True, error
                self._renew()
            yield self._state

    def lines(
        self,
        after: int = 0,
        *,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        **filters: Any,
    ) -> list[str]:
        """Return lines of JSON, without line ends, of events with numbers above ``after``.

        Args:
            after, before, limit: numbers between which the events lie, and how many at most.
            newest: whether to begin with the newest.
            filters: only events of this ``kind``, of this ``client``, about this ``ticket``, or
                about this ``arm`` or this ``batch`` or a ticket of it.  None stands for all; of
                kinds and tickets there may be a list.
        """
        after = count("after", after, least=0)
        named = {name: value for name, value in filters.items() if value is not None}
        unknown = named.keys() - set(FILTERS)
        if unknown:
            raise TypeError(f"filters must be among {', '.join(FILTERS)}: got {min(unknown)!r}.")
        chosen = self.filter_values(self.known_state, **named)
        if chosen is None:
            return []
        with self._lock, self.storage.reading(self.number) as log:
            return list(log.lines(after, before, limit, newest, **chosen))

    def check_digest(self, seq: int, digest: str) -> None:
        """Raise HistoryChanged if event ``seq`` is not the one with this digest."""
        with self._lock, self.storage.reading(self.number) as log:
            log.check(Chain(seq, digest))

    def close(self) -> None:
        """Close the connection.  The next call opens another; a study in memory ends here."""
        with self._lock:
            self.storage.close()

    def _renew(self) -> None:
        """Read the study again, if a change was interrupted or could not be stored."""
        if self._stale:
            self._state, self._chain = read_study(self.storage, self.number)
            self._stale = False

    @contextmanager
    def _guarded(self, recorded: "list[Any]") -> Iterator[None]:
        """Mark the state as stale if an exception may have left it wrong.

        ValueError and TypeError leave it valid unless something was recorded.  Any other exception,
        such as an interruption or an error of the database, marks it stale, and it is read again.
        """
        try:
            yield
        except DatabaseUnavailable:
            self._stale = True
            raise
        except (ValueError, TypeError):
            self._stale |= bool(recorded)
            raise
        except BaseException:
            self._stale = True
            raise


def read_study(storage: Storage, number: int) -> tuple[StudyState, Chain]:
    """Read a study from its first event on: its state, and where it ends."""
    fold, chain = Fold(), Chain()
    with no_garbage_collection(), storage.reading(number) as log:
        log.catch_up(chain, fold.apply)
    return fold.state, chain


_open: "weakref.WeakSet[Backend]" = weakref.WeakSet()
_held: list[Backend] = []
_forking = threading.Lock()


def _before_fork() -> None:
    """Close all connections, so that no child process inherits one.

    To SQLite the locks of an inherited connection would seem to be the child's, which has none.
    """
    _forking.acquire()
    _held[:] = _open
    for backend in _held:
        backend._lock.acquire()
    for backend in _held:
        backend.storage.let_go()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
