// The arms of a study as a forest plot: estimate, interval, evidence over need. Only rows in view
// exist, and they are used again as one scrolls, so that 100,000 arms are no more work than 50.
import {
  h,
  nameLink,
  PRINTED,
  replace,
  svg,
  unprinted,
  whenPrinted,
  writeName,
} from "./dom.js";
import { count, decimalsFor, fixed, number } from "./format.js";
import { armPath } from "./head.js";
import { scale, ticks } from "./plot.js";

const AHEAD = 4; // rows kept above and below the view
const NARROW = 640; // pixels below which a row has two lines
const FLASH = 2200; // milliseconds

export const SORTS = {
  mean: ["Estimate", (a) => (i, j) => order(a.mean[j], a.mean[i])],
  evidence: [
    "Closest to a label",
    (a) => (i, j) =>
      (a.label[i] !== "open") - (a.label[j] !== "open") || order(share(a, j), share(a, i)),
  ],
  measurements: ["Measurements", (a) => (i, j) => a.measurements[j] - a.measurements[i]],
  certified: [
    "Latest certified",
    (a) => (i, j) => (a.certified_after[j] ?? -1) - (a.certified_after[i] ?? -1),
  ],
  arm: ["Name", (a) => (i, j) => names.compare(a.arm[i], a.arm[j])],
  given: ["As given", () => () => 0],
};
const names = new Intl.Collator("en", { numeric: true });
// Unknown numbers come last.
const order = (x, y) => (x ?? -Infinity) - (y ?? -Infinity) || 0;
const share = (a, i) =>
  a.label[i] !== "open" ? 1 : Math.min(1, Math.max(0, (a.evidence[i] ?? 0) / a.need[i])) || 0;

