"""``allgood demo``: an example from lower bound to comparison, with pictures and a study."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .compare import Runs
from .options import JsonOption
from .simulation_data import bounds_to_dict, result_to_dict
from .simulations import instance_from, show_simulations, simulate_each

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..simulation.instances import Instance
    from ..simulation.run import Result, Snapshot
    from ..simulation.simulate import Simulation
    from ..study.study import Study
    from ..theory.bounds import LowerBounds
    from ..theory.characteristic import CharacteristicTime

STRATEGIES = [
    "claim-by-claim",
    "track-and-stop",
    "track-and-stop:paper",
    "st2:mixture",
    "st2:mason",
    "fareast",
    "uniform",
]
DELTA = 0.1

Out = Annotated[Path, typer.Option(help="Folder for the pictures; made if absent.")]
Live = Annotated[
    bool, typer.Option("--live", help="Only play a study of 60 compounds, and serve a page of it.")
]
Pace = Annotated[float, typer.Option(min=0.0, help="Seconds between two steps of --live.")]
Port = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of the page of --live; 0 takes any free port.")
]


def register(root: typer.Typer) -> None:
    """Add the command to the whole program."""
    root.command()(demo)


def demo(
    out: Out = Path("demo-output"),
    runs: Runs = 50,
    live: Live = False,
    pace: Pace = 0.5,
    port: Port = 8765,
    as_json: JsonOption = False,
) -> None:
    """Show an example: lower bound, one run with its verdict, a comparison, pictures.

    The instance is the paper's first.  A simulated study of 60 compounds is written to demo.db;
    look at it with `allgood serve`.
    """
    out.mkdir(parents=True, exist_ok=True)
    if live:
        from .screen import serve_live

        serve_live(out / "demo.db", pace, port)
        return
    from ..theory.bounds import lower_bounds
    from ..theory.characteristic import characteristic_time

    instance = instance_from("1,1,1,1,0.05", 0.9, False)
    mu, objective = instance.means, instance.objective
    optimal = characteristic_time(mu, objective)
    bounds = [
        lower_bounds(mu, objective, risk, characteristic=optimal)
        for risk in (DELTA, 0.01, 1e-6, 1e-10)
    ]
    if not as_json:
        _introduce(instance, optimal, bounds)
    snapshots, result = _follow(instance, optimal, as_json)
    if not as_json:
        from ..reporting.simulations import print_verdict

        print_verdict(result, objective, DELTA)
        print(f"\nHow many pulls it takes, over {runs} runs, and what others need:\n")
    # Simulations do not hold the interpreter's lock, so that another thread can draw beside them.
    with ThreadPoolExecutor(1) as beside:
        drawn = beside.submit(_draw_and_write, instance, optimal, snapshots, result, out)
        simulations = simulate_each(instance, STRATEGIES, DELTA, runs)
    pictures, study = drawn.result()
    from ..reporting.figures import plot_stopping_times

    pictures = _save({"stopping-times.png": plot_stopping_times(simulations)}, out) + pictures
    run = {"strategy": "claim-by-claim", "seed": 0} | result_to_dict(result)
    extra = {"run": run, "study": str(out / "demo.db")}
    extra = bounds_to_dict(instance, optimal, bounds) | extra
    by_name = {name: [each] for name, each in simulations.items()}
    show_simulations(instance, by_name, as_json, pictures, extra)
    if not as_json:
        _conclude(simulations, study, out / "demo.db")


def _introduce(
    instance: "Instance", optimal: "CharacteristicTime", bounds: "list[LowerBounds]"
) -> None:
    from ..reporting.simulations import print_bounds, print_instance

    print(
        "Five options, measured with noise of standard deviation 1.  Which are within 0.9 of "
        "the best?"
    )
    print("(The first instance of Al Marjani, Kocak and Garivier.)\n")
    print_instance(instance.means.tolist(), instance.objective, optimal)
    print_bounds(bounds)
    print("One run of ClaimByClaim, which does not know the means:\n")


def _follow(
    instance: "Instance", optimal: "CharacteristicTime", quiet: bool
) -> "tuple[list[Snapshot], Result]":
    """Run ClaimByClaim once, and show a table that follows it unless it is to be quiet."""
    from ..reporting.simulations import live_table
    from ..simulation.run import follow
    from ..strategies.claim_by_claim import ClaimByClaim

    snapshots: list[Snapshot] = []
    running = follow(ClaimByClaim(instance.objective, DELTA), instance.means, seed=0)
    with nullcontext(lambda snapshot: None) if quiet else live_table(optimal) as show_snapshot:
        while True:
            try:
                snapshots.append(next(running))
            except StopIteration as stop:
                result: Result = stop.value
                return snapshots, result
            show_snapshot(snapshots[-1])


def _draw_and_write(
    instance: "Instance",
    optimal: "CharacteristicTime",
    snapshots: "list[Snapshot]",
    result: "Result",
    out: Path,
) -> "tuple[list[Path], Study]":
    """Draw the pictures that need no simulations, and write the study."""
    from ..objectives import Additive
    from ..reporting import figures
    from ..theory.alternatives.response import best_response
    from .screen import write_screen

    mu, objective, last = instance.means, instance.objective, snapshots[-1]
    assert last.claims is not None
    response = best_response(mu, optimal.weights, objective)
    pictures = {
        "intervals.png": figures.plot_intervals(
            last.counts, last.means, objective, DELTA, last.claims
        ),
        "labels.png": figures.plot_labels(snapshots),
        "shares.png": figures.plot_shares(result.counts, optimal.weights, mu, objective),
        "instance.png": figures.plot_instance(mu, optimal.weights, objective),
        "alternative.png": figures.plot_alternative(mu, response, objective),
        "sets.png": figures.plot_sets([0.9, 0.6], Additive(0.05)),
    }
    return _save(pictures, out), write_screen(out / "demo.db")


def _save(pictures: "dict[str, Figure]", folder: Path) -> list[Path]:
    for name, figure in pictures.items():
        figure.savefig(folder / name, dpi=150)
    return [folder / name for name in pictures]


def _conclude(simulations: "dict[str, Simulation]", study: "Study", database: Path) -> None:
    from .screen import print_screen

    ours = simulations["claim-by-claim"].summary()
    uniform = simulations["uniform:mixture"].summary()
    print(
        f"\nClaimByClaim needs {ours.ratio:.1f} times the lower bound on average, uniform "
        f"sampling {uniform.mean / ours.mean:.1f} times as many pulls as ClaimByClaim."
    )
    print_screen(study, database)
