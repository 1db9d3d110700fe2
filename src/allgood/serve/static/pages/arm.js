// One arm: what is known of it and what is missing, its values in a picture and in a table, and what
// happened to it.
import {
  addMeasurement,
  addNote,
  confirmValue,
  correctValue,
  dropArm,
  restoreArm,
  withdrawValues,
} from "../lib/actions.js";
import { address, get, may, vocabulary } from "../lib/api.js";
import { ArmPlot } from "../lib/arm_plot.js";
import { announce } from "../lib/browser.js";
import { count, decimalsFor, fixed, number, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { Rows } from "../lib/rows.js";
import { armPath, studyPath, StudyPage } from "../lib/study.js";
import { useEffect, useMemo, useRef, useState } from "../lib/view.js";
import { Badge, Facts, Mark, Meter, NameLink, Notice, Since } from "../lib/widgets.js";

const FEW = 200; // values that are loaded at first

// ---- what is known

const titleOf = (arm) =>
  arm.withdrawn ? "withdrawn" : (vocabulary.labels?.[arm.label]?.title ?? arm.label);
const guessOf = (arm) => vocabulary.guesses?.[arm.guess];

function Head({ arm }) {
  const before = useRef(arm.label);
  useEffect(() => {
    if (before.current !== arm.label) announce(`${arm.arm}: ${titleOf(arm)}.`);
    before.current = arm.label;
  }, [arm.label]);
  return html`
    <div class="arm-head">
      <h2 class="arm-name" id="arm-title">${arm.arm}</h2>
      <span class="arm-label"><${Badge} label=${arm.label}>${titleOf(arm)}<//></span>
      ${
        guessOf(arm) &&
        html`<span class="soft" title=${guessOf(arm).sentence}>
          <${Mark} label=${arm.guess} guess /> ${guessOf(arm).title}
        </span>`
      }
    </div>`;
}

function Known({ id, data }) {
  const { arm, best, leader } = data;
  const { low, high, measurements } = arm;
  const digits = low === null || high === null ? 3 : decimalsFor(high - low);
  const link = (name) => html`<${NameLink} name=${name} href=${armPath(id, name)} />`;
  const interval = low === null || high === null ? "–" : `${fixed(low, digits)} to ${fixed(high, digits)}`;
  return html`
    <${Facts} items=${[
      ["Estimate", html`<b>${measurements ? fixed(arm.mean, digits) : "–"}</b>`],
      ["Interval", measurements ? interval : "–"],
      [
        "Measurements",
        html`${count(measurements)}${
          arm.pending > 0 && html`<span class="soft"> and ${count(arm.pending)} asked for</span>`
        }`,
      ],
      [
        "Evidence / need",
        html`<span class="number">${data.weight}</span>
          <${Meter} part=${data.progress} label="Evidence over need" words=${data.weight}
            tone=${arm.label} />`,
      ],
      ["Compared with", arm.rests_on && link(arm.rests_on)],
      [
        "Best estimate",
        leader && leader !== arm.arm ? html`${fixed(best, digits)} ${link(leader)}` : null,
      ],
      ...Object.entries(arm.notes),
    ]} />
    ${data.statements.map(({ sentence, tone }) =>
      tone === "doubtful"
        ? html`<${Notice} key=${sentence} tone="warn"><p>${sentence}</p><//>`
        : html`<p key=${sentence}>${sentence}</p>`,
    )}`;
}

function Actions({ id, arm, reload }) {
  const button = (words, run, kind = null) => html`
    <button type="button" key=${words} class=${kind}
      onclick=${() => run().then((done) => done && reload())}>${words} …</button>`;
  const name = arm.arm;
  return html`
    <div class="row no-print">
      ${may("measure") && button("Add a note", () => addNote(id, { arm: name }))}
      ${
        may("measure") &&
        !arm.withdrawn &&
        button("Add a value nobody asked for", () => addMeasurement(id, name))
      }
      ${
        may("manage") &&
        (arm.dropped === null
          ? button("Drop this arm", () => dropArm(id, name, arm.measurements), "danger")
          : button("Restore this arm", () => restoreArm(id, name)))
      }
      <a href="${studyPath(id, "history")}?arm=${encodeURIComponent(name)}">All its events</a>
    </div>`;
}

// ---- its values

const isCorrected = (value) => value.first !== null && value.first !== value.value;
const shownValue = ({ value, n, period }) =>
  number(value, 6) + (n > 1 || period !== null ? ` in ${count(n)}` : "");
const placeOf = (value) =>
  value.well
    ? `${value.batch}, ${value.well}`
    : [value.source, value.period].filter(Boolean).join(", ");

function Changes({ id, value, reload }) {
  const { ticket, state } = value;
  const button = (words, run) => html`
    <button type="button" class="small" key=${words} aria-label="${words} ${ticket}"
      onclick=${() => run().then((done) => done && reload())}>${words} …</button>`;
  return html`
    ${state === "suspect" && may("measure") && button("Confirm", () => confirmValue(id, value))}
    ${may("manage") && button("Correct", () => correctValue(id, value))}
    ${
      may("manage") &&
      state !== "withdrawn" &&
      button("Withdraw", () => withdrawValues(id, { tickets: [ticket] }, ticket))
    }`;
}

const cellsOf = (id, value, reload) =>
  Object.assign(
    [
      html`<span class="mono">${value.ticket}</span>`,
      {
        class: "number",
        content: html`${shownValue(value)}${
          isCorrected(value) && html`<span class="soft"> was ${number(value.first, 6)}</span>`
        }`,
      },
      html`<span class="state is-${value.state}" title=${value.message}>
        ${value.censored ? "censored" : (vocabulary.states?.[value.state]?.word ?? value.state)}
      </span>`,
      html`<${Since} time=${value.time} />`,
      html`<span title=${value.client}>${placeOf(value)}</span>`,
      html`<${Changes} id=${id} value=${value} reload=${reload} />`,
    ],
    { class: `is-${value.state}` },
  );

function Values({ id, data, reload, more }) {
  const { arm, values, num_values: all } = data;
  const ordered = useMemo(() => {
    const newest = values.toReversed();
    const suspect = ({ state }) => state === "suspect";
    return [...newest.filter(suspect), ...newest.filter((value) => !suspect(value))];
  }, [values]);
  const csv = address(`studies/${id}/values?arm=${encodeURIComponent(arm.arm)}&format=csv`);
  return html`
    <section>
      <h2>Values (${count(all)})</h2>
      ${
        all > 0 &&
        html`
          <${Rows} kind="values" label="Values of ${arm.arm}, suspect ones first, then the newest"
            columns=${["Ticket", "Value", "State", "When", "Plate and well, or source", "Change"]}
            count=${ordered.length} keyOf=${(i) => ordered[i].ticket} narrow=${84}
            row=${(i) => cellsOf(id, ordered[i], reload)} />
          <p class="row no-print">
            ${
              ordered.length < all &&
              html`<button type="button" onclick=${more}>
                Show more of the ${plural(all - ordered.length, "older value")}
              </button>`
            }
            <a href=${csv} download="${arm.arm}.csv">Values as CSV</a>
          </p>`
      }
    </section>`;
}

// ---- its history

const Happening = ({ event }) => html`
  <li>
    <span class="kind loud">${vocabulary.events?.[event.kind]?.title ?? event.kind}</span>
    ${" "}${event.sentence}${" "}
    <span class="soft small">
      <${Since} time=${event.time} />${event.client && `, ${event.client}`}
    </span>
  </li>`;

const History = ({ history }) => html`
  <section>
    <h2>What happened</h2>
    <ol class="happenings">
      ${history.map((event) => html`<${Happening} key=${event.seq} event=${event} />`)}
      ${history.length === 0 && html`<li class="soft">No correction, no failure, no note.</li>`}
    </ol>
  </section>`;

const Arm = ({ id, data, reload, more }) => html`
  <div class="arm-page" aria-labelledby="arm-title">
    <${Head} arm=${data.arm} />
    <div class="arm-grid">
      <section class="card stack arm-facts" aria-label="What is known">
        <${Known} id=${id} data=${data} />
        <${Actions} id=${id} arm=${data.arm} reload=${reload} />
      </section>
      <section class="card" aria-label="Values in a picture"><${ArmPlot} data=${data} /></section>
    </div>
    <${Values} id=${id} data=${data} reload=${reload} more=${more} />
    <${History} history=${data.history} />
  </div>`;

export default function Page({ id, name }) {
  const [wanted, setWanted] = useState(FEW);
  const path = `studies/${id}/arms?name=${encodeURIComponent(name)}&values=${wanted}`;
  const more = () => setWanted(Math.min(10_000, 5 * wanted));
  return html`
    <${StudyPage} id=${id} page="arm" title=${name} inputs=${[name, wanted]}
      load=${(signal) => get(path, { signal })}
      draw=${(data, reload) => html`
        <${Arm} id=${id} data=${data} reload=${reload} more=${more} />`} />`;
}
