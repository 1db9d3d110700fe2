"""The history of a study has one entry for each request, the newest first."""

import pytest

from allgood import Additive, Bernoulli, Plate, create_study
from allgood.study.receipts import SuspectWarning
from allgood.study.request_history import PART, history_page

from ..support.serving import Client

ARMS = ["ash", "birch", "elm"]


@pytest.fixture
def study(tmp_path):
    """A study with a plate, a suspect value, a correction and a note."""
    study = create_study(tmp_path / "own.db", "own", arms=ARMS, objective=Additive(1.0), delta=0.05)
    tickets = study.ask(18, client="robot", plate=Plate(4, 6, {"DMSO": 4}))
    wells = [row for row in study.sheet(tickets) if not row.ticket]
    rows = [{"ticket": ticket.id, "value": 0.1 * i} for i, ticket in enumerate(tickets)]
    rows += [{"ticket": "", "plate": row.plate, "well": row.well, "value": 1.0} for row in wells]
    study.tell(rows, client="robot")
    more = study.ask(2)
    with pytest.warns(SuspectWarning):
        study.tell([(more[0], 4000.0), (more[1], 0.5)])
    study.correct(tickets[0], 0.2, "typed wrongly")
    study.note("The lamp was changed.", arm="elm", client="anna")
    return study


def entries_of(study, limit=100, **chosen):
    with study.backend.reading() as state:
        return history_page(study.backend.lines, state, limit, **chosen)


def test_one_entry_for_each_request(study):
    entries, more = entries_of(study)
    assert not more
    note, correction, singles, asked, plate, laid_out, begun = entries
    assert (note.sentence, note.client, note.arm) == ("The lamp was changed.", "anna", "elm")
    assert "typed wrongly" in correction.sentence
    assert singles.sentence == "Batch 2: 2 values told (1 suspect now)"
    assert asked.sentence == "Batch 2: 2 tickets asked for"
    assert plate.sentence == "Plate 1: 18 values told, 4 controls told"
    assert (plate.batch, plate.events, plate.client, plate.arm) == (1, 22, "robot", None)
    assert laid_out.sentence == (
        "Plate 1 was laid out: 4 by 6 wells; Plate 1: 18 tickets asked for"
    )
    assert (begun.kind, begun.first) == ("created", 1)
    numbers = [number for entry in entries[::-1] for number in (entry.first, entry.last)]
    assert numbers == sorted(numbers)
    assert sum(entry.events for entry in entries) == study.status().events


def test_filters_and_pages(study):
    of_elm, _ = entries_of(study, arm="elm")
    assert {entry.arm for entry in of_elm} == {"elm"}
    assert "values told" in of_elm[-2].sentence
    assert [entry.batch for entry in entries_of(study, batch=1)[0]] == [1, 1, 1]
    assert [entry.kind for entry in entries_of(study, kind="note")[0]] == ["note"]
    assert entries_of(study, arm="yew") == ([], False)
    whole, _ = entries_of(study)
    pages, before, more = [], None, True
    while more:
        entries, more = entries_of(study, limit=2, before=before)
        pages += entries
        before = entries[-1].first
    assert pages == whole


def test_a_request_is_whole_however_many_events_it_has(tmp_path):
    path = tmp_path / "own.db"
    arms = [f"arm {i}" for i in range(2 * PART)]
    study = create_study(
        path, "own", arms=arms, objective=Additive(0.1), delta=0.05, model=Bernoulli()
    )
    for day in ("Monday", "Tuesday"):
        rows = [{"arm": arm, "n": 10, "sum": 5} for arm in arms]
        study.tell_counts(rows, source="shop", period=day)
    entries, more = entries_of(study)
    assert [entry.events for entry in entries] == [2 * PART, 2 * PART, 1]
    assert entries[0].sentence == "2,000 rows of counts told: shop, Tuesday"
    assert not more


def test_history_over_http(study, tmp_path):
    with Client(tmp_path / "own.db") as client:
        answer = client.get("/v1/studies/1/history", query={"limit": 3}).json
        kinds = client.get("/v1/studies/1/history?kind=note&kind=corrected").json["entries"]
    entries, _ = entries_of(study, limit=3)
    assert answer["entries"] == [entry.to_dict() for entry in entries]
    assert answer["more"] is True
    assert answer["events"] == study.status().events
    assert [entry["kind"] for entry in kinds] == ["note", "corrected"]
