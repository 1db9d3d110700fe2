"""Slow computations of the server: a few at once, shared fairly, each with an end.

A computation runs in a thread of its own.  It stops soon after its client has gone, after the time
that its role may use, and when the server ends (``_internal/cancel.py``).  A thread that does not
stop keeps its place, so that there are never more threads than places, and does not keep the
process alive.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect

from .._internal.cancel import Cancelled, cancellable
from .problems import Refused
from .tokens import Role

PLACES = 3  # computations at once
READERS = 2  # of these for the role read, so that those who measure always have one
AT_ONCE: dict[Role, int] = {"read": 1, "measure": 2, "manage": 2}  # of one client
SECONDS: dict[Role, float] = {"read": 30.0, "measure": 60.0, "manage": 300.0}  # for each
PER_CLIENT = 6  # computations of one client, with those that wait
QUEUE = 60  # that wait, of all clients

T = TypeVar("T")


@dataclass(eq=False)
class _Job:
    client: str
    role: Role
    do: Callable[[], Any]
    outcome: "asyncio.Future[Any]"
    stop: threading.Event = field(default_factory=threading.Event)
    until: float = float("inf")

    def is_late(self) -> bool:
        return time.monotonic() > self.until

    def should_stop(self) -> bool:
        return self.stop.is_set() or self.is_late()


class SlowWork:
    """Places for slow computations."""

    def __init__(self, seconds: dict[Role, float] | None = None) -> None:
        self.seconds = SECONDS if seconds is None else seconds
        self.running: list[_Job] = []
        self.waiting: list[_Job] = []
        self.ended = False

    async def run(
        self, client: str, role: Role, gone: Callable[[], Awaitable[object]], do: Callable[[], T]
    ) -> T:
        """Compute something while its client waits for it.

        Args:
            client: who asks; each has a limit of its own.
            role: decides how long it may take, and how many may run at once.
            gone: returns when the client has gone.
            do: the computation.

        Raises:
            Refused: if the client, or all together, ask for too much; or if it takes too long.
            ClientDisconnect: if the client has gone.
        """
        if sum(job.client == client for job in self.running + self.waiting) >= PER_CLIENT:
            raise Refused(
                429,
                f"At most {PER_CLIENT} slow requests of a client are taken at once: try again when "
                "one of them has ended.",
                {"Retry-After": "5"},
            )
        if self.ended or len(self.waiting) >= QUEUE:
            raise Refused(503, "The server has too much to do: try again.", {"Retry-After": "5"})
        job = _Job(client, role, do, asyncio.get_running_loop().create_future())
        self.waiting.append(job)
        self._start()
        watch = asyncio.ensure_future(gone())
        try:
            await asyncio.wait({job.outcome, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not job.outcome.done():
                raise ClientDisconnect
            result: T = job.outcome.result()
            return result
        except Cancelled:
            if job.is_late():
                raise Refused(
                    422,
                    f"This took longer than the {self.seconds[role]:g} seconds that the role "
                    f"{role} may use: ask for less, such as fewer runs or arms or a smaller "
                    "budget, or compute it with allgood on your own machine.",
                ) from None
            raise Refused(503, "The server is ending: try again.", {"Retry-After": "1"}) from None
        finally:
            watch.cancel()
            job.stop.set()
            if job in self.waiting:
                self.waiting.remove(job)

    def end(self) -> None:
        """Stop all computations."""
        self.ended = True
        for job in self.running + self.waiting:
            job.stop.set()
        for job in self.waiting:
            if not job.outcome.done():
                job.outcome.set_exception(Cancelled("the server is ending."))

    def _start(self) -> None:
        """Start those that wait and may run, in the order in which they came."""
        for job in list(self.waiting):
            if self._may_start(job):
                self.waiting.remove(job)
                self.running.append(job)
                job.until = time.monotonic() + self.seconds[job.role]
                run = copy_context().run
                threading.Thread(target=run, args=(self._compute, job), daemon=True).start()

    def _may_start(self, job: _Job) -> bool:
        own = sum(other.client == job.client for other in self.running)
        readers = sum(other.role == "read" for other in self.running)
        return (
            not self.ended
            and len(self.running) < PLACES
            and own < AT_ONCE[job.role]
            and (job.role != "read" or readers < READERS)
        )

    def _compute(self, job: _Job) -> None:
        result, error = None, None
        try:
            with cancellable(job.should_stop):
                result = job.do()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the server has ended
            job.outcome.get_loop().call_soon_threadsafe(self._finish, job, result, error)

    def _finish(self, job: _Job, result: Any, error: BaseException | None) -> None:
        self.running.remove(job)
        if not job.outcome.done():
            if error is None:
                job.outcome.set_result(result)
            else:
                job.outcome.set_exception(error)
                job.outcome.exception()  # looked at, also if nobody waits any more
        self._start()
