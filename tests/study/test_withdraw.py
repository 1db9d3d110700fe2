"""Values that are withdrawn or replaced as a whole, dropped arms that come back, and who did it."""

import itertools
import json

import numpy as np
import pytest

from allgood import Additive, Bernoulli, Exponential, Gaussian, Plate, create_study, import_study
from allgood.certificates.verify import verify
from allgood.study.receipts import RefusedRows, SuspectWarning
from allgood.study.replay import replay
from allgood.study.state import StudyState

NAMES = ["a", "b", "c", "d"]
MEANS = {"a": 10.0, "b": 9.8, "c": 4.0, "d": 3.0}
SIGMA = 0.3
PLATE = Plate(4, 6, controls={"low": 3, "high": 3})


def make(model=None, **options):
    model = Gaussian(SIGMA) if model is None else model
    chosen = {"objective": Additive(2.0), "delta": 0.1, "clock": itertools.count(1.0).__next__}
    return create_study(":memory:", "s", arms=NAMES, model=model, **chosen | options)


def rewards(study, tickets, seed=0):
    rng = np.random.default_rng(seed)
    return [(ticket.id, float(rng.normal(MEANS[ticket.arm], SIGMA))) for ticket in tickets]


def tell_plate(study, plate=PLATE, seed=0, gap=100.0, **options):
    """Ask for a plate and tell it, with controls that are ``gap`` apart."""
    rng = np.random.default_rng(seed)
    tickets = study.ask(plate=plate)
    values = dict(rewards(study, tickets, seed))
    rows = [
        {"ticket": row.ticket, "arm": row.arm, "plate": row.plate, "well": row.well}
        | {"value": values.get(row.ticket, rng.normal(gap if row.arm == "high" else 0.0, 1.0))}
        for row in study.sheet(tickets)
    ]
    return tickets, study.tell(rows, **options)


def check(study):
    """The log alone gives the same state, its replay the same choices, the verifier the same."""
    events = study.events()
    rebuilt, known = StudyState.from_events(events), study.backend.known_state
    assert rebuilt.quality.processed == known.quality.processed
    assert rebuilt.current_engine().label_names() == known.current_engine().label_names()
    assert replay(events).problems == ()
    result = verify(json.loads(json.dumps(study.certificate())), list(study.export()))
    assert result.problems == ()
    with import_study(":memory:", study.export()) as copy:
        assert copy.status().verdict == study.status().verdict
    return result


def kinds(study):
    return [event.kind for event in study.events()]


# ---- withdraw


def test_a_plate_is_withdrawn_as_a_whole_in_one_event_and_its_labels_are_taken_back():
    study = make()
    tickets, _ = tell_plate(study)
    assert study.status().outcome == "certified"
    before = {arm.arm: arm.label for arm in study.status().arms}
    change = study.withdraw(batch=1, reason="wrong plate in the reader", basis="cause")
    assert kinds(study).count("withdrawn") == 1
    assert change.labels == {arm: (label, "open") for arm, label in before.items()}
    assert "4 certified labels are taken back: a (it was good)" in change.consequence
    assert f"{len(tickets)} values and 6 controls are withdrawn" in change.consequence
    status = study.status()
    assert (status.measurements, status.withdrawn_values) == (0, len(tickets))
    assert set(study.table().columns["state"]) == {"withdrawn"}
    assert study.backend.known_state.controls == {}
    check(study)
    assert study.ask(4)  # new tickets; the old ones have no value any more
    with pytest.raises(RefusedRows, match="was withdrawn"):
        study.tell([(tickets[0].id, 1.0)])
    assert study.fail(tickets[0], "no").counts == {"duplicate": 1}  # no value will come anyway


