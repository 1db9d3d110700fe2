"""The characteristic time as a conic programme, through CVXPY and Clarabel.

Each cost is a supremum over y of concave functions of the weights (its dual), so with
quad_over_lin(y, w) = y^2 / w the programme max z is convex as it stands.
"""

import cvxpy as cp
import numpy as np


def characteristic_time(means, c, e, sigma=1.0):
    mu = np.asarray(means, dtype=float)
    K = mu.size
    sigma = np.broadcast_to(np.asarray(sigma, dtype=float), (K,))
    unit = np.min(np.abs(mu - (c * mu.max() - e)))  # so that the optimum is of order one
    m, e = mu / unit, e / unit
    w, z = cp.Variable(K, nonneg=True), cp.Variable()
    v = cp.multiply(w, 1.0 / sigma**2)
    rules = [cp.sum(w) == 1]
    top = m.max()
    good = [a for a in range(K) if m[a] >= c * top - e]
    if c < 1.0:
        rules.append(cp.sum(cp.multiply(v, np.maximum(m, 0.0) ** 2)) / 2 >= z)
    for k in range(K):
        if k in good:
            for l in good:
                if l != k:
                    y = cp.Variable(nonneg=True)
                    gap = m[k] - c * m[l] + e
                    rules.append(
                        y * gap
                        - cp.quad_over_lin(y, v[k]) / 2
                        - c**2 * cp.quad_over_lin(y, v[l]) / 2
                        >= z
                    )
        else:
            above = [l for l in range(K) if c * m[l] - e > m[k]]
            y = cp.Variable(len(above), nonneg=True)
            gain = sum(y[i] * (c * m[l] - e - m[k]) for i, l in enumerate(above))
            cost = cp.quad_over_lin(cp.sum(y), v[k]) / 2
            cost += sum(c**2 * cp.quad_over_lin(y[i], v[l]) / 2 for i, l in enumerate(above))
            rules.append(gain - cost >= z)
    problem = cp.Problem(cp.Maximize(z), rules)
    problem.solve(solver=cp.CLARABEL)
    return 1.0 / (float(z.value) * unit**2), np.asarray(w.value)
