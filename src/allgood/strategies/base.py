"""The base class of strategies.  Open it to write a strategy of your own in plain Python."""

import copy
from typing import Any

from .._internal.arguments import check_call, nearest, probability
from ..models.base import Model
from ..objectives import Objective
from .state import PythonStrategyState, StrategyState


class Strategy:
    """A rule that chooses the next arm, decides when to stop, and gives the answer.

    Subclass it to write your own in plain Python; it runs in the same loop.  A subclass has an
    attribute ``objective``, and ``delta``, its risk.  It defines

        begin(num_arms, model)    set up the state of one run (optional)
        update(tally)             process the last reward, ``tally.reward`` of arm ``tally.last``
        is_done(tally)            True to stop; called once every arm has been pulled
        next_arm(tally)           the number of the arm to pull next
        answer(tally)             one True or False per arm (optional: by default the arms that
                                  would be good if the averages were the means)

    ``tally`` holds ``pulls``, and the arrays ``counts``, ``means``, ``sums`` and ``scatter``.  Each
    run works on a copy of the strategy, so that the attributes which ``begin`` and ``update`` set
    belong to that run alone.  The loop makes the first pull of each arm and calls ``update`` for
    it.  docs/your-own-strategy.md shows successive elimination in 25 lines.

    A compiled strategy defines ``start`` instead, and none of the above.
    """

    objective: Objective
    delta: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for methods that would never be called, because ``start`` is compiled."""
        super().__init_subclass__(**options)
        own = {"begin", "update", "is_done", "next_arm", "answer"} & vars(cls).keys()
        if own and cls.start is not Strategy.start:
            raise TypeError(
                f"{cls.__name__} must not define {', '.join(sorted(own))}: its base class is "
                "compiled and would never call them.  Subclass Strategy instead."
            )

    @staticmethod
    def check(strategy: object) -> "Strategy":
        """Return the argument ``strategy`` if it can run; otherwise raise TypeError."""
        if isinstance(strategy, type):
            name = strategy.__name__
            raise TypeError(
                f"strategy must be an object, {name}(objective, delta): got the class {name}."
            )
        if not isinstance(strategy, Strategy):
            raise TypeError(
                "strategy must be of a class that is derived from allgood.Strategy: "
                f"got {strategy!r}."
            )
        kind = type(strategy)
        if kind.start is Strategy.start:
            lacking = [
                part for part in ("update", "is_done", "next_arm") if not hasattr(kind, part)
            ]
            if lacking:
                own = set(dir(kind)) - set(dir(Strategy))
                hints = "".join(nearest(part, own) for part in lacking)
                raise TypeError(
                    f"{kind.__name__} must define {', '.join(lacking)} to be a strategy.{hints}"
                )
            for part in ("update", "is_done", "next_arm", "answer"):
                what = f"{kind.__name__}.{part} must take (tally)"
                check_call(what, getattr(strategy, part), None)
            what = f"{kind.__name__}.begin must take (num_arms, model)"
            check_call(what, strategy.begin, 1, None)
        for part, wording in (("objective", "its question"), ("delta", "its risk")):
            if getattr(strategy, part, None) is None:
                raise TypeError(f"{kind.__name__} must have an attribute {part}, {wording}.")
        Objective.check(strategy.objective)
        for risk in strategy.risks:
            probability(f"{kind.__name__}.delta", risk)
        return strategy

    @property
    def proven(self) -> bool:
        """True if a theorem bounds the probability of a wrong answer by delta."""
        return False

    @property
    def risks(self) -> tuple[float, ...]:
        """The risk delta, or several of them, falling."""
        return (self.delta,)

    def begin(self, num_arms: int, model: Model) -> None:
        """Set up the state of one run."""

    def answer(self, tally: Any) -> Any:
        """Return the arms that would be good if the averages were the means."""
        return self.objective.answer(tally.means)

    def start(self, num_arms: int, model: Model) -> StrategyState:
        """Return the state of the strategy in a new run."""
        own = copy.deepcopy(self)
        own.begin(num_arms, model)
        return PythonStrategyState(own, num_arms)

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({inside})"
