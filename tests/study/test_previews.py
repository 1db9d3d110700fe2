"""A preview is the decision on a fork of the state: the same receipt, and nothing changes."""

import copy
import dataclasses

import numpy as np
import pytest

from allgood import Additive, Exponential, Gaussian, Multiplicative, Plate, create_study
from allgood.study.backends.sql import SqlBackend
from allgood.study.commands.arms import DropArm
from allgood.study.commands.correct import Confirm, Correct
from allgood.study.commands.fail import Fail
from allgood.study.state import StudyState

ARMS = [f"arm {a}" for a in range(5)]


def begin(in_order=False, **options):
    settings = {"objective": Additive(0.2), "delta": 0.1, "model": Gaussian(1.0)} | options
    study = create_study(":memory:", "s", arms=ARMS, in_order=in_order, **settings)
    study.quiet = True
    return study


def measured(study, rounds=6, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        values = [(ticket, float(rng.normal(0.0, 1.0))) for ticket in study.ask(7)]
        study.tell(values)
    return study


def as_data(state):
    """Everything that a state knows; its engine is computed from the rest."""
    derived = ("_engine", "_processed", "_closed", "_replaced")
    values = {name: value for name, value in vars(state).items() if name not in derived}
    quality = state.quality
    values["_quality"] = (
        quality.processed,
        quality.suspects,
        quality.waiting,
        quality.confirmed,
        quality.replaced,
    )
    return copy.deepcopy(values)


@pytest.mark.parametrize("in_order", [False, True])
def test_a_preview_says_what_a_tell_says(in_order):
    study = measured(begin(in_order))
    tickets = study.ask(8)
    rows = [(ticket, 0.1 * i) for i, ticket in enumerate(tickets[1:])]
    rows += [(tickets[1], 99.0), (tickets[0], 1e6), ("nobody-1", 1.0), (tickets[2], "x")]
    before, lines = as_data(study.backend.known_state), list(study.export())
    shown = study.preview(rows)
    assert as_data(study.backend.known_state) == before
    assert list(study.export()) == lines
    assert shown == study.preview(rows, refused="raise")
    assert shown == study.tell(rows, refused="report")
    assert list(study.export()) != lines


def test_a_fork_goes_on_by_itself():
    """Any command may be previewed: also those that correct, confirm and drop."""
    study = measured(begin(max_new_arms=2))
    [ticket, *others] = study.ask(6, plate=Plate(2, 4, {"blank": 1}))
    study.tell([(ticket, 500.0), *((other, 0.0) for other in others[:3])])
    suspects = [row.ticket for row in study.status().suspects]
    assert suspects
    told = study.backend.known_state.told[0]
    first = study.design.ticket_id(told)
    backend = study.backend
    for request in (
        Confirm(suspects[0], "seen"),
        Correct(first, 7.0, "a slip"),
        Fail("spilt", tickets=[others[-1].id]),
        DropArm("arm 1", "used up"),
    ):
        before = as_data(backend.known_state)
        shown = backend.preview(request)
        assert as_data(backend.known_state) == before
        assert shown == backend.execute(request).result
        assert as_data(backend.known_state) != before
    again = StudyState.from_events(study.events())
    assert as_data(again) == as_data(backend.known_state)


def test_a_preview_of_counts_and_of_waiting_times():
    study = begin()
    rows = [{"arm": arm, "n": 10, "sum": 3.0} for arm in (*ARMS, "nobody")]
    shown = study.preview_counts(rows, source="t", period="May")
    assert study.status().events == 1
    assert shown == study.tell_counts(rows, source="t", period="May", refused="report")
    waits = begin(None, model=Exponential(), objective=Multiplicative(0.5), censor_at=3.0)
    tickets = waits.ask(5)
    values = [(ticket, ">3" if i % 2 else 1.0) for i, ticket in enumerate(tickets)]
    assert waits.preview(values) == waits.tell(values)


def test_no_container_of_a_state_is_shared_with_its_fork():
    study = measured(begin())
    state = study.backend.known_state
    fork = state.fork()
    for part in dataclasses.fields(state):
        value = getattr(state, part.name)
        if isinstance(value, dict | list | set) and part.name != "arm_notes":
            assert getattr(fork, part.name) is not value, part.name
    assert isinstance(study.backend, SqlBackend)
