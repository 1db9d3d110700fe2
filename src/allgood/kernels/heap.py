"""A priority queue of arms: find the arm with the highest key, and change keys, in O(log K) steps.

If keys are equal, the arm with the lower number comes first.  So the order depends on the keys and
on nothing else.
"""

import cython
import numpy as np


class Heap:
    """A binary heap of arms: every arm comes before the two below it.

    Attributes:
        size: number of arms in the heap.
        keys: float64[K], by arm.
        arms: int64[K], the heap; the arms below place i are at 2 i + 1 and 2 i + 2.
        places: int64[K], the place of each arm; -1 if the arm is not in the heap.
    """

    def __init__(self, num_arms):
        self.size = 0
        self.keys = np.zeros(num_arms)
        self.arms = np.zeros(num_arms, np.int64)
        self.places = np.full(num_arms, -1, np.int64)

    def comes_before(self, a, b):
        """Return whether arm a belongs above arm b."""
        return self.keys[a] > self.keys[b] or (self.keys[a] == self.keys[b] and a < b)

    def put(self, a, key):
        """Insert an arm, or change its key."""
        self.keys[a] = key
        if self.places[a] < 0:
            self.places[a] = self.size
            self.arms[self.size] = a
            self.size += 1
        self.settle(self.places[a])

    def drop(self, a):
        """Remove an arm if it is in the heap."""
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
        """Move the arm at place i up or down until the heap is in order."""
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
        """Store arm a at place i."""
        self.arms[i] = a
        self.places[a] = i

    def first(self):
        """Return the arm with the highest key, -1 if there is none."""
        return self.arms[0] if self.size > 0 else -1

    def first_other(self, k):
        """Return the arm with the highest key among those other than k, -1 if there is none."""
        if self.size == 0 or self.arms[0] != k:
            return self.first()
        if self.size == 1:
            return -1
        if self.size == 2 or self.comes_before(self.arms[1], self.arms[2]):
            return self.arms[1]
        return self.arms[2]

    def copy(self):
        """Return an independent copy."""
        heap = Heap(self.keys.shape[0])
        heap.size = self.size
        heap.keys, heap.arms = self.keys.copy(), self.arms.copy()
        heap.places = self.places.copy()
        return heap
