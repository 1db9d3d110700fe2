"""The evidence that an arm is good against one rival, or bad; and the claims of all arms at once.

The claims and what they need: ``claims.py``.
"""

import cython
from cython.cimports.allgood.evidence.spec import BAD, GOOD, OPEN, Crossing
from cython.cimports.allgood.kernels.c_math import exp, inf, isnan, sqrt
from cython.cimports.allgood.kernels.tally import Side

POOL = cython.declare(cython.Py_ssize_t, -1)
ABOVE = cython.declare(cython.double, 1.0)
BELOW = cython.declare(cython.double, -1.0)


def pair(spec, up, k, l, rest_k, rest_l, need):
    """Return the evidence of k and l, and their crossing; no more evidence than without an
    influential reward.

    No label rests on an influential reward: the evidence must hold with it and without it.  If both
    sides have one, either may be wrong, so each is left out alone, too.  To demand more evidence
    than the theorem does can only keep a label open.
    """
    weakest = spec.pair_evidence(up, k, l, need)
    if rest_k.n == k.n and rest_l.n == l.n:
        return weakest
    if rest_k.n == 0.0 or rest_l.n == 0.0:
        return Crossing(min(weakest.E, 0.0), weakest.z)
    if rest_k.n < k.n:
        weakest = weaker(weakest, spec.pair_evidence(up, rest_k, l, need))
    if rest_l.n < l.n:
        weakest = weaker(weakest, spec.pair_evidence(up, k, rest_l, need))
    if rest_k.n < k.n and rest_l.n < l.n:
        weakest = weaker(weakest, spec.pair_evidence(up, rest_k, rest_l, need))
    return weakest


def weaker(first, second):
    """Return the crossing with less evidence; one whose evidence is nan, which proves nothing."""
    return first if first.E <= second.E or isnan(first.E) else second


def pool_side(spec, V, W):
    """Return the pool as a side, from the sums of 1 / sigma^2 and of reward / sigma^2."""
    if V <= 0.0:
        return Side(0.0, 0.0, 0.0, 0.0, spec.pool_unit)
    return Side(V, W / V, 0.0, spec.model.precision(V, W / V, 0.0, 1.0), spec.pool_unit)


def sign(spec, up, k, rest_k):
    """Return the evidence that the mean of k is above zero, or below; no more than without an
    influential reward.
    """
    E: cython.double = spec.sign_evidence(up, k)
    if rest_k.n == k.n:
        return E
    without: cython.double = spec.sign_evidence(up, rest_k) if rest_k.n > 0.0 else 0.0
    return E if without >= E or isnan(E) else without


def evidence_good(spec, sides, k, l):
    """Return the evidence that k is good against rival l; if l = k (multiplicative), that mu_k >=
    0.
    """
    if l == k:
        return sign(spec, ABOVE, sides.side(k), sides.rest(k))
    weakest = pair(
        spec, ABOVE, sides.side(k), sides.side(l), sides.rest(k), sides.rest(l), spec.need_good
    )
    return weakest.E


def likely_rival(spec, sides, k):
    """Return the arm above k with the largest likelihood ratio against k, -1 if none is above."""
    largest: cython.double = -inf
    l: cython.Py_ssize_t = -1
    for a in range(spec.num_arms):
        ratio = ratio_bad(spec, sides, k, a)
        if ratio > largest:
            largest, l = ratio, a
            if sides.v[k] == 0.0:  # no ratio is larger
                break
    return l


def find_frontier(sides, front):
    """Write to ``front`` the arms that no other arm exceeds in mean and precision; return how many.

    The likelihood ratio of "k is bad because of l" grows with the mean and with the precision of l,
    so the likely rival of each arm is one of these.  Of arms that are equal in both, the first is
    taken.  If all arms have equally many rewards there is one; usually there are a few.
    """
    number: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = 0  # behind the arms that were taken: those with more precision
    at: cython.Py_ssize_t
    size: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    for i in range(front.shape[0]):
        if sides.v[i] >= 0.0 and sides.m[i] == sides.m[i]:  # neither is nan
            front[end] = i
            end += 1
    while number < end:
        at = number
        for i in range(number + 1, end):
            a, b = front[i], front[at]
            precise: cython.bint = sides.v[a] > sides.v[b] or (sides.v[a] == sides.v[b] and a < b)
            if sides.m[a] > sides.m[b] or (sides.m[a] == sides.m[b] and precise):
                at = i
        b = front[at]
        front[at] = front[number]
        front[number] = b
        number += 1
        size = number
        for i in range(number, end):
            if sides.v[front[i]] > sides.v[b]:
                front[size] = front[i]
                size += 1
        end = size
    return number


