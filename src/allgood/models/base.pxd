from allgood.kernels.random_stream cimport RandomStream


cdef struct Turns:
    double first
    double second


cdef class Model:
    cdef readonly double low, high
    # The contract: every model defines these (contract.py).
    cdef double draw(self, Py_ssize_t arm, double mean, RandomStream draws) noexcept nogil
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
    # Derived from the contract.
    cdef double slope(self, double x, double y) noexcept nogil
    cdef double curvature(self, double x, double y) noexcept nogil
    cdef double inverse(self, double x, double level, bint up) noexcept nogil
    cdef double one_valley(self, double top, double c, double e) noexcept nogil


cpdef double draw(Model model, Py_ssize_t arm, double mean, RandomStream draws) noexcept nogil
cpdef double variance(Model model, double x) noexcept nogil
cpdef double divergence(Model model, double x, double y) noexcept nogil
cpdef double slope(Model model, double x, double y) noexcept nogil
cpdef double curvature(Model model, double x, double y) noexcept nogil
cpdef double inverse(Model model, double x, double level, bint up) noexcept nogil
cpdef double one_valley(Model model, double top, double c, double e) noexcept nogil
cpdef double log_ratio(Model model, double n, double m, double Q, double x, double eta) noexcept nogil
cpdef double precision(Model model, double n, double m, double Q, double u) noexcept nogil
