"""A database whose COMMIT fails when a test says so."""

import sqlite3
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy.engine.default import DefaultDialect


@contextmanager
def failing_commits(times, stored=False):
    """Let the next commits fail; with ``stored``, only after the database has done its work.

    Yields a list whose length is the number of commits that failed so far.
    """
    real, failed = DefaultDialect.do_commit, []

    def commit(dialect, connection):
        if len(failed) < times:
            failed.append(dialect.name)
            if stored:
                real(dialect, connection)
            kind = sqlite3.OperationalError if dialect.name == "sqlite" else None
            raise (kind or psycopg.OperationalError)("database or disk is full")
        real(dialect, connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DefaultDialect, "do_commit", commit)
        yield failed
