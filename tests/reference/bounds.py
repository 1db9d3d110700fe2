"""The lower bounds, term by term, as in the paper."""

import math


def kl(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def moderate(means, epsilon, sigma=1.0):
    best = max(means)
    beta = min(best - epsilon - m for m in means if m < best - epsilon)
    close = [m for m in means if m >= best - beta]
    total = 0.0
    for m in means:
        total += 1.0 / (best - m + beta) ** 2
    return sigma**2 * total / (12 * len(close) ** 3)


def mason(means, epsilon, sigmas=None):
    best = max(means)
    alpha = min(m - (best - epsilon) for m in means if m >= best - epsilon)
    total = 0.0
    for i, m in enumerate(means):
        s = 1.0 if sigmas is None else sigmas[i]
        total += 2 * s**2 * max(1 / (best - epsilon - m) ** 2, 1 / (best + alpha - m) ** 2)
    return total
