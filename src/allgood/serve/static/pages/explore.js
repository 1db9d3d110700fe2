// An instance without a study: its band, T*, the optimal weights, the cheapest alternative, and a
// simulated run.
import { aborted, post } from "../api.js";
import { announce, badge, debounce, field, h, replace, svg } from "../dom.js";
import { count, number, percent, plural } from "../format.js";
import { shortcut } from "../shortcuts.js";
import { followWidth, scale, ticks, widened } from "../plot.js";

const MOST = 2000; // arms that the server takes
const HANDLES = 120; // with more arms, means are typed and not dragged
const SECONDS = 14; // a run at speed 1

const EXAMPLES = [
  ["Six arms", { means: "1, 0.8, 0.55, 0.5, 0.3, 0.1", epsilon: 0.3 }],
  ["The paper's first instance", { means: "1, 1, 1, 1, 0.05", epsilon: 0.9, delta: 0.1 }],
  [
    "A screen of 20",
    {
      means: "92, 90, 88, 85, 84, 71, 68, 65, 60, 44, 41, 38, 33, 31, 27, 22, 18, 12, 9, 4",
      epsilon: 15,
      sigma: 10,
    },
  ],
  [
    "Prompts, pass or fail",
    { means: "0.91, 0.89, 0.84, 0.78, 0.75, 0.6, 0.42", epsilon: 0.05, model: "bernoulli" },
  ],
  [
    "Counts, at least 80 % of the best",
    { means: "12, 11, 9, 8, 5, 3", epsilon: 0.2, multiplicative: true, model: "poisson" },
  ],
];
const MODELS = [
  ["gaussian", "Normal, known standard deviation"],
  ["bernoulli", "0 or 1"],
  ["poisson", "Counts (Poisson)"],
  ["exponential", "Waiting times (exponential)"],
  ["bounded", "Between 0 and 1, any shape"],
];
const LIMITS = {
  bernoulli: [0, 1],
  bounded: [0, 1],
  poisson: [0, Infinity],
  exponential: [1e-9, Infinity],
};
const BOUNDS = {
  asymptotic: ["T* kl(δ, 1 − δ)", "what any method needs on average"],
  asymptotic_log: ["T* log(1/2.4δ)", "the same, in a simpler form"],
  mason: ["Mason et al., 2020", "from single comparisons"],
  moderate: ["For moderate risk", "on the average over all orders of the arms"],
};

// "1, 0.8 0.55" as numbers; what is no number is named.
export function parseMeans(text) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  const bad = words.find((word) => !Number.isFinite(Number(word)));
  if (bad !== undefined) throw new Error(`“${bad}” is no number.`);
  if (!words.length) throw new Error("Type at least one mean.");
  if (words.length > MOST) throw new Error(`At most ${count(MOST)} arms can be explored here.`);
  return words.map(Number);
}

const tidy = (x) => Number(x.toPrecision(10));
const bodyOf = (state) => ({
  means: state.means,
  epsilon: state.epsilon,
  multiplicative: state.multiplicative,
  delta: state.delta,
  model: state.model === "bounded" ? "bounded:0:1" : state.model,
  sigma: state.model === "gaussian" ? state.sigma : null,
});
const bestOf = (means) => means.reduce((a, b) => Math.max(a, b), -Infinity);
const thresholdOf = (state, means = state.means) =>
  state.multiplicative ? (1 - state.epsilon) * bestOf(means) : bestOf(means) - state.epsilon;

// ---- the picture of the instance: a row for each arm

function shape(label, x, y, r) {
  if (label === "bad")
    return svg("path", {
      class: "shape bad",
      d: `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`,
    });
  return svg("circle", { class: `shape ${label}`, cx: x, cy: y, r });
}

function arrow(from, to, y) {
  const way = Math.sign(to - from),
    tip = to;
  return [
    svg("line", { class: "alt-line", x1: from, x2: tip - way * 3, y1: y, y2: y }),
    svg("path", { class: "alt-head", d: `M${tip} ${y}l${-way * 7} -4v8z` }),
  ];
}

