"""A campaign that changes on its way: what may change, what that does, and what is refused."""

import hashlib
import json
import math
import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from allgood import (
    Additive,
    Gaussian,
    Plate,
    RefusedRows,
    StudyError,
    claims,
    create_study,
    import_study,
    load_study,
)
from allgood.certificates import verify as verifier
from allgood.certificates.verify import verify
from allgood.reporting import report
from allgood.reporting.report import report_html
from allgood.study.backends.sql import EventLog
from allgood.study.design import StudyDesign
from allgood.study.replay import replay

from ..certificates.test_verify import asked, seal, searched_minimum
from ..support.command_line import allgood
from ..support.drawing import draw_nothing
from ..support.effort import examples, repeats
from ..support.study_cache import StudyCache
from ..support.systems import needs_posix
from .test_study import MEANS, NAMES, Clock, Generous, finish


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """A database: a file, or that of the server, where names of studies must be the test's own."""
    if request.param == "sqlite":
        return str(tmp_path / "studies.db")
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def without_pictures(monkeypatch):
    """The words of reports are the point.  To draw takes longer than all the rest."""
    for part in ("_pictures", "_plates"):
        monkeypatch.setattr(report, part, lambda *_: "")


def begin(url, request, clock=None, **options):
    settled = {"arms": NAMES, "objective": Additive(0.5), "delta": 0.1, "model": Gaussian(0.4)}
    settled |= options
    settled |= {"clock": clock} if clock else {}
    return create_study(url, request.node.name, **settled)


def measure(study, tickets, seed=0):
    rng = np.random.default_rng(seed)
    means = [MEANS[NAMES.index(ticket.arm)] for ticket in tickets]
    noise = 0.4 * rng.standard_normal(len(tickets))
    return study.tell([(t.id, m + z) for t, m, z in zip(tickets, means, noise, strict=True)])


def sound(study):
    """The log is replayed, and comes back as it was; the certificate is verified with it."""
    lines = list(study.export())
    result = replay(study.events())
    assert result.ok, result.problems
    checked = verify(study.certificate(), lines)
    assert checked.ok, checked.problems
    assert checked.log_checked
    assert load_study(
        study.backend.storage.url.render_as_string(False), study.name
    ).status().events == len(lines)
    return lines


def command(*arguments):
    done = allgood("study", *arguments)
    return done.returncode, done.stdout, done.stderr


# ---- another budget


def test_a_study_goes_on_with_another_budget(url, request, without_pictures):
    with begin(url, request, budget=7) as study:
        measure(study, study.ask(10))
        assert study.status().outcome == "budget exhausted"
        change = study.set_budget(np.int64(9), "a second order")
        assert change.labels == {}
        assert change.consequence == (
            "The budget is 9 measurements, no longer 7 measurements. 2 more may be asked for."
        )
        assert study.status().outcome == "running"
        assert len(study.ask(10)) == 2
        same = study.set_budget(9, "again").consequence
        assert same == "The budget is 9 measurements already. Nothing changes."
        study.set_budget(None, "until it is certain")
        measure(study, study.open_tickets)
        finish(study, MEANS)
        assert study.status().budget is None
        assert study.status().outcome == "certified"
        assert "Every label is certified" in study.set_budget(10_000, "why not").consequence
        sound(study)
        page = report_html(study)
        assert "The budget is 9 measurements from now on; <bdi>a second order</bdi>" in page
        assert "10,000 measurements; at first 7 measurements" in page
        # the question is that of the beginning
        assert begin(url, request, budget=7, load_if_exists=True).status().budget == 10_000


def test_budgets_that_are_refused(tmp_path, request):
    with begin(tmp_path / "s.db", request, budget=7) as study:
        tickets = study.ask(7)
        study.tell([(tickets[0], 1.0)])
        before = list(study.export())
        for budget, message in [
            (6, "budget must not be below the 7 measurements that were told or are pending: got 6"),
            (4, "budget must allow one measurement of each of the 5 arms: got 4"),
            (7.5, "budget must be a whole number"),
            ("many", "budget must be a whole number"),
        ]:
            with pytest.raises((ValueError, TypeError), match=message):
                study.set_budget(budget, "less")
        with pytest.raises(ValueError, match="reason must be 1 to 1000 characters"):
            study.set_budget(20, " ")
        assert list(study.export()) == before
        study.set_budget(8, "one more")
        lines = list(study.export())
        for data in ({}, {"budget": 3}, {"budget": "x"}, {"budget": 9, "more": 1}):
            last = json.loads(lines[-1]) | {"data": data}
            wrong = json.dumps(last, sort_keys=True, separators=(",", ":"))
            with pytest.raises((ValueError, TypeError), match="budget"):
                import_study(tmp_path / "copy.db", [*lines[:-1], wrong], "wrong")


