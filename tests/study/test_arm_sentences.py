"""Each sentence about an arm is said when it is true."""

import math
from dataclasses import replace

import pytest

from allgood import Additive, create_study
from allgood.study.arm_sentences import arm_statements
from allgood.study.sentences import REMARKS


@pytest.fixture(scope="module")
def row(tmp_path_factory):
    """The status of an arm before its first measurement."""
    path = tmp_path_factory.mktemp("arm") / "own.db"
    arms = ["ash", "oak"]
    study = create_study(path, "own", arms=arms, objective=Additive(1.0), delta=0.05)
    return study.status().arms[0]


MEASURED = {"measurements": 5, "evidence": 1.25, "need": 4.0}
CERTIFIED = MEASURED | {"label": "good", "certified_after": 1200}
CASES = [
    (
        CERTIFIED | {"rests_on": "oak", "remark": "contradicted"},
        [
            "Certified good after 1,200 measurements of the whole study. The label stays, unless "
            "values are corrected or withdrawn.",
            REMARKS["contradicted"].sentence,
        ],
    ),
    ({}, ["There is no measurement yet, so there is no evidence."]),
    (
        {"measurements": 2, "need": math.nan},
        ["Nothing is certified before every arm has a value."],
    ),
    (
        MEASURED | {"measurements": 1},
        ["No label rests on a single value: a second measurement is needed first."],
    ),
    (MEASURED, ["The evidence must grow by 2.75 before a label can be certified."]),
    (
        MEASURED | {"evidence": -math.inf},
        ["The evidence must grow by 4 before a label can be certified."],
    ),
    (
        MEASURED | {"evidence": 5.0},
        ["The evidence suffices, but not without an influential value, which must be outweighed."],
    ),
    (
        MEASURED | {"on_pool": True},
        [
            "The evidence must grow by 2.75 before a label can be certified.",
            "It is compared with the pool: the measurements of the leading arms, taken together.",
        ],
    ),
    (
        CERTIFIED | {"rests_on": "oak"},
        [
            "Certified good after 1,200 measurements of the whole study. The label stays, unless "
            "values are corrected or withdrawn."
        ],
    ),
    (
        CERTIFIED | {"evidence": math.inf, "dropped": "used up", "censored": 1},
        [
            "Certified good after 1,200 measurements of the whole study. The label stays, unless "
            "values are corrected or withdrawn.",
            "No rival is left: every other arm is certified bad.",
            "The arm is dropped and not measured again: used up",
            "1 waiting time was cut off at the censoring time.",
        ],
    ),
    (
        {"withdrawn": True, "dropped": "lost"},
        ["The arm is dropped and has left the question, because it had no measurement: lost"],
    ),
    (
        MEASURED | {"suspect": 2, "waiting": 1},
        [
            "The evidence must grow by 2.75 before a label can be certified.",
            "2 values are suspect and do not count until somebody confirms or corrects them.",
            "1 value waits until earlier tickets are settled.",
        ],
    ),
]


@pytest.mark.parametrize(("changes", "sentences"), CASES)
def test_sentences_of_an_arm(row, changes, sentences):
    statements = arm_statements(replace(row, **changes), num_arms=2)
    assert [statement.sentence for statement in statements] == sentences
    doubtful = [statement for statement in statements if statement.tone == "doubtful"]
    assert len(doubtful) == bool(changes.get("suspect") or changes.get("remark"))
