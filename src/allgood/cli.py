"""The command line.  Heavy imports live inside the commands, so that ``allgood --help`` is quick."""

import io
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from . import __version__, _build
from ._options import Known, Relative, Sigma, model_named, numbers, objective_of, plain, whole
from .study.commands import register

if TYPE_CHECKING:
    from .bounds import LowerBounds
    from .characteristic import CharacteristicTime
    from .models import Model
    from .objectives import Objective
    from .simulation import Simulation, Snapshot

app = typer.Typer(
    help="Which of many noisy options are within epsilon of the best?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

NAMED = (
    "weakest-claim, track-and-stop, st2, fareast, east, ucb, uniform; "
    "a threshold or width may follow a colon, as st2:mixture"
)

Means = Annotated[
    str,
    typer.Option(help="One mean per arm: numbers with commas between, or @FILE with such numbers or lines."),
]
Epsilon = Annotated[float, typer.Option(help="How far from the best an arm may be and still be good.")]
Noise = Annotated[
    str | None,
    typer.Option("--arms", help="Rewards as simulated, where the strategy is to reckon with another --model."),
]
Deltas = Annotated[str, typer.Option(help="Risk, or several with commas between.")]
Runs = Annotated[int, typer.Option(help="Independent runs of each strategy.")]
Seed = Annotated[int, typer.Option(help="Everything is a function of it.")]
Budget = Annotated[int | None, typer.Option(help="Pulls after which a run ends uncertified; none by default.")]
Grid = Annotated[
    str | None,
    typer.Option(help="Numbers of pulls with commas between: go on to the last of them, and record F1 at each."),
]
Workers = Annotated[int | None, typer.Option(help="Threads; one per core by default.")]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler that does the runs instead.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


register(app)


def main() -> None:
    """Entry point: errors of the input end in one line and exit code 2."""
    _use_utf8()
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))
    except RuntimeError as error:
        if type(error).__name__ != "SimulationFailed":
            raise
        fail(str(error))


def _use_utf8() -> None:
    """Read and write UTF-8 through pipes on every system; Windows would use a local code page."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8")


def fail(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"allgood {__version__}, {_build.state()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if sentence := _build.advice():
        print(sentence, file=sys.stderr)


@app.command()
def bound(
    means: Means,
    epsilon: Epsilon,
    multiplicative: Relative = False,
    model: Known = "gaussian",
    sigma: Sigma = None,
    delta: Deltas = "0.1",
    rtol: Annotated[float, typer.Option(help="Relative gap at which the solver stops.")] = 1e-6,
    method: Annotated[str, typer.Option(help="newton, or mirror-ascent as in the paper (slow).")] = "newton",
    as_json: Json = False,
) -> None:
    """How many pulls any strategy needs: T*, optimal weights, lower bounds."""
    from .bounds import lower_bounds
    from .characteristic import characteristic_time
    from .tables import print_bounds, print_instance

    instance = Given.of(means, epsilon, multiplicative, model, sigma)
    mu, objective, noise = instance.means, instance.objective, instance.model
    time = characteristic_time(mu, objective, noise, rtol, method)  # type: ignore[arg-type]
    bounds = [lower_bounds(mu, objective, risk, noise, characteristic=time) for risk in numbers("--delta", delta)]
    if as_json:
        print(json.dumps(as_object(instance, time, bounds), indent=2, allow_nan=False))
    else:
        print_instance(mu, objective, time)
        print_bounds(bounds)


@app.command()
def simulate(
    means: Means,
    epsilon: Epsilon,
    strategy: Annotated[str, typer.Option(help=f"{NAMED} (see `allgood compare --help`).")] = "weakest-claim",
    multiplicative: Relative = False,
    model: Known = "gaussian",
    arms: Noise = None,
    sigma: Sigma = None,
    delta: Deltas = "0.1",
    runs: Runs = 100,
    seed: Seed = 0,
    budget: Budget = None,
    grid: Grid = None,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Keep each finished run in this file; the same command then goes on from there."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Many runs of one strategy: how many pulls it takes, and how often it is wrong."""
    instance = Given.of(means, epsilon, multiplicative, model, sigma, arms)
    found = simulated(instance, [strategy], delta, runs, seed, budget, grid, workers, cluster, resume)
    show(instance, found, as_json)