def test_extending_on_the_command_line(tmp_path, request):
    path = tmp_path / "s.db"
    with begin(path, request, budget=7):
        pass
    said = "The budget is 9 measurements, no longer 7 measurements. 9 more may be asked for.\n"
    assert command("set-budget", path, "--budget", "9", "--reason", "more") == (0, said, "")
    code, out, _ = command("set-budget", path, "--budget", "none", "--reason", "more", "--json")
    assert code == 0
    assert json.loads(out) == {
        "labels": {},
        "consequence": "The budget is no limit, no longer 9 measurements.",
    }
    assert json.loads(command("status", path, "--json")[1])["budget"] is None
    for budget in ("3", "-3", "many", "1e3"):
        code, _, err = command("set-budget", path, f"--budget={budget}", "--reason", "x")
        assert code == 2
        assert err.count("\n") == 1
        assert "budget must" in err


# ---- a batch that is lost


def test_a_batch_fails_as_a_whole_or_not_at_all(url, request, monkeypatch):

    with begin(url, request) as study:
        measure(study, study.ask(5))
        plate = Plate(2, 4, {"blank": 1})
        tickets = study.ask(plate=plate)
        assert len(tickets) == 7
        study.tell([(tickets[2], 0.5)])
        study.fail(tickets[3], "a bubble")

        def full(*_):
            raise OSError("no space left")

        with monkeypatch.context() as broken:
            broken.setattr(EventLog, "append", full)
            with pytest.raises(OSError, match="no space"):
                study.fail(batch=2, reason="dropped")
        assert len(study.open_tickets) == 5
        receipt = study.fail(batch=2, reason="dropped")
        assert receipt.counts == {"accepted": 5, "duplicate": 1}
        assert [row.ticket for row in receipt] == [t.id for t in tickets if t != tickets[2]]
        failures = [event for event in study.events() if event.kind == "failed"]
        assert len({event.time for event in failures[1:]}) == 1  # one change
        assert study.open_tickets == []
        assert study.status().measurements == 6
        assert study.fail(batch=2, reason="dropped").counts == {"duplicate": 6}
        assert study.fail(batch=1, reason="dropped").rows == ()
        finish(study, MEANS)
        sound(study)


def test_several_tickets_that_failed(tmp_path, request):
    """All of them at once, or none if one is unknown; what was told stays."""
    with begin(tmp_path / "s.db", request) as study:
        one, two, three, four = study.ask(4)
        study.tell([(one, 0.5)])
        with pytest.raises(ValueError, match="nobody-7"):
            study.fail([two, "nobody-7"], "dropped")
        assert len(study.open_tickets) == 3
        with pytest.raises(RefusedRows, match="cannot have failed"):
            study.fail([two, one], "dropped")
        receipt = study.fail([one, two, three, three.id], "dropped", refused="report")
        statuses = ["conflict", "duplicate", "accepted", "duplicate"]
        assert [row.status for row in receipt] == statuses
        failures = [event.ticket for event in study.events() if event.kind == "failed"]
        assert failures == [2, 3]
        assert [ticket.id for ticket in study.open_tickets] == [four.id]
        sound(study)


def test_batches_that_are_refused(tmp_path, request):
    with begin(tmp_path / "s.db", request) as study:
        with pytest.raises(ValueError, match="of this study: got 1; it has none"):
            study.fail(batch=1, reason="x")
        study.ask(3)
        with pytest.raises(ValueError, match="of this study: got 2; they go from 1 to 1"):
            study.fail(batch=2, reason="x")
        for batch in (0, True, "1"):
            with pytest.raises((ValueError, TypeError), match="batch must be"):
                study.fail(batch=batch, reason="x")
        study.add_measurement("ash", 1.0, "notebook")  # of no batch
        assert len(study.open_tickets) == 3


def test_failing_a_batch_on_the_command_line(tmp_path, request):
    path = tmp_path / "s.db"
    with begin(path, request) as study:
        first = study.ask(3)[0].id
    assert command("fail", path, "--batch", "1", "--reason", "dropped") == (0, "3 accepted.\n", "")
    assert command("fail", path, first, "--reason", "dropped") == (0, "1 duplicate.\n", "")
    for arguments, message in [
        ([], "tickets, or --batch, must be given"),
        ([first, "--batch", "1"], "and not both"),
        (["--batch", "7"], "batch must be one of this study: got 7"),
    ]:
        code, _, err = command("fail", path, *arguments, "--reason", "x")
        assert code == 2
        assert message in err


