"""``allgood claims``: what a table certifies by itself."""

import copy
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from allgood import (
    Additive,
    Bernoulli,
    Bounded,
    Exponential,
    Gaussian,
    Multiplicative,
    Poisson,
    claims,
    create_study,
    intervals,
)
from allgood.certificates import verify as verifier
from allgood.study.table_claims import ZEROS_AND_ONES, summarise
from allgood.study.tables.counts import read_counts

from ..support.command_line import allgood
from ..support.effort import examples

MODELS = {
    "bernoulli": (Bernoulli(), lambda rng, m, n: (rng.random(n) < m).astype(float)),
    "poisson": (Poisson(), lambda rng, m, n: rng.poisson(3.0 * m, n).astype(float)),
    "normal": (Gaussian(0.7), lambda rng, m, n: rng.normal(m, 0.7, n)),
    "unequal": (Gaussian([0.5, 1.0, 1.5]), lambda rng, m, n: rng.normal(m, 0.5, n)),
    "unknown": (Gaussian(None), lambda rng, m, n: rng.normal(m, 0.7, n)),
    "bounded": (Bounded(0.0, 1.0), lambda rng, m, n: rng.beta(5.0 * m, 5.0 - 5.0 * m, n)),
}
MEANS = {"a": 0.8, "b": 0.75, "c": 0.2}
DAYS = "arm,n,sum\na,1000,100\nb,1100,190\nc,900,99\n"


def read(rows, **options):
    return read_counts(rows, needed=("arm",), **options)


def summary_of(rows, objective, model, delta=0.05, **options):
    return summarise(
        read(rows, **options), objective, delta, model, "t.csv", "0123456789abcdef" * 4
    )


def labels_of(found):
    return [arm.label for arm in found.status.arms]


def labels_of_claims(known):
    return known.table().columns["label"]


def is_verified(certificate):
    return verifier.verify(json.loads(json.dumps(certificate))).problems == ()


@examples(15)
@given(
    name=st.sampled_from(sorted(MODELS)),
    seed=st.integers(0, 2**32),
    size=st.integers(2, 400),
    objective=st.sampled_from([Additive(0.3), Multiplicative(0.4)]),
)
def test_labels_and_intervals_are_those_of_the_functions(name, seed, size, objective):
    """From values, from the sums of days and from one sum per arm; and the verifier agrees."""
    rng = np.random.default_rng(seed)
    model, draw = MODELS[name]
    values = {arm: draw(rng, m, size + i) for i, (arm, m) in enumerate(MEANS.items())}
    n = [x.size for x in values.values()]
    means = [x.mean() for x in values.values()]
    variances = [x.var() for x in values.values()] if name == "unknown" else None
    known = claims(n, means, objective, 0.05, model, variances=variances)
    low, high = intervals(n, means, 0.05, model, variances=variances)
    singles = [{"arm": arm, "value": float(x)} for arm, some in values.items() for x in some]
    days = []
    for arm, some in values.items():
        for day, part in enumerate(np.array_split(some, 2)):
            row = {"arm": arm, "n": part.size, "sum": float(part.sum()), "period": day}
            if name == "unknown" and part.size > 1:
                row["sd"] = float(part.std(ddof=1))
            days.append(row)
    for rows in (singles, days):
        found = summary_of(rows, objective, model)
        assert labels_of(found) == labels_of_claims(known)
        arms = found.status.arms
        assert [item.arm for item in arms] == ["a", "b", "c"]
        assert [item.measurements for item in arms] == n
        assert [item.mean for item in arms] == pytest.approx(means, rel=1e-9)
        assert [item.low for item in arms] == pytest.approx(list(low), rel=1e-6)
        assert [item.high for item in arms] == pytest.approx(list(high), rel=1e-6)
        assert [item.need for item in arms] == pytest.approx(list(known.need))
        assert is_verified(found.certificate)
        assert len(found.certificate["claims"]) == 3 - labels_of(found).count("open")


def test_it_certifies_what_a_study_told_the_same_counts_does(tmp_path):
    rows = [{"arm": arm, "n": 2000, "sum": 2000 * m} for arm, m in MEANS.items()]
    found = summary_of(rows, Additive(0.3), Bernoulli())
    with create_study(
        ":memory:", "s", arms=list(MEANS), objective=Additive(0.3), delta=0.05, model=Bernoulli()
    ) as study:
        study.tell_counts(rows, source="t", period="1")
        assert labels_of(found) == ["good", "good", "bad"]
        assert [item.label for item in study.status().arms] == labels_of(found)


