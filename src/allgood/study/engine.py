"""The strategy of a study without the book-keeping: rewards in, arms and labels out.

The strategy's own kernels do the work.  A run asks for one reward at a time.  A study may ask for
many at once, and receive them late, in another order, or never.  So

- Rewards are processed as they come, whichever arm the strategy would have pulled next.  The
  evidence holds whatever chooses the arms (``evidence/claims.py``).  Whether a reward is pooled is
  decided when it is requested, and is stored with its ticket.
- No claim is looked at before every arm has a reward.  Then all are processed, as they came: what
  is certified must have been the state at some time, also if an arm came late.
- To choose many arms, the strategy goes on from a copy of its state, as if each arm that is pending
  or chosen had given its current mean.  If that ends the study before there are enough arms, it
  starts again from what is known, so that the rest is spread in the same proportions.
- An arm that may not be measured again is skipped: it, too, is imagined to give its current mean.
- When the rewards of one ``tell`` are in, every claim is looked at; and also within a large one,
  after every K/10 rewards (``LOOKS``).  So no label is open whose evidence is there, and the log
  alone settles when each label was certified: the verifier does it again.  A run looks at most
  claims from time to time only.

With one reward at a time a study and a ``run`` choose the same arms, until the first label that one
of them certifies.  (If values are checked, labels need a little more, and choices differ.)
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._internal.arguments import Vector
from ..evidence.claims import Claims
from ..evidence.open_claims import OpenClaims, note_changes
from ..evidence.spec import BAD, GOOD, OPEN, POOL, ClaimSpec
from ..kernels.tally import Tally
from ..models.base import Model
from ..strategies.claim_by_claim import ClaimByClaim, ClaimByClaimState, choose, process, suppose

Integers = npt.NDArray[np.int64]
Labels = npt.NDArray[np.bool_]

Label = Literal["good", "bad", "open"]
LABEL_NAMES: dict[int, Label] = {OPEN: "open", GOOD: "good", BAD: "bad"}

SKIPPED = 100_000  # limit on imagined pulls of closed arms per choice

LOOKS = 10  # looks at all claims in the time of one reward per arm, within one tell


class GoodStep(NamedTuple):
    """Arm k was shown to be good as far as these rivals go."""

    k: int
    rivals: Integers


@dataclass(frozen=True, eq=False)
class Moment:
    """The state when claims advanced: after ``measurements`` rewards.

    Arms are numbered within the question.  ``arms`` are those that the claims are about, in order;
    ``counts``, ``sums``, ``scatter`` and ``influential``, the rewards without which the evidence
    must be there, too (nan if there is none), are theirs.  ``largest`` is the largest reward of
    the pool and its weight, 0 if there is none.  ``bad`` holds the arms that were certified bad at
    this moment, each with its rival; ``good`` those that were certified good.
    """

    measurements: int
    arms: Integers
    counts: Integers
    sums: Vector
    scatter: Vector
    influential: Vector
    pool: Vector
    largest: tuple[float, float]
    steps: tuple[GoodStep, ...]
    good: tuple[int, ...]
    bad: tuple[tuple[int, int], ...]

    def place(self, arm: int) -> int:
        """Return the position of an arm among ``arms``; POOL for the pool."""
        return arm if arm == POOL else int(np.searchsorted(self.arms, arm))


class Engine:
    """A strategy that is told rewards in any order.

    Attributes:
        counts, sums: number and sum of the processed rewards, by arm.
        withdrawn: arms closed before their first reward; they have left the question.  Their
            censored times do not count.
        closed: arms that may not be measured again.
        arms: the arms of the question, once it has started.
        moments: when claims advanced.
        places: K in the needs: how many arms there may ever be.
        check_values: whether no label may rest on a single reward (``quality.py``).
    """

    def __init__(
        self,
        strategy: ClaimByClaim,
        model: Model,
        num_arms: int,
        places: int | None = None,
        check_values: bool = False,
    ) -> None:
        self.strategy, self.model = strategy, model
        self.check_values = check_values
        self.places = num_arms if places is None else places
        self.counts: Integers = np.zeros(num_arms, np.int64)
        self.sums: Vector = np.zeros(num_arms)
        self.closed: Labels = np.zeros(num_arms, np.bool_)
        self.withdrawn: Labels = np.zeros(num_arms, np.bool_)
        self.arms: Integers = np.arange(num_arms)
        self.moments: list[Moment] = []
        self.waited: Vector = np.zeros(num_arms)  # censored times before the first reward
        self._waiting: list[tuple[int, float, bool, int, float, float]] = []
        self._ends: list[int] = []  # how many of those waiting there were when a tell ended
        self._strategy_state: ClaimByClaimState | None = None
        self._tally: Tally | None = None
        self._claims: Claims | None = None  # made since the last reward
        self._open_claims: OpenClaims | None = None  # once the question has started
        self._taken = 0  # rewards that were taken in
        strategy.start(num_arms, model)  # called now, so that an unsupported model fails early

    def has_started(self) -> bool:
        """Take in new rewards; return whether every arm of the question has one."""
        self._take_in()
        return self._strategy_state is not None

    def is_done(self) -> bool:
        """Take in new rewards; return whether every label is certified."""
        return self.has_started() and bool(self.strategy_state.done)

    @property
    def strategy_state(self) -> ClaimByClaimState:
        """The strategy at work, once it has started."""
        assert self._strategy_state is not None
        return self._strategy_state

    @property
    def tally(self) -> Tally:
        """Counts, sums, means and scatter of the arms of the question, once it has started."""
        assert self._tally is not None
        return self._tally

    def spec(self) -> ClaimSpec:
        """Return what the evidence needs to know, for claims that are shown and certified."""
        spec: ClaimSpec = self.strategy.spec(self.arms.size, self.question_model(), self.places)
        return spec

    @property
    def labels(self) -> Integers:
        """OPEN, GOOD or BAD for each arm of the question."""
        return np.asarray(self.strategy_state.labels)

    def label_names(self) -> list[Label]:
        """Return the label of every arm, withdrawn or not."""
        names: list[Label] = ["open"] * self.counts.size
        if self.has_started():
            for arm, label in zip(self.arms, self.labels, strict=True):
                names[arm] = LABEL_NAMES[label]
        return names

    @property
    def certified_at(self) -> Integers:
        """Pulls when each label was certified; 0 while it is open."""
        return np.asarray(self.strategy_state.certified_at)

    def question_model(self) -> Model:
        """Return the model of the arms that are in the question."""
        model: Model = self.model.among(self.arms)
        return model

    def close(self, arm: int, withdrawn: bool) -> None:
        """Never choose this arm again.  If it is withdrawn, it leaves the question as well."""
        self.closed[arm] = True
        self.withdrawn[arm] = withdrawn

    def process(
        self,
        arm: int,
        reward: float,
        pooled: bool,
        n: int = 1,
        scatter: float = 0.0,
        influential: float = math.nan,
    ) -> None:
        """Note a reward of an arm of the question.  It is taken in when the engine is asked.

        Args:
            n: 1; or the number of rewards, of which ``reward`` is the sum, and ``scatter`` the
                scatter about their mean; or 0 for a censored time.  Before the first reward of an
                arm such times are added to that reward: the likelihood is that of the sum.
            influential: the influential reward of the arm from then on (``quality.py``).
        """
        self.sums[arm] += reward
        if n == 0 and self.counts[arm] == 0:
            self.waited[arm] += reward
            return
        if self.counts[arm] == 0:
            reward += self.waited[arm]
        self.counts[arm] += n
        self._waiting.append((arm, reward, pooled, n, scatter, influential))

    def process_all(
        self,
        arms: Sequence[int],
        rewards: Sequence[float],
        pooled: Sequence[bool],
        numbers: Sequence[int],
        scatter: Sequence[float],
        influential: Sequence[float],
        ends: Iterable[int],
    ) -> None:
        """Do what ``process`` does for each of many rewards, and ``end_tell`` after so many.

        There must be no censored time, now or before.
        """
        before = len(self._waiting)
        self._waiting.extend(zip(arms, rewards, pooled, numbers, scatter, influential, strict=True))
        self._ends.extend(before + end for end in ends)
        places = np.array(arms, np.int64)
        np.add.at(self.sums, places, np.array(rewards, np.float64))  # in this order, as ``process``
        np.add.at(self.counts, places, np.array(numbers, np.int64))

    def end_tell(self) -> None:
        """Note that the rewards of one tell are complete."""
        self._ends.append(len(self._waiting))

    def _take_in(self) -> None:
        """Take in new rewards, if every arm of the question has one."""
        if not self._waiting:
            if self._ends and self._strategy_state is not None:
                self._ends = []
                self._look_at_all()
            return
        if (self.counts[~self.withdrawn] == 0).any():
            return
        first = 0  # no claim is looked at before so many of these rewards are in
        if self._strategy_state is None:
            self.arms = np.flatnonzero(~self.withdrawn)
            K = self.arms.size
            self._strategy_state = self.strategy.start(K, self.question_model(), self.places)
            self._strategy_state.robust, self._strategy_state.certifies = self.check_values, False
            self._tally = Tally(K)
            self._open_claims = OpenClaims(self.spec())
            processed = np.array([entry[0] for entry in self._waiting])
            first = int(np.unique(processed, return_index=True)[1].max()) + 1
            self._ends = [end for end in self._ends if end >= first]
        state, tally = self.strategy_state, self.tally
        names, rewards, pooled, numbers, scatters, influential = zip(*self._waiting, strict=True)
        arms = np.searchsorted(self.arms, np.array(names))
        ends, self._waiting, self._ends = set(self._ends), [], []
        values, marks = np.array(rewards, np.float64), np.array(pooled, np.int8)
        many, scatter = np.array(numbers, np.int64), np.array(scatters, np.float64)
        strange = np.array(influential, np.float64)
        stride = max(self.arms.size // LOOKS, 1)
        ends.update(range(first + (-(self._taken + first)) % stride, arms.size + 1, stride))
        ends.discard(0)
        self._taken += arms.size
        n = 0
        for end in sorted({*ends, arms.size}):
            while n < end:
                before = n
                n = process(state, tally, arms[:end], values, many, scatter, marks, strange, n)
                note_changes(self._open_claims, arms[before:n])
                self._claims = None
            if end in ends:
                self._look_at_all()

    def _look_at_all(self) -> None:
        """Certify every label whose evidence is there."""
        labels, shown = np.array(self.strategy_state.labels), np.array(self.strategy_state.shown)
        self.strategy_state.look_at_all(self.tally, self._open_claims)
        self._claims = None
        self._note(labels, shown)

    def _note(self, labels: Integers, shown: Integers) -> None:
        """Keep the state if claims have advanced since these were the labels and rivals passed."""
        state, tally = self.strategy_state, self.tally
        now, shown_now = np.asarray(state.labels), np.asarray(state.shown)
        stepped, certified = np.flatnonzero(shown_now > shown), np.flatnonzero(now != labels)
        if not (stepped.size or certified.size):
            return
        steps = []
        for k in stepped:
            rivals = np.arange(shown[k], shown_now[k])
            is_rival = (now[rivals] != BAD) & ((rivals != k) | (state.spec.c < 1.0))
            steps.append(GoodStep(int(k), rivals[is_rival]))
        bad = tuple((int(k), int(state.rival[k])) for k in certified if now[k] == BAD)
        involved = {*stepped.tolist(), *certified.tolist(), *(l for _, l in bad if l != POOL)}
        involved.update(*(step.rivals.tolist() for step in steps))
        arms = np.array(sorted(involved), dtype=np.int64)
        self.moments.append(
            Moment(
                measurements=tally.pulls,
                arms=arms,
                counts=tally.counts[arms],
                sums=tally.sums[arms],
                scatter=tally.scatter[arms],
                influential=np.asarray(state.sides.influential)[arms],
                pool=state.whole_pool(tally),
                largest=(state.sides.top, state.sides.top_unit),
                steps=tuple(steps),
                good=tuple(int(k) for k in certified if now[k] == GOOD),
                bad=bad,
            )
        )

    def choose(
        self,
        n: int,
        pending: list[tuple[int, bool]],
        most: int | None = None,
        chosen: Sequence[tuple[int, bool]] = (),
    ) -> list[tuple[int, bool]]:
        """Return the next n arms to measure, each with whether its reward is pooled.

        Args:
            n: how many.
            pending: the same for the measurements that were requested and are not processed.
            most: how often an arm may be chosen for this batch.  An arm that has been chosen so
                often is closed for the rest of the batch, which may then be shorter than n.
            chosen: choices that were made before for this batch; they are pending, too.
        """
        if self.is_done() or self.closed.all():
            return []
        if most is None:
            return self._choose(n, [*pending, *chosen], self.closed)
        batch: list[tuple[int, bool]] = []
        counts = Counter(arm for arm, _ in chosen)
        closed = self.closed.copy()
        closed[[arm for arm, number in counts.items() if number >= most]] = True
        while len(batch) < n and not closed.all():
            new = self._choose(n - len(batch), [*pending, *chosen, *batch], closed, limited=True)
            if not new:
                break
            for arm, pooled in new:
                if counts[arm] == most:
                    closed[arm] = True
                    break
                counts[arm] += 1
                batch.append((arm, pooled))
        return batch

    def _choose(
        self, n: int, pending: list[tuple[int, bool]], closed: Labels, limited: bool = False
    ) -> list[tuple[int, bool]]:
        """Return the next n arms that are not closed.

        If only closed arms would help, others are chosen in their place; but none whose label is
        certified if some are closed for this batch only (``limited``).
        """
        asked = np.array([arm for arm, _ in pending], np.int64)
        marks = np.array([pooled for _, pooled in pending], np.int8)
        if not self.has_started():
            held = self.counts + np.bincount(asked, minlength=self.counts.size)
            chosen = []
            for _ in range(n):
                arm = int(np.where(closed, np.iinfo(np.int64).max, held).argmin())
                held[arm] += 1
                chosen.append((arm, False))
            return chosen
        arms, pooled = np.zeros(n, np.int64), np.zeros(n, np.int8)
        closed, filled = closed[self.arms], 0
        pending_arms = np.searchsorted(self.arms, asked)
        while filled < n:
            state, tally = self.strategy_state.copy(), self.tally.copy()
            suppose(state, tally, pending_arms, marks)
            left, marked = arms[filled:], pooled[filled:]
            new = choose(state, tally, self.tally, closed.view(np.int8), SKIPPED, left, marked)
            filled += new
            if new == 0 and pending_arms.size:
                # What is pending might be enough.  Go on as if it did not come.
                pending_arms, marks = pending_arms[:0], marks[:0]
            elif new == 0:
                # Only closed arms would help.  Take the least measured of the others.
                others = np.flatnonzero(~closed & (self.labels == OPEN))
                if not others.size and not limited:
                    others = np.flatnonzero(~closed)
                if not others.size:
                    break
                order = others[np.argsort(self.tally.counts[others], kind="stable")]
                arms[filled:] = np.resize(order, n - filled)
                filled = n
        numbers, marked = self.arms[arms[:filled]], pooled[:filled]
        return [(int(arm), bool(mark)) for arm, mark in zip(numbers, marked, strict=True)]

    def claims(self) -> Claims:
        """Return labels certified so far, and the evidence, for the arms of the question."""
        if self._claims is None:
            self._claims = self.strategy_state.claims(self.tally, self.spec())
        return self._claims

    def is_stuck(self) -> bool:
        """Return whether there are arms with an open label, and all of them are closed."""
        if not self.has_started():
            return bool(self.closed.all())
        return not self.is_done() and bool(self.closed[self.arms][self.labels == OPEN].all())
