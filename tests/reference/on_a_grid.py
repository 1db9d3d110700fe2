"""T* as a linear programme over alternatives on a grid, for laws that are not normal.

T* is the fewest pulls v for which each alternative costs sum_a v_a d_a >= 1, with d_a the
divergence that arm a pays for a pull.  Alternatives on a grid are some of all: the T* found is
never above the true one, and near it if the grid is fine.  All pairs are there, and all arms
above come down.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from .families import HIGH, divergence


def characteristic_time(family, means, c, e, points=40):
    mu = np.asarray(means, dtype=float)
    K, bar = mu.size, c * mu.max() - e
    near = np.geomspace(1e-3, 1.0, points)
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, points), near, 1.0 - near]))
    columns = []
    for k in range(K):
        for l in range(K) if mu[k] >= bar else [None]:
            if l == k:
                continue
            if l is None:
                low, high = mu[k], bar
            else:
                low, high = max(0.0, c * mu[l] - e), min(mu[k], c * HIGH[family] - e)
            if low > high:
                continue
            t = low + (high - low) * grid
            s = np.minimum((t + e) / c, HIGH[family])
            moved = np.repeat(mu[:, None], t.size, axis=1)
            if l is None:
                moved = np.minimum(moved, s)
            else:
                moved[l] = s
            moved[k] = t
            with np.errstate(invalid="ignore"):
                paid = divergence(family, mu[:, None], moved)
            paid[moved == mu[:, None]] = 0.0
            columns.append(csr_array(paid[:, np.isfinite(paid).all(axis=0)]))
    # In pulls: the fewest v >= 0 for which each of these alternatives costs at least 1.
    costs = hstack(columns).T
    unit = costs.max(axis=1).toarray().min()  # so that the solver sees numbers about 1
    found = linprog(np.ones(K), A_ub=-costs / unit, b_ub=-np.ones(costs.shape[0]))
    assert found.status == 0, found.message
    return float(found.fun / unit)
