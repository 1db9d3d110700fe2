from allgood.draws cimport Draws
from allgood.laws.base cimport Law
from allgood.parts cimport Tally


cdef class World:
    cdef readonly object lock
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cdef class DrawnWorld(World):
    cdef Law law
    cdef Draws draws
    cdef double[::1] means
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cdef class TableWorld(World):
    cdef double[:, ::1] rewards
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cdef class PythonWorld(World):
    cdef readonly object environment, model, rng
    cdef object on_pull
    cdef double pull(self, Py_ssize_t arm, Tally tally) except? -1e300 nogil


cpdef double pull(World world, Py_ssize_t arm, Tally tally) except? -1e300 nogil
