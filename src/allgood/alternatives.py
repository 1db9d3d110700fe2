"""The cheapest change of the means that changes the answer.

Arm k is good when no arm outdoes it by too much,

    mu_k >= c mu_l - e  for all l,      (c, e) = (1, epsilon)      additive
                                        (c, e) = (1 - epsilon, 0)  multiplicative.

An *alternative* is a vector lam of means with another answer.  With weights w and noise sigma the
cost of lam is the weighted divergence, and the best response is the cheapest alternative:

    T(mu, w)^-1 = inf over alternatives of  sum_a v_a (mu_a - lam_a)^2 / 2,      v_a = w_a / sigma_a^2.

Four kinds of change exist (paper: Lemmas 4 and 7; the last two are missing there):

    expel   a good arm k falls out because one other good arm l outdoes it;
    admit   a bad arm k comes in because it rises and all arms above come down;
    empty   (multiplicative) every positive arm falls below zero: then no arm is good;
    rise    (multiplicative, all means negative, nobody good) one arm rises to zero.

Everything is computed from two distances, never from differences of large numbers:

    height  h_a = mu_a - (c max mu - e)    above the threshold; negative for bad arms
    depth   D_a = max mu - mu_a            below the best arm, >= 0

Notation of the kernels
-----------------------
h, D     float64[K]   heights and depths, arms in any order
v        float64[K]   precisions w / sigma^2, >= 0; zero means that the arm moves for free
by_depth int64[K]     arms by increasing depth: argsort of D
c        float64      1, or 1 - epsilon

One sort, then linear scans: O(K log K) time, O(K) memory.  Families other than the normal one: ``families.py``.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from . import families
from ._check import means_array, weights_array
from ._jit import jit
from .families import ADMIT, EXPEL, NONE
from .models import NORMAL, Gaussian, Model, divergence
from .objectives import Objective

Kind = Literal["expel", "admit", "empty", "rise", "none"]
KINDS: tuple[Kind, ...] = ("none", "expel", "admit", "empty", "rise")
EMPTY, RISE = 3, 4


@jit
def pair_cost(height, depth, v_k, v_l, c):
    """Cost of expelling arm k (at ``height``) through arm l (at ``depth``).

    The two meet where lam_k = c lam_l - e.  With gap = mu_k - c mu_l + e = h_k + c D_l,

        cost = gap^2 / 2  /  (1/v_k + c^2/v_l).
    """
    if v_k == 0.0 or v_l == 0.0:
        return 0.0
    gap = height + c * depth
    return 0.5 * gap * gap / (1.0 / v_k + c * c / v_l)


@jit
def cheapest_expulsion(h, D, v, by_depth, c):
    """Cheapest (cost, k, l) over good arms k != l; cost inf where fewer than two arms are good.

    With lam_k = threshold + t the rival needs lam_l = max mu + t/c, so the cost at t is half of

        phi(t)^2 + psi(t)^2,    phi(t) = min_k sqrt(v_k) (h_k - t),
                                psi(t) = min_l sqrt(v_l) (D_l + t/c),      0 <= t <= min h,

    two lower envelopes of lines.  As t grows, phi's arm has ever larger, psi's ever smaller v, so the
    two minima are the same arm on one interval at most.  The cheapest pair is therefore among the
    O(K) pairs met while sweeping t, and the O(K) pairs that contain that one arm.  (The cheapest pair may
    have its own t below 0 when the best arm is expelled; then that arm is the common one.  docs/solver.md.)
    """
    K = h.size
    good = np.empty(K, np.int64)  # by increasing depth: best arm first
    n = 0
    for a in by_depth:
        if h[a] >= 0.0:
            good[n] = a
            n += 1
    if n < 2:
        return np.inf, -1, -1
    for i in range(n):  # an arm without weight falls out for free
        if v[good[i]] == 0.0:
            k = good[i]
            return 0.0, k, (good[1] if i == 0 else good[0])

    phi, phi_end = np.empty(n, np.int64), np.empty(n)
    size = 0
    # phi: from the highest arm down; an arm with v no larger than those above hides them all.
    for i in range(n):
        a = good[i]
        root = math.sqrt(v[a])
        while size > 0 and math.sqrt(v[phi[size - 1]]) >= root:
            size -= 1
        start = -np.inf
        while size > 0:
            b = phi[size - 1]
            root_b = math.sqrt(v[b])
            start = h[a] - root_b * (h[b] - h[a]) / (root - root_b)
            if size == 1 or start > phi_end[size - 2]:
                break
            size -= 1
        if size > 0:
            phi_end[size - 1] = start
        phi[size], phi_end[size] = a, np.inf
        size += 1
    num_phi = size

    psi, psi_end = np.empty(n, np.int64), np.empty(n)
    size = 0
    # psi: from the highest arm down, keeping only arms with less v than all above.
    for i in range(n):
        a = good[i]
        root = math.sqrt(v[a])
        if size > 0 and root >= math.sqrt(v[psi[size - 1]]):
            continue
        start = -np.inf
        while size > 0:
            b = psi[size - 1]
            root_b = math.sqrt(v[b])
            start = c * ((root * D[a] - root_b * D[b]) / (root_b - root))
            if size == 1 or start > psi_end[size - 2]:
                break
            size -= 1
        if size > 0:
            psi_end[size - 1] = start
        psi[size], psi_end[size] = a, np.inf
        size += 1
    num_psi = size

    best, best_k, best_l, common = np.inf, -1, -1, -1
    i = j = 0
    while True:
        k, l = phi[i], psi[j]
        if k == l:
            common = k
        else:
            cost = pair_cost(h[k], D[l], v[k], v[l], c)
            if cost < best or (cost == best and k < best_k):
                best, best_k, best_l = cost, k, l
        if i == num_phi - 1 and j == num_psi - 1:
            break
        if phi_end[i] <= psi_end[j]:
            i += 1
        else:
            j += 1
    if common >= 0:
        for i in range(n):
            a = good[i]
            if a == common:
                continue
            cost = pair_cost(h[a], D[common], v[a], v[common], c)
            if cost < best or (cost == best and a < best_k):
                best, best_k, best_l = cost, a, common
            cost = pair_cost(h[common], D[a], v[common], v[a], c)
            if cost < best or (cost == best and common < best_k):
                best, best_k, best_l = cost, common, a
    return best, best_k, best_l


@jit
def depth_prefixes(D, v, by_depth, weight, centre, scatter):
    """Fill the weight, mean depth and scatter about it of the first j arms by depth, j = 0..len(by_depth).

    Updated with positive terms only (Welford), so that close arms do not cancel.
    """
    weight[0] = centre[0] = scatter[0] = 0.0
    for j in range(by_depth.size):
        a = by_depth[j]
        W = weight[j] + v[a]
        step = D[a] - centre[j]
        weight[j + 1] = W
        if v[a] == 0.0:
            centre[j + 1], scatter[j + 1] = centre[j], scatter[j]
        else:
            centre[j + 1] = centre[j] + step * (v[a] / W)
            scatter[j + 1] = scatter[j] + step * step * (v[a] * (weight[j] / W))


@jit
def admission(gap, v_k, D, by_depth, weight, centre, scatter, c):
    """Cheapest way to admit one bad arm at ``gap`` = -h_k: ``(cost, depth, j)``.

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
    lo, hi = 0, by_depth.size  # the first lo arms come down; those from hi on do not
    while lo < hi:
        mid = (lo + hi) // 2
        d = D[by_depth[mid]]
        if weight[mid] * (d - centre[mid]) < u * (x - d):
            lo = mid + 1
        else:
            hi = mid
    W, m = weight[lo], centre[lo]
    r = u / (u + W)
    return 0.5 * (scatter[lo] + r * W * (x - m) ** 2), m + (x - m) * r, lo


