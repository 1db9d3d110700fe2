"""``allgood study ...`` and ``allgood verify``.  Heavy imports live inside the commands.

Exit codes: 0 done (for ``status`` and an ``ask`` with nothing to give: certified), 1 something was refused or does not
hold, 2 the input is wrong, 10 running, 11 budget exhausted, 12 abandoned.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._options import Known, Relative, Sigma, plain

if TYPE_CHECKING:
    from .studies import Receipt, Row, Ticket

app = typer.Typer(
    help="Run a real campaign: ask which arms to measure, tell what came out, read off what is certain.",
    no_args_is_help=True,
)

CODES = {"certified": 0, "running": 10, "budget exhausted": 11, "abandoned": 12}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

Url = Annotated[str, typer.Argument(help="A file, sqlite:///FILE, or postgresql+psycopg://USER@HOST/DATABASE.")]
Name = Annotated[str | None, typer.Option(help="Of the study; needed only if there are several.")]
Reason = Annotated[str, typer.Option(help="Why; kept in the history.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Means = Annotated[str | None, typer.Option(help="Guessed means: numbers with commas between, or @FILE.")]
Epsilon = Annotated[float | None, typer.Option(help="How far from the best an arm may be and still be good.")]
PlateSize = Annotated[str | None, typer.Option("--plate", help="Rows x columns, as 8x12; or 96, 384, 1536.")]
Controls = Annotated[
    list[str] | None,
    typer.Option("--control", help="A control: NAME=4 (so many wells, spread) or NAME=A1,H12; may be repeated."),
]
Edge = Annotated[bool, typer.Option("--edge/--no-edge", help="Whether arms may stand at the edge of the plate.")]


def register(root: typer.Typer) -> None:
    """Add these commands to the whole program."""
    root.add_typer(app, name="study")
    root.command("verify")(verify)


@app.command()
def new(
    url: Url,
    arms: Annotated[str, typer.Option(help="Names with commas between, or @FILE with one on each line.")],
    epsilon: Annotated[float, typer.Option(help="How far from the best an arm may be and still be good.")],
    delta: Annotated[float, typer.Option(help="Risk that any label is ever certified wrongly.")] = 0.05,
    multiplicative: Relative = False,
    model: Known = "gaussian",
    sigma: Sigma = None,
    budget: Annotated[int | None, typer.Option(help="Measurements after which nothing more is asked for.")] = None,
    seed: Annotated[int, typer.Option(help="Of the places of arms on plates.")] = 0,
    name: Annotated[str | None, typer.Option(help="Of the study; by default that of the file.")] = None,
    as_json: Json = False,
) -> None:
    """Begin a study."""
    from .._options import model_named, objective_of
    from .studies import create_study

    study = create_study(
        url, name or _stem(url), arms=_names(arms), objective=objective_of(epsilon, multiplicative), delta=delta,
        model=model_named("--model", model, sigma), seed=seed, budget=budget,
    )  # fmt: skip
    if as_json:
        _print({"name": study.name} | study.question.words())
        return
    question = study.question
    print(
        f"Study {study.name!r}: which of {len(question.arms)} arms are {question.objective.wording}?  "
        f"Rewards {question.model}, risk {question.delta:g}."
    )
    print(f"Next: allgood study ask {_where(url, name)} -n 8")


@app.command()
def plan(
    means: Means = None,
    epsilon: Epsilon = None,
    delta: Annotated[float, typer.Option(help="Risk.")] = 0.05,
    multiplicative: Relative = False,
    model: Known = "gaussian",
    sigma: Sigma = None,
    like: Annotated[str | None, typer.Option(help="Instead: question and averages of this study.")] = None,
    name: Name = None,
    batch: Annotated[
        int | None, typer.Option(help="Measurements at once; by default as the plate holds, or 1.")
    ] = None,
    plate: PlateSize = None,
    control: Controls = None,
    edge: Edge = True,
    budget: Annotated[int | None, typer.Option(help="Give a simulated study up after so many measurements.")] = None,
    runs: Annotated[int, typer.Option(help="Studies to simulate.")] = 20,
    seed: Annotated[int, typer.Option(help="Everything is a function of it.")] = 0,
    as_json: Json = False,
) -> None:
    """How many measurements and plates a study will take, if the means are as guessed, or as an earlier one found."""
    from .._options import model_named, numbers, objective_of
    from .._progress import progress_bar
    from .planning import plan_study
    from .studies import load_study

    size = _plate(plate, control, edge)
    at_once = batch or (size.capacity if size else 1)
    noise = 1.0
    if like is not None:
        if means is not None or epsilon is not None:
            raise ValueError("--means and --epsilon must be left out with --like, which brings its own.")
        study = load_study(like, name)
        question, status = study.question, study.status()
        guessed = [one.mean for one in status.arms if not one.withdrawn]
        if any(math.isnan(mean) for mean in guessed):
            raise ValueError(f"--like must be a study in which every arm has a value: got {like}.")
        objective, delta, noise_model = question.objective, question.delta, status.model
        noise = status.typical_sigma
    else:
        if means is None or epsilon is None:
            raise ValueError("--means and --epsilon must be given, or --like instead.")
        guessed, objective = numbers("--means", means), objective_of(epsilon, multiplicative)
        known = model == "unknown-sigma"
        noise_model = model_named("--model", model, None if known else sigma)
        noise = numbers("--sigma", sigma)[0] if known and sigma else 1.0
    with progress_bar("simulating") as report:
        found = plan_study(
            guessed, objective, delta, noise_model, sigma=noise, batch=at_once, runs=runs, seed=seed, budget=budget,
            progress=report,
        )  # fmt: skip
    if as_json:
        _print(asdict(found) | {"means": guessed, "delta": delta})
        return
    what = "plates" if size else "batches"
    for label, (mean, low, high) in (("measurements", found.pulls), (what, found.batches)):
        if label == "measurements" or at_once > 1:
            print(f"{label:<14}{mean:>12,.0f} on average, {low:,.0f} to {high:,.0f} in 8 of 10 studies")
    if at_once > 1:
        print(f"{'':<14}with {at_once} measurements at once")
    if found.ended < found.runs:
        print(f"{found.runs - found.ended} of {found.runs} studies were given up: these are lower ends.")
    if found.lower_bound is not None:
        print(
            f"{'lower bound':<14}{found.lower_bound:>12,.0f} on average for any strategy "
            f"(T* = {found.characteristic_time:,.6g})"
        )
    print(f"Simulated {found.runs} times with the means given: if they are other, so will the numbers be.")


@app.command()
def ask(
    url: Url,
    name: Name = None,
    n: Annotated[int | None, typer.Option("-n", help="How many; 1 by default, or as the plate holds.")] = None,
    client: Annotated[str | None, typer.Option(help="Who asks: asked again, the same tickets come back.")] = None,
    lease: Annotated[
        str | None, typer.Option(help="After this time, as 30m, 2h or 3d, a ticket is offered again.")
    ] = None,
    plate: PlateSize = None,
    control: Controls = None,
    edge: Edge = True,
    out: Annotated[Path | None, typer.Option(help="CSV file to be filled in; must not exist.")] = None,
    as_json: Json = False,
) -> None:
    """Which arms to measure next."""
    from .sheets import write_sheet
    from .studies import load_study

    if out is not None and (out.exists() or not out.parent.is_dir()):
        raise ValueError(f"--out must be a new file in an existing folder: got {str(out)!r}.")
    study = load_study(url, name)
    tickets = study.ask(n, client, None if lease is None else _seconds(lease), _plate(plate, control, edge))
    if not tickets:
        status = study.status()
        if as_json:
            _print({"tickets": [], "outcome": status.outcome, "pending": status.pending})
        elif status.outcome == "running":
            print(f"Nothing to ask for now: {status.pending} measurements are pending.")
        else:
            print(f"Nothing more to measure: {status.outcome}.  Next: allgood study status {_where(url, name)}")
        raise typer.Exit(CODES[status.outcome])
    if out is not None:
        write_sheet(out, study.sheet(tickets))
    if as_json:
        _print({"tickets": [asdict(ticket) for ticket in tickets], "out": None if out is None else str(out)})
    elif out is not None:
        print(f"{len(tickets)} measurements of {len({t.arm for t in tickets})} arms in {out}.")
        print(f"Fill in the column value.  Next: allgood study tell {_where(url, name)} {out}")
    else:
        _print_tickets(tickets)
        print(f"Next: allgood study tell {_where(url, name)} --ticket {tickets[0].id} --value NUMBER")


@app.command()
def tell(
    url: Url,
    file: Annotated[
        Path | None, typer.Argument(help="CSV file with columns ticket and value; - reads them here.")
    ] = None,
    name: Name = None,
    ticket: Annotated[str | None, typer.Option(help="Instead of a file: one ticket.")] = None,
    value: Annotated[str | None, typer.Option(help="And its value.")] = None,
    client: Annotated[str | None, typer.Option(help="Who tells.")] = None,
    all_or_nothing: Annotated[
        bool, typer.Option("--all-or-nothing", help="Count nothing if any row is refused.")
    ] = False,
    empty_failed: Annotated[
        str | None, typer.Option(help="Report tickets without a value as failed, for this reason.")
    ] = None,
    ticket_column: Annotated[str, typer.Option(help="Name of this column.")] = "ticket",
    value_column: Annotated[str, typer.Option(help="Name of this column.")] = "value",
    as_json: Json = False,
) -> None:
    """What came out.  Told twice counts once: whoever is not sure tells again."""
    from .studies import load_study

    if (file is None) == (ticket is None) or (ticket is None) != (value is None):
        raise ValueError("a file, or --ticket and --value, must be given, and not both.")
    study = load_study(url, name)
    rows: Any = [(ticket, value)]
    if file is not None:
        rows = sys.stdin if str(file) == "-" else file
    receipt = study.tell(
        rows, client=client, all_or_nothing=all_or_nothing, ticket_column=ticket_column, value_column=value_column
    )
    failed = 0
    for row in receipt:
        if empty_failed is not None and row.remedy == "tell_failed" and (receipt.ok or not all_or_nothing):
            failed += study.tell_failed(row.ticket, empty_failed).status == "accepted"
    if as_json:
        _print({"counts": receipt.counts, "failed": failed, "rows": [asdict(row) for row in receipt]})
    else:
        _print_receipt(_where(url, name), receipt, failed)
        if receipt.ok:
            print(f"Next: allgood study status {_where(url, name)}")
    raise typer.Exit(0 if receipt.ok else 1)


@app.command()
def fail(url: Url, tickets: Annotated[list[str], typer.Argument(help="Tickets that will have no value.")],
         reason: Reason, name: Name = None, as_json: Json = False) -> None:  # fmt: skip
    """Measurements that failed; their arms may be asked for again."""
    from .studies import load_study

    study = load_study(url, name)
    rows = [study.tell_failed(ticket, reason) for ticket in tickets]
    _report(_where(url, name), rows, as_json)


@app.command(context_settings={"ignore_unknown_options": True})  # values may begin with a minus
def unasked(
    url: Url,
    arm: Annotated[str, typer.Argument(help="The arm's name.")],
    value: Annotated[str, typer.Argument(help="What came out.")],
    source: Annotated[str, typer.Option(help="Names this one measurement: told again, it counts once.")],
    name: Name = None,
    as_json: Json = False,
) -> None:
    """A value that nobody asked for.  It counts, and is marked; tell all of them or none."""
    from .studies import load_study

    _report(_where(url, name), [load_study(url, name).tell_unasked(arm, value, source)], as_json)


@app.command(context_settings={"ignore_unknown_options": True})
def correct(
    url: Url,
    ticket: Annotated[str, typer.Argument(help="Whose value was wrong.")],
    value: Annotated[str, typer.Argument(help="The right one.")],
    reason: Reason,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Replace a value.  Labels are those of the new one; the old one stays in the history."""
    from .studies import load_study

    change = load_study(url, name).correct(ticket, value, reason)
    if as_json:
        _print(asdict(change))
    else:
        print(change.consequence)


