"""What a pull costs, all from one run, as multiples of drawing one normal: machines are noisy, ratios less so.

    make bench            everything
    make bench QUICK=1    fewer runs

Whole runs are timed, from the first pull to the strategy's own stop, on K - 1 arms at 1 and one at 0.05 (epsilon 0.9,
delta 0.1); compilation is not counted, but where it is what is measured.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import begin, console, normal_means, table

from allgood import (
    ST2,
    Additive,
    Arms,
    Bernoulli,
    Exponential,
    FarEast,
    Gaussian,
    Poisson,
    RewardTable,
    TrackAndStop,
    Uniform,
    WeakestClaim,
    run,
    simulate,
)
from allgood._jit import jit
from allgood.loop import new_watch, run_loop
from allgood.parts import new_tally

QUESTION = Additive(0.9)


def paper(num_arms):
    return [1.0] * (num_arms - 1) + [0.05]


@jit
def draw(rng, number):
    total = 0.0
    for _ in range(number):
        total += rng.standard_normal()
    return total


def normal():
    """Seconds to draw one normal in a compiled loop: the least of several."""
    rng = np.random.default_rng(0)
    draw(rng, 10)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        draw(rng, 1_000_000)
        times.append(time.perf_counter() - start)
    return min(times) / 1e6


def per_pull(strategy, num_arms, seconds):
    """Seconds per pull: the least over several runs, each long enough to be timed."""
    environment = Arms(paper(num_arms)).spec()
    best, spent, seed = np.inf, 0.0, 0
    while spent < seconds or seed < 4:
        spec, state = strategy.start(num_arms, Gaussian())
        tally, rng, watch = new_tally(num_arms), np.random.default_rng(seed), new_watch(num_arms)
        start = time.perf_counter()
        run_loop(spec, state, environment, tally, rng, 3_000_000, watch)
        took = time.perf_counter() - start
        if seed > 0 and tally.pulls[0] > 5000:
            best = min(best, took / tally.pulls[0])
        spent, seed = spent + took, seed + 1
    return best


def cost_per_pull(sizes, seconds):
    one = normal()
    rows = table(
        f"one pull, in normals (one normal: {one * 1e9:.1f} ns), and in ns",
        "strategy",
        *(f"K = {K}" for K in sizes),
    )
    for name, strategy in {
        "WeakestClaim": WeakestClaim(QUESTION, 0.1),
        "TrackAndStop(paper)": TrackAndStop(QUESTION, 0.1, "paper"),
        "TrackAndStop(mixture)": TrackAndStop(QUESTION, 0.1, "mixture"),
        "ST2(mason)": ST2(QUESTION, 0.1, "mason"),
        "ST2(mixture)": ST2(QUESTION, 0.1, "mixture"),
        "FarEast": FarEast(QUESTION, 0.1),
        "Uniform(mixture)": Uniform(QUESTION, 0.1),
    }.items():
        found = [per_pull(strategy, K, seconds) for K in sizes]
        rows.add_row(name, *(f"{x / one:.1f} ({x * 1e9:.0f} ns)" for x in found))
    console.print(rows, "")


def many_arms(sizes):
    """WeakestClaim as K grows, on the tied family and on normal means: whole runs."""
    rows = table(
        "WeakestClaim as K grows (delta 0.1)",
        "K",
        "tied family",
        "a pull",
        "normal means, epsilon 0.5",
        "a pull",
    )
    for num_arms in sizes:
        cells = []
        for means, question in (
            (paper(num_arms), QUESTION),
            (normal_means(num_arms, 0.02), Additive(0.5)),
        ):
            strategy = WeakestClaim(question, 0.1)
            run(strategy, means, seed=0)
            start = time.perf_counter()
            result = run(strategy, means, seed=1)
            took = time.perf_counter() - start
            cells += [
                f"{result.pulls:,} pulls, {took:.2f} s",
                f"{took / result.pulls * 1e9:,.0f} ns",
            ]
        rows.add_row(f"{num_arms:,}", *cells)
    console.print(rows, "")


def models(runs):
    """A pull of WeakestClaim for each model, against normal rewards on the instance that its variances make equal."""
    rows = table(
        "WeakestClaim, other models (delta 0.1)",
        "model",
        "mean pulls",
        "a pull",
        "normal rewards",
        "ratio",
    )
    cases = {
        "Bernoulli, rates 1 to 5 %": (
            [0.05, 0.045, 0.03, 0.02, 0.01],
            Additive(0.015),
            Bernoulli(),
            None,
        ),
        "Bernoulli, rates 70 to 95 %": (
            [0.95, 0.93, 0.90, 0.82, 0.70],
            Additive(0.1),
            Bernoulli(),
            None,
        ),
        "Poisson": ([12.0, 11.6, 11.2, 9.5, 8.0], Additive(1.6), Poisson(), None),
        "Exponential": ([5.0, 4.8, 4.4, 3.0, 2.0], Additive(1.2), Exponential(), None),
        "unknown sigma": ([1.0, 0.9, 0.7, 0.3, 0.2], Additive(0.5), Gaussian(), Gaussian(None)),
    }
    for name, (means, question, noise, model) in cases.items():
        strategy, found = WeakestClaim(question, 0.1), []
        variances = {"Poisson": means, "Exponential": np.square(means), "unknown sigma": np.ones(5)}
        sigma = np.sqrt(variances.get(name, np.multiply(means, 1.0 - np.asarray(means))))
        for arms, known in ((Arms(means, noise), model), (Arms(means, Gaussian(sigma)), None)):
            simulate(strategy, arms, known, runs=1)
            start = time.perf_counter()
            done = simulate(strategy, arms, known, runs=runs, workers=1)
            found.append((done.pulls.mean(), (time.perf_counter() - start) / done.pulls.sum()))
        (pulls, ours), (_, theirs) = found
        rows.add_row(
            name,
            f"{pulls:,.0f}",
            f"{ours * 1e6:.2f} us",
            f"{theirs * 1e6:.2f} us",
            f"{ours / theirs:.1f}",
        )
    console.print(rows, "")


def two_workers(runs):
    rows = table(
        "runs of a simulation: two threads against one",
        "strategy",
        "runs",
        "one",
        "two",
        "speed-up",
    )
    for name, strategy in {
        "WeakestClaim": WeakestClaim(QUESTION, 0.1),
        "ST2(mason)": ST2(QUESTION, 0.1, "mason"),
        "TrackAndStop(paper)": TrackAndStop(QUESTION, 0.1, "paper"),
        "FarEast": FarEast(QUESTION, 0.1),
    }.items():
        simulate(strategy, paper(5), runs=2)
        times = {1: np.inf, 2: np.inf}
        for _ in range(3):
            for workers in (1, 2):
                start = time.perf_counter()
                simulate(strategy, paper(5), runs=runs, workers=workers)
                times[workers] = min(times[workers], time.perf_counter() - start)
        rows.add_row(
            name, str(runs), f"{times[1]:.2f} s", f"{times[2]:.2f} s", f"{times[1] / times[2]:.2f}"
        )
    console.print(rows, "")


def against_python(pulls):
    """(ST)^2 against its slow twin of the tests, on the same table of rewards, pull for pull the same."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.reference.strategies import by_bounds

    rewards = np.asarray(paper(5))[:, None] + np.random.default_rng(0).normal(size=(5, pulls))
    as_lists = rewards.tolist()
    strategy = ST2(QUESTION, 0.1)
    run(strategy, RewardTable(rewards), budget=pulls)
    start = time.perf_counter()
    ours = run(strategy, RewardTable(rewards), budget=pulls)
    fast = time.perf_counter() - start
    start = time.perf_counter()
    arms, _ = by_bounds("st2", as_lists, 1.0, 0.9, 0.1, "mason", [1.0] * 5, pulls)
    slow = time.perf_counter() - start
    assert [arms.count(a) for a in range(5)] == ours.counts.tolist()
    console.print(
        f"(ST)^2, {len(arms):,} pulls: {fast * 1e3:.1f} ms, plain Python {slow:.1f} s: {slow / fast:,.0f} times\n"
    )


