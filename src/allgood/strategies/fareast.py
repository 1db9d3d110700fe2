"""FAREAST of Mason, Jain, Tripathy and Nowak (2020): two filters in turns, one for bad arms and one for good ones.

Risk delta/2 each.  Rounds r = 1, 2, ... with the accuracy  h_r = s 2^-r,  s the largest sigma:

Bad filter.   Find an arm i_r that is h_r-good, with probability at least 1/2, by LUCB among the arms known good (among
              all arms, while none is).  Draw i_r and every active arm not yet known good afresh,

                  tau_a = 4 (sigma_a/s)^2 4^r log(4/delta_r) times,   delta_r = delta / (2 K r^2),

              and drop arm a when  c m_{i_r} - e - m_a >= (1 + c) h_r.
Good filter.  Spend as many pulls as the bad filter just did, always on the active arm with the fewest.  Whenever
              all active arms have equally many, with U = c max upper - e and L = c max lower - e over the active arms:
              arm a is known good once lower_a >= U; it is dropped as bad when upper_a < L, and as no longer needed
              when it is known good and upper_a < max lower.
Stop          when every active arm is known good.  Answer: the arms known good.

LUCB is the bad filter's helper: pull the empirically best arm and, of the others, the one with the highest upper
bound, until that bound minus the best arm's lower bound is at most h_r; widths 2 sigma sqrt(log(2 log2(2n)) / n),
without a union over arms.  Its answer may be wrong: then the bad filter drops less, never wrongly.

EAST is the good filter alone with the whole of delta.

The loop pulls one arm at a time, so what reads as nested loops above is a machine with four phases here.  Each
filter, and LUCB, keeps its own rewards.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._jit import inlined
from ..models import SUB_GAUSSIAN, Gaussian, Model
from ..parts import FOREVER, answer, empirical_bar, is_done, next_arm, update
from ._intervals import ByBounds, Width, half_width

GOOD, LUCB_FIRST, LUCB, FRESH = range(4)
UNDECIDED, KNOWN_GOOD, KNOWN_BAD = range(3)


class FarEastSpec(NamedTuple):
    c: float
    e: float
    sigma: np.ndarray  # float64[K]
    width: int
    log_arms: float  # log(K / risk of the good filter)
    grid: np.ndarray  # float64[J]
    family: int  # normal, or sub-Gaussian
    low: float
    high: float
    eta: np.ndarray
    w: np.ndarray
    bad_filter: bool
    log_first: float  # log(4 / delta_1) = log(8 K / delta)
    unit: float  # s


class FarEastState(NamedTuple):
    active: np.ndarray  # bool[K]
    label: np.ndarray  # int64[K]
    upper: np.ndarray  # float64[K]  of the good filter's rewards, best so far
    lower: np.ndarray  # float64[K]
    counts: np.ndarray  # int64[3, K]  pulls for the good filter; for LUCB and afresh, in this round
    sums: np.ndarray  # float64[3, K]
    phase: np.ndarray  # int64[1]
    turn: np.ndarray  # int64[1]  r
    arm: np.ndarray  # int64[1]  to pull next
    spent: np.ndarray  # int64[1]  by the bad filter in this round
    left: np.ndarray  # int64[1]  pulls of the good filter in this round
    pair: np.ndarray  # int64[2]  LUCB: leader and challenger
    settled: np.ndarray  # bool[1]


@inlined
def fewest(state):
    """The active arm with the fewest pulls of the good filter; of all arms, if none is active."""
    counts, active = state.counts, state.active
    best = -1
    for a in range(active.size):
        if active[a] and (best < 0 or counts[0, a] < counts[0, best]):
            best = a
    if best < 0:
        best = 0
        for a in range(active.size):
            if counts[0, a] < counts[0, best]:
                best = a
    return best


@inlined
def settle(state):
    """Whether every active arm is known good."""
    settled = True
    for a in range(state.active.size):
        if state.active[a] and state.label[a] != KNOWN_GOOD:
            settled = False
    state.settled[0] = settled


@inlined
def filter_good(spec, state):
    """Once all active arms have equally many pulls: label and drop."""
    active, label, upper, lower = state.active, state.label, state.upper, state.lower
    least, most = FOREVER, -1
    highest_upper, highest_lower = -np.inf, -np.inf
    for a in range(active.size):
        if active[a]:
            least, most = min(least, state.counts[0, a]), max(most, state.counts[0, a])
            highest_upper, highest_lower = max(highest_upper, upper[a]), max(highest_lower, lower[a])
    if least == most:
        U, L = spec.c * highest_upper - spec.e, spec.c * highest_lower - spec.e
        for a in range(active.size):
            if active[a]:
                if lower[a] >= U:
                    label[a] = KNOWN_GOOD
                if label[a] == KNOWN_GOOD:
                    active[a] = upper[a] >= highest_lower
                elif upper[a] < L:
                    active[a] = False
                    label[a] = KNOWN_BAD
        settle(state)


@inlined
def filter_bad(spec, state):
    """With everything drawn afresh: drop what i_r outdoes."""
    counts, sums = state.counts, state.sums
    i = state.pair[0]
    h = spec.unit * 2.0 ** -state.turn[0]
    bar = spec.c * sums[2, i] / counts[2, i] - spec.e - (1.0 + spec.c) * h
    for a in range(state.active.size):
        if a != i and state.active[a] and state.label[a] == UNDECIDED and sums[2, a] / counts[2, a] <= bar:
            state.active[a] = False
            state.label[a] = KNOWN_BAD
    settle(state)


@inlined
def is_candidate(state, known, a):
    """Whether LUCB may choose this arm: it is known good, or none is."""
    return known == 0 or state.label[a] == KNOWN_GOOD


@inlined
def known_good(state):
    known = 0
    for a in range(state.label.size):
        known += state.label[a] == KNOWN_GOOD
    return known


@inlined
def lucb_choose(spec, state):
    """Leader and challenger; True when the leader is good enough.  A single candidate needs no rewards."""
    counts, sums = state.counts, state.sums
    known = known_good(state)
    lead, challenger = -1, -1
    for a in range(counts.shape[1]):
        if is_candidate(state, known, a) and (lead < 0 or sums[1, a] / counts[1, a] > sums[1, lead] / counts[1, lead]):
            lead = a
    highest = -np.inf
    for a in range(counts.shape[1]):
        if a != lead and is_candidate(state, known, a):
            bound = sums[1, a] / counts[1, a] + lucb_width(spec, a, float(counts[1, a]))
            if challenger < 0 or bound > highest:
                challenger, highest = a, bound
    state.pair[0], state.pair[1] = lead, challenger
    good_enough = True
    if challenger >= 0:
        lower = sums[1, lead] / counts[1, lead] - lucb_width(spec, lead, float(counts[1, lead]))
        good_enough = highest - lower <= spec.unit * 2.0 ** -state.turn[0]
    return good_enough


@inlined
def lucb_width(spec, arm, n):
    return 2.0 * spec.sigma[arm] * math.sqrt(math.log(2.0 * math.log2(2.0 * n)) / n)


@inlined
def fresh_pulls(spec, state, arm):
    """tau_a of this round."""
    r = float(state.turn[0])
    log_term = spec.log_first + 2.0 * math.log(r)
    return math.ceil(4.0 * (spec.sigma[arm] / spec.unit) ** 2 * 4.0**r * log_term)


@inlined
def next_fresh(spec, state, start):
    """The first arm from ``start`` on that lacks fresh rewards, K if there is none."""
    a = start
    while a < state.active.size:
        wanted = a == state.pair[0] or (state.active[a] and state.label[a] == UNDECIDED)
        if wanted and state.counts[2, a] < fresh_pulls(spec, state, a):
            break
        a += 1
    return a


@inlined
def next_unseen(state, start):
    """LUCB's first candidate from ``start`` on without a reward in this round, K if there is none."""
    known = known_good(state)
    a = start
    while a < state.active.size and not (is_candidate(state, known, a) and state.counts[1, a] == 0):
        a += 1
    return a


