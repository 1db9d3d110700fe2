"""Random numbers for the loop: NumPy's own streams, drawn without the interpreter's lock.

Compiled, the methods call the C functions behind ``numpy.random.Generator``; uncompiled, they call
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

    The caller must hold ``rng.bit_generator.lock`` while drawing.
    """

    def __init__(self, rng):
        self.rng = rng
        if cython.compiled:
            capsule = rng.bit_generator.capsule
            address = PyCapsule_GetPointer(capsule, b"BitGenerator")
            self.bits = cython.cast(cython.pointer(bitgen_t), address)

    def normal(self):
        """Draw from the normal distribution with mean 0 and standard deviation 1."""
        if cython.compiled:
            return random_standard_normal(self.bits)
        return self.rng.standard_normal()

    def uniform(self):
        """Draw from the uniform distribution on [0, 1)."""
        if cython.compiled:
            return random_standard_uniform(self.bits)
        return self.rng.random()

    def exponential(self):
        """Draw from the exponential distribution with mean 1."""
        if cython.compiled:
            return random_standard_exponential(self.bits)
        return self.rng.standard_exponential()

    def poisson(self, mean):
        """Draw from the Poisson distribution with this mean."""
        if cython.compiled:
            return cython.cast(cython.double, random_poisson(self.bits, mean))
        return float(self.rng.poisson(mean))