def test_the_command(tmp_path):
    (tmp_path / "days.csv").write_text(DAYS)
    options = ["--epsilon", "0.05", "--model", "bernoulli", "--delta", "0.1"]
    outputs = ["--plot", "p.png", "--certificate", "c.json"]
    done = allgood("claims", "days.csv", *options, *outputs, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 good, 0 bad, 2 open, of 3 arms after 3,000 measurements." in done.stdout
    assert (
        "With probability at least 0.9, no certified label is wrong, however often you look."
        in done.stdout
    )
    assert "not chosen for their values" in done.stdout
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    done = allgood("verify", "c.json", cwd=tmp_path)
    assert done.returncode == 3
    assert "The numbers were added up from a table, 'days.csv' with SHA-256 " in done.stdout
    alone = [sys.executable, verifier.__file__, tmp_path / "c.json"]
    done = subprocess.run(alone, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout[:28]) == (3, "Recomputed only: 1 claim rec")
    shown = allgood("claims", "days.csv", *options, *outputs, "--json", cwd=tmp_path).stdout
    assert json.loads(shown)["good"] == ["b"]
    assert json.loads(shown)["arms"][0]["mean"] == 0.1
    assert json.loads(shown)["certificate"] == "c.json"
    first = (tmp_path / "c.json").read_text()
    piped = ["claims", "-", *options, "--certificate", "d.json"]
    assert allgood(*piped, stdin=DAYS.encode(), cwd=tmp_path).returncode == 0
    other = (tmp_path / "d.json").read_text()
    assert json.loads(other)["claims"] == json.loads(first)["claims"]
    assert allgood("claims", "days.csv", *options, *outputs, cwd=tmp_path).returncode == 0
    assert (tmp_path / "c.json").read_text() == first


def test_a_changed_number_is_found():
    found = summary_of(io.BytesIO(DAYS.encode()), Additive(0.05), Bernoulli())
    assert is_verified(found.certificate)
    for change in (
        lambda c: c["claims"][0]["rests_on"][0].update(measurements=[1200, 1000]),
        lambda c: c["arms"][0].update(measurements=1001),
        lambda c: c["source"].update(file="other.csv"),
        lambda c: c.update(source={"file": 3}),
        lambda c: c["question"].update(delta=0.01),
    ):
        changed = copy.deepcopy(found.certificate)
        change(changed)
        assert not is_verified(changed)


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_tables_are_read_as_sheets_are(tmp_path, kind, decimal):
    rows = [["Variant", "N", "mean", "SD"]]
    rows += [[arm, 200, f"{m}".replace(".", decimal), f"0{decimal}5"] for arm, m in MEANS.items()]
    rows += [["c", 0, "#DIV/0!", "n/a"]]
    path = tmp_path / f"t.{kind}"
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        path.write_text("\n".join(";".join(map(str, row)) for row in rows), encoding="utf-16")
    options = ["--epsilon", "0.3", "--sigma", "unknown", "--columns", "arm=variant"]
    done = allgood("claims", path, *options, "--decimal", decimal, "--json")
    assert done.returncode == 0
    shown = json.loads(done.stdout)
    assert shown["good"] == ["a", "b"]
    assert shown["bad"] == ["c"]
    assert shown["notes"] == [
        "Cells without a number: 1 #DIV/0!, 1 n/a.",
        "1 row has nothing to count.",
    ]
    if decimal == ",":
        done = allgood("claims", path, *options)
        assert done.returncode == 2
        assert "such as '0,8': is it a decimal comma?" in done.stderr
        assert "If it is a decimal comma, add --decimal ,." in done.stderr


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        (DAYS, ["--model", "gaussian"], "--sigma must be given for normal measurements"),
        (
            DAYS,
            ["--model", "exponential"],
            "the waits that have ended by a given day are the short",
        ),
        (DAYS, ["--sigma", "unknown"], "line 2: sd or variance must be given for Gaussian"),
        ("arm,n,sum\na,10,11\nb,10,3\n", [], "line 2: the sum of 10 rewards of Bernoulli() cannot"),
        ("arm,n,sum\na,10,1\nb,0,0\n", [], "Every arm must have a measurement: 'b' has none"),
        ("arm,value\na,1\nb,2\n", [], "line 3: value must be 0 or 1 for Bernoulli(): got '2'"),
        ("arm,value\na,1\n,1\n", [], "line 3: arm is missing"),
        ("arm,n,sum,value\na,1,1,1\n", [], "and not both"),
        ("arm,sum\na,1\n", [], "The table must have columns arm, n and sum"),
        ("arms,n,sum\na,1,1\n", [], "a column 'arm': got 'arms', 'n', 'sum'; nearest is 'arms'"),
        ("arm,n,sum,period\na,9,1,x\na,8,1,x\n", [], "line 3: 'a' has a row for 'x' before"),
        (DAYS, ["--plot", "none/p.png"], "--plot must be in an existing folder"),
        (DAYS, ["--certificate", "none/c"], "--certificate must be in an existing folder"),
        (DAYS, ["--epsilon", "-1"], "--epsilon must be positive: got -1."),
        (DAYS, ["--delta", "2"], "delta must"),
    ],
)
def test_what_is_refused(tmp_path, table, options, sentence):
    (tmp_path / "t.csv").write_text(table)
    given = [] if "--model" in options or "--sigma" in options else ["--model", "bernoulli"]
    epsilon = [] if "--epsilon" in options else ["--epsilon", "0.1"]
    made = ["--certificate", "c.json"] if "--certificate" not in options else []
    done = allgood("claims", "t.csv", *options, *given, *epsilon, *made, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.startswith("Error: ")
    assert [path.name for path in Path(tmp_path).iterdir()] == ["t.csv"]


def test_values_that_do_not_fit_the_model_are_warned_of():
    """Values in the order of their sizes, as tables may be sorted, must not look strange."""
    rng = np.random.default_rng(5)
    values = {arm: np.sort(rng.normal(m, 1.0, 300)).round(1) for arm, m in MEANS.items()}
    rows = [{"arm": arm, "value": float(x)} for arm, some in values.items() for x in some]
    assert summary_of(rows, Additive(0.5), Gaussian(1.0)).warnings == ()
    assert summary_of(rows, Additive(0.5), Gaussian(None)).warnings == ()
    [warning] = summary_of(rows, Additive(0.5), Gaussian(0.5)).warnings
    assert "sigma" in warning
    ones = [{"arm": arm, "value": float(x > 0.4)} for arm, some in values.items() for x in some]
    assert len(summary_of(ones, Additive(0.5), Gaussian(None)).warnings) == 1
    counts = [
        {"arm": arm, "n": 300, "sum": float((x > 0.4).sum()), "sd": float((x > 0.4).std(ddof=1))}
        for arm, x in values.items()
    ]
    assert summary_of(counts, Additive(0.5), Gaussian(None)).warnings == (ZEROS_AND_ONES,)


CELLS = [
    "1",
    "2",
    "3",
    "0",
    "10",
    "3.5",
    "-1",
    "",
    "1e400",
    "1e-400",
    "1e99",
    "1e100",
    "n/a",
    "1,5",
]
CELLS += ["inf", "nan", "\u0662", '"', "'", "=A1", "1" * 400]
HEADINGS = [
    "arm,n,sum",
    "arm,n,mean,sd",
    "arm,value",
    "arm,n,mean,variance,period",
    "arm,n,x,value",
]


def tables():
    """Tables with our columns: most cells are ordinary, some are of any kind."""
    cells = st.one_of(
        st.sampled_from(CELLS[:4]), st.sampled_from(CELLS[:6]), st.sampled_from(CELLS)
    )
    arms = st.sampled_from(["a", "b", "a", "b", "b", "", "c"])
    rows = st.lists(st.tuples(arms, st.lists(cells, min_size=4, max_size=4)), max_size=5)

    def joined(parts):
        names, given, sign = parts
        lines = [names.split(","), ["a", *"1111"], ["b", *"1000"]]
        lines += [[arm, *others] for arm, others in given]
        width = len(lines[0])
        return "\n".join(sign.join(line[:width]) for line in lines)

    return st.tuples(st.sampled_from(HEADINGS), rows, st.sampled_from(",;\t")).map(joined)


@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(st.binary(max_size=100), tables()),
    model=st.sampled_from(["bernoulli", "poisson", "unknown-sigma", "gaussian", "bounded:0:4"]),
)
@example("arm,n,mean,sd\na,2,1e99,1e99\nb,2,-1e99,0\n", "unknown-sigma")
@example("arm,value\na,1e-300\na,1e99\nb,3\nb,-1e99\n", "unknown-sigma")
@example("arm,n,sum\na,1000000000000000,3\nb,1,0\n", "poisson")
@example("arm,n,sum\na,1000000000000001,3\nb,1,0\n", "poisson")
def test_no_table_whatever_ends_in_a_traceback(tmp_path, content, model):
    """A sentence and exit code 2, or a certificate that the verifier accepts.

    And a study that is told the same table says the same of it, or refuses its rows.
    """
    table, certificate = tmp_path / "t.csv", tmp_path / "c.json"
    table.write_bytes(content if isinstance(content, bytes) else content.encode())
    certificate.unlink(missing_ok=True)
    question = ["--epsilon", "0.5", "--model", model, *(["--sigma", "1"] * (model == "gaussian"))]
    done = allgood("claims", table, *question, "--certificate", certificate)
    assert done.returncode in (0, 2)
    if done.returncode == 2:
        assert done.stderr.startswith("Error: ")
        assert done.stderr.count("\n") == 1
        assert not certificate.exists()
    else:
        assert is_verified(json.loads(certificate.read_text()))
    study = tmp_path / "s.db"
    study.unlink(missing_ok=True)
    assert allgood("study", "new", study, "--arms", "a,b", *question).returncode == 0
    told = ["study", "tell-counts", study, table, "--source", "t", "--period", "1", "--json"]
    done = allgood(*told)
    assert done.returncode in (0, 1, 2)
    if done.returncode == 2:
        assert done.stderr.startswith("Error: ")
        assert allgood("study", "export", study).stdout.count("\n") == 1
    else:
        accepted = json.loads(done.stdout)["counts"].get("accepted", 0)
        accepted += json.loads(done.stdout)["counts"].get("suspect", 0)
        assert allgood("study", "export", study).stdout.count("\n") == 1 + accepted
        assert allgood("study", "status", study).returncode in (0, 10)


def test_waiting_times_are_refused():
    with pytest.raises(ValueError, match="the function claims of Python takes counts"):
        summary_of([{"arm": "a", "value": 1.0}], Additive(0.5), Exponential())
