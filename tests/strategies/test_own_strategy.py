"""Strategies and environments of one's own, in plain Python, as a user writes and runs them."""

import hashlib
import inspect
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import allgood
from allgood import (
    ST2,
    Additive,
    Arms,
    Bernoulli,
    Callback,
    Environment,
    Gaussian,
    Instance,
    Multiplicative,
    RunStatus,
    SimulationFailed,
    Strategy,
    Uniform,
    _build,
    compare,
    run,
    simulate,
)
from allgood.strategies.state import StrategyState

from ..reference.strategies import successive_elimination
from ..simulation.test_simulation import same
from ..support.own_strategy import SuccessiveElimination

EASY = [4.0, 3.6, 1.0, 0.0]
GOOD = [True, True, False, False]
OBJECTIVE = Additive(1.2)
OWN = SuccessiveElimination(OBJECTIVE, 0.1)


# Successive elimination


def test_successive_elimination_takes_at_most_25_lines():
    lines = inspect.getsource(SuccessiveElimination).splitlines()
    assert sum(line.strip() != "" for line in lines) <= 25


def test_its_answers_are_right():
    found = simulate(OWN, EASY, runs=20, seed=1)
    assert found.certified.all()
    assert found.correct.all()
    assert found.answers.tolist() == [GOOD] * 20
    assert not found.proven  # nobody but its author can promise that
    assert found.summary().lower_bound < found.pulls.mean()


@pytest.mark.parametrize("objective", [Additive(1.2), Multiplicative(0.4)])
@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_pull_by_pull_with_a_slow_version(objective, seed):
    """The slow one is written by itself: no name of the package, everything anew at each pull."""
    rewards = np.array(EASY)[:, None] + 0.8 * np.random.default_rng(seed).normal(size=(4, 600))
    arms, pulled = [], Counter()

    def reward(arm):
        arms.append(arm)
        pulled[arm] += 1
        return rewards[arm, pulled[arm] - 1]

    strategy = SuccessiveElimination(objective, 0.1)
    fast = run(strategy, Callback(reward, 4), Gaussian(0.8), budget=600)
    c, e = objective.factor, objective.slack
    slow, stopped, good = successive_elimination(rewards.tolist(), c, e, 0.1, 0.8, 600)
    assert 50 < len(slow) < 600
    assert arms == slow
    assert (fast.certified, fast.answer.tolist()) == (stopped, good)


def test_a_simulation_does_not_depend_on_the_workers():
    one, two = (simulate(OWN, EASY, runs=10, seed=7, workers=w) for w in (1, 2))
    same(two, one)
    single = run(OWN, EASY, seed=7)
    assert (run(OWN, EASY, seed=7).counts == single.counts).all()
    assert (run(OWN, EASY, seed=8).counts != single.counts).any()


def test_a_grid_records_the_answers_along_the_way():
    found = simulate(OWN, EASY, runs=5, grid=[4, 100, 3000])
    assert found.watched.shape == (5, 3, 4)
    assert not found.watched[:, 0].any()  # after one pull of each arm nothing is certain
    assert (found.watched[:, 2] == GOOD).all()


def test_it_is_compared_with_the_strategies_of_the_package():
    """As a class, which makes a strategy for each instance, and as a strategy made before."""
    instance = Instance("easy", EASY, OBJECTIVE)
    candidates = {"class": SuccessiveElimination, "made": OWN, "uniform": "uniform"}
    found = compare(candidates, instance, delta=0.1, runs=5).of_instance(instance)
    assert list(found) == ["class", "made", "uniform"]
    same(found["made"], found["class"])
    assert found["class"].correct.all()
    with pytest.raises(ValueError, match=r"strategy made must have the objective .* got Additive"):
        compare({"made": OWN}, Instance("other", EASY, Additive(0.7)), delta=0.1, runs=1)


# What the loop calls, and what it refuses


