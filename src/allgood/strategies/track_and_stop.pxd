cimport cython

from allgood.alternatives.instance cimport Instance
from allgood.alternatives.normal cimport Scratch
from allgood.alternatives.other cimport Scratch as Room
from allgood.laws.base cimport Law
from allgood.parts cimport Tally
from allgood.solver.weights cimport Weights
from allgood.strategies.rules cimport Rule
from allgood.thresholds.rules cimport Threshold


cdef class TrackRule(Rule):
    cdef readonly double c, e
    cdef readonly Py_ssize_t K, risks, period, arm, leader, crossed, above, num_solves, num_responses
    cdef readonly Threshold threshold
    cdef Weights solver
    cdef Instance at
    cdef readonly double[::1] weights, descending, prefix, target, n, v, unit, cost
    cdef readonly double total
    cdef readonly int kind
    cdef readonly Py_ssize_t k, l
    cdef readonly long long[::1] crossings
    cdef readonly char[:, ::1] answers
    @cython.final
    cdef double cut(self, double eta) noexcept nogil
    @cython.final
    cdef void renew_weights(self, Tally tally) noexcept nogil
    @cython.final
    cdef void find_leader(self, Tally tally) noexcept nogil
    cdef double respond(self, Tally tally) noexcept nogil
    cdef double witness_bound(self, Tally tally, bint anew) noexcept nogil
    cdef double pay(self, Tally tally, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef void pay_all(self, Tally tally) noexcept nogil
    @cython.final
    cdef double pay_last(self, Tally tally) noexcept nogil
    @cython.final
    cdef void stop(self, Tally tally) noexcept nogil
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cdef class TrackNormal(TrackRule):
    cdef Scratch room
    cdef readonly double level
    @cython.final
    cdef void better_level(self, Tally tally) noexcept nogil
    cdef double respond(self, Tally tally) noexcept nogil
    cdef double witness_bound(self, Tally tally, bint anew) noexcept nogil
    cdef double pay(self, Tally tally, Py_ssize_t a) noexcept nogil


cdef class TrackOther(TrackRule):
    cdef Law law
    cdef Room room
    cdef readonly double[::1] moved
    cdef double respond(self, Tally tally) noexcept nogil
    cdef double witness_bound(self, Tally tally, bint anew) noexcept nogil
    cdef double pay(self, Tally tally, Py_ssize_t a) noexcept nogil


cpdef double cut(TrackRule rule, double eta) noexcept nogil
