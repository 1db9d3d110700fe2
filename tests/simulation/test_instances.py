"""Named instances: decidable, reproducible, and comparable from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from allgood import (
    Additive,
    Bernoulli,
    Bounded,
    Gaussian,
    Multiplicative,
    characteristic_time,
)
from allgood.simulation.instances import INSTANCES, NOT_NORMAL, SUITES, pkis2, suite
from allgood.simulation.registry import STRATEGIES, full_name, strategy_named

from ..support.command_line import allgood

DATA = Path(__file__).parents[3] / "shared" / "data" / "pkis2_matrix_1um.csv"


@pytest.mark.parametrize("name", INSTANCES | NOT_NORMAL)
def test_every_instance_is_decidable(name):
    instance = (INSTANCES | NOT_NORMAL)[name]
    assert np.isfinite(
        characteristic_time(instance.means, instance.objective, instance.model).value
    )
    assert instance.tied == (np.sort(instance.means)[-1] == np.sort(instance.means)[-2])


def test_suites_are_made_of_instances():
    assert set().union(*SUITES.values()) == set(INSTANCES) | set(NOT_NORMAL)
    assert [i.name for i in suite("models")] == list(NOT_NORMAL)
    assert {i.name for i in suite("few")} | {i.name for i in suite("many")} == set(INSTANCES)
    assert [i.name for i in suite("paper-20")] == ["paper-20"]
    with pytest.raises(
        ValueError, match="suite must be one of all, few, many, tied, paper, models, or an instance"
    ):
        suite("nonsense")
    with pytest.raises(ValueError, match="suite pkis2 needs the PKIS2 table"):
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


SUITE = """
[checkout]
means = [0.050, 0.045, 0.030]
epsilon = 0.2
multiplicative = true
model = "bernoulli"

[two-machines]
means = [1, 0.9, 0.2]
epsilon = 0.5
sigma = [1.0, 1.0, 2.0]
model = "unknown-sigma"

[scores]
means = [0.5, 0.25]
epsilon = 0.1
model = "bounded:0:1"
arms = "bernoulli"

[noisy]
means = [0.5, 0.25]
epsilon = 0.1
sigma = 2

[sub-gaussian]
means = [0.5, 0.25]
epsilon = 0.1
sigma = 0.5
arms = "bernoulli"

[stated]
means = [0.5, 0.25]
epsilon = 0.1
sigma = 0.5
arms = "gaussian"

