"""Plates that are asked for: at most so many wells of an arm, and layouts before tickets exist."""

import json
from collections import Counter

import numpy as np
import pytest

from allgood import Additive, Gaussian, Plate, create_study, load_study
from allgood.study.commands.ask import PlannedBatch
from allgood.study.engine import Engine
from allgood.study.replay import replay

from ..support.command_line import allgood
from ..support.serving import Client

ARMS = [f"arm {a:02}" for a in range(12)]
MEANS = [3.0, 2.5, *[0.0] * 10]  # the second is hard to tell, and would get most wells
PLATE = Plate(4, 12, "DMSO column 1")


def begin(url=":memory:", **options):
    settings = {"objective": Additive(1.0), "delta": 0.05, "model": Gaussian(1.0)} | options
    return create_study(url, "s", arms=ARMS, **settings)


def measure(study, plate, plates, seed=0):
    """Tell so many plates; return how often each arm was on each."""
    rng = np.random.default_rng(seed)
    copies = []
    for _ in range(plates):
        tickets = study.ask(plate=plate)
        if not tickets:
            break
        copies.append(Counter(ticket.arm for ticket in tickets))
        study.tell([(t, MEANS[ARMS.index(t.arm)] + rng.standard_normal()) for t in tickets])
    return copies


def test_no_arm_has_more_wells_than_allowed():
    study = begin()
    copies = measure(study, Plate(4, 12, "DMSO column 1", max_per_arm=6), 6)
    assert max(max(plate.values()) for plate in copies) == 6
    layouts = study.backend.known_state.plates
    assert {layout["max_per_arm"] for layout in layouts.values()} == {6}


def test_without_a_limit_one_arm_takes_the_plate():
    """Control of the test above: the limit matters in this study."""
    copies = measure(begin(), Plate(4, 12, "DMSO column 1", max_per_arm=44), 8)
    assert max(max(plate.values()) for plate in copies) > 20


def test_the_default_limit_is_stored_and_obeyed():
    study = begin()
    copies = measure(study, PLATE, 6)
    assert max(max(plate.values()) for plate in copies) == 11  # a quarter of 44
    assert study.backend.known_state.plates[1]["max_per_arm"] == 11


def test_wells_stay_empty_if_no_other_arm_is_worth_measuring():
    study = begin()
    copies = measure(study, Plate(4, 12, max_per_arm=5), 40)
    assert study.status().outcome == "certified"
    assert min(sum(plate.values()) for plate in copies) < 48
    assert all(sum(plate.values()) > 0 for plate in copies)


def test_limits_are_replayed_and_a_broken_limit_is_found():
    study = begin()
    measure(study, Plate(4, 12, max_per_arm=6), 5)
    events = study.events()
    result = replay(events)
    assert result.ok
    assert result.tickets == sum(event.kind == "ticket" for event in events)
    forged = [
        event._replace(data={**event.data, "max_per_arm": 7}) if event.kind == "plate" else event
        for event in events
    ]
    assert not replay(forged).ok


def test_choices_before_count_towards_the_limit():
    engine = Engine(begin().design.strategy, Gaussian(1.0), 3)
    assert engine.choose(5, [], 2) == [(0, False), (1, False), (2, False), (0, False), (1, False)]
    assert engine.choose(5, [], 1, [(1, False)]) == [(0, False), (2, False)]
    assert engine.choose(5, [], 1, [(0, False), (1, False), (2, False)]) == []


def test_an_open_plate_comes_back_without_naming_its_limit():
    study = begin()
    tickets = study.ask(plate=Plate(2, 4, max_per_arm=1), client="lab")
    assert study.ask(plate=Plate(2, 4), client="lab") == tickets
    with pytest.raises(ValueError, match=r"at most 1 wells of an arm: got .*at most 2 wells"):
        study.ask(plate=Plate(2, 4, max_per_arm=2), client="lab")


def test_a_stored_plate_needs_its_limit():
    with pytest.raises(KeyError):
        Plate.from_layout({"rows": 2, "columns": 2, "controls": {}, "edge": True})


# ---- previews


@pytest.mark.parametrize("plate", [None, PLATE])
def test_a_preview_shows_what_ask_then_returns(plate):
    study = begin()
    measure(study, PLATE, 2)
    before = list(study.export())
    planned = study.preview_ask(5 if plate is None else None, plate=plate)
    assert list(study.export()) == before
    tickets = study.ask(5 if plate is None else None, plate=plate)
    arms = [(part.arm, part.well) for part in planned.measurements if part.arm]
    assert sorted(arms, key=str) == sorted(((t.arm, t.well) for t in tickets), key=str)
    assert planned.copies == Counter(ticket.arm for ticket in tickets)
    assert planned.batch == tickets[0].batch
    assert not planned.again
    if plate is not None:
        controls = {part.well: part.control for part in planned.measurements if part.control}
        assert controls == study.backend.known_state.plates[planned.batch]["placed"]
        assert (planned.rows, planned.columns, planned.max_per_arm) == (4, 12, 11)


def test_a_preview_says_what_was_asked_for_before_and_what_is_over():
    study = begin()
    study.ask(plate=PLATE, client="lab")
    planned = study.preview_ask(plate=PLATE, client="lab")
    assert planned.again
    assert planned.batch == 1
    assert planned.max_per_arm == 11
    with pytest.raises(ValueError, match="plate must be that of batch 1"):
        study.preview_ask(plate=Plate(8, 12), client="lab")
    study.fail(batch=1, reason="spilt")
    measure(study, Plate(4, 12), 60)
    over = study.preview_ask(plate=PLATE)
    assert study.status().outcome == "certified"
    assert over.measurements == ()
    assert over.copies == {}
    assert not over.again


def test_a_preview_over_http_is_that_of_python(tmp_path):
    with begin(tmp_path / "s.db") as study:
        shown = study.preview_ask(plate=PLATE)
    with Client(tmp_path / "s.db") as client:
        body = {"plate": {"rows": 4, "columns": 12, "controls": "DMSO column 1"}}
        answer = client.post("/v1/studies/1/ask/preview", body)
        assert answer.status == 200, answer
        assert answer.json == shown.to_dict()
        assert PlannedBatch.from_dict(answer.json) == shown
        body["plate"]["controls"] = "DMSO column 13"
        refused = client.post("/v1/studies/1/ask", body)
        assert refused.status == 422
        assert "must name a column from 1 to 12" in refused.json["detail"]
        body["plate"] |= {"controls": {"DMSO": "A1:B2"}, "max_per_arm": 4}
        assert len(client.post("/v1/studies/1/ask", body).json["tickets"]) == 44
    with load_study(tmp_path / "s.db") as study:
        assert study.backend.known_state.plates[1]["max_per_arm"] == 4


def test_a_preview_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with begin("s.db") as study:
        shown = study.preview_ask(plate=PLATE)
    options = ["s.db", "--plate", "4x12", "--control", "DMSO=column 1", "--preview"]
    done = allgood("study", "ask", *options)
    assert done.returncode == 0, done.stderr
    assert "44 measurements of 12 arms on a plate of 4x12; an arm may have 11 wells." in done.stdout
    assert "(control) DMSO             4  A1 B1 C1 D1" in done.stdout
    as_json = json.loads(allgood("study", "ask", *options, "--json").stdout)
    assert as_json == shown.to_dict()
    with load_study("s.db") as study:
        assert study.status().events == 1
