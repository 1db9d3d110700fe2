"""Certified labels of a run, brought up to date at chosen numbers of pulls.

They are those of ``claims.py`` without a pool.  Claims hold for every way of choosing the arms and
for any number of looks, so any strategy can be watched, and a certified label stays certified.
"""

import cython
import numpy as np
from cython.cimports.allgood.evidence.certify import evidence_bad, evidence_good, likely_rival
from cython.cimports.allgood.evidence.spec import BAD, GOOD, OPEN, Sides
from cython.cimports.allgood.kernels.c_math import inf

from allgood.evidence.claims import claim_spec


class CertifiedLabels:
    """The certified labels of a run.  ``look`` brings them up to date.

    Attributes:
        spec: the needs of the claims.
        labels: int64[K], OPEN, GOOD or BAD.
        certified_at: int64[K], pulls at the look that certified each label, 0 while it is open.
        rival: the rival that kept each arm from being certified good at the last look: the first to
            be tried at the next.
    """

    def __init__(self, objective, delta, num_arms, model):
        K = num_arms
        self.spec = claim_spec(objective, delta, K, model, 0.0, rough=True)
        self.sides = Sides(model, np.array(self.spec.unit))
        self.labels = np.full(K, OPEN, np.int64)
        self.certified_at, self.rival = np.zeros(K, np.int64), np.zeros(K, np.int64)
        self.no_pool = np.zeros(2)

    def look(self, tally):
        """Certify the labels whose evidence is enough.  Every arm must have a reward."""
        top: cython.double = -inf
        for k in range(tally.size):
            self.sides.take(tally, k)
            top = max(top, tally.m[k])
        bar = self.spec.c * top - self.spec.e
        # First the arms that look bad: once certified, they are not rivals of the others.
        for k in range(tally.size):
            if self.labels[k] == OPEN and tally.m[k] < bar:
                l = likely_rival(self.spec, self.sides, k)
                E, surcharge, _, _ = evidence_bad(self.spec, self.sides, self.no_pool, k, l)
                if self.spec.need + surcharge <= E:
                    self.labels[k] = BAD
                    self.certified_at[k] = tally.pulls
        for k in range(tally.size):
            if self.labels[k] == OPEN and tally.m[k] >= bar and self.is_good(k):
                self.labels[k] = GOOD
                self.certified_at[k] = tally.pulls

    def is_good(self, k):
        """Return whether arm k is certified good against every rival."""
        if not self.beats(k, self.rival[k]):
            return False
        for l in range(self.labels.shape[0]):
            if not self.beats(k, l):
                self.rival[k] = l
                return False
        return True

    def beats(self, k, l):
        """Return whether arm k is good against l, or l is not a rival."""
        if self.labels[l] == BAD or (l == k and self.spec.c == 1.0):
            return True
        return evidence_good(self.spec, self.sides, k, l) >= self.spec.need_good


def look(labels, tally):
    """Call the method, for tests."""
    labels.look(tally)
