"""Who may do what, and what the server says of itself: every route, every way in."""

import hashlib
import json
import logging
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from allgood import Additive, Gaussian, create_study
from allgood.serve import tokens as tokens_module
from allgood.serve.app import check_host
from allgood.serve.middleware import HEADERS, Limits, RateLimit
from allgood.serve.tokens import ROLES, Sessions, Token, add_token, find_token, read_tokens

from ..support.command_line import allgood
from ..support.postgres import postgres_server
from ..support.serving import Client, wait_until
from ..support.systems import needs_posix

EXAMPLES = {"id": "1", "batch": "1", "name": "a"}
PUBLIC = {("GET", "/v1/session"), ("POST", "/v1/session"), ("DELETE", "/v1/session")}
PUBLIC |= {("GET", "/v1/health"), ("GET", "/v1/vocabulary")}
PAGE = {"/", "/docs", "/static", "/openapi.json"}
BODIES = {
    "/v1/studies": {"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"},
    "/v1/studies/{id}/ask": {"n": 1},
    "/v1/studies/{id}/ask/preview": {"n": 1, "plate": {"rows": 2, "columns": 3}},
    "/v1/studies/{id}/preview": {"rows": []},
    "/v1/studies/{id}/tell": {"rows": []},
    "/v1/studies/{id}/counts": {"rows": [{"arm": "a", "n": 1, "sum": 1}], "source": "s"},
    "/v1/studies/{id}/counts/preview": {"rows": [{"arm": "a", "n": 1, "sum": 1}], "source": "s"},
    "/v1/studies/{id}/measurements": {"arm": "a", "value": 1.0, "source": "s"},
    "/v1/studies/{id}/fail": {"batch": 1, "reason": "x"},
    "/v1/studies/{id}/confirm": {"ticket": "x-1", "reason": "x"},
    "/v1/studies/{id}/notes": {"text": "x"},
    "/v1/studies/{id}/correct": {"measurement": "x-1", "value": 1.0, "reason": "x"},
    "/v1/studies/{id}/replace": {"rows": [], "reason": "x"},
    "/v1/studies/{id}/replace/preview": {"rows": [], "reason": "x"},
    "/v1/studies/{id}/withdraw": {"source": "s", "reason": "x", "basis": "cause"},
    "/v1/studies/{id}/restore-arm": {"arm": "a", "reason": "x"},
    "/v1/studies/{id}/drop-arm": {"arm": "a", "reason": "x"},
    "/v1/studies/{id}/budget": {"budget": 9, "reason": "x"},
    "/v1/studies/{id}/arms": {"arms": ["c"], "reason": "x"},
    "/v1/verify": {"certificate": {}},
    "/v1/plan": {"means": [1.0, 0.0], "epsilon": 0.5, "sigma": 1.0, "runs": 1},
    "/v1/explore": {"means": [1.0, 0.0], "epsilon": 0.5},
    "/v1/explore/run": {"means": [1.0, 0.0], "epsilon": 0.5},
    "/v1/session": {"token": "x"},
    "/v1/studies/import": None,
}
# A table of its own, not taken from the program: the role that each route needs.
MEASURE = "ask ask/preview preview tell counts counts/preview measurements fail confirm notes"
MANAGE = "correct replace replace/preview withdraw drop-arm restore-arm budget arms"
NEEDS = {("POST", "/v1/studies"): "manage", ("POST", "/v1/studies/import"): "manage"}
NEEDS |= {("DELETE", "/v1/studies/{id}"): "manage"}
NEEDS |= {("POST", f"/v1/studies/{{id}}/{name}"): "measure" for name in MEASURE.split()}
NEEDS |= {("POST", f"/v1/studies/{{id}}/{name}"): "manage" for name in MANAGE.split()}


def routes_of(app):
    """Every method and path that the application answers, however its routers are nested."""
    found, todo = set(), [("", route) for route in app.routes]
    while todo:
        before, route = todo.pop()
        inner = getattr(route, "original_router", None)
        if inner is not None:
            todo += [("", item) for item in inner.routes]
        elif getattr(route, "methods", None):
            place = before + route.path.replace(":path}", "}")
            found |= {(method, place) for method in route.methods - {"HEAD"}}
        else:
            found.add(("GET", before + route.path))
    return found


