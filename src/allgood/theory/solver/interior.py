"""A primal-dual Newton method for T* of models that are not normal.

By homogeneity T* = min sum_a v_a subject to g_j(v) >= 1 for every alternative j
(``theory/alternatives/exponential_family.py``), where v_a is the number of pulls of arm a and g_j
the cost of alternative j: every pair of good arms, and every bad arm.  Equal arms share one v
(their average is at least as good, by concavity), so the unknowns are *groups* of n_a equal arms,
and an alternative of groups has a ``multiplicity``, the number of alternatives of arms that it
stands for.  With multipliers q_j for these and z_a for v_a >= 0, the solution has

    sum_j q_j grad g_j + z = n,      q_j (g_j - 1) = z_a v_a = 0,

and Newton's method approaches it along q_j (g_j - 1) = multiplicity_j level and z_a v_a =
n_a level, with a level that falls.  Each g_j is a minimum over the crossing t of its arms,
g = min_t sum_a v_a phi_a(t) (phi_a holds n_a if all arms of a group move), so it is concave, and

    gradient  phi_a(t),        Hessian  - phi_a'(t) phi_b'(t) / sum_c v_c phi_c''(t)

(zero if t is held by the end of its range).  The multipliers prove a lower bound: scaled to sum
1, 1/T* <= max_a sum_j q_j phi_j,a / n_a for every v.

With many arms three things make this small; docs/solver.md has the proofs.  Only good arms come
down to admit a bad one.  Of the pairs only those are kept that others do not imply (``matters``).
And a group that has no pair with another eliminated group is eliminated by hand: every bad one, and
good ones in few pairs.  What remains, the *core*, is factorised as a dense matrix.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import fabs, inf, isfinite, sqrt
from cython.cimports.allgood.theory.alternatives.exponential_family import (
    Prefixes,
    Stairs,
    admission,
    crossing,
)
from cython.cimports.allgood.theory.solver.dense import Dense, cholesky_solve, reserve_matrix

from allgood.theory.solver.limits import MAX_PAIRS

if not cython.compiled:
    SOLVED, ITERATION_LIMIT, STALLED, NO_ALTERNATIVE = range(4)

CENTRING = cython.declare(cython.double, 0.15)  # each step aims at this part of the present level
STEP_FRACTION = cython.declare(
    cython.double, 0.95
)  # and goes at most this part of the way to any edge
SMALL_INSTANCE = cython.declare(
    cython.Py_ssize_t, 32
)  # so many arms are solved with all alternatives
MAX_MERGED_PAIRS = cython.declare(
    cython.Py_ssize_t, 100_000
)  # where arms are merged, no more pairs than this
NARROWEST = cython.declare(cython.double, 1e-5)  # nearly tied: so near, in smallest margins
WIDEST = cython.declare(cython.double, 0.04)
LEAF = cython.declare(cython.Py_ssize_t, 6)  # a good group in so many pairs may be eliminated


class Iterate:
    """Pulls v, and for each alternative its cost g, its crossing t, and how many arms come down."""

    def __init__(self, num_arms):
        self.v = np.empty(num_arms)
        self.reserve(0)

    def reserve(self, alternatives):
        self.g, self.t = np.empty(alternatives), np.empty(alternatives)
        self.reach = np.zeros(alternatives, np.intp)


class Interior:
    """The solver for one model and one number of arms.  It may solve many instances.

    Args:
        model: the noise.
        at: the instance, to be placed before each solution.
        max_pairs: if more pairs matter, beyond those that give V, nearly tied good arms are
            merged (``group_arms``).

    Attributes:
        pulls: the pulls of each arm, optimal up to a common factor, after ``solve``.
        N, G: the number of groups, and of good ones.  They are sorted by depth.
        P, M: the number of pairs, and of all alternatives; those that admit a bad group come last.
        down: the number of groups that may come down, the first by depth.
        size: the number of groups in the core.
        merged: True if arms that are not equal share a group.
    """

    def __init__(self, model, at, max_pairs=MAX_PAIRS):
        K = at.K
        self.model, self.at, self.max_pairs = model, at, max_pairs
        self.N = self.G = self.P = self.M = self.down = self.size = 0
        self.merged = False
        self.current, self.candidate = Iterate(K), Iterate(K)
        self.above, self.stairs, self.dense = Prefixes(K), Stairs(K), Dense(K)
        capacity = max(K + 2, 2 * LEAF)
        floats: cython.double[:, ::1] = np.empty((14, capacity))
        self.mu, self.n = floats[0], floats[1]
        self.V, self.lowest = floats[2], floats[3]
        self.cost_parts, self.hessian_root, self.line = floats[4], floats[5], floats[6]
        self.z, self.z_move, self.move = floats[7], floats[8], floats[9]
        self.rhs, self.load, self.pivot = floats[10], floats[11], floats[12]
        self.pulls = floats[13][:K]
        self.rows, self.own = np.empty((2 * LEAF, capacity)), np.empty(2 * LEAF)
        whole: cython.Py_ssize_t[:, ::1] = np.empty((6, capacity), np.intp)
        self.group, self.by, self.place = whole[0], whole[1], whole[2]
        self.arms, self.first, self.where = whole[3], whole[4], whole[5]
        self.ks = self.ls = self.incident = np.empty(0, np.intp)
        self.multiplicity = self.q = self.q_move = self.slack = np.empty(0)
        self.reserve(4 * K)

    def solve(self, rtol, max_iterations):
        """Find ``pulls``; return ``(lower bound on T*, steps, status)``."""
        K = self.at.K
        for a in range(K):
            self.pulls[a] = 1.0 / K
        if not self.set_up():
            return 0.0, 0, STALLED
        if self.M == 0:
            return 0.0, 0, NO_ALTERNATIVE
        total = self.begin()
        lower: cython.double = 0.0
        best: cython.double = inf
        stride: cython.double
        for step in range(1, max_iterations + 1):
            gap, multipliers, along = 0.0, 0.0, 0.0
            least = inf
            for j in range(self.M):
                self.slack[j] = self.current.g[j] - 1.0
                gap += self.q[j] * self.slack[j]
                multipliers += self.q[j]
                least = min(least, self.current.g[j])
            spent, largest = 0.0, 0.0
            for a in range(self.N):
                along += self.z[a] * self.current.v[a]
                spent += self.n[a] * self.current.v[a]
            level = CENTRING * ((gap + along) / total)
            if not self.assemble(level):
                return lower, step, STALLED
            for a in range(self.N):
                largest = max(largest, self.load[a] / (self.n[a] * self.current.v[a]))
            lower = max(lower, multipliers / largest)
            if spent / least < best:
                best = spent / least
                for a in range(K):
                    self.pulls[a] = self.current.v[self.group[a]]
            if best <= (1.0 + rtol) * lower:
                return lower, step, SOLVED
            if not self.newton_step(level):
                return lower, step, STALLED
            # One stride for both sides: multipliers that run ahead of v do not come back.
            stride = self.longest()
            while not self.stays_inside(stride):
                stride *= 0.8
                if stride < 1e-9:
                    return lower, step, STALLED
            for j in range(self.M):
                self.q[j] += stride * self.q_move[j]
                self.current.g[j] = self.candidate.g[j]
                self.current.t[j] = self.candidate.t[j]
                self.current.reach[j] = self.candidate.reach[j]
            for a in range(self.N):
                self.z[a] += stride * self.z_move[a]
                self.current.v[a] = self.candidate.v[a]
        return lower, max_iterations, ITERATION_LIMIT

    # Groups and alternatives.

    def set_up(self):
        """Group the arms and list the alternatives; return False if memory is short.

        If there are too many pairs, nearly tied arms are merged: the wider the groups, measured in
        parts of the smallest margin, the fewer pairs.  Beyond ``WIDEST`` merging would lose more
        than leaving pairs out, so the rest is left out.
        """
        margin: cython.double = inf
        for a in range(self.at.K):
            margin = min(margin, fabs(self.at.h[a]))
        part: cython.double = 0.0
        max_pairs: cython.Py_ssize_t = self.max_pairs
        while True:
            self.group_arms(part * margin)
            self.bound_singly()
            if not self.list_alternatives(max_pairs, part >= WIDEST):
                return False
            if self.fits:
                return True
            part = max(2.0 * part, NARROWEST)
            max_pairs = min(max_pairs, MAX_MERGED_PAIRS)

    def group_arms(self, width):
        """Group the arms of equal mean, which are neighbours in ``at.by_depth``.

        With a ``width``, good arms that lie no further apart are merged: in an *easier* game every
        arm of a group falls and comes down from the highest mean of the group, ``mu``, and rises
        from its ``lowest``.  It falls to t <= lowest and rises to s >= mu only.  Then each move
        costs at least as much as the same move of any arm of the group (d increases with the
        distance), and t is taken from a smaller range.  So a lower bound on T* of the easier game
        is one on T*: if the multipliers are shared out evenly among the alternatives of the arms
        themselves, no arm is charged more.
        """
        K = self.at.K
        self.N = self.G = 0
        self.merged = False
        for i in range(K):
            a = self.at.by_depth[i]
            x = self.at.mu[a]
            good: cython.bint = self.at.h[a] >= 0.0
            if self.N == 0 or self.mu[self.N - 1] - x > (width if good else 0.0):
                self.mu[self.N] = x
                self.n[self.N] = 0.0
                self.N += 1
                if good:
                    self.G += 1
            if x != self.mu[self.N - 1]:
                self.merged = True
            self.lowest[self.N - 1] = x
            self.group[a] = self.N - 1
            self.n[self.N - 1] += 1.0
        self.down = self.N if K <= SMALL_INSTANCE else self.G

    def expulsion(self, a, k, b, l):
        """Return ``(cost, t)`` of expelling group k with a pulls through group l with b."""
        c, e = self.at.c, self.at.e
        low = max(self.model.low, c * self.mu[l] - e)
        high = min(self.lowest[k], c * self.model.high - e)
        if low > high:
            return inf, 0.0
        return crossing(self.model, (a, self.mu[k], b, self.lowest[l], c, e), low, high)

    def bound_singly(self):
        """Fill V, the least number of pulls of each good group, and the stairs; see ``matters``."""
        c, e = self.at.c, self.at.e
        bar, ceiling = c * self.mu[0] - e, (self.lowest[self.G - 1] + e) / c
        for a in range(self.G):
            x, y = self.mu[a], self.lowest[a]
            V: cython.double = 0.0
            self.by[a] = 0
            if self.at.K > SMALL_INSTANCE:
                if self.n[a] > 1.0:
                    cost, _ = self.expulsion(1.0, a, 1.0, a)
                    V = 1.0 / cost
                    self.by[a] = 3
                if a > 0 and bar > self.model.low and 1.0 / self.model.divergence(x, bar) > V:
                    V = 1.0 / self.model.divergence(x, bar)
                    self.by[a] = 1
                alone: cython.double = 0.0
                if a < self.G - 1 and ceiling <= self.model.high:
                    alone = 1.0 / self.model.divergence(y, ceiling)
                if alone > V:
                    V = alone
                    self.by[a] = 2
            self.V[a] = V
            if V > 0.0:
                self.stairs.place(self.model, a, x, y, 1.0 / V, c, e)
            else:
                self.stairs.clear(a)

    def sets_a_bound(self, k, l):
        """Return whether this pair gave V to one of its groups; see ``matters``."""
        if k == l:
            return self.by[k] == 3 and self.V[k] > 0.0
        return (l == 0 and self.by[k] == 1) or (k == self.G - 1 and self.by[l] == 2)

    def matters(self, k, l):
        """Return whether the pair is not implied by others.

        Three kinds of pairs bound each v by itself: arm k alone falls below what the best arm
        allows, arm l alone expels the lowest good arm m, or two equal arms part,

            v_k >= V_k = max( 1/d(mu_k, c mu_0 - e),  1/d(mu_k, (mu_m + e)/c),  1/g_kk(1, 1) ).

        As g increases in v, a pair with g_kl(V_k, V_l) >= 1 always holds.  ``Stairs`` usually show
        it without a search.  The pairs that give V are kept.
        """
        if self.stairs.apart(k, l):
            return False
        if self.V[k] == 0.0 or self.V[l] == 0.0:
            cost, _ = self.expulsion(1.0, k, 1.0, l)
            return cost < inf
        cost, _ = self.expulsion(self.V[k], k, self.V[l], l)
        return cost < 1.0

    def list_alternatives(self, max_pairs, cut):
        """List the pairs of good groups that matter, and every bad group k (l = -1).

        Of the pairs that do not give V at most ``max_pairs`` are listed.  If there are more, the
        rest is left out if ``cut`` is true; otherwise ``fits`` becomes false and the list ends.
        Return False if memory is short.
        """
        number: cython.Py_ssize_t = 0
        self.M = 0
        self.fits = True
        for k in range(self.G):
            for l in range(self.G):
                multiplicity = self.n[k] * (self.n[l] - 1.0 if k == l else self.n[l])
                if multiplicity == 0.0:
                    continue
                if not self.sets_a_bound(k, l):
                    if (cut and number == max_pairs) or not self.matters(k, l):
                        continue
                    if number == max_pairs:
                        self.fits = False
                        return True
                    number += 1
                if not self.add(k, l, multiplicity):
                    return False
        self.P = self.M
        for k in range(self.G, self.N):
            if not self.add(k, -1, self.n[k]):
                return False
        self.list_incident()
        return True

    def add(self, k, l, multiplicity):
        """Add an alternative; return False if memory is short."""
        if self.ks.shape[0] == self.M and not self.reserve(2 * self.M):
            return False
        self.ks[self.M] = k
        self.ls[self.M] = l
        self.multiplicity[self.M] = multiplicity
        self.M += 1
        return True

    def reserve(self, alternatives):
        """Allocate arrays for so many alternatives, keeping those listed; return False if memory is
        short.
        """
        if alternatives <= self.ks.shape[0]:
            return True
        with cython.gil:
            try:
                whole = np.empty((4, alternatives), np.intp)
                floats = np.empty((4, alternatives))
                whole[0, : self.M], whole[1, : self.M] = self.ks[: self.M], self.ls[: self.M]
                floats[0, : self.M] = self.multiplicity[: self.M]
                self.current.reserve(alternatives)
                self.candidate.reserve(alternatives)
                self.multiplicity, self.q, self.q_move, self.slack = floats
                self.ks, self.ls = whole[0], whole[1]
                self.incident = whole[2:].reshape(-1)
            except MemoryError:
                return False
        return True

    def list_incident(self):
        """List the pairs of each good group a: ``incident[first[a]]`` to ``first[a + 1]``."""
        for a in range(self.G + 2):
            self.first[a] = 0
        for j in range(self.P):
            self.first[self.ks[j] + 2] += 1
            if self.ls[j] != self.ks[j]:
                self.first[self.ls[j] + 2] += 1
        for a in range(self.G + 1):
            self.first[a + 1] += self.first[a]
        for j in range(self.P):
            k, l = self.ks[j], self.ls[j]
            self.incident[self.first[k + 1]] = j
            self.first[k + 1] += 1
            if l != k:
                self.incident[self.first[l + 1]] = j
                self.first[l + 1] += 1

    def evaluate(self, iterate):
        """Compute the cost of each alternative, its crossing, and how many arms come down."""
        c, e = self.at.c, self.at.e
        for j in range(self.P):
            k, l = self.ks[j], self.ls[j]
            iterate.g[j], iterate.t[j] = self.expulsion(iterate.v[k], k, iterate.v[l], l)
        if self.M > self.P:
            self.above.clear(self.mu[0])
            for a in range(self.down):
                self.above.add(self.model, self.mu[a], self.n[a] * iterate.v[a])
        for j in range(self.P, self.M):
            k = self.ks[j]
            iterate.g[j], iterate.t[j], iterate.reach[j] = admission(
                self.model, self.above, iterate.v[k], self.mu[k], c, e
            )

    def begin(self):
        """Set equal pulls of each arm, at which every alternative costs at least 2, and the
        multipliers.

        Return the number of alternatives and arms.  Other pulls were tried, those that rule out the
        changes of one arm alone: the multipliers may then lag behind, and the method stalls.
        """
        for a in range(self.N):
            self.current.v[a] = 1.0
        self.evaluate(self.current)
        least, spent = inf, 0.0
        total: cython.double = self.at.K
        for j in range(self.M):
            least = min(least, self.current.g[j])
            total += self.multiplicity[j]
        scale = 2.0 / least
        for a in range(self.N):
            self.current.v[a] *= scale
            spent += self.n[a] * self.current.v[a]
        level = spent / total
        for j in range(self.M):
            self.current.g[j] *= scale
            self.q[j] = self.multiplicity[j] * level / (self.current.g[j] - 1.0)
        for a in range(self.N):
            self.z[a] = self.n[a] * level / self.current.v[a]
        return total

    # Newton's step, in parts of v: the unknowns are y = dv / v.

    def look(self, j):
        """Compute the groups that alternative j moves, v phi of each, and the root of -Hessian.

        The root is v phi' / sqrt(sum_c v_c phi_c'').  Return the number of groups.
        """
        k, l, t, c = self.ks[j], self.ls[j], self.current.t[j], self.at.c
        s: cython.double = min((t + self.at.e) / c, self.model.high)
        size: cython.Py_ssize_t = 1 if l >= 0 else self.current.reach[j]
        total, steep, net = 0.0, 0.0, 0.0
        for i in range(size):
            a: cython.Py_ssize_t = l if l >= 0 else i
            v: cython.double = self.current.v[a] if l >= 0 else self.n[a] * self.current.v[a]
            y: cython.double = self.lowest[a] if l >= 0 else self.mu[a]
            self.arms[i] = a
            self.cost_parts[i] = v * self.model.divergence(y, s)
            self.hessian_root[i] = v * self.model.slope(y, s) / c
            total += v * self.model.curvature(y, s) / (c * c)
            steep += fabs(self.hessian_root[i])
            net += self.hessian_root[i]
        v, x = self.current.v[k], self.mu[k]
        self.arms[size] = k
        self.cost_parts[size] = v * self.model.divergence(x, t)
        self.hessian_root[size] = v * self.model.slope(x, t)
        total += v * self.model.curvature(x, t)
        steep += fabs(self.hessian_root[size])
        net += self.hessian_root[size]
        size += 1
        if k == l:  # two arms of one group
            self.cost_parts[0] += self.cost_parts[1]
            self.hessian_root[0] += self.hessian_root[1]
            size = 1
        # Else t is held by an end of its range, or by an arm that is about to come down.
        free: cython.bint = total > 0.0 and fabs(net) <= 1e-6 * steep
        for i in range(size):
            self.hessian_root[i] = self.hessian_root[i] / sqrt(total) if free else 0.0
        return size

    def choose_core(self):
        """Find the place of each group in the core, -1 if it is eliminated.

        Eliminated groups are out of reach of every admission but their own, are in few pairs, and
        have no pair with each other.
        """
        reached: cython.Py_ssize_t = 0
        for j in range(self.P, self.M):
            reached = max(reached, self.current.reach[j])
        for a in range(self.N):
            self.place[a] = 0 if a < reached else -1
        for a in range(reached, self.G):
            if self.first[a + 1] - self.first[a] > LEAF:
                self.place[a] = 0
        for j in range(self.P):
            k, l = self.ks[j], self.ls[j]
            if k != l and self.place[k] < 0 and self.place[l] < 0:
                self.place[min(k, l)] = 0
        self.size = 0
        for a in range(self.N):
            if self.place[a] == 0:
                self.place[a] = self.size
                self.size += 1

    def assemble(self, level):
        """Assemble Newton's matrix and right-hand side for the core, and the load of the
        multipliers.

        Return False if memory is short.
        """
        self.choose_core()
        if not reserve_matrix(self.dense, self.size):
            return False
        for i in range(self.size):
            self.dense.core[0, i] = 0.0
            for r in range(i + 1):
                self.dense.matrix[i, r] = 0.0
        for a in range(self.N):
            v = self.current.v[a]
            self.rhs[a] = self.n[a] * (level - v)
            self.load[a] = 0.0
            if self.place[a] >= 0:
                self.dense.matrix[self.place[a], self.place[a]] = self.z[a] * v
        for j in range(self.M):
            k, l = self.ks[j], self.ls[j]
            if self.place[k] >= 0 and (l < 0 or self.place[l] >= 0):
                size = self.look(j)
                self.collect(j, size, level)
                for i in range(size):
                    self.where[i] = self.place[self.arms[i]]
                self.add_outer(self.cost_parts, size, self.q[j] / self.slack[j])
                self.add_outer(self.hessian_root, size, self.q[j])
        for a in range(self.N):
            if self.place[a] < 0:
                self.eliminate(a, level)
        largest: cython.double = 0.0
        for i in range(self.size):
            largest = max(largest, self.dense.matrix[i, i])
        for i in range(self.size):  # if arms may share their pulls in many ways, take one of them
            self.dense.matrix[i, i] += 1e-13 * largest
        return True

    def collect(self, j, size, level):
        """Add alternative j to the right-hand side, and to the load of the multipliers."""
        push = self.multiplicity[j] * level / self.slack[j]
        for i in range(size):
            a = self.arms[i]
            self.rhs[a] += push * self.cost_parts[i]
            self.load[a] += self.q[j] * self.cost_parts[i]

    def add_outer(self, x, size, factor):
        """Add factor x x' to the core, at the places ``where``."""
        for i in range(size):
            y = factor * x[i]
            if y != 0.0:
                for r in range(size):
                    if self.where[r] <= self.where[i]:
                        self.dense.matrix[self.where[i], self.where[r]] += y * x[r]

    def gather(self, a, level):
        """Collect the parts of Newton's matrix in which group a has a share, as x x' of some rows
        x.

        Alternative j has two rows: its gradient times sqrt(q/slack), and its ``hessian_root`` times
        sqrt(q).  ``own`` has their entries for the group itself, ``rows`` for the core, at the
        places ``where``.  Return the number of rows, and of places.  Their part of the right-hand
        side is added too, unless ``level`` is negative.
        """
        rows: cython.Py_ssize_t = 0
        columns: cython.Py_ssize_t = 0
        if a >= self.G:
            j = self.P + a - self.G
            columns = self.look(j) - 1
            if level >= 0.0:
                self.collect(j, columns + 1, level)
            steep, root = sqrt(self.q[j] / self.slack[j]), sqrt(self.q[j])
            for i in range(columns):
                self.where[i] = self.place[self.arms[i]]
                self.rows[0, i] = steep * self.cost_parts[i]
                self.rows[1, i] = root * self.hessian_root[i]
            self.own[0] = steep * self.cost_parts[columns]
            self.own[1] = root * self.hessian_root[columns]
            return 2, columns
        for at in range(self.first[a], self.first[a + 1]):
            j = self.incident[at]
            size = self.look(j)
            if level >= 0.0:
                self.collect(j, size, level)
            steep, root = sqrt(self.q[j] / self.slack[j]), sqrt(self.q[j])
            for i in range(columns + 1):
                self.rows[rows, i] = self.rows[rows + 1, i] = 0.0
            for i in range(rows):
                self.rows[i, columns] = 0.0
            for i in range(size):
                if self.arms[i] == a:
                    self.own[rows] = steep * self.cost_parts[i]
                    self.own[rows + 1] = root * self.hessian_root[i]
                else:
                    self.where[columns] = self.place[self.arms[i]]
                    self.rows[rows, columns] = steep * self.cost_parts[i]
                    self.rows[rows + 1, columns] = root * self.hessian_root[i]
            rows += 2
            columns += size - 1
        return rows, columns

    def eliminate(self, a, level):
        """Add the remainder of group a to the core.

        With own entries o_i of the rows x_i, and D = z v + sum_i o_i^2, elimination leaves

            sum_i x_i x_i' - (sum_i o_i x_i)(sum_i o_i x_i)' / D
                = ( z v sum_i x_i x_i' + sum_(i < r) (o_i x_r - o_r x_i)(o_i x_r - o_r x_i)' ) / D,

        in which nothing cancels.
        """
        rows, columns = self.gather(a, level)
        rest = self.z[a] * self.current.v[a]
        D: cython.double = rest
        for i in range(rows):
            D += self.own[i] * self.own[i]
        self.pivot[a] = D
        for i in range(rows):
            for m in range(columns):
                x = self.own[i] * self.rows[i, m]
                self.dense.core[0, self.where[m]] -= x * (self.rhs[a] / D)
            self.add_outer(self.rows[i], columns, rest / D)
            for r in range(i + 1, rows):
                for m in range(columns):
                    self.line[m] = self.own[i] * self.rows[r, m] - self.own[r] * self.rows[i, m]
                self.add_outer(self.line, columns, 1.0 / D)

    def newton_step(self, level):
        """Solve for the steps of pulls and multipliers; return False if they are not finite."""
        for a in range(self.N):
            if self.place[a] >= 0:
                self.dense.core[0, self.place[a]] += self.rhs[a]
        cholesky_solve(self.dense, self.size, 1)
        for a in range(self.N):
            if self.place[a] >= 0:
                self.move[a] = self.dense.core[0, self.place[a]]
            else:
                self.restore(a, level)
            if not isfinite(self.move[a]):
                return False
            z = self.z[a]
            self.z_move[a] = self.n[a] * level / self.current.v[a] - z * self.move[a] - z
        for j in range(self.M):
            k, l = self.ks[j], self.ls[j]
            if self.place[k] >= 0 and (l < 0 or self.place[l] >= 0):
                along = 0.0
                for i in range(self.look(j)):
                    along += self.cost_parts[i] * self.move[self.arms[i]]
                self.move_multiplier(j, along, level)
        return True

    def move_multiplier(self, j, along, level):
        """Compute the step of q_j if g_j grows by ``along``."""
        self.q_move[j] = (self.multiplicity[j] * level - self.q[j] * along) / self.slack[
            j
        ] - self.q[j]

    def restore(self, a, level):
        """Solve for the step of a group that was eliminated, and of its multipliers."""
        rows, columns = self.gather(a, -1.0)
        y: cython.double = self.rhs[a]
        for i in range(rows):
            self.line[i] = 0.0
            for m in range(columns):
                self.line[i] += self.rows[i, m] * self.dense.core[0, self.where[m]]
            y -= self.own[i] * self.line[i]
        y /= self.pivot[a]
        self.move[a] = y
        for i in range(0, rows, 2):  # the rows of gradients
            j = self.P + a - self.G if a >= self.G else self.incident[self.first[a] + i // 2]
            along = (self.line[i] + self.own[i] * y) / sqrt(self.q[j] / self.slack[j])
            self.move_multiplier(j, along, level)

    def longest(self):
        """Return the longest stride that leaves all multipliers positive."""
        stride: cython.double = 1.0
        for j in range(self.M):
            if self.q_move[j] < 0.0:
                stride = min(stride, -STEP_FRACTION * self.q[j] / self.q_move[j])
        for a in range(self.N):
            if self.z_move[a] < 0.0:
                stride = min(stride, -STEP_FRACTION * self.z[a] / self.z_move[a])
        return stride

    def stays_inside(self, stride):
        """Move to ``candidate``; return whether pulls and slacks stay away from zero."""
        for a in range(self.N):
            if not stride * self.move[a] > -STEP_FRACTION:
                return False
            self.candidate.v[a] = self.current.v[a] + stride * (self.current.v[a] * self.move[a])
        self.evaluate(self.candidate)
        for j in range(self.M):
            if not self.candidate.g[j] - 1.0 > (1.0 - STEP_FRACTION) * self.slack[j]:
                return False
        return True
