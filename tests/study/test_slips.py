"""What people do with their data: slips, sheets with controls, waits that do not end."""

import json

import numpy as np
import pytest

from allgood import (
    Additive,
    Bernoulli,
    Exponential,
    Gaussian,
    Multiplicative,
    Plate,
    SuspectWarning,
    create_study,
    load_study,
)
from allgood.certificates.verify import verify
from allgood.reporting.report import report_html
from allgood.study.normalise import Normaliser
from allgood.study.replay import replay

from ..cli.test_study_cli import call

NAMES = ["ash", "birch", "cedar"]


def make(folder, **options):
    question = {"arms": NAMES, "objective": Additive(5.0), "delta": 0.05, "model": Gaussian(10.0)}
    return create_study(folder / "s.db", "s", **(question | options))


def is_sound(study):
    """Whether the verifier and a replay agree with the study."""
    certificate = json.loads(json.dumps(study.certificate()))
    report = verify(certificate, [line.rstrip("\n") for line in study.export()])
    return report.problems == () and report.log_checked and replay(study.events()).ok


def test_a_lost_decimal_point(tmp_path):
    with make(tmp_path) as study:
        tickets = study.ask(6)
        study.tell([(ticket, 42.0) for ticket in tickets[:3]])
        with pytest.warns(SuspectWarning, match="4261 of 'ash' .* is suspect and does not count"):
            receipt = study.tell([(tickets[3], 4261.0), (tickets[4], 43.0)])
        assert receipt.counts == {"accepted": 1, "suspect": 1}
        assert receipt.ok  # it is kept, so nothing was refused
        assert receipt.suspects[0].remedy == "confirm"
        status = study.status()
        assert status.measurements == 4
        assert [arm.measurements for arm in status.arms] == [1, 2, 1]
        assert [(suspect.ticket, suspect.value) for suspect in status.suspects] == [
            (tickets[3].id, 4261.0)
        ]
        assert status.arms[0].suspect == 1
        assert tickets[3].id in report_html(study)
        assert study.certificate()["values"]["suspect"] == [4]
        assert is_sound(study)
        study.tell([(tickets[3], 4261.0)])  # told again: nothing new
        assert study.status().measurements == 4
        change = study.correct(tickets[3], 42.61, "a lost point")
        assert "no longer 4261.0" in change.consequence
        assert study.status().suspects == ()
        assert study.status().measurements == 5
        assert is_sound(study)


def test_a_first_value_that_is_wrong(tmp_path):
    """Nothing rests on it alone; the second value shows that one of the two is wrong."""
    with make(tmp_path) as study:
        wrong, *others = study.ask(3)
        study.tell([(wrong, 4261.0), *((ticket, 42.0) for ticket in others)])
        status = study.status()
        assert status.bad == []
        assert [arm.evidence for arm in status.arms] == [0.0, 0.0, 0.0]
        with pytest.warns(SuspectWarning):
            study.add_measurement("ash", 41.0, "again")
        [suspect] = study.status().suspects
        assert suspect.ticket == wrong.id
        assert study.status().arms[0].mean == 41.0
        study.add_measurement("ash", 44.0, "once more")
        assert study.status().arms[0].measurements == 2
        assert is_sound(study)


def test_a_third_value_takes_the_side_of_one(tmp_path):
    """4261 was right after all: it and its friend count, and 41 is suspect."""
    with make(tmp_path) as study:
        first, *others = study.ask(3)
        study.tell([(first, 4261.0), *((ticket, 42.0) for ticket in others)])
        with pytest.warns(SuspectWarning):
            study.add_measurement("ash", 41.0, "again")
        with pytest.warns(SuspectWarning):
            study.add_measurement("ash", 4270.0, "once more")
        status = study.status()
        assert status.arms[0].mean == pytest.approx(4265.5)
        assert [suspect.value for suspect in status.suspects] == [41.0]
        assert is_sound(study)
        study.confirm(status.suspects[0].ticket, "the instrument's record")
        assert study.status().arms[0].measurements == 3
        assert is_sound(study)
        with pytest.raises(ValueError, match="must have a suspect value to be confirmed"):
            study.confirm(first, "again")


def test_the_check_can_be_switched_off(tmp_path):
    with make(tmp_path, check_values=False) as study:
        tickets = study.ask(6)
        study.tell([(ticket, 42.0) for ticket in tickets[:3]])
        study.tell([(tickets[3], 4261.0)])
        assert study.status().suspects == ()
        assert study.status().bad == ["birch", "cedar"]
        assert study.certificate()["quality"]["check_values"] is False
        assert is_sound(study)


