"""Evidence by numerical integration of the likelihood ratio, and the minimum on finer grids."""

import math
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.special import erfcx, ndtr

GRID = [5.0, 70.0, 1000.0, 14000.0, 200000.0]
WEIGHTS = [0.18, 0.34, 0.26, 0.14, 0.08]
GRID_OF_TWO = [8.0, 100.0, 1500.0, 30000.0]
WEIGHTS_OF_TWO = [0.3, 0.4, 0.2, 0.1]


def log_mixture_by_integration(v, distance, rho):
    """Log of the integral over d > 0 of

    2 sqrt(rho/(2 pi)) exp(-rho d^2/2) exp(v distance d - v d^2/2).
    """

    def exponent(d):
        return (
            math.log(2.0)
            + 0.5 * math.log(rho / (2.0 * math.pi))
            + v * distance * d
            - 0.5 * (v + rho) * d * d
        )

    peak = max(v * distance / (v + rho), 0.0)
    width = 1.0 / max(math.sqrt(v + rho), -v * distance)
    top = exponent(peak)
    low, high = max(0.0, peak - 40.0 * width), peak + 40.0 * width
    value, _ = quad(
        lambda d: math.exp(exponent(d) - top),
        low,
        high,
        points=[peak],
        epsabs=0,
        epsrel=1e-11,
        limit=500,
    )
    return top + math.log(value)


def log_sum(logs, axis):
    """log(sum(exp(logs))), as SciPy's logsumexp, which takes ten times as long on small arrays."""
    top = logs.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis)


def log_half_normal(y):
    """log(2 Phi(y) exp(y^2/2)), which is log(erfcx(-y/sqrt(2))) where that is not too large."""
    below, above = np.minimum(y, 0.0), np.maximum(y, 0.0)
    parts = np.where(y < 0.0, erfcx(-below / math.sqrt(2.0)), 2.0 * ndtr(above))
    return np.log(parts) + 0.5 * above * above


def log_mixture(v, distance, rho):
    return log_half_normal(v * distance / np.sqrt(v + rho)) + 0.5 * np.log(rho / (v + rho))


def mean_excess(x, depth=2000):
    """phi(x)/Phi(-x) - x for x > 0, by Laplace's continued fraction 1/(x + 2/(x + 3/(x + ...))).

    For arrays, too.
    """
    s = 0.0
    for n in range(depth, 0, -1):
        s = n / (x + s)
    return s


def joint_weights(arms=3):
    w = WEIGHTS_OF_TWO if arms == 2 else WEIGHTS
    n = len(w)
    W = [[math.sqrt(w[i] * w[j]) * 0.4 ** abs(i - j) for j in range(n)] for i in range(n)]
    total = sum(map(sum, W))
    return [[x / total for x in row] for row in W]


@cache
def prior(arms):
    """(grid, weights of two effects, weights of one effect of both arms, weights of one arm)."""
    tied = 0.95 if arms == 2 else min((2 / arms) ** 0.7, 1 - 1e-12)
    W = np.array(joint_weights(arms))
    w = W.sum(axis=1)
    return np.array(GRID_OF_TWO if arms == 2 else GRID), (1.0 - tied) * W, tied * w, w


def pair(v_k, v_l, G, c, sigma_k=1.0, sigma_l=1.0, arms=3):
    """The evidence of two arms: the minimum of ``pair_and_place``."""
    return pair_and_place(v_k, v_l, G, c, sigma_k, sigma_l, arms)[0]


def pair_and_place(v_k, v_l, G, c, sigma_k=1.0, sigma_l=1.0, arms=3):
    """The minimum, and where it is taken, over z of

    log(sum_ij W_ij M_i(k by z) M_j(l by (G - z)/c) + sum_j T_j M_j(both by a multiple of sigma)).
    """
    grid, W, T, _ = prior(arms)
    N = sigma_k**2 * v_k + sigma_l**2 * v_l
    v = np.array([[v_k], [v_l], [N]])  # of k, of l, of both
    rho = grid / np.array([[sigma_k**2], [sigma_l**2], [1.0]])

    def f(z):
        y = (G - z) / c
        far = np.array([z, y, (sigma_k * v_k * z + sigma_l * v_l * y) / N])
        logs = log_mixture(v[:, None], far[:, :, None], rho[:, None])
        tops = logs.max(axis=2)
        a, b, both = np.exp(logs - tops[:, :, None])
        with np.errstate(divide="ignore"):
            apart, tied = np.log(((a @ W) * b).sum(axis=1)), np.log(both @ T)
        return np.logaddexp(apart + tops[0] + tops[1], tied + tops[2])

    width = 1.0 / math.sqrt(v_k) + c / math.sqrt(v_l)
    return least(f, G * v_l / (v_l + c * c * v_k), 50.0 * width + 2.0 * abs(G))


