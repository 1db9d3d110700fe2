"""Read JSON in which every key of an object stands once.

``json.loads`` keeps the last of two equal keys without a word.  So a file or a request could show
one value to a reader and another one to the program.  Open this module to see what is refused.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any


class DoubledKey(json.JSONDecodeError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        shown = key if len(key) <= 60 else f"{key[:57]}..."
        super().__init__(f"the key {shown!r} is there twice", "", 0)

    def __str__(self) -> str:
        return self.msg


def read_json(text: str | bytes, constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text.

    Args:
        text: the JSON.
        constant: what to make of NaN, Infinity and -Infinity; by default the numbers.

    Raises:
        DoubledKey: if an object has a key twice.
        ValueError: if it is not JSON.
        RecursionError: if it is nested too deeply.

    >>> read_json('{"a": 1, "b": 2}')
    {'a': 1, 'b': 2}
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parts = dict(pairs)
    if len(parts) < len(pairs):
        raise DoubledKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return parts