function instance(box, state, answer, frame, width, hands) {
  const { means } = state,
    K = means.length;
  const row = K <= 30 ? 28 : K <= 80 ? 18 : K <= 300 ? 9 : 5;
  const left = row >= 18 ? 34 : 8,
    bars = width < 560 ? 78 : Math.min(280, width * 0.26),
    top = 28,
    bottom = 30;
  const height = top + K * row + bottom,
    right = width - bars - 22;
  const alt = state.showAlternative && !frame ? answer?.alternative?.means : null;
  const threshold = thresholdOf(state),
    best = bestOf(means);
  const x = scale(...state.domain, left + 8, right);
  const inside = (v) => Math.max(left, Math.min(right + 6, x(v)));
  const weights = answer?.weights ?? null,
    shares = frame ? frame.counts.map((n) => n / Math.max(1, frame.pulls)) : null;
  const most = Math.max(1e-9, ...(weights ?? []), ...(shares ?? []));
  const w = scale(0, most, 0, bars - 44);
  const parts = [
    svg("rect", {
      class: "band",
      x: inside(threshold),
      y: top - 6,
      width: Math.max(1, inside(best) - inside(threshold)),
      height: K * row + 12,
    }),
    svg("line", {
      class: "threshold",
      x1: inside(threshold),
      x2: inside(threshold),
      y1: top - 6,
      y2: top + K * row + 6,
    }),
    svg(
      "text",
      {
        class: "tick band-name",
        x: inside(threshold),
        y: 14,
        "text-anchor": inside(threshold) > right - 80 ? "end" : "middle",
      },
      `good from ${number(threshold, 4)}`,
    ),
    svg("text", { class: "tick", x: width - bars, y: 14 }, frame ? "measured" : "weights"),
  ];
  for (const t of ticks(...state.domain, Math.max(3, (right - left) / 90))) {
    parts.push(
      svg("line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: top + K * row }),
      svg("text", { class: "tick", x: x(t), y: height - 10, "text-anchor": "middle" }, number(t)),
    );
  }
  if (alt) {
    const line = inside(thresholdOf(state, alt));
    parts.push(
      svg("line", {
        class: "alt-threshold",
        x1: line,
        x2: line,
        y1: top - 6,
        y2: top + K * row + 6,
      }),
    );
  }
  const handles = K <= HANDLES;
  means.forEach((mean, k) => {
    const y = top + (k + 0.5) * row,
      isGood = state.multiplicative ? mean >= threshold : mean >= threshold - 1e-12;
    const label = frame ? frame.labels[k] : isGood ? "good" : "bad",
      r = row >= 18 ? 5.5 : row >= 9 ? 3 : 2;
    const group = svg(
      "g",
      handles && !frame
        ? {
            class: "arm",
            tabindex: 0,
            role: "slider",
            "aria-label": `Mean of arm ${k}`,
            "aria-valuenow": mean,
            "aria-valuemin": state.domain[0],
            "aria-valuemax": state.domain[1],
            data: { arm: k },
            "aria-valuetext":
              `${number(mean, 5)}, ` +
              `${label}${weights ? `, optimal weight ${percent(weights[k])}` : ""}`,
            onkeydown: (e) => hands.key(e, k),
            onpointerdown: (e) => hands.down(e, k, x),
          }
        : { class: "arm still" },
    );
    group.append(
      svg("rect", { class: "hit", x: 0, y: y - row / 2, width: right + 12, height: row }),
    );
    if (row >= 18)
      group.append(
        svg("text", { class: "tick name", x: left - 10, y: y + 4, "text-anchor": "end" }, k),
      );
    if (row >= 9) group.append(svg("line", { class: "rail", x1: left, x2: right, y1: y, y2: y }));
    if (frame) {
      const m = frame.means[k];
      group.append(svg("path", { class: "truth", d: `M${x(mean)} ${y - r - 1}v${2 * r + 2}` }));
      if (m !== null) group.append(shape(label, inside(m), y, r));
    } else {
      group.append(shape(label, x(mean), y, r));
      if (alt && Math.abs(alt[k] - mean) > 1e-9 * (1 + Math.abs(mean)))
        group.append(...arrow(x(mean), inside(alt[k]), y));
    }
    parts.push(group);
    const at = width - bars,
      thick = Math.max(2, Math.min(12, row - 8));
    if (weights)
      parts.push(
        svg("rect", {
          class: frame ? "weight ghost" : `weight ${label}`,
          x: at,
          y: y - thick / 2,
          width: Math.max(0.5, w(weights[k])),
          height: thick,
          rx: 2,
        }),
      );
    if (shares)
      parts.push(
        svg("rect", {
          class: `share ${label}`,
          x: at,
          y: y - thick / 4,
          width: Math.max(0.5, w(shares[k])),
          height: thick / 2,
          rx: 1,
        }),
      );
    if (row >= 18) {
      const bar = Math.max(weights ? w(weights[k]) : 0, shares ? w(shares[k]) : 0);
      const words = shares ? count(frame.counts[k]) : weights ? percent(weights[k]) : "";
      parts.push(svg("text", { class: "tick", x: at + bar + 6, y: y + 4 }, words));
    }
  });
  const focused = document.activeElement?.closest?.("[data-arm]")?.dataset.arm;
  const words =
    `${plural(K, "arm")}; ${count(means.filter((m) => m >= threshold).length)} ` +
    `are good. The table below has the numbers.`;
  replace(
    box,
    svg(
      "svg",
      {
        class: "instance",
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "group",
        "aria-label": words,
      },
      parts,
    ),
  );
  if (focused !== undefined)
    box.querySelector(`[data-arm="${focused}"]`)?.focus({ preventScroll: true });
}

// ---- labels over a run

function course(box, run, at, width) {
  const height = 120,
    left = 40,
    right = 10,
    top = 8,
    bottom = 24,
    { frames } = run;
  const K = frames[0].labels.length;
  const x = scale(
      Math.log(frames[0].pulls),
      Math.log(Math.max(frames.at(-1).pulls, frames[0].pulls + 1)),
      left,
      width - right,
    ),
    y = scale(0, K, height - bottom, top);
  const counts = frames.map((f) => [
    f.labels.filter((l) => l === "good").length,
    f.labels.filter((l) => l === "bad").length,
  ]);
  const area = (upper, lower) => {
    const go = (f) =>
      frames.map((one, i) => {
        const px = x(Math.log(one.pulls)).toFixed(1);
        return i
          ? `${px},${y(f(counts[i - 1])).toFixed(1)} ${px},${y(f(counts[i])).toFixed(1)}`
          : `${px},${y(f(counts[0])).toFixed(1)}`;
      });
    return `${go(upper).join(" ")} ${go(lower)
      .map((p) => p.split(" ").reverse().join(" "))
      .reverse()
      .join(" ")}`;
  };
  const parts = [
    svg("rect", {
      class: "open-area",
      x: left,
      y: top,
      width: width - left - right,
      height: height - bottom - top,
    }),
    svg("polygon", {
      class: "good-area",
      points: area(
        ([g]) => g,
        () => 0,
      ),
    }),
    svg("polygon", {
      class: "bad-area",
      points: area(
        ([g, b]) => g + b,
        ([g]) => g,
      ),
    }),
    [0, K].map((t) =>
      svg("text", { class: "tick", x: left - 6, y: y(t) + 4, "text-anchor": "end" }, t),
    ),
  ];
  const first = frames[0].pulls,
    last = frames.at(-1).pulls;
  for (let p = 10 ** Math.ceil(Math.log10(first)); p <= last; p *= 10) {
    parts.push(
      svg(
        "text",
        { class: "tick", x: x(Math.log(p)), y: height - 6, "text-anchor": "middle" },
        count(p),
      ),
    );
  }
  const here = x(Math.log(frames[at].pulls));
  parts.push(
    svg("line", { class: "cursor", x1: here, x2: here, y1: top - 4, y2: height - bottom + 4 }),
  );
  const [g, b] = counts[at];
  replace(
    box,
    svg(
      "svg",
      {
        class: "course",
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "img",
        "aria-label":
          `Labels against measurements. At ${count(frames[at].pulls)} measurements: ` +
          `${g} good, ${b} bad, ${K - g - b} open.`,
      },
      parts,
    ),
  );
}

// ---- the page

export async function show(main, params, signal) {
  const q = params.query;
  const state = {
    means: [1, 0.8, 0.55, 0.5, 0.3, 0.1],
    epsilon: 0.3,
    delta: 0.05,
    multiplicative: false,
    model: "gaussian",
    sigma: 1,
    showAlternative: true,
    domain: [0, 1],
  };
  try {
    if (q.get("means")) state.means = parseMeans(q.get("means"));
  } catch {
    /* the address was cut off: the example stays */
  }
  for (const key of ["epsilon", "delta", "sigma"])
    if (Number(q.get(key)) > 0) state[key] = Number(q.get(key));
  if (MODELS.some(([m]) => m === q.get("model"))) state.model = q.get("model");
  state.multiplicative = q.get("multiplicative") === "1";
  let answer = null,
    run = null,
    at = 0,
    playing = false,
    latest = null,
    dragging = false;

  // -- controls
  const meansInput = h("textarea", {
    rows: 3,
    spellcheck: "false",
    oninput: () => {
      readMeans();
    },
  });
  const meansError = h("p", { class: "error", role: "alert" }),
    numberError = h("p", { class: "error", role: "alert" }),
    error = h("p", { class: "error", role: "alert" });
  const example = h(
    "select",
    {
      onchange: () => {
        const chosen = EXAMPLES[Number(example.value)]?.[1];
        if (chosen) use(chosen);
      },
    },
    h("option", { value: "" }, "Choose …"),
    EXAMPLES.map(([name], i) => h("option", { value: i }, name)),
  );
  const epsilon = h("input", {
    type: "number",
    min: 0,
    step: "any",
    oninput: () => setNumber(epsilon, "epsilon", (v) => v > 0, "Epsilon must be above 0"),
  });
  const epsilonRange = h("input", {
    type: "range",
    min: 0,
    max: 1000,
    "aria-label": "Epsilon, as a slider",
    oninput: () => {
      state.epsilon =
        tidy((Number(epsilonRange.value) / 1000) * epsilonMost()) || tidy(epsilonMost() / 1000);
      epsilon.value = state.epsilon;
      preview(epsilon);
      changed();
    },
  });
  const epsilonMost = () => (state.multiplicative ? 0.999 : state.domain[1] - state.domain[0]);
  const delta = h("input", {
    type: "number",
    min: 0,
    max: 1,
    step: "any",
    oninput: () =>
      setNumber(delta, "delta", (v) => v > 0 && v < 1, "The risk must be between 0 and 1"),
  });
  const sigma = h("input", {
    type: "number",
    min: 0,
    step: "any",
    oninput: () => setNumber(sigma, "sigma", (v) => v > 0, "The standard deviation must be above 0"),
  });
  const model = h(
    "select",
    {
      onchange: () => {
        state.model = model.value;
        sigmaField.hidden = state.model !== "gaussian";
        if (sigmaField.hidden && wrong.has(sigma)) {
          sigma.value = state.sigma;
          preview(sigma);
        }
        fit();
        changed();
      },
    },
    MODELS.map(([v, w]) => h("option", { value: v }, w)),
  );
  const sigmaField = field("Standard deviation", sigma);
  const way = (value, words) =>
    h(
      "label",
      { class: "segment" },
      h("input", {
        type: "radio",
        name: "way",
        value: value ? "1" : "0",
        checked: state.multiplicative === value,
        onchange: () => {
          state.multiplicative = value;
          if (value && state.epsilon >= 1) {
            state.epsilon = 0.2;
            epsilon.value = 0.2;
            preview(epsilon);
          }
          changed();
        },
      }),
      h("span", {}, words),
    );
  const ways = h(
    "div",
    { class: "segments", role: "radiogroup", "aria-label": "What a good arm is" },
    way(false, "best − ε"),
    way(true, "(1 − ε) × best"),
  );
  const alternative = h("input", {
    type: "checkbox",
    checked: true,
    onchange: () => {
      state.showAlternative = alternative.checked;
      draw();
    },
  });

  // What is wrong with an input, if anything is.  The results are then still the last ones.
  const wrong = new Map();
  function preview(input, problem = null) {
    input.setAttribute("aria-invalid", problem ? "true" : "false");
    if (problem) wrong.set(input, problem);
    else wrong.delete(input);
    meansError.textContent = wrong.get(meansInput) ?? "";
    numberError.textContent = [...wrong]
      .filter(([which]) => which !== meansInput)
      .map(([, words]) => words)
      .join(" ");
    results.classList.toggle("stale", wrong.size > 0);
    old.hidden = wrong.size === 0;
  }
  function setNumber(input, key, ok, rule) {
    const value = Number(input.value);
    if (input.value === "" || !ok(value)) {
      const got = input.value === "" ? "there is no number" : `it is ${input.value}`;
      preview(input, `${rule}; ${got}.`);
      return;
    }
    preview(input);
    state[key] = value;
    changed();
  }
  function readMeans() {
    try {
      state.means = parseMeans(meansInput.value);
    } catch (problem) {
      preview(meansInput, problem.message);
      return;
    }
    preview(meansInput);
    fit();
    changed();
  }
  function use(chosen) {
    Object.assign(
      state,
      { delta: 0.05, sigma: 1, multiplicative: false, model: "gaussian" },
      chosen,
      { means: parseMeans(chosen.means) },
    );
    fit();
    write();
    changed();
  }
  function write() {
    meansInput.value = state.means.map(tidy).join(", ");
    epsilon.value = state.epsilon;
    delta.value = state.delta;
    sigma.value = state.sigma;
    model.value = state.model;
    sigmaField.hidden = state.model !== "gaussian";
    for (const input of [meansInput, epsilon, delta, sigma]) preview(input);
    for (const radio of ways.querySelectorAll("input"))
      radio.checked = (radio.value === "1") === state.multiplicative;
  }
  // The range of the axis: all means, and the threshold.
  function fit() {
    const all = [...state.means, thresholdOf(state)].filter(Number.isFinite);
    const low = all.reduce((a, b) => Math.min(a, b), Infinity),
      high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    const [a, b] = widened(low, high, 0.12),
      [least, greatest] = LIMITS[state.model] ?? [-Infinity, Infinity];
    state.domain = [
      Math.max(a, least === -Infinity ? a : Math.min(least, low)),
      Math.min(b, greatest === Infinity ? b : Math.max(greatest, high)),
    ];
  }

  // -- dragging
  const clamp = (v) => {
    const [low, high] = LIMITS[state.model] ?? [-Infinity, Infinity];
    return Math.max(low, Math.min(high, v));
  };
  const step = () => 10 ** Math.floor(Math.log10((state.domain[1] - state.domain[0]) / 60));
  function move(k, value) {
    const unit = step();
    state.means[k] = tidy(clamp(Math.round(value / unit) * unit));
    meansInput.value = state.means.map(tidy).join(", ");
    preview(meansInput);
    changed();
  }
  const hands = {
    key(event, k) {
      const times = event.shiftKey ? 10 : 1;
      const by = {
        ArrowRight: 1,
        ArrowUp: 1,
        ArrowLeft: -1,
        ArrowDown: -1,
        PageUp: 10,
        PageDown: -10,
      }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      move(k, state.means[k] + by * times * step());
      if (state.means[k] < state.domain[0] || state.means[k] > state.domain[1]) {
        fit();
        draw();
      }
    },
    down(event, k, x) {
      if (event.button !== 0) return;
      event.preventDefault();
      dragging = true;
      plot.querySelector(`[data-arm="${k}"]`)?.focus({ preventScroll: true });
      const left = plot.getBoundingClientRect().left;
      const drag = (e) =>
        move(k, Math.max(state.domain[0], Math.min(state.domain[1], x.back(e.clientX - left))));
      const end = () => {
        dragging = false;
        window.removeEventListener("pointermove", drag);
        fit();
        draw();
      };
      window.addEventListener("pointermove", drag, { signal });
      window.addEventListener("pointerup", end, { once: true, signal });
      window.addEventListener("pointercancel", end, { once: true, signal });
    },
  };

  // -- what the server says
  const ask = debounce(async () => {
    latest?.abort();
    const mine = (latest = new AbortController());
    const stop = () => mine.abort();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const found = await post("explore", bodyOf(state), { signal: mine.signal, tries: 1 });
      if (mine !== latest) return;
      answer = found;
      error.textContent = "";
    } catch (problem) {
      if (aborted(problem) || mine !== latest || signal.aborted) return;
      answer = null;
      error.textContent = problem.detail ?? String(problem);
    } finally {
      signal.removeEventListener("abort", stop);
    }
    draw();
    words();
  }, 140);
  function changed() {
    forget();
    if (answer && answer.means.length !== state.means.length) answer = null;
    epsilonRange.value = (1000 * state.epsilon) / epsilonMost();
    const place = new URLSearchParams({
      means: state.means.map(tidy).join(","),
      epsilon: state.epsilon,
      delta: state.delta,
      model: state.model,
    });
    if (state.model === "gaussian") place.set("sigma", state.sigma);
    if (state.multiplicative) place.set("multiplicative", "1");
    if (state.means.length <= 100) history.replaceState(null, "", `#/explore?${place}`);
    draw();
    ask();
  }

  // -- pictures and words
  const plot = h("div", { class: "instance-box" }),
    courseBox = h("div", { class: "course-box" });
  const frame = () => (run ? run.frames[at] : null);
  const redraw = followWidth(
    plot,
    (width) => instance(plot, state, answer, frame(), width, hands),
    signal,
  );
  const recourse = followWidth(
    courseBox,
    (width) => {
      if (run) course(courseBox, run, at, width);
    },
    signal,
  );
  let queued = 0;
  function draw() {
    queued ||= requestAnimationFrame(() => {
      queued = 0;
      redraw();
    });
  }

  const facts = h("div", { class: "explore-facts", "aria-live": "polite" }),
    bounds = h("div", {}),
    told = h("p", { class: "alt-words" });
  const weightsTable = h("div", {});
  function words() {
    if (!answer) {
      replace(facts);
      replace(bounds);
      replace(told);
      replace(weightsTable);
      return;
    }
    const good = answer.good.filter(Boolean).length,
      least = ["asymptotic", "asymptotic_log", "mason"]
        .map((k) => answer.lower_bounds[k])
        .filter((v) => v > 0);
    const item = (name, value, hint) =>
      h(
        "div",
        {},
        h("dt", {}, name),
        h("dd", {}, h("b", {}, value), hint && h("span", { class: "soft small" }, hint)),
      );
    replace(
      facts,
      answer.undecidable
        ? h("div", { class: "notice warn" }, h("p", {}, answer.undecidable, " No number of measurements can decide its label."))
        : h(
            "dl",
            { class: "big" },
            item(
              "Good arms",
              `${count(good)} of ${count(state.means.length)}`,
              `mean at least ${number(answer.threshold, 4)}`,
            ),
            item("T*", number(answer.characteristic_time, 4), "the difficulty, in measurements"),
            item(
              "Lower bound",
              least.length ? count(Math.max(...least)) : "–",
              `measurements that any method needs on average, at a risk of ${percent(state.delta)}` +
                (answer.remark ? `. ${answer.remark}` : ""),
            ),
          ),
    );
    const moved = answer.alternative
      ? state.means.filter(
          (m, k) => Math.abs(answer.alternative.means[k] - m) > 1e-9 * (1 + Math.abs(m)),
        ).length
      : 0;
    replace(
      told,
      answer.alternative
        ? `The cheapest alternative moves ${plural(moved, "arm")}. ` +
            `${answer.alternative.sentence} To be sure of the answer is to have ruled it out.`
        : "",
    );
    replace(
      bounds,
      answer.undecidable
        ? null
        : h(
            "table",
            { class: "data" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, "Lower bound"),
                h("th", { scope: "col", class: "number" }, "Measurements"),
              ),
            ),
            h(
              "tbody",
              {},
              Object.entries(BOUNDS).map(([key, [name, what]]) =>
                h(
                  "tr",
                  {},
                  h(
                    "td",
                    {},
                    name,
                    h(
                      "span",
                      { class: "what soft small" },
                      answer.lower_bounds[key] === null && answer.reasons?.[key]
                        ? answer.reasons[key]
                        : what,
                    ),
                  ),
                  h("td", { class: "number" }, number(answer.lower_bounds[key], 4)),
                ),
              ),
            ),
          ),
    );
    replace(
      weightsTable,
      h(
        "details",
        {},
        h("summary", {}, "The same in numbers"),
        h(
          "div",
          { class: "scroll short", tabindex: 0, role: "region", "aria-label": "Arms in numbers" },
          h(
            "table",
            { class: "data" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["Arm", "Mean", "Label", "Optimal weight", "Alternative"].map((w, i) =>
                  h("th", { scope: "col", class: i === 2 ? null : "number" }, w),
                ),
              ),
            ),
            h(
              "tbody",
              {},
              state.means
                .slice(0, 500)
                .map((m, k) =>
                  h(
                    "tr",
                    {},
                    h("td", { class: "number" }, k),
                    h("td", { class: "number" }, number(m, 5)),
                    h("td", {}, badge(answer.good[k] ? "good" : "bad")),
                    h(
                      "td",
                      { class: "number" },
                      answer.weights ? percent(answer.weights[k], 3) : "–",
                    ),
                    h(
                      "td",
                      { class: "number" },
                      answer.alternative ? number(answer.alternative.means[k], 5) : "–",
                    ),
                  ),
                ),
            ),
          ),
        ),
      ),
    );
  }

  // -- the run
  let seed = 1,
    tick = 0,
    began = 0,
    from = 0;
  const playButton = h("button", { type: "button", class: "primary", onclick: toggle }, "Run it");
  const again = h(
    "button",
    {
      type: "button",
      hidden: true,
      onclick: () => {
        seed += 1;
        start();
      },
    },
    "Another run",
  );
  const close = h(
    "button",
    {
      type: "button",
      class: "plain",
      hidden: true,
      onclick: () => {
        forget();
        draw();
      },
    },
    "Back to the means",
  );
  const scrub = h("input", {
    type: "range",
    min: 0,
    value: 0,
    class: "scrub",
    "aria-label": "Place in the run",
    oninput: () => {
      pause();
      seek(Number(scrub.value));
    },
  });
  const speed = h(
    "select",
    {
      "aria-label": "Speed",
      value: "1",
      onchange: () => {
        from = at;
        began = performance.now();
      },
    },
    [
      ["0.25", "¼ ×"],
      ["0.5", "½ ×"],
      ["1", "1 ×"],
      ["2", "2 ×"],
      ["4", "4 ×"],
    ].map(([v, w]) => h("option", { value: v }, w)),
  );
  const readout = h("p", { class: "readout" }),
    runError = h("p", { class: "error", role: "alert" });
  const deck = h("div", { class: "deck", hidden: true }, scrub, speed);

  function forget() {
    pause();
    run = null;
    deck.hidden = again.hidden = close.hidden = courseBox.hidden = true;
    replace(readout);
    replace(courseBox);
    playButton.textContent = "Run it";
  }
  async function start() {
    pause();
    runError.textContent = "";
    playButton.disabled = true;
    const given = JSON.stringify(bodyOf(state));
    try {
      const found = await post(
        "explore/run",
        { ...bodyOf(state), seed, max_pulls: 200_000, frames: 240 },
        { signal, tries: 1 },
      );
      if (given !== JSON.stringify(bodyOf(state)) || !found.frames.length) return;
      run = found;
      at = 0;
      scrub.max = run.frames.length - 1;
      deck.hidden = again.hidden = close.hidden = courseBox.hidden = false;
      recourse();
      play();
    } catch (problem) {
      if (!signal.aborted) runError.textContent = problem.detail ?? String(problem);
    } finally {
      playButton.disabled = false;
    }
  }
  function seek(i) {
    at = Math.max(0, Math.min(run.frames.length - 1, i));
    scrub.value = at;
    const f = run.frames[at],
      by = (label) => f.labels.filter((l) => l === label).length;
    scrub.setAttribute(
      "aria-valuetext",
      `${count(f.pulls)} measurements, ${by("open")} labels open`,
    );
    const ended = at === run.frames.length - 1;
    replace(
      readout,
      h("b", {}, plural(f.pulls, "measurement")),
      badge("good", `${by("good")} good`),
      badge("bad", `${by("bad")} bad`),
      badge("open", `${by("open")} open`),
      ended ? h("span", { class: run.wrong.length ? "late" : "soft" }, verdict()) : null,
    );
    draw();
    recourse();
  }
  const verdict = () =>
    run.wrong.length
      ? `${plural(run.wrong.length, "label is", "labels are")} wrong: arm ${run.wrong.join(", ")}.`
      : run.certified
        ? "Every label is certified, and none is wrong."
        : "Not all labels were certified within 200,000 measurements; none is wrong.";
  function play() {
    if (at >= run.frames.length - 1) at = 0;
    playing = true;
    from = at;
    began = performance.now();
    playButton.textContent = "Pause";
    const go = (now) => {
      if (!playing || signal.aborted) return;
      const i = Math.floor(
        from +
          ((Math.max(0, now - began) / 1000) * Number(speed.value) * run.frames.length) / SECONDS,
      );
      if (i !== at || i === 0) seek(i);
      if (at >= run.frames.length - 1) {
        pause();
        announce(`${plural(run.pulls, "measurement")}. ${verdict()}`);
        return;
      }
      tick = requestAnimationFrame(go);
    };
    tick = requestAnimationFrame(go);
  }
  function pause() {
    playing = false;
    cancelAnimationFrame(tick);
    playButton.textContent = run ? (at >= run.frames.length - 1 ? "Play again" : "Play") : "Run it";
  }
  function toggle() {
    if (!run) start();
    else if (playing) pause();
    else play();
  }

  const old = h(
    "p",
    { class: "hint", hidden: true },
    "The results are those of the last input that was right.",
  );
  const results = h(
    "div",
    { class: "stack" },
    h(
      "section",
      { class: "card", "aria-labelledby": "instance-title" },
      h(
        "div",
        { class: "map-bar" },
        h("h2", { id: "instance-title" }, "Means, band and weights"),
        h(
          "label",
          { class: "check" },
          alternative,
          h("span", { class: "alt-key" }, "Cheapest alternative"),
        ),
      ),
      plot,
      told,
      h(
        "div",
        { class: "run-bar", role: "group", "aria-label": "A simulated run" },
        playButton,
        deck,
        again,
        close,
      ),
      runError,
      readout,
      courseBox,
      h(
        "p",
        { class: "hint" },
        "The band holds the good arms. Bars are the optimal weights: how any method " +
          "should spread its measurements. In a run, the tick is the true mean, the " +
          "shape the estimate and its label, and the inner bar the share of " +
          "measurements so far.",
      ),
    ),
    h(
      "section",
      { class: "card", "aria-label": "Numbers" },
      facts,
      h("div", { class: "scroll" }, bounds),
      weightsTable,
    ),
  );

  main.append(
    h(
      "div",
      { class: "page-head" },
      h(
        "div",
        {},
        h("h1", {}, "Explore"),
        h(
          "p",
          { class: "question" },
          "How hard is it to tell which arms are good, if the means were known? Drag " +
            "the arms, or type.",
        ),
      ),
    ),
    h(
      "div",
      { class: "explore-grid" },
      h(
        "section",
        { class: "card stack explore-controls", "aria-label": "The instance" },
        field("Example", example),
        field(
          "Means",
          meansInput,
          "One for each arm, with commas or spaces. Arms are numbered from 0.",
        ),
        meansError,
        h("div", { class: "field" }, h("span", { class: "name" }, "An arm is good from"), ways),
        h("div", { class: "duo" }, field("ε, epsilon", epsilon), epsilonRange),
        h("div", { class: "pair" }, field("δ, risk", delta), sigmaField),
        field("Measurements", model),
        numberError,
        error,
        old,
      ),
      results,
    ),
  );
  courseBox.hidden = true;
  fit();
  write();
  changed();
  shortcut("p", "Of Explore: play or pause a run", toggle, signal);
  signal.addEventListener("abort", () => {
    ask.stop();
    latest?.abort();
    pause();
    cancelAnimationFrame(queued);
  });
}
