"""Errors of backends: open this to catch one, or to see which state of a database it reports."""

from ..._internal.results import Hint, HintCode


class StudyError(ValueError):
    """A study cannot be opened, or its name cannot be used.  The message says what to do."""


class DatabaseNotFound(StudyError):
    """The database does not exist, or holds no tables of studies."""

    hints = (Hint(HintCode.NO_DATABASE),)


class DatabaseUnavailable(StudyError):
    """The database is locked, unreachable or damaged.  The same request may succeed later."""


class HistoryChanged(DatabaseUnavailable):
    """The database no longer holds events that this program read from it or stored in it."""


class DamagedStudy(StudyError):
    """Events of a study are missing, or are not those that were stored.

    Attributes:
        intact: the number of the last event that is certain to be as it was stored.
        hints: how to save the intact events.
    """

    hints = (Hint(HintCode.DAMAGED_STUDY, "damaged", True),)

    def __init__(self, message: str, intact: int = 0) -> None:
        super().__init__(message)
        self.intact = intact


class StudyExists(StudyError):
    """A study of this name already exists."""


class StudyNotFound(StudyError):
    """The study does not exist or has been deleted."""


class IdempotencyConflict(ValueError):
    """An idempotency key was already used for a different request."""