class Patient(Strategy):
    """Pull the arms in turn, so many times; subclasses of it do something wrong."""

    objective, delta, limit = OBJECTIVE, 0.1, 20
    calls: ClassVar[Counter] = Counter()

    def begin(self, num_arms, model):
        self.calls["begin"] += 1
        self.processed = []

    def update(self, tally):
        self.calls["update"] += 1
        self.processed.append((tally.last, tally.reward))

    def is_done(self, tally):
        self.calls["is_done"] += 1
        return tally.pulls >= self.limit

    def next_arm(self, tally):
        self.calls["next_arm"] += 1
        return tally.pulls % tally.size

    def answer(self, tally):
        self.calls["answer"] += 1
        assert len(self.processed) == tally.pulls  # this run's own: each works on a copy
        assert sum(reward for _, reward in self.processed) == pytest.approx(tally.sums.sum())
        assert self.processed[-1] == (tally.last, tally.reward)
        return super().answer(tally)


def test_every_method_is_called_when_it_should_be():
    """20 pulls of 4 arms.  The loop itself makes the first pull of each arm."""
    strategy = Patient()
    for runs in (1, 2):
        Patient.calls.clear()
        found = simulate(strategy, EASY, runs=runs, workers=runs)
        assert (found.pulls == 20).all()
        assert found.answers.tolist() == [
            OBJECTIVE.answer(means).tolist() for means in found.estimates
        ]
        assert Patient.calls["begin"] == runs + 1  # one more, before the first run: is it valid?
        assert Patient.calls["update"] == 20 * runs
        assert Patient.calls["is_done"] == 17 * runs  # from 4 pulls to 20
        assert Patient.calls["next_arm"] == 16 * runs
        assert Patient.calls["answer"] == runs
    assert not hasattr(strategy, "processed")


@pytest.mark.parametrize("method", ["begin", "update", "is_done", "next_arm", "answer"])
def test_an_exception_comes_out_as_it_was_raised(method):
    class MyError(Exception):
        pass

    def fail(self, *given):
        raise MyError("out of paper")

    strategy = type("Failing", (Patient,), {method: fail})()
    with pytest.raises(MyError, match=r"^out of paper$"):
        run(strategy, EASY)
    if method != "begin":  # that is called before the first run
        with pytest.raises(SimulationFailed, match=r"MyError: out of paper$") as failed:
            simulate(strategy, EASY, runs=2)
        assert isinstance(failed.value.__cause__, MyError)


