# ruff: noqa: E501 - lines of scripts for the browser
"""The renderer of the page, in a real browser: what it draws, and what it leaves alone."""

import pytest

from ..support.browser import Visitors, browser
from ..support.server_thread import serving

PRELUDE = """async (argument) => {
  const view = await import("/static/lib/view.js");
  const { html } = await import("/static/lib/html.js");
  const { h, render, useState, useEffect, useRef, useMemo, Fragment } = view;
  const place = document.createElement("div");
  document.body.append(place);
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  try { %s } finally { render(null, place); place.remove(); }
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with (
        browser() as chromium,
        serving(tmp_path_factory.mktemp("view") / "own.db") as address,
        Visitors(chromium, address) as visitors,
    ):
        yield visitors.visit()


@pytest.fixture
def run(page):
    """``run(script)`` gives what a script returns that has the renderer and a place to draw in."""
    return lambda script, argument=None: page.evaluate(PRELUDE % script, argument)


@pytest.mark.parametrize(
    ("markup", "drawn"),
    [
        ("html`<p>Hello</p>`", "<p>Hello</p>"),
        ("html`<p class=${'a'} hidden>x</p>`", '<p class="a" hidden="">x</p>'),
        ('html`<p class="a ${1} b">x</p>`', '<p class="a 1 b">x</p>'),
        ("html`<p ...${{ id: 'i', title: null }}>x</p>`", '<p id="i">x</p>'),
        ("html`<br />and<br/>`", "<br>and<br>"),
        ("html`<p>\n   two\n   lines\n</p>`", "<p>two lines</p>"),
        ("html`<p>${1} of ${2}</p>`", "<p>1 of 2</p>"),
        ("html`<p>${null}${false}${true}${undefined}${0}</p>`", "<p>0</p>"),
        ("html`<ul>${[1, 2].map((x) => html`<li>${x}</li>`)}</ul>`", "<ul><li>1</li><li>2</li></ul>"),
        ("html`<p>${'<b>bold</b> &amp;'}</p>`", "<p>&lt;b&gt;bold&lt;/b&gt; &amp;amp;</p>"),
        ("html`<p title=${'\" x=1'}></p>`", '<p title="&quot; x=1"></p>'),
        ("html`<${({ x, children }) => html`<b id=${x}>${children}</b>`} x=${1}>in<//>`", '<b id="1">in</b>'),
        ("html`<${Fragment}><i>a</i><i>b</i></${Fragment}>`", "<i>a</i><i>b</i>"),
        ("html`<a href=${'#/x'}>a > b</a>`", '<a href="#/x">a &gt; b</a>'),
        ("html`<p aria-busy=${false} data-x=${true}>x</p>`", '<p data-x="">x</p>'),
    ],
)  # fmt: skip
def test_markup_becomes_elements(run, markup, drawn):
    assert run(f"render({markup}, place); return place.innerHTML;") == drawn


def test_a_template_that_is_not_closed_is_an_error(run):
    said = "try { html`<p><b>x</p>` } catch (error) { return `${error.name}: ${error.message}`; }"
    assert run(said).startswith("SyntaxError: This template has an element that is not closed")


def test_svg_is_drawn_as_svg(run):
    script = """
      render(html`<svg viewBox="0 0 1 1"><g><circle r=${2} /></g>
        <foreignObject><p>x</p></foreignObject></svg>`, place);
      return [...place.querySelectorAll("*")].map((e) => e.namespaceURI.split("/").at(-1));"""
    assert run(script) == ["svg", "svg", "svg", "svg", "xhtml"]


def test_elements_stay_when_their_content_changes(run):
    script = """
      const draw = (n) => render(html`<div><p class=${n}>${n}</p><input value=${n} /></div>`, place);
      draw(1);
      const [p, input] = place.firstChild.children;
      draw(2);
      return [p === place.querySelector("p"), p.className, p.textContent, input.value,
              input === place.querySelector("input")];"""
    assert run(script) == [True, "2", "2", "2", True]


def test_holes_keep_the_places_of_their_neighbours(run):
    script = """
      const draw = (first) => render(html`
        ${first && html`<section>first</section>`}<section><input /></section>`, place);
      draw(false);
      const input = place.querySelector("input");
      input.focus();
      draw(true);
      const kept = document.activeElement === input && place.children.length === 2;
      draw(false);
      return [kept, document.activeElement === input, place.innerHTML];"""
    assert run(script) == [True, True, "<section><input></section>"]


ORDERS = [
    ([1, 2, 3], [3, 1, 2]),
    ([1, 2, 3, 4, 5], [2, 3, 4, 5, 1]),
    ([1, 2, 3, 4], [4, 3, 2, 1]),
    ([1, 2, 3], [7, 1, 8, 3, 9]),
    ([], [1, 2]),
    ([1, 2], []),
    ([5, 6, 7], [6]),
    ([1, 1, 2], [2, 1, 1]),
]


@pytest.mark.parametrize(("before", "after"), ORDERS)
def test_keyed_elements_are_moved_and_not_made_again(run, before, after):
    script = """
      const draw = (keys) => render(html`<ol>${keys.map((k) => html`<li key=${k}>${k}</li>`)}</ol>`,
                                    place);
      const items = () => [...place.querySelectorAll("li")];
      const [before, after] = argument;
      draw(before);
      const old = new Map(items().map((item) => [item.textContent, item]));
      draw(after);
      const same = new Set(before).size !== before.length
        || items().every((item) => old.get(item.textContent) === item || !before.includes(+item.textContent));
      return [items().map((item) => +item.textContent), same];"""
    assert run(script, [before, after]) == [after, True]


def test_focus_selection_scroll_and_open_details_survive_a_change_of_order(run):
    script = """
      const item = (k) => html`<li key=${k}><input value="some text" /><details><summary>s</summary>d
        </details><div style=${{ height: "20px", overflow: "auto" }}><p style=${{ height: "90px" }} />
        </div></li>`;
      const draw = (keys) => render(html`<ol>${keys.map(item)}</ol>`, place);
      draw([1, 2, 3, 4]);
      const third = place.querySelectorAll("li")[2];
      const [input, details, box] = third.children;
      input.focus();
      input.setSelectionRange(2, 5);
      details.open = true;
      box.scrollTop = 30;
      const states = () => [document.activeElement === input, input.selectionStart,
                            input.selectionEnd, details.open, box.scrollTop];
      const found = [];
      for (const keys of [[9, 1, 2, 3, 4], [3, 4], [4, 3], [8, 3, 1]]) { draw(keys); found.push(states()); }
      return found;"""
    assert run(script) == [[True, 2, 5, True, 30]] * 4


def test_a_half_made_click_is_not_lost(page, run):
    script = """
      window.clicks = 0;
      const draw = (n) => render(html`${n % 2 ? html`<p>news</p>` : null}
        <button id="pressed" onclick=${() => { window.clicks += 1; }}>Press ${n}</button>`, held);
      const held = document.createElement("div");
      document.body.prepend(held);
      draw(0);
      window.redraw = draw;
      window.held = held;"""
    run(script)
    box = page.locator("#pressed").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    page.mouse.down()
    page.evaluate("window.redraw(2)")
    page.mouse.up()
    assert page.evaluate("window.clicks") == 1
    page.evaluate("window.held.remove()")


def test_state_is_kept_and_changes_are_drawn_once(run):
    script = """
      let drawn = 0, set;
      const Counter = ({ step }) => {
        const [n, setN] = useState(0);
        set = setN;
        drawn += 1;
        return html`<b>${n * step}</b>`;
      };
      render(html`<${Counter} step=${1} />`, place);
      set((n) => n + 1); set((n) => n + 1); set(2);
      await settled();
      const after = [place.innerHTML, drawn];
      set(2);
      await settled();
      render(html`<${Counter} step=${10} />`, place);
      return [...after, drawn, place.innerHTML];"""
    assert run(script) == ["<b>2</b>", 2, 3, "<b>20</b>"]


def test_a_component_draws_only_itself_again(run):
    script = """
      const drawn = { outer: 0, inner: 0 };
      let set;
      const Inner = () => { const [n, setN] = useState(0); set = setN; drawn.inner += 1; return n ? [html`<i>1</i>`, html`<i>2</i>`] : null; };
      const Outer = () => { drawn.outer += 1; return html`<p>a<${Inner} />b</p>`; };
      render(html`<${Outer} />`, place);
      set(1);
      await settled();
      return [drawn, place.innerHTML];"""
    assert run(script) == [{"outer": 1, "inner": 2}, "<p>a<i>1</i><i>2</i>b</p>"]


def test_effects_run_when_their_inputs_change_and_are_cleaned_up(run):
    script = """
      const log = [];
      const Watcher = ({ x, y }) => {
        const ref = useRef();
        const twice = useMemo(() => { log.push("memo"); return 2 * x; }, [x]);
        useEffect(() => { log.push(`${ref.current.localName} ${twice}`); return () => log.push(`end ${twice}`); }, [x]);
        return html`<p ref=${ref}>${y}</p>`;
      };
      const draw = (x, y) => render(x && html`<${Watcher} x=${x} y=${y} />`, place);
      draw(1, 1); draw(1, 2); draw(3, 2); draw(null);
      return log;"""
    assert run(script) == ["memo", "p 2", "memo", "end 2", "p 6", "end 6"]


def test_what_a_component_throws_is_reported_once(run):
    script = """
      const found = [];
      const before = view.options.onError;
      view.options.onError = (error) => found.push(error.message);
      const Bad = ({ x }) => { useEffect(() => { if (x === 2) throw new Error("effect"); }, [x]); if (x === 1) throw new Error("drawing"); return "fine"; };
      render(html`<${Bad} x=${0} />`, place);
      render(html`<${Bad} x=${1} />`, place);
      render(html`<${Bad} x=${2} />`, place);
      view.options.onError = before;
      return found;"""
    assert run(script) == ["drawing", "effect"]


def test_inputs_follow_their_value_and_leave_the_cursor(run):
    script = """
      const Form = () => { const [text, setText] = useState("ab");
        return html`<input value=${text} oninput=${(e) => setText(e.target.value.toUpperCase())} />
          <select value=${text.length > 2 ? "long" : "short"}><option value="short">s</option>
          <option value="long">l</option></select>
          <input type="checkbox" checked=${text === "ABC"} />`; };
      render(html`<${Form} />`, place);
      const [input, select, box] = place.children;
      input.value = "abc";
      input.dispatchEvent(new Event("input"));
      await settled();
      return [input.value, select.value, box.checked];"""
    assert run(script) == ["ABC", "long", True]
