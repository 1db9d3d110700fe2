"""Show the result of a command: as JSON or as text, with the command that comes next.

The JSON of a result is what its ``to_dict`` returns, the same as over HTTP and in Python.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from .hints import hint_sentences

if TYPE_CHECKING:
    from ..study.receipts import Change, Receipt

T = TypeVar("T")

# For each remedy of a row: what it does, and the command.
REMEDIES = {
    "confirm": ("let a suspect value count", "confirm {study} TICKET --reason WHY"),
    "correct": ("replace a value", "correct {study} TICKET {value} --reason WHY"),
    "add_measurement": (
        "count a value that came after all",
        "add-measurement {study} ARM VALUE --source WHAT",
    ),
    "fail": ("close a ticket without a value", "fail {study} TICKET --reason WHY"),
    "withdraw": (
        "let a value count no more",
        "withdraw {study} TICKET --reason WHY --basis cause",
    ),
}


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that are not finite become null."""
    from .._internal.results import plain

    print(json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False))


def show(result: T, as_json: bool, print_text: Callable[[T], None]) -> None:
    """Show a result that has ``to_dict``, or is JSON data: as JSON, or by this function."""
    if as_json:
        print_json(result)
    else:
        print_text(result)


def show_change(change: "Change", as_json: bool) -> None:
    """Show what a change did."""
    show(change, as_json, lambda change: print(change.consequence))


def show_receipt(
    receipt: "Receipt",
    study: str,
    as_json: bool,
    *,
    failed: int = 0,
    value: str = "VALUE",
    advice: Sequence[str] = (),
) -> None:
    """Show a receipt, and end the program: with code 1 if a row was refused.

    Args:
        receipt: the receipt.
        study: the study as commands name it.
        as_json: whether to print JSON.
        failed: number of tickets without a value that were reported as failed along with it.
        value: stands for a value in the command that corrects it.
        advice: sentences for the end of the text.
    """
    if as_json:
        print_json(receipt.to_dict() | {"failed": failed})
    else:
        _print_receipt(receipt, study, failed, value)
        for sentence in advice:
            print(sentence)
    raise typer.Exit(0 if receipt.ok else 1)


def _print_receipt(receipt: "Receipt", study: str, failed: int, value: str) -> None:
    """Print how many rows have each status, messages, and commands that would mend them."""
    from ..study.receipts import some

    counts = receipt.counts | ({"failed": failed} if failed else {})
    print(", ".join(f"{n} {status}" for status, n in counts.items() or [("rows", 0)]) + ".")
    for note in [*receipt.notes, *hint_sentences(receipt.hints)]:
        print(note)
    rows = [row for row in receipt if not (failed and row.remedy == "fail")]
    for message in some(row.message for row in rows if row.message):
        print(message if message.startswith("...") else f"- {message}")
    if receipt.plates:
        from ..reporting.studies import print_plate_check

        for check in receipt.plates:
            print_plate_check(check)
    remedies = {row.remedy for row in rows}
    remedies |= {"correct"} if "confirm" in remedies else set()
    for remedy, (purpose, command) in REMEDIES.items():
        if remedy in remedies:
            print(f"To {purpose}: allgood study {command.format(study=study, value=value)}")
    if sum(row.remedy == "fail" for row in rows) > 1:
        print("To close all tickets without a value: the same command with --empty-failed WHY")


def with_warnings(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call a function, and print its warnings about the model in one line each.

    Suspect values are in the receipt, and not printed here.
    """
    from ..models import ModelWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments, **options)
    for warning in caught:
        if issubclass(warning.category, ModelWarning):
            print(f"Warning: {warning.message}", file=sys.stderr)
    return result


def named(url: str, name: str | None = None) -> str:
    """Return the study as the next command must name it; passwords are not shown."""
    shown = _quoted(re.sub(r"://([^:/@]+):[^@]*@", r"://\1:***@", url))
    return shown if name is None else f"{shown} --name {_quoted(name)}"


def _quoted(text: str) -> str:
    """Return a text as a single word for the shell of this system."""
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)


def write_text(path: Path, text: str) -> None:
    """Write a file whose lines end alike on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")
