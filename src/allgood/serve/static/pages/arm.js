// One arm: its values, its interval, what its label rests on and what is missing, and what happened
// to it.
import { get, may, post, Problem } from "../api.js";
import { announce, badge, h, replace, stored, svg, throttle } from "../dom.js";
import { askFor, toast } from "../dialog.js";
import { armPath, deleted, studyHead, studyPath } from "../head.js";
import { ago, count, decimalsFor, fixed, iso, moment, number, plural } from "../format.js";
import { watch } from "../live.js";
import { followWidth, scale, ticks, widened } from "../plot.js";
import { rowsBox } from "../rows.js";
import { KINDS, sentence } from "./history.js";

const TOLD = ["corrected", "confirmed", "failed", "arm_dropped", "note", "counts", "unrequested"];
const LABELS = { good: "certified good", bad: "certified bad", open: "open" };
const client = () => stored.get("client") || undefined;

// The row of one arm out of the columns of a status, and the best estimate among all arms.
function pick(status, name) {
  const columns = status.arms,
    i = columns.arm.indexOf(name);
  if (i < 0) return null;
  const one = Object.fromEntries(Object.entries(columns).map(([key, values]) => [key, values[i]]));
  let best = -Infinity,
    who = null;
  columns.mean.forEach((mean, k) => {
    if (mean !== null && !columns.withdrawn[k] && columns.measurements[k] && mean > best) {
      best = mean;
      who = columns.arm[k];
    }
  });
  return { ...one, best: who === null ? null : best, leader: who };
}

async function allValues(id, name, signal) {
  const values = [];
  for (let after = 0; ;) {
    const part = await get(
      `studies/${id}/values?arm=${encodeURIComponent(name)}&after=${after}&limit=1000`,
      { signal },
    );
    values.push(...part.values);
    after = part.last;
    if (!part.more || !part.values.length) return values;
  }
}

async function happenings(id, name, signal) {
  const parts = await Promise.all(
    TOLD.map((kind) =>
      get(`studies/${id}/events?kind=${kind}&arm=${encodeURIComponent(name)}&limit=1000`, {
        signal,
      }),
    ),
  );
  return parts
    .flatMap((part) => part.events)
    .filter((event) => event.arm === name)
    .sort((a, b) => b.seq - a.seq);
}

// ---- in words

function restsOn(id, arm, study) {
  if (arm.label !== "open" || arm.measurements) {
    if (arm.rests_on)
      return [
        "It is compared with ",
        h("a", { href: armPath(id, arm.rests_on) }, arm.rests_on),
        ".",
      ];
    if (arm.on_pool)
      return "It is compared with the pool: the measurements of the leading arms, taken together.";
    if (study.design.arms?.length > 1 && arm.label === "good")
      return "No rival is left: every other arm is certified bad.";
  }
  return "";
}

function missing(arm) {
  if (arm.withdrawn)
    return "The arm has left the question: it was given up before its first measurement.";
  if (arm.label !== "open") {
    const when = arm.certified_after
      ? ` after ${plural(arm.certified_after, "measurement")} of the whole study`
      : "";
    return (
      `Certified ` +
      `${arm.label}${when}. The label stays, unless a correction says that a value was wrong.`
    );
  }
  if (!arm.measurements) return "There is no measurement yet, so there is no evidence.";
  if (arm.measurements === 1)
    return "No label rests on a single value: a second measurement is needed first.";
  if (!arm.need) return "";
  const lacking = arm.need - (arm.evidence ?? 0);
  return lacking > 0
    ? `The evidence must grow by ${number(lacking)} before a label can be certified.`
    : "The evidence is there, but not under every check yet: a value that hardly " +
        "fits must be outweighed.";
}

// All rivals of a good arm are certified bad.
const hasNoRival = (arm) => arm.label !== "open" && arm.evidence === null;
const weight = (arm) =>
  hasNoRival(arm) ? "no rival left" : `${number(arm.evidence ?? 0)} / ${number(arm.need)}`;