@app.command()
def compare(
    means: Annotated[str | None, typer.Option(help="As for `allgood simulate`.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="As for `allgood simulate`.")] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="Instead of means: a suite (all, few, many, tied, paper, models) or one of its instances."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="PKIS2 table, for the instance pkis2.")] = None,
    strategies: Annotated[
        str, typer.Option(help=f"Names with commas between. {NAMED}.")
    ] = "weakest-claim,track-and-stop,track-and-stop:paper,st2:mixture,st2:mason,uniform",
    multiplicative: Relative = False,
    model: Known = "gaussian",
    arms: Noise = None,
    sigma: Sigma = None,
    delta: Annotated[float, typer.Option(help="Risk.")] = 0.1,
    runs: Runs = 100,
    seed: Seed = 0,
    budget: Budget = None,
    grid: Grid = None,
    workers: Workers = None,
    cluster: Cluster = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="With --suite: keep finished runs in this folder; the same command then goes on from there."),
    ] = None,
    plot: Annotated[Path, typer.Option(help="Picture of the stopping times.")] = Path("compare.png"),
    as_json: Json = False,
) -> None:
    """Several strategies side by side, on one instance or a suite of them: table and picture.

    The seed is the same for all: run i of each draws from the same stream.
    """
    names = [name.strip() for name in strategies.split(",") if name.strip()]
    if not names:
        raise ValueError(f"--strategies must name at least one strategy: got {strategies!r}.")
    if not plot.parent.is_dir():
        raise ValueError(f"--plot must be in an existing folder: got {str(plot)!r}.")
    if suite is not None:
        if means is not None or epsilon is not None:
            raise ValueError("--means and --epsilon must be left out with --suite, which brings its own.")
        if cluster or grid or multiplicative or sigma or arms or model != "gaussian":
            raise ValueError(
                "--cluster, --grid, --multiplicative, --model, --arms and --sigma must be left out with --suite."
            )
        compare_suite(suite, data, names, delta, runs, seed, budget, workers, resume, as_json)
        return
    if means is None or epsilon is None:
        raise ValueError("--means and --epsilon must be given, or --suite instead.")
    from .plots import plot_stopping_times, plot_tracks

    instance = Given.of(means, epsilon, multiplicative, model, sigma, arms)
    found = simulated(instance, names, str(delta), runs, seed, budget, grid, workers, cluster, None)
    shown = {name: simulations[0] for name, simulations in found.items()}
    figure = plot_stopping_times(shown) if grid is None else plot_tracks(shown)
    figure.savefig(plot, dpi=150)
    show(instance, found, as_json, [plot])


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures; made if absent.")] = Path("demo-output"),
    runs: Runs = 50,
    as_json: Json = False,
) -> None:
    """The paper's first instance, end to end: lower bound, one run with its verdict, strategies compared, pictures."""
    from . import plots
    from .alternatives import best_response
    from .bounds import lower_bounds
    from .characteristic import characteristic_time
    from .objectives import Additive
    from .simulation import follow
    from .strategies.weakest_claim import WeakestClaim
    from .tables import live_table, print_bounds, print_instance, print_verdict

    instance = Given.of("1,1,1,1,0.05", 0.9, False)
    mu, objective, delta = instance.means, instance.objective, 0.1
    best = characteristic_time(mu, objective)
    bounds = [lower_bounds(mu, objective, risk, characteristic=best) for risk in (0.1, 0.01, 1e-6, 1e-10)]
    if not as_json:
        print("Five options, measured with noise of standard deviation 1.  Which are within 0.9 of the best?")
        print("(The first instance of Al Marjani, Kocak and Garivier.)\n")
        print_instance(mu, objective, best)
        print_bounds(bounds)
        print("One run of WeakestClaim, which does not know the means:\n")
    snapshots: list[Snapshot] = []
    running = follow(WeakestClaim(objective, delta), mu, seed=0)
    with nullcontext(lambda snapshot: None) if as_json else live_table(best) as shown:
        while True:
            try:
                snapshots.append(next(running))
            except StopIteration as stop:
                result = stop.value
                break
            shown(snapshots[-1])
    names = [
        "weakest-claim",
        "track-and-stop",
        "track-and-stop:paper",
        "st2:mixture",
        "st2:mason",
        "fareast",
        "uniform",
    ]
    if not as_json:
        print_verdict(result, objective, delta)
        print(f"\nHow many pulls it takes, over {runs} runs, and what others need:\n")
    found = simulated(instance, names, str(delta), runs, 0, None, None, None, None, None)
    out.mkdir(parents=True, exist_ok=True)
    last = snapshots[-1]
    assert last.claims is not None
    pictures = {
        "stopping-times.png": plots.plot_stopping_times({name: simulations[0] for name, simulations in found.items()}),
        "intervals.png": plots.plot_intervals(last.counts, last.means, objective, delta, last.claims),
        "labels.png": plots.plot_labels(snapshots),
        "shares.png": plots.plot_shares(result.counts, best.weights, mu, objective),
        "instance.png": plots.plot_instance(mu, best.weights, objective),
        "alternative.png": plots.plot_alternative(mu, best_response(mu, best.weights, objective), objective),
        "sets.png": plots.plot_sets([0.9, 0.6], Additive(0.05)),
    }
    for name, figure in pictures.items():
        figure.savefig(out / name, dpi=150)
    more = as_object(instance, best, bounds) | {
        "run": {
            "strategy": "weakest-claim", "seed": 0, "answer": result.answer.tolist(), "pulls": result.pulls,
            "counts": result.counts.tolist(), "estimates": result.means.tolist(), "certified": result.certified,
            "certified_at": result.certified_at.tolist(), "proven": result.proven,
        }
    }  # fmt: skip
    show(instance, found, as_json, [out / name for name in pictures], more)
    if not as_json:
        ours, uniform = (found[name][0].summary() for name in ("weakest-claim", "uniform:mixture"))
        print(
            f"\nWeakestClaim needs {ours.ratio:.1f} times the lower bound on average, "
            f"uniform sampling {uniform.mean / ours.mean:.1f} times as many pulls as WeakestClaim."
        )


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="alternatives, sets, risk, arms, drugs, example, theory; all by default.", show_default=False
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's sizes (an hour or more), or small ones (minutes).")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures and the report.")] = Path("reproduction"),
    data: Annotated[Path | None, typer.Option(help="PKIS2 table; without it a synthetic screen is used.")] = None,
    seed: Seed = 0,
    workers: Workers = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="Tables as Parquet too.")] = False,
    as_json: Json = False,
) -> None:
    """The paper's experiments and figures: tables, pictures and a report.  Interrupted, the same command goes on."""
    from ._progress import progress_bar
    from .reproduce.runner import reproduce as run_experiments

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with interruptible(f"the same command goes on from what is in {out}."):
        report = run_experiments(
            names or [], out, progress_bar, full=full, data=data, seed=seed, workers=workers, parquet=parquet, say=say
        )
    files = sorted(str(path) for path in out.rglob("*") if path.suffix in (".csv", ".png", ".pdf", ".parquet"))
    if as_json:
        print(json.dumps({"report": str(report), "files": files}, indent=2))
        return
    print(f"\n{len(files)} tables and pictures; the report is {report}.")


