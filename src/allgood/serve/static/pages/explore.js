// An instance without a study: its band, T*, the optimal weights, the cheapest alternative, and a
// simulated run.
import { post, vocabulary } from "../lib/api.js";
import { announce, debounce, useTitle, useWidth } from "../lib/browser.js";
import { count, number, percent, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { Instance, differs } from "../lib/instance.js";
import { Player } from "../lib/player.js";
import { widened } from "../lib/plot.js";
import { useEffect, useMemo, useRef, useState } from "../lib/view.js";
import { Badge, Check, Choice, ErrorLine, Segments, TextField } from "../lib/widgets.js";

const USUAL = { delta: "0.05", sigma: "1", multiplicative: false, model: "gaussian" };
const EXAMPLES = {
  "Six arms": { means: "1, 0.8, 0.55, 0.5, 0.3, 0.1", epsilon: "0.3" },
  "The paper's first instance": { means: "1, 1, 1, 1, 0.05", epsilon: "0.9", delta: "0.1" },
  "A screen of 20": {
    means: "92, 90, 88, 85, 84, 71, 68, 65, 60, 44, 41, 38, 33, 31, 27, 22, 18, 12, 9, 4",
    epsilon: "15",
    sigma: "10",
  },
  "Prompts, pass or fail": {
    means: "0.91, 0.89, 0.84, 0.78, 0.75, 0.6, 0.42",
    epsilon: "0.05",
    model: "bernoulli",
  },
  "Counts, at least 80 % of the best": {
    means: "12, 11, 9, 8, 5, 3",
    epsilon: "0.2",
    multiplicative: true,
    model: "poisson",
  },
};
const FIELDS = ["means", "epsilon", "delta", "model", "sigma"];

// ---- the instance, as texts that are typed, and as the body of a request

const tidy = (x) => Number(x.toPrecision(10));
const parsed = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
const hasSigma = (typed) => vocabulary.models[typed.model].parameters.includes("sigma");

function bodyOf(typed) {
  return {
    means: typed.means
      .split(/[\s,;]+/)
      .filter(Boolean)
      .map(parsed),
    epsilon: parsed(typed.epsilon),
    multiplicative: typed.multiplicative,
    delta: parsed(typed.delta),
    model: typed.model === "bounded" ? "bounded:0:1" : typed.model,
    sigma: hasSigma(typed) ? parsed(typed.sigma) : null,
  };
}

/** What an address says, or else the first example. */
function fromAddress(query) {
  const typed = { ...USUAL, ...EXAMPLES["Six arms"] };
  for (const name of FIELDS) if (query.get(name)) typed[name] = query.get(name);
  if (!(typed.model in vocabulary.models)) typed.model = USUAL.model;
  typed.multiplicative = query.get("multiplicative") === "1";
  return typed;
}

function toAddress(typed, body) {
  if (body.means.length > 100) return;
  const query = new URLSearchParams({ ...typed, means: body.means.join(",") });
  query.set("multiplicative", typed.multiplicative ? "1" : "0");
  if (!hasSigma(typed)) query.delete("sigma");
  history.replaceState(null, "", `#/explore?${query}`);
}

const rangeOf = (model) => {
  const { low, high } = vocabulary.models[model];
  return model === "bounded" ? [0, 1] : [low ?? -Infinity, high ?? Infinity];
};

/** The ends of the axis: all means and the threshold, with room, within what the model allows. */
function domainOf(means, threshold, model) {
  const all = [...means, threshold].filter(Number.isFinite);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const [from, to] = widened(low, high, 0.12);
  const [least, most] = rangeOf(model);
  return [Math.max(from, Math.min(least, low)), Math.min(to, Math.max(most, high))];
}

/**
 * Asks the server about what is typed, when it has not changed for a moment: {known, body, problem}.
 * known and body stay those of the last input that was right.
 */
function useExploration(typed) {
  const [state, setState] = useState({ known: null, body: null, problem: null });
  const controller = useRef();
  const ask = useMemo(
    () =>
      debounce(async (body) => {
        controller.current?.abort();
        const mine = (controller.current = new AbortController());
        try {
          const known = await post("explore", body, { signal: mine.signal });
          setState({ known, body, problem: null });
        } catch (problem) {
          if (!mine.signal.aborted) setState((old) => ({ ...old, problem }));
        }
      }, 140),
    [],
  );
  useEffect(() => {
    const body = bodyOf(typed);
    toAddress(typed, body);
    ask(body);
  }, [JSON.stringify(typed)]);
  useEffect(() => () => controller.current?.abort(), []);
  return state;
}

// ---- parts of the page

function Controls({ typed, set, problem, most }) {
  const errors = problem?.fields ?? {};
  const models = Object.entries(vocabulary.models)
    .filter(([key]) => key !== "unknown-sigma")
    .map(([key, { title }]) => [key, title]);
  const examples = [["", "Choose …"], ...Object.keys(EXAMPLES).map((name) => [name, name])];
  const field = (name, label, more = {}) => html`
    <${TextField} label=${label} name=${name} value=${typed[name]} inputmode="decimal"
      error=${errors[name]} onText=${(text) => set({ [name]: text })} ...${more} />`;
  const slide = (event) => set({ epsilon: String(tidy((event.target.value / 1000) * most)) });
  return html`
    <section class="card stack explore-controls" aria-label="The instance">
      <${Choice} label="Example" options=${examples} value=""
        onChoice=${(name) => name && set({ ...USUAL, ...EXAMPLES[name] })} />
      ${field("means", "Means", { rows: 3, spellcheck: "false", hint: "One for each arm, with commas or spaces. Arms are numbered from 0." })}
      <div class="field">
        <span class="name">An arm is good from</span>
        <${Segments} label="What a good arm is" name="way" value=${typed.multiplicative}
          options=${[[false, "best − ε"], [true, "(1 − ε) × best"]]}
          onChoice=${(multiplicative) => set({ multiplicative, ...(multiplicative && Number(typed.epsilon) >= 1 && { epsilon: "0.2" }) })} />
      </div>
      <div class="duo">
        ${field("epsilon", "ε, epsilon")}
        <input type="range" min="1" max="1000" aria-label="Epsilon, as a slider" oninput=${slide}
          value=${Math.round((1000 * Number(typed.epsilon)) / most) || 0} />
      </div>
      <div class="pair">
        ${field("delta", "δ, risk")} ${hasSigma(typed) && field("sigma", "Standard deviation")}
      </div>
      <${Choice} label="Measurements" options=${models} value=${typed.model} error=${errors.model}
        onChoice=${(model) => set({ model })} />
      <${ErrorLine} error=${Object.keys(errors).some((name) => name in typed) ? null : problem} />
      ${problem && html`<p class="hint">The results are those of the last input that was right.</p>`}
    </section>`;
}

function Facts({ known, delta }) {
  if (known.undecidable)
    return html`
      <div class="notice warn"><p>${known.undecidable} No number of measurements can decide its label.</p></div>`;
  const good = known.good.filter(Boolean).length;
  const bounds = Object.entries(known.lower_bounds)
    .filter(([name, bound]) => name !== "moderate" && bound > 0)
    .map(([, bound]) => bound);
  const item = (name, value, hint) =>
    html`<div><dt>${name}</dt><dd><b>${value}</b><span class="soft small">${hint}</span></dd></div>`;
  return html`
    <dl class="big">
      ${item("Good arms", `${count(good)} of ${count(known.good.length)}`, `mean at least ${number(known.threshold, 4)}`)}
      ${item("T*", number(known.characteristic_time, 4), "the difficulty, in measurements")}
      ${item("Lower bound", bounds.length ? count(Math.max(...bounds)) : "–", `measurements that any method needs on average, at a risk of ${percent(delta)}. ${known.remark ?? ""}`)}
    </dl>`;
}

const Bounds = ({ known }) => html`
  <table class="data">
    <thead>
      <tr><th scope="col">Lower bound</th><th scope="col" class="number">Measurements</th></tr>
    </thead>
    <tbody>
      ${Object.entries(vocabulary.bounds).map(
        ([key, { title, sentence }]) => html`
          <tr key=${key}>
            <td>${title}<span class="what soft small">${known.reasons[key] ?? sentence}</span></td>
            <td class="number">${number(known.lower_bounds[key], 4)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;

const Numbers = ({ known }) => html`
  <details>
    <summary>The same in numbers</summary>
    <div class="scroll short" tabindex="0" role="region" aria-label="Arms in numbers">
      <table class="data">
        <thead>
          <tr>
            ${["Arm", "Mean", "Label", "Optimal weight", "Alternative"].map(
              (words, i) => html`<th scope="col" class=${i === 2 ? null : "number"}>${words}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${known.means.slice(0, 500).map(
            (mean, k) => html`
              <tr key=${k}>
                <td class="number">${k}</td>
                <td class="number">${number(mean, 5)}</td>
                <td><${Badge} label=${known.good[k] ? "good" : "bad"} /></td>
                <td class="number">${known.weights ? percent(known.weights[k], 3) : "–"}</td>
                <td class="number">${known.alternative ? number(known.alternative.means[k], 5) : "–"}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;

function Alternative({ known }) {
  if (!known?.alternative) return null;
  const moved = known.means.filter((mean, k) => differs(known.alternative.means[k], mean)).length;
  return html`
    <p class="alt-words">
      The cheapest alternative moves ${plural(moved, "arm")}. ${known.alternative.sentence} To be sure of
      the answer is to have ruled it out.
    </p>`;
}

/** The instance as a picture whose arms can be dragged, and a run on it. */
function Picture({ typed, body, known, onMove, onEnd, domain }) {
  const [box, width] = useWidth();
  const [showAlternative, setShow] = useState(true);
  const [frame, setFrame] = useState(null);
  const means = body.means;
  const best = Math.max(...means);
  const thresholdOf = (values) => {
    const top = Math.max(...values);
    return body.multiplicative ? (1 - body.epsilon) * top : top - body.epsilon;
  };
  const current = known && known.means.length === means.length ? known : null;
  const moved = current?.alternative?.means;
  const alternative =
    showAlternative && !frame && moved ? { means: moved, threshold: thresholdOf(moved) } : null;
  return html`
    <section class="card" aria-labelledby="instance-title">
      <div class="map-bar">
        <h2 id="instance-title">Means, band and weights</h2>
        <${Check} checked=${showAlternative} onCheck=${setShow}>
          <span class="alt-key">Cheapest alternative</span>
        <//>
      </div>
      <div class="instance-box" ref=${box}>
        ${width > 0 && html`
          <${Instance} means=${means} best=${best} threshold=${thresholdOf(means)} domain=${domain}
            known=${current} frame=${frame} alternative=${alternative} width=${width}
            onMove=${onMove} onEnd=${onEnd} />`}
      </div>
      <${Alternative} known=${current} />
      <${Player} key=${JSON.stringify(body)} body=${body} onFrame=${setFrame} />
      <p class="hint">
        The band holds the good arms. Bars are the optimal weights: how any method should spread its
        measurements. In a run, the tick is the true mean, the shape the estimate and its label, and
        the inner bar the share of measurements so far.
      </p>
    </section>`;
}

const isRight = (body) =>
  body.means.length > 0 && [...body.means, body.epsilon, body.delta].every(Number.isFinite);

export default function Explore({ query }) {
  useTitle("Explore");
  const [typed, setTyped] = useState(() => fromAddress(query));
  const { known, body: answered, problem } = useExploration(typed);
  const now = bodyOf(typed);
  const body = isRight(now) ? now : (answered ?? bodyOf({ ...USUAL, ...EXAMPLES["Six arms"] }));
  const set = (parts) => setTyped((old) => ({ ...old, ...parts }));
  const top = Math.max(...body.means);
  const threshold = body.multiplicative ? (1 - body.epsilon) * top : top - body.epsilon;
  const [held, setHeld] = useState(null); // the axis does not move while an arm is dragged
  const domain = held ?? domainOf(body.means, threshold, typed.model);
  const move = (k, mean) => {
    setHeld(domain);
    const [low, high] = rangeOf(typed.model);
    setTyped((old) => {
      const means = bodyOf(old).means;
      means[k] = tidy(Math.max(low, Math.min(high, mean)));
      return { ...old, means: means.join(", ") };
    });
  };
  const most = body.multiplicative ? 0.999 : domain[1] - domain[0];
  useEffect(() => {
    if (known && !problem) announce(`T* is ${number(known.characteristic_time, 4)}.`);
  }, [known]);
  return html`
    <div class="page-head">
      <div>
        <h1>Explore</h1>
        <p class="question">
          How hard is it to tell which arms are good, if the means were known? Drag the arms, or type.
        </p>
      </div>
    </div>
    <div class="explore-grid">
      <${Controls} typed=${typed} set=${set} problem=${problem} most=${most} />
      <div class="stack ${problem ? "stale" : ""}">
        <${Picture} typed=${typed} body=${body} known=${known} domain=${domain} onMove=${move}
          onEnd=${() => setHeld(null)} />
        <section class="card" aria-label="Numbers">
          ${known && html`
            <div class="explore-facts"><${Facts} known=${known} delta=${answered.delta} /></div>
            ${!known.undecidable && html`<div class="scroll"><${Bounds} known=${known} /></div>`}
            <${Numbers} known=${known} />`}
        </section>
      </div>
    </div>`;
}
