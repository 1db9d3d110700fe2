"""Exponentiated gradient on the simplex, step by step, in plain Python."""

import math


def iterates(gradient_of, num_arms, lipschitz, steps):
    """The first ``steps`` iterates from the uniform weights, with rate sqrt(2 log K / n) / L."""
    w = [1.0 / num_arms] * num_arms
    seen = []
    for n in range(1, steps + 1):
        seen.append(list(w))
        d = gradient_of(w)
        rate = math.sqrt(2.0 * math.log(num_arms) / n) / lipschitz
        w = [x * math.exp(rate * y) for x, y in zip(w, d, strict=True)]
        total = sum(w)
        w = [x / total for x in w]
    return seen
