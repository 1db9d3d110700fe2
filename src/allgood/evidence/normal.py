"""Evidence from normal, or sub-Gaussian, rewards: half-normal effects, in closed form.

docs/evidence.md has the formulas.  Here v is the precision of all rewards of an arm, u that of one
of them, and m the empirical mean.  rho are the precisions of the effects for sigma = 1, the
smallest first; those of an arm are u rho.
"""

import math

import cython
import numpy as np
from cython.cimports.allgood.evidence.spec import ClaimSpec, Crossing
from cython.cimports.allgood.kernels.c_math import copysign, exp, fabs, inf, log, sqrt
from cython.cimports.allgood.kernels.special import half_normal, mean_excesses

# How much less than the minimum the evidence may be, per 1 + the log of the largest ratio.
ENOUGH = cython.declare(cython.double, 1e-9)
ROOT_2_OVER_PI = cython.declare(cython.double, math.sqrt(2.0 / math.pi))


class NormalSpec(ClaimSpec):
    """The question and the prior, for normal rewards.

    Attributes:
        root_rho: sqrt(rho).
    """

    def __init__(self, *question):
        ClaimSpec.__init__(self, *question)
        self.root_rho = np.sqrt(self.rho)

    def pair_evidence(self, up, k, l, need):
        G: cython.double = k.m + self.e - self.c * l.m
        if up < 0.0:
            G = self.c * l.m - self.e - k.m
        E, z = pair_evidence(k.v, l.v, G, k.u, l.u, self, need if self.rough and up > 0.0 else inf)
        return Crossing(E, z)

    def ceiling(self, up, k, l):
        """Return the largest log likelihood ratio: M is an average of likelihood ratios."""
        G: cython.double = up * (k.m + self.e - self.c * l.m)
        if G <= 0.0:
            return 0.0
        return 0.5 * G * G / (1.0 / k.v + self.c * self.c / l.v)

    def sign_evidence(self, up, k):
        return arm_evidence(k.v, k.m if up > 0.0 else -k.m, k.u, self)


def arm_evidence(v, m, u, spec):
    """Return log sum_j w_j M_j in favour of a mean above zero."""
    top: cython.double = -inf
    total: cython.double = 0.0
    for j in range(spec.rho.shape[0]):
        root = 1.0 / sqrt(v + u * spec.rho[j])
        g, x = half_normal(v * m * root)
        if x > top:
            total *= exp(top - x)
            top = x
        total += spec.w[j] * sqrt(u) * spec.root_rho[j] * root * g * exp(x - top)
    return top + log(total)


def factors(d, rate, first, J, p, part, s, M):
    """Compute the factors M_j of one side and their derivatives, all times exp(-top); return top.

    M_j = part_j H(y), H(y) = 2 Phi(y) exp(y^2/2), y = p_j d, for J numbers j from ``first`` on.
    The largest p comes first.  d grows at ``rate``, so y grows at r = p_j rate.  s_j is
    ``mean_excess`` of |y|, so that H(-|y|) = sqrt(2/pi) / (|y| + s_j).  The row of M_j:

        0 to 4    M_j and four derivatives.  Those of H are H1 = y H + sqrt(2/pi), H2 = H + y H1,
                  H3 = 2 H1 + y H2, H4 = 3 H2 + y H3;
        5         M_j r^2 b, where b is at most (log H)'' wherever y has fallen by no more than 1.
                  (log H)'' grows with y.  It is 0.199 at -1.  At y - 1 it is at least 0.31 s_j^2
                  if y < 0.
    """
    positive: cython.bint = d > 0.0
    y = p[first] * d
    top: cython.double = 0.5 * y * y if positive else 0.0
    low = ROOT_2_OVER_PI * exp(-top)
    H: cython.double
    H1: cython.double
    b: cython.double
    for j in range(first, first + J):
        y = p[j] * d
        r = p[j] * rate
        E = part[j] * low / (fabs(y) + s[j])
        if positive:
            H = 2.0 * part[j] * exp(0.5 * y * y - top)
            H1 = y * H + s[j] * E
            H -= E
            b = 0.19
        else:
            H = E
            H1 = s[j] * E
            b = 0.3 * s[j] * s[j]
        H2 = H + y * H1
        H3 = 2.0 * H1 + y * H2
        H4 = 3.0 * H2 + y * H3
        M[6 * j] = H
        M[6 * j + 1] = r * H1
        M[6 * j + 2] = r * r * H2
        M[6 * j + 3] = r * r * r * H3
        M[6 * j + 4] = r * r * r * r * H4
        M[6 * j + 5] = r * r * b * H
    return top


