"""The commands of researchers: ``bound``, ``simulate``, ``compare``, ``demo`` and ``reproduce``."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import (
    JsonOption,
    ModelOption,
    MultiplicativeOption,
    SigmaOption,
    check_picture,
    numbers,
    whole,
    with_known_sigma,
)
from .show import print_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..simulation.compare import Comparison
    from ..simulation.instances import Instance
    from ..simulation.run import Snapshot
    from ..simulation.simulate import Simulation
    from ..study.study import Study
    from ..theory.bounds import LowerBounds
    from ..theory.characteristic import CharacteristicTime

NAMES = (
    "claim-by-claim, track-and-stop, st2, fareast, east, ucb, uniform; a threshold or width may "
    "follow a colon, such as st2:mixture; your own as my_module:Mine, from this folder too"
)
DEMO = [
    "claim-by-claim",
    "track-and-stop",
    "track-and-stop:paper",
    "st2:mixture",
    "st2:mason",
    "fareast",
    "uniform",
]

Means = Annotated[
    str,
    typer.Option(
        help="One mean per arm: numbers separated by commas, or @FILE with numbers separated by "
        "commas or line ends."
    ),
]
Epsilon = Annotated[
    float, typer.Option(help="How far from the best an arm may be and still be good.")
]
ArmsModel = Annotated[
    str | None,
    typer.Option(
        "--arms", help="The model of the simulated rewards, if it is not the one in --model."
    ),
]
# What is compared if nobody says what.
DEFAULT = "claim-by-claim,track-and-stop,track-and-stop:paper,st2:mixture,st2:mason,uniform"
Deltas = Annotated[
    str,
    typer.Option(
        help="Risk: the allowed probability of a wrong answer; or several, separated by commas."
    ),
]
Runs = Annotated[int, typer.Option(help="Independent runs of each strategy.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
Budget = Annotated[
    int | None, typer.Option(help="Pulls after which a run ends uncertified; none by default.")
]
Grid = Annotated[
    str | None,
    typer.Option(
        help="Numbers of pulls separated by commas.  Runs go on to the last of them; the F1 score "
        "and the number of certified labels are recorded at each."
    ),
]
Workers = Annotated[int | None, typer.Option(help="Threads; one per core by default.")]
Cluster = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler that does the runs instead.")
]


def register(root: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (bound, simulate, compare, demo, reproduce):
        root.command()(command)


def bound(
    means: Means,
    epsilon: Epsilon,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: SigmaOption = None,
    delta: Deltas = "0.1",
    rtol: Annotated[float, typer.Option(help="Relative gap at which the solver stops.")] = 1e-6,
    method: Annotated[
        str, typer.Option(help="newton, or mirror-ascent as in the paper (slow).")
    ] = "newton",
    as_json: JsonOption = False,
) -> None:
    """Compute how many pulls any strategy needs: T*, optimal weights and lower bounds.

    T* is the characteristic time: the difficulty of telling good arms from bad ones.
    """
    from ..theory.bounds import lower_bounds
    from ..theory.characteristic import characteristic_time

    instance = instance_from(means, epsilon, multiplicative, model, sigma)
    mu, objective, noise = instance.means, instance.objective, instance.model
    time = characteristic_time(mu, objective, noise, rtol, method)  # type: ignore[arg-type]
    bounds = [
        lower_bounds(mu, objective, risk, noise, characteristic=time)
        for risk in numbers("--delta", delta)
    ]
    if as_json:
        print_json(bounds_to_dict(instance, time, bounds))
    else:
        from ..reporting.simulations import print_bounds, print_instance

        print_instance(mu.tolist(), objective, time)
        print_bounds(bounds)


def simulate(
    means: Means,
    epsilon: Epsilon,
    strategy: Annotated[
        str, typer.Option(help=f"{NAMES} (see `allgood compare --help`).")
    ] = "claim-by-claim",
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    arms: ArmsModel = None,
    sigma: SigmaOption = None,
    delta: Deltas = "0.1",
    runs: Runs = 100,
    seed: Seed = 0,
    budget: Budget = None,
    grid: Grid = None,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="File that keeps finished runs.  The same command goes on from there."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate one strategy many times: how many pulls it takes, and how often it is wrong."""
    from .._internal.progress import progress_bar
    from ..simulation.environments import Arms
    from ..simulation.registry import full_name, strategies_named
    from ..simulation.simulate import simulate as simulate_runs

    instance = instance_from(means, epsilon, multiplicative, model, sigma, arms)
    risks = tuple(sorted(set(numbers("--delta", delta)), reverse=True))
    look_here()
    points = grid_from(grid)
    if points is not None and len(risks) > 1:
        raise ValueError(f"--delta must be a single risk with --grid: got {delta}.")
    strategies = strategies_named(strategy, instance.objective, risks)
    if resume is not None and len(strategies) > 1:
        raise ValueError(
            f"--resume must be given with a single --delta for this strategy: got {delta}."
        )
    name = full_name(strategy)
    simulations = []
    with interruptible(kept(resume, "FILE")), hands_from(workers, cluster) as hands:
        for one in strategies:
            with progress_bar(name) as report:
                simulation = simulate_runs(
                    one,
                    Arms(instance.means, instance.noise),
                    instance.model,
                    runs,
                    seed,
                    budget,
                    hands,
                    report,
                    grid=points,
                    resume=resume,
                )
            simulations.append(simulation)
    show(instance, {name: simulations}, as_json)


