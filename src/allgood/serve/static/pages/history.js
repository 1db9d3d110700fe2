// Everything that happened in a study, the newest first: filtered, with the events behind each entry,
// and all of it to save.
import { address, get, sentenceOf, vocabulary } from "../lib/api.js";
import { useKept } from "../lib/browser.js";
import { dialog } from "../lib/dialog.js";
import { count, iso, moment, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { Rows } from "../lib/rows.js";
import { armPath, StudyPage } from "../lib/study.js";
import { useEffect, useState } from "../lib/view.js";
import { Choice, Loading, TextField } from "../lib/widgets.js";

// An entry has the number of its events of each kind.
const sizeOf = (entry) => Object.values(entry.events).reduce((a, b) => a + b, 0);
const kindOf = (entry) => Object.entries(entry.events).reduce((a, b) => (b[1] > a[1] ? b : a))[0];

const PAGE = 50; // entries at first; twice as many whenever one comes to the last
const MOST = 2000;
const RAW = 200; // events that a box shows
const NONE = { kind: "", arm: "", batch: "", client: "" };

const termOf = (kind) => vocabulary.events?.[kind] ?? { title: kind, notable: true };

// ---- the events behind an entry

function Raw({ id, entry, close }) {
  const [state, setState] = useState({ events: null, error: null });
  useEffect(() => {
    const controller = new AbortController();
    const query = new URLSearchParams({ after: entry.first - 1, before: entry.last + 1, limit: RAW });
    get(`studies/${id}/events?${query}`, controller)
      .then(({ events }) => setState({ events, error: null }))
      .catch((error) => controller.signal.aborted || setState({ events: null, error }));
    return () => controller.abort();
  }, []);
  const { events, error } = state;
  const hidden = sizeOf(entry) - (events?.length ?? 0);
  return html`
    <p>${entry.sentence}</p>
    ${error && html`<p class="error" role="alert">${sentenceOf(error)}</p>`}
    ${!events && !error && html`<${Loading} />`}
    ${
      events &&
      html`
        <pre class="raw" tabindex="0">${events.map((event) => `${JSON.stringify(event, null, 1)}\n`)}</pre>
        ${hidden > 0 && html`<p class="soft">${plural(hidden, "more event")}: export the events to see them.</p>`}`
    }
    <div class="actions"><button type="button" onclick=${() => close()}>Close</button></div>`;
}

const showRaw = (id, entry) =>
  dialog(
    sizeOf(entry) === 1 ? `Event ${count(entry.first)}` : `Events ${count(entry.first)} to ${count(entry.last)}`,
    (close) => html`<${Raw} id=${id} entry=${entry} close=${close} />`,
  );

// ---- the list

function cellsOf(id, entry) {
  const [arm] = entry.arms;
  const { title, notable } = termOf(kindOf(entry));
  const numbers = sizeOf(entry) === 1 ? count(entry.last) : `${count(entry.first)} – ${count(entry.last)}`;
  return Object.assign(
    [
      html`<button type="button" class="plain small" aria-label="Show event ${numbers}"
        onclick=${() => showRaw(id, entry)}>${numbers}</button>`,
      html`<time datetime=${iso(entry.time)}>${moment(entry.time)}</time>`,
      html`<span class="kind ${notable ? "loud" : ""}">${title}</span>`,
      entry.arms.length === 1 && html`<a href=${armPath(id, arm)}>${arm}</a>`,
      html`<span title=${entry.sentence}>${entry.sentence}</span>`,
      entry.client,
    ],
    { class: notable ? "loud" : "" },
  );
}

function List({ id, data, filtered, older }) {
  const { entries, events } = data;
  const more = data.before !== null;
  const view = (first, last) => more && last >= entries.length && older();
  const n = entries.length;
  const found = more ? `The last ${count(n)} entries` : plural(n, "entry", "entries");
  const fits = filtered ? ` that ${n === 1 && !more ? "fits" : "fit"}` : "";
  return html`
    <p class="count" role="status">${found}${fits}, of ${plural(events, "event")}</p>
    <${Rows} kind="history" label="What happened, the newest first" wide=${36} narrow=${78}
      columns=${["Events", "When", "Kind", "Arm", "What happened", "Client"]} count=${entries.length}
      keyOf=${(i) => entries[i].last} row=${(i) => cellsOf(id, entries[i])} onView=${view} />`;
}

// ---- filters

function Filters({ id, name, filter, setFilter }) {
  const set = (key) => (value) => setFilter({ ...filter, [key]: value.trim() });
  const kinds = Object.entries(vocabulary.events ?? {}).map(([kind, { title }]) => [kind, title]);
  const text = (key, label, more = {}) => html`
    <${TextField} label=${label} type="search" placeholder="Any" value=${filter[key]}
      onText=${set(key)} ...${more} />`;
  return html`
    <form class="filters no-print" aria-label="Filter the history" onsubmit=${(event) => event.preventDefault()}>
      <${Choice} label="Kind" value=${filter.kind} onChoice=${set("kind")}
        options=${[["", "All kinds"], ...kinds]} />
      ${text("arm", "Arm", { "data-search": "" })} ${text("batch", "Plate", { inputmode: "numeric" })}
      ${text("client", "Client")}
      <button type="button" class="plain" onclick=${() => setFilter(NONE)}>Clear</button>
      <span class="save">
        <a class="button" href=${address(`studies/${id}/export`)} download="${name}.jsonl">Export the events</a>
        <a class="button" href=${address(`studies/${id}/values?format=csv`)} download="${name}-values.csv">Values as CSV</a>
      </span>
    </form>`;
}

export default function Page({ id, query }) {
  const start = { ...NONE, arm: query.get("arm") ?? "", kind: query.get("kind") ?? "" };
  const [filter, setFilter] = useKept(`filters ${location.hash}`, start);
  const [wanted, setWanted] = useState(PAGE);
  const chosen = Object.entries(filter).filter(([, value]) => value);
  const parameters = new URLSearchParams([...chosen, ["limit", String(wanted)]]).toString();
  const older = () => setWanted((n) => Math.min(MOST, 2 * n));
  return html`
    <${StudyPage} id=${id} page="history" title="History" inputs=${[parameters]}
      load=${(signal) => get(`studies/${id}/history?${parameters}`, { signal })}
      draw=${(data) => html`
        <section class="history-page" aria-labelledby="history-title">
          <h2 id="history-title">History</h2>
          <p class="lead">
            Everything that happened, the newest first. Events are added and never changed: a
            correction is a new event.
          </p>
          <${Filters} id=${id} name=${data.name} filter=${filter} setFilter=${setFilter} />
          <${List} id=${id} data=${data} filtered=${chosen.length > 0} older=${older} />
        </section>`} />`;
}
