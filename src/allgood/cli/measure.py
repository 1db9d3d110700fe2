"""``allgood study ask``, ``tickets``, ``tell``, ``fail`` and other commands about values."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._internal.tables import counted
from .options import ColumnsOption, DecimalOption, JsonOption
from .show import named, print_json, show, show_change, show_receipt, with_warnings
from .study_options import (
    EXIT_CODES,
    Arm,
    Client,
    Controls,
    Edge,
    MaxPerArm,
    Name,
    PlateSize,
    Reason,
    Url,
    check_new_file,
    check_order,
    plate_from,
    seconds,
)

if TYPE_CHECKING:
    from ..study.commands.ask import PlannedBatch
    from ..study.receipts import Receipt
    from ..study.state import Ticket
    from ..study.study import Study

Number = Annotated[
    int | None,
    typer.Option("-n", help="Number of measurements; 1 by default, or as many as the plate holds."),
]
Lease = Annotated[
    str | None,
    typer.Option(help="Time after which a ticket is offered to others, such as 30m, 2h or 3d."),
]
Sheet = Annotated[
    Path | None, typer.Option(help="Sheet to fill in, .csv or .xlsx; must not exist.")
]
PreviewAsked = Annotated[
    bool,
    typer.Option("--preview", help="Show arms and wells; issue no tickets, and store nothing."),
]
PreviewTold = Annotated[
    bool,
    typer.Option("--preview", help="Show the receipt and a check of each plate; store nothing."),
]
SheetFile = Annotated[
    Path | None,
    typer.Argument(
        help="Sheet with columns ticket and value, CSV or .xlsx; - reads standard input."
    ),
]
OneTicket = Annotated[str | None, typer.Option(help="One ticket, with --value, instead of a file.")]
OneValue = Annotated[str | None, typer.Option(help="The value of that ticket.")]
AllOrNothing = Annotated[
    bool, typer.Option("--all-or-nothing", help="Count nothing if any row is refused.")
]
EmptyFailed = Annotated[
    str | None, typer.Option(help="Report tickets without a value as failed, for this reason.")
]
TicketColumn = Annotated[str, typer.Option(help="Name of the column with tickets.")]
ValueColumn = Annotated[str, typer.Option(help="Name of the column with values.")]
Grid = Annotated[
    bool,
    typer.Option(
        "--grid", help="Read a grid of wells, or a list of them, as plate readers write it."
    ),
]
GridPlate = Annotated[
    int | None, typer.Option(help="With --grid: the number of the plate, as in the sheet.")
]
CountsFile = Annotated[
    Path,
    typer.Argument(
        help="Table with columns arm, n, sum or mean, and perhaps sd: CSV or .xlsx; - reads "
        "standard input."
    ),
]
Period = Annotated[
    str | None,
    typer.Option(help="The day, or another period, of all rows; or the column that holds it."),
]
CorrectCounts = Annotated[
    str | None,
    typer.Option(help="Replace numbers that were told differently before, for this reason."),
]


def ask(
    url: Url,
    name: Name = None,
    n: Number = None,
    client: Annotated[
        str | None,
        typer.Option(
            help="Your name, or that of your program.  If you ask again, you get your open tickets."
        ),
    ] = None,
    lease: Lease = None,
    plate: PlateSize = None,
    control: Controls = None,
    edge: Edge = True,
    max_per_arm: MaxPerArm = None,
    out: Sheet = None,
    preview: PreviewAsked = False,
    as_json: JsonOption = False,
) -> None:
    """Ask which arms to measure next.

    If there is nothing to ask for, the exit code is that of status.
    """
    from ..study.study import load_study
    from ..study.tables.sheets import is_workbook_path, write_sheet
    from ..study.tables.workbooks import check_openpyxl

    check_new_file("--out", out)
    if out is not None and is_workbook_path(out):
        check_openpyxl()  # before anything is asked for
    layout = plate_from(plate, control, edge, max_per_arm)
    study = load_study(url, name)
    if preview:
        if out is not None:
            raise ValueError("--out must be left out with --preview: there are no tickets yet.")
        _show_planned(study, study.preview_ask(n, client, layout), named(url, name), as_json)
        return
    before = {ticket.id for ticket in study.open_tickets}
    tickets = study.ask(n, client, None if lease is None else seconds(lease), layout)
    if not tickets:
        _show_nothing(study, named(url, name), as_json)
    if out is not None:
        write_sheet(out, study.sheet(tickets))
    if as_json:
        print_json({"tickets": tickets, "out": None if out is None else str(out)})
        return
    _print_asked(study, tickets, before, n, out, named(url, name))


def _show_planned(study: "Study", planned: "PlannedBatch", where: str, as_json: bool) -> None:
    """Show the batch that would be asked for, and that nothing was stored."""
    from ..reporting.studies import print_planned

    if not planned.measurements:
        _show_nothing(study, where, as_json)
    show(planned, as_json, print_planned)


def _show_nothing(study: "Study", where: str, as_json: bool) -> None:
    """Show why there are no tickets, and end the program."""
    status = study.status()
    if as_json:
        print_json({"tickets": [], "outcome": status.outcome, "pending": status.pending})
    elif status.outcome == "running":
        print(
            f"Nothing to ask for now: {status.pending} measurements are pending.  Next: "
            f"allgood study tickets {where}"
        )
    else:
        print(f"Nothing more to measure: {status.outcome}.  Next: allgood study status {where}")
    raise typer.Exit(EXIT_CODES[status.outcome])


def _print_asked(
    study: "Study",
    tickets: "list[Ticket]",
    before: set[str],
    n: int | None,
    out: Path | None,
    where: str,
) -> None:
    """Print tickets or where they are, why some were asked for before, and what comes next."""
    if out is not None:
        arms = counted(len({ticket.arm for ticket in tickets}), "arm")
        print(f"{counted(len(tickets), 'measurement')} of {arms} in {out}.")
    else:
        width = max(len(ticket.id) for ticket in tickets)
        for ticket in tickets:
            print(f"{ticket.id:<{width}}  {ticket.well or '':<4}  {ticket.arm}")
    _print_again([ticket for ticket in tickets if ticket.id in before], where)
    if out is not None:
        print(f"Fill in the column value.  Next: allgood study tell {where} {out}")
        return
    if n is not None and len(tickets) < n and _is_spent(study):
        print(f"The budget of {study.design.budget:,} allows no more.")
    print(f"Next: allgood study tell {where} --ticket {tickets[0].id} --value NUMBER")


def _is_spent(study: "Study") -> bool:
    """Return whether all of the budget is told or pending."""
    status = study.status()
    used = status.measurements + status.pending + status.waiting + len(status.suspects)
    return status.budget is not None and used >= status.budget


def _print_again(tickets: "list[Ticket]", where: str) -> None:
    """Print why there are tickets that were asked for before."""
    if not tickets:
        return
    number = counted(len(tickets), "measurement was", "measurements were")
    batch = tickets[0].batch
    if tickets[0].well is None:
        print(f"{number} asked for before and had no value yet.")
    else:
        print(
            f"{number} asked for before, on plate {batch}.  A new plate comes when all of its "
            "wells have a value or are closed: "
            f"allgood study fail {where} --batch {batch} --reason WHY"
        )


def tickets(url: Url, name: Name = None, as_json: JsonOption = False) -> None:
    """List tickets without a value: who has them, since when, and until when."""
    import time

    from ..reporting.studies import print_open_tickets
    from ..study.study import load_study

    result = {"tickets": load_study(url, name).open_tickets}
    show(result, as_json, lambda result: print_open_tickets(result["tickets"], time.time()))


def tell(
    url: Url,
    file: SheetFile = None,
    name: Name = None,
    ticket: OneTicket = None,
    value: OneValue = None,
    client: Client = None,
    all_or_nothing: AllOrNothing = False,
    empty_failed: EmptyFailed = None,
    ticket_column: TicketColumn = "ticket",
    value_column: ValueColumn = "value",
    decimal: DecimalOption = ".",
    grid: Grid = False,
    plate: GridPlate = None,
    preview: PreviewTold = False,
    as_json: JsonOption = False,
) -> None:
    """Tell measured values.  Telling them again is safe: a value counts once."""
    from ..study.study import load_study

    if (file is None) == (ticket is None) or (ticket is None) != (value is None):
        raise ValueError("a file, or --ticket and --value, must be given, and not both.")
    if grid != (plate is not None) or (grid and file is None):
        raise ValueError("--grid and --plate must be given together, with a file.")
    check_order(url, file)
    study = load_study(url, name)
    rows: Any = [(ticket, value)]
    if file is not None:
        rows = sys.stdin if str(file) == "-" else file
    options: dict[str, Any] = {
        "client": client,
        "all_or_nothing": all_or_nothing,
        "refused": "report",
        "ticket_column": ticket_column,
        "value_column": value_column,
        "decimal": decimal,
        "grid": plate,
    }
    if preview:
        receipt = study.preview(rows, **options)
        show_receipt(receipt, named(url, name), as_json, advice=["Nothing was stored."])
        return
    receipt = with_warnings(study.tell, rows, **options)
    failed = 0
    if empty_failed is not None and (receipt.ok or not all_or_nothing):
        failed = _fail_empty(study, receipt, empty_failed, client)
    show_receipt(
        receipt, named(url, name), as_json, failed=failed, advice=_next(receipt, url, name)
    )


def check_plate(
    url: Url,
    plate: Annotated[int, typer.Argument(help="Number of the plate.")],
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Check a plate: controls against earlier plates, Z', edge, gradients, swapped plates."""
    from ..reporting.studies import print_plate_check
    from ..study.study import load_study

    show(load_study(url, name).check_plate(plate), as_json, print_plate_check)


