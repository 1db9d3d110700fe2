cimport cython

# A module compiled against this one must be compiled like it (setup.py), or it would crash.
cdef extern from *:
    """
    #if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)
    #error "Compile with -DPy_LIMITED_API=0x030B0000, as allgood itself is compiled."
    #endif
    """


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
    cpdef void record_many(
        self, Py_ssize_t arm, long long n, double total, double scatter
    ) noexcept nogil
    cpdef void wait(self, Py_ssize_t arm, double time) noexcept nogil
    cpdef void suppose(self, Py_ssize_t arm) noexcept nogil


cdef double highest_mean(Tally tally) noexcept nogil
cdef void empirical_answer(Tally tally, double c, double e, char[::1] out) noexcept nogil
