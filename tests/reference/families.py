"""The families with one parameter, and unknown sigma.

By plain logarithms, dense grids, a general minimiser and integrals.

A family goes by the name of its model.  Means are never negative.
"""

import decimal
import math
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.special import kl_div, rel_entr, stdtr

from . import thresholds
from .evidence import log_sum

HIGH = {"Bernoulli": 1.0, "Poisson": math.inf, "Exponential": math.inf}


def exact_divergence(family, x, y):
    """To at least sixty digits of the result, however close the two numbers are.

    It is inf where a reward that is possible at x is impossible at y.
    """
    with decimal.localcontext() as context:
        context.prec = 100
        x, y = decimal.Decimal(float(x)), decimal.Decimal(float(y))
        if family == "Exponential":
            return float(x / y - 1 - (x / y).ln())
        parts = [(x, y)] if family == "Poisson" else [(x, y), (1 - x, 1 - y)]
        total = y - x if family == "Poisson" else decimal.Decimal(0)
        for p, q in parts:
            if p > 0 and q <= 0:
                return math.inf
            total += p * (p / q).ln() if p > 0 else 0
        return float(total)


def divergence(family, x, y):
    """For arrays; loses digits where x and y are close."""
    with np.errstate(divide="ignore"):
        if family == "Bernoulli":
            return rel_entr(x, y) + rel_entr(1 - x, 1 - y)
        return kl_div(x, y) if family == "Poisson" else x / y - 1 - np.log(x / y)


def least(f, low, high, centre=None, width=1.0, points=1000):
    """The minimum of f, for arrays, from low to high.

    The points are even, close to the ends, and about the centre; then the best is polished.
    """
    size = high - low
    near = size * np.geomspace(1e-12, 1.0, points // 4)
    places = [np.linspace(low, high, points), low + near, high - near]
    if centre is not None:
        places += [centre + s * width * np.geomspace(1e-3, 1e6, points // 4) for s in (-1, 1)]
    t = np.unique(np.clip(np.concatenate(places), low, high))
    with np.errstate(all="ignore"):
        values = f(t)
    values = np.where(np.isnan(values), np.inf, values)
    best = values.min()
    if not np.isfinite(best):
        return best
    # All of the low places: two valleys may be nearly as deep.
    inside = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:])) + 1
    low_places = inside[np.argsort(values[inside], kind="stable")[:4]]
    if low_places.size == 0:
        return float(best)
    return min(float(best), polished(f, t[low_places - 1], t[low_places + 1]))


def polished(f, low, high, points=41, rounds=5):
    """The least value in several ranges at once, on grids that grow finer about the lowest place.

    In the end a range is less than 1e-6 of what it was.
    """
    rows, best, grid = np.arange(low.size), math.inf, np.linspace(0.0, 1.0, points)
    for _ in range(rounds):
        t = low[:, None] + (high - low)[:, None] * grid
        with np.errstate(all="ignore"):
            values = f(t.ravel()).reshape(t.shape)
        values = np.where(np.isnan(values), np.inf, values)
        i = values.argmin(axis=1)
        best = min(best, float(values.min()))
        low, high = t[rows, np.maximum(i - 1, 0)], t[rows, np.minimum(i + 1, points - 1)]
    return best


def expel(family, mu, w, k, l, c, e, points=1000):
    """Wherever the bar t is: k falls to it if it must, and l rises to (t + e)/c if it must."""
    end = min(max(mu), c * HIGH[family] - e)
    if end < 0.0:
        return math.inf

    def cost(t):
        return paid(family, w[k], mu[k], np.minimum(mu[k], t)) + paid(
            family, w[l], mu[l], np.maximum(mu[l], (t + e) / c)
        )

    return least(cost, 0.0, end, points=points)


def admit(family, mu, w, k, c, e, points=1000):
    """For any bar t: k rises to it if it must, all others fall to (t + e)/c if they must."""

    def cost(t):
        total = paid(family, w[k], mu[k], np.maximum(mu[k], t))
        for l in range(len(mu)):
            if l != k:
                total = total + paid(family, w[l], mu[l], np.minimum(mu[l], (t + e) / c))
        return total

    return least(cost, 0.0, max(mu), points=points)


def paid(family, w, x, y):
    """Never negative; the rounding of ``divergence`` may be."""
    y = np.minimum(y, HIGH[family])
    if w == 0.0:
        return 0.0 * y
    return np.where(x == y, 0.0, w * np.maximum(divergence(family, x, y), 0.0))


def cheapest(family, mu, w, c, e, points=1000):
    """The infimum of the cost over all alternatives, by every arm and every other arm.

    It is inf where there is no alternative.
    """
    mu, w = [float(x) for x in mu], [float(x) for x in w]
    arms, bar = range(len(mu)), c * max(mu) - e
    costs = [math.inf]
    for k in arms:
        if mu[k] >= bar:
            costs += [expel(family, mu, w, k, l, c, e, points) for l in arms if l != k]
        else:
            costs.append(admit(family, mu, w, k, c, e, points))
    return min(costs)


