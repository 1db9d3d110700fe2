"""What the golden record holds: runs, characteristic times and evidence, by public names only.

``python -m tests.golden_cases FILE`` writes the record of the code at hand.  ``test_golden.py``
compares the code with the record that was made before the kernels were compiled ahead of time.

Renewed since then, and nothing else:

- the runs of ClaimByClaim, when it began to choose cheap claims first.  No answer changed;
- the evidence of normal and bounded rewards, when its minimum was found to 1e-9 and no longer to
  1e-3.  Each number grew, by less than 1e-3; needs and rivals stayed;
- both, and the runs, when the weight of tied effects began to fall with the number of arms;
- the runs of ClaimByClaim, when its order began to depend on the pulls per arm.  No answer changed;
- one number of evidence of Poisson rewards, far above its need, when the minimum began to be looked
  for between the two means: 53.0071, no longer 53.0106.
"""

import json
import sys
from pathlib import Path

import numpy as np

from allgood import (
    ST2,
    UCB,
    Additive,
    Arms,
    Bernoulli,
    Bounded,
    ClaimByClaim,
    Exponential,
    FarEast,
    Gaussian,
    Multiplicative,
    Poisson,
    TrackAndStop,
    Uniform,
    best_response,
    characteristic_time,
    claims,
    intervals,
    lower_bounds,
    run,
)

RECORD = Path(__file__).parents[1] / "golden" / "numbers.json"
BUDGET = 40_000

STRATEGIES = {
    "claim-by-claim": lambda o: ClaimByClaim(o, 0.1),
    "claim-by-claim, no pool": lambda o: ClaimByClaim(o, 0.1, pool=False),
    "track-and-stop, mixture": lambda o: TrackAndStop(o, 0.1),
    "track-and-stop, paper": lambda o: TrackAndStop(o, 0.1, "paper"),
    "track-and-stop, stylised": lambda o: TrackAndStop(o, 0.1, "stylised"),
    "track-and-stop, kaufmann-koolen": lambda o: TrackAndStop(o, 0.1, "kaufmann-koolen"),
    "track-and-stop, at every pull": lambda o: TrackAndStop(o, 0.2, "stylised", lazy=1),
    "track-and-stop, three risks": lambda o: TrackAndStop(o, (0.3, 0.1, 0.01), "stylised"),
    "track-and-stop, mirror ascent": lambda o: TrackAndStop(
        o, 0.1, "stylised", solver="mirror-ascent"
    ),
    "track-and-stop, warm mirror ascent": lambda o: TrackAndStop(
        o, 0.1, "stylised", solver="mirror-ascent", steps=50, warm=True
    ),
    "st2, mason": lambda o: ST2(o, 0.1, "mason"),
    "st2, mason-data": lambda o: ST2(o, 0.1, "mason-data"),
    "st2, mixture": lambda o: ST2(o, 0.1, "mixture"),
    "fareast": lambda o: FarEast(o, 0.1),
    "east, mixture": lambda o: FarEast(o, 0.1, "mixture", bad_filter=False),
    "ucb": lambda o: UCB(o, 0.1),
    "uniform": lambda o: Uniform(o, 0.1),
}

# family: (noise of the arms, model told to the strategy, means by number of arms,
#       epsilon of Additive, epsilon of Multiplicative)
UNEQUAL = (0.5, 1.0, 0.8, 0.6, 1.2)
MODELS = {
    "normal": (
        Gaussian(),
        None,
        {1: [1.0], 2: [1.0, 0.2], 5: [1.0, 0.9, 0.8, 0.1, -0.4]},
        0.5,
        0.5,
    ),
    "unequal sigma": (Gaussian(UNEQUAL), None, {5: [1.0, 0.9, 0.8, 0.1, -0.4]}, 0.5, 0.5),
    "unknown sigma": (
        Gaussian(0.5),
        Gaussian(None),
        {2: [1.0, 0.2], 5: [1.0, 0.9, 0.8, 0.1, -0.4]},
        0.5,
        0.5,
    ),
    "bounded": (Bounded(0.0, 2.0), None, {2: [1.5, 0.6], 5: [1.5, 1.4, 1.3, 0.4, 0.2]}, 0.6, 0.5),
    "bernoulli": (Bernoulli(), None, {2: [0.8, 0.3], 5: [0.8, 0.75, 0.7, 0.25, 0.1]}, 0.3, 0.4),
    "poisson": (Poisson(), None, {2: [4.0, 1.5], 5: [4.0, 3.8, 3.5, 1.5, 1.0]}, 1.5, 0.4),
    "exponential": (Exponential(), None, {2: [2.0, 0.6], 5: [2.0, 1.9, 1.8, 0.6, 0.4]}, 0.8, 0.5),
}
NEGATIVE = [-0.4, -0.6, -0.8]  # nobody is good: the answer is empty


