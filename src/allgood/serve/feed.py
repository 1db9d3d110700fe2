"""The change feed: wakes the live streams of a study when it has new events.

One task looks for new events, a few times a second and only while a stream is open.  So it also
finds events of programs that write to the database without a server.  After a change by this server
it looks at once.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

PAUSE = 0.25  # seconds between two looks
ALL = 0  # stands for the list of studies


class ChangeFeed:
    """The number of the newest event of each study that has subscribers."""

    def __init__(self, look: Callable[[set[int]], dict[int, int]]) -> None:
        """``look`` returns the newest number of each of these studies, or of all with ``ALL``."""
        self._look = look
        self._subscribers: dict[int, int] = {}
        self._newest: dict[int, int] = {}
        self._changed = asyncio.Condition()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ended = False
        self._unavailable = False  # the last look failed

    @property
    def closing(self) -> bool:
        """True if streams must end: with the server, or because the database is unavailable."""
        return self.ended or self._unavailable

    @property
    def subscribers(self) -> int:
        return sum(self._subscribers.values())

    def wake(self) -> None:
        """Look now; may be called from any thread."""
        if self._loop is not None and self._subscribers:
            with suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._wake.set)

    async def end(self) -> None:
        """End all streams."""
        self.ended = True
        self._wake.set()
        async with self._changed:
            self._changed.notify_all()

    def subscribe(self, study: int) -> None:
        """Count a stream of a study, which has just read the database."""
        self._subscribers[study] = self._subscribers.get(study, 0) + 1
        self._unavailable = False
        self._loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._watch())
        self._wake.set()

    def unsubscribe(self, study: int) -> None:
        self._subscribers[study] -= 1
        if not self._subscribers[study]:
            del self._subscribers[study]
            self._newest.pop(study, None)

    async def newer(self, study: int, than: int, patience: float) -> int | None:
        """Wait until the newest number is not ``than``; None after a time.  -1: deleted."""

        def has_changed() -> bool:
            newest = self._newest.get(study, than)
            return self.closing or newest != than

        async with self._changed:
            try:
                async with asyncio.timeout(patience):  # wait_for would wait in another task
                    await self._changed.wait_for(has_changed)
            except TimeoutError:
                return None
            return None if self.closing else self._newest.get(study)

    async def changes(self, known: dict[int, int], patience: float) -> list[int]:
        """Wait for studies whose newest number differs from ``known``, which is brought up to date.

        Returns an empty list after a time.
        """

        def differing() -> list[int]:
            if ALL not in self._newest:  # no look at all of them yet
                return []
            now = self._newest
            return sorted(s for s in now | known if now.get(s) != known.get(s))

        async with self._changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._changed.wait_for(lambda: self.closing or bool(differing()))
            studies = differing()
            if studies:
                known.clear()
                known.update(self._newest)
            return studies

    async def _watch(self) -> None:
        while self._subscribers and not self.ended:
            self._wake.clear()
            try:
                newest = await asyncio.to_thread(self._look, set(self._subscribers))
                unavailable = False
            except ValueError:  # the database is unavailable: the streams end, and come again
                newest, unavailable = self._newest, True
            async with self._changed:
                if (newest, unavailable) != (self._newest, self._unavailable):
                    self._newest, self._unavailable = newest, unavailable
                    self._changed.notify_all()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), PAUSE)
            await asyncio.sleep(0.02)  # many writes in a row are one change
