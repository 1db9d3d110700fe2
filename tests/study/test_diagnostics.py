"""Whether the model fits: each check against its twin, how often it warns, and where it shows."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from allgood import (
    Additive,
    Bernoulli,
    Bounded,
    Exponential,
    Gaussian,
    ModelWarning,
    Plate,
    Poisson,
    SuspectWarning,
    claims,
    create_study,
)
from allgood._internal.statistics import student_quantile, student_tail
from allgood.certificates.verify import verify
from allgood.reporting.report import report_html
from allgood.reporting.study_figures import plot_drift
from allgood.study.diagnostics import checks_of, drift
from allgood.study.diagnostics import sigma as sigma_check
from allgood.study.diagnostics.drift import (
    ARMS_SHARE,
    DRIFT_RISK,
    FIRST_PLATE_SHARE,
    arms_drift,
    check_plates,
    contrast_of,
    control_drift,
    parts_of_controls,
)
from allgood.study.diagnostics.repeats import REPEATS_RISK, check_repeats, repeats_evidence
from allgood.study.diagnostics.sigma import SIGMA_RISK, Scatter, check_sigma
from allgood.study.diagnostics.values import CheckedValues
from allgood.study.sentences import DOUBTFUL

from ..reference import checks as reference
from ..support.command_line import allgood
from ..support.drawing import draw_nothing
from ..support.effort import examples

LUCK = 1e-3  # a right check fails a statistical test here with at most this probability


def at_most(risk, trials):
    """How many warnings in so many studies are still compatible with this risk."""
    return int(stats.binom.isf(LUCK, trials, risk))


# Student's distribution.


@given(t=st.floats(0.0, 40.0), freedom=st.integers(1, 300))
def test_the_tail_of_students_law(t, freedom):
    assert student_tail(t, freedom) == pytest.approx(2.0 * stats.t.sf(t, freedom), rel=1e-9)
    assert student_tail(-t, freedom) == student_tail(t, freedom)


def test_the_tail_of_students_law_by_integration():
    for t, freedom in itertools.product((0.0, 0.3, 2.0, 5.0), (1, 2, 3, 10, 57)):
        slow = reference.student_tail(t, freedom)
        assert student_tail(t, freedom) == pytest.approx(slow, rel=1e-6)
    assert student_tail(math.inf, 3) == 0.0
    assert 0.0 < student_tail(1e6, 10) < 1e-50


@given(chance=st.floats(1e-6, 0.999), freedom=st.integers(1, 300))
def test_a_quantile_has_its_tail(chance, freedom):
    assert student_tail(student_quantile(chance, freedom), freedom) == pytest.approx(chance)


# Sigma.

streams = st.lists(
    st.tuples(st.integers(0, 3), st.floats(-3.0, 3.0).map(lambda x: round(x, 3))),
    min_size=2,
    max_size=25,
)


@given(told=streams, scale=st.sampled_from([0.1, 1.0, 4.0]))
def test_evidence_about_sigma_is_that_of_the_twin(told, scale):
    arms, x = [arm for arm, _ in told], [scale * value for _, value in told]
    seen = Scatter.of(np.array(arms), np.array(x))
    assert seen.too_small(1.0) == pytest.approx(reference.too_small(arms, x), abs=1e-8)
    assert seen.too_large(1.0) == pytest.approx(reference.too_large(arms, x), abs=1e-8)


@given(told=streams, scale=st.sampled_from([0.1, 1.0, 4.0]))
def test_the_interval_is_where_the_evidence_turns(told, scale):
    arms, values = np.array([arm for arm, _ in told]), np.array([x for _, x in told])
    sigmas = scale * np.array([1.0, 0.5, 2.0, 1.0])
    found = check_sigma(arms, values, sigmas)
    if len(set(arms.tolist())) == arms.size:
        assert found is None
        return
    x = values / sigmas[arms]
    assume(found.multiple > 1e-6)
    assert found.values == arms.size - len(set(arms.tolist()))
    assert 0.0 < found.low < found.multiple < found.high
    at_low = reference.too_small(arms.tolist(), (x / found.low).tolist())
    assert at_low == pytest.approx(math.log(40.0), abs=1e-6)
    if math.isfinite(found.high):
        at_high = reference.too_large(arms.tolist(), (x / found.high).tolist())
        assert at_high == pytest.approx(math.log(40.0), abs=1e-6)
    small = reference.too_small(arms.tolist(), x.tolist()) >= math.log(200.0)
    large = reference.too_large(arms.tolist(), x.tolist()) >= math.log(200.0)
    large &= found.multiple < 0.7
    assert found.verdict == ("too small" if small else "too large" if large else "")


ROOT_3 = math.sqrt(3.0)
THREE = ((-ROOT_3, 1.0 / 6.0), (0.0, 2.0 / 3.0), (ROOT_3, 1.0 / 6.0))  # sub-Gaussian, sigma = 1


def by_every_path(choose, depth, score):
    """The mean of exp(score) over all sequences of three values, each arm chosen by the past."""
    total = 0.0
    for path in itertools.product(THREE, repeat=depth):
        x, arms = [value for value, _ in path], []
        for n in range(depth):
            arms.append(choose(arms, x[:n]))
        chance = math.prod(weight for _, weight in path)
        total += chance * math.exp(score(np.array(arms), np.array(x)))
    return total


def far_ones_again(arms, x):
    """Four arms once; then those whose first value was not 0, in turn."""
    if len(arms) < 4:
        return len(arms)
    return max(range(4), key=lambda k: (x[k] != 0.0, -arms.count(k)))


def test_no_choice_of_arms_makes_evidence_that_sigma_is_too_small():
    """Exactly: where sigma is right the evidence has a mean of at most 1, however arms are chosen.

    The control is the usual sum of squared residuals: N - K in the place of N, with theta = 2.
    """
    assert by_every_path(far_ones_again, 7, lambda a, x: Scatter.of(a, x).too_small(1.0)) <= 1.0

    def of_residuals(arms, x):
        seen = Scatter.of(arms, x)
        return -0.5 * (seen.N - seen.K) * math.log(2.0) + 0.25 * seen.Q

    assert by_every_path(far_ones_again, 7, of_residuals) > 1.4


DRAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), n),
    "-1 or 1": lambda rng, n: rng.choice([-1.0, 1.0], n),
}


def adaptive(rng, draw, rounds, arms=30, per_plate=30, shift=0.0, means=0.0):
    """Plates, arms and values: each plate after the first measures the better half, twice."""
    mu = means * rng.standard_normal(arms)
    sums, counts = np.zeros(arms), np.zeros(arms)
    told = []
    for plate in range(1, rounds + 1):
        best = np.arange(arms)
        if plate > 1:
            best = np.argsort(-sums / counts)[: arms // 2]
        chosen = np.resize(best, per_plate)
        x = mu[chosen] + draw(rng, per_plate) + shift * (plate == rounds)
        np.add.at(sums, chosen, x)
        np.add.at(counts, chosen, 1.0)
        told.append((np.full(per_plate, plate), chosen, x))
    return tuple(np.concatenate(parts) for parts in zip(*told, strict=True))


@pytest.mark.parametrize("model", DRAWS)
def test_a_right_sigma_is_hardly_ever_doubted(model, monkeypatch):
    """100 adaptive studies, looked at after each plate.

    A right check fails with probability at most LUCK = 1/1000.
    """
    monkeypatch.setattr(sigma_check, "crossing", lambda _: 0.5)  # verdicts need no intervals
    rng, runs, doubted = np.random.default_rng(1), 100, 0
    for _ in range(runs):
        _, arms, values = adaptive(rng, DRAWS[model], 6)
        looks = [check_sigma(arms[:n], values[:n], np.ones(30)) for n in range(60, 181, 30)]
        doubted += any(look.verdict for look in looks)
    assert doubted <= at_most(2.0 * SIGMA_RISK, runs)


def test_a_wrong_sigma_is_found():
    """Power, with fixed seeds: 30 arms, 180 values."""
    rng = np.random.default_rng(2)
    for factor, verdict in ((2.0, "too small"), (0.4, "too large")):
        found = []
        for _ in range(40):
            _, arms, values = adaptive(rng, lambda rng, n, f=factor: f * rng.standard_normal(n), 6)
            found.append(check_sigma(arms, values, np.ones(30)))
        assert [item.verdict for item in found].count(verdict) >= 36
        assert sum(item.low <= factor <= item.high for item in found) >= 36
        assert f"Sigma is {verdict}" in found[0].sentence
    # A sigma that is a little too large is not worth a word.
    _, arms, values = adaptive(rng, lambda rng, n: 0.8 * rng.standard_normal(n), 60)
    found = check_sigma(arms, values, np.ones(30))
    assert found.high < 1.0
    assert found.verdict == found.sentence == ""


def test_sigmas_of_arms_are_units():
    rng = np.random.default_rng(3)
    sigmas = np.array([0.1, 1.0, 10.0])
    arms = rng.integers(0, 3, 200)
    x = rng.standard_normal(200)
    one, each = check_sigma(arms, x, np.ones(3)), check_sigma(arms, x * sigmas[arms], sigmas)
    assert one.multiple == pytest.approx(each.multiple)
    assert (one.low, one.high) == pytest.approx((each.low, each.high))
    wrong = check_sigma(arms, x * sigmas[arms], np.ones(3))
    assert wrong.verdict == "too small"


# Repeats.


@given(values=st.lists(st.integers(0, 14).map(float), min_size=5, max_size=60))
def test_bets_on_repeats_are_those_of_the_twin(values):
    assert repeats_evidence(values) == pytest.approx(reference.repeats(values), abs=1e-9)


ROUNDED = {
    "a quarter of sigma": lambda rng: np.round(4.0 * rng.standard_normal(400)) / 4.0,
    "three digits": lambda rng: [float(f"{x:.3g}") for x in 50.0 + 5.0 * rng.standard_normal(400)],
    "many arms": lambda rng: np.round(10.0 * (rng.integers(0, 20, 400) + rng.standard_normal(400))),
    "a small sigma": lambda rng: np.round(1e-3 * rng.standard_normal(400), 4),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_normal_values_do_not_repeat_too_often(name):
    """60 studies, looked at four times.  A right check fails with probability at most LUCK."""
    rng, runs, warned = np.random.default_rng(4), 60, 0
    for _ in range(runs):
        values = ROUNDED[name](rng)
        warned += any(check_repeats(values[:n], Gaussian(None)) for n in (50, 100, 200, 400))
    assert warned <= at_most(REPEATS_RISK, runs)


@pytest.mark.parametrize(
    ("draw", "advice"),
    [
        (lambda rng: rng.integers(0, 2, 12), "0 or 1 is Bernoulli()"),
        (lambda rng: 3.5 * rng.integers(1, 3, 12), "tell 0 and 1 instead, with Bernoulli()"),
        (lambda rng: rng.integers(1, 6, 30), "(so far 1 and 5)"),
        (lambda rng: 0.5 * rng.integers(-2, 3, 30), "(so far -1 and 1)"),
        (lambda rng: rng.poisson(2.0, 60), "If they are counts, use Poisson()"),
        (lambda rng: np.maximum(rng.standard_normal(200), 0.0), "0 was told"),
        (lambda rng: np.round(rng.standard_normal(60)), "tell more digits"),
    ],
)
def test_values_that_are_not_normal_repeat(draw, advice):
    """The last one is the control of the test above: rounded to sigma itself."""
    rng = np.random.default_rng(5)
    found = [check_repeats(draw(rng), Gaussian(None)) for _ in range(40)]
    assert sum(bool(item) for item in found) >= 36
    assert all(advice in item or not item for item in found)


def test_repeats_under_a_known_sigma_matter_if_it_is_small():
    ratings = [1.0, 5.0, 3.0, 4.0, 2.0] * 10
    assert check_repeats(ratings, Gaussian(2.0)) == ""  # half of the range: sub-Gaussian
    assert "Bounded(low, high)" in check_repeats(ratings, Gaussian(1.9))
    assert "Bounded(low, high)" in check_repeats(ratings, Gaussian([3.0, 1.0]))
    assert check_repeats([0.0, 1.0] * 10, Gaussian(0.5)) == ""
    for model in (Bernoulli(), Poisson(), Bounded(0, 5), Exponential()):
        assert check_repeats(ratings, model) == ""
    assert check_repeats([], Gaussian(None)) == ""


def test_claims_warns_of_zeros_and_ones():
    rng = np.random.default_rng(6)
    rewards = [rng.integers(0, 2, n).astype(float) for n in (30, 40, 50)]
    counts, means = [r.size for r in rewards], [r.mean() for r in rewards]

    def of(variances, counts=counts, means=means, model=Gaussian(None)):  # noqa: B008
        return claims(counts, means, Additive(0.1), 0.1, model, variances=variances)

    for freedom in (0, 1):
        with pytest.warns(ModelWarning, match=r"seem to be 0 or 1.*Use Bernoulli\(\)"):
            of([r.var(ddof=freedom) for r in rewards])
    with pytest.warns(ModelWarning):  # an arm without rewards is not asked
        of([*(r.var() for r in rewards), 0.0], [*counts, 0], [*means, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of([r.var() + 1e-3 for r in rewards])
        of([r.var() for r in rewards], means=[m + 1e-3 for m in means])
        of([0.0] * 3, [1, 1, 1], [0.0, 1.0, 0.0])  # one reward each says nothing
        normal = [rng.standard_normal(n) for n in counts]
        of([r.var() for r in normal], means=[r.mean() for r in normal])
        of(None, model=Bernoulli())


# Drift.

told_on_plates = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.integers(0, 2),
        st.floats(-4.0, 4.0).map(lambda x: round(x, 3)),
    ),
    min_size=1,
    max_size=12,
)


@examples(10)
@given(told=told_on_plates)
def test_evidence_of_drift_is_that_of_the_twin(told):
    """Plates in any order, also with values of a plate that come after those of the next."""
    plates, arms, x = (list(column) for column in zip(*told, strict=True))
    found = arms_drift(np.array(plates), np.array(arms), np.array(x), np.ones(3), 0.01)
    for place, plate in enumerate(dict.fromkeys(plates), start=1):
        slow = reference.arms_drift(plates, arms, x, plate) if place > 1 else None
        assert (plate in found) is (slow is not None)
        if slow is None:
            continue
        one = found[plate]
        assert one.chance == pytest.approx(math.exp(-max(slow, 0.0)), rel=1e-6)
        assume(abs(slow - math.log(place * (place - 1) / 0.01)) > 1e-6)
        assert one.drifts is (slow >= math.log(place * (place - 1) / 0.01))
        for end in (one.low, one.high):
            at_end = reference.arms_drift(plates, arms, x, plate, end)
            assert at_end == pytest.approx(math.log(20.0), abs=1e-6)


def the_best_again(arms, x):
    """Five arms once; then, on the second plate, the two whose values are highest."""
    if len(arms) < 5:
        return len(arms)
    return sorted(range(5), key=lambda k: -x[k])[len(arms) - 5]


def test_no_choice_of_arms_makes_evidence_of_drift():
    """Exactly: without drift the evidence has a mean of at most 1, however arms are chosen.

    The control are residuals about the averages before, as if the arms had not been chosen by them.
    """
    plates = np.array([1] * 5 + [2] * 2)

    def of_arms(arms, x):
        order = np.argsort(arms, kind="stable")
        return contrast_of(plates[order], 2, arms[order], x[order], 5).evidence(0.0)

    assert by_every_path(the_best_again, 7, of_arms) <= 1.0

    def of_residuals(arms, x):
        z = sum((x[n] - x[arms[n]]) / math.sqrt(2.0) for n in (5, 6)) / math.sqrt(2.0)
        return 0.25 * z**2 - 0.5 * math.log(2.0)

    assert by_every_path(the_best_again, 7, of_residuals) > 1.1


def z_test(plates, arms, values, risk):
    """The control: residuals about the average of the arm's values before, summed over plates."""
    sums, counts, found = np.zeros(arms.max() + 1), np.zeros(arms.max() + 1), {}
    for plate, arm, x in zip(plates.tolist(), arms.tolist(), values.tolist(), strict=True):
        if counts[arm]:
            n = counts[arm]
            found.setdefault(plate, []).append((x - sums[arm] / n) / math.sqrt(1.0 + 1.0 / n))
        sums[arm] += x
        counts[arm] += 1
    chances = {
        plate: 2.0 * stats.norm.sf(abs(sum(r)) / len(r) ** 0.5) for plate, r in found.items()
    }
    return any(chance < risk / (p * (p - 1)) for p, chance in chances.items() if p > 1)


