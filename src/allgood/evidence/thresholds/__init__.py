"""Thresholds beta(t, delta) for the stopping rule "stop when Z(t) > beta", and widths of intervals.

Z(t) is the cost of the best response at the empirical means and the pull counts N: the evidence
against the closest alternative.  If beta is *proven*, stopping when Z > beta is wrong with
probability at most delta, for every way of choosing the arms and any number of looks.  No other
module affects this guarantee.

    paper             log(1/delta) + (K/2) log log(t/delta)                               not proven
    stylised          log((1 + log t) / delta)                                            not proven
    kaufmann_koolen   sum_a 2 log(4 + log N_a) + K C_G(log(1/delta) / K)                  proven
    mixture           min_c max_a (N_a + c)/N_a ( log(J/delta) + sum_a log(1 + N_a/c)/2 ) proven

All are for rewards that are normal or sub-Gaussian; sigma enters through Z, not through beta.  For
the models with one parameter Z uses their divergence, and the thresholds are

    kaufmann_koolen   sum_a 3 log(1 + log N_a) + K C_exp(log(1/delta) / K)                proven
    mixture           log(1/delta) + sum_a (log(N_a)/2 + log 2), Bernoulli only           proven

Widths of intervals that hold for all arms and all times with probability at least 1 - delta:

    mason        2 sigma sqrt( log(K log2(2n) / delta) / n )               proven, Mason et al. 2020
    mason-data   sigma sqrt( 2.08 log(K log2(2n) / delta) / n )     not proven: for their real data
    mixture      sigma min_c sqrt( 2 (n + c)/n^2 (log(J K / delta) + log(1 + n/c)/2) )        proven

The formulas are computed in ``rules.py``, for runs and for the functions below alike.

References: Kaufmann and Koolen, Mixture martingales revisited, JMLR 22, 2021 (Theorem 9 and
Corollary 10 for Gaussian arms, Theorem 7 for models with one parameter); Robbins 1970 for the
normal mixture; Krichevsky and Trofimov 1981 for Bernoulli's.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..._internal.arguments import Vector, count, probability, vector, weights_array
from ...models.base import Model
from ...models.gaussian import Gaussian
from . import rules
from .rules import MIXTURE_GRID as MIXTURE_GRID

ThresholdName = Literal["paper", "stylised", "kaufmann-koolen", "mixture"]
THRESHOLDS: tuple[ThresholdName, ...] = ("paper", "stylised", "kaufmann-koolen", "mixture")
PROVEN: dict[ThresholdName, bool] = {
    "paper": False,
    "stylised": False,
    "kaufmann-koolen": True,
    "mixture": True,
}

WidthName = Literal["mason", "mason-data", "mixture"]
WIDTHS: tuple[WidthName, ...] = ("mason", "mason-data", "mixture")
PROVEN_WIDTH: dict[WidthName, bool] = {"mason": True, "mason-data": False, "mixture": True}


def hinv(x: float) -> float:
    """Return the y >= 1 with y - log y = x, for x >= 1.

    Newton's method from above: y - log y is convex, so that every step stays above the solution.

    >>> round(hinv(2.87), 3)
    4.337
    """
    if x < 1.0:
        raise ValueError(f"x must be at least 1: got {x:g}.")
    if x == 1.0:
        return 1.0
    y = x + math.log(x + math.sqrt(2.0 * (x - 1.0)))  # above: Kaufmann and Koolen, Proposition 8
    for _ in range(100):
        step = (y - math.log(y) - x) / (1.0 - 1.0 / y)
        if not step > 1e-16 * y:
            break
        y -= step
    return y


def zeta(s: float) -> float:
    """Return Riemann's sum over n >= 1 of n^-s, for s > 1, by the formula of Euler and Maclaurin.

    >>> round(zeta(2.0), 12) == round(math.pi**2 / 6, 12)
    True
    """
    N = 20
    total: float = math.fsum(n**-s for n in range(1, N))
    total += N ** (1.0 - s) / (s - 1.0) + 0.5 * N**-s
    rising = s
    power: float = N ** (-s - 1.0)
    for k, bernoulli in ((2, 1 / 12), (4, -1 / 720), (6, 1 / 30240), (8, -1 / 1209600)):
        total += bernoulli * rising * power
        rising *= (s + k - 1.0) * (s + k)
        power /= N * N
    return total


def c_gaussian(x: float) -> float:
    """Return C_G(x) = min over l in (1/2, 1) of (g(l) + x) / l, for x > 0.

    Kaufmann and Koolen, section 4: g(l) = 2 l - 2 l log(4 l) + log zeta(2 l) - log(1 - l) / 2.

    >>> round(c_gaussian(5.0), 2)
    6.76
    """
    if not x > 0.0:
        raise ValueError(f"x must be positive: got {x:g}.")

    def value(l: float) -> float:
        g = 2.0 * l - 2.0 * l * math.log(4.0 * l)
        g += math.log(zeta(2.0 * l)) - 0.5 * math.log1p(-l)
        return (g + x) / l

    return _least(value, 0.5 + 1e-9, 1.0 - 1e-12)


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value of a function that falls and then rises, by golden sections."""
    part = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - part * (high - low), low + part * (high - low)
    at_left, at_right = value(left), value(right)
    while high - low > 1e-11:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - part * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + part * (high - low)
            at_right = value(right)
    return min(at_left, at_right)


