"""Explore in a real browser: instances, their bounds, and simulated runs."""

import pytest

from allgood import Additive, Instance, lower_bounds

from ..support.browser import Visitors, axe, browser, hurdles
from ..support.server_thread import serving

api = pytest.importorskip("playwright.sync_api")
expect = api.expect


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("explore") / "own.db"
    with (
        browser() as chromium,
        serving(path) as address,
        Visitors(chromium, address) as visitors,
    ):
        visitors.expected = "status of 422"  # wrong numbers are sent, and refused
        yield visitors.visit("#/explore")


def label(page, name):
    return page.get_by_label(name, exact=True)


def test_figures_are_those_of_the_package_and_wrong_input_is_named(page):
    label(page, "Example").select_option(label="The paper's first instance")
    instance = Instance("paper", [1.0, 1.0, 1.0, 1.0, 0.05], Additive(0.9))
    bound = lower_bounds(instance.means, instance.objective, 0.1).asymptotic
    row = page.get_by_role("row").filter(has_text="T* kl(")
    expect(row).to_contain_text(f"{bound:,.0f}")
    old = page.get_by_text("The results are those of the last input that was right.")
    expect(old).to_have_count(0)
    for name, text, right, sentence in [
        ("ε, epsilon", "-1", "0.9", "must be positive: got -1."),
        ("δ, risk", "", "0.1", "delta must be a number"),
        ("Standard deviation", "0", "1", "must be positive: got 0."),
        ("Means", "1, one", "1, 1, 1, 1, 0.05", "must be a number: got 'one'."),
    ]:
        label(page, name).fill(text)
        expect(page.get_by_text(sentence)).to_be_visible()
        expect(label(page, name)).to_have_attribute("aria-invalid", "true")
        expect(old).to_be_visible()
        expect(row).to_contain_text(f"{bound:,.0f}")
        label(page, name).fill(right)
        expect(old).to_have_count(0)
    assert page.locator("[aria-invalid=true]").count() == 0


def test_an_arm_is_moved_by_the_keyboard_and_the_pointer(page):
    label(page, "Example").select_option(label="Six arms")
    second = page.get_by_role("slider", name="Mean of arm 1")
    expect(second).to_have_attribute("aria-valuenow", "0.8")
    second.focus()
    second.press("ArrowRight")
    expect(second).to_have_attribute("aria-valuenow", "0.81")
    expect(label(page, "Means")).to_have_value("1, 0.81, 0.55, 0.5, 0.3, 0.1")
    expect(second).to_be_focused()
    shape = second.locator(".shape")
    box = shape.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"], steps=4)
    page.mouse.up()
    expect(second).not_to_have_attribute("aria-valuenow", "0.81")
    assert float(second.get_attribute("aria-valuenow")) < 0.81


def test_a_run_is_played(page):
    label(page, "Example").select_option(label="Six arms")
    assert hurdles(page, axe()) == []
    page.get_by_role("button", name="Run it").click()
    page.get_by_label("Place in the run").press("End")
    readout = page.locator(".readout")
    expect(readout).to_contain_text("0 open")
    expect(readout).to_contain_text("All labels are certified, and none is wrong.")
    page.get_by_role("button", name="Back to the means").click()
    expect(page.get_by_role("button", name="Run it")).to_be_visible()
    expect(readout).to_have_count(0)
