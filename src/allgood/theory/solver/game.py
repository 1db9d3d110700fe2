"""The game that T* solves: groups of equal arms, and the pairs of groups that matter.

By homogeneity T* = min sum_a sigma_a^2 v_a subject to g_j(v) >= 1 for every kind j of alternative,
where v_a is the precision spent on arm a and g_j the cost of alternative j
(``theory/alternatives/normal.py``).  Equal arms share one precision (their average is at least as
good, by concavity), so the unknowns are *groups* of equal arms, and the alternatives are

    pair    good groups k, l      1/g = (1/v_k + c^2/v_l) / half,   half = (h_k + c D_l)^2 / 2
            (k = l is a pair inside a group of two or more)
    admit   bad group k           g = min over depth of v_k (gap_k - c depth)^2 / 2
                                                + sum_l copies_l v_l ((depth - D_l)_+)^2 / 2
    empty   multiplicative        g = sum_a lift_a v_a

Only good arms come down in ``admit``: if a bad arm would have to come down too, admitting that bad
arm is cheaper, and its own constraint is the binding one.  Of the quadratically many pairs only
those are kept that the others do not imply (``kept_pairs``): as many as arms, unless many nearly
tie.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import fabs, inf, sqrt


class Game:
    """Groups of equal arms, good groups first, by increasing depth; and their pairs.

    Attributes:
        G, B, P: the number of good groups, of bad groups, and of pairs kept.
        height, depth: [G] above the threshold, > 0; below the best, >= 0 and increasing.
        copies: [G] arms in the group.
        gap: [B] below the threshold, > 0.
        price: [G + B] copies sigma^2: the price of a unit of v.
        lift: [G + B] copies max(mu, 0)^2 / 2; zero for additive.
        group: [K] the group of each arm.
        unit: the unit of all lengths.
        k, l, half: [P] the pairs that are not implied by others, and (h_k + c D_l)^2 / 2.
        degree: [G] the number of pairs of each group with other groups.

    All arrays have space for K groups; only their first entries are in use.
    """

    def __init__(self, num_arms):
        floats: cython.double[:, ::1] = np.empty((7, num_arms))
        whole: cython.Py_ssize_t[:, ::1] = np.empty((4, num_arms), np.intp)
        self.height, self.depth, self.copies = floats[0], floats[1], floats[2]
        self.gap, self.price, self.lift = floats[3], floats[4], floats[5]
        self.bound = floats[6]
        self.group, self.first, self.degree = whole[0], whole[1], whole[2]
        self.by_best = whole[3]
        self.G = self.B = self.P = 0
        self.c = self.unit = 1.0
        pairs: cython.Py_ssize_t[:, ::1] = np.empty((2, 4 * num_arms), np.intp)
        self.k, self.l = pairs[0], pairs[1]
        self.half = np.empty(4 * num_arms)

    def reserve(self, pairs):
        """Allocate arrays for so many pairs; return False if memory is short."""
        if pairs <= self.k.shape[0]:
            return True
        with cython.gil:
            try:
                whole: cython.Py_ssize_t[:, ::1] = np.empty((2, pairs), np.intp)
                self.half = np.empty(pairs)
                self.k, self.l = whole[0], whole[1]
            except MemoryError:
                return False
        return True

    def add_pair(self, k, l):
        """Add a pair; if the arrays are full, only count it."""
        if self.k.shape[0] > self.P:
            x = self.height[k] + self.c * self.depth[l]
            self.k[self.P] = k
            self.l[self.P] = l
            self.half[self.P] = 0.5 * (x * x)
        self.P += 1

    def replace(self, groups, group):
        """Replace the groups by others; ``group`` is the group of each arm."""
        self.G, self.B = groups.height.size, groups.gap.size
        for name in ("height", "depth", "copies", "gap", "price", "lift"):
            values = getattr(groups, name)
            np.asarray(getattr(self, name))[: values.size] = values
        np.asarray(self.group)[:] = group


def group_arms(game, at, sigma):
    """Group the arms of equal depth and sigma, which are neighbours in ``at.by_depth``."""
    size: cython.Py_ssize_t = 0
    good: cython.Py_ssize_t = 0
    before: cython.Py_ssize_t = 0
    for i in range(at.K):
        a = at.by_depth[i]
        if i == 0 or at.D[a] != at.D[before] or sigma[a] != sigma[before]:
            game.first[size] = a
            game.copies[size] = 0.0
            size += 1
            if at.h[a] >= 0.0:
                good += 1
        game.group[a] = size - 1
        game.copies[size - 1] += 1.0
        before = a
    game.G, game.B, game.c = good, size - good, at.c
    # The height of an only good arm matters to no alternative.
    skip: cython.Py_ssize_t = 0 if good > 1 or game.copies[0] > 1.0 else 1
    game.unit = inf
    for i in range(skip, size):
        game.unit = min(game.unit, fabs(at.h[game.first[i]]))
    for i in range(size):
        a = game.first[i]
        if i < good:
            game.height[i] = at.h[a] / game.unit
            game.depth[i] = at.D[a] / game.unit
        else:
            game.gap[i - good] = -at.h[a] / game.unit
        game.price[i] = game.copies[i] * (sigma[a] * sigma[a])
        game.lift[i] = 0.0
        if at.c < 1.0 and at.mu[a] > 0.0:
            x = at.mu[a] / game.unit
            game.lift[i] = game.copies[i] * 0.5 * (x * x)


def bound_singly(game):
    """Fill U and mark the pair that set it; see ``kept_pairs``."""
    c = game.c
    m = game.G - 1
    for a in range(game.G):
        game.bound[a] = inf if a == 0 else 0.5 * (game.height[a] * game.height[a])
        game.by_best[a] = 1
        if a != m:
            x = game.height[m] + c * game.depth[a]
            U = 0.5 * (x * x) / (c * c)
            if game.bound[a] > U:
                game.bound[a] = U
                game.by_best[a] = 0
        if game.copies[a] > 1.0:
            x = game.height[a] + c * game.depth[a]
            game.bound[a] = min(game.bound[a], 0.5 * (x * x) / (1.0 + c * c))


def matters(game, k, l):
    """Return whether the pair is not implied by others; see ``kept_pairs``."""
    if k == l:
        return game.copies[k] > 1.0
    x = game.height[k] + game.c * game.depth[l]
    if game.bound[k] + game.c * game.c * game.bound[l] > 0.5 * (x * x):
        return True
    # Pairs that set a bound stay even where U of the other arm is lost in rounding.
    return (l == 0 and game.by_best[k] == 1) or (k == game.G - 1 and game.by_best[l] == 0)


def kept_pairs(game, limit):
    """Find the pairs that matter; return False if they are more than ``limit``.

    With a = 1/v a pair says a_k + c^2 a_l <= half_kl.  The pairs with the best arm 0, with the
    lowest good arm m, and inside a group bound each a by itself:

        a_k <= U_k = min( half_k0,  half_mk / c^2,  half_kk / (1 + c^2) if the group has two arms ).

    A pair with U_k + c^2 U_l <= half_kl then always holds, and so it does with all halves
    divided by the same number: if the kept pairs cost at least g, so do the dropped.  The pair
    that sets U_k is kept.  For c = 1 it is always cheaper to expel the lower of two arms, so pairs
    with l below k are dropped.
    """
    bound_singly(game)
    for _ in range(2):  # once more if there was no room
        game.P = 0
        for k in range(game.G):
            for l in range(game.G if game.c < 1.0 else k + 1):
                if matters(game, k, l):
                    game.add_pair(k, l)
        if limit < game.P:
            return False
        if game.k.shape[0] >= game.P:
            break
        if not game.reserve(game.P):
            return False
    for a in range(game.G):
        game.degree[a] = 0
    for j in range(game.P):
        if game.k[j] != game.l[j]:
            game.degree[game.k[j]] += 1
            game.degree[game.l[j]] += 1
    return True


def starting_point(game, v):
    """Compute precisions that rule out every one-arm and two-arm change, up to a common factor.

    Two arms at prices p and q that share a limit, 1/v + 1/u <= x, are cheapest with
    v / u = sqrt(q / p).
    """
    G, B, c = game.G, game.B, game.c
    low = game.height[G - 1]
    for i in range(G):
        reach = min(game.height[i], low / c + game.depth[i])
        v[i] = 1.0 / (reach * reach) if G > 1 or game.copies[0] > 1.0 else 0.0
    for k in range(B):
        v[G + k] = 1.0 / (game.gap[k] * game.gap[k])
        v[0] = max(v[0], c * c * v[G + k] / game.copies[0])
    for i in range(G):
        v[i] /= sqrt(game.price[i] / game.copies[i])
    for k in range(G, G + B):
        v[k] /= sqrt(game.price[k])
