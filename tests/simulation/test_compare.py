"""Strategies side by side: by name, as objects, as functions that make them.

And what is refused.
"""

import functools
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from allgood import (
    ST2,
    Additive,
    Arms,
    ClaimByClaim,
    Gaussian,
    Instance,
    Multiplicative,
    Poisson,
    Uniform,
    compare,
    simulate,
)
from allgood.simulation.registry import strategy_named

from ..support.command_line import allgood

THREE = Instance("three", [1.0, 0.9, 0.2], Additive(0.5))
FOUR = Instance("four", [1.0, 0.7, 0.3, 0.1], Multiplicative(0.5))


def test_rows_are_the_simulations():
    found = compare(["claim-by-claim", "st2:mixture"], [THREE, FOUR], 0.1, 4, seed=3)
    assert [(row.instance.name, row.strategy) for row in found.rows] == [
        ("three", "claim-by-claim"),
        ("three", "st2:mixture"),
        ("four", "claim-by-claim"),
        ("four", "st2:mixture"),
    ]
    assert found.strategies == ["claim-by-claim", "st2:mixture"]
    assert found.instances == [THREE, FOUR]
    for row in found.rows:
        strategy = strategy_named(row.strategy, row.instance.objective, 0.1)
        wanted = simulate(strategy, row.instance.means, runs=4, seed=3)
        assert row.simulation.pulls.tolist() == wanted.pulls.tolist()
        assert found.of_instance(row.instance)[row.strategy] is row.simulation


def test_strategies_may_be_objects_classes_and_functions():
    mixture = functools.partial(ST2, width="mixture")
    found = compare({"mine": ClaimByClaim(Additive(0.5), 0.1), "other": mixture}, THREE, 0.1, 3)
    named = compare(["claim-by-claim", "st2:mixture"], THREE, 0.1, 3)
    for row, other in zip(found.rows, named.rows, strict=True):
        assert row.simulation.pulls.tolist() == other.simulation.pulls.tolist()
    assert found.strategies == ["mine", "other"]
    assert compare([functools.partial(mixture)], THREE, 0.1, 2).strategies == ["ST2"]
    assert compare([ClaimByClaim, Uniform], THREE, 0.1, 2).strategies == ["ClaimByClaim", "Uniform"]


def test_the_arms_may_have_another_law_than_the_strategy_reckons_with():
    noisy = Instance("noisy", [1.0, 0.9, 0.2], Additive(0.5), Gaussian(2.0), Gaussian(0.5))
    [row] = compare(["claim-by-claim"], noisy, 0.1, 3).rows
    wanted = simulate(ClaimByClaim(Additive(0.5), 0.1), noisy.means, Gaussian(2.0), runs=3)
    assert row.simulation.setup.noise == Gaussian(0.5)
    assert row.simulation.setup.model == wanted.setup.model == Gaussian(2.0)


def test_instances_may_be_given_in_many_forms(tmp_path):
    """The same three arms each time, so the same runs."""
    (tmp_path / "mine.toml").write_text("[three]\nmeans = [1.0, 0.9, 0.2]\nepsilon = 0.5\n")
    question, means = Additive(0.5), [1.0, 0.9, 0.2]
    [wanted] = compare("claim-by-claim", THREE, 0.1, 3).rows
    forms = {
        "three": [
            ("three", means, question),
            ("three", np.array(means), question, Gaussian(1.0)),
            [THREE],
            str(tmp_path / "mine.toml"),
            tmp_path / "mine.toml",
        ],
        "my means": [{"my means": means}],
        "means-1": [means, tuple(means), np.array(means), [means], np.array([means])],
    }
    for name, given in forms.items():
        for item in given:
            [row] = compare("claim-by-claim", item, 0.1, 3, objective=question).rows
            assert row.instance.name == name
            assert row.simulation.pulls.tolist() == wanted.simulation.pulls.tolist()


def test_instances_of_several_forms_together():
    given = ["two-arms", THREE, ("mine", [4.0, 1.0]), [0.9, 0.1]]
    found = compare(
        "claim-by-claim", given, 0.1, 1, objective=Additive(1.0), model=Poisson(), budget=200
    )
    assert [instance.name for instance in found.instances] == [
        "two-arms",
        "three",
        "mine",
        "means-4",
    ]
    models = [instance.model for instance in found.instances]
    assert models == [Gaussian(), Gaussian(), Poisson(), Poisson()]
    assert [instance.objective.epsilon for instance in found.instances] == [0.05, 0.5, 1.0, 1.0]
    assert len(compare("claim-by-claim", ("three-arms", "two-good-arms"), 0.1, 1).rows) == 2
    by_name = found.of_instance("mine")
    assert by_name["claim-by-claim"] is found.of_instance(found.instances[2])["claim-by-claim"]