@pytest.fixture(scope="module")
def secrets_():
    """A token for each role: the secrets, and what the server knows of them."""
    made = {role: f"{role}-{'s3cr3t' * 7}" for role in ROLES}
    known = tuple(
        Token(role, tokens_module._digest(secret), f"of {role}") for role, secret in made.items()
    )
    return made, known


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "studies.db"
    create_study(
        path, "s", arms=["a", "b"], objective=Additive(0.5), delta=0.1, model=Gaussian(1.0)
    ).close()
    return path


def bearer(secret):
    return {"authorization": f"Bearer {secret}"}


def send(client, method, path, **headers):
    """A request that would be fine, but for its headers."""
    target, body = path.format(**EXAMPLES), BODIES.get(path)
    if method == "GET" and path.endswith("/live"):
        with client.stream(target, **headers) as live:
            return live.status
    if path == "/v1/studies/import":
        return client.post(target, body=b"{}\n", kind="application/x-ndjson", **headers).status
    return client.request(method, target, json=body, **headers).status


def test_the_walk_meets_every_route(path):
    """All that the description has, and nothing else but the page."""
    with Client(path) as client:
        found = routes_of(client.app)
        described = client.get("/openapi.json").json["paths"]
    api = {(method.upper(), p) for p, methods in described.items() for method in methods}
    assert api == {(method, p) for method, p in found if p.startswith("/v1/")}
    assert {p for _, p in found if not p.startswith("/v1/")} == PAGE
    assert len(api) > 35
    assert set(NEEDS) < api
    assert {p for method, p in api if method == "POST"} == set(BODIES)


def all_routes(client):
    return sorted(item for item in routes_of(client.app) if item[1].startswith("/v1/"))


WRONG = {
    "no token": {},
    "a wrong token": bearer("x" * 43),
    "half a token": bearer("manage-s3cr3t"),
    "another scheme": {"authorization": "Basic bWFuYWdl"},
    "a wrong cookie": {"cookie": "allgood_session_80=nonsense"},
    "a broken cookie": {"cookie": 'a={"b"; allgood_session_80; ='},
}


@pytest.mark.parametrize("way", WRONG)
def test_without_a_token_every_route_refuses(path, secrets_, way):
    _, known = secrets_
    limits = Limits(wrong_tokens=1e6)
    with Client(path, tokens=known, limits=limits) as client:
        for method, route in all_routes(client):
            if (method, route) in PUBLIC:
                continue
            assert send(client, method, route, **WRONG[way]) == 401, (method, route)
        # The public ones tell nothing: not even the name of the file.
        if "authorization" not in WRONG[way] or way == "another scheme":
            session = client.get("/v1/session", **WRONG[way]).json
            assert (session["role"], session["database"]) == (None, None)


def test_every_role_may_do_what_it_is_for_and_no_more(path, secrets_):
    made, known = secrets_
    with Client(path, tokens=known, limits=Limits(wrong_tokens=1e6)) as client:
        for role, secret in made.items():
            # Deleting comes last: what was there is gone then.
            for method, route in sorted(all_routes(client), key=lambda one: one[0] == "DELETE"):
                if (method, route) in PUBLIC:
                    continue
                needed = NEEDS.get((method, route), "read")
                got = send(client, method, route, **bearer(secret))
                allowed = ROLES.index(role) >= ROLES.index(needed)
                assert (got != 403) == allowed, (role, method, route, got)
                assert got not in (401, 405, 500), (role, method, route, got)
        assert client.get("/v1/studies/1", **bearer(made["manage"])).status == 404


ELSEWHERE = {
    "another origin": {"origin": "http://evil.example"},
    "the same host with another port": {"origin": "http://localhost:81"},
    "a hidden origin": {"origin": "null"},
    "a broken origin": {"origin": "http://["},
    "no host in the origin": {"origin": ""},
    "a page of another site": {"sec_fetch_site": "cross-site"},
    "a page of a sister": {"sec_fetch_site": "same-site"},
}


@pytest.mark.parametrize("way", ELSEWHERE)
@pytest.mark.parametrize("with_tokens", [False, True])
def test_a_page_of_another_site_is_refused_on_every_route(path, secrets_, way, with_tokens):
    made, known = secrets_
    with Client(path, tokens=known if with_tokens else ()) as client:
        headers = ELSEWHERE[way] | (bearer(made["manage"]) if with_tokens else {})
        for method, route in all_routes(client):
            assert send(client, method, route, **headers) == 403, (method, route)