@dataclass(frozen=True)
class Given:
    """Means and question as the options give them; the noise as the strategy knows it, and as the arms have it."""

    means: list[float]
    objective: "Objective"
    model: "Model"
    noise: "Model"

    @staticmethod
    def of(
        means: str,
        epsilon: float,
        multiplicative: bool,
        model: str = "gaussian",
        sigma: str | None = None,
        arms: str | None = None,
    ) -> "Given":
        known = model_named("--model", model, sigma if arms is None else None)
        law = ("gaussian" if model == "unknown-sigma" else model) if arms is None else arms
        noise = model_named("--arms", law, sigma)
        return Given(numbers("--means", means), objective_of(epsilon, multiplicative), known, noise)

    def described(self) -> dict[str, Any]:
        """For machines."""
        sigma = getattr(self.noise, "sigma", None)
        return {
            "objective": type(self.objective).__name__.lower(),
            "epsilon": self.objective.epsilon,
            "model": repr(self.model),
            "noise": repr(self.noise),
            "sigma": list(sigma) if isinstance(sigma, tuple) else sigma,
            "means": self.means,
            "answer": self.objective.answer(self.means).tolist(),
        }


def simulated(
    instance: Given,
    names: list[str],
    delta: str,
    runs: int,
    seed: int,
    budget: int | None,
    grid: str | None,
    workers: int | None,
    cluster: str | None,
    resume: Path | None,
) -> dict[str, list["Simulation"]]:
    """The simulations of each strategy: one for all risks where it can, else one for each."""
    from ._progress import progress_bar
    from .catalogue import full_name, strategies_named
    from .environments import Arms
    from .parallel import connect
    from .simulation import simulate as many

    risks = tuple(sorted(set(numbers("--delta", delta)), reverse=True))
    points = None if grid is None else [whole("--grid", x) for x in numbers("--grid", grid)]
    if points is not None and len(risks) > 1:
        raise ValueError(f"--delta must be a single risk with --grid: got {delta}.")
    if cluster is not None and workers is not None:
        raise ValueError(f"--workers must be left out with --cluster, whose workers do the runs: got {workers}.")
    chosen = {full_name(name): strategies_named(name, instance.objective, risks) for name in names}
    if resume is not None and sum(map(len, chosen.values())) > 1:
        raise ValueError(f"--resume must be given with a single --delta for this strategy: got {delta}.")
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        hands = workers if cluster is None else stack.enter_context(connect(cluster))
        found: dict[str, list[Simulation]] = {}
        for name, strategies in chosen.items():
            found[name] = []
            for strategy in strategies:
                with progress_bar(name) as report:
                    done = many(
                        strategy, Arms(instance.means, instance.noise), instance.model, runs, seed, budget, hands,
                        report, grid=points, resume=resume,
                    )  # fmt: skip
                found[name].append(done)
        return found


