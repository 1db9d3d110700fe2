"""Fixed seeds everywhere: `make test` draws the same examples on every machine and every day."""

import gc
import signal

from hypothesis import settings

from .support import effort  # noqa: F401 - registers the profile
from .support.postgres import postgres_url  # noqa: F401 - a fixture: one server for all modules

settings.load_profile("house")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and programs that tests interrupt inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Save a tenth of the time.  All that is loaded by now stays, so it is no place for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
