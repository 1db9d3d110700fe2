// The question as a picture: arms on a line, the best, the threshold, and the noise of one
// measurement as a bell.
import { useWidth } from "./browser.js";
import { count, number, plural } from "./format.js";
import { html } from "./html.js";
import { XAxis, scale } from "./plot.js";

const HEIGHT = 188,
  GROUND = 130,
  TOP = 30,
  SIDE = 18;

/** Dots that would cover each other are piled up; if a pile is full, the rest is left out. */
function piled(means, x, apart = 10, most = 8) {
  const piles = new Map();
  const dots = [];
  for (const mean of means) {
    const place = Math.round(x(mean) / apart);
    const pile = piles.get(place) ?? { at: x(mean), layers: 0 };
    if (pile.layers < most) dots.push({ x: pile.at, y: GROUND - 10 - 11 * pile.layers, mean });
    pile.layers++;
    piles.set(place, pile);
  }
  return dots;
}

function Bell({ x, best, sigma, width }) {
  const points = [];
  for (let z = -3; z <= 3.001; z += 0.1) {
    const y = GROUND - (GROUND - TOP - 21) * Math.exp((-z * z) / 2);
    points.push(`${x(best + z * sigma).toFixed(1)} ${y.toFixed(1)}`);
  }
  const side = x(best + 1.1 * sigma) + 8;
  return html`
    <g clip-path="url(#band-clip)"><path class="bell" d=${`M${points.join("L")}`} /></g>
    ${side + 170 < width && html`<text class="bell-name" x=${side} y=${GROUND - 47}>noise of one measurement</text>`}`;
}

const Dot = ({ x, y, good, r = 4 }) =>
  good
    ? html`<circle class="dot good" cx=${x} cy=${y} r=${r} />`
    : html`<path class="dot bad" d="M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}" />`;

/** sigma: the noise of normal measurements; null for models that are not shaped like a bell. */
export function BandPicture({ means, threshold, sigma }) {
  const [box, width] = useWidth();
  const best = Math.max(...means);
  const good = means.filter((mean) => mean >= threshold).length;
  const words =
    `${plural(good, "arm")} of ${count(means.length)} in the band from ${number(threshold)} to ` +
    `${number(best)}.${sigma > 0 ? ` One measurement scatters by about ${number(sigma)}.` : ""}`;
  const low = Math.min(...means, threshold, best - 3 * (sigma ?? 0));
  const high = best + 3 * (sigma ?? 0);
  const room = (high - low || 1) * 0.05;
  const x = scale(low - room, high + room, SIDE, width - SIDE);
  const [from, to] = [x(threshold), x(best)];
  const tight = to - from < 135;
  const anchor = to > width - 45 ? "end" : tight ? "start" : "middle";
  return html`
    <div class="chart" ref=${box}>
      ${
        width > 0 &&
        html`
          <svg class="band-picture" viewBox="0 0 ${width} ${HEIGHT}" width=${width} height=${HEIGHT}
              role="img" aria-label=${words}>
            <clipPath id="band-clip"><rect x="0" y="0" width=${width} height=${HEIGHT} /></clipPath>
            <rect class="band" x=${from} y=${TOP} width=${Math.max(1, to - from)} height=${GROUND - TOP} />
            <line class="threshold" x1=${from} x2=${from} y1=${TOP - 5} y2=${GROUND + 4} />
            <line class="best" x1=${to} x2=${to} y1=${TOP - 5} y2=${GROUND + 4} />
            ${sigma > 0 && html`<${Bell} x=${x} best=${best} sigma=${sigma} width=${width} />`}
            ${piled(means, x).map((dot) => html`<${Dot} x=${dot.x} y=${dot.y} good=${dot.mean >= threshold} />`)}
            <line class="axis" x1=${SIDE} x2=${width - SIDE} y1=${GROUND} y2=${GROUND} />
            <${XAxis} x=${x} y=${GROUND} from=${0} to=${width} n=${Math.max(2, Math.floor(width / 90))}
              words="true mean of an arm (your guess)" />
            <text class="strong" x=${from - (tight ? 4 : 0)} y=${TOP - 10}
              text-anchor=${tight ? "end" : "middle"}>threshold ${number(threshold, 4)}</text>
            <text class="strong" x=${Math.min(to + (tight ? 4 : 0), width)} y=${TOP - 10}
              text-anchor=${anchor}>best ${number(best, 4)}</text>
          </svg>`
      }
    </div>
    <p class="small soft">${words}</p>`;
}
