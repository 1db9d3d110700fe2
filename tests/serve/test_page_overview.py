"""The overview of a study in a real browser: it keeps your place, and asks the server once."""

import csv
import re
from urllib.parse import urlsplit

import pytest

from allgood import Additive, Gaussian, Plate, create_study
from allgood.study.receipts import SuspectWarning

from ..support.browser import (
    DRAWN,
    LIGHT,
    MEANS,
    WIDTH,
    agrees,
    box_of,
    busy_study,
    forest_rows,
    hurdles,
    reading,
    saved,
    told,
    trees,
    wait_for,
    worker,
)
from ..support.serving import PATIENCE

api = pytest.importorskip("playwright.sync_api")
expect, Error = api.expect, api.Error
EVIL = ["<script>alert(1)</script>", '<img src="x" onerror="alert(2)">', "a/b?c=d#e%41 &amp;"]


def requests_of(page):
    """The requests of a page about its study, as they come; not its stream of changes."""
    paths = []

    def note(request):
        path = urlsplit(request.url).path
        if "/v1/studies/" in path and not path.endswith("/live"):
            paths.append(path.rpartition("/")[2])

    page.on("request", note)
    return paths


# ---- live


def test_a_live_page_keeps_your_place(tmp_path, serve):
    """A worker tells every 0.3 s: the focus and an open list stay, and a click works once."""
    study = trees(tmp_path / "own.db", 0.5)  # birch is on the threshold: it stays open for long
    for _ in range(3):
        told(study, study.ask(12), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1")
    note = page.get_by_role("button", name="Add a note")
    page.get_by_text("Manage", exact=True).click()
    page.get_by_text("As a table").click()
    note.focus()
    page.evaluate("() => { window.focused = document.activeElement; }")
    shown = requests_of(page)
    with busy_study(study, MEANS) as number:
        wait_for(page, lambda: number() >= 8 and shown.count("overview") >= 3)
        assert page.evaluate("() => document.activeElement === window.focused")
        for text in ("Manage", "As a table"):
            box = page.locator("details", has=page.get_by_text(text, exact=True))
            assert box.get_attribute("open") is not None
        note.click()  # once
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(note).to_be_focused()
        page.get_by_role("button", name="good", exact=False).first.click()
        expect(page.get_by_role("heading", name=re.compile("of 6 arms"))).to_be_visible()
    page.get_by_role("button", name="all 6").click()
    wait_for(page, lambda: agrees(page, study))


def test_the_focus_goes_with_its_arm(tmp_path, serve):
    """An arm that rises in the list keeps its element, and with it the focus."""
    path = tmp_path / "own.db"
    study = create_study(
        path, "trees", arms=list(MEANS), objective=Additive(1.0), delta=0.05, check_values=False
    )
    told(study, study.ask(12), MEANS)
    page = serve(path).visit("#/studies/1")
    wait_for(page, lambda: len(forest_rows(page)) == 6 and forest_rows(page)[-1][0] == "oak")
    link = page.locator(".f-body").get_by_role("link", name="oak")
    link.focus()
    page.evaluate("() => { window.focused = document.activeElement; }")
    study.add_measurement("oak", 500.0, source="another instrument")
    wait_for(page, lambda: forest_rows(page)[0][0] == "oak")
    assert page.evaluate("() => document.activeElement === window.focused")
    expect(link).to_be_focused()


def test_one_request_per_event(tmp_path, serve):
    """The forecast is slow: it is asked for at most once in 15 seconds."""
    study = trees(tmp_path / "own.db", 0.5)
    told(study, study.ask(12), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1")
    expect(page.get_by_text("12 measurements counted")).to_be_visible()
    expect(page.get_by_text("Perhaps").or_(page.get_by_text("lower bound")).first).to_be_visible()
    paths = requests_of(page)
    for events in range(1, 5):
        study.note(f"note {events}")
        expect(page.get_by_text(f"note {events}", exact=True)).to_be_visible()
        assert paths.count("overview") == events
    assert set(paths) <= {"overview", "forecast"}
    assert paths.count("forecast") <= 1


def test_labels_turn_before_your_eyes(tmp_path, serve):
    path = tmp_path / "own.db"
    study = trees(path, 2.0)
    visitors = serve(path)
    page = visitors.visit("#/studies/1")
    expect(page.get_by_text("Nothing is measured yet")).to_be_visible()
    page.evaluate("window.same = true")
    with worker(visitors.address, "trees", MEANS) as work:
        work.result(PATIENCE)
    assert study.status().outcome == "certified"
    for arm in study.status().arms:
        row = page.locator(".f-body .f-row", has_text=arm.arm)
        expect(row).to_have_attribute("data-label", arm.label)
    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict.get_by_text("2 good", exact=True)).to_be_visible()
    expect(page.get_by_text("no rival left").or_(page.locator(".f-figures").first)).to_be_visible()
    assert page.evaluate("window.same")  # it was not loaded again


# ---- arms


WALK = (
    DRAWN
    + """  const view = document.querySelector(".forest"), body = document.querySelector(".f-body");
  const head = document.querySelector(".f-head").offsetHeight;
  const seen = [];
  let most = 0;
  for (;;) {
    await drawn();
    const box = view.getBoundingClientRect();
    const rows = [...body.children];
    most = Math.max(most, rows.length);
    for (const row of rows) {
      const { top, bottom } = row.getBoundingClientRect();
      if (top < box.top + head - 1 || bottom > box.bottom + 1) continue;
      const name = row.querySelector("a").textContent;
      if (!seen.slice(-200).includes(name)) seen.push(name);
    }
    const before = view.scrollTop;
    view.scrollTop += view.clientHeight - head - 40;
    if (view.scrollTop === before) return { seen, most };
  }
}"""
)


def walk(visitors):
    """A page, the names of all arms from its top to its bottom, and the most rows at once.

    If a window is not drawn any more, another one is opened.
    """
    for windows_left in (2, 1, 0):
        page = visitors.visit("#/studies/1", viewport={"width": 1280, "height": 2400})
        expect(page.get_by_role("heading", name="10,000 arms")).to_be_visible()
        try:
            return page, page.evaluate(WALK)
        except Error as error:
            if "nothing is drawn" not in error.message or not windows_left:
                raise
    raise AssertionError


def test_ten_thousand_arms(tmp_path, serve):
    path, arms = tmp_path / "own.db", [f"arm {i:05d}" for i in range(10_000)]
    rows = [{"arm": arm, "n": 100, "sum": i * 7919 % 10_000} for i, arm in enumerate(arms)]
    study = create_study(
        path, "many", arms=arms, objective=Additive(10.0), delta=0.05, budget=1_000_000
    )
    study.tell_counts(rows, source="table", period="1")
    page, walked = walk(serve(path))
    by_mean = sorted(rows, key=lambda row: -row["sum"])
    assert walked["seen"] == [row["arm"] for row in by_mean]
    assert walked["most"] < 100
    page.get_by_label("Search arms by name").fill("0777")
    expect(page.get_by_role("heading", name="11 of 10,000 arms")).to_be_visible()
    wanted = [row["arm"] for row in by_mean if "0777" in row["arm"]]
    wait_for(page, lambda: [name for name, *_ in forest_rows(page)] == wanted)
    page.get_by_label("Search arms by name").fill("no such arm")
    expect(page.get_by_text("No arm fits this search.")).to_be_visible()


def ended(path, budget=72):
    """A study whose budget is exhausted while ash and birch are open."""
    study = create_study(
        path,
        "trees",
        arms=list(MEANS),
        objective=Additive(0.45),
        delta=0.05,
        model=Gaussian(1.0),
        budget=budget,
    )
    while tickets := study.ask(18, client="robot", plate=Plate(4, 6, {"DMSO": 4})):
        told(study, tickets, MEANS)
    assert study.status().outcome == "budget exhausted"
    return study


def test_guesses_filters_and_hit_lists(tmp_path, serve):
    """Filters show as many arms as they say, and survive reload and Back."""
    study = ended(tmp_path / "own.db")
    status = study.status()
    guessed = {"good": status.guessed_good, "bad": status.guessed_bad}
    assert len(status.open) == len(guessed["good"]) + len(guessed["bad"]) > 0
    page = serve(tmp_path / "own.db").visit("#/studies/1")
    expect(page.get_by_text(status.best_guess).first).to_be_visible()
    label = "good" if guessed["good"] else "bad"
    chip = page.get_by_role("button", name=f"guess {label} {len(guessed[label])}")
    chip.click()
    title = page.get_by_role("heading", name=f"{len(guessed[label])} of 6 arms")
    expect(title).to_be_visible()
    wait_for(page, lambda: {name for name, *_ in forest_rows(page)} == set(guessed[label]))
    marks = page.locator(f".f-body .f-row .shape.guess.{label}")
    expect(marks).to_have_count(2 * len(guessed[label]))  # at the name and in the plot
    row = page.get_by_role("row", name=f"open, best guess {label} {guessed[label][0]}")
    expect(row).to_be_visible()
    page.reload()
    expect(title).to_be_visible()
    page.locator(".f-body").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name=guessed[label][0], level=2)).to_be_visible()
    page.go_back()
    expect(title).to_be_visible()
    text = saved(page, page.get_by_role("link", name="CSV")).read_text(encoding="utf-8-sig")
    found = list(csv.DictReader(text.splitlines()))
    assert {row["arm"]: row["label"] for row in found} == {
        arm.arm: arm.label for arm in status.arms
    }
    assert saved(page, page.get_by_role("link", name="Excel")).read_bytes()[:2] == b"PK"