@pytest.mark.parametrize("model", DRAWS)
def test_plates_without_drift_are_hardly_ever_accused(model, monkeypatch):
    """100 adaptive studies of equal arms.  A right check fails with probability at most LUCK.

    The usual test of residuals, at the same risk, is the control: it accuses half of them.
    """
    monkeypatch.setattr(drift, "crossing", lambda _: 0.5)  # verdicts need no intervals
    rng, runs, risk = np.random.default_rng(7), 100, DRIFT_RISK * ARMS_SHARE
    accused, by_residuals = 0, 0
    for _ in range(runs):
        told = adaptive(rng, DRAWS[model], 4, arms=60, per_plate=60)
        accused += any(item.drifts for item in arms_drift(*told, np.ones(60), risk).values())
        by_residuals += z_test(*told, risk)
    assert accused <= at_most(risk, runs)
    assert by_residuals > runs // 4


def test_a_drift_of_arms_is_found():
    rng, hits, held = np.random.default_rng(8), 0, 0
    for _ in range(40):
        told = adaptive(rng, DRAWS["normal"], 6, shift=2.2, means=1.0)
        found = arms_drift(*told, np.ones(30), 0.002)
        hits += found[6].drifts and not any(found[p].drifts for p in range(2, 6))
        held += found[6].low <= 2.2 <= found[6].high
    assert hits >= 36
    assert held >= 36


