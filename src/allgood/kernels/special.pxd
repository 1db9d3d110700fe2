cpdef double mean_excess(double x) noexcept nogil
cdef void mean_excesses(double* x, Py_ssize_t n) noexcept nogil
cpdef (double, double) half_normal(double y) noexcept nogil
cpdef double excess(double y, double x, double step) noexcept nogil
