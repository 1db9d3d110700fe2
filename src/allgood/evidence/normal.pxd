from allgood.evidence.spec cimport ClaimSpec, Crossing
from allgood.kernels.tally cimport Side


cdef class NormalSpec(ClaimSpec):
    cdef readonly double[::1] root_rho
    cdef Crossing pair_evidence(self, double up, Side k, Side l, double need) noexcept nogil
    cdef double ceiling(self, double up, Side k, Side l) noexcept nogil
    cdef double sign_evidence(self, double up, Side k) noexcept nogil


cpdef double arm_evidence(double v, double m, double u, NormalSpec spec) noexcept nogil
cpdef (double, double) pair_evidence(
    double v_k, double v_l, double G, double u_k, double u_l, NormalSpec spec, double enough=*
) noexcept nogil
cdef double factors(
    double d, double rate, Py_ssize_t first, Py_ssize_t J,
    double* p, double* part, double* s, double* M
) noexcept nogil
cdef double overshoot(double v, double rho, double z, double w, double N) noexcept nogil
