// The map of a plate, as a table that can be read, printed and looked at from afar; and what the
// server found when it checked the plate.
import { vocabulary } from "./api.js";
import { moment, number, percent, plural } from "./format.js";
import { html } from "./html.js";
import { armPath } from "./study.js";
import { useMemo, useState } from "./view.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const rowName = (i) => (i < 26 ? LETTERS[i] : LETTERS[Math.floor(i / 26) - 1] + LETTERS[i % 26]);
const known = (x) => x !== null && x !== undefined && Number.isFinite(x);
const stateOf = (well) => (well.control ? "control" : well.state);
const word = (state) => vocabulary.states?.[state]?.word ?? state;

/**
 * Names, cut so that they differ in about `most` letters: without what all begin with, and without
 * their middles. Returns {prefix, short: Map of name to text}. Names in other scripts than ours may
 * not be taken apart.
 */
export function shortNames(names, most) {
  const all = [...new Set(names)];
  const short = (f) => new Map(all.map((name) => [name, f(name)]));
  if (all.every((name) => name.length <= most) || !all.every((name) => /^[ -~]+$/.test(name)))
    return { prefix: "", short: short((name) => name) };
  let start = 0;
  while (all.length > 1 && all.every((name) => name[start] && name[start] === all[0][start])) start++;
  while (start > 0 && /\d/.test(all[0][start - 1])) start--; // a number stays whole
  for (let size = most; ; size++) {
    const end = Math.ceil((size - 1) / 2);
    const cut = short((name) => {
      const rest = name.slice(start);
      return rest.length <= size ? rest : `${rest.slice(0, size - 1 - end)}…${rest.slice(-end)}`;
    });
    if (new Set(cut.values()).size === all.length)
      return { prefix: all[0].slice(0, start), short: cut };
  }
}

// The colour runs between the 2 % and the 98 % point, so that one slip does not wash out the rest.
// Residuals have two colours that meet at 0.
function scaleOf(wells, show) {
  const values = wells
    .map((well) => well[show])
    .filter(known)
    .sort((a, b) => a - b);
  if (!values.length) return null;
  let low = values[Math.floor(values.length * 0.02)],
    high = values[Math.ceil(values.length * 0.98) - 1];
  if (show === "residual") {
    high = Math.max(Math.abs(low), Math.abs(high));
    low = -high;
  }
  const part = (v) => (high > low ? Math.max(0, Math.min(1, (v - low) / (high - low))) : 0.5);
  return {
    low,
    high,
    colour: (v) =>
      show === "residual"
        ? { kind: v < 0 ? "cold" : "warm", part: Math.abs(2 * part(v) - 1) }
        : { kind: "heat", part: part(v) },
  };
}

/**
 * plate: {rows, columns, wells: [{well, state, arm, ticket, control, value, residual}]}, title for
 * screen readers. show: "arm", "value", "residual" or "ticket", what stands in the wells. With
 * `onWell`, wells with a value are buttons that call it; `chosen` are those that are pressed.
 */
export function PlateMap({ plate, title, id, study = "", show = "arm", chosen = [], onWell = null }) {
  const size = plate.columns > 24 ? "many" : plate.columns > 12 ? "some" : "few";
  const wells = new Map(plate.wells.map((well) => [well.well, well]));
  const most = { few: 11, some: 7, many: 5 }[size];
  const names = plate.wells.map((well) => well.arm ?? well.control);
  const { prefix, short } = useMemo(() => shortNames(names, most), [plate]);
  const scale = ["value", "residual"].includes(show) ? scaleOf(plate.wells, show) : null;
  const columns = Array.from({ length: plate.columns }, (_, j) => j + 1);
  const open = plate.wells.filter((well) => well.arm && well.state === "open").length;
  const cell = (i, j) => {
    const well = wells.get(`${rowName(i)}${j}`);
    return html`
      <${Well} key=${j} well=${well} show=${show} scale=${scale} href=${well?.arm && armPath(id, well.arm)}
        short=${short} digits=${size === "few" ? 3 : 2} onWell=${onWell}
        pressed=${well && chosen.includes(well.well)} />`;
  };
  return html`
    <div class="plate-map columns-${size}">
      <div class="print-only plate-title">
        <b>${study}, ${title}</b> ${plate.rows} × ${plate.columns}, printed ${moment(Date.now() / 1000)}
      </div>
      <div class="scroll" tabindex="0" role="region" aria-label="Map of ${title}">
        <table>
          <caption class="unseen">
            ${title}: ${plate.rows} rows and ${plate.columns} columns, ${plural(open, "well")} without a value
          </caption>
          <thead>
            <tr><td />${columns.map((j) => html`<th key=${j} scope="col">${j}</th>`)}</tr>
          </thead>
          <tbody>
            ${Array.from({ length: plate.rows }, (_, i) => html`
              <tr key=${i}><th scope="row">${rowName(i)}</th>${columns.map((j) => cell(i, j))}</tr>`)}
          </tbody>
        </table>
      </div>
      <${Legend} wells=${plate.wells} prefix=${show === "arm" ? prefix : ""} scale=${scale} show=${show} />
    </div>`;
}