@pytest.mark.parametrize(
    ("method", "given", "error", "message"),
    [
        ("next_arm", 4, ValueError, r"Strange\.next_arm must return 0 to 3: got 4\."),
        ("next_arm", -1, ValueError, r"Strange\.next_arm must return 0 to 3: got -1\."),
        (
            "next_arm",
            None,
            TypeError,
            r"Strange\.next_arm must return the number of an arm: got None",
        ),
        (
            "next_arm",
            1.0,
            TypeError,
            r"Strange\.next_arm must return the number of an arm: got 1\.0",
        ),
        (
            "next_arm",
            "1",
            TypeError,
            r"Strange\.next_arm must return the number of an arm: got '1'",
        ),
        (
            "next_arm",
            True,
            TypeError,
            r"Strange\.next_arm must return the number of an arm: got True",
        ),
        ("is_done", "no", TypeError, r"Strange\.is_done must return True or False: got 'no'\."),
        ("is_done", None, TypeError, r"Strange\.is_done must return True or False: got None\."),
        (
            "is_done",
            np.ones(4, bool),
            TypeError,
            r"Strange\.is_done must return True or False: got ar",
        ),
        (
            "answer",
            [True],
            ValueError,
            r"Strange\.answer must return .* each of 4 arms: got \[True\]",
        ),
        ("answer", [0, 1, 1, 0], ValueError, r"Strange\.answer must return True or False for each"),
        ("answer", None, ValueError, r"Strange\.answer must return True or False .*: got None\."),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(method, given, error, message):
    strategy = type("Strange", (Patient,), {method: lambda self, tally: given})()
    with pytest.raises(error, match=message):
        run(strategy, EASY)


def test_any_whole_number_names_an_arm():
    class Typed(Patient):
        def next_arm(self, tally):
            return self.kind(tally.pulls % tally.size)

    found = []
    for kind in (int, np.int64, np.uint8):
        Typed.kind = kind
        found.append(run(Typed(), EASY).counts.tolist())
    assert found == [[5, 5, 5, 5]] * 3


def test_numpy_may_say_when_to_stop():
    class Typed(Patient):
        def is_done(self, tally):
            return np.bool_(tally.pulls >= self.limit)

    assert run(Typed(), EASY).pulls == 20


def test_what_is_missing_is_named():
    class Empty(Strategy):
        objective, delta = OBJECTIVE, 0.1

    class NoNext(Empty):
        def update(self, tally):
            pass

        def is_done(self, tally):
            return True

    class NoRisk(NoNext):
        delta = None

        def next_arm(self, tally):
            return 0

    class NoObjective(NoRisk):
        objective = None

    with pytest.raises(TypeError, match=r"^Empty must define update, is_done, next_arm to be"):
        run(Empty(), EASY)
    with pytest.raises(TypeError, match=r"^NoNext must define next_arm to be a strategy\.$"):
        run(NoNext(), EASY)
    with pytest.raises(TypeError, match=r"^NoRisk must have an attribute delta, its risk\.$"):
        run(NoRisk(), EASY)
    with pytest.raises(TypeError, match=r"^NoObjective must have an attribute objective, its"):
        run(NoObjective(), EASY, budget=10)


@pytest.mark.parametrize("delta", [5, -1, 0.0, "a", [0.1, 0.2], float("nan")])
def test_a_risk_that_is_none_is_refused_before_the_first_pull(delta):
    strategy = SuccessiveElimination(OBJECTIVE, 0.1)
    strategy.delta = delta
    wanted = r"^SuccessiveElimination\.delta must (lie strictly between 0 and 1|be )"
    for call in (run, simulate):
        with pytest.raises((TypeError, ValueError), match=wanted):
            call(strategy, EASY)


def test_a_misspelt_method_is_guessed():
    class Slip(Strategy):
        objective, delta = OBJECTIVE, 0.1

        def update(self, tally):
            pass

        def is_done(self, tally):
            return True

        def nextarm(self, tally):
            return 0

    with pytest.raises(TypeError, match=r"^Slip must define next_arm .* Is 'nextarm' meant\?$"):
        run(Slip(), EASY)
    with pytest.raises(TypeError, match=r"an object, Patient\(objective, delta\): got the cl"):
        run(Patient, EASY)
    with pytest.raises(TypeError, match=r"derived from allgood\.Strategy: got 'claim-by-claim'"):
        simulate("claim-by-claim", EASY)


@pytest.mark.skipif(not _build.COMPILED, reason="uncompiled, the loop calls plain Python")
def test_a_rule_in_plain_python_is_refused_by_the_compiled_loop():
    """It would never be called: the run would pull arm 0 for ever."""

    class PlainRule(StrategyState):
        def next_arm(self, tally):
            return 0

    class Quick(Strategy):
        objective, delta = OBJECTIVE, 0.1

        def start(self, num_arms, model):
            return PlainRule()

    for start in (run, simulate):
        with pytest.raises(TypeError, match=r"^PlainRule must be compiled: the loop is"):
            start(Quick(), EASY, budget=10)


def test_the_tally_is_to_be_read():
    class Greedy(Patient):
        def next_arm(self, tally):
            tally.means[0] = 100.0
            return 0

    with pytest.raises(ValueError, match="read-only"):
        run(Greedy(), EASY)


# A user's module in a process of its own

MODULE = """
from allgood import Additive, Strategy, run, simulate

class Mine(Strategy):
    objective, delta, limit = Additive(0.5), 0.1, 50

    def update(self, tally):
        pass

    def is_done(self, tally):
        return tally.pulls >= self.limit

    def next_arm(self, tally):
        return tally.pulls % tally.size
"""


def python(code, module_folder=None):
    """Run some code, with a folder of modules to import from or without.

    Python keeps no compiled copy of the modules: it would take an edit within a second for none.
    """
    paths = [str(module_folder)] if module_folder else []
    paths += [p for p in [os.environ.get("PYTHONPATH")] if p]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def files(folder):
    """All files below, with what is in them and when it was written.

    Without Python's own compiled copies, which any other process may write at this moment.
    """
    return {
        path: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_a_strategy_of_ones_own_leaves_no_trace(tmp_path):
    """Nothing of it is kept with the package: a process that cannot import it runs as before."""
    package = Path(allgood.__file__).parent
    before = files(package)
    (tmp_path / "mine.py").write_text(MODULE)
    own = python("from mine import *; print(run(Mine(), [1, 0]).pulls)", tmp_path)
    assert (own.stdout, own.stderr) == ("50\n", "")
    others = python(
        "from allgood import *\n"
        "for kind in (ClaimByClaim, TrackAndStop, ST2, FarEast, UCB, Uniform):\n"
        "    assert run(kind(Additive(0.5), 0.1), [1, 0], budget=3000).answer.tolist() == [1, 0]\n"
        "import mine\n"
    )
    assert others.stderr.endswith("ModuleNotFoundError: No module named 'mine'\n")
    assert files(package) == before


def test_an_edit_takes_effect_and_old_runs_are_not_mixed_with_new_ones(tmp_path):
    module, runs = tmp_path / "mine.py", tmp_path / "runs.jsonl"
    code = (
        "from mine import *; print(run(Mine(), [1, 0]).pulls, flush=True)\n"
        f"print(simulate(Mine(), [1, 0], runs=2, resume={str(runs)!r}).pulls)"
    )
    module.write_text(MODULE)
    assert python(code, tmp_path).stdout == "50\n[50 50]\n"
    kept = runs.read_text()
    assert python(code, tmp_path).stdout == "50\n[50 50]\n"
    module.write_text(MODULE.replace("0.1, 50", "0.1, 80"))
    refused = python(code, tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "80\n")
    assert "ValueError: resume must name runs of this same simulation" in refused.stderr
    assert "the strategy was edited since those of" in refused.stderr
    assert "Name another file or folder, or remove this one." in refused.stderr
    assert runs.read_text() == kept


# Environments


class Coins(Environment):
    """Rewards of 0 and 1.  Each coin can be thrown so many times."""

    def __init__(self, means, throws=10_000):
        self.means, self.num_arms = means, len(means)
        self.left = [throws] * len(means)

    def pull(self, arm, rng):
        self.left[arm] -= 1
        return float(rng.random() < self.means[arm]) if self.left[arm] >= 0 else np.nan


FAIR = [0.9, 0.5, 0.1]


def test_a_run_in_an_environment_of_ones_own_is_a_function_of_its_seed():
    coins, strategy = Coins(FAIR), ST2(Additive(0.2), 0.1, "mixture")
    one, again, other = (run(strategy, coins, Bernoulli(), seed=s) for s in (1, 1, 2))
    assert one.certified
    assert one.answer.tolist() == [True, False, False]
    assert (one.counts == again.counts).all()
    assert (one.means == again.means).all()
    assert (one.counts != other.counts).any()
    assert coins.left == [10_000] * 3  # each run throws the coins of its own copy


def test_it_is_the_same_as_arms_with_this_law():
    """Both draw from the run's generator, one uniform number for each reward."""
    strategy = Uniform(Additive(0.2), 0.1)
    mine = run(strategy, Coins(FAIR), Bernoulli(), seed=5)
    arms = run(strategy, Arms(FAIR, Bernoulli()), seed=5)
    assert (mine.counts == arms.counts).all()
    assert (mine.means == arms.means).all()


def test_nan_ends_the_run():
    found = run(ST2(Additive(0.2), 0.1), Coins(FAIR, throws=7), Bernoulli())
    assert found.status is RunStatus.REWARDS_EXHAUSTED
    assert found.counts.max() == 7
    assert not found.certified
    assert found.status.value.startswith("There were no more rewards before the strategy would")
    never = run(OWN, Coins(FAIR, throws=0), Bernoulli())
    assert (never.status, never.pulls) == (RunStatus.REWARDS_EXHAUSTED, 0)


@pytest.mark.parametrize(
    ("reward", "model", "message"),
    [
        (np.inf, Gaussian(), r"^Strange\.pull must return a finite reward: got inf for arm 0\.$"),
        (
            2.0,
            Bernoulli(),
            r"^Strange\.pull's reward of arm 0 must be 0 or 1 for Bernoulli\(\): got 2",
        ),
    ],
)
def test_bad_rewards_are_refused_by_name(reward, model, message):
    influential = type(
        "Strange", (Environment,), {"num_arms": 2, "pull": lambda self, arm, rng: reward}
    )()
    with pytest.raises(ValueError, match=message):
        run(ST2(Additive(0.2), 0.1), influential, model)


def test_an_exception_of_an_environment_comes_out_as_it_was_raised():
    class Broken(Coins):
        def pull(self, arm, rng):
            raise ConnectionError("the machine is off")

    with pytest.raises(ConnectionError, match=r"^the machine is off$"):
        run(OWN, Broken(FAIR))


def test_what_an_environment_lacks_is_named():
    silent = type("Silent", (Environment,), {"num_arms": 2})()
    with pytest.raises(TypeError, match=r"^Silent must define pull\(arm, rng\) to be an env"):
        run(ST2(Additive(0.2), 0.1), silent)

    class NoRandom(Coins):
        def pull(self, arm):
            return 0.0

    for start in (run, simulate):
        with pytest.raises(TypeError, match=r"^NoRandom\.pull must take \(arm, rng\): too many"):
            start(ST2(Additive(0.2), 0.1), NoRandom(FAIR))


@pytest.mark.parametrize("method", ["update", "is_done", "next_arm", "answer", "begin"])
def test_methods_that_take_the_wrong_arguments_are_named(method):
    strategy = type("Strange", (Patient,), {method: lambda self: None})()
    takes = r"\(num_arms, model\)" if method == "begin" else r"\(tally\)"
    with pytest.raises(TypeError, match=rf"^Strange\.{method} must take {takes}: too many"):
        run(strategy, EASY)


class Unrelated:
    num_arms = 3

    def pull(self, arm, rng):
        return 0.0


@pytest.mark.parametrize(
    ("given", "hint"),
    [(lambda rng: Arms(FAIR), True), (Coins, True), (Unrelated(), False), (None, False)],
)
def test_what_is_no_environment_is_told_from_means(given, hint):
    with pytest.raises(TypeError, match=r"environment must be means, .* or an Environment") as told:
        run(OWN, given)
    assert str(told.value).endswith("for each run is for simulate.") is hint
    assert "derive yours from allgood.Environment" in str(told.value)
    if not callable(given):
        with pytest.raises(TypeError, match=r"or an Environment: derive yours from allgood"):
            simulate(OWN, given)


def test_simulate_needs_the_true_means():
    strategy = ST2(Additive(0.2), 0.1, "mixture")
    one, two = (simulate(strategy, Coins(FAIR), Bernoulli(), runs=6, workers=w) for w in (1, 2))
    same(one, two)
    assert one.correct.all()
    own = SuccessiveElimination(Additive(0.6), 0.1)
    both = simulate(own, Coins(FAIR), Bernoulli(), runs=2)  # a strategy of one's own as well
    assert both.correct.all()
    unknown = Coins(FAIR)
    del unknown.means
    with pytest.raises(
        TypeError, match=r"environment must be .* an environment with an attribute means"
    ):
        simulate(strategy, unknown, Bernoulli(), runs=2)
