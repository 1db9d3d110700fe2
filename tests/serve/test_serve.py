"""The HTTP interface: every route does what the method of ``Study`` does, in the same words."""

import csv
import io
import json
import re
import shutil
import sqlite3
import tempfile
from dataclasses import asdict
from functools import partial

import openpyxl
import pytest

from allgood import (
    Additive,
    Bernoulli,
    ClaimByClaim,
    Exponential,
    Gaussian,
    Multiplicative,
    Plate,
    characteristic_time,
    create_study,
    delete_study,
    import_study,
    load_study,
    lower_bounds,
)
from allgood.certificates.verify import verify
from allgood.reporting.report import report_html
from allgood.study.events import line_digest
from allgood.study.planning import plan_study
from allgood.study.receipts import Receipt
from allgood.study.tables.sheets import write_sheet
from allgood.study.tables.workbooks import read_cells

from ..support.chains import lines_of
from ..support.random_studies import MODELS, a_study
from ..support.serving import Client, wait_until

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
NAMES = ["<script>alert(1)</script>", "a/b", "..", "\N{TEST TUBE} Zürich", "x" * 1000, "=1+1"]


class Clock:
    """A time that stands still until a test moves it."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


def plain(value):
    """As it arrives through JSON."""
    return json.loads(json.dumps(value))


def receipt(given):
    return given.to_dict()


def change(given):
    return plain(given.to_dict())


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def twins(tmp_path, clock):
    """A study with names of all kinds behind a server, and the same study in another file."""
    served, local = tmp_path / "served.db", tmp_path / "local.db"
    create_study(
        served,
        "twins",
        arms=NAMES,
        objective=Additive(0.5),
        delta=0.1,
        model=Gaussian(0.5),
        budget=500,
        max_new_arms=2,
        clock=clock,
    ).close()
    shutil.copy(served, local)
    study = load_study(local, clock=clock)
    study.quiet = True
    with Client(served) as client, study:
        client.app.state.study_cache.clock = clock
        yield client, study


def post(client, what, json=None, **options):
    answer = client.post(f"/v1/studies/1/{what}", json, **options)
    assert answer.status == 200, answer
    return answer.json


def get(client, what="", **options):
    answer = client.get(f"/v1/studies/1{what}", **options)
    assert answer.status == 200, answer
    return answer.json


def exported(client, number=1):
    return client.get(f"/v1/studies/{number}/export").body.decode()


def value_of(ticket):
    return {"<": 3.0, "a": 2.0}.get(ticket.arm[0], 0.0) + 0.1 * (ticket.number % 5)


class Told:
    """A ticket as JSON has it."""

    def __init__(self, ticket):
        self.id, self.arm, self.number = ticket["id"], ticket["arm"], int(ticket["id"][5:])


def test_every_write_does_what_its_method_does(twins, clock):
    """The same in both files, event by event, though one was written over HTTP."""
    client, study = twins
    asked = post(client, "ask", {"n": 6, "client": "robot", "lease": 60.0})
    local = study.ask(6, "robot", 60.0)
    assert asked["tickets"] == plain([asdict(item) for item in local])
    assert asked["sheet"] == plain([asdict(row) for row in study.sheet(local)])
    assert (asked["outcome"], asked["pending"]) == ("running", 6)
    clock.now += 61.0
    again = post(client, "ask", {"n": 2, "client": "other", "lease": 60})
    assert again["tickets"] == plain([asdict(item) for item in study.ask(2, "other", 60.0)])
    tickets = [Told(item) for item in asked["tickets"]]
    first = tickets[0].id

    rows = [{"ticket": t.id, "value": value_of(t)} for t in tickets[:4]]
    rows += [{"ticket": "nobody-7", "value": 1}, {"ticket": tickets[4].id, "value": "much"}]
    preview = post(client, "preview", {"rows": rows, "client": "robot"})
    assert list(study.export()) == exported(client).splitlines(True)  # the preview wrote nothing
    told = post(client, "tell", {"rows": rows, "client": "robot"})
    assert told == preview
    assert told == plain(receipt(study.tell(rows, client="robot", refused="report")))
    assert told["counts"] == {"accepted": 4, "unknown": 1, "invalid": 1}
    assert post(client, "tell", {"rows": rows[:1]})["counts"] == {"duplicate": 1}
    few = post(client, "tell", {"rows": rows}, query={"rows": "problems"})
    assert [row["status"] for row in few["rows"]] == ["unknown", "invalid"]
    all_of_it = {"rows": [*rows, {"ticket": tickets[5].id, "value": 1.0}], "all_or_nothing": True}
    assert post(client, "tell", all_of_it)["rows"][-1]["status"] == "withheld"

    assert post(client, "fail", {"tickets": [tickets[4].id], "reason": "fell"}) == plain(
        receipt(study.fail(tickets[4].id, "fell"))
    )
    some = {"tickets": [tickets[4].id, tickets[5].id, first], "reason": "and so did these"}
    assert post(client, "fail", some) == plain(receipt(study.fail(**some, refused="report")))
    both = post(client, "fail", {"batch": 1, "reason": "the rest, too"})
    assert both == plain(receipt(study.fail(batch=1, reason="the rest, too")))
    unrequested = {"arm": NAMES[0], "value": 3.1, "source": "notebook 7", "client": "hand"}
    assert post(client, "measurements", unrequested) == plain(
        receipt_of(study.add_measurement(**unrequested, refused="report"))
    )
    more = {"arms": ["new"], "reason": "arrived today"}
    assert post(client, "arms", more) == change(study.add_arms(**more))
    counts = [{"arm": NAMES[1], "n": 30, "mean": 2.0}, {"arm": "nobody", "n": 1, "sum": 1.0}]
    options = {"source": "table", "period": "Monday", "client": "hand"}
    assert post(client, "counts", {"rows": counts, **options}) == plain(
        receipt(study.tell_counts(counts, refused="report", **options))
    )
    corrected = {"measurement": first, "value": 2.9, "reason": "a slip"}
    assert post(client, "correct", corrected) == change(study.correct(first, 2.9, "a slip"))
    for text in ({"text": "a remark"}, {"text": "<b>on it</b>", "arm": NAMES[0], "client": "me"}):
        assert post(client, "notes", text) == {}
        study.note(text["text"], arm=text.get("arm"), client=text.get("client"))
    assert post(client, "budget", {"budget": 600, "reason": "money"}) == change(
        study.set_budget(600, "money")
    )
    assert post(client, "drop-arm", {"arm": "..", "reason": "used up"}) == change(
        study.drop_arm("..", "used up")
    )
    assert exported(client) == "".join(study.export())


def receipt_of(row):
    return receipt(Receipt((row,)))


def suspected(client, study):
    """Values until one is suspect; its ticket."""
    for side in range(8):
        asked = [Told(item) for item in post(client, "ask", {"n": 7})["tickets"]]
        study.ask(7)
        rows = [{"ticket": t.id, "value": value_of(t) + 100.0 * (side == 7)} for t in asked]
        told = post(client, "tell", {"rows": rows})
        assert told == plain(receipt(study.tell(rows)))
    return next(row["ticket"] for row in told["rows"] if row["status"] == "suspect")


def test_a_suspect_value_is_confirmed(twins):
    client, study = twins
    ticket = suspected(client, study)
    status = get(client, "/status")
    assert ticket in [item["ticket"] for item in status["suspects"]]
    body = {"ticket": ticket, "reason": "the meter's own record"}
    assert post(client, "confirm", body) == change(study.confirm(**body))
    refused = client.post("/v1/studies/1/confirm", body)
    assert refused.status == 422
    assert (
        refused.detail == f"ticket must have a suspect value to be confirmed: ticket {ticket} "
        "has none."
    )
    assert exported(client) == "".join(study.export())


def test_every_look_is_that_of_the_study(twins, clock):
    client, study = twins
    suspected(client, study)
    plate = {"rows": 4, "columns": 6, "controls": {"DMSO": 2, "blank": ["A1"]}, "edge": True}
    asked = post(client, "ask", {"n": 5, "client": "plates", "plate": plate})
    study.ask(5, "plates", plate=Plate(4, 6, {"DMSO": 2, "blank": ["A1"]}))
    status, local = get(client, "/status"), study.status()
    known = plain(local.to_dict())
    assert status == known
    assert status["checks"]["sentences"] == list(local.checks.sentences)
    assert status["question"] == "Which of 6 arms are within 0.5 of the best?"
    columns = get(client, "/status", query={"arms": "columns"})["arms"]
    assert [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ] == status["arms"]
    assert get(client, "/status", query={"arms": "none"})["arms"] is None
    assert get(client, "/tickets")["tickets"] == plain([asdict(t) for t in study.open_tickets])
    assert get(client)["design"] == plain(study.design.to_dict())
    [summary] = client.get("/v1/studies").json["studies"]
    assert (summary["measurements"], summary["pending"]) == (local.measurements, local.pending)
    assert (summary["good"], summary["bad"]) == (len(local.good), len(local.bad))
    assert summary["warnings"] == local.warnings
    assert summary["spark"][-1] == [local.measurements, len(local.good) + len(local.bad)]
    assert len(summary["spark"]) <= 40

    columns = study.table().columns
    table = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert get(client, "/values")["values"] == plain(table)
    chosen = get(client, "/values", query={"arm": "a/b", "limit": 2})
    mine = [row for row in table if row["arm"] == "a/b"]
    assert (chosen["values"], chosen["more"]) == (plain(mine[:2]), len(mine) > 2)

    [listed] = get(client, "/plates")["plates"]
    assert (listed["rows"], listed["columns"], listed["open"]) == (4, 6, 5)
    wells = get(client, f"/plates/{listed['batch']}")["wells"]
    arms = {row["well"]: row["arm"] for row in asked["sheet"]}
    assert {w["well"]: w["arm"] or w["control"] for w in wells} == arms
    assert next(w for w in wells if w["well"] == "A1")["control"] == "blank"

    whole = get(client, "/history")
    assert (whole["name"], whole["events"]) == (study.name, study.status().events)
    assert {name: whole[name] for name in ("entries", "before")} == study.history().to_dict()
    page = study.history(limit=2)
    older = get(client, "/history", query={"before": page.before, "limit": 2})
    assert older["entries"] == study.history(page.before, 2).to_dict()["entries"]
    of_arm = get(client, "/history", query={"arm": "a/b", "kind": "measurement"})
    assert of_arm["entries"]
    assert all(entry["arms"] == ["a/b"] for entry in of_arm["entries"])
    assert all(list(entry["events"]) == ["measurement"] for entry in of_arm["entries"])
    hits = get(client, "/hits")
    assert hits["hits"] == study.hits().to_dict()["hits"]
    path, chosen = (
        "/v1/studies/1/hits?label=open&label=good&guess=good",
        study.hits(["open", "good"], "good"),
    )
    assert client.get(path).json["hits"] == chosen.to_dict()["hits"]
    sheet = client.get(f"{path}&format=csv")
    assert sheet.body == chosen.content("csv")
    assert sheet.headers["content-disposition"] == 'attachment; filename="hits.csv"'
    sheet = client.get(f"{path}&format=xlsx")
    assert (sheet.body[:2], sheet.headers["content-type"]) == (b"PK", XLSX)
    assert client.get("/v1/studies/1/hits?label=fine").status == 422

    certificate = client.get("/v1/studies/1/certificate")
    assert certificate.json == plain(study.certificate())
    for number in (1, None):
        checked = client.post("/v1/verify", {"certificate": certificate.json, "study": number})
        assert checked.json["ok"], checked
        assert checked.json["claims"] == verify(certificate.json).claims
        assert checked.json["log"] == (number is not None)
    assert client.get("/v1/studies/1/report").body.decode() == report_html(study)
    forecast = get(client, "/forecast")
    assert forecast == study.forecast().to_dict()
    assert forecast["lower_bound_gap"] <= 1e-3
    assert forecast["lower_bound_remark"] is None


def test_a_certificate_of_an_earlier_moment_passes_with_a_remark(twins):
    client, study = twins
    suspected(client, study)
    certificate = get(client, "/certificate")
    post(client, "notes", {"text": "later"})
    checked = client.post("/v1/verify", {"certificate": certificate, "study": 1}).json
    assert checked["ok"]
    assert checked["remark"].startswith("The certificate is of an earlier moment: event ")


def test_a_certificate_that_was_changed_does_not_pass(twins):
    client, study = twins
    suspected(client, study)
    certificate = get(client, "/certificate")
    certificate["question"]["delta"] = 0.2
    checked = client.post("/v1/verify", {"certificate": certificate, "study": 1}).json
    assert not checked["ok"]
    assert checked["problems"]


@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_a_sheet_is_the_one_that_the_command_line_writes(twins, tmp_path, format):
    client, study = twins
    post(client, "ask", {"n": 6})
    study.ask(6)
    post(client, "ask", {"n": 3, "client": "p", "plate": {"rows": 2, "columns": 3}})
    given = study.ask(3, "p", plate=Plate(2, 3))
    for batch, tickets in ((None, study.open_tickets), (2, given)):
        sheet = client.get("/v1/studies/1/sheet", query={"batch": batch, "format": format})
        target = tmp_path / f"sheet.{format}"
        write_sheet(target, study.sheet(tickets))
        if format == "csv":
            assert sheet.body == target.read_bytes()
        else:  # a workbook holds the second in which it was made
            assert read_cells(sheet.body) == read_cells(target.read_bytes())
        name = "tickets.csv" if batch is None else "tickets-2.csv"
        shown = sheet.headers["content-disposition"]
        assert shown == f'attachment; filename="{name.replace("csv", format)}"'
    assert client.get("/v1/studies/1/sheet", query={"batch": 9}).status == 404


@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_the_sheet_of_a_finished_plate_has_its_values(twins, format):
    """And may be told again: every value is known."""
    client, _ = twins
    plate = {"rows": 2, "columns": 3, "controls": {"DMSO": ["A1", "A2"]}}
    asked = post(client, "ask", {"client": "p", "plate": plate})["tickets"]
    kind = {"csv": "text/csv", "xlsx": XLSX}[format]
    query = {"batch": 1, "format": format}
    grid = b",1,2,3\nA,1.0,1.2,0.5\nB,0.25,0.75,\n"
    post(client, "tell", body=grid, kind="text/csv", query={"grid": 1})
    half = client.get("/v1/studies/1/sheet", query={"batch": 1}).body.decode("utf-8-sig")
    lines = half.splitlines()[1:]
    assert [line.split(",")[1] for line in lines] == ["A1", "A2", "B3"]  # the controls, the open
    assert [line.rpartition(",")[2] for line in lines] == ["1.0", "1.2", ""]

    [left] = get(client, "/tickets")["tickets"]
    post(client, "fail", {"tickets": [left["id"]], "reason": "fell"})
    sheet = client.get("/v1/studies/1/sheet", query=query)
    assert sheet.status == 200
    if format == "csv":
        values = [row.rpartition(",")[2] for row in sheet.body.decode("utf-8-sig").splitlines()[1:]]
        assert values == ["1.0", "1.2", "0.5", "0.25", "0.75", ""]
    told = post(client, "tell", body=sheet.body, kind=kind)
    assert told["counts"] == {"duplicate": 5, "missing": 1}
    assert {row["ticket"] for row in told["rows"]} == {t["id"] for t in asked} | {"1:A1", "1:A2"}
    assert client.get("/v1/studies/1/sheet").detail == "There is no open ticket to write down."
    assert "got 2" in client.get("/v1/studies/1/sheet", query={"batch": 2}).detail


READ = "status forecast events tickets plates values certificate"


@pytest.mark.parametrize("model", MODELS)
def test_answers_are_as_described_for_every_law(tmp_path, model):
    """The client compares every answer: of studies in which much has happened, and of new ones."""
    with Client(tmp_path / "all.db") as client:
        for seed in range(2):
            study = a_study(model, seed)
            for events in (study.events, study.events[:1]):
                lines = "".join(f"{line}\n" for line in lines_of(events)).encode()
                query = {"name": f"{seed}, {len(events)} events"}
                made = client.post("/v1/studies/import", body=lines, query=query)
                assert made.status == 201, made
                here = f"/v1/studies/{made.json['id']}"
                for what in ("", *(f"/{part}" for part in READ.split())):
                    assert client.get(here + what).status == 200
                assert client.get(f"{here}/status?arms=columns").json["arms"]["arm"][0] == "ash"
                assert client.get(f"{here}/status?arms=none").json["arms"] is None
        outcomes = {item["outcome"] for item in client.get("/v1/studies").json["studies"]}
        assert "running" in outcomes


def test_a_time_waited_in_vain_comes_back_as_one(tmp_path):
    options = {"objective": Multiplicative(0.5), "delta": 0.1, "model": Exponential()}
    path = tmp_path / "times.db"
    with create_study(
        path, "t", arms=["a", "b"], in_order=True, censor_at=30.0, **options
    ) as study:
        study.tell([(study.ask(1)[0], ">30")])
    with Client(path) as client:
        sheet = client.get("/v1/studies/1/sheet", query={"batch": 1}).body
        assert sheet.decode().splitlines()[1].endswith(",a,>30.0")
        told = post(client, "tell", body=sheet, kind="text/csv")
        assert told["counts"] == {"duplicate": 1}


def filled(sheet, values):
    """A sheet in CSV with its empty column of values filled in."""
    head, *lines = sheet.decode("utf-8-sig").splitlines()
    assert head.endswith("value")
    return "\n".join([head, *(f"{a}{b}" for a, b in zip(lines, values, strict=True)), ""]).encode()


def as_workbook(table):
    book = openpyxl.Workbook()
    for row in table:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_sheets_come_back_in_every_form(twins, tmp_path):
    client, study = twins
    for _ in range(2):
        post(client, "ask", {"n": 3})
        study.ask(3)
    first, second = study.open_tickets[:3], study.open_tickets[3:]
    one = client.get("/v1/studies/1/sheet", query={"batch": 1}).body
    upload = filled(one, ['"1,5"', '"2,5"', "viel"])
    query = {"decimal": ",", "client": "hand"}
    for what in ("preview", "tell"):
        got = post(client, what, body=upload, kind="text/csv; charset=utf-8", query=query)
        assert got["counts"] == {"accepted": 2, "invalid": 1}
    local = study.tell(io.BytesIO(upload), decimal=",", client="hand", refused="report")
    assert got == plain(receipt(local))

    table = [["tube", "id", "result"], [1, second[0].id, 0.25], [2, second[1].id, 0.5]]
    book = as_workbook(table)
    named = {"ticket_column": "id", "value_column": "result"}
    got = post(client, "tell", body=book, kind=XLSX, query=named)
    assert got == plain(receipt(study.tell(io.BytesIO(book), **named)))
    pasted = f"ticket\tvalue\n{second[2].id}\t0.75\n".encode()
    got = post(client, "tell", body=[pasted[:9], pasted[9:]], kind="text/plain")
    assert got == plain(receipt(study.tell(io.BytesIO(pasted))))

    plate = {"rows": 2, "columns": 3, "controls": {"DMSO": ["A1", "A2"]}}
    batch = post(client, "ask", {"client": "p", "plate": plate})["tickets"][0]["batch"]
    study.ask(client="p", plate=Plate(2, 3, {"DMSO": ["A1", "A2"]}))
    grid = b",1,2,3\nA,1.0,1.2,0.5\nB,0.25,0.75,1.5\n"
    options = {"grid": batch}
    preview = post(client, "preview", body=grid, kind="text/csv", query=options)
    local = study.preview(io.BytesIO(grid), **options)
    assert preview == plain(receipt(local))
    assert [check["plate"] for check in preview["plates"]] == [batch]
    assert Receipt.from_dict(preview) == local
    got = post(client, "tell", body=grid, kind="text/csv", query=options)
    assert got == preview | {"plates": []}
    assert got == plain(receipt(study.tell(io.BytesIO(grid), **options)))
    [shown] = preview["plates"]
    assert get(client, f"/plates/{batch}")["check"] == shown
    assert got["counts"]["control"] == 2
    counted = b"arm,n,mean\na/b,40,2.0\n"
    named = {"source": "t", "period": "May"}
    preview = post(client, "counts/preview", body=counted, kind="text/csv", query=named)
    assert get(client, "/values", query={"arm": "a/b"})["values"][-1]["n"] == 1
    got = post(client, "counts", body=counted, kind="text/csv", query=named)
    assert got == preview == plain(receipt(study.tell_counts(io.BytesIO(counted), **named)))
    counted = b"page,visitors,bought\na/b,40,90\n"
    named = {"source": "t", "period": "June"}
    ours = {"arm": "page", "n": "visitors", "sum": "bought"}
    query = named | {"columns": "arm=page, n=visitors,sum=bought"}
    preview = post(client, "counts/preview", body=counted, kind="text/csv", query=query)
    got = post(client, "counts", body=counted, kind="text/csv", query=query)
    local = study.tell_counts(io.BytesIO(counted), columns=ours, **named)
    assert got == preview == plain(receipt(local))
    assert got["counts"] == {"accepted": 1}
    wrong = named | {"columns": "visitors"}
    refused = client.post("/v1/studies/1/counts", body=counted, kind="text/csv", query=wrong)
    assert "columns must be like arm=variant,n=visitors: got 'visitors'" in refused.detail
    assert exported(client) == "".join(study.export())
    assert first[2].id in [t.id for t in study.open_tickets]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("GET", "/v1/studies/7/status", None, 404, "there is no study 7 in "),
        ("GET", "/v1/studies/x", None, 422, "id must fit: "),
        ("GET", "/v1/nothing", None, 404, "Not Found"),
        ("PUT", "/v1/studies", None, 405, "Method Not Allowed"),
        ("POST", "/v1/studies/1/ask", {"n": 0}, 422, "n must be at least 1: got 0."),
        ("POST", "/v1/studies/1/ask", {"m": 1}, 422, "m must be left out: there is no such field."),
        ("POST", "/v1/studies/1/fail", {"reason": "x"}, 422, "one of tickets and batch"),
        ("POST", "/v1/studies/1/tell", {"rows": [{"ticket": "a"}]}, 422, "rows.0.value must be gi"),
        ("GET", "/v1/studies/1/plates/3", None, 404, "plate must be one of the study's"),
        ("POST", "/v1/studies/1/preview", {"rows": 3}, 422, "rows must be a list: got 3."),
        ("POST", "/v1/studies/1/ask", {"n": True}, 422, "n must be a whole number: got "),
        ("POST", "/v1/studies/1/ask", {"n": "3"}, 422, "n must be a whole number: got "),
        (
            "POST",
            "/v1/explore",
            {"means": [1], "epsilon": "1"},
            422,
            "epsilon must be a number: got '1'.",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(twins, method, path, body, status, sentence):
    client, _ = twins
    answer = client.request(method, path, json=body)
    assert answer.status == status
    assert answer.detail.startswith(sentence)


def test_what_is_no_json(twins):
    client, _ = twins
    for path in ("ask", "tell", "counts"):
        answer = client.post(f"/v1/studies/1/{path}", body=b'{"rows": [', kind="application/json")
        assert answer.status == 422
        where = r"it is not from character 1\d on|.* at line 1 column 1\d"
        assert re.fullmatch(rf"the body must be JSON: ({where})\.", answer.detail)


def test_studies_are_searched_and_single_tickets_written_down(twins):
    client, _ = twins
    found = [client.get(f"/v1/studies?search={part}").json["studies"] for part in ("WIN", "w*")]
    assert [len(item) for item in found] == [1, 0]
    (single,) = post(client, "ask", {"n": 1})["tickets"]
    post(client, "ask", {"plate": {"rows": 2, "columns": 3, "controls": {"D": 1}}})
    sheet = client.get("/v1/studies/1/sheet?singles=true").body.decode("utf-8-sig")
    assert [row["ticket"] for row in csv.DictReader(io.StringIO(sheet))] == [single["id"]]
    everything = client.get("/v1/studies/1/sheet").body.decode("utf-8-sig")
    assert len(list(csv.DictReader(io.StringIO(everything)))) == 7
    post(client, "tell", {"rows": [{"ticket": single["id"], "value": 1.0}]})
    gone = client.get("/v1/studies/1/sheet?singles=true")
    assert (gone.status, gone.detail) == (404, "There is no open ticket to write down.")


def words(do):
    with pytest.raises((ValueError, TypeError)) as error:
        do()
    return str(error.value)


def test_the_words_are_those_of_the_package(twins):
    """What the command line would print after 'Error:'."""
    client, study = twins
    cases = {
        "drop-arm": ({"arm": "a/c", "reason": "x"}, lambda: study.drop_arm("a/c", "x")),
        "correct": (
            {"measurement": "bbbb-1", "value": 1.0, "reason": "x"},
            lambda: study.correct("bbbb-1", 1.0, "x"),
        ),
        "budget": ({"budget": 600, "reason": " "}, lambda: study.set_budget(600, " ")),
        "notes": ({"text": "a\tb"}, lambda: study.note("a\tb")),
        "fail": ({"batch": 4, "reason": "x"}, lambda: study.fail(batch=4, reason="x")),
        "ask": (
            {"plate": {"rows": 1, "columns": 1, "controls": {"a/b": 1}}},
            lambda: study.ask(plate=Plate(1, 1, {"a/b": 1})),
        ),
    }
    for what, (body, do) in cases.items():
        answer = client.post(f"/v1/studies/1/{what}", body)
        assert (answer.status, answer.detail) == (422, words(do)), what
    wrong = b"id,result\n1,2\n"
    answer = client.post("/v1/studies/1/tell", body=wrong, kind="text/csv")
    assert (answer.status, answer.detail) == (422, words(lambda: study.tell(io.BytesIO(wrong))))
    assert client.post("/v1/studies/1/tell", body=b"x", kind="image/png").status == 415
    assert exported(client) == "".join(study.export())


def test_studies_are_made_listed_and_deleted(tmp_path, clock):
    path = tmp_path / "studies.db"
    create_study(path, "old", arms=["a", "b"], objective=Additive(0.5), delta=0.1).close()
    with Client(path) as client:
        client.app.state.study_cache.clock = clock
        body = {
            "name": NAMES[0],
            "arms": NAMES,
            "epsilon": 0.2,
            "multiplicative": True,
            "model": "bernoulli",
            "delta": 0.02,
            "budget": 100,
            "seed": 3,
            "max_new_arms": 1,
            "in_order": True,
            "pool": False,
        }
        made = client.post("/v1/studies", body)
        assert made.status == 201
        with create_study(
            tmp_path / "local.db",
            NAMES[0],
            arms=NAMES,
            objective=Multiplicative(0.2),
            delta=0.02,
            model=Bernoulli(),
            strategy=partial(ClaimByClaim, pool=False),
            seed=3,
            budget=100,
            in_order=True,
            max_new_arms=1,
        ) as local:
            expected = plain(local.design.to_dict()) | {"uid": made.json["design"]["uid"]}
        assert made.json["design"] == expected
        assert made.json == client.get("/v1/studies/2").json
        again = client.post("/v1/studies", body)
        assert again.status == 409
        assert re.fullmatch(r"a study '.*' already exists\.", again.detail)
        no_sigma = client.post("/v1/studies", body | {"name": "n", "model": "gaussian"})
        assert no_sigma.status == 422
        assert no_sigma.detail.startswith("sigma must be given for normal measurements")

        lines = exported(client, 1)
        copy = client.post(
            "/v1/studies/import",
            body=lines.encode(),
            kind="application/x-ndjson",
            query={"name": "copy"},
        )
        assert (copy.status, copy.json) == (201, {"id": 3, "name": "copy"})
        assert exported(client, 3) == lines
        broken = client.post("/v1/studies/import", body=b"{}\n", kind="application/x-ndjson")
        assert broken.status == 422
        assert broken.detail == words(lambda: import_study(":memory:", ["{}\n"]))

        pages, after = [], 0
        while True:
            page = client.get("/v1/studies", query={"after": after, "limit": 2}).json
            pages += page["studies"]
            after = pages[-1]["id"]
            if not page["more"]:
                break
        assert [item["name"] for item in pages] == ["old", NAMES[0], "copy"]
        found = client.get("/v1/studies", query={"name": NAMES[0]}).json["studies"]
        assert [item["id"] for item in found] == [2]
        assert client.delete("/v1/studies/2").json == {"deleted": 2}
        assert client.delete("/v1/studies/2").status == 404
        for what in ("", "/status", "/export", "/events", "/tickets", "/certificate", "/live"):
            assert client.get(f"/v1/studies/2{what}").status == 404, what
        # The number is not used again, and a new study of the old name is safe from the old number.
        assert client.post("/v1/studies", body).json["id"] == 4
        assert client.delete("/v1/studies/2").status == 404
        assert len(client.get("/v1/studies").json["studies"]) == 3


def test_a_study_deleted_elsewhere_is_gone_here(twins):
    """Also if another has its name by now, whatever this server remembers."""
    client, study = twins
    lines = list(study.export())
    get(client, "/status")
    path = client.path
    delete_study(path, "twins")
    import_study(path, lines, "twins").close()
    for what in ("", "/status", "/export", "/events", "/tickets", "/certificate", "/plates"):
        answer = client.get(f"/v1/studies/1{what}")
        assert answer.status == 404, what
        assert answer.detail
    assert client.post("/v1/studies/1/ask", {}).status == 404
    assert client.delete("/v1/studies/1").status == 404
    assert exported(client, 2) == "".join(lines)


def test_a_study_of_another_version_is_a_line_in_the_list(twins):
    client, _ = twins
    with sqlite3.connect(client.path) as other:
        line = other.execute("select line from allgood_events").fetchone()[0]
        newer = re.sub('"rules":[0-9]+', '"rules":99', line)
        assert newer != line
        other.execute("drop trigger allgood_no_change")
        other.execute("update allgood_events set line = ?", (newer,))
        other.execute("update allgood_studies set digest = ?", (line_digest(newer),))
    other.close()
    [shown] = client.get("/v1/studies").json["studies"]
    assert shown == {"id": 1, "name": "twins", "events": 1}
    refused = client.get("/v1/studies/1/summary")
    assert refused.status == 422
    assert "rules 99. Go on with the version of allgood that made it" in refused.detail
    assert client.get("/v1/studies/1/status").detail == refused.detail
    assert client.delete("/v1/studies/1").status == 200  # it can still be deleted


def test_events_come_in_pages(twins):
    client, study = twins
    suspected(client, study)
    post(client, "notes", {"text": "x", "arm": "a/b"})
    whole = [json.loads(line) for line in exported(client).splitlines()]
    seen, after = [], 0
    while True:
        page = get(client, "/events", query={"after": after, "limit": 17})
        seen += page["events"]
        after = page["last"]
        if not page["more"]:
            break
    assert [e["seq"] for e in seen] == [e["seq"] for e in whole]
    for shown, event in zip(seen, whole, strict=True):
        assert shown["kind"] == event["kind"]
        assert shown.get("value") == event.get("value")
        if "arm" in event:
            assert shown["arm"] == NAMES[event["arm"]]
    some = get(client, "/events", query={"kind": "note"})
    assert [e["note"] for e in some["events"]] == ["x"]
    assert (some["last"], some["more"]) == (len(whole), False)
    assert get(client, "/events", query={"after": len(whole)})["events"] == []
    tail = client.get("/v1/studies/1/export", query={"after": len(whole) - 1})
    assert json.loads(tail.body) == whole[-1]


def test_events_are_chosen_by_arm_client_and_number(twins):
    client, study = twins
    suspected(client, study)
    post(client, "ask", {"n": 7, "client": "robot"})
    whole = get(client, "/events")["events"]
    assert get(client, "")["created"] == whole[0]["time"]
    chosen = {
        "arm": ("a/b", lambda e: e.get("arm") == "a/b"),
        "client": ("robot", lambda e: e.get("client") == "robot"),
        "before": (40, lambda e: e["seq"] < 40),
        "kind": ("ticket", lambda e: e["kind"] == "ticket"),
    }
    for names in ("arm", "client", "before", "arm before", "arm kind before", "arm kind client"):
        query = {name: chosen[name][0] for name in names.split()}
        wanted = [e for e in whole if all(chosen[name][1](e) for name in names.split())]
        found, after = [], 0
        while True:
            page = get(client, "/events", query=query | {"after": after, "limit": 2})
            found += page["events"]
            assert page["last"] > after or not page["events"]
            after = page["last"]
            if not page["more"]:
                break
            assert len(page["events"]) == 2
        assert found == wanted != [], names
        assert after == (39 if "before" in names else len(whole))
    assert get(client, "/events", query={"after": 9, "before": 3}) == {
        "events": [],
        "last": 9,
        "more": False,
    }


def test_names_are_data(twins):
    """In JSON as they are; in HTML escaped."""
    client, _ = twins
    asked = post(client, "ask", {"n": 6, "client": NAMES[0]})
    assert {item["arm"] for item in asked["tickets"]} == set(NAMES)
    assert {item["client"] for item in asked["tickets"]} == {NAMES[0]}
    for name in NAMES:
        assert get(client, "/values", query={"arm": name})["values"] == []
    page = client.get("/v1/studies/1/report")
    assert page.headers["content-type"].startswith("text/html")
    assert b"<script>alert" not in page.body
    assert "script-src" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "sandbox" in page.headers["content-security-policy"]
    note = client.post("/v1/studies/1/notes", {"text": "x" * 1001})
    assert (note.status, len(note.detail) < 300) == (422, True)


# ---- live


def test_news_of_a_study(twins):
    client, _ = twins
    with client.stream("/v1/studies/1/live") as live:
        assert live.status == 200
        for _ in range(3):
            post(client, "notes", {"text": "x"})
        seen = live.changes(4)
    firsts, lasts = zip(
        *((item["data"]["first"], item["data"]["last"]) for item in seen), strict=True
    )
    assert firsts == (2, *(last + 1 for last in lasts[:-1]))  # no gap, nothing twice
    assert [int(item["id"]) for item in seen] == list(lasts)
    assert sum(item["data"]["kinds"]["note"] for item in seen) == 3
    wait_until(lambda: client.app.state.feed.subscribers == 0)


@pytest.mark.parametrize("way", ["header", "query", "too far"])
def test_who_lost_the_connection_catches_up(twins, way):
    client, _ = twins
    for _ in range(3):
        post(client, "notes", {"text": "x"})
    path, headers = "/v1/studies/1/live", {}
    if way == "query":
        path += "?after=2"
    else:
        headers = {"last_event_id": "2" if way == "header" else "999"}
    with client.stream(path, **headers) as live:
        if way == "too far":  # of another study, perhaps: what is new counts
            post(client, "notes", {"text": "y"})
            [seen] = live.changes(5)
            assert seen["data"] == {"first": 5, "last": 5, "kinds": {"note": 1}}
        else:
            [seen] = live.changes(4)
            assert seen["data"] == {"first": 3, "last": 4, "kinds": {"note": 2}}


def test_a_program_without_the_server_is_heard(twins):
    client, _ = twins
    with client.stream("/v1/studies/1/live") as live, client.stream("/v1/live") as every:
        with load_study(client.path) as worker:
            worker.ask(2)
        seen = live.changes(3)
        assert sum(item["data"]["kinds"]["ticket"] for item in seen) == 2
        assert every.next()["data"] == {"studies": [1]}


def test_a_deleted_study_says_that_it_is_gone(twins):
    client, _ = twins
    with client.stream("/v1/studies/1/live") as live, client.stream("/v1/live") as every:
        assert client.delete("/v1/studies/1").status == 200
        assert live.next()["event"] == "gone"
        assert live.next() is None
        assert every.next()["data"] == {"studies": [1]}


def test_news_of_the_list(twins):
    client, _ = twins
    body = {"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}
    with client.stream("/v1/live") as every:
        assert client.post("/v1/studies", body).status == 201
        assert every.next()["data"] == {"studies": [2]}
        post(client, "notes", {"text": "x"})
        assert every.next()["data"] == {"studies": [1]}


# ---- without a study


def test_a_plan_is_that_of_the_package(twins):
    client, _ = twins
    body = {"means": [1.0, 0.8, 0.0], "epsilon": 0.5, "model": "gaussian", "sigma": 0.5, "runs": 3}
    got = client.post("/v1/plan", body).json
    local = plan_study([1.0, 0.8, 0.0], Additive(0.5), 0.05, Gaussian(0.5), runs=3, budget=200_000)
    assert got == plain(asdict(local))
    short = client.post("/v1/plan", body | {"budget": 10}).json
    assert short["ended"] == 0
    assert (short["arms"], short["measurements"]) == (3, [10.0, 10.0, 10.0])
    assert short["labels"][0] <= short["right"][0] <= 3


def test_exploring(twins):
    client, _ = twins
    body = {"means": [1.0, 0.8, 0.0], "epsilon": 0.5, "sigma": 0.5}
    got = client.post("/v1/explore", body).json
    time = characteristic_time([1.0, 0.8, 0.0], Additive(0.5), Gaussian(0.5))
    assert got["characteristic_time"] == time.value
    assert got["weights"] == time.weights.tolist()
    bounds = lower_bounds([1.0, 0.8, 0.0], Additive(0.5), 0.05, Gaussian(0.5))
    assert got["lower_bounds"]["asymptotic"] == bounds.asymptotic
    assert (got["good"], got["threshold"]) == ([True, True, False], 0.5)
    other = got["alternative"]  # where the label of its arm is about to turn
    assert other["means"][other["arm"]] == pytest.approx(max(other["means"]) - 0.5, abs=1e-6)
    tie = client.post("/v1/explore", body | {"means": [1.0, 0.5]}).json
    assert tie["undecidable"]
    assert tie["characteristic_time"] is None
    run = client.post("/v1/explore/run", body | {"seed": 1, "frames": 10}).json
    assert run["certified"]
    assert run["wrong"] == []
    last = run["frames"][-1]
    assert (last["pulls"], sum(last["counts"])) == (run["pulls"], run["pulls"])
    assert last["labels"] == ["good", "good", "bad"]


def test_large_uploads_stream(twins, monkeypatch):
    """A sheet of 10,000 rows: comes in parts, and is classified row by row."""
    client, _ = twins
    rows = b"ticket,value\n" + b"".join(b"bbbb-%d,0.5\n" % i for i in range(10_000))
    largest = 0
    write = tempfile.SpooledTemporaryFile.write

    def watched(self, part):
        nonlocal largest
        largest = max(largest, len(part))
        return write(self, part)

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", watched)
    parts = [rows[i : i + 65536] for i in range(0, len(rows), 65536)]
    got = post(client, "tell", body=parts, kind="text/csv", query={"rows": "problems"})
    assert got["counts"] == {"unknown": 10_000}
    assert largest == 65536
