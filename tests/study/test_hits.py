"""Hit lists: their order, their filters, and their files, in which no name is a formula."""

import csv
import io
import json

import pytest

from allgood import Additive, create_study
from allgood.study.tables.workbooks import read_cells

from ..support.command_line import allgood

ARMS = ["low", "=1+1", "@best", "near", "off"]
MEANS = {"low": -9.0, "=1+1": 1.9, "@best": 2.0, "near": 1.45}


@pytest.fixture
def study(tmp_path):
    notes = {"near": {"=supplier": "-2"}}
    options = {"objective": Additive(0.5), "delta": 0.05, "arm_notes": notes}
    study = create_study(tmp_path / "s.db", "s", arms=ARMS, **options)
    study.drop_arm("off", "not in stock")
    rows = [{"arm": arm, "n": 150, "sum": 150 * mean} for arm, mean in MEANS.items()]
    study.tell_counts(rows, source="x", period="all")
    study.quiet = True
    study.add_measurement("near", 1e6, "slip")
    return study


def names(chosen):
    return [hit.arm for hit in chosen.hits]


def test_the_best_come_first_and_withdrawn_arms_are_left_out(study):
    chosen, status = study.hits(), study.status()
    assert [(hit.arm, hit.label, hit.guess) for hit in chosen.hits] == [
        ("@best", "good", None),
        ("=1+1", "open", "good"),
        ("near", "open", "bad"),
        ("low", "bad", None),
    ]
    assert [hit.suspect for hit in chosen.hits] == [0, 0, 1, 0]
    by_name = {arm.arm: arm for arm in status.arms}
    for hit in chosen.hits:
        arm = by_name[hit.arm]
        assert (hit.estimate, hit.low, hit.high) == (arm.mean, arm.low, arm.high)
        assert (hit.n, hit.remark) == (arm.measurements, arm.remark)
    assert (chosen.verdict, chosen.threshold) == (status.verdict, status.threshold)


def test_filters(study):
    assert names(study.hits("good")) == ["@best"]
    assert names(study.hits(["good", "open"], "good")) == ["@best", "=1+1"]
    assert names(study.hits(["good", "open"], "bad")) == ["@best", "near"]
    assert names(study.hits("open", "good")) == ["=1+1"]
    study.drop_arm("near", "used up")
    study.drop_arm("=1+1", "used up")
    assert (
        "".join(study.hits([]).csv_lines())
        == "arm,label,guess,estimate,low,high,n,suspect,remark\r\n"
    )
    with pytest.raises(
        ValueError, match="label must be good, open, bad, or several of them: got 'fine'"
    ):
        study.hits("fine")
    with pytest.raises(ValueError, match="guess must be good or bad: got 'open'"):
        study.hits(guess="open")
    with pytest.raises(ValueError, match="format must be csv or xlsx: got 'pdf'"):
        study.hits().content("pdf")


def check_rows(rows, study):
    """No cell is a formula.  Everything else is there."""
    head, *rest = [list(row) for row in rows]
    assert head[:8] == ["arm", "label", "guess", "estimate", "low", "high", "n", "suspect"]
    assert head[9:] == ["note: =supplier"]
    assert [row[0] for row in rest] == ["'@best", "'=1+1", "near", "low"]
    assert rest[2][9] == "'-2"
    for row, hit in zip(rest, study.hits().hits, strict=True):
        numbers = [float(cell) for cell in row[3:8]]
        assert numbers == pytest.approx([hit.estimate, hit.low, hit.high, hit.n, hit.suspect])


def test_files(study, tmp_path):
    for name in ("hits.csv", "hits.xlsx"):
        study.hits().save(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        assert (content[:2] == b"PK") is name.endswith("xlsx")
        if name.endswith("csv"):
            rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
        else:
            rows = [row for _, row in read_cells(content)[0]]
        check_rows(rows, study)


def test_missing_numbers_are_empty_cells(tmp_path):
    study = create_study(":memory:", "s", arms=["ä", "b"], objective=Additive(0.5), delta=0.1)
    content = study.hits().content("csv")
    assert content.startswith(b"\xef\xbb\xbf")  # spreadsheets need it if there is more than ASCII
    assert content.decode("utf-8-sig").splitlines()[1] == "ä,open,,,,,0,0,"
    assert [row[3] for _, row in read_cells(study.hits().content("xlsx"))[0]][1:] == ["", ""]


def test_the_command(study, tmp_path):
    url = tmp_path / "s.db"
    done = allgood("study", "hits", url, "--json")
    assert json.loads(done.stdout)["hits"] == study.hits().to_dict()["hits"]
    done = allgood("study", "hits", url, "--label", "good", "--label", "open", "--guess", "good")
    assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["arm", "@best", "=1+1"]
    assert "without a guarantee" in done.stdout
    done = allgood("study", "hits", url, "--format", "csv")
    check_rows(csv.reader(io.StringIO(done.stdout)), study)
    out = tmp_path / "list.xlsx"
    assert "4 arms" in allgood("study", "hits", url, "--out", out).stdout
    check_rows([row for _, row in read_cells(out.read_bytes())[0]], study)
    for options, message in [
        (["--format", "pdf"], "--format must be table, csv or xlsx: got 'pdf'"),
        (["--format", "xlsx"], "--out must be given with --format xlsx"),
        (["--out", out], "--out must be a new file"),
        (["--label", "fine"], "label must be good, open, bad"),
    ]:
        done = allgood("study", "hits", url, *options)
        assert done.returncode == 2
        assert message in done.stderr
