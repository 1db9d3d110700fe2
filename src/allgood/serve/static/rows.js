// A long table of which only the rows in view are drawn.
import { h, PRINTED, replace, unprinted, whenPrinted } from "./dom.js";

const AHEAD = 8; // rows drawn above and below the view
const small = matchMedia("(max-width: 700px)");

// rowsBox({label: "Events", kind: "history", columns: ["When", "What"], wide: 40, narrow: 72, draw,
// signal}) gives
// {element, set(n), refresh(), first()}. draw(i) gives the contents of the cells of row i, or null
// while they are not
// known; a cell may be {class, content}. wide and narrow are the heights of a row in pixels on wide
// and narrow screens.
// onview(first, last), if given, is told which rows are drawn.
export function rowsBox({ label, kind, columns, wide = 40, narrow = 72, draw, onview, signal }) {
  let n = 0,
    height = small.matches ? narrow : wide,
    frame = 0,
    printing = false;
  const shown = new Map(); // number of a row -> its element
  const rows = h("div", { class: "vrows-all", role: "rowgroup" });
  const head = h(
    "div",
    { class: "vrow vhead", role: "row", "aria-rowindex": 1 },
    columns.map((name, j) => h("span", { role: "columnheader", class: `c${j}` }, name)),
  );
  const element = h(
    "div",
    { class: `vrows ${kind}`, role: "table", "aria-label": label, tabindex: 0 },
    h("div", { role: "rowgroup", class: "vrows-head" }, head),
    rows,
  );

  function row(i) {
    const cells = draw(i);
    const parts = columns.map((_, j) => {
      const cell = cells?.[j];
      const named = cell !== null && typeof cell === "object" && "content" in cell;
      return h(
        "span",
        { role: "cell", class: `c${j} ${(named && cell.class) || ""}` },
        named ? cell.content : cell,
      );
    });
    return h(
      "div",
      {
        class: cells ? `vrow ${cells.class ?? ""}` : "vrow unknown",
        role: "row",
        "aria-rowindex": i + 2,
        vars: { "--top": `${i * height}px` },
      },
      parts,
    );
  }

  function view() {
    frame = 0;
    const [from, to] = printing
      ? [0, PRINTED]
      : [
          Math.floor(element.scrollTop / height) - AHEAD,
          Math.ceil((element.scrollTop + element.clientHeight) / height) + AHEAD,
        ];
    const first = Math.max(0, from),
      last = Math.min(n, to);
    for (const [i, old] of shown) {
      if ((i >= first && i < last) || old.contains(document.activeElement)) continue;
      old.remove();
      shown.delete(i);
    }
    for (let i = first; i < last; i++) {
      if (shown.has(i)) continue;
      const made = row(i);
      shown.set(i, made);
      let next = null; // keep the order of the rows for the keyboard and for readers
      for (let k = i + 1; k < i + 2 * AHEAD && !next; k++) next = shown.get(k) ?? null;
      rows.insertBefore(made, next);
    }
    onview?.(first, last);
  }
  const later = () => {
    frame ||= requestAnimationFrame(view);
  };

  function refresh() {
    height = small.matches ? narrow : wide;
    element.style.setProperty("--row", `${height}px`);
    rows.style.setProperty("--all", `${n * height}px`);
    element.setAttribute("aria-rowcount", n + 1);
    element.dataset.rest = unprinted(n);
    shown.clear();
    replace(rows);
    view();
  }
  element.addEventListener("scroll", later, { passive: true });
  const resized = new ResizeObserver(later);
  resized.observe(element);
  small.addEventListener("change", refresh);
  whenPrinted((is) => {
    printing = is;
    view();
  }, signal);
  signal?.addEventListener(
    "abort",
    () => {
      resized.disconnect();
      small.removeEventListener("change", refresh);
      cancelAnimationFrame(frame);
    },
    { once: true },
  );

  return {
    element,
    refresh,
    first: () => Math.floor(element.scrollTop / height),
    set(count) {
      n = count;
      refresh();
    },
    top() {
      element.scrollTop = 0;
    },
  };
}
