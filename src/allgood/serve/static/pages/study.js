// One study: the verdict, its arms, what it costs, and what goes on.
import { get, may, post, Problem, remove } from "../api.js";
import { costChart, labelBar, labelsChart } from "../charts.js";
import { askFor, toast } from "../dialog.js";
import { announce, debounce, h, mark, replace, since, stored, throttle } from "../dom.js";
import { forest, SORTS } from "../forest.js";
import { count, list, number, plural } from "../format.js";
import { armPath, deleted, studyHead, studyPath } from "../head.js";
import { watch } from "../live.js";

const FORECAST = 15_000; // milliseconds between two forecasts

// The best estimate and the threshold that it gives; null before the first value.
function bandOf(arms, { name, epsilon }) {
  let best = null;
  arms.mean.forEach((m, i) => {
    if (m !== null && !arms.withdrawn[i] && (best === null || m > best)) best = m;
  });
  const threshold =
    best === null ? null : name === "multiplicative" ? (1 - epsilon) * best : best - epsilon;
  return { best, threshold };
}

// What to say when labels turned: ["C05", "good"], ...
function turnedWords(changes) {
  const of = (label) => changes.filter(([, now]) => now === label).map(([name]) => name);
  const say = (names, words) =>
    names.length && `${list(names, 4)} ${names.length === 1 ? "is" : "are"} ${words}.`;
  return [
    say(of("good"), "certified good"),
    say(of("bad"), "certified bad"),
    say(of("open"), "open again"),
  ]
    .filter(Boolean)
    .join(" ");
}

const consequence = (answer) => toast(answer?.consequence ?? "Done.");
const reason = (hint) => ({
  name: "reason",
  label: "Reason",
  required: true,
  maxlength: 1000,
  hint,
});

function suspectItem(id, one) {
  const which = `${number(one.value, 6)} of ${one.arm}`;
  const confirm = () =>
    askFor({
      title: "Confirm this value",
      action: "Confirm",
      text: [
        `${which}, ticket ${one.ticket}, will count.`,
        "Look at the instrument's record, not at the verdict: a value that is confirmed because " +
          "one likes it voids the guarantee.",
      ],
      fields: [reason("It stands in the history, the report and the certificate.")],
      run: ({ reason: why }) => post(`studies/${id}/confirm`, { ticket: one.ticket, reason: why }),
    }).then((answer) => answer && consequence(answer));
  const correct = () =>
    askFor({
      title: "Correct this value",
      action: "Correct",
      text:
        `Ticket ${one.ticket} of ${one.arm} was told as ${number(one.value, 6)}. The old ` +
        `value stays in the history.`,
      fields: [
        { name: "value", label: "Right value", required: true, inputmode: "decimal" },
        reason(),
      ],
      run: ({ value, reason: why }) =>
        post(`studies/${id}/correct`, {
          measurement: one.ticket,
          value: value.trim(),
          reason: why,
        }),
    }).then((answer) => answer && consequence(answer));
  return h(
    "li",
    { class: "suspect" },
    h(
      "p",
      {},
      h("a", { href: armPath(id, one.arm) }, one.arm),
      ": ",
      h("strong", {}, number(one.value, 6)),
      " is suspect and does not count. ",
      one.others === 1
        ? `Its other value was ${number(one.mean, 4)} then.`
        : `Its other ${count(one.others)} values averaged ${number(one.mean, 4)} then.`,
    ),
    h(
      "div",
      { class: "row" },
      may("measure") &&
        h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": `It is right: ${which}`,
            onclick: confirm,
            data: { keep: `confirm ${one.ticket}` },
          },
          "It is right",
        ),
      may("manage") &&
        h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": `It is wrong: ${which}`,
            onclick: correct,
            data: { keep: `correct ${one.ticket}` },
          },
          "It is wrong",
        ),
      h("span", { class: "faint small" }, `ticket ${one.ticket}`),
    ),
  );
}

