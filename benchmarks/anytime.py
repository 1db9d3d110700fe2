"""What strategies know before they stop: certified labels and F1 score after a few pulls per arm.

    .venv/bin/python benchmarks/anytime.py                 every instance of the suites
    .venv/bin/python benchmarks/anytime.py --quick         four small instances, few runs
    .venv/bin/python benchmarks/anytime.py --json FILE     the same numbers as JSON, too
    .venv/bin/python benchmarks/anytime.py --fresh SEED    labels on ten instances drawn anew

K is the number of arms, delta is 0.1 by default.  Two simulations for each instance and strategy:
one along the grid of pulls, and one to the strategy's own stop, or to a budget.  With --fresh: one
along the grid, for ClaimByClaim and round robin.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from ceiling import most_labels

from allgood import Additive, Instance, compare
from allgood.simulation.instances import suite

STRATEGIES = {
    "claim-by-claim": "ClaimByClaim",
    "uniform:mixture": "round robin",
    "st2:mixture": "(ST)^2 mixture",
    "track-and-stop:mixture": "TaS mixture",
}
LABELS_AT = (5, 20, 80)  # pulls per arm
F1_AT = (5, 10, 20, 50)
GRID = sorted({*LABELS_AT, *F1_AT})
SHAPES = {
    "normal": lambda rng, K: rng.normal(size=K),
    "uniform": lambda rng, K: rng.uniform(0.0, 3.5, size=K),
    "exponential": lambda rng, K: -rng.exponential(size=K),
    "clustered": lambda rng, K: rng.choice(3.0 * rng.random(3), K) + 0.2 * rng.normal(size=K),
    "beta": lambda rng, K: 3.0 * rng.beta(0.5, 2.0, size=K),
}


def fresh_instances(seed):
    """Two instances of each shape, with 20 to 80 arms.

    They are spread over 0.3 to 2 sigma, and epsilon is 0.2 to 1.5 times that.
    """
    rng = np.random.default_rng(seed)
    for shape, draw in SHAPES.items():
        for number in (1, 2):
            K = int(rng.integers(20, 81))
            spread = float(np.exp(rng.uniform(np.log(0.3), np.log(2.0))))
            objective = Additive(spread * float(rng.uniform(0.2, 1.5)))
            yield Instance(f"{shape}-{number}", spread * draw(rng, K), objective)


FRESH_HEADS = (
    "instance",
    "K",
    "pulls",
    "round robin",
    "ClaimByClaim",
    "ratio",
    "no strategy more than",
    "runs with a wrong label",
)


def compare_fresh(seed, runs, delta):
    """Labels of ClaimByClaim and round robin on instances drawn anew, as a table."""
    print(line(FRESH_HEADS))
    print(line("---" for _ in FRESH_HEADS))
    names = ("claim-by-claim", "uniform:mixture")
    for instance in fresh_instances(seed):
        K = instance.means.size
        grid = [n * K for n in LABELS_AT]
        found = compare(names, instance, delta, runs, grid=grid, seed=seed).of_instance(instance)
        ours, in_turn = (found[name].labels_certified.mean(axis=0) for name in names)
        wrong = int((found["claim-by-claim"].labels_wrong[:, -1] > 0).sum())
        for i, pulls in enumerate(grid):
            ratio = f"{ours[i] / in_turn[i]:.2f}" if in_turn[i] > 0.0 else "-"
            most = most_labels(instance, pulls, delta)
            numbers = (f"{in_turn[i]:.1f}", f"{ours[i]:.1f}", ratio, f"{most:.1f}", str(wrong))
            print(line((instance.name, str(K), f"{LABELS_AT[i]} K", *numbers)), flush=True)


def row_of(instance, name, tracks, ends):
    """One strategy on one instance; ``ends`` are its runs to the end."""
    K = instance.means.size
    at = {per_arm: GRID.index(per_arm) for per_arm in GRID}
    stopped = int(ends.certified.sum())
    return {
        "instance": instance.name,
        "arms": K,
        "strategy": STRATEGIES[name],
        "labels": {f"{n} K": tracks.labels_certified[:, at[n]].mean() for n in LABELS_AT},
        "runs with a wrong label": int((tracks.labels_wrong[:, -1] > 0).sum()),
        "f1": {f"{n} K": tracks.f1[:, at[n]].mean() for n in F1_AT},
        "runs to the end": len(ends.results),
        "runs that ended": stopped,
        "mean pulls to the end": ends.pulls.mean() if stopped == len(ends.results) else None,
    }


def measure(instance, delta, runs, runs_to_the_end, budget, seed, folder):
    """The rows of an instance: one for each strategy that can handle it."""
    options = {"seed": seed, "progress": True}
    kept = [None if folder is None else folder / name for name in ("grid", "end")]
    grid, names = [n * instance.means.size for n in GRID], list(STRATEGIES)
    tracks = compare(names, instance, delta, runs, grid=grid, resume=kept[0], **options)
    ends = compare(
        names, instance, delta, runs_to_the_end, budget=budget, resume=kept[1], **options
    )
    both = tracks.of_instance(instance), ends.of_instance(instance)
    return [row_of(instance, name, both[0][name], both[1][name]) for name in both[0]]


HEADS = (
    "instance",
    "K",
    "strategy",
    *(f"labels at {n} K" for n in LABELS_AT),
    "runs with a wrong label",
    *(f"F1 at {n} K" for n in F1_AT),
    "pulls to the end",
)


def line(cells):
    return f"| {' | '.join(cells)} |"


def line_of(row):
    """A row of the table, in Markdown."""
    end = row["mean pulls to the end"]
    stopped = f"{row['runs that ended']} of {row['runs to the end']} ended"
    return line(
        (
            row["instance"],
            str(row["arms"]),
            row["strategy"],
            *(f"{x:.1f}" for x in row["labels"].values()),
            str(row["runs with a wrong label"]),
            *(f"{x:.3f}" for x in row["f1"].values()),
            stopped if end is None else f"{end:,.0f}",
        )
    )


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="four small instances, few runs")
    parser.add_argument("--suite", help='a suite or an instance; by default "all" and "models"')
    parser.add_argument("--data", type=Path, help="the PKIS2 table, for one more instance")
    parser.add_argument("--fresh", type=int, metavar="SEED", help="ten instances drawn anew")
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=100, help="along the grid")
    parser.add_argument("--runs-to-the-end", type=int, default=20)
    parser.add_argument("--budget", type=int, default=1_000_000, help="of a run to the end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, help="folder that keeps finished runs")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    return parser.parse_args()


def main():
    asked = options()
    if asked.fresh is not None:
        compare_fresh(asked.fresh, asked.runs, asked.delta)
        return
    runs, runs_to_the_end, budget = asked.runs, asked.runs_to_the_end, asked.budget
    if asked.suite:
        instances = suite(asked.suite, asked.data)
    elif asked.quick:
        names = ("three-arms", "uniform-5", "equally-spaced-11", "passes-6")
        instances = [suite(name)[0] for name in names]
    else:
        instances = suite("all", asked.data) + suite("models")
    if asked.quick:
        runs, runs_to_the_end, budget = 10, 3, 50_000
    if asked.resume is not None:
        asked.resume.mkdir(parents=True, exist_ok=True)
    print(line(HEADS))
    print(line("---" for _ in HEADS))
    rows = []
    for instance in instances:
        found = measure(
            instance, asked.delta, runs, runs_to_the_end, budget, asked.seed, asked.resume
        )
        print(*map(line_of, found), sep="\n", flush=True)
        rows += found
    if asked.json is not None:
        settings = {"delta": asked.delta, "seed": asked.seed, "runs": runs, "budget": budget}
        text = json.dumps(settings | {"rows": rows}, indent=1)
        asked.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