def cases():
    """Every run of the record, by its name: strategy, arms, model and seed."""
    for family, (noise, model, by_size, added, multiplied) in MODELS.items():
        for objective in (Additive(added), Multiplicative(multiplied)):
            for means in by_size.values():
                for strategy, made in STRATEGIES.items():
                    for seed in (0, 1) if len(means) == 5 else (0,):
                        yield (
                            (
                                family,
                                type(objective).__name__,
                                str(len(means)),
                                strategy,
                                str(seed),
                            ),
                            (
                                made(objective),
                                Arms(means, noise),
                                model,
                                seed,
                            ),
                        )
    for strategy, made in STRATEGIES.items():
        yield (
            ("normal", "Multiplicative", "negative", strategy, "0"),
            (
                made(Multiplicative(0.5)),
                Arms(NEGATIVE),
                None,
                0,
            ),
        )
    many = np.random.default_rng(5).normal(size=30)
    for strategy in (
        "claim-by-claim",
        "claim-by-claim, no pool",
        "st2, mixture",
        "track-and-stop, stylised",
        "fareast",
    ):
        yield (
            ("normal", "Additive", "30", strategy, "0"),
            (
                STRATEGIES[strategy](Additive(1.0)),
                Arms(many),
                None,
                0,
            ),
        )


def one_run(strategy, arms, model, seed):
    """The numbers of a run, or "refused" where the strategy does not know such rewards."""
    budget = 3000 if isinstance(strategy, UCB) else BUDGET
    try:
        found = run(strategy, arms, model, seed=seed, budget=budget)
    except ValueError:
        return "refused"
    at = found.certified_at
    crossings = found.crossings
    return [
        found.status.name,
        found.counts.tolist(),
        "".join("01"[int(good)] for good in found.answer),
        None if at is None else at.tolist(),
        None if crossings is None else crossings.tolist(),
    ]


def times():
    """T*, its bound, its weights and the cost of the best response to equal weights."""
    found = {}
    for family, (noise, _, by_size, added, multiplied) in MODELS.items():
        for objective in (Additive(added), Multiplicative(multiplied)):
            means = by_size[5]
            time = characteristic_time(means, objective, noise, rtol=1e-10)
            cost = best_response(means, np.arange(1.0, 6.0), objective, noise).cost
            bounds = lower_bounds(means, objective, 0.05, noise)
            found[f"{family}, {type(objective).__name__}"] = [
                time.value,
                time.weights.tolist(),
                cost,
                bounds.asymptotic,
                bounds.moderate,
                bounds.mason,
            ]
    rng = np.random.default_rng(3)
    for K in (2, 20, 100):
        for objective in (Additive(0.4), Multiplicative(0.6)):
            time = characteristic_time(rng.uniform(size=K), objective, rtol=1e-10)
            found[f"uniform {K}, {type(objective).__name__}"] = [time.value, time.weights.tolist()]
    return found


def tallies(family, size, seed):
    """Counts, averages and variances as an experiment with this family might leave them."""
    noise, model, by_size, *_ = MODELS[family]
    rng = np.random.default_rng(seed)
    means = np.resize(by_size[5], size)
    counts = rng.integers(20, 400, size=size)
    if family in ("normal", "unequal sigma", "unknown sigma", "bounded"):
        averages = np.clip(means + rng.normal(size=size) / np.sqrt(counts), 0.0, 1.9)
    elif family == "bernoulli":
        averages = rng.binomial(counts, means) / counts
    elif family == "poisson":
        averages = rng.poisson(means * counts) / counts
    else:
        averages = rng.gamma(counts, means) / counts
    variances = rng.uniform(0.2, 0.3, size=size) if family == "unknown sigma" else None
    return counts, averages, variances, model if model is not None else noise


def evidence():
    """The evidence of every claim, and the intervals, on tallies of every family."""
    found = {}
    for family, (_, _, _, added, multiplied) in MODELS.items():
        for objective in (Additive(added), Multiplicative(multiplied)):
            for size in (2, 5):
                if family == "unequal sigma" and size == 2:
                    continue
                counts, averages, variances, model = tallies(family, size, 10 * size)
                pools = [None]
                if size == 5 and family != "unknown sigma":
                    pools.append((300.0, 300.0 * float(averages.max())))
                for pool in pools:
                    made = claims(
                        counts, averages, objective, 0.05, model, variances=variances, pool=pool
                    )
                    pooled = "pool" if pool else "no pool"
                    name = f"{family}, {type(objective).__name__}, {size}, {pooled}"
                    found[name] = [made.evidence.tolist(), made.need.tolist(), made.rival.tolist()]
                low, high = intervals(counts, averages, 0.05, model, variances=variances)
                found[f"{family}, {size}, intervals"] = [low.tolist(), high.tolist()]
    return found


def record():
    return {
        "runs": {", ".join(name): one_run(*case) for name, case in cases()},
        "times": times(),
        "evidence": evidence(),
    }


if __name__ == "__main__":
    rows = record()
    parts = []
    for part, entries in rows.items():
        lines = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()
        )
        parts.append(f" {json.dumps(part)}: {{\n{lines}\n }}")
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(parts) + "\n}\n")
