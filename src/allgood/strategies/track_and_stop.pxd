cimport cython

from allgood.theory.alternatives.instance cimport Instance
from allgood.theory.alternatives.normal cimport Workspace
from allgood.theory.alternatives.exponential_family cimport Workspace as FamilyWorkspace
from allgood.models.base cimport Model
from allgood.kernels.tally cimport Tally
from allgood.theory.solver.weights cimport Weights
from allgood.strategies.state cimport StrategyState
from allgood.evidence.thresholds.rules cimport Threshold


cdef class TrackState(StrategyState):
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
    cdef double arm_cost(self, Tally tally, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef void add_costs(self, Tally tally) noexcept nogil
    @cython.final
    cdef double replace_cost(self, Tally tally) noexcept nogil
    @cython.final
    cdef void stop(self, Tally tally) noexcept nogil
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cdef class TrackNormal(TrackState):
    cdef Workspace workspace
    cdef readonly double level
    @cython.final
    cdef void better_level(self, Tally tally) noexcept nogil
    cdef double respond(self, Tally tally) noexcept nogil
    cdef double witness_bound(self, Tally tally, bint anew) noexcept nogil
    cdef double arm_cost(self, Tally tally, Py_ssize_t a) noexcept nogil


cdef class TrackFamily(TrackState):
    cdef Model model
    cdef FamilyWorkspace workspace
    cdef readonly double[::1] moved
    cdef double respond(self, Tally tally) noexcept nogil
    cdef double witness_bound(self, Tally tally, bint anew) noexcept nogil
    cdef double arm_cost(self, Tally tally, Py_ssize_t a) noexcept nogil


cpdef double cut(TrackState state, double eta) noexcept nogil
