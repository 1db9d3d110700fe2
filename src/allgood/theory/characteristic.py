"""The characteristic time T*, the optimal weights, and a bracket that T* is proven to lie in.

    1 / T* = max over weights w on the simplex of  T(mu, w)^-1,

with T(mu, w)^-1 the cost of the best response (``alternatives/``).  No delta-correct strategy can
expect fewer than T* kl(delta, 1 - delta) pulls (paper: Proposition 1), and a strategy that pulls in
the proportions w reaches that bound as delta tends to zero.

Every answer carries its own proof.  ``value`` is 1 / T(mu, w)^-1 at the returned weights, so
T* <= value.  ``lower_bound`` comes from alternatives j = 1..n with probabilities q_j: at weights w
alternative j costs sum_a w_a d_j,a, so 1 / T* <= max_a sum_j q_j d_j,a whatever the optimal w is,
and lower_bound <= T*.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
import numpy.typing as npt

from .._internal.arguments import SMALLEST, Vector, count, means_array, positive, weights_array
from .._internal.tables import html_table
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Multiplicative, Objective
from .alternatives.instance import Instance
from .alternatives.response import cost_of, instance
from .solver.game import kept_pairs
from .solver.interior import Interior
from .solver.limits import MAX_INTERIOR, MAX_ITERATIONS, MAX_PAIRS
from .solver.merging import groups_of, merged
from .solver.mirror import MirrorAscent, steepest
from .solver.newton import TOO_MANY_PAIRS, Newton

EPS = float(np.finfo(np.float64).eps)
Method = Literal["newton", "mirror-ascent"]


class Status(Enum):
    """The end of a computation of T*; the value is a sentence for the user."""

    SOLVED = "The relative gap is at most rtol."
    ITERATION_LIMIT = (
        "The iteration limit was reached before rtol; the bracket holds, with the gap shown."
    )
    STALLED = "The method came to a halt before rtol; the bracket holds, with the gap shown."
    MERGED = (
        "Too many good arms nearly tie to keep them apart; they were merged, and the bracket, "
        "which is for the original means, holds with the gap shown."
    )
    TRIVIAL = "No alternative exists, the answer is known without a pull: T* = 0."
    UNDECIDABLE = "T* is infinite: no number of pulls decides the question."


# The result of a solver: weights, a lower bound on T*, its steps, and its status.
Solution = tuple[Vector, float, int, Status]
NEWTON_ENDINGS = (Status.SOLVED, Status.ITERATION_LIMIT, Status.STALLED)
INTERIOR_ENDINGS = (*NEWTON_ENDINGS, Status.TRIVIAL)


@dataclass(frozen=True, eq=False, repr=False)
class CharacteristicTime:
    """T* with its bracket: lower_bound <= T* <= value.

    Attributes:
        value: 1 / T(mu, weights)^-1, an upper bound on T*; inf if the question is undecidable.
        weights: the optimal proportions of pulls, summing to one; nan if undecidable.
        lower_bound: a proven lower bound on T*.
        gap: value / lower_bound - 1.
        iterations: Newton or mirror-ascent steps taken.
        status: the end of the computation; ``status.name`` for machines.
        message: one sentence, which names the arm that makes the question undecidable.
        method: "newton" or "mirror-ascent".
    """

    value: float
    weights: "Vector"
    lower_bound: float
    gap: float
    iterations: int
    status: Status
    message: str
    method: Method

    def __repr__(self) -> str:
        ending = self.status.name.lower().replace("_", " ")
        if self.lower_bound == self.value:
            return f"CharacteristicTime(T* = {self.value:.9g}; {ending})"
        return (
            f"CharacteristicTime({self.lower_bound:.9g} <= T* <= {self.value:.9g}; {ending} after "
            f"{self.iterations} steps of {self.method})"
        )

    def _repr_html_(self) -> str:
        weights = self.weights.tolist()
        return html_table(repr(self), {"arm": list(range(len(weights))), "weight": weights})


def characteristic_time(
    means: "npt.ArrayLike",
    objective: Objective,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    rtol: float = 1e-6,
    method: Method = "newton",
    *,
    start: "npt.ArrayLike | None" = None,
    max_iterations: int | None = None,
    max_pairs: int = MAX_PAIRS,
) -> CharacteristicTime:
    """Compute the characteristic time T* of an instance, its bracket, and the optimal weights.

    Args:
        means: one mean per arm, in any order.
        objective: ``Additive(epsilon)`` or ``Multiplicative(epsilon)``.
        model: the noise; one sigma, or one per arm.
        rtol: stop when value <= (1 + rtol) lower_bound.
        method: "newton" (``theory/solver/newton.py``; ``theory/solver/interior.py`` for rewards
            that are not normal), or "mirror-ascent", the paper's method with its learning rate,
            for comparison and for normal rewards only: 100,000 steps do not give one digit
            (docs/solver.md).
        start: weights to start from, such as the solution of a nearby instance.  For normal
            rewards only.
        max_iterations: by default 600 Newton (100 for rewards that are not normal) or 100,000
            mirror-ascent steps.
        max_pairs: the largest number of pairs of nearly tied good arms to keep apart.  If there
            are more, such arms are merged: this is quicker, and the gap is about the relative
            width of the groups.  For rewards that are not normal.

    >>> from allgood import Additive, characteristic_time
    >>> time = characteristic_time([1, 1, 1, 1, 0.05], Additive(0.9))
    >>> round(time.value, 3), time.weights.round(3)
    (3200.0, array([0.125, 0.125, 0.125, 0.125, 0.5  ]))
    """
    objective, model = Objective.check(objective), Model.check_known(model)
    mu = model.check_means(means_array(means))
    if model.normal:
        model.sigmas(mu.size)  # one sigma for each arm, or one for all
    rtol = positive("rtol", rtol)
    _check_method(method, model, start)
    usual = MAX_ITERATIONS[method] if model.normal else MAX_INTERIOR
    limit = count("max_iterations", usual if max_iterations is None else max_iterations)
    pairs = count("max_pairs", max_pairs)
    first = None if start is None else weights_array(start, mu.size, "start")
    if first is not None and first.sum() == 0.0:
        raise ValueError("start must have at least one positive entry: got only zeros.")
    blame = undecidable_because(mu, objective)
    check_margin(objective.distances(mu)[0])
    if blame is not None:
        message = f"{Status.UNDECIDABLE.value} {blame}"
        nowhere = np.full(mu.size, np.nan)
        return CharacteristicTime(
            np.inf, nowhere, np.inf, 0.0, 0, Status.UNDECIDABLE, message, method
        )
    if mu.size == 1 and not isinstance(objective, Multiplicative):
        return _trivial(np.ones(1), method)
    return _solved(mu, objective, model, rtol, method, first, limit, pairs)


def _check_method(method: object, model: Model, start: object) -> None:
    """Raise ValueError for an unknown method, or one that the model does not allow."""
    if not isinstance(method, str) or method not in MAX_ITERATIONS:
        raise ValueError(f'method must be "newton" or "mirror-ascent": got {method!r}.')
    if not model.normal and (method != "newton" or start is not None):
        raise ValueError(
            f'method must be "newton", and start left out, for {model}: '
            f"got {method!r} and {start!r}."
        )


def _solved(
    mu: Vector,
    objective: Objective,
    model: Model,
    rtol: float,
    method: Method,
    first: Vector | None,
    limit: int,
    pairs: int,
) -> CharacteristicTime:
    """Solve a decidable instance, and compute its bracket from weights and lower bound."""
    sigma = model.sigmas(mu.size) if model.normal else np.ones(mu.size)
    # A little below rtol, so that rounding in the final bounds does not undo it.
    goal = 0.9 * rtol
    at = instance(mu, objective, tie=sigma)
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        if not model.normal:
            weights, lower, iterations, status = _by_interior(model, at, goal, limit, pairs)
        elif method == "newton":
            weights, lower, iterations, status = _by_newton(at, sigma, goal, limit, first)
        else:
            weights, lower, iterations, status = _by_ascent(at, sigma, goal, limit, first)
        if status is Status.TRIVIAL:
            return _trivial(weights, method)
        value = 1.0 / cost_of(model, at, weights)
    # The bounds are sums of K rounded terms: give up as many units in the last place.
    rounding = 1.0 + 4.0 * mu.size * EPS
    value, lower = value * rounding, min(lower, value) / rounding
    gap = value / lower - 1.0 if lower > 0.0 else np.inf
    if gap <= rtol:
        status = Status.SOLVED
    elif status is Status.SOLVED:
        status = Status.STALLED
    return CharacteristicTime(value, weights, lower, gap, iterations, status, status.value, method)


def _trivial(weights: Vector, method: Method) -> CharacteristicTime:
    status = Status.TRIVIAL
    return CharacteristicTime(0.0, weights, 0.0, 0.0, 0, status, status.value, method)


def on_threshold(means: Vector, objective: Objective) -> npt.NDArray[np.bool_]:
    """Return for each arm whether it lies on the threshold, up to the rounding of the inputs.

    For example, means (0.9, 0.6) with epsilon 0.3 lie on the threshold, although 0.9 - 0.3 is
    5.6e-17 off.
    """
    height, depth = objective.distances(means)
    size = np.maximum(np.abs(means), max(abs(float(means.max())), objective.slack))
    on: npt.NDArray[np.bool_] = np.abs(height) <= 4.0 * EPS * size
    best = depth == 0.0
    if best.sum() == 1:  # the best arm's own height matters only through other good arms
        on &= ~best
    return on


def undecidable_because(means: Vector, objective: Objective) -> str | None:
    """Return why no number of pulls decides this instance, or None."""
    top = float(means.max())
    relative = isinstance(objective, Multiplicative)
    if relative and top == 0.0:
        a = int(means.argmax())
        return f"The best mean, that of arm {a}, is 0, where every arm's label changes."
    if (relative and top < 0.0) or means.size == 1:
        return None
    on = on_threshold(means, objective)
    a = int(on.argmax())
    if not on[a]:
        return None
    return f"Arm {a} (mean {means[a]:g}) lies on the threshold {objective.threshold(means):g}."


def check_margin(height: Vector) -> None:
    """Raise ValueError if a margin is so small that T* would overflow."""
    margin = float(np.abs(height[height != 0.0]).min(initial=np.inf))
    if margin < SMALLEST:
        raise ValueError(
            f"means must lie at least {SMALLEST:g} from the threshold, or on it: "
            f"got a distance of {margin:g}; use other units."
        )


def _by_newton(
    at: Instance, sigma: Vector, rtol: float, limit: int, first: Vector | None
) -> Solution:
    """Find the optimal weights by Newton's method, or in closed form if there is one."""
    if at.c < 1.0 and (at.top < 0.0 or at.K == 1):
        # Each arm must be told from zero by itself: w_a mu_a^2 / (2 sigma_a^2) equal for all.
        pulls = 2.0 * (sigma / np.asarray(at.mu)) ** 2
        return pulls / pulls.sum(), float(pulls.sum()), 0, Status.SOLVED

    start = np.empty(0) if first is None else first
    newton = Newton(at, sigma)
    lower, steps, code = newton.optimal_pulls(start, rtol, limit, MAX_PAIRS)
    is_merged = code == TOO_MANY_PAIRS
    if is_merged:
        lower, steps, code = _of_merged(newton, start, rtol, limit)
    pulls = np.array(newton.pulls)
    status = NEWTON_ENDINGS[code]
    if is_merged and status is Status.SOLVED:
        status = Status.MERGED
    return pulls / pulls.sum(), lower, steps, status


