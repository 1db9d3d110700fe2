"""Values that counted, and are held back because of what came later: every call says so."""

import pytest

from allgood import Additive, Gaussian, Plate, create_study
from allgood.study.receipts import SuspectWarning

from ..support.command_line import allgood


def study_of(path, arms="ABC", **options):
    return create_study(
        path,
        "own",
        arms=list(arms),
        objective=Additive(1.0),
        delta=0.05,
        model=Gaussian(1.0),
        **options,
    )


def told(study, values, n=6):
    """Ask for n, and tell some of them; returns the tickets."""
    tickets = study.ask(n)
    for i, value in values.items():
        study.tell([(tickets[i], value)])
    return [ticket.id for ticket in tickets]


SUSPECT = "is suspect and does not count"


def test_a_value_that_nobody_asked_for(tmp_path):
    study = study_of(tmp_path / "own.db")
    told(study, {0: 10.0, 1: 10.0, 2: 20.0})
    answer = allgood("study", "add-measurement", tmp_path / "own.db", "C", 10, "--source", "n1")
    assert "1 accepted." in answer.stdout
    assert "20 of 'C' (" in answer.stdout
    assert SUSPECT in answer.stdout
    assert [suspect.value for suspect in study.status().suspects] == [20.0]


def test_a_correction(tmp_path):
    study = study_of(tmp_path / "own.db")
    tickets = told(study, {0: 20.0, 1: 20.0, 2: 20.0, 5: 20.0})
    for i in (0, 1):
        assert SUSPECT not in study.correct(tickets[i], 10.0, "x").consequence
    change = study.correct(tickets[5], 10.0, "x")
    assert f"20 of 'C' ({tickets[2]}) {SUSPECT}" in change.consequence
    assert study.correct(tickets[5], 20.0, "x").consequence.count(SUSPECT) == 0


@pytest.mark.parametrize("way", ["fail", "drop_arm"])
def test_values_that_had_waited(tmp_path, way):
    study = study_of(tmp_path / "own.db", in_order=True)
    tickets = told(study, {1: 10.0, 2: 20.0, 4: 40.0, 5: 50.0})
    assert study.status().suspects == ()
    given = [*tickets[:1], tickets[3]] if way == "fail" else ["A"]
    answer = allgood("study", way.replace("_", "-"), tmp_path / "own.db", *given, "--reason", "x")
    assert answer.returncode == 0
    for ticket, value, arm in ((tickets[4], 40, "B"), (tickets[5], 50, "C")):
        assert f"{value} of '{arm}' ({ticket}) {SUSPECT}" in answer.stdout
    assert "SuspectWarning" not in answer.stderr


def test_many_of_them_are_counted(tmp_path):
    study = study_of(tmp_path / "own.db", "ABCDEFGHIJ", in_order=True)
    tickets = study.ask(20)
    study.tell([(ticket, 0.0 if i < 10 else 1000.0) for i, ticket in enumerate(tickets) if i])
    with pytest.warns(SuspectWarning):
        receipt = study.fail([tickets[0]], "x")
    assert len(receipt.notes) == 6
    assert receipt.notes[-1] == "4 more are suspect now."


def test_the_last_open_arm_is_abandoned(tmp_path):
    study = study_of(tmp_path / "own.db")
    told(study, {0: 1.0, 1: 1.0, 2: 1.0}, 3)
    for arm in ("A", "B"):
        assert "may still decide it" in study.drop_arm(arm, "x").consequence
    end = study.drop_arm("C", "x").consequence
    assert "keeps its 1 value," in end
    assert "Its label stays open." in end
    assert "the study ends here." in end
    assert study.status().outcome == "dropped"
    empty = study_of(tmp_path / "empty.db")
    sentences = [empty.drop_arm(arm, "x").consequence for arm in ("A", "B", "C")]
    assert "about the others" in sentences[0]
    assert "no arm is left" in sentences[2]


def test_a_control_that_has_this_value(tmp_path):
    study = study_of(tmp_path / "own.db")
    tickets = study.ask(plate=Plate(2, 3, {"D": ["A1"]}))
    rows = study.sheet(tickets)
    study.tell(
        [
            {"ticket": r.ticket, "plate": r.plate, "well": r.well, "arm": r.arm, "value": 1.0}
            for r in rows
        ]
    )
    events = len(study.events())
    change = study.correct("1:A1", 0.3, "x")
    assert "no longer 1.0" in change.consequence
    assert "Nothing changes." in study.correct("1:A1", 0.3, "x").consequence
    assert len(study.events()) == events + 1


def test_a_batch_without_an_open_ticket(tmp_path):
    study = study_of(tmp_path / "own.db")
    told(study, {0: 1.0, 1: 1.0, 2: 1.0}, 3)
    assert study.fail(batch=1, reason="x").notes == (
        "Batch 1 has no open ticket. Nothing changes.",
    )


def test_suspect_values_use_up_the_budget(tmp_path):
    study = study_of(tmp_path / "own.db", budget=10)
    with pytest.warns(SuspectWarning):
        told(study, {i: 10.0 * i for i in range(6)})
    status = study.status()
    assert (status.measurements, len(status.suspects)) == (3, 3)
    answer = allgood("study", "forecast", tmp_path / "own.db")
    assert "The budget will probably end before every label is certified." in answer.stdout
    answer = allgood("study", "ask", tmp_path / "own.db", "-n", 20)
    assert "The budget of 10 allows no more." in answer.stdout
    assert len(study.open_tickets) == 4


@pytest.mark.parametrize("after", ["own.jsonl", 1.5, None, True])
def test_a_path_is_no_number_of_an_event(after):
    study = study_of(":memory:")
    for method in (study.export, study.events):
        with pytest.raises(TypeError, match="after must be a whole number: got"):
            method(after)
    assert len(list(study.export())) == len(study.events()) == 1
