"""Tokens: who may read, measure or manage; and sessions, which stand for a token in a browser.

A file has one line for each token: its role, the SHA-256 of the token, and a name for people.  The
token itself is shown once, when it is made, and stored nowhere.  A session is known to the server
that began it, in memory only.
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
        """The name for the log; without a name, the first digits of the digest."""
        return self.name or self.sha256[:8]


def allows(role: Role | None, needed: Role) -> bool:
    """Whether a role may do what another is needed for."""
    return role is not None and ROLES.index(role) >= ROLES.index(needed)


def read_tokens(path: Path) -> tuple[Token, ...]:
    """The tokens of a file."""
    tokens = []
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError("--token-file must be text in UTF-8, as --new-token writes it.") from None
    for i, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = _LINE.fullmatch(line.strip())
        if not parts or parts[1] not in ROLES:
            raise ValueError(
                f"--token-file must have lines of a role ({', '.join(ROLES)}) and a SHA-256, as "
                f"--new-token writes them: line {i} has neither."
            )
        tokens.append(Token(parts[1], parts[2], parts[3] or ""))
    if not tokens:
        raise ValueError(
            "--token-file must hold a token: this file has none. --new-token adds one."
        )
    return tuple(tokens)


def add_token(path: Path, role: str, name: str = "") -> str:
    """Make a token, add its line to the file, and return it."""
    if role not in ROLES:
        raise ValueError(f"--new-token must be one of {', '.join(ROLES)}: got {role!r}.")
    token = secrets.token_urlsafe(32)
    line = f"{role} {_digest(token)} {' '.join(name.split())}".rstrip()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{line}\n")
    return token


def known_token(token: str, tokens: tuple[Token, ...]) -> Token | None:
    """Return what is known of a token; None if it is not known.

    Takes the same time for every token.
    """
    given, found = _digest(token), None
    for known in tokens:
        if hmac.compare_digest(given, known.sha256):
            found = known
    return found


@dataclass
class _Session:
    token: Token
    began: float
    used: float


class Sessions:
    """The sessions of a server: random names that stand for tokens until they end.

    A session ends when its person logs out, when it was not used for ``IDLE`` seconds, ``LONGEST``
    seconds after it began, and with the server.  A token has at most ``PER_TOKEN`` of them: a new
    one ends the one that was not used for longest.
    """

    IDLE = 12 * 3600.0
    LONGEST = 7 * 86400.0
    PER_TOKEN = 100

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()  # by digest; last used last

    def begin(self, token: Token) -> str:
        """Begin a session; returns its name, which is not stored."""
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
