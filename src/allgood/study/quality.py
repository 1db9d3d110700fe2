# cython: annotation_typing=False
"""Which of the values that were told count, and in which order.

**Order.**  The guarantee needs an order of the values that does not depend on them.  Where a value
is a waiting time, the short ones are told first.  So a study that hears ``in_order`` hears values
in the order of their tickets: a value waits until every earlier ticket has its value or has failed,
or its arm has left the question.

    Why that is enough.  Let F_i be what the tickets 1 to i give.  Ticket i + 1 is written after
    these.  All that anybody knew at that moment is about the tickets 1 to i.  So its arm is settled
    by F_i, and its value is a fresh reward of that arm.  The states that the study looks at are
    those after 1, 2, 3, ... tickets, which is what the theorem is about (``evidence/claims.py``).

**Suspect values.**  A value is suspect if it cannot be, as far as the other values of its arm go.
It is kept and does not count, until somebody confirms it or gives the right value.  Let x be the
j-th value of its arm, j >= 2.  It is suspect if, under the model, a value at least as far from
those before has a chance below

    a / (K j (j - 1)),        a = SHARE delta,

by the bound ``log_chance`` of the model, which holds whatever the true mean is.

    What that costs.  The sum over j of 1/(j (j - 1)) is 1, so that the chance that any true value
    is ever suspect is at most a.  Otherwise the study goes on as if nothing were ever suspect, and
    then it is wrong with probability at most (1 - SHARE) delta, with which its needs are computed.

Of two values that exclude each other, the only ones of their arm, either may be wrong.  The one
that is farther from the middle of the other arms is suspect.  If a third agrees with one of them,
these two count.  (This is a convention.  True values do not come here, but with the chance above.)

**Odd values.**  No label rests on a single value.  A value that hardly fits the others of its arm
is *odd*, and so is the only value of an arm.  A label must have its evidence with the odd value and
without it (``evidence/certify.py``).  Where two arms are compared and both have an odd value, it
must have its evidence whichever of these are left out.

The pool may only show that an arm is bad, so that a value in it does harm only if it is too large.
A label must have its evidence with the largest value of the pool and without it.  If one value of
the pool is wrong, then either it is the one that is left out, or a right value is larger still.

All of this only keeps labels open, so it costs nothing of delta.
"""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..models.base import Model

SHARE = 0.001  # of delta: the chance that a true value is ever suspect
INFLUENTIAL = (
    0.01  # a value is odd if its chance, times the number of values of its arm, is below this
)
INFLUENTIAL_TIME = 0.5  # the same for waiting times: long ones are honest, and weigh most


class Value(Protocol):
    """A ticket that has a value, as far as it matters here."""

    number: int
    arm: int
    pooled: bool
    value: float | None
    n: int
    scatter: float
    censored: bool


class ProcessedValue(NamedTuple):
    """A value that counts.

    Attributes:
        number, arm, value: its ticket, arm and reward; or the sum of n rewards.
        n, scatter: the number of rewards, 0 for a time that was waited in vain; and their scatter.
        joins: whether it joins the pool.
        odd: the odd value of the arm from then on; nan if there is none.
        time: of the event that let it count.
    """

    number: int
    arm: int
    value: float
    pooled: bool
    influential: float
    time: float
    n: int = 1
    scatter: float = 0.0

    @property
    def censored(self) -> bool:
        """Whether it is a time that was waited in vain."""
        return self.n == 0


@dataclass(frozen=True)
class Suspect:
    """A value that does not count because it cannot be.

    Attributes:
        number, arm, value: its ticket, arm and value; of many rewards, their mean.
        others: the values of its arm that it was compared with: how many, and their mean.
        log_chance: the log of a bound on its chance under the model.
        time: when it was told.
    """

    number: int
    arm: int
    value: float
    others: tuple[int, float]
    log_chance: float
    time: float


