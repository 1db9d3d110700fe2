"""Evidence by numerical integration of the likelihood ratio and a general minimiser, in plain letters."""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

GRID = [30.0, 300.0, 3000.0, 30000.0, 300000.0, 3000000.0]
WEIGHTS = [0.20, 0.30, 0.25, 0.13, 0.08, 0.04]


def log_mixture_by_integration(v, distance, rho):
    """log of the integral over d > 0 of 2 sqrt(rho/(2 pi)) exp(-rho d^2/2) exp(v distance d - v d^2/2)."""

    def exponent(d):
        return math.log(2.0) + 0.5 * math.log(rho / (2.0 * math.pi)) + v * distance * d - 0.5 * (v + rho) * d * d

    peak = max(v * distance / (v + rho), 0.0)
    width = 1.0 / max(math.sqrt(v + rho), -v * distance)
    top = exponent(peak)
    low, high = max(0.0, peak - 40.0 * width), peak + 40.0 * width
    value, _ = quad(lambda d: math.exp(exponent(d) - top), low, high, points=[peak], epsabs=0, epsrel=1e-11, limit=500)
    return top + math.log(value)


def log_mixture(v, distance, rho):
    y = v * distance / np.sqrt(v + rho)
    return math.log(2.0) + log_ndtr(y) + 0.5 * y * y + 0.5 * np.log(rho / (v + rho))


def joint_weights():
    n = len(GRID)
    W = [[math.sqrt(WEIGHTS[i] * WEIGHTS[j]) * 0.4 ** abs(i - j) for j in range(n)] for i in range(n)]
    total = sum(map(sum, W))
    return [[x / total for x in row] for row in W]


def pair(v_k, v_l, G, c, rho, rho_l=None):
    """min over z of log sum_ij W_ij M_i(k by z) M_j(l by (G - z)/c)."""
    W = np.array(joint_weights())
    rho = np.asarray(rho)
    rho_l = rho if rho_l is None else np.asarray(rho_l)

    def f(z):
        a, b = log_mixture(v_k, z, rho), log_mixture(v_l, (G - z) / c, rho_l)
        return a.max() + b.max() + math.log(np.exp(a - a.max()) @ W @ np.exp(b - b.max()))

    start = G * v_l / (v_l + c * c * v_k)
    return float(minimize_scalar(f, bracket=(start, start + 1.0 / math.sqrt(v_k)), method="brent", tol=1e-12).fun)


def one(v, m, rho):
    w = np.array(joint_weights()).sum(axis=1)
    a = log_mixture(v, m, np.asarray(rho))
    return a.max() + math.log(w @ np.exp(a - a.max()))


def labels(N, m, sigma, c, e, delta, pool=None):
    """+1, -1 or 0 for each arm, and evidence less need for "good" and for "bad": every rival, the pool, the arm itself.

    Arms that look bad and are certified are no rivals of the others.
    """
    K = len(N)
    rho = [np.array(GRID) / s**2 for s in sigma]
    rho_pool = np.array(GRID) / max(sigma) ** 2
    v = [n / s**2 for n, s in zip(N, sigma, strict=True)]
    need = math.log(K / delta)
    if K - 1 + (c < 1) <= 1:
        pool = None  # one rival: no pool
    single = 1.0 if pool is None else 0.1
    bad = []
    for k in range(K):
        others = [l for l in range(K) if l != k]
        rivals = len(others) + (c < 1)
        found = [
            pair(v[k], v[l], c * m[l] - e - m[k], c, rho[k], rho[l]) - need - math.log(rivals / single) for l in others
        ]
        if pool is not None and pool[0] > 0:
            found.append(
                pair(v[k], pool[0], c * pool[1] / pool[0] - e - m[k], c, rho[k], rho_pool) - need + math.log(0.9)
            )
        if c < 1:
            found.append(one(v[k], -m[k], rho[k]) - need - math.log(rivals / single))
        bad.append(max(found, default=-math.inf))
    bar = c * max(m) - e
    gone = {k for k in range(K) if m[k] < bar and bad[k] >= 0}
    out = []
    for k in range(K):
        found = [
            pair(v[k], v[l], m[k] - c * m[l] + e, c, rho[k], rho[l]) - need
            for l in range(K)
            if l != k and l not in gone
        ]
        if c < 1:
            found.append(one(v[k], m[k], rho[k]) - need)
        good = min(found, default=math.inf)
        out.append((-1 if k in gone else 1 if m[k] >= bar and good >= 0 else 0, good, bad[k]))
    return out
