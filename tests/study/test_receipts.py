"""What a row is: read, and classified against a ledger, without a database and without a change."""

import copy
import io
import re

import pytest

from allgood import Additive, Bernoulli, Gaussian
from allgood.study.commands.fail import classify_failure
from allgood.study.commands.tell import classify, classify_unrequested, parse_rows
from allgood.study.design import StudyDesign
from allgood.study.events import Event
from allgood.study.receipts import some
from allgood.study.state import StudyState, Ticket
from allgood.study.tables.sheets import ToldRow, read_rows, read_sheet
from allgood.study.tables.values import parse_value

DESIGN = StudyDesign(
    name="s", uid="0123" * 8, arms=("ash", "birch"), objective=Additive(0.5), delta=0.1
)
TAG = DESIGN.tag


def state(*events):
    """A ledger with four tickets, for ash, birch, ash, birch, and these events."""
    first = Event(1, "created", 0.0, data=DESIGN.to_dict())
    asked = [
        Event(0, "ticket", 0.0, ticket=i + 1, arm=i % 2, pooled=False, batch=1) for i in range(4)
    ]
    numbered = [
        Event(
            seq,
            e.kind,
            e.time,
            **{k: getattr(e, k) for k in ("ticket", "arm", "value", "pooled", "batch", "note")},
        )
        for seq, e in enumerate([*asked, *events], start=2)
    ]
    return StudyState.from_events([first, *numbered])


def told(book, *pairs):
    return parse_rows(read_rows(pairs, "ticket", "value").rows, book)


@pytest.mark.parametrize(
    ("raw", "model", "value"),
    [
        (1, Gaussian(), 1.0),
        ("1.5", Gaussian(), 1.5),
        (" ", Gaussian(), None),
        (None, Gaussian(), None),
        (float("nan"), Gaussian(), None),
        (True, Bernoulli(), 1.0),
    ],
)
def test_values(raw, model, value):
    assert parse_value(raw, model) == value


@pytest.mark.parametrize(
    ("raw", "model", "why"),
    [
        ("1e308", Gaussian(), "must not exceed 1e+60 in size: got '1e308'; use other units"),
        (1e308, Gaussian(), "must not exceed 1e+60 in size: got 1e+308; use other units"),
        ("inf", Gaussian(), "must be finite: got 'inf'"),
        ("1,5", Gaussian(), "must have a decimal point, not a decimal comma: got '1,5'; write 1.5"),
        (0.5, Bernoulli(), "must be 0 or 1 for Bernoulli(): got 0.5"),
        ("nan", Gaussian(), "must be finite: got 'nan'"),
        (1e61, Gaussian(), "must not exceed 1e+60 in size: got 1e+61; use other units"),
        (float("-inf"), Gaussian(), "must be finite: got '-inf'"),
        (
            True,
            Gaussian(),
            "must be a plain decimal number, such as 1.5 or -2e-3, without a unit: got 'True'",
        ),
    ],
)
def test_a_value_that_cannot_be_parsed_raises_its_reason(raw, model, why):
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        parse_value(raw, model)


def test_messages_of_a_kind_are_cut_short():
    alike = [f"line {i}: ticket abcd-{i} is told twice, as {i}.5 and 0.0" for i in range(84)]
    other = ["line 3: 'x' is no ticket", 'line 4: "y\'s" is no ticket']
    sheet = ["the sheet is another"] * 30
    assert list(some([*alike[:50], *other, *sheet, *alike[50:]])) == [
        *alike[:10],
        "... and 74 more like this",
        *other,
        "the sheet is another",
    ]


def test_a_list_of_mappings():
    ticket = Ticket("x-1", "ash", 1)
    rows = [{"ticket": ticket, "value": 3}, {"value": "2", "ticket": "x-2", "arm": "ash"}]
    assert read_rows(rows, "ticket", "value").rows == (
        ToldRow(1, "x-1", 3, None, unit="row"),
        ToldRow(2, "x-2", "2", "ash", unit="row"),
    )
    [row] = read_rows([{"id": "x-3", "y": 1}], "id", "y").rows
    assert (row.ticket, row.value) == ("x-3", 1)
    with pytest.raises(TypeError, match="or mappings with 'ticket' and 'value': got "):
        read_rows([{"id": 1, "value": 2}], "ticket", "value")


