"""Options that several commands have, and what they make of them and into JSON."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from .models import Model
    from .objectives import Objective

Relative = Annotated[
    bool, typer.Option("--multiplicative", help="Good means at least 1 - epsilon times the best mean.")
]
Sigma = Annotated[
    str | None, typer.Option(help="Standard deviation of normal rewards: one number, or one per arm; 1 by default.")
]
Known = Annotated[
    str,
    typer.Option(
        "--model",
        help="Rewards: gaussian, bernoulli, poisson, exponential, bounded:LOW:HIGH, or unknown-sigma (normal).",
    ),
]


def model_named(option: str, name: str, sigma: str | None) -> "Model":
    """The model that an option names."""
    from .models import Bernoulli, Bounded, Exponential, Gaussian, Poisson

    if name == "gaussian":
        noise = numbers("--sigma", sigma or "1")
        return Gaussian(noise[0] if len(noise) == 1 else noise)
    if sigma is not None and not (option == "--model" and name == "unknown-sigma"):
        raise ValueError(f"--sigma must be left out where rewards are not normal: got {sigma} with {option} {name}.")
    if name == "unknown-sigma" and option == "--model":
        return Gaussian(None)
    kind, *ends = name.split(":")
    if kind == "bounded" and len(ends) == 2:
        low, high = (numbers(f"{option} {name}", end)[0] for end in ends)
        return Bounded(low, high)
    simple: dict[str, type[Model]] = {"bernoulli": Bernoulli, "poisson": Poisson, "exponential": Exponential}
    if name not in simple:
        more = " or unknown-sigma" if option == "--model" else ""
        raise ValueError(
            f"{option} must be gaussian, bernoulli, poisson, exponential, bounded:LOW:HIGH{more}: got {name!r}."
        )
    return simple[name]()


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


def whole(option: str, value: float) -> int:
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{option} must hold whole numbers: got {value:g}.")
    return int(value)


def objective_of(epsilon: float, multiplicative: bool) -> "Objective":
    from .objectives import Additive, Multiplicative

    return Multiplicative(epsilon) if multiplicative else Additive(epsilon)


def plain(value: Any) -> Any:
    """For JSON: numbers that are not finite become null, at any depth."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
