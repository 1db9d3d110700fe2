"""The errors of backends: a study that is not there, a database that is away, a damaged history."""

from ..._internal.results import Hint, HintCode


class StudyError(ValueError):
    """A study cannot be opened, or its name cannot be used.  The message says what to do."""


class DatabaseUnavailable(StudyError):
    """The database is locked, away or damaged.  What was asked for may work later."""


class HistoryChanged(DatabaseUnavailable):
    """The database no longer holds events that this program has read there or stored there."""


class DamagedStudy(StudyError):
    """Events of a study are missing, or are not those that were stored.

    Attributes:
        intact: the number of the last event that is surely as it was stored.
        hints: how to save the intact events.
    """

    hints = (Hint(HintCode.DAMAGED_STUDY, "damaged", True),)

    def __init__(self, message: str, intact: int = 0) -> None:
        super().__init__(message)
        self.intact = intact


class StudyExists(StudyError):
    """A study of this name exists already."""


class StudyNotFound(StudyError):
    """The study does not exist or has been deleted."""


class IdempotencyConflict(ValueError):
    """An idempotency key was already used for a different request."""
