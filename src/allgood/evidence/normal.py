"""Evidence from normal, or sub-Gaussian, rewards: half-normal effects, in closed form.

The formulas stand at the head of ``claims.py``.  Here v is the precision of all rewards of an arm,
u that of one of them, and m the empirical mean.  rho are the precisions of the effects for
sigma = 1; those of an arm are u rho.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.allgood.evidence.spec import ClaimSpec, Meeting
    from cython.cimports.allgood.special import half_normal
    from cython.cimports.libc.math import INFINITY as inf
    from cython.cimports.libc.math import copysign, exp, fabs, log, log1p, sqrt
else:
    from allgood.c_math import copysign, exp, fabs, inf, log, log1p, sqrt
    from allgood.evidence.spec import ClaimSpec, Meeting
    from allgood.special import half_normal

TOLERANCE = 1e-3  # how much less than the minimum the evidence may be
ENOUGH = cython.declare(cython.double, TOLERANCE)


class NormalSpec(ClaimSpec):
    """The question, for normal rewards."""

    def pair_evidence(self, up, k, l, need):
        G: cython.double = k.m + self.e - self.c * l.m
        if up < 0.0:
            G = self.c * l.m - self.e - k.m
        E, z = pair_evidence(k.v, l.v, G, k.u, l.u, self)
        return Meeting(E, z)

    def sign_evidence(self, up, k):
        return arm_evidence(k.v, k.m if up > 0.0 else -k.m, k.u, self)


def arm_evidence(v, m, u, spec):
    """log sum_j w_j M_j in favour of a mean above zero."""
    top: cython.double = -inf
    total: cython.double = 0.0
    x: cython.double
    for j in range(spec.rho.shape[0]):
        g, x, _, _ = half_normal(v * m / sqrt(v + u * spec.rho[j]))
        x -= 0.5 * log1p(v / (u * spec.rho[j]))
        if x > top:
            total *= exp(top - x)
            top = x
        total += spec.w[j] * g * exp(x - top)
    return top + log(total)


def pair_evidence(v_k, v_l, G, u_k, u_l, spec):
    """``(E, z)``: at most the minimum, by TOLERANCE at most, and the place where it is taken.

    Newton's method within a bracket.  f is the log of the sum.  f is convex: where its slope is f1
    and the minimum at most ``room`` away, it is nowhere below f - |f1| room.  This bound is what is
    returned, so that an early end costs evidence and never the guarantee.  Steps are one percent
    too long, to land beyond the minimum and close the bracket.
    """
    if v_k == 0.0 or v_l == 0.0:
        return -inf, 0.0
    c, J = spec.c, spec.rho.shape[0]
    a: cython.double[16]
    a0: cython.double[16]
    a1: cython.double[16]
    a2: cython.double[16]
    b: cython.double[16]
    b0: cython.double[16]
    b1: cython.double[16]
    b2: cython.double[16]
    p: cython.double[16]
    p0: cython.double[16]
    q: cython.double[16]
    q0: cython.double[16]
    r: cython.double[16]
    r0: cython.double[16]
    x: cython.double
    y: cython.double
    z: cython.double
    x0: cython.double
    new: cython.double
    S: cython.double
    S1: cython.double
    S2: cython.double
    R: cython.double
    R1: cython.double
    R2: cython.double
    top: cython.double
    top_a: cython.double
    top_b: cython.double
    if not cython.compiled:
        a, a0, a1, a2, b, b0, b1, b2, p, p0, q, q0, r, r0 = np.empty((14, J))
    N = v_k / u_k + v_l / u_l
    for j in range(J):
        rho_k = u_k * spec.rho[j]
        rho_l = u_l * spec.rho[j]
        p[j] = v_k / sqrt(v_k + rho_k)
        p0[j] = 0.5 * log1p(v_k / rho_k)
        q[j] = v_l / c / sqrt(v_l + rho_l)
        q0[j] = 0.5 * log1p(v_l / rho_l)
        r[j] = 1.0 / sqrt(N + spec.rho[j])
        r0[j] = 0.5 * log1p(N / spec.rho[j])
    s_k = v_k / sqrt(u_k)
    s_l = v_l / c / sqrt(u_l)
    low: cython.double = -inf
    high: cython.double = inf
    best: cython.double = -inf
    jump: cython.double = 1.0 / sqrt(v_k) + c / sqrt(v_l)
    z = G * (v_l / (v_l + c * c * v_k))  # where the likelihood ratio alone has its minimum
    place: cython.double = z
    for _ in range(100):
        top_a = top_b = -inf
        for j in range(J):
            a[j], x, slope, bend = half_normal(p[j] * z)
            a0[j], a1[j], a2[j] = x - p0[j], p[j] * slope, p[j] * p[j] * bend
            b[j], x, slope, bend = half_normal(q[j] * (G - z))
            b0[j], b1[j], b2[j] = x - q0[j], -q[j] * slope, q[j] * q[j] * bend
            top_a = max(top_a, a0[j])
            top_b = max(top_b, b0[j])
        for j in range(J):
            a[j] *= exp(a0[j] - top_a)
            b[j] *= exp(b0[j] - top_b)
        S = S1 = S2 = 0.0
        for i in range(J):
            R = R1 = R2 = 0.0
            for j in range(J):
                x = spec.W[i, j] * b[j]
                R += x
                R1 += x * b1[j]
                R2 += x * (b2[j] + b1[j] * b1[j])
            S += a[i] * R
            S1 += a[i] * (a1[i] * R + R1)
            S2 += a[i] * ((a2[i] + a1[i] * a1[i]) * R + 2.0 * a1[i] * R1 + R2)
        top = top_a + top_b
        for j in range(J):
            x, x0, slope, bend = half_normal(r[j] * (s_k * z + s_l * (G - z)))
            x0 -= r0[j] + top
            if x0 > 0.0:
                y = exp(-x0)
                S *= y
                S1 *= y
                S2 *= y
                top += x0
                x0 = 0.0
            x = spec.T[j] * x * exp(x0)
            y = r[j] * (s_k - s_l)
            S += x
            S1 += x * y * slope
            S2 += x * y * y * (bend + slope * slope)
        f = top + log(S)
        f1 = S1 / S
        f2 = S2 / S - f1 * f1
        if f1 < 0.0:
            low, room = z, high - z
        else:
            high, room = z, z - low
        bound = f - fabs(f1) * room if f1 != 0.0 else f
        if bound > best:
            best, place = bound, z
        if f - best <= ENOUGH:
            break
        new = z - 1.01 * f1 / f2 if f2 > 0.0 else inf
        if not (low < new < high and fabs(new - z) <= 10.0 * jump):
            if room < inf:
                new = 0.5 * (low + high)
            else:
                new = z - copysign(jump, f1)
                jump *= 4.0
        z = new
    return best, place
