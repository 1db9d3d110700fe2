"""WeakestClaim: certify each arm's label by itself, and work on the claim that lacks most evidence.

Claims, their evidence and what it needs: ``evidence/claims.py``, where the guarantee is proven.  It
holds whatever chooses the arms, so nothing here can weaken it.  Each decision takes the open arm k
whose evidence lacks most and pulls one side of its claim, k or its rival, in the proportions

    share of k = v_l / (v_l + c^2 v_k),      v the precisions of the two sides,

kept without random numbers, by counting what each arm is owed.  These are the parts that both sides
have in the evidence at its minimum.  Many claims may share an arm, as all bad arms share the
leader; then the optimal allocation is a fixed point of the rule (for the best arm alone: You, Qin,
Wang and Yang, 2023).

If k looks good, its rival is the arm with the least likelihood ratio.  If it looks bad, the rival
is the pool.  The pool is fed by the arm with the highest m + sigma sqrt(log(t/K) / N), so that a
better arm is not overlooked.  To make k good, the arms above it would have to come down to some
level.  A reward joins the pool if its arm stands clearly above that level, by a part ABOVE of the
way to the best empirical mean: rewards of lower arms would weaken the pool.

Cost.  A claim is looked at when its arm was pulled, or when it lacked most when last looked at: at
a decision LOOKS of the latter, and more where they become certified.  Between two decisions an arm
is pulled once, and once more for every EVERY pulls that it has had.
"""

from dataclasses import dataclass, replace

import cython
import numpy as np

from allgood._check import count, probability
from allgood.evidence.claims import POOLED, claim_spec, claims_from
from allgood.objectives import Objective
from allgood.strategies.base import Strategy

if cython.compiled:
    from cython.cimports.allgood.evidence.certify import evidence_bad, evidence_good
    from cython.cimports.allgood.evidence.spec import BAD, GOOD, OPEN, Sides
    from cython.cimports.allgood.parts import highest_mean
    from cython.cimports.allgood.strategies.rules import Rule
    from cython.cimports.libc.math import INFINITY as inf
    from cython.cimports.libc.math import fabs, log, sqrt
else:
    from allgood.c_math import fabs, inf, log, sqrt
    from allgood.evidence.certify import evidence_bad, evidence_good
    from allgood.evidence.spec import BAD, GOOD, OPEN, Sides
    from allgood.parts import highest_mean
    from allgood.strategies.rules import Rule

LOOKS = cython.declare(cython.int, 3)
EVERY = cython.declare(cython.longlong, 256)
ABOVE = cython.declare(cython.double, 0.2)
POOL = cython.declare(cython.Py_ssize_t, -1)


