"""Many runs: the same whatever the number of workers, and summed up rightly."""

import json
import threading

import numpy as np
import pytest
from scipy.stats import beta

from allgood import (
    ST2,
    UCB,
    Additive,
    Arms,
    ClaimByClaim,
    FarEast,
    Gaussian,
    Multiplicative,
    RunStatus,
    SimulationFailed,
    SimulationInterrupted,
    TrackAndStop,
    Uniform,
    lower_bounds,
    run,
    simulate,
)
from allgood.simulation.executors import open_executor
from allgood.simulation.resume import RunFile

PAPER = [1.0, 1.0, 1.0, 1.0, 0.05]


@pytest.mark.parametrize(
    "strategy",
    [ST2(Additive(0.9), 0.1, "mixture"), TrackAndStop(Additive(0.9), (0.2, 0.1), "paper")],
)
def test_the_numbers_do_not_depend_on_the_workers(strategy):
    one, two, five = (simulate(strategy, PAPER, runs=12, seed=7, workers=w) for w in (1, 2, 5))
    for other in (two, five):
        assert (other.pulls == one.pulls).all()
        assert (other.counts == one.counts).all()
        assert (other.evidence == one.evidence).all()


def test_a_run_is_the_same_in_a_longer_simulation():
    strategy = ST2(Additive(0.9), 0.1, "mixture")
    short, long = (
        simulate(strategy, PAPER, runs=3, seed=1),
        simulate(strategy, PAPER, runs=9, seed=1),
    )
    assert (long.pulls[:3] == short.pulls).all()
    assert (simulate(strategy, PAPER, runs=3, seed=2).pulls != short.pulls).any()


def test_table_and_summary():
    done = []
    strategy = ST2(Additive(0.9), 0.1, "mixture")
    result = simulate(
        strategy, PAPER, Gaussian(1.0), runs=20, seed=3, progress=lambda i, n: done.append((i, n))
    )
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


def test_several_risks_are_summed_up_as_if_each_had_run_alone():
    risks = (0.3, 0.01)
    together = simulate(TrackAndStop(Additive(0.9), risks, "stylised"), PAPER, runs=30, seed=5)
    assert not together.proven
    for risk in risks:
        alone = simulate(TrackAndStop(Additive(0.9), risk, "stylised"), PAPER, runs=30, seed=5)
        assert together.summary(risk) == alone.summary()
    assert together.summary() == together.summary(0.01)
    with pytest.raises(
        ValueError, match=r"delta must be one of the strategy's risks \(0.3, 0.01\): got 0.2"
    ):
        together.summary(0.2)


def test_a_risk_that_is_not_met_within_the_budget_is_not_certified():
    result = simulate(
        TrackAndStop(Additive(0.9), (0.3, 1e-300), "paper"), PAPER, runs=5, budget=300_000
    )
    assert not result.certified.any()
    assert result.summary(0.3).certified == 5
    assert result.summary(0.3).mean < 300_000
    assert result.summary(1e-300).certified == 0
    assert result.summary(1e-300).mean == 300_000


def test_ratio_to_the_lower_bound():
    summary = simulate(ST2(Additive(0.9), 0.1, "mixture"), PAPER, Gaussian(2.0), runs=3).summary()
    bound = lower_bounds(PAPER, Additive(0.9), 0.1, Gaussian(2.0)).asymptotic
    assert summary.lower_bound == pytest.approx(bound)
    assert summary.ratio == pytest.approx(summary.mean / bound)
    undecidable = simulate(ST2(Additive(0.5), 0.1), [1, 0.5], runs=2, budget=100).summary()
    assert (undecidable.lower_bound, undecidable.ratio) == (None, None)


@pytest.mark.parametrize("make", [ST2, UCB, Uniform, FarEast, TrackAndStop, ClaimByClaim])
def test_answers_along_a_grid_are_those_of_shorter_runs(make):
    """And the run goes on to the end, though the strategy would have stopped."""
    strategy = make(Additive(0.9), 0.1)
    grid = [5, 17, 400, 250_000]
    watched = run(strategy, PAPER, seed=11, grid=grid)
    assert (watched.status, watched.pulls, watched.certified) == (
        RunStatus.FIXED_BUDGET,
        250_000,
        False,
    )
    for point, answer in zip(grid[:-1], watched.watched[:-1], strict=True):
        assert (run(strategy, PAPER, seed=11, budget=point).answer == answer).all()
    assert (watched.watched[-1] == watched.answer).all()


