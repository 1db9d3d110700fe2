// A new study: the question, with a picture of what is asked and an estimate of what it will cost.
import { aborted, may, post } from "../api.js";
import { bandPicture } from "../charts.js";
import { debounce, h, replace } from "../dom.js";
import { count, list, number, plural } from "../format.js";
import { studyPath } from "../head.js";

const MOST = 2000; // arms that the server simulates for an estimate
const LIMIT = 200_000; // measurements after which a simulated study is given up

// What can be measured: words, hint, guesses of the best and the worst mean, and the noise of one
// measurement at a mean.
const MODELS = {
  gaussian: [
    "Numbers of known scatter",
    "Give sigma, the standard deviation of repeated measurements of one arm. One that is too " +
      "small voids the guarantee.",
  ],
  "unknown-sigma": [
    "Numbers of unknown scatter",
    "The scatter is learned from the values. This takes more measurements, above all in the " +
      "beginning.",
  ],
  bernoulli: [
    "Yes or no (passed, bought, answered)",
    "Every value is 0 or 1, and the mean of an arm is its rate.",
  ],
  poisson: [
    "Counts (colonies, clicks, errors)",
    "Every value is 0, 1, 2 and so on, as of a Poisson model.",
  ],
  exponential: ["Waiting times", "Every value is a time above 0, as of an exponential model."],
  bounded: [
    "Scores between two ends",
    "Nothing is known but the lowest and the highest score that there can be.",
  ],
};
const SHAPES = {
  even: ["evenly spread", 1],
  few: ["few are good", 0.5],
  many: ["many are good", 2],
};

// A text as a number; NaN if it is none.
const parse = (text) => (text.trim() === "" ? NaN : Number(text.trim()));

// One name per line; where there is a single line, commas, semicolons and tabs part the names.
export function armNames(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const names =
    lines.length > 1 ? lines.map((line) => line.split("\t")[0]) : (lines[0] ?? "").split(/[,;\t]/);
  return names.map((name) => name.trim()).filter(Boolean);
}

function repeated(names) {
  const seen = new Set(),
    twice = new Set();
  for (const name of names) (seen.has(name) ? twice : seen).add(name);
  return [...twice];
}

