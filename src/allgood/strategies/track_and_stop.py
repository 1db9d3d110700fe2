"""Track-and-Stop, Algorithm 1 of Al Marjani, Kocak and Garivier.

Sampling: C-tracking.  With w(t) the optimal weights for the empirical means, projected on the simplex cut at
eta_t = 1 / (2 sqrt(K^2 + t)), pull the arm that lags furthest behind,

    a_{t+1} = argmin_a  N_a(t) - sum_{s <= t} w_a(s).

Stopping: when Z(t), the cost of the best response at the empirical means and the pull counts, exceeds a
threshold beta(t, delta) (``thresholds.py``).  Answer: the empirically good arms.

Z is exact at every pull, though computed rarely.  The alternative that was cheapest last time, a *witness*, bounds Z
from above: while that is at most beta there is nothing to decide.  The bound is kept up to date in O(1) with the
witness's level fixed; when that is too much, it is taken anew at a better level in O(K); only when
that is too much, or the witness is no alternative any more, is the best response computed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from .. import families
from .._check import count, positive, probability
from .._interior import solve as interior
from .._jit import inlined, jit
from .._newton import optimal_pulls
from ..alternatives import EMPTY, RISE, cheapest_alternative, pair_cost
from ..characteristic import MAX_INTERIOR, MAX_ITERATIONS, MAX_PAIRS, mirror_ascent, steepest
from ..families import ADMIT, EXPEL
from ..models import BERNOULLI, NORMAL, STUDENT, Model, divergence
from ..objectives import Objective
from ..parts import FOREVER, answer, dispatch, empirical_answer, is_done, next_arm, update
from ..thresholds import MIXTURE_GRID, PROVEN, Threshold, c_exponential, c_gaussian

NAMES: tuple[Threshold, ...] = ("paper", "stylised", "kaufmann-koolen", "mixture")
PAPER, STYLISED, KAUFMANN_KOOLEN, MIXTURE = range(4)
# As NumPy integers: Numba would compile the solver anew for literal ones.
STEPS, PAIRS = np.int64(MAX_ITERATIONS["newton"]), np.int64(MAX_PAIRS)
MIRROR_STEPS, INTERIOR_STEPS = np.int64(MAX_ITERATIONS["mirror-ascent"]), np.int64(MAX_INTERIOR)


class TrackAndStopSpec(NamedTuple):
    family: int
    high: float  # the largest mean
    c: float
    e: float
    sigma: np.ndarray  # float64[K]
    precision: np.ndarray  # float64[K]  1 / sigma^2
    threshold: int
    log_risk: np.ndarray  # float64[n]  log(1/delta), increasing
    constant: np.ndarray  # float64[n]  the part of beta that depends on delta alone
    grid: np.ndarray  # float64[J]
    period: int  # pulls between two solutions for the weights
    mirror: bool  # solve by mirror ascent ...
    steps: int  # ... with so many steps, as many as 1/sqrt(t) takes if 0 ...
    warm: bool  # ... from the last weights
    rtol: float


class TrackAndStopState(NamedTuple):
    weights: np.ndarray  # float64[K]  optimal for the means when last solved
    descending: np.ndarray  # float64[K]  the same, sorted
    prefix: np.ndarray  # float64[K]  sums of the first 1, 2, ... of these
    above: np.ndarray  # int64[1]  so many stay above eta
    target: np.ndarray  # float64[K]  sum of projected weights
    arm: np.ndarray  # int64[1]  the arm that lags furthest behind
    leader: np.ndarray  # int64[1]  an arm with the highest mean, -1 before the first look
    witness: np.ndarray  # int64[3]  kind, k, l of the last best response
    level: np.ndarray  # float64[1]  where the tallest arms stand, if the witness moves many arms
    moved: np.ndarray  # float64[K]  for rewards that are not normal: the means of the witness
    cost: np.ndarray  # float64[K]  what each arm then pays
    total: np.ndarray  # float64[1]  their sum
    floor: np.ndarray  # float64[1]  a lower bound on beta ...
    until: np.ndarray  # int64[1]  ... up to so many pulls
    crossed: np.ndarray  # int64[1]  how many of the thresholds have been crossed
    crossings: np.ndarray  # int64[n]  pulls at each crossing
    answers: np.ndarray  # bool[n, K]  the answer at each crossing
    solves: np.ndarray  # int64[2]  solutions for the weights, best responses computed


@inlined
def cut(state, eta):
    """The tau >= 0 with sum_a max(w_a - tau, eta) = 1: what the Euclidean projection on {w >= eta} takes off.

    If the m largest weights stay above eta, tau = (their sum + (K - m) eta - 1) / m; m is the largest for which the
    m-th does.  As eta only falls between two solutions, m only grows.
    """
    descending, prefix, above = state.descending, state.prefix, state.above
    K = descending.size
    while above[0] < K:
        m = above[0] + 1
        if descending[m - 1] - (prefix[m - 1] + (K - m) * eta - 1.0) / m <= eta:
            break
        above[0] = m
    m = above[0]
    return max((prefix[m - 1] + (K - m) * eta - 1.0) / m, 0.0)


@jit
def renew_weights(spec, state, tally):
    """Solve for the weights, and lay them out for ``cut``."""
    solve_into(spec, tally.means, tally.pulls[0], state.weights)
    state.descending[:] = -np.sort(-state.weights)
    state.prefix[:] = np.cumsum(state.descending)
    state.above[0] = 1
    state.solves[0] += 1


# What differs between normal rewards and others.
solve_into = dispatch("solve_into")  # (spec, means, t, out) -> None: optimal weights for these means
respond = dispatch("respond")  # (spec, state, tally) -> Z, exactly, leaving the new witness
witness_bound = dispatch("witness_bound")  # (spec, state, tally, anew) -> cost of the last witness now, or inf


@solve_into.register(TrackAndStopSpec)
@jit
def _solve_into(spec, means, t, out):
    """Optimal weights for these means, put in place of the last ones in ``out``.

    To a relative accuracy by Newton, or by mirror ascent to 1/sqrt(t) or for a number of steps.

    Uniform where there are none (an arm on the threshold) or the solver has none (more than MAX_PAIRS near-tied
    pairs): tracking may be worse then, the stopping rule is not.
    """
    K = means.size
    start = 0.9 * out + 0.1 / K if spec.warm else np.full(K, 1.0 / K)
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
    if spec.mirror:
        L = steepest(means, spec.sigma, spec.c, spec.e)
        steps, atol = (spec.steps, 0.0) if spec.steps > 0 else (MIRROR_STEPS, 1.0 / math.sqrt(float(t)))
        out[:], _, _, _ = mirror_ascent(means, h, D, spec.sigma, order, spec.c, start, L, 0.0, atol, steps)
        return
    pulls, _, _, _ = optimal_pulls(means, spec.sigma, h, D, order, spec.c, np.empty(0), spec.rtol, STEPS, PAIRS)
    total = pulls.sum()
    if np.isfinite(total) and pulls.min() > 0.0:
        out[:] = pulls / total


@respond.register(TrackAndStopSpec)
@jit
def _respond(spec, state, tally):
    means = tally.means
    top = means.max()
    D = top - means
    h = spec.e + (1.0 - spec.c) * top - D
    v = tally.counts * spec.precision
    cost, kind, k, l, depth = cheapest_alternative(means, h, D, v, np.argsort(D), spec.c)
    state.solves[1] += 1
    state.witness[0], state.witness[1], state.witness[2] = kind, k, l
    state.level[0] = top - depth if kind == ADMIT else 0.0
    pay_all(spec, state, tally)
    return cost


@inlined
def pay(spec, state, tally, a):
    """What arm a pays for the witness at its level: to fall to it, or, for the arm admitted, to rise to the bar."""
    level, m = state.level[0], tally.means[a]
    move = max(m - level, 0.0)
    if state.witness[0] == ADMIT and a == state.witness[1]:
        move = max(spec.c * level - spec.e - m, 0.0)
    return 0.5 * tally.counts[a] * spec.precision[a] * move * move


@inlined
def pay_all(spec, state, tally):
    state.total[0] = 0.0
    for a in range(state.cost.size):
        state.cost[a] = pay(spec, state, tally, a)
        state.total[0] += state.cost[a]


@inlined
def better_level(spec, state, tally):
    """For an admission, one step towards the level that is cheapest: the mean of the arms that meet at it."""
    k, means = state.witness[1], tally.means
    v_k = tally.counts[k] * spec.precision[k]
    weight, moment = spec.c * spec.c * v_k, spec.c * v_k * (means[k] + spec.e)
    for a in range(means.size):
        if means[a] > state.level[0] and a != k:
            v = tally.counts[a] * spec.precision[a]
            weight += v
            moment += v * means[a]
    state.level[0] = moment / weight


@inlined
def find_leader(state, tally):
    """Keep an arm with the highest mean; only the last arm's mean has changed."""
    means, last = tally.means, tally.last[0]
    if state.leader[0] < 0 or last == state.leader[0]:
        best = 0
        for a in range(means.size):
            if means[a] > means[best]:
                best = a
        state.leader[0] = best
    elif means[last] > means[state.leader[0]]:
        state.leader[0] = last


