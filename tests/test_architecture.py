"""The drawing stays true.

Imports go one way, the rim is typed, names are ASCII, twins stand alone.
"""

import ast
import importlib
import re
from pathlib import Path

import pytest

import allgood

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "allgood"

# A module may import only from those before it; strategies do not import each other.
LADDER = [
    "_build",
    "_cancel",
    "_check",
    "_display",
    "_fingerprint",
    "_json",
    "_progress",
    "_runfile",
    "parallel",
    "statistics",
    "c_math",
    "special",
    "draws",
    "parts",
    "heaps",
    "objectives",
    "laws.__init__",
    "laws.contract",
    "laws.base",
    "laws.shifts",
    "laws.normal",
    "laws.unknown_sigma",
    "laws.gaussian",
    "laws.*",
    "laws.table",
    "alternatives.__init__",
    "alternatives.kinds",
    "alternatives.instance",
    "alternatives.normal",
    "alternatives.other",
    "alternatives.response",
    "solver.__init__",
    "solver.limits",
    "solver.game",
    "solver.costs",
    "solver.dense",
    "solver.system",
    "solver.newton",
    "solver.interior",
    "solver.mirror",
    "solver.weights",
    "solver.merging",
    "characteristic",
    "bounds",
    "thresholds.rules",
    "thresholds.__init__",
    "evidence.__init__",
    "evidence.spec",
    "evidence.normal",
    "evidence.other",
    "evidence.certify",
    "evidence.open_claims",
    "evidence.claims",
    "evidence.intervals",
    "evidence.labels",
    "strategies.__init__",
    "strategies.rules",
    "strategies.base",
    "strategies.by_bounds",
    "strategies.*",
    "worlds",
    "environments",
    "loop",
    "running",
    "simulation",
    "catalogue",
    "suites",
    "comparison",
    "plots",
    "study.__init__",
    "study.verifier",
    "study.plates",
    "study.workbooks",
    "study.sheets",
    "study.normalise",
    "study.engine",
    "study.hearing",
    "study.events",
    "study.ledger",
    "study.counts",
    "study.store",
    "study.servers",
    "study.intake",
    "study.checks",
    "study.status",
    "study.certificate",
    "study.summary",
    "study.studies",
    "study.remote",
    "study.replay",
    "study.integrity",
    "study.planning",
    "study.pictures",
    "study.report",
    "__init__",
    "serve.__init__",
    "serve.tokens",
    "serve.problems",
    "serve.guard",
    "serve.connections",
    "serve.work",
    "serve.bodies",
    "serve.answers",
    "serve.live",
    "serve.desk",
    "serve.exploring",
    "serve.routes",
    "serve.app",
    "reproduce.__init__",
    "reproduce._common",
    "reproduce.*",
    "reproduce.runner",
    "cli.tables",
    "cli.options",
    "cli.serve",
    "cli.screen",
    "cli.*",
    "cli.__init__",
    "__main__",
]


def modules():
    """Every module of the package by its dotted name; a package is its __init__."""
    for path in SOURCE.rglob("*.py"):
        yield ".".join(path.relative_to(SOURCE).with_suffix("").parts), path


def rung(module):
    if module in LADDER:
        return LADDER.index(module)
    return LADDER.index(f"{module.rsplit('.', 1)[0]}.*")


def file_of(parts):
    """The module that holds a name.

    Itself, a package's __init__, or the package that exports it.
    """
    if SOURCE.joinpath(*parts).with_suffix(".py").exists():
        return ".".join(parts)
    inner = parts if SOURCE.joinpath(*parts).is_dir() else parts[:-1]
    return ".".join([*inner, "__init__"])


def imports(module, path):
    """Modules of the package that a file imports, and those that its header cimports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = module.split(".")[: -node.level]
            given = [node.module] if node.module else [a.name for a in node.names]
            for name in given:
                found.add(file_of([*home, *name.split(".")]))
        elif isinstance(node, ast.ImportFrom):
            found |= absolute((node.module or "").removeprefix("cython.cimports."))
        elif isinstance(node, ast.Import):
            found |= {"__init__" for a in node.names if a.name.split(".")[0] == "allgood"}
    header = path.with_suffix(".pxd")
    if header.exists():
        for name in re.findall(r"^from (\S+) cimport", header.read_text(), flags=re.M):
            found |= absolute(name)
    return found - {module}


def absolute(name):
    """The module of the package that a dotted name stands for; none for another package's."""
    first, *parts = name.split(".")
    if first != "allgood":
        return set()
    return {file_of(parts) if parts else "__init__"}


@pytest.mark.parametrize(
    ("module", "path"), sorted(modules()), ids=[m for m, _ in sorted(modules())]
)
def test_imports_go_one_way(module, path):
    if module == "__init__":
        return  # the public names: loaded on first use
    assert all(rung(other) < rung(module) for other in imports(module, path))


def test_public_names_exist_and_know_their_home():
    for name in allgood.__all__:
        value = getattr(allgood, name)
        assert value.__module__ == f"allgood.{allgood._HOME[name]}"
        assert value.__doc__
    assert sorted(allgood.__all__) == sorted(allgood._HOME)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = allgood.nonsense


def test_no_public_name_is_hidden_by_a_module():
    """``import allgood.x`` sets the attribute x of the package.

    A module may not be called like a function.
    """
    for module, _ in modules():
        importlib.import_module(f"allgood.{module}".removesuffix(".__init__"))
        assert module not in allgood.__all__
    assert callable(allgood.run)


def test_reference_twins_share_no_code_with_the_package():
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        assert "allgood" not in path.read_text(), path.name


def test_identifiers_are_ascii():
    texts = {
        path: path.read_text(encoding="utf-8")
        for folder in (SOURCE, ROOT / "tests")
        for path in folder.rglob("*.py")
    }
    assert len(texts) > 200
    for path, text in texts.items():
        if text.isascii():
            continue  # and so are its identifiers
        for node in ast.walk(ast.parse(text)):
            name = (
                getattr(node, "id", None)
                or getattr(node, "arg", None)
                or getattr(node, "name", None)
            )
            assert not isinstance(name, str) or name.isascii(), (path.name, name)


def test_nothing_reads_global_random_state():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "np.random.seed" not in text
        assert "import random" not in text


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").exists()
