// Ask what to measure, and tell what came out. Every row is previewed before anything is written.
import { address, get, may, newKey, post, Problem } from "../api.js";
import { announce, debounce, field, h, replace, stored, svg, throttle } from "../dom.js";
import { askFor, toast } from "../dialog.js";
import { armPath, deleted, studyHead, studyPath } from "../head.js";
import {
  ago,
  count,
  duration,
  iso,
  list,
  moment,
  number,
  plural,
  unguarded,
} from "../format.js";
import { watch } from "../live.js";
import { plateMap } from "../plate.js";
import { rowsBox } from "../rows.js";
import { asNumber } from "./arm.js";

const SIZES = { 96: [8, 12], 384: [16, 24], 1536: [32, 48] };
const LEASES = [
  ["", "No limit"],
  ["3600", "1 hour"],
  ["28800", "8 hours"],
  ["86400", "1 day"],
  ["259200", "3 days"],
  ["604800", "1 week"],
];
const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const NEEDY = 20; // rows that need somebody, shown in full at once
const FEW = 24; // so many tickets can be filled in by hand

// What each preview means, before and after the rows were told.
const STATUSES = {
  accepted: ["accepted", "will count", "counts"],
  control: ["control", "will be stored with its plate", "is stored with its plate"],
  waiting: [
    "waiting",
    "will count when earlier tickets are settled",
    "counts when earlier tickets are settled",
  ],
  suspect: [
    "suspect",
    "will be kept and not count: it is too far from the other values",
    "is kept and does not count yet",
  ],
  missing: [
    "missing",
    "has no value: the ticket stays open",
    "has no value: the ticket is still open",
  ],
  duplicate: ["duplicate", "was told before and counts once", "was told before and counts once"],
  conflict: ["conflict", "is refused: it disagrees with what is known of its ticket", "is refused"],
  unknown: ["unknown", "is refused: there is no such ticket", "is refused"],
  invalid: ["invalid", "is refused: it is no value that can count", "is refused"],
  withheld: [
    "withheld",
    "is not counted, because other rows are refused",
    "is not counted, because other rows were refused",
  ],
};
const WRITTEN = ["accepted", "control", "waiting", "suspect"];
const REFUSED = ["conflict", "unknown", "invalid"];
const GLYPHS = {
  accepted: "M6 1a5 5 0 1 0 .01 0z",
  waiting: "M6 1.6a4.4 4.4 0 1 0 .01 0zM6 3.4V6l2 1.4",
  suspect: "M6 1l5.2 10H.8z",
  missing: "M2 6h8",
  duplicate: "M2 4.2h8M2 7.8h8",
  conflict: "M2 2l8 8M10 2l-8 8",
  unknown: "M2 2l8 8M10 2l-8 8",
  invalid: "M2 2l8 8M10 2l-8 8",
  withheld: "M3.6 2v8M8.400 2v8",
  control: "M2 2h8v8H2z",
};
const glyph = (status) =>
  svg(
    "svg",
    {
      class: `glyph is-${status}`,
      viewBox: "0 0 12 12",
      width: 12,
      height: 12,
      "aria-hidden": "true",
    },
    svg("path", { d: GLYPHS[status] ?? GLYPHS.missing }),
  );
const statusTag = (status) =>
  h("span", { class: `status is-${status}` }, glyph(status), STATUSES[status]?.[0] ?? status);