def test_the_budget_ends(tmp_path, serve):
    """Next steps come from the server; the budget is raised, and the study goes on."""
    study = ended(tmp_path / "own.db")
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1")
    steps = page.locator(".notice", has=page.get_by_role("heading", name="Next steps"))
    for step in study.status().next_steps:
        expect(steps.get_by_text(re.sub(" +", " ", step.sentence))).to_be_visible()
    expect(steps.get_by_role("link", name="Certificate")).to_be_visible()
    cost = page.get_by_role("region", name="Cost")
    plates = study.status().plates
    words = f"72 measurements of 72 so far, {plates.plates} plates of {plates.budget}."
    expect(cost.get_by_text(words)).to_be_visible()
    for sentence in (study.status().sigma.sentence, *study.forecast().sentences):
        expect(cost.get_by_text(re.sub(" +", " ", sentence))).to_be_visible()
    box = page.get_by_role("dialog")
    steps.get_by_role("button", name="Change the budget").click()
    box.get_by_label("Budget").fill("1,000")
    box.get_by_label("Reason").fill("more money")
    box.get_by_role("button", name="Change").click()
    expect(box.get_by_label("Budget")).to_have_attribute("aria-invalid", "true")
    box.get_by_label("Budget").fill("1000")
    box.get_by_role("button", name="Change").click()
    expect(box).to_have_count(0)
    expect(steps).to_have_count(0)
    assert study.status().budget == 1000


