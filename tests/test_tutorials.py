"""The tutorials, run from beginning to end in one folder, and printing what they show."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .systems import needs_posix
from .test_study_cli import call

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))


def plain(text):
    """Blanks folded; digests, which hold the time, left out; and where a page leaves lines out, a mark."""
    text = re.sub(r"[0-9a-f]{64}", "DIGEST", text)
    return " ".join(text.split())


def agree(shown, printed):
    """Whether all that a page shows was printed, in this order and next to each other, but for dots."""
    parts = [plain(part) for part in re.split(r"^\.\.\.$", shown, flags=re.M)]
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern.replace(".*", r"\s*.*\s*") if len(parts) > 1 else pattern, plain(printed), re.S)


@needs_posix
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed, compared = None, 0
    for kind, info, body in re.findall(r"```(console|python|text)([^\n]*)\n(.*?)```", page.read_text(), re.S):
        if kind == "text":
            assert agree(body, printed), printed
            compared += 1
        elif kind == "python" and "file=" in info:
            Path(info.split("file=")[1].strip()).write_text(body)
        elif kind == "python":
            done = subprocess.run(
                [sys.executable, "-c", body], capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        else:
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
                if command.startswith("allgood "):
                    code, printed, errors = call(*shlex.split(command)[1:])
                else:
                    done = subprocess.run(
                        command, shell=True, capture_output=True, text=True, timeout=300, check=False,
                        env=os.environ | {"PATH": path},
                    )  # fmt: skip
                    code, printed, errors = done.returncode, done.stdout, done.stderr
                assert code == 0, (command, errors, printed)
                if shown:
                    assert agree(shown, printed), (command, printed)
                    compared += 1
    assert compared >= 4


def test_the_comparison_can_fail():
    assert agree("a\nb\n", "a b")
    assert agree("a\n...\nc\n", "a\nb\nc\n")
    assert not agree("a\nc\n", "a\nb\nc\n")
    assert not agree("a\n...\nd\n", "a\nb\nc\n")
