"""What a model is: the contract that each file of this folder fulfils.

A model defines, without the interpreter's lock,

    draw(arm, mean, draws)          a reward
    variance(x), variance_slope(x)  V(x) and V'(x) of one reward whose mean is x
    divergence(x, y)                d(x, y), the Kullback-Leibler divergence from mean x to mean y
    turning_points(a, x, b, y, c, e)
                                    where the derivative of a d(x, t) + b d(y, (t + e)/c) in t may
                                    turn, so that it has one zero at most in each of three pieces;
                                    (nan, nan) if the sum is convex
    log_ratio(n, m, Q, x, eta)      the log-likelihood of n rewards with mean m and scatter Q at the
                                    mean x shifted by eta, less that at x
    precision(n, m, Q, u)           n over the variance of one reward, as far as it is known; u is
                                    the precision of one reward where that is known beforehand
    first_bound(n, m, Q, level, up) where to begin to look for the end of a confidence interval
                                    above m (up = 1) or below it (up = -1)

and, for Python,

    possible(rewards)               which numbers may be rewards at all
    wording_of_rewards              the same in words
    wording                         what the guarantee assumes of a measurement, as a sentence
    effects(num_arms)               the prior of effects: their sizes, and the weights W, T and w
                                    (evidence/claims.py)
    log_chance(x, n, m, Q, arm, k)  the log of a bound on the chance that the mean of k rewards of
                                    this arm lies at least as far as x from that of n others, with
                                    mean m and scatter Q, whatever the true mean is; 0 where there
                                    is no such bound

It sets ``low`` and ``high``, the range of the means, and the names and marks at the head of
``Model`` where they differ.  ``contract.py`` lists these names; the package is not built if a model
lacks one. For a model with one parameter, d has the derivatives

    d'(x, y) = (y - x) / V(y),      d''(x, y) = (V(y) - (y - x) V'(y)) / V(y)^2      in y.
"""

import math
from collections import namedtuple

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import copysign, fabs, inf, sqrt

if not cython.compiled:
    Turns = namedtuple("Turns", "first second")

NAN = cython.declare(cython.double, math.nan)


