"""Evidence for one arm's label, and the claims that rest on it: certified good, certified bad, or open.

Arm k is good when mu_k >= c mu_l - e for every arm l (``objectives.py``).  Each arm's label is certified by itself,
with a bound for just the arms that the mistake would involve, so that the number of arms enters through log K only.

One arm.  Let it have precision v = N / sigma^2 and empirical mean m.  Against the mean x, in favour of a larger one,
average the likelihood ratio over a half-normal effect of precision rho (in units of the arm's own 1/sigma^2):

    M = 2 Phi(y) exp(y^2/2) sqrt(rho / (v + rho)),        y = v (m - x) / sqrt(v + rho).

If the true mean is at most x, M is a supermartingale started at 1, for normal and for sub-Gaussian rewards.  It grows
with y.  In favour of a smaller mean: the same with -y.

Two arms.  Let G = m_k - c m_l + e.  Suppose that k and l meet on the threshold, at t and (t + e)/c; then k was seen
z = m_k - t above its place, and l (G - z)/c below its own.  The evidence for mu_k >= c mu_l - e is the least over all
places to meet,

    E = min over z of  log( sum_ij W_ij M_i(y_i) M_j(y_j) + sum_j T_j M_j(y'_j) ),

    y_i = v_k z / sqrt(v_k + rho_i),        y_j = v_l (G - z)/c / sqrt(v_l + rho_j),

    y'_j = (sigma_k v_k z + sigma_l v_l (G - z)/c) / sqrt(N + rho_j),        N = N_k + N_l in the place of v in M_j.

The function of z is convex.  The evidence for mu_k < c mu_l - e is the same with -G.  W and T are a prior over the two
effects, and sum to 1.  W: independent, of precisions mostly alike, but not always, for a much better known arm moves
less.  T: *tied*, the same multiple of sigma, as at the minimum for two arms that are pulled in the best proportions.
One effect costs less than two, so with two arms, which nothing keeps from these proportions, T is most of the prior.

Claims, with L = log(K/delta) and n the number of possible rivals:

    "k is good"   when for every rival l, now or earlier,   E(k good against l)        >= L'  (below; at most L);
    "k is bad"    when                                      E(k bad against the pool)  >= L + log(1/p),
                  or for one rival l                        E(k bad against l)         >= L + log(n/(1 - p)).

The *pool* is made of rewards put aside, each chosen **before it was seen**, and treated as those of one arm.  Whether
there is one is settled before the experiment: p is POOLED if so, else 0, as it is where there is a single rival.  With
a multiplicative objective each arm is also a rival of its own: mu_k >= c mu_k says that mu_k >= 0, and the evidence is
that of one arm against x = 0.  L' is log((K - 1)/delta) if the objective is additive, K > 1 and p = 0, else L.

Theorem.  With probability at least 1 - delta no label is ever certified wrongly, whatever chooses the arms and however
often one looks.  Proof.  Fix the true means and an arm k.

(k is bad.)  Let l be k itself if the objective is multiplicative and mu_k < 0, else the best arm, which is good; then
mu_k < c mu_l - e.  At t = mu_k the arm k is tested against its true mean, and l, in favour of less, against (mu_k +
e)/c < mu_l.  Each reward belongs to at most one of the two, so the product of two likelihood ratios with effects >= 0,
and the average of such products over W and T, is a supermartingale started at 1; by Ville's inequality it ever reaches
exp L' with probability at most exp -L'.  E is at most the log of its value at this t.  (Rivals certified bad may be
left out: until the first wrong label l is not among them.)

(k is good.)  Every arm l has mu_l <= (mu_k + e)/c.  At t = mu_k the average for "k is bad against l" is again a
supermartingale started at 1.  So is the one for the pool: whether a reward joins is settled before it is drawn, and
its mean is at most (mu_k + e)/c.  A reward of k itself may join: with effects -a and b in the two factors its expected
contribution is at most exp(-a b / sigma^2) <= 1.  Hence a wrong claim comes from the pool with probability at most p
delta/K, and from each of n rivals with at most (1 - p)/n delta/K.

Each arm is in one of the two cases; if L' = L, the sum over arms is at most delta.

(L' < L.)  Then c = 1, and "k is bad" rests on one of n = K - 1 rivals.  Let B arms be bad, and let * be the best arm.
If l is bad, "* is bad because of l" needs no risk of its own: E(l good against *) is a function of m_l - m_* + e that
grows, and stays the same when the two arms change places; E(* bad because of l) is its value at m_l - m_* - e.  So
where the latter reaches L + log n the former exceeds L', which was counted for l.  There remain B wrong "good" at
delta/(K - 1) each, K - 1 - B good arms other than * at delta/K each, and * because of these, at delta/(K (K - 1)) each:
delta times B/(K - 1) + (K - 1 - B) (1/K + 1/(K (K - 1))), which is 1.

Notation of the kernels
-----------------------
v, m     float64      precision and empirical mean of an arm
rho      float64[J]   precisions of the half-normal effects, for sigma = 1; those of an arm are u rho, u = 1/sigma^2
W, T, w  float64[J,J], float64[J], float64[J]   their weights for two arms (sum 1, W symmetric), and for one (sum 1)
N, labels, pool       counts; OPEN, GOOD or BAD; sums of 1 / sigma^2 and of reward / sigma^2 over the pool
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._check import Vector, means_array, probability, weights_array
from ._jit import jit
from .models import Gaussian
from .objectives import Objective

OPEN, GOOD, BAD = range(3)
POOL = -1  # in the place of a rival

# Effects of half of sigma down to a five-hundredth.  Weights: what a hundred to a few thousand pulls can see.
PRECISIONS = (5.0, 70.0, 1e3, 1.4e4, 2e5)
WEIGHTS = (0.18, 0.34, 0.26, 0.14, 0.08)
UNLIKE = 0.4  # for each step by which the precisions of two effects differ
TIED, TIED_OF_TWO = 0.3, 0.9  # sum of T; with two arms
POOLED = 0.9  # part of the risk of a wrong "bad" that the pool may run; the rest is for single rivals
TOLERANCE = 1e-3  # how much less than the minimum the evidence may be

ROOT_2 = math.sqrt(2.0)
ROOT_2_OVER_PI = math.sqrt(2.0 / math.pi)


class Question(NamedTuple):
    """What the kernels need to know.  A strategy's spec has these fields."""

    c: float
    e: float
    unit: np.ndarray  # float64[K]  precision of one reward, 1 / sigma^2
    pool_unit: float  # the same of the noisiest arm, for the pool
    need_good: float  # L'
    need: float  # L
    toll_pool: float  # what "bad" needs in addition: through the pool
    toll_rival: float  # and through one rival
    rho: np.ndarray  # float64[J]
    W: np.ndarray  # float64[J, J]
    T: np.ndarray  # float64[J]
    w: np.ndarray  # float64[J]


