// A sheet of values or counts: pasted, dropped or typed, previewed by the server, then told. The
// server reads it; here nothing is parsed.
import { may, newKey, post, sentenceOf, vocabulary } from "./api.js";
import * as actions from "./actions.js";
import { announce, useKept } from "./browser.js";
import { askFor, toast } from "./dialog.js";
import { count, list, number, plural } from "./format.js";
import { html } from "./html.js";
import { PreviewedPlate } from "./plate.js";
import { Rows } from "./rows.js";
import { studyPath } from "./study.js";
import { useEffect, useMemo, useRef, useState } from "./view.js";
import { Check, Choice, DropZone, ErrorLine, Notice, RowStatus, Segments, TextField } from "./widgets.js";

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const WAIT = 350; // milliseconds without a key, after which a text is previewed
const NEEDY = 20; // rows that need somebody, shown in full at once

// What is told, by which paths, and the options that the server has for it.
const HOW = ["decimal", "grid", "ticket_column", "value_column"];
const KINDS = {
  values: { words: "Values", tell: "tell", preview: "preview", options: [...HOW, "all_or_nothing"] },
  counts: {
    words: "Counts",
    tell: "counts",
    preview: "counts/preview",
    options: ["source", "period", "decimal", "columns"],
  },
  replace: { words: "Replacement", tell: "replace", preview: "replace/preview", options: [...HOW, "reason"] },
};
const EXAMPLES = {
  values: "ticket, value\nabcd-17, 42.6\nabcd-18, 39.1",
  counts: "arm, n, sum\nA, 1200, 96\nB, 1180, 121",
};
const OF_ROWS = ["client", "decimal", "all_or_nothing", "reason"]; // options of typed rows
const EMPTY = {
  ...{ kind: "values", text: "", decimal: ".", grid: "", ticket_column: "", value_column: "" },
  ...{ all_or_nothing: false, source: "", period: "", columns: "", reason: "" },
};
const files = new Map(); // what was dropped or typed, by study: Back finds it again

/**
 * The sheet of a study: {form, set(part of the form), source, take(source), clear(), start(part)}. A
 * source is {file, name} or {rows, name}; without one, the text of the form is the sheet. `start` is
 * for buttons elsewhere on the page: then the sheet comes into view.
 */
export function useSheet(id) {
  const [form, setForm] = useKept(`sheet-${id}`, EMPTY);
  const [source, setSource] = useState(() => files.get(id) ?? null);
  const take = (given) => {
    files.set(id, given);
    setSource(given);
  };
  const set = (part) => setForm((old) => ({ ...old, ...part }));
  const clear = () => {
    take(null);
    set({ text: "", grid: "", reason: "", kind: form.kind === "replace" ? "values" : form.kind });
  };
  const start = (part) => {
    set(part);
    document.getElementById("tell-title").scrollIntoView({ block: "start" });
  };
  return { form, source, take, set, clear, start };
}

// The same request for a preview and for telling.
function send(id, what, { form, source }, more, options) {
  const { [what]: path, options: names } = KINDS[form.kind];
  const settings = Object.fromEntries(
    names.map((name) => [name, form[name]]).filter(([, value]) => value !== "" && value !== false),
  );
  Object.assign(settings, actions.client() ? { client: actions.client() } : {}, more);
  if (source?.rows) {
    const allowed = Object.entries(settings).filter(([name]) => OF_ROWS.includes(name));
    return post(`studies/${id}/${path}`, { rows: source.rows, ...Object.fromEntries(allowed) }, options);
  }
  const isBook = /\.xlsx$/i.test(source?.name ?? "");
  const type = isBook ? XLSX : source ? "text/csv" : "text/plain";
  const query = new URLSearchParams(settings);
  return post(`studies/${id}/${path}?${query}`, source?.file ?? form.text, { type, ...options });
}

/**
 * Previews a sheet when it has changed, and never by itself. Returns {receipt, problem, told, fresh,
 * moved, again, tell}: `fresh` says that what is shown is of the sheet as it is, and `moved` that
 * the study has changed since.
 */
