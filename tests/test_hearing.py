"""Which values count, and in which order: against a slow twin, through any sequence of arrivals.

Each of these was broken once to see a test fail: j in the level, the median of the other arms, the
place of a value that takes another's, the side of a time that was waited in vain.
"""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import Additive, Bernoulli, Bounded, Exponential, Gaussian, Multiplicative, Poisson
from allgood.study import verifier
from allgood.study.events import parse_line
from allgood.study.hearing import SHARE, ArmValues, Hearing
from allgood.study.ledger import Ledger

from .desk import Desk
from .effort import examples
from .reference import hearing as twin
from .reference.hearing import Value

K, DELTA, DEADLINE = 4, 0.1, 30.0
MEANS = [20.0, 22.0, 60.0, 150.0]
LAWS = {  # model, its name and sigmas in the twin, and a reward of arm a
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
    draw, made = LAWS[name][3], []
    for number in range(1, n + 1):
        arm = int(rng.integers(K))
        value = draw(rng, arm)
        in_vain = name == "times" and value == DEADLINE
        if rng.random() < slips and name not in ("bernoulli", "bounded") and not in_vain:
            value = slip(rng, value, name == "counts")
        made.append(Value(number, arm, value, bool(rng.random() < 0.3), in_vain))
    return made


def shuffled(rng, tickets, farthest):
    """Each ticket up to so many places from its own."""
    n = len(tickets)
    return [tickets[i] for i in np.argsort(np.arange(n) + rng.uniform(0.0, farthest, n))]


def new_hearing(name, in_order, check):
    return Hearing(LAWS[name][0], K, DELTA, in_order, check)


def tell_to(hearing, arrival):
    kind, ticket, time = arrival
    if kind == "told":
        hearing.tell(ticket, time)
    elif kind == "failed":
        hearing.fail(ticket.number, time)
    else:
        hearing.confirm(ticket, time)


def listened(name, arrivals, in_order, check):
    hearing = new_hearing(name, in_order, check)
    for arrival in arrivals:
        tell_to(hearing, arrival)
    return hearing


def numbers(hearing):
    """What counts: all but the odd values and the times."""
    return [(one.number, one.arm, one.value, one.joins, one.in_vain) for one in hearing.heard]


def check_same(hearing, wanted):
    assert numbers(hearing) == [tuple(ticket) for ticket, _, _ in wanted.heard]
    assert [one.time for one in hearing.heard] == [time for _, _, time in wanted.heard]
    rewards = [0] * K
    for one, (ticket, odd, _) in zip(hearing.heard, wanted.heard, strict=True):
        rewards[ticket.arm] += not ticket.in_vain
        if rewards[ticket.arm] == 2:  # either of two, by rounding
            assert math.isnan(one.odd) == math.isnan(odd)
        else:
            assert one.odd == pytest.approx(odd, nan_ok=True)
    assert set(hearing.suspects) == set(wanted.suspects)
    for number, (ticket, (n, mean), chance) in wanted.suspects.items():
        one = hearing.suspects[number]
        assert (one.number, one.arm, one.value) == ticket[:3]
        assert one.others == (n, pytest.approx(mean))
        assert one.log_chance == pytest.approx(chance, rel=1e-6)
    assert sorted(hearing.waiting) == wanted.waiting
    assert hearing.sure == wanted.sure


@pytest.mark.parametrize("name", LAWS)
@examples(40)
@given(seeds, st.booleans(), st.sampled_from([True, True, True, False]))
def test_it_hears_what_its_slow_twin_hears(name, seed, in_order, check):
    """After every arrival: values, failures, and confirmations of suspect values and of others."""
    rng = np.random.default_rng(seed)
    tickets = tickets_of(name, rng, int(rng.integers(2, 25)))
    _, law, sigmas, _ = LAWS[name]
    hearing, arrivals = new_hearing(name, in_order, check), []
    for i, ticket in enumerate(shuffled(rng, tickets, rng.choice([0.0, 3.0, 30.0]))):
        if rng.random() < 0.05:
            continue  # never heard of
        arrivals.append(("failed" if rng.random() < 0.05 else "told", ticket, 10.0 + i))
        tell_to(hearing, arrivals[-1])
        check_same(hearing, twin.listen(arrivals, law, sigmas, DELTA, in_order, check))
        known = [one.number for one in hearing.heard] if rng.random() < 0.1 else hearing.suspects
        if known and rng.random() < 0.3:
            number = int(rng.choice(list(known)))
            arrivals.append(("confirmed", tickets[number - 1], 10.5 + i))
            tell_to(hearing, arrivals[-1])
            check_same(hearing, twin.listen(arrivals, law, sigmas, DELTA, in_order, check))


def test_the_sequences_of_the_twin_have_something_to_see():
    """How often, in the sequences above, each of the rules decides something."""
    seen = {"suspect": 0, "replaced": 0, "waiting": 0, "odd": 0, "in vain": 0}
    for name in ("normal", "counts", "times", "unknown"):
        for seed in range(60):
            rng = np.random.default_rng(seed)
            tickets = tickets_of(name, rng, 20)
            told = [("told", ticket, 0.0) for ticket in shuffled(rng, tickets, 5.0)[:-1]]
            hearing = listened(name, told, True, True)
            seen["suspect"] += bool(hearing.suspects)
            seen["replaced"] += hearing.replaced
            seen["waiting"] += bool(hearing.waiting)
            seen["in vain"] += any(one.in_vain for one in hearing.heard)
            last = {one.arm: one.odd for one in hearing.heard}
            seen["odd"] += not all(map(math.isnan, last.values()))
    assert min(seen.values()) > 20, seen


@pytest.mark.parametrize("name", LAWS)
@examples(7)
@given(seeds, seeds)
def test_when_values_arrive_does_not_matter_where_they_are_heard_in_order(name, seed, other):
    tickets = tickets_of(name, np.random.default_rng(seed), 15)
    order = np.random.default_rng(other).permutation(len(tickets))
    here = listened(name, [("told", ticket, 0.0) for ticket in tickets], True, True)
    there = listened(name, [("told", tickets[i], 0.0) for i in order], True, True)
    assert [repr(one) for one in here.heard] == [repr(one) for one in there.heard]
    assert here.suspects == there.suspects
    assert not here.waiting
    assert not there.waiting


def test_control_it_does_matter_where_they_are_heard_as_they_come():
    tickets = tickets_of("normal", np.random.default_rng(1), 15)
    here = listened("normal", [("told", ticket, 0.0) for ticket in tickets], False, True)
    there = listened("normal", [("told", ticket, 0.0) for ticket in tickets[::-1]], False, True)
    assert numbers(here) != numbers(there)


@pytest.mark.parametrize("name", LAWS)
@examples(4)
@given(seeds)
def test_nothing_is_suspect_or_odd_where_values_are_not_checked(name, seed):
    tickets = tickets_of(name, np.random.default_rng(seed), 15, slips=0.5)
    hearing = listened(name, [("told", ticket, 0.0) for ticket in tickets], False, False)
    assert numbers(hearing) == [tuple(ticket) for ticket in tickets]
    assert not hearing.suspects
    assert all(math.isnan(one.odd) for one in hearing.heard)


@pytest.mark.parametrize("name", ["normal", "counts", "times", "unknown"])
@examples(7)
@given(seeds)
def test_a_confirmed_value_counts_from_then_on(name, seed):
    rng = np.random.default_rng(seed)
    tickets = tickets_of(name, rng, 20, slips=0.4)
    hearing, confirmed = new_hearing(name, False, True), set()
    for ticket in tickets:
        hearing.tell(ticket, 0.0)
        for number in list(hearing.suspects):
            if rng.random() < 0.4:
                hearing.confirm(tickets[number - 1], 0.0)
                confirmed.add(number)
        assert confirmed <= {one.number for one in hearing.heard}
        assert not confirmed & set(hearing.suspects)
        unsure = [one.value for one in hearing.heard if one.number not in confirmed]
        rewards = [one.arm for one in hearing.heard if not one.in_vain]
        for one in hearing.heard[-1:]:
            assert math.isnan(one.odd) or one.odd in unsure or rewards.count(one.arm) == 1


def test_a_confirmed_value_stays_when_another_is_corrected():
    """The first value was wrong, and so is what replaces it: the second is confirmed, and counts.

    Once the confirmation was forgotten, as the second value was no longer suspect.
    """
    desk = Desk(Gaussian(2.0), Additive(5.0), 2, 0.1)
    numbers = desk.issue([(1, False), (0, False), (0, False), (0, False)])
    desk.tell((numbers[0], 1000.0), (numbers[1], 10.0), (numbers[2], 1000.0))
    assert set(desk.ledger.hearing.suspects) == {2}
    desk.record("confirmation", ticket=2, value=10.0)
    desk.record("correction", ticket=3, value=12.0, note="a slip")
    desk.record("correction", ticket=3, value=5000.0, note="another slip")
    assert 2 in {one.number for one in desk.ledger.hearing.heard}
    desk.tell((numbers[3], 5000.0))
    heard = {one.number for one in desk.ledger.hearing.heard}
    assert 2 in heard
    assert desk.ledger.hearing.sure == {2}


def test_the_levels_of_all_values_sum_to_the_share_of_delta():
    for num_arms in (1, 2, 50):
        hearing = Hearing(Gaussian(), num_arms, DELTA, False, True)
        levels = [hearing._level(ArmValues(range(1, j))) for j in range(2, 5000)]
        total = num_arms * sum(map(math.exp, levels))
        assert 0.999 * SHARE * DELTA < total <= SHARE * DELTA
        # A value that is held back takes its place among the values, too.
        arm = ArmValues([0, 1, 2])
        arm.held = [7, 8]
        assert hearing._level(arm) == levels[4]


# Through the ledger of a study.


def a_desk(name, rng, n):
    """A study told the values of n tickets, in another order, with the wrong ones among them."""
    objective = Multiplicative(0.4) if name == "times" else Additive(5.0)
    objective = Additive(0.3) if name == "bernoulli" else objective
    rules = {"in_order": bool(rng.random() < 0.5) or name == "times"}
    if name == "times":
        rules["deadline"] = DEADLINE
    desk = Desk(LAWS[name][0], objective, K, DELTA, **rules)
    tickets = [one for one in tickets_of(name, rng, n) if name != "times" or one.value <= DEADLINE]
    numbers = desk.issue([(ticket.arm, ticket.joins) for ticket in tickets])
    return desk, [one._replace(number=i) for i, one in zip(numbers, tickets, strict=True)]


def state_of(ledger):
    """What a study knows, as text: equal where it is the same."""
    hearing, engine = ledger.hearing, ledger.current_engine()
    parts = [hearing.heard, hearing.suspects, sorted(hearing.waiting), hearing.sure]
    parts += [engine.label_names(), engine.counts, engine.sums]
    if engine.has_started():
        rule, tally = engine.rule, engine.tally
        parts += [tally.counts, tally.sums, tally.scatter, rule.whole_pool(tally)]
        parts += [np.array(rule.sides.odd), engine.certified_at]
    with np.printoptions(threshold=10**6, floatmode="unique"):
        return repr(parts)


@pytest.mark.parametrize("name", LAWS)
@examples(4)
@given(seeds)
def test_a_corrected_study_is_one_that_was_told_the_right_value(name, seed):
    rng = np.random.default_rng(seed)
    desk, tickets = a_desk(name, rng, 25)
    right = Desk(desk.design.model, desk.design.objective, K, DELTA)
    right.design, right.ledger = desk.design, Ledger(desk.design)
    right.issue([(ticket.arm, ticket.joins) for ticket in tickets])
    wrong, draw = int(rng.integers(len(tickets))), LAWS[name][3]
    for i in rng.permutation(len(tickets)):
        number, arm, value, _, in_vain = tickets[i]
        right.tell((number, value), in_vain=in_vain)
        if i == wrong:
            told = draw(rng, arm)
            changed = told != value
            value, in_vain = told, name == "times" and told == DEADLINE
        desk.tell((number, value), in_vain=in_vain)
        if rng.random() < 0.3:
            _ = desk.engine.has_started()  # looking changes nothing
    number, _, value, _, in_vain = tickets[wrong]
    data = {"in_vain": True} if in_vain else None
    before = state_of(desk.ledger)
    desk.record("correction", ticket=number, value=value, note="a slip", data=data)
    assert state_of(desk.ledger) == state_of(right.ledger)
    assert (before != state_of(right.ledger)) == changed


@pytest.mark.parametrize("name", LAWS)
@examples(4)
@given(seeds)
def test_a_study_read_anew_is_the_one_that_went_on(name, seed):
    rng = np.random.default_rng(seed)
    desk, tickets = a_desk(name, rng, 40)
    for i in rng.permutation(len(tickets)):
        number, _, value, _, in_vain = tickets[i]
        if rng.random() < 0.05:
            desk.record("failure", ticket=number, note="spilt")
            continue
        desk.tell((number, value), in_vain=in_vain)
        suspects = list(desk.ledger.hearing.suspects.values())
        if suspects and rng.random() < 0.2:
            one = suspects[int(rng.integers(len(suspects)))]
            desk.record("confirmation", ticket=one.number, value=one.value)
        if suspects and rng.random() < 0.1:
            one = suspects[-1]
            if one.number in desk.ledger.hearing.suspects:
                value = LAWS[name][3](rng, one.arm)
                desk.record("correction", ticket=one.number, value=value, note="a slip")
        if rng.random() < 0.5:
            desk.engine.has_started()
    events = [parse_line(event.line(), event.seq) for event in desk.events]
    assert state_of(Ledger.from_events(events)) == state_of(desk.ledger)


@pytest.mark.parametrize("name", ["normal", "counts", "times", "unknown"])
@examples(5)
@given(seeds)
def test_the_verifier_hears_the_same(name, seed):
    """It has a gate of its own, and reads it from the log: with confirmations and corrections."""
    rng = np.random.default_rng(seed)
    desk, tickets = a_desk(name, rng, 25)
    for i in rng.permutation(len(tickets)):
        number, _, value, _, in_vain = tickets[i]
        desk.tell((number, value), in_vain=in_vain)
        for one in list(desk.ledger.hearing.suspects.values()):
            if rng.random() < 0.3:
                desk.record("confirmation", ticket=one.number, value=one.value)
        if rng.random() < 0.2:
            ticket = desk.ledger.tickets[int(rng.choice(desk.ledger.told))]
            right = LAWS[name][3](rng, ticket.arm)
            desk.record("correction", ticket=ticket.number, value=right, note="a slip")
    families = {"normal": verifier.NORMAL, "unknown": verifier.UNKNOWN}
    sigmas = dict(zip(desk.design.arms, LAWS[name][2], strict=True))
    log = verifier.Log(families.get(name, LAWS[name][1]), sigmas)
    for event in desk.events:
        log.add(event.seq, json.loads(event.line()))
    gate = log.gate()
    hearing = desk.ledger.hearing
    assert [heard.number for heard in gate.order] == [one.number for one in hearing.heard]
    assert [heard.time for heard in gate.order] == [one.time for one in hearing.heard]
    odd = [None if math.isnan(one.odd) else one.odd for one in hearing.heard]
    for heard, value in zip(gate.order, odd, strict=True):
        assert verifier.nearly(heard.influential, value, 1e-9)
    assert gate.values()["suspect"] == sorted(hearing.suspects)
    assert gate.sure == hearing.sure
