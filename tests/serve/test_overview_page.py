"""The answer that the overview of a study shows: everything of one moment, once."""

import json

import pytest

from allgood import Additive, Gaussian, Plate, create_study
from allgood.serve.overview_page import COLUMNS, SAME

from ..support.serving import Client


@pytest.fixture
def study(tmp_path):
    return create_study(
        tmp_path / "own.db",
        "own",
        arms=["ash", "birch", "cedar"],
        objective=Additive(0.5),
        delta=0.05,
        model=Gaussian(1.0),
        budget=100,
    )


@pytest.fixture
def overview(study, tmp_path):
    with Client(tmp_path / "own.db") as client:
        yield lambda: client.get("/v1/studies/1/overview").json


def test_it_says_what_the_status_says(study, overview):
    study.tell([(ticket, len(ticket.arm)) for ticket in study.ask(30)])
    status, shown = json.loads(json.dumps(study.status().to_dict())), overview()
    own = {"suspects", "waiting", "checks", "notes", "origin", "arms"}
    for name in set(SAME) - own:
        assert shown[name] == status[name], name
    for name in COLUMNS:
        assert shown["arms"][name] == [arm[name] for arm in status["arms"]], name
    assert shown["best"] == max(arm["mean"] for arm in status["arms"])
    assert list(shown["arms"]) == list(COLUMNS)


def test_before_the_first_value(overview):
    shown = overview()
    assert (shown["best"], shown["threshold"], shown["tickets"]) == (None, None, [])
    assert shown["arms"]["guess"] == [None] * 3


def test_open_tickets_by_client_and_batch(study, overview):
    study.ask(2, client="anna", lease=60.0)
    study.ask(client="robot", plate=Plate(2, 3, {"DMSO": 1}))
    robot, anna = overview()["tickets"]
    assert (robot["client"], robot["n"], robot["on_plate"], robot["lease_until"]) == (
        "robot",
        5,
        True,
        None,
    )
    assert (anna["client"], anna["n"], anna["on_plate"], anna["num_arms"]) == ("anna", 2, False, 2)
    assert anna["lease_until"] == pytest.approx(anna["time"] + 60.0, abs=1.0)


def test_many_groups_notes_and_changes_are_cut(study, overview):
    for i in range(14):
        study.ask(1, client=f"client {i}")
        study.note(f"note {i}", client="anna")
        study.set_budget(200 + i, reason="more money")
    shown = overview()
    assert (len(shown["tickets"]), shown["num_groups"]) == (12, 14)
    assert [note["text"] for note in shown["notes"]] == [f"note {i}" for i in range(13, 8, -1)]
    assert [event["kind"] for event in shown["latest"]] == ["budget_set"] * 6
    assert "213" in shown["latest"][0]["sentence"]
    assert shown["events"] == study.status().events


def test_it_is_made_once_per_event(study, overview, monkeypatch):
    made = []

    def latest_events(study, state):
        made.append(state.seq)
        return []

    monkeypatch.setattr("allgood.serve.overview_page.latest_events", latest_events)
    for _ in range(3):
        overview()
    study.note("something new")
    overview()
    assert len(made) == 2
