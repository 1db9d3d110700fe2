// Small pictures. Each has its numbers in words beside it.
import { h, mark, replace, svg } from "./dom.js";
import { count, number, plural } from "./format.js";
import { followWidth, scale, ticks } from "./plot.js";

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

// Certified labels against measurements, as a line without axes. points: [[measurements, labels],
// ...]
export function sparkline(points, arms) {
  const width = 120,
    height = 28,
    last = Math.max(1, ...points.map(([x]) => x));
  const x = scale(0, last, 1, width - 4),
    y = scale(0, Math.max(1, arms), height - 3, 3);
  let path = "";
  for (const [measurements, labels] of points)
    path += path
      ? `H${x(measurements).toFixed(1)}V${y(labels).toFixed(1)}`
      : `M${x(measurements).toFixed(1)} ${y(labels).toFixed(1)}`;
  const [measurements, labels] = points.at(-1) ?? [0, 0];
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label":
        `${plural(labels, "label")} certified after ` + plural(measurements, "measurement"),
    },
    svg("line", { class: "whole", x1: 0, x2: width, y1: y(arms), y2: y(arms) }),
    path && svg("path", { d: path }),
    path && svg("circle", { cx: x(measurements), cy: y(labels), r: 2.4 }),
  );
}

// Good, bad and open as parts of one bar, with the numbers under it.
export function labelBar({ good, bad, open }) {
  const all = Math.max(1, good + bad + open);
  const part = (label, n) => n > 0 && h("i", { class: label, vars: { "--part": n / all } });
  const words = (label, n) =>
    h("span", { class: `badge ${label}` }, mark(label), `${count(n)} ${label}`);
  return h(
    "div",
    { class: "labels" },
    h(
      "div",
      { class: "label-bar", "aria-hidden": "true" },
      part("good", good),
      part("bad", bad),
      part("open", open),
    ),
    h(
      "div",
      { class: "label-counts" },
      words("good", good),
      words("bad", bad),
      words("open", open),
    ),
  );
}

// Steps as a path: the n-th of the sorted moments lifts the line to n. Only moments a pixel apart
// are drawn.
function steps(moments, x, level) {
  const points = [[x(0), level(0)]];
  moments.forEach((moment, i) => {
    const at = x(moment),
      to = level(i + 1);
    if (points.length > 1 && at - points.at(-1)[0] < 0.7) points.at(-1)[1] = to;
    else points.push([at, to]);
  });
  return points;
}

