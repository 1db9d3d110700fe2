"""Tokens, whose roles decide what a caller may do, and sessions, which stand for one in a browser.

A token file has one line for each token: its role, the SHA-256 of the token, and a name for people.
The token itself is shown once, when it is made, and stored nowhere.  Sessions are held in the
memory of the server that began them.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from .._internal.arguments import ArgumentError

Role = Literal["read", "measure", "manage"]
ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may
_LINE = re.compile(r"(\w+)\s+([0-9a-f]{64})(?:\s+(.*))?")


@dataclass(frozen=True)
class Token:
    role: Role
    sha256: str
    name: str = ""

    @property
    def label(self) -> str:
        """The name of the token for the log; without a name, the first digits of the digest."""
        return self.name or self.sha256[:8]


def allows(role: Role | None, needed: Role) -> bool:
    """Return whether a role includes another."""
    return role is not None and ROLES.index(role) >= ROLES.index(needed)


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Read the tokens of a file."""
    tokens = []
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError("The token file must be text in UTF-8.") from None
    for i, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = _LINE.fullmatch(line.strip())
        if not parts or parts[1] not in ROLES:
            raise ValueError(
                f"Each line of the token file must have a role ({', '.join(ROLES)}) and a "
                f"SHA-256: line {i} has not."
            )
        tokens.append(Token(parts[1], parts[2], parts[3] or ""))
    if not tokens:
        raise ValueError("The token file has no token: add one.")
    return tuple(tokens)


def add_token(path: Path, role: str, name: str = "") -> str:
    """Make a token, add its line to the file, and return it."""
    if role not in ROLES:
        raise ArgumentError(
            f"role must be one of {', '.join(ROLES)}: got {role!r}.", argument="role"
        )
    token = secrets.token_urlsafe(32)
    line = f"{role} {_digest(token)} {' '.join(name.split())}".rstrip()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{line}\n")
    return token


def find_token(token: str, tokens: tuple[Token, ...]) -> Token | None:
    """Return the entry of a token; None if the server does not know it.

    Takes the same time for every token.
    """
    digest, entry = _digest(token), None
    for known in tokens:
        if hmac.compare_digest(digest, known.sha256):
            entry = known
    return entry


@dataclass
class _Session:
    token: Token
    began: float
    used: float


class Sessions:
    """The sessions of a server: random names that stand for tokens until they end.

    A session ends when the user logs out, after ``IDLE`` seconds without use, ``LONGEST`` seconds
    after it began, and with the server.  A token has at most ``PER_TOKEN`` sessions: a new one ends
    the one that has been idle for longest.
    """

    IDLE = 12 * 3600.0
    LONGEST = 7 * 86400.0
    PER_TOKEN = 100

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()  # by digest; last used last

    def begin(self, token: Token) -> str:
        """Begin a session, and return its name, which is not stored."""
        now = self.clock()
        own = [key for key, session in self._sessions.items() if session.token == token]
        for key in own[: max(0, len(own) + 1 - self.PER_TOKEN)]:
            del self._sessions[key]
        name = secrets.token_urlsafe(32)
        self._sessions[_digest(name)] = _Session(token, now, now)
        return name

    def token(self, name: str) -> Token | None:
        """Return the token that a session stands for; None if there is no such session."""
        key, now = _digest(name), self.clock()
        session = self._sessions.get(key)
        if session is None:
            return None
        if now > session.used + self.IDLE or now > session.began + self.LONGEST:
            del self._sessions[key]
            return None
        session.used = now
        self._sessions.move_to_end(key)
        return session.token

    def end(self, name: str) -> None:
        """End a session, if there is one of this name."""
        self._sessions.pop(_digest(name), None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