def starts():
    """`allgood simulate` from an empty cache, and once more."""
    rows = table(
        "`allgood simulate`, 10 runs: first start (everything compiled) and second",
        "strategy",
        "first",
        "second",
    )
    for name in ("weakest-claim", "track-and-stop"):
        with tempfile.TemporaryDirectory() as cache:
            times = []
            for _ in range(2):
                start = time.perf_counter()
                subprocess.run(
                    [
                        sys.executable,
                        "-c",
                        "from allgood.cli import main; main()",
                        "simulate",
                        "--means",
                        "1,1,1,1,0.05",
                        "--epsilon",
                        "0.9",
                        "--strategy",
                        name,
                        "--runs",
                        "10",
                        "--json",
                    ],
                    env=os.environ | {"NUMBA_CACHE_DIR": cache},
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                times.append(time.perf_counter() - start)
        rows.add_row(name, *(f"{seconds:.1f} s" for seconds in times))
    console.print(rows, "")


if __name__ == "__main__":
    quick = begin(__doc__, "fewer runs")
    cost_per_pull((5, 20, 100), 0.1 if quick else 1.0)
    many_arms((5, 20, 100) if quick else (5, 20, 100, 1000))
    models(5 if quick else 40)
    two_workers(20 if quick else 200)
    against_python(3000 if quick else 20_000)
    starts()