def question(objective: Objective, delta: float, num_arms: int, model: Gaussian, pooled: float) -> Question:
    """``pooled`` is p, but 0 where there is a single rival: a pool of one arm would only cost."""
    sigma = model.sigmas(num_arms)
    root, step = np.sqrt(WEIGHTS), np.arange(len(WEIGHTS))
    W = np.outer(root, root) * UNLIKE ** np.abs(np.subtract.outer(step, step))
    W /= W.sum()
    w = W.sum(axis=1)
    tied = TIED_OF_TWO if num_arms == 2 else TIED
    rivals = num_arms - 1 if objective.factor == 1.0 else num_arms
    pooled = pooled if rivals > 1 else 0.0
    fewer = objective.factor == 1.0 and pooled == 0.0 and num_arms > 1
    return Question(
        c=objective.factor,
        e=objective.slack,
        unit=1.0 / sigma**2,
        pool_unit=1.0 / float(sigma.max()) ** 2,
        need_good=math.log((num_arms - fewer) / delta),
        need=math.log(num_arms / delta),
        toll_pool=-math.log(pooled) if pooled > 0.0 else math.inf,
        toll_rival=math.log(max(rivals, 1) / (1.0 - pooled)),
        rho=np.array(PRECISIONS),
        W=(1.0 - tied) * W,
        T=tied * w,
        w=w,
    )


