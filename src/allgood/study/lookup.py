"""Find tickets and arms of a study by the names that people write."""

from .._internal.arguments import ArgumentError
from .state import StudyState, TicketRecord
from .tables.reader import nearest


def find_ticket(name: str, state: StudyState) -> TicketRecord | None:
    """Return the ticket with this id; None if the study has no such ticket."""
    tag, _, digits = name.partition("-")
    if tag != state.design.tag or not (digits.isascii() and digits.isdigit()):
        return None
    if digits[0] == "0" or len(digits) >= 16:
        return None
    return state.tickets.get(int(digits))


def known_ticket(name: str, state: StudyState) -> TicketRecord:
    """Return the ticket with this id; raise ArgumentError if the study has no such ticket."""
    ticket = find_ticket(name, state)
    if ticket is None:
        raise ArgumentError(
            f"ticket must be one of this study: got {name!r}{ticket_hint(name, state)}.",
            argument="ticket",
        )
    return ticket


def known_plate(number: int, state: StudyState) -> int:
    """Return the number of a plate; raise ArgumentError if the study has no such plate."""
    if number not in state.plates:
        known = ", ".join(map(str, state.plates)) or "none"
        raise ArgumentError(
            f"plate must be one of the study's, which are {known}: got {number}.", argument="plate"
        )
    return number


def ticket_hint(name: str, state: StudyState) -> str:
    """Return the end of a sentence about an unknown ticket: the nearest one, or the range."""
    design, last = state.design, len(state.tickets)
    tag, _, digits = name.rpartition("-")
    meant = f"{design.tag}-{digits.strip()}"
    if (not tag or is_near(tag, design.tag)) and find_ticket(meant, state) is not None:
        return f"; nearest is {meant!r}"
    if last == 0:
        return "; the study has no tickets yet"
    return f"; its tickets go from {design.ticket_id(1)} to {design.ticket_id(last)}"


def is_near(tag: str, own: str) -> bool:
    """Return whether a tag is a study's own, or mistyped in one letter."""
    differing = sum(a != b for a, b in zip(tag.lower(), own, strict=False))
    return len(tag) == len(own) and differing <= 1


def known_arm(name: str, state: StudyState) -> int:
    """Return the number of the arm with this name; raise ArgumentError if there is none."""
    design = state.design
    number = design.numbers.get(name) if isinstance(name, str) else None
    if number is None:
        hint = nearest(str(name), design.arms)
        raise ArgumentError(f"arm must be one of the study's: got {name!r}{hint}.", argument="arm")
    return number
