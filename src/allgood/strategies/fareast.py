"""FAREAST of Mason, Jain, Tripathy and Nowak (2020): a filter for bad arms and one for good arms.

The filters take turns, with risk delta/2 each.  Rounds r = 1, 2, ... have the accuracy
h_r = s 2^-r,  s the largest sigma:

Bad filter.   By LUCB, find an arm i_r that is h_r-good with probability at least 1/2: among the
              arms known good, or among all arms while none is.  Draw i_r and every active arm that
              is not known good afresh,

                  tau_a = 4 (sigma_a/s)^2 4^r log(4/delta_r) times,   delta_r = delta / (2 K r^2),

              and drop arm a when  c m_{i_r} - e - m_a >= (1 + c) h_r.
Good filter.  Spend as many pulls as the bad filter just did, always on the active arm with the
              fewest.  Whenever all active arms have equally many, let U = c max upper - e and
              L = c max lower - e over the active arms.  Arm a is known good once lower_a >= U.  It
              is dropped as bad when upper_a < L, and as no longer needed when it is known good and
              upper_a < max lower.
Stop          when every active arm is known good.  Answer: the arms known good.

LUCB is the bad filter's helper: pull the empirically best arm and, of the others, the one with
the highest upper bound, until that bound minus the best arm's lower bound is at most h_r; widths
2 sigma sqrt(log(2 log2(2n)) / n), without a union over arms.  Its answer may be wrong: then the
bad filter drops less, never wrongly.

EAST is the good filter alone with the whole of delta.

The loop pulls one arm at a time, so the nested loops above become a machine with four phases here.
Each filter, and LUCB, keeps its own rewards.
"""

import math
from dataclasses import dataclass

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import ceil, inf, log, log2, sqrt
from cython.cimports.allgood.kernels.tally import highest_mean
from cython.cimports.allgood.strategies.confidence_bounds import BoundsState

from allgood.evidence.thresholds import WidthName
from allgood.models.gaussian import Gaussian
from allgood.strategies.confidence_bounds import ByBounds

# Phases: the good filter's turn, LUCB's first pulls, LUCB, fresh pulls for the bad filter.
FILTER_GOOD = cython.declare(cython.int, 0)
LUCB_FIRST = cython.declare(cython.int, 1)
LUCB = cython.declare(cython.int, 2)
FRESH = cython.declare(cython.int, 3)
# Labels.
UNDECIDED = cython.declare(cython.int, 0)
KNOWN_GOOD = cython.declare(cython.int, 1)
KNOWN_BAD = cython.declare(cython.int, 2)
# Books: each filter, and LUCB, keeps its own rewards.
OF_GOOD = cython.declare(cython.int, 0)
OF_LUCB = cython.declare(cython.int, 1)
OF_BAD = cython.declare(cython.int, 2)
FOREVER = cython.declare(cython.Py_ssize_t, 1 << 62)


