"""A check of an installed package in a few seconds, where the whole test suite does not run.

python tests/support/smoke.py compiled      fails unless the core is compiled
python tests/support/smoke.py uncompiled    fails unless it is not
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from allgood import (
    ST2,
    UCB,
    Additive,
    Bernoulli,
    ClaimByClaim,
    Exponential,
    FarEast,
    Gaussian,
    Multiplicative,
    Poisson,
    TrackAndStop,
    Uniform,
    characteristic_time,
    create_study,
    run,
    simulate,
)

MEANS = [2.0, 1.9, 0.3]
GOOD = [True, True, False]


def check_version(wanted):
    """The command line, too, runs."""
    done = subprocess.run(
        [sys.executable, "-c", "from allgood.cli import main; main()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    print(done.stdout, end="")
    state = "uncompiled" if "not compiled" in done.stdout else "compiled"
    assert state == wanted, f"The core is {state}, not {wanted}."


def check_runs():
    """Every strategy, and every model, finds the good arms of an easy problem."""
    for objective in (Additive(0.9), Multiplicative(0.5)):
        strategies = [
            kind(objective, 0.1)
            for kind in (ClaimByClaim, TrackAndStop, ST2, FarEast, UCB, Uniform)
        ]
        for strategy in strategies:
            result = run(strategy, MEANS, seed=1, budget=3000)
            assert result.answer.tolist() == GOOD, (strategy, result)
    for model in (Gaussian(), Gaussian(None), Poisson(), Exponential()):
        noise = Gaussian(0.5) if model == Gaussian(None) else model
        result = run(ClaimByClaim(Additive(0.9), 0.1), MEANS, noise, seed=1, budget=3000)
        assert result.answer.tolist() == GOOD, (model, result)
    result = run(
        ClaimByClaim(Additive(0.3), 0.1), [0.9, 0.8, 0.1], Bernoulli(), seed=1, budget=3000
    )
    assert result.answer.tolist() == GOOD, result


def check_threads_and_resuming(folder):
    """Two threads give the same runs as one; a file of runs can be locked, written and read."""
    strategy, file = ST2(Additive(0.9), 0.1), folder / "runs.jsonl"
    options = {"runs": 4, "seed": 3, "budget": 2000}
    one = simulate(strategy, MEANS, workers=1, **options)
    for _ in range(2):
        two = simulate(strategy, MEANS, workers=2, resume=file, **options)
        assert np.array_equal(one.pulls, two.pulls)


def check_study(folder):
    with create_study(
        folder / "study.db", "s", arms=["a", "b"], objective=Additive(0.5), delta=0.1
    ) as study:
        study.tell([(ticket, 1.0) for ticket in study.ask(4)])
        assert study.status().measurements == 4


if __name__ == "__main__":
    check_version(sys.argv[1])
    assert 0.0 < characteristic_time(MEANS, Additive(0.9)).value < 1000.0
    check_runs()
    with tempfile.TemporaryDirectory() as folder:
        check_threads_and_resuming(Path(folder))
        check_study(Path(folder))
    print("All is well.")
