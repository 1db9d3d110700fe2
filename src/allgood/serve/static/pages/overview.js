// One study: the verdict, its arms, what it costs, and what goes on.
import { addNote, change, confirmValue, correctValue, restoreArm } from "../lib/actions.js";
import { Problem, address, get, may, remove, sentenceOf, vocabulary } from "../lib/api.js";
import { announce, useKept } from "../lib/browser.js";
import { CostChart, LabelsChart } from "../lib/charts.js";
import { askFor } from "../lib/dialog.js";
import { Forest, SORTS, chooseArms, countArms } from "../lib/forest.js";
import { count, list, number, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { useSlow } from "../lib/live.js";
import { StudyPage, armPath, studyPath } from "../lib/study.js";
import { useEffect, useMemo, useRef, useState } from "../lib/view.js";
import { LabelBar, Mark, Notice, Since, Tag } from "../lib/widgets.js";

const FORECAST = 15_000; // milliseconds between two forecasts
const FLASH = 2200; // milliseconds for which an arm is pointed out whose label has turned

// ---- what people change

const REASON = { name: "reason", label: "Reason", required: true, maxlength: 1000, prose: true };

function setBudget(id, budget) {
  return change(id, "budget", {
    title: "Change the budget",
    action: "Change",
    text: "How many measurements may be made in all. The guarantee stays as it is.",
    fields: [
      { name: "budget", label: "Budget", value: budget, inputmode: "numeric", hint: "Empty: no limit." },
      REASON,
    ],
    body: ({ budget: text, reason }) => {
      const typed = text.trim();
      return { budget: typed === "" ? null : /^\d+$/.test(typed) ? Number(typed) : typed, reason };
    },
  });
}

const addArms = (id, room) =>
  change(id, "arms", {
    title: "Add arms",
    action: "Add",
    text:
      `There is room for ${plural(room, "arm")}. Arms can be added once, all together, and before ` +
      "the first label is certified.",
    fields: [{ name: "arms", label: "Arms, one per line", rows: 4, required: true }, REASON],
    body: ({ arms, reason }) => {
      const names = arms.split("\n").map((name) => name.trim());
      return { arms: names.filter(Boolean), reason };
    },
  });

async function deleteStudy(id, study) {
  const done = await askFor({
    title: "Delete the study",
    action: "Delete for ever",
    danger: true,
    text:
      "All its events are deleted, and nothing can bring them back. Export the study first if you " +
      "may want it again.",
    fields: [{ name: "name", label: `Type the name of the study: ${study}`, required: true }],
    run: ({ name }) => {
      const errors = [{ pointer: "/name", detail: "That is not its name." }];
      if (name !== study) throw new Problem(errors[0].detail, { errors });
      return remove(`studies/${id}`);
    },
  });
  if (done) location.hash = "#/";
}

// ---- the verdict, and what needs attention

const Verdict = ({ data, counts }) => html`
  <section class="verdict-box" aria-label="Verdict">
    <p class="study-verdict">${data.verdict}</p>
    <${LabelBar} good=${counts.good} bad=${counts.bad} open=${counts.open} />
    ${data.best_guess && html`
      <p class="soft small facts-line">${data.best_guess}</p>`}
    <p class="soft small facts-line">${data.guarantee}</p>
  </section>`;

function Suspect({ id, value }) {
  const which = `${number(value.value, 6)} of ${value.arm}`;
  return html`
    <li class="suspect">
      <p><a href=${armPath(id, value.arm)}>${value.arm}</a>: ${value.message}</p>
      <div class="row">
        ${may("measure") && html`
          <button type="button" class="small" aria-label="It is right: ${which}"
            onclick=${() => confirmValue(id, value)}>It is right</button>`}
        ${may("manage") && html`
          <button type="button" class="small" aria-label="It is wrong: ${which}"
            onclick=${() => correctValue(id, value)}>It is wrong</button>`}
      </div>
    </li>`;
}

// What a button or a link does about a step: by the code of the step.
function StepAction({ id, step, data, show }) {
  const link = (words, href) => html`<a class="button small" href=${href}>${words}</a>`;
  const button = (words, run) => html`<button type="button" class="small" onclick=${run}>${words}</button>`;
  const actions = {
    raise_budget: () =>
      may("manage") &&
      button("Change the budget", () => setBudget(id, step.arguments.budget ?? data.budget ?? "")),
    take_guess: () => button("Show the guesses", () => show("guess good")),
    drop_arms: () => button("Show open arms", () => show("open")),
    ask: () => link("Ask", studyPath(id, "measure")),
    tell_values: () => link("Tell", studyPath(id, "measure")),
    write_certificate: () => link("Certificate", studyPath(id, "certificate")),
    write_report: () => link("Report", address(`studies/${id}/report`)),
  };
  return actions[step.code]?.() ?? null;
}

const NextSteps = ({ id, data, show }) => html`
  <${Notice} title="Next steps">
    <ul class="plain lines steps">
      ${data.next_steps.map(
        (step) => html`
          <li class="suspect" key=${step.code}>
            <p>${step.sentence}</p><${StepAction} id=${id} step=${step} data=${data} show=${show} />
          </li>`,
      )}
    </ul>
  <//>`;

function Attention({ id, data, show }) {
  const { suspects, num_suspects: all, checks } = data;
  return html`
    <section class="attention" aria-label="What needs attention">
      ${data.measurements + data.pending === 0 && html`
        <${Notice} key="begin" title="Nothing is measured yet">
          <p>
            Ask which arms to measure, measure them, and tell what came out. ${" "}
            ${may("measure") && html`<a href=${studyPath(id, "measure")}>Ask for the first measurements</a>`}
          </p>
        <//>`}
      ${checks.length > 0 && html`
        <${Notice} key="checks" tone="warn" title=${vocabulary.misfit}>
          ${checks.map((sentence) => html`<p>${sentence}</p>`)}
        <//>`}
      ${all > 0 && html`
        <${Notice} key="suspects" tone="warn" title=${plural(all, "suspect value")}>
          <ul class="plain">
            ${suspects.map((value) => html`<${Suspect} key=${value.ticket} id=${id} value=${value} />`)}
          </ul>
          ${all > suspects.length && html`<p>And ${count(all - suspects.length)} more.</p>`}
        <//>`}
      ${data.waiting && html`<${Notice} key="waiting"><p>${data.waiting}</p><//>`}
      ${data.outcome !== "running" && data.next_steps.length > 0 && html`
        <${NextSteps} key="steps" id=${id} data=${data} show=${show} />`}
    </section>`;
}

// ---- the arms

// The arms whose label has just turned; they are announced to screen readers.
function useTurned(arms) {
  const before = useRef(null);
  const [turned, setTurned] = useState(() => new Set());
  useEffect(() => {
    const old = before.current;
    before.current = arms;
    const changed = new Set();
    arms.label.forEach((label, i) => {
      if (old && i < old.label.length && old.label[i] !== label) changed.add(i);
    });
    if (!changed.size) return;
    setTurned(changed);
    setTimeout(() => setTurned((now) => (now === changed ? new Set() : now)), FLASH);
    const words = ["good", "bad", "open"].map((label) => {
      const names = [...changed].filter((i) => arms.label[i] === label).map((i) => arms.arm[i]);
      return names.length && `${vocabulary.labels?.[label].title}: ${list(names, 4)}.`;
    });
    announce(words.filter(Boolean).join(" "));
  }, [arms]);
  return turned;
}

const CHIPS = {
  all: ["all"],
  good: ["good", "good"],
  bad: ["bad", "bad"],
  open: ["open", "open"],
  "guess good": ["guess good", "open", "good"],
  "guess bad": ["guess bad", "open", "bad"],
};

const Chips = ({ counts, label, onLabel }) => html`
  <div class="chips" role="group" aria-label="Arms to show">
    ${Object.entries(CHIPS).map(([key, [words, mark, guess = null]]) => (!guess || counts[key] > 0) && html`
      <button type="button" key=${key} aria-pressed=${String(key === label)} onclick=${() => onLabel(key)}>
        ${mark && html`<${Mark} label=${mark} guess=${guess} />`}<span>${words} ${count(counts[key])}</span>
      </button>`)}
  </div>`;

function Arms({ id, data, counts, wish, setWish }) {
  const { arms } = data;
  const set = (part) => setWish((old) => ({ ...old, ...part }));
  const chosen = useMemo(() => chooseArms(arms, wish), [arms, wish]);
  const turned = useTurned(arms);
  const words =
    chosen.length === counts.all
      ? plural(counts.all, "arm")
      : `${count(chosen.length)} of ${plural(counts.all, "arm")}`;
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) announce(words);
    first.current = false;
  }, [wish.search, wish.label]);
  return html`
    <section class="card arms" aria-labelledby="arms-title">
      <div class="toolbar">
        <h2 id="arms-title">${words}</h2>
        <${Chips} counts=${counts} label=${wish.label} onLabel=${(label) => set({ label })} />
        <div class="search">
          <input type="search" placeholder="Search arms" aria-label="Search arms by name" data-search
            value=${wish.search} oninput=${(event) => set({ search: event.target.value })} />
        </div>
        <div class="sort">
          <select aria-label="Sort arms by" value=${wish.sort}
              onchange=${(event) => set({ sort: event.target.value })}>
            ${Object.entries(SORTS).map(([key, [name]]) => html`
              <option key=${key} value=${key}>${name}</option>`)}
          </select>
        </div>
      </div>
      <${Forest} key="${wish.search} ${wish.label} ${wish.sort}" id=${id} arms=${arms} chosen=${chosen}
        best=${data.best} threshold=${data.threshold} words=${data.wording} noRival=${data.no_rival}
        sort=${wish.sort} onSort=${(sort) => set({ sort })} turned=${turned} />
      <div class="legend small soft">
        <p>
          Lines are intervals that hold all true means at all times; an arrow says that one goes on. A
          full bar of evidence is a certified label. Hollow signs are the best guess for open arms. The
          shaded band is what counts as good, seen from the best estimate.
        </p>
        ${Object.entries(data.remarks).map(([code, sentence]) => html`<p key=${code}>${sentence}</p>`)}
        <p class="no-print">
          Hit list: <a download href=${address(`studies/${id}/hits?format=csv`)}>CSV</a>, ${" "}
          <a download href=${address(`studies/${id}/hits?format=xlsx`)}>Excel</a>
        </p>
      </div>
    </section>`;
}

// ---- beside the arms

function Cost({ id, data }) {
  const load = (signal) => get(`studies/${id}/forecast`, { signal });
  const { data: forecast, error } = useSlow(id, load, data.events, FORECAST);
  const of = (n) => (n === null ? "" : ` of ${count(n)}`);
  const so = `${plural(data.measurements, "measurement")}${of(data.budget)} so far`;
  const { plates } = data;
  const inPlates = plates && `, ${plural(plates.plates, "plate")}${of(plates.budget)}`;
  const sentences = [
    `${so}${inPlates ?? ""}.`,
    plates?.sentence,
    ...(forecast?.sentences ?? []),
    error && sentenceOf(error),
    data.sigma?.sentence,
  ].filter(Boolean);
  return html`
    <section class="card" aria-labelledby="cost-title">
      <h2 id="cost-title">Cost</h2>
      <div class="cost-words">${sentences.map((sentence) => html`<p>${sentence}</p>`)}</div>
      <${CostChart} measurements=${data.measurements} budget=${data.budget} forecast=${forecast}
        words=${sentences.join(" ")} />
    </section>`;
}

function TicketGroup({ group }) {
  const { client, batch, on_plate: onPlate, lease_until: until } = group;
  const late = until !== null && until < Date.now() / 1000;
  const more = group.num_arms - group.arms.length;
  return html`
    <li>
      <div class="line">
        <strong title=${client}>${client ?? "no client named"}</strong>
        <span class="number">${plural(group.n, "ticket")}</span>
      </div>
      <div class="soft small">
        ${onPlate ? "plate" : "batch"} ${batch}, asked ${" "}<${Since} time=${group.time} />
        ${until === null
          ? ", no end of the lease"
          : html`, ${late ? "was due" : "due"} <${Since} time=${until} />`}
        ${late && html` <${Tag} tone="warn">offered again to whoever asks<//>`}
      </div>
      <div class="faint small">${list(group.arms)}${more > 0 && ` and ${count(more)} others`}</div>
    </li>`;
}

const Tickets = ({ id, data }) => html`
  <h3>Open tickets</h3>
  ${data.tickets.length
    ? html`
        <ul class="plain lines">
          ${data.tickets.map((group) => html`
            <${TicketGroup} key="${group.batch} ${group.client}" group=${group} />`)}
        </ul>`
    : html`<p class="soft">Nobody has a ticket at the moment.</p>`}
  ${data.num_groups > data.tickets.length &&
  html`<p class="soft small">And ${count(data.num_groups - data.tickets.length)} more groups.</p>`}
  ${may("measure") && data.outcome === "running" &&
  html`<p><a href=${studyPath(id, "measure")}>Ask for measurements</a></p>`}`;

const Happened = ({ id, data }) => html`
  <h3>Events</h3>
  <ul class="plain counts">
    ${[
      [data.measurements, "measurement", "counted"],
      [data.pending, "measurement", "still to come"],
      [data.failed, "measurement", "failed"],
      [data.corrections, "value", "corrected"],
    ].map(([n, noun, did]) => html`<li>${plural(n, noun)} ${did}</li>`)}
    <li><a href=${studyPath(id, "history")}>${plural(data.events, "event")}</a> in the history</li>
  </ul>
  <ul class="plain lines latest">
    ${data.latest.map((event) => html`
      <li key=${event.seq}>
        <div>${event.arm && html`<a href=${armPath(id, event.arm)}>${event.arm}</a>: `}${event.sentence}</div>
        <${Who} words=${[event.client]} time=${event.time} />
      </li>`)}
  </ul>`;

// Who did something, about what, and when.
const Who = ({ words, time }) => html`
  <div class="faint small">
    ${words.filter(Boolean).map((word) => `${word}, `)}<${Since} time=${time} />
  </div>`;

const Notes = ({ id, notes }) => html`
  <h3>Notes</h3>
  ${notes.length
    ? html`
        <ul class="plain lines">
          ${notes.map((note) => html`
            <li key=${note.time}>
              <div>${note.text}</div>
              <${Who} words=${[note.client, note.arm, note.ticket]} time=${note.time} />
            </li>`)}
        </ul>`
    : html`<p class="soft">No notes.</p>`}
  ${may("measure") && html`
    <p><button type="button" class="small" onclick=${() => addNote(id)}>Add a note</button></p>`}`;

function Dropped({ id, arms }) {
  const dropped = arms.arm.map((name, i) => [name, arms.dropped[i]]).filter(([, why]) => why !== null);
  return dropped.length > 0 && html`
    <details class="manage">
      <summary>${plural(dropped.length, "dropped arm")}</summary>
      <ul class="plain lines">
        ${dropped.map(([name, why]) => html`
          <li key=${name} class="suspect">
            <div><a href=${armPath(id, name)}>${name}</a> <span class="soft small">${why}</span></div>
            ${may("manage") && html`
              <button type="button" class="small" aria-label="Restore ${name}"
                onclick=${() => restoreArm(id, name)}>Restore</button>`}
          </li>`)}
      </ul>
    </details>`;
}

const Manage = ({ id, data }) => html`
  <details class="manage">
    <summary>Manage</summary>
    <div class="row">
      <button type="button" class="small" onclick=${() => setBudget(id, data.budget ?? "")}>
        Change the budget
      </button>
      ${data.max_new_arms > 0 && html`
        <button type="button" class="small" onclick=${() => addArms(id, data.max_new_arms)}>
          Add arms
        </button>`}
      <button type="button" class="small danger" onclick=${() => deleteStudy(id, data.name)}>
        Delete the study
      </button>
    </div>
  </details>`;

// ---- the page

function Overview({ id, data }) {
  const [wish, setWish] = useKept(`overview ${id}`, { search: "", label: "all", sort: "mean" });
  const counts = useMemo(() => countArms(data.arms), [data.arms]);
  const show = (label) => {
    setWish((old) => ({ ...old, label }));
    document.getElementById("arms-title").scrollIntoView();
  };
  return html`
    <${Verdict} data=${data} counts=${counts} />
    <${Attention} id=${id} data=${data} show=${show} />
    <div class="study-grid">
      <${Arms} id=${id} data=${data} counts=${counts} wish=${wish} setWish=${setWish} />
      <div class="side">
        <${Cost} id=${id} data=${data} />
        <section class="card" aria-labelledby="labels-title">
          <h2 id="labels-title">Labels certified against measurements</h2>
          <${LabelsChart} arms=${data.arms} measurements=${data.measurements} />
        </section>
        <section class="card activity" aria-labelledby="activity-title">
          <h2 id="activity-title">Activity</h2>
          <${Tickets} id=${id} data=${data} />
          <${Happened} id=${id} data=${data} />
          ${data.origin && html`<p class="soft">${data.origin}</p>`}
          <${Notes} id=${id} notes=${data.notes} />
          <${Dropped} id=${id} arms=${data.arms} />
          ${may("manage") && html`<${Manage} id=${id} data=${data} />`}
        </section>
      </div>
    </div>`;
}

export default function Page({ id }) {
  const load = (signal) => get(`studies/${id}/overview`, { signal });
  return html`
    <${StudyPage} id=${id} page="" load=${load}
      draw=${(data) => html`<${Overview} id=${id} data=${data} />`} />`;
}
