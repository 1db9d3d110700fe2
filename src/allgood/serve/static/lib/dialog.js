// Boxes over the page, and short messages that go away.
import { announce } from "./browser.js";
import { html } from "./html.js";
import { render, useEffect, useRef, useState } from "./view.js";
import { Choice, ErrorLine, TextField } from "./widgets.js";
import { Problem } from "./api.js";

function Box({ title, content, close }) {
  const box = useRef();
  useEffect(() => box.current.showModal(), []);
  const outside = (event) => {
    if (event.target === box.current) close(null);
  };
  return html`
    <dialog class="box" ref=${box} aria-labelledby="box-title" onclose=${() => close(null)}
        onclick=${outside}>
      <h2 id="box-title">${title}</h2>
      ${content(close)}
    </dialog>`;
}

/**
 * Opens a box; content(close) gives what is in it. Resolves with what close was called with, null if
 * the box was only closed. The focus goes back to where it was.
 */
export function dialog(title, content) {
  const place = document.createElement("div");
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  document.body.append(place);
  return new Promise((resolve) => {
    let open = true;
    const close = (value = null) => {
      if (!open) return;
      open = false;
      render(null, place);
      place.remove();
      if (before?.isConnected) before.focus();
      resolve(value);
    };
    render(html`<${Box} title=${title} content=${content} close=${close} />`, place);
  });
}

/** Closes every open box: it belongs to a page that was left. */
export const closeDialogs = () => {
  for (const box of document.querySelectorAll("dialog[open]"))
    /** @type {HTMLDialogElement} */ (box).close();
};

const oneLine = (text) => text.replaceAll(/\s+/g, " ").trim();

function Form({ text, fields, action, danger, run, close, children }) {
  const [values, setValues] = useState(() =>
    Object.fromEntries(fields.map(({ name, value }) => [name, String(value ?? "")])),
  );
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    const told = { ...values };
    for (const { name, prose } of fields) if (prose) told[name] = oneLine(told[name]);
    try {
      close((await run(told)) ?? true);
    } catch (error) {
      if (!(error instanceof Problem)) console.error(error);
      setProblem(error);
      setBusy(false);
    }
  };
  return html`
    <form method="dialog" onsubmit=${submit}>
      ${text.map((sentence) => html`<p>${sentence}</p>`)} ${children}
      ${fields.map(({ name, value, prose, ...more }) => {
        const set = (typed) => setValues((old) => ({ ...old, [name]: typed }));
        const [Input, on] = more.options ? [Choice, { onChoice: set }] : [TextField, { onText: set }];
        return html`
          <${Input} key=${name} name=${name} ...${more} ...${on} value=${values[name]}
            error=${problem?.fields?.[name]} />`;
      })}
      <${ErrorLine} error=${fields.some(({ name }) => problem?.fields?.[name]) ? null : problem} />
      <div class="actions">
        <button type="button" onclick=${() => close()}>Cancel</button>
        <button class=${danger ? "danger" : "primary"} disabled=${busy}>${action}</button>
      </div>
    </form>`;
}

/**
 * Asks for a few texts and does something with them. fields: [{name, label, value, hint, required,
 * rows, prose, options, ...attributes}]; of prose the white space is folded; with options, as those
 * of Choice, one of them is chosen. run(values) may throw a Problem: its sentence is shown in the
 * box, at its field if it names one, and the box stays open. Resolves with what run gave, or null.
 */
export function askFor({ title, text = [], fields = [], action = "OK", danger = false, run }) {
  const sentences = [text].flat().filter(Boolean);
  return dialog(
    title,
    (close) => html`
      <${Form} text=${sentences} fields=${fields} action=${action} danger=${danger} close=${close}
        run=${run ?? ((values) => values)} />`,
  );
}

/** A sentence at the bottom of the page for some seconds. tone: "", "good" or "bad". */
export function toast(sentence, tone = "") {
  const place = document.createElement("div");
  const close = () => {
    render(null, place);
    place.remove();
  };
  document.getElementById("toasts").append(place);
  render(
    html`
      <div class="toast ${tone}">
        <span>${sentence}</span>
        <button type="button" class="plain" aria-label="Close this message" onclick=${close}>×</button>
      </div>`,
    place,
  );
  announce(sentence);
  if (tone !== "bad") setTimeout(close, Math.max(8000, 70 * sentence.length));
}
