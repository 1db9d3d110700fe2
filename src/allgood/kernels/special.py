"""Special functions of the normal distribution and of divergences, computed without loss of digits.

The C types are in special.pxd.
"""

import math

import cython
from cython.cimports.allgood.kernels.c_math import exp, fabs, log

ROOT_2_OVER_PI = cython.declare(cython.double, math.sqrt(2.0 / math.pi))


def mean_excess(x):
    """Return the mean excess of a standard normal variable over x >= 0, given that it exceeds x.

    s(x) = phi(x)/Phi(-x) - x, by a polynomial in t = (x - 3.5)/(x + 3.5): the Chebyshev series of
    (x + 3.5) s, cut where its terms fall below 1e-15.  There are no branches and no calls, so that
    the C compiler can process several x at once.
    """
    a = 1.0 / (x + 3.5)
    t = (x - 3.5) * a
    u = t * t
    even = -7.665294832106207e-08
    even = even * u + 9.049905055026607e-07
    even = even * u - 5.78133137656462e-06
    even = even * u + 2.7205582095375212e-05
    even = even * u - 0.00010702603855924166
    even = even * u + 0.0003761649589763652
    even = even * u - 0.0012315975639602139
    even = even * u + 0.0038677981312048183
    even = even * u - 0.01186264295934581
    even = even * u + 0.035587516161854925
    even = even * u - 0.10078958422195869
    even = even * u + 0.2106962463446275
    even = even * u + 1.7597388540038985
    odd = 5.436006651299007e-08
    odd = odd * u - 4.855515189017926e-07
    odd = odd * u + 1.9250043983939845e-06
    odd = odd * u - 3.504963053939132e-06
    odd = odd * u - 4.407588148197393e-06
    odd = odd * u + 5.557911525009608e-05
    odd = odd * u - 0.00020438995789887694
    odd = odd * u + 0.0002721706886635439
    odd = odd * u + 0.0020298814180186426
    odd = odd * u - 0.022180098761475267
    odd = odd * u + 0.15371368344032244
    odd = odd * u - 1.0299783886096383
    return (even + odd * t) * a


def mean_excesses(x, n):
    """Replace n numbers by their ``mean_excess``."""
    for i in range(n):
        x[i] = mean_excess(x[i])


def half_normal(y):
    """Return g and x with 2 Phi(y) exp(y^2/2) = g exp(x)."""
    tail = ROOT_2_OVER_PI / (fabs(y) + mean_excess(fabs(y)))  # 2 Phi(-|y|) exp(y^2/2)
    if y < 0.0:
        return tail, 0.0
    return 2.0 - tail * exp(-0.5 * y * y), 0.5 * y * y


def excess(y, x, step):
    """Return r(step/x) = y/x - 1 - log(y/x) with step = y - x, without loss of digits if y is near
    x.
    """
    u = step / x
    if fabs(u) > 0.01:
        return u - log(y / x)
    tail = 1.0 / 5.0 - u * (1.0 / 6.0 - u * (1.0 / 7.0 - u / 8.0))
    return u * u * (1.0 / 2.0 - u * (1.0 / 3.0 - u * (1.0 / 4.0 - u * tail)))
