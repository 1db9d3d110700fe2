"""Sheets as laboratories send them, from the file to the events of a study."""

import csv
import datetime
import io
import json
import re
import shutil
import subprocess
import sys
import warnings
import zipfile

import openpyxl
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from allgood import (
    Additive,
    Exponential,
    Gaussian,
    Plate,
    create_study,
    import_study,
    load_study,
)
from allgood.certificates.verify import verify
from allgood.models import ModelWarning
from allgood.reporting.report import report_html
from allgood.study.plates import ROW_NAMES
from allgood.study.replay import replay
from allgood.study.tables import workbooks
from allgood.study.tables.sheets import AskedRow, read_sheet, write_sheet

from ..support.chains import relinked
from ..support.command_line import allgood
from ..support.effort import examples

ARMS = ["ash", "b\u00e4rlapp", "oak"]


MODEL = Gaussian(1.0)


def study_in(folder, model=MODEL, arms=ARMS, **options):
    question = {"arms": arms, "objective": Additive(0.5), "delta": 0.1, "model": model}
    return create_study(folder / "s.db", "s", **question, **options)


@pytest.fixture
def study(tmp_path):
    return study_in(tmp_path)


def values(study):
    """The value of each ticket that has one, by its id."""
    return {
        study.design.ticket_id(event.ticket): event.value
        for event in study.events()
        if event.kind == "measurement"
    }


def controls(study):
    """The value of each control that has one, by plate and well."""
    events = [event for event in study.events() if event.kind == "control"]
    return {(event.batch, event.well): event.value for event in events}


def tell(folder, *arguments, stdin=""):
    done = allgood("study", "tell", folder / "s.db", *arguments, stdin=stdin)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


# ---- decimal commas


def test_decimal_commas_are_read_if_one_says_so(study, tmp_path):
    a, b, c = (ticket.id for ticket in study.ask(3))
    sheet = f"ticket;value\n{a};0,25\n{b};-1,5e1\n{c};7\n"
    assert tell(tmp_path, "-", "--decimal", ",", stdin=sheet)[0] == 0
    assert values(study) == {a: 0.25, b: -15.0, c: 7.0}
    assert tell(tmp_path, "-", "--decimal", ",", stdin=sheet)[1].startswith("3 duplicate.")


def test_many_decimal_commas_are_one_hint(study, tmp_path):
    plate = Plate(8, 12, {"DMSO": 4})
    tickets = study.ask(plate=plate)
    lines = [f'{t.id},{t.batch},{t.well},"1,{i}"' for i, t in enumerate(tickets)]
    wells = [row.well for row in study.sheet(tickets) if row.arm == "DMSO"]
    lines += [f',1,{well},"0,5"' for well in wells]
    code, out, _ = tell(tmp_path, "-", stdin="\n".join(["ticket,plate,well,value", *lines]))
    assert (code, out) == (
        1,
        "96 invalid.\nIf it is a decimal comma, add --decimal ,.\n- 96 values have a comma, such "
        "as '1,0' in line 2: is it a decimal comma?\n",
    )
    assert values(study) == {}
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join(["ticket,plate,well,value", *lines]))
    study.tell(sheet, decimal=",")
    assert values(study) == {t.id: float(f"1.{i}") for i, t in enumerate(tickets)}
    assert controls(study) == dict.fromkeys([(1, well) for well in wells], 0.5)


def test_a_point_among_decimal_commas_is_refused(study):
    a, b = (ticket.id for ticket in study.ask(2))
    receipt = study.tell([(a, "1,5"), (b, "1.234")], decimal=",", refused="report")
    assert [row.status for row in receipt] == ["accepted", "invalid"]
    assert receipt.rows[1].message == (
        "row 2: the value must have a decimal comma, not a point: got '1.234'"
    )
    assert values(study) == {a: 1.5}


def test_other_signs_are_no_decimal_signs(study):
    with pytest.raises(ValueError, match=r"decimal must be '\.' or ',': got ';'"):
        study.tell([], decimal=";")


def test_a_deadline_may_have_a_decimal_comma(tmp_path):
    study = study_in(tmp_path, Exponential(), censor_at=2.5)
    study.tell([(study.ask()[0], "> 2,5")], decimal=",")
    [told] = [event for event in study.events() if event.kind == "measurement"]
    assert (told.value, told.data) == (2.5, {"censored": True})


# ---- encodings


