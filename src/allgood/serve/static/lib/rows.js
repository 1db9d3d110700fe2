// A long table of which only the rows in view are drawn.
import { useNarrow, usePrinting } from "./browser.js";
import { count as counted } from "./format.js";
import { html } from "./html.js";
import { useEffect, useRef, useState } from "./view.js";

const AHEAD = 8; // rows drawn above and below the view
const PRINTED = 5000; // on paper nobody scrolls: so many rows are drawn

/**
 * The rows that are drawn of a list of `count` rows, each `height` pixels high. keyOf(i) names row i;
 * ahead is the number of rows that are drawn above and below the view.
 * Returns {box, shown, first, last, props}: shown are the numbers of the drawn rows, first to last and
 * the row with the focus; props are for the box that scrolls, and box refers to it.
 * A row says its number in data-row. The focus stays in the box when its row disappears.
 */
export function useRows({ count, height, keyOf = (i) => i, ahead = AHEAD }) {
  const box = useRef();
  const printing = usePrinting();
  const [[top, end], setView] = useState([0, 10]); // the rows in view
  const [focused, setFocused] = useState(null); // the key of the row with the focus, which stays
  const look = () => {
    const { scrollTop, clientHeight } = box.current;
    const rows = [Math.floor(scrollTop / height), Math.ceil((scrollTop + clientHeight) / height)];
    setView((old) => (old[0] === rows[0] && old[1] === rows[1] ? old : rows));
  };
  useEffect(() => {
    const changed = new ResizeObserver(look);
    changed.observe(box.current);
    return () => changed.disconnect();
  }, [height]);
  const first = printing ? 0 : Math.max(0, top - ahead);
  const last = Math.min(count, printing ? PRINTED : end + ahead);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
  const kept = focused === null ? -1 : place(focused.row, focused.key, count, keyOf);
  if (kept >= 0 && !shown.includes(kept)) shown[kept < first ? "unshift" : "push"](kept);
  useEffect(() => {
    if (focused && kept < 0) box.current.focus({ preventScroll: true });
  }, [focused && kept < 0]);
  const focus = (event) => {
    const row = event.target.closest("[data-row]")?.dataset.row;
    setFocused(row === undefined ? null : { row: Number(row), key: keyOf(Number(row)) });
  };
  const rest = count > PRINTED ? `The other ${counted(count - PRINTED)} rows are not printed.` : "";
  const props = {
    ref: box,
    tabindex: "0",
    onscroll: look,
    onfocusin: focus,
    onfocusout: () => setFocused(null),
    "data-rest": rest,
  };
  return { box, shown, first, last, props };
}

// The number of the row with this key, -1 if there is none; it was `row` a moment ago.
function place(row, key, count, keyOf) {
  if (row < count && keyOf(row) === key) return row;
  for (let i = 0; i < count; i++) if (keyOf(i) === key) return i;
  return -1;
}

/**
 * Rows({label, kind, columns: ["When", "What"], count, row, keyOf, wide: 40, narrow: 72, onView}).
 * row(i) gives the contents of the cells of row i, or null while they are not known; a cell may be
 * {class, content}, and the list may have a `class`. wide and narrow are the heights of a row in
 * pixels. onView(first, last) is told which rows are drawn. Rows with the same key stay the same
 * elements.
 */
export function Rows({
  label,
  kind,
  columns,
  count,
  row,
  keyOf = (i) => i,
  wide = 40,
  narrow = 72,
  onView = null,
}) {
  const height = useNarrow() ? narrow : wide;
  const { shown, first, last, props } = useRows({ count, height, keyOf });
  useEffect(() => {
    onView?.(first, last);
  }, [first, last, count]);
  return html`
    <div class="vrows ${kind}" role="table" aria-label=${label} aria-rowcount=${count + 1}
        ...${props} style=${{ "--row": `${height}px` }}>
      <div role="rowgroup" class="vrows-head">
        <div class="vrow vhead" role="row" aria-rowindex="1">
          ${columns.map((name, j) => html`<span role="columnheader" class="c${j}">${name}</span>`)}
        </div>
      </div>
      <div class="vrows-all" role="rowgroup" style=${{ "--all": `${count * height}px` }}>
        ${shown.map(
          (i) => html`
            <${Row} key=${keyOf(i)} i=${i} cells=${row(i)} columns=${columns} height=${height} />`,
        )}
      </div>
    </div>`;
}

function Row({ i, cells, columns, height }) {
  return html`
    <div class="vrow ${cells ? (cells.class ?? "") : "unknown"}" role="row" aria-rowindex=${i + 2}
        data-row=${i} style=${{ "--top": `${i * height}px` }}>
      ${columns.map((_, j) => {
        const cell = cells?.[j];
        const framed = cell?.content !== undefined;
        return html`
          <span role="cell" class="c${j} ${(framed && cell.class) || ""}">
            ${framed ? cell.content : cell}
          </span>`;
      })}
    </div>`;
}