def test_the_own_page_is_not_refused(path):
    with Client(path) as client:
        for headers in (
            {"origin": "http://localhost", "sec_fetch_site": "same-origin"},
            {"origin": "https://localhost"},
            {"origin": "http://LOCALHOST:8765", "host": "localhost:8765"},
            {"sec_fetch_site": "none"},
            {},
        ):
            assert client.get("/v1/studies", **headers).status == 200, headers


@pytest.mark.parametrize("host", ["evil.example", "10.0.0.1:8765", "localhost.evil.example", "["])
def test_without_tokens_another_name_of_the_host_is_refused(path, secrets_, host):
    """Else a page could reach the server under a name of its own (DNS rebinding)."""
    with Client(path) as client:
        for method, route in [*all_routes(client), ("GET", "/"), ("GET", "/openapi.json")]:
            assert send(client, method, route, host=host) == 403, (method, route)
    made, known = secrets_
    with Client(path, tokens=known) as client:  # with tokens the host may have any name
        assert client.get("/v1/studies", host=host, **bearer(made["read"])).status == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LocalHost:1"])
def test_names_of_this_machine(path, host):
    with Client(path) as client:
        assert client.get("/v1/studies", host=host).status == 200


def test_a_server_that_only_reads(path):
    before = path.read_bytes()
    with Client(path, read_only=True) as client:
        assert client.get("/v1/session").json["read_only"] is True
        for method, route in all_routes(client):
            got = send(client, method, route)
            if (method, route) in NEEDS:
                assert got == 403, (method, route)
            elif (method, route) not in PUBLIC:
                assert got in (200, 404, 422), (method, route, got)
    assert path.read_bytes() == before


def test_no_one_else_can_reach_a_server_without_tokens(path):
    for host in ("0.0.0.0", "::", "192.168.1.5", "lab.example", ""):
        with pytest.raises(ValueError, match="tokens must be given for a host that other machines"):
            check_host(host, ())
        check_host(host, (Token("read", "0" * 64),))
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_host(host, ())
    ended = allgood("serve", path, "--host", "0.0.0.0")
    assert ended.returncode == 2
    assert "tokens must be given for a host" in ended.stderr
    assert "--token-file FILE --new-token manage" in ended.stderr


# ---- tokens


def test_a_token_is_made_once_and_stored_nowhere(tmp_path):
    file = tmp_path / "tokens"
    for role in ROLES:
        made = allgood(
            "serve", "x.db", "--token-file", file, "--new-token", role, "--token-name", f"{role} 1"
        )
        assert made.returncode == 0
        token = made.stdout.strip()
        assert len(token) >= 43
        assert token not in file.read_text()
        known = read_tokens(file)
        assert find_token(token, known).role == role
        assert (known[-1].name, known[-1].sha256) == (f"{role} 1", tokens_module._digest(token))
    assert find_token(token + "x", known) is None
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    named = allgood("serve", "x.db", "--new-token", "read")
    assert "--token-file must be given with --new-token." in named.stderr
    other = allgood("serve", "x.db", "--token-file", file, "--new-token", "boss")
    assert "role must be one of read, measure, manage: got 'boss'." in other.stderr
    assert "--new-token takes one of them." in other.stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The token file has no token"),
        (b"# none yet\n\n", "The token file has no token"),
        (b"boss " + b"0" * 64, "line 1 has not."),
        (b"read my-own-secret-token\n", "line 1 has not."),
        (b"read " + b"0" * 64 + b"\nread " + b"0" * 63, "line 2 has not."),
        (b"read \xff\xfe", "The token file must be text in UTF-8"),
    ],
)
def test_a_wrong_token_file_is_said_without_its_content(tmp_path, path, content, sentence):
    file = tmp_path / "tokens"
    file.write_bytes(content)
    ended = allgood("serve", path, "--token-file", file)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "secret" not in ended.stderr
    missing = allgood("serve", path, "--token-file", tmp_path / "nowhere")
    assert (missing.returncode, "there is no such file" in missing.stderr) == (2, True)