def test_windows_sheets_are_read_and_it_is_said(study, tmp_path):
    tickets = study.ask(3)
    sheet = tmp_path / "sheet.csv"
    lines = ["ticket;arm;value", *(f"{t.id};{t.arm};1" for t in tickets)]
    sheet.write_bytes("\n".join(lines).encode("cp1252"))
    code, out, _ = tell(tmp_path, sheet)
    assert (code, out.splitlines()[:2]) == (
        0,
        ["3 accepted.", "The sheet is not in UTF-8, and was read as Windows-1252."],
    )
    again = study.tell(sheet)
    assert repr(again) == (
        "<Receipt: 3 duplicate. The sheet is not in UTF-8, and was read as Windows-1252.>"
    )


def test_names_in_other_letters_do_not_match(study, tmp_path):
    """The same bytes mean other letters on an old Mac.  The arm's name shows that, and its row is
    refused."""
    tickets = study.ask(3)
    sheet = tmp_path / "sheet.csv"
    lines = ["ticket;arm;value", *(f"{t.id};{t.arm};1" for t in tickets)]
    sheet.write_bytes("\n".join(lines).encode("mac-roman"))
    code, out, _ = tell(tmp_path, sheet)
    assert (code, out.splitlines()[:2]) == (
        1,
        ["2 accepted, 1 conflict.", "The sheet is not in UTF-8, and was read as Windows-1252."],
    )
    assert "is for arm 'b\u00e4rlapp', not 'b\u0160rlapp'" in out


# ---- words for missing values


def test_words_for_missing_values_are_one_line(study, tmp_path):
    tickets = study.ask(plate=Plate(4, 6, {"DMSO": ["A1", "A2"]}))
    words = ["n/a", "NA", "#DIV/0!", "#N/A", "-", "nd", "NaN", "n/a", "\u2014"]
    cells = dict(zip([t.id for t in tickets], [*words, "", "1.5"], strict=False))
    lines = [f"{ticket},,,{cell}" for ticket, cell in cells.items()]
    lines += [",1,A1,n/a", ",1,A2,0.5"]
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("\n".join(["ticket,plate,well,value", *lines]), encoding="utf-8")
    code, out, _ = tell(tmp_path, sheet)
    assert code == 0
    assert out.splitlines()[:3] == [
        "1 accepted, 10 missing, 2 control.",
        "- values missing: 3 n/a, 1 NA, 1 #DIV/0!, 1 #N/A, 1 -, 1 nd, 1 NaN, 1 \u2014; "
        "lines 2, 3, 4, 5, 6, 7, 8, 9, 10 and 13",
        "- line 11, column value: empty; the ticket stays open",
    ]
    assert "all tickets without a value: the same command with --empty-failed WHY" in out
    assert values(study) == {tickets[10].id: 1.5}
    assert controls(study) == {(1, "A2"): 0.5}
    assert len(study.open_tickets) == len(tickets) - 1
    code, out, _ = tell(tmp_path, sheet, "--empty-failed", "no reading")
    assert (code, out.splitlines()[0]) == (
        0,
        "2 duplicate, 10 missing, 1 control, 10 failed.",
    )


