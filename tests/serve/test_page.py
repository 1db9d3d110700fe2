"""The page in a real browser, before a real server.

No test sleeps: each waits for what it wants to see.
"""

import csv
import json
import re
from urllib.parse import quote, urlsplit

import pytest

from allgood import (
    Additive,
    Gaussian,
    Plate,
    Ticket,
    create_study,
    delete_study,
    load_study,
)
from allgood.certificates.verify import verify
from allgood.serve.tokens import add_token
from allgood.study.receipts import SuspectWarning

from ..support.browser import (
    LIGHT,
    LOST,
    MEANS,
    WIDTH,
    Visitors,
    agrees,
    hurdles,
    reading,
    saved,
    tell_card,
    told,
    trees,
    wait_for,
    worker,
)
from ..support.server_thread import serving
from ..support.serving import PATIENCE

api = pytest.importorskip("playwright.sync_api")
expect, Error = api.expect, api.Error

EVIL = {
    "<script>alert(1)</script>": 3.0,
    '<img src="x" onerror="alert(2)">': 2.0,
    "\"'><svg/onload=alert(3)>": 1.0,
    "a/b?c=d#e%41 &amp;": 0.0,
}
TREES = "trees & co"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Studies to look at: one that runs with all that can happen, and one with evil names."""
    path = tmp_path_factory.mktemp("page") / "screen.db"
    study = trees(path, 1.0, TREES)
    for _ in range(3):
        told(study, study.ask(18, client="robot", plate=Plate(4, 6, {"DMSO": 4})), MEANS)
    tickets = study.ask(12, client="anna", lease=3600)
    told(study, tickets[:6], MEANS)
    with pytest.warns(SuspectWarning):
        study.tell([(tickets[6], 4000.0)])
    study.fail(tickets[7], "spilled")
    study.note("The lamp was changed.", client="anna")
    evil = create_study(
        path, next(iter(EVIL)), arms=list(EVIL), objective=Additive(0.5), delta=0.05
    )
    told(evil, evil.ask(16, client=next(iter(EVIL)), plate=Plate(4, 6)), EVIL)
    evil.ask(8, client=list(EVIL)[1], plate=Plate(4, 6))
    evil.note(list(EVIL)[1], arm=list(EVIL)[1], client=list(EVIL)[2])
    return path


@pytest.fixture(scope="module")
def server(database):
    with serving(database) as address:
        yield address


@pytest.fixture
def visitors(chromium, server):
    with Visitors(chromium, server) as some:
        yield some


@pytest.fixture(scope="module")
def reader(chromium, server):
    """Visitors, and one window that they turn from page to page: what is large is loaded once."""
    with Visitors(chromium, server) as some:
        yield some, some.visit()


# ---- one after the other


def test_from_the_form_to_a_verified_certificate(tmp_path, serve):
    visitors = serve(tmp_path / "own.db")
    page = visitors.visit()
    expect(page.get_by_text("No study yet")).to_be_visible()
    page.get_by_role("link", name="New study").first.click()
    begin(page)
    study = load_study(tmp_path / "own.db", "trees")
    assert list(study.design.arms) == list(MEANS)
    paste_a_plate(page, study)
    certify(page, study, visitors.address)
    save_and_verify(page, study)


def begin(page):
    """Fill in the form; test_page_new.py has what can be wrong with it."""
    page.get_by_label("Name", exact=True).fill("trees")
    page.get_by_label("Arms", exact=True).fill("\n".join(MEANS))
    page.get_by_label("Epsilon", exact=True).fill("2")
    page.get_by_label("Sigma, the noise").fill("1")
    page.get_by_role("button", name="Begin the study").click()
    expect(page.get_by_role("heading", name="trees", level=1)).to_be_visible()
    expect(page.get_by_text("Nothing is measured yet")).to_be_visible()


def ask_for_a_plate(page):
    page.get_by_label("Plate", exact=True).select_option("Another size")
    page.get_by_label("Rows", exact=True).fill("4")
    page.get_by_label("Columns", exact=True).fill("6")
    page.get_by_label("Controls", exact=True).fill("DMSO 4")
    page.get_by_role("button", name="Ask for a plate").click()


def paste_a_plate(page, study):
    """A sheet with a wrong row and a slip: previewed, told, and the slip confirmed."""
    page.get_by_role("link", name="Measure", exact=True).click()
    ask_for_a_plate(page)
    expect(page.get_by_text("20 measurements of 6 arms on plate 1.")).to_be_visible()
    chart = page.get_by_role("region", name="Map of plate 1")
    expect(chart.get_by_role("link", name="ash").first).to_be_visible()
    text = saved(page, page.get_by_role("link", name="CSV")).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    tickets = {ticket.id: ticket for ticket in study.open_tickets}
    assert len(tickets) == 20
    assert {row["ticket"] for row in rows if row["ticket"]} == set(tickets)
    values = {id: reading(ticket, MEANS) for id, ticket in tickets.items()}
    wrong, influential = (
        next(iter(tickets)),
        [id for id, ticket in tickets.items() if ticket.arm == "ash"][-1],
    )
    assert wrong != influential
    values[influential] = 4000.0
    sheet = "".join(
        f"{'nobody-7' if id == wrong else id}\t{value}\n" for id, value in values.items()
    )
    card = tell_card(page)
    card.get_by_label("Results, pasted or typed").fill(f"ticket\tvalue\n{sheet}")
    expect(card.get_by_text("20 rows previewed, nothing written yet.")).to_be_visible()
    expect(card.get_by_text("1 row is refused; the others can be told.")).to_be_visible()
    for words in ("18 accepted", "1 suspect", "1 unknown"):
        expect(card.get_by_role("button", name=words)).to_be_visible()
    assert study.status().measurements == 0  # the preview wrote nothing
    assert len(study.open_tickets) == 20
    card.get_by_role("button", name="Tell 19 rows").click()
    expect(card.get_by_text("Told. 18 accepted, 1 suspect and 1 unknown.")).to_be_visible()
    status = study.status()
    assert (status.measurements, len(study.open_tickets)) == (18, 1)
    assert [suspect.ticket for suspect in status.suspects] == [influential]
    card.get_by_role("button", name=f"Confirm: {influential}").click()
    box = page.get_by_role("dialog")
    box.get_by_role("button", name="Confirm").click()
    expect(box).to_be_visible()  # a reason is required
    box.get_by_label("Reason").fill("the meter's own record")
    box.get_by_role("button", name="Confirm").click()
    expect(box).to_have_count(0)
    assert study.status().measurements == 19
    # The value was a slip after all: its arm would be the best for ever.
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="ash").first.click()
    page.get_by_role("button", name=f"Correct {influential}").click()
    box.get_by_label("Right value").fill(str(reading(tickets[influential], MEANS)))
    box.get_by_label("Reason").fill("the comma was lost")
    box.get_by_role("button", name="Correct").click()
    expect(box).to_have_count(0)
    expect(page.get_by_text("was 4,000")).to_be_visible()
    assert study.status().measurements == 19


def certify(page, study, address):
    """A worker goes on; the page that is open shows the end by itself."""
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".f-body .f-row")).to_have_count(6)
    page.evaluate("window.same = true")
    with worker(address, "trees", MEANS) as work:
        work.result(PATIENCE)
    assert study.status().outcome == "certified"
    labels = {item.arm: item.label for item in study.status().arms}
    assert labels == {arm: "good" if mean > 8 else "bad" for arm, mean in MEANS.items()}
    for arm, label in labels.items():
        row = page.locator(".f-body .f-row", has_text=arm)
        expect(row).to_have_attribute("data-label", label)
    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict.get_by_text("2 good", exact=True)).to_be_visible()
    assert page.evaluate("window.same")  # it was not loaded again


def save_and_verify(page, study):
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Certificate").click()
    expect(page.get_by_text("Every label is certified.")).to_be_visible()
    page.get_by_role("button", name="Verify in place").click()
    expect(
        page.locator("main").get_by_text("Verified: 6 claims recomputed, and the events")
    ).to_be_visible()
    button = page.get_by_role("button", name="Download certificate")
    text = saved(page, button).read_text(encoding="utf-8")
    found = verify(json.loads(text), list(study.export()))
    assert (found.ok, found.log_checked, found.claims) == (True, True, 6)
    # Another certificate: one that was changed is told from one that was not.
    chosen = page.locator("input[type=file]")
    chosen.set_input_files(
        {"name": "same.json", "mimeType": "application/json", "buffer": text.encode()}
    )
    expect(
        page.get_by_role("heading", name="same.json, a certificate of this study")
    ).to_be_visible()
    expect(page.locator("main").get_by_text("Verified: 6 claims")).to_be_visible()
    study.note("later")
    chosen.set_input_files(
        {"name": "older.json", "mimeType": "application/json", "buffer": text.encode()}
    )
    expect(page.get_by_role("heading", name="older.json")).to_be_visible()
    expect(page.locator("main").get_by_text("of an earlier moment")).to_be_visible()
    forged = json.loads(text)
    forged["claims"][0]["label"] = "good" if forged["claims"][0]["label"] == "bad" else "bad"
    chosen.set_input_files(
        {
            "name": "forged.json",
            "mimeType": "application/json",
            "buffer": json.dumps(forged).encode(),
        }
    )
    expect(page.locator("main").get_by_text("Not verified: ")).to_be_visible()


# ---- at once


def test_two_browsers_and_a_worker_at_once(tmp_path, serve):
    path = tmp_path / "own.db"
    study = trees(path, 0.05)
    visitors = serve(path)
    first, two = visitors.visit("#/studies/1"), visitors.visit("#/studies/1/measure")
    two.get_by_label("Measurements").check()
    with worker(visitors.address, "trees", MEANS, n=3, rounds=20) as work:
        for _ in range(2):  # rounds by hand, meanwhile
            two.get_by_label("How many").fill("4")
            with two.expect_response("**/ask") as answer:
                two.get_by_role("button", name="Ask", exact=True).click()
            mine = [Ticket(**item) for item in answer.value.json()["tickets"]]
            for item in mine:
                field = two.get_by_label(f"Value of {item.id}, {item.arm}")
                field.fill(str(reading(item, MEANS)))
            two.get_by_role("button", name="Preview what is typed").click()
            two.get_by_role("button", name=f"Tell {len(mine)} rows").click()
            expect(two.locator("main").get_by_text("Told.")).to_be_visible()
            two.get_by_role("button", name="Next sheet").click()
        work.result(PATIENCE)
    two.get_by_role("link", name="Overview").click()
    assert study.status().measurements == 20 * 3 + 2 * 4
    for page in (first, two):
        wait_for(page, lambda page=page: agrees(page, study))
        expect(page.get_by_text("68 measurements counted")).to_be_visible()


SOME = ("", "/measure", "/history")


def test_a_server_that_is_killed_under_an_open_page(tmp_path, serve_apart):
    path = tmp_path / "own.db"
    study = trees(path, 0.05)
    told(study, study.ask(12), MEANS)
    program, visitors = serve_apart(path)
    visitors.expected = LOST
    pages = [visitors.visit(page) for page in ("#/", *(f"#/studies/1{p}" for p in SOME))]
    lists, overview, measure, history = pages
    tickets = study.ask(6, client="anna")
    card = tell_card(measure)
    sheet = "".join(f"{ticket.id},{reading(ticket, MEANS)}\n" for ticket in tickets)
    card.get_by_label("Results, pasted or typed").fill(f"ticket,value\n{sheet}")
    expect(card.get_by_role("button", name="Tell 6 rows")).to_be_visible()
    for page in pages:
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.evaluate("window.same = true")
    program.kill()
    for page in pages:
        expect(page.get_by_text("Reconnecting", exact=True)).to_be_visible()
    card.get_by_role("button", name="Tell 6 rows").click()
    expect(card.get_by_text("The server cannot be reached.")).to_be_visible()
    told(study, study.ask(9, client="robot"), MEANS)  # straight into the database
    with serving(path, port=urlsplit(program.address).port):
        for page in pages:
            expect(page.get_by_text("Live", exact=True)).to_be_visible()
        card.get_by_role("button", name="Tell 6 rows").click()
        expect(card.get_by_text("Told. 6 accepted.")).to_be_visible()
        status = study.status()
        assert status.measurements == 12 + 9 + 6
        wait_for(overview, lambda: agrees(overview, study))
        expect(overview.get_by_text("27 measurements counted")).to_be_visible()
        expect(history.get_by_text(f"of {status.events} events")).to_be_visible()
        expect(lists.locator(".study-card").get_by_text("27", exact=True)).to_be_visible()
        assert all(page.evaluate("window.same") for page in pages)  # none was loaded again
        visitors.leave()


# ---- for everybody

PAGES = {
    "#/": TREES,
    "#/new": "About",
    "#/explore": "Weights",
    "#/studies/1": "tickets",
    "#/studies/1/measure": "Plate 3",
    "#/studies/1/arm/ash": "Values (",
    "#/studies/1/certificate": "SHA-256",
    "#/studies/1/history": "The lamp was changed.",
    "#/studies/2": "tickets",
    "#/nowhere": "There is no such page",
    "docs": "/v1/studies",
}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_for_everybody(reader, script, path):
    """Light and wide, then dark and narrow: no hurdle, and no sideways scrolling."""
    visitors, page = reader
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    visitors.go(page, path)
    expect(page.get_by_text(PAGES[path]).first).to_be_attached()
    if path.endswith("measure"):
        page.get_by_role("button", name="Plate 3", exact=True).click()
        expect(page.get_by_role("region", name="Map of plate 3")).to_be_visible()
    light = page.evaluate(LIGHT)
    assert light > 200
    assert hurdles(page, script) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate(LIGHT) < 60
    assert page.evaluate(WIDTH) <= 360
    assert hurdles(page, script) == []
    assert visitors.bad == []


def test_hurdles_and_strange_requests_are_found(visitors, script):
    """The control of the tests above and below."""
    page = visitors.visit()
    expect(page.get_by_role("heading", name="Studies", level=1)).to_be_visible()
    page.evaluate(
        """() => {
          const button = document.createElement("button"), pale = document.createElement("p");
          const wide = document.createElement("div");
          pale.textContent = "pale";
          pale.style.color = "#f0f0f0";
          wide.textContent = "wide";
          wide.style.width = "3000px";
          document.body.append(button, pale, wide);  // the page draws its main part again
          console.error("an error");
          fetch("http://127.0.0.2:9/").catch(() => {});
          alert("a box");
        }"""
    )
    assert page.evaluate(WIDTH) > 2000
    found = hurdles(page, script)
    assert any("button-name" in item for item in found)
    assert any("color-contrast" in item for item in found)
    for sign in ("console: an error", "Content Security Policy", "box: a box"):
        assert any(sign in bad for bad in visitors.bad)
    visitors.bad.clear()


def tab_to(page, name):
    """Press Tab until what has the focus is called so."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate(NAME)):
            return
    raise AssertionError(f"Tab never came to {name}")


