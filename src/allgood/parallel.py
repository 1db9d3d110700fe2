"""Where the work is done: threads of this machine, or a Dask cluster.

The compiled loop does not hold the interpreter's lock, so threads share the cores and no process
need be started.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from ._check import count

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def executor(workers: Any) -> Executor:
    """Threads for a number (None: one per core), or the executor of a Dask client."""
    if workers is None:
        return ThreadPoolExecutor(os.cpu_count() or 1)
    if hasattr(workers, "get_executor"):
        client: Executor = workers.get_executor(pure=False)
        return client
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"workers must be a number of threads or a Dask client: got {workers!r}.")
    return ThreadPoolExecutor(count("workers", workers))


def completed(
    work: Callable[[Item], Outcome], items: Iterable[Item], pool: Executor
) -> Iterator[tuple[Item, Outcome]]:
    """``(item, work(item))`` in the order in which they finish.

    What has not begun when the reader leaves is dropped.
    A Dask cluster does the work of a worker that died again on another one.
    """
    waiting = {pool.submit(work, item): item for item in items}
    try:
        for future in as_completed(waiting):
            yield waiting.pop(future), future.result()
    finally:
        for future in waiting:
            future.cancel()


def connect(address: str) -> Any:
    """A client of the Dask cluster at this address (extra ``cluster``)."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "A cluster needs Dask: install allgood with its extra `cluster`."
        ) from None
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(
            f"cluster must be the address of a Dask scheduler, as tcp://host:8786: got {address!r}."
        ) from error
