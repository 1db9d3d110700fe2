"""Measure the server: rounds of ask and tell over HTTP, kills, the time to the first page, idling.

    python benchmarks/serve.py               everything but the fuzzing
    python benchmarks/serve.py --quick       fewer rounds and kills
    python benchmarks/serve.py --idle 600    how long the server idles with 20 open pages
    python benchmarks/serve.py --fuzz 500    requests made from the description, for each route

A round is to ask for one measurement and to tell its value.  Each program serves 16 clients, which
are threads of one process, and stores its rounds in a SQLite file.  Optuna does the same, if it is
installed: on the file itself, and through its gRPC proxy, if grpcio is installed.  Optuna draws at
random.  All use SQLite as they come, and take turns within one run, so that ratios mean something
on a machine that does other work as well.
"""

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import psutil
from report import begin, console, table

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.serve_clients import Crowd, assert_counted_once, killed
from tests.support.serving import Program
from tests.support.study_workers import ARMS, create

try:
    import optuna
except ImportError:
    optuna = None
try:
    import grpc
except ImportError:
    grpc = None

CLIENTS = 16
PAGES = 20


@contextlib.contextmanager
def ours(folder):
    path = folder / "studies.db"
    create(path).close()
    with Program(path) as server:

        def work(rounds):
            with Crowd(lambda: server.address, CLIENTS, rounds) as crowd:
                pass
            if crowd.failed or len(crowd.acknowledged) != rounds:
                raise RuntimeError(f"rounds failed: {crowd.failed[:1]}")

        yield work


def storage_of(path):
    patience = {"connect_args": {"timeout": 60}}
    return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs=patience)


@contextlib.contextmanager
def optuna_file(folder):
    path = folder / "optuna.db"
    yield optuna_rounds(lambda: storage_of(path))


PROXY = """
import sys, warnings, optuna
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
patience = {"connect_args": {"timeout": 60}}
storage = optuna.storages.RDBStorage(f"sqlite:///{sys.argv[1]}", engine_kwargs=patience)
optuna.storages.run_grpc_proxy_server(storage, host="localhost", port=int(sys.argv[2]))
"""


@contextlib.contextmanager
def optuna_proxy(folder):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", PROXY, str(folder / "optuna.db"), str(port)]
    server = subprocess.Popen(command)
    try:
        first = optuna.storages.GrpcStorageProxy(host="localhost", port=port)
        first.wait_server_ready(timeout=60)
        yield optuna_rounds(lambda: optuna.storages.GrpcStorageProxy(host="localhost", port=port))
    finally:
        server.kill()
        server.wait()


def optuna_rounds(storage):
    def opened():
        sampler = optuna.samplers.RandomSampler()
        return optuna.create_study(
            storage=storage(), study_name="s", sampler=sampler, load_if_exists=True
        )

    opened()

    def work(rounds):
        left, lock, failed = [rounds], threading.Lock(), []

        def client():
            try:
                study = opened()
                while True:
                    with lock:
                        left[0] -= 1
                        if left[0] < 0:
                            return
                    trial = study.ask()
                    trial.suggest_categorical("arm", ARMS)
                    study.tell(trial, 0.37 * trial.number % 1.0)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise RuntimeError(f"rounds failed: {failed[0]!r}")

    return work


def rounds(number, times):
    rivals = {"allgood serve": ours}
    if optuna is None:
        console.print("Optuna is not installed (pip install optuna): no comparison with it.\n")
    else:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        rivals["Optuna, SQLite"] = optuna_file
        if grpc is None:
            console.print("grpcio is not installed: no comparison with Optuna's proxy.\n")
        else:
            rivals["Optuna, gRPC proxy"] = optuna_proxy
    best = dict.fromkeys(rivals, 0.0)
    for _ in range(times):
        for name, rival in rivals.items():
            with tempfile.TemporaryDirectory() as folder, rival(Path(folder)) as work:
                work(CLIENTS)  # everything loaded, every connection open
                start = time.monotonic()
                work(number)
                best[name] = max(best[name], number / (time.monotonic() - start))
    shown = table(
        f"{number} rounds of {CLIENTS} clients", "command", "rounds per second", "ratio to allgood"
    )
    for name, rate in best.items():
        shown.add_row(name, f"{rate:.0f}", f"{rate / best['allgood serve']:.2f}")
    console.print(shown, "")


def kills(number, of_rounds):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "studies.db"
        create(path).close()
        crowd = killed(path, number, CLIENTS, of_rounds, seed=0)
        assert_counted_once(path, crowd, of_rounds)
    console.print(
        f"{number} kills of the server during {of_rounds} rounds of {CLIENTS} clients: every "
        f"round counts once; {crowd.repeated} requests were sent again.\n"
    )


def first_page(times):
    spans = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "studies.db"
        create(path).close()
        for _ in range(times):
            start = time.monotonic()
            with Program(path) as server:
                connection = server.connect()
                connection.request("GET", "/")
                if connection.getresponse().status != 200:
                    raise RuntimeError("there is no page")
                spans.append(time.monotonic() - start)
                connection.close()
    console.print(f"From the start to the first page: {min(spans):.2f} s at best.\n")


def idling(seconds):
    """Memory and processor time of a server with open pages on which nothing happens."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as pages:
        path = Path(folder) / "studies.db"
        create(path).close()
        server = pages.enter_context(Program(path))
        for i in range(PAGES):
            connection = server.connect()
            pages.callback(connection.close)
            connection.request("GET", "/v1/live" if i % 2 else "/v1/studies/1/live")
            if connection.getresponse().readline() != b"retry: 1000\n":
                raise RuntimeError("there is no stream")
        process = psutil.Process(server.process.pid)
        shown = table(
            f"Idle with {PAGES} open pages for {seconds} s",
            "after, s",
            "memory, MB",
            "processor, % of a core",
        )
        before = process.cpu_times()
        for part in range(1, 6):
            time.sleep(seconds / 5)
            now, memory = process.cpu_times(), process.memory_info().rss
            used = now.user + now.system - before.user - before.system
            shown.add_row(
                f"{seconds * part / 5:.0f}", f"{memory / 1e6:.1f}", f"{500.0 * used / seconds:.1f}"
            )
            before = now
    console.print(shown, "")


def fuzzing(examples):
    from tests.support.serve_fuzzing import database, fuzz, operations

    seen = Counter()
    with tempfile.TemporaryDirectory() as folder:
        template = database(Path(folder) / "template.db")
        for i, operation in enumerate(operations(template)):
            seen += fuzz(operation, template, Path(folder) / f"{i}.db", examples)
    by_status = ", ".join(f"{n} of {status}" for status, n in sorted(seen.items()))
    console.print(f"Requests made from the description, by the status of their answer: {by_status}")


def main():
    options = begin(
        __doc__,
        "fewer rounds and kills",
        idle="seconds for which the server idles",
        fuzz="requests for each route, made from the description; nothing else is done",
    )
    if options.fuzz:
        fuzzing(options.fuzz)
        return
    quick = options.quick
    first_page(3 if quick else 10)
    rounds(300 if quick else 1000, 1 if quick else 3)
    kills(3 if quick else 30, 300 if quick else 1000)
    idling(options.idle or (20 if quick else 600))


if __name__ == "__main__":
    main()
