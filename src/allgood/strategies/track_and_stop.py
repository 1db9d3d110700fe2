"""Track-and-Stop, Algorithm 1 of Al Marjani, Kocak and Garivier.

Sampling: C-tracking.  Let w(t) be the optimal weights for the empirical means, projected onto the
weights that are all at least eta_t = 1 / (2 sqrt(K^2 + t)).  Pull the arm that lags furthest
behind,

    a_{t+1} = argmin_a  N_a(t) - sum_{s <= t} w_a(s).

Stopping: when Z(t), the cost of the best response at the empirical means and the pull counts,
exceeds a threshold beta(t, delta) (``thresholds``).  Answer: the empirically good arms.

The run stops exactly when Z exceeds beta, although Z is computed rarely.  The cost of the
alternative that was cheapest last time, the *witness*, bounds Z from above: while it is at most
beta, the run goes on.  This bound is updated in O(1) with the witness's level fixed.  If it exceeds
beta, it is computed again at a better level in O(K).  The best response is computed only if this
second bound exceeds beta too, or if the witness is no longer an alternative.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import inf, sqrt
from cython.cimports.allgood.kernels.tally import empirical_answer
from cython.cimports.allgood.strategies.state import StrategyState
from cython.cimports.allgood.theory.alternatives.exponential_family import (
    Workspace as FamilyWorkspace,
)
from cython.cimports.allgood.theory.alternatives.exponential_family import alternative, cheapest
from cython.cimports.allgood.theory.alternatives.instance import Instance
from cython.cimports.allgood.theory.alternatives.kinds import ADMIT, EMPTY, EXPEL, RISE
from cython.cimports.allgood.theory.alternatives.normal import (
    Workspace,
    cheapest_alternative,
    pair_cost,
)

from allgood._internal.arguments import count, positive, probability
from allgood.evidence.claims import units
from allgood.evidence.thresholds import PROVEN, THRESHOLDS, ThresholdName, stopping_threshold
from allgood.objectives import Objective
from allgood.strategies.base import Strategy
from allgood.theory.characteristic import MAX_ITERATIONS
from allgood.theory.solver.weights import ByInterior, ByMirrorAscent, ByNewton


class TrackState(StrategyState):
    """The state of a run.

    Attributes:
        weights: optimal for the means at the last solution; ``descending`` the same, sorted;
            ``prefix`` sums of the first 1, 2, ... of these; ``above``: how many stay above eta.
        target: sum of projected weights.
        arm: the arm that lags furthest behind.
        leader: an arm with the highest mean, -1 before the first look.
        n, v: pulls of each arm, and their precision, as floats.
        kind, k, l: the witness.
        cost, total: the cost of each arm in it, and the sum.
        crossed, crossings, answers: how many of the thresholds have been crossed, the pulls at
            each crossing, and the answer there.
        num_solves, num_responses: solutions for the weights, and best responses computed.
    """

    def __init__(self, strategy, num_arms, model, solver):
        K = num_arms
        self.K = K
        self.c, self.e = strategy.objective.factor, strategy.objective.slack
        self.risks = len(strategy.risks)
        self.period = 1 if strategy.lazy == 1 else strategy.lazy * K
        self.threshold = stopping_threshold(strategy.threshold, model, strategy.risks, K)
        self.solver = solver
        self.at = Instance(K, self.c, self.e)
        self.unit = units(model, K)
        floats: cython.double[:, ::1] = np.zeros((7, K))
        self.weights, self.descending, self.prefix = floats[0], floats[1], floats[2]
        self.target, self.n, self.v, self.cost = floats[3], floats[4], floats[5], floats[6]
        for a in range(K):
            self.weights[a] = 1.0 / K
            self.target[a] = (K - 1.0) / K
        self.above, self.total = 1, 0.0
        self.arm, self.leader = 0, -1
        self.kind, self.k, self.l = 0, 0, 0
        self.crossed = 0
        self.crossings = np.zeros(self.risks, np.int64)
        self.answers = np.zeros((self.risks, K), np.int8)
        self.num_solves, self.num_responses = 0, 0

    # Different for normal rewards and others.

    def respond(self, tally):
        """Return Z, exactly, and store the new witness."""
        return inf

    def witness_bound(self, tally, anew):
        """Return the present cost of the last witness; inf if it is no longer an alternative."""
        return inf

    def arm_cost(self, tally, a):
        """Return the cost of arm a in the witness."""
        return inf

    # The same for both.

    def add_costs(self, tally):
        """Sum up the costs of all arms anew."""
        self.total = 0.0
        for a in range(self.K):
            self.cost[a] = self.arm_cost(tally, a)
            self.total += self.cost[a]

    def replace_cost(self, tally):
        """Return the sum after the cost of the arm pulled last has changed."""
        last = tally.last
        new = self.arm_cost(tally, last)
        self.total += new - self.cost[last]
        self.cost[last] = new
        return self.total

    def cut(self, eta):
        """Return the tau >= 0 with sum_a max(w_a - tau, eta) = 1.

        The Euclidean projection on {w >= eta} subtracts it.  If the m largest weights stay
        above eta, tau = (their sum + (K - m) eta - 1) / m; m is the largest for which the m-th
        does.  As eta only falls between two solutions, m only grows.
        """
        K, m = self.K, self.above
        while m < K:
            rest = (self.prefix[m] + (K - m - 1) * eta - 1.0) / (m + 1)
            if self.descending[m] - rest <= eta:
                break
            m += 1
        self.above = m
        return max((self.prefix[m - 1] + (K - m) * eta - 1.0) / m, 0.0)

    def renew_weights(self, tally):
        """Solve for the weights, and prepare them for ``cut``."""
        self.solver.solve(tally.m, tally.pulls, self.weights)
        total: cython.double = 0.0
        for a in range(self.K):  # insertion, largest first
            w = self.weights[a]
            i: cython.Py_ssize_t = a
            while i > 0 and self.descending[i - 1] < w:
                self.descending[i] = self.descending[i - 1]
                i -= 1
            self.descending[i] = w
        for a in range(self.K):
            total += self.descending[a]
            self.prefix[a] = total
        self.above = 1
        self.num_solves += 1

    def find_leader(self, tally):
        """Keep an arm with the highest mean; only the last arm's mean has changed."""
        last = tally.last
        if self.leader < 0 or last == self.leader:
            best: cython.Py_ssize_t = 0
            for a in range(self.K):
                if tally.m[a] > tally.m[best]:
                    best = a
            self.leader = best
        elif tally.m[last] > tally.m[self.leader]:
            self.leader = last

    def stop(self, tally):
        """Record the thresholds that Z crosses now."""
        t: cython.Py_ssize_t = tally.pulls
        self.find_leader(tally)
        Z: cython.double = self.witness_bound(tally, False)
        confirmed: cython.int = 0  # 1: the witness's cost at a better level; 2: Z itself
        while self.crossed < self.risks:
            # Rounding in the running sum might hide a crossing: hence the factor.
            if t <= self.threshold.until and self.threshold.floor >= Z * (1.0 + 1e-9):
                break
            i = self.crossed
            limit = self.threshold.beta(self.n, t, i)
            if confirmed == 0 and limit < Z * (1.0 + 1e-9):
                Z, confirmed = self.witness_bound(tally, True), 1
            if limit >= Z:
                break
            if confirmed < 2:
                Z, confirmed = self.respond(tally), 2
                continue
            self.crossings[i] = t
            empirical_answer(tally, self.c, self.e, self.answers[i])
            self.crossed += 1
            self.threshold.until = 0

    def update(self, tally):
        K, t, last = self.K, tally.pulls, tally.last
        self.n[last] = tally.N[last]
        self.v[last] = tally.N[last] * self.unit[last]
        if t < K:
            return 0
        self.stop(tally)
        if (t - K) % self.period == 0:
            self.renew_weights(tally)
        size: cython.double = K * K + t
        eta = 0.5 / sqrt(size)
        tau = self.cut(eta)
        behind: cython.Py_ssize_t = 0
        lowest: cython.double = inf
        for a in range(K):
            self.target[a] += max(self.weights[a] - tau, eta)
            ahead = self.n[a] - self.target[a]
            if ahead < lowest:
                behind, lowest = a, ahead
        self.arm = behind
        return 0

    def is_done(self, tally):
        return self.crossed == self.risks

    def next_arm(self, tally):
        return self.arm

    def answer(self, tally, out):
        empirical_answer(tally, self.c, self.e, out)
        return 0


