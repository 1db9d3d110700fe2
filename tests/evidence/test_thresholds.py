"""Thresholds: pinned to values computed by other means.

A proven one is seen to hold where a quarter of it fails.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from allgood import ST2, Additive, Gaussian
from allgood.evidence import thresholds
from allgood.evidence.thresholds import (
    PROVEN,
    c_gaussian,
    half_widths,
    hinv,
    kaufmann_koolen,
    mixture,
    paper,
    stylised,
    threshold,
)

from ..reference import thresholds as reference


@pytest.mark.parametrize(
    ("x", "value"), [(0.01, 1.43), (1, 2.51), (3, 4.65), (5, 6.76), (8, 9.89), (12, 14.02)]
)
def test_c_gaussian_known_values(x, value):
    assert c_gaussian(x) == pytest.approx(value, abs=0.006)


@pytest.mark.parametrize("x", [0.05, 0.46, 2.3, 7.0, 23.0])
def test_c_gaussian_equals_its_slow_twin(x):
    assert c_gaussian(x) == pytest.approx(reference.c_gaussian(x), rel=1e-4)
    assert c_gaussian(x) <= reference.c_gaussian(x) * (1 + 1e-9)


@given(st.floats(1.0001, 5000.0))
def test_hinv_equals_its_slow_twin(x):
    assert hinv(x) == pytest.approx(reference.hinv(x), rel=1e-6)


def test_hinv_takes_the_lower_branch():
    assert hinv(2.87) == pytest.approx(4.337, abs=5e-4)
    assert hinv(1.0) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match=r"x must be at least 1: got 0\.5"):
        hinv(0.5)


@pytest.mark.parametrize(
    ("num_arms", "kk", "papers", "best_mixture", "style"),
    [
        (5, 35.4, 8.7, 7.6, 4.8),
        (20, 134, 29.1, 18.4, 4.9),
        (100, 660, 141, 66.7, 5.0),
        (500, 3292, 721, 285, 5.1),
    ],
)
def test_table_at_ten_thousand_pulls_per_arm(num_arms, kk, papers, best_mixture, style):
    """delta = 0.1; the mixture column is for the best single c, without the grid's log J."""
    counts = np.full(num_arms, 10_000)
    assert kaufmann_koolen(counts, 0.1) == pytest.approx(kk, rel=4e-3)
    assert paper(int(counts.sum()), 0.1, num_arms) == pytest.approx(papers, rel=7e-3)
    assert stylised(int(counts.sum()), 0.1) == pytest.approx(style, abs=0.05)
    single = min(mixture(counts, 0.1, (c,)) for c in np.geomspace(10, 1e6, 300))
    assert single == pytest.approx(best_mixture, rel=5e-3)
    assert single == pytest.approx(num_arms / 2 * hinv(1 + 2 * math.log(10) / num_arms), rel=1e-3)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=8), st.floats(1e-12, 0.9))
def test_mixture_equals_its_slow_twin(counts, delta):
    assert mixture(counts, delta) == pytest.approx(
        reference.mixture(counts, delta, thresholds.MIXTURE_GRID)
    )


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=8), st.floats(1e-9, 0.5))
def test_laws(counts, delta):
    """Less risk needs more evidence, and so do more pulls.

    The mixture is an exception: it needs some pulls to start.
    """
    for name in PROVEN:
        beta = threshold(name)
        assert beta(counts, delta / 10) >= beta(counts, delta) + 0.9 * math.log(10)
        if name != "mixture":
            assert beta([10 * n for n in counts], delta) >= beta(counts, delta)


def test_names_and_errors():
    assert {name for name, proven in PROVEN.items() if proven} == {"kaufmann-koolen", "mixture"}
    with pytest.raises(ValueError, match=r"threshold must be one of paper, .*: got 'magic'"):
        threshold("magic")
    with pytest.raises(ValueError, match="counts must be at least 1: got 0 for arm 1"):
        mixture([3, 0], 0.1)
    with pytest.raises(ValueError, match="delta must lie strictly between 0 and 1: got 1"):
        stylised(10, 1.0)
    with pytest.raises(ValueError, match="t / delta must exceed e"):
        paper(1, 0.9, 3)


def crossings(limit, runs, num_arms, steps, seed):
    """Runs in which sum_a N_a (m_a - mu_a)^2 / 2 ever exceeds limit(N).

    Arms are pulled adaptively.  The arm pulled next is the one whose mean is furthest from the
    truth per pull: the worst an adversary can do with one look ahead at its own luck.
    """
    rng = np.random.default_rng(seed)
    counts, sums = np.ones((runs, num_arms)), rng.normal(size=(runs, num_arms))
    crossed = np.zeros(runs, bool)
    rows = np.arange(runs)
    for _ in range(steps):
        arm = np.argmin(
            np.abs(sums) / np.sqrt(counts) * rng.uniform(0.5, 1.5, size=sums.shape), axis=1
        )
        sums[rows, arm] += rng.normal(size=runs)
        counts[rows, arm] += 1
        crossed |= (sums**2 / counts / 2).sum(axis=1) > limit(counts)
    return int(crossed.sum())


def limit_of(factor, delta):
    """``mixture`` for many runs at once."""
    grid = np.array(thresholds.MIXTURE_GRID)[:, None, None]

    def limit(counts):
        log_part = math.log(grid.size / delta) + 0.5 * np.log1p(counts / grid).sum(axis=-1)
        largest = 1.0 + grid[..., 0] / counts.min(axis=1)  # of the (n + c)/n
        return factor * (largest * log_part).min(axis=0)

    return limit


def test_the_mixture_threshold_is_rarely_crossed():
    """Fails with probability at most 1e-6 if the threshold is valid.

    At delta = 0.1 it fires at 58 crossings in 300 runs.
    """
    errors = crossings(limit_of(1.0, 0.1), 300, 3, 1000, seed=20240)
    assert binom.sf(errors - 1, 300, 0.1) > 1e-6


def test_control_a_quarter_of_the_threshold_is_caught():
    errors = crossings(limit_of(0.25, 0.1), 300, 3, 1000, seed=20240)
    assert binom.sf(errors - 1, 300, 0.1) <= 1e-6


def test_half_widths_are_those_of_the_strategies():
    counts, sigmas = np.array([1, 7, 400, 10**6]), np.array([1.0, 2.0, 0.5, 3.0])
    state = ST2(Additive(0.5), 0.05, "mixture").start(4, Gaussian(sigmas))
    expected = [state.width(float(n)) * sigma for n, sigma in zip(counts, sigmas, strict=True)]
    assert half_widths(counts, 0.05, sigmas) == pytest.approx(expected)
    assert half_widths([0, 5], 0.05)[0] == np.inf
