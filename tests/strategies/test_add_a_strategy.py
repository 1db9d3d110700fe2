"""The page docs/your-own-strategy.md, where it compiles a strategy: done to the letter."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from allgood import _build

from ..support.systems import needs_posix
from ..test_build import ROOT, needs_compiled

PAGE = (ROOT / "docs" / "your-own-strategy.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```(?:python|cython) file=(\S+)\n(.*?)```", PAGE, re.S)[:2])
[COMMAND] = re.findall(r"^CFLAGS=.*$", PAGE, re.M)

PULLS = """
import json
import quick
from allgood import Additive, Multiplicative, simulate
from tests.support.own_strategy import SuccessiveElimination

found = []
for objective in (Additive(1.2), Multiplicative(0.4)):
    for kind in (SuccessiveElimination, quick.QuickElimination):
        runs = simulate(kind(objective, 0.1), [4.0, 3.6, 1.0, 0.0], runs=6, seed=3)
        found.append([runs.counts.tolist(), runs.answers.tolist()])
print(json.dumps([quick.__file__, found]))
"""


def shell(command, folder):
    """A command of the page, with the programs of this Python, and the tests to import."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": programs, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


HEADERS = f"-I{sysconfig.get_path('include')}"


@needs_posix
@needs_compiled
def test_the_compiled_strategy_pulls_what_the_plain_one_pulls(tmp_path, monkeypatch):
    """With the command of the page, but for -O3: to optimize takes longest and changes no pull."""
    assert list(FILES) == ["quick.py", "quick.pxd"]
    for name, body in FILES.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TypeError, match="EliminationState must be compiled: the loop is"):
        exec(PULLS, {})
    del sys.modules["quick"]
    assert "-O3" in COMMAND
    built = shell(COMMAND.replace("-O3", "-O0"), tmp_path)
    assert built.returncode == 0, built.stderr
    done = shell([sys.executable, "-c", PULLS], tmp_path)
    assert done.returncode == 0, done.stderr
    file, (plain, quick, plain_too, quick_too) = json.loads(done.stdout)
    assert Path(file).suffix != ".py"
    assert (quick, quick_too) == (plain, plain_too)
    assert quick != quick_too
    # Without the flag the compiler says what to do.
    compiler = [*sysconfig.get_config_var("CC").split(), "-w", "-Wfatal-errors", "-fsyntax-only"]
    refused = shell([*compiler, HEADERS, "quick.c"], tmp_path)
    assert refused.returncode != 0
    assert "Compile with -DPy_LIMITED_API=0x030B0000, as allgood itself" in refused.stderr


METHODS = ("update", "is_done", "next_arm", "answer")
WRONG_ARM = """
from cython.cimports.allgood.strategies.state import StrategyState


class ChosenRule(StrategyState):
    def __init__(self, arm):
        self.arm = arm

    def update(self, tally):
        return 0

    def is_done(self, tally):
        return 0

    def next_arm(self, tally):
        return self.arm

    def answer(self, tally, out):
        return 0
"""
WRONG_ARM_HEADER = """
from allgood.kernels.tally cimport Tally
from allgood.strategies.state cimport StrategyState


cdef class ChosenRule(StrategyState):
    cdef Py_ssize_t arm
    cdef int update(self, Tally tally) except -1 nogil
    cdef int is_done(self, Tally tally) except -1 nogil
    cdef Py_ssize_t next_arm(self, Tally tally) except? -1 nogil
    cdef int answer(self, Tally tally, char[::1] out) except -1 nogil
"""
TRY = """
import wrong_arm
from allgood import Additive, Strategy, run

class WrongArm(Strategy):
    objective, delta = Additive(0.5), 0.1
    def __init__(self, state):
        self.state = state
    def start(self, num_arms, model):
        return self.state

for arm in (0, 4, 5, 99, 10**9, -1, -2):
    try:
        print(arm, run(WrongArm(wrong_arm.ChosenRule(arm)), [1.0] * 5, budget=9).counts[arm])
    except ValueError as error:
        print(error)
for method in ("update", "is_done", "next_arm", "answer"):
    try:
        print(run(WrongArm(getattr(wrong_arm, f"No_{method}")(0)), [1.0] * 5, budget=9))
    except TypeError as error:
        print(error)
"""


def without(text, method, name):
    """The state without one of its methods, under another name."""
    text = text.split("class ChosenRule")[1]
    body = re.sub(rf"    def {method}\(.*?\n(\n|$)", "", text, flags=re.S)
    body = re.sub(rf"    cdef \w+ {method}\(.*?\n", "", body)
    assert body.count("self, ") == text.count("self, ") - 1
    return f"class {name}{body}"


def compile_in_a_hurry(name, folder):
    """As `cythonize` does, but with the code that the modules of the package share."""
    shared = f"allgood.{_build.SHARED}"
    written = shell(["cython", "-3", "--shared", shared, f"{name}.py"], folder)
    assert written.returncode == 0, written.stderr
    link, shareable = (sysconfig.get_config_var(key).split() for key in ("LDSHARED", "CCSHARED"))
    flags = ["-O0", "-w", "-DPy_LIMITED_API=0x030B0000", HEADERS, "-o", f"{name}.abi3.so"]
    built = shell([*link, *shareable, *flags, f"{name}.c"], folder)
    assert built.returncode == 0, built.stderr


@needs_posix
@needs_compiled
def test_what_a_compiled_rule_does_wrong_is_refused_by_its_name(tmp_path):
    """An arm that does not exist would be written outside of the arrays."""
    names = {method: f"No_{method}" for method in METHODS}
    source = [WRONG_ARM, *(without(WRONG_ARM, method, name) for method, name in names.items())]
    header = [WRONG_ARM_HEADER]
    header += [f"cdef {without(WRONG_ARM_HEADER, method, name)}" for method, name in names.items()]
    (tmp_path / "wrong_arm.py").write_text("\n\n".join(source), encoding="utf-8")
    (tmp_path / "wrong_arm.pxd").write_text("\n\n".join(header), encoding="utf-8")
    compile_in_a_hurry("wrong_arm", tmp_path)
    done = shell([sys.executable, "-c", TRY], tmp_path)
    assert done.returncode == 0, done.stderr
    refused = "next_arm of ChosenRule must return an arm from 0 to 4: got"
    assert done.stdout.splitlines() == [
        "0 5",
        "4 5",
        *(f"{refused} {arm}." for arm in (5, 99, 10**9, -1, -2)),
        *(
            f"{name} must define {method} to be the state of a strategy."
            for method, name in names.items()
        ),
    ]


def test_the_plain_strategy_of_the_page_has_at_most_25_lines():
    [body] = re.findall(r">>> class SuccessiveElimination.*?\n(?=>>>)", PAGE, re.S)
    lines = [line for line in body.splitlines() if line.strip() not in {"", "..."}]
    assert 15 < len(lines) <= 25


@pytest.mark.parametrize("name", FILES)
def test_lines_are_short(name):
    assert max(map(len, FILES[name].splitlines())) <= 100
