// Pictures beside the forest plot: labels certified against measurements, and the cost.
import { useWidth } from "./browser.js";
import { count, plural } from "./format.js";
import { html } from "./html.js";
import { scale, ticks } from "./plot.js";
import { useMemo } from "./view.js";

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

// ---- labels certified against measurements

// Sorted moments at which labels were certified, and how many arms are in the question.
function momentsOf(arms, measurements) {
  const moments = { good: [], bad: [] };
  let all = 0;
  arms.label.forEach((label, i) => {
    if (arms.withdrawn[i]) return;
    all++;
    if (label !== "open") moments[label].push(arms.certified_after[i] ?? measurements);
  });
  for (const times of Object.values(moments)) times.sort((a, b) => a - b);
  return { ...moments, all };
}

// A line that the n-th moment lifts to level(n). Only moments a pixel apart are drawn.
function steps(moments, x, level) {
  const points = [[x(0), level(0)]];
  moments.forEach((moment, i) => {
    const [at, to] = [x(moment), level(i + 1)];
    if (points.length > 1 && at - points.at(-1)[0] < 0.7) points.at(-1)[1] = to;
    else points.push([at, to]);
  });
  const path = points.map(([px, py], i) =>
    i ? `H${px.toFixed(1)}V${py.toFixed(1)}` : `M${px.toFixed(1)} ${py.toFixed(1)}`,
  );
  return `${path.join("")}H${x(x.high).toFixed(1)}`;
}

// Words at the ends of lines, [[label, y], ...], moved apart so that none covers another.
function apart(ends, distance, top, bottom) {
  const sorted = ends.sort((a, b) => b[1] - a[1]); // from the bottom up
  let floor = bottom - 0.2 * distance;
  for (const end of sorted) {
    end[1] = Math.min(end[1], floor);
    floor = end[1] - distance;
  }
  let ceiling = top + 0.3 * distance;
  for (const end of sorted.reverse()) {
    end[1] = Math.max(end[1], ceiling);
    ceiling = end[1] + distance;
  }
  return sorted;
}

function LabelsPicture({ good, bad, all, measurements, words, width }) {
  const unit = rem();
  const [height, top] = [11.5 * unit, 0.6 * unit];
  const bottom = height - 1.9 * unit;
  const left = unit * (0.9 + 0.55 * count(all).length);
  const right = unit * (1.2 + 0.5 * (count(all).length + 5));
  const x = scale(0, Math.max(1, measurements), left, width - right);
  const y = scale(0, Math.max(1, all), bottom, top);
  const low = steps(good, x, y);
  const high = steps([...good, ...bad].sort((a, b) => a - b), x, y);
  const room = Math.max(2, Math.floor((width - right - left) / (6 * unit)));
  const round = ticks(0, measurements, room).filter((t) => t <= measurements);
  const certified = good.length + bad.length;
  const numbers = { good: good.length, bad: bad.length, open: all - certified };
  const ends = [
    ["good", y(good.length / 2)],
    ["bad", y(good.length + bad.length / 2)],
    ["open", y((certified + all) / 2)],
  ].filter(([label]) => numbers[label] > 0);
  return html`
    <svg class="labels-chart" viewBox="0 0 ${width} ${height}" width=${width} height=${height}
        role="img" aria-label=${words}>
      <rect class="open-area" x=${left} y=${y(all)} width=${Math.max(0, x(measurements) - left)}
        height=${y(0) - y(all)} />
      <path class="bad-area" d="${high}V${y(0)}H${left}Z" />
      <path class="good-area" d="${low}V${y(0)}H${left}Z" />
      <path class="bad-line" d=${high} />
      <path class="good-line" d=${low} />
      ${(round.length > 1 ? round : [0, measurements]).map(
        (t) => html`
          <line class="tick" x1=${x(t)} x2=${x(t)} y1=${bottom} y2=${bottom + 4} />
          <text x=${x(t)} y=${bottom + 1.35 * unit} text-anchor="middle">${count(t)}</text>`,
      )}
      ${[0, all].map(
        (t) => html`<text x=${left - 6} y=${y(t) + 0.3 * unit} text-anchor="end">${count(t)}</text>`,
      )}
      <line class="axis" x1=${left} x2=${x(measurements)} y1=${bottom} y2=${bottom} />
      ${apart(ends, 1.35 * unit, top, bottom).map(
        ([label, at]) => html`
          <text key=${label} class="end ${label}" x=${x(measurements) + 8} y=${at + 0.32 * unit}>
            ${count(numbers[label])} ${label}
          </text>`,
      )}
    </svg>`;
}

const TABLE = [0.1, 0.25, 0.5, 0.75, 1]; // parts of the measurements

