"""Check the pages about ``allgood serve``: examples run, and numbers are those of the code."""

import re
import shutil
from pathlib import Path

import pytest

import allgood
from allgood.serve import app, connections
from allgood.serve import requests as bodies
from allgood.serve import slow_work as work
from allgood.serve.middleware import Limits
from allgood.serve.routes import base, events
from allgood.serve.tokens import Sessions
from allgood.study.backends import http as servers
from allgood.study.backends import sql as store

from .support.described import description
from .support.pages import run_page
from .support.server_thread import serving
from .support.serving import Client
from .support.systems import needs_posix

DOCS = Path(__file__).parents[1] / "docs"
PAGE, REFERENCE = DOCS / "serve.md", DOCS / "serve-reference.md"
ADDRESS = "http://127.0.0.1:8765"
LETTERS = "kfhw"  # of the tickets on the page; every study has its own


@needs_posix
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_examples_run_in_their_order_and_print_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with serving("screens.db") as address:

        def current(part):
            here = part.replace(ADDRESS, address)
            if LETTERS not in part or "dyes" not in allgood.list_studies("screens.db"):
                return here
            own = allgood.load_study("screens.db", "dyes").design.ticket_id(1)
            return here.replace(f"{LETTERS}-", own.removesuffix("1"))

        assert run_page(PAGE.read_text(), current) >= 10


def numbers(row):
    """Return the numbers of the row of the table of limits that begins in this way."""
    name = re.escape(row.removesuffix(" |"))
    end = r" \|" if row.endswith("|") else r".*?\|"
    (found,) = re.findall(rf"^\| {name}{end}(.*?)\|", REFERENCE.read_text(), re.M)
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", found)]


@pytest.mark.parametrize(
    ("row", "limits"),
    [
        ("body of a request", [Limits.body // 10**6, Limits.upload // 10**6]),
        ("rows of one `tell`", [bodies.MOST_ROWS]),
        ("tickets of one `ask`", [bodies.MOST_TICKETS]),
        ("arms of a study", [bodies.MOST_ARMS]),
        ("events or values", [base.MOST_EVENTS]),
        (
            "bodies of all requests",
            [Limits.memory // 10**6, Limits.upload // 10**6, Limits.disk // 10**6],
        ),
        ("requests of one client |", [Limits.rate, Limits.burst]),
        ("requests of one client at", [Limits.requests_per_client, Limits.streams_per_client]),
        ("wrong tokens", [Limits.wrong_tokens]),
        ("requests at work;", [Limits.requests, Limits.streams]),
        ("requests at work without", [Limits.unauthenticated]),
        ("connections of one", [Limits.connections_per_address, Limits.connections]),
        ("time for the head", [Limits.head_seconds]),
        ("time for a body", [Limits.body_seconds, 1, Limits.body_rate]),
        ("time in which a client reads", [Limits.send_seconds]),
        ("slow requests at work", [work.PLACES, work.READERS]),
        ("slow requests of one client", [work.PER_CLIENT, *sorted(set(work.AT_ONCE.values()))]),
        ("slow requests that wait", [work.QUEUE]),
        ("time of a slow request", list(work.SECONDS.values())),
        ("requests that change", [app.WRITERS]),
        ("wait for the lock", [Limits.patience]),
    ],
)
def test_the_limits_are_those_of_the_code(row, limits):
    assert numbers(row) == limits


def test_the_other_numbers_are_those_of_the_code():
    text = " ".join((PAGE.read_text() + REFERENCE.read_text()).split())
    assert (store.REMEMBERED, "for a week" in text) == (7 * 86400.0, True)
    assert f"repeated for {servers.PATIENCE:g} seconds" in text
    assert f"every {events.BEAT:g} s" in text
    assert f"not used for {Sessions.IDLE / 3600:g} hours" in text
    assert f"after {Sessions.LONGEST / 86400:g} days" in text
    assert f"fewer open files than {Limits.connections + connections.RESERVE:,}" in text
    assert (app.LARGE, "two of them are parsed at once" in text) == (2, True)
    assert f"for up to {app.ENDING} seconds. After 5 seconds" in text
    assert app.ENDING < app.LAST_RESORT < 5.0


def test_every_route_is_on_the_page():
    """Each path stands there with 1 for the study, or with three dots for all up to it."""
    text = REFERENCE.read_text()
    for path in description()["paths"]:
        whole = path.replace("{id}", "1").replace("{batch}", "6").replace("{name}", "red")
        short = whole.replace("/v1/studies/1/", ".../")
        assert any(f"`{form}{end}" in text for form in (whole, short) for end in "`?"), path


def test_a_database_that_is_gone_is_said_with_503_and_comes_back(tmp_path):
    """Also for a study that the server has not opened yet."""
    file, away = tmp_path / "s.db", tmp_path / "away.db"
    options = {"objective": allgood.Additive(0.5), "delta": 0.1}
    for name in ("one", "two"):
        allgood.create_study(file, name, arms=["a", "b"], **options)
    with Client(file) as client:
        assert client.get("/v1/studies/1/status").status == 200
        file.rename(away)
        for path in ("/v1/studies", "/v1/studies/1/status", "/v1/studies/2/status"):
            answer = client.get(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert "s.db" in answer.detail
            assert str(tmp_path) not in answer.detail
        away.rename(file)
        assert client.get("/v1/studies/2/status").status == 200
