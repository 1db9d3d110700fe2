"""Hints: the library states a fact, and each interface words what would help."""

import ast
import re
from pathlib import Path

import pytest

import allgood
from allgood._internal.results import Hint, HintCode
from allgood.cli.hints import SENTENCES, hint_sentences

SOURCE = Path(allgood.__file__).parent
ROOMS = ["_internal", "models", "theory", "evidence", "strategies", "study", "certificates"]
OPTION = re.compile(r" `?--[a-z]{2}")


def test_the_command_line_words_every_hint():
    assert set(SENTENCES) == set(HintCode)
    hints = [
        Hint(HintCode.DECIMAL_COMMA, "decimal", ","),
        Hint(HintCode.NAME_COLUMN, "ticket_column"),
        Hint(HintCode.NAME_COLUMN, "columns", {"n": None}),
    ]
    assert hint_sentences(hints) == [
        "If it is a decimal comma, add --decimal ,.",
        "Name the one to read with --ticket-column NAME.",
        "Name the one to read with --columns n=HEADING.",
    ]


@pytest.mark.parametrize("path", sorted(p for r in ROOMS for p in (SOURCE / r).rglob("*.py")))
def test_no_message_of_the_library_names_an_option_of_the_command_line(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = f" {node.value}"
            assert id(node) in docstrings or not OPTION.search(text), (node.lineno, node.value)
