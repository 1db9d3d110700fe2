"""Newton's method for the fewest pulls that rule out every alternative.

The problem
-----------
By homogeneity T* = min sum_a sigma_a^2 v_a subject to g_j(v) >= 1 for every kind j of alternative,
where v_a is the precision spent on arm a and g_j the cost of alternative j (``alternatives.py``).
Equal arms share one precision (their average is at least as good, by concavity), so the unknowns
are *groups* of equal arms, and the alternatives are

    pair    good groups k, l      1/g = (1/v_k + c^2/v_l) / half,   half = (h_k + c D_l)^2 / 2
            (k = l is a pair inside a group of two or more)
    admit   bad group k           g = min over depth of v_k (gap_k - c depth)^2 / 2
                                                        + sum_l copies_l v_l ((depth - D_l)_+)^2 / 2
    empty   multiplicative        g = sum_a lift_a v_a

Only good arms come down in ``admit``: where a bad arm would have to come down too, letting that bad
arm in is cheaper, and its own constraint is the binding one.  Of the quadratically many pairs only
those are kept that the others do not imply (``kept_pairs``): as many as arms, unless many nearly tie.

The method
----------
Primal-dual path following on slack_j = 1 - 1/g_j, multipliers lam_j, lam_j slack_j = mu.  With the
shares pi_j = v grad g_j / g_j (they sum to one), relative steps z = dv / v and residual
R = price v - sum_j (lam_j / g_j) pi_j, the Newton matrix is

    sum_j  lam_j / (slack_j g_j^2)  pi_j pi_j'                  the barrier
  + sum_admit,empty  lam_j / g_j  ( 2 pi_j pi_j' + y_j y_j' )   curvature; y y' = -v v' d2g / g, rank one
  + diag(E)

What E holds, and along which curve v moves, depends on the coordinate in which an arm's
constraints are nearly linear: 1/v for a good arm that pairs hold (pairs are linear in 1/v),
v for a good arm that admissions hold (they add the v of several arms), log v for a bad arm.
Steps are common to v and lam, and mu never falls far below the residual.

Elimination
-----------
A bad group meets no other bad group; it is eliminated by hand, and leaves two rank-one terms over
the good groups that it reaches.  A good group that meets few others (a *leaf*) is eliminated too;
what remains, the *core*, is factorised as a dense matrix.  The one dense row of ``empty`` is
added by bordering.

The certificate
---------------
For any q >= 0:  T* >= sum_j q_j / max_a ( sum_j q_j grad g_j,a / price_a ).  With q_j = lam_j / g_j^2 it is
tight at the solution.  The other side is sum price v / min_j g_j.

References: Boyd and Vandenberghe, Convex Optimization, section 11.7, for the method; docs/solver.md
for the proofs.
"""

import math
from typing import NamedTuple

import numpy as np

from ._jit import jit
from .alternatives import admission, depth_prefixes

SOLVED, ITERATION_LIMIT, STALLED, TOO_MANY_PAIRS = range(4)
V, LOG, INVERSE = range(3)  # coordinates: v, log v, 1/v

FRACTION = 0.01  # a step leaves at least this part of every slack and multiplier
COUPLING = 0.3  # the path parameter mu stays above this part of the residual
ATTEMPT = 200  # steps before starting elsewhere
MANY = 500  # with more groups, a start further from the border pays
SHORTEST = 1e-9  # a step shorter than this is no progress
IDLE = 30  # so many iterations without a better bound are a stall
LEAF = 8  # a leaf is in at most so many pairs
SMALL = 16  # up to so many good groups, plain loops beat matrix products and looking for leaves


class Game(NamedTuple):
    """An instance with equal arms grouped.  Good groups come first, by increasing depth."""

    height: np.ndarray  # float64[G]  above the threshold, > 0
    depth: np.ndarray  # float64[G]  below the best, >= 0, increasing
    copies: np.ndarray  # float64[G]  arms in the group
    gap: np.ndarray  # float64[B]  below the threshold, > 0
    price: np.ndarray  # float64[G+B]  copies sigma^2: what a unit of v costs
    lift: np.ndarray  # float64[G+B]  copies max(mu, 0)^2 / 2; zero for additive
    c: float


