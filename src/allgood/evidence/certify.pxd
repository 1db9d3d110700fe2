from allgood.evidence.spec cimport ClaimSpec, Crossing, Sides
from allgood.kernels.tally cimport Side


cdef Crossing pair(
    ClaimSpec spec, double up, Side k, Side l, Side rest_k, Side rest_l, double need
) noexcept nogil
cdef Crossing weaker(Crossing first, Crossing second) noexcept nogil
cdef Side pool_side(ClaimSpec spec, double V, double W) noexcept nogil
cdef double sign(ClaimSpec spec, double up, Side k, Side rest_k) noexcept nogil

cpdef double evidence_good(ClaimSpec spec, Sides sides, Py_ssize_t k, Py_ssize_t l) noexcept nogil
cpdef Py_ssize_t likely_rival(ClaimSpec spec, Sides sides, Py_ssize_t k) noexcept nogil
cpdef Py_ssize_t find_frontier(Sides sides, long long[::1] front) noexcept nogil
cpdef Py_ssize_t likely_rival_among(
    ClaimSpec spec, Sides sides, Py_ssize_t k, long long[::1] front, Py_ssize_t number
) noexcept nogil
cdef double ratio_bad(ClaimSpec spec, Sides sides, Py_ssize_t k, Py_ssize_t l) noexcept nogil
cpdef (double, double, Py_ssize_t, double) evidence_bad(
    ClaimSpec spec, Sides sides, double[::1] pool, Py_ssize_t k, Py_ssize_t l
) noexcept nogil
cdef double crossing_point(double v_k, double v_l, double G, double E) noexcept nogil
cdef (double, double, Py_ssize_t, double) estimate_bad(
    ClaimSpec spec, Sides sides, double[::1] pool, Py_ssize_t k, Py_ssize_t l, double cost
) noexcept nogil
cpdef void claim_all(
    ClaimSpec spec, Sides sides, double[::1] pool, long long[::1] labels,
    long long[::1] order, long long[::1] group, long long[::1] front,
    double[::1] evidence, double[::1] need, long long[::1] rival
) noexcept nogil
cdef Py_ssize_t hard_rivals(
    long long[::1] labels, long long[::1] order, long long[::1] group
) noexcept nogil
