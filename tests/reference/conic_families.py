"""1/T* of Bernoulli arms as an exponential-cone programme, through Clarabel.

The other side of the game: nature mixes alternatives with probabilities q_j, and the player, who
sees the mixture, pulls the arm that pays most.  With p_ja = q_j lam_ja, and q d(mu, p/q) jointly
convex in p and q,

    1/T* = min s   subject to   sum_j q_j d(mu_a, p_ja / q_j) <= s for each arm a,   sum_j q_j = 1.
"""

import numpy as np

from .cones import Programme


def characteristic_time(means, c, e):
    mu = [float(mean) for mean in means]
    K, bar = len(mu), c * max(mu) - e
    programme = Programme()
    s, paid, chances = programme.variable(), [0.0] * K, 0.0
    for k in range(K):
        others = [l for l in range(K) if l != k]
        for l in others if mu[k] >= bar else [None]:
            q, p = programme.nonnegative(), [programme.nonnegative() for _ in range(K)]
            chances += q
            if l is None:
                programme.positive += [p[k] - c * p[i] + e * q for i in others]
            else:
                programme.positive.append(c * p[l] - e * q - p[k])
            programme.positive += [q - p[a] for a in range(K)]
            for a in range(K):
                entropy = mu[a] * np.log(mu[a]) + (1 - mu[a]) * np.log(1 - mu[a])
                paid[a] += (
                    mu[a] * programme.relative_entropy(q, p[a])
                    + (1 - mu[a]) * programme.relative_entropy(q, q - p[a])
                    + entropy * q
                )
    programme.zero.append(chances - 1.0)
    programme.positive += [s - paid[a] for a in range(K)]
    return 1.0 / programme.minimise(s)[0]
