"""Shared by every result that leaves the package: plain data for JSON, and hints as data.

``--json``, HTTP and notebooks show what ``to_dict`` of a result returns, and nothing else.
"""

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Convert a value to JSON data, at any depth; a number that is not finite becomes null."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


class ResultData:
    """A dataclass whose fields are its JSON representation."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data for JSON."""
        return {part.name: plain(getattr(self, part.name)) for part in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Hint(ResultData):
    """Something that the caller could try next; each interface words it in its own way.

    Attributes:
        code: names the situation, such as "decimal_comma".
        option: the argument that would help, by its name in Python, such as "decimal".
        value: the value to give that argument; None if the caller must choose one.
    """

    code: str
    option: str | None = None
    value: Any = None
