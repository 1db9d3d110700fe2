"""The cheapest change of the means that changes the answer, for the families with one parameter (``models.py``).

Arm k is good when mu_k >= c mu_l - e for all l.  The changes are those of ``alternatives.py``, with the divergence d of
the family in the place of squares.  Means are never negative here, so that two kinds remain,

    expel   a good arm k falls to t, a good arm l rises to s:                 w_k d(mu_k, t) + w_l d(mu_l, s)
    admit   a bad arm k rises to t, the arms above s come down to it:         w_k d(mu_k, t) + sum_l w_l d(mu_l, s)

with s = (t + e)/c.  Arms that come down to one place cost what their weighted mean m would, and a constant: sum_l w_l
d(mu_l, s) = W d(m, s) + sum_l w_l d(mu_l, m).  So both kinds ask where two arms meet, which is a search in one
dimension.  Where (t + e)/c would leave the range of the means there is no such alternative.
"""

import numpy as np

from ._jit import jit
from .models import EXPONENTIAL, curvature, divergence, slope

NONE, EXPEL, ADMIT = range(3)


@jit
def tilt(family, a, x, b, y, c, e, t):
    """Derivative in t of a d(x, t) + b d(y, (t + e)/c)."""
    total = 0.0
    if a > 0.0:
        total += a * slope(family, x, t)
    if b > 0.0:
        total += b / c * slope(family, y, (t + e) / c)
    return total


@jit
def descend(family, a, x, b, y, c, e, low, high):
    """Where the derivative changes its sign from - to + between ``low`` and ``high``, or the end it points to.

    Newton's method within a bracket that shrinks.
    """
    if low >= high or tilt(family, a, x, b, y, c, e, low) >= 0.0:
        return low
    if tilt(family, a, x, b, y, c, e, high) <= 0.0:
        return high
    t = 0.5 * (low + high)
    before = high - low
    for _ in range(200):
        f = tilt(family, a, x, b, y, c, e, t)
        if f == 0.0:
            break
        if f < 0.0:
            low = t
        else:
            high = t
        bend = 0.0
        if a > 0.0:
            bend += a * curvature(family, x, t)
        if b > 0.0:
            bend += b / (c * c) * curvature(family, y, (t + e) / c)
        new = t - f / bend if bend > 0.0 else np.inf
        if abs(new - t) <= 1e-15 * t:
            break
        if not low < new < high or abs(new - t) > 0.5 * before:
            new = 0.5 * (low + high)
        before = abs(new - t)
        t = new
        if before <= 1e-15 * t:
            break
    return t


@jit
def meet(family, a, x, b, y, c, e, low, high):
    """``(cost, t)``: the least of a d(x, t) + b d(y, (t + e)/c) over low <= t <= high.

    Convex in t for Bernoulli and Poisson.  For Exponential the derivative has the sign of a cubic in t,

        (a + b) t^3 + (a (2e - x) + b (e - c y)) t^2 + a e (e - 2x) t - a x e^2,

    which may have three zeros; between the zeros of *its* derivative it has one at most.
    """
    if family != EXPONENTIAL or e == 0.0:
        t = descend(family, a, x, b, y, c, e, low, high)
        return pay(family, a, x, b, y, c, e, t), t
    p, q, r = 3.0 * (a + b), a * (2.0 * e - x) + b * (e - c * y), a * e * (e - 2.0 * x)
    inside = q * q - p * r
    first = second = low
    if inside > 0.0 and p > 0.0:
        root = np.sqrt(inside)
        first, second = min(max((-q - root) / p, low), high), min(max((-q + root) / p, low), high)
    best, place = np.inf, low
    start = low
    for end in (first, second, high):
        t = descend(family, a, x, b, y, c, e, start, end)
        cost = pay(family, a, x, b, y, c, e, t)
        if cost < best:
            best, place = cost, t
        start = end
    return best, place


@jit
def pay(family, a, x, b, y, c, e, t):
    total = 0.0
    if a > 0.0:
        total += a * divergence(family, x, t)
    if b > 0.0:
        total += b * divergence(family, y, (t + e) / c)
    return total


@jit
def expulsion(family, mu, w, k, l, c, e, high):
    """``(cost, t)`` of expelling good arm k through good arm l; cost inf if there is no room for l to rise."""
    bottom, top = max(0.0, c * mu[l] - e), min(mu[k], c * high - e)
    if bottom > top:
        return np.inf, 0.0
    return meet(family, w[k], mu[k], w[l], mu[l], c, e, bottom, top)


@jit
def admission(family, mu, w, by_depth, k, c, e):
    """``(cost, t, j)`` of admitting bad arm k: it rises to t, and the first j arms by depth come down to (t + e)/c.

    For each j the next arm must not lie above the place to meet; the least of all is the answer.
    """
    if w[k] == 0.0:
        return 0.0, c * mu[by_depth[0]] - e, 0
    best, place, size = np.inf, 0.0, 0
    W, m, scatter = 0.0, mu[by_depth[0]], 0.0
    for j in range(by_depth.size):
        a = by_depth[j]
        if c * mu[a] - e <= mu[k]:  # it lies below any place to meet
            break
        if w[a] > 0.0:
            total = W + w[a]
            centre = m + (mu[a] - m) * (w[a] / total)
            scatter += W * divergence(family, m, centre) + w[a] * divergence(family, mu[a], centre)
            W, m = total, centre
        after = mu[by_depth[j + 1]] if j + 1 < by_depth.size else 0.0
        cost, t = meet(family, w[k], mu[k], W, m, c, e, max(mu[k], c * after - e), c * mu[a] - e)
        if cost + scatter < best:
            best, place, size = cost + scatter, t, j + 1
    return best, place, size


@jit
def cheapest(family, mu, h, w, by_depth, c, e, high):
    """``(cost, kind, k, l, t)`` of the best response.  Ties keep the lowest arm k."""
    best, kind, best_k, best_l, place = np.inf, NONE, -1, -1, 0.0
    K = mu.size
    for k in range(K):
        if h[k] < 0.0:
            cost, t, _ = admission(family, mu, w, by_depth, k, c, e)
            if cost < best:
                best, kind, best_k, best_l, place = cost, ADMIT, k, -1, t
            continue
        for l in range(K):
            if l != k and h[l] >= 0.0:
                cost, t = expulsion(family, mu, w, k, l, c, e, high)
                if cost < best:
                    best, kind, best_k, best_l, place = cost, EXPEL, k, l, t
    return best, kind, best_k, best_l, place


@jit
def alternative(kind, k, l, t, mu, c, e, high, out):
    """Write the means of the alternative found by ``cheapest`` into ``out``."""
    out[:] = mu
    s = min((t + e) / c, high)
    if kind == EXPEL:
        out[k], out[l] = t, s
    elif kind == ADMIT:
        for a in range(mu.size):
            out[a] = min(mu[a], s)
        out[k] = t