@given(
    samples=st.lists(
        st.lists(st.floats(-5.0, 5.0).map(lambda x: round(x, 2)), min_size=1, max_size=5),
        min_size=2,
        max_size=5,
    )
)
def test_the_test_of_controls_is_that_of_the_twin(samples):
    rows = control_drift(samples, 0.01)
    for p in range(1, len(samples) + 1):
        row, so_far = rows[p - 1], samples[:p]
        assert (row.n, row.mean) == (len(samples[p - 1]), pytest.approx(np.mean(samples[p - 1])))
        spread = max(max(sample) - min(sample) for sample in so_far)
        assert (row.low is None) is (spread == 0.0)
        if p == 1 or spread == 0.0:
            assert row.chance is None
            assert not row.drifts
            continue
        slow = reference.control_chance(so_far)
        assert row.before == pytest.approx(np.mean(np.concatenate(so_far[:-1])), abs=1e-12)
        assert row.chance == pytest.approx(slow, rel=1e-4, abs=1e-9)
        assert row.drifts is (row.chance <= 0.01 / (p * (p - 1)))
        freedom = sum(len(sample) - 1 for sample in so_far)
        variance = sum(np.var(sample) * len(sample) for sample in so_far) / freedom
        reach = stats.t.isf(0.025, freedom) * math.sqrt(variance / row.n)
        assert (row.low, row.high) == pytest.approx((row.mean - reach, row.mean + reach))


