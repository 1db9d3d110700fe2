"""Evidence and claims: by integrals and a general minimiser, at extremes, as a promise kept."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from allgood import (
    Additive,
    Bernoulli,
    ClaimByClaim,
    Gaussian,
    Multiplicative,
    claims,
    follow,
    intervals,
)
from allgood.evidence.claims import claim_spec
from allgood.evidence.normal import arm_evidence
from allgood.evidence.normal import pair_evidence as pair_of
from allgood.evidence.spec import BAD, GOOD, OPEN, POOL
from allgood.kernels.special import half_normal, mean_excess

from ..reference import evidence as reference


def asked(num_arms, factor=1.0):
    """The question for so many arms, additive or with this factor."""
    objective = Additive(0.5) if factor == 1.0 else Multiplicative(1.0 - factor)
    return claim_spec(objective, 0.1, num_arms, Gaussian(), 0.9)


ASK = asked(5)
RHO, W, T, w = (np.asarray(part) for part in (ASK.rho, ASK.W, ASK.T, ASK.w))


def pair_evidence(v_k, v_l, G, spec=ASK, u_k=1.0, u_l=1.0):
    return pair_of(v_k, v_l, G, u_k, u_l, spec)


def log_half_normal(y):
    g, x = half_normal(y)
    return math.log(g) + x


PLACES = [0.0, 1e-9, 0.3, 1.0, 3.5, 5.0, 8.0, 40.0, 1e3, 1e8]


@pytest.mark.parametrize("y", [-y for y in PLACES] + PLACES)
def test_half_normal(y):
    exact = float(reference.log_half_normal(np.array(y)))
    assert log_half_normal(y) == pytest.approx(exact, rel=1e-13, abs=2e-15)


def test_mean_excess_keeps_all_digits():
    """By the continued fraction where that converges soon, and by erfcx where no digits cancel."""
    far = np.geomspace(1.0, 1e12, 300)
    found = [mean_excess(x) for x in far]
    assert found == pytest.approx(reference.mean_excess(far), rel=2e-15)
    for x in np.linspace(0.0, 1.0, 50):
        hazard = math.sqrt(2.0 / math.pi) / math.exp(reference.log_half_normal(np.array(-x)))
        assert mean_excess(x) == pytest.approx(hazard - x, rel=4e-15)


def test_curvature_of_the_half_normal_is_at_least_what_the_search_relies_on():
    """(log H)'' = 1 - s (x + s) at y = -x, with s the mean excess; ``factors`` says of what."""

    def curvature(x):
        s = reference.mean_excess(x)
        return 1.0 - s * (x + s)

    assert curvature(1.0) >= 0.19
    x = np.linspace(0.0, 300.0, 3001)
    assert (curvature(x + 1.0) >= 0.3 * np.array([mean_excess(y) for y in x]) ** 2).all()
    assert (curvature(x + 1.1) < curvature(x + 1.0)).all()


def test_tied_evidence_is_the_integral_over_one_effect():
    """Two arms in the best proportions: the place to meet drops out, and one sample is left."""
    spec = asked(2)
    weights = np.array(spec.w)
    np.asarray(spec.W)[:] = 0.0
    np.asarray(spec.T)[:] = weights
    for sigma_k, sigma_l, n_k, n_l in ((1.0, 1.0, 50, 50), (2.0, 1.0, 400, 200)):
        for G in (-0.1, 0.2, 0.5):
            u_k, u_l = 1 / sigma_k**2, 1 / sigma_l**2
            found, _ = pair_evidence(n_k * u_k, n_l * u_l, G, spec, u_k, u_l)
            distance = G * n_l / sigma_l / (n_k + n_l)
            logs = [
                reference.log_mixture_by_integration(n_k + n_l, distance, rho) for rho in spec.rho
            ]
            assert found == pytest.approx(math.log(weights @ np.exp(logs)), abs=1e-7)


def test_one_sided_evidence_is_the_integral_over_a_half_normal_effect():
    for v in (1.0, 40.0, 1e4):
        for distance in (-0.5, -0.01, 0.0, 0.02, 0.3):
            for rho in (30.0, 3e4):
                y = v * distance / math.sqrt(v + rho)
                value = log_half_normal(y) - 0.5 * math.log1p(v / rho)
                assert value == pytest.approx(
                    reference.log_mixture_by_integration(v, distance, rho), abs=1e-8
                )


def limits(exact):
    """Of the evidence that is found: never above the minimum, and hardly below it."""
    return exact + 1e-12 * (1.0 + abs(exact)), exact - 1e-8 * (1.0 + abs(exact))


FACTORS = (1.0, 0.9, 0.3, 0.05)
SPECS = {(K, c): asked(K, c) for K in (2, 5) for c in FACTORS}


@given(
    st.sampled_from([2, 5]),
    st.sampled_from(FACTORS),
    st.floats(0.0, 7.0),
    st.floats(0.0, 7.0),
    st.floats(-4.0, 40.0),
    st.floats(-1.5, 1.5),
    st.sampled_from([1e-8, 1.0, 1.0, 1e8]),
)
def test_pair_evidence_is_the_minimum_from_below(K, c, log_k, log_l, size, log_ratio, scale):
    """One arm may have a single reward, or much less noise; scales may be tiny or huge."""
    sigma_k, sigma_l = scale, scale * 10.0**log_ratio
    v_k, v_l = 10.0**log_k / sigma_k**2, 10.0**log_l / sigma_l**2
    G = size * math.sqrt(1.0 / v_k + c * c / v_l)
    found, _ = pair_evidence(v_k, v_l, G, SPECS[K, c], sigma_k**-2, sigma_l**-2)
    high, low = limits(reference.pair(v_k, v_l, G, c, sigma_k, sigma_l, K))
    assert low <= found <= high


def test_pair_evidence_where_two_slopes_meet():
    """Nearly an edge: Newton's method alone would jump from one side to the other."""
    found, _ = pair_evidence(12.0, 75.0, 5.0 * math.sqrt(25 / 300 + 0.04 / 3), asked(2), 0.04, 25.0)
    assert found == pytest.approx(5.054162504, abs=1e-8)
    rng = np.random.default_rng(8)
    for _ in range(300):
        (sigma_k, sigma_l), (n_k, n_l) = 10 ** rng.uniform(-1, 1, 2), 10 ** rng.uniform(0, 4, 2)
        v_k, v_l = n_k / sigma_k**2, n_l / sigma_l**2
        G = rng.uniform(3.0, 9.0) * math.sqrt(1.0 / v_k + 1.0 / v_l)
        found, _ = pair_evidence(v_k, v_l, G, asked(2), sigma_k**-2, sigma_l**-2)
        high, low = limits(reference.pair(v_k, v_l, G, 1.0, sigma_k, sigma_l, 2))
        assert low <= found <= high


