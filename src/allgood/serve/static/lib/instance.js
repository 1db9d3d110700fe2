// The picture of an instance, a row for each arm: means, band, weights, alternative and a run's frame.
import { count, number, percent, plural } from "./format.js";
import { html } from "./html.js";
import { scale, ticks } from "./plot.js";

const HANDLES = 120; // with more arms, means are typed and not dragged
const TOP = 28,
  BOTTOM = 30;
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

function Shape({ label, x, y, r }) {
  if (label !== "bad") return html`<circle class="shape ${label}" cx=${x} cy=${y} r=${r} />`;
  const path = `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`;
  return html`<path class="shape bad" d=${path} />`;
}

function Arrow({ from, to, y }) {
  const way = Math.sign(to - from);
  return html`
    <line class="alt-line" x1=${from} x2=${to - way * 3} y1=${y} y2=${y} />
    <path class="alt-head" d="M${to} ${y}l${-way * 7} -4v8z" />`;
}

/** Where everything stands: the height of a row, the sides, and the scales. */
function layoutOf(arms, width, domain, most) {
  const row = arms <= 30 ? 28 : arms <= 80 ? 18 : arms <= 300 ? 9 : 5;
  const left = row >= 18 ? 34 : 8;
  const bars = width < 560 ? 78 : Math.min(280, width * 0.26);
  const right = width - bars - 22;
  const x = scale(...domain, left + 8, right);
  return {
    row,
    left,
    right,
    x,
    barsAt: width - bars,
    bar: scale(0, most, 0, bars - 44),
    inside: (mean) => Math.max(left, Math.min(right + 6, x(mean))),
    r: row >= 18 ? 5.5 : row >= 9 ? 3 : 2,
    bottom: TOP + arms * row,
    height: TOP + arms * row + BOTTOM,
  };
}

/** The band from the threshold to the best mean, the axis, and the threshold of the alternative. */
function Background({ at, best, threshold, alternative, title, domain }) {
  const from = at.inside(threshold);
  const line = (x, kind) =>
    html`<line class=${kind} x1=${x} x2=${x} y1=${TOP - 6} y2=${at.bottom + 6} />`;
  const tickCount = Math.max(3, (at.right - at.left) / 90);
  return html`
    <rect class="band" x=${from} y=${TOP - 6} width=${Math.max(1, at.inside(best) - from)}
      height=${at.bottom - TOP + 12} />
    ${line(from, "threshold")}
    <text class="tick band-name" x=${from} y="14" text-anchor=${from > at.right - 80 ? "end" : "middle"}>
      good from ${number(threshold, 4)}
    </text>
    <text class="tick" x=${at.barsAt} y="14">${title}</text>
    ${ticks(...domain, tickCount).map(
      (t) => html`
        <line class="grid" x1=${at.x(t)} x2=${at.x(t)} y1=${TOP} y2=${at.bottom} />
        <text class="tick" x=${at.x(t)} y=${at.height - 10} text-anchor="middle">${number(t)}</text>`,
    )}
    ${alternative !== null && line(at.inside(alternative), "alt-threshold")}`;
}

/** Weight, share of the measurements so far, and one of them in numbers. */
function Bars({ at, y, label, weight, share, words }) {
  const thick = Math.max(2, Math.min(12, at.row - 8));
  const bar = (kind, part, size) => html`
    <rect class=${kind} x=${at.barsAt} y=${y - size / 2} width=${Math.max(0.5, at.bar(part))}
      height=${size} rx="2" />`;
  const end = Math.max(weight === null ? 0 : at.bar(weight), share === null ? 0 : at.bar(share));
  return html`
    ${weight !== null && bar(share === null ? `weight ${label}` : "weight ghost", weight, thick)}
    ${share !== null && bar(`share ${label}`, share, thick / 2)}
    ${at.row >= 18 && html`<text class="tick" x=${at.barsAt + end + 6} y=${y + 4}>${words}</text>`}`;
}