class Pairs(NamedTuple):
    """The pairs of good groups that are not implied by others."""

    k: np.ndarray  # int64[P]
    l: np.ndarray  # int64[P]
    half: np.ndarray  # float64[P]  (h_k + c D_l)^2 / 2


class Costs(NamedTuple):
    """One value per alternative: the costs g_j at a point, or multipliers, or their steps."""

    pair: np.ndarray  # float64[P]
    admit: np.ndarray  # float64[B]
    empty: np.ndarray  # float64[0 or 1]


class Point(NamedTuple):
    """Precisions, the costs there, and what the admissions look like."""

    v: np.ndarray  # float64[G+B]
    cost: Costs
    depth: np.ndarray  # float64[B]  how far the good arms come down
    reach: np.ndarray  # int64[B]  the first so many good groups come down
    weight: np.ndarray  # float64[G+1]  copies v summed over the first groups


class System(NamedTuple):
    """The Newton system in relative steps, bad groups eliminated."""

    diagonal: np.ndarray  # float64[G]  E
    curve: np.ndarray  # int64[G+B]  coordinate of each group
    barrier: np.ndarray  # float64[P]  lam / (slack g^2)
    rows: np.ndarray  # float64[2 B, R]  elimination leaves rows' rows on the first R good groups
    alpha: np.ndarray  # float64[B]  bad group k had alpha y y' + beta pi pi' + rho e e'
    beta: np.ndarray  # float64[B]
    pivot: np.ndarray  # float64[B]
    rhs: np.ndarray  # float64[G+B, 2]  Newton's right-hand side, and the row of ``empty``


@jit
def group_arms(mu, sigma, h, D, order, c):
    """The game with equal neighbours in ``order`` grouped, each arm's group, and the unit of length used.

    ``order`` is by increasing depth, so that the good arms come first.
    """
    K = mu.size
    group = np.empty(K, np.int64)
    first = np.empty(K, np.int64)
    size, good = 0, 0
    for i in range(K):
        a = order[i]
        if i == 0 or D[a] != D[order[i - 1]] or sigma[a] != sigma[order[i - 1]]:
            first[size] = a
            size += 1
            good += h[a] >= 0.0
        group[a] = size - 1
    copies = np.zeros(size)
    for a in range(K):
        copies[group[a]] += 1.0
    unit = np.inf
    for i in range(size):
        if i > 0 or good > 1 or copies[0] > 1.0:  # the height of an only good arm matters to no alternative
            unit = min(unit, abs(h[first[i]]))
    height, depth, gap = np.empty(good), np.empty(good), np.empty(size - good)
    price, lift = np.empty(size), np.zeros(size)
    for i in range(size):
        a = first[i]
        if i < good:
            height[i], depth[i] = h[a] / unit, D[a] / unit
        else:
            gap[i - good] = -h[a] / unit
        price[i] = copies[i] * sigma[a] ** 2
        if c < 1.0 and mu[a] > 0.0:
            lift[i] = copies[i] * 0.5 * (mu[a] / unit) ** 2
    return Game(height, depth, copies[:good].copy(), gap, price, lift, c), group, unit


@jit
def kept_pairs(game, limit):
    """The pairs that matter, or none and False if they are more than ``limit``.

    With a = 1/v a pair says a_k + c^2 a_l <= half_kl.  The pairs with the best arm 0, with the lowest
    good arm m, and inside a group bound each a by itself:

        a_k <= U_k = min( half_k0,  half_mk / c^2,  half_kk / (1 + c^2) if the group has two arms ).

    A pair with U_k + c^2 U_l <= half_kl then holds of itself, and so it does with all halves divided by the
    same number: where the kept pairs cost at least g, so do the dropped.  The pair that sets U_k is kept.
    For c = 1 it is always cheaper to expel the lower of two arms, so pairs with l below k are dropped.
    """
    G, c = game.height.size, game.c
    m = G - 1
    U = np.full(G, np.inf)
    by_best = np.empty(G, np.bool_)  # whether the pair with the best arm set the bound, or that with the lowest
    for a in range(G):
        if a != 0:
            U[a] = 0.5 * game.height[a] ** 2
        by_best[a] = True
        if a != m:
            other = 0.5 * (game.height[m] + c * game.depth[a]) ** 2 / (c * c)
            if other < U[a]:
                U[a], by_best[a] = other, False
        if game.copies[a] > 1.0:
            U[a] = min(U[a], 0.5 * (game.height[a] + c * game.depth[a]) ** 2 / (1.0 + c * c))
    size = 0
    k_, l_ = np.empty(0, np.int64), np.empty(0, np.int64)
    for fill in (False, True):
        if fill:
            k_, l_ = np.empty(size, np.int64), np.empty(size, np.int64)
            size = 0
        for k in range(G):
            for l in range(G if c < 1.0 else k + 1):
                if k == l:
                    keep = game.copies[k] > 1.0
                else:
                    keep = U[k] + c * c * U[l] > 0.5 * (game.height[k] + c * game.depth[l]) ** 2
                    # Pairs that set a bound stay even where U of the other arm is lost in rounding.
                    keep = keep or (l == 0 and by_best[k]) or (k == m and not by_best[l])
                if keep:
                    if fill:
                        k_[size], l_[size] = k, l
                    size += 1
        if size > limit:
            return Pairs(k_, l_, np.empty(0)), False
    return Pairs(k_, l_, 0.5 * (game.height[k_] + c * game.depth[l_]) ** 2), True


