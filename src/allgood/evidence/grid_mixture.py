"""Compute the evidence when rewards are not normal or sigma is unknown: a sum over a grid of
effects.

docs/evidence.md has the formulas.  Here eta holds the effects of the prior; the last is 0, which
means no effect.  For these models the proof that the minimum over the crossing t was found needs no
convexity.  One factor falls with t and the other grows, so on any interval each is at least as
large as at one of the two ends.
"""

import cython
import numpy as np
from cython.cimports.allgood.evidence.spec import ClaimSpec, Crossing
from cython.cimports.allgood.kernels.c_math import exp, inf, isinf, isnan, log, nextafter, sqrt


class GridSpec(ClaimSpec):
    """The question and the prior, for rewards that are not normal or whose sigma is not known."""

    def pair_evidence(self, up, k, l, need):
        E, t = crossing(self, up, k, l, need)
        return Crossing(E, max(up * (k.m - t), 0.0))

    def ceiling(self, up, k, l):
        """Return the evidence at the crossing of normal rewards: the minimum is not higher."""
        if k.n == 0.0 or l.n == 0.0:
            return -inf
        t: cython.double = first_place(self, up, k, l)
        if not (t > 0.0 or self.low < 0.0):  # no place, or one that ``crossing`` may leave out
            return inf
        E: cython.double = interval_bound(self, up, k, l, t, t)
        return inf if isnan(E) else E

    def sign_evidence(self, up, k):
        if self.low >= 0.0:  # no mean is negative, which is certain without a reward
            return up * inf
        return one_arm_mixture(self.model, k.n, k.m, k.Q, 0.0, self.rho, self.w, up)


def shifted(model, n, m, Q, x, eta):
    """Return log M of n rewards with mean m against the mean x.

    M is in favour of a larger mean (eta > 0), of a smaller one (eta < 0), or of neither (0).
    """
    return model.log_ratio(n, m, Q, x, eta) if eta != 0.0 else 0.0


def one_arm_mixture(model, n, m, Q, x, eta, w, up):
    """Return log sum_j w_j M_j of one arm against x: for a larger mean if ``up`` is 1, a smaller if
    -1.
    """
    top: cython.double = 0.0  # that of no effect
    total: cython.double = 0.0
    for j in range(eta.shape[0]):
        a = shifted(model, n, m, Q, x, up * eta[j])
        if a == inf:  # against a mean at which these rewards are impossible
            return inf
        if a > top:
            total *= exp(top - a)
            top = a
        total += w[j] * exp(a - top)
    return top + log(total)


def confidence_bound(model, n, m, Q, eta, w, level, up, outer):
    """Return a bound such that the evidence against every mean beyond it reaches ``level``.

    It lies above m if ``up`` is 1, below it if -1.  ``outer`` is a bound that holds already, such
    as the end of the range; the result is no further from m.
    """
    if (outer - m) * up <= 0.0:
        return outer
    inner: cython.double = m
    x: cython.double
    value: cython.double
    if outer == model.low or outer == model.high:
        x = model.first_bound(n, m, Q, level, up)
        if isinf(x):
            return outer
    else:
        value = one_arm_mixture(model, n, m, Q, outer, eta, w, -up)
        if value < level + 0.02:
            return outer
        x = m + (outer - m) * sqrt(level / value)
    for _ in range(200):
        if not min(inner, outer) < x < max(inner, outer):
            x = 0.5 * (inner + outer)
        if x == inner or x == outer:
            break
        value = one_arm_mixture(model, n, m, Q, x, eta, w, -up)
        if not value >= level:
            inner = x
            x = m + 1.1 * (x - m) if isinf(outer) else 0.5 * (inner + outer)
        else:
            outer = x
            if value < level + 0.02:
                break
            x = m + (x - m) * sqrt(level / value)
    return outer


def pair_mixture(spec, up, k, t, l, s):
    """Return log sum_ij W_ij M_i M_j: k against the mean t, and l against the mean s.

    k is in favour of a larger mean if ``up`` is 1, of a smaller one if -1; l the other way.  If one
    of the logs is nan, return -inf: nothing is known.
    """
    J = spec.rho.shape[0]
    b: cython.double[16]
    top_b: cython.double = -inf
    top: cython.double = 0.0  # that of no effect
    total: cython.double = 0.0
    row: cython.double
    if not cython.compiled:
        b = np.empty(J)
    for j in range(J):
        b[j] = shifted(spec.model, l.n, l.m, l.Q, s, -up * spec.rho[j])
        if isnan(b[j]):
            return -inf
        top_b = max(top_b, b[j])
    if top_b == inf:
        for i in range(J):
            if isnan(shifted(spec.model, k.n, k.m, k.Q, t, up * spec.rho[i])):
                return -inf
        return inf
    for j in range(J):
        b[j] = exp(b[j] - top_b)
    for i in range(J):
        row = 0.0
        for j in range(J):
            row += spec.W[i, j] * b[j]
        a = shifted(spec.model, k.n, k.m, k.Q, t, up * spec.rho[i])
        if a == inf:  # against a mean at which these rewards are impossible
            return inf
        if a > top:
            total *= exp(top - a)
            top = a
        total += row * exp(a - top)
    return top + top_b + log(total) if total > 0.0 else -inf


