"""Lower bounds: the formulas term by term, and None with a sentence where they are not bounds."""

import math
from dataclasses import replace

import numpy as np
import pytest

from allgood import Additive, Gaussian, Multiplicative, characteristic_time, lower_bounds

from ..reference import bounds as reference
from ..support.instances import draw_instance

PAPER = [1, 1, 1, 1, 0.05]


@pytest.mark.parametrize("delta", [0.4, 0.1, 0.01, 1e-10])
def test_asymptotic_forms(delta):
    b = lower_bounds(PAPER, Additive(0.9), delta)
    assert b.asymptotic == pytest.approx(3200 * reference.kl(delta, 1 - delta), rel=1e-6)
    assert b.asymptotic_log == pytest.approx(3200 * math.log(1 / (2.4 * delta)), rel=1e-6)
    assert b.asymptotic >= b.asymptotic_log
    assert b.asymptotic <= 3200 * reference.kl(delta, 1 - delta) * (
        1 + 1e-12
    )  # uses the certified side


def test_moderate_and_mason_equal_their_slow_twins():
    rng = np.random.default_rng(9)
    for _ in range(300):
        means = rng.normal(size=int(rng.integers(2, 9)))
        epsilon = float(rng.uniform(0.2, 1.5))
        sigma = float(rng.uniform(0.5, 2))
        b = lower_bounds(means, Additive(epsilon), 0.05, Gaussian(sigma))
        good = Additive(epsilon).answer(means)
        if good.all():
            assert b.moderate is None
        else:
            assert b.moderate == pytest.approx(reference.moderate(means.tolist(), epsilon, sigma))
        f = reference.mason(means.tolist(), epsilon, [sigma] * means.size)
        assert b.mason_complexity == pytest.approx(f)
        if good.sum() == 1:
            assert b.mason is None
        else:
            assert b.mason == pytest.approx(f * math.log(1 / (2.4 * 0.05)))


def test_masons_bound_never_exceeds_the_asymptotic_one():
    """f <= T* wherever two arms are good, for any sigmas: so ``mason`` is a bound there."""
    rng = np.random.default_rng(10)
    seen = 0
    while seen < 300:
        means, objective = draw_instance(rng, int(rng.integers(2, 12)))
        if not isinstance(objective, Additive) or objective.answer(means).sum() < 2:
            continue
        model = Gaussian(rng.uniform(0.5, 2, size=means.size))
        time = characteristic_time(means, objective, model)
        b = lower_bounds(means, objective, 0.1, model, characteristic=time)
        assert b.mason_complexity <= time.value * (1 + 1e-9)
        seen += 1


def test_remark_1_of_the_paper_fails_for_a_single_good_arm():
    """(0.9, 0.6), epsilon 0.05: f = 832 and T* = 128."""
    b = lower_bounds([0.9, 0.6], Additive(0.05), 0.1)
    assert b.mason_complexity == pytest.approx(832)
    assert b.characteristic_time.value == pytest.approx(128, rel=1e-6)
    assert b.mason is None
    assert "two good arms" in b.reasons["mason"]


@pytest.mark.parametrize(
    ("means", "objective", "delta", "sigma", "name", "why"),
    [
        (PAPER, Additive(0.9), 0.2, 1.0, "moderate", "delta <= 1/10"),
        ([1, 0.8], Additive(0.5), 0.1, 1.0, "moderate", "at least one bad arm"),
        (PAPER, Additive(0.9), 0.1, [1, 1, 1, 1, 2], "moderate", "one sigma"),
        ([1, 0.2], Multiplicative(0.5), 0.1, 1.0, "moderate", "additive objective only"),
        ([1, 0.2], Multiplicative(0.5), 0.1, 1.0, "mason", "additive objective only"),
        ([1], Additive(0.5), 0.1, 1.0, "mason", "One arm alone"),
        (PAPER, Additive(0.9), 0.6, 1.0, "asymptotic", "delta <= 1/2"),
        (PAPER, Additive(0.9), 0.45, 1.0, "asymptotic_log", "delta < 1/2.4"),
        (PAPER, Additive(0.9), 0.45, 1.0, "mason", "delta < 1/2.4"),
        ([1, 0.6, 0.5], Additive(0.5), 0.1, 1.0, "moderate", "bad arm"),
    ],
)
def test_none_with_a_sentence(means, objective, delta, sigma, name, why):
    b = lower_bounds(means, objective, delta, Gaussian(sigma))
    assert getattr(b, name) is None
    assert why in b.reasons[name]