def test_gaussian_arms_bring_their_own_noise():
    """A strategy that reckoned with sigma = 1 here would be certified and wrong nearly always."""
    arms = Arms([1.0, 0.95, 0.85], Gaussian(5.0))
    strategy = ST2(Additive(0.1), 0.1, "mixture")
    given, stated = (
        run(strategy, arms, seed=1, budget=10**5),
        run(strategy, arms, Gaussian(5.0), seed=1, budget=10**5),
    )
    assert (given.counts == stated.counts).all()
    assert (
        given.counts == run(strategy, [1.0, 0.95, 0.85], Gaussian(5.0), seed=1, budget=10**5).counts
    ).all()
    believed = run(strategy, arms, Gaussian(1.0), seed=1, budget=10**5)  # told otherwise
    assert believed.pulls < given.pulls


def test_precision_recall_and_f1():
    means, objective = [1.0, 0.9, 0.4, 0.3, 0.2], Multiplicative(0.5)
    result = simulate(Uniform(objective, 0.1), means, Gaussian(0.5), runs=20, grid=[5, 50, 500])
    truth = {0, 1}
    for i in range(20):
        for n in range(3):
            given = {a for a in range(5) if result.watched[i, n, a]}
            precision, recall = len(given & truth) / len(given), len(given & truth) / 2
            assert result.precision[i, n] == pytest.approx(precision)
            assert result.recall[i, n] == pytest.approx(recall)
            f1 = 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)
            assert result.f1[i, n] == pytest.approx(f1)
    assert result.f1[:, 2].mean() > result.f1[:, 0].mean()
    assert not result.certified.any()
    with pytest.raises(ValueError, match="grid must be given to simulate"):
        _ = simulate(Uniform(objective, 0.1), means, runs=1, budget=10).f1


def test_scores_where_no_arm_is_good():
    result = simulate(
        Uniform(Multiplicative(0.5), 0.1), [-5.0, -6.0], Gaussian(0.1), runs=2, grid=[2, 20]
    )
    assert not result.watched.any()
    assert (result.f1 == 1.0).all()
    assert (result.precision == 1.0).all()
    assert (result.recall == 1.0).all()


class Stop(Exception):
    pass


def stopping_after(number, error):
    def progress(done, total):
        if done == number:
            raise error

    return progress


def same(one, other):
    for column in ("pulls", "answers", "certified", "counts", "estimates", "evidence"):
        assert (getattr(one, column) == getattr(other, column)).all(), column
    for column in ("crossings", "crossing_answers", "watched", "certified_at", "certified_good"):
        assert (getattr(one, column) is None) == (getattr(other, column) is None)
        assert (
            getattr(one, column) is None or (getattr(one, column) == getattr(other, column)).all()
        ), column


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        (ST2(Additive(0.9), 0.1, "mixture"), {}),
        (TrackAndStop(Additive(0.9), (0.2, 0.1), "paper"), {}),
        (Uniform(Additive(0.9), 0.1), {"grid": [10, 1000]}),
        (ClaimByClaim(Additive(0.9), 0.1), {"grid": [10, 1000]}),
    ],
)
def test_a_simulation_that_failed_is_resumed_from_its_file(tmp_path, strategy, options):
    whole = simulate(strategy, PAPER, runs=8, seed=2, **options)
    file = tmp_path / "runs.jsonl"
    with pytest.raises(
        SimulationFailed,
        match=r"3 of 8 runs are finished; the same call goes on from .*runs\.jsonl",
    ) as e:
        simulate(
            strategy,
            PAPER,
            runs=8,
            seed=2,
            progress=stopping_after(3, Stop()),
            resume=file,
            **options,
        )
    assert isinstance(e.value.__cause__, Stop)
    assert len(e.value.finished.results) == 3
    with file.open("a") as opened:
        opened.write('{"run": 7, "sta')  # the machine died while writing
    counted = []
    again = simulate(
        strategy,
        PAPER,
        runs=8,
        seed=2,
        resume=file,
        progress=lambda done, total: counted.append(done),
        **options,
    )
    same(again, whole)
    assert counted == [4, 5, 6, 7, 8]
    assert sorted(json.loads(line)["run"] for line in file.read_text().splitlines()[1:]) == list(
        range(8)
    )
    before = file.read_bytes()
    same(simulate(strategy, PAPER, runs=8, seed=2, resume=file, **options), whole)
    assert file.read_bytes() == before
    longer = simulate(strategy, PAPER, runs=9, seed=2, resume=file, **options)
    assert (longer.pulls[:8] == whole.pulls).all()


def test_runs_that_have_not_begun_are_dropped():
    begun, gate, others = [], threading.Event(), set(threading.enumerate())

    def work(i):
        begun.append(i)
        if i > 0:
            gate.wait(60)
        return 10 * i

    finished = open_executor(1)(work, range(50))
    assert next(finished) == (0, 0)
    [thread] = set(threading.enumerate()) - others
    finished.close()  # run 1 is under way, or never will be
    gate.set()
    thread.join(60)
    assert begun in ([0], [0, 1])