def test_tokens_are_compared_in_constant_time(monkeypatch, secrets_):
    """With hmac.compare_digest, on digests of one length, and always with every known token."""
    made, known = secrets_
    seen = []

    def compare(a, b):
        seen.append((a, b))
        return a == b

    monkeypatch.setattr(tokens_module.hmac, "compare_digest", compare)
    for given in (*made.values(), "", "x", "y" * 10_000, "\udcff"):
        seen.clear()
        find_token(given, known)
        assert [b for _, b in seen] == [item.sha256 for item in known]
        assert {len(a) for a, _ in seen} == {64}


def test_tokens_are_in_no_line_and_no_answer(path, secrets_, caplog, monkeypatch):
    made, known = secrets_
    caplog.set_level(logging.DEBUG)
    with Client(path, tokens=known, limits=Limits(wrong_tokens=1e6)) as client:
        answers = []
        for secret in (*made.values(), "wrong-s3cr3t-wrong"):
            cookie = {"cookie": f"allgood_session_80={secret}"}
            for headers in (bearer(secret), cookie):
                for method, route in all_routes(client):
                    if route.endswith("/live") or method == "DELETE":
                        continue
                    target, body = route.format(**EXAMPLES), BODIES.get(route)
                    answers.append(client.request(method, target, json=body, **headers))
            for body in (
                {"token": secret},
                {"token": secret, "more": secret},
                {"tokens": secret},
                secret,
                {"token": secret * 100},
                {"token": [secret]},
            ):
                answers.append(client.post("/v1/session", body))
            answers.append(client.post("/v1/session", body=secret.encode()))
        monkeypatch.setattr(client.app.state.study_cache, "heads", lambda: 1 / 0)
        answers.append(client.get("/v1/studies", **bearer(made["read"])))
        assert answers[-1].status == 500
    for answer in answers:
        shown = {k: v for k, v in answer.headers.items() if k != "set-cookie"}
        assert b"s3cr3t" not in answer.body, answer
        assert "s3cr3t" not in str(shown)
    assert len(caplog.records) > 100
    assert "s3cr3t" not in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_logging_in_by_the_page(path, secrets_):
    made, known = secrets_
    with Client(path, tokens=known) as client:
        assert client.get("/v1/session").json["needs_token"] is True
        refused = client.post("/v1/session", {"token": "no"})
        assert (refused.status, refused.detail) == (
            401,
            "The token must be one that this server knows.",
        )
        entered = client.post("/v1/session", {"token": made["measure"]})
        assert entered.json == {"role": "measure"}
        cookie = entered.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/"):
            assert part in cookie
        kept = {"cookie": f"other=1; {cookie.partition(';')[0]}; more=2"}
        assert client.get("/v1/session", **kept).json["role"] == "measure"
        assert client.post("/v1/studies/1/ask", {}, **kept).status == 200
        assert (
            client.post("/v1/studies/1/drop-arm", {"arm": "a", "reason": "x"}, **kept).status == 403
        )
        assert made["measure"] not in cookie
        left = client.delete("/v1/session", **kept)
        assert client.get("/v1/studies", **kept).status == 401  # also if somebody kept the cookie
        assert 'allgood_session_80=""' in left.headers["set-cookie"]
        stale = client.get("/v1/session", cookie="allgood_session_80=of-last-year")
        assert (stale.json["role"], 'allgood_session_80=""' in stale.headers["set-cookie"]) == (
            None,
            True,
        )


def test_sessions_end():
    """When they are not used, when they are old, when their person goes, and when others come."""
    clock = Clock()
    token, other = Token("read", "0" * 64), Token("read", "1" * 64)
    sessions = Sessions(clock)
    name = sessions.begin(token)
    for _ in range(14):
        clock.now += Sessions.IDLE - 1
        assert sessions.token(name) == token
    clock.now += Sessions.IDLE - 1  # by now it is older than a week
    assert sessions.token(name) is None
    name = sessions.begin(token)
    clock.now += Sessions.IDLE + 1
    assert sessions.token(name) is None
    name = sessions.begin(token)
    sessions.end(name)
    assert sessions.token(name) is None
    kept = sessions.begin(other)
    names = [sessions.begin(token) for _ in range(Sessions.PER_TOKEN + 1)]
    assert [sessions.token(item) for item in names[:2]] == [None, token]
    assert sessions.token(kept) == other
    assert sessions.token("") is None


