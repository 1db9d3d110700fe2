"""Counts and sums in the place of single values: the same study, told day by day."""

import functools
import io
import json
import re
from datetime import datetime

import numpy as np
import pytest

from allgood import (
    Additive,
    Bernoulli,
    Bounded,
    Exponential,
    Gaussian,
    Multiplicative,
    Poisson,
    RefusedRows,
    create_study,
    load_study,
)
from allgood._internal.results import Hint
from allgood.certificates.verify import verify
from allgood.kernels.tally import Tally
from allgood.study.replay import replay
from allgood.study.tables.counts import read_counts

from ..cli.test_study_cli import call

NAMES = ["a", "b", "c"]
MODELS = {
    "bernoulli": (Bernoulli(), lambda rng, n: (rng.random(n) < 0.9).astype(float)),
    "poisson": (Poisson(), lambda rng, n: rng.poisson(5.0, n).astype(float)),
    "normal": (Gaussian(2.0), lambda rng, n: rng.normal(9.0, 2.0, n)),
    "unequal": (Gaussian([1.0, 2.0, 3.0]), lambda rng, n: rng.normal(9.0, 1.0, n)),
    "unknown": (Gaussian(None), lambda rng, n: rng.normal(9.0, 2.0, n)),
    "bounded": (Bounded(0.0, 1.0), lambda rng, n: rng.beta(9.0, 1.0, n)),
}
SHIFT = {"a": 1.0, "b": 0.9, "c": 0.1}  # of the chance or mean of each arm


def make(folder, name, model, url=None, **options):
    question = {"arms": NAMES, "objective": Multiplicative(0.4), "delta": 0.1, "model": model}
    return create_study(url or folder / f"{name}.db", name, **(question | options))


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """A database: a file, or that of the server, where names of studies must be the test's own."""
    if request.param == "sqlite":
        return str(tmp_path / "studies.db")
    return request.getfixturevalue("postgres_url")


def is_sound(study):
    certificate = json.loads(json.dumps(study.certificate()))
    report = verify(certificate, [line.rstrip("\n") for line in study.export()])
    return report.problems == () and report.log_checked and replay(study.events()).ok


def drawn(name, rng, arm, n):
    """Rewards of an arm: those of the model, scaled so that arms differ."""
    values = MODELS[name][1](rng, n)
    if name in ("bernoulli", "poisson"):
        return values * (rng.random(n) < SHIFT[arm])
    return values * SHIFT[arm]


@functools.cache
def told_value_by_value(name):
    """Days as rows of counts, each with the status of a study that was told every value alone."""
    rng = np.random.default_rng(3)
    days = []
    with make(None, "one", MODELS[name][0], ":memory:", check_values=False) as study:
        for day in range(4):
            rows = []
            for arm in NAMES:
                n = int(rng.integers(2, 20))
                values = drawn(name, rng, arm, n)
                row = {"arm": arm, "n": n, "sum": float(values.sum())}
                if name == "unknown":
                    row["sd"] = float(np.std(values, ddof=1))
                rows.append(row)
                for i, value in enumerate(values):
                    study.add_measurement(arm, value, f"{day}-{i}")
            days.append((rows, study.status()))
    return days


@pytest.mark.parametrize("name", MODELS)
def test_a_day_told_as_counts_is_the_day_told_value_by_value(tmp_path, url, name):
    """All that counts at the end of each day: rewards, sums, evidence, and what that certifies.

    Told value by value a study looks in between, and may certify more.  Told in one sheet it looks
    once, as with counts.
    """
    model = MODELS[name][0]
    # the check of one value is another than that of a mean
    with make(tmp_path, f"counts of {name}", model, url, check_values=False) as many:
        for day, (rows, first) in enumerate(told_value_by_value(name)):
            many.tell_counts(rows, source="table", period=f"day {day}")
            second = many.status()
            assert first.measurements == second.measurements
            for x, y in zip(first.arms, second.arms, strict=True):
                assert x.measurements == y.measurements
                assert y.mean == pytest.approx(x.mean, rel=1e-12)
                assert (y.low, y.high) == pytest.approx((x.low, x.high), rel=1e-6)
                assert y.label in (x.label, "open")
                if x.label == y.label:
                    assert y.evidence == pytest.approx(x.evidence, rel=1e-6, abs=1e-6)
        assert second.bad == ["c"]
        assert is_sound(many)
        with load_study(url, many.name) as again:
            assert many.status().to_dict() == again.status().to_dict() | {
                "time": pytest.approx(many.status().time, abs=60.0)
            }


