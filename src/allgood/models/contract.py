"""Check that every model defines its whole contract: read from the sources, before they are
compiled.

The base class has a body for every method, because C needs one.  A model without a method of its
own would silently inherit that body, and give wrong numbers.  So the build calls ``problems`` first
and stops if there are any.  This module uses only the standard library, and nothing of the package.
"""

import ast
from pathlib import Path

METHODS = (
    "draw",
    "variance",
    "variance_slope",
    "divergence",
    "turning_points",
    "log_ratio",
    "precision",
    "first_bound",
    "possible",
    "wording_of_rewards",
    "wording",
    "effects",
    "log_chance",
)


def problems(folder: Path) -> list[str]:
    """Return one sentence for each model in the folder that lacks a method."""
    classes = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = path.name, node
    inherited = {base for _, node in classes.values() for base in _bases(node)}
    sentences = []
    for name, (file, node) in classes.items():
        family = _ancestors(name, classes)
        if "Model" not in family or name in inherited | {"Model"}:
            continue  # not a model, or one that other models are made from
        defined = {
            part.name for base in family - {"Model"} for part in _functions(classes[base][1])
        }
        lacking = [method for method in METHODS if method not in defined]
        if lacking:
            sentences.append(
                f"models/{file}: the model {node.name} lacks {', '.join(lacking)}; "
                "docs/add-a-model.md says what each must do."
            )
    return sentences


def _bases(node: ast.ClassDef) -> list[str]:
    return [base.id for base in node.bases if isinstance(base, ast.Name)]


def _ancestors(name: str, classes: dict[str, tuple[str, ast.ClassDef]]) -> set[str]:
    """Return the names of the class itself and of its base classes in the folder."""
    if name not in classes:
        return set()
    return {name}.union(*(_ancestors(base, classes) for base in _bases(classes[name][1])))


def _functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef)]
