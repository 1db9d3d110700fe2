// Elements by calls. Text goes in as text nodes only, so a name such as <script> stays a name.

import { ago, count, iso, moment } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set([
  "value",
  "checked",
  "disabled",
  "hidden",
  "selected",
  "open",
  "readOnly",
  "indeterminate",
  "scrollTop",
  "tabIndex",
]);

function fill(element, attrs, children) {
  for (const [key, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on") && typeof value === "function")
      element.addEventListener(key.slice(2), value);
    else if (key === "vars")
      for (const [name, v] of Object.entries(value)) element.style.setProperty(name, v);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (PROPERTIES.has(key) && element.namespaceURI !== SVG) element[key] = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false) element.setAttribute(key, value);
  }
  element.append(...nodes(children));
  // The value of a select exists only when its options do.
  if (element.localName === "select" && attrs?.value !== undefined) element.value = attrs.value;
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((c) => c !== null && c !== undefined && c !== false && c !== true)
    .map((c) => (c instanceof Node ? c : document.createTextNode(String(c))));
}

// h("button", {class: "primary", onclick: f, data: {arm: "A"}, vars: {"--part": 0.4}}, "Tell ", 3,
// " rows")
export const h = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);

// The same for SVG. Style by class or by attributes.
export const svg = (tag, attrs, ...children) =>
  fill(document.createElementNS(SVG, tag), attrs, children);

// An input with its name and a hint, which a screen reader says after the name.
let inputs = 0;
export function field(name, input, hint) {
  input.id ||= `field-${++inputs}`;
  if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
  return h(
    "div",
    { class: "field" },
    h("label", { class: "name", for: input.id }, name),
    input,
    hint && h("span", { class: "hint", id: `${input.id}-hint` }, hint),
  );
}

// Puts these children in the place of what the element held.
export const replace = (element, ...children) => (
  element.replaceChildren(...nodes(children)),
  element
);

// The shape and colour of a label: good a filled circle, bad a cross, open a ring.
export function mark(label, size = 12) {
  const shape =
    label === "good"
      ? svg("circle", { cx: 6, cy: 6, r: 5 })
      : label === "bad"
        ? svg("path", { d: "M2 2 10 10 M10 2 2 10" })
        : svg("circle", { cx: 6, cy: 6, r: 4.1 });
  return svg(
    "svg",
    {
      class: `mark ${label}`,
      viewBox: "0 0 12 12",
      width: size,
      height: size,
      "aria-hidden": "true",
    },
    shape,
  );
}

// A link to what has this name. Where there is no room, the middle of the name is cut and not its
// end. Names in other scripts than ours may not be taken apart.
export const nameLink = (attrs) => h("a", { class: "cut", ...attrs }, h("span"), h("span"));
export function writeName(link, name, href) {
  const end = /^[ -~]{8,}$/.test(name) ? Math.min(6, Math.floor(name.length / 3)) : 0;
  link.firstChild.textContent = name.slice(0, name.length - end);
  link.lastChild.textContent = name.slice(name.length - end);
  link.title = name;
  link.setAttribute("aria-label", name); // a reader would pause between the parts
  link.href = href;
  return link;
}

// A label in words with its shape.
export const badge = (label, words = label) =>
  h("span", { class: `badge ${label}` }, mark(label), words);

// "3 minutes ago", kept right as time goes on by tickTimes; the exact time is in its title.
export const since = (time) =>
  h("time", { datetime: iso(time), title: moment(time), data: { at: time } }, ago(time));
export function tickTimes() {
  for (const one of document.querySelectorAll("time[data-at]")) {
    const words = ago(Number(one.dataset.at));
    if (one.textContent !== words) one.textContent = words;
  }
}

// Says a sentence to screen readers, once.
export function announce(sentence) {
  const box = document.getElementById("announce");
  box.textContent = "";
  setTimeout(() => {
    box.textContent = sentence;
  }, 60);
}

// Calls f at most once in `wait` milliseconds, and once more at the end if it was called in
// between.
export function throttle(f, wait) {
  let last = -Infinity,
    timer = 0;
  const go = () => {
    timer = 0;
    last = performance.now();
    f();
  };
  const call = () => {
    if (!timer) timer = setTimeout(go, Math.max(0, last + wait - performance.now()));
  };
  call.stop = () => {
    clearTimeout(timer);
    timer = 0;
  };
  return call;
}

// Calls f when there was no call for `wait` milliseconds.
export function debounce(f, wait) {
  let timer = 0;
  const call = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), wait);
  };
  call.stop = () => clearTimeout(timer);
  return call;
}

// On paper nobody scrolls: tables that draw only what is in view draw up to so many rows.
export const PRINTED = 5000;
export const unprinted = (n) =>
  n > PRINTED ? `The other ${count(n - PRINTED)} rows are not printed.` : "";
// Calls f(true) before the page is printed, and f(false) afterwards.
export function whenPrinted(f, signal) {
  matchMedia("print").addEventListener("change", (event) => f(event.matches), { signal });
  window.addEventListener("beforeprint", () => f(true), { signal });
  window.addEventListener("afterprint", () => f(false), { signal });
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Keeps a small choice in this browser; null if there is none or storage is switched off.
export const stored = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      /* storage is switched off */
    }
  },
};

// Gives the browser a file to save.
export function save(name, content, type = "application/json") {
  const url = URL.createObjectURL(
    content instanceof Blob ? content : new Blob([content], { type }),
  );
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
