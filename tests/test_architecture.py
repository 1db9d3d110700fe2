"""Check the structure of the package: imports between rooms, cycles, public names.

The rules are in support/rooms.py.
"""

import ast
import importlib
import re
from pathlib import Path

import pytest

import allgood

from .support.rooms import ALONE, COMPUTED, RULES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "allgood"


def modules():
    """Yield every module of the package by its dotted name; a package is its __init__."""
    for path in SOURCE.rglob("*.py"):
        yield ".".join(path.relative_to(SOURCE).with_suffix("").parts), path


def room(module):
    return module.split(".")[0]


def file_of(parts):
    """Return the module that holds a name.

    It is the name itself, a package's __init__, or the package that exports the name.
    """
    if SOURCE.joinpath(*parts).with_suffix(".py").exists():
        return ".".join(parts)
    inner = parts if SOURCE.joinpath(*parts).is_dir() else parts[:-1]
    return ".".join([*inner, "__init__"])


def imports(module, path):
    """Return the modules of the package that a file imports, or that its header cimports.

    Imports inside functions, and by a computed name, count as well.
    """
    targets = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = module.split(".")[: -node.level]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            for name in names:
                targets.add(file_of([*home, *name.split(".")]))
        elif isinstance(node, ast.ImportFrom):
            targets |= absolute((node.module or "").removeprefix("cython.cimports."))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                targets |= absolute(alias.name.removeprefix("cython.cimports."))
        elif isinstance(node, ast.Call) and is_importer(node):
            targets |= computed(module, node)
    header = path.with_suffix(".pxd")
    if header.exists():
        for name in re.findall(r"^from (\S+) cimport", header.read_text(), flags=re.M):
            targets |= absolute(name)
    return targets - {module}


def is_importer(call):
    """Return whether a call imports a module by name."""
    name = getattr(call.func, "id", None) or getattr(call.func, "attr", None)
    return name in ("import_module", "__import__")


def computed(module, call):
    """Return the modules that a call of import_module loads; its name must be known."""
    name = call.args[0]
    if isinstance(name, ast.Constant):
        return absolute(name.value) if not name.value.startswith(".") else {"unknown"}
    assert module in COMPUTED, f"{module} imports a module by a name that is computed"
    if COMPUTED[module] is None:
        return {file_of(home.split(".")) for home in allgood._HOME.values()}
    home = module.split(".")[:-1]
    return {file_of([*home, part]) for part in (COMPUTED[module] or "").split()}


def absolute(name):
    """Return the module of the package that a dotted name stands for; none for another package."""
    first, *parts = name.split(".")
    if first != "allgood":
        return set()
    return {file_of(parts) if parts else "__init__"}


@pytest.mark.parametrize(
    ("module", "path"), sorted(modules()), ids=[m for m, _ in sorted(modules())]
)
def test_rooms_import_only_from_their_neighbours(module, path):
    if module == "__init__":
        return  # the public names, loaded on first use: the test of cycles counts them
    allowed = {room(module), "_internal", "_build", *RULES[room(module)].split()}
    assert {room(other) for other in imports(module, path)} <= allowed


def test_there_are_about_a_dozen_rooms_and_each_has_a_rule():
    assert {room(module) for module, _ in modules()} - {"__init__"} == set(RULES)
    folders = {room(module) for module, _ in modules() if "." in module}
    assert len(folders) <= 14
    assert {module for module, _ in modules() if "." not in module} == {
        "__init__",
        "__main__",
        "_build",
        "objectives",
    }


def test_a_computed_import_is_in_the_list():
    """The list holds no module that does not need to be in it."""
    for module, path in modules():
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and is_importer(node)
        ]
        by_name = [call for call in calls if not isinstance(call.args[0], ast.Constant)]
        assert bool(by_name) == (module in COMPUTED), module


def test_no_cycle_inside_a_room_or_between_rooms():
    graph = {module: imports(module, path) for module, path in modules()}
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
    stub = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    listed = {a.name for n in stub.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert sorted(allgood.__all__) == sorted(allgood._HOME) == sorted(listed - {"_build"})
    assert len(listed) > 50
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
