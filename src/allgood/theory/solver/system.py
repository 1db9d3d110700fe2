"""The Newton system: assemble it, eliminate the groups that are easy to eliminate, factorise the
rest.

With slack_j = 1 - 1/g_j, multipliers lam_j, shares pi_j (``costs.py``), relative steps z = dv / v
and the path parameter mu, the Newton matrix is

    sum_j  lam_j / (slack_j g_j^2)  pi_j pi_j'                  the barrier
  + sum_admit,empty  lam_j / g_j  ( 2 pi_j pi_j' + y_j y_j' )   curvature; y y' = -v v' d2g / g
  + diag(E)

where y y' has rank one, and the right-hand side is sum_j mu / (slack_j g_j) pi_j - price v.

E, and the curve along which v moves, depend on the coordinate in which a group's constraints are
nearly linear: 1/v for a good group that pairs hold (pairs are linear in 1/v), v for a good group
that admissions hold (they add the v of several groups), log v for a bad group.

A bad group has no entry with another bad group; it is eliminated by hand, and leaves two rank-one
terms over the good groups that it reaches.  A good group in few pairs (a *leaf*) is eliminated too;
what remains, the *core*, is factorised as a dense matrix.  The one dense row of ``empty`` is added
by bordering: the system is solved for it too, as a second right-hand side.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import sqrt
from cython.cimports.allgood.theory.solver.costs import admit_shares
from cython.cimports.allgood.theory.solver.dense import Dense, cholesky_solve, reserve_matrix

if not cython.compiled:
    V, LOG, INVERSE = range(3)  # coordinates: v, log v, 1/v

LEAF = cython.declare(cython.Py_ssize_t, 8)  # a leaf is in at most so many pairs
SMALL = cython.declare(cython.Py_ssize_t, 16)  # with fewer good groups no leaves are looked for
SMALL_MATRIX = cython.declare(
    cython.Py_ssize_t, 32
)  # arms for which dense matrices are allocated beforehand
PRODUCT = cython.declare(cython.Py_ssize_t, 30_000)  # up to so many multiplications, plain loops


class System(Dense):
    """The Newton system in relative steps, bad groups eliminated, and arrays to solve it.

    Attributes:
        R: the number of good groups that some admission reaches, the first by depth.
        size: of the core.
        diagonal: [G] E.
        curve: [G + B] the coordinate of each group.
        barrier: [P] lam / (slack g^2).
        alpha, beta, pivot: [B] bad group k had alpha y y' + beta pi pi' + rho e e'.
        rows: [2 B, R] elimination of the bad groups leaves rows' rows.
        cross_terms: [B, R] entries of the matrix between bad and good groups.
        rhs: [2, G + B] Newton's right-hand side, and the row of ``empty``.
        z: [G + B] the step.
        place: [G] the place of each good group in the core, -1 for a leaf.
        matrix, core: [size, size] and [2, size], the dense part.
    """

    def __init__(self, num_arms, pairs=0):
        Dense.__init__(self, num_arms)
        # Matrices for few arms are allocated now; for many arms, when their size is known.
        n: cython.Py_ssize_t = num_arms if num_arms <= SMALL_MATRIX else 0
        floats: cython.double[:, ::1] = np.empty((8 + 3 * n, num_arms))
        whole: cython.Py_ssize_t[:, ::1] = np.empty((3, num_arms), np.intp)
        self.diagonal, self.alpha, self.beta = floats[0], floats[1], floats[2]
        self.pivot, self.z, self.leaf = floats[3], floats[4], floats[5]
        self.curve, self.place, self.first = whole[0], whole[1], whole[2]
        self.rhs = floats[6:8]
        self.cross_terms = floats[8 : 8 + n]
        self.rows = floats[8 + n :]
        pairs = max(pairs, 4 * num_arms)
        self.barrier, self.after = np.empty(pairs), np.empty(pairs, np.intp)

    def reserve(self, pairs):
        """Allocate arrays for so many pairs; return False if memory is short."""
        if pairs <= self.barrier.shape[0]:
            return True
        with cython.gil:
            try:
                self.barrier, self.after = np.empty(pairs), np.empty(pairs, np.intp)
            except MemoryError:
                return False
        return True

    def reserve_rows(self, bad, reach):
        """Allocate the rows of so many bad groups; return False if memory is short."""
        if bad <= self.cross_terms.shape[0] and reach <= self.cross_terms.shape[1]:
            return True
        with cython.gil:
            try:
                bad = max(bad, self.cross_terms.shape[0])
                reach = max(reach, self.cross_terms.shape[1])
                self.rows, self.cross_terms = np.empty((2 * bad, reach)), np.empty((bad, reach))
            except MemoryError:
                return False
        return True


def assemble(game, lam, at, s, mu):
    """Assemble the Newton system at the path parameter mu; return False if memory is short.

    Call it after ``pulls_held``.
    """
    G, B, c = game.G, game.B, game.c
    s.R = 0
    for k in range(B):
        s.R = max(s.R, at.reach[k])
    if not s.reserve_rows(B, s.R):
        return False
    for a in range(G + B):
        s.rhs[0, a] = -game.price[a] * at.v[a]
        s.rhs[1, a] = 0.0
    row_of_good(game, at, s)
    for j in range(game.P):
        k, l, g = game.k[j], game.l[j], at.pair[j]
        slack = 1.0 - 1.0 / g
        s.barrier[j] = lam.pair[j] / (slack * g * g)
        push = mu / (slack * g)
        s.rhs[0, k] += push * at.share[j]
        s.rhs[0, l] += push * (1.0 - at.share[j])
    if c < 1.0:
        g = at.empty
        push = mu / ((1.0 - 1.0 / g) * g)
        for a in range(G + B):
            s.rhs[1, a] = game.lift[a] * at.v[a] / g
            s.rhs[0, a] += push * s.rhs[1, a]
    for k in range(B):
        row_of_bad(game, lam, at, s, k, mu)
    for k in range(B):
        for i in range(at.reach[k]):
            e = s.cross_terms[k, i] / s.pivot[k]
            s.rhs[0, i] -= e * s.rhs[0, G + k]
            s.rhs[1, i] -= e * s.rhs[1, G + k]
    return True


def row_of_good(game, at, s):
    """Choose the coordinates of the good groups, and fill the diagonal."""
    for a in range(game.G):
        if at.by_pairs[a] > at.by_others[a]:
            s.curve[a] = INVERSE
            s.diagonal[a] = 2.0 * max(game.price[a] * at.v[a] - at.by_others[a], 0.0)
        else:
            s.curve[a] = V
            s.diagonal[a] = 2.0 * at.by_pairs[a]


def row_of_bad(game, lam, at, s, k, mu):
    """Add bad group k to the right-hand side, and compute the remainder of its elimination.

    The remainder is  alpha beta / p u u' + rho / (p (p + rho)) e e'  over the good groups i in
    reach, with  u_i = own y_i - y pi_i  and  e_i = alpha y y_i + beta own pi_i,  the entry between
    k and i.
    """
    G, c, g = game.G, game.c, at.admit[k]
    v_k = at.v[G + k]
    slack = 1.0 - 1.0 / g
    own = admit_shares(game, at, k)
    push = mu / (slack * g)
    s.rhs[0, G + k] += push * own
    alpha = lam.admit[k] / (g * g * (c * c * v_k + at.prefixes.weight[at.reach[k]]))
    beta = lam.admit[k] / g * (2.0 + 1.0 / (slack * g))
    rho = max(game.price[G + k] * v_k - at.by_others[G + k], 0.0)
    up = game.gap[k] - c * at.depth[k]
    y = -c * up * v_k
    p = alpha * y * y + beta * own * own
    s.curve[G + k] = LOG
    s.alpha[k] = alpha
    s.beta[k] = beta
    s.pivot[k] = p + rho
    across = sqrt(alpha * beta / p) * 0.5 * up * v_k / g
    along = sqrt(rho / (p * (p + rho)))
    for i in range(at.reach[k]):
        s.rhs[0, i] += push * at.pi[i]
        down = at.depth[k] - game.depth[i]
        y_i = game.copies[i] * at.v[i] * down
        s.cross_terms[k, i] = alpha * y * y_i + beta * own * at.pi[i]
        s.rows[2 * k, i] = across * game.copies[i] * at.v[i] * down * (up + c * down)
        s.rows[2 * k + 1, i] = along * s.cross_terms[k, i]


def choose_core(game, s):
    """Find the place of each good group in the core.

    A leaf is in few pairs, out of reach of every admission, and in no pair with another leaf.
    """
    s.size = game.G
    for a in range(game.G):
        s.place[a] = a
    if game.G <= SMALL:
        return
    for a in range(game.G):
        s.place[a] = -1 if a >= s.R and game.degree[a] <= LEAF else 0
    for j in range(game.P):
        k, l = game.k[j], game.l[j]
        if k != l and s.place[k] < 0 and s.place[l] < 0:
            s.place[l] = 0
    s.size = 0
    for a in range(game.G):
        if s.place[a] == 0:
            s.place[a] = s.size
            s.size += 1


def add_rows(game, at, s):
    """Set the matrix to rows' rows, which touches the first R groups only."""
    R, B = s.R, game.B
    work: cython.Py_ssize_t = 0
    for k in range(B):
        work += at.reach[k] * at.reach[k]
    if work > PRODUCT:
        for k in range(B):
            for i in range(at.reach[k], R):
                s.rows[2 * k, i] = s.rows[2 * k + 1, i] = 0.0
        multiply_rows(s, B)
        return
    for i in range(s.size):
        for t in range(i + 1):
            s.matrix[i, t] = 0.0
    for k in range(B):
        for i in range(at.reach[k]):
            across, along = s.rows[2 * k, i], s.rows[2 * k + 1, i]
            for t in range(i + 1):
                s.matrix[i, t] += across * s.rows[2 * k, t]
                s.matrix[i, t] += along * s.rows[2 * k + 1, t]


