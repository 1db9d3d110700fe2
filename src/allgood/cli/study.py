"""The commands ``allgood study`` and ``allgood verify``.  Heavy imports live inside the commands.

Exit codes: 0 done, 1 something was refused or does not hold, 2 the input is wrong.  ``status``, and
``ask`` when it has nothing to give, exit with the outcome: 0 certified, 10 running, 11 budget
exhausted, 12 abandoned.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .._internal.tables import counted
from .hints import hint_sentences
from .options import (
    ColumnsOption,
    DecimalOption,
    EpsilonOption,
    JsonOption,
    ModelOption,
    MultiplicativeOption,
    a_number,
    print_json,
    text_of_file,
)

if TYPE_CHECKING:
    from ..study.backends.sql import StudyHead
    from ..study.planning import Plan
    from ..study.plates import Plate
    from ..study.receipts import Receipt
    from ..study.state import Ticket
    from ..study.status import StudyStatus
    from ..study.study import Study

app = typer.Typer(
    help="Run a real campaign: ask which arms to measure, tell the values, see what is certain.",
    no_args_is_help=True,
)

T = TypeVar("T")
CODES = {"certified": 0, "running": 10, "budget exhausted": 11, "dropped": 12}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

Url = Annotated[
    str,
    typer.Argument(
        help="A file, sqlite:///FILE, postgresql+psycopg://USER@HOST/DATABASE, or a server, "
        "http://HOST:8765."
    ),
]
Name = Annotated[
    str | None, typer.Option(help="Name of the study; needed only if there are several.")
]
Reason = Annotated[str, typer.Option(help="Why; kept in the history.")]
Means = Annotated[
    str | None, typer.Option(help="Guessed means: numbers separated by commas, or @FILE.")
]
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
        help="Standard deviation of normal measurements of one arm: one number, one per arm, or "
        "unknown.  Needed for the model gaussian."
    ),
]
PlateSize = Annotated[
    str | None, typer.Option("--plate", help="Rows x columns, as 8x12; or 96, 384, 1536.")
]
Controls = Annotated[
    list[str] | None,
    typer.Option(
        "--control",
        help="A control: NAME=4 (4 wells, spread) or NAME=A1,H12; may be repeated.",
    ),
]
Edge = Annotated[
    bool, typer.Option("--edge/--no-edge", help="Whether arms may stand at the edge of the plate.")
]


def register(root: typer.Typer) -> None:
    """Add these commands to the whole program."""
    root.add_typer(app, name="study")
    root.command("verify")(verify)


@app.command()
def new(
    url: Url,
    arms: Annotated[
        str,
        typer.Option(
            help="Names separated by commas; or @FILE with one name per line, or all on one line "
            "with commas; or, with --arm-column, @FILE with a table."
        ),
    ],
    epsilon: EpsilonOption,
    arm_column: Annotated[
        str | None,
        typer.Option(help="Column with the names, in a table; its other columns are notes."),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(
            help="Risk that any label is ever certified wrongly.",
            parser=a_number,
            metavar="<float>",
        ),
    ] = 0.05,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: Sigma = None,
    budget: Annotated[
        int | None, typer.Option(help="Measurements after which nothing more is asked for.")
    ] = None,
    check_values: Annotated[
        bool,
        typer.Option(
            "--check-values/--no-check-values",
            help="Hold back values that cannot be, and let no label rest on a single value.",
        ),
    ] = True,
    in_order: Annotated[
        bool | None,
        typer.Option(
            "--in-order/--as-told",
            help="Values count in the order of their tickets, or as they are told.  "
            "Waiting times always in the order of tickets.",
        ),
    ] = None,
    censor_at: Annotated[
        float | None,
        typer.Option(help="Waiting times: every wait is given up at this time.  Tell >TIME then."),
    ] = None,
    max_new_arms: Annotated[
        int, typer.Option(help="Places for arms that may be added before the first label.")
    ] = 0,
    pool: Annotated[
        bool,
        typer.Option(
            "--pool/--no-pool",
            help="Put some measurements aside before they are made, to find bad arms together.  "
            "Counts are never put aside: --no-pool if they are all you tell.",
        ),
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed for the wells of arms on plates.")] = 0,
    name: Annotated[
        str | None, typer.Option(help="Name of the study; by default that of the file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Begin a study."""
    from ..strategies.claim_by_claim import ClaimByClaim
    from ..study.backends.sql import StudyExists
    from ..study.study import create_study
    from .options import model_named, objective_from

    if model == "gaussian" and sigma is None:
        raise ValueError(
            "--sigma must be given for normal measurements: --sigma NUMBER, the standard deviation "
            "of repeated measurements of one arm, or --sigma unknown, which takes more of them."
        )
    names, notes, said = _arms(arms, arm_column)
    begun = name or _stem(url)
    try:
        study = create_study(
            _kept(url),
            begun,
            arms=names,
            objective=objective_from(epsilon, multiplicative),
            delta=delta,
            model=model_named("--model", model, sigma),
            strategy=partial(ClaimByClaim, pool=pool),
            seed=seed,
            budget=budget,
            check_values=check_values,
            in_order=in_order,
            censor_at=censor_at,
            max_new_arms=max_new_arms,
            arm_notes=notes,
        )
    except StudyExists:
        raise ValueError(
            f"--name must be new in {_where(url, None)}: got {begun!r}, which exists.  Another "
            "study there needs another name: --name OTHER.  How this one stands: allgood study "
            f"status {_where(url, begun)}"
        ) from None
    if as_json:
        print_json({"name": study.name} | study.design.to_dict())
        return
    for sentence in said:
        print(sentence)
    design = study.design
    print(
        f"Study {study.name!r}: which of {len(design.arms)} arms are {design.objective.wording}?  "
        f"Rewards {design.model}, risk {design.delta:g}."
    )
    print(f"Next: allgood study ask {_where(url, name)} -n 8")


