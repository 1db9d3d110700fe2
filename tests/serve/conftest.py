"""A browser, and servers whose pages it visits, for the tests of the page."""

from contextlib import ExitStack

import pytest

from ..support.browser import Visitors, axe, browser
from ..support.server_thread import serving
from ..support.serving import Program


@pytest.fixture(scope="module")
def chromium():
    with browser() as window:
        yield window


@pytest.fixture(scope="module")
def script():
    """The script that finds hurdles."""
    return axe()


@pytest.fixture
def serve(chromium):
    """``serve(database)`` gives visitors of a server in this process, who leave before it ends."""
    with ExitStack() as stack:

        def start(path):
            address = stack.enter_context(serving(path))
            return stack.enter_context(Visitors(chromium, address))

        yield start


@pytest.fixture
def serve_apart(chromium):
    """``serve_apart(database, *options)`` gives a server in a process of its own, and visitors."""
    with ExitStack() as stack:

        def start(path, *options):
            program = stack.enter_context(Program(path, *options))
            return program, stack.enter_context(Visitors(chromium, program.address))

        yield start
