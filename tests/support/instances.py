"""Random instances of all shapes that have ever hurt a solver: ties, near-ties, all scales."""

import numpy as np
from hypothesis import strategies as st

from allgood import Additive, Multiplicative

SHAPES = (
    "normal",
    "uniform",
    "rounded",
    "near-tied",
    "near-tied clusters",
    "skewed",
    "tied top",
    "one good",
)


def draw_means(rng, num_arms, shape):
    if shape == "normal":
        return rng.normal(size=num_arms)
    if shape == "uniform":
        return rng.uniform(size=num_arms)
    if shape == "rounded":
        return rng.normal(size=num_arms).round(1)
    if shape == "near-tied":
        return 1.0 + 1e-6 * rng.normal(size=num_arms)
    if shape == "near-tied clusters":
        return rng.choice([0.0, 0.5, 1.0], size=num_arms) + 1e-6 * rng.normal(size=num_arms)
    if shape == "skewed":
        return rng.exponential(size=num_arms)
    if shape == "tied top":
        return np.where(np.arange(num_arms) < num_arms - 1, 1.0, 0.05)
    return np.concatenate(([2.0], rng.uniform(0.0, 1.0, size=num_arms - 1)))


def draw_instance(rng, num_arms, shape=None):
    """Means and an objective, decided: no arm within rounding of the threshold."""
    while True:
        means = draw_means(rng, num_arms, shape or rng.choice(SHAPES))
        scale = rng.choice([1.0, 1.0, 1.0, 1e6, 1e-6])
        means = means * scale
        size = np.abs(means).max()
        if rng.random() < 0.5:
            objective = Additive(size * rng.uniform(0.01, 1.0))
        else:
            objective = Multiplicative(rng.uniform(0.02, 0.98))
            means = means if means.max() > 0 else -means
        height, _ = objective.distances(means)
        if means.max() != 0.0 and np.abs(height).min() > 1e-12 * size:
            return means, objective


finite = st.floats(-10.0, 10.0, allow_nan=False).map(lambda x: round(x, 3))
positive = st.floats(1e-6, 1e6, allow_nan=False)
perhaps_zero = st.one_of(st.just(0.0), positive)


@st.composite
def objectives(draw):
    if draw(st.booleans()):
        return Additive(draw(st.floats(0.01, 5.0)))
    return Multiplicative(draw(st.floats(0.02, 0.98)))


@st.composite
def questions(draw, min_arms=1, max_arms=12):
    """(means, weights, objective): means on a grid, so that ties are common.

    Most alternatives cost nothing where weights are zero, so in half of the cases none is.
    """
    num_arms = draw(st.integers(min_arms, max_arms))
    means = draw(st.lists(finite, min_size=num_arms, max_size=num_arms))
    weight = draw(st.sampled_from([positive, perhaps_zero]))
    weights = draw(st.lists(weight, min_size=num_arms, max_size=num_arms))
    return np.array(means), np.array(weights), draw(objectives())
