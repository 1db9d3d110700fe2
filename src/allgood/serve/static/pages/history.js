// Every event of a study in words, filtered, and all of it to save.
import { address, get } from "../api.js";
import { debounce, h, save } from "../dom.js";
import { armPath, deleted, studyHead } from "../head.js";
import { count, guarded, iso, list, moment, number, plural } from "../format.js";
import { watch } from "../live.js";
import { rowsBox } from "../rows.js";

const PAGE = 500;
const MOST = 1000; // events that one answer holds

// What each kind of event is called in the list and in the filter.
export const KINDS = {
  created: "Study began",
  plate: "Plate",
  ticket: "Asked",
  lease: "Passed on",
  measurement: "Value",
  unrequested: "Unrequested value",
  counts: "Counts",
  failed: "Failure",
  arm_dropped: "Arm given up",
  arms_added: "Arms added",
  budget_set: "Budget",
  corrected: "Correction",
  confirmed: "Confirmation",
  control: "Control",
  control_corrected: "Control corrected",
  copy: "Copied",
  note: "Note",
};
const LOUD = new Set([
  "corrected",
  "confirmed",
  "failed",
  "arm_dropped",
  "arms_added",
  "budget_set",
  "control_corrected",
  "unrequested",
  "note",
  "copy",
]);

const because = (event) => {
  const why = event.reason ?? event.note;
  return why ? `: ${why}` : "";
};
const place = (event) => (event.well ? ` (plate ${event.batch}, well ${event.well})` : "");
const value = (event) => number(event.value, 6);

const budget = (n) =>
  n === null || n === undefined
    ? "There is no budget any more"
    : `The budget is now ${plural(n, "measurement")}`;

// The sentence of an event, without the arm's name, which has a column of its own.
export function sentence(event) {
  const { ticket, data = {} } = event;
  switch (event.kind) {
    case "created":
      return `The study began with ${plural(data?.arms?.length ?? 0, "arm")}`;
    case "plate":
      return `Plate ${event.batch} was laid out: ${data?.rows} by ${data?.columns} wells`;
    case "ticket":
      return `${ticket} was asked for${place(event)}`;
    case "lease":
      return `${ticket} was passed on, because its time was over`;
    case "measurement":
      return `${ticket} gave ${value(event)}`;
    case "unrequested":
      return `${ticket} gave ${value(event)}, which nobody had asked for${because(event)}`;
    case "counts":
      return `${plural(data?.n ?? 0, "measurement")} with the sum ${value(event)}${because(event)}`;
    case "failed":
      return `${ticket} will have no value${because(event)}`;
    case "arm_dropped":
      return `The arm is not measured any more${because(event)}`;
    case "arms_added":
      return `New arms: ${list(data?.arms ?? [], 6)}${because(event)}`;
    case "budget_set":
      return `${budget(data?.budget)}${because(event)}`;
    case "corrected":
      return `${ticket} is now ${value(event)}${because(event)}`;
    case "confirmed":
      return `${ticket} was confirmed: ${value(event)} counts${because(event)}`;
    case "control":
      return `Well ${event.well} of plate ${event.batch} gave ${value(event)}`;
    case "control_corrected":
      return `Well ${event.well} of plate ${event.batch} is now ${value(event)}${because(event)}`;
    case "copy":
      return `All before was copied from the study ${data?.name}`;
    case "note":
      return (ticket ? `About ${ticket}: ` : "") + (event.note ?? event.reason ?? "");
    default:
      return event.kind;
  }
}

const cell = (content) => {
  const plain = String(guarded(content) ?? "");
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
};

// All values as CSV, fetched page by page.
export async function valuesCsv(id, signal, onpart) {
  const names = [
    "ticket",
    "arm",
    "value",
    "state",
    "time",
    "batch",
    "well",
    "client",
    "first",
    "raw",
    "source",
    "n",
    "period",
    "scatter",
  ];
  const lines = [names.join(",")];
  for (let after = 0; ;) {
    const part = await get(`studies/${id}/values?after=${after}&limit=${MOST}`, { signal });
    for (const row of part.values) {
      lines.push(names.map((name) => cell(name === "time" ? iso(row.time) : row[name])).join(","));
    }
    after += part.values.length;
    onpart?.(after);
    if (!part.more || !part.values.length) return `${lines.join("\r\n")}\r\n`;
  }
}