def overshoot(v, rho, z, w, N):
    """Return roughly how far the side with less precision, v, has to move beyond z.

    The other side has the precision w and N rewards.  If w is much larger, that side is seen on the
    wrong side of the crossing, as its effect may be as small as the prior allows.  x beyond it, the
    log of its factor falls about as -log x.  The log of the first factor grows by ``slope`` x.  So
    x is nearly 1 / slope; the formula was fitted to minima of the evidence.
    """
    if z <= 0.0:
        return 0.0
    slope = z * v * v / (v + rho)
    return max(0.6 + 0.042 * log(N) - slope / sqrt(w), 0.0) / slope


def pair_evidence(v_k, v_l, G, u_k, u_l, spec, enough=inf):
    """Return ``(E, z)``: the minimum or a little less, and the z at which it is taken.

    The search ends when the evidence is known to be ``enough``: then E may be much less.

    f is the log of the sum.  It is convex.  The search starts where the likelihood ratio has its
    minimum, or ``overshoot`` beyond.  f1 to f4 are the derivatives of f at z, in units of
    ``reach``.  The next z is where the Taylor series of the slope is zero; the bracket of the
    minimum is halved instead if that leads out of it, or not closer.

    E is a lower bound of the minimum.  Within ``reach`` of z, the log of each term has a second
    derivative of at least r^2 b (``factors``).  Let m be the average of these, each term weighted
    by its part of the sum.  Then f(z + x) >= f + f1 x + m x^2/2 by Jensen's inequality.  If
    |f1| <= m/2, this is at least f at both ends, so the minimum lies between them and is at least
    f - f1^2 / (2 m).  Otherwise it is at least f - |f1| times the width that the bracket leaves.
    """
    if v_k == 0.0 or v_l == 0.0:
        return -inf, 0.0
    J = spec.rho.shape[0]
    p: cython.double[48]
    part: cython.double[48]
    s: cython.double[48]
    M: cython.double[288]  # rows of six: arm k, arm l, both tied
    R: cython.double[6]
    S: cython.double[6]
    if not cython.compiled:
        p, part, s = np.empty((3, 48))
        M = np.empty(288)
        R, S = np.empty((2, 6))
    root_k = sqrt(u_k)
    root_l = sqrt(u_l)
    N = v_k / u_k + v_l / u_l
    for j in range(J):
        x_k = 1.0 / sqrt(v_k + u_k * spec.rho[j])
        x_l = 1.0 / sqrt(v_l + u_l * spec.rho[j])
        x_N = 1.0 / sqrt(N + spec.rho[j])
        p[j] = v_k * x_k
        p[J + j] = v_l / spec.c * x_l
        p[2 * J + j] = x_N
        part[j] = root_k * spec.root_rho[j] * x_k
        part[J + j] = root_l * spec.root_rho[j] * x_l
        part[2 * J + j] = spec.root_rho[j] * x_N
    s_k = v_k / root_k
    s_l = v_l / spec.c / root_l
    reach = 1.0 / max(p[0], p[J], fabs(s_k - s_l) * p[2 * J])
    jump: cython.double = 1.0 / sqrt(v_k) + spec.c / sqrt(v_l)
    last: cython.double = 20.0 * jump
    low: cython.double = -inf
    high: cython.double = inf
    slack: cython.double = inf
    top: cython.double
    x: cython.double
    cc = spec.c * spec.c
    z: cython.double = G * (v_l / (v_l + cc * v_k))
    if v_k < v_l / cc:
        z += min(overshoot(v_k, u_k * spec.rho[0], z, v_l / cc, v_l / u_l), jump)
    else:
        z -= min(overshoot(v_l / cc, u_l / cc * spec.rho[0], G - z, v_k, v_k / u_k), jump)
    for _ in range(200):
        d = s_k * z + s_l * (G - z)
        for j in range(J):
            s[j] = fabs(p[j] * z)
            s[J + j] = fabs(p[J + j] * (G - z))
            s[2 * J + j] = fabs(p[2 * J + j] * d)
        mean_excesses(s, 3 * J)
        top = factors(z, reach, 0, J, p, part, s, M)
        top += factors(G - z, -reach, J, J, p, part, s, M)
        tied = factors(d, (s_k - s_l) * reach, 2 * J, J, p, part, s, M) - top
        top += max(tied, 0.0)
        for n in range(6):
            S[n] = 0.0
        for i in range(J):
            for n in range(6):
                R[n] = 0.0
            for j in range(J):
                w = spec.W[i, j]
                for n in range(6):
                    R[n] += w * M[6 * (J + j) + n]
            a, a1, a2 = M[6 * i], M[6 * i + 1], M[6 * i + 2]
            a3, a4, a5 = M[6 * i + 3], M[6 * i + 4], M[6 * i + 5]
            S[0] += a * R[0]
            S[1] += a1 * R[0] + a * R[1]
            S[2] += a2 * R[0] + 2.0 * a1 * R[1] + a * R[2]
            S[3] += a3 * R[0] + 3.0 * (a2 * R[1] + a1 * R[2]) + a * R[3]
            S[4] += a4 * R[0] + 4.0 * (a3 * R[1] + a1 * R[3]) + 6.0 * a2 * R[2] + a * R[4]
            S[5] += a5 * R[0] + a * R[5]
        for n in range(6):
            R[n] = 0.0
        for j in range(J):
            w = spec.T[j]
            for n in range(6):
                R[n] += w * M[6 * (2 * J + j) + n]
        if tied > 0.0:
            x = exp(-tied)
            for n in range(6):
                S[n] = x * S[n] + R[n]
        else:
            x = exp(tied)
            for n in range(6):
                S[n] += x * R[n]
        f1 = S[1] / S[0]
        m2 = S[2] / S[0]
        m = S[5] / S[0]
        if f1 < 0.0:
            low, room = z, high - z
        else:
            high, room = z, z - low
        if f1 == 0.0:
            slack = 0.0
        elif fabs(f1) <= 0.5 * m:
            slack = 0.5 * f1 * f1 / m
        else:
            slack = fabs(f1) * (room / reach)
        if slack <= ENOUGH * (1.0 + top) or top + log(S[0]) - slack >= enough:
            break
        m3 = S[3] / S[0]
        m4 = S[4] / S[0]
        f2 = m2 - f1 * f1
        f3 = m3 - f1 * (3.0 * m2 - 2.0 * f1 * f1)
        f4 = m4 - 4.0 * f1 * m3 - 3.0 * m2 * m2 + f1 * f1 * (12.0 * m2 - 6.0 * f1 * f1)
        x = -f1 / f2
        for _ in range(2):
            curvature = f2 + x * (0.5 * f3 + x * f4 / 6.0)
            x = -f1 / max(0.5 * f2, min(curvature, 2.0 * f2))
        x *= reach
        if not (low < z + x < high and fabs(x) <= 0.5 * last):
            if room < inf:
                x = 0.5 * (low + high) - z
            else:
                x = -copysign(jump, f1)
                jump *= 4.0
        last = fabs(x)
        z += x
    return top + log(S[0]) - slack, z
