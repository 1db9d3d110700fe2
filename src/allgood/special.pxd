cpdef (double, double, double, double) half_normal(double y) noexcept nogil
cpdef double excess(double y, double x, double step) noexcept nogil