def test_the_cookie_is_named_after_the_port_and_lasts_as_long_as_the_server(path, secrets_):
    made, known = secrets_
    with Client(path, tokens=known) as client:
        first = client.post("/v1/session", {"token": made["read"]}).headers["set-cookie"]
        again = client.post("/v1/session", {"token": made["read"]}).headers["set-cookie"]
        assert first.startswith("allgood_session_80=")
        assert first != again  # a session, and no function of the token
        assert "Secure" not in first
        kept = {"cookie": first.partition(";")[0]}
        assert client.get("/v1/studies", **kept).status == 200
        secure = client.post("/v1/session", {"token": made["read"]}, scheme="https")
        assert "Secure" in secure.headers["set-cookie"]
    with Client(path, tokens=known) as restarted:
        assert restarted.get("/v1/studies", **kept).status == 401


def test_the_log_names_the_token_and_keeps_a_trace_of_a_deletion(path, secrets_, caplog):
    made, known = secrets_
    caplog.set_level(logging.INFO, logger="allgood.serve")
    unnamed = Token("read", tokens_module._digest("r2"))
    with Client(path, tokens=(*known, unnamed)) as client:
        client.get("/v1/studies", **bearer(made["measure"]))
        client.get("/v1/studies", **bearer("r2"))
        client.get("/v1/studies")
        client.post("/v1/studies/1/ask", {"n": 2}, **bearer(made["measure"]))
        last = client.get("/v1/studies/1/export", **bearer(made["read"])).body.splitlines()[-1]
        key = {"idempotency_key": "k"}
        for _ in range(2):  # the second time it is only answered again
            client.delete("/v1/studies/1", **bearer(made["manage"]), **key)
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    named = [line["token"] for line in lines if line["event"] == "request"]
    assert named[:3] == ["of measure", unnamed.sha256[:8], None]
    (deletion,) = [line for line in lines if line["event"] == "deletion"]
    assert {name: deletion[name] for name in ("study", "name", "events", "token", "role")} == {
        "study": 1,
        "name": "s",
        "events": 3,
        "token": "of manage",
        "role": "manage",
    }
    assert deletion["last_event_sha256"] == hashlib.sha256(last).hexdigest()


def test_an_old_cookie_does_not_lock_its_owner_out(path, secrets_):
    """The files of the page are asked for with the cookie, and are no guesses."""
    made, known = secrets_
    with Client(path, tokens=known) as client:
        old = {"cookie": "allgood_session_80=of-last-year"}
        for _ in range(30):
            assert client.get("/static/index.html", **old).status == 200
        assert client.get("/v1/session", **old).status == 200
        assert client.post("/v1/session", {"token": made["read"]}, **old).status == 200


# ---- limits


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def guard_of(client):
    """The guard of an application, which it makes at its first request."""
    client.get("/v1/health")
    layer = client.app.middleware_stack
    while type(layer).__name__ != "AccessMiddleware":
        layer = layer.app
    return layer


def with_clock(client, limits):
    guard, clock = guard_of(client), Clock()
    guard.rates = RateLimit(limits.rate, limits.burst, clock)
    guard.wrong_tokens = RateLimit(limits.wrong_tokens / 60.0, limits.wrong_tokens, clock)
    return clock


def test_too_many_requests(path):
    limits = Limits(rate=2.0, burst=5.0)
    with Client(path, limits=limits) as client:
        clock = with_clock(client, limits)
        assert [client.get("/v1/names").status for _ in range(7)] == [200] * 5 + [429] * 2
        refused = client.get("/v1/names")
        assert refused.detail == "The client sends too many requests: try again in a second."
        assert refused.headers["retry-after"] == "1"
        client.address = "10.0.0.2"  # another has a rate of its own
        assert client.get("/v1/names").status == 200
        client.address = "127.0.0.1"
        assert client.get("/v1/health").status == 200  # which always answers
        clock.now += 1.0
        assert [client.get("/v1/names").status for _ in range(3)] == [200, 200, 429]


def test_strangers_do_not_use_up_the_rate_of_a_token(path, secrets_):
    made, known = secrets_
    limits = Limits(rate=2.0, burst=5.0)
    with Client(path, tokens=known, limits=limits) as client:
        with_clock(client, limits)
        assert [client.get("/v1/names").status for _ in range(7)] == [401] * 5 + [429] * 2
        assert client.get("/v1/names", **bearer(made["read"])).status == 200
        assert client.get("/v1/health").status == 200


