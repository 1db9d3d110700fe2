"""Two functions that several kernels need, computed without loss of digits.

C types: special.pxd.
"""

import math

import cython

if cython.compiled:
    from cython.cimports.libc.math import erfc, exp, fabs, log
else:
    from allgood.c_math import erfc, exp, fabs, log

ROOT_2 = cython.declare(cython.double, math.sqrt(2.0))
ROOT_2_OVER_PI = cython.declare(cython.double, math.sqrt(2.0 / math.pi))


def half_normal(y):
    """g and x with 2 Phi(y) exp(y^2/2) = g exp(x), and two derivatives of the logarithm of this.

    With h = phi(y)/Phi(y) the derivatives are y + h and 1 - h (y + h).  Far below zero both terms
    are large and cancel.  There Laplace's continued fraction is used: for x = -y,
    h = x + s with s = 1/(x + 2/(x + 3/(x + ...))).
    """
    if y > -5.0:
        twice = erfc(-y / ROOT_2)
        h = ROOT_2_OVER_PI * exp(-0.5 * y * y) / twice
        return twice, 0.5 * y * y, y + h, 1.0 - h * (y + h)
    x, s = -y, 0.0
    for n in range(30, 0, -1):
        s = n / (x + s)
    return ROOT_2_OVER_PI / (x + s), 0.0, s, 1.0 - (x + s) * s


def excess(y, x, step):
    """r(step/x) = y/x - 1 - log(y/x), where step = y - x.  No digits are lost where y is near x."""
    u = step / x
    if fabs(u) > 0.01:
        return u - log(y / x)
    tail = 1.0 / 5.0 - u * (1.0 / 6.0 - u * (1.0 / 7.0 - u / 8.0))
    return u * u * (1.0 / 2.0 - u * (1.0 / 3.0 - u * (1.0 / 4.0 - u * tail)))