def log_ratio(family, n, S, x, eta):
    """Log-likelihood of n rewards with sum S: at the mean that the shift makes of x, less at x."""
    if family == "Bernoulli":
        y = x * np.exp(eta) / (1 - x + x * np.exp(eta))
        with np.errstate(divide="ignore", invalid="ignore"):
            ones = np.where(S > 0, S * (np.log(y) - np.log(x)), 0.0)
            zeros = np.where(n - S > 0, (n - S) * (np.log(1 - y) - np.log(1 - x)), 0.0)
        # At x = 0 and x = 1 the shift does not move the mean: the limits are those of the
        # formula divided out.
        ones = np.where((x == 0) & (S > 0), S * eta, ones)
        zeros = np.where((x == 1) & (n - S > 0), -(n - S) * eta, zeros)
        return ones + zeros
    if family == "Poisson":
        return S * eta - n * (x * np.exp(eta) - x)
    with np.errstate(divide="ignore"):
        return -n * eta - S / (x * np.exp(eta)) + S / x


def student(n, m, Q, x, rho, sign):
    """Log of the average over a half-normal effect of precision rho.

    Uses Student's distribution function itself.
    """
    s = sign * n * (m - x)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(s == 0.0, 0.0, s / np.sqrt((n + rho) * Q + rho * s**2 / n))
        log_cdf = np.log(stdtr(n, math.sqrt(n) * ratio))
    u2 = n * np.log1p(ratio**2)
    return math.log(2.0) + log_cdf + u2 / 2 + 0.5 * np.log(rho / (n + rho))


def student_by_integration(n, m, Q, x, rho):
    """The same as an integral.

    Over the effect theta in units of sigma, and over r = 1/sigma with the measure dr/r.
    """
    d = m - x

    def given(theta):
        peak = math.sqrt(n / (Q + n * d * d)) + abs(theta) * n * abs(d) / (Q + n * d * d)
        return quad(
            lambda r: r ** (n - 1) * math.exp(-(Q * r * r + n * (d * r - theta) ** 2) / 2),
            0.0,
            20.0 * peak,
            points=[peak],
            epsabs=0.0,
            epsrel=1e-10,
            limit=400,
        )[0]

    def weighted(theta):
        return (
            2.0 * math.sqrt(rho / (2 * math.pi)) * math.exp(-rho * theta * theta / 2) * given(theta)
        )

    top = 12.0 / math.sqrt(rho)
    return math.log(quad(weighted, 0.0, top, epsabs=0.0, epsrel=1e-8, limit=200)[0] / given(0.0))


def one(family, n, m, Q, x, eta, w, up):
    """log sum_j w_j M_j of one arm against x; for "Student" eta is 1/sqrt(rho)."""
    return log_sum(
        _factors(family, n, m, Q, np.atleast_1d(x), eta, up) + np.log(w)[:, None], axis=0
    )


def _factors(family, n, m, Q, x, eta, up):
    """Log M_j against each x: a row for each size of the effect.  No effect changes nothing."""
    eta, x = np.asarray(eta, dtype=float)[:, None], x[None, :]
    with np.errstate(all="ignore"):
        if family == "Student":
            rows = student(n, m, Q, x, 1.0 / eta**2, up)
        else:
            rows = log_ratio(family, n, n * m, x, up * eta)
    return np.where(eta == 0.0, 0.0, rows)


def joint(family, up, n_k, m_k, Q_k, n_l, m_l, Q_l, c, e, eta, W, t):
    """log sum_ij W_ij M_i(k against t) M_j(l against (t + e)/c, reversed), for an array of t."""
    s = (t + e) / c if family == "Student" else np.minimum((t + e) / c, HIGH[family])
    a = _factors(family, n_k, m_k, Q_k, t, eta, up)
    b = _factors(family, n_l, m_l, Q_l, s, eta, -up)
    with np.errstate(divide="ignore"):
        logs = np.log(W)
    return log_sum(a[:, None, :] + b[None, :, :] + logs[:, :, None], axis=(0, 1))


def pair(family, up, n_k, m_k, Q_k, n_l, m_l, Q_l, c, e, eta, W, points=2000):
    """The least of ``joint`` over all places to meet.

    It is inf if l cannot be so high that k would be bad.
    """
    if family == "Student":
        spread = math.sqrt(Q_k / n_k**2 + c * c * Q_l / n_l**2) + 1e-12
        middle = [m_k, c * m_l - e]
        low, high = min(middle) - 1e3 * spread, max(middle) + 1e3 * spread
    else:
        low, high = 0.0, min(HIGH[family], c * HIGH[family] - e) if up > 0 else HIGH[family]
        if low > high:
            return math.inf
        if math.isinf(high):
            high = 100.0 * (m_k + m_l + e + 10.0 / min(n_k, n_l))
        spread = math.sqrt((m_k + 1e-9) ** 2 / n_k + (m_l + 1e-9) ** 2 / n_l)
    return least(
        lambda t: joint(family, up, n_k, m_k, Q_k, n_l, m_l, Q_l, c, e, eta, W, t),
        low,
        high,
        centre=0.5 * (m_k + c * m_l - e),
        width=spread,
        points=points,
    )


@cache
def c_exponential(x):
    """2 min over 1 < z <= 3/2 of z (y - log log z), where y = (hinv(1 + x) + log(2 zeta(2)))/2.

    On a fine grid of z.
    """
    y = 0.5 * (thresholds.hinv(1.0 + x) + math.log(math.pi**2 / 3))
    z = 1.0 + np.geomspace(1e-6, 0.5, 100_000)
    return 2.0 * float((z * (y - np.log(np.log(z)))).min())