def test_an_interval_that_goes_on_has_an_arrow(tmp_path, serve):
    """Intervals are wide before many values: those that are cut at the edge say so."""
    study = trees(tmp_path / "own.db", 1.0)
    told(study, study.ask(12), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1")
    wait_for(page, lambda: agrees(page, study))
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".f-body .f-row")].map((row) => [
          row.querySelector("a").textContent,
          !row.querySelector(".f-arrow.low").hidden, !row.querySelector(".f-arrow.high").hidden,
          row.querySelector(".f-plot").getAttribute("aria-label")])"""
    )
    axis = page.locator(".f-axis svg").get_attribute("aria-label")
    ends = re.match(r"Axis from (\S+) to (\S+)\. ", axis.replace("\N{MINUS SIGN}", "-"))
    low, high = map(float, ends.groups())
    arms = {arm.arm: arm for arm in study.status().arms}
    near = 0.02 * (high - low)  # the axis is told with three digits
    clear = [
        row for row in cut if min(abs(arms[row[0]].low - low), abs(arms[row[0]].high - high)) > near
    ]
    assert clear
    for name, is_low, is_high, words in clear:
        assert (is_low, is_high) == (arms[name].low < low, arms[name].high > high)
        assert words.startswith("between ")
    assert any(is_low for _, is_low, _, _ in cut)


# ---- what people change


def test_a_study_is_changed(tmp_path, serve):
    """Notes, budget, new arms, a dropped arm that comes back; on a telephone."""
    study = create_study(
        tmp_path / "own.db",
        "trees",
        arms=list(MEANS),
        objective=Additive(1.0),
        delta=0.05,
        budget=100,
        max_new_arms=2,
    )
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1", viewport={"width": 360, "height": 740})
    box = page.get_by_role("dialog")

    def done(*words):
        expect(box).to_have_count(0)
        for word in words:
            expect(page.get_by_text(word).first).to_be_visible()

    box_of(page, "Add a note", Note="The lamp\nwas changed.", **{"Your name": "anna"})
    done("The lamp was changed.", "anna, ")
    page.get_by_text("Manage", exact=True).click()
    box_of(page, "Change the budget", Budget="1000", Reason="more money")
    done("0 measurements of 1,000 so far")
    box_of(page, "Add arms", **{"Arms, one per line": "yew\nash", "Reason": "came late"})
    expect(box.get_by_text("'ash' more than once")).to_be_visible()
    box.get_by_label("Arms, one per line").fill("yew")
    box.get_by_role("button", name="Add").click()
    done("Which of 7 arms")
    study.drop_arm("oak", "used up")
    page.get_by_text("1 dropped arm").click()
    expect(page.get_by_text("used up", exact=True)).to_be_visible()
    box_of(page, "Restore oak", Reason="found more")
    done("0 measurements of 1,000 so far")
    expect(page.get_by_text("1 dropped arm")).to_have_count(0)
    assert [arm.dropped for arm in study.status().arms] == [None] * 7
    box_of(page, "Delete the study", Type="oaks")
    expect(box.get_by_text("That is not its name.")).to_be_visible()
    box.get_by_label("Type").fill("trees")
    box.get_by_role("button", name="Delete for ever").click()
    expect(page.get_by_text("No study yet")).to_be_visible()


def test_suspect_values_and_open_tickets(tmp_path, serve):
    study = trees(tmp_path / "own.db", 1.0)
    told(study, study.ask(18, client="robot"), MEANS)
    tickets = study.ask(12, client="anna", lease=3600)
    right, wrong = [ticket for ticket in tickets if ticket.arm == "ash"][:2]
    with pytest.warns(SuspectWarning):
        study.tell([(right, 4000.0), (wrong, 4001.0)])
    page = serve(tmp_path / "own.db").visit("#/studies/1")
    notice = page.locator(".notice", has=page.get_by_role("heading", name="2 suspect values"))
    for suspect in study.status().suspects:
        expect(notice.get_by_text(suspect.message)).to_be_visible()
    group = page.locator(".activity li", has_text="anna").first
    expect(group).to_contain_text("10 tickets")
    expect(group).to_contain_text("due in 59 minutes")
    value = reading(wrong, MEANS)
    box = page.get_by_role("dialog")
    box_of(
        page,
        "It is wrong: 4,001 of ash",
        **{"Right value": str(value), "Reason": "typed wrongly", "Your name": "anna"},
    )
    expect(box).to_have_count(0)
    expect(page.get_by_role("heading", name="1 suspect value")).to_be_visible()
    box_of(page, "It is right: 4,000 of ash", Reason="the meter's record")
    expect(box).to_have_count(0)
    expect(notice).to_have_count(0)
    expect(page.get_by_text("20 measurements counted")).to_be_visible()
    assert study.status().corrections == 1
    newest = page.locator(".activity .latest li").first
    expect(newest).to_contain_text("anna")


# ---- for everybody


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A study that runs with all that can happen, one with evil names, and one that has ended."""
    path = tmp_path_factory.mktemp("overview") / "screen.db"
    study = trees(path, 1.0, "trees & co")
    for _ in range(3):
        told(study, study.ask(18, client="robot", plate=Plate(4, 6, {"DMSO": 4})), MEANS)
    tickets = study.ask(12, client="anna", lease=3600)
    told(study, tickets[:6], MEANS)
    with pytest.warns(SuspectWarning):
        study.tell([(tickets[6], 4000.0)])
    study.drop_arm("oak", "used up")
    study.note("The lamp was changed.", client="anna")
    evil = create_study(path, EVIL[0], arms=EVIL, objective=Additive(0.5), delta=0.05)
    evil.tell([(ticket, 1.0) for ticket in evil.ask(9, client=EVIL[0])])
    evil.ask(2, client=EVIL[1])
    evil.note(EVIL[1], arm=EVIL[1], client=EVIL[2])
    evil.drop_arm(EVIL[2], EVIL[1])
    return path


