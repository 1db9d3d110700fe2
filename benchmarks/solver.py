"""Times of the core, all from one run, as ratios: machines are noisy, ratios less so.

    make bench            everything, about two minutes
    make bench QUICK=1    the small sizes

Each function is called once before it is timed.  Each time is the smallest of several repetitions.
``--against PYTHON`` compares T* with another version of allgood, in alternation.
"""

import time

import numpy as np
from report import begin, console, table
from versions import alternate, versions

from allgood import (
    Additive,
    Bernoulli,
    Exponential,
    Multiplicative,
    Poisson,
    best_response,
    characteristic_time,
)
from allgood.theory.solver.weights import ByNewton, optimal_weights


def seconds(call, budget=1.0, least=3):
    """Smallest of at least ``least`` timings, within about ``budget`` seconds."""
    call()
    times: list[float] = []
    while len(times) < least or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def pretty(value):
    return (
        f"{value * 1e6:,.0f} us"
        if value < 1e-3
        else f"{value * 1e3:,.1f} ms"
        if value < 1
        else f"{value:,.2f} s"
    )


def instance(num_arms, seed=0):
    return np.random.default_rng(seed).uniform(size=num_arms), Additive(0.3)


def clarabel(means, objective):
    """The conic form.  Building the problem is part of the job, as for a user."""
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.reference.conic import characteristic_time as conic

    return conic(means, objective.factor, objective.slack)[0]


def against_others(sizes):
    rows = table(
        "T*: newton to a gap of 1e-6, a conic solver (Clarabel), mirror ascent (100,000 steps); "
        "uniform means, epsilon 0.3",
        "K", "newton", "steps", "gap", "Clarabel", "x newton", "difference",
        "mirror ascent", "x newton", "its gap",
    )  # fmt: skip
    for num_arms in sizes:
        means, objective = instance(num_arms)
        solved = characteristic_time(means, objective)
        mirror = characteristic_time(means, objective, method="mirror-ascent")
        ours = seconds(lambda m=means, o=objective: characteristic_time(m, o))
        conic = seconds(lambda m=means, o=objective: clarabel(m, o), budget=1.0, least=2)
        ascent = seconds(
            lambda m=means, o=objective: characteristic_time(m, o, method="mirror-ascent"), 0.0, 1
        )
        apart = abs(clarabel(means, objective) / solved.value - 1)
        rows.add_row(
            str(num_arms), pretty(ours), str(solved.iterations), f"{solved.gap:.0e}",
            pretty(conic), f"{conic / ours:,.0f}", f"{apart:.0e}",
            pretty(ascent), f"{ascent / ours:,.0f}", f"{mirror.gap:.2g}",
        )  # fmt: skip
    console.print(rows, "")


def against_a_version(python, sizes):
    """T* of this version and of another, in alternation."""
    rows = table(
        "T* in two versions, the least of many",
        "K", "means", "objective", "this version", "the other", "other / this",
    )  # fmt: skip
    with versions(python) as both:
        for num_arms in sizes:
            for shape in ("uniform", "normal", "tied", "near-tied"):
                for objective in ("Additive", "Multiplicative"):
                    job = {"do": "solve", "num_arms": num_arms, "shape": shape}
                    this, other = alternate(both, 1.0, **job, objective=objective)
                    rows.add_row(
                        f"{num_arms:,}", shape, objective, pretty(this), pretty(other),
                        f"{other / this:.2f}",
                    )  # fmt: skip
    console.print(rows, "")


def newton_alone(sizes):
    rows = table(
        "newton alone, rtol 1e-6",
        "K",
        "means",
        "objective",
        "good",
        "time",
        "steps",
        "gap",
        "status",
    )
    for num_arms in sizes:
        rng = np.random.default_rng(1)
        shapes = {
            "uniform": rng.uniform(size=num_arms),
            "normal": rng.normal(size=num_arms),
            "tied": np.r_[np.ones(num_arms - 1), 0.05],
        }
        if num_arms <= 1000:
            shapes["near-tied"] = 1.0 + 1e-6 * rng.normal(size=num_arms)
        for name, means in shapes.items():
            for objective in (Additive(0.9), Multiplicative(0.8)):
                found = characteristic_time(means, objective)
                spent = seconds(
                    lambda m=means, o=objective: characteristic_time(m, o), budget=0.3, least=2
                )
                rows.add_row(
                    f"{num_arms:,}", name, f"{type(objective).__name__}({objective.epsilon:g})",
                    str(int(objective.answer(means).sum())), pretty(spent), str(found.iterations),
                    f"{found.gap:.0e}", found.status.name.lower(),
                )  # fmt: skip
    console.print(rows, "")


