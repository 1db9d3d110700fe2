"""Exact confidence intervals for a rate, Student's t distribution and Fisher's F, without SciPy."""

import math
from collections.abc import Callable
from functools import lru_cache


def exact_interval(hits: int, trials: int, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a rate; (0, 1) for no trials.

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
        low = crossing(lambda rate: 1.0 - at_most(hits - 1, trials, rate) - tail)
    if hits < trials:
        high = crossing(lambda rate: tail - at_most(hits, trials, rate))
    return low, high


def at_most(hits: int, trials: int, rate: float) -> float:
    """Return the probability of at most so many hits."""
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


def crossing(value: Callable[[float], float]) -> float:
    """Return the zero of a function that grows on (0, 1), by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if value(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def student_tail(t: float, freedom: int) -> float:
    """Return the probability that a variable with Student's distribution lies beyond -t or t.

    That is I_x(a, b), the incomplete beta integral, with x = f/(f + t^2), a = f/2 and b = 1/2 for
    f degrees of freedom.

    >>> round(student_tail(2.0, 10), 6)
    0.073388
    """
    square = t * t / freedom
    if math.isinf(square):
        return 0.0
    return _incomplete_beta(1.0 / (1.0 + square), square / (1.0 + square), 0.5 * freedom, 0.5)


@lru_cache(1000)
def student_quantile(chance: float, freedom: int) -> float:
    """Return the t >= 0 beyond which, on both sides, Student's distribution has this probability.

    >>> round(student_quantile(0.05, 10), 6)
    2.228139
    """
    u = crossing(lambda u: chance - student_tail(u / (1.0 - u), freedom))
    return u / (1.0 - u)


def fisher_tail(ratio: float, above: int, below: int) -> float:
    """Return the probability that a ratio of variances, with these degrees of freedom, is larger.

    >>> round(fisher_tail(3.0, 5, 10), 6)
    0.065558
    """
    weight = above * ratio
    if math.isinf(weight):
        return 0.0
    total = below + weight
    return _incomplete_beta(below / total, weight / total, 0.5 * below, 0.5 * above)


def _incomplete_beta(x: float, y: float, a: float, b: float) -> float:
    """Return I_x(a, b); y = 1 - x is an argument as well, so that no digits are lost.

    The continued fraction 1/(1 + d_1/(1 + d_2/(1 + ...))) with

        d_2m = m (b - m) x / ((a + 2m - 1) (a + 2m)),
        d_2m+1 = -(a + m) (a + b + m) x / ((a + 2m) (a + 2m + 1))

    converges fast for x < (a + 1)/(a + b + 2).  Beyond that, I_x(a, b) = 1 - I_y(b, a).  Lentz's
    method: C and D are the ratios of two following numerators and denominators.
    """
    if x <= 0.0 or y <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(y, x, b, a)
    C, D = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = D
    for m in range(1, 10_000):
        for d in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            C = 1.0 + d / C
            D = 1.0 / (1.0 + d * D)
            fraction *= C * D
        if abs(C * D - 1.0) < 1e-15:
            break
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log(y) - log_beta) * fraction / a