// Tickets by client and batch.
function groups(tickets) {
  const found = new Map();
  for (const ticket of tickets) {
    const key = JSON.stringify([ticket.client, ticket.batch]);
    if (!found.has(key))
      found.set(key, {
        client: ticket.client,
        batch: ticket.batch,
        plate: false,
        n: 0,
        time: ticket.time,
        lease_until: null,
        arms: [],
      });
    const group = found.get(key);
    group.n++;
    group.plate ||= Boolean(ticket.well);
    group.arms.push(ticket.arm);
    if (ticket.lease_until !== null && ticket.lease_until !== undefined)
      group.lease_until = Math.min(group.lease_until ?? Infinity, ticket.lease_until);
  }
  return [...found.values()].sort((a, b) => b.time - a.time);
}

function ticketItem(group) {
  const late = group.lease_until !== null && group.lease_until < Date.now() / 1000;
  const arms = [...new Set(group.arms)];
  return h(
    "li",
    {},
    h(
      "div",
      { class: "line" },
      h("strong", { title: group.client }, group.client ?? "no client named"),
      h("span", { class: "number" }, plural(group.n, "ticket")),
    ),
    h(
      "div",
      { class: "soft small" },
      group.plate ? `plate ${group.batch}` : `batch ${group.batch}`,
      ", asked ",
      since(group.time),
      group.lease_until === null
        ? ", no end of the lease"
        : [
            late ? ", was due " : ", due ",
            since(group.lease_until),
            late && h("span", { class: "tag warn" }, "offered again to whoever asks"),
          ],
    ),
    h("div", { class: "faint small", title: list(arms, 20) }, list(arms, 6)),
  );
}

