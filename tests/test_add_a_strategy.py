"""The page docs/your-own-strategy.md, where it compiles a strategy: done to the letter."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from .systems import needs_posix
from .test_build import ROOT, needs_compiled

PAGE = (ROOT / "docs" / "your-own-strategy.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```(?:python|cython) file=(\S+)\n(.*?)```", PAGE, re.S)[:2])
[COMMAND] = re.findall(r"^CFLAGS=.*$", PAGE, re.M)

PULLS = """
import json
import quick
from allgood import Additive, Multiplicative, simulate
from tests.own_strategy import SuccessiveElimination

found = []
for objective in (Additive(0.6), Multiplicative(0.4)):
    for kind in (SuccessiveElimination, quick.QuickElimination):
        runs = simulate(kind(objective, 0.1), [2.0, 1.8, 0.5, 0.0], runs=6, seed=3)
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


@needs_posix
@needs_compiled
def test_the_compiled_strategy_pulls_what_the_plain_one_pulls(tmp_path):
    assert list(FILES) == ["quick.py", "quick.pxd"]
    for name, body in FILES.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    plain = shell([sys.executable, "-c", PULLS], tmp_path)
    assert "TypeError: EliminationRule must be compiled, as the loop is" in plain.stderr
    built = shell(COMMAND, tmp_path)
    assert built.returncode == 0, built.stderr
    done = shell([sys.executable, "-c", PULLS], tmp_path)
    assert done.returncode == 0, done.stderr
    file, (plain, quick, plain_too, quick_too) = json.loads(done.stdout)
    assert Path(file).suffix != ".py"
    assert (quick, quick_too) == (plain, plain_too)
    assert quick != quick_too
    # Without the flag the compiler says what to do.
    compiler = [*sysconfig.get_config_var("CC").split(), "-w", "-fsyntax-only"]
    headers = f"-I{sysconfig.get_path('include')}"
    refused = shell([*compiler, headers, "quick.c"], tmp_path)
    assert refused.returncode != 0
    assert "Compile with -DPy_LIMITED_API=0x030B0000, as allgood itself" in refused.stderr


def test_the_plain_strategy_of_the_page_has_at_most_25_lines():
    [body] = re.findall(r">>> class SuccessiveElimination.*?\n(?=>>>)", PAGE, re.S)
    lines = [line for line in body.splitlines() if line.strip() not in {"", "..."}]
    assert 15 < len(lines) <= 25


@pytest.mark.parametrize("name", FILES)
def test_lines_are_short(name):
    assert max(map(len, FILES[name].splitlines())) <= 100
