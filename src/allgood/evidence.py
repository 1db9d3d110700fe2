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

Other families (``models.py``).  The effects are shifts of the natural parameter, from 3 down to 3/2048, and none:

    M = likelihood of the rewards at the mean x shifted by eta, over that at x.

They have mean at most 1 where they have to, and a reward that enters both factors contributes at most 1, because the
cumulant function is convex and zero at zero: the proof above holds word for word.  Where (t + e)/c would exceed the
largest mean, l is tested against that mean.  Shifts of two arms are alike with weight T.  (L' < L: whatever t' is, at t
= t' + e the average for "* is bad because of l" has the same factor for *, and one for l against t' + 2e instead of
t', which is smaller; so E is.)

Unknown sigma.  With Q the scatter of the n rewards about their mean, s = n (m - x) and a half-normal effect of
precision rho in units of sigma, the scale integrated out (Haar), the average is

    M = 2 T(n) exp(u^2/2) sqrt(rho / (n + rho)),       u^2 = n log(1 + s^2 / ((n + rho) Q + rho s^2 / n)),  sign of s,

T(n) being Student's distribution function with n degrees of freedom at sqrt(n) s / sqrt((n + rho) Q + rho s^2 / n).  It
is at least Phi(u) if s < 0 and Phi(u sqrt(1 - 1/(2n))) if s > 0 (Wallace 1959), which is used in its place.  M is a
martingale among what the arm's own rewards tell up to scale, not among what is known in all, so a product of two need
not be one.  But P(sup over n of M >= u) <= 1/u for each arm's stream of rewards, whatever is pulled when, and the
streams are independent: so the sum of two logs, at the true means, ever exceeds y with probability at most
(1 + y) exp(-y).  E is then the least of log M_k + log M_l, each M averaged over rho by itself, and L is where
(1 + y) exp(-y) = delta/K; likewise with delta/(K n) for "bad".  M falls as x grows, so a mean beyond x costs nothing.
There is no pool.

For these the minimum over z is certified without convexity: one factor falls with t and the other grows, so that on an
interval both are at least what they are at one of its ends.

Notation of the kernels
-----------------------
v, m     float64      precision and empirical mean of an arm
rho      float64[J]   precisions of the half-normal effects, for sigma = 1; those of an arm are u rho, u = 1/sigma^2
W, T, w  float64[J,J], float64[J], float64[J]   their weights for two arms (sum 1, W symmetric), and for one (sum 1)
N, labels, pool       counts; OPEN, GOOD or BAD; sums of 1 / sigma^2 and of reward / sigma^2 over the pool (of 1 and of
                      reward, for other families)
Q        float64[K]   scatter of each arm's rewards, read only where sigma is unknown
eta      float64[J]   shifts, or for unknown sigma sizes 1 / sqrt(rho) of the effects; the last is 0: no effect
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._check import Vector, means_array, probability, weights_array
from ._jit import inlined, jit
from .models import BERNOULLI, NORMAL, POISSON, STUDENT, Gaussian, Model, inverse, log_ratio
from .objectives import Objective
from .parts import dispatch
from .thresholds import half_widths, hinv

OPEN, GOOD, BAD = range(3)
POOL = -1  # in the place of a rival

# Effects of half of sigma down to a five-hundredth.  Weights: what a hundred to a few thousand pulls can see.
PRECISIONS = (5.0, 70.0, 1e3, 1.4e4, 2e5)
WEIGHTS = (0.18, 0.34, 0.26, 0.14, 0.08)
UNLIKE = 0.4  # for each step by which the precisions of two effects differ
TIED = 0.3  # sum of T
# Two arms stay in balance and are soon decided, so a shorter grid serves them better up to a hundred thousand pulls.
PRECISIONS_OF_TWO = (8.0, 100.0, 1.5e3, 3e4)
WEIGHTS_OF_TWO = (0.3, 0.4, 0.2, 0.1)
TIED_OF_TWO = 0.95
POOLED = 0.9  # part of the risk of a wrong "bad" that the pool may run; the rest is for single rivals
TOLERANCE = 1e-3  # how much less than the minimum the evidence may be

SHIFTS = 3.0 * 0.5 ** np.arange(12)
CENTRE, SPREAD = 0.15, 1.8  # the weights of shifts are log-normal about this one
TAIL = 1.5  # weights of two shifts that differ by a factor 2^d fall as (1 + d)^-TAIL
NO_EFFECT = 0.02  # weight of no effect, for each of the two arms

# Unknown sigma.  Large effects too: without them a few rewards could not tell much.
PRECISIONS_UNKNOWN = (0.3, 3.0, 30.0, 3e2, 3e3, 3e4, 3e5)
WEIGHTS_UNKNOWN = (0.05, 0.10, 0.17, 0.24, 0.22, 0.12, 0.08)

ROOT_2 = math.sqrt(2.0)
ROOT_2_OVER_PI = math.sqrt(2.0 / math.pi)


class Question(NamedTuple):
    """What the kernels need to know.  A strategy's spec has these fields."""

    family: int
    c: float
    e: float
    low: float  # the least mean
    high: float  # the largest
    unit: np.ndarray  # float64[K]  precision of one reward, 1 / sigma^2; 1 for other families
    pool_unit: float  # the same of the noisiest arm, for the pool
    need_good: float  # L'
    need: float  # L
    toll_pool: float  # what "bad" needs in addition: through the pool
    toll_rival: float  # and through one rival
    rough: bool  # other families: evidence that is far from what is needed may be found roughly, and quickly
    rho: np.ndarray  # float64[J]  precisions of the effects; for other families eta
    W: np.ndarray  # float64[J, J]
    T: np.ndarray  # float64[J]
    w: np.ndarray  # float64[J]


def question(
    objective: Objective, delta: float, num_arms: int, model: Model, pooled: float, at_first: int | None = None
) -> Question:
    """``pooled`` is p, but 0 where there is a single rival: a pool of one arm would only cost.

    ``at_first``: K, where it was larger when the question was put and some arms have been withdrawn, unmeasured.
    """
    K = num_arms if at_first is None else at_first
    rivals = max(K - 1 if objective.factor == 1.0 else K, 1)
    pooled = pooled if rivals > 1 and model.family != STUDENT else 0.0
    fewer = objective.factor == 1.0 and pooled == 0.0 and K > 1
    rho, W, T, w = prior(model.family, K)
    unit = 1.0 / model.sigmas(num_arms) ** 2 if model.family == NORMAL else np.ones(num_arms)
    need_good, need = math.log((K - fewer) / delta), math.log(K / delta)
    need_rival = need + math.log(rivals / (1.0 - pooled))
    if model.family == STUDENT:
        need_good, need, need_rival = (hinv(1.0 + x) - 1.0 for x in (need_good, need, need_rival))
    kind = Question if model.family == NORMAL else FamilyQuestion
    return kind(
        family=model.family,
        c=objective.factor,
        e=objective.slack,
        low=model.range[0],
        high=model.range[1],
        unit=unit,
        pool_unit=float(unit.min()),
        need_good=need_good,
        need=need,
        toll_pool=-math.log(pooled) if pooled > 0.0 else math.inf,
        toll_rival=need_rival - need,
        rough=False,
        rho=rho,
        W=W,
        T=T,
        w=w,
    )


def prior(family: int, num_arms: int) -> tuple[Vector, npt.NDArray[np.float64], Vector, Vector]:
    """rho, or eta, and the weights W, T and w."""
    if family == STUDENT:
        w = np.append((1.0 - NO_EFFECT) * np.array(WEIGHTS_UNKNOWN) / sum(WEIGHTS_UNKNOWN), NO_EFFECT)
        return np.append(1.0 / np.sqrt(PRECISIONS_UNKNOWN), 0.0), np.outer(w, w), np.zeros(0), w
    two = num_arms == 2
    tied = TIED_OF_TWO if two else TIED
    if family == NORMAL:
        weights = WEIGHTS_OF_TWO if two else WEIGHTS
        root, step = np.sqrt(weights), np.arange(len(weights))
        W = np.outer(root, root) * UNLIKE ** np.abs(np.subtract.outer(step, step))
        W /= W.sum()
        w = W.sum(axis=1)
        return np.array(PRECISIONS_OF_TWO if two else PRECISIONS), (1.0 - tied) * W, tied * w, w
    w = np.exp(-0.5 * (np.log(SHIFTS / CENTRE) / SPREAD) ** 2)
    w /= w.sum()
    W = np.sqrt(np.outer(w, w)) / (1.0 + np.abs(np.subtract.outer(np.log2(SHIFTS), np.log2(SHIFTS)))) ** TAIL
    W = (1.0 - 2.0 * NO_EFFECT) * ((1.0 - tied) * W / W.sum() + tied * np.diag(w))
    alone = NO_EFFECT * w
    W = np.block([[W, alone[:, None]], [alone[None, :], np.zeros((1, 1))]])
    return np.append(SHIFTS, 0.0), W, np.zeros(0), W.sum(axis=1)


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
def student(n, m, Q, x, eta):
    """A lower bound on log M for unknown sigma, effects of size eta; see the head."""
    rho = 1.0 / (eta * eta)
    s = n * (m - x)
    if eta < 0.0:
        s = -s
    if s == 0.0:
        return -0.5 * math.log1p(n / rho)
    u2 = n * math.log1p(1.0 / ((n + rho) * Q / (s * s) + rho / n))
    r2 = 1.0 - 0.5 / n if s > 0.0 else 1.0
    g, y, _, _ = half_normal(math.copysign(math.sqrt(r2 * u2), s))
    return math.log(g) + y + 0.5 * (1.0 - r2) * u2 - 0.5 * math.log1p(n / rho)


@jit
def factor(family, n, m, Q, x, eta):
    """log M of n rewards with mean m against x, in favour of more (eta > 0), of less (eta < 0), or of nothing (0)."""
    if eta == 0.0:
        return 0.0
    if family == STUDENT:
        return student(n, m, Q, x, eta)
    return log_ratio(family, n, n * m, x, eta)


@jit
def alone(family, n, m, Q, x, eta, w, up):
    """log sum_j w_j M_j of one arm against x: in favour of more if ``up`` is 1, of less if -1."""
    top, total = 0.0, 0.0  # that of no effect
    for j in range(eta.size):
        a = factor(family, n, m, Q, x, up * eta[j])
        if a > top:
            total *= math.exp(top - a)
            top = a
        total += w[j] * math.exp(a - top)
    return top + math.log(total)


@jit
def arm_bound(family, n, m, Q, eta, w, level, up, far):
    """The means above m (``up`` = 1) or below it (-1) are refuted from here on: evidence >= ``level``.

    ``far``: a bound that holds already, perhaps the end of the range; the answer is no further from m.
    """
    if (far - m) * up <= 0.0:
        return far
    near = m
    if math.isinf(far) or far in (0.0, 1.0):
        if family == STUDENT:
            if Q == 0.0:
                return far
            x = m + up * math.sqrt(2.0 * level * Q) / n
        else:
            x = inverse(family, m, (level + 2.0) / n, up > 0.0)
    else:
        value = alone(family, n, m, Q, far, eta, w, -up)
        if value < level + 0.02:
            return far
        x = m + (far - m) * math.sqrt(level / value)
    for _ in range(200):
        if not min(near, far) < x < max(near, far):
            x = 0.5 * (near + far)
        if x in (near, far):
            break
        value = alone(family, n, m, Q, x, eta, w, -up)
        if value < level:
            near = x
            x = m + 1.1 * (x - m) if math.isinf(far) else 0.5 * (near + far)
        else:
            far = x
            if value < level + 0.02:
                break
            x = m + (x - m) * math.sqrt(level / value)
    return far


@jit
def joint(ask, up, n_k, m_k, Q_k, t, n_l, m_l, Q_l, s, b):
    """log sum_ij W_ij M_i M_j: k against t, for more if ``up`` is 1, of less if -1; l against s, the other way."""
    J, W = ask.rho.size, ask.W
    top_b = -np.inf
    for j in range(J):
        b[j] = factor(ask.family, n_l, m_l, Q_l, s, -up * ask.rho[j])
        top_b = max(top_b, b[j])
    if top_b == np.inf:
        return np.inf
    for j in range(J):
        b[j] = math.exp(b[j] - top_b)
    top, total = 0.0, 0.0  # that of no effect
    for i in range(J):
        row = 0.0
        for j in range(J):
            row += W[i, j] * b[j]
        a = factor(ask.family, n_k, m_k, Q_k, t, up * ask.rho[i])
        if a == np.inf:  # against a mean at which these rewards are impossible
            return np.inf
        if a > top:
            total *= math.exp(top - a)
            top = a
        total += row * math.exp(a - top)
    return top + top_b + math.log(total) if total > 0.0 else -np.inf


@jit
def corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, left, right, b):
    """A lower bound on the evidence for every t from left to right; the evidence at t itself where both are t."""
    if up < 0.0:
        left, right = right, left
    return joint(ask, up, n_k, m_k, Q_k, right, n_l, m_l, Q_l, min((left + ask.e) / ask.c, ask.high), b)