@inlined
def begin_round(spec, state):
    """The next r: forget LUCB's and the fresh rewards, and set LUCB to work."""
    state.turn[0] += 1
    state.spent[0] = 0
    for a in range(state.active.size):
        state.counts[1, a] = state.counts[2, a] = 0
        state.sums[1, a] = state.sums[2, a] = 0.0
    known = known_good(state)
    if known == 1 or state.active.size == 1:
        lucb_choose(spec, state)
        state.phase[0] = FRESH
        state.arm[0] = next_fresh(spec, state, 0)
    else:
        state.phase[0] = LUCB_FIRST
        state.arm[0] = next_unseen(state, 0)


@inlined
def take_good(spec, state, arm, n):
    """A reward for the good filter."""
    C = half_width(spec, arm, float(n))
    mean = state.sums[0, arm] / n
    state.upper[arm] = min(state.upper[arm], mean + C)
    state.lower[arm] = max(state.lower[arm], mean - C)
    filter_good(spec, state)
    state.left[0] -= 1
    if state.settled[0] or not spec.bad_filter:
        state.left[0] = FOREVER
    if state.left[0] <= 0:
        begin_round(spec, state)
    else:
        state.arm[0] = fewest(state)


@inlined
def take_bad(spec, state, arm):
    """A reward for the bad filter or its helper."""
    K = state.active.size
    state.spent[0] += 1
    drawn = -1  # where to look for arms that lack fresh rewards, once LUCB is done
    if state.phase[0] == LUCB_FIRST:
        state.arm[0] = next_unseen(state, arm + 1)
        if state.arm[0] == K:
            state.phase[0] = LUCB
    if state.phase[0] == FRESH:
        drawn = arm
    elif state.phase[0] == LUCB:
        if arm == state.pair[0] and state.arm[0] != K:
            state.arm[0] = state.pair[1]  # the leader's turn is over, the challenger's comes
        elif lucb_choose(spec, state):
            state.phase[0] = FRESH
            drawn = 0
        else:
            state.arm[0] = state.pair[0]
    if drawn >= 0:
        state.arm[0] = next_fresh(spec, state, drawn)
        if state.arm[0] == K:
            filter_bad(spec, state)
            state.phase[0] = GOOD
            state.left[0] = FOREVER if state.settled[0] else state.spent[0]
            state.arm[0] = fewest(state)


