"""Fingerprints of strategies and environments: equal only if their runs are equal.

``simulate(resume=...)`` goes on with finished runs only if they have the same fingerprint.
"""

import ast
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
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def source_of(made_by: Any) -> str:
    """Return a digest of the files that hold a user's own function, or class and its bases.

    It is empty for those of the package.  An edit of the code anywhere in these files changes it;
    comments, docstrings and layout do not count.  Files that they import are not read.
    """
    made_by = _innermost(made_by)
    parts = made_by.__mro__ if isinstance(made_by, type) else [made_by]
    parts = [part for part in parts if not _is_ours_or_pythons(part)]
    if not parts:
        return ""
    texts = []
    for part in parts:
        try:
            texts.append(code_of(Path(inspect.getfile(part)).read_bytes()))
        except (OSError, TypeError):  # typed at a prompt, or in a notebook: what is known of it
            texts.append(wording(part))
    return _digest("".join(texts))


def code_of(source: bytes) -> str:
    """Return the code of a Python file without comments, docstrings and layout.

    The content of any other file, such as a compiled one, is returned as a digest.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return _digest(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            has_docstring = ast.get_docstring(node, clean=False) is not None
            node.body = node.body[has_docstring:] or [ast.Pass()]
    return ast.unparse(tree)


def state_of(value: Any) -> str:
    """Return a digest of an object with all its contents."""
    return "" if value is None else _digest(wording(value))


def name_of(made_by: Any) -> str:
    """Return the name of a function, or of the class of a callable object."""
    return str(_innermost(made_by).__qualname__)


def wording(value: Any, around: tuple[int, ...] = ()) -> str:
    """Return a text for an object with all its contents, such as long arrays and closures.

    It is the same in every process: without addresses, and sets in order.  Objects of Python's own
    library are shown by their repr.  ``around`` are the objects that contain this one; if one of
    them occurs within itself, it is only named.
    """
    if id(value) in around:
        return "..."
    inner = (*around, id(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        data = np.ascontiguousarray(value).tobytes()
        return f"array({value.dtype}, {value.shape}, {_digest(data)})"
    if isinstance(value, np.random.Generator):
        return f"Generator({wording(value.bit_generator.state, inner)})"
    if isinstance(value, Random):
        return f"Random({value.getstate()})"
    if isinstance(value, Mapping):
        pairs = (f"{wording(k, inner)}: {wording(v, inner)}" for k, v in value.items())
        return f"{type(value).__qualname__}({', '.join(pairs)})"
    if isinstance(value, set | frozenset):
        return f"{type(value).__qualname__}({', '.join(sorted(wording(x, inner) for x in value))})"
    if isinstance(value, list | tuple | deque | np.ndarray):
        return f"{type(value).__qualname__}({_all(value, inner)})"
    if isinstance(value, partial):
        return f"partial({_all([value.func, value.args, value.keywords], inner)})"
    if isinstance(value, type):
        return value.__qualname__ if _is_ours_or_pythons(value) else _class(value, inner)
    if inspect.ismethod(value):
        return f"method({_all([value.__func__, value.__self__], inner)})"
    if inspect.isfunction(value):
        return f"{value.__qualname__}({_all(_parts(value), inner)})"
    if isinstance(value, staticmethod | classmethod):
        return wording(value.__func__, inner)
    if isinstance(value, property):
        return f"property({_all([value.fget, value.fset], inner)})"
    if isinstance(value, CodeType):
        parts = [
            value.co_code,
            value.co_names,
            value.co_varnames,
            value.co_freevars,
            value.co_consts,
        ]
        return f"code({_all(parts, inner)})"
    if hasattr(value, "__dict__") and not _is_pythons(type(value)):
        return f"{type(value).__qualname__}({wording(vars(value), inner)})"
    return re.sub(" at 0x[0-9a-fA-F]+", "", repr(value))


def _all(parts: Iterable[Any], around: tuple[int, ...]) -> str:
    return ", ".join(wording(part, around) for part in parts)


def _parts(function: Any) -> list[Any]:
    """Return the code of a function without its docstring, its defaults and its closure."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    code = function.__code__
    if function.__doc__ is not None and code.co_consts[:1] == (function.__doc__,):
        code = code.replace(co_consts=(None, *code.co_consts[1:]))
    return [code, function.__defaults__, function.__kwdefaults__, cells]


def _class(kind: type, around: tuple[int, ...]) -> str:
    """Return a text for a class that a user wrote: its methods and its other attributes."""
    inside = {key: value for key, value in vars(kind).items() if key not in NO_STATE}
    return f"{kind.__qualname__}({wording(inside, (*around, id(kind)))})"


def _innermost(made_by: Any) -> Any:
    """Return the function or class whose source determines the runs."""
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
