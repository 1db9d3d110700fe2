cimport cython

from allgood.theory.alternatives.instance cimport Instance
from allgood.theory.alternatives.normal cimport Workspace


@cython.final
cdef class MirrorAscent:
    cdef Instance at
    cdef Workspace workspace
    cdef double[::1] precision, score, average, gradient, move, w, v
    cdef readonly double[::1] weights
    cpdef (double, Py_ssize_t, bint) solve(
        self, double[::1] start, double L, double rtol, double atol, Py_ssize_t max_iterations
    ) noexcept nogil
    cdef void weigh(self) noexcept nogil
    cdef void keep(self) noexcept nogil


cpdef double steepest(double[::1] mu, double[::1] sigma, double c, double e) noexcept nogil
