cimport cython

from allgood.kernels.tally cimport Tally
from allgood.strategies.confidence_bounds cimport BoundsState


cdef class FarEastState(BoundsState):
    cdef bint bad_filter
    cdef double log_first, unit, h
    cdef readonly char[::1] active
    cdef readonly long long[::1] label
    cdef long long[::1] tau
    cdef readonly long long[:, ::1] counts
    cdef readonly double[:, ::1] totals
    cdef double[::1] lucb_mean, lucb_width
    cdef readonly int phase
    cdef readonly Py_ssize_t turn, arm, spent, remaining, lead, challenger
    cdef readonly bint settled
    @cython.final
    cdef Py_ssize_t fewest(self) noexcept nogil
    @cython.final
    cdef void settle(self) noexcept nogil
    @cython.final
    cdef void filter_good(self) noexcept nogil
    @cython.final
    cdef void filter_bad(self) noexcept nogil
    @cython.final
    cdef Py_ssize_t known_good(self) noexcept nogil
    @cython.final
    cdef bint is_candidate(self, Py_ssize_t number, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef double mean_in(self, int book, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef void take_lucb(self, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef bint lucb_choose(self) noexcept nogil
    @cython.final
    cdef Py_ssize_t next_fresh(self, Py_ssize_t start) noexcept nogil
    @cython.final
    cdef Py_ssize_t next_unseen(self, Py_ssize_t start) noexcept nogil
    @cython.final
    cdef void begin_round(self) noexcept nogil
    @cython.final
    cdef void take_good(self, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef void take_bad(self, Py_ssize_t a) noexcept nogil
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil
