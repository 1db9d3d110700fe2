"""The cheapest change of the means that changes the answer, for normal rewards.

An *alternative* is a vector lam of means with another answer.  With weights w and noise sigma the
cost of lam is the weighted divergence, and the best response is the cheapest alternative:

    T(mu, w)^-1 = inf over alternatives of  sum_a v_a (mu_a - lam_a)^2 / 2,   v_a = w_a / sigma_a^2.

Four kinds of change exist (paper: Lemmas 4 and 7; the last two are missing there):

    expel   a good arm k becomes bad because one other good arm l exceeds it by too much;
    admit   a bad arm k becomes good because it rises and all arms above come down;
    empty   (multiplicative) every positive arm falls below zero: then no arm is good;
    rise    (multiplicative, all means negative, no arm good) one arm rises to zero.

Notation
--------
at         the instance: mu, heights h, depths D, arms by depth, c (``instance.py``)
v          float64[K]   precisions w / sigma^2, >= 0; zero means that the arm moves for free
workspace  arrays for K arms, allocated once

One sort, then linear scans: O(K log K) time, O(K) memory.  Other models are in
``exponential_family.py``.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import inf, sqrt
from cython.cimports.allgood.theory.alternatives.kinds import ADMIT, EMPTY, EXPEL, NONE, RISE


class Prefixes:
    """Weight, mean depth and scatter about it of the first j arms by depth, j = 0..size.

    Updated with positive terms only (Welford), so that close arms do not cancel.
    """

    def __init__(self, num_arms):
        floats: cython.double[:, ::1] = np.zeros((4, num_arms + 1))
        self.depth, self.weight = floats[0], floats[1]
        self.centre, self.scatter = floats[2], floats[3]
        self.size = 0

    def clear(self):
        self.size = 0

    def add(self, depth, v):
        """Add the next arm, which must be at least as deep as those before."""
        j = self.size
        self.depth[j] = depth
        W = self.weight[j] + v
        self.weight[j + 1] = W
        if v == 0.0:
            self.centre[j + 1] = self.centre[j]
            self.scatter[j + 1] = self.scatter[j]
        else:
            step = depth - self.centre[j]
            self.centre[j + 1] = self.centre[j] + step * (v / W)
            self.scatter[j + 1] = self.scatter[j] + step * step * (v * (self.weight[j] / W))
        self.size = j + 1


class Workspace:
    """Arrays for the search among K arms, allocated once."""

    def __init__(self, num_arms):
        floats: cython.double[:, ::1] = np.empty((3, num_arms))
        whole: cython.Py_ssize_t[:, ::1] = np.empty((3, num_arms), np.intp)
        self.root, self.phi_end, self.psi_end = floats[0], floats[1], floats[2]
        self.good, self.phi, self.psi = whole[0], whole[1], whole[2]
        self.prefixes = Prefixes(num_arms)


def pair_cost(height, depth, v_k, v_l, c):
    """Return the cost of expelling arm k (at ``height``) through arm l (at ``depth``).

    The two cross where lam_k = c lam_l - e.  With gap = mu_k - c mu_l + e = h_k + c D_l,

        cost = gap^2 / 2  /  (1/v_k + c^2/v_l).
    """
    if v_k == 0.0 or v_l == 0.0:
        return 0.0
    gap = height + c * depth
    return 0.5 * gap * gap / (1.0 / v_k + c * c / v_l)


def cheapest_expulsion(at, v, workspace):
    """Return the cheapest (cost, k, l) over good arms k != l; cost inf with fewer than two good
    arms.

    With lam_k = threshold + t the rival needs lam_l = max mu + t/c, so the cost at t is half of

        phi(t)^2 + psi(t)^2,    phi(t) = min_k sqrt(v_k) (h_k - t),
                                psi(t) = min_l sqrt(v_l) (D_l + t/c),      0 <= t <= min h,

    two lower envelopes of lines.  As t grows, phi's arm has ever larger v and psi's ever smaller,
    so the two minima are the same arm on one interval at most.  The cheapest pair is therefore
    among the O(K) pairs visited while sweeping t, and the O(K) pairs that contain that one arm.
    (The cheapest pair may have its own t below 0 when the best arm is expelled; then that arm is
    the common one.  docs/solver.md.)
    """
    n: cython.Py_ssize_t = 0  # good arms, by increasing depth: best arm first
    for i in range(at.K):
        a = at.by_depth[i]
        if at.h[a] < 0.0:
            break
        workspace.good[n] = a
        n += 1
    if n < 2:
        return inf, -1, -1
    for i in range(n):
        a = workspace.good[i]
        if v[a] == 0.0:  # an arm without weight falls out for free
            return 0.0, a, (workspace.good[1] if i == 0 else workspace.good[0])
        workspace.root[a] = sqrt(v[a])
    workspace.num_good = n
    lower_phi(at, workspace)
    lower_psi(at, workspace)

    best: cython.double = inf
    best_k: cython.Py_ssize_t = -1
    best_l: cython.Py_ssize_t = -1
    common: cython.Py_ssize_t = -1
    i = j = 0
    while True:
        k, l = workspace.phi[i], workspace.psi[j]
        if k == l:
            common = k
        else:
            cost = pair_cost(at.h[k], at.D[l], v[k], v[l], at.c)
            if cost < best or (cost == best and k < best_k):
                best, best_k, best_l = cost, k, l
        if i == workspace.num_phi - 1 and j == workspace.num_psi - 1:
            break
        if workspace.phi_end[i] <= workspace.psi_end[j]:
            i += 1
        else:
            j += 1
    if common < 0:
        return best, best_k, best_l
    for i in range(n):
        a = workspace.good[i]
        if a == common:
            continue
        cost = pair_cost(at.h[a], at.D[common], v[a], v[common], at.c)
        if cost < best or (cost == best and a < best_k):
            best, best_k, best_l = cost, a, common
        cost = pair_cost(at.h[common], at.D[a], v[common], v[a], at.c)
        if cost < best or (cost == best and common < best_k):
            best, best_k, best_l = cost, common, a
    return best, best_k, best_l


def lower_phi(at, workspace):
    """Compute the arms of phi's envelope by increasing t, and the end of each arm's piece.

    The scan starts with the highest arm; an arm with v no larger than those above hides them all.
    """
    size: cython.Py_ssize_t = 0
    for i in range(workspace.num_good):
        a = workspace.good[i]
        root = workspace.root[a]
        while size > 0 and workspace.root[workspace.phi[size - 1]] >= root:
            size -= 1
        start = -inf
        while size > 0:
            b = workspace.phi[size - 1]
            root_b = workspace.root[b]
            start = at.h[a] - root_b * (at.h[b] - at.h[a]) / (root - root_b)
            if size == 1 or start > workspace.phi_end[size - 2]:
                break
            size -= 1
        if size > 0:
            workspace.phi_end[size - 1] = start
        workspace.phi[size] = a
        workspace.phi_end[size] = inf
        size += 1
    workspace.num_phi = size


def lower_psi(at, workspace):
    """Compute the arms of psi's envelope by increasing t, and the end of each arm's piece.

    The scan starts with the highest arm and keeps only arms with less v than all above.
    """
    size: cython.Py_ssize_t = 0
    for i in range(workspace.num_good):
        a = workspace.good[i]
        root = workspace.root[a]
        if size > 0 and root >= workspace.root[workspace.psi[size - 1]]:
            continue
        start = -inf
        while size > 0:
            b = workspace.psi[size - 1]
            root_b = workspace.root[b]
            start = at.c * ((root * at.D[a] - root_b * at.D[b]) / (root_b - root))
            if size == 1 or start > workspace.psi_end[size - 2]:
                break
            size -= 1
        if size > 0:
            workspace.psi_end[size - 1] = start
        workspace.psi[size] = a
        workspace.psi_end[size] = inf
        size += 1
    workspace.num_psi = size


def admission(gap, v_k, above, c):
    """Return the cheapest way to admit one bad arm at ``gap`` = -h_k: ``(cost, depth, j)``.

    Let the arms above come down to ``depth`` below the best: arm k must rise by gap - c depth, and

        f(depth) = v_k (gap - c depth)^2 / 2 + sum_l v_l ((depth - D_l)_+)^2 / 2.

    f is convex.  f'(D_j) < 0 exactly for the arms that come down, the first j by depth, found by
    bisection.  With W, m, S their weight, mean depth and scatter, and x = gap / c,

        depth = m + (x - m) r,   2 cost = S + r W (x - m)^2,   r = c^2 v_k / (c^2 v_k + W).
    """
    if v_k == 0.0:
        return 0.0, 0.0, 0
    x = gap / c
    u = c * c * v_k
    low: cython.Py_ssize_t = 0  # the first ``low`` arms come down ...
    high: cython.Py_ssize_t = above.size  # ... and those from ``high`` on do not
    while low < high:
        middle = (low + high) // 2
        d = above.depth[middle]
        if above.weight[middle] * (d - above.centre[middle]) < u * (x - d):
            low = middle + 1
        else:
            high = middle
    W, m = above.weight[low], above.centre[low]
    r = u / (u + W)
    return 0.5 * (above.scatter[low] + r * W * ((x - m) * (x - m))), m + (x - m) * r, low


def cheapest_alternative(at, v, workspace):
    """Return ``(cost, kind, k, l, depth)`` of the best response; the module's head lists the kinds.

    Ties keep the lowest arm k, so that a run is a function of its seed alone.
    """
    best: cython.double = inf
    kind: cython.int = NONE
    best_k: cython.Py_ssize_t = -1
    best_l: cython.Py_ssize_t = -1
    best_depth: cython.double = 0.0
    relative: cython.bint = at.c < 1.0
    if relative and at.top < 0.0:
        for a in range(at.K):
            cost = 0.5 * v[a] * at.mu[a] * at.mu[a]
            if cost < best:
                best, best_k = cost, a
        return best, RISE, best_k, -1, 0.0

    if relative:
        best, kind = 0.0, EMPTY
        for a in range(at.K):
            if at.mu[a] > 0.0:
                best += 0.5 * v[a] * at.mu[a] * at.mu[a]

    cost, k, l = cheapest_expulsion(at, v, workspace)
    if cost < best:
        best, kind, best_k, best_l = cost, EXPEL, k, l

    if at.h[at.by_depth[at.K - 1]] < 0.0:
        workspace.prefixes.clear()
        for i in range(at.K):
            a = at.by_depth[i]
            workspace.prefixes.add(at.D[a], v[a])
        for k in range(at.K):
            if at.h[k] < 0.0:
                cost, depth, _ = admission(-at.h[k], v[k], workspace.prefixes, at.c)
                if cost < best or (cost == best and kind != EMPTY and k < best_k):
                    best, kind, best_k, best_l, best_depth = cost, ADMIT, k, -1, depth
    return best, kind, best_k, best_l, best_depth


def moves(response, at, v, out):
    """Write lam - mu of a response of ``cheapest_alternative`` into ``out``."""
    _, kind, k, l, depth = response
    for a in range(at.K):
        out[a] = 0.0
    if kind == EXPEL:
        gap = at.h[k] + at.c * at.D[l]
        total = v[l] + at.c * at.c * v[k]
        share = v[l] / total if total > 0.0 else 1.0
        out[k] = -gap * share
        if share < 1.0:
            out[l] = at.c * gap * (v[k] / total)
    elif kind == ADMIT:
        for a in range(at.K):
            if at.D[a] < depth:
                out[a] = at.D[a] - depth
        out[k] = -at.h[k] - at.c * depth
    elif kind == EMPTY:
        for a in range(at.K):
            if at.mu[a] > 0.0:
                out[a] = -at.mu[a]
    elif kind == RISE:
        out[k] = -at.mu[k]
