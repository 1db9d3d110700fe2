"""Convex programmes for Clarabel, a conic solver: linear expressions that lie in cones."""

import itertools

import clarabel
import numpy as np
from scipy import sparse


class Linear:
    """A sum of variables times numbers; the variable with the number -1 is the constant one."""

    def __init__(self, terms):
        self.terms = terms

    def __add__(self, other):
        terms = dict(self.terms)
        for i, number in linear(other).terms.items():
            terms[i] = terms.get(i, 0.0) + number
        return Linear(terms)

    def __mul__(self, number):
        return Linear({i: number * old for i, old in self.terms.items()})

    def __neg__(self):
        return -1.0 * self

    def __sub__(self, other):
        return self + -linear(other)

    __radd__, __rmul__ = __add__, __mul__


def linear(x):
    return x if isinstance(x, Linear) else Linear({-1: float(x)})


class Programme:
    """Variables, and what must hold of them.

    ``zero`` and ``positive`` hold expressions that must be zero, and at least zero.  ``round`` and
    ``exponential`` hold threes of expressions: |(b, c)| <= a, and b exp(a / b) <= c.
    """

    def __init__(self):
        self.count = 0
        self.zero, self.positive, self.round, self.exponential = [], [], [], []

    def variable(self):
        self.count += 1
        return Linear({self.count - 1: 1.0})

    def nonnegative(self):
        x = self.variable()
        self.positive.append(x)
        return x

    def square_over(self, y, v):
        """A variable t >= y^2 / v, which is |(2 y, t - v)| <= t + v."""
        t = self.variable()
        self.round.append((t + v, 2.0 * y, t - v))
        return t

    def relative_entropy(self, q, p):
        """A variable t >= q log(q / p), which is q exp(-t / q) <= p."""
        t = self.variable()
        self.exponential.append((-t, q, p))
        return t

    def minimise(self, cost):
        """The values of all variables."""
        kinds = (
            (clarabel.ZeroConeT(len(self.zero)), self.zero),
            (clarabel.NonnegativeConeT(len(self.positive)), self.positive),
            *((clarabel.SecondOrderConeT(3), rows) for rows in self.round),
            *((clarabel.ExponentialConeT(), rows) for rows in self.exponential),
        )
        cones, rows = [kind for kind, _ in kinds], list(itertools.chain(*(r for _, r in kinds)))
        terms = [(r, i, x) for r, row in enumerate(rows) for i, x in row.terms.items()]
        b, q = np.zeros(len(rows)), np.zeros(self.count)
        b[[r for r, i, _ in terms if i < 0]] = [x for _, i, x in terms if i < 0]
        q[list(cost.terms)] = list(cost.terms.values())
        r, i, x = zip(*((r, i, -x) for r, i, x in terms if i >= 0), strict=True)
        A = sparse.csc_array((x, (r, i)), shape=(len(rows), self.count))  # b - A x is in its cone
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        P = sparse.csc_array((self.count, self.count))
        found = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
        assert str(found.status) == "Solved", found.status
        return np.array(found.x)
