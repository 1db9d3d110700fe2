"""T* and the optimal weights: known values, another solver, models, and the certificate itself."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from allgood import Additive, Gaussian, Multiplicative, Status, best_response, characteristic_time
from allgood.theory import characteristic as module

from ..reference import conic
from ..reference import mirror_ascent as reference
from ..support.effort import examples
from ..support.instances import draw_instance, questions

PKIS2 = Path(
    os.environ.get("ALLGOOD_PKIS2", Path(__file__).parents[3] / "shared/data/pkis2_matrix_1um.csv")
)


def check(time, means, objective, model=Gaussian()):  # noqa: B008
    """What every answer promises: weights on the simplex, their cost, and bounds in order."""
    assert time.weights.min() > 0
    assert time.weights.sum() == pytest.approx(1.0)
    assert time.value == pytest.approx(
        1 / best_response(means, time.weights, objective, model).cost, rel=1e-9
    )
    assert time.lower_bound <= time.value
    assert time.gap == pytest.approx(time.value / time.lower_bound - 1)


@pytest.mark.parametrize(
    ("means", "objective", "value"),
    [
        ([1, 1, 1, 1, 0.05], Additive(0.9), 3200),
        ([0.9, 0.6], Additive(0.05), 128),
        ([1, 0.8, 0.55, 0.5, 0.3, 0.1], Additive(0.3), 989.4395),
        ([0, -10], Additive(1), 8 / 81),
        ([1] * 19 + [0.05], Additive(0.9), 3200),
        ([1] * 49 + [0.05], Additive(0.9), 3200),
        # By hand: w = (2/3, 1/3) makes "nobody is good" and "arm 1 is good" cost 1/3 each.
        ([1, -1], Multiplicative(0.5), 3),
        # By hand: each arm must be told from zero, 2/1 + 2/4.
        ([-1, -2], Multiplicative(0.5), 2.5),
        ([2.0], Multiplicative(0.5), 0.5),
    ],
)
def test_known_values(means, objective, value):
    time = characteristic_time(means, objective)
    check(time, means, objective)
    assert time.status is Status.SOLVED
    assert time.value == pytest.approx(value, rel=1e-6)
    assert time.gap <= 1e-6


def test_known_weights():
    time = characteristic_time([1, 1, 1, 1, 0.05], Additive(0.9), rtol=1e-12)
    assert time.weights == pytest.approx([1 / 8] * 4 + [1 / 2], abs=1e-6)


def test_agrees_with_a_conic_solver():
    """Clarabel on 24 instances up to K = 12: within 1e-4, and inside the certificate.

    The conic solver's own accuracy (about 1e-7) is allowed for on either side of the certificate.
    """
    rng = np.random.default_rng(2024)
    shapes = ("normal", "uniform", "rounded", "skewed", "tied top", "one good")
    for i in range(24):
        means, objective = draw_instance(rng, int(rng.integers(2, 13)), shapes[i % len(shapes)])
        if means.max() < 0:
            continue
        sigma = rng.uniform(0.5, 2.0, size=means.size) if i % 3 == 0 else np.ones(means.size)
        time = characteristic_time(means, objective, Gaussian(sigma))
        value, _ = conic.characteristic_time(means, objective.factor, objective.slack, sigma)
        assert value == pytest.approx(time.value, rel=1e-4)
        assert time.lower_bound * (1 - 1e-5) <= value <= time.value * (1 + 1e-5)


def test_gap_on_500_instances():
    """K from 2 to 60, both objectives; half of the shapes have ties or near-ties, at all scales."""
    rng = np.random.default_rng(1)
    for _ in range(500):
        means, objective = draw_instance(rng, int(rng.integers(2, 61)))
        time = characteristic_time(means, objective)
        check(time, means, objective)
        assert time.status is Status.SOLVED, (means, objective, time)
        assert time.gap <= 1e-6


def test_gap_with_one_arm_close_to_the_threshold():
    """Margins from 1e-5 down to 1e-12, above and below it, among arms with ordinary margins."""
    rng = np.random.default_rng(5)
    for i in range(200):
        means = rng.uniform(size=int(rng.integers(3, 60)))
        objective, bar = (Additive(0.5), 1.0) if i % 2 else (Multiplicative(0.5), 0.75)
        means[0], means[1] = 1.5, bar + 10.0 ** rng.uniform(-12, -5) * rng.choice([-1, 1])
        assert characteristic_time(means, objective).gap <= 1e-6


def test_gap_with_a_tiny_epsilon():
    """One arm is good, and its own height, epsilon, matters to no alternative."""
    rng = np.random.default_rng(6)
    for i in range(200):
        means, epsilon = rng.uniform(size=int(rng.integers(2, 12))), 10.0 ** rng.uniform(-12, -2)
        assert (
            characteristic_time(means, Additive(epsilon) if i % 2 else Multiplicative(epsilon)).gap
            <= 1e-6
        )


def test_gap_with_unequal_noise():
    """sigma from 0.03 to 30 within one instance."""
    rng = np.random.default_rng(77)
    for i in range(300):
        K = int(rng.integers(3, 60))
        means, model = rng.uniform(size=K), Gaussian(10.0 ** rng.uniform(-1.5, 1.5, size=K))
        objective = Additive(0.3) if i % 2 else Multiplicative(0.3)
        time = characteristic_time(means, objective, model)
        check(time, means, objective, model)
        assert time.gap <= 1e-6


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6, 1e9])
def test_the_certificate_in_exact_arithmetic(shift):
    """Two arms, one good: T* = 8 / (mu_0 - epsilon - mu_1)^2, compared as fractions."""
    rng = np.random.default_rng(9)
    for _ in range(200):
        epsilon = 10.0 ** rng.uniform(-6, 0)
        means = [shift + 1.0, shift + 1.0 - epsilon * (1 + 10.0 ** rng.uniform(-3, 1))]
        margin = Fraction(means[0]) - Fraction(epsilon) - Fraction(means[1])
        time = characteristic_time(means, Additive(epsilon))
        if time.status is Status.UNDECIDABLE or margin <= 0:
            continue
        exact = 8 / margin**2
        assert Fraction(time.lower_bound) <= exact <= Fraction(time.value)


def test_an_only_good_arm_is_not_on_its_own_threshold():
    """Its height is epsilon, which may be below the rounding of its mean; nothing depends on it."""
    assert characteristic_time([1e9, 0], Additive(1e-8)).value == pytest.approx(8e-18)
    assert characteristic_time([1, 0], Additive(5e-16)).value == pytest.approx(8)


@pytest.mark.parametrize(
    "objective", [Additive(0.3), Additive(0.9), Multiplicative(0.5), Multiplicative(0.9)]
)
def test_a_thousand_arms(objective):
    rng = np.random.default_rng(4)
    tied = np.append(np.round(rng.uniform(size=1000), 2), 1.004)
    for means in (rng.uniform(size=1000), rng.normal(size=1000), tied, np.r_[np.ones(999), 0.05]):
        time = characteristic_time(means, objective)
        check(time, means, objective)
        assert time.gap <= 1e-6


def test_a_thousand_near_tied_arms():
    rng = np.random.default_rng(4)
    time = characteristic_time(1 + 1e-6 * rng.normal(size=1000), Additive(0.5))
    assert time.gap <= 1e-6


@pytest.mark.parametrize("objective", [Additive(0.9), Multiplicative(0.9)])
def test_ten_thousand_arms(objective):
    means = np.random.default_rng(4).uniform(size=10_000)
    time = characteristic_time(means, objective, rtol=1e-3)
    check(time, means, objective)
    assert time.gap <= 1e-3


@pytest.mark.skipif(
    not PKIS2.exists(), reason=f"the PKIS2 table is not at {PKIS2.name} in shared/data"
)
def test_pkis2():
    """189 compounds against ACVRL1, multiplicative 0.8; counts as in the data's own description."""
    with PKIS2.open() as lines:
        column = lines.readline().strip().replace('"', "").split(",").index("ACVRL1")
        percent = np.array([float(line.strip().split(",")[column]) for line in lines])
    percent = np.where(percent == 100.0, 99.9, percent)
    means = np.array([-np.log(1 - p / 100) for p in percent[percent != 0.0]])
    # -log(1 - p) of a percent inhibition below zero is negative: such compounds are bad arms.
    objective = Multiplicative(0.8)
    assert means.size == 189
    assert objective.answer(means).sum() == 34
    time = characteristic_time(means, objective)
    check(time, means, objective)
    assert time.gap <= 1e-6


