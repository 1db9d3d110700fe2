"""A real browser on the page of a real server, and programs that measure meanwhile.

``Visitors`` opens windows and keeps what must not happen in them: errors on the console, requests
to other hosts, and boxes such as ``alert`` opens.  A test that saw one of these fails at its end.
"""

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from allgood import connect

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = 120_000  # milliseconds after which whoever waits gives up: something is broken
LOST = r"Failed to load resource: net::ERR_|net::ERR_CONNECTION_REFUSED|cannot be reached"


@contextmanager
def browser():
    """A browser without a window; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    flags = [*FLAGS, *(["--no-sandbox"] if root else [])]  # its sandbox refuses root
    api.expect.set_options(timeout=PATIENCE)
    with api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, args=flags, timeout=PATIENCE)
        yield one
        one.close()


def saved(page, link):
    """The file that a link saves.

    News may draw a link anew between the press and the release of the button.  Then the click is
    lost, for people too, who click again.
    """
    from playwright.sync_api import TimeoutError as Lost

    for patience in (10_000, 20_000, PATIENCE):
        try:
            with page.expect_download(timeout=patience) as download:
                link.click()
        except Lost:
            if patience == PATIENCE:
                raise
        else:
            return download.value.path()
    raise AssertionError


class Visitors:
    """People at the page of one server, each with a browser of their own."""

    def __init__(self, browser, address, script=""):
        self.browser, self.address = browser, address
        self.script = script  # runs in every page before the page's own
        self.contexts, self.bad = [], []
        self.expected = None  # a pattern of the errors that the test is about

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.leave()
        assert kind is not None or not self.bad, self.bad

    def visit(self, path="", **options):
        """A window of a new person, at a page such as ``#/studies/1``."""
        context = self.browser.new_context(**options)
        self.contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.bad.append(f"error: {error.error}"))
        context.on("request", self._request)
        context.on("dialog", self._dialog)
        context.add_init_script(self.script)
        page = context.new_page()
        self.go(page, path)
        return page

    def go(self, page, path):
        """Type an address and wait until the page is there."""
        page.goto(f"{self.address}/{path}")
        self.ready(page)

    def ready(self, page):
        page.wait_for_function(
            "() => { const main = document.querySelector('main');"
            "  return main.children.length && !main.hasAttribute('aria-busy'); }"
        )

    def _console(self, message):
        if message.type == "error" and not (
            self.expected and re.search(self.expected, message.text)
        ):
            self.bad.append(f"console: {message.text}")

    def _request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("blob", "data") and parts.netloc != urlsplit(self.address).netloc:
            self.bad.append(f"request: {request.url}")

    def _dialog(self, dialog):
        self.bad.append(f"box: {dialog.message}")
        dialog.dismiss()

    def leave(self):
        for context in self.contexts:
            context.close()
        self.contexts.clear()


def axe():
    """The script of axe-core, from the package that carries it."""
    package = pytest.importorskip("axe_playwright_python")
    return (Path(package.__path__[0]) / "axe.min.js").read_text(encoding="utf-8")


def hurdles(page, script):
    """What axe-core finds serious or critical, as sentences.

    The script is evaluated by the browser itself, since the policy of the page forbids strange
    scripts.  Before, all that moves is brought to its end: colours on their way are no colours.
    """
    if not page.evaluate("() => !!window.axe"):
        page.evaluate(f"() => {{ {script} }}")
    found = page.evaluate(
        """async () => {
          for (const motion of document.getAnimations()) motion.finish();
          const found = await axe.run(document, { resultTypes: ["violations"], preload: false });
          return found.violations.flatMap((one) => one.nodes.map((node) => [
            one.impact, one.id, node.target.join(" "), node.failureSummary ?? ""]));
        }"""
    )
    return [" | ".join(item) for item in found if item[0] in ("serious", "critical")]


def reading(ticket, means):
    """What is measured: scattered around the mean of the arm by 1, the same whoever measures."""
    number = int(ticket.id.split("-")[1])
    return means[ticket.arm] + 3.46 * (number * 0.37 % 1.0 - 0.5)


@contextmanager
def worker(address, name, means, n=8, rounds=200):
    """A thread that asks and tells over HTTP until nothing is left to measure.

    The block gets what waits for its end, and raises what it raised.
    """

    def work():
        study = connect(address, name)
        for _ in range(rounds):
            tickets = study.ask(n, client="robot")
            if not tickets:
                break
            study.tell(
                [{"ticket": ticket.id, "value": reading(ticket, means)} for ticket in tickets]
            )

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)
