"""Certificates of real studies, logs replayed, and files of every version."""

import copy
import functools
import json
import shutil
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest

from allgood import Additive, Gaussian, Plate, StudyError, create_study, import_study, load_study
from allgood.certificates.verify import verify
from allgood.certificates.write import sealed
from allgood.study.events import canonical, digest, line_digest
from allgood.study.replay import replay

from ..study.test_study import INSTANCES, MEANS, NAMES, make, reward_table
from ..support.chains import relinked
from .test_verify import compute_evidence_once

GOLDEN = Path(__file__).parents[1] / "golden"


def campaign(path, name, seed=5, size=24):
    """A study of one of the instances, told out of order."""
    means, objective, model, n = INSTANCES[name]
    table = reward_table(means, model, n, seed)
    study = create_study(
        path,
        name,
        arms=[f"arm {i}" for i in range(len(means))],
        objective=objective,
        delta=0.1,
        model=model,
    )
    counts, rng = np.zeros(len(means), int), np.random.default_rng(seed)
    while tickets := study.ask(size):
        rows = []
        for i in rng.permutation(len(tickets)):
            arm = int(tickets[i].arm[4:])
            rows.append((tickets[i].id, table[arm, counts[arm]]))
            counts[arm] += 1
        study.tell(rows)
    return study


@functools.cache
def certified(name):
    """Certificate, lines and events of such a study.  Change copies only."""
    with tempfile.TemporaryDirectory() as folder, campaign(Path(folder) / "x.db", name) as study:
        certificate = json.loads(json.dumps(study.certificate(), allow_nan=False))
        return certificate, list(study.export()), study.events()


@pytest.mark.parametrize("name", [name for name in INSTANCES if name != "one"])
def test_certificates_of_studies_hold(name):
    certificate, lines, events = certified(name)
    assert certificate["outcome"] == "certified"
    report = verify(certificate, lines)
    assert report.problems == ()
    assert report.claims == len(INSTANCES[name][0])
    assert report.log_checked
    again = replay(events)
    assert again.ok
    assert again.tickets == len([event for event in events if event.kind == "ticket"])
    assert certificate["log"]["sha256"] == digest(event.line() for event in events)


def test_certificates_of_unfinished_studies_hold(tmp_path):
    with make(tmp_path, budget=1000) as study:
        assert verify(study.certificate(), list(study.export())).ok
        asked = study.ask(3)
        first = asked[0].id
        study.tell([(t.id, 0.0) for t in asked])  # not every arm has a value
        study.drop_arm("fir", "never came")
        study.add_measurement("elm", 3.0, "before")
        assert verify(study.certificate(), list(study.export())).problems == ()
        rng = np.random.default_rng(0)
        study.add_measurement("ash", 1.0, "before")
        while (tickets := study.ask(20)) and not study.certificate()["claims"]:
            assert study.status().measurements < 900
            study.tell(
                [(t.id, MEANS[NAMES.index(t.arm)] + rng.standard_normal()) for t in tickets[:-1]]
            )
            study.fail(tickets[-1], "dropped")
        certificate = study.certificate()
        assert certificate["claims"]
        assert certificate["question"]["withdrawn"] == ["fir"]
        assert verify(certificate, list(study.export())).problems == ()
        study.correct(first, 0.25, "typo")
        assert verify(study.certificate(), list(study.export())).problems == ()
        # that of the log before the correction
        assert not verify(certificate, list(study.export())).ok


def told_more(tmp_path):
    """A certificate, and the log of its study when ten more values were told."""
    with make(tmp_path, budget=60) as study:
        rng = np.random.default_rng(0)
        while tickets := study.ask(20):
            study.tell([(t.id, MEANS[NAMES.index(t.arm)] + rng.standard_normal()) for t in tickets])
        certificate = study.certificate()
        study.set_budget(70, "more money")
        study.tell([(t.id, 0.5) for t in study.ask(10)])
        return certificate, [line.rstrip("\n") for line in study.export()]


def test_a_certificate_of_an_earlier_moment_agrees_with_the_log_up_to_there(tmp_path):
    certificate, lines = told_more(tmp_path)
    n = certificate["log"]["events"]
    assert n < len(lines)
    report = verify(certificate, lines)
    assert (report.problems, report.log_checked) == ((), True)
    assert report.remark == (
        f"The certificate is of an earlier moment: event {n} of {len(lines)}. "
        "Up to there everything agrees."
    )
    assert verify(certificate, lines[:n]).remark == ""