// The figure "labels certified against measurements": set(arms, measurements), arms as columns.
export function labelsChart(signal) {
  let data = null;
  const box = h("div", { class: "chart" }),
    words = h("figcaption", { class: "small soft" });
  const rows = h("tbody"),
    table = h(
      "details",
      { class: "numbers" },
      h("summary", {}, "As a table"),
      h(
        "table",
        { class: "data" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Measurements", "Good", "Bad", "Open"].map((name) =>
              h("th", { class: "number", scope: "col" }, name),
            ),
          ),
        ),
        rows,
      ),
    );

  function draw(width) {
    if (!data) return;
    const { good, bad, arms, measurements } = data,
      unit = rem();
    const height = 11.5 * unit,
      left = unit * (0.9 + 0.55 * count(arms).length),
      right = unit * (1.2 + 0.5 * (count(arms).length + 5)),
      bottom = height - 1.9 * unit,
      top = 0.6 * unit;
    const x = scale(0, Math.max(1, measurements), left, width - right),
      y = scale(0, Math.max(1, arms), bottom, top);
    const low = steps(good, x, (n) => y(n));
    const all = [...good, ...bad].sort((a, b) => a - b);
    const high = steps(all, x, (n) => y(n));
    const line = (points) =>
      points
        .map(([px, py], i) =>
          i ? `H${px.toFixed(1)}V${py.toFixed(1)}` : `M${px.toFixed(1)} ${py.toFixed(1)}`,
        )
        .join("") + `H${x(measurements).toFixed(1)}`;
    const room = Math.max(2, Math.floor((width - right - left) / (6 * unit))),
      round = ticks(0, measurements, room).filter((t) => t <= measurements),
      axis = round.length > 1 ? round : [0, measurements];
    const ends = place(
      [
        ["good", y(good.length / 2)],
        ["bad", y(good.length + bad.length / 2)],
        ["open", y((good.length + bad.length + arms) / 2)],
      ].filter(([label]) => data.counts[label] > 0),
      1.35 * unit,
      top,
      bottom,
    );
    replace(
      box,
      svg(
        "svg",
        {
          class: "labels-chart",
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "img",
          "aria-label": words.textContent,
        },
        svg("rect", {
          class: "open-area",
          x: left,
          y: y(arms),
          width: Math.max(0, x(measurements) - left),
          height: y(0) - y(arms),
        }),
        svg("path", { class: "bad-area", d: `${line(high)}V${y(0)}H${left}Z` }),
        svg("path", { class: "good-area", d: `${line(low)}V${y(0)}H${left}Z` }),
        svg("path", { class: "bad-line", d: line(high) }),
        svg("path", { class: "good-line", d: line(low) }),
        axis.map((t) =>
          svg(
            "g",
            {},
            svg("line", { class: "tick", x1: x(t), x2: x(t), y1: bottom, y2: bottom + 4 }),
            svg("text", { x: x(t), y: bottom + 1.35 * unit, "text-anchor": "middle" }, count(t)),
          ),
        ),
        [0, arms].map((t) =>
          svg("text", { x: left - 6, y: y(t) + 0.3 * unit, "text-anchor": "end" }, count(t)),
        ),
        svg("line", { class: "axis", x1: left, x2: x(measurements), y1: bottom, y2: bottom }),
        ends.map(([label, at]) =>
          svg(
            "text",
            { class: `end ${label}`, x: x(measurements) + 8, y: at + 0.32 * unit },
            `${count(data.counts[label])} ${label}`,
          ),
        ),
      ),
    );
  }
  const again = followWidth(box, draw, signal);

  function set(arms, measurements) {
    const moments = { good: [], bad: [] };
    let k = 0;
    arms.label.forEach((label, i) => {
      if (arms.withdrawn[i]) return;
      k++;
      if (label !== "open") moments[label].push(arms.certified_after[i] ?? measurements);
    });
    for (const list of Object.values(moments)) list.sort((a, b) => a - b);
    const { good, bad } = moments;
    data = {
      good,
      bad,
      arms: k,
      measurements,
      counts: { good: good.length, bad: bad.length, open: k - good.length - bad.length },
    };
    words.textContent =
      good.length + bad.length
        ? `The first label was certified after ` +
          plural(Math.min(good[0] ?? Infinity, bad[0] ?? Infinity), "measurement") +
          (k > 1 ? `, half of the ${count(k)} labels ${half(good, bad, k)}.` : ".")
        : "No label is certified yet. The first ones come when their evidence reaches what they " +
          "need.";
    box.hidden = table.hidden = !measurements;
    const before = (list, at) => list.findLastIndex((m) => m <= at) + 1;
    replace(
      rows,
      (measurements ? [0.1, 0.25, 0.5, 0.75, 1] : []).map((part) => {
        const at = Math.round(part * measurements),
          g = before(good, at),
          b = before(bad, at);
        return h(
          "tr",
          {},
          [at, g, b, k - g - b].map((n) => h("td", { class: "number" }, count(n))),
        );
      }),
    );
    again();
  }
  const element = h("figure", {}, box, words, table);
  return { element, set };
}

function half(good, bad, k) {
  const all = [...good, ...bad].sort((a, b) => a - b);
  const at = all[Math.ceil(k / 2) - 1];
  return at === undefined ? `not yet (${count(all.length)} are)` : `after ${count(at)}`;
}

// Labels at the end of lines, moved apart so that none covers another.
function place(ends, apart, top, bottom) {
  const sorted = ends.sort((a, b) => b[1] - a[1]); // from the bottom up
  let floor = bottom - 0.2 * apart;
  for (const end of sorted) {
    end[1] = Math.min(end[1], floor);
    floor = end[1] - apart;
  }
  let ceiling = top + 0.3 * apart;
  for (const end of sorted.reverse()) {
    end[1] = Math.max(end[1], ceiling);
    ceiling = end[1] + apart;
  }
  return sorted;
}