@pytest.mark.parametrize("sigma", [1.0, np.linspace(1.0, 1.001, 60)])
def test_many_near_ties_are_merged_and_still_certified(monkeypatch, sigma):
    """With a low limit on pairs the fallback runs: a wider gap, and bounds that contain T*."""
    rng = np.random.default_rng(8)
    means = np.concatenate((1 + 1e-4 * rng.normal(size=40), rng.uniform(0, 0.4, size=20)))
    exact = characteristic_time(means, Additive(0.5), Gaussian(sigma))
    monkeypatch.setattr(module, "MAX_PAIRS", 200)
    merged = characteristic_time(means, Additive(0.5), Gaussian(sigma))
    assert merged.status is Status.MERGED
    assert 1e-6 < merged.gap < 1e-2
    assert merged.lower_bound <= exact.value
    assert exact.lower_bound <= merged.value


@examples(50)
@given(questions(min_arms=2), st.randoms(use_true_random=False), st.floats(1e-3, 1e3))
def test_laws_permutation_scaling_translation_noise(question, random, factor):
    means, _, objective = question
    height, _ = objective.distances(means)
    assume(np.abs(height).min() > 1e-3 and means.max() > 1e-3)
    time = characteristic_time(means, objective)
    order = list(range(means.size))
    random.shuffle(order)
    again = characteristic_time(means[order], objective)
    assert again.value == pytest.approx(time.value, rel=2e-6)
    wider = Additive(factor * objective.epsilon) if isinstance(objective, Additive) else objective
    assert characteristic_time(factor * means, wider).value == pytest.approx(
        time.value / factor**2, rel=2e-6
    )
    noisy = characteristic_time(means, objective, Gaussian(factor))
    assert noisy.value == pytest.approx(time.value * factor**2, rel=2e-6)
    if isinstance(objective, Additive):
        assert characteristic_time(means + 5.0, objective).value == pytest.approx(
            time.value, rel=2e-6
        )


