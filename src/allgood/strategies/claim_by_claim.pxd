cimport cython

from allgood.evidence.spec cimport ClaimSpec, Sides
from allgood.kernels.heap cimport Heap
from allgood.kernels.tally cimport Tally
from allgood.strategies.state cimport StrategyState


cdef class ClaimByClaimState(StrategyState):
    cdef readonly ClaimSpec spec
    cdef readonly Sides sides
    cdef readonly long long[::1] labels, rival, passed, shown, looked, certified_at, new
    cdef readonly double[::1] wide
    cdef readonly long long[::1] wide_of
    cdef long long side, num_checks, slots
    cdef readonly char[::1] is_new
    cdef readonly double[::1] lacks, rise, price, owed, pool
    cdef readonly Heap by_mean, leaders, below, above, unripe, ripe
    cdef readonly double level, sum_before, log_t
    cdef readonly Py_ssize_t arm, remaining, count_before, advances, anchor, next_sweep, num_new
    cdef readonly Py_ssize_t num_seen
    cdef readonly int turn
    cdef readonly bint plans_to_pool, done
    cdef public bint robust, certifies
    @cython.final
    cdef double bar(self) noexcept nogil
    @cython.final
    cdef void look(self, Tally tally, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef void retire(self, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef void look_good(self, Tally tally, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef void begin_check(self, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef Py_ssize_t next_to_check(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    @cython.final
    cdef double evidence_against(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    @cython.final
    cdef double ratio_good(self, Py_ssize_t k, Py_ssize_t l) noexcept nogil
    @cython.final
    cdef void look_bad(self, Tally tally, Py_ssize_t k) noexcept nogil
    @cython.final
    cdef void certify(self, Tally tally, Py_ssize_t k, Py_ssize_t label) noexcept nogil
    @cython.final
    cdef void weigh(self, Tally tally, Py_ssize_t k, double G, double var) noexcept nogil
    @cython.final
    cdef double ripe_from(self, Tally tally) noexcept nogil
    @cython.final
    cdef bint is_late(self, Tally tally) noexcept nogil
    @cython.final
    cdef bint takes_doubtful(self, Tally tally) noexcept nogil
    @cython.final
    cdef Py_ssize_t cheapest(self, Tally tally) noexcept nogil
    @cython.final
    cdef Py_ssize_t most_doubtful(self) noexcept nogil
    @cython.final
    cdef void refresh(self, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef void doubt(self, Py_ssize_t a) noexcept nogil
    @cython.final
    cdef void sweep(self, Tally tally) noexcept nogil
    @cython.final
    cdef void add_to_pool(self, Tally tally) noexcept nogil
    @cython.final
    cdef bint pooled(self) noexcept nogil
    @cython.final
    cdef void settle(self, Tally tally, bint pooled, Py_ssize_t n) noexcept nogil
    @cython.final
    cdef void decide(self, Tally tally) noexcept nogil
    @cython.final
    cdef Py_ssize_t choose_claim(self, Tally tally) noexcept nogil
    @cython.final
    cdef void plan(self, Tally tally, Py_ssize_t k) noexcept nogil
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil


cdef bint is_wide(ClaimByClaimState state, Py_ssize_t k, Py_ssize_t l) noexcept nogil
cpdef Py_ssize_t process(
    ClaimByClaimState state, Tally tally, long long[::1] arms, double[::1] rewards,
    long long[::1] numbers, double[::1] scatter, char[::1] pooled, double[::1] influential,
    Py_ssize_t start
) except -1 nogil
cpdef int suppose(
    ClaimByClaimState state, Tally tally, long long[::1] arms, char[::1] pooled
) except -1 nogil
cdef int imagine(ClaimByClaimState state, Tally tally, Py_ssize_t arm, bint pooled) except -1 nogil
cpdef Py_ssize_t choose(
    ClaimByClaimState state, Tally tally, Tally processed, char[::1] closed, Py_ssize_t limit,
    long long[::1] arms, char[::1] pooled
) except -1 nogil
