// Boxes over the page, and short messages that go away.
import { announce, field, h, replace } from "./dom.js";

// Opens a box; content(close) gives its children. Resolves with what close was called with (null if
// it was only closed).
export function dialog(title, content) {
  const id = `dialog-${Math.random().toString(36).slice(2)}`;
  const before = document.activeElement;
  return new Promise((resolve) => {
    let result = null;
    const box = h("dialog", { class: "box", "aria-labelledby": id });
    const close = (value) => {
      result = value instanceof Event || value === undefined ? null : value;
      box.close();
    };
    replace(box, h("h2", { id }, title), content(close));
    box.addEventListener("close", () => {
      box.remove();
      before?.isConnected && before.focus();
      resolve(result);
    });
    box.addEventListener("click", (event) => {
      if (event.target === box) close();
    });
    document.body.append(box);
    box.showModal();
  });
}

// Asks for a few texts and does something with them. fields: [{name, label, value, hint, required,
// type, rows, prose}]; prose is given as one line. run(values) may throw a Problem: its sentence is shown in the box, which stays
// open. Resolves with what run gave, or null. askFor({title: "Confirm this value", text: "...",
// fields: [{name: "reason", label: "Reason", required: true}],         action: "Confirm", danger:
// false, run: (values) => post(...)})
export function askFor({
  title,
  text,
  fields = [],
  action = "OK",
  danger = false,
  run = (values) => values,
}) {
  return dialog(title, (close) => {
    const error = h("p", { class: "error", role: "alert" });
    const inputs = fields.map((one) =>
      field(
        one.label,
        h(one.rows ? "textarea" : "input", {
          name: one.name,
          required: one.required ?? false,
          rows: one.rows,
          autocomplete: "off",
          type: one.rows ? null : (one.type ?? "text"),
          value: one.value ?? "",
          inputmode: one.inputmode,
          maxlength: one.maxlength,
        }),
        one.hint,
      ),
    );
    const button = h("button", { class: danger ? "danger" : "primary" }, action);
    const send = async (event) => {
      event.preventDefault();
      const values = Object.fromEntries(new FormData(event.target));
      for (const { name, prose } of fields)
        if (prose) values[name] = values[name].replaceAll(/\s+/g, " ").trim();
      button.disabled = true;
      error.textContent = "";
      for (const input of event.target.elements) input.removeAttribute("aria-invalid");
      try {
        close((await run(values)) ?? true);
      } catch (problem) {
        error.textContent = problem.detail ?? String(problem);
        for (const name of problem.fields ?? [])
          event.target.elements[name]?.setAttribute("aria-invalid", "true");
        button.disabled = false;
      }
    };
    return h(
      "form",
      { method: "dialog", onsubmit: send },
      (Array.isArray(text) ? text : [text]).filter(Boolean).map((t) => h("p", {}, t)),
      inputs,
      error,
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", onclick: close }, "Cancel"),
        button,
      ),
    );
  });
}

// A sentence at the bottom of the page for some seconds. kind: "", "good" or "bad".
export function toast(sentence, kind = "") {
  const line = h(
    "div",
    { class: `toast ${kind}` },
    h("span", {}, sentence),
    h(
      "button",
      {
        type: "button",
        class: "plain",
        "aria-label": "Close this message",
        onclick: () => line.remove(),
      },
      "×",
    ),
  );
  document.getElementById("toasts").append(line);
  announce(sentence);
  if (kind !== "bad") setTimeout(() => line.remove(), Math.max(8000, 70 * sentence.length));
}
