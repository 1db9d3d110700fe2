# cython: annotation_typing=False
"""Decide which reported values count, and in which order they are processed.

Values are processed in the order of their tickets if the study asks for that.  A *suspect* value,
which is impossible as far as the other values of its arm go, is held back until somebody confirms
or corrects it.  A label must have its evidence also without the *influential* value of an arm.
docs/study-proofs.md shows what this costs of delta.
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
    0.01  # a value is influential if its chance, times the number of values, is below this
)
INFLUENTIAL_TIME = 0.5  # the same for waiting times: long ones are honest, and weigh most


class Value(Protocol):
    """The parts of a ticket with a value that matter here."""

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
        n, scatter: the number of rewards, 0 for a censored time; and their scatter.
        pooled: whether it goes into the pool.
        influential: the influential value of the arm from then on; nan if there is none.
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
        """True for a censored time."""
        return self.n == 0


@dataclass(frozen=True)
class Suspect:
    """A value that does not count because it is impossible under the model.

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
        n, S: the number of rewards, and their sum with the censored times.
        m, Q: mean and scatter.
        low, high: the least and the largest value that was not confirmed.
        waited: the sum of the censored times.
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
        processed: values that count, in the order in which they do.
        suspects: values that do not, by ticket.
        waiting: tickets that are settled and wait for earlier ones: each with its value, or None
            if it has failed.
        confirmed: tickets whose values were confirmed.
        replaced: how often a value took the place of another, so that ``processed`` has changed
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
        self._next = 1  # the first ticket that is not settled, if values are processed in order

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
        """Process the value of a ticket, or let it wait."""
        self._settle(value.number, value, time)

    def fail(self, number: int, time: float) -> None:
        """Note that a ticket will have no value."""
        self._settle(number, None, time)

    def confirm(self, value: Value, time: float) -> None:
        """Let a value count, whatever the others are.

        It may count already, if one of the others was corrected after it was confirmed.
        """
        arm = self._arms[value.arm]
        self.confirmed.add(value.number)
        if self.suspects.pop(value.number, None) is not None:
            arm.held.remove(value.number)
            self._count(value, time)
        else:
            counted = (self.processed[i] for i in arm.slots)
            values = [
                entry.value
                for entry in counted
                if entry.n == 1 and entry.number not in self.confirmed
            ]
            arm.low, arm.high = min(values, default=math.inf), max(values, default=-math.inf)

    def held_back(self) -> list[ProcessedValue]:
        """Return the single suspect values, as if they had counted when they were told."""
        return [
            ProcessedValue(held.number, held.arm, held.value, False, math.nan, held.time)
            for held in self.suspects.values()
            if self._held[held.number].n == 1
        ]

    def told_and_waiting(self) -> list[int]:
        """Return the tickets whose values wait for earlier tickets."""
        return sorted(number for number, value in self.waiting.items() if value is not None)

    def blocking(self) -> int | None:
        """Return the first ticket for which values wait; None if none do."""
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
        """Return the log of the chance below which the next value of an arm is suspect."""
        j = len(arm.slots) + len(arm.held) + 1
        return self._log_level - math.log(j * (j - 1))

    def _log_chance(self, a: int, x: float, k: int) -> float:
        arm = self._arms[a]
        if arm.waited > 0.0 and x < arm.m:
            return 0.0  # censored times make the mean too large for this side
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
        """Return the influential value of an arm; nan if there is none."""
        arm = self._arms[a]
        if not self.check_values or arm.n == 0:
            return math.nan
        if arm.n == 1:
            return arm.S - arm.waited
        limit = INFLUENTIAL_TIME if self.model.takes_time else INFLUENTIAL
        influential, least = math.nan, math.log(limit / arm.n)
        for x in (arm.low, arm.high):
            if not math.isfinite(x):
                continue
            n = arm.n - 1
            m = (arm.S - x) / n
            Q = max(arm.Q - (x - arm.m) * (x - m), 0.0)
            chance = self.model.log_chance(x, n, m, Q, a)
            if chance < least:
                influential, least = x, chance
        return influential

    def _hold(self, value: Value, others: tuple[int, float], chance: float, time: float) -> None:
        """Keep a value that does not count."""
        assert value.value is not None
        self._arms[value.arm].held.append(value.number)
        self._held[value.number] = value
        self.suspects[value.number] = Suspect(
            value.number, value.arm, value.value / value.n, others, chance, time
        )

    def _choose(self, value: Value, chance: float, time: float) -> None:
        """Choose between the only value of an arm and one that excludes it."""
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
        """Return whether x is nearer than y to the middle of the other arms."""
        means = [arm.m for b, arm in enumerate(self._arms) if b != a and arm.n > 0]
        if not means:
            return False
        middle = float(np.median(means))
        return abs(x - middle) < abs(y - middle)


def chance_in_words(log_chance: float) -> str:
    """Return a small chance in words, such as "less than 1 in 100,000"."""
    power = min(math.floor(-log_chance / math.log(10.0)), 12)
    return f"less than 1 in {10**power:,}"
