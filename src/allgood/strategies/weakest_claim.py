"""WeakestClaim: certify each arm's label by itself, and work on the claim that lacks most evidence.

Claims, their evidence and what it needs: ``evidence.py``, where the guarantee is proven.  It holds whatever chooses
the arms, so nothing here can weaken it.  Each decision takes the open arm k whose evidence lacks most and pulls one
side of its claim, k or its rival, in the proportions

    share of k = v_l / (v_l + c^2 v_k),      v the precisions of the two sides: pulls over the variance of one,

kept without random numbers, by counting what each arm is owed.  These are the parts that both sides have in the
evidence at its minimum; where many claims share an arm, as all bad arms share the leader, the optimal allocation is a
fixed point of the rule (for the best arm alone: You, Qin, Wang and Yang, 2023).

If k looks good, its rival is the arm with the least likelihood ratio.  If it looks bad, the rival is the pool, which is
fed by the arm with the highest m + sigma sqrt(log(t/K) / N), lest a better arm be overlooked.  A reward joins the pool
if its arm stands clearly above the level to which the arms above would have to come down to make k good, by a part
ABOVE of the way to the best empirical mean: those of lower arms would weaken the pool.

Cost.  A claim is looked at when its arm was pulled, or when it lacked most when last looked at: at a decision LOOKS of
the latter, and more where they become certified.  Between two decisions an arm is pulled once, and once more for every
EVERY pulls that it has had.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._check import count, probability
from .._jit import inlined, jit
from ..evidence import (
    BAD,
    GOOD,
    OPEN,
    POOL,
    POOLED,
    Claims,
    FamilyQuestion,
    Question,
    claims_from,
    evidence_bad,
    evidence_good,
    family_own,
    family_pair,
    family_precision,
    own,
    pair,
    precision,
    question,
)
from ..models import NORMAL, Model
from ..objectives import Objective
from ..parts import Tally, answer, empirical_bar, is_done, next_arm, update

LOOKS = 3
EVERY = 256
ABOVE = 0.2

ARM, LEFT, JOINS, BEFORE = range(4)


class WeakestClaimSpec(Question):
    """Type by which kernels are found."""


class FamilySpec(WeakestClaimSpec):
    """The same, for rewards that are not normal."""


precision.register(FamilySpec)(family_precision)
pair.register(FamilySpec)(family_pair)
own.register(FamilySpec)(family_own)


class WeakestClaimState(NamedTuple):
    labels: np.ndarray  # int64[K]  OPEN, GOOD or BAD
    lacks: np.ndarray  # float64[K]  need less evidence, when last looked at
    rival: np.ndarray  # int64[K]  the other side: an arm, the arm itself, or POOL
    place: np.ndarray  # float64[K]  for arms that look bad: how far they must rise at the minimum
    passed: np.ndarray  # int64[K]  rivals before this one have been passed on the way to "good"
    owed: np.ndarray  # float64[K]  pulls that the shares called for and that were not made
    pool: np.ndarray  # float64[2]  sums of 1 / sigma^2 and of reward / sigma^2
    level: np.ndarray  # float64[1]  to which the best must come down, at the last claim that an arm is bad
    plan: np.ndarray  # int64[4]  the arm, how many pulls are left, whether they join the pool, its count before
    total: np.ndarray  # float64[1]  sum of the arm's rewards before
    certified_at: np.ndarray  # int64[K]  pulls when each label was certified, 0 while it is open
    done: np.ndarray  # bool[1]  no arm is open


@jit
def look_good(ask, state, tally, k):
    """Bring the claim that k is good up to date."""
    N, m, Q, labels = tally.counts, tally.means, tally.scatter, state.labels
    c, v_k, K = ask.c, precision(ask, N[k], m[k], Q[k], ask.unit[k]), N.size
    least, l = np.inf, -1
    for a in range(state.passed[k], K):
        if labels[a] == BAD or (a == k and c == 1.0):
            continue
        if a == k:
            ratio = v_k * m[k] * abs(m[k])
        else:
            G = m[k] + ask.e - c * m[a]
            ratio = G * G / (1.0 / v_k + c * c / precision(ask, N[a], m[a], Q[a], ask.unit[a]))
        if ratio < least:
            least, l = ratio, a
    E = np.inf if l < 0 else evidence_good(ask, N, m, Q, k, l)
    if ask.need_good <= E:  # the hardest rival, probably; now all of them, each once
        l = state.passed[k]
        while l < K:
            if labels[l] != BAD and (l != k or c < 1.0):
                E = evidence_good(ask, N, m, Q, k, l)
                if ask.need_good > E:
                    break
            l += 1
        state.passed[k] = l
        if l == K:
            labels[k] = GOOD
            state.certified_at[k] = tally.pulls[0]
    state.rival[k], state.lacks[k] = l, ask.need_good - E


@jit
def look_bad(ask, state, tally, k):
    """Bring the claim that k is bad up to date."""
    E, toll, state.rival[k], state.place[k] = evidence_bad(ask, tally.counts, tally.means, tally.scatter, state.pool, k)
    state.lacks[k] = ask.need + toll - E
    if state.lacks[k] <= 0.0:
        state.labels[k] = BAD
        state.certified_at[k] = tally.pulls[0]


@inlined
def weakest(state):
    """The open arm that lacks most, -1 if none is open."""
    labels, lacks = state.labels, state.lacks
    k = -1
    for a in range(labels.size):
        if labels[a] == OPEN and (k < 0 or lacks[a] > lacks[k]):
            k = a
    return k


@jit
def leader(ask, state, tally, k):
    """The arm other than k, not certified bad, with the highest m + sigma sqrt(log(t/K) / N)."""
    N, m, Q = tally.counts, tally.means, tally.scatter
    x = math.log(tally.pulls[0] / N.size)
    best, highest = k, -np.inf
    for a in range(N.size):
        if a != k and state.labels[a] != BAD:
            index = m[a] + math.sqrt(x / precision(ask, N[a], m[a], Q[a], ask.unit[a]))
            if index > highest:
                best, highest = a, index
    return best


@inlined
def join(ask, state, tally, pool):
    """Add the rewards of the plan so far, if they are to join."""
    plan = state.plan
    if plan[JOINS]:
        arm = plan[ARM]
        pool[0] += (tally.counts[arm] - plan[BEFORE]) * ask.unit[arm]
        pool[1] += (tally.sums[arm] - state.total[0]) * ask.unit[arm]


@inlined
def joins(ask, state):
    """Whether a reward of the arm chosen next is to join the pool."""
    return state.plan[JOINS] == 1 and ask.toll_pool < np.inf


@inlined
def settle(ask, state, tally, joining):
    """For rewards that come in another order than planned: after ``record``, before ``update``.

    Whether the last reward joins the pool was settled when it was asked for; where the plan would have it otherwise,
    what ``join`` will add is put right.
    """
    plan, arm, reward = state.plan, tally.last[0], tally.reward[0]
    planned = plan[JOINS] == 1 and plan[ARM] == arm
    if joining and not planned:
        state.pool[0] += ask.unit[arm]
        state.pool[1] += reward * ask.unit[arm]
    elif planned and not joining:
        plan[BEFORE] += 1
        state.total[0] += reward


@jit
def decide(ask, state, tally):
    """Enter the rewards of the last plan, bring claims up to date, and make the next plan; no arm if none is open."""
    N, m, Q, plan, pool, owed = tally.counts, tally.means, tally.scatter, state.plan, state.pool, state.owed
    c = ask.c
    join(ask, state, tally, pool)
    top = m.max()
    bar = c * top - ask.e
    looks = 0
    k = weakest(state)
    while k >= 0:
        looks += state.lacks[k] < np.inf
        if m[k] >= bar:
            look_good(ask, state, tally, k)
        else:
            look_bad(ask, state, tally, k)
        after = weakest(state)
        if state.labels[k] == OPEN and (after == k or (looks >= LOOKS and state.lacks[after] < np.inf)):
            break
        k = after
    if k < 0:  # who goes on all the same, goes on evenly
        state.done[0] = True
        plan[JOINS] = 0
        plan[ARM] = np.argmin(N)
        return

    l = state.rival[k]
    other, v_k, v_l = l, precision(ask, N[k], m[k], Q[k], ask.unit[k]), 0.0
    if l != POOL:
        v_l = precision(ask, N[l], m[l], Q[l], ask.unit[l])
    elif pool[0] > 0.0:
        v_l = precision(ask, pool[0], pool[1] / pool[0], 0.0, 1.0)
    if m[k] < bar and l != k:
        other = leader(ask, state, tally, k)
        state.level[0] = (m[k] + state.place[k] + ask.e) / c
    share = v_l / (v_l + c * c * v_k) if v_k > 0.0 else 1.0
    arm = k
    if other != k and owed[other] + 1.0 - share > owed[k] + share:
        arm = other
    n = 1 + N[arm] // EVERY
    if other != k:
        owed[k] += n * share
        owed[other] += n * (1.0 - share)
        owed[arm] -= n
    plan[ARM], plan[LEFT], plan[BEFORE] = arm, n, N[arm]
    plan[JOINS] = m[arm] >= (1.0 - ABOVE) * state.level[0] + ABOVE * top
    state.total[0] = tally.sums[arm]


@update.register(WeakestClaimSpec)
@inlined
def _update(spec, state, tally):
    plan = state.plan
    state.lacks[tally.last[0]] = np.inf  # its claim must be looked at; at first, so must all
    if tally.pulls[0] >= tally.counts.size:
        plan[LEFT] -= 1
        if state.done[0] or plan[LEFT] <= 0:
            decide(spec, state, tally)


@is_done.register(WeakestClaimSpec)
@inlined
def _is_done(spec, state, tally):
    return state.done[0]


@next_arm.register(WeakestClaimSpec)
@inlined
def _next_arm(spec, state, tally):
    return state.plan[ARM]


@answer.register(WeakestClaimSpec)
@inlined
def _answer(spec, state, tally, out):
    """The certified labels; open arms as they look."""
    means, labels, bar = tally.means, state.labels, empirical_bar(spec, tally)
    for a in range(means.size):
        out[a] = labels[a] == GOOD or (labels[a] == OPEN and means[a] >= bar)


@dataclass(frozen=True)
class WeakestClaim:
    """Work on the arm whose label lacks most evidence; stop when every label is certified.

    Args:
        objective: the question.
        delta: the risk that any label, at any time, is certified wrongly.
        pool: False lets a claim that an arm is bad rest on one rival only.  Proven as well; kept to show what
            the pool is worth.
    """

    objective: Objective
    delta: float
    pool: bool = True

    def __post_init__(self) -> None:
        Objective.check(self.objective)
        object.__setattr__(self, "delta", probability("WeakestClaim(delta=...)", self.delta))

    @property
    def proven(self) -> bool:
        """Whether the answer is wrong with probability at most delta by a theorem."""
        return True

    @property
    def risks(self) -> tuple[float, ...]:
        return (self.delta,)

    @staticmethod
    def question(spec: WeakestClaimSpec) -> Question:
        """What ``evidence.py`` needs to know, from what the kernels of a run know."""
        return (FamilyQuestion if isinstance(spec, FamilySpec) else Question)(*spec)._replace(rough=False)

    @staticmethod
    def claims(spec: WeakestClaimSpec, state: WeakestClaimState, tally: Tally) -> Claims:
        """What is certain in the middle of a run: the labels certified so far, and where the evidence stands."""
        pool = state.pool.copy()
        join(spec, state, tally, pool)  # what is bound to join, and is there already
        ask, N = WeakestClaim.question(spec), tally.counts.astype(np.float64)
        found = claims_from(ask, N, tally.means, tally.scatter, pool, state.labels)
        labels = state.labels
        return replace(found, good=labels == GOOD, bad=labels == BAD, open=labels == OPEN)

    def start(
        self, num_arms: int, model: Model, at_first: int | None = None
    ) -> tuple[WeakestClaimSpec, WeakestClaimState]:
        K = count("num_arms", num_arms)
        kind = WeakestClaimSpec if model.family == NORMAL else FamilySpec
        pooled = POOLED if self.pool else 0.0
        spec = kind(*question(self.objective, self.delta, K, model, pooled, at_first))._replace(rough=True)
        state = WeakestClaimState(
            labels=np.full(K, OPEN),
            lacks=np.full(K, np.inf),
            rival=np.zeros(K, np.int64),
            place=np.zeros(K),
            passed=np.zeros(K, np.int64),
            owed=np.zeros(K),
            pool=np.zeros(2),
            level=np.full(1, np.inf),
            plan=np.array([0, 1, 0, 0]),
            total=np.zeros(1),
            certified_at=np.zeros(K, np.int64),
            done=np.zeros(1, np.bool_),
        )
        return spec, state