@jit
def starting_point(game):
    """Precisions that rule out every one-arm and two-arm change, up to a common factor.

    Two arms at prices p and q that share a limit, 1/v + 1/u <= x, are cheapest with v / u = sqrt(q / p).
    """
    G, B = game.height.size, game.gap.size
    v = np.empty(G + B)
    low = game.height[G - 1]
    for i in range(G):
        reach = min(game.height[i], low / game.c + game.depth[i])
        v[i] = 1.0 / (reach * reach) if G > 1 or game.copies[0] > 1.0 else 0.0
    for k in range(B):
        v[G + k] = 1.0 / (game.gap[k] * game.gap[k])
        v[0] = max(v[0], game.c * game.c * v[G + k] / game.copies[0])
    for i in range(G):
        v[i] /= math.sqrt(game.price[i] / game.copies[i])
    for k in range(G, G + B):
        v[k] /= math.sqrt(game.price[k])
    return v


@jit
def new_costs(game, pairs):
    return Costs(np.empty(pairs.k.size), np.empty(game.gap.size), np.empty(1 if game.c < 1.0 else 0))


@jit
def new_point(game, pairs):
    G, B = game.height.size, game.gap.size
    return Point(np.empty(G + B), new_costs(game, pairs), np.empty(B), np.empty(B, np.int64), np.empty(G + 1))


@jit
def evaluate(game, pairs, at):
    """Fill the costs at ``at.v``."""
    G, B = game.height.size, game.gap.size
    v, cc = at.v, game.c * game.c
    for j in range(pairs.k.size):
        at.cost.pair[j] = pairs.half[j] / (1.0 / v[pairs.k[j]] + cc / v[pairs.l[j]])
    if B > 0:
        order = np.arange(G)
        centre, scatter = np.empty(G + 1), np.empty(G + 1)
        depth_prefixes(game.depth, game.copies * v[:G], order, at.weight, centre, scatter)
        for k in range(B):
            at.cost.admit[k], at.depth[k], at.reach[k] = admission(
                game.gap[k], v[G + k], game.depth, order, at.weight, centre, scatter, game.c
            )
    if game.c < 1.0:
        at.cost.empty[0] = np.dot(game.lift, v)


@jit
def cheapest(at):
    """The smallest cost of any alternative.  The pairs that were dropped are at least as costly as some kept one."""
    g = np.inf
    for x in at.cost.pair:
        g = min(g, x)
    for x in at.cost.admit:
        g = min(g, x)
    for x in at.cost.empty:
        g = min(g, x)
    return g


@jit
def share_of(v_k, v_l, c):
    """Share of arm k in the cost of the pair (k, l); the rest is l's."""
    return v_l / (v_l + c * c * v_k)


@jit
def admit_shares(game, at, k, pi):
    """Shares in the admission of bad group k: ``pi`` of the good groups in reach, and returned its own."""
    G, g = game.height.size, at.cost.admit[k]
    for i in range(at.reach[k]):
        down = at.depth[k] - game.depth[i]
        pi[i] = 0.5 * down * down * (game.copies[i] * at.v[i] / g)
    up = game.gap[k] - game.c * at.depth[k]
    return 0.5 * up * up * (at.v[G + k] / g)


