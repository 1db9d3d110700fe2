"""How likely a value is that lies as far from the others of its arm as this one.

Exact chances by summation and integration; and the bounds on them, from the list of the others.
"""

import math
from decimal import Decimal, localcontext

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln, gammaln, log_ndtr, logsumexp, rel_entr


def log_normal(z):
    """log P(|Z| >= |z|)."""
    return math.log(2.0) + float(log_ndtr(-abs(z)))


def log_binomial(T, q):
    """The log probabilities of 0 to T."""
    k = np.arange(T + 1.0)
    choices = gammaln(T + 1) - gammaln(k + 1) - gammaln(T - k + 1)
    return choices + k * np.log(q) + (T - k) * np.log1p(-q)


def log_poisson(x, n, S):
    """Twice the smaller tail of a count, given the sum of it and n others, whose sum is S."""
    p = log_binomial(x + S, 1.0 / (n + 1.0))
    return min(math.log(2.0) + min(float(logsumexp(p[x:])), float(logsumexp(p[: x + 1]))), 0.0)


def log_exponential(x, n, S):
    """Twice the smaller tail of a time x, given the sum of it and n others: to many digits."""
    with localcontext() as context:
        context.prec = 100
        x, S = Decimal(float(x)), Decimal(float(S))
        above = (S / (S + x)) ** n
        return min(float((2 * min(above, 1 - above)).ln()), 0.0)


def log_student(t, f):
    """log P(|T| >= t) with f degrees of freedom, by integrals of (1 + s^2/f)^(-(f + 1)/2)."""

    def log_density(s):
        return -0.5 * (f + 1.0) * math.log1p(s * s / f)

    def beyond(t):
        """The integral beyond t >= 1, over the density at t; s = t exp(u)."""
        rate = (f + 1.0) * t * t / (f + t * t) - 1.0  # at which it falls in u, at least
        return quad(
            lambda u: math.exp(log_density(t * math.exp(u)) - log_density(t) + u) * t,
            0.0,
            50.0 / max(rate, 1.0),
            epsabs=0.0,
            epsrel=1e-10,
            limit=500,
        )[0]

    def between(low, high):
        return quad(lambda s: math.exp(log_density(s)), low, high, epsabs=0.0, epsrel=1e-12)[0]

    rest = beyond(1.0) * math.exp(log_density(1.0))
    whole = between(0.0, 1.0) + rest
    if t < 1.0:
        return math.log((between(t, 1.0) + rest) / whole)
    return log_density(t) + math.log(beyond(t)) - math.log(whole)


def log_bound(model, x, others, sigma=1.0, waited=0.0):
    """The bound that decides.  ``waited``: True for a censored time, of an exponential model."""
    n, S = len(others), math.fsum(others) + waited
    m = S / n
    if model == "normal":
        z = (x - m) / math.sqrt(sigma**2 + sigma**2 / n)
        bound = math.log(2.0) - z * z / 2
    elif model == "poisson":
        T = S + x
        bound = math.log(2.0) - float(rel_entr(x, T / (n + 1)) + rel_entr(S, T * n / (n + 1)))
    elif model == "exponential":
        bound = log_exponential(x, n, S)
    elif model == "unknown sigma":
        Q = math.fsum((y - m) ** 2 for y in others)
        if n == 1 or Q == 0.0 or x == m:
            return 0.0
        f = n - 1
        t = abs(x - m) / math.sqrt((Q / f) * (n + 1) / n)
        c = -0.5 * math.log(f) - float(betaln(0.5, 0.5 * f))
        if n == 2:
            bound = math.log(2.0) + c - math.log(t)
        else:
            bound = math.log(2.0) + c + math.log(f / (f - 1) / t)
            bound -= 0.5 * (f - 1) * math.log(1.0 + t * t / f)
    else:
        return 0.0
    return min(bound, 0.0)
