from allgood.theory.alternatives.instance cimport Instance
from allgood.models.base cimport Model
from allgood.theory.solver.interior cimport Interior
from allgood.theory.solver.mirror cimport MirrorAscent
from allgood.theory.solver.newton cimport Newton


cdef class Weights:
    cdef Instance at
    cdef bint place(self, double[::1] means, double[::1] out) noexcept nogil
    cdef void solve(self, double[::1] means, Py_ssize_t t, double[::1] out) noexcept nogil


cdef class OfNormal(Weights):
    cdef double[::1] sigma
    cdef bint place(self, double[::1] means, double[::1] out) noexcept nogil


cdef class ByNewton(OfNormal):
    cdef Newton newton
    cdef double[::1] no_start
    cdef double rtol
    cdef void solve(self, double[::1] means, Py_ssize_t t, double[::1] out) noexcept nogil


cdef class ByMirrorAscent(OfNormal):
    cdef MirrorAscent ascent
    cdef double[::1] start
    cdef Py_ssize_t steps
    cdef bint warm
    cdef void solve(self, double[::1] means, Py_ssize_t t, double[::1] out) noexcept nogil


cdef class ByInterior(Weights):
    cdef Interior interior
    cdef double rtol
    cdef void solve(self, double[::1] means, Py_ssize_t t, double[::1] out) noexcept nogil


cpdef void optimal_weights(
    Weights weights, double[::1] means, Py_ssize_t t, double[::1] out
) noexcept nogil
cdef void share_out(double[::1] pulls, double[::1] out) noexcept nogil
