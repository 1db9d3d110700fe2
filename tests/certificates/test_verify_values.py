"""The verifier and the engine agree which values count, and whatever is changed is found.

The verifier has its own implementation of ``study/quality.py``.  Certificates and logs are sealed
again after each change, so that only their content can give it away.
"""

import copy
import functools
import hashlib
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from allgood import Additive, Exponential, Gaussian, Multiplicative, Plate, create_study
from allgood.certificates import verify as verifier
from allgood.certificates.verify import verify
from allgood.study.events import Event, canonical
from allgood.study.replay import replay
from allgood.study.state import StudyState

from ..support.chains import relinked
from ..support.random_studies import MODELS, RandomStudy, a_study

SEEDS = range(9)

# ---- random studies


@functools.cache
def random_studies(model):
    """Nine of a model, each with its certificate."""
    studies = [a_study(model, seed) for seed in SEEDS]
    return [(study, study.certificate()) for study in studies]


def test_random_studies_have_every_kind_of_value():
    """Else the next test would show little."""
    pairs = [pair for model in MODELS for pair in random_studies(model)]
    studies, values = (
        [study for study, _ in pairs],
        [certificate["values"] for _, certificate in pairs],
    )
    least = {"suspect": 14, "confirmed": 14, "waiting": 9, "withdrawn": 30, "rejected": 9}
    for kind, at_least in (least | {"censored": 4}).items():
        assert sum(bool(part[kind]) for part in values) >= at_least, kind
    assert sum(study.state.quality.replaced > 0 for study in studies) >= 4
    assert sum(study.state.corrections > 0 for study in studies) >= 36
    assert sum(bool(certificate["claims"]) for _, certificate in pairs) >= 36


@pytest.mark.parametrize("model", MODELS)
def test_engine_and_verifier_agree_which_values_count(model):
    for study, certificate in random_studies(model):
        report = verify(certificate, study.lines())
        assert report.problems == ()
        assert report.log_checked
        again = StudyState.from_events(study.events)
        assert again.quality.processed == study.state.quality.processed


@pytest.mark.parametrize("model", ["gaussian", "unknown", "poisson"])
def test_another_level_of_suspicion_is_found(model, monkeypatch):
    """The control of the test above: with bounds that are a little off, many studies disagree."""
    exact = verifier.log_chance
    monkeypatch.setattr(verifier, "log_chance", lambda *parts: 0.5 * exact(*parts))
    found = [
        not verify(certificate, study.lines()).ok for study, certificate in random_studies(model)
    ]
    assert sum(found) >= 1


def with_values(model, rewards, **rules):
    """A study with these (arm, value) pairs; its certificate holds."""
    study = RandomStudy(model, np.random.default_rng(0), **rules)
    for i, (arm, value) in enumerate(rewards, 1):
        censored = {"censored": True} if value == rules.get("censor_at") else None
        study.add("unrequested", ticket=i, arm=arm, value=value, note=f"p. {i}", data=censored)
    assert verify(study.certificate(), study.lines()).problems == ()
    return study


@pytest.mark.parametrize("others", range(2, 12))
@pytest.mark.parametrize("x", [0.1, 0.3, 1.1])
def test_nothing_is_suspect_if_all_values_were_equal(x, others):
    """Of the noise nothing is known then; and the last digit of a mean does not decide it."""
    study = with_values("unknown", [(1, 2.0), (2, 3.0), *[(0, x)] * others, (0, x + 0.1)])
    assert study.state.quality.suspects == {}


def test_a_time_that_vanishes_beside_the_others_is_suspect():
    study = with_values("exponential", [(0, 3.0), (0, 4.0), (1, 3.0), (2, 3.0), (0, 5e-324)])
    assert list(study.state.quality.suspects) == [5]


@pytest.mark.parametrize(("waited", "suspects"), [(0, [4]), (10, [])])
def test_no_time_is_too_short_beside_censored_ones(waited, suspects):
    """They make the mean too large for it."""
    rewards = [(0, 3.0), (1, 3.0), (2, 3.0), *[(0, 6.0)] * waited, (0, 1e-6)]
    study = with_values("exponential", rewards, censor_at=6.0)
    assert list(study.state.quality.suspects) == suspects


