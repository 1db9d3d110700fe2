from allgood.models.base cimport Model
from allgood.kernels.tally cimport Side, Tally


cpdef enum:
    OPEN
    GOOD
    BAD


cdef struct Crossing:
    double E  # the evidence
    double z  # distance of arm k's mean from the crossing at which the evidence is least


cdef class ClaimSpec:
    cdef readonly Model model
    cdef readonly Py_ssize_t num_arms
    cdef readonly double c, e, low, high, pool_unit
    cdef readonly double need_good, need, surcharge_pool, surcharge_rival, promising
    cdef readonly bint rough, alike, only_gaps
    cdef readonly double[::1] unit, rho, T, w
    cdef readonly double[:, ::1] W
    cdef Crossing pair_evidence(self, double up, Side k, Side l, double need) noexcept nogil
    cdef double ceiling(self, double up, Side k, Side l) noexcept nogil
    cdef double sign_evidence(self, double up, Side k) noexcept nogil


cdef class Sides:
    cdef readonly Model model
    cdef readonly double[::1] n, m, Q, v, u, influential
    cdef public double top, top_unit
    cdef void take(self, Tally tally, Py_ssize_t a) noexcept nogil
    cdef Side side(self, Py_ssize_t a) noexcept nogil
    cdef Side rest(self, Py_ssize_t a) noexcept nogil
