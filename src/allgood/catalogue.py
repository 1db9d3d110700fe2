"""Strategies by name, for the command line and for tables of results.

A name is that of an algorithm.  Its threshold or width may follow after a colon:

    track-and-stop:paper   st2:mixture   fareast   uniform
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .objectives import Objective
from .strategies.base import Strategy
from .strategies.fareast import FarEast
from .strategies.st2 import ST2
from .strategies.track_and_stop import TrackAndStop
from .strategies.ucb import UCB
from .strategies.uniform import Uniform
from .strategies.weakest_claim import WeakestClaim
from .thresholds import THRESHOLDS, WIDTHS


@dataclass(frozen=True)
class Entry:
    """An algorithm, and what may follow the colon.

    The first of ``choices`` is taken if there is no colon.  ``several`` says whether one run can
    serve several risks.
    """

    make: Callable[..., Any]
    option: str = ""
    choices: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()
    several: bool = False


def _first(choice: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (choice, *(name for name in names if name != choice))


CATALOGUE: dict[str, Entry] = {
    "weakest-claim": Entry(WeakestClaim),
    "track-and-stop": Entry(TrackAndStop, "threshold", _first("mixture", THRESHOLDS), several=True),
    "track-and-stop-letter": Entry(
        TrackAndStop,
        "threshold",
        _first("paper", THRESHOLDS),
        (("solver", "mirror-ascent"),),
        several=True,
    ),
    "st2": Entry(ST2, "width", WIDTHS),
    "fareast": Entry(FarEast, "width", WIDTHS),
    "east": Entry(FarEast, "width", WIDTHS, (("bad_filter", False),)),
    "ucb": Entry(UCB, "width", _first("mixture", WIDTHS)),
    "uniform": Entry(Uniform, "width", _first("mixture", WIDTHS)),
}


def _parsed(name: str) -> tuple[str, Entry, str]:
    """The algorithm, its entry, and the choice; the choice is empty if the algorithm has none."""
    algorithm, _, choice = name.partition(":")
    if algorithm not in CATALOGUE:
        raise ValueError(f"strategy must be one of {', '.join(CATALOGUE)}: got {name!r}.")
    entry = CATALOGUE[algorithm]
    if choice and not entry.choices:
        raise ValueError(f"strategy {algorithm} must have nothing after its name: got {name!r}.")
    if choice and choice not in entry.choices:
        raise ValueError(
            f"strategy {algorithm} must have one of {', '.join(entry.choices)} after its colon: "
            f"got {name!r}."
        )
    return algorithm, entry, choice or (entry.choices[0] if entry.choices else "")


def strategy_named(name: str, objective: Objective, delta: float | tuple[float, ...]) -> Strategy:
    """The strategy of this name.

    >>> from allgood import Additive
    >>> strategy_named("st2:mixture", Additive(0.9), 0.1)
    ST2(objective=Additive(epsilon=0.9), delta=0.1, width='mixture')
    """
    _, entry, choice = _parsed(name)
    options = dict(entry.fixed) | ({entry.option: choice} if choice else {})
    strategy: Strategy = entry.make(objective, delta, **options)
    return strategy


def strategies_named(name: str, objective: Objective, deltas: tuple[float, ...]) -> list[Strategy]:
    """The strategies for these risks: a single one if one run can serve them all."""
    if len(deltas) > 1 and _parsed(name)[1].several:
        return [strategy_named(name, objective, deltas)]
    return [strategy_named(name, objective, delta) for delta in deltas]


def full_name(name: str) -> str:
    """The name with the choice written out: ``st2`` is ``st2:mason``."""
    algorithm, _, choice = _parsed(name)
    return f"{algorithm}:{choice}" if choice else algorithm