@contextmanager
def interruptible(more: str = "") -> Iterator[None]:
    """An interrupted simulation ends the program in one line, with exit code 130."""
    from .simulation import SimulationInterrupted

    try:
        yield
    except SimulationInterrupted as error:
        print(f"Interrupted: {more or error}", file=sys.stderr, flush=True)
        os._exit(130)  # threads in the middle of a run cannot be stopped, and need not be waited for


def compare_suite(
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
    from ._progress import progress_bar
    from .catalogue import full_name, strategy_named
    from .environments import Arms
    from .simulation import simulate as many
    from .suites import suite as instances
    from .tables import print_suite

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with interruptible():
        for instance in instances(suite, data):
            row: dict[str, Any] = {
                "instance": instance.name, "arms": instance.means.size, "tied": instance.tied,
                "good": int(instance.objective.answer(instance.means).sum()), "strategies": {}, "proven": {},
                "refused": {},
            }  # fmt: skip
            for name in map(full_name, names):
                strategy = strategy_named(name, instance.objective, delta)
                try:
                    strategy.start(instance.means.size, instance.model)
                except ValueError as error:
                    row["refused"][name] = str(error)
                    continue
                file = None if folder is None else folder / f"{instance.name}-{name}.jsonl".replace(":", "-")
                with progress_bar(f"{instance.name}: {name}") as report:
                    found = many(
                        strategy, Arms(instance.means, instance.model), runs=runs, seed=seed, budget=budget,
                        workers=workers, progress=report, resume=file,
                    )  # fmt: skip
                row["strategies"][name], row["proven"][name] = found.summary(), found.proven
            if not row["strategies"]:
                raise ValueError(next(iter(row["refused"].values())))
            rows.append(row)
    if not as_json:
        print_suite(rows, [full_name(name) for name in names])
        return
    for row in rows:
        row["strategies"] = {name: plain(asdict(s)) for name, s in row["strategies"].items()}
    print(json.dumps({"delta": delta, "seed": seed, "runs": runs, "instances": rows}, indent=2, allow_nan=False))


def show(
    instance: Given,
    found: dict[str, list["Simulation"]],
    as_json: bool,
    pictures: list[Path] | None = None,
    more: dict[str, Any] | None = None,
) -> None:
    """Summaries of simulations, as tables or JSON."""
    from .tables import print_summaries, print_tracks

    tracked = any(s.grid is not None for simulations in found.values() for s in simulations)
    proven = {name: simulations[0].proven for name, simulations in found.items()}
    summaries = {
        name: [s.summary(delta) for s in simulations if not tracked for delta in s.strategy.risks]
        for name, simulations in found.items()
    }
    if not as_json:
        if tracked:
            print_tracks({name: simulations[0] for name, simulations in found.items()})
        else:
            print_summaries(summaries, proven)
        if pictures:
            print("Pictures:", *(f"  {path}" for path in pictures), sep="\n")
        return
    result = instance.described() | {
        "strategies": [
            {"name": name, "proven": proven[name]}
            | ({} if tracked else {"summaries": [plain(asdict(s)) for s in summaries[name]]})
            | {"simulations": [columns(s) for s in simulations]}
            for name, simulations in found.items()
        ],
        "pictures": [str(path) for path in pictures or []],
    }
    print(json.dumps((more or {}) | result, indent=2, allow_nan=False))


def columns(simulation: "Simulation") -> dict[str, Any]:
    """A simulation's table, one entry per run in each column."""
    found = {
        "delta": list(simulation.strategy.risks), "seed": simulation.setup.seed, "run": list(simulation.results),
        "pulls": simulation.pulls.tolist(), "correct": simulation.correct.tolist(),
        "certified": simulation.certified.tolist(), "counts": simulation.counts.tolist(),
        "evidence": [x if math.isfinite(x) else None for x in simulation.evidence.tolist()],
    }  # fmt: skip
    if simulation.crossings is not None:
        found["crossings"] = simulation.crossings.tolist()
    if simulation.grid is not None:
        found["grid"] = simulation.grid.tolist()
        found |= {name: getattr(simulation, name).tolist() for name in ("f1", "precision", "recall")}
    return found


def as_object(instance: Given, time: "CharacteristicTime", bounds: list["LowerBounds"]) -> dict[str, Any]:
    """Everything ``bound`` knows, for machines; numbers that are not finite become null."""

    def finite(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    return instance.described() | {
        "threshold": instance.objective.threshold(instance.means),
        "characteristic_time": {
            "value": finite(time.value),
            "lower_bound": finite(time.lower_bound),
            "gap": finite(time.gap),
            "weights": [finite(w) for w in time.weights.tolist()],
            "status": time.status.name.lower(),
            "message": time.message,
            "method": time.method,
            "iterations": time.iterations,
        },
        "bounds": [
            {
                "delta": b.delta,
                "asymptotic": finite(b.asymptotic),
                "asymptotic_log": finite(b.asymptotic_log),
                "moderate": finite(b.moderate),
                "mason": finite(b.mason),
                "mason_complexity": finite(b.mason_complexity),
                "reasons": dict(b.reasons),
            }
            for b in bounds
        ],
    }