@jit
def pulls_held(game, pairs, lam, at, by_pairs, by_others):
    """Fill sum_j lam_j / g_j pi_j, over pairs and over the other alternatives."""
    G, B, v = game.height.size, game.gap.size, at.v
    by_pairs[:] = 0.0
    by_others[:] = 0.0
    for j in range(pairs.k.size):
        k, l = pairs.k[j], pairs.l[j]
        q, share = lam.pair[j] / at.cost.pair[j], share_of(v[k], v[l], game.c)
        by_pairs[k] += q * share
        by_pairs[l] += q * (1.0 - share)
    pi = np.empty(G)
    for k in range(B):
        q = lam.admit[k] / at.cost.admit[k]
        by_others[G + k] += q * admit_shares(game, at, k, pi)
        for i in range(at.reach[k]):
            by_others[i] += q * pi[i]
    if game.c < 1.0:
        q = lam.empty[0] / at.cost.empty[0] ** 2
        for a in range(G + B):
            by_others[a] += q * game.lift[a] * v[a]


@jit
def dual_bound(game, lam, at, held):
    """The certified lower bound on T* that the multipliers give; ``held`` as ``pulls_held`` fills it."""
    q = 0.0
    for j in range(lam.pair.size):
        q += lam.pair[j] / at.cost.pair[j] ** 2
    for k in range(lam.admit.size):
        q += lam.admit[k] / at.cost.admit[k] ** 2
    for j in range(lam.empty.size):
        q += lam.empty[j] / at.cost.empty[j] ** 2
    worst = 0.0
    for a in range(held.size):
        worst = max(worst, held[a] / (game.price[a] * at.v[a]))
    return q / worst


@jit
def products(lam, cost):
    """sum_j lam_j slack_j of one kind of alternative."""
    total = 0.0
    for j in range(lam.size):
        total += lam[j] * (1.0 - 1.0 / cost[j])
    return total


@jit
def assemble(game, pairs, lam, at, by_pairs, by_others, mu):
    """The Newton system at the path parameter mu."""
    G, B, P, v, c = game.height.size, game.gap.size, pairs.k.size, at.v, game.c
    R = at.reach.max() if B > 0 else 0
    system = System(
        np.empty(G),
        np.empty(G + B, np.int64),
        np.empty(P),
        np.zeros((2 * B, R)),
        np.empty(B),
        np.empty(B),
        np.empty(B),
        np.zeros((G + B, 2)),
    )
    rhs = system.rhs
    for a in range(G):
        spent = game.price[a] * v[a]
        if by_pairs[a] > by_others[a]:
            system.curve[a], system.diagonal[a] = INVERSE, 2.0 * max(spent - by_others[a], 0.0)
        else:
            system.curve[a], system.diagonal[a] = V, 2.0 * by_pairs[a]
    for a in range(G + B):
        rhs[a, 0] = -game.price[a] * v[a]
    for j in range(P):
        k, l, g = pairs.k[j], pairs.l[j], at.cost.pair[j]
        slack, share = 1.0 - 1.0 / g, share_of(v[k], v[l], c)
        system.barrier[j] = lam.pair[j] / (slack * g * g)
        rhs[k, 0] += mu / (slack * g) * share
        rhs[l, 0] += mu / (slack * g) * (1.0 - share)
    if c < 1.0:
        g = at.cost.empty[0]
        for a in range(G + B):
            rhs[a, 1] = game.lift[a] * v[a] / g
            rhs[a, 0] += mu / ((1.0 - 1.0 / g) * g) * rhs[a, 1]
    pi = np.empty(G)
    for k in range(B):
        g, slack, reach = at.cost.admit[k], 1.0 - 1.0 / at.cost.admit[k], at.reach[k]
        own = admit_shares(game, at, k, pi)
        rhs[G + k, 0] += mu / (slack * g) * own
        for i in range(reach):
            rhs[i, 0] += mu / (slack * g) * pi[i]
        alpha = lam.admit[k] / (g * g * (c * c * v[G + k] + at.weight[reach]))
        beta = lam.admit[k] / g * (2.0 + 1.0 / (slack * g))
        rho = max(game.price[G + k] * v[G + k] - by_others[G + k], 0.0)
        up = game.gap[k] - c * at.depth[k]
        y = -c * up * v[G + k]
        p = alpha * y * y + beta * own * own
        system.curve[G + k], system.alpha[k], system.beta[k], system.pivot[k] = LOG, alpha, beta, p + rho
        # Eliminating it leaves  alpha beta / p u u' + rho / (p (p + rho)) e e'  over the groups i in reach,
        # u = own y_i - y pi_i,  e = alpha y y_i + beta own pi_i  (``meets``).
        across = math.sqrt(alpha * beta / p) * 0.5 * up * v[G + k] / g
        along = math.sqrt(rho / (p * (p + rho)))
        for i in range(reach):
            down = at.depth[k] - game.depth[i]
            system.rows[2 * k, i] = across * game.copies[i] * v[i] * down * (up + c * down)
            system.rows[2 * k + 1, i] = along * meets(game, at, system, k, i, own, pi[i])
    for k in range(B):
        own = admit_shares(game, at, k, pi)
        for i in range(at.reach[k]):
            e = meets(game, at, system, k, i, own, pi[i]) / system.pivot[k]
            rhs[i, 0] -= e * rhs[G + k, 0]
            rhs[i, 1] -= e * rhs[G + k, 1]
    return system


