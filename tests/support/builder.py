"""Runs setup.py many times, quickly: most of its time goes into loading Cython and setuptools.

A server loads them once.  It splits off a process for each run, and that is as good as new.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SERVER = """
import gc, json, os, runpy, signal, sys, traceback
import numpy
import setuptools.command.build_ext, setuptools.config.pyprojecttoml
from Cython.Build import cythonize
from Cython.Compiler.TreeFragment import parse_from_strings

parse_from_strings("nothing", "pass")  # the parser makes its tables when it is first used
gc.freeze()
for line in sys.stdin:
    if os.fork() == 0:
        break
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
else:
    sys.exit()
folder, variables, sys.argv = json.loads(line)
signal.alarm(300)  # nothing takes so long: something is broken
os.chdir(folder)
os.environ.update(variables)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.dup2(1, 2)
wrong = None
try:
    runpy.run_path("setup.py", run_name="__main__")
except SystemExit as end:
    wrong = end.code
except Exception:
    wrong = traceback.format_exc()
print(wrong or "", flush=True)
os._exit(1 if wrong else 0)  # at once: there is much loaded, and no need to tidy it up
"""


class Builder:
    """Use it in ``with``.  Without ``os.fork``, as on Windows, each run loads everything itself."""

    def __enter__(self):
        self.server = None
        if hasattr(os, "fork"):
            self.server = subprocess.Popen(
                [sys.executable, "-c", SERVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self

    def __exit__(self, *error):
        if self.server:
            self.server.communicate()

    def run(self, folder, *arguments, **variables):
        """The exit code of setup.py in this folder, and all that it printed."""
        command = ["setup.py", "--quiet", *arguments]
        if self.server is None:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=folder,
                env=os.environ | variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
                check=False,
            )
            return done.returncode, done.stdout
        print(json.dumps([str(folder), variables, command]), file=self.server.stdin, flush=True)
        code = int(self.server.stdout.readline())
        return code, Path(folder, "output.txt").read_text(encoding="utf-8")
