// The arms of a study as a forest plot: estimate, interval, evidence over need. Only the rows in
// view exist, so that 10,000 arms are no more work than 50. Arms are columns: arms.mean[i], ...
import { vocabulary } from "./api.js";
import { useWidth } from "./browser.js";
import { count, decimalsFor, fixed, number } from "./format.js";
import { html } from "./html.js";
import { scale, ticks } from "./plot.js";
import { useRows } from "./rows.js";
import { armPath } from "./study.js";
import { useEffect, useMemo, useRef, useState } from "./view.js";
import { Mark, NameLink } from "./widgets.js";

const NARROW = 640; // pixels below which a row has two lines

// ---- which arms, in which order

const names = new Intl.Collator("en", { numeric: true });
const order = (x, y) => (x ?? -Infinity) - (y ?? -Infinity) || 0; // unknown numbers come last
const share = (a, i) =>
  a.label[i] !== "open" ? 1 : Math.min(1, Math.max(0, (a.evidence[i] ?? 0) / a.need[i])) || 0;
const isOpen = (a, i) => Number(a.label[i] === "open");

export const SORTS = {
  mean: ["Estimate", (a) => (i, j) => order(a.mean[j], a.mean[i])],
  evidence: [
    "Closest to a label",
    (a) => (i, j) => isOpen(a, j) - isOpen(a, i) || order(share(a, j), share(a, i)),
  ],
  measurements: ["Measurements", (a) => (i, j) => a.measurements[j] - a.measurements[i]],
  certified: [
    "Latest certified",
    (a) => (i, j) => order(a.certified_after[j], a.certified_after[i]),
  ],
  arm: ["Name", (a) => (i, j) => names.compare(a.arm[i], a.arm[j])],
  given: ["As given", () => () => 0],
};

const FILTERS = {
  all: () => true,
  good: (a, i) => a.label[i] === "good",
  bad: (a, i) => a.label[i] === "bad",
  open: (a, i) => a.label[i] === "open",
  "guess good": (a, i) => a.guess[i] === "good",
  "guess bad": (a, i) => a.guess[i] === "bad",
};

/** How many arms each filter leaves; arms that have left the question count among all only. */
export function countArms(arms) {
  const counts = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, 0]));
  arms.arm.forEach((_, i) => {
    for (const [name, fits] of Object.entries(FILTERS))
      if (name === "all" || (!arms.withdrawn[i] && fits(arms, i))) counts[name]++;
  });
  return counts;
}

/** The numbers of the arms to show, in order. */
export function chooseArms(arms, { search, label, sort }) {
  const wanted = search.trim().toLowerCase();
  const fits = FILTERS[label] ?? FILTERS.all;
  const found = [];
  arms.arm.forEach((name, i) => {
    if (label !== "all" && (arms.withdrawn[i] || !fits(arms, i))) return;
    if (!wanted || name.toLowerCase().includes(wanted)) found.push(i);
  });
  return found.sort((SORTS[sort] ?? SORTS.mean)[1](arms));
}

// ---- the axis

// All estimates, and intervals as far as they are not absurdly wide.
function rangeOf(arms, best, threshold) {
  let [lowest, highest, from, to] = [Infinity, -Infinity, Infinity, -Infinity];
  arms.mean.forEach((mean, i) => {
    if (mean === null || arms.withdrawn[i]) return;
    lowest = Math.min(lowest, mean);
    highest = Math.max(highest, mean);
    from = Math.min(from, arms.low[i] ?? -Infinity);
    to = Math.max(to, arms.high[i] ?? Infinity);
  });
  if (!Number.isFinite(lowest)) return null;
  const room = Math.max(highest - lowest, 1.6 * (best - threshold), 1e-9 * Math.abs(highest), 1e-9);
  const low = Math.min(threshold, Math.max(from, lowest - 0.3 * room));
  const high = Math.max(best, Math.min(to, highest + 0.3 * room));
  return { low, high, spread: highest - lowest || Math.abs(highest) };
}