def test_a_value_that_agrees_with_two_that_exclude_each_other_lets_the_earlier_count():
    study = with_values("gaussian", [(1, 0.0), (2, 0.0), *((0, x) for x in (0.0, 7.0, 13.0, 10.0))])
    assert [value.value for value in study.state.quality.processed] == [0.0, 0.0, 7.0, 10.0]
    assert list(study.state.quality.suspects) == [5, 3]


# ---- studies made by hand

MEANS = {"ash": 6.0, "birch": 6.0, "cedar": 0.0}
TIMES = {"ash": 3.0, "birch": 2.8, "cedar": 0.1}
PLATE = Plate(4, 6, {"DMSO": 3, "WATER": 2})


def a_campaign(folder, name, **more):
    options = {"objective": Additive(3.0), "delta": 0.1, "model": Gaussian(1.0)} | more
    return create_study(folder / f"{name}.db", name, arms=list(MEANS), **options)


def told(study, rows, rng, means=MEANS):
    """Tell so many rewards, in batches of six."""
    for _ in range(rows // 6):
        study.tell([(t, means[t.arm] + float(rng.standard_normal())) for t in study.ask(6)])
    return study


def suspect(folder, rng):
    study = told(a_campaign(folder, "suspect"), 12, rng)
    slip, *rest = study.ask(6)
    study.tell([(slip, 600.0), *((t, MEANS[t.arm]) for t in rest)])
    return told(study, 12, rng)


def confirmed(folder, rng):
    """One of two suspect values, before there is any claim."""
    study = told(a_campaign(folder, "confirmed"), 6, rng)
    first, _ = (study.add_measurement("ash", x, f"p. {x}").ticket for x in (16.0, 40.0))
    study.confirm(first, "seen in the instrument's record")
    return told(study, 36, rng)


def corrected_after_confirmed(folder, rng):
    """One to a value that fits, one to another that cannot be."""
    study = told(a_campaign(folder, "corrected"), 12, rng)
    first, second = (study.add_measurement("ash", x, f"p. {x}").ticket for x in (30.0, 40.0))
    for ticket, value in ((first, 5.5), (second, -40.0)):
        study.confirm(ticket, "seen in the instrument's record")
        study.correct(ticket, value, "it was the wrong record")
    return told(study, 12, rng)


def replaced(folder, rng):
    """The first value of ash gives up its place; that of birch, when a third value comes."""
    study = a_campaign(folder, "replaced")
    for arm, x in (("cedar", 0.2), ("cedar", -0.2), ("ash", 600.0), ("ash", 6.1)):
        study.add_measurement(arm, x, f"p. {x}")
    for x in (3.0, 60.0, 60.5):
        study.add_measurement("birch", x, f"p. {x}")
    assert study.certificate()["values"]["suspect"] == [3, 5]
    for ticket in study.ask(30):
        study.tell([(ticket, (MEANS | {"birch": 60.0})[ticket.arm] + float(rng.normal()))])
    return study


def unchecked(folder, rng):
    study = told(a_campaign(folder, "unchecked", check_values=False), 12, rng)
    study.add_measurement("cedar", -600.0, "p. 1")
    told(study, 12, rng)
    for arm in ("ash", "birch"):  # after the last claim
        study.add_measurement(arm, 9.0, "p. 2")
    return study


def waiting_times(folder, rng, name, batches, **more):
    model, objective = Exponential(), Multiplicative(0.5)
    study = a_campaign(folder, name, model=model, objective=objective, **more)
    for _ in range(batches):
        study.tell([(t, float(rng.exponential(TIMES[t.arm])) + 1e-3) for t in study.ask(6)])
    return study


def waiting(folder, rng):
    """Two tickets stay open, and one of those that come later has failed."""
    study = waiting_times(folder, rng, "waiting", 25)
    asked = study.ask(6)
    study.tell([(t, TIMES[t.arm]) for t in (asked[0], asked[2], asked[4])])
    study.fail(asked[3], "the camera was off")
    return study


def censored(folder, rng):
    return waiting_times(folder, rng, "censored", 30, censor_at=4.0)


def normalised(folder, rng):
    """In percent of DMSO."""
    options = {"objective": Additive(40.0), "model": Gaussian(40.0), "normalise": "percent:DMSO"}
    study = a_campaign(folder, "normalised", **options)
    raw = {"ash": 100.0, "birch": 100.0, "cedar": 40.0, "DMSO": 50.0, "WATER": 0.0}
    noise = {"DMSO": 1.0, "WATER": 0.1}
    for i in range(1, 4):
        tickets = study.ask(plate=PLATE)
        sheet = study.sheet(tickets)
        values = [raw[row.arm] + noise.get(row.arm, 20.0) * rng.normal() for row in sheet]
        table = {
            "ticket": [row.ticket for row in sheet],
            "well": [row.well for row in sheet],
            "plate": [str(i)] * len(sheet),
            "value": [float(x) for x in values],
        }
        study.tell(table)
    well = next(row.well for row in sheet if row.arm == "DMSO")
    study.correct(f"3:{well}", 51.0, "misread")
    study.correct(tickets[0], 99.0, "the well was mixed up")
    return study


MADE = [
    suspect,
    confirmed,
    corrected_after_confirmed,
    replaced,
    unchecked,
    waiting,
    censored,
    normalised,
]


@functools.cache
def made(make):
    """Certificate and events of a study, as read from files."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with make(Path(folder), np.random.default_rng(0)) as study:
            certificate = json.loads(json.dumps(study.certificate()))
            return certificate, [json.loads(line) for line in study.export()]


def sealed_again(certificate, events):
    """The certificate and the lines, with every digest anew, and events numbered anew."""
    lines = relinked(canonical({**event, "seq": i}) for i, event in enumerate(events, 1))
    text = "".join(line + "\n" for line in lines)
    certificate["log"]["events"] = len(lines)
    certificate["log"]["measurements"] = len(
        {event["ticket"] for event in events if event["kind"] in ("measurement", "unrequested")}
    )
    certificate["log"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    for part in (*certificate["arms"], *certificate["claims"], certificate):
        part.pop("sha256", None)
        part["sha256"] = hashlib.sha256(canonical(part).encode()).hexdigest()
    return certificate, lines


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_their_certificates_hold(make):
    certificate, events = made(make)
    assert certificate["claims"]
    report = verify(*sealed_again(*copy.deepcopy((certificate, events))))
    assert report.problems == ()
    assert report.log_checked
    assert replay([Event(**event) for event in events]).problems == ()


def test_what_their_certificates_say_of_values():
    def counts(make):
        values = made(make)[0]["values"].values()
        return [part if isinstance(part, int) else len(part) for part in values]

    assert counts(suspect) == [1, 0, 0, 0, 0, 0, 0]
    assert counts(confirmed) == [1, 1, 0, 0, 0, 0, 0]
    assert counts(corrected_after_confirmed) == [1, 0, 0, 0, 0, 0, 0]
    assert counts(replaced) == [2, 0, 0, 0, 0, 0, 0]
    assert counts(unchecked) == [0] * 7
    assert counts(waiting) == [0, 0, 2, 0, 0, 0, 0]
    assert counts(censored)[5] > 5
    assert counts(normalised)[6] > 30


# ---- what is changed is found


def the(events, kind, last=True, **parts):
    """The last event of a kind, or the first, with these parts."""
    found = [e for e in events if e["kind"] == kind and parts.items() <= e.items()]
    return found[-1 if last else 0]


def arm_of(certificate, events, ticket):
    """The entry of the arm that a ticket is for."""
    asked = next(e for e in events if e.get("ticket") == ticket and "arm" in e)
    name = certificate["question"]["arms"][asked["arm"]]
    return next(part for part in certificate["arms"] if part["arm"] == name)


def count_in(certificate, events, kind):
    """Count a value that is held back, and leave it out of ``values``."""
    ticket = certificate["values"][kind].pop()
    value = next(e["value"] for e in events if e.get("ticket") == ticket and "value" in e)
    entry = arm_of(certificate, events, ticket)
    entry["measurements"], entry["sum"] = entry["measurements"] + 1, entry["sum"] + value


def count_only(certificate, events, kind):
    """Count a value that is held back, and say still that it is."""
    values = copy.deepcopy(certificate["values"])
    count_in(certificate, events, kind)
    certificate["values"] = values


def flip(*places):
    """Change check_values, in_order or censor_at in the certificate, the log or both."""

    def change(certificate, events, key, value):
        if "certificate" in places:
            certificate["quality"][key] = value
        if "log" in places:
            events[0]["data"][key] = value

    return change


def move(events, event, by):
    """Move an event so many places."""
    i = events.index(event)
    events.insert(i + by, events.pop(i))


def swap_at_a_claim(certificate, events):
    """Let the value before a claim and a later one of another arm change places.

    All values of this study count in the order in which they were told.
    """
    after = min(entry["after"] for c in certificate["claims"] for entry in c["rests_on"])
    assert not any(certificate["values"].values())
    told = [i for i, event in enumerate(events) if event["kind"] in ("measurement", "unrequested")]
    arms = {
        event["ticket"]: event["arm"] for event in events if "arm" in event and "ticket" in event
    }
    first_place = told[after - 1]
    other = next(
        i for i in told[after:] if arms[events[i]["ticket"]] != arms[events[first_place]["ticket"]]
    )
    # tickets may all be given at once: who swaps values swaps what was told of them
    first, second = events[first_place], events[other]
    asked = [e for e in events if e["kind"] == "ticket" and e["ticket"] == second["ticket"]]
    times = first["time"], second["time"]
    events[first_place] = second | {"time": times[0]}
    events[other] = first | {"time": times[1]}
    for event in asked:
        events.remove(event)
        events.insert(1, event)


CHANGES = {
    "a suspect ticket is dropped": (
        suspect,
        lambda c, e: c["values"]["suspect"].clear(),
        "values: suspect is [",
    ),
    "a suspect ticket is added": (
        suspect,
        lambda c, e: c["values"]["suspect"].insert(0, 1),
        "values: suspect is [",
    ),
    "a suspect value is counted": (
        suspect,
        lambda c, e: count_only(c, e, "suspect"),
        "measurements are",
    ),
    "a suspect value is counted and forgotten": (
        suspect,
        lambda c, e: count_in(c, e, "suspect"),
        "values: suspect is [",
    ),
    "the first of two that exclude each other is counted": (
        replaced,
        lambda c, e: count_only(c, e, "suspect"),
        "measurements are",
    ),
    "a confirmation is removed": (
        confirmed,
        lambda c, e: e.remove(the(e, "confirmed")),
        "values: confirmed is []",
    ),
    "a confirmation is forgotten": (
        confirmed,
        lambda c, e: c["values"]["confirmed"].clear(),
        "values: confirmed is [",
    ),
    "a confirmation is added": (
        confirmed,
        lambda c, e: e.append({**the(e, "unrequested"), "kind": "confirmed"}),
        "values: suspect is []",
    ),
    "another value is confirmed": (
        confirmed,
        lambda c, e: the(e, "confirmed").update(value=40.0),
        "it confirms another value",
    ),
    "a value that is not suspect is confirmed": (
        confirmed,
        lambda c, e: e.append({**the(e, "measurement"), "kind": "confirmed", "note": "to be sure"}),
        "it confirms a value that is not suspect",
    ),
    "a value is confirmed before it was suspect": (
        corrected_after_confirmed,
        lambda c, e: e.append({**the(e, "confirmed", last=False), "value": 5.5}),
        "it confirms a value that is not suspect",
    ),
    "a value is confirmed later than it was": (
        confirmed,
        lambda c, e: move(e, the(e, "confirmed"), len(e)),
        "it was shown after",
    ),
    "a value that was corrected is confirmed again": (
        corrected_after_confirmed,
        lambda c, e: e.append({**the(e, "confirmed"), "value": -40.0}),
        "values: suspect is []",
    ),
    "a correction is removed": (
        corrected_after_confirmed,
        lambda c, e: e.remove(the(e, "corrected")),
        "values: confirmed is [14]",
    ),
    "values are told in another order": (unchecked, swap_at_a_claim, "it was shown after"),
    "check_values is another in the certificate": (
        suspect,
        lambda c, e: flip("certificate")(c, e, "check_values", False),
        "quality: check_values is True in the log",
    ),
    "check_values is another in the log": (
        suspect,
        lambda c, e: flip("log")(c, e, "check_values", False),
        "quality: check_values is False in the log",
    ),
    "check_values is True in both": (
        unchecked,
        lambda c, e: flip("certificate", "log")(c, e, "check_values", True),
        "influential is missing",
    ),
    "check_values is False in both": (
        suspect,
        lambda c, e: flip("certificate", "log")(c, e, "check_values", False),
        "need recomputes to",
    ),
    "in_order is False in both": (
        waiting,
        lambda c, e: flip("certificate", "log")(c, e, "in_order", False),
        "values: waiting is []",
    ),
    "a waiting ticket is dropped": (
        waiting,
        lambda c, e: c["values"]["waiting"].pop(),
        "values: waiting is [",
    ),
    "a waiting value is counted": (
        waiting,
        lambda c, e: count_only(c, e, "waiting"),
        "measurements are",
    ),
    "an open ticket has failed": (
        waiting,
        lambda c, e: e.append({**the(e, "failed"), "ticket": the(e, "failed")["ticket"] - 2}),
        "values: waiting is [",
    ),
    "a value that waits has failed": (
        waiting,
        lambda c, e: e.append({**the(e, "failed"), "ticket": c["values"]["waiting"][0]}),
        "its ticket was told or has failed before",
    ),
    "a ticket that failed has a value": (
        waiting,
        lambda c, e: e.append({**the(e, "measurement"), "ticket": the(e, "failed")["ticket"]}),
        "its ticket was told or has failed before",
    ),
    "the censoring time is another in the certificate": (
        censored,
        lambda c, e: flip("certificate")(c, e, "censor_at", 5.0),
        "quality: censor_at is 4.0 in the log: got 5.0",
    ),
    "the censoring time is later in both": (
        censored,
        lambda c, e: flip("certificate", "log")(c, e, "censor_at", 5.0),
        "it does not respect the censoring time",
    ),
    "the censoring time is earlier in both": (
        censored,
        lambda c, e: flip("certificate", "log")(c, e, "censor_at", 3.0),
        "it does not respect the censoring time",
    ),
    "there is no censoring time": (
        censored,
        lambda c, e: flip("certificate", "log")(c, e, "censor_at", None),
        "it does not respect the censoring time",
    ),
    "a censored wait is one that ended": (
        censored,
        lambda c, e: the(e, "measurement", data={"censored": True}).pop("data"),
        "values: censored is",
    ),
    "the number of censored waits is another": (
        censored,
        lambda c, e: c["values"].update(censored=c["values"]["censored"] + 1),
        "values: censored is",
    ),
    "a raw value is another": (
        normalised,
        lambda c, e: the(e, "measurement")["data"].update(raw=77.0),
        "normalises to",
    ),
    "a normalised value is another": (
        normalised,
        lambda c, e: the(e, "measurement").update(value=the(e, "measurement")["value"] + 1e-6),
        "normalises to",
    ),
    "a control is another": (
        normalised,
        lambda c, e: next(x for x in e if x["kind"] == "control" and x["value"] > 40.0).update(
            value=47.0
        ),
        "normalises to",
    ),
    "a control is corrected earlier": (
        normalised,
        lambda c, e: move(e, the(e, "control_corrected"), -3),
        "normalises to",
    ),
    "a control in another well": (
        normalised,
        lambda c, e: the(e, "control").update(well="A99"),
        "no control is in this well",
    ),
    "the way is another": (
        normalised,
        lambda c, e: the(e, "measurement")["data"]["normalised"].update(way="z"),
        "it was normalised by z:DMSO, and the study by percent:DMSO",
    ),
    "a way that nobody knows": (
        normalised,
        lambda c, e: [
            the(e, "created")["data"].update(normalise="log"),
            next(x for x in e if x["kind"] == "measurement")["data"]["normalised"].update(
                way="log"
            ),
        ],
        "no way to normalise is called 'log'",
    ),
    "controls that are not on the plate": (
        normalised,
        lambda c, e: [
            the(e, "created")["data"].update(normalise="percent"),
            the(e, "measurement")["data"]["normalised"].update(controls=["LOW"]),
        ],
        "it was normalised without controls",
    ),
    "the certificate names another normalisation": (
        normalised,
        lambda c, e: c["question"].update(normalise="z:DMSO"),
        "question: normalise is",
    ),
    "the certificate names no normalisation": (
        normalised,
        lambda c, e: c["question"].pop("normalise"),
        "question: normalise is",
    ),
    "an arm has more wells than its plate allows": (
        normalised,
        lambda c, e: the(e, "plate")["data"].update(max_per_arm=1),
        "the plate has more wells of this arm than it allows",
    ),
    "nothing says that a value was normalised": (
        normalised,
        lambda c, e: the(e, "measurement").pop("data"),
        "all values are normalised, or none",
    ),
    "the values are missing": (suspect, lambda c, e: c.pop("values"), "values is missing"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found(name):
    make, change, message = CHANGES[name]
    certificate, events = copy.deepcopy(made(make))
    change(certificate, events)
    problems = verify(*sealed_again(certificate, events)).problems
    assert any(message in problem for problem in problems), problems
    assert not any("sha256" in problem for problem in problems)


def test_if_values_count_in_order_it_does_not_matter_when_they_are_told():
    """The control of "values are told in another order"."""
    certificate, events = copy.deepcopy(made(waiting))
    told = [i for i, event in enumerate(events) if event["kind"] == "measurement"]
    asked = [event for event in events if event["kind"] == "ticket"]
    others = [event for event in events[1:] if event["kind"] not in ("ticket", "measurement")]
    values = [events[i] for i in np.random.default_rng(0).permutation(told)]
    events = [events[0], *asked, *values, *others]
    problems = verify(*sealed_again(certificate, events)).problems
    # The tells end elsewhere, so that labels have other moments.  The values are the same.
    assert not any(problem.startswith(("arm ", "values", "outcome")) for problem in problems)


# ---- what a study stores can be checked


def on_a_plate(folder, **more):
    """A study with four tickets on a plate with one control, and the rows of its sheet."""
    options = {"objective": Additive(50.0), "model": Gaussian(20.0)} | more
    study = a_campaign(folder, "plate", normalise="percent", **options)
    tickets = study.ask(4, plate=Plate(2, 3, {"DMSO": ["A1"]}))
    rows = [(t.id, t.well, t.arm, 40.0) for t in tickets]
    return study, [("", "A1", "DMSO", 50.0), *rows]


def tell_normalised(study, rows):
    table = dict(zip(("ticket", "well", "arm", "value"), zip(*rows, strict=True), strict=True))
    receipt = study.tell(table, refused="report")
    assert verify(study.certificate(), list(study.export())).problems == ()
    return receipt


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            [("", "A1", "DMSO", 60.0)],
            "'DMSO' in well A1 of plate 1 is told twice, as 50.0 and 60.0",
        ),
        ([("", "a1", "DMSO", 50.0)], None),
    ],
)
def test_a_control_that_is_told_twice_must_have_one_value(tmp_path, more, message):
    """Else values would be normalised with one, and the other would be stored."""
    study, rows = on_a_plate(tmp_path)
    receipt = tell_normalised(study, rows + more)
    if message is None:
        assert receipt.counts == {"accepted": 4, "control": 2}
        return
    assert receipt.counts == {"conflict": 2, "invalid": 4}
    assert message in receipt.rows[0].message
    assert tell_normalised(study, rows).counts == {"accepted": 4, "control": 1}


def test_nothing_is_normalised_with_a_control_that_is_refused(tmp_path):
    study, rows = on_a_plate(tmp_path)
    receipt = tell_normalised(study, [("", "A1", "WATER", 50.0), *rows[1:]])
    assert receipt.counts == {"conflict": 1, "invalid": 4}
    assert "holds 'DMSO', not 'WATER'" in receipt.rows[0].message


def test_a_normalised_time_beyond_censor_at_is_censored(tmp_path):
    times = {"objective": Multiplicative(0.5), "model": Exponential(), "censor_at": 120.0}
    study, rows = on_a_plate(tmp_path, **times)
    rows[2] = (*rows[2][:3], 70.0)
    assert tell_normalised(study, rows).counts == {"accepted": 4, "control": 1}
    certificate, events = study.certificate(), [json.loads(line) for line in study.export()]
    assert certificate["values"]["censored"] == 1
    the(events, "measurement", value=120.0)["data"]["raw"] = 50.0
    problems = verify(*sealed_again(certificate, events)).problems
    assert problems == ("log: ticket 2 normalises to 100: got 120.",)


def test_a_time_at_censor_at_is_not_a_censored_one(tmp_path):
    model, objective = Exponential(), Multiplicative(0.5)
    study = a_campaign(tmp_path, "times", model=model, objective=objective, censor_at=30.0)
    first, second = study.ask(2)
    study.tell([(first, 30.0), (second, 2.0)])
    for ticket, old in ((first, "30.0"), (second, "2.0")):
        said = study.correct(ticket, ">30", "it had not ended").consequence
        assert f"is >30.0, no longer {old}." in said
        assert study.correct(ticket, ">30", "again").consequence.endswith("Nothing changes.")
        # the first value and the present one are known; others are not
        for again, status in ((old, "duplicate"), (">30", "duplicate"), (29.0, "conflict")):
            row = study.tell([(ticket, again)], refused="report").rows[0]
            assert row.status == status
        assert "was told as >30.0 and cannot be 29.0 too" in row.message
    assert study.certificate()["values"]["censored"] == 2
    assert verify(study.certificate(), list(study.export())).problems == ()