@jit
def exceeds(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, start, end, stride, need, b):
    """Whether the evidence is shown to reach ``need`` for every t from start to end."""
    left, right = min(start, end), max(start, end)
    if corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, left, right, b) >= need:
        return True
    small = 1e-3 * stride
    toward = 1.0 if end > start else -1.0
    for _ in range(10_000):
        new = start + toward * stride
        if (new - end) * toward > 0.0:
            new = end
        if corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, min(start, new), max(start, new), b) >= need:
            start = new
            if start == end:
                return True
            if corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, min(start, end), max(start, end), b) >= need:
                return True
            stride *= 2.0
        else:
            stride *= 0.5
            if stride < small:
                return False
    return False


@jit
def family_evidence(ask, up, n_k, m_k, Q_k, v_k, n_l, m_l, Q_l, v_l, need):
    """``(E, t)``: the evidence that k lies above (``up`` = 1) or below (-1) where it would meet l, and that place.

    E is at least ``need`` only if it is certified to be.  Below that it is the least value found, to choose arms by and
    to show.
    """
    c, e = ask.c, ask.e
    if n_k == 0.0 or n_l == 0.0:
        return -np.inf, 0.0
    low, high = ask.low, min(ask.high, c * ask.high - e) if up > 0.0 else ask.high
    if low > high:  # k cannot be bad
        return np.inf, 0.0
    b = np.empty(ask.rho.size)
    v = v_l + c * c * v_k
    t, h = m_k, 1.0
    if 0.0 < v < np.inf:
        t = m_k - (m_k + e - c * m_l) * (v_l / v)
        h = c / math.sqrt(v)
    t, best = min(max(t, low), high), np.inf
    if ask.low == 0.0 and t == 0.0:
        t = min(0.01 * m_k, high)
    place, width = t, h
    if not ask.rough:
        for i in range(-20, 21):
            x = min(max(t + i * h, low), high)
            if x > 0.0 or ask.low < 0.0:
                f0 = corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, x, x, b)
                if f0 < best:
                    best, place = f0, x
        t = place
    for _ in range(4):
        left, right = max(t - width, low), min(t + width, high)
        if ask.low == 0.0 and left <= 0.0:
            left = 0.5 * t
        f0 = corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, t, t, b)
        f1 = corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, left, left, b)
        f2 = corner(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, right, right, b)
        if f0 < best:
            best, place = f0, t
        if f1 < best:
            best, place = f1, left
        if f2 < best:
            best, place = f2, right
        if ask.rough and best < need - 1.0:
            break
        p, q = t - left, right - t
        t = place
        if f0 == best and p > 0.0 and q > 0.0:
            d1, d2 = (f0 - f1) / p, (f2 - f0) / q
            if d2 > d1:
                t = 0.5 * (left + place) - d1 * 0.5 * (p + q) / (d2 - d1)
                t = min(max(t, left), right)
            width *= 0.3
        else:
            width *= 2.0
    if best >= need:
        sure = exceeds(ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, place, low, 0.1 * h, need, b) and exceeds(
            ask, up, n_k, m_k, Q_k, n_l, m_l, Q_l, place, high, 0.1 * h, need, b
        )
        if not sure:
            best = np.nextafter(need, -np.inf)
    return best, place


