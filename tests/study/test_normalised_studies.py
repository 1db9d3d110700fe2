"""Studies that normalise: every value is in units of the controls of its plate, or is refused."""

import pytest

from allgood import Additive, Gaussian, Plate, create_study, load_study
from allgood.certificates.verify import verify
from allgood.study.design import StudyDesign
from allgood.study.state import StudyState

from ..support.command_line import allgood


def begin(url=":memory:", **options):
    settings = {"objective": Additive(20.0), "delta": 0.1, "model": Gaussian(10.0)} | options
    return create_study(url, "s", arms=["a", "b"], **({"normalise": "percent:DMSO"} | settings))


def told(study, dmso=50.0):
    """Tell a plate on which every arm gives 40 and DMSO as given; return its tickets."""
    tickets = study.ask(plate=Plate(2, 3, "DMSO A1:A2"))
    table = {"ticket": [t.id for t in tickets], "value": [40.0] * len(tickets)}
    table |= {"well": [t.well for t in tickets], "plate": [t.batch for t in tickets]}
    if dmso is not None:
        table["ticket"] += ["", ""]
        table["value"] += [dmso, dmso]
        table["well"] += ["A1", "A2"]
        table["plate"] += [tickets[0].batch] * 2
    return tickets, study.tell(table, refused="report")


def test_every_plate_is_normalised():
    study = begin()
    for dmso, wanted in ((50.0, 80.0), (80.0, 50.0)):
        tickets, receipt = told(study, dmso)
        assert receipt.counts == {"accepted": 4, "control": 2}
        state = study.backend.known_state
        ids = {study.design.ticket_id(t.number): t for t in state.tickets.values()}
        assert {ids[ticket.id].value for ticket in tickets} == {wanted}
    certificate = study.certificate()
    assert certificate["question"]["normalise"] == "percent:DMSO"
    assert verify(certificate, list(study.export())).problems == ()
    assert StudyState.from_events(study.events()).design.normalise == "percent:DMSO"


def test_a_plate_without_the_values_of_its_controls_is_refused():
    study = begin()
    _, receipt = told(study, dmso=None)
    assert receipt.counts == {"invalid": 4}
    assert "control 'DMSO' has no value on this plate" in receipt.rows[0].message


@pytest.mark.parametrize(
    ("normalise", "plate", "sentence"),
    [
        ("percent:DMSO", None, r"plate must be given, because the study normalises .*: got None"),
        ("percent:DMSO", Plate(2, 3), "it needs 1 or more wells of control 'DMSO', not 0"),
        ("z:DMSO", Plate(2, 3, "DMSO 1"), "it needs 2 or more wells of control 'DMSO', not 1"),
        ("percent:L,H", Plate(2, 3, "L 1"), "it needs 1 or more wells of control 'H', not 0"),
        ("z", Plate(2, 3, "L 1\nH 1"), "z without a name needs a plate with one control, not 2"),
    ],
)
def test_plates_that_cannot_be_normalised_are_not_asked_for(normalise, plate, sentence):
    study = begin(normalise=normalise)
    with pytest.raises(ValueError, match=sentence):
        study.ask(plate=plate)
    assert study.status().events == 1


def test_values_without_a_plate_are_refused():
    study = begin()
    row = study.add_measurement("a", 1.0, "notebook", refused="report")
    assert row.status == "conflict"
    assert "this value is on no plate" in row.message
    counts = study.tell_counts([{"arm": "a", "n": 3, "sum": 2.0}], source="t", period="p",
                               refused="report")  # fmt: skip
    assert counts.counts == {"conflict": 1}
    assert study.status().events == 1


def test_a_correction_is_a_raw_value():
    study = begin()
    tickets, _ = told(study)
    change = study.correct(tickets[0], 45.0, "misread")
    assert "is 90.0, no longer 80.0" in change.consequence
    assert verify(study.certificate(), list(study.export())).problems == ()
    assert "already" in study.correct(tickets[0], 45.0, "again").consequence


def test_an_event_that_is_not_normalised_is_impossible():
    study = begin()
    told(study)
    for change in ({"data": None}, {"data": {"normalised": {"way": "z", "controls": ["DMSO"]}}}):
        events = [
            event._replace(**change) if event.kind == "measurement" else event
            for event in study.events()
        ]
        with pytest.raises(ValueError, match="it was not normalised as the study is"):
            StudyState.from_events(events)


def test_the_option_is_stored_once_and_checked(tmp_path, monkeypatch):
    assert begin(normalise="controls: A , B").design.normalise == "percent:A,B"
    with pytest.raises(ValueError, match="normalise must be percent or z"):
        begin(normalise="half")
    design = begin(normalise=None).design
    assert "normalise" not in design.to_dict()
    assert StudyDesign.from_dict(design.to_dict()) == design
    monkeypatch.chdir(tmp_path)
    options = ["--arms", "a,b", "--epsilon", "1", "--sigma", "1", "--normalise", "z:DMSO"]
    done = allgood("study", "new", "s.db", *options)
    assert done.returncode == 0, done.stderr
    with load_study("s.db") as study:
        assert study.design.normalise == "z:DMSO"
