"""The page for measuring, in a real browser: ask, preview, tell, plates, and news meanwhile."""

import csv
import re
from contextlib import suppress

import pytest

from allgood import Additive, Bernoulli, Plate, create_study

from ..support.browser import (
    MEANS,
    WIDTH,
    box_of,
    busy_study,
    hurdles,
    reading,
    saved,
    tell_card,
    told,
    trees,
    wait_for,
)

api = pytest.importorskip("playwright.sync_api")
expect = api.expect

PASTED = "Results, pasted or typed"


def sheet_of(tickets, means=MEANS):
    """A sheet with a value for each ticket."""
    lines = [f"{ticket.id},{reading(ticket, means):.3f}" for ticket in tickets]
    return "\n".join(["ticket,value", *lines, ""])


def sent_to(page, path):
    """The requests that the page sends to a path of the study, as they come."""
    found = []
    page.on("request", lambda sent: found.append(sent) if path in sent.url else None)
    return found


def ask_for_a_plate(page, rows=4, columns=6, controls="DMSO 4"):
    page.get_by_label("Plate", exact=True).select_option("Another size")
    page.get_by_label("Rows", exact=True).fill(str(rows))
    page.get_by_label("Columns", exact=True).fill(str(columns))
    page.get_by_label("Controls", exact=True).fill(controls)
    page.get_by_role("button", name="Ask for a plate").click()


# ---- ask


def test_a_plate_is_shown_before_it_is_asked_for(tmp_path, serve):
    """Controls are sent as they are written; the layout is that of the plate that comes."""
    study = trees(tmp_path / "own.db", 0.5)
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1/measure")
    page.get_by_label("Plate", exact=True).select_option("Another size")
    page.get_by_label("Controls", exact=True).fill("DMSO column 9")
    layout = page.get_by_role("button", name="Show the layout first")
    layout.click()
    field = page.get_by_label("Controls", exact=True)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("must name a column from 1 to 6")).to_be_visible()
    field.fill("DMSO column 6\nblank A1:B1")
    page.get_by_label("Wells of one arm, at most").fill("3")
    layout.click()
    chart = page.get_by_role("region", name="Map of the planned plate 1")
    expect(chart.get_by_role("img", name="DMSO")).to_have_count(4)
    expect(chart.get_by_role("img", name="blank")).to_have_count(2)
    planned = chart.locator("tbody").inner_text()
    expect(page.get_by_text("no ticket exists yet. 6 arms, at most 3 wells each")).to_be_visible()
    assert study.open_tickets == []
    page.get_by_role("button", name="Ask for a plate").click()
    expect(
        page.get_by_text("18 measurements of 6 arms on plate 1. The map is below.")
    ).to_be_visible()
    asked = page.get_by_role("region", name="Map of plate 1")
    expect(asked).to_be_visible()
    assert asked.locator("tbody").inner_text() == planned
    assert len(study.open_tickets) == 18


def test_who_measures_is_asked_once(tmp_path, serve):
    study = trees(tmp_path / "own.db", 0.5)
    visitors = serve(tmp_path / "own.db")
    page = visitors.visit("#/studies/1/measure")
    page.get_by_label("Client").fill("anna")
    ask_for_a_plate(page)
    expect(page.get_by_text("on plate 1, for anna.")).to_be_visible()
    visitors.go(page, "#/studies/1/measure")
    page.reload()
    expect(page.get_by_text("You are anna.")).to_be_visible()
    expect(page.get_by_label("Client")).to_have_count(0)
    card = tell_card(page)
    card.get_by_label(PASTED).fill(sheet_of(study.open_tickets[:3]))
    card.get_by_role("button", name="Tell 3 rows").click()
    expect(card.get_by_text("Told. 3 accepted.")).to_be_visible()
    clients = [event.client for event in study.events() if event.kind == "measurement"]
    assert clients == ["anna"] * 3


