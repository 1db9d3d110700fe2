"""The one loop.  Every run of every strategy passes through here."""

import math

from ._jit import inlined
from .parts import is_done, next_arm, pull, record, update

CERTIFIED, BUDGET_EXHAUSTED, REWARDS_EXHAUSTED = range(3)


@inlined
def run_loop(strategy, state, environment, tally, rng, budget):
    """Pull each arm once; from then on ask whether it is done, choose, pull.  Every reward is digested.

    Returns why it ended.  Only CERTIFIED is the strategy's own decision.
    """
    num_arms = tally.counts.size
    for t in range(budget + 1):
        if t >= num_arms and is_done(strategy, state, tally):
            return CERTIFIED
        if t == budget:
            break
        arm = t if t < num_arms else next_arm(strategy, state, tally)
        reward = pull(environment, arm, tally, rng)
        if math.isnan(reward):
            return REWARDS_EXHAUSTED
        record(tally, arm, reward)
        update(strategy, state, tally)
    return BUDGET_EXHAUSTED
