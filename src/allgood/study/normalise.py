"""Normalise the values of a plate by its controls.

    percent   100 x / mean(C)                               C one control
              100 (x - mean(A)) / (mean(B) - mean(A))       A and B two controls
    z         (x - mean(C)) / s(C)                          s the standard deviation of C's wells

This takes out what shifts or scales a whole plate.  It is an option of the study, fixed when the
study is created, so that every plate has it.  It is done before a value counts, and the log keeps
the raw value beside the normalised one.  **What it costs:** the values of a plate share the
error of its controls' means, so that they are not independent; the guarantee assumes that they are.
With many control wells that error is small.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._internal.arguments import ArgumentError, ArgumentTypeError

WAYS = ("percent", "z")


@dataclass(frozen=True)
class Normaliser:
    """A way to normalise, and the names of controls; without names, the only control."""

    way: str
    controls: tuple[str, ...] = ()

    @staticmethod
    def named(text: str) -> "Normaliser":
        """Parse a text: percent, z, percent:DMSO, z:DMSO or percent:LOW,HIGH.

        ``controls`` is another word for percent.
        """
        if not isinstance(text, str):
            raise ArgumentTypeError(
                f"normalise must be text, such as percent:DMSO: got {text!r}.", argument="normalise"
            )
        way, _, names = text.partition(":")
        way = "percent" if way == "controls" else way
        controls = tuple(name.strip() for name in names.split(",")) if names else ()
        most = 2 if way == "percent" else 1
        if way not in WAYS or len(controls) > most or "" in controls:
            raise ArgumentError(
                "normalise must be percent or z, with a colon and the name of a control if a plate "
                f"has several (percent may have two, LOW,HIGH): got {text!r}.",
                argument="normalise",
            )
        return Normaliser(way, controls)

    @property
    def text(self) -> str:
        """Return the text that names it, without blanks: percent:LOW,HIGH."""
        return f"{self.way}:{','.join(self.controls)}" if self.controls else self.way

    def is_way(self, how: object) -> bool:
        """Return whether an event says that its value was normalised in this way."""
        if not isinstance(how, dict) or how.keys() != {"way", "controls"}:
            return False
        names = how["controls"]
        named = list(self.controls) == names if self.controls else len(names) == 1
        return bool(how["way"] == self.way and named)

    def why_not(self, placed: Iterable[str]) -> str:
        """Return why a plate with these controls cannot be normalised; empty if it can be."""
        wells = Counter(placed)
        if not self.controls and len(wells) != 1:
            return f"{self.way} without a name needs a plate with one control, not {len(wells)}"
        least = 2 if self.way == "z" else 1
        for name in self.controls or wells:
            if wells[name] < least:
                return f"it needs {least} or more wells of control {name!r}, not {wells[name]}"
        return ""

    def apply(self, x: float, values: Mapping[str, Sequence[float]]) -> float:
        """Normalise a value; ``values`` holds those of each control on the plate.

        Raises:
            ValueError: if the controls do not allow it; the end of a sentence.
        """
        import statistics

        names = self.names_among(values)
        for name in names:
            if not values.get(name):
                raise ValueError(f"control {name!r} has no value on this plate")
        means = [statistics.fmean(values[name]) for name in names]
        if self.way == "z":
            if len(values[names[0]]) < 2:
                raise ValueError(f"control {names[0]!r} needs two wells with values for z")
            unit, zero = statistics.stdev(values[names[0]]), means[0]
        elif len(names) == 2:
            unit, zero = (means[1] - means[0]) / 100.0, means[0]
        else:
            unit, zero = means[0] / 100.0, 0.0
        if unit == 0.0:
            raise ValueError(f"the controls {' and '.join(names)} give a unit of zero")
        normalised = (x - zero) / unit
        if not math.isfinite(normalised):
            raise ValueError("the controls give no finite value")
        return normalised + 0.0

    def normalised(
        self, x: float, values: Mapping[str, Sequence[float]]
    ) -> tuple[float, dict[str, Any]]:
        """Return :meth:`apply`, and what an event says about it."""
        names = list(self.names_among(values))
        how = {"raw": x, "normalised": {"way": self.way, "controls": names}}
        return self.apply(x, values), how

    def names_among(self, values: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
        """Return the names of the controls to use."""
        if self.controls:
            return self.controls
        if len(values) != 1:
            raise ValueError(
                f"the plate has {len(values)} controls with values: name one, such as "
                f"{self.way}:{next(iter(values), 'DMSO')}"
            )
        return tuple(values)