# ---- open tickets


def test_open_tickets_know_when_they_were_asked_for(url, request):
    clock = Clock()
    with begin(url, request, clock) as study:
        first = study.ask(2, client="robot", lease=60)
        clock.now += 61
        taken = study.ask(3, client="lab")
        assert [ticket.time for ticket in taken] == [first[0].time] * 2 + [clock.now]
        study.tell([(taken[0], 1.0)])
        study.fail(taken[1], "spilt")
        assert study.open_tickets == taken[2:]


def test_tickets_on_the_command_line(tmp_path, request):
    path = tmp_path / "s.db"
    clock = Clock()
    clock.now = time.time() - 3 * 86400
    with begin(path, request, clock, arms=["<a>", "[b]", "c"]) as study:
        assert command("tickets", path) == (0, "0 open tickets.\n", "")
        study.ask(plate=Plate(2, 2, edge=True), client="[lab]", lease=60)
        study.ask(1, lease=4 * 86400)
        study.tell([(study.open_tickets[0], 1.0)])
    code, out, _ = command("tickets", path)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["ticket", "arm", "batch", "well", "client", "age", "due"]
    assert lines[1].split()[1:3] == ["[b]", "1"]
    assert lines[1].endswith("[lab]   3 d  overdue")
    assert lines[4].split()[1:3] == ["[b]", "2"]
    assert lines[4].endswith("  in 24 h")
    assert lines[5] == "4 open tickets, 3 of them overdue."
    code, out, _ = command("tickets", path, "--json")
    rows = json.loads(out)["tickets"]
    wanted = {"id", "arm", "batch", "well", "client", "lease_until", "time"}
    assert [set(row) for row in rows] == [wanted] * 4
    assert 3 * 86400 <= time.time() - rows[0]["time"] < 3 * 86400 + 600


# ---- notes

EVIL = "<script>alert(1)</script> [red]& 5 > 3"


def test_notes_are_kept_and_change_nothing(url, request, monkeypatch):
    """Names are also in pictures, which do not depend on the database."""
    if url.startswith("postgresql"):
        draw_nothing(monkeypatch)
    with begin(url, request, Clock(), arms=[*NAMES[:4], EVIL]) as study:
        tickets = study.ask(5)
        study.note("new lamp")
        study.note(EVIL, arm=EVIL, client="lab")
        study.note("cloudy", ticket=tickets[1])
        finish(study, MEANS, size=20)
        before = study.status()
        assert [(note.text, note.arm, note.ticket, note.client) for note in before.notes] == [
            ("new lamp", None, None, None),
            (EVIL, EVIL, None, "lab"),
            ("cloudy", "birch", tickets[1].id, None),
        ]
        assert before.notes[0].time == study.events()[6].time
        study.note("certified", ticket=tickets[1].id)
        after = study.status()
        assert after.arms == before.arms
        assert after.to_dict()["notes"][3]["text"] == "certified"
        sound(study)
        page = report_html(study)
        assert "<script" not in page
        assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; [red]&amp; 5 &gt; 3") >= 2
        assert f" on <bdi>birch</bdi> ({tickets[1].id}): <bdi>cloudy</bdi>" in page
        assert ", by <bdi>lab</bdi>: " in page


def test_notes_that_are_refused(tmp_path, request):
    with begin(tmp_path / "s.db", request) as study:
        [ticket] = study.ask()
        for text, about, message in [
            ("", {}, "text must be 1 to 1000 characters"),
            ("a\nb", {}, "none of them a control character"),
            (3, {}, "text must be text: got 3"),
            ("x", {"arm": "ashh"}, "got 'ashh'; nearest is 'ash'"),
            ("x", {"ticket": "zzzz-9"}, "ticket must be one of this study: got 'zzzz-9'"),
            ("x", {"arm": "ash", "ticket": ticket}, "arm must be left out if ticket is given"),
        ]:
            with pytest.raises((ValueError, TypeError), match=message):
                study.note(text, **about)
        assert study.status().notes == ()
        study.note("x", arm="ash")
        lines = list(study.export())
        for change in ({"ticket": 1}, {"arm": 5}, {"arm": -1}):
            last = json.loads(lines[-1]) | change
            wrong = json.dumps(last, sort_keys=True, separators=(",", ":"))
            with pytest.raises(ValueError, match="event 3, of kind 'note', is not possible"):
                import_study(tmp_path / "copy.db", [*lines[:-1], wrong], "wrong")


