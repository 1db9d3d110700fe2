// The widgets of all pages: marks, tags, notices, fields, choices, bars, times and places to drop a
// file.
import { useEffect, useRef, useState } from "./view.js";
import { html } from "./html.js";
import { vocabulary } from "./api.js";
import { ago, count, iso, moment } from "./format.js";

// ---- signs

// Good a circle, bad a cross, open a ring; a guess is hollow. In a square of 12.
const SHAPES = {
  good: "M6 1a5 5 0 1 0 .01 0z",
  bad: "M2 2 10 10 M10 2 2 10",
  open: "M6 1.9a4.1 4.1 0 1 0 .01 0z",
  "guess good": "M6 1.6a4.4 4.4 0 1 0 .01 0z",
  "guess bad": "M3 1 6 4 9 1 11 3 8 6 11 9 9 11 6 8 3 11 1 9 4 6 1 3z",
};

/** The sign of a label; of an open arm with a guess ("good" or "bad"), the hollow sign of that. */
export function Mark({ label, guess = null }) {
  const shape = guess ? `guess ${guess}` : label;
  return html`
    <svg class="mark" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path class="shape ${shape}" d=${SHAPES[shape]} />
    </svg>`;
}

/** A label in words with its sign. */
export const Badge = ({ label, children }) =>
  html`<span class="badge ${label}"><${Mark} label=${label} />${children.length ? children : label}</span>`;

/** A short word in a frame. tone: "good", "bad", "warn", "open" or nothing. */
export const Tag = ({ tone = "", children }) => html`<span class="tag ${tone}">${children}</span>`;

const GLYPHS = {
  accepted: "M6 1a5 5 0 1 0 .01 0z",
  waiting: "M6 1.6a4.4 4.4 0 1 0 .01 0zM6 3.4V6l2 1.4",
  suspect: "M6 1l5.2 10H.8z",
  missing: "M2 6h8",
  duplicate: "M2 4.2h8M2 7.8h8",
  withheld: "M3.6 2v8M8.4 2v8",
  control: "M2 2h8v8H2z",
  refused: "M2 2l8 8M10 2l-8 8",
};

/** The status of a row of a sheet, in the words of the server, with its sign. */
export function RowStatus({ status }) {
  const { word = status, refused } = vocabulary.rows?.[status] ?? {};
  const path = GLYPHS[refused ? "refused" : status] ?? GLYPHS.missing;
  return html`
    <span class="status is-${status}">
      <svg class="glyph" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <path d=${path} />
      </svg>${word}
    </span>`;
}

/** A box with a message. tone: "good", "bad", "warn" or nothing. */
export const Notice = ({ tone = "", title = null, alert = false, children }) => html`
  <div class="notice ${tone}" role=${alert ? "alert" : null}>
    ${title && html`<h2>${title}</h2>`}${children}
  </div>`;

/** What went wrong, if something did; screen readers say it at once. */
export const ErrorLine = ({ error }) => html`
  <p class="error" role="alert">${error?.detail ?? error?.message ?? error ?? ""}</p>`;

/** In the place of what is still loaded. The page counts as busy meanwhile. */
export function Loading({ what = "Loading" }) {
  useEffect(() => {
    const main = document.getElementById("main");
    main.setAttribute("aria-busy", "true");
    return () => main.removeAttribute("aria-busy");
  }, []);
  return html`<p class="loading soft">${what} …</p>`;
}

/** "3 minutes ago", kept right as time goes on; the exact time is in its title. */
export function Since({ time }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 10_000);
    return () => clearInterval(timer);
  }, []);
  return html`<time datetime=${iso(time)} title=${moment(time)}>${ago(time)}</time>`;
}

/** A link to what has this name. If there is no room, the middle of the name is cut, not its end. */
export function NameLink({ name, href, ...more }) {
  // names in other scripts than ours may not be taken apart
  const end = /^[ -~]{8,}$/.test(name) ? Math.min(6, Math.floor(name.length / 3)) : 0;
  const cut = name.length - end;
  return html`
    <a class="cut" href=${href} title=${name} aria-label=${name} ...${more}>
      <span>${name.slice(0, cut)}</span><span>${name.slice(cut)}</span>
    </a>`;
}