def beaten_by(bound, means, objective, weights, seed):
    """Weights that need fewer than ``bound``: these, others near them, or random ones; or None."""
    rng = np.random.default_rng(seed)
    tried = [weights] + [
        weights * rng.uniform(1 - x, 1 + x, size=weights.size) for x in (1e-3, 0.1, 0.5)
    ]
    tried += [
        rng.dirichlet(np.full(means.size, x) * (1 + 5 * weights))
        for x in (0.3, 1.0, 100.0)
        for _ in range(20)
    ]
    for w in tried:
        if bound * best_response(means, w / w.sum(), objective).cost * (1 - 1e-12) > 1.0:
            return w
    return None


@examples(30)
@given(questions(min_arms=2, max_arms=6), st.integers(0, 2**32 - 1))
def test_no_random_weights_beat_the_lower_bound(question, seed):
    """T* is a minimum over weights: every weight vector must need at least ``lower_bound``."""
    means, _, objective = question
    height, _ = objective.distances(means)
    assume(np.abs(height).min() > 1e-3 and abs(means.max()) > 1e-3)
    time = characteristic_time(means, objective)
    assert beaten_by(time.lower_bound, means, objective, time.weights, seed) is None


def test_control_a_lower_bound_one_per_cent_too_high_is_caught():
    means = np.array([1, 0.8, 0.55, 0.5, 0.3, 0.1])
    time = characteristic_time(means, Additive(0.3))
    assert beaten_by(1.01 * time.lower_bound, means, Additive(0.3), time.weights, 0) is not None


def test_one_noisy_arm_gets_more_pulls():
    quiet = characteristic_time([1, 0.2, 0.2], Additive(0.5))
    noisy = characteristic_time([1, 0.2, 0.2], Additive(0.5), Gaussian([1, 1, 3]))
    assert noisy.value > quiet.value
    assert noisy.weights[2] > noisy.weights[1]
    assert quiet.weights[2] == pytest.approx(quiet.weights[1])