class TrackNormal(TrackState):
    """Track-and-Stop for normal rewards.

    ``level`` is the mean to which the highest arms come down, if the witness moves many.
    """

    def __init__(self, strategy, num_arms, model, solver):
        TrackState.__init__(self, strategy, num_arms, model, solver)
        self.workspace = Workspace(num_arms)
        self.level = 0.0

    def respond(self, tally):
        self.at.place(tally.m)
        cost, kind, k, l, depth = cheapest_alternative(self.at, self.v, self.workspace)
        self.num_responses += 1
        self.kind, self.k, self.l = kind, k, l
        self.level = self.at.top - depth if kind == ADMIT else 0.0
        self.add_costs(tally)
        return cost

    def arm_cost(self, tally, a):
        """Return the cost of falling to the level; if arm a is admitted, of rising to the bar."""
        m = tally.m[a]
        move: cython.double = max(m - self.level, 0.0)
        if self.kind == ADMIT and a == self.k:
            move = max(self.c * self.level - self.e - m, 0.0)
        return 0.5 * self.v[a] * move * move

    def better_level(self, tally):
        """Move an admission one step towards its cheapest level: the mean of the arms that move to
        it.
        """
        k = self.k
        weight: cython.double = self.c * self.c * self.v[k]
        moment: cython.double = self.c * self.v[k] * (tally.m[k] + self.e)
        for a in range(self.K):
            if tally.m[a] > self.level and a != k:
                weight += self.v[a]
                moment += self.v[a] * tally.m[a]
        self.level = moment / weight

    def witness_bound(self, tally, anew):
        """Return the cost of the witness: at a better level if ``anew``, else updated from the last
        cost.
        """
        kind, k, l = self.kind, self.k, self.l
        top = tally.m[self.leader]
        bar = self.c * top - self.e
        if kind == EXPEL:
            if tally.m[k] >= bar:
                height, depth = tally.m[k] - bar, top - tally.m[l]
                return pair_cost(height, depth, self.v[k], self.v[l], self.c)
        elif kind == RISE:
            if top < 0.0:
                return 0.5 * self.v[k] * (tally.m[k] * tally.m[k])
        elif (kind == ADMIT and tally.m[k] < bar) or (kind == EMPTY and top > 0.0):
            if not anew:
                return self.replace_cost(tally)
            if kind == ADMIT:
                self.better_level(tally)
            self.add_costs(tally)
            return self.total
        return inf


