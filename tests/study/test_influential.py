"""No label rests on a single value; and times that were waited in vain.

Each of these was broken once to see a test fail: the mean and the scatter of the rest, the group of
an arm with an odd value, the rest of the pool, an odd value that is left out alone, the count of a
time that was waited in vain.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import expon

from allgood import Additive, ClaimByClaim, Exponential, Gaussian, Multiplicative, Poisson
from allgood.evidence.certify import evidence_bad, evidence_good
from allgood.evidence.claims import claim_spec, claims_from
from allgood.evidence.spec import BAD, GOOD, POOL, Sides
from allgood.kernels.tally import Tally
from allgood.models.base import log_ratio
from allgood.strategies.claim_by_claim import process

from ..evidence import test_certify as every
from ..reference import evidence as reference
from ..reference import families
from ..support.effort import examples
from ..support.study_cache import StudyCache

SIGMA = 0.7
seeds = st.integers(0, 2**32 - 1)


def sides_of(model, unit, rewards, influential):
    """Of lists of rewards, one per arm, and the odd one of each, or nan."""
    n = [len(x) for x in rewards]
    m = [np.mean(x) for x in rewards]
    Q = [np.var(x) * len(x) for x in rewards]
    sides = Sides(model, np.array(unit), n, m, Q)
    np.asarray(sides.influential)[:] = influential
    return sides


def without(rewards, x):
    """The others; none if fewer than two would be left."""
    if math.isnan(x):
        return rewards
    others = list(rewards)
    others.remove(x)
    return others if len(others) > 1 else []


def drawn(rng, sizes, means, draw, factor):
    """Rewards of each arm, and an odd one of most of them: far from the others, or not."""
    rewards, influential = [], []
    for n, mean in zip(sizes, means, strict=True):
        x = [float(draw(mean)) for _ in range(n)]
        if rng.random() < 0.5:
            x[0] = float(draw(factor * mean))
        rewards.append(x)
        influential.append(x[0] if rng.random() < 0.7 else math.nan)
    return rewards, influential


def least(evidence, *sides):
    """Of sides with their rests: the least over all ways to leave odd values out."""
    whole = evidence(*(every for every, _ in sides))
    if not all(rest for _, rest in sides):
        return min(whole, 0.0)
    return min(evidence(*chosen) for chosen in itertools.product(*sides))


class Twin:
    """Evidence of normal rewards by the slow twin: of lists of rewards, without an odd one too."""

    def __init__(self, spec, rewards, influential):
        self.spec, self.arms = spec, len(rewards)
        self.rewards = rewards
        self.rest = [without(x, y) for x, y in zip(rewards, influential, strict=True)]

    def least(self, evidence, *sides):
        """No more than without the odd values; 0 where too few would be left."""
        return least(evidence, *((self.rewards[a], self.rest[a]) for a in sides))

    def pair(self, up, k, l):
        def evidence(x, y):
            G = up * (np.mean(x) - self.spec.c * np.mean(y) + self.spec.e)
            v = len(x) / SIGMA**2, len(y) / SIGMA**2
            return reference.pair(*v, G, self.spec.c, SIGMA, SIGMA, self.arms)

        return self.least(evidence, k, l)

    def with_pool(self, k, pool):
        def evidence(x, y):
            v = len(x) / SIGMA**2, len(y) / SIGMA**2
            return reference.pair(*v, above(x, y), self.spec.c, SIGMA, SIGMA, self.arms)

        def above(x, y):
            return self.spec.c * np.mean(y) - self.spec.e - np.mean(x)

        x, rest = self.rewards[k], sorted(pool)[:-1]
        shows = rest and above(x, rest) > 0.0
        return least(evidence, (x, self.rest[k]), (pool, rest if shows else []))

    def alone(self, up, k):
        def evidence(x):
            return reference.one(len(x) / SIGMA**2, up * np.mean(x), SIGMA, self.arms)

        return self.least(evidence, k)


def close(wanted):
    return pytest.approx(wanted, rel=1e-6, abs=1e-6)


@examples(15)
@given(seeds, st.sampled_from([Additive(0.5), Multiplicative(0.4)]))
def test_evidence_is_there_with_the_odd_value_and_without_it(seed, objective):
    """Normal rewards, against the twin: of two arms, of an arm and the pool, and of one arm."""
    rng, arms, model = np.random.default_rng(seed), 3, Gaussian(SIGMA)
    spec = claim_spec(objective, 0.1, arms, model, 0.9)
    sizes = rng.choice([1, 2, 3, 8, 60], size=arms)
    rewards, influential = drawn(
        rng, sizes, [1.5, 0.6, -0.4], lambda mean: rng.normal(mean, SIGMA), 20.0
    )
    sides, twin = sides_of(model, spec.unit, rewards, influential), Twin(spec, rewards, influential)
    rewards_of_pool = rng.normal(1.4, SIGMA, rng.choice([1, 2, 30])).tolist()
    rewards_of_pool[0] += rng.choice([0.0, 40.0])
    pool = np.array([len(rewards_of_pool), math.fsum(rewards_of_pool)]) / SIGMA**2
    sides.top, sides.top_unit = max(rewards_of_pool), 1.0 / SIGMA**2
    for k in range(arms):
        if spec.c < 1.0:
            assert evidence_good(spec, sides, k, k) == close(twin.alone(1.0, k))
        for l in (a for a in range(arms) if a != k):
            assert evidence_good(spec, sides, k, l) == close(twin.pair(1.0, k, l))
            E, surcharge, rival, _ = evidence_bad(spec, sides, pool, k, l)
            if -math.inf == E:  # nothing is above it
                continue
            wanted = (
                twin.with_pool(k, rewards_of_pool)
                if rival == POOL
                else twin.alone(-1.0, k)
                if rival == k
                else twin.pair(-1.0, k, l)
            )
            assert close(wanted) == E
            assert surcharge == (spec.surcharge_pool if rival == POOL else spec.surcharge_rival)


def test_how_much_an_odd_value_is_worth():
    """One value would decide.  If it is odd, three are needed."""
    spec = claim_spec(Additive(0.5), 0.1, 2, Gaussian(), 0.0)
    for first in ([0.0], [0.0, 0.5], [0.0, 0.5, -0.5]):
        rewards = [first, [90.0, 91.0, 89.0, 90.5]]
        nothing = sides_of(Gaussian(), spec.unit, rewards, [math.nan, math.nan])
        assert evidence_bad(spec, nothing, np.zeros(2), 0, 1)[0] > 2.0 * spec.need
        influential = sides_of(Gaussian(), spec.unit, rewards, [0.0, math.nan])
        E = evidence_bad(spec, influential, np.zeros(2), 0, 1)[0]
        assert 2.0 * spec.need < E if len(first) == 3 else E == 0.0


MODELS = {"Poisson": Poisson(), "Exponential": Exponential(), "Student": Gaussian(None)}


@pytest.mark.parametrize("name", MODELS)
def test_evidence_of_other_laws_with_the_odd_value_and_without_it(name):
    """It reaches the need where both minima on a dense grid do, and nowhere else."""
    rng, model, certified, less = np.random.default_rng(3), MODELS[name], 0, 0

    def draw(mean):
        if name == "Poisson":
            return rng.poisson(mean)
        return rng.exponential(mean) if name == "Exponential" else rng.normal(mean, 3.0)

    for _ in range(20):
        spec = claim_spec(Additive(4.0), 0.1, 2, model, 0.0)
        sizes = rng.choice([2, 3, 60, 200, 300], size=2)
        rewards, influential = drawn(rng, sizes, [40.0, rng.choice([6.0, 20.0])], draw, 2.0)
        sides = sides_of(model, spec.unit, rewards, influential)
        rest = [without(x, y) for x, y in zip(rewards, influential, strict=True)]

        def evidence(x, y, spec=spec):
            k, l = ((len(z), np.mean(z), np.var(z) * len(z)) for z in (x, y))
            prior = np.asarray(spec.rho), np.asarray(spec.W)
            return families.pair(name, 1.0, *k, *l, spec.c, spec.e, *prior, points=200)

        ways = list(zip(rewards, rest, strict=True))
        whole, exact = evidence(*rewards), least(evidence, *ways)
        found = evidence_good(spec, sides, 0, 1)
        if all(rest):
            ways = itertools.product(*ways)
            parts = [sides_of(model, spec.unit, way, [math.nan] * 2) for way in ways]
            assert found == close(min(evidence_good(spec, part, 0, 1) for part in parts))
        assert exact >= spec.need_good or found < spec.need_good
        assert found >= spec.need_good or exact < spec.need_good + 0.05
        certified += found >= spec.need_good
        less += exact < whole - 0.1
    assert certified > 5
    assert less > 5


# The claims of all arms at once.


@pytest.mark.parametrize("model", every.MODELS)
def test_claims_with_odd_values_are_those_of_every_rival(model):
    """An arm with an odd value is a group of its own, unless it is the only value."""
    rng, differ = np.random.default_rng(7), 0
    for _ in range(25):
        spec, sides, pool, before = every.a_case(model, rng)
        n, Q = np.asarray(sides.n), np.asarray(sides.Q)
        few = rng.random(every.K) < 0.2
        n[few] = rng.choice([2.0, 3.0] if model == "unknown sigma" else [1.0, 2.0, 3.0], few.sum())
        Q[few] = 0.25 * n[few]
        sides = Sides(spec.model, np.array(spec.unit), n, sides.m, Q)
        plain = claims_from(spec, sides, pool, before)
        m, influential = np.asarray(sides.m), np.asarray(sides.influential)
        strange = (rng.random(every.K) < 0.4) | (n == 1.0)
        away = rng.choice([0.01, 0.5, 0.9], size=every.K) * n * m  # a part of the sum
        influential[:] = np.where(strange & (n > 0.0), away, np.nan)
        made = claims_from(spec, sides, pool, before)
        labels, evidence, need = every.by_every_rival(spec, sides, pool, before)
        assert made.evidence == pytest.approx(evidence, abs=every.TOLERANCE)
        assert made.need.tolist() == need.tolist()
        assert made.good.tolist() == (labels == GOOD).tolist()
        assert made.bad.tolist() == (labels == BAD).tolist()
        differ += (made.open & ~plain.open).any()
        assert not (made.bad & ~plain.bad).any()
        assert not (made.good & ~plain.good).any()
    assert differ > 3  # odd values kept labels open


def test_no_label_rests_on_the_largest_value_of_the_pool():
    """A wait of 30 times the mean is not suspect, and joins.  The control is the same, unchecked.

    The arms are equal, so that no arm is bad.
    """
    harm = {True: 0, False: 0}
    for seed in range(10):
        times = np.random.default_rng(seed).exponential(size=33)
        times[18] = 30.0 * times[:18:3].mean()
        for check in (True, False):
            study_cache = StudyCache(
                Exponential(), Multiplicative(0.5), 3, 0.1, check_values=check, in_order=True
            )
            study_cache.issue([(i % 3, False) for i in range(18)])
            study_cache.issue([(i % 3, i < 3) for i in range(15)])
            for number, time in enumerate(times.tolist(), 1):
                study_cache.tell((number, time))
            assert not study_cache.state.quality.suspects
            harm[check] += "bad" in study_cache.engine.label_names()
    assert harm[True] == 0
    assert harm[False] > 2


# Times that were waited in vain.


@given(
    st.lists(st.floats(0.01, 30.0), min_size=1, max_size=8),
    st.lists(st.floats(0.01, 30.0), max_size=8),
    st.floats(0.1, 100.0),
    st.floats(-3.0, 3.0),
)
def test_the_likelihood_of_times_waited_in_vain(times, censored, x, eta):
    """A time that ended has its density; one that did not has the chance to be longer."""
    tally = Tally(2)
    for time in times:
        tally.record(1, time)
    for time in censored:
        tally.wait(1, time)
    n, m = int(tally.counts[1]), float(tally.means[1])
    assert (n, tally.pulls) == (len(times), len(times) + len(censored))
    assert tally.sums[1] == pytest.approx(math.fsum(times + censored))
    y = x * math.exp(eta)
    wanted = sum(expon.logpdf(t, scale=y) - expon.logpdf(t, scale=x) for t in times)
    wanted += sum(expon.logsf(t, scale=y) - expon.logsf(t, scale=x) for t in censored)
    found = log_ratio(Exponential(), n, m, 0.0, x, eta)
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@examples(15)
@given(seeds)
def test_what_is_heard_of_times_waited_in_vain(seed):
    """Counts, sums and the pool, and what the evidence sees, against plain sums."""
    rng, K, n = np.random.default_rng(seed), 3, 60
    state = ClaimByClaim(Multiplicative(0.5), 0.1).start(K, Exponential())
    state.robust = True
    arms = np.append(np.arange(K), rng.integers(K, size=n - K))
    times = rng.exponential(np.array([9.0, 8.0, 1.0])[arms])
    censored = (rng.random(n) < 0.3) & (np.arange(n) >= K)
    joining = (rng.random(n) < 0.4) & (np.arange(n) >= K)
    influential = np.where(rng.random(n) < 0.2, times, np.nan)
    marks, numbers = joining.astype(np.int8), 1 - censored.astype(np.int64)
    tally, done = Tally(K), 0
    while done < n:
        done = process(state, tally, arms, times, numbers, np.zeros(n), marks, influential, done)
        here = np.arange(n) < done
        for a in range(K):
            of = here & (arms == a)
            N, S = (of & ~censored).sum(), times[of].sum()
            last = influential[of][-1] if of.any() else math.nan
            assert tally.counts[a] == state.sides.n[a] == N
            assert tally.sums[a] == pytest.approx(S)
            assert not N or tally.means[a] == state.sides.m[a] == pytest.approx(S / N)
            assert state.sides.influential[a] == pytest.approx(last, nan_ok=True)
        pool = [(here & joining & ~censored).sum(), times[here & joining].sum()]
        assert state.whole_pool(tally) == pytest.approx(pool)
        for item in (state, state.copy()):
            joined = times[here & joining & ~censored]
            assert item.sides.top == joined.max(initial=0.0)
            assert item.sides.top_unit == float(joined.size > 0)
    assert tally.pulls == n


# Whole studies.

STUDIES = {  # model, question, means, and a reward
    "normal": (Gaussian(1.0), Additive(2.0), [0.0, 9.0, 10.0, 30.0], np.random.Generator.normal),
    "unknown": (Gaussian(None), Additive(2.0), [0.0, 1.0, 20.0, 23.0], np.random.Generator.normal),
    "counts": (Poisson(), Additive(5.0), [3.0, 30.0, 33.0, 200.0], np.random.Generator.poisson),
    "times": (
        Exponential(),
        Multiplicative(0.5),
        [0.01, 1.0, 5.0, 80.0],
        np.random.Generator.exponential,
    ),
}


def a_study(name, seed, check):
    """A desk that is told values of random arms, one by one, and is seen after each of them.

    The last arm, the best, is rarely asked for.
    """
    model, objective, means, draw = STUDIES[name]
    rng, K = np.random.default_rng(seed), len(means)
    rules = {"check_values": check, "in_order": model.takes_time}
    study_cache = StudyCache(model, objective, K, 0.1, pool=bool(seed % 2), **rules)
    study_cache.issue([(a, False) for a in range(K)])
    arms = rng.choice(K, size=56, p=[0.4, 0.3, 0.26, 0.04])
    study_cache.issue([(arm, rng.random() < 0.4) for arm in arms])
    for number in range(1, 61):
        study_cache.tell((number, draw(rng, means[study_cache.state.tickets[number].arm])))
        yield study_cache


def rests_on_too_few(engine):
    """Whether a label rests on an arm, or on a single rival, with one value."""
    for moment in engine.moments:
        sides = [(k, l) for k, l in moment.bad if l != POOL]
        sides += [(k, k) for k, l in moment.bad if l == POOL]
        sides += [(step.k, l) for step in moment.steps for l in step.rivals.tolist()]
        if any(moment.counts[moment.place(a)] < 2 for pair in sides for a in pair):
            return True
    return False


@pytest.mark.parametrize("name", STUDIES)
def test_no_label_rests_on_a_single_value(name):
    """And what is certified is certified where values are not checked, at the same moment."""
    certified, on_one_value = 0, 0
    for seed in range(4):
        for here, there in zip(a_study(name, seed, True), a_study(name, seed, False), strict=True):
            assert not here.state.quality.suspects
            labels, others = here.engine.label_names(), there.engine.label_names()
            assert all(item in ("open", two) for item, two in zip(labels, others, strict=True))
        assert not rests_on_too_few(here.engine)
        certified += sum(label != "open" for label in labels)
        on_one_value += rests_on_too_few(there.engine)
    assert certified > 4
    # The control: unchecked, a single value is enough, but where nothing is known of the noise.
    assert (on_one_value > 0) == (name != "unknown")
