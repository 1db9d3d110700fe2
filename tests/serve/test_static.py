"""The files of the page, read as text: their size, their words and their references."""

import ast
import re
from pathlib import Path

import pytest

import allgood

PACKAGE = Path(allgood.__file__).parent
STATIC = PACKAGE / "serve" / "static"
SCRIPTS = sorted(STATIC.rglob("*.js"))
STYLES = sorted(STATIC.rglob("*.css"))
MOST_SCRIPT, MOST_STYLE = 6200, 1800  # lines
LONG = 25  # characters of a text that is a sentence, or most of one


def text_of(paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def folded(text):
    """The text in one line, and as one if JavaScript adds it up of several pieces."""
    text = re.sub(r"[\"'`]\s*\+\s*[\"'`]", "", text)
    return re.sub(r"\s+", " ", text)


def sentences_of_the_package():
    """Texts of the package that people read, with the file in which they stand."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documentation = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = folded(node.value).strip(" .,:;")
                if len(text) >= LONG and text.count(" ") >= 3 and id(node) not in documentation:
                    found[text] = path.relative_to(PACKAGE).as_posix()
    return found


def copies_in(text):
    shown = folded(text)
    return {
        sentence: file for sentence, file in sentences_of_the_package().items() if sentence in shown
    }


def test_the_page_stays_small():
    assert text_of(SCRIPTS).count("\n") <= MOST_SCRIPT
    assert text_of(STYLES).count("\n") <= MOST_STYLE


def test_no_sentence_of_the_package_stands_in_the_page():
    """The server gives its sentences as data; a copy would say something else one day."""
    assert len(sentences_of_the_package()) > 500
    assert copies_in(text_of(SCRIPTS)) == {}


def test_a_copied_sentence_is_found():
    sentence = next(text for text in sentences_of_the_package() if '"' not in text)
    middle = sentence.index(" ") + 1
    assert sentence in copies_in(f'say("{sentence[:middle]}" +\n  "{sentence[middle:]}");')


def options_in(text):
    """What looks like an option of a command, and is not a property of the styles."""
    properties = set(re.findall(r"--[a-z][a-z-]+", text_of(STYLES)))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - properties


def test_no_option_of_the_command_line_stands_in_the_page():
    assert options_in(text_of(SCRIPTS)) == set()
    assert options_in('say("Use --decimal ,")') == {"--decimal"}


def test_every_module_is_imported_and_every_import_exists():
    imported = {STATIC / "app.js", STATIC / "theme.js", *(STATIC / "pages").glob("*.js")}
    for path in SCRIPTS:
        for name in re.findall(r"from \"(\.[^\"]+)\"", path.read_text(encoding="utf-8")):
            target = (path.parent / name).resolve()
            assert target.exists(), f"{path.name} imports {name}"
            imported.add(target)
    assert {path.resolve() for path in SCRIPTS} == {path.resolve() for path in imported}
    routes = re.findall(r"\], \"(\w+)\"|/, \"(\w+)\"", (STATIC / "app.js").read_text())
    pages = {a or b for a, b in routes} | {"login"}
    assert pages == {path.stem for path in (STATIC / "pages").glob("*.js")}


def test_what_the_page_loads_first_exists():
    for name in re.findall(
        r"(?:src|href)=\"static/([^\"]+)\"", (STATIC / "index.html").read_text()
    ):
        assert (STATIC / name).exists(), name
    for name in re.findall(r"url\(\"([^\"]+)\"\)", (STATIC / "style.css").read_text()):
        assert (STATIC / name).exists(), name


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_every_class_that_is_styled_is_used(path):
    """A class may also be put together of parts, such as `is-${status}`: its beginning counts."""
    used = text_of([*SCRIPTS, STATIC / "index.html", *(PACKAGE / "serve").rglob("*.html")])
    beginnings = set(re.findall(r"([\w-]+)\$\{", used))
    css = re.sub(r"/\*.*?\*/|\{[^{}]*\}", " ", path.read_text(encoding="utf-8"), flags=re.S)
    classes = set(re.findall(r"\.([a-zA-Z][\w-]*)", css)) - {"css"}
    unused = {
        name
        for name in classes
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", used)
        and not any(name.startswith(part) for part in beginnings)
    }
    assert unused == set()