// The scale of the plot in percent, and the decimals of estimates; it moves only if it has to.
function useScale(arms, best, threshold) {
  const domain = useRef();
  return useMemo(() => {
    const range = rangeOf(arms, best, threshold);
    if (!range) return null;
    const { low, high, spread } = range;
    const [from, to] = domain.current ?? [Infinity, -Infinity];
    if (low < from || high > to || high - low < 0.7 * (to - from)) {
      const edge = 0.03 * (high - low);
      domain.current = [low - edge, high + edge];
    }
    return { x: scale(...domain.current, 0, 100), decimals: Math.min(4, decimalsFor(spread)) };
  }, [arms, best, threshold]);
}

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const percent = (p) => `${p.toFixed(3)}%`;

const ticksOf = (x, width) =>
  ticks(x.low, x.high, Math.max(2, Math.floor(width / (5 * rem())))).filter(
    (t) => t >= x.low && t <= x.high,
  );

function Axis({ x, best, threshold, words, width }) {
  const unit = rem();
  const [left, right] = [x(threshold), x(best)];
  const edge = (80 * unit) / width;
  const wide = ((right - left) / 100) * width > 0.52 * unit * words.length;
  const anchor = wide ? "middle" : left > 100 - right ? "end" : "start";
  const at = wide ? (left + right) / 2 : anchor === "end" ? right : left;
  const [high, low] = [1.45 * unit, 1.9 * unit];
  const line = (x1, y1, x2, y2) =>
    html`<line class="f-brace" x1=${percent(x1)} y1=${y1} x2=${percent(x2)} y2=${y2} />`;
  const label =
    `Axis from ${number(x.low)} to ${number(x.high)}. The band, ${words}, goes from ` +
    `${number(threshold, 4)} to ${number(best, 4)}.`;
  return html`
    <svg width="100%" height="100%" role="img" aria-label=${label}>
      ${line(left, low, left, high)}${line(left, high, right, high)}${line(right, high, right, low)}
      <text class="f-band-name" x=${percent(at)} y=${1.05 * unit} text-anchor=${anchor}>${words}</text>
      ${ticksOf(x, width).map(
        (t) => html`
          <text key=${t} x=${percent(Math.min(100 - edge, Math.max(edge, x(t))))} y=${3 * unit}
            text-anchor="middle">${number(t, 4)}</text>`,
      )}
    </svg>`;
}

// ---- rows

function flagOf(arms, i) {
  if (arms.withdrawn[i]) return "left the question";
  if (arms.dropped[i] !== null) return vocabulary.outcomes?.dropped.word ?? "dropped";
  const state = arms.suspect[i] ? "suspect" : arms.waiting[i] ? "waiting" : null;
  return state && (vocabulary.states?.[state].word ?? state);
}

const labelWords = (label, guess) =>
  guess ? `open, best guess ${guess}` : label === "open" ? label : `certified ${label}`;

// Estimate and interval; what is cut at the edge of the picture ends in an arrow. Both are as wide as
// the plot and moved by transforms, which need no new layout.
function interval(arms, i, x) {
  const [low, high] = [x(arms.low[i] ?? -Infinity), x(arms.high[i] ?? Infinity)];
  const [from, to] = [Math.max(0, low), Math.min(100, high)];
  const label = arms.label[i];
  const line = `translateX(${from.toFixed(2)}%) scaleX(${(Math.max(0, to - from) / 100).toFixed(4)})`;
  return html`
    <i class="f-line ${label}" style=${{ transform: line }} />
    <i class="f-arrow low ${label}" hidden=${low >= 0} />
    <i class="f-arrow high ${label}" hidden=${high <= 100} />
    <i class="f-point" style=${{ transform: `translateX(${x(arms.mean[i]).toFixed(2)}%)` }}>
      ${Mark({ label, guess: arms.guess[i] })}
    </i>`;
}