def test_told_twice_counts_once_and_other_numbers_are_refused(tmp_path, url):
    with make(tmp_path, "counts told twice", Bernoulli(), url) as study:
        rows = [{"arm": arm, "n": 100, "sum": 40} for arm in NAMES]
        assert study.tell_counts(rows, source="t", period="1").counts == {"accepted": 3}
        assert study.tell_counts(rows, source="t", period="1").counts == {"duplicate": 3}
        assert study.status().measurements == 300
        other = [{"arm": "a", "n": 100, "mean": 0.41}, {"arm": "b", "n": 50, "sum": 20}]
        with pytest.raises(RefusedRows, match=r"'t', '1' of 'a' was told as 40\.0 in 100"):
            study.tell_counts(other, source="t", period="1")
        assert study.tell_counts(other, source="t", period="2").counts == {"accepted": 2}
        ticket = study.design.ticket_id(1)
        change = study.correct(ticket, {"n": 90, "sum": 41}, "two were counted twice")
        assert change.consequence.startswith(f"The value of {ticket} is 41.0 in 90, no longer 40.0")
        assert study.status().arms[0].measurements == 190
        assert "already" in study.correct(ticket, {"n": 90, "sum": 41}, "again").consequence
        with pytest.raises(TypeError, match="must hold n, and sum or mean, to correct counts"):
            study.correct(ticket, 3.0, "no counts")
        with pytest.raises(
            ValueError, match="must hold n, and sum or mean: got 'summ'; nearest is"
        ):
            study.correct(ticket, {"n": 90, "summ": 41}, "misspelt")
        assert is_sound(study)
        columns = study.table("values").columns
        assert columns["n"] == [90, 100, 100, 100, 50]
        assert columns["value"] == [41.0, 40.0, 40.0, 41.0, 20.0]
        assert columns["period"] == ["1", "1", "1", "2", "2"]
        with pytest.raises(ValueError, match="budget must not be below the 440 measurements"):
            study.set_budget(439, "too few")
        assert study.set_budget(440, "just enough").consequence.startswith("The budget is 440")


def test_a_table_that_was_mended_replaces_what_was_told(tmp_path, url):
    with make(tmp_path, "a mended table", Bernoulli(), url) as study:
        rows = [{"arm": arm, "n": 1000, "sum": 400} for arm in NAMES]
        study.tell_counts(rows, source="t", period="1")
        mended = [
            {"arm": "a", "n": 5000, "sum": 2000},
            rows[1],
            {"arm": "c", "n": 900, "sum": 90},
        ]
        with pytest.raises(RefusedRows):
            study.tell_counts(mended, source="t", period="1")
        assert study.status().bad == []
        receipt = study.tell_counts(mended, source="t", period="1", correct="robots")
        assert receipt.counts == {"corrected": 2, "duplicate": 1}
        assert receipt.ok
        assert study.status().bad == ["c"]
        assert [item.measurements for item in study.status().arms] == [5000, 1000, 900]
        [event] = [event for event in study.events() if event.kind == "replaced"]
        assert event.note == "robots"
        assert len(event.data["values"]) == 2
        assert is_sound(study)
        options = {"source": "t", "period": "1", "correct": "robots", "refused": "report"}
        assert study.tell_counts(mended, **options).counts == {"duplicate": 3}
        twice = [mended[0], rows[0]]  # which of them is right?
        assert study.tell_counts(twice, **options).counts == {"duplicate": 1, "conflict": 1}


