from allgood.draws cimport Draws


cdef struct Turns:
    double first
    double second


cdef class Law:
    cdef readonly double low, high
    # The contract: every law defines these (contract.py).
    cdef double draw(self, Py_ssize_t arm, double mean, Draws draws) noexcept nogil
    cdef double variance(self, double x) noexcept nogil
    cdef double variance_slope(self, double x) noexcept nogil
    cdef double divergence(self, double x, double y) noexcept nogil
    cdef Turns turning_points(
        self, double a, double x, double b, double y, double c, double e
    ) noexcept nogil
    cdef double log_ratio(self, double n, double m, double Q, double x, double eta) noexcept nogil
    cdef double precision(self, double n, double m, double Q, double u) noexcept nogil
    cdef double first_bound(
        self, double n, double m, double Q, double level, double up
    ) noexcept nogil
    # What follows from the contract.
    cdef double slope(self, double x, double y) noexcept nogil
    cdef double curvature(self, double x, double y) noexcept nogil
    cdef double inverse(self, double x, double level, bint up) noexcept nogil
    cdef double one_valley(self, double top, double c, double e) noexcept nogil


cpdef double draw(Law law, Py_ssize_t arm, double mean, Draws draws) noexcept nogil
cpdef double variance(Law law, double x) noexcept nogil
cpdef double divergence(Law law, double x, double y) noexcept nogil
cpdef double slope(Law law, double x, double y) noexcept nogil
cpdef double curvature(Law law, double x, double y) noexcept nogil
cpdef double inverse(Law law, double x, double level, bint up) noexcept nogil
cpdef double one_valley(Law law, double top, double c, double e) noexcept nogil
cpdef double log_ratio(Law law, double n, double m, double Q, double x, double eta) noexcept nogil
cpdef double precision(Law law, double n, double m, double Q, double u) noexcept nogil