@pytest.mark.parametrize(
    ("means", "objective", "why"),
    [
        ([1, 0.5], Additive(0.5), "Arm 1 (mean 0.5) lies on the threshold 0.5."),
        (
            [0.9, 0.6],
            Additive(0.3),
            "Arm 1 (mean 0.6) lies on the threshold 0.6.",
        ),  # 5.6e-17 off in floating point
        ([1, 0.5], Multiplicative(0.5), "Arm 1 (mean 0.5) lies on the threshold 0.5."),
        ([0, -1], Multiplicative(0.5), "The best mean, that of arm 0, is 0"),
    ],
)
@pytest.mark.parametrize("method", ["newton", "mirror-ascent"])
def test_undecidable_instances_say_why(means, objective, why, method):
    time = characteristic_time(means, objective, method=method)
    assert (time.value, time.lower_bound, time.status) == (np.inf, np.inf, Status.UNDECIDABLE)
    assert why in time.message
    assert np.isnan(time.weights).all()


def test_a_hopeless_arm_does_not_blur_the_threshold():
    """Rounding counts arm by arm: a mean of -1e8 says nothing about another arm's margin."""
    time = characteristic_time([1, 0.5 + 1e-9, -1e8], Additive(0.5))
    assert time.status is Status.SOLVED
    assert time.value > 1e18


def test_a_single_arm_needs_no_pull():
    time = characteristic_time([3], Additive(0.5))
    assert (time.value, time.lower_bound, time.gap, time.status) == (0, 0, 0, Status.TRIVIAL)


def test_the_iteration_limit_is_a_status_and_the_certificate_still_holds():
    time = characteristic_time([1, 0.8, 0.55, 0.5, 0.3, 0.1], Additive(0.3), max_iterations=3)
    assert time.status is Status.ITERATION_LIMIT
    assert time.iterations == 3
    assert time.lower_bound <= 989.4395 <= time.value
    assert time.gap > 1e-6


def test_more_accuracy_than_floating_point_has_is_a_status():
    time = characteristic_time([1, 0.8, 0.55, 0.5, 0.3, 0.1], Additive(0.3), rtol=1e-17)
    assert time.status is Status.STALLED
    assert time.gap < 1e-8


def test_warm_start():
    means = np.array([1, 0.8, 0.55, 0.5, 0.3, 0.1])
    solution = characteristic_time(means, Additive(0.3))
    again = characteristic_time(means, Additive(0.3), start=solution.weights)
    assert again.gap <= 1e-6
    assert again.iterations <= solution.iterations
    lopsided = characteristic_time(means, Additive(0.3), start=[1, 0, 0, 0, 0, 0])
    assert lopsided.gap <= 1e-6


@pytest.mark.parametrize(("steps", "value"), [(1000, 4860), (10_000, 4588), (100_000, 3987)])
def test_mirror_ascent_is_as_slow_as_measured(steps, value):
    """The paper's method and rate on the paper's instance; T* = 3200."""
    time = characteristic_time(
        [1, 1, 1, 1, 0.05], Additive(0.9), method="mirror-ascent", max_iterations=steps
    )
    assert time.value == pytest.approx(value, abs=0.5)
    assert time.lower_bound <= 3200 <= time.value
    assert time.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("objective", [Additive(0.3), Multiplicative(0.5)])
def test_mirror_ascent_equals_its_slow_twin(objective):
    means, sigma = np.array([1, 0.8, 0.55, 0.45, 0.3]), np.ones(5)
    L = module.lipschitz(means, sigma, objective)
    seen = reference.iterates(lambda w: best_response(means, w, objective).gradient, 5, L, 50)
    costs = [best_response(means, w, objective).cost for w in seen]
    costs.append(best_response(means, np.mean(seen, axis=0), objective).cost)
    gradients = [best_response(means, w, objective).gradient for w in seen]
    time = characteristic_time(means, objective, method="mirror-ascent", max_iterations=50)
    assert time.value == pytest.approx(1 / max(costs), rel=1e-9)
    assert time.lower_bound == pytest.approx(1 / np.mean(gradients, axis=0).max(), rel=1e-9)


def test_mirror_ascent_solves_an_easy_instance():
    time = characteristic_time([1.0, -1.0], Additive(0.5), method="mirror-ascent", rtol=1e-2)
    assert time.status is Status.SOLVED
    assert time.gap <= 1e-2


def test_lipschitz_bounds_every_gradient():
    rng = np.random.default_rng(5)
    for _ in range(500):
        means, objective = draw_instance(rng, int(rng.integers(1, 8)))
        L = module.lipschitz(means, np.ones(means.size), objective)
        response = best_response(means, rng.exponential(size=means.size) ** 5, objective)
        if response.kind != "none":
            assert response.gradient.max() <= L * (1 + 1e-12)