@app.command()
def plan(
    means: Means = None,
    epsilon: Epsilon = None,
    delta: Annotated[float, typer.Option(help="Risk.", parser=a_number, metavar="<float>")] = 0.05,
    multiplicative: MultiplicativeOption = False,
    model: ModelOption = "gaussian",
    sigma: Sigma = None,
    like: Annotated[
        str | None,
        typer.Option(help="Instead of means: the question and the averages of this study."),
    ] = None,
    name: Name = None,
    batch: Annotated[
        int | None,
        typer.Option(help="Measurements at once; by default as many as the plate holds, or 1."),
    ] = None,
    plate: PlateSize = None,
    control: Controls = None,
    edge: Edge = True,
    budget: Annotated[
        int | None, typer.Option(help="Measurements after which a simulated study is given up.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Studies to simulate.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """How many measurements and plates a study will take, or what a budget will certify.

    The means are guessed, or the averages of an earlier study.  The plan counts from the beginning.
    """
    from .._internal.progress import progress_bar
    from ..study.planning import plan_study
    from ..study.study import load_study
    from .options import model_named, numbers, objective_from, with_known_sigma

    size = _plate(plate, control, edge)
    at_once = batch or (size.capacity if size else 1)
    noise, told = 1.0, None
    if like is not None:
        if means is not None or epsilon is not None:
            raise ValueError(
                "--means and --epsilon must be left out with --like, which brings its own."
            )
        study = load_study(like, name)
        design, status = study.design, study.status()
        guessed = [one.mean for one in status.arms if not one.withdrawn]
        if any(math.isnan(mean) for mean in guessed):
            raise ValueError(f"--like must be a study in which every arm has a value: got {like}.")
        objective, delta, noise_model = design.objective, design.delta, status.model
        noise, told = status.typical_sigma, status.pulls
    else:
        if means is None or epsilon is None:
            raise ValueError("--means and --epsilon must be given, or --like instead.")
        guessed, objective = numbers("--means", means), objective_from(epsilon, multiplicative)
        model, sigma = with_known_sigma(model, sigma)
        unknown = model == "unknown-sigma"
        if sigma is None and (unknown or model == "gaussian"):
            raise ValueError(
                "--sigma must be a number here, the standard deviation of repeated measurements "
                "of one arm, or a guess of it, because they are simulated; --model unknown-sigma "
                "plans a study that does not know it."
            )
        noise_model = model_named("--model", model, None if unknown else sigma)
        noise = numbers("--sigma", sigma)[0] if unknown and sigma is not None else 1.0
    with progress_bar("simulating") as report:
        result = plan_study(
            guessed,
            objective,
            delta,
            noise_model,
            sigma=noise,
            batch=at_once,
            runs=runs,
            seed=seed,
            budget=budget,
            progress=report,
        )
    if as_json:
        print_json(asdict(result) | {"means": guessed, "delta": delta, "already_told": told})
        return
    studies = f"{result.within} of {runs} simulated studies"
    _print_spread("measurements", result.pulls, studies)
    if at_once > 1:
        _print_spread("plates" if size else "batches", result.batches, studies)
        print(f"{'':<14}with {at_once} measurements at once")
    if result.ended < runs:
        _print_end(result, budget, studies)
    elif budget is not None:
        print("Every label was certified within the budget in all simulated studies.")
    if result.lower_bound is not None:
        print(
            f"{'lower bound':<14}{result.lower_bound:>12,.0f} on average for any strategy (T* = "
            f"{result.characteristic_time:,.6g})"
        )
    if result.lower_bound_remark is not None:
        print(result.lower_bound_remark)
    if told is not None:
        print(
            f"This is the total of a new study with the averages of {like}, from its beginning.  "
            f"The {counted(told, 'measurement')} told so far are not taken off.  What is still to "
            f"do: allgood study forecast {_where(like or '', name)}"
        )
    print(f"Simulated {runs} times with these means.  Other means give other numbers.")


def _print_spread(
    what: str, spread: tuple[float, float, float], studies: str, decimals: int = 0
) -> None:
    mean, low, high = spread
    print(f"{what:<14}{mean:>12,.{decimals}f} on average, {low:,.0f} to {high:,.0f} in {studies}")


def _print_end(result: "Plan", budget: int | None, studies: str) -> None:
    """What simulated studies had certified when they were given up."""
    from ..study.planning import LONGEST

    given_up, limit = result.runs - result.ended, budget or LONGEST
    print(
        f"{given_up} of {result.runs} studies were given up after {limit:,} measurements, before "
        "every label was certified."
    )
    print(f"By then, of {counted(result.arms, 'label')}:")
    _print_spread("certified", result.labels, studies, 1)
    _print_spread("  as good", result.good, studies, 1)
    _print_spread("  as bad", result.bad, studies, 1)
    _print_spread("guessed right", result.right, studies, 1)
    print("The guess has the certified labels, and the others as the averages look.")


@app.command()
def ask(
    url: Url,
    name: Name = None,
    n: Annotated[
        int | None,
        typer.Option("-n", help="How many; 1 by default, or as many as the plate holds."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(help="Name of who asks.  A client that asks again gets its tickets back."),
    ] = None,
    lease: Annotated[
        str | None,
        typer.Option(help="Time after which a ticket is offered again, as 30m, 2h or 3d."),
    ] = None,
    plate: PlateSize = None,
    control: Controls = None,
    edge: Edge = True,
    out: Annotated[
        Path | None, typer.Option(help="Sheet to be filled in, .csv or .xlsx; must not exist.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Which arms to measure next."""
    from ..study.study import load_study
    from ..study.tables.sheets import is_workbook_path, write_sheet
    from ..study.tables.workbooks import check_openpyxl

    if out is not None and (out.exists() or not out.parent.is_dir()):
        raise ValueError(f"--out must be a new file in an existing folder: got {str(out)!r}.")
    if out is not None and is_workbook_path(out):
        check_openpyxl()  # before anything is asked for
    study = load_study(url, name)
    before = {ticket.id for ticket in study.open_tickets}
    tickets = study.ask(
        n, client, None if lease is None else _seconds(lease), _plate(plate, control, edge)
    )
    if not tickets:
        status = study.status()
        if as_json:
            print_json({"tickets": [], "outcome": status.outcome, "pending": status.pending})
        elif status.outcome == "running":
            print(
                f"Nothing to ask for now: {status.pending} measurements are pending.  Next: "
                f"allgood study tickets {_where(url, name)}"
            )
        else:
            following = f"allgood study status {_where(url, name)}"
            print(f"Nothing more to measure: {status.outcome}.  Next: {following}")
        raise typer.Exit(CODES[status.outcome])
    if out is not None:
        write_sheet(out, study.sheet(tickets))
    if as_json:
        print_json(
            {
                "tickets": [asdict(ticket) for ticket in tickets],
                "out": None if out is None else str(out),
            }
        )
    elif out is not None:
        asked_for = counted(len({ticket.arm for ticket in tickets}), "arm")
        print(f"{counted(len(tickets), 'measurement')} of {asked_for} in {out}.")
        _print_again([ticket for ticket in tickets if ticket.id in before], _where(url, name))
        print(f"Fill in the column value.  Next: allgood study tell {_where(url, name)} {out}")
    else:
        _print_tickets(tickets)
        _print_again([ticket for ticket in tickets if ticket.id in before], _where(url, name))
        if n is not None and len(tickets) < n and _is_spent(study):
            print(f"The budget of {study.design.budget:,} allows no more.")
        print(
            f"Next: allgood study tell {_where(url, name)} --ticket {tickets[0].id} --value NUMBER"
        )


def _is_spent(study: "Study") -> bool:
    """Whether all of the budget is told or pending, as far as is known here."""
    from ..study.remote import RemoteStudy

    if isinstance(study, RemoteStudy):
        return False
    with study.reading() as state:
        return state.room() == 0


def _print_again(tickets: "list[Ticket]", where: str) -> None:
    """Why there are tickets that were asked for before."""
    if not tickets:
        return
    many = counted(len(tickets), "measurement was", "measurements were")
    batch = tickets[0].batch
    if tickets[0].well is None or batch is None:
        print(f"{many} asked for before and had no value yet.")
    else:
        print(
            f"{many} asked for before, on plate {batch}.  A new plate comes when all of its wells "
            f"have a value or are closed: allgood study fail {where} --batch {batch} --reason WHY"
        )


@app.command()
def tickets(url: Url, name: Name = None, as_json: JsonOption = False) -> None:
    """The tickets without a value: who has them, since when, and until when."""
    import time

    from ..reporting.studies import print_open_tickets
    from ..study.study import load_study

    given, now = load_study(url, name).open_tickets, time.time()
    if as_json:
        print_json({"tickets": [asdict(one) | {"age": now - one.time} for one in given]})
    else:
        print_open_tickets(given, now)


@app.command()
def tell(
    url: Url,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Sheet with columns ticket and value, CSV or .xlsx; - reads standard input."
        ),
    ] = None,
    name: Name = None,
    ticket: Annotated[str | None, typer.Option(help="Instead of a file: one ticket.")] = None,
    value: Annotated[str | None, typer.Option(help="The value of that ticket.")] = None,
    client: Annotated[str | None, typer.Option(help="Name of who tells.")] = None,
    all_or_nothing: Annotated[
        bool, typer.Option("--all-or-nothing", help="Count nothing if any row is refused.")
    ] = False,
    empty_failed: Annotated[
        str | None, typer.Option(help="Report tickets without a value as failed, for this reason.")
    ] = None,
    ticket_column: Annotated[str, typer.Option(help="Name of the column with tickets.")] = "ticket",
    value_column: Annotated[str, typer.Option(help="Name of the column with values.")] = "value",
    decimal: DecimalOption = ".",
    grid: Annotated[
        bool,
        typer.Option("--grid", help="The file is a grid of wells, as plate readers write it."),
    ] = False,
    plate: Annotated[
        int | None, typer.Option(help="With --grid: the number of the plate, as in the sheet.")
    ] = None,
    normalise: Annotated[
        str | None,
        typer.Option(
            help="In units of the plate's controls: percent or z, as percent:DMSO, z:DMSO or "
            "percent:LOW,HIGH.  The raw values are kept."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell values.  If you are not sure, tell them again: a value counts once."""
    from ..study.study import load_study

    if (file is None) == (ticket is None) or (ticket is None) != (value is None):
        raise ValueError("a file, or --ticket and --value, must be given, and not both.")
    if grid != (plate is not None) or (grid and file is None):
        raise ValueError("--grid and --plate must be given together, with a file.")
    _check_order(url, file)
    study = load_study(url, name)
    rows: Any = [(ticket, value)]
    if file is not None:
        rows = sys.stdin if str(file) == "-" else file
    receipt = _quietly(
        study.tell,
        rows,
        client=client,
        all_or_nothing=all_or_nothing,
        refused="report",
        ticket_column=ticket_column,
        value_column=value_column,
        decimal=decimal,
        grid=plate,
        normalise=normalise,
    )
    failed = 0
    if empty_failed is not None and (receipt.ok or not all_or_nothing):
        empty = [row.ticket for row in receipt if row.remedy == "tell_failed"]
        done = study.fail_tickets(empty, empty_failed, refused="report")
        failed = done.counts.get("accepted", 0)
    if as_json:
        print_json(
            {
                "counts": receipt.counts,
                "failed": failed,
                "notes": list(receipt.notes),
                "rows": [asdict(row) for row in receipt],
            }
        )
    else:
        _print_receipt(_where(url, name), receipt, failed)
        if receipt.ok:
            print(f"Next: allgood study status {_where(url, name)}")
    raise typer.Exit(0 if receipt.ok else 1)


@app.command("tell-counts")
def tell_counts(
    url: Url,
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with columns arm, n, sum or mean, and perhaps sd: CSV or .xlsx; - reads "
            "standard input."
        ),
    ],
    source: Annotated[str, typer.Option(help="Where the numbers come from.")],
    period: Annotated[
        str | None, typer.Option(help="The day, or whatever the rows are about; or a column.")
    ] = None,
    columns: ColumnsOption = None,
    decimal: DecimalOption = ".",
    correct: Annotated[
        str | None,
        typer.Option(help="Replace numbers that were told otherwise before, for this reason."),
    ] = None,
    client: Annotated[str | None, typer.Option(help="Name of who tells.")] = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Tell number and sum of many measurements per arm, as a table per day has them."""
    from ..study.study import load_study
    from ..study.tables.counts import pairs

    _check_order(url, file)
    study = load_study(url, name)
    receipt = _quietly(
        study.tell_counts,
        sys.stdin if str(file) == "-" else file,
        source=source,
        period=period,
        columns=pairs("--columns", columns, "arm=variant,n=visitors"),
        decimal=decimal,
        client=client,
        correct=correct,
        refused="report",
    )
    if as_json:
        rows = [asdict(row) for row in receipt]
        print_json({"counts": receipt.counts, "notes": list(receipt.notes), "rows": rows})
    else:
        _print_receipt(_where(url, name), receipt, 0, "n=NUMBER,sum=NUMBER")
        if "conflict" in receipt.counts:
            print("To replace them all by the numbers of this table: --correct WHY")
        if receipt.ok:
            print(f"Next: allgood study status {_where(url, name)}")
    raise typer.Exit(0 if receipt.ok else 1)


@app.command()
def fail(
    url: Url,
    reason: Reason,
    tickets: Annotated[
        list[str] | None, typer.Argument(help="Tickets that will have no value.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Instead: all open tickets of this batch or plate.")
    ] = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Report measurements that failed.  Their arms may be asked for again."""
    from ..study.study import load_study

    if (not tickets) == (batch is None):
        raise ValueError("tickets, or --batch, must be given, and not both.")
    study = load_study(url, name)
    if batch is not None:
        receipt = _quietly(study.fail_batch, batch, reason)
    else:
        receipt = _quietly(study.fail_tickets, tickets or [], reason, refused="report")
    _show_receipt(_where(url, name), receipt, as_json)


@app.command(context_settings={"ignore_unknown_options": True})  # values may begin with a minus
def add_measurement(
    url: Url,
    arm: Annotated[str, typer.Argument(help="The arm's name.")],
    value: Annotated[str, typer.Argument(help="The measured value.")],
    source: Annotated[
        str, typer.Option(help="A name for this one measurement.  Told again, it counts once.")
    ],
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Tell a value that nobody asked for.  It counts, and is marked.  Tell all of them or none."""
    from ..study.receipts import Receipt
    from ..study.study import load_study

    study = load_study(url, name)
    row = _quietly(study.add_measurement, arm, value, source, refused="report")
    _show_receipt(_where(url, name), Receipt((row,)), as_json)


@app.command(context_settings={"ignore_unknown_options": True})
def correct(
    url: Url,
    ticket: Annotated[str, typer.Argument(help="The ticket whose value was wrong.")],
    value: Annotated[
        str, typer.Argument(help="The right value; of counts all their numbers, as n=90,sum=41.")
    ],
    reason: Reason,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a value.  Labels become those of the new value; the old one stays in the history."""
    from ..study.study import load_study
    from ..study.tables.counts import pairs

    right = pairs("value", value, "n=90,sum=41") if "=" in value else value
    change = load_study(url, name).correct(ticket, right, reason)
    if as_json:
        print_json(asdict(change))
    else:
        print(change.consequence)


@app.command()
def confirm(
    url: Url,
    ticket: Annotated[str, typer.Argument(help="The ticket whose value is suspect.")],
    reason: Reason,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Let a suspect value count.  Look at the instrument's record, not at the verdict."""
    from ..study.study import load_study

    change = load_study(url, name).confirm(ticket, reason)
    if as_json:
        print_json(asdict(change))
    else:
        print(change.consequence)


@app.command()
def drop_arm(
    url: Url,
    arm: Annotated[str, typer.Argument(help="The arm's name.")],
    reason: Reason,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Never ask for an arm again.  Prints what that does to the verdict."""
    from ..study.study import load_study

    change = _quietly(load_study(url, name).drop_arm, arm, reason)
    if as_json:
        print_json(asdict(change))
    else:
        print(change.consequence)


@app.command("add-arms")
def add_arms(
    url: Url,
    arms: Annotated[
        str, typer.Option(help="Names separated by commas, or @FILE with one name per line.")
    ],
    reason: Reason,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Add arms, once and before the first label is certified, to places kept for new arms."""
    from ..study.study import load_study

    study = load_study(url, name)
    change = study.add_arms(_names(arms), reason)
    if as_json:
        print_json({"arms": study.arms, "consequence": change.consequence})
    else:
        print(change.consequence)


@app.command()
def set_budget(
    url: Url,
    budget: Annotated[
        str, typer.Option(help="Measurements in all, with those made before; or none: no limit.")
    ],
    reason: Reason,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Give a study another budget.  The guarantee stays as it is."""
    from ..study.study import load_study

    if budget != "none" and not re.fullmatch("-?[0-9]+", budget):
        raise ValueError(f"--budget must be a whole number, or none: got {budget!r}.")
    limit = None if budget == "none" else int(budget)
    if limit is not None and limit < 1:
        raise ValueError(f"--budget must be positive, or none: got {limit}.")
    change = load_study(url, name).set_budget(limit, reason)
    if as_json:
        print_json({"budget": limit, "consequence": change.consequence})
    else:
        print(change.consequence)


@app.command()
def note(
    url: Url,
    text: Annotated[str, typer.Argument(help="The remark.")],
    arm: Annotated[str | None, typer.Option(help="The arm that it is about.")] = None,
    ticket: Annotated[str | None, typer.Option(help="The ticket that it is about.")] = None,
    client: Annotated[str | None, typer.Option(help="Name of who writes.")] = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Write down a remark.  It changes nothing; the report and status --json show it."""
    from ..study.study import load_study

    study = load_study(url, name)
    study.note(text, arm=arm, ticket=ticket, client=client)
    notes = study.status().notes
    if as_json:
        print_json({"notes": [asdict(one) for one in notes]})
    else:
        print(f"Noted.  The study has {counted(len(notes), 'note')}.")


@app.command()
def status(
    url: Url,
    name: Name = None,
    plates: Annotated[
        bool, typer.Option("--plates", help="Also what changed from plate to plate.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """What is certain, how far the rest is, and whether the model fits.

    This changes nothing.  The exit code is the outcome.
    """
    from ..study.study import load_study

    current = load_study(url, name).status()
    if as_json:
        print_json(current.to_dict())
    else:
        from ..reporting.studies import print_plates, print_status

        print_status(current)
        if plates:
            print_plates(current.checks)
        if current.outcome == "running":
            print(f"How many more it may take: allgood study forecast {_where(url, name)}")
        if current.outcome == "certified":
            print(f"Next: allgood study certify {_where(url, name)} --out certificate.json")
        if current.outcome == "budget exhausted":
            print(f"To go on: allgood study set-budget {_where(url, name)} --budget N --reason WHY")
    raise typer.Exit(CODES[current.outcome])


@app.command()
def forecast(url: Url, name: Name = None, as_json: JsonOption = False) -> None:
    """Forecast how many more measurements a study needs, and compare with any strategy's least.

    The forecast comes from simulations and is no guarantee.  With 10,000 arms it takes half a
    minute.
    """
    from ..study.study import load_study

    result = load_study(url, name).forecast()
    if as_json:
        print_json(result.to_dict())
    else:
        print(str(result) or "No forecast: a label is open, and an arm has no measurement.")


@app.command()
def certify(
    url: Url,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="The certificate.")] = Path("certificate.json"),
    as_json: JsonOption = False,
) -> None:
    """Write the verdict so far, with every number it rests on, for others to check."""
    from ..study.study import load_study

    if not out.parent.is_dir():
        raise ValueError(f"--out must be in an existing folder: got {str(out)!r}.")
    certificate = load_study(url, name).certificate()
    text = json.dumps(certificate, indent=1, ensure_ascii=False) + "\n"
    out.write_text(text, encoding="utf-8", newline="\n")
    outcome, claims = certificate["outcome"], len(certificate["claims"])
    if as_json:
        print_json({"out": str(out), "outcome": outcome, "claims": claims})
    else:
        print(f"{out}: {claims} labels certified, outcome {outcome}.")
        for doubt in certificate.get("doubts", []):
            print(f"Warning, also in the certificate: {doubt}")
        print(f"Next: allgood verify {out} --study {_where(url, name)}")


@app.command()
def report(
    url: Url,
    name: Name = None,
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    as_json: JsonOption = False,
) -> None:
    """One HTML file with everything: verdict, intervals, labels over time, plates, history."""
    from ..reporting.report import report_html
    from ..study.study import load_study

    if not out.parent.is_dir():
        raise ValueError(f"--out must be in an existing folder: got {str(out)!r}.")
    out.write_text(report_html(load_study(url, name)), encoding="utf-8", newline="\n")
    if as_json:
        print_json({"out": str(out)})
    else:
        print(f"{out} is the report.")


@app.command()
def export(
    url: Url,
    name: Name = None,
    out: Annotated[
        Path | None, typer.Option(help="A new file.  By default the events are printed.")
    ] = None,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="Save the events before the first damage.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say what was written, as JSON; needs --out.")
    ] = False,
) -> None:
    """Write all events as lines of JSON: the whole study."""
    from ..study.study import load_study

    if as_json and out is None:
        raise ValueError("--out must be given with --json.")
    lines: Iterable[str]
    if damaged:
        from ..study.integrity import intact_lines

        intact, why = intact_lines(url, name)
        lines = [f"{line}\n" for line in intact]
        print(f"Not exported: {why}" if why else "Nothing is damaged.", file=sys.stderr)
    else:
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
        print_json({"out": str(out), "events": len(written)})
    else:
        print(f"{len(written)} events in {out}.")


@app.command("import")
def import_(
    url: Url,
    file: Annotated[
        Path, typer.Argument(help="Lines of JSON, as `allgood study export` writes them.")
    ],
    name: Annotated[str | None, typer.Option(help="Another name for the study.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a study from its exported events.  If a line is wrong, nothing is imported."""
    from ..study.study import import_study

    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"the file must be text in UTF-8: got {str(file)!r}.") from None
    study = import_study(_kept(url), lines[:-1] if lines[-1] == "" else lines, name)
    status = study.status()
    events, outcome = status.events, status.outcome
    if as_json:
        print_json({"name": study.name, "events": events, "outcome": outcome})
    else:
        print(f"Study {study.name!r}: {events} events, {status.pulls} measurements, {outcome}.")


@app.command()
def copy(
    url: Url,
    to: Annotated[str, typer.Argument(help="The database of the copy; may be the same.")],
    epsilon: Epsilon = None,
    multiplicative: MultiplicativeOption = False,
    delta: Annotated[
        float | None, typer.Option(help="Risk of the copy.", parser=a_number, metavar="<float>")
    ] = None,
    name: Name = None,
    new_name: Annotated[
        str | None, typer.Option(help="Name of the copy; by default that of its file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put another question to the same values: a new study, with a risk of its own on top."""
    from ..study.study import load_study
    from .options import objective_from

    if multiplicative and epsilon is None:
        raise ValueError("--epsilon must be given with --multiplicative.")
    objective = None if epsilon is None else objective_from(epsilon, multiplicative)
    study = load_study(url, name)
    made = study.copy(_kept(to), new_name or _stem(to), objective=objective, delta=delta)
    design, status = made.design, made.status()
    if as_json:
        print_json({"name": made.name, "origin": vars(status.origin)} | design.to_dict())
        return
    both_additive = design.objective.factor == study.design.objective.factor == 1.0
    after_a_look = f"at most {2 * design.delta:g}" if both_additive else "not known"
    print(
        f"Study {made.name!r}: which of {len(made.arms)} arms are {design.objective.wording}?  "
        f"{status.pulls} measurements, {status.outcome}.\n"
        f"Its risk, {design.delta:g}, is its own and comes on top of the "
        f"{study.design.delta:g} of {study.name!r}, if its question was chosen without regard to "
        f"the values.\nIf it was chosen after a look at them, its risk is {after_a_look}."
    )
    print(f"Next: allgood study status {_where(to, new_name)}")


@app.command("list")
def list_(
    url: Url,
    with_status: Annotated[
        bool,
        typer.Option("--status", help="Compute the outcome of each study, which may take long."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the studies in a database."""
    from ..study.study import load_study, overview

    heads = overview(url)
    if with_status:
        states = {head.name: load_study(url, head.name).status() for head in heads}
    else:
        states = {}
    if as_json:
        print_json({"studies": [_listed(head, states.get(head.name)) for head in heads]})
        return
    for head in heads:
        events = counted(head.events, "event")
        state = states.get(head.name)
        if state is None:
            print(f"{head.name}: {events}")
            continue
        arms, pulls = counted(len(state.arms), "arm"), counted(state.pulls, "measurement")
        print(f"{head.name}: {state.outcome}, {arms}, {pulls}, {state.pending:,} pending, {events}")
        for warning in state.warnings:
            print(f"  {warning}")
    if not heads:
        following = f"allgood study new {_where(url, None)} --arms A,B,C --epsilon 0.5 --sigma 1"
        print(f"No study yet.  Next: {following}")
    elif not with_status:
        print("--status computes the outcome of each.")


def _listed(head: "StudyHead", state: "StudyStatus | None") -> dict[str, Any]:
    """A study in the list, for JSON."""
    quick = {"name": head.name, "events": head.events}
    if state is None:
        return quick
    return quick | {
        "outcome": state.outcome,
        "arms": len(state.arms),
        "pulls": state.pulls,
        "warnings": state.warnings,
    }


@app.command()
def delete(
    url: Url,
    name: Annotated[str, typer.Option(help="Name of the study.")],
    yes: Annotated[bool, typer.Option("--yes", help="Needed: there is no way back.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a study and all its events."""
    from ..study.study import delete_study

    if not yes:
        raise ValueError(
            "--yes must be given, because there is no way back. First save the study with "
            f"`allgood study export {_where(url, name)} --out FILE`."
        )
    delete_study(url, name)
    if as_json:
        print_json({"deleted": name})
    else:
        print(f"Study {name!r} is deleted.")


@app.command()
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

    lines = load_study(url, name).lines()
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
                "problems": list(result.problems),
                "ties": list(result.ties),
                "outcome": result.state.outcome(),
            }
        )
    else:
        print(f"{len(lines)} events, SHA-256 {digest(lines)}.")
        _print_some(result.problems)
        _print_some(result.ties)
        if result.copied:
            tickets = counted(result.copied, "ticket")
            print(f"{tickets} came from another study, which chose them.")
        batches = counted(result.batches, "batch", "batches")
        chosen = f"All {counted(result.tickets, 'ticket')} of {batches} are chosen again"
        if result.ok and result.ties:
            ties = counted(len(result.ties), "tie")
            print(f"{chosen} as they were, up to {ties} within rounding.")
        elif result.ok:
            print(f"{chosen} as they were.")
    raise typer.Exit(1 if check and not result.ok else 0)


@app.command()
def check(
    url: Url,
    name: Name = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate that was kept: does the study agree?")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a stored study is whole: its file, its events, its choices, a certificate.

    Exits with code 1 if there is a problem.
    """
    from ..study.integrity import check_study

    kept = None if certificate is None else _read_certificate(certificate)
    result = check_study(url, name, certificate=kept)
    if as_json:
        print_json(asdict(result) | {"ok": result.ok})
    else:
        _print_some(result.problems)
        looked = ", ".join(result.checked)
        if result.ok:
            print(f"{result.name}: {result.events} events, no problem. Checked: {looked}.")
        else:
            print(
                f"{result.name}: {counted(len(result.problems), 'problem')}; {result.intact} of "
                f"{result.events} events are as they were stored. Checked: {looked}."
            )
            if result.intact < result.events:
                where = _where(url, name)
                print(f"Save them: allgood study export {where} --damaged --out FILE")
    raise typer.Exit(0 if result.ok else 1)


def _print_some(messages: Sequence[str], most: int = 20) -> None:
    for message in messages[:most]:
        print(f"- {message}")
    if len(messages) > most:
        print(f"... and {len(messages) - most} more (--json shows all)")


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            help="A certificate, as `allgood study certify` or `allgood claims` writes it."
        ),
    ],
    study: Annotated[
        str | None, typer.Option(help="Check it against the events of this database, too.")
    ] = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Check a certificate, with code that shares nothing with what made it.

    Exit code 0: verified against the log (--study). 1: problems. 3: recomputed only, as no log was
    given. 4: verified, but the certificate doubts its own guarantee.
    """
    from ..certificates.verify import verify as verify_certificate

    certificate = _read_certificate(file)
    lines = None
    if study is not None:
        from ..study.study import load_study

        lines = [line.rstrip("\n") for line in load_study(study, name).export()]
    result = verify_certificate(certificate, lines)
    if as_json:
        print_json(result.to_dict())
        raise typer.Exit(result.exit_code)
    for line in result.lines():
        print(line)
    if result.ok and result.remark:
        following = f"allgood study certify {_where(study or '', name)} --out NEW.json"
        print(f"Later events are not in it.  A certificate of now: {following}")
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


def _quietly(tell: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call a function, and say its warnings in one line each.

    Not of suspect values, which are in what it returns.
    """
    from ..models import ModelWarning

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = tell(*arguments, **options)
    for warning in said:
        if issubclass(warning.category, ModelWarning):
            print(f"Warning: {warning.message}", file=sys.stderr)
    return result


def _check_order(url: str, file: Path | None) -> None:
    """ValueError if a sheet stands where the study must, and a database where the sheet must."""
    from ..study.tables.files import SQLITE

    first = Path(url)
    if file is None or not first.is_file() or not file.is_file():
        return
    with first.open("rb") as sheet, file.open("rb") as database:
        swapped = sheet.read(16) not in (b"", SQLITE) and database.read(16) == SQLITE
    if swapped:
        raise ValueError(
            f"the study must come first, and then the file: got {url!r} and then {str(file)!r}, "
            "which is a database.  The arguments may be swapped."
        )


def _kept(url: str) -> str:
    """The url of a study that is to outlive this command."""
    if url.rsplit("///", maxsplit=1)[-1] == ":memory:":
        raise ValueError("the study must be kept in a file or a database: got ':memory:'.")
    return url


def _where(url: str, name: str | None) -> str:
    """The study as the next command must name it.  Passwords are not shown."""
    shown = _quoted(re.sub(r"://([^:/@]+):[^@]*@", r"://\1:***@", url))
    return shown if name is None else f"{shown} --name {_quoted(name)}"


def _quoted(text: str) -> str:
    """One word for the shell of this system."""
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)


def _stem(url: str) -> str:
    if "://" in url and not url.startswith("sqlite"):
        raise ValueError("--name must be given for a study in a database server.")
    return Path(url.rsplit("///", maxsplit=1)[-1]).stem


def _arms(
    text: str, column: str | None
) -> tuple[list[str], dict[str, dict[str, str]], tuple[str, ...]]:
    """The names of arms, notes on them, and what should be known of how a table was read."""
    from ..study.tables.sheets import read_arms

    if column is None:
        return _names(text), {}, ()
    if not text.startswith("@"):
        raise ValueError(f"--arms must be @FILE with --arm-column: got {text!r}.")
    return read_arms(text[1:], column)


def _names(text: str) -> list[str]:
    """Names separated by commas, or the lines of a file; if it has one line, that is such names."""
    if text.startswith("@"):
        lines = text_of_file("--arms", Path(text[1:])).splitlines()
        filled = [line.strip() for line in lines if line.strip()]
        if len(filled) != 1:
            return filled
        text = filled[0].strip(",")
    return [part.strip() for part in text.split(",")]


def _seconds(text: str) -> float:
    parts = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhdw]?)", text.strip())
    if not parts:
        raise ValueError(
            f"--lease must be a number of seconds, or as 30m, 2h, 3d, 1w: got {text!r}."
        )
    return float(parts[1]) * UNITS[parts[2] or "s"]


def _plate(size: str | None, controls: list[str] | None, edge: bool) -> "Plate | None":
    from ..study.plates import Plate

    if size is None:
        if controls or not edge:
            raise ValueError("--control and --no-edge must come with --plate.")
        return None
    wells_of: dict[str, int | list[str]] = {}
    for control in controls or []:
        name, equals, wells = control.rpartition("=")
        if not equals or name in wells_of:
            raise ValueError(
                f"--control must be NAME=4 or NAME=A1,H12, each name once: got {control!r}."
            )
        is_number = wells.isascii() and wells.isdigit()
        wells_of[name] = int(wells) if is_number else [well.strip() for well in wells.split(",")]
    return Plate.named(size, wells_of, edge)


def _print_tickets(tickets: list["Ticket"]) -> None:
    width = max(len(ticket.id) for ticket in tickets)
    for ticket in tickets:
        print(f"{ticket.id:<{width}}  {ticket.well or '':<4}  {ticket.arm}")


def _show_receipt(where: str, receipt: "Receipt", as_json: bool) -> None:
    if as_json:
        rows = [asdict(row) for row in receipt]
        print_json({"notes": list(receipt.notes), "rows": rows})
    else:
        _print_receipt(where, receipt, 0)
    raise typer.Exit(0 if receipt.ok else 1)


def _print_receipt(where: str, receipt: "Receipt", failed: int, value: str = "VALUE") -> None:
    """What became of each row: counts, what was refused, and the commands that would mend it."""
    from ..study.receipts import some

    counts = receipt.counts | ({"failed": failed} if failed else {})
    print(", ".join(f"{n} {status}" for status, n in counts.items() or [("rows", 0)]) + ".")
    for note in [*receipt.notes, *hint_sentences(receipt.hints)]:
        print(note)
    open_rows = [row for row in receipt if not (failed and row.remedy == "tell_failed")]
    for message in some(row.message for row in open_rows if row.message):
        print(message if message.startswith("...") else f"- {message}")
    remedies = {row.remedy for row in open_rows}
    if "confirm" in remedies:
        print(f"To let a suspect value count: allgood study confirm {where} TICKET --reason WHY")
    if remedies & {"correct", "confirm"}:
        print(f"To replace a value: allgood study correct {where} TICKET {value} --reason WHY")
    if "add_measurement" in remedies:
        command = f"allgood study add-measurement {where} ARM VALUE --source WHAT"
        print(f"To count a value that came after all: {command}")
    if "tell_failed" in remedies:
        command = f"allgood study fail {where} TICKET --reason WHY"
        print(f"To close a ticket without a value: {command}")
    if sum(row.remedy == "tell_failed" for row in open_rows) > 1:
        print("To close all tickets without a value: the same command with --empty-failed WHY")