function meter(arm) {
  const reached = arm.need ? Math.max(0, Math.min(1, (arm.evidence ?? 0) / arm.need)) : 0,
    part = arm.label === "open" ? reached : 1;
  return h(
    "div",
    {
      class: `meter ${arm.label}`,
      role: "meter",
      "aria-label": "Evidence over need",
      "aria-valuemin": 0,
      "aria-valuemax": 1,
      "aria-valuenow": part.toFixed(3),
      "aria-valuetext": weight(arm),
      vars: { "--part": part },
    },
    h("i"),
  );
}

function facts(id, arm, study) {
  const digits = arm.high !== null && arm.low !== null ? decimalsFor(arm.high - arm.low) : 3;
  const item = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return [
    h(
      "dl",
      { class: "facts" },
      item("Estimate", h("b", {}, arm.measurements ? fixed(arm.mean, digits) : "–")),
      item(
        "Interval",
        arm.measurements && arm.low !== null && arm.high !== null
          ? `${fixed(arm.low, digits)} to ${fixed(arm.high, digits)}`
          : "–",
      ),
      item(
        "Measurements",
        count(arm.measurements),
        arm.pending ? h("span", { class: "soft" }, ` and ${count(arm.pending)} asked for`) : "",
      ),
      item(
        "Evidence / need",
        h("span", { class: "number" }, weight(arm)),
        meter(arm),
      ),
    ),
    h("p", {}, missing(arm)),
    arm.label === "open" || !arm.withdrawn ? h("p", {}, restsOn(id, arm, study)) : null,
    arm.leader !== null && arm.leader !== arm.arm && arm.measurements
      ? h(
          "p",
          { class: "soft" },
          `The best estimate is ${fixed(arm.best, digits)}, of `,
          h("a", { href: armPath(id, arm.leader) }, arm.leader),
          ".",
        )
      : null,
    arm.suspect
      ? h(
          "p",
          { class: "notice warn" },
          `${plural(arm.suspect, "value")} ${arm.suspect === 1 ? "is" : "are"} suspect ` +
            `and ${arm.suspect === 1 ? "does" : "do"} not count until somebody confirms ` +
            `or corrects ${arm.suspect === 1 ? "it" : "them"}.`,
        )
      : null,
    arm.waiting
      ? h(
          "p",
          { class: "soft" },
          `${plural(arm.waiting, "value")} ${arm.waiting === 1 ? "waits" : "wait"} ` +
            `until earlier tickets are settled.`,
        )
      : null,
    arm.censored
      ? h("p", { class: "soft" }, `${plural(arm.censored, "time")} given up at the deadline.`)
      : null,
    arm.dropped
      ? h("p", { class: "notice" }, `The arm is not measured any more: ${arm.dropped}`)
      : null,
  ];
}

// ---- the values

const isCounts = (v) => v.n > 1 || v.period !== null;
const isCorrected = (v) => v.first !== null && v.first !== undefined && v.first !== v.value;
const shownValue = (v) => number(v.value, 6) + (isCounts(v) ? ` in ${count(v.n)}` : "");

// ---- the picture

const SHAPES = {
  counts: (x, y) => svg("circle", { class: "dot", cx: x, cy: y, r: 3.6 }),
  waiting: (x, y) => svg("circle", { class: "dot hollow", cx: x, cy: y, r: 3.6 }),
  suspect: (x, y) => svg("path", { class: "dot is-suspect", d: `M${x} ${y - 6}l5.6 10h-11.2z` }),
};

