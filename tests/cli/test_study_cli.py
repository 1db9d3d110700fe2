"""``allgood study`` and ``allgood verify`` as a person and as a script meet them."""

import functools
import gc
import json
import math
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from allgood import (
    Additive,
    Gaussian,
    Multiplicative,
    characteristic_time,
    create_study,
    load_study,
)
from allgood.cli import _end_quickly
from allgood.reporting import report

from ..study.test_study import MEANS, NAMES, finish
from ..support.command_line import allgood, in_a_process
from ..support.drawing import draw_nothing
from ..support.effort import examples

OPTIONS = ["--arms", ",".join(NAMES), "--epsilon", "0.5", "--delta", "0.1", "--sigma", "1"]


def call(*arguments, stdin=""):
    done = allgood(*arguments, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def a_study_of_trees():
    return create_study(
        "s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1, model=Gaussian(0.4)
    )


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_campaign_from_beginning_to_end(there, monkeypatch):
    draw_nothing(monkeypatch)
    monkeypatch.setattr(report, "PLATES", 1)
    code, out, _ = call("study", "new", "trees.db", *OPTIONS[:-1], "0.4")
    assert code == 0
    assert "Study 'trees': which of 5 arms are within 0.5 of the best?" in out
    rng, plates = np.random.default_rng(0), 0
    while True:
        sheet = there / f"plate-{plates}.csv"
        code, out, _ = call(
            "study", "ask", "trees.db", "--plate", "8x12", "--control", "blank=2", "--out", sheet
        )
        if "Nothing more to measure: certified." in out:
            assert code == 0
            break
        assert code == 0
        lines = sheet.read_text().splitlines()
        assert lines[0] == "plate,well,ticket,arm,value"
        assert len(lines) == 97
        filled = [lines[0]]
        for line in lines[1:]:
            arm = line.split(",")[3]
            value = rng.normal(MEANS[NAMES.index(arm)], 0.4) if arm != "blank" else 0.0
            filled.append(f"{line}{value}")
        sheet.write_text("\n".join(filled))
        code, out, _ = call("study", "tell", "trees.db", sheet)
        assert code == 0
        assert "94 accepted" in out
        assert "2 control" in out
        code, out, _ = call("study", "tell", "trees.db", sheet)  # once more
        assert "96 duplicate" in out
        plates += 1
    assert plates > 1
    code, out, _ = call("study", "status", "trees.db")
    assert code == 0
    assert "Every label is certified: 3 good, 2 bad, 0 open, of 5 arms after " in out
    code, out, _ = call("study", "certify", "trees.db", "--out", "certificate.json")
    assert (code, out.splitlines()[-1]) == (
        0,
        "Next: allgood verify certificate.json --study trees.db",
    )
    code, out, _ = call("verify", "certificate.json", "--study", "trees.db")
    assert (code, out) == (
        0,
        "Verified: 5 claims recomputed, and the events of the study agree.\n",
    )
    code, out, _ = call("verify", "certificate.json", "--json")
    assert code == 3
    verdict = json.loads(out).pop("verdict")
    assert verdict.startswith("Recomputed only: 5 claims recomputed from their own numbers.")
    assert json.loads(out) == {
        "status": "recomputed only",
        "ok": True,
        "verdict": verdict,
        "claims": 5,
        "log": False,
        "problems": [],
        "doubts": [],
        "conditions": [],
        "remark": None,
    }
    wrong = json.loads((there / "certificate.json").read_text())
    wrong["claims"][2]["rests_on"][0]["sums"][0] += 3.0
    (there / "wrong.json").write_text(json.dumps(wrong))
    code, out, _ = call("verify", "wrong.json")
    assert code == 1
    assert f"claim 3, that '{wrong['claims'][2]['arm']}' is" in out
    code, out, _ = call("study", "replay", "trees.db", "--check")
    assert code == 0
    assert "are chosen again as they were" in out
    code, out, _ = call("study", "export", "trees.db", "--out", "log.jsonl")
    assert code == 0
    code, out, _ = call("study", "import", "copy.db", "log.jsonl", "--name", "again", "--json")
    assert json.loads(out)["outcome"] == "certified"
    code, out, _ = call("study", "list", "copy.db", "--json")
    assert [study["name"] for study in json.loads(out)["studies"]] == ["again"]
    code, out, _ = call("study", "report", "trees.db", "--out", "report.html")
    assert code == 0
    assert (there / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_exit_codes_are_outcomes(there):
    call("study", "new", "s.db", *OPTIONS, "--budget", "5")
    assert call("study", "status", "s.db")[0] == 10
    code, out, _ = call(
        "study", "ask", "s.db", "-n", "5", "--json", "--client", "me", "--lease", "2h"
    )
    tickets = json.loads(out)["tickets"]
    assert tickets[0]["lease_until"] > 1e9
    assert call("study", "ask", "s.db", "--json")[0] == 10
    for ticket in tickets:
        assert call("study", "tell", "s.db", "--ticket", ticket["id"], "--value", "0.5")[0] == 0
    code, out, _ = call("study", "status", "s.db", "--json")
    assert code == 11
    status = json.loads(out)
    assert status["outcome"] == "budget exhausted"
    assert [arm["label"] for arm in status["arms"]] == ["open"] * 5
    assert call("study", "ask", "s.db")[0] == 11


def test_what_went_wrong_and_what_mends_it(there):
    call("study", "new", "s.db", *OPTIONS)
    tickets = json.loads(call("study", "ask", "s.db", "-n", "4", "--json")[1])["tickets"]
    first = tickets[0]["id"]
    call("study", "tell", "s.db", "--ticket", first, "--value", "0.5")
    code, out, _ = call("study", "tell", "s.db", "--ticket", first, "--value", "0.6")
    assert code == 1
    assert "was told as 0.5 and cannot be 0.6 too" in out
    assert "allgood study correct s.db TICKET VALUE --reason WHY" in out
    code, out, _ = call("study", "correct", "s.db", first, "0.6", "--reason", "misread")
    assert (code, out) == (0, f"The value of {first} is 0.6, no longer 0.5. No label changes.\n")
    code, out, _ = call("study", "fail", "s.db", tickets[1]["id"], "--reason", "spilt")
    assert (code, out) == (0, "1 accepted.\n")
    code, out, _ = call(
        "study",
        "tell",
        "s.db",
        "-",
        stdin=f"ticket,value\n{tickets[1]['id']},1\n{tickets[2]['id']},\n",
    )
    assert code == 1
    assert "allgood study add-measurement s.db ARM VALUE --source WHAT" in out
    assert "allgood study fail s.db TICKET --reason WHY" in out
    code, out, _ = call(
        "study",
        "tell",
        "s.db",
        "-",
        "--empty-failed",
        "no signal",
        stdin=f"ticket,value\n{tickets[2]['id']},\n",
    )
    assert (code, out.splitlines()[0]) == (0, "1 missing, 1 failed.")
    code, out, _ = call("study", "add-measurement", "s.db", "elm", "-0.25", "--source", "notebook")
    assert (code, out) == (0, "1 accepted.\n")
    code, out, _ = call("study", "correct", "s.db", first, "-0.5", "--reason", "sign")
    assert code == 0, out
    code, out, _ = call("study", "drop-arm", "s.db", "fir", "--reason", "used up")
    assert code == 0
    assert "leaves the question" in out
    code, _, err = call("study", "drop-arm", "s.db", "firr", "--reason", "used up")
    assert (code, err) == (
        2,
        "Error: arm must be one of the study's: got 'firr'; nearest is 'fir'.\n",
    )
    for arguments, message in [
        (["status", "none.db"], "no database file 'none.db'. `allgood study new` makes one."),
        (["status", "s.db", "--name", "x"], "there is no study 'x' in s.db"),
        (["tell", "s.db"], "a file, or --ticket and --value, must be given"),
        (["ask", "s.db", "--control", "x=1"], "--no-edge and --max-per-arm must come with --plate"),
        (["ask", "s.db", "--max-per-arm", "1"], "--max-per-arm must come with --plate"),
        (["ask", "s.db", "--preview", "--out", "x.csv"], "--out must be left out with --preview"),
        (
            ["ask", "s.db", "--plate", "8x12", "--control", "x"],
            "controls must have a name and then a number of wells or wells",
        ),
        (["ask", "s.db", "--lease", "soon"], "--lease must be a number of seconds, or such as 30m"),
        (["ask", "s.db", "--out", "no/x.csv"], "--out must be a new file in an existing folder"),
        (["new", "s.db", *OPTIONS], "got 's', which exists"),
        (
            ["new", "s.db", *OPTIONS],
            "--name OTHER.  How this one stands: allgood study status s.db",
        ),
        (["new", "t.db", *OPTIONS, "--epsilon", "-1"], "--epsilon must be positive: got -1."),
        (["copy", "s.db", "t.db", "--epsilon", "-1"], "--epsilon must be positive: got -1."),
        (
            ["new", "t.db", *OPTIONS, "--epsilon", "2", "--multiplicative"],
            "--epsilon must lie strictly between 0 and 1: got 2.",
        ),
        (
            ["set-budget", "s.db", "--budget", "-5", "--reason", "x"],
            "must be positive, or none: got -5",
        ),
        (
            ["set-budget", "s.db", "--budget", "0", "--reason", "x"],
            "must be positive, or none: got 0",
        ),
        (
            ["set-budget", "s.db", "--budget", "x", "--reason", "x"],
            "a whole number, or none: got 'x'",
        ),
        (["new", "t.db", *OPTIONS, "--arms", "@none"], "existing file after @"),
        (["delete", "s.db", "--name", "s"], "--yes must be given"),
        (["import", "s.db", "none.jsonl"], "'none.jsonl' cannot be used: there is no such file"),
        (["import", "t.db", "."], "'.' cannot be used: it is a folder, not a file"),
        (["tell", "s.db", "."], "'.' cannot be used: it is a folder, not a file"),
        (["tell", "s.db", "none.csv"], "'none.csv' cannot be used: there is no such file"),
        (["export", "s.db", "--json"], "--out must be given with --json"),
        (["new", "t.db", "--arms", "a,b", "--epsilon", "1"], "or --sigma unknown"),
        (["plan", "--means", "1,0", "--epsilon", "0.5"], "--sigma must be a number here"),
        (
            ["plan", "--means", "1,0", "--epsilon", "0.5", "--sigma", "unknown"],
            "--model unknown-sigma plans a study that does not know it",
        ),
        (["plan"], "--means and --epsilon must be given, or --like"),
        (["plan", "--like", "s.db"], "every arm has a value"),
    ]:
        code, _, err = call("study", *arguments)
        assert code == 2, arguments
        assert message in err, arguments
        assert err.count("\n") == 1
    assert call("study", "delete", "s.db", "--name", "s", "--yes")[0] == 0
    assert "No study yet." in call("study", "list", "s.db")[1]
    (there / "rubbish.json").write_text("{")
    code, _, err = call("verify", "rubbish.json")
    assert code == 2
    assert "must be a JSON file" in err


@pytest.mark.parametrize("option", ["--epsilon", "--delta"])
def test_options_that_are_no_numbers_are_shown(there, option):
    for command in (["study", "new", "t.db", *OPTIONS], ["claims", "t.csv", "--epsilon", "1"]):
        code, _, err = call(*command, option, "15%")
        assert code == 2
        assert f"Invalid value for '{option}': must be a number: got '15%'; 15 % is 0.15." in err
        assert "must be a number: got 'x'." in call(*command, option, "x")[2]


def test_hints_name_the_study_and_hide_the_password(there):
    call("study", "new", "s.db", *OPTIONS)
    code, out, _ = call("study", "new", "s.db", *OPTIONS, "--name", "a second")
    assert code == 0
    assert "Next: allgood study ask s.db --name 'a second' -n 8" in out
    from allgood.cli.show import named

    assert named("postgresql://me:secret@host/db", None) == "'postgresql://me:***@host/db'"


def test_all_or_nothing_is_nothing(there):
    call("study", "new", "s.db", *OPTIONS)
    tickets = json.loads(call("study", "ask", "s.db", "-n", "2", "--json")[1])["tickets"]
    sheet = f"ticket,value\n{tickets[0]['id']},\n{tickets[1]['id']},x\n"
    before = load_study("s.db").status().events
    code, _, _ = call(
        "study", "tell", "s.db", "-", "--all-or-nothing", "--empty-failed", "lost", stdin=sheet
    )
    assert code == 1
    assert load_study("s.db").status().events == before


def test_one_mistake_in_a_sheet_is_not_told_84_times(there):
    call("study", "new", "s.db", *OPTIONS)
    tickets = json.loads(call("study", "ask", "s.db", "-n", "84", "--json")[1])["tickets"]
    sheet = "ticket,value\n" + "".join(f"{ticket['id']},1.5 mg\n" for ticket in tickets)
    code, out, _ = call("study", "tell", "s.db", "-", stdin=sheet)
    lines = out.splitlines()
    assert (code, lines[0], len(lines)) == (1, "84 invalid.", 12)
    assert lines[10].startswith("- line 11, column value: must be a plain decimal number")
    assert lines[11] == "... and 74 more like this"
    code, out, _ = call("study", "tell", "s.db", "-", "--json", stdin=sheet)
    assert len(json.loads(out)["rows"]) == 84
    foreign = "ticket,value\n" + "".join(f"zzzz-{i + 1},1.5\n" for i in range(84))
    code, out, _ = call("study", "tell", "s.db", "-", stdin=foreign)
    assert (code, out.count("\n")) == (1, 2)
    assert "- the sheet seems to be of another study" in out


def test_an_arm_without_rivals_has_nothing_to_show(there):
    study = create_study("s.db", "s", arms=["a", "b"], objective=Additive(0.5), delta=0.1)
    with finish(study, [5.0, 0.0]):
        assert math.isinf(study.status().arms[0].evidence)
    _, out, _ = call("study", "status", "s.db")
    [row] = [line for line in out.splitlines() if line.startswith("a ")]
    assert "no rival left" in row
    assert "inf" not in row
    call("study", "report", "s.db")
    assert "no rival left" in (there / "report.html").read_text()


def test_sigma_is_given_or_said_to_be_unknown(there):
    code, out, err = call("study", "new", "s.db", *OPTIONS[:-2])
    assert (code, out) == (2, "")
    assert err == (
        "Error: --sigma must be given for normal measurements: --sigma NUMBER, the standard "
        "deviation of repeated measurements of one arm, or --sigma unknown, which takes more of "
        "them.\n"
    )
    assert not (there / "s.db").exists()
    assert call("study", "new", "s.db", *OPTIONS[:-1], "unknown")[0] == 0
    assert load_study("s.db").design.model == Gaussian(None)
    assert call("study", "new", "t.db", *OPTIONS[:-2], "--model", "bernoulli")[0] == 0
    code, _, err = call("study", "new", "u.db", *OPTIONS[:-1], "unknown", "--model", "bernoulli")
    assert code == 2
    assert "--sigma must be left out where rewards are not normal" in err
    instance = ["--means", "1,0", "--epsilon", "0.5", "--runs", "3", "--json"]
    one, other = (
        call("simulate", *instance, *options)[1]
        for options in (["--sigma", "unknown"], ["--model", "unknown-sigma"])
    )
    assert json.loads(one) == json.loads(other)


def test_plans(there):
    question = ["--means", "1,1,0.9,0.2,0", "--epsilon", "0.5", "--delta", "0.1"]
    options = [*question, "--sigma", "1", "--runs", "10"]
    code, out, _ = call("study", "plan", *options, "--json")
    assert code == 0
    one = json.loads(out)
    assert one["lower_bound"] < one["measurements"][0] < 3000
    assert one["ended"] == 10
    code, out, _ = call("study", "plan", *options, "--plate", "96")
    assert code == 0
    assert "plates" in out
    assert "with 96 measurements at once" in out
    assert "lower bound" in out
    assert "in 8 of 10 simulated studies" in out
    few = [*options[:-1], "5"]
    assert "in 5 of 5 simulated studies" in call("study", "plan", *few)[1]
    with finish(a_study_of_trees(), MEANS):
        pass
    code, out, _ = call("study", "plan", "--like", "s.db", "--runs", "5", "--json")
    assert code == 0
    assert json.loads(out)["runs"] == 5
    code, out, _ = call("study", "plan", *options, "--budget", "50", "--batch", "10")
    assert "10 of 10 studies were given up after 50 measurements" in out


@pytest.mark.parametrize("batch", [1, 10])
def test_what_a_budget_certifies(there, batch):
    """Labels by then, and how many of all the best guess has right."""
    question = ["--means", "3,2.9,0.2,0", "--epsilon", "0.5", "--sigma", "1", "--runs", "10"]
    options = [*question, "--batch", str(batch), "--budget", "80"]
    code, out, _ = call("study", "plan", *options, "--json")
    assert code == 0
    plan = json.loads(out)
    assert plan["ended"] < plan["runs"]  # to show that arms 0 and 1 are good takes longer
    assert plan["labels"][0] == pytest.approx(plan["good"][0] + plan["bad"][0])
    assert 1.0 <= plan["bad"][0] <= 2.0  # arms 2 and 3, which are far below
    assert plan["labels"][0] <= plan["right"][0] <= plan["arms"] == 4
    assert plan["right"][0] > 3.0
    for name in ("labels", "good", "bad", "right"):
        assert 0.0 <= plan[name][1] <= plan[name][2] <= 4.0
    code, out, _ = call("study", "plan", *options)
    assert "after 80 measurements, before every label was certified.\nBy then, of 4 labels:" in out
    assert re.search(r"certified +\d\.\d on average, \d to \d in 8 of 10 simulated studies", out)
    assert re.search(r"guessed right +\d\.\d on average, \d to 4 in 8 of 10", out)
    code, out, _ = call("study", "plan", *options[:-1], "100000")
    assert "Every label was certified within the budget in all simulated studies." in out
    assert "guessed" not in out
    code, _, err = call("study", "plan", *options[:-1], "3")
    assert code == 2
    assert "budget must allow one measurement of each of the 4 arms: got 3" in err


def test_an_older_certificate_is_verified_up_to_its_moment(there):
    assert call("study", "new", "s.db", *OPTIONS)[0] == 0
    assert call("study", "new", "t.db", *OPTIONS)[0] == 0
    study = load_study("s.db")
    study.tell([(ticket.id, 0.5) for ticket in study.ask(5)])
    assert call("study", "certify", "s.db", "--out", "old.json")[0] == 0
    study.tell([(ticket.id, 0.5) for ticket in study.ask(5)])
    code, out, _ = call("verify", "old.json", "--study", "s.db")
    assert code == 0
    assert "The certificate is of an earlier moment: event 11 of 21. Up to there everything" in out
    assert "A certificate of now: allgood study certify s.db --out NEW.json" in out
    code, out, _ = call("verify", "old.json", "--study", "s.db", "--json")
    assert json.loads(out)["remark"].startswith("The certificate is of an earlier moment")
    code, out, _ = call("verify", "old.json", "--study", "t.db")
    assert code == 1
    assert out == (
        "this certificate is of study 's', not of 't', whose log was given.\n"
        "Not verified: 1 problem.\n"
    )


@pytest.mark.parametrize("command", [["tell"], ["tell-counts", "--source", "t", "--period", "1"]])
def test_swapped_arguments_are_noticed(there, command):
    assert call("study", "new", "s.db", *OPTIONS)[0] == 0
    (there / "t.csv").write_text("ticket,value\n")
    code, _, err = call("study", command[0], "t.csv", "s.db", *command[1:])
    assert code == 2
    assert "the study must come first, and then the file: got 't.csv' and then 's.db'" in err
    assert "Swap the two arguments." in err


def test_a_plan_says_that_it_counts_from_the_beginning(there):
    with finish(a_study_of_trees(), MEANS):
        pass
    told = load_study("s.db").status().measurements
    code, out, _ = call("study", "plan", "--like", "s.db", "--runs", "2")
    assert code == 0
    assert "the total of a new study with the averages of s.db, from its beginning" in out
    assert f"The {told:,} measurements told so far are not taken off." in out
    assert "What is still to do: allgood study forecast s.db\n" in out
    code, out, _ = call("study", "plan", "--like", "s.db", "--runs", "2", "--json")
    assert json.loads(out)["already_told"] == told


def test_status_imports_nothing_that_it_does_not_need(there):
    """Seconds depend on the machine; what makes them is which modules are imported."""
    assert call("study", "new", "s.db", *OPTIONS)[0] == 0
    code = (
        "import sys; from allgood.cli import main\n"
        "sys.argv = ['allgood', 'study', 'status', 's.db']\n"
        "try: main()\n"
        "except SystemExit as stop: assert stop.code == 10\n"
        "heavy = {'matplotlib', 'scipy', 'sqlalchemy.orm', 'sqlalchemy.dialects.postgresql',\n"
        "         'allgood.simulation.compare', 'allgood.simulation.simulate', 'http.client',\n"
        "         'allgood.study.forecast', 'allgood.theory.bounds',\n"
        "         'allgood.theory.characteristic'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Still running: 0 good, 0 bad, 5 open" in done.stdout
    assert done.stdout.endswith("[]\n")


def test_names_are_shown_as_they_are(there):
    names = ":star:,[red]R,a:b"
    assert call("study", "new", "s.db", "--arms", names, "--epsilon", "1", "--sigma", "1")[0] == 0
    _, out, _ = call("study", "status", "s.db")
    for name in names.split(","):
        assert f"\n{name} " in out


def test_a_command_leaves_no_log_of_sqlite_behind(there):
    """Whoever copies the file then has everything.  Also if the command fails."""
    create_study("s.db", "s", arms=NAMES, objective=Additive(0.5), delta=0.1).close()
    done = in_a_process("study", "ask", "s.db", cwd=there)
    assert done.returncode == 0, done.stderr
    assert not list(there.glob("s.db-*"))
    for command, code in (("ask", 0), ("status", 10), ("status --name other", 2), ("list", 0)):
        word, *more = command.split()
        assert call("study", word, "s.db", *more)[0] == code  # this process goes on
        assert not list(there.glob("s.db-*")), command


def test_in_a_process_of_its_own(there):
    assert call("study", "new", "s.db", *OPTIONS)[0] == 0
    done = in_a_process("study", "tell", "s.db", "s.db", cwd=there)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: The sheet must be text")
    assert "Traceback" not in done.stderr


PIECES = [
    "ticket",
    "value",
    "arm",
    "well",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    '"',
    "'",
    "=",
    "1",
    "-2.5",
    "1,5",
    "nan",
    "inf",
    "1e999",
    "",
    " ",
    "\ufeff",
    "\0",
    "\u00e9",
    "TAG-1",
    "TAG-2",
    "TAG-3",
    "TAG-99",
    "ash",
    "birch",
    "oak",
    "_",
]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    """A file with a study, and the study, to look at what others do to it."""
    path = tmp_path_factory.mktemp("fuzz") / "s.db"
    with create_study(path, "s", arms=NAMES, objective=Additive(0.5), delta=0.1) as study:
        study.ask(20)
        yield path, study


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
        st.lists(
            st.tuples(
                st.sampled_from(["TAG-7", "TAG-8", "TAG-9", "TAG-999", ""]), st.sampled_from(PIECES)
            ),
            max_size=8,
        ).map(lambda rows: "ticket,value\n" + "".join(f"{a},{b}\n" for a, b in rows)),
    )
)
@example("ticket,value\nTAG-10,1\nTAG-10,2\nTAG-11,x\nTAG-12,3\n")
@example("ticket;value\nTAG-13;1,5\n")
def test_no_sheet_whatever_ends_in_a_traceback(fuzzed, tmp_path, content):
    """Nothing escapes; what is said to be counted is counted, and nothing else is."""
    path, study = fuzzed
    sheet = tmp_path / "sheet.csv"
    sheet.write_bytes(
        content if isinstance(content, bytes) else content.replace("TAG", study.design.tag).encode()
    )
    before = study.status()
    code, out, err = call("study", "tell", path, sheet, "--json")
    after = study.status()
    assert code in (0, 1, 2)
    if code == 2:
        assert err.startswith("Error: ")
        assert err.count("\n") == 1
        assert after.events == before.events
        return
    found = json.loads(out)
    accepted = [row for row in found["rows"] if row["status"] == "accepted"]
    assert after.measurements - before.measurements == len(accepted)
    assert after.events - before.events == len(accepted)
    assert (code == 1) == any(
        row["status"] in ("conflict", "unknown", "invalid") for row in found["rows"]
    )
    assert all(
        row["message"] and row["line"]
        for row in found["rows"]
        if row["status"] in ("unknown", "invalid")
    )


def test_a_bound_that_may_be_loose_says_so(tmp_path, monkeypatch):
    url = str(tmp_path / "s.db")
    question = {"objective": Multiplicative(0.3), "delta": 0.1, "model": Gaussian(0.02)}
    with create_study(url, "s", arms=list("abcd"), **question) as study:
        values = (1.0, 0.8, 0.6, 0.1)
        study.tell([(t.id, v) for t, v in zip(study.ask(4), values, strict=True)])
    code, out, _ = call("study", "forecast", url)
    assert (code, "may be loose" in out) == (0, False)
    _, out, _ = call("study", "forecast", url, "--json")
    assert json.loads(out)["lower_bound_remark"] is None
    assert 0.0 <= json.loads(out)["lower_bound_gap"] <= 1e-3

    short = functools.partial(characteristic_time, max_iterations=1)
    monkeypatch.setattr("allgood.study.forecast.characteristic_time", short)
    _, out, _ = call("study", "forecast", url, "--json")
    found = json.loads(out)
    assert found["lower_bound_gap"] > 0.03
    sentence = f"it could be up to {100 * found['lower_bound_gap']:,.0f} % higher."
    assert "may be loose" in found["lower_bound_remark"]
    assert sentence in found["lower_bound_remark"]
    _, out, _ = call("study", "forecast", url)
    assert found["lower_bound_remark"] in " ".join(out.split())


def test_no_bound_and_no_forecast_where_they_would_take_minutes(tmp_path, monkeypatch):
    monkeypatch.setattr("allgood.study.forecast.MAX_ARMS", 2)
    url = str(tmp_path / "s.db")
    for name, arms in ("few", ["a", "b"]), ("many", ["a", "b", "c"]):
        with create_study(url, name, arms=arms, objective=Additive(0.5), delta=1e-4) as study:
            rows = [{"arm": arm, "n": 80, "sum": 80.0 * i} for i, arm in enumerate(arms)]
            study.tell_counts(rows, source="sheet", period="all")
    sentence = "With more than 2 arms a lower bound and a forecast may take minutes, so neither"
    _, out, _ = call("study", "forecast", url, "--name", "many", "--json")
    assert json.loads(out)["lower_bound"] is None
    assert sentence in json.loads(out)["lower_bound_remark"]
    code, out, _ = call("study", "forecast", url, "--name", "many")
    assert code == 0
    assert sentence in out
    assert "must expect at least" not in out
    assert "Perhaps" not in out
    code, out, _ = call("study", "forecast", url, "--name", "few")
    assert sentence not in out
    assert "Any strategy must expect at least" in out
    assert "Perhaps" in out


def test_what_is_asked_for_again_is_said(there):
    assert call("study", "new", "s.db", *OPTIONS)[0] == 0
    asking = ["study", "ask", "s.db", "--plate", "4x6", "--client", "Ann"]
    assert "asked for before" not in call(*asking, "--out", "one.csv")[1]
    _, out, _ = call(*asking, "--out", "two.csv")
    assert "24 measurements were asked for before, on plate 1." in out
    command = re.search("are closed: allgood (study fail .*) --reason WHY", out)[1]
    assert call(*command.split(), "--reason", "dropped")[0] == 0
    assert "asked for before" not in call(*asking, "--out", "three.csv")[1]
    one = ["study", "ask", "s.db", "-n", "1", "--client", "Bob"]
    assert "asked for before" not in call(*one)[1]
    assert "1 measurement was asked for before and had no value yet." in call(*one)[1]


def test_dropping_an_arm_that_others_need(there):
    with create_study(
        "s.db", "s", arms=["a", "b", "c"], objective=Additive(1), delta=0.1, clock=lambda: 1.0
    ) as study:
        means = {"a": 9.0, "b": 8.05, "c": 0.0}
        for _ in range(60):
            rows = [(t, means[t.arm] + 0.3 * math.sin(int(t.id[5:]))) for t in study.ask(4)]
            study.tell(rows)
            if study.status().good:
                break
        status = study.status()
    assert (status.good, status.open) == (["a"], ["b"])
    _, out, _ = call("study", "drop-arm", "s.db", "a", "--reason", "used up")
    assert "Arm 'a' is certified good and stays so" in out
    assert "1 open arm is compared with it at present, and may now stay open" in out


def test_no_database_is_closed_while_a_thread_may_use_it(there):
    going_on = threading.Event()
    other = threading.Thread(target=going_on.wait)
    with create_study("s.db", "s", arms=["a"], objective=Additive(1), delta=0.1) as study:
        other.start()
        try:
            frozen = gc.get_freeze_count()
            _end_quickly()
            assert study.backend.storage._connection is not None
            assert gc.get_freeze_count() == frozen
        finally:
            going_on.set()
            other.join()


def test_values_are_withdrawn_and_replaced_and_arms_restored_by_commands(there):
    study = a_study_of_trees()
    tickets = study.ask(5)
    study.tell([(ticket.id, 1.0) for ticket in tickets])
    first, second = tickets[0].id, tickets[1].id
    who = ("--client", "ana")
    code, out, _ = call(
        "study", "withdraw", "s.db", first, "--reason", "bubble", "--basis", "cause", *who
    )
    assert code == 0
    assert "1 value is withdrawn and does not count any more. The guarantee holds only if" in out
    code, _, errors = call("study", "withdraw", "s.db", "--reason", "r", "--basis", "cause")
    assert (code, "exactly one of tickets, batch and source" in errors) == (2, True)
    (there / "right.csv").write_text(f"ticket,value\n{first},1.5\n{second},1.25\n")
    code, out, _ = call("study", "replace", "s.db", "right.csv", "--reason", "swapped", *who)
    assert (code, out.splitlines()[:2]) == (0, ["2 corrected.", "No label changes."])
    (there / "empty.csv").write_text(f"ticket,value\n{first},\n")
    code, out, _ = call("study", "replace", "s.db", "empty.csv", "--reason", "swapped")
    assert code == 1
    assert "To let a value count no more: allgood study withdraw s.db TICKET" in out
    for command in ("drop-arm", "restore-arm"):
        code, out, _ = call("study", command, "s.db", NAMES[0], "--reason", "r", *who)
        assert code == 0
    assert "may be measured again" in out
    assert {event.client for event in study.events()[11:]} == {"ana"}
    code, out, _ = call("study", "status", "s.db", "--json")
    assert json.loads(out)["withdrawn_values"] == 0
