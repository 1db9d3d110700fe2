"""Studies: rounds of ask and tell, kills, the time to look and to load, what batches cost.

    make bench            everything
    make bench QUICK=1    fewer runs

A round is to ask for one measurement, tell its value, and tell it again.  Optuna does the same, if
it is installed.  Both programs run on one SQLite file each, as they come (allgood: write-ahead log,
every commit synchronised; Optuna: its defaults, and 60 seconds of patience).  They take turns
within one run, so that ratios mean something on a machine that does other work as well.

Rounds and kills fork processes and send them signals: on systems without these they are left out.
"""

import gc
import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import begin, console, normal_means, table

from allgood import (
    Additive,
    ClaimByClaim,
    Gaussian,
    RewardTable,
    create_study,
    import_study,
    load_study,
    run,
)
from allgood.study.engine import Engine
from allgood.study.events import Event

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support import study_workers as workers

try:
    import optuna
except ImportError:
    optuna = None


def ours(path):
    study, me = workers.create(path), str(os.getpid())

    def one_round():
        [ticket] = study.ask(1, client=me)
        study.tell([(ticket, workers.value_of(ticket.id))])
        study.tell([(ticket, workers.value_of(ticket.id))])

    return one_round


def theirs(sampler):
    def opened(path):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        storage = optuna.storages.RDBStorage(
            f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": 60}}
        )
        study = optuna.create_study(
            storage=storage, study_name="s", sampler=sampler(), load_if_exists=True
        )

        def one_round():
            trial = study.ask()
            trial.suggest_categorical("arm", workers.ARMS)
            value = 0.37 * trial.number % 1.0
            study.tell(trial, value)
            study.tell(trial.number, value, skip_if_finished=True)

        return one_round

    return opened


def rate(opened, processes, seconds):
    """Rounds per second of so many processes, and how many of these ended in an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "studies.db"
        ready, say_ready = os.pipe()
        go, say_go = os.pipe()

        def work(place):
            os.close(say_go)
            one_round, n = opened(path), 0
            os.write(say_ready, b".")
            os.read(go, 1)  # returns when the parent closes the other end
            start = time.monotonic()
            while time.monotonic() < start + seconds:
                one_round()
                n += 1
            (Path(folder) / f"{place}.rounds").write_text(f"{n / (time.monotonic() - start)}")

        first = opened(path)  # in this process, so that the file is there and everything loaded
        first()
        del first
        gc.collect()  # and no connection for children to inherit
        children = [workers.fork(work, i) for i in range(processes)]
        os.close(say_ready)
        for _ in children:
            os.read(ready, 1)
        os.close(say_go)
        failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
        os.close(ready)
        os.close(go)
        return sum(float(file.read_text()) for file in Path(folder).glob("*.rounds")), failed


def rounds(seconds, times):
    rivals = {"allgood": ours}
    if optuna is None:
        console.print("Optuna is not installed (pip install optuna): no comparison with it.\n")
    else:
        rivals |= {
            "random": theirs(optuna.samplers.RandomSampler),
            "TPE": theirs(optuna.samplers.TPESampler),
        }
    version = "" if optuna is None else f" (Optuna {optuna.__version__})"
    rows = table(
        f"rounds per second, the median of {times}{version}",
        "processes", "allgood", "Optuna, random", "ratio", "Optuna, TPE", "ratio", "failed",
    )  # fmt: skip
    for processes in (1, 4, 16):
        found, failures = {name: [] for name in rivals}, dict.fromkeys(rivals, 0)
        for _ in range(times):
            for name, opened in rivals.items():
                per_second, failed = rate(opened, processes, seconds)
                found[name].append(per_second)
                failures[name] += failed
        median = {name: float(np.median(those)) for name, those in found.items()}
        cells = [
            cell
            for name in ("random", "TPE")
            for cell in (
                (f"{median[name]:.1f}", f"{np.divide(median['allgood'], median[name]):.1f}")
                if name in median
                else ("-", "-")
            )
        ]
        rows.add_row(
            str(processes),
            f"{median['allgood']:.0f}",
            *cells,
            ", ".join(map(str, failures.values())),
        )
    console.print(rows, "")


def kills(number):
    """Workers killed at random moments: nothing that was acknowledged may be lost."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "studies.db"
        workers.create(path).close()
        workers.kills(str(path), folder, number, workers=3, lease=0.2, early=False, seed=0)
        with load_study(path, clock=lambda: time.time() + 60.0) as study:
            told = {
                (event.ticket, event.value)
                for event in study.events()
                if event.kind == "measurement"
            }
            noted = {
                (int(ticket.split("-")[1]), value) for ticket, value in workers.acknowledged(folder)
            }
            orphans = [ticket.id for ticket in study.open_tickets]
            again = [ticket.id for ticket in study.ask(max(len(orphans), 1), client="heir")][
                : len(orphans)
            ]
        connection = sqlite3.connect(path)
        [(state,)] = connection.execute("PRAGMA integrity_check").fetchall()
        connection.close()
    console.print(
        f"{number} workers killed: {len(noted):,} values acknowledged, {len(noted - told)} lost; "
        f"{len(orphans)} tickets left open, {len(set(orphans) & set(again))} offered again; "
        f"integrity: {state}\n"
    )
    assert noted <= told
    assert orphans == again
    assert state == "ok"