@jit
def meets(game, at, system, k, i, own, pi_i):
    """Entry of the Newton matrix between bad group k and good group i."""
    G = game.height.size
    y = -game.c * (game.gap[k] - game.c * at.depth[k]) * at.v[G + k]
    y_i = game.copies[i] * at.v[i] * (at.depth[k] - game.depth[i])
    return system.alpha[k] * y * y_i + system.beta[k] * own * pi_i


@jit
def choose_core(game, pairs, R):
    """Place of each good group in the core, -1 for leaves: in few pairs, out of reach, meeting no other leaf."""
    G = game.height.size
    place = np.arange(G)
    if G <= SMALL:
        return place
    degree = np.zeros(G, np.int64)
    for j in range(pairs.k.size):
        if pairs.k[j] != pairs.l[j]:
            degree[pairs.k[j]] += 1
            degree[pairs.l[j]] += 1
    leaf = np.empty(G, np.bool_)
    for a in range(G):
        leaf[a] = a >= R and degree[a] <= LEAF
    for j in range(pairs.k.size):
        k, l = pairs.k[j], pairs.l[j]
        if k != l and leaf[k] and leaf[l]:
            leaf[l] = False
    size = 0
    for a in range(G):
        place[a] = -1 if leaf[a] else size
        size += place[a] >= 0
    return place


@jit
def solve_good(game, pairs, at, system):
    """Overwrite the first G rows of ``system.rhs`` by the solution over the good groups."""
    G, P, v, rhs = game.height.size, pairs.k.size, at.v, system.rhs
    R = system.rows.shape[1]
    place = choose_core(game, pairs, R)
    size = place.max() + 1
    matrix = np.zeros((size, size))
    if R > SMALL:
        matrix[:R, :R] = np.dot(system.rows.T, system.rows)
    else:
        for i in range(R):
            for t in range(i + 1):
                for j in range(system.rows.shape[0]):
                    matrix[i, t] += system.rows[j, i] * system.rows[j, t]
    pivot = np.zeros(G)  # diagonal entries of the leaves
    for a in range(G):
        if place[a] >= 0:
            matrix[place[a], place[a]] += system.diagonal[a]
        else:
            pivot[a] = system.diagonal[a]
    first, after = np.full(G, -1), np.empty(P, np.int64)  # the pairs of each leaf, as a linked list
    for j in range(P):
        k, l = pairs.k[j], pairs.l[j]
        share, barrier = share_of(v[k], v[l], game.c), system.barrier[j]
        if k == l:
            share = 1.0
        for a, part in ((k, share), (l, 1.0 - share)):
            if place[a] >= 0:
                matrix[place[a], place[a]] += barrier * part * part
            else:
                pivot[a] += barrier * part * part
        if k == l:
            continue
        if place[k] >= 0 and place[l] >= 0:
            matrix[max(place[k], place[l]), min(place[k], place[l])] += barrier * share * (1.0 - share)
        else:
            a = k if place[k] < 0 else l
            after[j], first[a] = first[a], j

    for a in range(G):
        j = first[a]
        while j >= 0:
            b, entry = other_end(game, pairs, at, system, j, a)
            rhs[b, 0] -= entry * rhs[a, 0] / pivot[a]
            rhs[b, 1] -= entry * rhs[a, 1] / pivot[a]
            i = first[a]
            while i >= 0:
                d, entry_i = other_end(game, pairs, at, system, i, a)
                if place[d] <= place[b]:
                    matrix[place[b], place[d]] -= entry * entry_i / pivot[a]
                i = after[i]
            j = after[j]
    core = np.empty((size, 2))
    for a in range(G):
        if place[a] >= 0:
            core[place[a]] = rhs[a]
    cholesky_solve(matrix, core)
    for a in range(G):
        if place[a] >= 0:
            rhs[a] = core[place[a]]
    for a in range(G):
        if place[a] < 0:
            j = first[a]
            while j >= 0:
                b, entry = other_end(game, pairs, at, system, j, a)
                rhs[a, 0] -= entry * rhs[b, 0]
                rhs[a, 1] -= entry * rhs[b, 1]
                j = after[j]
            rhs[a] /= pivot[a]