def multiply_rows(s, bad):
    """Add the rows by a product of matrices, if there are many.

    A function that names Python objects takes the interpreter's lock at its end, so this is a
    function of its own.
    """
    with cython.gil:
        rows = np.asarray(s.rows)[: 2 * bad, : s.R]
        matrix = np.asarray(s.matrix)[: s.size, : s.size]
        matrix[:] = 0.0
        matrix[: s.R, : s.R] = rows.T @ rows


def add_to_diagonal(s, a, value):
    """Add to the entry of good group a with itself."""
    if s.place[a] >= 0:
        s.matrix[s.place[a], s.place[a]] += value
    else:
        s.leaf[a] += value


def add_pairs(game, at, s):
    """Add the pairs to the matrix; list the pairs of each leaf (``first``, ``after``)."""
    for a in range(game.G):
        s.leaf[a] = 0.0
        s.first[a] = -1
        add_to_diagonal(s, a, s.diagonal[a])
    for j in range(game.P):
        k, l, share, barrier = game.k[j], game.l[j], at.share[j], s.barrier[j]
        if k == l:
            add_to_diagonal(s, k, barrier)
            continue
        add_to_diagonal(s, k, barrier * share * share)
        add_to_diagonal(s, l, barrier * (1.0 - share) * (1.0 - share))
        if s.place[k] >= 0 and s.place[l] >= 0:
            low = max(s.place[k], s.place[l])
            high = min(s.place[k], s.place[l])
            s.matrix[low, high] += barrier * share * (1.0 - share)
        else:
            a = k if s.place[k] < 0 else l
            s.after[j] = s.first[a]
            s.first[a] = j