@update.register(FarEastSpec)
@inlined
def _update(spec, state, tally):
    arm = tally.last[0]
    book = 0 if state.phase[0] == GOOD else 2 if state.phase[0] == FRESH else 1
    state.counts[book, arm] += 1
    state.sums[book, arm] += tally.reward[0]
    if state.phase[0] == GOOD:
        take_good(spec, state, arm, state.counts[0, arm])
    else:
        take_bad(spec, state, arm)


@is_done.register(FarEastSpec)
@inlined
def _is_done(spec, state, tally):
    return state.settled[0]


@next_arm.register(FarEastSpec)
@inlined
def _next_arm(spec, state, tally):
    return state.arm[0]


@answer.register(FarEastSpec)
@inlined
def _answer(spec, state, tally, out):
    """The arms known good, and of the undecided ones those that are good by the empirical means."""
    means, bar = tally.means, empirical_bar(spec, tally)
    for a in range(means.size):
        known = state.label[a]
        out[a] = known == KNOWN_GOOD or (known == UNDECIDED and means[a] >= bar)


@dataclass(frozen=True)
class FarEast(ByBounds):
    """FAREAST: a good filter and a bad filter in turns, half of the risk to each.

    Args:
        objective: the question.
        delta: the risk.
        width: of the good filter's intervals, as for :class:`ST2`; its authors' is "mason".
        bad_filter: False for EAST, the good filter alone with all of the risk.
    """

    width: Width = "mason"
    bad_filter: bool = True

    def start(self, num_arms: int, model: Model) -> tuple[FarEastSpec, FarEastState]:
        if model.family not in SUB_GAUSSIAN:
            raise ValueError(f"FarEast must have sub-Gaussian rewards of known sigma: got {model}.")
        noise = Gaussian(model.sigmas(num_arms))
        intervals = self.intervals(num_arms, noise, share=0.5 if self.bad_filter else 1.0)
        spec = FarEastSpec(
            *intervals,
            bad_filter=self.bad_filter,
            log_first=math.log(8.0 * num_arms / self.delta),
            unit=float(intervals.sigma.max()),
        )
        one = np.zeros(1, np.int64)
        state = FarEastState(
            active=np.ones(num_arms, np.bool_),
            label=np.zeros(num_arms, np.int64),
            upper=np.full(num_arms, np.inf),
            lower=np.full(num_arms, -np.inf),
            counts=np.zeros((3, num_arms), np.int64),
            sums=np.zeros((3, num_arms)),
            phase=one,
            turn=one.copy(),
            arm=one.copy(),
            spent=one.copy(),
            left=np.full(1, num_arms),
            pair=np.zeros(2, np.int64),
            settled=np.zeros(1, np.bool_),
        )
        return spec, state
