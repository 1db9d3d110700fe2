"""Fixed seeds everywhere: hypothesis draws the same examples on every machine and every day."""

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
