from allgood.kernels.random_stream cimport RandomStream
from allgood.models.base cimport Model
from allgood.kernels.tally cimport Tally


cdef class Sampler:
    cdef readonly object lock
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cdef class ModelSampler(Sampler):
    cdef Model model
    cdef RandomStream draws
    cdef double[::1] means
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cdef class TableSampler(Sampler):
    cdef double[:, ::1] rewards
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cdef class CallbackSampler(Sampler):
    cdef readonly object environment, model, rng
    cdef object on_pull
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cpdef double pull(Sampler sampler, Py_ssize_t arm, Tally tally) except? -1e300 nogil
