"""Which values count, and in which order: against a slow twin, through any sequence of arrivals.

Each of these was broken once to see a test fail: j in the level, the median of the other arms, the
place of a value that takes another's, the side of a time that was waited in vain.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import Additive, Bernoulli, Bounded, Exponential, Gaussian, Multiplicative, Poisson
from allgood.certificates import verify as verifier
from allgood.study.events import parse_line
from allgood.study.quality import SHARE, ArmValues, QualityControl
from allgood.study.state import StudyState

from ..reference import quality as twin
from ..reference.quality import Value
from ..support.effort import examples
from ..support.study_cache import StudyCache

K, DELTA, DEADLINE = 4, 0.1, 30.0
MEANS = [20.0, 22.0, 60.0, 150.0]
MODELS = {  # model, its name and sigmas in the twin, and a reward of arm a
    "normal": (Gaussian(2.0), "normal", [2.0] * K, lambda rng, a: rng.normal(MEANS[a], 2.0)),
    "unequal": (
        Gaussian([1.0, 2.0, 5.0, 2.0]),
        "normal",
        [1.0, 2.0, 5.0, 2.0],
        lambda rng, a: rng.normal(MEANS[a], [1.0, 2.0, 5.0, 2.0][a]),
    ),
    "unknown": (
        Gaussian(None),
        "unknown sigma",
        [0.0] * K,
        lambda rng, a: rng.normal(MEANS[a], 2.0),
    ),
    "counts": (Poisson(), "poisson", [0.0] * K, lambda rng, a: float(rng.poisson(MEANS[a]))),
    "times": (
        Exponential(),
        "exponential",
        [0.0] * K,
        lambda rng, a: min(rng.exponential(MEANS[a]), DEADLINE),
    ),
    "bernoulli": (Bernoulli(), "", [0.0] * K, lambda rng, a: float(rng.random() < 0.5)),
    "bounded": (Bounded(0.0, 1e5), "", [0.0] * K, lambda rng, a: rng.uniform(0.0, 100.0)),
}
seeds = st.integers(0, 2**32 - 1)


def slip(rng, value, whole):
    """The value with its decimal point moved."""
    moved = value * 10.0 ** rng.choice([-4, -2, -1, 1, 2, 4])
    return float(round(moved)) if whole else float(moved)


def tickets_of(name, rng, n, slips=0.2):
    """Values of n tickets, some of them wrong, each of a random arm."""
    draw, made = MODELS[name][3], []
    for number in range(1, n + 1):
        arm = int(rng.integers(K))
        value = draw(rng, arm)
        censored = name == "times" and value == DEADLINE
        if rng.random() < slips and name not in ("bernoulli", "bounded") and not censored:
            value = slip(rng, value, name == "counts")
        made.append(Value(number, arm, value, bool(rng.random() < 0.3), censored))
    return made


def shuffled(rng, tickets, farthest):
    """Each ticket up to so many places from its own."""
    n = len(tickets)
    return [tickets[i] for i in np.argsort(np.arange(n) + rng.uniform(0.0, farthest, n))]


def new_hearing(name, in_order, check):
    return QualityControl(MODELS[name][0], K, DELTA, in_order, check)


def tell_to(quality, arrival):
    kind, ticket, time = arrival
    if kind == "told":
        quality.tell(ticket, time)
    elif kind == "failed":
        quality.fail(ticket.number, time)
    else:
        quality.confirm(ticket, time)


def listened(name, arrivals, in_order, check):
    quality = new_hearing(name, in_order, check)
    for arrival in arrivals:
        tell_to(quality, arrival)
    return quality


def numbers(quality):
    """What counts: all but the odd values and the times."""
    return [
        (item.number, item.arm, item.value, item.pooled, item.censored)
        for item in quality.processed
    ]


def check_same(quality, wanted):
    assert numbers(quality) == [tuple(ticket) for ticket, _, _ in wanted.processed]
    assert [item.time for item in quality.processed] == [time for _, _, time in wanted.processed]
    rewards = [0] * K
    for item, (ticket, influential, _) in zip(quality.processed, wanted.processed, strict=True):
        rewards[ticket.arm] += not ticket.censored
        if rewards[ticket.arm] == 2:  # either of two, by rounding
            assert math.isnan(item.influential) == math.isnan(influential)
        else:
            assert item.influential == pytest.approx(influential, nan_ok=True)
    assert set(quality.suspects) == set(wanted.suspects)
    for number, (ticket, (n, mean), chance) in wanted.suspects.items():
        one = quality.suspects[number]
        assert (one.number, one.arm, one.value) == ticket[:3]
        assert one.others == (n, pytest.approx(mean))
        assert one.log_chance == pytest.approx(chance, rel=1e-6)
    assert sorted(quality.waiting) == wanted.waiting
    assert quality.confirmed == wanted.confirmed


@pytest.mark.parametrize("name", MODELS)
@examples(40)
@given(seeds, st.booleans(), st.sampled_from([True, True, True, False]))
def test_it_hears_what_its_slow_twin_hears(name, seed, in_order, check):
    """After every arrival: values, failures, and confirmations of suspect values and of others."""
    rng = np.random.default_rng(seed)
    tickets = tickets_of(name, rng, int(rng.integers(2, 25)))
    _, model, sigmas, _ = MODELS[name]
    quality, arrivals = new_hearing(name, in_order, check), []
    for i, ticket in enumerate(shuffled(rng, tickets, rng.choice([0.0, 3.0, 30.0]))):
        if rng.random() < 0.05:
            continue  # never heard of
        arrivals.append(("failed" if rng.random() < 0.05 else "told", ticket, 10.0 + i))
        tell_to(quality, arrivals[-1])
        check_same(quality, twin.listen(arrivals, model, sigmas, DELTA, in_order, check))
        known = (
            [item.number for item in quality.processed] if rng.random() < 0.1 else quality.suspects
        )
        if known and rng.random() < 0.3:
            number = int(rng.choice(list(known)))
            arrivals.append(("confirmed", tickets[number - 1], 10.5 + i))
            tell_to(quality, arrivals[-1])
            check_same(quality, twin.listen(arrivals, model, sigmas, DELTA, in_order, check))


def test_the_sequences_of_the_twin_have_something_to_see():
    """How often, in the sequences above, each of the rules decides something."""
    seen = {"suspect": 0, "replaced": 0, "waiting": 0, "odd": 0, "in vain": 0}
    for name in ("normal", "counts", "times", "unknown"):
        for seed in range(60):
            rng = np.random.default_rng(seed)
            tickets = tickets_of(name, rng, 20)
            told = [("told", ticket, 0.0) for ticket in shuffled(rng, tickets, 5.0)[:-1]]
            quality = listened(name, told, True, True)
            seen["suspect"] += bool(quality.suspects)
            seen["replaced"] += quality.replaced
            seen["waiting"] += bool(quality.waiting)
            seen["in vain"] += any(item.censored for item in quality.processed)
            last = {item.arm: item.influential for item in quality.processed}
            seen["odd"] += not all(map(math.isnan, last.values()))
    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize("name", MODELS)
@examples(7)
@given(seeds, seeds)
def test_when_values_arrive_does_not_matter_where_they_are_heard_in_order(name, seed, other):
    tickets = tickets_of(name, np.random.default_rng(seed), 15)
    order = np.random.default_rng(other).permutation(len(tickets))
    here = listened(name, [("told", ticket, 0.0) for ticket in tickets], True, True)
    there = listened(name, [("told", tickets[i], 0.0) for i in order], True, True)
    assert [repr(item) for item in here.processed] == [repr(item) for item in there.processed]
    assert here.suspects == there.suspects
    assert not here.waiting
    assert not there.waiting


def test_control_it_does_matter_where_they_are_heard_as_they_come():
    tickets = tickets_of("normal", np.random.default_rng(1), 15)
    here = listened("normal", [("told", ticket, 0.0) for ticket in tickets], False, True)
    there = listened("normal", [("told", ticket, 0.0) for ticket in tickets[::-1]], False, True)
    assert numbers(here) != numbers(there)


@pytest.mark.parametrize("name", MODELS)
@examples(4)
@given(seeds)
def test_nothing_is_suspect_or_odd_where_values_are_not_checked(name, seed):
    tickets = tickets_of(name, np.random.default_rng(seed), 15, slips=0.5)
    quality = listened(name, [("told", ticket, 0.0) for ticket in tickets], False, False)
    assert numbers(quality) == [tuple(ticket) for ticket in tickets]
    assert not quality.suspects
    assert all(math.isnan(item.influential) for item in quality.processed)


@pytest.mark.parametrize("name", ["normal", "counts", "times", "unknown"])
@examples(7)
@given(seeds)
def test_a_confirmed_value_counts_from_then_on(name, seed):
    rng = np.random.default_rng(seed)
    tickets = tickets_of(name, rng, 20, slips=0.4)
    quality, confirmed = new_hearing(name, False, True), set()
    for ticket in tickets:
        quality.tell(ticket, 0.0)
        for number in list(quality.suspects):
            if rng.random() < 0.4:
                quality.confirm(tickets[number - 1], 0.0)
                confirmed.add(number)
        assert confirmed <= {item.number for item in quality.processed}
        assert not confirmed & set(quality.suspects)
        unsure = [item.value for item in quality.processed if item.number not in confirmed]
        rewards = [item.arm for item in quality.processed if not item.censored]
        for item in quality.processed[-1:]:
            assert (
                math.isnan(item.influential)
                or item.influential in unsure
                or rewards.count(item.arm) == 1
            )


def test_a_confirmed_value_stays_when_another_is_corrected():
    """The first value was wrong, and so is what replaces it: the second is confirmed, and counts.

    Once the confirmation was forgotten, as the second value was no longer suspect.
    """
    study_cache = StudyCache(Gaussian(2.0), Additive(5.0), 2, 0.1)
    numbers = study_cache.issue([(1, False), (0, False), (0, False), (0, False)])
    study_cache.tell((numbers[0], 1000.0), (numbers[1], 10.0), (numbers[2], 1000.0))
    assert set(study_cache.state.quality.suspects) == {2}
    study_cache.record("confirmed", ticket=2, value=10.0)
    study_cache.record("corrected", ticket=3, value=12.0, note="a slip")
    study_cache.record("corrected", ticket=3, value=5000.0, note="another slip")
    assert 2 in {item.number for item in study_cache.state.quality.processed}
    study_cache.tell((numbers[3], 5000.0))
    processed = {item.number for item in study_cache.state.quality.processed}
    assert 2 in processed
    assert study_cache.state.quality.confirmed == {2}


def test_the_levels_of_all_values_sum_to_the_share_of_delta():
    for num_arms in (1, 2, 50):
        quality = QualityControl(Gaussian(), num_arms, DELTA, False, True)
        levels = [quality._level(ArmValues(range(1, j))) for j in range(2, 5000)]
        total = num_arms * sum(map(math.exp, levels))
        assert 0.999 * SHARE * DELTA < total <= SHARE * DELTA
        # A value that is held back takes its place among the values, too.
        arm = ArmValues([0, 1, 2])
        arm.held = [7, 8]
        assert quality._level(arm) == levels[4]


# Through the ledger of a study.


def a_desk(name, rng, n):
    """A study told the values of n tickets, in another order, with the wrong ones among them."""
    objective = Multiplicative(0.4) if name == "times" else Additive(5.0)
    objective = Additive(0.3) if name == "bernoulli" else objective
    rules = {"in_order": bool(rng.random() < 0.5) or name == "times"}
    if name == "times":
        rules["censor_at"] = DEADLINE
    study_cache = StudyCache(MODELS[name][0], objective, K, DELTA, **rules)
    tickets = [
        item for item in tickets_of(name, rng, n) if name != "times" or item.value <= DEADLINE
    ]
    numbers = study_cache.issue([(ticket.arm, ticket.pooled) for ticket in tickets])
    return study_cache, [item._replace(number=i) for i, item in zip(numbers, tickets, strict=True)]


def state_of(state):
    """What a study knows, as text: equal where it is the same."""
    quality, engine = state.quality, state.current_engine()
    parts = [quality.processed, quality.suspects, sorted(quality.waiting), quality.confirmed]
    parts += [engine.label_names(), engine.counts, engine.sums]
    if engine.has_started():
        state, tally = engine.strategy_state, engine.tally
        parts += [tally.counts, tally.sums, tally.scatter, state.whole_pool(tally)]
        parts += [np.array(state.sides.influential), engine.certified_at]
    with np.printoptions(threshold=10**6, floatmode="unique"):
        return repr(parts)


@pytest.mark.parametrize("name", MODELS)
@examples(4)
@given(seeds)
def test_a_corrected_study_is_one_that_was_told_the_right_value(name, seed):
    rng = np.random.default_rng(seed)
    study_cache, tickets = a_desk(name, rng, 25)
    right = StudyCache(study_cache.design.model, study_cache.design.objective, K, DELTA)
    right.design, right.state = study_cache.design, StudyState(study_cache.design)
    right.issue([(ticket.arm, ticket.pooled) for ticket in tickets])
    wrong, draw = int(rng.integers(len(tickets))), MODELS[name][3]
    for i in rng.permutation(len(tickets)):
        number, arm, value, _, censored = tickets[i]
        right.tell((number, value), censored=censored)
        if i == wrong:
            told = draw(rng, arm)
            changed = told != value
            value, censored = told, name == "times" and told == DEADLINE
        study_cache.tell((number, value), censored=censored)
        if rng.random() < 0.3:
            _ = study_cache.engine.has_started()  # looking changes nothing
    number, _, value, _, censored = tickets[wrong]
    data = {"censored": True} if censored else None
    before = state_of(study_cache.state)
    study_cache.record("corrected", ticket=number, value=value, note="a slip", data=data)
    assert state_of(study_cache.state) == state_of(right.state)
    assert (before != state_of(right.state)) == changed


@pytest.mark.parametrize("name", MODELS)
@examples(4)
@given(seeds)
def test_a_study_read_anew_is_the_one_that_went_on(name, seed):
    rng = np.random.default_rng(seed)
    study_cache, tickets = a_desk(name, rng, 40)
    for i in rng.permutation(len(tickets)):
        number, _, value, _, censored = tickets[i]
        if rng.random() < 0.05:
            study_cache.record("failed", ticket=number, note="spilt")
            continue
        study_cache.tell((number, value), censored=censored)
        suspects = list(study_cache.state.quality.suspects.values())
        if suspects and rng.random() < 0.2:
            one = suspects[int(rng.integers(len(suspects)))]
            study_cache.record("confirmed", ticket=one.number, value=one.value)
        if suspects and rng.random() < 0.1:
            one = suspects[-1]
            if one.number in study_cache.state.quality.suspects:
                value = MODELS[name][3](rng, one.arm)
                study_cache.record("corrected", ticket=one.number, value=value, note="a slip")
        if rng.random() < 0.5:
            study_cache.engine.has_started()
    events = [parse_line(event.line(), event.seq) for event in study_cache.events]
    assert state_of(StudyState.from_events(events)) == state_of(study_cache.state)


@pytest.mark.parametrize("name", ["normal", "counts", "times", "unknown"])
@examples(5)
@given(seeds)
def test_the_verifier_hears_the_same(name, seed):
    """It has a gate of its own, and reads it from the log: with confirmations and corrections."""
    rng = np.random.default_rng(seed)
    study_cache, tickets = a_desk(name, rng, 25)
    for i in rng.permutation(len(tickets)):
        number, _, value, _, censored = tickets[i]
        study_cache.tell((number, value), censored=censored)
        for suspect in list(study_cache.state.quality.suspects.values()):
            if rng.random() < 0.3:
                study_cache.record("confirmed", ticket=suspect.number, value=suspect.value)
        if rng.random() < 0.2:
            ticket = study_cache.state.tickets[int(rng.choice(study_cache.state.told))]
            right = MODELS[name][3](rng, ticket.arm)
            study_cache.record("corrected", ticket=ticket.number, value=right, note="a slip")
    events = [verifier.read_event(event.seq, event.line()) for event in study_cache.events]
    gate = verifier.replay(events, verifier.Work()).quality()
    quality = study_cache.state.quality
    assert [counted.ticket.number for counted in gate.order] == [
        item.number for item in quality.processed
    ]
    assert [counted.time for counted in gate.order] == [item.time for item in quality.processed]
    influential = [
        None if math.isnan(item.influential) else item.influential for item in quality.processed
    ]
    for counted, value in zip(gate.order, influential, strict=True):
        assert verifier.nearly(counted.influential, value, 1e-9)
    assert gate.values()["suspect"] == sorted(quality.suspects)
    assert gate.confirmed == quality.confirmed