def test_controls_without_drift_are_hardly_ever_accused():
    """1,000 studies of 6 plates with 4 wells.  The control: the usual level of 1 % for each plate.

    A right check fails with probability at most LUCK, the control with less than that.
    """
    rng, runs = np.random.default_rng(9), 1000
    rows = [control_drift(rng.standard_normal((6, 4)).tolist(), 0.01) for _ in range(runs)]
    assert sum(any(row.drifts for row in item) for item in rows) <= at_most(0.01, runs)
    each = sum(any((row.chance or 1.0) < 0.01 for row in item) for item in rows)
    assert each > at_most(0.01, runs)


def processed(rng, shift_at=None, shift=3.0, names=("DMSO", "blank"), plates=4, model_arms=3):
    """What was told of plates with 9 values of arms and 6 wells of each control."""
    arms, values, times, batch, controls = [], [], [], [], []
    for p in range(1, plates + 1):
        moved = shift if p == shift_at else 0.0
        arms += [i % model_arms for i in range(9)]
        values += (np.arange(9) % model_arms + rng.standard_normal(9) + moved).tolist()
        times += [100.0 * p] * 9
        batch += [p] * 9
        for k, name in enumerate(names):
            controls += [
                (p, name, 10.0 * k + x + moved, 100.0 * p) for x in rng.standard_normal(6).tolist()
            ]
    return CheckedValues(
        np.array(arms),
        np.array(values),
        np.array(times),
        np.array(batch),
        tuple(controls),
        {(p, name): 6 for p in range(1, plates + 1) for name in names},
    )