@pytest.mark.parametrize(
    ("begin", "kind"),
    [
        (b"SQLite format 3\0\x10\0", "a SQLite database"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG picture"),
        (b"%PDF-1.4\n%\xe2\xe3", "a PDF document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls)"),
        (b"\xef\xbb\xbf\n <!DOCTYPE HTML>\n<html>", "an HTML page"),
        (b"<table><tr><td>ticket", "an HTML page"),
    ],
)
@pytest.mark.parametrize("grid", [None, 1])
def test_files_of_other_kinds_are_named(study, begin, kind, grid):
    sentence = f"The sheet must be text (CSV) or .xlsx: got {kind}; save the table as CSV UTF-8."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        study.tell(io.BytesIO(begin), grid=grid)


def test_a_sheet_may_begin_with_a_name_that_looks_like_html(study):
    [ticket] = study.ask(1)
    sheet = f"<tables>,ticket,value\nx,{ticket.id},1.5\n"
    assert study.tell(io.StringIO(sheet)).counts == {"accepted": 1}


@pytest.mark.parametrize("kind", ["file", "columns", "mappings"])
def test_messages_name_the_column_of_the_value(study, kind):
    one, two = (ticket.id for ticket in study.ask(2))
    rows = {
        "file": io.StringIO(f"ticket,well,value\n{one},A1,1\n{two},,2\n"),
        "columns": {"ticket": [one, two], "well": ["A1", ""]},
        "mappings": [{"ticket": one, "well": "A1"}, {"ticket": two, "well": ""}],
    }[kind]
    receipt = study.tell(rows, value_column="well", refused="report")
    wrong, empty = (row.message for row in receipt)
    assert ", column well: must be a plain decimal number" in wrong
    assert ", column well: empty; the ticket stays open" in empty


def test_a_share_in_percent_is_said_as_a_number(study):
    [row] = study.tell([(study.ask(1)[0], "5.1 %")], refused="report")
    assert row.message.endswith("got '5.1 %'; 5.1 % is 0.051")


def test_at_most_ten_rows_with_a_word_are_named(study):
    rows = [(ticket, "n/a") for ticket in study.ask(12)]
    messages = {row.message for row in study.tell(rows)}
    assert messages == {"values missing: 12 n/a; rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"}


def test_values_out_of_range_are_not_missing(study):
    words = ["<LOD", ">4", "overflow", "OVRFLW", "inf", "sat", "--1", "x"]
    rows = list(zip(study.ask(len(words)), words, strict=True))
    assert study.tell(rows, refused="report").counts == {"invalid": len(words)}


# ---- workbooks


def edited(content, edit):
    """A workbook with another text in place of its first worksheet's XML."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, edit(part.decode()) if name.endswith("sheet1.xml") else part)
    return out.getvalue()


def filled(path, numbers):
    """Fill in the column value of a workbook: for each ticket its number.

    openpyxl writes 16 digits of a number, spreadsheets write 17.  So a number is written as a
    formula first, and the formula is made a number then.
    """
    book = openpyxl.load_workbook(path)
    for row in book.active.iter_rows(min_row=2):
        if row[2].value in numbers:
            row[4].value = f"={numbers[row[2].value]!r}"
    book.save(path)
    pattern = re.compile("<f>(.*?)</f><v ?/>")
    path.write_bytes(edited(path.read_bytes(), lambda xml: pattern.sub(r"<v>\1</v>", xml)))


def made(rows):
    """The bytes of a workbook with these rows."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def with_stored(content, kind, value):
    """The workbook, with what a spreadsheet would store of its formulas: type and value, in XML."""
    pattern = re.compile(r"<c ([^>]*)><f>(.*?)</f><v ?/>")
    return edited(content, lambda xml: pattern.sub(rf"<c \1{kind}><f>\2</f>{value}", xml))


DOUBLES = st.floats(-1e60, 1e60, allow_subnormal=False)


@examples(4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(DOUBLES, min_size=20, max_size=20, unique=True))
@example([0.1 + 0.2, 1 / 3, 5e-324, 2.0**53 + 1, 1e60, -1e-300, 123456789012345678, *range(13)])
def test_numbers_of_a_workbook_are_told_to_the_last_digit(tmp_path_factory, told):
    folder = tmp_path_factory.mktemp("book")
    study = study_in(folder, check_values=False)
    tickets = study.ask(plate=Plate(4, 6, {"=DMSO": 4}))
    sheet = folder / "plate.xlsx"
    write_sheet(sheet, study.sheet(tickets))
    filled(sheet, dict(zip([t.id for t in tickets], told, strict=True)))
    receipt = study.tell(sheet)
    assert receipt.counts == {"accepted": 20, "control": 4}
    assert list(values(study).values()) == [float(x) for x in told]
    assert study.tell(sheet).counts == {"duplicate": 20, "control": 4}


def test_a_campaign_in_workbooks(study, tmp_path):
    sheet = tmp_path / "plate.xlsx"
    options = ["--plate", "4x6", "--control", "DMSO=4", "--out", sheet]
    done = allgood("study", "ask", tmp_path / "s.db", *options)
    assert done.returncode == 0
    open_tickets = study.open_tickets
    rows = read_sheet(sheet).rows
    assert {(r.ticket, r.arm, r.well, r.plate) for r in rows} == {
        (row.ticket, row.arm, row.well, "1") for row in study.sheet(open_tickets)
    }
    filled(sheet, {ticket.id: 0.1 + i / 100 for i, ticket in enumerate(open_tickets)})
    code, out, _ = tell(tmp_path, sheet)
    assert (code, out.splitlines()[0]) == (0, "20 accepted, 4 control.")
    assert values(study) == {ticket.id: 0.1 + i / 100 for i, ticket in enumerate(open_tickets)}


def test_cells_that_are_no_numbers(study):
    a, b, c, d, e, f = (ticket.id for ticket in study.ask(6))
    rows = [
        ["ticket", "value"],
        [a, True],
        [b, datetime.date(2026, 5, 1)],
        [c, "1.5"],
        [d, "#DIV/0!"],
        [e, None],
        [f, 2],
    ]
    receipt = study.tell(io.BytesIO(made(rows)), refused="report")
    assert [row.status for row in receipt] == [
        "invalid",
        "invalid",
        "accepted",
        "missing",
        "missing",
        "accepted",
    ]
    messages = [row.message for row in receipt]
    assert messages[0].startswith("row 2, column value: must be a plain decimal number")
    assert "got 'TRUE'" in messages[0]
    assert "got '2026-05-01'" in messages[1]
    assert messages[3] == "values missing: 1 #DIV/0!; row 5"
    assert values(study) == {c: 1.5, f: 2.0}


def test_formulas_are_read_by_their_stored_value(study):
    a, b = (ticket.id for ticket in study.ask(2))
    content = made([["ticket", "value"], [a, "=1/3"], [b, 1]])
    with pytest.raises(ValueError, match="Cell B2 of the workbook has a formula without a stored"):
        study.tell(io.BytesIO(content))
    assert values(study) == {}
    empty = with_stored(content, ' t="str"', "<v></v>")
    assert study.tell(io.BytesIO(empty)).counts == {"accepted": 1, "missing": 1}
    stored = with_stored(content, "", "<v>0.33333333333333331</v>")
    assert study.tell(io.BytesIO(stored)).counts == {"accepted": 1, "duplicate": 1}
    assert values(study) == {a: 1 / 3, b: 1.0}


def test_rows_of_a_workbook_may_have_notes_beside_them(study):
    a, b = (ticket.id for ticket in study.ask(2))
    rows = [[], [" Ticket", "VALUE"], [], [a, 1], [b, 2, "clumped", None, "?"], [None, " "]]
    assert study.tell(io.BytesIO(made(rows))).counts == {"accepted": 2}


def test_only_the_first_worksheet_is_read_and_that_is_said(study, tmp_path):
    [ticket] = study.ask(1)
    book = openpyxl.Workbook()
    for row in [["ticket", "value"], [ticket.id, 1]]:
        book.active.append(row)
    book.create_sheet("pivot").append(["ticket", "value"])
    book.save(tmp_path / "two.xlsx")
    code, out, _ = tell(tmp_path, tmp_path / "two.xlsx")
    assert (code, out.splitlines()[1]) == (0, "Only the first worksheet was read, not 'pivot'.")


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
LOOKS = ["=A1", "'=A1", "+1", "@x", "12", "1e5", "2026-05-01", "TRUE", "#N/A", " a ", "_x0041_"]


@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES | st.sampled_from(LOOKS), min_size=1, max_size=20))
@example([*LOOKS, "_x005F_x0041_", "\r\n", "\t", "\x01", "\uffff", "_", "__x0041_", "\U0001f33f"])
def test_arms_survive_a_workbook(tmp_path, names):
    path = tmp_path / "sheet.XLSX"
    write_sheet(path, [AskedRow(f"k-{i}", name) for i, name in enumerate(names)])
    rows = read_sheet(path).rows
    assert [(r.ticket, r.arm, r.value) for r in rows] == [
        (f"k-{i}", name, "") for i, name in enumerate(names)
    ]