function Well({ well, show, scale, href, short, digits, onWell, pressed }) {
  if (!well) return html`<td class="well is-none"><span class="unseen">empty</span></td>`;
  const state = stateOf(well);
  const name = well.arm ?? well.control;
  const value = scale && well[show];
  const colour = known(value) ? scale.colour(value) : null;
  const shown = show === "ticket" ? (well.ticket ?? name) : short.get(name);
  const text = scale ? (known(value) ? number(value, digits) : "") : shown;
  const facts = [well.well, name, well.ticket, known(well.value) && number(well.value, 6), word(state)];
  const title = facts.filter(Boolean).join(", ");
  const style = colour && { "--v": colour.part.toFixed(3) };
  const content = () => {
    if (onWell && known(well.value))
      return html`
        <button type="button" aria-pressed=${pressed ? "true" : "false"} aria-label=${title}
          onclick=${() => onWell(well.well)}>${text}</button>`;
    if (show === "arm" && href) return html`<a href=${href} aria-label=${name}>${text}</a>`;
    return show === "arm" ? html`<span aria-label=${name} role="img">${text}</span>` : text;
  };
  return html`
    <td class="well is-${state} ${colour?.kind ?? ""}" title=${title} style=${style ?? {}}>
      <span class="what">${content()}</span><span class="unseen">, ${word(state)}</span>
    </td>`;
}

function Legend({ wells, prefix, scale, show }) {
  const states = new Set(wells.map(stateOf));
  return html`
    <ul class="plate-legend" aria-label="What the wells show">
      ${scale && html`
        <li key="scale">
          ${number(scale.low)}<i class="scale ${show}" aria-hidden="true" />${number(scale.high)}
          <span class="unseen">: colours from the lowest to the highest ${show}</span>
        </li>`}
      ${[...states].map((state) => html`
        <li key=${state}><i class="well is-${state}" aria-hidden="true" />${word(state)}</li>`)}
      <li key="none"><i class="well is-none" aria-hidden="true" />empty</li>
      ${prefix && html`<li key="prefix">Every name begins with “${prefix}”.</li>`}
    </ul>`;
}

// ---- checks

/** A plate of the server with the residuals of its check. */
export function withResiduals(plate) {
  const residuals = new Map(plate.check?.wells.map((well) => [well.well, well.residual]));
  if (!residuals.size) return plate;
  const wells = plate.wells.map((well) => ({ ...well, residual: residuals.get(well.well) ?? null }));
  return { ...plate, wells };
}

/** What the server found when it checked a plate: alarms at once, all findings on request. */
export function PlateFindings({ check }) {
  const alarms = check.findings.filter((finding) => finding.alarm);
  const others = check.findings.filter((finding) => !finding.alarm);
  const line = (finding, i) => html`<li key=${i}>${finding.sentence}</li>`;
  return html`
    ${alarms.length > 0 && html`<div class="notice warn" key="alarms"><ul>${alarms.map(line)}</ul></div>`}
    ${others.length > 0 && html`
      <details key="others">
        <summary>${plural(others.length, "check")} without an alarm</summary>
        <ul class="small">${others.map(line)}</ul>
        <p class="soft small">
          A plate without any of these effects has an alarm with a chance of at most ${percent(check.risk)}.
        </p>
      </details>`}`;
}

/** A plate as it would be if a previewed sheet were told: findings, and heat maps on request. */
export function PreviewedPlate({ id, check }) {
  const [show, setShow] = useState("value");
  const plate = { ...check, wells: check.wells.map((well) => ({ ...well, state: "told" })) };
  const title = `plate ${check.plate} as it would be`;
  return html`
    <div class="plate-check" role="group" aria-label="Check of ${title}">
      <h3>Plate ${check.plate}</h3>
      <${PlateFindings} check=${check} />
      <details>
        <summary>Heat maps</summary>
        <${Views} views=${["value", "residual"]} show=${show} setShow=${setShow} />
        <${PlateMap} plate=${plate} title=${title} id=${id} show=${show} />
      </details>
    </div>`;
}

const VIEWS = { arm: "Arms", value: "Values", residual: "Residuals", ticket: "Tickets" };

/** Buttons that choose what stands in the wells. */
export const Views = ({ views, show, setShow }) => html`
  <span class="chips" role="group" aria-label="What stands in the wells">
    ${views.map((view) => html`
      <button type="button" key=${view} aria-pressed=${show === view ? "true" : "false"}
        onclick=${() => setShow(view)}>${VIEWS[view]}</button>`)}
  </span>`;
