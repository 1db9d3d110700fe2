from allgood.draws cimport Draws
from allgood.laws.normal cimport SubGaussian


cdef class Bounded(SubGaussian):
    cdef double draw(self, Py_ssize_t arm, double mean, Draws draws) noexcept nogil