NAME = """() => {
  const one = document.activeElement;
  return one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
}"""


def test_with_the_keyboard_only(tmp_path, serve, script):
    study = trees(tmp_path / "own.db", 2.0)
    visitors = serve(tmp_path / "own.db")
    page = visitors.visit()
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate(NAME) == "Skip to the content"
    tab_to(page, "^trees$")
    press("Enter")
    expect(page.get_by_text("Nothing is measured yet")).to_be_visible()
    tab_to(page, "^Measure$")
    press("Enter")
    expect(page.get_by_role("button", name="Ask for a plate")).to_be_visible()
    tab_to(page, "^A plate$")
    press("ArrowRight")
    tab_to(page, "^How many")
    page.keyboard.type("3")
    press("Enter")
    expect(page.get_by_label(re.compile("^Value of "))).to_have_count(3)
    values = [reading(ticket, MEANS) for ticket in study.open_tickets]
    tab_to(page, "^Value of ")
    for value in values:  # Enter goes to the next
        page.keyboard.type(str(value))
        press("Enter")
    assert page.evaluate(NAME) == "Preview what is typed"
    press("Enter")
    expect(page.get_by_role("button", name="Tell 3 rows")).to_be_enabled()
    page.keyboard.press("Shift+Tab")
    tab_to(page, "^Tell 3 rows")
    press("Enter")
    expect(page.locator("main").get_by_text("Told. 3 accepted.")).to_be_visible()
    observed = [event.value for event in study.events() if event.kind == "measurement"]
    assert sorted(observed) == sorted(values)
    # One key each; a box keeps the focus, gives it back, and says all keys.
    page.evaluate("document.activeElement.blur()")
    press("o")
    expect(page.locator(".f-body .f-row")).to_have_count(6)
    press("?")
    box = page.get_by_role("dialog")
    expect(box.get_by_text("Go to Explore")).to_be_visible()
    assert hurdles(page, script) == []
    press("Escape")
    expect(box).to_have_count(0)
    tab_to(page, "^Arms\\. ")
    press("End")
    assert page.evaluate("document.activeElement.textContent") in MEANS
    press("Home")
    press("ArrowDown")
    press("Enter")
    expect(page.get_by_role("heading", name="What happened")).to_be_visible()


