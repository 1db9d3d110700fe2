"""The history by request: one entry for a told plate, in pages, the newest first."""

import json
from itertools import pairwise

import pytest

from allgood import Additive, Plate, create_study
from allgood.study import entries

from ..support.command_line import allgood


@pytest.fixture
def study(tmp_path):
    options = {"arms": list("abcd"), "objective": Additive(0.5), "delta": 0.1}
    study = create_study(tmp_path / "s.db", "s", **options)
    study.quiet = True
    plate = Plate(3, 4, {"DMSO": ["A1", "C4"]})
    tickets = study.ask(plate=plate, client="ann")
    values = [{"ticket": t.id, "value": 0.1 * i} for i, t in enumerate(tickets[:8])]
    values[-1]["value"] = 1e6
    values += [
        {"ticket": "", "arm": "DMSO", "plate": 1, "well": well, "value": 3.0}
        for well in ("A1", "C4")
    ]
    study.tell(values, client="robot")
    study.fail(batch=1, reason="dropped it")
    rows = [
        {"arm": arm, "n": 10, "sum": 1.0, "period": day} for arm in "ab" for day in ("Mon", "Tue")
    ]
    study.tell_counts(rows, source="web")
    study.drop_arm("d", "used up")
    return study


def test_every_request_is_one_entry(study):
    page = study.history()
    assert page.before is None
    assert [(entry.kind, entry.sentence) for entry in page.entries] == [
        ("other", "d: The arm was dropped; used up"),
        ("told_counts", "Told counts: 40 measurements of 2 arms; web, Mon, Tue"),
        ("failed", "2 tickets of plate 1 failed; dropped it"),
        ("told", "Told plate 1: 8 values, 1 of them suspect now, 2 controls"),
        ("asked", "Asked for plate 1: 10 measurements of 4 arms"),
        ("other", "The study began with 4 arms"),
    ]
    counts, told, asked = page.entries[1], page.entries[3], page.entries[4]
    assert (counts.source, counts.periods, counts.arms) == ("web", ("Mon", "Tue"), ("a", "b"))
    assert (told.client, told.events) == ("robot", {"measurement": 8, "control": 2})
    assert (asked.client, asked.batches) == ("ann", (1,))
    assert page.entries[2].reason == "dropped it"


def test_no_event_is_left_out_or_shown_twice(study, monkeypatch):
    """Whatever the pages, and however events are read: also in the middle of a request."""
    whole = study.history(limit=1000).entries
    numbers = [(entry.first, entry.last) for entry in whole]
    assert numbers[-1][0] == 1
    assert numbers[0][1] == study.status().events
    assert all(older[1] + 1 == newer[0] for newer, older in pairwise(numbers))
    assert all(sum(e.events.values()) == e.last - e.first + 1 for e in whole)
    for part in (1, 3, 7):
        monkeypatch.setattr(entries, "PART", part)
        pages, before = [], None
        while True:
            page = study.history(before, limit=2)
            pages += page.entries
            before = page.before
            if before is None:
                break
        assert tuple(pages) == whole


def test_single_events_have_their_own_sentences(study):
    study.note("a remark", arm="a")
    [ticket] = study.ask(1)
    study.tell([(ticket, 0.25)])
    told, asked, note = study.history(limit=3).entries
    assert note.sentence == "a: a remark"
    assert asked.sentence == f"{ticket.arm}: {ticket.id} was asked for"
    assert told.sentence == f"{ticket.arm}: {ticket.id} gave 0.25"
    with pytest.raises(ValueError, match="limit must be"):
        study.history(limit=0)
    with pytest.raises(ValueError, match="before must be"):
        study.history(0)


def test_the_command(study, tmp_path):
    url = tmp_path / "s.db"
    done = allgood("study", "history", url, "--json")
    assert json.loads(done.stdout) == study.history(limit=20).to_dict()
    done = allgood("study", "history", url, "--limit", 4)
    lines = done.stdout.splitlines()
    assert lines[3].endswith("(robot)  Told plate 1: 8 values, 1 of them suspect now, 2 controls")
    assert lines[4].endswith(f"--before {study.history(limit=4).before} --limit 4")