class ArmValues:
    """The values of one arm that count.

    Attributes:
        slots: their places among all that count.
        first: the first of them.
        n, S: the number of rewards, and their sum with the times that were waited in vain.
        m, Q: mean and scatter.
        low, high: the least and the largest value that was not confirmed.
        waited: the time that was waited in vain.
        held: tickets that are suspect.
    """

    def __init__(self, slots: Iterable[int] = ()) -> None:
        self.slots = array("q", slots)
        self.first: Value | None = None
        self.n = 0
        self.S = self.m = self.Q = self.waited = 0.0
        self.low, self.high = math.inf, -math.inf
        self.held: list[int] = []

    def fork(self) -> "ArmValues":
        """Return a copy that may go on by itself."""
        other = ArmValues(self.slots)
        other.first, other.n, other.held = self.first, self.n, list(self.held)
        other.S, other.m, other.Q, other.waited = self.S, self.m, self.Q, self.waited
        other.low, other.high = self.low, self.high
        return other

    def add(self, x: float, confirmed: bool) -> None:
        step = x - self.m
        self.n += 1
        self.S += x
        # Without S, so that Q is 0 where all rewards are equal: S/n may differ in its last digit.
        self.m = self.S / self.n if self.waited > 0.0 else self.m + step / self.n
        self.Q += step * (x - self.m)
        if not confirmed:
            self.low, self.high = min(self.low, x), max(self.high, x)

    def add_many(self, n: int, total: float, scatter: float) -> None:
        step = total / n - self.m
        self.Q += scatter + step * step * self.n * n / (self.n + n)
        self.n += n
        self.S += total
        self.m = self.S / self.n

    def wait(self, time: float) -> None:
        self.S += time
        self.waited += time
        if self.n:
            self.m = self.S / self.n


