"""Documents that are run from beginning to end, in the folder in which one is."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from .printed import agree
from .test_study_cli import call

BLOCK = re.compile(r"```(console|python|toml|text)([^\n]*)\n(.*?)```", re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)  # \ at a line's end goes on


def run_page(text, current=lambda part: part):
    """Run the examples of a page; returns how many of them print what the page shows.

    ``current`` puts what is only known by now into a part of the page, as the letters of tickets.
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
        elif kind == "python":
            code, printed, errors = run([sys.executable, "-c", current(body)])
            assert code == 0, errors
        else:
            wanted = int((re.findall(r"exit=(\d+)", info) or ["0"])[0])
            for command, shown in COMMAND.findall(body):
                if command.startswith("allgood "):
                    code, printed, errors = call(*shlex.split(current(command))[1:])
                else:
                    environment = os.environ | {"PATH": path}
                    code, printed, errors = run(current(command), shell=True, env=environment)
                assert code == wanted, (command, errors, printed)
                if shown:
                    assert agree(current(shown), printed), (command, printed)
                    compared += 1
    return compared
