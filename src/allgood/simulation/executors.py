"""Executors: do the runs in threads of this machine, or on a Dask cluster.

The compiled loop does not hold the interpreter's lock, so threads share the cores and no process
need be started.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import as_completed
from contextvars import copy_context
from functools import partial
from threading import Semaphore, Thread
from typing import Any, TypeVar

from .._internal.arguments import count

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

PAUSE = 0.02  # seconds until the caller looks for outcomes again


def open_executor(workers: Any) -> Callable[..., Generator[tuple[Any, Any], None, None]]:
    """Return an executor: so many threads (None: one per core), or the cluster of a Dask client.

    Call it with a function and its arguments, ``open_executor(workers)(work, items)``.  It yields
    ``(item, work(item))`` in the order in which they finish.  Close it to drop the items that have
    not begun.
    """
    if hasattr(workers, "get_executor"):
        return partial(_on_cluster, workers)
    if workers is None:
        return partial(_in_threads, os.cpu_count() or 1)
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"workers must be a number of threads or a Dask client: got {workers!r}.")
    return partial(_in_threads, count("workers", workers))


def _in_threads(
    number: int, work: Callable[[Item], Outcome], items: Iterable[Item]
) -> Generator[tuple[Item, Outcome], None, None]:
    """Do the work in threads; each takes the next item until there is none.

    Python runs one thread at a time, and the work of one item may be short.  So nothing is created
    for an item except its outcome.  The caller looks for outcomes now and then: to wake it for each
    of them would hold up the other threads.
    """
    waiting = deque(items)
    finished: deque[tuple[Item, Any, BaseException | None]] = deque()
    ended = Semaphore(0)

    def take_turns() -> None:
        while waiting:
            try:
                item = waiting.popleft()
            except IndexError:  # another thread was faster
                break
            try:
                finished.append((item, work(item), None))
            except BaseException as error:
                finished.append((item, None, error))
        ended.release()

    expected = len(waiting)
    try:
        for _ in range(min(number, expected)):
            Thread(target=copy_context().run, args=(take_turns,)).start()
        while expected > 0:
            ended.acquire(timeout=PAUSE)
            while finished:
                item, outcome, error = finished.popleft()
                if error is not None:
                    raise error
                expected -= 1
                yield item, outcome
    finally:
        waiting.clear()  # the items under way are not waited for: they may be endless


def _on_cluster(
    client: Any, work: Callable[[Item], Outcome], items: Iterable[Item]
) -> Generator[tuple[Item, Outcome], None, None]:
    """Do the work on a Dask cluster, which repeats elsewhere the work of a dead worker."""
    pool = client.get_executor(pure=False)
    waiting = {pool.submit(work, item): item for item in items}
    try:
        for future in as_completed(waiting):
            yield waiting.pop(future), future.result()
    finally:
        for future in waiting:
            future.cancel()
        pool.shutdown(wait=False)


def connect(address: str) -> Any:
    """Return a client of the Dask cluster at this address (extra ``cluster``)."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "A cluster needs Dask: install allgood with its extra `cluster`."
        ) from None
    try:
        return Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(
            f"cluster must be the address of a Dask scheduler, such as tcp://host:8786: "
            f"got {address!r}."
        ) from error