def test_an_earlier_moment_hides_nothing(tmp_path):
    """A change of the log before the moment, of the certificate, or of a value later is found."""
    certificate, lines = told_more(tmp_path)
    n = certificate["log"]["events"]
    place = next(i for i, line in enumerate(lines) if '"measurement"' in line)
    event = json.loads(lines[place])
    other = json.dumps(event | {"value": event["value"] + 1.0}, separators=(",", ":"))
    report = verify(certificate, [*lines[:place], other, *lines[place + 1 :]])
    assert any("sha256 is not that of the lines" in problem for problem in report.problems)
    assert report.remark == ""
    forged = json.loads(json.dumps(certificate))
    forged["arms"][0]["sum"] += 1.0
    report = verify(forged, lines)
    assert any("the sum is" in problem for problem in report.problems)
    assert report.remark.endswith(f"event {n} of {len(lines)}.")  # and not that all agrees
    shorter = json.loads(json.dumps(certificate))
    shorter["log"]["events"] -= 1
    assert not verify(shorter, lines).ok
    ticket = event["ticket"]
    late = {"kind": "corrected", "seq": len(lines) + 1, "ticket": ticket, "time": 0.0}
    late |= {"value": 0.0, "previous": line_digest(lines[-1].rstrip("\n"))}
    (problem,) = verify(certificate, [*lines, json.dumps(late)]).problems
    assert f"event {len(lines) + 1}, after the certificate, changed a value" in problem
    assert not verify(certificate, [*lines, "{}"]).ok


def test_a_certificate_of_another_study_is_said_in_one_sentence(tmp_path):
    with make(tmp_path) as study:
        lines = list(study.export())
        (problem,) = verify(certified("bernoulli")[0], lines).problems
        assert problem == (
            "this certificate is of study 'bernoulli', not of 'trees', whose log was given."
        )
    again = tmp_path / "again"
    again.mkdir()
    with make(again) as twin:  # of the same name
        (problem,) = verify(twin.certificate(), lines).problems
        assert f"'trees' with uid {twin.design.uid}, not of the 'trees' with uid" in problem


def leaves(part, path=()):
    items = (
        part.items()
        if isinstance(part, dict)
        else enumerate(part)
        if isinstance(part, list)
        else ()
    )
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, key), value


def test_any_number_flipped_is_found_and_named(monkeypatch):
    """Every number, each in three ways.

    Half as much again, one unit in the last place, and the sign.
    """
    compute_evidence_once(monkeypatch)
    certificate, lines, _ = certified("multiplicative")
    places = list(leaves(certificate))
    assert len(places) > 50
    for path, value in places:
        for other in (
            value * 1.5 + 1,
            np.nextafter(value, np.inf).item() if isinstance(value, float) else value + 1,
            -value - 1,
        ):
            wrong = copy.deepcopy(certificate)
            part = wrong
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = other
            report = verify(wrong)
            assert not report.ok, path
            if path[0] == "claims":
                names = (f"claim {path[1] + 1},", f"claims: number {path[1] + 1}:")
                assert any(problem.startswith(names) for problem in report.problems), path
            elif path[0] == "arms":
                assert any(problem.startswith("arms") for problem in report.problems), path
    # who seals it again is found out by the log
    for path, value in places:
        if path[0] in ("claims", "arms") and path[-1] not in ("evidence", "need"):
            wrong = copy.deepcopy(certificate)
            part = wrong
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = value * 1.5 + 1
            entry = wrong[path[0]][path[1]]
            entry |= sealed({key: x for key, x in entry.items() if key != "sha256"})
            wrong |= sealed({key: x for key, x in wrong.items() if key != "sha256"})
            assert not verify(wrong, lines).ok, path


def test_a_changed_log_is_found():
    certificate, lines, _ = certified("two")
    for number in range(1, len(lines), 17):
        event = json.loads(lines[number])
        if "value" in event:
            event["value"] += 0.5
            wrong = [*lines[:number], canonical(event) + "\n", *lines[number + 1 :]]
            assert not verify(certificate, wrong).ok
    assert not verify(certificate, lines[:-1]).ok


