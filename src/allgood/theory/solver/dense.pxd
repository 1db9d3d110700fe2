cdef class Dense:
    cdef readonly double[:, ::1] core, matrix
    cdef double[::1] pivots, column


cpdef bint reserve_matrix(Dense s, Py_ssize_t size) noexcept nogil
cpdef void cholesky_solve(Dense s, Py_ssize_t N, Py_ssize_t columns) noexcept nogil
cdef void take_off_block(Dense s, Py_ssize_t N, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
cdef void factorise_block(Dense s, Py_ssize_t N, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