class WeakestClaimRule(Rule):
    """State of a run.

    Attributes:
        spec, sides: the question, and the rewards as the evidence sees them.
        labels: int64[K], OPEN, GOOD or BAD.
        lacks: float64[K], need less evidence, when last looked at.
        rival: int64[K], the other side: an arm, the arm itself, or POOL.
        rise: float64[K], for arms that look bad: how far they must rise at the minimum.
        passed: int64[K], rivals before this one have been passed on the way to "good".
        owed: float64[K], pulls that the shares called for and that were not made.
        pool: the sums of 1 / sigma^2 and of reward / sigma^2 over the pool.
        level: to which the best must come down, at the last claim that an arm is bad.
        arm, left: the plan: the arm to pull, and how often still.
        planned_to_join: whether these rewards join the pool.
        count_before, sum_before: of this arm, when the plan was made.
        certified_at: int64[K], pulls when each label was certified, 0 while it is open.
        advances: how often a label was certified, or a rival passed.
        done: whether no arm is open.
    """

    def __init__(self, spec):
        K = spec.num_arms
        self.spec = spec
        self.sides = Sides(spec.law, np.asarray(spec.unit))
        self.labels = np.full(K, OPEN, np.int64)
        self.lacks = np.full(K, np.inf)
        self.rival = np.zeros(K, np.int64)
        self.rise = np.zeros(K)
        self.passed = np.zeros(K, np.int64)
        self.owed = np.zeros(K)
        self.pool = np.zeros(2)
        self.certified_at = np.zeros(K, np.int64)
        self.level = np.inf
        self.arm, self.left = 0, 1
        self.planned_to_join = False
        self.count_before, self.sum_before = 0, 0.0
        self.advances = 0
        self.done = False

    def look_good(self, tally, k):
        """Bring the claim that k is good up to date."""
        c, e, K = self.spec.c, self.spec.e, self.spec.num_arms
        m_k, v_k = self.sides.m[k], self.sides.v[k]
        own = 1.0 / v_k
        least: cython.double = inf
        ratio: cython.double
        E: cython.double = inf
        l: cython.Py_ssize_t = -1
        for a in range(self.passed[k], K):
            if self.labels[a] == BAD or (a == k and c == 1.0):
                continue
            if a == k:
                ratio = v_k * m_k * fabs(m_k)
            else:
                G = m_k + e - c * self.sides.m[a]
                ratio = G * G / (own + c * c / self.sides.v[a])
            if ratio < least:
                least, l = ratio, a
        if l >= 0:
            E = evidence_good(self.spec, self.sides, k, l)
        if self.spec.need_good <= E:  # that was the hardest rival, probably; now each of them once
            l = self.passed[k]
            while l < K:
                if self.labels[l] != BAD and (l != k or c < 1.0):
                    E = evidence_good(self.spec, self.sides, k, l)
                    if self.spec.need_good > E:
                        break
                l += 1
            self.advances += l > self.passed[k]
            self.passed[k] = l
            if l == K:
                self.labels[k] = GOOD
                self.certified_at[k] = tally.pulls
                self.advances += 1
        self.rival[k], self.lacks[k] = l, self.spec.need_good - E

    def look_bad(self, tally, k):
        """Bring the claim that k is bad up to date."""
        E, toll, self.rival[k], self.rise[k] = evidence_bad(self.spec, self.sides, self.pool, k)
        self.lacks[k] = self.spec.need + toll - E
        if self.lacks[k] <= 0.0:
            self.labels[k] = BAD
            self.certified_at[k] = tally.pulls
            self.advances += 1

    def weakest(self):
        """The open arm that lacks most, -1 if none is open."""
        k: cython.Py_ssize_t = -1
        most: cython.double = -inf
        for a in range(self.labels.shape[0]):
            if (self.lacks[a] > most or k < 0) and self.labels[a] == OPEN:
                k, most = a, self.lacks[a]
        return k

    def leader(self, tally, k):
        """Of the arms other than k, not certified bad: the one with the highest index.

        The index is m + sigma sqrt(log(t/K) / N).
        """
        t: cython.double = tally.pulls
        x = log(t / self.spec.num_arms)
        best: cython.Py_ssize_t = k
        highest: cython.double = -inf
        for a in range(self.spec.num_arms):
            if a != k and self.labels[a] != BAD:
                index = self.sides.m[a] + sqrt(x / self.sides.v[a])
                if index > highest:
                    best, highest = a, index
        return best

    def join(self, tally):
        """Add the rewards of the plan so far to the pool, if they are to join."""
        if self.planned_to_join:
            arm, u = self.arm, self.spec.unit[self.arm]
            self.pool[0] += (tally.N[arm] - self.count_before) * u
            self.pool[1] += (tally.S[arm] - self.sum_before) * u

    def joins(self):
        """Whether a reward of the arm chosen next is to join the pool."""
        return self.planned_to_join and self.spec.toll_pool < inf

    def settle(self, tally, joining):
        """Put the pool right for a reward that comes in another order than planned.

        Call it after ``record``, before ``update``.  Whether the last reward joins the pool was
        settled when it was asked for.  Where the plan would have it otherwise, what ``join`` will
        add is put right.
        """
        arm, reward = tally.last, tally.reward
        planned: cython.bint = self.planned_to_join and self.arm == arm
        if joining and not planned:
            self.pool[0] += self.spec.unit[arm]
            self.pool[1] += reward * self.spec.unit[arm]
        elif planned and not joining:
            self.count_before += 1
            self.sum_before += reward

    def decide(self, tally):
        """Enter the rewards of the last plan, bring claims up to date, and make the next plan."""
        c, K = self.spec.c, self.spec.num_arms
        self.join(tally)
        top = highest_mean(tally)
        bar = c * top - self.spec.e
        looks: cython.int = 0
        k: cython.Py_ssize_t = self.weakest()
        after: cython.Py_ssize_t
        while k >= 0:
            looks += self.lacks[k] < inf
            if tally.m[k] >= bar:
                self.look_good(tally, k)
            else:
                self.look_bad(tally, k)
            after = self.weakest()
            if self.labels[k] == OPEN and (
                after == k or (looks >= LOOKS and self.lacks[after] < inf)
            ):
                break
            k = after
        if k < 0:
            # All labels are certified.  If pulling continues anyway: the arm with the fewest pulls.
            self.done, self.planned_to_join, self.arm = True, False, 0
            for a in range(K):
                if tally.N[a] < tally.N[self.arm]:
                    self.arm = a
            return

        l: cython.Py_ssize_t = self.rival[k]
        other: cython.Py_ssize_t = l
        v_k: cython.double = self.sides.v[k]
        v_l: cython.double = 0.0
        if l != POOL:
            v_l = self.sides.v[l]
        elif self.pool[0] > 0.0:
            v_l = self.spec.law.precision(self.pool[0], self.pool[1] / self.pool[0], 0.0, 1.0)
        if tally.m[k] < bar and l != k:
            other = self.leader(tally, k)
            self.level = (tally.m[k] + self.rise[k] + self.spec.e) / c
        share: cython.double = v_l / (v_l + c * c * v_k) if v_k > 0.0 else 1.0
        arm: cython.Py_ssize_t = k
        if other != k and self.owed[other] + 1.0 - share > self.owed[k] + share:
            arm = other
        n: cython.longlong = 1 + tally.N[arm] // EVERY
        if other != k:
            self.owed[k] += n * share
            self.owed[other] += n * (1.0 - share)
            self.owed[arm] -= n
        self.arm, self.left = arm, n
        self.count_before, self.sum_before = tally.N[arm], tally.S[arm]
        self.planned_to_join = tally.m[arm] >= (1.0 - ABOVE) * self.level + ABOVE * top

    def update(self, tally):
        a = tally.last
        self.sides.take(tally, a)
        self.lacks[a] = inf  # its claim must be looked at; at first, so must all
        if tally.pulls >= tally.size:
            self.left -= 1
            if self.done or self.left <= 0:
                self.decide(tally)
        return 0

    def is_done(self, tally):
        return self.done

    def next_arm(self, tally):
        return self.arm

    def answer(self, tally, out):
        """The certified labels; open arms as they look."""
        bar = self.spec.c * highest_mean(tally) - self.spec.e
        for a in range(tally.size):
            looks_good: cython.bint = self.labels[a] == OPEN and tally.m[a] >= bar
            out[a] = self.labels[a] == GOOD or looks_good
        return 0

    def copy(self):
        """An independent copy, to go on with from here."""
        other = WeakestClaimRule(self.spec)
        other.sides = self.sides.copy()
        other.labels, other.rival = self.labels.copy(), self.rival.copy()
        other.passed, other.certified_at = self.passed.copy(), self.certified_at.copy()
        other.lacks, other.rise = self.lacks.copy(), self.rise.copy()
        other.owed, other.pool = self.owed.copy(), self.pool.copy()
        other.level, other.arm, other.left = self.level, self.arm, self.left
        other.planned_to_join = self.planned_to_join
        other.count_before, other.sum_before = self.count_before, self.sum_before
        other.advances, other.done = self.advances, self.done
        return other

    def whole_pool(self, tally):
        """The pool, with those rewards of the plan that are to join it and are there already."""
        settled: WeakestClaimRule = self.copy()
        settled.join(tally)
        return np.asarray(settled.pool)

    def claims(self, tally, spec):
        """What is certain now: the labels certified so far, and where the evidence stands.

        ``spec`` is that of the run, but not rough.
        """
        labels = np.asarray(self.labels)
        made = claims_from(spec, self.sides, self.whole_pool(tally), labels)
        return replace(made, good=labels == GOOD, bad=labels == BAD, open=labels == OPEN)