def other_laws(sizes):
    rows = table(
        "models that are not normal, rtol 1e-3: rates of 20 trials and a little noise",
        "K", "model", "objective", "good", "3,000 pairs", "gap",
        "all pairs", "steps", "gap", "bound / bound",
    )  # fmt: skip
    for num_arms in sizes:
        rng = np.random.default_rng(1)
        rates = np.clip(rng.binomial(20, rng.beta(8, 8, num_arms)) / 20, 0.025, 0.975)
        rates = rates + 1e-3 * rng.random(num_arms)
        for model, means, objective in (
            (Bernoulli(), rates, Additive(0.1)),
            (Bernoulli(), rates, Additive(0.3)),
            (Bernoulli(), rates.round(2), Additive(0.105)),
            (Poisson(), 10 * rates, Additive(1.5)),
            (Exponential(), rates, Additive(0.3)),
            (Exponential(), rates, Multiplicative(0.3)),
        ):

            def solve(m=means, o=objective, model=model, **options):
                return characteristic_time(m, o, model, rtol=1e-3, **options)

            quick = solve(max_pairs=3000)
            less = seconds(lambda do=solve: do(max_pairs=3000), budget=0.0, least=1)
            row = [
                f"{num_arms:,}", model.name, f"{type(objective).__name__}({objective.epsilon:g})",
                str(int(objective.answer(means).sum())), pretty(less), f"{quick.gap:.0e}",
            ]  # fmt: skip
            if num_arms <= 3000:  # more take minutes where many arms are good
                found = solve()
                spent = seconds(solve, budget=0.0, least=1)
                share = quick.lower_bound / found.lower_bound
                row += [pretty(spent), str(found.iterations), f"{found.gap:.0e}", f"{share:.3f}"]
            rows.add_row(*row)
    console.print(rows, "")


def near_tied(sizes):
    rows = table(
        "models that are not normal, rtol 1e-3: nearly all arms good and within 0.01 of each other",
        "K", "model", "objective", "pairs", "processor time", "steps", "gap", "status",
    )  # fmt: skip
    for num_arms in sizes:
        rng = np.random.default_rng(0)
        good = num_arms - num_arms // 100
        means = np.r_[0.8 + 0.01 * rng.random(good), 0.1 + 0.4 * rng.random(num_arms - good)]
        for model in (Bernoulli(), Poisson(), Exponential()):
            for objective in (Additive(0.15), Multiplicative(0.2)):
                for pairs in (3000, 30_000):
                    start = time.process_time()
                    found = characteristic_time(means, objective, model, 1e-3, max_pairs=pairs)
                    spent = time.process_time() - start
                    rows.add_row(
                        f"{num_arms:,}", model.name, type(objective).__name__, f"{pairs:,}",
                        pretty(spent), str(found.iterations), f"{found.gap:.0e}",
                        found.status.name.lower(),
                    )  # fmt: skip
    console.print(rows, "")


def again(sizes):
    rows = table(
        "the weights alone, solved again and again as Track-and-Stop does, rtol 1e-2",
        "K", "objective", "one solution",
    )  # fmt: skip
    for num_arms in sizes:
        means = np.random.default_rng(3).uniform(size=(100, num_arms))
        out = np.empty(num_arms)
        for objective in (Additive(0.3), Multiplicative(0.6)):
            weights = ByNewton(np.ones(num_arms), objective.factor, objective.slack, 1e-2)

            def solve(w=weights, means=means, out=out):
                for row in means:
                    optimal_weights(w, row, 100, out)

            spent = seconds(solve, budget=0.5) / len(means)
            rows.add_row(f"{num_arms:,}", type(objective).__name__, f"{spent * 1e6:,.1f} us")
    console.print(rows, "")


def responses(sizes):
    rows = table(
        "best response, normal means, exponential weights, against numpy.argsort of the same means",
        "K", "kind of instance", "best_response", "argsort", "ratio",
    )  # fmt: skip
    for num_arms in sizes:
        rng = np.random.default_rng(2)
        means, weights = rng.normal(size=num_arms), rng.exponential(size=num_arms)
        sort = seconds(lambda m=means: np.argsort(m), budget=0.3)
        for name, objective in (
            ("few good", Additive(0.5)),
            ("all good", Additive(20.0)),
            ("mixed", Multiplicative(0.9)),
        ):
            ours = seconds(
                lambda m=means, w=weights, o=objective: best_response(m, w, o), budget=0.3
            )
            rows.add_row(f"{num_arms:,}", name, pretty(ours), pretty(sort), f"{ours / sort:.1f}")
    console.print(rows, "")


if __name__ == "__main__":
    options = begin(__doc__, "small sizes only", can_compare=True)
    quick = options.quick
    if options.against:
        against_a_version(options.against, (5, 189) if quick else (5, 189, 1000))
    against_others((5, 20) if quick else (5, 20, 50))
    newton_alone((189,) if quick else (189, 1000, 10_000))
    other_laws((20, 300) if quick else (20, 300, 1000, 3000, 10_000))
    near_tied((300,) if quick else (300, 1000, 10_000))
    again((5, 20) if quick else (5, 20, 100))
    responses((5, 100, 10_000) if quick else (5, 100, 1000, 10_000, 100_000))