# ---- by hand


def test_names_that_hold_others(tmp_path, serve):
    """Searched by a part; the events of one arm; boxes and pages that end with their study."""
    means = {"C1": 9.0, "C10": 0.0, "C11": 0.0}
    study = create_study(
        tmp_path / "own.db", "Dyes", arms=list(means), objective=Additive(1.0), delta=0.05
    )
    while study.status().outcome == "running":
        told(study, study.ask(3), means)
    trees(tmp_path / "own.db", 1.0)
    visitors = serve(tmp_path / "own.db")
    page = visitors.visit()
    page.get_by_label("Search studies by name").fill("dy")
    expect(page.get_by_role("link", name="trees")).to_have_count(0)
    page.get_by_role("link", name="Dyes").click()
    page.get_by_role("link", name="C1", exact=True).first.click()
    expect(page.get_by_text("no rival left")).to_be_visible()
    page.get_by_role("link", name="All its events").click()
    expect(page.get_by_label("Arm", exact=True)).to_have_value("C1")
    expect(page.get_by_role("link", name="C10", exact=True)).to_have_count(0)
    page.go_back()
    page.get_by_role("button", name="Add a note").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    visitors.go(page, "#/studies/1/measure")
    delete_study(tmp_path / "own.db", "Dyes")
    expect(page.get_by_role("heading", name="This study was deleted")).to_be_visible()


