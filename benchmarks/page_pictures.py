"""The pictures of the page in docs/images, from the page as it is.

    python benchmarks/page_pictures.py

It needs the extras serve and test, and Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from allgood import Additive, Bernoulli, create_study
from allgood.cli.screen import PLATE, begin, steps, write_screen

IMAGES = Path(__file__).parent.parent / "docs" / "images"
PASSED = {"terse": 62, "polite": 58, "steps": 71, "examples": 70, "json": 68, "plain": 22}


def fill(database: Path) -> str:
    """Three studies; returns the sheet of the plate that is being measured, with slips."""
    for _ in steps(begin(database, "screen-may"), PLATE.rows * PLATE.columns):
        pass
    prompts = create_study(
        database,
        "prompts",
        arms=list(PASSED),
        objective=Additive(0.1),
        delta=0.05,
        model=Bernoulli(),
    )
    for day in ("Monday", "Tuesday"):
        rows = [{"arm": arm, "n": 100, "sum": n} for arm, n in PASSED.items()]
        prompts.tell_counts(rows, source="nightly run", period=day)
    screen = write_screen(database)
    means = {item.arm: item.mean for item in screen.status().arms}
    lines = ["plate,well,ticket,arm,value"]
    for i, row in enumerate(screen.sheet(screen.open_tickets)):
        value = str(round(means.get(row.arm, 0.0) + 9.0 * ((i * 37 % 100) / 50 - 1.0), 1))
        value = {3: "7l.3", 9: "9120", 15: ""}.get(i, value)
        ticket = f"{row.ticket}9" if i == 21 else row.ticket
        lines.append(f"{row.plate},{row.well},{ticket},{row.arm},{value}")
    return "\n".join(lines)


def save(page: Page, name: str, height: int, top: float = 0.0) -> None:
    """1,280 pixels wide, from ``top`` on; with few colours, which makes the file small."""
    path = IMAGES / f"page-{name}.png"
    page.wait_for_timeout(1500)  # until all that moves has come to rest
    page.evaluate("top => scrollTo(0, top)", top)
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    with Image.open(path) as image:
        assert image.size == (1280, height)
        image.convert("RGB").quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        playwright = stack.enter_context(sync_playwright())
        database = Path(folder) / "screens.db"
        sheet = fill(database)
        command = [sys.executable, "-m", "allgood", "serve", str(database), "--port", "0"]
        server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(server.terminate)
        assert server.stdout is not None
        words = (word for line in server.stdout for word in line.split())
        address = next(word.rstrip("./") for word in words if "://" in word)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def visit(path: str, height: int) -> Page:
            page = browser.new_page(viewport={"width": 1280, "height": height})
            page.goto(f"{address}/#{path}")
            return page

        save(visit("/", 545), "studies", 545)
        page = visit("/studies/3", 1290)
        page.wait_for_selector(".cost-chart", state="attached", timeout=20_000)
        save(page, "study", 1290)
        page = visit("/studies/3/measure", 1222)
        page.get_by_label("Results, pasted or typed").fill(sheet)
        page.get_by_text("96 rows previewed, nothing").wait_for(timeout=20_000)
        page.get_by_label("Results, pasted or typed").evaluate("t => { t.scrollTop = 1e6; }")
        card = page.locator(".card.tell").bounding_box()
        assert card is not None
        hidden = "for (const bar of document.querySelectorAll('.top')) bar.hidden = true;"
        page.evaluate(hidden)
        save(page, "measure", 1222, card["y"] - 70)
        save(visit("/explore", 900), "explore", 900)
        browser.close()


if __name__ == "__main__":
    main()
