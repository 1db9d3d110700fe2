"""What bad data can do to a study: moved decimal points, and values told as they are ready.

    python benchmarks/bad_data.py [--quick] [--workers 2] [--json FILE]

1. One value of each study has its decimal point moved by one or two places.  How often is it held
   back, and how often is a label certified wrongly?  Beside it: the same without the check.
2. Studies without a mistake.  How often is a true value held back?  (Stated: delta / 1000.)
3. Waiting times, with 100 or 200 workers that tell and ask again, six times each on average.  How
   often is a label wrong?  Beside it: the same if values count as they are told.

Studies are simulated on their state, without a database.  Means are drawn anew for each study.
"""

import argparse
import heapq
import json
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from allgood import Additive, Bernoulli, Exponential, Gaussian, Multiplicative, Poisson
from allgood.models.base import Model
from allgood.objectives import Objective
from allgood.study.design import StudyDesign
from allgood.study.events import Event
from allgood.study.state import StudyState

DELTA = 0.05
ARMS = 20


@dataclass(frozen=True)
class Case:
    """A model, how its rewards are drawn, and the question."""

    model: Model
    objective: Objective
    means: Callable[[np.random.Generator], np.ndarray]
    draw: Callable[[np.random.Generator, float], float]


CASES = {
    "Gaussian(10)": Case(
        Gaussian(10.0),
        Additive(8.0),
        lambda rng: rng.normal(45.0, 15.0, ARMS),
        lambda rng, mean: rng.normal(mean, 10.0),
    ),
    "Gaussian(None)": Case(
        Gaussian(None),
        Additive(8.0),
        lambda rng: rng.normal(45.0, 15.0, ARMS),
        lambda rng, mean: rng.normal(mean, 10.0),
    ),
    "Poisson()": Case(
        Poisson(),
        Additive(5.0),
        lambda rng: rng.gamma(4.0, 5.0, ARMS),
        lambda rng, mean: float(rng.poisson(mean)),
    ),
    "Exponential()": Case(
        Exponential(),
        Multiplicative(0.4),
        lambda rng: rng.gamma(4.0, 5.0, ARMS),
        lambda rng, mean: rng.exponential(mean),
    ),
    "Bernoulli()": Case(
        Bernoulli(),
        Additive(0.2),
        lambda rng: rng.uniform(0.1, 0.9, ARMS),
        lambda rng, mean: float(rng.random() < mean),
    ),
}


class StudyCache:
    """A study without a database: asks and tells go into its state."""

    def __init__(self, case: Case, num_arms: int, delta: float, **rules: object) -> None:
        self.design = StudyDesign(
            name="simulated",
            uid="0" * 32,
            arms=tuple(f"arm {a}" for a in range(num_arms)),
            objective=case.objective,
            delta=delta,
            model=case.model,
            pool=True,
            seed=0,
            budget=None,
            **rules,  # type: ignore[arg-type]
        )
        self.state = StudyState(self.design)
        self.time = 0.0

    def record(self, kind: str, **parts: object) -> None:
        self.state.apply(Event(self.state.seq + 1, kind, self.time, **parts))  # type: ignore[arg-type]

    def ask(self, n: int) -> list[tuple[int, int]]:
        """Tickets with their arms."""
        self.time += 1.0
        chosen = self.state.current_engine().choose(n, self.state.unprocessed())
        first, batch = len(self.state.tickets) + 1, self.state.batches + 1
        for i, (arm, pooled) in enumerate(chosen):
            self.record("ticket", ticket=first + i, arm=arm, pooled=pooled, batch=batch)
        return [(first + i, arm) for i, (arm, _) in enumerate(chosen)]

    def tell(self, values: list[tuple[int, float]]) -> None:
        self.time += 1.0
        for number, value in sorted(values):
            self.record("measurement", ticket=number, value=value)

    def wrong(self, means: np.ndarray) -> int:
        """How many certified labels are wrong."""
        good = self.design.objective.answer(means)
        names = self.state.current_engine().label_names()
        return sum(name != "open" and (name == "good") != good[a] for a, name in enumerate(names))


def slip(rng: np.random.Generator, value: float) -> float:
    """The value with its decimal point moved by one or two places; a count stays whole."""
    moved = value * 10.0 ** rng.choice([-2, -1, 1, 2])
    return float(round(moved)) if value == int(value) else float(moved)


