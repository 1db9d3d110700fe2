"""The cheapest change of the means that changes the answer, for models that are not normal.

Arm k is good when mu_k >= c mu_l - e for all l.  The changes are those of ``normal.py``, with the
divergence d of the model in the place of squares.  Means are never negative here, so that two kinds
remain,

    expel   a good arm k falls to t, a good arm l rises to s:
                                                    w_k d(mu_k, t) + w_l d(mu_l, s)
    admit   a bad arm k rises to t, the arms above s come down to it:
                                                    w_k d(mu_k, t) + sum_l w_l d(mu_l, s)

with s = (t + e)/c.  Arms that come down to one point cost what their weighted mean m would, and a
constant: sum_l w_l d(mu_l, s) = W d(m, s) + sum_l w_l d(mu_l, m).  So both kinds ask where two arms
meet, which is a search in one dimension.  Where (t + e)/c would leave the range of the means there
is no such alternative.

``two`` stands for the two arms that meet, (a, x, b, y, c, e): with weight a at mean x and with
weight b at mean y.
"""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import fabs, inf, isnan
from cython.cimports.allgood.theory.alternatives.kinds import ADMIT, EXPEL, NONE

PARTS = cython.declare(cython.Py_ssize_t, 4)  # of a cost, in ``Stairs``
FALLS = cython.declare(cython.Py_ssize_t, 0)
RISES = cython.declare(cython.Py_ssize_t, 1)
FEW = cython.declare(cython.Py_ssize_t, 12)  # up to so many good arms all pairs are tried


class Prefixes:
    """Arms by depth: their means, and weight, mean and scatter of the first j, j = 0..size.

    scatter_j = sum_l w_l d(mu_l, mean_j) is what it costs that the first j arms meet at their mean.
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
        """Add the next arm: at least as deep as those before."""
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


def pay(model, two, t):
    """a d(x, t) + b d(y, (t + e)/c)."""
    a, x, b, y, c, e = two
    total = 0.0
    if a > 0.0:
        total += a * model.divergence(x, t)
    if b > 0.0:
        total += b * model.divergence(y, (t + e) / c)
    return total


def tilt(model, two, t):
    """Derivative of ``pay`` in t."""
    a, x, b, y, c, e = two
    total = 0.0
    if a > 0.0:
        total += a * model.slope(x, t)
    if b > 0.0:
        total += b / c * model.slope(y, (t + e) / c)
    return total


def tilt_and_bend(model, two, t):
    """First and second derivative of ``pay`` in t."""
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
    """Where the derivative changes its sign from - to + between ``low`` and ``high``.

    The end it points to where it does not.  Newton's method within a bracket that shrinks.
    """
    if low >= high or tilt(model, two, low) >= 0.0:
        return low
    if tilt(model, two, high) <= 0.0:
        return high
    t: cython.double = 0.5 * (low + high)
    new: cython.double
    before: cython.double = high - low
    for _ in range(200):
        slope, curvature = tilt_and_bend(model, two, t)
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


def meet(model, two, low, high):
    """``(cost, t)``: the least of a d(x, t) + b d(y, (t + e)/c) over low <= t <= high.

    One descent where this is convex in t.  Elsewhere the model names two points that part the range
    into three pieces; in each the derivative has one zero at most.
    """
    a, x, b, y, c, e = two
    turns = model.turning_points(a, x, b, y, c, e)
    if isnan(turns.first):
        t = descend(model, two, low, high)
        return pay(model, two, t), t
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
        cost = pay(model, two, t)
        if cost < best:
            best, best_t = cost, t
        start = end
    return best, best_t


def expulsion(model, two):
    """``(cost, t)`` of expelling a good arm through another: the arms a, x and b, y of ``two``.

    The cost is inf if there is no room for the rival to rise.
    """
    _, x, _, y, c, e = two
    low = max(model.low, c * y - e)
    high = min(x, c * model.high - e)
    if low > high:
        return inf, 0.0
    return meet(model, two, low, high)


def falls(model, above, j, w, x, c, e):
    """Whether the cost of ``admission`` still falls with t where arm j stops to come down."""
    if j == above.size:
        return True
    t = c * above.mu[j] - e
    return t <= x or tilt(model, (w, x, above.weight[j], above.mean[j], c, e), t) < 0.0


def piece(model, above, j, w, x, c, e):
    """``(cost, t)`` of ``admission`` where the first j arms come down, and no others."""
    low: cython.double = x if j == above.size else max(x, c * above.mu[j] - e)
    high = c * above.mu[j - 1] - e
    cost, t = meet(model, (w, x, above.weight[j], above.mean[j], c, e), low, high)
    return cost + above.scatter[j], t


def has_turn(model, above, j, w, x, c, e):
    """Whether the derivative may turn inside the piece of the first j arms."""
    turns = model.turning_points(w, x, above.weight[j], above.mean[j], c, e)
    low: cython.double = x if j == above.size else max(x, c * above.mu[j] - e)
    high = c * above.mu[j - 1] - e
    return low < turns.first < high or low < turns.second < high


def admission(model, above, w, x, c, e):
    """``(cost, t, j)`` of admitting a bad arm with weight w at mean x.

    It rises to t, and the first j of the arms ``above`` come down to (t + e)/c.  Between the
    points where another arm joins, this is a search for two arms.  Above ``model.one_valley`` the
    cost falls and then rises, and bisection finds the piece that holds its minimum.  Below, a piece
    may hold a minimum if the derivative changes its sign from - to + there, or may turn.
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
    """The t below x with d(x, t) = level; -inf if d never gets there."""
    if model.divergence(x, model.low) >= level and level < inf:
        return model.inverse(x, level, False)
    return -inf


