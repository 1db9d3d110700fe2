// The values of one arm in the order told, their average as it grew, the interval now, and what would
// be good.
import { useWidth } from "./browser.js";
import { count, moment, number, plural } from "./format.js";
import { html } from "./html.js";
import { XAxis, YAxis, scale, widened } from "./plot.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [52, 92, 14, 34];
const meanOf = ({ value, n }) => value / n;

// The lowest and the highest number of the picture; null if there is nothing to show. A wide interval,
// a far threshold or a far suspect value must not flatten it.
function rangeOf({ arm, values, best, threshold }) {
  const near = values.filter(({ state }) => state === "counts" || state === "waiting").map(meanOf);
  if (arm.mean !== null) near.push(arm.mean);
  if (!near.length) return null;
  const least = near.reduce((a, b) => Math.min(a, b));
  const most = near.reduce((a, b) => Math.max(a, b));
  const spread = most - least || Math.abs(most) || 1;
  const reach = (x, times) =>
    x === null ? [] : [Math.max(least - times * spread, Math.min(most + times * spread, x))];
  return widened(
    Math.min(least, ...reach(arm.low, 1), ...reach(threshold, 1.5)),
    Math.max(most, ...reach(arm.high, 1), ...reach(threshold, 1.5), ...reach(best, 0.3)),
  );
}

// Scales and edges of the picture; `inside` keeps a mark in view, `cut` the end of a line.
function frameOf(data, width) {
  const range = rangeOf(data);
  if (!range || !width) return null;
  const height = width < 520 ? 250 : 340;
  const [top, bottom, right] = [TOP, height - BOTTOM, width - RIGHT];
  const first = (data.values.find(({ state }) => state !== "suspect") ?? data.values[0])?.place ?? 1;
  const last = Math.max(data.num_values, first + 3);
  const y = scale(...range, bottom, top);
  const between = (low, high) => (v) => Math.max(low, Math.min(high, y(v)));
  return {
    ...{ width, height, top, bottom, right, y, first, last },
    x: scale(first - 0.5, last + 0.5, LEFT, right),
    inside: between(top + 4, bottom - 4),
    cut: between(top, bottom),
    arrow: (v) => (v > y.high ? "↑ " : v < y.low ? "↓ " : ""),
  };
}

/** What would be good if the best estimate is right. */
function Band({ frame, data }) {
  const { best, threshold, arm } = data;
  const { right, cut, y, arrow } = frame;
  if (threshold === null) return null;
  const clash = arm.mean !== null && Math.abs(cut(threshold) - y(arm.mean)) < 14;
  return html`
    <rect class="band" x=${LEFT} width=${right - LEFT + 30} y=${cut(best)}
      height=${Math.max(1, cut(threshold) - cut(best))} />
    ${
      !arrow(threshold) &&
      html`<line class="threshold" x1=${LEFT} x2=${right + 30} y1=${y(threshold)} y2=${y(threshold)} />`
    }
    ${
      !clash &&
      html`<text class="tick band-name" x=${right + 33} y=${cut(threshold) + 4}>
        ${arrow(threshold)}${number(threshold, 4)}
      </text>`
    }`;
}

function Average({ frame, values }) {
  const points = values
    .filter(({ state, average }) => state === "counts" && average !== null)
    .map(({ place, average }) => `${frame.x(place).toFixed(1)},${frame.inside(average).toFixed(1)}`);
  return points.length > 1 && html`<polyline class="average" points=${points.join(" ")} />`;
}

function Shape({ state, x, y, title }) {
  const content = html`<title>${title}</title>`;
  if (state === "suspect")
    return html`<path class="dot is-suspect" d="M${x} ${y - 6}l5.6 10h-11.2z">${content}</path>`;
  if (state === "withdrawn" || state === "rejected")
    return html`<path class="dot is-withdrawn" d="M${x - 3} ${y - 3}l6 6m0-6l-6 6">${content}</path>`;
  const kind = state === "waiting" ? "dot hollow" : "dot";
  return html`<circle class=${kind} cx=${x} cy=${y} r="3.6">${content}</circle>`;
}

