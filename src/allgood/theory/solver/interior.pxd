cimport cython

from allgood.theory.alternatives.instance cimport Instance
from allgood.theory.alternatives.exponential_family cimport Prefixes, Stairs
from allgood.models.base cimport Model
from allgood.theory.solver.dense cimport Dense

cpdef enum:
    SOLVED
    ITERATION_LIMIT
    STALLED
    NO_ALTERNATIVE


@cython.final
cdef class Iterate:
    cdef double[::1] v, g, t
    cdef Py_ssize_t[::1] reach
    cdef void reserve(self, Py_ssize_t alternatives)


@cython.final
cdef class Interior:
    cdef Model model
    cdef Instance at
    cdef Prefixes above
    cdef Stairs stairs
    cdef Dense dense
    cdef readonly Py_ssize_t N, G, P, M, down, size, max_pairs
    cdef Iterate current, candidate
    cdef readonly double[::1] mu, lowest, n, V, pulls
    cdef readonly bint merged
    cdef bint fits
    cdef double[::1] cost_parts, hessian_root, line, z, z_move, move, rhs, load, pivot, own
    cdef double[::1] multiplicity, q, q_move, slack
    cdef double[:, ::1] rows
    cdef readonly Py_ssize_t[::1] ks, ls
    cdef Py_ssize_t[::1] group, by, place, arms, first, where, incident
    cpdef (double, Py_ssize_t, int) solve(
        self, double rtol, Py_ssize_t max_iterations
    ) noexcept nogil
    cdef bint set_up(self) noexcept nogil
    cdef void group_arms(self, double width) noexcept nogil
    cdef (double, double) expulsion(
        self, double a, Py_ssize_t k, double b, Py_ssize_t l
    ) noexcept nogil
    cdef void bound_singly(self) noexcept nogil
    cdef bint sets_a_bound(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    cdef bint matters(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    cdef bint list_alternatives(self, Py_ssize_t max_pairs, bint cut) noexcept nogil
    cdef bint add(self, Py_ssize_t k, Py_ssize_t l, double multiplicity) noexcept nogil
    cdef bint reserve(self, Py_ssize_t alternatives) noexcept nogil
    cdef void list_incident(self) noexcept nogil
    cdef void evaluate(self, Iterate iterate) noexcept nogil
    cdef double begin(self) noexcept nogil
    cdef Py_ssize_t look(self, Py_ssize_t j) noexcept nogil
    cdef void choose_core(self) noexcept nogil
    cdef bint assemble(self, double level) noexcept nogil
    cdef void collect(self, Py_ssize_t j, Py_ssize_t size, double level) noexcept nogil
    cdef void add_outer(self, double[::1] x, Py_ssize_t size, double factor) noexcept nogil
    cdef (Py_ssize_t, Py_ssize_t) gather(self, Py_ssize_t a, double level) noexcept nogil
    cdef void eliminate(self, Py_ssize_t a, double level) noexcept nogil
    cdef bint newton_step(self, double level) noexcept nogil
    cdef void move_multiplier(self, Py_ssize_t j, double along, double level) noexcept nogil
    cdef void restore(self, Py_ssize_t a, double level) noexcept nogil
    cdef double longest(self) noexcept nogil
    cdef bint stays_inside(self, double stride) noexcept nogil