def risen(model, x, level):
    """The s above x with d(x, s) = level; inf if d never gets there."""
    if level < inf and (model.high == inf or model.divergence(x, model.high) >= level):
        return model.inverse(x, level, True)
    return inf


class Stairs:
    """What each of some arms gets for parts of a cost, its *level*: p/n of it, p = 1..n.

    Alone arm k falls to T_k(p), or rises to S_k(p), for p/n of its level.  A pair (k, l) that asks
    both for the same level costs at least that level if

        (T_k(p) + e)/c >= S_l(n + 1 - p)  for p = 1..n.

    For up to t = T_k(n) arm k pays the level.  For t between T_k(p) and T_k(p - 1) it pays
    (p - 1)/n of it at least, and arm l, who is at S_l(n + 1 - p) or beyond, pays the rest; here
    T_k(0) = mu_k.  With n = 1 this drops pairs that cost twice the level, with more n more.

    Attributes:
        fall: [K, n] (T(p) + e)/c.
        rise: [K, n] S(n + 1 - p).
    """

    def __init__(self, num_arms):
        floats: cython.double[:, :, ::1] = np.empty((2, num_arms, PARTS))
        self.fall, self.rise = floats[0], floats[1]

    def clear(self, i):
        """Let arm i be one of which nothing is known."""
        for p in range(PARTS):
            self.fall[i, p] = -inf
            self.rise[i, p] = inf

    def place(self, model, i, x, y, level, c, e):
        """Let arm i fall from x, rise from y, and have this level."""
        for p in range(PARTS):
            part = level * ((p + 1.0) / PARTS)
            self.fall[i, p] = (fallen(model, x, part) + e) / c
            self.rise[i, PARTS - 1 - p] = risen(model, y, part)

    def apart(self, k, l):
        """Whether the pair is known to cost its level at least."""
        for p in range(PARTS):
            if self.fall[k, p] < self.rise[l, p]:
                return False
        return True


class Scratch:
    """Room for the search among K arms.

    Attributes:
        above: the arms that may come down.
        stairs: what the good arms, by depth, get for the cost of some alternative.
        outdone: [2, K] which of them need not fall, or rise; see ``mark_outdone``.
    """

    def __init__(self, num_arms):
        self.above, self.stairs = Prefixes(num_arms), Stairs(num_arms)
        self.outdone = np.empty((2, num_arms), np.intp)