@jit
def rough_precision(family, n, m, Q):
    """Pulls over the variance of one, roughly; 0 where nothing is known of it."""
    if family == STUDENT:
        return n / max(Q / (n - 1.0), 1e-12 * (1e-300 + m * m)) if n > 1.0 else 0.0
    x = (n * m + 0.5) / (n + 1.0)
    if family == BERNOULLI:
        return n / (x * (1.0 - x))
    return n / x if family == POISSON else n / (m * m)


# What differs between normal rewards and others.  A side is given by its number of rewards n, their mean m, scatter Q,
# precision v, and the precision u of one reward.
precision = dispatch("precision")  # (ask, n, m, Q, u) -> v: to choose arms by, and for normal rewards exact
pair = dispatch("pair")  # (ask, up, n_k, m_k, Q_k, v_k, u_k, n_l, m_l, Q_l, v_l, u_l, need) -> (E, z)
own = dispatch("own")  # (ask, up, n, m, Q, u) -> evidence that the mean is above zero (up = 1) or below (-1)


@precision.register(Question)
@inlined
def _precision(ask, n, m, Q, u):
    return n * u


@pair.register(Question)
@inlined
def _pair(ask, up, n_k, m_k, Q_k, v_k, u_k, n_l, m_l, Q_l, v_l, u_l, need):
    G = m_k + ask.e - ask.c * m_l if up > 0.0 else ask.c * m_l - ask.e - m_k
    return pair_evidence(v_k, v_l, G, ask.c, ask.rho, ask.W, ask.T, u_k, u_l)


