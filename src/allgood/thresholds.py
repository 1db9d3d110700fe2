"""Thresholds beta(t, delta) for the stopping rule "stop when Z(t) > beta".

Z(t) is the cost of the best response at the empirical means and the pull counts N (``alternatives.py``): the
evidence against the closest alternative.  Where beta is *proven*, stopping when Z > beta is wrong with
probability at most delta, whatever chooses the arms and however often one looks: correctness lives
here alone.

    paper             log(1/delta) + (K/2) log log(t/delta)                               not proven
    stylised          log((1 + log t) / delta)                                            not proven
    kaufmann_koolen   sum_a 2 log(4 + log N_a) + K C_G(log(1/delta) / K)                  proven
    mixture           min_c max_a (N_a + c)/N_a ( log(J/delta) + sum_a log(1 + N_a/c)/2 ) proven

All are for rewards that are normal, or sub-Gaussian, in units of their sigma: Z carries the sigma.  For the families
with one parameter (``models.py``) Z has their divergence, and

    kaufmann_koolen   sum_a 3 log(1 + log N_a) + K C_exp(log(1/delta) / K)                proven
    mixture           log(1/delta) + sum_a (log(N_a)/2 + log 2), Bernoulli only           proven

References: Kaufmann and Koolen, Mixture martingales revisited, JMLR 22, 2021 (Theorem 9 and Corollary 10 for
Gaussian arms, Theorem 7 for the families); Robbins 1970 for the normal mixture; Krichevsky and Trofimov 1981 for
Bernoulli's.
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import lambertw, zeta

from ._check import Vector, count, probability, vector, weights_array
from .models import BERNOULLI, NORMAL, Gaussian, Model

Threshold = Literal["paper", "stylised", "kaufmann-koolen", "mixture"]

PROVEN: dict[Threshold, bool] = {"paper": False, "stylised": False, "kaufmann-koolen": True, "mixture": True}

# Precisions c of the mixture, equal weights: effects of one sigma down to a thousandth of one.
MIXTURE_GRID = (10.0, 1e2, 1e3, 1e4, 1e5, 1e6)


def hinv(x: float) -> float:
    """The y >= 1 with y - log y = x, for x >= 1: -W(-exp(-x)) on the lower branch of Lambert's function.

    >>> round(hinv(2.87), 3)
    4.337
    """
    if x < 1.0:
        raise ValueError(f"x must be at least 1: got {x:g}.")
    if x < 1.0 + 1e-12:  # at the branch point rounding leaves Lambert's domain; y - log y = 1 + (y - 1)^2 / 2 + ...
        return 1.0 + math.sqrt(2.0 * (x - 1.0))
    if x > 700.0:  # exp(-x) underflows; y = x + log y converges at once
        y = x
        for _ in range(60):
            y = x + math.log(y)
        return y
    return -float(lambertw(-math.exp(-x), k=-1).real)


def c_gaussian(x: float) -> float:
    """C_G(x) = min over l in (1/2, 1) of (g(l) + x) / l, for x > 0 (Kaufmann and Koolen, section 4).

    g(l) = 2 l - 2 l log(4 l) + log zeta(2 l) - log(1 - l) / 2.

    >>> round(c_gaussian(5.0), 2)
    6.76
    """
    if not x > 0.0:
        raise ValueError(f"x must be positive: got {x:g}.")

    def value(l: float) -> float:
        g = 2.0 * l - 2.0 * l * math.log(4.0 * l) + math.log(zeta(2.0 * l)) - 0.5 * math.log1p(-l)
        return (g + x) / l

    found = minimize_scalar(value, bounds=(0.5 + 1e-9, 1.0 - 1e-12), method="bounded", options={"xatol": 1e-12})
    return float(found.fun)


def c_exponential(x: float) -> float:
    """C_exp(x) = 2 htil( (hinv(1 + x) + log(2 zeta(2)))/2 ), for x >= 0 (Kaufmann and Koolen, section 3).

    htil(y) = exp(1/hinv(y)) hinv(y) from y = h(1/log(3/2)) on, h(u) = u - log u, and (3/2)(y - log log(3/2)) below.

    >>> round(c_exponential(5.0), 1)
    15.2
    """
    if not x >= 0.0:
        raise ValueError(f"x must not be negative: got {x:g}.")
    y = 0.5 * (hinv(1.0 + x) + math.log(2.0 * float(zeta(2.0))))
    u = 1.0 / math.log(1.5)
    if y < u - math.log(u):
        return 3.0 * (y - math.log(math.log(1.5)))
    return 2.0 * math.exp(1.0 / hinv(y)) * hinv(y)


def paper(t: int, delta: float, num_arms: int) -> float:
    """log(1/delta) + (K/2) log log(t/delta).  **Not proven**: the paper gives it as an order of magnitude."""
    t, delta, num_arms = count("t", t), probability("delta", delta), count("num_arms", num_arms)
    return math.log(1.0 / delta) + 0.5 * num_arms * math.log(_positive_log(t, delta))


def _positive_log(t: int, delta: float) -> float:
    value = math.log(t / delta)
    if value <= 1.0:
        raise ValueError(
            f"t / delta must exceed e, where log log(t/delta) starts to be positive: got t = {t}, delta = {delta:g}."
        )
    return value


def stylised(t: int, delta: float) -> float:
    """log((1 + log t) / delta).  **Not proven**, though common in experiments."""
    return math.log((1.0 + math.log(count("t", t))) / probability("delta", delta))


def kaufmann_koolen(
    counts: npt.ArrayLike,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> float:
    """sum_a 2 log(4 + log N_a) + K C_G(log(1/delta) / K).  **Proven** for all times at once.

    For the families with one parameter: sum_a 3 log(1 + log N_a) + K C_exp(log(1/delta) / K).
    """
    N, delta = _counts(counts), probability("delta", delta)
    if Model.check_known(model).family != NORMAL:
        constant = N.size * c_exponential(math.log(1.0 / delta) / N.size)
        return float((3.0 * np.log1p(np.log(N))).sum()) + constant
    return float((2.0 * np.log(4.0 + np.log(N))).sum()) + N.size * c_gaussian(math.log(1.0 / delta) / N.size)


def mixture(
    counts: npt.ArrayLike,
    delta: float,
    grid: tuple[float, ...] = MIXTURE_GRID,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> float:
    """min over c of max_a (N_a + c)/N_a ( log(J/delta) + sum_a log(1 + N_a/c) / 2 ).  **Proven**, for all times.

    For one c, sum_a N_a^2 (m_a - mu_a)^2 / (2 sigma^2 (N_a + c)) - log(1 + N_a/c) / 2 is the log of a
    martingale started at 1 (normal mixture of likelihood ratios, independent arms); the average over J
    values of c is one too, so by Ville's inequality with probability at least 1 - delta no term ever
    reaches log(J/delta).  A wrong answer at a time with Z > beta would make
    sum_a N_a (m_a - mu_a)^2 / (2 sigma^2) > beta, hence the first sum at least beta / max_a (N_a + c)/N_a, for
    every c: above log(J/delta) for the minimising one.

    Bernoulli: the likelihood averaged over Jeffreys' prior is at least the largest likelihood divided by 2 sqrt(N)
    (Krichevsky and Trofimov), so the product over arms shows that sum_a N_a d(m_a, mu_a) ever exceeds
    log(1/delta) + sum_a (log(N_a)/2 + log 2) with probability at most delta.  None is known to us for other families.
    """
    N, delta = _counts(counts), probability("delta", delta)
    if Model.check_known(model).family == BERNOULLI:
        return math.log(1.0 / delta) + float((0.5 * np.log(N) + math.log(2.0)).sum())
    if model.family != NORMAL:
        raise ValueError(f"model must be normal or Bernoulli() for the mixture: got {model}; use kaufmann_koolen.")
    return min(
        float(((N + c) / N).max()) * (math.log(len(grid) / delta) + 0.5 * float(np.log1p(N / c).sum())) for c in grid
    )


def half_widths(counts: npt.ArrayLike, delta: float, sigmas: npt.ArrayLike = 1.0) -> Vector:
    """Half-widths of intervals that cover all means at all times with probability at least 1 - delta.

    sigma min_c sqrt( 2 (n + c)/n^2 (log(J K/delta) + log(1 + n/c)/2) ): the mixture for one arm, at delta/K each.
    Infinite where an arm has no rewards.
    """
    N, delta = weights_array(counts, np.size(counts), "counts"), probability("delta", delta)
    n, c = np.maximum(N, 1.0)[:, None], np.array(MIXTURE_GRID)
    log_term = math.log(c.size * N.size / delta) + 0.5 * np.log1p(n / c)
    widths = np.sqrt((2.0 * (n + c) / n**2 * log_term).min(axis=1)) * np.asarray(sigmas, dtype=np.float64)
    return np.where(N > 0.0, widths, np.inf)


def _counts(counts: npt.ArrayLike) -> Vector:
    N = vector("counts", counts)
    if (N < 1.0).any():
        a = int(np.argmax(N < 1.0))
        raise ValueError(f"counts must be at least 1: got {N[a]:g} for arm {a}.")
    return N


def threshold(
    name: Threshold,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> Callable[[npt.ArrayLike, float], float]:
    """The threshold of that name as a function of the pull counts and delta."""
    rules: dict[str, Callable[[npt.ArrayLike, float], float]] = {
        "paper": lambda counts, delta: paper(int(np.sum(counts)), delta, np.size(counts)),
        "stylised": lambda counts, delta: stylised(int(np.sum(counts)), delta),
        "kaufmann-koolen": lambda counts, delta: kaufmann_koolen(counts, delta, model),
        "mixture": lambda counts, delta: mixture(counts, delta, model=model),
    }
    if name not in rules:
        raise ValueError(f"threshold must be one of {', '.join(rules)}: got {name!r}.")
    return rules[name]
