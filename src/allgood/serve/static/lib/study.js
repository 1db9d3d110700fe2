// What all pages of one study share: addresses, the head of the page, and its loader.
import { sentenceOf } from "./api.js";
import { useTitle } from "./browser.js";
import { html } from "./html.js";
import { useLive } from "./live.js";
import { Loading, Notice } from "./widgets.js";

const PAGES = [
  ["", "Overview"],
  ["measure", "Measure"],
  ["certificate", "Certificate"],
  ["history", "History"],
];

export const studyPath = (id, page = "") => `#/studies/${id}${page ? `/${page}` : ""}`;
export const armPath = (id, arm) => studyPath(id, `arm/${encodeURIComponent(arm)}`);

/** The head of every page of a study: where we are, its name and question, links to its pages. */
export function StudyHead({ id, name, question, page, title = name }) {
  useTitle(title === name ? name : `${title} in ${name}`);
  return html`
    <div class="study-head">
      <p class="crumbs">
        <a href="#/">Studies</a> / ${page === "" ? html`<span>${name}</span>` : html`<a href=${studyPath(id)}>${name}</a>`}
      </p>
      <h1>${name}</h1>
      <p class="question">${question}</p>
      <nav class="tabs" aria-label="Pages of this study">
        ${PAGES.map(
          ([path, words]) => html`
            <a key=${path} href=${studyPath(id, path)} aria-current=${path === page ? "page" : null}>${words}</a>`,
        )}
      </nav>
    </div>`;
}

/**
 * A page of a study, live. `load(signal)` gives its data, which have `name`, `question` and `events`;
 * `draw(data, reload)` gives what is under the head. page: "", "measure", "arm", ...
 */
export function StudyPage({ id, page, title, load, inputs = [], draw }) {
  const { data, error, gone, reload } = useLive(id, load, inputs);
  if (gone) return html`<${Deleted} />`;
  if (!data && error && !error.passing) throw error;
  if (!data) return html`<${Loading} what=${error ? sentenceOf(error) : "Loading"} />`;
  return html`
    <${StudyHead} id=${id} name=${data.name} question=${data.question} page=${page} title=${title} />
    ${error && html`<${Notice} tone="warn" alert><p>${sentenceOf(error)}</p><//>`}
    ${draw(data, reload)}`;
}

const Deleted = () => html`
  <div class="notice" role="alert">
    <h1>This study was deleted</h1>
    <p><a href="#/">To the studies</a></p>
  </div>`;