@own.register(Question)
@inlined
def _own(ask, up, n, m, Q, u):
    return arm_evidence(n * u, m if up > 0.0 else -m, ask.rho, ask.w, u)


class FamilyQuestion(Question):
    """Type by which the kernels for rewards that are not normal are found."""


@precision.register(FamilyQuestion)
@inlined
def family_precision(ask, n, m, Q, u):
    return rough_precision(ask.family, 1.0 * n, m, Q)


@pair.register(FamilyQuestion)
@inlined
def family_pair(ask, up, n_k, m_k, Q_k, v_k, u_k, n_l, m_l, Q_l, v_l, u_l, need):
    E, t = family_evidence(ask, up, 1.0 * n_k, m_k, Q_k, v_k, 1.0 * n_l, m_l, Q_l, v_l, need)
    return E, max(up * (m_k - t), 0.0)


@own.register(FamilyQuestion)
@inlined
def family_own(ask, up, n, m, Q, u):
    if ask.family != STUDENT:
        return up * np.inf
    return alone(ask.family, 1.0 * n, m, Q, 0.0, ask.rho, ask.w, up)


@jit
def evidence_good(ask, N, m, Q, k, l):
    """That k is good as far as rival l goes; l = k (multiplicative): that mu_k >= 0."""
    u_k, u_l = ask.unit[k], ask.unit[l]
    if l == k:
        return own(ask, 1.0, N[k], m[k], Q[k], u_k)
    v_k, v_l = precision(ask, N[k], m[k], Q[k], u_k), precision(ask, N[l], m[l], Q[l], u_l)
    return pair(ask, 1.0, N[k], m[k], Q[k], v_k, u_k, N[l], m[l], Q[l], v_l, u_l, ask.need_good)[0]


