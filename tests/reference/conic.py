"""The characteristic time as a conic programme, through Clarabel.

Each cost is a supremum over y of concave functions of the weights (its dual), so with a cone for
each y^2 / w the programme max z is convex as it stands.
"""

import numpy as np

from .cones import Programme


def characteristic_time(means, c, e, sigma=1.0):
    mu = np.asarray(means, dtype=float)
    K = mu.size
    sigma = np.broadcast_to(np.asarray(sigma, dtype=float), (K,))
    unit = np.min(np.abs(mu - (c * mu.max() - e)))  # so that the optimum is of order one
    m, e = (mu / unit).tolist(), e / unit
    programme = Programme()
    z, w = programme.variable(), [programme.nonnegative() for _ in range(K)]
    v = [w[a] * (1.0 / sigma[a] ** 2) for a in range(K)]
    programme.zero.append(sum(w) - 1.0)
    bar = c * max(m) - e
    if c < 1.0:  # nobody is good
        programme.positive.append(sum(0.5 * max(m[a], 0.0) ** 2 * v[a] for a in range(K)) - z)
    for k in range(K):
        if m[k] >= bar:  # a good arm k becomes bad: l outdoes it
            for l in range(K):
                if l != k and m[l] >= bar:
                    y = programme.nonnegative()
                    s = programme.square_over(y, v[k])
                    t = programme.square_over(c * y, v[l])
                    gain = (m[k] - c * m[l] + e) * y
                    programme.positive.append(gain - 0.5 * (s + t) - z)
        else:  # a bad arm k becomes good: all arms l above come down
            total, gain = 0.0, 0.0
            for l in range(K):
                if c * m[l] - e > m[k]:
                    y = programme.nonnegative()
                    t = programme.square_over(c * y, v[l])
                    total, gain = total + y, gain + (c * m[l] - e - m[k]) * y - 0.5 * t
            programme.positive.append(gain - 0.5 * programme.square_over(total, v[k]) - z)
    found = programme.minimise(-z)
    return 1.0 / (found[0] * unit**2), found[1 : K + 1]
