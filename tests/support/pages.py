"""Documents that are run from beginning to end, in the folder in which one is."""

import contextlib
import importlib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

from ..cli.test_study_cli import call
from .printed import agree

BLOCK = re.compile(r"```(console|python|toml|csv|text)([^\n]*)\n(.*?)```", re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)  # \ at a line's end goes on


def python_here(code, *arguments):
    """Exit code, output and errors of a program in this process; whatever it raises escapes.

    The modules of its folder are loaded anew, as in a process.
    """
    out, status = io.StringIO(), 0
    importlib.invalidate_caches()
    with (
        contextlib.redirect_stdout(out),
        patch.object(sys, "argv", list(arguments)),
        patch.object(sys, "path", ["", *sys.path]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ResourceWarning)  # as Python does by itself
        for module in Path().glob("*.py"):
            sys.modules.pop(module.stem, None)
        try:
            exec(compile(code, "<page>", "exec"), {"__name__": "__main__"})
        except SystemExit as stop:
            status = stop.code or 0
        for module in Path().glob("*.py"):
            sys.modules.pop(module.stem, None)
    return status, out.getvalue(), ""


def command_here(command):
    """The same of commands ``python`` and ``allgood``, also with ``;`` and ``> FILE``.

    None if there are others among them.
    """
    parts = shlex.shlex(command, posix=True, punctuation_chars=True)
    parts.whitespace_split, parts.commenters = True, ""
    groups = itertools.groupby(parts, key=";".__eq__)
    commands = [list(words) for separates, words in groups if not separates]
    if not all(words[0] in ("python", "allgood") for words in commands):
        return None
    code, printed, errors = 0, "", ""
    for words in commands:
        target = words.pop() if words[-2] == ">" else None
        program, *arguments = words[: -1 if target else None]
        if program == "allgood":
            code, out, error = call(*arguments)
        elif arguments[0] == "-c":
            code, out, error = python_here(arguments[1], "-c", *arguments[2:])
        else:
            code, out, error = python_here(Path(arguments[0]).read_text(), *arguments)
        if target:
            Path(target).write_text(out)
        printed, errors = printed + ("" if target else out), errors + error
    return code, printed, errors


def run_page(text, current=lambda part: part, here=False):
    """Run the examples of a page; returns how many of them print what the page shows.

    ``current`` puts what is only known by now into a part of the page, as the letters of tickets.
    ``here``: programs in Python need no processes of their own.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed, compared = None, 0

    def run(command, **options):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False, **options
        )
        return done.returncode, done.stdout, done.stderr

    for kind, info, body in BLOCK.findall(text):
        if kind == "text":
            assert agree(body, printed), printed
            compared += 1
        elif "file=" in info:
            Path(info.split("file=")[1].strip()).write_text(body)
        elif body.startswith(">>>"):
            continue  # an example for doctest
        elif kind == "python":
            if here:
                code, printed, errors = python_here(current(body), "-c")
            else:
                code, printed, errors = run([sys.executable, "-c", current(body)])
            assert code == 0, errors
        else:
            wanted = int((re.findall(r"exit=(\d+)", info) or ["0"])[0])
            for broken, shown in COMMAND.findall(body):
                command = broken.replace("\\\n", " ")
                if command.startswith("allgood "):
                    code, printed, errors = call(*shlex.split(current(command))[1:])
                elif here and (done := command_here(current(command))):
                    code, printed, errors = done
                else:
                    environment = os.environ | {"PATH": path}
                    code, printed, errors = run(current(command), shell=True, env=environment)
                assert code == wanted, (command, errors, printed)
                if shown:
                    assert agree(current(shown), printed), (command, printed)
                    compared += 1
    return compared
