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

# The rooms that each room may import from, besides itself, ``_internal`` and ``_build``.
RULES = {
    "_build": "",
    "_internal": "",
    "kernels": "",
    "objectives": "",
    "models": "kernels",
    "theory": "kernels objectives models",
    "evidence": "kernels objectives models theory",
    "strategies": "kernels objectives models theory evidence",
    "simulation": "kernels objectives models theory evidence strategies",
    "certificates": "kernels objectives models evidence study",
    "study": "kernels objectives models theory evidence strategies simulation certificates",
    "reporting": "objectives models theory evidence strategies simulation study certificates",
    "reproduce": "__init__ objectives models theory evidence strategies simulation reporting",
    "serve": "__init__ objectives models theory evidence strategies simulation study certificates "
    "reporting",
    "cli": "__init__ objectives models theory evidence strategies simulation study certificates "
    "reporting reproduce serve",
    "__main__": "cli",
}
# Imports inside functions of these modules are of the public package, and made when it is complete.
ALONE = ["certificates.verify"]  # imports nothing of the package


def modules():
    """Every module of the package by its dotted name; a package is its __init__."""
    for path in SOURCE.rglob("*.py"):
        yield ".".join(path.relative_to(SOURCE).with_suffix("").parts), path


def room(module):
    return module.split(".")[0]


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
def test_rooms_import_only_from_their_neighbours(module, path):
    if module == "__init__":
        return  # the public names: loaded on first use
    allowed = {room(module), "_internal", "_build", *RULES[room(module)].split()}
    assert {room(other) for other in imports(module, path)} <= allowed


def test_no_cycle_inside_a_room_or_between_rooms():
    graph = {module: imports(module, path) - {"__init__"} for module, path in modules()}
    graph["__init__"] = set()
    done, active = set(), []

    def visit(module):
        assert module not in active, f"a cycle of imports: {[*active, module]}"
        if module in done:
            return
        active.append(module)
        for other in sorted(graph[module]):
            visit(other)
        active.pop()
        done.add(module)

    for module in sorted(graph):
        visit(module)


def test_strategies_do_not_import_each_other():
    shared = {"__init__", "base", "state", "confidence_bounds"}
    for module, path in modules():
        if module.startswith("strategies."):
            inside = {m.split(".")[1] for m in imports(module, path) if room(m) == "strategies"}
            assert inside <= shared, module


def test_the_verifier_stands_alone():
    for module, path in modules():
        if module in ALONE:
            assert not imports(module, path)


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