@jit
def cheapest_alternative(mu, h, D, v, by_depth, c):
    """``(cost, kind, k, l, depth)`` of the best response; see the module's head for the kinds.

    Ties keep the lowest arm k, so that a run is a function of its seed alone.
    """
    K = mu.size
    top = mu[by_depth[0]]
    relative = c < 1.0
    if relative and top < 0.0:
        best, best_k = np.inf, -1
        for a in range(K):
            cost = 0.5 * v[a] * mu[a] * mu[a]
            if cost < best:
                best, best_k = cost, a
        return best, RISE, best_k, -1, 0.0

    best, kind, best_k, best_l, best_depth = np.inf, NONE, -1, -1, 0.0
    if relative:
        cost = 0.0
        for a in range(K):
            if mu[a] > 0.0:
                cost += 0.5 * v[a] * mu[a] * mu[a]
        best, kind = cost, EMPTY

    cost, k, l = cheapest_expulsion(h, D, v, by_depth, c)
    if cost < best:
        best, kind, best_k, best_l = cost, EXPEL, k, l

    if h[by_depth[K - 1]] < 0.0:
        weight, centre, scatter = np.empty(K + 1), np.empty(K + 1), np.empty(K + 1)
        depth_prefixes(D, v, by_depth, weight, centre, scatter)
        for k in range(K):
            if h[k] < 0.0:
                cost, depth, _ = admission(-h[k], v[k], D, by_depth, weight, centre, scatter, c)
                if cost < best or (cost == best and kind != EMPTY and k < best_k):
                    best, kind, best_k, best_l, best_depth = cost, ADMIT, k, -1, depth
    return best, kind, best_k, best_l, best_depth


