"""How strange a reward is: bounds on its chance against exact chances, and by drawing.

Each of these was broken once to see a test fail: the factor 2, 1 + 1/n, the degrees of freedom, the
side of the tail.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from allgood import Bernoulli, Bounded, Exponential, Gaussian, Poisson

from ..reference import chances as exact

UNKNOWN, TIMES, COUNTS = Gaussian(None), Exponential(), Poisson()
ROUNDING = 1e-9  # relative, and in nats: exact chances come from sums and integrals

numbers = st.one_of(st.sampled_from([1, 2, 3]), st.integers(1, 10**9))
sizes = st.floats(-9.0, 9.0).map(lambda x: 10.0**x)
distances = st.one_of(st.just(0.0), st.floats(0.0, 40.0), st.floats(0.0, 1e6))
signs = st.sampled_from([-1.0, 1.0])


def is_bound(found, wanted, factor):
    """Whether a chance is not below the exact one, nor more than so many times above it."""
    room = ROUNDING * (1.0 + abs(wanted))
    return wanted - room <= found <= min(wanted + math.log(factor), 0.0) + room


@given(sizes, numbers, distances, signs, st.floats(-1e3, 1e3))
def test_normal_rewards(sigma, n, z, sign, m):
    """exp(-z^2/2) / P(Z >= z) is below sqrt(2 pi) (z + 1)."""
    m *= sigma
    x = m + sign * z * sigma * math.sqrt(1.0 + 1.0 / n)
    z = (x - m) / (sigma * math.sqrt(1.0 + 1.0 / n))  # rounded as x is
    found = Gaussian(sigma).log_chance(x, n, m, 0.0, 0)
    assert is_bound(found, exact.log_normal(z), math.sqrt(2.0 * math.pi) * (abs(z) + 1.0))


def test_every_arm_has_its_own_sigma():
    model = Gaussian([1.0, 10.0])
    assert model.log_chance(20.0, 3, 0.0, 0.0, 0) < -100.0
    assert model.log_chance(20.0, 3, 0.0, 0.0, 1) == Gaussian(10.0).log_chance(20.0, 3, 0, 0, 0)


@given(st.integers(0, 400), st.integers(1, 40), st.integers(0, 1500))
def test_counts(x, n, S):
    """exp(-T d) / P(X = x) is at most sqrt(8 x (T - x) / T), and 1 at both ends.

    (Stirling's formula; the probability of one count is at most that of the tail that it begins.)
    """
    T = S + x
    factor = max(math.sqrt(8.0 * x * S / T), 1.0) if T else 1.0
    assert is_bound(COUNTS.log_chance(x, n, S / n, 0.0, 0), exact.log_poisson(x, n, S), factor)


@pytest.mark.parametrize(("n", "T"), [(1, 1), (1, 30), (2, 7), (5, 200), (40, 300)])
def test_counts_at_least_as_strange_are_no_more_likely_than_the_bound(n, T):
    """Both tails together, given the sum of all counts."""
    p = np.exp(exact.log_binomial(T, 1.0 / (n + 1.0)))
    found = np.array([COUNTS.log_chance(x, n, (T - x) / n, 0.0, 0) for x in range(T + 1)])
    for item in found:
        assert p[found <= item + ROUNDING].sum() <= math.exp(item) * (1.0 + 2.0 * ROUNDING)


@given(numbers, st.integers(10, 15), st.floats(-3.0, 3.0))
def test_counts_of_any_size(n, power, z):
    """Large counts look normal, and no digits are lost (as they once were)."""
    m = 10.0**power
    x = float(round(m + z * math.sqrt(m * (1.0 + 1.0 / n))))
    assert COUNTS.log_chance(x, n, m, 0.0, 0) == pytest.approx(
        min(math.log(2.0) - 0.5 * z * z, 0.0), abs=1e-3
    )


def test_counts_of_zero():
    assert COUNTS.log_chance(0.0, 7, 0.0, 0.0, 0) == 0.0
    assert COUNTS.log_chance(0.0, 1, 10.0, 0.0, 0) == pytest.approx(-9.0 * math.log(2.0))
    assert COUNTS.log_chance(10.0, 1, 0.0, 0.0, 0) == pytest.approx(-9.0 * math.log(2.0))


@given(sizes, st.one_of(st.integers(1, 5), st.integers(1, 2000)), st.floats(-30.0, 30.0))
def test_times(m, n, log_x):
    """The chance itself."""
    x = m * math.exp(log_x)
    found, wanted = TIMES.log_chance(x, n, m, 0.0, 0), exact.log_exponential(x, n, n * m)
    assert found == pytest.approx(wanted, rel=ROUNDING, abs=ROUNDING)


@given(
    st.one_of(st.integers(2, 6), st.integers(2, 10**6)),
    st.one_of(st.floats(0.01, 10.0), st.floats(0.01, 1e5)),
    sizes,
    signs,
)
def test_rewards_of_unknown_sigma(n, t, sigma, sign):
    """At most 2.6 times the exact chance: most of that with three rewards, and t about 1.3."""
    f = n - 1
    Q = f * sigma**2 / (1.0 + 1.0 / n)
    found = UNKNOWN.log_chance(sign * t * sigma, n, 0.0, Q, 0)
    assert is_bound(found, exact.log_student(t, f), 2.6)


def test_nothing_is_known_of_an_unknown_sigma():
    assert UNKNOWN.log_chance(1e9, 1, 0.0, 0.0, 0) == 0.0  # from one reward
    assert UNKNOWN.log_chance(1e9, 100, 0.0, 0.0, 0) == 0.0  # from rewards that are all equal
    assert UNKNOWN.log_chance(0.0, 100, 0.0, 1.0, 0) == 0.0  # at their mean


@given(numbers, st.floats(-2.0, 3.0), st.floats(-2.0, 3.0))
def test_no_reward_is_strange_where_the_law_is_only_a_range(n, x, m):
    """No single one: its chance is never as small as the level of any study, 1e-3/(n (n + 1))."""
    level = -math.log(1000.0 * n * (n + 1))
    S = round(n * min(abs(m), 1.0))
    assert Bernoulli().log_chance(float(x > 0.5), n, S / n, 0.0, 0) > level
    assert Bounded(-2.0, 3.0).log_chance(x, n, m, 0.0, 0) > level


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_bounds_are_those_of_the_list_of_all_rewards(seed, n):
    """The formulas, by the twin; normal rewards may be sub-Gaussian, where the factor 2 counts."""
    rng = np.random.default_rng(seed)
    for name, model, rewards in (
        ("normal", Gaussian(2.0), rng.normal(5.0, 9.0, n + 1)),
        ("unknown sigma", UNKNOWN, rng.normal(5.0, 9.0, n + 1)),
        ("poisson", COUNTS, rng.poisson(rng.choice([1.0, 30.0], n + 1)).astype(float)),
        ("exponential", TIMES, rng.exponential(rng.choice([1.0, 30.0], n + 1))),
    ):
        *others, x = rewards.tolist()
        m, Q = np.mean(others), np.var(others) * n
        wanted = exact.log_bound(name, x, others, 2.0)
        assert model.log_chance(x, n, m, Q, 0) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


CENTRES = {  # model, scatter, and the middle of the model of the next reward, from n and m
    "normal": (Gaussian(2.0), 0.0, lambda n, m: m),
    "counts": (COUNTS, 0.0, lambda n, m: m),
    "times": (TIMES, 0.0, lambda n, m: n * m * math.expm1(math.log(2.0) / n)),
    "unknown": (UNKNOWN, 30.0, lambda n, m: m),
}


@pytest.mark.parametrize("name", CENTRES)
@given(st.one_of(st.integers(1, 4), st.integers(1, 10**6)), st.floats(0.1, 1e3), st.booleans())
def test_farther_off_is_less_likely(name, n, m, up):
    model, Q, middle = CENTRES[name]
    end = middle(n, m) + 1e4 if up else 0.0
    places = np.linspace(middle(n, m), end, 40)
    found = [model.log_chance(x, n, m, Q, 0) for x in places.tolist()]
    assert found[0] == pytest.approx(0.0, abs=1e-6)
    assert all(b <= a + ROUNDING * (1.0 + abs(a)) for a, b in itertools.pairwise(found))
    assert found[-1] < -1.0 or not up or (name == "unknown" and n == 1)


@given(st.integers(1, 1000), sizes, st.floats(-9.0, 9.0), st.floats(0.1, 9.0))
def test_units_do_not_matter(n, unit, x, m):
    """Scaling everything by a factor, and shifting where the model has no zero of its own."""
    shifted = (x + 3.0 - (m + 3.0)) + m  # what rounding leaves of x
    for shift in (0.0, 3.0):
        y, mean = unit * (shifted + shift), unit * (m + shift)
        one = Gaussian(1.0).log_chance(shifted, n, m, 0.0, 0)
        assert Gaussian(unit).log_chance(y, n, mean, 0.0, 0) == pytest.approx(one, rel=1e-6)
        one = UNKNOWN.log_chance(shifted, n, m, 4.0 * n, 0)
        two = UNKNOWN.log_chance(y, n, mean, 4.0 * n * unit**2, 0)
        assert two == pytest.approx(one, rel=1e-6, abs=1e-6)
    time = abs(x) + 1e-3
    one = TIMES.log_chance(time, n, m, 0.0, 0)
    assert TIMES.log_chance(unit * time, n, unit * m, 0.0, 0) == pytest.approx(one, rel=1e-9)


def test_huge_and_tiny_rewards():
    """As large and as small as a study takes them."""
    assert Gaussian(1.0).log_chance(1e60, 1, -1e60, 0.0, 0) < -1e100
    assert UNKNOWN.log_chance(1e60, 3, 0.0, 1.0, 0) == pytest.approx(-276, abs=2)
    assert TIMES.log_chance(1e60, 1, 1e-60, 0.0, 0) == pytest.approx(-120 * math.log(10), abs=1)
    assert TIMES.log_chance(1e-60, 1, 1e60, 0.0, 0) == pytest.approx(-120 * math.log(10), abs=1)
    assert COUNTS.log_chance(1e60, 1, 0.0, 0.0, 0) < -1e59


# By drawing: the share of true rewards whose chance is below a level is at most the level.

LEVEL, RUNS = 0.05, 6000


def drawn(name, n, rng):
    """n rewards and one more."""
    if name == "counts":
        return rng.poisson(6.0, n + 1).astype(float)
    return rng.exponential(3.0, n + 1) if name == "times" else rng.normal(5.0, 2.0, n + 1)


def strange(name, n, wrong):
    """How many of RUNS rewards have a chance below LEVEL; ``wrong``: by a mistaken formula."""
    rng, model, found = np.random.default_rng(n), CENTRES[name][0], 0
    for _ in range(RUNS):
        *others, x = drawn(name, n, rng).tolist()
        m = sum(others) / n
        Q, count = sum((y - m) ** 2 for y in others), n
        if wrong and name == "times":
            count = 50  # as if they were many
        elif wrong:
            x = max(m + 2.0 * (x - m), 0.0 if name == "counts" else -math.inf)  # twice as far
        found += model.log_chance(x, count, m, Q, 0) < math.log(LEVEL)
    return found


@pytest.mark.parametrize(
    ("name", "n"), [("normal", 1), ("counts", 2), ("times", 1), ("times", 6), ("unknown", 4)]
)
def test_true_rewards_are_strange_as_rarely_as_stated(name, n):
    """Each fails with probability at most 1e-6 where the bound holds.  The control must fail."""
    assert binom.sf(strange(name, n, wrong=False) - 1, RUNS, LEVEL) > 1e-6
    assert binom.sf(strange(name, n, wrong=True) - 1, RUNS, LEVEL) <= 1e-6