def test_what_a_withdrawal_does_to_the_guarantee_is_said_everywhere():
    study = make()
    tickets, _ = tell_plate(study)
    assert (study.status().conditions, study.status().warnings) == ((), [])
    well = tickets[0].well
    change = study.withdraw(batch=1, wells=[well.lower()], reason="air bubble", basis="cause")
    condition = (
        "The guarantee holds only if the causes for which 1 value was withdrawn have nothing to do "
        "with this value."
    )
    assert condition in change.consequence
    status = study.status()
    assert status.conditions == (condition,)
    assert condition in status.verdict
    assert status.guarantee  # it holds, on this condition
    certificate = study.certificate()
    assert certificate["conditions"] == [{"kind": "withdrawn for a cause", "values": 1}]
    result = check(study)
    assert (result.status, len(result.conditions)) == ("verified", 1)
    change = study.withdraw(tickets[1], reason="looks too high", basis="values")
    void = "1 value was withdrawn because of what it is, so the guarantee does not hold."
    assert void in change.consequence
    status = study.status()
    assert status.warnings == [void]
    assert not status.guarantee
    assert check(study).status == "verified, doubtful"
    study.correct(tickets[1], 3.0, "it was right")  # undone: the value is there again
    assert study.status().warnings == []
    check(study)


def test_a_withdrawn_value_is_as_if_its_ticket_had_failed():
    """Two studies, one of which never heard of the value, choose and certify alike."""
    studies = [make(in_order=order) for order in (False, True, False, True)]
    for i, study in enumerate(studies):
        tickets = study.ask(12)
        rows = rewards(study, tickets)
        if i < 2:
            study.tell(rows)
            study.withdraw([t.id for t in tickets[3:5]], reason="spilt", basis="cause")
        else:
            study.fail([t.id for t in tickets[3:5]], "spilt")
            study.tell(rows[:3] + rows[5:])
        check(study)
    for told, failed in (studies[0], studies[2]), (studies[1], studies[3]):
        states = [study.backend.known_state for study in (told, failed)]
        values = [[e[:5] for e in state.quality.processed] for state in states]
        assert str(values[0]) == str(values[1])
        assert told.status().bad == failed.status().bad
        assert [t.arm for t in told.ask(8)] == [t.arm for t in failed.ask(8)]


def test_counts_are_withdrawn_by_source_and_period_and_come_back_by_a_correction():
    study = make(Bernoulli(), objective=Additive(0.02))
    for day in ("1", "2"):
        rows = [{"arm": arm, "n": 1000, "sum": 400 - 100 * (arm == "d")} for arm in NAMES]
        study.tell_counts(rows, source="web", period=day)
    assert study.status().bad == ["d"]
    change = study.withdraw(source="web", period="1", reason="counted twice", basis="cause")
    assert "4,000 values are withdrawn" in change.consequence
    assert study.status().measurements == 4000
    with pytest.raises(RefusedRows, match=r"and withdrawn \(counted twice\)"):
        study.tell_counts(rows, source="web", period="1")
    receipt = study.tell_counts(rows, source="web", period="1", correct="it was not")
    assert receipt.counts == {"corrected": 4}
    assert study.status().measurements == 8000
    assert study.status().conditions == ()
    check(study)
    with pytest.raises(ValueError, match="must be one of this study"):
        study.withdraw(source="other", reason="r", basis="cause")


def test_a_dropped_arm_without_its_values_leaves_the_question():
    study = make()
    tickets = study.ask(8)
    study.tell(rewards(study, tickets))
    study.drop_arm("d", "none left")
    own = [ticket for ticket in tickets if ticket.arm == "d"]
    study.withdraw(own, reason="wrong substance", basis="cause")
    assert study.status().arms[3].withdrawn
    check(study)
    with pytest.raises(ValueError, match="has left the question"):
        study.correct(own[0], 3.0, "no")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"basis": "luck", "batch": 1}, "basis must be 'cause'"),
        ({}, "exactly one of tickets, batch and source"),
        ({"batch": 1, "source": "x"}, "exactly one of tickets, batch and source"),
        ({"batch": 9}, "batch must be one of this study: got 9"),
        ({"batch": 1, "wells": ["Z9"]}, "wells must name wells from A1 to D6"),
        ({"wells": ["A1"], "tickets": []}, "wells must be given together with batch"),
        ({"batch": 1, "reason": ""}, "reason must be 1 to 1000 characters"),
        ({"tickets": ["x"]}, "ticket must be one of this study"),
    ],
)
def test_bad_requests_are_refused_and_store_nothing(options, message):
    study = make()
    tell_plate(study)
    before = kinds(study)
    with pytest.raises(ValueError, match=message):
        study.withdraw(**{"reason": "r", "basis": "cause"} | options)
    assert kinds(study) == before


