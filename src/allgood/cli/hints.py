"""Word the hints of the library as options of the command line."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._internal.results import Hint

# For each HintCode a sentence.
SENTENCES = {
    "decimal_comma": "If it is a decimal comma, add {option}.",
    "name_column": "Name the one to read with {option}.",
    "damaged_study": "`allgood study check` says more, and `allgood study export {option}` saves "
    "the events up to there.",
    "no_database": "`allgood study new` makes one.",
    "swapped_columns": "Say which column is which with {option}.",
    "counts_table": "If it is a table of counts, use `allgood study tell-counts`.",
    "grid": "If it is the grid of a plate, say of which with {option}.",
}


def hint_sentences(hints: "Iterable[Hint]") -> list[str]:
    """Return a sentence for each hint, with the option to add."""
    return [SENTENCES[hint.code].format(option=_option(hint)) for hint in hints]


def _option(hint: "Hint") -> str:
    value = hint.value
    if value is True:
        return f"--{(hint.option or '').replace('_', '-')}"
    if isinstance(value, Mapping):
        value = ",".join(f"{name}={heading or 'HEADING'}" for name, heading in value.items())
    blank = "PLATE" if hint.option == "grid" else "NAME"
    return f"--{(hint.option or '').replace('_', '-')} {blank if value is None else value}"
