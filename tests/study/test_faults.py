"""Faults at COMMIT: nothing acknowledged is lost, nothing is stored twice, no study gets a gap."""

import json
import warnings
from functools import partial

import pytest

from allgood import (
    Additive,
    Gaussian,
    Plate,
    StudyError,
    create_study,
    delete_study,
    import_study,
    list_studies,
    load_study,
)
from allgood.study.backends.errors import DatabaseUnavailable

from ..serve.test_serve_once import writes
from ..support.faults import failing_commits
from ..support.serving import Client

TIMES = (1, 2, 3)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """An empty database of either kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "studies.db")
        return
    url = request.getfixturevalue("postgres_url")
    for name in list_studies(url) if there_is_a_study(url) else []:
        delete_study(url, name)
    yield url


def there_is_a_study(url):
    try:
        return bool(list_studies(url))
    except StudyError:  # nobody has made the tables yet
        return False


def new_study(url, name="s"):
    return create_study(
        url,
        name,
        arms=["a", "b", "c"],
        objective=Additive(0.01),
        delta=0.1,
        model=Gaussian(1.0),
        max_new_arms=2,
    )


def changes(study):
    """Every change of a study in a database, each with a function that repeats it harmlessly."""
    first, second, third = study.ask(3, client="robot")
    yield "ask", lambda: study.ask(4, client="robot")
    yield "ask for a plate", lambda: study.ask(client="lab", plate=Plate(2, 3, {"blank": 1}))
    yield "tell", lambda: study.tell([(first, 0.25)])
    yield "fail", lambda: study.fail(second, "spilt", refused="report")
    yield "unrequested", lambda: study.add_measurement("a", 0.2, "page 3", refused="report")
    yield "suspect", lambda: study.add_measurement("a", 99.0, "page 4", refused="report")
    suspect = study.status().suspects[0].ticket
    yield "confirm", lambda: confirmed(study, suspect)
    yield "correct", lambda: study.correct(first, 0.5, "a slip")
    yield "extend", lambda: study.set_budget(90, "more money")
    yield "add arms", lambda: added(study)
    counts = {"arm": ["a"], "n": [2], "sum": [0.5]}
    yield "counts", lambda: study.tell_counts(counts, source="t", period="p", refused="report")
    yield "drop_arm", lambda: study.drop_arm("c", "used up")
    yield "restore_arm", lambda: restored(study)
    yield "replace", lambda: study.replace([(first, 0.75)], "the file of another plate")
    yield "withdraw", lambda: withdrawn(study, first)
    yield "tell late", lambda: study.tell([(third, 0.75)], refused="report")


def confirmed(study, ticket):
    if study.status().suspects:
        study.confirm(ticket, "seen")


def restored(study):
    if study.status().arms[2].dropped is not None:
        study.restore_arm("c", "found")


def withdrawn(study, ticket):
    if not study.status().withdrawn_values:
        study.withdraw(ticket, reason="a bubble", basis="cause")


def added(study):
    if "d" not in study.arms:
        study.add_arms(["d"], "new")


def kinds(url, name="s"):
    """The kinds of all events, from a new connection, which reads and checks all of them."""
    with load_study(url, name) as study:
        study.status()
        return [event.kind for event in study.events()]


@pytest.mark.parametrize("stored", [False, True])
def test_every_change_in_python(url, stored):
    """The same change is made until it is acknowledged; then it is there, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with new_study(url, "control") as study:
            for _, do in changes(study):
                do()
        wanted = kinds(url, "control")
        for times in TIMES:
            name = f"{times} failures"
            with new_study(url, name) as study:
                for what, do in changes(study):
                    with failing_commits(times, stored) as failed:
                        attempts = done(do)
                    assert 1 <= attempts <= times + 1, what
                    assert failed, what
                known = study.status().events  # the same connection goes on
                assert known == len(kinds(url, name))
            assert kinds(url, name) == wanted
    for name in list_studies(url):
        delete_study(url, name)


def done(do):
    """Repeat a change until nothing fails; how often it was tried."""
    for attempt in range(1, 9):
        try:
            do()
        except DatabaseUnavailable:
            continue
        return attempt
    raise AssertionError("it never succeeded")


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("keys", [True, False])
def test_every_change_over_http(url, keys, stored):
    """With keys each change is made once, whatever failed; without, nothing is lost or damaged."""
    finished = {}
    for times in (0, *TIMES):
        new_study(url).close()
        with Client(url) as client:
            study = number_of(client)
            for i, (method, target, options) in enumerate(writes(client, study)):
                key = {"idempotency_key": f"{study}-{i}"} if keys else {}
                with failing_commits(times, stored):
                    tried = []
                    while not tried or tried[-1].status == 503:
                        tried.append(client.request(method, target, **options | key))
                        assert len(tried) <= times + 1
                if not (stored and not keys):  # else it may be refused: it is there already
                    assert tried[-1].status in (200, 201), tried[-1]
            lines = client.get(f"/v1/studies/{study}/export").body.splitlines()
            finished[times] = [json.loads(line)["kind"] for line in lines]
            assert finished[times] == kinds(url)
        for name in list_studies(url):
            delete_study(url, name)
    if keys or not stored:
        assert finished[1] == finished[2] == finished[3] == finished[0]


def test_a_value_that_no_database_has_is_no_duplicate(url):
    """Two failures with keys used to leave the value in memory, and a gap after it."""
    new_study(url).close()
    with Client(url) as client:
        path = f"/v1/studies/{number_of(client)}"
        [ticket] = client.post(f"{path}/ask", {"n": 1}).json["tickets"]
        told = {"rows": [{"ticket": ticket["id"], "value": 0.5}]}
        with failing_commits(2):
            for key in ("one", "two"):
                refused = client.post(f"{path}/tell", told, idempotency_key=key)
                assert refused.status == 503
        answer = client.post(f"{path}/tell", told, idempotency_key="three").json
        assert answer["counts"] == {"accepted": 1}
        assert client.post(f"{path}/ask", {"n": 1}).status == 200
    assert kinds(url) == ["created", "ticket", "measurement", "ticket"]


def number_of(client):
    names = {study["name"]: study["id"] for study in client.get("/v1/names").json["studies"]}
    return names["s"]


def deleted(url, name):
    if name in list_studies(url):
        delete_study(url, name)


def test_studies_are_made_imported_and_deleted_once(url):
    """The list of studies after failures, in Python."""
    for times in TIMES:
        with failing_commits(times):
            done(lambda: new_study(url).close() if not there_is_a_study(url) else None)
        with load_study(url, "s") as study:
            lines = list(study.export())
        with failing_commits(times):
            done(partial(import_study, url, lines, "copy"))
        assert list_studies(url) == ["s", "copy"]
        for name in ("s", "copy"):
            with failing_commits(times):
                done(partial(deleted, url, name))
        assert not there_is_a_study(url)
