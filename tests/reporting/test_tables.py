"""How results look: short at a prompt, a small table in a notebook, tables for other programs."""

import csv
import inspect
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import allgood
from allgood import (
    ST2,
    UCB,
    Additive,
    ClaimByClaim,
    Gaussian,
    Instance,
    Poisson,
    TrackAndStop,
    characteristic_time,
    claims,
    compare,
    lower_bounds,
    run,
    simulate,
)
from allgood._internal.tables import Table

MEANS, QUESTION = [1.0, 0.8, 0.55, 0.5, 0.3, 0.1], Additive(0.3)
NOISE = Gaussian(0.3)
EVIL = "<b>&three"
COUNTS = Instance("counts", [4.0, 1.0], Additive(1.0), Poisson())


@pytest.fixture(scope="module")
def shown():
    """One of each, with one or two lines of text that it may take."""
    return {
        "result": run(ClaimByClaim(QUESTION, 0.1), MEANS, NOISE),
        "stopped": run(UCB(Additive(0.9), 0.1), np.linspace(0, 1, 200), NOISE, budget=200),
        "simulation": simulate(ST2(QUESTION, 0.1, "mixture"), MEANS, NOISE, runs=20),
        "several": simulate(TrackAndStop(QUESTION, (0.2, 0.1)), MEANS, NOISE, runs=3),
        "tracks": simulate(ST2(QUESTION, 0.1), MEANS, NOISE, runs=3, grid=[10, 100]),
        "claims": claims([400] * 6, MEANS, QUESTION, 0.05),
        "time": characteristic_time(MEANS, QUESTION),
        "endless": characteristic_time([1.0, 0.7], QUESTION),
        "bounds": lower_bounds(MEANS, QUESTION, 0.2),
        "comparison": compare(
            {EVIL: "st2:mason", "other": "claim-by-claim"},
            [Instance("three", [1.0, 0.9, 0.2], Additive(0.5), NOISE), COUNTS],
            0.1,
            5,
        ),
        "tracked": compare(["st2", "ucb"], COUNTS, 0.1, 3, grid=[5, 50]),
    }


def test_text_is_short(shown):
    for name, item in shown.items():
        text = repr(item)
        assert text.startswith(f"{type(item).__name__}(")
        assert len(text) <= 160, name
        assert "array(" not in text


def test_text_says_what_matters(shown):
    result = shown["result"]
    pulls = f"{result.pulls:,}"
    assert repr(result) == f"Result(certified after {pulls} pulls; 6 arms, 2 good: 0, 1)"
    assert repr(shown["stopped"]).startswith("Result(budget exhausted after 200 pulls; 200 arms, ")
    assert ", ...)" in repr(shown["stopped"])
    found = shown["simulation"].summary()
    assert repr(shown["simulation"]) == (
        f"Simulation(ST2 on 6 arms: 20 runs, {found.certified} certified, {found.errors} wrong, "
        f"{found.mean:,.0f} +- {found.standard_error:,.0f} pulls)"
    )
    assert repr(shown["tracks"]).startswith("Simulation(ST2 on 6 arms: 3 runs, 100 pulls each, F1 ")
    assert repr(shown["claims"]) == "Claims(1 good: 0; 2 bad: 4, 5; 3 open: 1, 2, 3)"
    assert "<= T* <= 989.439" in repr(shown["time"])
    assert repr(shown["endless"]) == "CharacteristicTime(T* = inf; undecidable)"
    assert "asymptotic " in repr(shown["bounds"])
    assert "moderate" not in repr(shown["bounds"])  # proven for delta <= 1/10 only
    assert "2 strategies on 2 instances, 5 runs each, delta = 0.1" in repr(shown["comparison"])
    single = compare("uniform", COUNTS, 0.1, 1)
    assert repr(single).startswith("Comparison(1 strategy on 1 instance, 1 run each, delta = 0.1: ")


