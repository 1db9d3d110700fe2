"""Strategies on rewards that are not normal.

Stopping pull by pull, what is refused, and the noise one may assume.
"""

import math

import numpy as np
import pytest

from allgood import (
    ST2,
    UCB,
    Additive,
    Arms,
    Bernoulli,
    Bounded,
    Callback,
    ClaimByClaim,
    Exponential,
    FarEast,
    Gaussian,
    Multiplicative,
    Poisson,
    RewardTable,
    TrackAndStop,
    Uniform,
    intervals,
    run,
    simulate,
)
from allgood.evidence.thresholds import c_exponential, kaufmann_koolen, mixture, threshold
from allgood.kernels.tally import Tally
from allgood.simulation.loop import CERTIFIED, new_watch, run_loop

from ..reference import families as reference

A, M = Additive(0.5), Multiplicative(0.5)


def beta(threshold, counts, delta):
    """The thresholds of the families, written out."""
    if threshold == "mixture":
        return math.log(1 / delta) + sum(math.log(n) / 2 + math.log(2) for n in counts)
    if threshold == "kaufmann-koolen":
        K = len(counts)
        return 3 * sum(math.log(1 + math.log(n)) for n in counts) + K * reference.c_exponential(
            math.log(1 / delta) / K
        )
    return math.log((1 + math.log(sum(counts))) / delta)


def table(name, means, columns):
    rng, shape = np.random.default_rng(9), (len(means), columns)
    means = np.broadcast_to(np.array(means)[:, None], shape)
    if name == "Bernoulli":
        return (rng.random(shape) < means) * 1.0
    return rng.poisson(means) * 1.0 if name == "Poisson" else rng.exponential(means)


@pytest.mark.parametrize(
    ("name", "model", "threshold", "means", "objective"),
    [
        ("Bernoulli", Bernoulli(), "mixture", [0.9, 0.7, 0.1], Additive(0.4)),
        ("Bernoulli", Bernoulli(), "stylised", [0.95, 0.2, 0.9, 0.85], Multiplicative(0.4)),
        ("Poisson", Poisson(), "kaufmann-koolen", [6.0, 1.0], Multiplicative(0.4)),
        ("Exponential", Exponential(), "stylised", [8.0, 1.0, 7.0], Multiplicative(0.6)),
    ],
)
def test_track_and_stop_stops_where_its_slow_twin_would(name, model, threshold, means, objective):
    """The best response and the threshold in full at every pull that the run made."""
    K, rewards = len(means), table(name, means, 600)
    started = TrackAndStop(objective, 0.3, threshold, lazy=5).start(K, model)
    sampler = RewardTable(rewards).start(model, np.random.default_rng(0))
    tally, watch, seen = Tally(K), new_watch(K), [[] for _ in means]
    for t in range(K, 600):
        ended = run_loop(started, sampler, tally, t, watch)
        for arm in range(K) if t == K else [tally.last]:
            seen[arm].append(rewards[arm, len(seen[arm])])
        counts = [len(x) for x in seen]
        Z = reference.cheapest(
            name, [sum(x) / len(x) for x in seen], counts, objective.factor, objective.slack, 400
        )
        limit = beta(threshold, counts, 0.3)
        assert abs(Z - limit) > 1e-6
        assert (ended == CERTIFIED) == (limit < Z)
        if ended == CERTIFIED:
            break
    assert 20 < t < 599
    assert (watch.answers[-1] == objective.answer(tally.means)).all()


def test_thresholds_of_the_families():
    for x in (0.0, 0.3, 1.0, 5.0, 60.0):
        assert c_exponential(x) == pytest.approx(reference.c_exponential(x), rel=1e-6)
    counts = [1, 7, 4000]
    for model in (Bernoulli(), Poisson(), Exponential()):
        assert kaufmann_koolen(counts, 0.05, model) == pytest.approx(
            beta("kaufmann-koolen", counts, 0.05), rel=1e-6
        )
        assert threshold("kaufmann-koolen", model)(counts, 0.05) == kaufmann_koolen(
            counts, 0.05, model
        )
    assert mixture(counts, 0.05, model=Bernoulli()) == pytest.approx(beta("mixture", counts, 0.05))
    assert mixture(counts, 0.05, model=Bounded(0, 1)) == mixture(counts, 0.05)


def test_the_bernoulli_mixture_dominates_the_largest_likelihood():
    """Jeffreys' average of the likelihood is at least the largest one over 2 sqrt(n).

    This holds for every n and every sum.  With sqrt(n) alone it does not.
    """
    from scipy.special import betaln, xlogy

    for n in (1, 2, 3, 10, 100, 5000):
        S = np.arange(n + 1)
        average = betaln(S + 0.5, n - S + 0.5) - betaln(0.5, 0.5)
        largest = xlogy(S, S / n) + xlogy(n - S, 1 - S / n)
        assert (average >= largest - math.log(2) - 0.5 * math.log(n) - 1e-9).all()
        assert (average < largest - 0.5 * math.log(n)).any()


