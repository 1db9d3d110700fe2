"""The words of the package, served as data: complete, with a code for each, and cached."""

from typing import get_args

import pytest

from allgood import Additive, Gaussian, create_study
from allgood._internal.results import HINTS, HintCode
from allgood.models.registry import CHOICES, MODELS, PARAMETERS, model_by_name
from allgood.serve.requests import NewStudy
from allgood.serve.vocabulary import vocabulary
from allgood.study.design import OPTIONS
from allgood.study.engine import Label
from allgood.study.receipts import STATUSES, ReceiptRow, RowStatus
from allgood.study.sentences import LABELS, OUTCOMES, STATES, MeasurementState
from allgood.study.state import Outcome

from ..support.serving import Client

WORDS = vocabulary().to_dict()


@pytest.mark.parametrize(
    ("terms", "codes"),
    [
        (OUTCOMES, Outcome),
        (LABELS, Label),
        (STATES, MeasurementState),
        (STATUSES, RowStatus),
    ],
)
def test_every_code_has_words(terms, codes):
    assert set(terms) == set(get_args(codes))


def test_every_hint_has_words():
    assert set(HINTS) == set(HintCode)


def test_every_text_is_there_and_sentences_end():
    def texts(value, key=""):
        if isinstance(value, dict):
            for name, part in value.items():
                yield from texts(part, name)
        elif isinstance(value, str):
            yield key, value

    for key, text in texts(WORDS):
        assert text, key
        if key in ("sentence", "use", "description"):
            assert text.endswith("."), text
        if key in ("word", "title", "label", "preview", "receipt"):
            assert not text.endswith(".") or text == "Mason et al.", text


def test_rows_are_refused_as_their_words_say():
    for code, words in WORDS["rows"].items():
        assert ReceiptRow(code, "", None).refused is words["refused"]
        assert not (words["refused"] and words["stored"])
        assert words["refused"] == ("refused:" in words["preview"])


def test_every_model_that_a_study_can_have_is_offered():
    models = WORDS["models"]
    assert set(models) == set(CHOICES) == {*MODELS, "unknown-sigma"}
    for name, words in models.items():
        given = [str(i) for i, _ in enumerate(words["parameters"])]
        model = model_by_name("model", ":".join([name, *given]) if name == "bounded" else name)
        assert model.title == words["title"]
        assert set(words["parameters"]) <= set(WORDS["options"])
    assert (models["bernoulli"]["low"], models["bernoulli"]["high"]) == (0.0, 1.0)
    assert set(PARAMETERS) == {name for words in models.values() for name in words["parameters"]}


def test_options_have_the_limits_of_requests():
    options = WORDS["options"]
    assert set(options) >= set(OPTIONS) - {"objective"}
    assert set(options) >= set(NewStudy.model_fields) - {"multiplicative", "client"}
    assert (options["delta"]["above"], options["delta"]["below"]) == (0.0, 1.0)
    assert options["delta"]["default"] == 0.05
    assert options["budget"]["minimum"] == 1
    assert options["sigma"]["above"] == 0.0
    assert options["check_values"]["default"] is True


def test_words_are_sent_once_for_each_version(tmp_path):
    create_study(
        tmp_path / "s.db", "s", arms=["a"], objective=Additive(1), model=Gaussian(1), delta=0.1
    )
    with Client(tmp_path / "s.db") as client:
        answer = client.get("/v1/vocabulary")
        assert answer.json == WORDS
        assert answer.headers["cache-control"] == "no-cache"
        again = client.get("/v1/vocabulary", **{"If-None-Match": answer.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        other = client.get("/v1/vocabulary", **{"If-None-Match": '"another"'})
        assert other.status == 200
