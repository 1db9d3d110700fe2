"""Strategies by name, for the command line and for tables of results.

A name is that of an algorithm.  Its threshold or width may follow after a colon:

    track-and-stop:paper   st2:mixture   fareast   uniform

A strategy of your own has the name of its module and, after a colon, its own:

    my_module:Mine
"""

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from .._internal.arguments import check_call, nearest
from ..evidence.thresholds import THRESHOLDS, WIDTHS
from ..objectives import Objective
from ..strategies.base import Strategy
from ..strategies.claim_by_claim import ClaimByClaim
from ..strategies.fareast import FarEast
from ..strategies.st2 import ST2
from ..strategies.track_and_stop import TrackAndStop
from ..strategies.ucb import UCB
from ..strategies.uniform import Uniform


@dataclass(frozen=True)
class Entry:
    """An algorithm, and the choices that may follow the colon.

    The first of ``choices`` is taken if there is no colon.  ``several`` is True if one run can
    serve several risks.
    """

    make: Callable[..., Any]
    option: str = ""
    choices: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Any], ...] = ()
    several: bool = False


def _first(choice: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (choice, *(name for name in names if name != choice))


STRATEGIES: dict[str, Entry] = {
    "claim-by-claim": Entry(ClaimByClaim),
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
    """Return the algorithm, its entry, and the choice, which is empty if the algorithm has none."""
    algorithm, _, choice = name.partition(":")
    if algorithm not in STRATEGIES:
        if choice and all(part.isidentifier() for part in algorithm.split(".")):
            return name, Entry(partial(strategy_from, name, imported(name))), ""
        hint = nearest(algorithm, STRATEGIES)
        if choice and "-" in algorithm:
            hint = hint or " The name of a module has no hyphen."
        raise ValueError(
            f"strategy must be one of {', '.join(STRATEGIES)}, or your own as my_module:Mine: "
            f"got {name!r}.{hint}"
        )
    entry = STRATEGIES[algorithm]
    if choice and not entry.choices:
        raise ValueError(f"strategy {algorithm} must have nothing after its name: got {name!r}.")
    if choice and choice not in entry.choices:
        hint = f" {algorithm} is a strategy of the package: rename your module, if it is meant."
        raise ValueError(
            f"strategy {algorithm} must have one of {', '.join(entry.choices)} after its colon: "
            f"got {name!r}.{nearest(choice, entry.choices) or hint}"
        )
    return algorithm, entry, choice or (entry.choices[0] if entry.choices else "")


def strategy_named(name: str, objective: Objective, delta: float | tuple[float, ...]) -> Strategy:
    """Return the strategy of this name.

    >>> from allgood import Additive
    >>> strategy_named("st2:mixture", Additive(0.9), 0.1)
    ST2(objective=Additive(epsilon=0.9), delta=0.1, width='mixture')
    """
    _, entry, choice = _parsed(name)
    options = dict(entry.fixed) | ({entry.option: choice} if choice else {})
    strategy: Strategy = entry.make(objective, delta, **options)
    return strategy


def strategies_named(name: str, objective: Objective, deltas: tuple[float, ...]) -> list[Strategy]:
    """Return the strategies for these risks: a single one if one run can serve them all."""
    if len(deltas) > 1 and _parsed(name)[1].several:
        return [strategy_named(name, objective, deltas)]
    return [strategy_named(name, objective, delta) for delta in deltas]


def full_name(name: str) -> str:
    """Return the name with the choice written out: ``st2`` is ``st2:mason``."""
    algorithm, _, choice = _parsed(name)
    return f"{algorithm}:{choice}" if choice else algorithm


def imported(name: str) -> Any:
    """Import the object that ``my_module:Mine`` names."""
    home, _, inside = name.partition(":")
    try:
        module = import_module(home)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{home}.".startswith(f"{error.name}."):
            raise ValueError(
                f"strategy {name!r} must name a module that Python finds: there is no {home} in "
                f"{sys.path[0] or str(Path.cwd())!r} or among the installed packages."
                f"{nearest(home, STRATEGIES)}"
            ) from None
        raise ValueError(
            f"strategy {name!r} must name a module that can be imported: {home} cannot. "
            f"{type(error).__name__}: {error}{place_of(error)}."
        ) from error
    if not hasattr(module, inside):
        raise ValueError(
            f"strategy {name!r} must name something in the module {home} "
            f"({getattr(module, '__file__', 'without a file')}): there is no {inside}."
            f"{nearest(inside, vars(module))}"
        )
    return getattr(module, inside)


def place_of(error: BaseException) -> str:
    """Return the last line of a user's code that was reached before an error."""
    if isinstance(error, SyntaxError):
        return ""  # the message holds it
    lines = [
        (line, frame.f_code)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _package_of(frame) not in ("allgood", "importlib")
    ]
    if not lines:
        return ""
    line, code = lines[-1]
    inside = "" if code.co_name == "<module>" else f", in {code.co_name}"
    return f" (line {line} of {code.co_filename}{inside})"


def _package_of(frame: FrameType) -> str:
    """Return the package of a frame; a frame of compiled code has it in its name only."""
    where: str = frame.f_globals.get("__name__") or frame.f_code.co_name
    return where.partition(".")[0]


def strategy_from(name: str, candidate: Any, objective: Objective, delta: Any) -> Strategy:
    """Return the strategy itself, or make it from this class or function; check what it is for."""
    strategy = candidate
    if isinstance(candidate, type) or not isinstance(candidate, Strategy):
        if not callable(candidate):
            raise TypeError(
                f"strategy {name} must be a name, a Strategy, or a class or function that makes "
                f"one from an objective and a delta: got {candidate!r}."
            )
        what = f"strategy {name} must be made from two arguments, an objective and a delta"
        check_call(what, candidate, objective, delta)
        strategy = candidate(objective, delta)
    Strategy.check(strategy)
    risks = delta if isinstance(delta, tuple) else (delta,)
    if strategy.objective != objective or strategy.risks != risks:
        raise ValueError(
            f"strategy {name} must have the objective {objective} and the risk {_wording(risks)} "
            f"here: got {strategy.objective} and {_wording(strategy.risks)}."
        )
    checked: Strategy = strategy
    return checked


def _wording(risks: tuple[float, ...]) -> str:
    return ", ".join(f"{risk:g}" for risk in risks)