@jit
def half_normal(y):
    """g and x with 2 Phi(y) exp(y^2/2) = g exp(x), and two derivatives of the logarithm of this.

    With h = phi(y)/Phi(y) the derivatives are y + h and 1 - h (y + h).  Far below zero, where both terms are large and
    cancel, by Laplace's continued fraction: for x = -y, h = x + s with s = 1/(x + 2/(x + 3/(x + ...))).
    """
    if y > -5.0:
        twice = math.erfc(-y / ROOT_2)
        h = ROOT_2_OVER_PI * math.exp(-0.5 * y * y) / twice
        return twice, 0.5 * y * y, y + h, 1.0 - h * (y + h)
    x, s = -y, 0.0
    for n in range(30, 0, -1):
        s = n / (x + s)
    return ROOT_2_OVER_PI / (x + s), 0.0, s, 1.0 - (x + s) * s


@jit
def arm_evidence(v, m, rho, w, u=1.0):
    """log sum_j w_j M_j in favour of a mean above zero."""
    top, total = -np.inf, 0.0
    for j in range(rho.size):
        g, x, _, _ = half_normal(v * m / math.sqrt(v + u * rho[j]))
        x -= 0.5 * math.log1p(v / (u * rho[j]))
        if x > top:
            total *= math.exp(top - x)
            top = x
        total += w[j] * g * math.exp(x - top)
    return top + math.log(total)


@jit
def pair_evidence(v_k, v_l, G, c, rho, W, T, u_k=1.0, u_l=1.0):
    """``(E, z)``: at most the minimum, by TOLERANCE at most, and the place where it is taken.

    Newton's method within a bracket, f being the log of the sum.  f is convex: where its slope is
    f1 and the minimum at most ``room`` away, it is nowhere below f - |f1| room.  This bound is what is returned, so
    that an early end costs evidence and never the guarantee.  Steps are one percent too long, to land beyond the
    minimum and close the bracket.
    """
    if v_k == 0.0 or v_l == 0.0:
        return -np.inf, 0.0
    J = rho.size
    a, a0, a1, a2, b, b0, b1, b2, p, p0, q, q0, r, r0 = np.empty((14, J))
    N = v_k / u_k + v_l / u_l
    for j in range(J):
        rho_k, rho_l = u_k * rho[j], u_l * rho[j]
        p[j], p0[j] = v_k / math.sqrt(v_k + rho_k), 0.5 * math.log1p(v_k / rho_k)
        q[j], q0[j] = v_l / c / math.sqrt(v_l + rho_l), 0.5 * math.log1p(v_l / rho_l)
        r[j], r0[j] = 1.0 / math.sqrt(N + rho[j]), 0.5 * math.log1p(N / rho[j])
    s_k, s_l = v_k / math.sqrt(u_k), v_l / c / math.sqrt(u_l)
    low, high, best = -np.inf, np.inf, -np.inf
    jump = 1.0 / math.sqrt(v_k) + c / math.sqrt(v_l)
    z = G * (v_l / (v_l + c * c * v_k))  # where the likelihood ratio alone has its minimum
    place = z
    for _ in range(100):
        top_a, top_b = -np.inf, -np.inf
        for j in range(J):
            a[j], x, slope, bend = half_normal(p[j] * z)
            a0[j], a1[j], a2[j] = x - p0[j], p[j] * slope, p[j] * p[j] * bend
            b[j], x, slope, bend = half_normal(q[j] * (G - z))
            b0[j], b1[j], b2[j] = x - q0[j], -q[j] * slope, q[j] * q[j] * bend
            top_a, top_b = max(top_a, a0[j]), max(top_b, b0[j])
        for j in range(J):
            a[j] *= math.exp(a0[j] - top_a)
            b[j] *= math.exp(b0[j] - top_b)
        S, S1, S2 = 0.0, 0.0, 0.0
        for i in range(J):
            R, R1, R2 = 0.0, 0.0, 0.0
            for j in range(J):
                x = W[i, j] * b[j]
                R += x
                R1 += x * b1[j]
                R2 += x * (b2[j] + b1[j] * b1[j])
            S += a[i] * R
            S1 += a[i] * (a1[i] * R + R1)
            S2 += a[i] * ((a2[i] + a1[i] * a1[i]) * R + 2.0 * a1[i] * R1 + R2)
        top = top_a + top_b
        for j in range(J):
            x, x0, slope, bend = half_normal(r[j] * (s_k * z + s_l * (G - z)))
            x0 -= r0[j] + top
            if x0 > 0.0:
                y = math.exp(-x0)
                S, S1, S2, top, x0 = y * S, y * S1, y * S2, top + x0, 0.0
            x, y = T[j] * x * math.exp(x0), r[j] * (s_k - s_l)
            S += x
            S1 += x * y * slope
            S2 += x * y * y * (bend + slope * slope)
        f, f1 = top + math.log(S), S1 / S
        f2 = S2 / S - f1 * f1
        if f1 < 0.0:
            low, room = z, high - z
        else:
            high, room = z, z - low
        bound = f - abs(f1) * room if f1 != 0.0 else f
        if bound > best:
            best, place = bound, z
        if f - best <= TOLERANCE:
            break
        new = z - 1.01 * f1 / f2 if f2 > 0.0 else np.inf
        if not (low < new < high and abs(new - z) <= 10.0 * jump):
            if room < np.inf:
                new = 0.5 * (low + high)
            else:
                new = z - math.copysign(jump, f1)
                jump *= 4.0
        z = new
    return best, place


