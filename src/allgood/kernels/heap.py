"""A set of arms, each with a key, that knows the arm with the highest key.

Of equal keys the arm with the lower number comes first, so that the order is a function of the keys
and of nothing else.
"""

import cython
import numpy as np


class Heap:
    """A binary heap of arms: every arm comes before the two below it.

    Attributes:
        size: number of arms in it.
        keys: float64[K], by arm.
        arms: int64[K], the heap; the arms below place i are at 2 i + 1 and 2 i + 2.
        places: int64[K], where each arm is; -1 for an arm that is not in the heap.
    """

    def __init__(self, num_arms):
        self.size = 0
        self.keys = np.zeros(num_arms)
        self.arms = np.zeros(num_arms, np.int64)
        self.places = np.full(num_arms, -1, np.int64)

    def comes_before(self, a, b):
        """Whether arm a belongs above arm b."""
        return self.keys[a] > self.keys[b] or (self.keys[a] == self.keys[b] and a < b)

    def put(self, a, key):
        """Enter an arm, or give it another key."""
        self.keys[a] = key
        if self.places[a] < 0:
            self.places[a] = self.size
            self.arms[self.size] = a
            self.size += 1
        self.settle(self.places[a])

    def drop(self, a):
        """Take an arm out, if it is in."""
        i = self.places[a]
        if i < 0:
            return
        self.places[a] = -1
        self.size -= 1
        if i < self.size:
            last = self.arms[self.size]
            self.arms[i] = last
            self.places[last] = i
            self.settle(i)

    def settle(self, i):
        """Move the arm at place i up or down to where it belongs."""
        a: cython.Py_ssize_t = self.arms[i]
        place: cython.Py_ssize_t = i
        above: cython.Py_ssize_t
        below: cython.Py_ssize_t
        while place > 0:
            above = (place - 1) >> 1
            if not self.comes_before(a, self.arms[above]):
                break
            self.set_down(self.arms[above], place)
            place = above
        while True:
            below = 2 * place + 1
            if below >= self.size:
                break
            if below + 1 < self.size and self.comes_before(self.arms[below + 1], self.arms[below]):
                below += 1
            if not self.comes_before(self.arms[below], a):
                break
            self.set_down(self.arms[below], place)
            place = below
        self.set_down(a, place)

    def set_down(self, a, i):
        """Arm a is at place i now."""
        self.arms[i] = a
        self.places[a] = i

    def first(self):
        """The arm with the highest key, -1 if there is none."""
        return self.arms[0] if self.size > 0 else -1

    def first_other(self, k):
        """The arm with the highest key among those other than k, -1 if there is none."""
        if self.size == 0 or self.arms[0] != k:
            return self.first()
        if self.size == 1:
            return -1
        if self.size == 2 or self.comes_before(self.arms[1], self.arms[2]):
            return self.arms[1]
        return self.arms[2]

    def copy(self):
        """An independent copy."""
        other = Heap(self.keys.shape[0])
        other.size = self.size
        other.keys, other.arms = self.keys.copy(), self.arms.copy()
        other.places = self.places.copy()
        return other
