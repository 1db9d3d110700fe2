"""The page of an arm in a real browser: it keeps your place, and asks the server once per event."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest

from allgood import Additive, Bernoulli, create_study
from allgood.study.receipts import SuspectWarning

from ..support.browser import (
    LIGHT,
    MEANS,
    WIDTH,
    box_of,
    busy_study,
    hurdles,
    saved,
    told,
    trees,
    wait_for,
)

expect = pytest.importorskip("playwright.sync_api").expect
EVIL = ['<img src="x" onerror="alert(1)">', "a/b?c=d#e%41 &amp;", ".."]


def requests_of(page):
    """The requests of a page to the interface, as they come; not its stream of changes."""
    urls = []

    def note(request):
        parts = urlsplit(request.url)
        if "/v1/studies/" in parts.path and not parts.path.endswith("/live"):
            urls.append(f"{parts.path.partition('/v1/')[2]}?{parts.query}")

    page.on("request", note)
    return urls


def test_a_live_page_keeps_your_place(tmp_path, serve):
    """A worker tells every 0.3 s: the focus, an open list and a scrolled table stay."""
    study = trees(tmp_path / "own.db", 0.5)  # birch is on the threshold: it stays open for long
    for _ in range(10):
        told(study, study.ask(12), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1/arm/ash")
    note = page.get_by_role("button", name="Add a note")
    legend = page.get_by_text("How to read this picture")
    table = page.get_by_role("table")
    legend.click()
    table.evaluate("(box) => { box.scrollTop = 120; }")
    note.focus()
    page.evaluate("() => { window.focused = document.activeElement; }")
    before = study.status().events
    shown = requests_of(page)
    with busy_study(study, MEANS) as number:
        wait_for(page, lambda: number() >= 8 and len(shown) >= 3)
        assert page.evaluate("() => document.activeElement === window.focused")
        assert page.locator("details", has=legend).get_attribute("open") is not None
        assert table.evaluate("(box) => box.scrollTop") == 120
        note.click()  # once
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(note).to_be_focused()
    assert study.status().events > before + 8


def test_one_request_per_event(tmp_path, serve):
    study = trees(tmp_path / "own.db", 0.5)
    told(study, study.ask(12), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1/arm/ash")
    expect(page.get_by_text("Values (2)")).to_be_visible()
    urls = requests_of(page)
    for events in range(1, 5):
        study.note(f"note {events}", arm="ash")
        expect(page.get_by_text(f"note {events}", exact=False)).to_be_visible()
        assert len(urls) == events, urls
    assert {parse_qs(urlsplit(url).query)["name"][0] for url in urls} == {"ash"}


def test_values_are_confirmed_corrected_and_withdrawn(tmp_path, serve):
    study = trees(tmp_path / "own.db", 1.0)
    told(study, study.ask(18), MEANS)
    slip, typo = [ticket for ticket in study.ask(30) if ticket.arm == "ash"][:2]
    with pytest.warns(SuspectWarning):
        study.tell([(slip, 4000.0), (typo, 7.5)])
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1/arm/ash")
    box = page.get_by_role("dialog")
    rows = page.get_by_role("row")
    expect(rows.nth(1)).to_contain_text(slip.id)  # the suspect one comes first
    expect(page.get_by_text("1 value is suspect and does not count")).to_be_visible()
    box_of(page, f"Correct {typo.id}", **{"Right value": "much", "Reason": "typed wrongly"})
    expect(box.get_by_label("Right value")).to_have_attribute("aria-invalid", "true")
    box.get_by_label("Right value").fill("9.5")
    box.get_by_role("button", name="Correct").click()
    expect(rows.filter(has_text=typo.id)).to_contain_text("was 7.5")
    expect(page.get_by_text("typed wrongly").first).to_be_visible()
    expect(page.get_by_role("button", name=f"Correct {typo.id}")).to_be_focused()
    box_of(page, f"Confirm {slip.id}", Reason="seen on the film")
    expect(page.get_by_role("button", name=f"Confirm {slip.id}")).to_have_count(0)
    arm = study.status().arms[0]
    assert (arm.suspect, arm.mean > 100) == (0, True)


def test_an_arm_is_changed(tmp_path, serve):
    """A note, and a value that nobody asked for, by somebody who is asked for a name once."""
    study = trees(tmp_path / "own.db", 1.0)
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1/arm/ash", viewport={"width": 360, "height": 740})
    box = page.get_by_role("dialog")
    expect(page.get_by_text("No value was told yet.")).to_be_visible()
    box_of(page, "Add a note", **{"Note": "The lamp\nwas changed.", "Your name": "anna"})
    expect(page.get_by_text("The lamp was changed.")).to_be_visible()
    assert study.status().notes[0].client == "anna"
    page.get_by_role("button", name="Add a value").click()
    expect(box.get_by_label("Your name")).to_have_count(0)  # it is asked for once
    page.keyboard.press("Escape")
    box_of(page, "Add a value", Value="9,5", Source="notebook")
    expect(box.get_by_text("write 9.5")).to_be_visible()
    box.get_by_label("Value").fill("9.5")
    box.get_by_role("button", name="Add").click()
    expect(page.get_by_text("Values (1)")).to_be_visible()
    assert study.status().arms[0].mean == 9.5


def test_an_arm_is_dropped(tmp_path, serve):
    study = trees(tmp_path / "own.db", 1.0)
    told(study, study.ask(6), MEANS)
    page = serve(tmp_path / "own.db").visit("#/studies/1/arm/ash")
    box_of(page, "Drop this arm", Reason="used up")
    expect(page.get_by_text("dropped and not measured again: used up")).to_be_visible()
    assert study.status().arms[0].dropped == "used up"
    expect(page.get_by_role("button", name="Restore this arm")).to_be_visible()


def test_counts_are_corrected_with_their_number(tmp_path, serve):
    study = create_study(
        tmp_path / "own.db",
        "shop",
        arms=["red", "blue"],
        objective=Additive(0.01),
        delta=0.05,
        model=Bernoulli(),
    )
    rows = [{"arm": arm, "n": 100, "sum": 10} for arm in ("red", "blue")]
    study.tell_counts(rows, source="log", period="day 1")
    page = serve(tmp_path / "own.db").visit("#/studies/1/arm/red")
    expect(page.get_by_role("row").nth(1)).to_contain_text("log, day 1")
    changes = {"Number of measurements": "200", "Right sum": "50", "Reason": "half was missing"}
    box_of(page, "Correct", **changes)
    expect(page.get_by_role("row").nth(1)).to_contain_text("50 in 200")
    red = study.status().arms[0]
    assert (red.measurements, red.mean) == (200, 0.25)


def test_older_values_on_request_and_as_csv(tmp_path, serve):
    path = tmp_path / "own.db"
    study = create_study(path, "two", arms=["ash", "oak"], objective=Additive(1.0), delta=0.05)
    for _ in range(5):
        told(study, study.ask(100), {"ash": 1.0, "oak": 0.0})  # on the threshold
    page = serve(path).visit("#/studies/1/arm/ash")
    values = study.status().arms[0].measurements
    assert values > 210
    table = page.get_by_role("table")
    expect(table).to_have_attribute("aria-rowcount", "201")
    page.get_by_role("button", name=f"of the {values - 200} older values").click()
    expect(table).to_have_attribute("aria-rowcount", str(values + 1))
    assert table.get_by_role("row").count() < 60  # only those in view are drawn


def test_a_certified_arm_without_a_rival(tmp_path, serve):
    means = {"C1": 9.0, "C10": 0.0, "C11": 0.0}
    path = tmp_path / "own.db"
    study = create_study(path, "Dyes", arms=list(means), objective=Additive(1.0), delta=0.05)
    while study.status().outcome == "running":
        told(study, study.ask(3), means)
    page = serve(path).visit("#/studies/1/arm/C1")
    expect(page.get_by_text("no rival left")).to_be_visible()
    expect(page.get_by_text("No rival is left: every other arm is certified bad.")).to_be_visible()
    expect(page.get_by_text("Certified good", exact=True)).to_be_visible()
    expect(page.get_by_role("meter")).to_have_attribute("aria-valuenow", "1.000")
    lines = saved(page, page.get_by_role("link", name="Values as CSV")).read_text().splitlines()
    assert len(lines) == 1 + study.status().arms[0].measurements


@pytest.mark.parametrize("name", EVIL)
def test_any_name_and_any_screen(tmp_path, serve, script, name):
    """Hostile names stay text; no hurdle and no sideways scrolling; on paper no buttons."""
    path = tmp_path / "own.db"
    means = {name: 1.0, "n" * 200: 0.0}
    study = create_study(path, "own", arms=list(means), objective=Additive(0.5), delta=0.05)
    told(study, study.ask(8), means)
    study.note(name, arm=name, client=name)
    page = serve(path).visit(f"#/studies/1/arm/{quote(name, safe='')}")
    expect(page.get_by_role("heading", name=name, exact=True, level=2)).to_be_visible()
    expect(page.locator(".happenings")).to_contain_text(name)
    assert page.locator("main img").count() == 0
    for width, scheme in ((1400, "light"), (900, "dark"), (360, "dark"), (360, "light")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDTH) <= width
        assert hurdles(page, script) == []
    page.emulate_media(media="print")
    assert page.evaluate(LIGHT) > 250
    assert page.locator("button:visible").count() == 0
