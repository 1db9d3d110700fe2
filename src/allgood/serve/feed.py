"""Who waits for news of which study.

One task looks for new events, a few times a second and only while somebody waits.  Programs that
write into the database without a server are heard in this way, too.  What this server writes itself
is looked for at once.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

PAUSE = 0.25  # seconds between two looks
ALL = 0  # stands for the list of studies


class ChangeFeed:
    """The number of the newest event of each study that somebody waits for."""

    def __init__(self, look: Callable[[set[int]], dict[int, int]]) -> None:
        """``look`` gives the newest number for each of these studies, or for all with ``ALL``."""
        self._look = look
        self._waiting: dict[int, int] = {}
        self._newest: dict[int, int] = {}
        self._changed = asyncio.Condition()
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ended = False
        self._away = False  # the database could not be asked

    @property
    def closing(self) -> bool:
        """Whether streams end: the server does, or there can be no news for now."""
        return self.ended or self._away

    @property
    def listeners(self) -> int:
        return sum(self._waiting.values())

    def hurry(self) -> None:
        """Look now; may be called from any thread."""
        if self._loop is not None and self._waiting:
            with suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._hurry.set)

    async def end(self) -> None:
        """Let everybody go."""
        self.ended = True
        self._hurry.set()
        async with self._changed:
            self._changed.notify_all()

    def arrive(self, study: int) -> None:
        self._waiting[study] = self._waiting.get(study, 0) + 1
        self._away = False  # who arrives has just asked the database
        self._loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._watch())
        self._hurry.set()

    def leave(self, study: int) -> None:
        self._waiting[study] -= 1
        if not self._waiting[study]:
            del self._waiting[study]
            self._newest.pop(study, None)

    async def newer(self, study: int, than: int, patience: float) -> int | None:
        """The newest number once it is not ``than``; None after a time.  -1: deleted."""

        def is_there() -> bool:
            newest = self._newest.get(study, than)
            return self.closing or newest != than

        async with self._changed:
            try:
                await asyncio.wait_for(self._changed.wait_for(is_there), patience)
            except TimeoutError:
                return None
            return None if self.closing else self._newest.get(study)

    async def changes(self, known: dict[int, int], patience: float) -> list[int]:
        """The studies whose newest number differs from ``known``, which is brought up to date."""

        def differing() -> list[int]:
            if ALL not in self._newest:  # nobody has looked at all of them yet
                return []
            now = self._newest
            return sorted(s for s in now | known if now.get(s) != known.get(s))

        async with self._changed:
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    self._changed.wait_for(lambda: self.closing or bool(differing())), patience
                )
            found = differing()
            if found:
                known.clear()
                known.update(self._newest)
            return found

    async def _watch(self) -> None:
        while self._waiting and not self.ended:
            self._hurry.clear()
            try:
                newest = await asyncio.to_thread(self._look, set(self._waiting))
                away = False
            except ValueError:  # the database is away: those who wait come again
                newest, away = self._newest, True
            async with self._changed:
                if (newest, away) != (self._newest, self._away):
                    self._newest, self._away = newest, away
                    self._changed.notify_all()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), PAUSE)
            await asyncio.sleep(0.02)  # many writes in a row are one piece of news
