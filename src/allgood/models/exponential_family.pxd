from allgood.models.base cimport Model


cdef class ExponentialFamily(Model):
    cdef double first_bound(
        self, double n, double m, double Q, double level, double up
    ) noexcept nogil