/** How many arms are good, bad and open, as one bar with its numbers. */
export function LabelBar({ good, bad, open }) {
  const labels = Object.entries({ good, bad, open });
  const all = Math.max(1, good + bad + open);
  return html`
    <div class="labels">
      <div class="label-bar" aria-hidden="true">
        ${labels.map(
          ([label, n]) => n > 0 && html`<i class=${label} style=${{ "--part": n / all }} />`,
        )}
      </div>
      <div class="label-counts">
        ${labels.map(([label, n]) => html`<${Badge} label=${label}>${count(n)} ${label}<//>`)}
      </div>
    </div>`;
}

/** How far something is, from 0 to 1. */
export const Meter = ({ part, label, words, tone = "" }) => html`
  <div class="meter ${tone}" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="1"
      aria-valuenow=${part.toFixed(3)} aria-valuetext=${words} style=${{ "--part": part }}>
    <i />
  </div>`;

/** A list of facts: [[name, value], ...]; pairs without a value are left out. */
export const Facts = ({ items }) => html`
  <dl class="facts">
    ${items
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;

// ---- fields of forms

let fields = 0;

/**
 * A label, an input, its hint and its error, tied together for screen readers. `children` is a
 * function that gets the attributes for the input and gives it.
 */
export function Field({ label, hint = null, error = null, children }) {
  const id = useRef(`field-${++fields}`).current;
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const attributes = {
    id,
    "aria-describedby": described || null,
    "aria-invalid": error ? "true" : null,
  };
  return html`
    <div class="field">
      <label class="name" for=${id}>${label}</label>
      ${children[0](attributes)}
      ${hint && html`<span class="hint" id="${id}-hint">${hint}</span>`}
      ${error && html`<span class="error" id="${id}-error">${error}</span>`}
    </div>`;
}

/** A line of text, or several with `rows`. onText(text) is called as one types. */
export const TextField = ({ label, hint, error, onText, rows = null, ...attributes }) => html`
  <${Field} label=${label} hint=${hint} error=${error}>
    ${(tied) =>
      rows
        ? html`<textarea rows=${rows} autocomplete="off" ...${attributes} ...${tied}
            oninput=${(event) => onText(event.target.value)} />`
        : html`<input type="text" autocomplete="off" ...${attributes} ...${tied}
            oninput=${(event) => onText(event.target.value)} />`}
  <//>`;

/** One of several: options are [[value, words], ...]. */
export const Choice = ({ label, hint, error, options, onChoice, value, ...attributes }) => html`
  <${Field} label=${label} hint=${hint} error=${error}>
    ${(tied) => html`
      <select ...${attributes} ...${tied} value=${value}
          onchange=${(event) => onChoice(event.target.value)}>
        ${options.map(([key, words]) => html`<option key=${key} value=${key}>${words}</option>`)}
      </select>`}
  <//>`;

/** One of a few, side by side. `label` is for screen readers, and `name` groups the inputs. */
export const Segments = ({ label, name, options, value, onChoice }) => html`
  <div class="segments" role="radiogroup" aria-label=${label}>
    ${options.map(
      ([key, words]) => html`
        <label class="segment" key=${key}>
          <input type="radio" name=${name} value=${key} checked=${key === value}
            onchange=${() => onChoice(key)} /><span>${words}</span>
        </label>`,
    )}
  </div>`;

/** A box to tick. */
export const Check = ({ checked, onCheck, children, ...attributes }) => html`
  <label class="check">
    <input type="checkbox" checked=${checked} ...${attributes}
      onchange=${(event) => onCheck(event.target.checked)} />${children}
  </label>`;

/**
 * A place for a file, or for text if `children` has a textarea. file is what was dropped (or null);
 * onFile(file) gets a file, onFile(null) takes it away, and onText(text) gets a dropped text.
 */
export function DropZone({ hint, file, note = "", accept, onFile, onText, children }) {
  const [over, setOver] = useState(false);
  const drag = (is) => (event) => {
    if (is) event.preventDefault();
    setOver(is);
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    const text = event.dataTransfer.getData("text");
    if (dropped) onFile(dropped);
    else if (text) onText?.(text);
  };
  const choose = (event) => {
    const [chosen] = event.target.files;
    if (chosen) onFile(chosen);
    event.target.value = "";
  };
  return html`
    <div class="drop-zone ${over ? "over" : ""}" ondragover=${drag(true)}
        ondragleave=${drag(false)} ondrop=${drop}>
      ${
        file
          ? html`
              <div class="file-chip">
                <b>${file.name}</b><span class="soft"> ${note}</span>
                <button type="button" class="plain small" onclick=${() => onFile(null)}>Remove</button>
              </div>`
          : children
      }
      <label class="drop-hint">
        <input type="file" class="unseen" accept=${accept} onchange=${choose} />
        <span>${hint}, or <u>choose one</u></span>
      </label>
    </div>`;
}
