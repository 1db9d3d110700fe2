"""Thresholds by other means: series, dense grids and bisection instead of special functions."""

import math
from functools import cache


def zeta(s, terms=200):
    """Riemann zeta for s > 1: a finite sum and the Euler-Maclaurin tail."""
    total = sum(n**-s for n in range(1, terms))
    return total + terms ** (1 - s) / (s - 1) + terms**-s / 2 + s * terms ** (-s - 1) / 12


def c_gaussian(x):
    """The minimum over a fine grid of l in (1/2, 1)."""
    return min((g + x) / l for l, g in _grid())


@cache
def _grid(points=2000):
    """The places l, and g(l): the same for every x."""
    places = [0.5 + 0.5 * i / points for i in range(1, points)]
    return [
        (l, 2 * l - 2 * l * math.log(4 * l) + math.log(zeta(2 * l)) - math.log(1 - l) / 2)
        for l in places
    ]


def hinv(x):
    """The root y >= 1 of y - log y = x by bisection."""
    low, high = 1.0, 2.0 * x + 10.0
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (mid, high) if mid - math.log(mid) < x else (low, mid)
    return low


def mixture(counts, delta, grid):
    best = math.inf
    for c in grid:
        total = math.log(len(grid) / delta)
        for n in counts:
            total += math.log(1 + n / c) / 2
        best = min(best, total * max((n + c) / n for n in counts))
    return best
