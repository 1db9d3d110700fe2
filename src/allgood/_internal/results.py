"""Results as plain data for JSON, and hints as data: shared by every result of the package.

``--json``, HTTP and notebooks show what ``to_dict`` of a result returns, and nothing else.
"""

import math
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar


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
    if hasattr(value, "tolist"):  # an array or a number of NumPy, which need not be loaded here
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _NullUnlessFinite:
    """Tells pydantic, which describes results for OpenAPI, that a number may be null."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "null"}]}


# The type of a field whose number may be nan or infinite, which ``plain`` converts to null.
NullableFloat = Annotated[float, _NullUnlessFinite()]


class ResultData:
    """A dataclass whose fields are its JSON representation.

    Attributes:
        DERIVED: names of properties that the representation holds, too, after the fields.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and the properties named in ``DERIVED``, as plain data for JSON."""
        names = (*(part.name for part in fields(self)), *self.DERIVED)  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in names}


class HintCode(StrEnum):
    """Situations in which another argument would help; each interface has a wording for each."""

    DECIMAL_COMMA = "decimal_comma"
    NAME_COLUMN = "name_column"
    DAMAGED_STUDY = "damaged_study"
    NO_DATABASE = "no_database"
    SWAPPED_COLUMNS = "swapped_columns"
    COUNTS_TABLE = "counts_table"
    GRID = "grid"


@dataclass(frozen=True)
class HintTerm(ResultData):
    """A situation in which another argument would help.

    Attributes:
        sentence: the situation; each interface adds what to do there.
        options: the arguments that may help, one of which a hint names.
    """

    sentence: str
    options: tuple[str, ...] = ()


HINTS: dict[HintCode, HintTerm] = {
    HintCode.DECIMAL_COMMA: HintTerm("The comma in values may be a decimal comma.", ("decimal",)),
    HintCode.NAME_COLUMN: HintTerm(
        "A column that is needed is missing, or has another name.",
        ("ticket_column", "value_column", "arm_column", "columns"),
    ),
    HintCode.DAMAGED_STUDY: HintTerm(
        "Stored events were changed; those before can be exported.", ("damaged",)
    ),
    HintCode.NO_DATABASE: HintTerm("The database does not exist, or has no studies in it."),
    HintCode.SWAPPED_COLUMNS: HintTerm(
        "Every sum is above its n, so the two columns may be swapped.", ("columns",)
    ),
    HintCode.COUNTS_TABLE: HintTerm("The sheet may be a table of counts, without tickets."),
    HintCode.GRID: HintTerm("The sheet may be the grid of a plate.", ("grid",)),
}


@dataclass(frozen=True)
class Hint(ResultData):
    """Something that the caller could try next; each interface words it in its own way.

    Attributes:
        code: the situation (:class:`HintCode`), such as "decimal_comma".
        option: the argument that would help, by its name in Python, such as "decimal".
        value: the value to give that argument; None if the caller must choose one.
    """

    code: str
    option: str | None = None
    value: Any = None
