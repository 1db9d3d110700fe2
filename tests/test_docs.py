"""The documents are true: their Python runs, their commands run, their links lead somewhere."""

import doctest
import importlib
import re
import shlex
from pathlib import Path

import pytest

from .support.command_line import allgood
from .support.printed import agree

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name(path):
    return path.name


@pytest.mark.parametrize("page", [p for p in PAGES if ">>>" in p.read_text()], ids=name)
def test_python_examples_of_a_page(page):
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


COMMANDS = [
    (page, line[2:])
    for page in PAGES
    if page.parent.name != "tutorials" and page.name != "serve.md"  # they have tests of their own
    for line in page.read_text().splitlines()
    if line.startswith("$ allgood")
]


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[c for _, c in COMMANDS])
def test_commands_of_a_page_print_what_it_shows(page, command, tmp_path):
    done = allgood(*shlex.split(command, comments=True)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = page.read_text().split(f"$ {command}\n")[1].split("```")[0]
    assert agree(shown, done.stdout, beginning=True), done.stdout


def test_the_readme_shows_a_command():
    assert any(page.name == "README.md" for page, _ in COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(
        r"^\$ make (\w+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE
    ):
        assert f"\n{target}:" in makefile


def test_ci_runs_make_test_and_nothing_else():
    lines = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert lines[-1] == "exec make test"
    assert len(lines) == 3
