"""ClaimByClaim: certify each arm's label by itself, the cheap labels first.

Claims, their evidence and what it needs: ``evidence/claims.py``, where the guarantee is proven.  It
holds whatever chooses the arms, so nothing here can weaken it.  How the arms are chosen rests on
theory where there is some (said below), and on measurements elsewhere.

Each decision takes one open arm k and pulls one side of its claim, k or its rival.  It takes the
most *doubtful* arm or the *cheapest* claim.  With r = t/K pulls per arm, the doubtful arm has

    1/2 of the decisions while r < EARLY,  3/5 while r < LATE,  then none.

So a short run ends with good guesses, and a longer one with many certified labels.

Cheapest: the claim with the largest (G^2 + var) q / lacks, which is about 2 over the number of
pulls that it still needs.  G is its gap, var the variance of G, q the precision of one pull of k,
and lacks is what its evidence lacks.  Only claims that are *ripe* are taken, those for which n
pulls of k would be enough,

    G^2 q n >= 2 (L + COST),      n = RIPE r while r < LATE,  then RIPE r + MORE.

Where none is ripe, the decision takes the most doubtful arm instead.

Doubtful: the arm that reaches farthest beyond the bar c max m - e, on the other side of it:

    sqrt(DOUBT / v_k) - |m_k - bar|        is largest,

as in upper confidence bounds.  These pulls make the best guess of open labels a good one.

The two sides of a claim are pulled in the proportions

    share of k = v_l / (v_l + c^2 v_k),      v the precisions of the two sides,

kept without random numbers, by counting what each arm is owed.  These are the parts that both sides
have in the evidence at its minimum.  Many claims may share an arm, as all bad arms share the
leader; then the optimal allocation is a fixed point of the rule (for the best arm alone: You, Qin,
Wang and Yang, 2023).  From LATE on, v^2 takes the place of v if the rival is an open arm.  Such a
rival needs pulls for a claim of its own, while more pulls of k than it has are of use to k alone.

If k looks good, its rival is the one with the least likelihood ratio, of the rival so far, the arm
with the highest mean, and the leader.  If it looks bad, the rival is the pool.  The pool is fed by
the leader, the arm with the highest m + sigma sqrt(log(t/K) / N), so that a better arm is not
overlooked.  To make k good, the arms above it would have to come down to some level x.  The pool's
part of the evidence is about V (M - x)^2 / 2, with V its precision and M its mean.  To first order
one more reward of mean m adds to it if m > (x + M) / 2.  So a reward joins the pool if its arm's
mean is above that (with the best empirical mean in the place of M if M is higher).

Cost.  With normal rewards the log likelihood ratio is never below the evidence, and about COST
above it.  As long as it is below what the claim needs, it serves in the place of the evidence.
(With other models: below half of that, as the ratio is then that of normal rewards.)  Heaps keep
the arms in order, so that a decision takes O(log K) steps and a few looks at claims.  A claim is
looked at when its arm was pulled, when it is about to be chosen, and, with all others, whenever the
number of pulls has grown by a quarter: that is less than five looks per pull, and soon far less
than one. To certify an arm as good, each rival is met once: K comparisons of two numbers.  Evidence
is found only where no gap as wide has been enough before, with as many rewards on both sides.
Between two decisions an arm is pulled once, and once more for every EVERY pulls that it has had.
"""

import math
from dataclasses import dataclass, replace

import cython
import numpy as np
from cython.cimports.allgood.evidence.certify import (
    estimate_bad,
    evidence_bad,
    evidence_good,
    ratio_bad,
)
from cython.cimports.allgood.evidence.spec import BAD, GOOD, OPEN, Sides
from cython.cimports.allgood.kernels.c_math import inf, isnan, log, sqrt
from cython.cimports.allgood.kernels.heap import Heap
from cython.cimports.allgood.kernels.tally import highest_mean
from cython.cimports.allgood.strategies.state import StrategyState

from allgood._internal.arguments import count, probability
from allgood.evidence.claims import POOLED, claim_spec, claims_from, labels_now
from allgood.objectives import Objective
from allgood.strategies.base import Strategy

