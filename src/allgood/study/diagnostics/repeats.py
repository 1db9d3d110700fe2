"""Check for values that repeat as normal ones cannot, such as ratings, counts or zeros and ones.

If values are normal, and rounded to a quarter of their standard deviation at most, the chance of
ever being warned is at most REPEATS_RISK.

A normal value, rounded to at most a quarter of its sigma, is one of any k numbers
with probability at most P_k = P(|Z| < k/8).  Bet that the next value is one of the k most frequent
so far: a stake becomes q/P_k times itself if it is, and (1 - q)/(1 - P_k) times if not, q > P_k.
On average it does not grow.  So it ever reaches 1/alpha with probability at most alpha.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..._internal.arguments import Vector
from ...models.base import Model
from ...models.gaussian import Gaussian
from .values import log_average

REPEATS_RISK = 0.01

# Bets on repeats: sizes k, and the part of the rest of the probability that they leave.
SIZES, REST = (2, 5, 10), (0.5, 0.125)
FIRST_BET = 5  # values before the first bet


def check_repeats(values: Iterable[float], model: Model) -> str:
    """Return a warning if values repeat as normal ones cannot; empty if they do not.

    Values are in the order of telling.  If sigma is known, the warning needs a sigma below half of
    their range: values between two limits are sub-Gaussian with half of the distance as sigma.
    """
    numbers = [float(value) for value in values]
    if not numbers or not isinstance(model, Gaussian):
        return ""
    low, high = min(numbers), max(numbers)
    if model.sigma is not None and 0.5 * (high - low) <= np.min(model.sigma):
        return ""
    if repeats_evidence(numbers) < -math.log(REPEATS_RISK):
        return ""
    frequencies = Counter(numbers)
    value, times = frequencies.most_common(1)[0]
    repetition = f"{len(frequencies):,} different ones among {len(numbers):,}"
    if len(frequencies) > max(SIZES):
        repetition = f"{value:g} was told {times:,} times in {len(numbers):,}"
    return (
        f"Values repeat as normal ones cannot: {repetition}.  "
        f"{_advice(frequencies, low, high)}  If values are normal, and rounded to a quarter of "
        "their standard deviation at most, the chance of ever "
        f"seeing this is at most 1 in {1.0 / REPEATS_RISK:.0f}."
    )


def _advice(frequencies: Mapping[float, int], low: float, high: float) -> str:
    """Name the model that fits such values."""
    bounded = (
        "Bounded(low, high) with the least and the largest value that can occur "
        f"(so far {low:g} and {high:g})"
    )
    if set(frequencies) <= {0.0, 1.0}:
        return "The model of values that are 0 or 1 is Bernoulli()."
    if len(frequencies) == 2:
        return f"If only {low:g} and {high:g} can occur, tell 0 and 1 instead, with Bernoulli()."
    if low >= 0.0 and all(value == math.floor(value) for value in frequencies):
        return f"If they are counts, use Poisson(); else {bounded}."
    return f"If they were rounded, tell more digits; else use {bounded}."


def repeats_evidence(values: Sequence[float]) -> float:
    """Return the logarithm of what the bets on repeats have won.

    Each next value may be one of the k most frequent before it.  Of equally frequent ones those
    count first that became so first.
    """
    most = max(SIZES)
    frequencies: Counter[float] = Counter()
    top: list[float] = []  # the most frequent
    met = np.zeros((most + 1, most + 1), np.int64)  # by the number of these, and place among them
    times, once = Counter(values), 0
    for i, value in enumerate(values):
        # A value that comes once is never one of ``top``, nor becomes one once that is full.
        if times[value] == 1 and len(top) == most:
            once += i >= FIRST_BET
            continue
        place = top.index(value) if value in top else most
        if i >= FIRST_BET:
            met[len(top), place] += 1
        frequencies[value] += 1
        if place < most:
            del top[place]
        elif len(top) == most and frequencies[value] <= frequencies[top[-1]]:
            continue
        ahead = sum(frequencies[other] >= frequencies[value] for other in top)
        top.insert(ahead, value)
        del top[most:]
    met[most, most] += once
    return log_average(np.array([(met * bet).sum() for bet in _bets()]))


def _bets() -> list[Vector]:
    """Return the factor of each bet's stake, as logarithms, by the axes of ``met`` above."""
    bets = []
    place = np.arange(max(SIZES) + 1)
    for k in SIZES:
        size = np.minimum(np.maximum(place, 1), k)[:, None]
        P = np.array([math.erf(i / 8.0 / math.sqrt(2.0)) for i in range(k + 1)])[size]
        for rest in REST:
            q = 1.0 - rest * (1.0 - P)
            bets.append(np.log(np.where(place < size, q / P, rest)))
    return bets
