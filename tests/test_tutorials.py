"""The tutorials, run from beginning to end in one folder, print what they show (``printed.py``)."""

import os
import sys
from pathlib import Path

import pytest

from allgood.reporting import report

from .support.drawing import draw_nothing
from .support.pages import run_page
from .support.systems import needs_posix

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))


@needs_posix
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])  # a command looks for modules here
    monkeypatch.setattr(report, "PLATES", 1)  # in a report
    draw_nothing(monkeypatch)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # threads would wait for each other in Python
    assert run_page(page.read_text(), here=True) >= 4
    for module in tmp_path.glob("*.py"):  # a page's own: another may have one of this name
        sys.modules.pop(module.stem, None)