EARLY = cython.declare(cython.longlong, 20)  # pulls per arm
LATE = cython.declare(cython.longlong, 50)
EARLY_TURNS = cython.declare(cython.int, 5)  # decisions in ten that are for the most doubtful arm
TURNS = cython.declare(cython.int, 6)
RIPE = cython.declare(cython.double, 1.5)
MORE = cython.declare(cython.double, 150.0)
COST = cython.declare(cython.double, 3.0)  # what not knowing the means costs a claim, in nats
DOUBT = cython.declare(cython.double, 4.0)
LOOKS = cython.declare(cython.int, 3)
EVERY = cython.declare(cython.longlong, 256)
MANY = cython.declare(cython.longlong, 1 << 32)  # more rewards than an arm has
NEARLY = cython.declare(cython.double, 0.1)  # a claim that lacks less than this is as cheap as this
POOL = cython.declare(cython.Py_ssize_t, -1)
NAN = cython.declare(cython.double, math.nan)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def spread(x: cython.double, v: cython.double) -> cython.double:
    """sqrt(x / v), and 0 for x = 0 whatever v is."""
    return sqrt(x / v) if x > 0.0 else 0.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def place(slots: cython.longlong, side: cython.longlong, n: cython.double) -> cython.Py_ssize_t:
    """Where a wide gap between this side and a rival with n rewards is kept."""
    number: cython.longlong = cython.cast(cython.longlong, n)
    return (side & (slots - 1)) * slots + (number & (slots - 1))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def pair_of(side: cython.longlong, n: cython.double) -> cython.longlong:
    """This side and a rival with n rewards, in one number."""
    return side * MANY + cython.cast(cython.longlong, n)


def is_wide(rule, k, l):
    """Whether a gap that was not wider was enough, with as many rewards on both sides.

    Then this one is, too: the evidence grows with the gap.
    """
    i = place(rule.slots, rule.side, rule.sides.n[l])
    return (
        rule.wide_of[i] == pair_of(rule.side, rule.sides.n[l])
        and rule.sides.m[k] + rule.spec.e - rule.spec.c * rule.sides.m[l] >= rule.wide[i]
        and isnan(rule.sides.influential[l])
        and l != k
    )