def c_exponential(x: float) -> float:
    """Return C_exp(x) = 2 htil( (hinv(1 + x) + log(2 zeta(2)))/2 ), for x >= 0.

    htil(y) = exp(1/hinv(y)) hinv(y) from y = h(1/log(3/2)) on, h(u) = u - log u, and
    (3/2)(y - log log(3/2)) below (Kaufmann and Koolen, section 3).

    >>> round(c_exponential(5.0), 1)
    15.2
    """
    if not x >= 0.0:
        raise ValueError(f"x must not be negative: got {x:g}.")
    y = 0.5 * (hinv(1.0 + x) + math.log(2.0 * zeta(2.0)))
    u = 1.0 / math.log(1.5)
    if y < u - math.log(u):
        return 3.0 * (y - math.log(math.log(1.5)))
    return 2.0 * math.exp(1.0 / hinv(y)) * hinv(y)


def stopping_threshold(
    name: ThresholdName,
    model: Model,
    risks: tuple[float, ...],
    num_arms: int,
    grid: tuple[float, ...] = MIXTURE_GRID,
) -> Any:
    """Return the threshold of that name as runs use it, for several risks at once."""
    log_risk = [math.log(1.0 / risk) for risk in risks]
    if name == "paper":
        return rules.Paper(log_risk, log_risk)
    if name == "stylised":
        return rules.Stylised(log_risk, log_risk)
    if name == "kaufmann-koolen":
        C = c_gaussian if model.normal else c_exponential
        kind = rules.KaufmannKoolenNormal if model.normal else rules.KaufmannKoolen
        return kind(log_risk, [num_arms * C(x / num_arms) for x in log_risk])
    if model.normal:
        constant = [x + math.log(len(grid)) for x in log_risk]
        return rules.NormalMixture(log_risk, constant, grid)
    if model.jeffreys:
        return rules.Jeffreys(log_risk, log_risk)
    raise ValueError(
        f"model must be normal or Bernoulli() for the threshold mixture: got {model}.  Use the "
        "threshold kaufmann-koolen for this model."
    )


def paper(t: int, delta: float, num_arms: int) -> float:
    """Return log(1/delta) + (K/2) log log(t/delta).

    **Not proven**: the paper gives it as an order of magnitude.
    """
    t, delta, num_arms = count("t", t), probability("delta", delta), count("num_arms", num_arms)
    if math.log(t / delta) <= 1.0:
        raise ValueError(
            "t / delta must exceed e, so that log log(t/delta) is positive: "
            f"got t = {t}, delta = {delta:g}."
        )
    threshold = stopping_threshold("paper", Gaussian(), (delta,), num_arms)
    return float(threshold(np.ones(num_arms), t))


def stylised(t: int, delta: float) -> float:
    """Return log((1 + log t) / delta).  **Not proven**, though common in experiments."""
    t, delta = count("t", t), probability("delta", delta)
    return float(stopping_threshold("stylised", Gaussian(), (delta,), 1)(np.ones(1), t))


def kaufmann_koolen(
    counts: npt.ArrayLike,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> float:
    """Return sum_a 2 log(4 + log N_a) + K C_G(log(1/delta) / K).  **Proven** for all times at once.

    For the models with one parameter: sum_a 3 log(1 + log N_a) + K C_exp(log(1/delta) / K).
    """
    N, delta = _counts(counts), probability("delta", delta)
    threshold = stopping_threshold("kaufmann-koolen", Model.check_known(model), (delta,), N.size)
    return float(threshold(N, N.sum()))


def mixture(
    counts: npt.ArrayLike,
    delta: float,
    grid: tuple[float, ...] = MIXTURE_GRID,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> float:
    """Return min over c of max_a (N_a + c)/N_a ( log(J/delta) + sum_a log(1 + N_a/c) / 2 ).

    **Proven** for all times at once (docs/evidence.md).  For Bernoulli rewards it is
    log(1/delta) + sum_a (log(N_a)/2 + log 2).  No such threshold is known to us for other models.
    """
    N, delta = _counts(counts), probability("delta", delta)
    threshold = stopping_threshold("mixture", Model.check_known(model), (delta,), N.size, grid)
    return float(threshold(N, N.sum()))


def half_widths(counts: npt.ArrayLike, delta: float, sigmas: npt.ArrayLike = 1.0) -> Vector:
    """Return half-widths of intervals that cover all means at all times with probability 1 - delta
    or more.

    They are sigma min_c sqrt( 2 (n + c)/n^2 (log(J K/delta) + log(1 + n/c)/2) ): the mixture for
    one arm, at delta/K each.  They are infinite for an arm without rewards.
    """
    N = weights_array(counts, np.size(counts), "counts")
    width = rules.Width(rules.MIXTURE, math.log(N.size / probability("delta", delta)))
    each = [width(max(n, 1.0)) if n > 0.0 else math.inf for n in N]
    return np.array(each) * np.asarray(sigmas, dtype=np.float64)


def _counts(counts: npt.ArrayLike) -> Vector:
    N = vector("counts", counts)
    if (N < 1.0).any():
        a = int(np.argmax(N < 1.0))
        raise ValueError(f"counts must be at least 1: got {N[a]:g} for arm {a}.")
    return N


def threshold(
    name: ThresholdName,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> Callable[[npt.ArrayLike, float], float]:
    """Return the threshold of that name as a function of the pull counts and delta."""
    functions: dict[str, Callable[[npt.ArrayLike, float], float]] = {
        "paper": lambda counts, delta: paper(int(np.sum(counts)), delta, np.size(counts)),
        "stylised": lambda counts, delta: stylised(int(np.sum(counts)), delta),
        "kaufmann-koolen": lambda counts, delta: kaufmann_koolen(counts, delta, model),
        "mixture": lambda counts, delta: mixture(counts, delta, model=model),
    }
    if name not in functions:
        raise ValueError(f"threshold must be one of {', '.join(functions)}: got {name!r}.")
    return functions[name]
