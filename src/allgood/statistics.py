"""Exact intervals for a rate, without a table or a library."""

import math
from collections.abc import Callable


def exact_interval(hits: int, trials: int, level: float) -> tuple[float, float]:
    """The interval of Clopper and Pearson for the rate behind so many hits; (0, 1) for no trials.

    Its ends are the rates at which so many hits or more, or so many or fewer, have half of the
    remaining probability.

    >>> [round(end, 4) for end in exact_interval(0, 50, 0.95)]
    [0.0, 0.0711]
    """
    if trials == 0:
        return 0.0, 1.0
    tail = 0.5 * (1.0 - level)
    low = 0.0
    high = 1.0
    if hits > 0:
        low = _crossing(lambda rate: 1.0 - at_most(hits - 1, trials, rate) - tail)
    if hits < trials:
        high = _crossing(lambda rate: tail - at_most(hits, trials, rate))
    return low, high


def at_most(hits: int, trials: int, rate: float) -> float:
    """The probability of at most so many hits."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return float(hits >= trials)
    if hits > trials // 2:  # sum the shorter tail
        return 1.0 - at_most(trials - hits - 1, trials, 1.0 - rate)
    yes, no = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(trials + 1)
    logs = (
        whole - math.lgamma(i + 1) - math.lgamma(trials - i + 1) + i * yes + (trials - i) * no
        for i in range(hits + 1)
    )
    return min(math.fsum(math.exp(x) for x in logs), 1.0)


def _crossing(value: Callable[[float], float]) -> float:
    """Where a function that grows on (0, 1) crosses zero, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if value(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