def test_a_search_that_ends_early_ends_with_enough_evidence():
    rng, early = np.random.default_rng(9), 0
    for _ in range(1000):
        v_k, v_l = 10 ** rng.uniform(0, 4, 2)
        G = rng.uniform(3.0, 9.0) * math.sqrt(1.0 / v_k + 1.0 / v_l)
        whole = pair_evidence(v_k, v_l, G)
        enough = whole[0] + rng.uniform(-3.0, 1.0)
        found = pair_of(v_k, v_l, G, 1.0, 1.0, ASK, enough)
        assert found == whole or enough <= found[0] <= whole[0] + 1e-8 * (1.0 + abs(whole[0]))
        early += found != whole
    assert early > 200


@given(st.floats(0.0, 6.0), st.floats(0.0, 6.0), st.floats(-3.0, 8.0), st.integers(-8, 8))
def test_evidence_does_not_see_the_last_digits(log_k, log_l, size, places):
    """Nothing jumps: a change in the last places changes the evidence by as little."""
    v_k, v_l = 10.0**log_k, 10.0**log_l
    G = size * math.sqrt(1.0 / v_k + 1.0 / v_l)
    found, _ = pair_evidence(v_k, v_l, G)
    shifted, _ = pair_evidence(v_k * (1.0 + places * 2.0**-52), v_l, G * (1.0 + places * 2.0**-52))
    assert shifted == pytest.approx(found, rel=3e-9, abs=3e-9)


def test_evidence_at_extreme_sizes():
    for v_k in (1.0, 1e9):
        for v_l in (1.0, 1e9):
            for G in (-1.5, -1e-3, 0.0, 1e-5, 0.1, 1.5):
                E, z = pair_evidence(v_k, v_l, G)
                assert np.isfinite([E, z]).all()
                assert max(0.5 * G * abs(G) / (1 / v_k + 1 / v_l), 0.0) + 2 * math.log(2.0) >= E
    assert pair_evidence(1e9, 1e9, 0.1)[0] == pytest.approx(0.5 * 0.01 * 5e8, rel=1e-4)
    assert pair_evidence(0.0, 5.0, 1.0)[0] == -np.inf


