"""The characteristic time T*, the optimal weights, and a certificate for both.

    1 / T* = max over weights w on the simplex of  T(mu, w)^-1,

with T(mu, w)^-1 the cost of the best response (``alternatives.py``).  No delta-correct strategy can
expect fewer than T* kl(delta, 1 - delta) pulls (paper: Proposition 1), and spending them in the
proportions w is what reaches that bound as delta tends to zero.

Every answer carries its own proof.  ``value`` is 1 / T(mu, w)^-1 at the returned weights, so T* <= value.
``lower_bound`` comes from alternatives d_1..d_n with probabilities q (d: gradient of the best response):
1 / T* <= max_a sum_j q_j d_j,a, whatever w is, so lower_bound <= T*.
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
import numpy.typing as npt

from . import _interior, _newton
from ._check import SMALLEST, Vector, count, means_array, positive, weights_array
from ._jit import jit
from .alternatives import best_response, cheapest_alternative, moves
from .models import NORMAL, Gaussian, Model
from .objectives import Multiplicative, Objective

EPS = float(np.finfo(np.float64).eps)
Method = Literal["newton", "mirror-ascent"]

MAX_ITERATIONS = {"newton": 600, "mirror-ascent": 100_000}
MAX_INTERIOR = 100  # steps, for families other than the normal one
MAX_PAIRS = 2_000_000  # more relevant pairs of near-tied good arms than this are solved on merged means


class Status(Enum):
    """How a computation of T* ended; the value is the sentence a user needs."""

    SOLVED = "The relative gap is at most rtol."
    ITERATION_LIMIT = "The iteration limit was reached before rtol; the certificate holds for the gap given."
    STALLED = "The method came to a halt before rtol; the certificate holds for the gap given."
    MERGED = (
        "Too many good arms nearly tie to keep them apart; they were merged, and the certificate, "
        "which is about the means as given, holds for the gap given."
    )
    TRIVIAL = "No alternative exists, the answer is known without a pull: T* = 0."
    UNDECIDABLE = "T* is infinite: no number of pulls decides the question."


@dataclass(frozen=True, eq=False)
class CharacteristicTime:
    """T* with its certificate: lower_bound <= T* <= value.

    Attributes:
        value: 1 / T(mu, weights)^-1, an upper bound on T*; inf where the question is undecidable.
        weights: the optimal proportions of pulls, summing to one; nan where undecidable.
        lower_bound: a certified lower bound on T*.
        gap: value / lower_bound - 1.
        iterations: Newton or mirror-ascent steps taken.
        status: how it ended; ``status.name`` for machines.
        message: one sentence, naming the arm where one is to blame.
        method: "newton" or "mirror-ascent".
    """

    value: float
    weights: Vector
    lower_bound: float
    gap: float
    iterations: int
    status: Status
    message: str
    method: Method


def characteristic_time(
    means: npt.ArrayLike,
    objective: Objective,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    rtol: float = 1e-6,
    method: Method = "newton",
    *,
    start: npt.ArrayLike | None = None,
    max_iterations: int | None = None,
) -> CharacteristicTime:
    """Characteristic time T* of an instance, optimal weights, and a certificate.

    Args:
        means: one mean per arm, in any order.
        objective: ``Additive(epsilon)`` or ``Multiplicative(epsilon)``.
        model: the noise; one sigma, or one per arm.
        rtol: stop when value <= (1 + rtol) lower_bound.
        method: "newton" (``_newton.py``; ``_interior.py`` for rewards that are not normal), or "mirror-ascent", the
            paper's method with its learning rate, kept for comparison: 100,000 steps do not give one digit
            (docs/solver.md).  For normal rewards only.
        start: weights to start from, for instance the solution of a nearby instance.  For normal rewards only.
        max_iterations: by default 600 Newton (100 for rewards that are not normal) or 100,000 mirror-ascent steps.

    >>> from allgood import Additive, characteristic_time
    >>> time = characteristic_time([1, 1, 1, 1, 0.05], Additive(0.9))
    >>> round(time.value, 3), time.weights.round(3)
    (3200.0, array([0.125, 0.125, 0.125, 0.125, 0.5  ]))
    """
    objective, model = Objective.check(objective), Model.check_known(model)
    mu = model.check_means(means_array(means))
    normal = model.family == NORMAL
    sigma = model.sigmas(mu.size) if normal else np.ones(mu.size)
    rtol = positive("rtol", rtol)
    if not isinstance(method, str) or method not in MAX_ITERATIONS:
        raise ValueError(f'method must be "newton" or "mirror-ascent": got {method!r}.')
    if not normal and (method != "newton" or start is not None):
        raise ValueError(f'method must be "newton", and start left out, for {model}: got {method!r} and {start!r}.')
    most = MAX_ITERATIONS[method] if normal else MAX_INTERIOR
    limit = count("max_iterations", most if max_iterations is None else max_iterations)
    first = None if start is None else weights_array(start, mu.size, "start")
    if first is not None and first.sum() == 0.0:
        raise ValueError("start must have at least one positive entry: got only zeros.")

    blame = undecidable_because(mu, objective)
    height, depth = objective.distances(mu)
    check_margin(height)
    if blame is not None:
        message = f"{Status.UNDECIDABLE.value} {blame}"
        return CharacteristicTime(np.inf, np.full(mu.size, np.nan), np.inf, 0.0, 0, Status.UNDECIDABLE, message, method)
    if mu.size == 1 and not isinstance(objective, Multiplicative):
        return CharacteristicTime(0.0, np.ones(1), 0.0, 0.0, 0, Status.TRIVIAL, Status.TRIVIAL.value, method)

    if normal:
        solver = _solve_newton if method == "newton" else _solve_mirror_ascent
        weights, lower, iterations, status = solver(mu, sigma, height, depth, objective, rtol, limit, first)
    else:
        weights, lower, iterations, status = _solve_family(mu, model, height, depth, objective, rtol, limit)
    if status is Status.TRIVIAL:
        return CharacteristicTime(0.0, weights, 0.0, 0.0, 0, status, status.value, method)
    value = 1.0 / best_response(mu, weights, objective, model).cost
    # The bounds are sums of K rounded terms: give up as many units in the last place.
    rounding = 1.0 + 4.0 * mu.size * EPS
    value, lower = value * rounding, min(lower, value) / rounding
    gap = value / lower - 1.0 if lower > 0.0 else np.inf
    if gap <= rtol:
        status = Status.SOLVED
    elif status is Status.SOLVED:
        status = Status.STALLED
    return CharacteristicTime(value, weights, lower, gap, iterations, status, status.value, method)


def on_threshold(means: Vector, objective: Objective) -> npt.NDArray[np.bool_]:
    """Which arms lie on the threshold, up to the rounding of the inputs.

    Means (0.9, 0.6) with epsilon 0.3 are then what they say, and not 5.6e-17 off.
    """
    height, depth = objective.distances(means)
    size = np.maximum(np.abs(means), max(abs(float(means.max())), objective.slack))
    on: npt.NDArray[np.bool_] = np.abs(height) <= 4.0 * EPS * size
    best = depth == 0.0
    if best.sum() == 1:  # the best arm's own height matters only through other good arms
        on &= ~best
    return on


def undecidable_because(means: Vector, objective: Objective) -> str | None:
    """Why no number of pulls decides this instance, or None."""
    top = float(means.max())
    relative = isinstance(objective, Multiplicative)
    if relative and top == 0.0:
        return f"The best mean, that of arm {int(means.argmax())}, is 0, where every arm's label changes."
    if (relative and top < 0.0) or means.size == 1:
        return None
    on = on_threshold(means, objective)
    a = int(on.argmax())
    if not on[a]:
        return None
    return f"Arm {a} (mean {means[a]:g}) lies on the threshold {objective.threshold(means):g}."


def check_margin(height: Vector) -> None:
    """Refuse margins so small that T* would overflow."""
    margin = float(np.abs(height[height != 0.0]).min(initial=np.inf))
    if margin < SMALLEST:
        raise ValueError(
            f"means must lie at least {SMALLEST:g} from the threshold, or on it: got a distance of {margin:g}; "
            "use other units."
        )


def _solve_newton(
    mu: Vector,
    sigma: Vector,
    height: Vector,
    depth: Vector,
    objective: Objective,
    rtol: float,
    limit: int,
    first: Vector | None,
) -> tuple[Vector, float, int, Status]:
    """Optimal weights by ``_newton.solve``, or in closed form where one group of alternatives is all there is."""
    relative = isinstance(objective, Multiplicative)
    if relative and (mu.max() < 0.0 or mu.size == 1):
        # Each arm must be told from zero by itself: w_a mu_a^2 / (2 sigma_a^2) equal for all.
        pulls = 2.0 * (sigma / mu) ** 2
        return pulls / pulls.sum(), float(pulls.sum()), 0, Status.SOLVED

    order = np.lexsort((sigma, depth))
    start = np.empty(0) if first is None else first
    # A little below rtol, so that rounding in the final bounds does not undo it.
    rtol = 0.9 * rtol
    pulls, lower, iterations, code = _newton.optimal_pulls(
        mu, sigma, height, depth, order, objective.factor, start, rtol, limit, MAX_PAIRS
    )
    merged = code == _newton.TOO_MANY_PAIRS
    if merged:
        fine, group, unit = _newton.group_arms(mu, sigma, height, depth, order, objective.factor)
        few, tolerance = False, 1e-5
        while not few:
            game, merge = _merged(fine, tolerance)
            pairs, few = _newton.kept_pairs(game, MAX_PAIRS)
            tolerance *= 2.0
        pulls, lower, iterations, code = _newton.solve_from(game, pairs, merge[group], sigma, start, rtol, limit)
        lower /= unit**2
    status = (Status.SOLVED, Status.ITERATION_LIMIT, Status.STALLED)[code]
    if merged and status is Status.SOLVED:
        status = Status.MERGED
    return pulls / pulls.sum(), lower, iterations, status


def _solve_family(
    mu: Vector, model: Model, height: Vector, depth: Vector, objective: Objective, rtol: float, limit: int
) -> tuple[Vector, float, int, Status]:
    """Optimal weights by ``_interior.solve``."""
    by_depth = np.argsort(depth, kind="stable")
    c, e, high = objective.factor, objective.slack, model.range[1]
    pulls, lower, iterations, code = _interior.solve(
        model.family, mu, height, by_depth, c, e, high, 0.9 * rtol, np.int64(limit)
    )
    status = (Status.SOLVED, Status.ITERATION_LIMIT, Status.STALLED, Status.TRIVIAL)[code]
    return pulls / pulls.sum(), lower, iterations, status


def _merged(game: _newton.Game, tolerance: float) -> tuple[_newton.Game, npt.NDArray[np.int64]]:
    """An easier game in which nearly tied good groups are one, and each group's place in it.

    A merged group has the depth of its highest member, from which it is costliest to come down, and its
    largest height, raised by the spread of depths so that no pair becomes cheaper, and its members' lowest
    price: every alternative costs at least what it did, precision at most, so a lower bound on its T* is
    one on the T* of the game given.
    """
    G, c = game.height.size, game.c
    near = min(game.height[-1], game.gap.min() if game.gap.size else np.inf)
    each = game.price[:G] / game.copies
    place = np.zeros(game.price.size, np.int64)
    first = 0
    for i in range(1, G):
        apart = (
            abs(each[i] - each[first]) > tolerance * each[first]
            or c * (game.depth[i] - game.depth[first]) > tolerance * near
        )
        first = i if apart else first
        place[i] = place[i - 1] + apart
    firsts = np.flatnonzero(np.diff(place[:G], prepend=-1))
    spread = float((game.depth - game.depth[firsts][place[:G]]).max())
    height, depth = game.height[firsts] + c * spread, game.depth[firsts]
    lowest = np.full(firsts.size, np.inf)
    np.minimum.at(lowest, place[:G], each)
    copies = np.bincount(place[:G], game.copies)
    place[G:] = firsts.size + np.arange(game.gap.size)
    easier = _newton.Game(
        height=height,
        depth=depth,
        copies=copies,
        gap=game.gap,
        price=np.concatenate((copies * lowest, game.price[G:])),
        lift=np.bincount(place, game.lift),
        c=c,
    )
    return easier, place


def lipschitz(mu: Vector, sigma: Vector, objective: Objective) -> float:
    """A bound on every entry of every best response's gradient: half the largest squared move, over sigma^2.

    Additive: moves are at most max - min + epsilon (paper: Lemma 6).  Multiplicative: at most max/c - min
    (paper: Lemma 8), but for one arm alone, which moves by its mean, and for negative means, by the lowest.
    """
    return float(steepest(mu, sigma, objective.factor, objective.slack))


@jit
def steepest(mu, sigma, c, e):
    """``lipschitz``, compiled."""
    top, bottom = mu.max(), mu.min()
    move = top - bottom + e
    if c < 1.0:
        move = max(top, -bottom) if top <= 0.0 or mu.size == 1 else top / c - bottom
    return 0.5 * (move / sigma.min()) ** 2


@jit
def mirror_ascent(mu, h, D, sigma, by_depth, c, start, L, rtol, atol, max_iterations):
    """Exponentiated gradient ascent on T^-1: ``(weights, lower bound on T*, steps, solved)``.

        w_{n+1} ~ w_n exp(alpha_n d_n),   alpha_n = sqrt(2 log K / n) / L,   d_n the best response's gradient.

    The answer is the better of the best iterate and the average iterate; the average gradient
    certifies it: 1/T* <= max_a average d_a.  Solved when that is at most 1 + rtol times the answer's value, plus atol.
    """
    K = mu.size
    precision = 1.0 / (sigma * sigma)
    score = np.log(start)
    average, gradient = np.zeros(K), np.zeros(K)
    best, best_w, upper = 0.0, start.copy(), np.inf
    move = np.empty(K)
    look = 1
    for n in range(1, max_iterations + 1):
        w = np.exp(score - score.max())
        w /= w.sum()
        cost, kind, k, l, depth = cheapest_alternative(mu, h, D, w * precision, by_depth, c)
        moves(kind, k, l, depth, mu, h, D, w * precision, c, move)
        if cost > best:
            best = cost
            best_w[:] = w
        d = 0.5 * move * move * precision
        score += math.sqrt(2.0 * math.log(K) / n) / L * d
        average += w
        gradient += d
        if n in (look, max_iterations):
            look += 1 + look // 10
            w = average / n
            cost = cheapest_alternative(mu, h, D, w * precision, by_depth, c)[0]
            if cost > best:
                best = cost
                best_w[:] = w
            upper = min(upper, gradient.max() / n)
            if upper <= best * (1.0 + rtol) + atol:
                return best_w, 1.0 / upper, n, True
    return best_w, 1.0 / upper, max_iterations, False


def _solve_mirror_ascent(
    mu: Vector,
    sigma: Vector,
    height: Vector,
    depth: Vector,
    objective: Objective,
    rtol: float,
    limit: int,
    first: Vector | None,
) -> tuple[Vector, float, int, Status]:
    by_depth = np.argsort(depth, kind="stable")
    uniform = np.full(mu.size, 1.0 / mu.size)
    start = uniform if first is None else 0.9 * first / first.sum() + 0.1 * uniform
    weights, lower, steps, solved = mirror_ascent(
        mu,
        height,
        depth,
        sigma,
        by_depth,
        objective.factor,
        start,
        lipschitz(mu, sigma, objective),
        0.9 * rtol,
        0.0,
        limit,
    )
    return weights, lower, steps, Status.SOLVED if solved else Status.ITERATION_LIMIT