def test_notes_on_the_command_line(tmp_path, request):
    path = tmp_path / "s.db"
    with begin(path, request) as study:
        [ticket] = study.ask()
    said = command("note", path, "a new lot", "--arm", "ash")
    assert said == (0, "Noted.  The study has 1 note.\n", "")
    code, out, _ = command("note", path, EVIL, "--ticket", ticket.id, "--client", "me", "--json")
    assert code == 0
    assert json.loads(out)["notes"][1]["text"] == EVIL
    shown = f"2 notes (--json shows all), the last on {ticket.id}: {EVIL}"
    assert shown in command("status", path)[1].splitlines()
    status = json.loads(command("status", path, "--json")[1])
    assert [item["ticket"] for item in status["notes"]] == [None, ticket.id]
    code, _, err = command("note", path, "x", "--arm", "oak")
    assert (code, err) == (2, "Error: arm must be one of the study's: got 'oak'.\n")


# ---- another question


def values_of(study):
    """What was told: arms, values and membership of the pool, in order."""
    state = study.backend.known_state
    tickets = [state.tickets[number] for number in state.told]
    return [(ticket.arm, ticket.value, ticket.pooled) for ticket in tickets]


def test_a_copy_has_the_same_values_and_its_own_risk(url, request, tmp_path, without_pictures):
    with begin(url, request, budget=1000) as study:
        plate = Plate(4, 6, {"blank": 2})
        tickets = study.ask(plate=plate)
        study.fail(tickets[3], "a bubble")
        measure(study, study.open_tickets)
        study.add_measurement("elm", 0.3, "notebook")
        study.correct(tickets[0], 1.25, "misread")
        study.note("new lamp")
        study.set_budget(1500, "more")
        finish(study, MEANS)
        study.drop_arm("fir", "used up")
        lines = sound(study)
        copy = study.copy(url, f"{study.name} again", objective=Additive(0.35), delta=0.02)
        assert copy.design.uid != study.design.uid
        assert copy.design.delta == 0.02
        assert copy.status().budget == 1500
        assert values_of(copy) == values_of(study)
        assert any(pooled for _, _, pooled in values_of(copy))
        assert copy.status().outcome == "running"  # a harder question
        for arm, other in zip(copy.status().arms, study.status().arms, strict=True):
            assert (arm.measurements, arm.mean, arm.dropped) == (
                other.measurements,
                other.mean,
                other.dropped,
            )
        origin = copy.status().origin
        assert (origin.name, origin.uid) == (study.name, study.design.uid)
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
        assert (origin.events, origin.sha256) == (len(lines), digest)
        finish(copy, MEANS, seed=1)
        assert copy.status().outcome != "running"
        checked = verify(copy.certificate(), list(copy.export()))
        assert checked.ok, checked.problems
        result = replay(copy.events())
        assert result.ok, result.problems
        assert result.copied == replay(study.events()).tickets
        assert (
            0
            < result.tickets
            == len(copy.backend.known_state.told) - len(study.backend.known_state.told)
        )
        assert list(study.export()) == lines
        again = import_study(tmp_path / "copy.db", copy.export())
        assert again.certificate() == copy.certificate()
        twice = copy.copy(tmp_path / "copy.db", "a third", delta=0.3)
        assert replay(twice.events()).tickets == 0
        page = report_html(copy)
        assert f"copied from the study <bdi>{study.name}</bdi>, which had another" in page
        assert "the risk of that study adds to the risk of this one" in page


def test_an_easier_question_is_answered_by_the_same_values(tmp_path, request):
    """With the needs of its own delta; control: the same question at a smaller delta is not."""
    with finish(begin(tmp_path / "s.db", request, delta=0.2), MEANS) as study:
        easier = study.copy(tmp_path / "s.db", "easier", objective=Additive(0.6)).status()
        assert easier.good == NAMES[:3]
        stricter = study.copy(tmp_path / "s.db", "stricter", delta=1e-6).status()
        assert stricter.open
        assert stricter.arms[0].need > study.status().arms[0].need


def test_open_tickets_of_a_copy_are_its_own(tmp_path, request):
    with begin(tmp_path / "s.db", request) as study:
        measure(study, study.ask(5))
        left = study.ask(4, client="robot")
        copy = study.copy(tmp_path / "s.db", "second", objective=Additive(0.3))
        own = copy.open_tickets
        assert [(t.arm, t.batch, t.client) for t in own] == [(t.arm, 2, "robot") for t in left]
        assert {t.id for t in own}.isdisjoint(t.id for t in left)
        assert copy.tell([(left[0], 1.0)], refused="report").counts == {"unknown": 1}
        assert copy.ask(4, client="robot") == own
        assert copy.fail(batch=2, reason="measured for the other study").counts == {"accepted": 4}
        assert len(study.open_tickets) == 4


