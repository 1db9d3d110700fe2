"""Find the labels that can be certified now, without computing the evidence of every arm.

A study looks for such labels whenever values arrive.  ``claims.py`` answers the same question,
and shows the evidence of each arm as well, at the price of one or more minimizations per arm.  Here
an arm is passed over if

- its label is certified already,
- a number that its evidence cannot exceed (``ClaimSpec.ceiling``) is less than it needs, or
- it was tried before, and neither its rewards nor those that it was compared with have changed.

So the work for one look is a few operations per open arm, and evidence is computed only if it may
be enough.  The labels found are the same.
"""

import cython
import numpy as np
from cython.cimports.allgood.evidence.certify import (
    evidence_bad,
    evidence_good,
    find_frontier,
    hard_rivals,
    likely_rival_among,
    pool_side,
)
from cython.cimports.allgood.evidence.spec import BAD, GOOD, OPEN
from cython.cimports.allgood.kernels.c_math import inf

ABOVE = cython.declare(cython.double, 1.0)
BELOW = cython.declare(cython.double, -1.0)
ROUNDING = cython.declare(cython.double, 1e-6)  # far more than by which a ceiling may be too low


class OpenClaims:
    """The claims of arms whose labels are open, and the results of earlier looks.

    Attributes:
        spec: the question.
        num_evidence: how often evidence was computed.
        changed: int64[K], the look at which each arm had new rewards.
        bad_rival, bad_at: int64[K], the rival with which an arm was not bad, and the look.
        good_rival, good_at: int64[K], the rival against which an arm was not good, and the look.
        look, pool_changed: the number of the present look, and of the last that had another pool.
        pool, top, top_unit: the pool of the last look, and the largest reward in it.
        front: int64[K], the arms that may be likely rivals (``find_frontier``).
        candidates: int64[K], the arms that may be good.
    """

    def __init__(self, spec):
        K = spec.num_arms
        self.spec = spec
        self.num_evidence = 0
        self.changed = np.zeros(K, np.int64)
        self.bad_rival, self.good_rival = np.full(K, -1, np.int64), np.full(K, -1, np.int64)
        self.bad_at, self.good_at = np.full(K, -1, np.int64), np.full(K, -1, np.int64)
        self.front, self.candidates = np.empty(K, np.int64), np.empty(K, np.int64)
        self.pool = np.zeros(2)
        self.top = self.top_unit = 0.0
        self.look = self.pool_changed = 0

    def begin_look(self, sides, pool):
        """Start a look with this pool."""
        self.look += 1
        if (
            self.pool[0] != pool[0]
            or self.pool[1] != pool[1]
            or self.top != sides.top
            or self.top_unit != sides.top_unit
        ):
            self.pool[0], self.pool[1] = pool[0], pool[1]
            self.top, self.top_unit = sides.top, sides.top_unit
            self.pool_changed = self.look

    def find_bad(self, sides, labels, rival):
        """Label the open arms that can be certified bad, with their rivals; return how many."""
        bar = self.spec.c * self.highest_mean(sides) - self.spec.e
        number: cython.Py_ssize_t = -1  # of the frontier, once it is needed
        number_bad: cython.Py_ssize_t = 0
        last: cython.longlong
        l: cython.Py_ssize_t
        for k in range(self.spec.num_arms):
            if labels[k] != OPEN or not sides.m[k] < bar:
                continue
            if number < 0:
                number = find_frontier(sides, self.front)
            l = likely_rival_among(self.spec, sides, k, self.front, number)
            last = max(self.changed[k], self.pool_changed)
            if l >= 0:
                last = max(last, self.changed[l])
            if self.bad_at[k] >= last and self.bad_rival[k] == l:
                continue
            self.bad_rival[k], self.bad_at[k] = l, self.look
            if not self.may_be_bad(sides, k, l):
                continue
            self.num_evidence += 1
            E, surcharge, r, _ = evidence_bad(self.spec, sides, self.pool, k, l)
            if self.spec.need + surcharge <= E:
                labels[k], rival[k] = BAD, r
                number_bad += 1
        return number_bad

    def may_be_bad(self, sides, k, l):
        """Return whether the evidence that k is bad may be enough, against l or the pool."""
        enough = self.spec.need - ROUNDING
        if self.spec.c < 1.0 and sides.m[k] < 0.0:
            return True
        if self.pool[0] > 0.0 and self.spec.surcharge_pool < inf:
            shared = pool_side(self.spec, self.pool[0], self.pool[1])
            if self.spec.ceiling(BELOW, sides.side(k), shared) - self.spec.surcharge_pool >= enough:
                return True
        return l >= 0 and (
            self.spec.ceiling(BELOW, sides.side(k), sides.side(l)) - self.spec.surcharge_rival
            >= enough
        )

    def next_rival(self, labels, k, l):
        """Return the first rival of k from l on; the number of arms if there is none."""
        while l < self.spec.num_arms and (labels[l] == BAD or (l == k and self.spec.c == 1.0)):
            l += 1
        return l

    def find_candidates(self, sides, labels, shown):
        """Collect the open arms that look good and pass their next rival; return how many.

        Call it after ``find_bad``: arms that are certified bad are not rivals.
        """
        bar = self.spec.c * self.highest_mean(sides) - self.spec.e
        l: cython.Py_ssize_t
        number: cython.Py_ssize_t = 0
        for k in range(self.spec.num_arms):
            if labels[k] != OPEN or not sides.m[k] >= bar:
                continue
            l = self.next_rival(labels, k, shown[k])
            if l < self.spec.num_arms and self.is_blocked(sides, k, l):
                shown[k] = l
                continue
            self.candidates[number] = k
            number += 1
        return number

    def is_blocked(self, sides, k, l):
        """Return whether the evidence that k is good is not enough against l; record it if so."""
        if self.good_rival[k] == l and self.good_at[k] >= max(self.changed[k], self.changed[l]):
            return True
        enough: cython.bint = False
        if (
            l == k
            or self.spec.ceiling(ABOVE, sides.side(k), sides.side(l))
            >= self.spec.need_good - ROUNDING
        ):
            self.num_evidence += 1
            enough = evidence_good(self.spec, sides, k, l) >= self.spec.need_good
        if not enough:
            self.good_rival[k], self.good_at[k] = l, self.look
        return not enough

    def pass_rivals(self, sides, labels, shown, order, group, number):
        """Let the candidates pass their rivals, and label those good that have passed all.

        ``order`` and ``group`` are as for ``claim_all``; ``number`` is the number of candidates.
        An arm that passes the hardest rival of each group passes all.  If it does not, it passes
        rivals in their order, up to the first that blocks it.
        """
        hard = hard_rivals(labels, order, group)
        k: cython.Py_ssize_t
        l: cython.Py_ssize_t
        for j in range(number):
            k = self.candidates[j]
            l = shown[k]
            if self.passes_all(sides, k, order, hard):
                l = self.spec.num_arms
            else:
                l = self.next_rival(labels, k, l)
                while l < self.spec.num_arms and not self.is_blocked(sides, k, l):
                    l = self.next_rival(labels, k, l + 1)
            shown[k] = l
            if l == self.spec.num_arms:
                labels[k] = GOOD

    def passes_all(self, sides, k, order, hard):
        """Return whether the evidence that k is good is enough against each of the hard rivals."""
        l: cython.Py_ssize_t
        for i in range(-1, hard):
            l = k if i < 0 else order[i]
            if (i < 0 and self.spec.c == 1.0) or (i >= 0 and l == k):
                continue
            self.num_evidence += 1
            if not evidence_good(self.spec, sides, k, l) >= self.spec.need_good:
                return False
        return True

    def highest_mean(self, sides):
        """Return the highest mean of the arms that have rewards."""
        top: cython.double = -inf
        for k in range(self.spec.num_arms):
            if sides.n[k] > 0.0:
                top = max(top, sides.m[k])
        return top


def note_changes(claims, arms):
    """Record that these arms have new rewards, before the next look."""
    for i in range(arms.shape[0]):
        claims.changed[arms[i]] = claims.look + 1
