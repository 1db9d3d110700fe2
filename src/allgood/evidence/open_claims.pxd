cimport cython

from allgood.evidence.spec cimport ClaimSpec, Sides


@cython.final
cdef class OpenClaims:
    cdef readonly ClaimSpec spec
    cdef readonly long long num_evidence, look, pool_changed
    cdef readonly long long[::1] changed, bad_rival, bad_at, good_rival, good_at, front, candidates
    cdef readonly double[::1] pool
    cdef readonly double top, top_unit
    cpdef void begin_look(self, Sides sides, double[::1] pool) noexcept nogil
    cpdef Py_ssize_t find_bad(
        self, Sides sides, long long[::1] labels, long long[::1] rival
    ) noexcept nogil
    cdef bint may_be_bad(self, Sides sides, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    cdef Py_ssize_t next_rival(
        self, long long[::1] labels, Py_ssize_t k, Py_ssize_t l
    ) noexcept nogil
    cpdef Py_ssize_t find_candidates(
        self, Sides sides, long long[::1] labels, long long[::1] shown
    ) noexcept nogil
    cdef bint is_blocked(self, Sides sides, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    cpdef void pass_rivals(
        self, Sides sides, long long[::1] labels, long long[::1] shown,
        long long[::1] order, long long[::1] group, Py_ssize_t number
    ) noexcept nogil
    cdef bint passes_all(
        self, Sides sides, Py_ssize_t k, long long[::1] order, Py_ssize_t hard
    ) noexcept nogil
    cdef double highest_mean(self, Sides sides) noexcept nogil


cpdef void note_changes(OpenClaims claims, long long[::1] arms) noexcept nogil
