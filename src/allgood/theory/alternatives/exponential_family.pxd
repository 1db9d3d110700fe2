cimport cython

from allgood.theory.alternatives.instance cimport Instance
from allgood.models.base cimport Model

ctypedef (double, double, double, double, double, double) Two  # a, x, b, y, c, e


@cython.final
cdef class Prefixes:
    cdef readonly Py_ssize_t size
    cdef readonly double[::1] mu, weight, mean, scatter
    cpdef void clear(self, double top) noexcept nogil
    cpdef void add(self, Model model, double x, double w) noexcept nogil


@cython.final
cdef class Stairs:
    cdef readonly double[:, ::1] fall, rise
    cdef void clear(self, Py_ssize_t i) noexcept nogil
    cpdef void place(
        self, Model model, Py_ssize_t i, double x, double y, double level, double c, double e
    ) noexcept nogil
    cpdef bint apart(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil


@cython.final
cdef class Workspace:
    cdef readonly Prefixes above
    cdef readonly Stairs stairs
    cdef readonly Py_ssize_t[:, ::1] dominated


cpdef double cost_at(Model model, Two two, double t) noexcept nogil
cpdef double gradient_at(Model model, Two two, double t) noexcept nogil
cdef (double, double) gradient_and_curvature(Model model, Two two, double t) noexcept nogil
cpdef double descend(Model model, Two two, double low, double high) noexcept nogil
cpdef (double, double) crossing(Model model, Two two, double low, double high) noexcept nogil
cpdef (double, double) expulsion(Model model, Two two) noexcept nogil
cdef bint falls(
    Model model, Prefixes above, Py_ssize_t j, double w, double x, double c, double e
) noexcept nogil
cdef (double, double) piece(
    Model model, Prefixes above, Py_ssize_t j, double w, double x, double c, double e
) noexcept nogil
cdef bint has_turn(
    Model model, Prefixes above, Py_ssize_t j, double w, double x, double c, double e
) noexcept nogil
cpdef (double, double, Py_ssize_t) admission(
    Model model, Prefixes above, double w, double x, double c, double e
) noexcept nogil
cpdef double fallen(Model model, double x, double level) noexcept nogil
cpdef double risen(Model model, double x, double level) noexcept nogil
cdef double first_level(
    Model model, Instance at, double[::1] w, Py_ssize_t good
) noexcept nogil
cdef void set_limits(
    Model model, Instance at, double[::1] w, Workspace workspace, Py_ssize_t good, double level
) noexcept nogil
cpdef void mark_dominated(
    Instance at, double[::1] w, Workspace workspace, Py_ssize_t good
) noexcept nogil
cdef bint repeats(Instance at, double[::1] w, Py_ssize_t i) noexcept nogil
cpdef (double, int, Py_ssize_t, Py_ssize_t, double) cheapest(
    Model model, Instance at, double[::1] w, Workspace workspace
) noexcept nogil
cpdef void alternative(
    (double, int, Py_ssize_t, Py_ssize_t, double) response, Model model, Instance at, double[::1] out
) noexcept nogil
