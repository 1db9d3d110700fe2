cimport cython

cpdef enum:
    MASON
    MASON_DATA
    MIXTURE


cdef class Threshold:
    cdef readonly double[::1] log_risk, constant
    cdef readonly double floor
    cdef readonly long long until
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil
    cdef double remember_floor(self, double value) noexcept nogil


cdef class Paper(Threshold):
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil


cdef class Stylised(Threshold):
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil


cdef class KaufmannKoolenNormal(Threshold):
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil


cdef class KaufmannKoolen(Threshold):
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil


cdef class Jeffreys(Threshold):
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil


cdef class NormalMixture(Threshold):
    cdef readonly double[::1] grid
    cdef double beta(self, double[::1] N, double t, Py_ssize_t i) noexcept nogil


cdef class Width:
    cdef readonly int kind
    cdef readonly double log_arms, log_term
    cdef double[::1] grid, cache
    @cython.final
    cdef double half_width(self, double n) noexcept nogil
    @cython.final
    cdef double compute(self, double n) noexcept nogil
