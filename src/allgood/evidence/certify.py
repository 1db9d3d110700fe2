"""The evidence that an arm is good against one rival, or bad; and the claims of all arms at once.

The claims and what they need: ``claims.py``.
"""

import cython
from cython.cimports.allgood.evidence.spec import BAD, GOOD, OPEN, Meeting
from cython.cimports.allgood.kernels.c_math import exp, inf, sqrt
from cython.cimports.allgood.kernels.tally import Side

POOL = cython.declare(cython.Py_ssize_t, -1)
ABOVE = cython.declare(cython.double, 1.0)
BELOW = cython.declare(cython.double, -1.0)


def pair(spec, up, k, l, rest_k, rest_l, need):
    """The evidence of k and l, and where they meet; no more than that of their rests.

    No label rests on an odd reward: the evidence must be there with it and without it.  Where both
    sides have one, either may be the wrong one, so each is left out alone, too.  To demand more
    evidence than the theorem does can only keep a label open.
    """
    met = spec.pair_evidence(up, k, l, need)
    if rest_k.n == k.n and rest_l.n == l.n:
        return met
    if rest_k.n == 0.0 or rest_l.n == 0.0:
        return Meeting(min(met.E, 0.0), met.z)
    if rest_k.n < k.n:
        met = less(met, spec.pair_evidence(up, rest_k, l, need))
    if rest_l.n < l.n:
        met = less(met, spec.pair_evidence(up, k, rest_l, need))
    if rest_k.n < k.n and rest_l.n < l.n:
        met = less(met, spec.pair_evidence(up, rest_k, rest_l, need))
    return met


def less(one, other):
    """The one with less evidence."""
    return other if other.E < one.E else one


def pool_side(spec, V, W):
    """Rewards of the pool: the sums of 1 / sigma^2 and of reward / sigma^2."""
    if V <= 0.0:
        return Side(0.0, 0.0, 0.0, 0.0, spec.pool_unit)
    return Side(V, W / V, 0.0, spec.model.precision(V, W / V, 0.0, 1.0), spec.pool_unit)


def sign(spec, up, k, rest_k):
    """The evidence that the mean of k is above zero, or below; no more than that of its rest."""
    E: cython.double = spec.sign_evidence(up, k)
    if rest_k.n == k.n:
        return E
    return min(E, spec.sign_evidence(up, rest_k) if rest_k.n > 0.0 else 0.0)


def evidence_good(spec, sides, k, l):
    """That k is good as far as rival l goes; l = k (multiplicative): that mu_k >= 0."""
    if l == k:
        return sign(spec, ABOVE, sides.side(k), sides.rest(k))
    met = pair(
        spec, ABOVE, sides.side(k), sides.side(l), sides.rest(k), sides.rest(l), spec.need_good
    )
    return met.E


def likely_rival(spec, sides, k):
    """Of the arms above k: the one with the largest likelihood ratio against k, -1 if none is."""
    most: cython.double = -inf
    l: cython.Py_ssize_t = -1
    for a in range(spec.num_arms):
        ratio = ratio_bad(spec, sides, k, a)
        if ratio > most:
            most, l = ratio, a
            if sides.v[k] == 0.0:  # no ratio is larger
                break
    return l


def find_frontier(sides, front):
    """Write the arms to ``front`` that no other arm exceeds in mean and precision; return how many.

    The likelihood ratio of "k is bad because of l" grows with the mean and with the precision of l,
    so the likely rival of each arm is one of these.  Of arms that are equal in both, the first is
    taken.  Where all arms have equally many rewards there is one; usually there are a few.
    """
    number: cython.Py_ssize_t = 0
    left: cython.Py_ssize_t = 0  # behind the arms that were taken: those with more precision
    at: cython.Py_ssize_t
    kept: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    for i in range(front.shape[0]):
        if sides.v[i] >= 0.0 and sides.m[i] == sides.m[i]:  # neither is nan
            front[left] = i
            left += 1
    while number < left:
        at = number
        for i in range(number + 1, left):
            a, b = front[i], front[at]
            more: cython.bint = sides.v[a] > sides.v[b] or (sides.v[a] == sides.v[b] and a < b)
            if sides.m[a] > sides.m[b] or (sides.m[a] == sides.m[b] and more):
                at = i
        b = front[at]
        front[at] = front[number]
        front[number] = b
        number += 1
        kept = number
        for i in range(number, left):
            if sides.v[front[i]] > sides.v[b]:
                front[kept] = front[i]
                kept += 1
        left = kept
    return number


def likely_rival_among(spec, sides, k, front, number):
    """``likely_rival`` of k, found among the arms of the frontier."""
    most: cython.double = -inf
    l: cython.Py_ssize_t = -1
    a: cython.Py_ssize_t
    if sides.v[k] == 0.0:  # every ratio is 0
        return likely_rival(spec, sides, k)
    for i in range(number):
        a = front[i]
        if a == k and spec.c * sides.m[k] - spec.e > sides.m[k]:
            return likely_rival(spec, sides, k)  # k may hide the arms that it exceeds
        ratio = ratio_bad(spec, sides, k, a)
        if ratio > most or (ratio == most and a < l):
            most, l = ratio, a
    if most == 0.0:  # only arms without rewards lie above k: the first of them
        return likely_rival(spec, sides, k)
    return l