function evidence(arms, i, noRival) {
  const [reached, need] = [arms.evidence[i], arms.need[i]];
  const [has, needs] = [fixed(Math.max(0, reached ?? 0), 1), fixed(need, 1)];
  const free = reached === null && arms.label[i] !== "open"; // all rivals are certified bad
  const words = need === null ? "no evidence yet" : `evidence ${has} of ${needs} needed`;
  return html`
    <div class="f-evidence" role="cell" aria-label=${free ? noRival : words}>
      <span class="f-bar" aria-hidden="true"><i class=${arms.label[i]}
        style=${{ transform: `scaleX(${share(arms, i)})` }} /></span>
      <span class="f-figures">${free ? noRival : `${has} / ${needs}`}</span>
    </div>`;
}

function Row({ id, arms, i, at, height, axis, noRival, turned }) {
  const [label, guess, mean] = [arms.label[i], arms.guess[i], arms.mean[i]];
  const gone = arms.withdrawn[i] || arms.dropped[i] !== null;
  const words =
    mean === null
      ? "No measurement yet"
      : `between ${number(arms.low[i], 4)} and ${number(arms.high[i], 4)}`;
  return html`
    <div class="f-row ${gone ? "gone" : ""} ${turned ? "flash" : ""}" role="row"
        aria-rowindex=${at + 2} data-row=${at} data-label=${label}
        style=${{ transform: `translateY(${at * height}px)` }}>
      <div class="f-name" role="rowheader">
        <span role="img" aria-label=${labelWords(label, guess)}>${Mark({ label, guess })}</span>
        ${NameLink({ name: arms.arm[i], href: armPath(id, arms.arm[i]), tabindex: "-1" })}
        <span class="f-flag">${flagOf(arms, i)}</span>
      </div>
      <div class="f-plot" role="cell" aria-label=${words} title=${words}>
        ${mean !== null && interval(arms, i, axis.x)}
      </div>
      <div class="f-mean" role="cell">${mean === null ? "–" : fixed(mean, axis.decimals)}</div>
      ${evidence(arms, i, noRival)}
      <div class="f-measurements" role="cell">${count(arms.measurements[i])}</div>
    </div>`;
}

const COLUMNS = [
  ["name", "arm", "Arm"],
  ["mean", "mean", "Estimate"],
  ["evidence", "evidence", "Evidence / need"],
  ["measurements", "measurements", "n", "number of measurements"],
];

function Head({ sort, onSort, plot }) {
  const [name, ...others] = COLUMNS.map(([column, key, words, label = null]) => {
    const sorted = key !== sort ? "none" : key === "arm" ? "ascending" : "descending";
    return html`
      <div class="f-${column}" role="columnheader" aria-sort=${sorted}>
        <button type="button" class="plain" aria-label=${label} onclick=${() => onSort(key)}>${words}</button>
      </div>`;
  });
  return html`
    <div role="rowgroup" class="f-top">
      <div class="f-row f-head" role="row" aria-rowindex="1">
        ${name}
        <div class="f-plot f-axis" role="columnheader"><span class="unseen">Interval</span>${plot}</div>
        ${others}
      </div>
    </div>`;
}

// ---- keys: arrows go from arm to arm

