"""The drawing stays true: imports go one way, the rim is typed, names are ASCII, twins stand alone."""

import ast
import importlib
from pathlib import Path

import pytest

import allgood

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "allgood"

# A module may import only from those before it.
LADDER = [
    "_jit",
    "_check",
    "objectives",
    "models",
    "alternatives",
    "_newton",
    "characteristic",
    "bounds",
    "thresholds",
    "plots",
    "__init__",
    "cli",
]


def imports(path):
    """Modules of the package that a file imports, ``from . import x`` included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            names = [node.module.split(".")[0]] if node.module else [a.name for a in node.names]
            found |= {name if (SOURCE / f"{name}.py").exists() else "__init__" for name in names}
        elif isinstance(node, ast.ImportFrom):
            found |= {"__init__"} if (node.module or "").split(".")[0] == "allgood" else set()
        elif isinstance(node, ast.Import):
            found |= {"__init__" for a in node.names if a.name.split(".")[0] == "allgood"}
    return found


def test_every_module_is_on_the_ladder():
    assert {path.stem for path in SOURCE.glob("*.py")} == set(LADDER)


@pytest.mark.parametrize("module", [m for m in LADDER if m != "__init__"])
def test_imports_go_one_way(module):
    above = LADDER[: LADDER.index(module)]
    assert imports(SOURCE / f"{module}.py") <= set(above)


def test_public_names_exist_and_know_their_home():
    for name in allgood.__all__:
        value = getattr(allgood, name)
        assert value.__module__ == f"allgood.{allgood._HOME[name]}"
        assert value.__doc__
    assert sorted(allgood.__all__) == sorted(allgood._HOME)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = allgood.nonsense


def test_no_public_name_is_hidden_by_a_module():
    """``import allgood.x`` sets the attribute x of the package: a module may not be called like a function."""
    for module in LADDER:
        importlib.import_module(f"allgood.{module}" if module != "__init__" else "allgood")
        assert module not in allgood.__all__


def test_reference_twins_share_no_code_with_the_package():
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        assert "allgood" not in path.read_text(), path.name


def test_identifiers_are_ascii():
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)
            assert not isinstance(name, str) or name.isascii(), (path.name, name)


def test_nothing_reads_global_random_state():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "np.random.seed" not in text
        assert "import random" not in text


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").exists()
