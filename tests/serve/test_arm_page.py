"""The answer that the page of an arm shows: its values, its average, its history and its size."""

import json
from statistics import fmean

import pytest

from allgood import Additive, Bernoulli, Gaussian, create_study
from allgood.study.receipts import SuspectWarning

from ..support.serving import Client

NAMES = ["ash", "a/b", "..", "a%2Fb?c=d#e", "\N{TEST TUBE} oak"]


@pytest.fixture
def study(tmp_path):
    return create_study(
        tmp_path / "own.db",
        "own",
        arms=NAMES,
        objective=Additive(0.5),
        delta=0.05,
        model=Gaussian(1.0),
    )


@pytest.fixture
def client(study, tmp_path):
    with Client(tmp_path / "own.db") as client:
        yield client


def arm_of(client, name="ash", status=200, **query):
    answer = client.get("/v1/studies/1/arms", query={"name": name, **query})
    assert answer.status == status
    return answer.json


def tell_rounds(study, rounds):
    """Tell values of five tickets in each round, each 0.01 more than the last."""
    for i in range(rounds):
        study.tell([(ticket, 0.01 * i) for ticket in study.ask(5)])


def values_of(study, name):
    columns = study.table().columns
    return [x for x, arm in zip(columns["value"], columns["arm"], strict=True) if arm == name]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found(study, client, name):
    tell_rounds(study, 3)
    answer = arm_of(client, name)
    row = next(arm for arm in study.status().arms if arm.arm == name)
    assert answer["arm"] == json.loads(json.dumps(row.to_dict()))
    assert [value["value"] for value in answer["values"]] == values_of(study, name)


def test_the_name_in_the_path(study, client):
    assert client.get("/v1/studies/1/arms/a/b").json == arm_of(client, "a/b")


def test_an_arm_that_is_not_there(study, client):
    problem = arm_of(client, "yew", status=404)
    assert problem["detail"] == "arm must be the name of one of this study: got 'yew'."


def test_only_the_last_values_and_all_suspect_ones(study, client):
    tell_rounds(study, 10)
    ticket = next(ticket for ticket in study.ask(20) if ticket.arm == "ash")
    with pytest.warns(SuspectWarning):
        study.tell([(ticket, 4000.0)])
    tell_rounds(study, 10)
    values = values_of(study, "ash")
    answer = arm_of(client, values=4)
    assert answer["num_values"] == len(values) > 5
    suspect, *last = answer["values"]
    assert (suspect["value"], suspect["state"]) == (4000.0, "suspect")
    assert "4000" in suspect["message"]
    assert [value["value"] for value in last] == values[-4:]
    assert [value["place"] for value in last] == list(range(len(values) - 3, len(values) + 1))
    average = fmean(value for value in values if value < 4000.0)
    assert last[-1]["average"] == pytest.approx(average)
    assert answer["arm"]["mean"] == pytest.approx(average)
    assert answer["statements"][-1]["tone"] == "doubtful"


def test_the_average_of_counts_is_that_of_all_their_measurements(tmp_path):
    study = create_study(
        tmp_path / "own.db",
        "own",
        arms=["red", "blue"],
        objective=Additive(0.1),
        delta=0.05,
        model=Bernoulli(),
    )
    for day, (n, total) in enumerate([(100, 10), (300, 90)]):
        rows = [{"arm": arm, "n": n, "sum": total} for arm in ("red", "blue")]
        study.tell_counts(rows, source="shop", period=f"day {day}")
    with Client(tmp_path / "own.db") as client:
        values = arm_of(client, "red")["values"]
    assert [value["average"] for value in values] == [0.1, 0.25]
    assert [value["period"] for value in values] == ["day 0", "day 1"]


def test_the_history_of_an_arm_is_told_in_sentences(study, client):
    tickets = study.ask(5)
    own = next(ticket for ticket in tickets if ticket.arm == "ash")
    study.tell([(ticket, 1.0) for ticket in tickets])
    study.correct(own, 0.5, "typed wrongly")
    study.note("Bark came off.", arm="ash", client="anna")
    study.note("Of another arm.", arm="a/b")
    study.note("Of the study.")
    history = arm_of(client)["history"]
    assert [event["kind"] for event in history] == ["note", "corrected"]
    assert history[0]["sentence"] == "Bark came off."
    assert history[0]["client"] == "anna"
    assert "typed wrongly" in history[1]["sentence"]


def test_the_answer_does_not_grow_with_the_arms(tmp_path):
    sizes = []
    for number in (10, 1000):
        path = tmp_path / f"{number}.db"
        arms = ["ash", *(f"arm {i:04d}" for i in range(1, number))]
        study = create_study(path, "own", arms=arms, objective=Additive(0.5), delta=0.05)
        rows = [{"arm": arm, "n": 2, "sum": 1.0} for arm in arms]
        study.tell_counts(rows, source="table", period="1")
        with Client(path) as client:
            sizes.append(len(client.get("/v1/studies/1/arms?name=ash").body))
    assert abs(sizes[0] - sizes[1]) < 200