LONG = [f"{'methyl-ethyl-propyl-' * 9}{i:020d}" for i in range(60)]  # of 200 characters


def test_on_paper_on_any_screen_and_for_the_ear(tmp_path, serve, script):
    """Names of 200 characters: no sideways scrolling; on paper all rows, light, and no buttons."""
    path = tmp_path / "own.db"
    study = create_study(path, "n" * 200, arms=LONG, objective=Additive(30.0), delta=0.05)
    rows = [{"arm": arm, "n": 50, "mean": -float(i)} for i, arm in enumerate(LONG)]
    study.tell_counts(rows, source="s", period="p")
    study.ask(client="c" * 200, plate=Plate(4, 24, {"d" * 200: 8}))
    visitors = serve(path)
    page = visitors.visit("#/studies/1", color_scheme="dark")
    row = page.get_by_role("row", name=LONG[0])
    expect(row).to_have_accessible_name(
        re.compile(rf"certified good {LONG[0]} between .+ and .+ evidence .+ of .+ needed 50$")
    )
    for path in ("", "/measure", "/certificate"):
        visitors.go(page, f"#/studies/1{path}")
        if path == "/measure":
            page.get_by_role("button", name="Plate 1", exact=True).click()
            expect(page.get_by_role("region", name="Map of plate 1")).to_be_visible()
        for width in (360, 768, 3840):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(WIDTH) <= width
        page.set_viewport_size({"width": 720, "height": 900})
        few = page.get_by_role("row").count()
        page.emulate_media(media="print")
        assert page.evaluate(LIGHT) > 250
        assert page.locator("button:visible:not(.f-head button)").count() == 0
        assert page.evaluate(WIDTH) <= 720
        if path != "/measure":
            all_of_them = len(study.certificate()["claims"]) if path else len(LONG)
            expect(page.get_by_role("row")).to_have_count(all_of_them + 1)
            assert few < all_of_them
        page.emulate_media(media="screen")