class QualityControl:
    """The values that count, those that are suspect, and those that wait for others.

    Attributes:
        heard: values that count, in the order in which they do.
        suspects: values that do not, by ticket.
        waiting: tickets that are settled and wait for earlier ones: each with its value, or None
            if it has failed.
        sure: tickets whose values were confirmed.
        replaced: how often a value took the place of another, so that ``heard`` has changed
            before its end.
    """

    def __init__(
        self, model: Model, num_arms: int, delta: float, in_order: bool, check_values: bool
    ) -> None:
        self.model = model
        self.in_order, self.check_values = in_order, check_values
        self.processed: list[ProcessedValue] = []
        self.suspects: dict[int, Suspect] = {}
        self.waiting: dict[int, Value | None] = {}
        self.confirmed: set[int] = set()
        self.replaced = 0
        self._log_level = math.log(SHARE * delta / max(num_arms, 1))
        self._held: dict[int, Value] = {}  # all that were ever suspect
        self._arms = [ArmValues() for _ in range(num_arms)]
        self._next = 1  # the first ticket that is not settled, where values are heard in order

    def fork(self) -> "QualityControl":
        """Return a copy that may go on by itself."""
        other = QualityControl(self.model, 0, 0.5, self.in_order, self.check_values)
        other.processed, other.suspects = list(self.processed), dict(self.suspects)
        other.waiting, other.confirmed = dict(self.waiting), set(self.confirmed)
        other.replaced, other._log_level = self.replaced, self._log_level
        other._held, other._next = dict(self._held), self._next
        other._arms = [arm.fork() for arm in self._arms]
        return other

    def tell(self, value: Value, time: float) -> None:
        """A ticket has its value."""
        self._settle(value.number, value, time)

    def fail(self, number: int, time: float) -> None:
        """A ticket will have no value."""
        self._settle(number, None, time)

    def confirm(self, value: Value, time: float) -> None:
        """A value counts, whatever the others are.

        It may count already, if one of the others was corrected after it was confirmed.
        """
        arm = self._arms[value.arm]
        self.confirmed.add(value.number)
        if self.suspects.pop(value.number, None) is not None:
            arm.held.remove(value.number)
            self._count(value, time)
        else:
            counted = (self.processed[i] for i in arm.slots)
            unsure = [
                one.value for one in counted if one.n == 1 and one.number not in self.confirmed
            ]
            arm.low, arm.high = min(unsure, default=math.inf), max(unsure, default=-math.inf)

    def held_back(self) -> list[ProcessedValue]:
        """The suspect values, as if they had counted when they were told; no sums of many."""
        return [
            ProcessedValue(one.number, one.arm, one.value, False, math.nan, one.time)
            for one in self.suspects.values()
            if self._held[one.number].n == 1
        ]

    def told_and_waiting(self) -> list[int]:
        """Tickets whose values wait for earlier tickets."""
        return sorted(number for number, value in self.waiting.items() if value is not None)

    def blocking(self) -> int | None:
        """The first ticket for which values wait; None if none do."""
        return self._next if self.told_and_waiting() else None

    def _settle(self, number: int, value: Value | None, time: float) -> None:
        if not self.in_order:
            if value is not None:
                self._process(value, time)
            return
        if number < self._next:
            return  # settled before: its arm has left the question
        self.waiting[number] = value
        while self._next in self.waiting:
            settled = self.waiting.pop(self._next)
            self._next += 1
            if settled is not None:
                self._process(settled, time)

    def _process(self, value: Value, time: float) -> None:
        """Count a value, or hold it back."""
        arm, x = self._arms[value.arm], value.value
        assert x is not None
        if not self.check_values or value.censored or arm.n == 0:
            self._count(value, time)
            return
        chance = self._log_chance(value.arm, x / value.n, value.n)
        if chance >= self._level(arm):
            self._count(value, time)
        elif arm.n == value.n == 1:
            self._choose(value, chance, time)
        else:
            self._hold(value, (arm.n, arm.m), chance, time)

    def _level(self, arm: ArmValues) -> float:
        """The log of the chance below which the next value of an arm is suspect."""
        j = len(arm.slots) + len(arm.held) + 1
        return self._log_level - math.log(j * (j - 1))

    def _log_chance(self, a: int, x: float, k: int) -> float:
        arm = self._arms[a]
        if arm.waited > 0.0 and x < arm.m:
            return 0.0  # times waited in vain make the mean too large for this side
        return float(self.model.log_chance(x, arm.n, arm.m, arm.Q, a, k))

    def _count(self, value: Value, time: float) -> None:
        arm, x = self._arms[value.arm], value.value
        assert x is not None
        n = 0 if value.censored else value.n
        if n == 0:
            arm.wait(x)
        elif n == 1:
            arm.add(x, value.number in self.confirmed)
        else:
            arm.add_many(n, x, value.scatter)
        if n > 0:
            if not arm.slots:
                arm.first = value
            arm.slots.append(len(self.processed))
        influential = self._influential(value.arm)
        # One nan for all values: equal lists must be equal, and it takes no memory.
        kept = math.nan if math.isnan(influential) else influential
        entry = (value.number, value.arm, x, value.pooled, kept, time, n, value.scatter)
        self.processed.append(ProcessedValue(*entry))

    def _influential(self, a: int) -> float:
        """The odd value of an arm; nan if there is none."""
        arm = self._arms[a]
        if not self.check_values or arm.n == 0:
            return math.nan
        if arm.n == 1:
            return arm.S - arm.waited
        limit = INFLUENTIAL_TIME if self.model.takes_time else INFLUENTIAL
        found, least = math.nan, math.log(limit / arm.n)
        for x in (arm.low, arm.high):
            if not math.isfinite(x):
                continue
            n = arm.n - 1
            m = (arm.S - x) / n
            Q = max(arm.Q - (x - arm.m) * (x - m), 0.0)
            chance = self.model.log_chance(x, n, m, Q, a)
            if chance < least:
                found, least = x, chance
        return found

    def _hold(self, value: Value, others: tuple[int, float], chance: float, time: float) -> None:
        """Keep a value that does not count."""
        assert value.value is not None
        self._arms[value.arm].held.append(value.number)
        self._held[value.number] = value
        self.suspects[value.number] = Suspect(
            value.number, value.arm, value.value / value.n, others, chance, time
        )

    def _choose(self, value: Value, chance: float, time: float) -> None:
        """Of the only value of an arm and one that excludes it: which counts."""
        arm, x = self._arms[value.arm], value.value
        assert x is not None
        first = arm.first
        assert first is not None
        assert first.value is not None
        level = self._level(arm)
        friends = [
            self._held[number]
            for number in arm.held
            if self._held[number].n == 1
            and self.model.log_chance(x, 1, self.suspects[number].value, 0.0, value.arm) >= level
        ]
        if first.number in self.confirmed or not (
            friends or self._is_nearer(value.arm, x, first.value)
        ):
            self._hold(value, (1, arm.m), chance, time)
        elif friends:
            self._replace(first, friends[0], (1, x), chance)
            self._count(value, time)
        else:
            self._replace(first, value, (1, x), chance)

    def _replace(
        self, first: Value, other: Value, others: tuple[int, float], chance: float
    ) -> None:
        """Let another value take the place of the only one that its arm has."""
        before = self._arms[first.arm]
        slot = before.slots[0]
        arm = self._arms[first.arm] = ArmValues([slot])
        arm.first = other
        arm.held = [number for number in before.held if number != other.number]
        self.suspects.pop(other.number, None)
        if before.waited > 0.0:
            arm.wait(before.waited)
        assert other.value is not None
        arm.add(other.value, confirmed=False)
        entry = self.processed[slot]
        self._hold(first, others, chance, entry.time)
        self.processed[slot] = entry._replace(
            number=other.number, value=other.value, pooled=other.pooled, influential=other.value
        )
        self.replaced += 1

    def _is_nearer(self, a: int, x: float, y: float) -> bool:
        """Whether x is nearer than y to the middle of the other arms."""
        means = [arm.m for b, arm in enumerate(self._arms) if b != a and arm.n > 0]
        if not means:
            return False
        middle = float(np.median(means))
        return abs(x - middle) < abs(y - middle)


def chance_in_words(log_chance: float) -> str:
    """A small chance, as "less than 1 in 100,000"."""
    power = min(math.floor(-log_chance / math.log(10.0)), 12)
    return f"less than 1 in {10**power:,}"
