"""The cost of every alternative at known precisions, and the share of each group in it.

With g_j the cost of alternative j, the *shares* pi_j = v grad g_j / g_j say which part of it comes
from each group; they sum to one.  Multipliers lam_j of the constraints 1 - 1/g_j >= 0 balance

    sum_j (lam_j / g_j) pi_j

of the pulls price v; at the solution, all of them.

The lower bound: for any q >= 0, T* >= sum_j q_j / max_a ( sum_j q_j grad g_j,a / price_a ).  With
q_j = lam_j / g_j^2 it is tight at the solution.  The upper bound is sum price v / min_j g_j.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import inf
from cython.cimports.allgood.theory.alternatives.normal import Prefixes, admission


class Costs:
    """One value per alternative: the costs g_j at a point, or multipliers, or their steps.

    ``pair`` has one per pair of groups, ``admit`` one per bad group; ``empty`` is for c < 1 only.
    """

    def __init__(self, num_arms, pairs=0):
        self.pair, self.admit = np.empty(max(pairs, 4 * num_arms)), np.empty(num_arms)
        self.empty = 0.0

    def reserve(self, pairs):
        """Allocate arrays for so many pairs; return False if memory is short."""
        if pairs <= self.pair.shape[0]:
            return True
        with cython.gil:
            try:
                self.pair = np.empty(pairs)
            except MemoryError:
                return False
        return True


class Point(Costs):
    """Precisions, the costs at them, and the shape of each alternative.

    Attributes:
        v: [G + B] the precisions.
        depth: [B] how far the good arms come down to admit a bad group.
        reach: [B] the number of good groups that come down, the first by depth.
        share: [P] the part of a pair's cost that comes from group k; the rest comes from l.
        pi: [G] the part of each good group in the admission of one bad group; filled for one at a
            time.
        by_pairs, by_others: [G + B] the pulls that pairs and other alternatives balance.
    """

    def __init__(self, num_arms, pairs=0):
        floats: cython.double[:, ::1] = np.empty((8, num_arms))
        by_pair: cython.double[:, ::1] = np.empty((2, max(pairs, 4 * num_arms)))
        self.v, self.depth, self.pi = floats[0], floats[1], floats[2]
        self.by_pairs, self.by_others = floats[3], floats[4]
        self.inverse, self.scaled = floats[5], floats[6]
        self.reach = np.empty(num_arms, np.intp)
        self.admit, self.empty = floats[7], 0.0
        self.pair, self.share = by_pair[0], by_pair[1]
        self.prefixes = Prefixes(num_arms)

    def reserve(self, pairs):
        """Allocate arrays for so many pairs; return False if memory is short."""
        if pairs <= self.pair.shape[0]:
            return True
        with cython.gil:
            try:
                floats: cython.double[:, ::1] = np.empty((2, pairs))
                self.pair, self.share = floats[0], floats[1]
            except MemoryError:
                return False
        return True


def evaluate(game, at):
    """Fill the costs at ``at.v``."""
    G, B, c = game.G, game.B, game.c
    for i in range(G):
        at.inverse[i] = 1.0 / at.v[i]
        at.scaled[i] = c * c / at.v[i]
    for j in range(game.P):
        at.pair[j] = game.half[j] / (at.inverse[game.k[j]] + at.scaled[game.l[j]])
    if B > 0:
        at.prefixes.clear()
        for i in range(G):
            at.prefixes.add(game.depth[i], game.copies[i] * at.v[i])
        for k in range(B):
            at.admit[k], at.depth[k], at.reach[k] = admission(
                game.gap[k], at.v[G + k], at.prefixes, c
            )
    if c < 1.0:
        at.empty = 0.0
        for a in range(G + B):
            at.empty += game.lift[a] * at.v[a]


def cheapest(game, at):
    """Return the smallest cost of any alternative.

    The pairs that were dropped are at least as costly as some kept one.
    """
    g = at.empty if game.c < 1.0 else inf
    for j in range(game.P):
        g = min(g, at.pair[j])
    for k in range(game.B):
        g = min(g, at.admit[k])
    return g


def copy_point(game, at, to):
    """Copy the precisions and everything that ``evaluate`` fills."""
    for a in range(game.G + game.B):
        to.v[a] = at.v[a]
    for j in range(game.P):
        to.pair[j] = at.pair[j]
    for k in range(game.B):
        to.admit[k] = at.admit[k]
        to.depth[k] = at.depth[k]
        to.reach[k] = at.reach[k]
    for i in range(game.G + 1):
        to.prefixes.weight[i] = at.prefixes.weight[i]
    to.empty = at.empty


def admit_shares(game, at, k):
    """Fill ``at.pi``, the shares in the admission of bad group k; return the share of k itself."""
    g = at.admit[k]
    for i in range(at.reach[k]):
        down = at.depth[k] - game.depth[i]
        at.pi[i] = 0.5 * down * down * (game.copies[i] * at.v[i] / g)
    up = game.gap[k] - game.c * at.depth[k]
    return 0.5 * up * up * (at.v[game.G + k] / g)


def pulls_held(game, lam, at):
    """Fill the shares of the pairs, and sum_j lam_j / g_j pi_j over pairs and over the others."""
    G, B, c = game.G, game.B, game.c
    for a in range(G + B):
        at.by_pairs[a] = at.by_others[a] = 0.0
    for j in range(game.P):
        k, l = game.k[j], game.l[j]
        share = at.v[l] / (at.v[l] + c * c * at.v[k])
        q = lam.pair[j] / at.pair[j]
        at.share[j] = share
        at.by_pairs[k] += q * share
        at.by_pairs[l] += q * (1.0 - share)
    for k in range(B):
        q = lam.admit[k] / at.admit[k]
        at.by_others[G + k] += q * admit_shares(game, at, k)
        for i in range(at.reach[k]):
            at.by_others[i] += q * at.pi[i]
    if c < 1.0:
        q = lam.empty / (at.empty * at.empty)
        for a in range(G + B):
            at.by_others[a] += q * game.lift[a] * at.v[a]


def dual_bound(game, lam, at):
    """Return the lower bound on T* that the multipliers prove; call it after ``pulls_held``."""
    q = 0.0
    for j in range(game.P):
        q += lam.pair[j] / (at.pair[j] * at.pair[j])
    for k in range(game.B):
        q += lam.admit[k] / (at.admit[k] * at.admit[k])
    if game.c < 1.0:
        q += lam.empty / (at.empty * at.empty)
    worst = 0.0
    for a in range(game.G + game.B):
        load = at.by_pairs[a] + at.by_others[a]
        worst = max(worst, load / (game.price[a] * at.v[a]))
    return q / worst


def duality_gap(game, lam, at):
    """Return sum_j lam_j slack_j, with slack_j = 1 - 1/g_j."""
    pairs, rest = 0.0, 0.0
    for j in range(game.P):
        pairs += lam.pair[j] * (1.0 - 1.0 / at.pair[j])
    for k in range(game.B):
        rest += lam.admit[k] * (1.0 - 1.0 / at.admit[k])
    gap = pairs + rest
    if game.c < 1.0:
        gap += lam.empty * (1.0 - 1.0 / at.empty)
    return gap
