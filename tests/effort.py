"""How many examples hypothesis draws for a property.

A change is tested with few, always the same ones.  `make thorough` draws twenty times as many, and
others each time.
"""

import os

from hypothesis import HealthCheck, settings

THOROUGH = os.environ.get("ALLGOOD_THOROUGH", "") == "1"
USUAL = 40  # examples, where a test does not ask for another number


def examples(count=USUAL, **others):
    """The settings of a test that draws ``count`` examples."""
    return settings(max_examples=20 * count if THOROUGH else count, **others)


settings.register_profile(
    "house",
    examples(
        derandomize=not THOROUGH,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    ),
)