[clipped]
means = [0.5, 0.25]
epsilon = 0.1
sigma = 0.5
model = "bounded:0:1"
arms = "gaussian"
"""


def test_a_suite_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SUITE)
    clicks, machines, scores, noisy, coins, stated, clipped = suite(str(path))
    names = ["checkout", "two-machines", "scores", "noisy", "sub-gaussian", "stated", "clipped"]
    assert [item.name for item in suite(path)] == names
    assert (clicks.objective, clicks.model) == (Multiplicative(0.2), Bernoulli())
    assert clicks.means.tolist() == [0.050, 0.045, 0.030]
    assert (machines.model, machines.noise) == (Gaussian(None), Gaussian([1.0, 1.0, 2.0]))
    assert (scores.model, scores.noise) == (Bounded(0.0, 1.0), Bernoulli())
    assert (noisy.objective, noisy.model) == (Additive(0.1), Gaussian(2.0))
    assert (coins.model, coins.noise) == (Gaussian(0.5), Bernoulli())
    assert (stated.model, stated.noise) == (Gaussian(0.5), Gaussian(0.5))
    assert (clipped.model, clipped.noise) == (Bounded(0.0, 1.0), Gaussian(0.5))


EASY = "[easy]\nmeans = [1.0, 0.2]\nepsilon = 0.5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"suite must hold at least one table such as \[my-instance\]: .*mine\.toml has none"),
        ("[easy\n", r"mine\.toml, line 1, column 6: Expected .*\.$"),
        (
            EASY + "multiplicative = True",
            r"suite must be a file in TOML: .*mine\.toml, line 4, column 18: Invalid value\. In "
            r"TOML true and false are written in lower case, and text is in quotes\.$",
        ),
        (
            EASY + "delta = 0.1",
            r"got 'delta'\. It is an argument of the whole comparison, and not a key",
        ),
        (
            EASY + "runs = 3",
            r"got 'runs'\. It is an argument of the whole comparison, and not a key\.$",
        ),
        ("means = [1.0]", r"mine\.toml: key means must be in a table such as \[my-instance\]"),
        ("[easy]\nmeans = [1.0]", r"mine\.toml: table \[easy\] must have the key epsilon"),
        (
            EASY + "epsilonn = 1",
            r"table \[easy\] must have no keys but means.*: got 'epsilonn'\. Is 'epsilon' meant",
        ),
        (EASY + "sigma = 'x'", r"table \[easy\]: sigma must be a number or a list of numbers: got"),
        (EASY + "multiplicative = 1", r"\[easy\]: multiplicative must be true or false: got 1"),
        ("[easy]\nmeans = 1\n", r"\[easy\]: means must be a list of numbers: got 1"),
        ("[easy]\nmeans = ['a']\nepsilon=1", r"\[easy\]: means must be numbers: got \['a'\]"),
        ("[easy]\nmeans = [1]\nepsilon=true", r"\[easy\]: epsilon must be a number: got True"),
        ("[easy]\nmeans = [1]\nepsilon=-1", r"\[easy\]: .*epsilon.* must be positive: got -1"),
        (EASY + "model = 'bernouli'", r"model must be .*: got 'bernouli'\. Is 'bernoulli' meant"),
        (EASY + "model = 'bounded:0:x'", r"\[easy\]: model bounded:0:x must hold numbers after"),
        (EASY + "arms = 'unknown-sigma'", r"\[easy\]: arms must be gaussian, .*: got 'unknown-s"),
        (
            EASY + "model = 'bernoulli'\narms = 'bernoulli'\nsigma = 2",
            r"sigma must be left out if rewards are not normal: got 2 with arms bernoulli",
        ),
        (EASY + "model = 'poisson'\nsigma = 2", r"sigma must be left out .* got 2 with model poi"),
        (EASY + "sigma = [1, 2, 3]", r"\[easy\]: .* one per arm, 2: got 3 values"),
        ("[easy]\nmeans=[2.0, 0.1]\nepsilon=1\nmodel='bernoulli'", r"means must lie in \[0, 1\]"),
    ],
)
def test_a_wrong_suite_is_refused_by_file_table_and_key(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        suite(path)
    assert str(path) in str(caught.value)


def test_a_missing_suite_and_a_misspelt_one(tmp_path):
    with pytest.raises(ValueError, match=r"suite must name an existing file: got '.*none\.toml'"):
        suite(tmp_path / "none.toml")
    with pytest.raises(ValueError, match=r"ends in \.toml: got 'mny'\. Is 'many' meant\?$"):
        suite("mny")


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_name_makes_a_strategy(name):
    strategy = strategy_named(name, Additive(0.5), 0.1)
    assert strategy.risks == (0.1,)
    assert strategy_named(full_name(name), Additive(0.5), 0.1) == strategy


def test_claim_by_claim_takes_no_choice():
    with pytest.raises(
        ValueError, match="strategy claim-by-claim must have nothing after its name: got"
    ):
        strategy_named("claim-by-claim:mixture", Additive(0.5), 0.1)


def test_a_suite_from_the_command_line_is_resumable(tmp_path):
    options = [
        "compare",
        "--suite",
        "nineteen-of-twenty",
        "--strategies",
        "claim-by-claim,uniform",
        "--runs",
        "4",
    ]
    people = allgood(*options, "--resume", str(tmp_path / "kept"))
    assert people.returncode == 0, people.stderr
    assert "Best mean shared by several arms" in people.stdout
    assert "claim-by-claim / best other" in people.stdout
    assert len(list((tmp_path / "kept").iterdir())) == 2
    machines = json.loads(allgood(*options, "--resume", str(tmp_path / "kept"), "--json").stdout)
    [row] = machines["instances"]
    assert row["tied"] is True
    assert (
        row["strategies"]["claim-by-claim"]["mean"]
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
            "--cluster, --grid, --multiplicative, --model, --arms, --sigma and --plot must",
        ),
        (
            ["--suite", "counts-8", "--strategies", "st2"],
            'ST2(width=...) must be "mixture" for Poisson(): got',
        ),
        (
            ["--suite", "few", "--sigma", "5"],
            "--cluster, --grid, --multiplicative, --model, --arms, --sigma and --plot must",
        ),
        (["--suite", "few", "--strategies", ""], "--strategies must name at least one strategy"),
        (["--suite", "few", "--plot", "a.png"], "--sigma and --plot must be left out with --suite"),
        (
            ["--means", "1,2", "--epsilon", "1", "--plot", "none/a.png"],
            "--plot must be in an existing folder",
        ),
        (["--means", "1,2", "--epsilon", "1", "--plot", "a.xyz"], "--plot must end in one of "),
        (["--means", "1,2", "--epsilon", "1", "--plot", "a"], "--plot must end in one of "),
    ],
)
def test_compare_refuses_bad_input(options, message):
    """Before any run."""
    done = allgood("compare", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_strategies_that_nobody_named_are_left_out_where_they_cannot_be(tmp_path):
    options = ["--means", "2,0.2", "--epsilon", "0.5", "--model", "poisson", "--runs", "1"]
    done = allgood("compare", *options, "--budget", "50", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert "Left out: track-and-stop:mixture: " in done.stderr
    assert "claim-by-claim" in done.stdout
    named = allgood("compare", *options, "--strategies", "track-and-stop", cwd=tmp_path)
    assert named.returncode == 2
    assert "track-and-stop:mixture: TrackAndStop(threshold=...) must be" in named.stderr
