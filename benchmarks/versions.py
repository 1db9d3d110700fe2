"""This version of allgood, and another in an environment of its own, timed in alternation."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

OURS = ("PYTHONPATH",)  # would make another interpreter find our modules


def without(*names):
    """The variables of this process but for these."""
    return {key: value for key, value in os.environ.items() if key not in names}


@contextmanager
def versions(other=None):
    """One process for this version, and one for the other if its interpreter is given."""
    with ExitStack() as stack:
        pythons = [(sys.executable, None)] + [(other, without(*OURS))] * bool(other)
        yield [stack.enter_context(opened(*python)) for python in pythons]


@contextmanager
def opened(python, environment):
    """A process that does the jobs of ``job.py``; it ends when its input does."""
    with subprocess.Popen(
        [python, Path(__file__).with_name("job.py")],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def ask(process, **job):
    """What a process answers to one job."""
    print(json.dumps(job), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError(f"{process.args[0]} failed at {job}.")
    return json.loads(answer)


def alternate(processes, seconds, **job):
    """The least seconds of each process, for about so many seconds each.

    The processes take turns.  The first turn of each only warms up, and does not count.
    """
    best, spent, seed = [float("inf")] * len(processes), 0.0, 0
    while seed < 4 or (spent < seconds * len(processes) and seed < 1000):
        for i, process in enumerate(processes):
            whole, measured = ask(process, **job, seed=seed)
            if seed > 0 and measured is not None:
                best[i] = min(best[i], measured)
            spent += whole
        seed += 1
    return best