const remembered = (key, otherwise) => {
  try {
    return JSON.parse(stored.get(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
};
const clientName = () => stored.get("client")?.trim() || undefined;

const WELL = "[A-Za-z]{1,2}\\d{1,2}";
const WELLS = `${WELL}(?:[\\s,;]+${WELL})*`;
const CONTROL = new RegExp(`^\\s*(.+?)\\s*[\\s:=,;]\\s*(\\d+|${WELLS})\\s*$`);

// Controls as people write them, one per line: "DMSO 8" or "blank A1 H12".
export function parseControls(text) {
  const controls = {};
  for (const line of text.split("\n")) {
    const match = CONTROL.exec(line);
    if (!line.trim()) continue;
    if (!match)
      throw new Error(
        `“${line.trim()}” must be a name and then a number of wells, as DMSO 8, or ` +
          `wells, as blank A1 H12.`,
      );
    if (match[1] in controls) throw new Error(`${match[1]} stands there twice.`);
    controls[match[1]] = /^\d+$/.test(match[2])
      ? Number(match[2])
      : match[2].toUpperCase().split(/[\s,;]+/);
  }
  return controls;
}

// Sentences of the server state a fact; here is the field that would help.
const WORDS = [
  [/is it a decimal comma\?/, "is it a decimal comma? Then choose 42,6 under Decimals"],
  [
    /must name a column '(ticket|value)': got .*(?=\.$)/,
    "$&; name the one to read under “How the sheet is written”",
  ],
];
const here = (sentence) => WORDS.reduce((text, [from, to]) => text.replace(from, to), sentence);
const words = (problem) => here(problem.detail ?? String(problem));

// A place for text, into which a file can be dropped as well. While there is a file, its name
// stands there. Gives {zone, say(name, note), empty()}.
function dropZone({ id, text, hint, ontext, onfile, onclear }) {
  const file = h("input", {
    type: "file",
    class: "unseen",
    id,
    accept: ".csv,.tsv,.txt,.xlsx,text/csv,text/plain",
    onchange: () => {
      if (file.files[0]) onfile(file.files[0]);
      file.value = "";
    },
  });
  const chip = h("div", { class: "file-chip", hidden: true });
  const zone = h(
    "div",
    { class: "drop-zone" },
    text,
    chip,
    h(
      "label",
      { class: "drop-hint", for: id },
      file,
      h("span", {}, `${hint}, or `, h("u", {}, "choose one"), " (.csv, .txt, .xlsx)"),
    ),
  );
  const show = (isFile) => {
    text.hidden = isFile;
    chip.hidden = !isFile;
  };
  const over = (event, is) => {
    if (event.type !== "dragleave") event.preventDefault();
    zone.classList.toggle("over", is);
  };
  zone.addEventListener("dragover", (event) => over(event, true));
  zone.addEventListener("dragleave", (event) => over(event, false));
  zone.addEventListener("drop", (event) => {
    over(event, false);
    const given = event.dataTransfer.files[0],
      words = event.dataTransfer.getData("text");
    if (given) onfile(given);
    else if (words) {
      show(false);
      text.value = words;
      ontext();
    }
  });
  text.addEventListener("input", ontext);
  return {
    zone,
    say(name, note) {
      show(true);
      replace(
        chip,
        h("b", {}, name),
        h("span", { class: "soft" }, ` ${note}`),
        h("button", { type: "button", class: "plain small", onclick: onclear }, "Remove"),
      );
    },
    empty() {
      text.value = "";
      show(false);
    },
  };
}
const isBook = (file) => /\.xlsx$/i.test(file.name);
const kilobytes = (file) => `${count(Math.ceil(file.size / 1024))} kB`;
const decimals = () =>
  h("select", {}, h("option", { value: "." }, "42.6"), h("option", { value: "," }, "42,6"));

// ---- ask

function askCard(id, study, signal, onasked) {
  const kept = remembered("ask", {});
  const waits = study.design.model?.name === "exponential";
  const n = h("input", {
    type: "number",
    min: 1,
    max: 100000,
    step: 1,
    value: kept.n ?? 8,
    required: true,
  });
  const size = h(
    "select",
    { value: kept.size ?? "96" },
    [
      ["96", "96 wells: 8 × 12"],
      ["384", "384 wells: 16 × 24"],
      ["1536", "1536 wells: 32 × 48"],
      ["own", "Another size"],
    ].map(([v, w]) => h("option", { value: v }, w)),
  );
  const rows = h("input", {
      type: "number",
      min: 1,
      max: 64,
      value: kept.rows ?? 4,
      "aria-label": "Rows",
    }),
    columns = h("input", {
      type: "number",
      min: 1,
      max: 96,
      value: kept.columns ?? 6,
      "aria-label": "Columns",
    });
  const own = h(
    "div",
    { class: "own" },
    rows,
    h("span", {}, "rows ×"),
    columns,
    h("span", {}, "columns"),
  );
  const controls = h("textarea", {
    rows: 2,
    spellcheck: "false",
    placeholder: "DMSO 8",
    value: kept.controls ?? "",
  });
  const edge = h("input", { type: "checkbox", checked: kept.edge === false });
  const client = h("input", {
    type: "text",
    autocomplete: "off",
    maxlength: 200,
    value: stored.get("client") ?? "",
    placeholder: "for example your name, or robot",
  });
  const lease = h(
    "select",
    { value: kept.lease ?? "" },
    LEASES.map(([v, w]) => h("option", { value: v }, w)),
  );
  const error = h("p", { class: "error", role: "alert" }),
    result = h("div", { class: "ask-result", "aria-live": "polite" });
  const button = h("button", { class: "primary" }, "Ask");
  const mode = (value, words) =>
    h(
      "label",
      { class: "segment" },
      h("input", {
        type: "radio",
        name: "mode",
        value,
        checked: (kept.mode ?? "plate") === value,
        onchange: turn,
      }),
      h("span", {}, words),
    );
  const single = h("div", {}, field("How many", n));
  const plate = h(
    "div",
    { class: "stack" },
    field("Plate", size),
    own,
    field(
      "Controls",
      controls,
      "One a line: a name and a number of wells, spread anew over each plate, or " +
        "the wells themselves.",
    ),
    h("label", { class: "check" }, edge, "Leave the outermost wells empty"),
  );

  function turn() {
    const isPlate = form.elements.mode.value === "plate";
    single.hidden = isPlate;
    plate.hidden = !isPlate;
    n.required = !isPlate;
    own.hidden = size.value !== "own";
    button.textContent = isPlate ? "Ask for a plate" : "Ask";
  }
  size.addEventListener("change", turn);

  async function ask(event) {
    event.preventDefault();
    error.textContent = "";
    stored.set("client", client.value.trim());
    const isPlate = form.elements.mode.value === "plate";
    stored.set(
      "ask",
      JSON.stringify({
        mode: isPlate ? "plate" : "n",
        n: n.value,
        size: size.value,
        rows: rows.value,
        columns: columns.value,
        controls: controls.value,
        edge: !edge.checked,
        lease: lease.value,
      }),
    );
    const body = {};
    if (clientName()) body.client = clientName();
    if (lease.value && !waits) body.lease = Number(lease.value);
    try {
      if (isPlate) {
        const [r, c] = SIZES[size.value] ?? [Number(rows.value), Number(columns.value)];
        body.plate = {
          rows: r,
          columns: c,
          controls: parseControls(controls.value),
          edge: !edge.checked,
        };
      } else body.n = Number(n.value);
      button.disabled = true;
      const answer = await post(`studies/${id}/ask`, body, { signal });
      replace(result, asked(answer, isPlate));
      if (answer.tickets.length) await onasked(answer, isPlate);
    } catch (problem) {
      if (!signal.aborted) error.textContent = problem.detail ?? problem.message;
    } finally {
      button.disabled = false;
    }
  }

  function asked({ tickets, outcome }, isPlate) {
    if (!tickets.length) {
      return h(
        "p",
        { class: "notice" },
        outcome === "certified"
          ? "Nothing is left to measure: every label is certified."
          : outcome === "running"
            ? "There is nothing to ask for now: what was asked for may be enough. Tell the " +
              "values that are open first."
            : `Nothing more is asked for: ${outcome}.`,
      );
    }
    const arms = new Set(tickets.map((t) => t.arm)).size,
      old = tickets.filter((t) => Date.now() / 1000 - t.time > 60).length;
    return h(
      "p",
      { class: "notice good" },
      `${plural(tickets.length, "measurement")} of ` +
        plural(arms, "arm") +
        (isPlate ? ` on plate ${tickets[0].batch}` : "") +
        (tickets[0].client ? `, for ${tickets[0].client}. ` : ". "),
      old
        ? `${old === tickets.length ? "All" : count(old)} of them had been asked for ` +
            `before and had no value yet. `
        : "",
      isPlate ? "The map is below." : "They are listed below.",
    );
  }

  const form = h(
    "form",
    { class: "stack", onsubmit: ask },
    h(
      "div",
      { class: "segments", role: "radiogroup", "aria-label": "What to ask for" },
      mode("plate", "A plate"),
      mode("n", "Measurements"),
    ),
    single,
    plate,
    field(
      "Client",
      client,
      "Who measures. Asking again under the same name gives the same open tickets back.",
    ),
    waits
      ? null
      : field(
          "Time to measure",
          lease,
          "Afterwards the tickets are offered to others. A late value still counts.",
        ),
    error,
    button,
    result,
  );
  turn();
  return h(
    "section",
    { class: "card", "aria-labelledby": "ask-title" },
    h("h2", { id: "ask-title" }, "Ask what to measure"),
    form,
  );
}

// ---- tell

function tellCard(id, study, signal, ontold, oncounts) {
  let source = null; // {name, body, type, start} or {name, rows}
  let plates = []; // with open tickets
  let receipt = null,
    told = false,
    telling = false,
    held = false, // what is to be told has changed since it was previewed
    previewing = 0,
    key = "",
    statusFilter = "";

  const text = h("textarea", {
    rows: 12,
    wrap: "off",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "Results, pasted or typed",
    placeholder: "ticket, value\nabcd-17, 42.6\nabcd-18, 39.1",
  });
  const decimal = decimals();
  const grid = h("input", { type: "number", min: 1, placeholder: "not a grid" });
  const ticketColumn = h("input", { type: "text", placeholder: "ticket", autocomplete: "off" }),
    valueColumn = h("input", { type: "text", placeholder: "value", autocomplete: "off" });
  const whole = h("input", { type: "checkbox" });
  const said = h("div", { class: "previewed" }),
    chips = h("div", { class: "chips", role: "group", "aria-label": "Show rows that are" });
  const remarks = h("div", { class: "remarks" }),
    bulk = h("div", { class: "row" });
  const button = h("button", { type: "button", class: "primary", hidden: true, onclick: tell });
  const next = h("button", { type: "button", hidden: true, onclick: clear }, "Next sheet");
  const error = h("p", { class: "error", role: "alert" });
  const table = rowsBox({
    label: "Rows and what becomes of them",
    kind: "previewed-rows",
    columns: ["Line", "Ticket", "Arm", "Value", "Preview", "What it means"],
    wide: 38,
    narrow: 74,
    draw: row,
    signal,
  });
  table.element.hidden = true;
  const needy = h("ul", { class: "needy", "aria-label": "Rows that need somebody" });
  let shown = [],
    listed = NEEDY;

  // Nothing can be told before it was previewed as it is now.
  function hold() {
    held = true;
    previewing += 1; // the preview on its way is of something else
    button.disabled = true;
  }
  // A text that was edited while it was previewed.
  const isOld = () => source.type === "text/plain" && source.body !== text.value;
  const read = debounce(() => {
    source = text.value.trim()
      ? { name: "the pasted text", body: text.value, type: "text/plain", start: text.value }
      : null;
    fresh();
    if (source) preview();
    else paint();
  }, 350);
  const typed = () => {
    hold();
    read();
  };
  const drop = dropZone({
    id: "results-file",
    text,
    hint: "or drop a file here",
    ontext: typed,
    onfile: take,
    onclear: clear,
  });

  function query() {
    const q = new URLSearchParams();
    if (clientName()) q.set("client", clientName());
    if (whole.checked) q.set("all_or_nothing", "true");
    if (decimal.value === ",") q.set("decimal", ",");
    if (grid.value) q.set("grid", grid.value);
    if (ticketColumn.value.trim()) q.set("ticket_column", ticketColumn.value.trim());
    if (valueColumn.value.trim()) q.set("value_column", valueColumn.value.trim());
    return q.toString();
  }
  // The same body for a preview and for telling.
  function send(what, options) {
    if (source.rows) {
      return post(
        `studies/${id}/${what}`,
        {
          rows: source.rows,
          client: clientName(),
          all_or_nothing: whole.checked,
          decimal: decimal.value,
        },
        options,
      );
    }
    const q = query();
    return post(`studies/${id}/${what}${q ? `?${q}` : ""}`, source.body, {
      type: source.type,
      ...options,
    });
  }

  async function take(given) {
    hold();
    read.stop();
    source = { name: given.name, body: given, type: isBook(given) ? XLSX : "text/csv", start: "" };
    drop.say(given.name, kilobytes(given));
    if (!isBook(given)) source.start = await given.slice(0, 4000).text();
    fresh();
    preview();
  }
  function takeRows(rows, name) {
    hold();
    read.stop();
    source = { name, rows };
    drop.say(name, plural(rows.length, "value"));
    fresh();
    preview();
    section.scrollIntoView({ block: "start" });
  }
  function clear() {
    hold();
    read.stop();
    source = null;
    drop.empty();
    fresh();
    paint();
    text.focus();
  }
  function fresh() {
    section.classList.remove("busy");
    listed = NEEDY;
    told = false;
    receipt = null;
    key = newKey();
    statusFilter = "";
    error.textContent = "";
  }
  const changed = () => {
    if (source && !told) {
      hold();
      key = newKey();
      preview();
    }
  };
  for (const input of [decimal, grid, ticketColumn, valueColumn, whole])
    input.addEventListener("change", changed);
  async function preview() {
    const mine = ++previewing;
    error.textContent = "";
    section.classList.add("busy");
    try {
      const answer = await send("preview", { signal });
      if (mine !== previewing) return;
      held = isOld();
      receipt = answer;
      paint();
    } catch (problem) {
      if (mine !== previewing || signal.aborted) return;
      held = isOld();
      receipt = null;
      paint();
      error.textContent = words(problem);
      suggest();
    } finally {
      if (mine === previewing) section.classList.remove("busy");
    }
  }
  async function tell() {
    const mine = ++previewing;
    telling = true; // news of these very rows must not preview them again
    button.disabled = true;
    error.textContent = "";
    try {
      const answer = await send("tell", { key });
      if (mine !== previewing) {
        toast("What was shown before has been told.");
        ontold();
        return;
      }
      receipt = answer;
      told = true;
      statusFilter = "";
      paint();
      said.scrollIntoView({ block: "nearest" });
      ontold();
      verdict();
    } catch (problem) {
      error.textContent =
        problem.passing
          ? `${problem.detail} Press the button again when it is back: the same rows count once.`
          : words(problem);
    } finally {
      telling = false;
      button.disabled = held;
    }
  }
  async function verdict() {
    try {
      const status = await get(`studies/${id}/status?arms=none`, { signal });
      if (told)
        said.append(
          h("p", {}, status.verdict, " ", h("a", { href: studyPath(id) }, "See the study")),
        );
    } catch {
      /* the study's page says it too */
    }
  }

  // What a sheet that cannot be read may be.
  function suggest() {
    const first = source.start?.split(/\r?\n/, 1)[0] ?? "";
    const isGrid = /^\D*1\W+2\W/.test(first) && !grid.value;
    replace(
      bulk,
      isGrid &&
        plates
          .slice(0, 6)
          .map((batch) => small(`It is the grid of plate ${batch}`, () => fillGrid(batch))),
      isCounts(first) &&
        small("Tell it as counts", () => {
          const given = source.body;
          clear();
          oncounts(given);
        }),
    );
  }
  function fillGrid(batch) {
    grid.value = batch;
    options.open = true;
    changed();
  }
  const small = (words, run, name) =>
    h("button", { type: "button", class: "small", "aria-label": name, onclick: run }, words);

  // ---- the preview in words

  function paint() {
    const counts = receipt?.counts ?? {},
      rows = receipt?.rows ?? [];
    const hasValue = (r) => r.value !== null && r.value !== undefined && r.value !== "";
    const writes = rows.filter((r) => WRITTEN.includes(r.status) && hasValue(r)).length,
      refused = REFUSED.reduce((sum, s) => sum + (counts[s] ?? 0), 0);
    const order = Object.keys(STATUSES).filter((status) => counts[status]);
    replace(
      said,
      !receipt
        ? h(
            "p",
            { class: "soft" },
            "Every row is previewed as soon as you paste. A preview writes nothing.",
          )
        : told
          ? h(
              "p",
              { class: `notice ${refused ? "warn" : "good"}` },
              h("b", {}, writes ? "Told. " : "Nothing was written. "),
              list(order.map((s) => `${count(counts[s])} ${STATUSES[s][0]}`)),
              ".",
              refused
                ? ` ${plural(refused, "row")} ${refused === 1 ? "was" : "were"} refused; ` +
                    `telling the mended sheet again is safe.`
                : "",
            )
          : h(
              "p",
              { class: `notice ${refused ? "warn" : ""}` },
              h("b", {}, `${plural(rows.length, "row")} previewed, nothing written yet. `),
              refused
                ? `${plural(refused, "row")} ${refused === 1 ? "is" : "are"} refused` +
                    (writes ? "; the others can be told." : ".")
                : writes
                  ? ""
                  : "There is nothing new to tell.",
            ),
    );
    replace(
      remarks,
      [...(receipt?.notes ?? []), ...(receipt?.warnings ?? [])].map((note) =>
        h("p", { class: "small" }, here(note)),
      ),
    );
    replace(
      chips,
      order.length > 1 &&
        h(
          "button",
          {
            type: "button",
            "aria-pressed": statusFilter === "" ? "true" : "false",
            onclick: () => choose(""),
          },
          `All ${count(rows.length)}`,
        ),
      order.map((status) =>
        h(
          "button",
          {
            type: "button",
            title: STATUSES[status][told ? 2 : 1],
            "aria-pressed": statusFilter === status ? "true" : "false",
            onclick: () => choose(statusFilter === status ? "" : status),
          },
          glyph(status),
          `${count(counts[status])} ${STATUSES[status][0]}`,
        ),
      ),
    );
    const lacking = rows.filter((r) => r.status === "missing" && r.ticket);
    replace(
      bulk,
      told &&
        lacking.length > 1 &&
        may("measure") &&
        small(`Report ${count(lacking.length)} missing values as failed …`, () => failing(lacking)),
      !told &&
        decimal.value === "." &&
        rows.some((r) => r.message?.includes("decimal comma")) &&
        small("They are decimal commas", () => {
          decimal.value = ",";
          options.open = true;
          changed();
        }),
    );
    button.hidden = !receipt || told;
    button.disabled = held || !writes || (whole.checked && refused > 0);
    button.textContent = writes ? `Tell ${plural(writes, "row")}` : "Nothing to tell";
    next.hidden = !told;
    choose(statusFilter);
    if (receipt)
      announce(
        told
          ? said.textContent
          : `${plural(rows.length, "row")} previewed: ` +
              `${list(order.map((s) => `${count(counts[s])} ${s}`))}.`,
      );
  }
  // Rows that need somebody come first, in the order of the sheet.
  function choose(status) {
    statusFilter = status;
    const rows = receipt?.rows ?? [];
    const calm = (r) => (["accepted", "control", "duplicate"].includes(r.status) ? 1 : 0);
    shown = status
      ? rows.filter((r) => r.status === status)
      : [...rows.filter((r) => !calm(r)), ...rows.filter(calm)];
    [...chips.children].forEach((chip) => {
      const isThis = chip.textContent.startsWith("All ")
        ? !status
        : chip.textContent.endsWith(` ${status}`);
      chip.setAttribute("aria-pressed", isThis ? "true" : "false");
    });
    table.element.hidden = !rows.length;
    table.set(shown.length);
    table.top();
    paintNeedy();
  }
  function row(i) {
    const r = shown[i];
    if (!r) return null;
    const means = r.done ?? STATUSES[r.status]?.[told ? 2 : 1] ?? "";
    const cells = [
      r.line ? count(r.line) : "",
      h("span", { class: "mono" }, r.ticket ?? ""),
      r.arm ?? "",
      {
        class: "number",
        content: typeof r.value === "number" ? number(r.value, 6) : (r.value ?? ""),
      },
      statusTag(r.status),
      h("span", { title: r.message || means }, means),
    ];
    cells.class = `is-${REFUSED.includes(r.status) ? "refused" : r.status}`;
    return cells;
  }
  // Rows with the same sentence, unless something can be done about each.
  const alike = (rows) =>
    Map.groupBy(rows, (r) => (r.message && !r.done && !remediesOf(r).length ? r.message : r));
  // Rows that are not simply taken, each with its reason and what can be done.
  function paintNeedy() {
    const rows = (receipt?.rows ?? []).filter(
      (r) =>
        !["accepted", "control", "duplicate", "waiting"].includes(r.status) &&
        (!statusFilter || r.status === statusFilter),
    );
    const groups = [...alike(rows).values()];
    replace(
      needy,
      groups.slice(0, listed).map(([r, ...others]) =>
        h(
          "li",
          { class: `is-${r.status}` },
          statusTag(r.status),
          h(
            "p",
            {},
            r.done ??
              here(r.message || `${r.ticket ?? ""}: ${STATUSES[r.status]?.[told ? 2 : 1]}`),
            others.length
              ? h("span", { class: "soft" }, ` (${plural(others.length + 1, "row")})`)
              : r.arm && !(r.message ?? "").includes(r.arm)
                ? h("span", { class: "soft" }, ` (${r.ticket}, ${r.arm})`)
                : null,
          ),
          h("span", { class: "row" }, r.done ? null : remedies(r)),
        ),
      ),
      groups.length > listed
        ? h(
            "li",
            { class: "more" },
            h(
              "button",
              {
                type: "button",
                class: "small",
                onclick: () => {
                  listed += 5 * NEEDY;
                  paintNeedy();
                },
              },
              `Show more of ${count(groups.length)}`,
            ),
          )
        : null,
    );
    needy.hidden = !rows.length;
  }

  // ---- remedies

  const reason = {
    name: "reason",
    label: "Reason",
    required: true,
    hint: "It stands in the history for good.",
  };
  function done() {
    table.refresh();
    paintNeedy();
    ontold();
  }
  // For each remedy: its words, the role it needs, and the box that asks; run gives a sentence.
  const REMEDIES = {
    fail: { words: "No value will come", role: "measure", act: (r) => failing([r]) },
    confirm: {
      words: "Confirm",
      role: "measure",
      box: (r) => ({
        title: `Confirm ${r.ticket}`,
        text: [
          r.message,
          "Confirm it only if you know that it was measured and written down rightly.",
        ],
        fields: [reason],
        run: (v) => post(`studies/${id}/confirm`, { ticket: r.ticket, reason: v.reason }),
      }),
    },
    correct: {
      words: "Correct",
      role: "manage",
      box: (r) => ({
        title: `Correct ${r.ticket}`,
        text: r.message,
        fields: [
          {
            name: "value",
            label: "The right value",
            required: true,
            value: r.status === "suspect" ? "" : (r.value ?? ""),
          },
          reason,
        ],
        run: (v) =>
          post(`studies/${id}/correct`, {
            measurement: r.ticket,
            value: asNumber(v.value),
            reason: v.reason,
          }),
      }),
    },
    add_measurement: {
      words: "Count it anyway",
      role: "measure",
      box: (r) => ({
        title: `A value for ${r.arm}`,
        text:
          "The ticket was reported as failed, so this value counts as one that nobody " +
          "asked for, and is marked as such.",
        fields: [
          { name: "value", label: "Value", required: true, value: r.value ?? "" },
          { name: "source", label: "Source", required: true, value: `${r.ticket}, told late` },
        ],
        action: "Tell",
        run: async (v) => {
          const { rows } = await post(`studies/${id}/measurements`, {
            arm: r.arm,
            value: asNumber(v.value),
            source: v.source,
            client: clientName(),
          });
          if (REFUSED.includes(rows[0].status)) throw new Problem(rows[0].message);
          return { consequence: "Counted as a value that nobody asked for." };
        },
      }),
    },
  };
  const remediesOf = (r) =>
    (r.status !== "suspect" ? [r.remedy] : told ? ["confirm", "correct"] : [])
      .filter((name) => name in REMEDIES && may(REMEDIES[name].role))
      .map((name) => REMEDIES[name]);
  const remedies = (r) =>
    remediesOf(r).map(({ words, box, act = ask }) =>
      small(`${words} …`, () => act(r, words, box), `${words}: ${r.ticket}`),
    );
  async function ask(r, words, box) {
    const answer = await askFor({ action: words, ...box(r) });
    if (!answer) return;
    r.done = answer.consequence;
    toast(r.done);
    done();
  }
  async function failing(rows) {
    const answer = await askFor({
      title:
        rows.length > 1
          ? `Report ${count(rows.length)} values as failed`
          : `${rows[0].ticket} will have no value`,
      text:
        `${rows.length > 1 ? "Their tickets are" : "The ticket is"} closed, and what was to be ` +
        "measured may be asked for again. Do not report a measurement as failed because of its " +
        "value: that voids the guarantee.",
      fields: [reason],
      action: "Report as failed",
      danger: rows.length > 1,
      run: (v) =>
        post(`studies/${id}/fail`, { tickets: rows.map((r) => r.ticket), reason: v.reason }),
    });
    if (!answer) return;
    answer.rows.forEach((one, i) => {
      rows[i].done = one.message || "Reported as failed.";
    });
    const refused = answer.rows.filter((one) => REFUSED.includes(one.status)).length;
    toast(
      refused
        ? `${count(refused)} of ${plural(rows.length, "ticket")} cannot have failed.`
        : "Reported as failed.",
      refused ? "bad" : "",
    );
    if (rows.length > 1) replace(bulk);
    done();
  }

  const options = h(
    "details",
    { class: "options" },
    h("summary", {}, "How the sheet is written"),
    h(
      "div",
      { class: "option-grid" },
      field("Decimals", decimal),
      field(
        "Grid of plate",
        grid,
        "The number of the plate, if this is what a plate reader writes: letters and " +
          "numbers around the values.",
      ),
      field("Column of tickets", ticketColumn),
      field("Column of values", valueColumn),
      h("label", { class: "check" }, whole, "All rows or none"),
    ),
  );
  const section = h(
    "section",
    { class: "card tell", "aria-labelledby": "tell-title" },
    h("h2", { id: "tell-title" }, "Tell what came out"),
    drop.zone,
    options,
    h("div", { class: "tell-bar" }, said, button, next),
    error,
    remarks,
    h("div", { class: "row" }, chips, bulk),
    needy,
    table.element,
  );
  signal.addEventListener("abort", read.stop);
  paint();
  return {
    section,
    takeRows,
    again: () => {
      if (source && receipt && !told && !telling && !held) preview();
    },
    fillGrid,
    knowPlates(open) {
      plates = open;
    },
  };
}

// ---- counts

const HEADS = {
  arm: ["arm", "variant", "name", "option", "prompt"],
  n: ["n", "count", "visitors", "trials", "users"],
  sum: ["sum", "total", "conversions", "successes", "passes"],
  mean: ["mean", "average", "rate"],
  sd: ["sd", "std", "stdev"],
  variance: ["variance", "var"],
  period: ["period", "day", "date"],
};

const markOf = (line) => ["\t", ";", ","].find((mark) => line.includes(mark)) ?? ",";
const CELL = '(?:^|M)(?:\\s*"((?:[^"]|"")*)"\\s*|([^M]*))';
// The cells of a line; in quotes a cell may hold the mark.
function cells(line, mark) {
  const found = line.matchAll(new RegExp(CELL.replaceAll("M", mark), "g"));
  return Array.from(found, ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare.trim());
}
const headOf = (line) =>
  cells(line, markOf(line)).map(
    (name) => Object.keys(HEADS).find((key) => HEADS[key].includes(name.toLowerCase())) ?? null,
  );
const isCounts = (line) => headOf(line).includes("arm") && headOf(line).includes("n");

// A pasted table with a line of names: {rows, columns}, the columns by our names.
export function parseCounts(text) {
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .filter((line) => line.trim());
  if (lines.length < 2)
    throw new Error(
      "The first line must name the columns: arm, n, and sum or mean. The others hold the numbers.",
    );
  const mark = markOf(lines[0]);
  const head = headOf(lines[0]);
  for (const needed of ["arm", "n"])
    if (!head.includes(needed)) throw new Error(`There is no column ${needed} in the first line.`);
  if (!head.includes("sum") && !head.includes("mean"))
    throw new Error("There is no column sum or mean in the first line.");
  const rows = lines.slice(1).map((line) =>
    Object.fromEntries(
      cells(line, mark)
        .map((cell, j) => [
          head[j],
          ["arm", "period"].includes(head[j]) ? unguarded(cell) : asNumber(cell),
        ])
        .filter(([name]) => name),
    ),
  );
  return { rows, columns: Object.keys(HEADS).filter((name) => head.includes(name)) };
}

function countsCard(id, study, signal, ontold) {
  const text = h("textarea", {
    rows: 5,
    wrap: "off",
    spellcheck: "false",
    "aria-label": "Table of counts",
    placeholder: "arm, n, sum\nA, 1200, 96\nB, 1180, 121",
  });
  const source = h("input", {
      type: "text",
      placeholder: "for example web log",
      autocomplete: "off",
      required: true,
    }),
    period = h("input", {
      type: "text",
      placeholder: "for example 2026-05-04",
      autocomplete: "off",
    }),
    decimal = decimals();
  const error = h("p", { class: "error", role: "alert" }),
    preview = h("div", { "aria-live": "polite" }),
    button = h("button", { class: "primary", disabled: true }, "Tell counts"),
    next = h("button", { type: "button", hidden: true, onclick: clear }, "Next table");
  const known = new Set(study.design.arms ?? []);
  let parsed = null, // the rows of a text
    book = null, // or a workbook, which the server reads
    key = newKey();

  function fresh() {
    parsed = book = null;
    key = newKey();
    error.textContent = "";
    replace(preview);
    button.textContent = "Tell counts";
    button.disabled = true;
    button.hidden = false;
    next.hidden = true;
  }
  function clear() {
    drop.empty();
    fresh();
    text.focus();
  }
  function read(table) {
    fresh();
    if (!table.trim()) return;
    try {
      parsed = parseCounts(table);
    } catch (problem) {
      error.textContent = problem.message;
      return;
    }
    button.disabled = false;
    button.textContent = `Tell ${plural(parsed.rows.length, "row")} of counts`;
    replace(preview, lookedAt(parsed));
  }
  const look = debounce(() => read(text.value), 250);
  async function take(given) {
    details.open = true;
    if (typeof given === "string") {
      text.value = given;
      read(given);
      return;
    }
    drop.say(given.name, kilobytes(given));
    if (!isBook(given)) {
      read(await given.text());
      return;
    }
    fresh();
    book = given;
    button.disabled = false;
    button.textContent = "Tell the workbook";
  }
  const drop = dropZone({
    id: "counts-file",
    text,
    hint: "or drop a file here",
    ontext: look,
    onfile: take,
    onclear: clear,
  });
  signal.addEventListener("abort", look.stop);

  function lookedAt({ rows, columns }) {
    const strange = rows.filter((r) => known.size && !known.has(r.arm));
    const isNumber = (c) => c !== "arm" && c !== "period";
    return [
      h(
        "p",
        { class: "small" },
        strange.length
          ? `${plural(strange.length, "name is", "names are")} not known and will be refused: ` +
              `${list(
                strange.map((r) => r.arm),
                5,
              )}.`
          : "All names are known. Nothing is written yet.",
      ),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "The first rows" },
        h(
          "table",
          { class: "data" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              columns.map((c) =>
                h("th", { scope: "col", class: isNumber(c) ? "number" : null }, c),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            rows.slice(0, 12).map((r) =>
              h(
                "tr",
                {},
                columns.map((c) =>
                  h(
                    "td",
                    { class: isNumber(c) ? "number" : null },
                    typeof r[c] === "number" ? number(r[c], 6) : (r[c] ?? ""),
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
      rows.length > 12 &&
        h(
          "p",
          { class: "soft small" },
          `and ${plural(rows.length - 12, "more row", "more rows")}`,
        ),
    ];
  }

  // Numbers that differ from those told before replace them if `correct` says why.
  function send(options, correct = null) {
    const said = {
      source: source.value.trim(),
      period: period.value.trim() || null,
      decimal: decimal.value,
      client: clientName() ?? null,
      correct,
    };
    if (!book) return post(`studies/${id}/counts`, { rows: parsed.rows, ...said }, options);
    const given = Object.entries(said).filter(([, value]) => value !== null);
    return post(`studies/${id}/counts?${new URLSearchParams(given)}`, book, {
      type: XLSX,
      ...options,
    });
  }
  async function tell(event) {
    event.preventDefault();
    if (!parsed && !book) return;
    error.textContent = "";
    button.disabled = true;
    try {
      told(await send({ key }));
    } catch (problem) {
      if (!problem.passing) key = newKey();
      error.textContent = words(problem);
      button.disabled = false;
    }
  }
  function told({ counts, rows, notes, warnings }) {
    const bad = rows.filter((r) => REFUSED.includes(r.status));
    const others = bad.filter((r) => r.status === "conflict").length;
    const isNews = rows.length > bad.length + (counts.duplicate ?? 0);
    button.hidden = true;
    next.hidden = false;
    replace(
      preview,
      h(
        "div",
        { class: `notice ${bad.length ? "warn" : "good"}` },
        h(
          "p",
          {},
          h("b", {}, isNews ? "Told. " : "Nothing was written. "),
          list(Object.entries(counts).map(([s, n]) => `${count(n)} ${STATUSES[s]?.[0] ?? s}`)),
          ".",
          counts.duplicate ? " Duplicates were told before and count once." : "",
        ),
        [...notes, ...warnings].map((note) => h("p", { class: "small" }, here(note))),
        bad.length > 0 &&
          h(
            "ul",
            {},
            bad.slice(0, 20).map((r) => h("li", {}, here(r.message))),
            bad.length > 20 && h("li", {}, `and ${count(bad.length - 20)} more`),
          ),
        others > 0 &&
          may("manage") &&
          h(
            "button",
            { type: "button", class: "small", onclick: () => correct(others) },
            "Replace the numbers told before …",
          ),
      ),
    );
    ontold();
  }
  const correct = (n) =>
    askFor({
      title: "Replace numbers",
      text:
        `${plural(n, "row")} of this table ${n === 1 ? "differs" : "differ"} from what was told ` +
        "before. The old numbers stay in the history.",
      fields: [
        {
          name: "reason",
          label: "Reason",
          required: true,
          hint: "It stands in the history for good.",
        },
      ],
      action: "Replace",
      run: (v) => send({}, v.reason),
    }).then((receipt) => receipt && told(receipt));
  const form = h(
    "form",
    { class: "stack", onsubmit: tell },
    drop.zone,
    h(
      "div",
      { class: "option-grid" },
      field("Source", source, "Where the table comes from."),
      field(
        "Period",
        period,
        "The same source, period and arm count once. A column period will do as well.",
      ),
      field("Decimals", decimal),
    ),
    error,
    preview,
    h("div", { class: "row" }, button, next),
  );
  const details = h(
    "details",
    { class: "card fold" },
    h(
      "summary",
      {},
      h("h2", {}, "Counts"),
      h("span", { class: "soft" }, "a table of arm, n and sum, as from a web test"),
    ),
    form,
  );
  return { element: details, take };
}

// ---- plates and tickets

function openCard(id, study, signal, tell) {
  const plates = h("div", { class: "plate-list" }),
    mapBox = h("div", { class: "map-box", tabindex: -1 }),
    loose = h("div", {});
  let shownPlate = null,
    what = "arm",
    filled = new Map();
  const sheet = (batch, format) =>
    address(`studies/${id}/sheet?${batch ? `batch=${batch}` : "singles=true"}&format=${format}`);

  async function open(batch, focus) {
    const plate = await get(`studies/${id}/plates/${batch}`, { signal });
    shownPlate = plate;
    drawMap();
    markChosen();
    if (focus) {
      mapBox.scrollIntoView({ block: "start" });
      mapBox.focus({ preventScroll: true });
    }
  }
  function markChosen() {
    for (const line of plates.querySelectorAll("li[data-batch]")) {
      const is = line.dataset.batch === String(shownPlate?.batch);
      line.classList.toggle("chosen", is);
      line.querySelector(".plate-name").setAttribute("aria-expanded", String(is));
    }
  }
  function drawMap() {
    if (!shownPlate) return;
    const show = (value, words) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": what === value ? "true" : "false",
          onclick: () => {
            what = value;
            drawMap();
          },
        },
        words,
      );
    const place = mapBox.querySelector(".scroll");
    const [left, topp] = place ? [place.scrollLeft, place.scrollTop] : [0, 0];
    replace(
      mapBox,
      h(
        "div",
        { class: "map-bar no-print" },
        h("h3", {}, `Plate ${shownPlate.batch}`),
        h(
          "span",
          { class: "chips", role: "group", "aria-label": "What stands in the wells" },
          show("arm", "Arms"),
          show("value", "Values"),
          show("ticket", "Tickets"),
        ),
        h(
          "span",
          { class: "row" },
          shownPlate.wells.some((w) => w.arm && w.state === "open") && [
            h(
              "a",
              { class: "button small", href: sheet(shownPlate.batch, "csv"), download: "" },
              "CSV",
            ),
            h(
              "a",
              { class: "button small", href: sheet(shownPlate.batch, "xlsx"), download: "" },
              "Excel",
            ),
          ],
          h("button", { type: "button", class: "small", onclick: () => print() }, "Print"),
          h(
            "button",
            {
              type: "button",
              class: "plain small",
              onclick: () => {
                shownPlate = null;
                replace(mapBox);
                markChosen();
              },
            },
            "Close",
          ),
        ),
      ),
      plateMap(shownPlate, { id, show: what, study: study.name }),
    );
    Object.assign(mapBox.querySelector(".scroll"), { scrollLeft: left, scrollTop: topp });
  }

  async function refresh() {
    const [{ plates: all }, { tickets }] = await Promise.all([
      get(`studies/${id}/plates`, { signal }),
      get(`studies/${id}/tickets`, { signal }),
    ]);
    const lines = [...all].sort((a, b) => b.batch - a.batch);
    const openFirst = [...lines.filter((p) => p.open), ...lines.filter((p) => !p.open)];
    tell.knowPlates(lines.filter((p) => p.open).map((p) => p.batch));
    const line = (p) => {
      const mine = tickets.find((t) => t.batch === p.batch),
        total = p.open + p.told + (p.failed ?? 0);
      return h(
        "li",
        { data: { batch: p.batch }, class: shownPlate?.batch === p.batch ? "chosen" : "" },
        h(
          "button",
          {
            type: "button",
            class: "plain plate-name",
            "aria-expanded": String(shownPlate?.batch === p.batch),
            onclick: () => open(p.batch, true).catch(say),
          },
          `Plate ${p.batch}`,
        ),
        h(
          "span",
          {
            class: "progress",
            role: "img",
            "aria-label": `${p.told} of ${total} told`,
            vars: { "--part": total ? p.told / total : 0 },
          },
          h("i"),
        ),
        h(
          "span",
          { class: "soft small" },
          p.open ? `${count(p.open)} of ${count(total)} open` : `${count(p.told)} told`,
          mine?.client ? `, ${mine.client}` : "",
          " · ",
          h("time", { datetime: iso(p.time), title: moment(p.time) }, ago(p.time)),
        ),
        h(
          "span",
          { class: "row" },
          p.open && may("measure")
            ? [
                h(
                  "button",
                  {
                    type: "button",
                    class: "small",
                    "aria-label": `Tell its grid: plate ${p.batch}`,
                    title: "The next sheet is the grid of this plate",
                    onclick: () => {
                      tell.fillGrid(p.batch);
                      tell.section.scrollIntoView({ block: "start" });
                    },
                  },
                  "Tell its grid",
                ),
                h(
                  "button",
                  {
                    type: "button",
                    class: "small",
                    "aria-label": `Lost: plate ${p.batch}`,
                    onclick: () => lost(p.batch, p.open),
                  },
                  "Lost …",
                ),
              ]
            : null,
        ),
      );
    };
    replace(
      plates,
      openFirst.length
        ? h(
            "ul",
            {},
            openFirst.slice(0, 8).map(line),
            openFirst.length > 8
              ? h(
                  "li",
                  { class: "more" },
                  h(
                    "details",
                    {},
                    h("summary", {}, `${count(openFirst.length - 8)} older plates`),
                    h("ul", {}, openFirst.slice(8).map(line)),
                  ),
                )
              : null,
          )
        : h("p", { class: "soft" }, "No plate was asked for yet."),
    );
    singles(tickets.filter((t) => !t.well));
    if (shownPlate) await open(shownPlate.batch, false);
  }
  const say = (error) => {
    if (!signal.aborted) toast(error.detail ?? String(error), "bad");
  };
  const lost = (batch, n) =>
    askFor({
      title: `Plate ${batch} was lost`,
      danger: true,
      text:
        `${plural(n, "open ticket")} of it will have no value. Values that were told ` +
        `stay. The arms may be asked for again.`,
      fields: [
        {
          name: "reason",
          label: "Reason",
          required: true,
          hint: "It must have nothing to do with the values.",
        },
      ],
      action: "Close its tickets",
      run: ({ reason }) => post(`studies/${id}/fail`, { batch, reason }),
    }).then((done) => {
      if (done) {
        toast(`Plate ${batch} is closed.`);
        refresh().catch(say);
      }
    });

  // Tickets without a plate: a short list can be filled in here.
  function singles(tickets) {
    const now = Date.now() / 1000,
      before = document.activeElement,
      focused = before?.dataset?.ticket,
      chosen = focused ? [before.selectionStart, before.selectionEnd] : null;
    filled = new Map(tickets.filter((t) => filled.has(t.id)).map((t) => [t.id, filled.get(t.id)]));
    if (!tickets.length) {
      replace(loose);
      return;
    }
    const button = h(
      "button",
      {
        type: "button",
        class: "primary",
        onclick: () => {
          const rows = [...filled]
            .filter(([, v]) => v.trim())
            .map(([ticket, v]) => ({ ticket, value: asNumber(v) }));
          if (rows.length) tell.takeRows(rows, "Typed values");
          else toast("Type a value first.");
        },
      },
      "Preview what is typed",
    );
    const byHand = may("measure") && tickets.length <= 4 * FEW;
    const rows = tickets.slice(0, 4 * FEW).map((t) =>
      h(
        "tr",
        {},
        h("td", { class: "mono" }, t.id),
        h("td", {}, h("a", { href: armPath(id, t.arm) }, t.arm)),
        h("td", {}, t.client ?? ""),
        h(
          "td",
          { class: t.lease_until && t.lease_until < now ? "late" : "soft" },
          t.lease_until
            ? t.lease_until < now
              ? `${duration(now - t.lease_until)} late`
              : `${duration(t.lease_until - now)} left`
            : ago(t.time),
        ),
        byHand
          ? h(
              "td",
              {},
              h("input", {
                type: "text",
                inputmode: "decimal",
                class: "value",
                autocomplete: "off",
                "aria-label": `Value of ${t.id}, ${t.arm}`,
                data: { ticket: t.id },
                value: filled.get(t.id) ?? "",
                oninput: (e) => filled.set(t.id, e.target.value),
                onkeydown: enter,
              }),
            )
          : null,
      ),
    );
    replace(
      loose,
      h(
        "div",
        { class: "map-bar" },
        h("h3", {}, `${plural(tickets.length, "open ticket")} without a plate`),
        h(
          "span",
          { class: "row" },
          h("a", { class: "button small", href: sheet(null, "csv"), download: "" }, "CSV"),
          h("a", { class: "button small", href: sheet(null, "xlsx"), download: "" }, "Excel"),
        ),
      ),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "data tickets" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Ticket", "Arm", "Client", "Time", ...(byHand ? ["Value"] : [])].map((w) =>
                h("th", { scope: "col" }, w),
              ),
            ),
          ),
          h("tbody", {}, rows),
        ),
      ),
      tickets.length > rows.length
        ? h(
            "p",
            { class: "soft small" },
            `and ${count(tickets.length - rows.length)} more in the sheet`,
          )
        : null,
      byHand ? h("div", { class: "actions" }, button) : null,
    );
    const again = focused && loose.querySelector(`[data-ticket="${CSS.escape(focused)}"]`);
    if (again) {
      again.focus({ preventScroll: true });
      again.setSelectionRange(...chosen);
    }
  }
  function enter(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const inputs = [...loose.querySelectorAll("input.value")];
    (inputs[inputs.indexOf(event.target) + 1] ?? loose.querySelector(".actions button"))?.focus();
  }
  const section = h(
    "section",
    { class: "card open-card", "aria-labelledby": "open-title" },
    h("h2", { id: "open-title" }, "Plates and open tickets"),
    plates,
    mapBox,
    loose,
  );
  return { section, refresh, open };
}

// ---- the page

export async function show(main, params, signal) {
  const { id } = params;
  const { study } = await studyHead(main, id, "measure", signal);
  document.title = `Measure ${study.name} · allgood`;
  const update = throttle(() => {
    opened.refresh().catch((e) => {
      if (!signal.aborted) toast(e.detail ?? String(e), "bad");
    });
  }, 800);
  const counts = countsCard(id, study, signal, update);
  const tell = tellCard(id, study, signal, update, counts.take);
  const opened = openCard(id, study, signal, tell);
  const ask = askCard(id, study, signal, async (answer, isPlate) => {
    await opened.refresh();
    if (isPlate) await opened.open(answer.tickets[0].batch, true);
    else opened.section.scrollIntoView({ block: "nearest" });
  });
  main.append(
    h(
      "div",
      { class: "measure-page" },
      may("measure")
        ? h(
            "div",
            { class: "measure-grid no-print" },
            ask,
            h("div", { class: "stack" }, tell.section, counts.element),
          )
        : h("p", { class: "notice" }, "You may look here, and neither ask nor tell."),
      opened.section,
    ),
  );
  await opened.refresh();
  const soon = throttle(() => {
    update();
    tell.again();
  }, 1000);
  watch(
    id,
    (change) => {
      if (change.gone) deleted(main);
      else soon();
    },
    { after: study.events, signal },
  );
  signal.addEventListener("abort", () => {
    update.stop();
    soon.stop();
  });
}
