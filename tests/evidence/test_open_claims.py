"""Labels at the end of a tell: the same as from the evidence of every arm, with far less work."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import Additive, Bernoulli, ClaimByClaim, Gaussian, Multiplicative
from allgood.evidence.certify import evidence_good, find_frontier, likely_rival, likely_rival_among
from allgood.evidence.claims import POOLED, claim_spec, claims_from, labels_now
from allgood.evidence.open_claims import OpenClaims, note_changes
from allgood.evidence.spec import BAD, GOOD, OPEN, Sides
from allgood.study.engine import Engine
from allgood.study.events import FIELDS, KINDS, Event

from .test_certify import MODELS

K = 7


class Growing:
    """Rewards of a few arms that come bit by bit, some of them influential, and a pool."""

    def __init__(self, model, rng):
        self.rng, self.model = rng, model
        scale = 0.2 if model == "bernoulli" else 1.0
        self.objective = rng.choice([Additive(0.6 * scale), Multiplicative(0.4)])
        self.pooled = POOLED if rng.random() < 0.5 else 0.0
        self.spec = claim_spec(self.objective, 0.1, K, MODELS[model], self.pooled)
        positive = model in ("bernoulli", "poisson", "exponential")
        choices = scale * np.array([1.0, 1.5, 2.0, 4.0, 4.1, 4.5]) if positive else None
        self.mu = rng.choice([-0.8, 0.0, 0.3, 0.9, 1.0, 1.1] if choices is None else choices, K)
        self.n, self.m = np.ones(K), self.mu.copy()
        self.Q, self.influential = np.zeros(K), self.m.copy()
        self.pool, self.top = np.zeros(2), 0.0

    def tell(self):
        """Some arms have new rewards; returns which."""
        rng = self.rng
        arms = np.flatnonzero(rng.random(K) < 0.4)
        self.n[arms] += rng.choice([1.0, 5.0, 30.0], arms.size)
        wobble = 0.1 * rng.standard_normal(arms.size) / np.sqrt(self.n[arms])
        self.m[arms] = self.mu[arms] * (1.0 + wobble)
        self.Q[arms] = 0.25 * self.n[arms] if self.model == "unknown sigma" else 0.0
        strange = rng.random(arms.size) < 0.3
        self.influential[arms] = np.where(strange, self.m[arms] * 1.2, np.nan)
        if self.pooled and rng.random() < 0.3:
            self.pool += 5.0 * np.array([1.0, self.m.max()])
            self.top = max(self.top, 1.1 * self.m.max())
        return arms

    def sides(self):
        sides = Sides(self.spec.model, np.array(self.spec.unit), self.n, self.m, self.Q)
        np.asarray(sides.influential)[:] = self.influential
        if self.pool[0] > 0.0:
            sides.top, sides.top_unit = self.top, 1.0
        return sides


@pytest.mark.parametrize("model", MODELS)
def test_labels_are_those_of_the_evidence_of_every_arm(model):
    seen = set()
    for seed in range(12):
        growing = Growing(model, np.random.default_rng(seed))
        claims = OpenClaims(growing.spec)
        labels = np.full(K, OPEN)
        for _ in range(30):
            note_changes(claims, growing.tell())
            sides = growing.sides()
            made = claims_from(growing.spec, sides, growing.pool, labels)
            shown = np.zeros(K, np.int64)
            found, rival = labels_now(claims, sides, growing.pool, labels, shown)
            wanted = np.select([made.good, made.bad], [GOOD, BAD], OPEN)
            assert found.tolist() == wanted.tolist()
            new = found != labels
            bad = new & (found == BAD)
            assert rival[bad].tolist() == made.rival[bad].tolist()
            seen |= set(found[new].tolist())
            labels = found
    assert seen == {GOOD, BAD}  # there was something to find


def pass_in_order(spec, sides, labels, shown):
    """The obvious way: each arm that looks good passes rivals in their order, one by one."""
    bar = spec.c * np.max(sides.m) - spec.e
    for k in np.flatnonzero((labels == OPEN) & (np.asarray(sides.m) >= bar)):
        while shown[k] < K:
            l = shown[k]
            counts = labels[l] != BAD and (l != k or spec.c < 1.0)
            if counts and evidence_good(spec, sides, k, l) < spec.need_good:
                break
            shown[k] += 1
        if shown[k] == K:
            labels[k] = GOOD


@pytest.mark.parametrize("model", MODELS)
def test_rivals_that_were_passed_stay_passed(model):
    """An arm is good once it has passed every rival, each at some look."""
    earlier = 0
    for seed in range(12):
        growing = Growing(model, np.random.default_rng(100 + seed))
        claims = OpenClaims(growing.spec)
        labels, shown, slow = np.full(K, OPEN), np.zeros(K, np.int64), np.zeros(K, np.int64)
        for _ in range(30):
            note_changes(claims, growing.tell())
            if model == "normal":  # evidence comes and goes
                growing.m += 0.4 * growing.rng.standard_normal(K) / np.sqrt(growing.n)
                note_changes(claims, np.arange(K))
            sides = growing.sides()
            made = claims_from(growing.spec, sides, growing.pool, labels)
            wanted = np.where((labels == OPEN) & made.bad, BAD, labels)
            pass_in_order(growing.spec, sides, wanted, slow)
            labels, _ = labels_now(claims, sides, growing.pool, labels, shown)
            assert labels.tolist() == wanted.tolist()
            waiting = labels == OPEN
            assert shown[waiting].tolist() == slow[waiting].tolist()
            earlier += int(((labels == GOOD) & ~made.good).sum())
    assert earlier > 0 or model != "normal"  # it makes a difference


@pytest.mark.parametrize("objective", [Additive(0.3), Multiplicative(0.4)])
def test_the_likely_rival_is_on_the_frontier(objective):
    sizes = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        num_arms = int(rng.integers(1, 40))
        n = rng.choice([0.0, 1.0, 2.0, 3.0, 50.0], num_arms)
        m = np.round(rng.standard_normal(num_arms), int(rng.integers(0, 4)))
        spec = claim_spec(objective, 0.1, num_arms, Gaussian(), 0.0)
        sides = Sides(Gaussian(), np.array(spec.unit), n, m, np.zeros(num_arms))
        front = np.empty(num_arms, np.int64)
        number = find_frontier(sides, front)
        sizes.append(number)
        for k in range(num_arms):
            among = likely_rival_among(spec, sides, k, front, number)
            assert among == likely_rival(spec, sides, k)
    assert max(sizes) > 2


def told_in_turn(model, num_arms, values_per_arm, per_tell, draw):
    """An engine that was told so many values of each arm, in turn, so many in one tell."""
    engine = Engine(ClaimByClaim(Additive(0.2), 0.05), model, num_arms, check_values=True)
    rng = np.random.default_rng(num_arms)
    means = rng.uniform(0.1, 0.9, num_arms)
    for i in range(num_arms * values_per_arm):
        engine.process(i % num_arms, draw(rng, means[i % num_arms]), False)
        if (i + 1) % per_tell == 0:
            engine.end_tell()
            engine.has_started()
    return engine


@pytest.mark.parametrize(
    ("model", "draw"),
    [
        (Gaussian(0.5), lambda rng, mean: float(rng.normal(mean, 0.5))),
        (Bernoulli(), lambda rng, mean: float(rng.random() < mean)),
    ],
)
def test_the_work_per_value_does_not_grow_with_the_number_of_arms(model, draw):
    """Each value is a tell of its own; evidence of all arms would be computed K times per value."""
    per_value = []
    for num_arms in (20, 80, 320):
        engine = told_in_turn(model, num_arms, 12, 1, draw)
        per_value.append(engine._open_claims.num_evidence / (12 * num_arms))
    assert max(per_value) < 3.0, per_value


def test_many_rewards_at_once_are_heard_as_one_by_one():
    rng = np.random.default_rng(3)
    arms = [*range(5), *rng.integers(0, 5, 95).tolist()]
    rewards = rng.normal(size=100).tolist()
    joining = (rng.random(100) < 0.2).tolist()
    influential = np.where(rng.random(100) < 0.1, rewards, np.nan).tolist()
    ends = [7, 20, 21, 100]
    strategy = ClaimByClaim(Additive(0.5), 0.05)
    slow, fast = (Engine(strategy, Gaussian(), 5, check_values=True) for _ in range(2))
    for i in range(100):
        slow.process(arms[i], rewards[i], joining[i], 1, 0.0, influential[i])
        if i + 1 in ends:
            slow.end_tell()
    fast.process_all(arms, rewards, joining, [1] * 100, [0.0] * 100, influential, ends)
    assert fast.is_done() == slow.is_done()
    assert fast.sums.tolist() == slow.sums.tolist()
    assert fast.counts.tolist() == slow.counts.tolist()
    assert fast.labels.tolist() == slow.labels.tolist()
    assert fast.claims().evidence.tolist() == slow.claims().evidence.tolist()
    assert [moment.measurements for moment in fast.moments] == [
        moment.measurements for moment in slow.moments
    ]
    assert fast.choose(20, []) == slow.choose(20, [])


VALUES = {
    int: st.integers(-(2**70), 2**70),
    float: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5),
    bool: st.booleans(),
    str: st.text(st.characters(exclude_categories=["Cs"])),
    dict: st.dictionaries(st.text(), st.none() | st.floats(-1, 1) | st.text() | st.booleans()),
}


@given(st.fixed_dictionaries({name: st.none() | VALUES[kind] for name, kind in FIELDS.items()}))
def test_a_line_is_json_with_sorted_fields(fields):
    event = Event(**(fields | {"kind": next(iter(KINDS))}))
    fields = sorted(event._asdict().items())
    filled = {name: value for name, value in fields if value is not None}
    wanted = json.dumps(filled, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert event.line() == wanted  # the texts of data in their own order


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_line_holds_finite_numbers(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        Event(1, "measurement", 0.0, ticket=1, value=value).line()