def test_an_interrupted_simulation_keeps_what_is_finished_and_goes_on():
    strategy = ST2(Additive(0.9), 0.1, "mixture")
    whole = simulate(strategy, PAPER, runs=6, seed=3)
    with pytest.raises(
        SimulationInterrupted, match=r"2 of 6 runs are finished; resume= goes on from \.finished"
    ) as e:
        simulate(strategy, PAPER, runs=6, seed=3, progress=stopping_after(2, KeyboardInterrupt()))
    finished = e.value.finished
    assert finished.pulls.size == 2
    assert all(finished.pulls[n] == whole.pulls[i] for n, i in enumerate(finished.results))
    same(simulate(strategy, PAPER, runs=6, seed=3, resume=finished), whole)
    with pytest.raises(ValueError, match="resume must be of this same simulation"):
        simulate(strategy, PAPER, runs=6, seed=4, resume=finished)


def test_a_file_of_another_simulation_is_refused(tmp_path):
    strategy, file = ST2(Additive(0.9), 0.1, "mixture"), tmp_path / "runs.jsonl"
    simulate(strategy, PAPER, runs=1, seed=3, resume=file)
    with pytest.raises(
        ValueError, match=r"resume must name runs of this same simulation: .* has seed 3, not 4"
    ):
        simulate(strategy, PAPER, runs=1, seed=4, resume=file)
    two = tmp_path / "two.jsonl"
    two.write_text(file.read_text().splitlines()[0] + "\n" + file.read_text())
    with pytest.raises(ValueError, match="resume must name a file that an earlier run"):
        simulate(strategy, PAPER, runs=1, seed=3, resume=two)
    cut = tmp_path / "cut.jsonl"
    cut.write_text(file.read_text()[:40])
    assert simulate(strategy, PAPER, runs=1, seed=3, resume=cut).pulls.size == 1
    with (
        RunFile(file, {}),
        pytest.raises(ValueError, match="resume must name a file that no other process is writing"),
    ):
        simulate(strategy, PAPER, runs=1, seed=3, resume=file)
    other = tmp_path / "letter.txt"
    other.write_text("Dear Sir\n")
    with pytest.raises(ValueError, match="resume must name a file that an earlier run"):
        simulate(strategy, PAPER, runs=1, seed=4, resume=other)
    assert other.read_text() == "Dear Sir\n"


def test_bad_input():
    strategy = ST2(Additive(0.5), 0.1)
    with pytest.raises(ValueError, match="runs must be at least 1: got 0"):
        simulate(strategy, [1, 0.2], runs=0)
    with pytest.raises(ValueError, match="workers must be at least 1: got 0"):
        simulate(strategy, [1, 0.2], workers=0)
    with pytest.raises(
        TypeError, match="workers must be a number of threads or a Dask client: got 'two'"
    ):
        simulate(strategy, [1, 0.2], workers="two")
    with pytest.raises(ValueError, match="budget must be given for an undecidable instance"):
        simulate(strategy, [1, 0.5])
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0: got -1"):
        simulate(strategy, [1, 0.2], seed=-1)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0: got None"):
        run(strategy, [1, 0.2], seed=None)
    with pytest.raises(
        ValueError, match=r"grid must hold whole numbers of pulls that increase: got \[9, 9\]"
    ):
        simulate(strategy, [1, 0.2], grid=[9, 9])
    with pytest.raises(
        ValueError, match="grid must start at one pull of each of the 2 arms: got 1"
    ):
        simulate(strategy, [1, 0.2], grid=[1, 9])
    with pytest.raises(ValueError, match="budget must be left out if there is a grid"):
        simulate(strategy, [1, 0.2], grid=[2, 9], budget=9)
    with pytest.raises(
        ValueError,
        match=r"Gaussian\(sigma=...\) must hold one value for all arms or one per arm, 2",
    ):
        simulate(strategy, [1, 0.2], Gaussian((1.0, 2.0, 3.0)))
    assert run(strategy, [1, 0.2]).certified


# An environment of its own for each run


def random_arms(rng):
    return Arms(rng.choice([0.0, 0.5, 1.5, 2.0], size=4) + 0.1 * rng.random(4), Gaussian(0.5))


RANDOM = ClaimByClaim(Additive(0.6), 0.1)