def test_what_differs_is_said():
    checks = checks_of(processed(np.random.default_rng(10), shift_at=4), Gaussian(1.0), 3)
    assert [row.plate for row in checks.plates] == [1, 2, 3, 4]
    assert [row.n for row in checks.plates] == [9] * 4
    assert checks.plates[0].arms is None
    assert checks.plates[3].arms.drifts
    assert [row.controls["DMSO"].drifts for row in checks.plates] == [False, False, False, True]
    dmso = checks.plates[3].controls["DMSO"]
    said = next(item for item in checks.drift if "DMSO" in item)
    assert said.startswith(f"Plate 4: control DMSO is {dmso.mean:.4g} +- ")
    assert f"against {dmso.before:.4g} on the plates before" in said
    assert "Plate 4: arms give" in " ".join(checks.drift)
    assert checks.drift[-1].endswith("is ever told of one is at most 1 in 100.")
    assert set(checks.drift) <= set(checks.sentences)
    assert json.loads(json.dumps(checks.to_dict()))["plates"][3]["controls"]["DMSO"]["drifts"]
    calm = checks_of(processed(np.random.default_rng(10)), Gaussian(1.0), 3)
    assert calm.sentences == calm.drift == ()


@pytest.mark.parametrize("model", [Gaussian(None), Poisson(), Exponential()])
def test_where_no_sigma_is_known_only_controls_are_compared(model):
    told = processed(np.random.default_rng(11), shift_at=3)
    checks = checks_of(told, model, 3)
    assert not checks.with_arms
    assert all(row.arms is None for row in checks.plates)
    assert checks.sigma is None
    assert checks.plates[2].controls["blank"].drifts
    assert checks_of(told, Bounded(-9, 9), 3).with_arms  # sub-Gaussian


