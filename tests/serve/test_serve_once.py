"""A request that is repeated with its key is done once, whoever answers it."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allgood import Additive, Gaussian, create_study, delete_study, list_studies, load_study
from allgood.study.backends import sql as store

from ..support.effort import examples
from ..support.serving import Client


def made(url):
    create_study(
        url,
        "s",
        arms=["a", "b", "c"],
        objective=Additive(0.01),
        delta=0.1,
        model=Gaussian(1.0),
        max_new_arms=2,
    ).close()
    return url


@pytest.fixture
def path(tmp_path):
    return made(tmp_path / "studies.db")


def log(path, number=1):
    with Client(path) as client:
        return client.get(f"/v1/studies/{number}/export").body


def kinds(path):
    return [json.loads(line)["kind"] for line in log(path).splitlines()]


def writes(client, number=1):
    """One write of every kind, as (method, target, options), each of which may follow the last."""
    tickets = client.post(f"/v1/studies/{number}/ask", {"n": 3}).json["tickets"]
    one, two, three = (ticket["id"] for ticket in tickets)
    sheet = f"ticket,value\n{two},0.5\n".encode()
    yield "POST", f"/v1/studies/{number}/ask", {"json": {"n": 2}}
    yield "POST", f"/v1/studies/{number}/tell", {"json": {"rows": [{"ticket": one, "value": 0.25}]}}
    yield "POST", f"/v1/studies/{number}/tell", {"body": sheet, "kind": "text/csv"}
    yield "POST", f"/v1/studies/{number}/fail", {"json": {"tickets": [three], "reason": "x"}}
    value = {"arm": "a", "value": 1.0, "source": "notes"}
    yield "POST", f"/v1/studies/{number}/measurements", {"json": value}
    counts = {"rows": [{"arm": "a", "n": 2, "sum": 1.0}], "source": "t", "period": "p"}
    yield "POST", f"/v1/studies/{number}/arms", {"json": {"arms": ["d"], "reason": "x"}}
    yield "POST", f"/v1/studies/{number}/counts", {"json": counts}
    corrected = {"measurement": one, "value": 0.5, "reason": "x"}
    yield "POST", f"/v1/studies/{number}/correct", {"json": corrected}
    yield "POST", f"/v1/studies/{number}/notes", {"json": {"text": "x"}}
    yield "POST", f"/v1/studies/{number}/drop-arm", {"json": {"arm": "c", "reason": "x"}}
    yield "POST", f"/v1/studies/{number}/budget", {"json": {"budget": 90, "reason": "x"}}
    new = {"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}
    yield "POST", "/v1/studies", {"json": new}
    lines = client.get(f"/v1/studies/{number}/export").body
    kind = {"body": lines, "kind": "application/x-ndjson"}
    yield "POST", "/v1/studies/import?name=copy", kind
    names = {study["name"]: study["id"] for study in client.get("/v1/names").json["studies"]}
    yield "DELETE", f"/v1/studies/{names['n']}", {}


def test_the_same_answer_from_every_server(path):
    """Byte by byte: at once, from another server on the same database, and after a restart."""
    answered = []
    with Client(path) as client, Client(path) as other:
        for i, (method, target, options) in enumerate(writes(client)):
            request = (method, target, options | {"idempotency_key": f"key-{i}"})
            first = client.request(request[0], request[1], **request[2])
            assert first.status in (200, 201), first
            assert "idempotency-replayed" not in first.headers
            there = log(path)
            for server in (client, other, client):
                again = server.request(request[0], request[1], **request[2])
                assert (again.status, again.body) == (first.status, first.body)
                assert again.headers["idempotency-replayed"] == "true"
            assert log(path) == there
            answered.append((request, first))
    with Client(path) as client:
        for (method, target, options), first in answered:
            again = client.request(method, target, **options)
            assert (again.status, again.body) == (first.status, first.body)
        assert [item["id"] for item in client.get("/v1/studies").json["studies"]] == [1, 3]


def test_without_a_key_it_is_done_again(path):
    """The control: the same requests without keys."""
    with Client(path) as client:
        for _ in range(2):
            assert client.post("/v1/studies/1/ask", {"n": 2}).status == 200
        assert client.get("/v1/studies/1/status").json["pending"] == 4


def test_a_key_belongs_to_one_request(path):
    with Client(path) as client:
        key = {"idempotency_key": "k"}
        assert client.post("/v1/studies/1/ask", {"n": 2}, **key).status == 200
        for target, body in (
            ("/v1/studies/1/ask", {"n": 3}),
            ("/v1/studies/1/notes", {"text": "x"}),
            ("/v1/studies/1/tell?rows=problems", {"rows": []}),
        ):
            refused = client.post(target, body, **key)
            assert (refused.status, refused.detail) == (
                422,
                "Idempotency-Key 'k' was already used for a different request. Use a new key for a "
                "new request.",
            )
        # The keys of the database are others than those of a study.
        new = {"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}
        assert client.post("/v1/studies", new, **key).status == 201
        assert client.post("/v1/studies/2/ask", {"n": 2}, **key).status == 200
    assert kinds(path) == ["created", "ticket", "ticket"]


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "ü", "\x7f"])
def test_a_key_has_visible_characters(path, key):
    with Client(path) as client:
        refused = client.post("/v1/studies/1/ask", {}, idempotency_key=key)
        assert refused.status == 422
        assert refused.detail.startswith("Idempotency-Key must fit: ")
        assert client.post("/v1/studies/1/ask", {}, idempotency_key="~" * 200).status == 200


def test_a_refused_request_leaves_its_key_free(path):
    key = {"idempotency_key": "k"}
    with Client(path) as client:
        assert (
            client.post("/v1/studies/1/drop-arm", {"arm": "z", "reason": "x"}, **key).status == 422
        )
        assert client.post("/v1/studies/1/ask", {"n": 0}, **key).status == 422
        bad = {"name": "s", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}
        assert client.post("/v1/studies", bad, **key).status == 409
        assert client.post("/v1/studies", bad | {"name": "t"}, **key).status == 201
        assert client.post("/v1/studies/1/ask", {"n": 1}, **key).status == 200
    assert kinds(path) == ["created", "ticket"]


def test_a_failure_in_the_middle_leaves_nothing(path, monkeypatch):
    """The work was done, but its answer could not be stored: neither is there, nor remembered."""
    key = {"idempotency_key": "k"}
    with Client(path) as client:
        assert client.post("/v1/studies/1/ask", {"n": 1}).status == 200
        with monkeypatch.context() as broken:
            broken.setattr(store.zlib, "compress", lambda *_: 1 / 0)
            assert client.post("/v1/studies/1/ask", {"n": 2}, **key).status == 500
        assert kinds(path) == ["created", "ticket"]
        assert client.get("/v1/studies/1/status").json["pending"] == 1
        done = client.post("/v1/studies/1/ask", {"n": 2}, **key)
        assert (done.status, len(done.json["tickets"])) == (200, 2)
    assert kinds(path) == ["created"] + ["ticket"] * 3


def test_a_body_that_is_cut_off_does_nothing(path):
    key = {"idempotency_key": "k"}
    with Client(path) as client:
        ticket = client.post("/v1/studies/1/ask", {}).json["tickets"][0]["id"]
        sheet = f"ticket,value\n{ticket},0.5".encode()  # a valid sheet wherever it ends
        cut = [sheet[:-2], None]
        assert client.post("/v1/studies/1/tell", body=cut, kind="text/csv", **key) is None
        rows = json.dumps({"rows": [{"ticket": ticket, "value": 0.5}]}).encode()
        for kind in ("application/json", "text/csv"):
            client.post("/v1/studies/1/tell", body=[rows, None], kind=kind)
        lines = client.get("/v1/studies/1/export").body
        cut = [lines, None]
        client.post("/v1/studies/import?name=n", body=cut, kind="application/x-ndjson")
        assert kinds(path) == ["created", "ticket"]
        assert len(client.get("/v1/studies").json["studies"]) == 1
        told = client.post("/v1/studies/1/tell", body=sheet, kind="text/csv", **key)
        assert told.json["counts"] == {"accepted": 1}


@examples(4)
@given(st.data())
def test_writes_repeated_reordered_and_cut_off_count_once(tmp_path_factory, data):
    """Deliveries by two servers, in any order, each any number of times, some cut off."""
    path = made(tmp_path_factory.mktemp("once") / "studies.db")
    with Client(path) as one, Client(path) as two:
        tickets = one.post("/v1/studies/1/ask", {"n": 6}).json["tickets"]
        bodies = {}
        for i, ticket in enumerate(tickets):
            rows = [{"ticket": ticket["id"], "value": 0.125 * i}]
            bodies[f"tell {i}"] = ("tell", json.dumps({"rows": rows}).encode())
            bodies[f"ask {i}"] = ("ask", b'{"n": 1}')
        plan = data.draw(
            st.lists(
                st.tuples(st.sampled_from(sorted(bodies)), st.booleans(), st.booleans()),
                max_size=30,
            )
        )
        answers = {}
        for name, second, cut in plan:
            what, body = bodies[name]
            given_body = [body[: len(body) // 2], None] if cut else body
            answer = (two if second else one).post(
                f"/v1/studies/1/{what}",
                body=given_body,
                kind="application/json",
                idempotency_key=name.replace(" ", "-"),
            )
            if not cut:
                assert answers.setdefault(name, answer.body) == answer.body
        told = {name for name in answers if name.startswith("tell")}
        for server in (one, two):
            status = server.get("/v1/studies/1/status").json
            assert status["measurements"] == len(told)
            assert status["pending"] == 6 + len(answers) - 2 * len(told)
    with load_study(path) as study:  # as somebody sees it who has read it from the start
        assert study.status().measurements == len(told)


def at_once(work, *arguments):
    """Do it with each argument in a thread, all at the same time; what they return."""
    gate = threading.Barrier(len(arguments))

    def one(argument):
        gate.wait()
        return work(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(one, arguments))


ROUNDS = 2  # each with 8 requests at once, of three kinds


def check_at_once(url):
    """Two servers get the same requests at the same time."""
    with Client(url) as one, Client(url) as two:
        servers = [one, two] * 4
        for server in servers:  # an application that is new prepares its routes, one at a time
            assert server.get("/v1/nothing").status == 404
        study = f"/v1/studies/{one.get('/v1/studies?name=s').json['studies'][0]['id']}"
        for i in range(ROUNDS):
            key = {"idempotency_key": f"same-{i}"}

            def ask(server, key=key):
                return server.post(f"{study}/ask", {"n": 2}, **key)

            answers = at_once(ask, *servers)
            assert {answer.status for answer in answers} == {200}, answers
            assert len({answer.body for answer in answers}) == 1
            new = sum("idempotency-replayed" not in answer.headers for answer in answers)
            assert new == 1
            body = {"name": f"n{i}", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}

            def create(server, body=body, key=key):
                return server.post("/v1/studies", body, **key)

            answers = at_once(create, *servers)
            assert {answer.status for answer in answers} == {201}, answers
            assert len({answer.body for answer in answers}) == 1

            def other(numbered, body=body, i=i):
                """The same name with keys of their own."""
                place, server = numbered
                key = f"own-{i}-{place}"
                other = body | {"name": f"other {i}"}
                return server.post("/v1/studies", other, idempotency_key=key).status

            assert sorted(at_once(other, *enumerate(servers))) == [201] + [409] * 7
        # Neither server has seen what did not happen.
        for server in (one, two):
            assert server.get(f"{study}/status").json["pending"] == 2 * ROUNDS
        for server in (one, two):
            assert server.post(f"{study}/ask", {"n": 1}).status == 200
    with load_study(url, "s") as local:
        assert [event.seq for event in local.events()] == list(range(1, 2 * ROUNDS + 4))
        assert local.status().pending == 2 * ROUNDS + 2


def test_the_same_key_at_two_servers_at_once(path):
    check_at_once(path)


def test_the_same_key_at_two_servers_at_once_in_postgres(postgres_url):
    made(postgres_url)
    try:
        check_at_once(postgres_url)
    finally:
        for name in list_studies(postgres_url):
            delete_study(postgres_url, name)
