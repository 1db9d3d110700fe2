"""Studies on a server do all that studies in a database do.

The tests of ``test_study.py`` run here once more, with a server between.
"""

import inspect
import pickle
import threading
import time
from contextlib import ExitStack

import pytest

import allgood
from allgood import Additive, Bernoulli, Gaussian, Plate, StudyError, connect
from allgood.serve.tokens import add_token, read_tokens
from allgood.study.backends import http as servers
from allgood.study.backends.errors import DatabaseUnavailable
from allgood.study.backends.http import HttpBackend
from allgood.study.tables.sheets import write_sheet

from ..support.command_line import allgood as command
from ..support.server_thread import serving
from . import test_study
from .test_study import *  # noqa: F403
from .test_study import clock  # noqa: F401

FUNCTIONS = ("create_study", "load_study", "list_studies", "delete_study", "import_study")
# These change a database, or the code that writes into it, behind its back.
for _local in (
    "test_a_value_that_was_not_stored_is_not_taken_for_told",
    "test_a_lease_begins_when_the_ticket_is_given",
    "test_urls",
):
    del globals()[_local]
# These ask and tell thousands of times.
for _long in (
    "test_rewards_as_simulated",
    "test_a_study_read_anew_is_the_study_that_went_on",
    "test_forecasts",
    "test_a_correction_may_change_labels_and_nothing_else_does",
    "test_the_log_comes_back_as_it_was",
):
    del globals()[_long]
# Without a folder there is no database, and no server: these would only be run twice.
for _name, _test in vars(test_study).items():
    if _name.startswith("test_") and "tmp_path" not in inspect.signature(_test).parameters:
        del globals()[_name]


@pytest.fixture(autouse=True)
def with_a_server_between(monkeypatch):
    """The functions that take a database are given the address of its server instead."""
    addresses = {}

    def moved(function):
        def call(url, *arguments, **options):
            if str(url) not in addresses:
                server = serving(url, options.get("clock"))
                addresses[str(url)] = stack.enter_context(server)
            return function(addresses[str(url)], *arguments, **options)

        return call

    with ExitStack() as stack:
        for name in FUNCTIONS:
            monkeypatch.setattr(test_study, name, moved(getattr(allgood, name)))
        yield


@pytest.fixture
def both(tmp_path):
    """Where the same is done twice: a database, and a server."""
    with serving(tmp_path / "served.db") as address:
        yield str(tmp_path / "local.db"), address


def told(receipt, study):
    """A receipt without the letters of the study."""
    tag = study.design.tag
    return [
        (row.status, row.value, row.message.replace(tag, "TAG"), row.line, row.arm, row.remedy)
        for row in receipt
    ]


def changes(study):
    """A campaign with all that can happen, as what its calls return."""
    seen = []
    plate = Plate(4, 6, {"DMSO": ["A1", "D6"], "low": 2})
    tickets = study.ask(18, client="robot", plate=plate)
    seen.append([(t.arm, t.batch, t.well, t.client) for t in tickets])
    rows = [{"ticket": t.id, "value": 0.1 * i, "arm": t.arm} for i, t in enumerate(tickets)]
    rows[3]["value"] = 4000.0
    rows[4]["value"] = "n/a"
    rows[5]["value"] = None
    rows[6]["ticket"] = "nobody"
    rows.append({"ticket": None, "well": "A1", "plate": 1, "value": 3.5})
    judged = study.preview(rows)
    assert study.status().measurements == 0
    with pytest.warns(allgood.SuspectWarning, match="4000"):
        receipt = study.tell(rows, refused="report", client="reader")
    assert told(judged, study) == told(receipt, study)
    seen.append((told(receipt, study), receipt.counts, receipt.notes))
    seen.append(study.confirm(tickets[3], "looked at the instrument").labels)
    seen.append(study.correct(tickets[3].id, 0.4, "a lost point").labels)
    seen.append(study.correct("1:A1", 3.0, "a lost point").consequence)
    seen.append(told(study.fail(tickets[4], "dropped"), study))
    seen.append(told(study.fail(tickets[4:7], "dropped"), study))
    seen.append(told(study.fail(batch=1, reason="dropped"), study))
    seen.append(told([study.add_measurement("c", 0.3, "an old book")], study))
    seen.append(study.set_budget(60, "more money").consequence)
    study.note("the reader was cleaned", arm="b", client="Ann")
    seen.append([(note.text, note.arm, note.client) for note in study.status().notes])
    seen.append(study.drop_arm("d", "none left").consequence)
    with pytest.raises(ValueError, match="reason must be") as caught:
        study.drop_arm("a", " ")
    seen.append(str(caught.value))
    with pytest.raises(TypeError, match="must be text") as caught:
        study.note(7)
    seen.append(str(caught.value))
    for wrong in ({"n": 0}, {"n": "many"}, {"n": 3, "lease": -1.0}, {"plate": "96"}):
        with pytest.raises((ValueError, TypeError)) as caught:
            study.ask(**wrong)
        seen.append(f"{type(caught.value).__name__}: {caught.value}")
    return seen


