"""The history page in a real browser: one entry per request, filters that stay, events to see."""

import json

import pytest

from allgood import Additive, Bernoulli, Plate, create_study

from ..support.browser import LIGHT, MEANS, WIDTH, busy_study, hurdles, saved, told, trees, wait_for

expect = pytest.importorskip("playwright.sync_api").expect
EVIL = '<img src="x" onerror="alert(1)">'


@pytest.fixture
def study(tmp_path):
    study = trees(tmp_path / "own.db", 0.5)
    for _ in range(2):
        told(study, study.ask(12, client="robot", plate=Plate(4, 6)), MEANS)
    study.note("The lamp was changed.", arm="ash", client="anna")
    return study


def rows_of(page):
    return page.get_by_role("table").get_by_role("row")


def test_entries_filters_and_events(tmp_path, study, serve):
    visitors = serve(tmp_path / "own.db")
    page = visitors.visit("#/studies/1/history")
    expect(rows_of(page)).to_have_count(7)  # with the head
    expect(rows_of(page).nth(1)).to_contain_text("The lamp was changed.")
    expect(rows_of(page).nth(2)).to_contain_text("Told plate 2: 12 values")
    page.get_by_label("Plate").fill("1")
    expect(rows_of(page)).to_have_count(3)
    page.get_by_label("Kind").select_option(label="Value")
    expect(rows_of(page)).to_have_count(2)
    page.reload()  # the filters stay
    expect(page.get_by_label("Plate")).to_have_value("1")
    expect(rows_of(page)).to_have_count(2)
    page.get_by_role("link", name="Studies").first.click()
    expect(page.get_by_label("Search studies by name")).to_be_visible()
    page.go_back()
    expect(rows_of(page)).to_have_count(2)
    expect(page.get_by_text("1 entry that fits")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(rows_of(page)).to_have_count(7)
    page.get_by_role("button", name="Show event").first.click()
    box = page.get_by_role("dialog")
    expect(box.locator(".raw")).to_contain_text('"kind": "note"')
    box.get_by_role("button", name="Close").click()
    visitors.go(page, "#/studies/1/history?arm=ash")
    expect(page.get_by_label("Arm")).to_have_value("ash")
    expect(page.get_by_role("link", name="birch")).to_have_count(0)


def test_what_is_saved(tmp_path, study, serve):
    page = serve(tmp_path / "own.db").visit("#/studies/1/history")
    lines = saved(page, page.get_by_role("link", name="Export the events")).read_text()
    assert [json.loads(line)["seq"] for line in lines.splitlines()] == list(
        range(1, study.status().events + 1)
    )
    values = saved(page, page.get_by_role("link", name="Values as CSV")).read_text()
    assert len(values.splitlines()) == 25


def test_a_live_history_keeps_your_place(tmp_path, study, serve):
    """A worker tells every 0.3 s: the focus stays on its entry, with one request per event."""
    page = serve(tmp_path / "own.db").visit("#/studies/1/history")
    button = page.get_by_role("button", name="Show event").first
    button.focus()
    page.evaluate("() => { window.focused = document.activeElement; }")
    urls = []
    page.on("request", lambda request: urls.append(request.url))
    with busy_study(study, MEANS) as number:
        wait_for(page, lambda: number() >= 6 and len(urls) >= 3)
        assert page.evaluate("() => document.activeElement === window.focused")
        assert page.evaluate("() => window.focused.isConnected")
    assert all("/history?" in url for url in urls)


def test_older_entries_come_when_one_scrolls(tmp_path, serve):
    path = tmp_path / "own.db"
    arms = [EVIL, "n" * 200]
    study = create_study(
        path, "shop", arms=arms, objective=Additive(0.01), delta=0.05, model=Bernoulli()
    )
    for day in range(120):
        rows = [{"arm": arm, "n": 10, "sum": 5} for arm in arms]
        study.tell_counts(rows, source="log", period=f"day {day}")
    page = serve(path).visit("#/studies/1/history")
    table = page.get_by_role("table")
    expect(page.get_by_text("The last 50 entries")).to_be_visible()
    expect(rows_of(page).nth(1)).to_contain_text("20 measurements of 2 arms; log, day 119")
    table.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    expect(page.get_by_text("The last 100 entries")).to_be_visible()
    table.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    expect(page.get_by_text("121 entries")).to_be_visible()
    assert rows_of(page).count() < 60  # only those in view are drawn


def test_any_name_and_any_screen(tmp_path, serve, script):
    path = tmp_path / "own.db"
    means = {EVIL: 1.0, "n" * 200: 0.0}
    study = create_study(path, "own", arms=list(means), objective=Additive(0.5), delta=0.05)
    told(study, study.ask(1), means)
    study.note(EVIL, arm=EVIL, client=EVIL)
    page = serve(path).visit("#/studies/1/history")
    expect(rows_of(page).nth(1)).to_contain_text(EVIL)
    assert page.locator("main img").count() == 0
    for width, scheme in ((1400, "light"), (900, "dark"), (360, "dark"), (360, "light")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDTH) <= width
        assert hurdles(page, script) == []
    page.emulate_media(media="print")
    assert page.evaluate(LIGHT) > 250
    expect(page.get_by_role("form")).to_be_hidden()
