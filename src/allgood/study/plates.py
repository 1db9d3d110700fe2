"""Arrange measurements and controls in the wells of a plate.

Rows, columns and the edge of a plate shift values.  So the copies of an arm are spread over rows
and columns, and the rest is random.  ``wells.py`` names wells.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.arguments import ArgumentError, ArgumentTypeError, forbidden_character
from .wells import COLUMNS, ROW_NAMES, ROWS, parse_controls, parse_places, well_position

SIZES = {"96": (8, 12), "384": (16, 24), "1536": (32, 48)}
LEAST_LIMIT = 8  # wells of an arm that every plate allows by default

Controls = Mapping[str, int | str | Sequence[str]]


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
        controls: for each control's name a number of wells, which are spread anew over each plate;
            or its wells: a list, or a text such as "A23:P24" or "column 1, H12".  Or one text with
            a line for each control, such as "DMSO 8" or "blank column 1" (``wells.py``).
        edge: whether arms, and controls given by a number, may stand in the outermost rows and
            columns.
        max_per_arm: how many wells of the plate one arm may have; by default :meth:`limit` decides.
            If no other arm is worth measuring, wells stay empty.

    >>> Plate(8, 12, {"DMSO": "A1, H12", "blank": 4}, edge=False).capacity
    56
    """

    rows: int = 8
    columns: int = 12
    controls: Controls | str = field(default_factory=dict, hash=False)
    edge: bool = True
    max_per_arm: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _whole("rows", self.rows, 1, ROWS))
        object.__setattr__(self, "columns", _whole("columns", self.columns, 1, COLUMNS))
        if not isinstance(self.edge, bool):
            raise ArgumentTypeError(
                f"edge must be True or False: got {self.edge!r}.", argument="edge"
            )
        if self.max_per_arm is not None:
            limit = _whole("max_per_arm", self.max_per_arm, 1)
            object.__setattr__(self, "max_per_arm", limit)
        controls = self.controls
        controls = parse_controls(controls) if isinstance(controls, str) else controls
        if not isinstance(controls, Mapping):
            raise ArgumentTypeError(
                "controls must give each control's name a number of wells or wells: got "
                f"{controls!r}.",
                argument="controls",
            )
        placed = {name: self._control(name, wells) for name, wells in controls.items()}
        object.__setattr__(self, "controls", placed)
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
        if not isinstance(wells, Iterable) or isinstance(wells, bytes):
            raise ArgumentTypeError(
                f"controls[{name!r}] must be a number of wells, or wells: got {wells!r}.",
                argument="controls",
            )
        texts = [wells] if isinstance(wells, str) else list(wells)
        try:
            if not texts:
                raise ValueError("name a well: got none")
            return tuple(
                well for text in texts for well in parse_places(str(text), self.rows, self.columns)
            )
        except ValueError as error:
            raise ArgumentError(f"controls[{name!r}] must {error}.", argument="controls") from None

    @classmethod
    def named(
        cls,
        name: str,
        controls: Controls | str | None = None,
        edge: bool = True,
        max_per_arm: int | None = None,
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
        return cls(rows, columns, controls or {}, edge, max_per_arm)

    @classmethod
    def from_layout(cls, layout: Mapping[str, Any]) -> "Plate":
        """Return the plate that an event stores; see :meth:`to_layout`."""
        parts = ("rows", "columns", "controls", "edge", "max_per_arm")
        return cls(**{name: layout[name] for name in parts})

    def to_layout(self, placed: Mapping[str, str]) -> dict[str, Any]:
        """Return the stored form; ``placed`` holds the control of each well that has one."""
        return self.to_dict() | {"placed": dict(placed)}

    def to_dict(self) -> dict[str, Any]:
        """Return the plate as plain data for JSON."""
        controls = {name: c if isinstance(c, int) else list(c) for name, c in self._controls()}
        return {
            "rows": self.rows,
            "columns": self.columns,
            "edge": self.edge,
            "controls": controls,
            "max_per_arm": self.max_per_arm,
        }

    @property
    def wording(self) -> str:
        """Describe the plate in words.

        >>> Plate(8, 12, {"DMSO": ["A1", "H12"], "blank": 4}, edge=False).wording
        '8x12 without its edge, controls DMSO=A1,H12 blank=4'
        """
        held = [f"{name}={_shown(wells)}" for name, wells in self._controls()]
        edge = "" if self.edge else " without its edge"
        controls = f"controls {' '.join(held)}" if held else "no controls"
        most = "" if self.max_per_arm is None else f", at most {self.max_per_arm} wells of an arm"
        return f"{self.rows}x{self.columns}{edge}, {controls}{most}"

    @property
    def capacity(self) -> int:
        """Count the wells left for arms."""
        return int(self._open().sum()) - sum(n for _, n in self._counted())

    def limit(self, num_arms: int) -> int:
        """Return how many wells one of so many arms may have.

        Without ``max_per_arm`` that is a quarter of the wells for arms, or twice an even share if
        that is more, and at least ``LEAST_LIMIT``.

        >>> Plate.named("384", "DMSO 32").limit(180), Plate.named("96").limit(3)
        (88, 64)
        """
        if self.max_per_arm is not None:
            return self.max_per_arm
        wells = self.capacity
        return max(-(-wells // 4), -(-2 * wells // max(num_arms, 1)), LEAST_LIMIT)

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

    def _controls(self) -> Iterable[tuple[str, int | tuple[str, ...]]]:
        """Return the name of each control, and its number of wells or its wells."""
        return self.controls.items()  # type: ignore[union-attr, return-value]

    def placed(self) -> list[str]:
        """Return the name of the control of each well that has one."""
        counted = [name for name, n in self._counted() for _ in range(n)]
        return [name for _, name in self._fixed()] + counted

    def _fixed(self) -> list[tuple[str, str]]:
        """Return well and name of each control that is placed by its wells."""
        return [
            (well, name)
            for name, wells in self._controls()
            if not isinstance(wells, int)
            for well in wells
        ]

    def _counted(self) -> list[tuple[str, int]]:
        """Return name and number of wells of each other control, most wells first."""
        counts = [(name, n) for name, n in self._controls() if isinstance(n, int)]
        return sorted(counts, key=lambda control: (-control[1], control[0]))

    def _open(self) -> npt.NDArray[np.bool_]:
        """Mark the wells that are open to arms, and to controls with a number of wells."""
        free = np.full((self.rows, self.columns), self.edge)
        free[1:-1, 1:-1] = True
        for well, _ in self._fixed():
            free[well_position(well)] = False
        return free


def z_prime_of(samples: Sequence[Sequence[float]]) -> float | None:
    """Return Z' of two samples of controls, 1 - 3 (s1 + s2) / |m1 - m2|.

    s is the standard deviation of a sample and m its mean.  None if there are not two samples with
    two values each, or if their means are equal.
    """
    if len(samples) != 2 or any(len(sample) < 2 for sample in samples):
        return None
    distance = abs(fmean(samples[0]) - fmean(samples[1]))
    spread = sum(stdev(sample) for sample in samples)
    return 1.0 - 3.0 * spread / distance if distance > 0.0 else None


def _shown(wells: int | tuple[str, ...]) -> str:
    """Return the wells of a control for a sentence, the first of many."""
    if isinstance(wells, int):
        return str(wells)
    more = f",... ({len(wells)} wells)" if len(wells) > 8 else ""
    return f"{','.join(wells[:8])}{more}"


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