def test_confirmations_are_copied_where_they_are_needed(tmp_path, request):
    """About 7.8 sigmas off: suspect at a risk of 0.5, and not at one of 1e-9."""
    question = {"arms": ["a", "b"], "delta": 0.5, "model": Gaussian()}
    with begin(tmp_path / "s.db", request, **question) as study:
        study.tell([(t, 0.0) for t in study.ask(2)])
        with pytest.warns(UserWarning, match="is suspect"):
            study.add_measurement("a", 7.8, "far")
        [suspect] = study.status().suspects
        study.confirm(suspect.ticket, "seen")
        alike = study.copy(tmp_path / "s.db", "alike", objective=Additive(0.1))
        assert alike.certificate()["values"]["confirmed"] == [3]
        strict = study.copy(tmp_path / "s.db", "strict", delta=1e-9)
        assert strict.certificate()["values"]["confirmed"] == []
        assert strict.status().suspects == ()
        assert strict.status().measurements == alike.status().measurements == 3
        back = strict.copy(tmp_path / "s.db", "back", delta=0.5)
        assert [item.value for item in back.status().suspects] == [7.8]
        for item in (alike, strict, back):
            checked = verify(item.certificate(), list(item.export()))
            assert checked.ok, checked.problems


def test_copies_that_are_refused(tmp_path, request):
    path = tmp_path / "s.db"
    with begin(path, request) as study:
        for options, message in [
            ({"delta": 1.5}, "delta must lie strictly between 0 and 1"),
            ({"objective": 0.5}, "objective must be Additive"),
            ({"name": ""}, "name must be 1 to 1000 characters"),
            ({"name": study.name}, "already exists in .*Choose another name"),
        ]:
            with pytest.raises((ValueError, TypeError), match=message):
                study.copy(path, **({"name": "another"} | options))
        lines = list(study.copy(path, "another").export())
        for data in ({}, {"name": 3}, {"more": 1}):
            last = json.loads(lines[-1])
            last["data"] = last["data"] | data if data else data
            wrong = json.dumps(last, sort_keys=True, separators=(",", ":"))
            with pytest.raises(
                ValueError, match=r"event 2, .* do not name the study that was copied"
            ):
                import_study(path, [*lines[:-1], wrong], "wrong")


def test_copies_on_the_command_line(tmp_path, request):
    path = tmp_path / "first.db"
    with begin(path, request) as study:
        measure(study, study.ask(20))
    code, out, err = command("copy", path, tmp_path / "second.db", "--epsilon", "0.3")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("Study 'second': which of 5 arms are within 0.3 of the")
    assert "Its risk, 0.1, adds to the 0.1 of" in out
    assert (
        "the risk of that study adds to the risk of this one"
        in command("status", tmp_path / "second.db")[1]
    )
    code, out, _ = command("copy", path, path, "--new-name", "strict", "--delta", "0.01", "--json")
    assert code == 0
    assert json.loads(out)["delta"] == 0.01
    assert json.loads(out)["origin"]["events"] == 41
    code, out, _ = command("replay", tmp_path / "second.db", "--check")
    assert code == 0
    assert "20 tickets came from another study, which chose them." in out
    code, out, _ = command("replay", tmp_path / "second.db", "--json")
    assert json.loads(out)["copied"] == 20
    code, _, err = command("copy", path, tmp_path / "x.db", "--multiplicative")
    assert (code, err) == (2, "Error: --epsilon must be given with --multiplicative.\n")


@pytest.mark.parametrize("model", [Gaussian(), Gaussian([0.5, 2.0]), Gaussian(None)], ids=str)
@examples(15)
@given(
    n=st.tuples(*[st.integers(2, 3000)] * 2),
    m=st.tuples(*[st.floats(-3.0, 3.0)] * 2),
    epsilons=st.lists(st.floats(0.01, 4.0), min_size=2, max_size=4, unique=True),
)
def test_evidence_is_monotone_in_epsilon(model, n, m, epsilons):
    """What the risk of a copy rests on whose epsilon was chosen after a look.

    The verifier's lower bounds miss the minimum by 1e-6 at most.
    """
    stated = model.to_dict()
    sigma = model.sigma if isinstance(model.sigma, tuple | list | np.ndarray) else [1.0, 1.0]
    k, l = (verifier.Side(float(n[i]), m[i], float(n[i]), float(sigma[i])) for i in (0, 1))
    found = []
    for epsilon in sorted(epsilons):
        question = asked(Additive(epsilon), 0.1, stated, 2, True)
        if question.family == verifier.NORMAL:
            found.append([verifier.evidence(question, up, k, l, 1e9) for up in (1, -1)])
        else:
            found.append([searched_minimum(question, up, k, l) for up in (1, -1)])
    good, bad = np.array(found).T
    assert (np.diff(good) >= -1e-5 - 1e-6 * np.abs(good[1:])).all()
    assert (np.diff(bad) <= 1e-5 + 1e-6 * np.abs(bad[1:])).all()


