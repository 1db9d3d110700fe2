from allgood.theory.alternatives.normal cimport Prefixes
from allgood.theory.solver.game cimport Game


cdef class Costs:
    cdef readonly double[::1] pair, admit
    cdef public double empty
    cdef bint reserve(self, Py_ssize_t pairs) noexcept nogil


cdef class Point(Costs):
    cdef readonly double[::1] v, depth, share, pi, by_pairs, by_others
    cdef double[::1] inverse, scaled
    cdef readonly Py_ssize_t[::1] reach
    cdef Prefixes prefixes
    cdef bint reserve(self, Py_ssize_t pairs) noexcept nogil


cpdef void evaluate(Game game, Point at) noexcept nogil
cpdef double cheapest(Game game, Point at) noexcept nogil
cpdef void copy_point(Game game, Point at, Point to) noexcept nogil
cdef double admit_shares(Game game, Point at, Py_ssize_t k) noexcept nogil
cpdef void pulls_held(Game game, Costs lam, Point at) noexcept nogil
cpdef double dual_bound(Game game, Costs lam, Point at) noexcept nogil
cpdef double duality_gap(Game game, Costs lam, Point at) noexcept nogil
