"""The cheapest change of the means that changes the answer, for models that are not normal.

Arm k is good when mu_k >= c mu_l - e for all l.  The changes are those of ``normal.py``, with the
divergence d of the model in the place of squares.  Means are never negative here, so that two kinds
remain,

    expel   a good arm k falls to t, a good arm l rises to s:
                                                    w_k d(mu_k, t) + w_l d(mu_l, s)
    admit   a bad arm k rises to t, the arms above s come down to it:
                                                    w_k d(mu_k, t) + sum_l w_l d(mu_l, s)

with s = (t + e)/c.  Arms that come down to one point cost as much as their weighted mean m would,
and a constant: sum_l w_l d(mu_l, s) = W d(m, s) + sum_l w_l d(mu_l, m).  So for both kinds we need
the *crossing* of two arms, which is a search in one dimension.  If (t + e)/c would leave the range
of the means, there is no such alternative.

``two`` stands for the two arms that cross, (a, x, b, y, c, e): with weight a at mean x and with
weight b at mean y.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import fabs, inf, isnan
from cython.cimports.allgood.theory.alternatives.kinds import ADMIT, EXPEL, NONE

PARTS = cython.declare(cython.Py_ssize_t, 4)  # of a cost, in ``Stairs``
FALLS = cython.declare(cython.Py_ssize_t, 0)
RISES = cython.declare(cython.Py_ssize_t, 1)
SMALL_INSTANCE = cython.declare(
    cython.Py_ssize_t, 12
)  # up to so many good arms all pairs are tried


class Prefixes:
    """Arms by depth: their means, and weight, mean and scatter of the first j, j = 0..size.

    scatter_j = sum_l w_l d(mu_l, mean_j) is the cost of moving the first j arms to their mean.
    """

    def __init__(self, num_arms):
        floats: cython.double[:, ::1] = np.empty((4, num_arms + 1))
        self.mu, self.weight, self.mean, self.scatter = floats[0], floats[1], floats[2], floats[3]
        self.size = 0

    def clear(self, top):
        self.size = 0
        self.weight[0] = self.scatter[0] = 0.0
        self.mean[0] = top

    def add(self, model, x, w):
        """Add the next arm, which must be at least as deep as those before."""
        j = self.size
        W, m, scatter = self.weight[j], self.mean[j], self.scatter[j]
        self.mu[j] = x
        if w > 0.0:
            total = W + w
            centre = m + (x - m) * (w / total)
            scatter += W * model.divergence(m, centre) + w * model.divergence(x, centre)
            W, m = total, centre
        self.weight[j + 1] = W
        self.mean[j + 1] = m
        self.scatter[j + 1] = scatter
        self.size = j + 1


def cost_at(model, two, t):
    """Return a d(x, t) + b d(y, (t + e)/c)."""
    a, x, b, y, c, e = two
    total = 0.0
    if a > 0.0:
        total += a * model.divergence(x, t)
    if b > 0.0:
        total += b * model.divergence(y, (t + e) / c)
    return total


def gradient_at(model, two, t):
    """Return the derivative of ``cost_at`` in t."""
    a, x, b, y, c, e = two
    total = 0.0
    if a > 0.0:
        total += a * model.slope(x, t)
    if b > 0.0:
        total += b / c * model.slope(y, (t + e) / c)
    return total


def gradient_and_curvature(model, two, t):
    """Return the first and the second derivative of ``cost_at`` in t."""
    a, x, b, y, c, e = two
    first, second = 0.0, 0.0
    if a > 0.0:
        first += a * model.slope(x, t)
        second += a * model.curvature(x, t)
    if b > 0.0:
        s = (t + e) / c
        first += b / c * model.slope(y, s)
        second += b / (c * c) * model.curvature(y, s)
    return first, second


def descend(model, two, low, high):
    """Return the point between ``low`` and ``high`` at which the derivative turns from - to +.

    If it does not, return the end that it points to.  Newton's method within a bracket that
    shrinks.
    """
    if low >= high or gradient_at(model, two, low) >= 0.0:
        return low
    if gradient_at(model, two, high) <= 0.0:
        return high
    t: cython.double = 0.5 * (low + high)
    new: cython.double
    before: cython.double = high - low
    for _ in range(200):
        slope, curvature = gradient_and_curvature(model, two, t)
        if slope == 0.0:
            break
        if slope < 0.0:
            low = t
        else:
            high = t
        new = t - slope / curvature if curvature > 0.0 else inf
        if fabs(new - t) <= 1e-15 * t:
            break
        if not low < new < high or fabs(new - t) > 0.5 * before:
            new = 0.5 * (low + high)
        before = fabs(new - t)
        t = new
        if before <= 1e-15 * t:
            break
    return t


def crossing(model, two, low, high):
    """Return ``(cost, t)``: the least of a d(x, t) + b d(y, (t + e)/c) over low <= t <= high.

    One descent is enough if this is convex in t.  Otherwise the model names two points that divide
    the range into three pieces; in each the derivative has one zero at most.
    """
    a, x, b, y, c, e = two
    turns = model.turning_points(a, x, b, y, c, e)
    if isnan(turns.first):
        t = descend(model, two, low, high)
        return cost_at(model, two, t), t
    best: cython.double = inf
    best_t: cython.double = low
    start: cython.double = low
    end: cython.double
    for piece in range(3):
        end = high
        if piece == 0:
            end = min(max(turns.first, low), high)
        elif piece == 1:
            end = min(max(turns.second, low), high)
        t = descend(model, two, start, end)
        cost = cost_at(model, two, t)
        if cost < best:
            best, best_t = cost, t
        start = end
    return best, best_t


def expulsion(model, two):
    """Return ``(cost, t)`` of expelling the good arm a, x of ``two`` through the good arm b, y.

    The cost is inf if the rival cannot rise far enough.
    """
    _, x, _, y, c, e = two
    low = max(model.low, c * y - e)
    high = min(x, c * model.high - e)
    if low > high:
        return inf, 0.0
    return crossing(model, two, low, high)


def falls(model, above, j, w, x, c, e):
    """Return whether the cost of ``admission`` still falls with t at the end of piece j."""
    if j == above.size:
        return True
    t = c * above.mu[j] - e
    return t <= x or gradient_at(model, (w, x, above.weight[j], above.mean[j], c, e), t) < 0.0


def piece(model, above, j, w, x, c, e):
    """Return ``(cost, t)`` of ``admission`` if the first j arms come down, and no others."""
    low: cython.double = x if j == above.size else max(x, c * above.mu[j] - e)
    high = c * above.mu[j - 1] - e
    cost, t = crossing(model, (w, x, above.weight[j], above.mean[j], c, e), low, high)
    return cost + above.scatter[j], t


def has_turn(model, above, j, w, x, c, e):
    """Return whether the derivative may turn inside the piece of the first j arms."""
    turns = model.turning_points(w, x, above.weight[j], above.mean[j], c, e)
    low: cython.double = x if j == above.size else max(x, c * above.mu[j] - e)
    high = c * above.mu[j - 1] - e
    return low < turns.first < high or low < turns.second < high


def admission(model, above, w, x, c, e):
    """Return ``(cost, t, j)`` of admitting a bad arm with weight w at mean x.

    It rises to t, and the first j of the arms ``above`` come down to (t + e)/c.  For each j this is
    a crossing of two arms.  Above ``model.one_valley`` the cost falls and then rises, and bisection
    finds the piece that holds its minimum.  Below, a piece may hold a minimum if the derivative
    changes its sign from - to + there, or may turn.
    """
    if w == 0.0:
        return 0.0, c * above.mu[0] - e, 0
    settled: cython.double = max(x, model.one_valley(above.mu[0], c, e))
    j: cython.Py_ssize_t = 1
    last: cython.Py_ssize_t = above.size
    while j < last:
        middle = (j + last) // 2
        if c * above.mu[middle] - e <= settled or falls(model, above, middle, w, x, c, e):
            last = middle
        else:
            j = middle + 1
    best, best_t = piece(model, above, j, w, x, c, e)
    size: cython.Py_ssize_t = j
    if settled > x:
        for i in range(j + 1, above.size + 1):
            if c * above.mu[i - 1] - e <= x:
                break
            if i < above.size and c * above.mu[i] - e > settled:
                continue
            valley: cython.bint = falls(model, above, i, w, x, c, e) and not falls(
                model, above, i - 1, w, x, c, e
            )
            if valley or has_turn(model, above, i, w, x, c, e):
                cost, t = piece(model, above, i, w, x, c, e)
                if cost < best:
                    best, best_t, size = cost, t, i
    return best, best_t, size


def fallen(model, x, level):
    """Return the t below x with d(x, t) = level; -inf if d stays below the level."""
    if model.divergence(x, model.low) >= level and level < inf:
        return model.inverse(x, level, False)
    return -inf


def risen(model, x, level):
    """Return the s above x with d(x, s) = level; inf if d stays below the level."""
    if level < inf and (model.high == inf or model.divergence(x, model.high) >= level):
        return model.inverse(x, level, True)
    return inf


class Stairs:
    """How far each of several arms can move for parts of a cost, its *level*: p/n of it, p = 1..n.

    Alone arm k falls to T_k(p), or rises to S_k(p), for p/n of its level.  If the level of both
    arms of a pair (k, l) is the same, the pair costs at least that level if

        (T_k(p) + e)/c >= S_l(n + 1 - p)  for p = 1..n.

    For t up to T_k(n), arm k alone costs the level.  For t between T_k(p) and T_k(p - 1), arm k
    costs at least (p - 1)/n of it, and arm l, which is at S_l(n + 1 - p) or beyond, costs the rest;
    here T_k(0) = mu_k.  With n = 1 this drops pairs that cost twice the level; a larger n drops
    more.

    Attributes:
        fall: [K, n] (T(p) + e)/c.
        rise: [K, n] S(n + 1 - p).
    """

    def __init__(self, num_arms):
        floats: cython.double[:, :, ::1] = np.empty((2, num_arms, PARTS))
        self.fall, self.rise = floats[0], floats[1]

    def clear(self, i):
        """Record that no level of arm i is known."""
        for p in range(PARTS):
            self.fall[i, p] = -inf
            self.rise[i, p] = inf

    def place(self, model, i, x, y, level, c, e):
        """Record how far arm i falls from x and rises from y for this level."""
        for p in range(PARTS):
            part = level * ((p + 1.0) / PARTS)
            self.fall[i, p] = (fallen(model, x, part) + e) / c
            self.rise[i, PARTS - 1 - p] = risen(model, y, part)

    def apart(self, k, l):
        """Return whether the pair is known to cost at least its level."""
        for p in range(PARTS):
            if self.fall[k, p] < self.rise[l, p]:
                return False
        return True


class Workspace:
    """Arrays for the search among K arms, allocated once.

    Attributes:
        above: the arms that may come down.
        stairs: how far each good arm, by depth, can move for the cost of a known alternative.
        dominated: [2, K] True for arms that need not fall, or rise; see ``mark_dominated``.
    """

    def __init__(self, num_arms):
        self.above, self.stairs = Prefixes(num_arms), Stairs(num_arms)
        self.dominated = np.empty((2, num_arms), np.intp)


def first_level(model, at, w, good):
    """Return the least cost of the pairs with the best and with the lowest good arm."""
    level: cython.double = inf
    first, last = at.by_depth[0], at.by_depth[good - 1]
    for i in range(good):
        a = at.by_depth[i]
        if a != first:
            cost, _ = expulsion(model, (w[a], at.mu[a], w[first], at.mu[first], at.c, at.e))
            level = min(level, cost)
        if a != last:
            cost, _ = expulsion(model, (w[last], at.mu[last], w[a], at.mu[a], at.c, at.e))
            level = min(level, cost)
    return level


def set_limits(model, at, w, workspace, good, level):
    """Fill the stairs of the good arms, from the cost of a known alternative.

    The cost is raised a little, so that rounding drops no pair.
    """
    for i in range(good):
        a = at.by_depth[i]
        if workspace.dominated[FALLS, i] and workspace.dominated[RISES, i]:
            continue
        if good > SMALL_INSTANCE and w[a] > 0.0:
            x = at.mu[a]
            workspace.stairs.place(model, i, x, x, (1.0 + 1e-9) * level / w[a], at.c, at.e)
        else:
            workspace.stairs.clear(i)


def mark_dominated(at, w, workspace, good):
    """Mark the good arms that need not be the one to fall, or the one to rise.

    If arm a is lower than arm k, and w_a <= w_k, it is cheaper to let a fall than k, for every
    rival: d(mu, t) increases with mu above t, and if t would lie above mu_a, then t = mu_a is
    possible, and cheaper for both.  So k need not fall if there are two such arms: one of them does
    not rise.  Likewise an arm need not rise if two higher arms have no more weight.
    """
    least: cython.double = inf
    for i in range(good):
        least = min(least, w[at.by_depth[i]])
    worthwhile: cython.bint = good > SMALL_INSTANCE and least > 0.0
    for side in range(2):
        first: cython.double = inf  # the two least weights so far
        second: cython.double = inf
        enough: cython.double = inf  # the second least, at other means than this one
        before: cython.double = at.top
        for n in range(good):
            i = n if side == RISES else good - 1 - n
            a = at.by_depth[i]
            if at.mu[a] != before:
                before, enough = at.mu[a], second
            workspace.dominated[side, i] = 1 if worthwhile and w[a] >= enough else 0
            if w[a] < first:
                first, second = w[a], first
            else:
                second = min(second, w[a])


def repeats(at, w, i):
    """Return whether the arm at place i by depth equals the one before it in mean and weight."""
    if i == 0:
        return False
    a, b = at.by_depth[i], at.by_depth[i - 1]
    return at.mu[a] == at.mu[b] and w[a] == w[b]


def cheapest(model, at, w, workspace):
    """Return ``(cost, kind, k, l, t)`` of the best response.

    Ties keep the lowest arm k, then l.
    """
    c, e = at.c, at.e
    best: cython.double = inf
    kind: cython.int = NONE
    best_k: cython.Py_ssize_t = -1
    best_l: cython.Py_ssize_t = -1
    best_t: cython.double = 0.0
    good: cython.Py_ssize_t = 0
    while good < at.K and at.h[at.by_depth[good]] >= 0.0:
        good += 1
    if good < at.K:
        workspace.above.clear(at.top)
        for i in range(at.K):
            a = at.by_depth[i]
            workspace.above.add(model, at.mu[a], w[a])
    for i in range(good, at.K):
        k = at.by_depth[i]
        if repeats(at, w, i):
            continue
        cost, t, _ = admission(model, workspace.above, w[k], at.mu[k], c, e)
        if cost < best or (cost == best and k < best_k):
            best, kind, best_k, best_t = cost, ADMIT, k, t
    level: cython.double = best
    if good > SMALL_INSTANCE:
        level = min(level, first_level(model, at, w, good))
    mark_dominated(at, w, workspace, good)
    set_limits(model, at, w, workspace, good, level)
    for i in range(good):
        k = at.by_depth[i]
        if workspace.dominated[FALLS, i] or repeats(at, w, i):
            continue
        if best < 0.9 * level:
            level = best
            set_limits(model, at, w, workspace, good, level)
        for r in range(good):
            l = at.by_depth[r]
            if l == k or workspace.dominated[RISES, r] or workspace.stairs.apart(i, r):
                continue
            if repeats(at, w, r) and at.by_depth[r - 1] != k:
                continue
            cost, t = expulsion(model, (w[k], at.mu[k], w[l], at.mu[l], c, e))
            if cost < best or (
                cost == best and (k < best_k or (k == best_k and kind == EXPEL and l < best_l))
            ):
                best, kind, best_k, best_l, best_t = cost, EXPEL, k, l, t
    return best, kind, best_k, best_l if kind == EXPEL else -1, best_t


def alternative(response, model, at, out):
    """Write the means of a response of ``cheapest`` into ``out``."""
    _, kind, k, l, t = response
    s = min((t + at.e) / at.c, model.high)
    for a in range(at.K):
        out[a] = min(at.mu[a], s) if kind == ADMIT else at.mu[a]
    if kind == EXPEL:
        out[k] = t
        out[l] = s
    elif kind == ADMIT:
        out[k] = t
