cimport cython


@cython.final
cdef class ArmValues:
    cdef public object slots, held, first
    cdef public long long n
    cdef public double S, m, Q, low, high, waited
    @cython.locals(other=ArmValues)
    cpdef ArmValues fork(self)
    cpdef void add(self, double x, bint confirmed)
    cpdef void add_many(self, long long n, double total, double scatter)
    cpdef void wait(self, double time)


cdef class QualityControl:
    cdef readonly object model
    cdef readonly bint in_order, check_values
    cdef public list processed
    cdef public dict suspects, waiting
    cdef public set confirmed
    cdef public long long replaced
    cdef double _log_level
    cdef dict _held
    cdef list _arms
    cdef object _next
    @cython.locals(other=QualityControl, arm=ArmValues)
    cpdef QualityControl fork(self)
    cdef _settle(self, number, value, time)
    @cython.locals(arm=ArmValues, chance=cython.double)
    cdef _process(self, value, time)
    cpdef double _level(self, ArmValues arm)
    @cython.locals(arm=ArmValues)
    cdef double _log_chance(self, Py_ssize_t a, double x, long long k)
    @cython.locals(arm=ArmValues, influential=cython.double)
    cdef _count(self, value, time)
    @cython.locals(
        arm=ArmValues, limit=cython.double, influential=cython.double, least=cython.double, x=cython.double,
        n=cython.longlong, m=cython.double, Q=cython.double, chance=cython.double,
    )
    cdef double _influential(self, Py_ssize_t a)