def one_slip(name: str, seed: int, check: bool, mistake: bool, pulls: int) -> dict[str, bool]:
    """One study, told in batches of ARMS; with a mistake somewhere in its first three per arm."""
    case = CASES[name]
    rng = np.random.default_rng(np.random.SeedSequence([seed, len(name)]))
    means = case.means(rng)
    study_cache = StudyCache(case, ARMS, DELTA, check_values=check, in_order=case.model.takes_time)
    at = int(rng.integers(3 * ARMS)) if mistake else -1
    told, suspects, changed, invalid = 0, set(), False, False
    while told < pulls:
        values = []
        for number, arm in study_cache.ask(ARMS):
            value = case.draw(rng, means[arm])
            if told == at:
                moved = slip(rng, value)
                changed = moved != value
                invalid = not bool(case.model.possible(np.array([moved]))[0])
                value = value if invalid else moved
                at = -1
                culprit = number
            values.append((number, value))
            told += 1
        if not values:
            break
        study_cache.tell(values)
        suspects |= set(study_cache.state.quality.suspects)
    mistaken = changed and not invalid
    return {
        "refused": invalid,
        "mistaken": mistaken,
        "held back": mistaken and culprit in suspects,
        "true held back": bool(suspects - ({culprit} if mistaken else set())),
        "wrong": bool(study_cache.wrong(means) > 0),
    }


def waiting(seed: int, in_order: bool, workers: int, pulls: int) -> bool:
    """Whether a study of waiting times certifies a wrong label."""
    rng = np.random.default_rng(seed)
    means = np.array([1.0, 0.4, 0.4])
    case = Case(Exponential(), Multiplicative(0.5), lambda _: means, lambda r, m: r.exponential(m))
    study_cache = StudyCache(case, 3, 0.1, in_order=in_order, check_values=False)
    ends: list[tuple[float, int, float]] = []

    def begin(now: float) -> None:
        for number, arm in study_cache.ask(1):
            value = case.draw(rng, means[arm])
            heapq.heappush(ends, (now + value, number, value))

    for _ in range(workers):
        begin(0.0)
    while ends and len(study_cache.state.told) < pulls:
        now, number, value = heapq.heappop(ends)
        study_cache.tell([(number, value)])
        if study_cache.state.current_engine().is_done():
            break
        begin(now)
    return bool(study_cache.wrong(means) > 0)


def call(job: tuple[str, tuple[object, ...]]) -> object:
    kind, arguments = job
    return {"slip": one_slip, "wait": waiting}[kind](*arguments)  # type: ignore[operator]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the studies")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    part = 10 if options.quick else 1
    slips, clean, waits = 200 // part, 1000 // part, 1000 // part
    seeds = np.random.SeedSequence(options.seed).generate_state(3)
    found: dict[str, dict[str, float]] = {}
    with ProcessPoolExecutor(options.workers) as pool:
        for name in CASES:
            for check in (True, False):
                jobs = [
                    ("slip", (name, int(seeds[0]) + i, check, True, 1200)) for i in range(slips)
                ]
                rows = list(pool.map(call, jobs, chunksize=5))
                found[f"{name}, {'checked' if check else 'unchecked'}"] = {
                    "studies": slips,
                    "refused": sum(r["refused"] for r in rows),
                    "mistaken": sum(r["mistaken"] for r in rows),
                    "held back": sum(r["held back"] for r in rows),
                    "wrong": sum(r["wrong"] for r in rows),
                    "wrong, not held back": sum(r["wrong"] and not r["held back"] for r in rows),
                }
            jobs = [("slip", (name, int(seeds[1]) + i, True, False, 400)) for i in range(clean)]
            rows = list(pool.map(call, jobs, chunksize=5))
            found[f"{name}, no mistake"] = {
                "studies": clean,
                "true held back": sum(r["true held back"] for r in rows),
                "wrong": sum(r["wrong"] for r in rows),
            }
            print(f"{name}:", *(found[key] for key in found if key.startswith(name)), sep="\n  ")
        few = max(waits // 10, 40)
        for workers, in_order, n in (
            (100, True, waits),
            (100, False, few),
            (200, True, few),
            (200, False, few),
        ):
            first = int(seeds[2])
            jobs = [("wait", (first + i, in_order, workers, 6 * workers)) for i in range(n)]
            wrong = sum(pool.map(call, jobs, chunksize=2))
            key = f"{workers} workers, {'in order' if in_order else 'as told'}"
            rate = wrong / n
            found[key] = {"studies": n, "wrong": wrong, "error": math.sqrt(rate * (1 - rate) / n)}
            print(key, found[key])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