def wrong_for_some_epsilon(delta, slack, runs):
    """Runs in which a label is ever wrong for an epsilon that is chosen after each look.

    With D the distance of the two arms the worst epsilons are D, for "bad", and just below D.
    """
    D, wrong = 0.5, 0
    for seed in range(runs):
        noise = np.random.default_rng(seed).standard_normal((2, 400)).cumsum(axis=1)
        for n in range(5, 400, 9):
            means = noise[:, n - 1] / n + [D, 0.0]
            bad = claims([n, n], means, Additive(D), delta)
            good = claims([n, n], means, Additive(D - 1e-9), delta)
            enough = [item.evidence[1] >= item.need[1] - slack for item in (bad, good)]
            if (means[1] < means[0] - D and enough[0]) or (means[1] > means[0] - D and enough[1]):
                wrong += 1
                break
    return wrong


def test_epsilon_may_be_chosen_after_a_look_at_twice_the_risk():
    """Fails with probability at most 1e-6 where the argument holds.

    The control has fifty times the risk.
    """
    delta, runs = 0.1, 20
    assert binom.sf(wrong_for_some_epsilon(delta, 0.0, runs) - 1, runs, 2.0 * delta) > 1e-6
    control = wrong_for_some_epsilon(delta, math.log(50.0), runs)
    assert binom.sf(control - 1, runs, 2.0 * delta) <= 1e-6


# ---- more arms


def test_arms_are_added_to_places_in_reserve(url, request, without_pictures):
    with begin(url, request, arms=NAMES[:3], max_new_arms=3) as study:
        measure(study, study.ask(9))
        need = min(arm.need for arm in study.status().arms)
        widths = [arm.high - arm.low for arm in study.status().arms]
        assert need == pytest.approx(math.log(4 * 6 / (0.999 * 0.1)))
        change = study.add_arms(NAMES[3:], "the second synthesis")
        assert change.consequence == (
            "2 arms are new, 5 in all. Nothing is certified before each has a value."
        )
        status = study.status()
        assert [arm.arm for arm in status.arms] == list(study.arms) == NAMES
        assert status.max_new_arms == 0
        assert all(arm.label == "open" and math.isnan(arm.need) for arm in status.arms)
        assert [ticket.arm for ticket in study.ask(2)] == NAMES[3:]
        measure(study, study.open_tickets)
        # K counts the reserve: needs and intervals are what they were
        again = study.status().arms[:3]
        assert min(item.need for item in again) == need
        assert [item.high - item.low for item in again] == pytest.approx(widths)
        finish(study, MEANS)
        assert study.status().outcome == "certified"
        assert study.status().good == NAMES[:3]
        lines = sound(study)
        certificate = study.certificate()
        assert certificate["question"]["max_new_arms"] == 1
        for change in (0, 2, None):
            forged = json.loads(json.dumps(certificate))
            forged["question"]["max_new_arms"] = change
            if change is None:
                del forged["question"]["max_new_arms"]
            problems = " ".join(verify(seal(forged), lines).problems)
            assert "need recomputes to" in problems
            assert "question: max_new_arms is 1 in the log" in problems
        page = report_html(study)
        assert "New arms: <bdi>elm</bdi>, <bdi>fir</bdi>; <bdi>the second synthesis</bdi>" in page
        assert "3 places kept for more arms, 2 taken; labels use a quarter of delta" in page
        # the question is that of the beginning
        begin(url, request, arms=NAMES[:3], max_new_arms=3, load_if_exists=True).close()
        with pytest.raises(StudyError, match="max_new_arms is 3, not null"):
            begin(url, request, arms=NAMES[:3], load_if_exists=True)