@jit
def evidence_good(ask, N, m, k, l):
    """That k is good as far as rival l goes; l = k (multiplicative): that mu_k >= 0."""
    u_k, u_l = ask.unit[k], ask.unit[l]
    if l == k:
        return arm_evidence(N[k] * u_k, m[k], ask.rho, ask.w, u_k)
    return pair_evidence(N[k] * u_k, N[l] * u_l, m[k] + ask.e - ask.c * m[l], ask.c, ask.rho, ask.W, ask.T, u_k, u_l)[0]


@jit
def evidence_bad(ask, N, m, pool, k):
    """``(E, toll, rival, z)`` of the best claim found that k is bad.

    Tried: the pool; the rival with the largest likelihood ratio, unless that trails the pool's by more than the grid
    could make up for; and k itself (multiplicative).  Any choice is valid, as each rival's risk is paid for.
    """
    c, u_k = ask.c, ask.unit[k]
    v_k = N[k] * u_k
    E, toll, rival, z = -np.inf, ask.toll_pool, POOL, 0.0
    ratio_pool = -np.inf
    if pool[0] > 0.0:
        G = c * (pool[1] / pool[0]) - ask.e - m[k]
        if G > 0.0:
            ratio_pool = 0.5 * G * G / (1.0 / v_k + c * c / pool[0]) - ask.toll_pool
            E, z = pair_evidence(v_k, pool[0], G, c, ask.rho, ask.W, ask.T, u_k, ask.pool_unit)
    most, l = -np.inf, -1
    for a in range(m.size):
        G = c * m[a] - ask.e - m[k]
        if G > 0.0 and a != k:
            ratio = 0.5 * G * G / (1.0 / v_k + c * c / (N[a] * ask.unit[a]))
            if ratio > most:
                most, l = ratio, a
    if l >= 0 and most - ask.toll_rival > ratio_pool - 1.0:
        u_l = ask.unit[l]
        found, place = pair_evidence(v_k, N[l] * u_l, c * m[l] - ask.e - m[k], c, ask.rho, ask.W, ask.T, u_k, u_l)
        if found - ask.toll_rival > E - toll:
            E, toll, rival, z = found, ask.toll_rival, l, place
    if c < 1.0 and m[k] < 0.0:
        found = arm_evidence(v_k, -m[k], ask.rho, ask.w, u_k)
        if found - ask.toll_rival > E - toll:
            E, toll, rival, z = found, ask.toll_rival, k, -m[k]
    return E, toll, rival, z