def test_a_late_map_does_not_replace_a_newer_one(tmp_path, serve):
    """The answer about plate 1 is held back until plate 2 has been shown."""
    study = trees(tmp_path / "own.db", 0.5)
    for client in ("one", "two"):
        study.ask(client=client, plate=Plate(2, 3, {"DMSO": 1}))
    page = serve(tmp_path / "own.db").visit("#/studies/1/measure")
    held = []
    page.route("**/measure?plate=1", lambda route: held.append(route))  # noqa: PLW0108
    page.get_by_role("button", name="Plate 1", exact=True).click()
    wait_for(page, lambda: held)
    page.get_by_role("button", name="Plate 2", exact=True).click()
    expect(page.get_by_role("region", name="Map of plate 2")).to_be_visible()
    for route in held:
        with suppress(api.Error):  # the page does not wait for it any more
            route.fulfill(response=route.fetch())
    page.evaluate("async () => { await (await fetch('v1/studies/1/plates')).text(); }")
    assert page.get_by_role("region", name="Map of plate 1").count() == 0
    assert page.get_by_role("region", name="Map of plate 2").count() == 1
    expect(page.get_by_role("button", name="Plate 2", exact=True)).to_have_attribute(
        "aria-expanded", "true"
    )


# ---- news meanwhile


def test_a_previewed_sheet_stays_where_it_is(tmp_path, serve):
    """Somebody tells a value every 300 ms: no scrolling, no second upload, no lost click."""
    study = trees(tmp_path / "own.db", 0.05)
    sheet = sheet_of(study.ask(400, client="anna"))
    page = serve(tmp_path / "own.db").visit("#/studies/1/measure")
    card, previews = tell_card(page), sent_to(page, "/preview")
    card.get_by_label(PASTED).fill(sheet)
    expect(card.get_by_text("400 rows previewed, nothing written yet.")).to_be_visible()
    box = card.get_by_role("table", name="Rows and what becomes of them")
    box.evaluate("(box) => { box.scrollTop = 6000; box.marked = true; }")
    loads = sent_to(page, "/measure")
    with busy_study(study, MEANS) as number:
        wait_for(page, lambda: number() >= 6 and len(loads) >= 3)
        assert box.evaluate("(box) => [box.scrollTop, box.marked]") == [6000, True]
        assert len(previews) == 1
        expect(card.get_by_text("The study has moved on since.")).to_be_visible()
        card.get_by_role("button", name="Check again").click()
        wait_for(page, lambda: len(previews) == 2)
        expect(card.get_by_role("button", name="Tell 400 rows")).to_be_enabled()
        assert box.evaluate("(box) => [box.scrollTop, box.marked]") == [6000, True]
        card.get_by_role("button", name="400 accepted").click()  # clicks work once
        expect(card.get_by_role("button", name="400 accepted")).to_have_attribute(
            "aria-pressed", "true"
        )
        card.get_by_role("button", name="Tell 400 rows").click()
        expect(card.get_by_text("Told. 400 accepted.")).to_be_visible()
        expect(card.get_by_text("The study has moved on since.")).to_have_count(0)
    values = {event.ticket: event.value for event in study.events() if event.kind == "measurement"}
    assert len(values) == 400 + number()


FOCUSED = "() => document.activeElement.textContent.trim()"


