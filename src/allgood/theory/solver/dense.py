"""Solve a dense symmetric system by Cholesky's method."""

import cython
import numpy as np
from cython.cimports.allgood.kernels.c_math import sqrt

BLOCK = cython.declare(cython.Py_ssize_t, 48)  # columns factorised at a time


SMALL_MATRIX = cython.declare(
    cython.Py_ssize_t, 32
)  # unknowns for which the matrix is allocated beforehand


class Dense:
    """Arrays for a system of at most so many unknowns; a large matrix is allocated when it is
    needed.

    Attributes:
        matrix: [size, size]; only its lower triangle is read.
        core: [2, size] right-hand sides, and then the solutions.
    """

    def __init__(self, max_size):
        n: cython.Py_ssize_t = max_size if max_size <= SMALL_MATRIX else 0
        floats: cython.double[:, ::1] = np.empty((3 + n, max_size))
        self.core, self.pivots, self.matrix = floats[:2], floats[2], floats[3:]
        self.column = np.empty(BLOCK)


def reserve_matrix(s, size):
    """Allocate the matrix of a system of this size; return False if memory is short."""
    if size <= s.matrix.shape[0]:
        return True
    with cython.gil:
        try:
            s.matrix = np.empty((size, size))
        except MemoryError:
            return False
    return True


def cholesky_solve(s, N, columns):
    """Solve matrix y = core for each right-hand side in place; the matrix becomes its factor.

    Only the lower triangle of the N x N matrix is read.  The work is done in blocks, so that large
    systems run at the speed of matrix products.
    """
    for j in range(N):
        s.pivots[j] = s.matrix[j, j]
    start: cython.Py_ssize_t = 0
    r: cython.double
    while start < N:
        stop = min(N, start + BLOCK)
        factorise_block(s, N, start, stop)
        if stop < N:
            take_off_block(s, N, start, stop)
        start = stop
    for m in range(columns):
        for i in range(N):
            r = s.core[m, i]
            for t in range(i):
                r -= s.matrix[i, t] * s.core[m, t]
            s.core[m, i] = r / s.matrix[i, i]
        for i in range(N - 1, -1, -1):
            s.core[m, i] /= s.matrix[i, i]
            r = s.core[m, i]
            for t in range(i):
                s.core[m, t] -= s.matrix[i, t] * r


def take_off_block(s, N, start, stop):
    """Subtract the product of factorised columns from the matrix to the right of them.

    A function that names Python objects takes the interpreter's lock at its end, so this is a
    function of its own.
    """
    with cython.gil:
        whole = np.asarray(s.matrix)
        panel = whole[stop:N, start:stop]
        whole[stop:N, stop:N] -= panel @ panel.T


def factorise_block(s, N, start, stop):
    """Factorise the columns ``start`` to ``stop``.

    A pivot that rounding has destroyed is replaced by a huge one: that variable does not move.
    """
    x: cython.double
    for j in range(start, stop):
        x = s.matrix[j, j]
        if x <= 1e-15 * s.pivots[j]:
            x = 1e30 * s.pivots[j] if s.pivots[j] > 0.0 else 1e300
        root = sqrt(x)
        s.matrix[j, j] = root
        for i in range(j + 1, N):
            x = s.matrix[i, j] / root
            s.matrix[i, j] = x
            if i < stop:
                s.column[i - start] = x
            for t in range(j + 1, min(i + 1, stop)):
                s.matrix[i, t] -= x * s.column[t - start]