def ratio_bad(spec, sides, k, l):
    """The log likelihood ratio of "k is bad because of l"; -inf if k does not lie below."""
    G = spec.c * sides.m[l] - spec.e - sides.m[k]
    if G <= 0.0 or l == k:
        return -inf
    return 0.5 * G * G / (1.0 / sides.v[k] + spec.c * spec.c / sides.v[l])


def evidence_bad(spec, sides, pool, k, l):
    """``(E, toll, rival, z)`` of the best claim found that k is bad.

    E is the evidence, which needs L + toll.  The rival is an arm, k itself, or POOL.  z is how far
    k would have to rise at the minimum.

    Tried: the pool; the rival l (none if -1), unless its likelihood ratio trails the pool's by more
    than the grid could make up for; and k itself (multiplicative).  Any choice is valid, as each
    rival's risk is paid for.
    """
    c, e = spec.c, spec.e
    m_k, v_k = sides.m[k], sides.v[k]
    E: cython.double = -inf
    surcharge: cython.double = spec.toll_pool
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
            met = pair(spec, BELOW, sides.side(k), shared, sides.rest(k), rest, need)
            E, z = met.E, met.z
    if l >= 0:
        ratio = ratio_bad(spec, sides, k, l)
        if ratio > -inf and ratio - spec.toll_rival > ratio_pool - 1.0:
            need = spec.need + spec.toll_rival
            met = pair(
                spec, BELOW, sides.side(k), sides.side(l), sides.rest(k), sides.rest(l), need
            )
            if met.E - spec.toll_rival > E - surcharge:
                E, surcharge, rival, z = met.E, spec.toll_rival, l, met.z
    if c < 1.0 and m_k < 0.0:
        negative = sign(spec, BELOW, sides.side(k), sides.rest(k))
        if negative - spec.toll_rival > E - surcharge:
            E, surcharge, rival, z = negative, spec.toll_rival, k, -m_k
    return E, surcharge, rival, z


def place_to_meet(v_k, v_l, G, E):
    """How far k would have to rise to meet l, roughly.

    With much evidence both sides move in inverse proportion to their precisions, as in the
    likelihood ratio.  With little, the side with the higher precision hardly moves, as the prior
    punishes it; the formula for this was fitted to minima of the evidence.
    """
    share = v_l / (v_l + v_k)
    return G * share + 1.7 * (2.0 * share - 1.0) * exp(-E / 2.2) * sqrt(1.0 / v_k + 1.0 / v_l)


def estimate_bad(spec, sides, pool, k, l, cost):
    """What ``evidence_bad`` gives, roughly: likelihood ratios of normal rewards, less ``cost``."""
    c, e = spec.c, spec.e
    m_k, v_k = sides.m[k], sides.v[k]
    E: cython.double = -inf
    surcharge: cython.double = spec.toll_pool
    rival: cython.Py_ssize_t = POOL
    z: cython.double = 0.0
    if pool[0] > 0.0 and surcharge < inf:
        mean = pool[1] / pool[0]
        G = c * mean - e - m_k
        if G > 0.0:
            v_l = spec.model.precision(pool[0], mean, 0.0, 1.0)
            E = 0.5 * G * G / (1.0 / v_k + c * c / v_l)
            z = place_to_meet(v_k, v_l / (c * c), G, E)
    ratio = ratio_bad(spec, sides, k, l)
    if ratio - spec.toll_rival > E - surcharge:
        z = place_to_meet(v_k, sides.v[l] / (c * c), c * sides.m[l] - e - m_k, ratio)
        E, surcharge, rival = ratio, spec.toll_rival, l
    ratio = 0.5 * v_k * m_k * m_k
    if c < 1.0 and m_k < 0.0 and ratio - spec.toll_rival > E - surcharge:
        E, surcharge, rival, z = ratio, spec.toll_rival, k, -m_k
    return E - cost, surcharge, rival, z


def claim_all(spec, sides, pool, labels, order, group, front, evidence, need, rival):
    """The claims of all arms, from counts and averages alone; labels other than OPEN stay.

    Of rivals with equally many and equally noisy rewards the one with the highest mean is the
    hardest, as the evidence falls with the rival's mean.  ``group`` tells which rivals are alike in
    this way, and ``order`` holds the arms group by group, the highest mean first.  Of each group
    only the two highest are looked at: the second for the claim of the first.  ``order`` is used
    up, and so is ``front``, room for one number per arm.
    """
    K = spec.num_arms
    top: cython.double = -inf
    for k in range(K):
        if sides.n[k] > 0.0:
            top = max(top, sides.m[k])
    bar = spec.c * top - spec.e
    number = find_frontier(sides, front)
    # First the arms that look bad: once certified, they are no rivals of the others.
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
                if evidence[k] > E:
                    evidence[k], rival[k] = E, order[i]
            if labels[k] == OPEN and evidence[k] >= need[k]:
                labels[k] = GOOD


def hard_rivals(labels, order, group):
    """Move the rivals that must be looked at to the front of ``order``; returns how many."""
    hard: cython.Py_ssize_t = 0
    seen: cython.Py_ssize_t = 0  # of the present group
    last: cython.Py_ssize_t = -1
    a: cython.Py_ssize_t
    for i in range(order.shape[0]):
        a = order[i]
        if labels[a] != BAD:
            seen = seen + 1 if last >= 0 and group[a] == group[last] else 1
            last = a
            if seen <= 2:
                order[hard] = a
                hard += 1
    return hard