def test_a_database_that_goes_away_and_comes_back(tmp_path, serve):
    """The page says so in words, and goes on by itself."""
    path, away = tmp_path / "own.db", tmp_path / "away"
    study = trees(path, 0.5)
    told(study, study.ask(12), MEANS)
    tickets = study.ask(3)
    study.close()
    visitors = serve(path)
    visitors.expected = "status of 503"
    page, other = visitors.visit("#/studies/1/measure"), visitors.visit("#/studies/1")
    card = tell_card(page)
    sheet = "".join(f"{ticket.id},{reading(ticket, MEANS)}\n" for ticket in tickets)
    card.get_by_label("Results, pasted or typed").fill(f"ticket,value\n{sheet}")
    tell = card.get_by_role("button", name="Tell 3 rows")
    expect(tell).to_be_visible()
    path.rename(away)
    tell.click()
    expect(card.get_by_text("The database is away or busy.")).to_be_visible()
    for item in (page, other):
        expect(item.get_by_text("Reconnecting", exact=True)).to_be_visible()
    away.rename(path)
    for item in (page, other):
        expect(item.get_by_text("Live", exact=True)).to_be_visible()
    tell.click()
    expect(card.get_by_text("Told. 3 accepted.")).to_be_visible()
    expect(other.get_by_text("15 measurements counted")).to_be_visible()


