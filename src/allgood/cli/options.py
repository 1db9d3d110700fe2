"""Options that several commands share, and the functions that read their values."""

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..models.base import Model
    from ..objectives import Objective


def a_number(text: str | float) -> float:
    """The value of an option that must be a number."""
    try:
        return float(text)
    except ValueError:
        share = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", str(text))
        hint = f"; {share[1]} % is {float(share[1]) / 100.0:.12g}" if share else ""
        raise typer.BadParameter(f"must be a number: got {text!r}{hint}.") from None


EpsilonOption = Annotated[
    float,
    typer.Option(
        help="How far from the best an arm may be and still be good.",
        parser=a_number,
        metavar="<float>",
    ),
]
MultiplicativeOption = Annotated[
    bool,
    typer.Option("--multiplicative", help="Good means at least 1 - epsilon times the best mean."),
]
SigmaOption = Annotated[
    str | None,
    typer.Option(
        "--sigma",
        help="Standard deviation of normal rewards: one number, one per arm, or unknown; 1 by "
        "default.",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        help="Model of the rewards: gaussian, bernoulli (0 or 1), poisson (counts), exponential "
        "(waiting times), bounded:LOW:HIGH, or unknown-sigma (normal, sigma not known).",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", help="Other names of columns, such as arm=variant,n=visitors,sum=conversions."
    ),
]
DecimalOption = Annotated[
    str,
    typer.Option("--decimal", help="Decimal sign of the file: . or , (a comma)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def model_named(option: str, name: str, sigma: str | None) -> "Model":
    """The model that an option names."""
    from ..models.registry import model_by_name

    name, sigma = with_known_sigma(name, sigma) if option == "--model" else (name, sigma)
    if sigma is not None and sigma.strip().lower() == "unknown":
        raise ValueError(
            f"--sigma must be left out where rewards are not normal: got {sigma} with {option} "
            f"{name}."
        )
    sigmas = None if sigma is None else numbers("--sigma", sigma)
    return model_by_name(option.removeprefix("--"), name, sigmas, "--")


def with_known_sigma(model: str, sigma: str | None) -> tuple[str, str | None]:
    """Model and sigma, where ``gaussian`` with sigma ``unknown`` is the model ``unknown-sigma``."""
    unknown = sigma is not None and sigma.strip().lower() == "unknown"
    return ("unknown-sigma", None) if model == "gaussian" and unknown else (model, sigma)


def objective_from(epsilon: float, multiplicative: bool) -> "Objective":
    """The objective that two options give."""
    from ..objectives import Additive, Multiplicative

    kind = Multiplicative if multiplicative else Additive
    try:
        return kind(epsilon)
    except ValueError as error:
        named = str(error).replace(f"{kind.__name__}(epsilon=...)", "--epsilon")
        raise ValueError(named) from None


def text_of_file(option: str, path: Path) -> str:
    """The text of a file that an option names after @."""
    if not path.is_file():
        raise ValueError(f"{option} must name an existing file after @: got {str(path)!r}.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"{option} must name a text file after @: got {str(path)!r}, which is none."
        ) from None


def numbers(option: str, text: str) -> list[float]:
    """Numbers from ``1,2,3``, or from ``@FILE`` with commas, blanks or line ends between them."""
    if text.startswith("@"):
        text = text_of_file(option, Path(text[1:]))
    parts = _parts(text)
    if not any(parts):
        raise ValueError(f"{option} must hold at least one number: got none.")
    values = []
    for i, part in enumerate(parts, start=1):
        try:
            values.append(float(part))
        except ValueError:
            raise ValueError(f"{option} must hold numbers: got {part!r} as number {i}.") from None
    return values


def _parts(text: str) -> list[str]:
    """The parts between commas, line ends and blanks.

    Two commas with nothing between them give an empty part: a missing number.
    """
    parts = []
    for line in text.split("\n"):
        if line.strip():
            parts += line.strip().strip(",").split(",")
    return [word for part in parts for word in (part.split() or [""])]


def whole(option: str, value: float) -> int:
    """The value of an option that must be a whole number."""
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{option} must hold whole numbers: got {value:g}.")
    return int(value)


def check_folder(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if not path.parent.is_dir():
        raise ValueError(f"{option} must be in an existing folder: got {str(path)!r}.")


def check_picture(option: str, path: Path) -> None:
    """The same for a picture, which must also be of a known kind."""
    from matplotlib.backend_bases import FigureCanvasBase

    check_folder(option, path)
    endings = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix[1:].lower() not in endings:
        raise ValueError(f"{option} must end in one of {', '.join(endings)}: got {str(path)!r}.")