def test_rows_are_numbered_and_named():
    table = {"ticket": ["x"], "value": [1], "arm": ["ash"], "plate": [2.0]}
    [row] = read_rows(table, "ticket", "value").rows
    assert row == ToldRow(1, "x", 1, "ash", plate="2", unit="row")
    [row] = told(state(), ("x", "2"))
    assert (row.row.where, row.value) == ("row 1", 2.0)


def test_every_status():
    book = state(
        Event(0, "measurement", 0.0, ticket=1, value=1.0),
        Event(0, "failed", 0.0, ticket=2, note="spilt"),
    )
    before = copy.deepcopy(book)
    rows = told(
        book,
        (f"{TAG}-1", 1.0),
        (f"{TAG}-1", 2.0),
        (f"{TAG}-2", 1.0),
        (f"{TAG}-3", 1.0),
        (f"{TAG}-3", 1.0),
        (f"{TAG}-4", None),
        (f"{TAG}-4", "x"),
        ("nonsense", 1.0),
        (f"{TAG}-9", 1.0),
    )
    found = classify(rows, book)
    assert [row.status for row in found] == [
        "duplicate",
        "conflict",
        "conflict",
        "accepted",
        "duplicate",
        "missing",
        "invalid",
        "unknown",
        "unknown",
    ]
    assert [row.remedy for row in found[:3]] == ["", "correct", "add_measurement"]
    assert found[5].remedy == "fail"
    assert [row.arm for row in found[:4]] == ["ash", "ash", "birch", "ash"]
    assert book == before  # looking changes nothing


def test_a_sheet_of_another_study_is_named_once():
    book = state()
    other = "zzzz"
    foreign = [(f"{other}-{i}", 1.0) for i in (1, 2, 3)] + [("", 1.0)]
    found = classify(told(book, *foreign), book)
    assert {row.status for row in found} == {"unknown"}
    [message] = {row.message for row in found}
    assert message == (
        "the rows seem to be of another study: "
        f"tickets begin with 'zzzz', in this study with {TAG!r}"
    )
    sheet = read_sheet(io.StringIO("ticket,value\nzzzz-1,1\n")).rows
    assert classify(parse_rows(sheet, book), book)[0].message.startswith(
        "the sheet seems to be of another study"
    )
    mixed = classify(told(book, *foreign, (f"{TAG}-1", 1.0)), book)
    assert [row.status for row in mixed] == ["unknown"] * 4 + ["accepted"]
    hint = f"its tickets go from {TAG}-1 to {TAG}-4"
    assert mixed[2].message == (
        f"row 3, column ticket: 'zzzz-3' is no ticket of this study; {hint}"
    )
    [mistyped] = classify(told(book, (f"{TAG[:3]}z-2", 1.0)), book)
    assert mistyped.message.endswith(f"is no ticket of this study; nearest is '{TAG}-2'")


def test_failures_and_unasked_values():
    book = state(
        Event(0, "measurement", 0.0, ticket=1, value=1.0),
        Event(0, "failed", 0.0, ticket=2, note="spilt"),
        Event(0, "unrequested", 0.0, ticket=5, arm=1, value=2.0, note="page 1"),
    )
    assert [classify_failure(f"{TAG}-{n}", book).status for n in (1, 2, 3)] == [
        "conflict",
        "duplicate",
        "accepted",
    ]
    with pytest.raises(ValueError, match="ticket must be one of this study"):
        classify_failure(f"{TAG}-9", book)
    cases = [
        ("birch", 2.0, "page 1"),
        ("birch", 3.0, "page 1"),
        ("birch", "x", "page 2"),
        ("ash", 2.0, "page 1"),
    ]
    found = [classify_unrequested(*case, book) for case in cases]
    assert [row.status for row in found] == ["duplicate", "conflict", "invalid", "accepted"]
    assert [row.ticket for row in found] == [f"{TAG}-5", f"{TAG}-5", "", f"{TAG}-6"]
