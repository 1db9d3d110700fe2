from allgood.kernels.tally cimport Tally
from allgood.strategies.confidence_bounds cimport BoundsState


cdef class ST2State(BoundsState):
    cdef Py_ssize_t[3] queue
    cdef Py_ssize_t turn, size
    cdef int update(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