class Model:
    """What the models share.  Use one of the table in ``models/__init__.py``.

    Attributes:
        name: by which the command line and stored studies know the model.
        parameters: names of what it is made from.
        normal: True where evidence, T* and thresholds are those of normal rewards.
        exact: True where the divergence is that of the rewards, and not only a lower bound on it.
        sub_gaussian: True where rewards are sub-Gaussian with a sigma that is known.
        noise_known: False where the noise is not fixed by the mean, and must be estimated.
        jeffreys: True where the likelihood averaged over Jeffreys' prior is at least the largest
            likelihood divided by 2 sqrt(n) (Krichevsky and Trofimov 1981, for 0 and 1).
        positive: True where a mean must lie above ``low``.
        one_noise: True where all arms share one noise.
        takes_time: True where a reward is the time that it takes to be known.
        whole: True where rewards are whole numbers.
    """

    name = ""
    parameters: tuple = ()
    normal = False
    exact = True
    sub_gaussian = False
    noise_known = True
    jeffreys = False
    positive = False
    one_noise = True
    takes_time = False
    whole = False

    # The contract.  What stands here is never used by a model that was built.

    def draw(self, arm, mean, draws):
        return NAN

    def variance(self, x):
        return NAN

    def variance_slope(self, x):
        return NAN

    def divergence(self, x, y):
        return NAN

    def turning_points(self, a, x, b, y, c, e):
        return Turns(NAN, NAN)

    def log_ratio(self, n, m, Q, x, eta):
        return NAN

    def precision(self, n, m, Q, u):
        return NAN

    def first_bound(self, n, m, Q, level, up):
        return NAN

    def possible(self, rewards):
        raise NotImplementedError

    @property
    def wording_of_rewards(self):
        raise NotImplementedError

    @property
    def wording(self):
        raise NotImplementedError

    def effects(self, num_arms):
        raise NotImplementedError

    def log_chance(self, x, n, m, Q, arm, k=1):
        raise NotImplementedError

    # What follows from it.

    def slope(self, x, y):
        """Derivative of d(x, y) in y."""
        return (y - x) / self.variance(y) if y != x else 0.0

    def curvature(self, x, y):
        """Second derivative of d(x, y) in y."""
        V = self.variance(y)
        return (V - (y - x) * self.variance_slope(y)) / (V * V)

    def inverse(self, x, level, up):
        """The mean y above x (or below it) with d(x, y) = level.

        The end of the range where all divergences are less.  Newton's method within a bracket.
        """
        if level <= 0.0:
            return x
        end: cython.double = self.high if up else self.low
        if x == end:
            return x
        near: cython.double = x  # d(x, near) <= level <= d(x, far)
        far: cython.double = end
        d: cython.double
        y: cython.double
        if far == inf:
            far = x + 1.0
            while self.divergence(x, far) < level:
                far = x + 2.0 * (far - x)
        elif self.divergence(x, far) < level:
            return far
        y = x + copysign(sqrt(2.0 * self.variance(x) * level), 1.0 if up else -1.0)
        for _ in range(200):
            if not min(near, far) < y < max(near, far):
                y = 0.5 * (near + far)
            if y == near or y == far:
                break
            d = self.divergence(x, y)
            if fabs(d - level) <= 1e-14 * level:
                break
            if d < level:
                near = y
            else:
                far = y
            y -= (d - level) / self.slope(x, y)
        return min(max(y, min(near, far)), max(near, far))

    def one_valley(self, top, c, e):
        """From which t on the cost of admitting an arm has one valley at most.

        The cost is a d(x, t) + sum_l b_l d(y_l, s) over the y_l above s = (t + e)/c, with no y
        above ``top``.  A model that knows no such t says inf: it is searched piece by piece.
        """
        return inf

    # For Python.

    @staticmethod
    def check(model):
        """The argument ``model``, if it is a model."""
        if not isinstance(model, Model) or type(model) is Model:
            raise TypeError(
                "model must be Gaussian(sigma), Bernoulli() or another model of allgood.models: "
                f"got {model!r}."
            )
        return model

    @staticmethod
    def check_known(model):
        """The argument ``model``, if it is a model that knows how far apart two means are."""
        if not Model.check(model).noise_known:
            raise ValueError(
                f"model must state its noise here: got {model!r}, whose sigma is unknown."
            )
        return model

    @property
    def range(self):
        """The least and the largest mean."""
        return self.low, self.high

    def check_means(self, means, name="means", among=True):
        """The means, if the model has such: of all arms, or of those ``among`` which to look.

        Averages may leave the range by rounding; they are put back.
        """
        inside = np.clip(means, self.low, self.high)
        outside = (np.abs(means - inside) > 1e-9 * np.abs(inside)) & among
        if self.positive:
            outside |= (means <= self.low) & among
        if outside.any():
            a = int(outside.argmax())
            raise ValueError(
                f"{name} must lie in {self.wording_of_range} for {self}: "
                f"got {means[a]:g} for arm {a}."
            )
        return np.where(among, inside, means)

    @property
    def wording_of_range(self):
        left = "(" if self.positive else "["
        right = "inf)" if math.isinf(self.high) else f"{self.high:g}]"
        return f"{left}{self.low:g}, {right}"

    def check_rewards(self, rewards, name="rewards"):
        """The rewards as numbers; refused where the model knows no such reward."""
        values = np.asarray(rewards, dtype=np.float64)
        wrong = ~self.possible(values)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            where = f" at {index if len(index) > 1 else index[0]}" if index else ""
            raise ValueError(
                f"{name} must be {self.wording_of_rewards} for {self}: "
                f"got {values[index]:g}{where}."
            )
        return values

    def sigmas(self, num_arms):
        """A sigma for each arm with which its rewards are sub-Gaussian."""
        raise ValueError(f"model must have sub-Gaussian rewards of known sigma here: got {self}.")

    def among(self, arms):
        """The model of these arms alone."""
        return self

    def to_dict(self):
        """In words and numbers, as studies store it."""
        return {"name": self.name} | {key: plain(getattr(self, key)) for key in self.parameters}

    def _key(self):
        return self.name, tuple(getattr(self, key) for key in self.parameters)

    def __eq__(self, other):
        return isinstance(other, Model) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        inside = ", ".join(f"{key}={getattr(self, key)!r}" for key in self.parameters)
        return f"{self.name.capitalize()}({inside})"

    def __reduce__(self):
        return type(self), tuple(getattr(self, key) for key in self.parameters)


def plain(value):
    """Tuples as lists, for JSON."""
    return list(value) if isinstance(value, tuple) else value


# The methods as functions, for Python and for tests.


def draw(model, arm, mean, draws):
    return model.draw(arm, mean, draws)


def variance(model, x):
    return model.variance(x)


def divergence(model, x, y):
    return model.divergence(x, y)


def slope(model, x, y):
    return model.slope(x, y)


def curvature(model, x, y):
    return model.curvature(x, y)


def inverse(model, x, level, up):
    return model.inverse(x, level, up)


def one_valley(model, top, c, e):
    return model.one_valley(top, c, e)


def log_ratio(model, n, m, Q, x, eta):
    return model.log_ratio(n, m, Q, x, eta)


def precision(model, n, m, Q, u):
    return model.precision(n, m, Q, u)
