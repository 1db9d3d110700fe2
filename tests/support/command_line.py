"""The command ``allgood``: in this process, which is quicker, or in a process of its own."""

import contextlib
import io
import subprocess
import sys
from unittest.mock import patch

from allgood.cli import main

PATIENCE = 600  # seconds after which a test gives up: something is broken


def allgood(*arguments, stdin="", cwd="."):
    """Exit code, output and errors of a command in this process; whatever escapes, escapes.

    A command that reads bytes needs ``stdin`` in bytes.
    """
    command = ["allgood", *map(str, arguments)]
    given = io.TextIOWrapper(io.BytesIO(stdin)) if isinstance(stdin, bytes) else io.StringIO(stdin)
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", command),
        patch.object(sys, "stdin", given),
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
