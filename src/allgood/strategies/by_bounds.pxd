cimport cython

from allgood.laws.base cimport Law
from allgood.parts cimport Tally
from allgood.strategies.rules cimport Rule
from allgood.thresholds.rules cimport Width


cdef struct Doubtful:
    Py_ssize_t top  # the arm with the highest upper bound
    Py_ssize_t good  # the good arm least surely good, -1 if all are sure
    Py_ssize_t bad  # the bad arm least surely bad, -1 if all are sure


cdef class BoundsRule(Rule):
    cdef readonly double c, e
    cdef readonly Law law
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
