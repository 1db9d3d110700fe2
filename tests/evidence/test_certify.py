"""The claims of all arms at once, against every rival in turn, and what their shortcuts rest on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import Additive, Bernoulli, Bounded, Exponential, Gaussian, Multiplicative, Poisson
from allgood.evidence.certify import evidence_bad, evidence_good, likely_rival
from allgood.evidence.claims import POOLED, claim_spec, claims_from, labels_now
from allgood.evidence.normal import arm_evidence, pair_evidence
from allgood.evidence.open_claims import OpenClaims
from allgood.evidence.spec import BAD, GOOD, OPEN, Sides

MODELS = {
    "normal": Gaussian(),
    "unequal sigma": Gaussian([0.5, 1.0, 0.5, 2.0, 1.0, 1.0, 0.5]),
    "unknown sigma": Gaussian(None),
    "bounded": Bounded(-1.0, 2.0),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "exponential": Exponential(),
}
K = 7
TOLERANCE = 1e-6  # other models: below its need, evidence is the least value found


def a_case(family, rng):
    """A question and rewards with many ties: counts, averages and scatters from short lists."""
    model = MODELS[family]
    scale = 0.2 if family == "bernoulli" else 1.0
    objective = rng.choice([Additive(0.6 * scale), Multiplicative(0.4)])
    n = rng.choice([0.0, 60.0, 60.0, 150.0], size=K) if rng.random() < 0.5 else np.full(K, 90.0)
    if family in ("bernoulli", "poisson", "exponential"):
        m = scale * rng.choice([1.0, 1.5, 2.0, 4.0, 4.1, 4.1, 4.5], size=K)
    else:
        m = rng.choice([-0.8, 0.0, 0.3, 0.9, 1.0, 1.0, 1.1], size=K)
    Q = rng.choice([0.2, 0.3], size=K) * n if family == "unknown sigma" else np.zeros(K)
    pooled = POOLED if rng.random() < 0.5 else 0.0
    spec = claim_spec(objective, 0.1, K, model, pooled)
    sides = Sides(model, np.array(spec.unit), n, m, Q)
    pool = np.array([50.0, 50.0 * np.quantile(m, 0.9)]) * (pooled > 0.0)
    before = np.where(rng.random(K) < 0.2, rng.choice([GOOD, BAD], size=K), OPEN)
    return spec, sides, pool, before


def bar_of(spec, sides):
    """Above it an arm looks good."""
    n, m = np.array(sides.n), np.array(sides.m)
    return spec.c * m[n > 0].max(initial=-np.inf) - spec.e


def by_every_rival(spec, sides, pool, before):
    """The same claims, one after the other: ``(labels, evidence, need)``."""
    labels, m, v = before.copy(), np.array(sides.m), np.array(sides.v)
    evidence, need = np.empty(K), np.empty(K)
    bar = bar_of(spec, sides)
    for k in np.flatnonzero(m < bar):
        G = spec.c * m - spec.e - m[k]
        with np.errstate(divide="ignore"):
            ratio = 0.5 * G**2 / (1 / v[k] + spec.c**2 / v)
        ratio = np.where((G > 0) & (np.arange(K) != k), ratio, -np.inf)
        l = int(ratio.argmax()) if ratio.max() > -np.inf else -1
        assert likely_rival(spec, sides, k) == l
        evidence[k], surcharge, _, _ = evidence_bad(spec, sides, pool, k, l)
        need[k] = spec.need + surcharge
        if labels[k] == OPEN and evidence[k] >= need[k]:
            labels[k] = BAD
    rivals = [l for l in range(K) if labels[l] != BAD]
    for k in np.flatnonzero(m >= bar):
        found = [evidence_good(spec, sides, k, l) for l in rivals if l != k or spec.c < 1.0]
        if spec.c < 1.0 and k not in rivals:
            found.append(evidence_good(spec, sides, k, k))
        evidence[k], need[k] = min(found, default=np.inf), spec.need_good
        if labels[k] == OPEN and evidence[k] >= need[k]:
            labels[k] = GOOD
    return labels, evidence, need


@pytest.mark.parametrize("family", MODELS)
def test_claims_are_those_of_every_rival(family):
    """Rivals with equally many and equally noisy rewards are a group, of which two are seen."""
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(25):
        spec, sides, pool, before = a_case(family, rng)
        made = claims_from(spec, sides, pool, before)
        labels, evidence, need = by_every_rival(spec, sides, pool, before)
        assert made.evidence == pytest.approx(evidence, abs=TOLERANCE)
        assert made.need.tolist() == need.tolist()
        assert made.good.tolist() == (labels == GOOD).tolist()
        assert made.bad.tolist() == (labels == BAD).tolist()
        seen |= set(labels[before == OPEN].tolist())
        for k in np.flatnonzero(np.array(sides.m) >= bar_of(spec, sides)):
            if made.rival[k] != k:  # the rival that is named is the one it rests on
                E = evidence_good(spec, sides, k, made.rival[k])
                assert made.evidence[k] == pytest.approx(E, abs=TOLERANCE)
    assert seen == {OPEN, GOOD, BAD}  # there was something to see


def labels_of(spec, sides):
    """The labels by all evidence at once, and those by open claims alone."""
    nothing, no_pool = np.zeros(len(sides.n), np.int64), np.zeros(2)
    made = claims_from(spec, sides, no_pool, nothing)
    at_once = np.select([made.good, made.bad], [GOOD, BAD], OPEN)
    found, _ = labels_now(OpenClaims(spec), sides, no_pool, nothing, nothing.copy())
    return at_once.tolist(), found.tolist()


@pytest.mark.parametrize("objective", [Additive(0.3), Multiplicative(0.4)])
@pytest.mark.parametrize("family", ["normal", "unknown sigma", "bernoulli", "poisson"])
def test_evidence_that_is_nan_certifies_nothing(family, objective):
    """Arm 0 is good against every rival but one whose mean, scatter or rest gives nan."""
    model = MODELS[family]
    spec = claim_spec(objective, 0.1, 3, model, 0.0)
    unknown = family == "unknown sigma"
    n, m, Q = np.full(3, 4e4), np.array([0.9, 0.8, 0.8]), np.full(3, 1e3 if unknown else 0.0)

    def sides():
        return Sides(model, np.array(spec.unit), n, m, Q)

    assert labels_of(spec, sides()) == ([GOOD] * 3, [GOOD] * 3)  # otherwise there is nothing to see
    for arm, value in ((0, math.inf), (2, -math.inf)):
        rest = sides()
        np.asarray(rest.influential)[arm] = value  # without it the mean is -inf, or inf
        for labels in labels_of(spec, rest):
            assert labels[0] == OPEN
    for array in [m, Q] if unknown else [m]:
        old, array[2] = array[2], math.nan
        for labels in labels_of(spec, sides()):
            assert labels == [OPEN] * 3
        array[2] = old


@pytest.mark.parametrize("family", MODELS)
def test_evidence_that_an_arm_is_good_falls_with_the_mean_of_its_rival(family):
    """What the groups rest on: the rival with the highest mean is the hardest."""
    rng = np.random.default_rng(6)
    for _ in range(30):
        spec, sides, _, _ = a_case(family, rng)
        n, m, Q = np.array(sides.n), np.array(sides.m), np.array(sides.Q)
        n[:2] = 10.0 ** rng.uniform(0.5, 3.0, size=2)
        Q[:2] = 0.25 * n[:2] if family == "unknown sigma" else 0.0
        high = min(spec.high, m[0] + 2.0)
        last = math.inf
        for x in np.linspace(max(spec.low, m[0] - 2.0), high, 15)[1:-1]:
            m[1] = x
            E = evidence_good(spec, Sides(MODELS[family], np.array(spec.unit), n, m, Q), 0, 1)
            assert last + TOLERANCE >= E
            last = E


@given(
    st.sampled_from([2, 5]),
    st.sampled_from([1.0, 0.9, 0.3]),
    st.floats(0.0, 6.0),
    st.floats(0.0, 6.0),
    st.floats(0.0, 12.0),
    st.floats(-1.0, 1.0),
)
def test_the_likelihood_ratio_is_never_below_the_evidence(arms, c, log_k, log_l, size, log_sigma):
    """Normal rewards: an average of likelihood ratios is at most the largest of them.

    So evidence need not be computed while the ratio is below what is needed.
    """
    objective = Additive(0.5) if c == 1.0 else Multiplicative(1.0 - c)
    spec = claim_spec(objective, 0.1, arms, Gaussian(), 0.9)
    u_l = 10.0 ** (-2.0 * log_sigma)
    v_k, v_l = 10.0**log_k, u_l * 10.0**log_l
    G = size * math.sqrt(1.0 / v_k + c * c / v_l)
    ratio = 0.5 * size * size
    assert pair_evidence(v_k, v_l, G, 1.0, u_l, spec)[0] <= ratio * (1.0 + 1e-12)
    assert arm_evidence(v_k, size / math.sqrt(v_k), 1.0, spec) <= ratio * (1.0 + 1e-12)


def test_the_likelihood_ratio_is_not_far_above_the_evidence():
    """The control of the test above: nine tenths of the ratio would be below the evidence."""
    spec = claim_spec(Additive(0.5), 0.1, 2, Gaussian(), 0.0)
    E, _ = pair_evidence(400.0, 400.0, 12.0 * math.sqrt(0.005), 1.0, 1.0, spec)
    assert 0.9 * 72.0 < E < 72.0
    assert 0.9 * 72.0 < arm_evidence(400.0, 12.0 / 20.0, 1.0, spec) < 72.0
