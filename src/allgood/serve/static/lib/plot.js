// Parts of pictures: round numbers for an axis, straight scales, axes and bands.
import { number } from "./format.js";
import { html } from "./html.js";

/** Round numbers from low to high, about n of them. */
export function ticks(low, high, n = 6) {
  const range = high - low;
  if (!(range > 0) || !Number.isFinite(range)) return [low];
  const rough = range / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++)
    found.push(k * step);
  return found;
}

/** A function from [low, high] to [from, to]; `back` goes the other way. */
export function scale(low, high, from, to) {
  const size = high - low || 1;
  const f = (x) => from + ((x - low) / size) * (to - from);
  f.back = (p) => low + ((p - from) / (to - from || 1)) * size;
  f.low = low;
  f.high = high;
  return f;
}

/** Low and high with some room around them. */
export function widened(low, high, part = 0.06) {
  const room = (high - low) * part || Math.abs(high) * part || 1;
  return [low - room, high + room];
}

/** Numbers under a picture, at y; words name the axis. */
export const XAxis = ({ x, y, from, to, n = 6, words = "", format = number, only = () => true }) => html`
  <g class="axis">
    ${ticks(x.low, x.high, n)
      .filter(only)
      .map((t) => html`<text class="tick" x=${x(t)} y=${y + 17} text-anchor="middle">${format(t)}</text>`)}
    ${words && html`<text class="tick axis" x=${(from + to) / 2} y=${y + 31} text-anchor="middle">${words}</text>`}
  </g>`;

/** Numbers at the left of a picture, with lines across it. */
export const YAxis = ({ y, from, to, n = 5, format = number, only = () => true }) => html`
  <g class="axis">
    ${ticks(y.low, y.high, n)
      .filter(only)
      .map(
        (t) => html`
          <line class="grid" x1=${from} x2=${to} y1=${y(t)} y2=${y(t)} />
          <text class="tick" x=${from - 8} y=${y(t) + 4} text-anchor="end">${format(t)}</text>`,
      )}
  </g>`;
