"""The bound on labels in ``benchmarks/ceiling.py``, whose figures stand in the documents."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import Additive, Instance

from ..support.effort import examples

FILE = Path(__file__).parents[2] / "benchmarks" / "ceiling.py"
CEILING = runpy.run_path(str(FILE))
moves, tangent, most_labels = (CEILING[name] for name in ("moves", "tangent", "most_labels"))


@st.composite
def cases(draw):
    """Means, epsilon and expected pulls."""
    K = draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mu = draw(st.sampled_from((rng.normal(size=K), rng.integers(0, 4, K) / 2.0)))
    return mu, draw(st.sampled_from((0.1, 0.7, 2.0))), rng.exponential(size=K) * 30.0 + 0.01


@examples(60)
@given(cases())
def test_the_cheapest_moves_change_the_labels_and_no_others_are_cheaper(case):
    mu, epsilon, N = case
    rng = np.random.default_rng(0)
    w = moves(mu, epsilon, N)
    top = mu.max()
    is_good = mu >= top - epsilon
    others = mu + rng.normal(size=(2000, mu.size)) * rng.exponential(size=(2000, 1))
    changed = (others >= others.max(axis=1, keepdims=True) - epsilon) != is_good
    costs = ((others - mu) ** 2 / 2.0) @ N
    for k in range(mu.size):
        shift = np.sqrt(2.0 * w[k])
        moved = mu + (1.0 if is_good[k] else -1.0) * shift
        moved[k] = mu[k] - (1.0 if is_good[k] else -1.0) * shift[k]
        assert moved[k] == pytest.approx(moved.max() - epsilon, abs=1e-9)  # on the border of both
        assert (costs[changed[:, k]] >= w[k] @ N * (1.0 - 1e-9)).all()


@examples(2)
@given(cases())
def test_no_pulls_allow_more_labels(case):
    mu, epsilon, _ = case
    pulls, delta = 40.0 * mu.size, 0.05
    bound = most_labels(Instance("drawn", mu, Additive(epsilon)), pulls, delta)
    rng = np.random.default_rng(1)
    found = [
        tangent(mu, epsilon, delta, pulls * rng.dirichlet(np.full(mu.size, 2.0)))[0]
        for _ in range(200)
    ]
    assert max(found) <= bound + 1e-9
    assert bound <= mu.size


def test_two_arms():
    """One bad arm and one good one: by symmetry both are pulled alike, and both move halfway."""
    gap, epsilon, delta, pulls = 1.0, 0.4, 0.05, 20.0
    nats = pulls * (gap - epsilon) ** 2 / 8.0
    good = pulls * (gap + epsilon) ** 2 / 8.0  # more than log(1 / delta): the label is certain
    assert good > np.log(1.0 / delta)
    p = np.linspace(delta, 1.0, 1_000_001)[:-1]
    kl = p * np.log(p / delta) + (1.0 - p) * np.log((1.0 - p) / (1.0 - delta))
    expected = 1.0 + p[kl <= nats].max()
    bound = most_labels(Instance("two", [0.0, gap], Additive(epsilon)), pulls, delta)
    assert bound == pytest.approx(expected, abs=0.03)