@witness_bound.register(TrackAndStopSpec)
@inlined
def _witness_bound(spec, state, tally, anew):
    """``anew``: at a better level and summed up afresh, else from the last cost and the last arm's change."""
    means, counts, precision = tally.means, tally.counts, spec.precision
    kind, k, l = state.witness[0], state.witness[1], state.witness[2]
    top = means[state.leader[0]]
    bar = spec.c * top - spec.e
    cost = np.inf
    if kind == EXPEL:
        if means[k] >= bar:
            cost = pair_cost(means[k] - bar, top - means[l], counts[k] * precision[k], counts[l] * precision[l], spec.c)
    elif kind == RISE:
        if top < 0.0:
            cost = 0.5 * counts[k] * precision[k] * means[k] ** 2
    elif (kind == ADMIT and means[k] < bar) or (kind == EMPTY and top > 0.0):
        if anew:
            if kind == ADMIT:
                better_level(spec, state, tally)
            pay_all(spec, state, tally)
        else:
            last = tally.last[0]
            new = pay(spec, state, tally, last)
            state.total[0] += new - state.cost[last]
            state.cost[last] = new
        cost = state.total[0]
    return cost


class FamilySpec(TrackAndStopSpec):
    """For rewards that are not normal."""


@solve_into.register(FamilySpec)
@jit
def _solve_into_family(spec, means, t, out):
    K = means.size
    out[:] = 1.0 / K
    D = means.max() - means
    h = spec.e + (1.0 - spec.c) * means.max() - D
    if K > 1 and np.abs(h).min() > 0.0:
        order = np.argsort(D)
        pulls = interior(spec.family, means, h, order, spec.c, spec.e, spec.high, spec.rtol, INTERIOR_STEPS)[0]
        out[:] = pulls / pulls.sum()


