"""What is timed in one version of allgood: one run of a strategy, or one solution of T*.

As a script it reads jobs from the standard input, one in a line of JSON, and answers each in a
line.  It works with this version of allgood and with the one before its core was compiled ahead of
time, so that the two can be compared.
"""

import json
import sys
import time

import numpy as np

from allgood import (
    ST2,
    Additive,
    Arms,
    ClaimByClaim,
    FarEast,
    Gaussian,
    Multiplicative,
    TrackAndStop,
    Uniform,
    characteristic_time,
)
from allgood.simulation.loop import new_watch, run_loop

QUESTION = Additive(0.9)
STRATEGIES = {
    "ClaimByClaim": ClaimByClaim(QUESTION, 0.1),
    "TrackAndStop(paper)": TrackAndStop(QUESTION, 0.1, "paper"),
    "TrackAndStop(mixture)": TrackAndStop(QUESTION, 0.1, "mixture"),
    "ST2(mason)": ST2(QUESTION, 0.1, "mason"),
    "ST2(mixture)": ST2(QUESTION, 0.1, "mixture"),
    "FarEast": FarEast(QUESTION, 0.1),
    "Uniform(mixture)": Uniform(QUESTION, 0.1),
}


def paper(num_arms):
    return [1.0] * (num_arms - 1) + [0.05]


if hasattr(Arms, "spec"):  # before the core was compiled ahead of time
    from allgood.kernels.tally import new_tally

    def ready(strategy, num_arms, rng, budget):
        """A run that has not begun, and a function that tells its number of pulls."""
        spec, state = strategy.start(num_arms, Gaussian())
        sampler, tally, watch = (
            Arms(paper(num_arms)).spec(),
            new_tally(num_arms),
            new_watch(num_arms),
        )
        return (spec, state, sampler, tally, rng, budget, watch), lambda: int(tally.pulls[0])

else:
    from allgood.kernels.tally import Tally

    def ready(strategy, num_arms, rng, budget):
        """A run that has not begun, and a function that tells its number of pulls."""
        rule, sampler = strategy.start(num_arms, Gaussian()), Arms(paper(num_arms))
        tally, watch = Tally(num_arms), new_watch(num_arms)
        return (rule, sampler.start(Gaussian(), rng), tally, budget, watch), lambda: tally.pulls


def timed_run(strategy, num_arms, seed, budget=3_000_000):
    """Seconds and pulls of one run on the paper's family."""
    arguments, pulls = ready(strategy, num_arms, np.random.default_rng(seed), budget)
    start = time.perf_counter()
    run_loop(*arguments)
    return time.perf_counter() - start, pulls()


def means_of(shape, num_arms):
    rng = np.random.default_rng(1)
    return {
        "uniform": rng.uniform(size=num_arms),
        "normal": rng.normal(size=num_arms),
        "tied": np.array(paper(num_arms)),
        "near-tied": 1.0 + 1e-6 * rng.normal(size=num_arms),
    }[shape]


def pull(strategy, num_arms, seed):
    """Seconds per pull of a run; nothing if it is too short to be timed."""
    took, pulls = timed_run(STRATEGIES[strategy], num_arms, seed)
    return [took, took / pulls if pulls > 5000 else None]


def solve(shape, num_arms, objective, seed):
    """Seconds for T*."""
    means = means_of(shape, num_arms)
    question = {"Additive": Additive, "Multiplicative": Multiplicative}[objective](0.8)
    start = time.perf_counter()
    characteristic_time(means, question)
    took = time.perf_counter() - start
    return [took, took]


if __name__ == "__main__":
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps({"pull": pull, "solve": solve}[job.pop("do")](**job)), flush=True)