class ClaimByClaimState(StrategyState):
    """State of a run.

    Attributes:
        spec, sides: the question, and the rewards as the evidence sees them.
        labels: int64[K], OPEN, GOOD or BAD.
        lacks: float64[K], need less evidence, when last looked at.
        rival: int64[K], the other side: an arm, the arm itself, or POOL.
        rise: float64[K], for arms that look bad: how far they must rise at the minimum.
        price: float64[K], about 2 over the pulls that a claim still needs.
        passed: int64[K], rivals before this one have been passed on the way to "good".
        looked: int64[K], when each claim was looked at: pulls and advances by then.
        owed: float64[K], pulls that the shares called for and that were not made.
        pool: the sums of 1 / sigma^2 and of reward / sigma^2 over the pool.
        level: to which the best must come down, at the last claim that an arm is bad.
        by_mean: all arms, the highest mean first.
        leaders: arms that are not certified bad, the highest index first.
        below, above: open arms below and above the bar, the most doubtful first.  An arm that the
            bar has passed is in the wrong one.  Then its key is too high, so it is met and moved
            before it can mislead.
        unripe: open arms whose claims are not ripe, the largest G^2 q first.
        ripe: the other open arms, the cheapest claim first.
        wide, wide_of: the least gap between two good arms that was enough, for each pair of numbers
            of rewards; and which pair that is.  Of pairs that share a place the last one is known.
        slots: so many numbers of rewards have places of their own, a power of two.
        side, num_checks: the name of the arm whose rivals are checked (``begin_check``), and how
            many checks had a name of their own.
        anchor: an arm with a high lower confidence bound: the single rival of arms that look bad.
        log_t: log(t/K) in the index of leaders, as of the last look at everything.
        next_sweep: number of pulls at which everything is looked at again.
        turn: tenths of a decision that the most doubtful arm is owed.
        new, num_new: arms with rewards that no look has seen.
        num_seen: how many arms have a reward.
        arm, left: the plan: the arm to pull, and how often still.
        planned_to_join: whether these rewards join the pool.
        count_before, sum_before: of this arm, when the plan was made.
        certified_at: int64[K], pulls when each label was certified, 0 while it is open.
        advances: how often a label was certified, or a rival passed.
        done: whether no arm is open.
        wary: whether no label may rest on the largest reward of the pool (``study/quality.py``).
        certifies: whether every look may certify a label.  A study certifies in ``look_at_all``
            only, so that its log alone settles when each label was certified.  A copy certifies
            again: it imagines how a run would go on.
        shown: int64[K], ``passed`` as of the looks at all: what a study certifies by.
    """

    def __init__(self, spec):
        K = spec.num_arms
        self.spec = spec
        self.sides = Sides(spec.model, np.asarray(spec.unit))
        self.labels = np.full(K, OPEN, np.int64)
        self.lacks = np.full(K, np.inf)
        self.rival = np.full(K, POOL, np.int64)
        self.rise = np.zeros(K)
        self.price = np.zeros(K)
        self.passed, self.shown = np.zeros(K, np.int64), np.zeros(K, np.int64)
        self.looked = np.zeros(K, np.int64)
        self.owed = np.zeros(K)
        self.pool = np.zeros(2)
        self.certified_at = np.zeros(K, np.int64)
        self.new = np.zeros(K, np.int64)
        self.is_new = np.zeros(K, np.int8)
        self.num_new = self.num_seen = 0
        self.side = self.num_checks = 0
        self.slots = min(max(1 << (K - 1).bit_length(), 16), 256)
        self.wide, self.wide_of = np.empty(self.slots**2), np.zeros(self.slots**2, np.int64)
        self.by_mean, self.leaders = Heap(K), Heap(K)
        self.below, self.above = Heap(K), Heap(K)
        self.unripe, self.ripe = Heap(K), Heap(K)
        self.anchor = 0
        self.log_t = 0.0
        self.next_sweep = 0
        self.turn = 0
        self.level = np.inf
        self.arm, self.left = 0, 1
        self.planned_to_join = False
        self.count_before, self.sum_before = 0, 0.0
        self.advances = 0
        self.done = False
        self.robust = False
        self.certifies = True

    def bar(self):
        """Above it an arm looks good."""
        return self.spec.c * self.sides.m[self.by_mean.first()] - self.spec.e

    def look(self, tally, k):
        """Bring the claim of k up to date, and its place among the others.

        As long as there is no new reward and no claim has advanced, a second look finds the same.
        """
        now = tally.pulls + self.advances
        if self.labels[k] != OPEN or self.looked[k] == now:
            return
        self.looked[k] = now
        if self.sides.m[k] >= self.bar():
            self.look_good(tally, k)
        else:
            self.look_bad(tally, k)
        if self.labels[k] != OPEN:
            self.retire(k)

    def retire(self, k):
        """Take an arm whose label is certified out of the heaps of open arms."""
        self.below.drop(k)
        self.above.drop(k)
        self.unripe.drop(k)
        self.ripe.drop(k)
        if self.labels[k] == BAD:
            self.leaders.drop(k)

    def look_good(self, tally, k):
        """Bring the claim that k is good up to date."""
        c, e, K = self.spec.c, self.spec.e, self.spec.num_arms
        E: cython.double = inf
        least: cython.double = inf
        var: cython.double = 1.0 / self.sides.v[k]
        l: cython.Py_ssize_t = -1
        a: cython.Py_ssize_t
        if c < 1.0 and self.passed[k] <= k:
            l, least = k, self.ratio_good(k, k)
        for i in range(3):
            if i == 0:
                a = self.rival[k]
            elif i == 1:
                a = self.by_mean.first_other(k)
            else:
                a = self.leaders.first_other(k)
            if a >= self.passed[k] and a < K and a != k and self.labels[a] != BAD:
                ratio = self.ratio_good(k, a)
                if ratio < least:
                    l, least = a, ratio
        if l >= 0 and 0.5 * least < self.spec.promising * self.spec.need_good:
            E = 0.5 * least - COST
        elif l >= 0:
            self.begin_check(k)
            E = inf if is_wide(self, k, l) else self.evidence_against(k, l)
        if self.spec.need_good <= E:  # that was the hardest rival, probably; now each of them once
            self.looked[k] = 0  # a second look may find another rival
            l = self.next_to_check(k, self.passed[k])
            while l < K:
                E = self.evidence_against(k, l)
                if self.spec.need_good > E:
                    break
                l = self.next_to_check(k, l + 1)
            self.advances += l > self.passed[k]
            self.passed[k] = l
            if l == K and self.certifies:
                self.certify(tally, k, GOOD)
                return
            if l == K:
                l, E = k, self.spec.need_good  # that is for the next look at all to certify
        self.rival[k], self.lacks[k] = l, self.spec.need_good - E
        G = self.sides.m[k]
        if l != k:
            G += e - c * self.sides.m[l]
            var += c * c / self.sides.v[l]
        self.weigh(tally, k, G, var)

    def begin_check(self, k):
        """Name the side of k, by which wide gaps are known.

        Of normal rewards the evidence sees the gap and the two numbers of rewards, nothing else:
        so the number of rewards of k is the name.  With other models, or with an odd reward of k,
        the evidence of k itself falls with the rival's mean: then each check has a name of its own.
        """
        self.side = cython.cast(cython.longlong, self.sides.n[k])
        if not (self.spec.only_gaps and isnan(self.sides.influential[k])):
            self.num_checks += 1
            self.side = -self.num_checks

    def next_to_check(self, k, l):
        """The first rival from l on whose gap is not known to be wide; K if there is none."""
        a: cython.Py_ssize_t = l
        while a < self.spec.num_arms:
            counts: cython.bint = self.labels[a] != BAD and (a != k or self.spec.c < 1.0)
            if counts and not is_wide(self, k, a):
                break
            a += 1
        return a

    def evidence_against(self, k, l):
        """The evidence that k is good as far as l goes.  If it is enough, the gap is wide."""
        E: cython.double = evidence_good(self.spec, self.sides, k, l)
        if (
            self.spec.need_good <= E
            and l != k
            and self.spec.alike
            and isnan(self.sides.influential[l])
        ):
            i = place(self.slots, self.side, self.sides.n[l])
            self.wide_of[i] = pair_of(self.side, self.sides.n[l])
            self.wide[i] = self.sides.m[k] + self.spec.e - self.spec.c * self.sides.m[l]
        return E

    def ratio_good(self, k, l):
        """Twice the log likelihood ratio of "k is good as far as l goes"."""
        m_k, v_k = self.sides.m[k], self.sides.v[k]
        if l == k:
            return v_k * m_k * abs(m_k)
        G = m_k + self.spec.e - self.spec.c * self.sides.m[l]
        return G * G / (1.0 / v_k + self.spec.c * self.spec.c / self.sides.v[l])

    def look_bad(self, tally, k):
        """Bring the claim that k is bad up to date."""
        c, first = self.spec.c, self.by_mean.first()
        l: cython.Py_ssize_t = first
        if ratio_bad(self.spec, self.sides, k, self.anchor) > ratio_bad(
            self.spec, self.sides, k, first
        ):
            l = self.anchor
        E, surcharge, self.rival[k], self.rise[k] = estimate_bad(
            self.spec, self.sides, self.pool, k, l, COST
        )
        if E + COST - surcharge >= self.spec.promising * self.spec.need:
            E, surcharge, self.rival[k], self.rise[k] = evidence_bad(
                self.spec, self.sides, self.pool, k, l
            )
        self.lacks[k] = self.spec.need + surcharge - E
        if self.lacks[k] <= 0.0 and self.certifies:
            self.certify(tally, k, BAD)
            return
        G = self.bar() - self.sides.m[k]
        self.weigh(tally, k, G, 1.0 / self.sides.v[k] + c * c / self.sides.v[first])

    def certify(self, tally, k, label):
        """From now on the arm has this label."""
        self.labels[k] = label
        self.certified_at[k] = tally.pulls
        self.advances += 1

    def weigh(self, tally, k, G, var):
        """Enter the claim of k, with gap G, among those that are ripe or not."""
        q = self.sides.v[k] / tally.N[k]
        self.price[k] = 0.0
        if q > 0.0 and self.lacks[k] < inf:
            self.price[k] = (G * G + var) * q / max(self.lacks[k], NEARLY)
        if G * G * q >= self.ripe_from(tally):
            self.unripe.drop(k)
            self.ripe.put(k, self.price[k])
        else:
            self.ripe.drop(k)
            self.unripe.put(k, G * G * q)

    def ripe_from(self, tally):
        """G^2 q of the claims that are just ripe."""
        n: cython.double = RIPE * tally.pulls / self.spec.num_arms
        if self.is_late(tally):
            n += MORE
        return 2.0 * (self.spec.need + COST) / n

    def is_late(self, tally):
        """Whether pulls are for labels only, not for guesses."""
        return tally.pulls >= LATE * self.spec.num_arms

    def takes_doubtful(self, tally):
        """Whether this decision is for the most doubtful arm."""
        if self.is_late(tally):
            return False
        self.turn += EARLY_TURNS if tally.pulls < EARLY * self.spec.num_arms else TURNS
        if self.turn < 10:
            return False
        self.turn -= 10
        return True

    def cheapest(self, tally):
        """The open arm with the cheapest claim that is ripe, -1 if none is."""
        enough = self.ripe_from(tally)
        k: cython.Py_ssize_t = self.unripe.first()
        while k >= 0 and self.unripe.keys[k] >= enough:
            self.unripe.drop(k)
            self.ripe.put(k, self.price[k])
            k = self.unripe.first()
        return self.ripe.first()

    def most_doubtful(self):
        """The open arm that reaches farthest beyond the bar, -1 if none is open."""
        bar = self.bar()
        a: cython.Py_ssize_t = self.below.first()
        while a >= 0 and self.sides.m[a] >= bar:
            self.doubt(a)
            a = self.below.first()
        b: cython.Py_ssize_t = self.above.first()
        while b >= 0 and self.sides.m[b] < bar:
            self.doubt(b)
            b = self.above.first()
        a = self.below.first()
        if a < 0 or b < 0:
            return a if b < 0 else b
        over, under = self.below.keys[a] - bar, self.above.keys[b] + bar
        return a if over > under or (over == under and a < b) else b

    def refresh(self, a):
        """Put arm a in its place, by its rewards: all heaps but those that a look sees to."""
        m, v = self.sides.m[a], self.sides.v[a]
        self.by_mean.put(a, m)
        if self.labels[a] != BAD:
            self.leaders.put(a, m + spread(self.log_t, v))
        if self.labels[a] == OPEN:
            self.doubt(a)
        best = self.anchor
        if m - spread(DOUBT, v) > self.sides.m[best] - spread(DOUBT, self.sides.v[best]):
            self.anchor = a

    def doubt(self, a):
        """Put an open arm in its place among the doubtful ones, on its side of the bar."""
        s = spread(DOUBT, self.sides.v[a])
        if self.sides.m[a] < self.bar():
            self.above.drop(a)
            self.below.put(a, s + self.sides.m[a])
        else:
            self.below.drop(a)
            self.above.put(a, s - self.sides.m[a])

    def sweep(self, tally):
        """Look at everything."""
        t: cython.double = tally.pulls
        self.log_t = log(t / self.spec.num_arms)
        self.next_sweep = tally.pulls + 1 + tally.pulls // 4
        for a in range(self.spec.num_arms):
            self.by_mean.put(a, self.sides.m[a])
        for a in range(self.spec.num_arms):
            self.refresh(a)
        for a in range(self.spec.num_arms):
            self.look(tally, a)

    def join(self, tally):
        """Add the rewards of the plan so far to the pool, if they are to join."""
        if self.planned_to_join:
            arm, u = self.arm, self.spec.unit[self.arm]
            self.pool[0] += (tally.N[arm] - self.count_before) * u
            self.pool[1] += (tally.S[arm] - self.sum_before) * u

    def pooled(self):
        """Whether a reward of the arm chosen next is to join the pool."""
        return self.planned_to_join and self.spec.toll_pool < inf

    def settle(self, tally, joining, n):
        """Put the pool right for a reward that comes in another order than planned.

        Call it after ``record``, before ``update``.  Whether the last reward joins the pool was
        settled when it was asked for.  Where the plan would have it otherwise, what ``join`` will
        add is put right.  n is the number of rewards: 0 for a time that was waited in vain.
        """
        arm, reward = tally.last, tally.reward
        planned: cython.bint = self.planned_to_join and self.arm == arm
        highest: cython.bint = self.sides.top_unit == 0.0 or reward > self.sides.top
        if self.robust and joining and n == 1 and highest:
            self.sides.top, self.sides.top_unit = reward, self.spec.unit[arm]
        if joining and not planned:
            self.pool[0] += n * self.spec.unit[arm]
            self.pool[1] += reward * self.spec.unit[arm]
        elif planned and not joining:
            self.count_before += n
            self.sum_before += reward

    def decide(self, tally):
        """Enter the rewards of the last plan, bring claims up to date, and make the next plan."""
        self.join(tally)
        if tally.pulls >= self.next_sweep:
            self.sweep(tally)
        for i in range(self.num_new):
            self.is_new[self.new[i]] = False
            self.look(tally, self.new[i])
        self.num_new = 0
        k: cython.Py_ssize_t = self.choose_claim(tally)
        if k < 0:
            # All labels are certified.  If pulling continues anyway: each arm in turn.
            self.done, self.planned_to_join = True, False
            self.arm, self.left = (self.arm + 1) % self.spec.num_arms, 1
            return
        self.plan(tally, k)

    def choose_claim(self, tally):
        """The open arm to work on, its claim up to date; -1 if none is open."""
        looks: cython.int = 0
        k: cython.Py_ssize_t
        after: cython.Py_ssize_t
        if not self.takes_doubtful(tally):
            k = self.cheapest(tally)
            while k >= 0:
                self.look(tally, k)
                looks += self.labels[k] == OPEN
                after = self.ripe.first()
                if after == k or (looks >= LOOKS and self.labels[k] == OPEN):
                    return k
                k = after
        k = self.most_doubtful()
        while k >= 0:
            self.look(tally, k)
            if self.labels[k] == OPEN:
                return k
            k = self.most_doubtful()
        return k

    def plan(self, tally, k):
        """Which side of the claim of k to pull, how often, and whether that joins the pool."""
        c, l = self.spec.c, self.rival[k]
        other: cython.Py_ssize_t = l
        v_k: cython.double = self.sides.v[k]
        v_l: cython.double = 0.0
        if l != POOL:
            v_l = self.sides.v[l]
        elif self.pool[0] > 0.0:
            v_l = self.spec.model.precision(self.pool[0], self.pool[1] / self.pool[0], 0.0, 1.0)
        if self.sides.m[k] < self.bar() and l != k:
            other = self.leaders.first_other(k)
            self.level = (self.sides.m[k] + self.rise[k] + self.spec.e) / c
        if other < 0:
            other = k
        part: cython.double = c * c * v_k / v_l if v_l > 0.0 else inf
        if self.is_late(tally) and l != POOL and self.labels[l] == OPEN:
            part *= part
        share: cython.double = 1.0 / (1.0 + part) if v_k > 0.0 else 1.0
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
        M: cython.double = self.sides.m[self.by_mean.first()]
        if self.pool[0] > 0.0:
            M = min(M, self.pool[1] / self.pool[0])
        self.planned_to_join = self.sides.m[arm] >= 0.5 * (self.level + M)

    def update(self, tally):
        a = tally.last
        self.num_seen += self.sides.n[a] == 0.0
        self.sides.take(tally, a)
        if self.num_seen < tally.size:
            return 0
        if self.next_sweep > 0:
            self.refresh(a)
            if not self.is_new[a]:
                self.is_new[a] = True
                self.new[self.num_new] = a
                self.num_new += 1
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
        other = ClaimByClaimState(self.spec)
        other.sides = self.sides.copy()
        other.labels, other.rival = self.labels.copy(), self.rival.copy()
        other.passed, other.certified_at = self.passed.copy(), self.certified_at.copy()
        other.shown = self.shown.copy()
        other.lacks, other.rise = self.lacks.copy(), self.rise.copy()
        other.price, other.owed = self.price.copy(), self.owed.copy()
        other.looked = self.looked.copy()
        other.pool = self.pool.copy()
        other.new, other.is_new, other.num_new = self.new.copy(), self.is_new.copy(), self.num_new
        other.num_seen = self.num_seen
        other.by_mean, other.leaders = self.by_mean.copy(), self.leaders.copy()
        other.below, other.above = self.below.copy(), self.above.copy()
        other.unripe, other.ripe = self.unripe.copy(), self.ripe.copy()
        other.anchor, other.log_t = self.anchor, self.log_t
        other.next_sweep, other.turn = self.next_sweep, self.turn
        other.level, other.arm, other.left = self.level, self.arm, self.left
        other.planned_to_join = self.planned_to_join
        other.count_before, other.sum_before = self.count_before, self.sum_before
        other.advances, other.done = self.advances, self.done
        other.robust = self.robust
        return other

    def whole_pool(self, tally):
        """The pool, with those rewards of the plan that are to join it and are there already."""
        pool = np.array(self.pool)
        if self.planned_to_join:
            arm, u = self.arm, self.spec.unit[self.arm]
            pool[0] += (tally.counts[arm] - self.count_before) * u
            pool[1] += (tally.sums[arm] - self.sum_before) * u
        return pool

    def look_at_all(self, tally, claims):
        """Certify every label whose evidence is there.

        First the arms that look bad: once certified, they are no rivals of the others.  Then each
        open arm that looks good passes its rivals in their order, as far as the evidence reaches.
        ``claims`` are the open claims of this study, with the spec of the run, but not rough.
        """
        labels, passed = np.asarray(self.labels), np.asarray(self.passed)
        shown = np.asarray(self.shown)
        made, rests_on = labels_now(claims, self.sides, self.whole_pool(tally), labels, shown)
        bad = np.flatnonzero((labels == OPEN) & (made == BAD))
        good = np.flatnonzero((labels == OPEN) & (made == GOOD))
        np.asarray(self.rival)[bad] = rests_on[bad]
        for k in (*bad, *good):
            self.certify(tally, k, made[k])
            self.retire(k)
        # Between two looks at all, rivals may have been passed that a look at all does not pass.
        again = (labels == OPEN) & (passed == self.spec.num_arms)
        passed[again] = shown[again]
        if bad.size or good.size:
            self.decide(tally)

    def claims(self, tally, spec):
        """What is certain now: the labels certified so far, and where the evidence stands.

        ``spec`` is that of the run, but not rough.
        """
        labels = np.asarray(self.labels)
        made = claims_from(spec, self.sides, self.whole_pool(tally), labels)
        return replace(made, good=labels == GOOD, bad=labels == BAD, open=labels == OPEN)


