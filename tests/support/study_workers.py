"""Programs that work on one study at once, some of them killed.

One process imports what is needed.  Workers are forked from it, and open the study by themselves.
Each keeps a file of the values that were acknowledged to it, written once ``tell`` has returned.
"""

import gc
import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from sqlalchemy import create_engine

from allgood import Additive, create_study, load_study

ARMS = ["ash", "birch", "cedar"]
PATIENCE = 600.0  # seconds after which whoever waits gives up: something is broken


def create(url, name="s"):
    """A study that does not end soon."""
    return create_study(
        url, name, arms=ARMS, objective=Additive(0.01), delta=0.1, load_if_exists=True
    )


def value_of(ticket):
    """What is measured.

    A function of the ticket's number, so that whoever measures finds the same.
    """
    return int(ticket.split("-")[1]) * 0.37 % 1.0


class Acknowledged:
    """A file of what was acknowledged, on the disk before the next thing is done."""

    def __init__(self, folder, worker):
        self.file = (Path(folder) / f"{worker}.acknowledged").open("a")

    def write(self, ticket):
        self.file.write(f"{ticket} {value_of(ticket)!r}\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def acknowledged(folder):
    """All (ticket, value) pairs that workers wrote down; a line that was cut off is none."""
    lines = [
        line
        for path in Path(folder).glob("*.acknowledged")
        for line in path.read_text().splitlines(True)
    ]
    return [
        (ticket, float(value))
        for ticket, value in (line.split() for line in lines if line.endswith("\n"))
    ]


def fork(work, *arguments):
    """Do it in a child; its number."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def rounds(study, folder, worker, number):
    """Ask for one, tell it, tell it again."""
    notes = Acknowledged(folder, worker)
    for _ in range(number):
        [ticket] = study.ask(1, client=worker)
        [first] = study.tell([(ticket, value_of(ticket.id))], client=worker)
        [second] = study.tell([(ticket, value_of(ticket.id))], client=worker)
        assert (first.status, second.status) == ("accepted", "duplicate"), (first, second)
        notes.write(ticket.id)


def race(url, folder, processes, number, way):
    """Run so many workers at once.  Returns how many failed.

    ``way``: each worker loads the study; or creates it, unless another did; or inherits it open
    from its parent, which closes its own when half of the work is done.
    """
    begin, begun = os.pipe()
    go_on, closed = os.pipe()
    study = create(url) if way == "inherits" else None

    def work(worker):
        os.close(begun)
        os.close(closed)
        os.read(begin, 1)  # returns when the parent closes the other end
        mine = study or (create(url) if way == "creates" else load_study(url, "s"))
        rounds(mine, folder, worker, number // 2)
        os.read(go_on, 1)
        rounds(mine, folder, worker, number - number // 2)

    children = [fork(work, f"worker {i}") for i in range(processes)]
    os.close(begun)
    if study is not None:
        wait_for(folder, processes * (number // 2))
        study.status()  # its own connection is not spoilt by its children's
        study.close()
    os.close(closed)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    os.close(begin)
    os.close(go_on)
    return {"failed": failed}


def until_killed(url, folder, worker, lease):
    """Ask and tell for ever."""
    study, notes, limit = (
        load_study(url, "s"),
        Acknowledged(folder, worker),
        time.monotonic() + PATIENCE,
    )
    while time.monotonic() < limit:
        for ticket in study.ask(2, client=worker, lease=lease):
            study.tell([(ticket, value_of(ticket.id))], client=worker)
            notes.write(ticket.id)


def dies_with_tickets(url, folder, worker, lease, early):
    """Ask, and be killed before telling.

    With ``early``, after writing an acknowledgement, which is wrong.
    """
    study, notes = load_study(url, "s"), Acknowledged(folder, worker)
    tickets = study.ask(2, client=worker, lease=lease)
    if early:
        notes.write(tickets[0].id)
    os.kill(os.getpid(), signal.SIGKILL)


def kills(url, folder, number, workers, between, lease, early, seed):
    """Kill so many workers, each at a random moment, and start others in their place.

    ``between`` two kills so many values are acknowledged, however slow the machine is.  When all
    are dead, a last worker dies with open tickets in its hands.
    """
    rng, started, alive, failed = random.Random(seed), 0, [], 0
    try:
        for _ in range(number):
            while len(alive) < workers:
                alive.append(fork(until_killed, url, folder, f"worker {started}", lease))
                started += 1
            wait_for(folder, len(acknowledged(folder)) + between)
            time.sleep(rng.uniform(0.0, 0.02))  # so that the kill comes at any moment of a round
            child = alive.pop(rng.randrange(workers))
            os.kill(child, signal.SIGKILL)
            failed += os.waitpid(child, 0)[1] != signal.SIGKILL
    finally:
        for child in alive:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    last = fork(dies_with_tickets, url, folder, "the last worker", lease, early)
    failed += os.waitpid(last, 0)[1] != signal.SIGKILL
    return {"failed": failed}


def wait_for(folder, number):
    """Until so many values are acknowledged."""
    limit = time.monotonic() + PATIENCE
    while len(acknowledged(folder)) < number and time.monotonic() < limit:
        time.sleep(0.005)


def warm_up(folder):
    """Load every module that a study needs, before there are children; also those of PostgreSQL."""
    with suppress(ImportError):
        create_engine("postgresql+psycopg://").dialect.loaded_dbapi  # noqa: B018
    with create(Path(folder) / "warm.db") as study:
        for _ in range(3):
            study.tell([(ticket, value_of(ticket.id)) for ticket in study.ask(4)])


def main():
    """Do what each line of the standard input says, and answer in a line."""
    warm_up(sys.argv[1])
    gc.freeze()  # children share what is there
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps({"race": race, "kills": kills}[order.pop("do")](**order)), flush=True)


if __name__ == "__main__":
    main()