def test_a_comparison_prints_its_table(shown):
    """One line for each instance, in columns; then what the columns are, and who refused."""
    head, three, counts, empty, what, refused = str(shown["comparison"]).splitlines()
    assert head.split("  ")[0] == "instance"
    assert head.split() == [
        "instance",
        "K",
        "good",
        "bound",
        *f"{EVIL} other {EVIL} / best other".split(),
    ]
    assert [line.split()[:3] for line in (three, counts)] == [
        ["three", "3", "2"],
        ["counts", "2", "1"],
    ]
    assert len(head) == len(three) == len(counts)
    other = shown["comparison"].of_instance("counts")["other"].summary()
    assert f"{other.mean:,.0f} +- {other.standard_error:,.0f}" in counts
    assert empty == ""
    assert what.startswith("Mean pulls +- standard error over 5 runs, delta = 0.1; bound: ")
    assert refused.startswith(f"- {EVIL} on counts: ST2(width=...) must be ")
    assert str(shown["tracked"]) == str(shown["tracked"].table())


def test_tied_instances_are_printed_apart():
    tied = Instance("tied", [1.0, 1.0, 0.2], Additive(0.5))
    found = compare("claim-by-claim", [COUNTS, tied], 0.1, 2)
    lines = str(found).splitlines()
    assert lines[0] == "One best arm"
    assert lines[2].startswith("counts ")
    assert lines[4] == "Best mean shared by several arms"
    assert lines[6].startswith("tied ")
    assert "One best arm" not in str(compare("claim-by-claim", COUNTS, 0.1, 2))


def test_a_table_prints_its_first_rows(shown):
    lines = str(shown["claims"].table()).splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["arm", "label"],
        ["0", "good"],
        *([f"{arm}", "open"] for arm in (1, 2, 3)),
        ["4", "bad"],
        ["5", "bad"],
    ]
    assert len({len(line) for line in lines}) == 1  # numbers end alike
    many = simulate(ST2(QUESTION, 0.1, "mixture"), MEANS, NOISE, runs=23).table()
    assert str(many).splitlines()[-1] == "... and 3 more rows"
    assert len(str(many).splitlines()) == 22