def test_the_list_of_plates_stays_while_others_measure(tmp_path, serve):
    """Focus stays on a plate, the older ones stay open, and a link saves its file at once."""
    study = trees(tmp_path / "own.db", 0.05)
    for i in range(12):
        told(study, study.ask(client=f"robot {i}", plate=Plate(2, 3)), MEANS)
    study.ask(client="anna", plate=Plate(2, 3))
    page = serve(tmp_path / "own.db").visit("#/studies/1/measure")
    page.get_by_role("button", name="5 older plates").click()
    first = page.get_by_role("button", name="Plate 1", exact=True)
    first.focus()
    loads = sent_to(page, "/measure")
    with busy_study(study, MEANS) as number:
        wait_for(page, lambda: number() >= 6 and len(loads) >= 3)
        assert page.evaluate(FOCUSED) == "Plate 1"
        expect(first).to_be_visible()
        expect(page.get_by_role("button", name="Fewer plates")).to_be_visible()
        first.press("Enter")
        chart = page.get_by_role("region", name="Map of plate 1")
        expect(chart).to_be_visible()
        page.get_by_role("button", name="Values", exact=True).focus()
        before = number()
        wait_for(page, lambda: number() >= before + 5)
        assert page.evaluate(FOCUSED) == "Values"
        page.get_by_role("button", name="Plate 13", exact=True).click()
        expect(page.get_by_role("region", name="Map of plate 13")).to_be_visible()
        link = page.locator(".map-box").get_by_role("link", name="CSV")
        rows = saved(page, link).read_text(encoding="utf-8-sig").splitlines()
        assert len(rows) == 7
    # one request for each load, whatever the page shows
    assert {sent.url.split("/")[-1] for sent in loads} == {
        "measure",
        "measure?plate=1",
        "measure?plate=13",
    }


def test_sheets_survive_reload_and_back(tmp_path, serve):
    study = trees(tmp_path / "own.db", 0.5)
    tickets = study.ask(4)
    visitors = serve(tmp_path / "own.db")
    page = visitors.visit("#/studies/1/measure")
    card = tell_card(page)
    card.get_by_label(PASTED).fill(sheet_of(tickets[:2]))
    box = page.get_by_label(f"Value of {tickets[3].id}, {tickets[3].arm}")
    box.fill("4.5")
    expect(card.get_by_role("button", name="Tell 2 rows")).to_be_enabled()
    page.reload()
    expect(card.get_by_role("button", name="Tell 2 rows")).to_be_enabled()
    expect(card.get_by_label(PASTED)).to_have_value(sheet_of(tickets[:2]))
    expect(box).to_have_value("4.5")
    page.goto(f"{visitors.address}/#/")
    expect(page.get_by_role("heading", name="Studies", level=1)).to_be_visible()
    page.go_back()
    expect(card.get_by_role("button", name="Tell 2 rows")).to_be_enabled()
    card.get_by_role("button", name="Tell 2 rows").click()
    card.get_by_role("button", name="Next sheet").click()
    expect(card.get_by_label(PASTED)).to_have_value("")
    page.get_by_role("button", name="Preview what is typed").click()
    card.get_by_role("button", name="Tell 1 row").click()
    expect(card.get_by_text("Told. 1 accepted.")).to_be_visible()
    assert study.status().measurements == 3


def grid_of(plate, tickets, value, controls):
    """What a plate reader writes: ``value(ticket)`` in the wells of tickets, and controls."""
    wells = {ticket.well: value(ticket) for ticket in tickets} | controls
    lines = ["\t".join(["", *map(str, range(1, plate.columns + 1))])]
    for row in "ABCDEFGHIJKLMNOP"[: plate.rows]:
        cells = [wells.get(f"{row}{j}", "") for j in range(1, plate.columns + 1)]
        lines.append("\t".join([row, *map(str, cells)]))
    return "\n".join(lines)


