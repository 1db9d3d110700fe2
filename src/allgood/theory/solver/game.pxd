cimport cython

from allgood.theory.alternatives.instance cimport Instance


@cython.final
cdef class Game:
    cdef readonly Py_ssize_t G, B, P
    cdef readonly double c, unit
    cdef readonly double[::1] height, depth, copies, gap, price, lift
    cdef readonly Py_ssize_t[::1] group, degree, k, l
    cdef readonly double[::1] half
    cdef Py_ssize_t[::1] first
    cdef double[::1] bound
    cdef Py_ssize_t[::1] by_best
    cdef bint reserve(self, Py_ssize_t pairs) noexcept nogil
    cdef void add_pair(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil


cpdef void group_arms(Game game, Instance at, double[::1] sigma) noexcept nogil
cdef void bound_singly(Game game) noexcept nogil
cdef bint matters(Game game, Py_ssize_t k, Py_ssize_t l) noexcept nogil
cpdef bint kept_pairs(Game game, Py_ssize_t limit) noexcept nogil
cpdef void starting_point(Game game, double[::1] v) noexcept nogil
