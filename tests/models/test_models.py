"""The models: their divergences against sixty digits, what they refuse, and what they draw."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from allgood import (
    Additive,
    Arms,
    Bernoulli,
    Bounded,
    Exponential,
    Gaussian,
    Poisson,
    RewardTable,
    Uniform,
    best_response,
    characteristic_time,
    claims,
    intervals,
    run,
)
from allgood.evidence.claims import claim_spec
from allgood.kernels.tally import Tally
from allgood.models.base import Model, curvature, divergence, inverse, log_ratio, slope, variance
from allgood.simulation.samplers import pull

from ..reference import families as reference
from ..support.effort import examples

FAMILIES = {"Bernoulli": Bernoulli(), "Poisson": Poisson(), "Exponential": Exponential()}

size = st.floats(-12.0, 12.0).map(lambda x: 10.0**x)
share = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5]),
    st.floats(1e-30, 1.0),
    size.filter(lambda x: x < 1),
    size.map(lambda x: 1 / (1 + x)),
)


@st.composite
def two_means(draw, name=None):
    """(model, x, y), far apart, close, and at the ends of the range."""
    name = name or draw(st.sampled_from(sorted(FAMILIES)))
    one = (
        share
        if name == "Bernoulli"
        else size
        if name == "Exponential"
        else st.one_of(st.just(0.0), size)
    )
    x = draw(one)
    y = draw(
        st.one_of(
            one, st.sampled_from([1e-13, 1e-9, 1e-6, 1e-3, 0.009, 0.011]).map(lambda s: x * (1 + s))
        )
    )
    return name, x, min(y, reference.HIGH[name])


@examples(300)
@given(two_means())
def test_divergence_to_nearly_all_digits(case):
    name, x, y = case
    exact = reference.exact_divergence(name, x, y)
    found = divergence(FAMILIES[name], x, y)
    assert found == exact or abs(found - exact) <= 1e-10 * exact


@examples(100)
@given(two_means())
def test_slope_and_curvature_are_derivatives(case):
    name, x, y = case
    model = FAMILIES[name]
    assume(1e-4 < y < 1 - 1e-4 if name == "Bernoulli" else y > 0)
    step = 1e-5 * (min(y, 1 - y) if name == "Bernoulli" else y)
    centre = slope(model, x, y)
    scale = abs(x - y) / variance(model, y) + step / variance(model, y)
    rise = (divergence(model, x, y + step) - divergence(model, x, y - step)) / (2 * step)
    noise = 1e-10 * divergence(model, x, y) / step
    assert abs(rise - centre) <= 1e-4 * scale + noise
    second = (slope(model, x, y + step) - slope(model, x, y - step)) / (2 * step)
    assert curvature(model, x, y) == pytest.approx(
        second, rel=1e-6, abs=1e-6 / variance(model, y) * (1 + abs(x - y) / y)
    )


@examples(150)
@given(two_means(), st.floats(-12.0, 2.5).map(lambda x: 10.0**x), st.booleans())
def test_inverse_inverts(case, level, up):
    name, x, _ = case
    model, high = FAMILIES[name], reference.HIGH[name]
    y = inverse(model, x, level, up)
    assert y >= x if up else y <= x
    end = high if up else 0.0
    if y == end:  # all divergences before it are less, up to where 200 halvings go
        before = np.nextafter(1.0, 0.0) if up else 1e-60 * x
        assert x == end or math.isinf(end) or divergence(model, x, before) <= level
    else:
        rounding = 2e-16 * y * abs(slope(model, x, y))
        assert abs(divergence(model, x, y) - level) <= 1e-9 * level + rounding


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_shift_changes_the_likelihood_by_so_much(name):
    """Against densities at the two means, and no loss at tiny shifts."""
    model = FAMILIES[name]
    for n, total, x in (
        (7.0, 3.0, 0.4),
        (1000.0, 999.0, 0.99),
        (3.0, 0.0, 0.01),
        (40.0, 11.0, 0.3),
    ):
        S = max(total, 0.5) if name == "Exponential" else total
        for eta in (-3.0, -0.01, 1e-3, 0.7, 3.0):
            expected = float(reference.log_ratio(name, n, S, np.array([x]), eta)[0])
            assert log_ratio(model, n, S / n, 0.0, x, eta) == pytest.approx(
                expected, rel=1e-9, abs=1e-9 * n
            )


def test_variance_is_one_over_the_curvature_at_no_distance():
    for name, model in FAMILIES.items():
        for x in (0.01, 0.5, 0.9) if name == "Bernoulli" else (0.01, 1.0, 300.0):
            assert curvature(model, x, x) == pytest.approx(1 / variance(model, x), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "sigma"),
    [
        (Bounded(0, 1), 0.5),
        (Bounded(-3.0, 5.0), 4.0),
        (Bernoulli(), 0.5),
        (Gaussian((1.0, 2.0)), None),
    ],
)
def test_sigmas(model, sigma):
    assert model.sigmas(2).tolist() == ([1.0, 2.0] if sigma is None else [sigma, sigma])


def test_bounded_rewards_are_treated_as_normal_ones():
    by_range = best_response([3.0, 1.0, 2.9], [1, 2, 3], Additive(0.5), Bounded(-1.0, 5.0))
    by_sigma = best_response([3.0, 1.0, 2.9], [1, 2, 3], Additive(0.5), Gaussian(3.0))
    assert by_range.cost == by_sigma.cost
    assert not Bounded(0, 1).exact
    assert Bernoulli().exact


@pytest.mark.parametrize(
    ("model", "rewards", "message"),
    [
        (Bernoulli(), [0, 1, 0.3], r"rewards must be 0 or 1 for Bernoulli\(\): got 0.3 at 2\."),
        (
            Poisson(),
            [0, -1, 3],
            r"rewards must be whole numbers of at least 0 for Poisson\(\): got -1 at 1\.",
        ),
        (
            Poisson(),
            [[2.5]],
            r"rewards must be whole numbers of at least 0 for Poisson\(\): got 2.5 at \(0, 0\)\.",
        ),
        (
            Exponential(),
            [1e-9, 0.0],
            r"rewards must be numbers above 0 for Exponential\(\): got 0 at 1\.",
        ),
        (
            Exponential(),
            [np.inf],
            r"rewards must be numbers above 0 for Exponential\(\): got inf at 0\.",
        ),
        (
            Bounded(0, 2),
            [0, 2, 2.1],
            r"rewards must be numbers from 0 to 2 for Bounded\(.*\): got 2.1 at 2\.",
        ),
        (
            Bounded(0, 2),
            [np.nan],
            r"rewards must be numbers from 0 to 2 for Bounded\(.*\): got nan at 0\.",
        ),
        (
            Gaussian(None),
            [np.nan],
            r"rewards must be finite numbers for Gaussian\(sigma=None\): got nan at 0\.",
        ),
    ],
)
def test_impossible_rewards(model, rewards, message):
    with pytest.raises(ValueError, match=message):
        model.check_rewards(rewards)


@pytest.mark.parametrize(
    ("model", "rewards"),
    [
        (Bernoulli(), [0, 1]),
        (Poisson(), [0, 7e15]),
        (Exponential(), [1e-300, 1e300]),
        (Bounded(0, 2), [0.0, 2.0]),
    ],
)
def test_possible_rewards(model, rewards):
    assert model.check_rewards(rewards).tolist() == rewards


@pytest.mark.parametrize(
    ("model", "means", "message"),
    [
        (Bernoulli(), [0.5, 1.2], r"must lie in \[0, 1\] for Bernoulli\(\): got 1.2 for arm 1\."),
        (Poisson(), [-0.1, 2.0], r"must lie in \[0, inf\) for Poisson\(\): got -0.1 for arm 0\."),
        (
            Exponential(),
            [0.0, 1.0],
            r"must lie in \(0, inf\) for Exponential\(\): got 0 for arm 0\.",
        ),
        (
            Bounded(-1, 2),
            [0.0, 2.5],
            r"must lie in \[-1, 2\] for Bounded\(.*\): got 2.5 for arm 1\.",
        ),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda means, model: best_response(means, [1, 1], Additive(0.5), model),
        lambda means, model: characteristic_time(means, Additive(0.5), model),
        lambda means, model: claims([5, 5], means, Additive(0.5), 0.1, model),
        Arms,
    ],
)
def test_means_outside_the_range(call, model, means, message):
    with pytest.raises(ValueError, match=message):
        call(means, model)


def test_averages_that_leave_the_range_by_rounding_are_put_back():
    """(0.1 + 0.1 + 0.1)/3 is a little more than 0.1."""
    average = (0.1 + 0.1 + 0.1) / 3
    assert average > 0.1
    assert Bounded(0, 0.1).check_means(np.array([average, 0.05])).tolist() == [0.1, 0.05]
    assert (
        run(
            Uniform(Additive(0.05), 0.1), RewardTable(np.full((2, 3), 0.1)), Bounded(0, 0.1)
        ).means.max()
        > 0.1
    )


def test_only_arms_with_rewards_have_a_mean_to_check():
    with pytest.raises(ValueError, match=r"got 1\.5 for arm 2"):
        claims([0, 5, 5], [7.0, 0.5, 1.5], Additive(0.5), 0.1, Bernoulli())
    with pytest.raises(ValueError, match=r"got 1\.5 for arm 2"):
        intervals([0, 5, 5], [7.0, 0.5, 1.5], 0.1, Bernoulli())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: Bounded(1, 1),
            ValueError,
            r"Bounded\(low, high\) must have low below high: got 1 and 1",
        ),
        (lambda: Bounded(0, np.inf), ValueError, r"Bounded\(high=\.\.\.\) must be finite: got inf"),
        (
            lambda: Bounded("a", 1),
            TypeError,
            r"Bounded\(low=\.\.\.\) must be a real number: got 'a'",
        ),
        (
            lambda: Arms([0.0], Gaussian(None)),
            ValueError,
            r"Arms\(model=\.\.\.\) must state the noise .*: got Gaussian",
        ),
        (lambda: Arms([0.0], Model()), TypeError, r"model must be Gaussian\(sigma\), .*: got \(\)"),
        (lambda: Arms([0.0], "Bernoulli"), TypeError, "model must be .*: got 'Bernoulli'"),
        (
            lambda: best_response([0.0, 1.0], [1, 1], Additive(0.5), Gaussian(None)),
            ValueError,
            "model must state its noise here: got .*whose sigma is unknown",
        ),
        (
            lambda: characteristic_time(
                [0.1, 0.2], Additive(0.5), Poisson(), method="mirror-ascent"
            ),
            ValueError,
            r'method must be "newton", .* for Poisson\(\): got \'mirror-ascent\'',
        ),
        (
            lambda: characteristic_time([0.1, 0.2], Additive(0.5), Poisson(), start=[1, 1]),
            ValueError,
            r"start left out, for Poisson\(\): got .*\[1, 1\]",
        ),
        (
            lambda: Poisson().sigmas(2),
            ValueError,
            r"must have sub-Gaussian rewards of known sigma here: got Poisson\(\)",
        ),
        (
            lambda: RewardTable([[1.0, 0.0], [0.5, 1.0]]).start(Bernoulli(), None),
            ValueError,
            r"RewardTable\(rewards\) must be 0 or 1 for Bernoulli\(\): got 0.5 at \(1, 0\)",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def draws(model, mean, runs):
    sampler, tally = Arms([mean], model).start(model, np.random.default_rng(11)), Tally(1)
    return np.array([pull(sampler, 0, tally) for _ in range(runs)])


@pytest.mark.parametrize(
    ("model", "mean", "sigma2"),
    [
        (Gaussian(2.0), 1.0, 4.0),
        (Bernoulli(), 0.03, 0.0291),
        (Poisson(), 4.0, 4.0),
        (Exponential(), 3.0, 9.0),
        (Bounded(-1, 3), 0.5, 1.5 * 2.5),
    ],
)
def test_rewards_have_the_mean_and_the_variance_of_their_law(model, mean, sigma2):
    """Five standard errors: each of the ten comparisons would fail by chance once in a million."""
    x = draws(model, mean, 20_000)
    assert model.possible(x).all()
    squares = (x - mean) ** 2
    assert abs(x.mean() - mean) < 5 * math.sqrt(sigma2 / x.size)
    assert abs(squares.mean() - sigma2) < 5 * squares.std() / math.sqrt(x.size)


def test_control_a_mean_six_standard_errors_off_is_caught():
    x = draws(Poisson(), 4.0, 20_000)
    assert abs(x.mean() - (4.0 + 11 * 2.0 / math.sqrt(x.size))) > 5 * 2.0 / math.sqrt(x.size)


def test_sure_rewards():
    assert draws(Bernoulli(), 1.0, 50).tolist() == [1.0] * 50
    assert draws(Poisson(), 0.0, 50).tolist() == [0.0] * 50


class ManyEffects(Bernoulli):
    """A model of a user, with more effects than the kernels of the evidence have room for."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def effects(self, num_arms):
        w = np.full(self.number, 1.0 / self.number)
        return (
            np.append(np.geomspace(3.0, 1e-3, self.number - 1), 0.0),
            np.outer(w, w),
            np.zeros(0),
            w,
        )


class WrongWeights(Bernoulli):
    def effects(self, num_arms):
        rho, W, T, w = super().effects(num_arms)
        return rho, W[1:], T, w


def test_a_model_with_more_effects_than_kernels_hold_is_refused():
    """It ended in a segmentation fault."""
    data = [400, 400], [0.9, 0.1], Additive(0.2), 0.1
    assert claims(*data, ManyEffects(16)).good[0]
    many = ManyEffects(17)
    calls = [
        lambda: Model.check(many),
        lambda: claims(*data, many),
        lambda: intervals(*data[:2], 0.1, many),
        lambda: claim_spec(Additive(0.2), 0.1, 2, many, 0.0),
    ]
    for call in calls:
        with pytest.raises(
            ValueError, match=r"ManyEffects\.effects must return 1 to 16 effects: got 17 for 2 arms"
        ):
            call()
    with pytest.raises(
        ValueError, match=r"WrongWeights\.effects must return J sizes, J x J weights"
    ):
        claims(*data, WrongWeights())