@jit
def other_end(game, pairs, at, system, j, a):
    """The partner of group a in pair j, and the matrix entry between the two."""
    k, l = pairs.k[j], pairs.l[j]
    share = share_of(at.v[k], at.v[l], game.c)
    return (l if k == a else k), system.barrier[j] * share * (1.0 - share)


@jit
def cholesky_solve(A, x):
    """Solve A y = x for the columns of x in place; A (lower triangle read) is overwritten by its factor.

    Blocked, so that large systems run at the speed of matrix products.  A pivot lost to rounding is
    replaced by a huge one: that variable stays where it is.
    """
    N, block = A.shape[0], 48
    diagonal = np.diag(A).copy()
    for start in range(0, N, block):
        stop = min(N, start + block)
        for j in range(start, stop):
            s = A[j, j]
            for t in range(start, j):
                s -= A[j, t] * A[j, t]
            if s <= 1e-15 * diagonal[j]:
                s = 1e30 * diagonal[j] if diagonal[j] > 0.0 else 1e300
            root = math.sqrt(s)
            A[j, j] = root
            for i in range(j + 1, N):
                s = A[i, j]
                for t in range(start, j):
                    s -= A[i, t] * A[j, t]
                A[i, j] = s / root
        if stop < N:
            panel = np.ascontiguousarray(A[stop:, start:stop])
            A[stop:, stop:] -= np.dot(panel, panel.T)
    for m in range(x.shape[1]):
        for i in range(N):
            s = x[i, m]
            for t in range(i):
                s -= A[i, t] * x[t, m]
            x[i, m] = s / A[i, i]
        for i in range(N - 1, -1, -1):
            x[i, m] /= A[i, i]
            for t in range(i):
                x[t, m] -= A[i, t] * x[i, m]


@jit
def newton_step(game, pairs, lam, at, system):
    """The relative step z of every group."""
    G, B, rhs = game.height.size, game.gap.size, system.rhs
    solve_good(game, pairs, at, system)
    pi = np.empty(G)
    for k in range(B):
        own = admit_shares(game, at, k, pi)
        for i in range(at.reach[k]):
            e = meets(game, at, system, k, i, own, pi[i])
            rhs[G + k, 0] -= e * rhs[i, 0]
            rhs[G + k, 1] -= e * rhs[i, 1]
        rhs[G + k] /= system.pivot[k]
    z = rhs[:, 0].copy()
    if game.c < 1.0:
        g = at.cost.empty[0]
        stiffness = lam.empty[0] / g * (2.0 + 1.0 / ((1.0 - 1.0 / g) * g))
        along, back = 0.0, 1.0 / stiffness
        for a in range(G + B):
            pi_a = game.lift[a] * at.v[a] / g
            along += pi_a * rhs[a, 0]
            back += pi_a * rhs[a, 1]
        z -= along / back * rhs[:, 1]
    return z