@respond.register(FamilySpec)
@jit
def _respond_family(spec, state, tally):
    family, c, e, means = spec.family, spec.c, spec.e, tally.means
    D = means.max() - means
    h = e + (1.0 - c) * means.max() - D
    N = tally.counts * spec.precision
    cost, kind, k, l, t = families.cheapest(family, means, h, N, np.argsort(D), c, e, spec.high)
    state.witness[0], state.witness[1], state.witness[2] = kind, k, l
    families.alternative(kind, k, l, t, means, c, e, spec.high, state.moved)
    state.total[0] = 0.0
    for a in range(means.size):
        state.cost[a] = pay_family(spec, state, tally, a)
        state.total[0] += state.cost[a]
    state.solves[1] += 1
    return cost


@inlined
def pay_family(spec, state, tally, a):
    m, lam = tally.means[a], state.moved[a]
    return tally.counts[a] * divergence(spec.family, m, lam) if m != lam else 0.0


@witness_bound.register(FamilySpec)
@inlined
def _witness_bound_family(spec, state, tally, anew):
    """The means of the witness stay where they are, so that only the last arm's cost has changed."""
    kind, k, last = state.witness[0], state.witness[1], tally.last[0]
    if not anew:
        new = pay_family(spec, state, tally, last)
        state.total[0] += new - state.cost[last]
        state.cost[last] = new
    good = tally.means[k] >= spec.c * tally.means[state.leader[0]] - spec.e
    return state.total[0] if kind == (EXPEL if good else ADMIT) else np.inf


