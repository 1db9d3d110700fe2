cimport cython


@cython.final
cdef class Heap:
    cdef readonly Py_ssize_t size
    cdef readonly double[::1] keys
    cdef readonly long long[::1] arms, places
    cdef bint comes_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cpdef void put(self, Py_ssize_t a, double key) noexcept nogil
    cpdef void drop(self, Py_ssize_t a) noexcept nogil
    cdef void settle(self, Py_ssize_t i) noexcept nogil
    cdef void set_down(self, Py_ssize_t a, Py_ssize_t i) noexcept nogil
    cpdef Py_ssize_t first(self) noexcept nogil
    cpdef Py_ssize_t first_other(self, Py_ssize_t k) noexcept nogil
