"""A study on a server: the same methods as those of a study in a database.

    study = connect("http://host:8765", "screen", token="...")
    for ticket in study.ask(8, client="robot"):
        study.tell([(ticket.id, measure(ticket.arm))])

What is read is computed here from the events of the study.  What is changed is changed by the
server, which decides.
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from .backends.http import ServerStore
from .commands.ask import Ask
from .design import check_text
from .plates import Plate
from .receipts import (
    Change,
    Receipt,
    ReceiptRow,
    WhenRefused,
    check_refused,
    settled,
)
from .state import Ticket
from .study import Study, _seconds, _warn, load_study
from .tables.counts import read_counts
from .tables.files import content_of
from .tables.sheets import read_sheet, ticket_name
from .tables.values import is_missing
from .tables.workbooks import XLSX, is_workbook


def connect(address: str, name: str | None = None, *, token: str | None = None) -> Study:
    """A study on a server, with the same methods as one in a database.

        study = connect("http://127.0.0.1:8765", "screen")
        for ticket in study.ask(8, client="robot"):
            study.tell([(ticket.id, measure(ticket.arm))])

    Args:
        address: where ``allgood serve`` runs, as ``http://127.0.0.1:8765``, or ``https://...``
            behind a proxy with TLS.
        name: the name of the study; may be left out if the server has only one.
        token: what the server asks for if it is not on this machine.  By default that of the
            environment variable ``ALLGOOD_TOKEN``; without either, none is sent.

    Raises:
        StudyError: if the server does not answer, does not know the token or has no such study.
            Later, a request is repeated for half a minute before that; it is done once.

    ``create_study``, ``load_study``, ``list_studies``, ``delete_study``, ``import_study`` and the
    command line take an address in place of a database, too, with the token of ``ALLGOOD_TOKEN``.
    """
    return load_study(ServerStore(address, token), name)


class RemoteStudy(Study):
    """A study on a server.  :func:`connect` makes it."""

    _store: ServerStore

    def __reduce__(self) -> tuple[Any, ...]:
        return _connected, (self._store.address, self.name, self._store.token)

    def _post(self, what: str, **body: Any) -> Any:
        return self._store.post(f"/studies/{self._number}/{what}", body)

    def _arm_filter(self, arm: str) -> str:
        return arm

    def ask(
        self,
        n: int | None = None,
        client: str | None = None,
        lease: float | timedelta | None = None,
        plate: Plate | None = None,
    ) -> list[Ticket]:
        request = Ask(n, client, _seconds(lease), plate)
        request.check()
        return request.result_from(self._post("ask", **request.to_dict()))

    def tell(
        self,
        rows: Any,
        *,
        client: str | None = None,
        all_or_nothing: bool = False,
        refused: WhenRefused = "raise",
        ticket_column: str = "ticket",
        value_column: str = "value",
        decimal: str = ".",
        grid: int | None = None,
        normalise: str | None = None,
    ) -> Receipt:
        check_refused(refused)
        options = dict(
            client=client, all_or_nothing=all_or_nothing, decimal=decimal, normalise=normalise
        )
        columns = dict(ticket_column=ticket_column, value_column=value_column)
        answer = self._told("tell", rows, options, columns, grid)
        receipt = Receipt.from_dict(answer)
        _warn(receipt.suspects, receipt.warnings)
        return settled(receipt, refused)

    def preview(self, rows: Any, **options: Any) -> Receipt:
        names = ("ticket_column", "value_column")
        columns = {"ticket_column": "ticket", "value_column": "value"}
        columns |= {name: options.pop(name) for name in names if name in options}
        options.pop("refused", None)
        return Receipt.from_dict(
            self._told("preview", rows, options, columns, options.pop("grid", None))
        )

    def _told(
        self,
        what: str,
        rows: Any,
        options: dict[str, Any],
        columns: dict[str, str],
        grid: int | None,
    ) -> Any:
        """Send a file as it is, and anything else as rows."""
        if isinstance(rows, str | os.PathLike) or hasattr(rows, "read"):
            content = content_of(rows)
            body = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            kind = XLSX if is_workbook(body) else "text/csv"
            query = options | columns | {"grid": grid}
            return self._store.send(f"/studies/{self._number}/{what}", body, kind, **query)
        if grid is not None:
            raise TypeError(f"rows must be a file if grid is given: got {rows!r}.")
        told = [
            dict(
                ticket=row.ticket,
                value=_cell(row.value),
                arm=row.arm,
                well=row.well,
                plate=row.plate,
            )
            for row in read_sheet(rows, columns["ticket_column"], columns["value_column"]).rows
        ]
        return self._post(what, rows=told, **options)

    def confirm(self, ticket: "str | Ticket", reason: str) -> Change:
        return Change.from_dict(self._post("confirm", ticket=ticket_name(ticket), reason=reason))

    def tell_failed(
        self, ticket: "str | Ticket", reason: str, *, refused: WhenRefused = "raise"
    ) -> ReceiptRow:
        return self.fail_tickets([ticket], reason, refused=refused).rows[0]

    def fail_tickets(
        self, tickets: "Iterable[str | Ticket]", reason: str, *, refused: WhenRefused = "raise"
    ) -> Receipt:
        check_refused(refused)
        names = [ticket_name(one) for one in tickets]
        return settled(Receipt.from_dict(self._post("fail", tickets=names, reason=reason)), refused)

    def fail_batch(self, batch: int, reason: str) -> Receipt:
        return Receipt.from_dict(self._post("fail", batch=batch, reason=reason))

    def add_measurement(
        self,
        arm: str,
        value: float | str,
        source: str,
        *,
        client: str | None = None,
        refused: WhenRefused = "raise",
    ) -> ReceiptRow:
        check_refused(refused)
        answer = self._post(
            "measurements", arm=arm, value=_cell(value), source=source, client=client
        )
        receipt = Receipt.from_dict(answer)
        _warn(receipt.suspects, receipt.warnings)
        return settled(receipt, refused).rows[0]

    def tell_counts(
        self,
        rows: Any,
        *,
        source: str,
        period: str | None = None,
        columns: Mapping[str, str] | None = None,
        decimal: str = ".",
        client: str | None = None,
        correct: str | None = None,
        refused: WhenRefused = "raise",
    ) -> Receipt:
        check_refused(refused)
        options = dict(source=source, period=period, client=client, correct=correct)
        answer = self._counted("counts", rows, columns, decimal, options)
        receipt = Receipt.from_dict(answer)
        _warn(receipt.suspects, receipt.warnings)
        return settled(receipt, refused)

    def preview_counts(
        self,
        rows: Any,
        *,
        columns: Mapping[str, str] | None = None,
        decimal: str = ".",
        **options: Any,
    ) -> Receipt:
        options.pop("refused", None)
        return Receipt.from_dict(self._counted("counts/preview", rows, columns, decimal, options))

    def _counted(
        self,
        what: str,
        rows: Any,
        columns: Mapping[str, str] | None,
        decimal: str,
        options: dict[str, Any],
    ) -> Any:
        table = read_counts(rows, columns, decimal)
        told = [{name: _cell(cell) for name, cell in row.items()} for row in table.rows]
        return self._post(what, rows=told, **options)

    def correct(
        self, measurement: "str | Ticket", value: "float | str | Mapping[str, Any]", reason: str
    ) -> Change:
        new: Any = _cell(value)
        if isinstance(value, Mapping):
            new = {name: _cell(cell) for name, cell in value.items()}
        name = ticket_name(measurement)
        return Change.from_dict(self._post("correct", measurement=name, value=new, reason=reason))

    def drop_arm(self, arm: str, reason: str) -> Change:
        return Change.from_dict(self._post("drop-arm", arm=arm, reason=reason))

    def add_arms(self, arms: Sequence[str], reason: str) -> Change:
        if isinstance(arms, str):
            raise TypeError(f"arms must be a list of names: got {arms!r}.")
        return Change.from_dict(self._post("arms", arms=list(arms), reason=reason))

    def set_budget(self, budget: int | None, reason: str) -> Change:
        limit = None if budget is None else int(budget)
        return Change.from_dict(self._post("budget", budget=limit, reason=reason))

    def note(
        self,
        text: str,
        *,
        arm: str | None = None,
        ticket: "str | Ticket | None" = None,
        client: str | None = None,
    ) -> None:
        about = None if ticket is None else ticket_name(ticket)
        self._post("notes", text=check_text("text", text), arm=arm, ticket=about, client=client)


def _connected(address: str, name: str, token: str | None) -> Study:
    return connect(address, name, token=token)


def _cell(value: Any) -> Any:
    """A value as JSON has it: a number, a text or null."""
    if is_missing(value):
        return None
    if isinstance(value, str | int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return number if math.isfinite(number) else str(number)
