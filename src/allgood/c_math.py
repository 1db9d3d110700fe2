"""C's mathematics for plain Python: used where the package is not compiled.

Python raises an error where C answers with an infinity or with "not a number".  The kernels rely on
C's answers, so these functions give them.
"""

import math
from math import copysign as copysign
from math import erfc as erfc
from math import fabs as fabs
from math import inf as inf
from math import isfinite as isfinite
from math import isinf as isinf
from math import isnan as isnan
from math import nan as nan


def exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return inf


def expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return inf


def log(x: float) -> float:
    if x > 0.0:
        return math.log(x)
    return -inf if x == 0.0 else nan


def log1p(x: float) -> float:
    if x > -1.0:
        return math.log1p(x)
    return -inf if x == -1.0 else nan


def log2(x: float) -> float:
    if x > 0.0:
        return math.log2(x)
    return -inf if x == 0.0 else nan


def sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else nan