def test_a_lost_decimal_point_in_a_table_is_suspect(tmp_path):
    with make(tmp_path, "s", Bernoulli()) as study:
        for day in range(3):
            rows = [{"arm": arm, "n": 1000, "sum": 40 + day} for arm in NAMES]
            study.tell_counts(rows, source="t", period=f"{day}")
        with pytest.warns(UserWarning, match=r"0.41 of 'a' .* is suspect"):
            study.tell_counts([{"arm": "a", "n": 1000, "sum": 410}], source="t", period="3")
        assert study.status().arms[0].measurements == 3000
        assert is_sound(study)
        study.correct(study.status().suspects[0].ticket, {"n": 1000, "sum": 41}, "a slip")
        assert study.status().arms[0].measurements == 4000
        assert is_sound(study)


@pytest.mark.parametrize(
    ("model", "row", "sentence"),
    [
        (Bernoulli(), {"n": 10, "sum": 11}, "the sum of 10 rewards of Bernoulli() cannot be 11"),
        (Bernoulli(), {"n": 10, "sum": 1.5}, "must be a whole number: got 1.5"),
        (Bernoulli(), {"n": 10, "mean": 0.33}, "must be a whole number: got 3.3"),
        (Bernoulli(), {"n": 1.5, "sum": 1}, "n must be a whole number: got 1.5"),
        (Bernoulli(), {"n": -1, "sum": 0}, "n must be from 0 to"),
        (Bernoulli(), {"n": 10}, "sum or mean must be given, and not both"),
        (Bernoulli(), {"n": 10, "sum": 3, "mean": 0.3}, "sum or mean must be given, and not both"),
        (Bernoulli(), {"n": 10, "sum": "x"}, "sum must be a plain decimal number"),
        (Poisson(), {"n": 10, "sum": -1}, "cannot be -1"),
        (Gaussian(None), {"n": 10, "sum": 3}, "sd or variance must be given for Gaussian"),
        (Gaussian(None), {"n": 10, "sum": 3, "sd": -1}, "must not be negative"),
        (
            Gaussian(None),
            {"n": 10, "sum": 3, "sd": 1e99},
            "sd and variance are too large: got 1e+99",
        ),
        (Exponential(), {"n": 10, "sum": 3}, "the waits that have ended by a given day"),
        (Bounded(0, 1), {"n": 10, "sum": 30}, "cannot be 30"),
    ],
)
def test_counts_that_cannot_be(tmp_path, model, row, sentence):
    with make(tmp_path, "s", model) as study:
        receipt = study.tell_counts([{"arm": "a"} | row], source="t", period="1", refused="report")
        assert receipt.rows[0].status == "invalid"
        assert sentence in receipt.rows[0].message
        assert len(study.events()) == 1


