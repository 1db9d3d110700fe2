"""What a pull costs, all from one run, as multiples of one normal: machines are noisy, ratios less.

    make bench            everything
    make bench QUICK=1    fewer runs

Whole runs are timed, from the first pull to the strategy's own stop, on K - 1 arms at 1 and one at
0.05 (epsilon 0.9, delta 0.1).  ``--against PYTHON`` compares pulls and fresh processes with another
version of allgood, in alternation.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from job import QUESTION, STRATEGIES, paper, timed_run
from report import begin, console, normal_means, table
from versions import OURS, alternate, versions, without

from allgood import (
    ST2,
    Additive,
    Arms,
    Bernoulli,
    ClaimByClaim,
    Exponential,
    FarEast,
    Gaussian,
    Poisson,
    RewardTable,
    Strategy,
    TrackAndStop,
    Uniform,
    run,
    simulate,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.reference.strategies import bounds_strategy
from tests.support.own_strategy import SuccessiveElimination


def normal():
    """Seconds per normal where NumPy fills an array of a million: the least of several."""
    rng, out, times = np.random.default_rng(0), np.empty(1_000_000), []
    for _ in range(7):
        start = time.perf_counter()
        rng.standard_normal(out=out)
        times.append(time.perf_counter() - start)
    return min(times) / out.size


def cost_per_pull(sizes, seconds):
    one = normal()
    rows = table(
        f"one pull in ns, and in normals (one of a million that NumPy draws: {one * 1e9:.1f} ns)",
        "strategy",
        *(f"K = {K}" for K in sizes),
    )
    with versions() as this:
        for name in STRATEGIES:
            cells = []
            for K in sizes:
                [found] = alternate(this, seconds, do="pull", strategy=name, num_arms=K)
                cells.append(f"{found * 1e9:,.0f} ({found / one:.1f})")
            rows.add_row(name, *cells)
    console.print(rows, "")


def against_a_version(python, sizes, seconds):
    """The same in this version and in another, in alternation."""
    rows = table(
        "one pull in two versions, the least of several runs",
        "strategy",
        "K",
        "this version",
        "the other",
        "other / this",
    )
    with versions(python) as both:
        for name in STRATEGIES:
            for K in sizes:
                this, other = alternate(both, seconds, do="pull", strategy=name, num_arms=K)
                times = (f"{x * 1e9:,.0f} ns" for x in (this, other))
                rows.add_row(name, str(K), *times, f"{other / this:.2f}")
    console.print(rows, "")


class InTurn(Strategy):
    """The least that a strategy in Python can do: it shows what the calls alone cost."""

    objective, delta = QUESTION, 0.1

    def update(self, tally):
        pass

    def is_done(self, tally):
        return False

    def next_arm(self, tally):
        return tally.pulls % tally.size


def in_python(sizes, budget):
    """Strategies of a user's own, in plain Python, beside a compiled one."""
    rows = table(
        f"one pull in ns: strategies in plain Python, {budget:,} pulls, the least of 5",
        "strategy",
        *(f"K = {K}" for K in sizes),
    )
    for name, strategy in {
        "Uniform, compiled": Uniform(QUESTION, 0.1),
        "the arms in turn, in Python": InTurn(),
        "successive elimination, in Python": SuccessiveElimination(QUESTION, 0.1),
    }.items():
        cells = []
        for K in sizes:
            found = [timed_run(strategy, K, seed, budget) for seed in range(5)]
            cells.append(f"{min(took / pulls for took, pulls in found) * 1e9:,.0f}")
        rows.add_row(name, *cells)
    console.print(rows, "")


