"""The jobs that are timed in one version of allgood: one run of a strategy, or one solution of T*.

As a script it reads jobs from the standard input, one in a line of JSON, and answers each in a
line, so that two versions can be timed in alternation.
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
from allgood.kernels.tally import Tally
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


def timed_run(strategy, num_arms, seed, budget=3_000_000):
    """Return seconds and pulls of one run on the paper's family."""
    state, tally = strategy.start(num_arms, Gaussian()), Tally(num_arms)
    sampler = Arms(paper(num_arms)).start(Gaussian(), np.random.default_rng(seed))
    watch = new_watch(num_arms)
    start = time.perf_counter()
    run_loop(state, sampler, tally, budget, watch)
    return time.perf_counter() - start, tally.pulls


def means_of(shape, num_arms):
    rng = np.random.default_rng(1)
    return {
        "uniform": rng.uniform(size=num_arms),
        "normal": rng.normal(size=num_arms),
        "tied": np.array(paper(num_arms)),
        "near-tied": 1.0 + 1e-6 * rng.normal(size=num_arms),
    }[shape]


def pull(strategy, num_arms, seed):
    """Return seconds per pull of a run; None if it is too short to be timed."""
    took, pulls = timed_run(STRATEGIES[strategy], num_arms, seed)
    return [took, took / pulls if pulls > 5000 else None]


def solve(shape, num_arms, objective, seed):
    """Return the seconds for T*."""
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