function picture(box, values, arm, study, width) {
  const height = width < 520 ? 250 : 340,
    left = 52,
    right = 92,
    top = 14,
    bottom = 34;
  const counted = values
    .filter((v) => v.value !== null && v.state !== "suspect" && !(v.n > 1))
    .map((v) => v.value);
  const multiplicative = study.design.objective?.name === "multiplicative",
    epsilon = study.design.objective?.epsilon;
  const threshold =
    arm.best === null ? null : multiplicative ? (1 - epsilon) * arm.best : arm.best - epsilon;
  const near = [...counted, ...(arm.measurements ? [arm.mean] : [])];
  if (!near.length) {
    replace(box, h("p", { class: "empty" }, "No value was told yet."));
    return;
  }
  // A wide interval, a far threshold or a far suspect value must not flatten the picture.
  const least = near.reduce((a, b) => Math.min(a, b)),
    most = near.reduce((a, b) => Math.max(a, b)),
    spread = most - least || Math.abs(most) || 1;
  const reach = (x, times) =>
    x === null || !arm.measurements
      ? []
      : [Math.max(least - times * spread, Math.min(most + times * spread, x))];
  const all = [
    least,
    most,
    ...reach(arm.low, 1),
    ...reach(arm.high, 1),
    ...reach(threshold, 1.5),
    ...reach(threshold === null ? null : Math.min(arm.best, most + 0.3 * spread), 1.5),
  ];
  const [low, high] = widened(Math.min(...all), Math.max(...all));
  const x = scale(0.5, Math.max(values.length, 4) + 0.5, left, width - right);
  const y = scale(low, high, height - bottom, top);
  const inside = (v) => Math.max(top + 4, Math.min(height - bottom - 4, y(v)));
  const cut = (v) => Math.max(top, Math.min(height - bottom, y(v)));
  const seen = threshold !== null && threshold >= low && threshold <= high;
  const parts = [];

  if (threshold !== null) {
    parts.push(
      svg("rect", {
        class: "band",
        x: left,
        width: width - right - left + 30,
        y: cut(arm.best),
        height: Math.max(1, cut(threshold) - cut(arm.best)),
      }),
      seen &&
        svg("line", {
          class: "threshold",
          x1: left,
          x2: width - right + 30,
          y1: y(threshold),
          y2: y(threshold),
        }),
    );
  }
  for (const t of ticks(low, high, 5)) {
    parts.push(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
      svg("text", { class: "tick", x: left - 8, y: y(t) + 4, "text-anchor": "end" }, number(t)),
    );
  }
  for (const t of ticks(
    1,
    Math.max(values.length, 4),
    Math.min(8, (width - left - right) / 60),
  ).filter(Number.isInteger)) {
    parts.push(
      svg(
        "text",
        { class: "tick", x: x(t), y: height - bottom + 17, "text-anchor": "middle" },
        count(t),
      ),
    );
  }
  parts.push(
    svg(
      "text",
      { class: "tick axis", x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" },
      "value, in the order told",
    ),
  );
  // The average as it grew.
  let sum = 0,
    n = 0;
  const line = values.flatMap((v, i) => {
    if (v.state !== "counts" || v.value === null) return [];
    sum += v.value;
    n += v.n ?? 1;
    return [`${x(i + 1).toFixed(1)},${inside(sum / n).toFixed(1)}`];
  });
  if (line.length > 1) parts.push(svg("polyline", { class: "average", points: line.join(" ") }));
  values.forEach((v, i) => {
    if (v.value === null) return;
    const at = x(i + 1),
      mean = v.n > 1 ? v.value / v.n : v.value,
      out = mean < low || mean > high;
    if (isCorrected(v) && !isCounts(v)) {
      parts.push(
        svg("line", { class: "corrected", x1: at, x2: at, y1: inside(v.first), y2: inside(mean) }),
        svg("path", { class: "corrected", d: `M${at - 3} ${inside(v.first) - 3}l6 6m0-6l-6 6` }),
      );
    }
    const shape = SHAPES[v.state]?.(at, inside(mean)) ?? SHAPES.counts(at, inside(mean));
    shape.append(
      svg("title", {}, `${v.ticket}: ${shownValue(v)}, ${v.state}, ${moment(v.time)}`),
    );
    parts.push(shape);
    if (out) {
      const flip = at > width - right - 90;
      parts.push(
        svg(
          "text",
          {
            class: "tick out",
            x: at + (flip ? -9 : 9),
            y: inside(mean) + 4,
            "text-anchor": flip ? "end" : "start",
          },
          `${mean > high ? "↑" : "↓"} ${number(mean, 4)}`,
        ),
      );
    }
  });
  if (arm.measurements) {
    const at = width - right + 22;
    parts.push(
      svg("line", {
        class: `interval ${arm.label}`,
        x1: at,
        x2: at,
        y1: arm.low === null ? height - bottom : cut(arm.low),
        y2: arm.high === null ? top : cut(arm.high),
      }),
      arm.label === "bad"
        ? svg("path", {
            class: "estimate bad",
            d: `M${at - 5} ${y(arm.mean) - 5}l10 10m0-10l-10 10`,
          })
        : svg("circle", { class: `estimate ${arm.label}`, cx: at, cy: y(arm.mean), r: 5.5 }),
      svg("text", { class: "tick strong", x: at + 11, y: y(arm.mean) + 4 }, number(arm.mean, 4)),
    );
  }
  if (threshold !== null) {
    const clash = arm.measurements && Math.abs(cut(threshold) - y(arm.mean)) < 14;
    if (!clash)
      parts.push(
        svg(
          "text",
          { class: "tick band-name", x: width - right + 33, y: cut(threshold) + 4 },
          `${seen ? "" : threshold > high ? "↑ " : "↓ "}${number(threshold, 4)}`,
        ),
      );
  }
  const words =
    `${plural(values.length, "value")} of ${arm.arm}. ` +
    (arm.measurements
      ? `The average is ${number(arm.mean, 4)}, the interval goes from ` +
        `${number(arm.low, 4)} to ${number(arm.high, 4)}. `
      : "") +
    (threshold === null
      ? ""
      : `An arm is good from about ${number(threshold, 4)} on, if the best estimate is right. `) +
    "The table below has every value.";
  replace(
    box,
    svg(
      "svg",
      {
        class: "arm-plot",
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "img",
        "aria-label": words,
      },
      parts,
    ),
  );
}

// ---- the page

export async function show(main, params, signal) {
  const { id, name } = params;
  const { study, head } = await studyHead(main, id, "arm", signal);
  document.title = `${name} in ${study.name} · allgood`;
  let arm = null,
    values = [],
    ordered = [],
    events = [],
    seen = study.events;

  const heading = h("h2", { class: "arm-name", id: "arm-title" }, name);
  const label = h("span", { class: "arm-label" });
  const factsBox = h("div", { class: "arm-facts" }),
    plot = h("div", { class: "plot-box" });
  const doings = h("ol", { class: "happenings" });
  const actions = h("div", { class: "row" });
  const table = rowsBox({
    label: `Values of ${name}, suspect ones first, then the newest`,
    kind: "values",
    columns: ["Ticket", "Value", "State", "When", "Plate, well", "Mend"],
    wide: 40,
    narrow: 84,
    draw: valueRow,
    signal,
  });
  const valuesTitle = h("h2", {}, "Values");

  const done = (answer) => {
    if (answer) {
      toast(answer.consequence ?? "Written.");
      refresh();
    }
  };
  const correct = (v) =>
    askFor({
      title: "Correct a value",
      text: [
        `${v.ticket} of ${name} was told as ` +
          `${isCounts(v) ? `a sum of ${number(v.value, 8)} in ${count(v.n)}` : number(v.value, 8)}. ` +
          `The old value stays in the history.`,
      ],
      fields: [
        ...(isCounts(v)
          ? [
              { name: "n", label: "How many", value: v.n, required: true, inputmode: "numeric" },
              {
                name: "sum",
                label: "The right sum",
                required: true,
                inputmode: "decimal",
              },
            ]
          : [{ name: "value", label: "The right value", required: true, inputmode: "decimal" }]),
        ...(isCounts(v) && study.design.model?.sigma === null
          ? [{ name: "sd", label: "The right standard deviation", required: true }]
          : []),
        {
          name: "reason",
          label: "Reason",
          required: true,
          hint: "It stands in the history for good.",
        },
      ],
      action: "Correct",
      run: ({ reason, ...numbers }) => {
        const right = Object.entries(numbers).map(([key, text]) => [key, asNumber(text)]);
        const value = isCounts(v) ? Object.fromEntries(right) : right[0][1];
        return post(`studies/${id}/correct`, { measurement: v.ticket, value, reason });
      },
    }).then(done);
  const confirm = (v) =>
    askFor({
      title: "Confirm a value",
      text: [
        `${v.ticket} of ${name}: ${number(v.value, 8)} does not fit the other values. ` +
          `If you confirm it, it counts.`,
        "Confirm it only if you know that it was measured and written down rightly.",
      ],
      fields: [{ name: "reason", label: "Reason", required: true }],
      action: "Confirm",
      run: ({ reason }) => post(`studies/${id}/confirm`, { ticket: v.ticket, reason }),
    }).then(done);

  function valueRow(i) {
    const v = ordered[i];
    if (!v) return null;
    const where = v.well ? `${v.batch}, ${v.well}` : (v.source ?? "");
    const row = [
      h("span", { class: "mono" }, v.ticket),
      {
        class: "number",
        content: [
          shownValue(v),
          isCorrected(v) ? h("span", { class: "soft" }, ` was ${number(v.first, 6)}`) : null,
        ],
      },
      h("span", { class: `state is-${v.state}` }, v.censored ? "censored" : v.state),
      h("time", { datetime: iso(v.time), title: moment(v.time) }, ago(v.time)),
      where,
      [
        v.state === "suspect" && may("measure")
          ? h("button", { class: "small", type: "button", onclick: () => confirm(v) }, "Confirm …")
          : null,
        may("manage")
          ? h(
              "button",
              {
                class: "small",
                type: "button",
                "aria-label": `Correct ${v.ticket}`,
                onclick: () => correct(v),
              },
              "Correct …",
            )
          : null,
      ],
    ];
    row.class = `is-${v.state}`;
    return row;
  }

  const redraw = followWidth(
    plot,
    (width) => {
      if (arm) picture(plot, values, arm, study, width);
    },
    signal,
  );

  function paint() {
    const was = label.dataset.label;
    replace(label, badge(arm.label, arm.withdrawn ? "withdrawn" : LABELS[arm.label]));
    label.dataset.label = arm.label;
    if (was && was !== arm.label) announce(`${name} is now ${LABELS[arm.label]}.`);
    replace(factsBox, facts(id, arm, study));
    valuesTitle.textContent = `Values (${count(values.length)})`;
    ordered = [
      ...values.filter((v) => v.state === "suspect"),
      ...values.filter((v) => v.state !== "suspect").reverse(),
    ];
    table.set(values.length);
    table.element.hidden = !values.length;
    redraw();
    replace(
      doings,
      events.length
        ? events.map((event) =>
            h(
              "li",
              {},
              h("span", { class: "kind loud" }, KINDS[event.kind]),
              " ",
              sentence(event),
              h(
                "span",
                { class: "soft small" },
                " ",
                h(
                  "time",
                  { datetime: iso(event.time), title: moment(event.time) },
                  ago(event.time),
                ),
                event.client ? `, ${event.client}` : "",
              ),
            ),
          )
        : h("li", { class: "soft" }, "No correction, no failure, no note."),
    );
    replace(
      actions,
      may("measure") && h("button", { type: "button", onclick: note }, "Add a note …"),
      may("measure") &&
        !arm.withdrawn &&
        h("button", { type: "button", onclick: unrequested }, "Tell a value nobody asked for …"),
      may("manage") &&
        !arm.dropped &&
        h("button", { type: "button", class: "danger", onclick: drop }, "Give this arm up …"),
      h(
        "a",
        { href: `${studyPath(id, "history")}?arm=${encodeURIComponent(name)}` },
        "All its events",
      ),
    );
  }

  const note = () =>
    askFor({
      title: `Note on ${name}`,
      text: "A note changes nothing. It stands on the study's page and in its report.",
      fields: [
        { name: "text", label: "Note", required: true, rows: 3, maxlength: 1000, prose: true },
      ],
      action: "Add",
      run: ({ text }) =>
        post(`studies/${id}/notes`, {
          text,
          arm: name,
          client: client(),
        }),
    }).then(done);
  const drop = () =>
    askFor({
      title: `Give ${name} up`,
      danger: true,
      text: [
        "It will never be asked for again, for example because it is used up.",
        arm.measurements
          ? "It stays in the question: other arms are still compared with it, and some of " +
            "them may then stay open."
          : "It has no value yet, so it leaves the question. That is sound only if how " +
            "the other arms did has nothing to do with it.",
      ],
      fields: [{ name: "reason", label: "Reason", required: true }],
      action: "Give it up",
      run: ({ reason }) => post(`studies/${id}/drop-arm`, { arm: name, reason }),
    }).then(done);
  const unrequested = () =>
    askFor({
      title: "A value nobody asked for",
      text: [
        `It counts for ${name} and is marked. Tell every such value or none: adding ` +
          `only those that one likes voids the guarantee.`,
      ],
      fields: [
        { name: "value", label: "Value", required: true, inputmode: "decimal" },
        {
          name: "source",
          label: "Source",
          required: true,
          hint: "Where it comes from. The same source counts once for an arm.",
        },
      ],
      action: "Tell",
      run: async ({ value, source }) => {
        const receipt = await post(`studies/${id}/measurements`, {
          arm: name,
          value: asNumber(value),
          source,
          client: client(),
        });
        const row = receipt.rows?.[0];
        if (receipt.ok === false)
          throw new Problem(row?.message || `The value was refused: ${row?.status}.`);
        return { consequence: row ? `The value is ${row.status}. ${row.message}` : "Told." };
      },
    }).then(done);

  let busy = 0;
  async function refresh() {
    const mine = ++busy;
    try {
      const [status, told, happened] = await Promise.all([
        get(`studies/${id}/status?arms=columns`, { signal }),
        allValues(id, name, signal),
        happenings(id, name, signal),
      ]);
      if (mine !== busy || signal.aborted) return;
      const found = pick(status, name);
      if (!found)
        throw Object.assign(new Error(), {
          detail: `There is no arm named ${name} in this study.`,
        });
      [arm, values, events, seen] = [found, told, happened, status.events];
      paint();
    } catch (error) {
      if (signal.aborted) return;
      if (!arm) throw error;
      toast(error.detail ?? String(error), "bad");
    }
  }

  head.querySelector("h1").classList.add("small-title");
  main.append(
    h(
      "div",
      { class: "arm-page", "aria-labelledby": "arm-title" },
      h("div", { class: "arm-head" }, heading, label),
      h(
        "div",
        { class: "arm-grid" },
        h("section", { class: "card stack", "aria-label": "What is known" }, factsBox, actions),
        h(
          "section",
          { class: "card", "aria-label": "Values in a picture" },
          plot,
          h(
            "p",
            { class: "hint" },
            "Dots are values, the line is their average as it grew, the bar at the right " +
              "the interval now. The band holds what would be good if the best estimate is right.",
          ),
        ),
      ),
      h("section", {}, valuesTitle, table.element),
      h("section", {}, h("h2", {}, "What happened"), doings),
    ),
  );
  await refresh();
  const soon = throttle(refresh, 1000);
  watch(
    id,
    (change) => {
      if (change.gone) deleted(main);
      else soon();
    },
    { after: seen, signal },
  );
  signal.addEventListener("abort", soon.stop);
}

// The number that a person typed; a text that is no number goes to the server, which says why.
export function asNumber(text) {
  const plain = String(text).trim();
  const value = Number(plain);
  return plain !== "" && Number.isFinite(value) ? value : plain;
}
