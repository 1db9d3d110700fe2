"""The one loop.  Every run of every strategy passes through here."""

import math
from typing import NamedTuple

import numpy as np

from ._jit import inlined
from .parts import answer, is_done, next_arm, pull, record, update

CERTIFIED, BUDGET_EXHAUSTED, REWARDS_EXHAUSTED = range(3)


class Watch(NamedTuple):
    """Numbers of pulls at which the answer is written down.  Where there are any, the strategy is not asked to stop."""

    grid: np.ndarray  # int64[n], increasing
    answers: np.ndarray  # bool[n + 1, K], the last row for the answer at the end


def new_watch(num_arms: int, grid: np.ndarray | None = None) -> Watch:
    points = np.zeros(0, np.int64) if grid is None else grid
    return Watch(points, np.zeros((points.size + 1, num_arms), np.bool_))


@inlined
def run_loop(strategy, state, environment, tally, rng, budget, watch):
    """Pull each arm once; from then on ask whether it is done, choose, pull.  Every reward is digested.

    Returns why it ended.  Only CERTIFIED is the strategy's own decision.  A run that ended with its budget can be
    gone on with: call again with the same arguments and a larger budget.
    """
    num_arms = tally.counts.size
    watched, seen = watch.grid.size, 0
    while seen < watched and watch.grid[seen] <= tally.pulls[0]:
        seen += 1
    ended = BUDGET_EXHAUSTED
    for t in range(tally.pulls[0], budget + 1):
        if watched == 0 and t >= num_arms and is_done(strategy, state, tally):
            ended = CERTIFIED
            break
        if t == budget:
            break
        arm = t if t < num_arms else next_arm(strategy, state, tally)
        reward = pull(environment, arm, tally, rng)
        if math.isnan(reward):
            ended = REWARDS_EXHAUSTED
            break
        record(tally, arm, reward)
        update(strategy, state, tally)
        if seen < watched and tally.pulls[0] == watch.grid[seen]:
            answer(strategy, state, tally, watch.answers[seen])
            seen += 1
    answer(strategy, state, tally, watch.answers[watched])
    return ended