def test_each_run_may_have_an_environment_of_its_own():
    """Run i is a function of (seed, i): by itself, with one worker or with many."""
    one, two = (simulate(RANDOM, random_arms, runs=12, seed=3, workers=w) for w in (1, 2))
    assert one.setup.model == Gaussian(0.5)
    for name in ("pulls", "counts", "answers", "means"):
        assert (getattr(one, name) == getattr(two, name)).all()
    assert one.means.shape == one.truth.shape == (12, 4)
    assert len(np.unique(one.means[:, 0])) == 12
    more = simulate(RANDOM, random_arms, runs=15, seed=3)
    assert (more.pulls[:12] == one.pulls).all()
    assert (more.means[:12] == one.means).all()
    other = simulate(RANDOM, random_arms, runs=12, seed=4)
    assert (other.means != one.means).all()
    for i in range(12):
        good = one.means[i] >= one.means[i].max() - 0.6
        assert (one.truth[i] == good).all()
        assert one.correct[i] == (one.answers[i] == good).all()


def test_the_bound_is_then_the_average_of_those_of_the_runs():
    found = simulate(RANDOM, environment=random_arms, runs=5, seed=3)
    bounds = [lower_bounds(m, Additive(0.6), 0.1, Gaussian(0.5)).best for m in found.means]
    assert len(set(bounds)) > 1
    assert found.summary().lower_bound == pytest.approx(np.mean(bounds))
    for ask in (lambda: found.characteristic, lambda: found.bounds(0.1)):
        with pytest.raises(ValueError, match="environment must be the same in all runs for a"):
            ask()


def test_a_grid_in_random_environments():
    found = simulate(RANDOM, random_arms, runs=6, seed=3, grid=[4, 400])
    for i, run_answers in enumerate(found.watched):
        for n, answer in enumerate(run_answers):
            hits, given, good = (answer & found.truth[i]).sum(), answer.sum(), found.truth[i].sum()
            assert found.precision[i, n] == hits / given
            assert found.recall[i, n] == hits / good
            assert found.f1[i, n] == 2 * hits / (given + good)
    assert found.labels_certified[:, 1].sum() > 12
    assert found.labels_wrong.sum() == 0


def test_random_numbers_of_the_environment_and_of_the_run_are_not_the_same():
    seen = []

    def noted(rng):
        seen.append(rng.standard_normal())
        return Arms([0.0, 5.0])

    found = simulate(ST2(Additive(1.0), 0.1), noted, runs=1, seed=3, budget=2)
    first = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(0,))).standard_normal()
    assert found.estimates[0, 0] == first  # control: this is the run's own stream
    assert first not in seen


def test_random_environments_are_resumed_only_by_the_same_function(tmp_path):
    file = tmp_path / "runs.jsonl"
    short = simulate(RANDOM, random_arms, runs=3, seed=3, resume=file)
    long = simulate(RANDOM, random_arms, runs=6, seed=3, resume=file)
    assert (long.pulls[:3] == short.pulls).all()
    assert (long.pulls == simulate(RANDOM, random_arms, runs=6, seed=3).pulls).all()

    def arms_with(spread):
        return lambda rng: Arms([0.0, 1.0 + 0.0 * spread])

    other = tmp_path / "other.jsonl"
    simulate(RANDOM, arms_with(1.0), runs=1, resume=other)
    with pytest.raises(ValueError, match="the environment holds other values than in those"):
        simulate(RANDOM, arms_with(2.0), runs=1, resume=other)


def alternating(first, second):
    """A function that makes one environment for run 0 and another for the others."""
    zero = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, 0))).random()
    return lambda rng: first if rng.random() == zero else second


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Arms([1.0]),
            TypeError,
            "environment must be a function of one argument, a random",
        ),
        (lambda rng: [1.0, 2.0], TypeError, r"a function that returned \[1\.0, 2\.0\]"),
        (
            alternating(Arms([1.0, 3.0]), Arms([1.0, 3.0, 4.0])),
            SimulationFailed,
            "environment of run 1 must have as many arms as that of run 0, 2: got 3",
        ),
        (
            alternating(Arms([1.0, 3.0]), Arms([1.0, 3.0], Gaussian(2.0))),
            SimulationFailed,
            r"the noise of run 0, Gaussian\(sigma=1.0\), unless model is given: got .*2.0",
        ),
        (
            alternating(Arms([1.0, 3.0]), Arms([1.0, 0.4])),
            SimulationFailed,
            "budget must be given for an undecidable instance",
        ),
    ],
)
def test_environments_that_do_not_go_together_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        simulate(RANDOM, make, runs=2, workers=1)


def test_with_a_stated_model_the_noise_may_differ_from_run_to_run():
    make = alternating(Arms([1.0, 3.0]), Arms([1.0, 3.0], Gaussian(0.5)))
    found = simulate(RANDOM, make, Gaussian(1.0), runs=2)
    assert found.setup.model == Gaussian(1.0)
    assert found.correct.all()
