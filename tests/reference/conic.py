"""The characteristic time as a conic programme, through CVXPY and Clarabel.

Each cost is a supremum over y of concave functions of the weights (its dual), so with a cone for
each y^2 / w the programme max z is convex as it stands.  All costs of a kind are one expression:
CVXPY takes its time for each.
"""

import cvxpy as cp
import numpy as np


def at_least_square_over(y, v):
    """New variables t, and the cones that say t >= y^2 / v: |(2 y, t - v)| <= t + v."""
    t = cp.Variable(y.shape)
    return t, cp.SOC(t + v, cp.vstack([2 * y, t - v]), axis=0)


def characteristic_time(means, c, e, sigma=1.0):
    mu = np.asarray(means, dtype=float)
    K = mu.size
    sigma = np.broadcast_to(np.asarray(sigma, dtype=float), (K,))
    unit = np.min(np.abs(mu - (c * mu.max() - e)))  # so that the optimum is of order one
    m, e = mu / unit, e / unit
    w, z = cp.Variable(K, nonneg=True), cp.Variable()
    v = cp.multiply(w, 1.0 / sigma**2)
    rules = [cp.sum(w) == 1]
    good = m >= c * m.max() - e
    if c < 1.0:
        rules.append(cp.sum(cp.multiply(v, np.maximum(m, 0.0) ** 2)) / 2 >= z)
    k, l = np.nonzero(good[:, None] & good & ~np.eye(K, dtype=bool))
    if k.size:  # a good arm k becomes bad: l outdoes it
        y = cp.Variable(k.size, nonneg=True)
        s, cones_k = at_least_square_over(y, v[k])
        t, cones_l = at_least_square_over(c * y, v[l])
        gain = cp.multiply(y, m[k] - c * m[l] + e)
        rules += [cones_k, cones_l, gain - (s + t) / 2 >= z]
    k, l = np.nonzero(~good[:, None] & (c * m - e > m[:, None]))
    if k.size:  # a bad arm becomes good: all arms l above come down
        bad = np.flatnonzero(~good)
        total = np.where(k == bad[:, None], 1.0, 0.0)  # sums over l, for each bad arm
        y = cp.Variable(k.size, nonneg=True)
        s, cones_k = at_least_square_over(total @ y, v[bad])
        t, cones_l = at_least_square_over(c * y, v[l])
        gain = cp.multiply(y, c * m[l] - e - m[k])
        rules += [cones_k, cones_l, total @ (gain - t / 2) - s / 2 >= z]
    problem = cp.Problem(cp.Maximize(z), rules)
    problem.solve(solver=cp.CLARABEL)
    return 1.0 / (float(z.value) * unit**2), np.asarray(w.value)