def test_what_no_workbook_can_hold_is_not_written(tmp_path):
    path = tmp_path / "sheet.xlsx"
    with pytest.raises(
        ValueError, match="at most 32767 characters a cell in a workbook: got 40000"
    ):
        write_sheet(path, [AskedRow("k-1", "a" * 40_000)])
    assert not path.exists()


def test_a_workbook_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(workbooks, "LARGEST_FILE", 1000)
    with pytest.raises(ValueError, match="must be of at most 0 MB, unpacked: got a larger one"):
        read_sheet(io.BytesIO(made([["ticket", "value"]])))


def test_a_row_beyond_the_last_is_refused(monkeypatch):
    """A file may claim any number for a row.  The rows before it must not be made up."""
    assert workbooks.LAST_ROW == 1_048_576
    monkeypatch.setattr(workbooks, "LAST_ROW", 1000)
    content = made([["ticket", "value"], ["k", 1]])
    content = edited(content, lambda xml: xml.replace('<row r="2"', '<row r="99999999999"'))
    with pytest.raises(ValueError, match="must have at most 1000 rows: got more"):
        read_sheet(io.BytesIO(content))


def test_without_openpyxl_nothing_is_asked_for(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    done = allgood("study", "ask", tmp_path / "s.db", "--out", tmp_path / "plate.xlsx")
    sentence = (
        "Error: A workbook needs openpyxl, which is not installed: install the extra, "
        "allgood[excel], or save the sheet as CSV UTF-8.\n"
    )
    assert (done.returncode, done.stderr) == (2, sentence)
    assert study.open_tickets == []
    (tmp_path / "told.xlsx").write_bytes(b"PK\x03\x04")
    assert tell(tmp_path, tmp_path / "told.xlsx")[::2] == (2, sentence)


# ---- grids


def grid(rows, columns, cells, corner="<>"):
    """The lines of a grid: ``cells`` holds what stands in some of the wells."""
    lines = [[corner, *range(1, columns + 1)]]
    for name in ROW_NAMES[:rows]:
        lines.append([name, *(cells.get(f"{name}{j + 1}", "") for j in range(columns))])
    return lines


def reading(tickets, placed):
    """A value for each ticket and each control of a plate, by its well."""
    wells = [*(ticket.well for ticket in tickets), *placed]
    return {well: 1 / 3 + i / 97 for i, well in enumerate(wells)}


def as_csv(lines, delimiter=",", decimal="."):
    text = "\r\n".join(delimiter.join(map(str, line)) for line in lines)
    return text if decimal == "." else re.sub(r"(\d)\.(\d)", r"\1,\2", text)


def as_book(lines):
    """A workbook in which numbers have all their digits."""
    shown = [[f"={x!r}" if isinstance(x, float) else x for x in line] for line in lines]
    pattern = re.compile("<f>(.*?)</f><v ?/>")
    return edited(made(shown), lambda xml: pattern.sub(r"<v>\1</v>", xml))


PREAMBLE = [["Reader 3000", "", ""], ["Plate", 1], [], ["Start:", "2026-05-01 10:00"], []]


@pytest.mark.parametrize("size", ["8x12", "16x24", "3x5"])
@pytest.mark.parametrize("kind", ["comma", "semicolon", "tab", "workbook"])
def test_a_grid_is_told_to_the_last_digit(tmp_path, size, kind):
    study = study_in(tmp_path, check_values=False)
    plate = Plate.named(size, {"DMSO": 2, "blank": ["A2"]})
    study.ask(1, plate=plate)
    tickets = study.ask(plate.capacity - 3, plate=plate)
    placed = {row.well for row in study.sheet(tickets) if not row.ticket}
    cells = reading(tickets, placed)
    lines = PREAMBLE + grid(plate.rows, plate.columns, cells) + [[], ["End of reading"]]
    if kind == "workbook":
        content = as_book([["", *line] for line in lines])
    else:
        delimiter = {"comma": ",", "semicolon": ";", "tab": "\t"}[kind]
        content = as_csv(lines, delimiter, "," if kind == "semicolon" else ".").encode()
    (tmp_path / "reading").write_bytes(content)
    options = ["--decimal", ","] if kind == "semicolon" else []
    code, out, _ = tell(tmp_path, tmp_path / "reading", "--grid", "--plate", "2", *options)
    assert (code, out.splitlines()[0]) == (0, f"{len(tickets)} accepted, 3 control.")
    assert values(study) == {ticket.id: cells[ticket.well] for ticket in tickets}
    assert controls(study) == {(2, well): cells[well] for well in placed}
    again = study.tell(tmp_path / "reading", grid=2, decimal="," if options else ".")
    assert again.counts == {"duplicate": len(tickets) + 3}


def test_wells_that_were_not_asked_for_are_refused_by_name(study, tmp_path):
    tickets = study.ask(3, plate=Plate(2, 3, {"DMSO": ["A1"]}))
    free = sorted({"A2", "A3", "B1", "B2", "B3"} - {ticket.well for ticket in tickets})
    cells = reading(tickets, ["A1"]) | {free[0]: 7.0, free[1]: "n/a", tickets[0].well: ""}
    (tmp_path / "reading.csv").write_text(as_csv(grid(2, 3, cells)))
    code, out, _ = tell(tmp_path, tmp_path / "reading.csv", "--grid", "--plate", "1")
    first, *others = out.splitlines()
    assert (code, first) == (1, "2 accepted, 1 unknown, 1 missing, 1 control.")
    assert f"- well {free[0]} of plate 1 was not asked for" in others
    empty = f"- well {tickets[0].well} of plate 1, column value: empty; the ticket stays open"
    assert empty in others
    assert values(study) == {ticket.id: cells[ticket.well] for ticket in tickets[1:]}


def test_a_grid_of_a_new_plate_is_told_by_another_program(study, tmp_path):
    """The plate was asked for after this program had looked at the study."""
    other = load_study(tmp_path / "s.db")
    tickets = other.ask(plate=Plate(2, 3))
    (tmp_path / "reading.csv").write_text(as_csv(grid(2, 3, reading(tickets, []))))
    assert study.tell(tmp_path / "reading.csv", grid=1).counts == {"accepted": 6}


def test_grids_are_normalised():
    study = create_study(
        ":memory:",
        "s",
        arms=["a", "b"],
        objective=Additive(1.0),
        delta=0.1,
        normalise="percent:DMSO",
    )
    tickets = study.ask(plate=Plate(2, 3, {"DMSO": ["A1"]}))
    cells = dict.fromkeys([ticket.well for ticket in tickets], 3.0) | {"A1": 4.0}
    study.tell(io.StringIO(as_csv(grid(2, 3, cells))), grid=1)
    assert set(values(study).values()) == {75.0}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (as_csv(grid(8, 12, {})), "The grid must have the size of plate 1, 2x3: got 8x12."),
        (as_csv(grid(2, 2, {})), "The grid must have the size of plate 1, 2x3: got 2x2."),
        ("ticket,value\n1,2\n", "The file must hold one grid of values, with .* got none."),
        ("", "The file must hold one grid of values, with .* got none."),
        ("1,2,3\n4,5,6\n", "The file must hold one grid of values, with .* got none."),
        (
            as_csv([*grid(2, 3, {}), [], *grid(2, 3, {})]),
            "before it: got 2, below lines 1 and 5.",
        ),
        (
            as_csv(grid(2, 3, {"A1": 0.5, "B2": 1.5}), decimal=","),
            r"Line 2 of the grid must have 4 cells, as line 1 has: got 5\. Are there decimal",
        ),
    ],
    ids=range(7),
)
def test_other_grids_are_refused(study, tmp_path, text, sentence):
    study.ask(plate=Plate(2, 3))
    events = study.status().events
    with pytest.raises(ValueError, match=sentence):
        study.tell(io.StringIO(text), grid=1)
    with pytest.raises(ValueError, match=r"plate must be one of the study's, which are 1: got 2\."):
        study.tell(io.StringIO(as_csv(grid(2, 3, {}))), grid=2)
    assert study.status().events == events


