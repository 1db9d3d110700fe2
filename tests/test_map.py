"""The map of the package, docs/map.md, is complete and current."""

from .support import maps
from .support.rooms import RULES


def test_the_map_is_current():
    """If this fails, run ``make format``."""
    assert maps.PAGE.read_text(encoding="utf-8") == maps.page(RULES)


def test_the_map_names_every_module_once_with_a_sentence():
    text = maps.page(RULES)
    paths = list(maps.SOURCE.rglob("*.py"))
    assert len(paths) > 100
    for path in paths:
        name = path.relative_to(maps.SOURCE).as_posix()
        assert text.count(f"- `{name}`") == 1, name
        assert len(maps.sentence_of(path)) > 15, f"{name} needs a first sentence"
    assert all(len(line) <= maps.WIDTH for line in text.splitlines())