def test_needs_count_the_reserve_and_a_quarter_of_the_risk(tmp_path, request):
    """The same needs as with all arms from the start and a quarter of delta."""
    one = begin(tmp_path / "1.db", request, arms=NAMES[:3], max_new_arms=2, delta=0.2)
    other = begin(tmp_path / "2.db", request, arms=NAMES, delta=0.05)
    for study in (one, other):
        study.tell([(ticket.id, 0.5) for ticket in study.ask(10)])
    one.add_arms(NAMES[3:], "more")
    one.tell([(ticket.id, 0.5) for ticket in one.ask(2)])
    needs = [[arm.need for arm in study.status().arms] for study in (one, other)]
    assert needs[0] == pytest.approx(needs[1])


def test_additions_that_are_refused(tmp_path, request):
    path = tmp_path / "s.db"
    for options, message in [
        ({"max_new_arms": -1}, "max_new_arms must be a whole number of at least 0: got -1"),
        ({"max_new_arms": 1.5}, "max_new_arms must be a whole number of at least 0: got 1.5"),
        (
            {"max_new_arms": 1, "check_values": False},
            "max_new_arms must be 0 if values are not checked",
        ),
        ({"max_new_arms": 1, "model": Gaussian([1.0] * 5)}, "each arm has its own sigma"),
    ]:
        with pytest.raises(ValueError, match=message):
            begin(path, request, **options)
    with begin(path, request) as study, pytest.raises(ValueError, match="no places for new arms"):
        study.add_arms(["oak"], "x")
    with begin(tmp_path / "t.db", request, max_new_arms=2, budget=6) as study:
        study.ask(plate=Plate(1, 2, {"blank": 1}))
        for names, message in [
            ("oak", "arms must be a list of names: got 'oak'"),
            ([], "arms must be 1 to 2 more, .* got 0"),
            (["a", "b", "c"], "arms must be 1 to 2 more, .* got 3"),
            (["ash"], "different names: got 'ash' more than once"),
            ([""], r"arms\[5\] must be 1 to 1000"),
            (["blank"], "arms must not have the name of a control: got 'blank'"),
            (["oak", "yew"], "budget must allow one measurement of each of the 7 arms: got 6"),
        ]:
            with pytest.raises((ValueError, TypeError), match=message):
                study.add_arms(names, "x")
        study.add_arms(["oak"], "x")
        lines = list(study.export())
        with pytest.raises(ValueError, match=r"already added to this study.* in one call"):
            study.add_arms(["yew"], "x")
        assert list(study.export()) == lines
        for data in ({}, {"arms": "oak"}, {"arms": []}, {"arms": ["oak"] * 2}, {"arms": ["ash"]}):
            last = json.loads(lines[-1]) | {"data": data}
            wrong = json.dumps(last, sort_keys=True, separators=(",", ":"))
            with pytest.raises(ValueError, match="arms"):
                import_study(path, [*lines[:-1], wrong], "wrong")
    with finish(begin(tmp_path / "u.db", request, max_new_arms=1), MEANS) as study:
        with pytest.raises(ValueError, match="before the first label is certified: 'ash' is"):
            study.add_arms(["oak"], "x")
        sound(study)


def test_adding_arms_on_the_command_line(tmp_path):
    path = tmp_path / "s.db"
    options = ["--arms", "a,b", "--epsilon", "0.5", "--sigma", "1"]
    assert command("new", path, *options, "--max-new-arms", "2")[0] == 0
    said = "2 arms are new, 4 in all. Nothing is certified before each has a value.\n"
    assert command("add-arms", path, "--arms", "c,d", "--reason", "new") == (0, said, "")
    code, _, err = command("add-arms", path, "--arms", "e", "--reason", "new")
    assert code == 2
    assert "arms were already added to this study" in err
    assert load_study(path).arms == ("a", "b", "c", "d")


def wrong_after_adding(runs, delta):
    """Studies with a wrong label, where the new arm is made to mislead after a look.

    If the better arm was lucky so far, the new arm is just so much better that it is bad; if the
    worse one was, then just so much worse than it that it is good.
    """
    D, wrong = 0.3, 0
    for run in range(runs):
        rng = np.random.default_rng([0, run])
        means = [D, 0.0]
        study_cache = StudyCache(Gaussian(), Additive(D - 1e-6), 2, delta, max_new_arms=1)

        def more(n, study_cache=study_cache, rng=rng, means=means):
            tickets = study_cache.ask(n)
            study_cache.tell(*((number, means[a] + rng.standard_normal()) for number, a in tickets))

        more(24)
        if study_cache.engine.label_names() != ["open", "open"]:
            wrong += study_cache.wrong(means) > 0
            continue
        seen = study_cache.engine.sums / study_cache.engine.counts
        best = int(np.argmax(seen - means))  # the luckiest
        means.append(means[best] + D - 1e-9 if best == 0 else means[best] - D + 1e-9)
        study_cache.record("arms_added", data={"arms": ["a new one"]})
        for _ in range(8):
            more(24)
        assert study_cache.state.design.places == 3
        wrong += study_cache.wrong(means) > 0
    return wrong


