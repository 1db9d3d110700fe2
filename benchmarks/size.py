"""Large studies: the time and the memory to load them, and for status, certificate and report.

    python benchmarks/size.py                   1,000, 4,000 and 20,000 arms with 50 values each
    python benchmarks/size.py --quick           1,000 arms only
    python benchmarks/size.py --arms 4000       one size
    python benchmarks/size.py --json FILE       the figures as JSON as well

Means are normal, the question is Additive(0.5), delta is 0.05 and sigma is 1.  Values are told in
rounds: one tell holds one value of each arm.  With ``--per-tell N`` one tell holds N values.

Each row is measured in three new processes: one loads the study, computes its status twice and its
certificate; one makes the report; one verifies the certificate with the log.  A process that takes
longer than ``--limit`` seconds is ended, and what it has not measured by then is shown as "-".
Times are of the processor: other work on the machine makes them a little longer, not several times.
Memory is the largest resident set of the first process.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import console, table

from allgood import Additive, create_study, load_study

SIZES = (1000, 4000, 20_000)
STEPS = ("load", "first status", "second status", "certificate", "memory", "report", "verify")


def fill(path, num_arms, values_per_arm, per_tell):
    """Create a study and tell it the values, so many at a time, arm by arm in turn."""
    rng = np.random.default_rng(num_arms)
    means = rng.normal(size=num_arms)
    names = [f"arm {a}" for a in range(num_arms)]
    ticket, total = 0, num_arms * values_per_arm
    with create_study(path, "s", arms=names, objective=Additive(0.5), delta=0.05) as study:
        while ticket < total:
            arms = np.arange(ticket, min(ticket + per_tell, total)) % num_arms
            values = means[arms] + rng.standard_normal(arms.size)
            with study.backend.changing() as draft:
                batch = draft.state.batches + 1
                for i, arm in enumerate(arms.tolist()):
                    number = ticket + i + 1
                    draft.record("ticket", ticket=number, arm=arm, pooled=False, batch=batch)
            with study.backend.changing() as draft:
                for i, value in enumerate(values.tolist()):
                    draft.record("measurement", ticket=ticket + i + 1, value=value)
            ticket += arms.size


def say(step, start):
    """Report a measurement to the parent process."""
    print(json.dumps({step: time.process_time() - start}), flush=True)


def use(path, folder):
    """Load the study, compute its status twice and its certificate."""
    start = time.process_time()
    study = load_study(path)
    say("load", start)
    for step in ("first status", "second status"):
        start = time.process_time()
        study.status().verdict  # noqa: B018 - a property that computes the warnings
        say(step, start)
    start = time.process_time()
    certificate = study.certificate()
    say("certificate", start)
    print(json.dumps({"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}), flush=True)
    (folder / "certificate.json").write_text(json.dumps(certificate))
    (folder / "events.jsonl").write_text("".join(study.export()))


def report(path, folder):
    """Make the report.  The study is loaded before."""
    from allgood.reporting.report import report_html

    study = load_study(path)
    start = time.process_time()
    page = report_html(study)
    say("report", start)
    (folder / "report.html").write_text(page)


def verify(path, folder):
    """Verify the certificate with the log."""
    from allgood.certificates.verify import verify as verified

    start = time.process_time()
    certificate = json.loads((folder / "certificate.json").read_text())
    found = verified(certificate, (folder / "events.jsonl").read_text().splitlines())
    assert found.ok, found.problems[:3]
    say("verify", start)


WORK = {"use": use, "report": report, "verify": verify}


def measure(work, path, folder, limit):
    """Run one kind of work in a new process; return what it has measured within the limit."""
    command = [sys.executable, __file__, "--work", work, str(path), str(folder)]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=limit, check=False
        )
        output = done.stdout
        if done.returncode:
            console.print(f"{work} failed with exit status {done.returncode}")
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode()
    found = {}
    for line in output.splitlines():
        found |= json.loads(line)
    return found


def row(num_arms, values_per_arm, per_tell, limit):
    """Measure one size."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "study.db"
        fill(path, num_arms, values_per_arm, per_tell)
        found = measure("use", path, folder, limit)
        if "certificate" in found:
            found |= measure("report", path, folder, limit)
            found |= measure("verify", path, folder, limit)
    return {"arms": num_arms, "values": values_per_arm, "per_tell": per_tell} | found


def shown(step, figure):
    """A figure as text."""
    if figure is None:
        return "-"
    return f"{figure / 1024:,.0f} MB" if step == "memory" else f"{figure:,.2f} s"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1,000 arms only")
    parser.add_argument("--arms", type=int, nargs="+", help="these numbers of arms")
    parser.add_argument("--values", type=int, default=50, help="values of each arm")
    parser.add_argument(
        "--per-tell", type=int, help="values in one tell; one of each arm if absent"
    )
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds for one process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work, path, folder = options.work
        WORK[work](Path(path), Path(folder))
        return
    sizes = options.arms or (SIZES[:1] if options.quick else SIZES)
    rows = table("large studies", "arms", "values of each", "values in a tell", *STEPS)
    found = []
    for num_arms in sizes:
        per_tell = options.per_tell or num_arms
        found.append(row(num_arms, options.values, per_tell, options.limit))
        cells = (shown(step, found[-1].get(step)) for step in STEPS)
        rows.add_row(f"{num_arms:,}", f"{options.values}", f"{per_tell:,}", *cells)
    console.print(rows)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