function Dot({ frame, value }) {
  const { ticket, state, first, n, time } = value;
  const mean = meanOf(value);
  const [x, y, flip] = [frame.x(value.place), frame.inside(mean), value.place > 0.8 * frame.last];
  const old = n === 1 && first !== null && first !== value.value ? frame.inside(first) : null;
  const title = `${ticket}: ${number(mean, 6)}${n > 1 ? ` in ${count(n)}` : ""}, ${state}, ${moment(time)}`;
  return html`
    ${
      old !== null &&
      html`
        <line class="corrected" x1=${x} x2=${x} y1=${old} y2=${y} />
        <path class="corrected" d="M${x - 3} ${old - 3}l6 6m0-6l-6 6" />`
    }
    <${Shape} state=${state} x=${x} y=${y} title=${title} />
    ${
      frame.arrow(mean) &&
      html`<text class="tick out" x=${x + (flip ? -9 : 9)} y=${y + 4}
          text-anchor=${flip ? "end" : "start"}>${frame.arrow(mean)}${number(mean, 4)}</text>`
    }`;
}

function Interval({ frame, arm }) {
  if (arm.mean === null) return null;
  const { top, bottom, cut, arrow } = frame;
  const [x, y] = [frame.right + 22, frame.inside(arm.mean)];
  const [low, high] = [arm.low ?? -Infinity, arm.high ?? Infinity];
  const end = (v, d) => arrow(v) && html`<path class="interval-end ${arm.label}" d=${d} />`;
  return html`
    <line class="interval ${arm.label}" x1=${x} x2=${x} y1=${cut(low)} y2=${cut(high)} />
    ${end(low, `M${x - 5} ${bottom - 6}l5 6l5-6`)}${end(high, `M${x - 5} ${top + 6}l5-6l5 6`)}
    ${
      arm.label === "bad"
        ? html`<path class="estimate bad" d="M${x - 5} ${y - 5}l10 10m0-10l-10 10" />`
        : html`<circle class="estimate ${arm.label}" cx=${x} cy=${y} r="5.5" />`
    }
    <text class="tick strong" x=${x + 11} y=${y + 4}>${number(arm.mean, 4)}</text>`;
}

const Legend = () => html`
  <details class="hint">
    <summary>How to read this picture</summary>
    Dots are values; a corrected one is tied to what it was before. The line is their average as it
    grew, the bar at the right the interval now; an arrow at its end: it goes on. The band holds what
    would be good if the best estimate is right.
  </details>`;

const wordsOf = ({ arm, num_values, threshold }) =>
  [
    `${plural(num_values, "value")} of ${arm.arm}.`,
    arm.mean !== null &&
      `The average is ${number(arm.mean, 4)}, the interval goes from ${number(arm.low, 4)} to ` +
        `${number(arm.high, 4)}.`,
    threshold !== null && `The band begins at ${number(threshold, 4)}.`,
    "The table below has every value.",
  ]
    .filter(Boolean)
    .join(" ");

/** The picture; data is the answer of the server about an arm. */
export function ArmPlot({ data }) {
  const [box, width] = useWidth();
  const frame = frameOf(data, width);
  return html`
    <div class="plot-box" ref=${box}>
      ${!frame && width > 0 && html`<p class="empty">No value was told yet.</p>`}
      ${
        frame &&
        html`
          <svg class="arm-plot" viewBox="0 0 ${width} ${frame.height}" width=${width}
              height=${frame.height} role="img" aria-label=${wordsOf(data)}>
            <${Band} frame=${frame} data=${data} />
            <${YAxis} y=${frame.y} from=${LEFT} to=${frame.right} />
            <${XAxis} x=${frame.x} y=${frame.bottom} from=${LEFT} to=${frame.right} format=${count}
              n=${Math.min(8, (frame.right - LEFT) / 60)} only=${Number.isInteger}
              words="value, in the order told" />
            <${Average} frame=${frame} values=${data.values} />
            ${data.values
              .filter(({ place }) => place >= frame.first)
              .map((value) => html`<${Dot} key=${value.ticket} frame=${frame} value=${value} />`)}
            <${Interval} frame=${frame} arm=${data.arm} />
          </svg>`
      }
    </div>
    <${Legend} />`;
}