def hear(rule, tally, arms, rewards, joining, start):
    """Take in rewards from number ``start`` on, until a claim advances; returns how many are in."""
    before = rule.advances
    for i in range(start, arms.shape[0]):
        tally.record(arms[i], rewards[i])
        rule.settle(tally, joining[i])
        rule.update(tally)
        if rule.advances != before:
            return i + 1
    return arms.shape[0]


def suppose(rule, tally, arms, joining):
    """As if each of these arms had given its current mean."""
    for i in range(arms.shape[0]):
        tally.suppose(arms[i])
        rule.settle(tally, joining[i])
        rule.update(tally)
    return 0


def choose(rule, tally, closed, limit, arms, joining):
    """Choose arms until there are enough or nothing is left to do; returns how many.

    Each arm chosen is supposed to give its current mean.  So is an arm that is closed, which is
    passed over; ``limit`` is how often, at most.
    """
    n: cython.Py_ssize_t = 0
    over: cython.Py_ssize_t = 0
    arm: cython.Py_ssize_t
    joined: cython.bint
    while n < arms.shape[0] and over < limit and not rule.done:
        arm = rule.arm
        joined = rule.joins()
        if closed[arm]:
            over += 1
        else:
            arms[n], joining[n] = arm, joined
            n += 1
        tally.suppose(arm)
        rule.settle(tally, joined)
        rule.update(tally)
    return n


@dataclass(frozen=True)
class WeakestClaim(Strategy):
    """Work on the arm whose label lacks most evidence; stop when every label is certified.

    Args:
        objective: the question.
        delta: the risk that any label, at any time, is certified wrongly.
        pool: False lets a claim that an arm is bad rest on one rival only.  Proven as well; kept to
            show what the pool is worth.
    """

    objective: Objective
    delta: float
    pool: bool = True

    def __post_init__(self):
        Objective.check(self.objective)
        object.__setattr__(self, "delta", probability("WeakestClaim(delta=...)", self.delta))

    @property
    def proven(self):
        """Whether the answer is wrong with probability at most delta by a theorem."""
        return True

    def spec(self, num_arms, model, at_first=None, rough=False):
        """What the evidence needs to know (``claim_spec``)."""
        pooled = POOLED if self.pool else 0.0
        return claim_spec(self.objective, self.delta, num_arms, model, pooled, at_first, rough)

    def start(self, num_arms, model, at_first=None):
        K = count("num_arms", num_arms)
        return WeakestClaimRule(self.spec(K, model, at_first, rough=True))
