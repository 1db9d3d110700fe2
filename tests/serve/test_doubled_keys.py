"""No JSON body may have a key twice: which of the two values was meant would be a guess."""

import pytest

from allgood import Additive, Gaussian, create_study

from ..support.serving import Client

BODIES = {
    "/v1/studies/1/ask": '{"n": 1, "n": 2}',
    "/v1/studies/1/tell": '{"rows": [{"ticket": "x-1", "value": 1.0, "value": 2.0}]}',
    "/v1/studies/1/notes": '{"text": "first", "text": "second"}',
    "/v1/studies/1/counts": '{"rows": [{"arm": "a", "n": 2, "sum": 1.0, "n": 3}], "source": "t"}',
    "/v1/studies": '{"name": "n", "arms": ["a", "b"], "epsilon": 0.5, "name": "m"}',
    "/v1/verify": '{"certificate": {"outcome": "running", "outcome": "certified"}}',
    "/v1/explore": '{"means": [1.0, 0.5], "epsilon": 0.2, "epsilon": 0.4}',
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("doubled") / "s.db"
    question = {"objective": Additive(0.5), "delta": 0.1, "model": Gaussian(1.0)}
    create_study(path, "s", arms=["a", "b"], **question).close()
    return path


@pytest.mark.parametrize("target", BODIES)
def test_no_body_has_a_key_twice(path, target):
    with Client(path) as client:
        answer = client.post(target, body=BODIES[target].encode(), kind="application/json")
        assert answer.status == 422
        assert "every key once" in answer.detail
        assert client.get("/v1/studies/1/status").json["events"] == 1
        assert len(client.get("/v1/names").json["studies"]) == 1
