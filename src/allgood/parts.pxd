cimport cython


cdef struct Side:
    double n  # rewards
    double m  # their mean
    double Q  # their scatter about it
    double v  # precision: rewards over the variance of one
    double u  # precision of one reward


@cython.final
cdef class Tally:
    cdef readonly Py_ssize_t size, pulls, last
    cdef readonly double reward
    cdef readonly object counts, sums, means, scatter
    cdef long long[::1] N
    cdef double[::1] S, m, Q
    cpdef void record(self, Py_ssize_t arm, double reward) noexcept nogil
    cpdef void wait(self, Py_ssize_t arm, double time) noexcept nogil
    cpdef void suppose(self, Py_ssize_t arm) noexcept nogil


cdef double highest_mean(Tally tally) noexcept nogil
cdef void empirical_answer(Tally tally, double c, double e, char[::1] out) noexcept nogil
