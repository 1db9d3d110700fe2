// A long table of which only the rows in view are drawn.
import { useNarrow, usePrinting } from "./browser.js";
import { count as counted } from "./format.js";
import { html } from "./html.js";
import { useEffect, useRef, useState } from "./view.js";

const AHEAD = 8; // rows drawn above and below the view
const PRINTED = 5000; // on paper nobody scrolls: so many rows are drawn

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
  const box = useRef();
  const printing = usePrinting();
  const height = useNarrow() ? narrow : wide;
  const [[top, size], setView] = useState([0, 400]);
  const [focused, setFocused] = useState(-1); // its row stays while it has the focus
  useEffect(() => {
    const look = () => setView([box.current.scrollTop, box.current.clientHeight]);
    const changed = new ResizeObserver(look);
    changed.observe(box.current);
    return () => changed.disconnect();
  }, []);
  const first = printing ? 0 : Math.max(0, Math.floor(top / height) - AHEAD);
  const last = Math.min(count, printing ? PRINTED : Math.ceil((top + size) / height) + AHEAD);
  useEffect(() => {
    onView?.(first, last);
  }, [first, last, count]);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
  if (focused >= 0 && focused < count && !shown.includes(focused))
    shown[focused < first ? "unshift" : "push"](focused);
  const scrolled = () => setView([box.current.scrollTop, box.current.clientHeight]);
  const focus = (event) =>
    setFocused(Number(event.target.closest("[data-row]")?.dataset.row ?? -1));
  return html`
    <div class="vrows ${kind}" role="table" aria-label=${label} aria-rowcount=${count + 1}
        tabindex="0" ref=${box} onscroll=${scrolled} onfocusin=${focus}
        onfocusout=${() => setFocused(-1)} style=${{ "--row": `${height}px` }}
        data-rest=${count > PRINTED ? `The other ${counted(count - PRINTED)} rows are not printed.` : ""}>
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
