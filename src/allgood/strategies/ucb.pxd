from allgood.parts cimport Tally
from allgood.strategies.by_bounds cimport BoundsRule


cdef class UCBRule(BoundsRule):
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
