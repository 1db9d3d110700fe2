"""What a study knows and what it asks for, without the book-keeping: rewards in, arms out.

The strategy's own kernels do the work.  A run asks for one reward at a time.  A study may ask for
many at once, and hear of them late, in another order, or never.  So

- Rewards are taken in as they come, whichever arm the strategy would have pulled next.  The
  evidence holds whatever chooses the arms (``evidence.py``).  Whether a reward joins the pool is
  decided when it is asked for, and is stored with its ticket.
- Nothing is taken in before every arm has a reward.  Then the first reward of each arm is taken in,
  in the order of the arms, as in a run.
- To choose many arms, the strategy goes on from a copy of its state, as if each arm that is pending
  or chosen had given its current mean.  If that ends the study before there are enough arms, it
  starts again from what is known, so that the rest is spread in the same proportions.
- An arm that may not be measured again is skipped: it, too, is imagined to give its current mean.

With one reward at a time, arms, labels and stop are those of ``run``.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._check import Vector
from .._jit import jit
from ..evidence import BAD, GOOD, OPEN, Claims
from ..models import Gaussian, Model
from ..parts import is_done, new_tally, next_arm, record, update
from ..strategies.weakest_claim import WeakestClaim, joins, settle

Integers = npt.NDArray[np.int64]
Labels = npt.NDArray[np.bool_]

Label = Literal["good", "bad", "open"]
LABEL_NAMES: dict[int, Label] = {OPEN: "open", GOOD: "good", BAD: "bad"}

SKIPPED = 100_000  # limit on imagined pulls of closed arms per choice


@jit
def take(spec, state, tally, arms, rewards, joining, start, labels, passed):
    """Take in rewards from number ``start`` on, until a claim advances.  Returns how many."""
    for i in range(start, arms.size):
        record(tally, arms[i], rewards[i])
        settle(spec, state, tally, joining[i])
        update(spec, state, tally)
        for a in range(labels.size):
            if state.labels[a] != labels[a] or state.passed[a] != passed[a]:
                return i + 1
    return arms.size


@jit
def suppose(spec, state, tally, arm, joining):
    """Go on as if the arm had given its current mean.  The variance of its rewards stays."""
    Q, N = tally.scatter[arm], tally.counts[arm]
    record(tally, arm, tally.means[arm])
    tally.scatter[arm] = Q * (N + 1) / N
    settle(spec, state, tally, joining)
    update(spec, state, tally)


@jit
def suppose_all(spec, state, tally, arms, joining):
    for i in range(arms.size):
        suppose(spec, state, tally, arms[i], joining[i])


@jit
def fill(spec, state, tally, closed, limit, arms, joining):
    """Choose arms until there are enough or nothing is left to do.  Returns how many."""
    n, over = 0, 0
    while n < arms.size and over < limit and not is_done(spec, state, tally):
        arm, joined = next_arm(spec, state, tally), joins(spec, state)
        if closed[arm]:
            over += 1
        else:
            arms[n], joining[n] = arm, joined
            n += 1
        suppose(spec, state, tally, arm, joined)
    return n


@dataclass(frozen=True, eq=False)
class Moment:
    """What was known when claims advanced: the state after ``pulls`` rewards.

    Arms are numbered within the question.  ``good`` holds (k, first, last): k was shown to be good
    against its rivals from ``first`` up to, but not including, ``last``.  ``certified`` holds the
    arms that were certified at this moment.
    """

    pulls: int
    counts: Integers
    sums: Vector
    scatter: Vector
    pool: Vector
    labels: Integers
    good: tuple[tuple[int, int, int], ...]
    certified: tuple[int, ...]


class Engine:
    """A strategy that is told rewards in any order.

    Attributes:
        counts, sums: number and sum of the rewards heard of, by arm.
        withdrawn: arms closed before their first reward; they have left the question.
        closed: arms that may not be measured again.
        arms: the arms of the question, once it has started.
        moments: when claims advanced.
    """

    def __init__(self, strategy: WeakestClaim, model: Model, num_arms: int) -> None:
        self.strategy, self.model = strategy, model
        self.counts: Integers = np.zeros(num_arms, np.int64)
        self.sums: Vector = np.zeros(num_arms)
        self.closed: Labels = np.zeros(num_arms, np.bool_)
        self.withdrawn: Labels = np.zeros(num_arms, np.bool_)
        self.arms: Integers = np.arange(num_arms)
        self.moments: list[Moment] = []
        self._waiting: list[tuple[int, float, bool]] = []
        self._run: tuple[Any, Any, Any] | None = None  # spec, state and tally
        strategy.start(num_arms, model)  # called now, so that an unsupported model fails early

    def has_started(self) -> bool:
        """Take in what was heard.  Returns whether every arm of the question has a reward."""
        self._take_in()
        return self._run is not None

    def is_done(self) -> bool:
        """Take in what was heard.  Returns whether every label is certified."""
        return self.has_started() and bool(self._running[1].done[0])

    @property
    def _running(self) -> tuple[Any, Any, Any]:
        assert self._run is not None
        return self._run

    @property
    def tally(self) -> Any:
        """Counts, sums, means and scatter of the arms of the question, once it has started."""
        return self._running[2]

    @property
    def spec(self) -> Any:
        return self._running[0]

    @property
    def labels(self) -> Integers:
        """OPEN, GOOD or BAD for each arm of the question."""
        labels: Integers = self._running[1].labels
        return labels

    def label_names(self) -> list[Label]:
        """The label of every arm, withdrawn or not."""
        names: list[Label] = ["open"] * self.counts.size
        if self.has_started():
            for arm, label in zip(self.arms, self.labels, strict=True):
                names[arm] = LABEL_NAMES[label]
        return names

    @property
    def certified_at(self) -> Integers:
        certified_at: Integers = self._running[1].certified_at
        return certified_at

    def question_model(self) -> Model:
        """The model of the arms that are in the question."""
        if isinstance(self.model, Gaussian) and isinstance(self.model.sigma, tuple):
            return Gaussian([self.model.sigma[a] for a in self.arms])
        return self.model

    def close(self, arm: int, withdrawn: bool) -> None:
        """Never choose this arm again.  If it is withdrawn, it leaves the question as well."""
        self.closed[arm] = True
        self.withdrawn[arm] = withdrawn

    def hear(self, arm: int, reward: float, joining: bool) -> None:
        """Note a reward of an arm of the question.  It is taken in when the engine is asked."""
        self.counts[arm] += 1
        self.sums[arm] += reward
        self._waiting.append((arm, reward, joining))

    def _take_in(self) -> None:
        """Take in what has been heard of, if every arm of the question has a reward."""
        if not self._waiting or (self.counts[~self.withdrawn] == 0).any():
            return
        if self._run is None:
            self.arms = np.flatnonzero(~self.withdrawn)
            spec, state = self.strategy.start(
                self.arms.size, self.question_model(), self.counts.size
            )
            self._run = spec, state, new_tally(self.arms.size)
            first = {arm: i for i, (arm, _, _) in reversed(list(enumerate(self._waiting)))}
            order = sorted(first.values(), key=lambda i: self._waiting[i][0])
            rest = [i for i in range(len(self._waiting)) if first[self._waiting[i][0]] != i]
            self._waiting = [self._waiting[i] for i in order + rest]
        spec, state, tally = self._run
        names, rewards, joining = zip(*self._waiting, strict=True)
        arms = np.searchsorted(self.arms, np.array(names))
        self._waiting = []
        values, marks = np.array(rewards, np.float64), np.array(joining, np.bool_)
        n = 0
        while n < arms.size:
            labels, passed = state.labels.copy(), state.passed.copy()
            n = take(spec, state, tally, arms, values, marks, n, labels, passed)
            steps = np.flatnonzero(state.passed > passed)
            certified = np.flatnonzero(state.labels != labels)
            if steps.size or certified.size:
                self.moments.append(
                    Moment(
                        pulls=int(tally.pulls[0]),
                        counts=tally.counts.copy(),
                        sums=tally.sums.copy(),
                        scatter=tally.scatter.copy(),
                        pool=state.pool.copy(),
                        labels=state.labels.copy(),
                        good=tuple((int(k), int(passed[k]), int(state.passed[k])) for k in steps),
                        certified=tuple(certified.tolist()),
                    )
                )

    def choose(self, n: int, pending: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
        """The next n arms to measure, each with whether its reward joins the pool.

        ``pending`` holds the same for the measurements that were asked for and not heard of.
        """
        if self.is_done() or self.closed.all():
            return []
        asked = np.array([arm for arm, _ in pending], np.int64)
        marks = np.array([joined for _, joined in pending], np.bool_)
        if not self.has_started():
            held = self.counts + np.bincount(asked, minlength=self.counts.size)
            chosen = []
            for _ in range(n):
                arm = int(np.where(self.closed, np.iinfo(np.int64).max, held).argmin())
                held[arm] += 1
                chosen.append((arm, False))
            return chosen
        arms, joining = np.zeros(n, np.int64), np.zeros(n, np.bool_)
        closed, filled = self.closed[self.arms], 0
        pending_arms = np.searchsorted(self.arms, asked)
        while filled < n:
            spec, state, tally = self.copy()
            suppose_all(spec, state, tally, pending_arms, marks)
            new = fill(spec, state, tally, closed, SKIPPED, arms[filled:], joining[filled:])
            filled += new
            if new == 0 and pending_arms.size:
                # What is pending might be enough.  Go on as if it did not come.
                pending_arms, marks = pending_arms[:0], marks[:0]
            elif new == 0:
                # Only closed arms would help.  Take the least measured of the others.
                open_arms = np.flatnonzero(~closed & (self.labels == OPEN))
                others = open_arms if open_arms.size else np.flatnonzero(~closed)
                order = others[np.argsort(self.tally.counts[others], kind="stable")]
                arms[filled:] = np.resize(order, n - filled)
                filled = n
        return [(int(self.arms[a]), bool(joined)) for a, joined in zip(arms, joining, strict=True)]

    def copy(self) -> tuple[Any, Any, Any]:
        """Copies of spec, state and tally, to go on from here."""
        spec, state, tally = self._running
        return (
            spec,
            type(state)(*(part.copy() for part in state)),
            type(tally)(*(part.copy() for part in tally)),
        )

    def claims(self) -> Claims:
        """Labels certified so far, and the evidence, for the arms of the question."""
        return self.strategy.claims(*self._running)

    def is_stuck(self) -> bool:
        """Whether there are arms with an open label, and all of them are closed."""
        if not self.has_started():
            return bool(self.closed.all())
        return not self.is_done() and bool(self.closed[self.arms][self.labels == OPEN].all())
