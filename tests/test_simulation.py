"""Many runs: the same whatever the number of workers, and summed up rightly."""

import numpy as np
import pytest
from scipy.stats import beta

from allgood import ST2, Additive, Gaussian, TrackAndStop, Uniform, run, simulate

PAPER = [1.0, 1.0, 1.0, 1.0, 0.05]


@pytest.mark.parametrize(
    "strategy", [ST2(Additive(0.9), 0.1, "mixture"), TrackAndStop(Additive(0.9), (0.2, 0.1), "paper")]
)
def test_the_numbers_do_not_depend_on_the_workers(strategy):
    one, two, five = (simulate(strategy, PAPER, runs=12, seed=7, workers=w) for w in (1, 2, 5))
    for other in (two, five):
        assert (other.pulls == one.pulls).all()
        assert (other.counts == one.counts).all()
        assert (other.evidence == one.evidence).all()


def test_a_run_is_the_same_in_a_longer_simulation():
    strategy = ST2(Additive(0.9), 0.1, "mixture")
    short, long = simulate(strategy, PAPER, runs=3, seed=1), simulate(strategy, PAPER, runs=9, seed=1)
    assert (long.pulls[:3] == short.pulls).all()
    assert (simulate(strategy, PAPER, runs=3, seed=2).pulls != short.pulls).any()


def test_table_and_summary():
    done = []
    strategy = ST2(Additive(0.9), 0.1, "mixture")
    result = simulate(strategy, PAPER, Gaussian(1.0), runs=20, seed=3, progress=lambda i, n: done.append((i, n)))
    assert done == [(i, 20) for i in range(1, 21)]
    assert result.answers.shape == result.counts.shape == (20, 5)
    assert (result.counts.sum(axis=1) == result.pulls).all()
    assert (result.correct == (result.answers == [True, True, True, True, False]).all(axis=1)).all()
    summary = result.summary()
    assert summary.runs == summary.certified == 20
    assert summary.mean == pytest.approx(result.pulls.mean())
    assert summary.standard_error == pytest.approx(result.pulls.std(ddof=1) / np.sqrt(20))
    assert summary.quantiles[1] == pytest.approx(np.median(result.pulls))
    assert summary.errors == int((~result.correct).sum())
    upper = beta.ppf(0.975, summary.errors + 1, 20 - summary.errors)
    assert summary.error_interval[1] == pytest.approx(upper)


def test_runs_that_hit_the_budget_are_not_counted_as_right_or_wrong():
    result = simulate(Uniform(Additive(0.9), 0.1), PAPER, runs=4, budget=50)
    assert not result.certified.any()
    assert result.summary().error_interval == (0.0, 1.0)
    assert result.summary().errors == 0


def test_several_risks():
    result = simulate(TrackAndStop(Additive(0.9), (0.1, 0.01), "paper"), PAPER, runs=4)
    assert result.crossings.shape == (4, 2)
    assert (result.crossings[:, 0] <= result.crossings[:, 1]).all()
    assert not result.proven


def test_bad_input():
    strategy = ST2(Additive(0.5), 0.1)
    with pytest.raises(ValueError, match="runs must be at least 1: got 0"):
        simulate(strategy, [1, 0.2], runs=0)
    with pytest.raises(ValueError, match="workers must be at least 1: got 0"):
        simulate(strategy, [1, 0.2], workers=0)
    with pytest.raises(ValueError, match="budget must be given for an undecidable instance"):
        simulate(strategy, [1, 0.5])
    assert run(strategy, [1, 0.2]).certified