def test_a_grid_needs_a_file_and_a_plate(study, tmp_path):
    with pytest.raises(TypeError, match="rows must be a file if grid is given: got "):
        study.tell([("k-1", 1)], grid=1)
    with pytest.raises(ValueError, match="grid must be "):
        study.tell(io.StringIO(""), grid=0)
    for options in (["-", "--grid"], ["-", "--plate", "1"]):
        code, _, err = tell(tmp_path, *options)
        assert (code, err) == (
            2,
            "Error: --grid and --plate must be given together, with a file.\n",
        )


# ---- other columns


def told_events(study):
    return [event for event in study.events() if event.kind in ("measurement", "control")]


def test_other_columns_are_kept_with_the_value(study, tmp_path):
    tickets = study.ask(plate=Plate(2, 3, {"DMSO": ["A1"]}))
    rows = [["ticket", "plate", "well", "value", "Operator", "", "note"]]
    rows += [
        [t.id, 1, t.well, i / 1000, "\u00c5sa", 7, "a\u2028b" if i else ""]
        for i, t in enumerate(tickets)
    ]
    rows += [["", 1, "A1", 0.5, "\u00c5sa", "", "x"]]
    study.tell(io.BytesIO(made(rows)))
    control, first, second, *_ = told_events(study)
    assert control.data == {"columns": {"Operator": "\u00c5sa", "note": "x"}}
    assert first.data == {
        "columns": {"Operator": "\u00c5sa", "column 6": "7"},
    }
    assert second.data["columns"] == first.data["columns"] | {"note": "a\u2028b"}
    lines = list(study.export())
    assert any('"columns":{"Operator":"\u00c5sa","note":"x"}' in line for line in lines)
    again = import_study(tmp_path / "again.db", lines)
    assert list(again.export()) == lines
    result = verify(study.certificate(), [line.rstrip("\n") for line in lines])
    assert result.ok
    assert result.log_checked


