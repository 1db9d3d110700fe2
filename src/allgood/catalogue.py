"""Strategies by name, for the command line and for tables of results.

A name is that of an algorithm, with the choice of its threshold or width after a colon:

    track-and-stop:paper   st2:mixture   fareast   uniform
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .objectives import Objective
from .simulation import Strategy
from .strategies._intervals import WIDTHS
from .strategies.fareast import FarEast
from .strategies.st2 import ST2
from .strategies.track_and_stop import NAMES, TrackAndStop
from .strategies.ucb import UCB
from .strategies.uniform import Uniform
from .strategies.weakest_claim import WeakestClaim


@dataclass(frozen=True)
class Entry:
    """An algorithm, and what may follow the colon; the first choice is taken when nothing does."""

    make: Callable[..., Any]
    about: str
    choices: tuple[str, ...]
    option: str
    fixed: tuple[tuple[str, Any], ...] = ()


_THRESHOLDS = ("mixture", *(name for name in NAMES if name != "mixture"))
_MIXTURE = ("mixture", *(name for name in WIDTHS if name != "mixture"))

CATALOGUE: dict[str, Entry] = {
    "weakest-claim": Entry(WeakestClaim, "certify each label, work on the weakest", (), ""),
    "track-and-stop": Entry(TrackAndStop, "track the optimal weights", _THRESHOLDS, "threshold"),
    "track-and-stop-letter": Entry(
        TrackAndStop,
        "the same with the paper's mirror ascent",
        ("paper", *(name for name in NAMES if name != "paper")),
        "threshold",
        (("solver", "mirror-ascent"),),
    ),
    "st2": Entry(ST2, "(ST)^2 of Mason et al.", WIDTHS, "width"),
    "fareast": Entry(FarEast, "FAREAST of Mason et al.", WIDTHS, "width"),
    "east": Entry(FarEast, "its good filter alone", WIDTHS, "width", (("bad_filter", False),)),
    "ucb": Entry(UCB, "the highest upper bound", _MIXTURE, "width"),
    "uniform": Entry(Uniform, "every arm in turn", _MIXTURE, "width"),
}


def strategy_named(name: str, objective: Objective, delta: float | tuple[float, ...]) -> Strategy:
    """The strategy of this name.

    >>> from allgood import Additive
    >>> strategy_named("st2:mixture", Additive(0.9), 0.1)
    ST2(objective=Additive(epsilon=0.9), delta=0.1, width='mixture')
    """
    algorithm, _, choice = name.partition(":")
    if algorithm not in CATALOGUE:
        raise ValueError(f"strategy must be one of {', '.join(CATALOGUE)}: got {name!r}.")
    entry = CATALOGUE[algorithm]
    if not entry.choices:
        if choice:
            raise ValueError(f"strategy {algorithm} must have nothing after its name: got {name!r}.")
        alone: Strategy = entry.make(objective, delta)
        return alone
    choice = choice or entry.choices[0]
    if choice not in entry.choices:
        raise ValueError(
            f"strategy {algorithm} must have one of {', '.join(entry.choices)} after its colon: got {name!r}."
        )
    strategy: Strategy = entry.make(objective, delta, **{entry.option: choice}, **dict(entry.fixed))
    return strategy


def full_name(name: str) -> str:
    """With the choice spelt out: ``st2`` is ``st2:mason``."""
    algorithm, _, choice = name.partition(":")
    choices = CATALOGUE[algorithm].choices
    return f"{algorithm}:{choice or choices[0]}" if choices else algorithm
