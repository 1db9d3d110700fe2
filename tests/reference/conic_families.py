"""1/T* of Bernoulli arms as an exponential-cone programme, through CVXPY and Clarabel.

The other side of the game: nature mixes alternatives with probabilities q_j, and the player, who
sees the mixture, pulls the arm that pays most.  With p_ja = q_j lam_ja, and q d(mu, p/q) jointly
convex in p and q,

    1/T* = min s   subject to   sum_j q_j d(mu_a, p_ja / q_j) <= s for each arm a,   sum_j q_j = 1.
"""

import cvxpy as cp
import numpy as np


def characteristic_time(means, c, e):
    mu = np.asarray(means, dtype=float)
    K, bar = mu.size, c * mu.max() - e
    s, paid, chances, rules = cp.Variable(), [0] * K, 0, []
    for k in range(K):
        others = [l for l in range(K) if l != k]
        for l in others if mu[k] >= bar else [None]:
            q, p = cp.Variable(nonneg=True), cp.Variable(K, nonneg=True)
            chances += q
            if l is None:
                rules += [p[k] >= c * p[i] - e * q for i in others]
            else:
                rules.append(p[k] <= c * p[l] - e * q)
            rules.append(p <= q)
            for a in range(K):
                entropy = mu[a] * np.log(mu[a]) + (1 - mu[a]) * np.log(1 - mu[a])
                paid[a] += (
                    mu[a] * cp.rel_entr(q, p[a])
                    + (1 - mu[a]) * cp.rel_entr(q, q - p[a])
                    + entropy * q
                )
    rules += [chances == 1, *(x <= s for x in paid)]
    cp.Problem(cp.Minimize(s), rules).solve(solver=cp.CLARABEL)
    return 1.0 / float(s.value)