def test_only_values_that_were_told_can_be_withdrawn():
    study = make()
    tickets = study.ask(3)
    with pytest.raises(ValueError, match="is open"):
        study.withdraw(tickets[0], reason="r", basis="cause")
    assert study.withdraw(batch=1, reason="r", basis="cause").consequence == (
        "Batch 1 has no value. Nothing changes."
    )
    study.tell([(tickets[0].id, 3.0)])
    change = study.withdraw(batch=1, reason="r", basis="cause")
    assert "2 tickets are still open" in change.consequence
    with pytest.raises(ValueError, match="is withdrawn"):
        study.withdraw(tickets[0], reason="r", basis="cause")


# ---- replace


def test_two_swapped_files_are_replaced_by_two_events():
    study = make(check_values=False)
    told = [study.ask(plate=PLATE) for _ in range(2)]
    right = [rewards(study, tickets, seed) for seed, tickets in enumerate(told)]
    swapped = [
        [(ticket, value) for (ticket, _), (_, value) in zip(a, b, strict=True)]
        for a, b in (right, right[::-1])
    ]
    for rows in swapped:
        study.tell(rows)
    wrong = study.status()
    preview = study.preview_replacement(right[0], "swapped files")
    for rows in right:
        receipt = study.replace(rows, "swapped files", client="ann")
        assert receipt.counts == {"corrected": len(rows)}
    assert preview.counts == {"corrected": len(right[0])}
    assert kinds(study).count("replaced") == 2
    assert [e.client for e in study.events() if e.kind == "replaced"] == ["ann", "ann"]
    check(study)
    other = make(check_values=False)
    for tickets in (other.ask(plate=PLATE), other.ask(plate=PLATE)):
        other.tell(rewards(other, tickets, tickets[0].batch - 1))
    assert [arm.mean for arm in study.status().arms] == pytest.approx(
        [arm.mean for arm in other.status().arms]
    )
    assert wrong.arms != study.status().arms
    assert study.replace(right[1], "again").counts == {"duplicate": len(right[1])}
    assert kinds(study).count("replaced") == 2


def test_a_receipt_names_the_labels_that_a_replacement_takes_back():
    study = make()
    tickets, _ = tell_plate(study)
    assert study.status().outcome == "certified"
    rows = [(ticket.id, 10.0 + 0.1 * i) for i, ticket in enumerate(tickets)]
    receipt = study.replace(rows, "file of another plate")
    assert receipt.labels["c"] == ("bad", "good")
    assert any("taken back: " in note and "c (it was bad)" in note for note in receipt.notes)
    check(study)


def test_all_rows_of_a_replacement_count_or_none():
    study = make()
    tickets = study.ask(4)
    study.tell(rewards(study, tickets[:3]))
    before = kinds(study)
    for row, message in (
        ((tickets[1].id, None), "empty, but ticket"),
        ((tickets[1].id, "high"), "column value"),
        (("zzzz-1", 3.0), "is no ticket of this study"),
        ((tickets[0].id, 5.5), "is told twice"),
    ):
        receipt = study.replace([(tickets[0].id, 5.0), row], "r", refused="report")
        assert not receipt.ok
        assert any(message in other.message for other in receipt)
        assert kinds(study) == before
    receipt = study.replace([(tickets[0].id, 5.0), (tickets[3].id, 6.0)], "r")
    assert receipt.counts == {"accepted": 1, "corrected": 1}  # an open ticket is told
    study.withdraw(tickets[1], reason="r", basis="cause")
    assert study.replace([(tickets[1].id, 7.0)], "r").counts == {"corrected": 1}
    check(study)


def test_controls_and_normalised_values_are_replaced_too():
    study = make(Gaussian(5.0), normalise="percent:low,high")
    tickets = study.ask(plate=PLATE)
    rows = [
        {"ticket": row.ticket, "arm": row.arm, "plate": row.plate, "well": row.well}
        | {"value": {"low": 0.0, "high": 200.0}.get(row.arm, 100.0 + i)}
        for i, row in enumerate(study.sheet(tickets))
    ]
    study.tell(rows)
    for row in rows:
        row["value"] = row["value"] / 2.0 + 50.0
    receipt = study.replace(rows, "another gain")
    assert receipt.counts["corrected"] == 6  # the controls; normalised values are as they were
    for row in rows:
        row["value"] = row["value"] + (5.0 if row["ticket"] else 0.0)
    receipt = study.replace(rows, "another offset")
    assert receipt.counts == {"corrected": len(tickets), "duplicate": 6}
    check(study)


