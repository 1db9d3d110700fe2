// A new study: the question, with a picture of what is asked and an estimate of what it will cost.
import { may, post, sentenceOf, vocabulary } from "../lib/api.js";
import { BandPicture } from "../lib/band.js";
import { debounce, useKept, useTitle } from "../lib/browser.js";
import { count, list, number, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { studyPath } from "../lib/study.js";
import { useEffect, useMemo, useRef, useState } from "../lib/view.js";
import { Check, Choice, ErrorLine, Segments, TextField } from "../lib/widgets.js";

const MOST = 2000; // arms that the server simulates for an estimate
const LIMIT = 200_000; // measurements after which a simulated study is given up
const SHAPES = { even: "evenly spread", few: "few are good", many: "many are good" };
const POWERS = { even: 1, few: 0.5, many: 2 };
const EMPTY = {
  name: "",
  arms: "",
  objective: "additive",
  epsilon: "",
  model: "gaussian",
  sigma: "",
  low: "0",
  high: "1",
  // a guess, for the picture and the estimate only
  best: "",
  worst: "",
  shape: "even",
  scatter: "",
};

// ---- from texts to a body

/** A text as a number, null if it is empty, or else the text: the server says what is wrong. */
const parsed = (text) => {
  const trimmed = String(text).trim();
  return trimmed === "" ? null : Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
};

/** One name per line; commas, semicolons and tabs part the names of a single line. */
function armNames(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const names =
    lines.length > 1 ? lines.map((line) => line.split("\t")[0]) : (lines[0] ?? "").split(/[,;\t]/);
  return names.map((name) => name.trim()).filter(Boolean);
}

/** The fields of the form whose options are on or off, a number or a text, with their defaults. */
const furtherOptions = () =>
  Object.keys(vocabulary.options).filter((name) => !(name in EMPTY) && name !== "delta");

function questionOf(form) {
  const { parameters } = vocabulary.models[form.model];
  const bounds = [form.low, form.high].map((text) => text.trim());
  return {
    epsilon: parsed(form.epsilon),
    multiplicative: form.objective === "multiplicative",
    delta: parsed(form.delta ?? vocabulary.options.delta.default),
    model: parameters.includes("low") ? `${form.model}:${bounds.join(":")}` : form.model,
    sigma: parameters.includes("sigma") ? parsed(form.sigma) : null,
  };
}

function bodyOf(form) {
  const options = {};
  for (const name of furtherOptions()) {
    const typed = form[name];
    if (typed === undefined || typed === "") continue;
    options[name] = typeof typed === "boolean" ? typed : parsed(typed);
  }
  return { name: form.name.trim(), arms: armNames(form.arms), ...questionOf(form), ...options };
}

// ---- the guess

/** The form with examples in the place of what is not typed yet. */
function imagined(form) {
  const { low, high } = vocabulary.models[form.model];
  const share = form.objective === "multiplicative";
  const [from, to] = form.model === "bounded" ? [+form.low, +form.high] : [low, high];
  const finite = from !== null && to !== null;
  const span = finite ? to - from : 1;
  const digits = (x) => String(Number(x.toPrecision(4)));
  const examples = {
    epsilon: share ? "0.1" : finite ? digits(0.1 * span) : from === 0 ? "2" : "15",
    sigma: share ? "2" : "10",
    scatter: "10",
  };
  const now = { ...form };
  for (const name of Object.keys(examples)) now[name] = form[name].trim() || examples[name];
  const top = finite ? from + 0.9 * span : share || from === 0 ? 10 : 4 * Number(now.epsilon);
  const bottom = finite ? from + 0.3 * span : share || from === 0 ? 2 : 0;
  now.best = form.best.trim() || digits(top);
  now.worst = form.worst.trim() || digits(bottom);
  return { now, examples };
}

/**
 * The guessed means. Arms right at the threshold could take any number of measurements, so they are
 * moved off it a little.
 */
function guessedMeans(now, arms) {
  const [top, bottom, epsilon] = [now.best, now.worst, now.epsilon].map(Number);
  const threshold = now.objective === "multiplicative" ? (1 - epsilon) * top : top - epsilon;
  if (!Number.isFinite(threshold) || !(bottom <= top) || !(epsilon > 0)) return null;
  const K = Math.min(MOST, arms || 20);
  const off = 0.2 * (top - threshold);
  const means = Array.from({ length: K }, (_, i) => {
    const part = K > 1 ? (i - (i > 0 && i < K - 1 ? 0.35 : 0)) / (K - 1) : 0;
    const mean = top - (top - bottom) * part ** POWERS[now.shape];
    if (Math.abs(mean - threshold) >= off) return mean;
    return Math.max(bottom, threshold + (mean < threshold ? -off : off));
  });
  return { means, threshold };
}

function planBody(now, means, budget) {
  const limit = parsed(budget ?? "");
  const unknown = now.model === "unknown-sigma";
  return {
    ...questionOf(now),
    ...(unknown && { sigma: parsed(now.scatter) }),
    means,
    runs: means.length <= 100 ? 10 : means.length <= 500 ? 4 : 2,
    budget: Number.isInteger(limit) && limit > 0 ? Math.min(limit, LIMIT) : LIMIT,
  };
}

/** Asks for the plan of a body when it has not changed for a while: {plan, body, error, busy}. */
function usePlan(body) {
  const [state, setState] = useState({ plan: null, body: null, error: null, busy: false });
  const key = JSON.stringify(body);
  const controller = useRef();
  const ask = useMemo(
    () =>
      debounce(async (wanted) => {
        controller.current?.abort();
        const mine = (controller.current = new AbortController());
        setState((old) => ({ ...old, busy: true }));
        try {
          const plan = await post("plan", wanted, { signal: mine.signal });
          setState({ plan, body: wanted, error: null, busy: false });
        } catch (error) {
          if (!mine.signal.aborted) setState({ plan: null, body: wanted, error, busy: false });
        }
      }, 350),
    [],
  );
  useEffect(() => {
    if (body) ask(body);
  }, [key]);
  useEffect(() => () => controller.current?.abort(), []);
  return state;
}

const rounded = (x) => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, x))) - 1);
  return count(Math.round(x / unit) * unit);
};

