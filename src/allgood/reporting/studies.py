"""Print a study on a terminal: its status, its plates, its open tickets, receipts and plans."""

import math
from collections.abc import Sequence

from .._internal.tables import counted, listed
from ..study import sentences
from ..study.commands.ask import PlannedBatch
from ..study.diagnostics import Checks
from ..study.diagnostics.plate import PlateCheck
from ..study.entries import HistoryPage
from ..study.hits import HitList
from ..study.state import Ticket
from ..study.status import ArmStatus, StudyStatus
from .console import ROWS, say, say_rest, say_some, styled_label, table

SUSPECTS = 10  # shown at most


def print_status(status: StudyStatus) -> None:
    """Print the arms of a study, the verdict, and all that needs attention."""
    _print_arms(status)
    say(f"\n{status.verdict}")
    doubts = status.checks.doubts
    _print_misfit(doubts)
    if status.guarantee:
        say(status.guarantee)
    _print_guess(status)
    for remark in status.remarks.values():
        say(remark)
    if status.sigma is not None:
        say(status.sigma.sentence)
    _print_progress(status)
    _print_notes(status)
    if status.waits_for is not None:
        ticket = status.waits_for
        say(f"\n{sentences.waiting(status.waiting, ticket.id, ticket.arm, ticket.client)}")
    if status.waits_for_controls:
        say(f"\n{status.waits_for_controls}")
    say_some(list(status.rejected), SUSPECTS)
    if status.suspects:
        say()
    say_some([f"{suspect.message}." for suspect in status.suspects], SUSPECTS, "Suspect: ")
    _print_misfit([text for text in status.checks.sentences if text not in doubts])


def print_hits(chosen: HitList) -> None:
    """Print a hit list: the first arms, the verdict, and what the guess is worth."""
    headings = ["arm", "label", "guess", "estimate", "interval", "n", "suspect"]
    rows = [
        [
            hit.arm,
            styled_label(hit.label),
            hit.guess or "",
            "-" if math.isnan(hit.estimate) else f"{hit.estimate:.4g}",
            _interval(hit.low, hit.high),
            f"{hit.n:,}",
            f"{hit.suspect:,}" if hit.suspect else "",
        ]
        for hit in chosen.hits[:ROWS]
    ]
    if rows:
        print(table(headings, rows, left=("arm", "label", "guess")))
    if len(chosen) > ROWS:
        say(f"... and {counted(len(chosen) - ROWS, 'more arm')} (--out FILE has all)")
    say(f"{counted(len(chosen), 'arm')} in the list.  {chosen.verdict}")
    for sentence in filter(None, (chosen.best_guess, *chosen.remarks.values())):
        say(sentence)


def print_history(page: HistoryPage) -> None:
    """Print what happened, a line for each request."""
    for entry in page.entries:
        by = f" ({entry.client})" if entry.client else ""
        say(f"{sentences.stamp(entry.time)}{by}  {entry.sentence}")


def print_claims(status: StudyStatus, condition: str, misfit: Sequence[str]) -> None:
    """Print what a table certifies, and what the guarantee needs."""
    _print_arms(status, with_pending=False)
    labels = len(status.good), len(status.bad), len(status.open)
    say(f"\n{sentences.labels_after(*labels, status.measurements)}")
    say(f"{sentences.guarantee(status.delta)}\n{condition}")
    _print_misfit(misfit)


def _print_arms(status: StudyStatus, with_pending: bool = True) -> None:
    headings = [
        "arm",
        "label",
        "guess",
        "estimate",
        "interval",
        "measurements",
        "pending",
        "evidence / need",
    ]
    headings += ["rests on", ""]
    arms = list(status.arms)
    if len(arms) > ROWS:
        arms.sort(key=lambda arm: -math.inf if math.isnan(arm.mean) else arm.mean, reverse=True)
    rows = [_arm_cells(arm) for arm in arms[:ROWS]]
    unused = [] if with_pending else ["pending"]
    unused += [] if any(arm.guess for arm in arms) else ["guess"]
    for heading in unused:
        at = headings.index(heading)
        for row in (headings, *rows):
            del row[at]
    say(f"{status.name}: {status.wording}")
    print(table(headings, rows, left=("arm", "label", "guess", "rests on", "")))
    say_rest(ROWS, len(status.arms))


def _arm_cells(arm: ArmStatus) -> list[str]:
    remarks = ["withdrawn" if arm.withdrawn else "dropped"] if arm.dropped is not None else []
    if arm.remark:
        remarks.append(sentences.REMARKS[arm.remark].word)
    if arm.censored:
        remarks.append(f"{arm.censored:,} censored")
    return [
        arm.arm,
        styled_label(arm.label),
        arm.guess or "",
        "-" if math.isnan(arm.mean) else f"{arm.mean:.4g}",
        _interval(arm.low, arm.high),
        f"{arm.measurements:,}",
        f"{arm.pending:,}" if arm.pending else "",
        sentences.evidence_over_need(arm.evidence, arm.need),
        sentences.POOL if arm.on_pool else arm.rests_on or "",
        ", ".join(remarks),
    ]


def _interval(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}" if math.isfinite(high - low) else "-"


def _print_progress(status: StudyStatus) -> None:
    """Print how much of the budget is used, and how many measurements are in a special state."""
    counts = {
        "waiting": status.waiting,
        "suspect": len(status.suspects),
        "pending": status.pending,
        "failed": status.failed,
        "withdrawn": status.withdrawn_values,
    }
    parts = [f"{number:,} {state}" for state, number in counts.items() if number]
    if status.budget is not None:
        parts.insert(0, f"{status.measurements:,} of {status.budget:,} measurements")
    if parts:
        say(f"{', '.join(parts)}.")
    if status.plates is not None and status.plates.sentence:
        say(status.plates.sentence)


