"""The loop that every run of every strategy passes through."""

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.allgood.evidence.labels import CertifiedLabels
from cython.cimports.allgood.kernels.c_math import isnan
from cython.cimports.allgood.kernels.tally import Tally
from cython.cimports.allgood.simulation.samplers import Sampler
from cython.cimports.allgood.strategies.state import StrategyState

if not cython.compiled:
    CERTIFIED, BUDGET_EXHAUSTED, REWARDS_EXHAUSTED = range(3)


class Watch(NamedTuple):
    """Numbers of pulls at which the answer is recorded and certified labels are looked for.

    If there are any, the strategy is not asked whether to stop.
    """

    grid: np.ndarray  # int64[n], increasing
    answers: np.ndarray  # bool[n + 1, K], the last row for the answer at the end
    labels: CertifiedLabels | None  # None where nobody looks: the strategy has labels of its own


def new_watch(num_arms, grid=None, labels=None):
    points = np.zeros(0, np.int64) if grid is None else grid
    return Watch(points, np.zeros((points.size + 1, num_arms), np.bool_), labels)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _loop(
    state: StrategyState,
    sampler: Sampler,
    tally: Tally,
    budget: cython.Py_ssize_t,
    grid: cython.longlong[::1],
    answers: cython.char[:, ::1],
    labels: CertifiedLabels | None,
) -> cython.int:
    num_points: cython.Py_ssize_t = grid.shape[0]
    position: cython.Py_ssize_t = 0
    status: cython.int = BUDGET_EXHAUSTED
    t: cython.Py_ssize_t = tally.pulls
    arm: cython.Py_ssize_t
    reward: cython.double
    while position < num_points and grid[position] <= t:
        position += 1
    while True:
        if num_points == 0 and t >= tally.size and state.is_done(tally):
            status = CERTIFIED
            break
        if t >= budget:
            break
        arm = t
        if t >= tally.size:
            arm = state.next_arm(tally)
            if not 0 <= arm < tally.size:  # memory that is not ours
                with cython.gil:
                    raise ValueError(
                        f"next_arm of {type(state).__name__} must return an arm from 0 to "
                        f"{tally.size - 1}: got {arm}."
                    )
        reward = sampler.pull(arm, tally)
        if isnan(reward):
            status = REWARDS_EXHAUSTED
            break
        tally.record(arm, reward)
        state.update(tally)
        t += 1
        if position < num_points and t == grid[position]:
            state.answer(tally, answers[position])
            if labels is not None:
                labels.look(tally)
            position += 1
    state.answer(tally, answers[num_points])
    return status


def run_loop(state, sampler, tally, budget, watch):
    """Pull each arm once; then repeat: ask the strategy whether to stop, choose an arm, pull it.

    Return why the run ended.  Only CERTIFIED is the strategy's own decision.  A run that ended with
    its budget can be continued: call again with the same arguments and a larger budget.
    """
    strategy_state: StrategyState = state
    source: Sampler = sampler
    position: Tally = tally
    limit: cython.Py_ssize_t = budget
    points: cython.longlong[::1] = watch.grid
    rows: cython.char[:, ::1] = watch.answers.view(np.int8)
    labels: CertifiedLabels | None = watch.labels
    if cython.compiled:
        with source.lock, cython.nogil:
            status = _loop(strategy_state, source, position, limit, points, rows, labels)
        return status
    with source.lock, np.errstate(all="ignore"):  # divisions by zero are C's, not Python's
        return _loop(strategy_state, source, position, limit, points, rows, labels)
