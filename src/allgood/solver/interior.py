"""A primal-dual Newton method for T* of laws that are not normal (``alternatives/other.py``).

By homogeneity T* = min sum_a v_a subject to g_j(v) >= 1 for every alternative j, where v_a is the
number of pulls of arm a and g_j the cost of alternative j: every pair of good arms, and every bad
arm.  With multipliers q_j for these and z_a for v_a >= 0, the solution has

    sum_j q_j grad g_j + z = 1,      q_j (g_j - 1) = z_a v_a = 0,

and Newton's method goes towards it along q_j (g_j - 1) = z_a v_a = level, the level falling.  Each
g_j is a minimum over the point t where arms meet, g = min_t sum_a v_a phi_a(t), so it is concave,
and

    gradient  phi_a(t),        Hessian  - phi_a'(t) phi_b'(t) / sum_c v_c phi_c''(t)

(zero where t is held by the end of its range).  The multipliers are the certificate: scaled to sum
1, 1/T* <= max_a sum_j q_j phi_j,a, whatever v is.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.allgood.alternatives.other import admission, expulsion
    from cython.cimports.libc.math import INFINITY as inf
    from cython.cimports.libc.math import fabs, isfinite, sqrt
else:
    from allgood.alternatives.other import admission, expulsion
    from allgood.c_math import fabs, inf, isfinite, sqrt

    SOLVED, ITERATION_LIMIT, STALLED, NO_ALTERNATIVE = range(4)

CENTRING = cython.declare(cython.double, 0.15)  # each step aims at this part of the present level
NEAR = cython.declare(cython.double, 0.95)  # and goes at most this part of the way to any edge


class Spot:
    """Pulls v, and for each alternative its cost g, where its arms meet, and how many come down."""

    def __init__(self, num_arms):
        self.v = np.empty(num_arms)
        self.reserve(0)

    def reserve(self, alternatives):
        self.g, self.t = np.empty(alternatives), np.empty(alternatives)
        self.reach = np.zeros(alternatives, np.intp)


class Interior:
    """The solver for one law and one number of arms.  It may solve many instances.

    Args:
        law: the noise.
        at: the instance, to be placed before each solution.

    Attributes:
        pulls: the pulls of each arm, optimal up to a common factor, after ``solve``.
    """

    def __init__(self, law, at):
        K = at.K
        self.law, self.at, self.M, self.size = law, at, 0, 0
        self.here, self.there = Spot(K), Spot(K)
        floats: cython.double[:, ::1] = np.empty((8, K + 1))
        self.phi, self.bend = floats[0], floats[1]
        self.z, self.z_move, self.move = floats[2], floats[3], floats[4]
        self.rhs, self.dual = floats[5], floats[6]
        self.pulls = floats[7][:K]
        self.hessian = np.empty((K, K))
        self.arms = np.empty(K + 1, np.intp)
        self.ks = self.ls = np.empty(0, np.intp)
        self.q = self.q_move = self.slack = np.empty(0)
        self.reserve(4 * K)

    def solve(self, rtol, max_iterations):
        """Find ``pulls``: ``(lower bound on T*, steps, how it ended)``."""
        K = self.at.K
        for a in range(K):
            self.here.v[a] = self.pulls[a] = 1.0 / K
        if not self.list_alternatives():
            return 0.0, 0, STALLED
        if self.M == 0:
            return 0.0, 0, NO_ALTERNATIVE
        self.begin()
        lower: cython.double = 0.0
        best: cython.double = inf
        stride: cython.double
        for step in range(1, max_iterations + 1):
            gap, multipliers, along = 0.0, 0.0, 0.0
            least = inf
            for j in range(self.M):
                self.slack[j] = self.here.g[j] - 1.0
                gap += self.q[j] * self.slack[j]
                multipliers += self.q[j]
                least = min(least, self.here.g[j])
            spent, most = 0.0, 0.0
            for a in range(K):
                along += self.z[a] * self.here.v[a]
                spent += self.here.v[a]
            level = CENTRING * ((gap + along) / (self.M + K))
            self.assemble(level)
            for a in range(K):
                most = max(most, self.dual[a])
            lower = max(lower, multipliers / most)
            if spent / least < best:
                best = spent / least
                for a in range(K):
                    self.pulls[a] = self.here.v[a]
            if best <= (1.0 + rtol) * lower:
                return lower, step, SOLVED
            if not self.finite():
                return lower, step, STALLED
            self.newton_step(level)
            # One stride for both sides: multipliers that run ahead of v do not come back.
            stride = self.longest()
            while not self.stays_inside(stride):
                stride *= 0.8
                if stride < 1e-9:
                    return lower, step, STALLED
            for j in range(self.M):
                self.q[j] += stride * self.q_move[j]
                self.here.g[j] = self.there.g[j]
                self.here.t[j] = self.there.t[j]
                self.here.reach[j] = self.there.reach[j]
            for a in range(K):
                self.z[a] += stride * self.z_move[a]
                self.here.v[a] = self.there.v[a]
        return lower, max_iterations, ITERATION_LIMIT

    def reserve(self, alternatives):
        """Make room for so many alternatives; False if there is no memory for them."""
        if alternatives <= self.ks.shape[0]:
            return True
        with cython.gil:
            try:
                whole: cython.Py_ssize_t[:, ::1] = np.empty((2, alternatives), np.intp)
                floats: cython.double[:, ::1] = np.empty((3, alternatives))
                self.here.reserve(alternatives)
                self.there.reserve(alternatives)
                self.q, self.q_move, self.slack = floats[0], floats[1], floats[2]
                self.ks, self.ls = whole[0], whole[1]
            except MemoryError:
                return False
        return True

    def list_alternatives(self):
        """List every bad arm k (l = -1), and every pair of good arms that can meet.

        False if there is no memory for them.
        """
        K, good = self.at.K, 0
        for k in range(K):
            if self.at.h[k] >= 0.0:
                good += 1
        if not self.reserve(K - good + good * (good - 1)):
            return False
        self.M = 0
        for k in range(K):
            if self.at.h[k] < 0.0:
                self.add(k, -1)
                continue
            for l in range(K):
                if l != k and self.at.h[l] >= 0.0:
                    cost, _ = expulsion(self.law, self.at, self.here.v, k, l)
                    if cost < inf:
                        self.add(k, l)
        return True

    def add(self, k, l):
        self.ks[self.M] = k
        self.ls[self.M] = l
        self.M += 1

    def evaluate(self, spot):
        """The cost of each alternative, where its arms meet, and how many arms come down."""
        for j in range(self.M):
            k, l = self.ks[j], self.ls[j]
            if l >= 0:
                spot.g[j], spot.t[j] = expulsion(self.law, self.at, spot.v, k, l)
            else:
                spot.g[j], spot.t[j], spot.reach[j] = admission(self.law, self.at, spot.v, k)

    def begin(self):
        """Scale the pulls so that every alternative costs at least 2; multipliers to match."""
        K = self.at.K
        self.evaluate(self.here)
        least, spent = inf, 0.0
        for j in range(self.M):
            least = min(least, self.here.g[j])
        scale = 2.0 / least
        for a in range(K):
            self.here.v[a] *= scale
            spent += self.here.v[a]
        level = spent / (self.M + K)
        for j in range(self.M):
            self.here.g[j] *= scale
            self.q[j] = level / (self.here.g[j] - 1.0)
        for a in range(K):
            self.z[a] = level / self.here.v[a]

    def gradient(self, j):
        """The arms that alternative j moves, and phi: what each pays for a pull."""
        k, l, t = self.ks[j], self.ls[j], self.here.t[j]
        s: cython.double = min((t + self.at.e) / self.at.c, self.law.high)
        n: cython.Py_ssize_t = 1 if l >= 0 else self.here.reach[j]
        for i in range(n):
            a = l if l >= 0 else self.at.by_depth[i]
            self.arms[i] = a
            self.phi[i] = self.law.divergence(self.at.mu[a], s)
        self.arms[n] = k
        self.phi[n] = self.law.divergence(self.at.mu[k], t)
        self.size = n + 1

    def curve(self, j):
        """The root of the Hessian, after ``gradient``: phi' / sqrt(sum_c v_c phi_c'')."""
        k, t, c = self.ks[j], self.here.t[j], self.at.c
        s: cython.double = min((t + self.at.e) / c, self.law.high)
        x: cython.double
        scale: cython.double
        total, steep, net = 0.0, 0.0, 0.0
        for i in range(self.size):
            a = self.arms[i]
            x, scale = s, c
            if a == k:
                x, scale = t, 1.0
            v = self.here.v[a]
            self.bend[i] = self.law.slope(self.at.mu[a], x) / scale
            total += v * self.law.curvature(self.at.mu[a], x) / (scale * scale)
            steep += v * fabs(self.bend[i])
            net += v * self.bend[i]
        # Else t is held by an end of its range, or by an arm that is about to join.
        free: cython.bint = total > 0.0 and fabs(net) <= 1e-6 * steep
        for i in range(self.size):
            self.bend[i] = self.bend[i] / sqrt(total) if free else 0.0

    def assemble(self, level):
        """Newton's matrix and right-hand side, and sum_j q_j grad g_j for the certificate."""
        K = self.at.K
        for a in range(K):
            self.rhs[a] = level / self.here.v[a] - 1.0
            self.dual[a] = 0.0
            for b in range(K):
                self.hessian[a, b] = 0.0
            self.hessian[a, a] = self.z[a] / self.here.v[a]
        for j in range(self.M):
            self.gradient(j)
            self.curve(j)
            q, slack = self.q[j], self.slack[j]
            for i in range(self.size):
                a = self.arms[i]
                self.rhs[a] += level / slack * self.phi[i]
                self.dual[a] += q * self.phi[i]
                for r in range(self.size):
                    self.hessian[a, self.arms[r]] += q * (
                        self.phi[i] * self.phi[r] / slack + self.bend[i] * self.bend[r]
                    )
        # Scaled by v, so that arms that need few pulls do not spoil the solution.
        most: cython.double = 0.0
        for a in range(K):
            for b in range(K):
                self.hessian[a, b] *= self.here.v[a] * self.here.v[b]
            most = max(most, self.hessian[a, a])
        for a in range(K):  # where tied arms may share their pulls in many ways, one will do
            self.hessian[a, a] += 1e-13 * most

    def finite(self):
        """Whether the system has no overflow in it."""
        for a in range(self.at.K):
            if not isfinite(self.rhs[a]):
                return False
            for b in range(self.at.K):
                if not isfinite(self.hessian[a, b]):
                    return False
        return True

    def newton_step(self, level):
        """Solve for the steps of pulls and multipliers."""
        K = self.at.K
        for a in range(K):
            self.move[a] = self.here.v[a] * self.rhs[a]
        solve_linear(self.hessian, self.move, K)
        for a in range(K):
            self.move[a] *= self.here.v[a]
            self.z_move[a] = (level - self.z[a] * self.move[a]) / self.here.v[a] - self.z[a]
        for j in range(self.M):
            self.gradient(j)
            along = 0.0
            for i in range(self.size):
                along += self.phi[i] * self.move[self.arms[i]]
            self.q_move[j] = (level - self.q[j] * along) / self.slack[j] - self.q[j]

    def longest(self):
        """The longest stride that leaves all multipliers positive."""
        stride: cython.double = 1.0
        for j in range(self.M):
            if self.q_move[j] < 0.0:
                stride = min(stride, -NEAR * self.q[j] / self.q_move[j])
        for a in range(self.at.K):
            if self.z_move[a] < 0.0:
                stride = min(stride, -NEAR * self.z[a] / self.z_move[a])
        return stride

    def stays_inside(self, stride):
        """Take the stride into ``there``; whether pulls and slacks stay away from zero."""
        for a in range(self.at.K):
            self.there.v[a] = self.here.v[a] + stride * self.move[a]
        for a in range(self.at.K):
            if not self.there.v[a] > (1.0 - NEAR) * self.here.v[a]:
                return False
        self.evaluate(self.there)
        for j in range(self.M):
            if not self.there.g[j] - 1.0 > (1.0 - NEAR) * self.slack[j]:
                return False
        return True


def solve_linear(A, x, N):
    """Solve A y = x in place by elimination with row exchanges; A is overwritten."""
    f: cython.double
    for j in range(N):
        best = j
        for i in range(j + 1, N):
            if fabs(A[i, j]) > fabs(A[best, j]):
                best = i
        if best != j:
            f = x[j]
            x[j] = x[best]
            x[best] = f
            for t in range(N):
                f = A[j, t]
                A[j, t] = A[best, t]
                A[best, t] = f
        for i in range(j + 1, N):
            f = A[i, j] / A[j, j]
            for t in range(j + 1, N):
                A[i, t] -= f * A[j, t]
            x[i] -= f * x[j]
    for i in range(N - 1, -1, -1):
        f = x[i]
        for t in range(i + 1, N):
            f -= A[i, t] * x[t]
        x[i] = f / A[i, i]