class FarEastState(BoundsState):
    """The state of a run.

    Attributes:
        active, label: bool[K] and int64[K], by the filters so far.
        upper, lower: of the good filter's rewards, best so far.
        counts, totals: int64[3, K] and float64[3, K], pulls and sums of rewards of the good filter;
            of LUCB and afresh, in this round.
        phase, arm: the present phase, and the arm to pull next.
        turn: r; ``h``: h_r; ``tau``: int64[K], tau_a of this round.
        spent, remaining: pulls of the bad filter in this round, and those that remain to the good
            filter.
        lead, challenger: LUCB's pair.
        settled: True if every active arm is known good.
    """

    def __init__(self, strategy, num_arms, model):
        share = 0.5 if strategy.bad_filter else 1.0
        BoundsState.__init__(self, strategy, num_arms, Gaussian(model.sigmas(num_arms)), share)
        self.bad_filter = strategy.bad_filter
        self.log_first = math.log(8.0 * num_arms / strategy.delta)  # log(4 / delta_1)
        self.unit = float(np.max(self.sigma))  # s
        self.active = np.ones(num_arms, np.int8)
        self.label = np.zeros(num_arms, np.int64)
        self.counts = np.zeros((3, num_arms), np.int64)
        self.totals = np.zeros((3, num_arms))
        self.tau, self.h = np.zeros(num_arms, np.int64), 0.0
        self.lucb_mean, self.lucb_width = np.zeros(num_arms), np.zeros(num_arms)
        self.phase, self.turn, self.arm, self.spent = 0, 0, 0, 0
        self.remaining = num_arms
        self.lead, self.challenger = 0, 0
        self.settled = False

    def fewest(self):
        """Return the active arm with the fewest pulls of the good filter; any arm if none is
        active.
        """
        best: cython.Py_ssize_t = -1
        for a in range(self.label.shape[0]):
            if self.active[a] and (best < 0 or self.counts[0, a] < self.counts[0, best]):
                best = a
        if best < 0:
            best = 0
            for a in range(self.label.shape[0]):
                if self.counts[0, a] < self.counts[0, best]:
                    best = a
        return best

    def settle(self):
        """Record whether every active arm is known good."""
        self.settled = True
        for a in range(self.label.shape[0]):
            if self.active[a] and self.label[a] != KNOWN_GOOD:
                self.settled = False

    def filter_good(self):
        """Label and drop arms once all active arms have equally many pulls; choose the next arm."""
        K = self.label.shape[0]
        behind: cython.Py_ssize_t = -1
        least: cython.longlong = FOREVER
        largest: cython.longlong = -1
        for a in range(K):
            if self.active[a]:
                n = self.counts[OF_GOOD, a]
                if n < least:
                    behind, least = a, n
                largest = max(largest, n)
        if least != largest:
            self.arm = behind if behind >= 0 else self.fewest()
            return
        highest_upper: cython.double = -inf
        highest_lower: cython.double = -inf
        for a in range(K):
            if self.active[a]:
                highest_upper = max(highest_upper, self.upper[a])
                highest_lower = max(highest_lower, self.lower[a])
        U, L = self.c * highest_upper - self.e, self.c * highest_lower - self.e
        for a in range(K):
            if self.active[a]:
                if self.lower[a] >= U:
                    self.label[a] = KNOWN_GOOD
                if self.label[a] == KNOWN_GOOD:
                    self.active[a] = self.upper[a] >= highest_lower
                elif self.upper[a] < L:
                    self.active[a] = False
                    self.label[a] = KNOWN_BAD
        self.settle()
        self.arm = self.fewest()

    def filter_bad(self):
        """Drop the arms that i_r exceeds by too much, once all fresh rewards are there."""
        i = self.lead
        bar = self.c * self.mean_in(OF_BAD, i) - self.e - (1.0 + self.c) * self.h
        for a in range(self.label.shape[0]):
            doubtful: cython.bint = a != i and self.active[a] and self.label[a] == UNDECIDED
            if doubtful and self.mean_in(OF_BAD, a) <= bar:
                self.active[a] = False
                self.label[a] = KNOWN_BAD
        self.settle()

    def mean_in(self, book, a):
        """Return the average of the rewards in one book; nan if there are none."""
        return self.totals[book, a] / self.counts[book, a]

    def known_good(self):
        """Return the number of arms that are known good."""
        number: cython.Py_ssize_t = 0
        for a in range(self.label.shape[0]):
            number += self.label[a] == KNOWN_GOOD
        return number

    def is_candidate(self, number, a):
        """Return whether LUCB may choose this arm: it is known good, or none is."""
        return number == 0 or self.label[a] == KNOWN_GOOD

    def take_lucb(self, a):
        """Update LUCB's average and width of arm a after a reward."""
        n: cython.double = self.counts[OF_LUCB, a]
        self.lucb_mean[a] = self.mean_in(OF_LUCB, a)
        self.lucb_width[a] = 2.0 * self.sigma[a] * sqrt(log(2.0 * log2(2.0 * n)) / n)

    def lucb_choose(self):
        """Choose leader and challenger; return True when the leader is good enough.

        A single candidate needs no rewards.
        """
        K, number = self.label.shape[0], self.known_good()
        lead: cython.Py_ssize_t = -1
        challenger: cython.Py_ssize_t = -1
        highest: cython.double = -inf
        for a in range(K):
            if self.is_candidate(number, a) and (
                lead < 0 or self.lucb_mean[a] > self.lucb_mean[lead]
            ):
                lead = a
        for a in range(K):
            if a != lead and self.is_candidate(number, a):
                bound = self.lucb_mean[a] + self.lucb_width[a]
                if challenger < 0 or bound > highest:
                    challenger, highest = a, bound
        self.lead, self.challenger = lead, challenger
        if challenger < 0:
            return True
        lower = self.lucb_mean[lead] - self.lucb_width[lead]
        return highest - lower <= self.h

    def next_fresh(self, start):
        """Return the first arm from ``start`` on that lacks fresh rewards, K if there is none."""
        for a in range(start, self.label.shape[0]):
            is_due: cython.bint = a == self.lead
            is_due = is_due or (self.active[a] and self.label[a] == UNDECIDED)
            if is_due and self.counts[OF_BAD, a] < self.tau[a]:
                return a
        return self.label.shape[0]

    def next_unseen(self, start):
        """Return LUCB's first candidate from ``start`` on without a reward in this round, K if
        none.
        """
        number = self.known_good()
        for a in range(start, self.label.shape[0]):
            if self.is_candidate(number, a) and self.counts[OF_LUCB, a] == 0:
                return a
        return self.label.shape[0]

    def begin_round(self):
        """Start the next round r: clear LUCB's and the fresh rewards, and begin with LUCB."""
        K = self.label.shape[0]
        self.turn += 1
        self.spent = 0
        r: cython.double = self.turn
        self.h = self.unit * 2.0**-r
        log_term = self.log_first + 2.0 * log(r)  # log(4 / delta_r)
        for a in range(K):
            relative = self.sigma[a] / self.unit
            pulls = ceil(4.0 * (relative * relative) * 4.0**r * log_term)
            self.tau[a] = cython.cast(cython.longlong, pulls)
            self.counts[OF_LUCB, a] = self.counts[OF_BAD, a] = 0
            self.totals[OF_LUCB, a] = self.totals[OF_BAD, a] = 0.0
        if self.known_good() == 1 or K == 1:
            self.lucb_choose()
            self.phase = FRESH
            self.arm = self.next_fresh(0)
        else:
            self.phase = LUCB_FIRST
            self.arm = self.next_unseen(0)

    def take_good(self, a):
        """Process a reward of the good filter."""
        n: cython.double = self.counts[OF_GOOD, a]
        C = self.width.half_width(n) * self.sigma[a]
        mean = self.mean_in(OF_GOOD, a)
        self.upper[a] = min(self.upper[a], mean + C)
        self.lower[a] = max(self.lower[a], mean - C)
        self.filter_good()
        self.remaining -= 1
        if self.settled or not self.bad_filter:
            self.remaining = FOREVER
        if self.remaining <= 0:
            self.begin_round()

    def take_bad(self, a):
        """Process a reward of the bad filter or of LUCB."""
        K = self.label.shape[0]
        self.spent += 1
        drawn: cython.Py_ssize_t = -1  # where to look for arms that lack fresh rewards
        if self.phase == LUCB_FIRST:
            self.arm = self.next_unseen(a + 1)
            if self.arm == K:
                self.phase = LUCB
        if self.phase == FRESH:
            drawn = a
        elif self.phase == LUCB:
            if a == self.lead and self.arm != K:
                self.arm = self.challenger  # the leader's turn is over, the challenger's comes
            elif self.lucb_choose():
                self.phase = FRESH
                drawn = 0
            else:
                self.arm = self.lead
        if drawn < 0:
            return
        self.arm = self.next_fresh(drawn)
        if self.arm == K:
            self.filter_bad()
            self.phase = FILTER_GOOD
            self.remaining = FOREVER if self.settled else self.spent
            self.arm = self.fewest()

    def update(self, tally):
        a = tally.last
        book: cython.int = OF_LUCB
        if self.phase == FILTER_GOOD:
            book = OF_GOOD
        elif self.phase == FRESH:
            book = OF_BAD
        self.counts[book, a] += 1
        self.totals[book, a] += tally.reward
        if book == OF_LUCB:
            self.take_lucb(a)
        if self.phase == FILTER_GOOD:
            self.take_good(a)
        else:
            self.take_bad(a)
        return 0

    def is_done(self, tally):
        return self.settled

    def next_arm(self, tally):
        return self.arm

    def answer(self, tally, out):
        """Write the arms known good into ``out``; undecided arms by their empirical means."""
        bar = self.c * highest_mean(tally) - self.e
        for a in range(tally.size):
            looks_good: cython.bint = self.label[a] == UNDECIDED and tally.m[a] >= bar
            out[a] = self.label[a] == KNOWN_GOOD or looks_good
        return 0


@dataclass(frozen=True)
class FarEast(ByBounds):
    """FAREAST: a good filter and a bad filter in turns, half of the risk to each.

    Args:
        objective: the question.
        delta: the risk.
        width: of the good filter's intervals, as for :class:`ST2`; its authors use "mason".
        bad_filter: False for EAST, the good filter alone with all of the risk.
    """

    width: WidthName = "mason"
    bad_filter: bool = True

    def start(self, num_arms, model):
        if not model.sub_gaussian:
            raise ValueError(f"FarEast must have sub-Gaussian rewards of known sigma: got {model}.")
        return FarEastState(self, num_arms, model)
