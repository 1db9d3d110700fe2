"""Finished runs are gone on with only if they are runs of the same thing (``resume``)."""

import os
import random
import subprocess
import sys
from collections import Counter, deque
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from allgood import Additive, ClaimByClaim, Environment, Strategy, simulate
from allgood.simulation.fingerprint import code_of, source_of, state_of, wording

STRATEGY = ClaimByClaim(Additive(0.5), 0.1)


class Drifting(Environment):
    """Rewards that begin too high."""

    def __init__(self, means, by):
        self.means, self.num_arms, self.by = means, len(means), by
        self.pulls = [0] * len(means)

    def pull(self, arm, rng):
        self.pulls[arm] += 1
        return self.means[arm] + self.by / self.pulls[arm] + rng.standard_normal()


class Planned(Strategy):
    """Arms in an order laid down beforehand."""

    def __init__(self, plan):
        self.objective, self.delta, self.plan = Additive(0.5), 0.1, plan

    def update(self, tally):
        pass

    def is_done(self, tally):
        return tally.pulls >= 100

    def next_arm(self, tally):
        return int(self.plan[tally.pulls])


class Maker:
    def __init__(self, by):
        self.by = by

    def __call__(self, rng):
        return Drifting([1.0, 0.0], self.by)

    def make(self, rng):
        return self(rng)


def drifting(rng, by=0.0):
    return Drifting([1.0, 0.0], by)


def with_default(by):
    return lambda rng, by=by: Drifting([1.0, 0.0], by)


def with_cell(by):
    return lambda rng: Drifting([1.0, 0.0], by)


def plan(first):
    """More numbers than NumPy shows."""
    numbers = np.zeros(2000, int)
    numbers[5:1990] = first
    return numbers


