"""How many examples hypothesis draws for a property, and how many runs a risk is checked with.

A change is tested with few, always the same ones.  `make thorough` draws twenty times as many
examples, and others each time, and makes ten times as many runs.
"""

import os

from hypothesis import HealthCheck, settings

THOROUGH = os.environ.get("ALLGOOD_THOROUGH", "") == "1"
USUAL = 40  # examples, where a test does not ask for another number


def examples(count=USUAL, **others):
    """The settings of a test that draws ``count`` examples."""
    return settings(max_examples=20 * count if THOROUGH else count, **others)


def repeats(count):
    """How many runs a statistical test makes: the more, the smaller the excess that it sees."""
    return 10 * count if THOROUGH else count


settings.register_profile(
    "house",
    examples(
        derandomize=not THOROUGH,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    ),
)
