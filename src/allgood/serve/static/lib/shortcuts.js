// Keys for those who like them, listed under "?". They can be switched off there.
import { stored } from "./browser.js";
import { dialog } from "./dialog.js";
import { html } from "./html.js";
import { useEffect } from "./view.js";
import { Check } from "./widgets.js";

const keys = new Map();
let prefix = "",
  timer = 0;

/** Adds a key: shortcut("g s", "Go to the studies", run). Returns a function that takes it away. */
export function shortcut(key, words, run) {
  const entry = { words, run };
  keys.set(key, entry);
  return () => {
    if (keys.get(key) === entry) keys.delete(key);
  };
}

/** A key that works while a component is shown. */
export const useShortcut = (key, words, run) => useEffect(() => shortcut(key, words, run));

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");
const on = () => stored.get("shortcuts") !== "off";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !on()) return;
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  const entry = keys.get(prefix + event.key) ?? keys.get(event.key);
  clearTimeout(timer);
  prefix = "";
  if (entry) {
    event.preventDefault();
    entry.run();
  } else if ([...keys.keys()].some((key) => key.startsWith(`${event.key} `))) {
    prefix = `${event.key} `;
    timer = setTimeout(() => {
      prefix = "";
    }, 1200);
  }
});

export const showShortcuts = () =>
  dialog(
    "Keyboard",
    (close) => html`
      <p>Tab goes from one control to the next, Enter and Space use it, Escape closes a box.</p>
      <table class="keys">
        <thead class="unseen"><tr><th scope="col">Key</th><th scope="col">What it does</th></tr></thead>
        <tbody>
          ${[...keys].map(
            ([key, { words }]) => html`
              <tr key=${key}>
                <td>${key.split(" ").map((k) => html`<kbd>${k}</kbd>`)}</td>
                <td>${words}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      <${Check} checked=${on()} onCheck=${(is) => stored.set("shortcuts", is ? "on" : "off")}>
        Use these keys
      <//>
      <div class="actions"><button type="button" onclick=${() => close()}>Close</button></div>`,
  );
