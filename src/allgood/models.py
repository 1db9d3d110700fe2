"""The noise: what is known about a reward given its arm's mean.

    model              rewards                mean range   variance V(x)   divergence d(x, y) from mean x to mean y
    Gaussian(sigma)    normal                 all          sigma^2         (x - y)^2 / (2 sigma^2)
    Bounded(low, high) in [low, high]         [low, high]  <= sigma^2      the same, with sigma = (high - low)/2
    Bernoulli()        0 or 1                 [0, 1]       x (1 - x)       x r((y-x)/x) + (1-x) r((x-y)/(1-x))
    Poisson()          0, 1, 2, ...           [0, inf)     x               x r((y-x)/x)
    Exponential()      above 0                (0, inf)     x^2             r((x-y)/y)
    Gaussian(None)     normal, sigma unknown  all          unknown         none: it depends on sigma

with r(u) = u - log(1 + u), which is what remains of the logarithms when the linear terms, which cancel, are left out.

A shift by eta in the natural parameter, upwards for eta > 0, changes the log-likelihood of n rewards with sum S from
that of the mean x by

    Bernoulli     eta S - n log(1 + x (exp(eta) - 1))            odds times exp(eta)
    Poisson       eta S - n x (exp(eta) - 1)                     rate times exp(eta)
    Exponential   -n eta + (S/x) (1 - exp(-eta))                 mean times exp(eta)

Its exponential has mean 1 if x is the true mean, and at most 1 if the true mean lies on the other side of x: all these
families have monotone likelihood ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._check import SMALLEST, Vector, positive, real, sigma_array, vector
from ._jit import jit

NORMAL, BERNOULLI, POISSON, EXPONENTIAL, STUDENT = range(5)
SUB_GAUSSIAN = (NORMAL, BERNOULLI)  # of known sigma


@jit
def excess(y, x, step):
    """r(step/x) = y/x - 1 - log(y/x), step = y - x, without loss of digits where y is close to x."""
    u = step / x
    if abs(u) > 0.01:
        return u - math.log(y / x)
    return u * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u * (1 / 7 - u / 8))))))


@jit
def variance(family, x):
    """V(x) of the families with one parameter."""
    if family == BERNOULLI:
        return x * max(1.0 - x, 0.0)
    if family == POISSON:
        return x
    return x * x


@jit
def divergence(family, x, y):
    """d(x, y) of the families with one parameter; inf where a reward possible at x is impossible at y."""
    if family == BERNOULLI:
        total = 0.0
        if x > 0.0:
            total += x * excess(y, x, y - x)
        if x < 1.0:
            total += (1.0 - x) * excess(max(1.0 - y, 0.0), 1.0 - x, x - y)
        # At x = 0 and x = 1 one term is missing, and with it a linear one that would have cancelled.
        return total + (y - x if x == 0.0 else 0.0) + (x - y if x == 1.0 else 0.0)
    if family == POISSON:
        return x * excess(y, x, y - x) if x > 0.0 else y
    return excess(x, y, x - y)


@jit
def slope(family, x, y):
    """Derivative of d(x, y) in y: (y - x) / V(y)."""
    return (y - x) / variance(family, y) if y != x else 0.0


@jit
def curvature(family, x, y):
    """Second derivative of d(x, y) in y: (V(y) - (y - x) V'(y)) / V(y)^2."""
    V = variance(family, y)
    bend = 1.0 if family == POISSON else (1.0 - 2.0 * y if family == BERNOULLI else 2.0 * y)
    return (V - (y - x) * bend) / (V * V)


@jit
def inverse(family, x, level, up):
    """The mean y above x (or below it) with d(x, y) = level; the end of the range where all divergences are less."""
    if level <= 0.0:
        return x
    end = 0.0
    if up:
        end = 1.0 if family == BERNOULLI else np.inf
    if x == end:
        return x
    near, far = x, end  # d(x, near) <= level <= d(x, far)
    if far == np.inf:
        far = x + 1.0
        while divergence(family, x, far) < level:
            far = x + 2.0 * (far - x)
    elif divergence(family, x, far) < level:
        return far
    V = variance(family, x)
    y = x + math.copysign(math.sqrt(2.0 * V * level), 1.0 if up else -1.0)
    for _ in range(200):
        if not min(near, far) < y < max(near, far):
            y = 0.5 * (near + far)
        if y in (near, far):
            break
        d = divergence(family, x, y)
        if abs(d - level) <= 1e-14 * level:
            break
        if d < level:
            near = y
        else:
            far = y
        y -= (d - level) / slope(family, x, y)
    return min(max(y, min(near, far)), max(near, far))


@jit
def log_ratio(family, n, S, x, eta):
    """Log-likelihood of n rewards with sum S at the mean x shifted by eta, less that at x; see the head."""
    if family == BERNOULLI:
        return eta * S - n * math.log1p(x * math.expm1(eta))
    if family == POISSON:
        return eta * S - n * x * math.expm1(eta)
    return -n * eta - (S / x) * math.expm1(-eta)


@dataclass(frozen=True)
class Model:
    """What the models share.  Use one of the table above."""

    @staticmethod
    def check(model: object) -> "Model":
        """The argument ``model``, if it is one."""
        if not isinstance(model, Model) or type(model) is Model:
            names = "Gaussian(sigma), Bounded(low, high), Bernoulli(), Poisson() or Exponential()"
            raise TypeError(f"model must be {names}: got {model!r}.")
        return model

    @staticmethod
    def check_known(model: object) -> "Model":
        """The argument ``model``, if it is one that knows how far apart two means are."""
        found = Model.check(model)
        if found.family == STUDENT:
            raise ValueError(f"model must state its noise here: got {model!r}, whose sigma is unknown.")
        return found

    @property
    def family(self) -> int:
        """By which the kernels know it."""
        raise NotImplementedError

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest mean."""
        return -math.inf, math.inf

    @property
    def exact(self) -> bool:
        """Whether the divergence is that of the rewards, and not only a lower bound on it."""
        return True

    def check_means(self, means: Vector, name: str = "means", among: npt.NDArray[np.bool_] | bool = True) -> Vector:
        """The means, if the model has such: of all arms, or of those ``among`` which to look.

        Averages may leave the range by rounding; they are put back.
        """
        low, high = self.range
        inside: Vector = np.clip(means, low, high)
        outside = (np.abs(means - inside) > 1e-9 * np.abs(inside)) & among
        if self.family == EXPONENTIAL:
            outside |= (means <= 0.0) & among
        if outside.any():
            a = int(outside.argmax())
            raise ValueError(f"{name} must lie in {self.wording_of_range} for {self}: got {means[a]:g} for arm {a}.")
        return np.where(among, inside, means)

    @property
    def wording_of_range(self) -> str:
        low, high = self.range
        left = "(0" if self.family == EXPONENTIAL else f"[{low:g}"
        return f"{left}, {'inf)' if math.isinf(high) else f'{high:g}]'}"

    def possible(self, rewards: Vector) -> npt.NDArray[np.bool_]:
        """Which of these may be rewards at all."""
        found: npt.NDArray[np.bool_] = np.isfinite(rewards)
        return found

    def check_rewards(self, rewards: npt.ArrayLike, name: str = "rewards") -> Vector:
        """The rewards as numbers; refused where the model knows no such reward."""
        values = np.asarray(rewards, dtype=np.float64)
        wrong = ~self.possible(values)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f" at {place if len(place) > 1 else place[0]}" if place else ""
            raise ValueError(f"{name} must be {self.wording_of_rewards} for {self}: got {values[place]:g}{where}.")
        return values

    @property
    def wording_of_rewards(self) -> str:
        return "finite numbers"

    def sigmas(self, num_arms: int) -> Vector:
        """A sigma for each arm with which its rewards are sub-Gaussian."""
        raise ValueError(f"model must have sub-Gaussian rewards of known sigma here: got {self}.")

    @property
    def is_uniform(self) -> bool:
        """Whether all arms share one noise."""
        return True


@dataclass(frozen=True, init=False)
class Gaussian(Model):
    """Rewards are normal with known standard deviation, or sigma-sub-Gaussian; sigma = None: normal, and not known.

    Args:
        sigma: one standard deviation for all arms, a sequence with one per arm, or None: unknown, perhaps different
            for each arm.

    The divergence between an arm at mean mu and the same arm at mean lam is (mu - lam)^2 / (2 sigma^2).
    """

    sigma: float | tuple[float, ...] | None

    def __init__(self, sigma: float | Sequence[float] | Vector | None = 1.0) -> None:
        value: float | tuple[float, ...] | None
        if sigma is None:
            object.__setattr__(self, "sigma", None)
            return
        if np.ndim(sigma) == 0:
            value = positive("Gaussian(sigma=...)", sigma)
            array = np.array([value])
        else:
            array = vector("Gaussian(sigma=...)", sigma)
            if (array <= 0.0).any():
                a = int(np.argmax(array <= 0.0))
                raise ValueError(f"Gaussian(sigma=...) must be positive: got {array[a]:g} for arm {a}.")
            value = tuple(array.tolist())
        if array.min() < SMALLEST:
            raise ValueError(
                f"Gaussian(sigma=...) must be at least {SMALLEST:g}: got {array.min():g}; use other units."
            )
        object.__setattr__(self, "sigma", value)

    @property
    def family(self) -> int:
        return STUDENT if self.sigma is None else NORMAL

    def sigmas(self, num_arms: int) -> Vector:
        """The standard deviation of each of ``num_arms`` arms."""
        if self.sigma is None:
            return super().sigmas(num_arms)
        return sigma_array(self.sigma, num_arms)

    @property
    def is_uniform(self) -> bool:
        return isinstance(self.sigma, float) or self.sigma is None or len(set(self.sigma)) == 1


@dataclass(frozen=True)
class Bounded(Model):
    """Rewards between ``low`` and ``high``, whatever their law.

    Treated as sub-Gaussian with sigma = (high - low)/2, which is right (Hoeffding) but generous where rewards vary
    less.  Lower bounds on the number of pulls do not exist for it: the law of the rewards is not known.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = real("Bounded(low=...)", self.low), real("Bounded(high=...)", self.high)
        if not low < high:
            raise ValueError(f"Bounded(low, high) must have low below high: got {low:g} and {high:g}.")
        positive("Bounded(high - low)", high - low)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def family(self) -> int:
        return NORMAL

    @property
    def range(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def exact(self) -> bool:
        return False

    @property
    def sigma(self) -> float:
        """(high - low)/2."""
        return 0.5 * (self.high - self.low)

    def possible(self, rewards: Vector) -> npt.NDArray[np.bool_]:
        return (rewards >= self.low) & (rewards <= self.high)

    @property
    def wording_of_rewards(self) -> str:
        return f"numbers from {self.low:g} to {self.high:g}"

    def sigmas(self, num_arms: int) -> Vector:
        return np.full(num_arms, self.sigma)


@dataclass(frozen=True)
class Bernoulli(Model):
    """Rewards are 0 or 1: conversions, passes, clicks."""

    @property
    def family(self) -> int:
        return BERNOULLI

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def possible(self, rewards: Vector) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (rewards == 0.0) | (rewards == 1.0)
        return found

    @property
    def wording_of_rewards(self) -> str:
        return "0 or 1"

    def sigmas(self, num_arms: int) -> Vector:
        """1/2, the worst case, for rules that know of no better."""
        return np.full(num_arms, 0.5)


@dataclass(frozen=True)
class Poisson(Model):
    """Rewards are counts: 0, 1, 2, ..."""

    @property
    def family(self) -> int:
        return POISSON

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, math.inf

    def possible(self, rewards: Vector) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = np.isfinite(rewards) & (rewards >= 0.0) & (rewards == np.floor(rewards))
        return found

    @property
    def wording_of_rewards(self) -> str:
        return "whole numbers from 0 on"


@dataclass(frozen=True)
class Exponential(Model):
    """Rewards are waiting times: above 0, with a density that falls exponentially."""

    @property
    def family(self) -> int:
        return EXPONENTIAL

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, math.inf

    def possible(self, rewards: Vector) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = np.isfinite(rewards) & (rewards > 0.0)
        return found

    @property
    def wording_of_rewards(self) -> str:
        return "numbers above 0"
