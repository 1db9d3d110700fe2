"""The command ``allgood claims``: certify a table without a study."""

import hashlib
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    check_folder,
    check_picture,
    model_named,
    objective_from,
)
from .show import print_json, write_text
from .study_options import check_sigma

if TYPE_CHECKING:
    from ..study.table_claims import Summary

TableFile = Annotated[
    Path,
    typer.Argument(
        help="Table with columns arm, n, sum or mean, and perhaps sd; or arm and value, one row "
        "per measurement.  CSV or .xlsx; - reads standard input."
    ),
]
Delta = Annotated[
    float, typer.Option(help="Risk that any label is wrong.", parser=a_number, metavar="<float>")
]
Sigma = Annotated[
    str | None,
    typer.Option(
        help="Standard deviation of repeated measurements of one arm, for the model gaussian: one "
        "number, one per arm in the order of the table, or unknown."
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Picture of averages, intervals and labels.")]
CertificateFile = Annotated[
    Path | None,
    typer.Option(help="Certificate to write: a file with every number that the labels rest on."),
]


def register(root: typer.Typer) -> None:
    """Add the command to the whole program."""
    root.command("claims")(claims)


def claims(
    file: TableFile,
    epsilon: EpsilonOption,
    delta: Delta = 0.05,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: Sigma = None,
    columns: ColumnsOption = None,
    decimal: DecimalOption = ".",
    plot: Plot = None,
    certificate: CertificateFile = None,
    as_json: JsonOption = False,
) -> None:
    """Certify which arms are good from a table that you have, without a study.

    Rows of the same arm are added up.  The guarantee holds however often you look.
    """
    from ..reporting.study_figures import plot_estimates
    from ..study.table_claims import summarise
    from ..study.tables.counts import pairs, read_counts
    from ..study.tables.files import content_of

    check_sigma(model, sigma)
    if plot is not None:
        check_picture("--plot", plot)
    if certificate is not None:
        check_folder("--certificate", certificate)
    content = content_of(sys.stdin.buffer if str(file) == "-" else file)
    assert isinstance(content, bytes)
    names = pairs("--columns", columns, "arm=variant,n=visitors")
    objective = objective_from(epsilon, multiplicative)
    summary = summarise(
        read_counts(io.BytesIO(content), names, decimal, needed=("arm",)),
        objective,
        delta,
        model_named("--model", model, sigma),
        source="standard input" if str(file) == "-" else file.name,
        sha256=hashlib.sha256(content).hexdigest(),
    )
    if plot is not None:
        plot_estimates(summary.status, objective).savefig(plot, dpi=150)
    if certificate is not None:
        text = json.dumps(summary.certificate, indent=1, ensure_ascii=False) + "\n"
        write_text(certificate, text)
    if as_json:
        files = {"plot": plot, "certificate": certificate}
        paths = {name: None if path is None else str(path) for name, path in files.items()}
        print_json(summary.to_dict() | paths)
    else:
        _print_summary(summary, plot, certificate)


def _print_summary(summary: "Summary", plot: Path | None, certificate: Path | None) -> None:
    from ..reporting.studies import print_claims

    for note in [*summary.notes, *hint_sentences(summary.hints)]:
        print(note)
    print_claims(summary.status, summary.assumptions, summary.warnings)
    if plot is not None:
        print(f"{plot} is the picture.")
    if certificate is not None:
        print(f"{certificate} is the certificate.  Next: allgood verify {certificate}")