@jit
def multiplier_step(lam, g, rise, mu):
    """Step of one multiplier when log g rises by ``rise`` to first order, and the longest step it allows."""
    change = (mu - lam * rise / g) / (1.0 - 1.0 / g) - lam
    return change, (-(1.0 - FRACTION) * lam / change if change < 0.0 else np.inf)


@jit
def multiplier_steps(game, pairs, lam, at, z, mu, change):
    """Fill the steps of all multipliers; return the longest common step."""
    G, v, length = game.height.size, at.v, 1.0
    for j in range(pairs.k.size):
        k, l = pairs.k[j], pairs.l[j]
        share = share_of(v[k], v[l], game.c)
        rise = share * z[k] + (1.0 - share) * z[l]
        change.pair[j], longest = multiplier_step(lam.pair[j], at.cost.pair[j], rise, mu)
        length = min(length, longest)
    pi = np.empty(G)
    for k in range(game.gap.size):
        rise = admit_shares(game, at, k, pi) * z[G + k]
        for i in range(at.reach[k]):
            rise += pi[i] * z[i]
        change.admit[k], longest = multiplier_step(lam.admit[k], at.cost.admit[k], rise, mu)
        length = min(length, longest)
    if game.c < 1.0:
        rise = 0.0
        for a in range(z.size):
            rise += game.lift[a] * v[a] * z[a] / at.cost.empty[0]
        change.empty[0], longest = multiplier_step(lam.empty[0], at.cost.empty[0], rise, mu)
        length = min(length, longest)
    return length


@jit
def room_on_curves(curve, z):
    """Longest step that leaves every precision positive and changes none by more than a factor e^4."""
    length = 1.0
    for a in range(z.size):
        if curve[a] == V and z[a] < 0.0:
            length = min(length, -0.95 / z[a])
        elif curve[a] == INVERSE and z[a] > 0.0:
            length = min(length, 0.95 / z[a])
        elif z[a] != 0.0:
            length = min(length, 4.0 / abs(z[a]))
    return length


@jit
def move_along(curve, z, length, v, out):
    """Precisions after a step of this length, each on its own curve."""
    for a in range(v.size):
        step = length * z[a]
        if curve[a] == V:
            out[a] = v[a] * (1.0 + step)
        elif curve[a] == INVERSE:
            out[a] = v[a] / (1.0 - step)
        else:
            out[a] = v[a] * math.exp(step)


@jit
def keeps_slack(old, new):
    """Whether each slack 1 - 1/g is at least FRACTION of what it was."""
    for j in range(old.size):
        if 1.0 - 1.0 / new[j] < FRACTION * (1.0 - 1.0 / old[j]):
            return False
    return True


@jit
def take_step(game, pairs, lam, at, z, mu, curve, change, there):
    """Move point (into ``there``) and multipliers along the step; return its length, 0 if none is possible."""
    length = min(multiplier_steps(game, pairs, lam, at, z, mu, change), room_on_curves(curve, z))
    while length >= SHORTEST:
        move_along(curve, z, length, at.v, there.v)
        evaluate(game, pairs, there)
        if (
            keeps_slack(at.cost.pair, there.cost.pair)
            and keeps_slack(at.cost.admit, there.cost.admit)
            and keeps_slack(at.cost.empty, there.cost.empty)
        ):
            lam.pair[:] += length * change.pair
            lam.admit[:] += length * change.admit
            lam.empty[:] += length * change.empty
            return length
        length *= 0.7
    return 0.0


@jit
def start_multipliers(game, pairs, at, lam, by_pairs, by_others):
    """Multipliers on the central path's shape, lam_j ~ 1 / slack_j, scaled to hold all that is spent."""
    lam.pair[:] = 1.0 / (1.0 - 1.0 / at.cost.pair)
    lam.admit[:] = 1.0 / (1.0 - 1.0 / at.cost.admit)
    lam.empty[:] = 1.0 / (1.0 - 1.0 / at.cost.empty)
    pulls_held(game, pairs, lam, at, by_pairs, by_others)
    scale = np.dot(game.price, at.v) / (by_pairs.sum() + by_others.sum())
    lam.pair[:] *= scale
    lam.admit[:] *= scale
    lam.empty[:] *= scale


