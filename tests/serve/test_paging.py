"""Pages of events and values: what they hold, and how little is read for each."""

import csv
import io

import pytest

from allgood import Additive, Gaussian, Plate, create_study, load_study
from allgood.study import history
from allgood.study.events import stored_event

from ..support.serving import Client

ARMS = ["a", "b", "=c"]
STEPS = 10  # SQLite's virtual machine reports every so many instructions


def campaign(path, rounds, **options):
    study = create_study(
        path,
        "s",
        arms=ARMS,
        objective=Additive(0.1),
        delta=0.1,
        model=Gaussian(5.0),
        clock=lambda: 1e9,
        **options,
    )
    study.quiet = True
    for i in range(rounds):
        tickets = study.ask(4, client="anna", plate=Plate(2, 4, {"DMSO": ["A1"]}))
        study.tell([(ticket, 0.1 * (i % 7)) for ticket in tickets], client="robot")
    return study


@pytest.fixture
def client(tmp_path):
    with campaign(tmp_path / "s.db", 6) as study:
        first = study.events()[3]
        ticket = study.design.ticket_id(1)
        assert first.ticket is not None
        study.correct(ticket, 5.0, "once")
        study.correct(ticket, 6.0, "twice")
        study.add_measurement("b", 1.0, "notebook")
        study.note("a remark", arm="=c")
    with Client(tmp_path / "s.db") as client:
        yield client


def get(client, what, /, **query):
    answer = client.get(f"/v1/studies/1/{what}", query=query)
    assert answer.status == 200, answer
    return answer.json


def walk(client, what, key, /, **query):
    """All entries, page by page, and the number of pages."""
    cursor = "before" if query.get("newest") else "after"
    found, pages = [], 0
    while True:
        page = get(client, what, **query)
        found += page[key]
        pages += 1
        if not page["more"]:
            return found, pages
        query[cursor] = page["last"]


def all_events(client):
    return get(client, "events", limit=10_000)["events"]


def matching(events, **wanted):
    return [event for event in events if all(event.get(k) == v for k, v in wanted.items())]


