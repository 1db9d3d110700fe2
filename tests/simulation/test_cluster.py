"""The same simulation on a real cluster.

Two worker processes of this machine, one of them killed in the middle.
"""

import os
import signal

import pytest

from allgood import Additive, TrackAndStop, simulate

from ..support.command_line import allgood
from ..support.own_strategy import SuccessiveElimination
from ..support.systems import needs_posix
from .test_simulation import PAPER, same

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # what the cluster says about its own shutting down


@pytest.fixture(scope="module")
def cluster():
    """One for all tests.  Each leaves two workers behind."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


@needs_posix
def test_a_cluster_gives_the_same_numbers_though_a_worker_dies(cluster):
    strategy = TrackAndStop(Additive(0.9), (0.2, 0.1), "kaufmann-koolen")
    here = simulate(strategy, PAPER, runs=40, seed=7)
    with distributed.Client(cluster) as client:
        first = client.run(os.getpid)
        assert len(first) == 2
        killed = []

        def kill_one(done, total):
            if done == 10:
                killed.append(next(iter(first.values())))
                os.kill(killed[0], signal.SIGKILL)

        there = simulate(strategy, PAPER, runs=40, seed=7, workers=client, progress=kill_one)
        same(there, here)
        client.wait_for_workers(2, timeout=60)
        assert killed[0] not in client.run(os.getpid).values()


def test_a_strategy_of_ones_own_runs_on_a_cluster(cluster):
    strategy, means = SuccessiveElimination(Additive(1.2), 0.1), [4.0, 3.6, 1.0, 0.0]
    here = simulate(strategy, means, runs=8, seed=3)
    with distributed.Client(cluster) as client:
        same(simulate(strategy, means, runs=8, seed=3, workers=client), here)


def test_the_command_line_reaches_a_cluster(cluster):
    options = [
        "--means",
        "1,1,1,1,0.05",
        "--epsilon",
        "0.9",
        "--strategy",
        "st2:mixture",
        "--runs",
        "5",
        "--json",
    ]
    there = allgood("simulate", *options, "--cluster", cluster.scheduler_address)
    assert there.returncode == 0, there.stderr
    assert there.stdout == allgood("simulate", *options, "--workers", "1").stdout
    both = allgood("simulate", *options, "--cluster", cluster.scheduler_address, "--workers", "2")
    assert both.returncode == 2
    assert "--workers must be left out with --cluster" in both.stderr


def test_an_address_that_leads_nowhere():
    done = allgood(
        "simulate", "--means", "1,0", "--epsilon", "0.5", "--cluster", "tcp://127.0.0.1:1"
    )
    assert done.returncode == 2
    assert "cluster must be the address of a Dask scheduler" in done.stderr
