cimport cython
from numpy.random cimport bitgen_t


@cython.final
cdef class RandomStream:
    """Random numbers from NumPy's generator, without the interpreter's lock."""
    cdef readonly object rng
    cdef bitgen_t *bits
    cdef double normal(self) noexcept nogil
    cdef double uniform(self) noexcept nogil
    cdef double exponential(self) noexcept nogil
    cdef double poisson(self, double mean) noexcept nogil