def test_evidence_grows_with_the_gap_and_does_not_see_a_shift():
    E = [pair_evidence(300.0, 900.0, G)[0] for G in np.linspace(-0.5, 0.5, 41)]
    assert (np.diff(E) > 0).all()
    near = claims([500, 400, 300], [1.0, 0.8, 0.2], Additive(0.5), 0.1)
    far = claims([500, 400, 300], [1e6 + 1.0, 1e6 + 0.8, 1e6 + 0.2], Additive(0.5), 0.1)
    assert far.evidence == pytest.approx(near.evidence, abs=1e-6)


def test_the_prior_sums_to_one_and_treats_both_arms_alike():
    assert W.sum() + T.sum() == pytest.approx(1.0)
    assert (W == W.T).all()
    assert w.sum() == pytest.approx(1.0)
    assert pair_evidence(50.0, 700.0, 0.4)[0] == pytest.approx(
        pair_evidence(700.0, 50.0, 0.4)[0], rel=1e-8
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("objective", [Additive(0.4), Multiplicative(0.5)])
def test_claims_equal_their_slow_twin(seed, objective):
    """The twin tries every rival for a bad arm.

    The package tries only the one with the largest likelihood ratio.
    """
    rng = np.random.default_rng(seed)
    K = int(rng.integers(1, 6))
    m, N = rng.normal(0.3, 0.6, size=K), rng.integers(1, 800, size=K)
    sigma = rng.uniform(0.5, 2.0, size=K)
    pool = None if seed % 2 else (300.0, 300.0 * m.max())
    found = claims(N, m, objective, 0.2, Gaussian(sigma), pool=pool)
    twin = reference.labels(N, m, sigma, objective.factor, objective.slack, 0.2, pool)
    looks_good = objective.answer(m)
    for k, (label, good, bad) in enumerate(twin):
        excess = found.evidence[k] - found.need[k]
        exact = good if looks_good[k] else bad
        assert excess <= exact + 1e-7 * (1 + abs(exact)) or excess == exact
        assert excess >= exact - (1e-7 if looks_good[k] else 0.5) or exact < -5
        assert (found.good[k], found.bad[k]) == (label == 1, label == -1) or abs(exact) < 0.5


def test_certified_labels_stay_and_arms_without_rewards_are_open():
    first = claims([4000, 4000, 4000], [1.0, 0.9, 0.0], Additive(0.5), 0.05)
    assert (first.good == [True, True, False]).all()
    assert first.bad[2]
    later = claims([4001, 4001, 4001], [0.5, 0.5, 0.5], Additive(0.5), 0.05, before=first)
    assert (later.good == first.good).all()
    assert (later.bad == first.bad).all()
    unseen = claims([4000, 0], [1.0, 0.0], Additive(0.5), 0.05)
    assert unseen.open[1]
    assert claims([0, 0], [0.0, 0.0], Additive(0.5), 0.05).open.all()


OTHER_QUESTIONS = {
    "delta": ((Additive(0.5), 0.999999), {}, "delta 0.999999 instead of 1e-06"),
    "epsilon": (
        (Additive(0.7), 1e-6),
        {},
        "objective Additive(epsilon=0.7) instead of Additive(epsilon=0.5)",
    ),
    "objective": (
        (Multiplicative(0.5), 1e-6),
        {},
        "objective Multiplicative(epsilon=0.5) instead of Additive(epsilon=0.5)",
    ),
    "sigma": (
        (Additive(0.5), 1e-6, Gaussian(0.1)),
        {},
        "model Gaussian(sigma=0.1) instead of Gaussian(sigma=1.0)",
    ),
    "model": (
        (Additive(0.5), 1e-6, Bernoulli()),
        {},
        "model Bernoulli() instead of Gaussian(sigma=1.0)",
    ),
    "pool": ((Additive(0.5), 1e-6), {"pool": (0.0, 0.0)}, "pool True instead of False"),
    "two parts": (
        (Additive(0.7), 0.1),
        {},
        "objective Additive(epsilon=0.7) instead of Additive(epsilon=0.5), "
        "delta 0.1 instead of 1e-06",
    ),
}


@pytest.mark.parametrize(
    ("question", "options", "differences"), OTHER_QUESTIONS.values(), ids=OTHER_QUESTIONS
)
def test_claims_about_another_question_are_refused(question, options, differences):
    """A label certified at risk 0.999999 would stay certified at 1e-6."""
    data = [20, 20], [0.9, 0.1]
    assert claims(*data, Additive(0.5), 0.999999).good[0]
    assert claims(*data, Additive(0.5), 1e-6).open[0]
    before = claims(*data, *question, **options)
    with pytest.raises(ValueError, match=r"^before must be earlier Claims about the same") as told:
        claims(*data, Additive(0.5), 1e-6, Gaussian(), before=before)
    assert str(told.value).endswith(f": got {differences}.")
    again = claims(*data, *question, **options, before=before)  # its own question
    assert (again.good == before.good).all()


def test_claims_of_a_run_are_not_earlier_claims():
    *_, last = follow(ClaimByClaim(Additive(0.5), 0.05), [1.0, 0.0])
    with pytest.raises(ValueError, match=r"before must be Claims that allgood\.claims returned"):
        claims([9, 9], [1.0, 0.0], Additive(0.5), 0.05, before=last.claims)


def test_a_single_arm():
    assert claims([1], [3.0], Additive(0.5), 0.1).good[0]
    assert claims([1000], [3.0], Multiplicative(0.5), 0.1).good[0]
    assert claims([1000], [-3.0], Multiplicative(0.5), 0.1).bad[0]
    assert claims([1], [0.1], Multiplicative(0.5), 0.1).open[0]


def test_negative_means_make_no_arm_good_when_multiplicative():
    found = claims([500, 500], [-1.0, -2.0], Multiplicative(0.5), 0.1)
    assert found.bad.all()


def test_the_pool_helps_and_says_so():
    counts, means = [10, 10, 10, 1500], [1.0, 1.0, 1.0, 0.3]
    alone = claims(counts, means, Additive(0.5), 0.1)
    assert alone.open[3]
    pooled = claims(counts, means, Additive(0.5), 0.1, pool=(1500.0, 1500.0))
    assert pooled.bad[3]
    assert pooled.rival[3] == POOL
    assert (pooled.need[3] - alone.need[3]) == pytest.approx(-math.log(0.9) - math.log(3))


def crossings(runs, need):
    """How often evidence on two arms exactly on the threshold reaches ``need`` in 300 rounds."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(runs):
        x = rng.normal(size=(2, 300)).cumsum(axis=1)
        for n in (10, 20, 40, 70, 100, 150, 200, 300):
            if pair_evidence(float(n), float(n), (x[0, n - 1] - x[1, n - 1]) / n)[0] >= need:
                hits += 1
                break
    return hits


def test_evidence_keeps_its_level_and_a_fiftieth_of_it_is_caught():
    assert binom.sf(crossings(2000, math.log(5.0)) - 1, 2000, 0.2) > 1e-6
    assert binom.sf(crossings(2000, math.log(5.0) - math.log(50.0)) - 1, 2000, 0.2) <= 1e-6


def test_labels_are_codes():
    assert (OPEN, GOOD, BAD) == (0, 1, 2)
    assert arm_evidence(100.0, 1.0, 1.0, ASK) > 0 > arm_evidence(100.0, -1.0, 1.0, ASK)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: claims([1, 1], [0, 1], Additive(0.5), 1.5),
            "delta must lie strictly between 0 and 1: got 1.5",
        ),
        (
            lambda: claims([1, 1], [0, 1], Additive(0.5), 0.1, pool=(1.0,)),
            "pool must hold two finite numbers",
        ),
        (
            lambda: claims([1, 1], [0, 1], Additive(0.5), 0.1, pool=(-1.0, 0.0)),
            "pool must hold two finite numbers",
        ),
        (
            lambda: claims(
                [1, 1], [0, 1], Additive(0.5), 0.1, before=claims([1], [0], Additive(0.5), 0.1)
            ),
            "before must be earlier Claims about the same question, .*: got arms 1 instead of 2",
        ),
        (
            lambda: claims([1], [0, 1], Additive(0.5), 0.5),
            "counts must have one entry per arm, 2: got 1",
        ),
        (
            lambda: claims([1, -1], [0, 1], Additive(0.5), 0.5),
            "counts must not be negative: got -1 for arm 1",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def adaptive_means(runs, gain=0.0):
    """Average, over runs, of the pair's mixture after 60 pulls.

    The pulls chase whichever arm looks better for the claim.  Both arms are on the threshold, so
    that the mixture at the true level is a martingale started at 1.  ``gain`` adds to every reward
    of the first arm, which breaks it.
    """
    rng = np.random.default_rng(4)
    N, S, rows = np.zeros((runs, 2)), np.zeros((runs, 2)), np.arange(runs)
    for _ in range(60):
        signed = S / np.maximum(N, 1.0) * [1.0, -1.0]
        a = np.where(N.min(axis=1) == 0, rng.integers(2, size=runs), signed.argmax(axis=1))
        N[rows, a] += 1
        S[rows, a] += rng.normal(size=runs) + gain * (a == 0)

    def mixtures(n, x):
        """exp(log M) for each run and each effect: n rewards with the sum x."""
        n, y = n[:, None], x[:, None] / np.sqrt(n[:, None] + RHO)
        logs = np.reshape([log_half_normal(z) for z in y.ravel()], y.shape)
        return np.exp(logs) / np.sqrt(1.0 + n / RHO)

    k, l = mixtures(N[:, 0], S[:, 0]), mixtures(N[:, 1], -S[:, 1])
    both = mixtures(N.sum(axis=1), S[:, 0] - S[:, 1])
    return float(((k @ W * l).sum(axis=1) + both @ T).mean())


def test_the_mixture_is_a_martingale_under_adaptive_pulling():
    """Its mean is 1.

    The standard deviation, 1.0, is measured below.  3,000 runs give a standard error of 0.02, and a
    band of six of these fails with probability below 1e-8.  An effect of 0.3 sigma on one arm falls
    outside.
    """
    assert adaptive_means(3000) == pytest.approx(1.0, abs=0.12)
    assert adaptive_means(3000, gain=0.3) > 1.12


# The square of a smaller mean is 0.  Then rivals tie, and the first of them is taken.
NOT_TINY = st.floats(-1.0, 1.0).filter(lambda x: x == 0.0 or abs(x) > 1e-100)


@given(
    st.lists(st.tuples(st.integers(1, 500), NOT_TINY), min_size=1, max_size=6),
    st.permutations(range(6)),
    st.sampled_from([Additive(0.3), Multiplicative(0.4)]),
)
def test_claims_do_not_see_the_order_or_the_units(data, order, objective):
    counts, means = (np.array(x) for x in zip(*data, strict=True))
    order = np.array([a for a in order if a < len(data)])
    straight = claims(counts, means, objective, 0.1)
    turned = claims(counts[order], means[order], objective, 0.1)
    assert turned.evidence == pytest.approx(straight.evidence[order], rel=1e-8, abs=1e-8)
    grown = Additive(8 * objective.epsilon) if isinstance(objective, Additive) else objective
    scaled = claims(counts, 8.0 * means, grown, 0.1, Gaussian(8.0))
    assert scaled.evidence == pytest.approx(straight.evidence, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("model", [Gaussian(), Bernoulli()])
def test_the_average_of_no_rewards_may_be_anything(model):
    found = claims([0, 400, 300], [math.nan, 0.5, 0.9], Additive(0.1), 0.1, model)
    same = claims([0, 400, 300], [7.0, 0.5, 0.9], Additive(0.1), 0.1, model)
    assert found.open.tolist() == same.open.tolist()
    assert found.open[0]
    low, high = intervals([0, 400, 300], [math.nan, 0.5, 0.9], 0.1, model)
    assert (low[0], high[0]) == model.range
    with pytest.raises(ValueError, match="means must be finite: got nan for arm 1"):
        claims([0, 400, 300], [math.nan, math.nan, 0.9], Additive(0.1), 0.1, model)


def test_arms_without_rewards_do_not_set_the_bar():
    seen = claims([4000, 4000, 4000, 0], [0.5, 0.0, 0.0, -99.0], Additive(0.3), 0.1)
    with_unseen = claims([4000, 4000, 4000, 0], [0.5, 0.0, 0.0, 99.0], Additive(0.3), 0.1)
    assert seen.bad[1]
    assert with_unseen.evidence[1] == pytest.approx(seen.evidence[1])
    assert with_unseen.open[0]  # the unseen arm might be far better