@pytest.mark.parametrize("way", ["header", "form"])
def test_too_many_guesses(path, secrets_, way):
    made, known = secrets_
    limits = Limits(wrong_tokens=3.0)
    with Client(path, tokens=known, limits=limits) as client:
        clock = with_clock(client, limits)

        def guess(token):
            if way == "form":
                return client.post("/v1/session", {"token": token}).status
            return client.get("/v1/studies", **bearer(token)).status

        assert [guess(f"no{i}") for i in range(4)] == [401, 401, 401, 429]
        assert guess(made["manage"]) == 200  # whatever was guessed before, the right one passes
        assert client.get("/v1/health").status == 200
        assert client.get("/v1/studies").status == 401
        clock.now += 21.0
        assert [guess("no"), guess("no")] == [401, 429]
        assert guess(made["manage"]) == 200


@pytest.mark.parametrize("parts", [False, True])
def test_large_bodies_are_refused(path, parts):
    """Whether or not they say how long they are."""
    with Client(path, limits=Limits(body=1000, upload=2000)) as client:
        for size, route, kind, status in [
            (1001, "notes", "application/json", 413),
            (900, "notes", "application/json", 422),
            (2001, "tell", "text/csv", 413),
            (2001, "tell", "application/json", 413),
            (1900, "tell", "text/csv", 422),
            (2001, "preview", "text/csv", 413),
            (2001, "counts", "text/csv", 413),
        ]:
            body = b"x" * size
            given = [body[:500], body[500:]] if parts else body
            got = client.post(f"/v1/studies/1/{route}", body=given, kind=kind)
            assert got.status == status, (size, route, kind, got)
        limit = 2000
        lines = b"{}\n" * 700
        given = [lines[:1000], lines[1000:]] if parts else lines
        got = client.post("/v1/studies/import", body=given, kind="application/x-ndjson")
        assert (got.status, got.detail) == (
            413,
            f"The body must be at most {limit:,} bytes: send it in parts.",
        )
    assert len(events(path)) == 1


@pytest.mark.parametrize("length", ["-1", "x", "\xb2", "1e3", "9" * 5000])
def test_a_length_that_is_none(path, length):
    with Client(path) as client:
        got = client.post("/v1/studies/1/notes", body=b"{}", content_length=length)
        assert (got.status, got.detail) == (400, "Content-Length must be a number.")


def test_too_many_streams_and_too_much_to_do(path):
    with Client(path, limits=Limits(streams=2, requests=1)) as client:
        with client.stream("/v1/live") as first, client.stream("/v1/studies/1/live") as second:
            assert (first.status, second.status) == (200, 200)
            with client.stream("/v1/live") as third:
                assert third.status == 503
            assert client.get("/v1/studies").status == 200  # streams do not count as work
        wait_until(lambda: guard_of(client).streams.used == 0)
        with client.stream("/v1/live") as again:
            assert again.status == 200
        guard_of(client).requests.add("address 10.0.0.9", 1)
        assert client.get("/v1/health").status == 200
        assert client.get("/").status == 200
        busy = client.get("/v1/studies")
        assert (busy.status, busy.headers["retry-after"]) == (503, "1")
        assert busy.detail == "The server is busy: try again."


# ---- what every answer carries


def test_headers_of_safety_are_on_every_answer(path, secrets_, monkeypatch):
    made, known = secrets_
    with Client(path, tokens=known, limits=Limits(body=1000, wrong_tokens=1e6)) as client:
        me = bearer(made["manage"])
        answers = [
            client.get("/"),
            client.get("/static/style.css"),
            client.get("/static/nothing.js"),
            client.get("/openapi.json"),
            client.get("/nothing"),
            client.get("/v1/studies"),
            client.get("/v1/studies", **bearer("no")),
            client.get("/v1/studies", **me),
            client.get("/v1/studies/9", **me),
            client.get("/v1/studies/x", **me),
            client.request("PATCH", "/v1/studies", **me),
            client.post("/v1/studies/1/notes", body=b"x" * 2000, **me),
            client.get("/v1/studies", origin="http://evil.example", **me),
            client.get("/v1/studies/1/report", **me),
            client.get("/v1/studies/1/export", **me),
        ]
        monkeypatch.setattr(client.app.state.study_cache, "heads", lambda: 1 / 0)
        answers.append(client.get("/v1/studies", **me))
    statuses = {answer.status for answer in answers}
    assert statuses >= {200, 401, 403, 404, 405, 413, 422, 500}
    for answer in answers:
        for name, value in HEADERS.items():
            own = name == "content-security-policy" and b"<html" in answer.body
            assert answer.headers[name] == value or own, (answer, name)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy.partition("script-src")[2].partition(";")[0]