// Measurements so far, the lower bound, the forecast and the budget on one line: set({measurements,
// bound, at, remark, left, budget, known}). The bound is of the moment with ``at`` measurements.
export function costChart(signal) {
  let data = null;
  const box = h("div", { class: "chart" }),
    words = h("p", { class: "cost-words" });
  function draw(width) {
    if (!data) return;
    const { measurements, bound, budget } = data,
      unit = rem();
    const left = data.left && data.left.low !== null && data.left.high !== 0 ? data.left : null;
    const height = 5.4 * unit,
      middle = 2.55 * unit,
      thick = 0.8 * unit,
      edge = 2;
    const end = left ? measurements + (left.high ?? 2 * left.low + measurements) : measurements;
    const most = Math.max(
      1,
      end,
      bound ?? 0,
      budget !== null && budget < 3 * Math.max(end, bound ?? 0) ? budget : 0,
    );
    const x = scale(0, most * 1.04, edge, width - edge);
    // Where a text goes that is to stand in the middle of `at`, from left to right.
    const span = (at, text) => {
      const wide = 0.47 * unit * text.length,
        from = Math.max(0, Math.min(width - wide, at - wide / 2));
      return [from, from + wide];
    };
    const note = (at, text, y, name) => {
      const [from, to] = span(at, text);
      const anchor = from === 0 ? "start" : to === width ? "end" : "middle";
      const x = { start: 0, middle: at, end: width }[anchor];
      return svg("text", { class: name, x, y, "text-anchor": anchor }, text);
    };
    const now = `${count(measurements)} so far`,
      then = "end, forecast",
      when = left && x(measurements + (left.low + (left.high ?? left.low)) / 2);
    const apart = left && span(when, then)[0] - span(x(measurements), now)[1] > 0.6 * unit;
    replace(
      box,
      svg(
        "svg",
        {
          class: "cost-chart",
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "img",
          "aria-label": words.textContent,
        },
        svg("rect", {
          class: "rail",
          x: edge,
          y: middle - thick / 2,
          width: width - 2 * edge,
          height: thick,
          rx: 3,
        }),
        svg("rect", {
          class: "done",
          x: edge,
          y: middle - thick / 2,
          width: Math.max(2, x(measurements) - edge),
          height: thick,
          rx: 3,
        }),
        left &&
          svg("rect", {
            class: left.high === null ? "ahead endless" : "ahead",
            x: x(measurements + left.low),
            y: middle - thick / 2,
            width: Math.max(
              3,
              x(left.high === null ? most * 1.04 : measurements + left.high) -
                x(measurements + left.low),
            ),
            height: thick,
          }),
        bound >= 1 && [
          svg("line", {
            class: "bound",
            x1: x(bound),
            x2: x(bound),
            y1: middle - thick,
            y2: middle + thick,
          }),
          note(x(bound), `lower bound ${count(bound)}`, middle - 1.05 * unit, "above"),
        ],
        budget !== null &&
          budget <= most &&
          svg("line", {
            class: "budget",
            x1: x(budget),
            x2: x(budget),
            y1: middle - thick,
            y2: middle + thick,
          }),
        note(x(measurements), now, middle + 1.75 * unit, "below strong"),
        apart && note(when, then, middle + 1.75 * unit, "below"),
      ),
    );
  }
  const again = followWidth(box, draw, signal);
  function set(given) {
    data = given;
    const { measurements, at, bound, remark, left, budget, known } = data;
    const sentences = [];
    if (bound >= 1) {
      sentences.push(
        at === measurements
          ? `${plural(measurements, "measurement")} so far: ` +
            `${number(measurements / bound, 2)} times what any ` +
            `method needs on average (${count(bound)}) if today's rough estimates are right.`
          : `${plural(measurements, "measurement")} so far. ` +
            `After ${count(at)} of them it seemed that ` +
            `any method needs ${count(bound)} on average.`,
      );
    } else {
      sentences.push(`${plural(measurements, "measurement")} so far.`);
      if (known && bound === null && !remark && left?.high !== 0)
        sentences.push(
          "There is no lower bound yet: every arm needs a measurement first, and no estimate " +
            "may lie on the threshold.",
        );
    }
    if (remark) sentences.push(remark);
    if (left && left.high === 0) sentences.push("Nothing more is needed.");
    else if (left && left.low === null)
      sentences.push(
        "The forecast: longer than could be simulated. Some arms may be very close to the " +
          "threshold.",
      );
    else if (left) {
      sentences.push(
        left.high === null
          ? `The forecast: perhaps ${count(left.low)} more, or far more. Some arms may be so ` +
              `close to the threshold that they stay open for long.`
          : `The forecast: perhaps ${count(left.low)} to ${count(left.high)} more.`,
      );
    }
    if (budget !== null) {
      const short =
        left && left.high !== 0 && (left.low === null || measurements + left.low > budget);
      sentences.push(
        `The budget is ${count(budget)}` +
          (short ? ", which will probably end before every label is certified." : "."),
      );
    }
    words.textContent = sentences.join(" ");
    again();
  }
  return { element: h("div", {}, words, box), set };
}