def first_level(model, at, w, good):
    """The least cost of the pairs with the best and with the lowest good arm."""
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


def set_limits(model, at, w, room, good, level):
    """Fill the stairs of the good arms, given the cost of some alternative.

    A little more than that, so that rounding drops no pair.
    """
    for i in range(good):
        a = at.by_depth[i]
        if room.outdone[FALLS, i] and room.outdone[RISES, i]:
            continue
        if good > FEW and w[a] > 0.0:
            x = at.mu[a]
            room.stairs.place(model, i, x, x, (1.0 + 1e-9) * level / w[a], at.c, at.e)
        else:
            room.stairs.clear(i)


def mark_outdone(at, w, room, good):
    """Find the good arms that may be the one to fall, or the one to rise.

    If arm a is lower than arm k, and w_a <= w_k, it is cheaper to let a fall than k, whoever rises:
    d(mu, t) increases with mu above t, and if t would lie above mu_a, then t = mu_a is possible,
    and cheaper for both.  So k need not fall if there are two such arms: one of them does not rise.
    Likewise an arm need not rise if two higher arms have no more weight.
    """
    least: cython.double = inf
    for i in range(good):
        least = min(least, w[at.by_depth[i]])
    some: cython.bint = good > FEW and least > 0.0
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
            room.outdone[side, i] = 1 if some and w[a] >= enough else 0
            if w[a] < first:
                first, second = w[a], first
            else:
                second = min(second, w[a])


def again(at, w, i):
    """Whether the arm at place i by depth is like the one before it."""
    if i == 0:
        return False
    a, b = at.by_depth[i], at.by_depth[i - 1]
    return at.mu[a] == at.mu[b] and w[a] == w[b]


def cheapest(model, at, w, room):
    """``(cost, kind, k, l, t)`` of the best response.  Ties keep the lowest arm k, then l."""
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
        room.above.clear(at.top)
        for i in range(at.K):
            a = at.by_depth[i]
            room.above.add(model, at.mu[a], w[a])
    for i in range(good, at.K):
        k = at.by_depth[i]
        if again(at, w, i):
            continue
        cost, t, _ = admission(model, room.above, w[k], at.mu[k], c, e)
        if cost < best or (cost == best and k < best_k):
            best, kind, best_k, best_t = cost, ADMIT, k, t
    level: cython.double = best
    if good > FEW:
        level = min(level, first_level(model, at, w, good))
    mark_outdone(at, w, room, good)
    set_limits(model, at, w, room, good, level)
    for i in range(good):
        k = at.by_depth[i]
        if room.outdone[FALLS, i] or again(at, w, i):
            continue
        if best < 0.9 * level:
            level = best
            set_limits(model, at, w, room, good, level)
        for r in range(good):
            l = at.by_depth[r]
            if l == k or room.outdone[RISES, r] or room.stairs.apart(i, r):
                continue
            if again(at, w, r) and at.by_depth[r - 1] != k:
                continue
            cost, t = expulsion(model, (w[k], at.mu[k], w[l], at.mu[l], c, e))
            if cost < best or (
                cost == best and (k < best_k or (k == best_k and kind == EXPEL and l < best_l))
            ):
                best, kind, best_k, best_l, best_t = cost, EXPEL, k, l, t
    return best, kind, best_k, best_l if kind == EXPEL else -1, best_t


def alternative(found, model, at, out):
    """Write the means of the alternative that ``cheapest`` found into ``out``."""
    _, kind, k, l, t = found
    s = min((t + at.e) / at.c, model.high)
    for a in range(at.K):
        out[a] = min(at.mu[a], s) if kind == ADMIT else at.mu[a]
    if kind == EXPEL:
        out[k] = t
        out[l] = s
    elif kind == ADMIT:
        out[k] = t
