"""Programs that work on one study at once, some of them killed.

One process imports and compiles what is needed; workers are forked from it, and open the study by themselves.  Each
keeps a file of the values that were acknowledged to it, written once ``tell`` has returned.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from allgood import Additive, create_study, load_study

ARMS = ["ash", "birch", "cedar"]
PATIENCE = 120.0  # seconds after which a worker that nobody killed gives up


def create(url, name="s"):
    """A study that does not end soon."""
    return create_study(url, name, arms=ARMS, objective=Additive(0.01), delta=0.1, load_if_exists=True)


def value_of(ticket):
    """What is measured: a function of the ticket's number, so that whoever measures finds the same."""
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
    lines = [line for path in Path(folder).glob("*.acknowledged") for line in path.read_text().splitlines(True)]
    return [(ticket, float(value)) for ticket, value in (line.split() for line in lines if line.endswith("\n"))]


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
    """So many at once; how many failed.

    ``way``: each loads the study; or creates it, unless another did; or inherits it open from its parent, which closes
    its own when half is done.
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
        limit = time.monotonic() + PATIENCE
        while len(acknowledged(folder)) < processes * (number // 2) and time.monotonic() < limit:
            time.sleep(0.01)
        study.status()  # its own connection is not spoilt by its children's
        study.close()
    os.close(closed)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    os.close(begin)
    os.close(go_on)
    return {"failed": failed}


def until_killed(url, folder, worker, lease, early):
    """Ask and tell for ever.  ``early``: write the acknowledgement before there is one, which is wrong."""
    study, notes, limit = load_study(url, "s"), Acknowledged(folder, worker), time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        for ticket in study.ask(2, client=worker, lease=lease):
            if early:
                notes.write(ticket.id)
            study.tell([(ticket, value_of(ticket.id))], client=worker)
            if not early:
                notes.write(ticket.id)


def kills(url, folder, number, workers, lease, early, seed):
    """Kill so many workers, one after another, each at a random moment, and start others in their place."""
    rng, started, alive, failed = random.Random(seed), 0, [], 0
    try:
        for _ in range(number):
            while len(alive) < workers:
                alive.append(fork(until_killed, url, folder, f"worker {started}", lease, early))
                started += 1
            time.sleep(rng.uniform(0.01, 0.12))
            child = alive.pop(rng.randrange(workers))
            os.kill(child, signal.SIGKILL)
            failed += os.waitpid(child, 0)[1] != signal.SIGKILL
    finally:
        for child in alive:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return {"failed": failed}


def warm_up(folder):
    """Load or compile every kernel that a study needs, before there are children."""
    with create(Path(folder) / "warm.db") as study:
        for _ in range(3):
            study.tell([(ticket, value_of(ticket.id)) for ticket in study.ask(4)])


def main():
    """Do what each line of the standard input says, and answer in a line."""
    warm_up(sys.argv[1])
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps({"race": race, "kills": kills}[order.pop("do")](**order)), flush=True)


if __name__ == "__main__":
    main()