export async function show(main, params, signal) {
  const { id } = params;
  const { study } = await studyHead(main, id, "history", signal);
  document.title = `History of ${study.name} · allgood`;
  let last = study.events;
  const pages = new Map(); // number of a page -> its events, or the promise of them
  const filter = {
    kind: params.query.get("kind") ?? "",
    arm: params.query.get("arm") ?? "",
    client: "",
    exact: true, // the arm of the address, and not others whose names hold it
  };
  let matches = null,
    search = 0; // filtered: the events that match, the newest first

  const table = rowsBox({
    label: "Events, the newest first",
    kind: "history",
    columns: ["No.", "When", "Kind", "Arm", "What happened", "Client"],
    wide: 36,
    narrow: 78,
    draw,
    signal,
  });
  const said = h("p", { class: "count", role: "status" });

  function cells(event) {
    const row = [
      count(event.seq),
      h("time", { datetime: iso(event.time) }, moment(event.time)),
      h(
        "span",
        { class: `kind ${LOUD.has(event.kind) ? "loud" : ""}` },
        KINDS[event.kind] ?? event.kind,
      ),
      typeof event.arm === "string" ? h("a", { href: armPath(id, event.arm) }, event.arm) : "",
      h("span", { title: sentence(event) }, sentence(event)),
      event.client ?? "",
    ];
    row.class = LOUD.has(event.kind) ? "loud" : "";
    return row;
  }

  function draw(i) {
    if (matches) return matches[i] ? cells(matches[i]) : null;
    const seq = last - i,
      page = Math.floor((seq - 1) / PAGE);
    const events = pages.get(page);
    if (Array.isArray(events)) {
      const event = events[seq - 1 - page * PAGE];
      return event ? cells(event) : null;
    }
    if (!events) load(page);
    return null;
  }
  // A page of events by number. The last one may grow, so it is not kept while it is short.
  async function load(page) {
    const promise = get(`studies/${id}/events?after=${page * PAGE}&limit=${PAGE}`, { signal });
    pages.set(page, promise);
    try {
      pages.set(page, (await promise).events);
    } catch (error) {
      pages.delete(page);
      if (!signal.aborted) said.textContent = error.detail ?? String(error);
      return;
    }
    if (!matches) table.refresh();
  }

  const isArm = (arm) =>
    filter.exact ? arm === filter.arm : arm.toLowerCase().includes(filter.arm.toLowerCase());
  const fits = (event) =>
    (!filter.arm || isArm(String(event.arm ?? ""))) &&
    (!filter.client ||
      String(event.client ?? "")
        .toLowerCase()
        .includes(filter.client.toLowerCase()));

  // `live`: something new happened, and what is shown stays until all is found again.
  async function apply(live = false) {
    const mine = ++search;
    const any = filter.kind || filter.arm || filter.client;
    if (!any) {
      matches = null;
      said.textContent = plural(last, "event");
      table.set(last);
      return;
    }
    const found = [];
    if (!live) {
      matches = found;
      table.set(0);
    }
    try {
      for (let after = 0; ;) {
        const kind = filter.kind ? `&kind=${encodeURIComponent(filter.kind)}` : "";
        const part = await get(`studies/${id}/events?after=${after}&limit=${MOST}${kind}`, {
          signal,
        });
        if (mine !== search) return;
        found.unshift(...part.events.filter(fits).reverse());
        after = part.events.at(-1)?.seq ?? last;
        const done = !part.more || !part.events.length;
        if (live && !done) continue;
        matches = found;
        said.textContent =
          `${plural(found.length, "event")} of ` +
          `${count(last)}${done ? "" : `; ${count(after)} looked at so far`}`;
        table.set(found.length);
        if (done) return;
      }
    } catch (error) {
      if (!signal.aborted && mine === search) said.textContent = error.detail ?? String(error);
    }
  }
  const soon = debounce(apply, 250);
  const clear = h(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: () => {
        for (const input of form.querySelectorAll("input, select")) input.value = "";
        filter.kind = filter.arm = filter.client = "";
        apply();
      },
    },
    "Clear",
  );
  const csv = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        csv.disabled = true;
        try {
          save(
            `${study.name}-values.csv`,
            await valuesCsv(id, signal, (n) => {
              csv.textContent = `${count(n)} values …`;
            }),
            "text/csv",
          );
        } catch (error) {
          if (!signal.aborted) said.textContent = error.detail ?? String(error);
        }
        csv.textContent = "Values as CSV";
        csv.disabled = false;
      },
    },
    "Values as CSV",
  );

  const form = h(
    "form",
    { class: "filters", onsubmit: (e) => e.preventDefault(), "aria-label": "Filter the events" },
    h(
      "label",
      {},
      h("span", { class: "name" }, "Kind"),
      h(
        "select",
        {
          value: filter.kind,
          onchange: (e) => {
            filter.kind = e.target.value;
            apply();
          },
        },
        h("option", { value: "" }, "All kinds"),
        Object.entries(KINDS).map(([kind, words]) => h("option", { value: kind }, words)),
      ),
    ),
    h(
      "label",
      {},
      h("span", { class: "name" }, "Arm"),
      h("input", {
        type: "search",
        data: { search: "" },
        value: filter.arm,
        placeholder: "Any",
        autocomplete: "off",
        oninput: (e) => {
          filter.arm = e.target.value.trim();
          filter.exact = false;
          soon();
        },
      }),
    ),
    h(
      "label",
      {},
      h("span", { class: "name" }, "Client"),
      h("input", {
        type: "search",
        value: "",
        placeholder: "Any",
        autocomplete: "off",
        oninput: (e) => {
          filter.client = e.target.value.trim();
          soon();
        },
      }),
    ),
    clear,
    h(
      "span",
      { class: "save" },
      h(
        "a",
        { class: "button", href: address(`studies/${id}/export`), download: `${study.name}.jsonl` },
        "Export the events",
      ),
      csv,
    ),
  );
  main.append(
    h(
      "section",
      { class: "history-page", "aria-labelledby": "history-title" },
      h("h2", { id: "history-title" }, "History"),
      h(
        "p",
        { class: "lead" },
        "Everything that ever happened, the newest first. Events are added and never " +
          "changed: a correction is a new event.",
      ),
      form,
      said,
      table.element,
    ),
  );
  await apply();

  watch(
    id,
    (change) => {
      if (change.gone) {
        deleted(main);
        return;
      }
      last = change.last;
      pages.delete(Math.floor((change.first - 1) / PAGE));
      if (matches) soon(true);
      else {
        said.textContent = plural(last, "event");
        table.set(last);
      }
    },
    { after: last, signal },
  );
  signal.addEventListener("abort", soon.stop);
}