def test_the_same_is_answered(both):
    options = {"objective": Additive(0.5), "delta": 0.1, "seed": 3, "budget": 30}
    seen = []
    for url in both:
        with allgood.create_study(url, "twice", arms=list("abcdef"), **options) as study:
            happened = changes(study)
            kinds = [event.kind for event in study.events()]
            columns = study.table().columns
            values = {key: columns[key] for key in ("arm", "value", "state", "first", "batch")}
            seen.append((happened, kinds, values, study.status().table().columns))
    assert seen[0][0] == seen[1][0]
    assert repr(seen[0]) == repr(seen[1])


def test_counts(both):
    rows = [{"arm": "a", "n": 100, "sum": 40}, {"arm": "b", "n": 90, "mean": 0.5}]
    seen = []
    for url in both:
        options = {"objective": Additive(0.1), "delta": 0.1, "model": Bernoulli()}
        with allgood.create_study(url, "days", arms=["a", "b"], **options) as study:
            judged = study.preview_counts(rows, source="table", period="Monday")
            assert study.status().measurements == 0
            first = study.tell_counts(rows, source="table", period="Monday")
            assert told(judged, study) == told(first, study)
            renamed = [{"page": "a", "visitors": 100, "sum": 41}]
            columns = {"arm": "page", "n": "visitors"}
            options = {"source": "table", "period": "Monday", "columns": columns}
            [row] = study.preview_counts(renamed, **options)
            assert (row.status, row.remedy) == ("conflict", "correct")
            [row] = study.preview_counts(renamed, correct="robots", **options)
            assert row.status == "corrected"
            again = study.tell_counts(rows, source="table", period="Monday")
            change = study.correct(first.rows[0].ticket, {"n": 100, "sum": 41}, "a typing error")
            seen.append((told(first, study), told(again, study), change.labels))
    assert seen[0] == seen[1]
    assert [row[0] for row in seen[0][1]] == ["duplicate", "duplicate"]


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.xlsx"])
def test_sheets(both, tmp_path, name):
    seen = []
    for i, url in enumerate(both):
        options = {"objective": Additive(0.5), "delta": 0.1}
        with allgood.create_study(url, "sheets", arms=["a", "=b", "ä"], **options) as study:
            path = tmp_path / f"{i}-{name}"
            write_sheet(path, study.sheet(study.ask(3, plate=Plate(2, 3))))
            seen.append(told(study.tell(path, refused="report"), study))
            grid = tmp_path / f"{i}.csv"
            grid.write_text(",1,2,3\nA,0.5,0.6,0.7\nB,0.8,0.9,1.0\n")
            seen.append(told(study.tell(grid, grid=1, refused="report"), study))
    assert seen[:2] == seen[2:]


def test_a_worker_in_another_process_connects_again(both):
    options = {"objective": Additive(0.5), "delta": 0.1}
    study = allgood.create_study(both[1], "work", arms=["a", "b"], **options)
    again = pickle.loads(pickle.dumps(study))
    assert isinstance(again.backend, HttpBackend)
    assert again.ask(1)[0].arm == "a"
    assert study.status().pending == 1


def test_a_copy_goes_from_anywhere_to_anywhere(both):
    options = {"objective": Additive(0.5), "delta": 0.1}
    for source in both:
        study = allgood.create_study(source, "original", arms=["a", "b"], **options)
        for target in both:
            name = f"copy of {source == target}"
            copy = study.copy(target, name, objective=Additive(0.7))
            assert copy.design.objective == Additive(0.7)
    names = [sorted(allgood.list_studies(url)) for url in both]
    assert names[0] == names[1] == ["copy of False", "copy of True", "original"]


