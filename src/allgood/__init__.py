"""Find the options within epsilon of the best of many noisy ones, with a guarantee.

The public names are listed in ``__init__.pyi``.  Each is loaded on first use, so that
``allgood --help`` need not wait for NumPy.
"""

import re
from importlib import import_module
from pathlib import Path

from . import _build

__version__ = "0.1.0"

_build.check()
_build.install_finder()

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {
    name: module
    for module, name in re.findall(r"^from \.(\S+) import (\w+) as \2$", _STUB, flags=re.M)
}
__all__ = sorted(_HOME)  # noqa: PLE0605 - the names of the stub


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