def test_what_is_secret_is_not_cached(path):
    with Client(path) as client:
        assert client.get("/v1/studies").headers["cache-control"] == "no-store"
        assert "no-store" not in client.get("/static/style.css").headers.get("cache-control", "")


def test_lines_of_the_log(path, caplog):
    caplog.set_level(logging.INFO, logger="allgood.serve")
    with Client(path) as client:
        client.get("/v1/studies/1/status?arms=none", x_secret="hush")
        client.get("/v1/no\nthing \x1b[31m")
    first, second = (record.getMessage() for record in caplog.records)
    assert "\n" not in second
    assert "\x1b" not in second
    line = json.loads(first)
    assert {"time", "event", "method", "path", "status", "ms", "role", "token", "client"} == set(
        line
    )
    assert (line["path"], line["status"]) == ("/v1/studies/1/status", 200)
    assert "hush" not in first
    assert "arms" not in first


def test_an_error_of_the_server_says_nothing_of_its_inside(path, caplog, monkeypatch):
    with Client(path) as client:
        monkeypatch.setattr(client.app.state.study_cache, "heads", lambda: {}["the inside"])
        answer = client.get("/v1/studies")
    assert answer.status == 500
    assert answer.detail == "The server has an error of its own; see its log."
    assert "the inside" in caplog.text  # for whoever runs the server


# ---- the database is locked, or gone