def _fail_empty(study: "Study", receipt: "Receipt", reason: str, client: str | None) -> int:
    """Report tickets of rows without a value as failed, and return how many there are."""
    empty = [row.ticket for row in receipt if row.remedy == "fail"]
    done = study.fail(empty, reason, client=client, refused="report")
    return done.counts.get("accepted", 0)


def _next(receipt: "Receipt", url: str, name: str | None) -> list[str]:
    return [f"Next: allgood study status {named(url, name)}"] if receipt.ok else []


def tell_counts(
    url: Url,
    file: CountsFile,
    source: Annotated[str, typer.Option(help="Where the numbers come from.")],
    period: Period = None,
    columns: ColumnsOption = None,
    decimal: DecimalOption = ".",
    correct: CorrectCounts = None,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Tell totals, such as those of a day: number and sum of many measurements of each arm."""
    from ..study.study import load_study
    from ..study.tables.counts import pairs

    check_order(url, file)
    receipt = with_warnings(
        load_study(url, name).tell_counts,
        sys.stdin if str(file) == "-" else file,
        source=source,
        period=period,
        columns=pairs("--columns", columns, "arm=variant,n=visitors"),
        decimal=decimal,
        client=client,
        correct=correct,
        refused="report",
    )
    advice = _next(receipt, url, name)
    if "conflict" in receipt.counts:
        advice.insert(0, "To replace them all by the numbers of this table: --correct WHY")
    show_receipt(receipt, named(url, name), as_json, value="n=NUMBER,sum=NUMBER", advice=advice)


def fail(
    url: Url,
    reason: Reason,
    tickets: Annotated[
        list[str] | None, typer.Argument(help="Tickets that will have no value.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Instead: all open tickets of this batch or plate.")
    ] = None,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Report measurements that failed.  The study may ask for their arms again."""
    from ..study.study import load_study

    if (not tickets) == (batch is None):
        raise ValueError("tickets, or --batch, must be given, and not both.")
    study = load_study(url, name)
    receipt = with_warnings(
        study.fail, tickets or None, reason, batch=batch, client=client, refused="report"
    )
    show_receipt(receipt, named(url, name), as_json)


def add_measurement(
    url: Url,
    arm: Arm,
    value: Annotated[str, typer.Argument(help="The measured value.")],
    source: Annotated[
        str, typer.Option(help="Name of this measurement.  Told again, it counts once.")
    ],
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Tell a value that the study did not ask for.  It counts, and is marked.

    Tell all such values or none: a choice by their size would void the guarantee.
    """
    from ..study.receipts import Receipt
    from ..study.study import load_study

    study = load_study(url, name)
    row = with_warnings(study.add_measurement, arm, value, source, client=client, refused="report")
    show_receipt(Receipt((row,)), named(url, name), as_json)


def correct(
    url: Url,
    ticket: Annotated[str, typer.Argument(help="Ticket whose value was wrong.")],
    value: Annotated[
        str,
        typer.Argument(help="The right value; for counts all their numbers, such as n=90,sum=41."),
    ],
    reason: Reason,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a value.  Labels become those of the new value; the history keeps the old one."""
    from ..study.study import load_study
    from ..study.tables.counts import pairs

    right = pairs("value", value, "n=90,sum=41") if "=" in value else value
    show_change(load_study(url, name).correct(ticket, right, reason, client=client), as_json)


def replace(
    url: Url,
    file: Annotated[
        Path, typer.Argument(help="Sheet with the right values, CSV or .xlsx; - is standard input.")
    ],
    reason: Reason,
    client: Client = None,
    ticket_column: TicketColumn = "ticket",
    value_column: ValueColumn = "value",
    decimal: DecimalOption = ".",
    grid: Grid = False,
    plate: GridPlate = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a whole sheet that was told, such as that of another plate.  All rows, or none."""
    from ..study.study import load_study

    if grid != (plate is not None):
        raise ValueError("--grid and --plate must be given together.")
    check_order(url, file)
    receipt = with_warnings(
        load_study(url, name).replace,
        sys.stdin if str(file) == "-" else file,
        reason,
        client=client,
        refused="report",
        ticket_column=ticket_column,
        value_column=value_column,
        decimal=decimal,
        grid=plate,
    )
    show_receipt(receipt, named(url, name), as_json, advice=_next(receipt, url, name))


def withdraw(
    url: Url,
    reason: Reason,
    basis: Annotated[
        str,
        typer.Option(
            help="cause: somebody noticed the reason without regard to the values; values: the "
            "values are the reason, and the guarantee does not hold any more."
        ),
    ],
    tickets: Annotated[
        list[str] | None, typer.Argument(help="Tickets whose values do not count.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Instead: all values of this batch or plate.")
    ] = None,
    wells: Annotated[
        str | None, typer.Option(help="With --batch: only these wells, such as A1,B7 or A1:B4.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Instead: all counts and values of this source.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="With --source: only the counts of this period.")
    ] = None,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Withdraw values that were told: they do not count.  The history keeps them."""
    from ..study.study import load_study

    change = load_study(url, name).withdraw(
        tickets or None,
        reason=reason,
        basis=basis,  # type: ignore[arg-type]  # the study checks it
        batch=batch,
        wells=wells,
        source=source,
        period=period,
        client=client,
    )
    show_change(change, as_json)


def confirm(
    url: Url,
    ticket: Annotated[str, typer.Argument(help="Ticket whose value is suspect.")],
    reason: Reason,
    client: Client = None,
    name: Name = None,
    as_json: JsonOption = False,
) -> None:
    """Let a suspect value count.

    Decide by the instrument's record, not by what the value does to the verdict.
    """
    from ..study.study import load_study

    show_change(load_study(url, name).confirm(ticket, reason, client=client), as_json)
