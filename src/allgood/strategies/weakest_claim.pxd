cimport cython

from allgood.evidence.spec cimport ClaimSpec, Sides
from allgood.parts cimport Tally
from allgood.strategies.rules cimport Rule


cdef class WeakestClaimRule(Rule):
    cdef readonly ClaimSpec spec
    cdef readonly Sides sides
    cdef readonly long long[::1] labels, rival, passed, certified_at
    cdef readonly double[::1] lacks, rise, owed, pool
    cdef readonly double level, sum_before
    cdef readonly Py_ssize_t arm, left, count_before, advances
    cdef readonly bint planned_to_join, done
    @cython.final
    cdef void look_good(self, Tally tally, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef void look_bad(self, Tally tally, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef Py_ssize_t weakest(self) noexcept nogil
    @cython.final
    cdef Py_ssize_t leader(self, Tally tally, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef void join(self, Tally tally) noexcept nogil
    @cython.final
    cdef bint joins(self) noexcept nogil
    @cython.final
    cdef void settle(self, Tally tally, bint joining) noexcept nogil
    @cython.final
    cdef void decide(self, Tally tally) noexcept nogil
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cpdef Py_ssize_t hear(
    WeakestClaimRule rule, Tally tally, long long[::1] arms, double[::1] rewards, char[::1] joining,
    Py_ssize_t start
) except -1 nogil
cpdef int suppose(
    WeakestClaimRule rule, Tally tally, long long[::1] arms, char[::1] joining
) except -1 nogil
cpdef Py_ssize_t choose(
    WeakestClaimRule rule, Tally tally, char[::1] closed, Py_ssize_t limit,
    long long[::1] arms, char[::1] joining
) except -1 nogil
