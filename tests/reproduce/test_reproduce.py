"""The paper's experiments.

They run, what is interrupted goes on, and nothing depends on the interruption.
"""

import json
import math
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from allgood import ST2, Additive, FarEast, SimulationInterrupted, TrackAndStop, simulate
from allgood.reproduce import NAMES, arms, drugs, experiment
from allgood.reproduce._common import Settings
from allgood.reproduce.arms import crossing, crossing_in_words
from allgood.reproduce.runner import read_csv, reproduce
from allgood.simulation.instances import synthetic_screen

from ..support.command_line import allgood
from ..support.drawing import sketched  # noqa: F401 - a fixture


@contextmanager
def quiet(title):
    yield lambda done, total: None


def test_every_experiment_says_what_it_is():
    for name in NAMES:
        module = experiment(name)
        assert module.TITLE
        assert module.PAPER
    with pytest.raises(ValueError, match="experiment must be one of alternatives, sets"):
        experiment("nonsense")


@pytest.mark.usefixtures("sketched")
def test_quick_experiments_from_the_command_line(tmp_path):
    options = [
        "reproduce",
        "alternatives",
        "sets",
        "example",
        "theory",
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    done = allgood(*options)
    assert done.returncode == 0, done.stderr
    files = {Path(f).name for f in json.loads(done.stdout)["files"]}
    assert {
        "alternatives.csv",
        "expel.png",
        "admit.pdf",
        "additive.png",
        "example.csv",
        "theory.csv",
    } <= files
    report = (tmp_path / "out" / "report.md").read_text()
    assert "**The paper.**" in report
    assert "Quick mode" in report
    before = {f: Path(f).read_bytes() for f in json.loads(done.stdout)["files"]}
    again = allgood(*options)
    assert "theory: finished before, tables kept" in again.stderr
    assert {f: Path(f).read_bytes() for f in before} == before
    other = allgood(*options, "--seed", "1")
    assert other.returncode == 2
    assert "out must be a folder of the same settings, or a new one" in other.stderr


@pytest.mark.usefixtures("sketched")
def test_an_interrupted_experiment_goes_on_and_gives_the_same_bytes(tmp_path, monkeypatch):
    screen = synthetic_screen()
    few = replace(screen, means=screen.means[:20])
    monkeypatch.setattr(drugs, "synthetic_screen", lambda: few)
    straight = reproduce(["drugs"], tmp_path / "a", quiet, say=lambda text: None)
    finished = []

    @contextmanager
    def interrupting(title):
        def report(done, total):
            finished.append(title)
            if len(finished) == 14:  # in the middle of the second strategy
                raise KeyboardInterrupt

        yield report

    with pytest.raises(SimulationInterrupted):
        reproduce(["drugs"], tmp_path / "b", interrupting, say=lambda text: None)
    assert not (tmp_path / "b" / "drugs" / "drugs.csv").exists()
    assert len(list((tmp_path / "b" / "drugs" / "runs").iterdir())) == 2
    resumed = reproduce(["drugs"], tmp_path / "b", quiet, say=lambda text: None)
    for name in ("drugs/drugs.csv", "drugs/drugs.png", "drugs/drugs.pdf", "report.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert "SYNTHETIC" in resumed.read_text()
    assert straight.read_text() == resumed.read_text()
    rows = read_csv(tmp_path / "a" / "drugs" / "drugs.csv")
    assert {row["data"] for row in rows} == {"synthetic-screen"}


def ratios(*pairs):
    """Rows at K = 10, 20, ... with these ratios and standard errors, in log10."""
    return [
        {"arms": 10 * n, "log10_st2": r, "error_st2": e} for n, (r, e) in enumerate(pairs, start=1)
    ]


def test_a_rival_overtakes_where_two_standard_errors_say_so():
    sharp = ratios((0.3, 0.1), (0.1, 0.01), (-0.1, 0.01), (-0.2, 0.01))
    assert crossing(sharp, "st2") == (20, 30)
    assert crossing_in_words(sharp, "st2") == "between K = 20 and 30"
    vague = ratios((0.3, 0.1), (0.1, 0.1), (-0.1, 0.1), (-0.2, 0.01))
    assert crossing(vague, "st2") == (10, 40)
    back = ratios((0.3, 0.1), (-0.1, 0.01), (0.1, 0.1), (-0.2, 0.01))
    assert crossing(back, "st2") == (10, 40)
    assert crossing_in_words(back[:3], "st2") == "perhaps by K = 30"
    assert crossing_in_words(back[:1], "st2") is None
    assert crossing_in_words(back[1:2], "st2") == "by K = 20"


def test_each_choice_is_set_against_the_published_others(tmp_path):
    """The ratios of the table, computed anew from simulations.

    T is least at the weights of Newton's.
    """
    rows = arms.choices(Settings(False, tmp_path, None, 0, quiet), (5,))
    found = {(row["choice"], row["value"]): row for row in rows}
    means = [1, 1, 1, 1, 0.05]

    @cache
    def mean(strategy):
        return simulate(strategy, means, runs=3, seed=0).summary().mean

    tracking, st2, fareast = (
        make(Additive(0.9), 0.1)
        for make in (partial(TrackAndStop, threshold="paper"), ST2, FarEast)
    )
    for key, item, other in (
        (("threshold", "kaufmann-koolen"), st2, replace(tracking, threshold="kaufmann-koolen")),
        (("weights solved every", "10,000 K pulls"), st2, replace(tracking, lazy=10_000)),
        (("weights", "to 1/sqrt(t) from uniform"), st2, replace(tracking, solver="mirror-ascent")),
        (("width of (ST)^2", "mason-data"), replace(st2, width="mason-data"), tracking),
        (("width of FAREAST", "mixture"), st2, tracking),
    ):
        assert found[key]["log10_st2"] == pytest.approx(math.log10(mean(item) / mean(other))), key
    mixture = found["width of FAREAST", "mixture"]["log10_fareast"]
    assert mixture == pytest.approx(
        math.log10(mean(replace(fareast, width="mixture")) / mean(tracking))
    )
    times = {key: row["time"] for key, row in found.items()}
    assert min(times.values()) > 3200 * (1 - 1e-6)
    assert times["weights", "Newton, to 1 %"] < 1.1 * 3200
    assert times["weights", "to 1/sqrt(t) from uniform"] > 1.3 * 3200


def test_findings_say_what_the_tables_hold():
    """(ST)^2 ahead from K = 40 on with every choice; FAREAST behind; all grow like K."""
    pulls = {arms.TRACK: 10.0, arms.ST2: 5.0, arms.FAREAST: 100.0}
    rows = [
        {
            "choice": c.choice,
            "value": c.value,
            "arms": K,
            "mean": K * pulls[c.side],
            "log10_st2": 1.0 - K / 30,
            "error_st2": 0.1,
            "log10_fareast": 1.0,
            "error_fareast": 0.1,
        }
        for c in arms.CHOICES
        for K in (20, 40, 60)
    ]
    told = arms.findings(
        {
            "choices": rows,
            "arms": [{"strategy": arms.LETTER, "arms": 20, "time": 9e3, "evidence": 7}],
        }
    )
    assert told.count("between K = 20 and 40") == sum(c.side != arms.FAREAST for c in arms.CHOICES)
    assert "FAREAST overtakes Track-and-Stop with none of the choices" in told
    assert "at least 30.0 times as many pulls at 60 as at 40" in told
    assert "none takes it beyond 1.5 times as many" in told
    assert "at K = 20: Track-and-Stop, weights to 1/sqrt(t) 9,000 x 7" in told


def test_parquet_holds_what_the_csv_holds(tmp_path, monkeypatch):
    from pyarrow import parquet

    names = ["alternatives", "example", "theory"]
    for name in names:
        monkeypatch.setattr(experiment(name), "pictures", lambda tables: {})
    reproduce(names, tmp_path, quiet, parquet=True, say=lambda text: None)
    tables = sorted(tmp_path.rglob("*.csv"))
    assert [table.stem for table in tables] == names
    for table in tables:
        rows = [{k: None if v == "" else v for k, v in row.items()} for row in read_csv(table)]
        assert parquet.read_table(table.with_suffix(".parquet")).to_pylist() == rows
    # theory has bounds that do not apply
    assert None in {value for row in rows for value in row.values()}


def test_parquet_without_its_extra_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ValueError, match=r"parquet needs pyarrow, .*: install the extra, allgood\[parquet\]"
    ):
        reproduce(["theory"], tmp_path / "out", quiet, parquet=True)
    assert not (tmp_path / "out").exists()


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="data must name an existing file"):
        reproduce(["theory"], tmp_path, quiet, data=tmp_path / "none.csv")