function Estimate({ body, arms, typed }) {
  const { plan, body: asked, error, busy } = usePlan(body);
  if (!body) return html`<p class="soft">The estimate comes when the numbers are there.</p>`;
  if (error) return html`<p class="soft">${sentenceOf(error)}</p>`;
  if (!plan) return html`<p class="soft">Simulating …</p>`;
  const [mean, least, most] = plan.measurements;
  const [labels, fewest, largest] = plan.labels.map((x) => count(Math.round(x)));
  const all = plan.ended === plan.runs;
  const studies = plural(plan.runs, "simulated study", "simulated studies");
  const example = [
    arms > MOST && `Simulated with ${count(MOST)} arms; ${count(arms)} cost more.`,
    !arms && "With 20 arms, until you paste yours.",
    !typed && "With the example's numbers, until you type yours.",
  ];
  return html`
    <div aria-busy=${busy ? "true" : null}>
      <p class="big">
        ${all ? `About ${rounded(mean)} measurements` : `More than ${count(asked.budget)} measurements in ${plan.runs - plan.ended} of ${studies}`}
      </p>
      <p>
        ${
          all
            ? `Simulated studies of such arms took ${rounded(least)} to ${rounded(most)}, about ${rounded(mean / plan.arms)} for each arm. `
            : `By ${count(Math.max(asked.budget, plan.arms))} measurements about ${labels} of ${plural(plan.arms, "label")} are certified (${fewest} to ${largest}), and the best guess has about ${count(Math.round(plan.right[0]))} right. Another epsilon moves the threshold. `
        }
        ${plan.lower_bound && `No method can expect fewer than ${rounded(plan.lower_bound)}. `}
        ${plan.lower_bound_remark}
      </p>
      <p class="small soft">
        ${example.filter(Boolean).join(" ")} It is an estimate from your guess. The guarantee does not
        depend on the guess.
      </p>
    </div>`;
}

