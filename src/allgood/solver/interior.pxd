cimport cython

from allgood.alternatives.instance cimport Instance
from allgood.laws.base cimport Law

cpdef enum:
    SOLVED
    ITERATION_LIMIT
    STALLED
    NO_ALTERNATIVE


@cython.final
cdef class Spot:
    cdef double[::1] v, g, t
    cdef Py_ssize_t[::1] reach
    cdef void reserve(self, Py_ssize_t alternatives)


@cython.final
cdef class Interior:
    cdef Law law
    cdef Instance at
    cdef Py_ssize_t M, size
    cdef Spot here, there
    cdef double[::1] phi, bend, q, q_move, slack
    cdef double[::1] z, z_move, move, rhs, dual
    cdef readonly double[::1] pulls
    cdef double[:, ::1] hessian
    cdef Py_ssize_t[::1] ks, ls, arms
    cpdef (double, Py_ssize_t, int) solve(
        self, double rtol, Py_ssize_t max_iterations
    ) noexcept nogil
    cdef bint reserve(self, Py_ssize_t alternatives) noexcept nogil
    cdef bint list_alternatives(self) noexcept nogil
    cdef void add(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    cdef void evaluate(self, Spot spot) noexcept nogil
    cdef void begin(self) noexcept nogil
    cdef void gradient(self, Py_ssize_t j) noexcept nogil
    cdef void curve(self, Py_ssize_t j) noexcept nogil
    cdef void assemble(self, double level) noexcept nogil
    cdef bint finite(self) noexcept nogil
    cdef void newton_step(self, double level) noexcept nogil
    cdef double longest(self) noexcept nogil
    cdef bint stays_inside(self, double stride) noexcept nogil


cpdef void solve_linear(double[:, ::1] A, double[::1] x, Py_ssize_t N) noexcept nogil
