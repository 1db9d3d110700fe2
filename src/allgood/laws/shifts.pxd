from allgood.laws.base cimport Law


cdef class ShiftLaw(Law):
    cdef double first_bound(
        self, double n, double m, double Q, double level, double up
    ) noexcept nogil
