"""The command ``allgood claims``: certify a table without a study."""

import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from .hints import hint_sentences
from .options import (
    ColumnsOption,
    DecimalOption,
    EpsilonOption,
    JsonOption,
    ModelOption,
    MultiplicativeOption,
    a_number,
)
from .show import print_json


def register(root: typer.Typer) -> None:
    """Add the command to the whole program."""
    root.command("claims")(claims)


def claims(
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with columns arm, n, sum or mean, and perhaps sd; or arm and value, one "
            "row per measurement.  CSV or .xlsx; - reads standard input."
        ),
    ],
    epsilon: EpsilonOption,
    delta: Annotated[
        float,
        typer.Option(help="Risk that any label is wrong.", parser=a_number, metavar="<float>"),
    ] = 0.05,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: Annotated[
        str | None,
        typer.Option(
            help="Standard deviation of normal measurements of one arm: one number, one per arm, "
            "in the order of the table, or unknown.  Needed for the model gaussian."
        ),
    ] = None,
    columns: ColumnsOption = None,
    decimal: DecimalOption = ".",
    plot: Annotated[
        Path | None, typer.Option(help="Picture of averages, intervals and labels.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="File with every number that the labels rest on.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Certify which arms are good from a table that you have, without a study.

    Rows of the same arm are added up.  The guarantee holds however often you look.
    """
    from ..reporting.studies import print_claims
    from ..reporting.study_figures import plot_estimates
    from ..study.table_claims import summarise
    from ..study.tables.counts import pairs, read_counts
    from ..study.tables.files import content_of
    from .options import check_folder, check_picture, model_named, objective_from

    if model == "gaussian" and sigma is None:
        raise ValueError(
            "--sigma must be given for normal measurements: --sigma NUMBER, the standard deviation "
            "of repeated measurements of one arm, or --sigma unknown."
        )
    if plot is not None:
        check_picture("--plot", plot)
    if certificate is not None:
        check_folder("--certificate", certificate)
    content = content_of(sys.stdin.buffer if str(file) == "-" else file)
    assert isinstance(content, bytes)
    names = pairs("--columns", columns, "arm=variant,n=visitors")
    objective, chosen_model = (
        objective_from(epsilon, multiplicative),
        model_named("--model", model, sigma),
    )
    summary = summarise(
        read_counts(io.BytesIO(content), names, decimal, needed=("arm",)),
        objective,
        delta,
        chosen_model,
        source="standard input" if str(file) == "-" else file.name,
        sha256=hashlib.sha256(content).hexdigest(),
    )
    status = summary.status
    if plot is not None:
        plot_estimates(status, objective).savefig(plot, dpi=150)
    if certificate is not None:
        text = json.dumps(summary.certificate, indent=1, ensure_ascii=False) + "\n"
        certificate.write_text(text, encoding="utf-8", newline="\n")
    if as_json:
        files = {"plot": plot, "certificate": certificate}
        paths = {name: None if path is None else str(path) for name, path in files.items()}
        print_json(summary.to_dict() | paths)
        return
    for note in [*summary.notes, *hint_sentences(summary.hints)]:
        print(note)
    print_claims(status, summary.assumptions, summary.warnings)
    if plot is not None:
        print(f"{plot} is the picture.")
    if certificate is not None:
        print(f"{certificate} is the certificate.  Next: allgood verify {certificate}")