def batch_of(events, event):
    """The batch of an event, or of its ticket."""
    makers = [e for e in events if e["kind"] == "ticket" and e["ticket"] == event.get("ticket")]
    return event.get("batch") or (makers[0]["batch"] if makers else None)


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 10_000])
def test_pages_hold_every_event_once_in_order(client, newest, limit):
    wanted = all_events(client)
    query = {"newest": "true"} if newest else {}
    found, pages = walk(client, "events", "events", limit=limit, **query)
    assert found == (wanted[::-1] if newest else wanted)
    assert pages == -(-len(wanted) // limit)


@pytest.mark.parametrize("newest", [False, True])
def test_filters_choose_what_they_say(client, newest):
    events = all_events(client)
    query = {"newest": "true"} if newest else {}
    step = -1 if newest else 1
    ticket = matching(events, kind="corrected")[0]["ticket"]
    chosen = {
        ("kind", "ticket"): matching(events, kind="ticket"),
        ("arm", "=c"): matching(events, arm="=c"),
        ("ticket", ticket): matching(events, ticket=ticket),
        ("batch", 2): [event for event in events if batch_of(events, event) == 2],
        ("client", "robot"): matching(events, client="robot"),
    }
    for (name, value), wanted in chosen.items():
        found, _ = walk(client, "events", "events", limit=2, **{name: value}, **query)
        assert found == wanted[::step], name
        assert 0 < len(wanted) < len(events)
    kinds = client.get("/v1/studies/1/events?kind=note&kind=corrected").json["events"]
    assert [event["kind"] for event in kinds] == ["corrected", "corrected", "note"]
    both = get(client, "events", arm="=c", kind="note")["events"]
    assert [event["sentence"] for event in both] == ["a remark"]


@pytest.mark.parametrize(
    "unknown", [{"arm": "x"}, {"ticket": "x"}, {"ticket": "bbbb-1"}, {"batch": 99}]
)
def test_nothing_is_found_of_what_there_is_not(client, unknown):
    page = get(client, "events", **unknown)
    assert (page["events"], page["more"]) == ([], False)


def test_a_correction_says_what_it_replaced(client):
    page = get(client, "events", kind="corrected", newest="true", limit=1)
    [event] = page["events"]
    assert event["sentence"] == f"{event['ticket']} was corrected from 5 to 6; twice"
    [first] = get(client, "events", kind="corrected", limit=1)["events"]
    assert first["sentence"].startswith(f"{event['ticket']} was corrected from 0 to 5")


def test_an_export_takes_the_same_filters(client):
    with load_study(client.path) as study:
        both = study.backend.lines(kind=["corrected", "note"], newest=True)
        assert list(study.export(kind=["corrected", "note"], newest=True)) == [
            f"{line}\n" for line in both
        ]
        assert [stored_event(line).seq for line in both] == sorted(
            (stored_event(line).seq for line in both), reverse=True
        )
        with pytest.raises(TypeError, match="filters must be among kind"):
            study.backend.lines(colour="red")


# ---- how much is read


def instructions(study, **query):
    """How many instructions of SQLite's virtual machine a query takes."""
    counted = [0]

    def step():
        counted[0] += STEPS
        return 0

    with study.backend.storage.transaction(write=False) as connection:
        driver = connection.connection.driver_connection
    driver.set_progress_handler(step, STEPS)
    try:
        study.backend.lines(**query)
    finally:
        driver.set_progress_handler(None, 0)
    return counted[0]


@pytest.mark.parametrize("newest", [False, True])
def test_a_page_reads_no_more_of_a_long_study(tmp_path, newest):
    """Ten times the events, the same work.  A filter without an index is the control."""
    filters = [{}, {"kind": "ticket"}, {"kind": "plate"}, {"arm": "a"}, {"batch": 2}]
    with campaign(tmp_path / "s.db", 5) as short, campaign(tmp_path / "l.db", 50) as long:
        filters.append({"ticket": short.design.ticket_id(3)})
        for query in filters:
            page = query | {"limit": 5, "newest": newest}
            named = {"ticket": long.design.ticket_id(3)} if "ticket" in query else {}
            a, b = instructions(short, **page), instructions(long, **page | named)
            assert a > 0
            assert b < 1.5 * a + 10 * STEPS, query
        without_index = {"client": "nobody", "limit": 5}
        assert instructions(long, **without_index) > 5 * instructions(short, **without_index)


def test_a_page_of_values_builds_only_its_rows(client, monkeypatch):
    built = []

    def counting(state, numbers, real=history.value_rows):
        for row in real(state, numbers):
            built.append(row)
            yield row

    monkeypatch.setattr("allgood.serve.routes.reading.value_rows", counting)
    assert len(get(client, "values", limit=3)["values"]) == 3
    assert len(built) == 3


# ---- values


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("arm", [None, "=c", "nobody"])
def test_pages_hold_every_value_once_in_order(client, newest, arm):
    with load_study(client.path) as study:
        columns = study.table().columns
    wanted = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    wanted = [row for row in wanted if arm in (None, row["arm"])]
    query = ({"newest": "true"} if newest else {}) | ({"arm": arm} if arm else {})
    for limit in (1, 2, 1000):
        found, _ = walk(client, "values", "values", limit=limit, **query)
        assert found == (wanted[::-1] if newest else wanted)


def test_values_as_csv(client):
    answer = client.get("/v1/studies/1/values", query={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="values.csv"' in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    told = get(client, "values")["values"]
    assert [row["ticket"] for row in rows] == [value["ticket"] for value in told]
    assert rows[0]["time"] == "2001-09-09T01:46:40+00:00"
    assert {row["arm"] for row in rows} == {"a", "b", "'=c"}  # no formula for a spreadsheet
    few = client.get("/v1/studies/1/values", query={"format": "csv", "arm": "a", "limit": 2})
    assert len(few.body.decode().splitlines()) == 3


def test_values_of_a_study_without_any_are_a_line_of_headings(tmp_path):
    campaign(tmp_path / "s.db", 0).close()
    with Client(tmp_path / "s.db") as client:
        lines = client.get("/v1/studies/1/values", query={"format": "csv"}).body.splitlines()
        assert len(lines) == 1
        assert get(client, "values") == {"values": [], "last": 0, "more": False}
        with load_study(client.path) as study:
            assert len(study.table()) == 0
