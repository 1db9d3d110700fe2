"""Commands about files of a study: hits, certify, report, export, import, replay, check; verify."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._internal.tables import counted
from .options import JsonOption, check_folder
from .show import named, print_json, show, write_text
from .study_options import Name, Url, check_kept, check_new_file

if TYPE_CHECKING:
    from ..study.integrity import StudyCheck
    from ..study.replay import Replay

CertificateFile = Annotated[
    Path,
    typer.Argument(help="Certificate, as `allgood study certify` or `allgood claims` writes it."),
]


def hits(
    url: Url,
    name: Name = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Only arms with this label: good, open or bad; may be repeated."),
    ] = None,
    guess: Annotated[
        str | None, typer.Option(help="Of the open arms, only those with this guess: good or bad.")
    ] = None,
    format: Annotated[
        str, typer.Option(help="table, csv or xlsx; xlsx needs --out.  --json prints JSON.")
    ] = "table",
    out: Annotated[
        Path | None, typer.Option(help="New file; .xlsx or .csv in its name is its format.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List arms with label, best guess, estimate and interval, the best first.

    The guess for an open arm is its label if the averages were the means; nothing guarantees it.
    """
    from ..study.study import load_study

    if format not in ("table", "csv", "xlsx"):
        raise ValueError(f"--format must be table, csv or xlsx: got {format!r}.")
    if out is not None and format == "table":
        format = "xlsx" if out.suffix.lower() == ".xlsx" else "csv"
    if format == "xlsx" and out is None:
        raise ValueError("--out must be given with --format xlsx, which is not text.")
    check_new_file("--out", out)
    chosen = load_study(url, name).hits(label or None, guess)  # type: ignore[arg-type]
    if out is not None:
        out.write_bytes(chosen.content(format))  # type: ignore[arg-type]
        result = {"out": str(out), "arms": len(chosen)}
        show(result, as_json, lambda _: print(f"{out}: {counted(len(chosen), 'arm')}."))
    elif format == "csv" and not as_json:
        sys.stdout.writelines(part.replace("\r\n", "\n") for part in chosen.csv_lines())
    else:
        from ..reporting.studies import print_hits

        show(chosen, as_json, print_hits)


def history(
    url: Url,
    name: Name = None,
    before: Annotated[
        int | None, typer.Option(help="Only requests whose events have smaller numbers.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Number of requests to show.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show what happened, request by request, the newest first: a told plate is one line."""
    from ..reporting.studies import print_history
    from ..study.study import load_study

    page = load_study(url, name).history(before, limit)
    show(page, as_json, print_history)
    if page.before is not None and not as_json:
        more = f"allgood study history {named(url, name)} --before {page.before} --limit {limit}"
        print(f"Older: {more}")


def certify(
    url: Url,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="File for the certificate.")] = Path("certificate.json"),
    as_json: JsonOption = False,
) -> None:
    """Write a certificate: the verdict so far, with every number it rests on, for others to check.

    `allgood verify` checks it.
    """
    from ..study.study import load_study

    check_folder("--out", out)
    study = load_study(url, name)
    certificate = study.certificate()
    write_text(out, json.dumps(certificate, indent=1, ensure_ascii=False) + "\n")
    outcome, claims = certificate["outcome"], len(certificate["claims"])
    if as_json:
        print_json({"out": str(out), "outcome": outcome, "claims": claims})
        return
    print(f"{out}: {claims} labels certified, outcome {outcome}.")
    for doubt in study.status().checks.doubts if "doubts" in certificate else ():
        print(f"Warning, also in the certificate: {doubt}")
    print(f"Next: allgood verify {out} --study {named(url, name)}")


def report(
    url: Url,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    as_json: JsonOption = False,
) -> None:
    """Write one HTML file with verdict, intervals, labels over time, plates and history."""
    from ..reporting.report import report_html
    from ..study.study import load_study

    check_folder("--out", out)
    write_text(out, report_html(load_study(url, name)))
    show({"out": str(out)}, as_json, lambda _: print(f"{out} is the report."))


def export(
    url: Url,
    name: Name = None,
    out: Annotated[
        Path | None, typer.Option(help="New file.  By default the events are printed.")
    ] = None,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="Save only the events before the first damage.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Describe what was written as JSON; needs --out.")
    ] = False,
) -> None:
    """Export the whole study: all its events, as lines of JSON."""
    from ..study.study import load_study

    if as_json and out is None:
        raise ValueError("--out must be given with --json.")
    lines: Iterable[str]
    if damaged:
        from ..study.integrity import intact_lines

        intact, damage = intact_lines(url, name)
        lines = [f"{line}\n" for line in intact]
        print(f"Not exported: {damage}" if damage else "Nothing is damaged.", file=sys.stderr)
    else:
        lines = load_study(url, name).export()
    if out is None:
        sys.stdout.writelines(lines)
        return
    if out.exists():
        raise ValueError(f"--out must be a new file: got {str(out)!r}, which exists.")
    events = list(lines)
    write_text(out, "".join(events))
    result = {"out": str(out), "events": len(events)}
    show(result, as_json, lambda _: print(f"{len(events)} events in {out}."))