def likely_rival_among(spec, sides, k, front, number):
    """Return the ``likely_rival`` of k, found among the arms of the frontier."""
    largest: cython.double = -inf
    l: cython.Py_ssize_t = -1
    a: cython.Py_ssize_t
    if sides.v[k] == 0.0:  # every ratio is 0
        return likely_rival(spec, sides, k)
    for i in range(number):
        a = front[i]
        if a == k and spec.c * sides.m[k] - spec.e > sides.m[k]:
            return likely_rival(spec, sides, k)  # k may hide the arms that it exceeds
        ratio = ratio_bad(spec, sides, k, a)
        if ratio > largest or (ratio == largest and a < l):
            largest, l = ratio, a
    if largest == 0.0:  # only arms without rewards lie above k: the first of them
        return likely_rival(spec, sides, k)
    return l


def ratio_bad(spec, sides, k, l):
    """Return the log likelihood ratio of "k is bad because of l"; -inf if k does not lie below."""
    G = spec.c * sides.m[l] - spec.e - sides.m[k]
    if G <= 0.0 or l == k:
        return -inf
    return 0.5 * G * G / (1.0 / sides.v[k] + spec.c * spec.c / sides.v[l])


def evidence_bad(spec, sides, pool, k, l):
    """Return ``(E, surcharge, rival, z)`` of the best claim found that k is bad.

    E is the evidence, which needs L + surcharge.  The rival is an arm, k itself, or POOL.  z is how
    far k would have to rise at the minimum.

    Candidates are the pool; the rival l (none if -1), unless its likelihood ratio is less than the
    pool's by more than the grid could make up for; and k itself (multiplicative).  Any choice is
    valid, as the surcharge covers the risk of every rival.
    """
    c, e = spec.c, spec.e
    m_k, v_k = sides.m[k], sides.v[k]
    E: cython.double = -inf
    surcharge: cython.double = spec.surcharge_pool
    rival: cython.Py_ssize_t = POOL
    z: cython.double = 0.0
    G: cython.double
    ratio_pool: cython.double = -inf
    if pool[0] > 0.0 and surcharge < inf:
        shared = pool_side(spec, pool[0], pool[1])
        G = c * shared.m - e - m_k
        if G > 0.0:
            ratio_pool = 0.5 * G * G / (1.0 / v_k + c * c / shared.v) - surcharge
            V, W = pool[0] - sides.top_unit, pool[1] - sides.top_unit * sides.top
            rest = pool_side(spec, V if c * W > (e + m_k) * V else 0.0, W)
            need: cython.double = spec.need + surcharge
            weakest = pair(spec, BELOW, sides.side(k), shared, sides.rest(k), rest, need)
            E, z = weakest.E, weakest.z
    if l >= 0:
        ratio = ratio_bad(spec, sides, k, l)
        if ratio > -inf and ratio - spec.surcharge_rival > ratio_pool - 1.0:
            need = spec.need + spec.surcharge_rival
            weakest = pair(
                spec, BELOW, sides.side(k), sides.side(l), sides.rest(k), sides.rest(l), need
            )
            if weakest.E - spec.surcharge_rival > E - surcharge:
                E, surcharge, rival, z = weakest.E, spec.surcharge_rival, l, weakest.z
    if c < 1.0 and m_k < 0.0:
        negative = sign(spec, BELOW, sides.side(k), sides.rest(k))
        if negative - spec.surcharge_rival > E - surcharge:
            E, surcharge, rival, z = negative, spec.surcharge_rival, k, -m_k
    return E, surcharge, rival, z