def _of_merged(newton: Newton, start: Vector, rtol: float, limit: int) -> tuple[float, int, int]:
    """Merge nearly tied groups until there are few enough pairs, and solve that game."""
    fine, group = groups_of(newton.game), np.array(newton.game.group)
    fits, tolerance = False, 1e-5
    while not fits:
        easier, place = merged(fine, tolerance)
        newton.game.replace(easier, place[group])
        fits = kept_pairs(newton.game, MAX_PAIRS)
        tolerance *= 2.0
    solution: tuple[float, int, int] = newton.solve_from(start, rtol, limit)
    return solution


def _by_interior(model: Model, at: Instance, rtol: float, limit: int, pairs: int) -> Solution:
    """Find the optimal weights for models that are not normal."""
    interior = Interior(model, at, pairs)
    lower, steps, code = interior.solve(rtol, limit)
    pulls = np.array(interior.pulls)
    status = INTERIOR_ENDINGS[code]
    if interior.merged and status is Status.SOLVED:
        status = Status.MERGED
    return pulls / pulls.sum(), lower, steps, status


def _by_ascent(
    at: Instance, sigma: Vector, rtol: float, limit: int, first: Vector | None
) -> Solution:
    """Find weights by mirror ascent."""
    uniform = np.full(at.K, 1.0 / at.K)
    start = uniform if first is None else 0.9 * first / first.sum() + 0.1 * uniform
    ascent = MirrorAscent(at, sigma)
    L = steepest(at.mu, sigma, at.c, at.e)
    lower, steps, solved = ascent.solve(start, L, rtol, 0.0, limit)
    status = Status.SOLVED if solved else Status.ITERATION_LIMIT
    return np.array(ascent.weights), lower, steps, status


def lipschitz(mu: Vector, sigma: Vector, objective: Objective) -> float:
    """Return a bound on every entry of every gradient (``theory/solver/mirror.py``)."""
    return float(steepest(mu, sigma, objective.factor, objective.slack))