def test_risks_are_shared():
    """A chance between two levels tells whether the level is the one that was promised."""
    rng = np.random.default_rng(12)
    samples = rng.standard_normal((2, 6))
    level = DRIFT_RISK * (1.0 - ARMS_SHARE) * FIRST_PLATE_SHARE / 2
    while (chance := control_drift(samples.tolist(), 1.0)[1].chance) > level:
        samples[1] += 0.05
    told = processed(rng, names=("DMSO",), plates=2)
    values = [(p + 1, "DMSO", x, 100.0 * p) for p in (0, 1) for x in samples[p].tolist()]

    def drifts(sigmas, more=()):
        wells = told.wells | {(plate, name): 3 for plate, name, *_ in more}
        given = CheckedValues(
            told.arms, told.values, told.times, told.plates, (*values, *more), wells
        )
        return check_plates(given, sigmas)[1].controls["DMSO"].drifts

    other = tuple((1, "blank", float(i), 0.0) for i in range(3))
    assert level / 2 < chance < level
    assert drifts(np.ones(3))
    assert drifts(None)
    assert not drifts(np.ones(3), other)
    later = tuple((2, "blank", float(i), 0.0) for i in range(3))
    assert drifts(np.ones(3), later)  # a control that comes later takes nothing away


@given(st.lists(st.sets(st.sampled_from("ABCDEF"), max_size=4), max_size=8))
def test_a_control_keeps_its_part_of_the_risk(plates):
    """Whatever plates follow, so that it is not spent twice; and all parts are at most the whole.

    Dividing by the number of controls so far fails here as soon as a control comes later.
    """
    known, places = {}, []
    for plate, names in enumerate(plates, 1):
        places += [(plate, name) for name in names]
        parts = parts_of_controls(places)
        assert known.items() <= parts.items()
        assert parts.keys() == {name for _, name in places}
        assert sum(parts.values()) <= 1.0 + 1e-12
        known = parts
    if known:
        assert sum(known.values()) >= FIRST_PLATE_SHARE - 1e-12


def test_a_plate_is_tested_when_its_controls_are_complete():
    told = processed(np.random.default_rng(13), shift_at=2, names=("DMSO",), plates=2)

    def last(controls, wells):
        given = CheckedValues(told.arms, told.values, told.times, told.plates, controls, wells)
        return check_plates(given, None)[-1].controls["DMSO"]

    assert last(told.controls, told.wells).drifts
    partial = told.controls[:-1]
    assert last(partial, told.wells).chance is None
    later, wells = (*partial, (3, "DMSO", 0.1, 900.0)), told.wells | {(3, "DMSO"): 6}
    given = CheckedValues(told.arms, told.values, told.times, told.plates, later, wells)
    rows = check_plates(given, None)
    assert rows[1].controls["DMSO"].drifts
    assert rows[2].controls["DMSO"].chance is None
    assert rows[2].n == 0