def crossing_point(v_k, v_l, G, E):
    """Return roughly how far k would have to rise to cross l.

    With much evidence both sides move in inverse proportion to their precisions, as in the
    likelihood ratio.  With little, the side with the higher precision hardly moves, as the prior
    makes that unlikely; the formula for this was fitted to minima of the evidence.
    """
    share = v_l / (v_l + v_k)
    return G * share + 1.7 * (2.0 * share - 1.0) * exp(-E / 2.2) * sqrt(1.0 / v_k + 1.0 / v_l)


def estimate_bad(spec, sides, pool, k, l, cost):
    """Estimate ``evidence_bad`` by likelihood ratios of normal rewards, less ``cost``."""
    c, e = spec.c, spec.e
    m_k, v_k = sides.m[k], sides.v[k]
    E: cython.double = -inf
    surcharge: cython.double = spec.surcharge_pool
    rival: cython.Py_ssize_t = POOL
    z: cython.double = 0.0
    if pool[0] > 0.0 and surcharge < inf:
        mean = pool[1] / pool[0]
        G = c * mean - e - m_k
        if G > 0.0:
            v_l = spec.model.precision(pool[0], mean, 0.0, 1.0)
            E = 0.5 * G * G / (1.0 / v_k + c * c / v_l)
            z = crossing_point(v_k, v_l / (c * c), G, E)
    ratio = ratio_bad(spec, sides, k, l)
    if ratio - spec.surcharge_rival > E - surcharge:
        z = crossing_point(v_k, sides.v[l] / (c * c), c * sides.m[l] - e - m_k, ratio)
        E, surcharge, rival = ratio, spec.surcharge_rival, l
    ratio = 0.5 * v_k * m_k * m_k
    if c < 1.0 and m_k < 0.0 and ratio - spec.surcharge_rival > E - surcharge:
        E, surcharge, rival, z = ratio, spec.surcharge_rival, k, -m_k
    return E - cost, surcharge, rival, z


def claim_all(spec, sides, pool, labels, order, group, front, evidence, need, rival):
    """Compute the claims of all arms, from counts and averages alone; labels other than OPEN stay.

    Of rivals with equally many and equally noisy rewards the one with the highest mean is the
    hardest, as the evidence falls with the rival's mean.  ``group`` numbers the groups of such
    rivals, and ``order`` holds the arms group by group, the highest mean first.  Of each group only
    the two highest are tried: the second for the claim of the first.  ``order`` and ``front``, an
    array with one number per arm, are overwritten.
    """
    K = spec.num_arms
    top: cython.double = -inf
    for k in range(K):
        if sides.n[k] > 0.0:
            top = max(top, sides.m[k])
    bar = spec.c * top - spec.e
    number = find_frontier(sides, front)
    # First the arms that look bad: once certified, they are not rivals of the others.
    for k in range(K):
        if sides.m[k] < bar:
            l = likely_rival_among(spec, sides, k, front, number)
            evidence[k], surcharge, rival[k], _ = evidence_bad(spec, sides, pool, k, l)
            need[k] = spec.need + surcharge
            if labels[k] == OPEN and evidence[k] >= need[k]:
                labels[k] = BAD
    hard: cython.Py_ssize_t = hard_rivals(labels, order, group)
    E: cython.double
    for k in range(K):
        if sides.m[k] >= bar:
            need[k] = spec.need_good
            evidence[k], rival[k] = inf, k
            if spec.c < 1.0:
                evidence[k] = evidence_good(spec, sides, k, k)
            for i in range(hard):
                if order[i] == k:
                    continue
                E = evidence_good(spec, sides, k, order[i])
                if evidence[k] > E or isnan(E):  # nan, which proves nothing, stays
                    evidence[k], rival[k] = E, order[i]
            if labels[k] == OPEN and evidence[k] >= need[k]:
                labels[k] = GOOD


def hard_rivals(labels, order, group):
    """Move the rivals that must be tried to the front of ``order``; return how many."""
    hard: cython.Py_ssize_t = 0
    rank: cython.Py_ssize_t = 0  # of the present group
    last: cython.Py_ssize_t = -1
    a: cython.Py_ssize_t
    for i in range(order.shape[0]):
        a = order[i]
        if labels[a] != BAD:
            rank = rank + 1 if last >= 0 and group[a] == group[last] else 1
            last = a
            if rank <= 2:
                order[hard] = a
                hard += 1
    return hard