def test_the_list_says_which_study_should_not_be_trusted(tmp_path, serve):
    path = tmp_path / "own.db"
    for name, sigma in (("sound", 1.0), ("too sure", 0.2)):
        study = create_study(
            path,
            name,
            arms=list(MEANS),
            objective=Additive(2.0),
            delta=0.05,
            model=Gaussian(sigma),
            check_values=False,
        )
        told(study, study.ask(60), MEANS)
    cards = serve(path).visit().locator(".study-card")
    expect(cards).to_have_count(2)
    doubtful = cards.filter(has_text="so the guarantee does not hold")
    expect(doubtful).to_have_count(1)
    expect(doubtful.get_by_role("heading", name="too sure")).to_be_visible()


# ---- names


def test_a_name_is_a_name_everywhere(visitors, database):
    page = visitors.visit()
    study = next(iter(EVIL))

    def all_are_there(*names):
        for name in names or EVIL:
            expect(page.get_by_text(name, exact=True).first).to_be_attached()
        assert page.locator("main script, main img, main svg[onload]").count() == 0

    all_are_there(study)  # the list
    for after in ("", "/certificate"):
        visitors.go(page, f"#/studies/2{after}")
        all_are_there(*([] if after else [*EVIL, study]))
    visitors.go(page, "#/studies/2/history")
    all_are_there(study, list(EVIL)[1])  # the arm of a note
    for name in EVIL:
        visitors.go(page, f"#/studies/2/arm/{quote(name, safe='')}")
        expect(page.get_by_role("heading", name=name, exact=True, level=2)).to_be_visible()
    visitors.go(page, "#/studies/2/measure")
    page.get_by_role("button", name="Plate 2", exact=True).click()
    chart = page.get_by_role("region", name="Map of plate 2")
    expect(chart).to_be_visible()
    arms = {ticket.arm for ticket in load_study(database, study).open_tickets}
    links = chart.get_by_role("link").all()  # names may be cut
    assert {link.get_attribute("aria-label") for link in links} == arms
    page.emulate_media(media="print")
    expect(page.get_by_text(f"{study}, plate 2")).to_be_visible()
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    page.emulate_media(media="screen")
    # The forest leads to the arm whatever its name, and a search finds it.
    visitors.go(page, "#/studies/2")
    page.get_by_label("Search arms by name").fill("<IMG")
    found = page.get_by_role("heading", name="1 of 4 arms")
    expect(found).to_be_attached()  # rows are drawn anew, then clicked
    page.locator(".f-body").get_by_role("link", name=list(EVIL)[1]).click()
    expect(page.get_by_role("heading", name=list(EVIL)[1], level=2)).to_be_visible()
    page.goto(f"{visitors.address}/v1/studies/2/report")
    expect(page.get_by_text(study, exact=True).first).to_be_attached()
    assert page.locator("img[src=x]").count() == 0


