cimport cython

from allgood.theory.solver.costs cimport Costs, Point
from allgood.theory.solver.dense cimport Dense
from allgood.theory.solver.game cimport Game

cpdef enum:
    V
    LOG
    INVERSE


@cython.final
cdef class System(Dense):
    cdef readonly Py_ssize_t R, size
    cdef readonly double[::1] diagonal, barrier, alpha, beta, pivot, z
    cdef readonly Py_ssize_t[::1] curve, place
    cdef readonly double[:, ::1] rhs
    cdef double[:, ::1] rows, cross_terms
    cdef double[::1] leaf
    cdef Py_ssize_t[::1] first, after
    cdef bint reserve(self, Py_ssize_t pairs) noexcept nogil
    cdef bint reserve_rows(self, Py_ssize_t bad, Py_ssize_t reach) noexcept nogil


cpdef bint assemble(Game game, Costs lam, Point at, System s, double mu) noexcept nogil
cdef void row_of_good(Game game, Point at, System s) noexcept nogil
cdef void row_of_bad(
    Game game, Costs lam, Point at, System s, Py_ssize_t k, double mu
) noexcept nogil
cpdef void choose_core(Game game, System s) noexcept nogil
cdef void add_rows(Game game, Point at, System s) noexcept nogil
cdef void multiply_rows(System s, Py_ssize_t bad) noexcept nogil
cdef void add_pairs(Game game, Point at, System s) noexcept nogil
cdef void add_to_diagonal(System s, Py_ssize_t a, double value) noexcept nogil
cdef Py_ssize_t other_end(Game game, Py_ssize_t j, Py_ssize_t a) noexcept nogil
cdef double entry(Point at, System s, Py_ssize_t j) noexcept nogil
cdef void eliminate_leaves(Game game, Point at, System s, Py_ssize_t columns) noexcept nogil
cdef void restore_leaves(Game game, Point at, System s, Py_ssize_t columns) noexcept nogil
cdef bint solve_good(Game game, Point at, System s, Py_ssize_t columns) noexcept nogil
cpdef bint newton_step(Game game, Costs lam, Point at, System s) noexcept nogil
