from allgood.kernels.tally cimport Tally
from allgood.strategies.confidence_bounds cimport BoundsState


cdef class UniformState(BoundsState):
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
