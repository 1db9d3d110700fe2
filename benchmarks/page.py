"""Measure how quickly the page of a study appears, and how smoothly its arms scroll.

    .venv/bin/python benchmarks/page.py                 10 to 10,000 arms
    .venv/bin/python benchmarks/page.py --quick         10 and 10,000 arms, once each
    .venv/bin/python benchmarks/page.py --preview 30000   a pasted row in a study of 30,000 events

A server of its own for each number of arms, asked for the first time (cold) and again (warm), by
Chromium without a window.  Times are of the browser's own clock, from when the address was typed:
until something is painted (the browser's first contentful paint), and until the first rows of arms
stand there.  Then the arms are scrolled through in 300 steps, one each frame, so that every row is
written anew in most frames.  "Work" is the processor time that the page's thread spends on a frame,
of which there are 16.7 ms; a long task, as browsers call it, takes 50 ms by the clock.  The
smallest of the repeats is shown, since other programs run on the machine, too.
"""

import sys
import tempfile
from pathlib import Path

from report import begin, console, table

from allgood import Additive, create_study

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.browser import Visitors, browser
from tests.support.serving import Program

WATCH = """
window.long = [];
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.long.push([task.startTime, task.duration]);
}).observe({ type: "longtask", buffered: true });
document.addEventListener("DOMContentLoaded", () => {
  const look = new MutationObserver(() => {
    if (!document.querySelector(".f-body .f-row")) return;
    look.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.rows = performance.now(); }));
  });
  look.observe(document.body, { childList: true, subtree: true });
});
"""
THERE = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  rows: window.rows,
  long: window.long.map(([, duration]) => duration),
})"""
STEPS = 300
SCROLL = """async () => {
  const view = document.querySelector(".forest"), steps = 300;
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  window.long.length = 0;
  const began = performance.now();
  for (let i = 1; i <= steps; i++) {
    view.scrollTop = (i / steps) * view.scrollHeight;
    await frame();
  }
  const took = performance.now() - began;
  await new Promise((go) => setTimeout(go, 200)); // long tasks are told a little later
  return { frame: took / steps, long: window.long.map(([, d]) => d),
           drawn: document.querySelectorAll(".f-row").length };
}"""


def make_study(path, num_arms):
    """Every arm was measured 100 times, and the budget is used up."""
    arms = [f"arm {i:05d}" for i in range(num_arms)]
    rows = [
        {"arm": arm, "n": 100, "sum": i * 7919 % num_arms * 10_000 / num_arms}
        for i, arm in enumerate(arms)
    ]
    study = create_study(
        path, "many", arms=arms, objective=Additive(10.0), delta=0.05, budget=100 * num_arms
    )
    study.tell_counts(rows, source="table", period="1")


def visit(visitors):
    page = visitors.visit("#/studies/1", viewport={"width": 1280, "height": 900})
    page.wait_for_function("() => window.rows")
    there = page.evaluate(THERE)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = work(devtools)
    scrolled = page.evaluate(SCROLL)
    scrolled["work"] = 1000.0 * (work(devtools) - before) / STEPS
    visitors.leave()
    return there | {f"scroll {key}": value for key, value in scrolled.items()}


def work(devtools):
    """Seconds of processor time that the page's thread has used."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


PREVIEW = """async ([path, text]) => {
  const began = performance.now();
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "text/plain" }, body: text,
  });
  const { rows } = await answer.json();
  if (rows.length !== 1) throw new Error("not previewed");
  return performance.now() - began;
}"""


def measure_preview(chromium, folder, events, repeats=7):
    """Time the preview of one row in a large study, by the clock of the browser."""
    path = Path(folder) / "large.db"
    arms = [f"arm {i}" for i in range(50)]
    study = create_study(path, "large", arms=arms, objective=Additive(0.01), delta=0.05)
    while (tickets := study.ask(500)) and study.status().events < events:
        study.tell([(ticket, 0.02 * (i % 50)) for i, ticket in enumerate(tickets)])
    row = f"ticket,value\n{study.open_tickets[0].id},0.5\n"
    with Program(path) as program, Visitors(chromium, program.address) as visitors:
        page = visitors.visit("#/studies/1/measure")
        page.get_by_text("Tell what came out").wait_for()
        times = [page.evaluate(PREVIEW, ["v1/studies/1/preview", row]) for _ in range(repeats)]
        shown = table(
            "The preview of one row, in milliseconds", "events", "first", "median", "worst"
        )
        shown.add_row(
            f"{study.status().events:,}",
            f"{times[0]:.0f}",
            f"{sorted(times)[repeats // 2]:.0f}",
            f"{max(times):.0f}",
        )
    console.print(shown)


def main():
    wanted = "measure only the preview of a row, in a study of N events"
    options = begin(__doc__, "fewer sizes and repeats", preview=wanted)
    if options.preview:
        with browser() as chromium, tempfile.TemporaryDirectory() as folder:
            measure_preview(chromium, folder, options.preview)
        return
    sizes, repeats = ((10, 10_000), 1) if options.quick else ((10, 1000, 10_000), 3)
    shown = table(
        "The page of a study, in milliseconds",
        "arms",
        "server",
        "first paint",
        "first rows",
        "longest task",
        "scrolling: a frame",
        "its work",
        "long tasks",
        "rows drawn",
    )
    with browser() as chromium, tempfile.TemporaryDirectory() as folder:
        for num_arms in sizes:
            path = Path(folder) / f"{num_arms}.db"
            make_study(path, num_arms)
            cold, warm = [], []
            for _ in range(repeats):
                with (
                    Program(path) as program,
                    Visitors(chromium, program.address, WATCH) as visitors,
                ):
                    cold.append(visit(visitors))
                    warm.append(visit(visitors))
            for kind, visits in ("cold", cold), ("warm", warm):
                shown.add_row(
                    f"{num_arms:,}",
                    kind,
                    f"{min(visit['paint'] for visit in visits):.0f}",
                    f"{min(visit['rows'] for visit in visits):.0f}",
                    f"{min(max(visit['long'], default=0) for visit in visits):.0f}",
                    f"{min(visit['scroll frame'] for visit in visits):.1f}",
                    f"{min(visit['scroll work'] for visit in visits):.1f}",
                    f"{min(len(visit['scroll long']) for visit in visits)}",
                    f"{visits[0]['scroll drawn']}",
                )
    console.print(shown)


if __name__ == "__main__":
    main()