function Aside({ form, set }) {
  const { now, examples } = imagined(form);
  const arms = armNames(form.arms).length;
  const guessed = guessedMeans(now, arms);
  const delta = Number(form.delta ?? vocabulary.options.delta.default);
  const ready = guessed && guessed.means.length > 1 && delta > 0 && delta < 1;
  const typed = form.epsilon.trim() && (form.model !== "gaussian" || form.sigma.trim());
  const sigmas = { gaussian: now.sigma, "unknown-sigma": now.scatter };
  const small = (name, words, placeholder) => html`
    <label class="mini">
      <span>${words}</span>
      <input type="text" class="short" inputmode="decimal" autocomplete="off" value=${form[name]}
        placeholder=${placeholder} oninput=${(event) => set({ [name]: event.target.value })} />
    </label>`;
  return html`
    <aside class="new-aside" aria-label="Picture and estimate">
      <section class="card">
        <h2>The question as a picture</h2>
        <p class="small soft">
          Guess what the arms may be like. The guess draws the picture and the estimate, and nothing
          else depends on it.
        </p>
        <div class="guess">
          ${small("best", "Best mean, perhaps", now.best)} ${small("worst", "Worst mean, perhaps", now.worst)}
          <label class="mini">
            <span>The arms are</span>
            <select value=${form.shape} onchange=${(event) => set({ shape: event.target.value })}>
              ${Object.entries(SHAPES).map(([key, words]) => html`<option value=${key}>${words}</option>`)}
            </select>
          </label>
          ${form.model === "unknown-sigma" && small("scatter", "Scatter, perhaps", examples.scatter)}
        </div>
        ${
          guessed
            ? html`<${BandPicture} ...${guessed} sigma=${Number(sigmas[form.model]) || null} />`
            : html`<p class="small soft">Give epsilon and a guess of the best and the worst mean.</p>`
        }
      </section>
      <section class="card">
        <h2>What it may cost</h2>
        <div class="estimate" aria-live="polite">
          <${Estimate} body=${ready ? planBody(now, guessed.means, form.budget) : null} arms=${arms} typed=${typed} />
        </div>
      </section>
    </aside>`;
}

// ---- the form

/** A field of the form, with the words of the server: `name` is its name there. */
function Option({ name, form, set, errors, more = {} }) {
  const { label, description, default: usual } = vocabulary.options[name];
  const value = form[name] ?? usual ?? "";
  if (typeof usual === "boolean")
    return html`
      <${Check} checked=${value} onCheck=${(is) => set({ [name]: is })}>${label}<//>
      <span class="hint">${description}</span>`;
  return html`
    <${TextField} label=${label} name=${name} value=${value} hint=${description} class="short"
      inputmode="decimal" error=${errors[name]} onText=${(text) => set({ [name]: text })} ...${more} />`;
}

function ArmCount({ names, set }) {
  const repeated = [...new Set(names.filter((name, i) => names.indexOf(name) !== i))];
  const once = () => set({ arms: [...new Set(names)].join("\n") });
  return html`
    <p class="small soft" role="status">
      ${names.length ? plural(names.length, "arm") : "No arm yet."}
      ${
        repeated.length > 0 &&
        html` ${plural(repeated.length, "name stands", "names stand")} there more than once:
          ${list(repeated, 4)}. <button type="button" class="small" onclick=${once}>Remove the repeats</button>`
      }
    </p>`;
}

function Good({ form, set, errors }) {
  const delta = Number(form.delta ?? vocabulary.options.delta.default);
  const { sentence } = vocabulary.objectives[form.objective];
  const options = Object.entries(vocabulary.objectives).map(([key, { title }]) => [key, title]);
  const risk =
    delta > 0 && delta < 1 ? ` Here: 1 in ${number(1 / delta, 3)}. A smaller risk costs only a little more.` : "";
  const described = vocabulary.options.delta.description;
  return html`
    <section class="card">
      <h2>What is good enough</h2>
      <${Segments} label="How good is measured" name="objective" options=${options}
        value=${form.objective} onChoice=${(objective) => set({ objective })} />
      <div class="two">
        <${Option} name="epsilon" form=${form} set=${set} errors=${errors}
          more=${{ hint: `${sentence} Arms close to that threshold cost most.`, placeholder: `for example ${imagined(form).examples.epsilon}` }} />
        <${Option} name="delta" form=${form} set=${set} errors=${errors} more=${{ hint: described + risk }} />
      </div>
    </section>`;
}

