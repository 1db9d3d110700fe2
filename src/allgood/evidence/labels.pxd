cimport cython

from allgood.evidence.spec cimport ClaimSpec, Sides
from allgood.kernels.tally cimport Tally


@cython.final
cdef class CertifiedLabels:
    cdef readonly ClaimSpec spec
    cdef Sides sides
    cdef readonly long long[::1] labels, certified_at
    cdef long long[::1] rival
    cdef double[::1] no_pool
    cdef void look(self, Tally tally) noexcept nogil
    cdef bint is_good(self, Py_ssize_t k) noexcept nogil
    cdef bint beats(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil


cpdef void look(CertifiedLabels labels, Tally tally) noexcept nogil
