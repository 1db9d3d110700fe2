"""Run slow computations: a few at once, shared fairly among clients, each with a time limit.

A computation runs in a thread of its own.  It stops soon after its client has disconnected, after
the time limit of its role, and when the server ends (``_internal/cancel.py``).  A thread that does
not stop keeps its place, so that there are never more threads than places, and does not keep the
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
from .problems import Refusal
from .tokens import Role

PLACES = 3  # computations at once
READERS = 2  # of these for the role read, so that those who measure always have one
AT_ONCE: dict[Role, int] = {"read": 1, "measure": 2, "manage": 2}  # of one client
SECONDS: dict[Role, float] = {"read": 30.0, "measure": 60.0, "manage": 300.0}  # for each
PER_CLIENT = 6  # computations of one client, with those that wait
QUEUE = 60  # computations that wait, of all clients

T = TypeVar("T")


@dataclass(eq=False)
class _Job:
    client: str
    role: Role
    function: Callable[[], Any]
    outcome: "asyncio.Future[Any]"
    stop: threading.Event = field(default_factory=threading.Event)
    until: float = float("inf")

    def is_late(self) -> bool:
        return time.monotonic() > self.until

    def should_stop(self) -> bool:
        return self.stop.is_set() or self.is_late()


class SlowWork:
    """The places for slow computations, and the queue before them."""

    def __init__(self, seconds: dict[Role, float] | None = None) -> None:
        self.seconds = SECONDS if seconds is None else seconds
        self.running: list[_Job] = []
        self.waiting: list[_Job] = []
        self.ended = False

    async def run(
        self,
        client: str,
        role: Role,
        disconnected: Callable[[], Awaitable[object]],
        function: Callable[[], T],
    ) -> T:
        """Compute a result while its client waits for it.

        Args:
            client: the caller; each has a limit of its own.
            role: decides how long it may take, and how many may run at once.
            disconnected: returns when the client has disconnected.
            function: the computation.

        Raises:
            Refusal: if the client, or all together, ask for too much; or if it takes too long.
            ClientDisconnect: if the client has disconnected.
        """
        if sum(job.client == client for job in self.running + self.waiting) >= PER_CLIENT:
            raise Refusal(
                429,
                f"A client may have {PER_CLIENT} slow requests in progress: try again when one of "
                "them has ended.",
                {"Retry-After": "5"},
            )
        if self.ended or len(self.waiting) >= QUEUE:
            raise Refusal(503, "The server is busy: try again.", {"Retry-After": "5"})
        job = _Job(client, role, function, asyncio.get_running_loop().create_future())
        self.waiting.append(job)
        self._start()
        watch = asyncio.ensure_future(disconnected())
        try:
            await asyncio.wait({job.outcome, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not job.outcome.done():
                raise ClientDisconnect
            result: T = job.outcome.result()
            return result
        except Cancelled:
            if job.is_late():
                raise Refusal(
                    422,
                    f"The computation took longer than {self.seconds[role]:g} seconds, the limit "
                    f"of the role {role}: ask for less, such as fewer runs or arms or a smaller "
                    "budget, or compute it with allgood on your own machine.",
                ) from None
            raise Refusal(503, "The server is ending: try again.", {"Retry-After": "1"}) from None
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
        """Start the computations that may run, in the order in which they came."""
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
                result = job.function()
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