@jit
def evidence_bad(ask, N, m, Q, pool, k):
    """``(E, toll, rival, z)`` of the best claim found that k is bad.

    Tried: the pool; the rival with the largest likelihood ratio, unless that trails the pool's by more than the grid
    could make up for; and k itself (multiplicative).  Any choice is valid, as each rival's risk is paid for.
    """
    c, e, u_k = ask.c, ask.e, ask.unit[k]
    v_k = precision(ask, N[k], m[k], Q[k], u_k)
    E, toll, rival, z = -np.inf, ask.toll_pool, POOL, 0.0
    ratio_pool = -np.inf
    if pool[0] > 0.0 and toll < np.inf:
        mean = pool[1] / pool[0]
        G = c * mean - e - m[k]
        if G > 0.0:
            v_l = precision(ask, pool[0], mean, 0.0, 1.0)
            ratio_pool = 0.5 * G * G / (1.0 / v_k + c * c / v_l) - toll
            need = ask.need + toll
            E, z = pair(ask, -1.0, N[k], m[k], Q[k], v_k, u_k, pool[0], mean, 0.0, v_l, ask.pool_unit, need)
    most, l = -np.inf, -1
    for a in range(m.size):
        G = c * m[a] - e - m[k]
        if G > 0.0 and a != k:
            ratio = 0.5 * G * G / (1.0 / v_k + c * c / precision(ask, N[a], m[a], Q[a], ask.unit[a]))
            if ratio > most:
                most, l = ratio, a
    if l >= 0 and most - ask.toll_rival > ratio_pool - 1.0:
        u_l, need = ask.unit[l], ask.need + ask.toll_rival
        v_l = precision(ask, N[l], m[l], Q[l], u_l)
        found, place = pair(ask, -1.0, N[k], m[k], Q[k], v_k, u_k, N[l], m[l], Q[l], v_l, u_l, need)
        if found - ask.toll_rival > E - toll:
            E, toll, rival, z = found, ask.toll_rival, l, place
    if c < 1.0 and m[k] < 0.0:
        found = own(ask, -1.0, N[k], m[k], Q[k], u_k)
        if found - ask.toll_rival > E - toll:
            E, toll, rival, z = found, ask.toll_rival, k, -m[k]
    return E, toll, rival, z


