"""The question and the noise: definitions by hand, and errors that say what is wrong."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import (
    Additive,
    Gaussian,
    Multiplicative,
    best_response,
    characteristic_time,
    lower_bounds,
)
from allgood.objectives import Objective

from .support.instances import questions


@pytest.mark.parametrize(
    ("objective", "means", "good"),
    [
        (Additive(0.9), [1, 1, 1, 1, 0.05], [1, 1, 1, 1, 0]),  # the paper's first instance
        (Additive(0.5), [1, 0.5, 0.49], [1, 1, 0]),  # exactly on the threshold is good
        (Additive(0.1), [-3, -3.05, -4], [1, 1, 0]),  # the sign of the means does not matter
        (Multiplicative(0.5), [1, 0.5, 0.49, -1], [1, 1, 0, 0]),
        (Multiplicative(0.5), [-1, -0.5], [0, 0]),  # nobody reaches half of a negative best
        (Multiplicative(0.5), [0, -1], [1, 0]),
        (Additive(1), [7], [1]),
        (Multiplicative(0.1), [-7], [0]),
    ],
)
def test_answer_by_hand(objective, means, good):
    assert objective.answer(means).tolist() == [bool(x) for x in good]


@given(questions())
def test_answer_is_the_definition(question):
    """In exact arithmetic; arms within rounding of the threshold may go either way."""
    means, _, objective = question
    best, epsilon = Fraction(max(means)), Fraction(objective.epsilon)
    bar = best - epsilon if isinstance(objective, Additive) else (1 - epsilon) * best
    for a, m in enumerate(means):
        if abs(Fraction(m) - bar) > 1e-14:
            assert objective.answer(means)[a] == (Fraction(m) >= bar)


@given(questions(), st.randoms(use_true_random=False))
def test_answer_follows_the_arms_when_they_are_renumbered(question, random):
    means, _, objective = question
    order = list(range(means.size))
    random.shuffle(order)
    assert (objective.answer(means[order]) == objective.answer(means)[order]).all()


@pytest.mark.parametrize("epsilon", [0, -1, np.nan, np.inf])
def test_additive_epsilon_out_of_range(epsilon):
    with pytest.raises(
        ValueError, match=r"Additive\(epsilon=\.\.\.\) must be (positive|finite): got"
    ):
        Additive(epsilon)


@pytest.mark.parametrize("epsilon", [0, 1, -0.1, 1.5, np.nan, 1e-20])
def test_multiplicative_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match=r"Multiplicative\(epsilon=\.\.\.\) must .*: got"):
        Multiplicative(epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", None, True, [0.1, 0.2], np.array([0.1, 0.2])])
def test_epsilon_of_the_wrong_type(epsilon):
    with pytest.raises(TypeError, match=r"epsilon=\.\.\.\) must be"):
        Additive(epsilon)


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (0, "must be positive: got 0"),
        (-1.0, "must be positive: got -1"),
        ([1, 0, 1], "must be positive: got 0 for arm 1"),
        ([1, np.inf], "must be finite: got inf for arm 1"),
        ([], "must be a non-empty"),
        ([[1.0]], "must be a non-empty one-dimensional"),
    ],
)
def test_sigma_out_of_range(sigma, message):
    with pytest.raises(ValueError, match=rf"Gaussian\(sigma=\.\.\.\) {message}"):
        Gaussian(sigma)


def test_objectives_and_models_are_values():
    assert Additive(0.5) == Additive(0.5) != Multiplicative(0.5)
    assert Gaussian([1, 2]) == Gaussian((1.0, 2.0))
    assert len({Additive(0.5), Additive(0.5), Gaussian(2), Gaussian(2.0)}) == 2
    with pytest.raises(AttributeError):
        Additive(0.5).epsilon = 1.0


CALLS = {
    "best_response": lambda means: best_response(means, np.ones(np.size(means)), Additive(0.5)),
    "characteristic_time": lambda means: characteristic_time(means, Additive(0.5)),
    "lower_bounds": lambda means: lower_bounds(means, Additive(0.5), 0.1),
    "answer": lambda means: Additive(0.5).answer(means),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("means", "message"),
    [
        ([], r"got shape \(0,\)"),
        ([[1, 2], [3, 4]], r"got shape \(2, 2\)"),
        (3.0, r"got shape \(\)"),
        ([1, np.nan], "finite: got nan for arm 1"),
        ([np.inf, 1], "finite: got inf for arm 0"),
    ],
)
def test_means_that_are_no_instance(name, means, message):
    with pytest.raises(ValueError, match=f"means must be .*{message}"):
        CALLS[name](means)


@pytest.mark.parametrize("name", CALLS)
def test_means_that_are_no_numbers(name):
    with pytest.raises(TypeError, match="means must be numbers"):
        CALLS[name](["a", "b"])


def test_shapes_that_do_not_agree():
    with pytest.raises(ValueError, match="weights must have one entry per arm, 2: got 3"):
        best_response([1, 0], [1, 1, 1], Additive(0.5))
    with pytest.raises(ValueError, match="weights must not be negative: got -1 for arm 0"):
        best_response([1, 0], [-1, 1], Additive(0.5))
    with pytest.raises(
        ValueError, match=r"Gaussian\(sigma=\.\.\.\) must hold one value .* 2: got 3 values"
    ):
        characteristic_time([1, 0], Additive(0.5), Gaussian([1, 1, 1]))
    with pytest.raises(ValueError, match="start must have one entry per arm, 2: got 1"):
        characteristic_time([1, 0], Additive(0.5), start=[1])
    with pytest.raises(ValueError, match="start must have at least one positive entry"):
        characteristic_time([1, 0], Additive(0.5), start=[0, 0])
    with pytest.raises(
        ValueError, match='method must be "newton" or "mirror-ascent": got \'simplex\''
    ):
        characteristic_time([1, 0], Additive(0.5), method="simplex")
    with pytest.raises(ValueError, match="rtol must be positive: got 0"):
        characteristic_time([1, 0], Additive(0.5), rtol=0)
    with pytest.raises(ValueError, match="max_iterations must be at least 1: got 0"):
        characteristic_time([1, 0], Additive(0.5), max_iterations=0)
    with pytest.raises(TypeError, match=r"max_iterations must be a whole number: got 1\.5"):
        characteristic_time([1, 0], Additive(0.5), max_iterations=1.5)


def test_arguments_of_the_wrong_kind():
    for call in (
        lambda: best_response([1, 0], [1, 1], 0.5),
        lambda: characteristic_time([1, 0], 0.5),
        lambda: lower_bounds([1, 0], 0.5, 0.1),
    ):
        with pytest.raises(
            TypeError, match=r"objective must be Additive\(epsilon\) or .*: got 0\.5"
        ):
            call()
    with pytest.raises(TypeError, match=r"model must be Gaussian\(sigma\), .*: got 1\.0"):
        characteristic_time([1, 0], Additive(0.5), 1.0)
    with pytest.raises(TypeError, match="use Additive"):
        Objective(0.5)


def test_sizes_that_would_overflow():
    with pytest.raises(
        ValueError, match=r"means must not exceed 1e.60 in size: got 1e.160 for arm 0"
    ):
        characteristic_time([1e160, 0.5e160], Additive(0.3))
    with pytest.raises(ValueError, match=r"must not exceed 1e.60"):
        Additive(1e100)
    with pytest.raises(
        ValueError, match=r"Gaussian\(sigma=\.\.\.\) must be at least 1e-60: got 1e-80"
    ):
        Gaussian(1e-80)
    with pytest.raises(ValueError, match="must lie at least 1e-60 from the threshold"):
        characteristic_time([1e-80, 0.5e-80], Additive(0.3e-80))


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, np.nan])
def test_delta_out_of_range(delta):
    with pytest.raises(ValueError, match="delta must"):
        lower_bounds([1, 0], Additive(0.5), delta)
