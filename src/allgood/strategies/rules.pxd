from allgood.parts cimport Tally


cdef class Rule:
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cdef class PythonRule(Rule):
    cdef readonly object strategy
    cdef Py_ssize_t num_arms
    cdef object on_update, on_is_done, on_next_arm, on_answer
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cpdef int update(Rule rule, Tally tally) except -1 nogil
cpdef int is_done(Rule rule, Tally tally) except -1 nogil
cpdef Py_ssize_t next_arm(Rule rule, Tally tally) except? -1 nogil
