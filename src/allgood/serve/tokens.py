"""Tokens: who may read, measure or manage.

A file has one line for each token: its role, the SHA-256 of the token, and a name for people.  The
token itself is shown once, when it is made, and stored nowhere.
"""

import hashlib
import hmac
import os
import re
import secrets
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


def role_of(token: str, tokens: tuple[Token, ...]) -> Role | None:
    """The role of a token; None if it is not known.  Takes the same time for every token."""
    given, found = _digest(token), None
    for known in tokens:
        if hmac.compare_digest(given, known.sha256):
            found = known.role
    return found


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
