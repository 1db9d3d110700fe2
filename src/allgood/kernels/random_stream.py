"""Random numbers for the loop: NumPy's own streams, drawn without the interpreter's lock.

The compiled methods call the C functions behind ``numpy.random.Generator``.  Uncompiled they call
the generator.  Both give the same numbers.
"""

import cython

if cython.compiled:
    from cython.cimports.cpython.pycapsule import PyCapsule_GetPointer
    from cython.cimports.numpy.random import bitgen_t
    from cython.cimports.numpy.random.c_distributions import (
        random_poisson,
        random_standard_exponential,
        random_standard_normal,
        random_standard_uniform,
    )


class RandomStream:
    """The stream of one ``numpy.random.Generator``.

    Hold ``rng.bit_generator.lock`` while drawing.
    """

    def __init__(self, rng):
        self.rng = rng
        if cython.compiled:
            capsule = rng.bit_generator.capsule
            address = PyCapsule_GetPointer(capsule, b"BitGenerator")
            self.bits = cython.cast(cython.pointer(bitgen_t), address)

    def normal(self):
        """Mean 0, standard deviation 1."""
        if cython.compiled:
            return random_standard_normal(self.bits)
        return self.rng.standard_normal()

    def uniform(self):
        """Between 0 and 1."""
        if cython.compiled:
            return random_standard_uniform(self.bits)
        return self.rng.random()

    def exponential(self):
        """Mean 1."""
        if cython.compiled:
            return random_standard_exponential(self.bits)
        return self.rng.standard_exponential()

    def poisson(self, mean):
        """A count."""
        if cython.compiled:
            return cython.cast(cython.double, random_poisson(self.bits, mean))
        return float(self.rng.poisson(mean))
