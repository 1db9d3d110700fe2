"""The Newton system of ``theory/solver/system.py``, written out in full: every row, no elimination.

Follows the formulas of that module's head, over all alternatives at once, with dense matrices.
"""

import numpy as np


def admissions(gap, v, depths, weights, c):
    """Minimisers of v_k (gap_k - c x)^2 / 2 + sum w ((x - D)_+)^2 / 2, one for each k.

    By bisection.
    """
    low, high = np.zeros(len(gap)), gap / c
    for _ in range(100):
        x = 0.5 * (low + high)
        slope = -c * v * (gap - c * x) + np.maximum(x[:, None] - depths, 0.0) @ weights
        low, high = np.where(slope < 0, x, low), np.where(slope < 0, high, x)
    return 0.5 * (low + high)


def alternatives(height, depth, copies, gap, lift, c, pairs, v):
    """For each alternative: (kind, g, shares pi, curvature row y or None)."""
    G, B = len(height), len(gap)
    out = []
    for k, l in pairs:
        half = (height[k] + c * depth[l]) ** 2 / 2
        pi = np.zeros(G + B)
        pi[k] += v[l] / (v[l] + c**2 * v[k])
        pi[l] += c**2 * v[k] / (v[l] + c**2 * v[k])
        out.append(("pair", half / (1 / v[k] + c**2 / v[l]), pi, None))
    weights = copies * v[:G]
    x = admissions(gap, v[G:], depth, weights, c)
    for k in range(B):
        down = np.maximum(x[k] - depth, 0.0)
        up = gap[k] - c * x[k]
        g = v[G + k] * up**2 / 2 + (weights * down**2).sum() / 2
        pi, y = np.zeros(G + B), np.zeros(G + B)
        pi[:G], pi[G + k] = weights * down**2 / (2 * g), v[G + k] * up**2 / (2 * g)
        y[:G], y[G + k] = weights * down, -c * up * v[G + k]
        y /= np.sqrt(g * (c**2 * v[G + k] + weights[down > 0].sum()))
        out.append(("admit", g, pi, y))
    if c < 1.0:
        g = (lift * v).sum()
        out.append(("empty", g, lift * v / g, None))
    return out


def step(height, depth, copies, gap, price, lift, c, pairs, v, lam, mu):
    """The relative Newton step z; ``lam`` in the order of ``alternatives``."""
    G, N = len(height), len(v)
    found = alternatives(height, depth, copies, gap, lift, c, pairs, v)
    by_pairs, by_others, matrix = np.zeros(N), np.zeros(N), np.zeros((N, N))
    rhs = -price * v
    for (kind, g, pi, y), m in zip(found, lam, strict=True):
        slack = 1 - 1 / g
        matrix += m / (slack * g**2) * np.outer(pi, pi)
        rhs += mu / (slack * g) * pi
        if kind == "pair":
            by_pairs += m / g * pi
        else:
            by_others += m / g * pi
            matrix += 2 * m / g * np.outer(pi, pi)
            if y is not None:
                matrix += m / g * np.outer(y, y)
    for a in range(N):
        if a >= G:
            matrix[a, a] += max(price[a] * v[a] - by_others[a], 0.0)
        elif by_pairs[a] > by_others[a]:
            matrix[a, a] += 2 * max(price[a] * v[a] - by_others[a], 0.0)
        else:
            matrix[a, a] += 2 * by_pairs[a]
    scale = 1 / np.sqrt(np.diag(matrix))
    return scale * np.linalg.solve(matrix * np.outer(scale, scale), scale * rhs)
