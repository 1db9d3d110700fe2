"""Lower bounds on the expected number of pulls of any delta-correct strategy.

    asymptotic      T* kl(delta, 1 - delta)                            paper: Proposition 1
    asymptotic_log  T* log(1 / (2.4 delta)), never above the first     paper: Proposition 1
    moderate        sigma^2 / (12 |G_beta|^3) sum_b 1 / (mu_1 - mu_b + beta)^2, on the average over
                    all orders of the arms                             paper: Theorem 3
    mason           f log(1 / (2.4 delta)),                            Mason et al. 2020, Thm. 2.1,
                    f = 2 sum_a sigma_a^2 max( 1/(mu_1 - eps - mu_a)^2, 1/(mu_1 + alpha - mu_a)^2 )

with mu_1 the best mean, beta the smallest distance of a bad arm below the threshold, G_beta the
arms within beta of the best, alpha the smallest distance of a good arm above the threshold.  If a
formula is not a bound for an instance, it is None, and ``reasons`` says why.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector, means_array, probability
from .._internal.tables import html_table
from ..models.base import Model
from ..models.gaussian import Gaussian
from ..objectives import Additive, Objective
from .characteristic import EPS, CharacteristicTime, Status, characteristic_time

LOOSE = 0.03  # a bound that may lie this part below what it could be is called loose
UNKNOWN_DISTRIBUTION = "{} does not fix the distribution of the rewards: they may vary less."
SMALLER_RISK = "Needs delta < 1/2.4: above, log(1/(2.4 delta)) is not positive."
# The title of each bound, and what it says.
BOUNDS = {
    "asymptotic": ("T* kl(delta,1-delta)", "What any method needs on average."),
    "asymptotic_log": ("T* log(1/2.4delta)", "The same, in a simpler form."),
    "mason": ("Mason et al.", "From single comparisons of arms (2020)."),
    "moderate": ("moderate", "For a moderate risk, on the average over all orders of the arms."),
}
LOG_CONSTANT = 2.4  # kl(delta, 1 - delta) >= log(1 / (2.4 delta)) for all delta in (0, 1)


@dataclass(frozen=True, eq=False, repr=False)
class LowerBounds:
    """Lower bounds on the expected number of pulls; None if the formula is not a bound.

    Attributes:
        delta: the risk.
        asymptotic: T* kl(delta, 1 - delta).
        asymptotic_log: T* log(1 / (2.4 delta)).
        moderate: the bound for moderate confidence, on the average over all orders of the arms.
        mason: the bound of Mason et al.
        mason_complexity: their f, even if it is not a bound; None for the multiplicative objective.
        reasons: for each name that is None, one sentence with the reason.
        characteristic_time: the T* used; the bounds use its certified lower bound.
    """

    delta: float
    asymptotic: float | None
    asymptotic_log: float | None
    moderate: float | None
    mason: float | None
    mason_complexity: float | None
    reasons: Mapping[str, str]
    characteristic_time: CharacteristicTime

    def __repr__(self) -> str:
        parts = [f"{key} {value:,.1f}" for key, value in self._named().items() if value is not None]
        return f"LowerBounds(at delta = {self.delta:g}: {', '.join(parts) or 'none'})"

    def _repr_html_(self) -> str:
        named = self._named()
        reasons = [self.reasons.get(key, "") for key in named]
        columns: dict[str, list[Any]] = {
            "bound": [*named],
            "pulls": [*named.values()],
            "why not": reasons,
        }
        return html_table(f"LowerBounds at delta = {self.delta:g}", columns)

    def _named(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in BOUNDS}

    @property
    def best(self) -> float:
        """The largest bound for the arms in their order, so not ``moderate``; 0 if none applies."""
        bounds = (self.asymptotic, self.asymptotic_log, self.mason)
        return max((bound for bound in bounds if bound is not None), default=0.0)

    @property
    def gap(self) -> float:
        """The part by which ``best`` could be higher, at most, if T* were known exactly.

        The bounds that rest on T* would be higher by ``characteristic_time.gap`` at most.
        """
        if not 0.0 < self.best < math.inf:
            return 0.0
        on_time = max(self.asymptotic or 0.0, self.asymptotic_log or 0.0)
        if on_time == 0.0:
            return 0.0
        return max(on_time / self.best * (1.0 + self.characteristic_time.gap) - 1.0, 0.0)

    @property
    def remark(self) -> str | None:
        """A sentence if ``best`` may be loose, else None."""
        if self.gap <= LOOSE:
            return None
        return (
            f"This lower bound holds but may be loose: with T* known exactly it could be up to "
            f"{100.0 * self.gap:,.0f} % higher."
        )


def lower_bounds(
    means: "npt.ArrayLike",
    objective: Objective,
    delta: float,
    model: Model = Gaussian(),  # noqa: B008 - immutable
    *,
    characteristic: CharacteristicTime | None = None,
) -> LowerBounds:
    """Compute lower bounds on the expected number of pulls at risk ``delta``.

    ``characteristic`` is the result of :func:`characteristic_time` for the same instance, if the
    caller has it.

    >>> from allgood import Additive, lower_bounds
    >>> round(lower_bounds([1, 1, 1, 1, 0.05], Additive(0.9), 0.1).asymptotic)
    5625
    """
    objective, model = Objective.check(objective), Model.check_known(model)
    mu = model.check_means(means_array(means))
    delta = probability("delta", delta)
    time = characteristic_time(mu, objective, model) if characteristic is None else characteristic
    if time.weights.size != mu.size:
        raise ValueError(
            f"characteristic must be of the same instance, with {mu.size} arms: "
            f"got {time.weights.size} weights."
        )
    unknown = "" if model.exact else UNKNOWN_DISTRIBUTION.format(model)
    limited = unknown or ("" if model.normal else "Proven for normal rewards only.")
    complexity = None
    if not limited and isinstance(objective, Additive) and mu.size > 1:
        undecidable = time.status is Status.UNDECIDABLE
        complexity = math.inf if undecidable else _mason_complexity(mu, objective, model)
    answers = {
        "asymptotic": _asymptotic(time, delta, unknown),
        "asymptotic_log": _asymptotic_log(time, delta, unknown),
        "moderate": _moderate(mu, objective, delta, model, time, limited),
        "mason": _mason(mu, objective, delta, complexity, limited),
    }
    bounds = {name: None if isinstance(part, str) else part for name, part in answers.items()}
    reasons = {name: part for name, part in answers.items() if isinstance(part, str)}
    return LowerBounds(
        delta=delta,
        **bounds,
        mason_complexity=complexity,
        reasons=MappingProxyType(reasons),
        characteristic_time=time,
    )


# Each of these functions returns a bound, or the reason why its formula is not a bound.


def _asymptotic(time: CharacteristicTime, delta: float, unknown: str) -> float | str:
    """Return T* kl(delta, 1 - delta), or why it is not a bound."""
    if unknown:
        return unknown
    if delta > 0.5:
        return "Needs delta <= 1/2: above, a strategy may err more often than not."
    return time.lower_bound * _kl(delta) if delta < 0.5 else 0.0


def _asymptotic_log(time: CharacteristicTime, delta: float, unknown: str) -> float | str:
    """Return T* log(1 / (2.4 delta)), or why it is not a bound."""
    if unknown:
        return unknown
    log_term = _log_term(delta)
    return time.lower_bound * log_term if log_term > 0.0 else SMALLER_RISK


def _log_term(delta: float) -> float:
    """Return log(1 / (2.4 delta))."""
    return -math.log(LOG_CONSTANT) - math.log(delta)


def _kl(delta: float) -> float:
    """Return kl(delta, 1 - delta) between Bernoulli distributions."""
    return (1.0 - 2.0 * delta) * (math.log1p(-delta) - math.log(delta))


def _moderate(
    mu: Vector,
    objective: Objective,
    delta: float,
    model: Model,
    time: CharacteristicTime,
    limited: str,
) -> float | str:
    """Return the bound for moderate confidence, or why it does not apply."""
    if limited:
        return limited
    if not isinstance(objective, Additive):
        return "Proven for the additive objective only."
    if objective.answer(mu).all():
        return "Needs at least one bad arm."
    if delta > 0.1:
        return "Proven for delta <= 1/10 only."
    if not model.one_noise:
        return "Proven for one sigma only: the proof swaps arms."
    if time.status is Status.UNDECIDABLE:
        return "Needs every bad arm off the threshold."
    return _moderate_formula(mu, objective, model)


def _moderate_formula(mu: Vector, objective: Objective, model: Model) -> float:
    """Return sigma^2 / (12 |G_beta|^3) sum_b 1 / (mu_1 - mu_b + beta)^2 (paper: Theorem 3)."""
    height, depth = objective.distances(mu)
    beta = float(-height[height < 0.0].max())
    # Arms at beta up to rounding count as within beta: more of them only lower the bound.
    within = int((depth <= beta + 8.0 * EPS * (np.abs(mu).max() + objective.slack)).sum())
    sigma = float(model.sigmas(mu.size)[0])
    return sigma**2 * float((1.0 / (depth + beta) ** 2).sum()) / (12.0 * within**3)


def _mason(
    mu: Vector, objective: Objective, delta: float, complexity: float | None, limited: str
) -> float | str:
    """Return the bound of Mason et al., or why it does not apply."""
    if limited:
        return limited
    if not isinstance(objective, Additive):
        return "Stated for the additive objective only."
    if complexity is None:
        return "One arm alone is good by definition."
    if objective.answer(mu).sum() == 1:
        return (
            "Needs two good arms: raising the only good arm changes no label, so f may exceed T* "
            "(the paper's Remark 1 overlooks this)."
        )
    log_term = _log_term(delta)
    return complexity * log_term if log_term > 0.0 else SMALLER_RISK


def _mason_complexity(mu: Vector, objective: Objective, model: Model) -> float:
    """Return f = 2 sum_a sigma_a^2 max( 1/(mu_1 - eps - mu_a)^2, 1/(mu_1 + alpha - mu_a)^2 )."""
    height, depth = objective.distances(mu)
    alpha = float(height[height >= 0.0].min())
    nearest = np.minimum(np.abs(height), depth + alpha)
    return float((2.0 * (model.sigmas(mu.size) / nearest) ** 2).sum())
