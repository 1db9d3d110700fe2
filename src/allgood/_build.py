"""Find out whether the core is compiled, and whether the compiled files match their sources.

``setup.py`` compiles every module ``x.py`` that has a header ``x.pxd`` beside it.  From then on
Python loads the compiled file and does not look at ``x.py``.  An edit of ``x.py`` has no effect
until the next build, and tests would run old code.  So a build in a source checkout records the
checksums of the files that it compiled, and ``import allgood`` fails if the files no longer agree
with them.  An installed package has no such record, and nothing is compared.

``setup.py`` reads this file by itself: it must not import anything of the package.
"""

import sys
import zlib
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parent
RECORD = PACKAGE / "_compiled.txt"
SHARED = (
    "_cyutility"  # what all compiled modules have in common; it exists only if they are compiled
)

COMPILED: bool = any((PACKAGE / f"{SHARED}{suffix}").exists() for suffix in EXTENSION_SUFFIXES)

_CHECKOUT = (PACKAGE.parents[1] / "setup.py").exists()
TOOLS = {
    "win32": "Microsoft's C++ Build Tools",
    "darwin": "Apple's command line tools (`xcode-select --install`)",
}.get(sys.platform, "a C compiler and Python's headers (on Debian: gcc and python3-dev)")
_AGAIN = "make build" if _CHECKOUT else "pip install --force-reinstall --no-cache-dir allgood"

ADVICE = (
    "allgood is not compiled: it runs about a hundred times slower than it could.  "
    f"Install {TOOLS}, then run `{_AGAIN}`."
)


class NotCompiledWarning(UserWarning):
    """The core runs as plain Python: same results, about a hundred times slower."""


_ONCE = iter(() if COMPILED else (ADVICE,))


def advice() -> str | None:
    """Return a sentence for a user whose core is not compiled, the first time; then None."""
    return next(_ONCE, None)


def warn_once() -> None:
    """Issue the same sentence as a warning, for programs that use the package."""
    if sentence := advice():
        import warnings

        warnings.warn(sentence, NotCompiledWarning, stacklevel=3)


def state() -> str:
    """Return the state of the core, for ``allgood --version``."""
    return "compiled" if COMPILED else ADVICE.removeprefix("allgood is ")


def sources() -> list[Path]:
    """Return the sources of the compiled files: headers, and the modules that have one."""
    headers = sorted(PACKAGE.rglob("*.pxd"))
    modules = [header.with_suffix(".py") for header in headers]
    return headers + [module for module in modules if module.exists()]


def snapshot() -> dict[str, str]:
    """Return a checksum of each source, by its name inside the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): f"{zlib.crc32(path.read_bytes()):08x}"
        for path in sources()
    }


def recorded() -> dict[str, str]:
    """Return the snapshot of the last build in place; empty if there is none."""
    try:
        lines = RECORD.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = [line.split(" ", 1) for line in lines]
    return {name: checksum for checksum, name in pairs}


def record(checksums: dict[str, str]) -> None:
    """Store a snapshot as that of the last build."""
    lines = [f"{checksum} {name}\n" for name, checksum in checksums.items()]
    RECORD.write_text("".join(lines), encoding="utf-8")


def check() -> None:
    """Raise ImportError if a source was edited after it was compiled.

    Only a source checkout has a record.
    """
    if not COMPILED or not (built := recorded()):
        return
    edited = sorted(name for name, _ in built.items() ^ snapshot().items())
    if edited:
        message = f"src/allgood/{edited[0]} was edited after it was compiled: run `make build`."
        raise ImportError(message)


class CimportFinder:
    """Import ``cython.cimports.allgood.x`` as ``allgood.x`` if kernels run as plain Python.

    Cython reads ``from cython.cimports.allgood.x import y`` as a use of the header of x.  Python
    asks this finder for the module, so that a kernel has one list of imports for both.
    """

    PREFIX = "cython.cimports."

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return a spec for a module of this package by its second name, None for any other."""
        if name.startswith("cython.cimports.allgood."):
            return ModuleSpec(name, cls)  # type: ignore[arg-type]
        return None

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Let Python make a placeholder, which ``exec_module`` replaces."""

    @classmethod
    def exec_module(cls, module: ModuleType) -> None:
        """Put the module itself in the place of its second name: there is one copy of it."""
        name = module.__name__
        sys.modules[name] = import_module(name.removeprefix(cls.PREFIX))


def install_finder() -> None:
    """Let Python follow the cimports of kernels that are not compiled."""
    sys.modules[f"{CimportFinder.PREFIX}allgood"] = sys.modules["allgood"]
    if CimportFinder not in sys.meta_path:
        sys.meta_path.insert(0, CimportFinder)  # the usual finders would load a second copy


@cache
def source_digest() -> str:
    """Return a digest of all sources of the package, names included: equal digests, equal code."""
    import hashlib

    digest = hashlib.sha256()
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pxd")]):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
