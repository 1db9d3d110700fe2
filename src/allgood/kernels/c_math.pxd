# The functions of C's mathematics that kernels use; c_math.py has their twins for plain Python.
cdef extern from "<math.h>" nogil:
    const double inf "INFINITY"
    const double nan "NAN"
    double ceil(double x)
    double copysign(double x, double y)
    double erfc(double x)
    double exp(double x)
    double expm1(double x)
    double fabs(double x)
    bint isfinite(double x)
    bint isinf(double x)
    bint isnan(double x)
    double log(double x)
    double log1p(double x)
    double log2(double x)
    double nextafter(double x, double y)
    double sqrt(double x)
