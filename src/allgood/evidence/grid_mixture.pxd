from allgood.evidence.spec cimport ClaimSpec, Crossing, Sides
from allgood.models.base cimport Model
from allgood.kernels.tally cimport Side


cdef class GridSpec(ClaimSpec):
    cdef Crossing pair_evidence(self, double up, Side k, Side l, double need) noexcept nogil
    cdef double ceiling(self, double up, Side k, Side l) noexcept nogil
    cdef double sign_evidence(self, double up, Side k) noexcept nogil


cpdef double shifted(Model model, double n, double m, double Q, double x, double eta) noexcept nogil
cpdef double one_arm_mixture(
    Model model, double n, double m, double Q, double x, double[::1] eta, double[::1] w, double up
) noexcept nogil
cpdef double confidence_bound(
    Model model, double n, double m, double Q, double[::1] eta, double[::1] w,
    double level, double up, double outer
) noexcept nogil
cdef double pair_mixture(
    GridSpec spec, double up, Side k, double t, Side l, double s
) noexcept nogil
cdef double interval_bound(
    GridSpec spec, double up, Side k, Side l, double left, double right
) noexcept nogil
cdef bint certify_interval(
    GridSpec spec, double up, Side k, Side l,
    double start, double end, double stride, double need
) noexcept nogil
cdef double highest_place(GridSpec spec, double up) noexcept nogil
cdef double first_place(GridSpec spec, double up, Side k, Side l) noexcept nogil
cdef (double, double) crossing(
    GridSpec spec, double up, Side k, Side l, double need
) noexcept nogil
cpdef (double, double) crossing_of(
    GridSpec spec, Sides sides, double up, double need
) noexcept nogil
cpdef double mixture_of(GridSpec spec, Sides sides, double up, double t, double s) noexcept nogil
