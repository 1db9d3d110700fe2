// The list of studies, live.
import { get, may, sentenceOf, session, vocabulary } from "../lib/api.js";
import { announce, debounce } from "../lib/browser.js";
import { count, plural } from "../lib/format.js";
import { html } from "../lib/html.js";
import { useLive } from "../lib/live.js";
import { scale } from "../lib/plot.js";
import { studyPath } from "../lib/study.js";
import { useMemo, useState } from "../lib/view.js";
import { ErrorLine, LabelBar, Loading, Since, Tag } from "../lib/widgets.js";

const PAGE = 50;

// The studies found so far; a large one has its numbers only later, with onPart(study).
async function loadStudies(search, wanted, signal, onPart) {
  let studies = [],
    more = true;
  while (more && studies.length < wanted) {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE, wanted - studies.length)) });
    if (search) query.set("search", search);
    if (studies.length) query.set("after", studies.at(-1).id);
    const answer = await get(`studies?${query}`, { signal });
    studies = studies.concat(answer.studies);
    ({ more } = answer);
  }
  completeStudies(
    studies.filter((study) => !study.outcome),
    signal,
    onPart,
  );
  return { studies, more };
}

async function completeStudies(studies, signal, onPart) {
  for (const study of studies) {
    try {
      onPart(await get(`studies/${study.id}/summary`, { signal }));
    } catch (error) {
      if (signal.aborted) return;
      if (error.status !== 404) onPart({ ...study, problem: sentenceOf(error) });
    }
  }
}

/** Certified labels against measurements, as a line without axes. */
function Sparkline({ points, arms }) {
  const [width, height] = [120, 28];
  const [measurements, labels] = points.at(-1) ?? [0, 0];
  const x = scale(0, Math.max(1, measurements), 1, width - 4);
  const y = scale(0, Math.max(1, arms), height - 3, 3);
  const path = points.map(([a, b], i) =>
    i ? `H${x(a).toFixed(1)}V${y(b).toFixed(1)}` : `M${x(a).toFixed(1)} ${y(b).toFixed(1)}`,
  );
  const words = `${plural(labels, "label")} certified after ${plural(measurements, "measurement")}`;
  return html`
    <svg class="spark" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img"
        aria-label=${words}>
      <line class="whole" x1="0" x2=${width} y1=${y(arms)} y2=${y(arms)} />
      ${path.length > 0 && html`<path d=${path.join("")} />`}
      <circle cx=${x(measurements)} cy=${y(labels)} r="2.4" />
    </svg>`;
}

function Numbers({ study }) {
  const limit = study.budget === null ? "" : ` of ${count(study.budget)}`;
  return html`
    <${LabelBar} good=${study.good} bad=${study.bad} open=${study.open} />
    <div class="curve"><${Sparkline} points=${study.spark} arms=${study.arms} /></div>
    <dl class="sums">
      <div><dt>Measurements</dt><dd>${count(study.measurements)}${limit}</dd></div>
      <div><dt>Still to come</dt><dd>${count(study.pending)}</dd></div>
      <div><dt>Last activity</dt><dd><${Since} time=${study.last} /></dd></div>
    </dl>`;
}

function Card({ study }) {
  const known = study.outcome && !study.problem;
  const outcome = vocabulary.outcomes?.[study.outcome] ?? { word: study.outcome };
  return html`
    <li class="card study-card">
      <div class="what">
        <h2>${study.problem ? study.name : html`<a href=${studyPath(study.id)}>${study.name}</a>`}</h2>
        ${study.problem && html`<p class="error">${study.problem}</p>`}
        ${!known && !study.problem && html`<p class="soft">${plural(study.events, "event")} …</p>`}
        ${
          known &&
          html`
            <p class="soft">${study.question}</p>
            <p class="row tags">
              <span class="outcome ${study.outcome.split(" ")[0]}">${outcome.word}</span>
              ${study.suspects > 0 && html`<${Tag} tone="warn">${plural(study.suspects, "suspect value")}<//>`}
              ${study.waiting > 0 && html`<${Tag} tone="warn">${plural(study.waiting, "value")} waiting<//>`}
            </p>
            ${study.warnings.map((words) => html`<p class="error">${words}</p>`)}`
        }
      </div>
      ${known && html`<${Numbers} study=${study} />`}
    </li>`;
}

const Nothing = ({ searched }) =>
  searched
    ? html`<div class="card empty"><p>No study has this in its name.</p></div>`
    : html`
        <div class="card empty">
          <h2>No study yet</h2>
          <p>
            A study asks which arms to measure next, is told what came out, and says at any time which
            arms are certified good or bad.
          </p>
          ${may("manage") && html`<p><a class="button primary" href="#/new">New study</a></p>`}
        </div>`;

export default function Studies({ query }) {
  const [typed, setTyped] = useState(query.get("name") ?? "");
  const [search, setSearch] = useState(typed.trim());
  const [wanted, setWanted] = useState(PAGE);
  const [parts, setParts] = useState({});
  const find = useMemo(() => debounce((text) => setSearch(text.trim()), 200), []);
  const onPart = (study) => setParts((old) => ({ ...old, [study.id]: study }));
  const load = async (signal) => {
    const found = await loadStudies(search, wanted, signal, onPart);
    if (search) announce(`${plural(found.studies.length, "study", "studies")} shown.`);
    return found;
  };
  const { data, error } = useLive(null, load, [search, wanted]);
  const type = (event) => {
    setTyped(event.target.value);
    find(event.target.value);
  };
  return html`
    <div class="page-head">
      <div>
        <h1>Studies</h1>
        <p class="question">In the database <span class="mono">${session.database}</span>.</p>
      </div>
      <div class="row grow">
        <div class="search">
          <input type="search" placeholder="Search by name" aria-label="Search studies by name"
            value=${typed} oninput=${type} data-search />
        </div>
        ${may("manage") && html`<a class="button primary" href="#/new">New study</a>`}
      </div>
    </div>
    <${ErrorLine} error=${error} />
    ${!data && !error && html`<${Loading} />`}
    ${data?.studies.length > 0 && html`
      <ul class="studies">
        ${data.studies.map((study) => html`
          <${Card} key=${study.id} study=${study.outcome ? study : (parts[study.id] ?? study)} />`)}
      </ul>`}
    ${data?.studies.length === 0 && html`<${Nothing} searched=${search} />`}
    <div class="row more">
      ${data?.more && html`<button type="button" onclick=${() => setWanted(wanted + PAGE)}>Show more</button>`}
    </div>`;
}
