"""Fixed seeds everywhere: hypothesis draws the same examples on every machine and every day."""

import gc

from hypothesis import HealthCheck, settings

from .postgres import postgres_url  # noqa: F401 - a fixture: one server for all modules

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("fixed")


def pytest_collection_finish():
    """Save a tenth of the time.  All that is loaded by now stays, so it is no place for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
