"""The best response: equal to its slow twin, cheapest among random alternatives, and lawful.

Breaking any sign in ``theory/alternatives/normal.py`` fails several of these at once (tried for the
gap of a pair, the depth of an admission, and both envelope breakpoints).
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from allgood import Additive, Gaussian, Multiplicative, best_response
from allgood.theory.alternatives.instance import Instance

from ..reference import best_response as reference
from ..support.effort import examples
from ..support.instances import draw_instance, questions


def twin(means, weights, objective):
    return reference.cheapest(means, weights, type(objective).__name__, objective.epsilon)


def close(x, y, rel=1e-9, scale=0.0):
    return x == y or abs(x - y) <= rel * abs(y) + 1e-13 * scale


@examples(150)
@given(questions())
def test_equals_the_slow_twin(question):
    """Ties, zero weights, arms on the threshold, K = 1: all in the strategy, on a grid of means."""
    means, weights, objective = question
    response = best_response(means, weights, objective)
    scale = weights.max() * (np.abs(means).max() + objective.epsilon) ** 2
    assert close(response.cost, twin(means, weights, objective), 1e-7, scale)


def test_equals_the_slow_twin_on_random_instances_of_all_shapes():
    rng = np.random.default_rng(7)
    for _ in range(800):
        means, objective = draw_instance(rng, int(rng.integers(1, 14)))
        weights = rng.exponential(size=means.size) ** 4
        scale = weights.max() * (np.abs(means).max() + objective.epsilon) ** 2
        found = best_response(means, weights, objective).cost
        assert close(found, twin(means, weights, objective), 1e-7, 1e-3 * scale), (
            means,
            weights,
            objective,
        )


@pytest.mark.parametrize("num_arms", [1, 2, 15, 16, 17, 33, 500, 5000])
def test_arms_are_sorted_by_depth_then_tie_then_number(num_arms):
    rng = np.random.default_rng(num_arms)
    for digits in (0, 1, 17):
        means, tie = rng.normal(size=num_arms).round(digits), rng.integers(0, 3, size=num_arms)
        for second in (tie, None):
            at = Instance(num_arms, 1.0, 0.5, None, second)
            at.place(means)
            depth = means.max() - means
            keys = (depth,) if second is None else (second, depth)
            assert np.asarray(at.by_depth).tolist() == np.lexsort(keys).tolist()
            assert np.array_equal(at.D, depth)
            assert np.array_equal(at.h, 0.5 - depth)


def test_every_pair_counts_when_all_arms_are_good():
    """The envelope sweep against all pairs, where weights and means conflict; many arms."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        K = int(rng.integers(2, 80))
        mu, v = rng.uniform(1.0, 1.4, size=K), rng.exponential(size=K) ** rng.integers(1, 6)
        c, e = (1.0, 0.5) if rng.random() < 0.5 else (0.5, 0.0)
        objective = Additive(0.5) if c == 1.0 else Multiplicative(0.5)
        gap = mu[:, None] - c * mu[None, :] + e
        costs = gap**2 / 2 / (1 / v[:, None] + c**2 / v[None, :])
        np.fill_diagonal(costs, np.inf)
        expected = min(costs.min(), np.inf if c == 1.0 else (v * mu**2).sum() / 2)
        assert best_response(mu, v, objective).cost == pytest.approx(expected, rel=1e-12)


@examples(80)
@given(questions(), st.integers(0, 2**32 - 1))
def test_no_random_alternative_is_cheaper(question, seed):
    means, weights, objective = question
    response = best_response(means, weights, objective)
    assume(np.isfinite(response.cost))
    rng = np.random.default_rng(seed)
    answer = objective.answer(means)
    shape = (20, means.size)
    for centre in (means, response.means):
        for spread in (0.01, 0.3, 3.0):
            others = centre + spread * rng.normal(size=shape) * (rng.random(shape) < 0.5)
            for other, cost in zip(others, (means - others) ** 2 @ weights / 2, strict=True):
                # Few are cheaper, and these must have the same answer.
                if cost < response.cost * (1 - 1e-9):
                    assert (objective.answer(other) == answer).all()


@examples(150)
@given(questions())
def test_the_alternative_is_on_the_border_of_another_answer(question):
    """A little less than the move changes nothing; a little more flips the label of ``arm``."""
    means, weights, objective = question
    weights = weights + 0.01
    height, _ = objective.distances(means)
    assume(np.abs(height).min() > 1e-6 and abs(means.max()) > 1e-6)
    response = best_response(means, weights, objective)
    assume(response.kind != "none")
    move = response.means - means
    before, after = (
        objective.answer(means + (1 - 1e-7) * move),
        objective.answer(means + (1 + 1e-7) * move),
    )
    assert (before == objective.answer(means)).all()
    if response.kind == "empty":
        assert response.arm is None
        assert not after.any()
    else:
        assert after[response.arm] != before[response.arm]


