from allgood.kernels.tally cimport Tally


cdef class StrategyState:
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cdef class PythonStrategyState(StrategyState):
    cdef readonly object strategy
    cdef Py_ssize_t num_arms
    cdef object on_update, on_is_done, on_next_arm, on_answer
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cpdef int update(StrategyState state, Tally tally) except -1 nogil
cpdef int is_done(StrategyState state, Tally tally) except -1 nogil
cpdef Py_ssize_t next_arm(StrategyState state, Tally tally) except? -1 nogil