function useArrows({ box, chosen, height }) {
  const [active, setActive] = useState({ arm: -1 }); // a new object whenever a key was pressed
  useEffect(() => {
    const at = chosen.indexOf(active.arm);
    box.current.querySelector(`[data-row="${at}"] a`)?.focus({ preventScroll: true });
  }, [active]);
  return (event) => {
    if (event.target.closest("button") || event.ctrlKey || event.metaKey || event.altKey) return;
    const view = box.current;
    const room = view.clientHeight - view.firstElementChild.offsetHeight;
    const page = Math.max(1, Math.floor(room / height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const by = steps[event.key];
    if (!by || !chosen.length) return;
    event.preventDefault();
    const row = event.target.closest("[data-row]");
    const here = row ? Number(row.dataset.row) : chosen.indexOf(active.arm);
    const start = by === Infinity ? by : Math.ceil(view.scrollTop / height);
    const at = Math.max(0, Math.min(chosen.length - 1, here < 0 ? start : here + by));
    if (at * height < view.scrollTop) view.scrollTop = at * height;
    else if ((at + 1) * height > view.scrollTop + room) view.scrollTop = (at + 1) * height - room;
    setActive({ arm: chosen[at] });
  };
}

// A key for the row of each arm in view: an arm that stays in view keeps it, and with it its element;
// a new arm takes over the element of one that has left, since that is quicker than to make another.
function useSlots(inView) {
  const last = useRef(new Map());
  const slots = new Map(inView.map((arm) => [arm, last.current.get(arm)]));
  const used = new Set(slots.values());
  let next = 0;
  for (const arm of inView) {
    if (slots.get(arm) !== undefined) continue;
    while (used.has(next)) next++;
    slots.set(arm, next++);
  }
  last.current = slots;
  return slots;
}

// The width of the column of names in rem: of the longest name, and of a flag if there is one.
function nameColumn(arms) {
  const longest = arms.arm.reduce((most, name) => Math.max(most, name.length), 0);
  const flags = arms.arm.some((_, i) => flagOf(arms, i));
  return Math.min(15, Math.max(6, 3.2 + 0.62 * longest + (flags ? 3.6 : 0)));
}

// The places of the band and of the lines of the axis, for the styles.
function placesOf(axis, best, threshold, width) {
  if (!axis || width <= 0) return {};
  const [first, second = first + 1] = ticksOf(axis.x, width).map(axis.x);
  const places = { from: axis.x(threshold), to: axis.x(best), tick: first, step: second - first };
  return Object.fromEntries(Object.entries(places).map(([name, p]) => [`--${name}`, percent(p)]));
}

/**
 * Forest({id, arms, chosen, best, threshold, words, noRival, sort, onSort, turned}): `chosen` are the
 * numbers of the arms to show, in order; best and threshold are null before the first value; words
 * says what the band is, noRival that no other arm is left; turned is the set of arms to point out.
 */
export function Forest({ id, arms, chosen, best, threshold, words, noRival, sort, onSort, turned }) {
  const [outer, width] = useWidth();
  const narrow = width > 0 && width < NARROW;
  const height = Math.round((narrow ? 3.5 : 2) * rem());
  const axis = useScale(arms, best, threshold);
  const { box, shown, props } = useRows({ count: chosen.length, height, keyOf: (at) => chosen[at], ahead: 4 });
  const onkeydown = useArrows({ box, chosen, height });
  const column = useMemo(() => nameColumn(arms), [arms]);
  const plotWidth = width - rem() * (narrow ? 2 : column + 24.3); // without the other columns
  const places = useMemo(
    () => placesOf(axis, best, threshold, plotWidth),
    [axis, best, threshold, plotWidth],
  );
  const drawn = useMemo(() => new Map(), [chosen, axis, height, turned]); // rows that stay as they are
  const slots = useSlots(shown.map((at) => chosen[at]));
  const row = (at) => {
    const i = chosen[at];
    if (!drawn.has(at))
      drawn.set(at, html`
        <${Row} key=${slots.get(i)} id=${id} arms=${arms} i=${i} at=${at} height=${height} axis=${axis}
          noRival=${noRival} turned=${turned.has(i)} />`);
    return drawn.get(at);
  };
  const plot = axis && plotWidth > 0 && html`
    <${Axis} x=${axis.x} best=${best} threshold=${threshold} words=${words} width=${plotWidth} />`;
  return html`
    <div class="forest-box ${narrow ? "narrow" : ""}" ref=${outer}
        style=${{ "--row": `${height}px`, "--name": `${column}rem`, ...places }}>
      <div class="forest" role="table" ...${props} onkeydown=${onkeydown} aria-rowcount=${chosen.length + 1}
          aria-label="Arms. The arrow keys go from arm to arm, Enter opens one.">
        <${Head} sort=${sort} onSort=${onSort} plot=${plot} />
        <div class="f-body" role="rowgroup" style=${{ height: `${chosen.length * height}px` }}>
          ${shown.map(row)}
        </div>
      </div>
      ${chosen.length === 0 && html`<p class="empty">No arm fits this search.</p>`}
    </div>`;
}
