"""ClaimByClaim: certify each arm's label by itself, the cheap labels first.

docs/evidence.md defines claims, their evidence and its needs, and proves the guarantee.  It holds
for every way of choosing the arms, so nothing here can weaken it.  The choice of arms rests on
theory as far as there is some (cited below), and otherwise on measurements.

Each decision takes one open arm k and pulls one side of its claim, k or its rival.  It takes the
most *doubtful* arm or the *cheapest* claim.  With r = t/K pulls per arm, the doubtful arm has

    1/2 of the decisions while r < GUESSING,  3/5 while r < GUESSING_END,  then none.

So a short run ends with good guesses, and a longer one with many certified labels.

Cheapest: the claim with the largest (G^2 + var) q / lacks, which is about 2 over the number of
pulls that it still needs.  G is its gap, var the variance of G, q the precision of one pull of k,
and lacks is its need less its evidence.  Only claims that are *ripe* are taken, those for which n
pulls of k would be enough,

    G^2 q n >= 2 (L + COST),      n = RIPE_FACTOR r while r < GUESSING_END,
                                  then RIPE_FACTOR r + RIPE_EXTRA.

If none is ripe, the decision takes the most doubtful arm instead.

Doubtful: the arm that reaches farthest beyond the bar c max m - e, on the other side of it:

    sqrt(DOUBT / v_k) - |m_k - bar|        is largest,

as in upper confidence bounds.  These pulls make the best guess of open labels a good one.

The two sides of a claim are pulled in the proportions

    share of k = v_l / (v_l + c^2 v_k),      v the precisions of the two sides,

without random numbers, by counting the pulls that each arm is owed.  These are the parts that both
sides have in the evidence at its minimum.  Many claims may share an arm, as all bad arms share the
leader; then the optimal allocation is a fixed point of the rule (for the best arm alone: You, Qin,
Wang and Yang, 2023).  From GUESSING_END on, v^2 takes the place of v if the rival is an open arm.
Such a rival needs pulls for a claim of its own, while more pulls of k than it has help k alone.

If k looks good, its rival is the one with the least likelihood ratio, of the rival so far, the arm
with the highest mean, and the leader.  If it looks bad, the rival is the pool.  The pool is fed by
the leader, the arm with the highest m + sigma sqrt(log(t/K) / N), so that a better arm is not
overlooked.  To make k good, the arms above it would have to come down to some level x.  The pool's
part of the evidence is about V (M - x)^2 / 2, with V its precision and M its mean.  To first order
one more reward of mean m adds to it if m > (x + M) / 2.  So a reward is pooled if its arm's mean is
above that (with the best empirical mean in the place of M if M is higher).

Cost.  With normal rewards the log likelihood ratio is never below the evidence, and about COST
above it.  As long as it is below the need of the claim, it takes the place of the evidence.
(With other models: below half of that, as the ratio is then that of normal rewards.)  Heaps keep
the arms in order, so that a decision takes O(log K) steps and a few looks at claims.  A claim is
looked at when its arm was pulled, when it is about to be chosen, and, with all others, whenever the
number of pulls has grown by a quarter: that is less than five looks per pull, and soon far less
than one.  To certify an arm as good, each rival is compared once: K comparisons of two numbers.
Evidence is computed only if no gap as wide has been enough before, with as many rewards on both
sides.  Between two decisions an arm is pulled once, and once more for every PULLS_PER_REPEAT pulls
that it has had.
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

GUESSING = cython.declare(cython.longlong, 20)  # pulls per arm
GUESSING_END = cython.declare(cython.longlong, 50)
EARLY_TURNS = cython.declare(cython.int, 5)  # decisions in ten that are for the most doubtful arm
TURNS = cython.declare(cython.int, 6)
RIPE_FACTOR = cython.declare(cython.double, 1.5)
RIPE_EXTRA = cython.declare(cython.double, 150.0)
COST = cython.declare(cython.double, 3.0)  # what not knowing the means costs a claim, in nats
DOUBT = cython.declare(cython.double, 4.0)
LOOKS = cython.declare(cython.int, 3)
PULLS_PER_REPEAT = cython.declare(cython.longlong, 256)
COUNT_LIMIT = cython.declare(cython.longlong, 1 << 32)  # more rewards than an arm has
LEAST_LACK = cython.declare(
    cython.double, 0.1
)  # a claim that lacks less than this is as cheap as this
POOL = cython.declare(cython.Py_ssize_t, -1)
NAN = cython.declare(cython.double, math.nan)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def spread(x: cython.double, v: cython.double) -> cython.double:
    """Return sqrt(x / v), and 0 for x = 0 and any v."""
    return sqrt(x / v) if x > 0.0 else 0.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def place(slots: cython.longlong, side: cython.longlong, n: cython.double) -> cython.Py_ssize_t:
    """Return where a wide gap between this side and a rival with n rewards is stored."""
    number: cython.longlong = cython.cast(cython.longlong, n)
    return (side & (slots - 1)) * slots + (number & (slots - 1))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def pair_of(side: cython.longlong, n: cython.double) -> cython.longlong:
    """Return this side and a rival with n rewards, in one number."""
    return side * COUNT_LIMIT + cython.cast(cython.longlong, n)


def is_wide(state, k, l):
    """Return whether a gap that was not wider was enough, with as many rewards on both sides.

    Then this one is, too: the evidence grows with the gap.
    """
    i = place(state.slots, state.side, state.sides.n[l])
    return (
        state.wide_of[i] == pair_of(state.side, state.sides.n[l])
        and state.sides.m[k] + state.spec.e - state.spec.c * state.sides.m[l] >= state.wide[i]
        and isnan(state.sides.influential[l])
        and l != k
    )


class ClaimByClaimState(StrategyState):
    """The state of a run.

    The class has more than 25 methods because each step of a decision is a method, which C code
    calls without the interpreter's lock; all of them work on the same arrays and heaps.

    Attributes:
        spec, sides: the question, and the rewards as the evidence uses them.
        labels: int64[K], OPEN, GOOD or BAD.
        lacks: float64[K], need less evidence, at the last look.
        rival: int64[K], the other side: an arm, the arm itself, or POOL.
        rise: float64[K], for arms that look bad: how far they must rise at the minimum.
        price: float64[K], about 2 over the pulls that a claim still needs.
        passed: int64[K], rivals before this one have been passed on the way to "good".
        looked: int64[K], pulls and advances at the last look at each claim.
        owed: float64[K], pulls that the shares called for and that were not made.
        pool: the sums of 1 / sigma^2 and of reward / sigma^2 over the pool.
        level: to which the best must come down, at the last claim that an arm is bad.
        by_mean: all arms, the highest mean first.
        leaders: arms that are not certified bad, the highest index first.
        below, above: open arms below and above the bar, the most doubtful first.  An arm that the
            bar has passed is in the wrong heap.  Then its key is too high, so it is found and moved
            before it can mislead.
        unripe: open arms whose claims are not ripe, the largest G^2 q first.
        ripe: the other open arms, the cheapest claim first.
        wide, wide_of: the least gap between two good arms that was enough, for each pair of numbers
            of rewards; and the pair itself.  Of pairs that share a place the last one is known.
        slots: the number of counts of rewards with a place of their own, a power of two.
        side, num_checks: the name of the arm whose rivals are checked (``begin_check``), and how
            many checks had a name of their own.
        anchor: an arm with a high lower confidence bound: the single rival of arms that look bad.
        log_t: log(t/K) in the index of leaders, as of the last sweep.
        next_sweep: number of pulls at the next look at everything.
        turn: tenths of a decision that the most doubtful arm is owed.
        new, num_new: arms with rewards that no look has used.
        num_seen: the number of arms with a reward.
        arm, remaining: the plan: the arm to pull, and how many pulls of it remain.
        plans_to_pool: True if these rewards are to be pooled.
        count_before, sum_before: count and sum of this arm when the plan was made.
        certified_at: int64[K], pulls when each label was certified, 0 while it is open.
        advances: how often a label was certified, or a rival passed.
        done: True if no arm is open.
        robust: True if no label may rest on the largest reward of the pool (``study/quality.py``).
        certifies: True if every look may certify a label.  A study certifies in ``look_at_all``
            only, so that its log alone determines when each label was certified.  A copy certifies
            again: it simulates how a run would go on.
        shown: int64[K], ``passed`` as of the looks at all: a study certifies by these.
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
        self.arm, self.remaining = 0, 1
        self.plans_to_pool = False
        self.count_before, self.sum_before = 0, 0.0
        self.advances = 0
        self.done = False
        self.robust = False
        self.certifies = True

    def bar(self):
        """Return the mean from which on an arm looks good."""
        return self.spec.c * self.sides.m[self.by_mean.first()] - self.spec.e

    def look(self, tally, k):
        """Bring the claim of k up to date, and its place among the others.

        As long as there is no new reward and no claim has advanced, a second look changes nothing.
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
        """Remove an arm whose label is certified from the heaps of open arms."""
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
                if not self.spec.need_good <= E:
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
        """Name the side of k; wide gaps are stored under this name.

        Of normal rewards the evidence depends on the gap and the two numbers of rewards, nothing
        else: so the number of rewards of k is the name.  With other models, or with an influential
        reward of k, the evidence of k itself falls with the rival's mean: then each check has a
        name of its own.
        """
        self.side = cython.cast(cython.longlong, self.sides.n[k])
        if not (self.spec.only_gaps and isnan(self.sides.influential[k])):
            self.num_checks += 1
            self.side = -self.num_checks

    def next_to_check(self, k, l):
        """Return the first rival from l on whose gap is not known to be wide; K if none."""
        a: cython.Py_ssize_t = l
        while a < self.spec.num_arms:
            counts: cython.bint = self.labels[a] != BAD and (a != k or self.spec.c < 1.0)
            if counts and not is_wide(self, k, a):
                break
            a += 1
        return a

    def evidence_against(self, k, l):
        """Return the evidence that k is good against l; if it is enough, store the gap as wide."""
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
        """Return twice the log likelihood ratio of "k is good against l"."""
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
        """Certify this label of the arm."""
        self.labels[k] = label
        self.certified_at[k] = tally.pulls
        self.advances += 1

    def weigh(self, tally, k, G, var):
        """Put the claim of k, with gap G, into the heap of ripe claims or that of unripe ones."""
        q = self.sides.v[k] / tally.N[k]
        self.price[k] = 0.0
        if q > 0.0 and self.lacks[k] < inf:
            self.price[k] = (G * G + var) * q / max(self.lacks[k], LEAST_LACK)
        if G * G * q >= self.ripe_from(tally):
            self.unripe.drop(k)
            self.ripe.put(k, self.price[k])
        else:
            self.ripe.drop(k)
            self.unripe.put(k, G * G * q)

    def ripe_from(self, tally):
        """Return the least G^2 q of a ripe claim."""
        n: cython.double = RIPE_FACTOR * tally.pulls / self.spec.num_arms
        if self.is_late(tally):
            n += RIPE_EXTRA
        return 2.0 * (self.spec.need + COST) / n

    def is_late(self, tally):
        """Return whether pulls are for labels only, not for guesses."""
        return tally.pulls >= GUESSING_END * self.spec.num_arms

    def takes_doubtful(self, tally):
        """Return whether this decision is for the most doubtful arm."""
        if self.is_late(tally):
            return False
        self.turn += EARLY_TURNS if tally.pulls < GUESSING * self.spec.num_arms else TURNS
        if self.turn < 10:
            return False
        self.turn -= 10
        return True

    def cheapest(self, tally):
        """Return the open arm with the cheapest claim that is ripe, -1 if none is."""
        enough = self.ripe_from(tally)
        k: cython.Py_ssize_t = self.unripe.first()
        while k >= 0 and self.unripe.keys[k] >= enough:
            self.unripe.drop(k)
            self.ripe.put(k, self.price[k])
            k = self.unripe.first()
        return self.ripe.first()

    def most_doubtful(self):
        """Return the open arm that reaches farthest beyond the bar, -1 if none is open."""
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
        """Put arm a in its place, by its rewards, in all heaps that a look does not maintain."""
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
        """Look at all claims."""
        t: cython.double = tally.pulls
        self.log_t = log(t / self.spec.num_arms)
        self.next_sweep = tally.pulls + 1 + tally.pulls // 4
        for a in range(self.spec.num_arms):
            self.by_mean.put(a, self.sides.m[a])
        for a in range(self.spec.num_arms):
            self.refresh(a)
        for a in range(self.spec.num_arms):
            self.look(tally, a)

    def add_to_pool(self, tally):
        """Add the rewards of the plan so far to the pool, if they are to be pooled."""
        if self.plans_to_pool:
            arm, u = self.arm, self.spec.unit[self.arm]
            self.pool[0] += (tally.N[arm] - self.count_before) * u
            self.pool[1] += (tally.S[arm] - self.sum_before) * u

    def pooled(self):
        """Return whether a reward of the arm chosen next is to be pooled."""
        return self.plans_to_pool and self.spec.surcharge_pool < inf

    def settle(self, tally, pooled, n):
        """Correct the pool for a reward that comes in another order than planned.

        Call it after ``record``, before ``update``.  Whether the last reward is pooled was decided
        when it was requested.  If the plan says otherwise, the amount that ``add_to_pool`` will
        add is corrected.  n is the number of rewards: 0 for a censored waiting time.
        """
        arm, reward = tally.last, tally.reward
        planned: cython.bint = self.plans_to_pool and self.arm == arm
        highest: cython.bint = self.sides.top_unit == 0.0 or reward > self.sides.top
        if self.robust and pooled and n == 1 and highest:
            self.sides.top, self.sides.top_unit = reward, self.spec.unit[arm]
        if pooled and not planned:
            self.pool[0] += n * self.spec.unit[arm]
            self.pool[1] += reward * self.spec.unit[arm]
        elif planned and not pooled:
            self.count_before += n
            self.sum_before += reward

    def decide(self, tally):
        """Add the rewards of the last plan to the pool, bring claims up to date, and make the next
        plan.
        """
        self.add_to_pool(tally)
        if tally.pulls >= self.next_sweep:
            self.sweep(tally)
        for i in range(self.num_new):
            self.is_new[self.new[i]] = False
            self.look(tally, self.new[i])
        self.num_new = 0
        k: cython.Py_ssize_t = self.choose_claim(tally)
        if k < 0:
            # All labels are certified.  If pulling continues anyway: each arm in turn.
            self.done, self.plans_to_pool = True, False
            self.arm, self.remaining = (self.arm + 1) % self.spec.num_arms, 1
            return
        self.plan(tally, k)

    def choose_claim(self, tally):
        """Return the open arm to work on, its claim up to date; -1 if none is open."""
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
        """Choose the side of k's claim to pull, how often, and whether its rewards are pooled."""
        c, l = self.spec.c, self.rival[k]
        partner: cython.Py_ssize_t = l
        v_k: cython.double = self.sides.v[k]
        v_l: cython.double = 0.0
        if l != POOL:
            v_l = self.sides.v[l]
        elif self.pool[0] > 0.0:
            v_l = self.spec.model.precision(self.pool[0], self.pool[1] / self.pool[0], 0.0, 1.0)
        if self.sides.m[k] < self.bar() and l != k:
            partner = self.leaders.first_other(k)
            self.level = (self.sides.m[k] + self.rise[k] + self.spec.e) / c
        if partner < 0:
            partner = k
        part: cython.double = c * c * v_k / v_l if v_l > 0.0 else inf
        if self.is_late(tally) and l != POOL and self.labels[l] == OPEN:
            part *= part
        share: cython.double = 1.0 / (1.0 + part) if v_k > 0.0 else 1.0
        arm: cython.Py_ssize_t = k
        if partner != k and self.owed[partner] + 1.0 - share > self.owed[k] + share:
            arm = partner
        n: cython.longlong = 1 + tally.N[arm] // PULLS_PER_REPEAT
        if partner != k:
            self.owed[k] += n * share
            self.owed[partner] += n * (1.0 - share)
            self.owed[arm] -= n
        self.arm, self.remaining = arm, n
        self.count_before, self.sum_before = tally.N[arm], tally.S[arm]
        M: cython.double = self.sides.m[self.by_mean.first()]
        if self.pool[0] > 0.0:
            M = min(M, self.pool[1] / self.pool[0])
        self.plans_to_pool = self.sides.m[arm] >= 0.5 * (self.level + M)

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
        self.remaining -= 1
        if self.done or self.remaining <= 0:
            self.decide(tally)
        return 0

    def is_done(self, tally):
        return self.done

    def next_arm(self, tally):
        return self.arm

    def answer(self, tally, out):
        """Write the certified labels into ``out``; open arms by their empirical means."""
        bar = self.spec.c * highest_mean(tally) - self.spec.e
        for a in range(tally.size):
            looks_good: cython.bint = self.labels[a] == OPEN and tally.m[a] >= bar
            out[a] = self.labels[a] == GOOD or looks_good
        return 0

    def copy(self):
        """Return an independent copy, from which a run can go on."""
        state = ClaimByClaimState(self.spec)
        state.sides = self.sides.copy()
        state.labels, state.rival = self.labels.copy(), self.rival.copy()
        state.passed, state.certified_at = self.passed.copy(), self.certified_at.copy()
        state.shown = self.shown.copy()
        state.lacks, state.rise = self.lacks.copy(), self.rise.copy()
        state.price, state.owed = self.price.copy(), self.owed.copy()
        state.looked = self.looked.copy()
        state.pool = self.pool.copy()
        state.new, state.is_new, state.num_new = self.new.copy(), self.is_new.copy(), self.num_new
        state.num_seen = self.num_seen
        state.by_mean, state.leaders = self.by_mean.copy(), self.leaders.copy()
        state.below, state.above = self.below.copy(), self.above.copy()
        state.unripe, state.ripe = self.unripe.copy(), self.ripe.copy()
        state.anchor, state.log_t = self.anchor, self.log_t
        state.next_sweep, state.turn = self.next_sweep, self.turn
        state.level, state.arm, state.remaining = self.level, self.arm, self.remaining
        state.plans_to_pool = self.plans_to_pool
        state.count_before, state.sum_before = self.count_before, self.sum_before
        state.advances, state.done = self.advances, self.done
        state.robust = self.robust
        return state

    def whole_pool(self, tally):
        """Return the pool, with the rewards of the plan so far that are to be pooled."""
        pool = np.array(self.pool)
        if self.plans_to_pool:
            arm, u = self.arm, self.spec.unit[self.arm]
            pool[0] += (tally.counts[arm] - self.count_before) * u
            pool[1] += (tally.sums[arm] - self.sum_before) * u
        return pool

    def look_at_all(self, tally, claims):
        """Certify every label whose evidence is enough.

        First the arms that look bad: once certified, they are not rivals of the others.  Then each
        open arm that looks good passes its rivals in their order, as far as the evidence reaches.
        ``claims`` are the open claims of this study, with the spec of the run, but not rough.
        """
        labels, passed = np.asarray(self.labels), np.asarray(self.passed)
        shown = np.asarray(self.shown)
        claims_now, rests_on = labels_now(claims, self.sides, self.whole_pool(tally), labels, shown)
        bad = np.flatnonzero((labels == OPEN) & (claims_now == BAD))
        good = np.flatnonzero((labels == OPEN) & (claims_now == GOOD))
        np.asarray(self.rival)[bad] = rests_on[bad]
        for k in (*bad, *good):
            self.certify(tally, k, claims_now[k])
            self.retire(k)
        # Between two such looks, rivals may have been passed that such a look does not pass.
        stale = (labels == OPEN) & (passed == self.spec.num_arms)
        passed[stale] = shown[stale]
        if bad.size or good.size:
            self.decide(tally)

    def claims(self, tally, spec):
        """Return the labels certified so far, and the present evidence of each arm.

        ``spec`` is that of the run, but not rough.
        """
        labels = np.asarray(self.labels)
        claims_now = claims_from(spec, self.sides, self.whole_pool(tally), labels)
        return replace(claims_now, good=labels == GOOD, bad=labels == BAD, open=labels == OPEN)


