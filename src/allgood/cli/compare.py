"""The commands of researchers: ``bound``, ``simulate``, ``compare`` and ``reproduce``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    JsonOption,
    ModelOption,
    MultiplicativeOption,
    SigmaOption,
    check_picture,
    numbers,
)
from .show import print_json, show
from .simulation_data import bounds_to_dict, comparison_to_dict
from .simulations import (
    executor,
    grid_from,
    how_to_resume,
    instance_from,
    interruptible,
    look_here,
    show_simulations,
    simulate_each,
)

if TYPE_CHECKING:
    from ..simulation.compare import Comparison
    from ..simulation.simulate import Simulation

NAMES = (
    "claim-by-claim, track-and-stop, st2, fareast, east, ucb, uniform; a threshold or width may "
    "follow a colon, such as st2:mixture; my_module:Mine is a class of your own, which may "
    "be in the current folder"
)
Means = Annotated[
    str,
    typer.Option(
        help="The mean of each arm: numbers separated by commas; or @ and the name of a file that "
        "holds them, separated by commas or line ends."
    ),
]
Epsilon = Annotated[
    float, typer.Option(help="How far from the best an arm may be and still be good.")
]
ArmsModel = Annotated[
    str | None,
    typer.Option("--arms", help="Model of the simulated rewards, if it is not the one in --model."),
]
NOT_WITH_SUITE = (
    "--cluster, --grid, --multiplicative, --model, --arms, --sigma and --plot must be left out "
    "with --suite."
)
# Strategies to compare by default.
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
    str | None, typer.Option(help="Address of a Dask scheduler, to do the runs there.")
]


SimulatedMeans = Annotated[
    str | None,
    typer.Option(
        help="The mean of each arm: numbers separated by commas; or @ and the name of a file that "
        "holds them."
    ),
]
SimulatedEpsilon = Annotated[
    float | None, typer.Option(help="How far from the best an arm may be and still be good.")
]
Suite = Annotated[
    str | None,
    typer.Option(
        help="Instead of means: a suite (all, few, many, tied, paper, models), one of its "
        "instances, or a file of your own that ends in .toml."
    ),
]
Pkis2 = Annotated[
    Path | None,
    typer.Option(help="File with the PKIS2 table (a public drug screen), for the instance pkis2."),
]
Strategies = Annotated[
    str | None,
    typer.Option(
        help=f"Strategies, separated by commas: {NAMES}.  By default "
        f"{DEFAULT.replace(',', ', ')}, without those that cannot handle the model.",
    ),
]
Delta = Annotated[float, typer.Option(help="Risk: the allowed probability of a wrong answer.")]
ResumeFile = Annotated[
    Path | None,
    typer.Option(help="File that keeps finished runs.  The same command goes on from there."),
]
ResumeFolder = Annotated[
    Path | None,
    typer.Option(help="Folder that keeps finished runs.  The same command goes on from there."),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        help="Picture of the stopping times; with --grid, of F1 score and certified labels; "
        "compare.png by default.  A suite has none."
    ),
]


def register(root: typer.Typer) -> None:
    """Add these commands to the program."""
    for command in (bound, simulate, compare, reproduce):
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
        str, typer.Option(help="Solver: newton, or mirror-ascent as in the paper (slow).")
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
    strategy: Annotated[str, typer.Option(help=f"Strategy: {NAMES}.")] = "claim-by-claim",
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
    resume: ResumeFile = None,
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
    with interruptible(how_to_resume(resume, "FILE")), executor(workers, cluster) as hands:
        for each in strategies:
            with progress_bar(name) as report:
                simulation = simulate_runs(
                    each,
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
    show_simulations(instance, {name: simulations}, as_json)


def compare(
    means: SimulatedMeans = None,
    epsilon: SimulatedEpsilon = None,
    suite: Suite = None,
    data: Pkis2 = None,
    strategies: Strategies = None,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    arms: ArmsModel = None,
    sigma: SigmaOption = None,
    delta: Delta = 0.1,
    runs: Runs = 100,
    seed: Seed = 0,
    budget: Budget = None,
    grid: Grid = None,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: ResumeFolder = None,
    plot: Plot = None,
    as_json: JsonOption = False,
) -> None:
    """Compare strategies by simulation: on means of your own, with a picture, or on a suite.

    All strategies share the seed: run i of each draws from the same stream of random numbers.
    """
    look_here()
    names = [name.strip() for name in (strategies or DEFAULT).split(",") if name.strip()]
    if strategies is not None and not strategies.strip(", "):
        raise ValueError(f"--strategies must name at least one strategy: got {strategies!r}.")
    if suite is not None:
        if means is not None or epsilon is not None:
            raise ValueError("--means and --epsilon must be left out with --suite, which has them.")
        others = (plot, cluster, grid, multiplicative, sigma, arms, model != "gaussian")
        if any(others):
            raise ValueError(NOT_WITH_SUITE)
        comparison = _compare_suite(suite, data, names, delta, runs, seed, budget, workers, resume)
        show(comparison_to_dict(comparison), as_json, lambda _: print(comparison, end="\n\n"))
        return
    plot = plot or Path("compare.png")
    check_picture("--plot", plot)
    if means is None or epsilon is None:
        raise ValueError("--means and --epsilon must be given, or --suite instead.")
    instance = instance_from(means, epsilon, multiplicative, model, sigma, arms)
    with executor(workers, cluster) as hands:
        simulations = simulate_each(
            instance,
            names,
            delta,
            runs,
            seed=seed,
            budget=budget,
            grid=grid_from(grid),
            workers=hands,
            resume=resume,
            skip_refusals=strategies is None,
        )
    _draw(simulations, plot, tracks=grid is not None)
    show_simulations(
        instance, {name: [each] for name, each in simulations.items()}, as_json, [plot]
    )


def _draw(simulations: "dict[str, Simulation]", path: Path, tracks: bool) -> None:
    from ..reporting.figures import plot_stopping_times, plot_tracks

    figure = plot_tracks(simulations) if tracks else plot_stopping_times(simulations)
    figure.savefig(path, dpi=150)


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
) -> "Comparison":
    """Simulate every strategy on every instance of a suite."""
    from ..simulation.compare import compare as compare_strategies
    from ..simulation.instances import suite as suite_named

    with interruptible(how_to_resume(folder, "FOLDER")):
        return compare_strategies(
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


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments: alternatives, sets, risk, arms, drugs, example, theory; all by "
            "default.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="Simulate at the paper's sizes (an hour or more), or at small ones (minutes).",
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures and the report.")] = Path(
        "reproduction"
    ),
    data: Annotated[
        Path | None,
        typer.Option(
            help="File with the PKIS2 table (a public drug screen); without it the drug experiment "
            "uses simulated compounds."
        ),
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write tables as Parquet, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Repeat the experiments of the paper by Al Marjani, Kocak and Garivier; write a report.

    After an interruption the same command goes on where it was.
    """
    from .._internal.progress import progress_bar
    from ..reproduce.runner import reproduce as run_experiments

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with interruptible(how_to_resume(out, "")):
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
    text = f"\n{len(files)} tables and pictures; the report is {report}."
    show({"report": str(report), "files": files}, as_json, lambda _: print(text))
