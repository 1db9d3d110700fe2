from allgood.alternatives.instance cimport Instance
from allgood.laws.base cimport Law

ctypedef (double, double, double, double, double, double) Two  # a, x, b, y, c, e


cpdef double pay(Law law, Two two, double t) noexcept nogil
cpdef double tilt(Law law, Two two, double t) noexcept nogil
cdef (double, double) tilt_and_bend(Law law, Two two, double t) noexcept nogil
cpdef double descend(Law law, Two two, double low, double high) noexcept nogil
cpdef (double, double) meet(Law law, Two two, double low, double high) noexcept nogil
cpdef (double, double) expulsion(
    Law law, Instance at, double[::1] w, Py_ssize_t k, Py_ssize_t l
) noexcept nogil
cpdef (double, double, Py_ssize_t) admission(
    Law law, Instance at, double[::1] w, Py_ssize_t k
) noexcept nogil
cpdef (double, int, Py_ssize_t, Py_ssize_t, double) cheapest(
    Law law, Instance at, double[::1] w
) noexcept nogil
cpdef void alternative(
    (double, int, Py_ssize_t, Py_ssize_t, double) found, Law law, Instance at, double[::1] out
) noexcept nogil