def process(state, tally, arms, rewards, numbers, scatter, pooled, influential, start):
    """Process rewards from number ``start`` on, until a claim advances; return how many are
    processed.

    Args:
        rewards, numbers, scatter: a reward and 1; or the sum of many rewards, their number and
            their scatter; or a censored waiting time, and 0.
        influential: the influential reward of the arm from then on, or nan (``Sides``).
    """
    before = state.advances
    for i in range(start, arms.shape[0]):
        if numbers[i] == 1:
            tally.record(arms[i], rewards[i])
        elif numbers[i] == 0:
            tally.wait(arms[i], rewards[i])
        else:
            tally.record_many(arms[i], numbers[i], rewards[i], scatter[i])
        state.sides.influential[arms[i]] = influential[i]
        state.settle(tally, pooled[i], numbers[i])
        state.update(tally)
        if state.advances != before:
            return i + 1
    return arms.shape[0]


def suppose(state, tally, arms, pooled):
    """Process the current mean of each of these arms as if it were a reward."""
    for i in range(arms.shape[0]):
        imagine(state, tally, arms[i], pooled[i])
    return 0


def imagine(state, tally, arm, pooled):
    """Process the arm's current mean as if it were a reward, which fits its only reward."""
    tally.suppose(arm)
    if tally.N[arm] == 2:
        state.sides.influential[arm] = NAN
    state.settle(tally, pooled, 1)
    state.update(tally)
    return 0


