from allgood.parts cimport Tally
from allgood.strategies.by_bounds cimport BoundsRule


cdef class ST2Rule(BoundsRule):
    cdef Py_ssize_t[3] queue
    cdef Py_ssize_t turn, size
    cdef int update(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