// forest({id, onsort, onshown, signal}) gives {element, set(arms, best, threshold, words),
// show({search, label, sort})}. arms are columns; threshold is null before the first value; words
// says what the band is.
export function forest({ id, onsort, onshown, signal }) {
  let arms = null,
    chosen = new Uint32Array(0),
    best = null,
    threshold = null,
    band = "";
  let wish = { search: "", label: "all", sort: "mean" };
  let domain = null,
    x = null,
    height = 30,
    narrow = false,
    decimals = 2;
  let rows = [],
    first = 0,
    version = 0,
    active = -1,
    frame = 0,
    printing = false;
  const turned = new Set(); // numbers of arms whose label has just turned

  const scaleBox = h("div", { class: "f-scale" });
  const axis = h(
    "div",
    { class: "f-plot f-axis", role: "columnheader" },
    h("span", { class: "unseen" }, "Interval"),
    scaleBox,
  );
  const sorter = (key, words, name) =>
    h(
      "button",
      {
        type: "button",
        class: "plain",
        data: { sort: key },
        "aria-label": name,
        onclick: () => onsort(key),
      },
      words,
    );
  const column = (name, ...content) =>
    h("div", { class: `f-${name}`, role: "columnheader" }, content);
  const head = h(
    "div",
    { class: "f-row f-head", role: "row", "aria-rowindex": 1 },
    column("name", sorter("arm", "Arm")),
    axis,
    column("mean", sorter("mean", "Estimate")),
    column("evidence", sorter("evidence", "Evidence / need")),
    column("measurements", sorter("measurements", "n", "number of measurements")),
  );
  const grid = svg("svg", {
    class: "f-grid",
    width: "100%",
    height: "100%",
    "aria-hidden": "true",
  });
  const back = h(
    "div",
    { class: "f-back", "aria-hidden": "true" },
    h(
      "div",
      { class: "f-row" },
      h("div", { class: "f-name" }),
      h("div", { class: "f-plot" }, grid),
      h("div", { class: "f-mean" }),
      h("div", { class: "f-evidence" }),
      h("div", { class: "f-measurements" }),
    ),
  );
  const body = h("div", { class: "f-body", role: "rowgroup" });
  const view = h(
    "div",
    {
      class: "forest",
      role: "table",
      "aria-label": "Arms. The arrow keys go from arm to arm, Enter opens one.",
      tabindex: 0,
    },
    h("div", { role: "rowgroup", class: "f-top" }, head),
    back,
    body,
  );
  const none = h("p", { class: "empty", hidden: true }, "No arm fits this search.");
  const element = h("div", { class: "forest-box" }, view, none);

  function makeRow() {
    const link = nameLink({ tabindex: -1 }),
      flag = h("span", { class: "f-flag" });
    const low = h("i", { class: "f-line" }),
      point = h("i", { class: "f-point" }, h("i", { class: "shape" }));
    const mean = h("div", { class: "f-mean", role: "cell" }),
      measurements = h("div", { class: "f-measurements", role: "cell" }),
      evidence = h("div", { class: "f-evidence", role: "cell" });
    const fill = h("i"),
      figures = h("span", { class: "f-figures" });
    evidence.append(h("span", { class: "f-bar", "aria-hidden": "true" }, fill), figures);
    const label = h("i", { class: "shape", role: "img" });
    const plot = h("div", { class: "f-plot", role: "cell" }, low, point);
    const line = h(
      "div",
      { class: "f-row", role: "row" },
      h("div", { class: "f-name", role: "rowheader" }, label, link, flag),
      plot,
      mean,
      evidence,
      measurements,
    );
    line.addEventListener("animationend", () => line.classList.remove("flash"));
    return {
      line,
      link,
      flag,
      low,
      point,
      mean,
      measurements,
      evidence,
      fill,
      figures,
      label,
      plot,
      at: -1,
      version: -1,
    };
  }

  function write(row, at) {
    if (row.at === at && row.version === version) return;
    row.at = at;
    row.version = version;
    const { line } = row;
    line.hidden = at >= chosen.length;
    if (line.hidden) return;
    const i = chosen[at],
      name = arms.arm[i],
      label = arms.label[i],
      m = arms.mean[i];
    line.style.transform = `translateY(${at * height}px)`;
    line.setAttribute("aria-rowindex", at + 2);
    if (row.shown !== label) {
      line.dataset.label = row.shown = label;
      row.label.setAttribute("aria-label", label === "open" ? label : `certified ${label}`);
    }
    line.classList.toggle("gone", arms.withdrawn[i] || arms.dropped[i] !== null);
    if (row.arm !== i) line.classList.remove("flash");
    row.arm = i;
    if (turned.delete(i)) line.classList.add("flash");
    writeName(row.link, name, armPath(id, name));
    row.flag.textContent = flagOf(i);
    row.mean.textContent = m === null ? "–" : fixed(m, decimals);
    row.measurements.textContent = count(arms.measurements[i]);
    const e = arms.evidence[i],
      need = arms.need[i];
    const has = fixed(Math.max(0, e ?? 0), 1),
      needs = need === null ? "–" : fixed(need, 1);
    const free = e === null && label !== "open"; // all rivals are certified bad
    row.figures.textContent = free ? "no rival left" : `${has} / ${needs}`;
    row.evidence.setAttribute(
      "aria-label",
      free
        ? "no rival left"
        : need === null
          ? "no evidence yet"
          : `evidence ${has} of ${needs} needed`,
    );
    row.fill.style.transform = `scaleX(${share(arms, i)})`;
    const drawn = m !== null && x !== null;
    row.point.hidden = row.low.hidden = !drawn;
    if (!drawn) {
      tell(row.plot, "No measurement yet");
      return;
    }
    const low = arms.low[i] ?? -Infinity,
      high = arms.high[i] ?? Infinity;
    // Both are as wide as the plot and moved by transforms, which need no new layout.
    const from = Math.max(-1, x(low)),
      to = Math.min(101, x(high));
    row.low.style.transform = `translateX(${from}%) scaleX(${Math.max(0, to - from) / 100})`;
    row.point.style.transform = `translateX(${x(m)}%)`;
    tell(row.plot, `between ${number(arms.low[i], 4)} and ${number(arms.high[i], 4)}`);
  }

  const flagOf = (i) =>
    arms.withdrawn[i]
      ? "left the question"
      : arms.dropped[i] !== null
        ? "dropped"
        : arms.suspect[i]
          ? "suspect"
          : arms.waiting[i]
            ? "waiting"
            : "";
  const tell = (cell, words) => {
    cell.title = words;
    cell.setAttribute("aria-label", words);
  };

  // Moves the rows to where the view is.
  function look() {
    frame = 0;
    if (!arms) return;
    const room = printing ? PRINTED : Math.ceil(view.clientHeight / height) + 2 * AHEAD,
      need = Math.min(chosen.length, room);
    while (rows.length < need) {
      rows.push(makeRow());
      body.append(rows.at(-1).line);
    }
    while (rows.length > need) rows.pop().line.remove();
    const start = Math.max(
      0,
      printing
        ? 0
        : Math.min(Math.floor(view.scrollTop / height) - AHEAD, chosen.length - rows.length),
    );
    const by = start - first;
    if (by && Math.abs(by) < rows.length) {
      const moved = by > 0 ? rows.splice(0, by) : rows.splice(by);
      if (moved.some((row) => row.line.contains(document.activeElement)))
        view.focus({ preventScroll: true });
      const lines = moved.map((row) => row.line);
      if (by > 0) {
        rows.push(...moved);
        body.append(...lines);
      } else {
        rows.unshift(...moved);
        body.prepend(...lines);
      }
    } else if (by && rows.some((row) => row.line.contains(document.activeElement)))
      view.focus({ preventScroll: true });
    first = start;
    rows.forEach((row, k) => write(row, first + k));
  }
  const later = () => {
    frame ||= requestAnimationFrame(look);
  };

  // The axis: all estimates, and intervals as far as they are not absurdly wide. It moves only if
  // it has to.
  function fit() {
    let lowest = Infinity,
      highest = -Infinity,
      from = Infinity,
      to = -Infinity;
    arms.mean.forEach((m, i) => {
      if (m === null || arms.withdrawn[i]) return;
      lowest = Math.min(lowest, m);
      highest = Math.max(highest, m);
      from = Math.min(from, arms.low[i] ?? -Infinity);
      to = Math.max(to, arms.high[i] ?? Infinity);
    });
    if (!Number.isFinite(lowest)) {
      domain = x = null;
      element.style.removeProperty("--from");
      return;
    }
    const room = Math.max(
      highest - lowest,
      1.6 * (best - threshold),
      1e-9 * Math.abs(highest) || 1e-9,
    );
    const low = Math.min(threshold, Math.max(from, lowest - 0.3 * room)),
      high = Math.min(to, highest + 0.3 * room);
    const fits =
      domain && low >= domain[0] && high <= domain[1] && high - low > 0.7 * (domain[1] - domain[0]);
    if (!fits) {
      const edge = 0.03 * (high - low);
      domain = [low - edge, high + edge];
    }
    x = scale(...domain, 0, 100);
    element.style.setProperty("--from", `${x(threshold)}%`); // the band on paper
    element.style.setProperty("--to", `${x(best)}%`);
    decimals = Math.min(4, decimalsFor(highest - lowest || Math.abs(highest)));
  }

  function drawAxis() {
    const width = axis.clientWidth,
      unit = parseFloat(getComputedStyle(document.documentElement).fontSize);
    if (!x || !width) {
      replace(scaleBox);
      replace(grid);
      return;
    }
    const marks = ticks(...domain, Math.max(2, Math.floor(width / (5 * unit)))).filter(
      (t) => t >= domain[0] && t <= domain[1],
    );
    // In percent, since paper has another width.
    const percent = (p) => `${p.toFixed(3)}%`,
      at = (t) => percent(x(t));
    const left = x(threshold),
      right = x(best),
      edge = (80 * unit) / width,
      words = band;
    const wide = ((right - left) / 100) * width > 0.52 * unit * words.length;
    const anchor = wide ? "middle" : left > 100 - right ? "end" : "start";
    const line = (x1, y1, x2, y2) => svg("line", { class: "f-brace", x1, y1, x2, y2 });
    replace(
      scaleBox,
      svg(
        "svg",
        {
          width: "100%",
          height: "100%",
          role: "img",
          "aria-label":
            `Axis from ${number(domain[0])} to ${number(domain[1])}. The band, ` +
            `${words}, goes from ${number(threshold, 4)} to ${number(best, 4)}.`,
        },
        line(at(threshold), 1.9 * unit, at(threshold), 1.45 * unit),
        line(at(threshold), 1.45 * unit, at(best), 1.45 * unit),
        line(at(best), 1.45 * unit, at(best), 1.9 * unit),
        svg(
          "text",
          {
            class: "f-band-name",
            x: percent(wide ? (left + right) / 2 : anchor === "end" ? right : left),
            y: 1.05 * unit,
            "text-anchor": anchor,
          },
          words,
        ),
        marks.map((t) =>
          svg(
            "text",
            {
              x: percent(Math.min(100 - edge, Math.max(edge, x(t)))),
              y: 3 * unit,
              "text-anchor": "middle",
            },
            number(t, 4),
          ),
        ),
      ),
    );
    replace(
      grid,
      svg("rect", {
        class: "f-band",
        x: at(threshold),
        y: 0,
        width: `${Math.max(0, x(best) - x(threshold))}%`,
        height: "100%",
      }),
      marks.map((t) => svg("line", { class: "f-tick", x1: at(t), x2: at(t), y1: 0, y2: "100%" })),
      svg("line", {
        class: "f-threshold",
        x1: at(threshold),
        x2: at(threshold),
        y1: 0,
        y2: "100%",
      }),
      svg("line", { class: "f-best", x1: at(best), x2: at(best), y1: 0, y2: "100%" }),
    );
  }

  function choose() {
    const wanted = wish.search.trim().toLowerCase(),
      found = [];
    for (let i = 0; i < arms.arm.length; i++) {
      if (wish.label !== "all" && (arms.label[i] !== wish.label || arms.withdrawn[i])) continue;
      if (wanted && !arms.arm[i].toLowerCase().includes(wanted)) continue;
      found.push(i);
    }
    chosen = Uint32Array.from(found.sort((SORTS[wish.sort] ?? SORTS.mean)[1](arms)));
    for (const button of head.querySelectorAll("[data-sort]")) {
      const on = button.dataset.sort === wish.sort;
      button.parentElement.setAttribute(
        "aria-sort",
        !on ? "none" : wish.sort === "arm" ? "ascending" : "descending",
      );
    }
    none.hidden = chosen.length > 0;
    view.hidden = !chosen.length;
    onshown?.(chosen.length, arms.arm.length);
  }

  function draw() {
    version++;
    body.style.height = `${chosen.length * height}px`;
    view.setAttribute("aria-rowcount", chosen.length + 1);
    element.dataset.rest = unprinted(chosen.length);
    const room = view.clientHeight - head.offsetHeight;
    back.style.setProperty("--view", `${Math.min(room, chosen.length * height)}px`);
    look();
  }

  function measure() {
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize);
    narrow = element.clientWidth < NARROW;
    element.classList.toggle("narrow", narrow);
    height = Math.round((narrow ? 3.5 : 2) * unit);
    element.style.setProperty("--row", `${height}px`);
    const longest = arms.arm.reduce((most, name) => Math.max(most, name.length), 0);
    const flags = arms.arm.some((_, i) => flagOf(i));
    element.style.setProperty(
      "--name",
      `${Math.min(15, Math.max(6, 3.2 + 0.62 * longest + (flags ? 3.6 : 0)))}rem`,
    );
  }

  function resize() {
    if (!arms) return;
    const top = view.scrollTop / height;
    measure();
    drawAxis();
    draw();
    view.scrollTop = top * height;
  }

  function focusOn(at) {
    if (!chosen.length) return;
    at = Math.max(0, Math.min(chosen.length - 1, at));
    const room = view.clientHeight - head.offsetHeight,
      top = at * height;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + height > view.scrollTop + room) view.scrollTop = top + height - room;
    active = chosen[at];
    look();
    rows[at - first]?.link.focus({ preventScroll: true });
  }

  view.addEventListener("keydown", (event) => {
    if (event.target.closest("button") || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((view.clientHeight - head.offsetHeight) / height) - 1);
    const by = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    }[event.key];
    if (!by) return;
    event.preventDefault();
    const here = active < 0 ? -1 : chosen.indexOf(active);
    focusOn(
      here < 0 ? (by === Infinity ? Infinity : Math.ceil(view.scrollTop / height)) : here + by,
    );
  });
  view.addEventListener("focusin", (event) => {
    const row = rows.find((one) => one.line.contains(event.target));
    if (row) active = chosen[row.at];
  });
  view.addEventListener("scroll", later, { passive: true });
  whenPrinted((is) => {
    printing = is;
    look();
  }, signal);
  const sized = new ResizeObserver(resize);
  sized.observe(element);
  signal?.addEventListener(
    "abort",
    () => {
      sized.disconnect();
      cancelAnimationFrame(frame);
    },
    { once: true },
  );

  return {
    element,
    // Returns the arms whose label turned, as [name, label].
    set(given, newBest, newThreshold, words) {
      const before = arms,
        changes = [];
      if (before) {
        given.label.forEach((label, i) => {
          if (before.label[i] !== undefined && before.label[i] !== label)
            changes.push([given.arm[i], label, i]);
        });
        for (const [, , i] of changes) {
          turned.add(i);
          setTimeout(() => turned.delete(i), FLASH);
        }
      }
      const held = rows.find((row) => row.line.contains(document.activeElement));
      const arm = held ? chosen[held.at] : -1;
      arms = given;
      best = newBest;
      threshold = newThreshold;
      band = words;
      measure();
      fit();
      choose();
      drawAxis();
      draw();
      if (arm >= 0 && chosen[held.at] !== arm) {
        // the focus stays on the arm, or in the table
        const row = rows.find((one) => one.at < chosen.length && chosen[one.at] === arm);
        (row?.link ?? view).focus({ preventScroll: true });
        active = arm;
      }
      return changes.map(([name, label]) => [name, label]);
    },
    show(given) {
      wish = { ...wish, ...given };
      if (!arms) return;
      choose();
      view.scrollTop = 0;
      draw();
    },
  };
}