@examples(80)
@given(questions())
def test_the_gradient_gives_the_cost_and_bounds_it_elsewhere(question):
    """cost = w . gradient, and w' . gradient >= cost at w' for any other w' (supergradient)."""
    means, weights, objective = question
    response = best_response(means, weights, objective)
    assume(np.isfinite(response.cost))
    assert close(float(weights @ response.gradient), response.cost, 1e-9, weights.max() * 1e-3)
    other = np.roll(weights, 1) + 0.1
    bound = float(other @ response.gradient)
    assert best_response(means, other, objective).cost <= bound * (1 + 1e-9) + 1e-12


@examples(80)
@given(questions(), st.randoms(use_true_random=False), st.floats(-50, 50), st.floats(1e-3, 1e3))
def test_laws_permutation_translation_scaling(question, random, shift, factor):
    means, weights, objective = question
    height, _ = objective.distances(means)
    assume(np.abs(height).min() > 1e-6)
    cost = best_response(means, weights, objective).cost
    scale = 1e-3 * weights.max()
    order = list(range(means.size))
    random.shuffle(order)
    assert close(best_response(means[order], weights[order], objective).cost, cost, 1e-9, scale)
    assert close(best_response(means, 3 * weights, objective).cost, 3 * cost, 1e-9, scale)
    wider = Additive(factor * objective.epsilon) if isinstance(objective, Additive) else objective
    assert close(
        best_response(factor * means, weights, wider).cost,
        factor**2 * cost,
        1e-9,
        scale * factor**2,
    )
    if isinstance(objective, Additive):
        assert close(best_response(means + shift, weights, objective).cost, cost, 1e-6, 1e4 * scale)


@examples(80)
@given(questions())
def test_more_weight_never_lowers_the_cost(question):
    means, weights, objective = question
    more = weights + np.linspace(0, 1, means.size)
    assert best_response(means, more, objective).cost >= best_response(
        means, weights, objective
    ).cost * (1 - 1e-12)


@examples(60)
@given(questions(), st.floats(0.1, 10))
def test_sigma_divides_the_weights(question, sigma):
    means, weights, objective = question
    sigmas = np.linspace(sigma, 2 * sigma, means.size)
    by_model = best_response(means, weights, objective, Gaussian(sigmas))
    by_weights = best_response(means, weights / sigmas**2, objective)
    assert by_model.cost == by_weights.cost
    assert (by_model.means == by_weights.means).all() or by_model.kind == "none"


def test_the_alternative_that_the_paper_misses():
    """mu = (1, -1), epsilon = 1/2, w = (1/2, 1/2).

    The paper's Lemma 7 gives 0.45; pushing arm 0 below zero costs 0.25.
    """
    response = best_response([1, -1], [0.5, 0.5], Multiplicative(0.5))
    assert (response.cost, response.arm, response.kind) == (0.25, None, "empty")
    assert response.means.tolist() == [0, -1]


def test_all_means_negative_nobody_good():
    response = best_response([-1, -2], [0.5, 0.1], Multiplicative(0.5))
    assert (response.cost, response.arm, response.kind) == (0.2, 1, "rise")
    assert response.means.tolist() == [-1, 0]


def test_one_arm():
    alone = best_response([3.0], [1.0], Additive(0.5))
    assert (alone.cost, alone.arm, alone.kind) == (np.inf, None, "none")
    assert np.isnan(alone.means).all()
    assert best_response([3.0], [1.0], Multiplicative(0.5)).cost == 4.5


@pytest.mark.parametrize("objective", [Additive(0.5), Multiplicative(0.5)])
def test_an_arm_on_the_threshold_costs_nothing(objective):
    assert best_response([1.0, 0.5, 0.2], [1, 2, 3], objective).cost == 0.0


def test_zero_weights_move_for_free():
    # The best arm unseen: raising it expels arm 1 (good); lowering it admits arm 2.
    assert best_response([1.0, 0.8, 0.2], [0, 1, 1], Additive(0.5)).cost == 0.0
    # Only the hopeless arm unseen: raising it is free.
    free = best_response([1.0, 0.8, 0.2], [1, 1, 0], Additive(0.5))
    assert (free.cost, free.arm) == (0.0, 2)
    assert free.means.tolist() == [1.0, 0.8, 0.5]
    assert best_response([1.0, 0.8, 0.2], [0, 0, 0], Additive(0.5)).cost == 0.0


def test_near_ties_lose_no_digits():
    """Gaps of 1e-9 at means of 1e3: the cost is right to the rounding of the inputs."""
    means = np.array([1000.0, 1000.0 - 1e-9, 999.0 - 1e-9])
    gap = (1000.0 - 1.0) - means[2]
    alone = best_response(means, [1e9, 1e9, 1.0], Additive(1.0))
    assert alone.cost == pytest.approx(gap**2 / 2, rel=1e-6)


def test_hundred_thousand_arms_in_linear_memory():
    """A K x K array would take 80 GB."""
    rng = np.random.default_rng(0)
    means, weights = rng.normal(size=100_000), rng.exponential(size=100_000)
    response = best_response(means, weights, Additive(1.0))
    k = response.arm
    assert response.kind == "admit"
    assert response.cost <= weights[k] * (means.max() - 1.0 - means[k]) ** 2 / 2
    assert float(weights @ response.gradient) == pytest.approx(response.cost, rel=1e-9)
