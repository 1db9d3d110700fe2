"""Every event in a sentence, the same for the page and the report."""

import pytest

from allgood import Additive, Exponential, Gaussian, Plate, create_study
from allgood.reporting.report import report_html
from allgood.serve.views import event_data
from allgood.study.event_sentences import WORDINGS, event_arm, event_sentence, event_wording
from allgood.study.events import KINDS

from ..support.random_studies import MODELS, a_study


@pytest.fixture
def study(tmp_path):
    study = create_study(
        tmp_path / "s.db",
        "s",
        arms=["a {x}", "b", "c"],
        objective=Additive(1.0),
        delta=0.1,
        model=Gaussian(1.0),
        max_new_arms=30,
    )
    study.quiet = True
    yield study
    study.close()


def sentences(study):
    with study.backend.reading() as state:
        return [event_sentence(event, state) for event in study.events()]


def test_every_kind_of_event_has_a_wording():
    assert set(WORDINGS) == set(KINDS)


@pytest.mark.parametrize("family", MODELS)
def test_every_event_of_a_random_study_has_a_sentence(family):
    study = a_study(family, 3)
    for event in study.events:
        sentence = event_sentence(event, study.state)
        assert sentence
        assert "{" not in sentence
        assert "None" not in sentence
        assert event_data(event, study.state)["sentence"] == sentence


def test_sentences(study):
    study.add_arms([f"new {i}" for i in range(22)], "a second {synthesis}")
    tickets = study.ask(2, client="anna", plate=Plate(2, 4, {"DMSO": ["A1"]}))
    id = [ticket.id for ticket in tickets]
    study.tell([(id[0], 0.1 + 0.2)], client="robot")
    study.correct(id[0], 5, "a slip")
    study.fail(tickets=[id[1]], reason="dropped it")
    study.set_budget(90, "more money")
    study.add_measurement("b", -2.0, "notebook {7}")
    study.drop_arm("c", "broken")
    study.note("{braces} stay", arm="b")
    said = sentences(study)
    assert said[0] == "The study began with 3 arms"
    assert said[1] == (
        f"New arms: {', '.join(f'new {i}' for i in range(20))} and 2 more; a second {{synthesis}}"
    )
    assert said[2] == "Plate 1 was laid out: 2 by 4 wells"
    assert said[3] == f"{id[0]} was asked for in well {tickets[0].well} of plate 1"
    assert said[5:] == [
        f"{id[0]} gave 0.3",
        f"{id[0]} was corrected to 5; a slip",
        f"{id[1]} failed; dropped it",
        "The budget is 90 measurements from now on; more money",
        f"{study.design.ticket_id(3)} gave -2, which nobody had requested: notebook {{7}}",
        "The arm was dropped, withdrawn before its first value; broken",
        "{braces} stay",
    ]


def test_a_correction_names_the_value_before_if_it_is_known(study):
    [ticket] = study.ask(1)
    study.tell([(ticket.id, 3.0)])
    study.correct(ticket.id, 5, "a slip")
    with study.backend.reading() as state:
        event = study.events()[-1]
        known = event_sentence(event, state, before=3.0)
        assert known == f"{ticket.id} was corrected from 3 to 5; a slip"
        assert event_arm(event, state) == ticket.arm


def test_a_censored_time_is_more_than_its_limit(tmp_path):
    study = create_study(
        tmp_path / "t.db",
        "t",
        arms=["a", "b"],
        objective=Additive(1.0),
        delta=0.1,
        model=Exponential(),
        censor_at=30.0,
    )
    [ticket] = study.ask(1)
    study.tell([(ticket.id, ">30")])
    assert sentences(study)[-1] == f"{ticket.id} gave more than 30"


def test_texts_of_users_stay_apart_from_the_sentence(study):
    study.set_budget(90, "<b>{0}</b>")
    with study.backend.reading() as state:
        wording = event_wording(study.events()[-1], state)
    assert wording.template == "The budget is 90 measurements from now on; {why}"
    assert wording.texts == {"why": "<b>{0}</b>"}
    assert "from now on; <bdi>&lt;b&gt;{0}&lt;/b&gt;</bdi>" in report_html(study)
