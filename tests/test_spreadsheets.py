"""Sheets as laboratories send them, from the file to the events of a study."""

import pytest

from allgood import Additive, Exponential, Gaussian, Plate, create_study

from .command_line import allgood

ARMS = ["ash", "b\u00e4rlapp", "oak"]


MODEL = Gaussian(1.0)


def study_in(folder, model=MODEL, **options):
    question = {"arms": ARMS, "objective": Additive(0.5), "delta": 0.1, "model": model}
    return create_study(folder / "s.db", "s", **question, **options)


@pytest.fixture
def study(tmp_path):
    return study_in(tmp_path)


def values(study):
    """The value of each ticket that has one, by its id."""
    return {
        study.design.ticket_id(event.ticket): event.value
        for event in study.events()
        if event.kind == "observation"
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
        "96 invalid.\n- 96 values have a comma, as '1,0' in line 2: if it is a decimal comma, tell "
        "them with --decimal , (in Python decimal=',')\n",
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
    study = study_in(tmp_path, Exponential(), deadline=2.5)
    study.tell([(study.ask()[0], "> 2,5")], decimal=",")
    [told] = [event for event in study.events() if event.kind == "observation"]
    assert (told.value, told.data) == (2.5, {"in_vain": True})


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
        "- values missing: 3 n/a, 1 NA, 1 #DIV/0!, 1 #N/A, 1 -, 1 nd, 1 NaN, 1 \u2014",
        "- line 11, column value: empty; the ticket stays open",
    ]
    assert values(study) == {tickets[10].id: 1.5}
    assert controls(study) == {(1, "A2"): 0.5}
    assert len(study.open_tickets) == len(tickets) - 1
    code, out, _ = tell(tmp_path, sheet, "--empty-failed", "no reading")
    assert (code, out.splitlines()[0]) == (
        0,
        "2 duplicate, 10 missing, 1 control, 10 failed.",
    )


def test_values_out_of_range_are_not_missing(study):
    words = ["<LOD", ">4", "overflow", "OVRFLW", "inf", "sat", "--1", "x"]
    rows = list(zip(study.ask(len(words)), words, strict=True))
    assert study.tell(rows, refused="report").counts == {"invalid": len(words)}
