"""Labels certified along a grid of pulls: which they are, when, and how often they are wrong."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import binom

from allgood import (
    ST2,
    UCB,
    Additive,
    Arms,
    Bernoulli,
    Bounded,
    ClaimByClaim,
    Exponential,
    FarEast,
    Gaussian,
    Instance,
    Multiplicative,
    Poisson,
    RewardTable,
    TrackAndStop,
    Uniform,
    claims,
    compare,
    run,
    simulate,
)
from allgood.evidence.labels import CertifiedLabels
from allgood.evidence.spec import BAD, GOOD
from allgood.kernels.tally import Tally
from allgood.simulation.loop import new_watch, run_loop

from ..reference import evidence as reference
from ..support.effort import examples, repeats
from ..support.own_strategy import SuccessiveElimination

TOO_CLOSE = 1e-3  # evidence this close to its need: the twin may decide otherwise


def prefixes(strategy, environment, model, grid, seed):
    """The ends of runs that stop at each point of the grid: the state there."""
    for n in range(len(grid)):
        yield run(strategy, environment, model, seed=seed, grid=grid[: n + 1])


@examples(12)
@given(
    make=st.sampled_from([ST2, UCB, Uniform, FarEast, TrackAndStop, SuccessiveElimination]),
    objective=st.sampled_from([Additive(0.8), Multiplicative(0.5)]),
    sigma=st.sampled_from([(1.0, 1.0, 1.0), (0.5, 1.0, 2.0)]),
    seed=st.integers(0, 1000),
)
@example(make=ST2, objective=Multiplicative(0.5), sigma=(0.5, 1.0, 2.0), seed=410)
def test_labels_are_those_of_the_twin(make, objective, sigma, seed):
    """Where the evidence is not so close to the need that rounding decides.

    The twin also tries a claim that an arm is bad against the likeliest rival alone.  In the
    example another rival would certify a label sooner.
    """
    means, grid, delta = [2.0, 1.8, 0.2], [20, 60, 150, 400], 0.2
    strategy, model = make(objective, delta), Gaussian(sigma)
    c, e = objective.factor, objective.slack
    labels, at = [0, 0, 0], [0, 0, 0]
    for end in prefixes(strategy, Arms(means, model), model, grid, seed):
        found = reference.labels(
            end.counts, end.means, sigma, c, e, delta, before=labels, every_rival=False
        )
        assume(min(abs(x) for _, *both in found for x in both) > TOO_CLOSE)
        for k, (label, _, _) in enumerate(found):
            if labels[k] == 0 and label != 0:
                labels[k], at[k] = label, end.pulls
    result = run(strategy, Arms(means, model), model, seed=seed, grid=grid)
    assert result.certified_at.tolist() == at
    assert result.certified_good.tolist() == [label == 1 for label in labels]


CASES = {
    "normal": ([2.0, 1.9, 0.2, 0.1], Additive(0.8), Gaussian(), Gaussian()),
    "Bernoulli": ([0.9, 0.85, 0.3, 0.2], Additive(0.3), Bernoulli(), Bernoulli()),
    "Bounded": ([0.9, 0.85, 0.3, 0.2], Additive(0.3), Bounded(0.0, 1.0), Bernoulli()),
    "Poisson": ([5.0, 4.8, 1.0, 0.5], Multiplicative(0.5), Poisson(), Poisson()),
    "Exponential": ([5.0, 4.8, 1.0, 0.5], Multiplicative(0.5), Exponential(), Exponential()),
    "unknown sigma": ([2.0, 1.9, 0.2, 0.1], Additive(0.8), Gaussian(None), Gaussian(0.7)),
}


def draw(model, mean, n, rng):
    """Rewards of an arm."""
    if isinstance(model, Bernoulli):
        return rng.random(n) < mean
    if isinstance(model, Poisson):
        return rng.poisson(mean, n)
    if isinstance(model, Exponential):
        return rng.exponential(mean, n)
    return rng.normal(mean, 0.7, n)


@pytest.mark.parametrize("case", CASES)
def test_labels_are_those_of_claims_for_every_law(case):
    """Uniform pulls in turn, so what is known at each point is known here, too."""
    means, objective, model, noise = CASES[case]
    grid, K, rng = [8, 40, 120, 400, 1200], len(means), np.random.default_rng(1)
    table = np.array([draw(noise, mean, 300, rng) for mean in means], float)
    before, counted = None, []
    for t in grid:
        seen = table[:, : t // K]
        variances = seen.var(axis=1) if model == Gaussian(None) else None
        before = claims(
            np.full(K, t // K),
            seen.mean(axis=1),
            objective,
            0.1,
            model,
            variances=variances,
            before=before,
        )
        counted.append(int((~before.open).sum()))
    result = run(Uniform(objective, 0.1), RewardTable(table), model, grid=grid)
    at = result.certified_at
    assert [int(((at > 0) & (at <= t)).sum()) for t in grid] == counted
    assert (result.certified_good == before.good).all()
    assert counted[0] < counted[-1]  # there was something to see


def test_a_run_may_end_early():
    """The table ends after 50 rewards of each arm: at later points nothing more is certified."""
    table = np.array([[2.0] * 50, [0.0] * 50])
    result = run(Uniform(Additive(0.5), 0.1), RewardTable(table), grid=[4, 60, 1000, 2000])
    assert result.pulls == 100
    assert result.certified_at.tolist() == [60, 60]
    assert result.certified_good.tolist() == [True, False]


def test_what_was_certified_stays():
    """The arm that led falls behind, so that who looks late sees less."""
    table = np.array([[2.0] * 30 + [-1.0] * 20, [0.0] * 50])
    strategy = Uniform(Additive(0.5), 0.1)
    late = run(strategy, RewardTable(table), grid=[100])
    assert late.certified_at.tolist() == [100, 0]
    both = run(strategy, RewardTable(table), grid=[60, 100])
    assert both.certified_at.tolist() == [60, 60]
    assert both.certified_good.tolist() == [True, False]


@pytest.mark.parametrize("objective", [Additive(0.5), Multiplicative(0.5)])
def test_a_strategy_with_labels_of_its_own_keeps_them(objective):
    """Those of the same run without a grid, to the pull; they are not looked for a second time."""
    means, strategy = [1.0, 0.9, 0.3, 0.1], ClaimByClaim(objective, 0.1)
    alone = run(strategy, means, seed=4)
    watched = run(strategy, means, seed=4, grid=[10, alone.pulls, 2 * alone.pulls])
    assert (alone.certified_at > 0).all()
    assert (watched.certified_at == alone.certified_at).all()
    assert (watched.certified_good == alone.answer).all()
    assert run(ST2(objective, 0.1), means, budget=50).certified_at is None


def test_the_columns_count_labels():
    means, objective = [1.0, 0.9, 0.42, 0.4], Additive(0.5)
    rows = compare(
        ["claim-by-claim", "st2:mixture"], Instance("x", means, objective), 0.5, 5, grid=[50, 3000]
    ).rows
    for simulation in (row.simulation for row in rows):
        for i, result in simulation.results.items():
            for n, pulls in enumerate([50, 3000]):
                certified = {k for k in range(4) if 0 < result.certified_at[k] <= pulls}
                good = {k for k in certified if result.certified_good[k]}
                assert simulation.labels_certified[i, n] == len(certified)
                assert simulation.labels_wrong[i, n] == len(good ^ (certified & {0, 1}))
    with pytest.raises(ValueError, match="grid must be given to simulate"):
        _ = simulate(ClaimByClaim(objective, 0.1), means, runs=1).labels_certified


HARD = {
    "normal": ([0.5, 0.11, 0.09], Additive(0.4), Gaussian()),
    "multiplicative": ([0.5, 0.26, 0.24], Multiplicative(0.5), Gaussian()),
    "Bernoulli": ([0.5, 0.31, 0.29], Additive(0.2), Bernoulli()),
    "Exponential": ([1.0, 0.81, 0.79], Additive(0.2), Exponential()),
}
POINTS = np.unique(np.geomspace(3, 600, 60).astype(np.int64))


def runs_with_a_wrong_label(means, objective, model, delta, runs, cheat):
    """At any point of the grid; ``cheat`` multiplies the risk."""
    truth, wrong, K = objective.answer(means), 0, len(means)
    for seed in range(runs):
        labels = CertifiedLabels(objective, delta, K, model)
        labels.spec.relax(np.log(cheat))
        state = Uniform(objective, delta).start(K, model)
        sampler = Arms(means, model).start(model, np.random.default_rng(seed))
        run_loop(state, sampler, Tally(K), 600, new_watch(K, POINTS, labels))
        found = np.asarray(labels.labels)
        wrong += (((found == GOOD) & ~truth) | ((found == BAD) & truth)).any()
    return int(wrong)


@pytest.mark.parametrize("case", HARD)
def test_wrong_labels_are_no_more_frequent_than_delta(case):
    """Fails with probability at most 1e-6 where the theorem holds.

    The control has fifty times the risk, and must fail.
    """
    many = repeats(50)
    for delta in (0.2, 0.5):
        wrong = runs_with_a_wrong_label(*HARD[case], delta, many, 1.0)
        assert binom.sf(wrong - 1, many, delta) > 1e-6
    wrong = runs_with_a_wrong_label(*HARD[case], 0.2, many, 50.0)
    assert binom.sf(wrong - 1, many, 0.2) <= 1e-6
