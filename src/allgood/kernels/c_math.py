"""C's mathematics for kernels: C's own functions when compiled, the same answers in plain Python.

Python raises an error for arguments such as log(0), for which C answers with an infinity or with
"not a number".  The kernels rely on C's answers, so the functions below give them.
"""

import cython

if not cython.compiled:
    import math
    from math import ceil, copysign, erfc, fabs, inf, isfinite, isinf, isnan, nan, nextafter

    __all__ = [
        "ceil",
        "copysign",
        "erfc",
        "exp",
        "expm1",
        "fabs",
        "inf",
        "isfinite",
        "isinf",
        "isnan",
        "log",
        "log1p",
        "log2",
        "nan",
        "nextafter",
        "sqrt",
    ]

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