# ---- a rule on controls that is fixed beforehand


def test_a_plate_below_the_least_z_prime_never_counts():
    study = make(min_z_prime=0.4, objective=Additive(0.21))
    _, receipt = tell_plate(study)
    assert receipt.counts["accepted"] == len(receipt.rows) - 6
    tickets, receipt = tell_plate(study, seed=1, gap=5.0)
    assert receipt.counts["rejected"] == len(tickets)
    assert "plate 2 does not count: its Z' is" in receipt.rows[0].message
    status = study.status()
    assert status.measurements == 18  # those of the first plate
    assert len(status.rejected) == 1
    assert (status.conditions, status.warnings) == ((), [])
    assert status.guarantee  # it costs nothing
    assert study.certificate()["values"]["rejected"] == [int(t.id.split("-")[1]) for t in tickets]
    check(study)


def test_values_wait_until_all_controls_of_their_plate_are_known():
    study = make(min_z_prime=0.4)
    tickets = study.ask(plate=PLATE)
    receipt = study.tell(rewards(study, tickets))
    assert receipt.counts == {"waiting": len(tickets)}
    assert study.status().waiting == len(tickets)
    controls = [row for row in study.sheet(tickets) if not row.ticket]
    rows = [
        {"ticket": "", "arm": row.arm, "plate": row.plate, "well": row.well}
        | {"value": i + (100.0 if row.arm == "high" else 0.0)}
        for i, row in enumerate(controls)
    ]
    study.tell(rows[:-1])
    assert study.status().measurements == 0
    assert study.status().waits_for_controls == (
        "18 values wait for controls of plate 1: tell each control, or withdraw its well."
    )
    check(study)
    study.tell(rows[-1:])
    assert study.status().measurements == len(tickets)
    check(study)
    other = make(min_z_prime=0.4)
    tickets2 = other.ask(plate=PLATE)
    places = {row.well: row for row in other.sheet(tickets2) if not row.ticket}
    other.tell([row for row in rows[:-1] if row["well"] in places])
    other.tell(rewards(other, tickets2))
    assert other.status().measurements == 0
    other.withdraw(batch=1, wells=rows[-1]["well"], reason="empty well", basis="cause")
    assert other.status().measurements == len(tickets2)  # no value will come for that control
    check(other)
    # A control that is corrected decides anew, and the change names the labels that it takes back.
    well = f"1:{controls[0].well}"
    change = study.correct(well, 500.0, "typed wrongly")
    assert set(change.labels) == set(study.status().open)
    assert study.status().measurements == 0
    check(study)
    study.withdraw(batch=1, wells=[controls[0].well], reason="bubble", basis="cause")
    assert study.status().measurements == len(tickets)
    check(study)


def test_a_plate_needs_two_controls_if_its_z_prime_decides():
    study = make(min_z_prime=0.0)
    assert study.design.min_z_prime == 0.0
    with pytest.raises(ValueError, match="controls must be two with at least two wells each"):
        study.ask(plate=Plate(4, 6, controls={"low": 3}))
    for wrong in (1.0, "0.4", True, float("nan")):
        with pytest.raises(ValueError, match="min_z_prime must be a number below 1"):
            make(min_z_prime=wrong)


# ---- arms that come back


def test_a_dropped_arm_with_values_is_measured_again_after_it_was_restored():
    study = make(objective=Additive(0.3))
    study.tell(rewards(study, study.ask(8)))
    study.drop_arm("a", "mistake", client="ann")
    assert all(ticket.arm != "a" for ticket in study.ask(20, client="x"))
    change = study.restore_arm("a", "it was another one", client="bob")
    assert change.consequence == "Arm 'a' may be measured again.  No label changes."
    assert any(ticket.arm == "a" for ticket in study.ask(20))
    assert [e.client for e in study.events() if e.kind.startswith("arm_")] == ["ann", "bob"]
    check(study)
    with pytest.raises(ValueError, match="arm 'a' is not dropped"):
        study.restore_arm("a", "again")