def test_other_columns_stand_beside_a_wait_in_vain(tmp_path):
    study = study_in(tmp_path, Exponential(), censor_at=30)
    [ticket] = study.ask()
    study.tell(io.StringIO(f"ticket,value,note\n{ticket.id},>30,lunch\n"))
    [event] = told_events(study)
    assert event.data == {"censored": True, "columns": {"note": "lunch"}}


# ---- anything at all

SCRAPS = [
    "ticket",
    "value",
    "arm",
    "A",
    "B",
    "1",
    "2",
    "n/a",
    "1,5",
    "=1/0",
    "",
    " ",
    "TAG-1",
    "TAG-2",
]
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    st.sampled_from(SCRAPS),
)
TABLES = st.lists(st.lists(CELLS, max_size=4), max_size=5)
HEADED = TABLES.map(lambda rows: [["ticket", "value", "arm", "note"], *rows])
ON_PLATE = TABLES.map(
    lambda rows: [["", 1, 2, 3], *(["AB"[i % 2], *r] for i, r in enumerate(rows))]
)
CHANGES = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=5)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A study with a plate of two rows and three columns."""
    study = study_in(tmp_path_factory.mktemp("fuzz"), check_values=False)
    study.ask(plate=Plate(2, 3, {"DMSO": ["A1"]}))
    return study


def tell_anything(study, content, grid_of):
    """All that the receipt says is stored; or nothing is, and one sentence says why."""
    before = study.status().events
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            receipt = study.tell(io.BytesIO(content), grid=grid_of, refused="report")
    except ValueError as error:
        refused = error
    else:
        stored = [row for row in receipt if row.status in ("accepted", "control")]
        counted = sum(isinstance(row.value, float) for row in stored)
        assert study.status().events - before == counted
        return
    assert len(str(refused).splitlines()) == 1
    assert not isinstance(refused, UnicodeError)
    assert study.status().events == before


def named(rows, study):
    tag = study.design.tag
    return [[x.replace("TAG", tag) if isinstance(x, str) else x for x in row] for row in rows]


@examples(25)
@given(TABLES | HEADED | ON_PLATE, CHANGES, st.booleans())
@example([["ticket", "value"], ["TAG-1", 1.0], ["TAG-2", "x"]], [], False)
@example([["", 1, 2, 3], ["A", 1, 2, 3], ["B", 4, "x", 6]], [], True)
def test_no_workbook_whatever_is_half_told(asked, rows, changes, as_grid):
    content = bytearray(made(named(rows, asked)))
    for place, byte in changes:
        content[place % len(content)] = byte
    tell_anything(asked, bytes(content), 1 if as_grid else None)


@examples(50)
@given(
    st.binary(max_size=200) | (TABLES | HEADED | ON_PLATE).map(lambda t: as_csv(t).encode()),
    CHANGES,
    st.booleans(),
)
def test_no_text_whatever_is_half_told(asked, content, changes, as_grid):
    changed = bytearray(content.replace(b"TAG", asked.design.tag.encode()))
    for place, byte in changes if changed else []:
        changed[place % len(changed)] = byte
    tell_anything(asked, bytes(changed), 1 if as_grid else None)


# ---- LibreOffice


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_what_is_written_and_what_it_writes_is_read(tmp_path):
    def convert(path, kind):
        profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
        out = tmp_path / "converted"
        command = ["soffice", profile, "--headless", "--convert-to", kind, "--outdir", out, path]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return out / path.with_suffix(f".{kind}").name

    # LibreOffice saves 15 digits of a number.  It shows _x0041_ as it should, and saves it as a
    # spreadsheet would save the letter A.
    looks = [name for name in LOOKS if name != "_x0041_"]
    names = [*looks, "b\u00e4r", "a,b;c", '"q"']
    study = study_in(tmp_path, arms=names, check_values=False)
    tickets = study.ask(len(names))
    sheet = tmp_path / "sheet.xlsx"
    write_sheet(sheet, study.sheet(tickets))
    told = [0.1 + 0.2, 1 / 3, 1e-300, 2.0**60, -1.5, 777.0]
    numbers = dict(zip([t.id for t in tickets], told, strict=False))
    filled(sheet, numbers)
    in_csv = read_sheet(convert(sheet, "csv"))
    assert [row.arm for row in in_csv.rows] == [ticket.arm for ticket in tickets]
    assert in_csv.notes == ("The sheet is not in UTF-8, and was read as Windows-1252.",)

    formula = edited(sheet.read_bytes(), lambda xml: xml.replace("<v>777.0<", "<f>1/7</f><v><"))
    sheet.write_bytes(formula)
    with pytest.raises(ValueError, match="has a formula without a stored value"):
        study.tell(sheet)
    saved = convert(sheet, "xlsx")
    assert [row.arm for row in read_sheet(saved).rows] == [ticket.arm for ticket in tickets]
    study.tell(saved)
    shown = numbers | {tickets[5].id: 1 / 7}
    assert values(study) == {ticket: float(f"{x:.15g}") for ticket, x in shown.items()}


# ---- arms from a table

LIBRARY = [
    ["Name ", "supplier", "purity / %", ""],
    ["2,4-D", "Fisher & Sons", 99.5, ""],
    ["b\u00e4r", '"best"\nof all', "", ""],
    ["12", "", "", ""],
]
NOTES = {
    "2,4-D": {"supplier": "Fisher & Sons", "purity / %": "99.5"},
    "b\u00e4r": {"supplier": '"best"\nof all'},
}


def new(folder, *arguments):
    options = ["--epsilon", "0.5", "--sigma", "1"]
    return allgood("study", "new", folder / "s.db", *options, *arguments)


@pytest.mark.parametrize("kind", ["workbook", "utf-8", "cp1252"])
def test_arms_come_from_a_table_with_notes(tmp_path, kind):
    library = tmp_path / "library"
    if kind == "workbook":
        library.write_bytes(made(LIBRARY))
    else:
        stream = io.StringIO(newline="")
        csv.writer(stream, delimiter=";").writerows(LIBRARY)
        library.write_bytes(stream.getvalue().encode(kind))
    done = new(tmp_path, "--arms", f"@{library}", "--arm-column", "name")
    assert done.returncode == 0
    assert ("was read as Windows-1252" in done.stdout) == (kind == "cp1252")
    study = load_study(tmp_path / "s.db")
    assert study.arms == ("2,4-D", "b\u00e4r", "12")
    assert [arm.notes for arm in study.status().arms] == [*NOTES.values(), {}]
    shown = allgood("study", "status", tmp_path / "s.db", "--json").stdout
    assert [load["notes"] for load in json.loads(shown)["arms"]] == [*NOTES.values(), {}]
    page = report_html(study)
    assert "<bdi>supplier: Fisher &amp; Sons; purity / %: 99.5</bdi>" in page
    assert "<bdi>supplier: &#34;best&#34;" in page
    printed = allgood("study", "status", tmp_path / "s.db").stdout
    assert (
        "Notes on 2 of 3 arms (--json and the report show them): supplier, purity / %." in printed
    )
    columns = study.status().table().columns
    assert columns["note: supplier"] == ["Fisher & Sons", '"best"\nof all', None]
    for i in range(2):
        study.tell([(ticket, i / 10) for ticket in study.ask(3)])
    lines = list(study.export())
    assert verify(study.certificate(), [line.rstrip("\n") for line in lines]).ok
    assert replay(study.events()).ok
    again = import_study(tmp_path / "again.db", lines)
    assert again.status().arms == study.status().arms
    asked = study.copy(tmp_path / "copy.db", "copy", objective=Additive(0.2))
    assert [arm.notes for arm in asked.status().arms] == [*NOTES.values(), {}]


def test_a_long_note_is_folded_in_the_report(tmp_path):
    study = study_in(tmp_path, arm_notes={"oak": {"from": "x<y " * 100}})
    page = report_html(study)
    assert f"<details><summary><bdi>from: {'x&lt;y ' * 18}x&lt;</bdi> ...</summary>" in page
    assert f"<bdi>from: {'x&lt;y ' * 100}</bdi></details>" in page


def renumbered(line):
    return line.replace('"seq":2', '"seq":3')


def test_notes_are_about_arms_and_come_first(tmp_path):
    for notes, message in [
        ({"elm": {"a": "b"}}, "event 2, .* notes on 'elm', which is not an arm"),
        ({"oak": {"a": 1}}, "event 2, .*'oak' are not texts by their headings: {'a': 1}"),
        ({"oak": {"a": "\ud800"}}, "event 2, .*'oak' are not texts by their headings: "),
    ]:
        with pytest.raises(ValueError, match=message):
            study_in(tmp_path, arm_notes=notes)
    assert not (tmp_path / "s.db").exists()
    study = study_in(tmp_path, arm_notes={"oak": {"a": "b"}})
    first, notes = study.export()
    study.ask()
    with pytest.raises(ValueError, match=r"event 3, .* notes on arms come once, before any"):
        import_study(tmp_path / "x.db", relinked([first, notes, renumbered(notes)]))
    asked = list(study.export())[2].replace('"seq":3', '"seq":2')
    late = relinked([first, asked, renumbered(notes)])
    with pytest.raises(ValueError, match=r"event 3, .* notes on arms come once, before any"):
        import_study(tmp_path / "x.db", late)
    problems = verify(study.certificate(), late).problems
    assert any("notes must stand before all tickets" in problem for problem in problems)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            "nam,x\na,1\n",
            "must name a column 'name': got 'nam', 'x'; nearest is 'nam'. Name the one to read "
            "with --arm-column NAME.",
        ),
        ("name,x\na,1\n,2\n", "Line 3 of the sheet must name an arm: got nothing"),
        ("name,x\na,1,2\n", "Line 2 of the sheet: the row has 3 cells, the header 2"),
        ("name\na\na\n", "arms must have different names: got 'a' more than once"),
        ("name\n", "arms must name at least one arm: got none"),
    ],
)
def test_other_tables_are_no_arms(tmp_path, table, sentence):
    (tmp_path / "t.csv").write_text(table)
    done = new(tmp_path, "--arms", f"@{tmp_path / 't.csv'}", "--arm-column", "name")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (tmp_path / "s.db").exists()


def test_a_column_is_one_of_a_table(tmp_path):
    done = new(tmp_path, "--arms", "a,b", "--arm-column", "name")
    assert done.stderr == "Error: --arms must be @FILE with --arm-column: got 'a,b'.\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a, b c ,d\n", ("a", "b c", "d")),
        ("\n a,b,\n\n", ("a", "b")),
        ("2,4-D\nDCPA\n", ("2,4-D", "DCPA")),
    ],
)
def test_names_on_one_line_have_commas_between_them(tmp_path, text, names):
    (tmp_path / "line.txt").write_text(text)
    assert new(tmp_path, "--arms", f"@{tmp_path / 'line.txt'}").returncode == 0
    assert load_study(tmp_path / "s.db").arms == names