function usePreview(id, sheet, events) {
  const { form, source } = sheet;
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState({});
  const options = KINDS[form.kind].options.map((name) => form[name]).join("\n");
  // the sheet as it is now: answers about another one are dropped
  const version = useMemo(() => ({ key: newKey() }), [form.kind, form.text, options, source]);
  const now = useRef();
  now.current = { version, events };
  const ask = async (what, more, request) => {
    const answer = { version, events: now.current.events, told: false };
    try {
      answer.receipt = await send(id, what, sheet, more, request);
      answer.told = what === "tell";
    } catch (problem) {
      if (request.signal?.aborted) return;
      answer.problem = problem;
    }
    if (now.current.version === version)
      setState((old) => (what === "tell" ? { ...old, problem: null, ...answer } : answer));
    else toast(answer.problem ? sentenceOf(answer.problem) : "What was shown before has been told.");
  };
  useEffect(() => {
    if (!source && !form.text.trim()) {
      setState({});
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => ask("preview", {}, { signal: controller.signal }), WAIT);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [version, turn]);
  const fresh = state.version === version;
  return {
    ...state,
    fresh,
    moved: fresh && !!state.receipt && !state.told && events > state.events,
    again: () => setTurn((n) => n + 1),
    tell: () => ask("tell", {}, { key: version.key }),
    correct: (reason) => ask("tell", { correct: reason }, {}),
  };
}

// ---- how the sheet is written

const FIELDS = {
  decimal: { label: "Decimals", options: [[".", "42.6"], [",", "42,6"]] },
  grid: {
    label: "Grid of plate",
    type: "number",
    min: 1,
    placeholder: "not a grid",
    hint:
      "The number of the plate, if this is what a plate reader writes: letters and numbers around " +
      "the values.",
  },
  ticket_column: { label: "Column of tickets", placeholder: "ticket" },
  value_column: { label: "Column of values", placeholder: "value" },
  source: { label: "Source", placeholder: "for example web log", hint: "Where the table comes from." },
  period: {
    label: "Period",
    placeholder: "for example 2026-05-04",
    hint: "The same source, period and arm count once. A column period will do as well.",
  },
  columns: { label: "Other names of columns", placeholder: "arm=variant,n=visitors" },
  reason: { label: "Reason", hint: "It stands in the history for good." },
};

function Option({ name, form, set, error }) {
  if (name === "all_or_nothing")
    return html`
      <${Check} checked=${form[name]} onCheck=${(is) => set({ [name]: is })}>All rows or none<//>`;
  const { options, ...words } = FIELDS[name];
  const change = (value) => set({ [name]: value });
  const shared = { ...words, name, error, value: form[name] };
  return options
    ? html`<${Choice} ...${shared} options=${options} onChoice=${change} />`
    : html`<${TextField} ...${shared} onText=${change} spellcheck="false" />`;
}

function Options({ sheet: { form, set }, problem, open, setOpen }) {
  const { options } = KINDS[form.kind];
  const option = (name) => html`
    <${Option} key=${name} name=${name} form=${form} set=${set} error=${problem?.fields?.[name]} />`;
  const first = options.filter((name) => ["source", "period", "reason"].includes(name));
  const others = options.filter((name) => !first.includes(name));
  return html`
    ${first.length > 0 && html`<div class="option-grid" key="first">${first.map(option)}</div>`}
    <details class="options" key="others" open=${open} ontoggle=${(event) => setOpen(event.target.open)}>
      <summary>How the sheet is written</summary>
      <div class="option-grid">${others.map(option)}</div>
    </details>`;
}

// What would help, as the server hints: a button for each.
function Hints({ hints, sheet: { set }, plates, openOptions }) {
  const choose = (part) => {
    set(part);
    openOptions(null);
  };
  const button = (words, part) => html`
    <button type="button" class="small" key=${words} onclick=${() => choose(part)}>${words}</button>`;
  return hints.map(({ code, option }) => {
    if (code === "decimal_comma") return button("They are decimal commas", { decimal: "," });
    if (code === "counts_table") return button("Tell it as counts", { kind: "counts" });
    if (code === "grid")
      return plates.map(({ batch }) => button(`It is the grid of plate ${batch}`, { grid: String(batch) }));
    if (!(option in FIELDS)) return null;
    return html`
      <button type="button" class="small" key=${option} onclick=${() => openOptions(option)}>
        Fill in “${FIELDS[option].label}”
      </button>`;
  });
}

// ---- what becomes of the rows

const termOf = ({ status }) => vocabulary.rows?.[status] ?? { word: status };
const isNeedy = (row) => {
  const { routine, tone } = termOf(row);
  return !routine && tone !== "good" && row.status !== "waiting";
};
const meaning = (row, told) => termOf(row)[told ? "receipt" : "preview"] ?? "";

const shownValue = (value) => (typeof value === "number" ? number(value, 6) : (value ?? ""));
// How many rows have each status, in the order of the vocabulary.
const countsOf = ({ counts }) =>
  Object.keys(vocabulary.rows ?? counts)
    .filter((status) => counts[status])
    .map((status) => [status, counts[status]]);
const inWords = (receipt) =>
  list(countsOf(receipt).map(([status, n]) => `${count(n)} ${termOf({ status }).word}`));
const refusedOf = (rows) => rows.filter((row) => termOf(row).refused).length;
const storedOf = (rows) => rows.filter((row) => termOf(row).stored && shownValue(row.value) !== "").length;

function Said({ id, preview: { receipt, told, moved, again }, verdict }) {
  if (!receipt)
    return html`
      <p class="soft">Every row is previewed as soon as you paste. A preview writes nothing.</p>`;
  const { rows } = receipt;
  const refused = refusedOf(rows);
  const writes = storedOf(rows);
  if (told)
    return html`
      <${Notice} tone=${refused ? "warn" : "good"}>
        <p>
          <b>${writes ? "Told. " : "Nothing was written. "}</b>${inWords(receipt)}.
          ${refused > 0 && ` ${plural(refused, "row was", "rows were")} refused;`}
          ${refused > 0 && " telling the mended sheet again is safe."}
        </p>
        <p>${verdict} <a href=${studyPath(id)}>See the study</a></p>
      <//>`;
  return html`
    <${Notice} tone=${refused ? "warn" : ""}>
      <p>
        <b>${plural(rows.length, "row")} previewed, nothing written yet. </b>
        ${refused > 0 && `${plural(refused, "row is", "rows are")} refused${writes ? "; the others can be told" : ""}.`}
        ${!refused && !writes && "There is nothing new to tell."}
      </p>
      ${moved && html`
        <p>
          The study has moved on since.
          <button type="button" class="small" onclick=${again}>Check again</button>
        </p>`}
    <//>`;
}

function Chips({ receipt, told, filter, setFilter }) {
  const counts = countsOf(receipt);
  const chip = (status, words, title) => html`
    <button type="button" key=${status} title=${title} aria-pressed=${filter === status ? "true" : "false"}
      onclick=${() => setFilter(filter === status ? "" : status)}>${words}</button>`;
  return html`
    <div class="chips" role="group" aria-label="Show rows that are">
      ${counts.length > 1 && chip("", `All ${count(receipt.rows.length)}`)}
      ${counts.map(([status, n]) =>
        chip(status, html`${count(n)} <${RowStatus} status=${status} />`, meaning({ status }, told)),
      )}
    </div>`;
}

// Words, the role that is needed, and what asks.
const REMEDIES = {
  fail: [
    "No value will come",
    "measure",
    (id, { ticket }) => actions.failTickets(id, { tickets: [ticket] }, ticket, 1),
  ],
  confirm: ["Confirm", "measure", actions.confirmValue],
  correct: [
    "Correct",
    "manage",
    (id, row) =>
      row.status === "suspect"
        ? actions.correctValue(id, row)
        : actions.correctValue(id, { ...row, value: undefined }, row.value),
  ],
  add_measurement: ["Count it anyway", "measure", (id, row) => actions.addMeasurement(id, row.arm, row.value)],
  withdraw: [
    "Withdraw",
    "manage",
    (id, { ticket }) => actions.withdrawValues(id, { tickets: [ticket] }, ticket),
  ],
};
const remediesOf = (row, told) =>
  (row.status !== "suspect" ? [row.remedy] : told ? ["confirm", "correct"] : [])
    .filter((name) => name in REMEDIES && may(REMEDIES[name][1]))
    .map((name) => REMEDIES[name]);

// Rows that are not simply taken, each with its reason and what can be done; those with the same
// sentence together, unless something can be done about each.
function Needy({ id, rows, told, done, setDone }) {
  const [listed, setListed] = useState(NEEDY);
  const alone = (row) => !row.message || row.line in done || remediesOf(row, told).length > 0;
  const groups = [...Map.groupBy(rows, (row) => (alone(row) ? row : row.message)).values()];
  const act = async (row, ask) => {
    const answer = await ask(id, row);
    if (answer) setDone((old) => ({ ...old, [row.line]: answer.consequence ?? answer.rows[0].message }));
  };
  const Group = ({ row, others }) => html`
    <li class="is-${row.status}">
      <${RowStatus} status=${row.status} />
      <p>
        ${done[row.line] ?? (row.message || `${row.ticket ?? ""}: ${meaning(row, told)}`)}
        ${others > 0 && html`<span class="soft"> (${plural(others + 1, "row")})</span>`}
        ${!others && row.arm && !row.message?.includes(row.arm) && html`
          <span class="soft"> (${[row.ticket, row.arm].filter(Boolean).join(", ")})</span>`}
      </p>
      <span class="row">
        ${!(row.line in done) && remediesOf(row, told).map(([words, , ask]) => html`
          <button type="button" class="small" key=${words} aria-label="${words}: ${row.ticket}"
            onclick=${() => act(row, ask)}>${words} …</button>`)}
      </span>
    </li>`;
  if (!rows.length) return null;
  return html`
    <ul class="needy" aria-label="Rows that need somebody">
      ${groups.slice(0, listed).map(([row, ...others]) => Group({ row, others: others.length }))}
      ${groups.length > listed && html`
        <li class="more" key="more">
          <button type="button" class="small" onclick=${() => setListed(listed + 5 * NEEDY)}>
            Show more of ${count(groups.length)}
          </button>
        </li>`}
    </ul>`;
}

function Previewed({ id, preview: { receipt, told, version } }) {
  const [filter, setFilter] = useState("");
  const [done, setDone] = useState({});
  useEffect(() => setDone({}), [version]);
  const shown = useMemo(() => {
    const rows = receipt.rows.filter((row) => !filter || row.status === filter);
    return [...rows.filter(isNeedy), ...rows.filter((row) => !isNeedy(row))];
  }, [receipt, filter]);
  const lacking = told ? receipt.rows.filter((row) => row.status === "missing" && row.ticket) : [];
  const failing = async () => {
    const tickets = lacking.map((row) => row.ticket);
    const title = plural(tickets.length, "missing value");
    const answer = await actions.failTickets(id, { tickets }, title, tickets.length);
    answer?.rows.forEach(({ message }, i) =>
      setDone((old) => ({ ...old, [lacking[i].line]: message || "Reported as failed." })),
    );
  };
  const cells = (i) => {
    const row = shown[i];
    if (!row) return null;
    const means = done[row.line] ?? meaning(row, told);
    return Object.assign(
      [
        row.line ? count(row.line) : "",
        html`<span class="mono">${row.ticket}</span>`,
        row.arm ?? "",
        { class: "number", content: shownValue(row.value) },
        html`<${RowStatus} status=${row.status} />`,
        html`<span title=${row.message || means}>${means}</span>`,
      ],
      { class: `is-${termOf(row).refused ? "refused" : row.status}` },
    );
  };
  return html`
    <div class="row">
      <${Chips} receipt=${receipt} told=${told} filter=${filter} setFilter=${setFilter} />
      ${lacking.length > 1 && !(lacking[0].line in done) && may("measure") && html`
        <button type="button" class="small" onclick=${failing}>
          Report ${count(lacking.length)} missing values as failed …
        </button>`}
    </div>
    <${Needy} id=${id} rows=${shown.filter(isNeedy)} told=${told} done=${done} setDone=${setDone} />
    ${receipt.rows.length > 0 && html`
      <${Rows} key=${filter} label="Rows and what becomes of them" kind="previewed-rows" count=${shown.length}
        columns=${["Line", "Ticket", "Arm", "Value", told ? "Receipt" : "Preview", "What it means"]}
        row=${cells} wide=${38} narrow=${74} />`}`;
}

// ---- the card

const AGAIN = " Press the button again when it is back: the same rows count once.";
const kilobytes = (file) => `${count(Math.ceil(file.size / 1024))} kB`;

/** The card that tells: sheet is what useSheet gives, data what the page shows of the study. */
export function SheetCard({ id, sheet, data }) {
  const { form, source, set, take, clear } = sheet;
  const preview = usePreview(id, sheet, data.events);
  const { receipt, problem, told, fresh } = preview;
  const isEmpty = !source && !form.text.trim();
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(false);
  const card = useRef();
  useEffect(() => {
    const done = told ? "told" : "previewed";
    if (receipt) announce(`${plural(receipt.rows.length, "row")} ${done}: ${inWords(receipt)}.`);
  }, [receipt]);
  const openOptions = (name) => {
    setOpen(true);
    if (name) setTimeout(() => card.current.querySelector(`[name=${name}]`)?.focus(), 50);
  };
  const run = async (work) => {
    setBusy(true);
    await work();
    setBusy(false);
  };
  const conflicts = form.kind === "counts" ? (receipt?.counts.conflict ?? 0) : 0;
  const hints = told ? [] : (receipt?.hints ?? problem?.hints ?? []);
  const writes = receipt ? storedOf(receipt.rows) : 0;
  const barred = form.all_or_nothing && form.kind === "values" && receipt && !receipt.ok;
  const kinds = Object.entries(KINDS)
    .filter(([kind]) => kind !== "replace" || may("manage"))
    .map(([kind, { words }]) => [kind, words]);
  const verb = form.kind === "replace" ? "Replace" : "Tell";
  const words = writes ? `${verb} ${plural(writes, "row")}` : `Nothing to ${verb.toLowerCase()}`;
  const openPlates = data.plates.filter((plate) => plate.open).slice(0, 6);
  const notes = [...(receipt?.notes ?? []), ...(receipt?.warnings ?? [])];
  const atField = Object.keys(problem?.fields ?? {}).some((name) => KINDS[form.kind].options.includes(name));
  const again = problem?.passing && receipt ? AGAIN : "";
  return html`
    <section class="card tell ${fresh || isEmpty ? "" : "busy"}" aria-labelledby="tell-title" ref=${card}>
      <h2 id="tell-title">Tell what came out</h2>
      <${Segments} label="What the sheet holds" name="sheet-kind" value=${form.kind}
        options=${kinds} onChoice=${(kind) => set({ kind })} />
      <${DropZone} hint="or drop a file here" accept=".csv,.tsv,.txt,.xlsx,text/csv,text/plain" file=${source}
        note=${source?.file ? kilobytes(source.file) : plural(source?.rows?.length ?? 0, "value")}
        onFile=${(file) => take(file && { file, name: file.name })} onText=${(text) => set({ text })}>
        <textarea rows="10" wrap="off" spellcheck="false" autocomplete="off" value=${form.text}
          aria-label="Results, pasted or typed" placeholder=${EXAMPLES[form.kind] ?? EXAMPLES.values}
          oninput=${(event) => set({ text: event.target.value })} />
      <//>
      <${Options} sheet=${sheet} problem=${problem} open=${open} setOpen=${setOpen} />
      <div class="tell-bar">
        <div class="previewed"><${Said} id=${id} preview=${preview} verdict=${data.verdict} /></div>
        ${receipt && !told && html`
          <button type="button" class="primary" disabled=${busy || !fresh || !writes || barred}
            onclick=${() => run(preview.tell)}>${words}</button>`}
        ${told && html`<button type="button" onclick=${clear}>Next sheet</button>`}
      </div>
      <${ErrorLine} error=${problem && !atField ? `${sentenceOf(problem)}${again}` : null} />
      <div class="remarks">
        ${notes.map((note) => html`<p class="small">${note}</p>`)}
      </div>
      <div class="row">
        <${Hints} hints=${hints} sheet=${sheet} plates=${openPlates} openOptions=${openOptions} />
        ${conflicts > 0 && may("manage") && html`
          <button type="button" class="small" onclick=${() => replaceCounts(conflicts, preview)}>
            Replace the numbers told before …
          </button>`}
      </div>
      ${receipt?.plates?.map((check) => html`
        <${PreviewedPlate} key=${check.plate} id=${id} check=${check} />`)}
      ${receipt && html`<${Previewed} id=${id} preview=${preview} />`}
    </section>`;
}

const replaceCounts = (n, preview) =>
  askFor({
    title: "Replace numbers",
    text: [
      `${plural(n, "row of this table differs", "rows of this table differ")} from what was told before.`,
      "The old numbers stay in the history.",
    ],
    fields: [{ name: "reason", required: true, prose: true, ...FIELDS.reason }],
    action: "Replace",
    run: ({ reason }) => preview.correct(reason),
  });