function Measured({ form, set, errors }) {
  const { use, parameters } = vocabulary.models[form.model];
  const models = Object.entries(vocabulary.models).map(([key, { title }]) => [key, title]);
  const placeholder = `for example ${imagined(form).examples.sigma}`;
  const further = furtherOptions().filter((name) => name !== "budget");
  return html`
    <section class="card">
      <h2>How it is measured</h2>
      <${Choice} label=${vocabulary.options.model.label} hint=${use} options=${models}
        value=${form.model} error=${errors.model} onChoice=${(model) => set({ model })} />
      <div class=${parameters.length > 1 ? "two" : ""}>
        ${parameters.map((name) => html`
          <${Option} key=${name} name=${name} form=${form} set=${set} errors=${errors} more=${{ placeholder }} />`)}
      </div>
      <${Option} name="budget" form=${form} set=${set} errors=${errors} />
      <details class="fold-more" open=${further.some((name) => errors[name]) || null}>
        <summary>More settings</summary>
        ${further.map((name) => html`<${Option} key=${name} name=${name} form=${form} set=${set} errors=${errors} />`)}
      </details>
    </section>`;
}

function Form({ form, set, onMade }) {
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const box = useRef();
  const errors = problem?.fields ?? {};
  useEffect(() => box.current.querySelector("[aria-invalid]")?.focus(), [problem]);
  useEffect(() => box.current.elements.name.focus({ preventScroll: true }), []);
  const change = (parts) => {
    set((old) => ({ ...old, ...parts }));
    if (problem) setProblem({ ...problem, fields: { ...errors, ...Object.fromEntries(Object.keys(parts).map((name) => [name, null])) } });
  };
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      onMade(await post("studies", bodyOf(form)));
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const options = vocabulary.options;
  const shown = Object.values(errors).some(Boolean);
  return html`
    <form class="new-form" novalidate ref=${box} onsubmit=${send}>
      <section class="card">
        <h2>What is compared</h2>
        <${TextField} label=${options.name.label} name="name" maxlength="200" value=${form.name}
          hint=${options.name.description} error=${errors.name} onText=${(name) => change({ name })} />
        <${TextField} label=${options.arms.label} name="arms" rows="6" spellcheck="false" value=${form.arms}
          hint="What is compared: compounds, page variants, prompts. Paste one per line, or all in one line with commas between them."
          error=${errors.arms} onText=${(arms) => change({ arms })} />
        <${ArmCount} names=${armNames(form.arms)} set=${change} />
      </section>
      <${Good} form=${form} set=${change} errors=${errors} />
      <${Measured} form=${form} set=${change} errors=${errors} />
      <${ErrorLine} error=${shown ? null : problem} />
      <div class="row"><button class="primary" disabled=${busy}>Begin the study</button><a href="#/">Cancel</a></div>
    </form>`;
}

export default function NewStudy() {
  useTitle("New study");
  const [form, setForm] = useKept("new", EMPTY);
  const made = ({ id }) => {
    setForm(EMPTY);
    location.hash = studyPath(id);
  };
  const head = html`
    <div class="page-head">
      <div>
        <p class="crumbs"><a href="#/">Studies</a> / New study</p>
        <h1>New study</h1>
        <p class="question">Which arms are within epsilon of the best, wrong with probability at most delta?</p>
      </div>
    </div>`;
  if (!may("manage"))
    return html`${head}
      <p class="notice">
        To begin a study you need a token that may manage. Ask the person who runs this server.
      </p>`;
  return html`${head}
    <div class="new-grid">
      <${Form} form=${form} set=${setForm} onMade=${made} />
      <${Aside} form=${form} set=${(parts) => setForm((old) => ({ ...old, ...parts }))} />
    </div>`;
}
