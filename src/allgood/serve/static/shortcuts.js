// Keys for those who like them, listed under "?". They can be switched off there.
import { h, stored } from "./dom.js";
import { dialog } from "./dialog.js";

const keys = new Map();
let prefix = "",
  timer = 0;

// shortcut("g s", "Go to the studies", f); with a signal it ends when the page is left.
export function shortcut(key, words, run, signal) {
  const entry = { words, run };
  keys.set(key, entry);
  signal?.addEventListener(
    "abort",
    () => {
      if (keys.get(key) === entry) keys.delete(key);
    },
    { once: true },
  );
}

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");
const on = () => stored.get("shortcuts") !== "off";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !on()) return;
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  const key = prefix + event.key;
  const entry = keys.get(key) ?? keys.get(event.key);
  clearTimeout(timer);
  prefix = "";
  if (entry) {
    event.preventDefault();
    entry.run();
  } else if ([...keys.keys()].some((k) => k.startsWith(`${event.key} `))) {
    prefix = `${event.key} `;
    timer = setTimeout(() => {
      prefix = "";
    }, 1200);
  }
});

export function showShortcuts() {
  const rows = [...keys].map(([key, { words }]) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        key.split(" ").map((k) => h("kbd", {}, k)),
      ),
      h("td", {}, words),
    ),
  );
  dialog("Keyboard", (close) => [
    h(
      "p",
      {},
      "Tab goes from one control to the next, Enter and Space use it, Escape closes a box.",
    ),
    h(
      "table",
      { class: "keys" },
      h(
        "thead",
        { class: "unseen" },
        h("tr", {}, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "What it does")),
      ),
      h("tbody", {}, rows),
    ),
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        checked: on(),
        onchange: (e) => stored.set("shortcuts", e.target.checked ? "on" : "off"),
      }),
      "Use these keys",
    ),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: close }, "Close")),
  ]);
}
