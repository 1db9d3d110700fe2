"""Options and arguments that several commands of ``allgood study`` have, and their parsing."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import a_number, text_of_file

if TYPE_CHECKING:
    from ..study.plates import Plate

# The exit code of ``status``, and of ``ask`` if there is nothing to ask for.
EXIT_CODES = {"certified": 0, "running": 10, "budget exhausted": 11, "dropped": 12}
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

Url = Annotated[
    str,
    typer.Argument(
        help="Database of the study: a file, sqlite:///FILE, "
        "postgresql+psycopg://USER@HOST/DATABASE, or a server, such as http://HOST:8765."
    ),
]
Name = Annotated[
    str | None, typer.Option(help="Name of the study; needed only if there are several.")
]
NewName = Annotated[
    str | None, typer.Option(help="Name of the study; by default that of the file.")
]
Reason = Annotated[str, typer.Option(help="Why; kept in the history.")]
Client = Annotated[str | None, typer.Option(help="Your name, or that of your program.")]
Arm = Annotated[str, typer.Argument(help="Name of the arm.")]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="How far from the best an arm may be and still be good.",
        parser=a_number,
        metavar="<float>",
    ),
]
Sigma = Annotated[
    str | None,
    typer.Option(
        help="Standard deviation of repeated measurements of one arm, for the model gaussian: one "
        "number, one per arm separated by commas, or unknown."
    ),
]
PlateSize = Annotated[
    str | None,
    typer.Option(
        "--plate",
        help="Size of the plate to lay out: rows x columns, such as 8x12; or its number of wells: "
        "96, 384 or 1536.",
    ),
]
Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        help="Control on the plate: NAME=4 for 4 wells, spread, or its wells, such as NAME=A1,H12, "
        "NAME=A23:P24 or 'NAME=column 1'; may be repeated.",
    ),
]
Edge = Annotated[
    bool, typer.Option("--edge/--no-edge", help="Use wells at the edge of the plate for arms.")
]
MaxPerArm = Annotated[
    int | None,
    typer.Option(
        help="Wells of the plate that one arm may have; by default a quarter of the wells for "
        "arms, or twice an even share if that is more."
    ),
]


def check_sigma(model: str, sigma: str | None) -> None:
    """Refuse normal measurements without a word on sigma."""
    if model == "gaussian" and sigma is None:
        raise ValueError(
            "--sigma must be given for normal measurements: --sigma NUMBER, the standard deviation "
            "of repeated measurements of one arm, or --sigma unknown, which takes more of them."
        )


def check_kept(url: str) -> str:
    """Return the url of a study that is to outlive this command."""
    if url.rsplit("///", maxsplit=1)[-1] == ":memory:":
        raise ValueError("the study must be kept in a file or a database: got ':memory:'.")
    return url


def stem(url: str) -> str:
    """Return the name of a study in a new file: that of the file."""
    if "://" in url and not url.startswith("sqlite"):
        raise ValueError("--name must be given for a study in a database server.")
    return Path(url.rsplit("///", maxsplit=1)[-1]).stem


def arm_names(text: str) -> list[str]:
    """Return names separated by commas, or the lines of ``@FILE``; a single line has commas."""
    if text.startswith("@"):
        lines = text_of_file("--arms", Path(text[1:])).splitlines()
        filled = [line.strip() for line in lines if line.strip()]
        if len(filled) != 1:
            return filled
        text = filled[0].strip(",")
    return [part.strip() for part in text.split(",")]


def seconds(text: str) -> float:
    """Return the seconds of a time such as 30m."""
    parts = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhdw]?)", text.strip())
    if not parts:
        raise ValueError(
            f"--lease must be a number of seconds, or such as 30m, 2h, 3d, 1w: got {text!r}."
        )
    return float(parts[1]) * SECONDS[parts[2] or "s"]


def plate_from(
    size: str | None, controls: list[str] | None, edge: bool, max_per_arm: int | None = None
) -> "Plate | None":
    """Return the plate that the options describe."""
    from ..study.plates import Plate

    if size is not None:
        return Plate.named(size, "\n".join(controls or []), edge, max_per_arm)
    if controls or not edge or max_per_arm is not None:
        raise ValueError("--control, --no-edge and --max-per-arm must come with --plate.")
    return None


def check_order(url: str, file: Path | None) -> None:
    """Refuse a sheet in the place of the study with a database in the place of the sheet."""
    from ..study.tables.files import SQLITE

    first = Path(url)
    if file is None or not first.is_file() or not file.is_file():
        return
    with first.open("rb") as sheet, file.open("rb") as database:
        swapped = sheet.read(16) not in (b"", SQLITE) and database.read(16) == SQLITE
    if swapped:
        raise ValueError(
            f"the study must come first, and then the file: got {url!r} and then {str(file)!r}, "
            "which is a database.  Swap the two arguments."
        )


def check_new_file(option: str, path: Path | None) -> None:
    """Refuse a file that exists or cannot be written, before any work is done for it."""
    if path is not None and (path.exists() or not path.parent.is_dir()):
        raise ValueError(f"{option} must be a new file in an existing folder: got {str(path)!r}.")