def interval_bound(spec, up, k, l, left, right):
    """Return a lower bound on the evidence for every t from left to right.

    If both are equal, it is the evidence at t itself.
    """
    t: cython.double = right if up > 0.0 else left
    opposite: cython.double = left if up > 0.0 else right
    s = min((opposite + spec.e) / spec.c, spec.high)
    return pair_mixture(spec, up, k, t, l, s)


def certify_interval(spec, up, k, l, start, end, stride, need):
    """Return whether the evidence is shown to reach ``need`` for every t from start to end."""
    a: cython.double = start
    b: cython.double
    h: cython.double = stride
    if interval_bound(spec, up, k, l, min(a, end), max(a, end)) >= need:
        return True
    small = 1e-3 * stride
    toward: cython.double = 1.0 if end > start else -1.0
    for _ in range(10_000):
        b = a + toward * h
        if (b - end) * toward > 0.0:
            b = end
        if interval_bound(spec, up, k, l, min(a, b), max(a, b)) >= need:
            a = b
            if a == end:
                return True
            if interval_bound(spec, up, k, l, min(a, end), max(a, end)) >= need:
                return True
            h *= 2.0
        else:
            h *= 0.5
            if h < small:
                return False
    return False


def highest_place(spec, up):
    """Return the highest possible crossing of k and l; below ``spec.low`` if there is none."""
    return min(spec.high, spec.c * spec.high - spec.e) if up > 0.0 else spec.high


def first_place(spec, up, k, l):
    """Return the crossing of k and l if their rewards were normal; -inf if they cannot cross."""
    c, e = spec.c, spec.e
    low: cython.double = spec.low
    high: cython.double = highest_place(spec, up)
    if low > high:
        return -inf
    v = l.v + c * c * k.v
    t: cython.double = k.m
    if 0.0 < v < inf:
        t = k.m - (k.m + e - c * l.m) * (l.v / v)
    t = min(max(t, low), high)
    if spec.low == 0.0 and t == 0.0:
        t = min(0.01 * k.m, high)
    return t


def crossing(spec, up, k, l, need):
    """Return ``(E, t)``: the evidence that k lies above or below its crossing with l, and the
    crossing.

    E is at least ``need`` only if it is certified to be.  Below that it is the least value found,
    to choose arms by and to show.
    """
    c, e = spec.c, spec.e
    if k.n == 0.0 or l.n == 0.0:
        return -inf, 0.0
    low: cython.double = spec.low
    high: cython.double = highest_place(spec, up)
    if low > high:  # k cannot be bad
        return inf, 0.0
    v = l.v + c * c * k.v
    h: cython.double = c / sqrt(v) if 0.0 < v < inf else 1.0
    t: cython.double = first_place(spec, up, k, l)
    best: cython.double = inf
    place: cython.double = t
    width: cython.double = h
    i: cython.int
    x: cython.double
    f0: cython.double
    f1: cython.double
    f2: cython.double
    left: cython.double
    right: cython.double
    if not spec.rough:
        for i in range(-20, 21):
            x = min(max(t + i * h, low), high)
            if x > 0.0 or spec.low < 0.0:
                f0 = interval_bound(spec, up, k, l, x, x)
                if f0 < best:
                    best, place = f0, x
        # The minimum lies about between the two means, which may be many h apart.
        wide: cython.double = 0.1 * abs(k.m + e - c * l.m)
        if wide > 2.0 * h:
            for i in range(-10, 11):
                x = min(max(t + i * wide, low), high)
                if x > 0.0 or spec.low < 0.0:
                    f0 = interval_bound(spec, up, k, l, x, x)
                    if f0 < best:
                        best, place, width = f0, x, wide
        t = place
    for _ in range(4 if width == h else 10):
        left, right = max(t - width, low), min(t + width, high)
        if spec.low == 0.0 and left <= 0.0:
            left = 0.5 * t
        f0 = interval_bound(spec, up, k, l, t, t)
        f1 = interval_bound(spec, up, k, l, left, left)
        f2 = interval_bound(spec, up, k, l, right, right)
        if f0 < best:
            best, place = f0, t
        if f1 < best:
            best, place = f1, left
        if f2 < best:
            best, place = f2, right
        if spec.rough and best < need - 1.0:
            break
        p, q = t - left, right - t
        t = place
        if f0 == best and p > 0.0 and q > 0.0:
            d1, d2 = (f0 - f1) / p, (f2 - f0) / q
            if d2 > d1:
                t = 0.5 * (left + place) - d1 * 0.5 * (p + q) / (d2 - d1)
                t = min(max(t, left), right)
            width *= 0.3
        else:
            width *= 2.0
    if best >= need:
        is_certified = certify_interval(spec, up, k, l, place, low, 0.1 * h, need)
        is_certified = is_certified and certify_interval(spec, up, k, l, place, high, 0.1 * h, need)
        if not is_certified:
            best = nextafter(need, -inf)
    return best, place


# For Python and for tests: k is side 0, l is side 1.


def crossing_of(spec, sides, up, need):
    return crossing(spec, up, sides.side(0), sides.side(1), need)


def mixture_of(spec, sides, up, t, s):
    return pair_mixture(spec, up, sides.side(0), t, sides.side(1), s)
