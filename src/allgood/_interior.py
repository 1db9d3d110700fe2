"""A primal-dual Newton method for T* of the families with one parameter (``families.py``).

By homogeneity T* = min sum_a v_a subject to g_j(v) >= 1 for every alternative j, where v_a is the number of pulls of
arm a and g_j the cost of alternative j: every pair of good arms, and every bad arm.  With multipliers q_j for these and
z_a for v_a >= 0, the solution has

    sum_j q_j grad g_j + z = 1,      q_j (g_j - 1) = z_a v_a = 0,

and Newton's method goes towards it along q_j (g_j - 1) = z_a v_a = m, m falling.  Each g_j is a minimum over the place
t to meet, g = min_t sum_a v_a phi_a(t), so it is concave, and

    gradient  phi_a(t),        Hessian  - phi_a'(t) phi_b'(t) / sum_c v_c phi_c''(t)

(zero where t is held by the end of its range).  The multipliers are the certificate: scaled to sum 1,
1/T* <= max_a sum_j q_j phi_j,a, whatever v is.
"""

import math

import numpy as np

from ._jit import jit
from .families import admission, expulsion
from .models import curvature, divergence, slope

CENTRING = 0.15  # each step aims at this part of the present level m
NEAR = 0.95  # and goes at most this part of the way to any edge
SOLVED, ITERATION_LIMIT, STALLED, NO_ALTERNATIVE = range(4)


@jit
def costs(family, mu, v, by_depth, ks, ls, c, e, high, g, place, size):
    """The cost of each alternative, where its arms meet, and for admissions how many arms come down."""
    for j in range(ks.size):
        if ls[j] >= 0:
            g[j], place[j] = expulsion(family, mu, v, ks[j], ls[j], c, e, high)
        else:
            g[j], place[j], size[j] = admission(family, mu, v, by_depth, ks[j], c, e)


@jit
def gradients(family, mu, v, by_depth, k, l, t, size, c, e, high, arms, phi, bend):
    """Fill the arms that an alternative moves, what each pays for a pull, and the root of its Hessian; how many."""
    s = min((t + e) / c, high)
    n = 1 if l >= 0 else size
    for i in range(n):
        a = l if l >= 0 else by_depth[i]
        arms[i], phi[i], bend[i] = a, divergence(family, mu[a], s), slope(family, mu[a], s) / c
    arms[n], phi[n], bend[n] = k, divergence(family, mu[k], t), slope(family, mu[k], t)
    n += 1
    total, steep, net = 0.0, 0.0, 0.0
    for i in range(n):
        a = arms[i]
        x, scale = (t, 1.0) if a == k else (s, c)
        total += v[a] * curvature(family, mu[a], x) / (scale * scale)
        steep += v[a] * abs(bend[i])
        net += v[a] * bend[i]
    free = total > 0.0 and abs(net) <= 1e-6 * steep  # else t is held by an end, or by an arm about to join
    for i in range(n):
        bend[i] = bend[i] / math.sqrt(total) if free else 0.0
    return n


@jit
def solve(family, mu, h, by_depth, c, e, high, rtol, limit):
    """``(pulls, lower bound on T*, steps, how it ended)``."""
    K = mu.size
    count = 0
    for k in range(K):
        count += 1 if h[k] < 0.0 else K - 1
    ks, ls = np.empty(count, np.int64), np.empty(count, np.int64)
    m = 0
    uniform = np.ones(K)
    for k in range(K):
        if h[k] < 0.0:
            ks[m], ls[m] = k, -1
            m += 1
            continue
        for l in range(K):
            if l != k and h[l] >= 0.0 and expulsion(family, mu, uniform, k, l, c, e, high)[0] < np.inf:
                ks[m], ls[m] = k, l
                m += 1
    ks, ls = ks[:m], ls[:m]
    v = np.full(K, 1.0 / K)
    if m == 0:
        return v, 0.0, 0, NO_ALTERNATIVE
    g, place, size = np.empty(m), np.empty(m), np.zeros(m, np.int64)
    new_g, new_place, new_size = np.empty(m), np.empty(m), np.zeros(m, np.int64)
    arms, phi, bend = np.empty(K + 1, np.int64), np.empty(K + 1), np.empty(K + 1)
    costs(family, mu, v, by_depth, ks, ls, c, e, high, g, place, size)
    scale = 2.0 / g.min()
    v *= scale
    g *= scale
    level = v.sum() / (m + K)
    q, z = level / (g - 1.0), level / v
    along = np.empty(m)
    lower, best_v, best = 0.0, v.copy(), np.inf
    for step in range(1, limit + 1):
        slack = g - 1.0
        gap = ((q * slack).sum() + (z * v).sum()) / (m + K)
        level = CENTRING * gap
        rhs, hessian, dual = level / v - 1.0, np.zeros((K, K)), np.zeros(K)
        for a in range(K):
            hessian[a, a] = z[a] / v[a]
        for j in range(m):
            n = gradients(family, mu, v, by_depth, ks[j], ls[j], place[j], size[j], c, e, high, arms, phi, bend)
            for i in range(n):
                a = arms[i]
                rhs[a] += level / slack[j] * phi[i]
                dual[a] += q[j] * phi[i]
                for r in range(n):
                    hessian[a, arms[r]] += q[j] * (phi[i] * phi[r] / slack[j] + bend[i] * bend[r])
        lower = max(lower, q.sum() / dual.max())
        upper = v.sum() / g.min()
        if upper < best:
            best = upper
            best_v[:] = v
        if best <= (1.0 + rtol) * lower:
            return best_v, lower, step, SOLVED
        # Scaled by v, so that arms that need few pulls do not spoil the solution.
        for a in range(K):
            for b in range(K):
                hessian[a, b] *= v[a] * v[b]
        most = 0.0
        for a in range(K):
            most = max(most, hessian[a, a])
        for a in range(K):  # where tied arms may share their pulls in many ways, one is as good as another
            hessian[a, a] += 1e-13 * most
        if not (np.isfinite(hessian).all() and np.isfinite(rhs).all()):
            return best_v, lower, step, STALLED
        move = v * np.linalg.solve(hessian, v * rhs)
        for j in range(m):
            n = gradients(family, mu, v, by_depth, ks[j], ls[j], place[j], size[j], c, e, high, arms, phi, bend)
            along[j] = 0.0
            for i in range(n):
                along[j] += phi[i] * move[arms[i]]
        q_move, z_move = (level - q * along) / slack - q, (level - z * move) / v - z
        stride = 1.0
        for j in range(m):
            if q_move[j] < 0.0:
                stride = min(stride, -NEAR * q[j] / q_move[j])
        for a in range(K):
            if z_move[a] < 0.0:
                stride = min(stride, -NEAR * z[a] / z_move[a])
        while True:  # one stride for both sides: multipliers that run ahead of v do not come back
            new = v + stride * move
            if (new > (1.0 - NEAR) * v).all():
                costs(family, mu, new, by_depth, ks, ls, c, e, high, new_g, new_place, new_size)
                if (new_g - 1.0 > (1.0 - NEAR) * slack).all():
                    break
            stride *= 0.8
            if stride < 1e-9:
                return best_v, lower, step, STALLED
        q += stride * q_move
        z += stride * z_move
        v[:], g[:], place[:], size[:] = new, new_g, new_place, new_size
    return best_v, lower, limit, ITERATION_LIMIT