# Where it shows.


def campaign(folder, sigma=1.0, shift=0.0, model=None, draw=None, name="s", controls=()):
    """Three plates of 24; the values of the last are shifted, also those of its controls."""
    rng, clock = np.random.default_rng(14), itertools.count(1e9, 3600.0)
    study = create_study(
        folder / f"{name}.db",
        name,
        arms=["a", "b", "c"],
        objective=Additive(0.01),
        delta=0.05,
        model=model or Gaussian(sigma),
        clock=lambda: next(clock),
    )
    draw = draw or rng.standard_normal
    wells = {control: [f"A{i}", f"B{i}", f"C{i}"] for i, control in enumerate(controls, 1)}
    for p in range(3):
        tickets = study.ask(plate=Plate(4, 6, wells))
        places = [(t.id, t.well) for t in tickets] + [
            ("", w) for part in wells.values() for w in part
        ]
        rows = [
            {"ticket": ticket, "well": well, "value": draw() + shift * (p == 2)}
            for ticket, well in places
        ]
        table = {key: [row[key] for row in rows] for key in rows[0]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SuspectWarning)
            study.tell(table)
    return study


def test_a_study_that_fits_says_nothing(tmp_path, monkeypatch):
    draw_nothing(monkeypatch)
    study = campaign(tmp_path)
    status = study.status()
    assert status.checks.sentences == ()
    assert status.checks.sigma.low < 1.0 < status.checks.sigma.high
    assert [row.n for row in status.checks.plates] == [24, 24, 24]
    times = [row.time for row in status.checks.plates]
    assert times == sorted(set(times))
    out = allgood("study", "status", str(tmp_path / "s.db")).stdout
    assert "do not fit" not in out
    assert "From plate to plate" not in out
    page = report_html(study)
    assert 'id="checks"' not in page
    assert "<h3>From plate to plate</h3>" in page