def test_arms_made_after_a_look_do_not_void_the_guarantee(monkeypatch):
    """Fails with probability at most 1e-6 where the argument holds.

    The control has fifty times the risk.
    """
    runs, delta = repeats(60), 0.3
    assert binom.sf(wrong_after_adding(runs, delta) - 1, runs, delta) > 1e-6
    generous = property(lambda design: Generous(design.objective, design.risk_of_labels))
    monkeypatch.setattr(StudyDesign, "strategy", generous)
    assert binom.sf(wrong_after_adding(runs, delta) - 1, runs, delta) <= 1e-6


# ---- in memory


@pytest.mark.parametrize("where", [":memory:", "sqlite:///:memory:"])
def test_a_study_in_memory(where, request, tmp_path, monkeypatch, without_pictures):
    monkeypatch.chdir(tmp_path)
    with begin(where, request) as study, begin(where, request) as other:
        measure(study, study.ask(20))
        tickets = study.ask(5)
        with pytest.raises(RefusedRows):
            study.tell([(tickets[0], 1.0), ("nonsense", 1.0)])
        finish(study, MEANS)
        assert study.status().outcome == "certified"
        assert other.status().measurements == 0  # each has a database of its own
        checked = verify(study.certificate(), list(study.export()))
        assert checked.ok, checked.problems
        assert replay(study.events()).ok
        assert "Every label is certified" in report_html(study)
        copy = import_study(tmp_path / "kept.db", study.export())
        assert copy.certificate() == study.certificate()
        assert (
            study.copy(":memory:", "again", delta=0.01).status().measurements
            == copy.status().measurements
        )
        with pytest.raises(TypeError, match="a study in memory cannot be pickled"):
            pickle.dumps(study)
        with pytest.raises(StudyError, match="is known to the program that made it"):
            load_study(where)
    with pytest.raises(StudyError, match="a study in memory ends when it is closed"):
        study.events()
    assert all(path.name.startswith("kept.db") for path in tmp_path.iterdir())


def test_a_change_in_memory_that_fails_leaves_nothing(request, monkeypatch):

    def full(*_):
        raise OSError("no space left")

    study = begin(":memory:", request)
    [ticket] = study.ask()
    with monkeypatch.context() as broken:
        broken.setattr(EventLog, "append", full)
        with pytest.raises(OSError, match="no space"):
            study.tell([(ticket, 1.5)])
    assert study.status().measurements == 0
    assert study.tell([(ticket, 1.5)]).counts == {"accepted": 1}


def test_threads_share_a_study_in_memory(request):
    study = begin(":memory:", request)
    tickets = study.ask(40)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda ticket: study.tell([(ticket, 0.5)]), tickets))
    assert study.status().measurements == 40


@needs_posix
def test_a_fork_leaves_a_study_in_memory_to_its_parent(request):
    study = begin(":memory:", request)
    study.ask(3)
    child = os.fork()
    if child == 0:
        try:
            study.status()
        except StudyError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(study.open_tickets) == 3


def test_commands_keep_nothing_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--arms", "a,b", "--epsilon", "0.5", "--sigma", "1"]
    code, _, err = command("new", ":memory:", *options)
    assert code == 2
    assert err == "Error: the study must be kept in a file or a database: got ':memory:'.\n"
    code, _, err = command("status", ":memory:")
    assert code == 2
    assert "is known to the program that made it" in err
    assert list(tmp_path.iterdir()) == []


def test_counts_of_a_new_arm_are_not_taken_in_before_the_past(request):
    """What a label rests on was the state of the study at some time.

    The first values of arm a were unlucky.  Had the many values of the new arm come before the
    others, a would have been certified bad.  All values together certify nothing.
    """
    study = begin(":memory:", request, arms=["a", "b"], model=Gaussian(0.5), max_new_arms=1)
    study.add_measurement("b", 0.0, "b")
    for i in range(110):
        mean = -1.0 if i < 10 else 0.1
        study.add_measurement("a", mean + 0.1 * (-1) ** i, f"a{i}")
    study.add_arms(["v"], "a new idea")
    study.tell_counts([{"arm": "v", "n": 1250, "mean": 0.49}], source="web", period="1")
    status = study.status()
    assert [arm.label for arm in status.arms if arm.arm != "v"] == ["open", "open"]
    moments = study.backend.known_state.current_engine().moments
    assert all(moment.measurements == 1361 for moment in moments)
