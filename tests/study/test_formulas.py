"""No text in a file that allgood writes is a formula, and readers of allgood get it back."""

import csv
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import allgood
from allgood._internal.tables import Table, guarded, unguarded
from allgood.reproduce.runner import _write_csv, read_csv
from allgood.study.tables.counts import read_counts
from allgood.study.tables.sheets import AskedRow, read_arms, read_sheet, sheet_bytes

from ..support.effort import examples

SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
LOOKS = [
    "=1+1",
    "'=A1",
    "''=A1",
    "-A",
    "+1",
    "@x",
    "\t=x",
    "\rx",
    " =x",
    "\u00a0-",
    "a=b",
    "'x",
    "",
]
TEXTS = st.sampled_from(LOOKS) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10
)
SCRIPTS = Path(allgood.__file__).parent / "serve" / "static"


def is_formula(text):
    return bool(text) and (text[0] in SIGNS or text.strip()[:1] in {*SIGNS})


@given(TEXTS)
def test_the_guard_is_undone(text):
    assert unguarded(guarded(text)) == text
    assert not is_formula(guarded(text))
    if not is_formula(text.lstrip("'")):
        assert guarded(text) == text


@pytest.mark.parametrize("value", [-1, -2.5, float("-inf"), True, None])
def test_numbers_stay_numbers(value):
    assert guarded(value) is value


def test_a_table_has_no_formula(tmp_path):
    path = tmp_path / "table.csv"
    Table({"arm": LOOKS, "=head": [-1.5] * len(LOOKS)}).to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["arm", "'=head"]
    assert [unguarded(arm) for arm, _ in rows] == LOOKS
    assert not any(is_formula(arm) for arm, _ in rows)
    assert {number for _, number in rows} == {"-1.5"}


def test_tables_of_experiments_have_no_formula(tmp_path):
    path = tmp_path / "table.csv"
    rows = [{"=strategy": text, "pulls": -1} for text in LOOKS if "\r" not in text]
    _write_csv(path, rows)
    with path.open(newline="", encoding="utf-8") as file:
        assert not any(is_formula(row[0]) for row in csv.reader(file))
    assert read_csv(path) == rows


@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=8), st.booleans())
@example(["-A", "=cmd|' /C calc'!A0", "'-A"], True)
def test_sheets_come_back(texts, as_workbook):
    rows = [AskedRow(f"-{i}", text, plate="=1", well="") for i, text in enumerate(texts)]
    content = sheet_bytes(rows, as_workbook, {rows[0]: -1.5})
    found = read_sheet(io.BytesIO(content)).rows
    assert [(row.ticket, row.arm, row.plate) for row in found] == [
        (f"-{i}", text, "=1") for i, text in enumerate(texts)
    ]
    assert float(found[0].value) == -1.5
    if as_workbook:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")
    else:
        cells = [
            cell for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) for cell in row
        ]
        assert [cell for cell in cells if is_formula(cell)] == ["-1.5"]


def test_tables_of_arms_and_counts_come_back(tmp_path):
    path = tmp_path / "arms.csv"
    columns = {"arm": ["-A", "=B", "'=C", "D"], "=note": ["+x", "@y", "z", "w"], "n": [1, 2, 3, 4]}
    Table({**columns, "sum": [-1.0, 2.0, 0.5, 0.0]}).to_csv(path)
    arms, notes, _ = read_arms(path, "arm")
    assert arms == columns["arm"]
    assert [notes[arm]["=note"] for arm in arms] == columns["=note"]
    found = read_counts(path)
    assert [row["arm"] for row in found.rows] == columns["arm"]
    assert [float(row["sum"]) for row in found.rows] == [-1.0, 2.0, 0.5, 0.0]
