"""A real browser on the page of a real server, and programs that measure meanwhile.

``Visitors`` opens windows and keeps what must not happen in them: errors on the console, requests
to other hosts, and boxes such as ``alert`` opens.  A test that saw one of these fails at its end.
"""

import os
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from allgood import Additive, connect, create_study

from .serving import wait_until

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
MEANS = {"ash": 10.0, "birch": 9.5, "cedar": 5.0, "elm": 4.0, "fir": 3.0, "oak": 0.0}
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
        window = playwright.chromium.launch(executable_path=path, args=flags, timeout=PATIENCE)
        yield window
        window.close()


def saved(page, link):
    """The file that a link saves, pressed once."""
    with page.expect_download() as download:
        link.click()
    return download.value.path()


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


DRAWN = """async () => {
  const drawn = () => new Promise((go, fail) => {
    const late = setTimeout(() => fail(new Error("nothing is drawn")), 30_000);
    requestAnimationFrame(() => requestAnimationFrame(() => { clearTimeout(late); go(); }));
  });
"""
WIDTH = (
    DRAWN
    + """
  await drawn();
  return document.scrollingElement.scrollWidth;
}"""
)
LIGHT = """() => {
  const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
  return (r + g + b) / 3;
}"""


def wait_for(page, true):
    """Until something holds; the browser goes on meanwhile."""
    wait_until(lambda: true() or page.wait_for_timeout(50))


def box_of(page, button, **fields):
    """Press a button, fill in the box that it opens, and press the box's own button."""
    page.get_by_role("button", name=button).click()
    box = page.get_by_role("dialog")
    for name, text in fields.items():
        box.get_by_label(name).fill(text)
    box.locator(".actions button").last.click()
    return box


def tell_card(page):
    """The card of the page for measuring that takes sheets."""
    return page.get_by_role("region", name="Tell what came out")


def trees(path, epsilon, name="trees"):
    """A study of six arms, whose means are ``MEANS``."""
    return create_study(path, name, arms=list(MEANS), objective=Additive(epsilon), delta=0.05)


def told(study, tickets, means):
    study.tell([(ticket, reading(ticket, means)) for ticket in tickets])


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


def forest_rows(page):
    """What the forest says of each arm: name, label, estimate, and how often it was measured."""
    rows = page.evaluate(
        """() => [...document.querySelectorAll(".f-body .f-row")].map((row) => [
          row.querySelector("a").textContent, row.dataset.label,
          row.querySelector(".f-mean").textContent,
          row.querySelector(".f-measurements").textContent])"""
    )
    return [
        (arm, label, float(mean.replace("\N{MINUS SIGN}", "-")), int(n.replace(",", "")))
        for arm, label, mean, n in rows
    ]


def agrees(page, study):
    """Whether a page shows the numbers of the study, in the order of the estimates."""
    arms = sorted(study.status().arms, key=lambda arm: -arm.mean)
    wanted = [
        (arm.arm, arm.label, pytest.approx(arm.mean, abs=0.06), arm.measurements) for arm in arms
    ]
    return forest_rows(page) == wanted


@contextmanager
def busy_study(study, means, pause=0.3):
    """A thread that asks for a value of a study and tells it every ``pause`` seconds.

    The block gets a function that returns how many values were told by now.
    """
    stop, number = threading.Event(), [0]

    def work():
        while not stop.wait(pause):
            told(study, study.ask(1, client="robot"), means)
            number[0] += 1

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            yield lambda: number[0]
        finally:
            stop.set()
            done.result()