def test_rows_may_come_in_many_forms(tmp_path):
    with make(tmp_path, "s", Poisson(), objective=Additive(1.0)) as study:
        table = {"variant": NAMES, "visitors": [10, 20, 0], "hits": [12, 30, 0], "day": [1, 2, 3]}
        columns = {"arm": "variant", "n": "visitors", "sum": "hits", "period": "day"}
        receipt = study.tell_counts(table, source="t", columns=columns)
        assert receipt.counts == {"accepted": 2, "missing": 1}
        with pytest.raises(ValueError, match="period must be given"):
            study.tell_counts([{"arm": "a", "n": 1, "sum": 1}], source="t")
        with pytest.raises(ValueError, match="columns must rename only arm, n"):
            study.tell_counts([{"arm": "a"}], source="t", columns={"number": "n"})
        [row] = study.tell_counts(
            [{"arm": "d", "n": 1, "sum": 1}], source="t", period="9", refused="report"
        )
        assert "arm must be one of the study's: got 'd'" in row.message


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("study", "new", "s.db", "--arms", "a,b", "--epsilon", "0.1", "--model", "bernoulli")
    (tmp_path / "day.csv").write_text("variant;visitors;conversions\na;1000;100\nb;900;99\n")
    options = ["--source", "web", "--columns", "arm=variant,n=visitors,sum=conversions"]
    code, out, _ = call("study", "tell-counts", "s.db", "day.csv", *options, "--period", "Monday")
    assert code == 0
    assert "2 accepted." in out
    code, out, _ = call("study", "tell-counts", "s.db", "day.csv", *options, "--period", "Monday")
    assert "2 duplicate." in out
    (tmp_path / "day.csv").write_text("variant;visitors;conversions\na;1000;1100\n")
    code, out, _ = call("study", "tell-counts", "s.db", "day.csv", *options, "--period", "Tuesday")
    assert code == 1
    assert "line 2: the sum of 1000 rewards of Bernoulli() cannot be 1100" in out
    (tmp_path / "other.csv").write_text("page;visitors;conversions\na;1000;1100\n")
    code, _, error = call("study", "tell-counts", "s.db", "other.csv", *options[:2])
    assert code == 2
    assert "must name a column 'arm': got 'page', 'visitors', 'conversions'" in error
    (tmp_path / "day.csv").write_text("variant;visitors;conversions\na;990;99\n")
    code, out, _ = call("study", "tell-counts", "s.db", "day.csv", *options, "--period", "Monday")
    ticket = load_study("s.db").design.ticket_id(1)
    assert code == 1
    assert f"was told as 100.0 in 1,000 ({ticket}) and cannot be 99.0 in 990 too" in out
    assert "allgood study correct s.db TICKET n=NUMBER,sum=NUMBER --reason WHY" in out
    again = ["study", "correct", "s.db", ticket, "--reason", "robots"]
    code, out, _ = call(*again, "n=990,sum=99")
    assert code == 0
    assert out.startswith(f"The value of {ticket} is 99.0 in 990, no longer 100.0 in 1,000.")
    assert call(*again, "n=990,sum=")[2].startswith("Error: value must be like n=90,sum=41")
    assert call(*again, "n=990,sum=999")[2].startswith(
        "Error: value must hold counts that are possible"
    )
    assert call(*again, "99")[2].startswith(
        "Error: value must hold n, and sum or mean, to correct counts"
    )
    out = call("study", "status", "s.db", "--json")[1]
    assert json.loads(out)["measurements"] == 1890


@pytest.mark.parametrize(
    ("headings", "note"),
    [
        (
            "Variant;Visitors;Conversions;Day",
            "Columns were read: 'variant' as 'arm', 'visitors' as",
        ),
        ("arm;n;sum;date", "A column was read: 'date' as 'period'."),
        ("arm;n;sum;period", ""),
    ],
)
def test_common_headings_are_read_and_named(headings, note):
    table = read_counts(io.StringIO(f"{headings}\na;10;7;Monday\n"))
    assert table.rows == [{"arm": "a", "n": "10", "sum": "7", "period": "Monday"}]
    assert " ".join(table.notes).startswith(note)
    assert bool(table.notes) == bool(note)


@pytest.mark.parametrize(
    ("headings", "missing"),
    [("variant;option;n;sum", "arm"), ("arm;visitors;users;sum", "n"), ("page;n;sum;x", "arm")],
)
def test_headings_that_could_mean_two_things_are_not_read(headings, missing):
    with pytest.raises(ValueError, match=f"must name a column '{missing}'"):
        read_counts(io.StringIO(f"{headings}\na;10;7;1\n"))


def test_our_own_name_of_a_column_goes_before_common_ones():
    source = "arm;n;mean;total;name\na;10;0.7;99;x\n"
    [row] = read_counts(io.StringIO(source)).rows
    assert row == {"arm": "a", "n": "10", "mean": "0.7"}


NUMBERS = "arm;n;mean;sd\n12;100;3,25;0,5\nb;1e2;2,5;n/a\nc;0;#DIV/0!;-\n"


