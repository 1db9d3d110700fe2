"""How many labels could be certified: more than any strategy has on average, whatever it does.

Rewards are normal with sigma = 1, the objective is additive.  A strategy certifies a wrong label
with probability at most delta, whatever the means.  Let N_i be the expected pulls of arm i, and p_k
the probability that arm k has its right label by then.  Move the means so that another label of k
is right.  There the label has probability at most delta, so that

    kl(p_k, delta) <= sum_i N_i w_i,      w_i = (how far arm i moves)^2 / 2

(Kaufmann, Cappe and Garivier 2016, lemma 1).  The moves used here:

    k is bad:   all arms above x come down to x, and k comes up to x - epsilon, for the best x;
    k is good:  another arm l comes up to y, and k down to y - epsilon, for the best l and y.

The least sum over the moves is concave in N, and so is the largest p_k that it allows.  So is their
sum, the number of labels.  A tangent of a concave function lies above it everywhere.  The answer is
the highest point below all tangents found, over all N with the right number of pulls: it is a bound
wherever the tangents are taken, and close to the best one if they are taken near the maximum.
"""

import numpy as np
from scipy.optimize import linprog

STEPS = 200  # first tangents, on the way up
MORE = 100  # tangents at most where the bound is attained
CLOSE = 0.02  # labels


def moves(mu, epsilon, N):
    """The cheapest move for each arm k: row k has what one pull of each arm costs, w."""
    K, top = mu.size, mu.max()
    w = np.zeros((K, K))
    bad, good = np.flatnonzero(mu < top - epsilon), np.flatnonzero(mu >= top - epsilon)
    low, high = mu[bad] + epsilon, np.full(bad.size, top)
    for _ in range(50):
        x = (low + high) / 2.0
        slope = N[bad] * (x - epsilon - mu[bad]) - np.maximum(mu - x[:, None], 0.0) @ N
        low, high = np.where(slope > 0.0, low, x), np.where(slope > 0.0, x, high)
    w[bad] = np.maximum(mu - x[:, None], 0.0) ** 2 / 2.0
    w[bad, bad] = (x - epsilon - mu[bad]) ** 2 / 2.0
    k, level = good[:, None], mu[good, None] + epsilon  # if l came up to it, k could stay
    y = np.clip((N[k] * level + N * mu) / (N[k] + N), mu, np.maximum(mu, level))
    up, down = (y - mu) ** 2 / 2.0, np.maximum(level - y, 0.0) ** 2 / 2.0
    cost = N[k] * down + N * up
    rows = np.arange(good.size)
    cost[rows, good] = np.inf
    l = cost.argmin(axis=1)
    w[good, l] = up[rows, l]
    w[good, good] = down[rows, l]
    return w


def chances(nats, delta):
    """The largest p with kl(p, delta) <= nats, and its derivative."""
    low, high = np.full(nats.size, delta), np.ones(nats.size)
    for _ in range(50):
        p = (low + high) / 2.0
        fits = p * np.log(p / delta) + (1.0 - p) * np.log((1.0 - p) / (1.0 - delta)) <= nats
        low, high = np.where(fits, p, low), np.where(fits, high, p)
    confirmed = nats >= np.log(1.0 / delta)
    odds = np.where(confirmed, np.inf, high * (1.0 - delta) / (1.0 - high + confirmed) / delta)
    return np.where(confirmed, 1.0, high), 1.0 / np.maximum(np.log(odds), 1e-9)


def tangent(mu, epsilon, delta, N):
    """The number of labels that N allows, and its gradient."""
    w = moves(mu, epsilon, N)
    p, slopes = chances(w @ N, delta)
    return p.sum(), slopes @ w


def most_labels(instance, pulls, delta):
    """A number of right labels that no strategy with this risk exceeds on average."""
    mu, epsilon = instance.means, instance.objective.epsilon
    K = mu.size
    values, gradients = [], []  # of the tangents: value + gradient @ part, with N = pulls * part
    highest, best = 0.0, None

    def add(part):
        nonlocal highest, best
        labels, gradient = tangent(mu, epsilon, delta, pulls * part)
        gradients.append(pulls * gradient)
        values.append(labels - gradients[-1] @ part)
        if labels > highest:
            highest, best = labels, part

    part = np.full(K, 1.0 / K)
    for step in range(1, STEPS + 1):
        add(part)
        if highest >= K:
            return float(K)
        part = part * np.exp(0.5 / np.sqrt(step) * gradients[-1] / gradients[-1].max())
        part = np.maximum(part / part.sum(), 1e-9)
    for _ in range(MORE):
        rows = np.column_stack([np.ones(len(values)), -np.array(gradients)])
        found = linprog(
            np.append(-1.0, np.zeros(K)),  # the largest z with z <= value + gradient @ part
            A_ub=rows,
            b_ub=values,
            A_eq=[np.append(0.0, np.ones(K))],
            b_eq=[1.0],
            bounds=[(None, K)] + [(0.0, 1.0)] * K,
        )
        most = -found.fun
        if most - highest < CLOSE:
            break
        add(np.maximum(0.3 * found.x[1:] + 0.7 * best, 1e-9))
    return float(most)