function LabelsTable({ good, bad, all, measurements }) {
  const before = (times, at) => times.findLastIndex((time) => time <= at) + 1;
  const rows = TABLE.map((part) => {
    const at = Math.round(part * measurements);
    const [g, b] = [before(good, at), before(bad, at)];
    return [at, g, b, all - g - b];
  });
  const head = ["Measurements", "Good", "Bad", "Open"];
  return html`
    <details class="numbers">
      <summary>As a table</summary>
      <table class="data">
        <thead><tr>${head.map((name) => html`<th class="number" scope="col">${name}</th>`)}</tr></thead>
        <tbody>
          ${rows.map((row) => html`<tr>${row.map((n) => html`<td class="number">${count(n)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </details>`;
}

/** Labels certified against measurements, with its numbers in words and as a table. */
export function LabelsChart({ arms, measurements }) {
  const [box, width] = useWidth();
  const moments = useMemo(() => momentsOf(arms, measurements), [arms, measurements]);
  const { good, bad, all } = moments;
  const first = Math.min(good[0] ?? Infinity, bad[0] ?? Infinity);
  const words =
    `${count(good.length + bad.length)} of ${plural(all, "label")} certified after ` +
    plural(measurements, "measurement") +
    (Number.isFinite(first) ? `, the first after ${count(first)}.` : ".");
  const data = { ...moments, measurements };
  return html`
    <figure>
      <div class="chart" ref=${box}>
        ${width > 0 && measurements > 0 && html`<${LabelsPicture} ...${data} words=${words} width=${width} />`}
      </div>
      <figcaption class="small soft">${words}</figcaption>
      ${measurements > 0 && html`<${LabelsTable} ...${data} />`}
    </figure>`;
}

// ---- the cost

// A forecast counts from the moment when it was made: what is left now, or null.
function leftNow(forecast, measurements) {
  if (!forecast?.left || forecast.left.high === 0 || forecast.left.low === null) return null;
  const from = (more) => Math.max(0, forecast.measurements + more - measurements);
  const { low, high } = forecast.left;
  return { low: from(low), high: high === null ? null : from(high) };
}

function CostPicture({ measurements, budget, forecast, words, width }) {
  const unit = rem();
  const [height, middle, thick, edge] = [5.4 * unit, 2.55 * unit, 0.8 * unit, 2];
  const left = leftNow(forecast, measurements);
  const bound = forecast?.lower_bound >= 1 ? forecast.lower_bound : null;
  const end = left ? measurements + (left.high ?? 2 * left.low + measurements) : measurements;
  const far = Math.max(1, end, bound ?? 0);
  const most = Math.max(far, budget !== null && budget < 3 * far ? budget : 0);
  const x = scale(0, most * 1.04, edge, width - edge);
  const span = (at, text) => {
    const wide = 0.47 * unit * text.length;
    const from = Math.max(0, Math.min(width - wide, at - wide / 2));
    return [from, from + wide];
  };
  const note = (at, text, y, name) => {
    const [from, to] = span(at, text);
    const anchor = from === 0 ? "start" : to === width ? "end" : "middle";
    const place = { start: 0, middle: at, end: width }[anchor];
    return html`<text class=${name} x=${place} y=${y} text-anchor=${anchor}>${text}</text>`;
  };
  const bar = (name, from, to, round = 0) => html`
    <rect class=${name} x=${from} y=${middle - thick / 2} width=${Math.max(2, to - from)}
      height=${thick} rx=${round} />`;
  const line = (name, at) => html`
    <line class=${name} x1=${x(at)} x2=${x(at)} y1=${middle - thick} y2=${middle + thick} />`;
  const now = `${count(measurements)} so far`;
  const then = "end, forecast";
  const when = left && x(measurements + (left.low + (left.high ?? left.low)) / 2);
  const fits = left && span(when, then)[0] - span(x(measurements), now)[1] > 0.6 * unit;
  const ahead = left && x(left.high === null ? most * 1.04 : measurements + left.high);
  return html`
    <svg class="cost-chart" viewBox="0 0 ${width} ${height}" width=${width} height=${height}
        role="img" aria-label=${words}>
      ${bar("rail", edge, width - edge, 3)}
      ${bar("done", edge, x(measurements), 3)}
      ${left && bar(left.high === null ? "ahead endless" : "ahead", x(measurements + left.low), ahead)}
      ${bound && line("bound", bound)}
      ${bound && note(x(bound), `lower bound ${count(bound)}`, middle - 1.05 * unit, "above")}
      ${budget !== null && budget <= most && line("budget", budget)}
      ${note(x(measurements), now, middle + 1.75 * unit, "strong")}
      ${fits && note(when, then, middle + 1.75 * unit, "below")}
    </svg>`;
}

/** Measurements so far, the lower bound, the forecast (null before it is known) and the budget. */
export function CostChart(props) {
  const [box, width] = useWidth();
  return html`
    <div class="chart" ref=${box}>${width > 0 && html`<${CostPicture} ...${props} width=${width} />`}</div>`;
}