def compare(
    means: Annotated[
        str | None, typer.Option(help="One mean per arm, separated by commas, or @FILE.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="How far from the best an arm may be and still be good.")
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="Instead of means: a suite (all, few, many, tied, paper, models), one of its "
            "instances, or a file of your own that ends in .toml."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="PKIS2 table, for the instance pkis2.")] = None,
    strategies: Annotated[
        str | None,
        typer.Option(
            help=f"Names separated by commas. {NAMES}.  By default "
            f"{DEFAULT.replace(',', ', ')}, but for those that cannot handle the model.",
        ),
    ] = None,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    arms: ArmsModel = None,
    sigma: SigmaOption = None,
    delta: Annotated[
        float, typer.Option(help="Risk: the allowed probability of a wrong answer.")
    ] = 0.1,
    runs: Runs = 100,
    seed: Seed = 0,
    budget: Budget = None,
    grid: Grid = None,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps finished runs.  The same command goes on from there."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Picture of the stopping times; with --grid, of F1 score and certified labels; "
            "compare.png by default.  A suite has none."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare strategies by simulation: on means of your own, with a picture, or on a suite.

    The seed is the same for all: run i of each draws from the same stream.
    """
    look_here()
    given = DEFAULT if strategies is None else strategies
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--strategies must name at least one strategy: got {strategies!r}.")
    if suite is None:
        plot = plot or Path("compare.png")
        check_picture("--plot", plot)
        if means is None or epsilon is None:
            raise ValueError("--means and --epsilon must be given, or --suite instead.")
        instance = instance_from(means, epsilon, multiplicative, model, sigma, arms)
        _compare_one(
            instance,
            names,
            delta,
            runs,
            seed,
            budget,
            grid,
            workers,
            cluster,
            resume,
            plot,
            as_json,
            strategies is not None,
        )
        return
    if means is not None or epsilon is not None:
        raise ValueError(
            "--means and --epsilon must be left out with --suite, which brings its own."
        )
    if plot or cluster or grid or multiplicative or sigma or arms or model != "gaussian":
        raise ValueError(
            "--cluster, --grid, --multiplicative, --model, --arms, --sigma and --plot must be left "
            "out with --suite."
        )
    _compare_suite(suite, data, names, delta, runs, seed, budget, workers, resume, as_json)


def _compare_one(
    instance: "Instance",
    names: list[str],
    delta: float,
    runs: int,
    seed: int,
    budget: int | None,
    grid: str | None,
    workers: int | None,
    cluster: str | None,
    folder: Path | None,
    plot: Path,
    as_json: bool,
    all_of_them: bool,
) -> None:
    """Every strategy on one instance: table and picture."""
    from ..reporting.figures import plot_stopping_times, plot_tracks

    points = grid_from(grid)
    simulations = _simulations(
        instance, names, delta, runs, seed, budget, points, workers, cluster, folder, all_of_them
    )
    figure = plot_stopping_times(simulations) if grid is None else plot_tracks(simulations)
    figure.savefig(plot, dpi=150)
    show(instance, {name: [one] for name, one in simulations.items()}, as_json, [plot])


def _simulations(
    instance: "Instance",
    names: list[str],
    delta: float,
    runs: int,
    seed: int = 0,
    budget: int | None = None,
    grid: list[int] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    folder: Path | None = None,
    all_of_them: bool = True,
) -> dict[str, "Simulation"]:
    """The simulations of these strategies.

    One that refuses the instance is left out, with a line that says so; or, if ``all_of_them`` are
    wanted, it is a ValueError.
    """
    from ..simulation.compare import compare as compare_strategies

    with interruptible(kept(folder, "FOLDER")), hands_from(workers, cluster) as hands:
        comparison = compare_strategies(
            names,
            instance,
            delta,
            runs,
            seed=seed,
            budget=budget,
            workers=hands,
            grid=grid,
            resume=folder,
            progress=True,
        )
    for row in comparison.rows:
        if row.simulation is None:
            if all_of_them:
                raise ValueError(row.refusal)
            print(f"Left out: {row.refusal}", file=sys.stderr)
    return comparison.of_instance(instance)


def _compare_suite(
    suite: str,
    data: Path | None,
    names: list[str],
    delta: float,
    runs: int,
    seed: int,
    budget: int | None,
    workers: int | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Every strategy on every instance of a suite."""
    from ..simulation.compare import compare as compare_strategies
    from ..simulation.instances import suite as suite_named

    with interruptible(kept(folder, "FOLDER")):
        comparison = compare_strategies(
            names,
            suite_named(suite, data),
            delta,
            runs,
            seed=seed,
            budget=budget,
            workers=workers,
            resume=folder,
            progress=True,
        )
    if as_json:
        print_json(comparison_to_dict(comparison))
    else:
        print(comparison, end="\n\n")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures; made if absent.")] = Path(
        "demo-output"
    ),
    runs: Runs = 50,
    live: Annotated[
        bool,
        typer.Option("--live", help="Only play a study of 60 compounds, and serve a page of it."),
    ] = False,
    pace: Annotated[
        float, typer.Option(min=0.0, help="Seconds between two steps of --live.")
    ] = 0.5,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port of the page of --live; 0 takes any free port."),
    ] = 8765,
    as_json: JsonOption = False,
) -> None:
    """Show an example: lower bound, one run with its verdict, a comparison, pictures.

    The instance is the paper's first.  A simulated study of 60 compounds is written to demo.db;
    look at it with `allgood serve`.
    """
    if live:
        from .screen import serve_live

        out.mkdir(parents=True, exist_ok=True)
        serve_live(out / "demo.db", pace, port)
        return
    from concurrent.futures import ThreadPoolExecutor

    from ..objectives import Additive
    from ..reporting.simulations import live_table, print_bounds, print_instance, print_verdict
    from ..simulation.run import follow
    from ..strategies.claim_by_claim import ClaimByClaim
    from ..theory.alternatives.response import best_response
    from ..theory.bounds import lower_bounds
    from ..theory.characteristic import characteristic_time

    out.mkdir(parents=True, exist_ok=True)
    instance = instance_from("1,1,1,1,0.05", 0.9, False)
    mu, objective, delta = instance.means, instance.objective, 0.1
    optimal = characteristic_time(mu, objective)
    bounds = [
        lower_bounds(mu, objective, risk, characteristic=optimal)
        for risk in (0.1, 0.01, 1e-6, 1e-10)
    ]
    if not as_json:
        print(
            "Five options, measured with noise of standard deviation 1.  Which are within 0.9 of "
            "the best?"
        )
        print("(The first instance of Al Marjani, Kocak and Garivier.)\n")
        print_instance(mu.tolist(), objective, optimal)
        print_bounds(bounds)
        print("One run of ClaimByClaim, which does not know the means:\n")
    snapshots: list[Snapshot] = []
    running = follow(ClaimByClaim(objective, delta), mu, seed=0)
    with nullcontext(lambda snapshot: None) if as_json else live_table(optimal) as show_snapshot:
        while True:
            try:
                snapshots.append(next(running))
            except StopIteration as stop:
                result = stop.value
                break
            show_snapshot(snapshots[-1])
    if not as_json:
        print_verdict(result, objective, delta)
        print(f"\nHow many pulls it takes, over {runs} runs, and what others need:\n")
    database = out / "demo.db"

    def save(pictures: "dict[str, Figure]") -> list[Path]:
        for name, figure in pictures.items():
            figure.savefig(out / name, dpi=150)
        return [out / name for name in pictures]

    def draw() -> "tuple[list[Path], Study]":
        """Draw the pictures that need no simulations, and write the study."""
        from ..reporting import figures as plots
        from .screen import write_screen

        last = snapshots[-1]
        assert last.claims is not None
        response = best_response(mu, optimal.weights, objective)
        pictures = {
            "intervals.png": plots.plot_intervals(
                last.counts, last.means, objective, delta, last.claims
            ),
            "labels.png": plots.plot_labels(snapshots),
            "shares.png": plots.plot_shares(result.counts, optimal.weights, mu, objective),
            "instance.png": plots.plot_instance(mu, optimal.weights, objective),
            "alternative.png": plots.plot_alternative(mu, response, objective),
            "sets.png": plots.plot_sets([0.9, 0.6], Additive(0.05)),
        }
        return save(pictures), write_screen(database)

    # Simulations do not hold the interpreter's lock, so that another thread can draw beside them.
    with ThreadPoolExecutor(1) as beside:
        drawn = beside.submit(draw)
        simulations = _simulations(instance, DEMO, delta, runs)
    others, study = drawn.result()
    from ..reporting.figures import plot_stopping_times

    pictures = save({"stopping-times.png": plot_stopping_times(simulations)}) + others
    more = bounds_to_dict(instance, optimal, bounds) | {
        "run": {
            "strategy": "claim-by-claim",
            "seed": 0,
            "answer": result.answer.tolist(),
            "pulls": result.pulls,
            "counts": result.counts.tolist(),
            "estimates": result.means.tolist(),
            "certified": result.certified,
            "certified_at": result.certified_at.tolist(),
            "proven": result.proven,
        },
        "study": str(database),
    }
    shown = {name: [one] for name, one in simulations.items()}
    show(instance, shown, as_json, pictures, more)
    if not as_json:
        ours = simulations["claim-by-claim"].summary()
        uniform = simulations["uniform:mixture"].summary()
        print(
            f"\nClaimByClaim needs {ours.ratio:.1f} times the lower bound on average, uniform "
            f"sampling {uniform.mean / ours.mean:.1f} times as many pulls as ClaimByClaim."
        )
        from .screen import print_screen

        print_screen(study, database)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="alternatives, sets, risk, arms, drugs, example, theory; all by default.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="The paper's sizes (an hour or more), or small ones (minutes).",
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures and the report.")] = Path(
        "reproduction"
    ),
    data: Annotated[
        Path | None, typer.Option(help="PKIS2 table; without it a synthetic screen is used.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="Tables as Parquet too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Repeat the experiments of the paper by Al Marjani, Kocak and Garivier; write a report.

    After an interruption the same command goes on where it was.
    """
    from .._internal.progress import progress_bar
    from ..reproduce.runner import reproduce as run_experiments

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with interruptible(kept(out, "")):
        report = run_experiments(
            names or [],
            out,
            progress_bar,
            full=full,
            data=data,
            seed=seed,
            workers=workers,
            parquet=parquet,
            say=say,
        )
    kinds = (".csv", ".png", ".pdf", ".parquet")
    files = sorted(str(path) for path in out.rglob("*") if path.suffix in kinds)
    if as_json:
        print_json({"report": str(report), "files": files})
        return
    print(f"\n{len(files)} tables and pictures; the report is {report}.")


def instance_from(
    means: str,
    epsilon: float,
    multiplicative: bool,
    model: str = "gaussian",
    sigma: str | None = None,
    arms: str | None = None,
) -> "Instance":
    """The instance that the options describe."""
    from ..simulation.instances import instance_from as instance

    model, sigma = with_known_sigma(model, sigma)
    values = numbers("--means", means)
    noise = None if sigma is None else numbers("--sigma", sigma)
    return instance("", values, epsilon, multiplicative, model, noise, arms, "--")


def look_here() -> None:
    """Let Python find modules in the current folder, as ``python -m allgood`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def grid_from(grid: str | None) -> list[int] | None:
    return None if grid is None else [whole("--grid", x) for x in numbers("--grid", grid)]


@contextmanager
def hands_from(workers: int | None, cluster: str | None) -> Iterator[Any]:
    """Return the workers of the runs: a number of threads, or the client of a cluster."""
    from ..simulation.executors import connect

    if cluster is not None and workers is not None:
        raise ValueError(
            f"--workers must be left out with --cluster, whose workers do the runs: got {workers}."
        )
    with ExitStack() as stack:
        yield workers if cluster is None else stack.enter_context(connect(cluster))


def kept(where: Path | None, kind: str) -> str:
    """How to go on with a simulation that ended early."""
    if where is None:
        return f"with --resume {kind} finished runs are kept."
    return f"the same command goes on from what is in {where}."


@contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """A simulation that fails, or is interrupted, ends the program with one line.

    The exit code of an interrupted one is 130.
    """
    from ..simulation.registry import place_of
    from ..simulation.simulate import SimulationFailed, SimulationInterrupted

    try:
        yield
    except SimulationFailed as error:
        why = error.__cause__
        assert why is not None
        raise ValueError(
            f"{type(why).__name__}: {why}{place_of(why)}\n{error.progress}; {kept}"
        ) from error
    except KeyboardInterrupt as error:
        far = f"{error.progress}; " if isinstance(error, SimulationInterrupted) else ""
        print(f"Interrupted: {far}{kept}", file=sys.stderr, flush=True)
        # Threads in the middle of a run cannot be stopped.  Do not wait for them.
        os._exit(130)


def show(
    instance: "Instance",
    by_name: dict[str, list["Simulation"]],
    as_json: bool,
    pictures: list[Path] | None = None,
    more: dict[str, Any] | None = None,
) -> None:
    """Print summaries of simulations, as tables or JSON."""
    from ..reporting.simulations import print_summaries, print_tracks

    every = [simulation for simulations in by_name.values() for simulation in simulations]
    tracked = any(simulation.grid is not None for simulation in every)
    proven = {name: simulations[0].proven for name, simulations in by_name.items()}
    summaries = {
        name: [s.summary(delta) for s in simulations if not tracked for delta in s.strategy.risks]
        for name, simulations in by_name.items()
    }
    if as_json:
        entries = []
        for name, simulations in by_name.items():
            entry: dict[str, Any] = {"name": name, "proven": proven[name]}
            if not tracked:
                entry["summaries"] = [asdict(summary) for summary in summaries[name]]
            entry["simulations"] = [simulation_to_dict(one) for one in simulations]
            entries.append(entry)
        paths = [str(path) for path in pictures or []]
        result = instance_to_dict(instance) | {"strategies": entries, "pictures": paths}
        print_json((more or {}) | result)
        return
    if tracked:
        print_tracks({name: simulations[0] for name, simulations in by_name.items()})
    else:
        print_summaries(summaries, proven)
    if pictures:
        print("Pictures:", *(f"  {path}" for path in pictures), sep="\n")


def instance_to_dict(instance: "Instance") -> dict[str, Any]:
    """An instance for JSON."""
    sigma = getattr(instance.noise, "sigma", None)
    return {
        "objective": type(instance.objective).__name__.lower(),
        "epsilon": instance.objective.epsilon,
        "model": repr(instance.model),
        "noise": repr(instance.noise),
        "sigma": list(sigma) if isinstance(sigma, tuple) else sigma,
        "means": instance.means.tolist(),
        "answer": instance.objective.answer(instance.means).tolist(),
    }


def simulation_to_dict(simulation: "Simulation") -> dict[str, Any]:
    """A simulation's table for JSON, one entry per run in each column."""
    columns = {
        "delta": list(simulation.strategy.risks),
        "seed": simulation.setup.seed,
        "run": list(simulation.results),
        "pulls": simulation.pulls.tolist(),
        "correct": simulation.correct.tolist(),
        "certified": simulation.certified.tolist(),
        "counts": simulation.counts.tolist(),
        "evidence": simulation.evidence.tolist(),
    }
    if simulation.crossings is not None:
        columns["crossings"] = simulation.crossings.tolist()
    if simulation.grid is not None:
        columns["grid"] = simulation.grid.tolist()
        for name in ("f1", "precision", "recall", "labels_certified", "labels_wrong"):
            columns[name] = getattr(simulation, name).tolist()
    return columns


def comparison_to_dict(comparison: "Comparison") -> dict[str, Any]:
    """A comparison on a suite for JSON."""
    instances = []
    for instance in comparison.instances:
        simulations = comparison.of_instance(instance)
        rows = [row for row in comparison.rows if row.instance is instance]
        summaries = {name: asdict(one.summary()) for name, one in simulations.items()}
        entry = {
            "instance": instance.name,
            "arms": instance.means.size,
            "tied": instance.tied,
            "good": int(instance.objective.answer(instance.means).sum()),
            "strategies": summaries,
            "proven": {name: one.proven for name, one in simulations.items()},
            "refused": {row.strategy: row.refused for row in rows if row.refused},
        }
        instances.append(entry)
    return {
        "delta": comparison.delta,
        "seed": comparison.seed,
        "runs": comparison.runs,
        "instances": instances,
    }


def bounds_to_dict(
    instance: "Instance", time: "CharacteristicTime", bounds: list["LowerBounds"]
) -> dict[str, Any]:
    """Everything that ``bound`` knows, for JSON."""
    return instance_to_dict(instance) | {
        "threshold": instance.objective.threshold(instance.means),
        "characteristic_time": {
            "value": time.value,
            "lower_bound": time.lower_bound,
            "gap": time.gap,
            "weights": time.weights.tolist(),
            "status": time.status.name.lower(),
            "message": time.message,
            "method": time.method,
            "iterations": time.iterations,
        },
        "bounds": [
            {
                "delta": b.delta,
                "asymptotic": b.asymptotic,
                "asymptotic_log": b.asymptotic_log,
                "moderate": b.moderate,
                "mason": b.mason,
                "mason_complexity": b.mason_complexity,
                "reasons": dict(b.reasons),
            }
            for b in bounds
        ],
    }
