from allgood.kernels.random_stream cimport RandomStream
from allgood.models.normal cimport SubGaussian


cdef class Bounded(SubGaussian):
    cdef double draw(self, Py_ssize_t arm, double mean, RandomStream draws) noexcept nogil