def choose(state, tally, processed, closed, limit, arms, pooled):
    """Choose arms until there are enough or nothing remains to be done; return how many.

    Each arm chosen is supposed to give its current mean.  So is an arm that is closed, which is
    passed over; ``limit`` is how often, at most.  An arm that led by luck would lead all the time,
    as imagined rewards do not prove it wrong.  So not more rewards of an arm are to be pooled
    than have been ``processed``.
    """
    n: cython.Py_ssize_t = 0
    over: cython.Py_ssize_t = 0
    arm: cython.Py_ssize_t
    is_pooled: cython.bint
    while n < arms.shape[0] and over < limit and not state.done:
        arm = state.arm
        is_pooled = state.pooled() and 2 * processed.N[arm] >= tally.N[arm]
        if closed[arm]:
            over += 1
        else:
            arms[n], pooled[n] = arm, is_pooled
            n += 1
        imagine(state, tally, arm, is_pooled)
    return n


@dataclass(frozen=True)
class ClaimByClaim(Strategy):
    """Certify the label of each arm, the cheap ones first; stop when every label is certified.

    Args:
        objective: the question.
        delta: the risk that any label, at any time, is certified wrongly.
        pool: False lets a claim that an arm is bad rest on one rival only.  This is proven as well;
            it shows what the pool is worth.
    """

    objective: Objective
    delta: float
    pool: bool = True

    def __post_init__(self):
        Objective.check(self.objective)
        object.__setattr__(self, "delta", probability("ClaimByClaim(delta=...)", self.delta))

    @property
    def proven(self):
        """True: a theorem bounds the probability of a wrong label by delta."""
        return True

    def spec(self, num_arms, model, at_first=None, rough=False):
        """Return the needs and the prior of the claims (``claim_spec``)."""
        pooled = POOLED if self.pool else 0.0
        return claim_spec(self.objective, self.delta, num_arms, model, pooled, at_first, rough)

    def start(self, num_arms, model, at_first=None):
        K = count("num_arms", num_arms)
        return ClaimByClaimState(self.spec(K, model, at_first, rough=True))
