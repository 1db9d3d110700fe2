"""The base class of all models, and the contract that each file of this folder fulfils.

A model defines, without the interpreter's lock,

    draw(arm, mean, draws)          a reward
    variance(x), variance_slope(x)  V(x) and V'(x) of one reward whose mean is x
    divergence(x, y)                d(x, y), the Kullback-Leibler divergence from mean x to mean y
    turning_points(a, x, b, y, c, e)
                                    two points between which, and outside of which, the derivative
                                    of a d(x, t) + b d(y, (t + e)/c) in t has at most one zero each;
                                    (nan, nan) if the sum is convex
    log_ratio(n, m, Q, x, eta)      the log-likelihood of n rewards with mean m and scatter Q at the
                                    mean x shifted by eta, less that at x
    precision(n, m, Q, u)           n over the variance of one reward, as far as it is known; u is
                                    the precision of one reward if that is known beforehand
    first_bound(n, m, Q, level, up) a first guess of the end of a confidence interval above m
                                    (up = 1) or below it (up = -1)

and, for Python,

    possible(rewards)               True for each number that may be a reward
    wording_of_rewards              the same in words
    wording                         the assumption of the guarantee about a measurement, as a
                                    sentence
    effects(num_arms)               the prior of effects: their sizes, and the weights W, T and w
                                    (docs/evidence.md)
    log_chance(x, n, m, Q, arm, k)  the log of a bound on the probability that the mean of k rewards
                                    of this arm lies at least as far as x from that of n others,
                                    with mean m and scatter Q, for every true mean; 0 if no such
                                    bound is known

It sets ``low`` and ``high``, the range of the means, and those class attributes of ``Model`` that
differ.  ``contract.py`` lists these names; the package is not built if a model lacks one.  For a
model with one parameter, d has the derivatives

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
MOST_EFFECTS = 16  # the kernels of the evidence have room for so many


class Model:
    """The distribution of rewards.  Use one of the models in the table of ``models/__init__.py``.

    The class has 26 public methods: 13 form the contract that every model fulfils, four follow from
    it, and the others serve Python.  Kernels call them through one C table, so they stay in one
    class.

    Attributes:
        name: the name of the model on the command line and in stored studies.
        title: the kind of rewards, as forms and lists call it.
        use: when to choose the model, in a sentence or two.
        parameters: names of the constructor's arguments.
        normal: True if evidence, T* and thresholds are those of normal rewards.
        exact: True if the divergence is that of the rewards, and not only a lower bound on it.
        sub_gaussian: True if rewards are sub-Gaussian with a known sigma.
        noise_known: False if the mean does not determine the noise, so that it must be estimated.
        jeffreys: True if the likelihood averaged over Jeffreys' prior is at least the largest
            likelihood divided by 2 sqrt(n) (Krichevsky and Trofimov 1981, for 0 and 1).
        positive: True if a mean must lie above ``low``.
        one_noise: True if all arms share one noise.
        takes_time: True if a reward is a waiting time.
        whole: True if rewards are whole numbers.
    """

    name = ""
    title = ""
    use = ""
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

    # The contract.  No model that was built uses these bodies.

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

    # Derived from the contract.

    def slope(self, x, y):
        """Return the derivative of d(x, y) in y."""
        return (y - x) / self.variance(y) if y != x else 0.0

    def curvature(self, x, y):
        """Return the second derivative of d(x, y) in y."""
        V = self.variance(y)
        return (V - (y - x) * self.variance_slope(y)) / (V * V)

    def inverse(self, x, level, up):
        """Return the mean y above x (or below it) with d(x, y) = level.

        If all divergences are less, return the end of the range.  Newton's method within a bracket.
        """
        if level <= 0.0:
            return x
        end: cython.double = self.high if up else self.low
        if x == end:
            return x
        inner: cython.double = x  # d(x, near) <= level <= d(x, far)
        outer: cython.double = end
        d: cython.double
        y: cython.double
        if outer == inf:
            outer = x + 1.0
            while self.divergence(x, outer) < level:
                outer = x + 2.0 * (outer - x)
        elif self.divergence(x, outer) < level:
            return outer
        y = x + copysign(sqrt(2.0 * self.variance(x) * level), 1.0 if up else -1.0)
        for _ in range(200):
            if not min(inner, outer) < y < max(inner, outer):
                y = 0.5 * (inner + outer)
            if y == inner or y == outer:
                break
            d = self.divergence(x, y)
            if fabs(d - level) <= 1e-14 * level:
                break
            if d < level:
                inner = y
            else:
                outer = y
            y -= (d - level) / self.slope(x, y)
        return min(max(y, min(inner, outer)), max(inner, outer))

    def one_valley(self, top, c, e):
        """Return a t from which on the cost of admitting an arm has at most one valley.

        The cost is a d(x, t) + sum_l b_l d(y_l, s) over the y_l above s = (t + e)/c, with no y
        above ``top``.  A model that knows no such t returns inf; the range is then searched piece
        by piece.
        """
        return inf

    # For Python.

    @staticmethod
    def check(model):
        """Return the argument ``model`` if it is a model; otherwise raise TypeError."""
        if not isinstance(model, Model) or type(model) is Model:
            raise TypeError(
                "model must be Gaussian(sigma), Bernoulli() or another model of allgood.models: "
                f"got {model!r}."
            )
        for num_arms in (2, 3):  # priors differ for two arms
            checked_effects(model, num_arms)
        return model

    @staticmethod
    def check_known(model):
        """Return the argument ``model`` if its noise is known; otherwise raise an error."""
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
        """Return the means if they lie in the range of the model; otherwise raise ValueError.

        Only the arms ``among`` are checked.  Averages that leave the range by rounding are clipped.
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
        bracket = "(" if self.positive else "["
        right = "inf)" if math.isinf(self.high) else f"{self.high:g}]"
        return f"{bracket}{self.low:g}, {right}"

    def check_rewards(self, rewards, name="rewards"):
        """Return the rewards as numbers; raise ValueError if the model excludes one of them."""
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
        """Return for each arm a sigma with which its rewards are sub-Gaussian."""
        raise ValueError(f"model must have sub-Gaussian rewards of known sigma here: got {self}.")

    def among(self, arms):
        """Return the model for these arms alone."""
        return self

    def to_dict(self):
        """Return the name and the parameters, as studies store them."""
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


def checked_effects(model, num_arms):
    """Return ``model.effects(num_arms)`` as arrays; raise ValueError if kernels cannot hold it."""
    rho, W, T, w = (np.array(part, np.float64) for part in model.effects(num_arms))
    J = rho.size
    if not 1 <= J <= MOST_EFFECTS:
        raise ValueError(
            f"{type(model).__name__}.effects must return 1 to {MOST_EFFECTS} effects: "
            f"got {J} for {num_arms} arms."
        )
    shapes = [part.shape for part in (rho, W, T, w)]
    if shapes != [(J,), (J, J), (J if model.normal else T.size,), (J,)]:
        raise ValueError(
            f"{type(model).__name__}.effects must return J sizes, J x J weights W, weights T (J of "
            f"them for normal rewards) and J weights w: got the shapes {shapes}."
        )
    return rho, W, T, w


def plain(value):
    """Return a tuple as a list, for JSON."""
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