@app.command()
def abandon(
    url: Url,
    arm: Annotated[str, typer.Argument(help="The arm's name.")],
    reason: Reason,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Never ask for an arm again, and hear what that does to the verdict."""
    from .studies import load_study

    change = load_study(url, name).abandon(arm, reason)
    if as_json:
        _print(asdict(change))
    else:
        print(change.consequence)


@app.command()
def status(url: Url, name: Name = None, as_json: Json = False) -> None:
    """What is certain, and how far the rest is.  Looking changes nothing.  The exit code is the outcome."""
    from ..tables import print_status
    from .studies import load_study

    found = load_study(url, name).status()
    if as_json:
        _print(found.described())
    else:
        print_status(found)
        if found.outcome == "certified":
            print(f"Next: allgood study certify {_where(url, name)} --out certificate.json")
    raise typer.Exit(CODES[found.outcome])


@app.command()
def certify(
    url: Url,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="The certificate.")] = Path("certificate.json"),
    as_json: Json = False,
) -> None:
    """Write the verdict so far, with every number it rests on, for others to check."""
    from .studies import load_study

    if not out.parent.is_dir():
        raise ValueError(f"--out must be in an existing folder: got {str(out)!r}.")
    certificate = load_study(url, name).certificate()
    text = json.dumps(certificate, indent=1, ensure_ascii=False) + "\n"
    out.write_text(text, encoding="utf-8", newline="\n")
    if as_json:
        _print({"out": str(out), "outcome": certificate["outcome"], "claims": len(certificate["claims"])})
    else:
        print(f"{out}: {len(certificate['claims'])} labels certified, outcome {certificate['outcome']}.")
        print(f"Next: allgood verify {out} --study {_where(url, name)}")


@app.command()
def report(
    url: Url,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    as_json: Json = False,
) -> None:
    """One HTML file with everything: verdict, intervals, labels over time, plates, history."""
    from .report import report_html
    from .studies import load_study

    if not out.parent.is_dir():
        raise ValueError(f"--out must be in an existing folder: got {str(out)!r}.")
    out.write_text(report_html(load_study(url, name)), encoding="utf-8", newline="\n")
    if as_json:
        _print({"out": str(out)})
    else:
        print(f"{out} is the report.")


@app.command()
def export(
    url: Url,
    name: Name = None,
    out: Annotated[Path | None, typer.Option(help="A new file; by default they are printed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was written, as JSON; needs --out.")] = False,
) -> None:
    """All events, as lines of JSON: the whole study."""
    from .studies import load_study

    if as_json and out is None:
        raise ValueError("--out must be given with --json.")
    lines = load_study(url, name).export()
    if out is None:
        sys.stdout.writelines(lines)
        return
    if out.exists():
        raise ValueError(f"--out must be a new file: got {str(out)!r}, which exists.")
    written = list(lines)
    with out.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(written)
    if as_json:
        _print({"out": str(out), "events": len(written)})
    else:
        print(f"{len(written)} events in {out}.")


@app.command("import")
def import_(
    url: Url,
    file: Annotated[Path, typer.Argument(help="Lines of JSON, as `allgood study export` writes them.")],
    name: Annotated[str | None, typer.Option(help="Another name for the study.")] = None,
    as_json: Json = False,
) -> None:
    """A study from its exported events: all of it, or, if a line is wrong, nothing."""
    from .studies import import_study

    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"the file must be text in UTF-8: got {str(file)!r}.") from None
    study = import_study(url, lines[:-1] if lines[-1] == "" else lines, name)
    status = study.status()
    if as_json:
        _print({"name": name or study.name, "events": status.events, "outcome": status.outcome})
    else:
        print(f"Study {name or study.name!r}: {status.events} events, {status.pulls} measurements, {status.outcome}.")


@app.command("list")
def list_(url: Url, as_json: Json = False) -> None:
    """The studies in a database."""
    from .studies import list_studies, load_study

    found = {name: load_study(url, name).status() for name in list_studies(url)}
    if as_json:
        rows = [
            {"name": name, "outcome": s.outcome, "arms": len(s.arms), "pulls": s.pulls} for name, s in found.items()
        ]
        _print({"studies": rows})
        return
    for name, s in found.items():
        print(f"{name}: {s.outcome}, {len(s.arms)} arms, {s.pulls} measurements, {s.pending} pending")
    if not found:
        print(f"No study yet.  Next: allgood study new {_where(url, None)} --arms A,B,C --epsilon 0.5")


@app.command()
def delete(
    url: Url,
    name: Annotated[str, typer.Option(help="Of the study.")],
    yes: Annotated[bool, typer.Option("--yes", help="Needed: there is no way back.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a study and all its events."""
    from .studies import delete_study

    if not yes:
        raise ValueError(
            "--yes must be given, for there is no way back: first "
            f"`allgood study export {_where(url, name)} --out FILE`."
        )
    delete_study(url, name)
    if as_json:
        _print({"deleted": name})
    else:
        print(f"Study {name!r} is deleted.")


@app.command()
def replay(
    url: Url,
    name: Name = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with code 1 if a choice differs.")] = False,
    as_json: Json = False,
) -> None:
    """Make every choice of a study again from its seed and its events, and compare."""
    from .events import digest
    from .replay import replay as again
    from .studies import load_study

    events = load_study(url, name).events()
    found = again(events)
    if as_json:
        _print(
            {"ok": found.ok, "events": len(events), "batches": found.batches, "tickets": found.tickets,
             "sha256": digest(events), "problems": list(found.problems), "outcome": found.ledger.outcome}
        )  # fmt: skip
    else:
        print(f"{len(events)} events, SHA-256 {digest(events)}.")
        for problem in found.problems[:20]:
            print(f"- {problem}")
        if len(found.problems) > 20:
            print(f"... and {len(found.problems) - 20} more (--json shows all)")
        if found.ok:
            print(f"All {found.tickets} tickets of {found.batches} batches are chosen again as they were.")
    raise typer.Exit(1 if check and not found.ok else 0)


@app.command()
def upgrade(url: Url, as_json: Json = False) -> None:
    """Bring a database of an older version of allgood up to date, after a backup."""
    from .store import SCHEMA, Store

    before, backup = Store(url, check=False).upgrade()
    if as_json:
        _print({"from": before, "to": SCHEMA, "backup": None if backup is None else str(backup)})
    elif before == SCHEMA:
        print(f"Up to date: schema version {SCHEMA}.")
    else:
        print(f"Upgraded from schema version {before} to {SCHEMA}; the backup is {backup or 'in the database'}.")


def verify(
    file: Annotated[Path, typer.Argument(help="A certificate, as `allgood study certify` writes it.")],
    study: Annotated[str | None, typer.Option(help="Check it against the events of this database, too.")] = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Recompute every claim of a certificate, with code that shares nothing with what made it."""
    from .verifier import verify as verified

    try:
        certificate = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"the certificate must be a JSON file: got {str(file)!r} ({error}).") from None
    lines = None
    if study is not None:
        from .studies import load_study

        lines = [line.rstrip("\n") for line in load_study(study, name).export()]
    found = verified(certificate, lines)
    if as_json:
        _print({"ok": found.ok, "claims": found.claims, "log": found.log_checked, "problems": list(found.problems)})
    else:
        for problem in found.problems:
            print(f"- {problem}")
        if found.ok:
            against = " and agree with the events of the study" if found.log_checked else ""
            print(f"Verified: {found.claims} claims recompute{against}.")
            if not found.log_checked:
                print("Not checked: that the numbers come from measurements.  --study URL compares them with the log.")
        else:
            print(f"Not verified: {len(found.problems)} problems.")
    raise typer.Exit(0 if found.ok else 1)


def _where(url: str, name: str | None) -> str:
    """The study as the next command must name it; a password is not shown."""
    shown = _quoted(re.sub(r"://([^:/@]+):[^@]*@", r"://\1:***@", url))
    return shown if name is None else f"{shown} --name {_quoted(name)}"


def _quoted(text: str) -> str:
    """One word for the shell of this system."""
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)


def _stem(url: str) -> str:
    if "://" in url and not url.startswith("sqlite"):
        raise ValueError("--name must be given for a study in a database server.")
    return Path(url.rsplit("///", maxsplit=1)[-1]).stem


def _names(text: str) -> list[str]:
    """Names with commas between, or lines of a file."""
    if not text.startswith("@"):
        return [part.strip() for part in text.split(",")]
    path = Path(text[1:])
    if not path.is_file():
        raise ValueError(f"--arms must name an existing file after @: got {str(path)!r}.")
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ValueError(f"--arms must name a text file after @: got {str(path)!r}, which is none.") from None


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhdw]?)", text.strip())
    if not found:
        raise ValueError(f"--lease must be a number of seconds, or as 30m, 2h, 3d, 1w: got {text!r}.")
    return float(found[1]) * UNITS[found[2] or "s"]


def _plate(size: str | None, controls: list[str] | None, edge: bool) -> Any:
    from .plates import Plate

    if size is None:
        if controls or not edge:
            raise ValueError("--control and --no-edge must come with --plate.")
        return None
    found: dict[str, int | list[str]] = {}
    for control in controls or []:
        name, equals, wells = control.rpartition("=")
        if not equals or name in found:
            raise ValueError(f"--control must be NAME=4 or NAME=A1,H12, each name once: got {control!r}.")
        found[name] = int(wells) if wells.isascii() and wells.isdigit() else [w.strip() for w in wells.split(",")]
    return Plate.named(size, found, edge)


def _print(found: dict[str, Any]) -> None:
    print(json.dumps(plain(found), indent=2, allow_nan=False, ensure_ascii=False))


def _print_tickets(tickets: list["Ticket"]) -> None:
    width = max(len(ticket.id) for ticket in tickets)
    for ticket in tickets:
        print(f"{ticket.id:<{width}}  {ticket.well or '':<4}  {ticket.arm}")


def _report(where: str, rows: list["Row"], as_json: bool) -> None:
    from .studies import Receipt

    receipt = Receipt(tuple(rows))
    if as_json:
        _print({"rows": [asdict(row) for row in rows]})
    else:
        _print_receipt(where, receipt, 0)
    raise typer.Exit(0 if receipt.ok else 1)


def _print_receipt(where: str, receipt: "Receipt", failed: int) -> None:
    """What became of each row: counts, what was refused, and the command that would mend it."""
    rows, counts = receipt.rows, receipt.counts | ({"failed": failed} if failed else {})
    print(", ".join(f"{n} {status}" for status, n in counts.items()) + ".")
    for row in rows:
        if row.message and not (failed and row.remedy == "tell_failed"):
            print(f"- {row.message}")
    commands = {
        "correct": f"To replace a value: allgood study correct {where} TICKET VALUE --reason WHY",
        "tell_unasked": f"To count a value that came after all: allgood study unasked {where} ARM VALUE --source WHAT",
        "tell_failed": f"To close a ticket without a value: allgood study fail {where} TICKET --reason WHY",
    }
    for remedy, command in commands.items():
        if any(row.remedy == remedy for row in rows) and not (failed and remedy == "tell_failed"):
            print(command)
