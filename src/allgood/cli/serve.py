"""The command ``allgood serve``: start the server, and make tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

Url = Annotated[
    str,
    typer.Argument(
        help="Database: a file, sqlite:///FILE, or postgresql+psycopg://USER@HOST/DATABASE."
    ),
]


# The option for an argument that is wrong.
OPTIONS = {
    "tokens": "`--token-file FILE --new-token manage` makes one.",
    "role": "--new-token takes one of them.",
    "proxies": "--proxy takes each of them.",
    "port": "--port and --host choose others.",
}


@contextmanager
def with_options() -> Iterator[None]:
    """Name the option of the command line in an error about an argument."""
    from .._internal.arguments import ArgumentError

    try:
        yield
    except ArgumentError as error:
        raise ValueError(f"{error} {OPTIONS.get(error.argument, '')}".strip()) from None


def register(root: typer.Typer) -> None:
    """Add this command to the whole program."""
    root.command("serve")(serve)


def serve(
    url: Url,
    host: Annotated[
        str, typer.Option(help="Address to listen on.  Other machines need a token: --token-file.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free port.")
    ] = 8765,
    token_file: Annotated[
        Path | None, typer.Option(help="File of tokens for clients; made by --new-token.")
    ] = None,
    new_token: Annotated[
        str | None,
        typer.Option(help="Add a token with this role (read, measure, manage), print it, and end."),
    ] = None,
    token_name: Annotated[str, typer.Option(help="Name for the new token, for people.")] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a proxy whose X-Forwarded headers are believed."),
    ] = None,
) -> None:
    """Serve a live page and an HTTP interface for the studies of a database."""
    if new_token is not None:
        from ..serve.tokens import add_token

        if token_file is None:
            raise ValueError("--token-file must be given with --new-token.")
        with with_options():
            print(add_token(token_file, new_token, token_name))
        return
    from ..serve.tokens import read_tokens
    from ..study.backends.sql import old_sqlite

    serve_studies = server()
    tokens = () if token_file is None else read_tokens(token_file)

    def ready(address: str) -> None:
        say_where(address)
        if warning := old_sqlite(url):  # not on the standard error, which is a log in JSON
            print(warning, flush=True)

    with with_options():
        serve_studies(
            url,
            host=host,
            port=port,
            tokens=tokens,
            read_only=read_only,
            proxies=proxy or (),
            ready=ready,
        )


def server() -> Callable[..., None]:
    """The function that serves, if what it needs is installed."""
    try:
        from ..serve.app import serve as serve_studies
    except ModuleNotFoundError as error:
        raise ValueError(
            f"`allgood serve` needs {error.name}, which is not installed: "
            "`pip install 'allgood[serve]'` installs it."
        ) from None
    return serve_studies


def say_where(address: str) -> None:
    print(f"The page is at {address} - Ctrl-C ends it.", flush=True)
