"""Files as plate readers write them: lines above the table, lists of wells, several plates."""

import io

import openpyxl
import pytest

from allgood import Additive, Gaussian, Plate, create_study

LIST = """Instrument,Reader 3000
Serial "no.,12-77
Date,2026-05-04 09:31

Plate,Well,Content,OD600
1,A01,,0.5
1,A02,,1.5
1,A03,blank,9.0
Plate 2,a1,,2.5
2,A2,,3.5
2,A3,blank,8.0
2,B1,,

Statistics,mean,4.1
end of file
"""
TABS = "Protocol: endpoint\nRead: 405 nm\nWell\tValue\nA1\t0,25\nA2\t0,75\nA3\t5,0\n"
GRID = "Reader 3000;;;\n2026-05-04;;;\n;1;2;3\nA;0.25;0.75;5\nB;;;\n"


@pytest.fixture
def study():
    study = create_study(
        ":memory:",
        "s",
        arms=["a", "b"],
        objective=Additive(1.0),
        delta=0.1,
        model=Gaussian(1.0),
    )
    for client in ("one", "two"):
        study.ask(2, client=client, plate=Plate(2, 3, "blank A3\nunused B1:B3"))
    return study


def values(study):
    told = study.table("values").columns
    return {
        (int(batch), well): value
        for batch, well, value in zip(told["batch"], told["well"], told["value"], strict=True)
    }


def test_a_list_of_several_plates_below_header_lines(study):
    wanted = {(1, "A1"): 0.5, (1, "A2"): 1.5, (2, "A1"): 2.5, (2, "A2"): 3.5}
    shown = study.preview(io.StringIO(LIST), value_column="OD600")
    receipt = study.tell(io.StringIO(LIST), value_column="OD600")
    assert shown.counts == receipt.counts == {"accepted": 4, "control": 3}
    assert values(study) == wanted
    assert study.backend.known_state.control_values(2) == {"blank": [8.0]}
    first, last = receipt.notes
    assert first.startswith("Skipped lines 1 to 3, which are not part of the table: 'Instrument,")
    assert last == "Skipped everything from line 14 on, which is not part of the list of wells."
    assert [row.line for row in receipt][:2] == [6, 7]
    again = study.tell(io.StringIO(LIST), value_column="OD600")
    assert again.counts == {"duplicate": 6, "control": 1}


def test_a_list_of_one_plate_needs_its_number(study):
    receipt = study.tell(io.StringIO(TABS), decimal=",", refused="report")
    assert receipt.counts == {"unknown": 3}
    assert "line 4: well A1 has no plate: name the plate" in receipt.rows[0].message
    told = study.tell(io.StringIO(TABS), decimal=",", grid=2)
    assert told.counts == {"accepted": 2, "control": 1}
    assert values(study) == {(2, "A1"): 0.25, (2, "A2"): 0.75}
    assert "Skipped lines 1 to 2" in told.notes[0]


def test_a_grid_below_header_lines(study):
    assert study.tell(io.StringIO(GRID), grid=1).counts == {"accepted": 2, "control": 4}
    assert values(study) == {(1, "A1"): 0.25, (1, "A2"): 0.75}


def test_a_workbook_with_header_rows(study):
    book = openpyxl.Workbook()
    rows = [["Reader"], [], ["Plate", "Well", "Value"], [1, "A01", 0.5], [1, "A02", 1.5]]
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    file.seek(0)
    receipt = study.tell(file)
    assert receipt.counts == {"accepted": 2}
    assert receipt.notes == ("Skipped row 1, which is not part of the table: 'Reader'.",)


def test_a_ticket_sheet_may_have_lines_above_it(study):
    ticket = study.open_tickets[0].id
    receipt = study.tell(io.StringIO(f"exported by hand\n\nticket;value\n{ticket};0.5\n"))
    assert receipt.counts == {"accepted": 1}
    assert "Skipped line 1" in receipt.notes[0]


def test_wells_that_were_not_asked_for_are_named_and_empty_ones_left_out(study):
    text = "plate,well,value\n1,A1,0.5\n1,Z9,3.0\n1,Z8,\n7,A1,2.0\nX,A2,1.0\n"
    receipt = study.tell(io.StringIO(text), refused="report")
    assert receipt.counts == {"accepted": 1, "unknown": 3}
    messages = [row.message for row in receipt if row.status == "unknown"]
    assert messages == [
        "line 3: well Z9 of plate 1 was not asked for",
        "line 5: well A1 of plate 7 was not asked for",
        "line 6: well A2 of plate X was not asked for",
    ]


def test_a_row_that_is_no_well_within_the_list_is_refused(study):
    """Only after an empty line does something else begin; nothing is skipped silently."""
    text = "plate,well,value\n1,A1,0.5\n1,mean,3.0\n1,A2,1.5\n"
    receipt = study.tell(io.StringIO(text), refused="report")
    assert receipt.counts == {"accepted": 2, "unknown": 1}
    assert receipt.notes == ()


def test_an_arm_that_is_another_is_a_conflict(study):
    arms = {t.well: t.arm for t in study.open_tickets if t.batch == 1}
    other = "b" if arms["A1"] == "a" else "a"
    text = f"plate,well,arm,value\n1,A1,{other},0.5\n"
    assert study.tell(io.StringIO(text), refused="report").counts == {"conflict": 1}


def test_a_file_without_such_a_header_is_refused_as_before(study):
    with pytest.raises(ValueError, match="Line 1 of the sheet must name a column 'ticket'"):
        study.tell(io.StringIO("a,b\n1,2\n"))
    with pytest.raises(ValueError, match="must hold one grid of values"):
        study.tell(io.StringIO("a,b\n1,2\n"), grid=1)
