"""The heap of arms, against a sorted list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood.kernels.heap import Heap

K = 9
arms = st.integers(0, K - 1)
keys = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 2.0, np.inf]) | st.floats(-3, 3)
steps = st.lists(st.tuples(st.sampled_from(["put", "put", "drop"]), arms, keys), max_size=60)


def play(heap, held, moves):
    """The same moves on the heap and on a dictionary of keys."""
    for move, a, key in moves:
        if move == "put":
            heap.put(a, key)
            held[a] = key
        else:
            heap.drop(a)
            held.pop(a, None)


def check(heap, held):
    """The highest key first, and of equal keys the lower number."""
    order = sorted(held, key=lambda a: (-held[a], a))
    assert heap.size == len(order)
    assert heap.first() == (order[0] if order else -1)
    for k in range(K):
        others = [a for a in order if a != k]
        assert heap.first_other(k) == (others[0] if others else -1)
        assert (heap.places[k] >= 0) == (k in held)
    assert all(heap.keys[a] == held[a] for a in held)


def emptied(heap):
    """The arms in the order in which they come out."""
    out = []
    while heap.size:
        out.append(heap.first())
        heap.drop(out[-1])
    return out


@given(steps)
def test_it_is_a_sorted_list(moves):
    heap, held = Heap(K), {}
    for i in range(len(moves)):
        play(heap, held, moves[i : i + 1])
        check(heap, held)
    assert emptied(heap) == sorted(held, key=lambda a: (-held[a], a))


@given(steps, steps, steps)
def test_a_copy_goes_its_own_way(moves, here, there):
    heap, held = Heap(K), {}
    play(heap, held, moves)
    copy, copied = heap.copy(), dict(held)
    play(heap, held, here)
    play(copy, copied, there)
    check(heap, held)
    check(copy, copied)


@given(st.permutations(range(K)), st.permutations(range(K)))
def test_the_order_is_a_function_of_the_keys(first, second):
    """Whatever was put in first: with ties everywhere."""
    heaps = Heap(K), Heap(K)
    for heap, order in zip(heaps, (first, second), strict=True):
        for a in order:
            heap.put(a, float(a // 4))
    assert emptied(heaps[0]) == emptied(heaps[1]) == [8, 4, 5, 6, 7, 0, 1, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_heaps(size):
    heap = Heap(size)
    for a in range(size):
        heap.put(a, float(a))
    check_order = list(reversed(range(size)))
    assert heap.first_other(size - 1) == (size - 2 if size > 1 else -1)
    assert emptied(heap) == check_order
    heap.drop(0)  # nothing happens
    assert heap.size == 0