MODULES = {
    "right.py": """
        from allgood import ClaimByClaim
        from .own import Mine
        def made(objective, delta): return ClaimByClaim(objective, delta)
        number = 3
        def strange(objective, delta): return 3
        def alone(objective): return None
        """,
    "own.py": """
        from allgood import Strategy
        class Mine(Strategy):
            def __init__(self, objective, delta):
                self.objective, self.delta = objective, delta
            def update(self, tally): pass
            def is_done(self, tally): return tally.pulls > 300
            def next_arm(self, tally): return tally.pulls % tally.size
        class Short(Strategy):
            objective, delta = None, None
            def updates(self, tally): pass
            def is_done(self, tally): return True
            def next_arm(self, tally): return 0
        class Wordless(Mine):
            def __init__(self, objective, delta): pass
        """,
    "failing.py": """
        from .own import Mine
        def helper(tally):
            raise LookupError("out of paper")
        class Failing(Mine):
            def next_arm(self, tally): return helper(tally)
        """,
    "needy.py": "import math\nimport nowhere_at_all",
    "raising.py": "1 / 0",
    "misspelt.py": "def f(:",
}


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A package of a user's own."""
    (tmp_path / "my_package").mkdir()
    for name, text in MODULES.items():
        (tmp_path / "my_package" / name).write_text(textwrap.dedent(text))
    (tmp_path / "my_package" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        del sys.modules[name]


def test_strategies_of_ones_own_by_the_path_of_their_module(modules):
    names = ["my_package.own:Mine", "my_package.right:made", "claim-by-claim"]
    found = compare(names, THREE, 0.1, 3)
    assert found.strategies == names
    own, made, named = (row.simulation for row in found.rows)
    assert own.pulls.tolist() == [301] * 3
    assert not own.proven
    assert made.pulls.tolist() == named.pulls.tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "claim-by-clam",
            r"your own as my_module:Mine: got 'claim-by-clam'\. Is 'claim-by-claim' me",
        ),
        ("claim-by-clam:x", r"got 'claim-by-clam:x'\. Is 'claim-by-claim' meant\?$"),
        ("st2:mixtur", r"must have one of .*: got 'st2:mixtur'\. Is 'mixture' meant\?$"),
        ("st3:mixture", r"finds: there is no st3 in '.*installed packages\. Is 'st2' meant\?$"),
        ("my_package.wrong:Mine", r"finds: there is no my_package\.wrong in '.*' or among"),
        (
            "my_package.own:Mien",
            r"in the module my_package\.own \(.*own\.py\): there is no Mien\. I",
        ),
        ("my_package.needy:Mine", r"No module named 'nowhere_at_all' \(line 2 of .*needy\.py\)\.$"),
        (
            "my_package.raising:Mine",
            r"cannot\. ZeroDivisionError: .*\(line 1 of .*raising\.py\)\.$",
        ),
        ("my_package.misspelt:Mine", r"cannot\. SyntaxError: .*\(misspelt\.py, line 1\)\.$"),
        ("my_package.right:number", "strategy my_package.right:number must be a name, a Strategy"),
        ("my_package.right:strange", "of a class that is derived from allgood.Strategy: got 3"),
        (
            "ucb:Lucb",
            r"'ucb:Lucb'\. ucb is a strategy of the package: rename your module, if it is meant\.$",
        ),
        ("my-strategy:Lucb", r"got 'my-strategy:Lucb'\. The name of a module has no hyphen\.$"),
        ("my_package.right:alone", "made from two arguments, an objective and a delta: too many"),
        ("my_package.own:Short", "made from two arguments"),
        ("my_package.own:Wordless", "^Wordless must have an attribute objective, its question"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(modules, name, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare([name], THREE, 0.1, 1)


def test_a_strategy_of_the_current_folder_on_the_command_line(modules):
    """By the script, which does not look there by itself, as ``python -m allgood`` does."""
    (modules / "mine.toml").write_text("[easy]\nmeans = [1.0, 0.2]\nepsilon = 0.5\n")
    script = Path(sys.executable).with_name("allgood")
    options = ["--strategies", "my_package.own:Mine,claim-by-claim", "--suite", "mine.toml"]
    for program in ([script], [sys.executable, "-m", "allgood"]):
        done = subprocess.run(
            [*program, "compare", *options, "--runs", "3", "--json"],
            cwd=modules,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        [entry] = json.loads(done.stdout)["instances"]
        assert entry["instance"] == "easy"
        assert entry["strategies"]["my_package.own:Mine"]["mean"] == 301.0
    simulated = ["--means", "1,0.2", "--epsilon", "0.5", "--strategy", "my_package.own:Mine"]
    done = allgood("simulate", *simulated, "--runs", "2", "--json", cwd=modules)
    assert json.loads(done.stdout)["strategies"][0]["simulations"][0]["pulls"] == [301, 301]


def test_where_a_strategy_failed_is_said_on_the_command_line(modules):
    options = ["--means", "1,0.2", "--epsilon", "0.5", "--runs", "3", "--workers", "1"]
    for command, kind in (("compare", "FOLDER"), ("simulate", "FILE")):
        name = "--strategies" if command == "compare" else "--strategy"
        own = [command, *options, name, "my_package.failing:Failing"]
        done = allgood(*own, cwd=modules)
        place = f"(line 4 of {modules / 'my_package' / 'failing.py'}, in helper)"
        assert done.stderr.splitlines()[-2:] == [
            f"Error: LookupError: out of paper {place}",
            f"0 of 3 runs are finished; with --resume {kind} finished runs are kept.",
        ]
        done = allgood(*own, "--resume", "kept" + kind, cwd=modules)
        ending = f"runs are finished; the same command goes on from what is in kept{kind}.\n"
        assert done.stderr.endswith(ending)


def test_one_instance_from_the_command_line_is_resumable(tmp_path):
    options = ["--means", "1,0.2", "--epsilon", "0.5", "--strategies", "uniform", "--runs", "3"]
    first, second = (
        allgood("compare", *options, "--resume", "kept", "--json", cwd=tmp_path) for _ in "12"
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    [file] = (tmp_path / "kept").iterdir()
    assert file.name == "means-uniform-mixture.jsonl"
    assert len(file.read_text().splitlines()) == 4


def test_a_strategy_that_cannot_is_said_to_be_refused():
    counts = Instance("counts", np.array([4.0, 1.0]), Additive(1.0), Poisson())
    one, other = compare(["st2:mason", "claim-by-claim"], counts, 0.1, 2).rows
    assert one.simulation is None
    assert "must be" in one.refused
    assert other.simulation.certified.all()
    refusal = r'^st2:mason on counts: ST2\(width=...\) must be "mixture" for Poisson'
    with pytest.raises(ValueError, match=refusal):
        compare(["st2:mason"], counts, 0.1, 2)


def test_finished_runs_are_kept(tmp_path):
    first = compare(["claim-by-claim"], [THREE, FOUR], 0.1, 2, resume=tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "four-claim-by-claim.jsonl",
        "three-claim-by-claim.jsonl",
    ]
    again = compare(["claim-by-claim"], [THREE, FOUR], 0.1, 3, resume=tmp_path / "kept")
    for row, other in zip(first.rows, again.rows, strict=True):
        assert other.simulation.pulls[:2].tolist() == row.simulation.pulls.tolist()


@pytest.mark.parametrize(
    ("strategies", "instances", "message"),
    [
        ([], THREE, "strategies must hold at least one strategy: got none"),
        (["nonsense"], THREE, "strategy must be one of claim-by-claim,"),
        (
            [ClaimByClaim(Additive(0.5), 0.1)] * 2,
            THREE,
            "different names: got 'ClaimByClaim' more than once",
        ),
        (
            [ClaimByClaim(Additive(0.4), 0.1)],
            THREE,
            "strategy ClaimByClaim must have the objective",
        ),
        ([ClaimByClaim(Additive(0.5), 0.2)], THREE, "and the risk 0.1 here: got .* and 0.2"),
        (["claim-by-claim"], "nonsense", "suite must be one of all, few"),
        (
            ["claim-by-claim"],
            [THREE, THREE],
            "instances must have different names: got 'three' more than once",
        ),
        (["claim-by-claim"], [], "instances must hold at least one instance: got none"),
        (["claim-by-claim"], [[1.0, 2.0]], "objective must be given for the means of means-1"),
        (["claim-by-claim"], None, r"\(name, means, objective, model\), or means: got None"),
        (["claim-by-claim"], ("a", 3, Additive(0.5)), r"or means: got \('a', 3, Additive"),
        (["claim-by-claim"], ("a", [1.0, 0.0], 0.5), "objective must be Additive.*: got 0.5"),
        (["claim-by-claim"], ("a", [1.0, 0.0], Additive(0.5), 2.0), "model must be .*: got 2.0"),
        (
            ["claim-by-claim"],
            Arms([1.0, 0.0]),
            "or means: got Arms.* simulate once per strategy, wi",
        ),
        (
            ["claim-by-claim"],
            [Arms],
            "For environments call simulate once per strategy, with the sa",
        ),
        (["claim-by-claim"], {"a": lambda rng: None}, "For environments call simulate once per st"),
        (3, THREE, "strategy int must be a name, a Strategy, or a class or function that makes"),
    ],
)
def test_wrong_comparisons_are_refused(strategies, instances, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(strategies, instances, 0.1, 2)


def test_the_command_compares_what_the_function_compares(tmp_path):
    options = ["--strategies", "claim-by-claim", "--runs", "3", "--seed", "3", "--json"]
    done = allgood(
        "compare",
        "--means",
        "1,0.9,0.2",
        "--epsilon",
        "0.5",
        *options,
        "--plot",
        str(tmp_path / "x.png"),
    )
    assert done.returncode == 0, done.stderr
    [entry] = json.loads(done.stdout)["strategies"]
    [row] = compare(["claim-by-claim"], THREE, 0.1, 3, seed=3).rows
    assert entry["simulations"][0]["pulls"] == row.simulation.pulls.tolist()
