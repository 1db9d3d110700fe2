"""The cheapest change of the means that changes the answer, for laws that are not normal.

Arm k is good when mu_k >= c mu_l - e for all l.  The changes are those of ``normal.py``, with the
divergence d of the law in the place of squares.  Means are never negative here, so that two kinds
remain,

    expel   a good arm k falls to t, a good arm l rises to s:
                                                    w_k d(mu_k, t) + w_l d(mu_l, s)
    admit   a bad arm k rises to t, the arms above s come down to it:
                                                    w_k d(mu_k, t) + sum_l w_l d(mu_l, s)

with s = (t + e)/c.  Arms that come down to one point cost what their weighted mean m would, and a
constant: sum_l w_l d(mu_l, s) = W d(m, s) + sum_l w_l d(mu_l, m).  So both kinds ask where two arms
meet, which is a search in one dimension.  Where (t + e)/c would leave the range of the means there
is no such alternative.

``two`` stands for the two arms that meet, (a, x, b, y, c, e): with weight a at mean x and with
weight b at mean y.
"""

import cython

if cython.compiled:
    from cython.cimports.allgood.alternatives.kinds import ADMIT, EXPEL, NONE
    from cython.cimports.libc.math import INFINITY as inf
    from cython.cimports.libc.math import fabs, isnan
else:
    from allgood.alternatives.kinds import ADMIT, EXPEL, NONE
    from allgood.c_math import fabs, inf, isnan


def pay(law, two, t):
    """a d(x, t) + b d(y, (t + e)/c)."""
    a, x, b, y, c, e = two
    total = 0.0
    if a > 0.0:
        total += a * law.divergence(x, t)
    if b > 0.0:
        total += b * law.divergence(y, (t + e) / c)
    return total


def tilt(law, two, t):
    """Derivative of ``pay`` in t."""
    a, x, b, y, c, e = two
    total = 0.0
    if a > 0.0:
        total += a * law.slope(x, t)
    if b > 0.0:
        total += b / c * law.slope(y, (t + e) / c)
    return total


def tilt_and_bend(law, two, t):
    """First and second derivative of ``pay`` in t."""
    a, x, b, y, c, e = two
    first, second = 0.0, 0.0
    if a > 0.0:
        first += a * law.slope(x, t)
        second += a * law.curvature(x, t)
    if b > 0.0:
        s = (t + e) / c
        first += b / c * law.slope(y, s)
        second += b / (c * c) * law.curvature(y, s)
    return first, second


def descend(law, two, low, high):
    """Where the derivative changes its sign from - to + between ``low`` and ``high``.

    The end it points to where it does not.  Newton's method within a bracket that shrinks.
    """
    if low >= high or tilt(law, two, low) >= 0.0:
        return low
    if tilt(law, two, high) <= 0.0:
        return high
    t: cython.double = 0.5 * (low + high)
    new: cython.double
    before: cython.double = high - low
    for _ in range(200):
        slope, curvature = tilt_and_bend(law, two, t)
        if slope == 0.0:
            break
        if slope < 0.0:
            low = t
        else:
            high = t
        new = t - slope / curvature if curvature > 0.0 else inf
        if fabs(new - t) <= 1e-15 * t:
            break
        if not low < new < high or fabs(new - t) > 0.5 * before:
            new = 0.5 * (low + high)
        before = fabs(new - t)
        t = new
        if before <= 1e-15 * t:
            break
    return t


def meet(law, two, low, high):
    """``(cost, t)``: the least of a d(x, t) + b d(y, (t + e)/c) over low <= t <= high.

    One descent where this is convex in t.  Elsewhere the law names two points that part the range
    into three pieces; in each the derivative has one zero at most.
    """
    a, x, b, y, c, e = two
    turns = law.turning_points(a, x, b, y, c, e)
    if isnan(turns.first):
        t = descend(law, two, low, high)
        return pay(law, two, t), t
    best: cython.double = inf
    best_t: cython.double = low
    start: cython.double = low
    end: cython.double
    for piece in range(3):
        end = high
        if piece == 0:
            end = min(max(turns.first, low), high)
        elif piece == 1:
            end = min(max(turns.second, low), high)
        t = descend(law, two, start, end)
        cost = pay(law, two, t)
        if cost < best:
            best, best_t = cost, t
        start = end
    return best, best_t


def expulsion(law, at, w, k, l):
    """``(cost, t)`` of expelling good arm k through good arm l.

    The cost is inf if there is no room for l to rise.
    """
    low = max(law.low, at.c * at.mu[l] - at.e)
    high = min(at.mu[k], at.c * law.high - at.e)
    if low > high:
        return inf, 0.0
    return meet(law, (w[k], at.mu[k], w[l], at.mu[l], at.c, at.e), low, high)


def admission(law, at, w, k):
    """``(cost, t, j)`` of admitting bad arm k.

    It rises to t, and the first j arms by depth come down to (t + e)/c.  For each j the next arm
    must not lie above the point where they meet; the least of all is the answer.
    """
    if w[k] == 0.0:
        return 0.0, at.c * at.top - at.e, 0
    best: cython.double = inf
    best_t: cython.double = 0.0
    size: cython.Py_ssize_t = 0
    W: cython.double = 0.0  # of the arms that come down: weight, mean, and what it costs to meet
    m: cython.double = at.top
    scatter: cython.double = 0.0
    for j in range(at.K):
        a = at.by_depth[j]
        if at.c * at.mu[a] - at.e <= at.mu[k]:  # it lies below any point to meet
            break
        if w[a] > 0.0:
            total = W + w[a]
            centre = m + (at.mu[a] - m) * (w[a] / total)
            scatter += W * law.divergence(m, centre) + w[a] * law.divergence(at.mu[a], centre)
            W, m = total, centre
        after = at.mu[at.by_depth[j + 1]] if j + 1 < at.K else law.low
        low = max(at.mu[k], at.c * after - at.e)
        high = at.c * at.mu[a] - at.e
        cost, t = meet(law, (w[k], at.mu[k], W, m, at.c, at.e), low, high)
        if cost + scatter < best:
            best, best_t, size = cost + scatter, t, j + 1
    return best, best_t, size


def cheapest(law, at, w):
    """``(cost, kind, k, l, t)`` of the best response.  Ties keep the lowest arm k."""
    best: cython.double = inf
    kind: cython.int = NONE
    best_k: cython.Py_ssize_t = -1
    best_l: cython.Py_ssize_t = -1
    best_t: cython.double = 0.0
    for k in range(at.K):
        if at.h[k] < 0.0:
            cost, t, _ = admission(law, at, w, k)
            if cost < best:
                best, kind, best_k, best_l, best_t = cost, ADMIT, k, -1, t
            continue
        for l in range(at.K):
            if l != k and at.h[l] >= 0.0:
                cost, t = expulsion(law, at, w, k, l)
                if cost < best:
                    best, kind, best_k, best_l, best_t = cost, EXPEL, k, l, t
    return best, kind, best_k, best_l, best_t


def alternative(found, law, at, out):
    """Write the means of the alternative that ``cheapest`` found into ``out``."""
    _, kind, k, l, t = found
    s = min((t + at.e) / at.c, law.high)
    for a in range(at.K):
        out[a] = min(at.mu[a], s) if kind == ADMIT else at.mu[a]
    if kind == EXPEL:
        out[k] = t
        out[l] = s
    elif kind == ADMIT:
        out[k] = t