@pytest.mark.parametrize("number", [1, 2])
def test_the_page_is_for_everybody(database, serve, script, number):
    """Light and wide, then dark and narrow: no hurdle, no sideways scrolling, text stays text."""
    visitors = serve(database)
    page = visitors.visit(f"#/studies/{number}", viewport={"width": 1280, "height": 900})
    expect(page.get_by_text("tickets").first).to_be_visible()
    for text in ("1 dropped arm", "Manage", "As a table"):
        page.get_by_text(text, exact=True).click()
    if number == 2:
        for name in EVIL:
            expect(page.get_by_text(name, exact=True).first).to_be_attached()
        assert page.locator("main script, main img").count() == 0
    assert hurdles(page, script) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate(LIGHT) < 60
    assert page.evaluate(WIDTH) <= 360
    assert hurdles(page, script) == []


LONG = [f"{'methyl-ethyl-propyl-' * 9}{i:020d}" for i in range(60)]  # of 200 characters


def test_on_paper_on_any_screen_and_for_the_ear(tmp_path, serve):
    """Names of 200 characters: no sideways scrolling; on paper all rows, light, and no buttons."""
    path = tmp_path / "own.db"
    study = create_study(path, "n" * 200, arms=LONG, objective=Additive(30.0), delta=0.05)
    rows = [{"arm": arm, "n": 50, "mean": -float(i)} for i, arm in enumerate(LONG)]
    study.tell_counts(rows, source="s", period="p")
    study.ask(client="c" * 200, plate=Plate(4, 24, {"d" * 200: 8}))
    page = serve(path).visit("#/studies/1", color_scheme="dark")
    row = page.get_by_role("row", name=LONG[0])
    expect(row).to_have_accessible_name(
        re.compile(rf"certified good {LONG[0]} between .+ and .+ evidence .+ of .+ needed 50$")
    )
    for width in (360, 768, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDTH) <= width
    page.set_viewport_size({"width": 720, "height": 900})
    assert page.locator(".f-body .f-row").count() < len(LONG)
    page.emulate_media(media="print")
    assert page.evaluate(LIGHT) > 250
    assert page.locator("button:visible:not(.f-head button)").count() == 0
    assert page.evaluate(WIDTH) <= 720
    expect(page.locator(".f-body .f-row")).to_have_count(len(LONG))