@pytest.mark.parametrize("kind", ["utf-8", "cp1252", "utf-16", "xlsx"])
def test_tables_as_spreadsheets_save_them(tmp_path, kind):
    """Decimal commas, words for missing numbers, headings in any case, names that are numbers."""
    path = tmp_path / "day"
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [["Arm", "N ", "MEAN"], [12, 100, 3.25], ["b", 100, "2,5"], ["c", 0, "#DIV/0!"]]:
            book.active.append(row)
        book.save(path)
    else:
        text = NUMBERS.replace("b;", "b\u00e4r;") if kind == "cp1252" else NUMBERS
        path.write_bytes(text.encode(kind))
    name = "b\u00e4r" if kind == "cp1252" else "b"
    with make(tmp_path, "s", Gaussian(2.0), arms=["12", name, "c"]) as study:
        receipt = study.tell_counts(path, source="t", period="1", decimal=",")
        assert receipt.counts == {"accepted": 2, "missing": 1}
        assert [study.status().arms[i].measurements for i in range(3)] == [100, 100, 0]
        assert study.table("values").columns["value"] == [325.0, 250.0]
        assert any("Cells without a number: " in note for note in receipt.notes)
        assert any("Windows-1252" in note for note in receipt.notes) == (kind == "cp1252")
        receipt = study.tell_counts(path, source="t", period="2", refused="report")
        assert receipt.notes[-1].endswith("is it a decimal comma?")
        assert receipt.hints == (Hint("decimal_comma", "decimal", ","),)
        assert receipt.counts["invalid"] == (1 if kind == "xlsx" else 2)


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        ("arm,n,mean\na,1.000,3\n", {"decimal": ","}, "line 2, column n: n must be a whole numb"),
        ('arm,n,mean\na,"1,000",3\n', {"decimal": ","}, "; write 1000"),
        ("arm,n,mean\na,10,3\n", {"decimal": ";"}, "decimal must be '.' or ',': got ';'"),
        ("arm,n,mean,N\na,10,3,10\n", {}, "must name each column once: got 'n' 2 times"),
        (
            "arm,m,mean\na,10,3\n",
            {},
            "Line 1 of the sheet must name a column 'n': got 'arm', 'm', 'mean'",
        ),
        ("arm,visitor,mean\na,10,3\n", {"columns": {"n": "visitors"}}, "nearest is 'visitor'"),
        ("arm,n,mean\na,10\n", {}, "Line 2 of the sheet: the row has 2 cells, the header 3"),
        ("arm,n,mean\n", {}, "The sheet has no rows below the header on line 1"),
        ("", {}, "The sheet is empty"),
    ],
)
def test_tables_that_are_refused(tmp_path, table, options, sentence):
    (tmp_path / "t.csv").write_text(table)
    with make(tmp_path, "s", Gaussian(2.0)) as study:
        with pytest.raises(ValueError, match=re.escape(sentence)):
            study.tell_counts(tmp_path / "t.csv", source="t", period="1", **options)
        assert len(study.events()) == 1


@pytest.mark.parametrize("text", ["1_000", "1,000", "0x10", "inf", "ten", "1 000"])
def test_only_plain_numbers_are_numbers(tmp_path, text):
    with make(tmp_path, "s", Gaussian(2.0)) as study:
        rows = [{"arm": "a", "n": text, "sum": 3}]
        [row] = study.tell_counts(rows, source="t", period="1", refused="report")
        assert row.message.startswith("row 1: n must ")
        assert row.status == "invalid"


SWAPPED = "Every row has a sum above its n: are the columns n and sum swapped?"


