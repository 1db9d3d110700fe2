cimport cython

from allgood.theory.alternatives.instance cimport Instance


@cython.final
cdef class Prefixes:
    cdef readonly Py_ssize_t size
    cdef readonly double[::1] depth, weight, centre, scatter
    cpdef void clear(self) noexcept nogil
    cpdef void add(self, double depth, double v) noexcept nogil


@cython.final
cdef class Workspace:
    cdef Py_ssize_t[::1] good, phi, psi
    cdef double[::1] root, phi_end, psi_end
    cdef Py_ssize_t num_good, num_phi, num_psi
    cdef Prefixes prefixes


cpdef double pair_cost(double height, double depth, double v_k, double v_l, double c) noexcept nogil
cdef void lower_phi(Instance at, Workspace workspace) noexcept nogil
cdef void lower_psi(Instance at, Workspace workspace) noexcept nogil
cpdef (double, Py_ssize_t, Py_ssize_t) cheapest_expulsion(
    Instance at, double[::1] v, Workspace workspace
) noexcept nogil
cpdef (double, double, Py_ssize_t) admission(
    double gap, double v_k, Prefixes above, double c
) noexcept nogil
cpdef (double, int, Py_ssize_t, Py_ssize_t, double) cheapest_alternative(
    Instance at, double[::1] v, Workspace workspace
) noexcept nogil
cpdef void moves(
    (double, int, Py_ssize_t, Py_ssize_t, double) response, Instance at, double[::1] v, double[::1] out
) noexcept nogil
