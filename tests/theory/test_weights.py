"""The weights that Track-and-Stop asks for: those of T*, with workspaces that are used again."""

import numpy as np
import pytest

from allgood import (
    Additive,
    Bernoulli,
    Exponential,
    Gaussian,
    Multiplicative,
    Poisson,
    best_response,
    characteristic_time,
)
from allgood.theory.solver import weights as module
from allgood.theory.solver.weights import ByInterior, ByMirrorAscent, ByNewton, optimal_weights

from ..support.instances import draw_instance

OBJECTIVES = [Additive(0.3), Multiplicative(0.4)]


def solved(weights, means, t=100, last=None):
    out = np.full(len(means), np.nan) if last is None else np.array(last, float)
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        optimal_weights(weights, np.array(means, float), t, out)
    return out


def by_newton(K, objective, rtol=1e-6, sigma=None):
    sigma = np.ones(K) if sigma is None else sigma
    return ByNewton(sigma, objective.factor, objective.slack, rtol)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_newton_gives_the_weights_of_the_characteristic_time(objective):
    rng = np.random.default_rng(1)
    for K in (2, 5, 30):
        sigma = rng.uniform(0.5, 2.0, size=K)
        weights = by_newton(K, objective, 1e-6, sigma)
        for _ in range(20):
            means = rng.uniform(size=K)
            found = solved(weights, means)
            value = 1 / best_response(means, found, objective, Gaussian(sigma)).cost
            assert found.sum() == pytest.approx(1.0)
            assert value <= characteristic_time(means, objective, Gaussian(sigma)).value * (
                1 + 2e-6
            )


def test_scratch_leaves_no_trace():
    """Solved among others, with many pairs and few, or alone: the same bits."""
    rng = np.random.default_rng(2)
    for objective in OBJECTIVES:
        used = by_newton(40, objective)
        for i in range(30):
            shape = ("near-tied", "uniform", "tied top", "near-tied clusters")[i % 4]
            means = draw_instance(rng, 40, shape)[0]
            height, _ = objective.distances(means)
            if means.max() > 0 and np.abs(height).min() > 1e-9:
                again = solved(used, means)
                assert (again == solved(by_newton(40, objective), means)).all()


def test_uniform_where_there_are_no_weights():
    additive, multiplicative = Additive(0.5), Multiplicative(0.5)
    assert solved(by_newton(1, additive), [3.0]).tolist() == [1.0]
    assert solved(by_newton(1, multiplicative), [-3.0]).tolist() == [1.0]
    assert solved(by_newton(2, additive), [1.0, 0.5]).tolist() == [0.5, 0.5]
    assert solved(by_newton(2, multiplicative), [1.0, 0.5]).tolist() == [0.5, 0.5]
    assert solved(by_newton(2, multiplicative), [0.0, -1.0]).tolist() == [0.5, 0.5]
    model = ByInterior(Bernoulli(), 2, 1.0, 0.5, 1e-2)
    assert solved(model, [1.0, 0.5]).tolist() == [0.5, 0.5]
    assert solved(ByInterior(Bernoulli(), 1, 1.0, 0.5, 1e-2), [0.5]).tolist() == [1.0]
    # No alternative: the rival has no room to rise.
    assert solved(ByInterior(Bernoulli(), 2, 1.0, 1.0, 1e-2), [0.9, 0.3]).tolist() == [0.5, 0.5]


def test_negative_means_are_told_from_zero_one_by_one():
    """w_a mu_a^2 / sigma_a^2 equal for all, whether an arm lies on the threshold or not."""
    weights = by_newton(2, Multiplicative(0.5), sigma=np.array([1.0, 3.0]))
    assert solved(weights, [-1.0, -2.0]) == pytest.approx([4 / 13, 9 / 13])
    assert solved(weights, [-2.0, -1.0]) == pytest.approx([1 / 37, 36 / 37])


def test_uniform_where_near_ties_are_too_many():
    """2,100 near-tied arms have more than MAX_PAIRS pairs."""
    assert module.MAX_PAIRS == 2_000_000
    means = 1.0 + 1e-9 * np.random.default_rng(1).normal(size=2100)
    assert (solved(by_newton(2100, Additive(0.5), 1e-2), means) == 1 / 2100).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_mirror_ascent(objective):
    """As many steps as asked for, or until 1/T is within 1/sqrt(t) of the best; warm or not."""
    means, uniform = np.array([1, 0.8, 0.55, 0.45, 0.3]), np.full(5, 0.2)

    def ascent(steps, warm):
        return ByMirrorAscent(np.ones(5), objective.factor, objective.slack, steps, warm)

    def by(start, steps):
        return characteristic_time(
            means, objective, method="mirror-ascent", start=start, max_iterations=steps
        ).weights

    cold = solved(ascent(50, False), means)
    assert cold == pytest.approx(by(None, 50), rel=1e-9)
    last = np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    assert solved(ascent(50, False), means, last=last) == pytest.approx(cold, rel=1e-12)
    assert solved(ascent(50, True), means, last=last) == pytest.approx(by(last, 50), rel=1e-9)
    best = 1 / characteristic_time(means, objective).value
    cost = best_response(means, solved(ascent(0, False), means, t=10_000), objective).cost
    assert cost >= best - 1 / np.sqrt(10_000)
    # Soon any weights are good enough.
    assert solved(ascent(0, False), means, t=1) == pytest.approx(uniform)


@pytest.mark.parametrize(
    "model", [Bernoulli(), Poisson(), Exponential()], ids=lambda model: model.name
)
def test_interior_gives_the_weights_of_the_characteristic_time(model):
    rng = np.random.default_rng(3)
    for objective in OBJECTIVES:
        weights = ByInterior(model, 4, objective.factor, objective.slack, 1e-6)
        for _ in range(10):
            means = rng.uniform(0.05, 0.95, size=4)
            time = characteristic_time(means, objective, model)
            cost = best_response(means, solved(weights, means), objective, model).cost
            assert cost >= (1 - 2e-6) / time.value