@pytest.mark.parametrize(
    ("strategy", "model", "message"),
    [
        (
            TrackAndStop(A, 0.1),
            Gaussian(None),
            r"TrackAndStop must know the noise: got Gaussian\(sigma=None\)",
        ),
        (
            FarEast(A, 0.1),
            Gaussian(None),
            r"FarEast must have sub-Gaussian rewards .*: got Gaussian\(sigma=None\)",
        ),
        (
            FarEast(A, 0.1),
            Poisson(),
            r"FarEast must have sub-Gaussian rewards of known sigma: got Poisson\(\)",
        ),
        (
            ST2(A, 0.1),
            Poisson(),
            r"ST2\(width=\.\.\.\) must be \"mixture\" for Poisson\(\): got 'mason'",
        ),
        (
            ST2(A, 0.1),
            Gaussian(None),
            r"ST2\(width=\.\.\.\) must be \"mixture\" for Gaussian\(sigma=None\): got 'mason'",
        ),
        (
            UCB(A, 0.1, "mason-data"),
            Exponential(),
            r"UCB\(width=\.\.\.\) must be \"mixture\" .*: got 'mason-data'",
        ),
        (
            TrackAndStop(A, 0.1, solver="mirror-ascent"),
            Bernoulli(),
            r"TrackAndStop\(solver=\.\.\.\) must be \"newton\" for Bernoulli\(\): "
            r"got 'mirror-ascent'",
        ),
        (
            TrackAndStop(A, 0.1),
            Poisson(),
            r"TrackAndStop\(threshold=\.\.\.\) must be \"kaufmann-koolen\", .* for Poisson\(\): "
            r"got 'mixture'",
        ),
    ],
)
def test_strategies_refuse_a_noise_that_they_cannot_deal_with(strategy, model, message):
    with pytest.raises(ValueError, match=message):
        run(strategy, RewardTable([[1.0], [1.0]]), model)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mixture([1, 2], 0.1, model=Poisson()),
            r"model must be normal or Bernoulli\(\) .*: got Poisson\(\)",
        ),
        (
            lambda: kaufmann_koolen([1, 2], 0.1, Gaussian(None)),
            "model must state its noise here: got .*unknown",
        ),
        (
            lambda: run(ClaimByClaim(A, 0.1), RewardTable([[1, 0], [2, 1]]), Bernoulli()),
            r"RewardTable\(rewards\) must be 0 or 1 for Bernoulli\(\): got 2 at \(1, 0\)",
        ),
        (
            lambda: run(ClaimByClaim(A, 0.1), Callback(lambda arm: -1.0, 2), Poisson(), budget=9),
            r"Callback\(function\)'s reward of arm 0 must be whole numbers of at least 0 for "
            r"Poisson\(\): got -1\.",
        ),
        (
            lambda: run(ClaimByClaim(A, 0.1), [0.5, 1.5], Bernoulli()),
            r"must lie in \[0, 1\] .*: got 1.5 for arm 1",
        ),
        (
            lambda: run(ClaimByClaim(A, 0.1), [0.5, 0.1], Gaussian(None)),
            r"Arms\(model=\.\.\.\) must state the noise",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("make", [ST2, UCB, Uniform])
@pytest.mark.parametrize("model", [Bernoulli(), Poisson(), Exponential(), Gaussian(None)])
def test_strategies_by_bounds_take_any_noise_with_mixture_widths(make, model):
    state = make(A, 0.1, "mixture").start(3, model)
    assert state.model == model
    assert (np.asarray(state.lower) == -np.inf).all()


def test_bounds_of_a_run_are_the_intervals():
    """Kept monotone: the best of all times, up to 0.02 of evidence.

    A better end is not looked for below that.
    """
    model, rewards = Bernoulli(), table("Bernoulli", [0.9, 0.2], 150)
    state = Uniform(A, 0.1).start(2, model)
    sampler = RewardTable(rewards).start(model, np.random.default_rng(0))
    tally, watch = Tally(2), new_watch(2)
    low, high = np.full(2, -np.inf), np.full(2, np.inf)
    for t in range(2, 120):
        if run_loop(state, sampler, tally, t, watch) == CERTIFIED:
            break
        ends = intervals(tally.counts, tally.means, 0.1, model)
        low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        assert np.asarray(state.lower) == pytest.approx(low, abs=2e-3)
        assert np.asarray(state.upper) == pytest.approx(high, abs=2e-3)
    assert t > 20


def test_rewards_assumed_to_be_merely_bounded_need_several_times_the_pulls():
    """Rates near 0.05 vary with 0.05, a fifth of what numbers between 0 and 1 may."""
    arms, strategy = Arms([0.06, 0.05, 0.01], Bernoulli()), Uniform(Additive(0.03), 0.1)
    known, bounded = (
        simulate(strategy, arms, runs=5),
        simulate(strategy, arms, model=Bounded(0, 1), runs=5),
    )
    assert known.certified.all()
    assert bounded.certified.all()
    assert known.correct.all()
    assert bounded.correct.all()
    assert bounded.pulls.mean() > 2 * known.pulls.mean()


def test_a_run_is_a_function_of_its_seed():
    arms, strategy = Arms([3.0, 1.0], Poisson()), ClaimByClaim(Additive(1.0), 0.1)
    one, two, other = (run(strategy, arms, seed=s) for s in (1, 1, 2))
    assert (one.counts == two.counts).all()
    assert (one.means == two.means).all()
    assert (one.counts != other.counts).any() or (one.means != other.means).any()
    assert one.certified
    assert one.answer.tolist() == [True, False]