def filled(path, num_arms, measurements):
    """A study with so many values, of arms in turn.

    One arm is on the threshold, so that the study has not ended.
    """
    names = [f"arm {a}" for a in range(num_arms)]
    rng = np.random.default_rng(num_arms)
    means = rng.normal(size=num_arms)
    means[0] = means[1:].max() - 0.01
    with create_study(
        path.with_suffix(".empty"), "s", arms=names, objective=Additive(0.01), delta=0.05
    ) as study:
        [line] = study.export()
    lines = [line]
    for i in range(measurements):
        arm, value = i % num_arms, float(means[i % num_arms] + rng.standard_normal())
        asked = Event(2 * i + 2, "ticket", 0.0, ticket=i + 1, arm=arm, pooled=False, batch=i + 1)
        told = Event(2 * i + 3, "measurement", 0.0, ticket=i + 1, value=value)
        lines += [asked.line() + "\n", told.line() + "\n"]
    import_study(path, lines).close()


def timed(work):
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def looking_and_loading():
    rows = table(
        "to look and to load, 60 arms",
        "measurements", "events", "load", "first status", "another", "its lower bound",
        "its forecast",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for number in (120, 5000, 10_000, 50_000):  # the first is not shown: it loads modules
            path = Path(folder) / f"{number}.db"
            filled(path, 60, number)
            study, loading = timed(lambda path=path: load_study(path))
            status, first = timed(study.status)
            another = min(timed(study.status)[1] for _ in range(5))
            bound, left = (
                timed(lambda status=status: status.lower_bound)[1],
                timed(lambda status=status: status.left)[1],
            )
            study.close()
            if number > 120:
                cells = [f"{1000 * seconds:,.0f} ms" for seconds in (loading, first)]
                cells += [
                    f"{1000 * another:.1f} ms",
                    f"{1000 * bound:,.0f} ms",
                    f"{1000 * left:,.0f} ms",
                ]
                rows.add_row(f"{number:,}", f"{status.events:,}", *cells)
    console.print(rows, "")


def in_batches(strategy, rewards, size):
    """Measurements until everything is certified, asked for so many at a time."""
    engine, counts, pulls = (
        Engine(strategy, Gaussian(), len(rewards)),
        np.zeros(len(rewards), int),
        0,
    )
    while not engine.is_done():
        for arm, pooled in engine.choose(size, []):
            engine.process(arm, rewards[arm, counts[arm]], pooled)
            counts[arm] += 1
            pulls += 1
        engine.end_tell()
    return pulls


def batches(runs):
    """The n-th reward of an arm is the same for both: only the asking differs."""
    strategy = ClaimByClaim(Additive(0.5), 0.05)
    rows = table(
        f"batches of 96 against one at a time (epsilon 0.5, delta 0.05), {runs} runs, "
        "standard errors",
        "arms", "one at a time", "batches of 96", "more", "in batches", "more, in %",
    )  # fmt: skip
    for means in (
        np.array([1.0, 1.0, 0.9, 0.2, 0.0]),
        normal_means(20, 0.1),
        normal_means(60, 0.1),
    ):
        found = []
        for seed in range(runs):
            rewards = means[:, None] + np.random.default_rng(seed).standard_normal(
                (means.size, 20_000)
            )
            found.append(
                (run(strategy, RewardTable(rewards)).pulls, in_batches(strategy, rewards, 96))
            )
        one, many = np.array(found, float).T
        more, error = (many - one).mean(), (many - one).std(ddof=1) / np.sqrt(runs)
        rows.add_row(
            str(means.size),
            *(f"{x.mean():,.0f} ± {x.std(ddof=1) / np.sqrt(runs):,.0f}" for x in (one, many)),
            f"{more:,.0f} ± {error:,.0f}",
            f"{more / 96:.2f} ± {error / 96:.2f}",
            f"{100 * more / one.mean():.1f} ± {100 * error / one.mean():.1f}",
        )
    console.print(rows, "")


if __name__ == "__main__":
    quick = begin(__doc__, "fewer runs").quick
    if os.name == "posix":
        with tempfile.TemporaryDirectory() as warm:
            workers.warm_up(warm)
        rounds(1.0 if quick else 4.0, 1 if quick else 3)
        kills(30 if quick else 200)
    else:
        console.print("No fork on this system: rounds and kills are left out.\n")
    looking_and_loading()
    batches(20 if quick else 100)
