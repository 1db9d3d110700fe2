"""The best response: the cheapest alternative to an instance, for any model."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..._internal.arguments import Vector, means_array, weights_array
from ...models.base import Model, divergence
from ...models.gaussian import Gaussian
from ...objectives import Objective
from . import exponential_family as family
from .instance import Instance
from .kinds import NONE
from .normal import Workspace, cheapest_alternative, moves

Kind = Literal["expel", "admit", "empty", "rise", "none"]
KINDS: tuple[Kind, ...] = ("none", "expel", "admit", "empty", "rise")


@dataclass(frozen=True, eq=False)
class BestResponse:
    """The cheapest alternative to an instance, for known weights.

    Attributes:
        cost: the weighted divergence T(mu, w)^-1; inf if no alternative exists (one arm,
            additive).
        means: the alternative.  It is a limit: arms sit exactly on the threshold, and an
            arbitrarily small further move changes the answer.  nan if no alternative exists.
        arm: the arm whose label flips; None if the whole answer becomes empty, or none exists.
        gradient: the divergence of each arm, (mu_a - lam_a)^2 / (2 sigma_a^2) for normal rewards: a
            supergradient of the cost in the weights (Danskin; paper: Lemma 5), with
            cost = weights . gradient.
        kind: "expel", "admit", "empty", "rise" or "none"; ``theory/alternatives/normal.py``
            explains them.
        rival: for "expel", the arm that exceeds ``arm`` by too much; None otherwise.
    """

    cost: float
    means: npt.NDArray[np.float64]
    arm: int | None
    gradient: npt.NDArray[np.float64]
    kind: Kind
    rival: int | None


def best_response(
    means: "npt.ArrayLike",
    weights: "npt.ArrayLike",
    objective: Objective,
    model: Model = Gaussian(),  # noqa: B008 - immutable
) -> BestResponse:
    """Return the cheapest alternative to ``means`` if arm a is measured with weight ``weights[a]``.

    ``weights`` need not sum to one: with pull counts the cost is the generalised likelihood ratio
    Z(t) of the paper's stopping rule.  Zero weights are allowed: such an arm moves for free.

    >>> from allgood import Additive, best_response
    >>> round(1 / best_response([1, 1, 1, 1, 0.05], [0.125] * 4 + [0.5], Additive(0.9)).cost, 6)
    3200.0
    """
    objective, model = Objective.check(objective), Model.check_known(model)
    mu = model.check_means(means_array(means))
    w = weights_array(weights, mu.size)
    at = instance(mu, objective)
    lam = np.empty(mu.size)
    if model.normal:
        sigma = model.sigmas(mu.size)
        v = w / (sigma * sigma)
        response = cheapest_alternative(at, v, Workspace(mu.size))
        moves(response, at, v, lam)
        move = lam / sigma
        gradient = 0.5 * (move * move)
        lam += mu
    else:
        with np.errstate(all="ignore"):  # uncompiled: infinities are meant
            response = family.cheapest(model, at, w, family.Workspace(mu.size))
            family.alternative(response, model, at, lam)
            gradient = np.array([divergence(model, x, y) for x, y in zip(mu, lam, strict=True)])
    cost, kind, k, l, _ = response
    if kind == NONE:
        lam[:] = gradient[:] = np.nan
    return BestResponse(
        cost=cost,
        means=lam,
        arm=k if k >= 0 else None,
        gradient=gradient,
        kind=KINDS[kind],
        rival=l if l >= 0 else None,
    )


def cost_of(model: Model, at: Instance, w: Vector) -> float:
    """Return the cost of the best response alone."""
    if model.normal:
        v = w / model.sigmas(at.K) ** 2
        return float(cheapest_alternative(at, v, Workspace(at.K))[0])
    return float(family.cheapest(model, at, w, family.Workspace(at.K))[0])


def instance(mu: Vector, objective: Objective, tie: Vector | None = None) -> Instance:
    """Return the instance of these means for this objective."""
    at = Instance(mu.size, objective.factor, objective.slack, objective.share, tie)
    at.place(mu)
    return at
