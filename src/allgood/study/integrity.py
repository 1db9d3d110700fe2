"""Check that a stored study is whole, and save what is left of one that is not.

    check = check_study("screen.db", "screen")
    check.ok, check.problems

A check goes from the file to the meaning: the database itself, the chain of the events, the choices
that the events record, and a certificate that was kept elsewhere, if there is one.  Somebody who
rewrites all events, and the chain with them, passes all but the last of these.
"""

import os
from dataclasses import dataclass
from typing import Any

from .._internal.results import ResultData
from ..certificates.verify import verify
from .backends.errors import DamagedStudy, StudyError
from .backends.sql import EventLog, Store
from .events import Chain, stored_event
from .replay import replay
from .state import Fold
from .study import number_and_name


@dataclass(frozen=True)
class StudyCheck(ResultData):
    """The result of :func:`check_study`.

    Attributes:
        name: the name of the study.
        events: the number of events that the database states.
        intact: the number of events, from the first on, that are as they were stored.
        problems: a sentence for each problem; empty if the study is whole.
        checked: the parts that were looked at, in order: ``database``, ``events``, ``choices`` and
            ``certificate``.  Choices and certificate need events that are whole.
    """

    DERIVED = ("ok",)

    name: str
    events: int
    intact: int
    problems: tuple[str, ...]
    checked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def check_study(
    url: "str | os.PathLike[str] | Store",
    name: str | None = None,
    *,
    certificate: dict[str, Any] | None = None,
) -> StudyCheck:
    """Check a study in a database, from the file to its certificate.

    Args:
        url, name: those of ``load_study``; not the address of a server.
        certificate: one that was kept.  Events that were rewritten since do not agree with it.
    """
    store = _database(url)
    number, found = number_and_name(store, name)
    problems, checked = store.integrity_problems(), ["database"]
    with store.reading(number) as log:
        events = log.end.seq
        problems += log.problems()
        checked.append("events")
        lines, why = _intact(log)
    if why:
        problems.append(why)
    elif not problems:
        problems += replay(list(map(stored_event, lines))).problems
        checked.append("choices")
        if certificate is not None:
            problems += verify(certificate, lines).problems
            checked.append("certificate")
    return StudyCheck(found, events, len(lines), tuple(dict.fromkeys(problems)), tuple(checked))


def intact_lines(
    url: "str | os.PathLike[str] | Store", name: str | None = None
) -> tuple[list[str], str]:
    """Return the lines of the events before the first damage, and a sentence about the damage.

    The sentence is empty if nothing is damaged.  ``import_study`` makes a study of the lines.
    """
    store = _database(url)
    number, _ = number_and_name(store, name)
    with store.reading(number) as log:
        return _intact(log)


def _intact(log: EventLog) -> tuple[list[str], str]:
    chain, fold = Chain(), Fold()
    try:
        log.catch_up(chain, fold.apply)
    except DamagedStudy as error:
        why, intact = str(error), error.intact
    except (ValueError, TypeError) as error:  # the chain is whole, and an event is not possible
        why, intact = str(error), chain.seq
    else:
        why, intact = "", chain.seq
    return list(log.lines(before=intact + 1)), why


def _database(url: "str | os.PathLike[str] | Store") -> Store:
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        raise StudyError(
            f"url must be a database, not the address of a server: got {url!r}. Run the check on "
            "the machine that has the database."
        )
    return url if isinstance(url, Store) else Store(url)