@jit
def claim_all(ask, N, m, pool, labels, evidence, need, rival):
    """The claims of all arms, from a tally alone; labels other than OPEN stay."""
    K = N.size
    top = -np.inf
    for k in range(K):
        if N[k] > 0.0:
            top = max(top, m[k])
    bar = ask.c * top - ask.e
    for k in range(K):  # first those that look bad: once certified, they are no rivals of the others
        if m[k] < bar:
            evidence[k], toll, rival[k], _ = evidence_bad(ask, N, m, pool, k)
            need[k] = ask.need + toll
            if labels[k] == OPEN and evidence[k] >= need[k]:
                labels[k] = BAD
    for k in range(K):
        if m[k] >= bar:
            need[k] = ask.need_good
            evidence[k], rival[k] = np.inf, k
            for l in range(K):
                if labels[l] == BAD or (l == k and ask.c == 1.0):
                    continue
                E = evidence_good(ask, N, m, k, l)
                if evidence[k] > E:
                    evidence[k], rival[k] = E, l
            if labels[k] == OPEN and evidence[k] >= need[k]:
                labels[k] = GOOD


@dataclass(frozen=True, eq=False)
class Claims:
    """What is certain about each arm.

    Attributes:
        good, bad, open: which arms are certified good, certified bad, and neither; one True or False per arm.
        evidence: for the label that the empirical means suggest, one number per arm.
        need: what that evidence must reach.
        rival: the arm that the evidence rests on, beside the arm itself: the hardest one for good arms, the most
            helpful one for bad arms.  The arm itself where there is none; -1 for the pool.
    """

    good: npt.NDArray[np.bool_]
    bad: npt.NDArray[np.bool_]
    open: npt.NDArray[np.bool_]
    evidence: Vector
    need: Vector
    rival: npt.NDArray[np.int64]


def claims(
    counts: npt.ArrayLike,
    means: npt.ArrayLike,
    objective: Objective,
    delta: float,
    model: Gaussian = Gaussian(),  # noqa: B008 - immutable
    *,
    before: Claims | None = None,
    pool: tuple[float, float] | None = None,
) -> Claims:
    """Which arms are certified good or bad by these counts and empirical means.

    All certified labels of a whole experiment are right with probability at least 1 - delta, however often one looks.
    The work grows with the square of the number of arms: seconds at a thousand.

    Args:
        counts: measurements of each arm, none or more.
        means: their averages; any number where there are none.
        objective: the question.
        delta: the risk.
        model: the noise.
        before: earlier claims of the same experiment, which stay certified.
        pool: rewards put aside before they were seen: the sums of 1 / sigma^2 and of reward / sigma^2 over them.
            Given always or never in one experiment.

    >>> from allgood import Additive, claims
    >>> found = claims([4000, 4000, 4000], [1.0, 0.9, 0.0], Additive(0.5), delta=0.05)
    >>> found.good, found.bad
    (array([ True,  True, False]), array([False, False,  True]))
    """
    objective, model = Objective.check(objective), Gaussian.check(model)
    m = means_array(means)
    N = weights_array(counts, m.size, "counts")
    sums = np.zeros(2) if pool is None else np.asarray(pool, dtype=np.float64)
    if sums.shape != (2,) or not np.isfinite(sums).all() or sums[0] < 0.0:
        raise ValueError(f"pool must hold two finite numbers, the first not negative: got {pool!r}.")
    if before is not None and (not isinstance(before, Claims) or before.good.size != m.size):
        raise ValueError(f"before must be earlier Claims about the same {m.size} arms: got {before!r}.")
    ask = question(objective, probability("delta", delta), m.size, model, 0.0 if pool is None else POOLED)
    labels = np.zeros(m.size, np.int64)
    if before is not None:
        labels[before.good], labels[before.bad] = GOOD, BAD
    return claims_from(ask, N, m, sums, labels)


def claims_from(ask: Question, N: Vector, m: Vector, pool: Vector, labels: npt.NDArray[np.int64]) -> Claims:
    """``claims`` from what the kernels know; ``labels`` are those certified before, and stay."""
    labels = labels.copy()
    evidence, need, rival = np.empty(m.size), np.empty(m.size), np.empty(m.size, np.int64)
    claim_all(ask, N, m, pool, labels, evidence, need, rival)
    return Claims(labels == GOOD, labels == BAD, labels == OPEN, evidence, need, rival)
