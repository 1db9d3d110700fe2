"""Start quickly: describe only the command that is called, and read plain values without Typer."""

import os
import re
from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# What is read without a library.  Halves of surrogate pairs are no text.
TEXT = r"[^\ud800-\udfff]*"
PLAIN: dict[Any, str] = {
    str: TEXT,
    Path: TEXT,
    int: r"-?[0-9]{1,15}",
    float: r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?",
}


def only_named(app: typer.Typer, words: list[str]) -> typer.Typer:
    """The program with only the command that these words name; all of it if they name none.

    Typer would describe the options of every command first.
    """
    one = copy(app)
    one.info = copy(app.info)
    one.info.cls = QuickGroup
    if not words:
        return one
    for command in app.registered_commands:
        assert command.callback is not None
        if words[0] == (command.name or command.callback.__name__):
            named = copy(command)
            named.cls = command.cls if command.cls is DesignCommand else QuickCommand
            one.registered_commands, one.registered_groups = [named], []
    for group in app.registered_groups:
        assert group.typer_instance is not None
        if words[0] == group.name:
            inner = copy(group)
            inner.typer_instance = only_named(group.typer_instance, words[1:])
            one.registered_commands, one.registered_groups = [], [inner]
    return one


class QuickCommand(TyperCommand):
    """A command that reads plain values by itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _read_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)


class DesignCommand(QuickCommand):
    """A command whose help describes options of a study as ``StudyDesign`` does.

    They are looked up when somebody asks for help: other calls need not load the library.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from ..study.design import OPTIONS, describe

        params: list[Any] = self.get_params(ctx)
        for param in params:
            if param.name in OPTIONS and param.help is None:
                param.help = describe(param.name)
        super().format_help(ctx, formatter)


class QuickGroup(TyperGroup):
    """A group of commands whose own options are read in the same way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _read_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)


def _read_plain_values(params: list[Any]) -> None:
    """Let these parameters read plain values by themselves.

    Typer would load pydantic for any value, even for a text or for none.  That takes a tenth of a
    second.
    """
    for param in params:
        if hasattr(param, "type_descriptor"):  # other versions of Typer have none
            param.process_value = partial(_value, param, param.process_value)


def _value(param: Any, usual: Callable[[Any, Any], Any], ctx: Any, text: Any) -> Any:
    """Return the value of a parameter from the text of the command line."""
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if (text is None or text is param.default) and not param.required:
        value = text
    elif isinstance(text, str) and _is_plain(text, kind, info):
        value = (info.parser or kind)(text)
    else:
        return usual(ctx, text)
    return value if param.callback is None else param.callback(ctx, param, value)


def _is_plain(text: str, kind: Any, info: Any) -> bool:
    """Tell whether a text is a value of this kind, and no more is asked of it."""
    if kind not in PLAIN or not re.fullmatch(PLAIN[kind], text, re.DOTALL):
        return False
    if kind is Path:
        asked = (info.exists, info.writable, info.resolve_path, info.allow_dash)
        free = info.file_okay and info.dir_okay and not any(asked)
        return free and (not os.path.exists(text) or os.access(text, os.R_OK))
    return info.min is None and info.max is None