def test_values_wait_for_earlier_tickets(tmp_path):
    options = {"model": Exponential(), "objective": Multiplicative(0.5)}
    with make(tmp_path, **options) as study:
        tickets = study.ask(6)
        receipt = study.tell([(tickets[1], 0.1), (tickets[2], 0.2)])
        assert receipt.counts == {"waiting": 2}
        status = study.status()
        assert (status.measurements, status.waiting, status.waits_for.id) == (0, 2, tickets[0].id)
        assert "values count in the order of their tickets" in report_html(study)
        assert is_sound(study)
        assert study.tell([(tickets[0], 3.0)]).counts == {"accepted": 1}
        status = study.status()
        assert (status.measurements, status.waiting, status.waits_for) == (3, 0, None)
        study.tell([(tickets[4], 1.0)])
        study.fail(tickets[3], "the cable")  # unrelated to how long it takes
        assert study.status().measurements == 4
        assert is_sound(study)
        with pytest.raises(ValueError, match="lease must be None for Exponential"):
            study.ask(1, lease=60.0)
    with pytest.raises(ValueError, match="in_order must be True for Exponential"):
        make(tmp_path, **options, in_order=False)


def test_an_arm_with_waits_in_vain_only_may_leave(tmp_path):
    """Otherwise the study could not start: the arm has no reward, and is not measured again."""
    options = {"model": Exponential(), "objective": Multiplicative(0.5), "censor_at": 3}
    with make(tmp_path, **options) as study:
        tickets = study.ask(9)  # that of 'cedar' at the end stays open
        times = {"ash": 0.5, "birch": 1.5, "cedar": ">3"}
        study.tell([(ticket, times[ticket.arm]) for ticket in tickets[:8]])
        status = study.status()
        assert [arm.measurements for arm in status.arms] == [3, 3, 2]
        assert [arm.censored for arm in status.arms] == [0, 0, 2]
        assert status.measurements == 8
        assert np.isnan(status.arms[2].mean)
        assert np.isnan(status.arms[0].need)  # it has not started
        assert "1 of 3 have none" in report_html(study)
        assert is_sound(study)
        change = study.drop_arm("cedar", "used up")
        assert "'cedar' had only censored waits: it leaves the question" in change.consequence
        assert not np.isnan(study.status().arms[0].need)
        assert study.status().arms[2].withdrawn
        wrong = next(t for t in tickets if t.arm == "cedar")
        with pytest.raises(ValueError, match="arm 'cedar' was dropped before its first value"):
            study.correct(wrong, 2.0, "it ended")
        assert is_sound(study)
        rng = np.random.default_rng(0)
        while tickets := study.ask(8):
            waits = {"ash": 0.05, "birch": 1.5}
            study.tell([(t, min(waits[t.arm] * rng.exponential(), 3.0)) for t in tickets])
        assert study.status().outcome == "certified"
        assert study.status().measurements == sum(arm.measurements for arm in study.status().arms)
        assert is_sound(study)


def release_by_failure(study, ticket):
    study.fail(ticket, "spilt")


def release_by_batch(study, ticket):
    study.fail(batch=ticket.batch, reason="dropped")


def release_by_abandonment(study, ticket):
    study.drop_arm(ticket.arm, "used up")


@pytest.mark.parametrize("release", [release_by_failure, release_by_batch, release_by_abandonment])
def test_values_that_are_released_and_suspect_are_warned_of(tmp_path, release):
    with make(tmp_path, in_order=True) as study:
        (first,) = study.ask(1)
        others = [t for t in study.ask(8) if t.arm == "birch"]
        for ticket in study.open_tickets:
            if ticket.arm != "birch" and ticket.id != first.id:
                study.fail(ticket.id, "empty")
        receipt = study.tell(list(zip(others, [42.0, 43.0, 4261.0], strict=True)))
        assert receipt.counts == {"waiting": 3}
        with pytest.warns(SuspectWarning, match="4261 of 'birch' .* is suspect"):
            release(study, first)
        assert is_sound(study)


def test_waits_are_given_up_at_the_deadline(tmp_path):
    options = {"model": Exponential(), "objective": Multiplicative(0.5), "censor_at": 3}
    with make(tmp_path, **options) as study:
        tickets = study.ask(9)
        values = [">3", 2.0, 1.0, 1.0, 7.5, "> 3.0", 0.5, 0.5, 0.5]
        study.tell(list(zip(tickets, values, strict=True)))
        status = study.status()
        assert [arm.censored for arm in status.arms] == [1, 1, 1]
        assert [arm.mean for arm in status.arms] == [4.5 / 2, 5.5 / 2, 4.5 / 2]
        assert study.certificate()["values"]["censored"] == 3
        assert is_sound(study)
        receipt = study.tell([(study.ask(1)[0], ">2")], refused="report")
        assert (
            "must be a time, or >3, the censoring time of the study: got '>2'"
            in receipt.rows[0].message
        )
    with pytest.raises(ValueError, match="censor_at must be None for Bernoulli"):
        make(tmp_path, model=Bernoulli(), objective=Additive(0.1), censor_at=3.0)


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("percent:A", 100.0 * 6.0 / 4.0),
        ("percent:A,B", 100.0 * (6.0 - 4.0) / (10.0 - 4.0)),
        ("z:A", 2.0 / np.std([3.0, 5.0], ddof=1)),
    ],
)
def test_ways_to_normalise(way, expected):
    values = {"A": [3.0, 5.0], "B": [10.0]}
    assert Normaliser.named(way).apply(6.0, values) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("way", "values", "sentence"),
    [
        (
            "percent",
            {"A": [1.0], "B": [2.0]},
            "2 controls with values: name one, such as percent:A",
        ),
        ("percent:C", {"A": [1.0]}, "control 'C' has no value"),
        ("z:A", {"A": [1.0]}, "needs two wells"),
        ("z:A", {"A": [1.0, 1.0]}, "a unit of zero"),
        ("percent:A", {"A": [0.0]}, "a unit of zero"),
    ],
)
def test_controls_that_do_not_allow_it(way, values, sentence):
    with pytest.raises(ValueError, match=sentence):
        Normaliser.named(way).apply(1.0, values)