class TrackFamily(TrackState):
    """Track-and-Stop for rewards that are not normal.

    ``moved``: the means of the witness, which stay.
    """

    def __init__(self, strategy, num_arms, model, solver):
        TrackState.__init__(self, strategy, num_arms, model, solver)
        self.model = model
        self.workspace = FamilyWorkspace(num_arms)
        self.moved = np.zeros(num_arms)

    def respond(self, tally):
        self.at.place(tally.m)
        response = cheapest(self.model, self.at, self.v, self.workspace)
        cost, self.kind, self.k, self.l, _ = response
        alternative(response, self.model, self.at, self.moved)
        self.add_costs(tally)
        self.num_responses += 1
        return cost

    def arm_cost(self, tally, a):
        m, lam = tally.m[a], self.moved[a]
        return self.n[a] * self.model.divergence(m, lam) if m != lam else 0.0

    def witness_bound(self, tally, anew):
        if not anew:
            self.replace_cost(tally)
        good: cython.bint = tally.m[self.k] >= self.c * tally.m[self.leader] - self.e
        if self.kind == EXPEL and good:
            return self.total
        if self.kind == ADMIT and not good:
            return self.total
        return inf


def cut(state, eta):
    """Call the method, for tests."""
    return state.cut(eta)


@dataclass(frozen=True)
class TrackAndStop(Strategy):
    """Track the optimal weights; stop when the evidence against every alternative is enough.

    Args:
        objective: the question.
        delta: the risk, or several: one run then reports the first crossing of each threshold.
        threshold: "mixture" (proven, the default; for normal and Bernoulli rewards),
            "kaufmann-koolen" (proven), "paper" or "stylised" (neither proven).
        lazy: solve for the weights every ``lazy * K`` pulls, as the paper does with 100; 1 means at
            every pull.
        solver: "newton", or "mirror-ascent": the paper to the letter, weights whose 1/T is within
            1/sqrt(t) of the best.  For the first T*^2 pulls any weights are, and it tracks nearly
            uniform ones.
        rtol: relative accuracy of T at newton's weights.
        steps: of mirror ascent at each solution; by default as many as 1/sqrt(t) takes.
        warm: start mirror ascent from the last weights, mixed with a tenth of uniform ones, instead
            of uniform ones.
    """

    objective: Objective
    delta: float | tuple[float, ...]
    threshold: ThresholdName = "mixture"
    lazy: int = 100
    solver: Literal["newton", "mirror-ascent"] = "newton"
    rtol: float = 1e-2
    steps: int | None = None
    warm: bool = False

    def __post_init__(self):
        Objective.check(self.objective)
        several = np.ndim(self.delta) > 0
        levels: Sequence = self.delta if several else (self.delta,)
        risks = tuple(probability("TrackAndStop(delta=...)", risk) for risk in levels)
        if not risks or list(risks) != sorted(set(risks), reverse=True):
            raise ValueError(
                f"TrackAndStop(delta=...) must hold one risk, or several that fall: got {risks}."
            )
        object.__setattr__(self, "delta", risks if several else risks[0])
        if self.threshold not in THRESHOLDS:
            raise ValueError(
                f"TrackAndStop(threshold=...) must be one of {', '.join(THRESHOLDS)}: "
                f"got {self.threshold!r}."
            )
        object.__setattr__(self, "lazy", count("TrackAndStop(lazy=...)", self.lazy))
        if self.solver not in MAX_ITERATIONS:
            raise ValueError(
                f"TrackAndStop(solver=...) must be one of {', '.join(MAX_ITERATIONS)}: "
                f"got {self.solver!r}."
            )
        object.__setattr__(self, "rtol", positive("TrackAndStop(rtol=...)", self.rtol))
        if self.steps is not None:
            object.__setattr__(self, "steps", count("TrackAndStop(steps=...)", self.steps))
        if self.solver == "newton" and (self.steps is not None or self.warm):
            raise ValueError(
                "TrackAndStop(steps=..., warm=...) must be left out unless the solver is "
                f"mirror-ascent: got {self.steps}, {self.warm}."
            )

    @property
    def proven(self):
        """True if a theorem bounds the probability of a wrong answer by delta."""
        return PROVEN[self.threshold]

    @property
    def risks(self):
        return self.delta if isinstance(self.delta, tuple) else (self.delta,)

    def start(self, num_arms, model):
        if not model.noise_known:
            raise ValueError(
                f"TrackAndStop must know the noise: got {model}; ClaimByClaim and Uniform need not."
            )
        if not model.normal and self.solver != "newton":
            raise ValueError(
                f'TrackAndStop(solver=...) must be "newton" for {model}: got {self.solver!r}.'
            )
        if self.threshold == "mixture" and not (model.normal or model.jeffreys):
            raise ValueError(
                'TrackAndStop(threshold=...) must be "kaufmann-koolen", "paper" or "stylised" '
                f"for {model}: got {self.threshold!r}."
            )
        c, e = self.objective.factor, self.objective.slack
        if not model.normal:
            solver = ByInterior(model, num_arms, c, e, self.rtol)
            return TrackFamily(self, num_arms, model, solver)
        sigma = model.sigmas(num_arms)
        if self.solver == "newton":
            solver = ByNewton(sigma, c, e, self.rtol)
        else:
            solver = ByMirrorAscent(sigma, c, e, self.steps or 0, self.warm)
        return TrackNormal(self, num_arms, model, solver)
