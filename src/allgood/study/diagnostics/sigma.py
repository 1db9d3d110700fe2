"""Check the stated sigma: do repeated measurements of an arm scatter as much as it says?

If sigma is right, the chance of ever being told that it is too small is at most SIGMA_RISK, and the
same for too large, however often one looks.

Values are in units of the stated sigma of their arm: x_j of arm a has mean mu_a.  N_a is the number
of values of arm a, N their sum, m_a their average and Q_a their scatter about it.

**Sigma too small.**  For theta > 1

    E(theta) = theta^(-N/2) exp((1 - 1/theta) sum_j (x_j - mu)^2 / 2)

is a supermartingale started at 1 if rewards are normal, or sub-Gaussian, with the stated sigma,
for then E exp(lam (x - mu)^2 / 2) <= (1 - lam)^(-1/2).  The scatter Q = sum_a Q_a is at most the
sum of squares, so with Q in its place E(theta) is smaller.  Its average over theta reaches 1/alpha
with probability at most alpha, ever (Ville).

**Sigma too large.**  For theta < 1 and normal rewards, let an arm's first value be given.  Predict
each later one from the average of those before it, with theta in the place of the variance, and
divide by the largest likelihood that any mean gives these values:

    E(theta) = theta^(-(N - K)/2) prod_a N_a^(-1/2) exp((sum_a Q'_a - Q/theta) / 2),

Q'_a being the scatter without the arm's first value, and K the number of arms that have values.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._internal.arguments import Vector
from ..._internal.results import NullableFloat, ResultData
from ..._internal.statistics import crossing
from ...models.base import Model
from ...models.gaussian import Gaussian
from .values import CheckedValues, Integers, log_average

Verdict = Literal["too small", "too large", ""]

SIGMA_RISK = 0.005  # that a right sigma is ever called too small; the same for too large
NOTABLE = 0.7  # a sigma that is too large is reported if the values scatter less than this
COVERAGE = 0.95  # of the interval shown

# True over stated variance: the values over which the averages are taken.
THETA_ABOVE = np.array([1.01, 1.02, 1.04, 1.08, 1.16, 1.32, 1.64, 2.3, 3.6]) ** 2
THETA_BELOW = 1.0 / THETA_ABOVE


@dataclass(frozen=True)
class SigmaCheck(ResultData):
    """The scatter of values, as a multiple of the stated sigma.

    Attributes:
        multiple: the estimate.
        low, high: an interval.  Each end is right at all times with probability at least 0.975;
            the upper one for normal rewards only.
        values: how many there are beyond the first of each arm.
        verdict: "too small" or "too large" if the stated sigma is that; "" if it may be right.
    """

    multiple: float
    low: float
    high: NullableFloat
    values: int
    verdict: Verdict

    @property
    def sentence(self) -> str:
        """Say what is wrong with sigma, and what that means; empty if nothing is."""
        if not self.verdict:
            return ""
        upper = "or more" if math.isinf(self.high) else f"to {self.high:.3g}"
        meaning = {
            "too small": "The guarantee does not hold with it.  Begin a new study with a larger "
            "sigma, or with an unknown one.",
            "too large": "The guarantee holds, but the study needs more measurements than with a "
            "right sigma.",
        }[self.verdict]
        assumed = " and measurements are normal" if self.verdict == "too large" else ""
        return (
            f"Sigma is {self.verdict}: measurements of an arm scatter {self.multiple:.3g} times as "
            f"much as it says ({self.low:.3g} {upper} times, from {self.values:,} values).  "
            f"{meaning}  If sigma is right{assumed}, the chance of ever seeing this sentence is at "
            f"most 1 in {1.0 / SIGMA_RISK:.0f}."
        )


@dataclass(frozen=True)
class SigmaInUse(ResultData):
    """The standard deviation of repeated measurements: the one in use, and the one observed.

    Attributes:
        source: "stated" if the design gives it, "estimated" if it is unknown.
        value: the sigma in use; None if the arms have different ones, or before an estimate.
        observed, low, high: the sigma that the values show, with an interval, each end of which is
            right at all times with probability at least 0.975, for normal values.  In units of the
            stated sigma if that differs from arm to arm; if sigma is unknown, the interval is for
            one sigma of all arms.  None before an arm has two values.
        values: how many values this rests on: those beyond the first of each arm.
        sentence: all of this in words.
    """

    source: Literal["stated", "estimated"]
    value: float | None
    observed: float | None
    low: float | None
    high: NullableFloat | None
    values: int
    sentence: str


def sigma_in_use(
    checked: CheckedValues, model: Model, num_arms: int, check: SigmaCheck | None
) -> SigmaInUse | None:
    """Return the sigma in use and the observed one; None if the model has no sigma.

    ``check`` is that of the stated sigma.  If sigma is unknown, 1 is checked in its place.
    """
    if not isinstance(model, Gaussian):
        return None
    stated: Vector | None = model.sigmas(num_arms) if model.sub_gaussian else None
    single = stated is None or bool((stated == stated[0]).all())
    unit = float(stated[0]) if stated is not None and single else 1.0
    if stated is None:
        check = check_sigma(checked.arms, checked.values, np.ones(num_arms))
    shown = None if check is None else tuple(unit * x for x in (check.multiple, check.low))
    observed, low = shown or (None, None)
    high = None if check is None else unit * check.high
    value = observed if stated is None else unit if single else None
    if stated is None:
        words = "Sigma is unknown: every arm has an estimate of its own."
    else:
        words = f"Sigma is {unit:.4g}, as stated." if single else "Every arm has a stated sigma."
    if check is not None:
        upper = "or more" if math.isinf(check.high) else f"to {unit * check.high:.3g}"
        times = "" if single else " times as much as stated"
        words += (
            f"  Repeated measurements scatter {observed:.3g}{times} ({low:.3g} {upper}, from "
            f"{check.values:,} values beyond the first of each arm)."
        )
    source: Literal["stated", "estimated"] = "estimated" if stated is None else "stated"
    values = 0 if check is None else check.values
    return SigmaInUse(source, value, observed, low, high, values, words)


@dataclass(frozen=True)
class Scatter:
    """The statistics of the tests of sigma; values are in units of the stated sigma.

    Attributes:
        N, K: number of values, and of arms that have any.
        Q: the scatter about the averages of arms.
        rest: the same without each arm's first value, the sum of the Q'.
        surcharge: log prod_a N_a^(1/2).
    """

    N: int
    K: int
    Q: float
    rest: float
    surcharge: float

    @staticmethod
    def of(arms: Integers, x: Vector) -> "Scatter":
        """Return the statistics; ``arms`` holds the arm of each value, in the order of telling."""
        _, first, arm, N = np.unique(
            arms, return_index=True, return_inverse=True, return_counts=True
        )
        m = np.bincount(arm, x) / N
        Q = float(((x - m[arm]) ** 2).sum())
        of_first = float((N / np.maximum(N - 1, 1) * (x[first] - m) ** 2).sum())
        surcharge = 0.5 * float(np.log(N).sum())
        return Scatter(x.size, N.size, Q, max(Q - of_first, 0.0), surcharge)

    def too_small(self, s: float) -> float:
        """Return the log evidence that s times the stated sigma is too small; it falls with s."""
        theta, Q = THETA_ABOVE, self.Q / s / s
        return log_average(-0.5 * self.N * np.log(theta) + 0.5 * (1.0 - 1.0 / theta) * Q)

    def too_large(self, s: float) -> float:
        """Return the log evidence that s times the stated sigma is too large; it grows with s."""
        theta, Q, rest = THETA_BELOW, self.Q / s / s, self.rest / s / s
        logs = -0.5 * (self.N - self.K) * np.log(theta) + 0.5 * (rest - Q / theta)
        return log_average(logs) - self.surcharge


def check_sigma(arms: Integers, values: Vector, sigmas: Vector) -> SigmaCheck | None:
    """Test whether values scatter as their sigmas say; None before any arm has two values.

    Args:
        arms: the arm of each value, in the order of telling.
        values: the values.
        sigmas: the stated standard deviation of each arm.
    """
    scatter = Scatter.of(arms, values / sigmas[arms])
    if scatter.N == scatter.K:
        return None
    multiple = math.sqrt(scatter.Q / (scatter.N - scatter.K))
    need, alarm = -math.log(0.5 * (1.0 - COVERAGE)), -math.log(SIGMA_RISK)
    low, high = 0.0, math.inf
    if scatter.Q > 0.0:
        low = multiple * crossing(lambda u: need - scatter.too_small(multiple * u))
        if scatter.too_large(math.inf) > need:
            high = multiple / crossing(lambda u: need - scatter.too_large(multiple / u))
    verdict: Verdict = ""
    if scatter.too_small(1.0) >= alarm:
        verdict = "too small"
    elif scatter.too_large(1.0) >= alarm and multiple < NOTABLE:
        verdict = "too large"
    return SigmaCheck(multiple, low, high, scatter.N - scatter.K, verdict)
