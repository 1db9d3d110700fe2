"""Functions that several kernels need, computed without loss of digits.

C types: special.pxd.
"""

import math

import cython
from cython.cimports.allgood.kernels.c_math import exp, fabs, log

ROOT_2_OVER_PI = cython.declare(cython.double, math.sqrt(2.0 / math.pi))


def mean_excess(x):
    """How far a standard normal lies beyond x >= 0 on average, where it does.

    s(x) = phi(x)/Phi(-x) - x, by a polynomial in t = (x - 3.5)/(x + 3.5): the Chebyshev series of
    (x + 3.5) s, cut where its terms fall below 1e-15.  No branches and no calls, so that the C
    compiler can take several x at once.
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
    influential = 5.436006651299007e-08
    influential = influential * u - 4.855515189017926e-07
    influential = influential * u + 1.9250043983939845e-06
    influential = influential * u - 3.504963053939132e-06
    influential = influential * u - 4.407588148197393e-06
    influential = influential * u + 5.557911525009608e-05
    influential = influential * u - 0.00020438995789887694
    influential = influential * u + 0.0002721706886635439
    influential = influential * u + 0.0020298814180186426
    influential = influential * u - 0.022180098761475267
    influential = influential * u + 0.15371368344032244
    influential = influential * u - 1.0299783886096383
    return (even + influential * t) * a


def mean_excesses(x, n):
    """``mean_excess`` of n numbers, in their place."""
    for i in range(n):
        x[i] = mean_excess(x[i])


def half_normal(y):
    """g and x with 2 Phi(y) exp(y^2/2) = g exp(x)."""
    tail = ROOT_2_OVER_PI / (fabs(y) + mean_excess(fabs(y)))  # 2 Phi(-|y|) exp(y^2/2)
    if y < 0.0:
        return tail, 0.0
    return 2.0 - tail * exp(-0.5 * y * y), 0.5 * y * y


def excess(y, x, step):
    """r(step/x) = y/x - 1 - log(y/x), where step = y - x.  No digits are lost where y is near x."""
    u = step / x
    if fabs(u) > 0.01:
        return u - log(y / x)
    tail = 1.0 / 5.0 - u * (1.0 / 6.0 - u * (1.0 / 7.0 - u / 8.0))
    return u * u * (1.0 / 2.0 - u * (1.0 / 3.0 - u * (1.0 / 4.0 - u * tail)))
