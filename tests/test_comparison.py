"""Strategies side by side: by name, as objects, as functions that make them.

And what is refused.
"""

import functools
import json

import numpy as np
import pytest

from allgood import (
    ST2,
    Additive,
    Gaussian,
    Instance,
    Multiplicative,
    Poisson,
    Uniform,
    WeakestClaim,
    compare,
    simulate,
)
from allgood.catalogue import strategy_named

from .command_line import allgood

THREE = Instance("three", [1.0, 0.9, 0.2], Additive(0.5))
FOUR = Instance("four", [1.0, 0.7, 0.3, 0.1], Multiplicative(0.5))


def test_rows_are_the_simulations():
    found = compare(["weakest-claim", "st2:mixture"], [THREE, FOUR], 0.1, 4, seed=3)
    assert [(row.instance.name, row.strategy) for row in found.rows] == [
        ("three", "weakest-claim"),
        ("three", "st2:mixture"),
        ("four", "weakest-claim"),
        ("four", "st2:mixture"),
    ]
    assert found.strategies == ["weakest-claim", "st2:mixture"]
    assert found.instances == [THREE, FOUR]
    for row in found.rows:
        strategy = strategy_named(row.strategy, row.instance.objective, 0.1)
        wanted = simulate(strategy, row.instance.means, runs=4, seed=3)
        assert row.simulation.pulls.tolist() == wanted.pulls.tolist()
        assert found.of_instance(row.instance)[row.strategy] is row.simulation


def test_strategies_may_be_objects_classes_and_functions():
    mixture = functools.partial(ST2, width="mixture")
    found = compare({"mine": WeakestClaim(Additive(0.5), 0.1), "other": mixture}, THREE, 0.1, 3)
    named = compare(["weakest-claim", "st2:mixture"], THREE, 0.1, 3)
    for one, other in zip(found.rows, named.rows, strict=True):
        assert one.simulation.pulls.tolist() == other.simulation.pulls.tolist()
    assert found.strategies == ["mine", "other"]
    assert compare([WeakestClaim, Uniform], THREE, 0.1, 2).strategies == ["WeakestClaim", "Uniform"]


def test_the_arms_may_have_another_law_than_the_strategy_reckons_with():
    noisy = Instance("noisy", [1.0, 0.9, 0.2], Additive(0.5), Gaussian(2.0), Gaussian(0.5))
    [row] = compare(["weakest-claim"], noisy, 0.1, 3).rows
    wanted = simulate(WeakestClaim(Additive(0.5), 0.1), noisy.means, Gaussian(2.0), runs=3)
    assert row.simulation.setup.noise == Gaussian(0.5)
    assert row.simulation.setup.model == wanted.setup.model == Gaussian(2.0)


def test_a_strategy_that_cannot_is_said_to_be_refused():
    counts = Instance("counts", np.array([4.0, 1.0]), Additive(1.0), Poisson())
    one, other = compare(["st2:mason", "weakest-claim"], counts, 0.1, 2).rows
    assert one.simulation is None
    assert "must be" in one.refused
    assert other.simulation.certified.all()
    with pytest.raises(ValueError, match=r'ST2\(width=...\) must be "mixture" for Poisson'):
        compare(["st2:mason"], counts, 0.1, 2)


def test_finished_runs_are_kept(tmp_path):
    first = compare(["weakest-claim"], [THREE, FOUR], 0.1, 2, resume=tmp_path / "kept")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "four-weakest-claim.jsonl",
        "three-weakest-claim.jsonl",
    ]
    again = compare(["weakest-claim"], [THREE, FOUR], 0.1, 3, resume=tmp_path / "kept")
    for one, other in zip(first.rows, again.rows, strict=True):
        assert other.simulation.pulls[:2].tolist() == one.simulation.pulls.tolist()


@pytest.mark.parametrize(
    ("strategies", "instances", "message"),
    [
        ([], THREE, "strategies must hold at least one strategy: got none"),
        (["nonsense"], THREE, "strategy must be one of weakest-claim,"),
        (
            [WeakestClaim(Additive(0.5), 0.1)] * 2,
            THREE,
            "different names: got 'WeakestClaim' more than once",
        ),
        (
            [WeakestClaim(Additive(0.4), 0.1)],
            THREE,
            "strategy WeakestClaim must have the objective",
        ),
        ([WeakestClaim(Additive(0.5), 0.2)], THREE, "and the risk 0.1 here: got .* and 0.2"),
        (["weakest-claim"], "nonsense", "suite must be one of all, few"),
        (
            ["weakest-claim"],
            [THREE, THREE],
            "instances must have different names: got three, three",
        ),
        (["weakest-claim"], [], "instances must hold Instance objects, at least one"),
        (["weakest-claim"], [[1.0, 2.0]], "instances must hold Instance objects, at least one"),
    ],
)
def test_wrong_comparisons_are_refused(strategies, instances, message):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(strategies, instances, 0.1, 2)


def test_the_command_compares_what_the_function_compares(tmp_path):
    options = ["--strategies", "weakest-claim", "--runs", "3", "--seed", "3", "--json"]
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
    [row] = compare(["weakest-claim"], THREE, 0.1, 3, seed=3).rows
    assert entry["simulations"][0]["pulls"] == row.simulation.pulls.tolist()
