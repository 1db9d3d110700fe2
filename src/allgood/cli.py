"""The command line.  Heavy imports live inside the commands, so that ``allgood --help`` is quick."""

import itertools
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from . import __version__

if TYPE_CHECKING:
    from .bounds import LowerBounds
    from .characteristic import CharacteristicTime
    from .objectives import Objective

app = typer.Typer(
    help="Which of many noisy options are within epsilon of the best?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ROWS = 24  # a table of arms shows at most so many; --json shows all

Means = Annotated[
    str,
    typer.Option(help="One mean per arm: numbers with commas between, or @FILE with such numbers or lines."),
]
Epsilon = Annotated[float, typer.Option(help="How far from the best an arm may be and still be good.")]
Relative = Annotated[
    bool, typer.Option("--multiplicative", help="Good means at least 1 - epsilon times the best mean.")
]
Sigma = Annotated[str, typer.Option(help="Standard deviation of the noise: one number, or one per arm.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


def main() -> None:
    """Entry point: errors of the input end in one line and exit code 2."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))


def fail(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"allgood {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def bound(
    means: Means,
    epsilon: Epsilon,
    multiplicative: Relative = False,
    sigma: Sigma = "1",
    delta: Annotated[str, typer.Option(help="Risk, or several with commas between.")] = "0.1",
    rtol: Annotated[float, typer.Option(help="Relative gap at which the solver stops.")] = 1e-6,
    method: Annotated[str, typer.Option(help="newton, or mirror-ascent as in the paper (slow).")] = "newton",
    as_json: Json = False,
) -> None:
    """How many pulls any strategy needs: T*, optimal weights, lower bounds."""
    from .bounds import lower_bounds
    from .characteristic import characteristic_time
    from .models import Gaussian

    mu = numbers("--means", means)
    objective = objective_of(epsilon, multiplicative)
    noise = numbers("--sigma", sigma)
    model = Gaussian(noise[0] if len(noise) == 1 else noise)
    time = characteristic_time(mu, objective, model, rtol, method)  # type: ignore[arg-type]
    bounds = [lower_bounds(mu, objective, risk, model, characteristic=time) for risk in numbers("--delta", delta)]
    if as_json:
        print(json.dumps(as_object(mu, objective, noise, time, bounds), indent=2, allow_nan=False))
    else:
        print_instance(mu, objective, time)
        print_bounds(bounds)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures; made if absent.")] = Path("demo-output"),
    as_json: Json = False,
) -> None:
    """The paper's first instance: answer, T*, optimal weights, lower bounds, pictures."""
    from .alternatives import best_response
    from .bounds import lower_bounds
    from .characteristic import characteristic_time
    from .objectives import Additive
    from .plots import plot_alternative, plot_instance, plot_sets

    mu, objective = [1.0, 1.0, 1.0, 1.0, 0.05], Additive(0.9)
    time = characteristic_time(mu, objective)
    bounds = [lower_bounds(mu, objective, risk, characteristic=time) for risk in (0.1, 0.01, 1e-6, 1e-10)]
    out.mkdir(parents=True, exist_ok=True)
    pictures = {
        "instance.png": plot_instance(mu, time.weights, objective),
        "alternative.png": plot_alternative(mu, best_response(mu, time.weights, objective), objective),
        "sets.png": plot_sets([0.9, 0.6], Additive(0.05)),
    }
    for name, figure in pictures.items():
        figure.savefig(out / name, dpi=150)
    if as_json:
        result = as_object(mu, objective, [1.0], time, bounds)
        print(json.dumps(result | {"pictures": [str(out / name) for name in pictures]}, indent=2, allow_nan=False))
        return
    print("Five options, measured with noise of standard deviation 1.  Which are within 0.9 of the best?")
    print("(The first instance of Al Marjani, Kocak and Garivier.)\n")
    print_instance(mu, objective, time)
    print_bounds(bounds)
    print("Pictures:", *(f"  {out / name}" for name in pictures), sep="\n")


def numbers(option: str, text: str) -> list[float]:
    """Numbers from ``1,2,3``, or from ``@FILE`` with commas, blanks or line ends between."""
    if text.startswith("@"):
        path = Path(text[1:])
        if not path.is_file():
            raise ValueError(f"{option} must name an existing file after @: got {str(path)!r}.")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{option} must name a text file after @: got {str(path)!r}, which is none.") from None
    # Commas separate, and so do line ends and blanks; two commas with nothing between are a missing number.
    parts = [part.strip() for line in text.split("\n") if line.strip() for part in line.strip().strip(",").split(",")]
    parts = [word for part in parts for word in (part.split() or [""])]
    if not any(parts):
        raise ValueError(f"{option} must hold at least one number: got none.")
    values = []
    for place, part in enumerate(parts, start=1):
        try:
            values.append(float(part))
        except ValueError:
            raise ValueError(f"{option} must hold numbers: got {part!r} as number {place}.") from None
    return values


def objective_of(epsilon: float, multiplicative: bool) -> "Objective":
    from .objectives import Additive, Multiplicative

    return Multiplicative(epsilon) if multiplicative else Additive(epsilon)


def as_object(
    means: list[float],
    objective: "Objective",
    sigma: list[float],
    time: "CharacteristicTime",
    bounds: list["LowerBounds"],
) -> dict[str, Any]:
    """Everything ``bound`` knows, for machines; numbers that are not finite become null."""

    def finite(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    return {
        "objective": type(objective).__name__.lower(),
        "epsilon": objective.epsilon,
        "sigma": sigma[0] if len(sigma) == 1 else sigma,
        "means": means,
        "threshold": objective.threshold(means),
        "answer": objective.answer(means).tolist(),
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


def print_instance(means: list[float], objective: "Objective", time: "CharacteristicTime") -> None:
    """The answer, T* with its certificate, and a table of arms."""
    from rich.console import Console
    from rich.table import Table

    from ._check import means_array
    from .characteristic import Status, on_threshold

    good = objective.answer(means)
    undecided = time.status is Status.UNDECIDABLE
    unsure = on_threshold(means_array(means), objective) & undecided
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("arm", "mean", "label", "optimal weight"):
        table.add_column(column, justify="left" if column == "label" else "right")
    order = sorted(range(len(means)), key=lambda a: -means[a]) if len(means) > ROWS else range(len(means))
    for a in list(order)[:ROWS]:
        label = "on the threshold" if unsure[a] else "[blue]good[/blue]" if good[a] else "[red]bad[/red]"
        weight = "-" if math.isnan(time.weights[a]) else f"{time.weights[a]:.6f}"
        table.add_row(str(a), f"{means[a]:.6g}", label, weight)
    console.print(table)
    if len(means) > ROWS:
        console.print(f"... and {len(means) - ROWS} arms with lower means (--json shows all)")
    if not undecided:
        console.print(
            f"\n{int(good.sum())} of {len(means)} arms are good: mean at least {objective.threshold(means):.6g}."
        )
    if math.isfinite(time.value):
        known = f"= {time.value:.7g}," if time.status is Status.SOLVED else "is"
        console.print(
            f"T* {known} certified to lie between {time.lower_bound:.9g} and {time.value:.9g} "
            f"(relative gap {time.gap:.1e}, {time.iterations} steps of {time.method})."
        )
    if time.status is not Status.SOLVED:
        console.print(f"[bold]{time.status.name}[/bold]: {time.message}")
    console.print()


def print_bounds(bounds: list["LowerBounds"]) -> None:
    """Lower bounds on the expected number of pulls, one row per delta, and why some are missing."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(
        title="No strategy can expect fewer pulls than",
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    names = {
        "asymptotic": "T* kl(delta,1-delta)",
        "asymptotic_log": "T* log(1/2.4delta)",
        "mason": "Mason et al.",
        "moderate": "moderate",
    }
    for heading in ("delta", *names.values()):
        table.add_column(f"{heading}*" if heading == "moderate" else heading, justify="right")
    for b in bounds:
        cells = (getattr(b, name) for name in names)
        table.add_row(f"{b.delta:g}", *("-" if x is None else _pulls(x) for x in cells))
    console.print(table)
    if any(b.moderate is not None for b in bounds):
        console.print("* on the average over all orders of the arms")
    for b in bounds[:1] + [b for before, b in itertools.pairwise(bounds) if b.reasons != before.reasons]:
        for name, why in b.reasons.items():
            console.print(f"- {names[name]} at delta = {b.delta:g}: {why}")
    console.print()


def _pulls(value: float) -> str:
    if math.isinf(value):
        return "infinite"
    return f"{value:,.1f}" if value < 1e9 else f"{value:.4g}"