@pytest.mark.parametrize("text", ["", "half", "z:A,B", "percent:A,B,C", "percent:,", "z: "])
def test_unknown_ways_are_refused(text):
    with pytest.raises(ValueError, match="normalise must be percent or z"):
        Normaliser.named(text)


def filled(study, tickets, control=100.0):
    """The rows of a sheet: arms give 50, controls so much, one above and one below."""
    rows = study.sheet(tickets)
    values = [50.0 if row.ticket else control + (-1) ** i for i, row in enumerate(rows)]
    columns = ("ticket", "arm", "plate", "well")
    table = {name: [getattr(row, name) for row in rows] for name in columns}
    return table | {"value": values}


def test_controls_are_stored_and_normalise(tmp_path):
    with make(tmp_path, objective=Additive(20.0), normalise="percent") as study:
        tickets = study.ask(plate=Plate(2, 3, {"DMSO": 2}))
        table = filled(study, tickets)
        receipt = study.tell(table)
        assert receipt.counts == {"accepted": 4, "control": 2}
        events = [event for event in study.events() if event.kind == "measurement"]
        control = np.mean([e.value for e in study.events() if e.kind == "control"])
        for event in events:
            assert event.data["raw"] == 50.0
            assert event.value == pytest.approx(5000.0 / control)
        assert study.tell(table).counts == {"duplicate": 6}
        assert study.certificate()["values"]["normalised"] == 4
        assert is_sound(study)
        place = next(f"{e.batch}:{e.well}" for e in study.events() if e.kind == "control")
        change = study.correct(place, 90.0, "misread")
        assert "4 values of this plate were normalised with the old one" in change.consequence
        assert is_sound(study)
        other = table | {"value": [x + 1.0 for x in table["value"]]}
        receipt = study.tell(other, refused="report")
        assert receipt.counts == {"conflict": 6}
        assert "cannot be" in receipt.rows[0].message


def test_a_changed_normalised_value_is_found(tmp_path):
    with make(tmp_path, normalise="z") as study:
        study.tell(filled(study, study.ask(plate=Plate(2, 3, {"DMSO": 2}))))
        lines = [line.rstrip("\n") for line in study.export()]
        certificate = study.certificate()
    tampered = [line.replace('"raw":50.0', '"raw":51.0') for line in lines]
    assert tampered != lines
    problems = verify(certificate, tampered).problems
    assert any("normalises to" in problem for problem in problems)


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--arms", "a,b", "--epsilon", "5", "--sigma", "10"]
    assert call("study", "new", "s.db", *options)[0] == 0
    call("study", "ask", "s.db", "-n", "4")
    one, two, three, four = (t.id for t in load_study("s.db").open_tickets)
    for ticket in (one, two, four):
        assert call("study", "tell", "s.db", "--ticket", ticket, "--value", "40")[0] == 0
    code, out, err = call("study", "tell", "s.db", "--ticket", three, "--value", "4000")
    assert (code, err) == (0, "")
    assert "1 suspect." in out
    assert "allgood study confirm s.db TICKET --reason WHY" in out
    out = call("study", "status", "s.db")[1]
    assert "after 3 measurements." in out
    assert "\n1 suspect.\n" in out
    assert f"Suspect: 4000 of 'a' ({three})" in out
    assert call("study", "certify", "s.db")[0] == 0
    assert call("verify", "certificate.json", "--study", "s.db")[0] == 0
    code, out, _ = call("study", "confirm", "s.db", three, "--reason", "seen")
    assert code == 0
    assert out.startswith(f"4000 ({three}) counts now.")
    assert call("study", "confirm", "s.db", three, "--reason", "seen")[0] == 2
    waits = ["--arms", "a,b", "--epsilon", "0.5", "--multiplicative", "--model", "exponential"]
    assert call("study", "new", "w.db", *waits, "--censor-at", "3")[0] == 0
    call("study", "ask", "w.db", "-n", "2")
    second = load_study("w.db").open_tickets[1].id
    assert "1 waiting." in call("study", "tell", "w.db", "--ticket", second, "--value", ">3")[1]
    assert "1 value waits for ticket" in call("study", "status", "w.db")[1]
    assert call("study", "new", "v.db", *options, "--no-check-values", "--in-order")[0] == 0
    design = load_study("v.db").design
    assert (design.check_values, design.in_order) == (False, True)
