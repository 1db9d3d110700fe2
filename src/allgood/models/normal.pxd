from allgood.kernels.random_stream cimport RandomStream
from allgood.models.base cimport Model, Turns


cdef class SubGaussian(Model):
    cdef double[::1] noise
    cdef Py_ssize_t step
    cdef double draw(self, Py_ssize_t arm, double mean, RandomStream draws) noexcept nogil
    cdef double variance(self, double x) noexcept nogil
    cdef double variance_slope(self, double x) noexcept nogil
    cdef double divergence(self, double x, double y) noexcept nogil
    cdef Turns turning_points(
        self, double a, double x, double b, double y, double c, double e
    ) noexcept nogil
    cdef double log_ratio(self, double n, double m, double Q, double x, double eta) noexcept nogil
    cdef double precision(self, double n, double m, double Q, double u) noexcept nogil
    cdef double first_bound(
        self, double n, double m, double Q, double level, double up
    ) noexcept nogil


cdef class Normal(SubGaussian):
    cdef readonly object sigma