export async function show(main, params, signal) {
  if (!may("manage")) {
    main.append(
      h("h1", {}, "New study"),
      h(
        "p",
        { class: "notice" },
        "To begin a study you need a token that may manage. Ask the person who runs this server.",
      ),
    );
    return;
  }
  const problems = {}; // name of a field -> where its error is shown
  const inputs = {};

  // A field with its name, hint and a place for its error.
  function field(key, name, hint, input, extra) {
    const error = h("p", { class: "error", id: `${key}-error` });
    const tip = h("span", { class: "hint", id: `${key}-hint` }, hint);
    input.id = key;
    input.setAttribute("aria-describedby", `${key}-hint ${key}-error`);
    problems[key] = { error, input, tip };
    inputs[key] = input;
    input.addEventListener("input", () => blame(key, ""));
    return h(
      "div",
      { class: "field" },
      h("label", { class: "name", for: key }, name),
      input,
      extra,
      error,
      tip,
    );
  }
  function blame(key, sentence) {
    const { error, input } = problems[key];
    error.textContent = sentence;
    if (sentence) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
  const text = (value = "", attrs = {}) =>
    h("input", { type: "text", autocomplete: "off", value, ...attrs });
  const decimal = (value) => text(value, { inputmode: "decimal", class: "short" });

  const counted = h("p", { class: "small soft", role: "status" });
  const name = field(
    "name",
    "Name",
    "The study is called so in lists and reports.",
    text("", { maxlength: 200 }),
  );
  const arms = field(
    "arms",
    "Arms",
    "What is compared: compounds, page variants, prompts. Paste one per line, or all in one " +
      "line with commas between them.",
    h("textarea", { rows: 6, spellcheck: false }),
    counted,
  );
  const kind = h(
    "div",
    { class: "ways", role: "radiogroup", "aria-label": "How good is measured" },
    [
      ["additive", "Within a distance of the best"],
      ["multiplicative", "Within a share of the best"],
    ].map(([value, words], i) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name: "kind", value, checked: i === 0, onchange: changed }),
        h("span", {}, words),
      ),
    ),
  );
  const epsilon = field("epsilon", "Epsilon", "", decimal(""));
  const delta = field("delta", "Delta, the risk", "", decimal("0.05"));
  const model = field(
    "model",
    "What one measurement gives",
    "",
    h(
      "select",
      {},
      Object.entries(MODELS).map(([key, [words]]) => h("option", { value: key }, words)),
    ),
  );
  const sigma = field(
    "sigma",
    "Sigma, the noise",
    "The standard deviation of repeated measurements of one arm.",
    decimal(""),
  );
  const low = field("low", "Lowest score", "", decimal("0")),
    high = field("high", "Highest score", "", decimal("1"));
  const ends = h("div", { class: "two" }, low, high);
  const budget = field(
    "budget",
    "Budget",
    "How many measurements may be made in all. Empty: no limit. It can be changed later.",
    text("", { inputmode: "numeric", class: "short" }),
  );
  const check = h("input", { type: "checkbox", checked: true });
  const max_new_arms = field(
    "max_new_arms",
    "Places for more arms",
    "Arms that are not known yet, to be added once and before the first label. Each place makes " +
      "every label a little dearer.",
    text("0", { inputmode: "numeric", class: "short" }),
  );
  const seed = field(
    "seed",
    "Seed",
    "Settles every choice that is made by chance.",
    text("0", { inputmode: "numeric", class: "short" }),
  );
  const general = h("p", { class: "error", role: "alert" });
  const create = h("button", { class: "primary" }, "Begin the study");

  // The guess
  const best = decimal(""),
    worst = decimal(""),
    scatter = decimal("10"),
    shape = h(
      "select",
      {},
      Object.entries(SHAPES).map(([key, [words]]) => h("option", { value: key }, words)),
    );
  const touched = new Set();
  for (const one of [best, worst]) one.addEventListener("input", () => touched.add(one));
  const picture = bandPicture(signal),
    pictureWords = h("p", { class: "small soft" });
  const estimate = h("div", { class: "estimate", "aria-live": "polite" });
  const small = (words, input) => h("label", { class: "mini" }, h("span", {}, words), input);
  const scatterBox = small("Scatter, perhaps", scatter);
  const guess = h(
    "div",
    { class: "guess" },
    small("Best mean, perhaps", best),
    small("Worst mean, perhaps", worst),
    small("The arms are", shape),
    scatterBox,
  );

  // What the form says now. Numbers that cannot be are NaN.
  function read() {
    const names = armNames(inputs.arms.value),
      chosen = inputs.model.value;
    const multiplicative = kind.querySelector("input:checked").value === "multiplicative";
    const [from, to] = [parse(inputs.low.value), parse(inputs.high.value)];
    return {
      names,
      chosen,
      multiplicative,
      epsilon: parse(inputs.epsilon.value),
      delta: parse(inputs.delta.value),
      sigma: parse(inputs.sigma.value),
      from,
      to,
      model: chosen === "bounded" ? `bounded:${from}:${to}` : chosen,
    };
  }

  // The same with examples where nothing is typed yet, for the picture and the estimate.
  function imagined() {
    const now = read(),
      unit = now.chosen === "bounded" ? now.to - now.from : 1;
    const scaled = now.multiplicative || now.chosen === "bernoulli" || now.chosen === "bounded";
    const example = {
      epsilon: now.multiplicative
        ? 0.1
        : scaled
          ? Number((0.1 * unit).toPrecision(3))
          : now.chosen === "gaussian" || now.chosen === "unknown-sigma"
            ? 15
            : 2,
      sigma: now.multiplicative ? 2 : 10,
    };
    for (const key of ["epsilon", "sigma"]) {
      inputs[key].placeholder = `for example ${example[key]}`;
      if (!inputs[key].value.trim()) now[key] = example[key];
    }
    return now;
  }

  // Guesses that suit the question, until they are touched.
  function guesses(now) {
    const [top, bottom] =
      now.chosen === "bernoulli"
        ? [0.9, 0.3]
        : now.chosen === "bounded"
          ? [now.from + 0.9 * (now.to - now.from), now.from + 0.3 * (now.to - now.from)]
          : now.multiplicative || ["poisson", "exponential"].includes(now.chosen)
            ? [10, 2]
            : [4 * now.epsilon, 0];
    const plain = (v) => (Number.isFinite(v) ? String(Number(v.toPrecision(4))) : "");
    if (!touched.has(best)) best.value = plain(top);
    if (!touched.has(worst)) worst.value = plain(bottom);
  }

  // The guessed means. Arms right at the threshold could take any number of measurements, so they
  // are moved off it a little.
  function guessed(now) {
    const top = parse(best.value),
      bottom = parse(worst.value),
      k = Math.min(MOST, now.names.length || 20);
    const threshold = now.multiplicative ? (1 - now.epsilon) * top : top - now.epsilon;
    if (![top, bottom, threshold].every(Number.isFinite) || bottom > top || !(now.epsilon > 0))
      return null;
    const off = 0.2 * (top - threshold),
      power = SHAPES[shape.value][1];
    const means = Array.from({ length: k }, (_, i) => {
      const mean =
        i === 0
          ? top
          : top - (top - bottom) * (k > 1 ? (i - (i < k - 1 ? 0.35 : 0)) / (k - 1) : 0) ** power;
      return Math.abs(mean - threshold) < off
        ? Math.max(bottom, threshold + (mean < threshold ? -off : off))
        : mean;
    });
    return { means, threshold, top };
  }

  const noise = (now, mean) =>
    ({
      gaussian: now.sigma,
      "unknown-sigma": parse(scatter.value),
      bernoulli: Math.sqrt(Math.max(0, mean * (1 - mean))),
      poisson: Math.sqrt(Math.max(0, mean)),
      exponential: mean,
      bounded: (now.to - now.from) / 4,
    })[now.chosen];

  function changed() {
    const now = imagined(),
      twice = repeated(now.names);
    replace(
      counted,
      now.names.length ? plural(now.names.length, "arm") : "No arm yet.",
      twice.length > 0 && [
        ` ${plural(twice.length, "name stands", "names stand")} there more than once: ` +
          `${list(twice, 4)}. `,
        h(
          "button",
          {
            type: "button",
            class: "small",
            onclick: () => {
              inputs.arms.value = [...new Set(now.names)].join("\n");
              changed();
              inputs.arms.focus();
            },
          },
          "Remove the repeats",
        ),
      ],
    );
    const e = number(now.epsilon, 4);
    problems.epsilon.tip.textContent = now.multiplicative
      ? `An arm is good if its true mean is at least ` +
        `${Number.isFinite(now.epsilon) ? number(1 - now.epsilon, 4) : "1 − epsilon"} times ` +
        `that of the best arm.`
      : `An arm is good if its true mean is at most ` +
        `${Number.isFinite(now.epsilon) ? e : "epsilon"} below that of the best arm. ` +
        `Arms close to that threshold cost most.`;
    problems.delta.tip.textContent =
      now.delta > 0 && now.delta < 1
        ? `The chance that any label is ever certified wrongly is at most ` +
          `${number(100 * now.delta, 3)} %: 1 in ${number(1 / now.delta, 3)}. A smaller risk ` +
          `costs only a little more.`
        : "The chance that any label is ever certified wrongly. It lies between 0 and 1.";
    problems.model.tip.textContent = MODELS[now.chosen][1];
    sigma.hidden = now.chosen !== "gaussian";
    ends.hidden = now.chosen !== "bounded";
    scatterBox.hidden = now.chosen !== "unknown-sigma";
    guesses(now);
    const found = guessed(now);
    picture.element.hidden = !found;
    if (found) {
      const sd = noise(now, found.top);
      picture.set({
        means: found.means,
        threshold: found.threshold,
        sigma: Number.isFinite(sd) ? sd : null,
        bell: now.chosen === "gaussian" || now.chosen === "unknown-sigma",
      });
      pictureWords.textContent = picture.words();
    } else
      pictureWords.textContent =
        "Give epsilon and a guess of the best and the worst mean to see the picture.";
    plan();
  }

  let running = null;
  const plan = debounce(async () => {
    running?.abort();
    const now = imagined(),
      found = guessed(now);
    if (
      !found ||
      found.means.length < 2 ||
      !(now.delta > 0 && now.delta < 1) ||
      (now.chosen === "gaussian" && !(now.sigma > 0))
    ) {
      replace(
        estimate,
        h("p", { class: "soft" }, "The estimate comes when the numbers are there."),
      );
      return;
    }
    running = new AbortController();
    const stop = running,
      k = found.means.length;
    estimate.setAttribute("aria-busy", "true");
    const limit = parse(inputs.budget.value);
    const body = {
      means: found.means,
      epsilon: now.epsilon,
      multiplicative: now.multiplicative,
      delta: now.delta,
      model: now.model,
      sigma:
        now.chosen === "gaussian"
          ? now.sigma
          : now.chosen === "unknown-sigma" && parse(scatter.value) > 0
            ? parse(scatter.value)
            : null,
      runs: k <= 100 ? 10 : k <= 500 ? 4 : 2,
      budget: Number.isInteger(limit) && limit > 0 ? Math.min(limit, LIMIT) : LIMIT,
    };
    try {
      const answer = await post("plan", body, { signal: AbortSignal.any([stop.signal, signal]) });
      replace(estimate, costWords(answer, body, now.names.length, k));
    } catch (error) {
      if (aborted(error)) return;
      replace(estimate, h("p", { class: "soft" }, error.detail ?? String(error)));
    }
    if (running === stop) estimate.removeAttribute("aria-busy");
  }, 350);
  signal.addEventListener("abort", () => {
    plan.stop();
    running?.abort();
  });

  function costWords(answer, body, given, k) {
    const [mean, least, most] = answer.measurements,
      all = answer.ended === answer.runs;
    return [
      h(
        "p",
        { class: "big" },
        all
          ? `About ${count(round(mean))} measurements`
          : `More than ${count(body.budget)} measurements in ${answer.runs - answer.ended} of ` +
              `${plural(answer.runs, "simulated study", "simulated studies")}`,
      ),
      h(
        "p",
        {},
        all
          ? `Simulated studies of such arms took ${count(round(least))} to ` +
              `${count(round(most))}, about ${count(round(mean / k))} for each arm. `
          : `${byThen(answer, body)} Some arms are too close to the threshold, or the budget ` +
              "is too small. Another epsilon moves the threshold. ",
        answer.lower_bound &&
          `No method can expect fewer than ${count(round(answer.lower_bound))}. `,
        answer.lower_bound_remark,
      ),
      h(
        "p",
        { class: "small soft" },
        given > MOST
          ? `Simulated with ${count(MOST)} arms, the most that this page takes; ` +
              `${count(given)} cost more. `
          : given
            ? ""
            : "With 20 arms, until you paste yours. ",
        inputs.epsilon.value.trim() && (body.model !== "gaussian" || inputs.sigma.value.trim())
          ? ""
          : "With the example's numbers, until you type yours. ",
        "It is an estimate from your guess. The guarantee does not depend on the guess.",
      ),
    ];
  }
  // What is certain when the budget ends a study.
  function byThen(answer, body) {
    const [labels, least, most] = answer.labels.map((v) => count(Math.round(v))),
      [right] = answer.right.map((v) => count(Math.round(v)));
    return (
      `By ${count(Math.max(body.budget, answer.arms))} measurements about ${labels} of ` +
      `${plural(answer.arms, "label")} are certified (${least} to ${most}), and the best guess ` +
      `has about ${right} right.`
    );
  }
  const round = (v) => {
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, v))) - 1);
    return Math.round(v / unit) * unit;
  };

  // What is wrong with the form, as [field, sentence].
  function wrong(now) {
    const found = [],
      whole = (key) => inputs[key].value.trim() === "" || /^\d+$/.test(inputs[key].value.trim());
    const comma = (key) =>
      inputs[key].value.includes(",") ? " Write a point, not a comma, before the decimals." : "";
    if (!inputs.name.value.trim()) found.push(["name", "Give the study a name."]);
    if (now.names.length < 1) found.push(["arms", "Paste the names of the arms."]);
    const twice = repeated(now.names);
    if (twice.length)
      found.push([
        "arms",
        `Each arm must stand there once: ${list(twice, 4)} ` +
          `${twice.length === 1 ? "does" : "do"} not.`,
      ]);
    if (!(now.epsilon > 0))
      found.push(["epsilon", `Epsilon must be a number above 0.${comma("epsilon")}`]);
    else if (now.multiplicative && now.epsilon >= 1)
      found.push(["epsilon", "Epsilon must be below 1 where good means a share of the best."]);
    if (!(now.delta > 0 && now.delta < 1))
      found.push(["delta", `Delta must be a number between 0 and 1.${comma("delta")}`]);
    if (now.chosen === "gaussian" && !(now.sigma > 0))
      found.push(["sigma", `Sigma must be a number above 0.${comma("sigma")}`]);
    if (now.chosen === "bounded" && !(now.from < now.to))
      found.push(["high", "The highest score must be above the lowest."]);
    if (!whole("budget")) found.push(["budget", "The budget must be a whole number, or empty."]);
    if (!whole("max_new_arms")) found.push(["max_new_arms", "This must be a whole number."]);
    if (!whole("seed")) found.push(["seed", "The seed must be a whole number."]);
    return found;
  }

  async function send(event) {
    event.preventDefault();
    const now = read(),
      found = wrong(now);
    for (const key of Object.keys(problems)) blame(key, "");
    general.textContent = "";
    for (const [key, sentence] of found.reverse()) blame(key, sentence);
    if (found.length) {
      const key = found.at(-1)[0];
      inputs[key].closest("details")?.setAttribute("open", "");
      inputs[key].focus();
      return;
    }
    create.disabled = true;
    try {
      const made = await post(
        "studies",
        {
          name: inputs.name.value.trim(),
          arms: now.names,
          epsilon: now.epsilon,
          multiplicative: now.multiplicative,
          delta: now.delta,
          model: now.model,
          sigma: now.chosen === "gaussian" ? now.sigma : null,
          budget: inputs.budget.value.trim() ? Number(inputs.budget.value) : null,
          check_values: check.checked,
          max_new_arms: Number(inputs.max_new_arms.value || 0),
          seed: Number(inputs.seed.value || 0),
        },
        { signal },
      );
      location.hash = studyPath(made.id);
    } catch (error) {
      if (aborted(error)) return;
      const key = error.fields?.find((field) => inputs[field]);
      if (key) {
        blame(key, error.detail);
        inputs[key].focus();
      } else general.textContent = error.detail ?? String(error);
    } finally {
      create.disabled = false;
    }
  }

  const form = h(
    "form",
    { class: "new-form", novalidate: true, onsubmit: send },
    h("section", { class: "card" }, h("h2", {}, "What is compared"), name, arms),
    h(
      "section",
      { class: "card" },
      h("h2", {}, "What is good enough"),
      kind,
      h("div", { class: "two" }, epsilon, delta),
    ),
    h(
      "section",
      { class: "card" },
      h("h2", {}, "How it is measured"),
      model,
      sigma,
      ends,
      budget,
      h(
        "details",
        { class: "fold-more" },
        h("summary", {}, "More settings"),
        h("label", { class: "check" }, check, "Hold values back that cannot be"),
        h(
          "span",
          { class: "hint" },
          "A value that is impossibly far from the others of its arm does not count until " +
            "somebody confirms it. This costs a thousandth of delta.",
        ),
        max_new_arms,
        seed,
      ),
    ),
    general,
    h("div", { class: "row" }, create, h("a", { href: "#/" }, "Cancel")),
  );
  for (const input of form.querySelectorAll("input, textarea, select"))
    input.addEventListener("input", changed);
  for (const input of guess.querySelectorAll("input, select"))
    input.addEventListener("input", changed);

  main.append(
    h(
      "div",
      { class: "page-head" },
      h(
        "div",
        {},
        h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Studies"), " / New study"),
        h("h1", {}, "New study"),
        h(
          "p",
          { class: "question" },
          "Which arms are within epsilon of the best, wrong with probability at most delta?",
        ),
      ),
    ),
    h(
      "div",
      { class: "new-grid" },
      form,
      h(
        "aside",
        { class: "new-aside", "aria-label": "Picture and estimate" },
        h(
          "section",
          { class: "card" },
          h("h2", {}, "The question as a picture"),
          h(
            "p",
            { class: "small soft" },
            "Guess what the arms may be like. The guess draws the picture and the estimate, and " +
              "nothing else depends on it.",
          ),
          guess,
          picture.element,
          pictureWords,
        ),
        h("section", { class: "card" }, h("h2", {}, "What it may cost"), estimate),
      ),
    ),
  );
  changed();
  inputs.name.focus({ preventScroll: true });
}