def import_(
    url: Url,
    file: Annotated[
        Path, typer.Argument(help="Lines of JSON, as `allgood study export` writes them.")
    ],
    name: Annotated[str | None, typer.Option(help="Another name for the study.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Import a study from its exported events.  If a line is wrong, nothing is imported."""
    from ..study.study import import_study

    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"the file must be text in UTF-8: got {str(file)!r}.") from None
    study = import_study(check_kept(url), lines[:-1] if lines[-1] == "" else lines, name)
    status = study.status()
    events, outcome, measurements = status.events, status.outcome, status.measurements
    result = {"name": study.name, "events": events, "outcome": outcome}
    text = f"Study {study.name!r}: {events} events, {measurements} measurements, {outcome}."
    show(result, as_json, lambda _: print(text))


def replay(
    url: Url,
    name: Name = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with code 1 if a choice differs.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make every choice of a study again from its seed and its events, and compare."""
    from ..study.events import digest, stored_event
    from ..study.replay import replay as replay_events
    from ..study.study import load_study

    lines = load_study(url, name).backend.lines()
    result = replay_events(list(map(stored_event, lines)))
    if as_json:
        print_json(
            {
                "ok": result.ok,
                "events": len(lines),
                "batches": result.batches,
                "tickets": result.tickets,
                "copied": result.copied,
                "sha256": digest(lines),
                "problems": result.problems,
                "ties": result.ties,
                "outcome": result.state.outcome(),
            }
        )
    else:
        print(f"{len(lines)} events, SHA-256 {digest(lines)}.")
        _print_replay(result)
    raise typer.Exit(1 if check and not result.ok else 0)


def _print_replay(result: "Replay") -> None:
    from ..reporting.console import say_some

    say_some(result.problems)
    say_some(result.ties)
    if result.copied:
        print(f"{counted(result.copied, 'ticket')} came from another study, which chose them.")
    if not result.ok:
        return
    batches = counted(result.batches, "batch", "batches")
    chosen = f"All {counted(result.tickets, 'ticket')} of {batches} are chosen again"
    ties = f", up to {counted(len(result.ties), 'tie')} within rounding" if result.ties else ""
    print(f"{chosen} as they were{ties}.")


def check(
    url: Url,
    name: Name = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Certificate that was kept, to compare with the study.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a stored study is intact: its file, events and choices, and a kept certificate.

    Exits with code 1 if there is a problem.
    """
    from ..study.integrity import check_study

    stored = None if certificate is None else _read_certificate(certificate)
    result = check_study(url, name, certificate=stored)
    if as_json:
        print_json(result)
    else:
        _print_integrity(result, named(url, name))
    raise typer.Exit(0 if result.ok else 1)


def _print_integrity(result: "StudyCheck", study: str) -> None:
    from ..reporting.console import say_some

    say_some(result.problems)
    checked = ", ".join(result.checked)
    if result.ok:
        print(f"{result.name}: {result.events} events, no problem. Checked: {checked}.")
        return
    print(
        f"{result.name}: {counted(len(result.problems), 'problem')}; {result.intact} of "
        f"{result.events} events are as they were stored. Checked: {checked}."
    )
    if result.intact < result.events:
        print(f"Save them: allgood study export {study} --damaged --out FILE")


def verify(
    file: CertificateFile,
    study: Annotated[
        str | None, typer.Option(help="Database whose events are compared with it, too.")
    ] = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a certificate, with code that shares nothing with the code that made it.

    Exit code 0: verified against the log (--study). 1: problems. 3: recomputed only, because no log
    was given. 4: verified, but the certificate doubts its own guarantee.
    """
    from ..certificates.verify import verify as verify_certificate

    certificate = _read_certificate(file)
    lines = None
    if study is not None:
        from ..study.study import load_study

        lines = [line.rstrip("\n") for line in load_study(study, name).export()]
    result = verify_certificate(certificate, lines)
    if as_json:
        print_json(result)
        raise typer.Exit(result.exit_code)
    for line in result.lines():
        print(line)
    if result.ok and result.remark:
        command = f"allgood study certify {named(study or '', name)} --out NEW.json"
        print(f"Later events are not in it.  A certificate of now: {command}")
    source = certificate.get("source") if result.ok else None
    if source is not None:
        print(
            f"The numbers were added up from a table, {source['file']!r} with SHA-256 "
            f"{source['sha256']}: allgood claims gives them from this table again."
        )
    elif result.status == "recomputed only":
        print("--study URL compares the certificate with the log.")
    raise typer.Exit(result.exit_code)


def _read_certificate(file: Path) -> Any:
    from ..certificates.verify import parse

    try:
        return parse(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the certificate must be a JSON file: got {str(file)!r} ({str(error)[:200]})."
        ) from None
