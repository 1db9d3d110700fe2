"""The one compiler decorator, with a cache that sees every edit.

Numba stores compiled code beside the sources and reuses it while *the file that holds the
function* is unchanged.  A kernel that calls a kernel of another file is then reused after that
other file was edited: a silent wrong answer.  ``jit`` stamps every cached function with a digest
of all sources of the package instead, so that any edit, update or checkout recompiles what it
must.  ``tests/test_jit.py`` edits a copy of the package to see it happen.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def source_digest() -> str:
    """Digest of all Python sources of the package, names included."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = source_digest()
_STAMP = ("allgood", SOURCES)


def jit(function: Function) -> Function:
    """Compile on first call, without the interpreter lock; cached until any source changes."""
    return _compile(function, False)


def inlined(function: Function) -> Function:
    """Like ``jit``, pasted into its callers and without reference counting: for the loop and its small kernels.

    Numba counts a reference for every array taken out of a named tuple, and twice for every array in a tuple
    that is passed on, at several nanoseconds each: ten times the cost of the arithmetic here.  Such a
    kernel may therefore neither make arrays nor receive one from a call; it writes into those it was given.
    """
    return _compile(function, True)


def _compile(function: Function, inline: bool) -> Function:
    # error_model: dividing by zero gives inf or nan, as in NumPy, and no branch that raises.
    options: Any = {"cache": True, "nogil": True, "error_model": "numpy", "forceinline": inline, "_nrt": not inline}
    compiled: Any = njit(**options)(function)
    # Absent when Numba's compilation is switched off (NUMBA_DISABLE_JIT=1).
    cache = getattr(compiled, "_cache", None)
    if cache is not None:
        cache._cache_file._source_stamp = _STAMP
    return cast(Function, compiled)