def test_a_study_that_does_not_fit_says_so(tmp_path, monkeypatch):
    draw_nothing(monkeypatch)
    study = campaign(tmp_path, sigma=0.4, shift=3.0)
    sentences = study.status().checks.sentences
    assert sentences[0].startswith("Sigma is too small")
    assert sentences[1].startswith("Plate 3: arms give")
    out = allgood("study", "status", str(tmp_path / "s.db"), "--plates").stdout
    assert "The measurements do not fit the model:" in out
    assert "Sigma is too small" in out
    rows = [line.split() for line in out.split("From plate to plate")[1].splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == ["1", "2", "3"]
    found = json.loads(allgood("study", "status", str(tmp_path / "s.db"), "--json").stdout)
    assert found["checks"]["sentences"] == list(sentences)
    assert found["checks"]["sigma"]["verdict"] == "too small"
    assert found["checks"]["plates"][2]["arms"]["drifts"] is True
    page = report_html(study)
    assert page.index('id="verdict"') < page.index('id="checks"') < page.index('id="arms"')
    assert "Sigma is too small" in page


def test_a_misfit_is_in_the_verdict_and_in_the_certificate(tmp_path):
    """Nobody reads "with probability at least 0.95" where that is not so."""
    study = campaign(tmp_path, sigma=0.4)
    status, certificate = study.status(), study.certificate()
    assert status.checks.doubts == status.checks.sentences
    assert status.verdict.endswith("so the guarantee does not hold.")
    sigma = status.checks.sigma
    doubt = {"kind": "sigma", "multiple": sigma.multiple, "values": sigma.values}
    assert certificate["doubts"] == [doubt]
    assert verify(certificate, list(study.export())).ok
    del certificate["doubts"]
    assert not verify(certificate, list(study.export())).ok
    path = str(tmp_path / "s.db")
    out = allgood("study", "status", path).stdout
    assert "With probability" not in out
    assert out.index("so the guarantee does not hold") < out.index("Sigma is too small")
    out = allgood("study", "certify", path, "--out", str(tmp_path / "c.json")).stdout
    assert "Warning, also in the certificate: Sigma is too small" in out
    done = allgood("verify", str(tmp_path / "c.json"), "--study", path)
    assert done.returncode == 4
    assert "The certificate itself doubts the guarantee: Sigma is too small" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Verified, doubtful: ")
    [listed] = json.loads(allgood("study", "list", path, "--status", "--json").stdout)["studies"]
    assert listed["warnings"] == status.warnings == [DOUBTFUL]
    listed = allgood("study", "list", path, "--status").stdout
    assert listed.endswith(f"events\n  {DOUBTFUL}\n")
    assert "certified" not in allgood("study", "list", path).stdout  # it computes nothing
    large = campaign(tmp_path, sigma=4.0, name="large")  # this costs measurements, nothing else
    assert "too large" in large.status().checks.sentences[0]
    assert large.status().checks.doubts == ()
    assert "doubts" not in large.certificate()
    assert "guarantee" not in large.status().verdict


def test_the_verifier_raises_every_kind_of_doubt(tmp_path):
    """Each doubt of a certificate is one of the log, too; none can be left out or changed."""
    rng = np.random.default_rng(16)
    study = campaign(tmp_path, sigma=0.4, shift=30.0, controls=("DMSO", "water"))
    with pytest.warns(ModelWarning, match="Values repeat"):
        rounded = campaign(tmp_path, name="r", draw=lambda: 3.0 * round(rng.standard_normal()))
    kinds = set()
    for case in (study, rounded):
        certificate, lines = case.certificate(), list(case.export())
        doubts = certificate["doubts"]
        assert verify(certificate, lines).problems == ()
        kinds |= {doubt["kind"] for doubt in doubts}
        for i, doubt in enumerate(doubts):
            changed = doubt | {key: x * 1.001 for key, x in doubt.items() if isinstance(x, float)}
            others = [doubts[:i] + doubts[i + 1 :]]
            others += [[*doubts[:i], changed, *doubts[i + 1 :]]] if changed != doubt else []
            for other in others:
                forged = verify(certificate | {"doubts": other or [doubt] * 2}, lines)
                assert any(problem.startswith("doubts: ") for problem in forged.problems)
    assert kinds == {"sigma", "repeats", "control drift", "arm drift"}


def test_a_status_stays_as_it_was(tmp_path):
    study = campaign(tmp_path)
    before = study.status()
    study.correct(study.design.ticket_id(1), 1e6, "a slip")
    assert study.status().checks.sigma.verdict == ""  # one slip does not make sigma wrong
    study.confirm(study.design.ticket_id(1), "no slip")
    assert before.checks.sigma.verdict == ""
    assert study.status().checks.sigma.verdict == "too small"


def test_zeros_and_ones_in_a_study(tmp_path):
    rng = np.random.default_rng(15)
    with pytest.warns(ModelWarning, match="0 or 1 is Bernoulli"):
        study = campaign(tmp_path, model=Gaussian(None), draw=lambda: float(rng.integers(0, 2)))
    assert "0 or 1 is Bernoulli()" in study.status().checks.sentences[0]
    out = allgood("study", "status", str(tmp_path / "s.db"), "--plates").stdout
    assert "Only controls are compared" in out


def test_no_plates_are_said_to_be_none(tmp_path):
    study = create_study(
        tmp_path / "s.db", "s", arms=["a", "b"], objective=Additive(0.1), delta=0.1
    )
    study.tell([(ticket.id, 1.0) for ticket in study.ask(4)]).check()
    assert study.status().checks.plates == ()
    out = allgood("study", "status", str(tmp_path / "s.db"), "--plates").stdout
    assert "No value was told of a plate." in out


def test_the_picture_shows_what_differs():
    checks = checks_of(processed(np.random.default_rng(10), shift_at=4), Gaussian(1.0), 3)
    axes = plot_drift(checks).axes
    assert [ax.get_ylabel() for ax in axes] == ["arms (sigmas)", "DMSO", "blank"]
    for ax, points in zip(axes, (3, 4, 4), strict=True):
        usual, marked = [line for line in ax.get_lines() if line.get_marker() in ("o", "s")]
        assert len(usual.get_xdata()) == points - 1
        assert marked.get_xdata() == [3]
        assert len(ax.collections) == points
    dmso = axes[1].get_lines()[0].get_ydata()
    assert list(dmso) == [row.controls["DMSO"].mean for row in checks.plates[:3]]
    with pytest.raises(ValueError, match="arms on two plates, or a control"):
        plot_drift(
            checks_of(processed(np.random.default_rng(0), plates=1, names=()), Gaussian(), 3)
        )