@inlined
def beta(spec, state, tally, n):
    """The n-th threshold now; leaves in ``floor`` a bound below which it will not fall ``until`` a later pull."""
    counts = tally.counts
    K, t = counts.size, float(tally.pulls[0])
    value = spec.constant[n]
    state.until[0] = FOREVER
    if spec.threshold == PAPER:
        value += 0.5 * K * math.log(math.log(t) + spec.log_risk[n])
    elif spec.threshold == STYLISED:
        value += math.log(1.0 + math.log(t))
    elif spec.threshold == KAUFMANN_KOOLEN:
        for a in range(K):
            if spec.family == NORMAL:
                value += 2.0 * math.log(4.0 + math.log(float(counts[a])))
            else:
                value += 3.0 * math.log1p(math.log(float(counts[a])))
    elif spec.family == BERNOULLI:
        for a in range(K):
            value += 0.5 * math.log(float(counts[a])) + math.log(2.0)
    state.floor[0] = value
    if spec.threshold == MIXTURE and spec.family == NORMAL:
        least = counts[0]
        for a in range(K):
            least = min(least, counts[a])
        ahead = 1 + least // 64  # the factor (N + c)/N may fall: by this many pulls from now, at most so far
        value = floor = np.inf
        for j in range(spec.grid.size):
            c = spec.grid[j]
            part = spec.constant[n]
            for a in range(K):
                part += 0.5 * math.log1p(counts[a] / c)
            value = min(value, part * (1.0 + c / least))
            floor = min(floor, part * (1.0 + c / (least + ahead)))
        state.floor[0] = floor
        state.until[0] = tally.pulls[0] + ahead
    return value


@inlined
def stop(spec, state, tally):
    """Enter the thresholds that Z crosses now."""
    t = tally.pulls[0]
    find_leader(state, tally)
    Z = witness_bound(spec, state, tally, False)
    sure = 0  # 1: the witness's cost at a better level; 2: Z itself
    while state.crossed[0] < spec.log_risk.size:
        # Rounding in the running sum might hide a crossing: hence the factor.
        if t <= state.until[0] and state.floor[0] >= Z * (1.0 + 1e-9):
            break
        n = state.crossed[0]
        limit = beta(spec, state, tally, n)
        if sure == 0 and limit < Z * (1.0 + 1e-9):
            Z, sure = witness_bound(spec, state, tally, True), 1
        if limit >= Z:
            break
        if sure < 2:
            Z, sure = respond(spec, state, tally), 2
            continue
        state.crossings[n] = t
        empirical_answer(spec, state, tally, state.answers[n])
        state.crossed[0] += 1
        state.until[0] = 0


@update.register(TrackAndStopSpec)
@inlined
def _update(spec, state, tally):
    counts, weights, target = tally.counts, state.weights, state.target
    K, t = counts.size, tally.pulls[0]
    if t >= K:
        stop(spec, state, tally)
        if (t - K) % spec.period == 0:
            renew_weights(spec, state, tally)
        eta = 0.5 / math.sqrt(float(K * K + t))
        tau = cut(state, eta)
        behind, lowest = 0, np.inf
        for a in range(K):
            target[a] += max(weights[a] - tau, eta)
            ahead = counts[a] - target[a]
            if ahead < lowest:
                behind, lowest = a, ahead
        state.arm[0] = behind


@is_done.register(TrackAndStopSpec)
@inlined
def _is_done(spec, state, tally):
    return state.crossed[0] == spec.log_risk.size


@next_arm.register(TrackAndStopSpec)
@inlined
def _next_arm(spec, state, tally):
    return state.arm[0]


answer.register(TrackAndStopSpec)(empirical_answer)


