cimport cython


@cython.final
cdef class Instance:
    cdef readonly Py_ssize_t K
    cdef readonly double c, e, share, top
    cdef readonly double[::1] mu, h, D, tie
    cdef readonly Py_ssize_t[::1] by_depth
    cdef Py_ssize_t[::1] spare
    cpdef void place(self, double[::1] means) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef bint before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void insert(self, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
    cdef void merge(self, Py_ssize_t start, Py_ssize_t middle, Py_ssize_t stop) noexcept nogil