class Cells(HTMLParser):
    """The cells of a table, row by row; every tag must be closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in {"p", "table", "tr", "th", "td"}  # what a name holds is no tag
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in {"td", "th"}:
            self.rows[-1][-1] += data


def test_notebooks_show_small_tables(shown):
    for name, item in shown.items():
        rows = Cells(item._repr_html_()).rows
        assert 2 <= len(rows) <= 21, name
        assert len({len(row) for row in rows}) == 1
    [head, first, *_] = Cells(shown["result"]._repr_html_()).rows
    assert head == ["arm", "good", "pulls", "average", "certified at"]
    assert first[:2] == ["0", "True"]
    assert "180 more rows" in shown["stopped"]._repr_html_()
    [head, _, counts] = Cells(shown["comparison"]._repr_html_()).rows
    assert head == ["instance", EVIL, "other"]
    assert counts[:2] == ["counts", "-"]  # refused
    bounds = {row[0]: row[1:] for row in Cells(shown["bounds"]._repr_html_()).rows}
    assert bounds["moderate"] == ["-", "Proven for delta <= 1/10 only."]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_simulation_as_a_table(shown, tmp_path):
    simulation = shown["simulation"]
    simulation.to_csv(tmp_path / "runs.csv")
    rows = rows_of(tmp_path / "runs.csv")
    assert [row["run"] for row in rows] == [str(i) for i in range(20)]
    assert [int(row["pulls"]) for row in rows] == simulation.pulls.tolist()
    assert {row["certified"] for row in rows} == {"True"}
    several = shown["several"].table().columns
    assert several["delta"] == [0.2] * 3 + [0.1] * 3
    assert several["pulls"] == shown["several"].crossings.T.ravel().tolist()
    tracks = shown["tracks"].table().columns
    assert tracks["run"] == [0, 0, 1, 1, 2, 2]
    assert tracks["pulls"] == [10, 100] * 3
    assert tracks["recall"] == shown["tracks"].recall.ravel().tolist()


def test_claims_as_a_table(shown):
    columns = shown["claims"].table().columns
    assert columns["label"] == ["good", "open", "open", "open", "bad", "bad"]
    assert columns["evidence"] == shown["claims"].evidence.tolist()


def test_a_comparison_as_a_table(shown, tmp_path):
    comparison = shown["comparison"]
    comparison.to_csv(tmp_path / "summary.csv")
    rows = rows_of(tmp_path / "summary.csv")
    assert [(row["instance"], row["strategy"]) for row in rows] == [
        ("three", EVIL),
        ("three", "other"),
        ("counts", EVIL),
        ("counts", "other"),
    ]
    assert rows[2]["refused"].startswith('ST2(width=...) must be "mixture" for Poisson()')
    assert rows[2]["mean"] == ""
    wanted = comparison.of_instance("counts")["other"].summary()
    for key in ("mean", "standard_error", "lower_bound", "ratio"):
        assert float(rows[3][key]) == getattr(wanted, key)
    assert float(rows[3]["pulls_90"]) == wanted.quantiles[2]
    assert float(rows[3]["error_high"]) == wanted.error_interval[1]
    runs = comparison.each_run()
    assert len(runs) == 15  # three simulations of 5 runs
    assert runs.columns["pulls"][-5:] == comparison.rows[3].simulation.pulls.tolist()


def test_a_comparison_along_a_grid_as_a_table(shown):
    columns = shown["tracked"].table().columns
    simulation = shown["tracked"].of_instance("counts")["ucb:mixture"]
    assert columns["pulls"] == [None, 5, 50]  # st2:mason refuses counts
    assert columns["f1"][1:] == simulation.f1.mean(axis=0).tolist()


@pytest.mark.parametrize("name", ["simulation", "claims", "comparison"])
def test_parquet_holds_the_same(shown, name, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    shown[name].to_parquet(tmp_path / "table.parquet")
    assert parquet.read_table(tmp_path / "table.parquet").to_pydict() == shown[name].table().columns


@pytest.mark.parametrize("name", ["simulation", "claims", "comparison"])
def test_pandas_holds_the_same(shown, name):
    pandas = pytest.importorskip(
        "pandas", reason="pandas is not installed; the extra frames has it"
    )
    frame = shown[name].to_pandas()
    columns = shown[name].table().columns
    assert list(frame.columns) == list(columns)
    for key, values in columns.items():
        given = [None if pandas.isna(value) else value for value in frame[key].tolist()]
        assert given == values, key


def test_pandas_is_given_the_columns(shown, monkeypatch):
    """With a stand-in for pandas, which need not be installed."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    assert shown["claims"].to_pandas() == shown["claims"].table().columns


@pytest.mark.parametrize(
    ("package", "method"), [("pandas", "to_pandas"), ("pyarrow", "to_parquet")]
)
def test_what_to_install_is_said(shown, package, method, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    given = [tmp_path / "x"] if method == "to_parquet" else []
    with pytest.raises(ImportError, match=rf"^{method} needs {package}, .*, allgood\[frames\]\.$"):
        getattr(shown["claims"], method)(*given)


def public_functions():
    """The functions, classes and methods that ``help`` shows; studies have a page of their own."""
    for name in allgood.__all__:
        value = getattr(allgood, name)
        if value.__module__.startswith("allgood.study."):
            continue
        yield name, value
        if isinstance(value, type):
            for key, method in vars(value).items():
                if inspect.isfunction(method) and not key.startswith("_"):
                    yield f"{name}.{key}", method


def test_signatures_are_short():
    """``help`` would write out every type that an array may be made of."""
    looked_at = 0
    for name, function in public_functions():
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # models and exceptions, which are written in C
            continue
        looked_at += len(parameters)
        for parameter in parameters:
            assert len(str(parameter)) <= 90, (name, str(parameter))
    assert looked_at > 150


def test_a_table_without_rows_is_its_headings():
    assert str(Table({"arm": [], "value": []})) == "arm  value"