@jit
def claim_all(ask, N, m, Q, pool, labels, evidence, need, rival):
    """The claims of all arms, from a tally alone; labels other than OPEN stay."""
    K = N.size
    top = -np.inf
    for k in range(K):
        if N[k] > 0.0:
            top = max(top, m[k])
    bar = ask.c * top - ask.e
    for k in range(K):  # first those that look bad: once certified, they are no rivals of the others
        if m[k] < bar:
            evidence[k], toll, rival[k], _ = evidence_bad(ask, N, m, Q, pool, k)
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
                E = evidence_good(ask, N, m, Q, k, l)
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
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    variances: npt.ArrayLike | None = None,
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
        variances: with Gaussian(None), and only then: the mean squared distance of each arm's rewards from their
            average (the sum divided by the count).
        before: earlier claims of the same experiment, which stay certified.
        pool: rewards put aside before they were seen: the sums of 1 / sigma^2 and of reward / sigma^2 over them; for
            other families their number and their sum.  Given always or never in one experiment.

    >>> from allgood import Additive, claims
    >>> found = claims([4000, 4000, 4000], [1.0, 0.9, 0.0], Additive(0.5), delta=0.05)
    >>> found.good, found.bad
    (array([ True,  True, False]), array([False, False,  True]))
    """
    objective, model = Objective.check(objective), Model.check(model)
    m = means_array(means)
    N = weights_array(counts, m.size, "counts")
    m = model.check_means(m, among=N > 0.0)
    Q = _scatter(N, variances, model)
    sums = np.zeros(2) if pool is None else np.asarray(pool, dtype=np.float64)
    if sums.shape != (2,) or not np.isfinite(sums).all() or sums[0] < 0.0:
        raise ValueError(f"pool must hold two finite numbers, the first not negative: got {pool!r}.")
    if before is not None and (not isinstance(before, Claims) or before.good.size != m.size):
        raise ValueError(f"before must be earlier Claims about the same {m.size} arms: got {before!r}.")
    ask = question(objective, probability("delta", delta), m.size, model, 0.0 if pool is None else POOLED)
    labels = np.zeros(m.size, np.int64)
    if before is not None:
        labels[before.good], labels[before.bad] = GOOD, BAD
    return claims_from(ask, N, m, Q, sums, labels)


def claims_from(ask: Question, N: Vector, m: Vector, Q: Vector, pool: Vector, labels: npt.NDArray[np.int64]) -> Claims:
    """``claims`` from what the kernels know; ``labels`` are those certified before, and stay."""
    labels = labels.copy()
    evidence, need, rival = np.empty(m.size), np.empty(m.size), np.empty(m.size, np.int64)
    claim_all(ask, N, m, Q, pool, labels, evidence, need, rival)
    return Claims(labels == GOOD, labels == BAD, labels == OPEN, evidence, need, rival)


def intervals(
    counts: npt.ArrayLike,
    means: npt.ArrayLike,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    variances: npt.ArrayLike | None = None,
) -> tuple[Vector, Vector]:
    """Lower and upper ends of intervals that cover all means at all times with probability at least 1 - delta.

    Known sigma: :func:`allgood.thresholds.half_widths`.  Else where the evidence of one arm reaches log(2 K/delta).
    """
    model = Model.check(model)
    m = means_array(means)
    N, delta = weights_array(counts, m.size, "counts"), probability("delta", delta)
    m = model.check_means(m, among=N > 0.0)
    if model.family == NORMAL:
        widths = half_widths(N, delta, model.sigmas(m.size))
        return m - widths, m + widths
    Q = _scatter(N, variances, model)
    eta, _, _, w = prior(model.family, m.size)
    level = math.log(2.0 * m.size / delta)
    ends = [np.full(m.size, end) for end in model.range]
    for a in np.flatnonzero(N > 0.0):
        for side, up in enumerate((-1.0, 1.0)):
            ends[side][a] = arm_bound(model.family, N[a], m[a], Q[a], eta, w, level, up, ends[side][a])
    return ends[0], ends[1]


def _scatter(N: Vector, variances: npt.ArrayLike | None, model: Model) -> Vector:
    if (variances is None) == (model.family == STUDENT):
        raise ValueError(f"variances must be given with Gaussian(None), and only then: got {variances!r} with {model}.")
    return np.zeros(N.size) if variances is None else N * weights_array(variances, N.size, "variances")