def test_every_none_has_a_reason_and_every_reason_a_none():
    rng = np.random.default_rng(12)
    for _ in range(200):
        means, objective = draw_instance(rng, int(rng.integers(1, 7)))
        b = lower_bounds(means, objective, float(rng.uniform(0.001, 0.999)))
        missing = {
            n
            for n in ("asymptotic", "asymptotic_log", "moderate", "mason")
            if getattr(b, n) is None
        }
        assert missing == set(b.reasons)
        assert b.best >= 0


def test_extreme_risks_do_not_overflow():
    b = lower_bounds([1, 0.2], Additive(0.5), 1e-310)
    assert b.asymptotic == pytest.approx(8 / 0.3**2 * 310 * math.log(10), rel=1e-6)
    assert lower_bounds([1.0], Additive(0.5), 1e-310).asymptotic == 0.0


def test_the_moderate_bound_does_not_hang_on_rounding():
    """Arms at exactly beta below the best count as near it, in any units."""
    small = lower_bounds([0.6, 0.1, 0.8, 0.6], Additive(0.5), 0.1).moderate
    assert lower_bounds([6, 1, 8, 6], Additive(5), 0.1).moderate * 100 == pytest.approx(small)


def test_kl_is_zero_at_one_half_even_when_undecidable():
    assert lower_bounds([1, 0.5], Additive(0.5), 0.5).asymptotic == 0.0
    assert lower_bounds([1, 0.5], Additive(0.5), 0.1).asymptotic == math.inf


def test_the_moderate_bound_overtakes_the_asymptotic_one_with_many_arms():
    """The appendix's example: mu_1 = beta, mu_K = -epsilon, the rest at -beta."""
    beta, epsilon = 0.01, 1.0
    ratios = []
    for K in (10, 100, 1000, 10_000):
        means = [beta] + [-beta] * (K - 2) + [-epsilon]
        b = lower_bounds(means, Additive(epsilon), 0.1)
        assert b.characteristic_time.value <= 8 / beta**2 + 4 * (K - 2) / (epsilon - 2 * beta) ** 2
        ratios.append(b.moderate / b.asymptotic)
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]


def test_a_loose_bound_says_so():
    means, objective = [1, 0.8, 0.55, 0.5, 0.3, 0.1], Multiplicative(0.3)
    short = characteristic_time(means, objective, max_iterations=1)
    b = lower_bounds(means, objective, 0.1, characteristic=short)
    assert b.gap == pytest.approx(short.gap)
    assert b.gap > 0.03
    assert b.remark == (
        "This lower bound holds but may be loose: with T* known exactly it could be up to "
        f"{100 * short.gap:,.0f} % higher."
    )
    exact = lower_bounds(means, objective, 0.1)
    assert exact.gap <= 1e-6
    assert exact.remark is None
    assert b.best <= exact.best <= b.best * (1 + b.gap)


def test_another_bound_may_close_the_gap():
    means = [1, 0.8, 0.55, 0.5, 0.3, 0.1]
    time = characteristic_time(means, Additive(0.3))
    short = replace(time, lower_bound=time.lower_bound / 5.0, gap=5.0 * (1 + time.gap) - 1)
    b = lower_bounds(means, Additive(0.3), 0.1, characteristic=short)
    assert b.mason == b.best > b.asymptotic
    assert b.gap < short.gap
    exact = max(b.best, b.asymptotic * (1 + short.gap))
    assert b.best * (1 + b.gap) == pytest.approx(exact)
    assert lower_bounds([0.9, 0.4], Additive(0.5), 0.5).gap == 0.0


def test_the_characteristic_time_of_another_instance_is_refused():
    time = characteristic_time([1, 0.2], Additive(0.5))
    with pytest.raises(
        ValueError, match="characteristic must be of the same instance, with 5 arms: got 2 weights"
    ):
        lower_bounds(PAPER, Additive(0.9), 0.1, characteristic=time)