/** One arm: its mean and where the alternative would move it, or its estimate in a run. */
function Arm({ k, at, mean, moved, estimate, label, slider, children }) {
  const y = TOP + (k + 0.5) * at.row;
  const { x, r } = at;
  return html`
    <g class="arm ${slider ? "" : "still"}" ...${slider ?? {}}>
      <rect class="hit" x="0" y=${y - at.row / 2} width=${at.right + 12} height=${at.row} />
      ${at.row >= 18 && html`<text class="tick name" x=${at.left - 10} y=${y + 4} text-anchor="end">${k}</text>`}
      ${at.row >= 9 && html`<line class="rail" x1=${at.left} x2=${at.right} y1=${y} y2=${y} />`}
      ${
        estimate !== undefined
          ? html`
              <path class="truth" d="M${x(mean)} ${y - r - 1}v${2 * r + 2}" />
              ${estimate !== null && html`<${Shape} label=${label} x=${at.inside(estimate)} y=${y} r=${r} />`}`
          : html`
              <${Shape} label=${label} x=${x(mean)} y=${y} r=${r} />
              ${moved !== null && html`<${Arrow} from=${x(mean)} to=${at.inside(moved)} y=${y} />`}`
      }
    </g>
    ${children}`;
}

/** What makes a row a slider, for the pointer and the keyboard. */
function sliderOf({ k, mean, domain, words, x, onMove, onEnd }) {
  const step = 10 ** Math.floor(Math.log10((domain[1] - domain[0]) / 60));
  const move = (value) => onMove(k, Math.round(value / step) * step);
  const down = (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.focus({ preventScroll: true });
    const left = event.currentTarget.ownerSVGElement.getBoundingClientRect().left;
    const controller = new AbortController();
    const { signal } = controller;
    const drag = ({ clientX }) =>
      move(Math.max(domain[0], Math.min(domain[1], x.back(clientX - left))));
    const end = () => {
      controller.abort();
      onEnd();
    };
    addEventListener("pointermove", drag, { signal });
    addEventListener("pointerup", end, { signal });
    addEventListener("pointercancel", end, { signal });
  };
  const press = (event) => {
    const by = STEPS[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(mean + by * (event.shiftKey ? 10 : 1) * step);
    onEnd();
  };
  return {
    tabindex: 0,
    role: "slider",
    "aria-label": `Mean of arm ${k}`,
    "aria-valuenow": mean,
    "aria-valuemin": domain[0],
    "aria-valuemax": domain[1],
    "aria-valuetext": words,
    "data-arm": k,
    onkeydown: press,
    onpointerdown: down,
  };
}

export const differs = (a, b) => Math.abs(a - b) > 1e-9 * (1 + Math.abs(b));

/**
 * means: those that are typed; known: what the server says of them, or null; frame: a moment of a
 * run, or null; domain: the ends of the axis; onMove(k, mean), onEnd().
 */
export function Instance({ means, best, threshold, domain, known, frame, alternative, width, onMove, onEnd }) {
  const weights = known?.weights ?? null;
  const shares = frame && frame.counts.map((n) => n / Math.max(1, frame.pulls));
  const at = layoutOf(means.length, width, domain, Math.max(1e-9, ...(weights ?? []), ...(shares ?? [])));
  const good = means.filter((mean) => mean >= threshold).length;
  const words = `${plural(means.length, "arm")}; ${count(good)} are good. The table below has the numbers.`;
  const draw = (mean, k) => {
    const label = frame ? frame.labels[k] : mean >= threshold - 1e-12 ? "good" : "bad";
    const weight = weights?.[k] ?? null;
    const said = `${number(mean, 5)}, ${label}${weight === null ? "" : `, optimal weight ${percent(weight)}`}`;
    const slider =
      means.length <= HANDLES && !frame
        ? sliderOf({ k, mean, domain, words: said, x: at.x, onMove, onEnd })
        : null;
    const moved = alternative && differs(alternative.means[k], mean) ? alternative.means[k] : null;
    return html`
      <${Arm} key=${k} k=${k} at=${at} mean=${mean} label=${label} slider=${slider} moved=${moved}
          estimate=${frame ? frame.means[k] : undefined}>
        <${Bars} at=${at} y=${TOP + (k + 0.5) * at.row} label=${label} weight=${weight}
          share=${shares ? shares[k] : null}
          words=${frame ? count(frame.counts[k]) : weight === null ? "" : percent(weight)} />
      <//>`;
  };
  return html`
    <svg class="instance" viewBox="0 0 ${width} ${at.height}" width=${width} height=${at.height}
        role="group" aria-label=${words}>
      <${Background} at=${at} best=${best} threshold=${threshold} domain=${domain}
        alternative=${alternative ? alternative.threshold : null} title=${frame ? "measured" : "weights"} />
      ${means.map(draw)}
    </svg>`;
}