def least(f, middle, width, points=25):
    """The least value, and its place, on a grid about the lowest place so far.

    The grid grows finer and finer.  At an end of it, it moves on instead.  Where all values agree
    to rounding, there is nothing left to find: the end that is lowest by chance must not mislead.
    """
    low, high, value, place = middle - width, middle + width, math.inf, middle
    while high - low > 1e-9 * width:
        z = np.linspace(low, high, points)
        y = f(z)
        i = int(np.argmin(y))
        if y[i] < value:
            value, place = float(y[i]), float(z[i])
        if y.max() - y[i] <= 1e-13 * (1.0 + abs(y[i])):
            break
        if i == 0:
            low, high = low - 10.0 * (high - low), z[1]
        elif i == points - 1:
            low, high = z[-2], high + 10.0 * (high - low)
        else:
            low, high = z[i - 1], z[i + 1]
    return value, place


def one(v, m, sigma=1.0, arms=3):
    grid, _, _, w = prior(arms)
    a = log_mixture(v, m, grid / sigma**2)
    return a.max() + math.log(w @ np.exp(a - a.max()))


def need_of_good(K, c, delta, pool):
    """One arm fewer to pay for where the best arm's risk is part of the others'.

    That is so for an additive objective, and no pool.
    """
    return math.log((K - 1 if c == 1 and K > 1 and (pool is None or K == 2) else K) / delta)


def likeliest(k, v, m, c, e):
    """The rivals of a claim that k is bad: only the one with the largest likelihood ratio."""
    ratio = {
        l: (c * m[l] - e - m[k]) ** 2 / (1.0 / v[k] + c * c / v[l])
        for l in range(len(m))
        if l != k and c * m[l] - e > m[k]
    }
    return [max(ratio, key=ratio.get)] if ratio else []


def labels(N, m, sigma, c, e, delta, pool=None, before=(), every_rival=True):
    """+1, -1 or 0 for each arm, and evidence less need for "good" and for "bad".

    Tries every rival, the pool, and the arm itself.  Arms that look bad and are certified are no
    rivals of the others, nor are those that are certified bad by the labels ``before``.  Without
    ``every_rival`` the claim that an arm is bad is tried against the likeliest alone.
    """
    K = len(N)
    v = [n / s**2 for n, s in zip(N, sigma, strict=True)]
    need = math.log(K / delta)
    if K - 1 + (c < 1) <= 1:
        pool = None  # one rival: no pool
    single = 1.0 if pool is None else 0.1
    need_good = need_of_good(K, c, delta, pool)
    bad = []
    for k in range(K):
        others = [l for l in range(K) if l != k]
        rivals = len(others) + (c < 1)
        found = [
            pair(v[k], v[l], c * m[l] - e - m[k], c, sigma[k], sigma[l], K)
            - need
            - math.log(rivals / single)
            for l in (others if every_rival else likeliest(k, v, m, c, e))
        ]
        if pool is not None and pool[0] > 0:
            found.append(
                pair(v[k], pool[0], c * pool[1] / pool[0] - e - m[k], c, sigma[k], max(sigma), K)
                - need
                + math.log(0.9)
            )
        if c < 1:
            found.append(one(v[k], -m[k], sigma[k], K) - need - math.log(rivals / single))
        bad.append(max(found, default=-math.inf))
    bar = c * max(m) - e
    gone = {k for k in range(K) if m[k] < bar and bad[k] >= 0}
    gone |= {k for k, label in enumerate(before) if label == -1}
    out = []
    for k in range(K):
        found = [
            pair(v[k], v[l], m[k] - c * m[l] + e, c, sigma[k], sigma[l], K) - need_good
            for l in range(K)
            if l != k and l not in gone
        ]
        if c < 1:
            found.append(one(v[k], m[k], sigma[k], K) - need_good)
        good = min(found, default=math.inf)
        out.append((-1 if k in gone else 1 if m[k] >= bar and good >= 0 else 0, good, bad[k]))
    return out
