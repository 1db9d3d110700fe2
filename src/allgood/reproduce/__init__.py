"""The paper's experiments and figures, one file each.

They use only the public names of the package.  Each module has the constants TITLE and PAPER (what
the paper claims) and three functions:

    tables(settings)      computes the experiment: rows by table name
    pictures(tables)      draws it from the tables (Figure 1 from its constants); simulates nothing
    findings(tables)      states the result in words
"""

from importlib import import_module
from types import ModuleType

NAMES = ("alternatives", "sets", "risk", "arms", "drugs", "example", "theory")


def experiment(name: str) -> ModuleType:
    """Return the module of this experiment."""
    if name not in NAMES:
        raise ValueError(f"experiment must be one of {', '.join(NAMES)}: got {name!r}.")
    return import_module(f".{name}", __name__)
