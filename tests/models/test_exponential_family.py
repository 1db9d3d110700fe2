"""Best responses and T* for models that are not normal: against slow twins and another solver.

Breaking a sign in ``theory/alternatives/exponential_family.py`` fails several of these at once
(tried for the slope of the arm that rises, the end of the range, the scatter of arms that come
down, and the middle piece of the Exponential search).
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from allgood import (
    Additive,
    Bernoulli,
    Exponential,
    Multiplicative,
    Poisson,
    best_response,
    characteristic_time,
)
from allgood.theory.alternatives.exponential_family import (
    Prefixes,
    Stairs,
    Workspace,
    admission,
    cost_at,
    crossing,
    descend,
    expulsion,
    mark_dominated,
)
from allgood.theory.alternatives.response import instance
from allgood.theory.characteristic import Status
from allgood.theory.solver.interior import Interior

from ..reference import conic, conic_families, on_a_grid
from ..reference import families as reference
from ..support.effort import examples

MODELS = {"Bernoulli": Bernoulli(), "Poisson": Poisson(), "Exponential": Exponential()}
NAMES = sorted(MODELS)


def twin(name, means, weights, objective):
    return reference.cheapest(name, means, weights, objective.factor, objective.slack)


def draw(rng, name, K):
    """Means, some rounded so that arms tie or lie at the ends of the range, and an objective."""
    means = rng.uniform(size=K)
    if rng.random() < 0.4:
        means = means.round(1)
    if name == "Bernoulli":
        means = (
            means ** rng.choice([1, 3]) if rng.random() < 0.5 else 1 - means ** rng.choice([1, 3])
        )
    elif name == "Exponential":
        means = np.maximum(means, 0.03) ** rng.choice([1, 2])
    if name != "Bernoulli":
        means = means * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.5 and means.max() > 0:
        return means, Additive(means.max() * rng.uniform(0.02, 1.2))
    return means, Multiplicative(rng.uniform(0.02, 0.98))


def decided(means, objective):
    height, _ = objective.distances(means)
    return np.abs(height).min() > 1e-6 * means.max() > 0


@pytest.mark.parametrize("name", NAMES)
def test_best_response_equals_the_slow_twin(name):
    """Zero weights, ties, arms at the ends of the range, K = 1 and K = 2 are all among them."""
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(80):
        means, objective = draw(rng, name, int(rng.integers(1, 6)))
        weights = rng.exponential(size=means.size) ** 3 * (rng.random(means.size) < 0.9)
        response = best_response(means, weights, objective, MODELS[name])
        expected = twin(name, means, weights, objective)
        assert response.cost == pytest.approx(expected, rel=1e-6, abs=1e-13 * weights.max()), (
            means,
            weights,
            objective,
        )
        kinds.add(response.kind)
    assert kinds == {"none", "expel", "admit"}


@pytest.mark.parametrize("name", NAMES)
def test_no_random_alternative_is_cheaper(name):
    rng = np.random.default_rng(6)
    other_answers = 0
    for _ in range(60):
        means, objective = draw(rng, name, int(rng.integers(2, 6)))
        weights = rng.exponential(size=means.size)
        response = best_response(means, weights, objective, MODELS[name])
        if response.kind == "none":
            continue
        answer = objective.answer(means)
        for spread in (0.01, 0.3, 2.0):
            move = np.exp(
                spread * rng.normal(size=(40, means.size)) * (rng.random((40, means.size)) < 0.6)
            )
            others = np.minimum(response.means * move, reference.HIGH[name])
            costs = reference.paid(name, 1.0, means, others) @ weights
            for other, cost in zip(others, costs, strict=True):
                if (objective.answer(other) != answer).any():
                    other_answers += 1
                    assert cost >= response.cost * (1 - 1e-9) - 1e-13
    assert other_answers > 500


@pytest.mark.parametrize("name", NAMES)
def test_the_alternative_is_on_the_border_and_its_divergences_are_the_gradient(name):
    rng = np.random.default_rng(7)
    for _ in range(100):
        means, objective = draw(rng, name, int(rng.integers(2, 6)))
        if not decided(means, objective):
            continue
        weights = rng.exponential(size=means.size) + 0.01
        response = best_response(means, weights, objective, MODELS[name])
        if response.kind == "none":
            continue
        assert weights @ response.gradient == pytest.approx(response.cost, rel=1e-9)
        expected = [
            reference.exact_divergence(name, x, y)
            for x, y in zip(means, response.means, strict=True)
        ]
        assert response.gradient == pytest.approx(expected, rel=1e-6, abs=1e-14)
        # A little less than the move changes nothing; a little more flips the label of ``arm``.
        move = response.means - means
        before, after = (objective.answer(means + (1 + s) * move) for s in (-1e-6, 1e-6))
        assert (before == objective.answer(means)).all()
        assert after[response.arm] != before[response.arm]
        # A supergradient: it bounds the cost at any other weights.
        other = rng.exponential(size=means.size)
        assert best_response(
            means, other, objective, MODELS[name]
        ).cost <= other @ response.gradient * (1 + 1e-9)


@examples(60)
@given(st.sampled_from(NAMES), st.integers(0, 2**32 - 1))
def test_laws_permutation_and_scaling(name, seed):
    rng = np.random.default_rng(seed)
    means, objective = draw(rng, name, int(rng.integers(1, 7)))
    assume(decided(means, objective))
    weights = rng.exponential(size=means.size)
    cost = best_response(means, weights, objective, MODELS[name]).cost
    order = rng.permutation(means.size)
    assert best_response(
        means[order], weights[order], objective, MODELS[name]
    ).cost == pytest.approx(cost, rel=1e-9)
    assert best_response(means, 3 * weights, objective, MODELS[name]).cost == pytest.approx(
        3 * cost, rel=1e-12
    )
    if name != "Bernoulli":  # counts scale with the rate, waiting times not at all
        grown = Additive(8 * objective.epsilon) if isinstance(objective, Additive) else objective
        factor = 8 if name == "Poisson" else 1
        assert best_response(8 * means, weights, grown, MODELS[name]).cost == pytest.approx(
            factor * cost, rel=1e-9
        )


def test_zero_weights_move_for_free():
    assert best_response([0.9, 0.8, 0.2], [0, 1, 1], Additive(0.5), Bernoulli()).cost == 0.0
    free = best_response([0.9, 0.8, 0.2], [1, 1, 0], Additive(0.5), Bernoulli())
    assert (free.cost, free.arm) == (0.0, 2)
    assert free.means == pytest.approx([0.9, 0.8, 0.4])


def test_where_the_rival_has_no_room_to_rise():
    """The rival must rise by 0.1 more than arm 1 stays, and no further than 1."""
    near = best_response([0.95, 0.9], [1.0, 1.0], Additive(0.1), Bernoulli())
    assert near.cost == pytest.approx(
        twin("Bernoulli", [0.95, 0.9], [1, 1], Additive(0.1)), rel=1e-8
    )
    assert near.means.max() <= 1.0
    mu, w = np.array([0.95, 0.9]), np.array([1e-9, 1.0])
    # A rival that is nearly free goes all the way.
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        cost, t = expulsion(Bernoulli(), (w[1], mu[1], w[0], mu[0], 1.0, 0.3))
    assert 0.7 - 1e-6 < t <= 0.7
    assert cost == pytest.approx(reference.expel("Bernoulli", mu, w, 1, 0, 1.0, 0.3), rel=1e-6)
    for epsilon in (1.0, 1.5):
        assert best_response([0.95, 0.1], [1, 1], Additive(epsilon), Bernoulli()).kind == "none"
    assert best_response([0.95, 0.1], [1, 1], Additive(0.999), Bernoulli()).kind == "expel"


def test_means_at_the_ends_of_the_range():
    confirmed = best_response([1.0, 0.0], [1.0, 1.0], Additive(0.4), Bernoulli())
    assert confirmed.cost == pytest.approx(2 * -np.log(0.7), rel=1e-9)  # they meet at 0.7 and 0.3
    assert confirmed.means == pytest.approx([0.7, 0.3])
    none_seen = best_response([2.0, 0.0], [1.0, 1.0], Additive(1.0), Poisson())
    assert none_seen.cost == pytest.approx(
        twin("Poisson", [2.0, 0.0], [1, 1], Additive(1.0)), rel=1e-8
    )


def test_two_valleys():
    """Waiting times, additive: there may be two local minima.

    An arm that rises beyond twice its mean pays ever less for the next step.  A search from the
    middle of the range ends in the wrong minimum.
    """
    rng, missed, model = np.random.default_rng(0), 0, Exponential()
    for _ in range(1500):
        e, b = 10.0 ** rng.uniform(0.3, 3), 10.0 ** rng.uniform(-2, 5)
        y = e + 10.0 ** rng.uniform(0, 4)
        two = (1.0, 1.0, b, y, 1.0, e)
        cost, _ = crossing(model, two, 1.0, y - e)
        t = np.geomspace(1.0, y - e, 500)
        grid = reference.divergence("Exponential", 1.0, t) + b * reference.divergence(
            "Exponential", y, t + e
        )
        assert cost <= grid.min() * (1 + 1e-9)
        naive = cost_at(model, two, descend(model, two, 1.0, y - e))
        if cost < 0.99 * naive:
            missed += 1
            assert cost == pytest.approx(
                reference.admit("Exponential", [1.0, y], [1.0, b], 0, 1.0, e), rel=1e-6
            )
    assert missed > 10


@pytest.mark.parametrize("name", NAMES)
def test_admission_with_many_arms_equals_the_slow_twin(name):
    """For waiting times with two valleys, too: a short mean far below a large epsilon."""
    rng, model, reaches = np.random.default_rng(11), MODELS[name], set()
    for _ in range(60):
        K = int(rng.integers(3, 13))
        above = np.sort(rng.uniform(0.3, 0.99, size=K))[::-1].round(int(rng.integers(1, 4)))
        c, e = (1.0, rng.uniform(0.02, 0.6)) if rng.random() < 0.7 else (rng.uniform(0.3, 0.9), 0.0)
        x = (c * above[0] - e) * rng.uniform(0.01, 1.0)
        if x <= 0.0:
            continue
        w, weights = rng.exponential() ** 3, rng.exponential(size=K) ** 3
        prefixes = Prefixes(K)
        prefixes.clear(above[0])
        for mean, weight in zip(above, weights, strict=True):
            prefixes.add(model, mean, weight)
        with np.errstate(all="ignore"):  # uncompiled: infinities are meant
            cost, t, reach = admission(model, prefixes, w, x, c, e)
        expected = reference.admit(name, [x, *above], [w, *weights], 0, c, e)
        assert cost == pytest.approx(expected, rel=1e-6)
        assert (above[:reach] >= (t + e) / c - 1e-12).all()
        reaches.add(reach)
    assert len(reaches) > 4


@pytest.mark.parametrize("name", NAMES)
def test_pairs_that_are_not_tried_are_not_cheaper(name):
    """With more than a few good arms most pairs are dropped unseen."""
    rng, model = np.random.default_rng(12), MODELS[name]
    for spread in (0.0, 0.01, 0.3):
        for objective in (Additive(0.35), Multiplicative(0.4)):
            c, e = objective.factor, objective.slack
            mu, w = 0.6 + spread * rng.random(20), rng.exponential(size=20) ** 2
            w[rng.integers(20)] = 0.0 if rng.random() < 0.2 else 1.0
            w[:5] = w[0]
            with np.errstate(all="ignore"):  # uncompiled: infinities are meant
                least = min(
                    expulsion(model, (w[k], mu[k], w[l], mu[l], c, e))[0]
                    for k in range(20)
                    for l in range(20)
                    if l != k
                )
            found = best_response(mu, w, objective, model)
            assert found.kind == "expel"
            assert found.cost == pytest.approx(least, rel=1e-12)


# T*


@pytest.mark.parametrize("name", NAMES)
def test_many_arms_agree_with_a_linear_programme(name):
    """More than 32 arms: pairs are dropped, only good arms come down, groups are eliminated."""
    rng, shapes = np.random.default_rng(13), set()
    for digits in (1, 3):
        for objective in (Additive(0.125), Additive(0.45), Multiplicative(0.33)):
            means = rng.uniform(0.05, 0.95, size=int(rng.integers(33, 37))).round(digits)
            means[0] = 0.953 + 0.01 * rng.random()
            if not decided(means, objective):
                continue
            time = characteristic_time(means, objective, MODELS[name])
            assert time.status is Status.SOLVED
            found = on_a_grid.characteristic_time(
                name, means, objective.factor, objective.slack, points=16
            )
            assert 0.99 * time.lower_bound <= found <= time.value * (1 + 1e-6)
            shapes.add((objective.answer(means).sum() > 10, np.unique(means).size < means.size))
    assert len(shapes) > 2


@pytest.mark.parametrize("name", NAMES)
def test_stairs_drop_no_pair_that_costs_less(name):
    """And they drop most that cost two thirds more, which one part alone cannot tell."""
    rng = np.random.default_rng(11)
    model, found = MODELS[name], []
    for _ in range(400):
        means, objective = draw(rng, name, 2)
        if not decided(means, objective) or not objective.answer(means).all():
            continue
        x, y = rng.permutation(np.maximum(means, 1e-3 * means.max()) * 0.999)
        c, e = objective.factor, objective.slack
        a, b = rng.exponential(size=2) + 0.1
        cost = reference.expel(name, [x, y], [a, b], 0, 1, c, e)
        level = cost * rng.choice([0.5, 0.6, 0.99, 1.001, 1.5, 4.0])
        stairs = Stairs(2)
        with np.errstate(all="ignore"):
            stairs.place(model, 0, x, x, level / a, c, e)
            stairs.place(model, 1, y, y, level / b, c, e)
        dropped = bool(stairs.apart(0, 1))
        assert not (dropped and level > 1.0005 * cost), (x, y, a, b, objective)
        if np.isfinite(cost) and 0.55 * cost < level < 0.65 * cost:
            found.append(dropped)
    assert len(found) > 10
    assert np.mean(found) > 0.8, np.mean(found)


@pytest.mark.parametrize("name", NAMES)
def test_outdone_arms_are_outdone_twice(name):
    rng = np.random.default_rng(12)
    dominated = 0
    for _ in range(40):
        means = (0.7 + 0.2 * rng.random(30)).round(int(rng.integers(2, 6)))
        weights = rng.exponential(size=30).round(1) + float(rng.choice([0.0, 0.1]))
        at, room = instance(means, Additive(0.5)), Workspace(30)
        mark_dominated(at, weights, room, 30)
        for side, sign in enumerate((1, -1)):
            for i, k in enumerate(at.by_depth):
                ahead = (sign * means < sign * means[k]) & (weights <= weights[k])
                expected = ahead.sum() >= 2 and weights.min() > 0.0
                assert room.dominated[side, i] == expected
                dominated += expected
        # Nothing is lost: all pairs, one by one.
        with np.errstate(all="ignore"):  # uncompiled: infinities are meant
            pairs = [
                expulsion(MODELS[name], (weights[k], means[k], weights[l], means[l], 1.0, 0.25))[0]
                for k in range(30)
                for l in range(30)
                if k != l
            ]
        cost = best_response(means, weights, Additive(0.25), MODELS[name]).cost
        assert cost == pytest.approx(min(pairs), rel=1e-12, abs=0.0)
    assert dominated > 500


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("objective", [Additive(0.15), Multiplicative(0.2)])
def test_merged_arms(name, objective):
    """With few pairs near-tied arms are merged, and the bounds are still of the means given."""
    rng = np.random.default_rng(13)
    means = np.r_[0.8 + 0.01 * rng.random(60), 0.8, 0.8, 0.1 + 0.4 * rng.random(10)]
    exact = characteristic_time(means, objective, MODELS[name], rtol=1e-4)
    assert exact.status is Status.SOLVED
    gaps = []
    for pairs in (1, 30, 300):
        time = characteristic_time(means, objective, MODELS[name], rtol=1e-4, max_pairs=pairs)
        assert time.status is Status.MERGED
        assert time.lower_bound <= exact.value
        assert exact.lower_bound <= time.value
        cost = best_response(means, time.weights, objective, MODELS[name]).cost
        assert time.value == pytest.approx(1 / cost, rel=1e-12)
        turned = characteristic_time(
            means[::-1], objective, MODELS[name], rtol=1e-4, max_pairs=pairs
        )
        assert turned.value == pytest.approx(time.value, rel=1e-6)
        for spread in (0.01, 0.3):
            other = exact.weights * np.exp(spread * rng.normal(size=means.size))
            cost = best_response(means, other / other.sum(), objective, MODELS[name]).cost
            assert cost <= (1 + 1e-12) / time.lower_bound
        gaps.append(time.gap)
    assert 0.2 > gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.01


def test_merging_needs_near_ties():
    """Arms further apart than the smallest margin stay apart, and so do bad arms."""
    means = np.r_[np.linspace(0.9, 0.6, 40), 0.49, 0.49 - 1e-9]
    at = instance(means, Additive(0.4))
    interior = Interior(Bernoulli(), at, 0)
    with np.errstate(all="ignore"):  # uncompiled: infinities are meant
        interior.solve(1e-3, 100)
    assert not interior.merged
    assert (interior.G, interior.N) == (40, 42)


@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_arms(name):
    rng = np.random.default_rng(1)
    rates = np.clip(rng.binomial(20, rng.beta(8, 8, 3000)) / 20, 0.025, 0.975)
    means = rates + 1e-3 * rng.random(3000)
    objective = Multiplicative(0.1) if name == "Exponential" else Additive(0.1)
    time = characteristic_time(means, objective, MODELS[name], rtol=1e-3)
    assert time.status is Status.SOLVED
    few = characteristic_time(means, objective, MODELS[name], rtol=1e-3, max_pairs=1)
    assert 0.5 * time.lower_bound < few.lower_bound <= time.value
    # Equal arms are as good as one: running studies have few different averages.
    rates[0] = 0.99
    assert characteristic_time(rates, Additive(0.123), MODELS[name]).status is Status.SOLVED


@pytest.mark.parametrize("name", NAMES)
def test_characteristic_time_on_random_instances(name):
    """The certificate, the value at the weights returned, and that no other weights do better.

    One in several hundred instances ends with a larger gap, and says so: where the cheapest way to
    admit an arm changes at the solution.
    """
    rng, statuses = np.random.default_rng(8), []
    for _ in range(200):
        means, objective = draw(rng, name, int(rng.integers(2, 9)))
        if not decided(means, objective):
            continue
        time = characteristic_time(means, objective, MODELS[name])
        if time.status is Status.TRIVIAL:
            assert (time.value, time.lower_bound) == (0.0, 0.0)
            assert best_response(means, time.weights, objective, MODELS[name]).kind == "none"
            continue
        statuses.append(time.status)
        assert time.lower_bound <= time.value
        assert (time.status is Status.SOLVED) == (time.value <= time.lower_bound * (1 + 1e-6))
        assert time.weights.sum() == pytest.approx(1.0)
        value = 1 / best_response(means, time.weights, objective, MODELS[name]).cost
        assert time.value == pytest.approx(value, rel=1e-12)
        for spread in (0.1, 1.0):
            other = time.weights * np.exp(spread * rng.normal(size=means.size))
            cost = best_response(means, other / other.sum(), objective, MODELS[name]).cost
            assert cost <= (1 + 1e-12) / time.lower_bound
    assert len(statuses) > 100
    assert statuses.count(Status.SOLVED) > 0.98 * len(statuses)


def test_the_certificate_holds_where_the_solver_stops_short():
    """At the solution there are two ways to admit arm 1 that cost the same.

    One gradient does not do: the weights are right, but the gap stays at 0.3.
    """
    means, objective, model = [810.0, 10.0], Additive(254.42747397471393), Exponential()
    time = characteristic_time(means, objective, model)
    assert time.status is not Status.SOLVED
    exact = 1 / max(
        best_response(means, [x, 1 - x], objective, model).cost
        for x in np.linspace(0.001, 0.999, 2001)
    )
    assert time.lower_bound <= exact
    assert time.value == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("objective", [Additive(0.3), Multiplicative(0.4)])
def test_order_and_units_do_not_matter(objective):
    means, order = np.array([0.9, 0.8, 0.85, 0.2, 0.4]), np.array([3, 1, 4, 0, 2])
    for name in NAMES:
        time = characteristic_time(means, objective, MODELS[name])
        turned = characteristic_time(means[order], objective, MODELS[name])
        assert turned.value == pytest.approx(time.value, rel=1e-6)
        if name != "Bernoulli":
            grown = (
                Additive(8 * objective.epsilon) if isinstance(objective, Additive) else objective
            )
            scaled = characteristic_time(8 * means, grown, MODELS[name])
            factor = 8 if name == "Poisson" else 1
            assert scaled.value * factor == pytest.approx(time.value, rel=1e-6)


@pytest.mark.parametrize("objective", [Additive(2e-4), Multiplicative(4e-4)])
def test_small_gaps_look_normal(objective):
    """Around the mean 1/2 and gaps of 1e-4: rewards with variance 1/4, 1/2 and 1/4."""
    means = 0.5 + 1e-4 * np.array([1.0, 0.7, -0.6, -3.0, 0.2])
    normal, _ = conic.characteristic_time(means, objective.factor, objective.slack)
    for name, variance in (("Bernoulli", 0.25), ("Poisson", 0.5), ("Exponential", 0.25)):
        assert characteristic_time(means, objective, MODELS[name]).value == pytest.approx(
            variance * normal, rel=1e-3
        )


def test_questions_without_alternatives_and_without_an_answer():
    for means, objective, model in (
        ([0.9, 0.3], Additive(1.0), Bernoulli()),
        ([0.4], Multiplicative(0.1), Poisson()),
        ([0.4], Additive(0.1), Exponential()),
    ):
        time = characteristic_time(means, objective, model)
        assert (time.value, time.status) == (0.0, Status.TRIVIAL)
    assert characteristic_time([0.9, 0.6], Additive(0.3), Bernoulli()).status is Status.UNDECIDABLE


@pytest.mark.parametrize(
    ("means", "objective"),
    [
        ([0.5, 0.4], Additive(0.2)),
        ([0.5, 0.2], Multiplicative(0.5)),
        ([0.95, 0.9], Additive(0.1)),
        ([0.9, 0.8, 0.3], Additive(0.2)),
        ([0.3, 0.2, 0.05], Multiplicative(0.5)),
        ([0.7, 0.65, 0.3, 0.5], Additive(0.25)),
        ([0.9, 0.5, 0.6, 0.3], Multiplicative(0.4)),
        ([0.3, 0.25, 0.2, 0.28], Additive(0.4)),
    ],
)
def test_another_solver_agrees(means, objective):
    """An exponential-cone programme over mixtures of alternatives, which knows nothing of pulls."""
    found = characteristic_time(means, objective, Bernoulli()).value
    assert found == pytest.approx(
        conic_families.characteristic_time(means, objective.factor, objective.slack), rel=1e-4
    )
