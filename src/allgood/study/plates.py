"""Arrange measurements and controls in the wells of a plate.

A well is named by its row (A to Z, then AA, AB and so on) and its column (from 1).  On a plate of
8 rows and 12 columns A1 is the first well and H12 the last.  Rows, columns and the edge of a plate
shift values.  So the copies of an arm are spread over rows and columns, and the rest is random.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.arguments import ArgumentError, ArgumentTypeError, forbidden_character

ROWS, COLUMNS = 64, 96  # at most
SIZES = {"96": (8, 12), "384": (16, 24), "1536": (32, 48)}

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROW_NAMES = [*_ALPHABET, *(a + b for a in _ALPHABET for b in _ALPHABET)][:ROWS]


@cache
def _positions() -> dict[str, tuple[int, int]]:
    """Return row and column of every well, by its name."""
    return {f"{ROW_NAMES[i]}{j + 1}": (i, j) for i in range(ROWS) for j in range(COLUMNS)}


def well_position(well: str) -> tuple[int, int]:
    """Return row and column of a well, each from 0; sorted positions are wells row by row.

    >>> well_position("B12")
    (1, 11)
    """
    if well not in _positions():
        raise ArgumentError(
            f"well must be a row's letters and a column's number, such as A1: got {well!r}.",
            argument="well",
        )
    return _positions()[well]


@dataclass(frozen=True)
class Layout:
    """The wells of one batch.

    Attributes:
        wells: the well of each measurement, in the order in which they were asked for.
        controls: the name of the control in each well that has a control, row by row.
    """

    wells: tuple[str, ...]
    controls: dict[str, str]


@dataclass(frozen=True)
class Plate:
    """A plate, and the controls on it.

    Args:
        rows: 1 to 64.
        columns: 1 to 96.
        controls: for each control's name a number of wells, which are spread anew over each plate,
            or a list of wells.
        edge: whether arms, and controls given by a number, may stand in the outermost rows and
            columns.

    >>> Plate(8, 12, {"DMSO": ["A1", "H12"], "blank": 4}, edge=False).capacity
    56
    """

    rows: int = 8
    columns: int = 12
    controls: Mapping[str, int | Sequence[str]] = field(default_factory=dict, hash=False)
    edge: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _whole("rows", self.rows, 1, ROWS))
        object.__setattr__(self, "columns", _whole("columns", self.columns, 1, COLUMNS))
        if not isinstance(self.edge, bool):
            raise ArgumentTypeError(
                f"edge must be True or False: got {self.edge!r}.", argument="edge"
            )
        if not isinstance(self.controls, Mapping):
            raise ArgumentTypeError(
                "controls must give each control's name a number or a list of wells: got "
                f"{self.controls!r}.",
                argument="controls",
            )
        object.__setattr__(
            self, "controls", {name: self._control(name, c) for name, c in self.controls.items()}
        )
        doubled = [well for well, n in Counter(well for well, _ in self._fixed()).items() if n > 1]
        if doubled:
            raise ArgumentError(
                f"controls must name each well once: got {doubled[0]} more than once.",
                argument="controls",
            )
        if self.capacity < 1:
            inside = int(self._open().sum())
            raise ArgumentError(
                f"a plate must leave a well for arms: {inside} of {self.rows}x{self.columns} are "
                f"open to them{'' if self.edge else ', without the edge'}, and controls take "
                f"{inside - self.capacity}.",
                argument="controls",
            )

    def _control(self, name: object, wells: object) -> int | tuple[str, ...]:
        """Return the checked wells of a control: their number, or their names."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"controls must have names: got {name!r}.", argument="controls")
        if not name.strip():
            raise ArgumentError(f"controls must have names: got {name!r}.", argument="controls")
        if forbidden := forbidden_character(name):
            raise ArgumentError(
                f"controls must have names without control characters: got {name[:60]!r}, which "
                f"has the character {forbidden}.",
                argument="controls",
            )
        if isinstance(wells, int | np.integer):
            return _whole(f"controls[{name!r}]", wells, 1, self.rows * self.columns)
        if isinstance(wells, str) or not isinstance(wells, Iterable):
            raise ArgumentTypeError(
                f"controls[{name!r}] must be a number of wells or a list of wells: got {wells!r}.",
                argument="controls",
            )
        last = f"{ROW_NAMES[self.rows - 1]}{self.columns}"
        names = tuple(wells)
        if not names:
            raise ArgumentError(
                f"controls[{name!r}] must have a well: got none.", argument="controls"
            )
        for well in names:
            i, j = (
                _positions().get(well, (ROWS, COLUMNS))
                if isinstance(well, str)
                else (ROWS, COLUMNS)
            )
            if i >= self.rows or j >= self.columns:
                raise ArgumentError(
                    f"controls[{name!r}] must name wells from A1 to {last}: got {well!r}.",
                    argument="controls",
                )
        return names

    @classmethod
    def named(
        cls, name: str, controls: Mapping[str, int | Sequence[str]] | None = None, edge: bool = True
    ) -> "Plate":
        """Return the plate that a text names: rows x columns, or the wells of a common plate.

        >>> Plate.named("384") == Plate.named("16x24")
        True
        """
        sizes = re.fullmatch(r"\s*([0-9]{1,4})\s*[xX]\s*([0-9]{1,4})\s*", name)
        if not sizes and name.strip() not in SIZES:
            raise ArgumentError(
                f"plate must be rows x columns, such as 8x12, or one of {', '.join(SIZES)}: got "
                f"{name!r}.",
                argument="plate",
            )
        rows, columns = map(int, sizes.groups()) if sizes else SIZES[name.strip()]
        return cls(rows, columns, controls or {}, edge)

    @classmethod
    def from_layout(cls, layout: Mapping[str, Any]) -> "Plate":
        """Return the plate that an event stores; see :meth:`to_layout`."""
        return cls(layout["rows"], layout["columns"], layout["controls"], layout["edge"])

    def to_layout(self, placed: Mapping[str, str]) -> dict[str, Any]:
        """Return the stored form; ``placed`` holds the control of each well that has one."""
        controls = {name: c if isinstance(c, int) else list(c) for name, c in self.controls.items()}
        return {
            "rows": self.rows,
            "columns": self.columns,
            "edge": self.edge,
            "controls": controls,
            "placed": dict(placed),
        }

    @property
    def wording(self) -> str:
        """Describe the plate in words.

        >>> Plate(8, 12, {"DMSO": ["A1", "H12"], "blank": 4}, edge=False).wording
        '8x12 without its edge, controls DMSO=A1,H12 blank=4'
        """
        held = [
            f"{name}={wells if isinstance(wells, int) else ','.join(wells)}"
            for name, wells in self.controls.items()
        ]
        edge = "" if self.edge else " without its edge"
        controls = f"controls {' '.join(held)}" if held else "no controls"
        return f"{self.rows}x{self.columns}{edge}, {controls}"

    @property
    def capacity(self) -> int:
        """Count the wells left for arms."""
        return int(self._open().sum()) - sum(n for _, n in self._counted())

    def arrange(self, arms: Sequence[int], seed: int, batch: int) -> Layout:
        """Choose a well for each measurement; ``arms`` holds the arm of each.

        Controls are placed first, then arms; those with most copies come first.  Each copy goes to
        the free well with the fewest copies of the same arm in its row and column together.  Ties
        are broken by a random order.  The same plate, arms, seed and batch give the same layout.
        """
        numbers = [_whole("arms", arm, 0) for arm in arms]
        if len(numbers) > self.capacity:
            raise ArgumentError(
                f"arms must have at most {self.capacity} entries, one for each well that the "
                f"plate has for them: got {len(numbers)}.",
                argument="arms",
            )
        sequence = np.random.SeedSequence(
            _whole("seed", seed, 0), spawn_key=(_whole("batch", batch, 0),)
        )
        rng = np.random.default_rng(sequence)
        free = self._open()
        order = rng.permutation(free.size).reshape(free.shape)
        held = dict(self._fixed())
        for name, n in self._counted():
            held |= dict.fromkeys(_spread(n, free, order), name)
        copies: dict[int, list[int]] = {
            arm: [] for arm in rng.permutation(np.unique(numbers)).tolist()
        }
        for i, arm in enumerate(numbers):
            copies[arm].append(i)
        wells = [""] * len(numbers)
        for places in sorted(copies.values(), key=len, reverse=True):
            for i, well in zip(places, _spread(len(places), free, order), strict=True):
                wells[i] = well
        return Layout(tuple(wells), {well: held[well] for well in sorted(held, key=well_position)})

    def _fixed(self) -> list[tuple[str, str]]:
        """Return well and name of each control that is placed by its wells."""
        return [
            (well, name)
            for name, wells in self.controls.items()
            if not isinstance(wells, int)
            for well in wells
        ]

    def _counted(self) -> list[tuple[str, int]]:
        """Return name and number of wells of each other control, most wells first."""
        counts = [(name, n) for name, n in self.controls.items() if isinstance(n, int)]
        return sorted(counts, key=lambda control: (-control[1], control[0]))

    def _open(self) -> npt.NDArray[np.bool_]:
        """Mark the wells that are open to arms, and to controls with a number of wells."""
        free = np.full((self.rows, self.columns), self.edge)
        free[1:-1, 1:-1] = True
        for well, _ in self._fixed():
            free[well_position(well)] = False
        return free


def _spread(copies: int, free: npt.NDArray[np.bool_], order: npt.NDArray[np.int64]) -> list[str]:
    """Take wells for the copies of one arm or control out of ``free``."""
    wells = []
    cost = np.where(free, order, np.iinfo(np.int64).max // 2)
    for _ in range(copies):
        i, j = divmod(int(cost.argmin()), free.shape[1])
        cost[i] += free.size
        cost[:, j] += free.size
        cost[i, j] = np.iinfo(np.int64).max // 2
        free[i, j] = False
        wells.append(f"{ROW_NAMES[i]}{j + 1}")
    return wells


def _whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Check a whole number from ``low`` to ``high``."""
    range_ = f"of at least {low}" if high is None else f"from {low} to {high}"
    wanted = f"a whole number {range_}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(
            f"{name} must be {wanted}: got {value!r}.", argument=name.partition("[")[0]
        )
    if value < low or (high is not None and value > high):
        raise ArgumentError(
            f"{name} must be {wanted}: got {value}.", argument=name.partition("[")[0]
        )
    return int(value)