def _print_notes(status: StudyStatus) -> None:
    if status.origin is not None:
        say(sentences.copied(status.origin.name))
    headings = dict.fromkeys(heading for arm in status.arms for heading in arm.notes)
    if headings:
        number = sum(bool(arm.notes) for arm in status.arms)
        say(
            f"Notes on {number:,} of {len(status.arms):,} arms (--json and the report show them): "
            f"{', '.join(headings)}."
        )
    if status.notes:
        last = status.notes[-1]
        about = last.ticket or last.arm
        number_of_notes = counted(len(status.notes), "note")
        say(
            f"{number_of_notes} (--json shows all), the last{f' on {about}' if about else ''}: "
            f"{last.text}"
        )


def _print_guess(status: StudyStatus) -> None:
    """Print the best guess for open arms: how many there are, and the first names."""
    if status.best_guess:
        say(status.best_guess)
    for label, names in ("good", status.guessed_good), ("bad", status.guessed_bad):
        if names:
            say(f"- {label}: {listed(names)}")


def _print_misfit(reasons: Sequence[str]) -> None:
    if reasons:
        say(f"\n{sentences.MISFIT}:")
    for reason in reasons:
        say(f"- {reason}")


def print_open_tickets(tickets: Sequence[Ticket], now: float) -> None:
    """Print tickets without a value, and how long they have been so."""
    if tickets:
        headings = ("ticket", "arm", "batch", "well", "client", "age", "due")
        rows = [
            (
                ticket.id,
                ticket.arm,
                f"{ticket.batch}",
                ticket.well or "",
                ticket.client or "",
                _duration(now - ticket.time),
                _due(ticket, now),
            )
            for ticket in tickets
        ]
        print(table(headings, rows, left=("ticket", "arm", "well", "client")))
    late = sum(_due(ticket, now) == "overdue" for ticket in tickets)
    overdue = f", {late:,} of them overdue" if late else ""
    say(f"{counted(len(tickets), 'open ticket')}{overdue}.")


def _due(ticket: Ticket, now: float) -> str:
    if ticket.lease_until is None:
        return ""
    left = ticket.lease_until - now
    return f"in {_duration(left)}" if left > 0.0 else "overdue"


def _duration(seconds: float) -> str:
    """Return a time in the largest unit of which there are two: 90 min, 3 h, 15 d."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


def print_plates(checks: Checks) -> None:
    """Print what changed from plate to plate: the arms together, and each control."""
    say()
    if not checks.plates:
        say("No value was told of a plate.")
        return
    names = list(dict.fromkeys(name for row in checks.plates for name in row.controls))
    headings = ["plate", "first value", "values", *(["arms' shift"] if checks.with_arms else [])]
    rows = []
    for row in checks.plates:
        cells = [f"{row.plate}", sentences.stamp(row.time), f"{row.n:,}"]
        if checks.with_arms:
            arms = row.arms
            cells.append("-" if arms is None else _spread(arms.shift, arms.low, arms.high))
        for name in names:
            control = row.controls.get(name)
            cells.append(
                "-" if control is None else _spread(control.mean, control.low, control.high)
            )
        rows.append(cells)
    say("From plate to plate")
    print(table([*headings, *names], rows))
    if checks.with_arms:
        say(
            "\nArms' shift: what arms gave beyond their averages on earlier plates, in sigmas.  "
            "Its interval holds however the arms were chosen."
        )
    else:
        say("\nOnly controls are compared: the model of the measurements gives no sigma for arms.")
    if names:
        say("Controls: averages with 95 % intervals, from the scatter within plates.")


def print_plate_check(check: PlateCheck) -> None:
    """Print what was found on a plate, the alarms first."""
    if not check.wells:
        say(f"Plate {check.plate} has no values yet.")
        return
    for finding in sorted(check.findings, key=lambda finding: not finding.alarm):
        say(f"{'! ' if finding.alarm else '- '}{finding.sentence}")
    if not check.findings:
        say(f"Plate {check.plate}: there is too little to compare it with.")
    say(
        "A plate without any of these effects has an alarm (!) with a chance of at most "
        f"{check.risk:g}; Z' is no test."
    )


def print_planned(planned: PlannedBatch) -> None:
    """Print the batch that would be asked for: how often each arm, and in which wells."""
    wells: dict[str, list[str]] = {}
    controls: dict[str, list[str]] = {}
    for part in planned.measurements:
        of_kind = wells if part.control is None else controls
        of_kind.setdefault(part.arm or f"(control) {part.control}", []).append(part.well or "")
    rows = [[arm, f"{n}", " ".join(wells[arm]).strip()] for arm, n in planned.copies.items()]
    rows = rows[:ROWS] + [[name, f"{len(at)}", " ".join(at)] for name, at in controls.items()]
    print(
        table(["arm or control", "measurements", "wells"], rows, left=["arm or control", "wells"])
    )
    if len(planned.copies) > ROWS:
        say(f"... and {counted(len(planned.copies) - ROWS, 'arm')} (--json shows all)")
    total = sum(planned.copies.values())
    where = "" if planned.rows is None else f" on a plate of {planned.rows}x{planned.columns}"
    limit = planned.max_per_arm
    most = "" if limit is None else f"; an arm may have {counted(limit, 'well')}"
    say(
        f"{counted(total, 'measurement')} of {counted(len(planned.copies), 'arm')}{where}{most}.  "
        + ("They were asked for before." if planned.again else "Nothing was stored.")
    )


def _spread(middle: float, low: float | None, high: float | None) -> str:
    interval = "" if low is None or high is None else f" ({low:.4g} to {high:.4g})"
    return f"{middle:.4g}{interval}"