@pytest.mark.parametrize(
    ("model", "sums", "hint"),
    [
        (Bernoulli(), (100, 90), True),
        (Bernoulli(), (100, 3), False),
        (Bernoulli(), (5, 3), False),
        (Poisson(), (100, 90), False),
    ],
)
def test_n_and_sum_that_seem_swapped(tmp_path, monkeypatch, model, sums, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(f"arm,n,sum\na,10,{sums[0]}\nb,8,{sums[1]}\n")
    with make(tmp_path, "s", model) as study:
        told = {"source": "t", "period": "1", "refused": "report"}
        notes = study.tell_counts(tmp_path / "t.csv", **told).notes
        assert any(SWAPPED in note for note in notes) == hint
    name = "bernoulli" if model == Bernoulli() else "poisson"
    _, _, err = call("claims", "t.csv", "--epsilon", "0.1", "--model", name)
    assert (SWAPPED in err) == hint


def test_a_rate_in_percent_is_no_mean_of_zeros_and_ones(tmp_path):
    rows = [{"arm": "a", "n": 1000, "mean": 5.1}, {"arm": "b", "n": 1000, "mean": 0.051}]
    with make(tmp_path, "s", Bernoulli()) as study:
        receipt = study.tell_counts(rows, source="t", period="1", refused="report")
        assert receipt.counts == {"invalid": 1, "accepted": 1}
        assert next(iter(receipt)).message == (
            "row 1: mean must lie between 0 and 1 for Bernoulli(): got 5.1; if it is 5.1 %, "
            "write 0.051"
        )


def test_the_same_numbers_from_another_source_are_noted(tmp_path):
    """They count, as sources may agree; but perhaps they were told twice."""
    rows = [
        {"arm": arm, "n": 100, "sum": i, "period": day}
        for i, arm in enumerate("abc")
        for day in ("1", "2")
    ]
    with make(tmp_path, "s", Bernoulli()) as study:
        assert study.tell_counts(rows, source="web").notes == ()
        again = study.preview_counts(rows, source="Web")
        assert again.notes == (
            "6 rows are equal to rows of source 'web' for the same periods: were they told twice?",
        )
        assert study.tell_counts(rows, source="web").notes == ()  # duplicates, which count once
        changed = [*rows[:5], rows[5] | {"sum": 5}]
        assert study.tell_counts(changed, source="shop").notes == ()
        assert study.tell_counts(rows, source="Web").counts == {"accepted": 6}
        [note] = study.tell_counts(rows[:1], source="WEB").notes
        assert note.startswith("1 row is equal to a row of source 'Web' for the same period: was")


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("text", ["1,000", "1.000", "2.500,5", "1.000.000", "1.5", "1,5", "1 000"])
def test_a_sign_between_thousands_is_never_a_decimal_sign_of_n(tmp_path, text, decimal):
    """Read as a decimal sign, it would make n = 1 of 1,000."""
    (tmp_path / "t.csv").write_text(f'arm,n,sum\na,"{text}",1\nb,5000,1\n')
    with make(tmp_path, "s", Bernoulli()) as study:
        told = {"source": "t", "period": "1", "decimal": decimal}
        plain = "".join(filter(str.isdigit, text))
        remedy = f"; write {plain}" if plain.endswith("000") else ""
        sentence = f"n must be a whole number in plain digits: got {text!r}{remedy}"
        if decimal == ",":
            with pytest.raises(ValueError, match=re.escape(sentence)):
                study.tell_counts(tmp_path / "t.csv", **told)
            return
        receipt = study.tell_counts(tmp_path / "t.csv", refused="report", **told)
        assert receipt.counts == {"invalid": 1, "accepted": 1}
        assert next(iter(receipt)).message == f"line 2: {sentence}"
        assert receipt.hints == ()  # a comma in n is not taken for a decimal comma


def test_whole_numbers_as_spreadsheets_write_them(tmp_path):
    with make(tmp_path, "s", Bernoulli()) as study:
        for i, n in enumerate(["1000", "1000.0", "1000.00", "1e3", " 1000 ", 1000, 1000.0]):
            study.tell_counts([{"arm": "a", "n": n, "sum": 7}], source="t", period=str(i))
        study.tell_counts(
            [{"arm": "a", "n": "1000,0", "sum": "7,0"}], source="t", period="d", decimal=","
        )
        assert study.status().arms[0].measurements == 8000


@pytest.mark.parametrize(("text", "decimal"), [("1,000", ","), ("1.000", ".")])
def test_a_whole_sum_with_a_sign_before_three_digits_may_be_two_numbers(tmp_path, text, decimal):
    rows = [{"arm": "a", "n": 5000, "sum": text}, {"arm": "b", "n": 5000, "sum": "0.000"}]
    with make(tmp_path, "s", Bernoulli()) as study:
        told = {"source": "t", "period": "1", "refused": "report"}
        [row] = study.tell_counts(rows[:1], decimal=decimal, **told)
        assert row.message.endswith("got '1.000', which may be 1 or 1000; write one of them")
        assert study.tell_counts(rows[1:], **told).ok


def test_without_a_pool_tables_need_less_evidence(tmp_path, monkeypatch):
    """And the labels are those of claims on the same table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "day.csv").write_text("arm,n,sum\na,1000,100\nb,900,99\nc,1000,50\n")
    need = {}
    for option in ("--pool", "--no-pool"):
        new = ["--arms", "a,b,c", "--epsilon", "0.03", "--model", "bernoulli", option]
        call("study", "new", f"s{option}.db", *new, "--no-check-values")
        told = ["day.csv", "--source", "web", "--period", "1"]
        call("study", "tell-counts", f"s{option}.db", *told)
        need[option] = load_study(f"s{option}.db").status().arms[2].need
    out = call("claims", "day.csv", "--epsilon", "0.03", "--model", "bernoulli", "--json")[1]
    assert json.loads(out)["arms"][2]["need"] == need["--no-pool"] < need["--pool"]


def test_many_rewards_at_once_are_those_one_by_one():
    rng = np.random.default_rng(0)
    one, many = Tally(2), Tally(2)
    for _ in range(20):
        arm, n = int(rng.integers(2)), int(rng.integers(2, 30))
        x = rng.normal(5.0, 2.0, n)
        for value in x:
            one.record(arm, value)
        many.record_many(arm, n, x.sum(), ((x - x.mean()) ** 2).sum())
        assert one.pulls == many.pulls
        for name in ("counts", "sums", "means", "scatter"):
            assert getattr(many, name) == pytest.approx(getattr(one, name), rel=1e-12)


def test_a_sum_of_many_is_no_friend_of_one_value(tmp_path):
    """One value, a sum that excludes it and is held back, and a value like those of the sum."""
    with make(tmp_path, "s", Gaussian(1.0)) as study:
        study.tell([(ticket, 0.0) for ticket in study.ask(3)])
        with pytest.warns(UserWarning, match="is suspect"):
            study.tell_counts([{"arm": "a", "n": 10, "mean": 90.0}], source="t", period="1")
        with pytest.warns(UserWarning, match="is suspect"):
            study.add_measurement("a", 90.0, "again")
        assert study.status().arms[0].measurements == 1
        assert study.status().arms[0].mean == 0.0
        assert is_sound(study)


def test_a_day_is_the_same_day_in_every_form(tmp_path):
    """Spreadsheets and frames give a day the hour 0; told from each of them, it counts once."""
    day, csv, xlsx = datetime(2026, 3, 1), tmp_path / "day.csv", tmp_path / "day.xlsx"
    csv.write_text("arm,n,sum,period\na,10,4,2026-03-01\n")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["arm", "n", "sum", "period"], ["a", 10, 4, day]):
        book.active.append(row)
    book.save(xlsx)
    options = {"objective": Additive(0.1), "delta": 0.1, "model": Bernoulli()}
    with create_study(tmp_path / "s.db", "s", arms=["a", "b"], **options) as study:
        rows = [{"arm": "a", "n": 10, "sum": 4, "period": day}]
        told = [study.tell_counts(given, source="t") for given in (csv, xlsx, rows)]
        assert [receipt.counts for receipt in told] == [
            {"accepted": 1},
            {"duplicate": 1},
            {"duplicate": 1},
        ]
        later = [rows[0] | {"period": day.replace(hour=6)}]
        assert study.tell_counts(later, source="t").counts == {"accepted": 1}
