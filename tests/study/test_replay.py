"""Replay: choices that differ within rounding of a tie are said and gone on with; others are found.

"Another processor" is played by a log whose choices were made with one arm ahead by a relative
1e-13, and whose values are then written without this lead.
"""

import functools
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from allgood import Additive, Bernoulli, Gaussian, Plate, create_study, import_study
from allgood.cli import main
from allgood.study.replay import replay

from ..support.chains import lines_of
from ..support.command_line import PATIENCE

ARMS = ["a", "b", "c"]
NOISE = np.random.default_rng(0).standard_normal(2000).tolist()


@functools.cache
def twins(lead, size=1, asks=20, plate=None):
    """The events of a study in which a and b have the same values, but for the lead of b."""
    study = create_study(":memory:", "twins", arms=ARMS, objective=Additive(0.5), delta=0.1)
    counts = dict.fromkeys(ARMS, 0)
    for _ in range(asks):
        rows = []
        for ticket in study.ask(size, plate=plate):
            noise = NOISE[counts[ticket.arm]]
            counts[ticket.arm] += 1
            rows.append((ticket.id, value(ticket.arm, noise, lead)))
        study.tell(rows)
    return tuple(study.events())


def value(arm, noise, lead):
    return {"a": 1.0 + noise, "b": (1.0 + noise) * (1.0 + lead), "c": 0.3 + noise}[arm]


def without_lead(events):
    """The same events, with the values of b equal to those of a."""
    arms = {event.ticket: ARMS[event.arm] for event in events if event.kind == "ticket"}
    counts = dict.fromkeys(ARMS, 0)
    changed = []
    for event in events:
        if event.kind == "measurement":
            arm = arms[event.ticket]
            event = event._replace(value=value(arm, NOISE[counts[arm]], 0.0))  # noqa: PLW2901
            counts[arm] += 1
        changed.append(event)
    return changed


@pytest.mark.parametrize(("size", "asks"), [(1, 20), (8, 5)])
def test_ties_of_another_processor_are_no_problem(size, asks):
    events = twins(1e-13, size, asks)
    assert replay(events).ties == ()
    result = replay(without_lead(events))
    assert result.ok
    assert result.problems == ()
    assert len(result.ties) >= 3
    assert all("tied up to rounding; the log has" in tie for tie in result.ties)
    assert result.tickets == sum(event.kind == "ticket" for event in events)


def test_wells_are_those_of_the_logged_arms():
    events = twins(1e-13, None, 5, Plate(2, 5, {"blank": 1}))
    result = replay(without_lead(events))
    assert result.ok
    assert result.ties
    first, second = [i for i, event in enumerate(events) if event.kind == "ticket"][:2]
    moved = [*events]
    moved[first] = events[first]._replace(well=events[second].well)
    assert "wells of batch 1 are not those" in " ".join(replay(moved).problems)


def test_a_lead_that_is_not_rounding_is_found():
    """The control: a lead of 1e-6 makes choices that are not made without it."""
    events = twins(1e-6)
    assert replay(events).ok
    ends = [i for i, event in enumerate(events) if event.kind == "ticket"][::9]
    problems = 0
    for end in ends:
        event = events[end]
        for arm in {0, 1, 2} - {event.arm}:
            result = replay([*events[:end], event._replace(arm=arm)])
            assert result.ties == ()
            assert not result.ok
            problems += 1
        result = replay([*events[:end], event._replace(pooled=not event.pooled)])
        assert not result.ok
        problems += 1
    assert problems == 3 * len(ends)


def test_swapped_tickets_are_found_unless_they_are_tied():
    rng = np.random.default_rng(1)
    means = dict(zip(ARMS, [1.0, 0.8, 0.1], strict=True))
    study = create_study(
        ":memory:",
        "s",
        arms=ARMS,
        objective=Additive(0.5),
        delta=0.1,
        model=Gaussian([1.0, 2.0, 0.5]),
    )
    for _ in range(5):
        study.tell([(t.id, means[t.arm] + rng.standard_normal()) for t in study.ask(4)])
    events = study.events()
    tickets = [i for i, event in enumerate(events) if event.kind == "ticket"]
    swaps = 0
    for item, other in itertools.pairwise(tickets):
        if events[item].batch == events[other].batch and events[item].arm != events[other].arm:
            forged = list(events[: other + 1])
            forged[item] = events[item]._replace(arm=events[other].arm)
            forged[other] = events[other]._replace(arm=events[item].arm)
            result = replay(forged)
            assert not result.ok
            assert result.problems[0].startswith(f"event {events[item].seq}: ticket ")
            swaps += 1
    assert swaps > 5


MODELS = [Gaussian(), Gaussian(None), Bernoulli()]
REPLAYS = (
    "import json, sys; from tests.support.command_line import allgood\n"
    "done = [allgood('study', 'replay', file, '--check') for file in sys.argv[1:]]\n"
    "print(json.dumps([(one.returncode, one.stderr, one.stdout) for one in done]))"
)


@pytest.fixture(scope="module")
def replayed_elsewhere(tmp_path_factory):
    """Exit code, errors and output of a replay of each model, by a process that rounds
    otherwise."""
    folder = tmp_path_factory.mktemp("replayed")
    files = [str(folder / f"{i}.db") for i in range(len(MODELS))]
    for model, file in zip(MODELS, files, strict=True):
        measure(file, model)
    done = subprocess.run(
        [sys.executable, "-c", REPLAYS, *files],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2"},
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(zip(map(str, MODELS), json.loads(done.stdout), strict=True))


def measure(file, model):
    """A study in a file, told value by value and then in batches."""
    rng, means = np.random.default_rng(2), dict(zip(ARMS, [0.9, 0.7, 0.2], strict=True))

    def measured(arm):
        normal = isinstance(model, Gaussian)
        return means[arm] + rng.standard_normal() if normal else float(rng.random() < means[arm])

    with create_study(
        file, "s", arms=ARMS, objective=Additive(0.3), delta=0.1, model=model
    ) as study:
        for size in [1] * 20 + [16] * 10:
            study.tell([(t.id, measured(t.arm)) for t in study.ask(size)])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_log_is_replayed_where_exp_has_other_last_digits(replayed_elsewhere, model):
    """Without fused operations the C library of Linux on x86 rounds exp differently.

    Other systems ignore the setting, and replay what they have made.
    """
    code, err, out = replayed_elsewhere[str(model)]
    assert (code, err) == (0, ""), out
    assert "are chosen again as they were" in out


def test_the_command_says_so(tmp_path, monkeypatch, capsys):
    events = without_lead(twins(1e-13))
    copy = import_study(tmp_path / "copy.db", lines_of(events))
    copy.close()
    found = replay(events)
    monkeypatch.setattr(
        "sys.argv", ["allgood", "study", "replay", str(tmp_path / "copy.db"), "--check"]
    )
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    printed = capsys.readouterr().out
    assert f"- {found.ties[0]}" in printed
    assert (
        f"are chosen again as they were, up to {len(found.ties)} ties within rounding." in printed
    )
    monkeypatch.setattr(
        "sys.argv", ["allgood", "study", "replay", str(tmp_path / "copy.db"), "--json"]
    )
    with pytest.raises(SystemExit):
        main()
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert told["ties"] == list(found.ties)
