"""The map of the package: one line per module, made from the first sentence of its docstring.

``make format`` writes it: ``python -m tests.support.maps``.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "allgood"
PAGE = ROOT / "docs" / "map.md"

HEAD = """# Map of the package

For maintainers: every module of `src/allgood/` with the first sentence of its docstring.
Modules marked \\* are compiled. `make format` writes this page; do not edit it.

The rooms are in the order of `tests/support/rooms.py`, which lists the imports between them.
"""
WIDTH = 120


def sentence_of(path):
    """Return the first sentence of a module's docstring, in one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.match(r".+?[.?](?=\s|$)", paragraph)
    return (sentence[0] if sentence else paragraph).replace("``", "`")


def module_lines():
    """Return one line per module, by room: the folders, then the modules in the root."""
    rooms = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        room = name.split("/")[0] if "/" in name else ""
        star = r" \*" if path.with_suffix(".pxd").exists() else ""
        rooms.setdefault(room, []).append(f"`{name}`{star}: {sentence_of(path)}")
    return rooms


def folded(line):
    """Return a list item in lines of at most 120 columns."""
    lines, current = [], "-"
    for word in line.split(" "):
        if len(current) + 1 + len(word) > WIDTH:
            lines.append(current)
            current = " "
        current += f" {word}"
    return "\n".join([*lines, current])


def page(order):
    """Return the text of the page, with the rooms in this order and the root first."""
    rooms = module_lines()
    parts = [HEAD, "## The root\n", "\n".join(map(folded, rooms.pop(""))) + "\n"]
    for room in [*(name for name in order if name in rooms), *sorted(set(rooms) - set(order))]:
        parts += [f"## {room}/\n", "\n".join(map(folded, rooms[room])) + "\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    from tests.support.rooms import RULES

    PAGE.write_text(page(RULES), encoding="utf-8")