def test_replay_finds_what_was_not_chosen(tmp_path):
    with make(tmp_path) as study:
        rng = np.random.default_rng(0)
        for _ in range(2):
            study.tell(
                [(t.id, rng.standard_normal()) for t in study.ask(plate=Plate(3, 5, {"blank": 1}))]
            )
        lines = list(study.export())
        assert replay(study.events()).ok
    changed = []
    for number, line in enumerate(lines):
        event = json.loads(line)
        if event["kind"] == "ticket" and event["batch"] == 2:
            for key, value in (
                ("arm", (event["arm"] + 1) % 5),
                ("pooled", not event["pooled"]),
                ("well", "A1"),
            ):
                if event[key] != value:
                    changed.append(
                        [
                            *lines[:number],
                            canonical(event | {key: value}) + "\n",
                            *lines[number + 1 :],
                        ]
                    )
            break
    assert len(changed) >= 2
    for i, other in enumerate(changed):
        found = replay(import_study(tmp_path / "copies.db", relinked(other), f"copy {i}").events())
        assert not found.ok
        assert "event" in found.problems[0]


def make_golden(path):
    """Make a study with every kind of event, as in tests/golden."""
    time = iter(range(1_700_000_000, 1_800_000_000, 60))
    study = create_study(
        path,
        "golden",
        arms=["a", "b", "\u03b3", "=d"],
        objective=Additive(1.0),
        delta=0.1,
        model=Gaussian([1.0, 1.0, 1.0, 0.5]),
        seed=3,
        clock=lambda: float(next(time)),
    )
    rng = np.random.default_rng(0)
    means = dict(zip(study.arms, [2.0, 1.5, 0.2, -1.0], strict=True))
    plate = Plate(3, 4, {"blank": 1, "control": ["A1"]})
    first = study.ask(plate=plate, client="lab", lease=30)
    table = {
        "ticket": ["", *(t.id for t in first[:-2])],
        "value": [50.0, *(means[t.arm] + rng.standard_normal() for t in first[:-2])],
        "well": ["A1", *(t.well for t in first[:-2])],
    }
    study.tell(table, client="lab")
    study.correct("1:A1", 51.0, "misread")
    study.ask(1, client="other", lease=1e6)
    study.fail(first[-2].id, "spilt")
    study.add_measurement("b", 1.25, "notebook, page 3")
    study.add_measurement("b", 125.0, "notebook, page 4")  # suspect, and stays so
    study.confirm(study.add_measurement("a", -6.5, "notebook, page 5").ticket, "seen in the log")
    study.correct(first[0].id, 0.1 + 0.2, "decimal point")
    while tickets := study.ask(16):
        study.tell([(t.id, means[t.arm] + rng.standard_normal()) for t in tickets])
        if "=d" in study.status().bad and study.status().outcome == "running":
            study.drop_arm("=d", "used up")
    study.close()
    return study


def test_a_stored_file_says_what_it_said(tmp_path):
    """Its choices are made again."""
    path = tmp_path / "golden.db"
    shutil.copy(GOLDEN / "study-1.db", path)
    study = load_study(path)
    wanted = json.loads((GOLDEN / "study-1.json").read_text())
    assert replay(study.events()).problems == ()
    found = study.certificate()
    assert verify(wanted, list(study.export())).problems == ()
    parts = (
        "study",
        "question",
        "model",
        "strategy",
        "outcome",
        "log",
        "quality",
        "values",
        "arms",
    )
    for key in parts:
        assert found[key] == wanted[key]
    assert [(c["arm"], c["label"], c["after"]) for c in found["claims"]] == [
        (c["arm"], c["label"], c["after"]) for c in wanted["claims"]
    ]


def set_version(path, version):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE allgood_schema SET version = ?", (version,))
    connection.close()


@pytest.mark.parametrize("version", [0, 99])
def test_a_file_of_another_schema_is_refused(tmp_path, version):
    """When it is opened, and when it changes while it is open."""
    sentence = f"schema version {version}, and this version of allgood knows version 1: use the"
    with make(tmp_path) as study:
        set_version(tmp_path / "studies.db", version)
        with pytest.raises(StudyError, match=sentence):
            study.ask()
        with pytest.raises(StudyError, match=sentence):
            study.status()
    with pytest.raises(StudyError, match=sentence):
        load_study(tmp_path / "studies.db")


def test_studies_of_other_rules_are_refused(tmp_path):
    with make(tmp_path) as study:
        lines = list(study.export())
    with pytest.raises(
        ValueError,
        match=r"got format 1 and rules 5\. Go on with the version of allgood that made it",
    ):
        import_study(tmp_path / "other.db", [lines[0].replace('"rules":1', '"rules":5')])