export async function show(main, params, signal) {
  const id = Number(params.id);
  const loading = h("p", { class: "loading soft" }, "Loading the arms."),
    loaded = get(`studies/${id}/status?arms=columns`, { signal });
  loaded.catch(() => {}); // it is awaited below
  const { study, head } = await studyHead(main, id, "", signal);
  main.append(loading);
  const first = await loaded;
  loading.remove();
  const { objective } = study.design;
  const bandWords =
    objective.name === "multiplicative"
      ? `at least ${number(1 - objective.epsilon, 4)} × best`
      : `within ${number(objective.epsilon, 4)} of the best`;
  let status = first,
    tickets = null,
    cost = null;

  // The parts of the page.
  const verdict = h("p", { class: "study-verdict" }),
    bar = h("div"),
    facts = h("p", { class: "soft small facts-line" });
  const attention = h("section", { class: "attention", "aria-label": "What needs attention" });
  const shown = h("h2", { id: "arms-title" }, "Arms");
  const search = h("input", {
    type: "search",
    placeholder: "Search arms",
    "aria-label": "Search arms by name",
    data: { search: "" },
  });
  const sort = h(
    "select",
    { "aria-label": "Sort arms by" },
    Object.entries(SORTS).map(([key, [words]]) => h("option", { value: key }, words)),
  );
  const chips = ["all", "good", "bad", "open"].map((label) =>
    h(
      "button",
      { type: "button", "aria-pressed": String(label === "all"), data: { label } },
      label !== "all" && mark(label),
      h("span", {}, label),
    ),
  );
  const plot = forest({
    id,
    signal,
    onsort: (key) => {
      sort.value = key;
      plot.show({ sort: key });
    },
    onshown: (n, all) => {
      shown.textContent = n === all ? plural(all, "arm") : `${count(n)} of ${plural(all, "arm")}`;
    },
  });
  const labels = labelsChart(signal),
    money = costChart(signal);
  const activity = h("div", { class: "activity" });

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      for (const one of chips) one.setAttribute("aria-pressed", String(one === chip));
      plot.show({ label: chip.dataset.label });
      announce(shown.textContent);
    });
  }
  const searched = debounce(() => {
    plot.show({ search: search.value });
    announce(shown.textContent);
  }, 80);
  search.addEventListener("input", searched);
  sort.addEventListener("change", () => plot.show({ sort: sort.value }));
  signal.addEventListener("abort", searched.stop);

  function drawStatus() {
    const { arms } = status;
    verdict.textContent = status.verdict;
    head.querySelector(".question").textContent = status.question; // arms may be added
    const n = { good: 0, bad: 0, open: 0 };
    arms.label.forEach((label, i) => {
      if (!arms.withdrawn[i]) n[label]++;
    });
    replace(bar, labelBar(n));
    for (const chip of chips) {
      const label = chip.dataset.label;
      chip.lastChild.textContent =
        label === "all" ? `all ${count(arms.arm.length)}` : `${label} ${count(n[label])}`;
    }
    const { best, threshold } = bandOf(arms, objective);
    const changes = plot.set(arms, best, threshold, bandWords);
    const say = turnedWords(changes);
    if (say) announce(say);
    labels.set(arms, status.measurements);
    drawCost();
    keeping(attention, drawAttention);
    replace(
      facts,
      `Risk delta ${number(status.delta)}: if the measurements fit the model, then with ` +
        `probability at least ${number(1 - status.delta, 6)} no label is ever certified wrongly, ` +
        `however often one looks.`,
    );
    keeping(activity, drawActivity);
  }

  function drawCost() {
    const { measurements, outcome, budget } = status,
      ahead = cost?.left;
    // The forecast counts from the moment when it was made.
    const from = (more) =>
      more === null ? null : Math.max(0, cost.measurements + more - measurements);
    const left =
      outcome === "certified"
        ? { low: 0, high: 0 }
        : outcome === "running" && ahead
          ? { low: from(ahead.low), high: from(ahead.high) }
          : null;
    const bound = cost?.lower_bound ?? null,
      remark = cost?.lower_bound_remark ?? null;
    const at = cost?.measurements ?? measurements; // the bound is of that moment
    money.set({ measurements, at, bound, remark, left, budget, known: cost !== null });
  }

  // Draws a part again; the focus stays on the same button if there is one.
  function keeping(part, draw) {
    const held = part.contains(document.activeElement) ? document.activeElement.dataset.keep : null;
    const open = new Set(
      [...part.querySelectorAll("details[open]")].map((one) => one.dataset.keep),
    );
    draw();
    for (const one of part.querySelectorAll("details"))
      if (open.has(one.dataset.keep)) one.open = true;
    if (held)
      [...part.querySelectorAll("[data-keep]")].find((one) => one.dataset.keep === held)?.focus();
  }

  function drawAttention() {
    const { suspects, checks, waiting, waits_for: before } = status;
    replace(
      attention,
      status.measurements + status.pending === 0 &&
        h(
          "div",
          { class: "notice" },
          h("h2", {}, "Nothing is measured yet"),
          h(
            "p",
            {},
            "Ask which arms to measure, measure them, and tell what came out. ",
            may("measure") &&
              h("a", { href: studyPath(id, "measure") }, "Ask for the first measurements"),
          ),
        ),
      checks.sentences.length > 0 &&
        h(
          "div",
          { class: "notice warn" },
          h("h2", {}, "The values do not fit the model"),
          checks.sentences.map((sentence) => h("p", {}, sentence)),
        ),
      suspects.length > 0 &&
        h(
          "div",
          { class: "notice warn" },
          h("h2", {}, plural(suspects.length, "suspect value")),
          h(
            "ul",
            { class: "plain" },
            suspects.slice(0, 20).map((one) => suspectItem(id, one)),
          ),
          suspects.length > 20 && h("p", {}, `And ${count(suspects.length - 20)} more.`),
        ),
      waiting > 0 &&
        h(
          "div",
          { class: "notice" },
          h("h2", {}, `${plural(waiting, "value")} waiting`),
          h(
            "p",
            {},
            `They count when earlier tickets are ` +
              `settled${before ? `; first ticket ${before.id} of ${before.arm}` : ""}. Tell ` +
              `its value, or report it as failed.`,
          ),
        ),
    );
    attention.hidden = !attention.children.length;
  }

  function drawActivity() {
    const open = tickets === null ? null : groups(tickets);
    const notes = [...status.notes].reverse();
    replace(
      activity,
      h("h3", {}, "Open tickets"),
      open === null
        ? h("p", { class: "soft" }, "Loading.")
        : open.length
          ? h("ul", { class: "plain lines" }, open.slice(0, 12).map(ticketItem))
          : h("p", { class: "soft" }, "Nobody has a ticket at the moment."),
      open &&
        open.length > 12 &&
        h("p", { class: "soft small" }, `And ${count(open.length - 12)} more groups.`),
      may("measure") &&
        status.outcome === "running" &&
        h("p", {}, h("a", { href: studyPath(id, "measure") }, "Ask for measurements")),
      h("h3", {}, "Events"),
      h(
        "ul",
        { class: "plain counts" },
        [
          [status.measurements, "measurement", "counted"],
          [status.pending, "measurement", "still to come"],
          [status.failed, "measurement", "failed"],
          [status.corrections, "value", "corrected"],
        ].map(([n, noun, did]) => h("li", {}, `${plural(n, noun)} ${did}`)),
        h(
          "li",
          {},
          h("a", { href: studyPath(id, "history") }, plural(status.events, "event")),
          " in the history",
        ),
      ),
      status.origin &&
        h(
          "p",
          { class: "soft" },
          "This study is a copy. The risk of the study that it was copied from adds to its own.",
        ),
      h("h3", {}, "Notes"),
      notes.length
        ? h(
            "ul",
            { class: "plain lines" },
            notes.slice(0, 5).map((note) =>
              h(
                "li",
                {},
                h("div", {}, note.text),
                h(
                  "div",
                  { class: "faint small" },
                  [note.client, note.arm, note.ticket].filter(Boolean).map((word) => `${word}, `),
                  since(note.time),
                ),
              ),
            ),
          )
        : h("p", { class: "soft" }, "No notes."),
      may("measure") &&
        h(
          "p",
          {},
          h(
            "button",
            { type: "button", class: "small", onclick: note, data: { keep: "note" } },
            "Write a note",
          ),
        ),
      may("manage") &&
        h(
          "details",
          { class: "manage", data: { keep: "manage" } },
          h("summary", {}, "Manage"),
          h(
            "div",
            { class: "row" },
            h(
              "button",
              { type: "button", class: "small", onclick: extend, data: { keep: "extend" } },
              "Change the budget",
            ),
            status.max_new_arms > 0 &&
              h(
                "button",
                { type: "button", class: "small", onclick: addArms, data: { keep: "arms" } },
                "Add arms",
              ),
            h(
              "button",
              { type: "button", class: "small danger", onclick: drop, data: { keep: "delete" } },
              "Delete the study",
            ),
          ),
        ),
    );
  }

  const note = () =>
    askFor({
      title: "Write a note",
      action: "Write",
      text: "A note changes nothing. It stands in the history and in the report.",
      fields: [
        { name: "text", label: "Note", rows: 3, required: true, maxlength: 1000, prose: true },
      ],
      run: ({ text }) =>
        post(`studies/${id}/notes`, { text, client: stored.get("client") || null }),
    }).then((done) => done && toast("The note is written."));
  const extend = () =>
    askFor({
      title: "Change the budget",
      action: "Change",
      text: "How many measurements may be made in all. The guarantee stays as it is.",
      fields: [
        {
          name: "budget",
          label: "Budget",
          value: status.budget ?? "",
          inputmode: "numeric",
          hint: "Empty: no limit.",
        },
        reason(),
      ],
      run: ({ budget, reason: why }) => {
        const given = budget.trim();
        if (!/^\d*$/.test(given)) throw new Problem("Budget: a whole number, as 1000, or nothing.");
        const limit = given === "" ? null : Number(given);
        return post(`studies/${id}/budget`, { budget: limit, reason: why });
      },
    }).then((answer) => answer && consequence(answer));
  const addArms = () =>
    askFor({
      title: "Add arms",
      action: "Add",
      text:
        `There is room for ${plural(status.max_new_arms, "arm")}. Arms can be added once, all ` +
        `together, and before the first label is certified.`,
      fields: [{ name: "arms", label: "Arms, one per line", rows: 4, required: true }, reason()],
      run: ({ arms, reason: why }) =>
        post(`studies/${id}/arms`, {
          arms: arms
            .split("\n")
            .map((s) => s.trim())
            .filter(Boolean),
          reason: why,
        }),
    }).then((answer) => answer && consequence(answer));
  const drop = () =>
    askFor({
      title: "Delete the study",
      action: "Delete for ever",
      danger: true,
      text: [
        "All its events are deleted, and nothing can bring them back. Export the study first if " +
          "you may want it again.",
      ],
      fields: [
        { name: "name", label: `Type the name of the study: ${study.name}`, required: true },
      ],
      run: ({ name }) => {
        if (name !== study.name) throw new Problem("That is not its name.");
        return remove(`studies/${id}`);
      },
    }).then((done) => {
      if (done) location.hash = "#/";
    });

  main.append(
    h("section", { class: "verdict-box", "aria-label": "Verdict" }, verdict, bar, facts),
    attention,
    h(
      "div",
      { class: "study-grid" },
      h(
        "section",
        { class: "card arms", "aria-labelledby": "arms-title" },
        h(
          "div",
          { class: "toolbar" },
          shown,
          h("div", { class: "chips", role: "group", "aria-label": "Which labels to show" }, chips),
          h("div", { class: "search" }, search),
          h("div", { class: "sort" }, sort),
        ),
        plot.element,
        h(
          "p",
          { class: "legend small soft" },
          "Lines are any-time intervals: all of them, at all times, hold their true means with " +
            "the probability above. ",
          "A full bar of evidence is a certified label. The shaded band is what counts as good, " +
            "seen from the best estimate.",
        ),
      ),
      h(
        "div",
        { class: "side" },
        h(
          "section",
          { class: "card", "aria-labelledby": "cost-title" },
          h("h2", { id: "cost-title" }, "Cost"),
          money.element,
        ),
        h(
          "section",
          { class: "card", "aria-labelledby": "labels-title" },
          h("h2", { id: "labels-title" }, "Labels certified against measurements"),
          labels.element,
        ),
        h(
          "section",
          { class: "card", "aria-labelledby": "activity-title" },
          h("h2", { id: "activity-title" }, "Activity"),
          activity,
        ),
      ),
    ),
  );
  drawStatus();

  async function loadTickets() {
    ({ tickets } = await get(`studies/${id}/tickets`, { signal }));
    keeping(activity, drawActivity);
  }
  async function loadForecast() {
    cost = await get(`studies/${id}/forecast`, { signal });
    drawCost();
  }
  const quiet = (promise) =>
    promise.catch((error) => {
      if (!signal.aborted) console.warn(error.detail ?? error);
    });
  let asking = false;
  const forecast = throttle(async () => {
    if (asking) return;
    asking = true;
    await quiet(loadForecast());
    asking = false;
  }, FORECAST);

  let busy = false,
    again = false;
  const refresh = throttle(async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const now = await get(`studies/${id}/status?arms=columns`, { signal });
      if (now.events !== status.events) {
        status = now;
        drawStatus();
        forecast();
        await loadTickets();
      }
    } catch (error) {
      if (!signal.aborted) console.warn(error.detail ?? error);
    } finally {
      busy = false;
      if (again && !signal.aborted) {
        again = false;
        refresh();
      }
    }
  }, 1000);
  signal.addEventListener("abort", () => {
    refresh.stop();
    forecast.stop();
  });
  watch(
    id,
    (change) => {
      if (!change.gone) {
        refresh();
        return;
      }
      deleted(main);
    },
    { after: status.events, signal },
  );
  quiet(loadTickets());
  forecast();
}
