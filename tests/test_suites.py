"""Named instances: decidable, reproducible, and comparable from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from allgood import Additive, characteristic_time
from allgood.catalogue import CATALOGUE, full_name, strategy_named
from allgood.suites import INSTANCES, OTHERS, SUITES, pkis2, suite

from .command_line import allgood

DATA = Path(__file__).parents[2] / "shared" / "data" / "pkis2_matrix_1um.csv"


@pytest.mark.parametrize("name", INSTANCES | OTHERS)
def test_every_instance_is_decidable(name):
    instance = (INSTANCES | OTHERS)[name]
    assert np.isfinite(
        characteristic_time(instance.means, instance.objective, instance.model).value
    )
    assert instance.tied == (np.sort(instance.means)[-1] == np.sort(instance.means)[-2])


def test_suites_are_made_of_instances():
    assert set().union(*SUITES.values()) == set(INSTANCES) | set(OTHERS)
    assert [i.name for i in suite("models")] == list(OTHERS)
    assert {i.name for i in suite("few")} | {i.name for i in suite("many")} == set(INSTANCES)
    assert [i.name for i in suite("paper-20")] == ["paper-20"]
    with pytest.raises(
        ValueError, match="suite must be one of all, few, many, tied, paper, models, or an instance"
    ):
        suite("nonsense")
    with pytest.raises(ValueError, match="suite pkis2 must be given the PKIS2 table"):
        suite("pkis2")


def test_pkis2():
    if not DATA.exists():
        pytest.skip(f"the PKIS2 table is not at {DATA.name} beside the project")
    instance = pkis2(DATA)
    assert instance.means.size == 189
    assert instance.means.max() == pytest.approx(2.590267, abs=1e-6)
    assert instance.objective.threshold(instance.means) == pytest.approx(0.518053, abs=1e-6)
    assert instance.objective.answer(instance.means).sum() == 34


def test_a_file_that_is_not_pkis2(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="data must be the PKIS2 table, with a column ACVRL1"):
        pkis2(tmp_path / "other.csv")
    (tmp_path / "other.csv").write_text("a,ACVRL1\n1,abc\n")
    with pytest.raises(
        ValueError, match="data must hold percentages in column ACVRL1: got 'abc' in line 2"
    ):
        pkis2(tmp_path / "other.csv")
    (tmp_path / "other.csv").write_text("a,ACVRL1\n1,0\n")
    with pytest.raises(ValueError, match="data must hold at least two measured compounds: got 0"):
        pkis2(tmp_path / "other.csv")


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_name_makes_a_strategy(name):
    strategy = strategy_named(name, Additive(0.5), 0.1)
    assert strategy.risks == (0.1,)
    assert strategy_named(full_name(name), Additive(0.5), 0.1) == strategy


def test_weakest_claim_takes_no_choice():
    with pytest.raises(
        ValueError, match="strategy weakest-claim must have nothing after its name: got"
    ):
        strategy_named("weakest-claim:mixture", Additive(0.5), 0.1)


def test_a_suite_from_the_command_line_is_resumable(tmp_path):
    options = [
        "compare",
        "--suite",
        "nineteen-of-twenty",
        "--strategies",
        "weakest-claim,uniform",
        "--runs",
        "4",
    ]
    people = allgood(*options, "--resume", str(tmp_path / "kept"))
    assert people.returncode == 0, people.stderr
    assert "Best mean shared by several arms" in people.stdout
    assert "weakest-claim / best other" in people.stdout
    assert len(list((tmp_path / "kept").iterdir())) == 2
    machines = json.loads(allgood(*options, "--resume", str(tmp_path / "kept"), "--json").stdout)
    [row] = machines["instances"]
    assert row["tied"] is True
    assert (
        row["strategies"]["weakest-claim"]["mean"]
        < 0.5 * row["strategies"]["uniform:mixture"]["mean"]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--suite", "few", "--means", "1,2"],
            "--means and --epsilon must be left out with --suite",
        ),
        (["--means", "1,2"], "--means and --epsilon must be given, or --suite instead"),
        (
            ["--suite", "few", "--grid", "9"],
            "--cluster, --grid, --multiplicative, --model, --arms and --sigma must",
        ),
        (
            ["--suite", "counts-8", "--strategies", "st2"],
            'ST2(width=...) must be "mixture" for Poisson(): got',
        ),
        (
            ["--suite", "few", "--sigma", "5"],
            "--cluster, --grid, --multiplicative, --model, --arms and --sigma must",
        ),
        (["--suite", "few", "--strategies", ""], "--strategies must name at least one strategy"),
        (["--suite", "few", "--plot", "none/a.png"], "--plot must be in an existing folder"),
    ],
)
def test_compare_refuses_bad_input(options, message):
    done = allgood("compare", *options)
    assert done.returncode == 2
    assert message in done.stderr