# ---- who may


def test_tokens(tmp_path, serve_apart, script):
    study = trees(tmp_path / "own.db", 2.0)
    told(study, study.ask(12, client="robot"), MEANS)
    tokens = {role: add_token(tmp_path / "tokens", role) for role in ("read", "measure")}
    _, visitors = serve_apart(tmp_path / "own.db", "--token-file", str(tmp_path / "tokens"))
    visitors.expected = "status of 401|status of 403"
    page = visitors.visit("#/studies/1/measure")

    def log_in(token):
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()

    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.get_by_text("trees").count() == 0
    assert hurdles(page, script) == []
    log_in("wrong")
    expect(page.get_by_role("alert").filter(has_text="token")).to_be_visible()
    log_in(tokens["read"])
    expect(page.get_by_text("You may look here, and neither ask nor tell.")).to_be_visible()
    expect(page.get_by_text("May read")).to_be_visible()
    assert page.get_by_role("button", name=re.compile("Ask|Tell|Lost")).count() == 0
    assert "allgood_session" not in page.evaluate("document.cookie")  # no script can read it
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".f-body .f-row")).to_have_count(6)
    for name in ("Write a note", "It is right"):
        assert page.get_by_role("button", name=name).count() == 0
    assert page.get_by_text("Manage", exact=True).count() == 0
    visitors.go(page, "#/new")
    expect(page.get_by_text("you need a token that may manage")).to_be_visible()
    # Whoever writes without the page's buttons is refused in words.
    answer = page.evaluate(
        """() => fetch("v1/studies/1/ask", { method: "POST", body: '{"n": 1}',
          headers: { "Content-Type": "application/json" } }).then((r) => r.json())"""
    )
    assert answer["status"] == 403
    assert "measure" in answer["detail"]
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    log_in(tokens["measure"])
    expect(page.get_by_text("May measure")).to_be_visible()
    visitors.go(page, "#/studies/1/measure")
    page.get_by_role("button", name="Ask for a plate").click()
    expect(page.get_by_text("on plate 2")).to_be_visible()
    visitors.go(page, "#/")
    expect(page.get_by_role("link", name="trees")).to_be_visible()
    assert page.get_by_role("link", name="New study").count() == 0
