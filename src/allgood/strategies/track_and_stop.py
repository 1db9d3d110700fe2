"""Track-and-Stop, Algorithm 1 of Al Marjani, Kocak and Garivier.

Sampling: C-tracking.  With w(t) the optimal weights for the empirical means, projected on the simplex cut at
eta_t = 1 / (2 sqrt(K^2 + t)), pull the arm that lags furthest behind,

    a_{t+1} = argmin_a  N_a(t) - sum_{s <= t} w_a(s).

Stopping: when Z(t), the cost of the best response at the empirical means and the pull counts, exceeds a
threshold beta(t, delta) (``thresholds.py``).  Answer: the empirically good arms.

Z is exact at every pull, though computed rarely.  The kind of alternative that was cheapest last time, a
*witness*, bounds Z from above in O(K): while that is at most beta there is nothing to decide.  Only when the
witness rises above beta, or is no alternative any more, is the best response computed anew.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._check import count, positive, probability
from .._jit import inlined, jit
from .._newton import optimal_pulls
from ..alternatives import ADMIT, EMPTY, EXPEL, RISE, cheapest_alternative, pair_cost
from ..characteristic import MAX_ITERATIONS, MAX_PAIRS
from ..models import Gaussian
from ..objectives import Objective
from ..parts import answer, empirical_answer, is_done, next_arm, update
from ..thresholds import MIXTURE_GRID, PROVEN, Threshold, c_gaussian

NAMES: tuple[Threshold, ...] = ("paper", "stylised", "kaufmann-koolen", "mixture")
PAPER, STYLISED, KAUFMANN_KOOLEN, MIXTURE = range(4)
STEPS = MAX_ITERATIONS["newton"]


class TrackAndStopSpec(NamedTuple):
    c: float
    e: float
    sigma: np.ndarray  # float64[K]
    threshold: int
    log_risk: np.ndarray  # float64[n]  log(1/delta), increasing
    constant: np.ndarray  # float64[n]  the part of beta that depends on delta alone
    grid: np.ndarray  # float64[J]
    period: int  # pulls between two solutions for the weights
    rtol: float


class TrackAndStopState(NamedTuple):
    weights: np.ndarray  # float64[K]  optimal for the means when last solved
    target: np.ndarray  # float64[K]  sum of projected weights
    witness: np.ndarray  # int64[3]  kind, k, l of the last best response
    level: np.ndarray  # float64[1]  where the tallest arm stands, if the witness is an admission
    floor: np.ndarray  # float64[1]  a lower bound on beta from now on
    crossed: np.ndarray  # int64[1]  how many of the thresholds have been crossed
    crossings: np.ndarray  # int64[n]  pulls at each crossing
    answers: np.ndarray  # bool[n, K]  the answer at each crossing
    solves: np.ndarray  # int64[2]  solutions for the weights, best responses computed


@inlined
def cut(weights, eta):
    """The tau >= 0 with sum_a max(w_a - tau, eta) = 1: what the Euclidean projection on {w >= eta} takes off.

    Arms at eta give what they lack to the others in equal parts; arms that fall to eta by that join them.
    """
    tau = 0.0
    for _ in range(weights.size):
        above, total = 0.0, -1.0
        for a in range(weights.size):
            if weights[a] - tau > eta:
                above += 1.0
                total += weights[a]
            else:
                total += eta
        if above == 0.0 or total <= tau * above:
            break
        tau = total / above
    return tau


@jit
def solve_into(spec, means, out):
    """Optimal weights for these means.

    Uniform where there are none (an arm on the threshold) or the solver has none (more than MAX_PAIRS near-tied
    pairs): tracking may be worse then, the stopping rule is not.
    """
    K = means.size
    out[:] = 1.0 / K
    top = means.max()
    if K == 1 or (spec.c < 1.0 and top == 0.0):
        return
    if spec.c < 1.0 and top < 0.0:
        out[:] = (spec.sigma / means) ** 2
        out /= out.sum()
        return
    D = top - means
    h = spec.e + (1.0 - spec.c) * top - D
    if np.abs(h).min() == 0.0:
        return
    order = np.argsort(D)
    pulls, _, _, _ = optimal_pulls(means, spec.sigma, h, D, order, spec.c, np.empty(0), spec.rtol, STEPS, MAX_PAIRS)
    total = pulls.sum()
    if np.isfinite(total) and pulls.min() > 0.0:
        out[:] = pulls / total


@jit
def respond(spec, state, tally):
    """Z, exactly, and the new witness."""
    means = tally.means
    top = means.max()
    D = top - means
    h = spec.e + (1.0 - spec.c) * top - D
    v = tally.counts / spec.sigma**2
    cost, kind, k, l, depth = cheapest_alternative(means, h, D, v, np.argsort(D), spec.c)
    state.witness[0], state.witness[1], state.witness[2] = kind, k, l
    state.level[0] = top - depth
    state.solves[1] += 1
    return cost


@inlined
def witness_bound(spec, state, tally):
    """Cost now of the kind of alternative that was cheapest last time; inf if it is none any more."""
    means, counts, sigma = tally.means, tally.counts, spec.sigma
    c, e = spec.c, spec.e
    kind, k, l = state.witness[0], state.witness[1], state.witness[2]
    top = means[0]
    for a in range(means.size):
        top = max(top, means[a])
    bar = c * top - e
    cost = np.inf
    if kind == EXPEL and means[k] >= bar:
        cost = pair_cost(means[k] - bar, top - means[l], counts[k] / sigma[k] ** 2, counts[l] / sigma[l] ** 2, c)
    elif kind == ADMIT and means[k] < bar:
        # One step towards the best level from the arms above the last one, then its cost.
        v_k = counts[k] / sigma[k] ** 2
        weight, moment = c * c * v_k, c * v_k * (means[k] + e)
        for a in range(means.size):
            if means[a] > state.level[0] and a != k:
                v = counts[a] / sigma[a] ** 2
                weight += v
                moment += v * means[a]
        level = moment / weight
        rise = max(c * level - e - means[k], 0.0)
        cost = 0.5 * v_k * rise * rise
        for a in range(means.size):
            if means[a] > level and a != k:
                cost += 0.5 * counts[a] / sigma[a] ** 2 * (means[a] - level) ** 2
        state.level[0] = level
    elif kind == EMPTY and top > 0.0:
        cost = 0.0
        for a in range(means.size):
            if means[a] > 0.0:
                cost += 0.5 * counts[a] / sigma[a] ** 2 * means[a] ** 2
    elif kind == RISE and top < 0.0:
        cost = 0.5 * counts[k] / sigma[k] ** 2 * means[k] ** 2
    return cost


@inlined
def beta(spec, state, tally, n):
    """The n-th threshold now; leaves in ``floor`` a bound below which it will not fall later."""
    counts = tally.counts
    K, t = counts.size, float(tally.pulls[0])
    value = spec.constant[n]
    if spec.threshold == PAPER:
        value += 0.5 * K * math.log(math.log(t) + spec.log_risk[n])
    elif spec.threshold == STYLISED:
        value += math.log(1.0 + math.log(t))
    elif spec.threshold == KAUFMANN_KOOLEN:
        for a in range(K):
            value += 2.0 * math.log(4.0 + math.log(float(counts[a])))
    state.floor[0] = value
    if spec.threshold == MIXTURE:
        least = counts[0]
        for a in range(K):
            least = min(least, counts[a])
        value = floor = np.inf
        for j in range(spec.grid.size):
            c = spec.grid[j]
            part = spec.constant[n]
            for a in range(K):
                part += 0.5 * math.log1p(counts[a] / c)
            floor = min(floor, part)
            value = min(value, part * (least + c) / least)
        state.floor[0] = floor
    return value


@update.register(TrackAndStopSpec)
@inlined
def _update(spec, state, tally):
    K, t = tally.counts.size, tally.pulls[0]
    if t >= K:
        # Stopping.
        Z = witness_bound(spec, state, tally)
        fresh = False
        while state.crossed[0] < spec.log_risk.size and state.floor[0] < Z:
            limit = beta(spec, state, tally, state.crossed[0])
            if limit >= Z:
                break
            if not fresh:
                Z, fresh = respond(spec, state, tally), True
                continue
            state.crossings[state.crossed[0]] = t
            empirical_answer(spec, state, tally, state.answers[state.crossed[0]])
            state.crossed[0] += 1
            state.floor[0] = 0.0
        # Sampling.
        if (t - K) % spec.period == 0:
            solve_into(spec, tally.means, state.weights)
            state.solves[0] += 1
        weights, target = state.weights, state.target
        eta = 0.5 / math.sqrt(float(K * K + t))
        tau = cut(weights, eta)
        for a in range(K):
            target[a] += max(weights[a] - tau, eta)


@is_done.register(TrackAndStopSpec)
@inlined
def _is_done(spec, state, tally):
    return state.crossed[0] == spec.log_risk.size


@next_arm.register(TrackAndStopSpec)
@inlined
def _next_arm(spec, state, tally):
    counts, target = tally.counts, state.target
    best = 0
    for a in range(counts.size):
        if counts[a] - target[a] < counts[best] - target[best]:
            best = a
    return best


answer.register(TrackAndStopSpec)(empirical_answer)


@dataclass(frozen=True)
class TrackAndStop:
    """Track the optimal weights; stop when the evidence against every alternative is enough.

    Args:
        objective: the question.
        delta: the risk, or several: one run then reports the first crossing of each threshold.
        threshold: "mixture" (proven, the default), "kaufmann-koolen" (proven), "paper" or "stylised" (neither proven).
        lazy: solve for the weights every ``lazy * K`` pulls, as the paper does with 100; 1 means at every pull.
        rtol: relative accuracy of the weights' value.
    """

    objective: Objective
    delta: float | tuple[float, ...]
    threshold: Threshold = "mixture"
    lazy: int = 100
    rtol: float = 1e-3

    def __post_init__(self) -> None:
        Objective.check(self.objective)
        given: Sequence[float] = (self.delta,) if np.ndim(self.delta) == 0 else self.delta  # type: ignore[assignment]
        risks = tuple(probability("TrackAndStop(delta=...)", risk) for risk in given)
        if not risks or list(risks) != sorted(set(risks), reverse=True):
            raise ValueError(f"TrackAndStop(delta=...) must hold one risk, or several that fall: got {risks}.")
        object.__setattr__(self, "delta", risks[0] if np.ndim(self.delta) == 0 else risks)
        if self.threshold not in NAMES:
            raise ValueError(f"TrackAndStop(threshold=...) must be one of {', '.join(NAMES)}: got {self.threshold!r}.")
        object.__setattr__(self, "lazy", count("TrackAndStop(lazy=...)", self.lazy))
        object.__setattr__(self, "rtol", positive("TrackAndStop(rtol=...)", self.rtol))

    @property
    def proven(self) -> bool:
        """Whether the answer is wrong with probability at most delta by a theorem."""
        return PROVEN[self.threshold]

    @property
    def risks(self) -> tuple[float, ...]:
        return self.delta if isinstance(self.delta, tuple) else (self.delta,)

    def start(self, num_arms: int, model: Gaussian) -> tuple[TrackAndStopSpec, TrackAndStopState]:
        log_risk = np.log(1.0 / np.array(self.risks))
        constant = log_risk.copy()
        if self.threshold == "kaufmann-koolen":
            constant = np.array([num_arms * c_gaussian(x / num_arms) for x in log_risk])
        elif self.threshold == "mixture":
            constant = log_risk + math.log(len(MIXTURE_GRID))
        spec = TrackAndStopSpec(
            c=self.objective.factor,
            e=self.objective.slack,
            sigma=model.sigmas(num_arms),
            threshold=NAMES.index(self.threshold),
            log_risk=log_risk,
            constant=constant,
            grid=np.array(MIXTURE_GRID),
            period=1 if self.lazy == 1 else self.lazy * num_arms,
            rtol=self.rtol,
        )
        state = TrackAndStopState(
            weights=np.full(num_arms, 1.0 / num_arms),
            target=np.full(num_arms, (num_arms - 1.0) / num_arms),
            witness=np.zeros(3, np.int64),
            level=np.zeros(1),
            floor=np.zeros(1),
            crossed=np.zeros(1, np.int64),
            crossings=np.zeros(log_risk.size, np.int64),
            answers=np.zeros((log_risk.size, num_arms), np.bool_),
            solves=np.zeros(2, np.int64),
        )
        return spec, state