def process(rule, tally, arms, rewards, numbers, scatter, joining, influential, start):
    """Take in rewards from number ``start`` on, until a claim advances; returns how many are in.

    Args:
        rewards, numbers, scatter: a reward and 1; or the sum of many rewards, their number and
            their scatter; or a time that was waited in vain, and 0.
        odd: the odd reward of the arm from then on, or nan (``Sides``).
    """
    before = rule.advances
    for i in range(start, arms.shape[0]):
        if numbers[i] == 1:
            tally.record(arms[i], rewards[i])
        elif numbers[i] == 0:
            tally.wait(arms[i], rewards[i])
        else:
            tally.record_many(arms[i], numbers[i], rewards[i], scatter[i])
        rule.sides.influential[arms[i]] = influential[i]
        rule.settle(tally, joining[i], numbers[i])
        rule.update(tally)
        if rule.advances != before:
            return i + 1
    return arms.shape[0]


def suppose(rule, tally, arms, joining):
    """As if each of these arms had given its current mean."""
    for i in range(arms.shape[0]):
        imagine(rule, tally, arms[i], joining[i])
    return 0


def imagine(rule, tally, arm, joining):
    """As if the arm had given its current mean once more, which fits its only reward."""
    tally.suppose(arm)
    if tally.N[arm] == 2:
        rule.sides.influential[arm] = NAN
    rule.settle(tally, joining, 1)
    rule.update(tally)
    return 0


def choose(rule, tally, processed, closed, limit, arms, joining):
    """Choose arms until there are enough or nothing is left to do; returns how many.

    Each arm chosen is supposed to give its current mean.  So is an arm that is closed, which is
    passed over; ``limit`` is how often, at most.  An arm that led by luck would lead all the time,
    as imagined rewards do not prove it wrong.  So not more rewards of an arm are to join the pool
    than have been ``heard``.
    """
    n: cython.Py_ssize_t = 0
    over: cython.Py_ssize_t = 0
    arm: cython.Py_ssize_t
    joined: cython.bint
    while n < arms.shape[0] and over < limit and not rule.done:
        arm = rule.arm
        joined = rule.pooled() and 2 * processed.N[arm] >= tally.N[arm]
        if closed[arm]:
            over += 1
        else:
            arms[n], joining[n] = arm, joined
            n += 1
        imagine(rule, tally, arm, joined)
    return n


@dataclass(frozen=True)
class ClaimByClaim(Strategy):
    """Certify the label of each arm, the cheap ones first; stop when every label is certified.

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
        object.__setattr__(self, "delta", probability("ClaimByClaim(delta=...)", self.delta))

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
        return ClaimByClaimState(self.spec(K, model, at_first, rough=True))