def test_an_arm_that_had_left_the_question_takes_labels_back_when_it_returns():
    study = make(in_order=True)
    tickets = study.ask(8)
    first = [ticket for ticket in tickets if ticket.arm == "a"]
    study.drop_arm("a", "no substance")
    others = [ticket for ticket in tickets if ticket.arm != "a"]
    study.tell(rewards(study, others))
    study.tell(rewards(study, study.ask(30)))
    assert study.status().outcome == "certified"
    change = study.restore_arm("a", "found some")
    assert {old for old, _ in change.labels.values()} == {"good", "bad"}
    assert "3 certified labels are taken back" in change.consequence
    assert study.status().outcome == "running"
    check(study)
    with pytest.raises(RefusedRows, match="was reported as failed"):
        study.tell([(first[0].id, 10.0)])  # others did not wait for it
    study.tell(rewards(study, study.ask(8), seed=5))
    assert study.status().outcome == "certified"
    check(study)


def test_a_study_with_places_for_new_arms_restores_only_before_its_first_label():
    study = make(max_new_arms=2)
    study.drop_arm("d", "none")
    for _ in range(4):
        study.tell(rewards(study, study.ask(30)))
    assert study.status().bad
    with pytest.raises(ValueError, match="labels were certified without it"):
        study.restore_arm("d", "found")


# ---- the wrong label rate


def certify(seed, cheat):
    """A study of two equal arms whose values are withdrawn: by a bubble, or if they are high.

    Returns whether a label is wrong.  The objective makes both arms good.
    """
    rng = np.random.default_rng(seed)
    study = create_study(
        ":memory:", "s", arms=["a", "b"], objective=Additive(0.1), delta=0.1, model=Gaussian(1.0)
    )
    for _ in range(10):
        tickets = study.ask(20)
        values = {ticket.id: float(rng.normal()) for ticket in tickets}
        study.tell(list(values.items()))
        if cheat:
            bad = [t.id for t in tickets if t.arm == "a" and values[t.id] > 0.0]
        else:
            bad = [t.id for t in tickets if rng.random() < 0.4]
        if bad:
            basis = "values" if cheat else "cause"
            study.withdraw(bad, reason="bubble", basis=basis)
    return bool(study.status().bad), study.status()


def test_withdrawals_without_regard_to_the_values_keep_the_risk():
    """30 studies with risk 0.1: more than 9 wrong have a chance below 1 in 1,000.

    The control withdraws by the values: nearly all its studies are wrong, and say so.
    """
    assert sum(certify(seed, cheat=False)[0] for seed in range(30)) <= 9
    wrong, status = certify(0, cheat=True)
    assert wrong
    assert not status.guarantee
    assert sum(certify(seed, cheat=True)[0] for seed in range(10)) >= 8


def test_waiting_times_are_withdrawn_in_the_order_of_their_tickets():
    study = create_study(
        ":memory:", "s", arms=["a", "b"], objective=Additive(1.0), delta=0.1, model=Exponential()
    )
    tickets = study.ask(6)
    study.tell([(ticket.id, 1.0 + i) for i, ticket in enumerate(tickets)])
    study.withdraw(tickets[:2], reason="clock stopped", basis="cause")
    assert study.status().measurements == 4
    check(study)


# ---- who did what


def test_every_event_that_a_person_causes_says_who():
    study = make(max_new_arms=1, client="ann", budget=100)
    tickets = study.ask(6, client="ann")
    study.tell(rewards(study, tickets[:4]), client="ann")
    study.fail(tickets[4], "broken", client="ann")
    study.correct(tickets[0], 5.0, "typo", client="ann")
    study.replace([(tickets[1].id, 5.0)], "typo", client="ann")
    study.withdraw(tickets[0], reason="bubble", basis="cause", client="ann")
    study.add_arms(["e"], "new", client="ann")
    study.drop_arm("e", "no", client="ann")
    study.restore_arm("e", "yes", client="ann")
    study.set_budget(200, "money", client="ann")
    study.note("done", client="ann")
    study.add_measurement("a", 9.0, "book", client="ann")
    study.tell([(tickets[2].id, 1e4)], client="ann", refused="report")
    with pytest.warns(SuspectWarning):
        late = study.add_measurement("a", 1e6, "slip", client="ann")
    study.confirm(late.ticket, "it is right", client="ann")
    assert {event.client for event in study.events()} == {"ann"}
    assert set(study.table("events").columns["client"]) == {"ann"}
    with pytest.raises(ValueError, match="client must be 1 to 1000 characters"):
        study.drop_arm("a", "r", client=" ")