@jit
def solve(game, pairs, start, slack, coupling, rtol, max_iterations):
    """Precisions that solve the game: ``(v, their value, lower bound on T*, iterations, status)``.

    ``start`` are precisions up to a common factor; they are scaled so that every cost is at least
    1 + ``slack``.
    """
    N = game.price.size
    here, there = new_point(game, pairs), new_point(game, pairs)
    here.v[:] = start
    evaluate(game, pairs, here)
    here.v[:] *= (1.0 + slack) / cheapest(here)
    evaluate(game, pairs, here)
    lam, change = new_costs(game, pairs), new_costs(game, pairs)
    by_pairs, by_others = np.empty(N), np.empty(N)
    start_multipliers(game, pairs, here, lam, by_pairs, by_others)

    number = pairs.k.size + game.gap.size + lam.empty.size
    best, lower, v = np.inf, 0.0, here.v.copy()
    length, idle = 0.5, 0
    for iteration in range(max_iterations + 1):
        pulls_held(game, pairs, lam, here, by_pairs, by_others)
        held, spent = by_pairs + by_others, game.price * here.v
        value, bound = spent.sum() / cheapest(here), dual_bound(game, lam, here, held)
        idle = 0 if value < best or bound > lower else idle + 1
        lower = max(lower, bound)
        if value < best:
            best = value
            v[:] = here.v
        if best <= lower * (1.0 + rtol):
            return v, best, lower, iteration, SOLVED
        if idle > IDLE or length == 0.0:
            return v, best, lower, iteration, STALLED

        gap = products(lam.pair, here.cost.pair) + products(lam.admit, here.cost.admit)
        gap += products(lam.empty, here.cost.empty)
        centring = max((1.0 - length) ** 2, 0.02)
        mu = max(centring * gap, coupling * np.abs(spent - held).sum()) / number
        system = assemble(game, pairs, lam, here, by_pairs, by_others, mu)
        z = newton_step(game, pairs, lam, here, system)
        length = take_step(game, pairs, lam, here, z, mu, system.curve, change, there)
        if length > 0.0:
            here, there = there, here
    return v, best, lower, max_iterations, ITERATION_LIMIT


@jit
def solve_from(game, pairs, group, sigma, start, rtol, max_iterations):
    """``solve``, from weights over arms (or none) to pulls over arms.

    Should it jam (one instance in a thousand where prices differ a thousandfold), it starts again elsewhere.
    Every attempt's lower bound holds, so the best of each side is kept.
    """
    first = starting_point(game)
    if start.size > 0:
        given, arms = np.zeros(first.size), np.zeros(first.size)
        for a in range(group.size):
            given[group[a]] += start[a] / sigma[a] ** 2
            arms[group[a]] += 1.0
        given /= arms
        first = 0.9 * given / np.dot(game.price, given) + 0.1 * first / np.dot(game.price, first)
    best, lower, v = np.inf, 0.0, first
    iterations, status = 0, STALLED
    for attempt in range(3):
        point = first if attempt == 0 else starting_point(game) if attempt == 1 else 1.0 / game.price
        slack, coupling = (0.01, 1.0) if attempt == 1 else (0.1 if first.size <= MANY else 1.0, COUPLING)
        limit = min(ATTEMPT, max_iterations - iterations)
        u, value, bound, steps, status = solve(game, pairs, point, slack, coupling, rtol, limit)
        iterations += steps
        lower = max(lower, bound)
        if value < best:
            best, v = value, u
        if best <= lower * (1.0 + rtol):
            status = SOLVED
            break
        if iterations >= max_iterations:
            status = ITERATION_LIMIT
            break
    return v[group] * sigma**2, lower, iterations, status


@jit
def optimal_pulls(mu, sigma, h, D, order, c, start, rtol, max_iterations, max_pairs):
    """Pulls of each arm, optimal up to a common factor: ``(pulls, lower bound on T*, iterations, status)``.

    ``start`` holds weights to start from, or nothing.  The instance must be decided, with at least two
    arms and a positive best mean if multiplicative.
    """
    game, group, unit = group_arms(mu, sigma, h, D, order, c)
    pairs, few = kept_pairs(game, max_pairs)
    if not few:
        return np.ones(mu.size), 0.0, 0, TOO_MANY_PAIRS
    pulls, lower, iterations, status = solve_from(game, pairs, group, sigma, start, rtol, max_iterations)
    return pulls, lower / unit**2, iterations, status