def test_a_plate_is_checked_before_it_is_told(tmp_path, serve, script):
    """Z', the edge and a heat map in the preview; the same of a plate that was told."""
    study = trees(tmp_path / "own.db", 0.05)
    plate = Plate(8, 12, {"low": ["A1", "B1", "C1"], "high": ["A12", "B12", "C12"]})
    tickets = study.ask(client="anna", plate=plate)
    controls = dict(zip(("A1", "B1", "C1", "A12", "B12", "C12"), (0, 1, 2, 5, 6, 7), strict=True))

    def tilted(ticket):
        return f"{reading(ticket, MEANS) + 5.0 * (ticket.well[0] in 'AH'):.3f}"

    page = serve(tmp_path / "own.db").visit("#/studies/1/measure")
    card = tell_card(page)
    page.get_by_role("button", name="Tell its grid: plate 1").click()
    card.get_by_label(PASTED).fill(grid_of(plate, tickets, tilted, controls))
    check = card.get_by_role("group", name="Check of plate 1 as it would be")
    expect(check.get_by_text("Z' is")).to_be_visible()
    expect(check.get_by_text("wells at the edge")).to_be_visible()
    assert study.status().measurements == 0
    check.get_by_text("Heat maps").click()
    chart = check.get_by_role("region", name="Map of plate 1 as it would be")
    expect(chart.locator("td.heat")).to_have_count(96)
    check.get_by_role("button", name="Residuals").click()
    expect(chart.locator("td.warm").first).to_be_visible()
    expect(chart.locator("td.cold").first).to_be_visible()
    assert hurdles(page, script) == []
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(WIDTH) <= 360
    assert hurdles(page, script) == []
    card.get_by_role("button", name=re.compile(r"Tell \d+ rows")).click()
    expect(card.get_by_text("Told.")).to_be_visible()
    page.get_by_role("button", name="Plate 1", exact=True).click()
    expect(page.locator(".map-box").get_by_text("Z' is")).to_be_visible()
    page.locator(".map-box").get_by_role("button", name="Residuals").click()
    chart = page.get_by_role("region", name="Map of plate 1", exact=True)
    expect(chart.locator("td.warm").first).to_be_visible()
    assert hurdles(page, script) == []


