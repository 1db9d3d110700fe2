"""The command line ``allgood``: one file per group of commands.

Heavy imports live inside the commands, so that ``allgood --help`` is quick.

compare.py        bound, simulate, compare, reproduce
demo.py           demo; screen.py writes the study that it shows
claims.py         claims
study.py          study new, plan, status, forecast, copy, list and changes of a design
measure.py        study ask, tell and other commands about values
records.py        study certify, report, export and other commands about files; verify
serve.py          serve
options.py        options that several commands have; study_options.py those of a study
simulations.py    helpers of commands that simulate; simulation_data.py their JSON
show.py           print a result as JSON or as text
hints.py          rewrite hints of the library as command-line options
quick.py          start a command without slow imports
"""

import atexit
import gc
import io
import logging
import os
import sys
import threading
from typing import Annotated

import typer

from .. import __version__, _build
from . import claims, compare, demo, serve, study
from .hints import hint_sentences
from .quick import only_named

app = typer.Typer(
    help="Find which of many noisy options, called arms, are within epsilon of the best.\n\n"
    "If you have a table of measurements, use claims.  If you can choose what to measure next, use "
    "study.  The other commands are for looking around and for research.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
claims.register(app)
study.register(app)
serve.register(app)
demo.register(app)
compare.register(app)


def main() -> None:
    """Entry point.  Errors of the input end in one line and exit code 2."""
    _use_utf8()
    _start_quickly()
    # Without a home directory matplotlib works in a temporary folder, and would say so each time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        only_named(app, sys.argv[1:])(prog_name="allgood")
    except (ValueError, TypeError) as error:
        _fail(" ".join([str(error), *hint_sentences(getattr(error, "hints", ()))]), 2)
    except OSError as error:
        _fail(_in_words(error), 2)
    except RuntimeError as error:
        if type(error).__name__ != "SimulationFailed":
            raise
        _fail(str(error), 2)


def _use_utf8() -> None:
    """Read and write UTF-8 through pipes on every system; Windows would use a local code page."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8")


def _start_quickly() -> None:
    """Save a fifth of a second where a command loads its libraries.

    Python would look for garbage after every 700 new objects, and imports leave none.  NumPy would
    start a thread per core for the algebra of large matrices, which are rare here.
    """
    gc.set_threshold(200_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(_end_quickly)


def _end_quickly() -> None:
    """Save a tenth of a second where Python ends: it would look for garbage in all that is loaded.

    Databases would be closed as a part of this garbage.  So they are closed here.  A thread that is
    still alive may be using one, and SQLite crashes if that is closed under it.  So after a server,
    and while there are other threads, Python ends as usual.
    """
    if threading.active_count() > 1 or "uvicorn" in sys.modules:
        return
    if store := sys.modules.get("allgood.study.backends.sql"):
        store.close_all()
    gc.freeze()


REASONS: dict[type[OSError], str] = {
    FileNotFoundError: "there is no such file or folder",
    IsADirectoryError: "it is a folder, not a file",
    NotADirectoryError: "a part of the path is a file, not a folder",
    FileExistsError: "it exists already",
    PermissionError: "this user may not open it in this way",
}


def _in_words(error: OSError) -> str:
    """Return what the system refused, in a sentence without its number."""
    why = REASONS.get(type(error), error.strerror)
    if why is None:
        return str(error)
    return f"{str(error.filename)!r} cannot be used: {why}." if error.filename else f"{why}."


def _fail(message: str, code: int) -> None:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"allgood {__version__}, {_build.state()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    if sentence := _build.advice():
        print(sentence, file=sys.stderr)
