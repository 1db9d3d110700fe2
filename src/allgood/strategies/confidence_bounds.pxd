cimport cython

from allgood.models.base cimport Model
from allgood.kernels.tally cimport Tally
from allgood.strategies.state cimport StrategyState
from allgood.evidence.thresholds.rules cimport Width


cdef struct Doubtful:
    Py_ssize_t top  # the arm with the highest upper bound
    Py_ssize_t good  # the good arm least surely good, -1 if all are confirmed
    Py_ssize_t bad  # the bad arm least surely bad, -1 if all are confirmed


cdef class BoundsState(StrategyState):
    cdef readonly double c, e
    cdef readonly Model model
    cdef readonly Width width
    cdef bint normal
    cdef readonly double level, floor
    cdef readonly Py_ssize_t open_arm, top
    cdef readonly bint done
    cdef readonly double[::1] sigma, eta, w, upper, lower
    @cython.final
    cdef void refresh(self, Tally tally) noexcept nogil
    @cython.final
    cdef Doubtful doubtful(self, Tally tally) noexcept nogil
    @cython.final
    cdef bint is_still_open(self) noexcept nogil
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil
