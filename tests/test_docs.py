"""Check the documents: examples run, commands and names exist, links lead somewhere, lines fit."""

import doctest
import functools
import importlib
import re
import shlex
from pathlib import Path

import pytest
import typer

from allgood import Study
from allgood.cli import app

from .support.command_line import allgood
from .support.pages import run_page
from .support.printed import agree

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
WIDTH = 120

#: Pages that are run from beginning to end, here or in a file of their own.
WHOLE = [ROOT / "README.md", ROOT / "docs" / "serve.md", *(ROOT / "docs" / "tutorials").glob("*")]

#: Pages without an example of their own: lists, and what the project promises.
LISTS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "glossary.md", "notation.md", "map.md")


def name(path):
    return str(path.relative_to(ROOT))


def prose(text):
    """Return the text without fenced blocks."""
    return re.sub(r"^(```+).*?^\1$", "", text, flags=re.M | re.S)


def snippets(text):
    """Return every command of allgood in a text, as words: in blocks and between backticks."""
    text = text.replace("\\\n", " ")
    blocks = "\n".join(re.findall(r"^```.*?^```$", text, re.M | re.S))
    lines = re.findall(r"^(?:\$ )?(allgood [^\n]*)", blocks, re.M)
    commands = lines + re.findall(r"`(allgood [^`]*)`", re.sub(r"\s+", " ", prose(text)))
    for command in commands:
        for part in re.split(r" && | \| |; ", command.split(" > ")[0]):
            yield shlex.split(part, comments=True)


# -- examples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [p for p in PAGES if ">>>" in p.read_text()], ids=name)
def test_python_examples_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    "module",
    [
        "objectives",
        "models.gaussian",
        "theory.alternatives.response",
        "theory.characteristic",
        "theory.bounds",
        "evidence.thresholds",
        "evidence.claims",
        "simulation.run",
        "_internal.statistics",
        "simulation.simulate",
        "simulation.registry",
        "simulation.compare",
        "study.plates",
        "study.tables.values",
    ],
)
def test_python_examples_of_docstrings(module):
    failed, _ = doctest.testmod(importlib.import_module(f"allgood.{module}"))
    assert failed == 0


def test_the_readme_runs_from_beginning_to_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page((ROOT / "README.md").read_text(), here=True) >= 1


COMMANDS = [
    (page, line[2:])
    for page in PAGES
    if page not in WHOLE
    for line in page.read_text().splitlines()
    if line.startswith("$ allgood")
]


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[c for _, c in COMMANDS])
def test_commands_of_a_page_print_what_it_shows(page, command, tmp_path):
    done = allgood(*shlex.split(command, comments=True)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = page.read_text().split(f"$ {command}\n")[1].split("```")[0]
    assert agree(shown, done.stdout, beginning=True), done.stdout


# -- names --------------------------------------------------------------------------------------


@functools.cache
def root_command():
    return typer.main.get_command(app)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_options_exist(page):
    for words in snippets(page.read_text()):
        command, rest = root_command(), words[1:]
        while rest and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        if rest and hasattr(command, "commands"):  # "allgood COMMAND": the name of a place
            assert rest[0].startswith("--") or rest[0].isupper(), words
        known = {"--help", "--version"}
        known |= {
            name for option in command.params for name in (*option.opts, *option.secondary_opts)
        }
        for word in rest:
            option = word.split("=")[0].strip("[],")
            assert not option.startswith("--") or option in known, (words, option)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_methods_of_a_study_exist(page):
    for method in re.findall(r"\b(?:study|Study)\.([a-z]\w*)\b(?!\.|/)", page.read_text()):
        assert method in ("py", "db", "md", "png") or hasattr(Study, method), method


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"^(?:\$ |    )?make (\w+)|`make (\w+)", page.read_text(), re.M):
            assert f"\n{''.join(target)}:" in makefile, (page, target)


# -- links and lines ----------------------------------------------------------------------------


def anchors(page):
    """Return the anchors of a page's headings, as the usual viewers make them."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", prose(page.read_text()), re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower())
        found.add(words.strip().replace(" ", "-"))
    return found


def links(page):
    """Return page and anchor of each link to a file, or to a place on the same page."""
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", prose(page.read_text())):
        file, _, anchor = target.partition("#")
        yield ((page.parent / file).resolve() if file else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), (target, anchor)


def test_every_page_can_be_reached_from_the_readme():
    reached, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            queue += [target for target, _ in links(page)]
    assert not set(PAGES) - reached


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_fit(page):
    """Lines have at most 120 columns, but for tables and what cannot be broken."""
    fenced = False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        breakable = not (line.startswith(("|", "$ ")) or fenced or " " not in unbroken(line))
        assert len(line) <= WIDTH or not breakable, line


def unbroken(line):
    """Return a line with its code, its links and its indentation folded into single words."""
    line = re.sub(r"`[^`]*`|!?\[[^]]*\]\([^)]*\)", "x", line.strip())
    return re.sub(r"^([-*]|\d+\.) ", "", line)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_begins_with_its_purpose_and_an_example(page):
    title, _, text = page.read_text().partition("\n\n")
    assert title.startswith("# ")
    assert "\n" not in title
    assert re.match(r"[A-Z*`\[]", text), "a sentence comes first"
    if page.name not in LISTS:
        assert "```" in text[:3500] or "\n| " in text[:3500]


def test_the_glossary_explains_each_word_once():
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    words = [word for row in rows if row != "word" for word in row.split(", ")]
    assert len(words) == len(set(words)) > 60


# -- the project --------------------------------------------------------------------------------


def test_ci_runs_make_test_and_nothing_else():
    lines = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert lines[-1] == "exec make test"
    assert len(lines) == 3
