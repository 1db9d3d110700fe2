"""Write to the terminal: sentences that wrap at words, and the one text table, with colours.

Elsewhere, such as in a file or a pipe, there are neither colours nor breaks within sentences.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

from .._internal.tables import Styled, counted, text_table

ROWS = 24  # a table of arms shows at most this many; --json shows all
BOLD, DIM, RED, BLUE = 1, 2, 31, 34
LABELS = {"good": BLUE, "bad": RED, "open": DIM}


def has_colours() -> bool:
    """Return whether the standard output is a terminal that shows colours."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return False
    if os.name == "nt":
        return "WT_SESSION" in os.environ  # older consoles would print the codes
    return os.environ.get("TERM") != "dumb"


def styled(text: str, ansi: int) -> str:
    """Return the text in a style, if the output shows styles."""
    if not has_colours():
        return text
    result = Styled(text)
    result.ansi = ansi
    return result


def styled_label(label: str) -> str:
    """Return the label of an arm in its colour."""
    return styled(label, LABELS[label])


def say(text: str = "") -> None:
    """Print sentences; on a terminal each line breaks at words."""
    if text and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = (
            textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
            for line in text.split("\n")
        )
        text = "\n".join(lines)
    print(text)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> str:
    """Lay out a table with its headings in bold."""
    heads = [styled(heading, BOLD) for heading in headings]
    return text_table(heads, rows, left)


def say_rest(shown: int, number: int) -> None:
    """Print how many arms with lower means a table leaves out, if it does."""
    if number > shown:
        say(f"... and {counted(number - shown, 'arm')} with lower means (--json shows all)")


def say_some(messages: Sequence[str], most: int = 20, before: str = "- ") -> None:
    """Print the first messages, a line each, and how many more there are."""
    for message in messages[:most]:
        say(f"{before}{message}")
    if len(messages) > most:
        say(f"... and {len(messages) - most:,} more (--json shows all)")
