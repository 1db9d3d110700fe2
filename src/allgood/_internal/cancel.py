"""Stop a long computation that nobody waits for any more.

The caller says when a computation is to stop: ``with cancellable(should_stop):``.  The loops inside
call ``check_cancelled`` now and then, which raises ``Cancelled``.  Outside of such a block it does
nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_should_stop: ContextVar[Callable[[], bool] | None] = ContextVar("should_stop", default=None)


class Cancelled(Exception):
    """The computation was stopped before its end."""


@contextmanager
def cancellable(should_stop: Callable[[], bool]) -> Iterator[None]:
    """Let the computations of this block end early, once ``should_stop`` returns True."""
    before = _should_stop.set(should_stop)
    try:
        yield
    finally:
        _should_stop.reset(before)


def is_cancellable() -> bool:
    return _should_stop.get() is not None


def check_cancelled() -> None:
    """Raise Cancelled if this computation is to stop."""
    should_stop = _should_stop.get()
    if should_stop is not None and should_stop():
        raise Cancelled("the computation was stopped before its end.")