def events(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("select kind from allgood_events order by study, seq").fetchall()
    connection.close()
    return [kind for (kind,) in found]


@pytest.mark.parametrize("key", [None, "k"])
def test_a_locked_database(path, key):
    header = {} if key is None else {"idempotency_key": key}
    with Client(path, limits=Limits(patience=0.2)) as client:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = client.post("/v1/studies/1/ask", {"n": 2}, **header)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.detail == (
            "timed out after 0.2 s: another program holds the database lock. Nothing was changed: "
            "try again when that program has finished."
        )
        new = BODIES["/v1/studies"]
        assert client.post("/v1/studies", new, **header).status == 503
        assert client.get("/v1/studies/1/status").status == 200  # reading goes on
        other.rollback()
        other.close()
        assert client.post("/v1/studies/1/ask", {"n": 2}, **header).status == 200
        assert client.post("/v1/studies", new, **header).status == 201
        assert client.get("/v1/studies/1/status").json["pending"] == 2
    assert events(path) == ["created", "ticket", "ticket", "created"]


@needs_posix
@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_a_database_that_is_gone(path, tmp_path, way):
    """What a server would write into a deleted file is lost: it must not say that it is stored."""
    with Client(path) as client:
        assert client.post("/v1/studies/1/ask", {"n": 1}).status == 200
        aside = tmp_path / "aside"
        aside.mkdir()
        for file in tmp_path.glob("studies.db*"):
            file.rename(aside / file.name)
        if way == "replaced":
            create_study(path, "s", arms=["x", "y"], objective=Additive(1.0), delta=0.1).close()
        for method, route in [
            ("GET", "/v1/studies"),
            ("GET", "/v1/studies/{id}/status"),
            ("GET", "/v1/studies/{id}/export"),
            ("POST", "/v1/studies/{id}/ask"),
            ("POST", "/v1/studies/{id}/notes"),
            ("POST", "/v1/studies"),
            ("DELETE", "/v1/studies/{id}"),
        ]:
            target = route.format(**EXAMPLES)
            answer = client.request(method, target, json=BODIES.get(route))
            assert answer.status == 503, (method, route, answer)
            assert "studies.db" in answer.detail
        assert client.get("/v1/health").status == 200
        if way == "deleted":
            assert not path.exists()  # nor is an empty one made in its place
            for file in aside.iterdir():
                file.rename(tmp_path / file.name)
            assert client.post("/v1/studies/1/notes", {"text": "back"}).status == 200
    assert events(path) == (["created", "ticket", "note"] if way == "deleted" else ["created"])


def test_a_postgres_server_that_stops(tmp_path):
    with postgres_server() as url:
        create_study(url, "s", arms=["a", "b"], objective=Additive(0.5), delta=0.1).close()
        client = Client(url)
        client.__enter__()
        assert client.post("/v1/studies/1/ask", {}, idempotency_key="a").status == 200
    try:
        for _ in range(2):
            for method, target in [("GET", "/v1/studies"), ("POST", "/v1/studies/1/ask")]:
                answer = client.request(method, target, json={} if method == "POST" else None)
                assert answer.status == 503, answer
                assert answer.detail.startswith("the database postgresql+psycopg://")
                assert "Traceback" not in answer.detail
    finally:
        client.__exit__()


def test_a_page_that_does_not_exist_names_no_file(path):
    with Client(path) as client:
        for target in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py"):
            assert client.get(target).status == 404
        here = str(Path(__file__).parents[2])
        assert here not in client.get("/static/nothing").body.decode()


def test_no_other_protocol_is_spoken(path):
    """A web socket is closed before it is open."""
    with Client(path) as client:
        sent = []

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        scope = client.scope("GET", "/v1/live", None, {}) | {"type": "websocket"}
        client._wait(client.app(scope, receive, send))
        assert [message["type"] for message in sent] == ["websocket.close"]


def test_a_new_token_keeps_the_others(tmp_path):
    file = tmp_path / "tokens"
    first, second = add_token(file, "read", "a\nb"), add_token(file, "manage")
    known = read_tokens(file)
    assert [find_token(token, known).role for token in (first, second)] == ["read", "manage"]
    assert known[0].name == "a b"


def test_the_name_of_a_token_is_in_every_event_whatever_the_request_claims(path, secrets_):
    made, known = secrets_
    measure, manage = bearer(made["measure"]), bearer(made["manage"])
    here = "/v1/studies/1"
    with Client(path, tokens=known) as client:
        asked = client.post(f"{here}/ask", {"n": 2, "client": "robot"}, **measure).json["tickets"]
        assert [ticket["client"] for ticket in asked] == ["of measure/robot"] * 2
        again = client.post(f"{here}/ask", {"n": 2, "client": "of measure/robot"}, **measure)
        assert again.json["tickets"] == asked  # its own tickets, by either name
        rows = [{"ticket": ticket["id"], "value": 0.5} for ticket in asked]
        client.post(f"{here}/tell", {"rows": rows}, **measure)
        sheet = f"ticket,value\n{asked[0]['id']},0.7\n".encode()
        target = f"{here}/replace?reason=swapped&client=of%20measure"
        assert client.post(target, body=sheet, kind="text/csv", **manage).status == 200
        body = {"tickets": [asked[1]["id"]], "reason": "bubble", "basis": "cause"}
        change = client.post(f"{here}/withdraw", body, **manage).json
        assert "1 value is withdrawn" in change["consequence"]
        client.post(f"{here}/drop-arm", {"arm": "a", "reason": "x", "client": "boss"}, **manage)
        client.post(f"{here}/restore-arm", {"arm": "a", "reason": "x"}, **manage)
        new = {"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "model": "bernoulli"}
        client.post("/v1/studies", new, **manage)
        events = client.get(f"{here}/events", **measure).json["events"]
        created = client.get("/v1/studies/2/events", **measure).json["events"][0]
    assert created["client"] == "of manage"
    assert [(event["kind"], event.get("client")) for event in events[3:]] == [
        ("measurement", "of measure"),
        ("measurement", "of measure"),
        ("replaced", "of manage/of measure"),
        ("withdrawn", "of manage"),
        ("arm_dropped", "of manage/boss"),
        ("arm_restored", "of manage"),
    ]


def test_without_names_of_tokens_the_client_is_what_the_request_says(path):
    with Client(path) as client:
        client.post("/v1/studies/1/drop-arm", {"arm": "a", "reason": "x", "client": "ana"})
        client.post("/v1/studies/1/restore-arm", {"arm": "a", "reason": "x"})
        events = client.get("/v1/studies/1/events").json["events"]
    assert [event.get("client") for event in events[1:]] == ["ana", None]