def test_tokens(tmp_path, monkeypatch):
    file = tmp_path / "tokens"
    tokens = {role: add_token(file, role) for role in ("read", "measure", "manage")}
    with serving(tmp_path / "s.db", tokens=read_tokens(file)) as address:
        with pytest.raises(StudyError, match="token must be given"):
            connect(address)
        with pytest.raises(StudyError, match="one that this server knows"):
            connect(address, token="guessed")
        monkeypatch.setenv("ALLGOOD_TOKEN", tokens["manage"])
        allgood.create_study(address, "s", arms=["a"], objective=Additive(1), delta=0.1)
        reader = connect(address, token=tokens["read"])
        assert reader.status().outcome == "running"
        with pytest.raises(StudyError, match="needs a token with the role measure"):
            reader.ask()
        worker = connect(address, "s", token=tokens["measure"])
        assert worker.ask()[0].arm == "a"
        with pytest.raises(StudyError, match="needs a token with the role manage"):
            worker.drop_arm("a", "no reason")


def test_the_command_line_takes_the_address_of_a_server(tmp_path):
    with serving(tmp_path / "s.db") as address:
        asked = ["--arms", "a,b", "--epsilon", "0.5", "--sigma", "1", "--name", "s"]
        assert "which of 2 arms" in command("study", "new", address, *asked).stdout
        given = command("study", "ask", address, "-n", "2").stdout.split()
        done = command("study", "tell", address, "--ticket", given[0], "--value", "1.5")
        assert done.stdout.startswith("1 accepted")
        assert "1 measurement" in command("study", "status", address).stdout


def test_a_server_that_is_away(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "PATIENCE", 0.2)
    with serving(tmp_path / "s.db") as address:
        options = {"objective": Additive(0.5), "delta": 0.1, "model": Gaussian(1.0)}
        study = allgood.create_study(address, "s", arms=["a", "b"], **options)
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        study.ask()
    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        connect(address)
    for wrong in ("http://", "http://me:secret@host", "ftp://host"):
        with pytest.raises(StudyError):
            connect(wrong)


def test_a_request_waits_for_a_server_that_comes_back(tmp_path):
    """The client repeats with the key of its request, until there is an answer."""
    with serving(tmp_path / "s.db") as address:
        options = {"objective": Additive(0.5), "delta": 0.1}
        study = allgood.create_study(address, "s", arms=["a", "b"], **options)
    port, got = int(address.rsplit(":", 1)[1]), []
    thread = threading.Thread(target=lambda: got.extend(study.ask(2)))
    thread.start()
    time.sleep(0.3)
    with serving(tmp_path / "s.db", port=port):
        thread.join(60)
        assert [ticket.arm for ticket in got] == ["a", "b"]
        assert study.status().pending == 2


def test_lines_and_notes_of_tables_are_kept(both, tmp_path):
    """A receipt over HTTP is that of the database: notes, hints, lines and headings of a file."""
    counts = tmp_path / "counts.csv"
    counts.write_text('arm,visitors,sum\n\nash,90,41\nbirch,n/a,\nelm,90,4\nash,"1,000",3\n')
    values = tmp_path / "values.csv"
    receipts = []
    for place in both:
        study = allgood.create_study(
            place,
            "s",
            arms=["ash", "birch"],
            objective=Additive(0.1),
            delta=0.1,
            model=Bernoulli(),
        )
        options = {"source": "t", "period": "May", "columns": {"n": "visitors"}}
        shown = study.preview_counts(counts, **options).to_dict()
        told = study.tell_counts(counts, **options, refused="report").to_dict()
        tag = study.design.tag
        assert shown == told
        tickets = study.ask(3)
        cells = [f"{tickets[0].id},1", f"{tickets[1].id},n/a", f"{tickets[2].id},maybe"]
        values.write_text("ticket,y,who\n" + "".join(f"{row},me\n" for row in cells))
        receipt = study.tell(values, value_column="y", refused="report").to_dict()
        kept = [event.data for event in study.events() if event.kind == "measurement"]
        receipts.append(repr([told, receipt, kept]).replace(tag, "TAG"))
        assert [row["line"] for row in told["rows"]] == [3, 4, 5, 6]
        assert told["notes"]
        assert kept == [{"columns": {"who": "me"}}]
    assert receipts[0] == receipts[1]


def test_errors_name_their_argument(both):
    for place in both:
        study = allgood.create_study(
            place, "s", arms=["a", "b"], objective=Additive(0.1), delta=0.1, budget=9
        )
        for do, argument, kind in (
            (lambda study: study.set_budget(1, "less"), "budget", ValueError),
            (lambda study: study.drop_arm("c", "x"), "arm", ValueError),
            (lambda study: study.fail("x-1", "x"), "ticket", ValueError),
            (lambda study: study.note(3), "text", TypeError),
        ):
            with pytest.raises(kind) as caught:
                do(study)
            assert caught.value.argument == argument
