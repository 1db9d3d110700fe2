"""T* as a linear programme over alternatives on a grid, for models that are not normal.

T* is the fewest pulls v for which each alternative costs sum_a v_a d_a >= 1, with d_a the
divergence that arm a pays for a pull.  Alternatives on a grid are some of all: the T* found is
never above the true one, and near it if the grid is fine.  All pairs are there, and all arms
above come down.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from .families import HIGH, divergence


def paid(family, x, y):
    with np.errstate(invalid="ignore"):
        return np.where(x == y, 0.0, divergence(family, x, y))


def good_arms_expelled(family, mu, bar, c, e, grid):
    """A row for each pair and each bar t: a good arm k falls to t, and l rises to (t + e)/c."""
    k, l = np.nonzero((mu >= bar)[:, None] & ~np.eye(mu.size, dtype=bool))
    low, high = np.maximum(0.0, c * mu[l] - e), np.minimum(mu[k], c * HIGH[family] - e)
    k, l, low, high = (x[low <= high, None] for x in (k, l, low, high))
    t = low + (high - low) * grid
    s = np.minimum((t + e) / c, HIGH[family])
    costs = np.stack([paid(family, mu[k], t), paid(family, mu[l], s)], axis=-1)
    arms = np.stack(np.broadcast_arrays(k, l, t)[:2], axis=-1)
    costs, arms = costs.reshape(-1, 2), arms.reshape(-1, 2)
    finite = np.isfinite(costs).all(axis=1)
    costs, arms = costs[finite], arms[finite]
    starts = 2 * np.arange(len(costs) + 1)
    return csr_array((costs.ravel(), arms.ravel(), starts), shape=(len(costs), mu.size))


def bad_arm_admitted(family, mu, k, bar, c, e, grid):
    """A row for each bar t: a bad arm k rises to t, and all above (t + e)/c come down."""
    t = mu[k] + (bar - mu[k]) * grid
    moved = np.minimum(mu, (t[:, None] + e) / c)
    moved[:, k] = t
    costs = paid(family, mu, moved)
    return csr_array(costs[np.isfinite(costs).all(axis=1)])


def characteristic_time(family, means, c, e, points=40):
    mu = np.asarray(means, dtype=float)
    bar = c * mu.max() - e
    near = np.geomspace(1e-3, 1.0, points)
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, points), near, 1.0 - near]))
    rows = [good_arms_expelled(family, mu, bar, c, e, grid)]
    rows += [
        bad_arm_admitted(family, mu, k, bar, c, e, grid) for k in range(mu.size) if mu[k] < bar
    ]
    # In pulls: the fewest v >= 0 for which each of these alternatives costs at least 1.
    costs = vstack(rows)
    unit = costs.max(axis=1).toarray().min()  # so that the solver sees numbers about 1
    found = linprog(np.ones(mu.size), A_ub=-costs / unit, b_ub=-np.ones(costs.shape[0]))
    assert found.status == 0, found.message
    return float(found.fun / unit)