def many_arms(sizes):
    """ClaimByClaim as K grows, on the tied family and on normal means: whole runs."""
    rows = table(
        "ClaimByClaim as K grows (delta 0.1)",
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
            strategy = ClaimByClaim(question, 0.1)
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
    """A pull of ClaimByClaim for each model, and for normal rewards with the same variances."""
    rows = table(
        "ClaimByClaim, other models (delta 0.1)",
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
        strategy, found = ClaimByClaim(question, 0.1), []
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


def two_workers(seconds):
    """As many runs as take one thread so long: the system needs a while to spread two threads."""
    rows = table(
        "runs of a simulation: two threads against one",
        "strategy",
        "runs",
        "one",
        "two",
        "speed-up",
    )
    for name, strategy in {
        "ClaimByClaim": ClaimByClaim(QUESTION, 0.1),
        "ST2(mason)": ST2(QUESTION, 0.1, "mason"),
        "TrackAndStop(paper)": TrackAndStop(QUESTION, 0.1, "paper"),
        "FarEast": FarEast(QUESTION, 0.1),
    }.items():
        simulate(strategy, paper(5), runs=2)
        start = time.perf_counter()
        simulate(strategy, paper(5), runs=20, workers=1)
        runs = max(20, int(20 * seconds / (time.perf_counter() - start)))
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
    """(ST)^2 against its slow twin of the tests: the same rewards, pull for pull the same."""
    rewards = np.asarray(paper(5))[:, None] + np.random.default_rng(0).normal(size=(5, pulls))
    as_lists = rewards.tolist()
    strategy = ST2(QUESTION, 0.1)
    run(strategy, RewardTable(rewards), budget=pulls)
    start = time.perf_counter()
    ours = run(strategy, RewardTable(rewards), budget=pulls)
    fast = time.perf_counter() - start
    start = time.perf_counter()
    arms, _ = bounds_strategy("st2", as_lists, 1.0, 0.9, 0.1, "mason", [1.0] * 5, pulls)
    slow = time.perf_counter() - start
    assert [arms.count(a) for a in range(5)] == ours.counts.tolist()
    console.print(
        f"(ST)^2, {len(arms):,} pulls: {fast * 1e3:.1f} ms, plain Python {slow:.1f} s: "
        f"{slow / fast:,.0f} times\n"
    )


MAKE_STUDY = """
from allgood import Additive, create_study
names = [f"arm {a}" for a in range(60)]
with create_study("study.db", "s", arms=names, objective=Additive(0.01), delta=0.05) as study:
    study.tell([(ticket, i % 7 / 7) for i, ticket in enumerate(study.ask(180))])
"""
COMMAND = ("-c", "from allgood.cli import main; main()")
PROCESSES = {
    "import allgood": ("-c", "import allgood"),
    "allgood --help": (*COMMAND, "--help"),
    "allgood bound": (*COMMAND, "bound", "--means", "1,1,1,1,0.05", "--epsilon", "0.9"),
    "allgood study status, 60 arms": (*COMMAND, "study", "status", "study.db"),
}
STILL_OPEN = 10  # how `allgood study status` ends while labels are open


def process(python, arguments, folder):
    """Wall time and CPU time of one fresh process.  Some systems do not tell the CPU time: 0.

    Python may keep its compiled copies of modules, as it does for a user.
    """
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=without("PYTHONDONTWRITEBYTECODE", *([] if python == sys.executable else OURS)),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode not in (0, STILL_OPEN):
        done.check_returncode()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system


def starts(python):
    """Fresh processes, those of both versions in alternation."""
    heads = ("this version", "the other") if python else ("",)
    rows = table(
        "fresh processes, the least of 5: seconds",
        "command",
        *(f"{time} {head}".strip() for head in heads for time in ("wall", "CPU")),
    )
    pythons = [sys.executable, python] if python else [sys.executable]
    with tempfile.TemporaryDirectory() as top:
        folders = [Path(top) / str(i) for i in range(len(pythons))]
        for item, folder in zip(pythons, folders, strict=True):
            folder.mkdir()
            process(item, ("-c", MAKE_STUDY), folder)
        for name, arguments in PROCESSES.items():
            found = [
                [
                    process(item, arguments, folder)
                    for item, folder in zip(pythons, folders, strict=True)
                ]
                for _ in range(5)
            ]
            rows.add_row(name, *(f"{x:.2f}" for x in np.min(found, axis=0).ravel()))
    console.print(rows, "")


if __name__ == "__main__":
    options = begin(__doc__, "fewer runs", can_compare=True)
    quick = options.quick
    sizes, seconds = (5, 20, 100), 0.1 if quick else 1.0
    if options.against:
        against_a_version(options.against, sizes, seconds)
    else:
        cost_per_pull(sizes, seconds)
    in_python(sizes, 20_000 if quick else 100_000)
    many_arms((5, 20, 100) if quick else (5, 20, 100, 1000, 10_000))
    models(5 if quick else 40)
    two_workers(0.3 if quick else 3.0)
    against_python(3000 if quick else 20_000)
    starts(options.against)