def test_numbers_do_not_wrap(tmp_path, serve):
    """In narrow columns, too: each cell with a number is one line high."""
    path = tmp_path / "own.db"
    study = create_study(path, "many", arms=["a", "b"], objective=Additive(1e5), delta=0.05)
    rows = [
        {"arm": arm, "n": 1_000_000, "mean": mean} for arm, mean in (("a", -123456.789), ("b", 0))
    ]
    study.tell_counts(rows, source="s", period="p")
    page = serve(path).visit("#/studies/1", viewport={"width": 360, "height": 740})
    expect(page.locator(".f-body .f-row")).to_have_count(2)
    for width in (360, 700, 1010, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(WIDTH)  # it is drawn
        lines = page.evaluate(
            """() => [...document.querySelectorAll(".f-mean, .f-figures, .f-measurements")]
              .filter((cell) => cell.closest(".f-body") && cell.offsetHeight)
              .map((cell) => cell.getClientRects().length
                && cell.offsetHeight / parseFloat(getComputedStyle(cell).lineHeight))"""
        )
        assert lines
        assert max(lines) < 1.5


def test_with_the_keyboard_only(tmp_path, serve):
    study = trees(tmp_path / "own.db", 2.0)
    told(study, study.ask(12), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1")
    press = page.keyboard.press
    wait_for(page, lambda: agrees(page, study))
    order = [name for name, *_ in forest_rows(page)]
    page.get_by_role("table", name="Arms").focus()
    for key, wanted in (("End", 5), ("ArrowUp", 4), ("Home", 0), ("ArrowDown", 1)):
        press(key)
        expect(page.locator(".f-body").get_by_role("link", name=order[wanted])).to_be_focused()
    press("Enter")
    expect(page.get_by_role("heading", name=order[1], level=2)).to_be_visible()