@jit
def moves(kind, k, l, depth, mu, h, D, v, c, out):
    """Write lam - mu of the alternative found by ``cheapest_alternative`` into ``out``."""
    out[:] = 0.0
    if kind == EXPEL:
        gap = h[k] + c * D[l]
        total = v[l] + c * c * v[k]
        share = v[l] / total if total > 0.0 else 1.0
        out[k] = -gap * share
        if share < 1.0:
            out[l] = c * gap * (v[k] / total)
    elif kind == ADMIT:
        for a in range(mu.size):
            if D[a] < depth:
                out[a] = D[a] - depth
        out[k] = -h[k] - c * depth
    elif kind == EMPTY:
        for a in range(mu.size):
            if mu[a] > 0.0:
                out[a] = -mu[a]
    elif kind == RISE:
        out[k] = -mu[k]


@dataclass(frozen=True, eq=False)
class BestResponse:
    """The cheapest alternative to an instance under given weights.

    Attributes:
        cost: the weighted divergence T(mu, w)^-1; inf where no alternative exists (one arm, additive).
        means: the alternative.  It is a limit: arms sit exactly on the threshold, and an
            arbitrarily small further move changes the answer.  nan where no alternative exists.
        arm: the arm whose label flips; None where the whole answer becomes empty, or none exists.
        gradient: the divergence of each arm, (mu_a - lam_a)^2 / (2 sigma_a^2) for normal rewards: a supergradient of
            the cost in the weights (Danskin; paper: Lemma 5), with cost = weights . gradient.
        kind: "expel", "admit", "empty", "rise" or "none"; see the module's head.
        rival: for "expel", the arm that outdoes ``arm``; None otherwise.
    """

    cost: float
    means: npt.NDArray[np.float64]
    arm: int | None
    gradient: npt.NDArray[np.float64]
    kind: Kind
    rival: int | None


def best_response(
    means: npt.ArrayLike,
    weights: npt.ArrayLike,
    objective: Objective,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> BestResponse:
    """Cheapest alternative to ``means`` when arm a is measured with weight ``weights[a]``.

    ``weights`` need not sum to one: with pull counts the cost is the generalised likelihood ratio
    Z(t) of the paper's stopping rule.  Zero weights are allowed: such an arm moves for free.

    >>> from allgood import Additive, best_response
    >>> round(1 / best_response([1, 1, 1, 1, 0.05], [0.125] * 4 + [0.5], Additive(0.9)).cost, 6)
    3200.0
    """
    objective, model = Objective.check(objective), Model.check_known(model)
    mu = model.check_means(means_array(means))
    w = weights_array(weights, mu.size)
    h, D = objective.distances(mu)
    by_depth = np.argsort(D, kind="stable")
    if model.family != NORMAL:
        return _of_family(model, mu, h, w, by_depth, objective)
    sigma = model.sigmas(mu.size)
    v = w / sigma**2
    cost, kind, k, l, depth = cheapest_alternative(mu, h, D, v, by_depth, objective.factor)
    move = np.empty(mu.size)
    moves(kind, k, l, depth, mu, h, D, v, objective.factor, move)
    if kind == NONE:
        move[:] = np.nan
    return BestResponse(
        cost=float(cost),
        means=mu + move,
        arm=int(k) if k >= 0 else None,
        gradient=(move / sigma) ** 2 / 2,
        kind=KINDS[kind],
        rival=int(l) if l >= 0 else None,
    )


def _of_family(
    model: Model,
    mu: npt.NDArray[np.float64],
    h: npt.NDArray[np.float64],
    w: npt.NDArray[np.float64],
    by_depth: npt.NDArray[np.int64],
    objective: Objective,
) -> BestResponse:
    c, e, high = objective.factor, objective.slack, model.range[1]
    cost, kind, k, l, t = families.cheapest(model.family, mu, h, w, by_depth, c, e, high)
    lam = np.full(mu.size, np.nan)
    if kind != NONE:
        families.alternative(kind, k, l, t, mu, c, e, high, lam)
    return BestResponse(
        cost=float(cost),
        means=lam,
        arm=int(k) if k >= 0 else None,
        gradient=np.array([divergence(model.family, x, y) for x, y in zip(mu, lam, strict=True)]),
        kind=KINDS[kind],
        rival=int(l) if l >= 0 else None,
    )