def test_wells_and_plates_are_withdrawn_and_replaced(tmp_path, serve):
    """Chosen wells, then the whole plate by another file; the box says what it does."""
    study = trees(tmp_path / "own.db", 0.05)
    plate = Plate(4, 6, {"DMSO": ["A1", "A2"]})
    tickets = study.ask(client="anna", plate=plate)
    told(study, tickets, MEANS)
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1/measure")
    page.get_by_role("button", name="Plate 1", exact=True).click()
    chart, bar = page.get_by_role("region", name="Map of plate 1"), page.locator(".map-bar").first
    bar.get_by_role("button", name="Choose wells").click()
    wells = [ticket.well for ticket in tickets[:2]]
    for well in wells:
        chart.get_by_role("button", name=f"{well}, ").click()
    expect(bar.get_by_role("button", name="2 wells chosen")).to_be_visible()
    bar.get_by_role("button", name="Withdraw").click()
    box = page.get_by_role("dialog")
    expect(box.get_by_role("heading", name="Withdraw 2 wells of plate 1")).to_be_visible()
    expect(box.get_by_text("voids it")).to_be_visible()
    box.get_by_label("Why it was chosen").select_option("cause")
    box.get_by_label("Reason").fill("air bubbles")
    box.get_by_role("button", name="Withdraw").click()
    expect(box).to_have_count(0)
    expect(chart.locator("td.is-withdrawn")).to_have_count(2)
    expect(page.get_by_text("20 told, 2 withdrawn, anna")).to_be_visible()
    assert study.status().measurements == 20
    # the reader's files were swapped: all values again, from the right one
    right = {ticket.well: 1.5 for ticket in tickets}
    bar.get_by_role("button", name="Replace").click()
    card = tell_card(page)
    card.get_by_label(PASTED).fill(grid_of(plate, [], None, right))
    expect(card.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    card.get_by_label("Reason").fill("swapped files")
    expect(card.get_by_role("button", name="22 corrected")).to_be_visible()
    card.get_by_role("button", name="Replace 22 rows").click()
    expect(card.get_by_text("Told. 22 corrected")).to_be_visible()
    replaced = [event for event in study.events() if event.kind == "replaced"]
    assert [event.note for event in replaced] == ["swapped files"]
    assert {arm.mean for arm in study.status().arms} == {1.5}


SHORT = """async ([names, most]) => {
  const { shortNames } = await import("/static/lib/plate.js");
  const { prefix, short } = shortNames(names, most);
  return [prefix, names.map((name) => short.get(name))];
}"""


@pytest.mark.parametrize(
    ("names", "prefix", "short"),
    [
        (["ash", "birch"], "", ["ash", "birch"]),
        (["CPD-000123", "CPD-000124"], "CPD-", ["000123", "000124"]),
        (["methyl-a-propyl", "methyl-b-propyl"], "methyl-", ["a-p…pyl", "b-p…pyl"]),
        (["xxxxxaxxxxxxx", "xxxxxbxxxxxxx", "y"], "", ["xxxxxaxxxxxxx", "xxxxxbxxxxxxx", "y"]),
        (["\u00e9t\u00e9-long-name-1", "other"], "", ["\u00e9t\u00e9-long-name-1", "other"]),
    ],
)
def test_names_are_cut_so_that_they_differ(tmp_path, serve, names, prefix, short):
    page = serve(tmp_path / "own.db").visit("#/")
    assert page.evaluate(SHORT, [names, 7]) == [prefix, short]
    assert len(set(short)) == len(names)


def dropped(zone, name, text):
    """Drop a file on a part of the page."""
    zone.evaluate(
        """(zone, [name, text]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([text], name, { type: "text/csv" }));
          for (const kind of ["dragover", "drop"])
            zone.dispatchEvent(new DragEvent(kind, { dataTransfer, cancelable: true }));
        }""",
        [name, text],
    )


def test_counts_pasted_and_dropped(tmp_path, serve):
    """A table in the wrong place, the same day again, and a number that changed."""
    study = create_study(
        tmp_path / "own.db",
        "buttons",
        arms=["red", "green, big"],
        objective=Additive(0.01),
        delta=0.05,
        model=Bernoulli(),
    )
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1/measure")
    table = 'Variant;Visitors;Conversions\nred;1000;80\n"green, big";900;95\nblue;1;1\n'
    card = tell_card(page)
    card.get_by_label(PASTED).fill(table)
    card.get_by_role("button", name="Tell it as counts").click()
    expect(card.get_by_label("Source")).to_have_attribute("aria-invalid", "true")
    card.get_by_label("Source").fill("web log")
    card.get_by_label("Period").fill("Monday")
    expect(card.get_by_text("arm must be one of the study's: got 'blue'").first).to_be_visible()
    expect(card.get_by_text("'variant' as 'arm', 'visitors' as 'n'")).to_be_visible()
    assert study.status().measurements == 0
    card.get_by_role("button", name="Tell 2 rows").click()
    expect(card.get_by_text("Told. 2 accepted and 1 invalid.")).to_be_visible()
    assert study.status().measurements == 1900
    card.get_by_role("button", name="Next sheet").click()
    changed = 'arm,n,mean\nred,1000,0.08\n"green, big",900,0.1\n'
    dropped(card.locator(".drop-zone"), "again.csv", changed)
    expect(card.get_by_text("again.csv")).to_be_visible()
    expect(card.get_by_role("button", name="Nothing to tell")).to_be_disabled()
    expect(card.get_by_role("button", name="1 conflict")).to_be_visible()
    box_of(page, "Replace the numbers told before", Reason="late conversions")
    expect(card.get_by_text("Told. 1 corrected and 1 duplicate.")).to_be_visible()
    means = {arm.arm: arm.mean for arm in study.status().arms}
    assert means == pytest.approx({"red": 0.08, "green, big": 0.1})


def test_commas_words_and_the_grid_of_a_reader(tmp_path, serve):
    study = trees(tmp_path / "own.db", 0.5)
    tickets = study.ask(client="reader", plate=Plate(8, 12, {"DMSO": 8}))
    visitors = serve(tmp_path / "own.db")
    visitors.expected = "status of 422"
    page = visitors.visit("#/studies/1/measure")
    card, failures = tell_card(page), []
    page.on("request", lambda sent: failures.append(sent) if sent.url.endswith("/fail") else None)
    text = card.get_by_label(PASTED)
    values = {ticket.id: f"{reading(ticket, MEANS):.3f}" for ticket in tickets}
    some = [(ticket.id, values[ticket.id].replace(".", ",")) for ticket in tickets[:4]]
    words = zip((ticket.id for ticket in tickets[4:7]), ("n/a", "#DIV/0!", ""), strict=True)
    text.fill("ticket\tvalue\n" + "".join(f"{id}\t{value}\n" for id, value in (*some, *words)))
    expect(card.get_by_text("is it a decimal comma? (4 rows)")).to_be_visible()  # not four times
    card.get_by_role("button", name="They are decimal commas").click()
    card.get_by_role("button", name="Tell 4 rows").click()
    expect(card.get_by_text("Told. 4 accepted and 3 missing.")).to_be_visible()
    box_of(page, "Report 3 missing values as failed", Reason="spilled")
    expect(card.get_by_text("Reported as failed.").first).to_be_visible()
    assert len(failures) == 1
    assert study.status().failed == 3
    # What a plate reader writes, without a word on what it is.
    wells = {ticket.well: values[ticket.id] for ticket in tickets}
    grid = ["\t".join(["", *map(str, range(1, 13))])]
    for row in "ABCDEFGH":
        grid.append("\t".join([row, *(wells.get(f"{row}{j}", "0.5") for j in range(1, 13))]))
    card.get_by_role("button", name="Next sheet").click()
    card.get_by_label("Decimals").select_option(".")
    text.fill("\n".join(grid))
    card.get_by_role("button", name="It is the grid of plate 1").click()
    for what in ("81 accepted", "8 control", "4 duplicate", "3 conflict"):
        expect(card.get_by_role("button", name=what)).to_be_visible()
    card.get_by_role("button", name="Tell 89 rows").click()
    expect(
        card.get_by_text("Told. 81 accepted, 4 duplicate, 3 conflict and 8 control.")
    ).to_be_visible()
    assert study.status().measurements == 85


EDITED = """async (text, value) => {
  text.value = value;
  text.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((go) => setTimeout(go, 0)); // drawn before anybody can click
  return [...document.querySelectorAll("button.primary")].some(
    (button) => button.textContent.startsWith("Tell ") && !button.hidden && !button.disabled
  );
}"""


def test_nothing_is_told_that_was_not_previewed(tmp_path, serve):
    """What was changed cannot be told before it is previewed again."""
    study = trees(tmp_path / "own.db", 0.5)
    one, other = study.ask(2)
    page = serve(tmp_path / "own.db").visit("#/studies/1/measure")
    card = tell_card(page)
    text = card.get_by_label(PASTED)
    button = card.get_by_role("button", name="Tell 1 row")
    text.fill(f"ticket,value\n{one.id},1.0\n")
    expect(button).to_be_enabled()
    assert text.evaluate(EDITED, f"ticket,value\n{one.id},1.5\n") is False
    expect(button).to_be_enabled()
    card.locator("summary", has_text="How the sheet is written").click()
    for decimals in (",", "."):
        card.get_by_label("Decimals").select_option(decimals)
    expect(button).to_be_enabled()
    button.click()
    expect(card.get_by_text("Told. 1 accepted.")).to_be_visible()
    assert [event.value for event in study.events() if event.kind == "measurement"] == [1.5]
    # A value that is being typed is left alone when there is news.
    box = page.get_by_label(f"Value of {other.id}, {other.arm}")
    box.fill("12")
    box.press("Home")
    third = study.ask(1)[0]
    expect(page.get_by_label(f"Value of {third.id}, {third.arm}")).to_be_visible()
    box.press("9")
    study.tell([(third, reading(third, MEANS))])
    expect(page.get_by_label(f"Value of {third.id}, {third.arm}")).to_have_count(0)
    page.keyboard.press("8")
    expect(box).to_have_value("9812")
    # Its sheet has no ticket of a plate.
    study.ask(plate=Plate(2, 3, {"DMSO": 1}))
    expect(page.get_by_role("link", name="CSV").last).to_be_visible()
    sheet = saved(page, page.get_by_role("link", name="CSV").last).read_text(encoding="utf-8-sig")
    assert [row["ticket"] for row in csv.DictReader(sheet.splitlines())] == [other.id]