@dataclass(frozen=True)
class TrackAndStop:
    """Track the optimal weights; stop when the evidence against every alternative is enough.

    Args:
        objective: the question.
        delta: the risk, or several: one run then reports the first crossing of each threshold.
        threshold: "mixture" (proven, the default; for normal and Bernoulli rewards), "kaufmann-koolen" (proven),
            "paper" or "stylised" (neither proven).
        lazy: solve for the weights every ``lazy * K`` pulls, as the paper does with 100; 1 means at every pull.
        solver: "newton", or "mirror-ascent": the paper to the letter, weights whose 1/T is within 1/sqrt(t) of the
            best.  For the first T*^2 pulls any weights are, and it tracks nearly uniform ones.
        rtol: relative accuracy of T at newton's weights.
        steps: of mirror ascent at each solution; by default as many as 1/sqrt(t) takes.
        warm: start mirror ascent from the last weights, mixed with a tenth of uniform ones, instead of uniform ones.
    """

    objective: Objective
    delta: float | tuple[float, ...]
    threshold: Threshold = "mixture"
    lazy: int = 100
    solver: Literal["newton", "mirror-ascent"] = "newton"
    rtol: float = 1e-2
    steps: int | None = None
    warm: bool = False

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
        if self.solver not in MAX_ITERATIONS:
            raise ValueError(
                f"TrackAndStop(solver=...) must be one of {', '.join(MAX_ITERATIONS)}: got {self.solver!r}."
            )
        object.__setattr__(self, "rtol", positive("TrackAndStop(rtol=...)", self.rtol))
        if self.steps is not None:
            object.__setattr__(self, "steps", count("TrackAndStop(steps=...)", self.steps))
        if self.solver == "newton" and (self.steps is not None or self.warm):
            raise ValueError(
                "TrackAndStop(steps=..., warm=...) must be left out unless the solver is mirror-ascent: "
                f"got {self.steps}, {self.warm}."
            )

    @property
    def proven(self) -> bool:
        """Whether the answer is wrong with probability at most delta by a theorem."""
        return PROVEN[self.threshold]

    @property
    def risks(self) -> tuple[float, ...]:
        return self.delta if isinstance(self.delta, tuple) else (self.delta,)

    def start(self, num_arms: int, model: Model) -> tuple[TrackAndStopSpec, TrackAndStopState]:
        normal = model.family == NORMAL
        if model.family == STUDENT:
            raise ValueError(f"TrackAndStop must know the noise: got {model}; WeakestClaim and Uniform need not.")
        if not normal and self.solver != "newton":
            raise ValueError(f'TrackAndStop(solver=...) must be "newton" for {model}: got {self.solver!r}.')
        if self.threshold == "mixture" and not normal and model.family != BERNOULLI:
            raise ValueError(
                f'TrackAndStop(threshold=...) must be "kaufmann-koolen", "paper" or "stylised" for {model}: '
                f"got {self.threshold!r}."
            )
        sigma = model.sigmas(num_arms) if normal else np.ones(num_arms)
        log_risk = np.log(1.0 / np.array(self.risks))
        constant = log_risk.copy()
        if self.threshold == "kaufmann-koolen":
            C = c_gaussian if normal else c_exponential
            constant = np.array([num_arms * C(x / num_arms) for x in log_risk])
        elif self.threshold == "mixture" and normal:
            constant = log_risk + math.log(len(MIXTURE_GRID))
        spec = (TrackAndStopSpec if normal else FamilySpec)(
            family=model.family,
            high=model.range[1],
            c=self.objective.factor,
            e=self.objective.slack,
            sigma=sigma,
            precision=1.0 / sigma**2,
            threshold=NAMES.index(self.threshold),
            log_risk=log_risk,
            constant=constant,
            grid=np.array(MIXTURE_GRID),
            period=1 if self.lazy == 1 else self.lazy * num_arms,
            mirror=self.solver == "mirror-ascent",
            steps=self.steps or 0,
            warm=self.warm,
            rtol=self.rtol,
        )
        state = TrackAndStopState(
            weights=np.full(num_arms, 1.0 / num_arms),
            descending=np.zeros(num_arms),
            prefix=np.zeros(num_arms),
            above=np.ones(1, np.int64),
            target=np.full(num_arms, (num_arms - 1.0) / num_arms),
            arm=np.zeros(1, np.int64),
            leader=np.full(1, -1),
            witness=np.zeros(3, np.int64),
            level=np.zeros(1),
            moved=np.zeros(num_arms),
            cost=np.zeros(num_arms),
            total=np.zeros(1),
            floor=np.zeros(1),
            until=np.zeros(1, np.int64),
            crossed=np.zeros(1, np.int64),
            crossings=np.zeros(log_risk.size, np.int64),
            answers=np.zeros((log_risk.size, num_arms), np.bool_),
            solves=np.zeros(2, np.int64),
        )
        return spec, state
