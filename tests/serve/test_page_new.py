"""The form of a new study in a real browser: its words and checks are those of the server."""

import re

import pytest

from allgood import load_study

from ..support.browser import Visitors, axe, browser, hurdles
from ..support.server_thread import serving

api = pytest.importorskip("playwright.sync_api")
expect = api.expect
ARMS = ["ash", "birch", "cedar", "elm", "fir", "oak"]


@pytest.fixture(scope="module")
def chromium():
    with browser() as chromium:
        yield chromium


@pytest.fixture
def form(chromium, tmp_path):
    """A visitor at the form, and the database of the server."""
    path = tmp_path / "own.db"
    with serving(path) as address, Visitors(chromium, address) as visitors:
        visitors.expected = "status of 422"  # wrong forms are sent, and refused
        yield visitors, visitors.visit("#/new"), path


def label(page, name):
    return page.get_by_label(name, exact=True)


def begin(page):
    page.get_by_role("button", name="Begin the study").click()


def error_at(page, name):
    """The sentence at a field, which screen readers say with it."""
    field = label(page, name)
    expect(field).to_have_attribute("aria-invalid", "true")
    described = field.get_attribute("aria-describedby").split()
    return page.locator(f"#{described[-1]}")


def test_what_is_wrong_is_said_at_its_field(form):
    _, page, path = form
    begin(page)
    expect(error_at(page, "Arms")).to_contain_text("arms must have at least 1 entries")
    expect(error_at(page, "Epsilon")).to_contain_text("epsilon must be a number: got None.")
    label(page, "Name").fill("trees")
    label(page, "Arms").fill("\n".join([*ARMS, "oak"]))
    expect(page.get_by_text("1 name stands there more than once: oak.")).to_be_visible()
    label(page, "Epsilon").fill("2,5")
    label(page, "Sigma, the noise").fill("1")
    begin(page)
    expect(error_at(page, "Epsilon")).to_contain_text("Write a point, not a comma")
    label(page, "Epsilon").fill("-2")
    begin(page)
    expect(error_at(page, "Epsilon")).to_contain_text("must be positive: got -2.")
    expect(label(page, "Epsilon")).to_be_focused()
    label(page, "Epsilon").fill("2")
    begin(page)
    expect(error_at(page, "Arms")).to_contain_text("got 'oak' more than once")
    page.get_by_role("button", name="Remove the repeats").click()
    begin(page)
    expect(page.get_by_role("heading", name="trees", level=1)).to_be_visible()
    assert list(load_study(path, "trees").design.arms) == ARMS


def test_the_estimate_follows_what_is_typed(form):
    _, page, _ = form
    label(page, "Arms").fill(", ".join(ARMS))
    expect(page.get_by_text("6 arms", exact=True)).to_be_visible()
    label(page, "Epsilon").fill("2")
    label(page, "Sigma, the noise").fill("1")
    aside = page.get_by_role("complementary")
    expect(aside.get_by_text(re.compile(r"^About [\d,]+ measurements$"))).to_be_visible()
    label(page, "Budget").fill("7")
    by_then = r"By 7 measurements about \d of 6 labels are certified .* about \d right"
    expect(aside.get_by_text(re.compile(by_then))).to_be_visible()
    label(page, "Budget").fill("")
    expect(aside.get_by_text(re.compile(r"^About [\d,]+ measurements$"))).to_be_visible()
    expect(aside.get_by_text("until you")).to_have_count(0)  # no number is an example's
    expect(aside.get_by_role("img")).to_be_visible()


def test_the_form_survives_reload_and_back(form):
    visitors, page, _ = form
    label(page, "Name").fill("half-made")
    label(page, "Arms").fill("a\nb")
    label(page, "Model of one measurement").select_option("bounded")
    label(page, "Highest value").fill("5")
    page.reload()
    visitors.ready(page)
    expect(label(page, "Name")).to_have_value("half-made")
    expect(label(page, "Highest value")).to_have_value("5")
    page.get_by_role("link", name="Studies", exact=True).first.click()
    expect(page.get_by_text("No study yet")).to_be_visible()
    page.go_back()
    expect(label(page, "Arms")).to_have_value("a\nb")


def test_every_option_of_a_design_has_its_field(form):
    """A setting that is added to the design appears by itself, with the server's words."""
    _, page, _ = form
    words = page.evaluate("fetch('v1/vocabulary').then((answer) => answer.json())")
    page.get_by_text("More settings").click()
    hidden = {"low", "high"}  # parameters of another model
    for name, option in words["options"].items():
        if name not in hidden:
            expect(page.get_by_text(option["label"], exact=True).first).to_be_visible()
    assert hurdles(page, axe()) == []