// The band of a question: arms on a line, the best, the threshold, and the noise of one measurement
// as a bell. set({means, threshold, sigma, bell}) draws; bell says whether the noise has the shape
// of one.
export function bandPicture(signal) {
  let data = null;
  const box = h("div", { class: "chart" });
  function draw(width) {
    if (!data) return;
    const { means, threshold, sigma } = data,
      unit = rem();
    const best = Math.max(...means),
      least = Math.min(...means);
    const height = 12.5 * unit,
      ground = 8.6 * unit,
      top = 1.9 * unit,
      side = 1.2 * unit;
    const bell = data.bell && sigma > 0 ? sigma : 0; // other models are not shaped like a bell
    const low = Math.min(least, threshold, best - 3 * bell),
      high = best + 3 * bell;
    const room = (high - low || 1) * 0.05;
    const x = scale(low - room, high + room, side, width - side);
    const shownBell = bell && x(best + bell) - x(best) > 1;
    const curve = [];
    if (shownBell) {
      for (let z = -3; z <= 3.001; z += 0.1)
        curve.push([
          x(best + z * bell),
          ground - (ground - top - 1.4 * unit) * Math.exp((-z * z) / 2),
        ]);
    }
    const dots = spread(means, x, 0.66 * unit, 8);
    const shown = ticks(low, high, Math.max(2, Math.floor(width / (6 * unit))));
    const bandLow = x(threshold),
      bandHigh = x(best);
    const tight = bandHigh - bandLow < 9 * unit;
    replace(
      box,
      svg(
        "svg",
        {
          class: "band-picture",
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "img",
          "aria-label": words(data),
        },
        svg("clipPath", { id: "band-clip" }, svg("rect", { x: 0, y: 0, width, height })),
        svg("rect", {
          class: "band",
          x: bandLow,
          y: top,
          width: Math.max(1, bandHigh - bandLow),
          height: ground - top,
        }),
        svg("line", {
          class: "threshold",
          x1: bandLow,
          x2: bandLow,
          y1: top - 0.3 * unit,
          y2: ground + 4,
        }),
        svg("line", {
          class: "best",
          x1: bandHigh,
          x2: bandHigh,
          y1: top - 0.3 * unit,
          y2: ground + 4,
        }),
        shownBell &&
          svg(
            "g",
            { "clip-path": "url(#band-clip)" },
            svg("path", {
              class: "bell",
              d: `M${curve.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L")}`,
            }),
          ),
        shownBell &&
          x(best + 1.1 * bell) + 12 * unit < width && // else the words below must do
          svg(
            "text",
            {
              class: "bell-name",
              x: x(best + 1.1 * bell) + 8,
              y: ground - 0.6 * (ground - top - 1.4 * unit),
            },
            "noise of one measurement",
          ),
        dots.map(([px, layer, mean]) =>
          shape(mean >= threshold, px, ground - 0.65 * unit - layer * 0.72 * unit, 0.27 * unit),
        ),
        svg("line", { class: "axis", x1: side, x2: width - side, y1: ground, y2: ground }),
        shown.map((t) =>
          svg(
            "g",
            {},
            svg("line", { class: "tick", x1: x(t), x2: x(t), y1: ground, y2: ground + 4 }),
            svg("text", { x: x(t), y: ground + 1.4 * unit, "text-anchor": "middle" }, number(t, 4)),
          ),
        ),
        svg(
          "text",
          {
            class: "strong",
            x: bandLow - (tight ? 4 : 0),
            y: top - 0.65 * unit,
            "text-anchor": tight ? "end" : "middle",
          },
          `threshold ${number(threshold, 4)}`,
        ),
        svg(
          "text",
          {
            class: "strong",
            x: Math.min(bandHigh + (tight ? 4 : 0), width),
            y: top - 0.65 * unit,
            "text-anchor": bandHigh > width - 3 * unit ? "end" : tight ? "start" : "middle",
          },
          `best ${number(best, 4)}`,
        ),
        svg(
          "text",
          { x: width / 2, y: ground + 3.1 * unit, "text-anchor": "middle" },
          "true mean of an arm (your guess)",
        ),
      ),
    );
  }
  const words = ({ means, threshold, sigma, bell }) =>
    `${plural(means.filter((m) => m >= threshold).length, "arm")} of ${count(means.length)} in ` +
    `the band from ` +
    `${number(threshold)} to ${number(Math.max(...means))}.` +
    (sigma > 0 ? ` One measurement scatters by about ${number(sigma)}` : "") +
    (sigma > 0 ? `${bell ? ", as the bell shows" : ""}.` : "");
  const again = followWidth(box, draw, signal);
  return {
    element: box,
    set(given) {
      data = given;
      again();
    },
    words: () => words(data),
  };
}

const shape = (good, x, y, r) =>
  good
    ? svg("circle", { class: "dot good", cx: x, cy: y, r })
    : svg("path", {
        class: "dot bad",
        d: `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`,
      });

// Dots that would cover each other are piled up; where the pile is full the rest is left out.
function spread(means, x, apart, most) {
  const piles = new Map(),
    found = [];
  for (const mean of means) {
    const at = x(mean),
      key = Math.round(at / apart),
      pile = piles.get(key) ?? { at, layers: 0 };
    if (pile.layers < most) found.push([pile.at, pile.layers, mean]);
    pile.layers++;
    piles.set(key, pile);
  }
  return found;
}
