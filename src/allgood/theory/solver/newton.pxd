cimport cython

from allgood.theory.alternatives.instance cimport Instance
from allgood.theory.solver.costs cimport Costs, Point
from allgood.theory.solver.game cimport Game
from allgood.theory.solver.system cimport System

cpdef enum:
    SOLVED
    ITERATION_LIMIT
    STALLED
    TOO_MANY_PAIRS


@cython.final
cdef class Newton:
    cdef Instance at
    cdef readonly Game game
    cdef double[::1] sigma, start, solution, best
    cdef readonly double[::1] pulls
    cdef Point current, candidate
    cdef Costs lam, change
    cdef System system
    cpdef (double, Py_ssize_t, int) optimal_pulls(
        self, double[::1] start, double rtol, Py_ssize_t max_iterations, Py_ssize_t max_pairs
    ) noexcept nogil
    cpdef (double, Py_ssize_t, int) solve_from(
        self, double[::1] start, double rtol, Py_ssize_t max_iterations
    ) noexcept nogil
    cdef bint reserve(self) noexcept nogil
    cdef void blend(self, double[::1] weights) noexcept nogil
    cdef (double, double, Py_ssize_t, int) solve(
        self, double slack, double coupling, double rtol, Py_ssize_t max_iterations
    ) noexcept nogil
    cdef double advance(self, double length, double least_mu, Py_ssize_t number) noexcept nogil
    cdef double take_step(self, double mu) noexcept nogil


cpdef void start_multipliers(Game game, Point at, Costs lam) noexcept nogil
cdef (double, double) multiplier_step(double lam, double g, double rise, double mu) noexcept nogil
cdef double multiplier_steps(
    Game game, Costs lam, Point at, System s, double mu, Costs change
) noexcept nogil
cdef double room_on_curves(Game game, System s) noexcept nogil
cdef void move_along(Game game, System s, double length, Point at, Point candidate) noexcept nogil
cdef bint keeps_slack(Game game, Point old, Point new) noexcept nogil
