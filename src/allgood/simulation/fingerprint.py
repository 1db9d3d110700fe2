"""What strategies and environments are made of, in words: equal only if their runs are.

``simulate(resume=...)`` goes on with finished runs only if they are runs of the same thing.
"""

import hashlib
import inspect
import re
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any

import numpy as np

NO_STATE = (  # of a class: what is the same whatever its methods do, or may come in any order
    "__annotations__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__static_attributes__",
    "__weakref__",
)


def source_of(made_by: Any) -> str:
    """A digest of the files that hold a user's own function, or his class and its bases.

    Nothing for the package's.  An edit anywhere in these files makes other runs.  Files that they
    import are not looked at.
    """
    made_by = _innermost(made_by)
    parts = made_by.__mro__ if isinstance(made_by, type) else [made_by]
    parts = [part for part in parts if not _is_ours_or_pythons(part)]
    if not parts:
        return ""
    texts = []
    for part in parts:
        try:
            texts.append(Path(inspect.getfile(part)).read_text(encoding="utf-8"))
        except (OSError, TypeError):  # typed at a prompt, or in a notebook: what is known of it
            texts.append(wording(part))
    return _digest("".join(texts))


def state_of(one: Any) -> str:
    """A digest of all that an object carries with it."""
    return "" if one is None else _digest(wording(one))


def name_of(made_by: Any) -> str:
    """The name of a function, or of the class of what can be called."""
    return str(_innermost(made_by).__qualname__)


def wording(one: Any, around: tuple[int, ...] = ()) -> str:
    """An object in words, with all that it carries: long arrays, and what functions hold.

    The same in every process: without addresses, and sets in order.  Objects of Python's own
    library are as they show themselves.  ``around`` are the objects that this one is in; one of
    them within itself is only named.
    """
    if id(one) in around:
        return "..."
    inner = (*around, id(one))
    if isinstance(one, np.ndarray) and one.dtype != object:
        data = np.ascontiguousarray(one).tobytes()
        return f"array({one.dtype}, {one.shape}, {_digest(data)})"
    if isinstance(one, np.random.Generator):
        return f"Generator({wording(one.bit_generator.state, inner)})"
    if isinstance(one, Random):
        return f"Random({one.getstate()})"
    if isinstance(one, Mapping):
        pairs = (f"{wording(k, inner)}: {wording(v, inner)}" for k, v in one.items())
        return f"{type(one).__qualname__}({', '.join(pairs)})"
    if isinstance(one, set | frozenset):
        return f"{type(one).__qualname__}({', '.join(sorted(wording(x, inner) for x in one))})"
    if isinstance(one, list | tuple | deque | np.ndarray):
        return f"{type(one).__qualname__}({_all(one, inner)})"
    if isinstance(one, partial):
        return f"partial({_all([one.func, one.args, one.keywords], inner)})"
    if isinstance(one, type):
        return one.__qualname__ if _is_ours_or_pythons(one) else _class(one, inner)
    if inspect.ismethod(one):
        return f"method({_all([one.__func__, one.__self__], inner)})"
    if inspect.isfunction(one):
        return f"{one.__qualname__}({_all(_parts(one), inner)})"
    if isinstance(one, staticmethod | classmethod):
        return wording(one.__func__, inner)
    if isinstance(one, property):
        return f"property({_all([one.fget, one.fset], inner)})"
    if isinstance(one, CodeType):
        parts = [one.co_code, one.co_names, one.co_varnames, one.co_freevars, one.co_consts]
        return f"code({_all(parts, inner)})"
    if hasattr(one, "__dict__") and not _is_pythons(type(one)):
        return f"{type(one).__qualname__}({wording(vars(one), inner)})"
    return re.sub(" at 0x[0-9a-fA-F]+", "", repr(one))


def _all(parts: Iterable[Any], around: tuple[int, ...]) -> str:
    return ", ".join(wording(part, around) for part in parts)


def _parts(function: Any) -> list[Any]:
    """The code of a function, and the values that it was made with."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [function.__code__, function.__defaults__, function.__kwdefaults__, cells]


def _class(kind: type, around: tuple[int, ...]) -> str:
    """A class that a user wrote: its methods and its other attributes."""
    inside = {key: value for key, value in vars(kind).items() if key not in NO_STATE}
    return f"{kind.__qualname__}({wording(inside, (*around, id(kind)))})"


def _innermost(made_by: Any) -> Any:
    """The function or class whose source makes the runs."""
    while isinstance(made_by, partial):
        made_by = made_by.func
    return made_by if hasattr(made_by, "__qualname__") else type(made_by)  # that can be called


def _is_pythons(part: Any) -> bool:
    module = (part.__module__ or "").split(".")[0]
    return module in sys.stdlib_module_names and module != "__main__"


def _is_ours_or_pythons(part: Any) -> bool:
    return (part.__module__ or "").split(".")[0] == "allgood" or _is_pythons(part)


def _digest(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()[:16]
