"""The tutorials, run from beginning to end in one folder, print what they show (``printed.py``)."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .printed import agree
from .systems import needs_posix
from .test_study_cli import call

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))


@needs_posix
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])  # a command looks for modules here
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed, compared = None, 0
    for kind, info, body in re.findall(
        r"```(console|python|toml|text)([^\n]*)\n(.*?)```", page.read_text(), re.S
    ):
        if kind == "text":
            assert agree(body, printed), printed
            compared += 1
        elif "file=" in info:
            Path(info.split("file=")[1].strip()).write_text(body)
        elif kind == "python":
            done = subprocess.run(
                [sys.executable, "-c", body],
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        else:
            wanted = int((re.findall(r"exit=(\d+)", info) or ["0"])[0])
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
                if command.startswith("allgood "):
                    code, printed, errors = call(*shlex.split(command)[1:])
                else:
                    done = subprocess.run(
                        command,
                        shell=True,
                        capture_output=True,
                        text=True,
                        timeout=300,
                        check=False,
                        env=os.environ | {"PATH": path},
                    )
                    code, printed, errors = done.returncode, done.stdout, done.stderr
                assert code == wanted, (command, errors, printed)
                if shown:
                    assert agree(shown, printed), (command, printed)
                    compared += 1
    assert compared >= 4
    for module in tmp_path.glob("*.py"):  # a page's own: another may have one of this name
        sys.modules.pop(module.stem, None)