def other_end(game, j, a):
    """Return the partner of group a in pair j."""
    return game.l[j] if game.k[j] == a else game.k[j]


def entry(at, s, j):
    """Return the matrix entry between the two groups of pair j."""
    return s.barrier[j] * at.share[j] * (1.0 - at.share[j])


def eliminate_leaves(game, at, s, columns):
    """Subtract the contribution of the leaves from the core."""
    for a in range(game.G):
        j = s.first[a]
        while j >= 0:
            b, x = other_end(game, j, a), entry(at, s, j)
            for m in range(columns):
                s.rhs[m, b] -= x * s.rhs[m, a] / s.leaf[a]
            i = s.first[a]
            while i >= 0:
                d = other_end(game, i, a)
                if s.place[d] <= s.place[b]:
                    s.matrix[s.place[b], s.place[d]] -= x * entry(at, s, i) / s.leaf[a]
                i = s.after[i]
            j = s.after[j]


def restore_leaves(game, at, s, columns):
    """Solve for the leaves, from the solution of the core."""
    for a in range(game.G):
        if s.place[a] >= 0:
            continue
        j = s.first[a]
        while j >= 0:
            b, x = other_end(game, j, a), entry(at, s, j)
            for m in range(columns):
                s.rhs[m, a] -= x * s.rhs[m, b]
            j = s.after[j]
        for m in range(columns):
            s.rhs[m, a] /= s.leaf[a]


def solve_good(game, at, s, columns):
    """Overwrite ``rhs`` by the solution over the good groups; return False if memory is short."""
    choose_core(game, s)
    if not reserve_matrix(s, s.size):
        return False
    add_rows(game, at, s)
    add_pairs(game, at, s)
    eliminate_leaves(game, at, s, columns)
    for m in range(columns):
        for a in range(game.G):
            if s.place[a] >= 0:
                s.core[m, s.place[a]] = s.rhs[m, a]
    cholesky_solve(s, s.size, columns)
    for m in range(columns):
        for a in range(game.G):
            if s.place[a] >= 0:
                s.rhs[m, a] = s.core[m, s.place[a]]
    restore_leaves(game, at, s, columns)
    return True


def newton_step(game, lam, at, s):
    """Fill the relative step z of every group; return False if memory is short."""
    G, B = game.G, game.B
    columns: cython.Py_ssize_t = 2 if game.c < 1.0 else 1
    along: cython.double = 0.0
    back: cython.double
    if not solve_good(game, at, s, columns):
        return False
    for k in range(B):
        for m in range(columns):
            for i in range(at.reach[k]):
                s.rhs[m, G + k] -= s.cross_terms[k, i] * s.rhs[m, i]
            s.rhs[m, G + k] /= s.pivot[k]
    for a in range(G + B):
        s.z[a] = s.rhs[0, a]
    if game.c < 1.0:
        g = at.empty
        stiffness = lam.empty / g * (2.0 + 1.0 / ((1.0 - 1.0 / g) * g))
        back = 1.0 / stiffness
        for a in range(G + B):
            pi = game.lift[a] * at.v[a] / g
            along += pi * s.rhs[0, a]
            back += pi * s.rhs[1, a]
        for a in range(G + B):
            s.z[a] -= along / back * s.rhs[1, a]
    return True