PAIRS = {
    "an environment": [(STRATEGY, Drifting([1.0, 0.0], by)) for by in (0.0, 50.0)],
    "a default argument": [(STRATEGY, with_default(by)) for by in (0.0, 50.0)],
    "a value of a function": [(STRATEGY, with_cell(by)) for by in (0.0, 50.0)],
    "a partial": [(STRATEGY, partial(drifting, by=by)) for by in (0.0, 50.0)],
    "an object that can be called": [(STRATEGY, Maker(by)) for by in (0.0, 50.0)],
    "a method": [(STRATEGY, Maker(by).make) for by in (0.0, 50.0)],
    "two functions": [
        (STRATEGY, lambda rng: drifting(rng, 0.0)),
        (STRATEGY, lambda rng: drifting(rng, 50.0)),
    ],
    "a strategy with a long array": [(Planned(plan(k)), [1.0, 0.0]) for k in (0, 1)],
    "a strategy with many digits": [
        (Planned(np.full(200, x)), [1.0, 0.0]) for x in (1.0, np.nextafter(1.0, 0.0))
    ],
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_runs_of_something_else_are_refused(tmp_path, pair):
    (strategy, place), (other_strategy, other_place) = pair
    known = simulate(strategy, place, runs=2, resume=tmp_path / "runs.jsonl")
    again = simulate(strategy, place, runs=3, resume=tmp_path / "runs.jsonl")
    assert (again.pulls[:2] == known.pulls).all()
    fresh = simulate(other_strategy, other_place, runs=3)
    assert (fresh.counts != again.counts).any()
    with pytest.raises(ValueError, match="resume must name runs of this same simulation"):
        simulate(other_strategy, other_place, runs=3, resume=tmp_path / "runs.jsonl")
    with pytest.raises(ValueError, match="resume must be of this same simulation"):
        simulate(other_strategy, other_place, runs=3, resume=known)


TYPED = """
import numpy as np
from allgood import *

class Own(Strategy):
    limit = {limit}
    def __init__(self):
        self.objective, self.delta = Additive(0.5), 0.1
    def update(self, tally):
        self.last = [x for x in (1, 2) if x in {{1, 2, "a"}}]
    def is_done(self, tally):
        return tally.pulls >= self.limit
    def next_arm(self, tally):
        return int(np.{choice}(tally.means))

print(simulate(Own(), [1.0, 0.0], runs=2, resume="runs.jsonl").counts.tolist())
"""


def test_a_strategy_typed_at_a_prompt(tmp_path):
    """The same one goes on, in another process; after an edit it is another one."""

    def run(seed, limit=50, choice="argmax"):
        return subprocess.run(
            [sys.executable, "-"],
            input=TYPED.format(limit=limit, choice=choice),
            capture_output=True,
            check=False,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )

    first = run("1")
    assert "[[49, 1], [49, 1]]" in first.stdout, first.stderr
    assert run("2").stdout == first.stdout
    for edit in ({"limit": 500}, {"choice": "argmin"}):
        edited = run("1", **edit)
        assert edited.returncode != 0
        assert "the strategy was edited since those of" in edited.stderr


class Knot:
    def __init__(self):
        self.itself = self


def many():
    """Objects of all kinds, made anew."""
    return [
        1.5,
        "text",
        None,
        {"b": 1, "a": {3, 1, 2}},
        Counter("abc"),
        deque([1, 2]),
        np.arange(3),
        np.array([1, "a"], object),
        np.random.default_rng(1),
        random.Random(1),
        Knot(),
        Knot,
        np,
        object(),
        len,
        with_cell(1.0),
        Maker(1.0).make,
        partial(drifting, by=1.0),
        STRATEGY,
    ]


def test_the_same_is_the_same():
    for item, other in zip(many(), many(), strict=True):
        assert wording(item) == wording(other)
        assert " at 0x" not in wording(item)
    assert state_of(many()) == state_of(many())
    assert len({wording(item) for item in many()}) == len(many())


def test_only_the_files_of_users_count():
    assert source_of(type(STRATEGY)) == source_of(None) == ""
    assert source_of(Planned) == source_of(partial(drifting)) != ""  # both in this file


SOURCE = '''"""A strategy."""
from allgood import Additive, Strategy

class Own(Strategy):
    """Pull arm 0."""
    def __init__(self):
        self.objective, self.delta = Additive(0.5), 0.1
    def update(self, tally):
        """Do nothing."""
    def is_done(self, tally):
        return tally.pulls >= 50  # enough
    def next_arm(self, tally):
        return 0
'''
SAME_CODE = {
    "a comment": ("# enough", "# enough for anybody"),
    "a new comment": ("class Own", "# My own.\nclass Own"),
    "the docstring of the file": ("A strategy.", "My strategy."),
    "the docstring of a class": ("Pull arm 0.", "Always pull arm 0."),
    "the docstring of a method": ("Do nothing.", "Learn nothing."),
    "a docstring removed": ('    """Pull arm 0."""\n', ""),
    "layout": (
        "self.objective, self.delta = Additive(0.5)",
        "(self.objective,\n  self.delta) = Additive( 0.5 )",
    ),
}
OTHER_CODE = {
    "a number": (">= 50", ">= 60"),
    "an operator": (">= 50", "> 50"),
    "a constant": ("return 0", "return 1"),
    "a new attribute": ("    def update", "    limit = 3\n    def update"),
}


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """Return a function that writes the file, simulates its strategy and goes on with the runs."""
    file = tmp_path / "own_strategy.py"

    def run(old, new):
        assert SOURCE.count(old) == 1
        text = SOURCE.replace(old, new)
        file.write_text(text, encoding="utf-8")
        module = ModuleType("own_strategy")
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, "own_strategy", module)
        exec(compile(text, str(file), "exec"), vars(module))
        return simulate(module.Own(), [1.0, 0.0], runs=2, resume=tmp_path / "runs.jsonl")

    run("class Own", "class Own")
    return run


@pytest.mark.parametrize("edit", SAME_CODE.values(), ids=SAME_CODE)
def test_runs_go_on_after_an_edit_that_leaves_the_code(edited, edit):
    assert edited(*edit).pulls.tolist() == [50, 50]


@pytest.mark.parametrize("edit", OTHER_CODE.values(), ids=OTHER_CODE)
def test_runs_are_refused_after_an_edit_of_the_code(edited, edit):
    with pytest.raises(ValueError, match="the strategy was edited since those of"):
        edited(*edit)


def test_the_docstring_of_a_function_without_a_file_does_not_count():
    def typed(text):
        names = {}
        exec(text, names)
        return wording(names["f"])

    first = typed("def f(x):\n    'One.'\n    return x + 1")
    assert typed("def f(x):\n    'Add one.'\n    return x + 1") == first
    assert typed("def f(x):\n    'One.'\n    return x + 2") != first


def test_a_file_that_is_not_python_counts_as_it_is():
    assert code_of(b"\x7fELF\x00\xff") != code_of(b"\x7fELF\x00\xfe")
