"""The command ``allgood``: in this process, which is quicker, or in a process of its own."""

import contextlib
import functools
import io
import subprocess
import sys
from unittest.mock import patch

import typer.main

from allgood.cli import main

PATIENCE = 600  # seconds after which a test gives up: something is broken
# Typer reads all functions of a program anew on each call, which takes longer than most commands.
get_command = functools.cache(typer.main.get_command)


def allgood(*arguments, stdin="", cwd="."):
    """Exit code, output and errors of a command in this process; whatever escapes, escapes."""
    command = ["allgood", *map(str, arguments)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", command),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        patch.object(typer.main, "get_command", get_command),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def in_a_process(*arguments, cwd=None):
    """The same in a process of its own."""
    command = [sys.executable, "-m", "allgood", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=PATIENCE, check=False
    )
